//! Target `hlsl`: HLSL 2021 for DXC.

mod atomics;
mod image;
mod memory;
mod sqrt;
mod target;
mod wave;

use luisac_artifact::bindings::SlotKind;
use luisac_xir::op::SpecialRegister;
use luisac_xir::{ArgumentKind, FunctionKind};
use std::fmt::Write;

use super::Emit;
use super::expr::Expr;
use super::function::{FnEmit, Resource};
use super::instances::Class;
use super::module::ModuleEmit;

pub use atomics::atomic;
pub use image::{
    bindless_query, bindless_read, bindless_write, image_read, image_size, image_type, image_write,
    sample,
};
pub use memory::{load, reinterpret, store};
pub use sqrt::sqrt_of_doubles;
pub use target::{Hlsl, Text, text};
pub use wave::thread_group;

/// Words that HLSL reserves beside the common ones, and functions that our text calls.
pub const WORDS: &[&str] = &[
    "AppendStructuredBuffer",
    "asm_fragment",
    "BlendState",
    "Buffer",
    "ByteAddressBuffer",
    "cbuffer",
    "centroid",
    "column_major",
    "compile",
    "compile_fragment",
    "CompileShader",
    "ComputeShader",
    "ConsumeStructuredBuffer",
    "DepthStencilState",
    "DepthStencilView",
    "discard",
    "DomainShader",
    "dword",
    "Effect",
    "export",
    "fxgroup",
    "GeometryShader",
    "globallycoherent",
    "groupshared",
    "Hullshader",
    "in",
    "inout",
    "InputPatch",
    "interface",
    "line",
    "lineadj",
    "linear",
    "LineStream",
    "matrix",
    "min16float",
    "min10float",
    "min16int",
    "min12int",
    "min16uint",
    "NULL",
    "nointerpolation",
    "noperspective",
    "out",
    "OutputPatch",
    "packoffset",
    "pass",
    "payload",
    "pixelfragment",
    "PixelShader",
    "point",
    "PointStream",
    "row_major",
    "RasterizerState",
    "RenderTargetView",
    "RWBuffer",
    "RWByteAddressBuffer",
    "RWStructuredBuffer",
    "RWTexture1D",
    "RWTexture2D",
    "RWTexture3D",
    "sample",
    "SamplerState",
    "SamplerComparisonState",
    "shared",
    "snorm",
    "stateblock",
    "StructuredBuffer",
    "stateblock_state",
    "string",
    "tbuffer",
    "technique",
    "technique10",
    "technique11",
    "Texture1D",
    "Texture2D",
    "Texture3D",
    "triangle",
    "triangleadj",
    "TriangleStream",
    "uniform",
    "unorm",
    "unsigned",
    "vector",
    "vertexfragment",
    "VertexShader",
    "int16_t",
    "uint16_t",
    "int32_t",
    "uint32_t",
    "int64_t",
    "uint64_t",
    "float16_t",
    "float32_t",
    "float64_t",
    "dst",
    "lit",
    "mad",
    "mul",
    "lerp",
    "frac",
    "fmod",
    "ddx",
    "ddy",
    "rcp",
    "noise",
    "log10",
    "clip",
    "degrees",
    "radians",
    "countbits",
    "reversebits",
    "firstbithigh",
    "firstbitlow",
    "asfloat",
    "asint",
    "asuint",
    "asdouble",
    "asfloat16",
    "asint16",
    "asuint16",
    "f16tof32",
    "f32tof16",
    "faceforward",
    "refract",
    "modf",
    "ldexp",
    "frexp",
    "isfinite",
    "msad4",
    "sincos",
    "vertices",
    "indices",
    "primitives",
    "cbuffers",
    "template",
    "unused",
    "words",
    "Params",
    "params",
    "packed",
];

/// The type of a buffer.
pub fn buffer_type(writable: bool) -> &'static str {
    if writable { "RWByteAddressBuffer" } else { "ByteAddressBuffer" }
}

