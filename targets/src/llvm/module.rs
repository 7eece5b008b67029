//! The module under construction: functions, signatures, log formats, constants.

use std::cell::Cell;
use std::rc::Rc;

use inkwell::context::Context;
use luisac_artifact::ParamLayout;
use luisac_artifact::metadata::{BoundsMode, Format, MathMode};
use luisac_ast::diagnostic::Diagnostic;
use luisac_ast::types::{TypeId, TypeKind};
use luisac_xir::{ArgumentKind, Function, FunctionId, FunctionKind, Imm, InstId, Module, Op};
use rustc_hash::FxHashMap;

use super::device::Device;
use super::function::FnEmit;
use super::indirect::{Indirect, is_indirect};
use super::ir::{AccessGroup, Callee, FUNCTION, Ir, Ty, Val, fast};
use super::types::TypeMap;
use super::value::{Bindless, Buffer, Image, Value};
use super::{Emit, launch::Launch};
use crate::metadata::param_layout;
use crate::usage::reachable_callees_first;
use crate::{EmitOptions, errors};

/// What is known of a function before its body is emitted.
#[derive(Clone, Copy, Default, Debug)]
pub struct Facts {
    /// A thread may stop in it: it asserts or traps, itself or through what it calls.
    pub may_stop: bool,
    /// It prints, asserts or traps.
    pub logs: bool,
    /// It holds a block barrier.
    pub barrier: bool,
    /// It holds a wave operation.
    pub wave: bool,
    /// It writes buffers or images, or uses atomics on them.
    pub writes_global: bool,
}

impl Facts {
    fn join(&mut self, other: Facts) {
        self.may_stop |= other.may_stop;
        self.logs |= other.logs;
        self.barrier |= other.barrier;
        self.wave |= other.wave;
        self.writes_global |= other.writes_global;
    }
}

/// Emission of one kernel or callable and what it calls into one LLVM module.
pub struct ModuleEmit<'c, 'm> {
    /// The LLVM module.
    pub ir: Ir<'c>,
    /// The XIR module.
    pub module: &'m Module,
    /// The kernel, or the callable that others call.
    pub kernel: FunctionId,
    /// How types are held.
    pub types: TypeMap<'m>,
    /// The options.
    pub options: &'m EmitOptions,
    /// The target's hooks.
    pub device: &'m dyn Device,
    /// Log records, in the order of their ids.
    pub formats: Vec<Format>,
    /// The parameter block.
    pub layout: ParamLayout,
    /// Threads of a block.
    pub block_size: [u32; 3],
    /// Bytes of shared variables.
    pub shared_bytes: u64,
    /// Bytes of the block's scratch memory that are taken, where the target has such memory.
    pub scratch_bytes: Cell<u64>,
    /// Accesses that the threads of a block make independently of each other, where the target says so.
    pub independent: Cell<Option<AccessGroup>>,
    facts: FxHashMap<FunctionId, Facts>,
    callables: FxHashMap<FunctionId, Callee>,
    /// Callables in emission order, callees first.
    order: Vec<FunctionId>,
    constants: FxHashMap<(u32, Rc<[u8]>), Val>,
}

impl<'c, 'm> ModuleEmit<'c, 'm> {
    /// Prepares emission: looks over all code that the kernel reaches.
    pub fn new(
        context: &'c Context,
        module: &'m Module,
        kernel: FunctionId,
        options: &'m EmitOptions,
        device: &'m dyn Device,
    ) -> Emit<ModuleEmit<'c, 'm>> {
        let mut order = reachable_callees_first(module, kernel);
        order.retain(|&f| f != kernel);
        let mut facts = FxHashMap::default();
        for &id in order.iter().chain([&kernel]) {
            let mut f = own_facts(module, id, options.bounds);
            for callee in calls(module, id) {
                f.join(facts.get(&callee).copied().unwrap_or_default());
            }
            facts.insert(id, f);
        }
        let root = facts.get(&kernel).copied().unwrap_or_default();
        let function = &module.functions[kernel];
        let (layout, block_size) = match function.kind {
            FunctionKind::Kernel { block_size } => {
                (param_layout(&module.types, function, root.logs)?, block_size)
            }
            // A callable that others call has no parameter block, and is called in blocks of any size.
            _ => (ParamLayout::of([], false).map_err(|e| internal(&e.to_string()))?, [u32::MAX; 3]),
        };
        Ok(ModuleEmit {
            ir: Ir::new(context, "luisac"),
            module,
            kernel,
            types: TypeMap::new(&module.types, device.lanes()),
            options,
            device,
            formats: Vec::new(),
            layout,
            block_size,
            shared_bytes: 0,
            scratch_bytes: Cell::new(0),
            independent: Cell::new(None),
            facts,
            callables: FxHashMap::default(),
            order,
            constants: FxHashMap::default(),
        })
    }

