//! A callable as a function that other code calls: what it is called with, and how a header says so.
//!
//! Scalars are passed and returned as they are; a half as its 16 bits. Every other value lies in memory as in a buffer and is passed by
//! its address, the result by an address in front of the arguments. References are addresses. A resource is its two words in a parameter
//! block. So the function can be called from C and CUDA without a type of ours.

use std::fmt::Write;

use luisac_ast::types::{Scalar, TypeId, TypeKind, TypeTable};
use luisac_xir::{ArgumentKind, Function, FunctionId};

use super::Emit;
use super::indirect::is_indirect;
use super::ir::{FUNCTION, Ty, Val};
use super::launch::Launch;
use super::module::ModuleEmit;
use super::value::{Leaves, Value};
use crate::ExtraText;

/// Who calls the functions of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    /// C and C++ on the processor.
    C,
    /// CUDA device code.
    Cuda,
}

/// How one argument is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Passed {
    /// As it is.
    Scalar(Scalar),
    /// By the address of memory that is only read.
    Value,
    /// By the address of a variable.
    Reference,
    /// As two words of 64 bits.
    Resource,
    /// Not at all: nothing can be done with it.
    Nothing,
}

fn passed(types: &TypeTable, kind: ArgumentKind, ty: TypeId) -> Passed {
    let has_words = matches!(
        types.kind(ty),
        TypeKind::Buffer { .. } | TypeKind::Texture { .. } | TypeKind::BindlessArray
    );
    match (kind, types.kind(ty)) {
        _ if has_words || is_indirect(types, ty) => Passed::Resource,
        (ArgumentKind::Resource, _) => Passed::Nothing,
        (ArgumentKind::Reference, _) => Passed::Reference,
        (ArgumentKind::Value, TypeKind::Scalar(scalar)) => Passed::Scalar(*scalar),
        (ArgumentKind::Value, _) => Passed::Value,
    }
}

/// The scalar that is returned as it is, if it is one.
fn returned_scalar(types: &TypeTable, ty: TypeId) -> Option<Scalar> {
    match types.kind(ty) {
        TypeKind::Scalar(scalar) => Some(*scalar),
        _ => None,
    }
}

/// Makes the function that others call: it takes the arguments apart and calls the callable, which is declared and emitted too.
pub fn emit(cx: &mut ModuleEmit<'_, '_>, root: FunctionId) -> Emit<()> {
    cx.device.start_function(cx);
    let body = cx.declare(root)?;
    if !cx.module.functions[root].no_inline {
        cx.ir.add_attribute(body.value, FUNCTION, "alwaysinline", 0);
    }
    let function = &cx.module.functions[root];
    let types = &cx.module.types;
    let result = function.return_type;
    let scalar_result = returned_scalar(types, result);
    let in_memory = result != TypeId::VOID && scalar_result.is_none();

    let mut params: Vec<Ty> = Vec::new();
    if in_memory {
        params.push(cx.ir.ptr(0));
    }
    for a in &function.arguments {
        match passed(types, a.kind, a.ty) {
            Passed::Scalar(scalar) => params.push(cx.types.memory(&cx.ir, scalar)),
            Passed::Value | Passed::Reference => params.push(cx.ir.ptr(0)),
            Passed::Resource => params.extend([cx.ir.int(64); 2]),
            Passed::Nothing => {}
        }
    }
    let ret = scalar_result.map_or(cx.ir.void(), |scalar| cx.types.memory(&cx.ir, scalar));
    let name = crate::metadata::entry_symbol(function);
    let entry = cx.ir.add_function(&name, ret, &params, false);
    cx.mark_function(entry.value, root);
    extend_result(cx, entry.value, scalar_result);
    cx.ir.at_end(cx.ir.block_in(entry.value, "entry"));

    let mut next = u32::from(in_memory);
    let values = arguments(cx, root, entry.value, &mut next);
    let mut args = no_launch(cx).pass(cx);
    cx.pass_arguments(&values, &mut args);
    let place = in_memory.then(|| cx.ir.param(entry.value, 0));
    let flat = cx.types.flat(result).filter(|_| in_memory);
    if let (Some(place), None) = (place, &flat) {
        args.push(place);
    }
    let given = cx.ir.call(body, &args);
    match (scalar_result, place, flat) {
        (Some(scalar), ..) => cx.ir.ret(Some(cx.leaf_to_memory(given, scalar))),
        (None, Some(place), Some(flat)) => {
            let leaves: Leaves = match flat.leaves.len() {
                0 => Leaves::new(),
                1 => Leaves::from_slice(&[given]),
                n => (0..n as u32).map(|i| cx.ir.extract_value(given, i)).collect(),
            };
            cx.store_flat(&flat, place, &leaves, cx.module.types.align(result), false);
            cx.ir.ret(None);
        }
        _ => cx.ir.ret(None),
    }
    cx.emit_internal(root, body)
}

/// A narrow result fills its register, as callers in C expect.
fn extend_result(cx: &ModuleEmit<'_, '_>, function: Val, result: Option<Scalar>) {
    const RESULT: u32 = 0;
    if let Some(scalar) = result.filter(|s| !s.is_float() && s.size() < 4) {
        let name = if scalar.is_signed() { "signext" } else { "zeroext" };
        cx.ir.add_attribute(function, RESULT, name, 0);
    }
}

