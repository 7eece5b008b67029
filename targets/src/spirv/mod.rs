//! Target `spirv`: compute shaders for Vulkan.
//!
//! A kernel becomes one function: everything is inlined, so resources are module variables and nothing passes pointers. Control flow comes
//! structured, with phis from `-O1` on. What SPIR-V or Vulkan leave open is decided before, by passes, or here where it costs nothing:
//! see `docs/spirv.md`.

mod arithmetic;
mod atomics;
mod blocks;
mod casts;
mod composite;
mod constants;
mod control;
mod function;
mod images;
mod interface;
mod memory;
mod module;
mod plan;
mod raw;
mod resources;
mod types;
mod waves;

use std::borrow::Cow;

use luisac_artifact::bindings::Api;
use luisac_artifact::metadata::MathMode;
use luisac_ast::diagnostic::{Diagnostic, Diagnostics};
use luisac_ast::types::Scalar;
use luisac_xir::op::{
    ArithmeticOp as A, ResourceQueryOp, ResourceReadOp, ResourceWriteOp, ThreadGroupOp,
};
use luisac_xir::{FunctionId, Module, Op};
use rspirv::spirv::ExecutionMode;

use crate::log::{Logged, lower_log};
use crate::support::{listed_detail, plain_float_operation};
use crate::{Artifact, EmitOptions, ExtraText, InputForm, OptLevel, Support, Target, errors, held};
use function::{FnEmit, Given};

/// A result, or what is wrong.
type Emit<T> = Result<T, Box<Diagnostic>>;

/// The target.
pub struct Spirv;

/// SPIR-V versions, the default first: Vulkan 1.2 takes 1.5, Vulkan 1.1 takes 1.3 (1.4 by extension), Vulkan 1.3 takes 1.6.
/// Each may be followed by [`FLOAT_ATOMICS`].
const DETAILS: [&str; 8] = [
    "1.5",
    "1.3",
    "1.4",
    "1.6",
    "1.5+float-atomics",
    "1.3+float-atomics",
    "1.4+float-atomics",
    "1.6+float-atomics",
];

/// What a detail ends with that lets buffers of floats be added to by one instruction: `VK_EXT_shader_atomic_float`.
const FLOAT_ATOMICS: &str = "+float-atomics";

impl Target for Spirv {
    fn name(&self) -> &'static str {
        "spirv"
    }
    fn summary(&self) -> &'static str {
        "SPIR-V for Vulkan"
    }
    fn details(&self) -> &'static [&'static str] {
        &DETAILS
    }
    fn form(&self) -> InputForm {
        InputForm { structured: true, phis: true, scalarised: true }
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
        listed_detail(self, detail)
    }
    fn emit(
        &self,
        module: &Module,
        kernel: FunctionId,
        options: &EmitOptions,
    ) -> Result<Artifact, Diagnostics> {
        emit(module, kernel, options)
    }
}

fn supports(op: Op) -> Support {
    let refused = Support::Refused(errors::UNSUPPORTED_OPERATION);
    match op {
        Op::ResourceQuery(ResourceQueryOp::BufferDeviceAddress)
        | Op::ResourceRead(
            ResourceReadOp::DeviceAddressRead
            | ResourceReadOp::Texture2dReadLevel
            | ResourceReadOp::Texture3dReadLevel,
        )
        | Op::ResourceWrite(ResourceWriteOp::DeviceAddressWrite) => refused,
        Op::ResourceQuery(q) if q.samples() => Support::Native,
        Op::ResourceQuery(
            ResourceQueryOp::BindlessBufferSize
            | ResourceQueryOp::BindlessByteBufferSize
            | ResourceQueryOp::BindlessTexture2dSize
            | ResourceQueryOp::BindlessTexture3dSize
            | ResourceQueryOp::BindlessTexture2dSizeLevel
            | ResourceQueryOp::BindlessTexture3dSizeLevel,
        )
        | Op::ResourceRead(_)
        | Op::ResourceWrite(
            ResourceWriteOp::BindlessBufferWrite | ResourceWriteOp::BindlessByteBufferWrite,
        )
        | Op::If
        | Op::Switch
        | Op::Loop
        | Op::SimpleLoop
        | Op::Break
        | Op::Continue => Support::Native,
        Op::Call | Op::CondBr | Op::IndexedBranch => Support::Lowered,
        Op::ThreadGroup(ThreadGroupOp::ShaderExecutionReorder) => Support::Native,
        op => crate::compute_core(op),
    }
}

