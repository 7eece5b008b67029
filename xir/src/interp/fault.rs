//! What can go wrong when a kernel runs: every kind of undefined behaviour, and what a kernel itself calls wrong.

use super::Outcome;
use crate::SourceLoc;
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
    #[error("data race: a {access} of {memory} at byte {offset} meets a {earlier} by thread {other:?}")]
    Race {
        memory: Memory,
        offset: u64,
        /// `read`, `write` or `atomic operation`.
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
    /// A module that the verifier refuses.
    #[error("the function is malformed: {0}")]
    Malformed(Box<str>),
}

fn message(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

impl FaultKind {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            FaultKind::OutOfRange { .. } => "L0701",
            FaultKind::Uninitialised(_) => "L0702",
            FaultKind::Race { .. } => "L0703",
            FaultKind::Unreachable(_) => "L0704",
            FaultKind::AssumptionFalse(_) => "L0705",
            FaultKind::DivergentBarrier { .. } => "L0706",
            FaultKind::AssertionFailed(_) => "L0707",
            FaultKind::StepLimit(_) => "L0708",
            FaultKind::NotHeld(_) => "L0709",
            FaultKind::WrongArgument { .. } => "L0710",
            FaultKind::ArgumentCount { .. } => "L0711",
            FaultKind::WrongLaunch(_) => "L0712",
            FaultKind::TooLarge(_) => "L0713",
            FaultKind::Malformed(_) => "L0714",
        }
    }

    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            FaultKind::OutOfRange { .. } => {
                "compare the index with the size first, or run with `--bounds clamp`"
            }
            FaultKind::Uninitialised(_) => "write shared memory and pass a barrier before reading it",
            FaultKind::Race { .. } => "put a barrier between the accesses, or make them atomic",
            FaultKind::Unreachable(_) | FaultKind::AssumptionFalse(_) => {
                "what was promised to the compiler is not so: mend the kernel or its input"
            }
            FaultKind::DivergentBarrier { .. } => {
                "move the barrier to where all threads of the block come along"
            }
            FaultKind::AssertionFailed(_) => "the kernel itself found its input or state wrong",
            FaultKind::StepLimit(_) => "the kernel may loop for ever; raise the limit if it does not",
            FaultKind::NotHeld(_) => "run the kernel on another device",
            FaultKind::WrongArgument { .. } | FaultKind::ArgumentCount { .. } => {
                "give the arguments by position, captured resources first"
            }
            FaultKind::WrongLaunch(_) => "choose another kernel, dispatch size or wave width",
            FaultKind::TooLarge(_) => "use smaller local arrays or smaller blocks",
            FaultKind::Malformed(_) => "run the verifier to see what is wrong",
        }
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
    pub outcome: Box<Outcome>,
}

impl Fault {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        self.kind.code()
    }

    /// A fault outside any thread.
    pub(super) fn outside(kind: FaultKind) -> Fault {
        Fault {
            kind,
            function: String::new(),
            loc: SourceLoc::NONE,
            thread: None,
            outcome: Box::default(),
        }
    }
}
