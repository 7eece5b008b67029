//! `lower_sampling` against the interpreter's own sampling: the same bits for every filter, address mode and way to choose the
//! level, with codes that are constants and codes that are not.

use luisac_passes::{Pipeline, RunOptions};
use luisac_xir::interp::{self, Arg, Launch, PixelStorage};
use luisac_xir::{Module, text};

const LANES: u32 = 96;

/// Names of the operations with the operands between coordinate and sampler.
const FORMS: [(&str, &str); 4] = [
    ("sample", ""),
    ("sample_level", "f32 0.7, "),
    ("sample_grad", "%ddx, %ddy, "),
    ("sample_grad_level", "%ddx, %ddy, f32 0.5, "),
];

/// A kernel that samples at coordinates and along gradients that it reads from a buffer of `float4`, three a thread.
fn kernel(dimensions: u32, form: usize, sampler: &str) -> Module {
    let (name, between) = FORMS[form];
    let between = between.replace("%ddx", "%11").replace("%ddy", "%12");
    let n = dimensions;
    let lanes = if n == 2 { "u32 0, u32 1" } else { "u32 0, u32 1, u32 2" };
    let source = format!(
        "kernel @k block(32, 1, 1) (%0: resource texture{n}d<f32>, %1: resource buffer<vector<f32, 4>>, \
         %2: resource buffer<vector<f32, 4>>, %3: value u32, %4: value u32) {{
b0:
  %5: u32 = arithmetic extract dispatch_id, u32 0
  %6: u32 = arithmetic binary_mul %5, u32 3
  %7: u32 = arithmetic binary_add %6, u32 1
  %8: u32 = arithmetic binary_add %6, u32 2
  %9: vector<f32, 4> = resource_read buffer_read %1, %6
  %10: vector<f32, {n}> = arithmetic shuffle %9, {lanes}
  %13: vector<f32, 4> = resource_read buffer_read %1, %7
  %11: vector<f32, {n}> = arithmetic shuffle %13, {lanes}
  %14: vector<f32, 4> = resource_read buffer_read %1, %8
  %12: vector<f32, {n}> = arithmetic shuffle %14, {lanes}
  %15: vector<f32, 4> = resource_query texture{n}d_{name} %0, %10, {between}{sampler}
  resource_write buffer_write %2, %5, %15
  return
}}
"
    );
    text::parse(&source).unwrap_or_else(|e| panic!("{e:?}\n{source}"))
}

/// Coordinates around and far off the image, gradients of all lengths and none.
fn points() -> Vec<u8> {
    let edges =
        [0.0, 1.0, -0.3, 0.5, 1.7, -7.25, 1e9, -1e30, f32::NAN, f32::INFINITY, 0.062_499_996];
    let mut state = 7u32;
    let mut next = |scale: f32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32 * scale
    };
    let mut floats = Vec::new();
    for lane in 0..LANES as usize {
        for c in 0..4 {
            let edge = edges.get(lane / 2).filter(|_| lane % 2 == c % 2);
            floats.push(edge.copied().unwrap_or_else(|| next(4.0) - 1.5));
        }
        for _ in 0..8 {
            floats.push(if lane % 7 == 0 { 0.0 } else { next(0.9) - 0.3 });
        }
    }
    floats.iter().flat_map(|f| f.to_le_bytes()).collect()
}

fn image(dimensions: u32) -> Arg {
    let (width, height, depth) = (8, 5, if dimensions == 3 { 3 } else { 1 });
    let texels = width * height * depth * 4;
    let data = (0..texels).flat_map(|i| ((i * 37 % 101) as f32 / 7.0).to_le_bytes()).collect();
    let storage = PixelStorage::from_name("float4").expect("a storage");
    Arg::Image { storage, width, height, depth, levels: 1, data }
}

fn run(module: &Module, dimensions: u32, codes: [u32; 2]) -> Vec<u8> {
    let value = |code: u32| Arg::Value(code.to_le_bytes().to_vec());
    let mut args = [
        image(dimensions),
        Arg::Buffer(points()),
        Arg::Buffer(vec![0; LANES as usize * 16]),
        value(codes[0]),
        value(codes[1]),
    ];
    let kernel = module.kernels().next().expect("a kernel");
    if let Err(fault) = interp::run(module, kernel, &mut args, &Launch::new([LANES, 1, 1])) {
        panic!("{fault}");
    }
    let [_, _, Arg::Buffer(out), ..] = args else { panic!("a buffer stays one") };
    out
}

/// NaNs may differ in their bits.
fn values(bytes: &[u8]) -> Vec<u32> {
    let bits = bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]));
    bits.map(|b| if f32::from_bits(b).is_nan() { f32::NAN.to_bits() } else { b }).collect()
}

#[test]
fn lowered_samples_have_the_bits_of_the_interpreter() {
    let pipeline = Pipeline::parse("lower_sampling").expect("a pipeline");
    for dimensions in [2, 3] {
        for (form, filter, address) in
            (0..4).flat_map(|o| (0..4).flat_map(move |f| (0..4).map(move |a| (o, f, a))))
        {
            let constant = format!("u32 {filter}, u32 {address}");
            for sampler in [constant.as_str(), "%3, %4"] {
                let mut module = kernel(dimensions, form, sampler);
                let want = run(&module, dimensions, [filter, address]);
                pipeline.run(&mut module, RunOptions::default()).expect("the pass runs");
                luisac_xir::verify::verify(&module).expect("it stays valid");
                assert!(!text::print(&module).contains("_sample"), "a sample is left");
                let got = run(&module, dimensions, [filter, address]);
                assert!(
                    values(&want) == values(&got),
                    "{dimensions}-D {} with sampler {sampler} = ({filter}, {address})",
                    FORMS[form].0
                );
            }
        }
    }
}
