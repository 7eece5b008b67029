//! The code that the machine runs: flat operations on rows of registers.
//!
//! A *row* holds one scalar of one value: a cell for each thread of the block. The rows of a function's activation lie together;
//! operands name them from the start of the activation. What is the same for all threads lies in single *cells* before all rows.

use crate::eval::{Binary, Bits, Ternary, Unary, flat::Flat};
use crate::math::composite::Shape;
use crate::op::{ArithmeticOp, AtomicOp, ThreadGroupOp};
use crate::{Scalar, SourceLoc, TypeId};

/// Where the first scalar of an operand is; the others follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Src {
    /// A row of the activation.
    Row(u32),
    /// A cell that all threads share.
    Cell(u32),
    /// A row that holds a register of each thread, outside all activations.
    Thread(u32),
}

impl Src {
    /// The operand `by` scalars further.
    pub fn plus(self, by: u32) -> Src {
        match self {
            Src::Row(row) => Src::Row(row + by),
            Src::Cell(cell) => Src::Cell(cell + by),
            Src::Thread(row) => Src::Thread(row + by),
        }
    }
}

/// What an lvalue names.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// Rows of the activation.
    Local(u32),
    /// Cells of the block's shared memory.
    Shared(u32),
    /// `offset` scalars behind where a pointer leads; see `access.rs` for what a pointer is.
    Pointer { src: Src, offset: u32 },
}

/// One index of a chain: an element out of `length`, each `stride` units long.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub index: Src,
    pub scalar: Scalar,
    pub length: u32,
    pub stride: u64,
}

/// The indices of a chain that are not constant, and what the constant ones add up to.
#[derive(Clone, Debug, Default)]
pub(super) struct Chain {
    pub steps: Vec<Step>,
    pub offset: u64,
    /// Index into [`Program::labels`], for faults.
    pub label: u32,
}

/// What a resource is asked for that is one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// The number of levels of an image.
    Levels,
    /// The sampler of a slot: `filter * 4 + address`.
    Sampler,
    /// The type that is recorded for a buffer; none is, so it is 0.
    Type,
}

/// Which of its resources a slot of a bindless array is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    Buffer,
    Image2d,
    Image3d,
}

impl Holds {
    /// As faults name it.
    pub fn name(self) -> &'static str {
        match self {
            Holds::Buffer => "buffer",
            Holds::Image2d => "2-D texture",
            Holds::Image3d => "3-D texture",
        }
    }
}

/// Where the memory of a resource operation is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Resource {
    /// A formal argument.
    Argument(u32),
    /// A slot of a bindless array, which is a formal argument.
    Slot { array: u32, index: Src, scalar: Scalar, holds: Holds },
    /// The index of the access is a device address; see `interp/resource.rs`.
    Address,
}

/// An element of a buffer, or a value at a byte offset.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element {
    pub resource: Resource,
    pub index: Src,
    /// Type of the index.
    pub scalar: Scalar,
    /// Index into [`Program::flats`].
    pub flat: u32,
    /// Bytes that an index counts: the element's size, or 1.
    pub stride: u64,
    /// Alignment of the element; only byte offsets need it.
    pub align: u64,
    /// The access orders itself with others: no race is reported.
    pub volatile: bool,
}

/// A texel of an image.
#[derive(Clone, Copy, Debug)]
pub(super) struct Texel {
    pub resource: Resource,
    pub coordinate: Src,
    pub scalar: Scalar,
    /// The level and the type of its number; the first one if there is none.
    pub level: Option<(Src, Scalar)>,
    pub dimensions: u32,
    /// Whether the kernel sees floats.
    pub float: bool,
}

/// What chooses the level of a sampled texture.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lod {
    First,
    Level(Src),
    Gradients { ddx: Src, ddy: Src, least: Option<Src> },
}

/// A texture that is sampled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub resource: Resource,
    pub dst: u32,
    pub coordinate: Src,
    pub dimensions: u32,
    pub lod: Lod,
    /// Codes of filter and address; none if the slot has the sampler.
    pub sampler: Option<[Src; 2]>,
}

