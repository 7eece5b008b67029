//! Target `cpu`: objects that stand alone, for x86-64 and AArch64, in ELF, Mach-O and COFF.
//!
//! - `detail`: what `cpu:DETAIL` may be. - `entry`: the loops over the threads of a block. - `split`, `regions`: kernels with
//!   barriers.
//! - `kernel`: the hooks of the common emitter. - `numeric`, `image`, `wave`: operations. - `symbols`: the check of the object.

mod detail;
mod entry;
mod image;
mod kernel;
mod numeric;
mod regions;
mod split;
mod symbols;
#[cfg(test)]
mod tests;
mod wave;

use inkwell::targets::{CodeModel, FileType, RelocMode};
use luisac_artifact::metadata::{BoundsMode, MathMode};
use luisac_ast::diagnostic::{Diagnostic, Diagnostics};
use luisac_ast::types::Scalar;
use luisac_xir::op::{ArithmeticOp as A, SpecialRegister, ThreadGroupOp};
use luisac_xir::{Function, FunctionId, InstId, Module, Op};

use super::module::{internal, may_stop};
use super::{Emit, MachineSpec};
use crate::support::plain_float_operation;
use crate::{Artifact, DeviceFunction, EmitOptions, InputForm, Support, Target, errors};
use detail::Detail;
use split::{Growth, Split};

/// The target.
pub struct Cpu;

/// The hooks of one emission.
pub(crate) struct CpuDevice<'a> {
    /// What it is compiled for.
    pub detail: Detail,
    /// The regions, if the kernel has barriers.
    pub split: Option<&'a Split>,
}

impl Target for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }
    fn summary(&self) -> &'static str {
        "objects for processors"
    }
    fn details(&self) -> &'static [&'static str] {
        detail::NAMES
    }
    fn form(&self) -> InputForm {
        InputForm { structured: false, phis: true, scalarised: true }
    }
    fn supports(&self, op: Op) -> Support {
        crate::addressed_core(op)
    }
    fn keeps_native(&self, op: A, _scalar: Scalar, _math: MathMode, detail: &str) -> bool {
        match op {
            A::Fma => Detail::parse(Some(detail)).is_ok_and(|d| d.has_fma()),
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
            | A::Copysign => true,
            _ => false,
        }
    }
    fn canonical_detail(&self, detail: Option<&str>) -> Result<String, Diagnostic> {
        Detail::parse(detail).map(|d| d.name.to_string())
    }
    fn emit(
        &self,
        module: &Module,
        kernel: FunctionId,
        options: &EmitOptions,
    ) -> Result<Artifact, Diagnostics> {
        emit(module, kernel, options, Growth::default()).map_err(|e| Diagnostics(vec![*e]))
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

/// A wave is one thread.
const REGISTERS: [SpecialRegister; 2] = [SpecialRegister::WarpLaneId, SpecialRegister::WarpSize];

fn emit_function(module: &Module, root: FunctionId, options: &EmitOptions) -> Emit<DeviceFunction> {
    let detail = Detail::parse(Some(&options.detail)).map_err(Box::new)?;
    crate::functions::check(module, root, options, &REGISTERS)?;
    let device = CpuDevice { detail, split: None };
    let name = || module.functions[root].name.clone();
    let made = super::compile_function(module, root, options, &device, &machine(detail), |cx| {
        // A frame of more than a page would need a probe of the stack there.
        if detail.is_windows() && cx.scratch_bytes.get() > 0 {
            let message = "the local variables take more than a page of the stack, which needs a probe on Windows";
            return Err(Box::new(
                Diagnostic::error(errors::LOCAL_MEMORY, message)
                    .in_function(name())
                    .with_help("use smaller local arrays, or compile a kernel that calls it"),
            ));
        }
        Ok(())
    })?;
    symbols::check(&made.code).map_err(|mut e| {
        e.function = Some(name());
        e
    })?;
    Ok(made)
}

fn machine(detail: Detail) -> MachineSpec {
    MachineSpec {
        triple: detail.triple.to_string(),
        cpu: detail.cpu().to_string(),
        features: String::new(),
        reloc: RelocMode::PIC,
        code_model: CodeModel::Small,
        file: FileType::Object,
        extension: "o",
    }
}

fn emit(
    module: &Module,
    kernel: FunctionId,
    options: &EmitOptions,
    growth: Growth,
) -> Emit<Artifact> {
    let detail = Detail::parse(Some(&options.detail)).map_err(Box::new)?;
    crate::check_externals(module, kernel)?;
    let split = match has_barrier(&module.functions[kernel]) {
        true => Some(split_kernel(module, kernel, options.bounds, growth)?),
        false => None,
    };
    let module = split.as_ref().map_or(module, |s| &s.module);
    let device = CpuDevice { detail, split: split.as_ref() };
    let artifact = super::compile(
        "cpu",
        module,
        kernel,
        options,
        &device,
        &machine(detail),
        |cx, metadata| {
            metadata.scratch_bytes = cx.scratch_bytes.get();
            metadata.features = detail.features();
            if cx.facts(kernel).wave {
                metadata.wave_lanes = Some(1);
            }
            Ok(())
        },
    )?;
    symbols::check(&artifact.code).map_err(|mut e| {
        e.function = Some(module.functions[kernel].name.clone());
        e
    })?;
    Ok(artifact)
}

fn has_barrier(kernel: &Function) -> bool {
    kernel.blocks().any(|b| {
        kernel.insts(b).any(|i| kernel.op(i) == Op::ThreadGroup(ThreadGroupOp::SynchronizeBlock))
    })
}

fn split_kernel(
    module: &Module,
    kernel: FunctionId,
    bounds: BoundsMode,
    growth: Growth,
) -> Emit<Split> {
    let stopping = may_stop(module, kernel, bounds);
    let stops = |f: &Function, inst: InstId| stopping.instruction(f, inst);
    split::split(module, kernel, growth, &stops)
        .map_err(|e| internal(&format!("the kernel cannot be cut at its barriers: {e}")))
}
