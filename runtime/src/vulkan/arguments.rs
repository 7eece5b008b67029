//! Arguments into the parameter block and the descriptor set, checked against the metadata.

use std::ops::Range;

use ash::vk;
use luisac_artifact::{
    DataLayout, Scalar, TypeKind,
    bindings::{Slot, SlotKind},
    metadata::{Argument, ArgumentKind},
};

use super::{
    BindlessArray, Buffer, Image, Kernel, VulkanError, buffer, error::allocation, format::Numbers,
    image::ViewKey, kernel, memory::Home,
};
use crate::RuntimeError;

/// Bytes of the log's data, unless [`Launch::log_capacity`] says another number.
const LOG_CAPACITY: u64 = 1 << 20;
/// A log must hold at least the largest record.
const LEAST_LOG_CAPACITY: u64 = 64 << 10;

/// One argument of a kernel; captured resources count.
#[derive(Clone)]
pub enum Arg<'a> {
    /// A value in its memory form.
    Value(&'a [u8]),
    /// A whole buffer.
    Buffer(&'a Buffer),
    /// Bytes of a buffer.
    View(&'a Buffer, Range<u64>),
    /// The first level of an image; samples see all of them.
    Image(&'a Image),
    /// A level of an image; samples see it and those behind it.
    Level(&'a Image, u32),
    /// A bindless array.
    BindlessArray(&'a BindlessArray),
    /// An indirect dispatch buffer with room for so many dispatches.
    Indirect(&'a Buffer, u32),
}

impl Arg<'_> {
    fn name(&self) -> &'static str {
        match self {
            Self::Value(_) => "a value",
            Self::Buffer(_) | Self::View(..) => "a buffer",
            Self::Image(_) | Self::Level(..) => "an image",
            Self::BindlessArray(_) => "a bindless array",
            Self::Indirect(..) => "an indirect dispatch buffer",
        }
    }
}

/// A kernel with its arguments, which live as long as it does.
pub struct Launch {
    pub(super) kernel: Kernel,
    /// The parameter block, as the uniform buffer gets it.
    pub(super) params: Vec<u8>,
    pub(super) uniform: buffer::Raw,
    pub(super) log: Option<Buffer>,
    pub(super) log_capacity: u64,
    pub(super) kernel_id: u32,
    pool: vk::DescriptorPool,
    /// The set of each number that the kernel has, heaps included.
    pub(super) sets: Vec<vk::DescriptorSet>,
    _held: Vec<Held>,
}

/// What keeps a resource alive.
enum Held {
    Buffer(#[allow(dead_code, reason = "held only")] Buffer),
    Image(#[allow(dead_code, reason = "held only")] Image),
    Array(#[allow(dead_code, reason = "held only")] BindlessArray),
}

/// What is written at a slot.
enum Descriptor {
    Buffer(vk::DescriptorBufferInfo),
    Image(vk::DescriptorImageInfo),
}

/// An argument, as it goes to the device.
#[derive(Default)]
struct Bound {
    /// The two words in the parameter block.
    words: [u64; 2],
    descriptors: Vec<(Slot, Descriptor)>,
    held: Option<Held>,
}

impl Kernel {
    /// Binds `arguments`: captured resources first, then the declared ones, in order. The same resource may be given twice, and
    /// views may overlap.
    ///
    /// # Errors
    /// A [`RuntimeError`] that names the first argument which does not fit the metadata or the device.
    pub fn bind(&self, arguments: &[Arg<'_>]) -> Result<Launch, RuntimeError> {
        let inner = &self.0;
        let metadata = &inner.metadata;
        if arguments.len() != metadata.arguments.len() {
            return Err(RuntimeError::ArgumentCount {
                kernel: metadata.kernel.clone(),
                expected: metadata.arguments.len(),
                got: arguments.len(),
            });
        }
        let mut params = vec![0; metadata.params.size as usize];
        let (mut descriptors, mut held) = (Vec::new(), Vec::new());
        for (index, (argument, given)) in metadata.arguments.iter().zip(arguments).enumerate() {
            if let (ArgumentKind::Value, Arg::Value(bytes)) = (argument.kind, given) {
                check_value(index, argument, bytes)?;
                put(&mut params, argument.offset, bytes);
                continue;
            }
            let bound = inner.bind_one(index, argument, given)?;
            put(&mut params, argument.offset, &bound.words[0].to_le_bytes());
            put(&mut params, argument.offset + 8, &bound.words[1].to_le_bytes());
            descriptors.extend(bound.descriptors);
            held.extend(bound.held);
        }
        let uniform = buffer::Raw::new(
            &inner.device,
            params.len() as u64,
            vk::BufferUsageFlags::UNIFORM_BUFFER,
            Home::Upload,
        )?;
        let info =
            vk::DescriptorBufferInfo::default().buffer(uniform.handle).range(params.len() as u64);
        descriptors.push((inner.bindings.params, Descriptor::Buffer(info)));
        let (pool, sets) = inner.make_sets()?;
        let launch = Launch {
            kernel: self.clone(),
            params,
            uniform,
            log: None,
            log_capacity: LOG_CAPACITY,
            kernel_id: 0,
            pool,
            sets,
            _held: held,
        };
        for slot in &inner.bindings.samplers {
            let samplers = inner.device.samplers()?;
            for i in 0..slot.count {
                let number = (slot.index + i) as usize % samplers.len();
                let info = vk::DescriptorImageInfo::default().sampler(samplers[number]);
                launch.write(*slot, i, &Descriptor::Image(info));
            }
        }
        descriptors.iter().for_each(|(slot, descriptor)| launch.write(*slot, 0, descriptor));
        Ok(launch)
    }
}

impl kernel::Inner {
    fn bind_one(
        &self,
        index: usize,
        argument: &Argument,
        given: &Arg,
    ) -> Result<Bound, RuntimeError> {
        match (argument.kind, given) {
            (ArgumentKind::Buffer, Arg::Buffer(b)) => {
                self.bind_buffer(index, argument, b, 0..b.len())
            }
            (ArgumentKind::Buffer, Arg::View(b, range)) => {
                self.bind_buffer(index, argument, b, range.clone())
            }
            (ArgumentKind::Image, Arg::Image(image)) => self.bind_image(index, argument, image, 0),
            (ArgumentKind::Image, Arg::Level(image, level)) => {
                self.bind_image(index, argument, image, *level)
            }
            (ArgumentKind::BindlessArray, Arg::BindlessArray(array)) => {
                self.bind_array(index, argument, array)
            }
            (ArgumentKind::Accel, _) => {
                Err(VulkanError::UnsupportedArgument { index, kind: "an acceleration structure" }
                    .into())
            }
            (ArgumentKind::IndirectDispatch, Arg::Indirect(buffer, capacity)) => {
                let mut bound = self.bind_buffer(index, argument, buffer, 0..buffer.len())?;
                // The second word is `u32 offset, u32 capacity`.
                bound.words[1] = u64::from(*capacity) << 32;
                Ok(bound)
            }
            (kind, given) => {
                let name = match kind {
                    ArgumentKind::Value => "a value",
                    ArgumentKind::Buffer => "a buffer",
                    ArgumentKind::Image => "an image",
                    ArgumentKind::IndirectDispatch => "an indirect dispatch buffer",
                    _ => "a bindless array",
                };
                let expected = format!("{name} (`{}`)", argument.ty);
                Err(RuntimeError::ArgumentKind { index, expected, got: given.name() })
            }
        }
    }

    fn check_owner(
        &self,
        index: usize,
        same: bool,
        argument: &Argument,
    ) -> Result<(), RuntimeError> {
        if same {
            return Ok(());
        }
        let expected = format!("a resource of the kernel's device (`{}`)", argument.ty);
        Err(RuntimeError::ArgumentKind { index, expected, got: "one of another device" })
    }

    fn bind_buffer(
        &self,
        index: usize,
        argument: &Argument,
        buffer: &Buffer,
        range: Range<u64>,
    ) -> Result<Bound, RuntimeError> {
        self.check_owner(index, std::sync::Arc::ptr_eq(&buffer.0.device, &self.device), argument)?;
        let (start, end, size, align) =
            (range.start, range.end, buffer.len(), argument.element_align);
        if start > end || end > size || !start.is_multiple_of(align.max(1)) {
            let [start, end, size] = [start, end, size].map(|n| n as usize);
            return Err(RuntimeError::View { index, start, end, size, align });
        }
        let align = self.device.limits.min_storage_buffer_offset_alignment.max(4);
        // A view without bytes may begin behind the buffer; what is bound in its place is never read.
        let start = if start == end { 0 } else { start };
        if !start.is_multiple_of(align) {
            return Err(VulkanError::ViewAlignment { index, start, align }.into());
        }
        // Whole words, so that the last bytes can be read as a part of one; the buffer has room behind its end.
        let bytes =
            (end.max(start + 1) - start).next_multiple_of(16).min(buffer.0.capacity - start);
        self.device.check_range(bytes)?;
        let info =
            vk::DescriptorBufferInfo::default().buffer(buffer.0.handle).offset(start).range(bytes);
        Ok(Bound {
            words: [0, range.end - range.start],
            descriptors: argument.slots.iter().map(|s| (*s, Descriptor::Buffer(info))).collect(),
            held: Some(Held::Buffer(buffer.clone())),
        })
    }

    fn bind_image(
        &self,
        index: usize,
        argument: &Argument,
        image: &Image,
        level: u32,
    ) -> Result<Bound, RuntimeError> {
        self.check_owner(index, std::sync::Arc::ptr_eq(&image.0.device, &self.device), argument)?;
        let (dimension, storage) = (image.dimension(), image.storage());
        let mismatch =
            || RuntimeError::ImageMismatch { index, ty: argument.ty.clone(), dimension, storage };
        let layout = DataLayout::parse(&argument.ty).map_err(|_| mismatch())?;
        let element = match layout.kind(layout.root()) {
            TypeKind::Texture(wanted, element)
                if *wanted == dimension
                    && storage.holds(element.name())
                    && level < image.levels() =>
            {
                *element
            }
            _ => return Err(mismatch()),
        };
        let numbers = if element == Scalar::Float { Numbers::Float } else { Numbers::Integer };
        let mut descriptors = Vec::new();
        for slot in &argument.slots {
            let sampled = slot.kind == SlotKind::SampledImage;
            let view = image.0.view(ViewKey { numbers, level, sampled })?;
            let info = vk::DescriptorImageInfo::default()
                .image_view(view)
                .image_layout(vk::ImageLayout::GENERAL);
            descriptors.push((*slot, Descriptor::Image(info)));
        }
        Ok(Bound {
            words: [0, storage.number().into()],
            descriptors,
            held: Some(Held::Image(image.clone())),
        })
    }

    fn bind_array(
        &self,
        index: usize,
        argument: &Argument,
        array: &BindlessArray,
    ) -> Result<Bound, RuntimeError> {
        self.check_owner(index, std::sync::Arc::ptr_eq(array.device(), &self.device), argument)?;
        let records = &array.records().0;
        self.device.check_range(records.capacity)?;
        let info =
            vk::DescriptorBufferInfo::default().buffer(records.handle).range(records.capacity);
        Ok(Bound {
            words: [0, array.len().into()],
            descriptors: argument.slots.iter().map(|s| (*s, Descriptor::Buffer(info))).collect(),
            held: Some(Held::Array(array.clone())),
        })
    }

    /// The sets of a launch: its own from a pool of its own, and the device's heaps.
    fn make_sets(&self) -> Result<(vk::DescriptorPool, Vec<vk::DescriptorSet>), RuntimeError> {
        let device = &self.device;
        let heap_of =
            |layout| device.heaps.iter().filter_map(|h| h.get()).find(|h| h.layout == layout);
        let own: Vec<_> = self.sets.iter().copied().filter(|l| heap_of(*l).is_none()).collect();
        let info = vk::DescriptorPoolCreateInfo::default()
            .max_sets(own.len().max(1) as u32)
            .pool_sizes(&self.counts);
        // SAFETY: the sizes are those of the layouts.
        let pool = unsafe { device.handle.create_descriptor_pool(&info, None) };
        let pool = allocation("vkCreateDescriptorPool", 0, pool)?;
        let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&own);
        // SAFETY: pool and layouts are alive.
        let made = unsafe { device.handle.allocate_descriptor_sets(&info) };
        let made = allocation("vkAllocateDescriptorSets", 0, made).inspect_err(|_| {
            // SAFETY: nothing has used the pool.
            unsafe { device.handle.destroy_descriptor_pool(pool, None) }
        })?;
        let mut made = made.into_iter();
        let set =
            |layout| heap_of(layout).map(|h| h.set).or_else(|| made.next()).unwrap_or_default();
        Ok((pool, self.sets.iter().copied().map(set).collect()))
    }
}

fn check_value(index: usize, argument: &Argument, bytes: &[u8]) -> Result<(), RuntimeError> {
    let (expected, got) = (u64::from(argument.size), bytes.len() as u64);
    if expected == got {
        return Ok(());
    }
    Err(RuntimeError::ArgumentSize { index, ty: argument.ty.clone(), expected, got })
}

/// Offsets come from checked metadata; one that still did not fit would be dropped, not written elsewhere.
fn put(block: &mut [u8], offset: u32, bytes: &[u8]) {
    if let Some(target) = block.get_mut(offset as usize..).and_then(|b| b.get_mut(..bytes.len())) {
        target.copy_from_slice(bytes);
    }
}

impl Launch {
    /// The kernel id that the kernel sees; zero unless set.
    pub fn kernel_id(&mut self, id: u32) -> &mut Self {
        self.kernel_id = id;
        self
    }

    /// Bytes of log data that a dispatch can hold (64 KiB at least, 1 MiB unless set); what does not fit is lost.
    pub fn log_capacity(&mut self, bytes: u64) -> &mut Self {
        self.log_capacity = bytes.max(LEAST_LOG_CAPACITY) & !7;
        self.log = None;
        self
    }

    fn write(&self, slot: Slot, element: u32, descriptor: &Descriptor) {
        let Some(set) = self.sets.get(slot.set as usize) else { return };
        let mut write = vk::WriteDescriptorSet::default()
            .dst_set(*set)
            .dst_binding(slot.index)
            .dst_array_element(element);
        let (buffers, images);
        match descriptor {
            Descriptor::Buffer(info) => {
                buffers = [*info];
                write = write.buffer_info(&buffers);
            }
            Descriptor::Image(info) => {
                images = [*info];
                write = write.image_info(&images);
            }
        }
        if let Some(ty) = kernel::descriptor_type(slot.kind) {
            // SAFETY: set and binding are of the kernel's layout; no dispatch of this launch is pending.
            unsafe {
                self.kernel
                    .0
                    .device
                    .handle
                    .update_descriptor_sets(&[write.descriptor_type(ty)], &[])
            }
        }
    }

    /// Writes what changes from one dispatch to the next: an empty log, the dispatch size and the kernel id.
    pub(super) fn prepare(&mut self, size: [u32; 3]) -> Result<(), RuntimeError> {
        let kernel = self.kernel.0.clone();
        let params = kernel.metadata.params;
        if let (Some(offset), Some(slot)) = (params.log, kernel.bindings.log) {
            if self.log.is_none() {
                let log = Buffer::zeroed(&kernel.device, 8 + self.log_capacity)?;
                kernel.device.check_range(log.0.capacity)?;
                let info =
                    vk::DescriptorBufferInfo::default().buffer(log.0.handle).range(log.0.capacity);
                self.write(slot, 0, &Descriptor::Buffer(info));
                self.log = Some(log);
            }
            put(&mut self.params, offset, &self.log_capacity.to_le_bytes());
        }
        for (i, word) in size.into_iter().chain([self.kernel_id]).enumerate() {
            put(&mut self.params, params.dispatch + 4 * i as u32, &word.to_le_bytes());
        }
        self.uniform.upload(0, &self.params)
    }
}

impl Drop for Launch {
    fn drop(&mut self) {
        // SAFETY: submissions are waited for; the sets go with their pool.
        unsafe { self.kernel.0.device.handle.destroy_descriptor_pool(self.pool, None) }
    }
}
