//! Atomic operations in HLSL.
//!
//! Integers of 32 bits, and of 64 from shader model 6.6 on, have operations of their own. Floats, and integers of 8 and 16 bits in
//! buffers, are changed by loops that compare and exchange the word they lie in, by its bits.

use luisac_ast::types::{Scalar, TypeId};
use luisac_xir::op::AtomicOp;
use luisac_xir::{InstId, ValueId};

use crate::clike::Emit;
use crate::clike::expr::{Expr, Prec};
use crate::clike::function::{FnEmit, internal};
use crate::errors;

/// Where an atomic operates.
enum Target {
    /// Buffer and offset.
    Buffer(String, String),
    /// Shared memory.
    Shared(String),
}

impl Target {
    /// The call of an interlocked function.
    fn call(&self, name: &str, suffix: &str, args: &[&str]) -> String {
        let list = args.join(", ");
        match self {
            Target::Buffer(buffer, at) => format!("{buffer}.{name}{suffix}({at}, {list});"),
            Target::Shared(place) => format!("{name}({place}, {list});"),
        }
    }
}

/// An atomic instruction.
pub fn atomic(f: &mut FnEmit<'_, '_>, inst: InstId, op: AtomicOp) -> Emit<()> {
    let args = f.func.args(inst).to_vec();
    let Some(split) = args.len().checked_sub(op.value_count()).filter(|&n| n > 0) else {
        return Err(internal("an atomic without operands"));
    };
    let (chain, values) = args.split_at(split);
    let ty = f.func.inst(inst).ty;
    let scalar = f.cx.types.scalar_of(ty).unwrap_or(Scalar::U32);
    let target = target(f, chain)?;
    let mut operands = f.values(values)?;
    f.settle()?;
    for operand in &mut operands {
        *operand = f.named(ty, operand.clone())?;
    }
    if scalar.size() == 8 {
        f.cx.uses.long_atomics = true;
        f.cx.uses.long_shared_atomics |= matches!(target, Target::Shared(_));
    }
    let shared = matches!(target, Target::Shared(_));
    let native = scalar.is_int() && scalar.size() >= 4;
    if shared && !native && scalar != Scalar::F32 && scalar.size() != 1 {
        return Err(f.cx.refuse(
            errors::UNSUPPORTED_TYPE,
            format!("HLSL has no atomic operation on `{}` in shared memory", scalar.name()),
            "use a number of 32 bits",
        ));
    }
    match native || (scalar == Scalar::F32 && op == AtomicOp::Exchange) {
        true => direct(f, inst, op, scalar, &target, &operands),
        false => by_exchange(f, inst, op, scalar, &target, &operands),
    }
}

fn target(f: &mut FnEmit<'_, '_>, chain: &[ValueId]) -> Emit<Target> {
    let Some((&base, indices)) = chain.split_first() else {
        return Err(internal("an atomic without a base"));
    };
    if !f.func.is_resource(base) {
        let mut path = f.place(base)?;
        let mut ty = f.func.value_type(base);
        for &index in indices {
            let (step, inner) = f.step(ty, index)?;
            path.steps.push(step);
            ty = inner;
        }
        f.settle_path(&mut path)?;
        return Ok(Target::Shared(path.text().text));
    }
    let Some((&index, rest)) = indices.split_first() else {
        return Err(internal("an atomic on a buffer without an index"));
    };
    let element = f.element(base, index)?;
    let mut at = element.offset;
    let mut ty = element.of;
    let mut fixed = 0u64;
    for &index in rest {
        let types = f.cx.types;
        match f.func.constant_bits(index).filter(|&i| i < u64::from(types.member_count(ty))) {
            Some(i) => fixed += types.member_offset(ty, i as u32),
            None => {
                let stride = types.element_type(ty, 0).map_or(0, |e| types.stride(e));
                let text = f.value(index)?;
                let more = crate::clike::resources::scaled(&text, false, None, stride);
                at = Expr::binary("+", Prec::Add, &at, &more);
            }
        }
        let constant = f.func.constant_bits(index).unwrap_or(0);
        ty = types
            .element_type(ty, constant as u32)
            .or_else(|| types.element_type(ty, 0))
            .unwrap_or(ty);
    }
    if fixed > 0 {
        at = Expr::binary("+", Prec::Add, &at, &Expr::atom(format!("{fixed}u")));
    }
    let at = f.named(TypeId::U32, at)?;
    Ok(Target::Buffer(element.buffer.handle, at.text))
}

