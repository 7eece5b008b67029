//! From flags to the driver's options.

use super::options::{self, BoundsOption, MathOption};
use luisac::codes;
use luisac::driver::compile::check_block;
use luisac::driver::options::CodeOptions;
use luisac_artifact::metadata::{BoundsMode, MathMode};
use luisac_ast::diagnostic::Diagnostic;
use luisac_targets::OptLevel;

/// The driver's options of these flags.
///
/// # Errors
/// `L1216` for a `--define` without `=`, `L1208` for a block that cannot be.
pub fn code_options(flags: &options::CodeOptions) -> Result<CodeOptions, Diagnostic> {
    let defines: Result<Vec<_>, _> = flags.define.iter().map(|d| split(d, "--define")).collect();
    let defines = defines.map_err(|message| Diagnostic::error(codes::BAD_FLAG, message))?;
    if let Some(block) = flags.block {
        check_block(block)?;
    }
    Ok(CodeOptions {
        opt_level: match flags.opt_level {
            0 => OptLevel::O0,
            1 => OptLevel::O1,
            2 => OptLevel::O2,
            _ => OptLevel::O3,
        },
        passes: flags.passes.clone(),
        math: match flags.math {
            MathOption::Fast => MathMode::Fast,
            MathOption::Precise => MathMode::Precise,
        },
        bounds: match flags.bounds {
            BoundsOption::Off => BoundsMode::Off,
            BoundsOption::Clamp => BoundsMode::Clamp,
            BoundsOption::Trap => BoundsMode::Trap,
        },
        debug_info: flags.debug_info,
        block: flags.block,
        defines,
        fuel: flags.fuel,
        verify_each: flags.verify_each,
        dxc: flags.dxc.clone(),
    })
}

/// Splits `ARG=VALUE`.
///
/// # Errors
/// If there is no `=`.
pub fn split(text: &str, flag: &str) -> Result<(String, String), String> {
    text.split_once('=')
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .ok_or_else(|| format!("`{flag} {text}` lacks a `=`: {flag} ARG=VALUE"))
}
