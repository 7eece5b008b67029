//! The metadata of a kernel and the layout of its parameter block.

use luisac_artifact::ParamLayout;
use luisac_artifact::abi::ArgumentShape;
use luisac_artifact::bindings::{self, Api, Bindings, Slot};
use luisac_artifact::metadata::{self, Argument, ArgumentKind, Format, Metadata, Params, Usage};
use luisac_ast::diagnostic::Diagnostic;
use luisac_ast::types::{TypeId, TypeKind, TypeTable};
use luisac_xir::{Function, FunctionId, FunctionKind, Module};

use crate::{EmitOptions, errors, usage};

/// What an argument is to the parameter block.
pub(crate) fn argument_kind(types: &TypeTable, ty: TypeId) -> ArgumentKind {
    match types.kind(ty) {
        TypeKind::Buffer { .. } => ArgumentKind::Buffer,
        TypeKind::Texture { .. } => ArgumentKind::Image,
        TypeKind::BindlessArray => ArgumentKind::BindlessArray,
        TypeKind::Accel => ArgumentKind::Accel,
        TypeKind::Custom(name) if &**name == "LC_IndirectDispatchBuffer" => {
            ArgumentKind::IndirectDispatch
        }
        _ => ArgumentKind::Value,
    }
}

fn shape(kind: ArgumentKind, size: u64) -> ArgumentShape {
    match kind {
        ArgumentKind::Value => ArgumentShape::Value { size },
        ArgumentKind::Buffer => ArgumentShape::Buffer,
        ArgumentKind::Image => ArgumentShape::Image,
        ArgumentKind::BindlessArray => ArgumentShape::BindlessArray,
        ArgumentKind::Accel => ArgumentShape::Accel,
        ArgumentKind::IndirectDispatch => ArgumentShape::IndirectDispatch,
    }
}

/// Where the arguments of a kernel lie, with or without a log.
pub(crate) fn param_layout(
    types: &TypeTable,
    kernel: &Function,
    log: bool,
) -> Result<ParamLayout, Diagnostic> {
    let shapes =
        kernel.arguments.iter().map(|a| shape(argument_kind(types, a.ty), types.size(a.ty)));
    ParamLayout::of(shapes, log).map_err(|e| {
        Diagnostic::error(errors::PARAMETERS, e.to_string())
            .in_function(kernel.name.clone())
            .with_help(e.help())
    })
}

/// The symbol of a kernel's entry point, or of a callable that others call: `kernel_` or `callable_` and its name, with `_` for what a
/// symbol cannot hold.
pub(crate) fn entry_symbol(function: &Function) -> String {
    let clean = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = function.name.chars().take(200).map(clean).collect();
    let kind = if function.is_kernel() { "kernel" } else { "callable" };
    if name.is_empty() { format!("{kind}_main") } else { format!("{kind}_{name}") }
}

/// The metadata of a kernel; what only the target knows (`shared_bytes`, `scratch_bytes`, features, lanes, `ptx`) is left empty. `api` is
/// the model of binding that the target follows, if it binds by number.
pub(crate) fn describe(
    module: &Module,
    id: FunctionId,
    layout: &ParamLayout,
    formats: Vec<Format>,
    target: &str,
    options: &EmitOptions,
    api: Option<Api>,
) -> Metadata {
    let kernel = &module.functions[id];
    let block_size = match kernel.kind {
        FunctionKind::Kernel { block_size } => block_size,
        _ => [1; 3],
    };
    let uses = usage::argument_uses(module, id);
    let (slots, bindings) = match api.map(|api| binding_slots(module, id, layout, api)) {
        Some((slots, bindings)) => (slots, Some(bindings)),
        None => (Vec::new(), None),
    };
    let arguments = kernel
        .arguments
        .iter()
        .zip(&layout.offsets)
        .enumerate()
        .map(|(i, (a, &offset))| {
            let used = uses.get(i);
            let usage = used.map_or(Usage::ReadWrite, |u| u.usage);
            let slots = slots.get(i).cloned().unwrap_or_default();
            let sampled = used.is_some_and(|u| u.sampled && u.kind == ArgumentKind::Image);
            Argument { slots, sampled, ..argument(&module.types, a, offset, usage) }
        })
        .collect();
    Metadata {
        schema: metadata::SCHEMA.to_string(),
        version: metadata::VERSION,
        kernel: kernel.name.clone(),
        entry: entry_symbol(kernel),
        target: format!("{target}:{}", options.detail),
        block_size,
        arguments,
        params: Params { size: layout.size, dispatch: layout.dispatch, log: layout.log },
        shared_bytes: 0,
        scratch_bytes: 0,
        formats,
        features: Vec::new(),
        wave_lanes: None,
        math: options.math,
        bounds: options.bounds,
        bindings,
        ptx: None,
        dxil: None,
        compiler: options.provenance.compiler.clone(),
        input_hash: options.provenance.input_hash.clone(),
        options_hash: options.provenance.options_hash.clone(),
    }
}

/// Where a kernel's resources are bound in an API: the slots of each argument, and the rest.
pub(crate) fn binding_slots(
    module: &Module,
    kernel: FunctionId,
    layout: &ParamLayout,
    api: Api,
) -> (Vec<Vec<Slot>>, Bindings) {
    let extras = bindings::Extras { log: layout.log.is_some(), ..usage::extras(module, kernel) };
    bindings::assign(api, &usage::argument_uses(module, kernel), extras)
}

fn argument(types: &TypeTable, a: &luisac_xir::Argument, offset: u32, usage: Usage) -> Argument {
    let kind = argument_kind(types, a.ty);
    let (element_size, element_align) = match types.kind(a.ty) {
        TypeKind::Buffer { elem, .. } if *elem == TypeId::VOID => (1, 1),
        TypeKind::Buffer { elem, .. } => (types.size(*elem), u64::from(types.align(*elem))),
        _ if kind == ArgumentKind::Value => (types.size(a.ty), u64::from(types.align(a.ty))),
        _ => (0, 1),
    };
    let size = shape(kind, types.size(a.ty)).size();
    Argument {
        name: a.name.as_deref().map(str::to_string),
        kind,
        ty: types.description(a.ty),
        element_size,
        element_align,
        usage: if kind == ArgumentKind::Value { Usage::Read } else { usage },
        sampled: false,
        captured: a.captured,
        binding: None,
        offset,
        // The layout has checked that the whole block is small.
        size: size as u32,
        slots: Vec::new(),
    }
}
