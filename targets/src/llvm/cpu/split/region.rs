//! From a cut kernel to the functions of its regions.

use cranelift_entity::SecondaryMap;
use luisac_ast::types::TypeId;
use luisac_xir::op::Space;
use luisac_xir::{
    ArgumentKind, BlockId, Function, FunctionId, FunctionKind, Imm, InstId, Module, Op, ValueDef,
    ValueId,
};
use rustc_hash::FxHashMap;

use super::keep::{Frame, Home};
use super::{Cut, FIRST_STATE, Growth, Region, Split};

/// Makes the functions and a module that holds them.
pub(super) fn build(
    module: &Module,
    kernel: FunctionId,
    cut: &Cut,
    frame: Frame,
    growth: Growth,
    stops: &dyn Fn(&Function, InstId) -> bool,
) -> Result<Split, String> {
    let mut shared: Vec<(ValueId, TypeId)> = Vec::new();
    for block in cut.func.blocks() {
        for inst in cut.func.insts(block) {
            if let (Op::Alloca(Space::Shared), Some(v)) = (cut.func.op(inst), cut.func.result(inst))
            {
                shared.push((v, cut.func.value_type(v)));
            }
        }
    }
    let groups = groups(cut, growth);
    let mut result = Split {
        module: module.clone(),
        regions: Vec::new(),
        shared: shared.iter().map(|&(_, ty)| ty).collect(),
        slots: frame.slots.clone(),
        loops: has_loop(cut),
    };
    for states in groups {
        let copier = Copier::new(cut, &frame, &shared, &states);
        let (mut function, next, slots) = copier.run(&states)?;
        function.name = format!("{}_region_{}", cut.func.name, states[0]);
        let ends = leaves(&function, stops);
        let function = result.module.functions.push(function);
        result.regions.push(Region { function, states, slots, next, ends });
    }
    call_regions(&mut result, kernel);
    Ok(result)
}

/// Whether a thread may end in a region: by `return 0` or by stopping.
fn leaves(function: &Function, stops: &dyn Fn(&Function, InstId) -> bool) -> bool {
    function.blocks().any(|b| {
        function.insts(b).any(|i| match function.op(i) {
            Op::Return => {
                function.args(i).first().and_then(|&v| function.constant_bits(v)) == Some(0)
            }
            _ => stops(function, i),
        })
    })
}

/// Which states share a function: each has its own, unless the copies would be too much code.
fn groups(cut: &Cut, growth: Growth) -> Vec<Vec<u32>> {
    let states = FIRST_STATE..FIRST_STATE + cut.starts.len() as u32;
    let mut sizes: SecondaryMap<BlockId, usize> = SecondaryMap::new();
    let mut whole = 0;
    for block in cut.func.blocks() {
        sizes[block] = cut.func.insts(block).count();
        whole += sizes[block];
    }
    let limit = (whole * growth.times).max(growth.free);
    let mut total = 0;
    for &start in &cut.starts {
        for block in reachable(cut, &[start]) {
            total += sizes[block];
        }
        if total > limit {
            return vec![states.collect()];
        }
    }
    states.map(|s| vec![s]).collect()
}

/// Whether there is a cycle without a barrier.
fn has_loop(cut: &Cut) -> bool {
    // In a reverse post-order of a graph without cycles every edge leads forward.
    let order = reachable(cut, &cut.starts);
    let mut number: SecondaryMap<BlockId, usize> = SecondaryMap::new();
    for (i, &block) in order.iter().enumerate() {
        number[block] = i;
    }
    let mut inner = order.iter().filter(|&&b| cut.after[b] == 0);
    inner.any(|&b| cut.func.successors(b).iter().any(|&s| number[s] <= number[b]))
}

/// The blocks from some starts up to the next barriers, in reverse post-order.
fn reachable(cut: &Cut, starts: &[BlockId]) -> Vec<BlockId> {
    let mut seen: rustc_hash::FxHashSet<BlockId> = Default::default();
    let mut order = Vec::new();
    for &start in starts.iter().rev() {
        if !seen.insert(start) {
            continue;
        }
        let mut stack = vec![(start, 0usize)];
        while let Some((block, next)) = stack.last_mut() {
            let successors =
                if cut.after[*block] != 0 { &[][..] } else { cut.func.successors(*block) };
            match successors.get(*next) {
                Some(&target) => {
                    *next += 1;
                    if seen.insert(target) {
                        stack.push((target, 0));
                    }
                }
                None => {
                    order.push(*block);
                    stack.pop();
                }
            }
        }
    }
    order.reverse();
    order
}

