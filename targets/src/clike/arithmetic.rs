//! Arithmetic and conversions. Edge cases are the business of passes before: what comes here is what the operators do.

use luisac_ast::types::{Scalar, TypeId};
use luisac_xir::InstId;
use luisac_xir::op::{ArithmeticOp as A, CastOp};

use super::Emit;
use super::control::{choice, may_choose};
use super::expr::{Expr, Prec};
use super::function::{FnEmit, internal};
use super::language::{Language, unsigned};

impl FnEmit<'_, '_> {
    /// An arithmetic instruction.
    pub fn arithmetic(&mut self, inst: InstId, op: A) -> Emit<()> {
        match op {
            A::Extract => return self.extract(inst),
            A::Insert => return self.insert(inst),
            A::Aggregate => return self.aggregate(inst),
            A::Shuffle => return self.shuffle(inst),
            A::Select => return self.select(inst),
            _ => {}
        }
        let args = self.func.args(inst).to_vec();
        let Some(&first) = args.first() else {
            return Err(internal("an operation without operands"));
        };
        let ty = self.func.value_type(first);
        let result = self.func.inst(inst).ty;
        let operands = self.values(&args)?;
        let scalar = self.cx.types.scalar_of(ty).unwrap_or(Scalar::U32);
        let text = match (op, operands.as_slice()) {
            (A::UnaryMinus, [a]) => self.negate(scalar, ty, a),
            (A::UnaryBitNot, [a]) if scalar == Scalar::Bool => a.not(),
            (A::UnaryBitNot, [a]) => self.narrowed(scalar, ty, Expr::unary("~", a)),
            (_, [a, b]) => match binary(op) {
                Some((symbol, prec)) => self.binary(op, symbol, prec, scalar, ty, a, b),
                None => return self.function(inst, op, scalar, ty, &operands),
            },
            _ => return self.function(inst, op, scalar, ty, &operands),
        };
        let _ = result;
        self.define(inst, text)
    }

    fn negate(&mut self, scalar: Scalar, ty: TypeId, a: &Expr) -> Expr {
        if scalar.is_float() {
            return Expr { rounds: a.rounds, ..Expr::unary("-", a) };
        }
        let wide = self.as_unsigned(scalar, ty, a);
        let made = Expr::unary("-", &wide);
        self.wrapped(scalar, ty, made)
    }

    #[allow(clippy::too_many_arguments, reason = "an operator and its operands")]
    fn binary(
        &mut self,
        op: A,
        symbol: &str,
        prec: Prec,
        scalar: Scalar,
        ty: TypeId,
        a: &Expr,
        b: &Expr,
    ) -> Expr {
        match op {
            A::BinaryAdd | A::BinarySub | A::BinaryMul if scalar.is_int() => {
                // Signed overflow is undefined in both languages.
                let (a, b) = (self.as_unsigned(scalar, ty, a), self.as_unsigned(scalar, ty, b));
                self.wrapped(scalar, ty, Expr::binary(symbol, prec, &a, &b))
            }
            A::BinaryAdd | A::BinarySub | A::BinaryMul | A::BinaryDiv if scalar.is_float() => {
                Expr { rounds: true, ..Expr::binary(symbol, prec, a, b) }
            }
            A::BinaryDiv | A::BinaryMod => {
                let made = Expr::binary(symbol, prec, a, b);
                self.narrowed(scalar, ty, made)
            }
            A::BinaryBitAnd | A::BinaryBitOr | A::BinaryBitXor if scalar == Scalar::Bool => {
                self.logic(op, ty, a, b)
            }
            A::BinaryBitAnd | A::BinaryBitOr | A::BinaryBitXor => {
                let made = Expr::binary(symbol, prec, a, b);
                self.promoted(scalar, ty, made)
            }
            A::BinaryShiftLeft => {
                let a = self.as_unsigned(scalar, ty, a);
                self.wrapped(scalar, ty, Expr::binary(symbol, prec, &a, b))
            }
            A::BinaryShiftRight => {
                let made = Expr::binary(symbol, prec, a, b);
                self.promoted(scalar, ty, made)
            }
            _ => Expr::binary(symbol, prec, a, b),
        }
    }

