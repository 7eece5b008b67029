//! Which values and variables carry a derivative.
//!
//! *Active*: depends on a variable that `requires_gradient` marks. *Useful*: a seed depends on it. Both are computed over the
//! flow of values and, for memory, over whole variables: a worklist over uses, each visited once a fact. What is both has an
//! adjoint.

use super::refusal;
use super::regions::Tree;
use crate::manager::declaration::Refusal;
use cranelift_entity::SecondaryMap;
use luisac_ast::types::{TypeId, TypeTable};
use luisac_xir::op::{ArithmeticOp, AutodiffOp, CastOp, Scopes};
use luisac_xir::{Function, InstId, Op, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};

/// What the analysis gives.
#[derive(Default)]
pub(super) struct Activity {
    /// Instructions before `backward`.
    pub is_forward: SecondaryMap<InstId, bool>,
    /// Values, and variables by their base.
    active: SecondaryMap<ValueId, bool>,
    useful: SecondaryMap<ValueId, bool>,
    /// All uses that matter lie in the block of the definition.
    pub is_local: SecondaryMap<ValueId, bool>,
    /// Variables that are written before `backward`.
    pub written: FxHashSet<ValueId>,
    loads: FxHashMap<ValueId, Vec<InstId>>,
    stores: FxHashMap<ValueId, Vec<InstId>>,
    differentiable: FxHashMap<TypeId, bool>,
}

impl Activity {
    /// Whether a value or variable has an adjoint.
    pub fn has_adjoint(&self, root: ValueId) -> bool {
        self.active[root] && self.useful[root]
    }

    /// Whether the variable is stored to before `backward`.
    pub fn is_stored(&self, base: ValueId) -> bool {
        self.stores.contains_key(&base)
    }

    /// Whether a value of this type holds floats.
    pub fn is_differentiable(&mut self, ty: TypeId, types: &TypeTable) -> bool {
        if let Some(&known) = self.differentiable.get(&ty) {
            return known;
        }
        let mut pending = vec![ty];
        let mut seen = FxHashSet::default();
        let mut found = false;
        while let Some(part) = pending.pop() {
            if !seen.insert(part) {
                continue;
            }
            found |= types.scalar_of(part).is_some_and(|s| s.is_float());
            if types.is_struct(part) {
                pending.extend(
                    (0..types.member_count(part)).filter_map(|i| types.element_type(part, i)),
                );
            } else {
                pending.extend(types.element_type(part, 0));
            }
        }
        self.differentiable.insert(ty, found);
        found
    }
}

/// The variable that an lvalue lies in, or the value itself.
pub(super) fn root_of(func: &Function, value: ValueId) -> ValueId {
    if func.is_lvalue(value) { func.base_of(value) } else { value }
}

/// Whether operand `index` of an operation has a derivative that is zero wherever there is one.
fn is_flat(op: ArithmeticOp, index: usize) -> bool {
    use ArithmeticOp::*;
    matches!(
        (op, index),
        (Step | Ceil | Floor | Trunc | Round | Rint, _) | (Copysign, 1) | (Faceforward, 1 | 2)
    )
}

/// Analyses the part of a scope before `backward`.
///
/// # Errors
/// Bits of a value with a derivative are taken, or it is in shared memory.
pub(super) fn analyse(
    func: &Function,
    types: &TypeTable,
    tree: &Tree,
) -> Result<Activity, Refusal> {
    let mut a = Activity::default();
    let marker_block = tree.marker.and_then(|m| func.inst_block(m));
    let (mut marked, mut seeded) = (Vec::new(), Vec::new());
    let mut forward = Vec::new();
    for block in tree.blocks() {
        for inst in func.insts(block) {
            if Some(block) == marker_block && Some(inst) == tree.marker {
                break;
            }
            a.is_forward[inst] = true;
            forward.push(inst);
            let base = |i: usize| func.base_of(func.arg(inst, i));
            match func.op(inst) {
                Op::Load => a.loads.entry(base(0)).or_default().push(inst),
                Op::Store => {
                    a.stores.entry(base(0)).or_default().push(inst);
                    a.written.insert(base(0));
                }
                Op::Autodiff(AutodiffOp::RequiresGradient) => {
                    marked.push(root_of(func, func.arg(inst, 0)));
                }
                Op::Autodiff(AutodiffOp::GradientMarker | AutodiffOp::AccumulateGradient) => {
                    seeded.push(root_of(func, func.arg(inst, 0)));
                }
                Op::Phi => {
                    return Err(refusal(
                        func,
                        "a differentiated scope holds a phi",
                        "run `autodiff` before `mem2reg`",
                    ));
                }
                Op::Gep | Op::Arithmetic(_) | Op::Autodiff(_) => {}
                _ => {
                    let lvalues = func.args(inst).iter().filter(|&&v| func.is_lvalue(v));
                    a.written.extend(lvalues.map(|&v| func.base_of(v)));
                }
            }
        }
    }
    activate(func, types, &mut a, marked)?;
    use_up(func, &mut a, seeded);
    for &inst in &forward {
        find_local(func, &mut a, inst);
        if let Op::Store = func.op(inst) {
            let base = func.base_of(func.arg(inst, 0));
            if a.has_adjoint(base) && func.scopes_of(base) == Scopes::SHARED {
                return Err(refusal(
                    func,
                    "a gradient depends on a variable in shared memory",
                    "keep differentiated values in locals",
                ));
            }
        }
    }
    Ok(a)
}

