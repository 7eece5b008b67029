//! `luisac verify`: kernels on every device here against their recorded cases or the interpreter.

mod common;

use common::{Folder, Outcome, fixture, luisac};
use serde_json::Value;

fn verify(folder: &Folder, words: &[&str]) -> Outcome {
    luisac(folder.path(), [&["verify"], words].concat())
}

/// Copies a fixture, and its case if wanted.
fn copied(name: &str, with_case: bool) -> Folder {
    let folder = Folder::new();
    let copy = |file: String| {
        let text = std::fs::read_to_string(fixture(&file)).expect("a fixture");
        folder.write(&file, text);
    };
    copy(format!("{name}.json"));
    if with_case {
        copy(format!("{name}.expect.json"));
    }
    folder
}

fn results(outcome: &Outcome) -> Vec<Value> {
    let all: Value = serde_json::from_slice(&outcome.stdout).expect("JSON");
    all["results"].as_array().expect("a list").clone()
}

#[track_caller]
fn outcome_of<'a>(results: &'a [Value], device: &str) -> &'a str {
    let found = results.iter().find(|r| r["device"] == device);
    found
        .and_then(|r| r["outcome"].as_str())
        .unwrap_or_else(|| panic!("no {device} in {results:?}"))
}

#[test]
fn recorded_cases_are_kept() {
    for name in ["atomic_counters", "atomic_members", "builtin_variables", "arrays_of_structures"] {
        let folder = copied(name, true);
        let file = format!("{name}.json");
        let outcome = verify(&folder, &[&file, "--json"]).ok();
        let results = results(&outcome);
        assert_eq!(outcome_of(&results, "interp"), "same", "{name}");
        if cfg!(feature = "llvm") {
            assert_eq!(outcome_of(&results, "cpu"), "same", "{name}");
        }
        assert!(results.iter().all(|r| r["outcome"] != "differs"), "{results:?}");
    }
}

/// Bindless arrays and images with levels come out of recorded cases too, and what slots hold is compared.
#[test]
fn cases_with_slots_and_levels_are_kept() {
    for name in ["bindless_gather", "bindless_tables", "bindless_levels", "image_samplers"] {
        let folder = copied(name, true);
        let file = format!("{name}.json");
        let outcome = verify(
            &folder,
            &[&file, "--json", "--targets", if cfg!(feature = "llvm") { "cpu" } else { "spirv" }],
        );
        if outcome.code == Some(3) {
            return println!("skipped: no device");
        }
        let outcome = outcome.ok();
        let all: Value = serde_json::from_slice(&outcome.stdout).expect("JSON");
        assert_eq!(all["reference"], "recorded", "{name}");
        assert!(results(&outcome).iter().all(|r| r["outcome"] == "same"), "{name}: {all}");
    }
    let folder = copied("bindless_gather", true);
    let text = String::from_utf8(folder.read("bindless_gather.expect.json")).expect("text");
    let mut case: Value = serde_json::from_str(&text).expect("JSON");
    case["expect"]["0.5"]["data"][0] = "0x12345678".into();
    folder.write("bindless_gather.expect.json", case.to_string());
    let outcome = verify(&folder, &["bindless_gather.json"]);
    assert_eq!(outcome.code, Some(4), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("argument 0: 1 of"), "{}", outcome.stderr);
}

#[test]
fn arguments_are_made_where_none_are_recorded() {
    for name in ["saxpy", "block_sums", "bit_casts"] {
        let folder = copied(name, false);
        let file = format!("{name}.json");
        let outcome = verify(&folder, &[&file, "--json", "--math", "precise"]).ok();
        let all: Value = serde_json::from_slice(&outcome.stdout).expect("JSON");
        assert_eq!(all["reference"], "interp");
        if cfg!(feature = "llvm") {
            assert_eq!(outcome_of(&results(&outcome), "cpu"), "same", "{name}");
        }
    }
}

#[test]
fn a_difference_is_found_and_told() {
    let folder = copied("atomic_counters", true);
    let text = String::from_utf8(folder.read("atomic_counters.expect.json")).expect("text");
    let mut case: Value = serde_json::from_str(&text).expect("JSON");
    let entry = case["expect"].as_object_mut().expect("results").values_mut().next().expect("one");
    entry["data"][1] = "0x12345678".into();
    folder.write("atomic_counters.expect.json", case.to_string());
    let outcome = verify(&folder, &["atomic_counters.json"]);
    assert_eq!(outcome.code, Some(4), "{}", outcome.stderr);
    assert!(outcome.codes().contains(&"L1261"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("expected 0x12345678"), "{}", outcome.stderr);
    assert!(outcome.text().contains("differs"), "{}", outcome.text());
    let told = verify(&folder, &["atomic_counters.json", "--json", "--message-format", "json"]);
    assert_eq!((told.code, outcome_of(&results(&told), "interp")), (Some(4), "differs"));
    assert!(
        told.stderr.lines().all(|l| serde_json::from_str::<Value>(l).is_ok()),
        "{}",
        told.stderr
    );
}

#[test]
fn cases_that_do_not_fit_are_refused() {
    for (text, words) in [
        ("{", "cannot be read"),
        ("{\"dispatch\": [1], \"args\": [], \"expect\": {}}", "0 arguments"),
        ("{\"flags\": [\"--maths\"]}", "--maths"),
    ] {
        let folder = copied("saxpy", false);
        folder.write("saxpy.expect.json", text);
        let outcome = verify(&folder, &["saxpy.json"]);
        assert_eq!(outcome.code, Some(1), "{text}: {}", outcome.stderr);
        assert!(outcome.codes().contains(&"L1260"), "{text}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(words), "{text}: {}", outcome.stderr);
    }
}

#[test]
fn targets_are_chosen() {
    let folder = copied("atomic_counters", true);
    let outcome = verify(&folder, &["atomic_counters.json", "--targets", "vax"]);
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    if cfg!(feature = "llvm") {
        let outcome = verify(&folder, &["atomic_counters.json", "--targets", "cpu", "--json"]).ok();
        let devices: Vec<Value> = results(&outcome).iter().map(|r| r["device"].clone()).collect();
        assert_eq!(devices, ["interp", "cpu"]);
    }
}
