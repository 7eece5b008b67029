//! The target `msl`.

use luisac_artifact::bindings::Api;
use luisac_artifact::metadata::MathMode;
use luisac_ast::diagnostic::{Diagnostic, Diagnostics};
use luisac_ast::types::Scalar;
use luisac_xir::op::ArithmeticOp as A;
use luisac_xir::{FunctionId, Module, Op};

use crate::clike::language::Language;
use crate::clike::{Emit, function_module, last_passes, module_text, supports};
use crate::support::{listed_detail, plain_float_operation};
use crate::{Artifact, DeviceFunction, EmitOptions, InputForm, Support, Target, errors};

/// The target.
pub struct Msl;

/// Details: versions of the language.
const VERSIONS: &[&str] = &["3.1", "3.0", "3.2"];

/// Most bytes of shared memory of a block.
const SHARED_LIMIT: u64 = 32 * 1024;

impl Target for Msl {
    fn name(&self) -> &'static str {
        "msl"
    }
    fn summary(&self) -> &'static str {
        "Metal's shading language"
    }
    fn details(&self) -> &'static [&'static str] {
        VERSIONS
    }
    fn form(&self) -> InputForm {
        InputForm { structured: true, phis: false, scalarised: false }
    }
    fn supports(&self, op: Op) -> Support {
        supports(Language::Msl, op)
    }
    fn keeps_native(&self, op: A, _scalar: Scalar, math: MathMode, _detail: &str) -> bool {
        keeps_native(op, math)
    }
    fn last_passes(&self, options: &EmitOptions) -> String {
        let exact = "floor|ceil|trunc|rint|round|copysign|abs.f16|abs.f32|clz|ctz|popcount|reverse";
        last_passes(exact, options)
    }
    fn canonical_detail(&self, detail: Option<&str>) -> Result<String, Diagnostic> {
        listed_detail(self, detail)
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
        let made = function_module(Language::Msl, module, function, options)
            .map_err(|e| Diagnostics(vec![*e]))?;
        Ok(DeviceFunction {
            symbol: crate::metadata::entry_symbol(&module.functions[function]),
            code: whole(&made.code, options).into_bytes(),
            extension: "metal",
            texts: Vec::new(),
        })
    }
}

/// Operations on floats that Metal holds exactly, or fast within the bounds of the documentation.
fn keeps_native(op: A, math: MathMode) -> bool {
    match op {
        op if plain_float_operation(op) => true,
        A::Floor | A::Ceil | A::Trunc | A::Rint | A::Round | A::Sqrt | A::Fma | A::Copysign => true,
        // A number wins over NaN there too; only the order of the zeros is open.
        A::Min | A::Max | A::Rsqrt | A::Exp2 | A::Log2 => math == MathMode::Fast,
        _ => false,
    }
}

fn emit(module: &Module, kernel: FunctionId, options: &EmitOptions) -> Emit<Artifact> {
    let (made, mut metadata) = module_text(Language::Msl, module, kernel, options, Api::Metal)?;
    if made.shared_bytes > SHARED_LIMIT {
        return Err(Box::new(
            Diagnostic::error(
                errors::SHARED_MEMORY,
                format!(
                    "the shared variables take {} bytes, more than the {SHARED_LIMIT} that a block has",
                    made.shared_bytes
                ),
            )
            .in_function(module.functions[kernel].name.clone()),
        ));
    }
    metadata.shared_bytes = made.shared_bytes as _;
    let code = whole(&made.code, options);
    Ok(Artifact { code: code.into_bytes(), extension: "metal", metadata, texts: Vec::new() })
}

/// A text with what stands in front of all.
fn whole(text: &str, options: &EmitOptions) -> String {
    // Metal's fast mathematics takes NaN for impossible; what `--math fast` allows needs no flag.
    let mut code = format!("// Metal {}, compile with -fno-fast-math", options.detail);
    code.push_str("\n\n#include <metal_stdlib>\nusing namespace metal;\n\n");
    if options.math == MathMode::Precise {
        code.push_str("#pragma clang fp contract(off)\n\n");
    }
    code.push_str(text);
    code
}
