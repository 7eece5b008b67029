//! The device `vulkan` under command lists. Skipped with a line where there is none. Whether all barriers are there, only the
//! validation layer can tell where a driver runs one command after the other (`docs/verification.md`).

mod common;

use std::sync::{Arc, Mutex, mpsc};

use common::shaders::{self, AXPY, axpy_arguments, described, spirv, talks, wgsl};
use luisac_artifact::{
    PixelStorage,
    bindings::{Api, Extras},
    metadata::{ArgumentKind, Usage},
};
use luisac_runtime::{
    Address, Device, Filter, ImageShape, IndirectDispatch, Kernel, RuntimeError, Sampler,
};

/// The device, or nothing, said in one line.
fn device() -> Option<Device> {
    match Device::open("vulkan") {
        Ok(device) => Some(device),
        Err(RuntimeError::Vulkan(e)) if e.is_absence() => {
            println!("skipped: {e}");
            None
        }
        Err(e) => panic!("{e}"),
    }
}

/// `y[i] = a * x[i] + y[i]` plus the kernel id.
fn axpy(device: &Device) -> Kernel {
    let metadata = wgsl([64, 1, 1], axpy_arguments(), vec![]);
    // SAFETY: the kernel stays inside its buffers.
    unsafe { device.load(AXPY.as_bytes(), metadata) }.unwrap()
}

/// Order, copies of all kinds, several and indirect sizes, failures that stay.
#[test]
fn lists_and_streams() {
    let Some(device) = device() else { return };
    let axpy = axpy(&device);
    let x = device.buffer_from(&(0..64u32).collect::<Vec<_>>()).unwrap();
    let y = device.buffer::<u32>(64).unwrap();
    let image = device.image_2d(PixelStorage::Int1, [8, 8]).unwrap();
    let sizes = device.indirect_buffer(3).unwrap();
    let entry = |size, kernel_id| IndirectDispatch { block_size: [64, 1, 1], size, kernel_id };
    sizes.write(&[entry([0, 1, 1], 9), entry([32, 1, 1], 100)]).unwrap();
    let event = device.event();

    let mut list = device.list();
    list.fill(&y, 1).unwrap();
    list.dispatch(&axpy, (&x, &y, 2u32), [64, 1, 1]).unwrap();
    list.copy_to_image(&y, &image.base()).unwrap();
    list.fill(&y, 0).unwrap();
    list.copy_from_image(&image.base(), &y).unwrap();
    list.dispatch_many(&axpy, (&x, &y, 1u32), &[[64, 1, 1], [16, 1, 1]]).unwrap();
    list.dispatch_indirect(&axpy, (&x, &y, 0u32), &sizes).unwrap();
    list.signal(&event);
    let result = list.download(&y).unwrap();
    let list = list.commit().unwrap();
    let stream = device.stream();
    let expected: Vec<u32> = (0..64)
        .map(|i| 1 + 3 * i + if i < 16 { i + 1 } else { 0 } + if i < 32 { 100 } else { 0 })
        .collect();
    for _ in 0..3 {
        stream.submit(&list).unwrap();
    }
    event.wait().unwrap();
    stream.wait().unwrap();
    assert_eq!(result.take(), expected);

    sizes.write(&[IndirectDispatch { block_size: [1, 1, 1], ..entry([1, 1, 1], 0) }]).unwrap();
    assert_eq!(stream.submit(&list).unwrap().wait().unwrap_err().code(), "L1144");
    assert_eq!(stream.submit(&list).err().map(|e| e.code()), Some("L1150"));
    assert_eq!(x.read().unwrap()[63], 63);
}

#[test]
fn copies_begin_at_any_byte() {
    let Some(device) = device() else { return };
    let bytes = device.buffer_from(&(0..100u8).collect::<Vec<_>>()).unwrap();
    let other = device.buffer::<u8>(100).unwrap();
    let image = device.image_2d(PixelStorage::Int2, [3, 2]).unwrap();
    let shape = ImageShape { levels: 2, ..*image.shape() };
    let levels = device.image(shape).unwrap();
    let mut list = device.list();
    // 48 bytes of texels from byte 3, to byte 5.
    list.copy_to_image(&bytes.view(3..51).unwrap(), &image.base()).unwrap();
    list.copy_image(&image.base(), &levels.base()).unwrap();
    list.copy_from_image(&levels.base(), &other.view(5..53).unwrap()).unwrap();
    list.copy(&bytes.view(90..97).unwrap(), &other.view(61..68).unwrap()).unwrap();
    list.fill(&other.view(71..74).unwrap(), 9).unwrap();
    list.fill(&bytes.view(0..0).unwrap(), 9).unwrap();
    list.copy(&bytes.view(7..7).unwrap(), &other.view(7..7).unwrap()).unwrap();
    let none = list.download(&bytes.view(0..0).unwrap()).unwrap();
    let texels = list.download_image(&levels.level(1).unwrap()).unwrap();
    let all = list.download(&other).unwrap();
    list.run().unwrap();
    let mut expected = vec![0u8; 100];
    expected[5..53].copy_from_slice(&(3..51).collect::<Vec<u8>>());
    expected[61..68].copy_from_slice(&(90..97).collect::<Vec<u8>>());
    expected[71..74].fill(9);
    assert_eq!(all.take(), expected);
    assert_eq!((none.take(), texels.take()), (vec![], vec![0; 8]));
}

