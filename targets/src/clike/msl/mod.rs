//! Target `msl`: Metal's shading language.

mod atomics;
mod image;
mod memory;
mod target;
mod wave;

use luisac_artifact::bindings::SlotKind;
use luisac_ast::types::TypeId;
use luisac_xir::op::SpecialRegister;
use luisac_xir::{ArgumentKind, FunctionKind};
use std::fmt::Write;

use super::Emit;
use super::expr::{Expr, Prec};
use super::function::{FnEmit, Resource};
use super::instances::Class;
use super::module::ModuleEmit;

pub use atomics::{atomic, component_of_shared};
pub use image::{
    bindless_query, bindless_read, bindless_write, image_read, image_size, image_type, image_write,
    sample,
};
pub use memory::{address_load, address_store, buffer_type, is_plain, load, store};
pub use target::Msl;
pub use wave::thread_group;

/// Words that MSL reserves beside the common ones, and names of its library that our text uses.
pub const WORDS: &[&str] = &[
    "access",
    "address",
    "alignas",
    "array",
    "array_ref",
    "as_type",
    "atomic",
    "atomic_bool",
    "atomic_float",
    "atomic_int",
    "atomic_uint",
    "atomic_ulong",
    "bias",
    "char16_t",
    "char32_t",
    "clz",
    "component",
    "coord",
    "copysign",
    "ctz",
    "depth2d",
    "discard_fragment",
    "fast",
    "filter",
    "fmax",
    "fmin",
    "fmod",
    "gradient2d",
    "gradient3d",
    "kernel",
    "level",
    "matrix",
    "max_anisotropy",
    "memory_order",
    "memory_order_relaxed",
    "mem_flags",
    "metal",
    "mesh",
    "min_lod_clamp",
    "mip_filter",
    "object_data",
    "packed_float3",
    "patch_control_point",
    "popcount",
    "ptrdiff_t",
    "ray_data",
    "reverse_bits",
    "sampler",
    "simd_all",
    "simd_any",
    "simd_ballot",
    "simd_broadcast",
    "simd_max",
    "simd_min",
    "simd_product",
    "simd_shuffle",
    "simd_sum",
    "simd_vote",
    "simdgroup_barrier",
    "size_t",
    "texture1d",
    "texture2d",
    "texture3d",
    "texturecube",
    "threadgroup",
    "threadgroup_barrier",
    "threadgroup_imageblock",
    "vec",
    "visible",
    "intersection",
    "int8_t",
    "uint8_t",
    "int16_t",
    "uint16_t",
    "int32_t",
    "uint32_t",
    "int64_t",
    "uint64_t",
    "bool2",
    "bool3",
    "bool4",
    "signbit",
    "fabs",
    "fdim",
    "sincos",
    "frexp",
    "ldexp",
    "modf",
    "nan",
    "powr",
    "tanpi",
    "sinpi",
    "cospi",
    "median3",
    "mad24",
    "mul24",
    "mulhi",
    "madhi",
    "absdiff",
    "addsat",
    "subsat",
    "hadd",
    "rhadd",
    "rotate",
    "extract_bits",
    "insert_bits",
    "faceforward",
    "refract",
    "INFINITY",
    "NAN",
    "M_PI_F",
    "Params",
    "params",
    "isfinite",
    "isnormal",
    "isordered",
    "isunordered",
    "max3",
    "min3",
    "fmax3",
    "fmin3",
    "distance_squared",
    "length_squared",
    "dfdx",
    "dfdy",
    "assert",
    "stage_in",
    "using",
    "char8_t",
    "concept",
    "requires",
    "co_await",
    "co_return",
    "co_yield",
    "constinit",
    "consteval",
    "bfloat",
];

