//! The square root of doubles, which HLSL lacks: its `sqrt` is one of floats, and doubles are silently made floats.

use luisac_ast::types::TypeId;
use std::fmt::Write;

use crate::clike::module::ModuleEmit;

/// With `x = m 4^k` and `m` in [1, 4), `y` comes near `1 / sqrt m` by Newton's steps, from 22 bits to 44 and all; then `s = m y` is
/// corrected by its exact remainder twice (Markstein, IBM J. Res. Dev. 34, 1990). The remainder is taken with the square in two
/// parts (Dekker, Numer. Math. 18, 1971), since drivers are found that do not fuse `fma`.
const SCALAR: &str = "\
// m - s * s, exactly.
double lc_remainder(double m, double s) {
    const double c = 134217729.0L * s;
    const double high = c - (c - s);
    const double low = s - high;
    const double square = s * s;
    const double rest = ((high * high - square) + 2.0L * (high * low)) + low * low;
    return (m - square) - rest;
}

double lc_sqrt(double x) {
    uint low, high;
    asuint(x, low, high);
    if (((high & 0x7fffffffu) | low) == 0u || (high & 0x7ff00000u) == 0x7ff00000u && high != 0xfff00000u) {
        return x;
    }
    if ((high >> 31) != 0u) {
        return asdouble(0u, 0x7ff80000u);
    }
    int scale = 0;
    if (high < 0x00100000u) {
        asuint(x * 324518553658426726783156020576256.0L, low, high);
        scale = -54;
    }
    const int exponent = int(high >> 20) - 1023;
    const uint odd = uint(exponent) & 1u;
    scale += (exponent - int(odd)) / 2;
    const double m = asdouble(low, (high & 0xfffffu) | ((1023u + odd) << 20));
    double y = double(rsqrt(float(m)));
    y = y * (1.5L - 0.5L * m * y * y);
    y = y * (1.5L - 0.5L * m * y * y);
    double s = m * y;
    s = s + lc_remainder(m, s) * (0.5L * y);
    s = s + lc_remainder(m, s) * (0.5L * y);
    return s * asdouble(0u, uint(1023 + scale) << 20);
}
";

/// The name of the function that takes the square root of a double or of each component of a vector; its text is added.
pub fn sqrt_of_doubles(cx: &mut ModuleEmit<'_>, ty: TypeId) -> &'static str {
    cx.helper("lc_sqrt", |_| SCALAR.to_string());
    if cx.types.is_vector(ty) {
        let dim = cx.types.dim(ty);
        cx.helper(&format!("lc_sqrt/{dim}"), |_| {
            let mut text =
                format!("double{dim} lc_sqrt(double{dim} v) {{\n    return double{dim}(");
            for (i, lane) in ["x", "y", "z", "w"].iter().take(dim.into()).enumerate() {
                let comma = if i == 0 { "" } else { ", " };
                let _ = write!(text, "{comma}lc_sqrt(v.{lane})");
            }
            text.push_str(");\n}\n");
            text
        });
    }
    "lc_sqrt"
}
