//! What a manifest says of how kernels are compiled: all options of `compile`, for all kernels or for some, and levels of lints.
#![cfg(feature = "llvm")]

mod common;

use common::bake::{KERNELS, bake, manifest, project};
use common::schema::{misfits, schema};
use common::{Folder, luisac};
use luisac_artifact::{Archive, Metadata};

fn archive(folder: &Folder) -> Archive {
    Archive::open(folder.path().join("out.luisa")).expect("an archive")
}

fn metadata(folder: &Folder, kernel: &str, target: &str) -> Metadata {
    let archive = archive(folder);
    let variant = archive.kernel(kernel).find(|v| v.target() == target).expect("the variant");
    variant.metadata().expect("it is whole")
}

/// Each option does what its flag does: the archive is the same, keys included.
#[test]
fn every_option_is_that_of_the_command_line() {
    let pairs = [
        ("opt-level = 0", "-O0"),
        ("opt-level = 3", "-O3"),
        ("passes = \"mem2reg,dce\"", "--passes mem2reg,dce"),
        ("math = \"precise\"", "--math precise"),
        ("bounds = \"clamp\"", "--bounds clamp"),
        ("bounds = \"trap\"", "--bounds trap"),
        ("block = [32, 2, 1]", "--block 32,2,1"),
        ("define = { 2 = 3.5 }", "--define 2=3.5"),
        ("fuel = 20", "--fuel 20"),
        ("verify-each = true", "--verify-each"),
        ("debug = true", "-g"),
    ];
    let folder = project(&["saxpy"]);
    let mut seen = Vec::new();
    for (option, flags) in pairs {
        manifest(&folder, &format!("options = {{ {option} }}\n"));
        assert_eq!(bake(&folder, "--cache off").counts(), [2, 0, 0, 0], "{option}");
        let line =
            format!("compile k --target ptx:sm_80,cpu:x86-64-v3 {flags} -o other/compiled.luisa");
        std::fs::create_dir_all(folder.path().join("other")).expect("a folder");
        luisac(folder.path(), line.split_whitespace()).ok();
        assert!(folder.read("out.luisa") == folder.read("other/compiled.luisa"), "{option}");
        seen.push(folder.read("out.luisa"));
        let _ = std::fs::remove_file(folder.path().join("out.luisa"));
    }
    // The pseudo-code that lines refer to lies beside both.
    assert_eq!(folder.read("saxpy.ast"), folder.read("other/saxpy.ast"));
    // All but `verify-each` change what is made.
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), pairs.len());
}

/// Line information and the text that it refers to stay together.
#[test]
fn pseudo_code_is_there_whenever_lines_refer_to_it() {
    let folder = project(&KERNELS[..2]);
    manifest(&folder, "[[override]]\nkernels = \"k/saxpy.json\"\noptions = { debug = true }\n");
    assert_eq!(bake(&folder, "").counts(), [4, 0, 0, 0]);
    assert_eq!(folder.names(), ["cache", "k", "luisac.toml", "out.luisa", "saxpy.ast"]);
    let text = folder.read("saxpy.ast");
    let code = |kernel| {
        let archive = archive(&folder);
        let variant = archive.kernel(kernel).find(|v| v.target() == "ptx:sm_80").expect("PTX");
        String::from_utf8(variant.code().expect("whole").to_vec()).expect("text")
    };
    assert!(code("saxpy").contains("saxpy.ast") && !code("block_sums").contains(".loc"));
    // Without it, a bake is out of date, and makes it again.
    let path = folder.path().join("saxpy.ast");
    std::fs::remove_file(&path).expect("it is there");
    let check = bake(&folder, "--check").outcome;
    assert_eq!(check.code, Some(4), "{}", check.stderr);
    assert_eq!(bake(&folder, "").counts(), [0, 0, 4, 0]);
    assert_eq!(folder.read("saxpy.ast"), text);
    // From the cache alone, too.
    std::fs::remove_file(&path).expect("it is there");
    std::fs::remove_file(folder.path().join("out.luisa")).expect("it is there");
    assert_eq!(bake(&folder, "").counts(), [0, 4, 0, 0]);
    assert_eq!(folder.read("saxpy.ast"), text);
    // Two inputs that would share one are refused before anything is made.
    folder.write("k/deeper/saxpy.json", [&folder.read("k/saxpy.json")[..], b"\n"].concat());
    let whole = String::from_utf8(folder.read("luisac.toml")).expect("text");
    folder.write(
        "luisac.toml",
        whole
            .replace("\"k/*.json\"", "\"k/**/*.json\"")
            .replace("\"k/saxpy.json\"", "\"k/**/saxpy.json\""),
    );
    let outcome = bake(&folder, "").outcome;
    assert_eq!((outcome.code, outcome.codes()), (Some(1), vec!["L1211"]), "{}", outcome.stderr);
}

