//! Local identities.
//!
//! What: replaces an operation by one of its operands or a constant where an identity says so, on scalars and vectors.
//! Why right: integers wrap, so their identities hold everywhere (division by zero gives the dividend). On floats only those
//! that keep every bit are used: x * 1, x / 1, x - (+0), -(-x). `x + 0` would turn -0 into +0, and pow(2, x) is computed in
//! another way than exp2(x): both wait for `--math fast`. NaN and infinity are never assumed away.
//! Cost: linear. Source: `passes.md` sections 2.2 and 3.1.

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
            "Replaces x * 1, x - x, x & 0 and the like by what they are. On floats only identities that keep every bit, more \
             under `fast_math`.",
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
                let change = match cx.func.op(inst) {
                    Op::Arithmetic(op) => simplify(cx.func, cx.types, options, inst, op),
                    Op::Cast(op) => simplify_cast(cx.func, inst, op),
                    _ => None,
                };
                let Some(change) = change else { continue };
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
    Op(ArithmeticOp, Vec<ValueId>),
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
        }
    }
}

/// The bits that all components of a constant scalar or vector have.
fn splat(func: &Function, types: &TypeTable, value: ValueId) -> Option<u64> {
    let ty = func.value_type(value);
    let scalar = types.scalar_of(ty).filter(|_| types.is_scalar_or_vector(ty))?;
    let bytes = func.constant_bytes(value)?.as_slice();
    let (size, dim) = (scalar.size() as usize, types.dim(ty) as usize);
    let mut components = bytes.chunks(size).take(dim);
    let first = components.next()?;
    if !components.all(|c| c == first) {
        return None;
    }
    let mut bits = [0; 8];
    bits[..size].copy_from_slice(first);
    Some(u64::from_le_bytes(bits))
}

/// The bits of a small whole number of a type.
fn number(scalar: Scalar, value: u8) -> Option<u64> {
    Some(match scalar {
        Scalar::F16 => match value {
            0 => 0,
            1 => 0x3c00,
            2 => 0x4000,
            10 => 0x4900,
            _ => return None,
        },
        Scalar::F32 => f32::from(value).to_bits().into(),
        Scalar::F64 => f64::from(value).to_bits(),
        s if s.is_int() => value.into(),
        _ => return None,
    })
}

fn simplify(
    func: &Function,
    types: &TypeTable,
    options: &Options,
    inst: InstId,
    op: ArithmeticOp,
) -> Option<Change> {
    let args = func.args(inst);
    let ty = func.value_type(*args.first()?);
    let scalar = types.scalar_of(ty).filter(|_| types.is_scalar_or_vector(ty));
    match (args, scalar) {
        (&[a], Some(scalar)) => unary(func, op, a, scalar),
        (&[a, b], Some(scalar)) => {
            let operands = Operands { func, types, a, b, scalar, fast: options.fast_math };
            operands.binary(op)
        }
        (&[no, yes, condition], _) if op == ArithmeticOp::Select => {
            select(func, types, no, yes, condition)
        }
        _ => None,
    }
}

fn unary(func: &Function, op: ArithmeticOp, a: ValueId, scalar: Scalar) -> Option<Change> {
    use ArithmeticOp::*;
    let inner = func.def_inst(a).map(|i| (func.op(i), i));
    match (op, inner) {
        // Both are bit operations, also on NaN; integers wrap.
        (UnaryMinus | UnaryBitNot, Some((Op::Arithmetic(same), i))) if same == op => {
            Some(Change::Value(func.arg(i, 0)))
        }
        (Abs, _) if scalar.is_int() && !scalar.is_signed() => Some(Change::Value(a)),
        _ => None,
    }
}

struct Operands<'a> {
    func: &'a Function,
    types: &'a TypeTable,
    a: ValueId,
    b: ValueId,
    scalar: Scalar,
    fast: bool,
}

