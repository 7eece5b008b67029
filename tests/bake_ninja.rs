//! `luisac bake --emit ninja`: the build file makes what a bake makes, and only what changed.
#![cfg(feature = "llvm")]

mod common;

use common::bake::{KERNELS, bake, manifest, project};
use common::{Folder, Outcome, finish};
use std::process::Command;

/// In a folder whose name has to be quoted.
const OUT: &str = "it's made/out.luisa";

/// Runs Ninja on the folder; nothing, said in one line, where it is not.
fn ninja(folder: &Folder) -> Option<Outcome> {
    let mut command = Command::new("ninja");
    command.args(["-j", "2", "-v"]).current_dir(folder.path());
    if Command::new("ninja").arg("--version").output().is_err() {
        println!("skipped: no ninja; `cargo xtask setup` installs it");
        return None;
    }
    Some(finish(&mut command))
}

/// Steps of a run that compiled something.
fn compiled(outcome: &Outcome) -> usize {
    outcome.text().lines().filter(|line| line.contains(" compile ")).count()
}

/// Every option has its flag, so that the archives are the same bytes.
#[test]
fn ninja_makes_what_a_bake_makes_and_only_what_changed() {
    // A name that the shell and Ninja could trip over.
    let folder = project(&KERNELS);
    folder.write("k/a $b c.json", std::fs::read(common::fixture("early_return.json")).expect("it"));
    let more = "options = { opt-level = 1, bounds = \"clamp\", debug = true, verify-each = true }\n\
                lints = { warnings = \"deny\", unused = \"allow\" }\n\
                [[override]]\nkernels = \"k/block_sums.json\"\n\
                options = { math = \"precise\", block = [128, 1, 1], fuel = 50, passes = \"mem2reg,dce\" }\n\
                [[permute]]\nkernels = \"k/saxpy.json\"\ndefine = { 2 = [\"1.0\", \"2.0\"] }\n";
    manifest(&folder, more);
    let text = String::from_utf8(folder.read("luisac.toml")).expect("text");
    folder.write("luisac.toml", text.replace("out.luisa", OUT));
    bake(&folder, "--cache off").outcome.ok();
    let wanted = folder.read(OUT);
    std::fs::remove_file(folder.path().join(OUT)).expect("it is there");
    bake(&folder, "--emit ninja").outcome.ok();
    let Some(first) = ninja(&folder) else { return };
    let first = first.ok();
    assert_eq!(compiled(&first), 12, "{}", first.text());
    assert!(folder.read(OUT) == wanted, "{}", first.text());
    // Nothing changed: nothing is done.
    let again = ninja(&folder).expect("it was there").ok();
    assert!(again.text().contains("no work to do"), "{}", again.text());
    // One input changed: its two targets are made again, and the archive; the build file still holds.
    std::thread::sleep(std::time::Duration::from_millis(20));
    let text = folder.read("k/for_steps.json");
    folder.write("k/for_steps.json", [&text[..], b"\n"].concat());
    let touched = ninja(&folder).expect("it was there").ok();
    assert_eq!(compiled(&touched), 2, "{}", touched.text());
    let made = folder.read(OUT);
    bake(&folder, "--cache off").outcome.ok();
    assert!(folder.read(OUT) == made);
    // A kernel that does not compile fails the build, with the reason.
    folder.write("k/for_steps.json", "{\"types\": [], \"functions\": 3}");
    let failed = ninja(&folder).expect("it was there");
    assert_eq!(failed.code, Some(1));
    assert!(failed.text().contains("L0"), "{}", failed.text());
    assert!(folder.read(OUT) == made, "the archive is the old one");
}
