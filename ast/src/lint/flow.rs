//! Where control can go on after each statement.
//!
//! One pass in the order of ids: a statement has a larger id than its parts. What a condition evaluates to is not
//! looked at, so that "does not go on" is a proof, and "goes on" is not.

use cranelift_entity::SecondaryMap;

use crate::callops::CallOp;
use crate::model::{Callee, ExprKind, Function, Stmt, StmtId};

/// How control may leave a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Exits {
    /// To the next statement.
    pub falls: bool,
    /// By a break of the nearest loop or switch around it.
    pub breaks: bool,
    /// By a return, or because the thread ends, or is suspended.
    pub ends: bool,
}

/// How control may leave each statement of a function.
pub(crate) fn exits(function: &Function) -> SecondaryMap<StmtId, Exits> {
    let mut exits = SecondaryMap::with_capacity(function.stmts.len());
    for (id, stmt) in &function.stmts {
        exits[id] = of_stmt(function, &exits, stmt);
    }
    exits
}

fn of_stmt(function: &Function, exits: &SecondaryMap<StmtId, Exits>, stmt: &Stmt) -> Exits {
    let falls = Exits { falls: true, ..Exits::default() };
    match *stmt {
        Stmt::Break => Exits { breaks: true, ..Exits::default() },
        Stmt::Continue => Exits::default(),
        Stmt::Return(_) => Exits { ends: true, ..Exits::default() },
        Stmt::Scope(list) => in_order(exits, function.stmts_in(list)),
        Stmt::If { on_true, on_false, .. } => either(exits[on_true], exits[on_false]),
        Stmt::Loop { body } => {
            let body = exits[body];
            Exits { falls: body.breaks, breaks: false, ends: body.ends }
        }
        Stmt::For { body, .. } => Exits { ends: exits[body].ends, ..falls },
        Stmt::Switch { body, .. } => of_switch(function, exits, body),
        Stmt::SwitchCase { body, .. } | Stmt::SwitchDefault { body } | Stmt::AutoDiff { body } => {
            exits[body]
        }
        Stmt::RayQuery { on_triangle, on_procedural, .. } => {
            Exits { ends: exits[on_triangle].ends || exits[on_procedural].ends, ..falls }
        }
        Stmt::Expr(expr) => match function.exprs[expr].kind {
            ExprKind::Call { op: CallOp::Unreachable | CallOp::RasterDiscard, .. } => {
                Exits { ends: true, ..Exits::default() }
            }
            // An assertion ends the thread, and a callable may hold one.
            ExprKind::Call { op: CallOp::Assert, .. }
            | ExprKind::Call { callee: Callee::Function(_) | Callee::External(_), .. }
            | ExprKind::CpuCustom { .. }
            | ExprKind::GpuCustom { .. } => Exits { ends: true, ..falls },
            _ => falls,
        },
        Stmt::Suspend { .. } => Exits { ends: true, ..falls },
        Stmt::Assign { .. } | Stmt::Comment(_) | Stmt::Print { .. } | Stmt::DebugBreak { .. } => {
            falls
        }
    }
}

fn either(a: Exits, b: Exits) -> Exits {
    Exits { falls: a.falls || b.falls, breaks: a.breaks || b.breaks, ends: a.ends || b.ends }
}

/// Of statements one after the other: those that are not reached do not count.
fn in_order(exits: &SecondaryMap<StmtId, Exits>, list: &[StmtId]) -> Exits {
    let mut all = Exits { falls: true, ..Exits::default() };
    for stmt in list {
        all = either(Exits { falls: false, ..all }, exits[*stmt]);
        if !all.falls {
            break;
        }
    }
    all
}

/// A case without a break goes on behind the switch, as does a value without a case.
fn of_switch(function: &Function, exits: &SecondaryMap<StmtId, Exits>, body: StmtId) -> Exits {
    let mut all = Exits::default();
    let mut has_default = false;
    for stmt in function.scope(body) {
        match function.stmts[*stmt] {
            Stmt::SwitchDefault { .. } => has_default = true,
            Stmt::SwitchCase { .. } => {}
            _ => continue,
        }
        all = either(all, exits[*stmt]);
    }
    Exits { falls: all.falls || all.breaks || !has_default, breaks: false, ends: all.ends }
}
