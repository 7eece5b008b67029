//! Barriers and operations of waves in MSL.

use luisac_ast::types::{Scalar, TypeId};
use luisac_xir::InstId;
use luisac_xir::op::{SpecialRegister, ThreadGroupOp as G};

use crate::clike::Emit;
use crate::clike::expr::{Expr, Prec};
use crate::clike::function::FnEmit;
use crate::clike::language::Language;
use crate::clike::wave;

/// The statement of a barrier.
const BARRIER: &str = "threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup | mem_flags::mem_texture);";

/// A barrier or an operation of a wave.
pub fn thread_group(f: &mut FnEmit<'_, '_>, inst: InstId, op: G) -> Emit<()> {
    wave::thread_group(f, inst, op, (BARRIER, wave))
}

const BALLOT: &str = "\
ulong lc_ballot(bool v) {
    return ulong(static_cast<simd_vote::vote_t>(simd_ballot(v)));
}
";

/// Values of other lanes: 64 bits in two halves, truth values as numbers.
const SHUFFLE: &str = "\
template <typename T>
T lc_shuffle(T v, uint lane) {
    return simd_shuffle(v, ushort(lane));
}
bool lc_shuffle(bool v, uint lane) {
    return simd_shuffle(ushort(v), ushort(lane)) != 0;
}
ulong lc_shuffle(ulong v, uint lane) {
    uint low = simd_shuffle(uint(v), ushort(lane));
    uint high = simd_shuffle(uint(v >> 32), ushort(lane));
    return (ulong(high) << 32) | ulong(low);
}
long lc_shuffle(long v, uint lane) {
    return long(lc_shuffle(ulong(v), lane));
}
";

fn ballot(f: &mut FnEmit<'_, '_>, v: &Expr) -> Expr {
    f.cx.helper("lc_ballot", |_| BALLOT.to_string());
    Expr::call("lc_ballot", std::slice::from_ref(v))
}

fn wave(f: &mut FnEmit<'_, '_>, op: G, ty: TypeId, args: &[Expr]) -> Option<Expr> {
    let lane = Expr::atom(f.specials[SpecialRegister::WarpLaneId as usize].clone());
    let scalar = f.cx.types.scalar_of(ty).unwrap_or(Scalar::U32);
    Some(match (op, args) {
        (G::WarpIsFirstActiveLane, _) => Expr::call("simd_is_first", &[]),
        (G::WarpFirstActiveLane, _) => Expr::call("simd_broadcast_first", &[lane]),
        (G::WarpActiveAll, [v]) => Expr::call("simd_all", std::slice::from_ref(v)),
        (G::WarpActiveAny, [v]) => Expr::call("simd_any", std::slice::from_ref(v)),
        (G::WarpActiveCountBits, [v]) => {
            let mask = ballot(f, v);
            Expr::call("uint", &[Expr::call("popcount", &[mask])])
        }
        (G::WarpPrefixCountBits, [v]) => {
            let mask = ballot(f, v);
            let below = format!("{} & ((1ul << {}) - 1ul)", mask.text, lane.text);
            Expr::call("uint", &[Expr::call("popcount", &[Expr::made(below, Prec::BitAnd, [v])])])
        }
        (G::WarpActiveBitMask, [v]) => {
            let mask = ballot(f, v);
            let mask = f.type_variable(TypeId::U64, &mask).ok()?;
            Expr::atom(format!("uint4(uint({0}), uint({0} >> 32), 0u, 0u)", mask.text))
        }
        (G::WarpActiveAllEqual, [v]) => by_lanes(f, ty, v, TypeId::BOOL, |f, lane| {
            let first = first(f, lane);
            format!("simd_all({first} == {lane})")
        }),
        (G::WarpActiveBitAnd | G::WarpActiveBitOr | G::WarpActiveBitXor, [v])
            if scalar == Scalar::Bool =>
        {
            by_lanes(f, ty, v, TypeId::BOOL, |f, lane| match op {
                G::WarpActiveBitAnd => format!("simd_all({lane})"),
                G::WarpActiveBitOr => format!("simd_any({lane})"),
                _ => {
                    let mask = ballot(f, &Expr::atom(lane.to_string()));
                    format!("((popcount({}) & 1ul) != 0ul)", mask.text)
                }
            })
        }
        (G::WarpActiveBitAnd, [v]) => number(f, "simd_and", "&", scalar, ty, v),
        (G::WarpActiveBitOr, [v]) => number(f, "simd_or", "|", scalar, ty, v),
        (G::WarpActiveBitXor, [v]) => number(f, "simd_xor", "^", scalar, ty, v),
        (G::WarpActiveSum, [v]) => number(f, "simd_sum", "+", scalar, ty, v),
        (G::WarpActiveProduct, [v]) => number(f, "simd_product", "*", scalar, ty, v),
        (G::WarpPrefixSum, [v]) => number(f, "simd_prefix_exclusive_sum", "+", scalar, ty, v),
        (G::WarpPrefixProduct, [v]) => {
            number(f, "simd_prefix_exclusive_product", "*", scalar, ty, v)
        }
        (G::WarpActiveMin, [v]) => extreme(f, true, scalar, ty, v),
        (G::WarpActiveMax, [v]) => extreme(f, false, scalar, ty, v),
        (G::WarpReadFirstActiveLane, [v]) => parts(f, ty, v, first),
        (G::WarpReadLane, [v, from]) => read_lane(f, ty, v, from, &lane),
        _ => return None,
    })
}

