//! Random kernels with barriers, shared memory, loops, branches and early returns: the processor must do what the interpreter does.
//!
//! `SEEDS=first..last` picks others.

use std::fmt::Write;

use luisac_runtime::host::Device;
use luisac_targets::OptLevel;
use luisac_xir::{interp, text};

use crate::case;

/// xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32) % n
    }
}

/// Variables of the thread, and of the block: the latter hold the same value in all threads.
const VARIABLES: u32 = 5;
const UNIFORMS: u32 = 2;

/// A kernel under construction.
struct Program {
    random: Random,
    text: String,
    values: u32,
    blocks: u32,
    threads: u32,
    /// The names of things.
    own: Vec<u32>,
    uniform: Vec<u32>,
    array: u32,
    shared: u32,
    thread: u32,
    index: u32,
}

impl Program {
    fn value(&mut self, ty: &str, what: std::fmt::Arguments<'_>) -> u32 {
        let v = self.values;
        self.values += 1;
        writeln!(self.text, "  %{v}: {ty} = {what}").unwrap();
        v
    }
    fn line(&mut self, what: std::fmt::Arguments<'_>) {
        writeln!(self.text, "  {what}").unwrap();
    }
    fn block(&mut self) -> u32 {
        self.blocks += 1;
        self.blocks
    }
    fn start(&mut self, block: u32) {
        writeln!(self.text, "b{block}:").unwrap();
    }
    fn any(&mut self, uniform: bool) -> u32 {
        let list = if uniform { &self.uniform } else { &self.own };
        let place = list[self.random.below(list.len() as u32) as usize];
        self.value("u32", format_args!("load %{place}"))
    }
    fn masked(&mut self, v: u32, mask: u32) -> u32 {
        self.value("u32", format_args!("arithmetic binary_bit_and %{v}, u32 {mask}"))
    }
    fn element(&mut self, base: u32, index: u32) -> u32 {
        self.value("u32", format_args!("gep %{base}, %{index}"))
    }

    fn assign(&mut self, uniform: bool) {
        let a = self.any(uniform);
        let ops = ["binary_add", "binary_sub", "binary_mul", "binary_bit_xor", "binary_div", "min"];
        let op = ops[self.random.below(6) as usize];
        let b = if self.random.below(2) == 0 {
            let b = self.any(uniform);
            format!("%{b}")
        } else {
            format!("u32 {}", self.random.below(9))
        };
        let r = self.value("u32", format_args!("arithmetic {op} %{a}, {b}"));
        let list = if uniform { &self.uniform } else { &self.own };
        let place = list[self.random.below(list.len() as u32) as usize];
        self.line(format_args!("store %{place}, %{r}"));
    }

    fn array_access(&mut self) {
        let v = self.any(false);
        let i = self.masked(v, 7);
        let array = self.array;
        let at = self.element(array, i);
        if self.random.below(2) == 0 {
            let v = self.any(false);
            self.line(format_args!("store %{at}, %{v}"));
        } else {
            let v = self.value("u32", format_args!("load %{at}"));
            let place = self.own[self.random.below(VARIABLES) as usize];
            self.line(format_args!("store %{place}, %{v}"));
        }
    }

    /// Everyone's number goes to shared memory, and a neighbour's comes back.
    fn exchange(&mut self) {
        let v = self.any(false);
        let (shared, thread) = (self.shared, self.thread);
        let mine = self.element(shared, thread);
        self.line(format_args!("store %{mine}, %{v}"));
        self.line(format_args!("thread_group synchronize_block"));
        let threads = self.threads;
        let far = self.random.below(threads);
        let other = self.value("u32", format_args!("arithmetic binary_add %{thread}, u32 {far}"));
        let mask = self.threads - 1;
        let other = self.masked(other, mask);
        let at = self.element(shared, other);
        let v = self.value("u32", format_args!("load %{at}"));
        let place = self.own[self.random.below(VARIABLES) as usize];
        self.line(format_args!("store %{place}, %{v}"));
        self.line(format_args!("thread_group synchronize_block"));
    }

    fn branch(&mut self, uniform: bool, depth: u32) {
        let v = self.any(uniform);
        let mask = 1 << self.random.below(2);
        let bit = self.masked(v, mask);
        let c = self.value("bool", format_args!("arithmetic binary_equal %{bit}, u32 0"));
        let (yes, no, merge) = (self.block(), self.block(), self.block());
        self.line(format_args!("if %{c}, then b{yes}, else b{no}, merge b{merge}"));
        for arm in [yes, no] {
            self.start(arm);
            self.statements(uniform, depth - 1);
            self.line(format_args!("br b{merge}"));
        }
        self.start(merge);
    }

