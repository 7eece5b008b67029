//! What an arithmetic operation adds to the adjoints of its operands, given that of its result (`passes.md` section 7.2).

use super::sweep::{Result, Sweep};
use luisac_ast::types::TypeId;
use luisac_xir::op::ArithmeticOp::{self, *};
use luisac_xir::{InstId, ValueId};
use std::f64::consts::{LN_2, LN_10};

/// An instruction that is being reversed.
pub(super) struct At<'a> {
    pub inst: InstId,
    pub args: &'a [ValueId],
    /// The adjoint of the result.
    pub g: ValueId,
    /// The type of the result.
    pub ty: TypeId,
}

impl Sweep<'_> {
    /// Whether operand `index` has an adjoint.
    pub fn wants(&self, at: &At<'_>, index: usize) -> bool {
        at.args.get(index).is_some_and(|&v| self.activity.has_adjoint(v))
    }

    /// The value of operand `index` in the forward run.
    pub fn arg(&mut self, at: &At<'_>, index: usize) -> Result<ValueId> {
        self.primal(at.args[index])
    }

    /// Operand `index`, in all components if it is a scalar beside vectors.
    fn wide(&mut self, at: &At<'_>, index: usize) -> Result<ValueId> {
        let value = self.arg(at, index)?;
        Ok(self.broadcast(value, at.ty))
    }

    /// The value of the result in the forward run.
    pub fn out(&mut self, at: &At<'_>) -> Result<ValueId> {
        match self.func.result(at.inst) {
            Some(result) => self.primal(result),
            None => Err(self.no_rule(at.inst)),
        }
    }

    /// Adds to the adjoint of operand `index`.
    pub fn give_arg(&mut self, at: &At<'_>, index: usize, adjoint: ValueId) {
        let adjoint = self.gather(adjoint, self.ty(at.args[index]));
        self.give(at.args[index], adjoint);
    }

    /// Reverses an arithmetic instruction whose result has adjoint `g`.
    ///
    /// # Errors
    /// There is no rule, or the tape is too large.
    pub fn reverse_arithmetic(&mut self, inst: InstId, op: ArithmeticOp, g: ValueId) -> Result<()> {
        let args = self.func.args(inst).to_vec();
        let at = At { inst, args: &args, g, ty: self.func.inst(inst).ty };
        match op {
            UnaryMinus | BinaryAdd | BinarySub | BinaryMul | BinaryDiv | BinaryMod | Fma => {
                self.reverse_basic(&at, op)
            }
            Select | Min | Max | Clamp | Saturate | Abs | Copysign | Faceforward => {
                self.reverse_choice(&at, op)
            }
            Lerp | Smoothstep | Atan2 | Pow | PowInt => self.reverse_blend(&at, op),
            Cross | Dot | Length | LengthSquared | Normalize | Reflect => {
                self.reverse_geometry(&at, op)
            }
            ReduceSum | ReduceProduct | ReduceMin | ReduceMax => self.reverse_reduction(&at, op),
            OuterProduct | MatrixCompNeg | MatrixCompAdd | MatrixCompSub | MatrixCompMul
            | MatrixCompDiv | MatrixLinalgMul | Determinant | Transpose | Inverse => {
                self.reverse_matrix(&at, op)
            }
            Aggregate | Shuffle | Insert | Extract => self.reverse_movement(&at, op),
            _ => {
                let adjoint = self.reverse_function(&at, op)?;
                self.give_arg(&at, 0, adjoint);
                Ok(())
            }
        }
    }

    fn reverse_basic(&mut self, at: &At<'_>, op: ArithmeticOp) -> Result<()> {
        let g = at.g;
        match op {
            UnaryMinus => {
                let negative = self.neg(g);
                self.give_arg(at, 0, negative);
            }
            BinaryAdd | BinarySub => {
                self.give_arg(at, 0, g);
                if self.wants(at, 1) {
                    let second = if op == BinarySub { self.neg(g) } else { g };
                    self.give_arg(at, 1, second);
                }
            }
            BinaryMul | Fma => {
                for (own, other) in [(0, 1), (1, 0)] {
                    if self.wants(at, own) {
                        let factor = self.arg(at, other)?;
                        let adjoint = self.mul(g, factor);
                        self.give_arg(at, own, adjoint);
                    }
                }
                if op == Fma {
                    self.give_arg(at, 2, g);
                }
            }
            BinaryDiv => {
                let b = self.arg(at, 1)?;
                let quotient = self.div(g, b);
                self.give_arg(at, 0, quotient);
                if self.wants(at, 1) {
                    let out = self.out(at)?;
                    let product = self.mul(quotient, out);
                    let adjoint = self.neg(product);
                    self.give_arg(at, 1, adjoint);
                }
            }
            _ => {
                self.give_arg(at, 0, g);
                if self.wants(at, 1) {
                    let (a, b) = (self.arg(at, 0)?, self.arg(at, 1)?);
                    let quotient = self.div(a, b);
                    let whole = self.op(Trunc, &[quotient]);
                    let product = self.mul(g, whole);
                    let adjoint = self.neg(product);
                    self.give_arg(at, 1, adjoint);
                }
            }
        }
        Ok(())
    }

    /// `g` to one operand where the condition holds, to the other elsewhere.
    fn give_either(&mut self, at: &At<'_>, condition: ValueId, yes: usize, no: usize) {
        let zero = self.zero(self.ty(at.g));
        if self.wants(at, yes) {
            let adjoint = self.choose(condition, at.g, zero);
            self.give_arg(at, yes, adjoint);
        }
        if self.wants(at, no) {
            let adjoint = self.choose(condition, zero, at.g);
            self.give_arg(at, no, adjoint);
        }
    }

    fn reverse_choice(&mut self, at: &At<'_>, op: ArithmeticOp) -> Result<()> {
        let g = at.g;
        match op {
            Select => {
                let condition = self.arg(at, 2)?;
                self.give_either(at, condition, 1, 0);
            }
            Min | Max => {
                let (a, b) = (self.arg(at, 0)?, self.arg(at, 1)?);
                let compare = if op == Min { BinaryLess } else { BinaryGreater };
                let first = self.op(compare, &[a, b]);
                self.give_either(at, first, 0, 1);
            }
            Clamp => {
                let (x, low, high) = (self.arg(at, 0)?, self.arg(at, 1)?, self.arg(at, 2)?);
                let above = self.op(BinaryLess, &[low, x]);
                let raised = self.op(Max, &[x, low]);
                let below = self.op(BinaryLess, &[raised, high]);
                let zero = self.zero(at.ty);
                let inner = self.choose(below, g, zero);
                self.give_either(
                    &At { inst: at.inst, args: at.args, g: inner, ty: at.ty },
                    above,
                    0,
                    1,
                );
                if self.wants(at, 2) {
                    let adjoint = self.choose(below, zero, g);
                    self.give_arg(at, 2, adjoint);
                }
            }
            Saturate => {
                let x = self.arg(at, 0)?;
                let (zero, one) = (self.zero(at.ty), self.splat(at.ty, 1.0));
                let positive = self.op(BinaryGreater, &[x, zero]);
                let below = self.op(BinaryLess, &[x, one]);
                let inside = self.op(BinaryBitAnd, &[positive, below]);
                let adjoint = self.choose(inside, g, zero);
                self.give_arg(at, 0, adjoint);
            }
            Faceforward => {
                let (incident, reference) = (self.arg(at, 1)?, self.arg(at, 2)?);
                let product = self.op(Dot, &[reference, incident]);
                let zero = self.zero(self.ty(product));
                let keeps = self.op(BinaryLess, &[product, zero]);
                let negative = self.neg(g);
                let adjoint = self.choose(keeps, g, negative);
                self.give_arg(at, 0, adjoint);
            }
            _ => {
                let x = self.arg(at, 0)?;
                let keeps = if op == Abs {
                    let zero = self.zero(at.ty);
                    self.op(BinaryGreaterEqual, &[x, zero])
                } else {
                    let sign = self.arg(at, 1)?;
                    let one = self.splat(at.ty, 1.0);
                    let (a, b) = (self.op(Copysign, &[one, x]), self.op(Copysign, &[one, sign]));
                    self.op(BinaryEqual, &[a, b])
                };
                let negative = self.neg(g);
                let adjoint = self.choose(keeps, g, negative);
                self.give_arg(at, 0, adjoint);
            }
        }
        Ok(())
    }

    fn reverse_blend(&mut self, at: &At<'_>, op: ArithmeticOp) -> Result<()> {
        let g = at.g;
        match op {
            Lerp => {
                if self.wants(at, 0) || self.wants(at, 1) {
                    let t = self.wide(at, 2)?;
                    let to_second = self.mul(g, t);
                    let to_first = self.sub(g, to_second);
                    self.give_arg(at, 0, to_first);
                    self.give_arg(at, 1, to_second);
                }
                if self.wants(at, 2) {
                    let (a, b) = (self.arg(at, 0)?, self.arg(at, 1)?);
                    let difference = self.sub(b, a);
                    let adjoint = self.mul(g, difference);
                    self.give_arg(at, 2, adjoint);
                }
            }
            Smoothstep => self.reverse_smoothstep(at)?,
            Atan2 => {
                let (y, x) = (self.arg(at, 0)?, self.arg(at, 1)?);
                let (xx, yy) = (self.mul(x, x), self.mul(y, y));
                let square = self.add(xx, yy);
                let scaled = self.div(g, square);
                let to_y = self.mul(scaled, x);
                self.give_arg(at, 0, to_y);
                if self.wants(at, 1) {
                    let product = self.mul(scaled, y);
                    let to_x = self.neg(product);
                    self.give_arg(at, 1, to_x);
                }
            }
            Pow => self.reverse_pow(at)?,
            _ => self.reverse_pow_int(at)?,
        }
        Ok(())
    }

    fn reverse_smoothstep(&mut self, at: &At<'_>) -> Result<()> {
        let (e0, e1, x) = (self.wide(at, 0)?, self.wide(at, 1)?, self.arg(at, 2)?);
        let (width, from_e0, from_e1) = (self.sub(e1, e0), self.sub(x, e0), self.sub(x, e1));
        let ratio = self.div(from_e0, width);
        let t = self.op(Saturate, &[ratio]);
        let one = self.splat(at.ty, 1.0);
        let rest = self.sub(one, t);
        let product = self.mul(t, rest);
        let slope = self.scale(6.0, product);
        let k = self.mul(slope, at.g);
        let to_x = self.div(k, width);
        self.give_arg(at, 2, to_x);
        let over_square = self.div(to_x, width);
        if self.wants(at, 0) {
            let adjoint = self.mul(over_square, from_e1);
            self.give_arg(at, 0, adjoint);
        }
        if self.wants(at, 1) {
            let product = self.mul(over_square, from_e0);
            let adjoint = self.neg(product);
            self.give_arg(at, 1, adjoint);
        }
        Ok(())
    }

    fn reverse_pow(&mut self, at: &At<'_>) -> Result<()> {
        let a = self.arg(at, 0)?;
        if self.wants(at, 0) {
            let b = self.arg(at, 1)?;
            let one = self.splat(at.ty, 1.0);
            let less = self.sub(b, one);
            let power = self.op(Pow, &[a, less]);
            let scaled = self.mul(at.g, b);
            let adjoint = self.mul(scaled, power);
            self.give_arg(at, 0, adjoint);
        }
        if self.wants(at, 1) {
            let out = self.out(at)?;
            let log = self.op(Log, &[a]);
            let product = self.mul(out, log);
            // pow(0, b) is 0 around any positive b, though log(0) is infinite.
            let zero = self.zero(at.ty);
            let is_zero = self.op(BinaryEqual, &[a, zero]);
            let slope = self.choose(is_zero, zero, product);
            let adjoint = self.mul(at.g, slope);
            self.give_arg(at, 1, adjoint);
        }
        Ok(())
    }

    fn reverse_pow_int(&mut self, at: &At<'_>) -> Result<()> {
        let (a, n) = (self.arg(at, 0)?, self.arg(at, 1)?);
        let exponent = self.ty(n);
        let one = match self.types.scalar_of(exponent) {
            Some(scalar) => {
                let one = self.func.scalar_constant(TypeId::scalar(scalar), 1, self.types);
                self.broadcast(one, exponent)
            }
            None => return Err(self.no_rule(at.inst)),
        };
        let less = self.sub(n, one);
        let power = self.op(PowInt, &[a, less]);
        let scalar = self.types.scalar_of(at.ty).ok_or_else(|| self.no_rule(at.inst))?;
        let float = luisac_xir::typing::with_scalar(exponent, scalar, self.types);
        let factor = self.convert(n, float);
        let factor = self.broadcast(factor, at.ty);
        let scaled = self.mul(at.g, factor);
        let adjoint = self.mul(scaled, power);
        // pow(a, 0) is 1, whatever pow(a, -1) is.
        let nothing = self.zero(exponent);
        let is_one = self.op(BinaryEqual, &[n, nothing]);
        let zero = self.zero(at.ty);
        let adjoint = self.choose(is_one, zero, adjoint);
        self.give_arg(at, 0, adjoint);
        Ok(())
    }

    /// Functions of one operand: `g` times the derivative.
    fn reverse_function(&mut self, at: &At<'_>, op: ArithmeticOp) -> Result<ValueId> {
        let (g, ty) = (at.g, at.ty);
        let one = self.splat(ty, 1.0);
        Ok(match op {
            Fract => g,
            Exp | Exp2 | Exp10 => {
                let out = self.out(at)?;
                let product = self.mul(g, out);
                match op {
                    Exp => product,
                    Exp2 => self.scale(LN_2, product),
                    _ => self.scale(LN_10, product),
                }
            }
            Sqrt => {
                let out = self.out(at)?;
                let twice = self.scale(2.0, out);
                self.div(g, twice)
            }
            Tanh => {
                // 1 / cosh² x, which does not overflow like this.
                let out = self.out(at)?;
                let square = self.mul(out, out);
                let slope = self.sub(one, square);
                self.mul(g, slope)
            }
            Log | Log2 | Log10 => {
                let x = self.arg(at, 0)?;
                let ratio = self.div(g, x);
                match op {
                    Log => ratio,
                    Log2 => self.scale(1.0 / LN_2, ratio),
                    _ => self.scale(1.0 / LN_10, ratio),
                }
            }
            Rsqrt => {
                let x = self.arg(at, 0)?;
                let root = self.op(Sqrt, &[x]);
                let product = self.mul(x, root);
                let divisor = self.scale(-2.0, product);
                self.div(g, divisor)
            }
            Sin | Cos | Sinh | Cosh => {
                let x = self.arg(at, 0)?;
                let partner = match op {
                    Sin => Cos,
                    Cos => Sin,
                    Sinh => Cosh,
                    _ => Sinh,
                };
                let slope = self.op(partner, &[x]);
                let product = self.mul(g, slope);
                if op == Cos { self.neg(product) } else { product }
            }
            Tan => {
                let x = self.arg(at, 0)?;
                let cosine = self.op(Cos, &[x]);
                let square = self.mul(cosine, cosine);
                self.div(g, square)
            }
            Asin | Acos | Asinh | Acosh | Atan | Atanh => {
                let x = self.arg(at, 0)?;
                let square = self.mul(x, x);
                let inner = match op {
                    Asin | Acos | Atanh => self.sub(one, square),
                    Acosh => self.sub(square, one),
                    _ => self.add(square, one),
                };
                let divisor =
                    if matches!(op, Atan | Atanh) { inner } else { self.op(Sqrt, &[inner]) };
                let quotient = self.div(g, divisor);
                if op == Acos { self.neg(quotient) } else { quotient }
            }
            _ => return Err(self.no_rule(at.inst)),
        })
    }
}
