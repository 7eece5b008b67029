//! Bindless arrays, sampled textures, device addresses and indirect dispatch in the interpreter, against computations of their
//! own. Kernels of the corpus, as their pages describe them; skipped where the corpus is absent.

use luisac_xir::interp::{
    self, Address, Arg, FaultKind, Filter, Launch, PixelStorage, Sampler, Slot,
};
use luisac_xir::{Module, from_ast, verify};
use std::path::Path;

fn kernel(name: &str) -> Option<Module> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/corpus/own"));
    let Ok(bytes) = std::fs::read(folder.join(name).with_extension("json")) else {
        println!("skipped: no corpus kernel `{name}`");
        return None;
    };
    let library = luisac_ast::json::read(&bytes).expect("a kernel");
    let module = from_ast::lower(&library, &from_ast::Options::default()).expect("it lowers");
    verify::verify(&module).expect("it is valid");
    Some(module)
}

fn run(module: &Module, args: &mut [Arg], dispatch: [u32; 3]) -> Result<(), FaultKind> {
    let kernel = module.kernels().next().expect("a kernel");
    interp::run(module, kernel, args, &Launch::new(dispatch)).map(|_| ()).map_err(|f| f.kind)
}

fn words(values: impl IntoIterator<Item = u32>) -> Vec<u8> {
    values.into_iter().flat_map(u32::to_le_bytes).collect()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|c| f32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
}

fn buffer(arg: &Arg) -> &[u8] {
    match arg {
        Arg::Buffer(bytes) | Arg::IndirectDispatch(bytes) => bytes,
        other => panic!("no buffer: {other:?}"),
    }
}

/// A slot that holds the buffer at this position of the arguments.
fn holds(position: u32) -> Slot {
    Slot { buffer: Some(position), ..Slot::default() }
}

#[test]
fn bindless_buffers_are_read_and_written_through_slots() {
    let Some(module) = kernel("bindless_buffers") else { return };
    let n = 70u32;
    let source = |slot: u32, i: u32| (slot * 1000 + i) as f32;
    // Slots 0 to 3 hold floats, 4 vectors, 5 and 6 words; behind the kernel's three arguments.
    let mut args = vec![
        Arg::Bindless((0..7).map(|slot| holds(3 + slot)).collect()),
        Arg::Buffer(words([2, 0, 3, 1])),
        Arg::Buffer(vec![0; n as usize * 4]),
    ];
    for slot in 0..4 {
        args.push(Arg::Buffer(words((0..n).map(|i| source(slot, i).to_bits()))));
    }
    args.push(Arg::Buffer(words((0..4 * n).map(|i| (i as f32).to_bits()))));
    args.push(Arg::Buffer(words((0..n).map(|i| if i == 3 { u32::MAX } else { 7 * i }))));
    args.push(Arg::Buffer(vec![0; n as usize * 4]));
    run(&module, &mut args, [n, 1, 1]).expect("it runs");
    let order = [2, 0, 3, 1];
    let out = floats(buffer(&args[2]));
    let written: Vec<u32> = floats(buffer(&args[9])).iter().map(|f| f.to_bits()).collect();
    for i in 0..n {
        let c = if i == 3 { u32::MAX } else { 7 * i };
        assert_eq!(written[i as usize], c.wrapping_add(1), "element {i}");
        let want = (source(order[i as usize % 4], i) + (4 * i + 1) as f32) + c as f32;
        assert_eq!(out[i as usize], want, "element {i}");
    }
}

