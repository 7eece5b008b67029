//! The device `vulkan`, with kernels in WGSL and in SPIR-V that naga makes of it. Skipped with a line where there is none.

mod common;

use common::{
    argument, bytes, metadata,
    shaders::{AXPY, axpy_arguments, buffer, described, image, spirv, talks, wgsl},
    words,
};
use luisac_artifact::{
    Metadata, PixelStorage, TexelKind,
    bindings::{Api, Extras},
    metadata::{Argument, ArgumentKind, Usage},
};
use luisac_runtime::{
    RuntimeError, Sampler,
    vulkan::{Arg, Device, Kernel, VulkanError},
};

/// The device, or nothing, said in one line.
fn device() -> Option<Device> {
    match Device::open() {
        Ok(device) => Some(device),
        Err(RuntimeError::Vulkan(e)) if e.is_absence() => {
            println!("skipped: {e}");
            None
        }
        Err(e) => panic!("{e}"),
    }
}

fn load(device: &Device, code: &[u8], metadata: Metadata) -> Kernel {
    // SAFETY: the kernels of this file stay inside their buffers.
    unsafe { device.load(code, metadata) }.unwrap_or_else(|e| panic!("{e}"))
}

fn sampler(number: u32) -> Sampler {
    Sampler::from_code(number).unwrap()
}

#[test]
fn buffers_values_dispatch_size_and_kernel_id() {
    let Some(device) = device() else { return };
    let kernel = load(&device, AXPY.as_bytes(), wgsl([64, 1, 1], axpy_arguments(), vec![]));
    let x = device.buffer_from(&bytes(&(0..100).collect::<Vec<_>>())).unwrap();
    let y = device.buffer(400).unwrap();
    let mut launch =
        kernel.bind(&[Arg::Buffer(&x), Arg::Buffer(&y), Arg::Value(&3u32.to_le_bytes())]).unwrap();
    launch.kernel_id(7);
    launch.dispatch([90, 1, 1]).unwrap();
    launch.dispatch([10, 1, 1]).unwrap();
    launch.dispatch([0, 1, 1]).unwrap();
    let expected = |i: u32| match i {
        0..10 => 2 * (3 * i + 7),
        10..90 => 3 * i + 7,
        _ => 0,
    };
    assert_eq!(words(&y.to_vec().unwrap()), (0..100).map(expected).collect::<Vec<_>>());
}

#[test]
fn spirv_is_handed_through() {
    let Some(device) = device() else { return };
    let source = "
@group(0) @binding(0) var<uniform> p: array<vec4<u32>, 2>;
@group(0) @binding(1) var<storage, read_write> y: array<u64>;
@compute @workgroup_size(32) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < p[1].x) { y[id.x] = y[id.x] * 6364136223846793005lu + 1lu; }
}";
    let long = argument(ArgumentKind::Buffer, "buffer<ulong>", 8, 8);
    let m = described("spirv:1.5", Api::Vulkan, [32, 1, 1], vec![long], vec![], Extras::default());
    let kernel = load(&device, &spirv(source), m);
    let start: Vec<u64> = (0..77).map(|i| i * 0x1234_5678_9abc).collect();
    let y = device
        .buffer_from(&start.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>())
        .unwrap();
    kernel.bind(&[Arg::Buffer(&y)]).unwrap().dispatch([77, 1, 1]).unwrap();
    let step = |v: &u64| v.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1).to_le_bytes();
    assert_eq!(y.to_vec().unwrap(), start.iter().flat_map(step).collect::<Vec<_>>());
}

