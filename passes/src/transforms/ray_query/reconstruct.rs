//! Loops that ask a ray query become ray queries by callbacks.
//!
//! What: the inverse of `lower_ray_query_to_loop`, for a `loop` of that form and for `while (query.proceed())`, which arrives as a
//! `simple_loop` that proceeds, leaves if the query has ended, and tests for the kinds of candidates, one behind the other or one
//! inside the other. The results of the questions may pass through boolean variables that nothing else uses.
//! Why right: nothing but the questions stands outside the handlers, so a round is a dispatch. The kind of a candidate does not
//! change in its handler, so tests in a row and nested ones are the same.
//! A loop that proceeds and is almost of that form is refused, and the function is left unchanged; a loop that does not proceed
//! is none of these.
//! Cost: linear.

use super::query_loop::{CANDIDATES, check_inst, region};
use crate::analyses::loops::Loops;
use crate::manager::declaration::{Declaration, FunctionCx, FunctionPass, Refusal, counters};
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::dominators::DominatorTree;
use luisac_xir::op::{ArithmeticOp, RayQueryReadOp, RayQueryWriteOp, Space};
use luisac_xir::{BlockId, Function, Imm, InstId, Op, TypeId, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};

counters! {
    /// What `reconstruct_ray_query_loop` did.
    Info {
        change reconstructed_ray_query_loop_count "loops turned into ray-query loops";
        note ignored_loop_count "loops that run no query";
    }
}

/// The pass.
pub struct ReconstructRayQueryLoop;

impl FunctionPass for ReconstructRayQueryLoop {
    const DECLARATION: Declaration = Declaration::new(
        "reconstruct_ray_query_loop",
        "turns loops that ask a ray query into ray queries by callbacks",
        "Recognises `while (query.proceed())` with tests for surface and procedural candidates, and the loops that \
         `lower_ray_query_to_loop` makes. A function with a loop that proceeds and is not of that form is refused.",
    );
    type Options = ();
    type Info = Info;

    fn run(cx: &mut FunctionCx<'_>, _: &()) -> Result<Info, Refusal> {
        let cfg = ControlFlowGraph::compute(cx.func);
        let dominators = DominatorTree::compute(cx.func, &cfg);
        let loops = Loops::compute(cx.func, &cfg, &dominators);
        let mut shells = Vec::new();
        let mut info = Info::default();
        let proceeding = proceeding_headers(cx.func, &cfg, &loops);
        for &owner in cfg.reverse_post_order() {
            let Some(end) = cx.func.terminator(owner) else { continue };
            if !matches!(cx.func.op(end), Op::Loop | Op::SimpleLoop) {
                continue;
            }
            if !proceeding.contains(&cx.func.inst_blocks(end)[0]) {
                info.ignored_loop_count += 1;
                continue;
            }
            let shell = Parser::new(cx.func, owner).parse();
            shells.push(shell.map_err(|reason| {
                cx.refuse(
                    format!("a loop over a ray query has no callback form: {reason}"),
                    "leave this pass out, or keep only tests for candidates in the loop",
                )
            })?);
        }
        for shell in shells {
            if !cx.fuel() {
                break;
            }
            rebuild(cx.func, &shell);
            info.reconstructed_ray_query_loop_count += 1;
        }
        Ok(info)
    }
}

/// The headers of the innermost loops around blocks that proceed.
fn proceeding_headers(
    func: &Function,
    cfg: &ControlFlowGraph,
    loops: &Loops,
) -> FxHashSet<BlockId> {
    let proceeds = |&&b: &&BlockId| {
        func.insts(b).any(|i| func.op(i) == Op::RayQueryWrite(RayQueryWriteOp::Proceed))
    };
    let blocks = cfg.reverse_post_order().iter().filter(proceeds);
    blocks.filter_map(|&b| Some(loops.loops[loops.innermost(b)? as usize].header)).collect()
}