    /// What is known of a function.
    pub fn facts(&self, id: FunctionId) -> Facts {
        self.facts.get(&id).copied().unwrap_or_default()
    }

    /// Whether a callable is emitted by itself, for others to call.
    pub fn is_export(&self) -> bool {
        !self.module.functions[self.kernel].is_kernel()
    }

    /// Whether fast-math applies.
    pub fn is_fast(&self) -> bool {
        self.options.math == MathMode::Fast
    }

    /// Emits everything.
    pub fn run(&mut self) -> Emit<()> {
        if self.is_fast() {
            self.ir.set_fast(fast::CONTRACT | fast::RECIPROCAL | fast::NO_SIGNED_ZEROS);
        }
        for id in self.order.clone() {
            let callee = self.declare(id)?;
            self.callables.insert(id, callee);
        }
        let device = self.device;
        if self.is_export() {
            super::export::emit(self, self.kernel)?;
        } else {
            device.emit_kernel(self, self.kernel)?;
        }
        for id in self.order.clone() {
            self.emit_callable(id)?;
        }
        Ok(())
    }

    /// The LLVM function of a callable.
    pub fn callee(&self, id: FunctionId) -> Option<Callee> {
        self.callables.get(&id).copied()
    }

    /// The constant bytes in memory, shared between equal ones.
    pub fn constant_memory(&mut self, bytes: &[u8], align: u32) -> Val {
        let key = (align, Rc::<[u8]>::from(bytes));
        if let Some(&v) = self.constants.get(&key) {
            return v;
        }
        let v = self.ir.constant_global(bytes, align, self.device.constant_space());
        self.constants.insert(key, v);
        v
    }

    /// The LLVM types that a value argument is passed as: its leaves, or a pointer.
    fn data_types(&mut self, ty: TypeId) -> Vec<Ty> {
        match self.types.flat(ty) {
            Some(flat) => flat.leaves.iter().map(|&s| self.types.leaf(&self.ir, s)).collect(),
            None => vec![self.ir.ptr(0)],
        }
    }

    /// Parameters of the LLVM function for the arguments of an XIR function.
    fn argument_types(&mut self, id: FunctionId) -> Vec<Ty> {
        let module = self.module;
        let mut list = Vec::new();
        for a in &module.functions[id].arguments {
            match a.kind {
                ArgumentKind::Reference if is_indirect(&module.types, a.ty) => list.extend([
                    self.ir.ptr(self.device.global_space()),
                    self.ir.int(32),
                    self.ir.int(32),
                    self.ir.int(32),
                ]),
                ArgumentKind::Reference => list.push(self.ir.ptr(0)),
                ArgumentKind::Value => list.extend(self.data_types(a.ty)),
                ArgumentKind::Resource => match module.types.kind(a.ty) {
                    TypeKind::Buffer { .. } => list.extend([
                        self.ir.ptr(self.device.global_space()),
                        self.ir.int(64),
                        self.ir.int(32),
                    ]),
                    TypeKind::Texture { .. } => {
                        let words = if self.device.has_texture_objects() { 3 } else { 2 };
                        list.extend(vec![self.ir.int(64); words]);
                    }
                    TypeKind::BindlessArray => list.extend([
                        self.ir.ptr(self.device.global_space()),
                        self.ir.int(64),
                        self.ir.int(32),
                    ]),
                    _ => {}
                },
            }
        }
        list
    }

