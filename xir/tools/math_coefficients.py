#!/usr/bin/env python3
"""Computes the constants of xir/src/math and writes them as Rust: run with no argument, redirect to
xir/src/math/coefficients.rs, then `cargo fmt`. Needs mpmath.

Every polynomial is a least-squares fit at Chebyshev nodes, which is within a few percent of minimax; coefficients
are rounded to the format one by one from the constant term on, and the rest fitted again each time."""
import struct
from mpmath import mp, mpf, atan, asin, asinh, atanh, sinh, cosh, tanh, tan, sin, cos, exp, log, pi, sqrt, floor, matrix, lu_solve

mp.dps = 80


def f32(x):
    return mpf(struct.unpack("f", struct.pack("f", float(x)))[0])  # double rounding is harmless here


def f64(x):
    return mpf(float(x))


def keep(x, bits):
    """x cut to its leading `bits` bits."""
    m, e = mp.frexp(x)
    return mp.ldexp(mp.floor(m * 2**bits + mpf(1) / 2), -bits) * mpf(2) ** e


def solve(g, w, lo, hi, n):
    """Weighted least squares of g by a polynomial of n terms on [lo, hi]."""
    k = 4 * n + 8
    a, b = matrix(k, n), matrix(k, 1)
    for i in range(k):
        z = (lo + hi) / 2 + (hi - lo) / 2 * cos(pi * (2 * i + 1) / (2 * k))
        for j in range(n):
            a[i, j] = w(z) * z**j
        b[i] = w(z) * g(z)
    c = lu_solve(a, b)
    return [c[i] for i in range(n)]


def fit(g, w, lo, hi, n, rounding):
    lo, hi = mpf(lo), mpf(hi)
    out = []
    h, v = g, w
    for i in range(n):
        c = rounding(solve(h, v, lo, hi, n - i)[0])
        out.append(c)
        h = (lambda h, c: lambda z: (h(z) - c) / z)(h, c)
        v = (lambda v: lambda z: v(z) * z)(v)
    p = lambda z: sum(c * z**i for i, c in enumerate(out))
    err = max(abs(w(z) * (p(z) - g(z))) for z in (lo + (hi - lo) * (i + mpf(1) / 3) / 400 for i in range(400)))
    return out, (mp.log(err, 2) if err else mpf(-999))


LN2, LN10 = log(mpf(2)), log(mpf(10))


def odd(f):
    """(f(x) - x) / x^3 as a function of z = x^2, with its weight relative to f."""
    return (lambda z: (f(sqrt(z)) - sqrt(z)) / sqrt(z) ** 3), (lambda z: sqrt(z) ** 3 / f(sqrt(z)))


def fits(rounding, terms):
    """name -> (doc, coefficients). `terms` gives the number of terms of each."""
    T = terms
    out = {}

    def add(name, doc, g, w, lo, hi):
        c, e = fit(g, w, lo, hi, T[name], rounding)
        out[name] = (f"{doc}; relative error 2^{float(e):.1f}", c)

    add("exp", "(e^r - 1 - r) / r^2 on |r| <= 0.35", lambda r: (exp(r) - 1 - r) / r**2, lambda r: r**2, -0.35, 0.35)
    add("exp2", "(2^r - 1) / r on |r| <= 1/2", lambda r: (2**r - 1) / r, lambda r: r, -0.501, 0.501)
    add("exp10", "(10^r - 1) / r on |r| <= log10(2) / 2", lambda r: (mpf(10) ** r - 1) / r, lambda r: r, -0.1513, 0.1513)
    add("log", "(2 atanh(s) / s - 2) / z in z = s^2 <= 0.0295", lambda z: (2 * atanh(sqrt(z)) / sqrt(z) - 2) / z, lambda z: z / 2, 0, 0.0295)
    add("log_tail", "(atanh(s) / s - 1 - z/3) / z^2 in z = s^2 <= 0.0295", lambda z: (atanh(sqrt(z)) / sqrt(z) - 1 - z / 3) / z**2, lambda z: z**2, 0, 0.0295)
    add("sin", "(sin r - r) / r^3 in z = r^2, |r| <= 0.79", *odd(sin), 0, 0.79**2)
    add("cos", "(cos r - 1 + z/2) / z^2 in z = r^2, |r| <= 0.79", lambda z: (cos(sqrt(z)) - 1 + z / 2) / z**2, lambda z: z**2, 0, 0.79**2)
    add("tan", "(tan r - r) / r^3 in z = r^2, |r| <= 0.79", *odd(tan), 0, 0.79**2)
    add("atan", "(atan t - t) / t^3 in z = t^2, |t| <= 1/2", *odd(atan), 0, 0.2501)
    add("asin", "(asin x - x) / x^3 in z = x^2, |x| <= 1/2", *odd(asin), 0, 0.25)
    add("asinh", "(asinh x - x) / x^3 in z = x^2, |x| <= 1/2", *odd(asinh), 0, 0.25)
    add("sinh", "(sinh x - x) / x^3 in z = x^2, |x| <= 1", *odd(sinh), 0, 1)
    add("tanh", "(tanh x - x) / x^3 in z = x^2, |x| <= 0.55", *odd(tanh), 0, 0.3026)
    return out