/// Overrides change what they say for the kernels that they name; later ones win, and permutations come on top.
#[test]
fn some_kernels_are_compiled_otherwise() {
    let folder = project(&KERNELS);
    manifest(
        &folder,
        "options = { math = \"precise\", opt-level = 1 }\n\
         [[override]]\nkernels = \"k/s*.json\"\noptions = { bounds = \"clamp\" }\n\
         [[override]]\nkernels = \"k/saxpy.json\"\noptions = { bounds = \"trap\", define = { 2 = 2.0 } }\ntargets = [\"ptx:sm_90\"]\n",
    );
    assert_eq!(bake(&folder, "").counts(), [7, 0, 0, 0]);
    let labels: Vec<String> = archive(&folder).variants().map(|v| v.label()).collect();
    assert!(labels.contains(&"saxpy[2=2.0] for ptx:sm_90".to_owned()), "{labels:?}");
    assert!(!labels.iter().any(|l| l.starts_with("saxpy") && !l.ends_with("sm_90")), "{labels:?}");
    let bounds = |kernel, target| format!("{:?}", metadata(&folder, kernel, target).bounds);
    assert_eq!(bounds("saxpy", "ptx:sm_90"), "Trap");
    assert_eq!(bounds("switch_cases", "ptx:sm_80"), "Clamp");
    assert_eq!(bounds("block_sums", "ptx:sm_80"), "Off");
    let math = |kernel, target| format!("{:?}", metadata(&folder, kernel, target).math);
    assert_eq!(
        (math("saxpy", "ptx:sm_90"), math("for_steps", "ptx:sm_80")),
        ("Precise".into(), "Precise".into())
    );
    // What is compiled otherwise is what the options alone would give.
    let line = "compile k/block_sums.json --target ptx:sm_80 -O1 --math precise -o other.luisa";
    luisac(folder.path(), line.split_whitespace()).ok();
    let other = Archive::open(folder.path().join("other.luisa")).expect("an archive");
    let key = |archive: &Archive| {
        *archive.kernel("block_sums").find(|v| v.target() == "ptx:sm_80").expect("it").key()
    };
    assert_eq!(key(&other), key(&archive(&folder)));
}

#[test]
fn wrong_options_are_shown_where_they_stand() {
    let folder = project(&["saxpy"]);
    let cases = [
        ("options = { optimise = 3 }", "5:13", "unknown field `optimise`"),
        ("options = { opt-level = 9 }", "5:25", "no level 9"),
        ("options = { math = \"exact\" }", "5:20", "unknown variant `exact`"),
        ("options = { bounds = true }", "5:22", ""),
        ("options = { block = [0, 1, 1] }", "5:21", "out of range"),
        ("options = { block = [1, 1] }", "5:21", ""),
        ("options = { debug = 1 }", "5:21", ""),
        ("options = { fuel = -1 }", "5:20", ""),
        ("options = { define = { 2 = [1] } }", "5:28", ""),
        ("options = { passes = \"nothing\" }", "3:12", "nothing"),
        ("lints = { misspelt = \"deny\" }", "5:11", "no lint or group `misspelt`"),
        ("lints = { warnings = \"forbid\" }", "5:22", "unknown variant `forbid`"),
        ("lint = { warnings = \"deny\" }", "5:1", "unknown field `lint`"),
        ("[[override]]\nkernels = \"x/*.json\"", "6:11", "no kernel that is baked"),
        ("[[override]]\nkernels = \"k/*.json\"\ntargets = []", "6:11", "at least one target"),
        ("[[override]]\nkernels = \"k/*.json\"\ntargets = [\"gpu\"]", "7:12", "gpu"),
        (
            "[[override]]\nkernels = \"k/*.json\"\noptions = { passes = \"nothing\" }",
            "6:11",
            "nothing",
        ),
        ("[[override]]\nkernels = \"k/*.json\"\nlints = {}", "7:1", "unknown field `lints`"),
        ("[[override]]\noptions = {}", "5:1", "missing field `kernels`"),
        ("[cache]\nfolder = \"x\"", "5:2", "unknown field `cache`"),
    ];
    for (more, place, words) in cases {
        manifest(&folder, more);
        let outcome = luisac(folder.path(), ["bake", "--cache", "off"]);
        assert!(matches!(outcome.code, Some(1 | 2)), "{more}: {}", outcome.stderr);
        let place = format!("luisac.toml:{place}]");
        assert!(outcome.stderr.contains(&place), "{more}: not at {place}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(words), "{more}: {}", outcome.stderr);
        assert!(!folder.names().contains(&"out.luisa".to_owned()), "{more}");
    }
}

/// A kernel that is right, with an argument that is not used.
const WITH_WARNING: &str = r#"{
    "types": [{"tag": "UINT32"}, null, {"tag": "BUFFER", "element": 0}],
    "functions": [{
        "tag": "KERNEL", "arguments": [0, 1], "curve_bases": [], "constants": [],
        "variables": [{"tag": "BUFFER", "type": 2}, {"tag": "ARGUMENT", "type": 0}],
        "block_size": [32, 1, 1], "bound_arguments": [],
        "body": {"tag": "SCOPE", "statements": [{"tag": "EXPR", "expression": {
            "tag": "CALL", "type": 1, "op": "BUFFER_WRITE", "arguments": [
                {"tag": "REF", "type": 2, "variable": 0},
                {"tag": "LITERAL", "type": 0, "value": "AQAAAA=="},
                {"tag": "LITERAL", "type": 0, "value": "AQAAAA=="}
            ]
        }}]}
    }],
    "entry": 0
}"#;

