//! Atomic operations in MSL: relaxed, by functions on pointers.
//!
//! Metal has them for integers of 32 bits. Floats, and in buffers integers of 8 and 16 bits, are changed by loops that compare and exchange
//! the word they lie in, by its bits. Nothing has 64 bits.

use luisac_ast::types::{Scalar, TypeId};
use luisac_xir::op::AtomicOp;
use luisac_xir::{InstId, ValueId};

use crate::clike::Emit;
use crate::clike::expr::{Expr, Prec};
use crate::clike::function::{FnEmit, internal};
use crate::clike::place::{Memory, Path, Step};
use crate::errors;

/// An atomic instruction.
pub fn atomic(f: &mut FnEmit<'_, '_>, inst: InstId, op: AtomicOp) -> Emit<()> {
    let args = f.func.args(inst).to_vec();
    let Some(split) = args.len().checked_sub(op.value_count()).filter(|&n| n > 0) else {
        return Err(internal("an atomic without operands"));
    };
    let (chain, values) = args.split_at(split);
    let ty = f.func.inst(inst).ty;
    let scalar = f.cx.types.scalar_of(ty).unwrap_or(Scalar::U32);
    let (space, pointer) = pointer(f, chain)?;
    if scalar.size() == 8 || (scalar.size() < 4 && space == "threadgroup") {
        return Err(f.cx.refuse(
            errors::UNSUPPORTED_TYPE,
            format!("MSL has no atomic operation on `{}` in {space} memory", scalar.name()),
            "use a number of 32 bits",
        ));
    }
    let mut list = vec![pointer];
    list.extend(f.values(values)?);
    f.settle()?;
    let name = helper(f, op, scalar, space);
    f.define_at_once(inst, &Expr::call(&name, &list))
}

/// The address that is changed, and the address space that it lies in.
fn pointer(f: &mut FnEmit<'_, '_>, chain: &[ValueId]) -> Emit<(&'static str, Expr)> {
    let Some((&base, indices)) = chain.split_first() else {
        return Err(internal("an atomic without a base"));
    };
    let (space, mut place, mut ty, rest) = if f.func.is_resource(base) {
        let Some((&index, rest)) = indices.split_first() else {
            return Err(internal("an atomic on a buffer without an index"));
        };
        let element = f.element(base, index)?;
        let text = format!("{}[{}]", element.buffer.handle, element.index.text);
        ("device", Expr::made(text, Prec::Atom, [&element.index]), element.of, rest)
    } else {
        let path = f.place(base)?;
        let space = if path.memory == Memory::Block { "threadgroup" } else { "thread" };
        if path.in_vector {
            return vector_pointer(f, space, path);
        }
        (space, path.text(), f.func.value_type(base), indices)
    };
    for (i, &index) in rest.iter().enumerate() {
        let (step, inner) = f.step(ty, index)?;
        if f.cx.types.is_vector(ty) && i + 1 == rest.len() {
            return Ok((space, component(f, space, &place, inner, &step)));
        }
        place = stepped(&place, &step);
        ty = inner;
    }
    Ok((space, Expr::unary("&", &place)))
}

fn stepped(place: &Expr, step: &Step) -> Expr {
    match step {
        Step::Known(known) => place.postfix(known),
        Step::Index { array, index } => {
            place.postfix(&format!("{}[{}]", if *array { ".at" } else { "" }, index.text))
        }
    }
}

/// A place in shared memory as something that a reference can be bound to.
pub fn component_of_shared(f: &mut FnEmit<'_, '_>, path: &Path) -> Expr {
    let mut vector = path.clone();
    let Some(step) = vector.steps.pop().filter(|_| path.in_vector) else { return path.text() };
    let ty = f.cx.types.scalar_of(path.part_type).map_or(TypeId::U32, TypeId::scalar);
    let pointer = component(f, "threadgroup", &vector.text(), ty, &step);
    Expr::atom(format!("*({})", pointer.text))
}

/// A component of a vector has no address, but the vector has.
fn component(
    f: &mut FnEmit<'_, '_>,
    space: &str,
    vector: &Expr,
    inner: TypeId,
    step: &Step,
) -> Expr {
    let ty = f.cx.type_name(inner);
    let index = match step {
        Step::Known(known) => {
            ["x", "y", "z", "w"].iter().position(|c| known.ends_with(c)).unwrap_or(0).to_string()
        }
        Step::Index { index, .. } => index.at(Prec::Multiply),
    };
    let text = format!("reinterpret_cast<{space} {ty}*>(&{}) + {index}", vector.text);
    Expr { prec: Prec::Add, ..Expr::made(text, Prec::Add, [vector]) }
}

fn vector_pointer(
    f: &mut FnEmit<'_, '_>,
    space: &'static str,
    mut path: Path,
) -> Emit<(&'static str, Expr)> {
    let Some(step) = path.steps.pop() else { return Err(internal("a part of nothing")) };
    let vector = path.text();
    let ty = f.cx.types.scalar_of(path.part_type).map_or(TypeId::U32, TypeId::scalar);
    Ok((space, component(f, space, &vector, ty, &step)))
}

fn helper(f: &mut FnEmit<'_, '_>, op: AtomicOp, scalar: Scalar, space: &str) -> String {
    let kind = if space == "device" { "atomic" } else { "shared" };
    let name = format!("lc_{kind}_{}", op.name());
    let ty = f.cx.language.scalar(scalar);
    let key = format!("{name}/{ty}/{space}");
    if scalar.is_float() && matches!(op, AtomicOp::FetchMin | AtomicOp::FetchMax) {
        extreme(f, op == AtomicOp::FetchMin, scalar);
    }
    f.cx.helper(&key, |_| match scalar {
        Scalar::I32 | Scalar::U32 => direct(&name, op, ty, space),
        _ => by_exchange(&name, op, scalar, ty, space),
    });
    name
}

