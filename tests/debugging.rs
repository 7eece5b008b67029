//! The commands that find and tell a mistake of the compiler: `reduce`, `--repro`, `report`.

mod common;

use common::{Folder, fixture, luisac};

/// A kernel in which one line matters.
const KERNEL: &str = "module;

kernel @k block(1, 1, 1) (%0: resource buffer<u32>, %1: value u32) {
b0:
  %2: u32 = arithmetic binary_add %1, u32 7
  %3: u32 = arithmetic binary_mul %2, %2
  %4: bool = arithmetic binary_less %3, u32 100
  if %4, then b1, else b2, merge b3
b1:
  resource_write buffer_write %0, u32 0, %3
  br b3
b2:
  resource_write buffer_write %0, u32 1, %2
  br b3
b3:
  resource_write buffer_write %0, u32 2, %3
  return
}
";

#[test]
fn reduce_keeps_what_the_command_fails_on() {
    let folder = Folder::new();
    folder.write("k.xir", KERNEL);
    let keep = "! grep -q binary_mul";
    let flags = ["reduce", "k.xir", "--keep", keep, "--passes", "dce,sroa", "-o", "small.xir"];
    luisac(folder.path(), flags).ok();
    let text = String::from_utf8(folder.read("small.xir")).unwrap();
    assert!(text.contains("binary_mul") && !text.contains("binary_less"), "{text}");
    assert!(text.lines().count() < 10, "{text}");
    luisac(folder.path(), ["opt", "small.xir", "-o", "again.xir"]).ok();

    let outcome = luisac(folder.path(), ["reduce", "k.xir", "--keep", "true"]);
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.contains("L1240"), "{}", outcome.stderr);
    // The passes are right, so nothing differs.
    assert_eq!(luisac(folder.path(), ["reduce", "k.xir"]).code, Some(1));
}

#[test]
fn a_repro_repeats_the_passes() {
    let folder = Folder::new();
    folder.write("k.xir", KERNEL);
    let passes = "fix(const_fold,dce;max=4)";
    let flags = ["opt", "k.xir", "--passes", passes, "--repro", "repro.xir", "-o", "a.xir"];
    luisac(folder.path(), flags).ok();
    let text = String::from_utf8(folder.read("repro.xir")).unwrap();
    let line = text.lines().find(|l| l.starts_with("// repeat: ")).unwrap();
    assert!(line.ends_with("--passes 'fix(const_fold,dce;max=4)'"), "{line}");
    luisac(folder.path(), ["opt", "repro.xir", "--passes", passes, "-o", "b.xir"]).ok();
    assert_eq!(folder.read("a.xir"), folder.read("b.xir"));
}

#[test]
fn reports_are_shown_and_compared() {
    let folder = Folder::new();
    folder.write("saxpy.json", std::fs::read(fixture("saxpy.json")).unwrap());
    for (passes, report) in [("dce,sroa", "a.json"), ("sroa,mem2reg", "b.json")] {
        let flags = ["opt", "saxpy.json", "--passes", passes, "--report", report, "-o", "x.xir"];
        luisac(folder.path(), flags).ok();
    }
    let shown = luisac(folder.path(), ["report", "show", "a.json"]).ok();
    assert!(shown.text().contains("sroa") && shown.text().contains("total"), "{}", shown.text());
    let diff = luisac(folder.path(), ["report", "diff", "a.json", "b.json"]).ok();
    assert!(diff.text().contains("mem2reg"), "{}", diff.text());
    let json = luisac(folder.path(), ["report", "diff", "a.json", "b.json", "--json"]).ok();
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["runs"][2]["name"], "mem2reg");
    let outcome = luisac(folder.path(), ["report", "show", "saxpy.json"]);
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.contains("L1242"), "{}", outcome.stderr);
}

/// What the input calls may lie in another one, and what is left may be written as an AST.
#[test]
fn reduce_links_libraries() {
    let folder = Folder::new();
    let float = |name: &str| serde_json::json!({"tag": "REF", "type": 0, "variable": name.parse::<u32>().unwrap()});
    let buffer = serde_json::json!({"tag": "REF", "type": 1, "variable": 0});
    let zero = serde_json::json!({"tag": "LITERAL", "type": 2, "value": "AAAAAA=="});
    let call = serde_json::json!({"tag": "CALL", "type": 0, "op": "EXTERNAL", "external": 0, "arguments": [float("1")]});
    let write = serde_json::json!({"tag": "EXPR", "expression": {
        "tag": "CALL", "type": 3, "op": "BUFFER_WRITE", "arguments": [buffer, zero, call],
    }});
    let main = serde_json::json!({
        "functions": [{
            "tag": "KERNEL", "curve_bases": [], "bound_arguments": [], "block_size": [1, 1, 1], "constants": [],
            "variables": [{"tag": "BUFFER", "type": 1}, {"tag": "ARGUMENT", "type": 0}], "arguments": [0, 1],
            "body": {"tag": "SCOPE", "statements": [write]},
        }],
        "types": [{"tag": "FLOAT32"}, {"tag": "BUFFER", "element": 0}, {"tag": "UINT32"}, null],
        "external_functions": [{"name": "twice", "return_type": 0, "argument_types": [0], "argument_usages": ["READ"]}],
        "entry": 0,
    });
    folder.write("main.json", main.to_string());
    let twice = "callable @twice(%0: value f32) -> f32 {\nb0:\n  %1: f32 = arithmetic binary_add %0, %0\n  return %1\n}\n";
    folder.write("twice.xir", format!("module;\n{twice}"));
    luisac(folder.path(), ["opt", "twice.xir", "-o", "twice.json"]).ok();
    let keep = ["--keep", "! grep -q binary_add", "--passes", "dce"];
    let flags = ["reduce", "main.json", "--lib", "twice.json", "-o", "small.xir"];
    luisac(folder.path(), [&flags[..], &keep].concat()).ok();
    assert!(String::from_utf8(folder.read("small.xir")).unwrap().contains("binary_add"));
    let flags = ["reduce", "main.json", "--lib", "twice.json", "-o", "small.json"];
    luisac(folder.path(), [&flags[..], &keep].concat()).ok();
    let value: serde_json::Value = serde_json::from_slice(&folder.read("small.json")).unwrap();
    assert!(value["functions"].is_array(), "{value}");
}
