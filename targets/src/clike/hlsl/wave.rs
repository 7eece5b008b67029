//! Barriers and operations of waves in HLSL.

use luisac_ast::types::{Scalar, TypeId};
use luisac_xir::InstId;
use luisac_xir::op::{SpecialRegister, ThreadGroupOp as G};

use crate::clike::Emit;
use crate::clike::expr::{Expr, Prec};
use crate::clike::function::FnEmit;
use crate::clike::language::Language;
use crate::clike::wave;

/// The statement of a barrier.
const BARRIER: &str = "AllMemoryBarrierWithGroupSync();";

/// A barrier or an operation of a wave.
pub fn thread_group(f: &mut FnEmit<'_, '_>, inst: InstId, op: G) -> Emit<()> {
    wave::thread_group(f, inst, op, (BARRIER, wave))
}

fn wave(f: &mut FnEmit<'_, '_>, op: G, ty: TypeId, args: &[Expr]) -> Option<Expr> {
    let lane = Expr::atom(f.specials[SpecialRegister::WarpLaneId as usize].clone());
    let scalar = f.cx.types.scalar_of(ty).unwrap_or(Scalar::U32);
    Some(match (op, args) {
        (G::WarpIsFirstActiveLane, _) => Expr::call("WaveIsFirstLane", &[]),
        (G::WarpFirstActiveLane, _) => Expr::call("WaveReadLaneFirst", &[lane]),
        (G::WarpActiveAll, [v]) => Expr::call("WaveActiveAllTrue", std::slice::from_ref(v)),
        (G::WarpActiveAny, [v]) => Expr::call("WaveActiveAnyTrue", std::slice::from_ref(v)),
        (G::WarpActiveCountBits, [v]) => Expr::call("WaveActiveCountBits", std::slice::from_ref(v)),
        (G::WarpPrefixCountBits, [v]) => Expr::call("WavePrefixCountBits", std::slice::from_ref(v)),
        (G::WarpActiveBitMask, [v]) => Expr::call("WaveActiveBallot", std::slice::from_ref(v)),
        (G::WarpActiveAllEqual, [v]) => by_lanes(f, ty, v, TypeId::BOOL, |_, lane| {
            format!("WaveActiveAllTrue(WaveReadLaneFirst({lane}) == {lane})")
        }),
        (G::WarpActiveBitAnd | G::WarpActiveBitOr | G::WarpActiveBitXor, [v]) => {
            bits(f, op, scalar, ty, v)
        }
        (G::WarpActiveSum, [v]) => number(f, "WaveActiveSum", scalar, ty, v),
        (G::WarpActiveProduct, [v]) => number(f, "WaveActiveProduct", scalar, ty, v),
        (G::WarpPrefixSum, [v]) => number(f, "WavePrefixSum", scalar, ty, v),
        (G::WarpPrefixProduct, [v]) => number(f, "WavePrefixProduct", scalar, ty, v),
        (G::WarpActiveMin, [v]) => extreme(f, true, scalar, ty, v),
        (G::WarpActiveMax, [v]) => extreme(f, false, scalar, ty, v),
        (G::WarpReadFirstActiveLane, [v]) => {
            columns(f, ty, v, |c| format!("WaveReadLaneFirst({c})"))
        }
        (G::WarpReadLane, [v, from]) => read_lane(f, ty, v, from, &lane),
        _ => return None,
    })
}

/// A value made lane by lane; the lanes are scalars of `element`'s shape.
fn by_lanes(
    f: &mut FnEmit<'_, '_>,
    ty: TypeId,
    v: &Expr,
    element: TypeId,
    make: impl Fn(&mut FnEmit<'_, '_>, &str) -> String,
) -> Expr {
    if !f.cx.types.is_vector(ty) {
        let text = make(f, &v.text);
        return Expr::made(text, Prec::Atom, [v]);
    }
    let dim = f.cx.types.dim(ty);
    let scalar = f.cx.types.scalar_of(element).unwrap_or(Scalar::U32);
    let parts: Vec<String> = ["x", "y", "z", "w"][..usize::from(dim)]
        .iter()
        .map(|c| make(f, &format!("{}.{c}", v.at(Prec::Atom))))
        .collect();
    let text = format!("{}({})", Language::Hlsl.vector(scalar, dim), parts.join(", "));
    Expr::made(text, Prec::Atom, [v])
}

/// A matrix column by column, anything else as it is.
fn columns(f: &mut FnEmit<'_, '_>, ty: TypeId, v: &Expr, make: impl Fn(&str) -> String) -> Expr {
    if !f.cx.types.is_matrix(ty) {
        return Expr::made(make(&v.text), Prec::Atom, [v]);
    }
    let parts: Vec<String> =
        (0..f.cx.types.dim(ty)).map(|i| make(&format!("{}[{i}]", v.at(Prec::Atom)))).collect();
    let text = format!("{}({})", f.cx.type_name(ty), parts.join(", "));
    Expr::made(text, Prec::Atom, [v])
}

