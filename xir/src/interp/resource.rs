//! Which memory a resource operation means: arguments, slots of bindless arrays, device addresses; sizes, sampling and the
//! records of indirect dispatch.

use super::access::{number, resolve};
use super::code::{Asked, Dispatch, Element, Holds, Lod, Resource, Sample, Src, Stride};
use super::fault::FaultKind;
use super::machine::{Lanes, Machine, Miss, Step, trouble};
use super::race::Access;
use super::sample::{self, Detail, Sampler, Shape};
use super::schedule::Activation;
use super::{Arg, Bounds, PixelStorage};
use crate::Scalar;
use std::ops::Range;

/// A device address is the position of an argument, counted from 1, above this many bits of byte offset.
const OFFSET_BITS: u32 = 40;
/// Bytes before the first record of an indirect dispatch buffer, and of a record.
const DISPATCH_HEADER: usize = 16;
const DISPATCH_RECORD: usize = 32;

/// The bytes of a texel within the data of its texture.
pub(super) fn bytes_of(
    storage: PixelStorage,
    shape: &Shape,
    level: u32,
    [x, y, z]: [u32; 3],
) -> Option<Range<usize>> {
    let [width, height, _] = shape.of_level(level).map(u64::from);
    let index = shape.before(level) + (u64::from(z) * height + u64::from(y)) * width + u64::from(x);
    let bytes = storage.bytes() as usize;
    let start = usize::try_from(index).ok()?.checked_mul(bytes)?;
    Some(start..start + bytes)
}

