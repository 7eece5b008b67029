//! Kernels that call functions of other inputs.

use super::{Linked, Part, codes, link};
use crate::check::check;
use crate::diagnostic::{Code, Diagnostics};
use crate::json;
use crate::model::{Callee, ExprKind, FunctionTag, Library};

/// A function that calls `callee` with its first argument and returns what that gives; a kernel drops it. Types: 0 uint,
/// 1 void, 2 float, 3 a structure that differs from input to input.
fn part(name: &str, tag: &str, callee: Option<&str>, member: u32, addend: &str) -> Part {
    let externals = callee.map_or(String::new(), |callee| {
        format!(r#""external_functions":[{{"name":"{callee}","return_type":0,"argument_types":[0],"argument_usages":["READ"]}}],"#)
    });
    let argument = r#"{"tag":"REF","type":0,"variable":0}"#;
    let value = match callee {
        Some(_) => format!(
            r#"{{"tag":"CALL","type":0,"op":"EXTERNAL","external":0,"arguments":[{argument}]}}"#
        ),
        None => format!(
            r#"{{"tag":"BINARY","type":0,"op":"ADD","lhs":{argument},"rhs":{{"tag":"LITERAL","type":0,"value":"{addend}"}}}}"#
        ),
    };
    let (shape, end) = match tag {
        "KERNEL" => (
            r#""block_size":[1,1,1],"bound_arguments":[],"#,
            format!(r#"{{"tag":"EXPR","expression":{value}}}"#),
        ),
        _ => (r#""return_type":0,"#, format!(r#"{{"tag":"RETURN","expression":{value}}}"#)),
    };
    let text = format!(
        r#"{{"types":[{{"tag":"UINT32"}},null,{{"tag":"FLOAT32"}},{{"tag":"STRUCTURE","alignment":4,"members":[{member}]}}],
        {externals}"functions":[{{"tag":"{tag}","arguments":[0],"variables":[{{"tag":"ARGUMENT","type":0}},{{"tag":"LOCAL","type":3}}],
        "curve_bases":[],"constants":[],{shape}"body":{{"tag":"SCOPE","statements":[{end}]}}}}],"entry":0}}"#
    );
    let mut library = json::read(text.as_bytes()).unwrap_or_else(|errors| panic!("{errors}"));
    for function in library.functions.values_mut() {
        function.name = Some(name.to_owned());
    }
    assert!(!check(&library).has_errors(), "{}", check(&library));
    Part { name: format!("{name}.json"), library }
}

const ONE: &str = "AQAAAA==";
const TWO: &str = "AgAAAA==";

fn kernel(callee: &str) -> Part {
    part("main", "KERNEL", Some(callee), 0, ONE)
}

fn callable(name: &str, callee: Option<&str>, addend: &str) -> Part {
    part(name, "CALLABLE", callee, 2, addend)
}

#[track_caller]
fn linked(parts: Vec<Part>) -> (Linked, Diagnostics) {
    link(parts).unwrap_or_else(|errors| panic!("{errors}"))
}

fn externals(library: &Library) -> usize {
    let calls = library.functions.values().flat_map(|f| f.exprs.values());
    calls.filter(|e| matches!(e.kind, ExprKind::Call { callee: Callee::External(_), .. })).count()
}

#[track_caller]
fn refused(parts: Vec<Part>, code: Code, word: &str) {
    let errors = link(parts).expect_err("must be refused");
    assert_eq!(errors.0.first().map(|d| d.code), Some(code), "{errors}");
    assert!(errors.to_string().contains(word), "{errors}");
}

#[test]
fn names_lead_through_inputs() {
    let parts = vec![kernel("f"), callable("g", None, ONE), callable("f", Some("g"), ONE)];
    let (linked, warnings) = linked(parts);
    assert_eq!(warnings, Diagnostics::new());
    assert_eq!(externals(&linked.library), 0);
    assert!(check(&linked.library).is_empty(), "{}", check(&linked.library));
    let names: Vec<_> =
        linked.library.functions.values().map(|f| f.name.clone().unwrap_or_default()).collect();
    assert_eq!(names, ["g", "f", "main"]);
    let parts: Vec<usize> = linked.origins.values().map(|origin| origin.0).collect();
    assert_eq!(parts, [1, 2, 0]);
    let entry = linked.library.entry.expect("the kernel");
    assert_eq!(linked.library.functions[entry].tag, FunctionTag::Kernel);
    // Each part keeps the types that it has.
    let struct_of = |i: usize| {
        let function = linked.library.functions.values().nth(i).expect("a function");
        let ty = function.variables.values().nth(1).expect("the local").ty;
        linked.library.types.description(ty)
    };
    assert_eq!((struct_of(0), struct_of(2)), ("struct<4,float>".into(), "struct<4,uint>".into()));
}

#[test]
fn one_part_stays_as_it_is() {
    let alone = part("main", "KERNEL", None, 0, ONE);
    let before = alone.library.clone();
    assert_eq!(linked(vec![alone]).0.library, before);
}

#[test]
fn what_is_missing_stays_external() {
    let (linked, warnings) = linked(vec![kernel("f"), callable("g", None, ONE)]);
    assert_eq!(externals(&linked.library), 1);
    assert_eq!(linked.library.externals.len(), 1);
    let codes: Vec<Code> = warnings.0.iter().map(|d| d.code).collect();
    assert_eq!(codes, [codes::UNRESOLVED]);
    assert!(!check(&linked.library).has_errors());
}

#[test]
fn clashes_are_told() {
    let clash = || vec![kernel("f"), callable("f", None, ONE), callable("f", None, TWO)];
    refused(clash(), codes::CLASH, "`f.json`");
    let same = vec![kernel("f"), callable("f", None, ONE), callable("f", None, ONE)];
    assert_eq!(externals(&linked(same).0.library), 0);
}

#[test]
fn signatures_have_to_fit() {
    let mut wrong = callable("f", None, ONE);
    for function in wrong.library.functions.values_mut() {
        function.return_type = crate::TypeId::F32;
    }
    refused(vec![kernel("f"), wrong], codes::SIGNATURE, "it returns `float`, not `uint`");
    let mut short = callable("f", None, ONE);
    for function in short.library.functions.values_mut() {
        function.arguments.clear();
    }
    refused(vec![kernel("f"), short], codes::SIGNATURE, "it takes 0 arguments, not 1");
}

#[test]
fn circles_through_names_are_refused() {
    let parts = vec![kernel("f"), callable("f", Some("g"), ONE), callable("g", Some("f"), ONE)];
    refused(parts, codes::CIRCLE, "calls itself");
}
