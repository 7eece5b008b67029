//! Quotient and remainder of the same operands.
//!
//! What: where a block computes both x / y and x % y on integers, the remainder becomes x - (x / y) * y, and 0 where y is 0.
//! Why right: the quotient truncates, so x = (x / y) * y + x % y for every y but 0; MIN / -1 is MIN, and MIN - MIN * -1 wraps
//! to 0 as it must. x % 0 is 0 while x - (x / 0) * 0 would be x, hence the test, unless y is known not to be 0. The quotient
//! moves up to the first of the two: it is pure and its operands are there.
//! Cost: linear but for hashing. Source: `semantics.md`, integers; the idea is LLVM's DivRemPairs.

use super::lanes;
use super::util;
use crate::manager::declaration::{
    Analysis, Declaration, FunctionCx, FunctionPass, Refusal, counters,
};
use luisac_ast::types::TypeTable;
use luisac_xir::op::ArithmeticOp;
use luisac_xir::{BlockId, Builder, Function, InstId, Op, ValueId};
use rustc_hash::FxHashMap;

counters! {
    /// What `div_rem_pairs` did.
    Info {
        change merged_pair_count "remainders computed from the quotient";
    }
}

/// The pass.
pub struct DivRemPairs;

impl FunctionPass for DivRemPairs {
    const DECLARATION: Declaration = Declaration {
        preserves: &[Analysis::Cfg, Analysis::Dominators, Analysis::CallGraph],
        ..Declaration::new(
            "div_rem_pairs",
            "computes a remainder from the quotient at hand",
            "Where a block has x / y and x % y on integers, the remainder becomes x - (x / y) * y, and 0 where y is 0.",
        )
    };
    type Options = ();
    type Info = Info;

    fn run(cx: &mut FunctionCx<'_>, _: &()) -> Result<Info, Refusal> {
        let mut info = Info::default();
        let blocks: Vec<BlockId> = cx.func.blocks().collect();
        for block in blocks {
            for pair in pairs(cx.func, cx.types, block) {
                if !cx.fuel() {
                    return Ok(info);
                }
                merge(cx, &pair);
                info.merged_pair_count += 1;
            }
        }
        Ok(info)
    }
}

struct Pair {
    quotient: InstId,
    remainder: InstId,
    /// The remainder comes first.
    hoist: bool,
}

/// The first quotient of each pair of operands with every remainder of the same, in order.
fn pairs(func: &Function, types: &TypeTable, block: BlockId) -> Vec<Pair> {
    let mut quotients: FxHashMap<(ValueId, ValueId), InstId> = FxHashMap::default();
    let mut waiting: FxHashMap<(ValueId, ValueId), Vec<InstId>> = FxHashMap::default();
    let mut found = Vec::new();
    for inst in func.insts(block) {
        let Op::Arithmetic(op) = func.op(inst) else { continue };
        let is_quotient = op == ArithmeticOp::BinaryDiv;
        let fits = is_quotient || op == ArithmeticOp::BinaryMod;
        if !fits || lanes::integer(types, func.inst(inst).ty).is_none() {
            continue;
        }
        let key = (func.arg(inst, 0), func.arg(inst, 1));
        match (is_quotient, quotients.get(&key)) {
            (true, Some(_)) => {}
            (true, None) => {
                quotients.insert(key, inst);
                let before = waiting.remove(&key).unwrap_or_default();
                // Moved before the first, it is before all of them.
                found.extend(before.into_iter().enumerate().map(|(i, remainder)| Pair {
                    quotient: inst,
                    remainder,
                    hoist: i == 0,
                }));
            }
            (false, Some(&quotient)) => {
                found.push(Pair { quotient, remainder: inst, hoist: false });
            }
            (false, None) => waiting.entry(key).or_default().push(inst),
        }
    }
    found
}

fn merge(cx: &mut FunctionCx<'_>, pair: &Pair) {
    let (func, types) = (&mut *cx.func, cx.types);
    if pair.hoist {
        func.unlink_inst(pair.quotient);
        func.insert_before(pair.quotient, pair.remainder);
    }
    let Some(quotient) = func.result(pair.quotient) else { return };
    let (x, y) = (func.arg(pair.remainder, 0), func.arg(pair.remainder, 1));
    let ty = func.inst(pair.remainder).ty;
    let safe = is_never_zero(func, types, y);
    let mut builder = Builder::before(func, types, pair.remainder);
    let product = builder.arithmetic(ArithmeticOp::BinaryMul, &[quotient, y]);
    let mut value = builder.arithmetic(ArithmeticOp::BinarySub, &[x, product]);
    if !safe {
        let zero = builder.func.zero(ty, types);
        let is_zero = builder.arithmetic(ArithmeticOp::BinaryEqual, &[y, zero]);
        value = builder.value(Op::Arithmetic(ArithmeticOp::Select), ty, &[value, zero, is_zero]);
    }
    util::replace_and_remove(func, pair.remainder, value);
}

/// Whether no lane can be zero: a constant, or an `or` with one.
fn is_never_zero(func: &Function, types: &TypeTable, value: ValueId) -> bool {
    let dim = usize::from(types.dim(func.value_type(value)));
    let nonzero = |v| {
        lanes::of_constant(func, types, v).is_some_and(|l| l[..dim].iter().all(|&lane| lane != 0))
    };
    let def = func.def_inst(value).map(|i| (func.op(i), func.args(i)));
    match def {
        Some((Op::Arithmetic(ArithmeticOp::BinaryBitOr), args)) => args.iter().any(|&a| nonzero(a)),
        _ => nonzero(value),
    }
}