impl Machine<'_> {
    /// The position of the argument that an operation means; none where an access has no effect.
    pub(super) fn resource(
        &mut self,
        current: &Activation,
        resource: Resource,
        lane: usize,
    ) -> Step<Option<u32>> {
        match resource {
            Resource::Argument(formal) => Ok(Some(current.resources[formal as usize])),
            Resource::Slot { array, index, scalar, holds } => {
                let array = current.resources[array as usize];
                let found = self.slot(current, array, (index, scalar), lane)?;
                let Some((slot, number)) = found else { return Ok(None) };
                let held = match holds {
                    Holds::Buffer => slot.buffer,
                    Holds::Image2d => slot.image2d.map(|(image, _)| image),
                    Holds::Image3d => slot.image3d.map(|(image, _)| image),
                };
                match held {
                    Some(position) => Ok(Some(position)),
                    None => {
                        let memory = self.argument(array);
                        trouble(
                            FaultKind::EmptySlot { memory, slot: number, holds: holds.name() },
                            lane,
                        )
                    }
                }
            }
            // The access itself finds the argument.
            Resource::Address => Ok(None),
        }
    }

    /// A slot of a bindless array and its number.
    fn slot(
        &mut self,
        current: &Activation,
        array: u32,
        (index, scalar): (Src, Scalar),
        lane: usize,
    ) -> Step<Option<(super::Slot, u64)>> {
        let Some(Arg::Bindless(slots)) = self.args.get(array as usize) else { return Ok(None) };
        let bits = self.cells[self.at(current.frame, index).of(0, lane)];
        match resolve(bits, scalar, slots.len() as u64, self.launch.bounds) {
            Ok(number) => Ok(Some((slots[number as usize], number))),
            Err(_) if self.launch.bounds == Bounds::Clamp => Ok(None),
            Err(miss) => {
                let memory = self.argument(array);
                self.missed(miss, memory, lane)?;
                Ok(None)
            }
        }
    }

    /// The argument and the byte that a device address names.
    pub(super) fn byte_at_address(
        &mut self,
        current: &Activation,
        element: &Element,
        lane: usize,
    ) -> Step<Option<(u32, u64)>> {
        let address = self.cells[self.at(current.frame, element.index).of(0, lane)];
        let size = self.program.flats[element.flat as usize].size;
        let offset = address & ((1 << OFFSET_BITS) - 1);
        let position = (address >> OFFSET_BITS).checked_sub(1).and_then(|p| u32::try_from(p).ok());
        let Some(position) = position.filter(|&p| (p as usize) < self.args.len()) else {
            return trouble(FaultKind::WildAddress(address), lane);
        };
        match self.args.get(position as usize) {
            Some(Arg::Buffer(bytes)) if offset + size <= bytes.len() as u64 => {}
            Some(Arg::Buffer(bytes)) => {
                let miss = Miss { index: offset.into(), length: bytes.len() as u64 };
                let memory = self.argument(position);
                self.missed(miss, memory, lane)?;
                return Ok(None);
            }
            _ => return trouble(FaultKind::WildAddress(address), lane),
        }
        if !offset.is_multiple_of(element.align) {
            return trouble(FaultKind::WildAddress(address), lane);
        }
        Ok(Some((position, offset)))
    }

    pub(super) fn buffer_size(
        &mut self,
        current: &Activation,
        lanes: Lanes,
        dst: u32,
        resource: Resource,
        stride: Stride,
    ) -> Step<()> {
        let dst = self.row(current.frame + dst as usize);
        lanes.try_each(|lane| {
            let argument = self.resource(current, resource, lane)?;
            let bytes = match argument.and_then(|a| self.args.get(a as usize)) {
                Some(Arg::Buffer(bytes)) => bytes.len() as u64,
                _ => 0,
            };
            let stride = match stride {
                Stride::Fixed(stride) => stride,
                Stride::Given(src) => self.cells[self.at(current.frame, src).of(0, lane)],
            };
            self.cells[dst.of(0, lane)] = bytes / stride.max(1);
            Ok(())
        })
    }

    pub(super) fn buffer_address(
        &mut self,
        current: &Activation,
        lanes: Lanes,
        dst: u32,
        resource: Resource,
    ) -> Step<()> {
        let dst = self.row(current.frame + dst as usize);
        lanes.try_each(|lane| {
            let argument = self.resource(current, resource, lane)?;
            let address = argument.map_or(0, |a| (u64::from(a) + 1) << OFFSET_BITS);
            self.cells[dst.of(0, lane)] = address;
            Ok(())
        })
    }

    /// Storage and shape of a texture argument.
    pub(super) fn shape(&self, argument: u32, dimensions: u32) -> Option<(PixelStorage, Shape)> {
        let Some(&Arg::Image { storage, width, height, depth, levels, .. }) =
            self.args.get(argument as usize)
        else {
            return None;
        };
        let size = [width, height, depth];
        Some((storage, Shape { size, dimensions: dimensions as usize, levels }))
    }

    pub(super) fn image_size(
        &mut self,
        current: &Activation,
        lanes: Lanes,
        dst: u32,
        resource: Resource,
        (level, dimensions): (Option<(Src, Scalar)>, u32),
    ) -> Step<()> {
        let dst = self.row(current.frame + dst as usize);
        lanes.try_each(|lane| {
            let argument = self.resource(current, resource, lane)?;
            let shape = argument.and_then(|a| self.shape(a, dimensions));
            let level = match level {
                None => 0,
                Some((src, scalar)) => {
                    let bits = self.cells[self.at(current.frame, src).of(0, lane)];
                    u32::try_from(number(bits, scalar).unwrap_or(0)).unwrap_or(u32::MAX)
                }
            };
            let size = shape.map_or([0; 3], |(_, shape)| shape.of_level(level));
            for (axis, &texels) in size.iter().enumerate().take(dimensions as usize) {
                self.cells[dst.of(axis, lane)] = texels.into();
            }
            Ok(())
        })
    }

    pub(super) fn ask(
        &mut self,
        current: &Activation,
        lanes: Lanes,
        dst: u32,
        resource: Resource,
        what: Asked,
    ) -> Step<()> {
        let dst = self.row(current.frame + dst as usize);
        lanes.try_each(|lane| {
            let argument = self.resource(current, resource, lane)?;
            let word = match (what, argument.and_then(|a| self.args.get(a as usize))) {
                (Asked::Levels, Some(&Arg::Image { levels, .. })) => levels,
                (Asked::Sampler, Some(_)) => self.slot_sampler(current, resource, lane)?.code(),
                _ => 0,
            };
            self.cells[dst.of(0, lane)] = word.into();
            Ok(())
        })
    }

    pub(super) fn sampled(
        &mut self,
        current: &Activation,
        lanes: Lanes,
        sample: &Sample,
    ) -> Step<()> {
        let dst = self.row(current.frame + sample.dst as usize);
        lanes.try_each(|lane| {
            let mut value = [0.0; 4];
            if let Some(argument) = self.resource(current, sample.resource, lane)?
                && let Some((storage, shape)) = self.shape(argument, sample.dimensions)
                && !shape.size.contains(&0)
            {
                let sampler = self.sampler(current, sample, lane)?;
                let at = self.floats(current.frame, sample.coordinate, sample.dimensions, lane);
                let detail = self.detail(current.frame, sample, lane);
                let mut texel = |level, position| {
                    let Some(range) = bytes_of(storage, &shape, level, position) else {
                        return Ok([0.0; 4]);
                    };
                    self.touch(
                        argument,
                        Access::Read,
                        range.start as u64,
                        range.len() as u64,
                        lane,
                    )?;
                    let Some(Arg::Image { data, .. }) = self.args.get(argument as usize) else {
                        return Ok([0.0; 4]);
                    };
                    let bits = data.get(range).map_or([0; 4], |bytes| storage.read(bytes, true));
                    Ok(bits.map(|b| f32::from_bits(b as u32)))
                };
                value = sample::sample(&shape, sampler, at, detail, &mut texel)?;
            }
            for (i, x) in value.into_iter().enumerate() {
                self.cells[dst.of(i, lane)] = x.to_bits().into();
            }
            Ok(())
        })
    }

    /// The sampler of a call: its own codes, or what the slot has.
    fn sampler(&mut self, current: &Activation, sample: &Sample, lane: usize) -> Step<Sampler> {
        if let Some(codes) = sample.sampler {
            let [filter, address] =
                codes.map(|src| self.cells[self.at(current.frame, src).of(0, lane)]);
            return match Sampler::from_codes(filter, address) {
                Some(sampler) => Ok(sampler),
                None => trouble(FaultKind::NoSampler { filter, address }, lane),
            };
        }
        self.slot_sampler(current, sample.resource, lane)
    }

    /// The sampler of a slot.
    fn slot_sampler(
        &mut self,
        current: &Activation,
        resource: Resource,
        lane: usize,
    ) -> Step<Sampler> {
        let unset = Sampler { filter: sample::Filter::Point, address: sample::Address::Edge };
        let Resource::Slot { array, index, scalar, holds } = resource else {
            return Ok(unset);
        };
        let array = current.resources[array as usize];
        let slot = self.slot(current, array, (index, scalar), lane)?;
        let image = slot.and_then(|(slot, _)| match holds {
            Holds::Image3d => slot.image3d,
            _ => slot.image2d,
        });
        Ok(image.map_or(unset, |(_, sampler)| sampler))
    }

    fn detail(&self, frame: usize, sample: &Sample, lane: usize) -> Detail {
        let one = |src| self.floats(frame, src, 1, lane)[0];
        match sample.lod {
            Lod::First => Detail::Level(0.0),
            Lod::Level(src) => Detail::Level(one(src)),
            Lod::Gradients { ddx, ddy, least } => Detail::Gradients {
                ddx: self.floats(frame, ddx, sample.dimensions, lane),
                ddy: self.floats(frame, ddy, sample.dimensions, lane),
                least: least.map_or(0.0, one),
            },
        }
    }

    /// The first components of a float vector.
    fn floats(&self, frame: usize, src: Src, count: u32, lane: usize) -> [f32; 3] {
        let at = self.at(frame, src);
        let mut values = [0.0; 3];
        for (i, value) in values.iter_mut().enumerate().take(count as usize) {
            *value = f32::from_bits(self.cells[at.of(i, lane)] as u32);
        }
        values
    }

    pub(super) fn set_dispatch(
        &mut self,
        current: &Activation,
        lanes: Lanes,
        dispatch: &Dispatch,
    ) -> Step<()> {
        let argument = current.resources[dispatch.buffer as usize];
        let [index, block, size, kernel] =
            [dispatch.index, dispatch.block, dispatch.size, dispatch.kernel]
                .map(|src| self.at(current.frame, src));
        lanes.try_each(|lane| {
            let record = self.cells[index.of(0, lane)];
            let mut words = [0; 8];
            for axis in 0..3 {
                words[axis] = self.cells[block.of(axis, lane)] as u32;
                words[4 + axis] = self.cells[size.of(axis, lane)] as u32;
            }
            words[7] = self.cells[kernel.of(0, lane)] as u32;
            let start = DISPATCH_HEADER as u64 + record * DISPATCH_RECORD as u64;
            let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
            if self.write_dispatch(argument, start, &bytes, lane)? {
                return Ok(());
            }
            let records = match self.args.get(argument as usize) {
                Some(Arg::IndirectDispatch(data)) => {
                    data.len().saturating_sub(DISPATCH_HEADER) / DISPATCH_RECORD
                }
                _ => 0,
            };
            let memory = self.argument(argument);
            self.missed(Miss { index: record.into(), length: records as u64 }, memory, lane)
        })
    }

    pub(super) fn set_dispatch_count(
        &mut self,
        current: &Activation,
        lanes: Lanes,
        buffer: u32,
        count: Src,
    ) -> Step<()> {
        let argument = current.resources[buffer as usize];
        let count = self.at(current.frame, count);
        lanes.try_each(|lane| {
            let bytes = (self.cells[count.of(0, lane)] as u32).to_le_bytes();
            self.write_dispatch(argument, 0, &bytes, lane).map(|_| ())
        })
    }

    /// Writes into an indirect dispatch buffer; false if it does not reach so far.
    fn write_dispatch(
        &mut self,
        argument: u32,
        start: u64,
        bytes: &[u8],
        lane: usize,
    ) -> Step<bool> {
        let range = start as usize..(start as usize).saturating_add(bytes.len());
        let fits = matches!(self.args.get(argument as usize),
            Some(Arg::IndirectDispatch(data)) if range.end <= data.len());
        if !fits {
            return Ok(false);
        }
        self.touch(argument, Access::Write, start, bytes.len() as u64, lane)?;
        if let Some(Arg::IndirectDispatch(data)) = self.args.get_mut(argument as usize) {
            data[range].copy_from_slice(bytes);
        }
        Ok(true)
    }
}
