//! WGSL and GLSL through naga: structured control flow in memory form becomes naga's IR, naga validates it and writes the text.
//!
//! One kernel is one entry point: everything is inlined before. What the languages leave open is guarded before
//! (`lower_edge_cases`, `lower_bounds`), and the log is written by plain instructions ([`crate::log`]).
//!
//! Buffers are arrays of words, so that every layout of the language can be read ([`words`]); integers of 8 and 16 bits
//! are held in 32 ([`types`]). Integers of 64 bits, halves, doubles and subgroups are features of the device, named in the
//! metadata. Bindless arrays, ray tracing, addresses, and atomics on anything but 32 bits are refused.
//!
//! naga validates and writes by recursion on the nesting of blocks, which is bounded here, on a stack of its own.

mod arithmetic;
mod atomics;
mod body;
mod function;
mod interface;
mod resources;
#[cfg(test)]
mod tests;
mod types;
mod waves;
mod words;

use cranelift_entity::EntityRef;
use luisac_artifact::bindings::Api;
use luisac_artifact::metadata::{MathMode, Metadata};
use luisac_ast::diagnostic::{Diagnostic, Diagnostics};
use luisac_ast::types::{Scalar, TypeId, TypeTable};
use luisac_xir::op::{
    ArithmeticOp, ResourceReadOp as R, ResourceWriteOp as W, Space, ThreadGroupOp,
};
use luisac_xir::{Function, FunctionId, FunctionKind, InstId, Module, Op, ValueDef, ValueId};
use naga::back::{glsl, wgsl};
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};

use crate::clike::plan::Plan as ControlPlan;
use crate::log::lower_log;
use crate::support::{bounds_pass, listed_detail};
use crate::{Artifact, EmitOptions, InputForm, Support, Target, errors};
use body::Body;
use function::{Facts, FnEmit};
use interface::Interface;

/// What an emission gives, or one diagnostic.
type Emit<T> = Result<T, Box<Diagnostic>>;

/// Most bytes of local variables of a thread.
const MAX_LOCAL_BYTES: u64 = 256 * 1024;
/// Most bytes of shared memory of a block, the least that WebGPU promises.
const MAX_SHARED_BYTES: u64 = 32 * 1024;
/// Most instructions of a kernel with all that it calls put into it.
const MAX_INSTS: u32 = 100_000;
/// The stack that naga gets.
const STACK: usize = 256 << 20;

/// A language that naga writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    Wgsl,
    Glsl,
}

/// The target `wgsl`.
pub struct Wgsl;
/// The target `glsl`.
pub struct Glsl;

impl Target for Wgsl {
    fn name(&self) -> &'static str {
        "wgsl"
    }
    fn summary(&self) -> &'static str {
        "WGSL for WebGPU"
    }
    fn details(&self) -> &'static [&'static str] {
        &["native"]
    }
    fn form(&self) -> InputForm {
        FORM
    }
    fn lanes_meet_where_paths_meet(&self) -> bool {
        true
    }
    fn last_passes(&self, options: &EmitOptions) -> String {
        last_passes(options)
    }
    fn supports(&self, op: Op) -> Support {
        supports(op)
    }
    fn keeps_native(&self, op: ArithmeticOp, scalar: Scalar, math: MathMode, _: &str) -> bool {
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
        emit(Language::Wgsl, module, kernel, options).map_err(|e| Diagnostics(vec![*e]))
    }
}

impl Target for Glsl {
    fn name(&self) -> &'static str {
        "glsl"
    }
    fn summary(&self) -> &'static str {
        "GLSL 4.50 compute shaders"
    }
    fn details(&self) -> &'static [&'static str] {
        &["450"]
    }
    fn form(&self) -> InputForm {
        FORM
    }
    fn lanes_meet_where_paths_meet(&self) -> bool {
        true
    }
    fn last_passes(&self, options: &EmitOptions) -> String {
        last_passes(options)
    }
    fn supports(&self, op: Op) -> Support {
        supports(op)
    }
    fn keeps_native(&self, op: ArithmeticOp, scalar: Scalar, math: MathMode, _: &str) -> bool {
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
        emit(Language::Glsl, module, kernel, options).map_err(|e| Diagnostics(vec![*e]))
    }
}

