//! What the callables that sample are made of: scalar operations, branches, and what an image is asked for.

use super::FLOAT;
use super::kind::Signature;
use luisac_ast::types::{Scalar, TypeId, TypeTable};
use luisac_xir::op::{ArithmeticOp, ResourceQueryOp as Q, ResourceReadOp as R};
use luisac_xir::{BlockId, Builder, Function, Imm, Op, ValueId};

/// Positions are kept within this many texels around the image, so that they are exact integers.
const FAR: f32 = 1_073_741_824.0;

/// A callable under construction.
pub(super) struct Emit<'a> {
    pub b: Builder<'a>,
    pub dimensions: usize,
    /// Whether branches and loops are constructs.
    structured: bool,
    pub signature: Signature,
}

impl<'a> Emit<'a> {
    /// Starts at the end of a new first block.
    pub fn new(
        func: &'a mut Function,
        types: &'a TypeTable,
        (dimensions, structured): (u8, bool),
        signature: Signature,
    ) -> Emit<'a> {
        let entry = func.append_block();
        let b = Builder::at_end(func, types, entry);
        Emit { b, dimensions: dimensions.into(), structured, signature }
    }

    // ---- scalars

    pub fn float(&mut self, x: f32) -> ValueId {
        let types = self.b.types;
        self.b.func.scalar_constant(FLOAT, x.to_bits().into(), types)
    }

    pub fn int(&mut self, x: i32) -> ValueId {
        let types = self.b.types;
        self.b.func.scalar_constant(TypeId::scalar(Scalar::I32), u64::from(x as u32), types)
    }

    pub fn op(&mut self, op: ArithmeticOp, args: &[ValueId]) -> ValueId {
        self.b.arithmetic(op, args)
    }

    pub fn cast(&mut self, value: ValueId, to: Scalar) -> ValueId {
        self.b.static_cast(value, TypeId::scalar(to))
    }

    /// Select's operands are (false, true, condition).
    pub fn choose(&mut self, condition: ValueId, yes: ValueId, no: ValueId) -> ValueId {
        self.op(ArithmeticOp::Select, &[no, yes, condition])
    }

    pub fn components(&mut self, vector: ValueId) -> Vec<ValueId> {
        (0..self.dimensions as u32).map(|axis| self.b.extract(vector, axis)).collect()
    }

    /// A float without a fraction as an integer.
    pub fn whole(&mut self, x: ValueId) -> ValueId {
        let (low, high) = (self.float(-FAR), self.float(FAR));
        let near = self.op(ArithmeticOp::Max, &[x, low]);
        let near = self.op(ArithmeticOp::Min, &[near, high]);
        let texel = self.cast(near, Scalar::I32);
        // What is no number would have become the lower end.
        let (zero, is_nan) = (self.int(0), self.op(ArithmeticOp::BinaryNotEqual, &[x, x]));
        self.choose(is_nan, zero, texel)
    }

    // ---- control flow

    /// A variable for a value of this type.
    pub fn variable(&mut self, ty: TypeId) -> ValueId {
        self.b.alloca(ty)
    }

    pub fn block(&mut self) -> BlockId {
        self.b.func.append_block()
    }

    /// One of two values, each computed in its own arm.
    pub fn branch(
        &mut self,
        condition: ValueId,
        ty: TypeId,
        yes: impl FnOnce(&mut Self) -> ValueId,
        no: impl FnOnce(&mut Self) -> ValueId,
    ) -> ValueId {
        let result = self.variable(ty);
        let (then, other, merge) = (self.block(), self.block(), self.block());
        if self.structured {
            self.b.inst(Op::If, TypeId::VOID, &[condition], &[then, other, merge], Imm::None);
        } else {
            self.b.cond_br(condition, then, other);
        }
        self.arm(then, merge, result, yes);
        self.arm(other, merge, result, no);
        self.b.switch_to(merge);
        self.b.load(result)
    }

    fn arm(
        &mut self,
        block: BlockId,
        merge: BlockId,
        result: ValueId,
        value: impl FnOnce(&mut Self) -> ValueId,
    ) {
        self.b.switch_to(block);
        let value = value(self);
        self.b.store(result, value);
        self.b.br(merge);
    }

    /// Goes into a loop of prepare, body, update and merge; the prepare block is next.
    pub fn begin_loop(&mut self) -> [BlockId; 4] {
        let blocks = [(); 4].map(|()| self.block());
        if self.structured {
            self.b.inst(Op::Loop, TypeId::VOID, &[], &blocks, Imm::None);
        } else {
            self.b.br(blocks[0]);
        }
        self.b.switch_to(blocks[0]);
        blocks
    }

    // ---- images

    fn is_slot(&self) -> bool {
        self.signature.source.len() == 2
    }

    fn by_dimensions<T>(&self, two: T, three: T) -> T {
        if self.dimensions == 2 { two } else { three }
    }

    /// The number of levels, `uint`.
    pub fn levels(&mut self) -> ValueId {
        let query = match self.is_slot() {
            true => self.by_dimensions(Q::BindlessTexture2dLevels, Q::BindlessTexture3dLevels),
            false => self.by_dimensions(Q::Texture2dLevels, Q::Texture3dLevels),
        };
        let source = self.signature.source.clone();
        self.b.value(Op::ResourceQuery(query), TypeId::U32, &source)
    }

    /// Texels on each axis of a level, or of the first one, as `uint`.
    pub fn size(&mut self, level: Option<ValueId>) -> Vec<ValueId> {
        let query = match self.is_slot() {
            true => self.by_dimensions(Q::BindlessTexture2dSize, Q::BindlessTexture3dSize),
            false => self.by_dimensions(Q::Texture2dSize, Q::Texture3dSize),
        };
        let ty = TypeId::vector(Scalar::U32, self.dimensions as u8);
        let source = self.signature.source.clone();
        let size = self.b.value(Op::ResourceQuery(query), ty, &source);
        let axes = self.components(size);
        let Some(level) = level else { return axes };
        // A level that there is: below 32.
        let one = self.b.u32(1);
        axes.into_iter()
            .map(|texels| {
                let less = self.op(ArithmeticOp::BinaryShiftRight, &[texels, level]);
                self.op(ArithmeticOp::Max, &[less, one])
            })
            .collect()
    }

    /// The texel at a position that has been wrapped, of a level or of the first one; zero outside.
    pub fn texel(&mut self, position: &[ValueId], level: Option<ValueId>) -> ValueId {
        let read = match (self.is_slot(), level.is_some()) {
            (true, true) => {
                self.by_dimensions(R::BindlessTexture2dReadLevel, R::BindlessTexture3dReadLevel)
            }
            (true, false) => self.by_dimensions(R::BindlessTexture2dRead, R::BindlessTexture3dRead),
            (false, true) => self.by_dimensions(R::Texture2dReadLevel, R::Texture3dReadLevel),
            (false, false) => self.by_dimensions(R::Texture2dRead, R::Texture3dRead),
        };
        let axes: Vec<ValueId> =
            position.iter().map(|&axis| self.cast(axis, Scalar::U32)).collect();
        let coordinate =
            self.b.aggregate(TypeId::vector(Scalar::U32, self.dimensions as u8), &axes);
        let mut args = self.signature.source.clone();
        args.push(coordinate);
        args.extend(level);
        self.b.value(Op::ResourceRead(read), super::FLOAT4, &args)
    }
}
