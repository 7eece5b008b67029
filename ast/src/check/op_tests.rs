//! Every operation by `callops.md`: one call that is right, and the nearest that are wrong.
//!
//! A row is `NAME argument ... -> result`. From it follow the wrong calls: an argument too few or too many, each
//! argument and the result of the nearest other type, and for what is written (`&`) a value instead of a variable.
//! `?` before an argument marks those that may be left out together.

use std::collections::BTreeSet;

use super::{check, codes};
use crate::callops::CallOp;
use crate::diagnostic::Code;
use crate::model::{
    Callee, CurveBases, Expr, ExprId, ExprKind, Function, FunctionTag, Library, Stmt, Usage,
    Variable, VariableTag,
};
use crate::types::{Scalar, TypeId, TypeKind, TypeTable};

/// All operations but CUSTOM, EXTERNAL and the bindless families, which [`BINDLESS`] has.
const ROWS: &str = "
ALL bool3 -> bool
ANY bool -> bool
SELECT float3 float3 bool3 -> float3
SELECT array<int,4> array<int,4> bool -> array<int,4>
CLAMP int2 int2 int2 -> int2
SATURATE half -> half
LERP float3 float3 float -> float3
SMOOTHSTEP float float float3 -> float3
STEP double double -> double
ABS int -> int
MIN uint4 uint4 -> uint4
MAX float float -> float
CLZ uint -> uint
CTZ ulong -> ulong
POPCOUNT uint2 -> uint2
REVERSE uint -> uint
ISINF float3 -> bool3
ISNAN half -> bool
ACOS float -> float
ACOSH float2 -> float2
ASIN float -> float
ASINH float -> float
ATAN float4 -> float4
ATAN2 float2 float2 -> float2
ATANH half -> half
COS float -> float
COSH float -> float
SIN double -> double
SINH float -> float
TAN float -> float
TANH float -> float
EXP float -> float
EXP2 float3 -> float3
EXP10 float -> float
LOG float -> float
LOG2 float -> float
LOG10 float -> float
POW float3 float3 -> float3
POW float int -> float
SQRT float -> float
RSQRT float -> float
CEIL float -> float
FLOOR float2 -> float2
FRACT float -> float
TRUNC float -> float
ROUND half3 -> half3
FMA float float float -> float
COPYSIGN float float -> float
CROSS float3 float3 -> float3
DOT float3 float3 -> float
DOT int4 int4 -> int
LENGTH half2 -> half
LENGTH_SQUARED float4 -> float
NORMALIZE float3 -> float3
FACEFORWARD float3 float3 float3 -> float3
REFLECT float2 float2 -> float2
REDUCE_SUM int3 -> int
REDUCE_PRODUCT float2 -> float
REDUCE_MIN uint4 -> uint
REDUCE_MAX float3 -> float
OUTER_PRODUCT float3 float3 -> float3x3
OUTER_PRODUCT float2x2 float2x2 -> float2x2
MATRIX_COMPONENT_WISE_MULTIPLICATION float4x4 float4x4 -> float4x4
DETERMINANT float3x3 -> float
TRANSPOSE float2x2 -> float2x2
INVERSE float4x4 -> float4x4
SYNCHRONIZE_BLOCK -> void
ATOMIC_EXCHANGE buffer<uint> uint uint -> uint
ATOMIC_EXCHANGE &array<float,8> uint float -> float
ATOMIC_COMPARE_EXCHANGE buffer<long> uint long long -> long
ATOMIC_FETCH_ADD buffer<array<float,4>> uint uint float -> float
ATOMIC_FETCH_SUB buffer<float4> ulong int float -> float
ATOMIC_FETCH_AND buffer<uint> uint uint -> uint
ATOMIC_FETCH_OR buffer<int> uint int -> int
ATOMIC_FETCH_XOR &array<uint,4> int uint -> uint
ATOMIC_FETCH_MIN buffer<int> uint int -> int
ATOMIC_FETCH_MAX buffer<float> uint float -> float
BUFFER_VOLATILE_READ buffer<float3> uint -> float3
BUFFER_VOLATILE_WRITE buffer<float3> uint float3 -> void
ADDRESS_OF float4 -> ulong
BUFFER_READ buffer<float> uint -> float
BUFFER_READ buffer<struct<8,uint,half>> ulong -> struct<8,uint,half>
BUFFER_WRITE buffer<uint> int uint -> void
BUFFER_SIZE buffer<float4> -> uint
BUFFER_ADDRESS buffer<void> -> ulong
BYTE_BUFFER_READ buffer<void> uint -> float3
BYTE_BUFFER_VOLATILE_READ buffer<void> uint -> uint
BYTE_BUFFER_WRITE buffer<void> uint float3 -> void
BYTE_BUFFER_VOLATILE_WRITE buffer<void> uint half -> void
BYTE_BUFFER_SIZE buffer<void> -> ulong
TEXTURE_READ texture<2,float> uint2 -> float4
TEXTURE_READ texture<3,int> uint3 -> int4
TEXTURE_WRITE texture<2,uint> uint2 uint4 -> void
TEXTURE_SIZE texture<3,float> -> uint3
MAKE_BOOL2 bool bool -> bool2
MAKE_BOOL3 bool2 bool -> bool3
MAKE_BOOL4 bool bool bool bool -> bool4
MAKE_INT2 float uint -> int2
MAKE_INT3 int2 int -> int3
MAKE_INT4 int2 int2 -> int4
MAKE_UINT2 uint uint -> uint2
MAKE_UINT3 uint uint2 -> uint3
MAKE_UINT4 uint3 uint -> uint4
MAKE_FLOAT2 float float -> float2
MAKE_FLOAT3 float2 float -> float3
MAKE_FLOAT4 float2 float2 -> float4
MAKE_SHORT2 short short -> short2
MAKE_SHORT3 short short2 -> short3
MAKE_SHORT4 short short short2 -> short4
MAKE_USHORT2 ushort ushort -> ushort2
MAKE_USHORT3 ushort ushort2 -> ushort3
MAKE_USHORT4 ushort2 ushort2 -> ushort4
MAKE_LONG2 long long -> long2
MAKE_LONG3 long long2 -> long3
MAKE_LONG4 long2 long2 -> long4
MAKE_ULONG2 ulong ulong -> ulong2
MAKE_ULONG3 ulong ulong2 -> ulong3
MAKE_ULONG4 ulong2 ulong2 -> ulong4
MAKE_HALF2 half half -> half2
MAKE_HALF3 half half2 -> half3
MAKE_HALF4 half2 half2 -> half4
MAKE_DOUBLE2 double double -> double2
MAKE_DOUBLE3 double double2 -> double3
MAKE_DOUBLE4 double2 double2 -> double4
MAKE_BYTE2 byte byte -> byte2
MAKE_BYTE3 byte byte2 -> byte3
MAKE_BYTE4 byte2 byte2 -> byte4
MAKE_UBYTE2 ubyte ubyte -> ubyte2
MAKE_UBYTE3 ubyte ubyte2 -> ubyte3
MAKE_UBYTE4 ubyte2 ubyte2 -> ubyte4
MAKE_FLOAT2X2 float2 float2 -> float2x2
MAKE_FLOAT3X3 float3 float3 float3 -> float3x3
MAKE_FLOAT4X4 float4 float4 float4 float4 -> float4x4
ASSERT bool ?ulong -> void
ASSUME bool ?ulong -> void
UNREACHABLE ?ulong -> void
FLATTEN -> void
BRANCH -> void
FORCE_CASE -> void
ZERO -> float3x3
ONE -> float2
PACK struct<16,float3,bool> buffer<uint> uint -> void
UNPACK buffer<uint> uint -> struct<16,float3,bool>
REQUIRES_GRADIENT &float3 -> void
GRADIENT &float3 -> float3
GRADIENT_MARKER &float2 float2 -> void
ACCUMULATE_GRADIENT &float float -> void
BACKWARD ?float -> void
DETACH float -> float
RAY_TRACING_INSTANCE_TRANSFORM accel uint -> float4x4
RAY_TRACING_INSTANCE_USER_ID accel uint -> uint
RAY_TRACING_INSTANCE_VISIBILITY_MASK accel uint -> uint
RAY_TRACING_SET_INSTANCE_TRANSFORM accel uint float4x4 -> void
RAY_TRACING_SET_INSTANCE_VISIBILITY accel uint uint -> void
RAY_TRACING_SET_INSTANCE_OPACITY accel uint bool -> void
RAY_TRACING_SET_INSTANCE_USER_ID accel uint uint -> void
RAY_TRACING_TRACE_CLOSEST accel Ray uint -> TriangleHit
RAY_TRACING_TRACE_ANY accel Ray uint -> bool
RAY_TRACING_QUERY_ALL accel Ray uint -> LC_RayQueryAll
RAY_TRACING_QUERY_ANY accel Ray uint -> LC_RayQueryAny
RAY_TRACING_INSTANCE_MOTION_MATRIX accel uint uint -> float4x4
RAY_TRACING_INSTANCE_MOTION_SRT accel uint uint -> Srt
RAY_TRACING_SET_INSTANCE_MOTION_MATRIX accel uint uint float4x4 -> void
RAY_TRACING_SET_INSTANCE_MOTION_SRT accel uint uint Srt -> void
RAY_TRACING_TRACE_CLOSEST_MOTION_BLUR accel Ray float uint -> TriangleHit
RAY_TRACING_TRACE_ANY_MOTION_BLUR accel Ray float uint -> bool
RAY_TRACING_QUERY_ALL_MOTION_BLUR accel Ray float uint -> LC_RayQueryAll
RAY_TRACING_QUERY_ANY_MOTION_BLUR accel Ray float uint -> LC_RayQueryAny
RAY_QUERY_WORLD_SPACE_RAY LC_RayQueryAll -> Ray
RAY_QUERY_PROCEDURAL_CANDIDATE_HIT LC_RayQueryAll -> struct<4,uint,uint>
RAY_QUERY_TRIANGLE_CANDIDATE_HIT LC_RayQueryAny -> TriangleHit
RAY_QUERY_COMMITTED_HIT LC_RayQueryAny -> struct<8,uint,uint,vector<float,2>,uint,float>
RAY_QUERY_COMMIT_TRIANGLE LC_RayQueryAll -> void
RAY_QUERY_COMMIT_PROCEDURAL LC_RayQueryAll float -> void
RAY_QUERY_TERMINATE LC_RayQueryAll -> void
RAY_QUERY_PROCEED LC_RayQueryAll -> bool
RAY_QUERY_IS_TRIANGLE_CANDIDATE LC_RayQueryAll -> bool
RAY_QUERY_IS_PROCEDURAL_CANDIDATE LC_RayQueryAny -> bool
RASTER_DISCARD -> void
RASTER_SET_Z_DEPTH float -> void
RASTER_SET_Z_DEPTH_GREATER_EQUAL float -> void
RASTER_SET_Z_DEPTH_LESS_EQUAL float -> void
DDX float3 -> float3
DDY float -> float
WARP_IS_FIRST_ACTIVE_LANE -> bool
WARP_FIRST_ACTIVE_LANE -> uint
WARP_ACTIVE_ALL_EQUAL uint3 -> bool3
WARP_ACTIVE_BIT_AND int -> int
WARP_ACTIVE_BIT_OR uint2 -> uint2
WARP_ACTIVE_BIT_XOR uint -> uint
WARP_ACTIVE_COUNT_BITS bool -> uint
WARP_ACTIVE_MAX float -> float
WARP_ACTIVE_MIN uint -> uint
WARP_ACTIVE_PRODUCT float2 -> float2
WARP_ACTIVE_SUM int -> int
WARP_ACTIVE_ALL bool -> bool
WARP_ACTIVE_ANY bool -> bool
WARP_ACTIVE_BIT_MASK bool -> uint4
WARP_PREFIX_COUNT_BITS bool -> uint
WARP_PREFIX_SUM float -> float
WARP_PREFIX_PRODUCT int3 -> int3
WARP_READ_LANE float3x3 uint -> float3x3
WARP_READ_FIRST_ACTIVE_LANE uint -> uint
INDIRECT_SET_DISPATCH_KERNEL LC_IndirectDispatchBuffer uint uint3 uint3 uint -> void
INDIRECT_SET_DISPATCH_COUNT LC_IndirectDispatchBuffer uint -> void
TEXTURE2D_SAMPLE texture<2,float> float2 uint uint -> float4
TEXTURE2D_SAMPLE_LEVEL texture<2,float> float2 float uint uint -> float4
TEXTURE2D_SAMPLE_GRAD texture<2,float> float2 float2 float2 uint uint -> float4
TEXTURE2D_SAMPLE_GRAD_LEVEL texture<2,float> float2 float2 float2 float uint uint -> float4
TEXTURE3D_SAMPLE texture<3,float> float3 uint uint -> float4
TEXTURE3D_SAMPLE_LEVEL texture<3,float> float3 float uint uint -> float4
TEXTURE3D_SAMPLE_GRAD texture<3,float> float3 float3 float3 uint uint -> float4
TEXTURE3D_SAMPLE_GRAD_LEVEL texture<3,float> float3 float3 float3 float uint uint -> float4
SHADER_EXECUTION_REORDER ?uint ?uint -> void
COOPERATIVE_MUL_ADD buffer<void> coopmat_ref<4,8,0> buffer<void> coopvec_ref<8,0> coopvec<half,4> -> coopvec<half,8>
COOPERATIVE_MUL buffer<void> coopmat_ref<4,8,0> coopvec<half,4> -> coopvec<half,8>
COOPERATIVE_OUTER_PRODUCT_ACCUMULATE buffer<void> coopmat_ref<4,8,0> coopvec<half,4> coopvec<half,8> -> void
COOPERATIVE_VECTOR_ACCUMULATE buffer<void> coopvec_ref<4,0> coopvec<half,4> -> void
COOPERATIVE_VECTOR_LOAD buffer<void> coopvec_ref<4,0> -> coopvec<half,4>
COOPERATIVE_VECTOR_STORE buffer<void> coopvec_ref<4,0> coopvec<half,4> -> void
COOPERATIVE_VECTOR_SPLAT half -> coopvec<half,4>
COOPERATIVE_VECTOR_CAST coopvec<float,4> -> coopvec<half,4>
BINDLESS_COOPERATIVE_MUL_ADD bindless_array uint coopmat_ref<4,8,0> uint coopvec_ref<8,0> coopvec<half,4> -> coopvec<half,8>
BINDLESS_COOPERATIVE_MUL bindless_array uint coopmat_ref<4,8,0> coopvec<half,4> -> coopvec<half,8>
BINDLESS_COOPERATIVE_VECTOR_LOAD bindless_array uint coopvec_ref<4,0> -> coopvec<half,4>
BINDLESS_COOPERATIVE_VECTOR_STORE bindless_array uint coopvec_ref<4,0> coopvec<half,4> -> void
TYPED_BINDLESS_COOPERATIVE_MUL_ADD bindless_array uint coopmat_ref<4,8,0> uint coopvec_ref<8,0> coopvec<half,4> -> coopvec<half,8>
TYPED_BINDLESS_COOPERATIVE_MUL bindless_array uint coopmat_ref<4,8,0> coopvec<half,4> -> coopvec<half,8>
TYPED_BINDLESS_COOPERATIVE_VECTOR_LOAD bindless_array uint coopvec_ref<4,0> -> coopvec<half,4>
TYPED_BINDLESS_COOPERATIVE_VECTOR_STORE bindless_array uint coopvec_ref<4,0> coopvec<half,4> -> void
COOPERATIVE_VECTOR_WORKGROUP_LOAD &array<half,64> uint -> coopvec<half,4>
COOPERATIVE_VECTOR_WORKGROUP_STORE &array<half,64> uint coopvec<half,4> -> void
COOPERATIVE_VECTOR_DOT coopvec<half,4> coopvec<half,4> -> half
ASYNC_COPY uint &array<float,4> &array<float,4> uint uint uint uint -> uint
PIPELINE_COMMIT -> void
PIPELINE_WAIT_PRIOR uint -> void
CLUSTER_LAUNCH_CONTROL_TRY_CANCEL &uint4 &ulong -> void
CLUSTER_LAUNCH_CONTROL_TRY_CANCEL_MULTICAST &uint4 &ulong -> void
CLUSTER_LAUNCH_CONTROL_QUERY_IS_CANCELED uint4 -> bool
CLUSTER_LAUNCH_CONTROL_QUERY_GET_CTAD_X uint4 -> int
CLUSTER_LAUNCH_CONTROL_QUERY_GET_CTAD_Y uint4 -> int
CLUSTER_LAUNCH_CONTROL_QUERY_GET_CTAD_Z uint4 -> int
MBARRIER_INIT &ulong uint -> void
MBARRIER_ARRIVE_EXPECT_TX &ulong uint -> void
MBARRIER_TRY_WAIT_PARITY &ulong int -> bool
FENCE_PROXY_ASYNC_ACQUIRE -> void
FENCE_PROXY_ASYNC_RELEASE -> void
CLOCK -> ulong
RINT float -> float
RAY_QUERY_OBJECT_SPACE_RAY LC_RayQueryAll -> Ray
UNDEFINED -> float3
";

