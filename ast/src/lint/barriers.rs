//! Barriers that provably not all threads of a block reach.
//!
//! The first block is followed through the statements with two sets of threads: those that *may* be at a point and
//! those that *must* be there. Conditions are evaluated for each thread as far as they follow from its index; of what
//! a loop assigns nothing is assumed. A barrier is reported if some thread may reach it and another one, which certainly
//! has not ended, cannot.

use rustc_hash::FxHashSet;

use super::lanes::{Block, Lanes, Threads, Value};
use super::{Linter, codes};
use crate::callops::CallOp;
use crate::model::{Callee, ExprId, ExprKind, Function, Stmt, StmtId, VariableId, VariableTag};
use crate::place::Node;

/// Threads that may, and that must, be somewhere.
#[derive(Clone, Copy)]
struct Bounds {
    may: Threads,
    must: Threads,
}

impl Bounds {
    const NONE: Bounds = Bounds { may: Threads::NONE, must: Threads::NONE };

    /// Those that are here and have not left.
    fn without(self, left: Bounds) -> Bounds {
        Bounds { may: self.may.minus(left.must), must: self.must.minus(left.may) }
    }

    fn or(self, other: Bounds) -> Bounds {
        Bounds { may: self.may.or(other.may), must: self.must.or(other.must) }
    }
}

/// Which threads run, and which left by what kind of jump.
#[derive(Clone, Copy)]
struct State {
    branch: Bounds,
    /// Left the nearest loop or switch.
    broken: Bounds,
    /// Go on with the next round of the nearest loop.
    continued: Bounds,
}

/// What is still to be followed.
enum Work {
    Stmt(StmtId),
    /// Takes another way of the same branch.
    Way(Bounds),
    /// Behind an if: back to the threads before it.
    EndIf(Bounds),
    /// Behind a switch.
    EndSwitch(State),
    /// Behind a loop.
    EndLoop(State),
}

struct Walk<'a> {
    function: &'a Function,
    block: Block<'a>,
    state: State,
    ended: Bounds,
    /// Variables that something else than a plain assignment outside of loops writes.
    unsteady: FxHashSet<VariableId>,
    found: Vec<(ExprId, usize)>,
}

impl Linter<'_> {
    pub(super) fn check_barriers(&mut self) {
        let is_barrier =
            |kind: &ExprKind| matches!(kind, ExprKind::Call { op: CallOp::SynchronizeBlock, .. });
        if !self.function.exprs.values().any(|e| is_barrier(&e.kind)) {
            return;
        }
        let Some(body) = self.function.body.expand() else { return };
        let Some(block) = Block::new(&self.library.types, self.function) else { return };
        let threads = block.threads;
        let all = Threads::of(threads, |_| true);
        let mut walk = Walk {
            function: self.function,
            block,
            state: State {
                branch: Bounds { may: all, must: all },
                broken: Bounds::NONE,
                continued: Bounds::NONE,
            },
            ended: Bounds::NONE,
            unsteady: unsteady(self.function),
            found: Vec::new(),
        };
        walk.run(body, all);
        for (barrier, reach) in walk.found {
            let message = format!(
                "at most {reach} of the {threads} threads of the first block reach this barrier"
            );
            self.warn(codes::DIVERGENT_BARRIER, Node::Expr(barrier), message);
        }
    }
}

