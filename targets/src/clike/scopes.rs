//! Which values and variables must be declared at the start of a function, and which where they are first used.

use cranelift_entity::SecondaryMap;
use luisac_xir::op::Space;
use luisac_xir::{BlockId, Function, InstId, Op, ValueId};
use rustc_hash::FxHashSet;

use super::plan::{Event, Plan};

/// What is known of the names of a function.
#[derive(Default)]
pub struct Scopes {
    hoisted: Vec<ValueId>,
    is_hoisted: FxHashSet<ValueId>,
    late: FxHashSet<ValueId>,
}

/// The uses of a variable so far.
#[derive(Clone, Copy)]
enum Variable {
    Unused,
    /// Stored first, in this scope, and seen by all uses.
    Stored(u32),
    Other,
}

impl Scopes {
    /// Looks at all uses; time linear in the code, as chains of geps are bounded by the nesting of types.
    pub fn of(func: &Function, plan: &Plan) -> Scopes {
        let mut scopes = Scopes::default();
        let mut variables: SecondaryMap<ValueId, Option<Variable>> = SecondaryMap::new();
        for event in &plan.events {
            let Event::Block(block) = event else { continue };
            let Some(scope) = plan.scope(*block) else { continue };
            for inst in func.insts(*block) {
                for (position, &arg) in func.args(inst).iter().enumerate() {
                    scopes.used(func, plan, arg, *block, scope);
                    scopes.chain(func, plan, arg, *block, scope);
                    note_variable(func, plan, inst, position, arg, scope, &mut variables);
                }
            }
        }
        for value in variables.keys() {
            if let Some(Variable::Stored(_)) = variables[value] {
                scopes.late.insert(value);
            }
        }
        scopes.hoisted.sort_unstable();
        scopes
    }

    /// A use of a value.
    fn used(&mut self, func: &Function, plan: &Plan, value: ValueId, block: BlockId, scope: u32) {
        let Some(inst) = func.def_inst(value) else { return };
        if matches!(func.op(inst), Op::Alloca(_) | Op::Gep) {
            return;
        }
        let Some(home) = func.inst_block(inst) else { return };
        if home == block {
            return;
        }
        let seen = plan.scope(home).is_some_and(|outer| plan.sees(outer, scope));
        if !seen && self.is_hoisted.insert(value) {
            self.hoisted.push(value);
        }
    }

    /// The indices of a place are used where the place is.
    fn chain(&mut self, func: &Function, plan: &Plan, place: ValueId, block: BlockId, scope: u32) {
        let mut place = place;
        while let Some(inst) = func.def_inst(place).filter(|&i| func.op(i) == Op::Gep) {
            for &index in func.args(inst).iter().skip(1) {
                self.used(func, plan, index, block, scope);
            }
            place = func.arg(inst, 0);
        }
    }

    /// Values whose uses do not see their definition, in order.
    pub fn hoisted(&self) -> &[ValueId] {
        &self.hoisted
    }

    /// Whether a value is declared at the start.
    pub fn is_hoisted(&self, value: ValueId) -> bool {
        self.is_hoisted.contains(&value)
    }

    /// Whether a variable is declared where it is first stored.
    pub fn is_late(&self, value: ValueId) -> bool {
        self.late.contains(&value)
    }
}

fn note_variable(
    func: &Function,
    plan: &Plan,
    inst: InstId,
    position: usize,
    arg: ValueId,
    scope: u32,
    variables: &mut SecondaryMap<ValueId, Option<Variable>>,
) {
    let root = func.base_of(arg);
    let is_local = func.def_inst(root).is_some_and(|i| func.op(i) == Op::Alloca(Space::Local));
    // A gep uses nothing yet.
    if !is_local || func.op(inst) == Op::Gep {
        return;
    }
    let whole_store = func.op(inst) == Op::Store && position == 0 && arg == root;
    let state = &mut variables[root];
    *state = Some(match state.unwrap_or(Variable::Unused) {
        Variable::Unused if whole_store => Variable::Stored(scope),
        Variable::Stored(outer) if plan.sees(outer, scope) => Variable::Stored(outer),
        _ => Variable::Other,
    });
}
