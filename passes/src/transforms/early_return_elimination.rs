//! One `return` for each function.
//!
//! What: an early `return` keeps its value in a variable, says in a flag that it happened, and leaves the construct that it
//! stands in; behind each construct that is left in this way the flag is tested, and what follows is skipped: by `break` inside a
//! loop, else by an `if` around the rest. In flat functions all returns become branches to one block. `passes.md` section 5.1.
//! Why right: between the return and the last block nothing is executed but tests of the flag. The flag is false when the
//! function is entered, as locals are.
//! Not in kernels with barriers: a thread that has returned holds nobody up there, one that only skips what follows does. What a
//! call does is not known here, so kernels with calls stay too.
//! Cost: linear in blocks times the constructs of one scope that are left; repair of values that no longer dominate their uses.
//!
//! Notation: a *scope* is the inner part of a construct, or the function. Its blocks form chains: a block leads to its merge, or
//! by `br` to the next, until the chain falls out of the scope, jumps, or ends. The function falls out to its only `return`.

use super::cross_block;
use super::util;
use crate::manager::declaration::{Declaration, FunctionCx, FunctionPass, Refusal, counters};
use crate::manager::form::Requires;
use cranelift_entity::SecondaryMap;
use luisac_xir::forms::{self, Cfg};
use luisac_xir::op::ThreadGroupOp;
use luisac_xir::{BlockId, Builder, Function, Imm, InstId, Op, TypeId, TypeTable, ValueId};

counters! {
    /// What `early_return_elimination` did.
    Info {
        change removed_return_count "returns removed";
        note unsupported_count "functions left alone: barriers, parts of constructs that share blocks, or both kinds of control flow";
    }
}

/// The pass.
pub struct EarlyReturnElimination;

impl FunctionPass for EarlyReturnElimination {
    const DECLARATION: Declaration = Declaration {
        requires: Requires::MEMORY,
        why: "leaving a construct early gives its merge predecessors that have no value for a phi",
        ..Declaration::new(
            "early_return_elimination",
            "leaves one return in each function",
            "Turns early returns into a flag and a variable for the value: constructs are left one by one, and what follows \
             them is skipped, until the only `return` is reached. In flat functions all returns become branches to one block. \
             Kernels with barriers or calls stay: a thread that returned holds nobody up.",
        )
    };
    type Options = ();
    type Info = Info;

    fn run(cx: &mut FunctionCx<'_>, _: &()) -> Result<Info, Refusal> {
        let mut info = Info::default();
        let keep = util::named_blocks(cx.func, true);
        let returns: Vec<InstId> = { cx.func.blocks().filter(|&b| keep[b]) }
            .filter_map(|b| cx.func.terminator(b))
            .filter(|&t| cx.func.op(t) == Op::Return)
            .collect();
        if returns.len() < 2 {
            return Ok(info);
        }
        if cx.func.is_kernel() && may_wait(cx.func) {
            info.unsupported_count = 1;
            return Ok(info);
        }
        let scopes = match forms::control_flow_of(cx.func) {
            Cfg::Mixed => None,
            Cfg::Flat => Some(Scopes::default()),
            _ => Scopes::find(cx.func),
        };
        let Some(scopes) = scopes else {
            info.unsupported_count = 1;
            return Ok(info);
        };
        if !cx.fuel() {
            return Ok(info);
        }
        info.removed_return_count = returns.len() as u64 - 1;
        cross_block::hoist_allocas(cx.func);
        let mut eliminator = Eliminator::new(cx.func, cx.types, scopes);
        for &inst in &returns {
            eliminator.leave_early(inst);
        }
        if eliminator.finish() {
            cross_block::repair(cx.func, cx.types);
            util::sort_blocks(cx.func);
        }
        Ok(info)
    }
}

/// Whether threads may wait for each other: at a barrier, or somewhere in a call.
fn may_wait(func: &Function) -> bool {
    let waits =
        |inst| matches!(func.op(inst), Op::Call | Op::ThreadGroup(ThreadGroupOp::SynchronizeBlock));
    func.blocks().any(|block| func.insts(block).any(waits))
}