    /// Declares the internal function of an XIR function, a kernel's body included: launch values, then arguments, then the
    /// place of a large result.
    pub fn declare(&mut self, id: FunctionId) -> Emit<Callee> {
        let function = &self.module.functions[id];
        let mut params = Launch::types(self);
        params.extend(self.argument_types(id));
        let ret = self.return_type(function.return_type, &mut params);
        use cranelift_entity::EntityRef;
        let name = format!("f{}_{}", id.index(), clean(&function.name));
        let callee = self.ir.add_function(&name, ret, &params, true);
        self.mark_function(callee.value, id);
        Ok(callee)
    }

    /// Attributes of every function: it does not throw. Nothing says that it returns, or that its loops end.
    pub fn mark_function(&self, function: Val, id: FunctionId) {
        self.ir.add_attribute(function, FUNCTION, "nounwind", 0);
        self.device.mark(self, function);
        let facts = self.facts(id);
        if facts.barrier || facts.wave {
            self.ir.add_attribute(function, FUNCTION, "convergent", 0);
        }
        if self.module.functions[id].no_inline {
            self.ir.add_attribute(function, FUNCTION, "noinline", 0);
        }
    }

    fn return_type(&mut self, ty: TypeId, params: &mut Vec<Ty>) -> Ty {
        if ty == TypeId::VOID {
            return self.ir.void();
        }
        let parts = match self.types.flat(ty) {
            Some(_) => self.data_types(ty),
            None => {
                params.push(self.ir.ptr(0));
                return self.ir.void();
            }
        };
        match parts.as_slice() {
            [] => self.ir.void(),
            [one] => *one,
            many => self.ir.structure(many),
        }
    }

    fn emit_callable(&mut self, id: FunctionId) -> Emit<()> {
        let Some(callee) = self.callee(id) else { return Err(internal("an undeclared callable")) };
        self.emit_internal(id, callee)
    }

    /// Emits the body of a function that [`ModuleEmit::declare`] declared.
    pub fn emit_internal(&mut self, id: FunctionId, callee: Callee) -> Emit<()> {
        let entry = self.ir.block_in(callee.value, "entry");
        self.ir.at_end(entry);
        let mut next = 0;
        let launch = Launch::receive(self, callee.value, &mut next);
        let arguments = self.receive_arguments(id, callee.value, &mut next);
        let large_result = {
            let ty = self.module.functions[id].return_type;
            let large = ty != TypeId::VOID && self.types.flat(ty).is_none();
            large.then(|| self.ir.param(callee.value, next))
        };
        FnEmit::new(self, id, launch, arguments, large_result).run()
    }

