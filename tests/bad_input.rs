//! What is wrong with an input, a file or a flag is said with a code and the right exit code, and leaves no file behind.

mod common;

use common::{
    Folder, Outcome, all_right, command, corpus, files, finish, fixture, head, in_parallel, luisac,
};
use luisac_ast::diagnostic::Code;
use serde_json::{Value, json};
use std::process::Stdio;

/// Whether `luisac explain` knows a code.
fn is_known(code: &str) -> bool {
    Code::parse(code).and_then(luisac::codes::find).is_some()
}

/// Code of the exit, and whether the diagnostic's is one that `luisac explain` knows.
fn ended(outcome: &Outcome, wanted: i32) -> Result<(), String> {
    if outcome.code != Some(wanted) || outcome.stderr.contains("panicked at") {
        return Err(format!(
            "exit code {:?}, not {wanted}: {}",
            outcome.code,
            head(&outcome.stderr)
        ));
    }
    if outcome.stderr.trim().is_empty() {
        return Err("not a word on standard error".into());
    }
    // The first one: the texts behind it may quote others.
    let unknown = outcome.codes().into_iter().take(1).find(|c| !is_known(c));
    unknown.map_or(Ok(()), |code| Err(format!("`luisac explain` does not know {code}")))
}

/// Compiles the bytes for both targets: they must be refused, and nothing written.
fn refused(name: &str, bytes: &[u8]) -> Result<(), String> {
    let folder = Folder::new();
    folder.write("input.json", bytes);
    let outcome = luisac(folder.path(), ["compile", "input.json", "--target", "ptx,cpu"]);
    outcome
        .refusal()
        .and_then(|()| ended(&outcome, 1))
        .and_then(|()| match outcome.stderr.contains("input.json") {
            true => Ok(()),
            false => Err(format!("the input is not named: {}", head(&outcome.stderr))),
        })
        .and_then(|()| match folder.names().len() {
            1 => Ok(()),
            _ => Err(format!("left {:?}", folder.names())),
        })
        .map_err(|e| format!("{name}: {e}"))
}

#[track_caller]
fn all_refused(cases: &[(String, Vec<u8>)]) {
    assert!(!cases.is_empty());
    all_right(
        in_parallel(cases, |(name, bytes)| refused(name, bytes))
            .into_iter()
            .filter_map(Result::err)
            .collect(),
    );
}

fn saxpy() -> Value {
    serde_json::from_slice(&std::fs::read(fixture("saxpy.json")).expect("the fixture"))
        .expect("JSON")
}

/// The fixture with one value replaced, or taken out if the new one is `REMOVE`.
fn changed(pointer: &str, new: &str) -> (String, Vec<u8>) {
    let mut document = saxpy();
    if new == REMOVE {
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
        match document.pointer_mut(parent).expect("the place is there") {
            Value::Object(map) => drop(map.remove(key)),
            Value::Array(list) => drop(list.remove(key.parse().expect("an index"))),
            _ => panic!("{parent} holds nothing"),
        }
        return (format!("{pointer} removed"), document.to_string().into_bytes());
    }
    // By text, so that numbers which no JSON library holds can be written too.
    *document.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer}")) = json!("@here@");
    (format!("{pointer} = {new}"), document.to_string().replace("\"@here@\"", new).into_bytes())
}

const REMOVE: &str = "removed";
const FIRST: &str = "/functions/0/body/statements/0";
const READ: &str = "/functions/0/body/statements/9/rhs";