/// A handler: where it starts, and the block that it goes on to.
#[derive(Clone, Copy)]
struct Arm {
    entry: BlockId,
    merge: BlockId,
}

/// A loop around handlers, with nothing else in it.
struct Shell {
    owner: BlockId,
    merge: BlockId,
    query: ValueId,
    /// By kind of candidate; none where nothing is done.
    handlers: [Option<Arm>; CANDIDATES],
    /// Blocks that belong to no handler.
    blocks: Vec<BlockId>,
}

/// What a boolean tells: the answer to a question, or its negation.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Answer {
    question: RayQueryReadOp,
    negated: bool,
}

type Parsed<T> = Result<T, &'static str>;

/// Walks along the path that a round takes if every candidate is passed by.
struct Parser<'a> {
    func: &'a Function,
    owner: BlockId,
    merge: BlockId,
    /// Where the next round starts, and the block that leads there.
    head: BlockId,
    update: Option<BlockId>,
    query: Option<ValueId>,
    answers: FxHashMap<ValueId, Answer>,
    /// What boolean variables hold; none for something else.
    memory: FxHashMap<ValueId, Option<Answer>>,
    tests_end: bool,
    handlers: [Option<Arm>; CANDIDATES],
    tested: [bool; CANDIDATES],
    blocks: Vec<BlockId>,
    /// Merges of tests whose other arm the walk is in.
    open: Vec<BlockId>,
}

const OTHER: &str = "something other than questions stands outside the handlers";

impl<'a> Parser<'a> {
    fn new(func: &'a Function, owner: BlockId) -> Self {
        let end = func.terminator(owner);
        let named = end.map_or(&[][..], |t| func.inst_blocks(t));
        let (head, merge) = (named[0], named[named.len() - 1]);
        let update = end.filter(|&t| func.op(t) == Op::Loop).map(|_| named[2]);
        Parser {
            func,
            owner,
            merge,
            head,
            update,
            query: None,
            answers: FxHashMap::default(),
            memory: FxHashMap::default(),
            tests_end: false,
            handlers: [None; CANDIDATES],
            tested: [false; CANDIDATES],
            blocks: Vec::new(),
            open: Vec::new(),
        }
    }

    fn parse(mut self) -> Parsed<Shell> {
        let mut at = Some(self.head);
        while let Some(block) = at {
            if self.blocks.contains(&block) {
                return Err("a round passes a block twice");
            }
            self.blocks.push(block);
            for inst in self.func.insts(block).filter(|&i| !self.func.op(i).is_terminator()) {
                self.inst(inst)?;
            }
            at = self.end(block)?;
        }
        let query = self.query.filter(|_| self.tests_end && self.open.is_empty());
        let query = query.ok_or("no test leaves the loop when the query has ended")?;
        self.check_update()?;
        self.check_handlers(query)?;
        self.check_uses()?;
        let Parser { owner, merge, handlers, blocks, .. } = self;
        Ok(Shell { owner, merge, query, handlers, blocks })
    }

    fn inst(&mut self, inst: InstId) -> Parsed<()> {
        let func = self.func;
        let arg = |i: usize| func.arg(inst, i);
        match func.op(inst) {
            Op::RayQueryWrite(RayQueryWriteOp::Proceed) if self.query.is_none() => {
                self.query = Some(arg(0));
            }
            Op::RayQueryRead(question) if self.query == Some(arg(0)) => {
                let answer = Answer { question, negated: false };
                self.answers.extend(func.result(inst).map(|v| (v, answer)));
            }
            Op::Arithmetic(ArithmeticOp::UnaryBitNot) => {
                let answer = *self.answers.get(&arg(0)).ok_or(OTHER)?;
                let negated = Answer { negated: !answer.negated, ..answer };
                self.answers.extend(func.result(inst).map(|v| (v, negated)));
            }
            Op::Store if self.is_variable(arg(0)) => {
                let answer = self.answers.get(&arg(1)).copied();
                self.memory.insert(arg(0), answer);
            }
            Op::Load if self.is_variable(arg(0)) => {
                let answer = self.memory.get(&arg(0)).copied().flatten().ok_or(OTHER)?;
                self.answers.extend(func.result(inst).map(|v| (v, answer)));
            }
            _ => return Err(OTHER),
        }
        Ok(())
    }

