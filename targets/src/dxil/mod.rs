//! DXIL through DXC: our HLSL goes in, a validated and signed container comes out.
//!
//! DXC is Microsoft's compiler. It is a library of its own that is loaded when the first kernel is compiled, and never a
//! part of this program.

mod dxc;
mod find;
mod messages;
mod target;

use std::path::Path;

use luisac_artifact::metadata::MathMode;
use luisac_ast::diagnostic::Diagnostic;

pub use find::VARIABLE;
pub use target::Dxil;

use crate::errors;

/// HLSL of one kernel.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The text.
    pub text: &'a str,
    /// Its entry function.
    pub entry: &'a str,
    /// The minor number of its shader model 6.
    pub shader_model: u32,
    /// `--math`.
    pub math: MathMode,
    /// Name of the kernel, for messages.
    pub kernel: &'a str,
}

/// A kernel as DXIL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// The container.
    pub container: Vec<u8>,
    /// Version of DXC's validator that has accepted it.
    pub validator: String,
    /// Whether DXC has signed it; else we have.
    pub signed_by_dxc: bool,
}

/// Compiles HLSL with the DXC that is found, `dxc` before all others.
///
/// # Errors
/// [`errors::NO_DXC`], [`errors::BAD_DXC`]; [`errors::DXC_REFUSED`] with what DXC or its validator says.
pub fn compile(source: Source, dxc: Option<&Path>) -> Result<Compiled, Diagnostic> {
    let library = dxc::load(dxc)?;
    let profile = format!("cs_6_{}", source.shader_model);
    let flags = flags(source.shader_model, source.math);
    let job = dxc::Job { text: source.text, entry: source.entry, profile: &profile, flags: &flags };
    match library.compile(job) {
        Ok(container) => Ok(Compiled {
            container: container.bytes,
            validator: library.version.clone(),
            signed_by_dxc: container.signed_by_dxc,
        }),
        Err(dxc::Failure::Refused(said)) => {
            Err(messages::diagnostic(&said, source.text, source.kernel))
        }
        Err(dxc::Failure::Broken(why)) => {
            Err(Diagnostic::error(errors::BAD_DXC, format!("DXC does not work: {why}"))
                .in_function(source.kernel))
        }
    }
}

/// What tells the DXC that is found from others, if there is one.
pub fn version(dxc: Option<&Path>) -> Option<String> {
    let library = dxc::load(dxc).ok()?;
    let bytes = library.bytes.map_or_else(String::new, |n| format!(", {n} bytes"));
    Some(format!("DXC {}{bytes}", library.version))
}

/// The flags of a compilation.
///
/// `-Gis` is there under fast mathematics too: without it DXC marks each operation as free of NaN and infinity and folds
/// `x * 0` and `x - x` to zero, which [`MathMode::Fast`] does not allow. What that mode allows is in the text.
fn flags(shader_model: u32, math: MathMode) -> Vec<&'static str> {
    let mut flags = vec!["-HV", "2021", "-O3", "-Gis", "-all_resources_bound", "-no-warnings"];
    // Both exist from 6.2 on. Before, subnormals of `float` are the driver's choice.
    if shader_model >= 2 {
        let subnormals = if math == MathMode::Precise { "preserve" } else { "any" };
        flags.extend(["-enable-16bit-types", "-denorm", subnormals]);
    }
    flags
}

#[cfg(test)]
mod tests;