/// Places in the fixture, under the prefix of a row, and what must not stand there.
const WRONG: &[(&str, &str, &[&str])] = &[
    ("", "/types", &[REMOVE, "null", "{}", "[]", "7"]),
    ("", "/functions", &[REMOVE, "null", "[]", "[null]", "\"x\""]),
    (
        "",
        "/entry",
        &["1", "-1", "0.5", "1e400", "4294967296", "18446744073709551616", "\"0\"", "[]"],
    ),
    ("/types", "/0", &["7", "[]", "{\"tag\":7}", "{\"tag\":\"FLOAT31\"}", "{}"]),
    ("/types", "/1/element", &["1", "2", "99", "-1", "null", "1e9", REMOVE]),
    ("/types", "/3/dimension", &["0", "1", "5", "-3", "2.5", "4294967299", REMOVE]),
    (
        "/types",
        "/3",
        &[
            "{\"tag\":\"ARRAY\",\"element\":0,\"dimension\":0}",
            "{\"tag\":\"ARRAY\",\"element\":0,\"dimension\":4294967295}",
            "{\"tag\":\"ARRAY\",\"element\":0,\"dimension\":18446744073709551615}",
            "{\"tag\":\"MATRIX\",\"element\":0,\"dimension\":9}",
            "{\"tag\":\"STRUCTURE\",\"alignment\":3,\"members\":[0]}",
            "{\"tag\":\"STRUCTURE\",\"alignment\":16,\"members\":[3]}",
            "{\"tag\":\"STRUCTURE\",\"alignment\":16,\"members\":[1]}",
            "{\"tag\":\"TEXTURE\",\"element\":0,\"dimension\":4}",
            "{\"tag\":\"CUSTOM\",\"id\":\"LC_Nothing\"}",
        ],
    ),
    ("/functions/0", "/tag", &["\"KERNAL\"", "null", REMOVE]),
    ("/functions/0", "/variables", &[REMOVE, "{}", "[]"]),
    ("/functions/0", "/variables/0/type", &["99", "-1", "4", "0", REMOVE]),
    ("/functions/0", "/variables/7/tag", &["\"NOWHERE\"", "0", REMOVE]),
    ("/functions/0", "/variables/7/type", &["0", "2"]),
    ("/functions/0", "/arguments", &["[0,1,99]", "[0,0,1]", "[-1]", "7", REMOVE]),
    (
        "/functions/0",
        "/bound_arguments",
        &["[{\"tag\":\"BUFFER\"}]", "[7]", "{}", "[null,null,null,null]"],
    ),
    (
        "/functions/0",
        "/block_size",
        &[
            "[0,1,1]",
            "[2048,1,1]",
            "[1,1,128]",
            "[1,1]",
            "[1,1,1,1]",
            "[-1,1,1]",
            "[4294967295,4294967295,1]",
            "7",
            REMOVE,
        ],
    ),
    (
        "/functions/0",
        "/body",
        &["null", "[]", "{\"tag\":\"SCOPE\"}", "{\"tag\":\"RETURN\",\"expression\":{}}", REMOVE],
    ),
    (
        FIRST,
        "",
        &["null", "7", "{}", "{\"tag\":\"GOTO\"}", "{\"tag\":\"BREAK\"}", "{\"tag\":\"CONTINUE\"}"],
    ),
    (FIRST, "/tag", &["\"IF\"", "\"FOR\"", "\"SWITCH_CASE\"", "\"PRINT\"", REMOVE]),
    (
        FIRST,
        "/lhs",
        &[
            "null",
            "7",
            "{\"tag\":\"LITERAL\",\"type\":2,\"value\":\"AAAAAA==\"}",
            "{\"tag\":\"REF\",\"type\":3,\"variable\":7}",
            REMOVE,
        ],
    ),
    (FIRST, "/lhs/variable", &["12", "-1", "1e3", "99999999999", REMOVE]),
    (FIRST, "/lhs/type", &["0", "4", "5", "99", REMOVE]),
    (FIRST, "/rhs", &["null", "[]", "{\"tag\":\"REF\",\"type\":1,\"variable\":0}", REMOVE]),
    (
        FIRST,
        "/rhs/value",
        &["\"AAA=\"", "\"\"", "\"????\"", "\"AAAAAAAAAAAAAAAA\"", "7", "null", REMOVE],
    ),
    (
        "/functions/0/body/statements/1/rhs",
        "/swizzle",
        &["\"\"", "\"q\"", "\"w\"", "\"xy\"", "\"xyzwx\"", "7"],
    ),
    (
        READ,
        "/op",
        &[
            "\"BUFFER_READD\"",
            "\"RAY_TRACING_TRACE_ANY\"",
            "\"CUSTOM\"",
            "\"EXTERNAL\"",
            "null",
            REMOVE,
        ],
    ),
    (READ, "/type", &["1", "3", "4"]),
    (READ, "/arguments", &["[]", "[null,null]", "7", REMOVE]),
    (READ, "/arguments/0", &["{\"tag\":\"REF\",\"type\":0,\"variable\":8}", REMOVE]),
    (
        READ,
        "/arguments/1",
        &[
            "{\"tag\":\"REF\",\"type\":0,\"variable\":2}",
            "{\"tag\":\"CONSTANT\",\"type\":2,\"data\":0}",
        ],
    ),
    ("/functions/0/body/statements/13/rhs", "/op", &["\"PLUS\"", "\"BIT_AND\"", "\"LESS\"", "7"]),
];

