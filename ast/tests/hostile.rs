//! Bytes that nobody would write: an error with a code and a place, or a sound library; no panic, no hang, and no more
//! memory than the input is worth.

use std::alloc::{GlobalAlloc, Layout as MemoryLayout, System};
use std::cell::Cell;

use luisac_ast::binary::{self, CallableLibrary, Layout, codes as wrong};
use luisac_ast::check;
use luisac_ast::diagnostic::{Code, Diagnostics};
use luisac_ast::json::{self, Dialect, codes};
use luisac_ast::model::{Callee, ExprKind, FunctionId, Library};
use luisac_ast::testing::{self, Form, Options};

thread_local! {
    static HELD: Cell<usize> = const { Cell::new(0) };
    static PEAK: Cell<usize> = const { Cell::new(0) };
}

/// The system's memory, counted for each thread.
struct Counted;

// SAFETY: everything is done by the system's allocator; only numbers are kept beside.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: MemoryLayout) -> *mut u8 {
        let held = HELD.get() + layout.size();
        HELD.set(held);
        PEAK.set(PEAK.get().max(held));
        // SAFETY: the caller keeps the rules of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: MemoryLayout) {
        HELD.set(HELD.get().saturating_sub(layout.size()));
        // SAFETY: the caller keeps the rules of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static MEMORY: Counted = Counted;

/// The most memory that was held at once while something ran, beyond what was held before.
fn peak_of<T>(run: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get();
    PEAK.set(before);
    let result = run();
    (result, PEAK.get() - before)
}

fn small_library(form: Form, layout: Layout) -> CallableLibrary {
    let library = testing::library(&Options { seed: 3, size: 3, form });
    assembled(library, layout)
}

/// All functions with a name each.
fn assembled(library: Library, layout: Layout) -> CallableLibrary {
    let names: Vec<String> = library.functions.keys().map(|id| id.to_string()).collect();
    let named: Vec<_> = library.functions.keys().zip(names.iter().map(String::as_str)).collect();
    binary::assemble(library, layout, &named).unwrap_or_else(|e| panic!("{e}"))
}

fn written(file: &CallableLibrary) -> Vec<u8> {
    binary::write(file).expect("can be written")
}

/// Reads, and what reads must be sound: it can be checked, and written as what reads to the same.
fn read_binary(bytes: &[u8]) -> Result<(), Diagnostics> {
    let file = binary::read(bytes)?;
    check::check(&file.library);
    let again = binary::read(&written(&file)).expect("what was written reads");
    assert!(written(&again) == written(&file));
    Ok(())
}

fn read_json(bytes: &[u8]) -> Result<(), Diagnostics> {
    let library = json::read(bytes)?;
    let found = check::check(&library);
    if !found.has_errors() {
        let text = json::write(&library, Dialect::D0).expect("what was read can be written");
        json::read(&text).expect("what was written reads");
    }
    Ok(())
}

#[track_caller]
fn has_a_place(errors: &Diagnostics, len: usize) {
    let first = errors.errors().next().expect("there is an error");
    assert!(first.offset.is_some_and(|o| o <= len), "no place within {len} bytes: {errors}");
}

/// Every byte of a library is changed in several ways, and the library cut before it.
#[test]
fn every_byte_of_a_library() {
    for (form, layout) in [(Form::BinaryB, Layout::B), (Form::BinaryC, Layout::C)] {
        let bytes = written(&small_library(form, layout));
        assert!((1_000..6_000).contains(&bytes.len()), "{} bytes", bytes.len());
        read_binary(&bytes).expect("the library is right");
        let mut damaged = bytes.clone();
        for at in 0..bytes.len() {
            let errors = binary::read(&bytes[..at]).expect_err("a cut library is refused");
            has_a_place(&errors, at);
            let changes: [fn(u8) -> u8; 4] =
                [|b| b ^ 1, |b| b ^ 0x80, |b| !b, |b| b.wrapping_add(1)];
            for change in changes {
                damaged[at] = change(bytes[at]);
                if let Err(errors) = read_binary(&damaged) {
                    has_a_place(&errors, damaged.len());
                }
            }
            damaged[at] = bytes[at];
        }
    }
}

