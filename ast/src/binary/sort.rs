//! From the order of a file to callees first.

use std::fmt::Write;

use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap};

use super::cursor::Wrong;
use super::record::{Made, Reader};
use super::{CallableLibrary, Layout, codes};
use crate::model::{Callee, ExprKind, FunctionId};

/// How many functions of a circle are named.
const SHOWN: usize = 16;

/// Puts the functions into an order in which callees come before callers, and else as in the file.
pub(super) fn sorted(
    reader: Reader<'_>,
    layout: Layout,
    named: &[u64],
    inline: &[u64],
) -> Result<CallableLibrary, Wrong> {
    let Reader { mut library, functions, positions, .. } = reader;
    let order = post_order(&functions).map_err(|circle| circle_error(&functions, &circle))?;
    let mut places: SecondaryMap<FunctionId, FunctionId> =
        SecondaryMap::with_default(FunctionId::new(0));
    for (i, old) in order.iter().enumerate() {
        places[*old] = FunctionId::new(i);
    }
    let mut taken: PrimaryMap<FunctionId, Option<_>> =
        functions.into_iter().map(|(_, f)| Some(f)).collect();
    let mut records = PrimaryMap::new();
    for old in order {
        let Some(Made { mut function, mut record, .. }) = taken[old].take() else { continue };
        for expr in function.exprs.values_mut() {
            if let ExprKind::Call { callee: Callee::Function(callee), .. } = &mut expr.kind {
                *callee = places[*callee];
            }
        }
        record.callees.iter_mut().for_each(|c| *c = places[*c]);
        library.functions.push(function);
        records.push(record);
    }
    let place = |hash: &u64| places[positions[hash]];
    Ok(CallableLibrary {
        library,
        layout,
        records,
        named: named.iter().map(place).collect(),
        inline: inline.iter().map(place).collect(),
    })
}

/// Names the functions of a circle, the last of which calls the first, at the place of that call.
fn circle_error(functions: &PrimaryMap<FunctionId, Made>, circle: &[FunctionId]) -> Wrong {
    let name = |id: &FunctionId| match functions[*id].record.names.first() {
        Some(name) => {
            let short: String = name.chars().take(40).collect();
            format!("`{}`", short.escape_default())
        }
        None => format!("{:#018x}", functions[*id].record.hash),
    };
    let mut message = "callables call each other in a circle: ".to_owned();
    for function in circle.iter().take(SHOWN) {
        let _ = write!(message, "{} -> ", name(function));
    }
    if circle.len() > SHOWN {
        let _ = write!(message, "{} more -> ", circle.len() - SHOWN);
    }
    let (first, last) = (circle.first(), circle.last());
    message.extend(first.map(name));
    let calls = last.map_or(&[][..], |last| &functions[*last].calls);
    let call = calls.iter().find(|(callee, _)| Some(callee) == first);
    Wrong::new(codes::RECURSION, call.map_or(0, |(_, at)| *at), message)
}

/// Functions in post-order of the call graph, or a circle in it. Its own stack; cost linear in functions and calls.
fn post_order(
    functions: &PrimaryMap<FunctionId, Made>,
) -> Result<Vec<FunctionId>, Vec<FunctionId>> {
    #[derive(Clone, Copy, Default, PartialEq)]
    enum State {
        #[default]
        New,
        Open,
        Done,
    }
    let mut states: SecondaryMap<FunctionId, State> = SecondaryMap::new();
    let mut order = Vec::with_capacity(functions.len());
    for start in functions.keys() {
        if states[start] != State::New {
            continue;
        }
        states[start] = State::Open;
        let mut path = vec![(start, 0)];
        while let Some((function, next)) = path.last_mut() {
            let Some((callee, _)) = functions[*function].calls.get(*next).copied() else {
                states[*function] = State::Done;
                order.push(*function);
                path.pop();
                continue;
            };
            *next += 1;
            match states[callee] {
                State::Done => {}
                State::New => {
                    states[callee] = State::Open;
                    path.push((callee, 0));
                }
                State::Open => {
                    let from = path.iter().position(|(f, _)| *f == callee).unwrap_or(0);
                    return Err(path[from..].iter().map(|(f, _)| *f).collect());
                }
            }
        }
    }
    Ok(order)
}
