//! `--bounds` as instructions: indices into buffers, bindless buffers, arrays, vectors and matrices, and texel coordinates.
//!
//! What: under `clamp` an index becomes the nearest valid one, and what has no element at all reads zero and drops writes; under
//! `trap` a test stops the thread with a report. Texel coordinates are tested in every mode: outside, images read zero and
//! drop writes. The slot of a bindless array is the emitter's to test, since no operation tells the number of slots.
//!
//! A report is a `print` of [`TRAP_TEXT`] with the position of the kernel argument (`0xffffffff`: an array), and the low and high
//! word of the index, then `assert false` with the same text. The interpreter prints it and stops; `lower_log` of the
//! targets makes a trap record of the two.
//!
//! Why right: `semantics.md`, memory. A buffer holds fewer than 2^32 elements for an index of 32 bits. In callables the position of the argument is not known;
//! pipelines for targets inline first.
//! Cost: linear; under `trap`, and for whatever may be empty, a branch an access.

use crate::manager::declaration::{
    Declaration, FunctionCx, FunctionPass, OptionType, Refusal, counters, options,
};
use luisac_ast::types::{Scalar, TypeId, TypeKind, TypeTable};
use luisac_xir::op::ArithmeticOp::{self, *};
use luisac_xir::op::{ResourceQueryOp as Q, ResourceReadOp as R, ResourceWriteOp as W};
use luisac_xir::{Builder, Function, Imm, InstId, Op, ValueDef, ValueId, forms};

/// What marks a report of an index out of range.
pub const TRAP_TEXT: &str = "out of bounds of argument {}: index {} + {} * 2^32";
/// The position of the argument in a report on an array.
const NO_ARGUMENT: u32 = u32::MAX;

/// What happens to an index out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It is undefined.
    Off,
    /// The nearest valid one is taken.
    Clamp,
    /// The thread stops.
    Trap,
}

impl OptionType for Mode {
    const KIND: &'static str = "off|clamp|trap";
    fn parse(text: &str) -> Option<Mode> {
        match text {
            "off" => Some(Mode::Off),
            "clamp" => Some(Mode::Clamp),
            "trap" => Some(Mode::Trap),
            _ => None,
        }
    }
    fn show(&self) -> String {
        match self {
            Mode::Off => "off".into(),
            Mode::Clamp => "clamp".into(),
            Mode::Trap => "trap".into(),
        }
    }
}

counters! {
    /// What `lower_bounds` did.
    Info {
        change clamped_count "indices clamped";
        change tested_count "indices tested";
        change guarded_count "accesses that run only if there is something";
    }
}

options! {
    /// What to do.
    Options {
        mode: Mode = Mode::Clamp, "what happens to an index out of range";
        images: bool = true, "test texel coordinates";
        flat: bool = false, "branch in functions of one block, which are in either form";
    }
}

/// The pass.
pub struct LowerBounds;

impl FunctionPass for LowerBounds {
    const DECLARATION: Declaration = Declaration::new(
        "lower_bounds",
        "clamps or tests indices",
        "Makes indices into buffers and arrays valid by clamping, or stops threads whose index is out of range with a report, as \
         `--bounds` says; texels out of range read zero and drop writes in every mode.",
    );
    type Options = Options;
    type Info = Info;

    // All or nothing: an access that is left out is not safe, so fuel is not asked.
    fn run(cx: &mut FunctionCx<'_>, options: &Options) -> Result<Info, Refusal> {
        let insts: Vec<InstId> = cx.func.blocks().flat_map(|b| cx.func.insts(b)).collect();
        let one_block = cx.func.blocks().nth(1).is_none();
        let flat = match one_block {
            true => options.flat,
            false => forms::control_flow_of(cx.func) == forms::Cfg::Flat,
        };
        let mut bounds =
            Bounds { func: cx.func, types: cx.types, options, flat, info: Info::default() };
        // From the end: a guard cuts its block in two, and what is behind it has been cut away already.
        for inst in insts.into_iter().rev() {
            bounds.instruction(inst);
        }
        Ok(bounds.info)
    }
}

struct Bounds<'a> {
    func: &'a mut Function,
    types: &'a TypeTable,
    options: &'a Options,
    flat: bool,
    info: Info,
}