fn arguments(
    cx: &mut ModuleEmit<'_, '_>,
    root: FunctionId,
    function: Val,
    next: &mut u32,
) -> Vec<Value> {
    let module = cx.module;
    let uses = crate::argument_uses(module, root);
    let mut values = Vec::new();
    for (i, a) in module.functions[root].arguments.iter().enumerate() {
        let mut take = || {
            let v = cx.ir.param(function, *next);
            *next += 1;
            v
        };
        let value = match passed(&module.types, a.kind, a.ty) {
            Passed::Scalar(scalar) => {
                let v = take();
                Value::scalar(cx.leaf_from_memory(v, scalar))
            }
            Passed::Reference => Value::Place(take()),
            Passed::Resource => {
                let words = [take(), take()];
                let sampled = uses.get(i).is_some_and(|u| u.sampled);
                cx.resource(a.ty, i, || words, sampled).unwrap_or(Value::Opaque)
            }
            Passed::Value => {
                let ptr = take();
                match cx.types.flat(a.ty) {
                    Some(flat) => {
                        let align = module.types.align(a.ty);
                        Value::Leaves(cx.load_flat(&flat, ptr, align, false, false))
                    }
                    None => Value::Memory(ptr),
                }
            }
            Passed::Nothing => Value::Opaque,
        };
        values.push(value);
    }
    values
}

/// What the callable is told of a launch: nothing, which [`crate::functions::check`] saw that it does not ask for.
fn no_launch(cx: &ModuleEmit<'_, '_>) -> Launch {
    let zero = cx.ir.const_u32(0);
    Launch {
        thread_id: [zero; 3],
        block_id: [zero; 3],
        dispatch_size: [zero; 3],
        kernel_id: zero,
        log: None,
        scratch: None,
        stop_flag: None,
    }
}

/// The declaration of the function for those that call it.
pub fn header(types: &TypeTable, function: &Function, calls: Calls) -> ExtraText {
    let mut notes = String::new();
    let mut list = Vec::new();
    let result = function.return_type;
    let returned = match returned_scalar(types, result) {
        Some(scalar) => word(scalar),
        None => {
            if result != TypeId::VOID {
                list.push(format!("{}*result", element(types, result)));
                note(&mut notes, types, "result", result, "written");
            }
            "void"
        }
    };
    for (i, a) in function.arguments.iter().enumerate() {
        let name = format!("a{i}");
        match passed(types, a.kind, a.ty) {
            Passed::Scalar(scalar) => list.push(format!("{} {name}", word(scalar))),
            Passed::Value => {
                list.push(format!("const {}*{name}", element(types, a.ty)));
                note(&mut notes, types, &name, a.ty, "read");
            }
            Passed::Reference => {
                list.push(format!("{}*{name}", element(types, a.ty)));
                note(&mut notes, types, &name, a.ty, "read and written");
            }
            Passed::Resource => {
                list.push(format!("uint64_t {name}, uint64_t {name}_second"));
                let what = types.description(a.ty);
                let _ = writeln!(notes, "// {name}: {what}, its two words in a parameter block");
            }
            Passed::Nothing => {}
        }
    }
    let parameters = if list.is_empty() { "void".to_string() } else { list.join(", ") };
    let symbol = crate::metadata::entry_symbol(function);
    let declaration = format!("{returned} {symbol}({parameters});");
    let includes = "#pragma once\n#include <stdbool.h>\n#include <stdint.h>\n\n";
    let text = match calls {
        Calls::C => format!(
            "{includes}#ifdef __cplusplus\nextern \"C\" {{\n#endif\n{notes}{declaration}\n#ifdef __cplusplus\n}}\n#endif\n"
        ),
        Calls::Cuda => format!("{includes}{notes}extern \"C\" __device__ {declaration}\n"),
    };
    let extension = if calls == Calls::C { "h" } else { "cuh" };
    ExtraText { kind: "header", extension, text }
}

fn note(notes: &mut String, types: &TypeTable, name: &str, ty: TypeId, does: &str) {
    let (what, size, align) = (types.description(ty), types.size(ty), types.align(ty));
    let _ = writeln!(notes, "// {name}: {what}, {size} bytes, aligned to {align}, {does}");
}

/// What an address of a value points to, with a blank behind it: its scalar, if it has one.
fn element(types: &TypeTable, ty: TypeId) -> String {
    format!("{} ", types.scalar_of(ty).map_or("void", word))
}

/// A scalar in C.
fn word(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Bool => "bool",
        Scalar::I8 => "int8_t",
        Scalar::U8 => "uint8_t",
        Scalar::I16 => "int16_t",
        Scalar::U16 | Scalar::F16 => "uint16_t",
        Scalar::I32 => "int32_t",
        Scalar::U32 => "uint32_t",
        Scalar::I64 => "int64_t",
        Scalar::U64 => "uint64_t",
        Scalar::F32 => "float",
        Scalar::F64 => "double",
        // Eight bits of storage each.
        Scalar::F8E4M3 | Scalar::F8E5M2 | Scalar::I4 | Scalar::F4E2M1 => "uint8_t",
    }
}
