//! Layouts, numbers and resources.

use super::{body, refusal, text, with_buffer};
use luisac_artifact::metadata::MathMode;

const SAXPY: &str = "module;
kernel @saxpy block(256, 1, 1) (%0: resource buffer<f32> \"x\", %1: resource buffer<f32> \"y\", %2: value f32 \"a\") {
b0:
  %3: u32 = arithmetic extract dispatch_id, u32 0
  %4: f32 = resource_read buffer_read %0, %3
  %5: f32 = resource_read buffer_read %1, %3
  %6: f32 = arithmetic binary_mul %2, %4
  %7: f32 = arithmetic binary_add %6, %5
  resource_write buffer_write %1, %3, %7
  return
}
";

#[test]
fn saxpy_reads_like_a_persons() {
    let expected = "\
// HLSL 2021, shader model 6.0

cbuffer Params : register(b0) {
    uint4 params[4];
};
ByteAddressBuffer x : register(t0);
RWByteAddressBuffer y : register(u0);

[numthreads(256, 1, 1)]
void kernel_saxpy(uint3 dispatch_id : SV_DispatchThreadID) {
    if (any(dispatch_id >= params[3].xyz)) {
        return;
    }
    const float a = asfloat(params[2].x);
    y.Store<float>(dispatch_id.x * 4u, a * x.Load<float>(dispatch_id.x * 4u) + y.Load<float>(dispatch_id.x * 4u));
}
";
    assert_eq!(text(SAXPY, "hlsl", MathMode::Fast).trim_end(), expected.trim_end());
    let expected = "\
[[kernel, max_total_threads_per_threadgroup(256)]]
void kernel_saxpy(
    constant Params& params [[buffer(0)]],
    device const float* x [[buffer(1)]],
    device float* y [[buffer(2)]],
    uint3 dispatch_id [[thread_position_in_grid]]) {
    if (any(dispatch_id >= params.dispatch.xyz)) {
        return;
    }
    y[dispatch_id.x] = params.a * x[dispatch_id.x] + y[dispatch_id.x];
}
";
    let msl = text(SAXPY, "msl", MathMode::Fast);
    assert!(msl.trim_end().ends_with(expected.trim_end()), "{msl}");
    assert!(msl.contains("static_assert(sizeof(Params) == 64"), "{msl}");
}

#[test]
fn precise_arithmetic_is_marked() {
    let hlsl = text(SAXPY, "hlsl", MathMode::Precise);
    assert!(body(&hlsl).contains("precise float t = a * x.Load<float>"), "{hlsl}");
    let msl = text(SAXPY, "msl", MathMode::Precise);
    assert!(msl.contains("#pragma clang fp contract(off)"), "{msl}");
    assert!(!text(SAXPY, "msl", MathMode::Fast).contains("contract"));
}

const RECORD: &str = "module;
type T0 = struct<16, bool, vector<f32, 3>, vector<i64, 3>, i8>;
kernel @k block(1, 1, 1) (%0: resource buffer<T0> \"data\") {
b0:
  %1: T0 = resource_read buffer_read %0, u32 1
  resource_write buffer_write %0, u32 2, %1
  return
}
";

#[test]
fn records_lie_where_the_abi_says() {
    let hlsl = text(RECORD, "hlsl", MathMode::Fast);
    for part in [
        "v.m0 = lc_load_bool(b, at);",
        "v.m1 = b.Load<float3>(at + 16u);",
        "v.m2 = b.Load<int64_t3>(at + 32u);",
        "v.m3 = lc_load_byte(b, at + 64u);",
        "lc_load_Struct1(data, 80u)",
        "lc_store_Struct1(data, 160u, ",
        "b.InterlockedAnd(at & ~3u, ~(mask << shift));",
        "b.InterlockedOr(at & ~3u, value << shift);",
    ] {
        assert!(hlsl.contains(part), "{part}: {hlsl}");
    }
    let msl = text(RECORD, "msl", MathMode::Fast);
    for part in [
        "struct alignas(16) Struct1_memory {\n    uchar m0;\n    float3 m1;\n    lc_long3_memory m2;\n    char m3;\n};",
        "static_assert(sizeof(Struct1_memory) == 80",
        "r.m0 = v.m0 != 0;",
    ] {
        assert!(msl.contains(part), "{part}: {msl}");
    }
}

#[test]
fn signed_sums_wrap() {
    let source = with_buffer(
        "  %2: i32 = resource_read buffer_read %0, %1
  %3: i32 = arithmetic binary_mul %2, %2
  %4: i32 = arithmetic binary_add %3, i32 -7
  %5: i32 = arithmetic unary_minus %4
  resource_write buffer_write %0, %1, %5
  return",
    );
    for target in ["hlsl", "msl"] {
        let text = text(&source, target, MathMode::Fast);
        assert!(text.contains("int(-(uint(t) * uint(t) + uint(-7)))"), "{text}");
    }
}

