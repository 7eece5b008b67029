//! What the runner is given; `runner.cpp` says how it lies in the file.

use super::common::raw::{Compiled, LOG_CAPACITY, Raw, RawImage, RawSlot};
use luisac_artifact::bindings::SlotKind;
use luisac_artifact::metadata::Argument;
use luisac_artifact::{PixelStorage, TexelKind};

/// A job, and where the arguments are among its buffers and images.
pub struct Job {
    pub bytes: Vec<u8>,
    /// Bytes of each buffer, then of each image.
    sizes: Vec<usize>,
    /// How many of them are buffers.
    buffers: usize,
    /// For each argument where it is.
    places: Vec<Place>,
}

/// Where an argument is among buffers and images.
enum Place {
    Nowhere,
    Buffer(usize),
    /// Among the images.
    Image(usize),
    /// Of each slot of a bindless array, its buffer.
    Slots(Vec<Option<usize>>),
}

/// An address that the runner stores: in which buffer, where, and of what.
struct Address {
    buffer: usize,
    offset: u64,
    target: Target,
}

#[derive(Clone, Copy)]
enum Target {
    Buffer(usize),
    Image(usize),
}

/// The index of buffers that no parameter names.
const UNBOUND: u32 = 63;

/// What a job is put together from.
#[derive(Default)]
struct Parts<'a> {
    /// With their indices.
    buffers: Vec<(u32, Vec<u8>)>,
    images: Vec<(Vec<u32>, &'a RawImage)>,
    addresses: Vec<Address>,
}

impl<'a> Parts<'a> {
    fn buffer(&mut self, index: u32, bytes: Vec<u8>) -> usize {
        self.buffers.push((index, bytes));
        self.buffers.len() - 1
    }

    fn image(&mut self, indices: Vec<u32>, image: &'a RawImage) -> usize {
        self.images.push((indices, image));
        self.images.len() - 1
    }

    fn argument(&mut self, formal: &Argument, raw: &'a Raw) -> Result<Place, String> {
        let slots = &formal.slots;
        let first = || slots.first().map(|s| s.index).ok_or("a buffer without a slot");
        Ok(match raw {
            Raw::Value(_) => Place::Nowhere,
            Raw::Buffer(bytes) => Place::Buffer(self.buffer(first()?, bytes.clone())),
            Raw::Image(image) => {
                let is_image = |k| matches!(k, SlotKind::SampledImage | SlotKind::StorageImage);
                if slots.is_empty() || !slots.iter().all(|s| is_image(s.kind)) {
                    return Err(format!("an image has the slots {slots:?}"));
                }
                Place::Image(self.image(slots.iter().map(|s| s.index).collect(), image))
            }
            Raw::Bindless(all) => Place::Slots(self.records(first()?, all)),
        })
    }

    /// The records of a bindless array (`docs/abi.md`); gives the buffers of its slots.
    fn records(&mut self, index: u32, slots: &'a [RawSlot]) -> Vec<Option<usize>> {
        let records = self.buffer(index, vec![0; 32 * slots.len()]);
        let mut buffers = Vec::new();
        for (k, slot) in slots.iter().enumerate() {
            let start = 32 * k;
            let mut about = 0;
            let buffer = slot.buffer.as_ref().map(|bytes| self.buffer(UNBOUND, bytes.clone()));
            if let (Some(bytes), Some(buffer)) = (&slot.buffer, buffer) {
                about = bytes.len() as u64;
                self.address(records, start, Target::Buffer(buffer));
            }
            for (d, held) in slot.images.iter().enumerate() {
                let Some((image, sampler)) = held else { continue };
                about |= u64::from(*sampler) << (48 + 8 * d);
                let image = self.image(Vec::new(), image);
                self.address(records, start + 16 + 8 * d, Target::Image(image));
            }
            self.buffers[records].1[start + 8..start + 16].copy_from_slice(&about.to_le_bytes());
            buffers.push(buffer);
        }
        buffers
    }

    fn address(&mut self, buffer: usize, offset: usize, target: Target) {
        self.addresses.push(Address { buffer, offset: offset as u64, target });
    }
}

