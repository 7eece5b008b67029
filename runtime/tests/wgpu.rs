//! The device `wgpu`: SPIR-V through wgpu's Vulkan. Skipped with a line where there is none. The devices `dx12` and `metal` run the
//! same code, and are looked for only.

mod common;

use std::sync::{Arc, Mutex};

use common::{
    argument,
    shaders::{self, AXPY, axpy_arguments, buffer, described, image, spirv},
};
use luisac_artifact::{
    bindings::{Api, Extras},
    metadata::{Argument, ArgumentKind, Usage},
};
use luisac_runtime::{
    Device, IndirectDispatch, Kernel, Metadata, PixelStorage, RuntimeError, Value,
};

/// The device, or nothing, said in one line.
fn device() -> Option<Device> {
    match Device::open("wgpu") {
        Ok(device) => Some(device),
        Err(e @ RuntimeError::NoDevice { .. }) => {
            println!("skipped: {e}");
            None
        }
        Err(e) => panic!("{e}"),
    }
}

fn metadata(block: [u32; 3], arguments: Vec<Argument>) -> Metadata {
    described("spirv:1.5", Api::Vulkan, block, arguments, vec![], Extras::default())
}

fn load(device: &Device, code: &[u8], metadata: Metadata) -> Kernel {
    // SAFETY: the kernels of this file stay inside their buffers.
    unsafe { device.load(code, metadata) }.unwrap_or_else(|e| panic!("{e}"))
}

#[track_caller]
fn refused(device: &Device, code: &[u8], metadata: Metadata, expected: &str, words: &str) {
    // SAFETY: it is not run.
    let error = unsafe { device.load(code, metadata) }.err().expect("it must be refused");
    assert_eq!(error.code(), expected, "{error}");
    assert!(error.to_string().contains(words), "{error}");
}

#[test]
fn devices_of_other_systems_say_so() {
    for (name, here) in [("dx12", cfg!(windows)), ("metal", cfg!(target_vendor = "apple"))] {
        match Device::open(name) {
            Ok(device) => assert!(here && device.name() == name),
            Err(e) => {
                assert_eq!(e.code(), "L1154", "{e}");
                assert!(here || e.to_string().contains("only"), "{e}");
            }
        }
    }
}

#[test]
fn lists_of_all_commands() {
    let Some(device) = device() else { return };
    let axpy = load(&device, &spirv(AXPY), metadata([64, 1, 1], axpy_arguments()));
    let x = device.buffer_from(&(0..64u32).collect::<Vec<_>>()).unwrap();
    let y = device.buffer::<u32>(64).unwrap();
    let image = device.image_2d(PixelStorage::Int4, [4, 4]).unwrap();
    let other = device.image_2d(PixelStorage::Int4, [4, 4]).unwrap();
    let sizes = device.indirect_buffer(3).unwrap();
    let entry = |size, kernel_id| IndirectDispatch { block_size: [64, 1, 1], size, kernel_id };
    sizes.write(&[entry([0, 1, 1], 9), entry([32, 1, 1], 100)]).unwrap();
    let event = device.event();
    let called = Arc::new(Mutex::new(0));
    let count = called.clone();

    let mut list = device.list();
    list.fill(&y, 1).unwrap();
    list.dispatch(&axpy, (&x, &y, 2u32), [64, 1, 1]).unwrap();
    list.copy_to_image(&y, &image.base()).unwrap();
    list.copy_image(&image.base(), &other.base()).unwrap();
    list.fill(&y, 0).unwrap();
    list.copy_from_image(&other.base(), &y).unwrap();
    list.dispatch_many(&axpy, (&x, &y, 1u32), &[[64, 1, 1], [0, 1, 1]]).unwrap();
    list.callback(move || *count.lock().unwrap() += 1);
    list.dispatch_indirect(&axpy, (&x, &y, 0u32), &sizes).unwrap();
    list.signal(&event);
    let result = list.download(&y).unwrap();
    let list = list.commit().unwrap();
    let stream = device.stream();
    let expected: Vec<u32> = (0..64).map(|i| 1 + 3 * i + if i < 32 { 100 } else { 0 }).collect();
    for _ in 0..3 {
        stream.submit(&list).unwrap();
    }
    event.wait().unwrap();
    stream.wait().unwrap();
    assert_eq!((result.take(), *called.lock().unwrap()), (expected, 3));

    sizes.write(&[IndirectDispatch { block_size: [1, 1, 1], ..entry([1, 1, 1], 0) }]).unwrap();
    assert_eq!(stream.submit(&list).unwrap().wait().unwrap_err().code(), "L1144");
}

#[test]
fn the_same_buffer_may_be_read_and_written() {
    let Some(device) = device() else { return };
    let axpy = load(&device, &spirv(AXPY), metadata([64, 1, 1], axpy_arguments()));
    let x = device.buffer_from(&[5u32; 64]).unwrap();
    let mut list = device.list();
    list.dispatch(&axpy, (&x, &x, 2u32), [64, 1, 1]).unwrap();
    list.run().unwrap();
    assert_eq!(x.read().unwrap(), [15; 64]);
}

