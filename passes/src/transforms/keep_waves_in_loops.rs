//! Wave operations on the way out of a loop, kept inside the loop.
//!
//! Problem: wave operations act over the threads that are active at that point of the *structured* program. In
//! `loop { if (c) { wave operation; break; } rest; }` the arm belongs to its round. As branches, the arm lies behind the loop:
//! nothing tells it from code after the loop, and threads that left in different rounds may execute it together.
//!
//! What: where an arm that leaves a loop for good executes a wave operation, or calls what does, `break` and `return` in such arms become
//! "remember how, and go on with the next round", and the round starts (`simple_loop`) or ends (`loop`, before its update) with
//! a test of what was remembered, which leaves the loop. The arm then is on a path to the loop's head, so that its threads and
//! the others meet again before anyone goes on. Beside the test stands a wave operation whose result nobody uses: it keeps
//! later passes, here and in LLVM, from sending the arm past the test.
//!
//! Why right: between the arm's end and the test nothing is executed, and after the test the thread is where `break` led, or
//! returns with the value that `return` had.
//!
//! Notation: a block *belongs* to the innermost loop around it; a nested loop counts there as its owner block with an edge to
//! its merge. A block *leaves* its loop if no path inside the loop leads from it to the loop's next round.
//!
//! Tried on hardware: without the pass, and with a branch back that is never taken instead of the test, an H200 runs such arms once
//! for all threads of the wave.
//!
//! Cost: linear; a test in each round of such a loop, none in others.

use crate::manager::declaration::{
    Declaration, FunctionCx, ModuleCx, ModulePass, Refusal, counters,
};
use crate::manager::form::Requires;
use crate::transforms::unused_callable_removal::calls;
use cranelift_entity::SecondaryMap;
use luisac_xir::op::{ArithmeticOp, ThreadGroupOp};
use luisac_xir::{
    BlockId, Builder, Function, FunctionId, Imm, InstId, Module, Op, TypeId, TypeTable, ValueId,
};
use rustc_hash::{FxHashMap, FxHashSet};

counters! {
    /// What `keep_waves_in_loops` did.
    Info {
        change kept_loop_count "loops whose leaving arms were kept in their rounds";
        change rerouted_break_count "`break` turned into a remembered exit";
        change rerouted_return_count "`return` turned into a remembered exit";
    }
}

/// The pass.
pub struct KeepWavesInLoops;

impl ModulePass for KeepWavesInLoops {
    const DECLARATION: Declaration = Declaration {
        requires: Requires::MEMORY,
        why: "exits are remembered in a variable, and a loop's head gets a new block in front",
        ..Declaration::new(
            "keep_waves_in_loops",
            "keeps wave operations on the way out of a loop inside the loop",
            "Where an arm that ends in `break` or `return` executes wave operations, the exit is remembered and taken at the start of \
             the next round, so that flat control flow keeps apart the lanes that leave in different rounds. For targets whose \
             lanes come together where paths meet; runs before `destructure_cfg`.",
        )
    };
    type Options = ();
    type Info = Info;

    fn run(cx: &mut ModuleCx<'_>, _: &()) -> Result<Info, Refusal> {
        let mut info = Info::default();
        let wavy = functions_with_waves(cx.module);
        let Module { types, functions } = &mut *cx.module;
        for (_, func) in functions.iter_mut().filter(|(id, _)| wavy[*id]) {
            let mut function = FunctionCx { func, types, fuel: cx.fuel };
            keep(&mut function, &wavy, &mut info);
        }
        Ok(info)
    }
}

fn keep(cx: &mut FunctionCx<'_>, wavy: &Wavy, info: &mut Info) {
    let loops = Loops::find(cx.func, wavy);
    // Outer loops first: they say which returns of inner ones must come by them.
    let mut returns_pass_by = vec![false; loops.list.len()];
    let mut exits = Vec::with_capacity(loops.list.len());
    for number in 0..loops.list.len() {
        exits.push(loops.exits(cx.func, wavy, number, &mut returns_pass_by));
    }
    // Inner loops first: a return of theirs becomes one behind them.
    for number in (0..loops.list.len()).rev() {
        if exits[number].is_empty() || !cx.fuel() {
            continue;
        }
        let behind = reroute(cx, &loops.list[number], &exits[number], info);
        let parent = exits.get_mut(loops.list[number].parent as usize);
        if let (Some(exit), Some(parent), true) = (behind, parent, returns_pass_by[number]) {
            parent.push(exit);
        }
    }
}

