// What `metal_stdlib` must give; each thread notes the number of its first line that is wrong.
#include <metal_stdlib>
using namespace metal;

struct Pair { float3 a; uint b; };

static uint bits_of(float x) { return as_type<uint>(x); }

static float moved(thread float2& v, device const float* from, threadgroup float* shared) {
  v.yx = v;
  return from[0] + shared[1];
}

static uint summed(uint x) { return simd_sum(x); }

#define CHECK(x) if (!(x) && wrong == 0) wrong = __LINE__

[[max_total_threads_per_threadgroup(64)]]
kernel void checks(constant uint4& params [[buffer(0)]],
                   device uint* out [[buffer(1)]],
                   texture2d<float, access::read_write> image [[texture(0)]],
                   texture2d<float, access::sample> seen [[texture(1)]],
                   uint3 tid [[thread_position_in_grid]],
                   ushort lane [[thread_index_in_simdgroup]],
                   uint index [[thread_index_in_threadgroup]]) {
  threadgroup float tile[64];
  threadgroup atomic_uint count;
  uint wrong = 0;
  // Layouts.
  CHECK(sizeof(Pair) == 32 && sizeof(packed_float3) == 12 && sizeof(half3) == 8 && sizeof(long2) == 16);
  // Swizzles read and write.
  float4 v = float4(1.0f, float2(2.0f, 3.0f), 4.0f);
  CHECK(all(v.wzyx == float4(4.0f, 3.0f, 2.0f, 1.0f)));
  v.xz = v.zx;
  CHECK(all(v == float4(3.0f, 2.0f, 1.0f, 4.0f)));
  v.xy = v.yx;
  CHECK(all(v == float4(2.0f, 3.0f, 1.0f, 4.0f)));
  v.zw = v.xy * 2.0f;
  CHECK(all(v == float4(2.0f, 3.0f, 4.0f, 6.0f)));
  v[1] = 9.0f;
  CHECK(v.y == 9.0f && (v + 1.0f).y == 10.0f && (1.0f - v).x == -1.0f);
  // Vectors of small integers wrap, scalars are converted.
  uchar2 u = uchar2(200, 100) + uchar2(100, 100);
  CHECK(u.x == 44 && u.y == 200);
  CHECK(all(int3(-7) / int3(2) == int3(-3)) && all(int3(float3(-1.9f)) == int3(-1)));
  CHECK(all((uint2(1u, 2u) << 31u) == uint2(0x80000000u, 0u)));
  bool3 b = float3(1.0f, 2.0f, 3.0f) < float3(2.0f);
  CHECK(b.x && !b.y && !b.z && any(b) && !all(b) && all(!b == (b == bool3(false))));
  CHECK(all(select(float3(1.0f), float3(2.0f), b) == float3(2.0f, 1.0f, 1.0f)));
  // Bits.
  CHECK(bits_of(-0.0f) == 0x80000000u && as_type<ushort2>(0x00020001u).y == 2);
  CHECK(clz(uchar(1)) == 7 && clz(0u) == 32 && ctz(ushort(0)) == 16 && popcount(-1) == 32 && reverse_bits(1u) == 0x80000000u);
  CHECK(mulhi(0x80000000u, 4u) == 2u && abs(-5) == 5 && min(-1, 2) == -1 && max(uint2(1u, 5u), uint2(3u)).y == 5u);
  // Halves round at each operation.
  half h = half(2048.0f) + half(1.0f);
  CHECK(h == half(2048.0f) && float(half(1.0f) / half(3.0f)) == 0.333251953125f && half(70000.0f) > half(65504.0f));
  CHECK(float(fma(half(0.00014496f), half(0.00014496f), half(1.0f))) == 1.0f);
  CHECK(min(NAN, 1.0f) == 1.0f && max(1.0f, NAN) == 1.0f && isnan(NAN) && isinf(-INFINITY) && !isinf(NAN));
  CHECK(round(2.5f) == 3.0f && rint(2.5f) == 2.0f && fract(-0.25f) == 0.75f && fmod(-5.5f, 2.0f) == -1.5f && sign(-3.0f) == -1.0f);
  CHECK(dot(float3(1.0f, 2.0f, 3.0f), float3(4.0f)) == 24.0f && length(float2(3.0f, 4.0f)) == 5.0f && precise::sqrt(4.0f) == 2.0f);
  CHECK(all(cross(float3(1.0f, 0.0f, 0.0f), float3(0.0f, 1.0f, 0.0f)) == float3(0.0f, 0.0f, 1.0f)));
  // Shared memory, barriers, references.
  if (index == 0) atomic_store_explicit(&count, 0u, memory_order_relaxed);
  tile[index] = float(index);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  CHECK(tile[63 - index] == float(63 - index));
  atomic_fetch_add_explicit(&count, 2u, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
  CHECK(atomic_load_explicit(&count, memory_order_relaxed) == 128u);
  float2 xy = float2(1.0f, 2.0f);
  float one = 5.0f;
  CHECK(moved(xy, &one, tile) == 6.0f && xy.x == 2.0f && xy.y == 1.0f);
  uint expected = 7u;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (index == 0) {
    CHECK(!atomic_compare_exchange_weak_explicit(&count, &expected, 1u, memory_order_relaxed, memory_order_relaxed));
    CHECK(expected == 128u);
    CHECK(atomic_exchange_explicit(&count, 3u, memory_order_relaxed) == 128u && atomic_fetch_max_explicit(&count, 9u, memory_order_relaxed) == 3u);
  }
  // Lanes: all, some, and one after the other in a loop.
  CHECK(simd_sum(1u) == 32u && simd_prefix_exclusive_sum(1u) == lane && simd_max(int(lane)) == 31);
  if (lane % 2 == 0) {
    CHECK(simd_sum(uint(lane)) == 240u && simd_broadcast_first(lane) == 0 && ulong(simd_ballot(lane < 4)) == 5ul);
  } else {
    CHECK(simd_sum(1u) == 16u && simd_is_first() == (lane == 1) && simd_broadcast(lane, 3) == 3);
  }
  // A function that is called at two places.
  if (lane < 8) {
    CHECK(summed(1u) == 8u);
  } else {
    CHECK(summed(2u) == 48u);
  }
  CHECK(summed(1u) == 32u);
  uint rounds = 0;
  for (uint i = 0; i <= lane; i++) rounds += simd_sum(1u) == 32u - i ? 1u : 100u;
  CHECK(rounds == lane + 1u && simd_all(rounds > 0u) && !simd_any(rounds > 32u));
  // Lanes that leave a round early wait for the others, and those that leave the loop go first.
  uint left = 0, i = 0;
  while (true) {
    i++;
    if (lane < 4 && i == 1) {
      continue;
    }
    if (i > 2) {
      left = simd_sum(1u);
      break;
    }
    CHECK(simd_sum(1u) == (i == 1 ? 28u : 32u));
  }
  CHECK(left == 32u);
  CHECK(all(simd_shuffle(float2(float(lane), 1.0f), ushort(31 - lane)) == float2(float(31 - lane), 1.0f)));
  // Images: thread by thread, then all see it.
  uint2 at = uint2(index % 8, index / 8);
  CHECK(image.get_width() == 8 && image.get_height() == 8);
  CHECK(all(image.read(at) == float4(float(index), 0.0f, 0.0f, 0.0f)));
  constexpr sampler linear(coord::normalized, address::clamp_to_edge, filter::linear, mip_filter::nearest);
  constexpr sampler border(coord::normalized, address::clamp_to_zero, filter::nearest, mip_filter::nearest);
  CHECK(seen.sample(linear, float2(1.0f / 8.0f, 1.0f / 8.0f), level(0.0f)).x == 4.5f);
  CHECK(seen.sample(border, float2(-0.1f, 0.5f)).x == 0.0f && seen.sample(border, float2(0.99f, 0.99f)).x == 63.0f);
  threadgroup_barrier(mem_flags::mem_texture);
  image.write(float4(float(index) * 2.0f, 1.0f, 1.0f, 1.0f), at);
  if (params.x == 1u) threadgroup_barrier(mem_flags::mem_device);
  out[tid.x] = wrong;
}
