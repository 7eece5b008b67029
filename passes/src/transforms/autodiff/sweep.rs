//! The way back: the tree of the forward run, last item first, with a stack of what is left to emit instead of recursion.

use super::activity::{Activity, root_of};
use super::gradients::Gradient;
use super::regions::{ConstructId, Item, RegionId, Tree};
use super::tape::{Slot, Tape};
use super::{Info, Options, refusal};
use crate::manager::declaration::Refusal;
use luisac_ast::types::TypeTable;
use luisac_xir::op::{ArithmeticOp, AutodiffOp};
use luisac_xir::{BlockId, Builder, Function, Imm, InstId, Op, SourceLoc, ValueId};
use rustc_hash::FxHashMap;

pub(super) type Result<T> = std::result::Result<T, Refusal>;

/// Something that is still to be emitted.
enum Task {
    Item(Item),
    Region(RegionId),
    /// Emitted under the condition that the flag is set.
    Guard(Slot, Vec<Task>),
    Enter(BlockId),
    Jump(BlockId),
    EndLoop(ConstructId),
}

/// The state of one scope.
pub(super) struct Sweep<'a> {
    pub func: &'a mut Function,
    pub types: &'a mut TypeTable,
    pub tree: Tree,
    pub activity: Activity,
    pub options: &'a Options,
    scope: InstId,
    /// Where code of the way back goes.
    pub block: BlockId,
    pub loc: SourceLoc,
    /// Locals that are set to zero when the scope starts.
    pub zeroed: Vec<ValueId>,
    /// Adjoints in memory, by variable or value.
    adjoints: FxHashMap<ValueId, ValueId>,
    /// Adjoints of the values of the block that is being reversed.
    pending: FxHashMap<ValueId, ValueId>,
    /// What `gradient` reads, by variable or value.
    pub gradients: FxHashMap<ValueId, Gradient>,
    pub tape: Tape,
    /// Whether something in a region, or construct, is to be reversed.
    pub region_works: Vec<bool>,
    pub construct_works: Vec<bool>,
}