#[test]
fn copies_and_fills_of_any_bytes() {
    let Some(device) = device() else { return };
    let bytes = device.buffer_from(&(0..100u8).collect::<Vec<_>>()).unwrap();
    let other = device.buffer::<u8>(100).unwrap();
    let mut list = device.list();
    list.copy(&bytes.view(3..50).unwrap(), &other.view(5..52).unwrap()).unwrap();
    list.copy(&other.view(5..9).unwrap(), &other.view(60..64).unwrap()).unwrap();
    list.fill(&other.view(71..74).unwrap(), 9).unwrap();
    list.fill(&bytes.view(0..0).unwrap(), 9).unwrap();
    let all = list.download(&other).unwrap();
    list.run().unwrap();
    let mut expected = vec![0u8; 100];
    expected[5..52].copy_from_slice(&(3..50).collect::<Vec<u8>>());
    expected[60..64].copy_from_slice(&[3, 4, 5, 6]);
    expected[71..74].fill(9);
    assert_eq!(all.take(), expected);
}

/// Texels are fetched and sampled, from a level on.
#[test]
fn images_are_sampled() {
    let Some(device) = device() else { return };
    let source = "
enable wgpu_binding_array;
@group(0) @binding(0) var<uniform> p: array<vec4<u32>, 3>;
@group(0) @binding(1) var source: texture_2d<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<vec4<f32>>;
@group(1) @binding(0) var samplers: binding_array<sampler, 16>;
@compute @workgroup_size(1) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  out[0] = textureLoad(source, vec2<i32>(1, 0), 0);
  out[1] = textureSampleLevel(source, samplers[4], vec2<f32>(0.5, 0.5), 0.0);
  out[2] = textureSampleLevel(source, samplers[3], vec2<f32>(1.5, 0.5), 0.0);
  out[3] = vec4<f32>(vec2<f32>(textureDimensions(source)), f32(p[0].z), 0.0);
}";
    let written = Argument {
        usage: Usage::Write,
        ..argument(ArgumentKind::Buffer, "buffer<vector<float,4>>", 16, 16)
    };
    let arguments = vec![image("texture<2,float>", Usage::Read), written];
    let extras = Extras { samplers: u16::MAX, ..Extras::default() };
    let m = described("spirv:1.5", Api::Vulkan, [1, 1, 1], arguments, vec![], extras);
    // SAFETY: the kernel stays inside its buffers.
    let kernel = match unsafe { device.load(&spirv(source), m) } {
        Ok(kernel) => kernel,
        Err(e) if e.code() == "L1180" => return println!("skipped: {e}"),
        Err(e) => panic!("{e}"),
    };
    let shape = luisac_runtime::ImageShape {
        storage: PixelStorage::Float4,
        dimension: 2,
        size: [4, 2, 1],
        levels: 2,
    };
    let texels = device.image(shape).unwrap();
    let level = texels.level(1).unwrap();
    let data: Vec<u8> = [[1.0f32, 2.0, 3.0, 4.0], [3.0, 4.0, 5.0, 6.0]]
        .iter()
        .flatten()
        .flat_map(|v| v.to_le_bytes())
        .collect();
    let out = device.buffer::<[f32; 4]>(4).unwrap();
    assert_eq!(<[f32; 4] as Value>::SIZE, 16);
    let bytes = out.cast::<u8>().unwrap();
    let mut list = device.list();
    list.upload_image(&level, data.clone()).unwrap();
    list.dispatch(&kernel, (&level, &bytes), [1, 1, 1]).unwrap();
    let back = list.download_image(&level).unwrap();
    let result = list.download(&out).unwrap();
    list.run().unwrap();
    assert_eq!(back.take(), data);
    assert_eq!(
        result.take(),
        [[3.0, 4.0, 5.0, 6.0], [2.0, 3.0, 4.0, 5.0], [0.0; 4], [2.0, 1.0, 14.0, 0.0]]
    );
    let code = |storage| device.image_2d(storage, [4, 4]).err().map(|e| e.code());
    assert_eq!((code(PixelStorage::Byte1), code(PixelStorage::Byte4)), (Some("L1183"), None));
    let integers = device.image_2d(PixelStorage::Int4, [4, 4]).unwrap();
    let mut list = device.list();
    list.dispatch(&kernel, (&integers, &bytes), [1, 1, 1]).unwrap();
    assert_eq!(list.commit().err().map(|e| e.code()), Some("L1183"));
}

#[test]
fn what_kernels_log_is_read() {
    let Some(device) = device() else { return };
    let (code, m) = shaders::talks();
    let as_spirv = Extras { log: true, ..Extras::default() };
    let m = described(
        "spirv:1.5",
        Api::Vulkan,
        m.block_size,
        vec![shaders::uint()],
        m.formats,
        as_spirv,
    );
    let talks = load(&device, &spirv(code), m);
    let stream = device.stream();
    let run = |first: u32, size: u32| {
        let mut list = device.list();
        list.dispatch(&talks, (first,), [size, 1, 1]).unwrap();
        stream.submit(&list.commit().unwrap()).unwrap().wait()
    };
    assert_eq!(run(u32::MAX, 70_000).unwrap().lines.len(), 1 << 16);
    let mut lines = run(9, 3).unwrap().lines.clone();
    lines.sort();
    assert_eq!(lines, ["thread 0", "thread 1", "thread 2"]);
    assert_eq!(run(1, 3).unwrap_err().code(), "L1140");
}