    fn receive_arguments(&mut self, id: FunctionId, function: Val, next: &mut u32) -> Vec<Value> {
        let module = self.module;
        let mut take = |ir: &Ir<'_>| {
            let v = ir.param(function, *next);
            *next += 1;
            v
        };
        let mut list = Vec::new();
        for a in &module.functions[id].arguments {
            let value = match a.kind {
                ArgumentKind::Reference if is_indirect(&module.types, a.ty) => {
                    Value::Indirect(Indirect {
                        ptr: take(&self.ir),
                        offset: take(&self.ir),
                        capacity: take(&self.ir),
                        position: take(&self.ir),
                    })
                }
                ArgumentKind::Reference => Value::Place(take(&self.ir)),
                ArgumentKind::Value => match self.types.flat(a.ty) {
                    Some(flat) => {
                        Value::Leaves(flat.leaves.iter().map(|_| take(&self.ir)).collect())
                    }
                    None => Value::Memory(take(&self.ir)),
                },
                ArgumentKind::Resource => match module.types.kind(a.ty) {
                    TypeKind::Buffer { .. } => Value::Buffer(Buffer {
                        ptr: take(&self.ir),
                        size: take(&self.ir),
                        position: take(&self.ir),
                    }),
                    TypeKind::Texture { .. } => Value::Image(Image {
                        handle: take(&self.ir),
                        storage: take(&self.ir),
                        textures: self.device.has_texture_objects().then(|| take(&self.ir)),
                    }),
                    TypeKind::BindlessArray => Value::Bindless(Bindless {
                        ptr: take(&self.ir),
                        slots: take(&self.ir),
                        position: take(&self.ir),
                    }),
                    _ => Value::Opaque,
                },
            };
            list.push(value);
        }
        list
    }

    /// Reads the kernel's arguments from the parameter block at `params`; large values stay there.
    pub fn load_arguments(&mut self, params: Val) -> Vec<Value> {
        let module = self.module;
        let offsets = self.layout.offsets.clone();
        let uses = crate::argument_uses(module, self.kernel);
        let mut list = Vec::new();
        for (i, (a, offset)) in
            module.functions[self.kernel].arguments.iter().zip(offsets).enumerate()
        {
            let ptr = self.ir.offset_const(params, offset.into());
            let word = |ir: &Ir<'_>, at: u64| {
                let v = ir.load(
                    ir.int(64),
                    ir.offset_const(ptr, at),
                    if at == 0 { 16 } else { 8 },
                    false,
                );
                ir.mark_invariant(v);
                v
            };
            let words = || [word(&self.ir, 0), word(&self.ir, 8)];
            let sampled = uses.get(i).is_some_and(|u| u.sampled);
            let value = match self.resource(a.ty, i, words, sampled) {
                Some(resource) => resource,
                None if a.kind != ArgumentKind::Value => Value::Opaque,
                None => match self.types.flat(a.ty) {
                    Some(flat) => Value::Leaves(self.load_flat(&flat, ptr, 16, false, true)),
                    None => Value::Memory(ptr),
                },
            };
            list.push(value);
        }
        list
    }

    /// The resource argument of this position from its two words in a parameter block, `i64` each; nothing for what has none.
    pub fn resource(
        &self,
        ty: TypeId,
        position: usize,
        words: impl FnOnce() -> [Val; 2],
        sampled: bool,
    ) -> Option<Value> {
        let types = &self.module.types;
        let kind = types.kind(ty);
        let has_words = matches!(
            kind,
            TypeKind::Buffer { .. } | TypeKind::Texture { .. } | TypeKind::BindlessArray
        );
        if !has_words && !is_indirect(types, ty) {
            return None;
        }
        let [first, second] = words();
        if matches!(kind, TypeKind::Texture { .. }) {
            return Some(Value::Image(self.device.image_argument(self, first, second, sampled)));
        }
        let ir = &self.ir;
        let ptr = ir.inttoptr(first, ir.ptr(self.device.global_space()));
        let position = ir.const_u32(position as u32);
        Some(match kind {
            TypeKind::Buffer { .. } => Value::Buffer(Buffer { ptr, size: second, position }),
            TypeKind::BindlessArray => Value::Bindless(Bindless { ptr, slots: second, position }),
            _ => {
                let half = ir.int(32);
                Value::Indirect(Indirect {
                    ptr,
                    offset: ir.trunc(second, half),
                    capacity: ir.trunc(ir.lshr(second, ir.const_u64(32)), half),
                    position,
                })
            }
        })
    }

    /// The values of arguments as they are passed to a function of [`ModuleEmit::declare`].
    pub fn pass_arguments(&self, values: &[Value], list: &mut Vec<Val>) {
        for v in values {
            match v {
                Value::Leaves(leaves) => list.extend(leaves.iter().copied()),
                Value::Memory(p) | Value::Place(p) => list.push(self.generic(*p)),
                Value::Buffer(b) => list.extend([b.ptr, b.size, b.position]),
                Value::Image(i) => {
                    list.extend([i.handle, i.storage]);
                    list.extend(i.textures);
                }
                Value::Bindless(b) => list.extend([b.ptr, b.slots, b.position]),
                Value::Indirect(b) => list.extend([b.ptr, b.offset, b.capacity, b.position]),
                Value::Opaque => {}
            }
        }
    }

    /// A pointer in the generic address space.
    pub fn generic(&self, p: Val) -> Val {
        if self.ir.space_of(p) == 0 { p } else { self.ir.addrspacecast(p, self.ir.ptr(0)) }
    }
}