/// The name of an operation that the language has.
fn name(op: AtomicOp) -> &'static str {
    match op {
        AtomicOp::Exchange => "InterlockedExchange",
        AtomicOp::CompareExchange => "InterlockedCompareExchange",
        AtomicOp::FetchAdd | AtomicOp::FetchSub => "InterlockedAdd",
        AtomicOp::FetchAnd => "InterlockedAnd",
        AtomicOp::FetchOr => "InterlockedOr",
        AtomicOp::FetchXor => "InterlockedXor",
        AtomicOp::FetchMin => "InterlockedMin",
        AtomicOp::FetchMax => "InterlockedMax",
    }
}

/// Declares the variable for the old value.
fn declare_old(f: &mut FnEmit<'_, '_>, inst: InstId, ty: &str) -> Emit<String> {
    let wish = f.func.result(inst).and_then(|r| f.func.name_of(r)).unwrap_or("old").to_string();
    let old = f.names.fresh(&wish, "old");
    f.lines.push(format!("{ty} {old};"));
    Ok(old)
}

/// Says that the result of an instruction is a variable.
fn result(f: &mut FnEmit<'_, '_>, inst: InstId, text: &str, prec: Prec) -> Emit<()> {
    f.define(inst, Expr { prec, ..Expr::atom(text) })
}

fn direct(
    f: &mut FnEmit<'_, '_>,
    inst: InstId,
    op: AtomicOp,
    scalar: Scalar,
    target: &Target,
    operands: &[Expr],
) -> Emit<()> {
    let suffix = if scalar.size() == 8 { "64" } else { "" };
    let in_bits = scalar == Scalar::F32 && matches!(target, Target::Buffer(..));
    let ty = if in_bits { "uint" } else { f.cx.language.scalar(scalar) };
    let mut texts: Vec<String> = operands
        .iter()
        .map(|o| if in_bits { format!("asuint({})", o.text) } else { o.text.clone() })
        .collect();
    if op == AtomicOp::FetchSub
        && let Some(first) = operands.first()
    {
        let ty = TypeId::scalar(scalar);
        let wide = f.as_unsigned(scalar, ty, first);
        texts[0] = f.wrapped(scalar, ty, Expr::unary("-", &wide)).text;
    }
    let unused = f.func.result(inst).is_none_or(|r| !f.func.has_uses(r));
    let mut list: Vec<&str> = texts.iter().map(String::as_str).collect();
    if unused && !matches!(op, AtomicOp::Exchange | AtomicOp::CompareExchange) {
        f.lines.push(target.call(name(op), suffix, &list));
        return Ok(());
    }
    let old = declare_old(f, inst, ty)?;
    list.push(&old);
    f.lines.push(target.call(name(op), suffix, &list));
    let text = if in_bits { format!("asfloat({old})") } else { old };
    result(f, inst, &text, Prec::Atom)
}

/// How a value lies in the word that is exchanged.
struct Cell {
    /// The type of the word.
    word: &'static str,
    /// The suffix of the interlocked function.
    suffix: &'static str,
}

