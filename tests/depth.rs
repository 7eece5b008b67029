//! Programs nested 100,000 levels deep, on a small stack and in bounded memory: they compile or are refused, and nothing falls over.
#![cfg(unix)]

mod common;

use common::{Folder, all_right, finish, head, in_parallel};
use std::process::{Command, Stdio};

const DEPTH: usize = 100_000;
/// Kibibytes. A debug build's frames are large, the stack is small all the same.
const STACK: usize = 1024;
/// Kibibytes of address space, a gibibyte of which is the stack of LLVM's thread, touched only as far as it is used.
const MEMORY: usize = 3 << 20;

const TYPES: &str = r#"{"tag":"INT32"},{"tag":"BUFFER","element":0},{"tag":"BOOL"},null,{"tag":"VECTOR","element":0,"dimension":2},{"tag":"FLOAT32"}"#;
/// An int variable, a bool variable, a literal, and the beginning of a scope.
const INT: &str = r#"{"tag":"REF","type":0,"variable":1}"#;
const BOOL: &str = r#"{"tag":"REF","type":2,"variable":2}"#;
const SEVEN: &str = r#"{"tag":"LITERAL","type":0,"value":"BwAAAA=="}"#;
const SCOPE: &str = r#"{"tag":"SCOPE","statements":["#;

/// A kernel that runs the statements and writes the int variable to its buffer.
fn kernel(types: &str, statements: &str) -> String {
    format!(
        r#"{{"types":[{types}],"functions":[{{"tag":"KERNEL","variables":[{{"tag":"BUFFER","type":1}},{{"tag":"LOCAL","type":0}},{{"tag":"LOCAL","type":2}}],
"curve_bases":[],"arguments":[0],"bound_arguments":[],"block_size":[32,1,1],"constants":[],"body":{SCOPE}{statements},
{{"tag":"EXPR","expression":{{"tag":"CALL","type":3,"op":"BUFFER_WRITE","arguments":[{{"tag":"REF","type":1,"variable":0}},{SEVEN},{INT}]}}}}]}}}}],"entry":0}}"#
    )
}

