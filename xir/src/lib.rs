//! luisac's SSA intermediate representation (XIR).
//!
//! A [`Module`] owns interned types and functions. A [`Function`] owns dense arenas of blocks, instructions and values; it
//! refers to other functions by id only, so passes may run over the functions of a module in parallel.
//!
//! * A *value* has a type and a definition. Allocas, geps and reference arguments define *lvalues*: their type is the type of the
//!   memory they name, and only `load`, `store`, `gep`, `atomic`, `call` (for reference parameters), ray-query and autodiff
//!   operations may take them.
//! * A *block* is a list of instructions that ends in one terminator. Structured terminators (`if`, `switch`, `loop`,
//!   `simple_loop`, ...) name the blocks that play a role in the construct after the blocks that are CFG successors.
//! * Local allocas are zero when the function is entered (`semantics.md`, Memory); shared allocas are undefined.
//! * Operations mean what the table in [`op`] says, with the edge cases of the project's semantics page: integer division by zero
//!   gives the dividend, shifts take their amount modulo the width, conversions to integers saturate, and so on. No operation but
//!   an access out of bounds, a reached `unreachable` or a false `assume` is undefined.

pub mod builder;
pub mod cfg;
pub mod constant;
pub mod dominators;
mod entities;
pub mod eval;
pub mod forms;
pub mod from_ast;
mod function;
pub mod interp;
mod layout;
pub mod math;
mod module;
pub mod op;
mod operands;
pub mod text;
pub mod to_ast;
pub mod typing;
pub mod verify;

pub use builder::Builder;
pub use constant::ConstBytes;
pub use entities::{BlockId, FunctionId, InstId, ValueId};
pub use function::{
    Argument, ArgumentKind, Function, FunctionKind, Imm, InstData, SourceLoc, ValueDef,
};
pub use luisac_ast::types::{Scalar, TypeId, TypeKind, TypeTable};
pub use module::Module;
pub use op::Op;

#[cfg(test)]
mod tests;

/// The diagnostic codes of this crate.
pub fn code_tables() -> Vec<&'static [luisac_ast::diagnostic::CodeInfo]> {
    vec![from_ast::codes::CODES, to_ast::CODES, text::CODES, verify::codes::CODES, interp::CODES]
}
