//! Reading functions ahead of the tables gives what reading the tables first gives.

use super::super::progress::Progress;
use super::super::reader::Reader;
use super::super::{finished, started};
use crate::model::Library;

#[path = "../../../tests/support/mod.rs"]
mod support;

fn reader(bytes: &[u8]) -> Reader<'_> {
    started(bytes, Progress::new(&|_| {}))
}

/// The library as read in the order of the text; `None` if that gave up.
fn as_written(bytes: &[u8]) -> Option<Library> {
    let mut reader = reader(bytes);
    (reader.as_written() == Ok(true) && reader.report.is_empty()).then(|| finished(reader))
}

/// The library as read with the tables first; `None` if something is wrong.
fn tables_first(bytes: &[u8]) -> Option<Library> {
    let mut reader = reader(bytes);
    (reader.document().is_ok() && reader.report.is_empty()).then(|| finished(reader))
}

#[test]
fn recorded_kernels_are_read_in_their_order() {
    for path in support::short_kernels(&["own", "luisa", "bugs"]) {
        let bytes = std::fs::read(&path).expect("the corpus can be read");
        assert!(as_written(&bytes) == tables_first(&bytes), "{}", path.display());
    }
}

/// A kernel with what refers to a table: types of variables, expressions and results, constants, literals, cases, calls.
const FUNCTIONS: &str = r#""functions":[
    {"tag":"CALLABLE","variables":[{"tag":"ARGUMENT","type":1}],"arguments":[0],"return_type":1,"body":{"tag":"SCOPE","statements":[
        {"tag":"RETURN","expression":{"tag":"LITERAL","type":1,"value":"AAAAAAAAAAAAAAAAAQIDBA=="}}]}},
    {"tag":"KERNEL","variables":[{"tag":"LOCAL","type":2}],"arguments":[],"block_size":[1,1,1],"constants":[0],"body":{"tag":"SCOPE",
     "statements":[{"tag":"SWITCH","expression":{"tag":"REF","type":2,"variable":0},"body":{"tag":"SCOPE","statements":[
        {"tag":"SWITCH_CASE","value":7,"body":{"tag":"SCOPE","statements":[
            {"tag":"EXPR","expression":{"tag":"TYPE_ID","type":3,"data_type":1}}]}},
        {"tag":"SWITCH_CASE","value":8,"body":{"tag":"SCOPE","statements":[
            {"tag":"EXPR","expression":{"tag":"ACCESS","type":2,"range":{"tag":"CONSTANT","type":4,"data":0},
             "index":{"tag":"LITERAL","type":2,"value":"AQAAAA=="}}}]}}]}}]}}]"#;
const TYPES: &str = r#""types":[{"tag":"FLOAT32"},{"tag":"VECTOR","element":0,"dimension":3},{"tag":"INT32"},{"tag":"UINT64"},
    {"tag":"ARRAY","element":2,"dimension":2}]"#;
const CONSTANTS: &str = r#""constants":[{"type":4,"raw":"AQAAAAIAAAA="}]"#;
const ENTRY: &str = r#""entry":1"#;

#[test]
fn every_order_gives_the_same() {
    let document = |parts: [&str; 4]| format!("{{{}}}", parts.join(","));
    let first = document([TYPES, CONSTANTS, FUNCTIONS, ENTRY]);
    let wanted = tables_first(first.as_bytes()).expect("the document is right");
    let ahead = [
        [FUNCTIONS, TYPES, CONSTANTS, ENTRY],
        [TYPES, FUNCTIONS, CONSTANTS, ENTRY],
        [TYPES, FUNCTIONS, ENTRY, CONSTANTS],
        [TYPES, CONSTANTS, FUNCTIONS, ENTRY],
    ];
    for order in ahead {
        let text = document(order);
        assert!(as_written(text.as_bytes()).as_ref() == Some(&wanted), "{text}");
    }
    for order in [[ENTRY, FUNCTIONS, TYPES, CONSTANTS], [CONSTANTS, TYPES, FUNCTIONS, ENTRY]] {
        let text = document(order);
        assert!(as_written(text.as_bytes()).is_none(), "{text}");
        assert!(crate::json::read(text.as_bytes()).as_ref() == Ok(&wanted), "{text}");
    }
}

#[test]
fn what_is_wrong_is_found_behind_the_functions_too() {
    let right = format!("{{{FUNCTIONS},{TYPES},{CONSTANTS},{ENTRY}}}");
    for (from, to, code) in [
        ("\"dimension\":3", "\"dimension\":2", 31),
        ("FLOAT32", "FLOAT", 14),
        (r#"{"type":4,"raw":"AQAAAAIAAAA="}"#, "", 24),
        ("\"type\":2,\"range\"", "\"type\":5,\"range\"", 20),
        ("\"type\":2,\"range\"", "\"type\":4294967295,\"range\"", 20),
        ("\"type\":2,\"range\"", "\"type\":4294967296,\"range\"", 15),
        ("\"return_type\":1", "\"return_type\":9", 20),
        ("\"data_type\":1", "\"data_type\":9", 20),
        ("\"data_type\":1", "\"data_type\":1,\"data_type\":1", 10),
        ("{\"tag\":\"LOCAL\",\"type\":2}", "{\"tag\":\"LOCAL\",\"type\":9}", 20),
    ] {
        let text = right.replacen(from, to, 1);
        assert_ne!(text, right, "{from} is not there");
        assert!(as_written(text.as_bytes()).is_none());
        let errors = crate::json::read(text.as_bytes()).expect_err("must be refused");
        assert_eq!(errors.0[0].code.0, code, "{errors}");
        assert!(errors.0[0].offset.is_some(), "{errors}");
    }
}

#[test]
fn bytes_that_are_no_text_are_refused_where_they_stand() {
    let right = format!("{{{FUNCTIONS},{TYPES},{CONSTANTS},{ENTRY},\"x\":\"\u{e9} \\u00e9\"}}");
    assert!(crate::json::read(right.as_bytes()).is_ok());
    let at = right.find('\u{e9}').expect("it is there");
    let mut wrong = right.clone().into_bytes();
    wrong[at + 1] = b'"';
    let outside = right.find("\"entry\"").expect("it is there");
    for (bytes, offset) in [
        (wrong, at),
        ([&right.as_bytes()[..outside], b"\xff", &right.as_bytes()[outside..]].concat(), outside),
    ] {
        let errors = crate::json::read(&bytes).expect_err("must be refused");
        assert_eq!((errors.0[0].code.0, errors.0[0].offset), (1, Some(offset)), "{errors}");
    }
}
