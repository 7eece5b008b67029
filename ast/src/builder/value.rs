//! Values and their operators.

use std::fmt;
use std::ops;

use super::error::{self, Built, fault};
use super::operand::Operand;
use super::promote;
use super::recorder::Recorder;
use super::session::{Raw, Session};
use crate::callops::CallOp;
use crate::model::{BinaryOp, CastOp, ExprId, ExprKind, Swizzle, UnaryOp};
use crate::types::{Scalar, TypeId, TypeKind};

/// An expression of a function that is being built.
///
/// It is a tree that a statement evaluates where it is mentioned: `x + 1.0` reads `x` at that moment, and twice if it is
/// mentioned twice. [`FunctionBuilder::var`](super::FunctionBuilder::var) keeps the value of now. What reads or
/// changes more than the function's own variables (buffers, textures, atomics, waves, calls of functions) happens
/// at once, and the value is the local that holds the result.
#[derive(Clone, Copy)]
pub struct Value<'b> {
    pub(super) recorder: Recorder<'b>,
    pub(super) raw: Raw,
    pub(super) ty: TypeId,
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of function {}: {}", self.raw.expr, self.raw.serial, self.ty)
    }
}

impl Session {
    /// The element type of an array, vector or matrix.
    fn element(&self, ty: TypeId) -> Built<TypeId> {
        let types = self.types();
        let ranged = types.is_array(ty) || types.is_vector(ty) || types.is_matrix(ty);
        match types.element_type(ty, 0).filter(|_| ranged) {
            Some(element) => Ok(element),
            None => fault(error::NO_PARTS, format!("a `{}` has no elements", self.name(ty))),
        }
    }

    fn swizzled(&self, ty: TypeId, swizzle: Swizzle) -> Built<TypeId> {
        match *self.types().kind(ty) {
            TypeKind::Vector { elem, .. } => Ok(TypeId::vector(elem, swizzle.size)),
            _ => fault(error::NO_PARTS, format!("a `{}` has no components", self.name(ty))),
        }
    }

    pub(super) fn binary(&mut self, op: BinaryOp, lhs: Raw, rhs: Raw) -> Built<ExprId> {
        let (lhs, rhs) = (self.resolve(lhs)?, self.resolve(rhs)?);
        let (l, r) = (self.ty(lhs)?, self.ty(rhs)?);
        match promote::binary(self.types(), op, l, r) {
            Some(ty) => self.push(ty, ExprKind::Binary { op, lhs, rhs }),
            None => {
                let (l, r) = (self.name(l), self.name(r));
                let message = format!("there is no `{}` of `{l}` and `{r}`", op.name());
                fault(error::PROMOTION, message)
            }
        }
    }

    fn unary(&mut self, op: UnaryOp, operand: Raw) -> Built<ExprId> {
        let operand = self.resolve(operand)?;
        let ty = self.ty(operand)?;
        match promote::unary(self.types(), op, ty) {
            Some(ty) => self.push(ty, ExprKind::Unary { op, operand }),
            None => {
                let message = format!("there is no `{}` of `{}`", op.name(), self.name(ty));
                fault(error::PROMOTION, message)
            }
        }
    }
}

impl<'b> Value<'b> {
    /// Its type; [`TypeId::VOID`] for a call without value, and after a mistake.
    pub fn ty(self) -> TypeId {
        self.ty
    }

