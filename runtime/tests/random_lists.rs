//! Random lists give the same bytes on many threads as by the book: one command after the other, in plain Rust.
//!
//! `LUISAC_LISTS` says how many lists; a few are tried without it. `LUISAC_DEVICE` names another device than the CPU
//! (`vulkan` with the feature `wgsl`).

mod common;

use common::{argument, kernels, metadata};
use luisac_artifact::metadata::{ArgumentKind, Usage};
use luisac_runtime::{
    BindlessArray, Buffer, CommandList, Device, Download, Image, ImageShape, Kernel, PixelStorage,
};

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }
}

const BUFFERS: usize = 4;
const LEVELS: usize = 4;
const SLOTS: usize = 3;
/// Words of each buffer; the last one is long enough for dispatches that threads share.
const WORDS: [usize; BUFFERS] = [64, 64, 160, 40_000];

/// Words of a buffer.
#[derive(Clone, Copy)]
struct Part {
    buffer: usize,
    start: usize,
    len: usize,
}

impl Part {
    fn random(random: &mut Random, buffer: usize, longest: usize) -> Self {
        let len = 1 + random.below(longest.min(WORDS[buffer]));
        // Slots of bindless arrays take multiples of 16 bytes.
        let start = random.below((WORDS[buffer] - len) / 4 + 1) * 4;
        Self { buffer, start, len: len.min(WORDS[buffer] - start) }
    }

    fn of(self, buffers: &[Buffer<u32>]) -> Buffer<u32> {
        buffers[self.buffer].view(self.start..self.start + self.len).unwrap()
    }
}

/// Everything by the book.
#[derive(Clone)]
struct Model {
    buffers: Vec<Vec<u32>>,
    levels: Vec<Vec<u32>>,
    slots: [Option<Part>; SLOTS],
}

impl Model {
    fn part(&mut self, part: Part) -> &mut [u32] {
        &mut self.buffers[part.buffer][part.start..part.start + part.len]
    }
}

struct Real {
    buffers: Vec<Buffer<u32>>,
    image: Image,
    array: BindlessArray,
    mix: Kernel,
    gather: Kernel,
    scatter: Kernel,
}

impl Real {
    fn new(device: &Device, object: &[u8]) -> Self {
        let words = |usage| {
            let argument = argument(ArgumentKind::Buffer, "buffer<uint>", 4, 4);
            luisac_artifact::metadata::Argument { usage, ..argument }
        };
        let array = |usage| {
            let argument = argument(ArgumentKind::BindlessArray, "bindless_array", 0, 1);
            luisac_artifact::metadata::Argument { usage, ..argument }
        };
        let load = |name: &str, arguments| {
            let (code, metadata) = match device.name() {
                "cuda" => (object.to_vec(), common::ptx_metadata(name, [32, 1, 1], arguments)),
                #[cfg(feature = "wgsl")]
                "vulkan" => common::shaders::kernel(name, arguments),
                _ => (object.to_vec(), metadata(name, [32, 1, 1], arguments, vec![])),
            };
            // SAFETY: the code is the C compiler's, naga's, or our own PTX, from a source whose kernels follow the metadata.
            unsafe { device.load(&code, metadata) }.unwrap()
        };
        let shape = ImageShape {
            storage: PixelStorage::Int1,
            dimension: 2,
            size: [8, 8, 1],
            levels: LEVELS as u32,
        };
        Self {
            buffers: WORDS.iter().map(|n| device.buffer(*n).unwrap()).collect(),
            image: device.image(shape).unwrap(),
            array: device.bindless_array(SLOTS as u32).unwrap(),
            mix: load("mix", vec![words(Usage::Read), words(Usage::ReadWrite)]),
            gather: load("gather", vec![array(Usage::Read), words(Usage::ReadWrite)]),
            scatter: load("scatter", vec![array(Usage::ReadWrite)]),
        }
    }
}

fn level_words(level: usize) -> usize {
    (8 >> level) * (8 >> level)
}

