//! What the kernel shares with the outside: builtins, the parameter block, and a variable for each view of a resource.

use luisac_artifact::bindings::{Slot, SlotKind};
use luisac_ast::types::{Scalar, TypeId, TypeKind};
use luisac_xir::op::{AtomicOp, ResourceWriteOp, Scopes, SpecialRegister, ThreadGroupOp};
use luisac_xir::{Function, Module as Xir, Op as X, ValueDef, ValueId};
use rspirv::spirv::{BuiltIn, Capability, Decoration, Dim, ImageFormat, Op, StorageClass};
use rustc_hash::FxHashMap;

use super::function::FnEmit;
use super::module::Id;
use super::raw::{Address, Source};
use super::types::{Form, Types};
use super::{Emit, internal, refused};

/// What the elements of a buffer are read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum View {
    /// Its own elements.
    Typed,
    /// Integers of this width.
    Ints(u32),
}

/// Which variable of the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Params,
    Builtin(u32),
    Buffer(usize, View),
    SampledImage(usize),
    StorageImage(usize),
    Samplers,
    BufferHeap(View),
    ImageHeap(u32),
}

/// The variables of the module, and what has to be known of the kernel to declare them.
pub struct Interface {
    variables: FxHashMap<Key, Id>,
    registers: FxHashMap<SpecialRegister, Id>,
    /// Form of the elements of each argument that is a buffer.
    forms: Vec<Form>,
    shared: FxHashMap<ValueId, Form>,
    /// Threads of a block hand each other what they wrote to buffers.
    pub coherent: bool,
    /// Bytes of shared memory so far.
    pub shared_bytes: u64,
}

impl Interface {
    /// Looks at what a kernel does with its resources.
    pub fn of(xir: &Xir, func: &Function, adds_floats: bool) -> Interface {
        let mut interface = Interface {
            variables: FxHashMap::default(),
            registers: FxHashMap::default(),
            forms: vec![Form::BUFFER; func.arguments.len()],
            shared: FxHashMap::default(),
            coherent: false,
            shared_bytes: 0,
        };
        let (mut barrier, mut writes) = (false, false);
        for block in func.blocks() {
            for inst in func.insts(block) {
                match func.op(inst) {
                    X::ThreadGroup(ThreadGroupOp::SynchronizeBlock) => barrier = true,
                    X::ResourceWrite(op) => {
                        writes |= !matches!(
                            op,
                            ResourceWriteOp::Texture2dWrite | ResourceWriteOp::Texture3dWrite
                        );
                    }
                    X::Atomic(op) => {
                        writes = true;
                        interface.note_atomic(xir, func, (func.args(inst), op), adds_floats);
                    }
                    _ => {}
                }
            }
        }
        interface.coherent = barrier && writes;
        interface
    }

    /// Floats that are compared and exchanged are integers in memory; so are numbers below 32 bits in shared memory.
    fn note_atomic(
        &mut self,
        xir: &Xir,
        func: &Function,
        (args, op): (&[ValueId], AtomicOp),
        adds_floats: bool,
    ) {
        let Some(&base) = args.first() else { return };
        let values = &args[args.len().saturating_sub(op.value_count())..];
        let scalar = values.first().and_then(|&v| xir.types.scalar_of(func.value_type(v)));
        let Some(scalar) = scalar else { return };
        if func.is_resource(base) {
            if let ValueDef::Argument(i) = func.value_def(base)
                && let Some(form) = self.forms.get_mut(i as usize)
                && scalar.is_float()
                && !(adds_floats && super::atomics::is_sum(op, scalar))
            {
                form.floats_as_ints = true;
            }
        } else if func.scopes_of(base) == Scopes::SHARED {
            let form = self.shared.entry(func.base_of(base)).or_default();
            form.floats_as_ints |= scalar.is_float();
            form.widened |= scalar.bits() < 32;
        }
    }

    /// The form of a shared variable.
    pub fn shared_form(&self, alloca: ValueId) -> Form {
        self.shared.get(&alloca).copied().unwrap_or_default()
    }

    /// The form of the elements of an argument.
    pub fn buffer_form(&self, argument: usize) -> Form {
        self.forms.get(argument).copied().unwrap_or(Form::BUFFER)
    }

