//! The kernel as a function: values, blocks, and the walk over its instructions.

use cranelift_entity::{EntityRef, SecondaryMap};
use luisac_artifact::ParamLayout;
use luisac_artifact::bindings::{Bindings, Slot};
use luisac_artifact::metadata::MathMode;
use luisac_ast::diagnostic::Diagnostic;
use luisac_ast::types::{Scalar, TypeId, TypeTable};
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::{ArgumentKind, BlockId, Function, FunctionId, InstId, Op as X, ValueDef, ValueId};
use rspirv::spirv::{Decoration, GlslStd450Op, Op, StorageClass};
use rustc_hash::FxHashMap;

use super::blocks::Blocks;
use super::interface::Interface;
use super::memory::Place;
use super::module::{Code, Id, Module};
use super::plan::Plan;
use super::types::{Form, Types};
use super::{Emit, internal, refused};
use crate::{EmitOptions, errors};

/// Where the value of a phi comes from along an edge.
#[derive(Clone, Copy, Debug)]
pub enum Origin {
    /// A block of the kernel.
    Block(BlockId),
    /// A block that only collects edges.
    Collector(Id),
}

/// The emission of one kernel.
pub struct FnEmit<'a> {
    /// The module in the making.
    pub m: Module,
    /// Its types.
    pub types: Types,
    /// What is compiled.
    pub xir: &'a luisac_xir::Module,
    /// The kernel.
    pub func: &'a Function,
    /// Options.
    pub options: &'a EmitOptions,
    /// Where arguments lie in the parameter block.
    pub layout: &'a ParamLayout,
    /// Where each argument is bound.
    pub slots: &'a [Vec<Slot>],
    /// Where the rest is bound.
    pub bindings: &'a Bindings,
    /// Position of the log among the arguments, if there is one; its capacity comes next.
    pub log_argument: Option<usize>,
    outside_returns: bool,
    /// Variables of the module.
    pub interface: Interface,
    /// The code.
    pub blocks: Blocks,
    /// Variables of the function.
    pub variables: Code,
    /// Ids of values; 0 for none yet.
    values: SecondaryMap<ValueId, Id>,
    /// Lvalues.
    pub places: FxHashMap<ValueId, Place>,
    /// The constructs.
    pub plan: Plan,
    /// Edges by the label that they lead to.
    incoming: FxHashMap<Id, Vec<(Id, Origin)>>,
    /// Phis, with the label that has them.
    phis: Vec<(Id, InstId)>,
    /// The line of the last instruction, for `-g`.
    line: u32,
    file: Id,
}

/// What is known before the emission of a kernel begins.
pub struct Given<'a> {
    pub xir: &'a luisac_xir::Module,
    pub kernel: FunctionId,
    pub options: &'a EmitOptions,
    pub layout: &'a ParamLayout,
    pub slots: &'a [Vec<Slot>],
    pub bindings: &'a Bindings,
    pub log_argument: Option<usize>,
    pub minor: u8,
    /// Whether threads outside of the dispatch return first of all.
    pub outside_returns: bool,
    /// Whether buffers of floats may be added to by one instruction.
    pub adds_floats: bool,
}

impl<'a> FnEmit<'a> {
    /// Prepares the emission of a kernel.
    pub fn new(given: &Given<'a>) -> Emit<FnEmit<'a>> {
        let mut m = Module::new(given.minor);
        let func = &given.xir.functions[given.kernel];
        let plan = Plan::of(func, &mut m)?;
        Ok(FnEmit {
            m,
            types: Types::default(),
            xir: given.xir,
            func,
            options: given.options,
            layout: given.layout,
            slots: given.slots,
            bindings: given.bindings,
            log_argument: given.log_argument,
            outside_returns: given.outside_returns,
            interface: Interface::of(given.xir, func, given.adds_floats),
            blocks: Blocks::default(),
            variables: Code::default(),
            values: func.value_map(),
            places: FxHashMap::default(),
            plan,
            incoming: FxHashMap::default(),
            phis: Vec::new(),
            line: 0,
            file: 0,
        })
    }

    /// The types of the input.
    pub fn table(&self) -> &'a TypeTable {
        &self.xir.types
    }

