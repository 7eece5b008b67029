//! The command line as users meet it: every command and option of the front end, exit codes, streams, folders.

mod common;

use common::schema::{misfits, schema};
use common::{
    Folder, Outcome, all_right, command, corpus, files, finish, fixture, in_parallel, luisac,
};
use serde_json::{Value, json};
use std::io::Write;
use std::process::Stdio;

/// A folder with the fixture `saxpy.json`.
fn with_saxpy() -> Folder {
    let folder = Folder::new();
    folder.write("saxpy.json", std::fs::read(fixture("saxpy.json")).expect("the fixture"));
    folder
}

/// The words of a line in a folder.
fn run(folder: &Folder, line: &str) -> Outcome {
    luisac(folder.path(), line.split_whitespace())
}

/// The words of a line with this on standard input.
fn piped(folder: &Folder, line: &str, input: &[u8]) -> Outcome {
    let mut command = command(folder.path());
    command.args(line.split_whitespace()).stdin(Stdio::piped());
    let path = folder.write("stdin", input);
    command.stdin(std::fs::File::open(path).expect("the file"));
    finish(&mut command)
}

#[track_caller]
fn ends(outcome: &Outcome, code: i32) {
    assert_eq!(outcome.code, Some(code), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("panicked"), "{}", outcome.stderr);
}

/// Types of the sketches: 0 uint, 1 void, 2 buffer<uint>.
const TYPES: &str = r#"[{"tag":"UINT32"},null,{"tag":"BUFFER","element":0}]"#;

/// A kernel with a buffer and a value, of which it uses the buffer only, and a body.
fn kernel(statements: &[Value]) -> Value {
    json!({
        "types": serde_json::from_str::<Value>(TYPES).expect("types"),
        "functions": [{
            "tag": "KERNEL", "arguments": [0, 1], "curve_bases": [], "constants": [],
            "variables": [{"tag": "BUFFER", "type": 2}, {"tag": "ARGUMENT", "type": 0}],
            "block_size": [32, 1, 1], "bound_arguments": [],
            "body": {"tag": "SCOPE", "statements": statements},
        }],
        "entry": 0,
    })
}

/// The value one of a type.
fn one(ty: u32) -> Value {
    call("ONE", ty, json!([]))
}

fn uint() -> Value {
    json!({"tag": "LITERAL", "type": 0, "value": "AQAAAA=="})
}

fn call(op: &str, ty: u32, arguments: Value) -> Value {
    json!({"tag": "CALL", "type": ty, "op": op, "arguments": arguments})
}

fn store(value: Value) -> Value {
    let buffer = json!({"tag": "REF", "type": 2, "variable": 0});
    json!({"tag": "EXPR", "expression": call("BUFFER_WRITE", 1, json!([buffer, uint(), value]))})
}

/// A kernel that is right, with an argument that is not used.
fn with_warning() -> String {
    kernel(&[store(uint())]).to_string()
}

/// A kernel with three mistakes in three places.
fn with_errors() -> String {
    let jump = json!({"tag": "BREAK"});
    let few = json!({"tag": "EXPR", "expression": call("BUFFER_WRITE", 1, json!([]))});
    let wrong = json!({"tag": "ASSIGN", "lhs": uint(), "rhs": uint()});
    kernel(&[jump, few, wrong]).to_string()
}

/// A kernel that stores what the external function `twice` makes of 1.
fn with_external() -> String {
    let mut callee = call("EXTERNAL", 0, json!([uint()]));
    callee["external"] = json!(0);
    let mut kernel = kernel(&[store(callee)]);
    kernel["external_functions"] = json!([{
        "name": "twice", "return_type": 0, "argument_types": [0], "argument_usages": ["READ"],
    }]);
    kernel.to_string()
}

