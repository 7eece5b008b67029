//! The verifier: whether a module is valid XIR. Every pass and target may rely on what it checks.
//!
//! The invariants; the code of a violation is L0620 plus the number:
//!
//!  1. Every block ends in exactly one terminator, and terminators stand nowhere else.
//!  2. Every block is reached from the entry over the blocks that terminators name, roles included.
//!  3. The entry block is named by no instruction.
//!  4. Operands and blocks named are of the function and placed in it; results and arguments know their definition.
//!  5. The number of blocks and the kind of immediate data fit the operation.
//!  6. An instruction has a result exactly if its operation yields one.
//!  7. The number of operands fits the operation.
//!  8. Operand and result types follow the rule of the operation.
//!  9. Lvalues, values and resources stand where their kind belongs.
//! 10. Definitions dominate uses, phi operands the end of their predecessor. Unreachable uses are exempt.
//! 11. Phis stand before all other instructions, with one entry for each reachable predecessor and none for other blocks.
//! 12. Use lists and operands agree.
//! 13. A block is the merge of one construct at most; the roles of a construct are different blocks; every block belongs to the
//!     parts of one construct.
//! 14. `break`, `continue` and branches leave a construct only as it says: see [`structure`].
//! 15. Loops and ray-query loops have their shape.
//! 16. Case values are different and within the width of the selector.
//! 17. Types stand where they may, and constants have the bytes of their type.
//! 18. Calls fit the callee.
//! 19. The call graph has no cycle.
//! 20. Functions keep the rules of their kind: kernels return nothing and have a legal block size, shared memory is theirs
//!     alone, externals have no body and all others have one.
//! 21. `return` fits the return type.
//!
//! All violations are collected, up to a bound. Invariants 7 to 12 are looked at only if 4 holds in the function, and 10, 11 and
//! 13 to 15 only if 1, 4 and 5 do, since they make no sense otherwise. The cost is that of the dominator tree: nearly linear. Nothing recurses.

mod calls;
pub mod codes;
mod data;
mod operands;
mod resources;
mod ssa;
pub mod structure;
#[cfg(test)]
mod tests;

use crate::{BlockId, Function, FunctionId, InstId, Module};
use luisac_ast::diagnostic::{Code, Diagnostic};
use luisac_ast::types::TypeTable;
use std::fmt;
use std::panic::resume_unwind;
use std::thread::ScopedJoinHandle;

pub use codes::CODES;

/// At most this many violations of a function are collected.
const MAX_ERRORS: usize = 100;

/// Which optional invariants hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Invariant 2. Between passes, blocks that nothing leads to may wait for their removal.
    pub reachable: bool,
    /// Invariants 13 to 15, as far as the control flow is structured throughout.
    pub structure: bool,
    /// Invariant 12, which costs a walk over all uses.
    pub uses: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { reachable: true, structure: true, uses: true }
    }
}

/// One violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyError {
    /// The number of the invariant.
    pub invariant: u8,
    /// Name of the function.
    pub function: String,
    /// The block it is in.
    pub block: Option<BlockId>,
    /// The instruction.
    pub inst: Option<InstId>,
    /// What is wrong.
    pub message: String,
    /// The block label and the line of the instruction, as the text form of the function has them.
    pub line: Option<String>,
}

impl VerifyError {
    /// The stable code: one for each invariant.
    pub fn code(&self) -> Code {
        Code(620 + u16::from(self.invariant))
    }
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (invariant {}, in `{}`", self.message, self.invariant, self.function)?;
        match &self.line {
            Some(line) => write!(f, ", {line})"),
            None => write!(f, ")"),
        }
    }
}

impl std::error::Error for VerifyError {}

impl From<VerifyError> for Diagnostic {
    fn from(error: VerifyError) -> Diagnostic {
        let diagnostic = Diagnostic::error(error.code(), error.message).in_function(error.function);
        match error.line {
            Some(line) => diagnostic.with_note(line),
            None => diagnostic,
        }
    }
}

/// Verifies a whole module.
///
/// # Errors
/// All violations, function by function.
pub fn verify(module: &Module) -> Result<(), Vec<VerifyError>> {
    verify_with(module, &Options::default())
}

