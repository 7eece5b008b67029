//! The metadata of a kernel: the JSON beside a loose artifact, `NAME.TARGET.json`.
//!
//! The keys are stable; `docs/json/metadata.schema.json` describes them. [`Metadata::from_json`] trusts nothing:
//! what it returns has been through [`Metadata::check`].

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{
    abi::{self, ArgumentShape, ParamLayout},
    bindings::{Bindings, Slot, SlotKind},
    layout::{DataLayout, TypeKind},
};

/// The value of the key `schema`.
pub const SCHEMA: &str = "luisac.kernel";
/// The version this crate reads and writes.
pub const VERSION: u32 = 1;

/// Everything about a compiled kernel that its code does not say itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metadata {
    /// [`SCHEMA`].
    pub schema: String,
    /// [`VERSION`].
    pub version: u32,
    /// The kernel's name.
    pub kernel: String,
    /// The symbol of the entry point.
    pub entry: String,
    /// Target with detail: `ptx:sm_90`, `cpu:x86-64-v3`.
    pub target: String,
    /// Threads of a block along x, y, z.
    pub block_size: [u32; 3],
    /// Captured resources, then declared arguments, in order.
    pub arguments: Vec<Argument>,
    /// The parameter block.
    pub params: Params,
    /// Bytes of shared variables of a block.
    #[serde(default)]
    pub shared_bytes: u64,
    /// Bytes of [`BlockConfig::scratch`](crate::BlockConfig::scratch) that a block needs; `cpu` only.
    #[serde(default)]
    pub scratch_bytes: u64,
    /// Records of the log; a record's format id is an index here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub formats: Vec<Format>,
    /// Device features the kernel needs, sorted, such as `float64`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
    /// Lanes that wave operations act over; absent if the kernel has none or the device decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wave_lanes: Option<u32>,
    /// `--math`.
    pub math: MathMode,
    /// `--bounds`.
    pub bounds: BoundsMode,
    /// Where the API finds what is not an argument's; absent for `ptx` and `cpu`, whose parameter block holds addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bindings: Option<Bindings>,
    /// What only PTX has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ptx: Option<Ptx>,
    /// What only DXIL has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dxil: Option<Dxil>,
    /// Version of the compiler.
    pub compiler: String,
    /// BLAKE3 of the input, 64 hexadecimal digits.
    pub input_hash: String,
    /// BLAKE3 of the options, 64 hexadecimal digits.
    pub options_hash: String,
}

/// Where the ends of the parameter block are, in bytes; see [`crate::abi`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Size of the block.
    pub size: u32,
    /// Offset of the dispatch size and kernel id.
    pub dispatch: u32,
    /// Offset of the log buffer, if the kernel has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<u32>,
}

/// One argument.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Argument {
    /// The name in the source, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is.
    pub kind: ArgumentKind,
    /// Description of its type: `buffer<float>`, `texture<2,float>`, `vector<float,3>`.
    #[serde(rename = "type")]
    pub ty: String,
    /// Bytes of a buffer's element (1 for a byte buffer), or of the value; 0 for other kinds.
    #[serde(default)]
    pub element_size: u64,
    /// Alignment of the element or value; 1 for other kinds.
    #[serde(default = "one")]
    pub element_align: u64,
    /// What the kernel does with the resource.
    pub usage: Usage,
    /// Whether the kernel samples the image; `ptx` kernels then take the address of a [`PtxImage`](crate::abi::PtxImage).
    #[serde(default, skip_serializing_if = "is_false")]
    pub sampled: bool,
    /// Whether it is a captured resource rather than a declared argument.
    #[serde(default)]
    pub captured: bool,
    /// What a captured resource was bound to in the program that wrote the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binding: Option<Binding>,
    /// Offset in the parameter block, in bytes.
    pub offset: u32,
    /// Bytes in the parameter block.
    pub size: u32,
    /// Where the API finds the resource: see [`crate::bindings::assign`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slots: Vec<Slot>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

fn one() -> u64 {
    1
}

/// What an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgumentKind {
    /// Plain data, by value.
    Value,
    /// A typed buffer or byte buffer.
    Buffer,
    /// A storage image.
    Image,
    /// A bindless array.
    BindlessArray,
    /// An acceleration structure.
    Accel,
    /// An indirect dispatch buffer.
    IndirectDispatch,
}

/// What a kernel does with a resource, itself or through what it calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Usage {
    None,
    Read,
    Write,
    ReadWrite,
}

impl Usage {
    /// Whether it may be read.
    #[must_use]
    pub fn reads(self) -> bool {
        matches!(self, Self::Read | Self::ReadWrite)
    }

