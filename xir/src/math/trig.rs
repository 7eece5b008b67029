//! sin, cos, tan, for all arguments.
//!
//! Reduction modulo pi / 2 is Payne and Hanek's (1983) in integers of the format's own size, at every magnitude:
//! three words of the bits of 2 / pi, chosen by the exponent, times the mantissa, modulo 4. Two words of fraction
//! remain, which is twice what the worst case cancels. Then one polynomial each for the sine and the cosine of an
//! argument kept as a pair.

use super::ops::Ops;
use super::pair::{Pair, fast_two_sum, two_product};
use super::value::{Float, Val, Word};

/// The nearest multiple of pi / 2, modulo 4 in the low two bits, and the distance from it.
struct Reduced<'o, O: Ops, F: Float> {
    quadrant: Val<'o, O, F::Word>,
    rest: Pair<'o, O, F>,
}

/// `index`th to `index + count`th word of 2 / pi as one look-up: `index` runs over the start words.
#[inline(always)]
fn window<'o, O: Ops, F: Float>(index: Val<'o, O, F::Word>, offset: usize) -> Val<'o, O, F::Word> {
    let words = F::C.two_over_pi;
    index.look_up(&words[offset..words.len() - 3 + offset])
}

/// `|x| 2 / pi` modulo 4, for `|x|` of at least 1/2: the top word, two bits before the binary point, and the next.
#[inline(always)]
fn quarter_turns<'o, O: Ops, F: Float>(
    bits: Val<'o, O, F::Word>,
) -> (Val<'o, O, F::Word>, Val<'o, O, F::Word>) {
    let width = u64::from(F::Word::BITS);
    let mantissa_bits = u64::from(F::MANTISSA);
    let hidden = 1 << mantissa_bits;
    let mantissa = (bits & (hidden - 1)) | hidden;
    // x = mantissa 2^e. Bits of 2 / pi whose weight times 2^e is at least 4 do not matter: start after them.
    let start = (bits >> mantissa_bits) - (F::BIAS + mantissa_bits + 2 - width);
    let index = start >> u64::from(width.trailing_zeros());
    let shift = start & (width - 1);
    let back = shift ^ (width - 1);
    let words: [_; 4] = std::array::from_fn(|i| window::<O, F>(index, i));
    // The shift by `back + 1`, which may be the width, in two steps.
    let [w0, w1, w2] = std::array::from_fn(|i| (words[i] << shift) | ((words[i + 1] >> 1) >> back));
    let low = mantissa * w1;
    let carried = mantissa.mul_high(w2);
    let next = low + carried;
    let carry = next.lt(low).select(bits.number(1), bits.number(0));
    (mantissa * w0 + mantissa.mul_high(w1) + carry, next)
}

/// The fraction `(high, low) 2^-2width`, both words, as a pair; `high` below a half.
#[inline(always)]
fn fraction<'o, O: Ops, F: Float>(
    high: Val<'o, O, F::Word>,
    low: Val<'o, O, F::Word>,
) -> Pair<'o, O, F> {
    let width = u64::from(F::Word::BITS);
    let chunk = u64::from(F::MANTISSA);
    let rest = width - chunk;
    let chunks = [
        high >> rest,
        ((high << chunk) | (low >> rest)) >> rest,
        (low << (2 * chunk - width)) >> rest,
    ];
    let mut unit = 1.0;
    let [a, b, c] = chunks.map(|word| {
        // The chunk as the mantissa of a number from 1 on: exact, and cheap in vectors.
        let float = (word | (F::BIAS << chunk)).float() - 1.0;
        let scaled = float * unit;
        unit /= (1_u64 << chunk) as f64;
        scaled
    });
    let sum = fast_two_sum(a, b);
    Pair { high: sum.high, low: sum.low + c }
}

