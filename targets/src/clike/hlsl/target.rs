//! The target `hlsl`.

use luisac_artifact::bindings::Api;
use luisac_artifact::metadata::{MathMode, Metadata};
use luisac_ast::diagnostic::{Diagnostic, Diagnostics};
use luisac_ast::types::Scalar;
use luisac_xir::op::ArithmeticOp as A;
use luisac_xir::{FunctionId, Module, Op};

use crate::clike::language::Language;
use crate::clike::module::Uses;
use crate::clike::{Emit, function_module, last_passes, module_text, supports};
use crate::support::{listed_detail, plain_float_operation};
use crate::{Artifact, DeviceFunction, EmitOptions, InputForm, Support, Target, errors};

/// The target.
pub struct Hlsl;

/// Details: shader models; `auto` is the lowest that a kernel needs.
pub const MODELS: &[&str] =
    &["auto", "6.0", "6.1", "6.2", "6.3", "6.4", "6.5", "6.6", "6.7", "6.8"];

/// Most bytes of shared memory of a block.
const SHARED_LIMIT: u64 = 32 * 1024;

impl Target for Hlsl {
    fn name(&self) -> &'static str {
        "hlsl"
    }
    fn summary(&self) -> &'static str {
        "HLSL 2021 for Direct3D 12"
    }
    fn details(&self) -> &'static [&'static str] {
        MODELS
    }
    fn form(&self) -> InputForm {
        InputForm { structured: true, phis: false, scalarised: false }
    }
    /// DXC turns the text into blocks with jumps, and forgets that an arm which leaves a loop belongs to a round of it.
    fn lanes_meet_where_paths_meet(&self) -> bool {
        true
    }
    fn supports(&self, op: Op) -> Support {
        supports(Language::Hlsl, op)
    }
    fn keeps_native(&self, op: A, scalar: Scalar, math: MathMode, _detail: &str) -> bool {
        keeps_native(op, scalar, math)
    }
    fn last_passes(&self, options: &EmitOptions) -> String {
        last_passes("floor|ceil|trunc|rint|abs.f16|abs.f32|abs.f64", options)
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
        let made = text(module, kernel, options).map_err(|e| Diagnostics(vec![*e]))?;
        Ok(Artifact {
            code: made.code.into_bytes(),
            extension: "hlsl",
            metadata: made.metadata,
            texts: Vec::new(),
        })
    }
    fn emit_function(
        &self,
        module: &Module,
        function: FunctionId,
        options: &EmitOptions,
    ) -> Result<DeviceFunction, Diagnostics> {
        let fail = |e: Box<Diagnostic>| Diagnostics(vec![*e]);
        let made = function_module(Language::Hlsl, module, function, options).map_err(fail)?;
        let root = &module.functions[function];
        let model = shader_model(made.uses, options, &root.name).map_err(fail)?;
        Ok(DeviceFunction {
            symbol: crate::metadata::entry_symbol(root),
            code: (first_line(made.uses, model) + &made.code).into_bytes(),
            extension: "hlsl",
            texts: Vec::new(),
        })
    }
}

/// Operations on floats that HLSL holds exactly, or fast within the bounds of the documentation. Everything that is no more than an
/// operator stays too.
pub fn keeps_native(op: A, scalar: Scalar, math: MathMode) -> bool {
    match op {
        op if plain_float_operation(op) => true,
        // Direct3D has these for single and half only.
        A::Floor | A::Ceil | A::Trunc | A::Rint | A::Sqrt => scalar != Scalar::F64,
        A::Fma => scalar == Scalar::F64,
        // A number wins over NaN there too; only the order of the zeros is open.
        A::Min | A::Max => math == MathMode::Fast,
        A::Rsqrt | A::Exp2 | A::Log2 => math == MathMode::Fast && scalar == Scalar::F32,
        _ => false,
    }
}

/// A kernel as text.
pub struct Text {
    pub code: String,
    pub metadata: Metadata,
    /// The minor number of shader model 6 that it is for.
    pub model: u32,
    /// Whether it has integers or floats of 16 bits.
    pub short: bool,
}

/// Writes a kernel.
///
/// # Errors
/// What HLSL, or the shader model, does not hold.
pub fn text(module: &Module, kernel: FunctionId, options: &EmitOptions) -> Emit<Text> {
    let (mut made, mut metadata) =
        module_text(Language::Hlsl, module, kernel, options, Api::D3d12)?;
    let uses = made.uses;
    let name = &module.functions[kernel].name;
    let model = shader_model(uses, options, name)?;
    if made.shared_bytes > SHARED_LIMIT {
        return Err(Box::new(
            Diagnostic::error(
                errors::SHARED_MEMORY,
                format!(
                    "the shared variables take {} bytes, more than the {SHARED_LIMIT} that a block has",
                    made.shared_bytes
                ),
            )
            .in_function(name.clone()),
        ));
    }
    metadata.target = format!("hlsl:6.{model}");
    metadata.shared_bytes = made.shared_bytes as _;
    metadata.features = features(uses);
    made.code.insert_str(0, &first_line(uses, model));
    Ok(Text { code: made.code, metadata, model, short: uses.short })
}

/// The comment that a text starts with: what it is compiled for, and how.
fn first_line(uses: Uses, model: u32) -> String {
    let types = if uses.short { ", compile with -enable-16bit-types" } else { "" };
    format!("// HLSL 2021, shader model 6.{model}{types}\n\n")
}

/// The minor number of shader model 6 for a text of this function: the one that is asked for, or the lowest that will do.
fn shader_model(uses: Uses, options: &EmitOptions, name: &str) -> Emit<u32> {
    let needed = if uses.long_atomics {
        6
    } else if uses.short {
        2
    } else {
        0
    };
    let asked: Option<u32> = options.detail.strip_prefix("6.").and_then(|m| m.parse().ok());
    // From 6.2 on DXC can be told to keep subnormals.
    let least = if options.math == MathMode::Precise { needed.max(2) } else { needed };
    let model = asked.unwrap_or(least);
    if model < needed {
        let what = if needed == 6 { "atomic operations on 64 bits" } else { "numbers of 16 bits" };
        return Err(Box::new(
            Diagnostic::error(
                errors::UNSUPPORTED_OPERATION,
                format!("{what} need shader model 6.{needed}, and this is for 6.{model}"),
            )
            .in_function(name)
            .with_help(format!("use the detail `6.{needed}` or higher")),
        ));
    }
    Ok(model)
}

/// What the device must be able to do, by the names that Direct3D gives it.
fn features(uses: Uses) -> Vec<String> {
    let names = [
        (uses.short, "Native16BitShaderOpsSupported"),
        (uses.long, "Int64ShaderOps"),
        (uses.double, "DoublePrecisionFloatShaderOps"),
        (uses.long_shared_atomics, "AtomicInt64OnGroupSharedSupported"),
        (uses.wave, "WaveOps"),
    ];
    names.into_iter().filter(|(used, _)| *used).map(|(_, name)| name.to_string()).collect()
}
