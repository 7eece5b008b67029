//! C-like languages: HLSL and MSL as text, from structured control flow in memory form.
//!
//! One emitter, two dialects. [`plan`] turns the control flow of a function into a list of events, [`scopes`] says which names
//! must be declared where, [`function`] writes values and statements, and [`hlsl`] and `msl` hold what differs: memory,
//! resources, atomics, waves, the head of the kernel. Callables stay functions, one for each kind of resource they are
//! called with ([`instances`]).

mod arithmetic;
mod control;
mod expr;
mod function;
pub mod hlsl;
mod instances;
mod language;
mod lines;
mod literal;
mod module;
pub mod msl;
mod names;
mod place;
pub(crate) mod plan;
mod resources;
pub(crate) mod scopes;
mod wave;

use luisac_artifact::ParamLayout;
use luisac_artifact::bindings::{self, Api, Extras};
use luisac_artifact::metadata::{BoundsMode, MathMode, Metadata};
use luisac_ast::diagnostic::{Diagnostic, Diagnostics};
use luisac_ast::types::{TypeKind, TypeTable};
use luisac_xir::op::{ResourceQueryOp, ResourceReadOp, ResourceWriteOp, SpecialRegister};
use luisac_xir::{ArgumentKind, FunctionId, InstId, Module, Op};
use rustc_hash::FxHashMap;

use crate::support::bounds_pass;
use crate::usage::reachable_callees_first;
use crate::{EmitOptions, Support, errors};
use function::FnEmit;
use instances::{Class, Form};
use language::Language;
use module::{ModuleEmit, Uses};

/// What an emission gives, or one diagnostic.
pub type Emit<T> = Result<T, Box<Diagnostic>>;

/// Most bytes of local variables of one function: what all threads of a device together hold must stay possible.
const MAX_LOCAL_BYTES: u64 = 256 * 1024;

/// The name of an argument that has none.
fn fallback_name(argument: &luisac_xir::Argument, types: &TypeTable, position: usize) -> String {
    let kind = match types.kind(argument.ty) {
        TypeKind::Buffer { .. } => "buffer",
        TypeKind::Texture { .. } => "image",
        TypeKind::BindlessArray => "slots",
        _ => "arg",
    };
    format!("{kind}{position}")
}

/// The passes that bring structured code into the form that this emitter takes: mathematics as callables, checked indices, and no operand
/// that the languages leave open. `exact` names operations that the language defines as we do.
fn last_passes(exact: &str, options: &EmitOptions) -> String {
    let fast = options.math == MathMode::Fast;
    let bounds = match options.bounds {
        BoundsMode::Off => String::new(),
        mode => bounds_pass(mode, ",images=false") + ",",
    };
    let more = if fast { "|min.f16|min.f32|min.f64|max.f16|max.f32|max.f64" } else { "" };
    format!(
        "outline_math{{fast_math={fast},guards=true}},{bounds}lower_edge_cases{{native={exact}{more},fast_math={fast}}},dce"
    )
}

/// Whether a language holds an operation.
fn supports(language: Language, op: Op) -> Support {
    let addresses = if language == Language::Msl { Support::Native } else { refused() };
    match op {
        Op::ResourceQuery(q) if q.samples() => Support::Native,
        Op::ResourceQuery(
            ResourceQueryOp::BindlessBufferSize
            | ResourceQueryOp::BindlessByteBufferSize
            | ResourceQueryOp::BindlessTexture2dSize
            | ResourceQueryOp::BindlessTexture3dSize
            | ResourceQueryOp::BindlessTexture2dSizeLevel
            | ResourceQueryOp::BindlessTexture3dSizeLevel,
        )
        | Op::ResourceRead(
            ResourceReadOp::BindlessBufferRead
            | ResourceReadOp::BindlessByteBufferRead
            | ResourceReadOp::BindlessTexture2dRead
            | ResourceReadOp::BindlessTexture3dRead
            | ResourceReadOp::BindlessTexture2dReadLevel
            | ResourceReadOp::BindlessTexture3dReadLevel,
        )
        | Op::ResourceWrite(
            ResourceWriteOp::BindlessBufferWrite
            | ResourceWriteOp::BindlessByteBufferWrite
            | ResourceWriteOp::IndirectDispatchSetKernel
            | ResourceWriteOp::IndirectDispatchSetCount,
        ) => Support::Native,
        Op::ResourceQuery(
            ResourceQueryOp::BufferDeviceAddress | ResourceQueryOp::BindlessBufferDeviceAddress,
        )
        | Op::ResourceRead(ResourceReadOp::DeviceAddressRead)
        | Op::ResourceWrite(ResourceWriteOp::DeviceAddressWrite) => addresses,
        Op::Clock => refused(),
        Op::If | Op::Switch | Op::Loop | Op::SimpleLoop | Op::Break | Op::Continue => {
            Support::Native
        }
        op => crate::compute_core(op),
    }
}