#[test]
fn an_empty_slot_and_one_out_of_range_are_faults() {
    let Some(module) = kernel("bindless_buffers") else { return };
    let args = |slots: Vec<Slot>| {
        vec![
            Arg::Bindless(slots),
            Arg::Buffer(words([0; 4])),
            Arg::Buffer(vec![0; 4]),
            Arg::Buffer(words([0; 4])),
        ]
    };
    let mut empty = vec![holds(3); 7];
    empty[5] = Slot::default();
    let fault = run(&module, &mut args(empty), [1, 1, 1]);
    assert!(
        matches!(fault, Err(FaultKind::EmptySlot { slot: 5, holds: "buffer", .. })),
        "{fault:?}"
    );
    let fault = run(&module, &mut args(vec![holds(3); 4]), [1, 1, 1]);
    assert!(matches!(fault, Err(FaultKind::OutOfRange { index: 4, length: 4, .. })), "{fault:?}");
    let fault = run(&module, &mut args(vec![holds(9); 7]), [1, 1, 1]);
    assert!(matches!(fault, Err(FaultKind::WrongArgument { position: 0, .. })), "{fault:?}");
}

/// A texture of floats with levels, whose texels are `value(level, x, y, z)` in the first channel.
fn texture(size: [u32; 3], levels: u32, value: impl Fn(u32, u32, u32, u32) -> f32) -> Arg {
    let mut texels = Vec::new();
    for level in 0..levels {
        let [w, h, d] = size.map(|n| (n >> level).max(1));
        for (z, y, x) in
            (0..d).flat_map(|z| (0..h).flat_map(move |y| (0..w).map(move |x| (z, y, x))))
        {
            texels.push(value(level, x, y, z));
        }
    }
    Arg::Image {
        storage: PixelStorage::from_name("float1").expect("a storage"),
        width: size[0],
        height: size[1],
        depth: size[2],
        levels,
        data: words(texels.iter().map(|t| t.to_bits())),
    }
}

#[test]
fn bindless_textures_are_sampled_read_and_measured() {
    let Some(module) = kernel("bindless_textures") else { return };
    let sampler = Sampler { filter: Filter::Point, address: Address::Repeat };
    let flat = |level: u32, x: u32, y: u32, _: u32| (1000 * level + 10 * y + x) as f32;
    let deep = |level: u32, x: u32, y: u32, z: u32| (100 * z) as f32 + flat(level, x, y, z) / 7.0;
    let (size2, size3) = ([16u32, 8, 1], [8u32, 4, 4]);
    let slots = vec![
        Slot::default(),
        Slot { image2d: Some((3, sampler)), ..Slot::default() },
        Slot { image3d: Some((4, sampler)), ..Slot::default() },
    ];
    let n = [13u32, 6];
    let mut args = vec![
        Arg::Bindless(slots),
        Arg::Buffer(vec![0; (n[0] * n[1] * 16) as usize]),
        Arg::Value(words([1])),
        texture(size2, 3, flat),
        texture(size3, 2, deep),
    ];
    run(&module, &mut args, [n[0], n[1], 1]).expect("it runs");
    let out = floats(buffer(&args[1]));
    let halved = |n: u32, level: u32| (n >> level).max(1);
    for (i, value) in out.chunks_exact(4).enumerate() {
        let p = [i as u32 % n[0], i as u32 / n[0]];
        let uv = [0, 1].map(|a| (p[a] as f32 + 0.5) / n[a] as f32);
        let near = |u: f32, n: u32| ((u * n as f32).floor() as u32) % n;
        let sample2 =
            |level| flat(level, near(uv[0], halved(16, level)), near(uv[1], halved(8, level)), 0);
        let sample3 = |level| {
            let [w, h, d] = [8, 4, 4].map(|n| halved(n, level));
            deep(level, near(uv[0], w), near(uv[1], h), near(0.5, d))
        };
        let want = [
            sample2(0),
            sample2(1),
            sample2(0),
            sample2(2),
            flat(0, p[0] % 16, p[1] % 8, 0),
            flat(1, p[0] % 8, p[1] % 4, 0),
            sample3(0),
            sample3(0),
            sample3(0),
            sample3(1),
            deep(0, p[0] % 8, p[1] % 4, 0),
            deep(1, p[0] % 4, p[1] % 2, 0),
        ];
        let want: f32 = want.iter().sum();
        assert!(
            (value[0] - want).abs() <= want * 1e-5,
            "thread {p:?}: {} and not {want}",
            value[0]
        );
        assert_eq!(value[1..], [0.0; 3], "thread {p:?}");
    }
}

