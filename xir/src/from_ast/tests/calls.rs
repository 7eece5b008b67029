//! Calls of builtin operations.

use super::sketch::*;
use expect_test::{Expect, expect};
use luisac_ast::callops::CallOp;
use luisac_ast::model::VariableTag;
use luisac_ast::types::{Scalar, TypeId};

#[track_caller]
fn call(op: CallOp, args: &[TypeId], ty: TypeId, expected: Expect) {
    expected.assert_eq(&value(|k| {
        let args: Vec<_> = args.iter().map(|&t| k.value_arg(t)).collect();
        k.call(op, &args, ty)
    }));
}

#[test]
fn operands_are_brought_to_the_shape_that_the_rule_demands() {
    call(
        CallOp::Min,
        &[FLOAT3, FLOAT],
        FLOAT3,
        expect![[r#"
          %3: vector<f32, 3> = arithmetic aggregate %1, %1, %1
          %4: vector<f32, 3> = arithmetic min %0, %3
          resource_write buffer_write %2, u32 0, %4
    "#]],
    );
    call(
        CallOp::Clamp,
        &[UINT, INT, INT],
        UINT,
        expect![[r#"
          %4: u32 = cast static_cast %1
          %5: u32 = cast static_cast %2
          %6: u32 = arithmetic clamp %0, %4, %5
          resource_write buffer_write %3, u32 0, %6
    "#]],
    );
    call(
        CallOp::Lerp,
        &[FLOAT3, FLOAT, FLOAT],
        FLOAT3,
        expect![[r#"
          %4: vector<f32, 3> = arithmetic aggregate %1, %1, %1
          %5: vector<f32, 3> = arithmetic lerp %0, %4, %2
          resource_write buffer_write %3, u32 0, %5
    "#]],
    );
    call(
        CallOp::Step,
        &[FLOAT, FLOAT3],
        FLOAT3,
        expect![[r#"
          %3: vector<f32, 3> = arithmetic step %0, %1
          resource_write buffer_write %2, u32 0, %3
    "#]],
    );
    call(
        CallOp::Smoothstep,
        &[FLOAT, FLOAT3, FLOAT],
        FLOAT3,
        expect![[r#"
          %4: vector<f32, 3> = arithmetic aggregate %2, %2, %2
          %5: vector<f32, 3> = arithmetic smoothstep %0, %1, %4
          resource_write buffer_write %3, u32 0, %5
    "#]],
    );
    call(
        CallOp::Fma,
        &[HALF, FLOAT, FLOAT],
        FLOAT,
        expect![[r#"
          %4: f32 = cast static_cast %0
          %5: f32 = arithmetic fma %4, %1, %2
          resource_write buffer_write %3, u32 0, %5
    "#]],
    );
    call(
        CallOp::Select,
        &[FLOAT2, FLOAT2, BOOL],
        FLOAT2,
        expect![[r#"
          %4: vector<f32, 2> = arithmetic select %0, %1, %2
          resource_write buffer_write %3, u32 0, %4
    "#]],
    );
    call(
        CallOp::Abs,
        &[INT],
        INT,
        expect![[r#"
          %2: i32 = arithmetic abs %0
          resource_write buffer_write %1, u32 0, %2
    "#]],
    );
}

#[test]
fn a_power_of_an_integer_is_exact() {
    call(
        CallOp::Pow,
        &[FLOAT, INT],
        FLOAT,
        expect![[r#"
          %3: f32 = arithmetic pow_int %0, %1
          resource_write buffer_write %2, u32 0, %3
    "#]],
    );
    call(
        CallOp::Pow,
        &[FLOAT2, INT],
        FLOAT2,
        expect![[r#"
          %3: vector<f32, 2> = arithmetic pow_int %0, %1
          resource_write buffer_write %2, u32 0, %3
    "#]],
    );
    call(
        CallOp::Pow,
        &[FLOAT, FLOAT],
        FLOAT,
        expect![[r#"
          %3: f32 = arithmetic pow %0, %1
          resource_write buffer_write %2, u32 0, %3
    "#]],
    );
}

#[test]
fn reductions() {
    call(
        CallOp::All,
        &[BOOL2],
        BOOL,
        expect![[r#"
          %2: bool = arithmetic all %0
          resource_write buffer_write %1, u32 0, %2
    "#]],
    );
    call(
        CallOp::Any,
        &[BOOL],
        BOOL,
        expect![[r#"
          resource_write buffer_write %1, u32 0, %0
    "#]],
    );
    call(
        CallOp::Dot,
        &[FLOAT3, FLOAT3],
        FLOAT,
        expect![[r#"
          %3: f32 = arithmetic dot %0, %1
          resource_write buffer_write %2, u32 0, %3
    "#]],
    );
    call(
        CallOp::Dot,
        &[UINT2, UINT2],
        UINT,
        expect![[r#"
          %3: vector<u32, 2> = arithmetic binary_mul %0, %1
          %4: u32 = arithmetic reduce_sum %3
          resource_write buffer_write %2, u32 0, %4
    "#]],
    );
    call(
        CallOp::ReduceMax,
        &[INT2],
        INT,
        expect![[r#"
          %2: i32 = arithmetic reduce_max %0
          resource_write buffer_write %1, u32 0, %2
    "#]],
    );
}

#[test]
fn wave_operations() {
    call(
        CallOp::WarpActiveCountBits,
        &[INT],
        UINT,
        expect![[r#"
          %2: bool = cast static_cast %0
          %3: u32 = thread_group warp_active_count_bits %2
          resource_write buffer_write %1, u32 0, %3
    "#]],
    );
    call(
        CallOp::WarpReadLane,
        &[FLOAT2, INT],
        FLOAT2,
        expect![[r#"
          %3: u32 = cast static_cast %1
          %4: vector<f32, 2> = thread_group warp_read_lane %0, %3
          resource_write buffer_write %2, u32 0, %4
    "#]],
    );
    call(
        CallOp::WarpActiveAllEqual,
        &[FLOAT2],
        BOOL2,
        expect![[r#"
          %2: vector<bool, 2> = thread_group warp_active_all_equal %0
          resource_write buffer_write %1, u32 0, %2
    "#]],
    );
    call(
        CallOp::WarpPrefixSum,
        &[UINT],
        UINT,
        expect![[r#"
          %2: u32 = thread_group warp_prefix_sum %0
          resource_write buffer_write %1, u32 0, %2
    "#]],
    );
}

#[test]
fn constants_of_a_type() {
    call(
        CallOp::One,
        &[],
        FLOAT3,
        expect![[r#"
          resource_write buffer_write %0, u32 0, const vector<f32, 3>(1.0, 1.0, 1.0)
    "#]],
    );
    call(
        CallOp::Zero,
        &[],
        MAT2,
        expect![[r#"
          resource_write buffer_write %0, u32 0, const matrix<f32, 2> zero
    "#]],
    );
    call(
        CallOp::One,
        &[],
        HALF,
        expect![[r#"
          resource_write buffer_write %0, u32 0, f16 1.0
    "#]],
    );
    call(
        CallOp::Undefined,
        &[],
        UINT,
        expect![[r#"
          resource_write buffer_write %0, u32 0, undef u32
    "#]],
    );
    call(
        CallOp::Clock,
        &[],
        ULONG,
        expect![[r#"
          %1: u64 = clock
          resource_write buffer_write %0, u32 0, %1
    "#]],
    );
}

#[test]
fn buffers_and_images() {
    expect![[r#"
        kernel @k block(32, 1, 1) (%0: resource texture2d<f32>, %1: resource texture3d<u32>, %2: resource buffer<void>, %3: value vector<i32, 2>, %4: resource buffer<vector<f32, 2>>) {
        b0:
          %5: vector<u32, 3> = resource_query texture3d_size %1
          %6: vector<u32, 4> = resource_read texture3d_read %1, %5
          %7: vector<u32, 2> = cast static_cast %3
          %8: vector<f32, 4> = cast static_cast %6
          resource_write texture2d_write %0, %7, %8
          %9: u64 = resource_query byte_buffer_size %2
          %10: vector<f32, 2> = resource_read byte_buffer_read %2, %9
          resource_write buffer_write %4, u32 0, %10
          return
        }
    "#]].assert_eq(&xir(|k| {
        let volume = k.library.types.texture(3, Scalar::U32).expect("a texture");
        let image = k.library.types.texture(2, Scalar::F32).expect("a texture");
        let (image, volume) =
            (k.arg(VariableTag::Texture, image), k.arg(VariableTag::Texture, volume));
        let (bytes, at) = (k.buffer(VOID), k.value_arg(INT2));
        let size = k.call(CallOp::TextureSize, &[volume], UINT3);
        let texel = k.call(CallOp::TextureRead, &[volume, size], TypeId::vector(Scalar::U32, 4));
        let write = k.call(CallOp::TextureWrite, &[image, at, texel], VOID);
        let length = k.call(CallOp::BufferSize, &[bytes], ULONG);
        let long = k.call(CallOp::ByteBufferRead, &[bytes, length], FLOAT2);
        let kept = k.keep(long);
        vec![k.effect(write), kept]
    }));
}

#[test]
fn families_of_bindless_operations_become_attributes() {
    let read = |op| {
        value(|k| {
            let array =
                k.library.types.intern(luisac_ast::TypeKind::BindlessArray).expect("a type");
            let (array, slot) = (k.arg(VariableTag::BindlessArray, array), k.value_arg(INT));
            k.call(op, &[array, slot, slot], FLOAT)
        })
    };
    expect![[r#"
          %3: u32 = cast static_cast %1
          %4: f32 = resource_read bindless_buffer_read %0, %3, %1
          resource_write buffer_write %2, u32 0, %4
    "#]]
    .assert_eq(&read(CallOp::BindlessBufferRead));
    expect![[r#"
          %3: u32 = cast static_cast %1
          %4: f32 = resource_read bindless_buffer_read [typed, uniform] %0, %3, %1
          resource_write buffer_write %2, u32 0, %4
    "#]]
    .assert_eq(&read(CallOp::TypedUniformBindlessBufferRead));
}

#[test]
fn hints_leave_nothing() {
    expect![[r#"
        kernel @k block(32, 1, 1) () {
        b0:
          thread_group synchronize_block
          return
        }
    "#]]
    .assert_eq(&xir(|k| {
        let (a, b) =
            (k.call(CallOp::Flatten, &[], VOID), k.call(CallOp::SynchronizeBlock, &[], VOID));
        vec![k.effect(a), k.effect(b)]
    }));
}
