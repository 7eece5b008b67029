//! Optimised kernels written back as LuisaCompute's JSON, through the command line.

mod common;

use common::{Folder, Outcome, fixture, luisac};

fn run(folder: &Folder, line: &str) -> Outcome {
    luisac(folder.path(), line.split_whitespace())
}

#[track_caller]
fn succeeds(folder: &Folder, line: &str) -> Outcome {
    let outcome = run(folder, line);
    assert_eq!(outcome.code, Some(0), "{line}: {}", outcome.stderr);
    outcome
}

#[test]
fn opt_writes_an_ast_that_means_the_same() {
    let folder = Folder::new();
    folder.write("saxpy.json", std::fs::read(fixture("saxpy.json")).expect("the fixture"));
    let result = |file: &str| {
        let line = format!(
            "run {file} --device interp --dispatch 200 --arg 0=iota:200 --arg 1=random:200:7 --arg 2=1.5 --out 1=- -q"
        );
        succeeds(&folder, &line).stdout
    };
    let expected = result("saxpy.json");
    assert!(!expected.is_empty());
    for passes in ["dce", "@O2-structured", "destructure_cfg,simplify_cfg,mem2reg,gvn,dce"] {
        succeeds(&folder, &format!("opt saxpy.json --passes {passes} -o again.json"));
        succeeds(&folder, "check again.json");
        assert!(result("again.json") == expected, "{passes}");
    }
    // Told apart by the name of the output alone.
    let text = succeeds(&folder, "opt again.json");
    assert!(text.text().starts_with("module;"));
}

#[test]
fn what_has_no_form_in_an_ast_is_refused_with_a_code() {
    let folder = Folder::new();
    let callable = "module;\n\ncallable @f() -> u32 {\nb0:\n  %0: u32 = arithmetic extract block_size, u32 0\n  return %0\n}\n";
    folder.write("f.xir", callable);
    let outcome = run(&folder, "opt f.xir -o f.json");
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("L0570"), "{}", outcome.stderr);
    assert!(!folder.path().join("f.json").exists());
}
