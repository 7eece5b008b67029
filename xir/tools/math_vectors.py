#!/usr/bin/env python3
"""Writes test vectors of the double-precision functions: `math_vectors.py COUNT [SEED]` prints COUNT lines a function,
`name a b nearest rest`: the arguments and the result rounded to double as hexadecimal bits, and the rest of the exact
result in units of the rounded one's last place. Needs mpmath."""
import math
import random
import struct
import sys
from mpmath import mp, mpf
import mpmath

mp.prec = 200


def bits(x):
    return struct.unpack("<Q", struct.pack("<d", x))[0]


def double(n):
    return struct.unpack("<d", struct.pack("<Q", n))[0]


def round_double(x):
    """x (mpf) to the nearest double, subnormals and overflow included."""
    if mpmath.isnan(x):
        return float("nan")
    if x == 0 or mpmath.isinf(x):
        return float(x)
    m, e = mp.frexp(x)
    unit = max(e - 53, -1074)
    n = int(mp.nint(mp.ldexp(x, -unit)))  # half to even
    if abs(n) * mpf(2) ** unit >= mpf(2) ** 1024:
        return math.copysign(float("inf"), n)
    return math.copysign(math.ldexp(n, unit), x)


def ulp(x):
    e = (bits(x) >> 52) & 0x7FF
    return mpf(2) ** (max(e, 1) - 1075)


def any_bits(r):
    while True:
        x = double(r.getrandbits(64))
        if x == x and abs(x) != float("inf"):
            return x


def spread(lo, hi, signed=True):
    """Exponents from lo to hi, evenly."""
    def draw(r):
        x = (1 + r.random()) * 2.0 ** r.randint(lo, hi)
        return -x if signed and r.random() < 0.5 else x
    return draw


def uniform(lo, hi):
    return lambda r: r.uniform(lo, hi)


def near_multiple(r):
    n = r.randint(1, 10 ** r.randint(1, 15))
    return float(n * mp.pi / 2)


def pow_pair(r):
    x = abs(any_bits(r)) if r.random() < 0.4 else 1 + r.uniform(-0.5, 1) * 2.0 ** -r.randint(0, 40)
    if x == 0 or x == 1:
        x = 3.0
    y = float(r.uniform(-1076, 1025) / mp.log(mpf(x), 2))
    if r.random() < 0.2:
        y = float(round(y)) if abs(y) < 1e15 else y
        x = -x if y == int(y) and r.random() < 0.5 else x
    return x, y


def atan2_pair(r):
    y, x = any_bits(r), any_bits(r)
    if r.random() < 0.8:
        s = 2.0 ** r.randint(-900, 900)
        y, x = spread(-8, 8)(r) * s, spread(-8, 8)(r) * s
    return y, x


def mp_pow(x, y):
    return mpf(x) ** mpf(y) if x > 0 else (-1 if int(y) & 1 else 1) * mpf(-x) ** mpf(y)


TRIG = [spread(-30, 10), spread(0, 60), spread(0, 1023), near_multiple, uniform(-4, 4)]
UNIT = [spread(-30, -1), uniform(-1, 1), lambda r: (1 - 2.0 ** -r.randint(1, 53)) * r.choice((1, -1)), spread(-1060, -20)]
EXP = [uniform(-745, 710), spread(-40, 9), uniform(-2, 2)]
LOG = [lambda r: abs(any_bits(r)), uniform(0.3, 3), lambda r: 1 + r.uniform(-1, 1) * 2.0 ** -r.randint(1, 50), lambda r: double(r.getrandbits(50) + 1)]
WIDE = [spread(-60, 12), spread(-1060, 1023), uniform(-4, 4)]

FUNCTIONS = {
    "sin": (mp.sin, TRIG), "cos": (mp.cos, TRIG), "tan": (mp.tan, TRIG),
    "asin": (mp.asin, UNIT), "acos": (mp.acos, UNIT), "atan": (mp.atan, WIDE),
    "sinh": (mp.sinh, EXP + [spread(-60, 0)]), "cosh": (mp.cosh, EXP), "tanh": (mp.tanh, [spread(-60, 6), uniform(-2, 2), uniform(0.4, 0.7)]),
    "asinh": (mp.asinh, WIDE), "acosh": (mp.acosh, [spread(0, 60, False), lambda r: 1 + r.random() * 2.0 ** -r.randint(0, 51), spread(0, 1023, False)]),
    "atanh": (mp.atanh, UNIT), "exp": (mp.exp, EXP), "exp2": (lambda x: mpf(2) ** x, [uniform(-1075, 1025), spread(-40, 10), uniform(-2, 2)]),
    "exp10": (lambda x: mpf(10) ** x, [uniform(-324, 309), spread(-40, 8), uniform(-2, 2)]),
    "log": (mp.log, LOG), "log2": (lambda x: mp.log(x) / mp.log(2), LOG), "log10": (lambda x: mp.log(x) / mp.log(10), LOG),
    "rsqrt": (lambda x: 1 / mp.sqrt(x), LOG),
}


def line(name, a, b, exact):
    nearest = round_double(exact)
    rest = 0.0 if nearest in (0.0, float("inf"), float("-inf")) else float((exact - mpf(nearest)) / ulp(nearest))
    print(f"{name} {bits(a):x} {bits(b):x} {bits(nearest):x} {rest:.4f}")


def main():
    count, r = int(sys.argv[1]), random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    for name, (function, draws) in FUNCTIONS.items():
        for i in range(count):
            a = draws[i % len(draws)](r)
            with mp.workprec(1400 if name in ("sin", "cos", "tan") and abs(a) > 1e10 else 400):
                exact = function(mpf(a))
            if not isinstance(exact, mpmath.mpc):
                line(name, a, 0.0, exact)
    for i in range(count):
        y, x = atan2_pair(r)
        line("atan2", y, x, mp.atan2(mpf(y), mpf(x)))
        x, y = pow_pair(r)
        line("pow", x, y, mp_pow(x, y))


main()
