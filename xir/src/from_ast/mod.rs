//! Lowering of a LuisaCompute AST to XIR in memory form (`xir.md` section 5, edge cases by `semantics.md`).
//!
//! One XIR function per AST function that an entry reaches. Locals become local allocas at the top of the entry block, which are
//! zero at function entry; by-value arguments become memory only where the function assigns them or passes them by reference.
//! Operands are evaluated left to right, the address of an assignment after its right side. Every implicit conversion of the
//! language becomes a cast, an aggregate or a shuffle here: XIR has none.
//!
//! Statements and expressions run on explicit work stacks (`statements.rs`, `expressions.rs`): no recursion, time and memory
//! linear in the input. Statements after a jump are lowered into blocks that nothing reaches and then removed, so that mistakes
//! in them are still found.
//!
//! What only the recording process has (native functions, host callbacks, addresses of variables) becomes a call of a declaration
//! without a body (`natives.rs`).

mod arguments;
mod arithmetic;
mod atomics;
mod calls;
mod chains;
mod cleanup;
pub mod codes;
mod constants;
mod convert;
mod expressions;
mod function;
mod natives;
mod operators;
mod pack;
mod plan;
mod resources;
mod statements;
mod switch;
pub(crate) mod translation;

#[cfg(test)]
mod tests;

pub use codes::*;
pub use natives::{ADDRESS_OF, CPU_CUSTOM};

use crate::Module;
use function::Lowerer;
use luisac_ast::diagnostic::{Diagnostic, Diagnostics};
use luisac_ast::model::{FunctionId, Library};
use natives::Natives;
use plan::Plan;
use std::cell::RefCell;

/// What to lower, and how.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The kernels to lower, with all that they call; every kernel of the library if `None`.
    pub entries: Option<Vec<FunctionId>>,
    /// Block size of every kernel, instead of the one in the library.
    pub block_size: Option<[u32; 3]>,
}

/// Lowers the kernels of a library and what they call. A library without kernels gives an empty module; see
/// [`lower_all`].
///
/// # Errors
/// What XIR cannot hold, with code, place and help: at most one error for each function.
pub fn lower(library: &Library, options: &Options) -> Result<Module, Diagnostics> {
    let roots = match &options.entries {
        Some(entries) => entries.clone(),
        None => library.kernels().map(|(id, _)| id).collect(),
    };
    for &id in &roots {
        if library.functions.get(id).is_none_or(|f| f.tag != luisac_ast::model::FunctionTag::Kernel)
        {
            let name = library.function_name(id);
            let error =
                Diagnostic::error(BAD_ENTRY, format!("{name} is not a kernel of this input"))
                    .with_help("name one of the input's kernels");
            return Err(error.into());
        }
    }
    lower_from(library, &roots, options)
}

/// Lowers every kernel and callable of a library, called or not: for libraries of callables.
///
/// # Errors
/// As [`lower`].
pub fn lower_all(library: &Library, options: &Options) -> Result<Module, Diagnostics> {
    let roots: Vec<FunctionId> = library.functions.keys().collect();
    lower_from(library, &roots, options)
}

/// Lowers some functions of a library, whatever they are, and what they call.
///
/// # Errors
/// As [`lower`].
pub fn lower_from(
    library: &Library,
    roots: &[FunctionId],
    options: &Options,
) -> Result<Module, Diagnostics> {
    let plan = Plan::new(library, roots)?;
    let mut module = Module { types: library.types.clone(), ..Module::new() };
    let natives = RefCell::new(Natives::after(plan.order().len()));
    let mut errors = Diagnostics::new();
    for &id in plan.order() {
        match Lowerer::new(library, &plan, &natives, id, options).and_then(Lowerer::run) {
            Ok(function) => {
                module.functions.push(function);
            }
            Err(mut found) => errors.0.append(&mut found.0),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    for declaration in natives.into_inner().into_functions() {
        module.functions.push(declaration);
    }
    Ok(module)
}
