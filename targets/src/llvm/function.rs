//! One function: blocks in reverse post-order, instruction after instruction.

use cranelift_entity::SecondaryMap;
use luisac_ast::diagnostic::Diagnostic;
use luisac_ast::types::{Scalar, TypeId, TypeKind};
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::op::{SpecialRegister, ThreadGroupOp};
use luisac_xir::{BlockId, Function, FunctionId, InstId, Op, ValueDef, ValueId};
use rustc_hash::FxHashMap;
use smallvec::smallvec;

use super::Emit;
use super::ir::{Bb, Val};
use super::launch::Launch;
use super::module::{ModuleEmit, internal};
use super::types::is_computable;
use super::unroll;
use super::value::{Leaves, Value};
use crate::{OptLevel, Support, errors};

/// The two places of a phi whose value lies in memory: predecessors write the staging place, the head of the block copies it.
/// So phis that exchange their values read all old ones first.
#[derive(Clone, Copy)]
pub struct PhiPlaces {
    staging: Val,
    place: Val,
}

/// A function under construction.
pub struct FnEmit<'a, 'c, 'm> {
    /// The module.
    pub cx: &'a mut ModuleEmit<'c, 'm>,
    /// The function.
    pub func: &'m Function,
    /// Its id.
    pub id: FunctionId,
    /// The launch.
    pub launch: Launch,
    /// Where zero stores of locals go: a block after the entry, before all code.
    pub zeroing: Bb,
    /// Bytes of local memory so far.
    pub local_bytes: u64,
    /// Those of them that are on the stack.
    pub stack_bytes: u64,
    /// Where a large result goes.
    pub large_result: Option<Val>,
    arguments: Vec<Value>,
    values: SecondaryMap<ValueId, Option<Value>>,
    heads: SecondaryMap<BlockId, Option<Bb>>,
    tails: SecondaryMap<BlockId, Option<Bb>>,
    phi_places: FxHashMap<InstId, PhiPlaces>,
    /// Large phis of the present block, until all its phis are made.
    large_phis: Vec<(PhiPlaces, TypeId)>,
    /// Edges between the same two blocks, where there are more than one.
    repeated: FxHashMap<(BlockId, BlockId), usize>,
}