const FORM: InputForm = InputForm { structured: true, phis: false, scalarised: true };

/// The name as naga writes it: without underscores side by side, and with one behind a digit at the end.
fn entry_name(name: &str) -> String {
    let mut made = String::new();
    for c in name.chars() {
        if c != '_' || !made.ends_with('_') {
            made.push(c);
        }
    }
    let mut made = made.trim_end_matches('_').to_string();
    if made.ends_with(|c: char| c.is_ascii_digit()) {
        made.push('_');
    }
    made
}

/// What makes the code legal, at its end.
fn last_passes(options: &EmitOptions) -> String {
    let bounds = bounds_pass(options.bounds, "");
    format!(
        "inline{{inline_all=true,single_site_limit={MAX_INSTS},limit={MAX_INSTS},caller_limit={MAX_INSTS},override_noinline=true}},\
         unused_callable_removal,reg2mem,restructure_cfg,reg2mem,{bounds},\
         lower_edge_cases{{native=clz.u32|ctz.u32,fast_math={},short_words=false}},const_fold,dce",
        options.math == MathMode::Fast
    )
}

/// Operations on floats that the languages have, exactly or within the bounds of `--math fast`.
fn keeps_native(op: ArithmeticOp, scalar: Scalar, math: MathMode) -> bool {
    use ArithmeticOp::*;
    match op {
        Ceil | Floor | Trunc | Rint | Round | Copysign => true,
        Fma => scalar != Scalar::F16,
        Rsqrt | Exp2 | Log2 => math == MathMode::Fast && scalar == Scalar::F32,
        _ => false,
    }
}

fn supports(op: Op) -> Support {
    let refused = Support::Refused(errors::UNSUPPORTED_OPERATION);
    match op {
        Op::ResourceQuery(q) if q.samples() && !q.is_bindless() => Support::Native,
        Op::ResourceQuery(luisac_xir::op::ResourceQueryOp::BufferDeviceAddress) | Op::Clock => {
            refused
        }
        Op::ResourceRead(R::DeviceAddressRead) | Op::ResourceWrite(W::DeviceAddressWrite) => {
            refused
        }
        Op::If | Op::Switch | Op::Loop | Op::SimpleLoop | Op::Break | Op::Continue => {
            Support::Native
        }
        op => crate::compute_core(op),
    }
}

/// Compiles a kernel, on a stack that naga's recursion fits in.
fn emit(
    language: Language,
    module: &Module,
    kernel: FunctionId,
    options: &EmitOptions,
) -> Emit<Artifact> {
    let run = || emit_here(language, module, kernel, options);
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, run);
        let result = thread.ok().and_then(|t| t.join().ok());
        result.unwrap_or_else(|| {
            Err(Box::new(
                Diagnostic::error(errors::NAGA_REFUSED, "naga stopped without a result")
                    .with_help("report it, with the input and the options"),
            ))
        })
    })
}

