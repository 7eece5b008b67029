//! Kernels for devices that bind resources by number: WGSL, and SPIR-V that naga makes of it.

use super::argument;
use luisac_artifact::{
    Metadata,
    bindings::{Api, ArgumentUse, Extras, assign},
    metadata::{Argument, ArgumentKind, Format, FormatArgument, FormatKind, Usage},
};

/// Metadata whose slots are given by position and usage.
pub fn described(
    target: &str,
    api: Api,
    block: [u32; 3],
    arguments: Vec<Argument>,
    formats: Vec<Format>,
    extras: Extras,
) -> Metadata {
    let log = !formats.is_empty();
    let mut m = super::metadata("main", block, arguments, formats);
    let uses: Vec<ArgumentUse> = m
        .arguments
        .iter()
        .map(|a| ArgumentUse {
            kind: a.kind,
            usage: a.usage,
            sampled: a.kind == ArgumentKind::Image && a.usage == Usage::ReadWrite,
        })
        .collect();
    let (places, bindings) = assign(api, &uses, Extras { log, ..extras });
    m.arguments.iter_mut().zip(places).for_each(|(a, slots)| a.slots = slots);
    m.bindings = Some(bindings);
    m.target = target.into();
    m
}

/// What naga makes of WGSL, as our own emitter's output would come.
pub fn spirv(source: &str) -> Vec<u8> {
    use naga::{back::spv, front::wgsl::parse_str, valid};
    let module = parse_str(source).unwrap();
    let info = valid::Validator::new(valid::ValidationFlags::all(), valid::Capabilities::all())
        .validate(&module)
        .unwrap();
    let options = spv::Options { lang_version: (1, 5), ..spv::Options::default() };
    let mut words = spv::write_vec(&module, &info, &options, None).unwrap();
    if source.contains("binding_array<") && !source.contains("binding_array<sampler, 16>") {
        // Arrays without an end, as our own emitter writes them: `OpCapability RuntimeDescriptorArray`, which naga leaves out.
        words.splice(5..5, [2 << 16 | 17, 5302]);
    }
    super::bytes(&words)
}

/// The kernel `mix` of `c/kernels.c`.
pub const MIX: &str = "
@group(0) @binding(0) var<uniform> p: array<vec4<u32>, 3>;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(32) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < p[2].x) { y[id.x] = y[id.x] * 31u + x[id.x]; }
}";

/// The kernel `gather` of `c/kernels.c`.
pub const GATHER: &str = "
enable wgpu_binding_array;
@group(0) @binding(0) var<uniform> p: array<vec4<u32>, 3>;
@group(0) @binding(1) var<storage, read> records: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;
struct Words { data: array<u32> }
@group(2) @binding(0) var<storage, read> buffers: binding_array<Words>;
@compute @workgroup_size(32) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= p[2].x) { return; }
  var sum = 0u;
  for (var s = 0u; s < p[0].z; s++) {
    let r = records[2u * s];
    if (id.x < r.z / 4u) { sum += buffers[r.x].data[r.y / 4u + id.x]; }
  }
  out[id.x] = out[id.x] * 31u + sum;
}";

/// The kernel `scatter` of `c/kernels.c`.
pub const SCATTER: &str = "
enable wgpu_binding_array;
@group(0) @binding(0) var<uniform> p: array<vec4<u32>, 2>;
@group(0) @binding(1) var<storage, read> records: array<vec4<u32>>;
struct Words { data: array<u32> }
@group(2) @binding(0) var<storage, read_write> buffers: binding_array<Words>;
@compute @workgroup_size(32) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= p[1].x) { return; }
  for (var s = 0u; s < p[0].z; s++) {
    let r = records[2u * s];
    if (id.x < r.z / 4u) { buffers[r.x].data[r.y / 4u + id.x] += 1u; }
  }
}";

/// Code and metadata of a kernel above for the device `vulkan`.
pub fn kernel(name: &str, arguments: Vec<Argument>) -> (Vec<u8>, Metadata) {
    let (source, bindless_buffers) = match name {
        "gather" => (GATHER, Some(Usage::Read)),
        "scatter" => (SCATTER, Some(Usage::ReadWrite)),
        _ => (MIX, None),
    };
    let extras = Extras { bindless_buffers, ..Extras::default() };
    let m = described("spirv:1.5", Api::Vulkan, [32, 1, 1], arguments, vec![], extras);
    (spirv(source), m)
}

/// Metadata of a kernel in WGSL.
pub fn wgsl(block: [u32; 3], arguments: Vec<Argument>, formats: Vec<Format>) -> Metadata {
    described("wgsl", Api::WebGpu, block, arguments, formats, Extras::default())
}

pub fn buffer(usage: Usage) -> Argument {
    Argument { usage, ..argument(ArgumentKind::Buffer, "buffer<uint>", 4, 4) }
}

pub fn image(ty: &str, usage: Usage) -> Argument {
    Argument { usage, ..argument(ArgumentKind::Image, ty, 0, 1) }
}

pub fn uint() -> Argument {
    argument(ArgumentKind::Value, "uint", 4, 4)
}

/// `y[i] = a * x[i] + y[i]` for the ids inside the dispatch size.
pub const AXPY: &str = "
@group(0) @binding(0) var<uniform> p: array<vec4<u32>, 4>;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < p[3].x) { y[id.x] = p[2].x * x[id.x] + y[id.x] + p[3].w; }
}";

pub fn axpy_arguments() -> Vec<Argument> {
    vec![buffer(Usage::Read), buffer(Usage::ReadWrite), uint()]
}

/// A kernel that logs: every thread prints its id, and those from the argument on fail. Binding 2 would be the next argument's.
pub fn talks() -> (&'static str, Metadata) {
    let source = "
@group(0) @binding(0) var<uniform> p: array<vec4<u32>, 3>;
struct Log { used: atomic<u32>, high: atomic<u32>, data: array<u32> }
@group(0) @binding(1) var<storage, read_write> log: Log;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= p[2].x) { return; }
  let at = atomicAdd(&log.used, 16u);
  if (at + 16u <= p[1].x) {
    log.data[at / 4u] = 16u;
    log.data[at / 4u + 1u] = 0u;
    log.data[at / 4u + 2u] = id.x;
  }
  if (id.x >= p[0].x) {
    let at = atomicAdd(&log.used, 24u);
    if (at + 24u <= p[1].x) {
      log.data[at / 4u] = 24u;
      log.data[at / 4u + 1u] = 1u;
      log.data[at / 4u + 2u] = id.x;
    } else { atomicOr(&log.high, 0x80000000u); }
  }
}";
    let argument = FormatArgument { ty: "uint".into(), offset: 0 };
    let format = |kind, text: &str, arguments, record_size| Format {
        kind,
        text: text.into(),
        arguments,
        record_size,
    };
    let formats = vec![
        format(FormatKind::Print, "thread {}", vec![argument], 16),
        format(FormatKind::Assert, "small", vec![], 24),
    ];
    (source, wgsl([64, 1, 1], vec![uint()], formats))
}

/// A bindless array as an argument.
pub fn array(usage: Usage) -> Argument {
    Argument { usage, ..argument(ArgumentKind::BindlessArray, "bindless_array", 0, 1) }
}
