//! Tests of the lowering.

mod corpus;
