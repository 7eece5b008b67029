//! Operations that move elements: what was taken apart and put together again.

use super::{Change, Site};
use luisac_xir::op::ArithmeticOp::{self, *};
use luisac_xir::{InstId, ValueId};

pub(super) fn simplify(site: &Site<'_>, inst: InstId, op: ArithmeticOp) -> Option<Change> {
    let args = site.func.args(inst);
    match op {
        Aggregate => whole(site, inst, args),
        Shuffle => {
            let same = site.ty(args[0]) == site.func.inst(inst).ty;
            let in_order = args[1..].iter().enumerate().all(|(i, &v)| constant(site, v) == Some(i));
            (same && in_order).then_some(Change::Value(args[0]))
        }
        Insert => {
            // The element that is there already.
            let [whole, element, index] = *args else { return None };
            let [from, at] = site.operands_of(Extract, element)?;
            let same = constant(site, at)? == constant(site, index)?;
            (from == whole && same).then_some(Change::Value(whole))
        }
        Extract => {
            let [from, index] = *args else { return None };
            let (Shuffle, picks) = site.def(from)? else { return None };
            let picked = *picks.get(constant(site, index)?.checked_add(1)?)?;
            Some(Change::Op(Extract, vec![picks[0], picked]))
        }
        _ => None,
    }
}

fn constant(site: &Site<'_>, index: ValueId) -> Option<usize> {
    usize::try_from(site.func.constant_bits(index)?).ok()
}

/// All elements of one value of the type, in order.
fn whole(site: &Site<'_>, inst: InstId, elements: &[ValueId]) -> Option<Change> {
    let [source, _] = site.operands_of(Extract, *elements.first()?)?;
    let fits = site.ty(source) == site.func.inst(inst).ty
        && elements.iter().enumerate().all(|(i, &element)| {
            site.operands_of(Extract, element)
                .is_some_and(|[from, at]| from == source && constant(site, at) == Some(i))
        });
    fits.then_some(Change::Value(source))
}
