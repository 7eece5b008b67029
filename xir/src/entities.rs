//! Dense entity ids. An id indexes the arena that made it and is meaningless in any other.

use cranelift_entity::entity_impl;

/// A function of a [`Module`](crate::Module).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionId(u32);
entity_impl!(FunctionId, "@f");

/// A basic block of a [`Function`](crate::Function).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(u32);
entity_impl!(BlockId, "b");

/// An instruction or terminator of a [`Function`](crate::Function).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstId(u32);
entity_impl!(InstId, "i");

/// A value of a [`Function`](crate::Function): argument, constant, undefined, special register or instruction result.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ValueId(u32);
entity_impl!(ValueId, "%");
