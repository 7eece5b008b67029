//! Diagnostics as a SARIF 2.1.0 log, which code hosts and editors show beside the lines.
//! <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>

use super::render::{SourceText, line_and_column, place};
use crate::codes;
use luisac_ast::diagnostic::{Code, Diagnostic, Severity};
use luisac_ast::lint;
use serde_json::{Value, json};

/// What was told so far.
#[derive(Debug, Default)]
pub struct Log {
    results: Vec<Value>,
    /// The codes that were told, in the order in which they came.
    rules: Vec<Code>,
}

impl Log {
    /// Adds one diagnostic.
    pub fn add(&mut self, diagnostic: &Diagnostic, source: Option<SourceText>) {
        let index = self.rules.iter().position(|code| *code == diagnostic.code);
        let index = index.unwrap_or_else(|| {
            self.rules.push(diagnostic.code);
            self.rules.len() - 1
        });
        let mut text = vec![diagnostic.message.clone()];
        text.extend(diagnostic.notes.iter().cloned());
        text.extend(diagnostic.help.iter().map(|help| format!("help: {help}")));
        let mut result = json!({
            "ruleId": diagnostic.code.to_string(),
            "ruleIndex": index,
            "level": level(diagnostic.severity),
            "message": {"text": text.join("\n")},
        });
        if let Some(location) = location(diagnostic, source) {
            result["locations"] = json!([location]);
        }
        self.results.push(result);
    }

    /// The whole log as a document.
    pub fn document(&self) -> Value {
        let rules: Vec<Value> = self.rules.iter().map(|code| rule(*code)).collect();
        json!({
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{
                "tool": {"driver": {
                    "name": "luisac",
                    "version": env!("CARGO_PKG_VERSION"),
                    "rules": rules,
                }},
                "columnKind": "unicodeCodePoints",
                "results": self.results,
            }],
        })
    }
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// What there is to say about a code.
fn rule(code: Code) -> Value {
    let mut rule = json!({"id": code.to_string()});
    if let Some(info) = codes::find(code) {
        rule["shortDescription"] = json!({"text": info.title});
        rule["fullDescription"] = json!({"text": info.explanation});
        rule["help"] = json!({"text": info.remedy});
    }
    if let Some(lint) = lint::by_code(code) {
        rule["name"] = lint.name.into();
        rule["defaultConfiguration"] = json!({"level": "warning"});
    }
    rule
}

/// The file, the place in it where there is one, and what people call the place.
fn location(diagnostic: &Diagnostic, source: Option<SourceText>) -> Option<Value> {
    let mut location = json!({});
    if let Some(source) = source {
        let mut physical = json!({"artifactLocation": {"uri": uri(source.name)}});
        if let Some(range) = place(diagnostic, source) {
            physical["region"] = region(source, range);
        }
        location["physicalLocation"] = physical;
    }
    let mut logical = Vec::new();
    if let Some(function) = &diagnostic.function {
        logical.push(json!({"name": function, "kind": "function"}));
    }
    if let Some(pointer) = diagnostic.pointer.as_ref().filter(|p| !p.is_empty()) {
        logical.push(json!({"fullyQualifiedName": pointer, "kind": "value"}));
    }
    if !logical.is_empty() {
        location["logicalLocations"] = logical.into();
    }
    location.as_object().is_some_and(|all| !all.is_empty()).then_some(location)
}

/// Bytes, and lines and columns where the input is text.
fn region(source: SourceText, range: std::ops::Range<usize>) -> Value {
    let mut region = json!({"byteOffset": range.start, "byteLength": range.len()});
    if !source.is_binary() {
        let (line, column) = line_and_column(source.bytes, range.start);
        // Columns of a log count characters.
        let before = &source.bytes[range.start - (column - 1)..range.start];
        region["startLine"] = line.into();
        region["startColumn"] = (String::from_utf8_lossy(before).chars().count() + 1).into();
    }
    region
}

/// A path as a reference, relative if the path is.
fn uri(path: &str) -> String {
    let mut uri = String::new();
    for byte in path.replace('\\', "/").bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    if path.starts_with('/') { format!("file://{uri}") } else { uri }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_lines_and_characters() {
        let mut log = Log::default();
        let bytes = "{\n  \"é\": 1, x\n}".as_bytes();
        let source = SourceText { name: "a b/k.json", bytes };
        let at = bytes.iter().position(|b| *b == b'x').unwrap_or_default();
        log.add(&Diagnostic::error(codes::MANIFEST, "wrong").at_offset(at), Some(source));
        log.add(&Diagnostic::warning(codes::CACHE, "no place"), None);
        log.add(&Diagnostic::error(codes::MANIFEST, "again"), None);
        let run = &log.document()["runs"][0];
        let place = &run["results"][0]["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "a%20b/k.json");
        assert_eq!(
            (&place["region"]["startLine"], &place["region"]["startColumn"]),
            (&json!(2), &json!(11))
        );
        assert_eq!(place["region"]["byteOffset"], at);
        assert_eq!(run["results"][1]["level"], "warning");
        assert!(run["results"][1].get("locations").is_none());
        assert_eq!(run["results"][2]["ruleIndex"], 0);
        let rules = run["tool"]["driver"]["rules"].as_array().map(Vec::len);
        assert_eq!(rules, Some(2));
    }
}
