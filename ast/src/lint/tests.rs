//! Each lint, by a kernel that makes it speak and the nearest one that does not.

use super::{LINTS, Level, Levels, codes, run};
use crate::check::check;
use crate::check::codes::{INDEX_RANGE, MISSING_RETURN, PRINT_FORMAT, UNPORTABLE};
use crate::check::tests::{RETURN, assign, call, case, eval, program, scope, switch, uint, var};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Severity};
use crate::json;

/// What is said about a document without errors.
fn found(text: &str) -> Diagnostics {
    let library = json::read(text.as_bytes()).unwrap_or_else(|errors| panic!("{errors}"));
    let mut found = check(&library);
    assert!(!found.has_errors(), "{found}");
    found.0.append(&mut run(&library).0);
    found
}

/// Places of a code in a document.
fn places(text: &str, code: Code) -> Vec<String> {
    let found = found(text).0.into_iter().filter(|d| d.code == code);
    found.map(|d| d.pointer.unwrap_or_default()).collect()
}

/// The kernel makes the lint speak once, at this place below its body.
#[track_caller]
fn speaks(kernel: &str, code: Code, below: &str) {
    let place = format!("/functions/1/body{below}");
    assert_eq!(places(&program(RETURN, kernel), code), [place], "{kernel}");
}

#[track_caller]
fn silent(kernel: &str, code: Code) {
    assert_eq!(places(&program(RETURN, kernel), code), [""; 0], "{kernel}");
}

