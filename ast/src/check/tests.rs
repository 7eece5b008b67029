//! Each check, by a small kernel that breaks exactly one rule.

use super::{check, codes};
use crate::diagnostic::Code;
use crate::json;

/// Types by index: 0 uint, 1 buffer<uint>, 2 void, 3 bool, 4 float, 5 float3, 6 float4, 7 int, 8 array<uint,4>,
/// 9 struct{uint, float3}, 10 uint3, 11 texture<2,float>, 12 LC_RayQueryAll, 13 float3x3, 14 accel, 15 long, 16 uint2.
/// Variables of the kernel: 0 buffer, 1 uint, 2 float3, 3 array, 4 struct, 5 dispatch id, 6 texture, 7 query, 8 matrix,
/// 9 bool, 10 shared array, 11 float, 12 accel, 13 int. Functions: 0 `uint f(uint, uint &)`, 1 the kernel.
const KERNEL: &str = r#"{
  "types": [{"tag":"UINT32"},{"tag":"BUFFER","element":0},null,{"tag":"BOOL"},{"tag":"FLOAT32"},
    {"tag":"VECTOR","element":4,"dimension":3},{"tag":"VECTOR","element":4,"dimension":4},{"tag":"INT32"},
    {"tag":"ARRAY","element":0,"dimension":4},{"tag":"STRUCTURE","alignment":16,"members":[0,5]},
    {"tag":"VECTOR","element":0,"dimension":3},{"tag":"TEXTURE","element":4,"dimension":2},
    {"tag":"CUSTOM","id":"LC_RayQueryAll"},{"tag":"MATRIX","element":4,"dimension":3},{"tag":"ACCEL"},{"tag":"INT64"},
    {"tag":"VECTOR","element":0,"dimension":2}],
  "functions": [
    {"tag":"CALLABLE","arguments":[0,1],"variables":[{"tag":"ARGUMENT","type":0},{"tag":"REFERENCE","type":0}],
     "curve_bases":[],"constants":[],"return_type":0,"body":{"tag":"SCOPE","statements":[<callable>]}},
    {"tag":"KERNEL","arguments":[0,6,12],"variables":[{"tag":"BUFFER","type":1},{"tag":"LOCAL","type":0},
      {"tag":"LOCAL","type":5},{"tag":"LOCAL","type":8},{"tag":"LOCAL","type":9},{"tag":"DISPATCH_ID","type":10},
      {"tag":"TEXTURE","type":11},{"tag":"LOCAL","type":12},{"tag":"LOCAL","type":13},{"tag":"LOCAL","type":3},
      {"tag":"SHARED","type":8},{"tag":"LOCAL","type":4},{"tag":"ACCEL","type":14},{"tag":"LOCAL","type":7}],
     "curve_bases":[],"constants":[],"block_size":[32,1,1],"bound_arguments":[],
     "body":{"tag":"SCOPE","statements":[<kernel>]}}
  ],
  "entry": 1
}"#;

const VARIABLE_TYPES: [u32; 14] = [1, 0, 5, 8, 9, 10, 11, 12, 13, 3, 8, 4, 14, 7];
pub(crate) const RETURN: &str =
    r#"{"tag":"RETURN","expression":{"tag":"REF","type":0,"variable":0}}"#;

