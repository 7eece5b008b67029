//! Target `cpu`: objects for any triple that LLVM has here.

mod kernel;

use inkwell::targets::{CodeModel, FileType, RelocMode};
use luisac_artifact::metadata::MathMode;
use luisac_ast::diagnostic::{Diagnostic, Diagnostics};
use luisac_ast::types::Scalar;
use luisac_xir::op::ArithmeticOp as A;
use luisac_xir::{FunctionId, Module, Op};

use super::{Emit, MachineSpec};
use crate::{Artifact, EmitOptions, InputForm, Support, Target, errors};

/// The target.
pub struct Cpu;

/// The hooks of one emission.
pub(crate) struct CpuDevice;

const NAMES: &[&str] = &["x86-64-v3"];

impl Target for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }
    fn summary(&self) -> &'static str {
        "objects for processors"
    }
    fn details(&self) -> &'static [&'static str] {
        NAMES
    }
    fn form(&self) -> InputForm {
        InputForm { structured: false, phis: true, scalarised: true }
    }
    fn supports(&self, op: Op) -> Support {
        crate::compute_core(op)
    }
    fn keeps_native(&self, op: A, _scalar: Scalar, _math: MathMode) -> bool {
        matches!(
            op,
            A::UnaryMinus
                | A::BinaryAdd
                | A::BinarySub
                | A::BinaryMul
                | A::BinaryDiv
                | A::BinaryLess
                | A::BinaryGreater
                | A::BinaryLessEqual
                | A::BinaryGreaterEqual
                | A::BinaryEqual
                | A::BinaryNotEqual
                | A::Select
                | A::Clamp
                | A::Saturate
                | A::Step
                | A::Abs
                | A::Min
                | A::Max
                | A::Isinf
                | A::Isnan
                | A::Sqrt
                | A::Ceil
                | A::Floor
                | A::Fract
                | A::Trunc
                | A::Round
                | A::Rint
                | A::Fma
                | A::Copysign
        )
    }
    fn canonical_detail(&self, detail: Option<&str>) -> Result<String, Diagnostic> {
        let wanted = detail.unwrap_or(NAMES[0]);
        if NAMES.contains(&wanted) {
            return Ok(wanted.to_string());
        }
        Err(Diagnostic::error(errors::UNKNOWN_DETAIL, format!("`cpu` has no detail `{wanted}`"))
            .with_help(format!("the details are {}", NAMES.join(", "))))
    }
    fn emit(
        &self,
        module: &Module,
        kernel: FunctionId,
        options: &EmitOptions,
    ) -> Result<Artifact, Diagnostics> {
        emit(module, kernel, options).map_err(|e| Diagnostics(vec![*e]))
    }
}

fn emit(module: &Module, kernel: FunctionId, options: &EmitOptions) -> Emit<Artifact> {
    let device = CpuDevice;
    let spec = MachineSpec {
        triple: "x86_64-unknown-linux-gnu".to_string(),
        cpu: "x86-64-v3".to_string(),
        features: String::new(),
        reloc: RelocMode::PIC,
        code_model: CodeModel::Default,
        file: FileType::Object,
        extension: "o",
    };
    super::compile("cpu", module, kernel, options, &device, &spec, |_, _| Ok(()))
}
