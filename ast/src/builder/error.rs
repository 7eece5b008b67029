//! What can go wrong while a function is built.

use std::fmt;
use std::panic::Location;

use crate::diagnostic::{Code, Diagnostic};

crate::codes! {
    /// The codes of the builder. What it shares with the checks has their codes.
    pub static CODES;

    FOREIGN = 360 "a value of another function is used",
        "A value belongs to the function that was being built when it was made. A callable can use values of the functions that it is defined in; nothing else can, and a kernel can use constants only.",
        "Pass it as an argument, or define the callable inside of the function that has the value.";
    NOT_CURRENT = 361 "a function is extended while another one is being built",
        "While the body of a function runs, statements go to that function and to no other.",
        "Use the builder that the body was given.";
    NO_TYPE = 362 "the type of a result is not known",
        "The operation can yield several types, and its arguments do not say which.",
        "Say which type is wanted: `call_as`.";
    NO_PARTS = 363 "there is no such operation on a value of this type",
        "The value has no elements, no memory behind it, or is no resource of the kind.",
        "Use a value of a type that has it.";
    TOO_LARGE = 364 "an expression is too large",
        "Expressions are trees: one that is mentioned twice is stored and evaluated twice. This one has too many nodes after that.",
        "Store a part of it in a local: `var`.";
    LITERAL = 365 "there is no literal of this type",
        "Literals are scalars, vectors of 2 to 4 components, and matrices, of as many bytes as the type has.",
        "Use a constant for arrays and structures.";
    PROMOTION = 366 "the operands of an operation do not go together",
        "Scalars and vectors of equal length are converted to the type of higher rank; matrices take matrices of their size, scalars, and vectors on the right.",
        "Convert one of the operands.";
    BLOCK = 367 "this cannot be declared here",
        "Kernels take values and resources; callables take references besides; bindings are resources.",
        "Declare it elsewhere, or as something else.";
    LIMIT = 368 "a function is too large",
        "Nodes, literals and texts of a function are counted in 32 bits.",
        "Split the function.";
    UNKNOWN_FUNCTION = 369 "there is no such function",
        "The number names no function of this library.",
        "Use a number that the builder gave.";
}

/// What is wrong, before it is known where.
pub(super) struct Fault {
    pub code: Code,
    pub message: String,
}

pub(super) type Built<T> = Result<T, Fault>;

pub(super) fn fault<T>(code: Code, message: impl Into<String>) -> Built<T> {
    Err(Fault { code, message: message.into() })
}

/// The first mistake in building a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildError {
    /// Which kind of mistake.
    pub code: Code,
    /// What is wrong: lower case, no full stop, names in backticks.
    pub message: String,
    /// The function that was being built, if it has a name.
    pub function: Option<String>,
    /// The line of the program that did it.
    pub location: &'static Location<'static>,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.location, self.code, self.message)?;
        match &self.function {
            Some(name) => write!(f, " (in `{name}`)"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for BuildError {}

impl From<BuildError> for Diagnostic {
    fn from(error: BuildError) -> Self {
        let mut diagnostic = Diagnostic::error(error.code, error.message);
        diagnostic.function = error.function.map(|name| format!("`{name}`"));
        diagnostic.notes.push(format!("recorded at {}", error.location));
        diagnostic
    }
}