    /// Operations on truth values. Both operands are free of effects, so it does not matter whether the second is evaluated.
    fn logic(&mut self, op: A, ty: TypeId, a: &Expr, b: &Expr) -> Expr {
        let is_vector = self.cx.types.is_vector(ty) && self.cx.language == Language::Hlsl;
        match op {
            A::BinaryBitXor => Expr::binary("!=", Prec::Equality, a, b),
            A::BinaryBitAnd if is_vector => Expr::call("and", &[a.clone(), b.clone()]),
            A::BinaryBitOr if is_vector => Expr::call("or", &[a.clone(), b.clone()]),
            A::BinaryBitAnd => Expr::binary("&&", Prec::LogicalAnd, a, b),
            _ => Expr::binary("||", Prec::LogicalOr, a, b),
        }
    }

    /// An integer as an unsigned one that wraps.
    pub fn as_unsigned(&self, scalar: Scalar, ty: TypeId, a: &Expr) -> Expr {
        let language = self.cx.language;
        // Sums of small integers are computed in 32 bits.
        let dim = if self.cx.types.is_vector(ty) { self.cx.types.dim(ty) } else { 1 };
        let wide = match (language, scalar.size()) {
            (Language::Msl, 1 | 2) if dim == 1 => Scalar::U32,
            (Language::Hlsl, 1) => Scalar::U32,
            _ => unsigned(scalar),
        };
        if let Some(inner) = &a.unsigned {
            return (**inner).clone();
        }
        if wide == scalar || (language.is_widened(scalar) && scalar == Scalar::U8) {
            return a.clone();
        }
        if scalar == Scalar::I32
            && dim == 1
            && !a.text.is_empty()
            && a.text.bytes().all(|b| b.is_ascii_digit())
        {
            return Expr { text: format!("{}u", a.text), ..a.clone() };
        }
        Expr::call(&language.vector(wide, dim), std::slice::from_ref(a))
    }

    /// Back from [`Self::as_unsigned`].
    pub fn wrapped(&self, scalar: Scalar, ty: TypeId, a: Expr) -> Expr {
        if self.cx.language.is_widened(scalar) {
            return self.narrowed(scalar, ty, a);
        }
        let dim = if self.cx.types.is_vector(ty) { self.cx.types.dim(ty) } else { 1 };
        let is_small = self.cx.language == Language::Msl && scalar.size() < 4 && dim == 1;
        if scalar.is_signed() || is_small {
            let inner = Some(Box::new(a.clone()));
            let made = Expr::call(&self.cx.language.vector(scalar, dim), &[a]);
            return Expr { unsigned: inner.filter(|i| i.is_short()), ..made };
        }
        a
    }

    /// Brings a result back into the range of its type: one that is kept in a wider register, or that the language promotes.
    pub fn narrowed(&self, scalar: Scalar, ty: TypeId, a: Expr) -> Expr {
        let dim = if self.cx.types.is_vector(ty) { self.cx.types.dim(ty) } else { 1 };
        if self.cx.language.is_widened(scalar) {
            let mask = Expr::atom("0xffu");
            let shift = Expr::atom("24");
            if scalar == Scalar::U8 {
                return Expr::binary("&", Prec::BitAnd, &a, &mask);
            }
            let wide = Expr::call(&self.cx.language.vector(Scalar::I32, dim), &[a]);
            let up = Expr::binary("<<", Prec::Shift, &wide, &shift);
            return Expr::binary(">>", Prec::Shift, &up, &shift);
        }
        self.promoted(scalar, ty, a)
    }

    /// MSL promotes small integers to `int`.
    fn promoted(&self, scalar: Scalar, ty: TypeId, a: Expr) -> Expr {
        let is_small = self.cx.language == Language::Msl
            && scalar.is_int()
            && scalar.size() < 4
            && self.cx.types.is_scalar(ty);
        if is_small { Expr::call(self.cx.language.scalar(scalar), &[a]) } else { a }
    }