#[test]
fn functions_of_single_precision_become_callables() {
    let source = "module;
kernel @k block(1, 1, 1) (%0: resource buffer<vector<f32, 3>> \"data\") {
b0:
  %1: vector<f32, 3> = resource_read buffer_read %0, u32 0
  %2: vector<f32, 3> = arithmetic sin %1
  %3: f32 = arithmetic dot %1, %2
  %4: vector<f32, 3> = arithmetic aggregate %3, %3, %3
  resource_write buffer_write %0, u32 0, %4
  return
}
";
    for target in ["hlsl", "msl"] {
        let text = text(source, target, MathMode::Precise);
        for head in
            ["float sin_float(float x) {", "float3 sin_float3(float3 x) {", "float dot_float3("]
        {
            assert!(text.contains(head), "{head}: {text}");
        }
    }
}

/// HLSL takes doubles where floats are asked for, and says nothing.
#[test]
fn doubles_are_never_made_floats() {
    let source = "module;
kernel @k block(1, 1, 1) (%0: resource buffer<vector<f64, 2>>) {
b0:
  %1: vector<f64, 2> = resource_read buffer_read %0, u32 0
  %2: vector<f64, 2> = arithmetic sqrt %1
  %3: vector<f64, 2> = arithmetic floor %2
  resource_write buffer_write %0, u32 1, %3
  return
}
";
    let text = text(source, "hlsl", MathMode::Precise);
    assert!(text.contains("double lc_sqrt(double x) {"), "{text}");
    assert!(text.contains("double2 lc_sqrt(double2 v) {"), "{text}");
    for function in [" sqrt(", " floor(", "= sqrt(", "= floor("] {
        assert!(!text.contains(function), "{function}: {text}");
    }
}

#[test]
fn what_a_language_lacks_is_refused_by_name() {
    let double = "module;
kernel @k block(1, 1, 1) (%0: resource buffer<f64>) {
b0:
  %1: f64 = resource_read buffer_read %0, u32 0
  resource_write buffer_write %0, u32 1, %1
  return
}
";
    assert!(refusal(double, "msl").contains("MSL has no type that holds `double`"));
    let clock = "module;
kernel @k block(1, 1, 1) (%0: resource buffer<u64>) {
b0:
  %1: u64 = clock
  resource_write buffer_write %0, u32 1, %1
  return
}
";
    assert!(refusal(clock, "hlsl").contains("does not hold the operation `clock`"));
    let half = double.replace("f64", "f16");
    let found = refusal(&half, "hlsl:6.0");
    assert!(found.contains("need shader model 6.2"), "{found}");
    assert!(text(&half, "hlsl", MathMode::Fast).starts_with("// HLSL 2021, shader model 6.2"));
}

#[test]
fn references_that_meet_stay_one_variable() {
    let source = "module;
callable @f(%0: reference i32 \"p\", %1: reference i32 \"q\") {
b0:
  store %0, i32 1
  %2: i32 = load %1
  store %0, %2
  return
}
kernel @k block(1, 1, 1) (%0: resource buffer<i32> \"data\") {
b0:
  %1: vector<i32, 2> = alloca local !name \"v\"
  %2: u32 = arithmetic extract dispatch_id, u32 0
  %3: i32 = gep %1, %2
  %4: i32 = gep %1, u32 1
  call @f(%3, %4)
  %5: i32 = load %4
  resource_write buffer_write %0, u32 0, %5
  return
}
";
    let hlsl = text(source, "hlsl", MathMode::Fast);
    assert!(hlsl.contains("void f(inout int2 p, uint p_index) {"), "{hlsl}");
    assert!(hlsl.contains("p[p_index] = p.y;"), "{hlsl}");
}

#[test]
fn shared_memory_is_passed_by_name_or_address() {
    let source = "module;
callable @f(%0: reference u32 \"cell\") {
b0:
  %1: u32 = atomic fetch_add %0, u32 2
  return
}
kernel @k block(8, 1, 1) (%0: resource buffer<u32> \"data\") {
b0:
  %1: array<u32, 4> = alloca shared !name \"cells\"
  %2: u32 = arithmetic extract thread_id, u32 0
  %3: u32 = gep %1, %2
  call @f(%3)
  thread_group synchronize_block
  %4: u32 = load %3
  resource_write buffer_write %0, %2, %4
  return
}
";
    let hlsl = text(source, "hlsl", MathMode::Fast);
    assert!(hlsl.contains("groupshared uint_array4 cells;"), "{hlsl}");
    assert!(hlsl.contains("InterlockedAdd(cells.at["), "{hlsl}");
    assert!(hlsl.contains("AllMemoryBarrierWithGroupSync();"), "{hlsl}");
    let msl = text(source, "msl", MathMode::Fast);
    assert!(msl.contains("threadgroup uint_array4 cells;"), "{msl}");
}
