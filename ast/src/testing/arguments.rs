//! Arguments of operations.

use super::Generator;
use crate::callops::{CallOp, Param};
use crate::model::{ExprId, VariableTag};
use crate::types::{Scalar, TypeId, TypeKind};

/// What the arguments and the result of one call have in common.
pub(super) struct Subject {
    pub op: CallOp,
    /// `T` of the table.
    pub t: TypeId,
    /// The type of free values.
    pub data: TypeId,
    /// Element of the buffer.
    pub elem: TypeId,
    /// Of the texture.
    pub dim: u8,
    pub texel: Scalar,
    /// The cooperative vector that is loaded, stored or changed.
    pub cooperative: TypeId,
    /// Cooperative vectors and references that have been passed.
    vectors: usize,
}

impl Generator {
    pub(super) fn subject(&mut self, op: CallOp, t: TypeId) -> Subject {
        let gradient = matches!(
            op,
            CallOp::RequiresGradient
                | CallOp::Gradient
                | CallOp::GradientMarker
                | CallOp::AccumulateGradient
        );
        let data = if gradient {
            TypeId::vector(Scalar::F32, 1 + self.random.below(4) as u8)
        } else {
            match op {
                CallOp::ClusterLaunchControlTryCancel
                | CallOp::ClusterLaunchControlTryCancelMulticast => TypeId::vector(Scalar::U32, 4),
                CallOp::MbarrierInit
                | CallOp::MbarrierArriveExpectTx
                | CallOp::MbarrierTryWaitParity => TypeId::U64,
                CallOp::CooperativeVectorSplat => TypeId::F16,
                CallOp::CooperativeVectorWorkgroupLoad
                | CallOp::CooperativeVectorWorkgroupStore => self.types.atomic[0][0],
                _ => self.types.data(&mut self.random),
            }
        };
        let cooperative = self.types.cooperative.map_or(TypeId::VOID, |c| c.output);
        Subject {
            op,
            t,
            data,
            elem: TypeId::VOID,
            dim: 0,
            texel: Scalar::F32,
            cooperative,
            vectors: 0,
        }
    }

    /// An argument; `None` if there is nothing that could be one.
    pub(super) fn argument_for(
        &mut self,
        subject: &mut Subject,
        param: Param,
        depth: usize,
    ) -> Option<ExprId> {
        let types = &self.library.types;
        let t = subject.t;
        let scalar = types.scalar_of(t).map_or(TypeId::F32, TypeId::scalar);
        let (float, uint) =
            (|dim| TypeId::vector(Scalar::F32, dim), |dim| TypeId::vector(Scalar::U32, dim));
        let known = self.types.known;
        let ty = match param {
            Param::T if subject.op.info().params.first() == Some(&Param::Ref) => subject.data,
            Param::T => t,
            Param::Exponent if self.random.one_in(3) => TypeId::vector(Scalar::I32, types.dim(t)),
            Param::TOrScalar | Param::Exponent if self.random.one_in(3) => scalar,
            Param::TOrScalar | Param::Exponent => t,
            Param::Condition if self.random.one_in(2) => TypeId::BOOL,
            Param::Condition => TypeId::vector(Scalar::Bool, types.dim(t)),
            Param::Bool => TypeId::BOOL,
            Param::Index => TypeId::U32,
            Param::Float => TypeId::F32,
            Param::Float2 => float(2),
            Param::Float3 => float(3),
            Param::Uint2 => uint(2),
            Param::Uint3 => uint(3),
            Param::Uint4 => uint(4),
            Param::Matrix4 => TypeId::matrix(4),
            Param::Struct => known.motion_srt,
            Param::Ray => known.ray,
            Param::Data if subject.op == CallOp::AddressOf => {
                return Some(self.lvalue(subject.data));
            }
            Param::Data => subject.data,
            Param::BufferElem => subject.elem,
            Param::Coord => uint(subject.dim),
            Param::Texel => TypeId::vector(subject.texel, 4),
            Param::Ref => return Some(self.written(subject)),
            Param::Message => return self.message(),
            Param::Query => return Some(self.query(subject.op)),
            Param::CoopVec => return self.cooperative_vector(subject, depth),
            Param::CoopVecRef => {
                let ty = self.types.cooperative?.vector_ref;
                return Some(self.never(ty));
            }
            Param::CoopMatRef => {
                let ty = self.types.cooperative?.matrix_ref;
                return Some(self.never(ty));
            }
            Param::AtomicBase | Param::Chain | Param::Components | Param::Columns | Param::Rest => {
                return None;
            }
            resource => return Some(self.resource_for(subject, resource)),
        };
        Some(self.value(ty, depth))
    }

    /// References to cooperative data have no values of their own that a function could make: they stand for what is never
    /// reached.
    fn never(&mut self, ty: TypeId) -> ExprId {
        self.builtin_call(CallOp::Unreachable, ty, &[])
    }

    fn written(&mut self, subject: &mut Subject) -> ExprId {
        let ty = subject.data;
        if matches!(
            subject.op,
            CallOp::ClusterLaunchControlTryCancel | CallOp::ClusterLaunchControlTryCancelMulticast
        ) {
            // The second one is the barrier.
            subject.data = TypeId::U64;
        }
        self.lvalue(ty)
    }

    fn query(&mut self, op: CallOp) -> ExprId {
        let known = self.types.known;
        let object = match self.context.query {
            Some(object) if !op.name().contains("COMMITTED") => object,
            _ => self.local(known.query_all),
        };
        self.reference(object)
    }

    fn cooperative_vector(&mut self, subject: &mut Subject, depth: usize) -> Option<ExprId> {
        let types = self.types.cooperative?;
        subject.vectors += 1;
        // A matrix takes the one and adds to, or makes, the other.
        let by_matrix = subject.op.info().params.contains(&Param::CoopMatRef);
        let ty = if by_matrix && subject.vectors == 1 { types.input } else { types.output };
        Some(self.value(ty, depth))
    }

    fn resource_for(&mut self, subject: &mut Subject, param: Param) -> ExprId {
        let types = &self.types;
        let name = subject.op.name();
        let (tag, ty) = match param {
            Param::Bindless => (VariableTag::BindlessArray, types.known.bindless),
            Param::Accel => (VariableTag::Accel, types.known.accel),
            Param::Dispatch => (VariableTag::Buffer, types.known.dispatch),
            Param::UintBuffer => (VariableTag::Buffer, types.uint_buffer),
            Param::Texture => {
                let wanted = |ty: &&TypeId| match self.library.types.kind(**ty) {
                    TypeKind::Texture { dim, elem, .. } if name.contains("SAMPLE") => {
                        *elem == Scalar::F32 && name.starts_with(&format!("TEXTURE{dim}D"))
                    }
                    _ => true,
                };
                let textures: Vec<TypeId> = types.textures.iter().filter(wanted).copied().collect();
                (VariableTag::Texture, *self.random.pick(&textures))
            }
            Param::ByteBuffer => (VariableTag::Buffer, types.byte_buffer),
            _ => (VariableTag::Buffer, *self.random.pick(&self.types.buffers)),
        };
        match self.library.types.kind(ty) {
            TypeKind::Buffer { elem, .. } => subject.elem = *elem,
            TypeKind::Texture { dim, elem, .. } => (subject.dim, subject.texel) = (*dim, *elem),
            _ => {}
        }
        let variable = self.resource(tag, ty);
        self.reference(variable)
    }
}
