//! Puts libraries together: external functions of one become callables of another that have their name.
//!
//! What is known by hash is put together when it is read ([`binary::read_together`](crate::binary::read_together)).
//! The functions of all inputs are ordered anew, callees first; types, constants and externals are merged. Cost:
//! linear in the nodes.

pub mod codes;
mod merge;
mod resolve;
#[cfg(test)]
mod tests;

use cranelift_entity::PrimaryMap;

use crate::diagnostic::Diagnostics;
use crate::model::{FunctionId, Library};

/// An input of a link.
pub struct Part {
    /// What to call it in messages.
    pub name: String,
    /// Its functions, in which [`check`](crate::check::check) found no error.
    pub library: Library,
}

/// Several inputs as one library.
#[derive(Clone, Debug, PartialEq)]
pub struct Linked {
    /// All functions; its entry is that of the first part.
    pub library: Library,
    /// Part and number there of each function.
    pub origins: PrimaryMap<FunctionId, (usize, FunctionId)>,
}

/// Links the first part with the others.
///
/// An external function that no callable has the name of stays one, and a warning says so.
///
/// # Errors
/// Two different callables of one name, a callable of another signature than the external function it stands for, and
/// callables that call each other in a circle through names: all of them.
pub fn link(parts: Vec<Part>) -> Result<(Linked, Diagnostics), Diagnostics> {
    let resolved = resolve::resolve(&parts)?;
    let linked = merge::merge(parts, &resolved)?;
    Ok((linked, resolved.warnings))
}
