//! What can go wrong while a kernel is loaded, bound or run.

use std::sync::Arc;

use luisac_artifact::PixelStorage;
use thiserror::Error;

/// An object that cannot be loaded.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The bytes are no relocatable ELF object, or contradict themselves.
    #[error("the object is damaged or no relocatable 64-bit ELF file: {0}")]
    Damaged(String),
    /// Code of another machine.
    #[error("the object is for machine {machine}, this is `{host}`")]
    WrongMachine {
        /// `e_machine` of the object.
        machine: u16,
        /// The architecture this program was built for.
        host: &'static str,
    },
    /// A symbol that the object uses and does not define.
    #[error("the object needs the symbol `{0}`, which it does not define")]
    UndefinedSymbol(String),
    /// A relocation that the loader does not know.
    #[error("the object has a relocation of type {0}, which is not supported")]
    Relocation(u32),
    /// A relocation whose result does not fit its field.
    #[error("a relocation of type {0} cannot reach its symbol")]
    OutOfReach(u32),
    /// Data that may be written or differs among threads; a kernel has none.
    #[error("the object has writable or thread-local data in section `{0}`")]
    WritableData(String),
    /// The entry point is missing or is no code.
    #[error("the object has no entry point `{0}`")]
    NoEntry(String),
    /// The system gave no memory for code.
    #[error("no executable memory: {0}")]
    Map(std::io::Error),
    /// Metadata of a kernel for another kind of device.
    #[error("the kernel was compiled for `{0}`, not for the device `{1}`")]
    WrongTarget(String, &'static str),
    /// This processor lacks what the code needs.
    #[error("the kernel was compiled for `{target}`, but this processor has no {feature}")]
    MissingFeature {
        /// The target in the metadata.
        target: String,
        /// The first feature that is missing.
        feature: &'static str,
    },
}

impl LoadError {
    /// The stable diagnostic code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Damaged(_) => "L1100",
            Self::WrongMachine { .. } => "L1101",
            Self::UndefinedSymbol(_) => "L1102",
            Self::Relocation(_) => "L1103",
            Self::OutOfReach(_) => "L1104",
            Self::WritableData(_) => "L1105",
            Self::NoEntry(_) => "L1106",
            Self::Map(_) => "L1107",
            Self::WrongTarget(..) => "L1108",
            Self::MissingFeature { .. } => "L1109",
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Self::Damaged(_) | Self::NoEntry(_) => {
                "compile the kernel again; use the metadata that was written with the object"
            }
            Self::WrongMachine { .. } | Self::WrongTarget(_, "cpu") => {
                "compile it for this machine with `--target cpu:native`"
            }
            Self::WrongTarget(..) => "compile it for the device, such as with `--target spirv`",
            Self::UndefinedSymbol(_)
            | Self::Relocation(_)
            | Self::OutOfReach(_)
            | Self::WritableData(_) => {
                "use objects that `luisac compile --target cpu` wrote; they stand alone"
            }
            Self::Map(_) => "the system may forbid executable memory for this process",
            Self::MissingFeature { .. } => {
                "compile it for an older processor, such as `--target cpu:x86-64-v2`"
            }
        }
    }
}