    fn is_variable(&self, place: ValueId) -> bool {
        let def = self.func.def_inst(place);
        self.func.value_type(place) == TypeId::BOOL
            && def.is_some_and(|i| self.func.op(i) == Op::Alloca(Space::Local))
    }

    /// The block behind a block of the shell; none at the end of the round.
    fn end(&mut self, block: BlockId) -> Parsed<Option<BlockId>> {
        let end = self.func.terminator(block).ok_or(OTHER)?;
        let named = self.func.inst_blocks(end);
        match (self.func.op(end), named) {
            (Op::Br | Op::Continue, &[target]) => Ok(self.go_on(target)),
            (Op::CondBr, &[body, merge]) if merge == self.merge => {
                let answer = self.answer(end)?;
                self.leaves_at_end(Answer { negated: !answer.negated, ..answer })?;
                Ok(Some(body))
            }
            (Op::If, &[yes, no, merge]) => {
                let answer = self.answer(end)?;
                let [yes, no] = if answer.negated { [no, yes] } else { [yes, no] };
                match answer.question {
                    RayQueryReadOp::IsTerminated => self.leave(yes, no, merge).map(Some),
                    RayQueryReadOp::IsTriangleCandidate => self.handle(0, yes, no, merge),
                    RayQueryReadOp::IsProceduralCandidate => self.handle(1, yes, no, merge),
                    _ => Err(OTHER),
                }
            }
            _ => Err(OTHER),
        }
    }

    fn go_on(&mut self, target: BlockId) -> Option<BlockId> {
        if self.open.last() == Some(&target) {
            self.open.pop();
        }
        (target != self.head && Some(target) != self.update).then_some(target)
    }

    fn answer(&self, branch: InstId) -> Parsed<Answer> {
        let condition = self.func.arg(branch, 0);
        self.answers.get(&condition).copied().ok_or("a branch asks for something else")
    }

    fn leaves_at_end(&mut self, answer: Answer) -> Parsed<()> {
        let leaves = answer.question == RayQueryReadOp::IsTerminated && !answer.negated;
        if !leaves || self.tests_end || self.tested != [false; CANDIDATES] {
            return Err("the loop is not left first of all when the query has ended");
        }
        self.tests_end = true;
        Ok(())
    }

    /// The test for the end: one arm leaves, the other is empty.
    fn leave(&mut self, out: BlockId, on: BlockId, merge: BlockId) -> Parsed<BlockId> {
        let question = RayQueryReadOp::IsTerminated;
        self.leaves_at_end(Answer { question, negated: false })?;
        let breaks = self.only(out).filter(|&t| self.func.op(t) == Op::Break);
        if breaks.is_none_or(|t| self.func.inst_blocks(t) != [self.merge]) {
            return Err("something is done when the query has ended");
        }
        self.blocks.push(out);
        self.pass_by(on, merge)?.then_some(merge).ok_or(OTHER)
    }

    /// The only instruction of a block.
    fn only(&self, block: BlockId) -> Option<InstId> {
        self.func.first_inst(block).filter(|&i| Some(i) == self.func.last_inst(block))
    }

    /// Whether an arm is empty; its block belongs to the shell then.
    fn pass_by(&mut self, arm: BlockId, merge: BlockId) -> Parsed<bool> {
        if arm == merge {
            return Ok(true);
        }
        let branch = self.only(arm).filter(|&t| self.func.op(t) == Op::Br);
        let is_empty = branch.is_some_and(|t| self.func.inst_blocks(t) == [merge]);
        if is_empty {
            self.blocks.push(arm);
        }
        Ok(is_empty)
    }

