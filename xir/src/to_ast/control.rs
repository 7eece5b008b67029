//! Constructs as statements, by a stack of work.
//!
//! A chain of blocks becomes the statements of one scope: a block is followed by the merge of its construct, or by the target of
//! its branch, until the branch leads to where the scope falls out, to the next round of a loop, or out of a loop or switch.

use super::values::{Raiser, Result};
use crate::op::ArithmeticOp;
use crate::{BlockId, Imm, InstId, Op, ValueId};
use luisac_ast::callops::CallOp;
use luisac_ast::model::{ExprId, ExprKind, Stmt, StmtId, UnaryOp, VariableId, VariableTag};
use luisac_ast::types::{Scalar, TypeId};

/// Where the chain of a scope may lead.
#[derive(Clone, Copy, Default)]
pub(super) struct Place {
    /// Where it falls out.
    end: Option<BlockId>,
    break_to: Option<BlockId>,
    continue_to: Option<BlockId>,
}

impl Place {
    /// The arm of a construct with this merge.
    fn arm(self, merge: BlockId) -> Place {
        Place { end: Some(merge), ..self }
    }
}

/// What is still to do, last first.
#[derive(Clone, Copy)]
pub(super) enum Work {
    Block(BlockId),
    /// A scope that starts with this block, or holds nothing.
    Scope(Option<BlockId>, Place),
    EndScope,
    EndIf(ExprId),
    /// With so many cases; the values are the instruction's.
    EndSwitch(InstId, ExprId),
    EndLoop,
    EndFor {
        variable: ExprId,
        condition: ExprId,
        step: ExprId,
    },
    EndAutodiff,
    EndRayQuery(ExprId),
    /// The body of a loop whose update stands at the start of all rounds but the first.
    Rounds {
        due: VariableId,
        prepare: BlockId,
        update: BlockId,
        place: Place,
    },
    /// Behind the update at the start of a round: from now on it is due.
    NextRound(VariableId),
}

