//! Statements and scopes of a function that is being built. The bodies of scopes are closures: what they record goes
//! into the scope.

use super::error::{self, Built, fault};
use super::function::FunctionBuilder;
use super::operand::Operand;
use super::result::maker;
use super::session::{Scope, Session};
use super::value::Value;
use crate::callops::CallOp;
use crate::check::{Context, codes};
use crate::model::{ExprId, ExprKind, FunctionTag, Stmt, StmtId, Swizzle};
use crate::types::{Scalar, TypeId};

impl Session {
    fn assign(&mut self, lhs: ExprId, rhs: ExprId) -> Built<()> {
        self.expect_no_builtin(lhs)?;
        // To itself: nothing happens.
        if lhs == rhs {
            return Ok(());
        }
        match self.top()?.function.exprs[lhs].kind {
            ExprKind::Swizzle { base, swizzle } if swizzle.size > 1 => {
                self.assign_components(base, swizzle, rhs)
            }
            _ => self.statement(Stmt::Assign { lhs, rhs }),
        }
    }

    /// Several components at once: the vector is made anew of old and new ones.
    fn assign_components(&mut self, base: ExprId, swizzle: Swizzle, rhs: ExprId) -> Built<()> {
        let (ty, given) = (self.ty(base)?, self.ty(rhs)?);
        let Some(scalar) = self.types().scalar_of(ty) else {
            return fault(error::NO_PARTS, "this has no components");
        };
        let wanted = TypeId::vector(scalar, swizzle.size);
        let twice = (1..swizzle.components().len())
            .any(|i| (0..i).any(|j| swizzle.component(i) == swizzle.component(j)));
        if twice {
            let message = format!("`.{swizzle}` names a component twice and cannot be assigned");
            return fault(codes::NOT_ASSIGNABLE, message);
        }
        if given != wanted {
            let (given, wanted) = (self.name(given), self.name(wanted));
            let message = format!("a `{given}` cannot be assigned to a `{wanted}`");
            return fault(codes::ASSIGN_TYPE, message);
        }
        let new = self.stored(rhs)?;
        let mut parts = Vec::new();
        for i in 0..self.types().dim(ty) {
            let place = swizzle.components().position(|c| c == usize::from(i));
            let (from, component) = place.map_or((base, i), |place| (new, place as u8));
            let swizzle = Swizzle { size: 1, code: u16::from(component) };
            let kind = ExprKind::Swizzle { base: from, swizzle };
            parts.push(self.push(TypeId::scalar(scalar), kind)?);
        }
        let Some(op) = maker(self.types(), ty) else {
            return fault(error::NO_PARTS, "there is no maker of this vector");
        };
        let arguments = self.list(&parts)?;
        let callee = crate::model::Callee::Builtin;
        let kind = ExprKind::Call { op, curve_bases: Default::default(), callee, arguments };
        let rhs = self.push(ty, kind)?;
        self.statement(Stmt::Assign { lhs: base, rhs })
    }

    fn return_value(&mut self, value: Option<ExprId>) -> Built<()> {
        let ty = match value {
            Some(value) => self.ty(value)?,
            None => TypeId::VOID,
        };
        if value.is_some() && !self.types().is_data(ty) {
            let message = format!("a `{}` cannot be returned", self.name(ty));
            return fault(codes::RETURN_TYPE, message);
        }
        let state = self.top()?;
        if !state.returns && state.function.tag != FunctionTag::Kernel {
            state.function.return_type = ty;
        }
        state.returns = true;
        self.statement(Stmt::Return(value.into()))
    }

    /// A case's value: an `int` where there is one of the same bits, as files store it.
    fn case_literal(&mut self, selector: TypeId, value: i64) -> Built<ExprId> {
        let bits = self.types().scalar_of(selector).map_or(32, Scalar::bits);
        let narrow = i32::try_from(value).ok();
        let wrapped = u32::try_from(value).ok().filter(|_| bits <= 32).map(|v| v as i32);
        match narrow.or(wrapped) {
            Some(value) => self.literal(TypeId::I32, value.to_le_bytes().to_vec()),
            None if bits == 64 => self.literal(selector, value.to_le_bytes().to_vec()),
            None => fault(codes::SWITCH_SHAPE, format!("{value} is no value of {bits} bits")),
        }
    }
}

