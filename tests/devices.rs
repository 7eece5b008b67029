//! Devices that are not here, and what devices do not take.

mod common;

use common::{Folder, Outcome, command, finish, fixture, luisac};

/// Runs saxpy with these words, on a machine where the Vulkan loader finds no driver.
fn without_drivers(words: &[&str]) -> Outcome {
    let folder = Folder::new();
    let mut command = command(folder.path());
    command
        .env("VK_DRIVER_FILES", "/nonexistent/driver.json")
        .env("VK_ICD_FILENAMES", "/nonexistent/driver.json")
        .args(words);
    finish(&mut command)
}

#[test]
fn a_machine_without_vulkan_is_told() {
    let saxpy = fixture("saxpy.json").display().to_string();
    let outcome = without_drivers(&["run", &saxpy, "--dispatch", "4", "--device", "vulkan"]);
    assert_eq!(outcome.code, Some(3), "{}", outcome.stderr);
    assert!(outcome.codes().contains(&"L1213"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("ulkan"), "{}", outcome.stderr);
}

#[test]
fn devices_take_their_own_targets_only() {
    let folder = Folder::new();
    let saxpy = fixture("saxpy.json").display().to_string();
    for words in
        [["--device", "cpu", "--target", "spirv"], ["--device", "interp", "--target", "cpu"]]
    {
        let line = [&["run", &saxpy, "--dispatch", "4"], &words[..]].concat();
        let outcome = luisac(folder.path(), line);
        assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
        assert!(outcome.codes().contains(&"L1216"), "{}", outcome.stderr);
    }
}

/// What `luisac devices --json` says of a device: its entry among those here, or among the missing.
fn entry(outcome: &Outcome, list: &str, name: &str) -> serde_json::Value {
    let all: serde_json::Value = serde_json::from_slice(&outcome.stdout).expect("JSON");
    let found = all[list].as_array().into_iter().flatten().find(|d| d["name"] == name);
    found.cloned().unwrap_or_default()
}

#[test]
fn devices_are_listed_with_why_some_are_not_here() {
    let outcome = without_drivers(&["devices", "--json"]).ok();
    assert!(entry(&outcome, "devices", "cpu")["threads"].as_u64() >= Some(1));
    assert_eq!(entry(&outcome, "devices", "interp")["name"], "interp");
    let vulkan = entry(&outcome, "missing", "vulkan");
    assert!(vulkan["why"].as_str().is_some_and(|w| w.contains("ulkan")), "{vulkan}");
    assert!(vulkan["help"].as_str().is_some_and(|h| !h.is_empty()), "{vulkan}");
    let table = without_drivers(&["devices"]).ok();
    assert!(table.text().contains("vulkan  not here: "), "{}", table.text());
}
