//! What a function does with its resource arguments, itself or through what it calls.

use luisac_artifact::metadata::Usage;
use luisac_xir::{FunctionId, Imm, Module, Op, ValueDef};
use rustc_hash::FxHashMap;

/// Reads and writes of one argument.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Access {
    reads: bool,
    writes: bool,
}

/// The usage of each argument of `kernel`; value arguments count as read. Time linear in the code that the kernel reaches.
pub fn argument_usage(module: &Module, kernel: FunctionId) -> Vec<Usage> {
    let mut known: FxHashMap<FunctionId, Vec<Access>> = FxHashMap::default();
    for id in reachable_callees_first(module, kernel) {
        let accesses = scan(module, id, &known);
        known.insert(id, accesses);
    }
    let accesses = known.remove(&kernel).unwrap_or_default();
    let usage = |a: Access| match (a.reads, a.writes) {
        (false, false) => Usage::None,
        (true, false) => Usage::Read,
        (false, true) => Usage::Write,
        (true, true) => Usage::ReadWrite,
    };
    accesses.into_iter().map(usage).collect()
}

/// The functions that `root` reaches through calls, itself last; each after all that it calls.
pub(crate) fn reachable_callees_first(module: &Module, root: FunctionId) -> Vec<FunctionId> {
    let mut order = Vec::new();
    let mut seen: FxHashMap<FunctionId, ()> = FxHashMap::default();
    let mut stack = vec![(root, callees(module, root), 0usize)];
    seen.insert(root, ());
    while let Some((id, list, next)) = stack.last_mut() {
        match list.get(*next).copied() {
            Some(callee) => {
                *next += 1;
                if seen.insert(callee, ()).is_none() {
                    let inner = callees(module, callee);
                    stack.push((callee, inner, 0));
                }
            }
            None => {
                order.push(*id);
                stack.pop();
            }
        }
    }
    order
}

/// The functions that a function calls, in order of first call.
fn callees(module: &Module, id: FunctionId) -> Vec<FunctionId> {
    let function = &module.functions[id];
    let mut list = Vec::new();
    let mut seen: FxHashMap<FunctionId, ()> = FxHashMap::default();
    for block in function.blocks() {
        for inst in function.insts(block) {
            let named = function.inst(inst).imm.functions();
            list.extend(named.filter(|&callee| seen.insert(callee, ()).is_none()));
        }
    }
    list
}

fn scan(
    module: &Module,
    id: FunctionId,
    known: &FxHashMap<FunctionId, Vec<Access>>,
) -> Vec<Access> {
    let function = &module.functions[id];
    let mut result = vec![Access::default(); function.arguments.len()];
    for block in function.blocks() {
        for inst in function.insts(block) {
            for (position, &arg) in function.args(inst).iter().enumerate() {
                let base = function.base_of(arg);
                let ValueDef::Argument(index) = function.value_def(base) else { continue };
                let Some(entry) = result.get_mut(index as usize) else { continue };
                let data = function.inst(inst);
                match data.op {
                    Op::ResourceWrite(_) | Op::Store if position == 0 => entry.writes = true,
                    Op::Atomic(_) if position == 0 => {
                        entry.reads = true;
                        entry.writes = true;
                    }
                    Op::Call => {
                        let callee = match data.imm {
                            Imm::Callee(callee) => known.get(&callee),
                            _ => None,
                        };
                        // A callee without a body may do anything.
                        let inner = callee.and_then(|c| c.get(position)).copied();
                        let inner = inner.unwrap_or(Access { reads: true, writes: true });
                        entry.reads |= inner.reads;
                        entry.writes |= inner.writes;
                    }
                    _ => entry.reads = true,
                }
            }
        }
    }
    result
}