    /// Whether it may be written.
    #[must_use]
    pub fn writes(self) -> bool {
        matches!(self, Self::Write | Self::ReadWrite)
    }
}

/// What a captured resource was bound to. Handles are decimal strings, since JSON numbers lose bits above 2^53.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Binding {
    /// A buffer view.
    Buffer {
        /// The resource.
        #[serde(with = "decimal")]
        handle: u64,
        /// Start of the view in bytes.
        #[serde(with = "decimal")]
        offset: u64,
        /// Size of the view in bytes.
        #[serde(with = "decimal")]
        size: u64,
    },
    /// A level of an image.
    Image {
        /// The resource.
        #[serde(with = "decimal")]
        handle: u64,
        /// The mip level.
        level: u32,
    },
    /// A bindless array.
    BindlessArray {
        /// The resource.
        #[serde(with = "decimal")]
        handle: u64,
    },
    /// An acceleration structure.
    Accel {
        /// The resource.
        #[serde(with = "decimal")]
        handle: u64,
    },
}

mod decimal {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(value: &u64, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(value)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<u64, D::Error> {
        let text = String::deserialize(d)?;
        text.parse().map_err(|_| D::Error::custom("expected a decimal number in a string"))
    }
}

/// One kind of log record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Format {
    /// What the record reports.
    pub kind: FormatKind,
    /// The format string of a print, the message of an assert (may be empty), what was accessed for a trap.
    pub text: String,
    /// The printed values, in order; empty for asserts and traps, whose members are fixed by the ABI.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<FormatArgument>,
    /// Bytes of the whole record, header and padding included.
    pub record_size: u32,
}

/// What a log record reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FormatKind {
    /// A line of output.
    Print,
    /// An assertion that failed.
    Assert,
    /// An index out of bounds.
    Trap,
}

/// One printed value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FormatArgument {
    /// Description of its type.
    #[serde(rename = "type")]
    pub ty: String,
    /// Offset in the record's argument structure, in bytes.
    pub offset: u32,
}

/// `--math`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum MathMode {
    Fast,
    Precise,
}

/// `--bounds`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum BoundsMode {
    Off,
    Clamp,
    Trap,
}

/// What only PTX has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ptx {
    /// 90 for `sm_90`.
    pub sm: u32,
    /// PTX ISA version, such as `8.0`.
    pub version: String,
}

/// What only DXIL has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dxil {
    /// Version of the validator of DXC that accepted it, such as `1.8`.
    pub validator: String,
    /// Who wrote the hash that Direct3D asks for. It is the same hash; some tools want to know whose it is.
    pub signed_by: Signer,
}

/// Who has signed a DXIL container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Signer {
    /// DXC's own validator.
    Dxc,
    /// This compiler, since the validator that was found does not sign.
    Luisac,
}

/// Metadata that cannot be used.
#[derive(Debug, Error)]
pub enum MetadataError {
    /// Not JSON, or not of this shape.
    #[error("the metadata cannot be read: {0}")]
    Json(#[from] serde_json::Error),
    /// Metadata of something else, or of another version.
    #[error("the metadata is `{schema}` version {version}, expected `{SCHEMA}` version {VERSION}")]
    Version {
        /// What the file says it is.
        schema: String,
        /// Its version.
        version: u64,
    },
    /// A value that contradicts another or the ABI.
    #[error("the metadata's `{key}` is wrong: {message}")]
    Invalid {
        /// Path of the key, such as `arguments[2].offset`.
        key: String,
        /// What is wrong.
        message: String,
    },
}

impl MetadataError {
    /// The stable diagnostic code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Json(_) => "L1020",
            Self::Version { .. } => "L1021",
            Self::Invalid { .. } => "L1022",
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Self::Version { .. } => {
                "compile the kernel again with the compiler of this runtime's version"
            }
            Self::Json(_) | Self::Invalid { .. } => {
                "compile the kernel again; the file is damaged or was not written by luisac"
            }
        }
    }
}

fn invalid<T>(key: impl Into<String>, message: impl Into<String>) -> Result<T, MetadataError> {
    Err(MetadataError::Invalid { key: key.into(), message: message.into() })
}

