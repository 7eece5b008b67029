//! Appends or inserts instructions at a position, with inferred result types.

use crate::op::{ArithmeticOp, CastOp, Space};
use crate::typing;
use crate::{BlockId, Function, Imm, InstId, Op, SourceLoc, ValueId};
use luisac_ast::types::{TypeId, TypeTable};

/// Where new instructions go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// At the end of a block.
    End(BlockId),
    /// Before an instruction.
    Before(InstId),
}

/// A cursor over a function. Type errors of operands are programming errors of the caller and panic; use the verifier for
/// functions that come from outside.
pub struct Builder<'a> {
    pub func: &'a mut Function,
    pub types: &'a TypeTable,
    pub loc: SourceLoc,
    position: Position,
}

impl<'a> Builder<'a> {
    /// A builder that appends to `block`.
    pub fn at_end(func: &'a mut Function, types: &'a TypeTable, block: BlockId) -> Builder<'a> {
        Builder { func, types, loc: SourceLoc::NONE, position: Position::End(block) }
    }

    /// A builder that inserts before `inst`, with its source location.
    pub fn before(func: &'a mut Function, types: &'a TypeTable, inst: InstId) -> Builder<'a> {
        let loc = func.inst(inst).loc;
        Builder { func, types, loc, position: Position::Before(inst) }
    }

    /// Moves to the end of `block`.
    pub fn switch_to(&mut self, block: BlockId) {
        self.position = Position::End(block);
    }

    /// Moves to another position.
    pub fn set_position(&mut self, position: Position) {
        self.position = position;
    }

    /// The present position.
    pub fn position(&self) -> Position {
        self.position
    }

    /// The block that new instructions go to.
    pub fn block(&self) -> BlockId {
        match self.position {
            Position::End(block) => block,
            Position::Before(inst) => {
                self.func.inst_block(inst).expect("the position is in a block")
            }
        }
    }

    /// Inserts any instruction.
    pub fn inst(
        &mut self,
        op: Op,
        ty: TypeId,
        args: &[ValueId],
        blocks: &[BlockId],
        imm: Imm,
    ) -> InstId {
        let inst = self.func.create_inst(op, ty, args, blocks, imm);
        self.func.set_loc(inst, self.loc);
        match self.position {
            Position::End(block) => self.func.append_inst(block, inst),
            Position::Before(at) => self.func.insert_before(inst, at),
        }
        inst
    }

    /// Inserts an instruction that has a result.
    pub fn value(&mut self, op: Op, ty: TypeId, args: &[ValueId]) -> ValueId {
        let inst = self.inst(op, ty, args, &[], Imm::None);
        self.func.result(inst).expect("the instruction has a result")
    }

    /// Inserts an instruction without a result.
    pub fn effect(&mut self, op: Op, args: &[ValueId]) -> InstId {
        self.inst(op, TypeId::VOID, args, &[], Imm::None)
    }

    /// Arithmetic whose result type follows from the operands (not `aggregate`, `shuffle`).
    pub fn arithmetic(&mut self, op: ArithmeticOp, args: &[ValueId]) -> ValueId {
        let operand_types: Vec<TypeId> = args.iter().map(|&a| self.func.value_type(a)).collect();
        let ty = typing::infer(op, &operand_types, self.types)
            .unwrap_or_else(|| panic!("operand types do not fit `{}`", op.name()));
        self.value(Op::Arithmetic(op), ty, args)
    }

    /// A composite of `ty` from its elements, columns or members.
    pub fn aggregate(&mut self, ty: TypeId, elements: &[ValueId]) -> ValueId {
        self.value(Op::Arithmetic(ArithmeticOp::Aggregate), ty, elements)
    }

    /// Element `index` of a composite value.
    pub fn extract(&mut self, aggregate: ValueId, index: u32) -> ValueId {
        let ty = self
            .types
            .element_type(self.func.value_type(aggregate), index)
            .expect("a constant index is in range");
        let index = self.func.u32_constant(index);
        self.value(Op::Arithmetic(ArithmeticOp::Extract), ty, &[aggregate, index])
    }

    /// `aggregate` with element `index` replaced.
    pub fn insert(&mut self, aggregate: ValueId, element: ValueId, index: u32) -> ValueId {
        let ty = self.func.value_type(aggregate);
        let index = self.func.u32_constant(index);
        self.value(Op::Arithmetic(ArithmeticOp::Insert), ty, &[aggregate, element, index])
    }

    /// Conversion by value; the operand itself if the type is the same.
    pub fn static_cast(&mut self, value: ValueId, ty: TypeId) -> ValueId {
        if self.func.value_type(value) == ty {
            return value;
        }
        self.value(Op::Cast(CastOp::Static), ty, &[value])
    }

    /// Reinterpretation; the operand itself if the type is the same.
    pub fn bit_cast(&mut self, value: ValueId, ty: TypeId) -> ValueId {
        if self.func.value_type(value) == ty {
            return value;
        }
        self.value(Op::Cast(CastOp::Bitwise), ty, &[value])
    }

    /// Memory of a thread.
    pub fn alloca(&mut self, ty: TypeId) -> ValueId {
        self.value(Op::Alloca(Space::Local), ty, &[])
    }

    /// Reads an lvalue.
    pub fn load(&mut self, lvalue: ValueId) -> ValueId {
        let ty = self.func.value_type(lvalue);
        self.value(Op::Load, ty, &[lvalue])
    }

    /// Writes an lvalue.
    pub fn store(&mut self, lvalue: ValueId, value: ValueId) -> InstId {
        self.effect(Op::Store, &[lvalue, value])
    }

    /// The element of an lvalue of type `ty`.
    pub fn gep(&mut self, base: ValueId, indices: &[ValueId], ty: TypeId) -> ValueId {
        let mut args = Vec::with_capacity(indices.len() + 1);
        args.push(base);
        args.extend_from_slice(indices);
        self.value(Op::Gep, ty, &args)
    }

    /// A phi at the start of `block`; its entries are (predecessor, value).
    pub fn phi(&mut self, block: BlockId, ty: TypeId, incoming: &[(BlockId, ValueId)]) -> ValueId {
        let blocks: Vec<BlockId> = incoming.iter().map(|&(b, _)| b).collect();
        let values: Vec<ValueId> = incoming.iter().map(|&(_, v)| v).collect();
        let inst = self.func.create_inst(Op::Phi, ty, &values, &blocks, Imm::None);
        self.func.prepend_inst(block, inst);
        self.func.result(inst).expect("a phi has a result")
    }

    /// `br target`.
    pub fn br(&mut self, target: BlockId) -> InstId {
        self.inst(Op::Br, TypeId::VOID, &[], &[target], Imm::None)
    }

    /// `cond_br cond, on_true, on_false`.
    pub fn cond_br(&mut self, cond: ValueId, on_true: BlockId, on_false: BlockId) -> InstId {
        self.inst(Op::CondBr, TypeId::VOID, &[cond], &[on_true, on_false], Imm::None)
    }

    /// `return [value]`.
    pub fn ret(&mut self, value: Option<ValueId>) -> InstId {
        self.inst(Op::Return, TypeId::VOID, value.as_slice(), &[], Imm::None)
    }

    /// A `uint` constant.
    pub fn u32(&mut self, value: u32) -> ValueId {
        self.func.u32_constant(value)
    }

    /// Splits the block before `at`: an arm, whose terminator is the result, runs if `condition` holds; `at` follows in any
    /// case. By an `if` or, in code that is `flat`, by a branch.
    pub fn branch_around(
        func: &mut Function,
        types: &TypeTable,
        at: InstId,
        condition: ValueId,
        flat: bool,
    ) -> InstId {
        let loc = func.inst(at).loc;
        let head = func.inst_block(at).expect("the position is in a block");
        let tail = func.split_block(at);
        let arm = func.insert_block_after(head);
        let mut builder = Builder::at_end(func, types, head);
        builder.loc = loc;
        match flat {
            true => builder.cond_br(condition, arm, tail),
            false => {
                let blocks = [arm, tail, tail];
                builder.inst(Op::If, TypeId::VOID, &[condition], &blocks, Imm::None)
            }
        };
        builder.switch_to(arm);
        builder.br(tail)
    }
}
