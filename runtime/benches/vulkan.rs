//! What lists cost on the device `vulkan`: `cargo bench -p luisac-runtime --features wgsl --bench vulkan`.
//! The times are of the processor, all threads of the process together: of the runtime, and of the driver, which is the device
//! too where it computes in software.

use luisac_artifact::metadata::{Argument, ArgumentKind, Usage};
use luisac_runtime::{Buffer, CommandList, CommittedList, Device, Kernel};

#[path = "../tests/common/mod.rs"]
mod common;

/// Processor time of the process until now, in seconds; zero where the system does not tell.
fn processor_time() -> f64 {
    let Ok(text) = std::fs::read_to_string("/proc/self/stat") else { return 0.0 };
    let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace();
    // User and system time, in hundredths of a second.
    fields.skip(11).take(2).filter_map(|t| t.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// Runs a list of so many dispatches until half a second of processor time is gone, and prints dispatches a second.
fn measure(name: &str, device: &Device, list: &CommittedList, dispatches: usize) {
    let stream = device.stream();
    let run = || drop(stream.submit(list).expect("it goes").wait().expect("it runs"));
    run();
    let (mut runs, start, clock) = (0, processor_time(), std::time::Instant::now());
    while processor_time() - start < 2.0 {
        run();
        runs += 1;
    }
    let (used, passed) = (processor_time() - start, clock.elapsed().as_secs_f64());
    let count = (runs * dispatches) as f64;
    println!(
        "{name:48} {:9.0} a second of processor time, {:9.0} a second",
        count / used,
        count / passed
    );
}

fn list(
    device: &Device,
    mix: &Kernel,
    pairs: impl Iterator<Item = (Buffer<u32>, Buffer<u32>)>,
) -> CommandList {
    let mut list = device.list();
    for (x, y) in pairs {
        list.dispatch(mix, (&x, &y), [x.len() as u32, 1, 1]).expect("it fits");
    }
    list
}

fn main() {
    let device = match Device::open("vulkan") {
        Ok(device) => device,
        Err(e) => return println!("skipped: {e}"),
    };
    let words =
        |usage| Argument { usage, ..common::argument(ArgumentKind::Buffer, "buffer<uint>", 4, 4) };
    let arguments = vec![words(Usage::Read), words(Usage::ReadWrite)];
    let (code, metadata) = common::shaders::kernel("mix", arguments);
    // SAFETY: the kernel stays inside its buffers.
    let mix = unsafe { device.load(&code, metadata) }.expect("it loads");
    println!("dispatches of 64 threads on {}", device.describe());
    let buffers: Vec<_> = (0..128).map(|_| device.buffer::<u32>(64).expect("memory")).collect();
    let pair = |i: usize, j: usize| (buffers[i].clone(), buffers[j].clone());
    let commit = |list: CommandList| list.commit().expect("memory");
    let one = commit(list(&device, &mix, [pair(0, 1)].into_iter()));
    measure("one", &device, &one, 1);
    let apart = commit(list(&device, &mix, (0..64).map(|i| pair(2 * i, 2 * i + 1))));
    measure("64 that wait for none", &device, &apart, 64);
    let chain = commit(list(&device, &mix, (0..64).map(|i| pair(i, i + 1))));
    measure("64 of which each waits for the one before", &device, &chain, 64);
    let mut frame = list(&device, &mix, (0..20).map(|i| pair(i % 8, (i + 3) % 8)));
    let download = frame.upload(&buffers[0], &[1; 64]).and_then(|l| l.download(&buffers[1]));
    drop(download.expect("it fits"));
    measure("a frame: 20 over 8 buffers, upload, download", &device, &commit(frame), 20);
}