/// A record of an indirect dispatch buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dispatch {
    /// Formal argument.
    pub buffer: u32,
    pub index: Src,
    pub block: Src,
    pub size: Src,
    pub kernel: Src,
}

#[derive(Clone, Debug)]
pub(super) struct Formula {
    pub op: ArithmeticOp,
    pub operands: Vec<(Scalar, Shape, Src)>,
    pub dst: u32,
}

/// Bytes of an element.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stride {
    Fixed(u64),
    Given(Src),
}

#[derive(Clone, Debug)]
pub(super) enum AtomicTarget {
    /// Element, then a chain in bytes.
    Buffer(Element),
    /// A place, then a chain in scalars.
    Place(Place),
}

#[derive(Clone, Debug)]
pub(super) struct Atomic {
    pub op: AtomicOp,
    pub scalar: Scalar,
    pub dst: Option<u32>,
    pub target: AtomicTarget,
    pub chain: Chain,
    pub values: [Src; 2],
    /// New value from old value and operand; none for exchanges.
    pub function: Option<Binary>,
}

#[derive(Clone, Debug)]
pub(super) struct Wave {
    pub op: ThreadGroupOp,
    pub scalar: Scalar,
    pub dst: u32,
    pub a: Src,
    pub count: u32,
    /// Second operand of `warp_read_lane`.
    pub lane: Option<(Src, Scalar)>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Actual {
    Value { src: Src, count: u32, row: u32 },
    Reference { place: Place, row: u32 },
}

#[derive(Clone, Debug)]
pub(super) struct Call {
    /// Index into [`Program::functions`].
    pub callee: u32,
    pub actuals: Vec<Actual>,
    /// For each formal of the callee the formal of the caller that is passed, if it is a resource.
    pub resources: Vec<u32>,
    /// Where the result goes, and its number of scalars.
    pub result: Option<(u32, u32)>,
}

#[derive(Clone, Debug)]
pub(super) struct Print {
    pub format: Box<str>,
    pub values: Vec<(Src, TypeId)>,
}

/// An operation, executed for all active threads. `dst` and the rows of [`Src::Row`] count from the start of the activation.
#[derive(Clone, Debug)]
pub(super) enum Code {
    Unary {
        function: Unary,
        dst: u32,
        a: Src,
        count: u32,
    },
    /// Steps: how far an operand moves from one component to the next, 0 or 1.
    Binary {
        function: Binary,
        dst: u32,
        a: Src,
        b: Src,
        count: u32,
        steps: [u32; 2],
    },
    Ternary {
        function: Ternary,
        dst: u32,
        operands: [Src; 3],
        count: u32,
        steps: [u32; 3],
    },
    Formula(Box<Formula>),
    /// Pieces of `from` bytes to pieces of `to` bytes, `count` of those.
    Repack {
        dst: u32,
        a: Src,
        from: u32,
        to: u32,
        count: u32,
    },
    Copy {
        dst: u32,
        src: Src,
        count: u32,
    },
    /// Element of a value by a chain.
    Extract {
        dst: u32,
        src: Src,
        chain: Box<Chain>,
        count: u32,
    },
    /// Replaces an element of the value in `dst`.
    Insert {
        dst: u32,
        part: Src,
        chain: Box<Chain>,
        count: u32,
    },
    /// A pointer from a place and a chain.
    Gep {
        dst: u32,
        place: Place,
        chain: Box<Chain>,
    },
    Load {
        dst: u32,
        place: Place,
        count: u32,
        label: u32,
    },
    Store {
        place: Place,
        src: Src,
        count: u32,
        label: u32,
    },
    BufferRead {
        dst: u32,
        element: Box<Element>,
    },
    BufferWrite {
        src: Src,
        element: Box<Element>,
    },
    BufferSize {
        dst: u32,
        resource: Resource,
        stride: Stride,
    },
    /// The device address of the first byte.
    BufferAddress {
        dst: u32,
        resource: Resource,
    },
    ImageRead {
        dst: u32,
        texel: Box<Texel>,
    },
    ImageWrite {
        src: Src,
        texel: Box<Texel>,
    },
    ImageSize {
        dst: u32,
        resource: Resource,
        level: Option<(Src, Scalar)>,
        dimensions: u32,
    },
    Ask {
        dst: u32,
        resource: Resource,
        what: Asked,
    },
    Sample(Box<Sample>),
    SetDispatch(Box<Dispatch>),
    SetDispatchCount {
        buffer: u32,
        count: Src,
    },
    Atomic(Box<Atomic>),
    Wave(Box<Wave>),
    Barrier,
    Call(Box<Call>),
    Print(Box<Print>),
    Assert {
        condition: Src,
        message: Box<str>,
    },
    Assume {
        condition: Src,
        message: Box<str>,
    },
    Clock {
        dst: u32,
    },
    NotHeld(Box<str>),
}

/// `count` rows from `src` to `dst`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Move {
    pub dst: u32,
    pub src: Src,
    pub count: u32,
}