    fn repeat(&mut self, uniform: bool, depth: u32) {
        let counter = self.value("u32", format_args!("alloca local"));
        self.line(format_args!("store %{counter}, u32 0"));
        let limit = if uniform {
            let trips = 1 + self.random.below(4);
            format!("u32 {trips}")
        } else {
            let v = self.any(false);
            let v = self.masked(v, 3);
            format!("%{v}")
        };
        let [prepare, body, update, merge] = [0; 4].map(|_| self.block());
        self.line(format_args!(
            "loop prepare b{prepare}, body b{body}, update b{update}, merge b{merge}"
        ));
        self.start(prepare);
        let i = self.value("u32", format_args!("load %{counter}"));
        let c = self.value("bool", format_args!("arithmetic binary_less %{i}, {limit}"));
        self.line(format_args!("cond_br %{c}, b{body}, b{merge}"));
        self.start(body);
        self.statements(uniform, depth - 1);
        if self.random.below(3) == 0 {
            let v = self.any(uniform);
            let v = self.masked(v, 3);
            let c = self.value("bool", format_args!("arithmetic binary_equal %{v}, u32 1"));
            let (leave, stay) = (self.block(), self.block());
            self.line(format_args!("if %{c}, then b{leave}, else b{stay}, merge b{stay}"));
            self.start(leave);
            self.line(format_args!("break b{merge}"));
            self.start(stay);
        }
        self.line(format_args!("br b{update}"));
        self.start(update);
        let i = self.value("u32", format_args!("load %{counter}"));
        let i = self.value("u32", format_args!("arithmetic binary_add %{i}, u32 1"));
        self.line(format_args!("store %{counter}, %{i}"));
        self.line(format_args!("br b{prepare}"));
        self.start(merge);
    }

    fn leave_early(&mut self) {
        let v = self.any(false);
        let v = self.masked(v, 15);
        let c = self.value("bool", format_args!("arithmetic binary_equal %{v}, u32 5"));
        let (leave, stay) = (self.block(), self.block());
        self.line(format_args!("if %{c}, then b{leave}, else b{stay}, merge b{stay}"));
        self.start(leave);
        self.finish();
        self.start(stay);
    }

    fn statements(&mut self, uniform: bool, depth: u32) {
        for _ in 0..1 + self.random.below(4) {
            match self.random.below(12) {
                0..3 => self.assign(false),
                3 => self.array_access(),
                4..7 if uniform => self.exchange(),
                7 if uniform => self.assign(true),
                8 if depth > 0 => self.branch(uniform, depth),
                9 if depth > 0 => self.repeat(uniform, depth),
                10 if depth > 0 => {
                    if self.random.below(2) == 0 {
                        self.branch(false, depth);
                    } else {
                        self.repeat(false, depth);
                    }
                }
                11 if self.random.below(3) == 0 => self.leave_early(),
                _ => self.array_access(),
            }
        }
    }

    /// Writes what the thread has, and ends it.
    fn finish(&mut self) {
        let (own, index) = (self.own.clone(), self.index);
        let mut sum = self.value("u32", format_args!("load %{}", own[0]));
        for place in &own[1..] {
            let v = self.value("u32", format_args!("load %{place}"));
            let s = self.value("u32", format_args!("arithmetic binary_mul %{sum}, u32 31"));
            sum = self.value("u32", format_args!("arithmetic binary_add %{s}, %{v}"));
        }
        self.line(format_args!("resource_write buffer_write %1, %{index}, %{sum}"));
        self.line(format_args!("return"));
    }
}