impl<'a> Sweep<'a> {
    /// The state at the start.
    pub fn new(
        func: &'a mut Function,
        types: &'a mut TypeTable,
        tree: Tree,
        activity: Activity,
        scope: InstId,
        options: &'a Options,
    ) -> Sweep<'a> {
        let block = func.inst_blocks(scope)[0];
        let loc = func.inst(scope).loc;
        let (region_works, construct_works) =
            (vec![false; tree.regions.len()], vec![false; tree.constructs.len()]);
        Sweep {
            func,
            types,
            tree,
            activity,
            options,
            scope,
            block,
            loc,
            zeroed: Vec::new(),
            adjoints: FxHashMap::default(),
            pending: FxHashMap::default(),
            gradients: FxHashMap::default(),
            tape: Tape::default(),
            region_works,
            construct_works,
        }
    }

    /// Emits the way back and replaces all intrinsics of the scope.
    ///
    /// # Errors
    /// Something that a gradient depends on has no rule, or the limits are exceeded.
    pub fn run(&mut self, info: &mut Info) -> Result<()> {
        let intrinsics = self.intrinsics();
        self.plan_gradients(&intrinsics);
        if let Some(marker) = self.tree.marker {
            self.find_work();
            self.count_iterations()?;
            self.cut_regions()?;
            self.reverse(marker)?;
        }
        info.removed_instruction_count += intrinsics.len() as u64;
        self.replace_intrinsics(&intrinsics);
        for local in std::mem::take(&mut self.zeroed) {
            let zero = self.zero(self.ty(local));
            Builder::before(self.func, self.types, self.scope).store(local, zero);
        }
        info.taped_value_count += self.tape.kept;
        info.adjoint_count += self.adjoints.len() as u64;
        info.reversed_loop_count += self.tape.loops.len() as u64;
        Ok(())
    }

    pub fn refuse(&self, reason: impl Into<String>, help: impl Into<String>) -> Refusal {
        refusal(self.func, reason, help)
    }

    /// The intrinsics of the scope, in order.
    fn intrinsics(&self) -> Vec<InstId> {
        let is_intrinsic = |&i: &InstId| matches!(self.func.op(i), Op::Autodiff(_));
        let insts = self.tree.scope_blocks.iter().flat_map(|&b| self.func.insts(b));
        insts.filter(is_intrinsic).collect()
    }

    // ---- what is to be done

    /// Children come after their parents, hence from the last to the first.
    fn find_work(&mut self) {
        for region in (0..self.tree.regions.len()).rev() {
            let items = std::mem::take(&mut self.tree.regions[region].items);
            for &item in &items {
                if let Item::Construct(id) = item {
                    let parts = self.tree.constructs[id].parts.iter().flatten();
                    self.construct_works[id] = parts.into_iter().any(|&r| self.region_works[r]);
                }
            }
            self.region_works[region] = items.iter().any(|&item| self.item_works(item));
            self.tree.regions[region].items = items;
        }
    }

    /// Whether something in an item is to be reversed.
    pub fn item_works(&self, item: Item) -> bool {
        match item {
            Item::Construct(id) => self.construct_works[id],
            Item::Block(block) => self.func.insts(block).any(|i| self.inst_works(i)),
        }
    }

    fn inst_works(&self, inst: InstId) -> bool {
        if !self.activity.is_forward[inst] {
            return false;
        }
        let has_adjoint = |v: ValueId| self.activity.has_adjoint(root_of(self.func, v));
        let result = self.func.result(inst).is_some_and(|v| self.activity.has_adjoint(v));
        match self.func.op(inst) {
            Op::Alloca(_) | Op::Gep => false,
            Op::Store | Op::Autodiff(_) => {
                self.func.args(inst).first().is_some_and(|&target| has_adjoint(target))
            }
            Op::Call => {
                let lvalues = self.func.args(inst).iter().filter(|&&v| self.func.is_lvalue(v));
                result || lvalues.into_iter().any(|&v| has_adjoint(v))
            }
            _ => result,
        }
    }

    // ---- adjoints

    /// The adjoint of a variable or value in memory.
    pub fn adjoint(&mut self, root: ValueId) -> ValueId {
        if let Some(&known) = self.adjoints.get(&root) {
            return known;
        }
        let local = self.zeroed_local(self.ty(root));
        self.adjoints.insert(root, local);
        local
    }

    /// Adds to the adjoint of a value, if it has one.
    pub fn give(&mut self, value: ValueId, adjoint: ValueId) {
        if !self.activity.has_adjoint(value) {
            return;
        }
        if !self.activity.is_local[value] {
            let memory = self.adjoint(value);
            return self.accumulate(memory, adjoint);
        }
        let sum = match self.pending.get(&value) {
            Some(&old) => self.sum(old, adjoint),
            None => adjoint,
        };
        self.pending.insert(value, sum);
    }

    /// The adjoint of the result of an instruction that is being reversed; it starts again at zero, for the iteration before.
    fn take(&mut self, value: ValueId) -> Option<ValueId> {
        if self.activity.is_local[value] {
            return self.pending.remove(&value);
        }
        let memory = self.adjoint(value);
        let adjoint = self.builder().load(memory);
        self.capture_definition(value, adjoint);
        let zero = self.zero(self.ty(value));
        self.builder().store(memory, zero);
        Some(adjoint)
    }

    // ---- the walk

    fn reverse(&mut self, marker: InstId) -> Result<()> {
        let (Some(head), Some(next)) = (self.func.inst_block(marker), self.func.next_inst(marker))
        else {
            return Ok(());
        };
        self.loc = self.func.inst(marker).loc;
        let tail = self.func.split_block(next);
        self.enter(head);
        let mut tasks: Vec<Task> =
            self.tree.path.iter().rev().map(|&id| Task::Region(id)).collect();
        while let Some(task) = tasks.pop() {
            match task {
                Task::Item(Item::Block(block)) => self.reverse_block(block)?,
                Task::Item(Item::Construct(id)) => self.reverse_construct(id, &mut tasks)?,
                Task::Region(region) => self.push_region(region, &mut tasks),
                Task::Guard(flag, inner) => self.guard(flag, inner, &mut tasks),
                Task::Enter(block) => self.enter(block),
                Task::Jump(block) => {
                    self.builder().br(block);
                }
                Task::EndLoop(id) => {
                    if let Some(tape) = self.tape.loops.get_mut(&id) {
                        tape.current = None;
                    }
                }
            }
        }
        self.capture_rest();
        self.builder().br(tail);
        Ok(())
    }

    /// Goes on in another block.
    pub fn enter(&mut self, block: BlockId) {
        self.block = block;
        self.tape.reads.clear();
    }

    /// The segments of a region, the last on top.
    fn push_region(&mut self, region: RegionId, tasks: &mut Vec<Task>) {
        let items = &self.tree.regions[region].items;
        for segment in self.tape.segments.get(&region).map_or(&[][..], Vec::as_slice) {
            let works = |item: &&Item| self.item_works(**item);
            let inner =
                items[segment.start..segment.end].iter().filter(works).map(|&i| Task::Item(i));
            match segment.flag {
                None => tasks.extend(inner),
                Some(flag) => tasks.push(Task::Guard(flag, inner.collect())),
            }
        }
    }

    /// `if flag { inner }`, the last of `inner` first.
    fn guard(&mut self, flag: Slot, inner: Vec<Task>, tasks: &mut Vec<Task>) {
        let flag = self.read(flag);
        let (then, merge) = (self.new_block(), self.new_block());
        self.terminate(Op::If, &[flag], &[then, merge, merge], Imm::None);
        tasks.extend([Task::Enter(merge), Task::Jump(merge)]);
        tasks.extend(inner);
        self.enter(then);
    }

    fn reverse_construct(&mut self, id: ConstructId, tasks: &mut Vec<Task>) -> Result<()> {
        self.loc = self.func.inst(self.tree.constructs[id].inst).loc;
        match self.tree.constructs[id].op {
            Op::If | Op::Switch => self.reverse_branch(id, tasks),
            Op::Loop | Op::SimpleLoop => self.reverse_loop(id, tasks),
            _ => Err(self.refuse(
                "a gradient depends on what happens in a ray query",
                "move the query out of the differentiated scope",
            )),
        }
    }

    /// Branches again on what was branched on.
    fn reverse_branch(&mut self, id: ConstructId, tasks: &mut Vec<Task>) -> Result<()> {
        let (op, inst) = (self.tree.constructs[id].op, self.tree.constructs[id].inst);
        let parts = self.tree.constructs[id].parts.clone();
        let condition = self.func.arg(inst, 0);
        if let Some(bits) = self.func.constant_bits(condition) {
            tasks.extend(parts[self.taken(inst, bits)].map(Task::Region));
            return Ok(());
        }
        let condition = self.primal(condition)?;
        let merge = self.new_block();
        tasks.push(Task::Enter(merge));
        let mut named: Vec<BlockId> = Vec::with_capacity(parts.len() + 1);
        for (n, part) in parts.iter().enumerate() {
            let Some(region) = part.filter(|&r| self.region_works[r]) else {
                named.push(merge);
                continue;
            };
            if n > 0 && parts[n - 1] == *part {
                named.push(named[n - 1]);
                continue;
            }
            let block = self.new_block();
            named.push(block);
            tasks.extend([Task::Jump(merge), Task::Region(region), Task::Enter(block)]);
        }
        named.push(merge);
        let imm = self.func.inst(inst).imm.clone();
        self.terminate(op, &[condition], &named, imm);
        Ok(())
    }

    /// The part that a branch on a constant takes.
    fn taken(&self, inst: InstId, bits: u64) -> usize {
        match &self.func.inst(inst).imm {
            Imm::Cases(cases) => cases.iter().position(|&c| c == bits).map_or(0, |n| n + 1),
            _ => usize::from(bits == 0),
        }
    }

    /// Runs the iterations of a loop from the last to the first.
    fn reverse_loop(&mut self, id: ConstructId, tasks: &mut Vec<Task>) -> Result<()> {
        let Some(tape) = self.tape.loops.get(&id) else { return Ok(()) };
        let (counter, base) = (tape.counter, tape.base);
        let (entered, updated) = (tape.entered, tape.updated);
        let (opened, body) = self.open_loop();
        let first = match base {
            Some(slot) => self.read(slot),
            None => self.func.u32_constant(0),
        };
        let count = self.builder().load(counter);
        let more = self.op(ArithmeticOp::BinaryNotEqual, &[count, first]);
        self.builder().cond_br(more, body, opened.merge);
        self.enter(body);
        let count = self.builder().load(counter);
        let one = self.func.u32_constant(1);
        let index = self.sub(count, one);
        self.builder().store(counter, index);
        if let Some(tape) = self.tape.loops.get_mut(&id) {
            tape.current = Some(index);
        }
        tasks.extend([
            Task::Enter(opened.merge),
            Task::EndLoop(id),
            Task::Jump(opened.prepare),
            Task::Enter(opened.update),
            Task::Jump(opened.update),
        ]);
        let region = |n: usize| {
            let part = self.tree.constructs[id].parts.get(n).copied().flatten();
            part.filter(|&r| self.region_works[r]).map(Task::Region)
        };
        tasks.extend(region(0));
        let mut inner: Vec<Task> = region(1).into_iter().collect();
        if let Some(update) = region(2) {
            inner.push(match updated {
                Some(flag) => Task::Guard(flag, vec![update]),
                None => update,
            });
        }
        if let Some(flag) = entered {
            tasks.push(Task::Guard(flag, inner));
        }
        Ok(())
    }

    fn reverse_block(&mut self, block: BlockId) -> Result<()> {
        let insts: Vec<InstId> =
            self.func.insts(block).filter(|&i| self.activity.is_forward[i]).collect();
        for inst in insts.into_iter().rev() {
            if self.inst_works(inst) {
                self.loc = self.func.inst(inst).loc;
                self.reverse_inst(inst)?;
            }
        }
        Ok(())
    }

    fn reverse_inst(&mut self, inst: InstId) -> Result<()> {
        match self.func.op(inst) {
            Op::Store => self.reverse_store(inst),
            Op::Autodiff(op) => self.reverse_intrinsic(inst, op),
            op => {
                let adjoint = match self.func.result(inst) {
                    Some(result) if op != Op::Call => match self.take(result) {
                        Some(adjoint) => adjoint,
                        None => return Ok(()),
                    },
                    _ => return Err(self.no_rule(inst)),
                };
                match op {
                    Op::Load => {
                        let lvalue = self.func.arg(inst, 0);
                        let memory = self.adjoint(self.func.base_of(lvalue));
                        let place = self.place(lvalue, memory)?;
                        self.accumulate(place, adjoint);
                        Ok(())
                    }
                    Op::Arithmetic(op) => self.reverse_arithmetic(inst, op, adjoint),
                    Op::Cast(_) => {
                        let value = self.func.arg(inst, 0);
                        let adjoint = self.convert(adjoint, self.ty(value));
                        self.give(value, adjoint);
                        Ok(())
                    }
                    _ => Err(self.no_rule(inst)),
                }
            }
        }
    }

    /// Refuses an instruction that a gradient depends on.
    pub fn no_rule(&self, inst: InstId) -> Refusal {
        let op = self.func.op(inst);
        let name = op.sub_name().unwrap_or(op.mnemonic());
        self.refuse(
            format!("a gradient depends on `{name}`, which has no derivative here"),
            "`detach` its operands, or move it out of the differentiated scope",
        )
    }

    /// The adjoint of the variable goes to the value.
    fn reverse_store(&mut self, inst: InstId) -> Result<()> {
        let (lvalue, value) = (self.func.arg(inst, 0), self.func.arg(inst, 1));
        let base = self.func.base_of(lvalue);
        let memory = self.adjoint(base);
        let place = self.place(lvalue, memory)?;
        if self.activity.has_adjoint(value) || self.captures_stores(base) {
            let adjoint = self.builder().load(place);
            self.capture_store(base, lvalue, adjoint)?;
            self.give(value, adjoint);
        }
        let zero = self.zero(self.ty(lvalue));
        self.builder().store(place, zero);
        Ok(())
    }

    fn reverse_intrinsic(&mut self, inst: InstId, op: AutodiffOp) -> Result<()> {
        let target = self.func.arg(inst, 0);
        match op {
            AutodiffOp::GradientMarker | AutodiffOp::AccumulateGradient => {
                let seed = self.primal(self.func.arg(inst, 1))?;
                if self.func.is_lvalue(target) {
                    let memory = self.adjoint(self.func.base_of(target));
                    let place = self.place(target, memory)?;
                    self.accumulate(place, seed);
                } else {
                    self.give(target, seed);
                }
                Ok(())
            }
            AutodiffOp::RequiresGradient => self.capture_mark(target),
            AutodiffOp::Gradient | AutodiffOp::Backward | AutodiffOp::Detach => Ok(()),
        }
    }
}