/// The functions that hold wave operations, themselves or through what they call.
type Wavy = SecondaryMap<FunctionId, bool>;

/// Whether an instruction acts over the lanes of a wave.
fn is_wave(func: &Function, inst: InstId, wavy: &Wavy) -> bool {
    match func.op(inst) {
        Op::ThreadGroup(op) => {
            !matches!(op, ThreadGroupOp::SynchronizeBlock | ThreadGroupOp::ShaderExecutionReorder)
        }
        Op::Call => matches!(func.inst(inst).imm, Imm::Callee(callee) if wavy[callee]),
        _ => false,
    }
}

fn functions_with_waves(module: &Module) -> Wavy {
    let mut wavy = SecondaryMap::new();
    let mut callers: SecondaryMap<FunctionId, Vec<FunctionId>> = SecondaryMap::new();
    let mut pending = Vec::new();
    for (id, func) in &module.functions {
        for (_, callee) in calls(func) {
            callers[callee].push(id);
        }
        let own = func.blocks().any(|b| func.insts(b).any(|i| is_wave(func, i, &wavy)));
        if own {
            pending.push(id);
        }
    }
    while let Some(id) = pending.pop() {
        if !std::mem::replace(&mut wavy[id], true) {
            pending.extend(callers[id].iter().copied());
        }
    }
    wavy
}

fn has_wave(func: &Function, block: BlockId, wavy: &Wavy) -> bool {
    func.insts(block).any(|inst| is_wave(func, inst, wavy))
}

const NONE: u32 = u32::MAX;

struct Loop {
    /// The loop's own terminator.
    terminator: InstId,
    /// Blocks that belong to it.
    blocks: Vec<BlockId>,
    /// Their terminators, which stay the same when a block is split.
    terminators: Vec<InstId>,
    /// Where the next round starts.
    head: BlockId,
    /// Whether there is a wave operation in it, nested loops included.
    waves: bool,
    /// The loop around it; `NONE` outside of all.
    parent: u32,
}

/// The structured loops, outer ones before those inside.
struct Loops {
    list: Vec<Loop>,
    /// The loop that a block owns.
    owned: SecondaryMap<BlockId, Option<u32>>,
    /// The loop that a block belongs to.
    around: SecondaryMap<BlockId, u32>,
}

impl Loops {
    fn find(func: &Function, wavy: &Wavy) -> Loops {
        let mut loops = Loops {
            list: Vec::new(),
            owned: SecondaryMap::new(),
            around: SecondaryMap::with_default(NONE),
        };
        let mut seen: SecondaryMap<BlockId, bool> = SecondaryMap::new();
        let mut stack: Vec<BlockId> = func.entry().into_iter().collect();
        stack.iter().for_each(|&b| seen[b] = true);
        while let Some(block) = stack.pop() {
            let outer = loops.around[block];
            if let Some(inside) = loops.list.get_mut(outer as usize) {
                inside.blocks.push(block);
                inside.terminators.extend(func.terminator(block));
                inside.waves |= has_wave(func, block, wavy);
            }
            let Some(terminator) = func.terminator(block) else { continue };
            let named = func.inst_blocks(terminator);
            let is_loop = matches!(func.op(terminator), Op::Loop | Op::SimpleLoop);
            if is_loop && let [head, .., _] = *named {
                loops.owned[block] = Some(loops.list.len() as u32);
                let (blocks, terminators) = (Vec::new(), Vec::new());
                let parent = outer;
                let new = Loop { terminator, blocks, terminators, head, waves: false, parent };
                loops.list.push(new);
            }
            // The merge, named last, is not in the loop.
            for (i, &next) in named.iter().enumerate().rev() {
                if !std::mem::replace(&mut seen[next], true) {
                    let inside = is_loop && i + 1 < named.len();
                    loops.around[next] = if inside { loops.list.len() as u32 - 1 } else { outer };
                    stack.push(next);
                }
            }
        }
        for number in (0..loops.list.len()).rev() {
            let Loop { waves, parent, .. } = loops.list[number];
            if let Some(parent) = loops.list.get_mut(parent as usize) {
                parent.waves |= waves;
            }
        }
        loops
    }

