//! Lists on the device `cuda` against the same by hand over the driver's interface: `cargo bench -p luisac-runtime --features cuda --bench cuda`.
//! Each figure is the median of many runs; both sides run in turn, in one process.

use std::{ffi::c_void, hint::black_box, ptr, time::Instant};

use cudarc::driver::sys::{self, CUresult};
use luisac_artifact::metadata::{Argument, ArgumentKind, Usage};
use luisac_runtime::{Buffer, CommandList, CommittedList, Device, Kernel, Stream};

#[path = "../tests/common/mod.rs"]
mod common;

const INDEPENDENT: usize = 64;
const CHAIN: usize = 1000;
const FRAME_BUFFERS: usize = 8;
const FRAME_KERNELS: usize = 20;
const FRAME_WORDS: usize = 1 << 18;

/// Calls the driver, which must succeed.
macro_rules! cu {
    ($name:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: arguments are handles and memory that live, of the sizes given.
        assert_eq!(unsafe { sys::$name($($argument),*) }, CUresult::CUDA_SUCCESS, stringify!($name))
    };
}

fn main() {
    let device = match Device::open("cuda") {
        Ok(device) => device,
        Err(e) => return println!("skipped: {e}"),
    };
    let hand = Hand::new();
    let load = |name: &str, arguments| {
        let metadata = common::ptx_metadata(name, [32, 1, 1], arguments);
        // SAFETY: our own PTX, whose kernels follow the metadata.
        unsafe { device.load(common::PTX.as_bytes(), metadata) }.expect("it loads")
    };
    let words =
        |usage| Argument { usage, ..common::argument(ArgumentKind::Buffer, "buffer<uint>", 4, 4) };
    let one = || vec![words(Usage::ReadWrite)];
    let (empty, spin) = (load("empty", one()), load("spin", one()));
    let mix = load("mix", vec![words(Usage::Read), words(Usage::ReadWrite)]);
    println!("{:<52} {:>10} {:>10} {:>7}", "", "luisac us", "by hand us", "ratio");
    independent(&device, &hand, &spin);
    chain(&device, &hand, &empty);
    single(&device, &hand, &empty);
    frame(&device, &hand, &mix);
}

/// The median of the times of `runs` calls of each, in turn, in microseconds.
fn medians(runs: usize, mut ours: impl FnMut(), mut theirs: impl FnMut()) -> [f64; 2] {
    let mut times = [Vec::new(), Vec::new()];
    for i in 0..runs + runs / 5 + 2 {
        for (side, list) in times.iter_mut().enumerate() {
            let start = Instant::now();
            if side == 0 {
                ours()
            } else {
                theirs()
            }
            let time = start.elapsed().as_secs_f64() * 1e6;
            if i >= runs / 5 + 2 {
                list.push(time);
            }
        }
    }
    times.map(|mut list| {
        list.sort_by(f64::total_cmp);
        list[list.len() / 2]
    })
}

fn row(what: &str, [ours, theirs]: [f64; 2]) {
    println!("{what:<52} {ours:>10.3} {theirs:>10.3} {:>7.3}", ours / theirs);
}

fn run(stream: &Stream, list: &CommittedList) {
    stream.submit(list).expect("it is taken").wait().expect("it runs");
}

/// Kernels that have nothing to do with each other, recorded one after the other.
fn independent(device: &Device, hand: &Hand, spin: &Kernel) {
    let buffers: Vec<Buffer<u32>> =
        (0..INDEPENDENT).map(|_| device.buffer(32).expect("memory")).collect();
    let mut list = device.list();
    for buffer in &buffers {
        list.dispatch(spin, (buffer,), [32, 1, 1]).expect("it fits");
    }
    let (list, stream) = (list.commit().expect("a list"), device.stream());
    let memory = hand.memory(128);
    let launches = vec![hand.launch("spin", &[memory], 1); INDEPENDENT];
    let graph = hand.graph(&launches, false);
    let times = medians(200, || run(&stream, &list), || hand.run_graph(graph));
    row("64 independent kernels of 45 us; a graph without edges", times);
    let times = medians(50, || run(&stream, &list), || hand.run_stream(&launches));
    row("the same; one stream", times);
}

