//! Invariant 19: no cycle among callables.

use super::VerifyError;
use crate::{FunctionId, Module};
use cranelift_entity::SecondaryMap;

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    New,
    Open,
    Done,
}

/// One error for each call that closes a cycle, naming the functions of the cycle.
pub(super) fn check_cycles(module: &Module) -> Vec<VerifyError> {
    let mut callees: SecondaryMap<FunctionId, Vec<FunctionId>> = SecondaryMap::new();
    for (id, function) in &module.functions {
        for inst in function.blocks().flat_map(|b| function.insts(b)) {
            let named = function.inst(inst).imm.functions();
            callees[id].extend(named.filter(|&callee| module.functions.is_valid(callee)));
        }
        callees[id].sort_unstable();
        callees[id].dedup();
    }
    let mut states: SecondaryMap<FunctionId, State> = SecondaryMap::new();
    let mut errors = Vec::new();
    for root in module.functions.keys() {
        if states[root] != State::New {
            continue;
        }
        states[root] = State::Open;
        let mut path = vec![(root, 0usize)];
        while let Some((function, next)) = path.last_mut() {
            let Some(&callee) = callees[*function].get(*next) else {
                states[*function] = State::Done;
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
                State::Open => errors.push(cycle(module, &path, callee)),
            }
        }
    }
    errors
}

fn cycle(module: &Module, path: &[(FunctionId, usize)], callee: FunctionId) -> VerifyError {
    let start = path.iter().position(|p| p.0 == callee).unwrap_or(0);
    let names = path[start..].iter().take(10).map(|p| p.0).chain([callee]);
    let names: Vec<String> = names.map(|f| format!("`{}`", module.functions[f].name)).collect();
    VerifyError {
        invariant: 19,
        function: module.functions[callee].name.clone(),
        block: None,
        inst: None,
        message: format!("the functions {} call each other in a circle", names.join(" -> ")),
        line: None,
    }
}