#[test]
fn fills_take_any_pattern() {
    let Some(device) = device() else { return };
    const COUNT: usize = 200_000;
    fn check<T: luisac_runtime::Value + PartialEq + std::fmt::Debug + Copy>(
        device: &Device,
        value: T,
    ) {
        let buffer = device.buffer::<T>(COUNT).unwrap();
        let mut list = device.list();
        list.fill(&buffer.view(1..COUNT).unwrap(), value).unwrap();
        let all = list.download(&buffer).unwrap();
        list.run().unwrap();
        let all = all.take();
        assert!(all[0] != value && all[1..].iter().all(|v| *v == value), "{value:?}");
    }
    check(&device, 7u8);
    check(&device, 0x1234u16);
    check(&device, 0x1234_5678u32);
    check(&device, 0x1234_5678_9abc_def0u64);
    check(&device, [1u32, 2, 3, 4, 5]);
}

#[test]
fn what_kernels_log_comes_in_order_and_a_fault_ends_the_list() {
    let Some(device) = device() else { return };
    let (code, metadata) = talks();
    // SAFETY: the kernel has no buffers.
    let talks = unsafe { device.load(code.as_bytes(), metadata) }.unwrap();
    let stream = device.stream();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = seen.clone();
    stream.on_print(move |line| sink.lock().unwrap().push(line.to_owned()));
    let mut list = device.list();
    list.dispatch(&talks, (9u32,), [2, 1, 1]).unwrap();
    list.dispatch(&talks, (9u32,), [1, 1, 1]).unwrap();
    let list = list.commit().unwrap();
    for _ in 0..3 {
        stream.submit(&list).unwrap();
    }
    stream.wait().unwrap();
    let mut lines = std::mem::take(&mut *seen.lock().unwrap());
    lines.chunks_mut(3).for_each(|run| run[..2].sort());
    assert_eq!(lines, ["thread 0", "thread 1", "thread 0"].repeat(3));
    // More than the log holds, then less: nothing of the first is seen again.
    let mut list = device.list();
    list.dispatch(&talks, (u32::MAX,), [70_000, 1, 1]).unwrap();
    let output = stream.submit(&list.commit().unwrap()).unwrap().wait().unwrap();
    assert_eq!((output.lines.len() as u64, output.lost), (1 << 16, (70_000 - (1 << 16)) * 16));

    let reached = Arc::new(Mutex::new(false));
    let flag = reached.clone();
    let mut list = device.list();
    list.dispatch(&talks, (1u32,), [3, 1, 1]).unwrap();
    list.callback(move || *flag.lock().unwrap() = true);
    let error = stream.submit(&list.commit().unwrap()).unwrap().wait().unwrap_err();
    assert_eq!(error.code(), "L1140");
    assert!(!*reached.lock().unwrap(), "what waits for the fault does not run");
    assert_eq!(device.buffer_from(&[5u32]).unwrap().read().unwrap(), [5], "the device goes on");
}

#[test]
fn submitting_blocks_for_nothing() {
    let Some(device) = device() else { return };
    let axpy = axpy(&device);
    let x = device.buffer_from(&[1u32; 64]).unwrap();
    let (y, z) = (device.buffer::<u32>(64).unwrap(), device.buffer::<u32>(64).unwrap());
    let (release, gate) = mpsc::channel::<()>();
    let mut list = device.list();
    list.dispatch(&axpy, (&x, &y, 1u32), [64, 1, 1]).unwrap();
    list.callback(move || gate.recv().unwrap());
    list.dispatch(&axpy, (&x, &y, 1u32), [64, 1, 1]).unwrap();
    let first = device.stream().submit(&list.commit().unwrap()).unwrap();
    // A list of another stream that uses the same buffer waits, one that does not ends while the first is held up.
    let mut list = device.list();
    list.dispatch(&axpy, (&y, &z, 5u32), [64, 1, 1]).unwrap();
    let third = device.stream().submit(&list.commit().unwrap()).unwrap();
    let mut list = device.list();
    let own = device.buffer::<u32>(64).unwrap();
    list.dispatch(&axpy, (&x, &own, 3u32), [64, 1, 1]).unwrap();
    device.stream().submit(&list.commit().unwrap()).unwrap().wait().unwrap();
    assert!(!first.is_done() && !third.is_done());
    release.send(()).unwrap();
    third.wait().unwrap();
    assert!(first.is_done());
    assert_eq!((y.read().unwrap(), z.read().unwrap()), (vec![2; 64], vec![10; 64]));
    assert_eq!(own.read().unwrap(), [3; 64]);
}