/// The same for documents of both dialects, with bytes that mean something in JSON; and every byte left out.
#[test]
fn every_byte_of_a_document() {
    for (form, dialect) in [(Form::D0, Dialect::D0), (Form::V1, Dialect::V1)] {
        let library = testing::library(&Options { seed: 5, size: 3, form });
        let text = json::write(&library, dialect).expect("can be written");
        assert!((1_000..6_000).contains(&text.len()), "{} bytes", text.len());
        read_json(&text).expect("the document is right");
        let mut damaged = text.clone();
        for at in 0..text.len() {
            let errors = json::read(&text[..at]).expect_err("a cut document is refused");
            has_a_place(&errors, at);
            for byte in *b"\xff\"{]9," {
                damaged[at] = byte;
                if let Err(errors) = read_json(&damaged) {
                    has_a_place(&errors, damaged.len());
                }
            }
            damaged[at] = text[at];
            let shorter = [&text[..at], &text[at + 1..]].concat();
            if let Err(errors) = read_json(&shorter) {
                has_a_place(&errors, shorter.len());
            }
        }
    }
}

/// A number anywhere that claims more than there is chooses no allocation.
#[test]
fn lengths_choose_no_allocation() {
    let bytes = written(&small_library(Form::BinaryB, Layout::B));
    for at in 0..bytes.len() - 8 {
        for number in [u64::MAX, 1 << 63, 1 << 40, 0xffff_ffff, bytes.len() as u64] {
            let mut damaged = bytes.clone();
            damaged[at..at + 8].copy_from_slice(&number.to_le_bytes());
            let (result, peak) = peak_of(|| binary::read(&damaged));
            assert!(peak < 64 * bytes.len() + (1 << 20), "{peak} bytes for {number} at {at}");
            if let Err(errors) = result {
                has_a_place(&errors, bytes.len());
            }
        }
    }
}

#[track_caller]
fn refused_binary(bytes: &[u8], code: Code) {
    let errors = binary::read(bytes).expect_err("must be refused");
    assert_eq!(errors.0[0].code, code, "{errors}");
    has_a_place(&errors, bytes.len());
}

#[test]
fn what_follows_a_library_is_refused() {
    let mut bytes = written(&small_library(Form::BinaryC, Layout::C));
    let len = bytes.len();
    bytes.push(0);
    refused_binary(&bytes, wrong::TRAILING);
    assert_eq!(binary::read(&bytes).expect_err("refused").0[0].offset, Some(len));
}

/// A library in which some function calls another, and the callee's id.
fn with_a_call() -> (CallableLibrary, FunctionId) {
    for seed in 0.. {
        let library = testing::library(&Options { seed, size: 30, form: Form::BinaryB });
        let file = assembled(library, Layout::B);
        let called = file.records.values().find_map(|r| r.callees.first().copied());
        if let Some(callee) = called {
            return (file, callee);
        }
    }
    unreachable!("some library has a call")
}

#[test]
fn circles_and_missing_callees_are_named_with_their_place() {
    let (mut file, callee) = with_a_call();
    let hash = file.records[callee].hash;
    let caller = file.records.iter().find(|(_, r)| r.callees.contains(&callee)).map(|(id, _)| id);
    let caller = caller.expect("somebody calls it");
    // The caller calls itself instead.
    for expr in file.library.functions[caller].exprs.values_mut() {
        if let ExprKind::Call { callee: Callee::Function(called), .. } = &mut expr.kind {
            *called = caller;
        }
    }
    file.records[caller].callees = vec![caller];
    let bytes = written(&file);
    refused_binary(&bytes, wrong::RECURSION);
    let offset = binary::read(&bytes).expect_err("refused").0[0].offset.expect("a place");
    assert_eq!(bytes[offset..offset + 8], file.records[caller].hash.to_le_bytes());

    let (file, _) = with_a_call();
    let mut bytes = written(&file);
    // Its own record and its place in the table get another hash; the calls keep the old one.
    let old = hash.to_le_bytes();
    let places: Vec<usize> = (0..bytes.len() - 8).filter(|at| bytes[*at..at + 8] == old).collect();
    let table = 16..16 + 8 * file.named.len();
    let record = places.iter().copied().find(|p| !table.contains(p)).expect("it has a record");
    for at in places.into_iter().filter(|p| table.contains(p) || *p == record) {
        bytes[at..at + 8].copy_from_slice(&0xdead_beef_u64.to_le_bytes());
    }
    refused_binary(&bytes, wrong::MISSING_CALLEE);
}

#[track_caller]
fn refused_json(text: &[u8], code: Code, memory: usize) {
    let (errors, peak) = peak_of(|| json::read(text).expect_err("must be refused"));
    assert_eq!(errors.0[0].code, code, "{errors}");
    assert!(errors.0[0].pointer.is_some() && errors.to_string().len() < 200_000);
    has_a_place(&errors, text.len());
    assert!(peak < memory, "{} bytes of input took {peak} bytes of memory", text.len());
}

const MILLION: usize = 1_000_000;

fn document(body: &str) -> String {
    format!(
        r#"{{"functions":[{{"tag":"KERNEL","variables":[{{"tag":"LOCAL","type":0}}],"arguments":[],"block_size":[1,1,1],
        "body":{{"tag":"SCOPE","statements":[{body}]}}}}],"types":[{{"tag":"UINT32"}}],"entry":0}}"#
    )
}