impl Job {
    /// The job of a case.
    pub fn of(compiled: &Compiled) -> Result<Job, String> {
        let bindings = compiled.metadata.bindings.as_ref().ok_or("the metadata has no bindings")?;
        let mut parts = Parts::default();
        parts.buffer(bindings.params.index, compiled.parameter_block());
        let both = compiled.metadata.arguments.iter().zip(&compiled.arguments);
        let places: Result<_, String> =
            both.map(|(formal, raw)| parts.argument(formal, raw)).collect();
        if let Some(log) = bindings.log {
            parts.buffer(log.index, vec![0; LOG_CAPACITY as usize + 8]);
        }
        let mut job = Job {
            bytes: Vec::new(),
            sizes: Vec::new(),
            places: places?,
            buffers: parts.buffers.len(),
        };
        let [block, dispatch] = [compiled.metadata.block_size, compiled.dispatch];
        block.into_iter().chain(dispatch).for_each(|n| job.number(n));
        job.number(parts.buffers.len() as u32);
        for (index, bytes) in &parts.buffers {
            job.number(*index);
            job.bytes.extend((bytes.len() as u64).to_le_bytes());
            job.data(bytes);
        }
        job.number(parts.images.len() as u32);
        for (indices, image) in &parts.images {
            job.image(indices, image)?;
        }
        job.number(parts.addresses.len() as u32);
        for Address { buffer, offset, target } in parts.addresses {
            job.number(buffer as u32);
            job.bytes.extend(offset.to_le_bytes());
            let (kind, which) = match target {
                Target::Buffer(which) => (0, which),
                Target::Image(which) => (1, which),
            };
            job.number(kind);
            job.number(which as u32);
        }
        Ok(job)
    }

    /// The job of `checks.metal`: 64 threads, 64 words to write, an image of 8 by 8 texels that count up, bound twice.
    pub fn of_checks() -> Job {
        let mut job = Job { bytes: Vec::new(), sizes: Vec::new(), places: Vec::new(), buffers: 2 };
        [64, 1, 1, 64, 1, 1, 2].into_iter().for_each(|n| job.number(n));
        for (index, size) in [(0, 16), (1, 256)] {
            job.number(index);
            job.bytes.extend(u64::to_le_bytes(size));
            job.data(&vec![0xff; size as usize]);
        }
        job.number(1);
        let texels = (0..64).flat_map(|i: u16| f32::from(i).to_le_bytes()).collect();
        let storage = PixelStorage::Float1;
        let image = RawImage { storage, size: [8, 8, 1], is_3d: false, levels: 1, texels };
        job.image(&[0, 1], &image).expect("a plain image");
        job.number(0);
        job
    }

    fn number(&mut self, n: u32) {
        self.bytes.extend(n.to_le_bytes());
    }

    fn data(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        self.sizes.push(bytes.len());
    }

    fn image(&mut self, indices: &[u32], raw: &RawImage) -> Result<(), String> {
        let RawImage { storage, size, levels, texels, .. } = raw;
        let (bits, is_float) = match storage.kind() {
            TexelKind::Int { bits } => (bits, 0),
            TexelKind::Float { bits } => (bits, 1),
            _ => return Err(format!("no case has the storage `{}`", storage.name())),
        };
        self.number(indices.len() as u32);
        indices.iter().for_each(|&n| self.number(n));
        for n in [storage.channels(), bits / 8, is_float, *levels] {
            self.number(n);
        }
        size.iter().for_each(|&n| self.number(n));
        self.data(texels);
        Ok(())
    }

    /// Takes apart what the runner wrote, by argument.
    pub fn split(&self, compiled: &Compiled, results: &[u8]) -> Result<Vec<Raw>, String> {
        let total: usize = self.sizes.iter().sum();
        if results.len() != total {
            return Err(format!("{} bytes came back instead of {total}", results.len()));
        }
        let part = |place: usize| {
            let start: usize = self.sizes[..place].iter().sum();
            results[start..start + self.sizes[place]].to_vec()
        };
        let with = |(raw, place): (&Raw, &Place)| match (raw, place) {
            (Raw::Buffer(_), Place::Buffer(p)) => Raw::Buffer(part(*p)),
            (Raw::Image(image), Place::Image(p)) => {
                Raw::Image(RawImage { texels: part(self.buffers + p), ..image.clone() })
            }
            (Raw::Bindless(slots), Place::Slots(places)) => {
                let mut slots = slots.clone();
                for (slot, place) in slots.iter_mut().zip(places) {
                    slot.buffer = place.map(part);
                }
                Raw::Bindless(slots)
            }
            (other, _) => other.clone(),
        };
        Ok(compiled.arguments.iter().zip(&self.places).map(with).collect())
    }
}
