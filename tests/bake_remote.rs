//! Caches on other machines: what they hold is used, and whatever else they do is a warning. Needs the feature `cache-s3`:
//! `cargo nextest run --features cache-s3 --test bake_remote`.
#![cfg(feature = "llvm")]

mod common;

#[cfg(not(feature = "cache-s3"))]
#[test]
fn stores_on_other_machines() {
    println!("skipped: this build has no remote caches");
}

#[cfg(feature = "cache-s3")]
mod with_s3 {
    use super::common::bake::{Baked, KERNELS, project};
    use super::common::{Folder, command, finish};
    use std::collections::HashMap;
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::{Arc, Mutex};
    use std::time::{Duration, Instant};

    /// What the server does.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Mood {
        Good,
        /// Answers every request with an error of its own.
        Errors,
        /// Takes requests and never answers.
        Silent,
        /// Has something under every name, and it is wrong.
        Garbage,
        /// Ends in the middle of every answer.
        Cut,
    }

    /// A server that holds what it is given, like S3 as far as the cache asks.
    struct Server {
        address: String,
        objects: Arc<Mutex<HashMap<String, Vec<u8>>>>,
        requests: Arc<Mutex<usize>>,
    }

    impl Server {
        fn start(mood: Mood) -> Server {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
            let address = format!("http://{}", listener.local_addr().expect("an address"));
            let objects: Arc<Mutex<HashMap<String, Vec<u8>>>> = Arc::default();
            let requests: Arc<Mutex<usize>> = Arc::default();
            let (held, counted) = (objects.clone(), requests.clone());
            std::thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    let (held, counted) = (held.clone(), counted.clone());
                    std::thread::spawn(
                        move || while serve(&stream, mood, &held, &counted).is_some() {},
                    );
                }
            });
            Server { address, objects, requests }
        }
    }

    /// One request; nothing at the end of the connection.
    fn serve(
        stream: &TcpStream,
        mood: Mood,
        held: &Mutex<HashMap<String, Vec<u8>>>,
        counted: &Mutex<usize>,
    ) -> Option<()> {
        let mut reader = BufReader::new(stream);
        let mut first = String::new();
        if reader.read_line(&mut first).ok()? == 0 {
            return None;
        }
        let mut words = first.split_whitespace();
        let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            if line.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().ok()?;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        *counted.lock().ok()? += 1;
        let mut writer = stream;
        let mut answer = |status: &str, body: &[u8], cut: bool| {
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-length: {}\r\netag: \"x\"\r\nlast-modified: Tue, 01 Dec 2026 00:00:00 GMT\r\n\r\n",
                body.len()
            );
            writer.write_all(head.as_bytes()).ok()?;
            if method != "HEAD" {
                writer.write_all(if cut { &body[..body.len() / 2] } else { body }).ok()?;
            }
            if cut { None } else { Some(()) }
        };
        match (mood, method.as_str()) {
            (Mood::Errors, _) => {
                answer("503 Service Unavailable", b"<Error><Code>SlowDown</Code></Error>", false)
            }
            (Mood::Silent, _) => {
                std::thread::sleep(Duration::from_secs(120));
                None
            }
            (Mood::Garbage, "GET" | "HEAD") => answer("200 OK", &[b'x'; 4000], false),
            (_, "PUT") => {
                held.lock().ok()?.insert(path, body);
                answer("200 OK", b"", false)
            }
            (mood, _) => match held.lock().ok()?.get(&path) {
                Some(bytes) => answer("200 OK", bytes, mood == Mood::Cut && method == "GET"),
                None => answer("404 Not Found", b"<Error><Code>NoSuchKey</Code></Error>", false),
            },
        }
    }

    fn bake(folder: &Folder, server: &Server) -> Baked {
        let mut command = command(folder.path());
        let cache = format!(
            "s3://bucket/prefix?region=r&endpoint={}",
            server.address.replace(':', "%3A").replace('/', "%2F")
        );
        command.args(["bake", "--message-format", "json", "--cache", &cache]);
        command.env("LUISAC_CACHE", folder.path().join("cache"));
        command.env("AWS_ACCESS_KEY_ID", "id").env("AWS_SECRET_ACCESS_KEY", "secret");
        let outcome = finish(&mut command);
        let events = outcome.stderr.lines().filter_map(|l| serde_json::from_str(l).ok()).collect();
        Baked { outcome, events }
    }

    #[test]
    fn what_a_store_holds_is_used_elsewhere() {
        let server = Server::start(Mood::Good);
        let (here, there) = (project(&KERNELS), project(&KERNELS));
        let baked = bake(&here, &server);
        assert_eq!(
            (baked.outcome.code, baked.counts()),
            (Some(0), [8, 0, 0, 0]),
            "{}",
            baked.outcome.stderr
        );
        assert_eq!(server.objects.lock().unwrap().len(), 8, "{}", baked.outcome.stderr);
        let baked = bake(&there, &server);
        assert_eq!(
            (baked.outcome.code, baked.counts()),
            (Some(0), [0, 8, 0, 0]),
            "{}",
            baked.outcome.stderr
        );
        assert_eq!(here.read("out.luisa"), there.read("out.luisa"));
        // And it is in the folder now: the store is not asked again.
        std::fs::remove_file(there.path().join("out.luisa")).unwrap();
        let before = *server.requests.lock().unwrap();
        assert_eq!(bake(&there, &server).counts(), [0, 8, 0, 0]);
        assert_eq!(*server.requests.lock().unwrap(), before);
    }

    /// The bake is right whatever the store does, says so, and does not wait for ever.
    #[test]
    fn stores_that_fail_are_warnings() {
        let right = project(&KERNELS);
        let wanted = {
            bake(&right, &Server::start(Mood::Good));
            right.read("out.luisa")
        };
        for mood in [Mood::Errors, Mood::Garbage, Mood::Silent] {
            let (server, folder) = (Server::start(mood), project(&KERNELS));
            let begin = Instant::now();
            let baked = bake(&folder, &server);
            assert_eq!(
                (baked.outcome.code, baked.counts()),
                (Some(0), [8, 0, 0, 0]),
                "{}",
                baked.outcome.stderr
            );
            assert!(folder.read("out.luisa") == wanted);
            let warnings = baked.outcome.codes().iter().filter(|c| **c == "L1253").count();
            assert!((1..=3).contains(&warnings), "{}", baked.outcome.stderr);
            assert!(baked.outcome.stderr.contains("not asked again"), "{}", baked.outcome.stderr);
            assert!(begin.elapsed() < Duration::from_secs(60), "it took {:?}", begin.elapsed());
            assert!(!baked.outcome.stderr.contains("secret"), "{}", baked.outcome.stderr);
        }
        let server = Server::start(Mood::Cut);
        bake(&project(&KERNELS), &server);
        let folder = project(&KERNELS);
        let baked = bake(&folder, &server);
        assert_eq!(
            (baked.outcome.code, baked.counts()[3]),
            (Some(0), 0),
            "{}",
            baked.outcome.stderr
        );
        assert!(folder.read("out.luisa") == wanted);
    }

    #[test]
    fn nobody_there_is_a_warning_too() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        drop(listener);
        let server = Server { address, objects: Arc::default(), requests: Arc::default() };
        let folder = project(&KERNELS[..1]);
        let baked = bake(&folder, &server);
        assert_eq!(
            (baked.outcome.code, baked.counts()),
            (Some(0), [2, 0, 0, 0]),
            "{}",
            baked.outcome.stderr
        );
    }
}