#[test]
fn views_may_overlap_and_alias() {
    let Some(device) = device() else { return };
    let kernel = load(&device, AXPY.as_bytes(), wgsl([64, 1, 1], axpy_arguments(), vec![]));
    let both = device.buffer_from(&bytes(&[1; 600])).unwrap();
    let two = 2u32.to_le_bytes();
    // Half a kilobyte suits every device.
    kernel
        .bind(&[Arg::View(&both, 0..1024), Arg::View(&both, 1024..2048), Arg::Value(&two)])
        .unwrap()
        .dispatch([256, 1, 1])
        .unwrap();
    kernel
        .bind(&[Arg::Buffer(&both), Arg::Buffer(&both), Arg::Value(&two)])
        .unwrap()
        .dispatch([600, 1, 1])
        .unwrap();
    let expected: Vec<u32> =
        (0..600).map(|i| if (256..512).contains(&i) { 9 } else { 3 }).collect();
    assert_eq!(words(&both.to_vec().unwrap()), expected);
}

#[test]
fn arguments_are_checked() {
    let Some(device) = device() else { return };
    let kernel = load(&device, AXPY.as_bytes(), wgsl([64, 1, 1], axpy_arguments(), vec![]));
    let (x, y) = (device.buffer(1024).unwrap(), device.buffer(1024).unwrap());
    let other = Device::open().unwrap().buffer(1024).unwrap();
    let value = 1u32.to_le_bytes();
    let code = |args: &[Arg]| kernel.bind(args).err().map(|e| e.code());
    assert_eq!(code(&[Arg::Buffer(&x)]), Some("L1120"));
    assert_eq!(code(&[Arg::Value(&value), Arg::Buffer(&y), Arg::Value(&value)]), Some("L1121"));
    assert_eq!(code(&[Arg::Buffer(&x), Arg::Buffer(&other), Arg::Value(&value)]), Some("L1121"));
    assert_eq!(code(&[Arg::Buffer(&x), Arg::Buffer(&y), Arg::Value(&[1, 2])]), Some("L1122"));
    for range in [0..1025, 2..1024, 1024..1028] {
        let args = [Arg::View(&x, range), Arg::Buffer(&y), Arg::Value(&value)];
        assert_eq!(code(&args), Some("L1124"));
    }
    // Aligned for the element, but for no device's descriptors.
    let odd = [Arg::View(&x, 4..1024), Arg::Buffer(&y), Arg::Value(&value)];
    assert!(matches!(code(&odd), None | Some("L1169")));
    assert_eq!(code(&[Arg::View(&x, 1024..1024), Arg::Buffer(&y), Arg::Value(&value)]), None);
    let image = device.image_2d(PixelStorage::Float4, [4, 4], 1).unwrap();
    assert_eq!(code(&[Arg::Image(&image), Arg::Buffer(&y), Arg::Value(&value)]), Some("L1121"));
}

#[track_caller]
fn refused(device: &Device, code: &[u8], metadata: Metadata, expected: &str, words: &str) {
    // SAFETY: nothing of it runs.
    let error = unsafe { device.load(code, metadata) }.err().expect("it is refused");
    assert_eq!(error.code(), expected, "{error}");
    assert!(error.to_string().contains(words), "{error}");
}

#[test]
fn kernels_are_checked() {
    let Some(device) = device() else { return };
    let good = || wgsl([64, 1, 1], axpy_arguments(), vec![]);
    refused(&device, b"fn main( {", good(), "L1168", "expected");
    refused(&device, &[0xff, 0xfe], good(), "L1168", "utf-8");
    let as_target = |target: &str| Metadata { target: target.into(), ..good() };
    refused(&device, AXPY.as_bytes(), as_target("spirv"), "L1167", "SPIR-V");
    refused(&device, b"", as_target("spirv"), "L1167", "does not begin");
    refused(&device, b"", Metadata { bindings: None, ..as_target("cpu") }, "L1100", "bindings");
    let cpu = metadata("main", [64, 1, 1], vec![], vec![]);
    refused(&device, b"", cpu, "L1108", "vulkan");
    let module = spirv(AXPY);
    let other_entry = Metadata { entry: "other".into(), ..as_target("spirv") };
    refused(&device, &module, other_entry, "L1167", "`other`");
    let mut needs = module.clone();
    // A capability that no driver has, put before all others.
    needs.splice(20..20, bytes(&[2 << 16 | 17, 60_000]));
    refused(&device, &needs, as_target("spirv"), "L1162", "60000");
    let shared = Metadata { shared_bytes: 1 << 30, ..as_target("spirv") };
    refused(&device, &module, shared, "L1164", "shared memory");
    let lanes = Metadata { wave_lanes: Some(128), ..as_target("spirv") };
    if device.wave_lanes() < 64 {
        refused(&device, &module, lanes, "L1162", "waves of 128 lanes");
    }
}