/// Spreads activity from the marked roots along the flow of values.
fn activate(
    func: &Function,
    types: &TypeTable,
    a: &mut Activity,
    mut pending: Vec<ValueId>,
) -> Result<(), Refusal> {
    while let Some(root) = pending.pop() {
        if !a.is_differentiable(func.value_type(root), types)
            || std::mem::replace(&mut a.active[root], true)
        {
            continue;
        }
        if func.is_lvalue(root) {
            let loads = a.loads.get(&root).map_or(&[][..], Vec::as_slice);
            pending.extend(loads.iter().filter_map(|&i| func.result(i)));
        }
        for (user, index) in func.uses(root) {
            if !a.is_forward[user] {
                continue;
            }
            match func.op(user) {
                Op::Arithmetic(op) if !is_flat(op, index) => pending.extend(func.result(user)),
                Op::Cast(CastOp::Static) => pending.extend(func.result(user)),
                Op::Cast(CastOp::Bitwise) => {
                    return Err(refusal(
                        func,
                        "the bits of a value that depends on a marked variable are taken",
                        "`detach` the value first",
                    ));
                }
                Op::Store if index == 1 => pending.push(func.base_of(func.arg(user, 0))),
                // No rule: refused later if a seed depends on it.
                Op::ThreadGroup(_) | Op::ResourceQuery(_) | Op::ResourceRead(_) => {
                    pending.extend(func.result(user));
                }
                Op::Call => {
                    pending.extend(func.result(user));
                    let lvalues = func.args(user).iter().filter(|&&v| func.is_lvalue(v));
                    pending.extend(lvalues.map(|&v| func.base_of(v)));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// Spreads usefulness from the seeded roots against the flow, among what is active.
fn use_up(func: &Function, a: &mut Activity, mut pending: Vec<ValueId>) {
    while let Some(root) = pending.pop() {
        if !a.active[root] || std::mem::replace(&mut a.useful[root], true) {
            continue;
        }
        if func.is_lvalue(root) {
            let stores = a.stores.get(&root).map_or(&[][..], Vec::as_slice);
            pending.extend(stores.iter().map(|&i| func.arg(i, 1)));
        }
        let Some(def) = func.def_inst(root).filter(|&i| a.is_forward[i]) else { continue };
        match func.op(def) {
            Op::Load => pending.push(func.base_of(func.arg(def, 0))),
            Op::Alloca(_) | Op::Gep => {}
            Op::Arithmetic(op) => {
                let args = func.args(def).iter().enumerate();
                pending.extend(args.filter(|&(i, _)| !is_flat(op, i)).map(|(_, &v)| v));
            }
            Op::Autodiff(_) => {}
            _ => pending.extend(func.args(def).iter().map(|&v| root_of(func, v))),
        }
    }
}

fn find_local(func: &Function, a: &mut Activity, inst: InstId) {
    let Some(value) = func.result(inst).filter(|&v| a.has_adjoint(v)) else { return };
    let block = func.inst_block(inst);
    a.is_local[value] = func.uses(value).all(|(user, index)| {
        let is_root = matches!(func.op(user), Op::Autodiff(_)) && index == 0;
        !is_root && (!a.is_forward[user] || func.inst_block(user) == block)
    });
}