/// Records one random command and does it by the book. Returns what a download should bring.
fn step(
    random: &mut Random,
    list: &mut CommandList,
    real: &Real,
    model: &mut Model,
) -> Option<(Download<u32>, Vec<u32>)> {
    let buffer = random.below(BUFFERS);
    let longest = if random.below(8) == 0 { 40_000 } else { 64 };
    let part = Part::random(random, buffer, longest);
    let next = (buffer + 1 + random.below(BUFFERS - 1)) % BUFFERS;
    let mut other = Part::random(random, next, 64);
    let (level, value) = (random.below(LEVELS), random.below(1000) as u32);
    let target = real.image.level(level as u32).unwrap();
    let words = level_words(level);
    match random.below(12) {
        0 => {
            list.fill(&part.of(&real.buffers), value).unwrap();
            model.part(part).fill(value);
        }
        1 => {
            let data: Vec<u32> = (0..part.len as u32).map(|i| i ^ value).collect();
            list.upload(&part.of(&real.buffers), &data).unwrap();
            model.part(part).copy_from_slice(&data);
        }
        2 => {
            let download = list.download(&part.of(&real.buffers)).unwrap();
            return Some((download, model.part(part).to_vec()));
        }
        3 => {
            let part = Part { len: part.len.min(other.len), ..part };
            other.len = part.len;
            list.copy(&part.of(&real.buffers), &other.of(&real.buffers)).unwrap();
            let data = model.part(part).to_vec();
            model.part(other).copy_from_slice(&data);
        }
        4..7 => {
            let part = Part { len: part.len.min(other.len), ..part };
            let views = (&other.of(&real.buffers), &part.of(&real.buffers));
            list.dispatch(&real.mix, views, [part.len as u32, 1, 1]).unwrap();
            let x = model.part(other).to_vec();
            for (y, x) in model.part(part).iter_mut().zip(x) {
                *y = y.wrapping_mul(31).wrapping_add(x);
            }
        }
        7 if WORDS[buffer] >= words => {
            let part = Part { start: 0, len: words, buffer };
            if random.below(2) == 0 {
                list.copy_to_image(&part.of(&real.buffers), &target).unwrap();
                model.levels[level] = model.part(part).to_vec();
            } else {
                list.copy_from_image(&target, &part.of(&real.buffers)).unwrap();
                let texels = model.levels[level].clone();
                model.part(part).copy_from_slice(&texels);
            }
        }
        8 => {
            list.upload_image(&target, value.to_le_bytes().repeat(words)).unwrap();
            model.levels[level].fill(value);
        }
        9 => {
            let slot = random.below(SLOTS);
            let member = (random.below(4) > 0).then_some(part);
            match member {
                Some(part) => {
                    real.array.set_buffer(slot as u32, &part.of(&real.buffers)).unwrap();
                }
                None => real.array.clear(slot as u32).unwrap(),
            }
            list.update(&real.array).unwrap();
            model.slots[slot] = member;
        }
        10 => {
            // A dispatch must not race with itself: the target is no member, nor are members written twice.
            if model.slots.iter().flatten().all(|m| m.buffer != part.buffer) {
                let view = part.of(&real.buffers);
                list.dispatch(&real.gather, (&real.array, &view), [part.len as u32, 1, 1]).unwrap();
                let members: Vec<Part> = model.slots.iter().flatten().copied().collect();
                for i in 0..part.len {
                    let words = members.iter().filter(|m| i < m.len);
                    let words = words.map(|m| model.buffers[m.buffer][m.start + i]);
                    let sum = words.fold(0, u32::wrapping_add);
                    let out = &mut model.part(part)[i];
                    *out = out.wrapping_mul(31).wrapping_add(sum);
                }
            }
        }
        _ => {
            let mut seen = [false; BUFFERS];
            let apart = |m: &Part| !std::mem::replace(&mut seen[m.buffer], true);
            if model.slots.iter().flatten().all(apart) {
                list.dispatch(&real.scatter, (&real.array,), [64, 1, 1]).unwrap();
                for member in model.slots.into_iter().flatten() {
                    model.part(member).iter_mut().take(64).for_each(|w| *w = w.wrapping_add(1));
                }
            }
        }
    }
    None
}

/// The device that was asked for, with the code of the kernels for it.
fn device() -> Option<(Device, Vec<u8>)> {
    match std::env::var("LUISAC_DEVICE") {
        Ok(name) if name == "cuda" => Some((Device::open(&name).unwrap(), common::PTX.into())),
        #[cfg(feature = "wgsl")]
        Ok(name) if name == "vulkan" => Some((Device::open(&name).unwrap(), Vec::new())),
        Ok(name) if name != "cpu" => panic!("there are no kernels for the device {name}"),
        _ => Some((Device::cpu_with_threads(4), kernels("random")?)),
    }
}

#[test]
fn threads_give_what_one_after_the_other_gives() {
    let Some((device, object)) = device() else { return };
    let lists: u64 = std::env::var("LUISAC_LISTS").ok().and_then(|n| n.parse().ok()).unwrap_or(60);
    let real = Real::new(&device, &object);
    let mut model = Model {
        buffers: WORDS.iter().map(|n| vec![0; *n]).collect(),
        levels: (0..LEVELS).map(|level| vec![0; level_words(level)]).collect(),
        slots: [None; SLOTS],
    };
    let (stream, second) = (device.stream(), device.stream());
    for seed in 1..=lists {
        let random = &mut Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut list = device.list();
        let mut downloads = Vec::new();
        for _ in 0..1 + random.below(80) {
            downloads.extend(step(random, &mut list, &real, &mut model));
        }
        let list = list.commit().unwrap();
        // Two streams without events: what uses the same resources keeps its order all the same.
        let stream = if random.below(3) == 0 { &second } else { &stream };
        let submission = stream.submit(&list).unwrap();
        if random.below(4) > 0 {
            continue;
        }
        submission.wait().unwrap();
        for (download, wanted) in downloads {
            assert_eq!(download.take(), wanted, "a download of list {seed}");
        }
        for (buffer, wanted) in real.buffers.iter().zip(&model.buffers) {
            assert!(buffer.read().unwrap() == *wanted, "a buffer after list {seed}");
        }
        for (level, wanted) in model.levels.iter().enumerate() {
            let level = real.image.level(level as u32).unwrap();
            assert_eq!(level.read::<u32>(1).unwrap(), *wanted, "a level after list {seed}");
        }
    }
    stream.wait().unwrap();
    second.wait().unwrap();
}
