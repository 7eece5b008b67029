//! `luisac explain`: codes and lints.

use super::lists::show;
use super::messages::{Failure, Messages};
use super::read::nearest;
use luisac::codes;
use luisac_ast::diagnostic::{Code, CodeInfo, Diagnostic};
use luisac_ast::lint::{self, LINTS, Level};
use serde_json::Value;

/// Explains a code, by number or by the name of its lint, or lists the lints.
pub fn run(word: &str, messages: &Messages) -> Result<(), Failure> {
    if word == "lints" {
        return show(messages, false, Value::Null, list());
    }
    let by_name = LINTS.iter().find(|lint| lint.name == word).map(|lint| lint.code);
    match by_name.or_else(|| Code::parse(word)).and_then(codes::find) {
        Some(info) => show(messages, false, Value::Null, explanation(info)),
        None => {
            let near = nearest(word, LINTS.iter().map(|lint| lint.name));
            let help = near.map_or_else(
                || "codes look like L0001; copy one from a diagnostic".to_owned(),
                |near| format!("did you mean `{near}`?"),
            );
            let message = format!("there is no code `{word}`");
            let error = Diagnostic::error(codes::UNKNOWN_CODE, message).with_help(help);
            Err(messages.fail(error, None))
        }
    }
}

fn explanation(info: &CodeInfo) -> String {
    let mut text = format!(
        "{}: {}\n\n{}\n\nWhat to do: {}\n",
        info.code, info.title, info.explanation, info.remedy
    );
    if let Some(lint) = lint::by_code(info.code) {
        text.push_str(&format!(
            "\nThis is the lint `{}`, by default {}: `-A {0}` silences it, `-D {0}` makes it an error.\n",
            lint.name,
            level(lint.default)
        ));
    }
    text
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Allow => "silent",
        Level::Warn => "a warning",
        Level::Deny => "an error",
    }
}

/// A table of all lints, and the groups there are.
fn list() -> String {
    let title = |code| codes::find(code).map_or("", |info| info.title);
    let mut text = String::new();
    for lint in LINTS {
        text.push_str(&format!("{:<22} {}  {}\n", lint.name, lint.code, title(lint.code)));
    }
    text.push_str("\ngroups\n");
    let mut groups: Vec<&str> = LINTS.iter().flat_map(|lint| lint.groups).copied().collect();
    groups.sort_unstable();
    groups.dedup();
    for group in groups {
        let members = LINTS.iter().filter(|lint| lint.groups.contains(&group));
        let members: Vec<&str> = members.map(|lint| lint.name).collect();
        text.push_str(&format!("{group:<22} {}\n", members.join(" ")));
    }
    text.push_str("all                    every lint\n");
    text.push_str("warnings               every lint that would warn\n");
    text
}