/// A callable that multiplies by a number, given as base64.
fn callable(number: &str) -> String {
    let argument = json!({"tag": "REF", "type": 0, "variable": 0});
    let factor = json!({"tag": "LITERAL", "type": 0, "value": number});
    let product = json!({"tag": "BINARY", "type": 0, "op": "MUL", "lhs": argument, "rhs": factor});
    json!({
        "types": serde_json::from_str::<Value>(TYPES).expect("types"),
        "functions": [{
            "tag": "CALLABLE", "arguments": [0], "curve_bases": [], "constants": [], "return_type": 0,
            "variables": [{"tag": "ARGUMENT", "type": 0}],
            "body": {"tag": "SCOPE", "statements": [{"tag": "RETURN", "expression": product}]},
        }],
        "entry": 0,
    })
    .to_string()
}

const TWO: &str = "AgAAAA==";
const THREE: &str = "AwAAAA==";

#[test]
fn check_is_silent_about_what_is_right() {
    let folder = with_saxpy();
    for line in
        ["check saxpy.json", "check .", "check saxpy.json --entry saxpy", "-q check saxpy.json"]
    {
        let outcome = run(&folder, line);
        ends(&outcome, 0);
        assert_eq!((outcome.text(), outcome.stderr.as_str()), ("", ""), "{line}");
    }
    ends(&run(&folder, "check saxpy.json --entry other"), 1);
}

#[test]
fn all_mistakes_are_told_at_once() {
    let folder = Folder::new();
    folder.write("wrong.json", with_errors());
    let outcome = run(&folder, "check wrong.json");
    ends(&outcome, 1);
    for word in ["L0310", "L0340", "L0320", "wrong.json", "/functions/0/body/statements/2/lhs"] {
        assert!(outcome.stderr.contains(word), "no {word}: {}", outcome.stderr);
    }
    // In the order in which the program is read.
    assert_eq!(outcome.codes(), ["L0310", "L0340", "L0320"], "{}", outcome.stderr);
    // The lines of the source, and what to do.
    assert!(outcome.stderr.contains("\"tag\":\"BREAK\""), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("help:"), "{}", outcome.stderr);
}

/// What an input holds cannot steer the terminal.
#[test]
fn messages_are_harmless_text() {
    let folder = Folder::new();
    let escape = "\u{1b}[31m";
    folder.write("escape.json", with_errors().replace("BREAK", &format!("{escape}BREAK")));
    folder.write("name.json", with_errors().replace("KERNEL", "KER\\u001b[31mNEL"));
    let mut library = vec![0u8; 64];
    library[0] = 1;
    library[40..40 + escape.len()].copy_from_slice(escape.as_bytes());
    folder.write("library.bin", library);
    for input in ["escape.json", "name.json", "library.bin"] {
        let outcome = run(&folder, &format!("check {input}"));
        ends(&outcome, 1);
        let steers = |c: char| c.is_control() && c != '\n';
        assert!(!outcome.stderr.contains(steers), "{input}: {:?}", outcome.stderr);
        assert!(outcome.stderr.contains(input), "{}", outcome.stderr);
    }
    // A name that is right as JSON.
    folder.write(
        "named.json",
        r#"{"schema":"luisa.compute.ast","version":1,"types":[{"tag":"UINT32"},{"tag":"BUFFER","element":0}],
        "functions":[{"tag":"KERNEL","name":"a\u001b[31mb","arguments":[0],"curve_bases":[],"constants":[],
        "variables":[{"tag":"BUFFER","type":1,"usage":"NONE","name":"x\u001b[31my"}],"block_size":[32,1,1],
        "bound_arguments":[],"body":{"tag":"SCOPE","statements":[]}}],"entry":0}"#,
    );
    for line in ["check named.json", "inspect named.json", "compile named.json --emit ast -o -"] {
        let outcome = run(&folder, line);
        ends(&outcome, 0);
        let escape = '\u{1b}';
        assert!(!outcome.stderr.contains(escape) && !outcome.text().contains(escape), "{line}");
        assert!(outcome.stderr.contains("L0380"), "{line}: {}", outcome.stderr);
    }
    let binary = run(&folder, "check library.bin");
    assert!(binary.stderr.contains("at byte "), "{}", binary.stderr);
    let line = run(&folder, "check library.bin --message-format json");
    let line: Value = serde_json::from_str(line.stderr.trim()).expect("JSON");
    assert_eq!(misfits(&schema("message.schema.json"), &line), [""; 0]);
    assert!(line["offset"].is_u64() && line["line"].is_null(), "{line}");
}

