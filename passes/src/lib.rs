//! Transforms of XIR, the pass manager, canned pipelines and reports.
//!
//! A pass is one file in `transforms/`: options, counters, declaration, transform. [`registry::PASSES`] lists them all.
//! A [`Pipeline`] is parsed from text or taken from a can, checked against the form of the module *before* it runs
//! ([`Pipeline::check`]) and run by [`Pipeline::run`], which gives a [`Report`].
//!
//! What every pass keeps to: an operation means what `xir` says; a loop may run for ever; volatile and convergent operations
//! stay where they are; a refused function is left unchanged; no recursion on the depth of the input; the same input gives
//! the same output.

pub mod analyses;
pub mod codes;
pub mod judge;
mod manager;
pub mod reduce;
pub mod registry;
mod same_paths;
mod same_values;
mod transforms;

pub use codes::CODES;
pub use manager::canned::{CANS, Canned, Level, TargetForm, canned};
pub use manager::declaration::{Analysis, CounterDecl, Declaration, OptionDecl, Pass};
pub use manager::describe::{
    CannedDescription, CounterDescription, OptionDescription, PassDescription, canned_pipelines,
    page as passes_page,
};
pub use manager::fingerprint::{fingerprint, function_fingerprint};
pub use manager::form::{Control, Data, Form, Math, Requires, Shape};
pub use manager::fuel::Fuel;
pub use manager::ordering::{ORDERINGS, Ordering, may_follow};
pub use manager::pipeline::{Measure, PassCall, Pipeline, Step};
pub use manager::report::{Report, Run};
pub use manager::report_diff::{ReportDiff, RunDiff};
pub use manager::runner::{Observer, RunOptions};
pub use manager::trace::{self, Emitted, Recorder, Trace, TraceSource};
pub use transforms::barriers::holds_up;
pub use transforms::lower_bounds::TRAP_TEXT;
pub use transforms::lower_math::lowered_by_math;
