//! The text of a library with every kind of node.

use expect_test::{expect, expect_file};

use super::print;
use crate::json;

fn literal(ty: u32, base64: &str) -> String {
    format!(r#"{{"tag":"LITERAL","type":{ty},"value":"{base64}"}}"#)
}

fn var(ty: u32, variable: u32) -> String {
    format!(r#"{{"tag":"REF","type":{ty},"variable":{variable}}}"#)
}

fn binary(op: &str, ty: u32, lhs: &str, rhs: &str) -> String {
    format!(r#"{{"tag":"BINARY","type":{ty},"op":"{op}","lhs":{lhs},"rhs":{rhs}}}"#)
}

fn assign(lhs: &str, rhs: &str) -> String {
    format!(r#"{{"tag":"ASSIGN","lhs":{lhs},"rhs":{rhs}}}"#)
}

fn scope(stmts: &[String]) -> String {
    format!(r#"{{"tag":"SCOPE","statements":[{}]}}"#, stmts.join(","))
}

/// Types: 0 uint, 1 float, 2 float3, 3 bool, 4 buffer<float>, 5 void, 6 struct, 7 array, 8 query, 9 half, 10 ulong,
/// 11 accel. Variables of the kernel: 0 buffer, 1 uint, 2 float, 3 float3, 4 struct, 5 shared, 6 thread id, 7 query.
fn library(statements: &[String]) -> String {
    let text = format!(
        r#"{{"types":[{{"tag":"UINT32"}},{{"tag":"FLOAT32"}},{{"tag":"VECTOR","element":1,"dimension":3}},{{"tag":"BOOL"}},
          {{"tag":"BUFFER","element":1}},null,{{"tag":"STRUCTURE","alignment":16,"members":[0,2]}},
          {{"tag":"ARRAY","element":6,"dimension":4}},{{"tag":"CUSTOM","id":"LC_RayQueryAny"}},{{"tag":"FLOAT16"}},
          {{"tag":"UINT64"}},{{"tag":"VECTOR","element":0,"dimension":3}}],
        "constants":[{{"type":2,"raw":"AACAPwAAwH8AAIB/AAAAAA=="}}],
        "external_functions":[{{"name":"native sin","return_type":1,"argument_types":[1,4],"argument_usages":["READ","WRITE"]}}],
        "functions":[
          {{"tag":"CALLABLE","arguments":[0,1],"variables":[{{"tag":"ARGUMENT","type":1}},{{"tag":"REFERENCE","type":2}}],
           "curve_bases":[],"constants":[],"return_type":1,"body":{}}},
          {{"tag":"KERNEL","arguments":[0],"variables":[{{"tag":"BUFFER","type":4}},{{"tag":"LOCAL","type":0}},
            {{"tag":"LOCAL","type":1}},{{"tag":"LOCAL","type":2}},{{"tag":"LOCAL","type":6}},{{"tag":"SHARED","type":7}},
            {{"tag":"THREAD_ID","type":11}},{{"tag":"LOCAL","type":8}}],
           "curve_bases":["BEZIER"],"constants":[0],"block_size":[32,2,1],
           "bound_arguments":[{{"tag":"BUFFER","handle":"7","offset":"16","size":"64"}}],"body":{}}}],
        "entry":1}}"#,
        scope(&[format!(r#"{{"tag":"RETURN","expression":{}}}"#, var(1, 0))]),
        scope(statements)
    );
    let library = json::read(text.as_bytes()).unwrap_or_else(|errors| panic!("{errors}"));
    print(&library)
}

/// The statements of the kernel's body, without declarations and indentation.
fn body(statements: &[String]) -> String {
    let text = library(statements);
    let last = "var v7: LC_RayQueryAny;\n\n";
    let start = text.find(last).expect("the last declaration") + last.len();
    let body = text[start..].strip_suffix("}\n").expect("the end of the kernel");
    body.lines().map(|line| format!("{}\n", line.strip_prefix("    ").unwrap_or(line))).collect()
}

#[test]
fn declarations() {
    expect![[r#"
        struct S0 align(16) size(32) {
            m0: uint;
            m1: float3;
        }

        extern "native sin"(float, buffer<float> /* write */) -> float;

        const c0: float3 = float3(1.0, bitcast<float>(0x7fc00000), inf);

        callable f0(x0: float, r1: &float3) -> float {
            return x0;
        }

        kernel kernel1(buf0: buffer<float> /* buffer 7, bytes 16 to 80 */) block(32, 2, 1) curves(bezier) {
            var v1: uint;
            var v2: float;
            var v3: float3;
            var v4: S0;
            shared s5: array<S0, 4>;
            var v7: LC_RayQueryAny;
        }
    "#]]
    .assert_eq(&library(&[]));
}

#[test]
fn statements() {
    let condition = literal(3, "AQ==");
    let empty = scope(&[]);
    let step = assign(&var(0, 1), &literal(0, "AQAAAA=="));
    let jump = |tag: &str| format!(r#"{{"tag":"{tag}"}}"#);
    let body_of = |tag: &str, inner: &str| format!(r#"{{"tag":"{tag}","body":{inner}}}"#);
    expect![[r#"
            // first
            // second  bell
            if (true) {
                v1 = 1u;
            }
            if (true) {
            } else {
                v1 = 1u;
            }
            loop {
                continue;
                break;
            }
            for (; true; v1 += 2u) {
            }
            switch (v1) {
                case 3: {
                }
                default: {
                    v1 = 1u;
                }
            }
            ray_query (v7) on_triangle {
            } on_procedural {
            }
            autodiff {
            }
            print("x = {}\n", v2);
            return;
    "#]]
    .assert_eq(&body(&[
        r#"{"tag":"COMMENT","comment":"first\nsecond \u0007bell"}"#.into(),
        format!(r#"{{"tag":"IF","condition":{condition},"true_branch":{},"false_branch":{empty}}}"#, scope(std::slice::from_ref(&step))),
        format!(r#"{{"tag":"IF","condition":{condition},"true_branch":{empty},"false_branch":{}}}"#, scope(std::slice::from_ref(&step))),
        body_of("LOOP", &scope(&[jump("CONTINUE"), jump("BREAK")])),
        format!(r#"{{"tag":"FOR","variable":{},"condition":{condition},"step":{},"body":{empty}}}"#, var(0, 1), literal(0, "AgAAAA==")),
        format!(
            r#"{{"tag":"SWITCH","expression":{},"body":{}}}"#,
            var(0, 1),
            scope(&[
                format!(r#"{{"tag":"SWITCH_CASE","value":3,"body":{empty}}}"#),
                body_of("SWITCH_DEFAULT", &scope(&[step])),
            ])
        ),
        format!(r#"{{"tag":"RAY_QUERY","query":{},"on_triangle_candidate":{empty},"on_procedural_candidate":{empty}}}"#, var(8, 7)),
        body_of("AUTO_DIFF", &empty),
        format!(r#"{{"tag":"PRINT","format":"x = {{}}\n","arguments":[{}]}}"#, var(1, 2)),
        r#"{"tag":"RETURN","expression":null}"#.into(),
    ]));
}

#[test]
fn expressions() {
    let (f, g, u) = (var(1, 2), literal(1, "AAAAPw=="), var(0, 1));
    let sum = binary("ADD", 1, &f, &g);
    let set = |rhs: &str| assign(&var(1, 2), rhs);
    let call = |op: &str, ty: u32, arguments: &[&str], callee: &str| {
        format!(
            r#"{{"tag":"CALL","type":{ty},"op":"{op}"{callee},"arguments":[{}]}}"#,
            arguments.join(",")
        )
    };
    let unary = |op: &str, ty: u32, operand: &str| {
        format!(r#"{{"tag":"UNARY","type":{ty},"op":"{op}","operand":{operand}}}"#)
    };
    expect![[r#"
            v2 = (v2 + 0.5) * v2;
            v2 = v2 * 0.5 + v2;
            v2 = v2 - (v2 - 0.5);
            v2 = -(-v2);
            v2 = v2 < 0.5 && !(v2 == 0.5);
            v2 = v4.m1.z;
            v2 = cast<float>(v1 + 4294967295u);
            v2 = bitcast<float>(v1);
            v2 = buffer_read(buf0, v1);
            v2 = f0(v2, v3);
            v2 = "native sin"(v2, buf0);
            v2 = zero<float>();
            v3 = c0;
            v2 = 3.0h;
            v2 = bitcast<half>(0x7c01);
            v2 = -inf;
            v2 = true;
            s5[v1] = v4;
            assert(false, string_id("no \"way\""));
    "#]]
    .assert_eq(&body(&[
        set(&binary("MUL", 1, &sum, &f)),
        set(&binary("ADD", 1, &binary("MUL", 1, &f, &g), &f)),
        set(&binary("SUB", 1, &f, &binary("SUB", 1, &f, &g))),
        set(&unary("MINUS", 1, &unary("MINUS", 1, &f))),
        set(&binary("AND", 3, &binary("LESS", 3, &f, &g), &unary("NOT", 3, &binary("EQUAL", 3, &f, &g)))),
        set(&format!(r#"{{"tag":"MEMBER","type":1,"self":{{"tag":"MEMBER","type":2,"self":{},"member":1}},"swizzle":"z"}}"#, var(6, 4))),
        set(&format!(r#"{{"tag":"CAST","type":1,"op":"STATIC","expression":{}}}"#, binary("ADD", 0, &u, &literal(0, "/////w==")))),
        set(&format!(r#"{{"tag":"CAST","type":1,"op":"BITWISE","expression":{u}}}"#)),
        set(&call("BUFFER_READ", 1, &[&var(4, 0), &u], "")),
        set(&call("CUSTOM", 1, &[&f, &var(2, 3)], r#","custom":0"#)),
        set(&call("EXTERNAL", 1, &[&f, &var(4, 0)], r#","external":0"#)),
        set(&call("ZERO", 1, &[], "")),
        assign(&var(2, 3), r#"{"tag":"CONSTANT","type":2,"data":0}"#),
        set(&literal(9, "AEI=")),
        set(&literal(9, "AXw=")),
        set(&literal(1, "AACA/w==")),
        set(&literal(3, "AQ==")),
        assign(
            &format!(r#"{{"tag":"ACCESS","type":6,"range":{},"index":{u}}}"#, var(7, 5)),
            &var(6, 4),
        ),
        format!(r#"{{"tag":"EXPR","expression":{}}}"#, call("ASSERT", 5, &[&literal(3, "AA=="), r#"{"tag":"STRING_ID","type":10,"data":"no \"way\""}"#], "")),
    ]));
}

/// A kernel of every day.
#[test]
fn mandelbrot() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/mandelbrot.json");
    let mut library =
        json::read(&std::fs::read(path).expect("the fixture")).expect("the fixture reads");
    for function in library.functions.values_mut() {
        function.name.get_or_insert_with(|| "mandelbrot".into());
    }
    expect_file!["tests/mandelbrot.txt"].assert_eq(&print(&library));
}
