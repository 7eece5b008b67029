//! How far the reading of a long input is.

/// Bytes between two calls.
const STEP: usize = 8 << 20;

/// Calls a listener now and then with the offset that the reading has reached.
#[derive(Clone, Copy)]
pub(super) struct Progress<'a> {
    listener: &'a dyn Fn(usize),
    next: usize,
}

impl<'a> Progress<'a> {
    pub fn new(listener: &'a dyn Fn(usize)) -> Self {
        Self { listener, next: STEP }
    }

    /// The reading has reached `offset`.
    #[inline]
    pub fn at(&mut self, offset: usize) {
        if offset >= self.next {
            self.next = offset + STEP;
            (self.listener)(offset);
        }
    }
}