    /// Gives the variable that this is a name, for readers of files that keep names.
    #[track_caller]
    pub fn named(self, name: &str) -> Value<'b> {
        self.recorder.value(|s| {
            let expr = s.resolve(self.raw)?;
            let function = &mut s.top()?.function;
            match function.exprs[expr].kind {
                ExprKind::Ref(variable) => {
                    function.variables[variable].name = Some(name.into());
                    Ok(expr)
                }
                _ => fault(error::NO_PARTS, "only variables have names"),
            }
        })
    }

    #[track_caller]
    pub(super) fn binary(self, op: BinaryOp, rhs: impl Operand<'b>) -> Value<'b> {
        let rhs = rhs.into_value(self.recorder);
        self.recorder.value(|s| {
            self.recorder.same(rhs.recorder)?;
            s.binary(op, self.raw, rhs.raw)
        })
    }

    #[track_caller]
    fn unary(self, op: UnaryOp) -> Value<'b> {
        self.recorder.value(|s| s.unary(op, self.raw))
    }

    #[track_caller]
    fn convert(self, op: CastOp, ty: TypeId) -> Value<'b> {
        self.recorder.value(|s| {
            let source = s.resolve(self.raw)?;
            s.push(ty, ExprKind::Cast { op, source })
        })
    }

    /// The value converted: scalar to scalar, scalar to every component, vector to vector of the same length or less.
    #[track_caller]
    pub fn cast(self, ty: TypeId) -> Value<'b> {
        self.convert(CastOp::Static, ty)
    }

    /// The bits as another type of as many bits.
    #[track_caller]
    pub fn bitcast(self, ty: TypeId) -> Value<'b> {
        self.convert(CastOp::Bitwise, ty)
    }

    /// Components of a vector by a text over `xyzw`; one of them is a scalar and can be assigned.
    #[track_caller]
    pub fn swizzle(self, components: &str) -> Value<'b> {
        self.recorder.value(|s| {
            let Some(swizzle) = Swizzle::parse(components) else {
                let message = format!("`{components}` is not one to four of `xyzw`");
                return fault(error::NO_PARTS, message);
            };
            let base = s.resolve(self.raw)?;
            let ty = s.ty(base)?;
            let ty = s.swizzled(ty, swizzle)?;
            s.push(ty, ExprKind::Swizzle { base, swizzle })
        })
    }

    /// The first component.
    #[track_caller]
    pub fn x(self) -> Value<'b> {
        self.swizzle("x")
    }

    /// The second component.
    #[track_caller]
    pub fn y(self) -> Value<'b> {
        self.swizzle("y")
    }

    /// The third component.
    #[track_caller]
    pub fn z(self) -> Value<'b> {
        self.swizzle("z")
    }

    /// The fourth component.
    #[track_caller]
    pub fn w(self) -> Value<'b> {
        self.swizzle("w")
    }

    /// Element of an array, component of a vector, column of a matrix. Can be assigned if the whole can.
    #[track_caller]
    pub fn at(self, index: impl Operand<'b>) -> Value<'b> {
        let index = index.into_value(self.recorder);
        self.recorder.value(|s| {
            self.recorder.same(index.recorder)?;
            let (range, index) = (s.resolve(self.raw)?, s.resolve(index.raw)?);
            let ty = s.ty(range)?;
            let ty = s.element(ty)?;
            s.push(ty, ExprKind::Access { range, index })
        })
    }

    /// Member of a structure. Can be assigned if the structure can.
    #[track_caller]
    pub fn member(self, index: u32) -> Value<'b> {
        self.recorder.value(|s| {
            let base = s.resolve(self.raw)?;
            let ty = s.ty(base)?;
            let types = s.types();
            match types.element_type(ty, index).filter(|_| types.is_struct(ty)) {
                Some(member) => s.push(member, ExprKind::Member { base, index }),
                None => fault(error::NO_PARTS, format!("`{}` has no member {index}", s.name(ty))),
            }
        })
    }

    /// A call of an operation with the value as first argument.
    #[track_caller]
    fn op(self, op: CallOp, others: &[Value<'b>]) -> Value<'b> {
        self.recorder.value(|s| {
            let mut arguments = vec![self.raw];
            for other in others {
                self.recorder.same(other.recorder)?;
                arguments.push(other.raw);
            }
            s.builtin(op, &arguments, None)
        })
    }
}

macro_rules! binary_methods {
    ($($name:ident $op:ident $text:literal;)*) => {
        impl<'b> Value<'b> {
            $(
                #[doc = $text]
                #[track_caller]
                pub fn $name(self, rhs: impl Operand<'b>) -> Value<'b> {
                    self.binary(BinaryOp::$op, rhs)
                }
            )*
        }
    };
}

binary_methods! {
    less Less "`self < rhs`";
    less_equal LessEqual "`self <= rhs`";
    greater Greater "`self > rhs`";
    greater_equal GreaterEqual "`self >= rhs`";
    equal Equal "`self == rhs`";
    not_equal NotEqual "`self != rhs`";
    and And "Both; both are evaluated.";
    or Or "Either; both are evaluated.";
}

macro_rules! op_methods {
    ($($name:ident $op:ident ($($argument:ident)*) $text:literal;)*) => {
        impl<'b> Value<'b> {
            $(
                #[doc = $text]
                #[track_caller]
                pub fn $name(self $(, $argument: impl Operand<'b>)*) -> Value<'b> {
                    $(let $argument = $argument.into_value(self.recorder);)*
                    self.op(CallOp::$op, &[$($argument),*])
                }
            )*
        }
    };
}

op_methods! {
    abs Abs () "Magnitude.";
    min Min (other) "The smaller of two numbers of one type.";
    max Max (other) "The larger of two numbers of one type.";
    clamp Clamp (low high) "`min(max(self, low), high)`";
    saturate Saturate () "Clamped to 0 and 1.";
    lerp Lerp (other t) "`self + t * (other - self)`";
    sqrt Sqrt () "Square root.";
    rsqrt Rsqrt () "1 over the square root.";
    sin Sin () "Sine.";
    cos Cos () "Cosine.";
    tan Tan () "Tangent.";
    asin Asin () "Inverse sine.";
    acos Acos () "Inverse cosine.";
    atan Atan () "Inverse tangent.";
    atan2 Atan2 (x) "Angle of the point with this as y, from the x axis.";
    sinh Sinh () "Hyperbolic sine.";
    cosh Cosh () "Hyperbolic cosine.";
    tanh Tanh () "Hyperbolic tangent.";
    asinh Asinh () "Inverse hyperbolic sine.";
    acosh Acosh () "Inverse hyperbolic cosine.";
    atanh Atanh () "Inverse hyperbolic tangent.";
    exp Exp () "Power of e.";
    exp2 Exp2 () "Power of 2.";
    exp10 Exp10 () "Power of 10.";
    log Log () "Natural logarithm.";
    log2 Log2 () "Logarithm to the base 2.";
    log10 Log10 () "Logarithm to the base 10.";
    pow Pow (exponent) "Power with a float exponent, or an integer one, which is exact.";
    floor Floor () "The next integer below.";
    ceil Ceil () "The next integer above.";
    fract Fract () "`self - floor(self)`";
    trunc Trunc () "Rounded toward zero.";
    round Round () "Rounded, half away from zero.";
    rint Rint () "Rounded, half to even.";
    fma Fma (factor addend) "`self * factor + addend`, rounded once.";
    copysign Copysign (sign) "With the sign of another.";
    is_nan Isnan () "Whether it is NaN.";
    is_inf Isinf () "Whether it is infinite.";
    dot Dot (other) "Dot product.";
    cross Cross (other) "Cross product.";
    length Length () "Euclidean length.";
    normalize Normalize () "Of length 1.";
    reflect Reflect (normal) "Reflected by a plane with a normal of length 1.";
    reduce_sum ReduceSum () "Sum of the components.";
    reduce_product ReduceProduct () "Product of the components.";
    reduce_min ReduceMin () "Smallest component.";
    reduce_max ReduceMax () "Largest component.";
    reverse Reverse () "The bits in reverse.";
    all All () "Whether all components are true.";
    any Any () "Whether some component is true.";
    popcount Popcount () "Number of bits that are 1.";
    clz Clz () "Number of leading bits that are 0.";
    ctz Ctz () "Number of trailing bits that are 0.";
    transpose Transpose () "Transposed matrix.";
    determinant Determinant () "Determinant of a matrix.";
    inverse Inverse () "Inverse matrix.";
}

/// `-self`
impl<'b> ops::Neg for Value<'b> {
    type Output = Value<'b>;
    #[track_caller]
    fn neg(self) -> Value<'b> {
        self.unary(UnaryOp::Minus)
    }
}

impl<'b> Value<'b> {
    /// `+self`
    #[track_caller]
    pub fn plus(self) -> Value<'b> {
        self.unary(UnaryOp::Plus)
    }

    /// Every bit of an integer inverted.
    #[track_caller]
    pub fn bit_not(self) -> Value<'b> {
        self.unary(UnaryOp::BitNot)
    }
}

/// `!` of truth values.
impl<'b> ops::Not for Value<'b> {
    type Output = Value<'b>;
    #[track_caller]
    fn not(self) -> Value<'b> {
        self.unary(UnaryOp::Not)
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident $op:ident;)*) => {
        $(
            impl<'b, R: Operand<'b>> ops::$trait<R> for Value<'b> {
                type Output = Value<'b>;
                #[track_caller]
                fn $method(self, rhs: R) -> Value<'b> {
                    self.binary(BinaryOp::$op, rhs)
                }
            }
            operators!(@left $trait $method $op: i32 u32 i64 u64 f32 f64);
        )*
    };
    (@left $trait:ident $method:ident $op:ident: $($ty:ident)*) => {
        $(
            impl<'b> ops::$trait<Value<'b>> for $ty {
                type Output = Value<'b>;
                #[track_caller]
                fn $method(self, rhs: Value<'b>) -> Value<'b> {
                    self.into_value(rhs.recorder).binary(BinaryOp::$op, rhs)
                }
            }
        )*
    };
}