#[inline(always)]
fn reduce<'o, O: Ops, F: Float>(a: Val<'o, O, F>) -> Reduced<'o, O, F> {
    let width = u64::from(F::Word::BITS);
    let small = a.le(a.lit(F::C.quarter_pi[0]));
    let bits = small.select(a.lit(1.0), a).bits();
    let (top, next) = quarter_turns::<O, F>(bits);
    let high = (top << 2) | (next >> (width - 2));
    let low = next << 2;
    // A fraction of a half or more counts down from the next quadrant.
    let down = high.sar(width - 1);
    let quadrant = (top >> (width - 2)) - down;
    let turns = fraction::<O, F>(high ^ down, low ^ down);
    // Times pi / 2.
    let head = turns.high.head();
    let tail = (turns.high - head) + turns.low;
    let product = head * F::C.half_pi_head[0];
    let rest = fast_two_sum(product, head * F::C.half_pi_head[1] + tail * F::C.half_pi[0]);
    // Zero times infinity or NaN is NaN, and zero added to a finite angle changes nothing.
    let flip = down & (1 << (width - 1));
    let high = rest.high.flip_sign(flip) + a * 0.0;
    let zero = a.lit(0.0);
    Reduced {
        quadrant: small.select(bits.number(0), quadrant),
        rest: Pair {
            high: small.select(a, high),
            low: small.select(zero, rest.low.flip_sign(flip)),
        },
    }
}

/// The sine and the cosine of a reduced argument.
#[inline(always)]
fn sine_cosine<'o, O: Ops, F: Float>(r: Pair<'o, O, F>) -> (Val<'o, O, F>, Val<'o, O, F>) {
    let z = r.high * r.high;
    let half = 0.5 * z;
    let w = 1.0 - half;
    let cosine = w + (((1.0 - w) - half) + (z * z * z.polynomial(F::C.cos) - r.high * r.low));
    let sine = r.high + (r.high * z * z.polynomial(F::C.sin) + r.low * w);
    (sine, cosine)
}

/// The sine, or in odd quadrants the cosine, of a reduced argument, with the sign of the upper or lower half circle.
#[inline(always)]
fn by_quadrant<'o, O: Ops, F: Float>(
    rest: Pair<'o, O, F>,
    quadrant: Val<'o, O, F::Word>,
) -> Val<'o, O, F> {
    let (sine, cosine) = sine_cosine(rest);
    let odd = (quadrant & 1).is_nonzero();
    odd.select(cosine, sine).flip_sign((quadrant & 2) << u64::from(F::Word::BITS - 2))
}

/// The sine, at most 1 ulp off for every argument.
#[inline(always)]
pub fn sin<'o, O: Ops, F: Float>(x: Val<'o, O, F>) -> Val<'o, O, F> {
    let Reduced { quadrant, rest } = reduce(x.abs());
    by_quadrant(rest, quadrant).flip_sign(x.sign_bit())
}

/// The cosine, at most 1 ulp off for every argument.
#[inline(always)]
pub fn cos<'o, O: Ops, F: Float>(x: Val<'o, O, F>) -> Val<'o, O, F> {
    let Reduced { quadrant, rest } = reduce(x.abs());
    by_quadrant(rest, quadrant + 1)
}

/// The tangent, at most 1.2 ulp off for every argument.
#[inline(always)]
pub fn tan<'o, O: Ops, F: Float>(x: Val<'o, O, F>) -> Val<'o, O, F> {
    let Reduced { quadrant, rest: r } = reduce(x.abs());
    let z = r.high * r.high;
    let sum = fast_two_sum(r.high, r.high * z * z.polynomial(F::C.tan));
    let low = sum.low + r.low * (1.0 + sum.high * sum.high);
    // In odd quadrants -1 / tan r, with the rounding of the reciprocal mended.
    let inverse = -1.0 / sum.high;
    let product = two_product(inverse, sum.high);
    let error = (1.0 + product.high) + product.low + inverse * low;
    let odd = (quadrant & 1).is_nonzero();
    odd.select(inverse + inverse * error, sum.high + low).flip_sign(x.sign_bit())
}
