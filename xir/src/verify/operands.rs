//! Invariants 7, 8, 9, 18 and 21: operands against the rule of each operation. Resources are in `resources.rs`.

use super::{Context, data, resources};
use crate::op::{AtomicOp, AutodiffOp, RayQueryReadOp, RayQueryWriteOp, Space};
use crate::typing::{self, Index};
use crate::{ArgumentKind, FunctionId, InstId, Op, ValueId};
use luisac_ast::types::{Scalar, TypeId, TypeKind};

pub(super) fn check(cx: &mut Context<'_>) {
    let function = cx.function;
    let mut types = Vec::new();
    for block in function.blocks() {
        for inst in function.insts(block) {
            types.clear();
            types.extend(function.args(inst).iter().map(|&a| function.value_type(a)));
            let (min, max) = arity(function.op(inst));
            if types.len() < min || types.len() > max {
                let message = format!("{} operands, but {}", types.len(), needed(min, max));
                cx.inst_error(7, inst, message);
                continue;
            }
            // A result that is missing or too many has been told.
            let has_result = function.result(inst).is_some();
            if data::wants_result(cx, inst) == Some(has_result) {
                check_inst(cx, inst, &types);
            }
        }
    }
}

fn needed(min: usize, max: usize) -> String {
    match max {
        _ if min == max => format!("{min} are needed"),
        usize::MAX | 4294967295 => format!("{min} or more are needed"),
        _ => format!("{min} to {max} are needed"),
    }
}

/// Least and greatest number of operands.
fn arity(op: Op) -> (usize, usize) {
    match op {
        Op::Arithmetic(op) => op.arity(),
        Op::Cast(op) => op.arity(),
        Op::Atomic(op) => op.arity(),
        Op::ThreadGroup(op) => op.arity(),
        Op::ResourceQuery(op) => op.arity(),
        Op::ResourceRead(op) => op.arity(),
        Op::ResourceWrite(op) => op.arity(),
        Op::RayQueryRead(op) => op.arity(),
        Op::RayQueryWrite(op) => op.arity(),
        Op::Autodiff(op) => op.arity(),
        Op::Gep => (2, usize::MAX),
        Op::Store => (2, 2),
        Op::Load | Op::Assert | Op::Assume | Op::RayQueryDispatch => (1, 1),
        Op::If | Op::Switch | Op::CondBr | Op::IndexedBranch => (1, 1),
        Op::Return => (0, 1),
        Op::RayQueryPipeline => (1, usize::MAX),
        Op::Phi | Op::Print | Op::Call => (0, usize::MAX),
        _ => (0, 0),
    }
}

/// What kind of thing an operand is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Value,
    Lvalue,
    Resource,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Value => "a value",
            Kind::Lvalue => "an lvalue",
            Kind::Resource => "a resource",
        }
    }
}

impl Context<'_> {
    pub(super) fn kind(&self, value: ValueId) -> Kind {
        if self.function.is_lvalue(value) {
            Kind::Lvalue
        } else if self.function.is_resource(value) {
            Kind::Resource
        } else {
            Kind::Value
        }
    }

    /// Operand `i` must be of a kind; whether it is.
    pub(super) fn need(&mut self, inst: InstId, i: usize, kind: Kind) -> bool {
        let found = self.kind(self.function.arg(inst, i));
        if found != kind {
            let message = format!("operand {i} is {}, not {}", found.name(), kind.name());
            self.inst_error(9, inst, message);
        }
        found == kind
    }

    fn need_values(&mut self, inst: InstId, from: usize) -> bool {
        let count = self.function.args(inst).len();
        (from..count).all(|i| self.need(inst, i, Kind::Value))
    }

    /// Tells a broken rule.
    pub(super) fn rule(&mut self, inst: InstId, outcome: Result<(), String>) {
        if let Err(message) = outcome {
            self.inst_error(8, inst, message);
        }
    }

    fn expect(&mut self, inst: InstId, condition: bool, what: &str) {
        if !condition {
            self.inst_error(8, inst, format!("expected {what}"));
        }
    }

    fn indices(&self, inst: InstId, range: std::ops::Range<usize>) -> Vec<Index> {
        let args = &self.function.args(inst)[range];
        let index = |&a: &ValueId| (self.function.value_type(a), self.function.constant_bits(a));
        args.iter().map(index).collect()
    }
}

