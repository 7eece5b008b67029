//! Back ends: from XIR in the form that a target asks for to an artifact.
//!
//! A [`Target`] says what it is called, which details it takes (`ptx:sm_90`), which operations it holds, and emits one kernel at a
//! time. Emission is a pure function of module and options: same input, same bytes.

pub mod clike;
pub mod errors;
mod functions;
mod held;
mod log;
mod metadata;
mod options;
mod support;
mod support_page;
mod usage;

#[cfg(feature = "dxil")]
pub mod dxil;
#[cfg(feature = "llvm")]
pub mod llvm;
#[cfg(feature = "naga")]
pub mod naga;
pub mod spirv;

pub use errors::CODES;
pub use functions::DeviceFunction;
pub use options::{Artifact, EmitOptions, ExtraText, OptLevel, Provenance, Source};
pub use support::{Support, addressed_core, check_externals, compute_core};
pub use support_page::support_page;
pub use usage::{argument_usage, argument_uses};

use luisac_artifact::metadata::{BoundsMode, MathMode};
use luisac_ast::diagnostic::{Diagnostic, Diagnostics};
use luisac_ast::types::Scalar;
use luisac_passes::{Canned, Level, Pipeline, TargetForm};
use luisac_xir::op::{ArithmeticOp, ResourceQueryOp};
use luisac_xir::{FunctionId, Module, Op};

/// The form of XIR that a target takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputForm {
    /// Control flow by structured terminators; else flat.
    pub structured: bool,
    /// Phis are allowed.
    pub phis: bool,
    /// Vector and matrix arithmetic is split into scalars.
    pub scalarised: bool,
}

/// A back end.
pub trait Target: Send + Sync {
    /// The word before the colon on the command line.
    fn name(&self) -> &'static str;
    /// One line.
    fn summary(&self) -> &'static str;
    /// The details that may follow the colon, for lists and errors; the first is the default.
    fn details(&self) -> &'static [&'static str];
    /// The form of XIR that [`Target::emit`] takes.
    fn form(&self) -> InputForm;
    /// Whether lanes of a wave come together wherever paths of the flat control flow meet, rather than at the merges of the
    /// structured program: the code then needs the pass `keep_waves_in_loops` while it is structured.
    fn lanes_meet_where_paths_meet(&self) -> bool {
        false
    }
    /// Passes that follow the canned pipeline, as a pipeline's text; none if empty.
    fn last_passes(&self, _options: &EmitOptions) -> String {
        String::new()
    }
    /// Whether the target holds an operation.
    fn supports(&self, op: Op) -> Support;
    /// Whether an operation on floats of this kind is left to the target, for a canonical detail; every other one is for
    /// `lower_math`.
    fn keeps_native(&self, op: ArithmeticOp, scalar: Scalar, math: MathMode, detail: &str) -> bool;
    /// The canonical form of a detail, or the default.
    ///
    /// # Errors
    /// A diagnostic that lists the details there are.
    fn canonical_detail(&self, detail: Option<&str>) -> Result<String, Diagnostic>;
    /// Extension of the names of artifacts, without a dot.
    fn extension(&self) -> &'static str {
        match self.name() {
            "cpu" => "o",
            "spirv" => "spv",
            "msl" => "metal",
            name => name,
        }
    }
    /// Name and version of the external tool that emission runs, if it runs one: code made by another version is other code. `dxc` is
    /// the library that options name.
    fn tool_version(&self, dxc: Option<&std::path::Path>) -> Option<String> {
        let _ = dxc;
        None
    }
    /// Compiles one kernel and what it calls.
    ///
    /// # Errors
    /// What the target refuses, with operation and place.
    fn emit(
        &self,
        module: &Module,
        kernel: FunctionId,
        options: &EmitOptions,
    ) -> Result<Artifact, Diagnostics>;
    /// Compiles one callable and what it calls as a function that other code calls (`docs/callables.md`).
    ///
    /// # Errors
    /// `L0915` where the target holds entry points only, `L0916` for what only a launch has; what the target refuses.
    fn emit_function(
        &self,
        module: &Module,
        function: FunctionId,
        options: &EmitOptions,
    ) -> Result<DeviceFunction, Diagnostics> {
        let _ = (module, function, options);
        Err(functions::no_functions(self.name()).into())
    }
}

/// All targets of this build, in the order of lists.
pub fn targets() -> &'static [&'static dyn Target] {
    &[
        #[cfg(feature = "llvm")]
        &llvm::ptx::Ptx,
        #[cfg(feature = "llvm")]
        &llvm::cpu::Cpu,
        &clike::hlsl::Hlsl,
        &clike::msl::Msl,
        #[cfg(feature = "dxil")]
        &dxil::Dxil,
        &spirv::Spirv,
        #[cfg(feature = "naga")]
        &crate::naga::Wgsl,
        #[cfg(feature = "naga")]
        &crate::naga::Glsl,
    ]
}