/// An edge of the control-flow graph.
#[derive(Clone, Debug)]
pub(super) struct Edge {
    /// Position in the order of blocks.
    pub target: u32,
    /// What phis take, in an order that may be done one by one.
    pub moves: Box<[Move]>,
}

#[derive(Clone, Debug)]
pub(super) enum Terminator {
    Jump(Edge),
    Branch {
        condition: Src,
        yes: Edge,
        no: Edge,
    },
    /// Cases sorted by value; each names an edge. Edge 0 is the default.
    Switch {
        value: Src,
        cases: Box<[(Bits, u32)]>,
        edges: Box<[Edge]>,
    },
    Return(Option<(Src, u32)>),
    Unreachable(Box<str>),
    NotHeld(Box<str>),
}

/// A block; `locs` runs parallel to `code`, with the terminator's at the end.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub code: Vec<Code>,
    pub locs: Vec<SourceLoc>,
    pub terminator: Terminator,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Function {
    pub name: String,
    pub blocks: Vec<Block>,
    /// Index of the block at each position of the order.
    pub at: Vec<u32>,
    /// Rows of an activation. The first `locals` are its variables, zero at the start.
    pub rows: u32,
    pub locals: u32,
    /// Whether the order of blocks follows constructs alone: then a barrier that not all threads are at is a mistake of the
    /// kernel, and not of the order.
    pub structured: bool,
}

/// Everything that is compiled, and what it refers to.
#[derive(Clone, Debug, Default)]
pub(super) struct Program {
    /// The kernel comes first.
    pub functions: Vec<Function>,
    /// Start content of the shared cells: constants, and room for what a launch or block sets.
    pub cells: Vec<Bits>,
    pub flats: Vec<Flat>,
    /// Names of variables.
    pub labels: Vec<Option<Box<str>>>,
    /// Cells of a block's shared memory.
    pub shared: u32,
    /// Cell of each value argument of the kernel.
    pub value_cells: Vec<Option<u32>>,
}

/// Cells whose place is fixed: registers that all threads of a block share.
pub(super) mod cell {
    pub const BLOCK_ID: u32 = 0;
    pub const DISPATCH_SIZE: u32 = 3;
    pub const BLOCK_SIZE: u32 = 6;
    pub const WAVE_WIDTH: u32 = 9;
    pub const KERNEL_ID: u32 = 10;
    /// The number of fixed cells.
    pub const COUNT: u32 = 11;
}

/// Rows whose place is fixed: registers that each thread has for itself.
pub(super) mod thread_row {
    pub const THREAD_ID: u32 = 0;
    pub const DISPATCH_ID: u32 = 3;
    pub const LANE: u32 = 6;
    /// The number of fixed rows.
    pub const COUNT: u32 = 7;
}