fn loop_of(body: &str) -> String {
    format!(r#"{{"tag":"LOOP","body":{}}}"#, scope(body))
}

fn if_of(condition: &str, on_true: &str, on_false: &str) -> String {
    format!(
        r#"{{"tag":"IF","condition":{condition},"true_branch":{},"false_branch":{}}}"#,
        scope(on_true),
        scope(on_false)
    )
}

fn binary(op: &str, ty: u32, lhs: &str, rhs: &str) -> String {
    format!(r#"{{"tag":"BINARY","type":{ty},"op":"{op}","lhs":{lhs},"rhs":{rhs}}}"#)
}

const BREAK: &str = r#"{"tag":"BREAK"}"#;
const CONTINUE: &str = r#"{"tag":"CONTINUE"}"#;
const END: &str = r#"{"tag":"RETURN","expression":null}"#;

#[test]
fn unused_arguments() {
    // The kernel's arguments are a buffer, a texture and an acceleration structure.
    let write = eval(&call("BUFFER_WRITE", 2, &[var(0), uint(0), uint(1)]));
    let said = places(&program(RETURN, &write), codes::UNUSED_ARGUMENT);
    assert_eq!(
        said,
        ["/functions/0/arguments/1", "/functions/1/arguments/1", "/functions/1/arguments/2"]
    );
}

#[test]
fn unused_callables() {
    let said = |kernel: &str| places(&program(RETURN, kernel), codes::UNUSED_CALLABLE);
    assert_eq!(said(""), ["/functions/0"]);
    let call = call("CUSTOM", 0, &[uint(1), var(1)])
        .replace(r#""op":"CUSTOM""#, r#""op":"CUSTOM","custom":0"#);
    assert_eq!(said(&eval(&call)), [""; 0]);
}

#[test]
fn outputs_that_nothing_writes() {
    let said = |kernel: &str| places(&program(RETURN, kernel), codes::NEVER_WRITTEN_OUTPUT);
    assert_eq!(said(&assign(&var(1), &uint(1))), ["/functions/1"]);
    let read = assign(&var(1), &call("BUFFER_READ", 0, &[var(0), uint(0)]));
    assert_eq!(said(&read), ["/functions/1"]);
    assert_eq!(said(&eval(&call("BUFFER_WRITE", 2, &[var(0), uint(0), uint(1)]))), [""; 0]);
    assert_eq!(said(&eval(&call("ATOMIC_FETCH_ADD", 0, &[var(0), uint(0), uint(1)]))), [""; 0]);
    assert_eq!(said(r#"{"tag":"PRINT","format":"","arguments":[]}"#), [""; 0]);
    assert_eq!(said(&eval(&call("ASSERT", 2, &[var(9)]))), [""; 0]);
}

/// A document of version 1 says what is written; here a local array stands for an output that is not.
#[test]
fn usages_that_nothing_bears_out() {
    let text = |usage: &str, body: &str| {
        format!(
            r#"{{"schema":"luisa.compute.ast","version":1,"types":[{{"tag":"UINT32"}},{{"tag":"BUFFER","element":0}},null],
            "functions":[{{"tag":"KERNEL","arguments":[0],"variables":[{{"tag":"BUFFER","type":1,"usage":"{usage}","name":"out"}}],
            "curve_bases":[],"constants":[],"block_size":[32,1,1],"bound_arguments":[],"body":{}}}],"entry":0}}"#,
            scope(body)
        )
    };
    let buffer = r#"{"tag":"REF","type":1,"variable":0}"#.to_owned();
    let read = eval(&call("BUFFER_READ", 0, &[buffer.clone(), uint(0)]));
    let write = eval(&call("BUFFER_WRITE", 2, &[buffer, uint(0), uint(0)]));
    let said = |text: String| places(&text, codes::NEVER_WRITTEN_OUTPUT);
    assert!(said(text("READ_WRITE", &read)).contains(&"/functions/0/arguments/0".to_owned()));
    assert_eq!(said(text("READ", &read)), ["/functions/0"]);
    assert_eq!(said(text("WRITE", &write)), [""; 0]);
}

#[test]
fn shared_memory_that_nothing_writes() {
    let element = format!(r#"{{"tag":"ACCESS","type":0,"range":{},"index":{}}}"#, var(10), uint(0));
    let said = |kernel: &str| places(&program(RETURN, kernel), codes::UNWRITTEN_SHARED);
    let read = assign(&var(1), &element);
    assert_eq!(said(&read), ["/functions/1/variables/10"]);
    assert_eq!(said(&format!("{},{read}", assign(&element, &uint(1)))), [""; 0]);
    assert_eq!(said(""), [""; 0]);
}

#[test]
fn statements_that_are_not_reached() {
    let (set, code) = (assign(&var(1), &uint(1)), codes::UNREACHABLE_STATEMENT);
    speaks(&format!("{END},{set}"), code, "/statements/1");
    speaks(
        &format!("{END},{{\"tag\":\"COMMENT\",\"comment\":\"x\"}},{set}"),
        code,
        "/statements/2",
    );
    speaks(&format!("{},{set}", loop_of(END)), code, "/statements/1");
    speaks(&format!("{},{set}", if_of(&var(9), END, END)), code, "/statements/1");
    speaks(&loop_of(&format!("{CONTINUE},{set}")), code, "/statements/0/body/statements/1");
    let all_return = format!(
        "{},{}",
        case(1, END),
        format_args!(r#"{{"tag":"SWITCH_DEFAULT","body":{}}}"#, scope(END))
    );
    speaks(&format!("{},{set}", switch(&all_return)), code, "/statements/1");
    speaks(&format!("{},{set}", eval(&call("UNREACHABLE", 2, &[]))), code, "/statements/1");
    silent(&format!("{},{set}", if_of(&var(9), END, "")), code);
    silent(&format!("{},{set}", loop_of(&if_of(&var(9), BREAK, ""))), code);
    silent(&format!("{},{set}", switch(&case(1, END))), code);
    // A jump behind a jump is what recorders write.
    silent(&switch(&case(1, &format!("{END},{BREAK}"))), code);
    // The break leaves the switch, not the loop.
    speaks(
        &format!("{},{set}", loop_of(&format!("{},{END}", switch(&case(1, BREAK))))),
        code,
        "/statements/1",
    );
}

#[test]
fn loops_without_end() {
    let code = codes::INFINITE_LOOP;
    speaks(&loop_of(&assign(&var(1), &uint(1))), code, "/statements/0");
    speaks(&loop_of(CONTINUE), code, "/statements/0");
    speaks(&loop_of(&switch(&case(1, BREAK))), code, "/statements/0");
    silent(&loop_of(&if_of(&var(9), BREAK, "")), code);
    silent(&loop_of(&if_of(&var(9), END, "")), code);
    silent(&loop_of(&eval(&call("ASSERT", 2, &[var(9)]))), code);
}

#[test]
fn callables_that_end_without_a_value() {
    let said = |body: &str| places(&program(body, ""), MISSING_RETURN);
    let condition = r#"{"tag":"LITERAL","type":3,"value":"AQ=="}"#;
    assert_eq!(said(""), ["/functions/0/body"]);
    assert_eq!(said(&if_of(condition, RETURN, "")), ["/functions/0/body"]);
    assert_eq!(said(&if_of(condition, RETURN, RETURN)), [""; 0]);
    assert_eq!(said(&loop_of(RETURN)), [""; 0]);
    assert_eq!(said(RETURN), [""; 0]);
}

#[test]
fn cases_that_are_never_chosen() {
    let code = codes::SHADOWED_CASE;
    speaks(&switch(&case(1 << 33, "")), code, "/statements/0/body/statements/0");
    silent(&switch(&case(-1, "")), code);
    silent(&switch(&case(0xffff_ffff, "")), code);
}

#[test]
fn constants_that_make_no_sense() {
    let with = |op: &str, right: u8| assign(&var(1), &binary(op, 0, &var(1), &uint(right)));
    let place = "/statements/0/rhs/rhs";
    speaks(&with("SHL", 32), codes::SHIFT_OUT_OF_RANGE, place);
    silent(&with("SHR", 31), codes::SHIFT_OUT_OF_RANGE);
    speaks(&with("DIV", 0), codes::DIVISION_BY_ZERO, place);
    speaks(&with("MOD", 0), codes::DIVISION_BY_ZERO, place);
    silent(&with("MUL", 0), codes::DIVISION_BY_ZERO);
    let element =
        |i: u8| format!(r#"{{"tag":"ACCESS","type":0,"range":{},"index":{}}}"#, var(3), uint(i));
    speaks(&assign(&var(1), &element(4)), INDEX_RANGE, "/statements/0/rhs/index");
    silent(&assign(&var(1), &element(3)), INDEX_RANGE);
    let add = |i: u8| eval(&call("ATOMIC_FETCH_ADD", 0, &[var(10), uint(i), uint(1)]));
    speaks(&add(4), INDEX_RANGE, "/statements/0/expression/arguments/1");
    silent(&add(3), INDEX_RANGE);
    let print =
        |format: &str| format!(r#"{{"tag":"PRINT","format":"{format}","arguments":[{}]}}"#, var(1));
    speaks(&print("no place"), PRINT_FORMAT, "/statements/0");
    silent(&print("{}"), PRINT_FORMAT);
    silent("", UNPORTABLE);
}

/// Variable 5 is the dispatch id; a block has 32 threads.
#[test]
fn barriers_that_some_threads_pass_by() {
    let code = codes::DIVERGENT_BARRIER;
    let barrier = eval(&call("SYNCHRONIZE_BLOCK", 2, &[]));
    let x = format!(r#"{{"tag":"MEMBER","type":0,"self":{},"swizzle":"x"}}"#, var(5));
    let below = |n: u8| binary("LESS", 3, &x, &uint(n));
    let inside = "/statements/0/true_branch/statements/0/expression";
    speaks(&if_of(&below(16), &barrier, ""), code, inside);
    let even = binary("EQUAL", 3, &binary("BIT_AND", 0, &x, &uint(1)), &uint(0));
    speaks(&if_of(&even, &barrier, ""), code, inside);
    speaks(
        &if_of(&below(16), "", &barrier),
        code,
        "/statements/0/false_branch/statements/0/expression",
    );
    // All threads, or none.
    silent(&barrier, code);
    silent(&if_of(&below(32), &barrier, ""), code);
    silent(&if_of(&binary("GREATER", 3, &x, &uint(40)), &barrier, ""), code);
    // A condition of which nothing is known.
    silent(&if_of(&var(9), &barrier, ""), code);
    silent(&format!("{},{barrier}", if_of(&below(16), &assign(&var(1), &uint(1)), "")), code);
    // A thread that ended holds nobody up.
    silent(&format!("{},{barrier}", if_of(&below(16), END, "")), code);
    // Through a variable; the other branch leaves it zero.
    let set = assign(&var(1), &x);
    let less = binary("LESS", 3, &var(1), &uint(16));
    speaks(
        &format!("{set},{}", if_of(&less, &barrier, "")),
        code,
        "/statements/1/true_branch/statements/0/expression",
    );
    let reset = if_of(&var(9), &assign(&var(1), &uint(0)), "");
    silent(&format!("{set},{reset},{}", if_of(&less, &barrier, "")), code);
    // In a loop: what the loop assigns is not followed, what it does not assign is.
    speaks(
        &loop_of(&format!(
            "{},{barrier},{}",
            if_of(&below(16), BREAK, ""),
            if_of(&var(9), BREAK, "")
        )),
        code,
        "/statements/0/body/statements/1/expression",
    );
    let step = assign(&var(1), &binary("ADD", 0, &var(1), &uint(1)));
    let round = format!("{},{barrier},{step}", if_of(&less, "", BREAK));
    silent(&format!("{set},{}", loop_of(&round)), code);
    // A switch: all leave it again.
    let select =
        |cases: &str| format!(r#"{{"tag":"SWITCH","expression":{x},"body":{}}}"#, scope(cases));
    silent(&format!("{},{barrier}", select(&case(3, BREAK))), code);
    speaks(
        &select(&case(3, &barrier)),
        code,
        "/statements/0/body/statements/0/body/statements/0/expression",
    );
}

#[test]
fn levels() {
    let warning = |code| Diagnostics(vec![Diagnostic::warning(code, "x")]);
    let outcome = |settings: &[(&str, Level)], code: Code| {
        let mut levels = Levels::default();
        for (word, level) in settings {
            levels.set(word, *level).unwrap_or_else(|e| panic!("{e}"));
        }
        levels.apply(warning(code)).0.first().map(|d| d.severity)
    };
    use Level::{Allow, Deny, Warn};
    let code = codes::UNUSED_ARGUMENT;
    let (warns, fails) = (Some(Severity::Warning), Some(Severity::Error));
    assert_eq!(outcome(&[], code), warns);
    assert_eq!(outcome(&[("unused-argument", Allow)], code), None);
    assert_eq!(outcome(&[("unused", Deny)], code), fails);
    assert_eq!(outcome(&[("warnings", Deny)], code), fails);
    assert_eq!(outcome(&[("all", Allow), ("unused-argument", Warn)], code), warns);
    assert_eq!(outcome(&[("unused-argument", Warn), ("all", Allow)], code), None);
    // What is allowed is no warning any more.
    assert_eq!(outcome(&[("unused", Allow), ("warnings", Deny)], code), None);
    assert_eq!(outcome(&[("arithmetic", Deny)], code), warns);
    // A warning that no lint gives.
    assert_eq!(outcome(&[("warnings", Deny)], Code(9000)), fails);
    assert_eq!(outcome(&[("all", Allow)], Code(9000)), None);
    assert!(Levels::default().set("unused_argument", Deny).is_err());
}

#[test]
fn names_are_sorted_words_and_codes_are_explained() {
    assert!(LINTS.windows(2).all(|w| w[0].name < w[1].name));
    assert!(LINTS.iter().all(|l| l.name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')));
    let known: Vec<Code> =
        crate::code_tables().into_iter().flatten().map(|info| info.code).collect();
    assert!(LINTS.iter().all(|l| known.contains(&l.code)));
}
