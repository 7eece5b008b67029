//! Images in memory, through the views of their levels (`luisac_artifact::ImageView`).

use luisac_artifact::abi::SAMPLER_MASK;
use luisac_artifact::{ImageView, PixelStorage, TexelKind};
use luisac_ast::types::Scalar;

use crate::llvm::Emit;
use crate::llvm::function::FnEmit;
use crate::llvm::image_function::{by_storage, helper};
use crate::llvm::ir::Val;
use crate::llvm::module::ModuleEmit;
use crate::llvm::value::{Image, Leaves, Texture};

/// Offset of a member of the view, in bytes.
const DATA: u64 = std::mem::offset_of!(ImageView, data) as u64;
const SIZES: u64 = std::mem::offset_of!(ImageView, width) as u64;
const ROW_STRIDE: u64 = std::mem::offset_of!(ImageView, row_stride) as u64;
const SLICE_STRIDE: u64 = std::mem::offset_of!(ImageView, slice_stride) as u64;
const STORAGE: u64 = std::mem::offset_of!(ImageView, storage) as u64;
const LEVELS: u64 = std::mem::offset_of!(ImageView, levels) as u64;

/// Reads a texel.
pub fn read(
    f: &mut FnEmit<'_, '_, '_>,
    image: Image,
    element: Scalar,
    coordinate: &[Val],
) -> Emit<Leaves> {
    let dim = coordinate.len();
    let ir = &f.cx.ir;
    let ret = ir.structure(&[f.cx.types.leaf(ir, element); 4]);
    let name = format!("image{dim}d_read_{}", element.name());
    let mut params = vec![ir.int(64); 2];
    params.extend(vec![ir.int(32); dim]);
    let helper =
        helper(f.cx, &name, ret, &params, |cx, function| read_body(cx, function, element, dim));
    let mut args = vec![image.handle, image.storage];
    args.extend_from_slice(coordinate);
    let texel = f.cx.ir.call(helper, &args);
    Ok((0..4).map(|i| f.cx.ir.extract_value(texel, i)).collect())
}

/// Writes a texel.
pub fn write(
    f: &mut FnEmit<'_, '_, '_>,
    image: Image,
    element: Scalar,
    coordinate: &[Val],
    texel: &[Val],
) -> Emit<()> {
    let dim = coordinate.len();
    let ir = &f.cx.ir;
    let name = format!("image{dim}d_write_{}", element.name());
    let mut params = vec![ir.int(64); 2];
    params.extend(vec![ir.int(32); dim]);
    params.extend([f.cx.types.leaf(ir, element); 4]);
    let helper = helper(f.cx, &name, ir.void(), &params, |cx, function| {
        write_body(cx, function, element, dim)
    });
    let mut args = vec![image.handle, image.storage];
    args.extend_from_slice(coordinate);
    args.extend_from_slice(texel);
    f.cx.ir.call(helper, &args);
    Ok(())
}

/// The size along each axis.
pub fn size(f: &mut FnEmit<'_, '_, '_>, view: Val, dim: u32) -> Leaves {
    (0..dim).map(|axis| axis_size(f.cx, view, axis)).collect()
}

/// The image in a word of a bindless record; one without texels if the slot is empty.
pub fn in_slot(f: &mut FnEmit<'_, '_, '_>, word: Val) -> Texture {
    let nothing = no_view(f);
    let ir = &f.cx.ir;
    let sampler = ir.trunc(ir.and(word, ir.const_u64(SAMPLER_MASK)), ir.int(32));
    let address = ir.and(word, ir.const_u64(!SAMPLER_MASK));
    let handle = ir.select(ir.eq(address, ir.const_u64(0)), nothing, address);
    Texture { handle, sampler, levels: None }
}

/// The address of a view without texels and levels.
fn no_view(f: &mut FnEmit<'_, '_, '_>) -> Val {
    let view = f.cx.constant_memory(&[0; size_of::<ImageView>()], align_of::<ImageView>() as u32);
    f.cx.ir.ptrtoint(view, f.cx.ir.int(64))
}

/// The number of levels.
pub fn levels(f: &mut FnEmit<'_, '_, '_>, view: Val) -> Val {
    member(f.cx, view, LEVELS, 32)
}

/// The float texel of a level; zero outside.
pub fn fetch(
    f: &mut FnEmit<'_, '_, '_>,
    view: Val,
    coordinate: &[Val],
    level: Val,
) -> Emit<Leaves> {
    let image = level_of(f, view, level);
    read(f, image, Scalar::F32, coordinate)
}

/// A level as an image; one without texels if there is no such level.
fn level_of(f: &mut FnEmit<'_, '_, '_>, view: Val, level: Val) -> Image {
    let count = levels(f, view);
    let is_there = f.cx.ir.ult(level, count);
    let nothing = no_view(f);
    let ir = &f.cx.ir;
    let stride = ir.const_u64(size_of::<ImageView>() as u64);
    let there = ir.add(view, ir.mul(ir.zext(level, ir.int(64)), stride));
    let handle = ir.select(is_there, there, nothing);
    let storage = ir.zext(member(f.cx, handle, STORAGE, 32), ir.int(64));
    Image { handle, storage, textures: None }
}