fn assign(value: &str) -> String {
    format!(r#"{{"tag":"ASSIGN","lhs":{INT},"rhs":{value}}}"#)
}

fn nest(before: &str, inside: &str, after: &str) -> String {
    [&before.repeat(DEPTH), inside, &after.repeat(DEPTH)].concat()
}

/// Nested statements.
fn scopes() -> Vec<(&'static str, String)> {
    let seven = assign(SEVEN);
    let arm = |rest: &str| format!(r#"]}},"false_branch":{SCOPE}{rest}"#);
    let rows = [
        ("scope", SCOPE.to_owned(), "]}".to_owned()),
        ("then", format!(r#"{{"tag":"IF","condition":{BOOL},"true_branch":{SCOPE}"#), arm("]}}")),
        (
            "else",
            format!(r#"{{"tag":"IF","condition":{BOOL},"true_branch":{SCOPE}{}"#, arm("")),
            "]}}".into(),
        ),
        ("loop", format!(r#"{{"tag":"LOOP","body":{SCOPE}"#), r#",{"tag":"BREAK"}]}}"#.into()),
        (
            "for",
            format!(
                r#"{{"tag":"FOR","variable":{INT},"condition":{BOOL},"step":{INT},"body":{SCOPE}"#
            ),
            "]}}".into(),
        ),
        (
            "switch",
            format!(
                r#"{{"tag":"SWITCH","expression":{INT},"body":{SCOPE}{{"tag":"SWITCH_CASE","value":1,"body":{SCOPE}"#
            ),
            r#",{"tag":"BREAK"}]}}]}}"#.into(),
        ),
    ];
    rows.map(|(name, before, after)| (name, kernel(TYPES, &nest(&before, &seven, &after)))).into()
}

/// Nested operands.
fn operands() -> Vec<(&'static str, String)> {
    let binary = r#"{"tag":"BINARY","op":"ADD","type":0,"#;
    let rows = [
        ("unary", r#"{"tag":"UNARY","op":"MINUS","type":0,"operand":"#.to_owned(), "}".to_owned()),
        ("left", format!(r#"{binary}"lhs":"#), format!(r#","rhs":{INT}}}"#)),
        ("right", format!(r#"{binary}"lhs":{INT},"rhs":"#), "}".into()),
        (
            "cast",
            r#"{"tag":"CAST","op":"STATIC","type":0,"expression":{"tag":"CAST","op":"STATIC","type":5,"expression":"#.into(),
            "}}".into(),
        ),
        ("call", r#"{"tag":"CALL","op":"ABS","type":0,"arguments":["#.into(), "]}".into()),
        (
            "member",
            r#"{"tag":"MEMBER","type":0,"swizzle":"x","self":{"tag":"CALL","op":"MAKE_INT2","type":4,"arguments":["#.into(),
            format!(",{INT}]}}}}"),
        ),
    ];
    rows.map(|(name, before, after)| (name, kernel(TYPES, &assign(&nest(&before, INT, &after)))))
        .into()
}

/// Nested types, brackets without an end, and a chain of callables.
fn others() -> Vec<(&'static str, String)> {
    let types = |row: &dyn Fn(usize) -> String| {
        let nested: Vec<String> = (0..DEPTH).map(|i| row(if i == 0 { 0 } else { i + 5 })).collect();
        kernel(&format!("{TYPES},{}", nested.join(",")), &assign(SEVEN))
    };
    let callable = |i: usize| {
        let argument = r#"{"tag":"REF","type":0,"variable":0}"#;
        let value = match i {
            0 => argument.to_owned(),
            _ => format!(
                r#"{{"tag":"CALL","op":"CUSTOM","custom":{},"type":0,"arguments":[{argument}]}}"#,
                i - 1
            ),
        };
        format!(
            r#"{{"tag":"CALLABLE","variables":[{{"tag":"ARGUMENT","type":0}}],"curve_bases":[],"arguments":[0],"return_type":0,"constants":[],"body":{SCOPE}{{"tag":"RETURN","expression":{value}}}]}}}}"#
        )
    };
    let callables: Vec<String> = (0..DEPTH).map(callable).collect();
    let last = format!(
        r#"{{"tag":"CALL","op":"CUSTOM","custom":{},"type":0,"arguments":[{INT}]}}"#,
        DEPTH - 1
    );
    let calls = kernel(TYPES, &assign(&last))
        .replace(r#""functions":["#, &format!(r#""functions":[{},"#, callables.join(",")))
        .replace(r#""entry":0"#, &format!(r#""entry":{DEPTH}"#));
    vec![
        ("arrays", types(&|of| format!(r#"{{"tag":"ARRAY","element":{of},"dimension":1}}"#))),
        (
            "structures",
            types(&|of| format!(r#"{{"tag":"STRUCTURE","alignment":4,"members":[{of}]}}"#)),
        ),
        ("brackets", format!(r#"{{"functions":{}"#, "[".repeat(10 * DEPTH))),
        ("braces", r#"{"a":"#.repeat(10 * DEPTH)),
        ("calls", calls),
    ]
}

/// Runs a command on each document, on a small stack in little memory.
#[track_caller]
fn survives(command: &str, documents: Vec<(&'static str, String)>) {
    let wrong = in_parallel(&documents, |(name, text)| {
        let folder = Folder::new();
        folder.write("deep.json", text);
        let mut shell = Command::new("sh");
        shell.current_dir(folder.path()).env("NO_COLOR", "1").stdin(Stdio::null());
        shell.args([
            "-c",
            &format!("ulimit -s {STACK}; ulimit -v {MEMORY}; \"$0\" {command}"),
            env!("CARGO_BIN_EXE_luisac"),
        ]);
        let outcome = finish(&mut shell);
        if outcome.code == Some(0) || outcome.refusal().is_ok() {
            return None;
        }
        Some(format!("{name}, `{command}`: {:?}: {}", outcome.code, head(&outcome.stderr)))
    });
    all_right(wrong.into_iter().flatten().collect());
}

#[test]
fn scopes_compile() {
    survives("compile deep.json --target cpu -o /dev/null", scopes());
}

/// Sums of so many terms are one block, and conditions that only the run decides keep every branch and loop.
#[test]
fn long_and_deep_code_compiles_or_is_refused_in_little_time() {
    let read = format!(
        r#"{{"tag":"CALL","type":0,"op":"BUFFER_READ","arguments":[{{"tag":"REF","type":1,"variable":0}},{SEVEN}]}}"#
    );
    let less = format!(r#"{{"tag":"BINARY","type":2,"op":"LESS","lhs":{INT},"rhs":{read}}}"#);
    let sum = format!(r#"{{"tag":"BINARY","op":"ADD","type":0,"lhs":{INT},"rhs":{read}}}"#);
    let nested = |before: String, after: &str, depth: usize| {
        kernel(
            TYPES,
            &[&before.repeat(depth), assign(&sum).as_str(), &after.repeat(depth)].concat(),
        )
    };
    let branch = format!(r#"{{"tag":"IF","condition":{less},"true_branch":{SCOPE}"#);
    let no_else = format!(r#"]}},"false_branch":{SCOPE}]}}}}"#);
    let each = format!(
        r#"{{"tag":"FOR","variable":{INT},"condition":{less},"step":{SEVEN},"body":{SCOPE}"#
    );
    let sums = vec![assign(&sum); DEPTH / 5].join(",");
    let documents = vec![
        ("sums", kernel(TYPES, &sums)),
        ("branches", nested(branch, &no_else, DEPTH / 5)),
        ("loops", nested(each.clone(), "]}}", 1000)),
        ("too many loops", nested(each, "]}}", DEPTH / 10)),
    ];
    for options in ["--target ptx -O0", "--target ptx -O2", "--target cpu -O0", "--target cpu -O2"]
    {
        survives(&format!("compile deep.json {options} -o /dev/null"), documents.clone());
    }
}

/// Where memory ends inside of LLVM there is a diagnostic.
#[test]
fn the_end_of_memory_is_told() {
    let folder = Folder::new();
    let (before, after) =
        (r#"{"tag":"BINARY","op":"ADD","type":0,"lhs":"#, format!(r#","rhs":{INT}}}"#));
    folder.write("deep.json", kernel(TYPES, &assign(&nest(before, INT, &after))));
    // The smallest address space in which LLVM's thread starts, and a little more.
    let outcomes = [1150, 1200, 1250, 1300].map(|mebibytes| {
        let mut shell = Command::new("sh");
        shell.current_dir(folder.path()).env("NO_COLOR", "1").stdin(Stdio::null());
        let line = format!(
            "ulimit -v {}; \"$0\" compile deep.json --target cpu -O0 -o /dev/null",
            mebibytes << 10
        );
        finish(shell.args(["-c", &line, env!("CARGO_BIN_EXE_luisac")]))
    });
    for outcome in outcomes {
        assert!(
            outcome.code == Some(0) || outcome.refusal().is_ok(),
            "{:?}: {}",
            outcome.code,
            head(&outcome.stderr)
        );
    }
}

#[test]
fn operands_compile() {
    survives("compile deep.json --target ptx -o /dev/null", operands());
}

#[test]
fn other_things_compile_or_are_refused() {
    survives("compile deep.json --target ptx -o /dev/null", others());
}

/// The text of what was lowered is as deep as the input.
#[test]
fn the_text_form_is_written_and_read() {
    let pick = |all: Vec<(&'static str, String)>, names: &[&str]| {
        all.into_iter().filter(|(name, _)| names.contains(name)).collect::<Vec<_>>()
    };
    let mut documents = pick(scopes(), &["else", "loop"]);
    documents.extend(pick(operands(), &["left"]));
    survives("opt deep.json -o deep.xir && \"$0\" opt deep.xir -o /dev/null", documents);
}
