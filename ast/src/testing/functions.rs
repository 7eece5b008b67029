//! Functions: declarations, most of them made when the body asks for them.

use cranelift_entity::EntityRef;

use super::Form;
use super::{Context, Generator};
use crate::model::{
    Binding, CurveBases, Function, FunctionId, FunctionTag, Usage, Variable, VariableId,
    VariableTag,
};
use crate::types::{Scalar, TypeId};

impl Generator {
    /// Adds a function of about `size` statements.
    pub(super) fn function(&mut self, tag: FunctionTag, size: usize) {
        self.id = FunctionId::new(self.library.functions.len());
        self.function = Function::new(tag);
        self.context = Context::default();
        self.fuel = 6 * size;
        self.header();
        let body = self.body_of(size.max(1));
        self.function.body = body.into();
        if tag == FunctionTag::Kernel && !self.form.is_binary() {
            self.bind();
        }
        let mut made = std::mem::replace(&mut self.function, Function::new(FunctionTag::Callable));
        made.shrink_to_fit();
        self.library.functions.push(made);
    }

    fn header(&mut self) {
        let tag = self.function.tag;
        let kernel = tag == FunctionTag::Kernel;
        // Only version 1 and the model itself have names and wave sizes; elsewhere they would be lost.
        if matches!(self.form, Form::V1 | Form::Memory) {
            self.function.name = self.random.one_in(2).then(|| self.text());
            let sizes = [1, 32, 64, 128];
            self.function.allowed_warp_size =
                self.random.one_in(4).then(|| *self.random.pick(&sizes));
        }
        self.function.curve_bases = CurveBases(self.random.below(16) as u8);
        if kernel {
            let sizes = [[64, 1, 1], [8, 8, 4], [1, 1, 64], [1024, 1, 1], [1, 1, 1]];
            self.function.block_size = *self.random.pick(&sizes);
        } else if !self.random.one_in(4) {
            self.function.return_type = self.types.data(&mut self.random);
        }
        self.function.listed_constants =
            self.library.constants.keys().filter(|_| self.random.one_in(2)).collect();
        for _ in 0..self.random.below(4) {
            let ty = self.types.data(&mut self.random);
            self.argument(VariableTag::Argument, ty);
        }
        if let Some(opaque) = self.types.opaque {
            self.variable(VariableTag::Local, opaque);
        }
        if tag == FunctionTag::Callable {
            for _ in 0..self.random.below(3) {
                let ty = self.types.data(&mut self.random);
                self.argument(VariableTag::Reference, ty);
            }
            if self.random.one_in(8) {
                self.argument(VariableTag::Reference, self.types.known.query_all);
            }
            if self.random.one_in(4) {
                // A builtin of the caller is passed like an argument.
                let id = self.builtin(VariableTag::DispatchId);
                self.function.arguments.push(id);
            }
        }
    }

    fn bind(&mut self) {
        let resources = self.function.arguments.iter();
        let tags = resources.map(|a| self.function.variables[*a].tag);
        let tags: Vec<VariableTag> = tags.take_while(|t| t.is_resource()).collect();
        let bound = self.random.below(tags.len() + 1);
        for tag in tags.into_iter().take(bound) {
            // Handles need all 64 bits.
            let (handle, number) = (self.random.bits(), self.random.bits() >> 40);
            self.function.bindings.push(match tag {
                VariableTag::Buffer => Binding::Buffer { handle, offset: number, size: handle },
                VariableTag::Texture => Binding::Texture { handle, level: number },
                VariableTag::BindlessArray => Binding::BindlessArray { handle },
                _ => Binding::Accel { handle },
            });
        }
    }

    fn variable(&mut self, tag: VariableTag, ty: TypeId) -> VariableId {
        let named = matches!(self.form, Form::V1 | Form::Memory) && self.random.one_in(3);
        let name = if named { Some(self.text().into()) } else { None };
        self.function.variables.push(Variable { tag, ty, usage: Usage::NONE, name })
    }

