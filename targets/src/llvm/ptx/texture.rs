//! Images as texture objects: samples by `tex.level` and `tex.grad` with normalised coordinates, texels of levels by `tex.level`
//! with whole coordinates, which takes them as they are, whatever the sampler.

use luisac_artifact::abi::{PTX_LEVEL_BITS, PTX_SAMPLER_BITS, PtxImage};

use crate::llvm::bindless::{Detail, Sampling};
use crate::llvm::function::FnEmit;
use crate::llvm::ir::Val;
use crate::llvm::module::ModuleEmit;
use crate::llvm::value::{Image, Leaves, Texture};

const SURFACE: u64 = std::mem::offset_of!(PtxImage, surface) as u64;
const LEVELS: u64 = std::mem::offset_of!(PtxImage, levels) as u64;
const TEXTURES: u64 = std::mem::offset_of!(PtxImage, textures) as u64;

/// An image argument: a surface object, or the address of a [`PtxImage`] if the kernel samples it.
pub fn argument(cx: &ModuleEmit<'_, '_>, first: Val, storage: Val, sampled: bool) -> Image {
    let ir = &cx.ir;
    if !sampled {
        return Image { handle: first, storage, textures: Some(ir.const_u64(0)) };
    }
    let handle = word(cx, ir.add(first, ir.const_u64(SURFACE)));
    Image { handle, storage, textures: Some(ir.add(first, ir.const_u64(TEXTURES))) }
}

/// A word of global memory that does not change while the kernel runs.
fn word(cx: &ModuleEmit<'_, '_>, address: Val) -> Val {
    let ir = &cx.ir;
    let ptr = ir.inttoptr(address, ir.ptr(cx.device.global_space()));
    let v = ir.load(ir.int(64), ptr, 8, false);
    ir.mark_invariant(v);
    v
}

/// The texture object of an image argument for a sampler. A number that is no sampler is undefined, but leads to no memory
/// beyond the table.
pub fn of_argument(f: &mut FnEmit<'_, '_, '_>, image: Image, sampler: Val) -> Val {
    let ir = &f.cx.ir;
    let table = image.textures.unwrap_or_else(|| ir.const_u64(0));
    let number = ir.zext(ir.and(sampler, ir.const_u32(15)), ir.int(64));
    word(f.cx, ir.add(table, ir.mul(number, ir.const_u64(8))))
}

/// An image argument with all its levels, as the first of its texture objects sees it.
pub fn whole_argument(f: &mut FnEmit<'_, '_, '_>, image: Image) -> Texture {
    let zero = f.cx.ir.const_u32(0);
    let handle = of_argument(f, image, zero);
    let ir = &f.cx.ir;
    let table = image.textures.unwrap_or_else(|| ir.const_u64(0));
    let levels = word(f.cx, ir.sub(table, ir.const_u64(TEXTURES - LEVELS)));
    Texture { handle, sampler: zero, levels: Some(ir.trunc(levels, ir.int(32))) }
}

/// The image in a bindless record.
pub fn in_slot(f: &mut FnEmit<'_, '_, '_>, size: Val, word: Val, dim: u32) -> Texture {
    let ir = &f.cx.ir;
    let code = |starts: [u32; 2]| {
        let start = ir.const_u64(starts[dim as usize - 2].into());
        ir.and(ir.trunc(ir.lshr(size, start), ir.int(32)), ir.const_u32(15))
    };
    let levels = ir.add(code(PTX_LEVEL_BITS), ir.const_u32(1));
    Texture { handle: word, sampler: code(PTX_SAMPLER_BITS), levels: Some(levels) }
}

/// The number of levels, which the host wrote down: drivers do not link what `ptxas` makes of `txq.num_mipmap_levels`.
pub fn levels(f: &mut FnEmit<'_, '_, '_>, texture: Texture) -> Val {
    texture.levels.unwrap_or_else(|| f.cx.ir.const_u32(1))
}

/// The size along each axis.
pub fn size(f: &mut FnEmit<'_, '_, '_>, texture: Texture, dim: usize) -> Leaves {
    let ir = &f.cx.ir;
    let ask = |what| {
        let text = format!("txq.{what}.b32 $0, [$1];");
        ir.assembly(&text, "=r,l", ir.int(32), &[texture.handle], false, false)
    };
    ["width", "height", "depth"].into_iter().take(dim).map(ask).collect()
}

/// Operands of an instruction, each a list of registers in braces.
struct Operands {
    args: Vec<Val>,
    constraints: String,
}

impl Operands {
    /// Four results of floats, then the texture object.
    fn new(texture: Val) -> Operands {
        Operands { args: vec![texture], constraints: "=f,=f,=f,=f,l".to_string() }
    }

    fn one(&mut self, v: Val, class: char) -> String {
        self.args.push(v);
        self.constraints.push_str(&format!(",{class}"));
        format!("${}", self.args.len() + 3)
    }

    /// Two or three components; three need a fourth, which counts for nothing.
    fn vector(&mut self, components: &[Val], class: char) -> String {
        let mut list: Vec<String> = components.iter().map(|&v| self.one(v, class)).collect();
        if let [_, _, last] = list.as_slice() {
            list.push(last.clone());
        }
        format!("{{{}}}", list.join(", "))
    }

    fn emit(&self, f: &mut FnEmit<'_, '_, '_>, text: &str) -> Leaves {
        let ir = &f.cx.ir;
        let ret = ir.structure(&[ir.f32(); 4]);
        let texel = ir.assembly(text, &self.constraints, ret, &self.args, false, false);
        (0..4).map(|i| ir.extract_value(texel, i)).collect()
    }
}

/// Samples.
pub fn sample(f: &mut FnEmit<'_, '_, '_>, texture: Val, sampling: &Sampling) -> Leaves {
    let dim = sampling.at.len();
    let mut operands = Operands::new(texture);
    let at = operands.vector(&sampling.at, 'f');
    let (way, rest) = match &sampling.detail {
        Detail::Level(level) => ("level", operands.one(*level, 'f')),
        Detail::Gradients([x, y]) => {
            let x = operands.vector(x, 'f');
            ("grad", format!("{x}, {}", operands.vector(y, 'f')))
        }
    };
    let text = format!("tex.{way}.{dim}d.v4.f32.f32 {{$0, $1, $2, $3}}, [$4, {at}], {rest};");
    operands.emit(f, &text)
}

/// The float texel of a level; zero outside.
pub fn fetch(
    f: &mut FnEmit<'_, '_, '_>,
    texture: Texture,
    coordinate: &[Val],
    level: Val,
) -> Leaves {
    let dim = coordinate.len();
    let count = levels(f, texture);
    let sizes = size(f, texture, dim);
    let mut operands = Operands::new(texture.handle);
    let at = operands.vector(coordinate, 'r');
    let rest = operands.one(level, 'r');
    let text = format!("tex.level.{dim}d.v4.f32.s32 {{$0, $1, $2, $3}}, [$4, {at}], {rest};");
    let texel = operands.emit(f, &text);
    let ir = &f.cx.ir;
    let (word, one) = (ir.int(32), ir.const_u32(1));
    let mut inside = ir.ult(level, count);
    let amount = ir.intrinsic("llvm.umin.i32", word, &[level, ir.const_u32(31)]);
    for (&at, &texels) in coordinate.iter().zip(&sizes) {
        let texels = ir.intrinsic("llvm.umax.i32", word, &[ir.lshr(texels, amount), one]);
        inside = ir.and(inside, ir.ult(at, texels));
    }
    let zero = ir.const_float(ir.f32(), 0.0);
    texel.into_iter().map(|v| ir.select(inside, v, zero)).collect()
}