fn refused() -> Support {
    Support::Refused(errors::UNSUPPORTED_OPERATION)
}

/// The text of a kernel, and what it asks for.
struct ModuleText {
    code: String,
    uses: Uses,
    shared_bytes: u64,
}

/// Writes a kernel and what it calls.
fn module_text(
    language: Language,
    module: &Module,
    kernel: FunctionId,
    options: &EmitOptions,
    api: Api,
) -> Emit<(ModuleText, Metadata)> {
    crate::check_externals(module, kernel)?;
    check_operations(language, module, kernel)?;
    let logged = crate::log::lower_log(module, kernel)?;
    let function = &module.functions[kernel];
    let mut layout = crate::metadata::param_layout(&module.types, function, logged.has_log)?;
    let mut places = crate::metadata::binding_slots(module, kernel, &layout, api);
    let name = if language == Language::Hlsl { "hlsl" } else { "msl" };
    let metadata = crate::metadata::describe(
        module,
        kernel,
        &layout,
        logged.formats,
        name,
        options,
        Some(api),
    );
    if let Some(offset) = layout.log {
        // The log and its capacity are arguments behind those of the input.
        layout.offsets.extend([offset, offset]);
        places.0.extend([places.1.log.into_iter().collect(), Vec::new()]);
    }
    let held = crate::held::hold(logged.module, logged.kernel).map_err(first)?;
    let module = &*held.module;
    let mut cx = ModuleEmit::new(language, module, held.kernel, options, layout, places)?;
    cx.outside_returns = held.outside_returns;
    let kernel = kernel_text(&mut cx)?;
    let code = waiting_functions(&mut cx)? + &kernel;
    let code = text_of(&cx, &code);
    Ok((ModuleText { code, uses: cx.uses, shared_bytes: cx.shared_bytes }, metadata))
}

/// Types, constants, globals and helpers, and the functions behind them.
fn text_of(cx: &ModuleEmit<'_>, functions: &str) -> String {
    let mut text = String::new();
    for part in cx.head() {
        text.push_str(part);
        if !part.is_empty() && !part.ends_with("\n\n") {
            text.push('\n');
        }
    }
    text.push_str(functions);
    text
}

/// Registers that a function takes as parameters, so that whoever calls it gives them.
const REGISTERS: [SpecialRegister; 7] = [
    SpecialRegister::ThreadId,
    SpecialRegister::BlockId,
    SpecialRegister::DispatchId,
    SpecialRegister::DispatchSize,
    SpecialRegister::KernelId,
    SpecialRegister::WarpLaneId,
    SpecialRegister::WarpSize,
];

/// Writes a callable and what it calls as functions that other code of the language calls, without an entry point.
fn function_module(
    language: Language,
    module: &Module,
    root: FunctionId,
    options: &EmitOptions,
) -> Emit<ModuleText> {
    crate::functions::check(module, root, options, &REGISTERS)?;
    check_operations(language, module, root)?;
    let layout = ParamLayout::of([], false)
        .map_err(|e| function::internal(&format!("an empty parameter block: {e}")))?;
    let api = if language == Language::Hlsl { Api::D3d12 } else { Api::Metal };
    let places = bindings::assign(api, &[], Extras::default());
    let mut cx = ModuleEmit::new(language, module, root, options, layout, places)?;
    let form = Form { function: root, classes: own_classes(&cx, root)? };
    let name = cx.form(form);
    debug_assert_eq!(name, crate::metadata::entry_symbol(&module.functions[root]));
    let code = waiting_functions(&mut cx)?;
    let code = text_of(&cx, &code);
    Ok(ModuleText { code, uses: cx.uses, shared_bytes: 0 })
}

/// What the arguments of a callable are where nobody's call says it.
fn own_classes(cx: &ModuleEmit<'_>, root: FunctionId) -> Emit<Vec<Class>> {
    let needs = cx.needs.get(&root).cloned().unwrap_or_default();
    let class = |(i, argument): (usize, &luisac_xir::Argument)| {
        let need = needs.arguments.get(i).copied().unwrap_or_default();
        Ok(match cx.types.kind(argument.ty) {
            TypeKind::Buffer { .. } => Class::Buffer { writable: need.writes },
            TypeKind::Texture { .. } if need.writes => {
                Class::Storage { reads: need.reads, samples: need.samples }
            }
            TypeKind::Texture { .. } => Class::Sampled,
            _ if argument.kind == ArgumentKind::Value => Class::Value,
            _ if argument.kind == ArgumentKind::Reference && cx.types.size(argument.ty) > 0 => {
                Class::Local
            }
            _ => {
                let what = cx.types.description(argument.ty);
                let language = cx.language.title();
                return Err(cx.refuse(
                    errors::UNSUPPORTED_TYPE,
                    format!("a function of {language} by itself cannot take `{what}`"),
                    "compile a kernel that calls it",
                ));
            }
        })
    };
    cx.module.functions[root].arguments.iter().enumerate().map(class).collect()
}