/// One region under construction. Its tables are no larger than the region.
struct Copier<'a> {
    cut: &'a Cut,
    frame: &'a Frame,
    order: Vec<BlockId>,
    func: Function,
    values: FxHashMap<ValueId, ValueId>,
    blocks: FxHashMap<BlockId, BlockId>,
    head: BlockId,
    state: Option<ValueId>,
    /// The slots that the region names, and their arguments.
    slots: Vec<usize>,
    places: Vec<ValueId>,
    /// The local copies that the region names, sorted, and whether it changes them.
    used: Vec<(usize, bool)>,
    next: Vec<u32>,
}

impl<'a> Copier<'a> {
    fn new(
        cut: &'a Cut,
        frame: &'a Frame,
        shared: &[(ValueId, TypeId)],
        states: &[u32],
    ) -> Copier<'a> {
        let source = &cut.func;
        let mut func = Function::new("", FunctionKind::Callable, TypeId::U32);
        let mut values = FxHashMap::default();
        for a in &source.arguments {
            let copy = func.add_argument(a.kind, a.ty, a.name.as_deref(), a.captured);
            values.insert(a.value, copy);
        }
        let state = (states.len() > 1)
            .then(|| func.add_argument(ArgumentKind::Value, TypeId::U32, Some("state"), false));
        for &(v, ty) in shared {
            values.insert(v, func.add_argument(ArgumentKind::Reference, ty, None, false));
        }
        let head = func.append_block();
        let starts: Vec<BlockId> =
            states.iter().map(|&s| cut.starts[(s - FIRST_STATE) as usize]).collect();
        let order = reachable(cut, &starts);
        let (blocks, places) = (FxHashMap::default(), Vec::new());
        let (slots, used, next) = (Vec::new(), Vec::new(), Vec::new());
        Copier { cut, frame, order, func, values, blocks, head, state, slots, places, used, next }
    }

    /// The function, the states that follow, and the slots that are its last arguments.
    fn run(mut self, states: &[u32]) -> Result<(Function, Vec<u32>, Vec<usize>), String> {
        let order = std::mem::take(&mut self.order);
        for &block in &order {
            let copy = self.func.append_block();
            self.blocks.insert(block, copy);
        }
        self.take_slots(&order);
        self.locals(&order);
        for &block in &order {
            self.block(block)?;
        }
        for &block in &order {
            self.fill_phis(block)?;
        }
        self.enter(states)?;
        self.next.sort_unstable();
        self.next.dedup();
        Ok((self.func, self.next, self.slots))
    }

    /// Finds which slots and local copies the region names, and gives it arguments for them.
    fn take_slots(&mut self, order: &[BlockId]) {
        let source = &self.cut.func;
        let mut in_frame: Vec<(usize, ValueId)> = Vec::new();
        for inst in order.iter().flat_map(|&b| source.insts(b)) {
            for (i, &v) in source.args(inst).iter().enumerate() {
                match self.frame.homes.get(&v) {
                    Some(&Home::Kept(k)) => {
                        self.used.push((k, i == 0 && source.op(inst) == Op::Store))
                    }
                    Some(&Home::Slot(slot)) => in_frame.push((slot, v)),
                    None => {}
                }
            }
        }
        // The entry that says `changed` wins.
        self.used.sort_unstable_by_key(|&(k, changes)| (k, !changes));
        self.used.dedup_by_key(|u| u.0);
        let kept = self.used.iter().map(|&(k, _)| self.frame.kept[k].slot);
        self.slots = kept.chain(in_frame.iter().map(|&(slot, _)| slot)).collect();
        self.slots.sort_unstable();
        self.slots.dedup();
        for &slot in &self.slots {
            let ty = self.frame.slots[slot].ty;
            self.places.push(self.func.add_argument(ArgumentKind::Reference, ty, None, false));
        }
        for (slot, v) in in_frame {
            if let Some(place) = self.place(slot) {
                self.values.insert(v, place);
            }
        }
    }

    /// Whether the region names a local copy, and then whether it changes it.
    fn names(&self, kept: usize) -> Option<bool> {
        self.used.binary_search_by_key(&kept, |u| u.0).ok().map(|i| self.used[i].1)
    }

    /// The argument for a slot.
    fn place(&self, slot: usize) -> Option<ValueId> {
        self.slots.binary_search(&slot).ok().map(|i| self.places[i])
    }

    /// Local variables of the region: those that are not kept are zero when it starts.
    fn locals(&mut self, order: &[BlockId]) {
        let source = &self.cut.func;
        let mut wanted: Vec<ValueId> =
            self.used.iter().map(|&(k, _)| self.frame.kept[k].local).collect();
        for &block in order {
            for inst in source.insts(block) {
                wanted.extend(source.args(inst).iter().copied().filter(|&v| {
                    source.def_inst(v).is_some_and(|i| source.op(i) == Op::Alloca(Space::Local))
                }));
            }
        }
        for v in wanted {
            if !self.values.contains_key(&v) {
                let ty = source.value_type(v);
                let inst = self.func.create_inst(Op::Alloca(Space::Local), ty, &[], &[], Imm::None);
                self.func.append_inst(self.head, inst);
                self.values.extend(self.func.result(inst).map(|r| (v, r)));
            }
        }
    }

    fn block(&mut self, block: BlockId) -> Result<(), String> {
        let source = &self.cut.func;
        let target = self.target(block)?;
        for inst in source.insts(block) {
            match source.op(inst) {
                Op::Alloca(_) => continue,
                op if op.is_terminator() && self.cut.after[block] != 0 => {
                    self.leave(target, self.cut.after[block])?;
                    continue;
                }
                Op::Return => {
                    self.give(target, 0);
                    continue;
                }
                _ => {}
            }
            let data = source.inst(inst);
            let (mut args, mut blocks) = (Vec::new(), Vec::new());
            if data.op != Op::Phi {
                for &a in source.args(inst) {
                    args.push(self.value(a)?);
                }
                for &b in source.inst_blocks(inst) {
                    blocks.push(self.target(b)?);
                }
            }
            let copy = self.func.create_inst(data.op, data.ty, &args, &blocks, data.imm.clone());
            self.func.set_loc(copy, data.loc);
            self.func.append_inst(target, copy);
            if let Some(v) = source.result(inst) {
                self.values.extend(self.func.result(copy).map(|r| (v, r)));
            }
        }
        Ok(())
    }

    fn target(&self, block: BlockId) -> Result<BlockId, String> {
        self.blocks
            .get(&block)
            .copied()
            .ok_or_else(|| "a branch that leaves its region".to_string())
    }

    /// The copy of a value that is not a phi's operand.
    fn value(&mut self, v: ValueId) -> Result<ValueId, String> {
        let source = &self.cut.func;
        Ok(match source.value_def(v) {
            ValueDef::Constant(_) => match source.constant_bytes(v) {
                Some(bytes) => self.func.constant(source.value_type(v), bytes.clone()),
                None => return Err("a constant without bytes".to_string()),
            },
            ValueDef::Undefined => self.func.undefined(source.value_type(v)),
            ValueDef::Special(register) => self.func.special(register),
            ValueDef::Inst(_) | ValueDef::Argument(_) => {
                self.values.get(&v).copied().ok_or_else(|| {
                    "a value that crosses a barrier without being kept".to_string()
                })?
            }
        })
    }

    /// Phis take the entries whose predecessors are in the region.
    fn fill_phis(&mut self, block: BlockId) -> Result<(), String> {
        let source = &self.cut.func;
        for phi in source.phis(block) {
            let copy = source.result(phi).and_then(|v| self.values.get(&v).copied());
            let Some(copy) = copy.and_then(|v| self.func.def_inst(v)) else { continue };
            for (&v, &from) in source.args(phi).iter().zip(source.inst_blocks(phi)) {
                let target = self.blocks.get(&from).copied();
                let Some(target) = target.filter(|_| self.cut.after[from] == 0) else { continue };
                let v = self.value(v)?;
                self.func.push_arg(copy, v);
                self.func.inst_blocks_mut(copy).push(target);
            }
        }
        Ok(())
    }

    /// Ends a block at a barrier: writes back what lives on.
    fn leave(&mut self, target: BlockId, state: u32) -> Result<(), String> {
        let frame = self.frame;
        for &k in &frame.living[(state - FIRST_STATE) as usize] {
            let kept = &frame.kept[k];
            if let Some(place) = self.place(kept.slot).filter(|_| self.names(k) == Some(true)) {
                let local = self.value(kept.local)?;
                self.move_value(target, place, local);
            }
        }
        self.next.push(state);
        self.give(target, state);
        Ok(())
    }

    fn move_value(&mut self, block: BlockId, to: ValueId, from: ValueId) {
        let ty = self.func.value_type(from);
        let load = self.func.create_inst(Op::Load, ty, &[from], &[], Imm::None);
        self.func.append_inst(block, load);
        if let Some(v) = self.func.result(load) {
            let store = self.func.create_inst(Op::Store, TypeId::VOID, &[to, v], &[], Imm::None);
            self.func.append_inst(block, store);
        }
    }

    fn give(&mut self, block: BlockId, state: u32) {
        let v = self.func.u32_constant(state);
        let inst = self.func.create_inst(Op::Return, TypeId::VOID, &[v], &[], Imm::None);
        self.func.append_inst(block, inst);
    }

    /// The head: for each state, takes what lives there from the frame.
    fn enter(&mut self, states: &[u32]) -> Result<(), String> {
        let mut entries = Vec::with_capacity(states.len());
        for &state in states {
            let index = (state - FIRST_STATE) as usize;
            let start = self.target(self.cut.starts[index])?;
            let block = if self.state.is_some() { self.func.append_block() } else { self.head };
            let frame = self.frame;
            for &k in &frame.living[index] {
                let kept = &frame.kept[k];
                if let Some(place) = self.place(kept.slot).filter(|_| self.names(k).is_some()) {
                    let local = self.value(kept.local)?;
                    self.move_value(block, local, place);
                }
            }
            let br = self.func.create_inst(Op::Br, TypeId::VOID, &[], &[start], Imm::None);
            self.func.append_inst(block, br);
            entries.push(block);
        }
        if let (Some(state), Some(&first)) = (self.state, entries.first()) {
            // The first state is the default; the others are cases.
            let mut blocks = vec![first];
            blocks.extend(entries.iter().skip(1));
            let cases: Vec<u64> = states.iter().skip(1).map(|&s| s.into()).collect();
            let cases = Imm::Cases(cases.into());
            let branch =
                self.func.create_inst(Op::IndexedBranch, TypeId::VOID, &[state], &blocks, cases);
            self.func.append_inst(self.head, branch);
        }
        Ok(())
    }
}