operators! {
    Add add Add;
    Sub sub Sub;
    Mul mul Mul;
    Div div Div;
    Rem rem Mod;
    BitAnd bitand BitAnd;
    BitOr bitor BitOr;
    BitXor bitxor BitXor;
    Shl shl Shl;
    Shr shr Shr;
}

/// The scalar types that a value can be converted to, by name.
impl<'b> Value<'b> {
    /// Converted to `float`, a vector to one of floats.
    #[track_caller]
    pub fn to_f32(self) -> Value<'b> {
        self.to_scalar(Scalar::F32)
    }

    /// Converted to `int`, a vector to one of ints.
    #[track_caller]
    pub fn to_i32(self) -> Value<'b> {
        self.to_scalar(Scalar::I32)
    }

    /// Converted to `uint`, a vector to one of uints.
    #[track_caller]
    pub fn to_u32(self) -> Value<'b> {
        self.to_scalar(Scalar::U32)
    }

    /// Converted to a scalar, or a vector of it.
    #[track_caller]
    pub fn to_scalar(self, scalar: Scalar) -> Value<'b> {
        self.recorder.value(|s| {
            let source = s.resolve(self.raw)?;
            let ty = s.ty(source)?;
            if !s.types().is_scalar_or_vector(ty) {
                let message = format!("a `{}` cannot be converted", s.name(ty));
                return fault(error::NO_PARTS, message);
            }
            let ty = TypeId::vector(scalar, s.types().dim(ty));
            s.push(ty, ExprKind::Cast { op: CastOp::Static, source })
        })
    }
}