/// Verifies a whole module, with a choice of the optional invariants.
///
/// # Errors
/// As [`verify`].
pub fn verify_with(module: &Module, options: &Options) -> Result<(), Vec<VerifyError>> {
    let mut errors = Vec::new();
    for id in module.functions.keys() {
        if let Err(found) = verify_function(module, id, options) {
            errors.extend(found);
        }
    }
    errors.extend(calls::check_cycles(module));
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Verifies one function; invariant 19 is a question about modules and not asked.
///
/// # Errors
/// All violations.
pub fn verify_function(
    module: &Module,
    id: FunctionId,
    options: &Options,
) -> Result<(), Vec<VerifyError>> {
    let Some(function) = module.functions.get(id) else {
        return Err(vec![VerifyError {
            invariant: 18,
            function: id.to_string(),
            block: None,
            inst: None,
            message: "there is no such function".into(),
            line: None,
        }]);
    };
    let mut cx = Context { module, types: &module.types, function, errors: Vec::new() };
    data::check(&mut cx, options);
    let mut checks: Vec<Check> = Vec::new();
    if !cx.has_any_of(&[4]) {
        checks.push(operands::check);
        checks.extend(options.uses.then_some(ssa::check_uses as Check));
    }
    if function.has_body() && !cx.has_any_of(&[1, 4, 5]) {
        checks.push(ssa::check);
        checks.extend(options.structure.then_some(structure::check as Check));
    }
    if function.inst_count() < LONG {
        checks.iter().for_each(|check| check(&mut cx));
    } else {
        run_beside(&mut cx, &checks);
    }
    if cx.errors.is_empty() {
        return Ok(());
    }
    let mut errors = cx.errors;
    errors.truncate(MAX_ERRORS);
    locate(module, id, &mut errors);
    Err(errors)
}

/// Instructions from which on the checks of a function run beside each other.
const LONG: usize = 1 << 20;

/// Runs checks, none of which asks what another one found, on a thread each; the errors are in the order of the checks.
fn run_beside(cx: &mut Context<'_>, checks: &[Check]) {
    let alone = |check: Check, cx: &Context<'_>| {
        let mut part = Context { errors: Vec::new(), ..*cx };
        check(&mut part);
        part.errors
    };
    let shared = &*cx;
    let parts: Vec<Vec<VerifyError>> = std::thread::scope(|scope| {
        let start = |&check: &Check| {
            let run = move || alone(check, shared);
            (check, std::thread::Builder::new().spawn_scoped(scope, run).ok())
        };
        let started: Vec<_> = checks.iter().map(start).collect();
        let end = |(check, thread): (Check, Option<ScopedJoinHandle<'_, _>>)| match thread {
            Some(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            // A system that has no thread left still has this one.
            None => alone(check, shared),
        };
        started.into_iter().map(end).collect()
    });
    // The bound of `Context::push`.
    cx.errors.extend(parts.into_iter().flatten());
    cx.errors.truncate(MAX_ERRORS + 1);
}

/// Adds the printed lines to the errors.
fn locate(module: &Module, id: FunctionId, errors: &mut [VerifyError]) {
    let insts: Vec<InstId> = errors.iter().filter_map(|e| e.inst).collect();
    let lines = crate::text::print_lines(module, id, &insts);
    let mut lines = lines.into_iter();
    for error in errors {
        if error.inst.is_some() {
            error.line = lines.next();
        }
    }
}

/// A part of the verification of a function.
type Check = fn(&mut Context<'_>);

/// What the checks share.
struct Context<'a> {
    module: &'a Module,
    types: &'a TypeTable,
    function: &'a Function,
    errors: Vec<VerifyError>,
}

impl Context<'_> {
    fn push(
        &mut self,
        invariant: u8,
        block: Option<BlockId>,
        inst: Option<InstId>,
        message: String,
    ) {
        // A few more than are told, so that a count of the bound means that there are more.
        if self.errors.len() <= MAX_ERRORS {
            let function = self.function.name.clone();
            self.errors.push(VerifyError { invariant, function, block, inst, message, line: None });
        }
    }

    /// A violation by the function itself.
    fn function_error(&mut self, invariant: u8, message: impl Into<String>) {
        self.push(invariant, None, None, message.into());
    }

    /// A violation by a block.
    fn block_error(&mut self, invariant: u8, block: BlockId, message: impl Into<String>) {
        let inst = self.function.last_inst(block);
        self.push(invariant, Some(block), inst, message.into());
    }

    /// A violation by an instruction.
    fn inst_error(&mut self, invariant: u8, inst: InstId, message: impl Into<String>) {
        let block = self.function.inst_block(inst);
        self.push(invariant, block, Some(inst), message.into());
    }

    /// Whether one of these invariants is broken so far.
    fn has_any_of(&self, invariants: &[u8]) -> bool {
        self.errors.iter().any(|e| invariants.contains(&e.invariant))
    }
}