impl<'b> FunctionBuilder<'b> {
    /// Opens a scope, runs its body, closes it. After a mistake the body still runs, and nothing is recorded.
    #[track_caller]
    fn scope(
        &self,
        enclose: impl FnOnce(Context) -> Context,
        body: impl FnOnce(),
    ) -> Option<StmtId> {
        let opened = self.step(|s| {
            let state = s.top()?;
            let outer = state.scopes.last().map_or(Context::default(), |scope| scope.context);
            // Only the scope of a switch holds cases.
            let plain = Context { in_switch_body: false, ..outer };
            state.scopes.push(Scope { stmts: Vec::new(), context: enclose(plain) });
            Ok(())
        });
        body();
        opened?;
        self.step(|s| s.close_scope())
    }

    #[track_caller]
    fn finish(
        &self,
        scopes: [Option<StmtId>; 2],
        stmt: impl FnOnce(&mut Session, [StmtId; 2]) -> Built<Stmt>,
    ) {
        // Without a scope there was a mistake, and the step would not be done.
        let [Some(a), Some(b)] = scopes else { return };
        self.step(|s| {
            let stmt = stmt(s, [a, b])?;
            s.statement(stmt)
        });
    }

    /// Runs `on_true` where the condition holds: a scalar, true if it is not zero.
    #[track_caller]
    pub fn if_(&self, condition: impl Operand<'b>, on_true: impl FnOnce()) {
        self.if_else(condition, on_true, || {});
    }

    /// Runs one of two bodies.
    #[track_caller]
    pub fn if_else(
        &self,
        condition: impl Operand<'b>,
        on_true: impl FnOnce(),
        on_false: impl FnOnce(),
    ) {
        let condition = condition.into_value(self.recorder);
        let scopes = [self.scope(|c| c, on_true), self.scope(|c| c, on_false)];
        self.finish(scopes, |s, [on_true, on_false]| {
            Ok(Stmt::If { condition: s.resolve(condition.raw)?, on_true, on_false })
        });
    }

    /// Repeats until left by [`Self::break_`] or a return.
    #[track_caller]
    pub fn loop_(&self, body: impl FnOnce()) {
        let body = self.scope(|c| Context { in_loop: true, ..c }, body);
        self.finish([body, body], |_, [body, _]| Ok(Stmt::Loop { body }));
    }

    /// Repeats while the condition holds; `condition` records what is to be evaluated before each round.
    #[track_caller]
    pub fn while_(&self, condition: impl FnOnce() -> Value<'b>, body: impl FnOnce()) {
        self.loop_(|| {
            let condition = condition();
            self.if_(!condition, || self.break_());
            body();
        });
    }

    /// `while (condition) { body; variable += step; }`. The condition and the step are evaluated in each round.
    #[track_caller]
    pub fn for_(
        &self,
        variable: Value<'b>,
        condition: Value<'b>,
        step: impl Operand<'b>,
        body: impl FnOnce(),
    ) {
        let step = step.into_value(self.recorder);
        let body = self.scope(|c| Context { in_loop: true, ..c }, body);
        self.finish([body, body], |s, [body, _]| {
            let (variable, step) = (s.resolve(variable.raw)?, s.resolve(step.raw)?);
            s.expect_no_builtin(variable)?;
            Ok(Stmt::For { variable, condition: s.resolve(condition.raw)?, step, body })
        });
    }

    /// Counts a new local from `start`, by `step`, while it is less than `end`, which is evaluated in each round.
    #[track_caller]
    pub fn for_range(
        &self,
        start: impl Operand<'b>,
        end: impl Operand<'b>,
        step: impl Operand<'b>,
        body: impl FnOnce(Value<'b>),
    ) {
        let counter = self.var(start);
        let condition = counter.less(end);
        self.for_(counter, condition, step, || body(counter));
    }

    /// One of many ways, by an integer; `cases` records them, and nothing else.
    #[track_caller]
    pub fn switch(&self, value: impl Operand<'b>, cases: impl FnOnce(&SwitchBuilder<'b>)) {
        let value = value.into_value(self.recorder);
        let builder = SwitchBuilder { function: *self, selector: value.ty() };
        let enclose = |c| Context { in_switch: true, in_switch_body: true, ..c };
        let body = self.scope(enclose, || cases(&builder));
        self.finish([body, body], |s, [body, _]| {
            Ok(Stmt::Switch { value: s.resolve(value.raw)?, body })
        });
    }

    /// Runs a ray query, a local variable, with a body for each kind of candidate.
    #[track_caller]
    pub fn ray_query(
        &self,
        query: Value<'b>,
        on_triangle: impl FnOnce(),
        on_procedural: impl FnOnce(),
    ) {
        let enclose = |_| Context { in_query: true, ..Context::default() };
        let scopes = [self.scope(enclose, on_triangle), self.scope(enclose, on_procedural)];
        self.finish(scopes, |s, [on_triangle, on_procedural]| {
            Ok(Stmt::RayQuery { query: s.resolve(query.raw)?, on_triangle, on_procedural })
        });
    }

