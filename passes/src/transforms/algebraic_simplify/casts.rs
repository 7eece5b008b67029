//! Casts to the type itself, and casts of casts.

use super::{Change, Site};
use luisac_ast::types::{Scalar, TypeId};
use luisac_xir::op::CastOp;
use luisac_xir::{InstId, Op, ValueId};

pub(super) fn simplify(site: &Site<'_>, inst: InstId, op: CastOp) -> Option<Change> {
    let value = site.func.arg(inst, 0);
    let ty = site.func.inst(inst).ty;
    if site.ty(value) == ty {
        return Some(Change::Value(value));
    }
    let inner = site.func.def_inst(value)?;
    if site.func.op(inner) != Op::Cast(op) {
        return None;
    }
    let source = site.func.arg(inner, 0);
    match op {
        CastOp::Bitwise if site.ty(source) == ty => Some(Change::Value(source)),
        CastOp::Bitwise => Some(Change::Cast(op, source)),
        CastOp::Static => cast_of_cast(site, source, site.ty(value), ty),
    }
}

/// A conversion through a type that loses nothing that the last one keeps.
fn cast_of_cast(site: &Site<'_>, source: ValueId, through: TypeId, to: TypeId) -> Option<Change> {
    let scalar = |ty| site.types.scalar_of(ty);
    let (from, through, last) = (scalar(site.ty(source))?, scalar(through)?, scalar(to)?);
    let usual = |s: Scalar| s == Scalar::Bool || s.bits() >= 8;
    if ![from, through, last].into_iter().all(usual) {
        return None;
    }
    let skips = match (from, through, last) {
        (Scalar::Bool, _, _) => through.is_int(),
        // Whether it is zero may be lost by a narrower type.
        (_, _, Scalar::Bool) => holds(through, from),
        (f, t, l) if f.is_int() && t.is_int() && l.is_int() => {
            t.bits() >= l.bits() || t.bits() > f.bits() && (!f.is_signed() || t.is_signed())
        }
        // From integer to integer wraps, from float to integer saturates.
        (f, t, l) if f.is_int() && l.is_int() => holds(t, f) && holds(l, f),
        // Integers or narrower floats that the middle type holds exactly.
        (f, t, _) => holds(t, f),
    };
    match skips {
        true if site.ty(source) == to => Some(Change::Value(source)),
        true => Some(Change::Cast(CastOp::Static, source)),
        false => None,
    }
}

/// Whether a type has every value of another one.
fn holds(wide: Scalar, narrow: Scalar) -> bool {
    // Bits of a whole number that are exact.
    let exact = |s: Scalar| match s {
        Scalar::F16 => 11,
        Scalar::F32 => 24,
        Scalar::F64 => 53,
        s => s.bits() - u32::from(s.is_signed()),
    };
    match (wide.is_float(), narrow.is_float()) {
        (true, true) => wide.bits() >= narrow.bits(),
        (true, false) => exact(wide) >= exact(narrow) + u32::from(narrow.is_signed()),
        (false, true) => false,
        (false, false) => exact(wide) >= exact(narrow) && (wide.is_signed() || !narrow.is_signed()),
    }
}