/// A member of the view, which does not change while the kernel runs.
fn member(cx: &ModuleEmit<'_, '_>, view: Val, offset: u64, bits: u32) -> Val {
    let ir = &cx.ir;
    let view = ir.inttoptr(view, ir.ptr(0));
    let v = ir.load(ir.int(bits), ir.offset_const(view, offset), bits / 8, false);
    ir.mark_invariant(v);
    v
}

fn axis_size(cx: &ModuleEmit<'_, '_>, view: Val, axis: u32) -> Val {
    member(cx, view, SIZES + 4 * u64::from(axis), 32)
}

/// Branches on whether the coordinate lies inside, to two new blocks; the second is returned, the builder is in the first, with
/// the address of the texel's row.
fn row(cx: &ModuleEmit<'_, '_>, function: Val, dim: usize) -> (Val, crate::llvm::ir::Bb) {
    let ir = &cx.ir;
    let view = ir.param(function, 0);
    let axis = |i: u32| ir.param(function, 2 + i);
    let mut inside = ir.const_bool(true);
    for i in 0..dim as u32 {
        inside = ir.and(inside, ir.ult(axis(i), axis_size(cx, view, i)));
    }
    let (hit, miss) = (ir.new_block("inside"), ir.new_block("outside"));
    ir.cond_br(inside, hit, miss);
    ir.at_end(hit);
    let wide = |v| ir.zext(v, ir.int(64));
    let mut row = ir.inttoptr(member(cx, view, DATA, 64), ir.ptr(0));
    row = ir.offset(row, ir.mul(wide(axis(1)), member(cx, view, ROW_STRIDE, 64)));
    if dim == 3 {
        row = ir.offset(row, ir.mul(wide(axis(2)), member(cx, view, SLICE_STRIDE, 64)));
    }
    (row, miss)
}

/// The texel's address in its row.
fn texel(cx: &ModuleEmit<'_, '_>, function: Val, row: Val, storage: PixelStorage) -> Val {
    let ir = &cx.ir;
    let x = ir.zext(ir.param(function, 2), ir.int(64));
    ir.offset(row, ir.mul(x, ir.const_u64(storage.bytes().into())))
}

/// Number of stored words of a texel, and their bits.
fn words(storage: PixelStorage) -> (u32, u32) {
    match storage.kind() {
        TexelKind::Int { bits } | TexelKind::Float { bits } => (storage.channels(), bits),
        _ => (1, 32),
    }
}

fn is_packed(storage: PixelStorage) -> bool {
    matches!(storage.kind(), TexelKind::Packed1010102 | TexelKind::Packed111110)
}

fn read_body(cx: &ModuleEmit<'_, '_>, function: Val, element: Scalar, dim: usize) {
    let (row, miss) = row(cx, function, dim);
    let other = by_storage(cx, function, element, |cx, storage| {
        let ir = &cx.ir;
        let at = texel(cx, function, row, storage);
        let (count, bits) = words(storage);
        let word = |i: u32| {
            let from = ir.offset_const(at, u64::from(i * bits / 8));
            ir.zext_or_trunc(ir.load(ir.int(bits), from, bits / 8, false), ir.int(32))
        };
        let mut raw: Leaves = (0..count).map(word).collect();
        if let Some(&word) = raw.first().filter(|_| is_packed(storage)) {
            raw = cx.unpack_word(storage.kind(), word);
        }
        let texel = cx.decode_texel(storage, element, &raw);
        cx.ir.ret(Some(cx.ir.build_struct(&texel)));
    });
    let ir = &cx.ir;
    for end in [other, miss] {
        ir.at_end(end);
        ir.ret(Some(ir.zero(ir.structure(&[cx.types.leaf(ir, element); 4]))));
    }
}

fn write_body(cx: &ModuleEmit<'_, '_>, function: Val, element: Scalar, dim: usize) {
    let (row, miss) = row(cx, function, dim);
    let other = by_storage(cx, function, element, |cx, storage| {
        let ir = &cx.ir;
        let at = texel(cx, function, row, storage);
        let first = 2 + dim as u32;
        let values: Leaves = (first..first + 4).map(|i| ir.param(function, i)).collect();
        let mut raw = cx.encode_texel(storage, element, &values);
        if is_packed(storage) {
            raw = [cx.pack_word(storage.kind(), &raw)].into_iter().collect();
        }
        let (_, bits) = words(storage);
        for (i, &v) in raw.iter().enumerate() {
            let to = ir.offset_const(at, i as u64 * u64::from(bits / 8));
            ir.store(ir.zext_or_trunc(v, ir.int(bits)), to, bits / 8, false);
        }
        ir.ret(None);
    });
    for end in [other, miss] {
        cx.ir.at_end(end);
        cx.ir.ret(None);
    }
}
