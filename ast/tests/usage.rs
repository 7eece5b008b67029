//! The usage of every variable of every recorded function, against one that is computed here from the document itself by the
//! rules (`ast.md`, section 5.1; `callops.md`, note 4): top-down, node by node, without the crate's model or table.

mod support;

use luisac_ast::json;
use serde_json::Value;

const READ: u8 = 1;
const WRITE: u8 = 2;

/// Usage of each variable of each function of a document.
fn usages(document: &Value) -> Vec<Vec<u8>> {
    let mut found: Vec<Vec<u8>> = Vec::new();
    for function in items(&document["functions"]) {
        let mut marker = Marker {
            document,
            earlier: &found,
            usages: vec![0; items(&function["variables"]).len()],
        };
        marker.statement(&function["body"]);
        let usages = marker.usages;
        found.push(usages);
    }
    found
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn index(value: &Value) -> usize {
    value.as_u64().expect("an index") as usize
}

struct Marker<'a> {
    document: &'a Value,
    /// Usages of the functions before.
    earlier: &'a [Vec<u8>],
    usages: Vec<u8>,
}

impl Marker<'_> {
    fn statement(&mut self, node: &Value) {
        match node["tag"].as_str().expect("a tag") {
            "SCOPE" => items(&node["statements"]).iter().for_each(|s| self.statement(s)),
            "IF" => {
                self.used(&node["condition"], READ);
                self.statement(&node["true_branch"]);
                self.statement(&node["false_branch"]);
            }
            "RETURN" | "EXPR" => self.used(&node["expression"], READ),
            "SWITCH" => {
                self.used(&node["expression"], READ);
                self.statement(&node["body"]);
            }
            "LOOP" | "SWITCH_CASE" | "SWITCH_DEFAULT" | "AUTO_DIFF" => {
                self.statement(&node["body"])
            }
            "ASSIGN" => {
                self.used(&node["lhs"], WRITE);
                self.used(&node["rhs"], READ);
            }
            "FOR" => {
                self.used(&node["variable"], READ | WRITE);
                self.used(&node["condition"], READ);
                self.used(&node["step"], READ);
                self.statement(&node["body"]);
            }
            "RAY_QUERY" => {
                self.used(&node["query"], READ | WRITE);
                self.statement(&node["on_triangle_candidate"]);
                self.statement(&node["on_procedural_candidate"]);
            }
            "PRINT" => items(&node["arguments"]).iter().for_each(|a| self.used(a, READ)),
            "BREAK" | "CONTINUE" | "COMMENT" => {}
            other => panic!("the rules know no statement {other}"),
        }
    }

    /// An expression that its user marks with `usage`; its own operands are marked on the way.
    fn used(&mut self, node: &Value, usage: u8) {
        if node.is_null() {
            return;
        }
        match node["tag"].as_str().expect("a tag") {
            "REF" => self.usages[index(&node["variable"])] |= usage,
            "MEMBER" => self.used(&node["self"], usage),
            "ACCESS" => {
                self.used(&node["range"], usage | READ);
                self.used(&node["index"], READ);
            }
            "UNARY" => self.used(&node["operand"], READ),
            "BINARY" => {
                self.used(&node["lhs"], READ);
                self.used(&node["rhs"], READ);
            }
            "CAST" => self.used(&node["expression"], READ),
            "CALL" => {
                for (i, argument) in items(&node["arguments"]).iter().enumerate() {
                    self.used(argument, self.argument(node, i));
                }
            }
            // The host gets the address of it.
            "CPUCUSTOM" => self.used(&node["arg"], READ | WRITE),
            "LITERAL" | "CONSTANT" | "TYPE_ID" | "STRING_ID" | "FUNC_REF" => {}
            other => panic!("the rules know no expression {other}"),
        }
    }

    /// What a call does with an argument.
    fn argument(&self, call: &Value, position: usize) -> u8 {
        match call["op"].as_str().expect("an operation") {
            "CUSTOM" => {
                let callee = index(&call["custom"]);
                let function = &self.document["functions"][callee];
                let variable = index(&function["arguments"][position]);
                match function["variables"][variable]["tag"].as_str().expect("a tag") {
                    "REFERENCE" | "BUFFER" | "TEXTURE" | "BINDLESS_ARRAY" | "ACCEL" => {
                        self.earlier[callee][variable]
                    }
                    _ => READ,
                }
            }
            "EXTERNAL" => {
                let external = &self.document["external_functions"][index(&call["external"])];
                match external["argument_usages"][position].as_str().expect("a usage") {
                    "NONE" => 0,
                    "READ" => READ,
                    "WRITE" => WRITE,
                    _ => READ | WRITE,
                }
            }
            op if position == 0 && writes_its_first_argument(op) => WRITE,
            _ => READ,
        }
    }
}

