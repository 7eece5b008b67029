//! What each pass does, as text.

mod calls;
mod cfg;
mod dce;
mod memory;
mod values;