const RELAXED: &str = "memory_order_relaxed";

fn direct(name: &str, op: AtomicOp, ty: &str, space: &str) -> String {
    let word = format!("reinterpret_cast<{space} atomic_{ty}*>(p)");
    if op == AtomicOp::CompareExchange {
        return format!(
            "{ty} {name}({space} {ty}* p, {ty} expected, {ty} desired) {{\n    {ty} seen = expected;\n    \
             while (!atomic_compare_exchange_weak_explicit({word}, &seen, desired, {RELAXED}, {RELAXED})) {{\n        \
             if (seen != expected) {{\n            break;\n        }}\n    }}\n    return seen;\n}}\n"
        );
    }
    let function = match op {
        AtomicOp::Exchange => "atomic_exchange",
        AtomicOp::FetchAdd => "atomic_fetch_add",
        AtomicOp::FetchSub => "atomic_fetch_sub",
        AtomicOp::FetchAnd => "atomic_fetch_and",
        AtomicOp::FetchOr => "atomic_fetch_or",
        AtomicOp::FetchXor => "atomic_fetch_xor",
        AtomicOp::FetchMin => "atomic_fetch_min",
        _ => "atomic_fetch_max",
    };
    format!(
        "{ty} {name}({space} {ty}* p, {ty} v) {{\n    return {function}_explicit({word}, v, {RELAXED});\n}}\n"
    )
}

/// A loop that exchanges the word which a value lies in.
fn by_exchange(name: &str, op: AtomicOp, scalar: Scalar, ty: &str, space: &str) -> String {
    let small = scalar.size() < 4;
    let bits = match scalar.size() {
        1 => "uchar",
        2 => "ushort",
        _ => "uint",
    };
    let word = match small {
        true => format!(
            "    ulong address = reinterpret_cast<ulong>(p);\n    uint shift = uint(address & 3ul) * 8u;\n    \
             {space} atomic_uint* word = reinterpret_cast<{space} atomic_uint*>(address & ~3ul);\n"
        ),
        false => {
            format!("    {space} atomic_uint* word = reinterpret_cast<{space} atomic_uint*>(p);\n")
        }
    };
    let decode = match small {
        true => format!("as_type<{ty}>({bits}(seen >> shift))"),
        false => format!("as_type<{ty}>(seen)"),
    };
    let mask = if scalar.size() == 1 { "0xffu" } else { "0xffffu" };
    let encode = match small {
        true => format!("(seen & ~({mask} << shift)) | (uint(as_type<{bits}>(next)) << shift)"),
        false => "as_type<uint>(next)".to_string(),
    };
    let next = match op {
        AtomicOp::Exchange => "v".to_string(),
        AtomicOp::CompareExchange => {
            format!("as_type<{bits}>(old) == as_type<{bits}>(v) ? desired : old")
        }
        AtomicOp::FetchAdd if scalar.is_float() => "old + v".to_string(),
        AtomicOp::FetchSub if scalar.is_float() => "old - v".to_string(),
        AtomicOp::FetchAdd => format!("{ty}(uint(old) + uint(v))"),
        AtomicOp::FetchSub => format!("{ty}(uint(old) - uint(v))"),
        AtomicOp::FetchAnd => format!("{ty}(old & v)"),
        AtomicOp::FetchOr => format!("{ty}(old | v)"),
        AtomicOp::FetchXor => format!("{ty}(old ^ v)"),
        AtomicOp::FetchMin if scalar.is_float() => "lc_least(old, v)".to_string(),
        AtomicOp::FetchMax if scalar.is_float() => "lc_greatest(old, v)".to_string(),
        AtomicOp::FetchMin => "min(old, v)".to_string(),
        AtomicOp::FetchMax => "max(old, v)".to_string(),
    };
    let more =
        if op == AtomicOp::CompareExchange { format!(", {ty} desired") } else { String::new() };
    format!(
        "{ty} {name}({space} {ty}* p, {ty} v{more}) {{\n{word}    uint seen = atomic_load_explicit(word, {RELAXED});\n    \
         while (true) {{\n        {ty} old = {decode};\n        {ty} next = {next};\n        \
         if (atomic_compare_exchange_weak_explicit(word, &seen, {encode}, {RELAXED}, {RELAXED})) {{\n            \
         return old;\n        }}\n    }}\n}}\n"
    )
}

/// The least or greatest of two floats: a number wins over NaN, and -0 is less than +0.
fn extreme(f: &mut FnEmit<'_, '_>, least: bool, scalar: Scalar) {
    let ty = f.cx.language.scalar(scalar);
    let name = if least { "lc_least" } else { "lc_greatest" };
    let (bits, mask, infinity) = match scalar {
        Scalar::F16 => ("ushort", "0x7fff", "0x7c00"),
        _ => ("uint", "0x7fffffffu", "0x7f800000u"),
    };
    let (order, zero) = if least { ("<", ">") } else { (">", "<") };
    f.cx.helper(&format!("{name}/{ty}"), |_| {
        format!(
            "{ty} {name}({ty} a, {ty} b) {{\n    if ((as_type<{bits}>(a) & {mask}) > {infinity}) {{\n        return b;\n    }}\n    \
             if ((as_type<{bits}>(b) & {mask}) > {infinity}) {{\n        return a;\n    }}\n    \
             return b {order} a || (b == a && as_type<{bits}>(b) {zero} as_type<{bits}>(a)) ? b : a;\n}}\n"
        )
    });
}