    /// Where threads may be after a block without leaving its loop: a nested loop is one step.
    fn next(&self, func: &Function, block: BlockId) -> Vec<BlockId> {
        let Some(terminator) = func.terminator(block) else { return Vec::new() };
        match self.owned[block] {
            Some(_) => func.merge_of(terminator).into_iter().collect(),
            None => func.successors_of(terminator).to_vec(),
        }
    }

    /// The terminators by which leaving arms with wave operations leave loop `number`: `break` and `return`; all returns if those
    /// must pass by an outer loop. Sets `returns_pass_by` for the loops inside such arms.
    fn exits(
        &self,
        func: &Function,
        wavy: &Wavy,
        number: usize,
        returns_pass_by: &mut [bool],
    ) -> Vec<InstId> {
        let Loop { blocks, waves, .. } = &self.list[number];
        if !waves {
            return Vec::new();
        }
        let all_returns = returns_pass_by[number];
        let stays = self.staying(func, number);
        let nested = |b: BlockId| self.owned[b].map(|l| l as usize);
        let waves =
            |b: BlockId| has_wave(func, b, wavy) || nested(b).is_some_and(|l| self.list[l].waves);
        // Forwards from the leaving blocks with wave operations.
        let mut stack: Vec<BlockId> =
            { blocks.iter().copied() }.filter(|b| !stays.contains(b) && waves(*b)).collect();
        let mut reached: FxHashSet<BlockId> = stack.iter().copied().collect();
        while let Some(block) = stack.pop() {
            for next in self.next(func, block) {
                if self.around[next] == number as u32 && reached.insert(next) {
                    stack.push(next);
                }
            }
        }
        let mut exits = Vec::new();
        for &block in blocks {
            let is_reached = reached.contains(&block);
            if let Some(inner) = nested(block) {
                returns_pass_by[inner] = is_reached || all_returns;
            }
            let Some(terminator) = func.terminator(block) else { continue };
            let leaves = match func.op(terminator) {
                Op::Return => is_reached || all_returns,
                // A `br` out of the loop is a lowered `break`.
                Op::Break | Op::Br => {
                    let inside = |&b: &BlockId| self.around[b] == number as u32;
                    is_reached && !func.successors_of(terminator).iter().any(inside)
                }
                _ => false,
            };
            if leaves {
                exits.push(terminator);
            }
        }
        exits
    }

    /// The blocks of a loop from which a path inside it leads to its next round.
    fn staying(&self, func: &Function, number: usize) -> FxHashSet<BlockId> {
        let Loop { blocks, head, .. } = &self.list[number];
        let mut from: FxHashMap<BlockId, Vec<BlockId>> = FxHashMap::default();
        for &block in blocks {
            for next in self.next(func, block) {
                from.entry(next).or_default().push(block);
            }
        }
        let mut stays = FxHashSet::default();
        let mut stack = vec![*head];
        while let Some(block) = stack.pop() {
            for &before in from.get(&block).into_iter().flatten() {
                if stays.insert(before) {
                    stack.push(before);
                }
            }
        }
        stays
    }
}

/// How a thread left: nothing remembered, by `break`, by `return`.
const STAYED: u32 = 0;
const BROKE: u32 = 1;
const RETURNED: u32 = 2;

/// A variable of the function.
fn variable(func: &mut Function, types: &TypeTable, ty: TypeId) -> Option<ValueId> {
    let first = func.entry().and_then(|entry| func.first_inst(entry))?;
    Some(Builder::before(func, types, first).alloca(ty))
}

