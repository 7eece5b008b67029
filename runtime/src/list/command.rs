//! Commands as they were recorded.

use std::sync::{Arc, Mutex, PoisonError};

use luisac_artifact::metadata::{ArgumentKind, Usage};

use super::Resource;
use crate::{
    Argument, Event, ImageLevel, IndirectBuffer, Kernel, Value,
    argument::Given,
    resource::{ArrayMemory, BufferView, Change, Common},
    value,
};

/// Where a download goes. Each run of the list puts its own bytes there.
#[derive(Clone, Default)]
pub(crate) struct HostBytes(Arc<Mutex<Vec<u8>>>);

impl HostBytes {
    pub(crate) fn set(&self, bytes: Vec<u8>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = bytes;
    }

    pub(crate) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What a download brings, once the list has run.
pub struct Download<T: Value = u8> {
    pub(super) bytes: HostBytes,
    pub(super) element: std::marker::PhantomData<fn() -> T>,
}

impl<T: Value> Download<T> {
    /// The values that the last run brought; empty before the first one has ended, or when they were taken before.
    #[must_use]
    pub fn take(&self) -> Vec<T> {
        value::load_all(&self.bytes.take())
    }
}

/// How often and over how many threads a kernel runs.
#[derive(Clone)]
pub(crate) enum Sizes {
    /// One dispatch a size; the kernel id counts them.
    Direct(Vec<[u32; 3]>),
    /// What a buffer says when the dispatch begins.
    Indirect(IndirectBuffer),
}

/// A function of the host that a list calls.
pub(crate) type Callback = Box<dyn FnMut() + Send>;

pub(crate) enum Command {
    Dispatch {
        kernel: Kernel,
        arguments: Vec<Argument>,
        sizes: Sizes,
    },
    Upload {
        data: Vec<u8>,
        to: BufferView,
    },
    Download {
        from: BufferView,
        to: HostBytes,
    },
    Copy {
        from: BufferView,
        to: BufferView,
    },
    /// The bytes over and over; their number divides the view's.
    Fill {
        to: BufferView,
        with: Vec<u8>,
    },
    UploadImage {
        data: Vec<u8>,
        to: ImageLevel,
    },
    DownloadImage {
        from: ImageLevel,
        to: HostBytes,
    },
    CopyImage {
        from: ImageLevel,
        to: ImageLevel,
    },
    BufferToImage {
        from: BufferView,
        to: ImageLevel,
    },
    ImageToBuffer {
        from: ImageLevel,
        to: BufferView,
    },
    Update {
        array: Arc<ArrayMemory>,
        changes: Vec<(u32, Change)>,
    },
    Callback(Mutex<Callback>),
    Signal(Event),
}

/// What a command touches.
pub(crate) enum Touched<'a> {
    Buffer(&'a BufferView),
    Image(&'a ImageLevel, Levels),
    /// The table itself.
    Table(&'a Arc<ArrayMemory>),
    /// All that the array holds.
    Members(&'a Arc<ArrayMemory>),
}

impl Touched<'_> {
    pub(crate) fn common(&self) -> &Common {
        match self {
            Self::Buffer(view) => &view.memory.common,
            Self::Image(level, _) => &level.memory.common,
            Self::Table(array) | Self::Members(array) => &array.common,
        }
    }

    /// The resource that is touched, or the array whose members are.
    pub(super) fn resource(&self) -> Resource {
        match self {
            Self::Buffer(view) => Resource::Buffer(view.memory.clone()),
            Self::Image(level, _) => Resource::Image(level.memory.clone()),
            Self::Table(array) | Self::Members(array) => Resource::Array((*array).clone()),
        }
    }
}

/// Which levels of an image a kernel can reach.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Levels {
    One,
    /// This one and all smaller ones.
    From,
}

impl Command {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Dispatch { kernel, .. } => &kernel.metadata().kernel,
            Self::Upload { .. } => "upload",
            Self::Download { .. } => "download",
            Self::Copy { .. } => "copy",
            Self::Fill { .. } => "fill",
            Self::UploadImage { .. } => "upload image",
            Self::DownloadImage { .. } => "download image",
            Self::CopyImage { .. } => "copy image",
            Self::BufferToImage { .. } => "buffer to image",
            Self::ImageToBuffer { .. } => "image to buffer",
            Self::Update { .. } => "update",
            Self::Callback(_) => "callback",
            Self::Signal(_) => "signal",
        }
    }

    /// Whether everything recorded before has to be done, and nothing recorded after may have begun.
    pub(crate) fn is_barrier(&self) -> bool {
        matches!(self, Self::Callback(_) | Self::Signal(_))
    }

    /// Tells `f` what the command touches, and whether it writes there.
    pub(crate) fn touches<'a>(&'a self, f: &mut dyn FnMut(Touched<'a>, bool)) {
        use Touched::{Buffer, Image, Table};
        match self {
            Self::Dispatch { kernel, arguments, sizes } => {
                for (formal, given) in kernel.metadata().arguments.iter().zip(arguments) {
                    argument(formal.kind, formal.usage, given, f);
                }
                if let Sizes::Indirect(buffer) = sizes {
                    f(Buffer(buffer.view()), false);
                }
            }
            Self::Upload { to, .. } | Self::Fill { to, .. } => f(Buffer(to), true),
            Self::Download { from, .. } => f(Buffer(from), false),
            Self::Copy { from, to } => {
                f(Buffer(from), false);
                f(Buffer(to), true);
            }
            Self::UploadImage { to, .. } => f(Image(to, Levels::One), true),
            Self::DownloadImage { from, .. } => f(Image(from, Levels::One), false),
            Self::CopyImage { from, to } => {
                f(Image(from, Levels::One), false);
                f(Image(to, Levels::One), true);
            }
            Self::BufferToImage { from, to } => {
                f(Buffer(from), false);
                f(Image(to, Levels::One), true);
            }
            Self::ImageToBuffer { from, to } => {
                f(Image(from, Levels::One), false);
                f(Buffer(to), true);
            }
            Self::Update { array, .. } => f(Table(array), true),
            Self::Callback(_) | Self::Signal(_) => {}
        }
    }
}

fn argument<'a>(
    kind: ArgumentKind,
    usage: Usage,
    given: &'a Argument,
    f: &mut dyn FnMut(Touched<'a>, bool),
) {
    // A kernel that is said not to use an argument touches nothing of it.
    if usage == Usage::None && kind != ArgumentKind::BindlessArray {
        return;
    }
    match &given.0 {
        Given::Value(..) => {}
        Given::Buffer(view, _) => f(Touched::Buffer(view), usage.writes()),
        Given::Image(level) => {
            // A kernel that samples reaches the smaller levels too; a write goes to the one level.
            if usage.reads() {
                f(Touched::Image(level, Levels::From), false);
            }
            if usage.writes() {
                f(Touched::Image(level, Levels::One), true);
            }
        }
        Given::Bindless(array) => {
            f(Touched::Table(array), false);
            f(Touched::Members(array), usage.writes());
        }
        Given::Indirect(buffer) => f(Touched::Buffer(buffer.view()), usage.writes()),
    }
}
