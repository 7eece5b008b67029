//! What the kernel binds, and what the launch gives: globals and arguments of the entry point.

use luisac_artifact::bindings::{Bindings, Slot, SlotKind};
use luisac_ast::types::{Scalar, TypeId, TypeKind, TypeTable};
use luisac_xir::op::{SpecialRegister as R, ThreadGroupOp as G};
use luisac_xir::{Function, Op, ValueDef, ValueId};
use naga::{
    AddressSpace, ArraySize, Binding, BuiltIn, Expression, FunctionArgument, GlobalVariable,
    Handle, ImageClass, ImageDimension, MemoryDecorations, ResourceBinding, ScalarKind, Span,
    Statement, StorageAccess, StorageFormat, TypeInner,
};
use rustc_hash::FxHashMap;

use super::Emit;
use super::body::{Body, Val};
use super::function::FnEmit;
use super::words::Words;

/// What an argument is to the kernel.
#[derive(Clone, Copy)]
pub enum Resource {
    /// The words of a buffer.
    Buffer(Words),
    /// An image: as it is written, as it is sampled, and the element.
    Image { storage: Option<Val>, sampled: Option<Val>, element: Scalar },
    /// A value, or something that no code here can reach.
    None,
}

/// The places of everything from outside.
pub struct Interface {
    /// The parameter block, an array of four words each.
    pub params: Val,
    /// Offset of each argument in it.
    pub offsets: Vec<u32>,
    /// Offset of the dispatch size and kernel id.
    pub dispatch: u32,
    /// What each argument is.
    pub resources: Vec<Resource>,
    /// Samplers by number.
    pub samplers: FxHashMap<u32, Val>,
    pub block_size: [u32; 3],
    pub thread_id: Val,
    pub block_id: Val,
    pub dispatch_id: Val,
    pub lane: Option<Val>,
    pub wave_size: Option<Val>,
}

/// What the interface is made from.
pub struct Plan<'a> {
    pub types: &'a TypeTable,
    pub func: &'a Function,
    /// Bytes of the parameter block.
    pub size: u32,
    pub offsets: Vec<u32>,
    pub dispatch: u32,
    pub slots: Vec<Vec<Slot>>,
    pub bindings: Bindings,
    pub block_size: [u32; 3],
    /// Buffers, by argument, whose words are atomic.
    pub atomic: Vec<bool>,
    /// Images, by argument, that are read while they are storage images.
    pub read_images: Vec<bool>,
    /// Whether threads outside of the dispatch return first of all.
    pub outside_returns: bool,
}

impl Interface {
    /// Makes globals and arguments.
    pub fn of(plan: &Plan<'_>, module: &mut naga::Module, body: &mut Body) -> Interface {
        let params = params(plan, module, body);
        let resources =
            (0..plan.func.arguments.len()).map(|i| resource(plan, i, module, body)).collect();
        let mut samplers = FxHashMap::default();
        for slot in &plan.bindings.samplers {
            let ty = insert(module, TypeInner::Sampler { comparison: false });
            let name = format!("sampler_{}", slot.index);
            samplers
                .insert(slot.index, global(module, body, &name, slot, AddressSpace::Handle, ty));
        }
        let uvec = TypeInner::Vector { size: naga::VectorSize::Tri, scalar: naga::Scalar::U32 };
        let uvec = insert(module, uvec);
        let word = insert(module, TypeInner::Scalar(naga::Scalar::U32));
        let used = registers(plan.func);
        let mut argument = |name: &str, ty, builtin| {
            let index = body.function.arguments.len() as u32;
            let binding = Some(Binding::BuiltIn(builtin));
            let argument = FunctionArgument { name: Some(name.to_string()), ty, binding };
            body.function.arguments.push(argument);
            body.value(Expression::FunctionArgument(index))
        };
        Interface {
            params,
            offsets: plan.offsets.clone(),
            dispatch: plan.dispatch,
            resources,
            samplers,
            block_size: plan.block_size,
            dispatch_id: argument("dispatch_id", uvec, BuiltIn::GlobalInvocationId),
            thread_id: argument("thread_id", uvec, BuiltIn::LocalInvocationId),
            block_id: argument("block_id", uvec, BuiltIn::WorkGroupId),
            lane: used.0.then(|| argument("lane", word, BuiltIn::SubgroupInvocationId)),
            wave_size: used.1.then(|| argument("wave_size", word, BuiltIn::SubgroupSize)),
        }
    }

    /// An array of words of known length.
    pub fn word_array(
        &self,
        module: &mut naga::Module,
        atomic: bool,
        words: u32,
    ) -> Handle<naga::Type> {
        let size = std::num::NonZeroU32::new(words).map_or(ArraySize::Dynamic, ArraySize::Constant);
        word_array(module, atomic, size)
    }
}

/// Whether the lane and the size of the wave are asked for.
fn registers(func: &Function) -> (bool, bool) {
    let (mut lane, mut size) = (false, false);
    for inst in func.blocks().flat_map(|b| func.insts(b)) {
        for &arg in func.args(inst) {
            lane |= func.value_def(arg) == ValueDef::Special(R::WarpLaneId);
            size |= func.value_def(arg) == ValueDef::Special(R::WarpSize);
        }
        lane |= matches!(
            func.op(inst),
            Op::ThreadGroup(G::WarpFirstActiveLane | G::WarpIsFirstActiveLane)
        );
    }
    (lane, size)
}

fn insert(module: &mut naga::Module, inner: TypeInner) -> Handle<naga::Type> {
    module.types.insert(naga::Type { name: None, inner }, Span::UNDEFINED)
}

