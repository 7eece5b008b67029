//! The text form of XIR: complete, flat and deterministic. What prints parses, and prints the same again.
//!
//! The grammar stands in `docs/xir.md`. In short:
//!
//! ```text
//! module;
//! type T0 = struct<16, vector<f32, 3>, f32>;
//!
//! kernel @blur block(256, 1, 1) (%0: resource buffer<f32> captured "image", %1: value f32) {
//! b0:
//!   %2: u32 = arithmetic extract dispatch_id, u32 0
//!   %3: f32 = resource_read buffer_read %0, %2
//!   %4: f32 = arithmetic binary_mul %3, %1 !name "scaled"
//!   resource_write buffer_write %0, %2, %4
//!   return
//! }
//! ```
//!
//! Values and blocks are numbered densely in the order of their appearance; constants, undefined values and special registers
//! are written where they are used. Detached instructions, unused constants and unused types are not part of the text.

pub mod codes;
mod constant;
mod draft;
mod lexer;
pub(crate) mod names;
mod ops;
mod parse_constant;
mod parse_function;
mod parse_inst;
mod parser;
mod printer;
mod types;

pub use codes::CODES;
pub(crate) use names as words;
pub use ops::operations;
pub use parser::{looks_like_text, parse};
pub(crate) use printer::print_lines;
pub use printer::{print, print_by_identity, print_function, print_type};

#[cfg(test)]
mod random_tests;
#[cfg(test)]
mod tests;
