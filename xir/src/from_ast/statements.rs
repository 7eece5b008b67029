//! Statements, by a stack of frames: one for each construct that is being lowered.

use super::function::{Lowerer, Result};
use super::{
    JUMP_ACROSS, JUMP_OUTSIDE, MALFORMED, NESTED_QUERY, SWITCH_BODY, TYPE_MISMATCH,
    UNSUPPORTED_STATEMENT,
};
use crate::{BlockId, Imm, InstId, Op, SourceLoc};
use luisac_ast::model::{BinaryOp, ExprId, ExprKind, Stmt, StmtId, StmtList};
use luisac_ast::types::TypeId;

/// A construct whose parts are being lowered.
#[derive(Clone, Copy)]
pub(super) enum Frame {
    /// Statements of a scope, from `next` on.
    Scope { list: StmtList, next: usize },
    /// An arm of an `if` or ray query; falls through to `target`. `next` is the arm after it.
    Arm {
        next: Option<(StmtId, BlockId)>,
        target: BlockId,
        merge: BlockId,
        live: bool,
        reached: bool,
    },
    /// The body of a loop without condition.
    Loop { body: BlockId, merge: BlockId },
    /// The body of a `for`.
    For {
        variable: ExprId,
        step: ExprId,
        prepare: BlockId,
        update: BlockId,
        merge: BlockId,
        stmt: StmtId,
        live: bool,
    },
    /// The cases of a switch, from item `next` of its body on; `case` cases are done.
    Switch { list: StmtList, next: usize, case: usize, switch: InstId, live: bool },
    /// The body of a case.
    Case { merge: BlockId },
    /// The body of a differentiation scope.
    AutoDiff { merge: BlockId },
}

/// What `break` and `continue` mean at a place.
#[derive(Clone, Copy)]
pub(super) struct Jump {
    /// Where `break` goes; `None` in a scope that no jump leaves.
    pub(super) break_to: Option<BlockId>,
    /// Where `continue` goes.
    pub(super) continue_to: Option<BlockId>,
    /// Whether something that is reached jumps or falls to the merge.
    pub(super) reached: bool,
    /// Inside of a handler of a ray query.
    pub(super) in_query: bool,
    /// Inside of a differentiated scope.
    pub(super) in_gradients: bool,
    /// A scope that no jump leaves is between here and the next loop.
    pub(super) barred: bool,
}

