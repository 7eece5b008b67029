//! `cargo xtask bench shading [LUISAC]`: whole processes to SPIR-V, HLSL, MSL, WGSL and DXIL on one kernel of growing length, as a floor and a slope, and
//! beside `naga`, `slangc` and `dxc` on the same computation written by hand in WGSL and HLSL, where they are on the path.
//!
//! A kernel of no steps is saxpy. A step multiplies, adds, compares and, in a branch, reads a neighbour and subtracts.

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use crate::run::{Result, build, root, say};

/// Steps of the kernels: none, and enough for a slope.
const STEPS: [u32; 3] = [0, 200, 1000];
/// Runs of each command after two to warm up.
const RUNS: usize = 21;

pub fn bench(args: &[String]) -> Result<()> {
    let luisac = match args.first() {
        Some(path) => PathBuf::from(path),
        None => build()?,
    };
    let folder = std::env::temp_dir().join(format!("luisac-shading-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let done = all(&luisac, &folder);
    let _ = fs::remove_dir_all(folder);
    done
}

fn all(luisac: &Path, folder: &Path) -> Result<()> {
    for steps in STEPS {
        let write = |ending: &str, text: String| {
            let path = folder.join(format!("k{steps}.{ending}"));
            fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))
        };
        write("xir", xir(steps))?;
        write("hlsl", hlsl(steps))?;
        write("wgsl", wgsl(steps))?;
    }
    println!("least and median of {RUNS} processes, and processor time of each, in ms");
    let heads = ["command", "least", "median", "cpu", "ns a step"];
    println!(
        "{:<34} {:>6} {:>8} {:>8} {:>8} {:>10}",
        heads[0], "steps", heads[1], heads[2], heads[3], heads[4]
    );
    let luisac = luisac.display().to_string();
    let saxpy = root().join("fixtures/saxpy.json").display().to_string();
    let out = folder.join("out").display().to_string();
    for target in ["spirv", "hlsl", "msl", "wgsl", "dxil"] {
        let command = |input: &str| -> Vec<String> {
            [&luisac, "compile", input, "--target", target, "-o", &out].map(String::from).into()
        };
        match time(&command(&saxpy)) {
            Ok(t) => row(&format!("luisac {target}, fixtures/saxpy.json"), 0, t, None),
            Err(e) => say(format_args!("luisac {target}: {e}")),
        }
        ladder(&format!("luisac {target}"), folder, "xir", command);
    }
    let tools: [(&str, &str, &[&str]); 5] = [
        ("naga", "wgsl", &["naga", "INPUT", "OUT.spv"]),
        ("naga", "wgsl", &["naga", "INPUT", "OUT.metal"]),
        ("naga", "wgsl", &["naga", "INPUT", "OUT.hlsl"]),
        (
            "slangc",
            "hlsl",
            &[
                "slangc", "INPUT", "-target", "spirv", "-entry", "main", "-stage", "compute", "-o",
                "OUT",
            ],
        ),
        ("dxc", "hlsl", &["dxc", "-T", "cs_6_2", "-E", "main", "INPUT", "-Fo", "OUT"]),
    ];
    for (tool, ending, words) in tools {
        if Command::new(tool).arg("--version").output().is_err() {
            say(format_args!("`{tool}` is not on the path: its figures are left out"));
            continue;
        }
        let command = |input: &str| -> Vec<String> {
            words.iter().map(|w| w.replace("INPUT", input).replace("OUT", &out)).collect()
        };
        let last = words.iter().rfind(|w| w.starts_with("OUT.")).map_or("", |w| &w[4..]);
        ladder(&format!("{tool} {last}"), folder, ending, command);
    }
    Ok(())
}

/// A row for each length of the kernel.
fn ladder(name: &str, folder: &Path, ending: &str, command: impl Fn(&str) -> Vec<String>) {
    let mut floor = None;
    for steps in STEPS {
        let input = folder.join(format!("k{steps}.{ending}")).display().to_string();
        match time(&command(&input)) {
            Ok(t) => {
                let slope = floor.map(|f: f64| (t.cpu - f) * 1e6 / f64::from(steps));
                row(name, steps, t, slope);
                floor = floor.or(Some(t.cpu));
            }
            Err(e) => return say(format_args!("{name}: {e}")),
        }
    }
}

/// Milliseconds of a command.
#[derive(Clone, Copy)]
struct Times {
    least: f64,
    median: f64,
    /// Processor time of one run, as the system counts it for all of them together.
    cpu: f64,
}

fn row(name: &str, steps: u32, t: Times, slope: Option<f64>) {
    let slope = slope.map_or_else(String::new, |s| format!("{s:.0}"));
    println!("{name:<34} {steps:>6} {:>8.2} {:>8.2} {:>8.2} {slope:>10}", t.least, t.median, t.cpu);
}