/// Kernels that each wait for the one before.
fn chain(device: &Device, hand: &Hand, empty: &Kernel) {
    let buffer = device.buffer::<u32>(32).expect("memory");
    let mut list = device.list();
    for _ in 0..CHAIN {
        list.dispatch(empty, (&buffer,), [32, 1, 1]).expect("it fits");
    }
    let (list, stream) = (list.commit().expect("a list"), device.stream());
    let launches = vec![hand.launch("empty", &[hand.memory(128)], 1); CHAIN];
    let graph = hand.graph(&launches, true);
    let times = medians(200, || run(&stream, &list), || hand.run_graph(graph));
    row("a chain of 1000 empty kernels, a node; a graph", times.map(|t| t / CHAIN as f64));
}

/// One dispatch, and waiting for it.
fn single(device: &Device, hand: &Hand, empty: &Kernel) {
    let buffer = device.buffer::<u32>(32).expect("memory");
    let mut list = device.list();
    list.dispatch(empty, (&buffer,), [32, 1, 1]).expect("it fits");
    let (list, stream) = (list.commit().expect("a list"), device.stream());
    let launches = [hand.launch("empty", &[hand.memory(128)], 1)];
    let times = medians(20_000, || run(&stream, &list), || hand.run_stream(&launches));
    row("one empty kernel, to its end; a launch and a wait", times);
    let record = || {
        let mut list = device.list();
        list.dispatch(empty, (&buffer,), [32, 1, 1]).expect("it fits");
        run(&stream, &list.commit().expect("a list"));
    };
    row("the same, recorded each time", medians(20_000, record, || hand.run_stream(&launches)));
}

/// An upload, kernels over some buffers, a download. By hand: the kernels on two streams with events, as one would do it.
fn frame(device: &Device, hand: &Hand, mix: &Kernel) {
    let buffers: Vec<Buffer<u32>> =
        (0..FRAME_BUFFERS).map(|_| device.buffer(FRAME_WORDS).expect("memory")).collect();
    let data = vec![7u32; FRAME_WORDS];
    let pairs: Vec<(usize, usize)> =
        (0..FRAME_KERNELS).map(|i| (i % FRAME_BUFFERS, (i * 3 + 1) % FRAME_BUFFERS)).collect();
    let mut list: CommandList = device.list();
    list.upload(&buffers[0], &data).expect("it fits");
    for (from, to) in pairs.iter().filter(|(a, b)| a != b) {
        let views = (&buffers[*from], &buffers[*to]);
        list.dispatch(mix, views, [FRAME_WORDS as u32, 1, 1]).expect("it fits");
    }
    let result = list.download(&buffers[FRAME_BUFFERS - 1]).expect("it fits");
    let (list, stream) = (list.commit().expect("a list"), device.stream());
    let bytes = FRAME_WORDS * 4;
    let memory: Vec<u64> = (0..FRAME_BUFFERS).map(|_| hand.memory(bytes)).collect();
    let launches: Vec<Launch> = pairs
        .iter()
        .filter(|(a, b)| a != b)
        .map(|(a, b)| hand.launch("mix", &[memory[*a], memory[*b]], FRAME_WORDS / 32))
        .collect();
    let (source, target) = (hand.pinned(bytes), hand.pinned(bytes));
    let ours = || {
        run(&stream, &list);
        black_box(result.take());
    };
    let theirs = || {
        let (a, b) = (hand.streams[0], hand.streams[1]);
        cu!(cuMemcpyHtoDAsync_v2(memory[0], source, bytes, a));
        // By hand one would find two chains at best; everything waits for the upload.
        cu!(cuEventRecord(hand.event, a));
        cu!(cuStreamWaitEvent(b, hand.event, 0));
        for (i, launch) in launches.iter().enumerate() {
            hand.enqueue(launch, hand.streams[i % 2]);
            cu!(cuEventRecord(hand.event, hand.streams[i % 2]));
            cu!(cuStreamWaitEvent(hand.streams[(i + 1) % 2], hand.event, 0));
        }
        cu!(cuEventRecord(hand.event, b));
        cu!(cuStreamWaitEvent(a, hand.event, 0));
        cu!(cuMemcpyDtoHAsync_v2(target, memory[FRAME_BUFFERS - 1], bytes, a));
        cu!(cuStreamSynchronize(a));
        // SAFETY: the memory has so many bytes, and nothing writes it now.
        let words = unsafe { std::slice::from_raw_parts(target.cast::<u32>(), FRAME_WORDS) };
        black_box(words.to_vec());
    };
    row("a frame: upload, 20 kernels, download; streams, events", medians(200, ours, theirs));
}

