//! Arguments into the parameter block and the descriptor set, checked against the metadata.

use std::ops::Range;

use ash::vk;
use luisac_artifact::{
    DataLayout, Scalar, TypeKind,
    bindings::{Slot, SlotKind},
    metadata::{Argument, ArgumentKind},
};

use super::{
    BindlessArray, Buffer, Image, Kernel, VulkanError, buffer, device::Shared, error::allocation,
    format::Numbers, image::ViewKey, kernel, memory::Home,
};
use crate::RuntimeError;

/// Bytes of the log's data, unless [`Launch::log_capacity`] says another number.
pub(super) const LOG_CAPACITY: u64 = 1 << 20;
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
    #[allow(dead_code, reason = "held only, as what is behind it")]
    pool: Pool,
    /// The set of each number that the kernel has, heaps included.
    pub(super) sets: Vec<vk::DescriptorSet>,
    #[allow(dead_code, reason = "held only")]
    held: Vec<Held>,
}

/// What keeps a resource alive.
pub(super) enum Held {
    Buffer(#[allow(dead_code, reason = "held only")] Buffer),
    Image(#[allow(dead_code, reason = "held only")] Image),
    Array(#[allow(dead_code, reason = "held only")] BindlessArray),
}

/// What is written at a slot.
pub(super) enum Descriptor {
    Buffer(vk::DescriptorBufferInfo),
    Image(vk::DescriptorImageInfo),
}

/// A slot, and what is written there.
pub(super) type Written = (Slot, Descriptor);

/// An argument, as it goes to the device.
#[derive(Default)]
struct Bound {
    /// The two words in the parameter block.
    words: [u64; 2],
    descriptors: Vec<Written>,
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
        let Resolved { params, mut descriptors, held } = inner.resolve(arguments)?;
        let uniform = buffer::Raw::new(
            &inner.device,
            params.len() as u64,
            vk::BufferUsageFlags::UNIFORM_BUFFER,
            Home::Upload,
        )?;
        descriptors.push(inner.params_descriptor(uniform.handle));
        let pool = Pool::new(&inner.device, [&**inner])?;
        let sets = inner.make_sets(&pool, &descriptors)?;
        let (kernel, log) = (self.clone(), None);
        let (log_capacity, kernel_id) = (LOG_CAPACITY, 0);
        Ok(Launch { kernel, params, uniform, log, log_capacity, kernel_id, pool, sets, held })
    }
}

/// Arguments that were found to fit.
pub(super) struct Resolved {
    /// The parameter block, but for its log and dispatch size.
    pub params: Vec<u8>,
    pub descriptors: Vec<Written>,
    pub held: Vec<Held>,
}

impl kernel::Inner {
    /// Checks arguments against the metadata and the device.
    pub fn resolve(&self, arguments: &[Arg<'_>]) -> Result<Resolved, RuntimeError> {
        let metadata = &self.metadata;
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
            let bound = self.bind_one(index, argument, given)?;
            put(&mut params, argument.offset, &bound.words[0].to_le_bytes());
            put(&mut params, argument.offset + 8, &bound.words[1].to_le_bytes());
            descriptors.extend(bound.descriptors);
            held.extend(bound.held);
        }
        Ok(Resolved { params, descriptors, held })
    }

    /// The descriptor of the parameter block, whose offset is given with each dispatch.
    pub fn params_descriptor(&self, buffer: vk::Buffer) -> Written {
        let bytes = self.metadata.params.size.into();
        let info = vk::DescriptorBufferInfo::default().buffer(buffer).range(bytes);
        (self.bindings.params, Descriptor::Buffer(info))
    }

    /// A log for dispatches of this kernel, with its descriptor; nothing if it does not log. Notes its size in the block.
    pub fn make_log(
        &self,
        params: &mut [u8],
        capacity: u64,
    ) -> Result<Option<(Buffer, Written)>, RuntimeError> {
        let (Some(offset), Some(slot)) = (self.metadata.params.log, self.bindings.log) else {
            return Ok(None);
        };
        let log = Buffer::zeroed(&self.device, 8 + capacity)?;
        self.device.check_range(log.0.capacity)?;
        let info = vk::DescriptorBufferInfo::default().buffer(log.0.handle).range(log.0.capacity);
        put(params, offset, &capacity.to_le_bytes());
        Ok(Some((log, (slot, Descriptor::Buffer(info)))))
    }

    /// Notes a dispatch's size and kernel id in a parameter block.
    pub fn put_dispatch(&self, params: &mut [u8], size: [u32; 3], kernel_id: u32) {
        for (i, word) in size.into_iter().chain([kernel_id]).enumerate() {
            put(params, self.metadata.params.dispatch + 4 * i as u32, &word.to_le_bytes());
        }
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

    /// Layouts of the sets that are not heaps.
    fn own_sets(&self) -> Vec<vk::DescriptorSetLayout> {
        let is_heap = |l| self.device.heaps.iter().filter_map(|h| h.get()).any(|h| h.layout == l);
        self.sets.iter().copied().filter(|l| !is_heap(*l)).collect()
    }

    /// The sets of a dispatch: its own from a pool, written with the descriptors and samplers, and the device's heaps.
    pub fn make_sets(
        &self,
        pool: &Pool,
        descriptors: &[Written],
    ) -> Result<Vec<vk::DescriptorSet>, RuntimeError> {
        let device = &self.device;
        let own = self.own_sets();
        let mut made = Vec::new();
        if !own.is_empty() {
            let info = vk::DescriptorSetAllocateInfo::default()
                .descriptor_pool(pool.handle)
                .set_layouts(&own);
            // SAFETY: pool and layouts are alive, and the pool is used by one thread.
            let sets = unsafe { device.handle.allocate_descriptor_sets(&info) };
            made = allocation("vkAllocateDescriptorSets", 0, sets)?;
        }
        let mut made = made.into_iter();
        let heap_of =
            |layout| device.heaps.iter().filter_map(|h| h.get()).find(|h| h.layout == layout);
        let set =
            |layout| heap_of(layout).map(|h| h.set).or_else(|| made.next()).unwrap_or_default();
        let sets: Vec<_> = self.sets.iter().copied().map(set).collect();
        for slot in &self.bindings.samplers {
            let samplers = device.samplers()?;
            for i in 0..slot.count {
                let number = (slot.index + i) as usize % samplers.len();
                let info = vk::DescriptorImageInfo::default().sampler(samplers[number]);
                write(device, &sets, *slot, i, &Descriptor::Image(info));
            }
        }
        descriptors.iter().for_each(|(slot, d)| write(device, &sets, *slot, 0, d));
        Ok(sets)
    }
}

/// Where descriptor sets come from; they go with it.
pub(super) struct Pool {
    device: std::sync::Arc<Shared>,
    handle: vk::DescriptorPool,
}

impl Pool {
    /// A pool with room for a dispatch of each kernel.
    pub fn new<'a>(
        device: &std::sync::Arc<Shared>,
        kernels: impl IntoIterator<Item = &'a kernel::Inner>,
    ) -> Result<Self, RuntimeError> {
        let mut counts: std::collections::BTreeMap<vk::DescriptorType, u32> = Default::default();
        let mut sets = 0;
        for kernel in kernels {
            sets += kernel.own_sets().len();
            for size in &kernel.counts {
                *counts.entry(size.ty).or_default() += size.descriptor_count;
            }
        }
        let size = |(ty, n)| vk::DescriptorPoolSize::default().ty(ty).descriptor_count(n);
        let sizes: Vec<_> = counts.into_iter().map(size).collect();
        let info =
            vk::DescriptorPoolCreateInfo::default().max_sets(sets.max(1) as u32).pool_sizes(&sizes);
        // SAFETY: the sizes are those of the layouts.
        let handle = unsafe { device.handle.create_descriptor_pool(&info, None) };
        let handle = allocation("vkCreateDescriptorPool", 0, handle)?;
        Ok(Self { device: device.clone(), handle })
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // SAFETY: nothing that uses the sets is pending; they go with their pool.
        unsafe { self.device.handle.destroy_descriptor_pool(self.handle, None) }
    }
}

/// Writes a descriptor into the sets of a dispatch, which must not be pending.
pub(super) fn write(
    device: &Shared,
    sets: &[vk::DescriptorSet],
    slot: Slot,
    element: u32,
    descriptor: &Descriptor,
) {
    let Some(set) = sets.get(slot.set as usize) else { return };
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
        // SAFETY: set and binding are of the kernel's layout; the caller says that no dispatch with this set is pending.
        unsafe { device.handle.update_descriptor_sets(&[write.descriptor_type(ty)], &[]) }
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

    /// Writes what changes from one dispatch to the next: an empty log, the dispatch size and the kernel id.
    pub(super) fn prepare(&mut self, size: [u32; 3]) -> Result<(), RuntimeError> {
        let kernel = self.kernel.0.clone();
        if self.log.is_none()
            && let Some((log, (slot, descriptor))) =
                kernel.make_log(&mut self.params, self.log_capacity)?
        {
            write(&kernel.device, &self.sets, slot, 0, &descriptor);
            self.log = Some(log);
        }
        kernel.put_dispatch(&mut self.params, size, self.kernel_id);
        self.uniform.upload(0, &self.params)
    }
}