impl Metadata {
    /// Reads and checks metadata.
    ///
    /// # Errors
    /// [`MetadataError`] for anything that [`Self::check`] or the schema does not allow.
    pub fn from_json(bytes: &[u8]) -> Result<Self, MetadataError> {
        #[derive(Deserialize)]
        struct Head {
            #[serde(default)]
            schema: String,
            #[serde(default)]
            version: u64,
        }
        // The head first: a newer version must be named as such, not as an unknown key.
        let head: Head = serde_json::from_slice(bytes)?;
        if head.schema != SCHEMA || head.version != u64::from(VERSION) {
            return Err(MetadataError::Version { schema: head.schema, version: head.version });
        }
        let metadata: Self = serde_json::from_slice(bytes)?;
        metadata.check()?;
        Ok(metadata)
    }

    /// The JSON text, with a line feed at its end; the same metadata gives the same bytes.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Strings and numbers under string keys: nothing that JSON cannot hold.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Whether the target is `name`, whatever its detail.
    #[must_use]
    pub fn is_for(&self, name: &str) -> bool {
        self.target.split(':').next() == Some(name)
    }

    /// The layout of the parameter block that the arguments ask for.
    ///
    /// # Errors
    /// As [`ParamLayout::of`].
    pub fn layout(&self) -> Result<ParamLayout, abi::AbiError> {
        ParamLayout::of(self.arguments.iter().map(Argument::shape), self.params.log.is_some())
    }

    /// Checks that everything agrees with everything else and with the ABI.
    ///
    /// # Errors
    /// [`MetadataError::Invalid`] with the first key that does not.
    pub fn check(&self) -> Result<(), MetadataError> {
        if self.schema != SCHEMA || self.version != VERSION {
            return Err(MetadataError::Version {
                schema: self.schema.clone(),
                version: self.version.into(),
            });
        }
        if self.entry.is_empty() || self.entry.contains('\0') {
            return invalid("entry", "not a symbol's name");
        }
        let threads = self.block_size.iter().try_fold(1u32, |a, &b| a.checked_mul(b));
        if !threads.is_some_and(|t| (1..=abi::MAX_BLOCK_THREADS).contains(&t)) {
            return invalid(
                "block_size",
                format!("a block has 1 to {} threads", abi::MAX_BLOCK_THREADS),
            );
        }
        if self.shared_bytes > u64::from(u32::MAX) {
            return invalid("shared_bytes", "4 GiB or more");
        }
        if self.scratch_bytes > u64::from(u32::MAX) {
            return invalid("scratch_bytes", "4 GiB or more");
        }
        if self.wave_lanes.is_some_and(|n| !n.is_power_of_two() || n > 128) {
            return invalid("wave_lanes", "not a power of two up to 128");
        }
        for (key, hash) in [("input_hash", &self.input_hash), ("options_hash", &self.options_hash)]
        {
            if hash.len() != 64 || !hash.bytes().all(|c| c.is_ascii_hexdigit()) {
                return invalid(key, "not 64 hexadecimal digits");
            }
        }
        if self.dxil.is_some() != self.is_for("dxil") {
            return invalid("dxil", "it belongs to the target `dxil`, and to no other");
        }
        if self.ptx.is_some() != self.is_for("ptx") {
            return invalid("ptx", "it belongs to the target `ptx`, and to no other");
        }
        self.check_arguments()?;
        self.check_bindings()?;
        self.check_formats()
    }

    /// Slots belong to targets that bind; each is at a place of its own.
    fn check_bindings(&self) -> Result<(), MetadataError> {
        let slots = self.arguments.iter().flat_map(|a| &a.slots);
        let Some(bindings) = &self.bindings else {
            return match slots.count() {
                0 => Ok(()),
                _ => invalid("bindings", "missing, though arguments have slots"),
            };
        };
        if bindings.params.kind != SlotKind::UniformBuffer {
            return invalid("bindings.params", "not a uniform buffer");
        }
        if bindings.log.is_some() != self.params.log.is_some() {
            return invalid("bindings.log", "the parameter block and the bindings disagree");
        }
        Ok(())
    }

    fn check_arguments(&self) -> Result<(), MetadataError> {
        let mut declared = false;
        for (i, a) in self.arguments.iter().enumerate() {
            a.check(&format!("arguments[{i}]"))?;
            if a.captured && declared {
                return invalid(
                    format!("arguments[{i}].captured"),
                    "captured resources come before declared arguments",
                );
            }
            declared |= !a.captured;
        }
        let layout = match self.layout() {
            Ok(l) => l,
            Err(e) => return invalid("arguments", e.to_string()),
        };
        for (i, (a, &offset)) in self.arguments.iter().zip(&layout.offsets).enumerate() {
            if a.offset != offset {
                return invalid(format!("arguments[{i}].offset"), format!("expected {offset}"));
            }
        }
        if (self.params.log, self.params.dispatch, self.params.size)
            != (layout.log, layout.dispatch, layout.size)
        {
            return invalid("params", "not the layout of these arguments");
        }
        Ok(())
    }