#[derive(Clone)]
struct Launch {
    function: sys::CUfunction,
    blocks: u32,
    params: Vec<u64>,
}

/// The driver's interface without us.
struct Hand {
    module: sys::CUmodule,
    streams: [sys::CUstream; 2],
    event: sys::CUevent,
}

impl Hand {
    fn new() -> Self {
        let (mut device, mut context, mut module) = (0, ptr::null_mut(), ptr::null_mut());
        cu!(cuInit(0));
        cu!(cuDeviceGet(&mut device, 0));
        cu!(cuDevicePrimaryCtxRetain(&mut context, device));
        cu!(cuCtxSetCurrent(context));
        let text = format!("{}\0", common::PTX);
        cu!(cuModuleLoadData(&mut module, text.as_ptr().cast()));
        let mut streams = [ptr::null_mut(); 2];
        for stream in &mut streams {
            cu!(cuStreamCreate(stream, 1));
        }
        let mut event = ptr::null_mut();
        cu!(cuEventCreate(&mut event, 2));
        Self { module, streams, event }
    }

    fn memory(&self, bytes: usize) -> u64 {
        let mut address = 0;
        cu!(cuMemAlloc_v2(&mut address, bytes));
        address
    }

    fn pinned(&self, bytes: usize) -> *mut c_void {
        let mut address = ptr::null_mut();
        cu!(cuMemHostAlloc(&mut address, bytes, 0));
        address
    }

    fn launch(&self, name: &str, buffers: &[u64], blocks: usize) -> Launch {
        let name = std::ffi::CString::new(name).expect("a name");
        let mut function = ptr::null_mut();
        cu!(cuModuleGetFunction(&mut function, self.module, name.as_ptr()));
        let threads = blocks as u64 * 32;
        let mut params: Vec<u64> = buffers.iter().flat_map(|b| [*b, threads * 4]).collect();
        params.extend([1 << 32 | threads, 1]);
        Launch { function, blocks: blocks as u32, params }
    }

    fn enqueue(&self, launch: &Launch, stream: sys::CUstream) {
        let mut params: *mut c_void = launch.params.as_ptr().cast_mut().cast();
        let (blocks, none) = (launch.blocks, ptr::null_mut());
        cu!(cuLaunchKernel(launch.function, blocks, 1, 1, 32, 1, 1, 0, stream, &mut params, none));
    }

    fn run_stream(&self, launches: &[Launch]) {
        for launch in launches {
            self.enqueue(launch, self.streams[0]);
        }
        cu!(cuStreamSynchronize(self.streams[0]));
    }

    fn graph(&self, launches: &[Launch], chained: bool) -> sys::CUgraphExec {
        let (mut graph, mut exec) = (ptr::null_mut(), ptr::null_mut());
        cu!(cuGraphCreate(&mut graph, 0));
        let mut last: Vec<sys::CUgraphNode> = Vec::new();
        for launch in launches {
            let mut argument: *mut c_void = launch.params.as_ptr().cast_mut().cast();
            // SAFETY: plain data, for which zeros are valid.
            let mut params: sys::CUDA_KERNEL_NODE_PARAMS = unsafe { std::mem::zeroed() };
            params.func = launch.function;
            (params.gridDimX, params.gridDimY, params.gridDimZ) = (launch.blocks, 1, 1);
            (params.blockDimX, params.blockDimY, params.blockDimZ) = (32, 1, 1);
            params.kernelParams = &mut argument;
            let mut node = ptr::null_mut();
            cu!(cuGraphAddKernelNode_v2(&mut node, graph, last.as_ptr(), last.len(), &params));
            if chained {
                last = vec![node];
            }
        }
        cu!(cuGraphInstantiateWithFlags(&mut exec, graph, 0));
        exec
    }

    fn run_graph(&self, exec: sys::CUgraphExec) {
        cu!(cuGraphLaunch(exec, self.streams[0]));
        cu!(cuStreamSynchronize(self.streams[0]));
    }
}