#[test]
fn what_wgpu_cannot_hold_is_named() {
    let Some(device) = device() else { return };
    let axpy = spirv(AXPY);
    let good = || metadata([64, 1, 1], axpy_arguments());
    let mut needs = axpy.clone();
    // `OpCapability StorageBuffer8BitAccess`, put before all others.
    needs.splice(20..20, [2 << 16 | 17, 4448u32].iter().flat_map(|w| w.to_le_bytes()));
    refused(&device, &needs, good(), "L1180", "StorageBuffer8BitAccess");
    refused(&device, b"no", good(), "L1184", "multiple of four");
    let other = Metadata { target: "msl:3.1".into(), ..good() };
    refused(&device, &axpy, other, "L1108", "msl");
    let large = Metadata { block_size: [1 << 20, 1, 1], ..good() };
    refused(&device, &axpy, large, "L1100", "");
    let written = vec![image("texture<2,float>", Usage::Write)];
    refused(&device, &axpy, metadata([1, 1, 1], written), "L1180", "image that the kernel writes");
    let array = vec![shaders::array(Usage::Read)];
    refused(&device, &axpy, metadata([1, 1, 1], array), "L1180", "bindless");
    assert_eq!(device.bindless_array(1).err().map(|e| e.code()), Some("L1180"));
    let mut elsewhere = good();
    elsewhere.arguments.swap(0, 1);
    elsewhere.arguments[0].offset = 0;
    elsewhere.arguments[1].offset = 16;
    refused(&device, &axpy, elsewhere, "L1184", "otherwise");
    assert_eq!(device.buffer::<u8>(1 << 50).err().map(|e| e.code()), Some("L1130"));

    let kernel = load(&device, &axpy, good());
    let (x, y) = (device.buffer::<u32>(100).unwrap(), device.buffer::<u32>(100).unwrap());
    let mut list = device.list();
    list.dispatch(&kernel, (&x.view(1..2).unwrap(), &y, 1u32), [1, 1, 1]).unwrap();
    assert_eq!(list.commit().err().map(|e| e.code()), Some("L1182"));
    let mut list = device.list();
    list.dispatch(&kernel, (&x, &y, 1u32), [u32::MAX, 1, 1]).unwrap();
    assert_eq!(list.commit().err().map(|e| e.code()), Some("L1181"));
}

/// Random commands give what they give one after the other.
#[test]
fn random_lists() {
    let Some(device) = device() else { return };
    let words = vec![buffer(Usage::Read), buffer(Usage::ReadWrite)];
    let mix = load(&device, &spirv(shaders::MIX), metadata([32, 1, 1], words));
    const WORDS: usize = 640;
    let buffers: Vec<_> = (0..4).map(|_| device.buffer::<u32>(WORDS).unwrap()).collect();
    let mut model = vec![vec![0u32; WORDS]; 4];
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut below = |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % n
    };
    let streams = [device.stream(), device.stream()];
    for _ in 0..40 {
        let (mut list, mut downloads) = (device.list(), Vec::new());
        for _ in 0..1 + below(30) {
            let (a, len, value) = (below(4), 1 + below(64), below(1000) as u32);
            let b = (a + 1 + below(3)) % 4;
            // Bindings begin at multiples of 256 bytes at most.
            let (at, from) = (64 * below(9), 64 * below(9));
            let to = buffers[a].view(at..at + len).unwrap();
            let source = buffers[b].view(from..from + len).unwrap();
            let read = model[b][from..from + len].to_vec();
            let target = &mut model[a][at..at + len];
            match below(5) {
                0 => {
                    list.fill(&to, value).unwrap();
                    target.fill(value);
                }
                1 => {
                    let data: Vec<u32> = (0..len as u32).map(|i| i ^ value).collect();
                    list.upload(&to, &data).unwrap();
                    target.copy_from_slice(&data);
                }
                2 => downloads.push((list.download(&to).unwrap(), target.to_vec())),
                3 => {
                    list.copy(&source, &to).unwrap();
                    target.copy_from_slice(&read);
                }
                _ => {
                    list.dispatch(&mix, (&source, &to), [len as u32, 1, 1]).unwrap();
                    for (y, x) in target.iter_mut().zip(read) {
                        *y = y.wrapping_mul(31).wrapping_add(x);
                    }
                }
            }
        }
        let submission = streams[below(2)].submit(&list.commit().unwrap()).unwrap();
        if below(3) > 0 {
            continue;
        }
        submission.wait().unwrap();
        for (download, wanted) in downloads {
            assert_eq!(download.take(), wanted);
        }
        for (buffer, wanted) in buffers.iter().zip(&model) {
            assert_eq!(buffer.read().unwrap(), *wanted);
        }
    }
}