    /// Differentiates the body.
    #[track_caller]
    pub fn autodiff(&self, body: impl FnOnce()) {
        let enclose =
            |c: Context| Context { in_query: c.in_query, in_gradients: true, ..Context::default() };
        let body = self.scope(enclose, body);
        self.finish([body, body], |_, [body, _]| Ok(Stmt::AutoDiff { body }));
    }

    /// Stores a value: of the same type, or both are scalars. Several components of a vector are stored at once.
    #[track_caller]
    pub fn assign(&self, place: Value<'b>, value: impl Operand<'b>) {
        let value = value.into_value(self.recorder);
        self.step(|s| {
            self.recorder.same(value.recorder)?;
            let (lhs, rhs) = (s.resolve(place.raw)?, s.resolve(value.raw)?);
            s.assign(lhs, rhs)
        });
    }

    /// Leaves the nearest enclosing loop or switch.
    #[track_caller]
    pub fn break_(&self) {
        self.step(|s| s.statement(Stmt::Break));
    }

    /// Goes on with the nearest enclosing loop.
    #[track_caller]
    pub fn continue_(&self) {
        self.step(|s| s.statement(Stmt::Continue));
    }

    /// Leaves the function without a value.
    #[track_caller]
    pub fn return_(&self) {
        self.step(|s| s.return_value(None));
    }

    /// Leaves the function with a value. The first one decides the return type.
    #[track_caller]
    pub fn return_value(&self, value: impl Operand<'b>) {
        let value = value.into_value(self.recorder);
        self.step(|s| {
            let value = s.resolve(value.raw)?;
            s.return_value(Some(value))
        });
    }

    /// Text for the reader.
    #[track_caller]
    pub fn comment(&self, text: &str) {
        self.step(|s| {
            let text = s.text(text)?;
            s.statement(Stmt::Comment(text))
        });
    }

    /// Prints; each `{}` of the format stands for an argument.
    #[track_caller]
    pub fn print(&self, format: &str, arguments: &[Value<'b>]) {
        self.step(|s| {
            let format = s.text(format)?;
            let arguments = s.values(arguments)?;
            s.statement(Stmt::Print { format, arguments })
        });
    }

    /// Suspends a coroutine.
    #[track_caller]
    pub fn suspend(&self, token: u32, name: &str) {
        self.step(|s| {
            if s.top()?.function.tag != FunctionTag::Coroutine {
                return fault(error::BLOCK, "only coroutines can be suspended");
            }
            let name = s.text(name)?;
            s.statement(Stmt::Suspend { token, name })
        });
    }

    /// Stops in a debugger that shows some values. Works on no target.
    #[track_caller]
    pub fn debug_break(&self, watches: &[Value<'b>]) {
        self.step(|s| {
            let watches = s.values(watches)?;
            s.statement(Stmt::DebugBreak { watches })
        });
    }

    /// Evaluates an expression and drops its value. Calls happen where they are made, without this.
    #[track_caller]
    pub fn evaluate(&self, value: Value<'b>) {
        self.step(|s| {
            let value = s.resolve(value.raw)?;
            s.statement(Stmt::Expr(value))
        });
    }

    /// All threads of the block wait for each other, and see what the others wrote.
    #[track_caller]
    pub fn synchronize_block(&self) {
        self.call_op(CallOp::SynchronizeBlock, &[]);
    }
}

impl Session {
    fn values(&mut self, values: &[Value<'_>]) -> Built<crate::model::ExprList> {
        let exprs: Built<Vec<ExprId>> = values.iter().map(|v| self.resolve(v.raw)).collect();
        self.list(&exprs?)
    }
}

/// The cases of a switch.
pub struct SwitchBuilder<'b> {
    function: FunctionBuilder<'b>,
    selector: TypeId,
}

impl SwitchBuilder<'_> {
    /// What happens for a value of the selector; it does not fall through.
    #[track_caller]
    pub fn case(&self, value: i64, body: impl FnOnce()) {
        let body = self.function.scope(|c| c, body);
        let selector = self.selector;
        self.function.finish([body, body], |s, [body, _]| {
            Ok(Stmt::SwitchCase { value: s.case_literal(selector, value)?, body })
        });
    }

    /// What happens for all other values.
    #[track_caller]
    pub fn default(&self, body: impl FnOnce()) {
        let body = self.function.scope(|c| c, body);
        self.function.finish([body, body], |_, [body, _]| Ok(Stmt::SwitchDefault { body }));
    }
}
