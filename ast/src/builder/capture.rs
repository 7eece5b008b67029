//! Values of one function used in another: a callable that is defined inside of a function may use that function's
//! values.
//!
//! Builtin variables become the callable's own; expressions of these and of constants are copied, since a thread has the
//! same everywhere. Resources become resource arguments, what can be assigned becomes a reference argument, and every
//! other value an argument by value. The callers pass what was used: see [`calls`](super::calls).

use cranelift_entity::packed_option::PackedOption;
use rustc_hash::{FxHashMap, FxHashSet};

use super::error::{self, Built, fault};
use super::session::{Parameter, Raw, Session};
use crate::callops::{CallOp, Group};
use crate::model::{Callee, ExprId, ExprKind, Function, FunctionTag, VariableId, VariableTag};
use crate::place;
use crate::types::{Scalar, TypeId};

impl Session {
    /// The expression of the innermost function that a value stands for there.
    pub(super) fn resolve(&mut self, raw: Raw) -> Built<ExprId> {
        let state = self.top()?;
        if state.serial == raw.serial {
            let expr = state.function.exprs[raw.expr];
            // It has happened already, and would happen once more.
            if expr.ty == TypeId::VOID && matches!(expr.kind, ExprKind::Call { .. }) {
                let message = "a call without a value cannot be used as one";
                return fault(crate::check::codes::OPERAND_TYPE, message);
            }
            return Ok(raw.expr);
        }
        if let Some(expr) = state.captured.get(&raw) {
            return Ok(*expr);
        }
        let Some(owner) = self.stack.iter().position(|s| s.serial == raw.serial) else {
            return fault(
                error::FOREIGN,
                "the value belongs to a function that is not around this one",
            );
        };
        let expr = self.internalize(owner, raw)?;
        self.top()?.captured.insert(raw, expr);
        Ok(expr)
    }

    fn internalize(&mut self, owner: usize, raw: Raw) -> Built<ExprId> {
        let outer = &self.stack[owner].function;
        let constant = constant_expression(outer, raw.expr);
        let ty = outer.exprs[raw.expr].ty;
        if let Some(nodes) = constant {
            return self.clone_constant(owner, &nodes);
        }
        if let ExprKind::Ref(variable) = outer.exprs[raw.expr].kind {
            let tag = outer.variables[variable].tag;
            if tag.is_resource() {
                return self.capture(tag, ty, raw);
            }
        }
        if ty == TypeId::VOID {
            return fault(
                error::FOREIGN,
                "a call without a value cannot be used in another function",
            );
        }
        let by_reference = names_memory(outer, raw.expr);
        self.capture(
            if by_reference { VariableTag::Reference } else { VariableTag::Argument },
            ty,
            raw,
        )
    }

    fn capture(&mut self, tag: VariableTag, ty: TypeId, raw: Raw) -> Built<ExprId> {
        if self.top()?.function.tag != FunctionTag::Callable {
            return fault(
                error::FOREIGN,
                "only callables can use values of the functions around them",
            );
        }
        self.argument(tag, ty, Parameter::Captured(raw))
    }

    /// The innermost function's builtin variable of a tag: one for each. In a callable it is an argument too, which
    /// callers pass their own builtin for.
    pub(super) fn builtin_variable(&mut self, tag: VariableTag) -> Built<ExprId> {
        let state = self.top()?;
        if let Some((_, variable)) = state.builtins.iter().find(|(t, _)| *t == tag) {
            let variable = *variable;
            return self.reference(variable);
        }
        let variable = self.variable(tag, builtin_type(tag))?;
        let state = self.top()?;
        state.builtins.push((tag, variable));
        if state.function.tag == FunctionTag::Callable {
            state.function.arguments.push(variable);
            state.parameters.push(Parameter::Builtin(tag));
        }
        self.reference(variable)
    }

    /// Builtin variables are not written, not even in callables, where files have them as arguments by value.
    pub(super) fn expect_no_builtin(&mut self, expr: ExprId) -> Built<()> {
        let function = &self.top()?.function;
        let mut at = expr;
        loop {
            match function.exprs[at].kind {
                ExprKind::Ref(variable) if function.variables[variable].tag.is_builtin() => {
                    let tag = function.variables[variable].tag.name();
                    let message = format!("a variable of tag `{tag}` cannot be assigned");
                    return fault(crate::check::codes::NOT_ASSIGNABLE, message);
                }
                ExprKind::Access { range: base, .. }
                | ExprKind::Member { base, .. }
                | ExprKind::Swizzle { base, .. } => at = base,
                _ => return Ok(()),
            }
        }
    }

    /// Copies nodes of an outer function, operands first; the last one is the root.
    fn clone_constant(&mut self, owner: usize, nodes: &[ExprId]) -> Built<ExprId> {
        let mut copies: FxHashMap<ExprId, ExprId> = FxHashMap::default();
        let mut root = ExprId::from_u32(0);
        for node in nodes {
            let outer = &self.stack[owner].function;
            let expr = outer.exprs[*node];
            if let ExprKind::Ref(variable) = expr.kind {
                let tag = outer.variables[variable].tag;
                root = self.builtin_variable(tag)?;
                copies.insert(*node, root);
                continue;
            }
            let kind = match self.stack.split_last_mut() {
                Some((top, outer)) => {
                    let from = &outer[owner].function;
                    copy_kind(from, &mut top.function, expr.kind, |e| copies[&e], |v| v)
                }
                None => expr.kind,
            };
            self.list_constant(kind)?;
            root = self.push(expr.ty, kind)?;
            copies.insert(*node, root);
        }
        Ok(root)
    }

