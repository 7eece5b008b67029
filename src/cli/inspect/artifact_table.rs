//! Artifacts and archives for people.

use super::archive::title;
use luisac::driver::render::harmless;
use serde_json::Value;

fn word(value: &Value) -> String {
    harmless(value.as_str().unwrap_or(""))
}

fn plural(count: u64, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The metadata beside a loose artifact.
pub fn metadata(value: &Value) -> String {
    let metadata = &value["metadata"];
    let mut text = format!(
        "{}: metadata of `{}` for {}\n",
        word(&value["input"]),
        word(&metadata["kernel"]),
        word(&metadata["target"])
    );
    for line in facts(metadata) {
        text.push_str(&format!("  {line}\n"));
    }
    text + &arguments(metadata)
}

/// An archive: each kernel with its variants.
pub fn archive(value: &Value) -> String {
    let variants = items(&value["variants"]);
    let mut text = format!(
        "{}: archive, version {}, {} bytes, made by luisac {}\n{}, {}\n",
        word(&value["input"]),
        value["version"],
        value["bytes"],
        word(&value["compiler"]),
        plural(value["kernels"].as_u64().unwrap_or(0), "kernel"),
        plural(variants.len() as u64, "variant"),
    );
    let mut shown: Option<(String, String)> = None;
    for variant in variants {
        let (name, rows) = (title(variant), arguments(&variant["metadata"]));
        if shown.as_ref().is_none_or(|(last, _)| *last != name) {
            text.push_str(&format!("\n{}\n{rows}", harmless(&name)));
            shown = Some((name, rows.clone()));
        }
        text.push_str(&format!(
            "  {:<16} {:>9} bytes  {}\n",
            word(&variant["target"]),
            variant["code_bytes"],
            word(&variant["code_hash"]).get(..16).unwrap_or_default()
        ));
        let mut lines = facts(&variant["metadata"]);
        lines.extend(registers(&variant["ptxas"]));
        for line in lines {
            text.push_str(&format!("      {line}\n"));
        }
        // Targets that bind by number place arguments alike; if one does not, it is shown.
        if shown.as_ref().is_some_and(|(_, first)| *first != rows) {
            text.push_str(&rows);
        }
    }
    text
}

/// Block, memory, features, hashes: a line each.
fn facts(metadata: &Value) -> Vec<String> {
    let size: Vec<String> = items(&metadata["block_size"]).iter().map(Value::to_string).collect();
    let mut first = format!(
        "block {}, {} bytes of parameters, {} bytes of shared memory",
        size.join("x"),
        metadata["params"]["size"],
        metadata["shared_bytes"]
    );
    if metadata["scratch_bytes"].as_u64().unwrap_or(0) > 0 {
        first.push_str(&format!(", {} bytes of scratch", metadata["scratch_bytes"]));
    }
    if let Some(lanes) = metadata["wave_lanes"].as_u64() {
        first.push_str(&format!(", waves of {lanes}"));
    }
    let mut lines = vec![first];
    let features: Vec<String> = items(&metadata["features"]).iter().map(word).collect();
    if !features.is_empty() {
        lines.push(format!("needs {}", features.join(", ")));
    }
    let formats = items(&metadata["formats"]).len() as u64;
    if formats > 0 {
        lines.push(format!(
            "logs {}",
            plural(formats, "kind of record").replace("records", "record")
        ));
    }
    lines.push(format!(
        "math {}, bounds {}, entry {}, luisac {}",
        word(&metadata["math"]),
        word(&metadata["bounds"]),
        word(&metadata["entry"]),
        word(&metadata["compiler"])
    ));
    lines.push(format!(
        "input {}, options {}",
        word(&metadata["input_hash"]).get(..16).unwrap_or_default(),
        word(&metadata["options_hash"]).get(..16).unwrap_or_default()
    ));
    lines
}

fn registers(ptxas: &Value) -> Option<String> {
    ptxas["registers"].as_u64().map(|count| {
        format!(
            "{}, {} bytes of stack, spills {} bytes stored, {} loaded",
            plural(count, "register"),
            ptxas["stack_bytes"],
            ptxas["spill_store_bytes"],
            ptxas["spill_load_bytes"]
        )
    })
}

/// Arguments with their layout.
fn arguments(metadata: &Value) -> String {
    let rows: Vec<Vec<String>> = items(&metadata["arguments"])
        .iter()
        .enumerate()
        .map(|(i, argument)| {
            vec![
                i.to_string(),
                word(&argument["name"]),
                word(&argument["kind"]),
                word(&argument["type"]),
                format!("at {}, {} bytes", argument["offset"], argument["size"]),
                word(&argument["usage"]),
                if argument["captured"] == true { "captured".into() } else { String::new() },
            ]
        })
        .collect();
    let width = |column: usize| {
        rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0).min(60)
    };
    let widths: Vec<usize> = (0..7).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let mut line = String::from("  ");
        for (cell, width) in row.iter().zip(&widths).filter(|(_, width)| **width > 0) {
            line.push_str(&format!("{cell:<width$}  "));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// What differs between two archives.
pub fn difference(value: &Value) -> String {
    let mut text = format!(
        "first   {}: {} bytes, luisac {}\nsecond  {}: {} bytes, luisac {}\n",
        word(&value["first"]),
        value["bytes"][0],
        word(&value["compilers"][0]),
        word(&value["second"]),
        value["bytes"][1],
        word(&value["compilers"][1]),
    );
    for (key, mark) in [("only_first", '-'), ("only_second", '+')] {
        for variant in items(&value[key]) {
            text.push_str(&format!(
                "{mark} {} for {}, {} bytes\n",
                harmless(&title(variant)),
                word(&variant["target"]),
                variant["code_bytes"]
            ));
        }
    }
    for variant in items(&value["changed"]) {
        let keys: Vec<String> = items(&variant["metadata"]).iter().map(word).collect();
        let code = match variant["code_changed"] == true {
            true => {
                format!("code {} -> {} bytes", variant["code_bytes"][0], variant["code_bytes"][1])
            }
            false => "same code".into(),
        };
        let keys = if keys.is_empty() {
            String::new()
        } else {
            format!("; metadata: {}", keys.join(", "))
        };
        text.push_str(&format!(
            "! {} for {}: {code}{keys}\n",
            harmless(&title(variant)),
            word(&variant["target"])
        ));
    }
    let count = |key: &str| items(&value[key]).len();
    text.push_str(&format!(
        "{} the same, {} changed, {} only in the first, {} only in the second\n",
        value["same"],
        count("changed"),
        count("only_first"),
        count("only_second")
    ));
    text
}