    /// Counts a shared variable.
    pub fn note_shared(&mut self, size: u64, align: u32) {
        let start = self.shared_bytes.next_multiple_of(u64::from(align.max(1)));
        self.shared_bytes = start.saturating_add(size);
    }
}

impl FnEmit<'_> {
    /// The variable of a key, made at first use.
    fn variable(&mut self, key: Key, make: impl FnOnce(&mut Self) -> Emit<Id>) -> Emit<Id> {
        if let Some(&id) = self.interface.variables.get(&key) {
            return Ok(id);
        }
        let id = make(self)?;
        self.interface.variables.insert(key, id);
        Ok(id)
    }

    // ---- builtins

    fn builtin(&mut self, builtin: BuiltIn, count: u32) -> Emit<Id> {
        let word = self.m.int(32);
        let ty = self.m.vector(word, count);
        let variable =
            self.variable(Key::Builtin(builtin as u32), |f| Ok(f.m.builtin(builtin, ty)))?;
        Ok(self.op(Op::Load, ty, &[variable]))
    }

    /// A builtin value; read once, at the start of the function.
    pub fn special(&mut self, register: SpecialRegister) -> Emit<Id> {
        if let Some(&id) = self.interface.registers.get(&register) {
            return Ok(id);
        }
        let id = match register {
            SpecialRegister::ThreadId => self.builtin(BuiltIn::LocalInvocationId, 3)?,
            SpecialRegister::BlockId => self.builtin(BuiltIn::WorkgroupId, 3)?,
            SpecialRegister::DispatchId => self.builtin(BuiltIn::GlobalInvocationId, 3)?,
            SpecialRegister::DispatchSize => self.dispatch_size()?,
            SpecialRegister::BlockSize => {
                let parts = self.block_size().map(|n| self.m.u32(n));
                let word = self.m.int(32);
                let ty = self.m.vector(word, 3);
                self.m.intern(Op::ConstantComposite, ty, &parts)
            }
            SpecialRegister::WarpLaneId => {
                self.m.capability(Capability::GroupNonUniform);
                self.builtin(BuiltIn::SubgroupLocalInvocationId, 1)?
            }
            SpecialRegister::WarpSize => {
                self.m.capability(Capability::GroupNonUniform);
                self.builtin(BuiltIn::SubgroupSize, 1)?
            }
            SpecialRegister::KernelId => {
                let at = u64::from(self.layout.dispatch) + 12;
                self.raw_load(Source::Params, Address::constant(at), TypeId::U32)?
            }
            SpecialRegister::ObjectId
            | SpecialRegister::Barycentrics
            | SpecialRegister::FrontFacing
            | SpecialRegister::BaseInstance => return Err(refused(X::RasterDiscard)),
        };
        self.interface.registers.insert(register, id);
        Ok(id)
    }

    /// The size of the dispatch, from the end of the parameter block.
    pub fn dispatch_size(&mut self) -> Emit<Id> {
        if let Some(&id) = self.interface.registers.get(&SpecialRegister::DispatchSize) {
            return Ok(id);
        }
        let at = Address::constant(u64::from(self.layout.dispatch));
        let id = self.raw_load(Source::Params, at, TypeId::vector(Scalar::U32, 3))?;
        self.interface.registers.insert(SpecialRegister::DispatchSize, id);
        Ok(id)
    }

    /// Threads of a block on each axis.
    pub fn block_size(&self) -> [u32; 3] {
        match self.func.kind {
            luisac_xir::FunctionKind::Kernel { block_size } => block_size,
            _ => [1; 3],
        }
    }

    // ---- arguments

    /// A value argument, read from the parameter block.
    pub fn argument(&mut self, index: usize, ty: TypeId) -> Emit<Id> {
        // The capacity of the log follows the log itself.
        let capacity = self.log_argument.is_some_and(|log| log + 1 == index);
        let offset =
            if capacity { self.layout.log } else { self.layout.offsets.get(index).copied() };
        let Some(offset) = offset else {
            return Err(internal("an argument that the parameter block does not have"));
        };
        self.raw_load(Source::Params, Address::constant(offset.into()), ty)
    }

    /// The position of a resource argument.
    pub fn position(&self, resource: ValueId) -> Emit<usize> {
        match self.func.value_def(resource) {
            ValueDef::Argument(i) => Ok(i as usize),
            _ => Err(internal("a resource that is no argument")),
        }
    }

    fn slot(&self, argument: usize, wanted: &[SlotKind]) -> Emit<Slot> {
        if self.log_argument == Some(argument) {
            return self.bindings.log.ok_or_else(|| internal("a log without a place"));
        }
        let slots = self.slots.get(argument).map_or(&[][..], |s| s.as_slice());
        let found = slots.iter().find(|s| wanted.contains(&s.kind));
        found.copied().ok_or_else(|| internal("a resource that is not bound as it is used"))
    }

    /// The parameter block, as words of 16 bytes.
    pub fn params(&mut self) -> Emit<Id> {
        self.variable(Key::Params, |f| {
            let word = f.m.int(32);
            let quad = f.m.vector(word, 4);
            let count = f.m.u32((f.layout.size / 16).max(1));
            let array = f.m.declare(Op::TypeArray, 0, &[quad, count]);
            f.m.decorate(array, Decoration::ArrayStride, &[16]);
            let block = f.m.declare(Op::TypeStruct, 0, &[array]);
            f.m.decorate(block, Decoration::Block, &[]);
            f.m.decorate_member(block, 0, Decoration::Offset, &[0]);
            let Slot { set, index, .. } = f.bindings.params;
            let id = f.m.bound(StorageClass::Uniform, block, set, index);
            f.name_interface(id, "params");
            Ok(id)
        })
    }

    /// A view of a buffer, a bindless array's records, or an indirect dispatch buffer.
    pub fn buffer(&mut self, argument: usize, view: View) -> Emit<Id> {
        self.variable(Key::Buffer(argument, view), |f| {
            let slot = f.slot(argument, &[SlotKind::ReadOnlyBuffer, SlotKind::StorageBuffer])?;
            let block = f.buffer_block(Some(argument), view, slot.kind)?;
            let id = f.m.bound(StorageClass::StorageBuffer, block, slot.set, slot.index);
            f.decorate_memory(id);
            let name = f.func.arguments.get(argument).and_then(|a| a.name.as_deref());
            f.name_interface(id, name.unwrap_or("buffer"));
            Ok(id)
        })
    }

    fn buffer_block(&mut self, argument: Option<usize>, view: View, kind: SlotKind) -> Emit<Id> {
        let (element, stride) = match (view, argument) {
            (View::Ints(bits), _) => {
                match bits {
                    8 => self.m.capability(Capability::StorageBuffer8BitAccess),
                    16 => self.m.capability(Capability::StorageBuffer16BitAccess),
                    64 => self.m.capability(Capability::Int64),
                    _ => {}
                }
                (self.m.int(bits), bits / 8)
            }
            (View::Typed, Some(argument)) => {
                let element = self.buffer_element_type(argument)?;
                let form = self.interface.buffer_form(argument);
                (self.form_type(element, form)?, self.table().stride(element) as u32)
            }
            _ => return Err(internal("a typed view of a heap")),
        };
        Ok(Types::block(&mut self.m, element, stride, kind == SlotKind::ReadOnlyBuffer))
    }

    /// The element type of a buffer argument.
    pub fn buffer_element_type(&self, argument: usize) -> Emit<TypeId> {
        let ty = self.func.arguments.get(argument).map(|a| a.ty);
        match ty.map(|ty| self.table().kind(ty)) {
            Some(TypeKind::Buffer { elem, .. }) => Ok(*elem),
            _ => Err(internal("an operand that is no buffer")),
        }
    }

    /// Buffers may overlap unless the caller promised otherwise; writes are seen at barriers.
    fn decorate_memory(&mut self, id: Id) {
        let alias = if self.options.restrict { Decoration::Restrict } else { Decoration::Aliased };
        self.m.decorate(id, alias, &[]);
        if self.interface.coherent {
            self.m.decorate(id, Decoration::Coherent, &[]);
        }
    }

    /// The buffers of bindless arrays.
    pub fn buffer_heap(&mut self, view: View) -> Emit<Id> {
        self.variable(Key::BufferHeap(view), |f| {
            let Some(slot) = f.bindings.buffer_heap else {
                return Err(internal("a heap of buffers without a place"));
            };
            let block = f.buffer_block(None, view, slot.kind)?;
            f.m.capability(Capability::RuntimeDescriptorArray);
            let array = f.m.intern(Op::TypeRuntimeArray, 0, &[block]);
            let id = f.m.bound(StorageClass::StorageBuffer, array, slot.set, slot.index);
            f.decorate_memory(id);
            f.name_interface(id, "buffer_heap");
            Ok(id)
        })
    }

    // ---- images

    /// The type of an image: `sampled` or for reads and writes by texel.
    pub fn image_type(&mut self, scalar: Scalar, dim: u32, sampled: bool) -> Id {
        let texel = if scalar.is_float() { self.m.float(32) } else { self.m.int(32) };
        let shape = if dim == 3 { Dim::Dim3D } else { Dim::Dim2D };
        let usage = if sampled { 1 } else { 2 };
        let format = ImageFormat::Unknown as u32;
        self.m.intern(Op::TypeImage, 0, &[texel, shape as u32, 0, 0, 0, usage, format])
    }

    /// What a texel of an image argument is, and its dimensions.
    pub fn image_shape(&self, argument: usize) -> Emit<(Scalar, u32)> {
        let ty = self.func.arguments.get(argument).map(|a| a.ty);
        match ty.map(|ty| self.table().kind(ty)) {
            Some(TypeKind::Texture { dim, elem, .. }) => Ok((*elem, u32::from(*dim))),
            _ => Err(internal("an operand that is no image")),
        }
    }

    /// Whether an image argument is bound as a storage image.
    pub fn is_storage_image(&self, argument: usize) -> bool {
        self.slot(argument, &[SlotKind::StorageImage]).is_ok()
    }

    /// An image argument as it is bound, loaded, and its type.
    pub fn image(&mut self, argument: usize, sampled: bool) -> Emit<(Id, Id)> {
        let (scalar, dim) = self.image_shape(argument)?;
        let ty = self.image_type(scalar, dim, sampled);
        let (key, kind) = if sampled {
            (Key::SampledImage(argument), SlotKind::SampledImage)
        } else {
            (Key::StorageImage(argument), SlotKind::StorageImage)
        };
        let variable = self.variable(key, |f| {
            let slot = f.slot(argument, &[kind])?;
            let id = f.m.bound(StorageClass::UniformConstant, ty, slot.set, slot.index);
            if !sampled && !f.options.restrict {
                f.m.decorate(id, Decoration::Aliased, &[]);
            }
            if !sampled && f.interface.coherent {
                f.m.decorate(id, Decoration::Coherent, &[]);
            }
            let name = f.func.arguments.get(argument).and_then(|a| a.name.as_deref());
            f.name_interface(id, name.unwrap_or("image"));
            Ok(id)
        })?;
        Ok((self.op(Op::Load, ty, &[variable]), ty))
    }

    /// The sixteen samplers.
    pub fn samplers(&mut self) -> Emit<Id> {
        self.variable(Key::Samplers, |f| {
            let Some(slot) = f.bindings.samplers.first().copied() else {
                return Err(internal("samplers without a place"));
            };
            let sampler = f.m.intern(Op::TypeSampler, 0, &[]);
            let count = f.m.u32(slot.count);
            let array = f.m.intern(Op::TypeArray, 0, &[sampler, count]);
            let id = f.m.bound(StorageClass::UniformConstant, array, slot.set, slot.index);
            f.name_interface(id, "samplers");
            Ok(id)
        })
    }

    /// The images of bindless arrays.
    pub fn image_heap(&mut self, dim: u32) -> Emit<Id> {
        self.variable(Key::ImageHeap(dim), |f| {
            let slot = if dim == 3 { f.bindings.image3d_heap } else { f.bindings.image2d_heap };
            let Some(slot) = slot else { return Err(internal("a heap of images without a place")) };
            f.m.capability(Capability::RuntimeDescriptorArray);
            let image = f.image_type(Scalar::F32, dim, true);
            let array = f.m.intern(Op::TypeRuntimeArray, 0, &[image]);
            let id = f.m.bound(StorageClass::UniformConstant, array, slot.set, slot.index);
            f.name_interface(id, if dim == 3 { "image3d_heap" } else { "image2d_heap" });
            Ok(id)
        })
    }

    fn name_interface(&mut self, id: Id, name: &str) {
        if self.options.source.is_some() {
            self.m.name(id, name);
        }
    }
}