impl Operands<'_> {
    fn is(&self, value: ValueId, n: u8) -> bool {
        let bits = splat(self.func, self.types, value);
        bits.is_some() && bits == number(self.scalar, n)
    }

    /// Whether a value, of whatever integer type, is zero.
    fn is_zero_bits(&self, value: ValueId) -> bool {
        splat(self.func, self.types, value) == Some(0)
    }

    fn binary(&self, op: ArithmeticOp) -> Option<Change> {
        match self.scalar {
            Scalar::Bool => self.boolean(op),
            s if s.is_int() => self.integer(op),
            _ => self.float(op),
        }
    }

    fn integer(&self, op: ArithmeticOp) -> Option<Change> {
        use ArithmeticOp::*;
        let (a, b) = (self.a, self.b);
        let (a0, b0) = (self.is(a, 0), self.is(b, 0));
        Some(match op {
            BinaryAdd | BinaryBitOr | BinaryBitXor if b0 => Change::Value(a),
            BinaryAdd | BinaryBitOr | BinaryBitXor if a0 => Change::Value(b),
            BinarySub if b0 => Change::Value(a),
            BinarySub | BinaryBitXor if a == b => Change::Zero,
            BinaryMul | BinaryBitAnd if a0 || b0 => Change::Zero,
            BinaryBitAnd | BinaryBitOr | Min | Max if a == b => Change::Value(a),
            BinaryMul if self.is(b, 1) => Change::Value(a),
            BinaryMul if self.is(a, 1) => Change::Value(b),
            // Division by zero gives the dividend, which is zero too.
            BinaryDiv | BinaryMod if a0 => Change::Zero,
            BinaryDiv if self.is(b, 1) => Change::Value(a),
            BinaryMod if self.is(b, 1) || a == b => Change::Zero,
            BinaryShiftLeft | BinaryShiftRight | BinaryRotateLeft | BinaryRotateRight
                if self.is_zero_bits(b) =>
            {
                Change::Value(a)
            }
            BinaryShiftLeft | BinaryShiftRight if a0 => Change::Zero,
            BinaryEqual | BinaryLessEqual | BinaryGreaterEqual if a == b => Change::Bool(true),
            BinaryNotEqual | BinaryLess | BinaryGreater if a == b => Change::Bool(false),
            _ => return None,
        })
    }

    fn float(&self, op: ArithmeticOp) -> Option<Change> {
        use ArithmeticOp::*;
        let (a, b) = (self.a, self.b);
        Some(match op {
            BinaryMul | BinaryDiv if self.is(b, 1) => Change::Value(a),
            BinaryMul if self.is(a, 1) => Change::Value(b),
            BinarySub if self.is(b, 0) => Change::Value(a),
            BinaryAdd if self.fast && self.is(b, 0) => Change::Value(a),
            BinaryAdd if self.fast && self.is(a, 0) => Change::Value(b),
            Pow if self.fast && self.is(a, 2) => Change::Op(Exp2, vec![b]),
            Pow if self.fast && self.is(a, 10) => Change::Op(Exp10, vec![b]),
            // An ordered comparison with itself only asks for NaN, and stays.
            BinaryLess | BinaryGreater if a == b => Change::Bool(false),
            _ => return None,
        })
    }

    fn boolean(&self, op: ArithmeticOp) -> Option<Change> {
        use ArithmeticOp::*;
        let (a, b) = (self.a, self.b);
        let of = |v| splat(self.func, self.types, v);
        let (constant, other) = match (of(a), of(b)) {
            (_, Some(bits)) => (Some(bits != 0), a),
            (Some(bits), _) => (Some(bits != 0), b),
            _ => (None, a),
        };
        Some(match (op, constant) {
            (BinaryBitAnd, Some(true)) | (BinaryBitOr | BinaryBitXor, Some(false)) => {
                Change::Value(other)
            }
            (BinaryBitAnd, Some(false)) => Change::Bool(false),
            (BinaryBitOr, Some(true)) => Change::Bool(true),
            (BinaryBitXor, Some(true)) => Change::Op(UnaryBitNot, vec![other]),
            (BinaryEqual, Some(true)) | (BinaryNotEqual, Some(false)) => Change::Value(other),
            (BinaryEqual, Some(false)) | (BinaryNotEqual, Some(true)) => {
                Change::Op(UnaryBitNot, vec![other])
            }
            (BinaryBitAnd | BinaryBitOr, None) if a == b => Change::Value(a),
            (BinaryBitXor | BinaryNotEqual, None) if a == b => Change::Bool(false),
            (BinaryEqual, None) if a == b => Change::Bool(true),
            _ => return None,
        })
    }
}

fn select(
    func: &Function,
    types: &TypeTable,
    no: ValueId,
    yes: ValueId,
    condition: ValueId,
) -> Option<Change> {
    if no == yes {
        return Some(Change::Value(no));
    }
    let is_flag = func.value_type(no) == func.value_type(condition);
    let flags = is_flag.then(|| (splat(func, types, no), splat(func, types, yes)));
    match (flags, splat(func, types, condition)) {
        (_, Some(bits)) => Some(Change::Value(if bits == 0 { no } else { yes })),
        (Some((Some(0), Some(1))), _) => Some(Change::Value(condition)),
        (Some((Some(1), Some(0))), _) => {
            Some(Change::Op(ArithmeticOp::UnaryBitNot, vec![condition]))
        }
        _ => None,
    }
}

/// A cast to the type itself, and a bit cast of a bit cast.
fn simplify_cast(func: &Function, inst: InstId, op: CastOp) -> Option<Change> {
    let value = func.arg(inst, 0);
    let ty: TypeId = func.inst(inst).ty;
    if func.value_type(value) == ty {
        return Some(Change::Value(value));
    }
    let inner = func.def_inst(value)?;
    let twice = op == CastOp::Bitwise && func.op(inner) == Op::Cast(CastOp::Bitwise);
    (twice && func.value_type(func.arg(inner, 0)) == ty).then(|| Change::Value(func.arg(inner, 0)))
}
