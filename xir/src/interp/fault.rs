//! What can go wrong when a kernel runs: every kind of undefined behaviour, and what a kernel itself calls wrong.

use super::{Outcome, codes};
use crate::SourceLoc;
use luisac_ast::diagnostic::Code;
use std::fmt;
use thiserror::Error;

/// The memory that an access names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Memory {
    /// An argument of the kernel, by position (captured resources first), and its name if it has one.
    Argument { position: u32, name: Option<Box<str>> },
    /// A local or shared variable, array, vector or matrix; its name if it has one.
    Local(Option<Box<str>>),
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Memory::Argument { position, name: Some(name) } => {
                write!(f, "argument {position} (`{name}`)")
            }
            Memory::Argument { position, name: None } => write!(f, "argument {position}"),
            Memory::Local(Some(name)) => write!(f, "the variable `{name}`"),
            Memory::Local(None) => f.write_str("a local or shared variable"),
        }
    }
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FaultKind {
    /// An index that no element has.
    #[error("index {index} is out of range for {memory}, which has {length} elements")]
    OutOfRange { memory: Memory, index: i128, length: u64 },
    /// A read of shared memory that nothing has written.
    #[error("{0} is read in shared memory before anything was written there")]
    Uninitialised(Memory),
    /// Two threads touch the same memory, at least one writes, and no barrier of their block lies between.
    #[error("data race: {access} of {memory}{} meets {earlier}{}", byte(*.offset), thread(*.other))]
    Race {
        memory: Memory,
        /// First byte of the access; none in shared memory.
        offset: Option<u64>,
        /// `a read`, `a write` or `an atomic operation`.
        access: &'static str,
        earlier: &'static str,
        /// Dispatch id of the other thread, if it is known which one.
        other: Option<[u32; 3]>,
    },
    /// A place that was said to be unreachable.
    #[error("`unreachable` was reached{}", message(.0))]
    Unreachable(Box<str>),
    /// An assumption that does not hold.
    #[error("an assumption does not hold{}", message(.0))]
    AssumptionFalse(Box<str>),
    /// A barrier that not all threads of the block are at.
    #[error("a barrier is reached by {arrived} of the {live} running threads of the block only")]
    DivergentBarrier { arrived: usize, live: usize },
    /// A failed assertion; its thread stopped, the others went on.
    #[error("assertion failed{}", message(.0))]
    AssertionFailed(Box<str>),
    /// The run took more steps than allowed.
    #[error("the kernel was stopped after {0} steps")]
    StepLimit(u64),
    /// An operation that the interpreter does not hold.
    #[error("{0} is not held by the interpreter yet")]
    NotHeld(Box<str>),
    /// An argument that does not fit the kernel.
    #[error("argument {position} does not fit the kernel: {expected} is expected")]
    WrongArgument { position: u32, expected: Box<str> },
    /// Another number of arguments than the kernel has.
    #[error("the kernel takes {expected} arguments, {given} are given")]
    ArgumentCount { expected: usize, given: usize },
    /// A launch that cannot be.
    #[error("the launch is not possible: {0}")]
    WrongLaunch(Box<str>),
    /// The kernel wants more memory for its variables than the interpreter gives.
    #[error("the variables of one block take {0} bytes, more than the interpreter gives")]
    TooLarge(u64),
    /// A slot of a bindless array without the resource that is asked for.
    #[error("slot {slot} of {memory} holds no {holds}")]
    EmptySlot { memory: Memory, slot: u64, holds: &'static str },
    /// Codes that no sampler has.
    #[error("there is no sampler with filter {filter} and address mode {address}")]
    NoSampler { filter: u64, address: u64 },
    /// An access through an address that is not aligned, or that no buffer has.
    #[error("the device address {0:#x} names no memory for this access")]
    WildAddress(u64),
    /// A module that the verifier refuses.
    #[error("the function is malformed: {0}")]
    Malformed(Box<str>),
}

fn byte(offset: Option<u64>) -> String {
    offset.map(|offset| format!(" at byte {offset}")).unwrap_or_default()
}

fn thread(id: Option<[u32; 3]>) -> String {
    id.map(|[x, y, z]| format!(" by the thread ({x}, {y}, {z})")).unwrap_or_default()
}

fn message(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

impl FaultKind {
    /// The stable code.
    pub fn code(&self) -> Code {
        match self {
            FaultKind::OutOfRange { .. } => codes::OUT_OF_RANGE,
            FaultKind::Uninitialised(_) => codes::UNINITIALISED,
            FaultKind::Race { .. } => codes::RACE,
            FaultKind::Unreachable(_) => codes::UNREACHABLE_REACHED,
            FaultKind::AssumptionFalse(_) => codes::ASSUMPTION_FALSE,
            FaultKind::DivergentBarrier { .. } => codes::DIVERGENT_BARRIER,
            FaultKind::AssertionFailed(_) => codes::ASSERTION_FAILED,
            FaultKind::StepLimit(_) => codes::STEP_LIMIT,
            FaultKind::NotHeld(_) => codes::NOT_HELD,
            FaultKind::WrongArgument { .. } => codes::WRONG_ARGUMENT,
            FaultKind::ArgumentCount { .. } => codes::ARGUMENT_COUNT,
            FaultKind::WrongLaunch(_) => codes::WRONG_LAUNCH,
            FaultKind::TooLarge(_) => codes::TOO_LARGE,
            FaultKind::EmptySlot { .. } => codes::EMPTY_SLOT,
            FaultKind::NoSampler { .. } => codes::NO_SAMPLER,
            FaultKind::WildAddress(_) => codes::WILD_ADDRESS,
            FaultKind::Malformed(_) => codes::MALFORMED,
        }
    }

    /// What to do about it.
    pub fn help(&self) -> &'static str {
        let code = self.code();
        codes::CODES.iter().find(|info| info.code == code).map_or("", |info| info.remedy)
    }
}

/// The thread that a fault happened in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    pub dispatch_id: [u32; 3],
    pub block_id: [u32; 3],
}

/// A fault: what, where in the program, in which thread.
#[derive(Clone, Debug, Error)]
#[error("{kind}")]
pub struct Fault {
    pub kind: FaultKind,
    /// Name of the function, possibly empty.
    pub function: String,
    /// The statement of the input, if it is known.
    pub loc: SourceLoc,
    /// The thread, if the fault happened in one.
    pub thread: Option<Thread>,
    /// What the run gave until then. After a failed assertion or a trap that is everything: the other threads went on.
    pub outcome: Outcome,
}

impl Fault {
    /// The stable code.
    pub fn code(&self) -> Code {
        self.kind.code()
    }

    /// A fault outside any thread.
    pub(super) fn outside(kind: FaultKind) -> Box<Fault> {
        Box::new(Fault {
            kind,
            function: String::new(),
            loc: SourceLoc::NONE,
            thread: None,
            outcome: Outcome::default(),
        })
    }
}