def rust(x):
    s = repr(float(x))
    assert mpf(float(x)) == x
    return s


def emit(name, doc, rounding, terms, head, int_bits):
    print(f"/// {doc}")
    print(f"pub static {name}: Coefficients = Coefficients {{")
    for field, (text, coefficients) in fits(rounding, terms).items():
        print(f"    // {text}")
        print(f"    {field}: &[{', '.join(rust(c) for c in coefficients)}],")

    def two(field, value, bits):
        high = keep(value, bits)
        print(f"    {field}: [{rust(high)}, {rust(rounding(value - high))}],")

    p = 24 if rounding is f32 else 53
    two("ln2", LN2, p - int_bits)
    two("log10_2", LN2 / LN10, p - int_bits)
    two("log2_e", 1 / LN2, head)
    two("log10_e", 1 / LN10, head)
    two("two_log2_e", 2 / LN2, head)
    two("third", mpf(1) / 3, head)
    two("half_pi_head", pi / 2, head)
    two("half_pi", pi / 2, p)
    two("quarter_pi", pi / 4, p)
    two("three_quarter_pi", 3 * pi / 4, p)
    two("pi", pi, p)
    bits = 32 if rounding is f32 else 64
    count = {32: 8, 64: 20}[bits]
    with mp.workprec(1600):
        t = int(floor(2 / pi * mpf(2) ** (bits * (count - 1))))
    words = [(t >> (bits * (count - 1 - i))) & (2**bits - 1) for i in range(count)]
    print(f"    two_over_pi: &[{', '.join(hex(w) for w in words)}],")
    print("};\n")