impl Lowerer<'_> {
    /// Lowers the function's body and ends the function.
    pub(super) fn lower_body(&mut self) -> Result<()> {
        let Some(body) = self.ast.body.expand() else {
            return Err(self.error(MALFORMED, "a function has no body"));
        };
        self.push_scope(body)?;
        while let Some(frame) = self.frames.pop() {
            self.resume(frame)?;
        }
        if self.open {
            self.loc = SourceLoc::NONE;
            self.expr = None;
            let ty = self.func.return_type;
            if ty == TypeId::VOID {
                self.terminate(Op::Return, &[], &[]);
            } else {
                let value = self.filled(ty, false)?;
                self.terminate(Op::Return, &[value], &[]);
            }
        }
        Ok(())
    }

    pub(super) fn push_scope(&mut self, scope: StmtId) -> Result<()> {
        match self.ast.stmts.get(scope) {
            Some(&Stmt::Scope(list)) => {
                self.frames.push(Frame::Scope { list, next: 0 });
                Ok(())
            }
            _ => Err(self.error(MALFORMED, "a body is no scope")),
        }
    }

    /// Goes on with a construct: its next part, or what follows it.
    fn resume(&mut self, frame: Frame) -> Result<()> {
        match frame {
            Frame::Scope { list, next } => {
                if let Some(&stmt) = self.ast.stmts_in(list).get(next) {
                    self.frames.push(Frame::Scope { list, next: next + 1 });
                    self.set_statement(stmt);
                    self.statement_of(stmt)?;
                }
            }
            Frame::Arm { next, target, merge, live, reached } => {
                let reached = self.fall_to(target) || reached;
                if let Some((scope, block)) = next {
                    self.frames.push(Frame::Arm { next: None, target, merge, live, reached });
                    self.push_scope(scope)?;
                    self.begin(block, live);
                } else {
                    if target != merge {
                        self.jumps.pop();
                    }
                    // A ray query ends by itself.
                    self.begin_merge(merge, if target == merge { reached } else { live });
                }
            }
            Frame::Loop { body, merge } => {
                self.fall_to(body);
                let reached = self.jumps.pop().is_some_and(|jump| jump.reached);
                self.begin_merge(merge, reached);
            }
            Frame::For { variable, step, prepare, update, merge, stmt, live } => {
                self.fall_to(update);
                self.jumps.pop();
                self.begin(update, live);
                self.set_statement(stmt);
                self.advance(variable, step)?;
                self.fall_to(prepare);
                self.begin_merge(merge, live);
            }
            Frame::Switch { list, next, case, switch, live } => {
                self.next_case(list, next, case, switch, live)?
            }
            Frame::Case { merge } => {
                if self.fall_to(merge)
                    && let Some(jump) = self.jumps.last_mut()
                {
                    jump.reached = true;
                }
            }
            Frame::AutoDiff { merge } => {
                let reached = self.fall_to(merge);
                self.jumps.pop();
                self.begin_merge(merge, reached);
            }
        }
        Ok(())
    }

    /// Ends an open block by a branch to `target`; whether that is ever reached.
    fn fall_to(&mut self, target: BlockId) -> bool {
        if !self.open {
            return false;
        }
        self.terminate(Op::Br, &[], &[target]);
        self.live
    }

    /// Goes on after a construct. A merge that nothing reaches holds `unreachable`; what follows is lowered to be checked.
    pub(super) fn begin_merge(&mut self, merge: BlockId, reached: bool) {
        self.begin(merge, reached);
        if !reached {
            let comment = self.comment.take();
            self.terminate(Op::Unreachable, &[], &[]);
            self.comment = comment;
        }
    }

    pub(super) fn statement_of(&mut self, stmt: StmtId) -> Result<()> {
        match self.ast.stmts[stmt] {
            Stmt::Break => self.lower_break(),
            Stmt::Continue => self.lower_continue(),
            Stmt::Return(value) => self.lower_return(value.expand()),
            Stmt::Scope(list) => {
                self.frames.push(Frame::Scope { list, next: 0 });
                Ok(())
            }
            Stmt::If { condition, on_true, on_false } => {
                self.lower_if(condition, on_true, on_false)
            }
            Stmt::Loop { body } => self.lower_loop(body),
            Stmt::Expr(expr) => self.eval_any(expr).map(drop),
            Stmt::Switch { value, body } => self.lower_switch(value, body),
            Stmt::SwitchCase { .. } | Stmt::SwitchDefault { .. } => {
                Err(self.error(SWITCH_BODY, "a case stands outside of a switch"))
            }
            Stmt::Assign { lhs, rhs } => self.lower_assign(lhs, rhs),
            Stmt::For { variable, condition, step, body } => {
                self.lower_for(stmt, variable, condition, step, body)
            }
            Stmt::Comment(text) => {
                let text = self.ast.text_in(text);
                match &mut self.comment {
                    Some(comment) => {
                        comment.push('\n');
                        comment.push_str(text);
                    }
                    None => self.comment = Some(text.to_owned()),
                }
                Ok(())
            }
            Stmt::RayQuery { query, on_triangle, on_procedural } => {
                self.lower_ray_query(query, on_triangle, on_procedural)
            }
            Stmt::AutoDiff { body } => self.lower_autodiff(body),
            Stmt::Print { format, arguments } => {
                let mut values = Vec::with_capacity(arguments.len());
                for &argument in self.ast.exprs_in(arguments) {
                    values.push(self.eval(argument)?);
                }
                let text = Imm::Text(self.ast.text_in(format).into());
                self.inst(Op::Print, TypeId::VOID, &values, &[], text);
                Ok(())
            }
            Stmt::Suspend { .. } => {
                Err(self.error(UNSUPPORTED_STATEMENT, "coroutines are not compiled"))
            }
            Stmt::DebugBreak { .. } => {
                Err(self.error(UNSUPPORTED_STATEMENT, "debugger breaks are not compiled"))
            }
        }
    }

    // ---- jumps

    fn lower_break(&mut self) -> Result<()> {
        let Some(jump) = self.jumps.last_mut() else {
            return Err(self.error(JUMP_OUTSIDE, "`break` stands outside of any loop or switch"));
        };
        let Some(target) = jump.break_to else {
            return Err(
                self.error(JUMP_ACROSS, "`break` leaves a ray query or differentiation scope")
            );
        };
        jump.reached |= self.open && self.live;
        // The `break` that ends a case is its fall-through.
        let ends_case = self.frames.len() >= 2
            && matches!(self.frames.get(self.frames.len() - 2), Some(Frame::Case { .. }))
            && self.open;
        self.terminate(if ends_case { Op::Br } else { Op::Break }, &[], &[target]);
        Ok(())
    }

    fn lower_continue(&mut self) -> Result<()> {
        let jump = self.jumps.last();
        let Some(target) = jump.and_then(|j| j.continue_to) else {
            return Err(if jump.is_some_and(|j| j.barred) {
                self.error(JUMP_ACROSS, "`continue` leaves a ray query or differentiation scope")
            } else {
                self.error(JUMP_OUTSIDE, "`continue` stands outside of any loop")
            });
        };
        self.terminate(Op::Continue, &[], &[target]);
        Ok(())
    }

    fn lower_return(&mut self, value: Option<ExprId>) -> Result<()> {
        if self.jumps.last().is_some_and(|j| j.in_query) {
            return Err(self.error(JUMP_ACROSS, "`return` leaves a ray query"));
        }
        if self.jumps.last().is_some_and(|j| j.in_gradients) {
            return Err(self.error(JUMP_ACROSS, "`return` leaves a differentiated scope"));
        }
        let ty = self.func.return_type;
        match value {
            Some(value) if ty != TypeId::VOID => {
                let value = self.eval(value)?;
                let value = self.convert(value, ty)?;
                self.terminate(Op::Return, &[value], &[]);
            }
            None if ty == TypeId::VOID => {
                self.terminate(Op::Return, &[], &[]);
            }
            Some(_) => {
                return Err(
                    self.error(TYPE_MISMATCH, "a value is returned where there is none to return")
                );
            }
            None => {
                return Err(
                    self.error(TYPE_MISMATCH, "a value is missing where one is to be returned")
                );
            }
        }
        Ok(())
    }

    // ---- constructs

    fn lower_if(&mut self, condition: ExprId, on_true: StmtId, on_false: StmtId) -> Result<()> {
        let condition = self.eval(condition)?;
        let condition = self.convert(condition, TypeId::BOOL)?;
        let (then, other, merge) = (self.new_block(), self.new_block(), self.new_block());
        self.terminate(Op::If, &[condition], &[then, other, merge]);
        let live = self.live;
        let next = Some((on_false, other));
        self.frames.push(Frame::Arm { next, target: merge, merge, live, reached: false });
        self.push_scope(on_true)?;
        self.begin(then, live);
        Ok(())
    }

    fn push_loop(&mut self, continue_to: BlockId, merge: BlockId) {
        let around = self.jumps.last();
        self.jumps.push(Jump {
            break_to: Some(merge),
            continue_to: Some(continue_to),
            reached: false,
            in_query: around.is_some_and(|j| j.in_query),
            in_gradients: around.is_some_and(|j| j.in_gradients),
            barred: false,
        });
    }

    /// A scope that no `break` or `continue` leaves.
    fn push_barrier(&mut self, is_query: bool) {
        let around = self.jumps.last();
        self.jumps.push(Jump {
            break_to: None,
            continue_to: None,
            reached: false,
            in_query: is_query || around.is_some_and(|j| j.in_query),
            in_gradients: !is_query || around.is_some_and(|j| j.in_gradients),
            barred: true,
        });
    }

    fn lower_loop(&mut self, body: StmtId) -> Result<()> {
        let (block, merge) = (self.new_block(), self.new_block());
        self.terminate(Op::SimpleLoop, &[], &[block, merge]);
        self.push_loop(block, merge);
        self.frames.push(Frame::Loop { body: block, merge });
        self.push_scope(body)?;
        let live = self.live;
        self.begin(block, live);
        Ok(())
    }

    fn lower_for(
        &mut self,
        stmt: StmtId,
        variable: ExprId,
        condition: ExprId,
        step: ExprId,
        body: StmtId,
    ) -> Result<()> {
        let (prepare, block) = (self.new_block(), self.new_block());
        let (update, merge) = (self.new_block(), self.new_block());
        self.terminate(Op::Loop, &[], &[prepare, block, update, merge]);
        let live = self.live;
        self.begin(prepare, live);
        let condition = self.eval(condition)?;
        let condition = self.convert(condition, TypeId::BOOL)?;
        self.terminate(Op::CondBr, &[condition], &[block, merge]);
        let live = self.live;
        self.push_loop(update, merge);
        self.frames.push(Frame::For { variable, step, prepare, update, merge, stmt, live });
        self.push_scope(body)?;
        self.begin(block, live);
        Ok(())
    }

    /// `variable += step`, in the type of the variable.
    fn advance(&mut self, variable: ExprId, step: ExprId) -> Result<()> {
        let lvalue = self.address(variable)?;
        let old = self.load(lvalue);
        let step = self.eval(step)?;
        let ty = self.ty(lvalue);
        let step = self.convert(step, ty)?;
        let new = self.binary(BinaryOp::Add, old, step, ty)?;
        self.store(lvalue, new);
        Ok(())
    }

    fn lower_ray_query(
        &mut self,
        query: ExprId,
        on_triangle: StmtId,
        on_procedural: StmtId,
    ) -> Result<()> {
        if self.jumps.last().is_some_and(|j| j.in_query) {
            return Err(
                self.error(NESTED_QUERY, "a ray query runs inside of a handler of a ray query")
            );
        }
        if !matches!(self.node(query)?.kind, ExprKind::Ref(_)) {
            return Err(self.error(MALFORMED, "a ray query statement names no query object"));
        }
        let object = self.address(query)?;
        let (dispatch, surface) = (self.new_block(), self.new_block());
        let (procedural, merge) = (self.new_block(), self.new_block());
        self.terminate(Op::RayQueryLoop, &[], &[dispatch, merge]);
        let live = self.live;
        self.begin(dispatch, live);
        self.terminate(Op::RayQueryDispatch, &[object], &[merge, surface, procedural]);
        self.push_barrier(true);
        let next = Some((on_procedural, procedural));
        self.frames.push(Frame::Arm { next, target: dispatch, merge, live, reached: live });
        self.push_scope(on_triangle)?;
        self.begin(surface, live);
        Ok(())
    }

    fn lower_autodiff(&mut self, body: StmtId) -> Result<()> {
        let (entry, merge) = (self.new_block(), self.new_block());
        self.terminate(Op::AutodiffScope, &[], &[entry, merge]);
        self.push_barrier(false);
        self.frames.push(Frame::AutoDiff { merge });
        self.push_scope(body)?;
        let live = self.live;
        self.begin(entry, live);
        Ok(())
    }

    // ---- assignment

    /// The right side first, then the address of the left side. A variable assigned to itself is nothing.
    fn lower_assign(&mut self, lhs: ExprId, rhs: ExprId) -> Result<()> {
        if let (ExprKind::Ref(a), ExprKind::Ref(b)) = (self.node(lhs)?.kind, self.node(rhs)?.kind)
            && a == b
        {
            return Ok(());
        }
        let value = self.eval(rhs)?;
        let lvalue = self.address(lhs)?;
        let value = self.convert(value, self.ty(lvalue))?;
        self.store(lvalue, value);
        Ok(())
    }
}
