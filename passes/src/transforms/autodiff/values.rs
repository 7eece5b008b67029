//! Arithmetic on adjoints: values of any type that holds floats. What is no float in them stays as it is.

use super::sweep::Sweep;
use luisac_ast::types::{Scalar, TypeId};
use luisac_xir::eval::{double_to_half, flat::Flat};
use luisac_xir::op::{ArithmeticOp, CastOp, Space};
use luisac_xir::{BlockId, Builder, Imm, InstId, Op, ValueId};

/// Arrays of more elements are added in a loop.
const MAX_UNROLLED: u32 = 8;

/// A loop that is being emitted.
pub(super) struct OpenLoop {
    pub prepare: BlockId,
    pub update: BlockId,
    pub merge: BlockId,
}

impl Sweep<'_> {
    /// A builder at the present end of the way back.
    pub fn builder(&mut self) -> Builder<'_> {
        let mut builder = Builder::at_end(self.func, self.types, self.block);
        builder.loc = self.loc;
        builder
    }

    /// Arithmetic whose result type follows from the operands.
    pub fn op(&mut self, op: ArithmeticOp, args: &[ValueId]) -> ValueId {
        self.builder().arithmetic(op, args)
    }

    pub fn ty(&self, value: ValueId) -> TypeId {
        self.func.value_type(value)
    }

    pub fn zero(&mut self, ty: TypeId) -> ValueId {
        self.func.zero(ty, self.types)
    }

    /// The constant `number` in all components of a floating-point scalar, vector or matrix.
    pub fn splat(&mut self, ty: TypeId, number: f64) -> ValueId {
        let bits = match self.types.scalar_of(ty) {
            Some(Scalar::F16) => double_to_half(number),
            Some(Scalar::F64) => number.to_bits(),
            _ => u64::from((number as f32).to_bits()),
        };
        let bytes = Flat::of(self.types, ty, 16)
            .map(|flat| flat.write(&vec![bits; flat.parts.len()]))
            .unwrap_or_else(|| vec![0; self.types.size(ty) as usize]);
        self.func.constant(ty, bytes)
    }

    pub fn add(&mut self, a: ValueId, b: ValueId) -> ValueId {
        self.op(ArithmeticOp::BinaryAdd, &[a, b])
    }

    pub fn sub(&mut self, a: ValueId, b: ValueId) -> ValueId {
        self.op(ArithmeticOp::BinarySub, &[a, b])
    }

    pub fn mul(&mut self, a: ValueId, b: ValueId) -> ValueId {
        self.op(ArithmeticOp::BinaryMul, &[a, b])
    }

    pub fn div(&mut self, a: ValueId, b: ValueId) -> ValueId {
        self.op(ArithmeticOp::BinaryDiv, &[a, b])
    }

    pub fn neg(&mut self, a: ValueId) -> ValueId {
        self.op(ArithmeticOp::UnaryMinus, &[a])
    }

    /// `number * a`.
    pub fn scale(&mut self, number: f64, a: ValueId) -> ValueId {
        let number = self.splat(self.ty(a), number);
        self.mul(number, a)
    }

    /// `condition ? yes : no`.
    pub fn choose(&mut self, condition: ValueId, yes: ValueId, no: ValueId) -> ValueId {
        self.op(ArithmeticOp::Select, &[no, yes, condition])
    }

    /// A scalar in all components of `ty`; a value of `ty` itself.
    pub fn broadcast(&mut self, value: ValueId, ty: TypeId) -> ValueId {
        if self.ty(value) == ty {
            return value;
        }
        let dim = self.types.member_count(ty) as usize;
        self.builder().aggregate(ty, &vec![value; dim])
    }

    /// The adjoint of an operand of type `ty` that stood for every component, from that of each component.
    pub fn gather(&mut self, adjoint: ValueId, ty: TypeId) -> ValueId {
        if self.ty(adjoint) == ty {
            return adjoint;
        }
        self.op(ArithmeticOp::ReduceSum, &[adjoint])
    }

    /// The sum of two adjoints of any type. The depth of types is bounded when they are interned.
    pub fn sum(&mut self, a: ValueId, b: ValueId) -> ValueId {
        let ty = self.ty(a);
        if !self.activity.is_differentiable(ty, self.types) {
            return a;
        }
        if self.types.is_float(ty) {
            return self.add(a, b);
        }
        if self.types.is_matrix(ty) {
            return self.op(ArithmeticOp::MatrixCompAdd, &[a, b]);
        }
        let count = self.types.member_count(ty);
        if count > MAX_UNROLLED && !self.types.is_struct(ty) {
            let both = self.local(ty);
            self.builder().store(both, a);
            self.accumulate(both, b);
            return self.builder().load(both);
        }
        let mut result = a;
        for index in 0..count {
            let (x, y) = (self.builder().extract(a, index), self.builder().extract(b, index));
            let part = self.sum(x, y);
            if part != x {
                result = self.builder().insert(result, part, index);
            }
        }
        result
    }

    /// Adds an adjoint to that in memory. The depth of types is bounded when they are interned.
    pub fn accumulate(&mut self, lvalue: ValueId, adjoint: ValueId) {
        let ty = self.ty(lvalue);
        if !self.activity.is_differentiable(ty, self.types) {
            return;
        }
        let is_plain = self.types.is_float(ty) || self.types.is_matrix(ty);
        let count = self.types.member_count(ty);
        if is_plain {
            let old = self.builder().load(lvalue);
            let new = self.sum(old, adjoint);
            self.builder().store(lvalue, new);
        } else if count > MAX_UNROLLED && !self.types.is_struct(ty) {
            self.accumulate_array(lvalue, adjoint);
        } else {
            for index in 0..count {
                let Some(part_type) = self.types.element_type(ty, index) else { continue };
                let part = self.builder().extract(adjoint, index);
                let index = self.func.u32_constant(index);
                let place = self.builder().gep(lvalue, &[index], part_type);
                self.accumulate(place, part);
            }
        }
    }

    fn accumulate_array(&mut self, lvalue: ValueId, adjoint: ValueId) {
        let ty = self.ty(lvalue);
        let Some(element) = self.types.element_type(ty, 0) else { return };
        let (from, counter) = (self.local(ty), self.local(TypeId::U32));
        self.builder().store(from, adjoint);
        let (zero, count) =
            (self.func.u32_constant(0), self.func.u32_constant(self.types.member_count(ty)));
        self.builder().store(counter, zero);
        let (opened, body) = self.open_loop();
        let index = self.builder().load(counter);
        let more = self.op(ArithmeticOp::BinaryLess, &[index, count]);
        self.builder().cond_br(more, body, opened.merge);
        self.enter(body);
        let index = self.builder().load(counter);
        let source = self.builder().gep(from, &[index], element);
        let place = self.builder().gep(lvalue, &[index], element);
        let part = self.builder().load(source);
        self.accumulate(place, part);
        self.builder().br(opened.update);
        self.enter(opened.update);
        let index = self.builder().load(counter);
        let one = self.func.u32_constant(1);
        let next = self.add(index, one);
        self.builder().store(counter, next);
        self.builder().br(opened.prepare);
        self.enter(opened.merge);
    }

    /// Emits a `loop` and enters its prepare block; gives its blocks and the body.
    pub fn open_loop(&mut self) -> (OpenLoop, BlockId) {
        let [prepare, body, update, merge] = [(); 4].map(|()| self.new_block());
        self.terminate(Op::Loop, &[], &[prepare, body, update, merge], Imm::None);
        self.enter(prepare);
        (OpenLoop { prepare, update, merge }, body)
    }

    /// A new block at the end of the order.
    pub fn new_block(&mut self) -> BlockId {
        self.func.append_block()
    }

    /// Ends the present block.
    pub fn terminate(&mut self, op: Op, args: &[ValueId], blocks: &[BlockId], imm: Imm) -> InstId {
        self.builder().inst(op, TypeId::VOID, args, blocks, imm)
    }

    /// A local at the function's entry; not set to zero by the scope.
    pub fn local(&mut self, ty: TypeId) -> ValueId {
        let alloca = self.func.create_inst(Op::Alloca(Space::Local), ty, &[], &[], Imm::None);
        if let Some(entry) = self.func.entry() {
            self.func.prepend_inst(entry, alloca);
        }
        self.func.result(alloca).unwrap_or_else(|| self.func.undefined(ty))
    }

    /// A local that is zero when the scope starts.
    pub fn zeroed_local(&mut self, ty: TypeId) -> ValueId {
        let local = self.local(ty);
        self.zeroed.push(local);
        local
    }

    /// A conversion by value.
    pub fn convert(&mut self, value: ValueId, ty: TypeId) -> ValueId {
        match self.ty(value) == ty {
            true => value,
            false => self.builder().value(Op::Cast(CastOp::Static), ty, &[value]),
        }
    }
}
