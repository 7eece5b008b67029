//! Values that are used where their definition no longer dominates, or in another block at all, brought there by memory.
//!
//! What: a value gets a variable, which is written behind its definition and read in front of its uses; a gep is made again
//! where it is used; allocas go to the entry block.
//! Why right: the paths that the function takes are those on which the definition came first, so that the variable holds what
//! was defined last. An operand of a gep cannot be defined anew between the gep and its use without the gep being executed
//! again, since it dominated the gep. Allocas are one variable for each call, wherever they stand.
//! Cost: linear in uses, plus the dominator tree. Needs a function without phis.

use cranelift_entity::SecondaryMap;
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::dominators::{DominatorTree, InstOrder};
use luisac_xir::{BlockId, Builder, Function, InstId, Op, TypeTable, ValueId};
use rustc_hash::FxHashMap;

/// Moves all allocas to the start of the entry block, in order. Whether there were any elsewhere.
pub(crate) fn hoist_allocas(func: &mut Function) -> bool {
    let Some(entry) = func.entry() else { return false };
    let is_alloca = |func: &Function, i: InstId| matches!(func.op(i), Op::Alloca(_));
    let stray: Vec<InstId> = func
        .blocks()
        .filter(|&b| b != entry)
        .flat_map(|b| func.insts(b))
        .filter(|&i| is_alloca(func, i))
        .collect();
    let Some(first) = func.insts(entry).find(|&i| !is_alloca(func, i)) else { return false };
    // Allocas of the entry block may stand behind uses of the stray ones.
    for &inst in &stray {
        func.unlink_inst(inst);
        func.insert_before(inst, first);
    }
    !stray.is_empty()
}

/// Repairs the uses that no definition dominates any more; allocas must stand at the start of the entry block. Returns how
/// many values got a variable.
pub(crate) fn repair(func: &mut Function, types: &TypeTable) -> u64 {
    let cfg = ControlFlowGraph::compute(func);
    let dominators = DominatorTree::compute(func, &cfg);
    let order = InstOrder::compute(func);
    let mut broken = Vec::new();
    for &block in cfg.reverse_post_order() {
        for inst in func.insts(block) {
            for (i, &value) in func.args(inst).iter().enumerate() {
                if !dominators.value_available(func, &order, value, block, Some(inst)) {
                    broken.push(Use { value, user: inst, index: i, block });
                }
            }
        }
    }
    let available = |func: &Function, value, block| {
        // For the operands of a gep that is made again: in the block of the use, in front of it.
        let def = func.def_inst(value).and_then(|d| func.inst_block(d));
        def.is_none_or(|d| d != block && dominators.dominates(d, block))
    };
    Carrier::new(types).carry(func, broken, available)
}

/// Carries all values that these blocks define and others use. Afterwards the blocks can be copied.
pub(crate) fn spill_block_results(
    func: &mut Function,
    types: &TypeTable,
    blocks: &[BlockId],
) -> u64 {
    let entry = func.entry();
    let mut broken = Vec::new();
    for &block in blocks {
        for inst in func.insts(block) {
            let Some(value) = func.result(inst) else { continue };
            for (user, index) in func.uses(value) {
                match func.inst_block(user) {
                    Some(there) if there != block => {
                        broken.push(Use { value, user, index, block: there });
                    }
                    _ => {}
                }
            }
        }
    }
    // In the order of the users within their blocks, so that the first of them gets the load.
    let numbers = InstOrder::compute(func);
    broken.sort_by_key(|u| (u.block, numbers.number(u.user), u.index));
    let mut inside: SecondaryMap<BlockId, bool> = SecondaryMap::new();
    blocks.iter().for_each(|&b| inside[b] = true);
    let available = |func: &Function, value, block| {
        let def = func.def_inst(value).and_then(|d| func.inst_block(d));
        def.is_none_or(|d| Some(d) == entry || d != block && !inside[d])
    };
    Carrier::new(types).carry(func, broken, available)
}

/// Operand `index` of an instruction in a block.
#[derive(Clone, Copy)]
struct Use {
    value: ValueId,
    user: InstId,
    index: usize,
    block: BlockId,
}

struct Carrier<'a> {
    types: &'a TypeTable,
    variables: FxHashMap<ValueId, ValueId>,
    /// What stands for a value in a block.
    in_block: FxHashMap<(ValueId, BlockId), ValueId>,
}

impl<'a> Carrier<'a> {
    fn new(types: &'a TypeTable) -> Carrier<'a> {
        Carrier { types, variables: FxHashMap::default(), in_block: FxHashMap::default() }
    }

    /// Uses of one block must come in the order of their users.
    fn carry(
        mut self,
        func: &mut Function,
        broken: Vec<Use>,
        available: impl Fn(&Function, ValueId, BlockId) -> bool,
    ) -> u64 {
        for first in broken {
            // A gep that is made again may have operands to be carried in turn.
            let mut pending = vec![first];
            while let Some(this) = pending.pop() {
                let key = (this.value, this.block);
                let stand_in = match self.in_block.get(&key) {
                    Some(&known) => known,
                    None => {
                        let made = self.bring(func, this.value, this.user);
                        self.in_block.insert(key, made);
                        if let Some(copy) = func.def_inst(made).filter(|&i| func.op(i) == Op::Gep) {
                            for (index, &value) in func.args(copy).iter().enumerate() {
                                if !available(func, value, this.block) {
                                    pending.push(Use {
                                        value,
                                        user: copy,
                                        index,
                                        block: this.block,
                                    });
                                }
                            }
                        }
                        made
                    }
                };
                func.set_arg(this.user, this.index, stand_in);
            }
        }
        self.variables.len() as u64
    }

    /// A value in front of its use: loaded, or made again.
    fn bring(&mut self, func: &mut Function, value: ValueId, user: InstId) -> ValueId {
        if let Some(gep) = func.def_inst(value).filter(|&i| func.op(i) == Op::Gep) {
            let (args, ty) = (func.args(gep).to_vec(), func.inst(gep).ty);
            return Builder::before(func, self.types, user).value(Op::Gep, ty, &args);
        }
        let variable = match self.variables.get(&value) {
            Some(&known) => known,
            None => {
                let made = self.variable(func, value);
                self.variables.insert(value, made);
                made
            }
        };
        Builder::before(func, self.types, user).load(variable)
    }

    /// The variable of a value, written behind its definition.
    fn variable(&mut self, func: &mut Function, value: ValueId) -> ValueId {
        let ty = func.value_type(value);
        let slot = entry_variable(func, self.types, ty).unwrap_or(value);
        if let Some(next) = func.def_inst(value).and_then(|d| func.next_inst(d)) {
            Builder::before(func, self.types, next).store(slot, value);
        }
        slot
    }
}

/// A new variable at the start of the entry block.
pub(crate) fn entry_variable(
    func: &mut Function,
    types: &TypeTable,
    ty: luisac_xir::TypeId,
) -> Option<ValueId> {
    let first = func.entry().and_then(|entry| func.first_inst(entry))?;
    Some(Builder::before(func, types, first).alloca(ty))
}