fn by_exchange(
    f: &mut FnEmit<'_, '_>,
    inst: InstId,
    op: AtomicOp,
    scalar: Scalar,
    target: &Target,
    operands: &[Expr],
) -> Emit<()> {
    let shared = matches!(target, Target::Shared(_));
    let small = scalar.size() < 4 && !shared;
    let cell = match scalar {
        Scalar::F64 => Cell { word: "uint64_t", suffix: "64" },
        Scalar::F32 if shared => Cell { word: "float", suffix: "" },
        _ if shared => Cell { word: f.cx.language.scalar(scalar), suffix: "" },
        _ => Cell { word: "uint", suffix: "" },
    };
    let [seen, old, shift] = ["seen", "old", "shift"].map(|n| f.names.fresh(n, n));
    let target = match (target, small) {
        (Target::Buffer(buffer, at), true) => {
            f.lines.push(format!("const uint {shift} = ({at} & 3u) * 8u;"));
            let at = if at.ends_with('u') { format!("({at})") } else { at.clone() };
            Target::Buffer(buffer.clone(), format!("{at} & ~3u"))
        }
        (Target::Buffer(buffer, at), false) => Target::Buffer(buffer.clone(), at.clone()),
        (Target::Shared(place), _) => Target::Shared(place.clone()),
    };
    let first = match &target {
        Target::Buffer(buffer, at) => format!("{buffer}.Load<{}>({at})", cell.word),
        Target::Shared(place) => place.clone(),
    };
    let value = decode(f, scalar, &seen, &shift, small, shared);
    let next = next(f, op, scalar, &value, operands);
    let bits = encode(f, scalar, &next, &seen, &shift, small, shared);
    f.lines.push(format!("{} {seen};", cell.word));
    f.lines.push(format!("{} {old} = {first};", cell.word));
    f.lines.open("do {");
    f.lines.push(format!("{seen} = {old};"));
    let function = match (shared, scalar) {
        (true, Scalar::F32) => "InterlockedCompareExchangeFloatBitwise",
        _ => "InterlockedCompareExchange",
    };
    f.lines.push(target.call(function, cell.suffix, &[&seen, &bits, &old]));
    let same = match cell.word {
        "float" => format!("asuint({old}) != asuint({seen})"),
        _ => format!("{old} != {seen}"),
    };
    f.lines.close(format!("}} while ({same});"));
    let text = decode(f, scalar, &old, &shift, small, shared);
    result(f, inst, &text, Prec::Unary)
}

/// The value in a word.
fn decode(
    f: &mut FnEmit<'_, '_>,
    scalar: Scalar,
    word: &str,
    shift: &str,
    small: bool,
    shared: bool,
) -> String {
    if shared {
        return word.to_string();
    }
    let part = if small { format!("({word} >> {shift})") } else { word.to_string() };
    let _ = f;
    match scalar {
        Scalar::F32 => format!("asfloat({part})"),
        Scalar::F64 => format!("asdouble(uint({part}), uint({part} >> 32))"),
        Scalar::F16 => format!("asfloat16(uint16_t({part}))"),
        Scalar::I16 => format!("int16_t({part})"),
        Scalar::U16 => format!("uint16_t({part})"),
        Scalar::I8 => format!("(int({part} << 24) >> 24)"),
        _ => format!("({part} & 0xffu)"),
    }
}

/// The word with another value in it.
fn encode(
    f: &mut FnEmit<'_, '_>,
    scalar: Scalar,
    value: &str,
    seen: &str,
    shift: &str,
    small: bool,
    shared: bool,
) -> String {
    if shared {
        return value.to_string();
    }
    let bits = match scalar {
        Scalar::F32 => return format!("asuint({value})"),
        Scalar::F64 => {
            let double = Expr::atom(value.to_string());
            f.cx.helper("lc_double_bits", |_| super::memory::DOUBLE_BITS.to_string());
            return Expr::call("lc_double_bits", &[double]).text;
        }
        Scalar::F16 => format!("uint(asuint16({value}))"),
        Scalar::I16 => format!("uint(uint16_t({value}))"),
        Scalar::I8 => format!("(uint({value}) & 0xffu)"),
        _ => format!("uint({value})"),
    };
    let mask = if scalar.size() == 1 { "0xffu" } else { "0xffffu" };
    let _ = small;
    format!("({seen} & ~({mask} << {shift})) | ({bits} << {shift})")
}

