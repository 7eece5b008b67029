//! Work for several threads, largest first, with limits on how many of one kind run at once.
//!
//! Pieces may share something that the first of them makes and the others wait for. While one thread makes it, the others get
//! work of other groups, so that none of them only waits as long as there is anything else to do.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A piece of work: what it is, how large, and of which kind.
pub struct Piece<T> {
    pub work: T,
    pub size: u64,
    /// The name of the target.
    pub kind: &'static str,
    /// Pieces of one group share what the first of them makes.
    pub group: usize,
}

/// What a group shares.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shared {
    /// A piece runs that may make it.
    InTheMaking,
    Made,
}

struct State<T> {
    /// Largest last.
    waiting: Vec<Piece<T>>,
    running: HashMap<&'static str, usize>,
    groups: HashMap<usize, Shared>,
    stopped: bool,
}

/// What the threads share.
struct Queue<'a, T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    limits: &'a HashMap<String, usize>,
    stop: &'a (dyn Fn() -> bool + Sync),
}

/// Runs `work` on every piece, on all threads of `pool`. Nothing new is started once `stop` says so. The second argument of `work`
/// is called when what the group shares is there.
pub fn run<T: Send>(
    pool: &rayon::ThreadPool,
    mut pieces: Vec<Piece<T>>,
    limits: &HashMap<String, usize>,
    stop: &(dyn Fn() -> bool + Sync),
    work: &(dyn Fn(T, &dyn Fn()) + Sync),
) {
    // Stable, so that equal ones keep their order.
    pieces.reverse();
    pieces.sort_by_key(|p| p.size);
    let state =
        State { waiting: pieces, running: HashMap::new(), groups: HashMap::new(), stopped: false };
    let queue = Queue { state: Mutex::new(state), changed: Condvar::new(), limits, stop };
    // A loop on every thread. As tasks, the loops could be stolen by a thread that waits for a part of its own piece.
    pool.broadcast(|_| {
        while let Some(piece) = queue.next() {
            let running = Running { queue: &queue, kind: piece.kind, group: piece.group };
            work(piece.work, &|| queue.made(piece.group));
            drop(running);
        }
    });
}

/// A piece at work; ends also if the work does by a panic, so that no other thread waits for ever.
struct Running<'a, T> {
    queue: &'a Queue<'a, T>,
    kind: &'static str,
    group: usize,
}

impl<T> Drop for Running<'_, T> {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        if let Some(count) = state.running.get_mut(self.kind) {
            *count -= 1;
        }
        // A piece that needed nothing of it leaves it to the next one.
        if state.groups.get(&self.group) == Some(&Shared::InTheMaking) {
            state.groups.remove(&self.group);
        }
        self.queue.changed.notify_all();
    }
}

impl<T> Queue<'_, T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a group shares is there.
    fn made(&self, group: usize) {
        if self.lock().groups.insert(group, Shared::Made) != Some(Shared::Made) {
            self.changed.notify_all();
        }
    }

    /// The largest piece that may start now; waits while all that is left is at its limit or of a group that is in the making.
    fn next(&self) -> Option<Piece<T>> {
        let mut state = self.lock();
        loop {
            if state.stopped || (self.stop)() {
                state.stopped = true;
                return None;
            }
            let (running, groups) = (&state.running, &state.groups);
            let may_start = |p: &Piece<T>| {
                let limit = self.limits.get(p.kind).copied().unwrap_or(usize::MAX).max(1);
                running.get(p.kind).copied().unwrap_or(0) < limit
                    && groups.get(&p.group) != Some(&Shared::InTheMaking)
            };
            if let Some(i) = state.waiting.iter().rposition(may_start) {
                let piece = state.waiting.remove(i);
                *state.running.entry(piece.kind).or_default() += 1;
                state.groups.entry(piece.group).or_insert(Shared::InTheMaking);
                return Some(piece);
            }
            if state.waiting.is_empty() {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
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
        let pieces =
            pieces.map(|(i, &size)| Piece { work: i, size, kind: "a", group: i }).collect();
        let order = Mutex::new(Vec::new());
        run(&pool(1), pieces, &HashMap::new(), &|| false, &|i, _| order.lock().unwrap().push(i));
        assert_eq!(*order.lock().unwrap(), [1, 3, 0, 2]);
    }

    #[test]
    fn no_more_than_the_limit_run_at_once() {
        let (now, most, all) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        let pieces = (0..60).map(|i| {
            let kind = if i % 2 == 0 { "limited" } else { "free" };
            Piece { work: kind, size: 1, kind, group: i }
        });
        let limits = HashMap::from([("limited".to_owned(), 2)]);
        run(&pool(6), pieces.collect(), &limits, &|| false, &|kind, _| {
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
        let pieces = (0..100).map(|i| Piece { work: i, size: 1, kind: "a", group: i }).collect();
        let stop = || done.load(Ordering::SeqCst) >= 5;
        run(&pool(1), pieces, &HashMap::new(), &stop, &|_, _| {
            done.fetch_add(1, Ordering::SeqCst);
        });
        assert_eq!(done.into_inner(), 5);
    }

    /// While a thread makes what a group shares, the others work on other groups; nobody is held up by a piece that makes nothing.
    #[test]
    fn nobody_waits_for_a_group_while_there_is_other_work() {
        let pieces =
            (0..12).map(|i| Piece { work: i / 3, size: 12 - i as u64, kind: "a", group: i / 3 });
        let making = [const { AtomicUsize::new(0) }; 4];
        let made = [const { AtomicUsize::new(0) }; 4];
        run(&pool(3), pieces.collect(), &HashMap::new(), &|| false, &|group, tell| {
            if made[group].load(Ordering::SeqCst) == 0 {
                assert_eq!(
                    making[group].fetch_add(1, Ordering::SeqCst),
                    0,
                    "two make group {group}"
                );
                std::thread::sleep(std::time::Duration::from_millis(5));
                made[group].store(1, Ordering::SeqCst);
                tell();
            }
        });
        assert!(making.iter().all(|n| n.load(Ordering::SeqCst) == 1));
    }
}
