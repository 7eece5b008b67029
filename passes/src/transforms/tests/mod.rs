//! What each pass does, as text.

mod cfg;
mod dce;