/// The plain family; the others have a prefix.
const BINDLESS: &str = "
BINDLESS_TEXTURE2D_SAMPLE bindless_array uint float2 -> float4
BINDLESS_TEXTURE2D_SAMPLE_LEVEL bindless_array uint float2 float -> float4
BINDLESS_TEXTURE2D_SAMPLE_GRAD bindless_array uint float2 float2 float2 -> float4
BINDLESS_TEXTURE2D_SAMPLE_GRAD_LEVEL bindless_array uint float2 float2 float2 float -> float4
BINDLESS_TEXTURE3D_SAMPLE bindless_array uint float3 -> float4
BINDLESS_TEXTURE3D_SAMPLE_LEVEL bindless_array uint float3 float -> float4
BINDLESS_TEXTURE3D_SAMPLE_GRAD bindless_array uint float3 float3 float3 -> float4
BINDLESS_TEXTURE3D_SAMPLE_GRAD_LEVEL bindless_array uint float3 float3 float3 float -> float4
BINDLESS_TEXTURE2D_SAMPLE_SAMPLER bindless_array uint float2 uint uint -> float4
BINDLESS_TEXTURE2D_SAMPLE_LEVEL_SAMPLER bindless_array uint float2 float uint uint -> float4
BINDLESS_TEXTURE2D_SAMPLE_GRAD_SAMPLER bindless_array uint float2 float2 float2 uint uint -> float4
BINDLESS_TEXTURE2D_SAMPLE_GRAD_LEVEL_SAMPLER bindless_array uint float2 float2 float2 float uint uint -> float4
BINDLESS_TEXTURE3D_SAMPLE_SAMPLER bindless_array uint float3 uint uint -> float4
BINDLESS_TEXTURE3D_SAMPLE_LEVEL_SAMPLER bindless_array uint float3 float uint uint -> float4
BINDLESS_TEXTURE3D_SAMPLE_GRAD_SAMPLER bindless_array uint float3 float3 float3 uint uint -> float4
BINDLESS_TEXTURE3D_SAMPLE_GRAD_LEVEL_SAMPLER bindless_array uint float3 float3 float3 float uint uint -> float4
BINDLESS_TEXTURE2D_READ bindless_array uint uint2 -> float4
BINDLESS_TEXTURE3D_READ bindless_array uint uint3 -> float4
BINDLESS_TEXTURE2D_READ_LEVEL bindless_array uint uint2 uint -> float4
BINDLESS_TEXTURE3D_READ_LEVEL bindless_array uint uint3 uint -> float4
BINDLESS_TEXTURE2D_SIZE bindless_array uint -> uint2
BINDLESS_TEXTURE3D_SIZE bindless_array uint -> uint3
BINDLESS_TEXTURE2D_SIZE_LEVEL bindless_array uint uint -> uint2
BINDLESS_TEXTURE3D_SIZE_LEVEL bindless_array uint uint -> uint3
BINDLESS_BUFFER_READ bindless_array uint uint -> float4
BINDLESS_BUFFER_WRITE bindless_array uint uint float4 -> void
BINDLESS_BYTE_BUFFER_READ bindless_array uint uint -> uint
BINDLESS_BUFFER_SIZE bindless_array uint uint -> uint
BINDLESS_BUFFER_TYPE bindless_array uint -> ulong
BINDLESS_BUFFER_ADDRESS bindless_array uint -> ulong
";