/// A kernel of this many ifs inside each other, each taken by half of the threads.
fn nested(depth: u32) -> String {
    let open: String = (0..depth)
        .map(|i| format!("if ((id.x + {i}u) % 64u >= {}u) {{ n += 1u;\n", i / 2))
        .collect();
    format!(
        "@group(0) @binding(0) var<uniform> p: array<vec4<u32>, 2>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
  var n = p[1].w;
  {open} {} y[id.x] = n;
}}",
        "}".repeat(depth as usize)
    )
}

#[test]
fn deep_control_flow_runs_or_is_refused() {
    let Some(device) = device() else { return };
    let meta = || {
        described(
            "spirv",
            Api::Vulkan,
            [64, 1, 1],
            vec![buffer(Usage::Write)],
            vec![],
            Extras::default(),
        )
    };
    for depth in [60, 100] {
        // naga recurses.
        let work = std::thread::Builder::new().stack_size(64 << 20);
        let code = work.spawn(move || spirv(&nested(depth))).unwrap().join().unwrap();
        // SAFETY: the kernel writes one element a thread.
        let kernel = match unsafe { device.load(&code, meta()) } {
            Ok(kernel) => kernel,
            Err(e) => {
                assert_eq!((depth, e.code()), (100, "L1164"), "{e}");
                continue;
            }
        };
        let y = device.buffer(256).unwrap();
        kernel.bind(&[Arg::Buffer(&y)]).unwrap().dispatch([64, 1, 1]).unwrap();
        let taken = |id: u32| (0..depth).take_while(|i| (id + i) % 64 >= i / 2).count() as u32;
        assert_eq!(words(&y.to_vec().unwrap()), (0..64).map(taken).collect::<Vec<_>>());
    }
}

#[test]
fn large_grids_are_split() {
    let Some(device) = device() else { return };
    let source = "
@group(0) @binding(0) var<uniform> p: array<vec4<u32>, 2>;
@group(0) @binding(1) var<storage, read_write> y: array<atomic<u32>>;
@compute @workgroup_size(1) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  atomicAdd(&y[id.y * p[1].x + id.x], id.y * 2u + id.x + 1u);
}";
    let m = wgsl([1, 1, 1], vec![buffer(Usage::ReadWrite)], vec![]);
    let kernel = load(&device, source.as_bytes(), m);
    let rows = 70_001;
    let y = device.buffer(rows * 8).unwrap();
    kernel.bind(&[Arg::Buffer(&y)]).unwrap().dispatch([2, rows as u32, 1]).unwrap();
    let found = words(&y.to_vec().unwrap());
    assert!(found.iter().enumerate().all(|(i, v)| *v == i as u32 + 1));
    let grid = kernel.bind(&[Arg::Buffer(&y)]).unwrap().dispatch([u32::MAX; 3]).err();
    assert_eq!(grid.map(|e| e.code()), Some("L1133"));
}

