//! The table of functions: names, arities, and how each is built.

use super::ops::Ops;
use super::value::{F32, F64, Float, Val};
use super::{Native, exp, fast, inverse, log, pow, trig};
use crate::op::ArithmeticOp;
use std::sync::LazyLock;

/// How exact a function is to be.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Accuracy {
    /// Within 2 ulp (single) or 4 ulp (double), everything as in C.
    Precise,
    /// The cheaper forms of `--math fast`, where there are any.
    Fast,
}

macro_rules! functions {
    ($($name:ident $text:literal $arity:tt $path:path;)*) => {
        /// A function of one or two floats of one format.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum Function {
            $(#[doc = concat!("`", $text, "`.")] $name,)*
        }

        impl Function {
            /// All of them.
            pub const ALL: &'static [Function] = &[$(Function::$name),*];

            /// The name in the text form.
            pub const fn name(self) -> &'static str {
                match self { $(Function::$name => $text,)* }
            }

            /// The number of arguments.
            pub const fn arity(self) -> usize {
                match self { $(Function::$name => $arity,)* }
            }

            /// The function of many singles, computed now, `out[i]` from `a[i]` and `b[i]`; `b` is read only by
            /// functions of two arguments. What one slice has more than another is left alone.
            pub fn singles(self, accuracy: Accuracy, a: &[f32], b: &[f32], out: &mut [f32]) {
                match (self, accuracy) {
                    $(
                        (Function::$name, Accuracy::Precise) => {
                            for_each(a, b, out, |a, b| call!($arity $path, a, b));
                        }
                        (Function::$name, Accuracy::Fast) => for_each(a, b, out, |a, b| {
                            Function::$name.fast_single(a, b).unwrap_or_else(|| call!($arity $path, a, b))
                        }),
                    )*
                }
            }

            /// Builds the precise form; `b` is ignored by functions of one argument.
            #[inline(always)]
            fn precise<'o, O: Ops, F: Float>(self, a: Val<'o, O, F>, b: Val<'o, O, F>) -> Val<'o, O, F> {
                match self { $(Function::$name => call!($arity $path, a, b),)* }
            }
        }
    };
}

/// One function over slices, compiled by itself so that it can run in vectors.
#[inline(always)]
fn for_each<'o>(
    a: &[f32],
    b: &[f32],
    out: &mut [f32],
    function: impl Fn(Val<'o, Native, F32>, Val<'o, Native, F32>) -> Val<'o, Native, F32>,
) {
    let value = |x: f32| Val::constant(&Native, u64::from(x.to_bits()));
    for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
        *out = f32::from_bits(function(value(a), value(b)).raw() as u32);
    }
}

macro_rules! call {
    (1 $path:path, $a:expr, $b:expr) => {{
        let _ = $b;
        $path($a)
    }};
    (2 $path:path, $a:expr, $b:expr) => {
        $path($a, $b)
    };
}

functions! {
    Sin "sin" 1 trig::sin;
    Cos "cos" 1 trig::cos;
    Tan "tan" 1 trig::tan;
    Asin "asin" 1 inverse::asin;
    Acos "acos" 1 inverse::acos;
    Atan "atan" 1 inverse::atan;
    Atan2 "atan2" 2 inverse::atan2;
    Sinh "sinh" 1 exp::sinh;
    Cosh "cosh" 1 exp::cosh;
    Tanh "tanh" 1 exp::tanh;
    Asinh "asinh" 1 log::asinh;
    Acosh "acosh" 1 log::acosh;
    Atanh "atanh" 1 log::atanh;
    Exp "exp" 1 exp::exp;
    Exp2 "exp2" 1 exp::exp2;
    Exp10 "exp10" 1 exp::exp10;
    Log "log" 1 log::log;
    Log2 "log2" 1 log::log2;
    Log10 "log10" 1 log::log10;
    Pow "pow" 2 pow::pow;
    Rsqrt "rsqrt" 1 pow::rsqrt;
}

impl Function {
    /// The function of that name.
    pub fn by_name(name: &str) -> Option<Function> {
        Function::ALL.iter().copied().find(|function| function.name() == name)
    }

    /// The function that an operation is, if it is one of them.
    pub fn of(op: ArithmeticOp) -> Option<Function> {
        static FUNCTIONS: LazyLock<Vec<Option<Function>>> = LazyLock::new(|| {
            ArithmeticOp::ALL.iter().map(|op| Function::by_name(op.name())).collect()
        });
        FUNCTIONS[op as usize]
    }

    /// Builds the function over `ops` on raw values of format `F` (`value::F32` or `value::F64`); `b` is the second
    /// argument of a function of two, and ignored otherwise.
    #[inline(always)]
    pub fn build<O: Ops, F: Float>(
        self,
        ops: &O,
        accuracy: Accuracy,
        a: O::Value,
        b: O::Value,
    ) -> O::Value {
        let (a, b) = (Val::<O, F>::new(ops, a), Val::<O, F>::new(ops, b));
        match accuracy {
            Accuracy::Precise => self.precise(a, b),
            Accuracy::Fast => F::fast(self, a, b).unwrap_or_else(|| self.precise(a, b)),
        }
        .raw()
    }

    /// The fast form over singles; none for those whose precise form is as good.
    #[inline(always)]
    pub(super) fn fast_single<'o, O: Ops>(
        self,
        a: Val<'o, O, F32>,
        b: Val<'o, O, F32>,
    ) -> Option<Val<'o, O, F32>> {
        Some(match self {
            Function::Sin => fast::sin(a),
            Function::Cos => fast::cos(a),
            Function::Tan => fast::tan(a),
            Function::Asin => fast::asin(a),
            Function::Acos => fast::acos(a),
            Function::Atan => fast::atan(a),
            Function::Atan2 => fast::atan2(a, b),
            Function::Tanh => fast::tanh(a),
            Function::Exp => fast::exp(a),
            Function::Exp2 => fast::exp2(a),
            Function::Log => fast::log(a),
            Function::Log2 => fast::log2(a),
            Function::Pow => fast::pow(a, b),
            _ => return None,
        })
    }

    /// The function of singles, computed now. Halves: widen, call this, round once.
    pub fn single(self, accuracy: Accuracy, a: f32, b: f32) -> f32 {
        let [a, b] = [a, b].map(|x| u64::from(x.to_bits()));
        f32::from_bits(self.build::<_, F32>(&Native, accuracy, a, b) as u32)
    }

    /// The function of doubles, computed now.
    pub fn double(self, accuracy: Accuracy, a: f64, b: f64) -> f64 {
        let bits = self.build::<_, F64>(&Native, accuracy, a.to_bits(), b.to_bits());
        f64::from_bits(bits)
    }
}
