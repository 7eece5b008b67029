//! Whether types fit the signatures of the table of operations, and what would.

use super::Checker;
use super::calls::Call;
use super::rules::{assignable, is_index, with_scalar};
use crate::callops::{CallOp, CallOpInfo, Class, Group, Out, Param};
use crate::types::{Scalar, TypeId, TypeKind, TypeTable};

/// Structures of fixed shape (`ast.md`, section 1.5).
const RAY: &str = "struct<16,array<float,3>,float,array<float,3>,float>";
const TRIANGLE_HIT: &str = "struct<8,uint,uint,vector<float,2>,float>";
const PROCEDURAL_HIT: &str = "struct<4,uint,uint>";
const COMMITTED_HIT: &str = "struct<8,uint,uint,vector<float,2>,uint,float>";
const MOTION_SRT: &str =
    "struct<16,array<float,3>,array<float,4>,array<float,3>,array<float,3>,array<float,3>>";

const QUERY_ALL: &str = "LC_RayQueryAll";
const QUERY_ANY: &str = "LC_RayQueryAny";
const DISPATCH_BUFFER: &str = "LC_IndirectDispatchBuffer";

impl Checker<'_> {
    pub(super) fn param_holds(&self, call: &Call<'_>, ty: TypeId, param: Param) -> bool {
        let types = &self.library.types;
        let first = self.first_type(call);
        let int_vector = |dim| types.is_integer(ty) && types.dim(ty) == dim;
        match param {
            Param::T => ty == call.t && (call.info.class != Class::Any || types.is_data(ty)),
            Param::TOrScalar => ty == call.t || Some(ty) == scalar_of(types, call.t),
            Param::Exponent => {
                let shaped = types.dim(ty) == types.dim(call.t) || types.is_scalar(ty);
                let float = types.scalar_of(ty) == types.scalar_of(call.t);
                types.is_scalar_or_vector(ty) && shaped && (float || types.is_integer(ty))
            }
            Param::Condition => {
                types.is_bool(ty) && (types.is_scalar(ty) || types.dim(ty) == types.dim(call.t))
            }
            Param::Index | Param::Message => is_index(types, ty),
            Param::Uint2 => int_vector(2),
            Param::Uint3 => int_vector(3),
            Param::Uint4 => int_vector(4),
            Param::Data | Param::Ref => types.is_data(ty),
            Param::Struct => self.is(ty, MOTION_SRT),
            Param::Ray => self.is(ty, RAY),
            Param::Buffer => matches!(types.kind(ty), TypeKind::Buffer { .. }),
            Param::TypedBuffer => buffer_element(types, ty).is_some_and(|e| e != TypeId::VOID),
            Param::ByteBuffer => buffer_element(types, ty) == Some(TypeId::VOID),
            Param::UintBuffer => {
                buffer_element(types, ty).is_some_and(|e| e == TypeId::U32 || e == TypeId::VOID)
            }
            // What is stored is converted, as by an assignment.
            Param::BufferElem => {
                buffer_element(types, first).is_some_and(|e| assignable(types, e, ty))
            }
            Param::Texture => self.is_texture_of(ty, call.info.op),
            Param::Coord => int_vector(types.dim(first)),
            Param::Texel => texel(types, first) == Some(ty),
            Param::Bindless => matches!(types.kind(ty), TypeKind::BindlessArray),
            Param::Accel => matches!(types.kind(ty), TypeKind::Accel),
            Param::Query => types.is_ray_query(ty),
            Param::Dispatch => types.is_custom_named(ty, DISPATCH_BUFFER),
            Param::CoopVec => self.is_coop_operand(call, ty),
            Param::CoopVecRef => matches!(types.kind(ty), TypeKind::CoopVecRef { .. }),
            Param::CoopMatRef => matches!(types.kind(ty), TypeKind::CoopMatRef { .. }),
            // Checked as a whole.
            Param::AtomicBase | Param::Chain | Param::Components | Param::Columns | Param::Rest => {
                true
            }
            Param::Bool | Param::Float | Param::Float2 | Param::Float3 | Param::Matrix4 => {
                exact_param(param) == Some(ty)
            }
        }
    }

    /// What an argument must be, for a message.
    pub(super) fn expected_argument(&self, call: &Call<'_>, param: Param) -> String {
        let types = &self.library.types;
        let first = self.first_type(call);
        let quoted = |ty: TypeId| format!("`{}`", self.name(ty));
        if let Some(ty) = exact_param(param) {
            return quoted(ty);
        }
        match param {
            Param::T => quoted(call.t),
            Param::TOrScalar => scalar_of(types, call.t)
                .filter(|s| *s != call.t)
                .map_or_else(|| quoted(call.t), |s| format!("{} or {}", quoted(call.t), quoted(s))),
            Param::Exponent => format!("{} or an integer of its shape", quoted(call.t)),
            Param::Condition => with_scalar(types, call.t, Scalar::Bool)
                .filter(|b| *b != TypeId::BOOL)
                .map_or_else(|| "`bool`".into(), |b| format!("`bool` or {}", quoted(b))),
            Param::Index => "an integer".into(),
            Param::Message => "a string id".into(),
            Param::Uint2 => "a vector of two integers".into(),
            Param::Uint3 => "a vector of three integers".into(),
            Param::Uint4 => "a vector of four integers".into(),
            Param::Data | Param::Ref => "data".into(),
            Param::Struct => format!("`{MOTION_SRT}`"),
            Param::Ray => format!("a ray, `{RAY}`"),
            Param::Buffer => "a buffer".into(),
            Param::TypedBuffer => "a buffer with an element type".into(),
            Param::ByteBuffer => "`buffer<void>`".into(),
            Param::UintBuffer => "`buffer<uint>`".into(),
            Param::BufferElem => {
                buffer_element(types, first).map_or_else(|| "the element type".into(), quoted)
            }
            Param::Texture => match sampled_dim(call.info.op) {
                Some(dim) => format!("a texture of {dim} dimensions"),
                None => "a texture".into(),
            },
            Param::Coord => format!("a vector of {} integers", types.dim(first)),
            Param::Texel => texel(types, first).map_or_else(|| "a texel".into(), quoted),
            Param::Bindless => "a bindless array".into(),
            Param::Accel => "an acceleration structure".into(),
            Param::Query => "a ray query object".into(),
            Param::Dispatch => format!("`{DISPATCH_BUFFER}`"),
            Param::CoopVec => "a cooperative vector of this operation's length".into(),
            Param::CoopVecRef => "a reference to a cooperative vector".into(),
            Param::CoopMatRef => "a reference to a cooperative matrix".into(),
            Param::AtomicBase => "a buffer or variable".into(),
            Param::Chain => "indices".into(),
            Param::Components => "components".into(),
            Param::Columns => "columns".into(),
            _ => "anything".into(),
        }
    }

    pub(super) fn out_holds(&self, call: &Call<'_>) -> bool {
        let types = &self.library.types;
        let ty = call.result;
        if ty == TypeId::VOID && may_be_dropped(call.info) {
            return true;
        }
        match call.info.out {
            Out::T => true,
            Out::Any => !types.is_resource(ty) && !types.is_custom(ty),
            Out::Data => types.is_data(ty),
            Out::Integer => ty == TypeId::U32 || ty == TypeId::U64,
            Out::CoopVec => matches!(types.kind(ty), TypeKind::CoopVec { .. }),
            Out::Struct => shape_of_result(call.info.op).is_some_and(|shape| self.is(ty, shape)),
            Out::Query => types.is_custom_named(ty, query_of_result(call.info.op)),
            // Some recorders write the maker of halves where they mean floats, of any length: the type counts.
            Out::Vector2 | Out::Vector3 | Out::Vector4 if is_half_maker(call.info) => {
                types.is_vector(ty)
            }
            _ => self.exact_result(call) == Some(ty),
        }
    }

    /// The one type that a call can have, where the signature leaves no choice.
    fn exact_result(&self, call: &Call<'_>) -> Option<TypeId> {
        let types = &self.library.types;
        let first = self.first_type(call);
        let made = |dim| maker_scalar(call.info.op).map(|scalar| TypeId::vector(scalar, dim));
        match call.info.out {
            Out::Void => Some(TypeId::VOID),
            Out::First => Some(first),
            Out::ElemOfT => scalar_of(types, call.t),
            Out::BoolOfT => with_scalar(types, call.t, Scalar::Bool),
            Out::MatOfT => Some(TypeId::matrix(types.dim(call.t).max(2))),
            Out::Bool => Some(TypeId::BOOL),
            Out::Int => Some(TypeId::I32),
            Out::Uint => Some(TypeId::U32),
            Out::Ulong => Some(TypeId::U64),
            Out::Float => Some(TypeId::F32),
            Out::Uint2 => Some(TypeId::vector(Scalar::U32, 2)),
            Out::Uint3 => Some(TypeId::vector(Scalar::U32, 3)),
            Out::Uint4 => Some(TypeId::vector(Scalar::U32, 4)),
            Out::Float4 => Some(TypeId::vector(Scalar::F32, 4)),
            Out::Matrix2 => Some(TypeId::matrix(2)),
            Out::Matrix3 => Some(TypeId::matrix(3)),
            Out::Matrix4 => Some(TypeId::matrix(4)),
            Out::Vector2 => made(2),
            Out::Vector3 => made(3),
            Out::Vector4 => made(4),
            Out::BufferElem => buffer_element(types, first),
            Out::Texel => texel(types, first),
            Out::UintOfDim => Some(TypeId::vector(Scalar::U32, types.dim(first))),
            Out::Any
            | Out::Data
            | Out::T
            | Out::Integer
            | Out::Struct
            | Out::Query
            | Out::CoopVec => None,
        }
    }

    /// What a call yields, for a message.
    pub(super) fn expected_result(&self, call: &Call<'_>) -> String {
        if let Some(ty) = self.exact_result(call) {
            return if ty == TypeId::VOID {
                "nothing".into()
            } else {
                format!("`{}`", self.name(ty))
            };
        }
        match call.info.out {
            Out::Integer => "`uint` or `ulong`".into(),
            Out::Struct => format!("`{}`", shape_of_result(call.info.op).unwrap_or("struct")),
            Out::Query => format!("`{}`", query_of_result(call.info.op)),
            Out::CoopVec => "a cooperative vector".into(),
            _ => "data".into(),
        }
    }

    fn first_type(&self, call: &Call<'_>) -> TypeId {
        call.arguments.first().map_or(TypeId::VOID, |a| self.argument_type(*a))
    }

    fn is(&self, ty: TypeId, description: &str) -> bool {
        self.library.types.is_struct(ty) && self.library.types.description(ty) == description
    }

    /// A texture, of the dimensions that a sampling operation has in its name.
    fn is_texture_of(&self, ty: TypeId, op: CallOp) -> bool {
        match self.library.types.kind(ty) {
            TypeKind::Texture { dim, .. } => sampled_dim(op).is_none_or(|wanted| wanted == *dim),
            _ => false,
        }
    }

    /// A cooperative vector; for the operations on elements, of the first operand's length.
    fn is_coop_operand(&self, call: &Call<'_>, ty: TypeId) -> bool {
        let types = &self.library.types;
        let TypeKind::CoopVec { len, .. } = types.kind(ty) else { return false };
        match types.kind(self.first_type(call)) {
            TypeKind::CoopVec { len: first, .. } => first == len,
            _ => true,
        }
    }
}

