//! Target `ptx`: kernels and device functions for NVIDIA GPUs.

mod arch;
mod guard;
mod image;
mod kernel;
mod texture;
mod wave;

use inkwell::targets::{CodeModel, FileType, RelocMode};
use luisac_artifact::metadata::{self, MathMode};
use luisac_ast::diagnostic::{Diagnostic, Diagnostics};
use luisac_ast::types::Scalar;
use luisac_xir::op::{ArithmeticOp as A, SpecialRegister};
use luisac_xir::{FunctionId, Module, Op};

use super::module::ModuleEmit;
use super::{Emit, MachineSpec};
use crate::support::plain_float_operation;
use crate::{Artifact, DeviceFunction, EmitOptions, InputForm, Support, Target, errors};
pub(crate) use arch::Arch;

/// The target.
pub struct Ptx;

/// The hooks of one emission.
pub(crate) struct PtxDevice {
    /// What it is compiled for.
    pub arch: Arch,
}

impl Target for Ptx {
    fn name(&self) -> &'static str {
        "ptx"
    }
    fn summary(&self) -> &'static str {
        "PTX for NVIDIA GPUs"
    }
    fn details(&self) -> &'static [&'static str] {
        arch::NAMES
    }
    fn form(&self) -> InputForm {
        InputForm { structured: false, phis: true, scalarised: true }
    }
    fn lanes_meet_where_paths_meet(&self) -> bool {
        true
    }
    fn supports(&self, op: Op) -> Support {
        supports(op)
    }
    fn keeps_native(&self, op: A, scalar: Scalar, math: MathMode, _detail: &str) -> bool {
        keeps_native(op, scalar, math)
    }
    fn canonical_detail(&self, detail: Option<&str>) -> Result<String, Diagnostic> {
        Arch::parse(detail).map(|a| a.name.to_string())
    }
    fn emit(
        &self,
        module: &Module,
        kernel: FunctionId,
        options: &EmitOptions,
    ) -> Result<Artifact, Diagnostics> {
        emit(module, kernel, options).map_err(|e| Diagnostics(vec![*e]))
    }
    fn emit_function(
        &self,
        module: &Module,
        function: FunctionId,
        options: &EmitOptions,
    ) -> Result<DeviceFunction, Diagnostics> {
        emit_function(module, function, options).map_err(|e| Diagnostics(vec![*e]))
    }
}

/// Texture objects sample by the level or, in two dimensions, the gradients. A least level beside gradients, and a sampler that is not in
/// the object, no instruction takes; gradients in three dimensions `ptxas` makes a call of a function that no driver links.
fn supports(op: Op) -> Support {
    let Op::ResourceQuery(query) = op else { return crate::addressed_core(op) };
    let name = query.name();
    let in_software = name.ends_with("_grad_level")
        || name.ends_with("_sampler")
        || (name.contains("3d") && name.ends_with("_grad"));
    if query.samples() && !in_software {
        return Support::Native;
    }
    crate::addressed_core(op)
}

/// Operations on floats that PTX holds exactly, or fast within the bound of the documentation.
fn keeps_native(op: A, scalar: Scalar, math: MathMode) -> bool {
    match op {
        op if plain_float_operation(op) => true,
        A::Clamp
        | A::Saturate
        | A::Step
        | A::Min
        | A::Max
        | A::Sqrt
        | A::Ceil
        | A::Floor
        | A::Fract
        | A::Trunc
        | A::Round
        | A::Rint
        | A::Fma
        | A::Copysign => true,
        A::Rsqrt | A::Exp2 => math == MathMode::Fast && scalar == Scalar::F32,
        _ => false,
    }
}

fn emit(module: &Module, kernel: FunctionId, options: &EmitOptions) -> Emit<Artifact> {
    let arch = Arch::parse(Some(&options.detail)).map_err(Box::new)?;
    crate::check_externals(module, kernel)?;
    let device = PtxDevice { arch };
    super::compile("ptx", module, kernel, options, &device, &machine(arch), |cx, metadata| {
        finish(cx, metadata, arch)
    })
}

/// What every thread reads from the machine, whoever launched it.
const REGISTERS: [SpecialRegister; 4] = [
    SpecialRegister::ThreadId,
    SpecialRegister::BlockId,
    SpecialRegister::WarpLaneId,
    SpecialRegister::WarpSize,
];

fn emit_function(module: &Module, root: FunctionId, options: &EmitOptions) -> Emit<DeviceFunction> {
    let arch = Arch::parse(Some(&options.detail)).map_err(Box::new)?;
    crate::functions::check(module, root, options, &REGISTERS)?;
    let device = PtxDevice { arch };
    super::compile_function(module, root, options, &device, &machine(arch), |_| Ok(()))
}

fn machine(arch: Arch) -> MachineSpec {
    MachineSpec {
        triple: "nvptx64-nvidia-cuda".to_string(),
        cpu: arch.name.to_string(),
        features: format!("+ptx{}", arch.ptx),
        reloc: RelocMode::Default,
        code_model: CodeModel::Default,
        file: FileType::Assembly,
        extension: "ptx",
    }
}

/// Most bytes of static shared memory of a block.
const SHARED_LIMIT: u64 = 48 * 1024;

fn finish(cx: &ModuleEmit<'_, '_>, metadata: &mut metadata::Metadata, arch: Arch) -> Emit<()> {
    let name = || cx.module.functions[cx.kernel].name.clone();
    if cx.shared_bytes > SHARED_LIMIT {
        return Err(Diagnostic::error(
            errors::SHARED_MEMORY,
            format!(
                "the shared variables take {} bytes, more than the {SHARED_LIMIT} that a block has",
                cx.shared_bytes
            ),
        )
        .in_function(name())
        .into());
    }
    let limit = arch.parameter_limit();
    if cx.layout.size > limit {
        return Err(Diagnostic::error(
            errors::PARAMETERS,
            format!(
                "the arguments take {} bytes, more than the {limit} of `{}` with PTX {}",
                cx.layout.size,
                arch.name,
                arch.version()
            ),
        )
        .in_function(name())
        .with_help("pass large values in a buffer")
        .into());
    }
    metadata.ptx = Some(metadata::Ptx { sm: arch.sm, version: arch.version() });
    if cx.facts(cx.kernel).wave {
        metadata.wave_lanes = Some(wave::LANES);
    }
    Ok(())
}
