//! Local identities.
//!
//! What: replaces an operation by one of its operands, a constant, or a cheaper operation where an identity says so, on scalars
//! and vectors. The identities are by kind of operand: [`integer`], [`float`], [`boolean`], casts ([`casts`]) and operations
//! that move elements ([`movement`]).
//! Why right: integers wrap, so their identities hold everywhere (division by zero gives the dividend). On floats only those
//! that keep every bit are used: x * 1, x / 1, x - (+0), x + (-0), -(-x), division by a power of two. `x + 0` would turn -0
//! into +0, and pow(2, x) is computed in another way than exp2(x): both wait for `--math fast`. NaN and infinity are never
//! assumed away. The test `tests/identities.rs` tries every identity on all operands of 8 and 16 bits.
//! Cost: linear. Source: `passes.md` sections 2.2 and 3.1.

mod boolean;
mod casts;
mod float;
mod integer;
mod movement;

use super::lanes::{self, Lanes};
use super::util;
use crate::manager::declaration::{
    Analysis, Declaration, FunctionCx, FunctionPass, Refusal, counters, options,
};
use luisac_ast::types::{Scalar, TypeId, TypeTable};
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::op::{ArithmeticOp, CastOp};
use luisac_xir::{Builder, Function, InstId, Op, ValueId};

counters! {
    /// What `algebraic_simplify` did.
    Info {
        change simplified_inst_count "instructions replaced";
    }
}

options! {
    /// Which identities hold.
    Options {
        fast_math: bool = false, "use identities that `--math fast` allows";
    }
}

/// The pass.
pub struct AlgebraicSimplify;

impl FunctionPass for AlgebraicSimplify {
    const DECLARATION: Declaration = Declaration {
        preserves: &[Analysis::Cfg, Analysis::Dominators, Analysis::CallGraph],
        ..Declaration::new(
            "algebraic_simplify",
            "uses identities of arithmetic",
            "Replaces x * 1, x - x, x & 0, casts that undo each other and the like by what they are, and divisions by powers of \
             two by cheaper operations. On floats only identities that keep every bit, more under `fast_math`.",
        )
    };
    type Options = Options;
    type Info = Info;

    fn run(cx: &mut FunctionCx<'_>, options: &Options) -> Result<Info, Refusal> {
        let mut info = Info::default();
        let cfg = ControlFlowGraph::compute(cx.func);
        for &block in cfg.reverse_post_order() {
            let mut next = cx.func.first_inst(block);
            while let Some(inst) = next {
                next = cx.func.next_inst(inst);
                let Some(change) = simplify(cx.func, cx.types, options, inst) else { continue };
                if !cx.fuel() {
                    return Ok(info);
                }
                let value = change.apply(cx.func, cx.types, inst);
                util::replace_and_remove(cx.func, inst, value);
                info.simplified_inst_count += 1;
            }
        }
        Ok(info)
    }
}

/// What an instruction becomes.
enum Change {
    Value(ValueId),
    Zero,
    /// Every component is this truth value.
    Bool(bool),
    /// An operation of the same type on values that there are.
    Op(ArithmeticOp, Vec<ValueId>),
    /// An operation on a value and a constant of its type.
    WithConstant(ArithmeticOp, ValueId, Lanes),
    /// A cast of a value.
    Cast(CastOp, ValueId),
}

impl Change {
    fn apply(self, func: &mut Function, types: &TypeTable, inst: InstId) -> ValueId {
        let ty = func.inst(inst).ty;
        match self {
            Change::Value(value) => value,
            Change::Zero | Change::Bool(false) => func.zero(ty, types),
            Change::Bool(true) => {
                let mut bytes = vec![0; types.size(ty) as usize];
                bytes[..types.dim(ty) as usize].fill(1);
                func.constant(ty, bytes)
            }
            Change::Op(op, args) => {
                Builder::before(func, types, inst).value(Op::Arithmetic(op), ty, &args)
            }
            Change::WithConstant(op, value, lanes) => {
                let of = func.value_type(value);
                let constant = lanes::to_constant(func, types, of, &lanes);
                let args: Vec<ValueId> = [value].into_iter().chain(constant).collect();
                Builder::before(func, types, inst).value(Op::Arithmetic(op), ty, &args)
            }
            Change::Cast(op, value) => {
                Builder::before(func, types, inst).value(Op::Cast(op), ty, &[value])
            }
        }
    }
}

