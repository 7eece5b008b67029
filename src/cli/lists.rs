//! What there is: `passes`, `targets`.

use super::messages::{Failure, Messages, print};
use super::options::ListCommand;
use luisac::codes;
use luisac_ast::diagnostic::Diagnostic;
use serde_json::{Value, json};

pub(super) fn show(
    messages: &Messages,
    as_json: bool,
    value: Value,
    table: String,
) -> Result<(), Failure> {
    let text = if as_json { format!("{value:#}\n") } else { table };
    print(text.as_bytes()).map_err(|e| {
        messages.fail(
            Diagnostic::error(codes::CANNOT_WRITE, format!("cannot write to standard output: {e}")),
            None,
        )
    })
}

/// `luisac passes`.
pub fn passes(command: &ListCommand, messages: &Messages) -> Result<(), Failure> {
    let mut table = String::new();
    let mut list = Vec::new();
    for pass in luisac_passes::registry::PASSES {
        let d = &pass.declaration;
        table.push_str(&format!("{:<30} {}\n", d.name, d.summary));
        list.push(json!({
            "name": d.name,
            "summary": d.summary,
            "description": d.description,
            "requires": d.requires.to_string(),
            "establishes": d.establishes.to_string(),
            "why": d.why,
            "options": pass.options.iter().map(|o| json!({"name": o.name, "kind": o.kind, "default": (o.default)(), "summary": o.summary})).collect::<Vec<_>>(),
            "counters": pass.counters.iter().map(|c| json!({"name": c.name, "summary": c.summary})).collect::<Vec<_>>(),
        }));
    }
    let mut canned = serde_json::Map::new();
    table.push_str("\ncanned pipelines\n");
    for (name, text) in luisac_passes::CANS {
        table.push_str(&format!("@{name:<29} {text}\n"));
        canned.insert(format!("@{name}"), (*text).into());
    }
    show(messages, command.json, json!({"passes": list, "pipelines": canned}), table)
}

/// `luisac targets`.
pub fn targets(command: &ListCommand, messages: &Messages) -> Result<(), Failure> {
    let mut table = String::new();
    let mut list = Vec::new();
    for target in luisac_targets::targets() {
        table.push_str(&format!(
            "{:<6} {}\n       {}\n",
            target.name(),
            target.summary(),
            target.details().join(", ")
        ));
        list.push(json!({"name": target.name(), "summary": target.summary(), "details": target.details()}));
    }
    show(messages, command.json, json!({"targets": list}), table)
}