/// A mistake of the compiler itself.
pub fn internal(message: &str) -> Box<Diagnostic> {
    Box::new(
        Diagnostic::error(errors::INTERNAL, message).with_help(
            "this is a mistake in the compiler: report it with the input and the options",
        ),
    )
}

fn clean(name: &str) -> String {
    name.chars().take(64).map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

fn calls(module: &Module, id: FunctionId) -> Vec<FunctionId> {
    let function = &module.functions[id];
    let mut list = Vec::new();
    for block in function.blocks() {
        for inst in function.insts(block) {
            if let Imm::Callee(callee) = function.inst(inst).imm {
                list.push(callee);
            }
        }
    }
    list
}

/// Which callables may end the thread.
pub struct Stopping {
    functions: FxHashMap<FunctionId, bool>,
    bounds: BoundsMode,
}

impl Stopping {
    /// Whether an instruction may end the thread, itself or through a call.
    pub fn instruction(&self, function: &Function, inst: InstId) -> bool {
        match function.inst(inst).imm {
            Imm::Callee(callee) => self.functions.get(&callee).copied().unwrap_or(true),
            _ => instruction_facts(function, inst, self.bounds).may_stop,
        }
    }
}

/// Which of the callables that a kernel reaches may end the thread.
pub fn may_stop(module: &Module, kernel: FunctionId, bounds: BoundsMode) -> Stopping {
    let mut stopping = Stopping { functions: FxHashMap::default(), bounds };
    for id in reachable_callees_first(module, kernel) {
        let function = &module.functions[id];
        let stops =
            function.blocks().any(|b| function.insts(b).any(|i| stopping.instruction(function, i)));
        stopping.functions.insert(id, stops);
    }
    stopping
}

/// The facts of a function without those of what it calls.
fn own_facts(module: &Module, id: FunctionId, bounds: BoundsMode) -> Facts {
    let function = &module.functions[id];
    let mut facts = Facts::default();
    for block in function.blocks() {
        for inst in function.insts(block) {
            facts.join(instruction_facts(function, inst, bounds));
        }
    }
    facts
}

fn instruction_facts(function: &Function, inst: InstId, bounds: BoundsMode) -> Facts {
    use luisac_xir::op::{ArithmeticOp, Scopes, ThreadGroupOp};
    let mut facts = Facts::default();
    let indexed = match function.op(inst) {
        Op::Print => {
            facts.logs = true;
            false
        }
        Op::Assert => {
            facts.logs = true;
            facts.may_stop = true;
            false
        }
        Op::ThreadGroup(ThreadGroupOp::SynchronizeBlock) => {
            facts.barrier = true;
            false
        }
        Op::ThreadGroup(ThreadGroupOp::ShaderExecutionReorder) => false,
        Op::ThreadGroup(_) => {
            facts.wave = true;
            false
        }
        Op::ResourceRead(_) | Op::ResourceWrite(_) | Op::Atomic(_) | Op::Gep => true,
        // The number of the slot.
        Op::ResourceQuery(q) => q.is_bindless(),
        Op::Arithmetic(ArithmeticOp::Extract | ArithmeticOp::Insert) => {
            function.args(inst).iter().skip(1).any(|&a| function.constant_bits(a).is_none())
        }
        _ => false,
    };
    if indexed && bounds == BoundsMode::Trap {
        facts.logs = true;
        facts.may_stop = true;
    }
    if function.op(inst) != Op::Call && !function.op(inst).is_terminator() {
        facts.writes_global = function.effects(inst).writes.intersects(Scopes::GLOBAL);
    }
    facts
}
