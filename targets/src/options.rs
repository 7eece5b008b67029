//! What an emission is told and what it gives.

use std::path::PathBuf;
use std::sync::Arc;

pub use luisac_artifact::metadata::{BoundsMode, MathMode, Metadata};
use luisac_xir::SourceLoc;

/// `-O`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum OptLevel {
    /// Only what makes the code legal.
    O0,
    /// Cheap.
    O1,
    /// The default.
    #[default]
    O2,
    /// Everything.
    O3,
}

/// What the metadata says about where an artifact comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// Version of the compiler.
    pub compiler: String,
    /// BLAKE3 of the input, 64 hexadecimal digits.
    pub input_hash: String,
    /// BLAKE3 of the options, 64 hexadecimal digits.
    pub options_hash: String,
}

impl Default for Provenance {
    fn default() -> Self {
        Provenance {
            compiler: env!("CARGO_PKG_VERSION").to_string(),
            input_hash: "0".repeat(64),
            options_hash: "0".repeat(64),
        }
    }
}

/// A text that stands for the input in line information.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// The name of its file.
    pub file: String,
    /// The line of each statement, by function and statement of the input; 0 where there is none.
    pub lines: Vec<Vec<u32>>,
}

impl Source {
    /// The line of a place of the input; 0 if it has none.
    pub fn line(&self, loc: SourceLoc) -> u32 {
        let lines = self.lines.get(loc.function as usize);
        lines.and_then(|l| l.get(loc.statement as usize)).copied().unwrap_or(0)
    }
}

/// Everything beside the module that an emission depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmitOptions {
    /// Canonical detail of the target: `sm_90`, `x86-64-v3`.
    pub detail: String,
    /// `--math`.
    pub math: MathMode,
    /// `--bounds`.
    pub bounds: BoundsMode,
    /// `-O`.
    pub opt_level: OptLevel,
    /// `-g`: line information, in terms of this text.
    pub source: Option<Arc<Source>>,
    /// The caller promises that no two resource arguments overlap.
    pub restrict: bool,
    /// Threads that one stream of instructions carries.
    pub lanes: u32,
    /// Give LLVM IR (before and after LLVM's passes are one: after) as a text.
    pub llvm_ir: bool,
    /// Give assembly as a text.
    pub asm: bool,
    /// Give the text form of SPIR-V.
    pub spirv_asm: bool,
    /// Give the HLSL that DXIL is made from as a text.
    pub hlsl: bool,
    /// The library of DXC, instead of the one that is found.
    pub dxc: Option<PathBuf>,
    /// For the metadata.
    pub provenance: Provenance,
}

impl EmitOptions {
    /// The defaults of the command line, for a canonical detail.
    pub fn new(detail: impl Into<String>) -> EmitOptions {
        EmitOptions {
            detail: detail.into(),
            math: MathMode::Fast,
            bounds: BoundsMode::Off,
            opt_level: OptLevel::O2,
            source: None,
            restrict: false,
            lanes: 1,
            llvm_ir: false,
            asm: false,
            spirv_asm: false,
            hlsl: false,
            dxc: None,
            provenance: Provenance::default(),
        }
    }
}

/// A further file on the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtraText {
    /// As `--emit` calls it: `llvm-ir`, `asm`, `spirv-asm`.
    pub kind: &'static str,
    /// Extension of the file's name, without a dot.
    pub extension: &'static str,
    /// Its content.
    pub text: String,
}

/// A compiled kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// What the target's own tools expect.
    pub code: Vec<u8>,
    /// Extension of the file's name, without a dot.
    pub extension: &'static str,
    /// What goes beside it.
    pub metadata: Metadata,
    /// What was asked for beside it.
    pub texts: Vec<ExtraText>,
}