#[test]
fn messages_as_json_fit_their_schema() {
    let folder = Folder::new();
    folder.write("wrong.json", with_errors());
    folder.write("warned.json", with_warning());
    let outcome = run(&folder, "check --message-format json wrong.json warned.json missing.json");
    ends(&outcome, 1);
    let schema = schema("message.schema.json");
    let lines: Vec<Value> = outcome
        .stderr
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect();
    assert_eq!(lines.len(), 5, "{}", outcome.stderr);
    for line in &lines {
        assert_eq!(misfits(&schema, line), [""; 0], "{line}");
    }
    let warning = lines.iter().find(|l| l["severity"] == "warning").expect("the warning");
    assert_eq!(warning["lint"], "unused-argument");
    assert_eq!(warning["pointer"], "/functions/0/arguments/1");
    let text = with_warning();
    let offset = warning["offset"].as_u64().expect("an offset") as usize;
    assert_eq!(warning["line"], 1);
    assert_eq!(warning["column"], offset + 1);
    assert_eq!(&text[offset..=offset], "1");
}

#[test]
fn warnings_have_levels() {
    let folder = Folder::new();
    folder.write("warned.json", with_warning());
    let levels = |flags: &str| run(&folder, &format!("check warned.json {flags}"));
    let warns = |outcome: &Outcome| outcome.stderr.contains("L0380");
    let told = levels("");
    ends(&told, 0);
    assert!(warns(&told) && told.stderr.contains("`warned`"), "{}", told.stderr);
    for silent in ["-A unused-argument", "-A unused", "-A all", "-A warnings -D warnings", "-q"] {
        let outcome = levels(silent);
        ends(&outcome, 0);
        assert!(!warns(&outcome), "{silent}: {}", outcome.stderr);
    }
    for denied in
        ["-D unused-argument", "-D warnings", "-A all -D unused", "--deny all", "-q -D warnings"]
    {
        let outcome = levels(denied);
        ends(&outcome, 1);
        assert!(warns(&outcome), "{denied}: {}", outcome.stderr);
    }
    for kept in ["-A all -W unused-argument", "-D all --warn all"] {
        let outcome = levels(kept);
        ends(&outcome, 0);
        assert!(warns(&outcome), "{kept}: {}", outcome.stderr);
    }
    let unknown = levels("-W unused-arguments");
    ends(&unknown, 2);
    assert!(unknown.stderr.contains("did you mean `unused-argument`?"), "{}", unknown.stderr);
    // The flags hold wherever inputs are read.
    for line in ["opt", "inspect", "run --dispatch 1", "compile --emit xir -o -"] {
        let outcome = run(&folder, &format!("{line} warned.json -D warnings"));
        ends(&outcome, 1);
        assert!(warns(&outcome), "{line}: {}", outcome.stderr);
    }
}

#[test]
fn codes_and_lints_are_explained() {
    let folder = Folder::new();
    for word in ["L0310", "310", "l0380", "unused-argument", "lints"] {
        ends(&run(&folder, &format!("explain {word}")), 0);
    }
    let by_name = run(&folder, "explain divergent-barrier");
    assert!(by_name.text().contains("L0382") && by_name.text().contains("-D divergent-barrier"));
    assert_eq!(by_name.text(), run(&folder, "explain L0382").text());
    let list = run(&folder, "explain lints");
    for lint in luisac_ast::lint::LINTS {
        assert!(list.text().contains(lint.name), "{}", list.text());
    }
    let near = run(&folder, "explain unused-callabel");
    ends(&near, 2);
    assert!(near.stderr.contains("`unused-callable`"), "{}", near.stderr);
}

