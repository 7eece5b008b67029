//! All cases with exact results, run in one's own way.

use super::case::{Case, Wrong};
use super::{Folder, all_right, corpus, files, fixture, graphs, in_parallel};

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
    let mut sum = Sum::default();
    for folder in ["bugs", "own", "fixtures"] {
        let path = if folder == "fixtures" { Some(fixture("")) } else { corpus(folder) };
        let Some(path) = path else { continue };
        let cases = files(&path, ".expect.json").into_iter().map(|p| Case::read(&p));
        let cases: Vec<Case> = cases
            .filter(|case| !case.is_error())
            .filter(|case| only.as_ref().is_none_or(|name| *name == case.name))
            .collect();
        sum.add(folder, &cases, &run);
    }
    let Sum { ran, total, wrong } = sum;
    println!("{label}: {ran} of {total} ran");
    all_right(wrong);
    assert!(only.is_some() || ran * 10 >= total * 9, "{label}: only {ran} of {total} ran");
}

/// Control flow that no shader language has statements for ([`graphs`]): all of it must run and be right.
#[track_caller]
pub fn irreducible(label: &str, run: impl Fn(&Case) -> Result<Ran, Wrong> + Sync) {
    let folder = Folder::new();
    let mut sum = Sum::default();
    sum.add(label, &graphs::cases(&folder, 12), &run);
    assert_eq!(sum.ran + sum.wrong.len(), sum.total, "{label}: not all ran");
    all_right(sum.wrong);
}

#[derive(Default)]
struct Sum {
    ran: usize,
    total: usize,
    wrong: Vec<String>,
}

impl Sum {
    fn add(
        &mut self,
        from: &str,
        cases: &[Case],
        run: &(impl Fn(&Case) -> Result<Ran, Wrong> + Sync),
    ) {
        self.total += cases.len();
        for (case, result) in cases.iter().zip(in_parallel(cases, run)) {
            match result {
                Ok(Ran::Yes) => self.ran += 1,
                Ok(Ran::Not(why)) => println!("not run: {from}/{}: {why}", case.name),
                Err(e) => self.wrong.push(format!("{from}/{}: {e}", case.name)),
            }
        }
    }
}
