//! `lower_sampling` against the interpreter's own sampling: the same bits for every filter, address mode and way to choose the
//! level, of images of one and of several levels, with codes that are constants and codes that are not.

use luisac_passes::{Pipeline, RunOptions};
use luisac_xir::interp::{self, Arg, Launch, PixelStorage, Sampler, Slot};
use luisac_xir::{Module, text};

const LANES: u32 = 96;

/// Names of the operations with the operands between coordinate and sampler.
const FORMS: [(&str, &str); 4] = [
    ("sample", ""),
    ("sample_level", "f32 0.7, "),
    ("sample_grad", "%ddx, %ddy, "),
    ("sample_grad_level", "%ddx, %ddy, f32 0.5, "),
];

/// What is sampled.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Source {
    /// An image argument; the call gives the sampler.
    Argument,
    /// A slot of a bindless array, with the slot's sampler.
    Slot,
    /// A slot; the call gives the sampler.
    SlotWithCodes,
}

/// A kernel that samples at coordinates and along gradients that it reads from a buffer of `float4`, three a thread.
fn kernel(source: Source, dimensions: u32, form: usize, sampler: &str, structured: bool) -> Module {
    let (name, between) = FORMS[form];
    let between = between.replace("%ddx", "%11").replace("%ddy", "%12");
    let n = dimensions;
    let image = format!("texture{n}d<f32>");
    let (resource, prefix, slot, suffix, sampler) = match source {
        Source::Argument => (image.as_str(), "", "", "", format!(", {sampler}")),
        Source::Slot => ("bindless_array", "bindless_", ", u32 1", "", String::new()),
        Source::SlotWithCodes => {
            ("bindless_array", "bindless_", ", u32 1", "_sampler", format!(", {sampler}"))
        }
    };
    let between = between.trim_end_matches(", ");
    let between = if between.is_empty() { String::new() } else { format!(", {between}") };
    let lanes = if n == 2 { "u32 0, u32 1" } else { "u32 0, u32 1, u32 2" };
    // A branch of no effect makes the module structured.
    let end = match structured {
        true => {
            "if bool true, then b1, else b2, merge b3\nb1:\n  br b3\nb2:\n  br b3\nb3:\n  return"
        }
        false => "return",
    };
    let source = format!(
        "kernel @k block(32, 1, 1) (%0: resource {resource}, %1: resource buffer<vector<f32, 4>>, \
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
  %15: vector<f32, 4> = resource_query {prefix}texture{n}d_{name}{suffix} %0{slot}, %10{between}{sampler}
  resource_write buffer_write %2, %5, %15
  {end}
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

fn image(dimensions: u32, levels: u32) -> Arg {
    let (width, height, depth) = (8u32, 5u32, if dimensions == 3 { 3u32 } else { 1 });
    let of_level = |l: u32| [width, height, depth].map(|n| (n >> l).max(1)).iter().product::<u32>();
    let texels = (0..levels).map(of_level).sum::<u32>() * 4;
    let data = (0..texels).flat_map(|i| ((i * 37 % 101) as f32 / 7.0).to_le_bytes()).collect();
    let storage = PixelStorage::from_name("float4").expect("a storage");
    Arg::Image { storage, width, height, depth, levels, data }
}

fn run(module: &Module, source: Source, dimensions: u32, levels: u32, codes: [u32; 2]) -> Vec<u8> {
    let value = |code: u32| Arg::Value(code.to_le_bytes().to_vec());
    let buffers = [Arg::Buffer(points()), Arg::Buffer(vec![0; LANES as usize * 16])];
    let mut args = vec![image(dimensions, levels)];
    args.extend(buffers);
    args.extend(codes.map(value));
    if source != Source::Argument {
        // The image lies behind the arguments, in slot 1.
        let sampler = Sampler::from_codes(codes[0].into(), codes[1].into()).expect("a sampler");
        let mut slot = Slot::default();
        let held = Some((args.len() as u32, sampler));
        if dimensions == 2 {
            slot.image2d = held
        } else {
            slot.image3d = held
        }
        let image = std::mem::replace(&mut args[0], Arg::Bindless(vec![Slot::default(), slot]));
        args.push(image);
    }
    let kernel = module.kernels().next().expect("a kernel");
    if let Err(fault) = interp::run(module, kernel, &mut args, &Launch::new([LANES, 1, 1])) {
        panic!("{fault}");
    }
    let Arg::Buffer(out) = args.swap_remove(2) else { panic!("a buffer stays one") };
    out
}

/// NaNs may differ in their bits.
fn values(bytes: &[u8]) -> Vec<u32> {
    let bits = bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]));
    bits.map(|b| if f32::from_bits(b).is_nan() { f32::NAN.to_bits() } else { b }).collect()
}

/// Compares one kernel in all ways to give the sampler.
#[track_caller]
fn compare(source: Source, dimensions: u32, form: usize, codes: [u32; 2]) {
    let pipeline = Pipeline::parse("lower_sampling").expect("a pipeline");
    let constant = format!("u32 {}, u32 {}", codes[0], codes[1]);
    let half = format!("%3, u32 {}", codes[1]);
    let ways = [constant.as_str(), "%3, %4", half.as_str()];
    for sampler in &ways[..if source == Source::Slot { 1 } else { 3 }] {
        let before = kernel(source, dimensions, form, sampler, form.is_multiple_of(2));
        let mut after = before.clone();
        pipeline.run(&mut after, RunOptions::default()).expect("the pass runs");
        luisac_xir::verify::verify(&after).expect("it stays valid");
        let left = |module: &Module| {
            let text = text::print(module);
            text.lines().any(|l| l.contains("resource_query") && l.contains("d_sample "))
        };
        assert!(!left(&after), "a sample is left");
        for levels in [1, 3] {
            let want = run(&before, source, dimensions, levels, codes);
            let got = run(&after, source, dimensions, levels, codes);
            assert!(
                values(&want) == values(&got),
                "{source:?} {dimensions}-D {} of {levels} levels with sampler {sampler} = {codes:?}",
                FORMS[form].0
            );
        }
    }
}

fn compare_all(source: Source) {
    for dimensions in [2, 3] {
        for (form, filter, address) in
            (0..4).flat_map(|o| (0..4).flat_map(move |f| (0..4).map(move |a| (o, f, a))))
        {
            compare(source, dimensions, form, [filter, address]);
        }
    }
}

#[test]
fn lowered_samples_of_arguments_have_the_bits_of_the_interpreter() {
    compare_all(Source::Argument);
}

#[test]
fn lowered_samples_of_slots_have_the_bits_of_the_interpreter() {
    compare_all(Source::Slot);
}

#[test]
fn lowered_samples_of_slots_with_codes_have_the_bits_of_the_interpreter() {
    compare_all(Source::SlotWithCodes);
}

#[test]
fn samples_that_a_target_makes_are_kept() {
    let text = "lower_sampling{keep=texture2d_sample_level|bindless_texture3d_sample}";
    let pipeline = Pipeline::parse(text).expect("a pipeline");
    let mut module = kernel(Source::Argument, 2, 1, "u32 0, u32 0", false);
    let before = text::print(&module);
    pipeline.run(&mut module, RunOptions::default()).expect("the pass runs");
    assert_eq!(before, text::print(&module));
    assert!(Pipeline::parse("lower_sampling{keep=texture2d_size}").is_err());
}
