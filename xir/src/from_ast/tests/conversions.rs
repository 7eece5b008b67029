//! Implicit conversions and operators.

use super::sketch::*;
use expect_test::{Expect, expect};
use luisac_ast::callops::CallOp;
use luisac_ast::model::{BinaryOp, CastOp, UnaryOp, VariableTag};
use luisac_ast::types::{Scalar, TypeId};

#[track_caller]
fn binary(op: BinaryOp, left: TypeId, right: TypeId, ty: TypeId, expected: Expect) {
    expected.assert_eq(&value(|k| {
        let (a, b) = (k.value_arg(left), k.value_arg(right));
        k.binary(op, a, b, ty)
    }));
}

#[test]
fn mixed_operands_take_the_higher_rank() {
    binary(
        BinaryOp::Add,
        INT,
        ULONG,
        ULONG,
        expect![[r#"
          %3: u64 = cast static_cast %0
          %4: u64 = arithmetic binary_add %3, %1
          resource_write buffer_write %2, u32 0, %4
    "#]],
    );
    binary(
        BinaryOp::Less,
        INT,
        UINT,
        BOOL,
        expect![[r#"
          %3: u32 = cast static_cast %0
          %4: bool = arithmetic binary_less %3, %1
          resource_write buffer_write %2, u32 0, %4
    "#]],
    );
    binary(
        BinaryOp::Less,
        SHORT,
        USHORT,
        BOOL,
        expect![[r#"
          %3: u16 = cast static_cast %0
          %4: bool = arithmetic binary_less %3, %1
          resource_write buffer_write %2, u32 0, %4
    "#]],
    );
    binary(
        BinaryOp::Equal,
        BOOL,
        INT,
        BOOL,
        expect![[r#"
          %3: i32 = cast static_cast %0
          %4: bool = arithmetic binary_equal %3, %1
          resource_write buffer_write %2, u32 0, %4
    "#]],
    );
    binary(
        BinaryOp::Mul,
        FLOAT3,
        FLOAT,
        FLOAT3,
        expect![[r#"
          %3: vector<f32, 3> = arithmetic aggregate %1, %1, %1
          %4: vector<f32, 3> = arithmetic binary_mul %0, %3
          resource_write buffer_write %2, u32 0, %4
    "#]],
    );
    binary(
        BinaryOp::Less,
        UINT2,
        INT,
        BOOL2,
        expect![[r#"
          %3: u32 = cast static_cast %1
          %4: vector<u32, 2> = arithmetic aggregate %3, %3
          %5: vector<bool, 2> = arithmetic binary_less %0, %4
          resource_write buffer_write %2, u32 0, %5
    "#]],
    );
}

#[test]
fn the_recorded_type_decides_arithmetic() {
    binary(
        BinaryOp::Add,
        SHORT,
        SHORT,
        INT,
        expect![[r#"
          %3: i32 = cast static_cast %0
          %4: i32 = cast static_cast %1
          %5: i32 = arithmetic binary_add %3, %4
          resource_write buffer_write %2, u32 0, %5
    "#]],
    );
    binary(
        BinaryOp::Add,
        BOOL,
        BOOL,
        BOOL,
        expect![[r#"
          %3: i32 = cast static_cast %0
          %4: i32 = cast static_cast %1
          %5: i32 = arithmetic binary_add %3, %4
          %6: bool = cast static_cast %5
          resource_write buffer_write %2, u32 0, %6
    "#]],
    );
}

#[test]
fn shifts_keep_the_type_of_the_amount() {
    binary(
        BinaryOp::Shl,
        INT,
        ULONG,
        INT,
        expect![[r#"
          %3: i32 = arithmetic binary_shift_left %0, %1
          resource_write buffer_write %2, u32 0, %3
    "#]],
    );
    binary(
        BinaryOp::Shr,
        UINT2,
        INT,
        UINT2,
        expect![[r#"
          %3: vector<i32, 2> = arithmetic aggregate %1, %1
          %4: vector<u32, 2> = arithmetic binary_shift_right %0, %3
          resource_write buffer_write %2, u32 0, %4
    "#]],
    );
    binary(
        BinaryOp::Shl,
        UINT,
        BOOL,
        UINT,
        expect![[r#"
          %3: u32 = cast static_cast %1
          %4: u32 = arithmetic binary_shift_left %0, %3
          resource_write buffer_write %2, u32 0, %4
    "#]],
    );
}

#[test]
fn logic_is_on_truth_values() {
    binary(
        BinaryOp::And,
        BOOL2,
        BOOL,
        BOOL2,
        expect![[r#"
          %3: vector<bool, 2> = arithmetic aggregate %1, %1
          %4: vector<bool, 2> = arithmetic binary_bit_and %0, %3
          resource_write buffer_write %2, u32 0, %4
    "#]],
    );
    binary(
        BinaryOp::BitXor,
        BOOL,
        BOOL,
        BOOL,
        expect![[r#"
          %3: bool = arithmetic binary_bit_xor %0, %1
          resource_write buffer_write %2, u32 0, %3
    "#]],
    );
}

#[test]
fn matrices_multiply_as_matrices() {
    binary(
        BinaryOp::Mul,
        MAT2,
        MAT2,
        MAT2,
        expect![[r#"
          %3: matrix<f32, 2> = arithmetic matrix_linalg_mul %0, %1
          resource_write buffer_write %2, u32 0, %3
    "#]],
    );
    binary(
        BinaryOp::Mul,
        MAT2,
        FLOAT2,
        FLOAT2,
        expect![[r#"
          %3: vector<f32, 2> = arithmetic matrix_linalg_mul %0, %1
          resource_write buffer_write %2, u32 0, %3
    "#]],
    );
    binary(
        BinaryOp::Mul,
        FLOAT2,
        MAT2,
        FLOAT2,
        expect![[r#"
          %3: vector<f32, 2> = arithmetic matrix_linalg_mul %0, %1
          resource_write buffer_write %2, u32 0, %3
    "#]],
    );
    binary(
        BinaryOp::Mul,
        INT,
        MAT2,
        MAT2,
        expect![[r#"
          %3: f32 = cast static_cast %0
          %4: matrix<f32, 2> = arithmetic matrix_comp_mul %3, %1
          resource_write buffer_write %2, u32 0, %4
    "#]],
    );
    binary(
        BinaryOp::Div,
        MAT2,
        FLOAT,
        MAT2,
        expect![[r#"
          %3: matrix<f32, 2> = arithmetic matrix_comp_div %0, %1
          resource_write buffer_write %2, u32 0, %3
    "#]],
    );
    binary(
        BinaryOp::Sub,
        MAT2,
        MAT2,
        MAT2,
        expect![[r#"
          %3: matrix<f32, 2> = arithmetic matrix_comp_sub %0, %1
          resource_write buffer_write %2, u32 0, %3
    "#]],
    );
}

#[track_caller]
fn unary(op: UnaryOp, from: TypeId, ty: TypeId, expected: Expect) {
    expected.assert_eq(&value(|k| {
        let a = k.value_arg(from);
        k.unary(op, a, ty)
    }));
}

#[test]
fn unary_operators() {
    unary(
        UnaryOp::Plus,
        INT,
        INT,
        expect![[r#"
          resource_write buffer_write %1, u32 0, %0
    "#]],
    );
    unary(
        UnaryOp::Minus,
        SHORT,
        INT,
        expect![[r#"
          %2: i32 = cast static_cast %0
          %3: i32 = arithmetic unary_minus %2
          resource_write buffer_write %1, u32 0, %3
    "#]],
    );
    unary(
        UnaryOp::Minus,
        MAT2,
        MAT2,
        expect![[r#"
          %2: matrix<f32, 2> = arithmetic matrix_comp_neg %0
          resource_write buffer_write %1, u32 0, %2
    "#]],
    );
    unary(
        UnaryOp::Not,
        INT,
        BOOL,
        expect![[r#"
          %2: bool = cast static_cast %0
          %3: bool = arithmetic unary_bit_not %2
          resource_write buffer_write %1, u32 0, %3
    "#]],
    );
    unary(
        UnaryOp::BitNot,
        UINT2,
        UINT2,
        expect![[r#"
          %2: vector<u32, 2> = arithmetic unary_bit_not %0
          resource_write buffer_write %1, u32 0, %2
    "#]],
    );
    unary(
        UnaryOp::BitNot,
        BOOL,
        BOOL,
        expect![[r#"
          %2: bool = arithmetic unary_bit_not %0
          resource_write buffer_write %1, u32 0, %2
    "#]],
    );
}

#[track_caller]
fn cast(op: CastOp, from: TypeId, ty: TypeId, expected: Expect) {
    expected.assert_eq(&value(|k| {
        let a = k.value_arg(from);
        k.cast(op, a, ty)
    }));
}

#[test]
fn casts() {
    cast(
        CastOp::Static,
        FLOAT,
        BOOL,
        expect![[r#"
          %2: bool = cast static_cast %0
          resource_write buffer_write %1, u32 0, %2
    "#]],
    );
    cast(
        CastOp::Static,
        FLOAT3,
        INT2,
        expect![[r#"
          %2: vector<f32, 2> = arithmetic shuffle %0, u32 0, u32 1
          %3: vector<i32, 2> = cast static_cast %2
          resource_write buffer_write %1, u32 0, %3
    "#]],
    );
    cast(
        CastOp::Static,
        INT,
        FLOAT2,
        expect![[r#"
          %2: f32 = cast static_cast %0
          %3: vector<f32, 2> = arithmetic aggregate %2, %2
          resource_write buffer_write %1, u32 0, %3
    "#]],
    );
    cast(
        CastOp::Bitwise,
        FLOAT,
        UINT,
        expect![[r#"
          %2: u32 = cast bitwise_cast %0
          resource_write buffer_write %1, u32 0, %2
    "#]],
    );
    cast(
        CastOp::Bitwise,
        UINT,
        UINT,
        expect![[r#"
          resource_write buffer_write %1, u32 0, %0
    "#]],
    );
    cast(
        CastOp::Bitwise,
        UINT,
        TypeId::vector(Scalar::Bool, 4),
        expect![[r#"
          %2: vector<u8, 4> = cast bitwise_cast %0
          %3: vector<bool, 4> = cast static_cast %2
          resource_write buffer_write %1, u32 0, %3
    "#]],
    );
    cast(
        CastOp::Bitwise,
        TypeId::vector(Scalar::Bool, 4),
        UINT,
        expect![[r#"
          %2: vector<u8, 4> = cast static_cast %0
          %3: u32 = cast bitwise_cast %2
          resource_write buffer_write %1, u32 0, %3
    "#]],
    );
}

#[test]
fn a_broadcast_constant_is_a_constant() {
    expect![[r#"
          %2: vector<f32, 3> = arithmetic binary_mul %0, const vector<f32, 3>(2.0, 2.0, 2.0)
          resource_write buffer_write %1, u32 0, %2
    "#]]
    .assert_eq(&value(|k| {
        let (a, two) = (k.value_arg(FLOAT3), k.float(2.0));
        k.binary(BinaryOp::Mul, a, two, FLOAT3)
    }));
}

#[test]
fn assignments_convert_scalars() {
    expect![[r#"
        kernel @k block(32, 1, 1) (%0: value i32, %1: resource buffer<i64>) {
        b0:
          %2: i64 = alloca local
          %3: i64 = cast static_cast %0
          store %2, %3
          %4: i64 = load %2
          resource_write buffer_write %1, u32 0, %4
          return
        }
    "#]]
    .assert_eq(&xir(|k| {
        let (a, v) = (k.value_arg(INT), k.local(LONG));
        let set = k.assign(v, a);
        let kept = k.keep(v);
        vec![set, kept]
    }));
}

#[test]
fn kernel_id_is_a_scalar_whatever_was_recorded() {
    expect![[r#"
        kernel @k block(32, 1, 1) (%0: resource buffer<u32>) {
        b0:
          %1: u32 = alloca local
          store %1, kernel_id
          %2: vector<u32, 3> = arithmetic aggregate kernel_id, kernel_id, kernel_id
          %3: u32 = arithmetic extract %2, u32 1
          store %1, %3
          %4: u32 = load %1
          resource_write buffer_write %0, u32 0, %4
          return
        }
    "#]]
    .assert_eq(&xir(|k| {
        let (id, v) = (k.builtin(VariableTag::KernelId, UINT3), k.local(UINT));
        let y = k.swizzle(id, "y", UINT);
        let (a, b) = (k.assign(v, id), k.assign(v, y));
        let kept = k.keep(v);
        vec![a, b, kept]
    }));
}

#[test]
fn makers_flatten_convert_truncate_and_trust_the_type() {
    let make = |args: &[TypeId], op: CallOp, ty: TypeId| {
        value(|k| {
            let args: Vec<_> = args.iter().map(|&t| k.value_arg(t)).collect();
            k.call(op, &args, ty)
        })
    };
    expect![[r#"
          %3: vector<f32, 2> = cast static_cast %0
          %4: f32 = arithmetic extract %3, u32 0
          %5: f32 = arithmetic extract %3, u32 1
          %6: vector<f32, 3> = arithmetic aggregate %4, %5, %1
          resource_write buffer_write %2, u32 0, %6
    "#]]
    .assert_eq(&make(&[INT2, FLOAT], CallOp::MakeFloat3, FLOAT3));
    expect![[r#"
          %2: vector<f32, 2> = arithmetic shuffle %0, u32 0, u32 1
          resource_write buffer_write %1, u32 0, %2
    "#]]
    .assert_eq(&make(&[FLOAT4], CallOp::MakeFloat2, FLOAT2));
    expect![[r#"
          %2: vector<f32, 2> = arithmetic aggregate %0, %0
          resource_write buffer_write %1, u32 0, %2
    "#]]
    .assert_eq(&make(&[FLOAT], CallOp::MakeHalf2, FLOAT2));
    expect![[r#"
          %3: matrix<f32, 2> = arithmetic aggregate %0, %1
          resource_write buffer_write %2, u32 0, %3
    "#]]
    .assert_eq(&make(&[FLOAT2, FLOAT2], CallOp::MakeFloat2x2, MAT2));
    expect![[r#"
          %2: f32 = arithmetic extract %0, u32 0, u32 0
          %3: f32 = arithmetic extract %0, u32 0, u32 1
          %4: vector<f32, 3> = arithmetic aggregate %2, %3, f32 0.0
          %5: f32 = arithmetic extract %0, u32 1, u32 0
          %6: f32 = arithmetic extract %0, u32 1, u32 1
          %7: vector<f32, 3> = arithmetic aggregate %5, %6, f32 0.0
          %8: vector<f32, 3> = arithmetic aggregate f32 0.0, f32 0.0, f32 1.0
          %9: matrix<f32, 3> = arithmetic aggregate %4, %7, %8
          resource_write buffer_write %1, u32 0, %9
    "#]]
    .assert_eq(&make(&[MAT2], CallOp::MakeFloat3x3, TypeId::matrix(3)));
}
