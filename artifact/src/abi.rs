//! The kernel ABI: how parameters, CPU blocks and log records lie in memory. `docs/abi.md` shows it in prose.
//!
//! **Parameter block.** One block of bytes, the same layout on `ptx` (a `.param .align 16` array) and on `cpu`
//! (the first argument of the entry point). Captured resources come first, then the declared arguments, each
//! at the next multiple of 16:
//!
//! | argument | bytes | content |
//! |---|---|---|
//! | value | size of the type | the memory form of the type |
//! | buffer | 16 | `u64` address, `u64` size in bytes |
//! | image, `ptx` | 16 | `u64` surface object, `u64` [`PixelStorage`](crate::PixelStorage) number |
//! | image, `cpu` | 16 | `u64` pointer to the [`ImageView`]s of its levels, `u64` [`PixelStorage`](crate::PixelStorage) number |
//! | bindless array | 16 | `u64` address of its [`BindlessRecord`]s, `u64` number of slots |
//! | acceleration structure, indirect dispatch buffer | 16 | reserved |
//! | log buffer, only if the kernel prints, asserts or traps | 16 | `u64` capacity of the data in bytes, `u64` pointer to [the log](LogLayout) |
//! | dispatch, always last | 16 | `u32` x, y, z of the dispatch size, `u32` kernel id |
//!
//! The total is a multiple of 16. The host aligns the block to 16.

use thiserror::Error;

/// Alignment of each argument and of the whole block, in bytes.
pub const PARAM_ALIGN: u32 = 16;
/// Most bytes a parameter block may take: the host's limit of 64 KiB.
pub const MAX_PARAM_BYTES: u32 = 64 * 1024;
/// Most parameter bytes of a kernel before `sm_70` or PTX 8.1.
pub const PTX_PARAM_BYTES_OLD: u32 = 4096;
/// Most parameter bytes of a kernel from `sm_70` with PTX 8.1 on.
pub const PTX_PARAM_BYTES_NEW: u32 = 32_764;
/// Alignment of [`BlockConfig::scratch`], in bytes.
pub const SCRATCH_ALIGN: u64 = 64;
/// Most threads in a block.
pub const MAX_BLOCK_THREADS: u32 = 1024;
/// Alignment of a log record and of its argument structure, in bytes; no member may rely on more.
pub const LOG_ALIGN: u32 = 8;
/// Bytes before the argument structure of a log record: `u32` record size, `u32` format id.
pub const LOG_HEADER_BYTES: u32 = 8;
/// Set in the log's `used` by a thread whose assert or trap record did not fit, so that no fault goes unseen.
/// A `used` with this bit is larger than any capacity, so the test for room needs no mask.
pub const LOG_FAULT_LOST: u64 = 1 << 63;
/// Argument position in a bounds-trap record when the index was into a local or shared array.
pub const TRAP_LOCAL_ARRAY: u32 = u32::MAX;

/// The shape of one argument, as far as the layout of the parameter block depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentShape {
    /// A value of this many bytes in memory form.
    Value {
        /// Size in bytes; zero for an empty structure.
        size: u64,
    },
    /// A typed buffer or byte buffer.
    Buffer,
    /// A storage image of two or three dimensions.
    Image,
    /// A bindless array.
    BindlessArray,
    /// An acceleration structure.
    Accel,
    /// An indirect dispatch buffer.
    IndirectDispatch,
}

impl ArgumentShape {
    /// Bytes of the argument in the block, without padding.
    #[must_use]
    pub fn size(self) -> u64 {
        match self {
            Self::Value { size } => size,
            _ => 16,
        }
    }
}

/// Why a parameter block cannot be laid out.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AbiError {
    /// The block would be larger than the host's limit.
    #[error("the arguments take {bytes} bytes, more than the limit of {MAX_PARAM_BYTES}")]
    TooLarge {
        /// Bytes needed up to the argument that crossed the limit.
        bytes: u64,
    },
}

impl AbiError {
    /// The stable diagnostic code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } => "L1010",
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } => "pass large values in a buffer",
        }
    }
}

/// Where everything lies in a kernel's parameter block; offsets in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamLayout {
    /// Offset of each argument, in the order given.
    pub offsets: Vec<u32>,
    /// Offset of the log buffer's 16 bytes, if there is one.
    pub log: Option<u32>,
    /// Offset of `{u32 x, y, z, kernel id}`.
    pub dispatch: u32,
    /// Size of the block, a multiple of 16.
    pub size: u32,
}

