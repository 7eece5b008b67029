//! Views of a pass report: one page of HTML that needs nothing else.

mod emitted;

pub use emitted::emitted;

use luisac_passes::Report;
use serde::Serialize;

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
/// One script in the order of what builds on what.
const SCRIPTS: [&str; 6] = [
    include_str!("page/model.js"),
    include_str!("page/list.js"),
    include_str!("page/code.js"),
    include_str!("page/graph.js"),
    include_str!("page/emitted.js"),
    include_str!("page/main.js"),
];

#[derive(Serialize)]
struct Data<'a> {
    title: &'a str,
    reports: Vec<Named<'a>>,
}

#[derive(Serialize)]
struct Named<'a> {
    name: &'a str,
    report: &'a Report,
}

/// The page that shows one report, or two side by side; each comes with its name.
pub fn html(title: &str, reports: &[(&str, &Report)]) -> String {
    let reports = reports.iter().map(|&(name, report)| Named { name, report }).collect();
    // Strings and numbers under string keys: nothing that JSON cannot hold.
    let data = serde_json::to_string(&Data { title, reports }).unwrap_or_default();
    let parts = [
        ("{{title}}", escape(title)),
        ("{{style}}", STYLE.to_string()),
        ("{{data}}", inert(&data)),
        ("{{script}}", SCRIPTS.join("\n")),
    ];
    let mut page = String::with_capacity(data.len() + PAGE.len() + 64 * 1024);
    let mut rest = PAGE;
    for (mark, text) in parts {
        // Every mark stands once in the page, in this order.
        if let Some((before, after)) = rest.split_once(mark) {
            page.push_str(before);
            page.push_str(&text);
            rest = after;
        }
    }
    page.push_str(rest);
    page
}

/// JSON that cannot end the element it stands in, whatever its strings hold.
fn inert(json: &str) -> String {
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use luisac_passes::{Run, Trace};

    #[test]
    fn the_page_stands_alone_and_its_data_cannot_break_out() {
        let hostile = "</script><script>alert(1)</script><!-- {{script}} \u{2028}";
        let report = Report {
            pipeline: hostile.into(),
            runs: vec![Run { name: "dce".into(), ..Run::default() }],
            trace: Some(Trace { lines: vec![hostile.into()], ..Trace::default() }),
        };
        let page = html(hostile, &[("a", &report), ("b", &report)]);
        assert_eq!(page.matches("<script").count(), 2, "the data and the program");
        assert_eq!(page.matches("</script").count(), 2);
        for outside in ["http-equiv", "src=", "href=", "@import", "url("] {
            assert!(!page.contains(outside), "{outside}");
        }
        let data = page.split("id=\"data\">").nth(1).and_then(|t| t.split("</script").next());
        let data: serde_json::Value = serde_json::from_str(data.expect("data")).expect("json");
        assert_eq!(data["reports"][0]["report"]["trace"]["lines"][0], hostile);
    }
}
