//! What an XIR value is while its function is emitted.

use smallvec::{SmallVec, smallvec};

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

/// A storage image.
#[derive(Clone, Copy, Debug)]
pub struct Image {
    /// Surface object or pointer to an image view, `i64`.
    pub handle: Val,
    /// Pixel storage number, `i64`.
    pub storage: Val,
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
    /// A resource that nothing here can touch.
    Opaque,
}

impl Value {
    /// A scalar.
    pub fn scalar(v: Val) -> Value {
        Value::Leaves(smallvec![v])
    }
}