fn check_inst(cx: &mut Context<'_>, inst: InstId, operands: &[TypeId]) {
    let data = cx.function.inst(inst);
    let (types, function) = (cx.types, cx.function);
    let args = function.args(inst);
    let constant = |i: usize| args.get(i).and_then(|&a| function.constant_bits(a));
    match data.op {
        Op::Arithmetic(op) if cx.need_values(inst, 0) => {
            cx.rule(inst, typing::check(op.rule(), data.ty, operands, constant, types));
        }
        Op::ThreadGroup(op) if cx.need_values(inst, 0) => {
            cx.rule(inst, typing::check(op.rule(), data.ty, operands, constant, types));
        }
        Op::Cast(op) if cx.need_values(inst, 0) => {
            cx.rule(inst, typing::check_cast(op, operands[0], data.ty, types));
        }
        Op::Arithmetic(_) | Op::ThreadGroup(_) | Op::Cast(_) => {}
        Op::Phi => {
            cx.need_values(inst, 0);
            let same = operands.iter().all(|&o| o == data.ty);
            cx.expect(inst, same && types.is_data(data.ty), "values of the phi's data type");
        }
        Op::Load if cx.need(inst, 0, Kind::Lvalue) => {
            cx.expect(inst, operands[0] == data.ty, "the type of the memory as the result");
        }
        Op::Store if cx.need(inst, 0, Kind::Lvalue) && cx.need(inst, 1, Kind::Value) => {
            cx.expect(inst, operands[0] == operands[1], "a value of the type of the memory");
        }
        Op::Gep => check_gep(cx, inst, operands[0]),
        Op::Atomic(op) => check_atomic(cx, inst, op, operands),
        Op::ResourceQuery(_) | Op::ResourceRead(_) | Op::ResourceWrite(_) => {
            resources::check(cx, inst, operands);
        }
        Op::RayQueryRead(op) => check_query_read(cx, inst, op, operands[0]),
        Op::RayQueryWrite(op) => check_query_write(cx, inst, op, operands),
        Op::Autodiff(op) => check_autodiff(cx, inst, op, operands),
        Op::Call | Op::RayQueryPipeline => check_call(cx, inst, operands),
        Op::Print => drop(cx.need_values(inst, 0)),
        Op::Clock => cx.expect(inst, data.ty == TypeId::U64, "a `u64` result"),
        Op::Assert | Op::Assume | Op::If | Op::CondBr if cx.need(inst, 0, Kind::Value) => {
            cx.expect(inst, operands[0] == TypeId::BOOL, "a `bool` condition");
        }
        Op::Switch | Op::IndexedBranch if cx.need(inst, 0, Kind::Value) => {
            let scalar = types.scalar_of(operands[0]).filter(|_| types.is_scalar(operands[0]));
            let fits = scalar.is_some_and(|s| s.is_int() || s == Scalar::Bool);
            cx.expect(inst, fits, "an integer or `bool` selector");
        }
        Op::Return => check_return(cx, inst, operands),
        Op::RayQueryDispatch if cx.need(inst, 0, Kind::Lvalue) => {
            cx.expect(inst, types.is_ray_query(operands[0]), "a ray query");
        }
        _ => {}
    }
}

fn check_gep(cx: &mut Context<'_>, inst: InstId, base: TypeId) {
    if !cx.need(inst, 0, Kind::Lvalue) || !cx.need_values(inst, 1) {
        return;
    }
    let indices = cx.indices(inst, 1..cx.function.args(inst).len());
    let part = typing::walk(base, indices, cx.types);
    let ty = cx.function.inst(inst).ty;
    let outcome = part.and_then(|part| {
        if part == ty { Ok(()) } else { Err("expected the part named as the result".into()) }
    });
    cx.rule(inst, outcome);
}

fn check_atomic(cx: &mut Context<'_>, inst: InstId, op: AtomicOp, operands: &[TypeId]) {
    let args = cx.function.args(inst);
    let first_value = args.len() - op.value_count();
    if first_value == 0 || !cx.need_values(inst, 1) {
        return;
    }
    let mut indices = cx.indices(inst, 1..first_value);
    let mut base = operands[0];
    match cx.kind(args[0]) {
        Kind::Lvalue => {
            let root = cx.function.base_of(args[0]);
            let root = cx.function.def_inst(root).map(|i| cx.function.op(i));
            if root == Some(Op::Alloca(Space::Local)) {
                cx.inst_error(9, inst, "the memory is of one thread only");
                return;
            }
        }
        Kind::Resource if !indices.is_empty() => {
            let (index, _) = indices.remove(0);
            match cx.types.kind(base) {
                TypeKind::Buffer { elem, .. }
                    if cx.types.is_integer(index) && cx.types.is_scalar(index) =>
                {
                    base = *elem;
                }
                _ => return cx.inst_error(8, inst, "expected a buffer and an integer index"),
            }
        }
        _ => return cx.inst_error(9, inst, "expected shared memory, or a buffer and an index"),
    }
    let part = match typing::walk(base, indices, cx.types) {
        Ok(part) => part,
        Err(message) => return cx.inst_error(8, inst, message),
    };
    let integer = cx.types.is_scalar(part) && cx.types.is_integer(part);
    let float = cx.types.is_scalar(part) && cx.types.is_float(part);
    let fits = match op {
        AtomicOp::FetchAnd | AtomicOp::FetchOr | AtomicOp::FetchXor => integer,
        _ => integer || float,
    };
    cx.expect(inst, fits, "an integer, or for arithmetic and exchange a float, in memory");
    let same =
        operands[first_value..].iter().all(|&o| o == part) && cx.function.inst(inst).ty == part;
    cx.expect(inst, same, "values and a result of the type in memory");
}