/// Operations on the elements of cooperative vectors, with the number of operands.
const ELEMENTS: &[(usize, &str)] = &[
    (
        1,
        "ABS SIGN FLOOR CEIL FRACT TRUNC ROUND RINT SQRT RSQRT EXP2 EXP10 LOG2 LOG10 SATURATE ISINF ISNAN SIN COS TAN \
         ASIN ACOS SINH COSH ASINH ACOSH ATANH",
    ),
    (2, "POW STEP ADD SUB MUL DIV LESS LESS_EQUAL GREATER GREATER_EQUAL EQUAL NOT_EQUAL"),
    (3, "MIX LERP SMOOTHSTEP"),
];

fn rows() -> Vec<String> {
    let lines = |text: &str| {
        text.lines().filter(|l| !l.is_empty()).map(str::to_owned).collect::<Vec<String>>()
    };
    let mut rows = lines(ROWS);
    for prefix in ["", "UNIFORM_", "TYPED_UNIFORM_", "TYPED_"] {
        rows.extend(lines(BINDLESS).into_iter().map(|row| format!("{prefix}{row}")));
    }
    for (count, names) in ELEMENTS {
        let operands = " coopvec<half,4>".repeat(*count);
        rows.extend(
            names
                .split(' ')
                .map(|n| format!("COOPERATIVE_VECTOR_{n}{operands} -> coopvec<half,4>")),
        );
    }
    rows
}