    fn select(&mut self, inst: InstId) -> Emit<()> {
        let args = self.func.args(inst).to_vec();
        let &[no, yes, condition] = args.as_slice() else {
            return Err(internal("a select without three operands"));
        };
        let ty = self.func.inst(inst).ty;
        let by_component = self.cx.types.is_vector(self.func.value_type(condition));
        let (no, yes) = (self.value(no)?, self.value(yes)?);
        let condition = self.value(condition)?;
        if by_component {
            let list = match self.cx.language {
                Language::Hlsl => [condition, yes, no],
                Language::Msl => [no, yes, condition],
            };
            return self.define(inst, Expr::call("select", &list));
        }
        if may_choose(self, ty) {
            return self.define(inst, choice(&condition, &yes, &no));
        }
        let Some(result) = self.func.result(inst) else { return Ok(()) };
        let condition = self.named(TypeId::BOOL, condition)?;
        let yes = self.named(ty, yes)?;
        let name = self.declare_value(result, &no)?;
        self.lines.open(format!("if ({}) {{", condition.text));
        self.lines.push(format!("{name} = {};", yes.text));
        self.lines.close("}");
        Ok(())
    }

    /// What is a function in the language.
    fn function(
        &mut self,
        inst: InstId,
        op: A,
        scalar: Scalar,
        ty: TypeId,
        args: &[Expr],
    ) -> Emit<()> {
        if self.cx.language == Language::Hlsl
            && scalar == Scalar::U32
            && let (A::Clz | A::Ctz, [word]) = (op, args)
        {
            // Of a word that is not zero: HLSL gives the place of a bit.
            let place = if op == A::Clz { "firstbithigh" } else { "firstbitlow" };
            let place = Expr::call(place, std::slice::from_ref(word));
            let made = match op {
                A::Clz => Expr::binary("-", Prec::Add, &Expr::atom("31u"), &place),
                _ => place,
            };
            return self.define(inst, made);
        }
        if (op, scalar, self.cx.language) == (A::Sqrt, Scalar::F64, Language::Hlsl) {
            let name = super::hlsl::sqrt_of_doubles(self.cx, self.func.inst(inst).ty);
            return self.define(inst, Expr::call(name, args));
        }
        let Some(name) = self.function_name(op, scalar) else {
            return Err(self.refused(luisac_xir::Op::Arithmetic(op)));
        };
        let mut made = Expr::call(name, args);
        made.rounds = scalar.is_float();
        if op == A::Abs && scalar.is_int() {
            if !scalar.is_signed() {
                return self.define(inst, args[0].clone());
            }
            made = self.narrowed(scalar, ty, made);
        }
        if self.cx.language == Language::Msl && scalar.is_int() {
            let result = self.func.inst(inst).ty;
            made = self.promoted(scalar, result, made);
        }
        self.define(inst, made)
    }

