//! Error-free transformations and double-word arithmetic without fused multiply-add.
//!
//! A pair stands for the unrounded sum of its two parts. Sources: Dekker, "A floating-point technique for
//! extending the available precision" (1971); Joldes, Muller, Popescu, "Tight and rigorous error bounds for basic
//! building blocks of double-word arithmetic" (2017). Products are split by masking bits, which costs one integer
//! operation and one subtraction and cannot overflow.

use super::ops::Ops;
use super::value::{Float, Val};

/// `high + low`, with `|low|` at most about an ulp of `high`.
pub struct Pair<'o, O: Ops, F: Float> {
    /// The leading part.
    pub high: Val<'o, O, F>,
    /// The rest.
    pub low: Val<'o, O, F>,
}

impl<O: Ops, F: Float> Clone for Pair<'_, O, F> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<O: Ops, F: Float> Copy for Pair<'_, O, F> {}

/// `a + b` exactly, if `|a| >= |b|` or `a` is zero.
#[inline(always)]
pub fn fast_two_sum<'o, O: Ops, F: Float>(a: Val<'o, O, F>, b: Val<'o, O, F>) -> Pair<'o, O, F> {
    let high = a + b;
    Pair { high, low: b - (high - a) }
}

/// `a + b` exactly, in any order of magnitude.
#[inline(always)]
pub fn two_sum<'o, O: Ops, F: Float>(a: Val<'o, O, F>, b: Val<'o, O, F>) -> Pair<'o, O, F> {
    let high = a + b;
    let b_part = high - a;
    Pair { high, low: (a - (high - b_part)) + (b - b_part) }
}

/// `a * b` to twice the precision, less a bit or two, barring underflow.
#[inline(always)]
pub fn two_product<'o, O: Ops, F: Float>(a: Val<'o, O, F>, b: Val<'o, O, F>) -> Pair<'o, O, F> {
    let high = (a * b).settled();
    let (a_head, b_head) = (a.head(), b.head());
    let (a_tail, b_tail) = (a - a_head, b - b_head);
    let low = ((a_head * b_head - high) + a_head * b_tail + a_tail * b_head) + a_tail * b_tail;
    Pair { high, low }
}

impl<'o, O: Ops, F: Float> Pair<'o, O, F> {
    /// The pair of a single number.
    #[inline(always)]
    pub fn exact(high: Val<'o, O, F>) -> Self {
        Pair { high, low: high.lit(0.0) }
    }

    /// The sum, rounded.
    #[inline(always)]
    pub fn round(self) -> Val<'o, O, F> {
        self.high + self.low
    }

    /// The same sum with `high` a head (half the mantissa), so that products of `high` are exact. `high` must
    /// not be smaller than `low`.
    #[inline(always)]
    pub fn with_head(self) -> Self {
        let head = (self.high + self.low).head();
        Pair { high: head, low: self.low - (head - self.high) }
    }

    /// The product, for two pairs whose `high` are heads; `high` of the result is not.
    #[inline(always)]
    pub fn mul_heads(self, other: Self) -> Self {
        Pair {
            high: self.high * other.high,
            low: self.high * other.low + self.low * (other.high + other.low),
        }
    }

    /// The quotient. Divides once; exact to about twice the precision barring underflow.
    #[inline(always)]
    pub fn quotient(self, divisor: Self) -> Self {
        let inverse = 1.0 / divisor.high;
        let high = (self.high * inverse).settled();
        let product = two_product(high, divisor.high);
        let rest = (self.high - product.high) - product.low + (self.low - high * divisor.low);
        Pair { high, low: rest * inverse }
    }

    /// The square root, for positive values.
    #[inline(always)]
    pub fn sqrt(self) -> Self {
        let high = self.high.sqrt();
        let square = two_product(high, high);
        let rest = (self.high - square.high) - square.low + self.low;
        Pair { high, low: rest / (high + high) }
    }
}