fn simplify(func: &Function, types: &TypeTable, options: &Options, inst: InstId) -> Option<Change> {
    let site = Site { func, types, fast: options.fast_math };
    let op = match func.op(inst) {
        Op::Arithmetic(op) => op,
        Op::Cast(op) => return casts::simplify(&site, inst, op),
        _ => return None,
    };
    if let Some(change) = movement::simplify(&site, inst, op) {
        return Some(change);
    }
    let args = func.args(inst);
    let ty = func.value_type(*args.first()?);
    let scalar = types.scalar_of(ty).filter(|_| types.is_scalar_or_vector(ty));
    match (args, scalar) {
        (&[no, yes, condition], _) if op == ArithmeticOp::Select => {
            boolean::select(&site, no, yes, condition)
        }
        (&[a], Some(scalar)) => unary(&site, op, a, scalar),
        (&[a, b], Some(scalar)) => match scalar {
            Scalar::Bool => boolean::binary(&site, op, a, b),
            s if s.is_int() => integer::binary(&site, op, a, b, s),
            _ => float::binary(&site, op, a, b, scalar),
        },
        (&[a, b, c], Some(s)) if s.is_int() => integer::ternary(&site, op, [a, b, c], s),
        (&[a, b, c], Some(s)) if s.is_float() => float::ternary(&site, op, [a, b, c], s),
        _ => None,
    }
}

fn unary(site: &Site<'_>, op: ArithmeticOp, a: ValueId, scalar: Scalar) -> Option<Change> {
    use ArithmeticOp::*;
    match (op, site.def(a)) {
        // Bit operations, also on NaN; integers wrap.
        (UnaryMinus | UnaryBitNot | Reverse, Some((same, args))) if same == op => {
            Some(Change::Value(args[0]))
        }
        (UnaryBitNot, Some((inner, &[x, y]))) => boolean::negated(site, inner, x, y),
        (UnaryMinus, Some((BinarySub, &[x, y]))) if scalar.is_int() => {
            Some(Change::Op(BinarySub, vec![y, x]))
        }
        (Abs, _) if scalar.is_int() && !scalar.is_signed() => Some(Change::Value(a)),
        (Abs, Some((Abs, _))) => Some(Change::Value(a)),
        (Abs, Some((UnaryMinus, args))) => Some(Change::Op(Abs, vec![args[0]])),
        _ => None,
    }
}

/// Where identities are looked for.
struct Site<'a> {
    func: &'a Function,
    types: &'a TypeTable,
    fast: bool,
}

impl<'a> Site<'a> {
    /// The arithmetic operation that makes a value, with its operands.
    fn def(&self, value: ValueId) -> Option<(ArithmeticOp, &'a [ValueId])> {
        let inst = self.func.def_inst(value)?;
        match self.func.op(inst) {
            Op::Arithmetic(op) => Some((op, self.func.args(inst))),
            _ => None,
        }
    }

    /// The operand of this unary operation that makes a value.
    fn operand_of(&self, op: ArithmeticOp, value: ValueId) -> Option<ValueId> {
        match self.def(value) {
            Some((found, &[operand])) if found == op => Some(operand),
            _ => None,
        }
    }

    /// Both operands of this operation that makes a value.
    fn operands_of(&self, op: ArithmeticOp, value: ValueId) -> Option<[ValueId; 2]> {
        match self.def(value) {
            Some((found, &[a, b])) if found == op => Some([a, b]),
            _ => None,
        }
    }

    fn ty(&self, value: ValueId) -> TypeId {
        self.func.value_type(value)
    }

    fn lanes(&self, value: ValueId) -> Option<Lanes> {
        lanes::of_constant(self.func, self.types, value)
    }

    /// The bits that all components of a constant scalar or vector have.
    fn splat(&self, value: ValueId) -> Option<u64> {
        let lanes = self.lanes(value)?;
        let dim = usize::from(self.types.dim(self.ty(value)));
        lanes[1..dim].iter().all(|&l| l == lanes[0]).then_some(lanes[0])
    }

    /// The lanes of a constant after a function that may decline one; those above the dimension stay zero.
    fn map_lanes(&self, value: ValueId, f: impl Fn(u64) -> Option<u64>) -> Option<Lanes> {
        let mut lanes = self.lanes(value)?;
        for lane in &mut lanes[..usize::from(self.types.dim(self.ty(value)))] {
            *lane = f(*lane)?;
        }
        Some(lanes)
    }

    /// Whether a value is a constant whose components all have these bits.
    fn is(&self, value: ValueId, bits: Option<u64>) -> bool {
        bits.is_some() && self.splat(value) == bits
    }
}
