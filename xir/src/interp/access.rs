//! Reads and writes of memory: variables, shared memory, buffers, images. Which memory a resource operation means is found in
//! `resource.rs`.
//!
//! A pointer is the row of a variable's first scalar, or a cell of shared memory with [`SHARED`] set, or the number of a miss
//! with [`MISSED`] set: an index out of range is a fault only where something is read or written there, since passes may
//! compute addresses that a guard keeps from being used.

use super::code::{Atomic, AtomicTarget, Chain, Element, Place, Resource, Texel};
use super::fault::{FaultKind, Memory};
use super::machine::{Lanes, Machine, Miss, Step, Trouble, trouble};
use super::race::Access;
use super::resource::bytes_of;
use super::schedule::Activation;
use super::{Arg, Bounds};
use crate::Scalar;
use crate::eval::flat::{read_scalar, write_scalar};
use crate::eval::{Bits, sign_extend};
use crate::op::AtomicOp;

pub(super) const MISSED: u64 = 1 << 63;
pub(super) const SHARED: u64 = 1 << 62;
/// Misses of one block that are kept apart.
const MAX_MISSES: usize = 1 << 20;

/// A pointer `by` scalars further; a miss stays one.
pub(super) fn advance(pointer: u64, by: u64) -> u64 {
    if pointer & MISSED != 0 { pointer } else { pointer + by }
}

/// An index as a number, if it is not negative; else what it is.
pub(super) fn number(bits: Bits, scalar: Scalar) -> Result<u64, i64> {
    if !scalar.is_signed() {
        return Ok(bits);
    }
    let signed = sign_extend(bits, scalar);
    u64::try_from(signed).map_err(|_| signed)
}

/// The element that an index names out of `length`: itself, or the nearest one under clamping.
pub(super) fn resolve(
    bits: Bits,
    scalar: Scalar,
    length: u64,
    bounds: Bounds,
) -> Result<u64, Miss> {
    let number = number(bits, scalar);
    match number {
        Ok(index) if index < length => Ok(index),
        Ok(_) if bounds == Bounds::Clamp && length > 0 => Ok(length - 1),
        Err(_) if bounds == Bounds::Clamp && length > 0 => Ok(0),
        Ok(index) => Err(Miss { index: index.into(), length }),
        Err(index) => Err(Miss { index: index.into(), length }),
    }
}