/// The value of the first active lane.
fn first(f: &mut FnEmit<'_, '_>, value: &str) -> String {
    f.cx.helper("lc_shuffle", |_| SHUFFLE.to_string());
    f.cx.helper("lc_ballot", |_| BALLOT.to_string());
    format!("lc_shuffle({value}, uint(ctz(lc_ballot(true))))")
}

/// A value made lane by lane; the lanes are scalars of `element`'s kind.
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
    let text = format!("{}({})", Language::Msl.vector(scalar, dim), parts.join(", "));
    Expr::made(text, Prec::Atom, [v])
}

/// A vector component by component, a matrix column by column.
fn parts(
    f: &mut FnEmit<'_, '_>,
    ty: TypeId,
    v: &Expr,
    make: impl Fn(&mut FnEmit<'_, '_>, &str) -> String,
) -> Expr {
    if !f.cx.types.is_matrix(ty) {
        return by_lanes(f, ty, v, ty, make);
    }
    let dim = f.cx.types.dim(ty);
    let column = TypeId::vector(Scalar::F32, dim);
    let columns: Vec<String> = (0..dim)
        .map(|i| {
            by_lanes(f, column, &Expr::atom(format!("{}[{i}]", v.at(Prec::Atom))), column, &make)
                .text
        })
        .collect();
    let text = format!("{}({})", f.cx.type_name(ty), columns.join(", "));
    Expr::made(text, Prec::Atom, [v])
}

/// Sums, products and operations on bits; integers as unsigned ones, which wrap. Of 64 bits, lane after lane.
fn number(
    f: &mut FnEmit<'_, '_>,
    name: &str,
    symbol: &str,
    scalar: Scalar,
    ty: TypeId,
    v: &Expr,
) -> Expr {
    if scalar.is_float() {
        return Expr::call(name, std::slice::from_ref(v));
    }
    if scalar.size() < 8 {
        if scalar == Scalar::U32 {
            return Expr::call(name, std::slice::from_ref(v));
        }
        let dim = if f.cx.types.is_vector(ty) { f.cx.types.dim(ty) } else { 1 };
        let wide = Expr::call(&Language::Msl.vector(Scalar::U32, dim), std::slice::from_ref(v));
        return Expr::call(&f.cx.type_name(ty), &[Expr::call(name, &[wide])]);
    }
    f.cx.helper("lc_shuffle", |_| SHUFFLE.to_string());
    f.cx.helper("lc_ballot", |_| BALLOT.to_string());
    let helper = format!("lc_{name}");
    let start = match symbol {
        "&" => "~0ul",
        "*" => "1ul",
        _ => "0ul",
    };
    let below = if name.contains("prefix") { " & ((1ul << lane) - 1ul)" } else { "" };
    f.cx.helper(&helper, |_| {
        format!(
            "ulong {helper}(ulong v, uint lane) {{\n    ulong result = {start};\n    \
             for (ulong lanes = lc_ballot(true); lanes != 0ul; lanes &= lanes - 1ul) {{\n        \
             ulong other = lc_shuffle(v, uint(ctz(lanes)));\n        \
             if (((lanes & (~lanes + 1ul)){below}) != 0ul) {{\n            result = result {symbol} other;\n        }}\n    }}\n    return result;\n}}\n"
        )
    });
    let lane_name = f.specials[SpecialRegister::WarpLaneId as usize].clone();
    let result = f.cx.language.scalar(scalar);
    // A total does not look at the lane.
    let lane_text = if below.is_empty() { "0u".to_string() } else { lane_name };
    by_lanes(f, ty, v, ty, |_, part| format!("{result}({helper}(ulong({part}), {lane_text}))"))
}