/// A kernel that could not be bound or run.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum RuntimeError {
    /// See [`LoadError`].
    #[error(transparent)]
    Load(#[from] LoadError),
    /// See [`VulkanError`](crate::vulkan::VulkanError).
    #[cfg(feature = "vulkan")]
    #[error(transparent)]
    Vulkan(#[from] crate::vulkan::VulkanError),
    /// See [`WgpuError`](crate::WgpuError).
    #[cfg(feature = "wgpu")]
    #[error(transparent)]
    Wgpu(#[from] crate::WgpuError),
    /// An archive that is damaged.
    #[error("{message}")]
    Archive { message: String, code: &'static str, help: &'static str },
    /// An archive without a variant for the device.
    #[error(
        "the archive has nothing of `{kernel}` that the device `{device}` can run; it has {there}"
    )]
    NoVariant { kernel: String, device: String, there: String },
    /// Too few or too many arguments.
    #[error(
        "the kernel `{kernel}` takes {expected} arguments, captured resources included, and got {got}"
    )]
    ArgumentCount { kernel: String, expected: usize, got: usize },
    /// A buffer where a value is expected, or the like.
    #[error("argument {index} is {expected}, got {got}")]
    ArgumentKind { index: usize, expected: String, got: &'static str },
    /// An argument of a recorded dispatch that does not fit, with the kernel's name and the argument's, if the metadata has it.
    #[error("the kernel `{kernel}`{}: {error}", named(name))]
    Dispatch { kernel: String, name: Option<String>, error: Box<RuntimeError> },
    /// A value of the wrong number of bytes.
    #[error("argument {index}, a `{ty}`, has {expected} bytes, got {got}")]
    ArgumentSize { index: usize, ty: String, expected: u64, got: u64 },
    /// An image whose storage does not hold what the kernel reads or writes.
    #[error(
        "argument {index} is `{ty}`, which cannot be an image of {dimension} dimensions stored as `{storage}`"
    )]
    ImageMismatch { index: usize, ty: String, dimension: u32, storage: PixelStorage },
    /// A view that passes its buffer's end or does not start at an element's alignment.
    #[error(
        "argument {index} is a view of bytes {start} to {end} of a buffer of {size}; it must lie inside and start at a multiple of {align}"
    )]
    View { index: usize, start: usize, end: usize, size: usize, align: u64 },
    /// An argument kind that this device does not have.
    #[error("argument {index} is {kind}, which this device does not support yet")]
    UnsupportedArgument { index: usize, kind: &'static str },
    /// A slot that a bindless array does not have.
    #[error("there is no slot {slot} in a bindless array of {slots}")]
    Slot { slot: usize, slots: usize },
    /// A view that a slot of a bindless array cannot hold.
    #[error(
        "slot {slot} cannot hold bytes {start} to {end} of a buffer of {size}; they must lie inside and start at a multiple of 16"
    )]
    SlotView { slot: usize, start: usize, end: usize, size: usize },
    /// A level that an image does not have.
    #[error("there is no level {level} in an image of {levels}")]
    ImageLevel { level: u32, levels: u32 },
    /// A value or buffer of another type than the kernel's.
    #[error("argument {index} is `{expected}`, got `{got}`")]
    ArgumentType { index: usize, expected: String, got: String },
    /// A resource or kernel of another device.
    #[error("a resource, kernel or list of another device was given")]
    OtherDevice,
    /// A range that passes the end of what it is a part of.
    #[error("{what} of {start} to {end} does not lie inside {size}, or does not fit it")]
    Range { what: &'static str, start: u64, end: u64, size: u64 },
    /// A copy within the same bytes.
    #[error("the source and the target of a copy overlap")]
    Overlap,
    /// The host has no memory left.
    #[error("out of memory: {bytes} bytes were asked for")]
    OutOfMemory { bytes: u64 },
    /// An image without texels, too large, or of a storage that kernels cannot access.
    #[error("an image of {size:?} texels stored as `{storage}` cannot be made: {reason}")]
    ImageShape { size: [u32; 3], storage: PixelStorage, reason: &'static str },
    /// An upload or download of the wrong length.
    #[error("the data has {got} {unit}, expected {expected}")]
    DataSize { expected: u64, got: u64, unit: &'static str },
    /// A copy between levels of other sizes or storages.
    #[error(
        "a level of {from:?} texels stored as `{from_storage}` cannot be copied to one of {to:?} stored as `{to_storage}`"
    )]
    ImageCopy { from: [u32; 3], from_storage: PixelStorage, to: [u32; 3], to_storage: PixelStorage },
    /// More blocks than can be counted.
    #[error("a dispatch of {0:?} has too many blocks")]
    GridTooLarge([u32; 3]),
    /// An assertion in the kernel failed.
    #[error("assertion failed in the kernel `{kernel}` at dispatch id ({}, {}, {}){}", dispatch_id[0], dispatch_id[1], dispatch_id[2], colon(message))]
    Assert { kernel: String, message: String, dispatch_id: [u32; 3] },
    /// An index out of bounds, under `--bounds trap`.
    #[error("index {index} is out of bounds of {} in the kernel `{kernel}` at dispatch id ({}, {}, {}){}", place(*argument, name), dispatch_id[0], dispatch_id[1], dispatch_id[2], colon(message))]
    OutOfBounds {
        kernel: String,
        /// Position of the argument, captured resources included; `None` for a local or shared array.
        argument: Option<u32>,
        /// The argument's name, if the metadata has it.
        name: Option<String>,
        /// The index; negative ones are those of signed indices.
        index: i64,
        dispatch_id: [u32; 3],
        /// What was accessed, in the compiler's words; may be empty.
        message: String,
    },
    /// An assertion failed or an index was out of bounds, but the log was full of output before it.
    #[error(
        "the kernel `{kernel}` stopped at a failed assertion or an index out of bounds, but its log had no room to say which"
    )]
    FaultLost { kernel: String },
    /// An indirect dispatch of another block size.
    #[error(
        "an indirect dispatch of the kernel `{kernel}` asks for blocks of {got:?} threads, it has {expected:?}"
    )]
    IndirectBlock { kernel: String, expected: [u32; 3], got: [u32; 3] },
    /// A run ended with this; all who wait for it share it.
    #[error(transparent)]
    Run(Arc<RuntimeError>),
    /// Not run, since something that it follows failed.
    #[error("refused, since work before it failed: {0}")]
    Refused(Arc<RuntimeError>),
    /// A function of the host that a list called panicked.
    #[error("a callback panicked: {0}")]
    CallbackPanicked(String),
    /// A callback waited for a stream.
    #[error("a callback waited for work that may wait for it")]
    WaitInCallback,
    /// Waiting for an event that nothing signals.
    #[error("the event is waited for, but nothing that was submitted signals it")]
    NotSignalled,
    /// There is no such device here.
    #[error("the device `{device}` cannot be opened: {reason}")]
    NoDevice { device: String, reason: String },
    /// The device is gone, or refused to work.
    #[error("the device `{device}` is lost: {reason}")]
    DeviceLost { device: String, reason: String },
    /// The kernel wrote a log that its metadata does not describe.
    #[error("the log of the kernel `{kernel}` cannot be read: {reason}")]
    BadLog { kernel: String, reason: &'static str },
}