fn writes_its_first_argument(op: &str) -> bool {
    const WHOLE: [&str; 15] = [
        "BUFFER_WRITE",
        "BUFFER_VOLATILE_WRITE",
        "BINDLESS_BUFFER_WRITE",
        "BYTE_BUFFER_WRITE",
        "BYTE_BUFFER_VOLATILE_WRITE",
        "TEXTURE_WRITE",
        "RAY_QUERY_TERMINATE",
        "RAY_QUERY_PROCEED",
        "GRADIENT_MARKER",
        "ACCUMULATE_GRADIENT",
        "COOPERATIVE_OUTER_PRODUCT_ACCUMULATE",
        "COOPERATIVE_VECTOR_ACCUMULATE",
        "COOPERATIVE_VECTOR_STORE",
        "COOPERATIVE_VECTOR_WORKGROUP_STORE",
        "INDIRECT_SET_DISPATCH_COUNT",
    ];
    const STARTS: [&str; 4] = ["ATOMIC_", "RAY_TRACING_SET_", "RAY_QUERY_COMMIT_", "INDIRECT_SET_"];
    WHOLE.contains(&op) || STARTS.iter().any(|start| op.starts_with(start))
}

#[test]
fn every_variable_of_every_recorded_function() {
    let (mut functions, mut variables) = (0, 0);
    for path in support::kernels(&["own", "luisa", "perf", "bugs"]) {
        let bytes = std::fs::read(&path).expect("the corpus can be read");
        let Ok(library) = json::read(&bytes) else { continue };
        // The parser of the test is recursive, and has a limit.
        let Ok(document) = serde_json::from_slice::<Value>(&bytes) else { continue };
        for (wanted, function) in usages(&document).iter().zip(library.functions.values()) {
            functions += 1;
            assert_eq!(wanted.len(), function.variables.len());
            for ((id, variable), wanted) in function.variables.iter().zip(wanted) {
                variables += 1;
                assert_eq!(
                    variable.usage.bits(),
                    *wanted,
                    "{}: {id} of function {functions}",
                    path.display()
                );
            }
        }
    }
    println!("{variables} variables of {functions} functions");
    if support::corpus().is_some() {
        assert!(
            functions > 600 && variables > 20_000,
            "only {functions} functions, {variables} variables"
        );
    }
}

/// The same for what nobody recorded.
#[test]
fn every_variable_of_random_functions() {
    use luisac_ast::testing::{Form, Options, library};
    for seed in 0..100 {
        let library = library(&Options { seed, size: 40, form: Form::D0 });
        let bytes = json::write(&library, json::Dialect::D0).expect("the form holds it");
        let read = json::read(&bytes).expect("it reads");
        // The form has control characters as they are, which the parser of the test refuses.
        let strict: Vec<u8> = bytes.iter().map(|b| if *b < b' ' { b' ' } else { *b }).collect();
        let document: Value = serde_json::from_slice(&strict).expect("it is JSON");
        for (wanted, function) in usages(&document).iter().zip(read.functions.values()) {
            for ((id, variable), wanted) in function.variables.iter().zip(wanted) {
                assert_eq!(variable.usage.bits(), *wanted, "seed {seed}: {id}");
            }
        }
    }
}
