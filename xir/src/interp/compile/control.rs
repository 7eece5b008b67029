//! Blocks, terminators and edges.

use super::Builder;
use super::inst::malformed;
use crate::interp::code::{Block, Edge, Move, Src, Terminator};
use crate::interp::fault::Fault;
use crate::{BlockId, Imm, InstId, Op};
use rustc_hash::{FxHashMap, FxHashSet};

impl Builder<'_, '_> {
    /// Compiles all blocks that have a position, in that order: what a block uses is defined before.
    pub(super) fn blocks(&mut self) -> Result<(), Box<Fault>> {
        self.parameter_rows()?;
        let positions = std::mem::take(&mut self.order.at);
        let mut index: FxHashMap<BlockId, u32> = FxHashMap::default();
        for (position, &block) in positions.iter().enumerate() {
            // A latch position comes later and only names the block again.
            if self.order.position(block) == position as u32 {
                index.insert(block, self.code.blocks.len() as u32);
                let block = self.block(block)?;
                self.code.blocks.push(block);
            }
        }
        self.code.at = positions.iter().map(|b| index.get(b).copied().unwrap_or(0)).collect();
        Ok(())
    }

    /// The rows of the formal arguments: one after the other behind the variables, as calls fill them.
    fn parameter_rows(&mut self) -> Result<(), Box<Fault>> {
        for argument in &self.function.arguments {
            if argument.kind == crate::ArgumentKind::Resource
                || self.rows.cell(argument.value).is_some()
            {
                continue;
            }
            let count = self.count_of(argument.value)?;
            self.rows.row(argument.value, count);
        }
        Ok(())
    }

    fn block(&mut self, block: BlockId) -> Result<Block, Box<Fault>> {
        let function = self.function;
        let mut terminator = None;
        for inst in function.insts(block) {
            let op = function.op(inst);
            if op.is_terminator() {
                self.loc = function.inst(inst).loc;
                terminator = Some(self.terminator(block, inst)?);
            } else if op != Op::Phi {
                self.instruction(inst)?;
                self.release(inst)?;
            }
        }
        self.locs.push(self.loc);
        Ok(Block {
            code: std::mem::take(&mut self.block),
            locs: std::mem::take(&mut self.locs),
            terminator: terminator.ok_or_else(|| malformed("a block has no terminator"))?,
        })
    }

    /// Gives back the rows of what is used for the last time.
    fn release(&mut self, inst: InstId) -> Result<(), Box<Fault>> {
        let args = self.function.args(inst).to_vec();
        for value in args.into_iter().chain(self.function.result(inst)) {
            let is_data = self.function.is_lvalue(value) || !self.function.is_resource(value);
            if is_data {
                let count = self.count_of(value)?;
                self.rows.release(inst, value, count);
            }
        }
        Ok(())
    }

    fn terminator(&mut self, block: BlockId, inst: InstId) -> Result<Terminator, Box<Fault>> {
        let targets = self.function.successors_of(inst).to_vec();
        let target = |i: usize| {
            targets.get(i).copied().ok_or_else(|| malformed("a terminator lacks a target"))
        };
        Ok(match self.function.op(inst) {
            Op::Br | Op::Break | Op::Continue | Op::Loop | Op::SimpleLoop => {
                Terminator::Jump(self.edge(block, target(0)?)?)
            }
            Op::If | Op::CondBr => {
                let condition = self.arg(inst, 0)?;
                let (yes, no) = (self.edge(block, target(0)?)?, self.edge(block, target(1)?)?);
                Terminator::Branch { condition, yes, no }
            }
            Op::Switch | Op::IndexedBranch => {
                let value = self.arg(inst, 0)?;
                let Imm::Cases(values) = &self.function.inst(inst).imm else {
                    return Err(malformed("a switch has no case values"));
                };
                let mut cases: Vec<(u64, u32)> = values.iter().copied().zip(1..).collect();
                cases.sort_unstable();
                let edges: Vec<Edge> =
                    targets.iter().map(|&t| self.edge(block, t)).collect::<Result<_, _>>()?;
                if edges.len() != cases.len() + 1 {
                    return Err(malformed("a switch has another number of cases than values"));
                }
                Terminator::Switch { value, cases: cases.into(), edges: edges.into() }
            }
            Op::Return => match self.function.args(inst).first() {
                Some(&value) => Terminator::Return(Some((self.src(value)?, self.count_of(value)?))),
                None => Terminator::Return(None),
            },
            Op::Unreachable => Terminator::Unreachable(self.text(inst)),
            op => Terminator::NotHeld(format!("`{}`", op.mnemonic()).into()),
        })
    }

    fn edge(&mut self, from: BlockId, to: BlockId) -> Result<Edge, Box<Fault>> {
        let function = self.function;
        let mut moves = Vec::new();
        for phi in function.phis(to) {
            let incoming = function.inst_blocks(phi).iter().position(|&b| b == from);
            let incoming = incoming.and_then(|i| function.args(phi).get(i).copied());
            // Blocks that nothing reaches have no entry; their edges are never taken.
            let (Some(value), Some(result)) = (incoming, function.result(phi)) else { continue };
            let count = self.count_of(result)?;
            let (src, dst) = (self.src(value)?, self.rows.row(result, count));
            if src != Src::Row(dst) {
                moves.push(Move { dst, src, count });
            }
        }
        let moves = self.one_by_one(moves);
        Ok(Edge { target: self.order.target(from, to), moves: moves.into() })
    }

    /// Moves that happen at once, as moves that may be done one after the other: where one reads what another writes, all go
    /// through rows of their own.
    fn one_by_one(&mut self, moves: Vec<Move>) -> Vec<Move> {
        let written: FxHashSet<u32> = moves.iter().map(|m| m.dst).collect();
        // Phis never share a part of their rows, so that comparing the first ones is enough.
        let reads_written = |m: &Move| matches!(m.src, Src::Row(row) if written.contains(&row));
        if !moves.iter().any(reads_written) {
            return moves;
        }
        let mut first = Vec::with_capacity(moves.len() * 2);
        let mut then = Vec::with_capacity(moves.len());
        for Move { dst, src, count } in moves {
            let aside = self.rows.fresh(count);
            first.push(Move { dst: aside, src, count });
            then.push(Move { dst, src: Src::Row(aside), count });
        }
        first.extend(then);
        first
    }
}
