//! Time that other processes do not lengthen: the processor's, of one thread.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// The processor's time that this thread has had.
pub(super) fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// Runs `f` in a pool of one thread, so that passes over many functions are not spread and the time of that thread is all there is.
///
/// # Errors
/// If the system gives no thread.
pub fn one_thread<R: Send>(f: impl FnOnce() -> R + Send) -> Result<R, String> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().map_err(|e| e.to_string())?;
    Ok(pool.install(f))
}