/// The least or greatest. Floats are compared by keys in the order of integers, in which NaN comes last.
fn extreme(f: &mut FnEmit<'_, '_>, least: bool, scalar: Scalar, ty: TypeId, v: &Expr) -> Expr {
    let name = if least { "simd_min" } else { "simd_max" };
    if scalar.size() == 8 {
        f.cx.helper("lc_shuffle", |_| SHUFFLE.to_string());
        f.cx.helper("lc_ballot", |_| BALLOT.to_string());
        let helper = format!("lc_{name}");
        let number = f.cx.language.scalar(scalar);
        let function = if least { "min" } else { "max" };
        f.cx.helper(&format!("{helper}/{number}"), |_| {
            format!(
                "{number} {helper}({number} v) {{\n    {number} result = v;\n    \
                 for (ulong lanes = lc_ballot(true); lanes != 0ul; lanes &= lanes - 1ul) {{\n        \
                 result = {function}(result, lc_shuffle(v, uint(ctz(lanes))));\n    }}\n    return result;\n}}\n"
            )
        });
        return by_lanes(f, ty, v, ty, |_, part| format!("{helper}({part})"));
    }
    if !scalar.is_float() {
        return Expr::call(name, std::slice::from_ref(v));
    }
    let helper = if least { "lc_wave_least" } else { "lc_wave_greatest" };
    let last = if least { "~0u" } else { "0u" };
    f.cx.helper(helper, |_| {
        format!(
            "float {helper}(float v) {{\n    uint bits = as_type<uint>(v);\n    \
             uint key = (bits & 0x80000000u) != 0u ? ~bits : bits | 0x80000000u;\n    \
             key = {name}((bits & 0x7fffffffu) > 0x7f800000u ? {last} : key);\n    \
             return as_type<float>((key & 0x80000000u) != 0u ? key & 0x7fffffffu : ~key);\n}}\n"
        )
    });
    by_lanes(f, ty, v, ty, |_, lane| match scalar {
        Scalar::F16 => format!("half({helper}(float({lane})))"),
        _ => format!("{helper}({lane})"),
    })
}

/// The value of another lane; zero from one that does not take part.
fn read_lane(f: &mut FnEmit<'_, '_>, ty: TypeId, v: &Expr, from: &Expr, lane: &Expr) -> Expr {
    f.cx.helper("lc_shuffle", |_| SHUFFLE.to_string());
    f.cx.helper("lc_ballot", |_| BALLOT.to_string());
    f.cx.helper("lc_is_active", |_| IS_ACTIVE.to_string());
    let active = f.names.fresh("active", "active");
    f.lines.push(format!("const bool {active} = lc_is_active({});", from.text));
    let source = f.names.fresh("lane", "lane");
    f.lines.push(format!("const uint {source} = {active} ? {} : {};", from.text, lane.text));
    let read = parts(f, ty, v, |_, part| format!("lc_shuffle({part}, {source})"));
    let read = f.type_variable(ty, &read).unwrap_or(read);
    let zero = f.cx.zero(ty);
    Expr::conditional(&Expr::atom(active), &read, &zero)
}

const IS_ACTIVE: &str = "\
// Whether a lane takes part.
bool lc_is_active(uint lane) {
    return lane < 64u && ((lc_ballot(true) >> lane) & 1ul) != 0ul;
}
";