#[test]
fn the_log_is_read() {
    let Some(device) = device() else { return };
    let (code, metadata) = talks();
    let kernel = load(&device, code.as_bytes(), metadata);
    let run = |first: u32, size: u32| {
        let mut launch = kernel.bind(&[Arg::Value(&first.to_le_bytes())]).unwrap();
        launch.log_capacity(64 << 10);
        let mut lines = Vec::new();
        // Twice: what the first left in the log must be gone.
        let _ = launch.dispatch([size, 1, 1]);
        let end = launch.dispatch_logged([size, 1, 1], &mut |line| lines.push(line.to_owned()));
        lines.sort();
        (lines, end)
    };
    let (lines, end) = run(100, 3);
    assert_eq!(lines, ["thread 0", "thread 1", "thread 2"]);
    assert_eq!(end.unwrap(), 0);
    let (lines, end) = run(5, 9);
    assert_eq!(lines.len(), 9);
    match end {
        Err(RuntimeError::Assert { message, dispatch_id, .. }) => {
            assert_eq!((message.as_str(), dispatch_id), ("small", [5, 0, 0]));
        }
        other => panic!("{other:?}"),
    }
    let (lines, end) = run(100_000, 5000);
    assert_eq!((lines.len(), end.unwrap()), (4096, (5000 - 4096) * 16));
}

#[test]
fn every_storage_comes_back_as_it_went() {
    let Some(device) = device() else { return };
    let mut made = 0;
    for storage in PixelStorage::ALL {
        for (dimension, size) in [(2, [13, 6, 1]), (3, [5, 6, 7])] {
            let result = match dimension {
                2 => device.image_2d(storage, [size[0], size[1]], 3),
                _ => device.image_3d(storage, size, 3),
            };
            let image = match result {
                Ok(image) => image,
                Err(RuntimeError::Vulkan(VulkanError::NoFormat { .. })) => {
                    // Compressed volumes are a device's choice.
                    assert!(matches!(storage.kind(), TexelKind::Block { .. }), "{storage}");
                    continue;
                }
                Err(e) => panic!("{storage}: {e}"),
            };
            made += 1;
            assert_eq!(image.size(2), [size[0] / 4, size[1] / 4, (size[2] / 4).max(1)]);
            for level in 0..3 {
                let len = image.bytes(level) as usize;
                assert_eq!(
                    image.to_vec(level).unwrap(),
                    vec![0; len],
                    "{storage} is zero at first"
                );
                let data: Vec<u8> = (0..len).map(|i| (i * 7 + level as usize) as u8).collect();
                image.upload(level, &data).unwrap();
                assert_eq!(image.to_vec(level).unwrap(), data, "{storage}");
                assert!(image.upload(level, &data[1..]).is_err());
            }
            assert!(image.to_vec(3).is_err());
        }
    }
    assert!(made >= 34);
}

#[test]
fn images_that_cannot_be_are_refused() {
    let Some(device) = device() else { return };
    let code =
        |size, levels| device.image_2d(PixelStorage::Float4, size, levels).err().map(|e| e.code());
    assert_eq!(code([0, 4], 1), Some("L1131"));
    assert_eq!(code([4, 4], 0), Some("L1131"));
    assert_eq!(code([4, 4], 4), Some("L1131"));
    assert_eq!(code([4, 4], 3), None);
    assert_eq!(code([1 << 30, 1], 1), Some("L1164"));
    assert_eq!(device.buffer(1 << 60).err().map(|e| e.code()), Some("L1130"));
    assert_eq!(device.buffer(u64::MAX).err().map(|e| e.code()), Some("L1130"));
}

