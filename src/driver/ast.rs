//! A module back in LuisaCompute's own format.

use luisac_ast::diagnostic::Diagnostics;
use luisac_ast::json::{self, Dialect};
use luisac_passes::{Pipeline, RunOptions};
use luisac_xir::forms::control_flow_of;
use luisac_xir::{Module, to_ast};

/// The module as JSON: in the versioned form if that can hold it, else in the older one. Flat control flow is structured
/// before.
///
/// # Errors
/// Of the passes; what has no form in an AST.
pub fn json(mut module: Module) -> Result<Vec<u8>, Diagnostics> {
    let is_structured = |m: &Module| {
        m.functions.values().filter(|f| f.has_body()).all(|f| control_flow_of(f).fits_structured())
    };
    if !is_structured(&module) {
        // Functions that have constructs already would be half of each kind.
        let pipeline = Pipeline::parse("destructure_cfg,restructure_cfg")?;
        pipeline.run(&mut module, RunOptions::default())?;
    }
    let library = to_ast::raise(&module)?;
    json::write(&library, Dialect::V1).or_else(|_| json::write(&library, Dialect::D0))
}