/// Declares the resources of the kernel; the class of each argument.
pub fn resources(cx: &mut ModuleEmit<'_>) -> Vec<(Class, Resource)> {
    let kernel = &cx.module.functions[cx.kernel];
    let words = cx.layout.size / 16;
    cx.globals = format!("cbuffer Params : register(b0) {{\n    uint4 params[{words}];\n}};\n");
    let slots = cx.slots.clone();
    let mut made = Vec::new();
    for (i, argument) in kernel.arguments.iter().enumerate() {
        if argument.kind != ArgumentKind::Resource && slots.get(i).is_none_or(|s| s.is_empty()) {
            made.push((Class::Value, Resource::default()));
            continue;
        }
        let need =
            cx.needs.get(&cx.kernel).and_then(|n| n.arguments.get(i)).copied().unwrap_or_default();
        let fallback = super::fallback_name(argument, cx.types, i);
        let wish = argument.name.as_deref().unwrap_or(&fallback).to_string();
        let mut class = Class::Value;
        let mut resource = Resource::default();
        for slot in slots.get(i).into_iter().flatten() {
            let name = cx.names.fresh(&wish, &fallback);
            let index = slot.index;
            let (ty, letter) = match slot.kind {
                SlotKind::StorageBuffer => ("RWByteAddressBuffer".to_string(), 'u'),
                SlotKind::StorageImage => (image_type(cx.types, argument.ty, true), 'u'),
                SlotKind::SampledImage => (image_type(cx.types, argument.ty, false), 't'),
                _ => ("ByteAddressBuffer".to_string(), 't'),
            };
            let _ = writeln!(cx.globals, "{ty} {name} : register({letter}{index});");
            match slot.kind {
                SlotKind::StorageImage => {
                    class = Class::Storage { reads: need.reads, samples: need.samples };
                    resource.handle = name;
                }
                SlotKind::SampledImage => {
                    if class == Class::Value {
                        class = Class::Sampled;
                    }
                    resource.sampled = name;
                }
                kind => {
                    resource.writable = kind == SlotKind::StorageBuffer;
                    class = Class::Buffer { writable: resource.writable };
                    resource.handle = name;
                }
            }
        }
        if need.size {
            let word = cx.layout.offsets.get(i).map_or(0, |o| o / 16);
            resource.size = format!("params[{word}].z");
        }
        made.push((class, resource));
    }
    cx.globals.push('\n');
    made
}

/// The lines in front of the kernel's body, and its head.
pub fn head(f: &mut FnEmit<'_, '_>) -> Emit<String> {
    let kernel = f.func;
    let needs = f.cx.needs.get(&f.id).cloned().unwrap_or_default();
    let [x, y, z] = match kernel.kind {
        FunctionKind::Kernel { block_size } => block_size,
        _ => [1; 3],
    };
    let mut inputs = Vec::new();
    let semantics = [
        (SpecialRegister::DispatchId, "SV_DispatchThreadID"),
        (SpecialRegister::ThreadId, "SV_GroupThreadID"),
        (SpecialRegister::BlockId, "SV_GroupID"),
    ];
    for (register, semantic) in semantics {
        if needs.has(register) {
            inputs.push(format!("uint3 {} : {semantic}", f.specials[register as usize]));
        }
    }
    let name = crate::metadata::entry_symbol(kernel);
    let last = f.cx.layout.dispatch / 16;
    if f.cx.outside_returns {
        f.lines.open(format!("if (any(dispatch_id >= params[{last}].xyz)) {{"));
        f.lines.push("return;");
        f.lines.close("}");
    }
    let mut declare = |register: SpecialRegister, text: String| {
        if needs.has(register) {
            let ty = if register.ty() == luisac_ast::types::TypeId::U32 { "uint" } else { "uint3" };
            let line = format!("const {ty} {} = {text};", f.specials[register as usize]);
            f.lines.push(line);
        }
    };
    declare(SpecialRegister::DispatchSize, format!("params[{last}].xyz"));
    declare(SpecialRegister::KernelId, format!("params[{last}].w"));
    declare(SpecialRegister::WarpLaneId, "WaveGetLaneIndex()".to_string());
    declare(SpecialRegister::WarpSize, "WaveGetLaneCount()".to_string());
    for (i, argument) in kernel.arguments.iter().enumerate() {
        if f.form.classes.get(i) != Some(&Class::Value) || !kernel.has_uses(argument.value) {
            continue;
        }
        let offset = f.cx.layout.offsets.get(i).copied().unwrap_or(0);
        let text = memory::parameter(f.cx, argument.ty, offset);
        let fallback = super::fallback_name(argument, f.cx.types, i);
        let name = f.names.fresh(argument.name.as_deref().unwrap_or(&fallback), &fallback);
        let ty = f.cx.type_name(argument.ty);
        f.lines.push(format!("const {ty} {name} = {text};"));
        f.bind(argument.value, Expr::atom(name));
    }
    Ok(format!("[numthreads({x}, {y}, {z})]\nvoid {name}({}) {{\n", inputs.join(", ")))
}