fn check_query_read(cx: &mut Context<'_>, inst: InstId, op: RayQueryReadOp, query: TypeId) {
    if !cx.need(inst, 0, Kind::Lvalue) {
        return;
    }
    let ty = cx.function.inst(inst).ty;
    let fits = match op {
        RayQueryReadOp::IsTriangleCandidate
        | RayQueryReadOp::IsProceduralCandidate
        | RayQueryReadOp::IsTerminated => ty == TypeId::BOOL,
        _ => cx.types.is_struct(ty),
    };
    cx.expect(
        inst,
        cx.types.is_ray_query(query) && fits,
        "a ray query, and a record of it or a `bool`",
    );
}

fn check_query_write(cx: &mut Context<'_>, inst: InstId, op: RayQueryWriteOp, operands: &[TypeId]) {
    if cx.need(inst, 0, Kind::Lvalue) && cx.need_values(inst, 1) {
        cx.expect(inst, cx.types.is_ray_query(operands[0]), "a ray query");
        if op == RayQueryWriteOp::CommitProcedural {
            cx.expect(inst, operands[1] == TypeId::F32, "a `f32` distance");
        }
    }
}

/// The variable of an intrinsic is an lvalue before promotion to values and a value after it.
fn check_autodiff(cx: &mut Context<'_>, inst: InstId, op: AutodiffOp, operands: &[TypeId]) {
    let args = cx.function.args(inst);
    if args.first().is_some_and(|&a| cx.kind(a) == Kind::Resource) {
        cx.inst_error(9, inst, "operand 0 is a resource");
        return;
    }
    let ty = cx.function.inst(inst).ty;
    match op {
        AutodiffOp::Detach => {
            cx.need(inst, 0, Kind::Value);
            cx.expect(inst, operands[0] == ty, "a value of the result's type");
        }
        AutodiffOp::Gradient => cx.expect(inst, operands[0] == ty, "a value of the result's type"),
        AutodiffOp::GradientMarker | AutodiffOp::AccumulateGradient => {
            cx.need(inst, 1, Kind::Value);
            cx.expect(inst, operands[0] == operands[1], "operands of one type");
        }
        AutodiffOp::RequiresGradient | AutodiffOp::Backward => {}
    }
}

fn check_call(cx: &mut Context<'_>, inst: InstId, operands: &[TypeId]) {
    let data = cx.function.inst(inst);
    if data.op == Op::RayQueryPipeline && cx.need(inst, 0, Kind::Lvalue) {
        cx.expect(inst, cx.types.is_ray_query(operands[0]), "a ray query");
    }
    for callee in data.imm.functions() {
        check_callee(cx, inst, callee, operands);
    }
}

/// A function that an instruction calls, or names as a handler, takes its operands and returns its result.
fn check_callee(cx: &mut Context<'_>, inst: InstId, callee: FunctionId, operands: &[TypeId]) {
    let data = cx.function.inst(inst);
    let Some(callee) = cx.module.functions.get(callee) else { return };
    if callee.is_kernel() {
        cx.inst_error(18, inst, "a kernel cannot be called");
    }
    if callee.return_type != data.ty {
        cx.inst_error(18, inst, "the result has not the return type of the callee");
    }
    if callee.arguments.len() != operands.len() {
        let (found, wanted) = (operands.len(), callee.arguments.len());
        cx.inst_error(18, inst, format!("{found} arguments, but the callee has {wanted}"));
        return;
    }
    for (i, (formal, &actual)) in callee.arguments.iter().zip(cx.function.args(inst)).enumerate() {
        let wanted = match formal.kind {
            ArgumentKind::Value => Kind::Value,
            ArgumentKind::Reference => Kind::Lvalue,
            ArgumentKind::Resource => Kind::Resource,
        };
        let found = cx.kind(actual);
        if found != wanted {
            let message = format!("argument {i} is {}, not {}", found.name(), wanted.name());
            cx.inst_error(18, inst, message);
        } else if formal.ty != operands[i] {
            cx.inst_error(18, inst, format!("argument {i} has not the type of the parameter"));
        }
    }
}

fn check_return(cx: &mut Context<'_>, inst: InstId, operands: &[TypeId]) {
    let wanted = cx.function.return_type;
    let found = operands.first().copied().unwrap_or(TypeId::VOID);
    if found != wanted {
        cx.inst_error(21, inst, "the value returned has not the return type");
    } else if !operands.is_empty() {
        cx.need(inst, 0, Kind::Value);
    }
}