#[test]
fn streams_are_inputs_and_outputs() {
    let folder = with_saxpy();
    let saxpy = folder.read("saxpy.json");
    ends(&piped(&folder, "check -", &saxpy), 0);
    let wrong = piped(&folder, "check -", b"{");
    ends(&wrong, 1);
    assert!(wrong.stderr.contains("<stdin>"), "{}", wrong.stderr);
    let from_file = run(&folder, "opt saxpy.json").ok();
    let from_stream = piped(&folder, "opt -", &saxpy).ok();
    assert_eq!(from_stream.text(), from_file.text().replace("@saxpy", "@kernel"));
    let again = piped(&folder, "opt -", from_file.stdout.as_slice()).ok();
    assert_eq!(again.text(), from_file.text());
    let listed = piped(&folder, "inspect - --json", &saxpy).ok();
    assert_eq!(serde_json::from_str::<Value>(listed.text()).expect("JSON")["input"], "<stdin>");
    let code = piped(&folder, "compile - --emit ast -o -", &saxpy).ok();
    assert!(code.text().contains("kernel kernel("), "{}", code.text());
}

/// Printed, parsed and printed again is the same text.
#[test]
fn xir_text_is_stable() {
    let Some(own) = corpus("own") else { return };
    let folder = Folder::new();
    for name in ["matmul_tiled", "switch_default", "ray_query_loop"] {
        let file = own.join(format!("{name}.json"));
        luisac(folder.path(), ["opt".as_ref(), file.as_os_str(), "-o".as_ref(), "1.xir".as_ref()])
            .ok();
        run(&folder, "opt 1.xir -o 2.xir").ok();
        assert!(folder.read("1.xir") == folder.read("2.xir"), "{name}");
        ends(&run(&folder, "check 1.xir"), 0);
        ends(&run(&folder, "inspect 1.xir"), 0);
    }
}

#[test]
fn the_flags_of_opt() {
    let folder = with_saxpy();
    let plain = run(&folder, "opt saxpy.json").ok();
    let passes = "opt saxpy.json --passes mem2reg,dce";
    let run_with = |flags: &str| run(&folder, &format!("{passes} {flags}")).ok();
    let changed = run_with("");
    assert_ne!(changed.text(), plain.text());
    assert_eq!(run_with("--verify-each").text(), changed.text());
    // Without fuel nothing is transformed.
    assert_eq!(run_with("--fuel 0").text(), plain.text());
    let printed = run_with("--print-after all");
    assert!(printed.stderr.contains("after mem2reg") && printed.stderr.contains("after dce"));
    let one = run_with("--print-after dce");
    assert!(!one.stderr.contains("after mem2reg") && one.stderr.contains("after dce"));
    assert!(run_with("--time-passes").stderr.contains("total"));
    assert!(run_with("--report -").stderr.contains("mem2reg"));
    run_with("--report report.json");
    let report: Value = serde_json::from_slice(&folder.read("report.json")).expect("JSON");
    assert_eq!(misfits(&schema("report.schema.json"), &report), [""; 0]);
    ends(&run(&folder, &format!("{passes} --report report.txt")), 2);
}

/// XIR text is linked already.
#[test]
fn xir_text_takes_no_library() {
    let folder = with_saxpy();
    folder.write("f.json", callable(TWO));
    run(&folder, "opt saxpy.json -o s.xir").ok();
    ends(&run(&folder, "opt s.xir --lib f.json"), 2);
    let wrong = run(&folder, "check saxpy.json --lib s.xir");
    ends(&wrong, 1);
    assert!(
        wrong.stderr.contains("s.xir") && wrong.stderr.contains("XIR text"),
        "{}",
        wrong.stderr
    );
    ends(&run(&folder, "opt s.xir --callable f"), 1);
    run(&folder, "opt f.json --callable f -o f.xir").ok();
    run(&folder, "opt f.xir --callable f").ok();
}

