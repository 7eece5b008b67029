//! What the tests of passes and targets share, and what figures come from: random kernels, differential runs, ladders.

mod bridge;
pub mod case;
pub mod diff;
pub mod generate;
pub mod ladders;
pub mod random;

pub use case::Case;
pub use generate::{Features, case, case_with, library};
pub use random::Random;
