//! Folders with a manifest and kernels, and bakes of them.

use super::{Folder, Outcome, command, finish, fixture};
use serde_json::Value;
use std::path::Path;

/// Kernels that every target holds.
pub const KERNELS: [&str; 4] = ["saxpy", "block_sums", "for_steps", "switch_cases"];

/// A folder with the fixtures in `k/` and a manifest for `ptx:sm_80` and `cpu:x86-64-v3`.
pub fn project(names: &[&str]) -> Folder {
    let folder = Folder::new();
    for name in names {
        let file = format!("{name}.json");
        folder.write(&format!("k/{file}"), std::fs::read(fixture(&file)).expect("the fixture"));
    }
    manifest(&folder, "");
    folder
}

/// Writes the manifest, with more at its end.
pub fn manifest(folder: &Folder, more: &str) {
    let text = "[bake]\nkernels = [\"k/*.json\"]\ntargets = [\"ptx:sm_80\", \"cpu:x86-64-v3\"]\noutput = \"out.luisa\"\n";
    folder.write("luisac.toml", format!("{text}{more}"));
}

/// What a bake said as JSON lines.
pub struct Baked {
    pub outcome: Outcome,
    pub events: Vec<Value>,
}

impl Baked {
    /// `compiled`, `cached`, `kept`, `failed` of the summary.
    #[track_caller]
    pub fn counts(&self) -> [u64; 4] {
        let is_summary = |event: &&Value| event["event"] == "summary";
        let summary = self.events.iter().find(is_summary);
        let summary = summary.unwrap_or_else(|| panic!("no summary: {}", self.outcome.stderr));
        ["compiled", "cached", "kept", "failed"].map(|key| summary[key].as_u64().expect("a count"))
    }
}

/// Bakes with these words, a cache in the folder unless the words name another, and messages as JSON.
pub fn bake(folder: &Folder, line: &str) -> Baked {
    bake_in(folder.path(), line)
}

/// The same in any folder.
pub fn bake_in(folder: &Path, line: &str) -> Baked {
    let mut command = command(folder);
    command.args(["bake", "--message-format", "json"]).args(line.split_whitespace());
    command.env("LUISAC_CACHE", folder.join("cache"));
    let outcome = finish(&mut command);
    let events = outcome.stderr.lines().filter_map(|l| serde_json::from_str(l).ok()).collect();
    Baked { outcome, events }
}