#[test]
fn folders_are_all_inputs_under_them() {
    let folder = with_saxpy();
    folder.write("deep/er/wrong.json", with_errors());
    folder.write("deep/notes.md", "# Notes");
    // Documents of other kinds: metadata, a recorded case.
    folder.write("deep/saxpy.ptx.json", r#"{"schema": "luisac.kernel", "version": 1}"#);
    folder.write("deep/saxpy.expect.json", r#"{"dispatch": [1, 1, 1]}"#);
    folder.write("deep/warned.json", with_warning());
    let outcome = run(&folder, "check .");
    ends(&outcome, 1);
    assert!(outcome.stderr.contains("wrong.json") && outcome.stderr.contains("warned.json"));
    for other in ["notes.md", "saxpy.ptx", "saxpy.expect"] {
        assert!(!outcome.stderr.contains(other), "{}", outcome.stderr);
    }
    // Named by itself, a document is held to be an input.
    ends(&run(&folder, "check deep/saxpy.expect.json"), 1);
    folder.write("none/notes.md", "# Notes");
    let none = run(&folder, "check none");
    ends(&none, 1);
    assert!(none.stderr.contains("L1201"), "{}", none.stderr);
}

/// What is wrong with a flag is told once, however many inputs there are.
#[test]
fn wrong_flags_are_told_once() {
    let folder = with_saxpy();
    folder.write("b.json", with_warning());
    for line in [
        "compile . --emit xir --block 2048,1,1 -o out/",
        "compile . --emit xir --define two -o out/",
        "compile . --emit xir-opt -o out/",
        "compile . --emit xir -W nothing -o out/",
        "compile . --callable f",
    ] {
        let outcome = run(&folder, line);
        assert!(outcome.code == Some(2), "{line}: {:?} {}", outcome.code, outcome.stderr);
        assert!(outcome.codes().len() <= 1, "{line}: {}", outcome.stderr);
        assert!(!folder.path().join("out").exists(), "{line}");
    }
}

#[test]
fn unknown_words_get_suggestions() {
    let folder = with_saxpy();
    for (line, near) in [
        ("chek saxpy.json", "check"),
        ("check saxpy.json --entri saxpy", "--entry"),
        ("inspect saxpy.json --jsn", "--json"),
        ("check saxpy.json --message-format jsn", "json"),
        ("compile saxpy.json --emit asst", "ast"),
        ("opt saxpy.json --passes dcee", "dce"),
    ] {
        let outcome = run(&folder, line);
        ends(&outcome, 2);
        assert!(outcome.stderr.contains(near), "{line}: {}", outcome.stderr);
    }
}

#[test]
fn inputs_that_cannot_be_read() {
    let folder = with_saxpy();
    for line in ["check", "inspect", "opt", "compile --emit ast", "run --dispatch 1"] {
        let outcome = run(&folder, &format!("{line} missing.json"));
        ends(&outcome, 1);
        assert!(outcome.stderr.contains("L1200"), "{line}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("help: check the path"), "{line}: {}", outcome.stderr);
    }
    let outcome = run(&folder, "check saxpy.json --lib missing.bin");
    ends(&outcome, 1);
    assert!(outcome.stderr.contains("missing.bin"), "{}", outcome.stderr);
}

#[test]
fn exit_codes() {
    let folder = with_saxpy();
    folder.write("wrong.json", with_errors());
    ends(&run(&folder, "check saxpy.json"), 0);
    ends(&run(&folder, "check saxpy.json wrong.json"), 1);
    ends(&run(&folder, "check"), 2);
    ends(&run(&folder, "run saxpy.json --dispatch 1 --device cuda"), 3);
    for line in [
        "--help",
        "--version",
        "help check",
        "check --help",
        "man",
        "completions bash",
        "passes",
        "targets",
        "devices --json",
    ] {
        let outcome = run(&folder, line);
        ends(&outcome, 0);
        // A build without LLVM has no targets.
        let none = line == "targets" && !cfg!(feature = "llvm");
        assert!(none || !outcome.stdout.is_empty(), "{line}");
    }
}

#[test]
fn inspect_shows_what_is_there() {
    let folder = with_saxpy();
    let table = run(&folder, "inspect saxpy.json").ok();
    for word in [
        "JSON AST",
        "kernel saxpy",
        "buffer<float>",
        "read_write",
        "BUFFER_WRITE",
        "needs",
        "expressions",
    ] {
        assert!(table.text().contains(word), "no {word}: {}", table.text());
    }
    let value: Value =
        serde_json::from_str(run(&folder, "inspect saxpy.json --json").ok().text()).expect("JSON");
    assert_eq!(value["functions"][0]["name"], "saxpy");
    assert_eq!(value["bytes"], folder.read("saxpy.json").len());
    assert_eq!(value["kernels"], 1);
}

/// An artifact is known by the metadata beside it.
#[cfg(feature = "llvm")]
#[test]
fn inspect_knows_artifacts() {
    let folder = with_saxpy();
    run(&folder, "compile saxpy.json --target ptx,cpu -o out/").ok();
    for (artifact, target) in
        [("saxpy.ptx", "ptx:"), ("saxpy.o", "cpu:"), ("saxpy.ptx.json", "ptx:")]
    {
        let outcome = run(&folder, &format!("inspect out/{artifact} --json")).ok();
        let value: Value = serde_json::from_str(outcome.text()).expect("JSON");
        assert_eq!(misfits(&schema("inspect.schema.json"), &value), [""; 0]);
        let of = value["metadata"]["target"].as_str().expect("a target");
        assert!(of.starts_with(target), "{artifact}: {of}");
    }
}

#[test]
fn colours_are_for_those_who_ask() {
    let folder = Folder::new();
    folder.write("wrong.json", with_errors());
    let colourful =
        |flags: &str| run(&folder, &format!("check wrong.json {flags}")).stderr.contains('\u{1b}');
    assert!(!colourful("") && !colourful("--color never") && colourful("--color always"));
    assert!(!colourful("--color always --message-format json"));
}

#[test]
fn inspect_follows_calls() {
    let Some(own) = corpus("own") else { return };
    let folder = Folder::new();
    let file = own.join("call_dag.json").display().to_string();
    let value: Value =
        serde_json::from_str(run(&folder, &format!("inspect {file} --json")).ok().text())
            .expect("JSON");
    let functions = value["functions"].as_array().expect("functions");
    for (i, function) in functions.iter().enumerate() {
        let set = |key: &str| function[key].as_array().expect("a list").clone();
        for callee in set("calls") {
            let callee = &functions[callee.as_u64().expect("an index") as usize];
            assert!(callee["called_by"].as_array().expect("a list").contains(&json!(i)));
            let all = set("propagated_operations");
            let below = callee["propagated_operations"].as_array().expect("a list");
            assert!(below.iter().all(|op| all.contains(op)), "{function}");
        }
        assert!(set("operations").iter().all(|op| set("propagated_operations").contains(op)));
    }
    let kernel = functions.last().expect("the kernel");
    assert!(!kernel["calls"].as_array().expect("a list").is_empty());
}

#[test]
fn inspect_fits_its_schema() {
    let schema = schema("inspect.schema.json");
    let mut inputs = vec![fixture("saxpy.json"), fixture("mandelbrot.json")];
    for folder in ["own", "callable-libraries"] {
        let Some(folder) = corpus(folder) else { continue };
        let ending = if folder.ends_with("own") { ".json" } else { ".bin" };
        let all = files(&folder, ending).into_iter();
        let readable = all.filter(|p| {
            let name = p.to_string_lossy();
            !name.ends_with(".expect.json")
                && !name.contains("missing_dependency")
                && !name.ends_with("sizes.json")
        });
        inputs.extend(readable.step_by(3));
    }
    let wrong = in_parallel(&inputs, |input| {
        let folder = Folder::new();
        let flags = ["inspect".as_ref(), input.as_os_str(), "--json".as_ref(), "-q".as_ref()];
        let outcome = luisac(folder.path(), flags);
        let Ok(value) = serde_json::from_slice::<Value>(&outcome.stdout) else {
            return vec![format!("{}: {}", input.display(), outcome.stderr)];
        };
        let misfits = misfits(&schema, &value).into_iter();
        misfits.map(|m| format!("{}: {m}", input.display())).collect()
    });
    all_right(wrong.into_iter().flatten().collect());
    let folder = with_saxpy();
    run(&folder, "opt saxpy.json -o s.xir").ok();
    let xir: Value =
        serde_json::from_str(run(&folder, "inspect s.xir --json").ok().text()).expect("JSON");
    assert_eq!(misfits(&schema, &xir), [""; 0]);
}

#[test]
fn pseudo_code_is_emitted_without_a_target() {
    let folder = with_saxpy();
    run(&folder, "compile saxpy.json --emit ast").ok();
    let text = String::from_utf8(folder.read("saxpy.ast")).expect("text");
    assert!(text.contains("kernel saxpy(") && text.contains("buffer_write("), "{text}");
    assert_eq!(run(&folder, "compile saxpy.json --emit ast -o -").ok().text(), text);
    run(&folder, "compile saxpy.json --emit ast,xir -o out/").ok();
    assert!(
        folder.path().join("out/saxpy.ast").exists()
            && folder.path().join("out/saxpy.xir").exists()
    );
    ends(&run(&folder, "compile saxpy.json --emit ast --entry other"), 1);
}

#[test]
fn libraries_are_linked_by_name() {
    let folder = Folder::new();
    folder.write("main.json", with_external());
    folder.write("twice.json", callable(TWO));
    folder.write("other/twice.json", callable(THREE));
    folder.write("unrelated.json", callable(TWO));
    let linked = run(&folder, "check main.json --lib twice.json -A unused").ok();
    assert_eq!(linked.stderr, "");
    let ran = run(
        &folder,
        "run main.json --lib twice.json --device interp --dispatch 1 --arg 0=zeros:2 --arg 1=0 --out 0=- -q",
    )
    .ok();
    assert!(ran.text().contains('2'), "{}", ran.text());
    let code = run(&folder, "compile main.json --lib twice.json --emit ast -o - -q").ok();
    assert!(
        code.text().contains("callable twice(") && code.text().contains("twice(1u)"),
        "{}",
        code.text()
    );
    let value: Value = serde_json::from_str(
        run(&folder, "inspect main.json --lib twice.json --json -q").ok().text(),
    )
    .expect("JSON");
    assert_eq!(
        (value["callables"].as_u64(), value["externals"].as_array().map(Vec::len)),
        (Some(1), Some(0))
    );
    let missing = run(&folder, "check main.json --lib unrelated.json");
    ends(&missing, 0);
    assert!(
        missing.stderr.contains("L0393") && missing.stderr.contains("`twice`"),
        "{}",
        missing.stderr
    );
    ends(&run(&folder, "check main.json --lib unrelated.json -D unresolved-external"), 1);
    let clash = run(&folder, "check main.json --lib twice.json --lib other/twice.json");
    ends(&clash, 1);
    assert!(clash.stderr.contains("L0390"), "{}", clash.stderr);
}

/// What is wrong with a library is said of the library.
#[test]
fn mistakes_of_libraries_name_them() {
    let folder = Folder::new();
    folder.write("main.json", with_external());
    folder.write("wrong.json", with_errors());
    let outcome = run(&folder, "check main.json --lib wrong.json");
    ends(&outcome, 1);
    assert!(outcome.stderr.contains("in `wrong.json` at /functions/0/body"), "{}", outcome.stderr);
}

#[test]
fn libraries_of_callables_are_taken_as_they_are() {
    let Some(libraries) = corpus("callable-libraries") else { return };
    let folder = Folder::new();
    folder
        .write("lib.bin", std::fs::read(libraries.join("nested_calls.bin")).expect("the library"));
    ends(&run(&folder, "check lib.bin"), 0);
    let value: Value =
        serde_json::from_str(run(&folder, "inspect lib.bin --json").ok().text()).expect("JSON");
    let functions = value["functions"].as_array().expect("functions");
    let caller = functions.iter().find(|f| f["calls"] != json!([])).expect("a caller");
    let name = caller["name"].as_str().expect("a name");
    let code = run(&folder, &format!("compile lib.bin --callable {name} --emit ast -o -")).ok();
    assert!(code.text().contains(&format!("callable {name}(")), "{}", code.text());
    let xir = run(&folder, &format!("opt lib.bin --callable {name} --passes mem2reg,dce")).ok();
    assert!(xir.text().contains(&format!("callable @{name}")), "{}", xir.text());
    let missing = run(&folder, "opt lib.bin --callable nobody");
    ends(&missing, 1);
    assert!(
        missing.stderr.contains("L1217") && missing.stderr.contains(name),
        "{}",
        missing.stderr
    );
    let code = run(&folder, &format!("compile lib.bin --callable {name} --target spirv"));
    ends(&code, 1);
    assert!(code.stderr.contains("L0915") && code.stderr.contains("spirv"), "{}", code.stderr);
    run(&folder, &format!("compile lib.bin --callable {name} --target msl -o f.metal")).ok();
    assert!(
        String::from_utf8_lossy(&folder.read("f.metal")).contains(&format!("callable_{name}("))
    );
    let none = run(&folder, "compile lib.bin --emit xir");
    ends(&none, 1);
    assert!(none.stderr.contains("L1201") && none.stderr.contains("--callable"), "{}", none.stderr);
}

/// A document that declares a native function finds it in a serialized library.
#[test]
fn documents_are_linked_with_libraries() {
    let Some(libraries) = corpus("callable-libraries") else { return };
    let folder = Folder::new();
    let library = libraries.join("arithmetic.bin").display().to_string();
    // `add` takes two floats and returns one.
    let mut callee = call("EXTERNAL", 3, json!([one(3), one(3)]));
    callee["external"] = json!(0);
    let buffer = json!({"tag": "REF", "type": 2, "variable": 0});
    let sum = json!({"tag": "CAST", "type": 0, "op": "STATIC", "expression": callee});
    let write = call("BUFFER_WRITE", 1, json!([buffer, uint(), sum]));
    let mut kernel = kernel(&[json!({"tag": "EXPR", "expression": write})]);
    kernel["types"].as_array_mut().expect("a list").push(json!({"tag": "FLOAT32"}));
    kernel["external_functions"] = json!([{
        "name": "add", "return_type": 3, "argument_types": [3, 3], "argument_usages": ["READ", "READ"],
    }]);
    folder.write("main.json", kernel.to_string());
    let linked = run(&folder, &format!("check main.json --lib {library} -A unused"));
    ends(&linked, 0);
    assert_eq!(linked.stderr, "");
    let code = run(&folder, &format!("compile main.json --lib {library} --emit ast -o - -q")).ok();
    assert!(code.text().contains("callable add("), "{}", code.text());
    kernel["external_functions"][0]["argument_types"] = json!([3, 0]);
    folder.write("wrong.json", kernel.to_string());
    let wrong = run(&folder, &format!("check wrong.json --lib {library}"));
    ends(&wrong, 1);
    assert!(wrong.stderr.contains("L0391"), "{}", wrong.stderr);
    // What a library lacks is said with the way to mend it.
    let missing = libraries.join("missing_dependency.bin").display().to_string();
    for more in [String::new(), format!("--lib {library}")] {
        let outcome = run(&folder, &format!("check {missing} {more}"));
        ends(&outcome, 1);
        let said = outcome.stderr.contains("L0055") && outcome.stderr.contains("--lib");
        assert!(said, "{}", outcome.stderr);
    }
}

#[test]
fn a_pipe_that_is_closed_is_no_error() {
    let folder = with_saxpy();
    let mut child = command(folder.path())
        .args(["check", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let mut pipe = child.stdin.take().expect("a pipe");
    pipe.write_all(&folder.read("saxpy.json")).expect("the pipe takes it");
    drop(pipe);
    assert_eq!(child.wait().expect("the program ends").code(), Some(0));
}