fn time(command: &[String]) -> Result<Times> {
    let run = || -> Result<f64> {
        let start = Instant::now();
        let mut process = Command::new(&command[0]);
        let out = process.args(&command[1..]).stdin(Stdio::null()).output();
        let elapsed = start.elapsed();
        let out = out.map_err(|e| format!("cannot start: {e}"))?;
        if !out.status.success() {
            let text = String::from_utf8_lossy(&out.stderr).into_owned();
            return Err(text.lines().next().unwrap_or("it failed").to_owned());
        }
        Ok(elapsed.as_secs_f64() * 1e3)
    };
    run()?;
    run()?;
    let before = children_ms();
    let mut times = (0..RUNS).map(|_| run()).collect::<Result<Vec<f64>>>()?;
    let cpu = (children_ms() - before) / RUNS as f64;
    times.sort_by(f64::total_cmp);
    Ok(Times { least: times[0], median: times[RUNS / 2], cpu })
}

/// Processor time of all processes that this one has waited for, from `/proc/self/stat`: user and system time of children are the 14th and 15th
/// number behind the name, in hundredths of a second. NaN where there is no such file.
fn children_ms() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let behind = stat.rsplit(')').next().unwrap_or_default();
    let numbers: Vec<f64> =
        behind.split_whitespace().skip(13).take(2).filter_map(|w| w.parse().ok()).collect();
    match numbers[..] {
        [user, system] => (user + system) * 10.0,
        _ => f64::NAN,
    }
}

/// What a step multiplies by, adds and compares with.
fn constants(step: u32) -> [f64; 3] {
    [f64::from(step % 7) * 0.25 + 0.5, f64::from(step % 13) * 0.5 - 2.0, f64::from(step % 5) + 1.0]
}

/// The kernel in our text form: `y[i] = a * x[i] + y[i]`, then the steps on it.
fn xir(steps: u32) -> String {
    let mut text = String::from(
        "module;\n\nkernel @ladder block(256, 1, 1) (%0: resource buffer<f32>, %1: resource buffer<f32>, %2: value f32) {\nb0:\n  \
         %3: f32 = alloca local\n  %4: u32 = arithmetic extract dispatch_id, u32 0\n  %5: f32 = resource_read buffer_read %0, %4\n  \
         %6: f32 = resource_read buffer_read %1, %4\n  %7: f32 = arithmetic binary_mul %2, %5\n  %8: f32 = arithmetic binary_add %7, %6\n  \
         store %3, %8\n",
    );
    let mut next = 9;
    for step in 0..steps {
        let [factor, summand, limit] = constants(step);
        let b = 3 * step + 1;
        let v = |n: u32| next + n;
        let _ = write!(
            text,
            "  %{}: f32 = load %3\n  %{}: f32 = arithmetic binary_mul %{}, f32 {factor:?}\n  %{}: f32 = arithmetic binary_add %{}, f32 {summand:?}\n  \
             store %3, %{}\n  %{}: bool = arithmetic binary_greater %{}, f32 {limit:?}\n  if %{}, then b{b}, else b{}, merge b{}\nb{b}:\n  \
             %{}: u32 = arithmetic binary_bit_xor %4, u32 {}\n  %{}: f32 = resource_read buffer_read %0, %{}\n  \
             %{}: f32 = arithmetic binary_sub %{}, %{}\n  store %3, %{}\n  br b{}\nb{}:\n  br b{}\nb{}:\n",
            v(0),
            v(1),
            v(0),
            v(2),
            v(1),
            v(2),
            v(3),
            v(2),
            v(3),
            b + 1,
            b + 2,
            v(4),
            step % 64,
            v(5),
            v(4),
            v(6),
            v(2),
            v(5),
            v(6),
            b + 2,
            b + 1,
            b + 2,
            b + 2,
        );
        next += 7;
    }
    let _ = write!(
        text,
        "  %{next}: f32 = load %3\n  resource_write buffer_write %1, %4, %{next}\n  return\n}}\n"
    );
    text
}

fn hlsl(steps: u32) -> String {
    let mut text = String::from(
        "RWStructuredBuffer<float> x;\nRWStructuredBuffer<float> y;\n\
         cbuffer Params { uint3 size; float a; }\n\n[numthreads(256, 1, 1)]\n\
         void main(uint3 id : SV_DispatchThreadID) {\n    if (any(id >= size)) return;\n    float v = a * x[id.x] + y[id.x];\n",
    );
    for step in 0..steps {
        let [factor, summand, limit] = constants(step);
        let _ = writeln!(
            text,
            "    v = v * {factor:?} + {summand:?};\n    if (v > {limit:?}) {{\n        v -= x[id.x ^ {}u];\n    }}",
            step % 64
        );
    }
    text + "    y[id.x] = v;\n}\n"
}

fn wgsl(steps: u32) -> String {
    let mut text = String::from(
        "struct Params { size: vec3<u32>, a: f32 }\n@group(0) @binding(0) var<storage, read> x: array<f32>;\n\
         @group(0) @binding(1) var<storage, read_write> y: array<f32>;\n@group(0) @binding(2) var<uniform> params: Params;\n\n\
         @compute @workgroup_size(256)\nfn main(@builtin(global_invocation_id) id: vec3<u32>) {\n    \
         if any(id >= params.size) { return; }\n    var v = params.a * x[id.x] + y[id.x];\n",
    );
    for step in 0..steps {
        let [factor, summand, limit] = constants(step);
        let _ = writeln!(
            text,
            "    v = v * {factor:?} + {summand:?};\n    if v > {limit:?} {{\n        v -= x[id.x ^ {}u];\n    }}",
            step % 64
        );
    }
    text + "    y[id.x] = v;\n}\n"
}