fn ty(types: &mut TypeTable, word: &str) -> TypeId {
    let word = word.trim_start_matches(['&', '?']);
    let description = match word {
        "Ray" => "struct<16,array<float,3>,float,array<float,3>,float>",
        "TriangleHit" => "struct<8,uint,uint,vector<float,2>,float>",
        "Srt" => {
            "struct<16,array<float,3>,array<float,4>,array<float,3>,array<float,3>,array<float,3>>"
        }
        word => word,
    };
    for scalar in Scalar::ALL {
        for dim in 2..=4 {
            if description == format!("{}{dim}", scalar.name()) {
                return TypeId::vector(scalar, dim);
            }
        }
    }
    for dim in 2..=4 {
        if description == format!("float{dim}x{dim}") {
            return TypeId::matrix(dim);
        }
    }
    // Elements of buffers and members in the short form.
    let long = description
        .replace("float3", "vector<float,3>")
        .replace("float4", "vector<float,4>")
        .replace("vector<vector<float,3>", "vector<float,3>");
    types.parse(&long).unwrap_or_else(|e| panic!("{word}: {e}"))
}

/// The nearest type that a signature with `ty` in it must refuse.
fn near(types: &mut TypeTable, ty: TypeId) -> TypeId {
    match types.kind(ty).clone() {
        TypeKind::Scalar(Scalar::F32) => TypeId::vector(Scalar::F32, 2),
        TypeKind::Scalar(_) => TypeId::F32,
        TypeKind::Vector { elem, dim } => TypeId::vector(elem, if dim == 3 { 2 } else { 3 }),
        TypeKind::Matrix { dim } => TypeId::matrix(if dim == 3 { 2 } else { 3 }),
        TypeKind::Buffer { .. } => types.texture(2, Scalar::F32).expect("a texture"),
        TypeKind::Texture { .. } => types.buffer(TypeId::F32).expect("a buffer"),
        TypeKind::BindlessArray => types.intern(TypeKind::Accel).expect("accel"),
        TypeKind::Accel => types.intern(TypeKind::BindlessArray).expect("bindless"),
        TypeKind::Struct { .. } => types.structure(4, [TypeId::F32]).expect("a structure"),
        TypeKind::Void => TypeId::U32,
        _ => TypeId::U32,
    }
}