/// Makes the kernel's body call each region once: not to be run, but so that whoever asks what the kernel reaches finds them.
fn call_regions(split: &mut Split, kernel: FunctionId) {
    let old = &split.module.functions[kernel];
    let mut func = Function::new(old.name.clone(), old.kind, old.return_type);
    let mut own = Vec::new();
    for a in &old.arguments {
        own.push(func.add_argument(a.kind, a.ty, a.name.as_deref(), a.captured));
    }
    let block = func.append_block();
    let memory = |func: &mut Function, ty, space| {
        let inst = func.create_inst(Op::Alloca(space), ty, &[], &[], Imm::None);
        func.append_inst(block, inst);
        func.result(inst)
    };
    let shared: Vec<ValueId> =
        split.shared.iter().filter_map(|&ty| memory(&mut func, ty, Space::Shared)).collect();
    let slots: Vec<ValueId> =
        split.slots.iter().filter_map(|s| memory(&mut func, s.ty, Space::Local)).collect();
    for region in &split.regions {
        let mut args = own.clone();
        if region.states.len() > 1 {
            args.push(func.u32_constant(FIRST_STATE));
        }
        args.extend_from_slice(&shared);
        args.extend(region.slots.iter().map(|&s| slots[s]));
        let callee = Imm::Callee(region.function);
        let call = func.create_inst(Op::Call, TypeId::U32, &args, &[], callee);
        func.append_inst(block, call);
    }
    let ret = func.create_inst(Op::Return, TypeId::VOID, &[], &[], Imm::None);
    func.append_inst(block, ret);
    split.module.functions[kernel] = func;
}