/// A construct.
struct Construct {
    terminator: InstId,
    /// The scope that it stands in; none for the function.
    outer: Option<u32>,
}

/// The constructs of a function, outer before inner ones, and earlier before later ones of a chain.
#[derive(Default)]
struct Scopes {
    constructs: Vec<Construct>,
    /// Number plus one of the construct whose inner part a block is in.
    around: SecondaryMap<BlockId, u32>,
}

impl Scopes {
    /// `None` if a block follows two others of its scope.
    fn find(func: &Function) -> Option<Scopes> {
        let mut scopes = Scopes::default();
        let mut seen: SecondaryMap<BlockId, bool> = SecondaryMap::new();
        let mut is_merge: SecondaryMap<BlockId, bool> = SecondaryMap::new();
        let mut followed: SecondaryMap<BlockId, bool> = SecondaryMap::new();
        let mut stack: Vec<BlockId> = func.entry().into_iter().collect();
        stack.iter().for_each(|&b| seen[b] = true);
        while let Some(block) = stack.pop() {
            let terminator = func.terminator(block)?;
            let outer = scopes.around[block];
            let named = func.inst_blocks(terminator);
            let has_merge = func.op(terminator).has_merge();
            if has_merge {
                let outer = outer.checked_sub(1);
                scopes.constructs.push(Construct { terminator, outer });
                is_merge[*named.last()?] = true;
            }
            let inner = scopes.constructs.len() as u32;
            for (i, &next) in named.iter().enumerate().rev() {
                followed[next] |= has_merge;
                if !std::mem::replace(&mut seen[next], true) {
                    let inside = has_merge && i + 1 < named.len();
                    scopes.around[next] = if inside { inner } else { outer };
                    stack.push(next);
                }
            }
            let target = named.first().copied().filter(|_| func.op(terminator) == Op::Br);
            if let Some(target) = target.filter(|&t| scopes.around[t] == outer && !is_merge[t]) {
                // A round of a loop begins and ends with roles of it, which several blocks may lead to.
                let again = std::mem::replace(&mut followed[target], true);
                if again && !scopes.is_round(func, outer, target) {
                    return None;
                }
            }
        }
        Some(scopes)
    }

    /// Whether a block is where a round of this loop begins or ends.
    fn is_round(&self, func: &Function, around: u32, block: BlockId) -> bool {
        let Some(number) = around.checked_sub(1) else { return false };
        let terminator = self.constructs[number as usize].terminator;
        matches!(func.op(terminator), Op::Loop | Op::SimpleLoop)
            && func.inst_blocks(terminator).contains(&block)
    }

    fn around(&self, block: BlockId) -> Option<u32> {
        self.around[block].checked_sub(1)
    }

    /// The loop that a `break` in this scope leaves, if there is one and no `switch` in between.
    fn breakable(&self, func: &Function, mut scope: Option<u32>) -> Option<u32> {
        while let Some(number) = scope {
            let construct = &self.constructs[number as usize];
            match func.op(construct.terminator) {
                Op::Loop | Op::SimpleLoop => return Some(number),
                Op::If => scope = construct.outer,
                _ => return None,
            }
        }
        None
    }
}

struct Eliminator<'a> {
    func: &'a mut Function,
    types: &'a TypeTable,
    scopes: Scopes,
    /// By construct: whether it may be left early.
    left: Vec<bool>,
    flag: ValueId,
    result: Option<ValueId>,
    /// The block of the only `return`.
    last: BlockId,
}