fn named(name: &Option<String>) -> String {
    name.as_ref().map_or_else(String::new, |name| format!(", argument `{name}`"))
}

fn colon(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(": {message}") }
}

fn place(argument: Option<u32>, name: &Option<String>) -> String {
    match (argument, name) {
        (None, _) => "a local or shared array".into(),
        (Some(i), None) => format!("argument {i}"),
        (Some(i), Some(name)) => format!("argument {i} (`{name}`)"),
    }
}

impl RuntimeError {
    /// Refused for this cause; if that was refused itself, for what was the cause of it.
    pub(crate) fn refused(cause: &Arc<Self>) -> Self {
        match &**cause {
            Self::Refused(first) => Self::Refused(first.clone()),
            _ => Self::Refused(cause.clone()),
        }
    }

    /// The stable diagnostic code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Load(e) => e.code(),
            #[cfg(feature = "vulkan")]
            Self::Vulkan(e) => e.code(),
            #[cfg(feature = "wgpu")]
            Self::Wgpu(e) => e.code(),
            Self::Archive { code, .. } => code,
            Self::NoVariant { .. } => "L1110",
            Self::ArgumentCount { .. } => "L1120",
            Self::ArgumentKind { .. } => "L1121",
            Self::Dispatch { error, .. } => error.code(),
            Self::ArgumentSize { .. } => "L1122",
            Self::ImageMismatch { .. } => "L1123",
            Self::View { .. } => "L1124",
            Self::UnsupportedArgument { .. } => "L1125",
            Self::Slot { .. } => "L1126",
            Self::SlotView { .. } => "L1127",
            Self::ImageLevel { .. } => "L1128",
            Self::ArgumentType { .. } => "L1170",
            Self::OtherDevice => "L1171",
            Self::Range { .. } => "L1172",
            Self::Overlap => "L1173",
            Self::OutOfMemory { .. } => "L1130",
            Self::ImageShape { .. } => "L1131",
            Self::DataSize { .. } | Self::ImageCopy { .. } => "L1132",
            Self::GridTooLarge(_) => "L1133",
            Self::Assert { .. } => "L1140",
            Self::OutOfBounds { .. } => "L1141",
            Self::FaultLost { .. } => "L1142",
            Self::BadLog { .. } => "L1143",
            Self::IndirectBlock { .. } => "L1144",
            Self::Run(e) => e.code(),
            Self::Refused(_) => "L1150",
            Self::CallbackPanicked(_) => "L1151",
            Self::WaitInCallback => "L1152",
            Self::NotSignalled => "L1153",
            Self::NoDevice { .. } => "L1154",
            Self::DeviceLost { .. } => "L1155",
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Self::Load(e) => e.help(),
            #[cfg(feature = "vulkan")]
            Self::Vulkan(e) => e.help(),
            #[cfg(feature = "wgpu")]
            Self::Wgpu(e) => e.help(),
            Self::Archive { help, .. } => help,
            Self::NoVariant { .. } => "bake the kernel for the device's target too",
            Self::ArgumentCount { .. } | Self::ArgumentKind { .. } => {
                "`luisac inspect` lists the arguments in their order"
            }
            Self::ArgumentSize { .. } => {
                "give the value in its memory form: a 3-vector has four words, a bool one byte"
            }
            Self::ImageMismatch { .. } => {
                "float images take any storage, int and uint images the integer storages byte, short, int"
            }
            Self::View { .. } | Self::SlotView { .. } => "choose another range of the buffer",
            Self::Slot { .. } => "slots count from 0; give the array more of them",
            Self::ImageLevel { .. } => "levels count from 0; give the image more of them",
            Self::UnsupportedArgument { .. } => {
                "use `--device interp` where it holds what the kernel needs"
            }
            Self::OutOfMemory { .. } => "use smaller buffers or images",
            Self::ImageShape { .. } => {
                "give at least one texel on each axis and a storage that is not compressed"
            }
            Self::Dispatch { error, .. } => error.help(),
            Self::DataSize { .. } => "the data must fill the whole range",
            Self::ImageCopy { .. } => "copy between levels of one size and storage",
            Self::GridTooLarge(_) => "dispatch less at once",
            Self::Assert { .. } => "the kernel's own check failed; look at its inputs",
            Self::OutOfBounds { .. } => {
                "look at the size of the argument and how the kernel computes the index"
            }
            Self::FaultLost { .. } => "print less, so that the log has room",
            Self::ArgumentType { .. } => {
                "give what the kernel takes; a `Buffer<u8>` fits every buffer argument"
            }
            Self::OtherDevice => "use what the list's own device made",
            Self::Range { .. } => "choose a range inside it",
            Self::Overlap => "copy through a third buffer, or choose ranges apart",
            Self::IndirectBlock { .. } => "write entries with the kernel's block size",
            Self::Run(e) => e.help(),
            Self::Refused(_) => "mend what failed first, and go on with a new stream",
            Self::CallbackPanicked(_) => "look at the panic's message on the error stream",
            Self::WaitInCallback => "wait on a thread of your own",
            Self::NotSignalled => "submit what signals it first",
            Self::NoDevice { .. } => "choose another device; `cpu` is always there",
            Self::DeviceLost { .. } => "open the device anew; what it held is gone",
            Self::BadLog { .. } => "use the metadata that was written with the object",
        }
    }
}
