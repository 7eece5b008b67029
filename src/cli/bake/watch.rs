//! `--watch`: bakes, and bakes again whenever a file changes that the plan was made from.

use super::{Asked, STOP};
use crate::cli::messages::Failure;
use luisac::driver::bake::manifest::locate;
use luisac::driver::bake::plan::Plan;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

/// Time between two looks.
const EVERY: Duration = Duration::from_millis(200);
/// Time between two plans, which find files that are new.
const PLAN_AGAIN: Duration = Duration::from_secs(2);

/// Size and time of change of each file.
type Seen = BTreeMap<PathBuf, Option<(u64, SystemTime)>>;

/// Runs until it is stopped.
pub fn run(asked: &Asked) -> Result<(), Failure> {
    let stopped = || STOP.load(Ordering::SeqCst);
    while !stopped() {
        // What is wrong has been told; the next change may mend it.
        let files = match asked.plan() {
            Ok((_, plan)) => {
                if asked.bake_once(&plan).is_ok_and(|summary| !summary.stopped) {
                    let _ = asked.write_dep_file(&plan);
                }
                files(&plan)
            }
            Err(_) => vec![locate(&asked.command.path)],
        };
        asked.messages.note("waiting for changes");
        let seen = look(&files);
        let mut planned = Instant::now();
        while !stopped() && look(&files) == seen {
            std::thread::sleep(EVERY);
            if planned.elapsed() > PLAN_AGAIN {
                planned = Instant::now();
                // Quietly: a manifest that is wrong has not changed since it was told.
                if asked.plan_quietly().is_some_and(|plan| self::files(&plan) != files) {
                    break;
                }
            }
        }
    }
    Err(Failure::Stopped)
}

fn files(plan: &Plan) -> Vec<PathBuf> {
    let inputs = plan.archives.iter().flat_map(|a| &a.sources).map(|s| s.path.clone());
    plan.others.iter().cloned().chain(inputs).collect()
}

fn look(files: &[PathBuf]) -> Seen {
    let state = |path: &PathBuf| {
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.len(), metadata.modified().ok()?))
    };
    files.iter().map(|path| (path.clone(), state(path))).collect()
}
