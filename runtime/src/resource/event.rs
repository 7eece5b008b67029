//! Events: points of a stream or a list that others wait for.

use std::sync::{Arc, Mutex, PoisonError};

use crate::{RuntimeError, stream::Completion};

/// A point that is reached when all work before it is done. Signalling it again moves it on; who waited for the
/// earlier point goes on waiting for that one. Cheap to clone.
#[derive(Clone, Default)]
pub struct Event(Arc<Mutex<Option<Arc<Completion>>>>);

impl Event {
    pub(crate) fn set(&self, point: Arc<Completion>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(point);
    }

    pub(crate) fn point(&self) -> Option<Arc<Completion>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether it has been signalled and that point is reached; also if what was before it failed.
    #[must_use]
    pub fn is_reached(&self) -> bool {
        self.point().is_some_and(|p| p.is_done())
    }

    /// Waits until the point that was signalled last is reached.
    ///
    /// # Errors
    /// [`RuntimeError::NotSignalled`] if nothing signals it, so that it would wait for ever; the failure of the work
    /// before it; [`RuntimeError::WaitInCallback`].
    pub fn wait(&self) -> Result<(), RuntimeError> {
        self.point().ok_or(RuntimeError::NotSignalled)?.wait().map(drop)
    }
}
