//! JSON -> AST -> JSON is the same document, key order and padding bytes aside.

mod support;

use luisac_ast::check;
use luisac_ast::json::{self, Dialect};
use luisac_ast::model::Library;
use serde_json::Value;

/// Compares documents; values of types that have padding are equal if they are as long.
struct Comparison<'a> {
    types: &'a Value,
    path: Vec<String>,
}

impl Comparison<'_> {
    fn padded(&self, node: &Value) -> bool {
        let ty = &self.types[node["type"].as_u64().unwrap_or(0) as usize];
        match ty["tag"].as_str() {
            Some("VECTOR" | "MATRIX") => ty["dimension"] == 3,
            Some("ARRAY" | "STRUCTURE") => true,
            _ => false,
        }
    }

    fn same(&mut self, a: &Value, b: &Value) -> bool {
        match (a, b) {
            (Value::Object(x), Value::Object(y)) => {
                let padded = self.padded(a);
                x.len() == y.len()
                    && x.iter().all(|(key, value)| match (value, y.get(key)) {
                        (Value::String(v), Some(Value::String(w)))
                            if padded && (key == "value" || key == "raw") =>
                        {
                            v.len() == w.len()
                        }
                        (value, Some(other)) => self.part(key, value, other),
                        (_, None) => false,
                    })
            }
            (Value::Array(x), Value::Array(y)) => {
                x.len() == y.len()
                    && x.iter()
                        .zip(y)
                        .enumerate()
                        .all(|(i, (v, w))| self.part(&i.to_string(), v, w))
            }
            _ => a == b,
        }
    }

    fn part(&mut self, name: &str, a: &Value, b: &Value) -> bool {
        self.path.push(name.to_owned());
        let same = self.same(a, b);
        if same {
            self.path.pop();
        }
        same
    }
}

/// Libraries without what only one form has.
fn plain(mut library: Library) -> Library {
    for function in library.functions.values_mut() {
        function.name = None;
        for variable in function.variables.values_mut() {
            variable.name = None;
        }
    }
    library
}

#[test]
fn documents_come_out_as_they_went_in() {
    for path in support::short_kernels(&["own", "luisa", "perf", "bugs"]) {
        let bytes = std::fs::read(&path).expect("the corpus can be read");
        let Ok(library) = json::read(&bytes) else { continue };
        let dialect = match json::detect(&bytes) {
            json::InputKind::JsonV1 => Dialect::V1,
            _ => Dialect::D0,
        };
        let written =
            json::write(&library, dialect).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let again = json::read(&written).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(json::write(&again, dialect).is_ok_and(|w| w == written), "{}", path.display());
        // The parser that compares is recursive, and has a limit.
        if let (Ok(a), Ok(b)) =
            (serde_json::from_slice::<Value>(&bytes), serde_json::from_slice(&written))
        {
            let mut comparison = Comparison { types: &a["types"], path: Vec::new() };
            assert!(comparison.same(&a, &b), "{}: /{}", path.display(), comparison.path.join("/"));
        }
    }
}

#[test]
fn one_form_becomes_the_other() {
    let mut versioned = 0;
    for path in support::short_kernels(&["own", "luisa", "bugs"]) {
        let bytes = std::fs::read(&path).expect("the corpus can be read");
        let Ok(library) = json::read(&bytes) else { continue };
        // Some programs have what version 1 cannot hold: external functions, host callbacks.
        let Ok(written) = json::write(&library, Dialect::V1) else { continue };
        versioned += 1;
        let strict = json::read(&written).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert_eq!(
            check::check(&strict).has_errors(),
            check::check(&library).has_errors(),
            "{}",
            path.display()
        );
        let back = json::write(&strict, Dialect::D0).expect("can be written");
        assert!(
            json::write(&plain(library), Dialect::D0).is_ok_and(|w| w == back),
            "{}",
            path.display()
        );
    }
    if support::corpus().is_some() {
        assert!(versioned > 200, "only {versioned} kernels can be written as version 1");
    }
}
