//! Images, samplers and bindless arrays in MSL. What lies outside of an image reads as zero and is not written, which Metal does not promise.

use luisac_ast::types::{Scalar, TypeId, TypeKind, TypeTable};
use luisac_xir::op::{ResourceQueryOp as Q, ResourceReadOp as R, ResourceWriteOp as W};
use luisac_xir::{InstId, Op, ValueId};

use super::memory::{from_memory, memory_type, to_memory};
use crate::clike::Emit;
use crate::clike::expr::{Expr, Prec};
use crate::clike::function::{FnEmit, Resource, internal};
use crate::clike::language::Language;
use crate::clike::module::ModuleEmit;
use crate::clike::resources::Sample;

/// The type of an image.
pub fn image_type(types: &TypeTable, ty: TypeId, storage: bool, reads: bool) -> String {
    let (dim, elem) = match types.kind(ty) {
        TypeKind::Texture { dim, elem, .. } => (*dim, *elem),
        _ => (2, Scalar::F32),
    };
    let access = match (storage, reads) {
        (false, _) => "sample",
        (true, false) => "write",
        (true, true) => "read_write",
    };
    format!("texture{dim}d<{}, access::{access}>", Language::Msl.scalar(elem))
}

const READ: &str = "\
// A texel; zero outside of the image.
template <typename T, access A>
vec<T, 4> lc_read(textureDIMd<T, A> image, uintDIM at) {
    return all(at < uintDIM(SIZE)) ? image.read(at) : vec<T, 4>(T(0));
}
";

const READ_LEVEL: &str = "\
// A texel of a level; zero outside of it.
float4 lc_read_level(textureDIMd<float, access::sample> image, uintDIM at, uint level) {
    if (level >= image.get_num_mip_levels()) {
        return float4(0.0f);
    }
    return all(at < uintDIM(SIZE)) ? image.read(at, level) : float4(0.0f);
}
";

const WRITE: &str = "\
template <typename T, access A>
void lc_write(textureDIMd<T, A> image, uintDIM at, vec<T, 4> texel) {
    if (all(at < uintDIM(SIZE))) {
        image.write(texel, at);
    }
}
";

const SIZE: &str = "\
template <typename T, access A>
uintDIM lc_size(textureDIMd<T, A> image) {
    return uintDIM(SIZE);
}
";

const SIZE_LEVEL: &str = "\
// The size of a level, also of one that the image lacks.
uintDIM lc_size_level(textureDIMd<float, access::sample> image, uint level) {
    return max(uintDIM(SIZE) >> uintDIM(min(level, 31u)), uintDIM(1u));
}
";

/// Adds a helper for images of some dimension.
fn helper(cx: &mut ModuleEmit<'_>, name: &str, template: &str, dim: u8) {
    cx.helper(&format!("{name}/{dim}"), |_| {
        let level = if template == READ_LEVEL { "level" } else { "" };
        let mut size = format!("image.get_width({level}), image.get_height({level})");
        if dim == 3 {
            size.push_str(&format!(", image.get_depth({level})"));
        }
        template.replace("SIZE", &size).replace("DIM", &dim.to_string())
    });
}

/// A texel.
pub fn image_read(f: &mut FnEmit<'_, '_>, image: &Resource, ty: TypeId, at: Expr) -> Emit<Expr> {
    helper(f.cx, "lc_read", READ, f.cx.types.dim(ty));
    let handle = if image.handle.is_empty() { &image.sampled } else { &image.handle };
    Ok(Expr::call("lc_read", &[Expr::atom(handle.clone()), at]))
}

/// A texel is written.
pub fn image_write(
    f: &mut FnEmit<'_, '_>,
    image: &Resource,
    ty: TypeId,
    at: Expr,
    texel: Expr,
) -> Emit<()> {
    helper(f.cx, "lc_write", WRITE, f.cx.types.dim(ty));
    f.lines.push(format!("lc_write({}, {}, {});", image.handle, at.text, texel.text));
    Ok(())
}

