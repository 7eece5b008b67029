//! How a kernel is compiled, whoever asks: the command line, a build script, a bake.

use luisac_artifact::metadata::{BoundsMode, MathMode};
use luisac_targets::OptLevel;
use std::path::PathBuf;

/// Everything beside input and target that the code depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeOptions {
    pub opt_level: OptLevel,
    /// Replaces the canned pipeline.
    pub passes: Option<String>,
    pub math: MathMode,
    pub bounds: BoundsMode,
    pub debug_info: bool,
    /// Replaces the kernel's own block size.
    pub block: Option<[u32; 3]>,
    /// Uniform arguments made constant: position or name, and value.
    pub defines: Vec<(String, String)>,
    pub fuel: Option<u64>,
    /// Verify the module after every pass.
    pub verify_each: bool,
    /// The library of DXC, instead of the one that is found.
    pub dxc: Option<PathBuf>,
}

impl Default for CodeOptions {
    fn default() -> CodeOptions {
        CodeOptions {
            opt_level: OptLevel::O2,
            passes: None,
            math: MathMode::Fast,
            bounds: BoundsMode::Off,
            debug_info: false,
            block: None,
            defines: Vec::new(),
            fuel: None,
            verify_each: false,
            dxc: None,
        }
    }
}

impl CodeOptions {
    /// The same with these constants, which replace others of the same arguments, in the order of their names.
    #[must_use]
    pub fn with_defines(&self, defines: &[(String, String)]) -> CodeOptions {
        let mut options = self.clone();
        options.defines.retain(|(name, _)| defines.iter().all(|(other, _)| other != name));
        options.defines.extend_from_slice(defines);
        options.defines.sort();
        options
    }

    /// BLAKE3 of all that the code depends on beside the input, 64 hexadecimal digits.
    pub fn hash(&self, target: &str) -> String {
        // Where a tool lies and who looks on is no part of what is made.
        let plain = CodeOptions { dxc: None, verify_each: false, ..self.clone() };
        let text = format!("{} {target} {plain:?}", env!("CARGO_PKG_VERSION"));
        blake3::hash(text.as_bytes()).to_hex().to_string()
    }
}