    /// Declares an argument; resources come before all else, so that they can be bound.
    pub(super) fn argument(&mut self, tag: VariableTag, ty: TypeId) -> VariableId {
        let id = self.variable(tag, ty);
        let at = if tag.is_resource() { 0 } else { self.function.arguments.len() };
        self.function.arguments.insert(at, id);
        id
    }

    /// A variable of a tag and type, declared by `declare` if there is none, or now and then another one.
    fn found(
        &mut self,
        fits: impl Fn(&Variable) -> bool,
        declare: impl FnOnce(&mut Self) -> VariableId,
    ) -> VariableId {
        let known: Vec<VariableId> =
            self.function.variables.iter().filter(|(_, v)| fits(v)).map(|(id, _)| id).collect();
        match self.random.pick_any(&known) {
            Some(id) if !self.random.one_in(8) => id,
            _ => declare(self),
        }
    }

    /// A resource argument of a type.
    pub(super) fn resource(&mut self, tag: VariableTag, ty: TypeId) -> VariableId {
        self.found(|v| v.tag == tag && v.ty == ty, |g| g.argument(tag, ty))
    }

    /// Memory of a type that can be assigned: a local, shared, referenced or passed variable.
    pub(super) fn memory(&mut self, ty: TypeId) -> VariableId {
        let assignable = |v: &Variable| {
            use VariableTag::{Argument, Local, Reference, Shared};
            v.ty == ty && matches!(v.tag, Argument | Local | Reference | Shared)
        };
        self.found(assignable, |g| {
            let kernel = g.function.tag == FunctionTag::Kernel;
            let shared = kernel && g.random.one_in(4) && g.library.types.is_data(ty);
            let shared = shared && !g.library.types.has_attributes(ty);
            g.variable(if shared { VariableTag::Shared } else { VariableTag::Local }, ty)
        })
    }

    /// Local memory of a type.
    pub(super) fn local(&mut self, ty: TypeId) -> VariableId {
        self.found(
            |v| v.ty == ty && v.tag == VariableTag::Local,
            |g| g.variable(VariableTag::Local, ty),
        )
    }

    /// The builtin variable of a tag, of which there is one at most.
    pub(super) fn builtin(&mut self, tag: VariableTag) -> VariableId {
        if let Some((id, _)) = self.function.variables.iter().find(|(_, v)| v.tag == tag) {
            return id;
        }
        let ty = match tag {
            VariableTag::KernelId
            | VariableTag::WarpLaneCount
            | VariableTag::WarpLaneId
            | VariableTag::ObjectId
            | VariableTag::RasterBaseInstance => TypeId::U32,
            VariableTag::RasterBarycentrics => TypeId::vector(Scalar::F32, 3),
            VariableTag::RasterFrontFacing => TypeId::BOOL,
            _ => TypeId::vector(Scalar::U32, 3),
        };
        self.variable(tag, ty)
    }

    /// A builtin variable of a type, if there is such one.
    pub(super) fn builtin_of(&mut self, ty: TypeId) -> Option<VariableId> {
        use VariableTag as Tag;
        let mut tags = if ty == TypeId::vector(Scalar::U32, 3) {
            vec![Tag::ThreadId, Tag::BlockId, Tag::DispatchId, Tag::DispatchSize]
        } else if ty == TypeId::U32 {
            vec![Tag::KernelId, Tag::WarpLaneCount, Tag::WarpLaneId]
        } else {
            Vec::new()
        };
        if self.function.tag == FunctionTag::RasterStage {
            match ty {
                TypeId::U32 => tags.extend([Tag::ObjectId, Tag::RasterBaseInstance]),
                TypeId::BOOL => tags.push(Tag::RasterFrontFacing),
                ty if ty == TypeId::vector(Scalar::F32, 3) => tags.push(Tag::RasterBarycentrics),
                _ => {}
            }
        }
        let tag = self.random.pick_any(&tags)?;
        Some(self.builtin(tag))
    }
}
