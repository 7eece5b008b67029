//! A headless Chromium over the WebDriver protocol, which is JSON over HTTP: enough to open a page, click, press keys and ask.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The key under which the protocol gives the number of an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A browser with one page; it ends with its owner.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
}

impl Browser {
    /// Starts it, or says in one line that there is none.
    pub fn start() -> Option<Browser> {
        let driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut driver) = driver else {
            println!("skipped: no chromedriver");
            return None;
        };
        let lines = BufReader::new(driver.stdout.take().expect("a pipe")).lines();
        let port = lines.map_while(Result::ok).find_map(|line| {
            let tail = line.split("successfully on port ").nth(1)?;
            tail.trim_end_matches('.').parse().ok()
        });
        let mut browser = Browser {
            driver,
            port: port.expect("the driver says its port"),
            session: String::new(),
        };
        let flags = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--window-size=1500,900",
        ];
        let options = json!({"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"args": flags},
            "goog:loggingPrefs": {"browser": "ALL"},
        }}});
        let session = browser.ask("POST", "/session", &options);
        browser.session = session["sessionId"].as_str().expect("a session").to_string();
        Some(browser)
    }

    /// Opens a file and waits until it is loaded.
    pub fn open(&mut self, page: &Path) {
        let address =
            format!("file://{}", page.canonicalize().expect("the page is there").display());
        self.command("url", &json!({"url": address}));
    }

    /// Runs a function body in the page and gives what it returns.
    pub fn run(&mut self, script: &str) -> Value {
        self.command("execute/sync", &json!({"script": script, "args": []}))
    }

    /// Clicks the first element that a selector matches, as a person would: it must be in sight.
    pub fn click(&mut self, selector: &str) {
        let found = self.command("element", &json!({"using": "css selector", "value": selector}));
        let element = found[ELEMENT].as_str().unwrap_or_else(|| panic!("no {selector}: {found}"));
        let path = format!("element/{element}/click");
        let result = self.command(&path, &json!({}));
        assert!(result.is_null(), "{selector}: {result}");
    }

    /// Presses a key.
    pub fn press(&mut self, key: &str) {
        let actions = json!([{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]);
        self.command(
            "actions",
            &json!({"actions": [{"type": "key", "id": "keys", "actions": actions}]}),
        );
    }

    /// A picture of the page, as PNG in base 64.
    pub fn screenshot(&mut self) -> String {
        let path = format!("/session/{}/screenshot", self.session);
        self.ask("GET", &path, &Value::Null).as_str().expect("a picture").to_string()
    }

    /// What the page complained of so far.
    pub fn errors(&mut self) -> Vec<String> {
        let log = self.command("se/log", &json!({"type": "browser"}));
        let entries = log.as_array().cloned().unwrap_or_default();
        entries
            .iter()
            .filter(|e| e["level"] == "SEVERE")
            .map(|e| e["message"].to_string())
            .collect()
    }

    fn command(&mut self, path: &str, body: &Value) -> Value {
        let path = format!("/session/{}/{path}", self.session);
        self.ask("POST", &path, body)
    }

    fn ask(&mut self, method: &str, path: &str, body: &Value) -> Value {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the driver listens");
        stream.set_read_timeout(Some(Duration::from_secs(120))).expect("a timeout");
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            self.port,
            body.len()
        );
        stream.write_all(head.as_bytes()).expect("the driver reads");
        stream.write_all(body.as_bytes()).expect("the driver reads");
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).expect("the driver answers");
            if line.trim().is_empty() {
                break;
            }
            if let Some(text) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = text.trim().parse().expect("a length");
            }
        }
        let mut answer = vec![0; length];
        reader.read_exact(&mut answer).expect("the whole answer");
        let answer: Value = serde_json::from_slice(&answer).expect("JSON");
        answer["value"].clone()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The driver takes its browser along only if the session is ended first.
        if !self.session.is_empty() {
            let path = format!("/session/{}", self.session);
            self.ask("DELETE", &path, &Value::Null);
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