impl Machine<'_> {
    /// What the indices of a chain add up to.
    pub(super) fn offset(&self, frame: usize, chain: &Chain, lane: usize) -> Result<u64, Miss> {
        let mut offset = chain.offset;
        for step in &chain.steps {
            let bits = self.cells[self.at(frame, step.index).of(0, lane)];
            let bounds = self.launch.bounds;
            offset += resolve(bits, step.scalar, step.length.into(), bounds)? * step.stride;
        }
        Ok(offset)
    }

    /// An access through an index out of range: undefined, or the end of the thread.
    #[cold]
    pub(super) fn missed(&mut self, miss: Miss, memory: Memory, lane: usize) -> Step<()> {
        let kind = FaultKind::OutOfRange { memory, index: miss.index, length: miss.length };
        if self.launch.bounds == Bounds::Trap {
            self.stopped.push(Trouble { kind, lane: Some(lane) });
            return Ok(());
        }
        trouble(kind, lane)
    }

    // ---- variables and shared memory

    /// The pointer to an element of a place.
    pub(super) fn element_pointer(
        &mut self,
        frame: usize,
        place: Place,
        chain: &Chain,
        lane: usize,
    ) -> u64 {
        let base = self.pointer(frame, place, lane);
        match self.offset(frame, chain, lane) {
            Ok(offset) => advance(base, offset),
            Err(_) if base & MISSED != 0 => base,
            Err(miss) => {
                // Few are ever used: the last place serves for all that do not fit.
                if self.misses.len() == MAX_MISSES {
                    self.misses.pop();
                }
                self.misses.push(miss);
                MISSED | (self.misses.len() as u64 - 1)
            }
        }
    }

    fn deref_missed(&mut self, pointer: u64, label: u32, lane: usize) -> Step<()> {
        let miss = self.misses[(pointer & !MISSED) as usize].clone();
        self.missed(miss, self.variable(label), lane)
    }

    fn read_shared(&mut self, cell: u64, label: u32, lane: usize) -> Step<Bits> {
        if !self.shared_written[cell as usize] {
            return trouble(FaultKind::Uninitialised(self.variable(label)), lane);
        }
        Ok(self.shared[cell as usize])
    }

    /// Loads `count` scalars from a place.
    pub(super) fn load(
        &mut self,
        current: &Activation,
        lanes: Lanes,
        (dst, place): (u32, Place),
        count: u32,
        label: u32,
    ) -> Step<()> {
        let dst = self.row(current.frame + dst as usize);
        lanes.try_each(|lane| {
            let pointer = self.pointer(current.frame, place, lane);
            if pointer & MISSED != 0 {
                (0..count as usize).for_each(|i| self.cells[dst.of(i, lane)] = 0);
                return self.deref_missed(pointer, label, lane);
            }
            for i in 0..count as usize {
                let bits = if pointer & SHARED != 0 {
                    let cell = (pointer & !SHARED) + i as u64;
                    self.touch_shared(cell, Access::Read, lane, label)?;
                    self.read_shared(cell, label, lane)?
                } else {
                    self.cells[self.row(pointer as usize).of(i, lane)]
                };
                self.cells[dst.of(i, lane)] = bits;
            }
            Ok(())
        })
    }

    /// Stores `count` scalars to a place.
    pub(super) fn store(
        &mut self,
        current: &Activation,
        lanes: Lanes,
        (src, place): (super::code::Src, Place),
        count: u32,
        label: u32,
    ) -> Step<()> {
        let src = self.at(current.frame, src);
        lanes.try_each(|lane| {
            let pointer = self.pointer(current.frame, place, lane);
            if pointer & MISSED != 0 {
                return self.deref_missed(pointer, label, lane);
            }
            for i in 0..count as usize {
                let bits = self.cells[src.of(i, lane)];
                if pointer & SHARED != 0 {
                    let cell = (pointer & !SHARED) + i as u64;
                    self.touch_shared(cell, Access::Write, lane, label)?;
                    self.shared_written[cell as usize] = true;
                    self.shared[cell as usize] = bits;
                } else {
                    let at = self.row(pointer as usize).of(i, lane);
                    self.cells[at] = bits;
                }
            }
            Ok(())
        })
    }

    // ---- buffers

    /// The argument of the run and the byte that an element starts at; none where an access has no effect.
    fn byte_of(
        &mut self,
        current: &Activation,
        element: &Element,
        lane: usize,
    ) -> Step<Option<(u32, u64)>> {
        if let Resource::Address = element.resource {
            return self.byte_at_address(current, element, lane);
        }
        let Some(argument) = self.resource(current, element.resource, lane)? else {
            return Ok(None);
        };
        let Some(Arg::Buffer(bytes)) = self.args.get(argument as usize) else { return Ok(None) };
        let size = self.program.flats[element.flat as usize].size;
        // A byte offset is in range if the whole value lies in the buffer.
        let length = match element.stride {
            1 if size > 1 => (bytes.len() as u64 + 1).saturating_sub(size),
            stride => bytes.len() as u64 / stride,
        };
        let bounds = self.launch.bounds;
        if length == 0 && bounds == Bounds::Clamp {
            return Ok(None);
        }
        let bits = self.cells[self.at(current.frame, element.index).of(0, lane)];
        match resolve(bits, element.scalar, length, bounds) {
            Ok(index) if element.stride == 1 && number(bits, element.scalar) != Ok(index) => {
                Ok(Some((argument, index / element.align * element.align)))
            }
            Ok(index) => Ok(Some((argument, index * element.stride))),
            Err(miss) => {
                let memory = self.argument(argument);
                self.missed(miss, memory, lane)?;
                Ok(None)
            }
        }
    }

    pub(super) fn buffer_read(
        &mut self,
        current: &Activation,
        lanes: Lanes,
        dst: u32,
        element: &Element,
    ) -> Step<()> {
        let program = self.program;
        let parts = &program.flats[element.flat as usize].parts;
        let dst = self.row(current.frame + dst as usize);
        let access = if element.volatile { Access::Atomic } else { Access::Read };
        lanes.try_each(|lane| {
            let start = self.byte_of(current, element, lane)?;
            for (i, part) in parts.iter().enumerate() {
                let mut bits = 0;
                if let Some((argument, start)) = start {
                    let (at, size) = (start + part.offset, u64::from(part.scalar.size()));
                    self.touch(argument, access, at, size, lane)?;
                    if let Some(Arg::Buffer(bytes)) = self.args.get(argument as usize) {
                        let bytes = bytes.get(at as usize..(at + size) as usize);
                        bits = bytes.map_or(0, |bytes| read_scalar(bytes, part.scalar));
                    }
                }
                self.cells[dst.of(i, lane)] = bits;
            }
            Ok(())
        })
    }

    pub(super) fn buffer_write(
        &mut self,
        current: &Activation,
        lanes: Lanes,
        src: super::code::Src,
        element: &Element,
    ) -> Step<()> {
        let program = self.program;
        let parts = &program.flats[element.flat as usize].parts;
        let src = self.at(current.frame, src);
        let access = if element.volatile { Access::Atomic } else { Access::Write };
        lanes.try_each(|lane| {
            let Some((argument, start)) = self.byte_of(current, element, lane)? else {
                return Ok(());
            };
            for (i, part) in parts.iter().enumerate() {
                let (at, size) = (start + part.offset, u64::from(part.scalar.size()));
                self.touch(argument, access, at, size, lane)?;
                let bits = self.cells[src.of(i, lane)];
                if let Some(Arg::Buffer(bytes)) = self.args.get_mut(argument as usize)
                    && let Some(bytes) = bytes.get_mut(at as usize..(at + size) as usize)
                {
                    write_scalar(bytes, bits);
                }
            }
            Ok(())
        })
    }

    // ---- images

    /// The texel that a coordinate names: its bytes in an argument of the run; none if it is out of range.
    fn texel_of(
        &self,
        frame: usize,
        argument: u32,
        texel: &Texel,
        lane: usize,
    ) -> Option<std::ops::Range<usize>> {
        let (storage, shape) = self.shape(argument, texel.dimensions)?;
        let level = match texel.level {
            None => 0,
            Some((src, scalar)) => {
                number(self.cells[self.at(frame, src).of(0, lane)], scalar).ok()?
            }
        };
        let level = u32::try_from(level).ok().filter(|&level| level < shape.levels)?;
        let at = self.at(frame, texel.coordinate);
        let mut position = [0; 3];
        for (axis, size) in shape.of_level(level).into_iter().enumerate() {
            if axis < texel.dimensions as usize {
                let bits = number(self.cells[at.of(axis, lane)], texel.scalar).ok()?;
                position[axis] = u32::try_from(bits).ok().filter(|&bits| bits < size)?;
            }
        }
        bytes_of(storage, &shape, level, position)
    }

    pub(super) fn image_read(
        &mut self,
        current: &Activation,
        lanes: Lanes,
        dst: u32,
        texel: &Texel,
    ) -> Step<()> {
        let dst = self.row(current.frame + dst as usize);
        lanes.try_each(|lane| {
            let mut value = [0; 4];
            if let Some(argument) = self.resource(current, texel.resource, lane)?
                && let Some(range) = self.texel_of(current.frame, argument, texel, lane)
            {
                self.touch(argument, Access::Read, range.start as u64, range.len() as u64, lane)?;
                if let Some(Arg::Image { storage, data, .. }) = self.args.get(argument as usize)
                    && let Some(bytes) = data.get(range)
                {
                    value = storage.read(bytes, texel.float);
                }
            }
            for (i, bits) in value.into_iter().enumerate() {
                self.cells[dst.of(i, lane)] = bits;
            }
            Ok(())
        })
    }

    pub(super) fn image_write(
        &mut self,
        current: &Activation,
        lanes: Lanes,
        src: super::code::Src,
        texel: &Texel,
    ) -> Step<()> {
        let src = self.at(current.frame, src);
        lanes.try_each(|lane| {
            let Some(argument) = self.resource(current, texel.resource, lane)? else {
                return Ok(());
            };
            let Some(range) = self.texel_of(current.frame, argument, texel, lane) else {
                return Ok(());
            };
            self.touch(argument, Access::Write, range.start as u64, range.len() as u64, lane)?;
            let value = [0, 1, 2, 3].map(|i| self.cells[src.of(i, lane)]);
            if let Some(Arg::Image { storage, data, .. }) = self.args.get_mut(argument as usize)
                && let Some(bytes) = data.get_mut(range)
            {
                storage.write(bytes, value, texel.float);
            }
            Ok(())
        })
    }

    // ---- atomics

    pub(super) fn atomic(
        &mut self,
        current: &Activation,
        lanes: Lanes,
        atomic: &Atomic,
    ) -> Step<()> {
        let frame = current.frame;
        let values = atomic.values.map(|src| self.at(frame, src));
        let dst = atomic.dst.map(|dst| self.row(frame + dst as usize));
        lanes.try_each(|lane| {
            let operands = values.map(|at| self.cells[at.of(0, lane)]);
            let old = match &atomic.target {
                AtomicTarget::Buffer(element) => {
                    self.atomic_in_buffer(current, element, atomic, operands, lane)?
                }
                AtomicTarget::Place(place) => {
                    let pointer = self.element_pointer(frame, *place, &atomic.chain, lane);
                    self.atomic_at(pointer, atomic, operands, lane)?
                }
            };
            if let Some(dst) = dst {
                self.cells[dst.of(0, lane)] = old;
            }
            Ok(())
        })
    }

    fn atomic_in_buffer(
        &mut self,
        current: &Activation,
        element: &Element,
        atomic: &Atomic,
        operands: [Bits; 2],
        lane: usize,
    ) -> Step<Bits> {
        let Some((argument, start)) = self.byte_of(current, element, lane)? else { return Ok(0) };
        let offset = match self.offset(current.frame, &atomic.chain, lane) {
            Ok(offset) => offset,
            Err(miss) => {
                let memory = self.argument(argument);
                self.missed(miss, memory, lane)?;
                return Ok(0);
            }
        };
        let (at, size) = (start + offset, u64::from(atomic.scalar.size()));
        self.touch(argument, Access::Atomic, at, size, lane)?;
        let mut old = 0;
        if let Some(Arg::Buffer(bytes)) = self.args.get_mut(argument as usize)
            && let Some(bytes) = bytes.get_mut(at as usize..(at + size) as usize)
        {
            old = read_scalar(bytes, atomic.scalar);
            write_scalar(bytes, new_value(atomic, old, operands));
        }
        Ok(old)
    }

    fn atomic_at(
        &mut self,
        pointer: u64,
        atomic: &Atomic,
        operands: [Bits; 2],
        lane: usize,
    ) -> Step<Bits> {
        let label = atomic.chain.label;
        if pointer & MISSED != 0 {
            self.deref_missed(pointer, label, lane)?;
            return Ok(0);
        }
        if pointer & SHARED != 0 {
            let cell = pointer & !SHARED;
            self.touch_shared(cell, Access::Atomic, lane, label)?;
            let old = if atomic.op == AtomicOp::Exchange {
                self.shared_written[cell as usize] = true;
                self.shared[cell as usize]
            } else {
                self.read_shared(cell, label, lane)?
            };
            self.shared[cell as usize] = new_value(atomic, old, operands);
            return Ok(old);
        }
        let at = self.row(pointer as usize).of(0, lane);
        let old = self.cells[at];
        self.cells[at] = new_value(atomic, old, operands);
        Ok(old)
    }
}

fn new_value(atomic: &Atomic, old: Bits, [first, second]: [Bits; 2]) -> Bits {
    match atomic.function {
        Some(function) => function(old, first),
        None if atomic.op == AtomicOp::Exchange => first,
        // Compared bit for bit, on floats too.
        None if old == first => second,
        None => old,
    }
}
