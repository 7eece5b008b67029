//! Files so long that they are mapped: what lies behind the reader is let go, and read again where a message needs it.

mod common;

use common::{Folder, head, luisac};

const STATEMENTS: usize = 15_000;

/// A dump of more than 16 MiB: functions before types, one statement a line, mostly blanks.
fn document(statement: impl Fn(usize) -> String) -> String {
    let blanks = " ".repeat(1_050);
    let lines: Vec<String> = (0..STATEMENTS).map(|i| blanks.clone() + &statement(i)).collect();
    let text = format!(
        r#"{{"functions":[{{"tag":"KERNEL","variables":[{{"tag":"LOCAL","type":0}}],"arguments":[],"block_size":[1,1,1],"body":{{"tag":"SCOPE","statements":[
{}
]}}}}],"types":[{{"tag":"UINT32"}}],"entry":0}}"#,
        lines.join(",\n")
    );
    assert!(text.len() > 16 << 20, "{} bytes are not mapped", text.len());
    text
}

fn assign(ty: u32, value: &str) -> String {
    format!(
        r#"{{"tag":"ASSIGN","lhs":{{"tag":"REF","type":0,"variable":0}},"rhs":{{"tag":"LITERAL","type":{ty},"value":"{value}"}}}}"#
    )
}

#[track_caller]
fn refused(text: &str, code: &str, pointer: &str) {
    let folder = Folder::new();
    folder.write("large.json", text);
    let outcome = luisac(folder.path(), ["check", "large.json"]);
    assert_eq!(outcome.refusal(), Ok(()));
    assert!(outcome.codes().contains(&code), "{}", head(&outcome.stderr));
    assert!(outcome.stderr.contains(pointer), "{}", head(&outcome.stderr));
}

#[test]
fn a_mapped_file_is_read() {
    let folder = Folder::new();
    folder.write("large.json", document(|_| assign(0, "AQAAAA==")));
    luisac(folder.path(), ["check", "large.json"]).ok();
}

#[test]
fn errors_in_a_mapped_file_have_their_places() {
    let last = STATEMENTS - 1;
    let wrong = |at: usize, ty: u32, value: &'static str| {
        document(move |i| if i == at { assign(ty, value) } else { assign(0, "AQAAAA==") })
    };
    // Known only when the types are: behind all statements.
    refused(&wrong(last, 0, "AQA="), "L0031", &format!("statements/{last}/rhs/value"));
    refused(&wrong(0, 7, "AQAAAA=="), "L0020", "statements/0/rhs");
    let text = wrong(last, 0, "AQAAAA==");
    refused(&text[..text.len() - 100], "L0004", &format!("statements/{last}"));
}