impl ParamLayout {
    /// Lays out `arguments` (captured resources first, then the declared ones) and, if `log`, the log buffer.
    ///
    /// # Errors
    /// [`AbiError::TooLarge`] when the block would pass [`MAX_PARAM_BYTES`].
    pub fn of(
        arguments: impl IntoIterator<Item = ArgumentShape>,
        log: bool,
    ) -> Result<Self, AbiError> {
        let mut end = 0u32;
        let mut place = |size: u64| {
            // `end` is a multiple of 16 and at most the limit, so neither sum can overflow once `size` is bounded.
            let offset = end;
            let bytes = u64::from(offset).saturating_add(size);
            if bytes > u64::from(MAX_PARAM_BYTES) {
                return Err(AbiError::TooLarge { bytes });
            }
            end = (bytes as u32).next_multiple_of(PARAM_ALIGN);
            Ok(offset)
        };
        let offsets = arguments.into_iter().map(|a| place(a.size())).collect::<Result<_, _>>()?;
        let log = if log { Some(place(16)?) } else { None };
        let dispatch = place(16)?;
        Ok(Self { offsets, log, dispatch, size: end })
    }
}

/// What a CPU kernel's entry point gets beside the parameter block.
///
/// The entry is `extern "C" fn(params: *const u8, block: *const BlockConfig)`, called once per block; its symbol
/// is the metadata's `entry`. It runs every thread of the block whose dispatch id lies inside the dispatch size.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct BlockConfig {
    /// The block's place in the grid.
    pub block_id: [u32; 3],
    /// Zero.
    pub reserved: u32,
    /// Memory of this block alone, of the metadata's `scratch_bytes`, aligned to [`SCRATCH_ALIGN`]; for shared
    /// variables and for what threads keep across barriers. Its content is undefined at entry. Dangling but
    /// aligned when `scratch_bytes` is zero.
    pub scratch: *mut u8,
}

/// The type of a CPU kernel's entry point; see [`BlockConfig`].
pub type CpuEntry = unsafe extern "C" fn(params: *const u8, block: *const BlockConfig);

/// One level of an image, as a CPU kernel sees it. Texel (x, y, z) starts at
/// `data + x * bytes(storage) + y * row_stride + z * slice_stride`. The views of an image's levels lie one after the other, so
/// that the view of a level is the start of an image of the levels from there on.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageView {
    /// Address of the first texel.
    pub data: u64,
    /// Texels along x.
    pub width: u32,
    /// Texels along y.
    pub height: u32,
    /// Texels along z; 1 for two dimensions.
    pub depth: u32,
    /// [`PixelStorage`](crate::PixelStorage) number.
    pub storage: u32,
    /// Bytes from a row to the next.
    pub row_stride: u64,
    /// Bytes from a slice to the next.
    pub slice_stride: u64,
    /// Number of levels, this one and the smaller ones, whose views follow.
    pub levels: u32,
    /// Zero.
    pub reserved: u32,
}

/// What a slot of a bindless array holds, as `cpu` and `ptx` kernels see it; all zero if it is empty.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BindlessRecord {
    /// Address of the buffer.
    pub buffer: u64,
    /// Size of the buffer in bytes. On `ptx` in the low 48 bits; above them, in a byte for each image, two-dimensional first,
    /// the sampler and the number of levels less one, 4 bits each.
    pub buffer_size: u64,
    /// The two-dimensional image. `cpu`: address of its [`ImageView`]s, with the sampler in the low 4 bits. `ptx`: texture object.
    pub image2d: u64,
    /// The three-dimensional image, likewise.
    pub image3d: u64,
}

/// Bits of [`BindlessRecord::image2d`] on `cpu` that are the sampler, `filter * 4 + address`.
pub const SAMPLER_MASK: u64 = 15;
/// Bits of [`BindlessRecord::buffer_size`] on `ptx` that are the size.
pub const PTX_SIZE_BITS: u32 = 48;
/// Where the samplers of the two images start in [`BindlessRecord::buffer_size`] on `ptx`.
pub const PTX_SAMPLER_BITS: [u32; 2] = [48, 56];
/// Where the numbers of levels of the two images, less one, start in [`BindlessRecord::buffer_size`] on `ptx`.
pub const PTX_LEVEL_BITS: [u32; 2] = [52, 60];

/// What leads to an image that a `ptx` kernel samples, in global memory.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PtxImage {
    /// Surface object of the level that is read and written.
    pub surface: u64,
    /// Number of levels from that level on, 1 or more.
    pub levels: u64,
    /// Texture objects of the image from that level on, with sampler `filter * 4 + address` each; those that the kernel does not
    /// use may be 0, but the first one is always there, since it measures the image and fetches texels.
    pub textures: [u64; 16],
}

const _: () = {
    assert!(size_of::<BindlessRecord>() == 32);
    assert!(size_of::<PtxImage>() == 144);
    assert!(size_of::<ImageView>() == 48 && align_of::<ImageView>() == 16);
    assert!(std::mem::offset_of!(ImageView, levels) == 40);
    assert!(
        std::mem::offset_of!(ImageView, width) == 8
            && std::mem::offset_of!(ImageView, storage) == 20
    );
    assert!(
        std::mem::offset_of!(ImageView, row_stride) == 24
            && std::mem::offset_of!(ImageView, slice_stride) == 32
    );
    assert!(std::mem::offset_of!(BlockConfig, scratch) == 16);
};

