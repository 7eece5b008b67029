//! The last look at an object: it must need nothing from outside.

use luisac_ast::diagnostic::Diagnostic;
use object::{Object, ObjectSymbol};

use crate::errors;
use crate::llvm::Emit;
use crate::llvm::module::internal;

/// Refuses an object with an undefined symbol.
pub fn check(object: &[u8]) -> Emit<()> {
    let file = object::File::parse(object)
        .map_err(|e| internal(&format!("the object cannot be read again: {e}")))?;
    let mut missing: Vec<String> = file
        .symbols()
        .filter(|s| s.is_undefined())
        .filter_map(|s| s.name().ok().filter(|n| !n.is_empty()).map(str::to_string))
        .collect();
    missing.sort_unstable();
    missing.dedup();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Box::new(
        Diagnostic::error(
            errors::UNDEFINED_SYMBOL,
            format!("the object refers to `{}`, which it does not define", missing.join("`, `")),
        )
        .with_help("report it with the input and the options; try another detail of the target"),
    ))
}
