//! What an XIR value is while its function is emitted.

use smallvec::{SmallVec, smallvec};

use super::indirect::Indirect;
use super::ir::Val;

/// The scalars of a value, in memory order.
pub type Leaves = SmallVec<[Val; 4]>;

/// A typed buffer or byte buffer.
#[derive(Clone, Copy, Debug)]
pub struct Buffer {
    /// Address of the first byte.
    pub ptr: Val,
    /// Bytes, `i64`.
    pub size: Val,
    /// Position among the kernel's arguments, `i32`, for reports of traps.
    pub position: Val,
}

/// An image argument.
#[derive(Clone, Copy, Debug)]
pub struct Image {
    /// Surface object or address of the image views, `i64`.
    pub handle: Val,
    /// Pixel storage number, `i64`.
    pub storage: Val,
    /// Where the target has texture objects: address of those for each sampler, `i64`; zero if the kernel does not sample it.
    pub textures: Option<Val>,
}

/// An image as it is sampled, with all its levels.
#[derive(Clone, Copy, Debug)]
pub struct Texture {
    /// Texture object or address of the image views, `i64`.
    pub handle: Val,
    /// Sampler of the slot that it is in, `i32`: `filter * 4 + address`; zero for an argument.
    pub sampler: Val,
    /// Number of levels, `i32`, where the handle does not lead to it.
    pub levels: Option<Val>,
}

/// A bindless array.
#[derive(Clone, Copy, Debug)]
pub struct Bindless {
    /// Address of the records.
    pub ptr: Val,
    /// Number of slots, `i64`.
    pub slots: Val,
    /// Position among the kernel's arguments, `i32`, for reports of traps.
    pub position: Val,
}

/// An XIR value.
#[derive(Clone, Debug)]
pub enum Value {
    /// Data, as its scalars.
    Leaves(Leaves),
    /// Data of too many scalars: a pointer to memory that nothing changes while the value lives. SSA makes that true without
    /// copies when a value is passed on: whoever defines a value of this kind writes a place of its own.
    Memory(Val),
    /// An lvalue: a pointer.
    Place(Val),
    /// A buffer.
    Buffer(Buffer),
    /// An image.
    Image(Image),
    /// A bindless array.
    Bindless(Bindless),
    /// An indirect dispatch buffer.
    Indirect(Indirect),
    /// A resource that nothing here can touch.
    Opaque,
}

impl Value {
    /// A scalar.
    pub fn scalar(v: Val) -> Value {
        Value::Leaves(smallvec![v])
    }
}
