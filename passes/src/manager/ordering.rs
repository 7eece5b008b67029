//! Orders of passes that forms do not express, as data: each with a sentence why. A pipeline that breaks one is refused before
//! it runs.

use super::pipeline::Step;
use crate::codes;
use luisac_ast::diagnostic::Diagnostic;
use serde::Serialize;

/// `first` must not run once `then` has run, until one of `unless` has run in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Ordering {
    pub first: &'static str,
    pub then: &'static str,
    /// Passes that undo what `then` does as far as `first` is concerned.
    pub unless: &'static [&'static str],
    pub why: &'static str,
}

/// The table of orderings.
pub static ORDERINGS: &[Ordering] = &[
    Ordering {
        first: "keep_waves_in_loops",
        then: "destructure_cfg",
        unless: &["restructure_cfg"],
        why: "in flat control flow the lanes that leave a loop in different rounds have met already",
    },
    Ordering {
        first: "autodiff",
        then: "destructure_cfg",
        unless: &["restructure_cfg"],
        why: "the reverse sweep is written from the branches and loops of the differentiated scope",
    },
    Ordering {
        first: "autodiff",
        then: "mem2reg",
        unless: &["reg2mem"],
        why: "adjoints follow the loads and stores of variables, and a phi has none",
    },
    Ordering {
        first: "autodiff",
        then: "lower_ray_query_to_pipeline",
        unless: &[],
        why: "callables of handlers hide what a gradient depends on",
    },
    Ordering {
        first: "autodiff",
        then: "lower_sampling",
        unless: &[],
        why: "a sample is constant to a gradient, but the reads and weights that replace it are not",
    },
    Ordering {
        first: "lower_ray_query_to_loop",
        then: "destructure_cfg",
        unless: &["restructure_cfg"],
        why: "flat control flow has no form for ray queries by callbacks",
    },
];

/// Checks the steps against the table. A group counts as if it ran twice.
///
/// # Errors
/// `L0810` for the first pass that comes too late.
pub(super) fn check(steps: &[Step]) -> Result<(), Diagnostic> {
    let mut names = Vec::new();
    flatten(steps, &mut names);
    // For each ordering whether `then` has run.
    let mut late = vec![false; ORDERINGS.len()];
    for name in names {
        for (ordering, late) in ORDERINGS.iter().zip(&mut late) {
            if *late && ordering.first == name {
                return Err(misplaced(ordering));
            }
            if ordering.unless.contains(&name) {
                *late = false;
            }
            *late |= ordering.then == name;
        }
    }
    Ok(())
}

/// Whether `name` may run after the passes named, in their order.
pub fn may_follow(before: &[&str], name: &str) -> bool {
    ORDERINGS.iter().filter(|o| o.first == name).all(|ordering| {
        let last = before.iter().rposition(|b| *b == ordering.then);
        last.is_none_or(|at| before[at..].iter().any(|b| ordering.unless.contains(b)))
    })
}

fn misplaced(ordering: &Ordering) -> Diagnostic {
    let Ordering { first, then, unless, why } = ordering;
    let message = format!("`{first}` comes after `{then}`");
    let mut help = format!("put `{first}` before `{then}`");
    for pass in unless.iter().filter(|name| crate::registry::find(name).is_some()) {
        help += &format!(", or `{pass}` between them");
    }
    Diagnostic::error(codes::MISPLACED, message).with_note(*why).with_help(help)
}

/// The names of the passes in the order in which they run, outer groups twice, which shows every order in which two passes of a
/// group meet.
fn flatten(steps: &[Step], names: &mut Vec<&'static str>) {
    for step in steps {
        match step {
            Step::Pass(call) => names.push(call.pass.name()),
            Step::Fix { steps, .. } => {
                let mut once = Vec::new();
                flat_once(steps, &mut once);
                names.extend(once.iter().chain(&once));
            }
        }
    }
}

/// Recursion is bounded by the nesting that the grammar allows.
fn flat_once(steps: &[Step], names: &mut Vec<&'static str>) {
    for step in steps {
        match step {
            Step::Pass(call) => names.push(call.pass.name()),
            Step::Fix { steps, .. } => flat_once(steps, names),
        }
    }
}