impl Raiser<'_> {
    pub(super) fn walk(&mut self) -> Result<()> {
        self.plan_phis();
        let entry = self.func.entry();
        self.work.push(Work::Scope(entry, Place::default()));
        while let Some(work) = self.work.pop() {
            self.perform(work)?;
        }
        self.ast.body = self.done.pop().into();
        Ok(())
    }

    /// Gives each phi a variable that its predecessors assign.
    fn plan_phis(&mut self) {
        let func = self.func;
        for phi in func.blocks().flat_map(|b| func.phis(b)) {
            let variable = self.new_variable(VariableTag::Local, func.inst(phi).ty, None);
            self.incoming.insert(phi, variable);
            for (&value, &from) in func.args(phi).iter().zip(func.inst_blocks(phi)) {
                self.copies[from].push((phi, value));
            }
        }
    }

    fn perform(&mut self, work: Work) -> Result<()> {
        match work {
            Work::Block(block) => return self.block(block),
            Work::Scope(entry, place) => {
                self.lists.push(Vec::new());
                self.places.push(place);
                self.work.push(Work::EndScope);
                self.work.extend(entry.map(Work::Block));
            }
            Work::EndScope => {
                self.places.pop();
                let list = self.lists.pop().unwrap_or_default();
                let scope = self.scope(&list);
                self.done.push(scope);
            }
            Work::EndIf(condition) => {
                let (on_false, on_true) = (self.finished(), self.finished());
                self.stmt(Stmt::If { condition, on_true, on_false });
            }
            Work::EndSwitch(inst, value) => self.end_switch(inst, value),
            Work::EndLoop => {
                let body = self.finished();
                self.stmt(Stmt::Loop { body });
            }
            Work::EndFor { variable, condition, step } => {
                let body = self.finished();
                self.stmt(Stmt::For { variable, condition, step, body });
            }
            Work::EndAutodiff => {
                let body = self.finished();
                self.stmt(Stmt::AutoDiff { body });
            }
            Work::EndRayQuery(query) => {
                let (on_procedural, on_triangle) = (self.finished(), self.finished());
                self.stmt(Stmt::RayQuery { query, on_triangle, on_procedural });
            }
            Work::Rounds { due, prepare, update, place } => {
                self.rounds(due, prepare, update, place);
            }
            Work::NextRound(due) => self.set_flag(due, true),
        }
        Ok(())
    }

    fn scope(&mut self, list: &[StmtId]) -> StmtId {
        let list = self.ast.add_stmts(list);
        self.ast.stmts.push(Stmt::Scope(list))
    }

    /// The scope that was finished last.
    fn finished(&mut self) -> StmtId {
        match self.done.pop() {
            Some(scope) => scope,
            None => self.scope(&[]),
        }
    }

    fn place(&self) -> Place {
        self.places.last().copied().unwrap_or_default()
    }

    // ---- blocks

    fn block(&mut self, block: BlockId) -> Result<()> {
        // A merge that nothing leads to: what is in it never runs.
        if !self.cfg.is_reachable(block) {
            return Ok(());
        }
        if std::mem::replace(&mut self.written[block], true) {
            return Err(self.not_structured(block));
        }
        let func = self.func;
        for inst in func.insts(block) {
            if func.op(inst).is_terminator() {
                return self.terminator(block, inst);
            }
            self.instruction(inst)?;
        }
        Err(self.not_structured(block))
    }

    fn terminator(&mut self, block: BlockId, inst: InstId) -> Result<()> {
        self.begin_inst();
        let named = self.func.inst_blocks(inst).to_vec();
        // What the terminator takes is read before the variables of phis are assigned.
        let operand = match self.func.op(inst) {
            Op::RayQueryDispatch => None,
            _ => self.func.args(inst).first().copied(),
        };
        let operand = operand.map(|value| self.value(value)).transpose()?;
        self.settle_reads();
        self.assign_phis(block)?;
        match (self.func.op(inst), &named[..], operand) {
            (Op::Br | Op::Break | Op::Continue, &[target], _) => self.jump(target),
            (Op::If, &[on_true, on_false, merge], Some(condition)) => {
                let place = self.place().arm(merge);
                let entry = |b| Some(b).filter(|&b| b != merge);
                self.work.extend([
                    Work::Block(merge),
                    Work::EndIf(condition),
                    Work::Scope(entry(on_false), place),
                    Work::Scope(entry(on_true), place),
                ]);
                Ok(())
            }
            (Op::CondBr, &[body, merge], Some(condition)) => {
                self.leave_unless(condition);
                self.jump_into(block, body, merge)
            }
            (Op::Switch, [cases @ .., merge], Some(value)) => {
                let place = Place { break_to: Some(*merge), ..self.place().arm(*merge) };
                self.work.extend([Work::Block(*merge), Work::EndSwitch(inst, value)]);
                let entry = |&b: &BlockId| Some(b).filter(|b| b != merge);
                self.work.extend(cases.iter().rev().map(|c| Work::Scope(entry(c), place)));
                Ok(())
            }
            (Op::SimpleLoop, &[body, merge], _) => {
                let place =
                    Place { end: Some(body), break_to: Some(merge), continue_to: Some(body) };
                self.work.extend([
                    Work::Block(merge),
                    Work::EndLoop,
                    Work::Scope(Some(body), place),
                ]);
                Ok(())
            }
            (Op::Loop, &[prepare, body, update, merge], _) => {
                self.work.push(Work::Block(merge));
                self.tested_loop(prepare, body, update, merge)
            }
            (Op::AutodiffScope, &[entry, merge], _) => {
                let place = Place::default().arm(merge);
                self.work.extend([
                    Work::Block(merge),
                    Work::EndAutodiff,
                    Work::Scope(Some(entry), place),
                ]);
                Ok(())
            }
            (Op::RayQueryLoop, &[dispatch, merge], _) => self.ray_query(dispatch, merge),
            (Op::Return, _, value) => {
                let is_last = value.is_none() && self.places.len() == 1;
                if !is_last {
                    self.stmt(Stmt::Return(value.into()));
                }
                Ok(())
            }
            (Op::Unreachable, ..) => {
                let message = self.message(inst);
                let call = self.builtin(CallOp::Unreachable, TypeId::VOID, message.as_slice());
                self.stmt(Stmt::Expr(call));
                Ok(())
            }
            (Op::RasterDiscard, ..) => {
                let call = self.builtin(CallOp::RasterDiscard, TypeId::VOID, &[]);
                self.stmt(Stmt::Expr(call));
                Ok(())
            }
            _ => Err(self.not_structured(block)),
        }
    }

    /// Gives the phis of the blocks that follow their values.
    fn assign_phis(&mut self, block: BlockId) -> Result<()> {
        for (phi, value) in std::mem::take(&mut self.copies[block]) {
            let value = self.value(value)?;
            if let Some(&variable) = self.incoming.get(&phi) {
                let variable = self.reference(variable);
                self.assign(variable, value);
            }
        }
        Ok(())
    }

    fn jump(&mut self, target: BlockId) -> Result<()> {
        let place = self.place();
        if place.end == Some(target) {
            return Ok(());
        }
        if place.continue_to == Some(target) {
            self.stmt(Stmt::Continue);
        } else if place.break_to == Some(target) {
            self.stmt(Stmt::Break);
        } else {
            self.work.push(Work::Block(target));
        }
        Ok(())
    }

    // ---- constructs

    fn end_switch(&mut self, inst: InstId, value: ExprId) {
        let cases: &[u64] = match &self.func.inst(inst).imm {
            Imm::Cases(cases) => cases,
            _ => &[],
        };
        // The default comes first, the last case was finished last.
        let at = self.done.len().saturating_sub(cases.len() + 1);
        let bodies = self.done.split_off(at);
        let wide = self.types.size(self.ast.exprs[value].ty) > 4;
        let mut list = Vec::with_capacity(bodies.len());
        for (&case, &body) in cases.iter().zip(bodies.iter().skip(1)) {
            let scalar = if wide { Scalar::I64 } else { Scalar::I32 };
            let value = self.literal(scalar, case);
            list.push(self.ast.stmts.push(Stmt::SwitchCase { value, body }));
        }
        if let Some(&body) = bodies.first().filter(|&&b| !self.ast.scope(b).is_empty()) {
            list.push(self.ast.stmts.push(Stmt::SwitchDefault { body }));
        }
        let body = self.scope(&list);
        self.stmt(Stmt::Switch { value, body });
    }

    fn ray_query(&mut self, dispatch: BlockId, merge: BlockId) -> Result<()> {
        let end = self.func.first_inst(dispatch);
        let end = end.filter(|&e| self.func.op(e) == Op::RayQueryDispatch);
        let Some(end) = end else { return Err(self.not_structured(dispatch)) };
        let &[_, surface, procedural] = self.func.inst_blocks(end) else {
            return Err(self.not_structured(dispatch));
        };
        let query = self.lvalue(self.func.arg(end, 0))?;
        let place = Place::default().arm(dispatch);
        self.work.extend([
            Work::Block(merge),
            Work::EndRayQuery(query),
            Work::Scope(Some(procedural), place),
            Work::Scope(Some(surface), place),
        ]);
        Ok(())
    }

    /// `if (!condition) break;`
    fn leave_unless(&mut self, condition: ExprId) {
        let not = ExprKind::Unary { op: UnaryOp::Not, operand: condition };
        let condition = self.expr(TypeId::BOOL, not);
        let leave = self.ast.stmts.push(Stmt::Break);
        let (on_true, on_false) = (self.scope(&[leave]), self.scope(&[]));
        self.stmt(Stmt::If { condition, on_true, on_false });
    }

    /// From the test of a loop into its body.
    fn jump_into(&mut self, block: BlockId, body: BlockId, merge: BlockId) -> Result<()> {
        if self.place().break_to != Some(merge) {
            return Err(self.not_structured(block));
        }
        self.jump(body)
    }

    /// A `for` where the update adds a constant and the test is an expression, else a general loop.
    fn tested_loop(
        &mut self,
        prepare: BlockId,
        body: BlockId,
        update: BlockId,
        merge: BlockId,
    ) -> Result<()> {
        let place = Place { end: Some(update), break_to: Some(merge), continue_to: Some(update) };
        let Some(counter) = self.counter(update).filter(|_| self.is_expression(prepare, body))
        else {
            self.general_loop(prepare, update, place);
            return Ok(());
        };
        self.written[prepare] = true;
        self.written[update] = true;
        let func = self.func;
        let mut condition = None;
        for inst in func.insts(prepare) {
            match func.op(inst) {
                Op::CondBr => condition = Some(self.value(func.arg(inst, 0))?),
                _ => self.instruction(inst)?,
            }
        }
        let Some(condition) = condition else { return Err(self.not_structured(prepare)) };
        let variable = self.lvalue(counter.variable)?;
        let step = self.value(counter.step)?;
        self.work.push(Work::EndFor { variable, condition, step });
        self.work.push(Work::Scope(Some(body), place));
        Ok(())
    }

    /// A loop that starts with the test. The update, which `continue` must not pass by, follows the body if only one way leads to it; else it
    /// stands at the start of all rounds but the first.
    fn general_loop(&mut self, prepare: BlockId, update: BlockId, place: Place) {
        self.work.push(Work::EndLoop);
        let first = self.func.first_inst(update);
        let is_empty = first.is_some_and(|i| self.func.op(i) == Op::Br);
        let ways = self.cfg.predecessors(update).len();
        if ways == 0 || (is_empty && self.copies[update].is_empty()) {
            self.work.push(Work::Scope(Some(prepare), place));
        } else if ways == 1 {
            let (end, continue_to) = (Some(prepare), Some(prepare));
            self.work.push(Work::Scope(Some(prepare), Place { end, continue_to, ..place }));
        } else {
            let due = self.new_variable(VariableTag::Local, TypeId::BOOL, None);
            self.set_flag(due, false);
            self.work.push(Work::Rounds { due, prepare, update, place });
        }
    }

    fn rounds(&mut self, due: VariableId, prepare: BlockId, update: BlockId, place: Place) {
        self.lists.push(Vec::new());
        self.places.push(place);
        let is_due = self.reference(due);
        let place = Place { end: Some(prepare), break_to: place.break_to, continue_to: None };
        self.work.extend([
            Work::EndScope,
            Work::Block(prepare),
            Work::NextRound(due),
            Work::EndIf(is_due),
            Work::Scope(None, place),
            Work::Scope(Some(update), place),
        ]);
    }

    fn set_flag(&mut self, flag: VariableId, value: bool) {
        let lhs = self.reference(flag);
        let rhs = self.literal(Scalar::Bool, value.into());
        self.assign(lhs, rhs);
    }

    /// The variable and the constant of an update that is `variable = variable + constant`.
    fn counter(&self, update: BlockId) -> Option<Counter> {
        let func = self.func;
        let insts: Vec<InstId> = func.insts(update).take(5).collect();
        let [load, add, store, br] = insts[..] else { return None };
        let ops = [load, add, store, br].map(|i| func.op(i));
        let add_op = Op::Arithmetic(ArithmeticOp::BinaryAdd);
        if ops != [Op::Load, add_op, Op::Store, Op::Br] || !self.copies[update].is_empty() {
            return None;
        }
        let (&[variable], &[old, step]) = (func.args(load), func.args(add)) else { return None };
        let memory = func.def_inst(variable).filter(|&i| matches!(func.op(i), Op::Alloca(_)));
        let once =
            [load, add].iter().all(|&i| func.result(i).is_some_and(|v| func.uses(v).count() == 1));
        let fits = memory.is_some()
            && once
            && Some(old) == func.result(load)
            && func.args(store) == [variable, func.result(add)?]
            && func.constant_bits(step).is_some()
            && self.types.is_scalar(func.value_type(step));
        fits.then_some(Counter { variable, step })
    }

    /// Whether a block is nothing but the condition of the branch to `body` that it ends in.
    fn is_expression(&self, prepare: BlockId, body: BlockId) -> bool {
        let func = self.func;
        let Some(end) = func.terminator(prepare) else { return false };
        let count = func.insts(prepare).take(MAX_TEST + 1).count();
        func.op(end) == Op::CondBr
            && func.inst_blocks(end)[0] == body
            && count <= MAX_TEST
            && self.copies[prepare].is_empty()
            && func.insts(prepare).all(|i| i == end || self.is_part_of_expression(i))
    }
}

/// `variable += step`.
struct Counter {
    variable: ValueId,
    step: ValueId,
}

/// Instructions of a test that is written as one expression.
const MAX_TEST: usize = 16;