    fn function_name(&self, op: A, scalar: Scalar) -> Option<&'static str> {
        let (hlsl, msl) = match op {
            A::Abs if scalar.is_float() => ("abs", "fabs"),
            A::Abs => ("abs", "abs"),
            A::Round => ("", "round"),
            A::Copysign => ("", "copysign"),
            A::Min if scalar.is_float() => ("min", "fmin"),
            A::Max if scalar.is_float() => ("max", "fmax"),
            A::Min => ("min", "min"),
            A::Max => ("max", "max"),
            A::Clamp => ("clamp", "clamp"),
            A::Saturate => ("saturate", "saturate"),
            A::All => ("all", "all"),
            A::Any => ("any", "any"),
            A::Popcount => ("countbits", "popcount"),
            A::Reverse => ("reversebits", "reverse_bits"),
            A::Clz => ("", "clz"),
            A::Ctz => ("", "ctz"),
            A::Floor => ("floor", "floor"),
            A::Ceil => ("ceil", "ceil"),
            A::Trunc => ("trunc", "trunc"),
            A::Rint => ("round", "rint"),
            A::Sqrt => ("sqrt", "sqrt"),
            A::Rsqrt => ("rsqrt", "rsqrt"),
            A::Fma if scalar == Scalar::F64 || self.cx.language == Language::Msl => ("fma", "fma"),
            A::Dot => ("dot", "dot"),
            A::Cross => ("cross", "cross"),
            A::Length => ("length", "length"),
            A::Normalize => ("normalize", "normalize"),
            A::Sin => ("sin", "sin"),
            A::Cos => ("cos", "cos"),
            A::Tan => ("tan", "tan"),
            A::Asin => ("asin", "asin"),
            A::Acos => ("acos", "acos"),
            A::Atan => ("atan", "atan"),
            A::Exp => ("exp", "exp"),
            A::Exp2 => ("exp2", "exp2"),
            A::Log => ("log", "log"),
            A::Log2 => ("log2", "log2"),
            _ => return None,
        };
        // Other functions of HLSL take no doubles: they would silently be made floats.
        let of_doubles = matches!(
            op,
            A::Abs | A::Min | A::Max | A::Clamp | A::Saturate | A::Fma | A::All | A::Any
        );
        if self.cx.language == Language::Hlsl && scalar == Scalar::F64 && !of_doubles {
            return None;
        }
        let name = if self.cx.language == Language::Hlsl { hlsl } else { msl };
        (!name.is_empty()).then_some(name)
    }

    // ---- conversions

    /// A cast.
    pub fn cast(&mut self, inst: InstId, op: CastOp) -> Emit<()> {
        let arg = self.func.arg(inst, 0);
        let (from_ty, to_ty) = (self.func.value_type(arg), self.func.inst(inst).ty);
        let value = self.value(arg)?;
        let types = self.cx.types;
        let scalars = (types.scalar_of(from_ty), types.scalar_of(to_ty));
        let (Some(from), Some(to)) = scalars else { return Err(internal("a cast of no number")) };
        let text = match op {
            CastOp::Static => self.converted(value, from, to, to_ty),
            CastOp::Bitwise => self.reinterpreted(value, from_ty, to_ty)?,
        };
        self.define(inst, text)
    }

    fn converted(&mut self, value: Expr, from: Scalar, to: Scalar, to_ty: TypeId) -> Expr {
        if from == to {
            return value;
        }
        let language = self.cx.language;
        let dim = if self.cx.types.is_vector(to_ty) { self.cx.types.dim(to_ty) } else { 1 };
        if to == Scalar::Bool {
            let zero = self.cx.zero(TypeId::scalar(from));
            return Expr::binary("!=", Prec::Equality, &value, &zero);
        }
        let name = language.vector(to, dim);
        if to == Scalar::F16 && from.is_int() && from.size() > 1 {
            // Through `float`, which is exact up to where halves end; what is larger would be left open.
            let single = Expr::call(&language.vector(Scalar::F32, dim), &[value]);
            return Expr::call(&name, &[single]);
        }
        if !language.is_widened(to) {
            return match language.scalar(from) == language.scalar(to) {
                true => value,
                false => Expr::call(&name, &[value]),
            };
        }
        // Into a register that is wider than the type.
        let fits = from == Scalar::Bool || from.is_float();
        let wide =
            if from.is_float() || from.size() > 4 || language.scalar(from) != language.scalar(to) {
                Expr::call(&name, &[value])
            } else {
                value
            };
        if fits { wide } else { self.narrowed(to, to_ty, wide) }
    }

    fn reinterpreted(&mut self, value: Expr, from_ty: TypeId, to_ty: TypeId) -> Emit<Expr> {
        if from_ty == to_ty {
            return Ok(value);
        }
        match self.cx.language {
            Language::Msl => {
                let name = self.cx.type_name(to_ty);
                Ok(Expr::call(&format!("as_type<{name}>"), &[value]))
            }
            Language::Hlsl => super::hlsl::reinterpret(self, value, from_ty, to_ty),
        }
    }
}

/// The operator of a binary operation.
fn binary(op: A) -> Option<(&'static str, Prec)> {
    Some(match op {
        A::BinaryAdd => ("+", Prec::Add),
        A::BinarySub => ("-", Prec::Add),
        A::BinaryMul => ("*", Prec::Multiply),
        A::BinaryDiv => ("/", Prec::Multiply),
        A::BinaryMod => ("%", Prec::Multiply),
        A::BinaryBitAnd => ("&", Prec::BitAnd),
        A::BinaryBitOr => ("|", Prec::BitOr),
        A::BinaryBitXor => ("^", Prec::BitXor),
        A::BinaryShiftLeft => ("<<", Prec::Shift),
        A::BinaryShiftRight => (">>", Prec::Shift),
        A::BinaryLess => ("<", Prec::Relation),
        A::BinaryGreater => (">", Prec::Relation),
        A::BinaryLessEqual => ("<=", Prec::Relation),
        A::BinaryGreaterEqual => (">=", Prec::Relation),
        A::BinaryEqual => ("==", Prec::Equality),
        A::BinaryNotEqual => ("!=", Prec::Equality),
        _ => return None,
    })
}