/// The type that a parameter has in every call.
fn exact_param(param: Param) -> Option<TypeId> {
    match param {
        Param::Bool => Some(TypeId::BOOL),
        Param::Float => Some(TypeId::F32),
        Param::Float2 => Some(TypeId::vector(Scalar::F32, 2)),
        Param::Float3 => Some(TypeId::vector(Scalar::F32, 3)),
        Param::Matrix4 => Some(TypeId::matrix(4)),
        _ => None,
    }
}

/// Whether a call may be recorded without its value, because it is of use, or at least harmless, without.
fn may_be_dropped(info: &CallOpInfo) -> bool {
    use Group::{Atomic, Bindless, Buffer, SampledTexture, Texture};
    let group = matches!(info.group, Atomic | Bindless | Buffer | SampledTexture | Texture);
    (group && info.out != Out::Data) || info.op == CallOp::RayQueryProceed
}

fn buffer_element(types: &TypeTable, ty: TypeId) -> Option<TypeId> {
    match types.kind(ty) {
        TypeKind::Buffer { elem, .. } => Some(*elem),
        _ => None,
    }
}

fn texel(types: &TypeTable, texture: TypeId) -> Option<TypeId> {
    match types.kind(texture) {
        TypeKind::Texture { elem, .. } => Some(TypeId::vector(*elem, 4)),
        _ => None,
    }
}