pub(crate) fn var(index: usize) -> String {
    format!(r#"{{"tag":"REF","type":{},"variable":{index}}}"#, VARIABLE_TYPES[index])
}

pub(crate) fn uint(value: u8) -> String {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (a, b) =
        (digits[usize::from(value >> 2)] as char, digits[usize::from(value & 3) << 4] as char);
    format!(r#"{{"tag":"LITERAL","type":0,"value":"{a}{b}AAAA=="}}"#)
}

pub(crate) fn call(op: &str, ty: u32, arguments: &[String]) -> String {
    format!(r#"{{"tag":"CALL","type":{ty},"op":"{op}","arguments":[{}]}}"#, arguments.join(","))
}

pub(crate) fn assign(lhs: &str, rhs: &str) -> String {
    format!(r#"{{"tag":"ASSIGN","lhs":{lhs},"rhs":{rhs}}}"#)
}

pub(crate) fn eval(expr: &str) -> String {
    format!(r#"{{"tag":"EXPR","expression":{expr}}}"#)
}

pub(crate) fn scope(stmts: &str) -> String {
    format!(r#"{{"tag":"SCOPE","statements":[{stmts}]}}"#)
}

pub(crate) fn switch(cases: &str) -> String {
    format!(r#"{{"tag":"SWITCH","expression":{},"body":{}}}"#, var(1), scope(cases))
}

pub(crate) fn case(value: i64, body: &str) -> String {
    format!(r#"{{"tag":"SWITCH_CASE","value":{value},"body":{}}}"#, scope(body))
}

pub(crate) fn query(body: &str) -> String {
    format!(
        r#"{{"tag":"RAY_QUERY","query":{},"on_triangle_candidate":{},"on_procedural_candidate":{}}}"#,
        var(7),
        scope(body),
        scope("")
    )
}

fn found(text: &str) -> Vec<(Code, String)> {
    let library = json::read(text.as_bytes()).unwrap_or_else(|errors| panic!("{errors}"));
    check(&library).0.into_iter().map(|d| (d.code, d.pointer.unwrap_or_default())).collect()
}

pub(crate) fn program(callable: &str, kernel: &str) -> String {
    KERNEL.replace("<callable>", callable).replace("<kernel>", kernel)
}

#[track_caller]
fn accepted(kernel: &str) {
    assert_eq!(found(&program(RETURN, kernel)), [], "{kernel}");
}

/// The first finding is this one, at this place below the kernel's first statement.
#[track_caller]
fn refused(kernel: &str, code: Code, below: &str) {
    let found = found(&program(RETURN, kernel));
    let place = format!("/functions/1/body/statements/0{below}");
    assert_eq!(found.first(), Some(&(code, place)), "{kernel}: {found:?}");
}

#[track_caller]
fn refused_callable(body: &str, code: Code, below: &str) {
    let found = found(&program(body, ""));
    assert_eq!(found.first(), Some(&(code, format!("/functions/0{below}"))), "{found:?}");
}

#[test]
fn control_flow() {
    refused(r#"{"tag":"BREAK"}"#, codes::BREAK, "");
    refused(r#"{"tag":"CONTINUE"}"#, codes::CONTINUE, "");
    refused(
        &switch(&case(1, r#"{"tag":"CONTINUE"}"#)),
        codes::CONTINUE,
        "/body/statements/0/body/statements/0",
    );
    accepted(&switch(&case(1, r#"{"tag":"BREAK"}"#)));
    accepted(&format!(
        r#"{{"tag":"LOOP","body":{}}}"#,
        scope(&switch(&case(1, r#"{"tag":"CONTINUE"}"#)))
    ));
    refused(&case(1, ""), codes::SWITCH_SHAPE, "");
    refused(&switch(r#"{"tag":"BREAK"}"#), codes::SWITCH_SHAPE, "/body/statements/0");
    accepted(&switch(&format!(r#"{{"tag":"COMMENT","comment":"x"}},{}"#, case(1, ""))));
    refused(
        &switch(&format!("{},{}", case(7, ""), case(7, ""))),
        codes::DUPLICATE_CASE,
        "/body/statements/1",
    );
    refused(
        &switch(&format!("{},{}", case(-1, ""), case(4294967295, ""))),
        codes::DUPLICATE_CASE,
        "/body/statements/1",
    );
    accepted(&switch(&format!("{},{}", case(-1, ""), case(1, ""))));
    let default = format!(r#"{{"tag":"SWITCH_DEFAULT","body":{}}}"#, scope(""));
    refused(&switch(&format!("{default},{default}")), codes::SWITCH_SHAPE, "");
    let on_float = switch("").replace(&var(1), &var(11));
    refused(&on_float, codes::SWITCH_SHAPE, "/expression");
    let branch = |c: &str| {
        format!(
            r#"{{"tag":"IF","condition":{c},"true_branch":{},"false_branch":{}}}"#,
            scope(""),
            scope("")
        )
    };
    accepted(&branch(&var(9)));
    accepted(&branch(&var(1)));
    refused(&branch(&var(2)), codes::CONDITION, "/condition");
    accepted(&query(""));
    refused(&query(&query("")), codes::NESTED_QUERY, "/on_triangle_candidate/statements/0");
    refused(
        &query(r#"{"tag":"RETURN","expression":null}"#),
        codes::RETURN_IN_QUERY,
        "/on_triangle_candidate/statements/0",
    );
    let gradients = |s: &str| format!(r#"{{"tag":"AUTO_DIFF","body":{}}}"#, scope(s));
    let repeated = |s: &str| format!(r#"{{"tag":"LOOP","body":{}}}"#, scope(s));
    let jump = r#"{"tag":"BREAK"}"#;
    accepted(&gradients(&repeated(jump)));
    for jump in [jump, r#"{"tag":"CONTINUE"}"#] {
        let place = "/body/statements/0/body/statements/0";
        refused(&repeated(&gradients(jump)), codes::LEAVES_GRADIENTS, place);
    }
    let inner = gradients(&repeated(r#"{"tag":"RETURN","expression":null}"#));
    refused(&inner, codes::LEAVES_GRADIENTS, "/body/statements/0/body/statements/0");
    let in_loop = format!(r#"{{"tag":"LOOP","body":{}}}"#, scope(&query(r#"{"tag":"BREAK"}"#)));
    refused(&in_loop, codes::BREAK, "/body/statements/0/on_triangle_candidate/statements/0");
    refused(&query("").replace(&var(7), &var(1)), codes::QUERY_TYPE, "/query");
}

#[test]
fn returns() {
    refused(&format!(r#"{{"tag":"RETURN","expression":{}}}"#, var(1)), codes::RETURN_TYPE, "");
    refused_callable(
        r#"{"tag":"RETURN","expression":null}"#,
        codes::RETURN_TYPE,
        "/body/statements/0",
    );
    let truth = RETURN.replace(
        r#"{"tag":"REF","type":0,"variable":0}"#,
        r#"{"tag":"LITERAL","type":3,"value":"AQ=="}"#,
    );
    assert_eq!(found(&program(&truth, "")), []);
    let vector =
        r#"{"tag":"RETURN","expression":{"tag":"LITERAL","type":16,"value":"AAAAAAAAAAA="}}"#;
    refused_callable(vector, codes::RETURN_TYPE, "/body/statements/0");
    let sync = format!("{},{RETURN}", eval(&call("SYNCHRONIZE_BLOCK", 2, &[])));
    refused_callable(&sync, codes::KERNEL_ONLY, "/body/statements/0/expression");
}

#[test]
fn assignments() {
    accepted(&assign(&var(1), &var(13)));
    accepted(&assign(&var(11), &var(9)));
    refused(&assign(&var(1), &var(2)), codes::ASSIGN_TYPE, "");
    refused(&assign(&var(5), &var(5)), codes::NOT_ASSIGNABLE, "/lhs");
    refused(&assign(&var(0), &var(0)), codes::NOT_ASSIGNABLE, "/lhs");
    refused(&assign(&uint(1), &uint(1)), codes::NOT_ASSIGNABLE, "/lhs");
    let component = |s: &str, ty: u32| {
        format!(r#"{{"tag":"MEMBER","type":{ty},"self":{},"swizzle":"{s}"}}"#, var(2))
    };
    accepted(&assign(&component("y", 4), &var(11)));
    let two =
        r#"{"tag":"MEMBER","type":16,"self":{"tag":"REF","type":10,"variable":5},"swizzle":"xy"}"#;
    refused(&assign(two, two), codes::NOT_ASSIGNABLE, "/lhs");
    accepted(&assign(
        &format!(r#"{{"tag":"ACCESS","type":0,"range":{},"index":{}}}"#, var(10), uint(1)),
        &uint(1),
    ));
    let step = |v: usize, s: usize| {
        format!(
            r#"{{"tag":"FOR","variable":{},"condition":{},"step":{},"body":{}}}"#,
            var(v),
            var(9),
            var(s),
            scope("")
        )
    };
    accepted(&step(1, 13));
    refused(&step(1, 2), codes::ASSIGN_TYPE, "/step");
    refused(&step(5, 5), codes::NOT_ASSIGNABLE, "/variable");
}

#[test]
fn operators() {
    let binary = |op: &str, l: usize, r: usize, ty: u32| {
        eval(&format!(
            r#"{{"tag":"BINARY","type":{ty},"op":"{op}","lhs":{},"rhs":{}}}"#,
            var(l),
            var(r)
        ))
    };
    accepted(&binary("ADD", 1, 13, 0));
    accepted(&binary("MUL", 2, 11, 5));
    accepted(&binary("LESS", 1, 13, 3));
    accepted(&binary("MUL", 8, 2, 5));
    accepted(&binary("MUL", 8, 11, 13));
    refused(&binary("ADD", 4, 1, 0), codes::OPERAND_TYPE, "/expression");
    refused(&binary("BIT_AND", 11, 1, 0), codes::OPERAND_TYPE, "/expression");
    refused(&binary("LESS", 8, 8, 3), codes::OPERAND_TYPE, "/expression");
    refused(&binary("ADD", 8, 2, 5), codes::OPERAND_SHAPE, "/expression");
    refused(&binary("LESS", 1, 1, 0), codes::RESULT_TYPE, "/expression");
    refused(&binary("ADD", 1, 1, 5), codes::RESULT_TYPE, "/expression");
    refused(&binary("SHL", 1, 1, 4), codes::RESULT_TYPE, "/expression");
    let unary = |op: &str, v: usize, ty: u32| {
        eval(&format!(r#"{{"tag":"UNARY","type":{ty},"op":"{op}","operand":{}}}"#, var(v)))
    };
    accepted(&unary("MINUS", 8, 13));
    refused(&unary("BIT_NOT", 11, 4), codes::OPERAND_TYPE, "/expression");
    refused(&unary("NOT", 9, 0), codes::RESULT_TYPE, "/expression");
}

#[test]
fn parts() {
    let swizzle = |s: &str, ty: u32| {
        eval(&format!(r#"{{"tag":"MEMBER","type":{ty},"self":{},"swizzle":"{s}"}}"#, var(2)))
    };
    accepted(&swizzle("zyx", 5));
    refused(&swizzle("w", 4), codes::SWIZZLE, "/expression");
    refused(&swizzle("xy", 5), codes::RESULT_TYPE, "/expression");
    let member = |i: u32, ty: u32| {
        eval(&format!(r#"{{"tag":"MEMBER","type":{ty},"self":{},"member":{i}}}"#, var(4)))
    };
    accepted(&member(1, 5));
    refused(&member(2, 5), codes::MEMBER, "/expression");
    refused(&member(0, 5), codes::RESULT_TYPE, "/expression");
    let access = |v: usize, i: &str, ty: u32| {
        eval(&format!(r#"{{"tag":"ACCESS","type":{ty},"range":{},"index":{i}}}"#, var(v)))
    };
    accepted(&access(3, &uint(3), 0));
    accepted(&access(8, &var(13), 5));
    refused(&access(3, &uint(4), 0), codes::INDEX_RANGE, "/expression/index");
    refused(&access(0, &uint(0), 0), codes::ACCESS, "/expression");
    refused(&access(3, &var(11), 0), codes::ACCESS, "/expression/index");
    let cast = |op: &str, v: usize, ty: u32| {
        eval(&format!(r#"{{"tag":"CAST","type":{ty},"op":"{op}","expression":{}}}"#, var(v)))
    };
    accepted(&cast("STATIC", 11, 5));
    accepted(&cast("BITWISE", 11, 0));
    refused(&cast("STATIC", 2, 6), codes::CAST, "/expression");
    refused(&cast("BITWISE", 11, 15), codes::CAST, "/expression");
    refused(
        &eval(&var(1).replace(r#""type":0"#, r#""type":7"#)),
        codes::RESULT_TYPE,
        "/expression",
    );
}

#[test]
fn builtin_calls() {
    let write = |arguments: &[String]| eval(&call("BUFFER_WRITE", 2, arguments));
    accepted(&write(&[var(0), uint(0), uint(1)]));
    refused(&write(&[var(0), uint(0)]), codes::ARGUMENT_COUNT, "/expression");
    refused(&write(&[var(0), uint(0), uint(1), uint(1)]), codes::ARGUMENT_COUNT, "/expression");
    refused(&write(&[var(0), var(11), uint(1)]), codes::ARGUMENT_TYPE, "/expression/arguments/1");
    refused(&write(&[var(6), uint(0), uint(1)]), codes::ARGUMENT_TYPE, "/expression/arguments/0");
    refused(&write(&[var(0), uint(0), var(2)]), codes::ARGUMENT_TYPE, "/expression/arguments/2");
    accepted(&eval(&call("SQRT", 4, &[var(11)])));
    refused(&eval(&call("SQRT", 0, &[var(1)])), codes::OPERAND_TYPE, "/expression");
    refused(
        &eval(&call("MAX", 5, &[var(2), var(11)])),
        codes::ARGUMENT_TYPE,
        "/expression/arguments/1",
    );
    accepted(&eval(&call("LERP", 5, &[var(2), var(2), var(11)])));
    refused(&eval(&call("DOT", 5, &[var(2), var(2)])), codes::RESULT_TYPE, "/expression");
    accepted(&eval(&call("MAKE_FLOAT4", 6, &[var(2), var(11)])));
    accepted(&eval(&call("MAKE_FLOAT3", 5, &[var(11)])));
    refused(&eval(&call("MAKE_FLOAT4", 6, &[var(2)])), codes::ARGUMENT_COUNT, "/expression");
    refused(&eval(&call("MAKE_FLOAT4", 5, &[var(2), var(11)])), codes::RESULT_TYPE, "/expression");
    refused(
        &eval(&call("MAKE_FLOAT3X3", 13, &[var(2), var(2)])),
        codes::ARGUMENT_COUNT,
        "/expression",
    );
    accepted(&eval(&call("SYNCHRONIZE_BLOCK", 2, &[])));
    refused(
        &eval(&call("RAY_QUERY_TERMINATE", 2, &[var(1)])),
        codes::ARGUMENT_TYPE,
        "/expression/arguments/0",
    );
    refused(
        &eval(&call("GRADIENT", 0, &[uint(1)])),
        codes::ARGUMENT_WRITE,
        "/expression/arguments/0",
    );
}

#[test]
fn atomics() {
    let add = |arguments: &[String], ty: u32| eval(&call("ATOMIC_FETCH_ADD", ty, arguments));
    accepted(&add(&[var(0), uint(0), uint(1)], 0));
    accepted(&add(&[var(0), uint(0), uint(1)], 2));
    accepted(&add(&[var(10), uint(0), uint(1)], 0));
    accepted(&add(&[var(4), uint(1), uint(2), var(11)], 4));
    refused(&add(&[var(4), uint(2), var(11)], 4), codes::ATOMIC, "/expression/arguments/1");
    refused(&add(&[var(4), var(1), var(11)], 4), codes::ATOMIC, "/expression/arguments/1");
    refused(&add(&[var(4), uint(1), var(2)], 5), codes::ATOMIC, "/expression");
    refused(
        &add(&[var(0), uint(0), uint(0), uint(1)], 0),
        codes::ATOMIC,
        "/expression/arguments/2",
    );
    refused(&add(&[var(0), uint(0), var(2)], 0), codes::ARGUMENT_TYPE, "/expression/arguments/2");
    refused(&add(&[var(0), uint(0), uint(1)], 7), codes::RESULT_TYPE, "/expression");
    refused(
        &eval(&call("ATOMIC_FETCH_AND", 4, &[var(4), uint(1), uint(0), var(11)])),
        codes::ATOMIC,
        "/expression",
    );
}

#[test]
fn calls_of_callables() {
    let custom = |arguments: &[String], ty: u32| {
        eval(
            &call("CUSTOM", ty, arguments)
                .replace(r#""op":"CUSTOM""#, r#""op":"CUSTOM","custom":0"#),
        )
    };
    accepted(&custom(&[uint(1), var(1)], 0));
    refused(&custom(&[uint(1)], 0), codes::ARGUMENT_COUNT, "/expression");
    refused(&custom(&[var(13), var(1)], 0), codes::ARGUMENT_TYPE, "/expression/arguments/0");
    refused(&custom(&[uint(1), uint(1)], 0), codes::ARGUMENT_WRITE, "/expression/arguments/1");
    refused(&custom(&[uint(1), var(1)], 7), codes::RESULT_TYPE, "/expression");
}

#[test]
fn declarations() {
    let kernel = |from: &str, to: &str| {
        let text = program(RETURN, "");
        assert!(text.contains(from), "{from}");
        found(&text.replace(from, to)).first().map(|(code, _)| *code)
    };
    assert_eq!(kernel("[32,1,1]", "[1024,2,1]"), Some(codes::BLOCK_SIZE));
    assert_eq!(kernel("[32,1,1]", "[1,1,65]"), Some(codes::BLOCK_SIZE));
    assert_eq!(kernel("[32,1,1]", "[32,0,1]"), Some(codes::BLOCK_SIZE));
    assert_eq!(kernel("[32,1,1]", "[16,8,8]"), None);
    let bound = r#""bound_arguments":[{"tag":"ACCEL","handle":"1"}]"#;
    assert_eq!(kernel(r#""bound_arguments":[]"#, bound), Some(codes::BINDING));
    assert_eq!(
        kernel(r#"{"tag":"DISPATCH_ID","type":10}"#, r#"{"tag":"DISPATCH_ID","type":5}"#),
        Some(codes::VARIABLE_TYPE)
    );
    assert_eq!(
        kernel(r#"{"tag":"LOCAL","type":3}"#, r#"{"tag":"LOCAL","type":1}"#),
        Some(codes::VARIABLE_TYPE)
    );
    assert_eq!(
        kernel(
            r#"{"tag":"REFERENCE","type":0}"#,
            r#"{"tag":"REFERENCE","type":0},{"tag":"SHARED","type":8}"#
        ),
        Some(codes::KERNEL_ONLY)
    );
}

#[test]
fn codes_are_unique_and_explained() {
    let mut all: Vec<_> = crate::code_tables().into_iter().flatten().collect();
    all.sort_by_key(|info| info.code);
    assert!(all.windows(2).all(|w| w[0].code != w[1].code));
    assert!(all.iter().all(|i| !i.title.ends_with('.')
        && i.explanation.ends_with('.')
        && i.remedy.ends_with('.')));
}
