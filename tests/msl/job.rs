//! What the runner is given; `runner.cpp` says how it lies in the file.

use super::common::raw::{Compiled, LOG_CAPACITY, Raw};
use luisac_artifact::bindings::SlotKind;
use luisac_artifact::{PixelStorage, TexelKind};

/// A job, and where the arguments are among its buffers and images.
pub struct Job {
    pub bytes: Vec<u8>,
    /// Bytes of each buffer, then of each image.
    sizes: Vec<usize>,
    /// For each argument its number among them, if it is one.
    places: Vec<Option<usize>>,
}

impl Job {
    /// The job of a case.
    pub fn of(compiled: &Compiled) -> Result<Job, String> {
        let bindings = compiled.metadata.bindings.as_ref().ok_or("the metadata has no bindings")?;
        let mut buffers = vec![(bindings.params.index, compiled.parameter_block())];
        let mut images = Vec::new();
        let mut places = Vec::new();
        for (formal, raw) in compiled.metadata.arguments.iter().zip(&compiled.arguments) {
            let slots = &formal.slots;
            places.push(match raw {
                Raw::Value(_) => None,
                Raw::Buffer(bytes) => {
                    let slot = slots.first().ok_or("a buffer without a slot")?;
                    buffers.push((slot.index, bytes.clone()));
                    Some((false, buffers.len() - 1))
                }
                Raw::Image { .. } => {
                    let is_image = |k| matches!(k, SlotKind::SampledImage | SlotKind::StorageImage);
                    if slots.is_empty() || !slots.iter().all(|s| is_image(s.kind)) {
                        return Err(format!("an image has the slots {slots:?}"));
                    }
                    images.push((slots.iter().map(|s| s.index).collect::<Vec<_>>(), raw));
                    Some((true, images.len() - 1))
                }
            });
        }
        if let Some(log) = bindings.log {
            buffers.push((log.index, vec![0; LOG_CAPACITY as usize + 8]));
        }
        let mut job = Job { bytes: Vec::new(), sizes: Vec::new(), places: Vec::new() };
        let [block, dispatch] = [compiled.metadata.block_size, compiled.dispatch];
        block.into_iter().chain(dispatch).for_each(|n| job.number(n));
        job.number(buffers.len() as u32);
        for (index, bytes) in &buffers {
            job.number(*index);
            job.bytes.extend((bytes.len() as u64).to_le_bytes());
            job.data(bytes);
        }
        job.number(images.len() as u32);
        for (indices, raw) in &images {
            job.image(indices, raw)?;
        }
        // No addresses.
        job.number(0);
        let count = buffers.len();
        let place = |(is_image, i)| if is_image { count + i } else { i };
        job.places = places.into_iter().map(|p| p.map(place)).collect();
        Ok(job)
    }

    /// The job of `checks.metal`: 64 threads, 64 words to write, an image of 8 by 8 texels that count up, bound twice.
    pub fn of_checks() -> Job {
        let mut job = Job { bytes: Vec::new(), sizes: Vec::new(), places: Vec::new() };
        [64, 1, 1, 64, 1, 1, 2].into_iter().for_each(|n| job.number(n));
        for (index, size) in [(0, 16), (1, 256)] {
            job.number(index);
            job.bytes.extend(u64::to_le_bytes(size));
            job.data(&vec![0xff; size as usize]);
        }
        job.number(1);
        let texels = (0..64).flat_map(|i: u16| f32::from(i).to_le_bytes()).collect();
        let storage = PixelStorage::Float1;
        let image = Raw::Image { storage, size: [8, 8, 1], is_3d: false, texels };
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

    fn image(&mut self, indices: &[u32], raw: &Raw) -> Result<(), String> {
        let Raw::Image { storage, size, texels, .. } = raw else { return Err("no image".into()) };
        let (bits, is_float) = match storage.kind() {
            TexelKind::Int { bits } => (bits, 0),
            TexelKind::Float { bits } => (bits, 1),
            _ => return Err(format!("no case has the storage `{}`", storage.name())),
        };
        self.number(indices.len() as u32);
        indices.iter().for_each(|&n| self.number(n));
        for n in [storage.channels(), bits / 8, is_float, 1] {
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
        let with = |(raw, place): (&Raw, &Option<usize>)| match (raw, place) {
            (Raw::Buffer(_), Some(p)) => Raw::Buffer(part(*p)),
            (Raw::Image { storage, size, is_3d, .. }, Some(p)) => {
                Raw::Image { storage: *storage, size: *size, is_3d: *is_3d, texels: part(*p) }
            }
            (other, _) => other.clone(),
        };
        Ok(compiled.arguments.iter().zip(&self.places).map(with).collect())
    }
}
