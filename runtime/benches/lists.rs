//! What lists cost on the CPU: `cargo bench -p luisac-runtime --bench lists`.
//! The kernels are C, so that the figures are the runtime's and not the compiler's.

use std::time::Instant;

use luisac_artifact::metadata::{ArgumentKind, Usage};
use luisac_runtime::{Device, Kernel, host};
use rayon::prelude::*;

#[path = "../tests/common/mod.rs"]
mod common;

fn arguments(name: &str) -> Vec<luisac_artifact::metadata::Argument> {
    let words = |usage| luisac_artifact::metadata::Argument {
        usage,
        ..common::argument(ArgumentKind::Buffer, "buffer<uint>", 4, 4)
    };
    if name == "mix" { vec![words(Usage::Read), words(Usage::ReadWrite)] } else { vec![] }
}

fn load(device: &Device, object: &[u8], name: &str) -> Kernel {
    let metadata = common::metadata(name, [32, 1, 1], arguments(name), vec![]);
    // SAFETY: the object is the C compiler's, from a source whose kernels follow the metadata.
    unsafe { device.load(object, metadata) }.expect("it loads")
}

/// Median and least time of a call, in microseconds.
fn time(runs: usize, mut f: impl FnMut()) -> String {
    let mut times: Vec<f64> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            f();
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    format!("{:9.2} us, at best {:9.2} us", times[runs / 2], times[0])
}

fn main() {
    let Some(object) = common::kernels("benchlists") else { return };
    let device = Device::cpu();
    let stream = device.stream();

    let mut list = device.list();
    list.dispatch(&load(&device, &object, "nothing"), (), [32, 1, 1]).expect("it fits");
    let list = list.commit().expect("memory");
    let submit = || drop(stream.submit(&list).expect("it goes").wait().expect("it runs"));
    println!("an empty dispatch, submitted and waited for  {}", time(100_000, submit));

    for words in [256usize, 4096, 65_536] {
        let mix = load(&device, &object, "mix");
        let buffers: Vec<_> =
            (0..128).map(|_| device.buffer::<u32>(words).expect("memory")).collect();
        let mut list = device.list();
        for pair in buffers.chunks(2) {
            list.dispatch(&mix, (&pair[0], &pair[1]), [words as u32, 1, 1]).expect("it fits");
        }
        let list = list.commit().expect("memory");
        let submit = || drop(stream.submit(&list).expect("it goes").wait().expect("it runs"));
        println!("64 dispatches of {words:6} threads, as a list    {}", time(2000, submit));
        by_hand(&object, words);
    }
}

/// The same kernel called by hand, one call an element of a parallel iterator.
fn by_hand(object: &[u8], words: usize) {
    // One thread each, so that the parallelism is the iterator's.
    let device = host::Device::cpu_with_threads(1);
    let metadata = common::metadata("mix", [32, 1, 1], arguments("mix"), vec![]);
    let mix = common::load(&device, object, metadata);
    let buffers: Vec<_> = (0..128).map(|_| device.buffer(4 * words).expect("memory")).collect();
    let mut launches: Vec<_> = buffers
        .chunks(2)
        .map(|pair| {
            mix.bind(&[host::Arg::Buffer(&pair[0]), host::Arg::Buffer(&pair[1])]).expect("it fits")
        })
        .collect();
    let run = || {
        launches.par_iter_mut().for_each(|launch| {
            launch.dispatch([words as u32, 1, 1]).expect("it runs");
        });
    };
    println!("64 dispatches of {words:6} threads, with rayon   {}", time(2000, run));
}