    /// Emits everything; gives the id of the function and its words.
    pub fn run(&mut self) -> Emit<(Id, Code)> {
        if let Some(source) = self.options.source.as_ref() {
            self.file = self.m.string(&source.file);
        }
        let void = self.m.void();
        let signature = self.m.intern(Op::TypeFunction, 0, &[void]);
        let id = self.m.id();
        let entry = self.m.id();
        self.blocks.begin(entry);
        if self.outside_returns {
            self.guard()?;
        }
        self.entry_values()?;
        let cfg = ControlFlowGraph::compute(self.func);
        if let Some(&first) = cfg.reverse_post_order().first() {
            let label = self.plan.label(first);
            self.blocks.branch(label);
        }
        for &block in cfg.reverse_post_order() {
            self.block(block)?;
        }
        self.collectors();
        for block in self.func.blocks().filter(|&b| !cfg.is_reachable(b)) {
            self.unreached(block);
        }
        self.finish_phis()?;
        self.name_values();
        let mut code = Code::default();
        let control = rspirv::spirv::FunctionControl::NONE.bits();
        code.push(Op::Function, &[void, id, control, signature]);
        code.append(&self.blocks.finish(&self.variables));
        code.push(Op::FunctionEnd, &[]);
        Ok((id, code))
    }

    /// Threads beyond the dispatch size return at once.
    fn guard(&mut self) -> Emit<()> {
        let size = self.dispatch_size()?;
        let here = self.special(luisac_xir::op::SpecialRegister::DispatchId)?;
        let truth = self.m.bool();
        let truths = self.m.vector(truth, 3);
        let beyond = self.op(Op::UGreaterThanEqual, truths, &[here, size]);
        let any = self.op(Op::Any, truth, &[beyond]);
        let (gone, stays) = (self.m.id(), self.m.id());
        self.blocks.selection(stays);
        self.blocks.branch_if(any, gone, stays);
        self.blocks.begin(gone);
        self.blocks.end(Op::Return, &[], &[]);
        self.blocks.begin(stays);
        Ok(())
    }

    /// Reads arguments and registers where they dominate every use.
    fn entry_values(&mut self) -> Emit<()> {
        let func = self.func;
        for value in (0..func.value_count()).map(ValueId::new) {
            let read = match func.value_def(value) {
                ValueDef::Special(_) => true,
                ValueDef::Argument(i) => func
                    .arguments
                    .get(i as usize)
                    .is_some_and(|a| a.kind == ArgumentKind::Value && a.value == value),
                _ => false,
            };
            if read && func.has_uses(value) {
                self.value(value)?;
            }
        }
        Ok(())
    }

    fn block(&mut self, block: BlockId) -> Emit<()> {
        if let Some(&scope) = self.plan.loop_of_head(block) {
            // The header has the phis and what declares the loop, and nothing else.
            self.blocks.begin(scope.header_label);
            self.blocks.loop_merge(scope.merge_label, scope.continue_label);
            let label = self.plan.label(block);
            self.blocks.branch(label);
        }
        let label = self.plan.label(block);
        self.blocks.begin(label);
        for inst in self.func.insts(block) {
            if self.blocks.ended() {
                break;
            }
            self.mark_line(inst);
            self.instruction(block, inst).map_err(|e| self.named(e))?;
        }
        Ok(())
    }

    /// Adds the function to an error that has none.
    fn named(&self, mut error: Box<Diagnostic>) -> Box<Diagnostic> {
        error.function.get_or_insert_with(|| self.func.name.clone());
        error
    }

    fn instruction(&mut self, block: BlockId, inst: InstId) -> Emit<()> {
        let result = match self.func.op(inst) {
            X::Phi => {
                let label = self.plan.phi_label(block);
                self.phis.push((label, inst));
                Some(self.m.id())
            }
            X::Alloca(space) => {
                self.alloca(inst, space)?;
                None
            }
            X::Gep => {
                self.gep(inst)?;
                None
            }
            X::Load => {
                let place = self.place(self.func.arg(inst, 0))?;
                Some(self.load(place)?)
            }
            X::Store => {
                let place = self.place(self.func.arg(inst, 0))?;
                let value = self.value(self.func.arg(inst, 1))?;
                self.store(place, value)?;
                None
            }
            X::Arithmetic(op) => Some(self.arithmetic(inst, op)?),
            X::Cast(op) => Some(self.cast(inst, op)?),
            X::Atomic(op) => Some(self.atomic(inst, op)?),
            X::ThreadGroup(op) => self.thread_group(inst, op)?,
            X::ResourceQuery(op) => Some(self.resource_query(inst, op)?),
            X::ResourceRead(op) => Some(self.resource_read(inst, op)?),
            X::ResourceWrite(op) => {
                self.resource_write(inst, op)?;
                None
            }
            X::Clock => Some(self.clock()?),
            X::Assume => None,
            op if op.is_terminator() => {
                self.terminator(block, inst)?;
                None
            }
            op => return Err(refused(op)),
        };
        if let (Some(id), Some(value)) = (result, self.func.result(inst)) {
            self.values[value] = id;
        }
        Ok(())
    }

    // ---- values