/// Levels come from the manifest and from flags, which win; what was baked while a warning passed is no proof that there is none.
#[test]
fn lints_have_levels() {
    let folder = project(&["saxpy"]);
    folder.write("k/warned.json", WITH_WARNING);
    let warnings = |line: &str| {
        let baked = bake(&folder, line);
        let lints = baked.events.iter().filter(|e| e["lint"] == "unused-argument").count();
        (baked.outcome.code, lints, baked.counts())
    };
    assert_eq!(warnings(""), (Some(0), 1, [4, 0, 0, 0]));
    assert_eq!(warnings("-D unused-argument"), (Some(1), 1, [2, 0, 0, 2]));
    assert_eq!(warnings("-D warnings -A unused-argument"), (Some(0), 0, [4, 0, 0, 0]));
    manifest(&folder, "lints = { unused-argument = \"allow\", warnings = \"deny\" }\n");
    let _ = std::fs::remove_file(folder.path().join("out.luisa"));
    assert_eq!(warnings("--cache off"), (Some(0), 0, [4, 0, 0, 0]));
    // The order of words in a table says nothing; that of flags does.
    let forget = || std::fs::remove_file(folder.path().join("out.luisa")).expect("it is there");
    forget();
    assert_eq!(warnings("--cache off -W unused-argument"), (Some(0), 1, [4, 0, 0, 0]));
    forget();
    assert_eq!(warnings("--cache off -D unused"), (Some(1), 1, [2, 0, 0, 2]));
    assert_eq!(bake(&folder, "-D nothing").outcome.code, Some(2));
}

/// The schema of the manifest has the keys that are read, and the example of the page fits it.
#[test]
fn the_schema_is_that_of_what_is_read() {
    let schema = schema("manifest.schema.json");
    let page = include_str!("../docs/bake.md");
    let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
    let example: serde_json::Value = toml::from_str(example.expect("an example")).expect("TOML");
    assert_eq!(misfits(&schema, &example), [""; 0]);
    let folder = project(&["saxpy"]);
    // What is said of a key that there is not names all that there are.
    let known = |more: &str| -> Vec<String> {
        manifest(&folder, more);
        let said = luisac(folder.path(), ["bake", "--message-format", "json"]).stderr;
        let line: serde_json::Value =
            serde_json::from_str(said.lines().next().unwrap_or_default()).expect("JSON");
        let message = line["message"].as_str().expect("a message").to_owned();
        let names = message.split_once("expected ").expect("names").1.split('`');
        let mut names: Vec<String> = names.skip(1).step_by(2).map(str::to_owned).collect();
        names.sort();
        names
    };
    let tables = [
        ("/$defs/bake", "nothing = 1\n"),
        ("/$defs/options", "options = { nothing = 1 }\n"),
        ("/$defs/permute", "[[permute]]\nnothing = 1\n"),
        ("/$defs/override", "[[override]]\nnothing = 1\n"),
        ("", "[nothing]\n"),
    ];
    for (place, more) in tables {
        let table = schema.pointer(place).expect("the table");
        let mut names: Vec<String> =
            table["properties"].as_object().expect("keys").keys().cloned().collect();
        names.sort();
        assert_eq!(known(more), names, "{place}");
    }
}