fn word_array(module: &mut naga::Module, atomic: bool, size: ArraySize) -> Handle<naga::Type> {
    let word = match atomic {
        true => TypeInner::Atomic(naga::Scalar::U32),
        false => TypeInner::Scalar(naga::Scalar::U32),
    };
    let base = insert(module, word);
    insert(module, TypeInner::Array { base, size, stride: 4 })
}

fn global(
    module: &mut naga::Module,
    body: &mut Body,
    name: &str,
    slot: &Slot,
    space: AddressSpace,
    ty: Handle<naga::Type>,
) -> Val {
    let global = GlobalVariable {
        name: Some(name.to_string()),
        space,
        binding: Some(ResourceBinding { group: slot.set, binding: slot.index }),
        ty,
        init: None,
        memory_decorations: MemoryDecorations::empty(),
    };
    let handle = module.global_variables.append(global, Span::UNDEFINED);
    body.value(Expression::GlobalVariable(handle))
}

fn params(plan: &Plan<'_>, module: &mut naga::Module, body: &mut Body) -> Val {
    let quad = TypeInner::Vector { size: naga::VectorSize::Quad, scalar: naga::Scalar::U32 };
    let base = insert(module, quad);
    let rows = std::num::NonZeroU32::new(plan.size / 16).unwrap_or(std::num::NonZeroU32::MIN);
    let size = ArraySize::Constant(rows);
    let ty = insert(module, TypeInner::Array { base, size, stride: 16 });
    global(module, body, "params", &plan.bindings.params, AddressSpace::Uniform, ty)
}

fn resource(plan: &Plan<'_>, index: usize, module: &mut naga::Module, body: &mut Body) -> Resource {
    let argument = &plan.func.arguments[index];
    let slots = &plan.slots[index];
    let name = argument.name.as_deref().map_or_else(|| format!("argument_{index}"), str::to_string);
    match (plan.types.kind(argument.ty), slots.first()) {
        (TypeKind::Buffer { .. }, Some(slot)) => {
            let atomic = plan.atomic[index];
            let ty = word_array(module, atomic, ArraySize::Dynamic);
            let mut access = StorageAccess::LOAD;
            if slot.kind == SlotKind::StorageBuffer || atomic {
                access |= StorageAccess::STORE;
            }
            let space = AddressSpace::Storage { access };
            let base = global(module, body, &name, slot, space, ty);
            Resource::Buffer(Words { base })
        }
        (TypeKind::Texture { dim, elem, .. }, Some(_)) => {
            let (dim, elem) = (*dim, *elem);
            let place = |kind| slots.iter().find(|s| s.kind == kind);
            let storage = place(SlotKind::StorageImage).map(|slot| {
                let reads = plan.read_images[index];
                let ty = image(module, dim, storage_class(elem, reads));
                global(module, body, &name, slot, AddressSpace::Handle, ty)
            });
            let sampled = place(SlotKind::SampledImage).map(|slot| {
                let kind = kind_of(elem);
                let ty = image(module, dim, ImageClass::Sampled { kind, multi: false });
                let name = if storage.is_some() { format!("{name}_sampled") } else { name.clone() };
                global(module, body, &name, slot, AddressSpace::Handle, ty)
            });
            Resource::Image { storage, sampled, element: elem }
        }
        _ => Resource::None,
    }
}

fn image(module: &mut naga::Module, dim: u8, class: ImageClass) -> Handle<naga::Type> {
    let dim = if dim == 3 { ImageDimension::D3 } else { ImageDimension::D2 };
    insert(module, TypeInner::Image { dim, arrayed: false, class })
}

fn kind_of(element: Scalar) -> ScalarKind {
    match element {
        s if s.is_float() => ScalarKind::Float,
        s if s.is_signed() => ScalarKind::Sint,
        _ => ScalarKind::Uint,
    }
}

/// The languages want a format: four channels of 32 bits, which the image must have.
fn storage_class(element: Scalar, reads: bool) -> ImageClass {
    let format = match kind_of(element) {
        ScalarKind::Float => StorageFormat::Rgba32Float,
        ScalarKind::Sint => StorageFormat::Rgba32Sint,
        _ => StorageFormat::Rgba32Uint,
    };
    let mut access = StorageAccess::STORE;
    if reads {
        access |= StorageAccess::LOAD;
    }
    ImageClass::Storage { format, access }
}

impl FnEmit<'_> {
    /// Ends threads outside of the dispatch.
    pub fn guard_threads(&mut self) -> Emit<()> {
        let size = TypeId::vector(Scalar::U32, 3);
        let size = self.read_param(self.interface.params, self.interface.dispatch, size)?;
        let id = self.interface.dispatch_id;
        let argument = self.body.binary(naga::BinaryOperator::GreaterEqual, id, size);
        let fun = naga::RelationalFunction::Any;
        let condition = self.body.value(Expression::Relational { fun, argument });
        let accept = naga::Block::from_vec(vec![Statement::Return { value: None }]);
        let reject = naga::Block::new();
        self.body.statement(Statement::If { condition, accept, reject });
        Ok(())
    }

    /// What a resource argument is.
    pub fn resource(&self, value: ValueId) -> Emit<(Resource, usize)> {
        match self.func.value_def(value) {
            ValueDef::Argument(i) => match self.interface.resources.get(i as usize) {
                Some(&resource) => Ok((resource, i as usize)),
                None => Err(self.internal("an argument without a place")),
            },
            _ => Err(self.internal("a resource that is no argument")),
        }
    }
}