/// Declares the resources of the kernel: the class of each argument. The parameters of the entry wait in `globals`.
pub fn resources(cx: &mut ModuleEmit<'_>) -> Vec<(Class, Resource)> {
    let kernel = &cx.module.functions[cx.kernel];
    let slots = cx.slots.clone();
    let mut members = String::new();
    let mut made = Vec::new();
    let mut log_name: Option<String> = None;
    cx.entry_parameters = vec!["constant Params& params [[buffer(0)]]".to_string()];
    for (i, argument) in kernel.arguments.iter().enumerate() {
        let need =
            cx.needs.get(&cx.kernel).and_then(|n| n.arguments.get(i)).copied().unwrap_or_default();
        let fallback = super::fallback_name(argument, cx.types, i);
        let name = cx.names.fresh(argument.name.as_deref().unwrap_or(&fallback), &fallback);
        let is_value =
            argument.kind != ArgumentKind::Resource && slots.get(i).is_none_or(|s| s.is_empty());
        // What the pass that lowers the log has added behind the arguments of the input.
        let log = cx.layout.log.filter(|&o| cx.layout.offsets.get(i) == Some(&o));
        if let Some(name) = log.filter(|_| is_value).and_then(|_| log_name.clone()) {
            let handle = format!("uint(params.{name}.x)");
            made.push((Class::Value, Resource { handle, ..Resource::default() }));
            continue;
        }
        if is_value {
            let memory = memory::memory_type(cx, argument.ty);
            let _ = writeln!(members, "    alignas(16) {memory} {name};");
            let handle = format!("params.{name}");
            made.push((Class::Value, Resource { handle, ..Resource::default() }));
            continue;
        }
        let _ = writeln!(members, "    alignas(16) ulong2 {name};");
        let mut resource = Resource::default();
        let mut class = Class::Value;
        for slot in slots.get(i).into_iter().flatten() {
            let index = slot.index;
            match slot.kind {
                SlotKind::StorageImage => {
                    class = Class::Storage { reads: need.reads, samples: need.samples };
                    let ty = image_type(cx.types, argument.ty, true, need.reads);
                    cx.entry_parameters.push(format!("{ty} {name} [[texture({index})]]"));
                    resource.handle = name.clone();
                }
                SlotKind::SampledImage => {
                    let ty = image_type(cx.types, argument.ty, false, true);
                    let own = if class == Class::Value {
                        class = Class::Sampled;
                        name.clone()
                    } else {
                        cx.names.fresh(&format!("{name}_sampled"), "image")
                    };
                    cx.entry_parameters.push(format!("{ty} {own} [[texture({index})]]"));
                    resource.sampled = own;
                }
                kind => {
                    resource.writable = kind == SlotKind::StorageBuffer;
                    class = Class::Buffer { writable: resource.writable };
                    let ty = buffer_type(cx, argument.ty, resource.writable);
                    cx.entry_parameters.push(format!("{ty} {name} [[buffer({index})]]"));
                    resource.handle = name.clone();
                }
            }
        }
        if log.is_some() {
            log_name = Some(name.clone());
        }
        resource.size = format!("params.{name}.y");
        made.push((class, resource));
    }
    let size = cx.layout.size;
    cx.helper("Params", |_| {
        format!(
            "struct Params {{\n{members}    alignas(16) uint4 dispatch;\n}};\nstatic_assert(sizeof(Params) == {size}, \"the layout of Params\");\n"
        )
    });
    made
}

/// The lines in front of the kernel's body, and its head.
pub fn head(f: &mut FnEmit<'_, '_>) -> Emit<String> {
    let kernel = f.func;
    let needs = f.cx.needs.get(&f.id).cloned().unwrap_or_default();
    let threads: u32 = match kernel.kind {
        FunctionKind::Kernel { block_size } => block_size.iter().product(),
        _ => 1,
    };
    let mut parameters = f.cx.entry_parameters.clone();
    let inputs = [
        (SpecialRegister::DispatchId, "uint3", "thread_position_in_grid"),
        (SpecialRegister::ThreadId, "uint3", "thread_position_in_threadgroup"),
        (SpecialRegister::BlockId, "uint3", "threadgroup_position_in_grid"),
        (SpecialRegister::WarpLaneId, "uint", "thread_index_in_simdgroup"),
        (SpecialRegister::WarpSize, "uint", "threads_per_simdgroup"),
    ];
    for (register, ty, attribute) in inputs {
        if needs.has(register) {
            parameters.push(format!("{ty} {} [[{attribute}]]", f.specials[register as usize]));
        }
    }
    if f.cx.outside_returns {
        f.lines.open("if (any(dispatch_id >= params.dispatch.xyz)) {");
        f.lines.push("return;");
        f.lines.close("}");
    }
    for (register, text) in [
        (SpecialRegister::DispatchSize, "params.dispatch.xyz"),
        (SpecialRegister::KernelId, "params.dispatch.w"),
    ] {
        if needs.has(register) {
            let ty = if register.ty() == TypeId::U32 { "uint" } else { "uint3" };
            let line = format!("const {ty} {} = {text};", f.specials[register as usize]);
            f.lines.push(line);
        }
    }
    for (i, argument) in kernel.arguments.iter().enumerate() {
        if f.form.classes.get(i) != Some(&Class::Value) || !kernel.has_uses(argument.value) {
            continue;
        }
        let text = Expr::atom(f.resources[i].handle.clone());
        let text = memory::from_memory(f.cx, argument.ty, text);
        if text.prec == Prec::Atom && text.depth == 0 {
            f.bind(argument.value, text);
            continue;
        }
        let fallback = super::fallback_name(argument, f.cx.types, i);
        let name = f.names.fresh(argument.name.as_deref().unwrap_or(&fallback), &fallback);
        let ty = f.cx.type_name(argument.ty);
        f.lines.push(format!("const {ty} {name} = {};", text.text));
        f.bind(argument.value, Expr::atom(name));
    }
    let name = crate::metadata::entry_symbol(kernel);
    let list = parameters.join(",\n    ");
    Ok(format!(
        "[[kernel, max_total_threads_per_threadgroup({threads})]]\nvoid {name}(\n    {list}) {{\n"
    ))
}
