//! Kernels run: results, scratch memory, images, output and faults.

mod common;

use common::{argument, bytes, kernels, load, metadata, talker_formats, words};
use luisac_artifact::metadata::ArgumentKind;
use luisac_runtime::{
    PixelStorage, RuntimeError,
    host::{Arg, Device},
};

fn buffer(ty: &str) -> luisac_artifact::metadata::Argument {
    argument(ArgumentKind::Buffer, ty, 4, 4)
}

#[test]
fn saxpy_at_sizes_around_a_block() {
    let Some(object) = kernels("saxpy") else { return };
    for device in [Device::cpu_with_threads(1), Device::cpu_with_threads(3)] {
        let arguments = vec![
            argument(ArgumentKind::Value, "float", 4, 4),
            buffer("buffer<float>"),
            buffer("buffer<float>"),
        ];
        let kernel = load(&device, &object, metadata("saxpy", [32, 1, 1], arguments, vec![]));
        for n in [0u32, 1, 31, 32, 33, 1000, 300_000] {
            let x = device
                .buffer_from(&bytes(&(0..n + 1).map(|i| (i as f32).to_bits()).collect::<Vec<_>>()))
                .unwrap();
            let y = device.buffer(4 * (n as usize + 1)).unwrap();
            let a = 2.0f32.to_le_bytes();
            let mut launch =
                kernel.bind(&[Arg::Value(&a), Arg::Buffer(&x), Arg::Buffer(&y)]).unwrap();
            launch.dispatch([n, 1, 1]).unwrap();
            launch.dispatch([n, 1, 0]).unwrap();
            let got: Vec<f32> = words(&y.to_vec()).into_iter().map(f32::from_bits).collect();
            let want: Vec<f32> =
                (0..=n).map(|i| if i < n { 2.0 * i as f32 } else { 0.0 }).collect();
            assert!(got == want, "{n}");
        }
    }
}

#[test]
fn a_buffer_may_be_given_twice_and_in_parts() {
    let Some(object) = kernels("alias") else { return };
    let device = Device::cpu();
    let arguments = vec![
        argument(ArgumentKind::Value, "float", 4, 4),
        buffer("buffer<float>"),
        buffer("buffer<float>"),
    ];
    let kernel = load(&device, &object, metadata("saxpy", [32, 1, 1], arguments, vec![]));
    let x = device.buffer_from(&bytes(&[1.0f32; 64].map(f32::to_bits))).unwrap();
    kernel
        .bind(&[Arg::Value(&3.0f32.to_le_bytes()), Arg::Buffer(&x), Arg::View(&x, 128..256)])
        .unwrap()
        .dispatch([32, 1, 1])
        .unwrap();
    let got = words(&x.to_vec());
    assert_eq!(
        got,
        [[1.0f32; 32], [4.0; 32]].concat().into_iter().map(f32::to_bits).collect::<Vec<_>>()
    );
}

#[test]
fn tables_calls_and_kernel_ids() {
    let Some(object) = kernels("tables") else { return };
    let device = Device::cpu();
    let kernel = load(
        &device,
        &object,
        metadata("tables", [32, 1, 1], vec![buffer("buffer<uint>")], vec![]),
    );
    let out = device.buffer(4 * 100).unwrap();
    kernel.bind(&[Arg::Buffer(&out)]).unwrap().kernel_id(5).dispatch([100, 1, 1]).unwrap();
    let table = |i: u32| [1, 4, 9, 16, 25].get(i as usize).copied().unwrap_or(0);
    let twice = |v: u32| v * 2 + table(v & 63);
    let thrice = |v: u32| v * 3 + table(v & 3);
    let jumps = |v: u32| match v % 9 {
        0 => twice(v),
        1 => v ^ 21,
        2 => thrice(v) + 2,
        3 => v / 3,
        4 => v << 4,
        5 => !v,
        6 => v * v,
        _ => [7, 8, 9][v as usize % 3],
    };
    let want: Vec<u32> = (0..100)
        .map(|v| {
            jumps(v).wrapping_add(if v & 1 == 0 { twice(v) } else { thrice(v) }).wrapping_add(5)
        })
        .collect();
    assert_eq!(words(&out.to_vec()), want);
}

