//! Which functions are lowered, and in which order.

use super::{MALFORMED, RECURSION};
use crate::FunctionId;
use cranelift_entity::{EntityRef, SecondaryMap};
use luisac_ast::diagnostic::{Diagnostic, Diagnostics};
use luisac_ast::model::{self, Callee, ExprKind, Library};
use rustc_hash::FxHashSet;

/// The functions that the roots reach, callees first, and their ids in the module.
pub(super) struct Plan {
    order: Vec<model::FunctionId>,
    ids: SecondaryMap<model::FunctionId, Option<FunctionId>>,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Mark {
    #[default]
    New,
    Open,
    Done,
}

impl Plan {
    /// Walks the call graph from the roots without recursion. Every function is scanned once.
    ///
    /// # Errors
    /// A call of a function that does not exist, or a cycle of calls.
    pub(super) fn new(library: &Library, roots: &[model::FunctionId]) -> Result<Plan, Diagnostics> {
        let mut plan = Plan { order: Vec::new(), ids: SecondaryMap::new() };
        let mut marks: SecondaryMap<model::FunctionId, Mark> = SecondaryMap::new();
        for &root in roots {
            if marks[root] != Mark::New {
                continue;
            }
            marks[root] = Mark::Open;
            let mut path = vec![(root, callees(library, root), 0usize)];
            while let Some((id, called, next)) = path.last_mut() {
                let Some(&callee) = called.get(*next) else {
                    marks[*id] = Mark::Done;
                    plan.ids[*id] = Some(FunctionId::new(plan.order.len()));
                    plan.order.push(*id);
                    path.pop();
                    continue;
                };
                *next += 1;
                if library.functions.get(callee).is_none() {
                    let text = format!(
                        "{} calls a function that does not exist",
                        library.function_name(*id)
                    );
                    return Err(Diagnostic::error(MALFORMED, text).into());
                }
                match marks[callee] {
                    Mark::Done => {}
                    Mark::Open => {
                        return Err(cycle(library, path.iter().map(|p| p.0), callee).into());
                    }
                    Mark::New => {
                        marks[callee] = Mark::Open;
                        path.push((callee, callees(library, callee), 0));
                    }
                }
            }
        }
        Ok(plan)
    }

    /// The functions, callees before their callers.
    pub(super) fn order(&self) -> &[model::FunctionId] {
        &self.order
    }

    /// The id that a function has in the module.
    pub(super) fn id(&self, function: model::FunctionId) -> Option<FunctionId> {
        self.ids[function]
    }
}

/// The distinct callees of a function, in order of first call.
fn callees(library: &Library, id: model::FunctionId) -> Vec<model::FunctionId> {
    let mut found = Vec::new();
    let mut seen = FxHashSet::default();
    let Some(function) = library.functions.get(id) else { return found };
    for expr in function.exprs.values() {
        if let ExprKind::Call { callee: Callee::Function(callee), .. } = expr.kind
            && seen.insert(callee)
        {
            found.push(callee);
        }
    }
    found
}

fn cycle(
    library: &Library,
    path: impl Iterator<Item = model::FunctionId>,
    back_to: model::FunctionId,
) -> Diagnostic {
    let mut names: Vec<String> =
        path.skip_while(|&id| id != back_to).map(|id| library.function_name(id)).collect();
    names.push(library.function_name(back_to));
    Diagnostic::error(
        RECURSION,
        format!("callables call each other in a circle: {}", names.join(" -> ")),
    )
    .with_help("write the recursion as a loop")
}
