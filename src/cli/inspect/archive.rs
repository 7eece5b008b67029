//! What is in an archive, and what differs between two.

use super::ptxas;
use crate::cli::output::archive_error;
use luisac_artifact::archive::{ARCHIVE_VERSION, permutation};
use luisac_artifact::{Archive, Metadata, Variant};
use luisac_ast::diagnostic::Diagnostic;
use rayon::prelude::*;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// More PTX kernels than these are assembled only on request, since it takes a while.
const ASSEMBLED: usize = 64;

/// Everything about an archive; with registers and spills of its PTX if there are few kernels or `registers` asks for it.
pub fn describe(name: &str, archive: &Archive, registers: bool) -> Result<Value, Diagnostic> {
    let is_ptx = |v: &Variant| v.target().starts_with("ptx");
    let assemble = registers || archive.variants().filter(is_ptx).count() <= ASSEMBLED;
    let tool = if assemble { ptxas::find() } else { None };
    let all: Vec<Variant> = archive.variants().collect();
    let described: Result<Vec<Value>, Diagnostic> =
        all.par_iter().map(|v| variant(v, tool.as_deref())).collect();
    Ok(json!({
        "kind": "archive",
        "input": name,
        "version": ARCHIVE_VERSION,
        "bytes": archive.size(),
        "compiler": archive.compiler(),
        "kernels": archive.kernels().count(),
        "variants": described?,
    }))
}

fn variant(variant: &Variant, ptxas: Option<&std::path::Path>) -> Result<Value, Diagnostic> {
    let code = variant.code().map_err(|e| archive_error(&e))?;
    let metadata = variant.metadata().map_err(|e| archive_error(&e))?;
    let resources = ptxas.and_then(|tool| ptxas::resources(tool, code, &metadata));
    Ok(json!({
        "kernel": variant.kernel(),
        "target": variant.target(),
        "defines": defines(variant),
        "code_bytes": code.len(),
        "code_hash": blake3::hash(code).to_hex().to_string(),
        "made_from": hex(variant.key()),
        "ptxas": resources,
        "metadata": metadata,
    }))
}

fn defines(variant: &Variant) -> Map<String, Value> {
    variant.defines().iter().map(|(n, v)| (n.clone(), v.clone().into())).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// What is in one archive and not in the other, and what is in both and differs.
pub fn compare(names: [&str; 2], archives: [&Archive; 2]) -> Result<Value, Diagnostic> {
    let index = |archive: &Archive| -> BTreeMap<String, usize> {
        archive.variants().enumerate().map(|(i, v)| (v.label(), i)).collect()
    };
    let [first, second] = archives.map(index);
    let variants = archives.map(|a| a.variants().collect::<Vec<_>>());
    let missing = |all: &[Variant], other: &BTreeMap<String, usize>| -> Vec<Value> {
        all.iter().filter(|v| !other.contains_key(&v.label())).map(name).collect()
    };
    let (mut changed, mut same) = (Vec::new(), 0);
    for a in &variants[0] {
        let Some(b) = second.get(&a.label()).map(|&i| &variants[1][i]) else { continue };
        match difference(a, b)? {
            Some(difference) => changed.push(difference),
            None => same += 1,
        }
    }
    Ok(json!({
        "kind": "archive-diff",
        "first": names[0],
        "second": names[1],
        "bytes": archives.map(Archive::size),
        "compilers": archives.map(|a| a.compiler().to_owned()),
        "only_first": missing(&variants[0], &second),
        "only_second": missing(&variants[1], &first),
        "changed": changed,
        "same": same,
    }))
}

fn name(variant: &Variant) -> Value {
    json!({
        "kernel": variant.kernel(),
        "target": variant.target(),
        "defines": defines(variant),
        "code_bytes": variant.code_size(),
    })
}

/// What differs between two variants of one name.
fn difference(a: &Variant, b: &Variant) -> Result<Option<Value>, Diagnostic> {
    let code = [a, b].map(|v| v.code().map_err(|e| archive_error(&e)));
    let [first, second] = code;
    let (first, second) = (first?, second?);
    let metadata = [a, b].map(|v| v.metadata().map_err(|e| archive_error(&e)));
    let [before, after] = metadata;
    let keys = changed_keys(&before?, &after?);
    if first == second && keys.is_empty() {
        return Ok(None);
    }
    let mut value = name(b);
    value["code_bytes"] = json!([first.len(), second.len()]);
    value["code_changed"] = (first != second).into();
    value["metadata"] = keys.into();
    Ok(Some(value))
}

/// The keys of the metadata whose values differ.
fn changed_keys(before: &Metadata, after: &Metadata) -> Vec<String> {
    let object = |m: &Metadata| match serde_json::to_value(m) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    };
    let (before, after) = (object(before), object(after));
    let mut keys: Vec<String> = before.keys().chain(after.keys()).cloned().collect();
    keys.sort();
    keys.dedup();
    keys.retain(|key| before.get(key) != after.get(key));
    keys
}

/// `blur[2=1.0]` of the JSON form.
pub fn title(value: &Value) -> String {
    let defines: Vec<(String, String)> = value["defines"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(n, v)| (n.clone(), v.as_str().unwrap_or_default().to_owned()))
        .collect();
    format!("{}{}", value["kernel"].as_str().unwrap_or_default(), permutation(&defines))
}