#[test]
fn the_sampler_of_a_call_stands_above_that_of_the_slot() {
    let Some(module) = kernel("bindless_sampler_sample") else { return };
    let stored = Sampler { filter: Filter::Point, address: Address::Zero };
    let slots = vec![
        Slot { image2d: Some((2, stored)), ..Slot::default() },
        Slot { image3d: Some((3, stored)), ..Slot::default() },
    ];
    // A ramp along x that is halved exactly: with linear filters and levels the result is a ramp too, flat at the edges.
    let ramp = |level: u32, x: u32, _: u32, _: u32| (x as f32 + 0.5) * (1 << level) as f32;
    let n = [9u32, 5];
    let mut args = vec![
        Arg::Bindless(slots),
        Arg::Buffer(vec![0; (n[0] * n[1] * 16) as usize]),
        texture([16, 8, 1], 4, ramp),
        texture([16, 8, 8], 4, ramp),
    ];
    run(&module, &mut args, [n[0], n[1], 1]).expect("it runs");
    let out = floats(buffer(&args[1]));
    for (i, value) in out.chunks_exact(4).enumerate() {
        let u = ((i as u32 % n[0]) as f32 + 0.5) / n[0] as f32;
        let at = |level: u32| {
            let scale = (1 << level) as f32;
            (u * 16.0).clamp(0.5 * scale, 16.0 - 0.5 * scale)
        };
        // Sample, level 1, gradients of 0.01 (level 0), the same not below level 1; for both textures.
        let want = 2.0 * (at(0) + at(1) + at(0) + at(1));
        assert!((value[0] - want).abs() <= 1e-3, "u {u}: {} and not {want}", value[0]);
    }
}

#[test]
fn indirect_dispatches_are_recorded() {
    let Some(module) = kernel("indirect_fill") else { return };
    let sizes = [5u32, 0, 700];
    let args = |capacity: usize| {
        vec![
            Arg::IndirectDispatch(vec![0; 16 + 32 * capacity]),
            Arg::Buffer(words(sizes)),
            Arg::Value(words([3])),
        ]
    };
    let mut fits = args(3);
    run(&module, &mut fits, [3, 1, 1]).expect("it runs");
    let bytes = buffer(&fits[0]);
    assert_eq!(bytes[..4], 3u32.to_le_bytes());
    for (i, record) in bytes[16..].chunks_exact(32).enumerate() {
        assert_eq!(record, words([64, 1, 1, 0, sizes[i], 1, 1, i as u32]), "record {i}");
    }
    let fault = run(&module, &mut args(2), [3, 1, 1]);
    assert!(matches!(fault, Err(FaultKind::OutOfRange { index: 2, length: 2, .. })), "{fault:?}");
}

#[test]
fn a_device_address_leads_to_its_buffer() {
    let text = r#"kernel @k block(1, 1, 1) (%0: resource buffer<u32>, %1: resource buffer<u32>) {
b0:
  %2: u64 = resource_query buffer_device_address %0
  %3: u64 = arithmetic binary_add %2, u64 8
  %4: u32 = resource_read device_address_read %3
  resource_write buffer_write %1, u32 0, %4
  %5: u64 = resource_query buffer_device_address %1
  %6: u64 = arithmetic binary_add %5, u64 4
  resource_write device_address_write %6, u32 9
  return
}
"#;
    let module = match luisac_xir::text::parse(text) {
        Ok(module) => module,
        Err(e) => panic!("{e:?}"),
    };
    let args =
        |n: usize| vec![Arg::Buffer(words([1, 2, 3][..n].to_vec())), Arg::Buffer(vec![0; 8])];
    let mut both = args(3);
    run(&module, &mut both, [1, 1, 1]).expect("it runs");
    assert_eq!(buffer(&both[1]), words([3, 9]));
    let fault = run(&module, &mut args(2), [1, 1, 1]);
    assert!(matches!(fault, Err(FaultKind::OutOfRange { index: 8, length: 8, .. })), "{fault:?}");
}
