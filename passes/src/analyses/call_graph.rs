//! Who calls whom, and which functions call each other in circles.

use super::scc::Components;
use cranelift_entity::SecondaryMap;
use luisac_xir::{Function, FunctionId, Module};

/// The call graph of a module.
#[derive(Clone, Debug, Default)]
pub struct CallGraph {
    /// Each once, in the order of the first call.
    callees: SecondaryMap<FunctionId, Vec<FunctionId>>,
    /// Each once, in id order.
    callers: SecondaryMap<FunctionId, Vec<FunctionId>>,
    component: SecondaryMap<FunctionId, u32>,
    recursive: SecondaryMap<FunctionId, bool>,
    /// Callees before their callers.
    order: Vec<FunctionId>,
}

impl CallGraph {
    /// Reads all calls and handler names; linear in the module.
    pub fn compute(module: &Module) -> CallGraph {
        let mut graph = CallGraph::default();
        let ids: Vec<FunctionId> = module.functions.keys().collect();
        let mut last_caller: SecondaryMap<FunctionId, Option<FunctionId>> = SecondaryMap::new();
        for (id, func) in &module.functions {
            for callee in called(func) {
                if module.functions.is_valid(callee) && last_caller[callee] != Some(id) {
                    last_caller[callee] = Some(id);
                    graph.callees[id].push(callee);
                    graph.callers[callee].push(id);
                }
            }
        }
        let edges: Vec<Vec<u32>> = ids
            .iter()
            .map(|&id| graph.callees[id].iter().map(|callee| callee.as_u32()).collect())
            .collect();
        let components = Components::compute(ids.len(), |n| &edges[n as usize]);
        let mut size = vec![0u32; components.count as usize];
        for &component in &components.of {
            size[component as usize] += 1;
        }
        for (n, &id) in ids.iter().enumerate() {
            graph.component[id] = components.of[n];
            let calls_itself = graph.callees[id].contains(&id);
            graph.recursive[id] = calls_itself || size[components.of[n] as usize] > 1;
        }
        graph.order = ids;
        graph.order.sort_by_key(|&id| graph.component[id]);
        graph
    }

    /// The functions that a function calls.
    pub fn callees(&self, id: FunctionId) -> &[FunctionId] {
        &self.callees[id]
    }

    /// The functions that call a function.
    pub fn callers(&self, id: FunctionId) -> &[FunctionId] {
        &self.callers[id]
    }

    /// The strongly connected component of a function; a callee's number is not above its caller's.
    pub fn component(&self, id: FunctionId) -> u32 {
        self.component[id]
    }

    /// Whether a function may come to call itself.
    pub fn is_recursive(&self, id: FunctionId) -> bool {
        self.recursive[id]
    }

    /// All functions, callees before callers except within a component.
    pub fn bottom_up(&self) -> &[FunctionId] {
        &self.order
    }

    /// The functions that `roots` lead to, they themselves included.
    pub fn reachable(
        &self,
        roots: impl IntoIterator<Item = FunctionId>,
    ) -> SecondaryMap<FunctionId, bool> {
        spread(roots, |id| &self.callees[id])
    }

    /// The functions that lead to one of `targets`, they themselves included.
    pub fn leading_to(
        &self,
        targets: impl IntoIterator<Item = FunctionId>,
    ) -> SecondaryMap<FunctionId, bool> {
        spread(targets, |id| &self.callers[id])
    }
}

/// The functions that an instruction of a function names, with repetitions.
fn called(func: &Function) -> impl Iterator<Item = FunctionId> + '_ {
    func.blocks().flat_map(|b| func.insts(b)).flat_map(|inst| func.inst(inst).imm.functions())
}

fn spread<'a>(
    from: impl IntoIterator<Item = FunctionId>,
    next: impl Fn(FunctionId) -> &'a [FunctionId],
) -> SecondaryMap<FunctionId, bool> {
    let mut found: SecondaryMap<FunctionId, bool> = SecondaryMap::new();
    let mut pending: Vec<FunctionId> = from.into_iter().collect();
    while let Some(id) = pending.pop() {
        if !std::mem::replace(&mut found[id], true) {
            pending.extend_from_slice(next(id));
        }
    }
    found
}