/// What a call is made of.
#[derive(Clone)]
struct Case {
    op: CallOp,
    arguments: Vec<TypeId>,
    /// Positions at which a value stands instead of a variable.
    values: BTreeSet<usize>,
    result: TypeId,
}

fn tag(types: &TypeTable, ty: TypeId) -> VariableTag {
    match types.kind(ty) {
        TypeKind::Buffer { .. } => VariableTag::Buffer,
        TypeKind::Texture { .. } => VariableTag::Texture,
        TypeKind::BindlessArray => VariableTag::BindlessArray,
        TypeKind::Accel => VariableTag::Accel,
        TypeKind::Custom(name) if name.contains("Dispatch") => VariableTag::Buffer,
        _ => VariableTag::Local,
    }
}

/// What is found in a kernel that evaluates the call. References of cooperative types cannot be variables: what that
/// says about the declaration is left out.
fn found(types: &TypeTable, case: &Case) -> Vec<Code> {
    let mut function = Function::new(FunctionTag::Kernel);
    function.block_size = [32, 1, 1];
    let mut arguments: Vec<ExprId> = Vec::new();
    for (i, &ty) in case.arguments.iter().enumerate() {
        let variable = Variable { tag: tag(types, ty), ty, usage: Usage::NONE, name: None };
        let variable = function.variables.push(variable);
        let mut expr = function.exprs.push(Expr { ty, kind: ExprKind::Ref(variable) });
        if case.values.contains(&i) {
            let kind = ExprKind::Cast { op: crate::model::CastOp::Static, source: expr };
            expr = function.exprs.push(Expr { ty, kind });
        }
        arguments.push(expr);
    }
    let arguments = function.add_exprs(&arguments);
    let kind = ExprKind::Call {
        op: case.op,
        curve_bases: CurveBases::default(),
        callee: Callee::Builtin,
        arguments,
    };
    let call = function.exprs.push(Expr { ty: case.result, kind });
    let stmt = function.stmts.push(Stmt::Expr(call));
    let list = function.add_stmts(&[stmt]);
    function.body = function.stmts.push(Stmt::Scope(list)).into();
    let mut library = Library { types: types.clone(), ..Library::new() };
    library.functions.push(function);
    let found = check(&library).0.into_iter().map(|d| d.code);
    found.filter(|c| *c != codes::VARIABLE_TYPE).collect()
}

