//! Images, samplers and bindless arrays in HLSL.

use luisac_ast::types::{Scalar, TypeId, TypeKind, TypeTable};
use luisac_xir::op::{ResourceQueryOp as Q, ResourceReadOp as R, ResourceWriteOp as W};
use luisac_xir::{InstId, Op, ValueId};

use super::memory::{Source, load_text, store_text};
use crate::clike::Emit;
use crate::clike::expr::{Expr, Prec};
use crate::clike::function::{FnEmit, Resource, internal};
use crate::clike::language::Language;
use crate::clike::module::ModuleEmit;
use crate::clike::resources::{Sample, scaled};

/// The type of an image.
pub fn image_type(types: &TypeTable, ty: TypeId, storage: bool) -> String {
    let (dim, elem) = match types.kind(ty) {
        TypeKind::Texture { dim, elem, .. } => (*dim, *elem),
        _ => (2, Scalar::F32),
    };
    let rw = if storage { "RW" } else { "" };
    format!("{rw}Texture{dim}D<{}>", Language::Hlsl.vector(elem, 4))
}

/// A texel.
pub fn image_read(f: &mut FnEmit<'_, '_>, image: &Resource, ty: TypeId, at: Expr) -> Emit<Expr> {
    if !image.handle.is_empty() {
        let text = format!("{}[{}]", image.handle, at.text);
        return Ok(Expr::made(text, Prec::Atom, [&at]));
    }
    Ok(fetch(&image.sampled, f.cx.types.dim(ty), at, &Expr::atom("0u")))
}

/// A texel of a sampled image, of a level.
fn fetch(image: &str, dim: u8, at: Expr, level: &Expr) -> Expr {
    let text = format!("{image}.Load(int{}({}, {}))", dim + 1, at.text, level.text);
    Expr::made(text, Prec::Atom, [&at, level])
}

/// A texel is written.
pub fn image_write(f: &mut FnEmit<'_, '_>, image: &Resource, at: Expr, texel: Expr) -> Emit<()> {
    f.lines.push(format!("{}[{}] = {};", image.handle, at.text, texel.text));
    Ok(())
}

/// Texels on each axis.
pub fn image_size(f: &mut FnEmit<'_, '_>, image: &Resource, ty: TypeId) -> Emit<Expr> {
    let storage = !image.handle.is_empty();
    let handle = if storage { &image.handle } else { &image.sampled };
    Ok(size(f.cx, handle, ty, storage, None))
}

fn size(
    cx: &mut ModuleEmit<'_>,
    handle: &str,
    ty: TypeId,
    storage: bool,
    level: Option<&Expr>,
) -> Expr {
    let name = image_type(cx.types, ty, storage);
    let dim = cx.types.dim(ty);
    size_of(cx, handle, &name, dim, storage, level)
}

/// A helper that asks an image for its size.
fn size_of(
    cx: &mut ModuleEmit<'_>,
    handle: &str,
    name: &str,
    dim: u8,
    storage: bool,
    level: Option<&Expr>,
) -> Expr {
    let (out, list) =
        if dim == 2 { ("uint2", "size.x, size.y") } else { ("uint3", "size.x, size.y, size.z") };
    let helper = match (storage, level) {
        (true, _) => "lc_image_size",
        (false, None) => "lc_size",
        (false, Some(_)) => "lc_size_of_level",
    };
    cx.helper(&format!("{helper}/{name}"), |_| {
        let level = level.filter(|_| !storage);
        let more = if level.is_some() { ", uint level" } else { "" };
        let ask = if storage {
            format!("image.GetDimensions({list});")
        } else {
            format!("uint levels;\n    image.GetDimensions(0u, {list}, levels);")
        };
        // A level that the image lacks has the size that it would have.
        let result = match level {
            Some(_) => format!("max(size >> min(level, 31u), ({out})1u)"),
            None => "size".to_string(),
        };
        format!("{out} {helper}({name} image{more}) {{\n    {out} size;\n    {ask}\n    return {result};\n}}\n")
    });
    let image = Expr::atom(handle);
    match level.filter(|_| !storage) {
        Some(level) => Expr::call(helper, &[image, level.clone()]),
        None => Expr::call(helper, &[image]),
    }
}

fn samplers(cx: &mut ModuleEmit<'_>) {
    cx.helper("lc_samplers", |_| {
        "SamplerState lc_samplers[16] : register(s0, space1);\n".to_string()
    });
}

/// A sample. In compute there are no derivatives: level 0, unless level or gradients are given.
pub fn sample(f: &mut FnEmit<'_, '_>, image: &str, ty: TypeId, sample: Sample) -> Emit<Expr> {
    let dim = f.cx.types.dim(ty);
    Ok(sample_of(f, image, dim, sample, None))
}

