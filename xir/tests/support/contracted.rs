//! The operations as a compiler may emit them under `--math fast`: every sum with a product contracted.

use luisac_xir::math::{Binary, Compare, Convert, Native, Ops, Type, Unary};

/// A value, and its factors where it is a product.
#[derive(Clone, Copy, Debug)]
pub struct Traced {
    /// The bits.
    pub bits: u64,
    factors: Option<(u64, u64)>,
}

/// A value that is no product.
pub fn plain(bits: u64) -> Traced {
    Traced { bits, factors: None }
}

/// Computes like `Native`, but `a * b + c`, `a * b - c` and `c - a * b` with one rounding.
pub struct Contracted;

fn fused(ty: Type, (a, b): (u64, u64), c: u64, negate_product: bool) -> Traced {
    plain(if ty == Type::F32 {
        let [a, b, c] = [a, b, c].map(|bits| f32::from_bits(bits as u32));
        u64::from((if negate_product { -a } else { a }).mul_add(b, c).to_bits())
    } else {
        let [a, b, c] = [a, b, c].map(f64::from_bits);
        (if negate_product { -a } else { a }).mul_add(b, c).to_bits()
    })
}

impl Ops for Contracted {
    type Value = Traced;

    fn constant(&self, ty: Type, bits: u64) -> Traced {
        plain(Native.constant(ty, bits))
    }

    fn unary(&self, op: Unary, ty: Type, a: Traced) -> Traced {
        plain(Native.unary(op, ty, a.bits))
    }

    fn binary(&self, op: Binary, ty: Type, a: Traced, b: Traced) -> Traced {
        let float = matches!(ty, Type::F32 | Type::F64);
        match op {
            Binary::Mul if float => Traced {
                bits: Native.binary(op, ty, a.bits, b.bits),
                factors: Some((a.bits, b.bits)),
            },
            Binary::Add | Binary::Sub if float && a.factors.is_some() => {
                let addend =
                    if op == Binary::Sub { Native.unary(Unary::Neg, ty, b.bits) } else { b.bits };
                fused(ty, a.factors.unwrap_or_default(), addend, false)
            }
            Binary::Add | Binary::Sub if float && b.factors.is_some() => {
                fused(ty, b.factors.unwrap_or_default(), a.bits, op == Binary::Sub)
            }
            _ => plain(Native.binary(op, ty, a.bits, b.bits)),
        }
    }

    fn compare(&self, op: Compare, ty: Type, a: Traced, b: Traced) -> Traced {
        plain(Native.compare(op, ty, a.bits, b.bits))
    }

    fn select(&self, _: Type, condition: Traced, yes: Traced, no: Traced) -> Traced {
        plain(if condition.bits != 0 { yes.bits } else { no.bits })
    }

    fn convert(&self, op: Convert, a: Traced) -> Traced {
        plain(Native.convert(op, a.bits))
    }

    fn table(&self, ty: Type, words: &'static [u64], index: Traced) -> Traced {
        plain(Native.table(ty, words, index.bits))
    }

    fn loop_while<const N: usize>(
        &self,
        mut state: [Traced; N],
        condition: impl Fn(&Self, [Traced; N]) -> Traced,
        body: impl Fn(&Self, [Traced; N]) -> [Traced; N],
    ) -> [Traced; N] {
        while condition(self, state).bits != 0 {
            state = body(self, state).map(|value| plain(value.bits));
        }
        state
    }
}