#[test]
fn images_are_written_and_sampled() {
    let Some(device) = device() else { return };
    let source = "
@group(0) @binding(0) var<uniform> p: array<vec4<u32>, 4>;
@group(0) @binding(1) var target_: texture_storage_2d<rgba8unorm, write>;
@group(0) @binding(2) var source: texture_2d<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<vec4<f32>>;
@group(1) @binding(4) var linear: sampler;
@group(1) @binding(3) var zero: sampler;
@compute @workgroup_size(8) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= p[3].x) { return; }
  textureStore(target_, vec2<i32>(i32(id.x), 0), vec4<f32>(f32(id.x) / 255.0, 0.5, 1.0, 2.0));
  if (id.x == 0u) {
    out[0] = textureLoad(source, vec2<i32>(1, 0), 0);
    out[1] = textureSampleLevel(source, linear, vec2<f32>(0.5, 0.5), 0.0);
    out[2] = textureSampleLevel(source, zero, vec2<f32>(1.5, 0.5), 0.0);
    out[3] = textureLoad(source, vec2<i32>(0, 0), 1);
  }
}";
    let arguments = vec![
        image("texture<2,float>", Usage::Write),
        image("texture<2,float>", Usage::Read),
        Argument {
            usage: Usage::Write,
            ..argument(ArgumentKind::Buffer, "buffer<vector<float,4>>", 16, 16)
        },
    ];
    let extras = Extras { samplers: 1 << 4 | 1 << 3, ..Extras::default() };
    let m = described("wgsl", Api::WebGpu, [8, 1, 1], arguments, vec![], extras);
    let kernel = load(&device, source.as_bytes(), m);
    let target = device.image_2d(PixelStorage::Byte4, [4, 1], 1).unwrap();
    // Two channels: blue and alpha read as zero.
    let source = device.image_2d(PixelStorage::Float2, [2, 2], 2).unwrap();
    let texels = [1.0f32, 10.0, 3.0, 30.0, 5.0, 50.0, 7.0, 70.0];
    source.upload(0, &texels.iter().flat_map(|f| f.to_le_bytes()).collect::<Vec<_>>()).unwrap();
    source
        .upload(1, &[9.0f32, 90.0].iter().flat_map(|f| f.to_le_bytes()).collect::<Vec<_>>())
        .unwrap();
    let out = device.buffer(64).unwrap();
    let args = [Arg::Image(&target), Arg::Image(&source), Arg::Buffer(&out)];
    kernel.bind(&args).unwrap().dispatch([4, 1, 1]).unwrap();
    let written = target.to_vec(0).unwrap();
    for x in 0..4u8 {
        let texel = &written[4 * x as usize..][..4];
        assert_eq!((texel[0], texel[2], texel[3]), (x, 255, 255));
        assert!(texel[1] == 127 || texel[1] == 128);
    }
    let floats: Vec<f32> =
        words(&out.to_vec().unwrap()).iter().map(|w| f32::from_bits(*w)).collect();
    assert_eq!(floats[0..4], [3.0, 30.0, 0.0, 0.0]);
    assert_eq!(floats[4..8], [4.0, 40.0, 0.0, 0.0]);
    assert_eq!(floats[8..12], [0.0; 4]);
    assert_eq!(floats[12..16], [9.0, 90.0, 0.0, 0.0]);
    // From the second level on.
    let args = [Arg::Image(&target), Arg::Level(&source, 1), Arg::Buffer(&out)];
    kernel.bind(&args).unwrap().dispatch([4, 1, 1]).unwrap();
    assert_eq!(words(&out.to_vec().unwrap())[4], 9.0f32.to_bits());
    let codes = |first: Arg, second: Arg| {
        kernel.bind(&[first, second, Arg::Buffer(&out)]).err().map(|e| e.code())
    };
    let volume = device.image_3d(PixelStorage::Byte4, [4, 1, 1], 1).unwrap();
    assert_eq!(codes(Arg::Image(&volume), Arg::Image(&source)), Some("L1123"));
    assert_eq!(codes(Arg::Image(&target), Arg::Level(&source, 2)), Some("L1123"));
    let integers = device.image_2d(PixelStorage::Int4, [4, 1], 1).unwrap();
    assert_eq!(codes(Arg::Image(&integers), Arg::Image(&source)), Some("L1163"));
}