fn sample_of(
    f: &mut FnEmit<'_, '_>,
    image: &str,
    dim: u8,
    sample: Sample,
    in_slot: Option<Expr>,
) -> Expr {
    samplers(f.cx);
    let sampler = match (sample.sampler, in_slot) {
        (Some((text, Some(_))), _) => format!("lc_samplers[{}]", text.text),
        (Some((text, None)), _) | (None, Some(text)) => {
            format!("lc_samplers[NonUniformResourceIndex({})]", text.text)
        }
        (None, None) => "lc_samplers[0]".to_string(),
    };
    let sampler = Expr::atom(sampler);
    let zero = if dim == 2 { "int2(0, 0)" } else { "int3(0, 0, 0)" };
    match (sample.gradients, sample.level) {
        (Some((dx, dy)), None) => {
            Expr::call(&format!("{image}.SampleGrad"), &[sampler, sample.at, dx, dy])
        }
        (Some((dx, dy)), Some(level)) => Expr::call(
            &format!("{image}.SampleGrad"),
            &[sampler, sample.at, dx, dy, Expr::atom(zero), level],
        ),
        (None, level) => {
            let level = level.unwrap_or_else(|| Expr::atom("0.0f"));
            Expr::call(&format!("{image}.SampleLevel"), &[sampler, sample.at, level])
        }
    }
}

// ---- bindless arrays

/// The name of the heap of buffers.
fn buffer_heap(cx: &mut ModuleEmit<'_>) -> (String, bool) {
    use luisac_artifact::bindings::SlotKind;
    let writable = cx.bindings.buffer_heap.is_some_and(|s| s.kind == SlotKind::StorageBuffer);
    cx.uses.bindless = true;
    cx.helper("lc_buffers", |_| {
        let (ty, letter) =
            if writable { ("RWByteAddressBuffer", 'u') } else { ("ByteAddressBuffer", 't') };
        format!("{ty} lc_buffers[] : register({letter}0, space2);\n")
    });
    ("lc_buffers".to_string(), writable)
}

fn image_heap(cx: &mut ModuleEmit<'_>, dim: u8) -> String {
    cx.uses.bindless = true;
    let name = format!("lc_images{dim}d");
    cx.helper(&name, |_| {
        format!("Texture{dim}D<float4> {name}[] : register(t0, space{});\n", dim + 1)
    });
    name
}

/// The offset in bytes of a slot's record.
fn record(f: &mut FnEmit<'_, '_>, array: ValueId, slot: ValueId) -> Emit<Expr> {
    let checked = f.cx.options.bounds != crate::options::BoundsMode::Off;
    let constant = f.func.constant_bits(slot).filter(|_| !checked);
    let is_word = f.func.value_type(slot) == TypeId::U32 || checked;
    let index = f.slot_index(array, slot)?;
    Ok(scaled(&index, is_word, constant, 32))
}

fn word(array: &str, record: &Expr, offset: u32) -> String {
    match (record.text.strip_suffix('u').and_then(|t| t.parse::<u32>().ok()), offset) {
        (_, 0) => format!("{array}.Load({})", record.text),
        (Some(at), _) => format!("{array}.Load({}u)", at.wrapping_add(offset)),
        _ => format!("{array}.Load({} + {offset}u)", record.text),
    }
}

/// A buffer of a slot: the heap's element, and the offset of an element in it.
fn slot_buffer(
    f: &mut FnEmit<'_, '_>,
    array: ValueId,
    slot: ValueId,
    index: ValueId,
    stride: u64,
) -> Emit<(String, bool, Expr)> {
    let record = record(f, array, slot)?;
    let array = f.resource(array)?.handle;
    let record = f.named(TypeId::U32, record)?;
    let constant = f.func.constant_bits(index);
    let is_word = f.func.value_type(index) == TypeId::U32;
    let index = f.value(index)?;
    let offset = scaled(&index, is_word, constant, stride);
    let (heap, writable) = buffer_heap(f.cx);
    let base = Expr::made(word(&array, &record, 4), Prec::Atom, [&record]);
    let at = Expr::binary("+", Prec::Add, &base, &offset);
    let handle = format!("{heap}[NonUniformResourceIndex({})]", word(&array, &record, 0));
    Ok((handle, writable, at))
}