    /// A test for a kind of candidates: one arm is the handler, in the other the walk goes on.
    fn handle(
        &mut self,
        kind: usize,
        yes: BlockId,
        no: BlockId,
        merge: BlockId,
    ) -> Parsed<Option<BlockId>> {
        if !self.tests_end || std::mem::replace(&mut self.tested[kind], true) {
            return Err("the tests for candidates are not those of a query");
        }
        if !self.pass_by(yes, merge)? {
            self.handlers[kind] = Some(Arm { entry: yes, merge });
        }
        if self.pass_by(no, merge)? {
            return Ok(Some(merge));
        }
        self.open.push(merge);
        Ok(Some(no))
    }

    /// The update block of a `loop` only leads back.
    fn check_update(&mut self) -> Parsed<()> {
        let Some(update) = self.update else { return Ok(()) };
        let back = self.only(update).filter(|&t| self.func.op(t) == Op::Br);
        if back.is_none_or(|t| self.func.inst_blocks(t) != [self.head]) {
            return Err(OTHER);
        }
        self.blocks.push(update);
        Ok(())
    }

    fn check_handlers(&self, query: ValueId) -> Parsed<()> {
        for arm in self.handlers.iter().flatten() {
            let blocks = region(self.func, arm.entry, arm.merge);
            let inside: FxHashSet<BlockId> = blocks.iter().copied().collect();
            for &block in &blocks {
                for inst in self.func.insts(block) {
                    check_inst(self.func, query, inst)?;
                    let op = self.func.op(inst);
                    let leaves = |t: &BlockId| !inside.contains(t) && *t != arm.merge;
                    if matches!(op, Op::Return | Op::RasterDiscard)
                        || op.is_terminator() && self.func.inst_blocks(inst).iter().any(leaves)
                    {
                        return Err("a handler leaves the loop");
                    }
                }
            }
        }
        Ok(())
    }

    /// Nothing outside the shell uses its values or variables, and nothing in it is a phi.
    fn check_uses(&self) -> Parsed<()> {
        let inside: FxHashSet<BlockId> = self.blocks.iter().copied().collect();
        let stays = |user: InstId| self.func.inst_block(user).is_none_or(|b| inside.contains(&b));
        let values = self.answers.keys().chain(self.memory.keys());
        for &value in values {
            if !self.func.uses(value).all(|(user, _)| stays(user)) {
                return Err("a handler or what follows uses an answer");
            }
        }
        if self.func.phis(self.merge).next().is_some() {
            return Err("the loop is left with phis");
        }
        Ok(())
    }
}

fn rebuild(func: &mut Function, shell: &Shell) {
    let Some(old) = func.terminator(shell.owner) else { return };
    let loc = func.inst(old).loc;
    let dispatch = func.insert_block_after(shell.owner);
    let mut last = dispatch;
    let entries = shell.handlers.map(|handler| match handler {
        Some(arm) => {
            for block in region(func, arm.entry, arm.merge) {
                super::super::loop_blocks::redirect(func, block, arm.merge, dispatch);
            }
            arm.entry
        }
        None => {
            last = func.insert_block_after(last);
            func.replace_with_br(last, dispatch);
            last
        }
    });
    func.remove_inst(old);
    let blocks = [dispatch, shell.merge];
    let owner = func.create_inst(Op::RayQueryLoop, TypeId::VOID, &[], &blocks, Imm::None);
    func.append_inst(shell.owner, owner);
    let targets = [shell.merge, entries[0], entries[1]];
    let args = [shell.query];
    let end = func.create_inst(Op::RayQueryDispatch, TypeId::VOID, &args, &targets, Imm::None);
    func.append_inst(dispatch, end);
    func.set_loc(owner, loc);
    func.set_loc(end, loc);
    for &block in &shell.blocks {
        let insts: Vec<InstId> = func.insts(block).collect();
        insts.into_iter().for_each(|inst| func.set_args(inst, &[]));
    }
    shell.blocks.iter().for_each(|&block| func.remove_block(block));
}