fn emit_here(
    language: Language,
    source: &Module,
    kernel: FunctionId,
    options: &EmitOptions,
) -> Emit<Artifact> {
    crate::check_externals(source, kernel)?;
    check_operations(source, kernel)?;
    let logged = lower_log(source, kernel)?;
    let (name, extension) = match language {
        Language::Wgsl => ("wgsl", "wgsl"),
        Language::Glsl => ("glsl", "comp"),
    };
    let original = &source.functions[kernel];
    let layout = crate::metadata::param_layout(&source.types, original, logged.has_log)?;
    let api = Api::WebGpu;
    let (mut slots, bindings) = crate::metadata::binding_slots(source, kernel, &layout, api);
    let mut offsets = layout.offsets.clone();
    if logged.has_log {
        // The log and its capacity.
        slots.push(bindings.log.into_iter().collect());
        slots.push(Vec::new());
        offsets.extend(layout.log.iter().flat_map(|&o| [o, o]));
    }
    let mut metadata = crate::metadata::describe(
        source,
        kernel,
        &layout,
        logged.formats.clone(),
        name,
        options,
        Some(api),
    );
    metadata.entry = match language {
        Language::Wgsl => entry_name(&metadata.entry),
        Language::Glsl => "main".to_string(),
    };
    let held = crate::held::hold(logged.module, logged.kernel).map_err(|e| first(e, original))?;
    let func = &held.module.functions[held.kernel];
    let types = &held.module.types;
    let block_size = match func.kind {
        FunctionKind::Kernel { block_size } => block_size,
        _ => [1; 3],
    };
    let uses = Uses::of(types, func);
    let plan = interface::Plan {
        types,
        func,
        size: layout.size,
        offsets,
        dispatch: layout.dispatch,
        slots,
        bindings,
        block_size,
        atomic: uses.atomic,
        read_images: uses.read_images,
        outside_returns: held.outside_returns,
    };
    let precise = options.math == MathMode::Precise;
    let written = build(&plan, uses.atomic_shared, precise, &mut metadata)?;
    if language == Language::Glsl {
        check_glsl(&metadata, func)?;
    }
    let info = validate(&written, func)?;
    let text = write(language, &written, &info, &metadata.entry, func)?;
    Ok(Artifact { code: text.into_bytes(), extension, metadata, texts: Vec::new() })
}

/// The first of several mistakes.
fn first(all: Diagnostics, func: &Function) -> Box<Diagnostic> {
    let one = all.0.into_iter().next().map(Box::new);
    one.unwrap_or_else(|| wrong_form(func, "passes that failed without a reason"))
}

/// Builds naga's module, and notes what the device must be able to do.
fn build(
    plan: &interface::Plan<'_>,
    atomic_shared: Vec<ValueId>,
    precise: bool,
    metadata: &mut Metadata,
) -> Emit<naga::Module> {
    let func = plan.func;
    let control = ControlPlan::of(func)
        .map_err(|_| wrong_form(func, "control flow that is not structured"))?;
    let mut module = naga::Module::default();
    let mut body = Body::new("kernel");
    let interface = Interface::of(plan, &mut module, &mut body);
    let facts = Facts { atomic_shared };
    let mut f = FnEmit::new(plan.types, func, &control, module, body, interface, facts, precise);
    f.write(&control, plan.outside_returns)?;
    limits(&f)?;
    metadata.shared_bytes = f.shared_bytes as _;
    let (mut module, body) = (f.module, f.body);
    metadata.features = features(&module, func);
    module.entry_points.push(naga::EntryPoint {
        name: metadata.entry.clone(),
        stage: naga::ShaderStage::Compute,
        early_depth_test: None,
        workgroup_size: plan.block_size,
        workgroup_size_overrides: None,
        function: body.finish(),
        mesh_info: None,
        task_payload: None,
        incoming_ray_payload: None,
    });
    Ok(module)
}

fn wrong_form(func: &Function, what: &str) -> Box<Diagnostic> {
    Box::new(
        Diagnostic::error(errors::WRONG_FORM, format!("the kernel has {what}"))
            .in_function(func.name.clone())
            .with_help(
                "use a canned pipeline, or end yours with the passes that the target asks for",
            ),
    )
}

fn limits(f: &FnEmit<'_>) -> Emit<()> {
    let (code, what, bytes, limit) = match () {
        () if f.local_bytes > MAX_LOCAL_BYTES => {
            (errors::LOCAL_MEMORY, "local variables of a thread", f.local_bytes, MAX_LOCAL_BYTES)
        }
        () if f.shared_bytes > MAX_SHARED_BYTES => {
            (errors::SHARED_MEMORY, "shared variables of a block", f.shared_bytes, MAX_SHARED_BYTES)
        }
        () => return Ok(()),
    };
    Err(Box::new(
        Diagnostic::error(code, format!("the {what} take {bytes} bytes, more than {limit}"))
            .in_function(f.func.name.clone())
            .with_help("move large arrays into a buffer"),
    ))
}