/// Long inputs that are nothing but errors or brackets.
#[test]
fn short_texts_cannot_fill_the_memory() {
    let few = 4 << 20;
    refused_json("[".repeat(4 * MILLION).as_bytes(), codes::TRUNCATED, few);
    refused_json("{\"types\":".repeat(MILLION).as_bytes(), codes::TRUNCATED, few);
    refused_json("{\"x\":".repeat(MILLION).as_bytes(), codes::TRUNCATED, few);
    let brackets = "[".repeat(MILLION) + &"]".repeat(MILLION);
    refused_json(document(&brackets).as_bytes(), codes::WRONG_TYPE, few);
    refused_json(document(&("{},".repeat(MILLION) + "{}")).as_bytes(), codes::MISSING_MEMBER, few);
    let variables = document("").replacen(
        "{\"tag\":\"LOCAL\"",
        &("{},".repeat(MILLION) + "{\"tag\":\"LOCAL\""),
        1,
    );
    refused_json(variables.as_bytes(), codes::MISSING_MEMBER, few);
    for table in ["types", "constants", "external_functions"] {
        let text =
            format!("{{\"{table}\":[{}{{}}],\"functions\":[],\"entry\":0}}", "{},".repeat(MILLION));
        refused_json(
            text.as_bytes(),
            if table == "types" { codes::MISSING_MEMBER } else { codes::NOT_AN_AST },
            few,
        );
    }
    // Twenty types of a structure of 200,000 members each: 8 MB of text.
    let members = "0,".repeat(200_000);
    let structures: Vec<String> = (0..30)
        .map(|i| format!("{{\"tag\":\"STRUCTURE\",\"alignment\":1,\"members\":[{members}{i}]}}"))
        .collect();
    let text = format!("{{\"types\":[{{\"tag\":\"BOOL\"}},{}],\"root\":0}}", structures.join(","));
    refused_json(text.as_bytes(), codes::BAD_TYPE, 1 << 30);
}

/// A million operands in each other are read; more levels are refused, in memory that does not follow the input.
#[test]
fn nodes_nest_to_a_limit() {
    let nested = |depth: usize| {
        let open = r#"{"tag":"LOOP","body":{"tag":"SCOPE","statements":["#;
        document(&(open.repeat(depth) + r#"{"tag":"BREAK"}"# + &"]}}".repeat(depth)))
    };
    refused_json(nested(MILLION * 6 / 10).as_bytes(), codes::TOO_DEEP, 512 << 20);
    let value = r#"{"tag":"REF","type":0,"variable":0}"#;
    let sum = |depth: usize| {
        let open = r#"{"tag":"UNARY","type":0,"op":"MINUS","operand":"#;
        document(&format!(
            r#"{{"tag":"EXPR","expression":{}{value}{}}}"#,
            open.repeat(depth),
            "}".repeat(depth)
        ))
    };
    let library = json::read(sum(MILLION).as_bytes()).unwrap_or_else(|e| panic!("{e}"));
    assert!(!check::check(&library).has_errors());
}

#[test]
fn libraries_nest_to_a_limit() {
    let mut file = small_library(Form::BinaryB, Layout::B);
    let kernel = file.library.entry.expect("there is a kernel");
    // The kernel comes last, and its body at the end of it: loops in loops are put there by hand.
    let function = &mut file.library.functions[kernel];
    let body = function.stmts.push(luisac_ast::model::Stmt::Scope(Default::default()));
    function.body = body.into();
    let bytes = written(&file);
    let nested = |depth: usize| {
        // The empty scope at the very end: hash, tag, number of statements.
        let mut bytes = bytes[..bytes.len() - 8].to_vec();
        for _ in 0..depth {
            bytes.extend_from_slice(&1u64.to_le_bytes());
            bytes.extend_from_slice(&[0; 8]);
            bytes.extend_from_slice(&5u32.to_le_bytes());
            bytes.extend_from_slice(&[0; 8]);
            bytes.extend_from_slice(&3u32.to_le_bytes());
        }
        bytes.extend_from_slice(&[0; 8]);
        bytes
    };
    binary::read(&nested(MILLION / 2)).unwrap_or_else(|e| panic!("{e}"));
    let deep = nested(MILLION * 6 / 10);
    let (errors, peak) = peak_of(|| binary::read(&deep).expect_err("must be refused"));
    assert_eq!(errors.0[0].code, wrong::TOO_DEEP, "{errors}");
    has_a_place(&errors, deep.len());
    assert!(peak < 512 << 20, "{peak}");
}
