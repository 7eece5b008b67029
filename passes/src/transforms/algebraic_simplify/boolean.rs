//! Identities of truth values, and `select`.

use super::{Change, Site, integer};
use luisac_ast::types::Scalar;
use luisac_xir::ValueId;
use luisac_xir::op::ArithmeticOp::{self, *};

pub(super) fn binary(site: &Site<'_>, op: ArithmeticOp, a: ValueId, b: ValueId) -> Option<Change> {
    let (constant, other) = match (site.splat(a), site.splat(b)) {
        (_, Some(bits)) => (Some(bits != 0), a),
        (Some(bits), _) => (Some(bits != 0), b),
        _ => (None, a),
    };
    let opposite = || {
        let not = |x, y| site.operand_of(UnaryBitNot, x) == Some(y);
        not(a, b) || not(b, a)
    };
    Some(match (op, constant) {
        (BinaryBitAnd, Some(true)) | (BinaryBitOr | BinaryBitXor, Some(false)) => {
            Change::Value(other)
        }
        (BinaryBitAnd, Some(false)) => Change::Bool(false),
        (BinaryBitOr, Some(true)) => Change::Bool(true),
        (BinaryBitXor, Some(true)) => Change::Op(UnaryBitNot, vec![other]),
        (BinaryEqual, Some(true)) | (BinaryNotEqual, Some(false)) => Change::Value(other),
        (BinaryEqual, Some(false)) | (BinaryNotEqual, Some(true)) => {
            Change::Op(UnaryBitNot, vec![other])
        }
        (BinaryBitAnd | BinaryBitOr, None) if a == b => Change::Value(a),
        (BinaryBitXor | BinaryNotEqual, None) if a == b => Change::Bool(false),
        (BinaryEqual, None) if a == b => Change::Bool(true),
        (BinaryBitAnd | BinaryEqual, None) if opposite() => Change::Bool(false),
        (BinaryBitOr | BinaryBitXor | BinaryNotEqual, None) if opposite() => Change::Bool(true),
        (_, None) => return integer::lattice(site, op, a, b),
        _ => return None,
    })
}

/// The negation of a comparison. That of an order between floats is no comparison: it also holds for NaN.
pub(super) fn negated(site: &Site<'_>, op: ArithmeticOp, x: ValueId, y: ValueId) -> Option<Change> {
    let is_float = site.types.scalar_of(site.ty(x)).is_some_and(Scalar::is_float);
    let inverse = match op {
        BinaryEqual => BinaryNotEqual,
        BinaryNotEqual => BinaryEqual,
        _ if is_float => return None,
        BinaryLess => BinaryGreaterEqual,
        BinaryGreaterEqual => BinaryLess,
        BinaryGreater => BinaryLessEqual,
        BinaryLessEqual => BinaryGreater,
        _ => return None,
    };
    Some(Change::Op(inverse, vec![x, y]))
}

/// Both arms are computed in any case.
pub(super) fn select(
    site: &Site<'_>,
    no: ValueId,
    yes: ValueId,
    condition: ValueId,
) -> Option<Change> {
    if no == yes {
        return Some(Change::Value(no));
    }
    if let Some(bits) = site.splat(condition) {
        return Some(Change::Value(if bits == 0 { no } else { yes }));
    }
    if let Some(opposite) = site.operand_of(UnaryBitNot, condition) {
        return Some(Change::Op(Select, vec![yes, no, opposite]));
    }
    if site.ty(no) != site.ty(condition) {
        return None;
    }
    // Truth values.
    Some(match (site.splat(no), site.splat(yes)) {
        (Some(0), Some(1)) => Change::Value(condition),
        (Some(1), Some(0)) => Change::Op(UnaryBitNot, vec![condition]),
        (Some(0), _) => Change::Op(BinaryBitAnd, vec![condition, yes]),
        (_, Some(1)) => Change::Op(BinaryBitOr, vec![condition, no]),
        _ if no == condition => Change::Op(BinaryBitAnd, vec![condition, yes]),
        _ if yes == condition => Change::Op(BinaryBitOr, vec![condition, no]),
        _ => return None,
    })
}