impl Walk<'_> {
    fn run(&mut self, body: StmtId, all: Threads) {
        let mut pending = vec![Work::Stmt(body)];
        while let Some(work) = pending.pop() {
            match work {
                Work::Stmt(stmt) => self.statement(stmt, all, &mut pending),
                Work::Way(branch) | Work::EndIf(branch) => self.state.branch = branch,
                Work::EndSwitch(before) => {
                    self.state = State { continued: self.state.continued, ..before };
                }
                Work::EndLoop(before) => self.state = before,
            }
        }
    }

    /// The threads that run here.
    fn here(&self) -> Bounds {
        let State { branch, broken, continued } = self.state;
        branch.without(broken).without(continued).without(self.ended)
    }

    fn statement(&mut self, stmt: StmtId, all: Threads, pending: &mut Vec<Work>) {
        let here = self.here();
        match self.function.stmts[stmt] {
            Stmt::Scope(list) => {
                pending.extend(self.function.stmts_in(list).iter().rev().map(|s| Work::Stmt(*s)));
            }
            Stmt::Break => self.state.broken = self.state.broken.or(here),
            Stmt::Continue => self.state.continued = self.state.continued.or(here),
            Stmt::Return(_) => self.ended = self.ended.or(here),
            Stmt::Assign { lhs, rhs } => self.assign(lhs, rhs, here),
            Stmt::Expr(expr) => self.evaluate(expr, here, all),
            Stmt::If { condition, on_true, on_false } => {
                let lanes = self.lanes(condition);
                let (yes, no) = self.split(&lanes, here, |lane| lane != 0);
                let before = self.state.branch;
                self.state.branch = yes;
                pending.extend([
                    Work::EndIf(before),
                    Work::Stmt(on_false),
                    Work::Way(no),
                    Work::Stmt(on_true),
                ]);
            }
            Stmt::Switch { value, body } => self.switch(value, body, here, pending),
            Stmt::Loop { body } | Stmt::For { body, .. } => {
                pending.extend([Work::EndLoop(self.state), Work::Stmt(body)]);
                // A condition of a loop is of some round, and says nothing about all.
                let must = if matches!(self.function.stmts[stmt], Stmt::For { .. }) {
                    Threads::NONE
                } else {
                    here.must
                };
                self.enter(Bounds { must, ..here });
            }
            Stmt::RayQuery { on_triangle, on_procedural, .. } => {
                // A handler runs for some threads, some times.
                pending.extend([
                    Work::EndLoop(self.state),
                    Work::Stmt(on_procedural),
                    Work::Stmt(on_triangle),
                ]);
                self.enter(Bounds { must: Threads::NONE, ..here });
            }
            Stmt::AutoDiff { body } => pending.push(Work::Stmt(body)),
            // Cases are taken by their switch.
            Stmt::SwitchCase { .. } | Stmt::SwitchDefault { .. } => {}
            Stmt::Comment(_) | Stmt::Print { .. } | Stmt::DebugBreak { .. } => {}
            Stmt::Suspend { .. } => {
                self.ended = self.ended.or(Bounds { must: Threads::NONE, ..here })
            }
        }
    }

    fn enter(&mut self, branch: Bounds) {
        self.state = State { branch, broken: Bounds::NONE, continued: Bounds::NONE };
    }

    /// The number that an expression has for each thread.
    fn lanes(&mut self, value: ExprId) -> Lanes {
        let first = self.block.value(value).and_then(|v| v.parts.into_iter().next());
        first.unwrap_or(Lanes::Same(None))
    }

    /// The threads for which a test of a number holds, and those for which it does not.
    fn split(&self, lanes: &Lanes, here: Bounds, test: impl Fn(i64) -> bool) -> (Bounds, Bounds) {
        if let Lanes::Same(None) = lanes {
            let maybe = Bounds { must: Threads::NONE, ..here };
            return (maybe, maybe);
        }
        let is = |wanted: bool| {
            Threads::of(self.block.threads, |t| lanes.of(t).is_some_and(|v| test(v) == wanted))
        };
        let (yes, no) = (is(true), is(false));
        let way = |is: Threads, is_not: Threads| Bounds {
            may: here.may.minus(is_not),
            must: here.must.and(is),
        };
        (way(yes, no), way(no, yes))
    }

    fn switch(&mut self, value: ExprId, body: StmtId, here: Bounds, pending: &mut Vec<Work>) {
        let ty = self.function.exprs[value].ty;
        let bits = self.block.bits(ty);
        let lanes = self.lanes(value);
        let same = move |a: i128, b: i128| (a ^ b) & ((1i128 << bits) - 1) == 0;
        let mut ways = Vec::new();
        let mut rest = here;
        let mut default = None;
        for stmt in self.function.scope(body) {
            match self.function.stmts[*stmt] {
                Stmt::SwitchDefault { body } => default = Some(body),
                Stmt::SwitchCase { value: case, body } => {
                    let Some(case) = self.function.case_value(case) else { continue };
                    let (taken, _) = self.split(&lanes, here, |v| same(i128::from(v), case));
                    rest = rest.without(taken);
                    ways.push((taken, body));
                }
                _ => {}
            }
        }
        ways.extend(default.map(|body| (rest, body)));
        pending.push(Work::EndSwitch(self.state));
        for (way, body) in ways.into_iter().rev() {
            pending.extend([Work::Stmt(body), Work::Way(way)]);
        }
        let continued = self.state.continued;
        self.enter(here);
        self.state.continued = continued;
    }

    fn evaluate(&mut self, expr: ExprId, here: Bounds, all: Threads) {
        let ExprKind::Call { op, arguments, .. } = self.function.exprs[expr].kind else { return };
        match op {
            CallOp::SynchronizeBlock => {
                let alive = all.minus(self.ended.may);
                if !here.may.is_empty() && !alive.minus(here.may).is_empty() {
                    self.found.push((expr, here.may.len()));
                }
            }
            CallOp::Unreachable => self.ended = self.ended.or(here),
            CallOp::Assert => {
                if let Some(condition) = self.function.exprs_in(arguments).first() {
                    let lanes = self.lanes(*condition);
                    let (_, fails) = self.split(&lanes, here, |v| v != 0);
                    self.ended = self.ended.or(fails);
                }
            }
            _ => {}
        }
    }

    fn assign(&mut self, lhs: ExprId, rhs: ExprId, here: Bounds) {
        let ExprKind::Ref(variable) = self.function.exprs[lhs].kind else { return };
        if self.unsteady.contains(&variable) {
            return;
        }
        let same_type = self.function.exprs[lhs].ty == self.function.exprs[rhs].ty;
        let new = self.block.value(rhs).filter(|_| same_type);
        let old = self.block.variables.remove(&variable);
        let Some(new) = new else { return };
        let parts: Vec<Lanes> = (0..new.parts.len())
            .map(|i| {
                let old = old.as_ref().and_then(|v| v.parts.get(i));
                self.blend(&new.parts[i], old, here)
            })
            .collect();
        self.block.variables.insert(variable, Value { parts, ..new });
    }

    /// The new number where a thread must be here, the old one where it cannot, nothing where it may.
    fn blend(&mut self, new: &Lanes, old: Option<&Lanes>, here: Bounds) -> Lanes {
        if here.must.len() == self.block.threads {
            return new.clone();
        }
        self.block.each(|t| match (here.must.contains(t), here.may.contains(t)) {
            (true, _) => new.of(t),
            (false, true) => None,
            (false, false) => old.and_then(|old| old.of(t)),
        })
    }
}

