//! Storage images as surface objects: `suld.b` and `sust.b` with `.zero`, which reads zero and writes nothing outside.
//!
//! The storage format is known at run time only: one helper function for each kind of access switches over the formats.

use inkwell::llvm_sys::LLVMIntPredicate;
use luisac_artifact::{PixelStorage, TexelKind};
use luisac_ast::types::Scalar;

use crate::llvm::Emit;
use crate::llvm::function::FnEmit;
use crate::llvm::image_function::{by_storage, helper};
use crate::llvm::ir::Val;
use crate::llvm::module::ModuleEmit;
use crate::llvm::value::{Image, Leaves};

/// How the channels of a storage are moved: number of registers and bits of each.
fn transfer(storage: PixelStorage) -> (u32, u32) {
    match storage.kind() {
        TexelKind::Int { bits } | TexelKind::Float { bits } => (storage.channels(), bits),
        _ => (1, 32),
    }
}

/// Reads a texel.
pub fn read(
    f: &mut FnEmit<'_, '_, '_>,
    image: Image,
    element: Scalar,
    coordinate: &[Val],
) -> Emit<Leaves> {
    let dim = coordinate.len();
    let leaf = f.cx.types.leaf(&f.cx.ir, element);
    let ret = f.cx.ir.structure(&[leaf; 4]);
    let name = format!("image{dim}d_read_{}", element.name());
    let mut params = vec![f.cx.ir.int(64); 2];
    params.extend(vec![f.cx.ir.int(32); dim]);
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
    let leaf = f.cx.types.leaf(&f.cx.ir, element);
    let name = format!("image{dim}d_write_{}", element.name());
    let mut params = vec![f.cx.ir.int(64); 2];
    params.extend(vec![f.cx.ir.int(32); dim]);
    params.extend([leaf; 4]);
    let ret = f.cx.ir.void();
    let helper =
        helper(f.cx, &name, ret, &params, |cx, function| write_body(cx, function, element, dim));
    let mut args = vec![image.handle, image.storage];
    args.extend_from_slice(coordinate);
    args.extend_from_slice(texel);
    f.cx.ir.call(helper, &args);
    Ok(())
}

/// The size along each axis.
pub fn size(f: &mut FnEmit<'_, '_, '_>, image: Image, dim: u32) -> Emit<Leaves> {
    let ir = &f.cx.ir;
    let axis = |name: &str| {
        ir.assembly(
            &format!("suq.{name}.b32 $0, [$1];"),
            "=r,l",
            ir.int(32),
            &[image.handle],
            false,
            false,
        )
    };
    Ok(["width", "height", "depth"].into_iter().take(dim as usize).map(axis).collect())
}

/// The operands of a coordinate: x scaled to bytes. An x that would not fit into a signed word is far outside every image,
/// and stays so.
fn address(cx: &ModuleEmit<'_, '_>, function: Val, storage: PixelStorage, dim: usize) -> Vec<Val> {
    let ir = &cx.ir;
    let x = ir.param(function, 2);
    let far = ir.icmp(LLVMIntPredicate::LLVMIntUGE, x, ir.const_u32(1 << 26));
    let bytes = ir.mul(x, ir.const_u32(storage.bytes()));
    let x = ir.select(far, ir.const_u32(0x7fff_fff0), bytes);
    let mut list = vec![x];
    list.extend((1..dim as u32).map(|i| ir.param(function, 2 + i)));
    list
}

/// The coordinate operand of the instruction, whose registers start at `first`.
fn operand(dim: usize, first: usize) -> String {
    match dim {
        2 => format!("{{${first}, ${}}}", first + 1),
        _ => format!("{{${first}, ${}, ${}, ${}}}", first + 1, first + 2, first + 2),
    }
}

fn registers(count: u32, first: usize) -> String {
    let list: Vec<String> = (0..count as usize).map(|i| format!("${}", first + i)).collect();
    format!("{{{}}}", list.join(", "))
}

fn suffix(count: u32, bits: u32) -> String {
    if count == 1 { format!("b{bits}") } else { format!("v{count}.b{bits}") }
}

/// Register of a channel: 8 and 16 bits travel in 16.
fn register(bits: u32) -> (&'static str, u32) {
    if bits == 32 { ("r", 32) } else { ("h", 16) }
}

fn read_body(cx: &ModuleEmit<'_, '_>, function: Val, element: Scalar, dim: usize) {
    let other = by_storage(cx, function, element, |cx, storage| {
        let ir = &cx.ir;
        let (count, bits) = transfer(storage);
        let (class, width) = register(bits);
        let n = count as usize;
        let text = format!(
            "suld.b.{dim}d.{}.zero {}, [${n}, {}];",
            suffix(count, bits),
            registers(count, 0),
            operand(dim, n + 1),
        );
        let mut constraints = vec![format!("={class}"); n];
        constraints.push("l".to_string());
        constraints.extend(vec!["r".to_string(); dim]);
        constraints.push("~{memory}".to_string());
        let mut args = vec![ir.param(function, 0)];
        args.extend(address(cx, function, storage, dim));
        let one = ir.int(width);
        let ret = if n == 1 { one } else { ir.structure(&vec![one; n]) };
        let loaded = ir.assembly(&text, &constraints.join(","), ret, &args, true, false);
        let part = |i: usize| {
            let v = if n == 1 { loaded } else { ir.extract_value(loaded, i as u32) };
            let v = ir.zext_or_trunc(v, ir.int(32));
            if bits == 8 { ir.and(v, ir.const_u32(0xff)) } else { v }
        };
        let mut raw: Leaves = (0..n).map(part).collect();
        if matches!(storage.kind(), TexelKind::Packed1010102 | TexelKind::Packed111110)
            && let Some(&word) = raw.first()
        {
            raw = cx.unpack_word(storage.kind(), word);
        }
        let texel = cx.decode_texel(storage, element, &raw);
        ir.ret(Some(ir.build_struct(&texel)));
    });
    let ir = &cx.ir;
    ir.at_end(other);
    let leaf = cx.types.leaf(ir, element);
    ir.ret(Some(ir.zero(ir.structure(&[leaf; 4]))));
}

fn write_body(cx: &ModuleEmit<'_, '_>, function: Val, element: Scalar, dim: usize) {
    let other = by_storage(cx, function, element, |cx, storage| {
        let ir = &cx.ir;
        let (count, bits) = transfer(storage);
        let (class, width) = register(bits);
        let first = 2 + dim as u32;
        let texel: Leaves = (first..first + 4).map(|i| ir.param(function, i)).collect();
        let mut raw = cx.encode_texel(storage, element, &texel);
        if matches!(storage.kind(), TexelKind::Packed1010102 | TexelKind::Packed111110) {
            raw = [cx.pack_word(storage.kind(), &raw)].into_iter().collect();
        }
        let text = format!(
            "sust.b.{dim}d.{}.zero [$0, {}], {};",
            suffix(count, bits),
            operand(dim, 1),
            registers(count, 1 + dim),
        );
        let mut constraints = vec!["l".to_string()];
        constraints.extend(vec!["r".to_string(); dim]);
        constraints.extend(vec![class.to_string(); count as usize]);
        constraints.push("~{memory}".to_string());
        let mut args = vec![ir.param(function, 0)];
        args.extend(address(cx, function, storage, dim));
        args.extend(raw.iter().map(|&v| ir.zext_or_trunc(v, ir.int(width))));
        ir.assembly(&text, &constraints.join(","), ir.void(), &args, true, false);
        ir.ret(None);
    });
    cx.ir.at_end(other);
    cx.ir.ret(None);
}