fn scalar_of(types: &TypeTable, ty: TypeId) -> Option<TypeId> {
    types.scalar_of(ty).map(TypeId::scalar)
}

/// The dimensions that are part of a sampling operation's name.
fn sampled_dim(op: CallOp) -> Option<u8> {
    match op.name() {
        name if name.starts_with("TEXTURE2D_") => Some(2),
        name if name.starts_with("TEXTURE3D_") => Some(3),
        _ => None,
    }
}

fn is_half_maker(info: &CallOpInfo) -> bool {
    info.name.starts_with("MAKE_HALF")
}

/// The components that `MAKE_UINT3` and the like make.
fn maker_scalar(op: CallOp) -> Option<Scalar> {
    let word = op.name().strip_prefix("MAKE_")?.trim_end_matches(|c: char| c.is_ascii_digit());
    Scalar::from_name(&word.to_ascii_lowercase())
}

fn shape_of_result(op: CallOp) -> Option<&'static str> {
    match op {
        CallOp::RayTracingTraceClosest
        | CallOp::RayTracingTraceClosestMotionBlur
        | CallOp::RayQueryTriangleCandidateHit => Some(TRIANGLE_HIT),
        CallOp::RayQueryProceduralCandidateHit => Some(PROCEDURAL_HIT),
        CallOp::RayQueryCommittedHit => Some(COMMITTED_HIT),
        CallOp::RayQueryWorldSpaceRay | CallOp::RayQueryObjectSpaceRay => Some(RAY),
        CallOp::RayTracingInstanceMotionSrt => Some(MOTION_SRT),
        _ => None,
    }
}

fn query_of_result(op: CallOp) -> &'static str {
    match op {
        CallOp::RayTracingQueryAny | CallOp::RayTracingQueryAnyMotionBlur => QUERY_ANY,
        _ => QUERY_ALL,
    }
}

pub(super) fn class_holds(types: &TypeTable, class: Class, t: TypeId) -> bool {
    match class {
        Class::Any => true,
        Class::Data => types.is_data(t),
        Class::BoolN => types.is_bool(t) && types.is_scalar_or_vector(t),
        Class::Num => types.is_arithmetic(t),
        Class::NumVec => types.is_arithmetic(t) && types.is_vector(t),
        Class::Int => types.is_integer(t),
        Class::Float => types.is_float(t),
        Class::Float3 => types.is_float(t) && types.is_vector(t) && types.dim(t) == 3,
        Class::FloatVec => types.is_float(t) && types.is_vector(t),
        Class::Mat => types.is_matrix(t),
        Class::VecOrMat => types.is_matrix(t) || (types.is_float(t) && types.is_vector(t)),
        Class::ScalarOrVec => types.is_scalar_or_vector(t),
        Class::Basic => types.is_scalar_or_vector(t) || types.is_matrix(t),
    }
}
