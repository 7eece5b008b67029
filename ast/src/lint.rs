//! What is right but looks like a mistake: warnings that have names and can be allowed or denied.
//!
//! A lint speaks only where the input proves it; what needs a guess about sizes or values is left alone. Cost: linear
//! in the nodes; the proof about barriers runs over the threads of one block and has a budget.

#[cfg(test)]
mod barrier_tests;
mod barriers;
pub mod codes;
pub(crate) mod flow;
mod lanes;
mod levels;
mod statements;
#[cfg(test)]
mod tests;
mod usage;
mod values;

pub use levels::{Level, Levels, UnknownLint};

use crate::check;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, remedy};
use crate::link;
use crate::model::{Function, FunctionId, Library};
use crate::place::{Locator, Node, Place};

/// A kind of warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lint {
    /// What flags call it.
    pub name: &'static str,
    /// What messages call it.
    pub code: Code,
    /// What happens without a flag.
    pub default: Level,
    /// Groups that it belongs to, beside `all` and `warnings`.
    pub groups: &'static [&'static str],
}

const fn lint(name: &'static str, code: Code, groups: &'static [&'static str]) -> Lint {
    Lint { name, code, default: Level::Warn, groups }
}

/// Every lint, in the order of names.
pub static LINTS: &[Lint] = &[
    lint("constant-index", check::codes::INDEX_RANGE, &["arithmetic"]),
    lint("divergent-barrier", codes::DIVERGENT_BARRIER, &["control-flow"]),
    lint("division-by-zero", codes::DIVISION_BY_ZERO, &["arithmetic"]),
    lint("infinite-loop", codes::INFINITE_LOOP, &["control-flow"]),
    lint("missing-return", check::codes::MISSING_RETURN, &["control-flow"]),
    lint("never-written-output", codes::NEVER_WRITTEN_OUTPUT, &["unused"]),
    lint("print-format", check::codes::PRINT_FORMAT, &[]),
    lint("shadowed-case", codes::SHADOWED_CASE, &["control-flow"]),
    lint("shift-out-of-range", codes::SHIFT_OUT_OF_RANGE, &["arithmetic"]),
    lint("unportable", check::codes::UNPORTABLE, &[]),
    lint("unreachable-statement", codes::UNREACHABLE_STATEMENT, &["control-flow", "unused"]),
    lint("unresolved-external", link::codes::UNRESOLVED, &[]),
    lint("unused-argument", codes::UNUSED_ARGUMENT, &["unused"]),
    lint("unused-callable", codes::UNUSED_CALLABLE, &["unused"]),
    lint("unwritten-shared", codes::UNWRITTEN_SHARED, &["unused"]),
];

/// The lint of a code.
pub fn by_code(code: Code) -> Option<&'static Lint> {
    LINTS.iter().find(|lint| lint.code == code)
}

/// Warnings of one function.
const LIMIT: usize = 100;

/// The warnings of a library in which [`check`](crate::check::check) found no error, by function. All lints speak,
/// whatever their level: see [`Levels::apply`].
pub fn run(library: &Library) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    let usages = crate::usage::effective(library);
    let called = usage::called(library);
    for (id, function) in &library.functions {
        let called = called[id];
        let mut linter = Linter { library, id, function, called, findings: Vec::new() };
        linter.check_usage(&usages[id]);
        linter.check_values();
        linter.check_statements();
        linter.check_barriers();
        linter.report(&mut diagnostics);
    }
    diagnostics
}

struct Finding {
    code: Code,
    node: Node,
    message: String,
}

struct Linter<'a> {
    library: &'a Library,
    id: FunctionId,
    function: &'a Function,
    /// Whether the function is a kernel, or a kernel may call it.
    called: bool,
    findings: Vec<Finding>,
}

impl Linter<'_> {
    fn warn(&mut self, code: Code, node: Node, message: impl Into<String>) {
        if self.findings.len() < LIMIT {
            self.findings.push(Finding { code, node, message: message.into() });
        }
    }

    fn report(mut self, diagnostics: &mut Diagnostics) {
        if self.findings.is_empty() {
            return;
        }
        let nodes = self.findings.iter().map(|finding| finding.node);
        let locator = Locator::of_nodes(self.function, nodes);
        self.findings.sort_by_key(|finding| locator.order(finding.node));
        let function = self.library.function_name(self.id);
        for finding in self.findings {
            let pointer = locator.locate(Place::new(self.id, finding.node));
            diagnostics.push(Diagnostic {
                pointer: Some(pointer),
                function: Some(function.clone()),
                help: remedy(&[codes::CODES, check::codes::CODES], finding.code),
                ..Diagnostic::warning(finding.code, finding.message)
            });
        }
    }
}