/// Sends `exits` through a test at the start of the next round. The `return` behind the loop, if there is one now.
fn reroute(
    cx: &mut FunctionCx<'_>,
    inside: &Loop,
    exits: &[InstId],
    info: &mut Info,
) -> Option<InstId> {
    let terminator = inside.terminator;
    let merge = cx.func.merge_of(terminator)?;
    let how = variable(cx.func, cx.types, TypeId::U32)?;
    let has_return = exits.iter().any(|&e| cx.func.op(e) == Op::Return);
    let result = match cx.func.return_type {
        ty if has_return && ty != TypeId::VOID => variable(cx.func, cx.types, ty),
        _ => None,
    };
    let mut b = Builder::before(cx.func, cx.types, terminator);
    let stayed = b.u32(STAYED);
    b.store(how, stayed);
    let test = test_block(cx, inside, how, merge)?;
    for &exit in exits {
        let is_return = cx.func.op(exit) == Op::Return;
        let value = cx.func.args(exit).first().copied();
        let mut b = Builder::before(cx.func, cx.types, exit);
        if let (Some(result), Some(value)) = (result, value) {
            b.store(result, value);
        }
        let code = b.u32(if is_return { RETURNED } else { BROKE });
        b.store(how, code);
        b.inst(Op::Continue, TypeId::VOID, &[], &[test], Imm::None);
        cx.func.remove_inst(exit);
        let count = if is_return {
            &mut info.rerouted_return_count
        } else {
            &mut info.rerouted_break_count
        };
        *count += 1;
    }
    info.kept_loop_count += 1;
    if has_return { return_behind(cx, merge, how, result) } else { None }
}

/// The block that leaves the loop if that was remembered: in front of the body of a `simple_loop`, of the update of a `loop`.
fn test_block(
    cx: &mut FunctionCx<'_>,
    inside: &Loop,
    how: ValueId,
    merge: BlockId,
) -> Option<BlockId> {
    let terminator = inside.terminator;
    // The index of the block that the next round starts with, or that the round ends with.
    let role = if cx.func.op(terminator) == Op::Loop { 2 } else { 0 };
    let after = *cx.func.inst_blocks(terminator).get(role)?;
    let before = cx.func.inst_block(terminator)?;
    let test = cx.func.insert_block_after(before);
    let leave = cx.func.insert_block_after(test);
    let stay = cx.func.insert_block_after(leave);
    for &other in inside.terminators.iter().chain([&terminator]) {
        for named in cx.func.inst_blocks_mut(other) {
            if *named == after {
                *named = test;
            }
        }
    }
    let mut b = Builder::at_end(cx.func, cx.types, test);
    b.value(Op::ThreadGroup(ThreadGroupOp::WarpIsFirstActiveLane), TypeId::BOOL, &[]);
    let remembered = b.load(how);
    let stayed = b.u32(STAYED);
    let leaves = b.arithmetic(ArithmeticOp::BinaryNotEqual, &[remembered, stayed]);
    b.inst(Op::If, TypeId::VOID, &[leaves], &[leave, stay, after], Imm::None);
    b.switch_to(leave);
    b.inst(Op::Break, TypeId::VOID, &[], &[merge], Imm::None);
    b.switch_to(stay);
    b.br(after);
    Some(test)
}

/// Lets threads that remembered a `return` return behind the loop.
fn return_behind(
    cx: &mut FunctionCx<'_>,
    merge: BlockId,
    how: ValueId,
    result: Option<ValueId>,
) -> Option<InstId> {
    let first = cx.func.first_inst(merge)?;
    let rest = cx.func.split_block(first);
    let leave = cx.func.insert_block_after(merge);
    let stay = cx.func.insert_block_after(leave);
    let mut b = Builder::at_end(cx.func, cx.types, merge);
    let remembered = b.load(how);
    let returned = b.u32(RETURNED);
    let leaves = b.arithmetic(ArithmeticOp::BinaryEqual, &[remembered, returned]);
    b.inst(Op::If, TypeId::VOID, &[leaves], &[leave, stay, rest], Imm::None);
    b.switch_to(leave);
    let value = result.map(|result| b.load(result));
    let exit = b.ret(value);
    b.switch_to(stay);
    b.br(rest);
    Some(exit)
}