print("""//! Constants of the functions. Written by `xir/tools/math_coefficients.py`; change that, not this.
//!
//! Polynomials have their constant term first. A pair `[a, b]` stands for `a + b`.
#![allow(clippy::excessive_precision, clippy::approx_constant, clippy::unreadable_literal)]

/// The constants of one format, as doubles that the format holds exactly.
#[derive(Debug)]
pub struct Coefficients {
    /// (e^r - 1 - r) / r^2.
    pub exp: &'static [f64],
    /// (2^r - 1) / r.
    pub exp2: &'static [f64],
    /// (10^r - 1) / r.
    pub exp10: &'static [f64],
    /// (2 atanh(s) / s - 2) / z in z = s^2.
    pub log: &'static [f64],
    /// (atanh(s) / s - 1 - z/3) / z^2 in z = s^2.
    pub log_tail: &'static [f64],
    /// (sin r - r) / r^3 in z = r^2.
    pub sin: &'static [f64],
    /// (cos r - 1 + z/2) / z^2 in z = r^2.
    pub cos: &'static [f64],
    /// (tan r - r) / r^3 in z = r^2.
    pub tan: &'static [f64],
    /// (atan t - t) / t^3 in z = t^2.
    pub atan: &'static [f64],
    /// (asin x - x) / x^3 in z = x^2.
    pub asin: &'static [f64],
    /// (asinh x - x) / x^3 in z = x^2.
    pub asinh: &'static [f64],
    /// (sinh x - x) / x^3 in z = x^2.
    pub sinh: &'static [f64],
    /// (tanh x - x) / x^3 in z = x^2.
    pub tanh: &'static [f64],
    /// ln 2, the first part short enough that its product with an exponent is exact.
    pub ln2: [f64; 2],
    /// log10 2, short likewise.
    pub log10_2: [f64; 2],
    /// 1 / ln 2, the first part a head.
    pub log2_e: [f64; 2],
    /// 1 / ln 10, the first part a head.
    pub log10_e: [f64; 2],
    /// 2 / ln 2, the first part a head.
    pub two_log2_e: [f64; 2],
    /// 1/3, the first part a head.
    pub third: [f64; 2],
    /// pi / 2, the first part a head.
    pub half_pi_head: [f64; 2],
    /// pi / 2.
    pub half_pi: [f64; 2],
    /// pi / 4.
    pub quarter_pi: [f64; 2],
    /// 3 pi / 4.
    pub three_quarter_pi: [f64; 2],
    /// pi.
    pub pi: [f64; 2],
    /// The bits of 2 / pi in words of the format's size, most significant first, after one word of zeros.
    pub two_over_pi: &'static [u64],
}
""")
def emit_fast():
    pieces = {
        "EXP": ("(e^r - 1) / r on |r| <= 0.35", lambda r: (exp(r) - 1) / r, lambda r: r / (exp(r) - 1), -0.35, 0.35, 5),
        "EXP2": ("(2^r - 1) / r on |r| <= 1/2", lambda r: (2**r - 1) / r, lambda r: r, -0.501, 0.501, 5),
        "LOG2": ("log2(1 + f) / f, sqrt 1/2 <= 1 + f <= sqrt 2", lambda f: log(1 + f) / f / log(mpf(2)), lambda f: f / log(1 + f) * log(mpf(2)), mpf("-0.293"), mpf("0.4143"), 9),
        "SIN": ("(sin r - r) / r^3 in z = r^2, |r| <= 0.79", *odd(sin), 0, 0.79**2, 3),
        "COS": ("(cos r - 1 + z/2) / z^2 in z = r^2, |r| <= 0.79", lambda z: (cos(sqrt(z)) - 1 + z / 2) / z**2, lambda z: z**2, 0, 0.79**2, 2),
        "ATAN": ("(atan t - t) / t^3 in z = t^2, |t| <= 1", *odd(atan), 0, 1, 8),
        "ASIN": ("(asin x - x) / x^3 in z = x^2, |x| <= 1/2", *odd(asin), 0, 0.25, 4),
    }
    print("/// The shorter polynomials of the fast singles.\npub mod fast {")
    for name, (doc, g, w, lo, hi, n) in pieces.items():
        c, e = fit(g, w, lo, hi, n, f32)
        print(f"    /// {doc}; relative error 2^{float(mp.log(2, 2) * e):.1f}.")
        print(f"    pub const {name}: &[f64] = &[{', '.join(rust(x) for x in c)}];")
    first = mpf(25) / 16
    second = keep(pi / 2 - first, 7)
    third = f32(pi / 2 - first - second)
    print("    /// pi / 2 in three parts, the first two short enough that their products with 17 bits are exact.")
    print(f"    pub const HALF_PI: [f64; 3] = [{rust(first)}, {rust(second)}, {rust(third)}];")
    print("}")


SINGLE_TERMS = dict(exp=5, exp2=6, exp10=6, log=4, log_tail=3, sin=4, cos=3, tan=7, atan=6, asin=6, asinh=5, sinh=4, tanh=6)
DOUBLE_TERMS = dict(exp=10, exp2=11, exp10=11, log=7, log_tail=7, sin=7, cos=6, tan=15, atan=12, asin=13, asinh=12, sinh=7, tanh=11)
emit("SINGLE", "The constants of single precision.", f32, SINGLE_TERMS, 12, 8)
emit("DOUBLE", "The constants of double precision.", f64, DOUBLE_TERMS, 26, 11)
emit_fast()
