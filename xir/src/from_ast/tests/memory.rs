//! Variables, chains, evaluation order.

use super::sketch::*;
use expect_test::expect;
use luisac_ast::callops::CallOp;
use luisac_ast::model::{BinaryOp, Stmt, VariableTag};

#[test]
fn an_argument_is_memory_only_if_assigned() {
    expect![[r#"
        kernel @k block(32, 1, 1) (%0: value i32, %1: value i32, %2: resource buffer<i32>) {
        b0:
          %3: i32 = alloca local
          store %3, %1
          %4: i32 = load %3
          %5: i32 = arithmetic binary_add %0, %4
          store %3, %5
          %6: i32 = load %3
          resource_write buffer_write %2, u32 0, %6
          return
        }
    "#]]
    .assert_eq(&xir(|k| {
        let (a, b) = (k.value_arg(INT), k.value_arg(INT));
        let sum = k.binary(BinaryOp::Add, a, b, INT);
        let set = k.assign(b, sum);
        let kept = k.keep(b);
        vec![set, kept]
    }));
}

#[test]
fn variables_that_nothing_uses_have_no_memory() {
    expect![[r#"
        kernel @k block(32, 1, 1) () {
        b0:
          return
        }
    "#]]
    .assert_eq(&xir(|k| {
        k.local(INT);
        let v = k.local(INT);
        let stop = k.stmt(Stmt::Return(None.into()));
        let one = k.int(1);
        let dead = k.assign(v, one);
        vec![stop, dead]
    }));
}

#[test]
fn a_chain_on_a_variable_is_one_gep() {
    expect![[r#"
        type T0 = struct<16, i32, array<vector<f32, 3>, 4>>;
        kernel @k block(32, 1, 1) (%0: value u32, %1: resource buffer<vector<f32, 2>>) {
        b0:
          %2: T0 = alloca local
          %3: f32 = gep %2, u32 1, %0, u32 1
          store %3, f32 1.0
          %4: vector<f32, 3> = gep %2, u32 1, %0
          %5: vector<f32, 3> = load %4
          %6: vector<f32, 2> = arithmetic shuffle %5, u32 2, u32 0
          resource_write buffer_write %1, u32 0, %6
          return
        }
    "#]]
    .assert_eq(&xir(|k| {
        let array = k.library.types.array(FLOAT3, 4).expect("an array");
        let ty = k.library.types.structure(16, [INT, array]).expect("a structure");
        let (v, i) = (k.local(ty), k.value_arg(UINT));
        let member = k.member(v, 1, array);
        let element = k.access(member, i, FLOAT3);
        let y = k.swizzle(element, "y", FLOAT);
        let one = k.float(1.0);
        let set = k.assign(y, one);
        let swizzled = k.swizzle(element, "zx", FLOAT2);
        let kept = k.keep(swizzled);
        vec![set, kept]
    }));
}

#[test]
fn a_chain_on_a_value_is_one_extract() {
    expect![[r#"
          %2: f32 = arithmetic extract const array<vector<f32, 2>, 2> zero, %0, u32 1
          resource_write buffer_write %1, u32 0, %2
    "#]]
    .assert_eq(&value(|k| {
        let array = k.library.types.array(FLOAT2, 2).expect("an array");
        let table = k.constant(array, &[0; 16]);
        let i = k.value_arg(INT);
        let element = k.access(table, i, FLOAT2);
        k.swizzle(element, "y", FLOAT)
    }));
}

#[test]
fn constants_lose_garbage_in_padding_and_truth_values() {
    expect![[r#"
          resource_write buffer_write %0, u32 0, const T0(true, 1)
    "#]]
    .assert_eq(&value(|k| {
        let ty = k.library.types.structure(4, [BOOL, UINT]).expect("a structure");
        k.constant(ty, &[2, 7, 7, 7, 1, 0, 0, 0])
    }));
}

#[test]
fn the_address_comes_after_the_right_side() {
    expect![[r#"
        callable @next(%0: reference u32) -> u32 {
        b0:
          %1: u32 = load %0
          %2: u32 = arithmetic binary_add %1, u32 1
          store %0, %2
          %3: u32 = load %0
          return %3
        }
        kernel @k block(32, 1, 1) () {
        b0:
          %0: u32 = alloca local
          %1: array<u32, 4> = alloca local
          %2: u32 = call @next(%0)
          %3: u32 = call @next(%0)
          %4: u32 = gep %1, %3
          store %4, %2
          return
        }
    "#]]
    .assert_eq(&xir(|k| {
        let n = k.arg(VariableTag::Reference, UINT);
        let one = k.uint(1);
        let sum = k.binary(BinaryOp::Add, n, one, UINT);
        let set = k.assign(n, sum);
        let back = k.stmt(Stmt::Return(Some(n).into()));
        let next = k.close_callable("next", UINT, &[set, back]);
        let array = k.library.types.array(UINT, 4).expect("an array");
        let (n, a) = (k.local(UINT), k.local(array));
        let left = k.call_function(next, &[n], UINT);
        let right = k.call_function(next, &[n], UINT);
        let element = k.access(a, left, UINT);
        vec![k.assign(element, right)]
    }));
}

#[test]
fn a_variable_assigned_to_itself_is_nothing() {
    expect![[r#"
        kernel @k block(32, 1, 1) () {
        b0:
          return
        }
    "#]]
    .assert_eq(&xir(|k| {
        let v = k.local(INT);
        vec![k.assign(v, v)]
    }));
}

#[test]
fn a_value_passed_by_reference_is_copied() {
    expect![[r#"
        callable @f(%0: reference u32) {
        b0:
          store %0, u32 1
          return
        }
        kernel @k block(32, 1, 1) () {
        b0:
          %0: u32 = alloca local
          store %0, u32 7
          call @f(%0)
          return
        }
    "#]]
    .assert_eq(&xir(|k| {
        let v = k.arg(VariableTag::Reference, UINT);
        let one = k.uint(1);
        let set = k.assign(v, one);
        let f = k.close_callable("f", VOID, &[set]);
        let seven = k.uint(7);
        let call = k.call_function(f, &[seven], VOID);
        vec![k.effect(call)]
    }));
}

#[test]
fn atomics_take_their_chain_as_operands() {
    expect![[r#"
        type T0 = struct<4, u32, f32>;
        kernel @k block(32, 1, 1) (%0: resource buffer<T0>, %1: value i32) {
        b0:
          %2: array<u32, 8> = alloca shared
          %3: array<u32, 8> = alloca local
          %4: f32 = cast static_cast i32 5
          %5: f32 = atomic fetch_add %0, %1, u32 1, %4
          %6: u32 = cast static_cast i32 1
          %7: u32 = cast static_cast i32 5
          %8: u32 = atomic compare_exchange %2, %1, %6, %7
          %9: u32 = cast static_cast i32 5
          %10: u32 = gep %3, %1
          %11: u32 = load %10
          %12: u32 = arithmetic max %11, %9
          store %10, %12
          return
        }
    "#]]
    .assert_eq(&xir(|k| {
        let ty = k.library.types.structure(4, [UINT, FLOAT]).expect("a structure");
        let array = k.library.types.array(UINT, 8).expect("an array");
        let (buffer, i) = (k.buffer(ty), k.value_arg(INT));
        let shared = k.builtin(VariableTag::Shared, array);
        let (one, value) = (k.int(1), k.int(5));
        let add = k.call(CallOp::AtomicFetchAdd, &[buffer, i, one, value], FLOAT);
        let compare = k.call(CallOp::AtomicCompareExchange, &[shared, i, one, value], UINT);
        let local = k.local(array);
        let own = k.call(CallOp::AtomicFetchMax, &[local, i, value], UINT);
        vec![k.effect(add), k.effect(compare), k.effect(own)]
    }));
}

#[test]
fn packing_goes_word_by_word() {
    expect![[r#"
        type T0 = struct<8, bool, i16, u64>;
        kernel @k block(32, 1, 1) (%0: resource buffer<u32>, %1: value u32) {
        b0:
          %2: T0 = alloca local
          %3: u64 = cast static_cast %1
          %4: u32 = resource_read buffer_read %0, %3
          %5: u8 = cast static_cast %4
          %6: bool = cast static_cast %5
          %7: u32 = arithmetic binary_shift_right %4, u32 16
          %8: u16 = cast static_cast %7
          %9: i16 = cast bitwise_cast %8
          %10: u64 = arithmetic binary_add %3, u64 2
          %11: u32 = resource_read buffer_read %0, %10
          %12: u64 = arithmetic binary_add %3, u64 3
          %13: u32 = resource_read buffer_read %0, %12
          %14: u64 = cast static_cast %11
          %15: u64 = cast static_cast %13
          %16: u64 = arithmetic binary_shift_left %15, u32 32
          %17: u64 = arithmetic binary_bit_or %16, %14
          %18: T0 = arithmetic aggregate %6, %9, %17
          store %2, %18
          %19: T0 = load %2
          %20: bool = arithmetic extract %19, u32 0
          %21: u8 = cast static_cast %20
          %22: u32 = cast static_cast %21
          %23: i16 = arithmetic extract %19, u32 1
          %24: u16 = cast bitwise_cast %23
          %25: u32 = cast static_cast %24
          %26: u32 = arithmetic binary_shift_left %25, u32 16
          %27: u32 = arithmetic binary_bit_or %22, %26
          %28: u64 = arithmetic extract %19, u32 2
          %29: u32 = cast static_cast %28
          %30: u64 = arithmetic binary_shift_right %28, u32 32
          %31: u32 = cast static_cast %30
          %32: u64 = cast static_cast %1
          resource_write buffer_write %0, %32, %27
          %33: u64 = arithmetic binary_add %32, u64 1
          resource_write buffer_write %0, %33, u32 0
          %34: u64 = arithmetic binary_add %32, u64 2
          resource_write buffer_write %0, %34, %29
          %35: u64 = arithmetic binary_add %32, u64 3
          resource_write buffer_write %0, %35, %31
          return
        }
    "#]]
    .assert_eq(&xir(|k| {
        let ty = k.library.types.structure(8, [BOOL, SHORT, ULONG]).expect("a structure");
        let (v, words, at) = (k.local(ty), k.buffer(UINT), k.value_arg(UINT));
        let unpack = k.call(CallOp::Unpack, &[words, at], ty);
        let set = k.assign(v, unpack);
        let pack = k.call(CallOp::Pack, &[v, words, at], VOID);
        vec![set, k.effect(pack)]
    }));
}

#[test]
fn a_constant_index_may_be_out_of_range() {
    expect![[r#"
        kernel @k block(32, 1, 1) () {
        b0:
          %0: array<u32, 4> = alloca local
          %1: u32 = gep %0, i32 -1
          %2: u32 = load %1
          %3: u32 = gep %0, u32 9
          store %3, %2
          return
        }
    "#]]
    .assert_eq(&xir(|k| {
        let array = k.library.types.array(UINT, 4).expect("an array");
        let (a, nine, minus) = (k.local(array), k.uint(9), k.int(-1));
        let (to, from) = (k.access(a, nine, UINT), k.access(a, minus, UINT));
        vec![k.assign(to, from)]
    }));
}

#[test]
fn byte_buffers_are_packed_by_byte_offset() {
    expect![[r#"
        kernel @k block(32, 1, 1) (%0: resource buffer<void>, %1: value u32) {
        b0:
          %2: vector<u32, 2> = alloca local
          %3: vector<u32, 2> = load %2
          %4: u32 = arithmetic extract %3, u32 0
          %5: u32 = arithmetic extract %3, u32 1
          %6: u64 = cast static_cast %1
          %7: u64 = arithmetic binary_mul %6, u64 4
          resource_write byte_buffer_write %0, %7, %4
          %8: u64 = arithmetic binary_add %7, u64 4
          resource_write byte_buffer_write %0, %8, %5
          return
        }
    "#]]
    .assert_eq(&xir(|k| {
        let (v, bytes, at) = (k.local(UINT2), k.buffer(VOID), k.value_arg(UINT));
        let pack = k.call(CallOp::Pack, &[v, bytes, at], VOID);
        vec![k.effect(pack)]
    }));
}