/// How many elements there are, and whether there may be none.
#[derive(Clone, Copy)]
struct Count {
    value: ValueId,
    may_be_zero: bool,
    argument: u32,
}

impl Bounds<'_> {
    fn instruction(&mut self, inst: InstId) {
        let base = match self.func.args(inst).first() {
            Some(&base) => base,
            None => return,
        };
        match self.func.op(inst) {
            Op::Gep | Op::Arithmetic(Extract) => {
                self.chain(inst, 1, usize::MAX, self.func.value_type(base));
            }
            Op::Arithmetic(Insert) => {
                self.chain(inst, 2, usize::MAX, self.func.value_type(base));
            }
            Op::Atomic(op) => self.atomic(inst, base, op.value_count()),
            Op::ResourceRead(op) => self.read(inst, base, op),
            Op::ResourceWrite(op) => self.write(inst, base, op),
            _ => {}
        }
    }

    fn atomic(&mut self, inst: InstId, base: ValueId, values: usize) {
        let end = self.func.args(inst).len() - values;
        let ty = self.func.value_type(base);
        if !self.func.is_resource(base) {
            return self.chain(inst, 1, end, ty);
        }
        let TypeKind::Buffer { elem, .. } = *self.types.kind(ty) else { return };
        self.chain(inst, 2, end, elem);
        self.element(inst, 1, Q::BufferSize, &[base], elem);
    }

    fn read(&mut self, inst: InstId, base: ValueId, op: R) {
        let ty = self.func.inst(inst).ty;
        match op {
            R::BufferRead | R::BufferVolatileRead => {
                self.element(inst, 1, Q::BufferSize, &[base], ty);
            }
            R::BindlessBufferRead => self.bindless_element(inst, base, ty),
            R::ByteBufferRead | R::ByteBufferVolatileRead => {
                self.bytes(inst, 1, Q::ByteBufferSize, &[base], ty);
            }
            R::BindlessByteBufferRead => {
                let slot = self.func.arg(inst, 1);
                self.bytes(inst, 2, Q::BindlessByteBufferSize, &[base, slot], ty);
            }
            _ => self.texel_read(inst, base, op),
        }
    }

    fn write(&mut self, inst: InstId, base: ValueId, op: W) {
        let value = |i| self.func.value_type(self.func.arg(inst, i));
        match op {
            W::BufferWrite | W::BufferVolatileWrite => {
                self.element(inst, 1, Q::BufferSize, &[base], value(2));
            }
            W::BindlessBufferWrite => self.bindless_element(inst, base, value(3)),
            W::ByteBufferWrite | W::ByteBufferVolatileWrite => {
                self.bytes(inst, 1, Q::ByteBufferSize, &[base], value(2));
            }
            W::BindlessByteBufferWrite => {
                let slot = self.func.arg(inst, 1);
                self.bytes(inst, 2, Q::BindlessByteBufferSize, &[base, slot], value(3));
            }
            W::Texture2dWrite => self.texel_write(inst, Q::Texture2dSize, base),
            W::Texture3dWrite => self.texel_write(inst, Q::Texture3dSize, base),
            _ => {}
        }
    }

    // ---- arrays, vectors, matrices

    /// The indices at operands `first..end`, which go into a value of type `ty`.
    fn chain(&mut self, inst: InstId, first: usize, end: usize, mut ty: TypeId) {
        let end = end.min(self.func.args(inst).len());
        for place in first..end {
            let index = self.func.arg(inst, place);
            let count = self.types.member_count(ty);
            let known = self.func.constant_bits(index).filter(|&i| i < u64::from(count));
            if known.is_none() && !self.types.is_struct(ty) && count > 0 {
                let value = self.func.u32_constant(count);
                let count = Count { value, may_be_zero: false, argument: NO_ARGUMENT };
                self.check(inst, place, count);
            }
            let Some(inner) = self.types.element_type(ty, known.unwrap_or(0) as u32) else {
                return;
            };
            ty = inner;
        }
    }

    // ---- buffers

    fn argument_of(&self, base: ValueId) -> u32 {
        match self.func.value_def(base) {
            ValueDef::Argument(position) if self.func.is_kernel() => position,
            _ => NO_ARGUMENT,
        }
    }

    fn index_is_wide(&self, index: ValueId) -> bool {
        self.types.scalar_of(self.func.value_type(index)).is_some_and(|s| s.bits() == 64)
    }

    /// The type in which an index is compared.
    fn count_type(&self, index: ValueId) -> TypeId {
        if self.index_is_wide(index) { TypeId::U64 } else { TypeId::U32 }
    }

    /// The index at operand `place`, which names an element of type `elem`.
    fn element(&mut self, inst: InstId, place: usize, query: Q, of: &[ValueId], elem: TypeId) {
        if self.options.mode == Mode::Off || self.types.stride(elem) == 0 {
            return;
        }
        let ty = self.count_type(self.func.arg(inst, place));
        let argument = self.argument_of(of[0]);
        let mut b = Builder::before(self.func, self.types, inst);
        let value = b.value(Op::ResourceQuery(query), ty, of);
        self.check(inst, place, Count { value, may_be_zero: true, argument });
    }

    fn bindless_element(&mut self, inst: InstId, base: ValueId, elem: TypeId) {
        let (slot, stride) = (self.func.arg(inst, 1), self.types.stride(elem));
        let Ok(stride) = u32::try_from(stride) else { return };
        let stride = self.func.u32_constant(stride);
        self.element(inst, 2, Q::BindlessBufferSize, &[base, slot, stride], elem);
    }

    /// The byte offset at operand `place` of a value of type `ty`: valid from 0 to the size of the buffer less that of the value.
    fn bytes(&mut self, inst: InstId, place: usize, query: Q, of: &[ValueId], ty: TypeId) {
        let size = self.types.size(ty);
        if self.options.mode == Mode::Off || size == 0 {
            return;
        }
        let count_type = self.count_type(self.func.arg(inst, place));
        let argument = self.argument_of(of[0]);
        let align = u64::from(self.types.align(ty));
        let mut b = Builder::before(self.func, self.types, inst);
        let bytes = b.value(Op::ResourceQuery(query), count_type, of);
        let constant =
            |b: &mut Builder<'_>, bits| b.func.scalar_constant(count_type, bits, b.types);
        let (less, zero) = (constant(&mut b, size - 1), constant(&mut b, 0));
        let fits = b.arithmetic(BinaryGreater, &[bytes, less]);
        let mut count = b.arithmetic(BinarySub, &[bytes, less]);
        if self.options.mode == Mode::Clamp {
            // The last valid offset is a multiple of the alignment.
            let (one, mask) = (constant(&mut b, 1), constant(&mut b, !(align - 1)));
            let last = b.arithmetic(BinarySub, &[count, one]);
            let last = b.arithmetic(BinaryBitAnd, &[last, mask]);
            count = b.arithmetic(BinaryAdd, &[last, one]);
        }
        let value = b.arithmetic(Select, &[zero, count, fits]);
        self.check(inst, place, Count { value, may_be_zero: true, argument });
    }

    // ---- what happens to an index

    fn check(&mut self, inst: InstId, place: usize, count: Count) {
        match self.options.mode {
            Mode::Off => {}
            Mode::Clamp => self.clamp(inst, place, count),
            Mode::Trap => self.trap(inst, place, count),
        }
    }

    /// The index as an unsigned number of the count's type; a negative one becomes `negative`, 0 or greater than every count.
    fn unsigned(&mut self, inst: InstId, index: ValueId, to: TypeId, clamp: bool) -> ValueId {
        let ty = self.func.value_type(index);
        let scalar = self.types.scalar_of(ty).unwrap_or(Scalar::U32);
        let mut b = Builder::before(self.func, self.types, inst);
        let mut index = index;
        if scalar.is_signed() && clamp {
            let zero = b.func.zero(ty, b.types);
            index = b.arithmetic(Max, &[index, zero]);
        }
        b.static_cast(index, to)
    }

    fn clamp(&mut self, inst: InstId, place: usize, count: Count) {
        let index = self.func.arg(inst, place);
        let to = self.count_type(index);
        let wide = self.unsigned(inst, index, to, true);
        let mut b = Builder::before(self.func, self.types, inst);
        let total = b.static_cast(count.value, to);
        let one = b.func.scalar_constant(to, 1, b.types);
        let last = match b.func.constant_bits(total) {
            Some(n) => b.func.scalar_constant(to, n - 1, b.types),
            None => b.arithmetic(BinarySub, &[total, one]),
        };
        // An empty resource gives the greatest number here, and is not accessed.
        let nearest = b.arithmetic(Min, &[wide, last]);
        self.func.set_arg(inst, place, nearest);
        self.info.clamped_count += 1;
        if count.may_be_zero {
            let mut b = Builder::before(self.func, self.types, inst);
            let zero = b.func.scalar_constant(to, 0, b.types);
            let present = b.arithmetic(BinaryNotEqual, &[total, zero]);
            self.only_if(inst, present);
        }
    }

    fn trap(&mut self, inst: InstId, place: usize, count: Count) {
        let index = self.func.arg(inst, place);
        let to = self.count_type(index);
        let wide = self.unsigned(inst, index, to, false);
        let mut b = Builder::before(self.func, self.types, inst);
        let total = b.static_cast(count.value, to);
        let outside = b.arithmetic(BinaryGreaterEqual, &[wide, total]);
        let (low, high) = words(&mut b, index);
        let end = self.branch(inst, outside);
        let mut b = Builder::before(self.func, self.types, end);
        let (argument, never) = (b.u32(count.argument), b.func.bool_constant(false));
        let text = || Imm::Text(TRAP_TEXT.into());
        b.inst(Op::Print, TypeId::VOID, &[argument, low, high], &[], text());
        b.inst(Op::Assert, TypeId::VOID, &[never], &[], text());
        self.info.tested_count += 1;
    }

    /// An arm before an instruction that runs if the condition holds: its terminator.
    fn branch(&mut self, inst: InstId, condition: ValueId) -> InstId {
        Builder::branch_around(self.func, self.types, inst, condition, self.flat)
    }

    /// Runs an instruction only under a condition; otherwise its result is zero.
    fn only_if(&mut self, inst: InstId, condition: ValueId) {
        let after = self.func.next_inst(inst);
        let Some(after) = after else { return };
        let (ty, entry) = (self.func.inst(inst).ty, self.func.entry());
        // The place of the result is set to zero each time: the access may be in a loop.
        let place = self.func.result(inst).filter(|&r| self.func.has_uses(r)).and_then(|result| {
            let place = self.func.create_inst(
                Op::Alloca(luisac_xir::op::Space::Local),
                ty,
                &[],
                &[],
                Imm::None,
            );
            self.func.prepend_inst(entry?, place);
            Some((self.func.result(place)?, result))
        });
        if let Some((place, _)) = place {
            let mut b = Builder::before(self.func, self.types, inst);
            let zero = b.func.zero(ty, b.types);
            b.store(place, zero);
        }
        let end = self.branch(after, condition);
        self.func.unlink_inst(inst);
        self.func.insert_before(inst, end);
        if let Some((place, result)) = place {
            let mut b = Builder::before(self.func, self.types, after);
            let read = b.load(place);
            b.func.replace_all_uses(result, read);
            Builder::before(self.func, self.types, end).store(place, result);
        }
        self.info.guarded_count += 1;
    }

    // ---- images

    fn texel_read(&mut self, inst: InstId, base: ValueId, op: R) {
        let arg = |i| self.func.arg(inst, i);
        let (query, of, place) = match op {
            R::Texture2dReadLevel => (Q::Texture2dSize, vec![base], 1),
            R::Texture3dReadLevel => (Q::Texture3dSize, vec![base], 1),
            R::Texture2dRead => (Q::Texture2dSize, vec![base], 1),
            R::Texture3dRead => (Q::Texture3dSize, vec![base], 1),
            R::BindlessTexture2dRead => (Q::BindlessTexture2dSize, vec![base, arg(1)], 2),
            R::BindlessTexture3dRead => (Q::BindlessTexture3dSize, vec![base, arg(1)], 2),
            R::BindlessTexture2dReadLevel => {
                (Q::BindlessTexture2dSizeLevel, vec![base, arg(1), arg(3)], 2)
            }
            R::BindlessTexture3dReadLevel => {
                (Q::BindlessTexture3dSizeLevel, vec![base, arg(1), arg(3)], 2)
            }
            _ => return,
        };
        if !self.options.images {
            return;
        }
        let level = match op {
            R::Texture2dReadLevel => Some((Q::Texture2dLevels, arg(2))),
            R::Texture3dReadLevel => Some((Q::Texture3dLevels, arg(2))),
            _ => None,
        };
        let inside = self.is_texel(inst, place, query, &of, level);
        let coordinate = self.func.arg(inst, place);
        let mut b = Builder::before(self.func, self.types, inst);
        let zero = b.func.zero(b.func.value_type(coordinate), b.types);
        let safe = b.arithmetic(Select, &[zero, coordinate, inside]);
        if let Some((_, level)) = level {
            let zero = b.func.zero(b.func.value_type(level), b.types);
            let level = b.arithmetic(Select, &[zero, level, inside]);
            b.func.set_arg(inst, 2, level);
        }
        self.func.set_arg(inst, place, safe);
        self.info.clamped_count += 1;
        let (Some(result), Some(next)) = (self.func.result(inst), self.func.next_inst(inst)) else {
            return;
        };
        let mut b = Builder::before(self.func, self.types, next);
        let nothing = b.func.zero(b.func.value_type(result), b.types);
        let texel = b.arithmetic(Select, &[nothing, result, inside]);
        b.func.replace_all_uses(result, texel);
        if let Some(select) = b.func.def_inst(texel) {
            b.func.set_arg(select, 1, result);
        }
    }

    fn texel_write(&mut self, inst: InstId, query: Q, base: ValueId) {
        if self.options.images {
            let inside = self.is_texel(inst, 1, query, &[base], None);
            self.only_if(inst, inside);
        }
    }

    /// Whether the coordinate at operand `place` is in the image, or in a level of it that a query counts; as unsigned numbers, so
    /// that negative ones are not.
    fn is_texel(
        &mut self,
        inst: InstId,
        place: usize,
        query: Q,
        of: &[ValueId],
        level: Option<(Q, ValueId)>,
    ) -> ValueId {
        let coordinate = self.func.arg(inst, place);
        let dim = self.types.dim(self.func.value_type(coordinate));
        let ty = TypeId::vector(Scalar::U32, dim);
        let mut b = Builder::before(self.func, self.types, inst);
        let mut size = b.value(Op::ResourceQuery(query), ty, of);
        let mut exists = None;
        if let Some((levels, level)) = level {
            let levels = b.value(Op::ResourceQuery(levels), TypeId::U32, of);
            let level = b.static_cast(level, TypeId::U32);
            let there = b.arithmetic(BinaryLess, &[level, levels]);
            // A level that is not there does not matter, but its number must not be a long shift.
            let zero = b.u32(0);
            let by = b.arithmetic(Select, &[zero, level, there]);
            let (by, one) = (b.aggregate(ty, &vec![by; dim.into()]), b.u32(1));
            let ones = b.aggregate(ty, &vec![one; dim.into()]);
            let halved = b.arithmetic(BinaryShiftRight, &[size, by]);
            size = b.arithmetic(Max, &[halved, ones]);
            exists = Some(there);
        }
        let at = b.static_cast(coordinate, ty);
        let below = b.arithmetic(BinaryLess, &[at, size]);
        let inside = b.arithmetic(ArithmeticOp::All, &[below]);
        match exists {
            Some(exists) => b.arithmetic(BinaryBitAnd, &[inside, exists]),
            None => inside,
        }
    }
}

/// The low and high word of an index, sign-extended if it is signed.
fn words(b: &mut Builder<'_>, index: ValueId) -> (ValueId, ValueId) {
    let ty = b.func.value_type(index);
    let scalar = b.types.scalar_of(ty).unwrap_or(Scalar::U32);
    let low = b.static_cast(index, TypeId::U32);
    let zero = b.func.u32_constant(0);
    let high = match (scalar.bits(), scalar.is_signed()) {
        (64, _) => {
            let long = b.bit_cast(index, TypeId::U64);
            let width = b.func.scalar_constant(TypeId::U64, 32, b.types);
            let high = b.arithmetic(BinaryShiftRight, &[long, width]);
            b.static_cast(high, TypeId::U32)
        }
        (_, true) => {
            let (nought, ones) = (b.func.zero(ty, b.types), b.func.u32_constant(u32::MAX));
            let negative = b.arithmetic(BinaryLess, &[index, nought]);
            b.arithmetic(Select, &[zero, ones, negative])
        }
        _ => zero,
    };
    (low, high)
}
