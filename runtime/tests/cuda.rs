//! When lists on the GPU begin and end: skipped with a line where there is none.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use luisac_artifact::metadata::{Argument, ArgumentKind, Usage};
use luisac_runtime::{Buffer, Device, Kernel};

mod common;

/// How many kernels of 45 us, one after the other, are long enough to be seen from here.
const LONG: usize = 1000;

fn device() -> Option<(Device, Kernel)> {
    let device = match Device::open("cuda") {
        Ok(device) => device,
        Err(e) => {
            println!("skipped: {e}");
            return None;
        }
    };
    let words = Argument {
        usage: Usage::ReadWrite,
        ..common::argument(ArgumentKind::Buffer, "buffer<uint>", 4, 4)
    };
    let metadata = common::ptx_metadata("spin", [32, 1, 1], vec![words]);
    // SAFETY: our own PTX, whose kernels follow the metadata.
    let kernel = unsafe { device.load(common::PTX.as_bytes(), metadata) }.unwrap();
    Some((device, kernel))
}

fn long_list(
    device: &Device,
    kernel: &Kernel,
    buffer: &Buffer<u32>,
) -> luisac_runtime::CommittedList {
    let mut list = device.list();
    for _ in 0..LONG {
        list.dispatch(kernel, (buffer,), [32, 1, 1]).unwrap();
    }
    list.commit().unwrap()
}

/// Waits until `done`, at most ten seconds.
fn soon(done: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    while !done() {
        if start.elapsed() > Duration::from_secs(10) {
            return false;
        }
        std::thread::sleep(Duration::from_micros(100));
    }
    true
}

#[test]
fn submitting_does_not_wait() {
    let Some((device, kernel)) = device() else { return };
    let buffer = device.buffer::<u32>(32).unwrap();
    let (list, stream) = (long_list(&device, &kernel, &buffer), device.stream());
    stream.submit(&list).unwrap().wait().unwrap();
    let start = Instant::now();
    let submission = stream.submit(&list).unwrap();
    let submitted = start.elapsed();
    assert!(!submission.is_done());
    submission.wait().unwrap();
    let whole = start.elapsed();
    assert!(submitted * 4 < whole, "{submitted:?} to submit, {whole:?} to run");
}

#[test]
fn lists_that_nobody_waits_for_end() {
    let Some((device, kernel)) = device() else { return };
    let buffer = device.buffer::<u32>(32).unwrap();
    let (list, stream) = (long_list(&device, &kernel, &buffer), device.stream());
    for _ in 0..3 {
        let submission = stream.submit(&list).unwrap();
        assert!(soon(|| submission.is_done()));
        // Longer than a thread of the device looks out for lists.
        std::thread::sleep(Duration::from_millis(20));
    }
    let last = stream.submit(&list).unwrap();
    drop((list, stream, buffer, kernel, device));
    assert!(soon(|| last.is_done()));
}

#[test]
fn lists_follow_each_other_without_a_wait() {
    let Some((device, kernel)) = device() else { return };
    let buffer = device.buffer::<u32>(32).unwrap();
    let stream = device.stream();
    let seen = Arc::new(AtomicBool::new(false));
    let note = seen.clone();
    let mut call = device.list();
    call.callback(move || note.store(true, Ordering::Release));
    let (list, call) = (long_list(&device, &kernel, &buffer), call.commit().unwrap());
    let first = stream.submit(&list).unwrap();
    let others: Vec<_> = (0..4).map(|_| stream.submit(&list).unwrap()).collect();
    stream.submit(&call).unwrap();
    assert!(soon(|| seen.load(Ordering::Acquire)));
    assert!(first.is_done() && others.iter().all(luisac_runtime::Submission::is_done));
}

#[test]
fn many_threads_wait_for_one_list() {
    let Some((device, kernel)) = device() else { return };
    let buffer = device.buffer::<u32>(32).unwrap();
    let (list, stream) = (long_list(&device, &kernel, &buffer), device.stream());
    let submission = stream.submit(&list).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| submission.wait().unwrap());
        }
    });
    stream.wait().unwrap();
}