    fn check_formats(&self) -> Result<(), MetadataError> {
        if !self.formats.is_empty() && self.params.log.is_none() {
            return invalid("params.log", "missing, though there are formats");
        }
        for (i, f) in self.formats.iter().enumerate() {
            let key = |k: &str| format!("formats[{i}].{k}");
            if !f.record_size.is_multiple_of(abi::LOG_ALIGN)
                || !(abi::LOG_HEADER_BYTES..=abi::MAX_PARAM_BYTES).contains(&f.record_size)
            {
                return invalid(key("record_size"), "not a record's size");
            }
            let (fixed, what) = match f.kind {
                FormatKind::Print => (f.record_size, "a print"),
                FormatKind::Assert => (abi::assert_record::RECORD_SIZE, "an assert"),
                FormatKind::Trap => (abi::trap_record::RECORD_SIZE, "a trap"),
            };
            if f.record_size != fixed {
                return invalid(key("record_size"), format!("{what} has {fixed}"));
            }
            if f.kind != FormatKind::Print && !f.arguments.is_empty() {
                return invalid(key("arguments"), format!("{what} has none"));
            }
            let room = u64::from(f.record_size - abi::LOG_HEADER_BYTES);
            for (j, a) in f.arguments.iter().enumerate() {
                let key = |k: &str| format!("formats[{i}].arguments[{j}].{k}");
                let layout = parse(&key("type"), &a.ty)?;
                if !layout.is_data(layout.root()) {
                    return invalid(key("type"), "not a type of plain data");
                }
                if layout.size(layout.root()).saturating_add(a.offset.into()) > room {
                    return invalid(key("offset"), "the value passes the end of the record");
                }
            }
        }
        Ok(())
    }
}

fn parse(key: &str, description: &str) -> Result<DataLayout, MetadataError> {
    DataLayout::parse(description).or_else(|e| invalid(key, e.to_string()))
}

impl Argument {
    /// Its shape in the parameter block.
    #[must_use]
    pub fn shape(&self) -> ArgumentShape {
        match self.kind {
            ArgumentKind::Value => ArgumentShape::Value { size: self.size.into() },
            ArgumentKind::Buffer => ArgumentShape::Buffer,
            ArgumentKind::Image => ArgumentShape::Image,
            ArgumentKind::BindlessArray => ArgumentShape::BindlessArray,
            ArgumentKind::Accel => ArgumentShape::Accel,
            ArgumentKind::IndirectDispatch => ArgumentShape::IndirectDispatch,
        }
    }

    fn check(&self, at: &str) -> Result<(), MetadataError> {
        let key = |k: &str| format!("{at}.{k}");
        let layout = parse(&key("type"), &self.ty)?;
        let root = layout.root();
        let element = match (self.kind, layout.kind(root)) {
            (ArgumentKind::Value, _) if layout.is_data(root) => Some(root),
            (ArgumentKind::Buffer, TypeKind::Buffer(element)) => *element,
            (ArgumentKind::Image, TypeKind::Texture(..))
            | (ArgumentKind::BindlessArray, TypeKind::BindlessArray)
            | (ArgumentKind::Accel, TypeKind::Accel)
            | (ArgumentKind::IndirectDispatch, TypeKind::Custom(_)) => None,
            _ => {
                return invalid(
                    key("type"),
                    format!("`{}` is no type of this kind of argument", self.ty),
                );
            }
        };
        let (size, align) = match (element, self.kind) {
            (Some(id), _) => (layout.size(id), layout.align(id)),
            (None, ArgumentKind::Buffer) => (1, 1),
            (None, _) => (0, 1),
        };
        if (self.element_size, self.element_align) != (size, align) {
            return invalid(key("element_size"), format!("expected {size}, aligned to {align}"));
        }
        let bytes = if self.kind == ArgumentKind::Value { size } else { 16 };
        if u64::from(self.size) != bytes {
            return invalid(key("size"), format!("expected {bytes}"));
        }
        let bound = match self.binding {
            None => return Ok(()),
            Some(Binding::Buffer { .. }) => ArgumentKind::Buffer,
            Some(Binding::Image { .. }) => ArgumentKind::Image,
            Some(Binding::BindlessArray { .. }) => ArgumentKind::BindlessArray,
            Some(Binding::Accel { .. }) => ArgumentKind::Accel,
        };
        if !self.captured || bound != self.kind {
            return invalid(
                key("binding"),
                "not what a captured resource of this kind is bound to",
            );
        }
        Ok(())
    }
}