struct Row {
    text: String,
    case: Case,
    written: Vec<usize>,
    optional: usize,
}

fn parse(types: &mut TypeTable, text: String) -> Row {
    let mut words = text.split(' ');
    let op = words.next().and_then(CallOp::from_name).unwrap_or_else(|| panic!("{text}"));
    let arguments: Vec<&str> = words.by_ref().take_while(|w| *w != "->").collect();
    let result = ty(types, words.next().unwrap_or_else(|| panic!("{text}")));
    let at = |mark: char| {
        arguments.iter().enumerate().filter(move |(_, w)| w.starts_with(mark)).map(|(i, _)| i)
    };
    let (written, optional) = (at('&').collect(), at('?').count());
    let arguments = arguments.iter().map(|w| ty(types, w)).collect();
    let case = Case { op, arguments, values: BTreeSet::new(), result };
    Row { text, case, written, optional }
}

/// Whether a signature takes any data in this place, so that only something else is wrong.
fn takes_any_data(op: CallOp, argument: usize) -> bool {
    match op {
        CallOp::AddressOf | CallOp::Pack | CallOp::Backward | CallOp::CooperativeVectorSplat => {
            argument == 0
        }
        CallOp::ByteBufferWrite | CallOp::ByteBufferVolatileWrite => argument == 2,
        CallOp::CooperativeVectorWorkgroupLoad | CallOp::CooperativeVectorWorkgroupStore => {
            argument == 0
        }
        CallOp::RequiresGradient
        | CallOp::MbarrierInit
        | CallOp::MbarrierArriveExpectTx
        | CallOp::MbarrierTryWaitParity => argument == 0,
        CallOp::AsyncCopy => argument == 1 || argument == 2,
        CallOp::ClusterLaunchControlTryCancel | CallOp::ClusterLaunchControlTryCancelMulticast => {
            true
        }
        op => {
            op.bindless().is_some_and(|(base, ..)| base == CallOp::BindlessBufferWrite)
                && argument == 3
        }
    }
}