impl<'a> Eliminator<'a> {
    fn new(func: &'a mut Function, types: &'a TypeTable, scopes: Scopes) -> Eliminator<'a> {
        let variable = |func: &mut Function, ty| {
            let made = cross_block::entry_variable(func, types, ty);
            made.unwrap_or_else(|| func.undefined(ty))
        };
        let result = match func.return_type {
            TypeId::VOID => None,
            ty => Some(variable(func, ty)),
        };
        // Flat functions need no flag: all returns lead to the last block.
        let flag = match scopes.constructs.len() {
            0 => func.bool_constant(true),
            _ => variable(func, TypeId::BOOL),
        };
        let last = func.append_block();
        let mut b = Builder::at_end(func, types, last);
        let value = result.map(|r| b.load(r));
        b.ret(value);
        let left = vec![false; scopes.constructs.len()];
        Eliminator { func, types, scopes, left, flag, result, last }
    }

    /// Turns a `return` into a way out of its scope.
    fn leave_early(&mut self, inst: InstId) {
        let Some(block) = self.func.inst_block(inst) else { return };
        let scope = self.scopes.around(block);
        let value = self.func.args(inst).first().copied();
        let mut b = Builder::before(self.func, self.types, inst);
        if let (Some(result), Some(value)) = (self.result, value) {
            b.store(result, value);
        }
        if scope.is_some() {
            let yes = b.func.bool_constant(true);
            b.store(self.flag, yes);
        }
        let loc = b.loc;
        self.func.remove_inst(inst);
        let out = self.leave(block, scope);
        self.func.set_loc(out, loc);
    }

    /// Ends `block` by leaving its scope, or the loop around it.
    fn leave(&mut self, block: BlockId, scope: Option<u32>) -> InstId {
        let (op, construct) = match self.scopes.breakable(self.func, scope) {
            Some(inside) => (Op::Break, Some(inside)),
            None => (Op::Br, scope),
        };
        let target = self.out_of(construct);
        if let Some(number) = construct {
            self.left[number as usize] = true;
        }
        let mut b = Builder::at_end(self.func, self.types, block);
        b.inst(op, TypeId::VOID, &[], &[target], Imm::None)
    }

    /// Where one is who left the inner part of a construct.
    fn out_of(&self, scope: Option<u32>) -> BlockId {
        let merge = scope.and_then(|number| {
            let terminator = self.scopes.constructs[number as usize].terminator;
            self.func.merge_of(terminator)
        });
        merge.unwrap_or(self.last)
    }

    /// Tests the flag behind all constructs that may be left early: inner before outer ones, later before earlier ones. Whether
    /// there are any.
    fn finish(&mut self) -> bool {
        for number in (0..self.scopes.constructs.len()).rev() {
            if self.left[number] {
                self.test_behind(number as u32);
            }
        }
        !self.left.is_empty()
    }

    fn test_behind(&mut self, number: u32) {
        let Construct { terminator, outer } = self.scopes.constructs[number as usize];
        let Some(merge) = self.func.merge_of(terminator) else { return };
        let Some(first) = self.func.first_inst(merge) else { return };
        let is_only_br = self.func.op(first) == Op::Br;
        if is_only_br && self.func.successors_of(first)[0] == self.out_of(outer) {
            // Nothing follows in this scope: who left goes where the others go.
            if let Some(outer) = outer {
                self.left[outer as usize] = true;
            }
            return;
        }
        let rest = self.func.split_block(first);
        let is_in_loop = self.scopes.breakable(self.func, outer).is_some();
        let out = self.func.insert_block_after(merge);
        let behind = if is_in_loop { rest } else { out };
        let mut b = Builder::at_end(self.func, self.types, merge);
        let returned = b.load(self.flag);
        b.inst(Op::If, TypeId::VOID, &[returned], &[out, rest, behind], Imm::None);
        if !is_in_loop {
            self.end_chain_at(rest, self.out_of(outer), out);
        }
        self.leave(out, outer);
    }

    /// The chain from `block` on falls out to `new` instead of `old`.
    fn end_chain_at(&mut self, mut block: BlockId, old: BlockId, new: BlockId) {
        while let Some(end) = self.func.terminator(block) {
            match self.func.merge_of(end) {
                Some(merge) => block = merge,
                None if self.func.op(end) != Op::Br => return,
                None if self.func.successors_of(end)[0] == old => {
                    self.func.inst_blocks_mut(end)[0] = new;
                    return;
                }
                None => block = self.func.successors_of(end)[0],
            }
        }
    }
}
