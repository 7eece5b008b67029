//! A budget of changes, to bisect a miscompilation: with fuel for N changes, the first N changes happen and no other.

use std::sync::atomic::{AtomicU64, Ordering};

/// How many more changes may be made. A pass takes one unit before each change and leaves out the change if there is none.
#[derive(Debug)]
pub struct Fuel(Option<AtomicU64>);

impl Fuel {
    /// As many changes as there are.
    pub fn unlimited() -> Fuel {
        Fuel(None)
    }

    /// At most `changes` changes.
    pub fn limited(changes: u64) -> Fuel {
        Fuel(Some(AtomicU64::new(changes)))
    }

    /// Takes one unit; false if the fuel is used up.
    pub fn take(&self) -> bool {
        let Some(left) = &self.0 else { return true };
        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_ok()
    }

    /// Whether there is a limit.
    pub fn is_limited(&self) -> bool {
        self.0.is_some()
    }
}