/// A read of a bindless array.
pub fn bindless_read(f: &mut FnEmit<'_, '_>, inst: InstId, op: R) -> Emit<()> {
    let args = f.func.args(inst).to_vec();
    let ty = f.func.inst(inst).ty;
    let mut text = match (op, args.as_slice()) {
        (R::BindlessBufferRead | R::BindlessByteBufferRead, &[array, slot, index]) => {
            let stride = if op == R::BindlessBufferRead { f.cx.types.stride(ty) } else { 1 };
            let (handle, writable, at) = slot_buffer(f, array, slot, index, stride)?;
            let text = load_text(f.cx, Source::of(writable), ty, &handle, &at.text);
            Expr::made(text, Prec::Atom, [&at])
        }
        (_, [array, slot, at, level @ ..]) => {
            let dim = if op.name().contains("3d") { 3 } else { 2 };
            let (image, _) = slot_image(f, *array, *slot, dim)?;
            let at = f.value(*at)?;
            let level = match level.first() {
                Some(&level) => f.value(level)?,
                None => Expr::atom("0u"),
            };
            fetch(&image, dim, at, &level)
        }
        _ => return Err(f.refused(Op::ResourceRead(op))),
    };
    text.reads = true;
    f.define(inst, text)
}

/// A write of a buffer of a bindless array.
pub fn bindless_write(f: &mut FnEmit<'_, '_>, inst: InstId, op: W) -> Emit<()> {
    let args = f.func.args(inst).to_vec();
    let &[array, slot, index, value] = args.as_slice() else {
        return Err(internal("a bindless write without a value"));
    };
    let ty = f.func.value_type(value);
    let stride = if op == W::BindlessBufferWrite { f.cx.types.stride(ty) } else { 1 };
    let (handle, _, at) = slot_buffer(f, array, slot, index, stride)?;
    let value = f.value(value)?;
    f.settle()?;
    let line = store_text(f.cx, ty, &handle, &at.text, &value.text);
    f.lines.push(line);
    Ok(())
}

/// An image of a slot, and the number of its sampler.
fn slot_image(
    f: &mut FnEmit<'_, '_>,
    array: ValueId,
    slot: ValueId,
    dim: u8,
) -> Emit<(String, Expr)> {
    let record = record(f, array, slot)?;
    let array = f.resource(array)?.handle;
    let offset = if dim == 2 { 16 } else { 24 };
    let code = Expr::made(word(&array, &record, offset), Prec::Atom, [&record]);
    let code = f.type_variable(TypeId::U32, &code)?;
    let heap = image_heap(f.cx, dim);
    let image = format!("{heap}[NonUniformResourceIndex({} & 0x0fffffffu)]", code.text);
    let sampler = Expr::binary(">>", Prec::Shift, &code, &Expr::atom("28"));
    Ok((image, sampler))
}

/// A question about a slot of a bindless array, or a sample.
pub fn bindless_query(f: &mut FnEmit<'_, '_>, inst: InstId, op: Q) -> Emit<()> {
    let args = f.func.args(inst).to_vec();
    let ty = f.func.inst(inst).ty;
    let dim = if op.name().contains("3d") { 3 } else { 2 };
    let (Some(&array), Some(&slot)) = (args.first(), args.get(1)) else {
        return Err(internal("a bindless query without a slot"));
    };
    let text = match op {
        Q::BindlessBufferSize | Q::BindlessByteBufferSize => {
            let handle = f.resource(array)?.handle;
            let record = record(f, array, slot)?;
            let at = match record.text.strip_suffix('u').and_then(|t| t.parse::<u32>().ok()) {
                Some(at) => format!("{}u", at.wrapping_add(8)),
                None => format!("{} + 8u", record.text),
            };
            let size = Expr::made(format!("{handle}.Load({at})"), Prec::Atom, [&record]);
            match args.get(2) {
                Some(&stride) => {
                    let stride = f.value(stride)?;
                    let stride = Expr::call("uint", &[stride]);
                    let text = Expr::binary("/", Prec::Multiply, &size, &stride);
                    f.count_of(&text, 1, ty)
                }
                None => f.count_of(&size, 1, ty),
            }
        }
        Q::BindlessTexture2dSize
        | Q::BindlessTexture3dSize
        | Q::BindlessTexture2dSizeLevel
        | Q::BindlessTexture3dSizeLevel => {
            let (image, _) = slot_image(f, array, slot, dim)?;
            let level = match args.get(2) {
                Some(&level) => Some(f.value(level)?),
                None => None,
            };
            size_of(f.cx, &image, &format!("Texture{dim}D<float4>"), dim, false, level.as_ref())
        }
        _ if op.samples() => {
            let (image, code) = slot_image(f, array, slot, dim)?;
            let rest = f.sampled(op, &args[2..])?;
            sample_of(f, &image, dim, rest, Some(code))
        }
        _ => return Err(f.refused(Op::ResourceQuery(op))),
    };
    f.define(inst, text)
}