/// Variables of which nothing is assumed: assigned in a loop or a handler, in part, or by something other than an
/// assignment.
fn unsteady(function: &Function) -> FxHashSet<VariableId> {
    let mut found = FxHashSet::default();
    let mut pending: Vec<(StmtId, bool)> =
        function.body.expand().map(|b| (b, false)).into_iter().collect();
    while let Some((stmt, repeated)) = pending.pop() {
        match function.stmts[stmt] {
            Stmt::Scope(list) => {
                pending.extend(function.stmts_in(list).iter().map(|s| (*s, repeated)));
            }
            Stmt::If { on_true, on_false, .. } => {
                pending.extend([(on_true, repeated), (on_false, repeated)]);
            }
            Stmt::Loop { body } => pending.push((body, true)),
            Stmt::For { variable, body, .. } => {
                found.extend(root(function, variable));
                pending.push((body, true));
            }
            Stmt::RayQuery { on_triangle, on_procedural, .. } => {
                pending.extend([(on_triangle, true), (on_procedural, true)]);
            }
            Stmt::Switch { body, .. }
            | Stmt::SwitchCase { body, .. }
            | Stmt::SwitchDefault { body }
            | Stmt::AutoDiff { body } => pending.push((body, repeated)),
            Stmt::Assign { lhs, .. } => {
                let whole = matches!(function.exprs[lhs].kind, ExprKind::Ref(_));
                if repeated || !whole {
                    found.extend(root(function, lhs));
                }
            }
            _ => {}
        }
    }
    for expr in function.exprs.values() {
        let ExprKind::Call { op, callee, arguments, .. } = expr.kind else { continue };
        let reads_only =
            callee == Callee::Builtin && !op.is_atomic() && op.written_argument().is_none();
        if !reads_only || op == CallOp::AddressOf {
            for argument in function.exprs_in(arguments) {
                found.extend(root(function, *argument));
            }
        }
    }
    let shared = |(_, v): &(VariableId, &crate::model::Variable)| {
        !matches!(v.tag, VariableTag::Local) && !v.tag.is_builtin()
    };
    found.extend(function.variables.iter().filter(shared).map(|(id, _)| id));
    found
}

/// The variable that an expression names a part of.
fn root(function: &Function, expr: ExprId) -> Option<VariableId> {
    let mut at = expr;
    loop {
        match function.exprs[at].kind {
            ExprKind::Ref(variable) => return Some(variable),
            ExprKind::Access { range: base, .. }
            | ExprKind::Member { base, .. }
            | ExprKind::Swizzle { base, .. } => at = base,
            _ => return None,
        }
    }
}
