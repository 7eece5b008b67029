//! Tests of the lowering: small functions against their XIR text, hostile shapes, the corpus.

mod calls;
mod conversions;
mod corpus;
mod depth;
mod memory;
mod mutations;
mod natives;
mod refusals;
mod sketch;
mod statements;