    /// The id of a value that is data.
    pub fn value(&mut self, value: ValueId) -> Emit<Id> {
        let known = self.values[value];
        if known != 0 {
            return Ok(known);
        }
        let func = self.func;
        let ty = func.value_type(value);
        let id = match func.value_def(value) {
            ValueDef::Constant(_) => {
                let Some(bytes) = func.constant_bytes(value) else {
                    return Err(internal("a constant without bytes"));
                };
                self.constant(ty, bytes.as_slice())?
            }
            ValueDef::Undefined => {
                let ty = self.ty(ty)?;
                self.m.null(ty)
            }
            ValueDef::Special(register) => self.special(register)?,
            ValueDef::Argument(index) => self.argument(index as usize, ty)?,
            ValueDef::Inst(_) => return Err(internal("a value that is used before it is made")),
        };
        self.values[value] = id;
        Ok(id)
    }

    /// A type in register form.
    pub fn ty(&mut self, ty: TypeId) -> Emit<Id> {
        let table = self.table();
        self.types.get(&mut self.m, table, ty, Form::REGISTER)
    }

    /// A type in a form.
    pub fn form_type(&mut self, ty: TypeId, form: Form) -> Emit<Id> {
        let table = self.table();
        self.types.get(&mut self.m, table, ty, form)
    }

    /// The scalar of a scalar or vector operand.
    pub fn scalar_of(&self, value: ValueId) -> Emit<Scalar> {
        let ty = self.func.value_type(value);
        self.table().scalar_of(ty).ok_or_else(|| internal("an operand that is no scalar or vector"))
    }

    /// A vector of `count` scalars in register form.
    pub fn vector_type(&mut self, scalar: Scalar, count: u32) -> Emit<Id> {
        let element = self.types.scalar(&mut self.m, scalar)?;
        Ok(self.m.vector(element, count))
    }

    // ---- instructions

    /// An instruction with a result.
    pub fn op(&mut self, op: Op, ty: Id, operands: &[u32]) -> Id {
        let id = self.m.id();
        let mut words = Vec::with_capacity(operands.len() + 2);
        words.extend([ty, id]);
        words.extend_from_slice(operands);
        self.blocks.push(op, &words);
        id
    }

    /// Arithmetic on floats: never contracted under `--math precise`.
    pub fn float_op(&mut self, op: Op, ty: Id, operands: &[u32]) -> Id {
        let id = self.op(op, ty, operands);
        if self.options.math == MathMode::Precise {
            self.m.decorate(id, Decoration::NoContraction, &[]);
        }
        id
    }

    /// An instruction of GLSL.std.450.
    pub fn glsl(&mut self, op: GlslStd450Op, ty: Id, operands: &[u32]) -> Id {
        let set = self.m.glsl();
        let mut words = vec![set, op as u32];
        words.extend_from_slice(operands);
        self.op(Op::ExtInst, ty, &words)
    }

    /// A variable of the thread, zero at first if `cleared`.
    pub fn local(&mut self, ty: Id, cleared: bool) -> Id {
        let pointer = self.m.pointer(StorageClass::Function, ty);
        let id = self.m.id();
        let mut words = vec![pointer, id, StorageClass::Function as u32];
        if cleared {
            words.push(self.m.null(ty));
        }
        self.variables.push(Op::Variable, &words);
        id
    }

    /// Runs `then` if `condition` holds.
    pub fn when(&mut self, condition: Id, then: impl FnOnce(&mut Self) -> Emit<()>) -> Emit<()> {
        let (yes, after) = (self.m.id(), self.m.id());
        self.blocks.selection(after);
        self.blocks.branch_if(condition, yes, after);
        self.blocks.begin(yes);
        then(self)?;
        self.blocks.branch(after);
        self.blocks.begin(after);
        Ok(())
    }

    /// Runs `body` for 0 to `count` - 1; `count` is at least 1.
    pub fn counted(
        &mut self,
        count: u32,
        body: impl FnOnce(&mut Self, Id) -> Emit<()>,
    ) -> Emit<()> {
        let word = self.m.int(32);
        let (head, inside, next, done) = (self.m.id(), self.m.id(), self.m.id(), self.m.id());
        let (index, following) = (self.m.id(), self.m.id());
        let before = self.blocks.label();
        let (zero, one, end) = (self.m.u32(0), self.m.u32(1), self.m.u32(count));
        self.blocks.branch(head);
        self.blocks.begin(head);
        self.blocks.loop_merge(done, next);
        self.blocks.branch(inside);
        self.blocks.begin(inside);
        body(self, index)?;
        self.blocks.branch(next);
        self.blocks.begin(next);
        self.blocks.push(Op::IAdd, &[word, following, index, one]);
        let truth = self.m.bool();
        let more = self.op(Op::ULessThan, truth, &[following, end]);
        self.blocks.branch_if(more, head, done);
        self.blocks.phi(head, word, index, vec![zero, before, following, next]);
        self.blocks.begin(done);
        Ok(())
    }