/// The layout of one kind of log record.
///
/// The log is `{u64 used; u8 data[capacity]}`. A record is `{u32 record size, u32 format id}` and an argument
/// structure: members in order, each at the next multiple of its alignment, counted from the structure's start.
/// The whole is padded to 8, and that is all the alignment a member may rely on.
///
/// A writer atomically adds the record size to `used` and writes the record at the old value if
/// `old + size <= capacity`; a fault record (assert, trap) that does not fit sets [`LOG_FAULT_LOST`] in `used`
/// instead. The reader stops at the first record that crosses the capacity or the end of what was used.
/// The format id is an index into the metadata's `formats`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLayout {
    /// Offset of each member from the start of the argument structure (the record's byte 8).
    pub offsets: Vec<u32>,
    /// Size of the record, header and padding included; what is added to `used`.
    pub record_size: u32,
}

impl LogLayout {
    /// Lays out a record with `members` of (size, alignment) in bytes.
    ///
    /// # Errors
    /// [`AbiError::TooLarge`] when the record would pass [`MAX_PARAM_BYTES`].
    pub fn of(members: impl IntoIterator<Item = (u64, u64)>) -> Result<Self, AbiError> {
        let (mut offsets, mut end) = (Vec::new(), 0u64);
        for (size, align) in members {
            let offset = end.next_multiple_of(align.clamp(1, 16));
            end = offset.saturating_add(size);
            if end > u64::from(MAX_PARAM_BYTES - LOG_HEADER_BYTES) {
                return Err(AbiError::TooLarge { bytes: end });
            }
            offsets.push(offset as u32);
        }
        let record_size = (LOG_HEADER_BYTES + end as u32).next_multiple_of(LOG_ALIGN);
        Ok(Self { offsets, record_size })
    }
}

/// Byte offsets in the argument structure of an assert record, which holds the dispatch id alone.
pub mod assert_record {
    /// `u32` x, y, z of the dispatch id.
    pub const DISPATCH_ID: u32 = 0;
    /// Size of the whole record.
    pub const RECORD_SIZE: u32 = 24;
}

/// Byte offsets in the argument structure of a bounds-trap record.
pub mod trap_record {
    /// `u32` x, y, z of the dispatch id.
    pub const DISPATCH_ID: u32 = 0;
    /// `u32` position of the argument (captured resources count), or [`TRAP_LOCAL_ARRAY`](super::TRAP_LOCAL_ARRAY).
    pub const ARGUMENT: u32 = 12;
    /// `u64` the index, sign-extended from a signed one.
    pub const INDEX: u32 = 16;
    /// Size of the whole record.
    pub const RECORD_SIZE: u32 = 32;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_start_at_multiples_of_16() {
        use ArgumentShape::{Buffer, Image, Value};
        let l = ParamLayout::of(
            [Buffer, Value { size: 4 }, Image, Value { size: 48 }, Value { size: 1 }],
            true,
        )
        .unwrap();
        assert_eq!(
            l,
            ParamLayout {
                offsets: vec![0, 16, 32, 48, 96],
                log: Some(112),
                dispatch: 128,
                size: 144
            }
        );
        let l = ParamLayout::of([], false).unwrap();
        assert_eq!(l, ParamLayout { offsets: vec![], log: None, dispatch: 0, size: 16 });
    }

    #[test]
    fn huge_values_are_refused() {
        let one = |size| ParamLayout::of([ArgumentShape::Value { size }], false);
        assert!(one(u64::from(MAX_PARAM_BYTES) - 16).is_ok());
        assert!(one(u64::from(MAX_PARAM_BYTES) - 15).is_err());
        assert!(one(u64::MAX).is_err());
        assert!(ParamLayout::of(std::iter::repeat_n(ArgumentShape::Buffer, 5000), false).is_err());
    }

    #[test]
    fn records() {
        let l = LogLayout::of([(4, 4), (16, 16), (1, 1)]).unwrap();
        assert_eq!(l, LogLayout { offsets: vec![0, 16, 32], record_size: 48 });
        assert_eq!(LogLayout::of([]).unwrap().record_size, 8);
        assert_eq!(LogLayout::of([(4, 4); 3]).unwrap().record_size, assert_record::RECORD_SIZE);
        assert_eq!(
            LogLayout::of([(4, 4), (4, 4), (4, 4), (4, 4), (8, 8)]).unwrap().record_size,
            trap_record::RECORD_SIZE
        );
        assert!(LogLayout::of([(u64::MAX, 4)]).is_err());
    }
}