#[test]
fn bindless_arrays_lead_to_heaps() {
    let Some(device) = device() else { return };
    let source = "
enable wgpu_binding_array;
@group(0) @binding(0) var<uniform> p: array<vec4<u32>, 3>;
@group(0) @binding(1) var<storage, read> records: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;
struct Words { data: array<u32> }
@group(2) @binding(0) var<storage, read> buffers: binding_array<Words>;
@group(3) @binding(0) var images: binding_array<texture_2d<f32>>;
@compute @workgroup_size(1) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let r = records[2u * id.x];
  let s = records[2u * id.x + 1u];
  var v = 0u;
  if (r.z >= 4u) { v = buffers[r.x].data[r.y / 4u]; }
  let place = s.x & 0xfffffffu;
  if (place != 0u) { v += u32(textureLoad(images[place], vec2<i32>(0, 0), 0).x) + (s.x >> 28u); }
  out[id.x] = v + 1000u * u32(p[0].z) + r.z;
}";
    let arguments = vec![
        Argument {
            usage: Usage::Read,
            ..argument(ArgumentKind::BindlessArray, "bindless_array", 0, 1)
        },
        buffer(Usage::Write),
    ];
    let extras = Extras {
        bindless_buffers: Some(Usage::Read),
        bindless_images2d: true,
        ..Extras::default()
    };
    let m = described("spirv", Api::Vulkan, [1, 1, 1], arguments, vec![], extras);
    let kernel = load(&device, &spirv(source), m);
    let array = device.bindless_array(4).unwrap();
    let out = device.buffer(16).unwrap();
    let small = device.buffer_from(&bytes(&[5, 6, 7])).unwrap();
    array.set_buffer(1, Some((&small, 4))).unwrap();
    drop(small);
    {
        let image = device.image_2d(PixelStorage::Float1, [1, 1], 1).unwrap();
        image.upload(0, &40.0f32.to_le_bytes()).unwrap();
        array.set_image(2, 2, Some((&image, sampler(3)))).unwrap();
        array.set_image(3, 2, Some((&image, sampler(15)))).unwrap();
    }
    let run = || {
        kernel
            .bind(&[Arg::BindlessArray(&array), Arg::Buffer(&out)])
            .unwrap()
            .dispatch([4, 1, 1])
            .unwrap();
        words(&out.to_vec().unwrap())
    };
    assert_eq!(run(), [4000, 4000 + 6 + 8, 4000 + 43, 4000 + 55]);
    array.set_image(2, 2, None).unwrap();
    // Places are given again, and an image in the freed one is seen.
    array.set_image(3, 2, None).unwrap();
    let image = device.image_2d(PixelStorage::Byte1, [1, 1], 1).unwrap();
    image.upload(0, &[255]).unwrap();
    array.set_image(0, 2, Some((&image, sampler(0)))).unwrap();
    array.set_buffer(1, None).unwrap();
    assert_eq!(run(), [4001, 4000, 4000, 4000]);
    assert!(array.set_buffer(4, None).is_err());
    assert!(array.set_image(0, 3, Some((&image, sampler(0)))).is_err());
}

#[test]
fn threads_share_a_device() {
    let Some(device) = device() else { return };
    let kernel = load(&device, AXPY.as_bytes(), wgsl([64, 1, 1], axpy_arguments(), vec![]));
    std::thread::scope(|scope| {
        for t in 0..4u32 {
            let (device, kernel) = (&device, &kernel);
            scope.spawn(move || {
                for round in 0..20u32 {
                    let x = device.buffer_from(&bytes(&vec![t; 1000])).unwrap();
                    let y = device.buffer_from(&bytes(&vec![round; 1000])).unwrap();
                    let two = 2u32.to_le_bytes();
                    let args = [Arg::Buffer(&x), Arg::Buffer(&y), Arg::Value(&two)];
                    kernel.bind(&args).unwrap().dispatch([1000, 1, 1]).unwrap();
                    assert_eq!(words(&y.to_vec().unwrap()), vec![2 * t + round; 1000]);
                }
            });
        }
    });
}
