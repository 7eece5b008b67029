//! The part of JSON Schema that the pages under `docs/json` use.

use serde_json::Value;
use std::path::Path;

/// A schema of the documentation.
pub fn schema(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/json").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{name}: {e}"));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// What of a value does not fit the schema.
pub fn misfits(root: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    fit(root, root, value, "", &mut found);
    found
}

const KEYWORDS: [&str; 17] = [
    "$schema",
    "$defs",
    "$ref",
    "title",
    "description",
    "type",
    "const",
    "enum",
    "oneOf",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
];

fn fit(root: &Value, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let Some(rules) = schema.as_object() else { return };
    for (key, rule) in rules {
        let fits = match key.as_str() {
            "$ref" => {
                let path = rule.as_str().and_then(|r| r.strip_prefix('#')).expect("a local name");
                let target = root.pointer(path).unwrap_or_else(|| panic!("no {path}"));
                fit(root, target, value, at, found);
                true
            }
            "type" => match rule {
                Value::Array(kinds) => kinds.iter().any(|kind| is_kind(value, kind)),
                kind => is_kind(value, kind),
            },
            "const" => value == rule,
            "enum" => rule.as_array().is_some_and(|all| all.contains(value)),
            "oneOf" => {
                let all = rule.as_array().expect("a list");
                let tried = all.iter().map(|schema| {
                    let mut misfits = Vec::new();
                    fit(root, schema, value, at, &mut misfits);
                    misfits
                });
                let tried: Vec<_> = tried.collect();
                // The nearest one says best what is wrong.
                let fitting = tried.iter().filter(|m| m.is_empty()).count();
                if fitting == 0 {
                    found.extend(tried.into_iter().min_by_key(Vec::len).unwrap_or_default());
                }
                fitting <= 1
            }
            "properties" => {
                for (name, schema) in rule.as_object().expect("an object") {
                    if let Some(value) = value.get(name) {
                        fit(root, schema, value, &format!("{at}/{name}"), found);
                    }
                }
                true
            }
            "required" => rule
                .as_array()
                .expect("a list")
                .iter()
                .all(|name| value.get(name.as_str().expect("a name")).is_some()),
            "additionalProperties" => {
                let known = |key: &str| schema["properties"].get(key).is_some();
                let others = value.as_object().into_iter().flatten().filter(|(key, _)| !known(key));
                match rule {
                    Value::Bool(allowed) => *allowed || others.count() == 0,
                    rule => {
                        for (key, value) in others {
                            fit(root, rule, value, &format!("{at}/{key}"), found);
                        }
                        true
                    }
                }
            }
            "items" => {
                for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                    fit(root, rule, item, &format!("{at}/{i}"), found);
                }
                true
            }
            "minItems" => value.as_array().is_none_or(|a| a.len() as u64 >= rule.as_u64().unwrap()),
            "maxItems" => value.as_array().is_none_or(|a| a.len() as u64 <= rule.as_u64().unwrap()),
            "minimum" => value.as_f64().is_none_or(|n| n >= rule.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|n| n <= rule.as_f64().unwrap()),
            "pattern" => value.as_str().is_none_or(|text| {
                // The one pattern that is used.
                assert_eq!(rule, "^L[0-9]{4}$");
                text.len() == 5
                    && text.starts_with('L')
                    && text[1..].bytes().all(|b| b.is_ascii_digit())
            }),
            other => {
                assert!(KEYWORDS.contains(&other), "the test does not know `{other}`");
                true
            }
        };
        if !fits {
            found.push(format!("{at}: {value} does not fit {key} {rule}"));
        }
    }
}

fn is_kind(value: &Value, kind: &Value) -> bool {
    match kind.as_str().expect("a word") {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        other => panic!("no type {other}"),
    }
}
