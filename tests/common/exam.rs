//! All cases with exact results, run in one's own way.

use super::case::{Case, Wrong};
use super::{all_right, corpus, files, fixture, in_parallel};

/// What became of a case.
pub enum Ran {
    Yes,
    /// The target does not hold what the kernel uses, or the device does not.
    Not(String),
}

/// Runs the cases of the corpus and our own, but those that are to be refused; `LUISAC_CASE` names one alone. `label` says where they
/// run. Nine of ten must run, and all that do must be right.
#[track_caller]
pub fn exam(label: &str, run: impl Fn(&Case) -> Result<Ran, Wrong> + Sync) {
    let only = std::env::var("LUISAC_CASE").ok();
    let (mut wrong, mut ran, mut total) = (Vec::new(), 0, 0);
    for folder in ["bugs", "own", "fixtures"] {
        let path = if folder == "fixtures" { Some(fixture("")) } else { corpus(folder) };
        let Some(path) = path else { continue };
        let cases = files(&path, ".expect.json").into_iter().map(|p| Case::read(&p));
        let cases: Vec<Case> = cases
            .filter(|case| !case.is_error() && case.is_plain())
            .filter(|case| only.as_ref().is_none_or(|name| *name == case.name))
            .collect();
        total += cases.len();
        for (case, result) in cases.iter().zip(in_parallel(&cases, &run)) {
            match result {
                Ok(Ran::Yes) => ran += 1,
                Ok(Ran::Not(why)) => println!("not run: {folder}/{}: {why}", case.name),
                Err(e) => wrong.push(format!("{folder}/{} {label}: {e}", case.name)),
            }
        }
    }
    println!("{label}: {ran} of {total} ran");
    all_right(wrong);
    assert!(only.is_some() || ran * 10 >= total * 9, "{label}: only {ran} of {total} ran");
}