/// Operations on floats that SPIR-V holds exactly, or fast within the bounds of Vulkan. A fused multiply-add may be two operations there,
/// so it is no fused one under `--math precise`.
fn keeps_native(op: A, scalar: Scalar, math: MathMode) -> bool {
    match op {
        op if plain_float_operation(op) => true,
        A::Sqrt | A::Ceil | A::Floor | A::Trunc | A::Rint | A::Copysign => true,
        A::Rsqrt | A::Exp2 => math == MathMode::Fast && scalar == Scalar::F32,
        A::Fma => math == MathMode::Fast && scalar != Scalar::F16,
        _ => false,
    }
}

fn minor_version(detail: &str) -> Emit<u8> {
    let version = detail.strip_suffix(FLOAT_ATOMICS).unwrap_or(detail);
    let minor = version.strip_prefix("1.").and_then(|m| m.parse().ok());
    minor.filter(|m| (3..=6).contains(m)).ok_or_else(|| {
        Diagnostic::error(errors::UNKNOWN_DETAIL, format!("there is no SPIR-V `{detail}`")).into()
    })
}

fn emit(
    module: &Module,
    kernel: FunctionId,
    options: &EmitOptions,
) -> Result<Artifact, Diagnostics> {
    let one = |e: Box<Diagnostic>| Diagnostics(vec![*e]);
    crate::check_externals(module, kernel).map_err(one)?;
    let prepared = prepare(module, kernel, options)?;
    emit_prepared(module, kernel, &prepared, options).map_err(one)
}

/// A kernel as it is emitted.
struct Prepared<'a> {
    logged: Logged<'a>,
    /// Whether threads outside of the dispatch return first of all.
    outside_returns: bool,
}

/// The kernel with its prints and asserts as plain writes, and with all threads at its barriers. Threads that fail return, and threads
/// that have ended go on to barriers, which they cannot do in every place of structured control flow: it is taken apart before, and put
/// together again.
fn prepare<'a>(
    module: &'a Module,
    kernel: FunctionId,
    options: &EmitOptions,
) -> Result<Prepared<'a>, Diagnostics> {
    let func = &module.functions[kernel];
    let logs = |block| func.insts(block).any(|i| matches!(func.op(i), Op::Print | Op::Assert));
    if !func.blocks().any(logs) && !held::may_wait(module, kernel) {
        let module = Cow::Borrowed(module);
        let logged = Logged { module, kernel, formats: Vec::new(), has_log: false };
        return Ok(Prepared { logged, outside_returns: true });
    }
    // Passes may number functions anew.
    let kernel_of = |module: &Module| module.kernels().next().unwrap_or(kernel);
    let mut flat = held::alone(module, kernel);
    held::run(held::FLATTEN, &mut flat)?;
    let kernel = kernel_of(&flat);
    let logged = lower_log(&flat, kernel).map_err(|e| Diagnostics(vec![e]))?;
    let (formats, has_log) = (logged.formats, logged.has_log);
    let mut lowered = logged.module.into_owned();
    let waits = luisac_passes::holds_up(&lowered.functions[kernel_of(&lowered)]);
    let mut passes = Vec::new();
    if waits {
        passes.push(held::KEEP);
        passes.push(held::TIDY);
    }
    passes.push("lower_edge_cases{fast_math=false},restructure_cfg");
    if options.opt_level != OptLevel::O0 {
        passes.push("mem2reg,dce");
    }
    held::run(&passes.join(","), &mut lowered)?;
    let kernel = kernel_of(&lowered);
    let logged = Logged { module: Cow::Owned(lowered), kernel, formats, has_log };
    Ok(Prepared { logged, outside_returns: !waits })
}

