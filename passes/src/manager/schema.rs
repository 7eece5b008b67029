//! JSON against the schemas of `docs/json`, as far as these go: types, keys, items, references and minima.

use serde_json::Value;

/// Checks a value against a schema file of `docs/json`.
///
/// # Panics
/// If the value does not fit; the message names the place.
#[track_caller]
pub fn check(file: &str, value: &Value) {
    let path = format!("{}/../docs/json/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the schema can be read");
    let root: Value = serde_json::from_str(&text).expect("the schema is JSON");
    fits(value, &root, &root, "");
}

#[track_caller]
fn fits(value: &Value, schema: &Value, root: &Value, at: &str) {
    if let Some(reference) = schema["$ref"].as_str() {
        let target =
            root.pointer(reference.trim_start_matches('#')).expect("the reference leads somewhere");
        return fits(value, target, root, at);
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect(),
    };
    assert!(
        types.is_empty() || types.iter().any(|ty| is(value, ty)),
        "{at}: {value} is not {types:?}"
    );
    if let (Some(minimum), Some(number)) = (schema["minimum"].as_f64(), value.as_f64()) {
        assert!(number >= minimum, "{at}: {number} is below {minimum}");
    }
    for (i, item) in value.as_array().into_iter().flatten().enumerate() {
        fits(item, &schema["items"], root, &format!("{at}/{i}"));
    }
    let Some(object) = value.as_object() else { return };
    for key in schema["required"].as_array().into_iter().flatten() {
        let key = key.as_str().expect("keys are text");
        assert!(object.contains_key(key), "{at}: `{key}` is missing");
    }
    for (key, member) in object {
        let property = &schema["properties"][key];
        let schema = if property.is_null() { &schema["additionalProperties"] } else { property };
        assert!(*schema != Value::Bool(false), "{at}: `{key}` is not in the schema");
        fits(member, schema, root, &format!("{at}/{key}"));
    }
}

fn is(value: &Value, ty: &str) -> bool {
    match ty {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        _ => false,
    }
}