#[test]
fn wrong_values_in_a_document() {
    let rows = WRONG.iter().flat_map(|(prefix, place, values)| {
        values.iter().map(move |new| changed(&format!("{prefix}{place}"), new))
    });
    all_refused(&rows.collect::<Vec<_>>());
}

/// A callable that calls the function of that index, and a kernel that calls it.
fn cyclic(callees: &[usize]) -> Vec<u8> {
    let call = |callee: usize| json!({"tag": "EXPR", "expression": {"tag": "CALL", "type": 0, "op": "CUSTOM", "custom": callee, "arguments": []}});
    let body = |callee| json!({"tag": "SCOPE", "statements": [call(callee)]});
    let mut functions: Vec<Value> = callees
        .iter()
        .map(|&callee| json!({"tag": "CALLABLE", "variables": [], "curve_bases": [], "arguments": [], "return_type": 0, "constants": [], "body": body(callee)}))
        .collect();
    functions.push(json!({"tag": "KERNEL", "variables": [], "curve_bases": [], "arguments": [], "bound_arguments": [],
        "block_size": [1, 1, 1], "constants": [], "body": body(0)}));
    json!({"types": [null], "entry": callees.len(), "functions": functions})
        .to_string()
        .into_bytes()
}

#[test]
fn callables_that_call_each_other() {
    let cases: [&[usize]; 5] = [&[0], &[1, 0], &[1, 2, 0], &[2, 2, 3], &[9]];
    all_refused(&cases.map(|callees| (format!("calls {callees:?}"), cyclic(callees))));
}

#[test]
fn documents_that_are_cut_short() {
    let whole = std::fs::read(fixture("saxpy.json")).expect("the fixture");
    let end = whole.trim_ascii_end().len();
    let places = (0..100).map(|i| i * end / 100).chain(end - 20..end);
    all_refused(&places.map(|n| (format!("cut at {n}"), whole[..n].to_vec())).collect::<Vec<_>>());
}

#[test]
fn libraries_that_are_cut_short() {
    let Some(folder) = corpus("callable-libraries") else { return };
    let mut cases = Vec::new();
    for path in files(&folder, ".bin").iter().step_by(3) {
        let whole = std::fs::read(path).expect("the library");
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        cases.extend(
            (0..16)
                .map(|i| i * whole.len() / 16)
                .map(|n| (format!("{name} cut at {n}"), whole[..n].to_vec())),
        );
    }
    all_refused(&cases);
}

