//! Switches: the cases are collected first, since the terminator names all of their blocks.

use super::function::{Lowerer, Result};
use super::statements::{Frame, Jump};
use super::{DUPLICATE_CASE, MALFORMED, SWITCH_BODY, TYPE_MISMATCH};
use crate::{Imm, InstId, Op};
use luisac_ast::model::{ExprId, Stmt, StmtId, StmtList};
use luisac_ast::types::{Scalar, TypeId, TypeKind};
use rustc_hash::FxHashSet;

impl Lowerer<'_> {
    pub(super) fn lower_switch(&mut self, value: ExprId, body: StmtId) -> Result<()> {
        let mut selector = self.eval(value)?;
        let scalar = match *self.types.kind(self.ty(selector)) {
            TypeKind::Scalar(Scalar::Bool) => {
                selector = self.convert(selector, TypeId::U32)?;
                Scalar::U32
            }
            TypeKind::Scalar(scalar) if scalar.is_int() => scalar,
            _ => {
                let text =
                    format!("a switch cannot choose by {}", self.describe(self.ty(selector)));
                return Err(self.error(TYPE_MISMATCH, text));
            }
        };
        let Some(&Stmt::Scope(list)) = self.ast.stmts.get(body) else {
            return Err(self.error(MALFORMED, "a body is no scope"));
        };
        let (values, has_default) = self.case_values(list, scalar)?;
        let mut blocks = vec![self.new_block()];
        for _ in &values {
            blocks.push(self.new_block());
        }
        let default = blocks[0];
        let merge = self.new_block();
        blocks.push(merge);
        let switch =
            self.inst(Op::Switch, TypeId::VOID, &[selector], &blocks, Imm::Cases(values.into()));
        let live = self.live;
        let outer = self.jumps.last().copied();
        self.jumps.push(Jump {
            break_to: Some(merge),
            continue_to: outer.and_then(|j| j.continue_to),
            reached: live && !has_default,
            in_query: outer.is_some_and(|j| j.in_query),
            in_gradients: outer.is_some_and(|j| j.in_gradients),
            barred: outer.is_some_and(|j| j.barred),
        });
        if !has_default {
            self.begin(default, live);
            self.terminate(Op::Br, &[], &[merge]);
        }
        self.frames.push(Frame::Switch { list, next: 0, case: 0, switch, live });
        Ok(())
    }

    /// The case values in order as the low bits of the selector's width, and whether there is a default.
    fn case_values(&mut self, list: StmtList, scalar: Scalar) -> Result<(Vec<u64>, bool)> {
        let mask = if scalar.bits() >= 64 { u64::MAX } else { (1 << scalar.bits()) - 1 };
        let mut values = Vec::new();
        let mut seen = FxHashSet::default();
        let mut has_default = false;
        let here = self.loc;
        for &item in self.ast.stmts_in(list) {
            self.set_statement(item);
            match self.ast.stmts.get(item) {
                Some(Stmt::Comment(_)) => {}
                Some(&Stmt::SwitchCase { value, .. }) => {
                    let Some(value) = self.ast.case_value(value) else {
                        return Err(self.error(SWITCH_BODY, "a case value is no integer literal"));
                    };
                    let bits = value as u64 & mask;
                    if !seen.insert(bits) {
                        let text = format!("the case `{value}` occurs twice in this switch");
                        return Err(self.error(DUPLICATE_CASE, text));
                    }
                    values.push(bits);
                }
                Some(Stmt::SwitchDefault { .. }) if !has_default => has_default = true,
                Some(Stmt::SwitchDefault { .. }) => {
                    return Err(self.error(DUPLICATE_CASE, "this switch has two defaults"));
                }
                _ => {
                    return Err(
                        self.error(SWITCH_BODY, "a switch holds a statement outside of its cases")
                    );
                }
            }
        }
        self.loc = here;
        Ok((values, has_default))
    }

    /// Goes on to the next case, or to what follows the switch.
    pub(super) fn next_case(
        &mut self,
        list: StmtList,
        next: usize,
        case: usize,
        switch: InstId,
        live: bool,
    ) -> Result<()> {
        let blocks = self.func.inst_blocks(switch);
        let (Some(&default), Some(&merge)) = (blocks.first(), blocks.last()) else {
            return Err(self.error(MALFORMED, "a switch has no blocks"));
        };
        let block = blocks.get(1 + case).copied();
        let Some(&item) = self.ast.stmts_in(list).get(next) else {
            let reached = self.jumps.pop().is_some_and(|jump| jump.reached);
            self.begin_merge(merge, reached);
            return Ok(());
        };
        self.set_statement(item);
        let (done, entered) = match self.ast.stmts[item] {
            Stmt::SwitchCase { body, .. } => (case + 1, Some((body, block.unwrap_or(merge)))),
            Stmt::SwitchDefault { body } => (case, Some((body, default))),
            _ => (case, None),
        };
        self.frames.push(Frame::Switch { list, next: next + 1, case: done, switch, live });
        match entered {
            Some((body, block)) => {
                self.frames.push(Frame::Case { merge });
                self.push_scope(body)?;
                self.begin(block, live);
                Ok(())
            }
            None => self.statement_of(item),
        }
    }
}