#[test]
fn scratch_memory_is_aligned_and_each_blocks_own() {
    let Some(object) = kernels("sums") else { return };
    let device = Device::cpu_with_threads(4);
    let mut meta = metadata("sums", [32, 1, 1], vec![buffer("buffer<uint>")], vec![]);
    meta.scratch_bytes = 128;
    let kernel = load(&device, &object, meta);
    let blocks = 50_000u32;
    let out = device.buffer(4 * blocks as usize).unwrap();
    kernel.bind(&[Arg::Buffer(&out)]).unwrap().dispatch([blocks * 32 - 7, 1, 1]).unwrap();
    for (b, got) in words(&out.to_vec()).into_iter().enumerate() {
        let b = b as u32;
        let last = if b + 1 == blocks { 25 } else { 32 };
        assert_eq!(got, (0..last).map(|t| b * 32 + t).fold(0, u32::wrapping_add), "block {b}");
    }
}

#[test]
fn images_of_three_dimensions() {
    let Some(object) = kernels("volume") else { return };
    let device = Device::cpu();
    let image = || argument(ArgumentKind::Image, "texture<3,uint>", 0, 1);
    let kernel =
        load(&device, &object, metadata("volume", [4, 2, 2], vec![image(), image()], vec![]));
    let a = device.image_3d(PixelStorage::Byte4, [5, 3, 3]).unwrap();
    let b = device.image_3d(PixelStorage::Byte4, [5, 3, 3]).unwrap();
    let data: Vec<u32> = (0..5 * 3 * 3 * 4).collect();
    a.upload(&data, 4).unwrap();
    kernel.bind(&[Arg::Image(&a), Arg::Image(&b)]).unwrap().dispatch([5, 3, 3]).unwrap();
    assert_eq!(b.download::<u32>(4), data.iter().map(|v| v + 1).collect::<Vec<_>>());
    assert_eq!(b.download::<f32>(1)[1], 5.0 / 255.0);
}

fn talker(device: &Device, object: &[u8]) -> luisac_runtime::host::Kernel {
    let mut input = buffer("buffer<uint>");
    input.name = Some("in".into());
    load(device, object, metadata("talks", [32, 1, 1], vec![input], talker_formats()))
}

#[test]
fn printing() {
    let Some(object) = kernels("printing") else { return };
    let device = Device::cpu_with_threads(1);
    let kernel = talker(&device, &object);
    let input = device.buffer_from(&bytes(&[0, 1, 0, 0, 1])).unwrap();
    let mut launch = kernel.bind(&[Arg::Buffer(&input)]).unwrap();
    for _ in 0..2 {
        let output = launch.dispatch([5, 1, 1]).unwrap();
        assert_eq!(
            (output.lines, output.lost),
            (vec!["1: (1, -1)".into(), "4: (4, -4)".into()], 0)
        );
    }
}

#[test]
fn a_full_log_counts_what_it_lost() {
    let Some(object) = kernels("full") else { return };
    let device = Device::cpu_with_threads(2);
    let kernel = talker(&device, &object);
    let n = 100_000;
    let input = device.buffer_from(&bytes(&vec![1; n])).unwrap();
    let mut launch = kernel.bind(&[Arg::Buffer(&input)]).unwrap();
    launch.log_capacity(1 << 16);
    let output = launch.dispatch([n as u32, 1, 1]).unwrap();
    assert_eq!(output.lines.len(), (1 << 16) / 24);
    assert_eq!(output.lost, (n as u64 - (1 << 16) / 24) * 24);
    input.upload(4 * (n - 1), &2u32.to_le_bytes()).unwrap();
    assert!(matches!(launch.dispatch([n as u32, 1, 1]), Err(RuntimeError::FaultLost { .. })));
    // What an earlier dispatch left in the log is not read again.
    let output = launch.dispatch([3, 1, 1]).unwrap();
    assert_eq!(output.lines.len(), 3);
}