    /// Lists a constant among those that the innermost function uses.
    pub(super) fn list_constant(&mut self, kind: ExprKind) -> Built<()> {
        if let ExprKind::Constant(constant) = kind {
            let listed = &mut self.top()?.function.listed_constants;
            if !listed.contains(&constant) {
                listed.push(constant);
            }
        }
        Ok(())
    }
}

/// The type of a builtin variable.
pub(super) fn builtin_type(tag: VariableTag) -> TypeId {
    match tag {
        VariableTag::ThreadId
        | VariableTag::BlockId
        | VariableTag::DispatchId
        | VariableTag::DispatchSize => TypeId::vector(Scalar::U32, 3),
        VariableTag::RasterBarycentrics => TypeId::vector(Scalar::F32, 3),
        VariableTag::RasterFrontFacing => TypeId::BOOL,
        _ => TypeId::U32,
    }
}

/// The nodes of an expression without variables but builtin ones, calls of functions or effects, operands first; `None`
/// for any other.
fn constant_expression(function: &Function, root: ExprId) -> Option<Vec<ExprId>> {
    let (mut seen, mut pending) = (FxHashSet::default(), vec![root]);
    while let Some(id) = pending.pop() {
        if !seen.insert(id) {
            continue;
        }
        let kind = function.exprs[id].kind;
        let pure = match kind {
            ExprKind::Ref(variable) => function.variables[variable].tag.is_builtin(),
            ExprKind::CpuCustom { .. } | ExprKind::GpuCustom { .. } => false,
            ExprKind::Call { op, callee, .. } => callee == Callee::Builtin && is_pure(op),
            _ => true,
        };
        if !pure {
            return None;
        }
        place::expr_children(function, &kind, |_, _, operand| pending.push(operand));
    }
    let mut nodes: Vec<ExprId> = seen.into_iter().collect();
    nodes.sort();
    Some(nodes)
}

/// Whether an operation yields the same for the same arguments, whenever and wherever it is done.
pub(super) fn is_pure(op: CallOp) -> bool {
    op.info().group == Group::Core
        && !matches!(op, CallOp::Custom | CallOp::External | CallOp::Undefined)
}

/// Whether an expression is a variable, or an element, member or single component of one.
fn names_memory(function: &Function, mut expr: ExprId) -> bool {
    loop {
        match function.exprs[expr].kind {
            ExprKind::Ref(_) => return true,
            ExprKind::Access { range: base, .. } | ExprKind::Member { base, .. } => expr = base,
            ExprKind::Swizzle { base, swizzle } if swizzle.size == 1 => expr = base,
            _ => return false,
        }
    }
}

/// The kind of an expression of `from` as one of `to`, with other operands and variables.
pub(super) fn copy_kind(
    from: &Function,
    to: &mut Function,
    kind: ExprKind,
    operand: impl Fn(ExprId) -> ExprId,
    variable: impl Fn(VariableId) -> VariableId,
) -> ExprKind {
    let maybe = |e: PackedOption<ExprId>| e.map(&operand).into();
    match kind {
        ExprKind::Unary { op, operand: e } => ExprKind::Unary { op, operand: operand(e) },
        ExprKind::Binary { op, lhs, rhs } => {
            ExprKind::Binary { op, lhs: operand(lhs), rhs: operand(rhs) }
        }
        ExprKind::Swizzle { base, swizzle } => ExprKind::Swizzle { base: operand(base), swizzle },
        ExprKind::Member { base, index } => ExprKind::Member { base: operand(base), index },
        ExprKind::Access { range, index } => {
            ExprKind::Access { range: operand(range), index: operand(index) }
        }
        ExprKind::Cast { op, source } => ExprKind::Cast { op, source: operand(source) },
        ExprKind::Literal { bytes } => {
            ExprKind::Literal { bytes: to.add_bytes(from.bytes_in(bytes)) }
        }
        ExprKind::StringId(text) => ExprKind::StringId(to.add_text(from.text_in(text))),
        ExprKind::Call { op, curve_bases, callee, arguments } => {
            let copies: Vec<ExprId> =
                from.exprs_in(arguments).iter().map(|e| operand(*e)).collect();
            ExprKind::Call { op, curve_bases, callee, arguments: to.add_exprs(&copies) }
        }
        ExprKind::CpuCustom { pointers, argument } => ExprKind::CpuCustom {
            pointers: to.add_bytes(from.bytes_in(pointers)),
            argument: maybe(argument),
        },
        ExprKind::GpuCustom { source, argument } => ExprKind::GpuCustom {
            source: to.add_text(from.text_in(source)),
            argument: maybe(argument),
        },
        ExprKind::Ref(id) => ExprKind::Ref(variable(id)),
        ExprKind::Constant(_) | ExprKind::TypeId(_) | ExprKind::FuncRef(_) => kind,
    }
}
