//! Terminators.

use luisac_ast::types::Scalar;
use luisac_xir::{BlockId, Imm, InstId, Op as X};
use rspirv::spirv::Op;

use super::function::{FnEmit, Origin};
use super::module::Id;
use super::{Emit, internal, refused};

impl FnEmit<'_> {
    /// Ends the present block, the last one of `block`.
    pub fn terminator(&mut self, block: BlockId, inst: InstId) -> Emit<()> {
        let func = self.func;
        let named = func.inst_blocks(inst);
        match func.op(inst) {
            X::Br | X::Break | X::Continue => {
                let target = self.target(block, inst, 0)?;
                self.blocks.branch(target);
            }
            X::Loop | X::SimpleLoop => {
                // The head's header is made where the head is.
                let Some(&head) = named.first() else { return Err(internal("a loop of nothing")) };
                let header = self.plan.phi_label(head);
                self.edge(header, Origin::Block(block));
                self.blocks.branch(header);
            }
            X::CondBr | X::If => {
                let condition = self.value(func.arg(inst, 0))?;
                let (yes, no) = (self.target(block, inst, 0)?, self.target(block, inst, 1)?);
                if func.op(inst) == X::If {
                    let merge = self.plan.opened(block).merge_label;
                    self.blocks.selection(merge);
                }
                self.blocks.branch_if(condition, yes, no);
            }
            X::Switch => self.switch(block, inst)?,
            X::Return => self.blocks.end(Op::Return, &[], &[]),
            X::Unreachable => self.blocks.end(Op::Unreachable, &[], &[]),
            op => return Err(refused(op)),
        }
        Ok(())
    }

    /// The label of a successor; notes the edge.
    fn target(&mut self, block: BlockId, inst: InstId, index: usize) -> Emit<Id> {
        let Some(&target) = self.func.inst_blocks(inst).get(index) else {
            return Err(internal("a terminator without a target"));
        };
        let label = self.plan.route(self.func, block, inst, target);
        self.edge(label, Origin::Block(block));
        Ok(label)
    }

    fn switch(&mut self, block: BlockId, inst: InstId) -> Emit<()> {
        let func = self.func;
        let selector = func.arg(inst, 0);
        let scalar = self.scalar_of(selector)?;
        let mut id = self.value(selector)?;
        if scalar == Scalar::Bool {
            id = self.convert(id, scalar, Scalar::U32)?;
        } else if scalar.bits() < 32 {
            // Case values have the bits of the selector's width.
            let word = self.m.int(32);
            id = self.op(Op::UConvert, word, &[id]);
        }
        let Imm::Cases(values) = &func.inst(inst).imm else {
            return Err(internal("a switch without case values"));
        };
        let default = self.target(block, inst, 0)?;
        let mut operands = vec![id, default];
        let mut successors = vec![default];
        for (i, &value) in values.iter().enumerate() {
            let label = self.target(block, inst, i + 1)?;
            operands.push(value as u32);
            operands.extend((scalar.bits() == 64).then_some((value >> 32) as u32));
            operands.push(label);
            successors.push(label);
        }
        let merge = self.plan.opened(block).merge_label;
        self.blocks.selection(merge);
        self.blocks.end(Op::Switch, &operands, &successors);
        Ok(())
    }
}
