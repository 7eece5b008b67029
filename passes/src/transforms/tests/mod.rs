//! What each pass does, as text.

mod arithmetic;
mod calls;
mod cfg;
mod dce;
mod memory;
mod redundancy;
mod restructure;
mod values;
mod waves;
