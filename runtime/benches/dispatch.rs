//! What a dispatch costs by itself, and how a long one scales: `cargo bench -p luisac-runtime`.
//! The kernel is C, so that the figure is the runtime's and not the compiler's.

use std::time::Instant;

use luisac_runtime::host::{Arg, Device};

#[path = "../tests/common/mod.rs"]
mod common;

fn main() {
    let Some(object) = common::kernels("bench") else { return };
    let arguments = || {
        let kind = luisac_artifact::metadata::ArgumentKind::Buffer;
        vec![common::argument(kind, "buffer<uint>", 4, 4)]
    };
    let kernel = |device: &Device| {
        common::load(device, &object, common::metadata("tables", [32, 1, 1], arguments(), vec![]))
    };
    let device = Device::cpu();
    let k = kernel(&device);
    let out = device.buffer(32 << 20).expect("memory");
    let arguments = [Arg::Buffer(&out)];
    let mut launch = k.bind(&arguments).expect("arguments fit");
    let mut best = |n: u32, runs: u32| {
        let mut best = f64::MAX;
        for _ in 0..runs {
            let start = Instant::now();
            launch.dispatch([n, 1, 1]).expect("it runs");
            best = best.min(start.elapsed().as_secs_f64());
        }
        best * 1e6
    };
    println!("one block of 32 threads       {:8.3} us", best(32, 100_000));
    println!("1,000 blocks                  {:8.3} us", best(32_000, 10_000));
    let many = best(8 << 20, 20);
    println!(
        "262,144 blocks                {many:8.0} us, {} threads",
        std::thread::available_parallelism().map_or(1, usize::from)
    );
    let start = Instant::now();
    for _ in 0..10_000 {
        k.bind(&arguments).expect("arguments fit");
    }
    println!("binding                       {:8.3} us", start.elapsed().as_secs_f64() * 100.0);
    let start = Instant::now();
    for _ in 0..100 {
        kernel(&device);
    }
    println!("loading                       {:8.3} us", start.elapsed().as_secs_f64() * 1e4);
}
