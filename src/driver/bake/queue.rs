//! Work for several threads, largest first, with limits on how many of one kind run at once.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, PoisonError};

/// A piece of work: what it is, how large, and of which kind.
pub struct Piece<T> {
    pub work: T,
    pub size: u64,
    /// The name of the target.
    pub kind: &'static str,
}

struct State<T> {
    /// Largest last.
    waiting: Vec<Piece<T>>,
    running: HashMap<&'static str, usize>,
    stopped: bool,
}

/// Runs `work` on every piece, on all threads of `pool`. Nothing new is started once `stop` says so.
pub fn run<T: Send>(
    pool: &rayon::ThreadPool,
    mut pieces: Vec<Piece<T>>,
    limits: &HashMap<String, usize>,
    stop: &(dyn Fn() -> bool + Sync),
    work: &(dyn Fn(T) + Sync),
) {
    // Stable, so that equal ones keep their order.
    pieces.reverse();
    pieces.sort_by_key(|p| p.size);
    let state = Mutex::new(State { waiting: pieces, running: HashMap::new(), stopped: false });
    let changed = Condvar::new();
    // A loop on every thread. As tasks, the loops could be stolen by a thread that waits for a part of its own piece.
    pool.broadcast(|_| {
        while let Some(piece) = next(&state, &changed, limits, stop) {
            let running = Running { state: &state, changed: &changed, kind: piece.kind };
            work(piece.work);
            drop(running);
        }
    });
}

/// A piece at work; ends also if the work does by a panic, so that no other thread waits for ever.
struct Running<'a, T> {
    state: &'a Mutex<State<T>>,
    changed: &'a Condvar,
    kind: &'static str,
}

impl<T> Drop for Running<'_, T> {
    fn drop(&mut self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = state.running.get_mut(self.kind) {
            *count -= 1;
        }
        self.changed.notify_all();
    }
}

/// The largest piece that may start now; waits while all that is left is at its limit.
fn next<T>(
    state: &Mutex<State<T>>,
    changed: &Condvar,
    limits: &HashMap<String, usize>,
    stop: &(dyn Fn() -> bool + Sync),
) -> Option<Piece<T>> {
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        if state.stopped || stop() {
            state.stopped = true;
            return None;
        }
        let running = &state.running;
        let may_start = |p: &Piece<T>| {
            let limit = limits.get(p.kind).copied().unwrap_or(usize::MAX).max(1);
            running.get(p.kind).copied().unwrap_or(0) < limit
        };
        if let Some(i) = state.waiting.iter().rposition(may_start) {
            let piece = state.waiting.remove(i);
            *state.running.entry(piece.kind).or_default() += 1;
            return Some(piece);
        }
        if state.waiting.is_empty() {
            return None;
        }
        state = changed.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn pool(threads: usize) -> rayon::ThreadPool {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool")
    }

    #[test]
    fn the_largest_comes_first() {
        let pieces = [3, 9, 1, 9].iter().enumerate();
        let pieces = pieces.map(|(i, &size)| Piece { work: i, size, kind: "a" }).collect();
        let order = Mutex::new(Vec::new());
        run(&pool(1), pieces, &HashMap::new(), &|| false, &|i| order.lock().unwrap().push(i));
        assert_eq!(*order.lock().unwrap(), [1, 3, 0, 2]);
    }

    #[test]
    fn no_more_than_the_limit_run_at_once() {
        let (now, most, all) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        let pieces = (0..60).map(|i| {
            let kind = if i % 2 == 0 { "limited" } else { "free" };
            Piece { work: kind, size: 1, kind }
        });
        let limits = HashMap::from([("limited".to_owned(), 2)]);
        run(&pool(6), pieces.collect(), &limits, &|| false, &|kind| {
            all.fetch_add(1, Ordering::SeqCst);
            if kind == "limited" {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                std::thread::sleep(std::time::Duration::from_millis(1));
                now.fetch_sub(1, Ordering::SeqCst);
            }
        });
        assert_eq!((all.into_inner(), most.into_inner()), (60, 2));
    }

    #[test]
    fn nothing_starts_after_a_stop() {
        let done = AtomicUsize::new(0);
        let pieces = (0..100).map(|i| Piece { work: i, size: 1, kind: "a" }).collect();
        let stop = || done.load(Ordering::SeqCst) >= 5;
        run(&pool(1), pieces, &HashMap::new(), &stop, &|_| {
            done.fetch_add(1, Ordering::SeqCst);
        });
        assert_eq!(done.into_inner(), 5);
    }
}
