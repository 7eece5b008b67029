//! Both layers of usage, by small kernels.

use super::{effective, marked};
use crate::json;

/// Variables: 0 buffer<uint>, 1 uint, 2 uint3, 3 bindless array, 4 array<uint,4>. Function 0 is `void f(uint &a, buffer<uint> b)`,
/// which writes `a` and reads `b`.
const KERNEL: &str = r#"{
  "types": [{"tag":"UINT32"},{"tag":"BUFFER","element":0},null,{"tag":"VECTOR","element":0,"dimension":3},
    {"tag":"BINDLESS_ARRAY"},{"tag":"ARRAY","element":0,"dimension":4}],
  "functions": [
    {"tag":"CALLABLE","arguments":[0,1],"variables":[{"tag":"REFERENCE","type":0},{"tag":"BUFFER","type":1}],
     "curve_bases":[],"constants":[],"return_type":2,"body":{"tag":"SCOPE","statements":[
      {"tag":"ASSIGN","lhs":{"tag":"REF","type":0,"variable":0},"rhs":{"tag":"CALL","type":0,"op":"BUFFER_READ",
       "arguments":[{"tag":"REF","type":1,"variable":1},{"tag":"LITERAL","type":0,"value":"AAAAAA=="}]}}]}},
    {"tag":"KERNEL","arguments":[0,3],"variables":[{"tag":"BUFFER","type":1},{"tag":"LOCAL","type":0},
      {"tag":"LOCAL","type":3},{"tag":"BINDLESS_ARRAY","type":4},{"tag":"LOCAL","type":5}],
     "curve_bases":[],"constants":[],"block_size":[32,1,1],"bound_arguments":[],
     "body":{"tag":"SCOPE","statements":[<kernel>]}}
  ],
  "entry": 1
}"#;

const TYPES: [u32; 5] = [1, 0, 3, 4, 5];
const ZERO: &str = r#"{"tag":"LITERAL","type":0,"value":"AAAAAA=="}"#;

fn var(index: usize) -> String {
    format!(r#"{{"tag":"REF","type":{},"variable":{index}}}"#, TYPES[index])
}

fn call(op: &str, ty: u32, arguments: &[&str]) -> String {
    let arguments = arguments.join(",");
    format!(
        r#"{{"tag":"EXPR","expression":{{"tag":"CALL","type":{ty},{op},"arguments":[{arguments}]}}}}"#
    )
}

/// The marked and the effective usage of one variable of a kernel with one statement.
#[track_caller]
fn usages(statement: &str, variable: usize, wanted: (&str, &str)) {
    let library = json::read(KERNEL.replace("<kernel>", statement).as_bytes())
        .unwrap_or_else(|e| panic!("{e}"));
    let (kernel, function) = library.kernels().next().expect("there is a kernel");
    let variable = function.variables.keys().nth(variable).expect("there is this variable");
    let found =
        (marked(&library)[kernel][variable].name(), effective(&library)[kernel][variable].name());
    assert_eq!(found, wanted, "{statement}");
    assert_eq!(function.variables[variable].usage.name(), wanted.0);
}

#[test]
fn statements() {
    let assign = |lhs: &str, rhs: &str| format!(r#"{{"tag":"ASSIGN","lhs":{lhs},"rhs":{rhs}}}"#);
    usages(&assign(&var(1), ZERO), 1, ("WRITE", "WRITE"));
    usages(&assign(&var(1), &var(1)), 1, ("READ_WRITE", "READ_WRITE"));
    let x = format!(r#"{{"tag":"MEMBER","type":0,"self":{},"swizzle":"x"}}"#, var(2));
    usages(&assign(&x, ZERO), 2, ("WRITE", "WRITE"));
    let element = format!(r#"{{"tag":"ACCESS","type":0,"range":{},"index":{}}}"#, var(4), var(1));
    usages(&assign(&element, ZERO), 4, ("READ_WRITE", "WRITE"));
    usages(&assign(&element, ZERO), 1, ("READ", "READ"));
    let scope = r#"{"tag":"SCOPE","statements":[]}"#;
    let step = format!(
        r#"{{"tag":"FOR","variable":{},"condition":{ZERO},"step":{ZERO},"body":{scope}}}"#,
        var(1)
    );
    usages(&step, 1, ("READ_WRITE", "READ_WRITE"));
    usages(r#"{"tag":"BREAK"}"#, 1, ("NONE", "NONE"));
}

#[test]
fn builtin_calls() {
    let (buffer, array) = (var(0), var(3));
    usages(&call(r#""op":"BUFFER_READ""#, 0, &[&buffer, ZERO]), 0, ("READ", "READ"));
    usages(&call(r#""op":"BUFFER_WRITE""#, 2, &[&buffer, ZERO, ZERO]), 0, ("WRITE", "WRITE"));
    usages(
        &call(r#""op":"ATOMIC_FETCH_ADD""#, 0, &[&buffer, ZERO, ZERO]),
        0,
        ("WRITE", "READ_WRITE"),
    );
    usages(&call(r#""op":"PACK""#, 2, &[ZERO, &buffer, ZERO]), 0, ("READ", "WRITE"));
    usages(
        &call(r#""op":"BINDLESS_BUFFER_WRITE""#, 2, &[&array, ZERO, ZERO, ZERO]),
        3,
        ("WRITE", "WRITE"),
    );
    usages(
        &call(r#""op":"UNIFORM_BINDLESS_BUFFER_WRITE""#, 2, &[&array, ZERO, ZERO, ZERO]),
        3,
        ("READ", "WRITE"),
    );
    usages(
        &call(r#""op":"TYPED_BINDLESS_BUFFER_WRITE""#, 2, &[&array, ZERO, ZERO, ZERO]),
        3,
        ("READ", "WRITE"),
    );
}

#[test]
fn calls_of_callables() {
    let statement = call(r#""op":"CUSTOM","custom":0"#, 2, &[&var(1), &var(0)]);
    usages(&statement, 1, ("WRITE", "WRITE"));
    usages(&statement, 0, ("READ", "READ"));
    usages(&statement, 2, ("NONE", "NONE"));
}
