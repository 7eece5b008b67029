//! Statements that nothing reaches, loops without end, cases that are never chosen.

use cranelift_entity::SecondaryMap;

use super::flow::{self, Exits};
use super::{Linter, codes};
use crate::check;
use crate::model::{ExprId, Stmt, StmtId};
use crate::place::Node;
use crate::types::TypeId;

impl Linter<'_> {
    pub(super) fn check_statements(&mut self) {
        let exits = flow::exits(self.function);
        for (id, stmt) in &self.function.stmts {
            match *stmt {
                Stmt::Scope(list) => self.check_reached(&exits, self.function.stmts_in(list)),
                Stmt::Loop { body } if !exits[body].breaks && !exits[body].ends => {
                    let message = "the loop has no way out";
                    self.warn(codes::INFINITE_LOOP, Node::Stmt(id), message);
                }
                Stmt::Switch { value, body } => self.check_cases(value, body),
                _ => {}
            }
        }
        self.check_return(&exits);
    }

    /// Warns at the first statement of a scope that is not reached.
    fn check_reached(&mut self, exits: &SecondaryMap<StmtId, Exits>, list: &[StmtId]) {
        let is_case = |s: &StmtId| {
            matches!(self.function.stmts[*s], Stmt::SwitchCase { .. } | Stmt::SwitchDefault { .. })
        };
        if list.iter().any(is_case) {
            return;
        }
        let Some(last) = list.iter().position(|s| !exits[*s].falls) else { return };
        // Recorders end every case with a jump, also behind a return.
        let is_idle = |s: &&StmtId| {
            matches!(self.function.stmts[**s], Stmt::Comment(_) | Stmt::Break | Stmt::Continue)
        };
        if let Some(first) = list[last + 1..].iter().find(|s| !is_idle(s)) {
            let message = "the statement is never reached";
            self.warn(codes::UNREACHABLE_STATEMENT, Node::Stmt(*first), message);
        }
    }

    fn check_cases(&mut self, value: ExprId, body: StmtId) {
        let function = self.function;
        let types = &self.library.types;
        let Some(scalar) = types.scalar_of(function.exprs[value].ty) else { return };
        let bits = 8 * scalar.size();
        for stmt in function.scope(body) {
            let Stmt::SwitchCase { value: case, .. } = function.stmts[*stmt] else { continue };
            let Some(case) = function.case_value(case) else { continue };
            // Signed or not, as the selector may be read.
            if !(-(1i128 << (bits - 1))..1i128 << bits).contains(&case) {
                let message =
                    format!("the case {case} is more than the selector's {bits} bits hold");
                self.warn(codes::SHADOWED_CASE, Node::Stmt(*stmt), message);
            }
        }
    }

    fn check_return(&mut self, exits: &SecondaryMap<StmtId, Exits>) {
        let ty = self.function.return_type;
        let Some(body) = self.function.body.expand() else { return };
        if ty != TypeId::VOID && exits[body].falls {
            let name = self.library.types.description(ty);
            let message = format!("the end may be reached without a `{name}` to return");
            self.warn(check::codes::MISSING_RETURN, Node::Stmt(body), message);
        }
    }
}