impl<'a, 'c, 'm> FnEmit<'a, 'c, 'm> {
    /// Starts a function; instructions are being placed at the end of its LLVM entry block.
    pub fn new(
        cx: &'a mut ModuleEmit<'c, 'm>,
        id: FunctionId,
        launch: Launch,
        arguments: Vec<Value>,
        large_result: Option<Val>,
    ) -> FnEmit<'a, 'c, 'm> {
        let func = &cx.module.functions[id];
        let zeroing = cx.ir.new_block("zero");
        FnEmit {
            func,
            id,
            launch,
            zeroing,
            local_bytes: 0,
            stack_bytes: 0,
            large_result,
            arguments,
            values: func.value_map(),
            heads: SecondaryMap::new(),
            tails: SecondaryMap::new(),
            phi_places: FxHashMap::default(),
            large_phis: Vec::new(),
            repeated: FxHashMap::default(),
            cx,
        }
    }

    /// Emits the body.
    pub fn run(mut self) -> Emit<()> {
        let func = self.func;
        let cfg = ControlFlowGraph::compute(func);
        let order = cfg.reverse_post_order();
        self.cx.ir.br(self.zeroing);
        for &block in order {
            self.heads[block] = Some(self.cx.ir.new_block("b"));
            self.count_edges(block);
        }
        for &block in order {
            let Some(head) = self.heads[block] else { continue };
            self.cx.ir.at_end(head);
            self.emit_block(block)?;
        }
        self.unroll(&cfg);
        let Some(first) = order.first().and_then(|&b| self.heads[b]) else {
            return Err(internal("a function without blocks"));
        };
        self.cx.ir.at_end(self.zeroing);
        self.cx.ir.br(first);
        for &block in order {
            self.fill_phis(block)?;
        }
        self.check_local_memory()
    }

    /// Asks for the unrolling of small loops, where the target wants that.
    fn unroll(&self, cfg: &ControlFlowGraph) {
        let limit = self.cx.device.unrolled_size();
        if limit == 0 || self.cx.options.opt_level < OptLevel::O2 {
            return;
        }
        for (latch, count) in unroll::choose(&self.cx.module.types, self.func, cfg, limit) {
            if let Some(tail) = self.tails[latch] {
                self.cx.ir.mark_unrolled_loop(tail, count);
            }
        }
    }

    fn count_edges(&mut self, block: BlockId) {
        let mut targets = self.func.successors(block).to_vec();
        targets.sort_unstable();
        for same in targets.chunk_by(|a, b| a == b) {
            if let [first, _, ..] = same {
                self.repeated.insert((block, *first), same.len());
            }
        }
    }

    fn emit_block(&mut self, block: BlockId) -> Emit<()> {
        let func = self.func;
        for inst in func.insts(block) {
            if let Some(source) = &self.cx.options.source {
                self.cx.ir.set_line(source.line(func.inst(inst).loc));
            }
            if func.op(inst) != Op::Phi {
                self.copy_large_phis();
            }
            if func.op(inst).is_terminator() {
                self.stage_phis(block)?;
                // The tail is the block that the terminator ends, which may differ from the head.
                self.tails[block] = Some(self.cx.ir.block());
                return self.terminator(inst).map_err(|e| self.locate(e, inst));
            }
            let device = self.cx.device;
            self.cx.ir.set_group(device.access_group(self, inst));
            let result = self.instruction(inst);
            self.cx.ir.set_group(None);
            let result = result.map_err(|e| self.locate(e, inst))?;
            if let (Some(value), Some(id)) = (result, func.result(inst)) {
                self.values[id] = Some(value);
            }
        }
        Err(Diagnostic::error(errors::WRONG_FORM, "a block has no terminator")
            .in_function(func.name.clone())
            .into())
    }

    /// Adds function and place to a diagnostic that lacks them.
    fn locate(&self, mut e: Box<Diagnostic>, inst: InstId) -> Box<Diagnostic> {
        if e.function.is_none() {
            e.function = Some(self.func.name.clone());
            let loc = self.func.inst(inst).loc;
            if loc != luisac_xir::SourceLoc::NONE {
                e.notes.push(format!(
                    "from statement {} of function {} of the input",
                    loc.statement, loc.function
                ));
            }
        }
        e
    }

    fn check_local_memory(&self) -> Emit<()> {
        /// What CUDA gives a thread; the CPU's stack is no larger.
        const LIMIT: u64 = 512 * 1024;
        if self.local_bytes <= LIMIT {
            return Ok(());
        }
        Err(Diagnostic::error(
            errors::LOCAL_MEMORY,
            format!(
                "the local variables take {} bytes, more than the {LIMIT} that a thread has",
                self.local_bytes
            ),
        )
        .in_function(self.func.name.clone())
        .with_help("move large arrays into a buffer")
        .into())
    }

    fn instruction(&mut self, inst: InstId) -> Emit<Option<Value>> {
        let func = self.func;
        let op = func.op(inst);
        if let Support::Refused(code) = crate::addressed_core(op) {
            return Err(refused(code, op));
        }
        self.check_type(inst, op)?;
        match op {
            Op::Phi => self.phi(inst).map(Some),
            Op::Alloca(space) => self.alloca(inst, space).map(Some),
            Op::Load => {
                let place = self.place(func.arg(inst, 0))?;
                Ok(Some(self.load_value(func.inst(inst).ty, place, false, false)))
            }
            Op::Store => {
                let place = self.place(func.arg(inst, 0))?;
                let ty = func.value_type(func.arg(inst, 0));
                let v = self.value(func.arg(inst, 1))?;
                self.store_value(ty, place, &v, false)?;
                Ok(None)
            }
            Op::Gep => self.gep(inst).map(Some),
            Op::Arithmetic(a) => self.arithmetic(inst, a).map(Some),
            Op::Cast(c) => self.cast(inst, c).map(Some),
            Op::Atomic(a) => self.atomic(inst, a),
            Op::ThreadGroup(ThreadGroupOp::SynchronizeBlock) => {
                let device = self.cx.device;
                device.barrier(self, inst)?;
                Ok(None)
            }
            Op::ThreadGroup(ThreadGroupOp::ShaderExecutionReorder) => Ok(None),
            Op::ThreadGroup(g) => {
                let device = self.cx.device;
                device.wave(self, g, inst).map(Some)
            }
            Op::ResourceQuery(q) => self.resource_query(inst, q).map(Some),
            Op::ResourceRead(r) => self.resource_read(inst, r),
            Op::ResourceWrite(w) => self.resource_write(inst, w).map(|()| None),
            Op::Call => self.call(inst),
            Op::Print => self.print(inst).map(|()| None),
            Op::Assert => self.assert(inst).map(|()| None),
            Op::Assume => {
                let condition = self.scalar(func.arg(inst, 0))?;
                self.cx.ir.intrinsic("llvm.assume", self.cx.ir.void(), &[condition]);
                Ok(None)
            }
            Op::Clock => {
                let device = self.cx.device;
                Ok(Some(Value::scalar(device.clock(self))))
            }
            _ => Err(refused(errors::UNSUPPORTED_OPERATION, op)),
        }
    }

    /// Refuses values of types that are storage only.
    fn check_type(&self, inst: InstId, op: Op) -> Emit<()> {
        if !matches!(op, Op::Arithmetic(_) | Op::Cast(_) | Op::Atomic(_) | Op::ThreadGroup(_)) {
            return Ok(());
        }
        let types = &self.cx.module.types;
        let of = |ty: TypeId| types.scalar_of(ty).filter(|&s| !is_computable(s));
        let operands = self.func.args(inst).iter().map(|&a| self.func.value_type(a));
        match operands.chain([self.func.inst(inst).ty]).find_map(of) {
            None => Ok(()),
            Some(scalar) => Err(Diagnostic::error(
                errors::UNSUPPORTED_TYPE,
                format!("`{}` is a storage type: nothing computes with it", scalar.name()),
            )
            .with_help("convert it by hand from its bits")
            .into()),
        }
    }

    // ---- values

    /// A value of the function.
    pub fn value(&mut self, id: ValueId) -> Emit<Value> {
        match self.func.value_def(id) {
            ValueDef::Inst(_) => self.values[id]
                .clone()
                .ok_or_else(|| internal("a value that is used before it is made")),
            ValueDef::Argument(index) => self
                .arguments
                .get(index as usize)
                .cloned()
                .ok_or_else(|| internal("an argument that does not exist")),
            ValueDef::Constant(_) => self.constant(id),
            ValueDef::Undefined => Ok(self.zero_value(self.func.value_type(id))),
            ValueDef::Special(register) => self.special(register).map(Value::Leaves),
        }
    }

    /// The leaves of a data value; a large value is refused.
    pub fn leaves(&mut self, id: ValueId) -> Emit<Leaves> {
        match self.value(id)? {
            Value::Leaves(leaves) => Ok(leaves),
            _ => Err(internal("an operand that is not held as scalars")),
        }
    }

    /// The one leaf of a scalar value.
    pub fn scalar(&mut self, id: ValueId) -> Emit<Val> {
        self.leaves(id)?.first().copied().ok_or_else(|| internal("an operand without a scalar"))
    }

    /// The address of an lvalue.
    pub fn place(&mut self, id: ValueId) -> Emit<Val> {
        match self.value(id)? {
            Value::Place(ptr) => Ok(ptr),
            _ => Err(internal("an operand that is no lvalue")),
        }
    }

    /// The scalar that a value is made of.
    pub fn scalar_type(&self, id: ValueId) -> Emit<Scalar> {
        let ty = self.func.value_type(id);
        self.cx
            .module
            .types
            .scalar_of(ty)
            .ok_or_else(|| internal("an operand that is no scalar, vector or matrix"))
    }

    /// All zero of a data type.
    pub fn zero_value(&mut self, ty: TypeId) -> Value {
        match self.cx.types.flat(ty) {
            Some(flat) => {
                let cx = &*self.cx;
                let zero = |&s: &Scalar| cx.ir.zero(cx.types.leaf(&cx.ir, s));
                Value::Leaves(flat.leaves.iter().map(zero).collect())
            }
            None => {
                let place = self.temporary(ty);
                let types = &self.cx.module.types;
                self.cx.ir.clear(place, types.size(ty), types.align(ty));
                Value::Memory(place)
            }
        }
    }

    fn constant(&mut self, id: ValueId) -> Emit<Value> {
        let ty = self.func.value_type(id);
        let Some(bytes) = self.func.constant_bytes(id) else {
            return Err(internal("a constant without bytes"));
        };
        let bytes = bytes.as_slice();
        match self.cx.types.flat(ty) {
            Some(flat) => {
                let mut leaves = Leaves::new();
                for chunk in &flat.chunks {
                    for i in 0..chunk.count {
                        let at = (chunk.offset + i * chunk.scalar.size()) as usize;
                        leaves.push(self.cx.constant_leaf(chunk.scalar, bytes, at));
                    }
                }
                Ok(Value::Leaves(leaves))
            }
            None => {
                let align = self.cx.module.types.align(ty).max(16);
                let global = self.cx.constant_memory(bytes, align);
                Ok(Value::Memory(global))
            }
        }
    }

    /// A special register.
    fn special(&mut self, register: SpecialRegister) -> Emit<Leaves> {
        let cx = &*self.cx;
        Ok(match register {
            SpecialRegister::ThreadId => self.launch.thread_id.into_iter().collect(),
            SpecialRegister::BlockId => self.launch.block_id.into_iter().collect(),
            SpecialRegister::DispatchId => self.launch.dispatch_id(cx).into_iter().collect(),
            SpecialRegister::DispatchSize => self.launch.dispatch_size.into_iter().collect(),
            SpecialRegister::BlockSize => {
                cx.block_size.iter().map(|&n| cx.ir.const_u32(n)).collect()
            }
            SpecialRegister::KernelId => smallvec![self.launch.kernel_id],
            SpecialRegister::WarpLaneId | SpecialRegister::WarpSize => {
                let device = self.cx.device;
                return device.special(self, register);
            }
            _ => {
                return Err(Diagnostic::error(
                    errors::UNSUPPORTED_OPERATION,
                    format!("`{}` belongs to raster stages, not to kernels", register.name()),
                )
                .into());
            }
        })
    }

    // ---- phis

    fn phi(&mut self, inst: InstId) -> Emit<Value> {
        let ty = self.func.inst(inst).ty;
        match self.cx.types.flat(ty) {
            Some(flat) => {
                let cx = &*self.cx;
                let phi = |&s: &Scalar| cx.ir.phi(cx.types.leaf(&cx.ir, s));
                Ok(Value::Leaves(flat.leaves.iter().map(phi).collect()))
            }
            None => {
                if !matches!(
                    self.cx.module.types.kind(ty),
                    TypeKind::Array { .. } | TypeKind::Struct { .. }
                ) {
                    return Err(internal("a phi of something that is no data"));
                }
                let places = self.phi_places(inst, ty);
                self.large_phis.push((places, ty));
                Ok(Value::Memory(places.place))
            }
        }
    }

    /// After the phis of a block: gives the large ones their values.
    fn copy_large_phis(&mut self) {
        for (places, ty) in std::mem::take(&mut self.large_phis) {
            let types = &self.cx.module.types;
            self.cx.ir.copy(places.place, places.staging, types.size(ty), types.align(ty));
        }
    }

    fn phi_places(&mut self, inst: InstId, ty: TypeId) -> PhiPlaces {
        if let Some(&places) = self.phi_places.get(&inst) {
            return places;
        }
        let places = PhiPlaces { staging: self.temporary(ty), place: self.temporary(ty) };
        self.phi_places.insert(inst, places);
        places
    }

    /// Copies what large phis of the successors take from this block.
    fn stage_phis(&mut self, block: BlockId) -> Emit<()> {
        let func = self.func;
        let mut done: FxHashMap<BlockId, ()> = FxHashMap::default();
        for &successor in func.successors(block) {
            if func.phis(successor).next().is_none() || done.insert(successor, ()).is_some() {
                continue;
            }
            for inst in func.phis(successor) {
                let ty = func.inst(inst).ty;
                if self.cx.types.flat(ty).is_some() {
                    continue;
                }
                let places = self.phi_places(inst, ty);
                let position = func.inst_blocks(inst).iter().position(|&b| b == block);
                let Some(&v) = position.and_then(|p| func.args(inst).get(p)) else { continue };
                let v = self.value(v)?;
                self.store_value(ty, places.staging, &v, false)?;
            }
        }
        Ok(())
    }

    /// Adds the entries of the phis of a block: one for each edge, while XIR has one for each predecessor.
    fn fill_phis(&mut self, block: BlockId) -> Emit<()> {
        let func = self.func;
        for inst in func.phis(block) {
            let Some(id) = func.result(inst) else { continue };
            let Some(Value::Leaves(phis)) = self.values[id].clone() else { continue };
            for (&v, &from) in func.args(inst).iter().zip(func.inst_blocks(inst)) {
                let Some(tail) = self.tails[from] else { continue };
                // Constants and registers may need instructions: they belong before the terminator of the predecessor.
                let leaves = self.at_tail(tail, |f| f.leaves(v))?;
                let edges = self.repeated.get(&(from, block)).copied().unwrap_or(1);
                for (&phi, &leaf) in phis.iter().zip(&leaves) {
                    for _ in 0..edges {
                        self.cx.ir.add_incoming(phi, leaf, tail);
                    }
                }
            }
        }
        Ok(())
    }

    fn at_tail<T>(&mut self, tail: Bb, build: impl FnOnce(&mut Self) -> Emit<T>) -> Emit<T> {
        let here = self.cx.ir.block();
        self.cx.ir.before_terminator(tail);
        let result = build(self);
        self.cx.ir.at_end(here);
        result
    }

    /// The LLVM block at which an XIR block starts.
    pub fn head(&self, block: BlockId) -> Emit<Bb> {
        self.heads[block].ok_or_else(|| internal("a branch to a block that is not emitted"))
    }
}

/// The diagnostic for an operation that the target does not hold.
pub fn refused(code: luisac_ast::diagnostic::Code, op: Op) -> Box<Diagnostic> {
    let name = match op.sub_name() {
        Some(sub) => format!("{} {sub}", op.mnemonic()),
        None => op.mnemonic().to_string(),
    };
    Box::new(
        Diagnostic::error(code, format!("the target does not hold the operation `{name}`"))
            .with_help(
                "compile for a target that does (see `luisac targets`), or avoid the operation",
            ),
    )
}
