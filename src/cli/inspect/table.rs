//! The same for people.

use super::artifact_table;
use luisac::driver::render::harmless;
use serde_json::Value;

/// Bytes of a line of words before it is broken.
const WIDTH: usize = 100;

/// A table of what was found.
pub fn table(value: &Value) -> String {
    match word(&value["kind"]).as_str() {
        "metadata" => artifact_table::metadata(value),
        "archive" => artifact_table::archive(value),
        "archive-diff" => artifact_table::difference(value),
        "xir" => {
            let head = format!("{}: XIR text, {} bytes\n", word(&value["input"]), value["bytes"]);
            functions(head, value)
        }
        _ => functions(ast_head(value), value),
    }
}

fn ast_head(value: &Value) -> String {
    let format = match word(&value["format"]).as_str() {
        "callable-library" => "serialized callable library",
        "json-v1" => "JSON AST, version 1",
        _ => "JSON AST",
    };
    let constants = value["constants"].as_array().map_or(0, Vec::len);
    let mut text = format!(
        "{}: {format}, {} bytes\n{}\n",
        word(&value["input"]),
        value["bytes"],
        [
            count(&value["kernels"], "kernel"),
            count(&value["callables"], "callable"),
            count(&constants.into(), "constant"),
            count(&value["expressions"], "expression"),
            count(&value["statements"], "statement"),
        ]
        .join(", "),
    );
    for external in value["externals"].as_array().into_iter().flatten() {
        text.push_str(&format!(
            "external {}({}) -> {}\n",
            word(&external["name"]),
            words(&external["argument_types"]).join(", "),
            word(&external["return_type"])
        ));
    }
    text
}

/// `1 kernel`, `2 kernels`.
fn count(number: &Value, one: &str) -> String {
    format!("{number} {one}{}", if *number == 1 { "" } else { "s" })
}

fn functions(mut text: String, value: &Value) -> String {
    let all: Vec<&Value> = value["functions"].as_array().into_iter().flatten().collect();
    let names: Vec<String> = all.iter().map(|f| label(f)).collect();
    for function in all {
        text.push('\n');
        text.push_str(&function_head(function));
        text.push_str(&arguments(function));
        for (key, title) in [
            ("features", "needs"),
            ("operations", "operations"),
            ("propagated_operations", "with callees"),
        ] {
            // Without callees the two sets are the same.
            let repeats = key == "propagated_operations" && function[key] == function["operations"];
            if !repeats {
                text.push_str(&list(title, &words(&function[key]), ", "));
            }
        }
        for (key, title) in [("calls", "calls"), ("called_by", "called by")] {
            let called: Vec<String> = function[key]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|i| names.get(i.as_u64()? as usize).cloned())
                .collect();
            text.push_str(&list(title, &called, ", "));
        }
        text.push_str(&sizes(function));
    }
    text
}

fn label(function: &Value) -> String {
    match function["name"].as_str() {
        Some(name) if !name.is_empty() => harmless(name),
        _ => format!("#{}", function["index"]),
    }
}

fn function_head(function: &Value) -> String {
    let mut text = format!("{} {}", word(&function["kind"]), label(function));
    if let Some(size) = function["block_size"].as_array() {
        let size: Vec<String> = size.iter().map(Value::to_string).collect();
        text.push_str(&format!("  block {}", size.join("x")));
    }
    if let Some(size) = function["warp_size"].as_u64() {
        text.push_str(&format!("  waves of {size}"));
    }
    if function["return_type"] != "void" {
        text.push_str(&format!("  -> {}", word(&function["return_type"])));
    }
    text.push('\n');
    text
}

fn arguments(function: &Value) -> String {
    let mut rows = Vec::new();
    for (i, argument) in function["arguments"].as_array().into_iter().flatten().enumerate() {
        rows.push([
            i.to_string(),
            word(&argument["name"]),
            word(&argument["tag"]),
            word(&argument["type"]),
            format!("{} bytes", argument["size"]),
            word(&argument["usage"]),
            if argument["captured"] == true { "captured".into() } else { String::new() },
        ]);
    }
    let width = |column: usize| {
        rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0).min(60)
    };
    let widths: Vec<usize> = (0..7).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let mut line = String::from(" ");
        for (cell, width) in row.iter().zip(&widths).filter(|(_, width)| **width > 0) {
            line.push_str(&format!(" {cell:<width$} "));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// A titled list, broken into lines.
fn list(title: &str, items: &[String], separator: &str) -> String {
    if items.is_empty() {
        return String::new();
    }
    let mut text = format!("  {title:<12} ");
    let mut column = text.len();
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            text.push_str(separator.trim_end());
            if column + item.len() > WIDTH {
                text.push_str(&format!("\n{:15}", ""));
                column = 15;
            } else {
                text.push(' ');
            }
        }
        text.push_str(item);
        column += item.len() + 2;
    }
    text.push('\n');
    text
}

fn sizes(function: &Value) -> String {
    let keys = [
        ("variables", "variables"),
        ("expressions", "expressions"),
        ("statements", "statements"),
        ("shared_bytes", "bytes of shared memory"),
        ("local_bytes", "bytes of locals"),
        ("blocks", "blocks"),
        ("instructions", "instructions"),
    ];
    let known = keys.iter().filter_map(|(key, title)| {
        let count = function[*key].as_u64().filter(|count| *count > 0)?;
        Some(format!("{count} {title}"))
    });
    list("size", &known.collect::<Vec<_>>(), ", ")
}

fn word(value: &Value) -> String {
    harmless(value.as_str().unwrap_or(""))
}

fn words(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(word).collect()
}