/// Sums and products; integers as unsigned ones, which wrap.
fn number(f: &mut FnEmit<'_, '_>, name: &str, scalar: Scalar, ty: TypeId, v: &Expr) -> Expr {
    if scalar.is_float() {
        return Expr::call(name, std::slice::from_ref(v));
    }
    let wide = f.as_unsigned(scalar, ty, v);
    f.wrapped(scalar, ty, Expr::call(name, &[wide]))
}

fn bits(f: &mut FnEmit<'_, '_>, op: G, scalar: Scalar, ty: TypeId, v: &Expr) -> Expr {
    let name = match op {
        G::WarpActiveBitAnd => "WaveActiveBitAnd",
        G::WarpActiveBitOr => "WaveActiveBitOr",
        _ => "WaveActiveBitXor",
    };
    if scalar == Scalar::Bool {
        return by_lanes(f, ty, v, TypeId::BOOL, |_, lane| match op {
            G::WarpActiveBitAnd => format!("WaveActiveAllTrue({lane})"),
            G::WarpActiveBitOr => format!("WaveActiveAnyTrue({lane})"),
            _ => format!("((WaveActiveCountBits({lane}) & 1u) != 0u)"),
        });
    }
    if scalar.size() == 2 {
        // Only words take part in operations on bits.
        let dim = if f.cx.types.is_vector(ty) { f.cx.types.dim(ty) } else { 1 };
        let wide = Expr::call(&Language::Hlsl.vector(Scalar::U32, dim), std::slice::from_ref(v));
        return Expr::call(&f.cx.type_name(ty), &[Expr::call(name, &[wide])]);
    }
    let wide = f.as_unsigned(scalar, ty, v);
    f.wrapped(scalar, ty, Expr::call(name, &[wide]))
}

/// The least or greatest. Floats are compared by keys in the order of integers, in which NaN comes last.
fn extreme(f: &mut FnEmit<'_, '_>, least: bool, scalar: Scalar, ty: TypeId, v: &Expr) -> Expr {
    let name = if least { "WaveActiveMin" } else { "WaveActiveMax" };
    if !scalar.is_float() {
        return Expr::call(name, std::slice::from_ref(v));
    }
    let helper = if least { "lc_wave_least" } else { "lc_wave_greatest" };
    let is_double = scalar == Scalar::F64;
    by_lanes(f, ty, v, ty, |f, lane| {
        let ty = if is_double { "double" } else { "float" };
        if is_double {
            f.cx.helper("lc_double_bits", |_| super::memory::DOUBLE_BITS.to_string());
        }
        f.cx.helper(&format!("{helper}/{ty}"), |_| wave_extreme(helper, name, least, is_double));
        match scalar {
            Scalar::F16 => format!("float16_t({helper}(float({lane})))"),
            _ => format!("{helper}({lane})"),
        }
    })
}

fn wave_extreme(helper: &str, name: &str, least: bool, is_double: bool) -> String {
    let (float, word, one, top, rest, infinity) = match is_double {
        true => (
            "double",
            "uint64_t",
            "ull",
            "0x8000000000000000ull",
            "0x7fffffffffffffffull",
            "0x7ff0000000000000ull",
        ),
        false => ("float", "uint", "u", "0x80000000u", "0x7fffffffu", "0x7f800000u"),
    };
    let bits = if is_double { "lc_double_bits(v)" } else { "asuint(v)" };
    let last = if least { format!("~0{one}") } else { format!("0{one}") };
    let back = match is_double {
        true => "asdouble(uint(bits), uint(bits >> 32))",
        false => "asfloat(bits)",
    };
    format!(
        "{float} {helper}({float} v) {{\n    {word} bits = {bits};\n    \
         {word} key = (bits & {top}) != 0{one} ? ~bits : bits | {top};\n    \
         key = {name}((bits & {rest}) > {infinity} ? {last} : key);\n    \
         bits = (key & {top}) != 0{one} ? key & {rest} : ~key;\n    return {back};\n}}\n"
    )
}

/// The value of another lane; zero from one that does not take part.
fn read_lane(f: &mut FnEmit<'_, '_>, ty: TypeId, v: &Expr, from: &Expr, lane: &Expr) -> Expr {
    f.cx.helper("lc_is_active", |_| IS_ACTIVE.to_string());
    let active = f.names.fresh("active", "active");
    f.lines.push(format!("const bool {active} = lc_is_active({});", from.text));
    let source = f.names.fresh("lane", "lane");
    f.lines.push(format!("const uint {source} = {active} ? {} : {};", from.text, lane.text));
    let read = columns(f, ty, v, |c| format!("WaveReadLaneAt({c}, {source})"));
    let read = f.type_variable(ty, &read).unwrap_or(read);
    if f.cx.types.is_matrix(ty) {
        let zero = f.cx.zero(TypeId::vector(Scalar::F32, f.cx.types.dim(ty)));
        return columns(f, ty, &read, |c| format!("({active} ? {c} : {})", zero.text));
    }
    let zero = f.cx.zero(ty);
    Expr::conditional(&Expr::atom(active), &read, &zero)
}

const IS_ACTIVE: &str = "\
// Whether a lane takes part.
bool lc_is_active(uint lane) {
    uint4 lanes = WaveActiveBallot(true);
    return lane < 128u && ((lanes[(lane >> 5) & 3u] >> (lane & 31u)) & 1u) != 0u;
}
";