#[test]
fn bytes_that_are_no_document() {
    let text = std::fs::read_to_string(fixture("saxpy.json")).expect("the fixture");
    let bytes = |name: &str, bytes: &[u8]| (name.to_owned(), bytes.to_vec());
    let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let in_string = text.replacen("KERNEL", "KER\u{1}\u{1}EL", 1).into_bytes();
    let no_utf8: Vec<u8> = in_string.iter().map(|&b| if b == 1 { 0xc3 } else { b }).collect();
    all_refused(&[
        bytes("nothing", b""),
        bytes("blanks", b" \n\t "),
        bytes("words", b"hello"),
        bytes("a picture", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"),
        bytes("zeros", &[0; 4096]),
        bytes("ones", &[0xff; 4096]),
        bytes("UTF-16", &utf16),
        bytes("no UTF-8", &no_utf8),
        bytes("a control character", &in_string),
        bytes("no UTF-8 at the end", &[text.as_bytes(), b"\xff"].concat()),
        bytes("two documents", &[text.as_bytes(), text.as_bytes()].concat()),
        bytes("a comma too many", text.replacen("]", ",]", 1).as_bytes()),
        bytes("a comment", &[b"{ /* c */", &text.as_bytes()[1..]].concat()),
        bytes("half an escape", text.replacen("KERNEL", "KERNE\\", 1).as_bytes()),
        bytes("half a surrogate", text.replacen("KERNEL", "\\ud800KERNEL", 1).as_bytes()),
        bytes("an array", b"[]"),
        bytes("an empty object", b"{}"),
        bytes("a long number", format!("{{\"entry\":{}}}", "9".repeat(1 << 20)).as_bytes()),
        bytes("a long string", format!("{{\"types\":\"{}\"}}", "x".repeat(1 << 22)).as_bytes()),
        bytes("another version", b"{\"schema\":\"luisa.compute.ast\",\"version\":99,\"entry\":0,\"types\":[],\"functions\":[]}"),
        bytes("half a module", b"module;\nkernel @k block(1, 1, 1) () {\nb0:\n"),
        bytes("an unknown operation", b"module;\nkernel @k block(1, 1, 1) () {\nb0:\n  %0: f32 = arithmetic frobnicate f32 1.0\n  return\n}\n"),
        bytes("a use before its definition", b"module;\nkernel @k block(1, 1, 1) () {\nb0:\n  %1: f32 = arithmetic binary_add %2, %2\n  %2: f32 = arithmetic binary_add f32 1.0, f32 1.0\n  return\n}\n"),
    ]);
}

/// Command lines in a folder with the fixture `saxpy.json`, an empty folder `empty`, and a file `bytes.npy` of six uint8.
fn in_folder(lines: &[&str], wanted: i32) {
    let wrong = in_parallel(lines, |line| {
        let folder = Folder::new();
        std::fs::create_dir(folder.path().join("empty")).expect("a folder");
        folder.write("saxpy.json", std::fs::read(fixture("saxpy.json")).expect("the fixture"));
        folder.write("bytes.npy", common::npy::Array::new("u1", [6], vec![1; 6]).to_bytes());
        let before = folder.names();
        let outcome = luisac(folder.path(), line.split_whitespace());
        let judged = ended(&outcome, wanted).and_then(|()| match folder.names() == before {
            true => Ok(()),
            false => Err(format!("left {:?}", folder.names())),
        });
        judged.err().map(|e| format!("`{line}`: {e}"))
    });
    all_right(wrong.into_iter().flatten().collect());
}

#[test]
fn files_that_are_not_there() {
    in_folder(
        &[
            "compile nothing.json --target ptx",
            "compile saxpy.json nothing.json --target ptx -o /dev/null",
            "compile empty --target ptx",
            "compile nothing/at/all --target cpu",
            "check nothing.json",
            "check empty",
            "inspect nothing.json",
            "inspect empty",
            "opt nothing.json",
            "run nothing.json --dispatch 1",
            "run empty --dispatch 1",
            "compile saxpy.json --target ptx --entry nobody",
        ],
        1,
    );
}

#[test]
fn outputs_that_cannot_be_written() {
    in_folder(
        &[
            "compile saxpy.json --target ptx -o /dev/full",
            "compile saxpy.json --target cpu -o /dev/full",
            "compile saxpy.json --target ptx -o nothing/at/all.ptx",
            "compile saxpy.json --target ptx,cpu -o saxpy.json",
            "compile saxpy.json --target ptx -o /dev/null --dep-file /dev/full",
            "compile saxpy.json --target ptx -o /dev/null --report nothing/report.json",
            "opt saxpy.json -o /dev/full",
            "run saxpy.json --dispatch 4 --arg 0=iota:4 --arg 1=iota:4 --arg 2=2 --out 1=/dev/full",
            "run saxpy.json --dispatch 4 --arg 0=iota:4 --arg 1=iota:4 --arg 2=2 --out 1=nothing/out.npy",
            "run saxpy.json --dispatch 4 --arg 0=iota:4 --arg 1=iota:4 --arg 2=2 --out 1=out.xyz",
        ],
        1,
    );
}

#[test]
fn arguments_that_do_not_fit() {
    let with = |args: &str| format!("run saxpy.json --dispatch 4 {args}");
    let lines: Vec<String> = [
        "",
        "--arg 0=iota:4 --arg 1=iota:4",
        "--arg 0=iota:4 --arg 1=iota:4 --arg 2=two",
        "--arg 0=iota:4 --arg 1=iota:4 --arg 2=1,2",
        "--arg 0=iota:4 --arg 1=iota:4 --arg 2=2 --arg 3=1",
        "--arg 0=iota:4 --arg 1=iota:4 --arg 2=2 --out 9=-",
        "--arg 0=iota:4 --arg 1=iota:4 --arg 2",
        "--arg 0=5 --arg 1=iota:4 --arg 2=2",
        "--arg 0=iota:x --arg 1=iota:4 --arg 2=2",
        "--arg 0=iota:-4 --arg 1=iota:4 --arg 2=2",
        "--arg 0=zeros:99999999999999999 --arg 1=iota:4 --arg 2=2",
        "--arg 0=random:4:x --arg 1=iota:4 --arg 2=2",
        "--arg 0=nothing.npy --arg 1=iota:4 --arg 2=2",
        "--arg 0=bytes.npy --arg 1=iota:4 --arg 2=2",
        "--arg 0=saxpy.json --arg 1=iota:4 --arg 2=2",
        "--define 9=1 --arg 0=iota:4 --arg 1=iota:4 --arg 2=2",
        "--define 0=1 --arg 0=iota:4 --arg 1=iota:4 --arg 2=2",
        "--define 2=x --arg 0=iota:4 --arg 1=iota:4",
    ]
    .map(with)
    .into();
    in_folder(&lines.iter().map(String::as_str).collect::<Vec<_>>(), 1);
}

#[test]
fn wrong_use_of_the_command_line() {
    in_folder(
        &[
            "frobnicate",
            "compile",
            "compile saxpy.json",
            "compile --target ptx",
            "compile saxpy.json --target",
            "compile saxpy.json --target vax",
            "compile saxpy.json --target ptx:sm_20",
            "compile saxpy.json --target cpu:z80",
            "compile saxpy.json --target ptx,,cpu",
            "compile saxpy.json --target ptx -O7",
            "compile saxpy.json --target ptx --math sloppy",
            "compile saxpy.json --target ptx --bounds maybe",
            "compile saxpy.json --target ptx --emit poem",
            "compile saxpy.json --target ptx --frobnicate",
            "compile saxpy.json --target ptx --block 1,2",
            "compile saxpy.json --target ptx --block 0,1,1",
            "compile saxpy.json --target ptx --block 2048,1,1",
            "compile saxpy.json --target ptx --define two",
            "compile saxpy.json --target ptx --passes frobnicate",
            "compile saxpy.json --target ptx --passes dce(",
            "compile saxpy.json --target ptx --passes dce{colour=red}",
            "compile saxpy.json --target ptx --passes @nothing",
            "compile saxpy.json --target ptx --fuel -1",
            "compile saxpy.json --target ptx --report picture.txt",
            "opt saxpy.json --passes frobnicate",
            "opt saxpy.json --passes inline,,dce",
            "run saxpy.json",
            "run saxpy.json --dispatch x",
            "run saxpy.json --dispatch 1,2,3,4",
            "run saxpy.json --dispatch 4294967296",
            "run saxpy.json --dispatch 1 --device abacus",
            "run saxpy.json --dispatch 1 --passes frobnicate --arg 0=iota:1 --arg 1=iota:1 --arg 2=1",
            "explain L9999",
            "explain bread",
            "completions tcsh",
        ],
        2,
    );
}

#[test]
fn devices_that_are_missing() {
    in_folder(
        &["run saxpy.json --dispatch 4 --device cuda --arg 0=iota:4 --arg 1=iota:4 --arg 2=2"],
        3,
    );
}

#[test]
fn wrong_use_is_told_in_json_too() {
    let folder = Folder::new();
    for line in
        ["explain L9999", "run x.json --dispatch 1 --define two", "compile x.json --target vax"]
    {
        let outcome =
            luisac(folder.path(), line.split(' ').chain(["--message-format", "json", "-q"]));
        assert_eq!(outcome.code, Some(2), "{line}");
        let message: Value = serde_json::from_str(outcome.stderr.trim()).expect("one JSON object");
        assert_eq!(message["severity"], "error", "{line}: {message}");
    }
}

/// A disk that is full after a thousand bytes: a limit on the size of files whose signal is ignored.
#[cfg(unix)]
#[test]
fn a_full_disk_leaves_nothing_half_written() {
    for target in ["ptx", "cpu"] {
        let folder = Folder::new();
        folder.write("m.ptx", "old");
        let mut shell = std::process::Command::new("sh");
        shell.args([
            "-c",
            "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\"",
            env!("CARGO_BIN_EXE_luisac"),
        ]);
        shell.args(["compile", "--target", target, "-o", "m.ptx"]).arg(fixture("mandelbrot.json"));
        let outcome = finish(shell.current_dir(folder.path()).stdin(Stdio::null()));
        outcome.refusal().unwrap_or_else(|e| panic!("{target}: {e}"));
        assert_eq!(
            (folder.names(), folder.read("m.ptx")),
            (vec!["m.ptx".into()], b"old".to_vec()),
            "{target}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn standard_output_that_takes_nothing() {
    let folder = Folder::new();
    let lines = ["targets", "passes --json", "explain L0001", "man", "completions bash"];
    let saxpy = fixture("saxpy.json").display().to_string();
    let inputs = [
        format!("compile {saxpy} --target ptx -o -"),
        format!("opt {saxpy}"),
        format!("inspect {saxpy}"),
    ];
    for line in lines.into_iter().chain(inputs.iter().map(String::as_str)) {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("the device");
        let child = command(folder.path())
            .args(line.split(' '))
            .stdout(full)
            .stderr(Stdio::null())
            .status();
        assert_eq!(child.expect("the program starts").code(), Some(1), "`{line}` to a full disk");
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let child = command(folder.path())
            .args(line.split(' '))
            .stdout(writer)
            .stderr(Stdio::null())
            .status();
        assert_eq!(
            child.expect("the program starts").code(),
            Some(0),
            "`{line}` to a reader that went away"
        );
    }
}

#[test]
fn every_code_is_unique_and_explained() {
    let tables = luisac::codes::tables();
    let mut all: Vec<_> = tables.into_iter().flatten().collect();
    for info in &all {
        let texts = [info.title, info.explanation, info.remedy];
        assert!(texts.iter().all(|t| !t.trim().is_empty()), "{} lacks a text", info.code);
        assert!(!info.title.ends_with('.'), "{}: titles have no full stop", info.code);
    }
    let count = all.len();
    all.sort_by_key(|i| i.code);
    all.dedup_by_key(|i| i.code);
    assert_eq!(all.len(), count, "two codes are the same");
}

/// Whatever code stands in a source, in text or as `L0123`, is in a table.
#[test]
fn every_code_in_a_source_is_known() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut unknown = Vec::new();
    for part in
        ["src", "ast/src", "xir/src", "passes/src", "targets/src", "artifact/src", "runtime/src"]
    {
        for path in files(&root.join(part), ".rs") {
            let text = std::fs::read_to_string(&path).expect("sources are text");
            let code_lines: Vec<&str> =
                text.lines().filter(|l| !l.trim_start().starts_with("//")).collect();
            let stderr = code_lines.join("\n");
            let codes = Outcome { code: None, stdout: Vec::new(), stderr };
            for code in codes.codes() {
                if !is_known(code) {
                    unknown.push(format!("{}: {code}", path.display()));
                }
            }
        }
    }
    all_right(unknown);
}