/// What the device must be able to do, by the names of WebGPU and of naga.
fn features(module: &naga::Module, func: &Function) -> Vec<String> {
    let holds = |kind: Option<naga::ScalarKind>, width: u8| {
        module.types.iter().any(|(_, ty)| {
            let scalar = ty.inner.scalar();
            scalar.is_some_and(|s| s.width == width && kind.is_none_or(|k| k == s.kind))
        })
    };
    let float = Some(naga::ScalarKind::Float);
    let insts = || func.blocks().flat_map(|b| func.insts(b));
    let waves = insts().any(
        |i| matches!(func.op(i), Op::ThreadGroup(op) if op != ThreadGroupOp::SynchronizeBlock),
    );
    let longs = insts().any(|i| {
        func.args(i).iter().any(|&a| matches!(func.value_type(a), TypeId::I64 | TypeId::U64))
    });
    let names = [
        (holds(float, 2), "shader-f16"),
        (holds(float, 8), "shader-f64"),
        (longs || holds(Some(naga::ScalarKind::Uint), 8), "shader-int64"),
        (waves, "subgroups"),
    ];
    names.into_iter().filter(|(used, _)| *used).map(|(_, name)| name.to_string()).collect()
}

/// Refuses operations that the languages do not hold, by the first there is.
fn check_operations(module: &Module, kernel: FunctionId) -> Emit<()> {
    let func = &module.functions[kernel];
    let is_refused = |&i: &InstId| {
        let op = func.op(i);
        matches!(supports(op), Support::Refused(_)) || matches!(op, Op::Call | Op::Phi)
    };
    let Some(inst) = func.blocks().flat_map(|b| func.insts(b)).find(is_refused) else {
        return Ok(());
    };
    let op = func.op(inst);
    match op {
        Op::Phi => return Err(wrong_form(func, "phis")),
        Op::Call => {
            let text = format!(
                "the kernel takes more than {MAX_INSTS} instructions with all that it calls"
            );
            return Err(Box::new(
                Diagnostic::error(errors::TOO_LARGE, text)
                    .in_function(func.name.clone())
                    .with_help("call large functions less often, or choose another target"),
            ));
        }
        _ => {}
    }
    let name = op.sub_name().unwrap_or(op.mnemonic());
    let text = format!("the target does not hold the operation `{name}`");
    Err(Box::new(
        Diagnostic::error(errors::UNSUPPORTED_OPERATION, text)
            .in_function(func.name.clone())
            .with_help("choose another target, or avoid the operation"),
    ))
}

/// What a kernel does with its resources, as far as declarations depend on it.
struct Uses {
    /// Buffers, by argument, that atomics work on or that less than a word is stored in.
    atomic: Vec<bool>,
    read_images: Vec<bool>,
    atomic_shared: Vec<ValueId>,
}

impl Uses {
    fn of(types: &TypeTable, func: &Function) -> Uses {
        let count = func.arguments.len();
        let mut uses = Uses {
            atomic: vec![false; count],
            read_images: vec![false; count],
            atomic_shared: Vec::new(),
        };
        for inst in func.blocks().flat_map(|b| func.insts(b)) {
            let Some(&base) = func.args(inst).first() else { continue };
            let argument = match func.value_def(base) {
                ValueDef::Argument(i) => Some(i as usize),
                _ => None,
            };
            match (func.op(inst), argument) {
                (Op::Atomic(_), Some(i)) => uses.atomic[i] = true,
                (Op::Atomic(_), None) => uses.shared_atomic(func, base),
                (Op::ResourceRead(R::Texture2dRead | R::Texture3dRead), Some(i)) => {
                    uses.read_images[i] = true;
                }
                (Op::ResourceWrite(op), Some(i)) => {
                    let value = func.args(inst).get(2).copied();
                    let short = value.is_some_and(|v| types.align(func.value_type(v)) < 4);
                    let image = matches!(op, W::Texture2dWrite | W::Texture3dWrite);
                    uses.atomic[i] |= short && !image;
                }
                _ => {}
            }
        }
        uses
    }