/// The first of several mistakes.
fn first(all: Diagnostics) -> Box<Diagnostic> {
    let one = all.0.into_iter().next().map(Box::new);
    one.unwrap_or_else(|| function::internal("the passes failed without a reason"))
}

/// Refuses operations that the language does not hold, by the first there is.
fn check_operations(language: Language, module: &Module, kernel: FunctionId) -> Emit<()> {
    for id in reachable_callees_first(module, kernel) {
        let function = &module.functions[id];
        let insts = function.blocks().flat_map(|b| function.insts(b));
        let is_refused =
            |&i: &InstId| matches!(supports(language, function.op(i)), Support::Refused(_));
        let Some(inst) = insts.into_iter().find(is_refused) else { continue };
        let op = function.op(inst);
        let name = op.sub_name().unwrap_or(op.mnemonic());
        let text = format!("{} does not hold the operation `{name}`", language.title());
        return Err(Box::new(
            Diagnostic::error(errors::UNSUPPORTED_OPERATION, text)
                .in_function(function.name.clone())
                .with_help("choose another target, or avoid the operation"),
        ));
    }
    Ok(())
}

/// The texts of all callables that are waited for, each after those that it calls.
fn waiting_functions(cx: &mut ModuleEmit<'_>) -> Emit<String> {
    let mut done: Vec<(FunctionId, String)> = Vec::new();
    while let Some(form) = cx.waiting.pop() {
        let name = cx.form(form.clone());
        done.push((form.function, callable_text(cx, form, &name)?));
    }
    let order: FxHashMap<FunctionId, usize> = reachable_callees_first(cx.module, cx.kernel)
        .into_iter()
        .enumerate()
        .map(|(place, id)| (id, place))
        .collect();
    done.sort_by_key(|(id, _)| order.get(id).copied());
    Ok(done.into_iter().map(|(_, text)| text).collect())
}

fn kernel_text(cx: &mut ModuleEmit<'_>) -> Emit<String> {
    let resources = match cx.language {
        Language::Hlsl => hlsl::resources(cx),
        Language::Msl => msl::resources(cx),
    };
    let classes: Vec<Class> = resources.iter().map(|(class, _)| class.clone()).collect();
    let form = Form { function: cx.kernel, classes };
    let language = cx.language;
    let (mut f, plan) = FnEmit::new(cx, form)?;
    f.resources = resources.into_iter().map(|(_, resource)| resource).collect();
    let head = match language {
        Language::Hlsl => hlsl::head(&mut f)?,
        Language::Msl => msl::head(&mut f)?,
    };
    f.body(&plan)?;
    Ok(finish(&f, head))
}

fn callable_text(cx: &mut ModuleEmit<'_>, form: Form, name: &str) -> Emit<String> {
    let (mut f, plan) = FnEmit::new(cx, form)?;
    let parameters = f.parameters()?;
    let ty = f.cx.type_name(f.func.return_type);
    let precise = f.precise(f.func.return_type);
    let head = format!("{precise}{ty} {name}({parameters}) {{\n");
    f.body(&plan)?;
    Ok(finish(&f, head))
}

fn finish(f: &FnEmit<'_, '_>, mut text: String) -> String {
    f.lines.write(&mut text, f.cx.options.source.as_ref().map(|s| s.file.as_str()));
    // A kernel ends by itself.
    if let Some(kept) = text.strip_suffix("    return;\n").filter(|_| f.lines.ends_flat()) {
        text.truncate(kept.len());
    }
    text.push_str("}\n\n");
    text
}

impl FnEmit<'_, '_> {
    fn atomic(&mut self, inst: InstId, op: luisac_xir::op::AtomicOp) -> Emit<()> {
        match self.cx.language {
            Language::Hlsl => hlsl::atomic(self, inst, op),
            Language::Msl => msl::atomic(self, inst, op),
        }
    }

    fn thread_group(&mut self, inst: InstId, op: luisac_xir::op::ThreadGroupOp) -> Emit<()> {
        match self.cx.language {
            Language::Hlsl => hlsl::thread_group(self, inst, op),
            Language::Msl => msl::thread_group(self, inst, op),
        }
    }
}