#[test]
fn faults_name_the_thread() {
    let Some(object) = kernels("faults") else { return };
    let device = Device::cpu_with_threads(2);
    let kernel = talker(&device, &object);
    let input = device.buffer_from(&bytes(&[1, 0, 2, 2, 3])).unwrap();
    let mut lines = Vec::new();
    let error = kernel
        .bind(&[Arg::Buffer(&input)])
        .unwrap()
        .dispatch_logged([5, 1, 1], &mut |l| lines.push(l.to_owned()))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "assertion failed in the kernel `talks` at dispatch id (2, 0, 0): not two"
    );
    assert_eq!(lines, ["0: (0, -0)"]);
    let input = device.buffer_from(&bytes(&[3])).unwrap();
    let error = kernel.bind(&[Arg::Buffer(&input)]).unwrap().dispatch([1, 1, 1]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "index -1 is out of bounds of argument 0 (`in`) in the kernel `talks` at dispatch id (0, 0, 0)"
    );
    assert_eq!(error.code(), "L1141");
}

#[test]
fn arguments_are_checked() {
    let Some(object) = kernels("arguments") else { return };
    let device = Device::cpu();
    let arguments = vec![
        argument(ArgumentKind::Value, "vector<float,3>", 16, 16),
        argument(ArgumentKind::Buffer, "buffer<vector<float,4>>", 16, 16),
        argument(ArgumentKind::Image, "texture<2,int>", 0, 1),
    ];
    let kernel = load(&device, &object, metadata("saxpy", [32, 1, 1], arguments, vec![]));
    let b = device.buffer(64).unwrap();
    let image = |s| device.image_2d(s, [4, 4]).unwrap();
    let (ints, floats) = (image(PixelStorage::Int1), image(PixelStorage::Float1));
    let volume = device.image_3d(PixelStorage::Int1, [4, 4, 1]).unwrap();
    let value = Arg::Value(&[0; 16]);
    let code = |arguments: &[Arg<'_>]| kernel.bind(arguments).err().map(|e| e.code());
    let ok = [value.clone(), Arg::View(&b, 16..48), Arg::Image(&ints)];
    assert_eq!(code(&ok), None);
    assert_eq!(code(&ok[..2]), Some("L1120"));
    assert_eq!(code(&[Arg::Buffer(&b), ok[1].clone(), ok[2].clone()]), Some("L1121"));
    assert_eq!(code(&[Arg::Value(&[0; 12]), ok[1].clone(), ok[2].clone()]), Some("L1122"));
    assert_eq!(code(&[value.clone(), Arg::View(&b, 8..48), ok[2].clone()]), Some("L1124"));
    assert_eq!(code(&[value.clone(), Arg::View(&b, 16..80), ok[2].clone()]), Some("L1124"));
    assert_eq!(code(&[value.clone(), ok[1].clone(), Arg::Image(&floats)]), Some("L1123"));
    assert_eq!(code(&[value.clone(), ok[1].clone(), Arg::Image(&volume)]), Some("L1123"));
}

#[test]
fn resources_that_cannot_be_are_errors() {
    let device = Device::cpu();
    let code = |r: Result<(), RuntimeError>| r.err().map(|e| e.code());
    assert_eq!(code(device.buffer(usize::MAX / 2).map(drop)), Some("L1130"));
    assert_eq!(code(device.buffer(usize::MAX).map(drop)), Some("L1130"));
    assert_eq!(code(device.image_2d(PixelStorage::Float4, [0, 1]).map(drop)), Some("L1131"));
    assert_eq!(code(device.image_2d(PixelStorage::Bc1, [4, 4]).map(drop)), Some("L1131"));
    assert_eq!(code(device.image_3d(PixelStorage::Float4, [u32::MAX; 3]).map(drop)), Some("L1131"));
    let b = device.buffer(8).unwrap();
    assert_eq!(code(b.upload(4, &[0; 5])), Some("L1132"));
    assert_eq!(code(b.download(usize::MAX, &mut [0; 5])), Some("L1132"));
    assert_eq!(
        code(device.image_2d(PixelStorage::Float4, [2, 2]).unwrap().upload(&[0.0f32; 15], 4)),
        Some("L1132")
    );
}