    fn shared_atomic(&mut self, func: &Function, base: ValueId) {
        let root = func.base_of(base);
        let is_shared =
            func.def_inst(root).is_some_and(|i| func.op(i) == Op::Alloca(Space::Shared));
        if is_shared && !self.atomic_shared.contains(&root) {
            self.atomic_shared.push(root);
            self.atomic_shared.sort_by_key(|v| v.index());
        }
    }
}

fn validate(module: &naga::Module, func: &Function) -> Emit<ModuleInfo> {
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::all());
    validator.validate(module).map_err(|e| {
        let mut text = e.to_string();
        let mut source = std::error::Error::source(&e);
        while let Some(inner) = source {
            text.push_str(": ");
            text.push_str(&inner.to_string());
            source = inner.source();
        }
        refused_by_naga(func, &text)
    })
}

fn write(
    language: Language,
    module: &naga::Module,
    info: &ModuleInfo,
    entry: &str,
    func: &Function,
) -> Emit<String> {
    match language {
        Language::Wgsl => wgsl::write_string(module, info, wgsl::WriterFlags::empty())
            .map_err(|e| refused_by_naga(func, &e.to_string())),
        Language::Glsl => write_glsl(module, info, entry, func),
    }
}

fn write_glsl(
    module: &naga::Module,
    info: &ModuleInfo,
    entry: &str,
    func: &Function,
) -> Emit<String> {
    let options = glsl::Options {
        version: glsl::Version::Desktop(450),
        writer_flags: glsl::WriterFlags::empty(),
        binding_map: glsl_bindings(module),
        zero_initialize_workgroup_memory: false,
    };
    let pipeline = glsl::PipelineOptions {
        shader_stage: naga::ShaderStage::Compute,
        entry_point: entry.to_string(),
        multiview: None,
    };
    let policies = naga::proc::BoundsCheckPolicies::default();
    let mut text = String::new();
    glsl::Writer::new(&mut text, module, info, &options, &pipeline, policies)
        .and_then(|mut writer| writer.write())
        .map_err(|e| refused_by_naga(func, &e.to_string()))?;
    Ok(text)
}

/// naga writes no GLSL for halves and integers of 64 bits.
fn check_glsl(metadata: &Metadata, func: &Function) -> Emit<()> {
    let names = [("shader-f16", "halves"), ("shader-int64", "integers of 64 bits")];
    let Some((_, what)) =
        names.iter().find(|(name, _)| metadata.features.iter().any(|f| f == name))
    else {
        return Ok(());
    };
    Err(Box::new(
        Diagnostic::error(errors::UNSUPPORTED_TYPE, format!("the target `glsl` has no {what}"))
            .in_function(func.name.clone())
            .with_help("use narrower integers or `float`, or choose another target"),
    ))
}

/// OpenGL has no sets: the bindings of set 0 stay, samplers are joined with their images.
fn glsl_bindings(module: &naga::Module) -> glsl::BindingMap {
    let mut map = glsl::BindingMap::default();
    for (_, global) in module.global_variables.iter() {
        if let Some(binding) = global.binding
            && binding.group == 0
            && let Ok(number) = u8::try_from(binding.binding)
        {
            map.insert(binding, number);
        }
    }
    map
}

fn refused_by_naga(func: &Function, text: &str) -> Box<Diagnostic> {
    Box::new(
        Diagnostic::error(errors::NAGA_REFUSED, format!("naga refuses the kernel: {text}"))
            .in_function(func.name.clone())
            .with_help("choose another target, or report it with the input and the options"),
    )
}
