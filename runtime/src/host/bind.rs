//! Arguments into the parameter block, checked against the metadata.

use std::{marker::PhantomData, ops::Range};

use luisac_artifact::{
    DataLayout, TypeKind,
    metadata::{Argument, ArgumentKind},
};

use super::{BindlessArray, Buffer, Image, Kernel, Output, memory::Memory};
use crate::{RuntimeError, log};

/// Bytes of the log's data, unless [`Launch::log_capacity`] says another number.
const LOG_CAPACITY: usize = 1 << 20;
/// A log must hold at least the largest record.
const LEAST_LOG_CAPACITY: usize = 64 << 10;

/// One argument of a kernel; captured resources count.
#[derive(Clone)]
pub enum Arg<'a> {
    /// A value in its memory form.
    Value(&'a [u8]),
    /// A whole buffer.
    Buffer(&'a Buffer),
    /// Bytes of a buffer.
    View(&'a Buffer, Range<usize>),
    /// An image, all levels.
    Image(&'a Image),
    /// An image from this level on.
    Level(&'a Image, u32),
    /// An indirect dispatch buffer with room for so many dispatches.
    Indirect(&'a Buffer, u32),
    /// A bindless array.
    Bindless(&'a BindlessArray<'a>),
}

impl Arg<'_> {
    fn name(&self) -> &'static str {
        match self {
            Self::Value(_) => "a value",
            Self::Buffer(_) | Self::View(..) => "a buffer",
            Self::Image(_) | Self::Level(..) => "an image",
            Self::Bindless(_) => "a bindless array",
            Self::Indirect(..) => "an indirect dispatch buffer",
        }
    }
}

/// A kernel with its arguments. It borrows them, so none goes away while the kernel could run.
pub struct Launch<'a> {
    pub(crate) kernel: &'a Kernel,
    /// The parameter block.
    pub(crate) params: Memory,
    /// The log: `u64 used`, then data.
    pub(crate) log: Option<Memory>,
    arguments: PhantomData<&'a ()>,
    pub(crate) kernel_id: u32,
    log_capacity: usize,
}

impl Kernel {
    /// Binds `arguments`: captured resources first, then the declared ones, in order. The same buffer may be
    /// given twice, and views may overlap.
    ///
    /// # Errors
    /// A [`RuntimeError`] that names the first argument which does not fit the metadata.
    pub fn bind<'a>(&'a self, arguments: &[Arg<'a>]) -> Result<Launch<'a>, RuntimeError> {
        let metadata = &self.metadata;
        if arguments.len() != metadata.arguments.len() {
            return Err(RuntimeError::ArgumentCount {
                kernel: metadata.kernel.clone(),
                expected: metadata.arguments.len(),
                got: arguments.len(),
            });
        }
        let mut params = Memory::zeroed(metadata.params.size as usize)?;
        let block = params.bytes_mut();
        for (index, (argument, given)) in metadata.arguments.iter().zip(arguments).enumerate() {
            let pair = match (argument.kind, given) {
                (ArgumentKind::Value, Arg::Value(bytes)) => {
                    check_value(index, argument, bytes)?;
                    put(block, argument.offset, bytes);
                    continue;
                }
                (ArgumentKind::Buffer, Arg::Buffer(b)) => (b.0.address() as u64, b.len() as u64),
                (ArgumentKind::Buffer, Arg::View(b, range)) => {
                    check_view(index, argument, b, range)?;
                    // Inside the buffer, so the sum is an address in it or just behind it.
                    (b.0.address() as u64 + range.start as u64, range.len() as u64)
                }
                (ArgumentKind::Image, Arg::Image(image)) => bind_image(index, argument, image, 0)?,
                (ArgumentKind::Image, Arg::Level(image, level)) => {
                    bind_image(index, argument, image, *level)?
                }
                (ArgumentKind::BindlessArray, Arg::Bindless(array)) => array.words(),
                // The second word is `u32 offset, u32 capacity`.
                (ArgumentKind::IndirectDispatch, Arg::Indirect(buffer, capacity)) => {
                    (buffer.0.address() as u64, u64::from(*capacity) << 32)
                }
                (
                    ArgumentKind::Value
                    | ArgumentKind::Buffer
                    | ArgumentKind::Image
                    | ArgumentKind::BindlessArray,
                    given,
                ) => {
                    let expected = format!("{} (`{}`)", kind_name(argument.kind), argument.ty);
                    return Err(RuntimeError::ArgumentKind { index, expected, got: given.name() });
                }
                (kind, _) => {
                    return Err(RuntimeError::UnsupportedArgument { index, kind: kind_name(kind) });
                }
            };
            put(block, argument.offset, &pair.0.to_le_bytes());
            put(block, argument.offset + 8, &pair.1.to_le_bytes());
        }
        Ok(Launch {
            kernel: self,
            params,
            log: None,
            arguments: PhantomData,
            kernel_id: 0,
            log_capacity: LOG_CAPACITY,
        })
    }
}

/// Offsets come from checked metadata; one that still did not fit would be dropped, not written elsewhere.
pub(crate) fn put(block: &mut [u8], offset: u32, bytes: &[u8]) {
    if let Some(target) = block.get_mut(offset as usize..).and_then(|b| b.get_mut(..bytes.len())) {
        target.copy_from_slice(bytes);
    }
}

pub(crate) fn kind_name(kind: ArgumentKind) -> &'static str {
    match kind {
        ArgumentKind::Value => "a value",
        ArgumentKind::Buffer => "a buffer",
        ArgumentKind::Image => "an image",
        ArgumentKind::BindlessArray => "a bindless array",
        ArgumentKind::Accel => "an acceleration structure",
        ArgumentKind::IndirectDispatch => "an indirect dispatch buffer",
    }
}

fn check_value(index: usize, argument: &Argument, bytes: &[u8]) -> Result<(), RuntimeError> {
    let (expected, got) = (u64::from(argument.size), bytes.len() as u64);
    if expected == got {
        return Ok(());
    }
    Err(RuntimeError::ArgumentSize { index, ty: argument.ty.clone(), expected, got })
}

fn check_view(
    index: usize,
    argument: &Argument,
    buffer: &Buffer,
    range: &Range<usize>,
) -> Result<(), RuntimeError> {
    let (start, end, size, align) = (range.start, range.end, buffer.len(), argument.element_align);
    if start <= end && end <= size && (start as u64).is_multiple_of(align.max(1)) {
        return Ok(());
    }
    Err(RuntimeError::View { index, start, end, size, align })
}

/// The words of an image from a level on.
fn bind_image(
    index: usize,
    argument: &Argument,
    image: &Image,
    level: u32,
) -> Result<(u64, u64), RuntimeError> {
    check_image(index, argument, image)?;
    Ok((image.views(level)?, image.storage().number().into()))
}

fn check_image(index: usize, argument: &Argument, image: &Image) -> Result<(), RuntimeError> {
    let (dimension, storage) = (image.dimension(), image.storage());
    if let Ok(layout) = DataLayout::parse(&argument.ty)
        && let TypeKind::Texture(wanted, element) = layout.kind(layout.root())
        && *wanted == dimension
        && storage.holds(element.name())
    {
        return Ok(());
    }
    Err(RuntimeError::ImageMismatch { index, ty: argument.ty.clone(), dimension, storage })
}

impl Launch<'_> {
    /// The kernel id that the kernel sees; zero unless set.
    pub fn kernel_id(&mut self, id: u32) -> &mut Self {
        self.kernel_id = id;
        self
    }

    /// Bytes of log data that a dispatch can hold (64 KiB at least, 1 MiB unless set); what does not fit is lost.
    pub fn log_capacity(&mut self, bytes: usize) -> &mut Self {
        self.log_capacity = bytes.max(LEAST_LOG_CAPACITY) & !7;
        self.log = None;
        self
    }

    /// What the kernel logged since the last call, if it can log.
    pub(crate) fn take_output(&mut self, into: &mut Output) -> Result<(), RuntimeError> {
        let Some(memory) = &mut self.log else { return Ok(()) };
        let lost = log::decode(&self.kernel.metadata, memory.bytes_mut(), &mut |line| {
            into.lines.push(line.to_owned());
        });
        // So that a later dispatch whose last record finds no room does not end with one of these.
        log::clear(memory.bytes_mut());
        into.lost += lost?;
        Ok(())
    }

    /// Writes what changes from one dispatch to the next: an empty log, the dispatch size and the kernel id.
    pub(crate) fn prepare(&mut self, size: [u32; 3]) -> Result<(), RuntimeError> {
        let params = self.kernel.metadata.params;
        if let Some(offset) = params.log {
            let mut log = match self.log.take() {
                Some(log) => log,
                None => Memory::zeroed(8 + self.log_capacity)?,
            };
            put(log.bytes_mut(), 0, &[0; 8]);
            let block = self.params.bytes_mut();
            put(block, offset, &(self.log_capacity as u64).to_le_bytes());
            put(block, offset + 8, &(log.address() as u64).to_le_bytes());
            self.log = Some(log);
        }
        let block = self.params.bytes_mut();
        for (i, word) in size.into_iter().chain([self.kernel_id]).enumerate() {
            put(block, params.dispatch + 4 * i as u32, &word.to_le_bytes());
        }
        Ok(())
    }
}
