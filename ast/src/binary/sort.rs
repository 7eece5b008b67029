//! From the order of a file to callees first.

use std::fmt::Write;

use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap};

use super::cursor::Wrong;
use super::record::Reader;
use super::{CallableLibrary, Layout, codes};
use crate::model::{Callee, ExprKind, FunctionId};

/// Puts the functions into an order in which callees come before callers, and else as in the file.
pub(super) fn sorted(
    reader: Reader<'_>,
    layout: Layout,
    named: &[u64],
    inline: &[u64],
) -> Result<CallableLibrary, Wrong> {
    let Reader { mut library, functions, positions, .. } = reader;
    let callees: PrimaryMap<FunctionId, Vec<FunctionId>> = functions
        .values()
        .map(|(function, record)| {
            let called = function.exprs.values().filter_map(|e| match e.kind {
                ExprKind::Call { callee: Callee::Function(callee), .. } => Some(callee),
                _ => None,
            });
            record.callees.iter().copied().chain(called).collect()
        })
        .collect();
    let order = post_order(&callees).map_err(|cycle| {
        let mut message = "callables call each other in a circle: ".to_owned();
        for function in cycle.iter().chain(cycle.first()) {
            let names = &functions[*function].1.names;
            let _ = match names.first() {
                Some(name) => write!(message, "`{name}` -> "),
                None => write!(message, "{:#018x} -> ", functions[*function].1.hash),
            };
        }
        message.truncate(message.len() - " -> ".len());
        Wrong::new(codes::RECURSION, usize::MAX, message)
    })?;
    let mut places: SecondaryMap<FunctionId, FunctionId> =
        SecondaryMap::with_default(FunctionId::new(0));
    for (i, old) in order.iter().enumerate() {
        places[*old] = FunctionId::new(i);
    }
    let mut taken: PrimaryMap<FunctionId, Option<_>> =
        functions.into_iter().map(|(_, f)| Some(f)).collect();
    let mut records = PrimaryMap::new();
    for old in order {
        let Some((mut function, mut record)) = taken[old].take() else { continue };
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

/// Functions in post-order of the call graph, or a circle in it. Its own stack; cost linear in functions and calls.
fn post_order(
    callees: &PrimaryMap<FunctionId, Vec<FunctionId>>,
) -> Result<Vec<FunctionId>, Vec<FunctionId>> {
    #[derive(Clone, Copy, Default, PartialEq)]
    enum State {
        #[default]
        New,
        Open,
        Done,
    }
    let mut states: SecondaryMap<FunctionId, State> = SecondaryMap::new();
    let mut order = Vec::with_capacity(callees.len());
    for start in callees.keys() {
        if states[start] != State::New {
            continue;
        }
        states[start] = State::Open;
        let mut path = vec![(start, 0)];
        while let Some((function, next)) = path.last_mut() {
            let Some(callee) = callees[*function].get(*next).copied() else {
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