/// Texels on each axis.
pub fn image_size(f: &mut FnEmit<'_, '_>, image: &Resource, ty: TypeId) -> Emit<Expr> {
    helper(f.cx, "lc_size", SIZE, f.cx.types.dim(ty));
    let handle = if image.handle.is_empty() { &image.sampled } else { &image.handle };
    Ok(Expr::call("lc_size", &[Expr::atom(handle.clone())]))
}

/// All samplers: filter times four and address.
fn samplers(cx: &mut ModuleEmit<'_>) {
    cx.helper("lc_sampler", |_| {
        let filters = [
            "filter::nearest, mip_filter::nearest",
            "filter::linear, mip_filter::nearest",
            "filter::linear, mip_filter::linear",
            "filter::linear, mip_filter::linear, max_anisotropy(16)",
        ];
        let addresses = ["clamp_to_edge", "repeat", "mirrored_repeat", "clamp_to_zero"];
        let mut list = Vec::new();
        for filter in filters {
            for address in addresses {
                list.push(format!(
                    "        sampler(coord::normalized, address::{address}, {filter})"
                ));
            }
        }
        format!(
            "sampler lc_sampler(uint code) {{\n    const array<sampler, 16> samplers = {{\n{}\n    }};\n    return samplers[code & 15u];\n}}\n",
            list.join(",\n")
        )
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
    let code = sample.sampler.map(|(text, _)| text).or(in_slot);
    let code = code.unwrap_or_else(|| Expr::atom("0u"));
    let mut args = vec![Expr::call("lc_sampler", &[code]), sample.at];
    match (sample.gradients, sample.level) {
        (Some((dx, dy)), level) => {
            args.push(Expr::call(&format!("gradient{dim}d"), &[dx, dy]));
            args.extend(level.map(|l| Expr::call("min_lod_clamp", &[l])));
        }
        (None, level) => {
            let level_text = level.unwrap_or_else(|| Expr::atom("0.0f"));
            args.push(Expr::call("level", &[level_text]));
        }
    }
    Expr::call(&format!("{image}.sample"), &args)
}

// ---- bindless arrays

/// The record of a slot.
pub fn slot_type(cx: &mut ModuleEmit<'_>) -> String {
    cx.uses.bindless = true;
    cx.helper("lc_slot", |_| {
        "// A slot of a bindless array. The size lies in the low 48 bits, the samplers in the two bytes above.\n\
         struct alignas(16) lc_slot {\n    device uchar* buffer;\n    ulong size;\n    texture2d<float, access::sample> image2d;\n    \
         texture3d<float, access::sample> image3d;\n};\n"
            .to_string()
    });
    "lc_slot".to_string()
}

/// A slot.
fn slot(f: &mut FnEmit<'_, '_>, array: ValueId, index: ValueId) -> Emit<Expr> {
    let index = f.slot_index(array, index)?;
    let array = f.resource(array)?.handle;
    Ok(Expr::made(format!("{array}[{}]", index.text), Prec::Atom, [&index]))
}

/// An element of the buffer of a slot, as something that has an address.
fn slot_element(f: &mut FnEmit<'_, '_>, slot: &Expr, index: Expr, ty: TypeId, bytes: bool) -> Expr {
    let memory = memory_type(f.cx, ty);
    let buffer = slot.postfix(".buffer");
    if bytes {
        let sum = Expr::binary("+", Prec::Add, &buffer, &index);
        let text = format!("*reinterpret_cast<device {memory}*>({})", sum.text);
        return Expr::made(text, Prec::Unary, [&sum]);
    }
    let text = format!("reinterpret_cast<device {memory}*>({})[{}]", buffer.text, index.text);
    Expr::made(text, Prec::Atom, [&buffer, &index])
}

/// A read of a bindless array.
pub fn bindless_read(f: &mut FnEmit<'_, '_>, inst: InstId, op: R) -> Emit<()> {
    let args = f.func.args(inst).to_vec();
    let ty = f.func.inst(inst).ty;
    let [array, index, rest @ ..] = args.as_slice() else {
        return Err(internal("a bindless read without a slot"));
    };
    let slot = slot(f, *array, *index)?;
    let mut text = match (op, rest) {
        (R::BindlessBufferRead | R::BindlessByteBufferRead, &[at]) => {
            let at = f.value(at)?;
            let place = slot_element(f, &slot, at, ty, op == R::BindlessByteBufferRead);
            from_memory(f.cx, ty, place)
        }
        (_, &[at]) => {
            let dim = if op.name().contains("3d") { 3 } else { 2 };
            helper(f.cx, "lc_read", READ, dim);
            let at = f.value(at)?;
            Expr::call("lc_read", &[slot.postfix(&format!(".image{dim}d")), at])
        }
        (_, &[at, level]) => {
            let dim = if op.name().contains("3d") { 3 } else { 2 };
            helper(f.cx, "lc_read_level", READ_LEVEL, dim);
            let (at, level) = (f.value(at)?, f.value(level)?);
            Expr::call("lc_read_level", &[slot.postfix(&format!(".image{dim}d")), at, level])
        }
        _ => return Err(f.refused(Op::ResourceRead(op))),
    };
    text.reads = true;
    f.define(inst, text)
}

/// A write of a buffer of a bindless array.
pub fn bindless_write(f: &mut FnEmit<'_, '_>, inst: InstId, op: W) -> Emit<()> {
    let args = f.func.args(inst).to_vec();
    let &[array, index, at, value] = args.as_slice() else {
        return Err(internal("a bindless write without a value"));
    };
    let ty = f.func.value_type(value);
    let slot = slot(f, array, index)?;
    let at = f.value(at)?;
    let value = f.value(value)?;
    let place = slot_element(f, &slot, at, ty, op == W::BindlessByteBufferWrite);
    let value = to_memory(f.cx, ty, value);
    f.settle()?;
    f.lines.push(format!("{} = {};", place.text, value.text));
    Ok(())
}

/// A question about a slot of a bindless array, or a sample.
pub fn bindless_query(f: &mut FnEmit<'_, '_>, inst: InstId, op: Q) -> Emit<()> {
    let args = f.func.args(inst).to_vec();
    let ty = f.func.inst(inst).ty;
    let dim: u8 = if op.name().contains("3d") { 3 } else { 2 };
    let [array, index, rest @ ..] = args.as_slice() else {
        return Err(internal("a bindless query without a slot"));
    };
    let slot = slot(f, *array, *index)?;
    let image = slot.postfix(&format!(".image{dim}d"));
    let size = slot.postfix(".size");
    let text = match op {
        Q::BindlessBufferSize | Q::BindlessByteBufferSize => {
            let size = Expr::binary("&", Prec::BitAnd, &size, &Expr::atom("0xfffffffffffful"));
            match rest.first() {
                Some(&stride) => {
                    let stride = f.value(stride)?;
                    let text = Expr::binary("/", Prec::Multiply, &size, &stride);
                    f.count_of(&text, 1, ty)
                }
                None => f.count_of(&size, 1, ty),
            }
        }
        Q::BindlessBufferDeviceAddress => {
            Expr::call("reinterpret_cast<ulong>", &[slot.postfix(".buffer")])
        }
        Q::BindlessTexture2dSize
        | Q::BindlessTexture3dSize
        | Q::BindlessTexture2dSizeLevel
        | Q::BindlessTexture3dSizeLevel => match rest.first() {
            Some(&level) => {
                helper(f.cx, "lc_size_level", SIZE_LEVEL, dim);
                let level = f.value(level)?;
                Expr::call("lc_size_level", &[image, level])
            }
            None => {
                helper(f.cx, "lc_size", SIZE, dim);
                Expr::call("lc_size", &[image])
            }
        },
        _ if op.samples() => {
            let rest = f.sampled(op, rest)?;
            let shift = if dim == 2 { 48 } else { 56 };
            let code = Expr::binary(">>", Prec::Shift, &size, &Expr::atom(shift.to_string()));
            let code = Expr::call("uint", &[code]);
            sample_of(f, &image.text, dim, rest, Some(code))
        }
        _ => return Err(f.refused(Op::ResourceQuery(op))),
    };
    f.define(inst, text)
}