    // ---- edges and phis

    /// Notes that the present block leads to `label`, with what comes from `origin`.
    pub fn edge(&mut self, label: Id, origin: Origin) {
        let from = self.blocks.label();
        let edges = self.incoming.entry(label).or_default();
        if !edges.iter().any(|(f, _)| *f == from) {
            edges.push((from, origin));
        }
    }

    /// Emits the blocks that only collect edges: merges of their own, and continue targets of loops without an update.
    fn collectors(&mut self) {
        for number in (1..self.plan.scopes.len()).rev() {
            let scope = self.plan.scopes[number];
            if scope.own_merge && scope.merge_label != 0 {
                self.blocks.begin(scope.merge_label);
                let next = self.plan.after_own_merge(&scope);
                if next == 0 || !self.incoming.contains_key(&scope.merge_label) {
                    self.blocks.end(Op::Unreachable, &[], &[]);
                } else {
                    self.edge(next, Origin::Collector(scope.merge_label));
                    self.blocks.branch(next);
                }
            }
            if scope.head.is_some() && scope.update.is_none() {
                self.blocks.begin(scope.continue_label);
                self.edge(scope.header_label, Origin::Collector(scope.continue_label));
                self.blocks.branch(scope.header_label);
            }
        }
    }

    /// A block that no path reaches, but that a construct names.
    fn unreached(&mut self, block: BlockId) {
        let label = self.plan.label(block);
        self.blocks.begin(label);
        let scope = &self.plan.scopes[self.plan.scope(block)];
        if scope.update == Some(block) {
            let header = scope.header_label;
            self.edge(header, Origin::Collector(label));
            self.blocks.branch(header);
        } else {
            self.blocks.end(Op::Unreachable, &[], &[]);
        }
    }

    fn finish_phis(&mut self) -> Emit<()> {
        for (label, inst) in std::mem::take(&mut self.phis) {
            let Some(result) = self.func.result(inst) else { continue };
            let ty = self.ty(self.func.inst(inst).ty)?;
            let id = self.values[result];
            let mut pending = vec![(label, id)];
            while let Some((label, id)) = pending.pop() {
                let edges = self.incoming.get(&label).cloned().unwrap_or_default();
                let mut operands = Vec::with_capacity(2 * edges.len());
                for (from, origin) in edges {
                    let value = match origin {
                        Origin::Block(block) => self.phi_operand(inst, block)?,
                        Origin::Collector(collector) if self.incoming.contains_key(&collector) => {
                            let value = self.m.id();
                            pending.push((collector, value));
                            value
                        }
                        Origin::Collector(_) => self.m.null(ty),
                    };
                    operands.extend([value, from]);
                }
                self.blocks.phi(label, ty, id, operands);
            }
        }
        Ok(())
    }

    fn phi_operand(&mut self, phi: InstId, from: BlockId) -> Emit<Id> {
        let func = self.func;
        let position = func.inst_blocks(phi).iter().position(|&b| b == from);
        let Some(value) = position.and_then(|p| func.args(phi).get(p).copied()) else {
            return Err(internal("a phi without an entry for an edge"));
        };
        self.value(value)
    }

    // ---- lines and names

    fn mark_line(&mut self, inst: InstId) {
        let Some(source) = self.options.source.as_ref() else { return };
        let line = source.line(self.func.inst(inst).loc);
        let file = self.file;
        if line != 0 && (line != self.line || self.func.prev_inst(inst).is_none()) {
            self.blocks.push(Op::Line, &[file, line, 0]);
            self.line = line;
        }
    }

    fn name_values(&mut self) {
        if self.options.source.is_none() {
            return;
        }
        for block in self.func.blocks() {
            for inst in self.func.insts(block) {
                let Some(value) = self.func.result(inst) else { continue };
                let Some(name) = self.func.name_of(value) else { continue };
                let id = match self.places.get(&value) {
                    Some(place) => place.pointer,
                    None => self.values[value],
                };
                if id != 0 {
                    self.m.name(id, name);
                }
            }
        }
    }

    /// The error for a kernel whose code is larger than SPIR-V holds.
    pub fn too_large(&self) -> Box<Diagnostic> {
        let text = "the kernel has an instruction of more than 65,535 words";
        Diagnostic::error(errors::TOO_LARGE, text)
            .in_function(self.func.name.clone())
            .with_help("move large constant arrays into a buffer")
            .into()
    }
}