fn emit_prepared(
    module: &Module,
    kernel: FunctionId,
    prepared: &Prepared<'_>,
    options: &EmitOptions,
) -> Emit<Artifact> {
    let (func, logged) = (&module.functions[kernel], &prepared.logged);
    let layout = crate::metadata::param_layout(&module.types, func, logged.has_log)?;
    let (slots, bindings) = crate::metadata::binding_slots(module, kernel, &layout, Api::Vulkan);
    let given = Given {
        xir: &logged.module,
        kernel: logged.kernel,
        options,
        layout: &layout,
        slots: &slots,
        bindings: &bindings,
        log_argument: logged.has_log.then_some(func.arguments.len()),
        minor: minor_version(&options.detail)?,
        outside_returns: prepared.outside_returns,
        // Devices may flush subnormals there, which `precise` keeps.
        adds_floats: options.detail.ends_with(FLOAT_ATOMICS) && options.math == MathMode::Fast,
    };
    let mut f = FnEmit::new(&given)?;
    let (entry, code) = f.run()?;
    let mut metadata = crate::metadata::describe(
        module,
        kernel,
        &layout,
        logged.formats.clone(),
        "spirv",
        options,
        Some(Api::Vulkan),
    );
    metadata.shared_bytes = f.interface.shared_bytes;
    metadata.features = features(&f.m);
    for n in f.block_size() {
        f.m.mode(ExecutionMode::LocalSize, n);
    }
    let too_large = f.too_large();
    let words = f.m.finish(&metadata.entry, entry, &code).ok_or(too_large)?;
    let mut texts = Vec::new();
    if options.spirv_asm {
        let text = disassemble(&words)?;
        texts.push(ExtraText { kind: "spirv-asm", extension: "spvasm", text });
    }
    let code = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    Ok(Artifact { code, extension: "spv", metadata, texts })
}

/// The capabilities that not every device has, by the names of SPIR-V.
fn features(m: &module::Module) -> Vec<String> {
    use rspirv::spirv::Capability as C;
    let everywhere = |c: &C| matches!(c, C::Shader | C::ImageQuery);
    let mut names: Vec<String> =
        m.capability_names().filter(|c| !everywhere(c)).map(|c| format!("{c:?}")).collect();
    names.sort_unstable();
    names
}

/// The text of a module.
fn disassemble(words: &[u32]) -> Emit<String> {
    use rspirv::binary::Disassemble;
    let module = rspirv::dr::load_words(words)
        .map_err(|e| internal(&format!("the module cannot be read back: {e}")))?;
    Ok(module.disassemble() + "\n")
}

fn internal(message: &str) -> Box<Diagnostic> {
    Diagnostic::error(errors::INTERNAL, format!("the SPIR-V emitter met {message}")).into()
}

fn wrong_form(message: &str) -> Box<Diagnostic> {
    Diagnostic::error(
        errors::WRONG_FORM,
        format!("the code is not in the form that `spirv` takes: {message}"),
    )
    .with_help("use a canned pipeline such as `@O2-structured-ssa`")
    .into()
}

fn refused(op: Op) -> Box<Diagnostic> {
    let name = op.sub_name().unwrap_or(op.mnemonic());
    Diagnostic::error(
        errors::UNSUPPORTED_OPERATION,
        format!("the target `spirv` does not hold the operation `{name}`"),
    )
    .into()
}

fn type_refused(name: &str) -> Box<Diagnostic> {
    Diagnostic::error(
        errors::UNSUPPORTED_TYPE,
        format!("the target `spirv` does not compute with `{name}`"),
    )
    .into()
}