/// The new value.
fn next(
    f: &mut FnEmit<'_, '_>,
    op: AtomicOp,
    scalar: Scalar,
    value: &str,
    operands: &[Expr],
) -> String {
    let empty = Expr::atom("0");
    let first = operands.first().unwrap_or(&empty);
    let old = Expr::atom(value.to_string());
    let ty = TypeId::scalar(scalar);
    let wrap = |f: &FnEmit<'_, '_>, symbol: &str, prec| {
        if scalar.is_float() {
            return Expr::binary(symbol, prec, &old, first).text;
        }
        let (a, b) = (f.as_unsigned(scalar, ty, &old), f.as_unsigned(scalar, ty, first));
        f.wrapped(scalar, ty, Expr::binary(symbol, prec, &a, &b)).text
    };
    match op {
        AtomicOp::Exchange => first.text.clone(),
        AtomicOp::CompareExchange => {
            let desired = operands.get(1).unwrap_or(first);
            let same = if scalar.is_float() {
                let (a, b) = (bits(f, scalar, value), bits(f, scalar, &first.text));
                format!("{a} == {b}")
            } else {
                format!("{value} == {}", first.text)
            };
            format!("({same} ? {} : {value})", desired.text)
        }
        AtomicOp::FetchAdd => wrap(f, "+", Prec::Add),
        AtomicOp::FetchSub => wrap(f, "-", Prec::Add),
        AtomicOp::FetchAnd => Expr::binary("&", Prec::BitAnd, &old, first).at(Prec::Atom),
        AtomicOp::FetchOr => Expr::binary("|", Prec::BitOr, &old, first).at(Prec::Atom),
        AtomicOp::FetchXor => Expr::binary("^", Prec::BitXor, &old, first).at(Prec::Atom),
        AtomicOp::FetchMin | AtomicOp::FetchMax if scalar.is_float() => {
            extreme(f, op == AtomicOp::FetchMin, scalar, value, &first.text)
        }
        AtomicOp::FetchMin => format!("min({value}, {})", first.text),
        AtomicOp::FetchMax => format!("max({value}, {})", first.text),
    }
}

/// The bits of a float.
fn bits(f: &mut FnEmit<'_, '_>, scalar: Scalar, value: &str) -> String {
    match scalar {
        Scalar::F16 => format!("asuint16({value})"),
        Scalar::F64 => {
            f.cx.helper("lc_double_bits", |_| super::memory::DOUBLE_BITS.to_string());
            format!("lc_double_bits({value})")
        }
        _ => format!("asuint({value})"),
    }
}

/// The least or greatest of two floats: a number wins over NaN, and -0 is less than +0.
fn extreme(f: &mut FnEmit<'_, '_>, least: bool, scalar: Scalar, a: &str, b: &str) -> String {
    let ty = f.cx.language.scalar(scalar);
    let name = if least { "lc_least" } else { "lc_greatest" };
    let (bits_a, bits_b) = (bits(f, scalar, "a"), bits(f, scalar, "b"));
    let (mask, infinity) = match scalar {
        Scalar::F16 => ("uint16_t(0x7fff)", "uint16_t(0x7c00)"),
        Scalar::F64 => ("0x7fffffffffffffffull", "0x7ff0000000000000ull"),
        _ => ("0x7fffffffu", "0x7f800000u"),
    };
    let (order, zero) = if least { ("<", ">") } else { (">", "<") };
    f.cx.helper(&format!("{name}/{ty}"), |_| {
        format!(
            "{ty} {name}({ty} a, {ty} b) {{\n    if (({bits_a} & {mask}) > {infinity}) {{\n        return b;\n    }}\n    \
             if (({bits_b} & {mask}) > {infinity}) {{\n        return a;\n    }}\n    \
             return b {order} a || (b == a && {bits_b} {zero} {bits_a}) ? b : a;\n}}\n"
        )
    });
    format!("{name}({a}, {b})")
}