fn yields_any_data(op: CallOp) -> bool {
    let base = op.bindless().map_or(op, |(base, ..)| base);
    matches!(
        base,
        CallOp::ByteBufferRead
            | CallOp::ByteBufferVolatileRead
            | CallOp::BindlessBufferRead
            | CallOp::BindlessByteBufferRead
            | CallOp::Zero
            | CallOp::One
            | CallOp::Undefined
            | CallOp::Unpack
            | CallOp::CooperativeVectorDot
            | CallOp::Unreachable
    )
}

#[test]
fn right_calls_are_accepted() {
    let mut types = TypeTable::new();
    for row in rows() {
        let row = parse(&mut types, row);
        assert_eq!(found(&types, &row.case), [], "{}", row.text);
        let mut short = row.case.clone();
        short.arguments.truncate(short.arguments.len() - row.optional);
        assert_eq!(found(&types, &short), [], "{} without what may be left out", row.text);
    }
}

/// A vector of the scalar.
fn like_vector(types: &TypeTable, ty: TypeId) -> TypeId {
    types.scalar_of(ty).map_or(ty, |scalar| TypeId::vector(scalar, 2))
}

/// The nearest type that an operation must refuse as this argument.
fn near_argument(types: &mut TypeTable, case: &Case, i: usize) -> TypeId {
    let ty = case.arguments[i];
    let like = |scalar| TypeId::vector(scalar, types.dim(ty));
    let is_maker = case.op.name().starts_with("MAKE_") && !case.op.name().contains('X');
    match case.op {
        op if takes_any_data(op, i) || is_maker => types.buffer(TypeId::F32).expect("a buffer"),
        // The type of the only operand does not show in the result's.
        CallOp::All | CallOp::Any => like(Scalar::F32),
        CallOp::Length | CallOp::LengthSquared | CallOp::Isnan | CallOp::Isinf => like(Scalar::I32),
        CallOp::ReduceSum | CallOp::ReduceProduct | CallOp::ReduceMin | CallOp::ReduceMax => {
            like(Scalar::Bool)
        }
        CallOp::Determinant => like(Scalar::F32),
        // What is stored is converted.
        CallOp::BufferWrite if i == 2 && types.is_scalar(ty) => like_vector(types, ty),
        // Any number may be an exponent.
        CallOp::Pow if i == 1 && types.is_scalar(ty) => TypeId::BOOL,
        _ => near(types, ty),
    }
}