/// Slots lead to images from any level on, and a list whose array holds other things is recorded anew.
#[test]
fn slots_hold_levels_of_images() {
    let Some(device) = device() else { return };
    let source = "
enable wgpu_binding_array;
@group(0) @binding(0) var<uniform> p: array<vec4<u32>, 3>;
@group(0) @binding(1) var<storage, read> records: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;
@group(3) @binding(0) var images: binding_array<texture_2d<f32>>;
@compute @workgroup_size(1) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let place = records[2u * id.x + 1u].x & 0xfffffffu;
  if (place == 0u) { out[id.x] = 0u; return; }
  let size = textureDimensions(images[place]);
  out[id.x] = size.x * 100u + u32(textureLoad(images[place], vec2<i32>(0, 0), 0).x);
}";
    let array = shaders::array(Usage::Read);
    let extras = Extras { bindless_images2d: true, ..Extras::default() };
    let arguments = vec![array, shaders::buffer(Usage::Write)];
    let m = described("spirv:1.5", Api::Vulkan, [1, 1, 1], arguments, vec![], extras);
    assert_eq!(m.arguments[0].kind, ArgumentKind::BindlessArray);
    // SAFETY: the kernel stays inside its buffers.
    let kernel = unsafe { device.load(&spirv(source), m) }.unwrap();
    let shape =
        ImageShape { storage: PixelStorage::Float1, dimension: 2, size: [8, 8, 1], levels: 3 };
    let image = device.image(shape).unwrap();
    let array = device.bindless_array(3).unwrap();
    let out = device.buffer::<u32>(3).unwrap();
    let sampler = Sampler { filter: Filter::Point, address: Address::Edge };
    let mut list = device.list();
    for level in 0..3u32 {
        let texels = (40.0 + level as f32).to_le_bytes().repeat(64 >> (2 * level));
        list.upload_image(&image.level(level).unwrap(), texels).unwrap();
        array.set_image(level, &image.level(2 - level).unwrap(), sampler).unwrap();
        array.set_image(level, &image.level(level).unwrap(), sampler).unwrap();
    }
    list.update(&array).unwrap();
    list.run().unwrap();
    let mut list = device.list();
    list.dispatch(&kernel, (&array, &out), [3, 1, 1]).unwrap();
    let result = list.download(&out).unwrap();
    let list = list.commit().unwrap();
    let stream = device.stream();
    let run = || {
        stream.submit(&list).unwrap().wait().unwrap();
        result.take()
    };
    assert_eq!(run(), [840, 441, 242]);
    assert_eq!(run(), [840, 441, 242]);
    array.clear(1).unwrap();
    array.set_image(2, &image.base(), sampler).unwrap();
    let mut update = device.list();
    update.update(&array).unwrap();
    update.run().unwrap();
    assert_eq!(run(), [840, 0, 840]);
}

#[test]
fn many_streams_and_dropped_handles() {
    let Some(device) = device() else { return };
    let axpy = axpy(&device);
    std::thread::scope(|scope| {
        for t in 0..4u32 {
            let (device, axpy) = (&device, &axpy);
            scope.spawn(move || {
                let stream = device.stream();
                for round in 0..40u32 {
                    let x = device.buffer_from(&[t; 256]).unwrap();
                    let y = device.buffer_from(&[round; 256]).unwrap();
                    let mut list = device.list();
                    list.dispatch(axpy, (&x, &y, 2u32), [256, 1, 1]).unwrap();
                    list.dispatch(axpy, (&x, &y, 1u32), [256, 1, 1]).unwrap();
                    let result = list.download(&y).unwrap();
                    let list = list.commit().unwrap();
                    let submission = stream.submit(&list).unwrap();
                    drop((x, y, list));
                    if round % 3 > 0 {
                        continue;
                    }
                    submission.wait().unwrap();
                    assert_eq!(result.take(), [3 * t + round; 256]);
                }
                stream.wait().unwrap();
            });
        }
    });
}