/// A kernel of two `buffer<u32>`; block of 8 threads, dispatch of 32.
fn program(seed: u64) -> (String, [u32; 3]) {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let (block, dispatch) =
        [([8, 1, 1], [32, 1, 1]), ([4, 2, 1], [8, 4, 1]), ([2, 2, 2], [4, 2, 4])]
            [random.below(3) as usize];
    let mut p = Program {
        random,
        text: String::new(),
        values: 2,
        blocks: 0,
        threads: 8,
        own: Vec::new(),
        uniform: Vec::new(),
        array: 0,
        shared: 0,
        thread: 0,
        index: 0,
    };
    let [x, y, z] = block;
    writeln!(p.text, "module;\nkernel @random block({x}, {y}, {z}) (%0: resource buffer<u32>, %1: resource buffer<u32>) {{\nb0:").unwrap();
    for _ in 0..VARIABLES {
        let v = p.value("u32", format_args!("alloca local"));
        p.own.push(v);
    }
    for _ in 0..UNIFORMS {
        let v = p.value("u32", format_args!("alloca local"));
        p.uniform.push(v);
    }
    p.array = p.value("array<u32, 8>", format_args!("alloca local"));
    p.shared = p.value("array<u32, 8>", format_args!("alloca shared"));
    for (register, size, what) in [("thread_id", block, 0), ("dispatch_id", dispatch, 1)] {
        let part = |p: &mut Program, i: u32| {
            p.value("u32", format_args!("arithmetic extract {register}, u32 {i}"))
        };
        let (a, b, c) = (part(&mut p, 0), part(&mut p, 1), part(&mut p, 2));
        let c = p.value("u32", format_args!("arithmetic binary_mul %{c}, u32 {}", size[1]));
        let b = p.value("u32", format_args!("arithmetic binary_add %{b}, %{c}"));
        let b = p.value("u32", format_args!("arithmetic binary_mul %{b}, u32 {}", size[0]));
        let v = p.value("u32", format_args!("arithmetic binary_add %{a}, %{b}"));
        *if what == 0 { &mut p.thread } else { &mut p.index } = v;
    }
    let index = p.index;
    let read = p.value("u32", format_args!("resource_read buffer_read %0, %{index}"));
    let first = p.own[0];
    p.line(format_args!("store %{first}, %{read}"));
    let (shared, thread) = (p.shared, p.thread);
    let mine = p.element(shared, thread);
    p.line(format_args!("store %{mine}, %{read}"));
    let block_id = p.value("u32", format_args!("arithmetic extract block_id, u32 0"));
    let first = p.uniform[0];
    p.line(format_args!("store %{first}, %{block_id}"));
    p.statements(true, 3);
    p.exchange();
    p.statements(true, 3);
    p.finish();
    p.text.push_str("}\n");
    (p.text, dispatch)
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
}

fn check(seed: u64) -> Result<(), String> {
    let (source, dispatch) = program(seed);
    let original = text::parse(&source).map_err(|e| format!("{e}\n{source}"))?;
    let input: Vec<u8> =
        (0..32u32).flat_map(|i| (i.wrapping_mul(2_654_435_761) >> 20).to_le_bytes()).collect();
    let mut args = [interp::Arg::Buffer(input.clone()), interp::Arg::Buffer(vec![0; 128])];
    let id = original.kernels().next().ok_or("no kernel")?;
    interp::run(&original, id, &mut args, &interp::Launch::new(dispatch))
        .map_err(|e| format!("the interpreter: {e:?}\n{source}"))?;
    let interp::Arg::Buffer(wanted) = &args[1] else { return Err("no buffer".to_string()) };
    for level in [OptLevel::O0, OptLevel::O1, OptLevel::O2] {
        let mut module = original.clone();
        let artifact = case::compile(&mut module, "cpu:native", |o| o.opt_level = level)
            .map_err(|e| format!("{e}\n{source}"))?;
        let device = Device::cpu_with_threads(1);
        // SAFETY: the object was just compiled, and the kernel stays inside its buffers.
        let kernel =
            unsafe { device.load(&artifact.code, artifact.metadata) }.map_err(|e| e.to_string())?;
        let from = device.buffer_from(&input).map_err(|e| e.to_string())?;
        let to = device.buffer(128).map_err(|e| e.to_string())?;
        let bound =
            [luisac_runtime::host::Arg::Buffer(&from), luisac_runtime::host::Arg::Buffer(&to)];
        let mut launch = kernel.bind(&bound).map_err(|e| e.to_string())?;
        launch.dispatch(dispatch).map_err(|e| e.to_string())?;
        if to.to_vec() != *wanted {
            return Err(format!(
                "{level:?}: {:?}\nwanted {:?}\n{source}",
                words(&to.to_vec()),
                words(wanted)
            ));
        }
    }
    Ok(())
}

#[test]
fn random_kernels_with_barriers() {
    let range = std::env::var("SEEDS").unwrap_or_else(|_| "1..60".to_string());
    let (first, last) = range.split_once("..").unwrap();
    let mut wrong = Vec::new();
    for seed in first.parse::<u64>().unwrap()..last.parse().unwrap() {
        if let Err(e) = check(seed) {
            wrong.push(format!("seed {seed}: {e}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.first().unwrap());
}