/// The passes that bring a lowered module into the form that `target` takes.
///
/// # Errors
/// Those of the pass manager; none unless a canned pipeline is damaged.
pub fn pipeline(target: &dyn Target, options: &EmitOptions) -> Result<Pipeline, Diagnostic> {
    let form = target.form();
    let canned = Canned {
        level: match options.opt_level {
            OptLevel::O0 => Level::O0,
            OptLevel::O1 => Level::O1,
            OptLevel::O2 => Level::O2,
            OptLevel::O3 => Level::O3,
        },
        form: match (form.structured, form.phis) {
            (false, _) => TargetForm::FlatScalar,
            // The last passes of the target structure it again.
            (true, false) if form.scalarised => TargetForm::FlatScalar,
            (true, false) => TargetForm::Structured,
            (true, true) => TargetForm::StructuredSsa,
        },
        fast_math: options.math == MathMode::Fast,
        native: Vec::new(),
    };
    let mut pipeline = luisac_passes::canned(&canned)?;
    let last = target.last_passes(options);
    if !last.is_empty() {
        pipeline.steps.extend(Pipeline::parse(&last)?.steps);
    }
    if form.structured && form.phis && options.bounds != BoundsMode::Off {
        check_by_passes(&mut pipeline, options.bounds)?;
    }
    if options.bounds == BoundsMode::Trap {
        pipeline.set_option("trapping_bounds", "true");
    }
    // Options that the text sets stay.
    pipeline.set_option("native", &native_operations(target, options.math, &options.detail));
    let samples = || ResourceQueryOp::ALL.iter().copied().filter(|q| q.samples());
    let is = |q: ResourceQueryOp, support| target.supports(Op::ResourceQuery(q)) == support;
    if samples().any(|q| is(q, Support::Lowered)) {
        let kept = samples().filter(|&q| is(q, Support::Native)).map(ResourceQueryOp::name);
        let kept = kept.collect::<Vec<_>>().join("|");
        let mut lowering = Pipeline::parse("lower_sampling")?;
        lowering.set_option("keep", &kept);
        let after = pipeline.steps.iter().position(|step| step.is("autodiff"));
        let at = after.map_or(0, |step| step + 1);
        pipeline.steps.splice(at..at, lowering.steps);
    }
    if target.lanes_meet_where_paths_meet() {
        pipeline.steps.splice(0..0, Pipeline::parse("keep_waves_in_loops")?.steps);
    }
    Ok(pipeline)
}

/// Makes indices safe by a pass, before control flow is structured again.
fn check_by_passes(pipeline: &mut Pipeline, bounds: BoundsMode) -> Result<(), Diagnostic> {
    let step = Pipeline::parse(&support::bounds_pass(bounds, ",images=false,flat=true"))?.steps;
    let last = pipeline.steps.iter().position(|s| s.is("lower_edge_cases"));
    let at = last.unwrap_or(pipeline.steps.len());
    pipeline.steps.splice(at..at, step);
    Ok(())
}

/// The operations on floats that `lower_math` leaves to a target, as its option `native` takes them.
pub fn native_operations(target: &dyn Target, math: MathMode, detail: &str) -> String {
    let scalars = [("f16", Scalar::F16), ("f32", Scalar::F32), ("f64", Scalar::F64)];
    let mut names = Vec::new();
    for &op in ArithmeticOp::ALL {
        for (suffix, scalar) in scalars {
            if target.keeps_native(op, scalar, math, detail) {
                names.push(format!("{}.{suffix}", op.name()));
            }
        }
    }
    names.join("|")
}

/// The target and canonical detail of a command-line word such as `ptx:sm_90`.
///
/// # Errors
/// If there is no such target or detail.
pub fn find_target(word: &str) -> Result<(&'static dyn Target, String), Diagnostic> {
    let (name, detail) = match word.split_once(':') {
        Some((name, detail)) => (name, Some(detail)),
        None => (word, None),
    };
    let Some(&target) = targets().iter().find(|t| t.name() == name) else {
        let names: Vec<&str> = targets().iter().map(|t| t.name()).collect();
        return Err(Diagnostic::error(
            errors::UNKNOWN_TARGET,
            format!("there is no target `{name}` in this build"),
        )
        .with_help(format!("the targets are {}", names.join(", "))));
    };
    let detail = target.canonical_detail(detail)?;
    Ok((target, detail))
}