#[test]
fn wrong_counts_are_refused() {
    let mut types = TypeTable::new();
    let mut accepted = Vec::new();
    // An atomic with an index too few or too many ends at something else.
    let of_atomics = [codes::ARGUMENT_COUNT, codes::ATOMIC, codes::ARGUMENT_TYPE];
    for row in rows() {
        let row = parse(&mut types, row);
        let all = &row.case.arguments;
        let required = all.len() - row.optional;
        let mut wrong = vec![[&all[..], &[TypeId::U32]].concat()];
        // One scalar fills a vector.
        let fills = row.case.op.name().starts_with("MAKE_") && all.len() == 2;
        if required > 0 && !fills {
            wrong.push(all[..required - 1].to_vec());
        }
        if row.optional == 2 {
            wrong.push(all[..required + 1].to_vec());
        }
        for arguments in wrong {
            let count = arguments.len();
            let found = found(&types, &Case { arguments, ..row.case.clone() });
            let fits = if row.case.op.is_atomic() {
                found.first().is_some_and(|c| of_atomics.contains(c))
            } else {
                found == [codes::ARGUMENT_COUNT]
            };
            if !fits {
                accepted.push(format!("{} with {count} arguments: {found:?}", row.text));
            }
        }
    }
    assert!(accepted.is_empty(), "{}", accepted.join("\n"));
}

#[test]
fn wrong_types_are_refused() {
    let mut types = TypeTable::new();
    let mut accepted = Vec::new();
    for row in rows() {
        let row = parse(&mut types, row);
        for i in 0..row.case.arguments.len() {
            let mut case = row.case.clone();
            case.arguments[i] = near_argument(&mut types, &case, i);
            if found(&types, &case).is_empty() {
                accepted.push(format!("{}: argument {i} of another type", row.text));
            }
        }
        let mut case = row.case.clone();
        // What yields any data cannot yield a resource. The type of a maker of halves may be that of floats.
        case.result = if yields_any_data(case.op) || case.op.name().starts_with("MAKE_HALF") {
            types.buffer(TypeId::F32).expect("a buffer")
        } else {
            near(&mut types, case.result)
        };
        if found(&types, &case).is_empty() {
            accepted.push(format!("{}: another result", row.text));
        }
    }
    assert!(accepted.is_empty(), "{}", accepted.join("\n"));
}

#[test]
fn values_cannot_be_written() {
    let mut types = TypeTable::new();
    for row in rows() {
        let row = parse(&mut types, row);
        for &i in &row.written {
            let case = Case { values: [i].into(), ..row.case.clone() };
            assert_eq!(found(&types, &case), [codes::ARGUMENT_WRITE], "{}: {i}", row.text);
        }
    }
}

#[test]
fn every_operation_has_a_row() {
    let mut types = TypeTable::new();
    let have: BTreeSet<CallOp> =
        rows().into_iter().map(|row| parse(&mut types, row).case.op).collect();
    let missing: Vec<CallOp> = CallOp::all()
        .filter(|op| !matches!(op, CallOp::Custom | CallOp::External) && !have.contains(op))
        .collect();
    assert_eq!(missing, []);
}
