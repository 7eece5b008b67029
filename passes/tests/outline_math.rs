//! `outline_math`: every mathematical operation as a call gives the bits that the operation gives.

use luisac_passes::{Pipeline, judge};
use luisac_xir::interp::{Arg, Launch};
use luisac_xir::op::{ArithmeticOp, Rule};
use luisac_xir::text;

/// Floats that are edges of something, and some between.
const NUMBERS: [f64; 20] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.5,
    -2.5,
    3.0,
    1e-3,
    100.0,
    -7.25,
    0.99,
    -0.99,
    1e4,
    6e-8,
    65504.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

fn bytes(scalar: &str) -> Vec<u8> {
    let mut all = Vec::new();
    for number in NUMBERS {
        match scalar {
            "f16" => all.extend(half::f16::from_f64(number).to_le_bytes()),
            "f32" => all.extend((number as f32).to_le_bytes()),
            _ => all.extend(number.to_le_bytes()),
        }
    }
    all
}

/// A kernel that computes the operation on numbers of a buffer; its dimension, and the types of operands by position.
fn kernel(op: ArithmeticOp, scalar: &str, dim: u32) -> Option<String> {
    let ty = if dim == 1 { scalar.to_string() } else { format!("vector<{scalar}, {dim}>") };
    let (least, _) = op.arity();
    let result = match op.rule() {
        Rule::FloatReduce | Rule::Reduce if dim > 1 => scalar.to_string(),
        Rule::Cross | Rule::FloatVector if dim == 3 => ty.clone(),
        Rule::Float | Rule::Numeric | Rule::Lerp | Rule::Smoothstep | Rule::Step | Rule::PowInt => {
            ty.clone()
        }
        _ => return None,
    };
    let mut text = format!(
        "module;\nkernel @k block(20, 1, 1) (%0: resource buffer<{scalar}>, %1: resource buffer<{result}>) {{\nb0:\n  \
         %2: u32 = arithmetic extract dispatch_id, u32 0\n"
    );
    let mut next = 3;
    let mut operands = Vec::new();
    for operand in 0..least {
        let mut lanes = Vec::new();
        for lane in 0..dim {
            let shift = operand as u32 * 7 + lane * 3;
            text.push_str(&format!(
                "  %{next}: u32 = arithmetic binary_add %2, u32 {shift}\n  %{}: u32 = arithmetic binary_mod %{next}, u32 20\n  \
                 %{}: {scalar} = resource_read buffer_read %0, %{}\n",
                next + 1,
                next + 2,
                next + 1
            ));
            lanes.push(format!("%{}", next + 2));
            next += 3;
        }
        if op == ArithmeticOp::PowInt && operand == 1 {
            operands.push("i32 -3".to_string());
        } else if dim == 1 {
            operands.push(lanes[0].clone());
        } else {
            text.push_str(&format!(
                "  %{next}: {ty} = arithmetic aggregate {}\n",
                lanes.join(", ")
            ));
            operands.push(format!("%{next}"));
            next += 1;
        }
    }
    text.push_str(&format!(
        "  %{next}: {result} = arithmetic {} {}\n  resource_write buffer_write %1, %2, %{next}\n  return\n}}\n",
        op.name(),
        operands.join(", ")
    ));
    Some(text)
}

fn same(op: ArithmeticOp, scalar: &str, dim: u32, options: &str) -> bool {
    let Some(source) = kernel(op, scalar, dim) else { return false };
    let module = text::parse(&source).unwrap_or_else(|e| panic!("{e:?}\n{source}"));
    let args = [Arg::Buffer(bytes(scalar)), Arg::Buffer(vec![0; 20 * 8 * 4])];
    let pipeline = Pipeline::parse(&format!("outline_math{{{options}}}")).expect("a pipeline");
    let launch = Launch::new([20, 1, 1]);
    match judge::differs(&module, &pipeline, &args, &launch) {
        Ok(None) => true,
        Ok(Some(what)) => panic!("{} on {dim} of {scalar}: {what}", op.name()),
        Err(e) => panic!("{} on {dim} of {scalar}: {e}", op.name()),
    }
}

#[test]
fn calls_give_the_bits_of_the_operations() {
    let mut count = 0;
    for &op in ArithmeticOp::ALL {
        for scalar in ["f16", "f32", "f64"] {
            for dim in [1, 3] {
                count += usize::from(same(op, scalar, dim, "native=all"));
            }
        }
    }
    assert!(count > 200, "{count} kernels");
}

#[test]
fn native_operations_and_plain_ones_stay() {
    let source = kernel(ArithmeticOp::Sqrt, "f32", 1).expect("a kernel");
    let mut module = text::parse(&source).expect("a module");
    let pipeline = Pipeline::parse("outline_math{native=sqrt.f32}").expect("a pipeline");
    let report = pipeline.run(&mut module, luisac_passes::RunOptions::default()).expect("a run");
    assert!(report.succeeded());
    assert_eq!(text::print(&module).matches("call").count(), 0);
}

#[test]
fn structured_control_flow_stays_and_callables_are_shared() {
    let source = "module;
kernel @k block(20, 1, 1) (%0: resource buffer<f32>) {
b0:
  %1: u32 = arithmetic extract dispatch_id, u32 0
  %2: f32 = resource_read buffer_read %0, %1
  %3: bool = arithmetic binary_less %2, f32 0.5
  if %3, then b1, else b2, merge b3
b1:
  %4: f32 = arithmetic sin %2
  resource_write buffer_write %0, %1, %4
  br b3
b2:
  %5: f32 = arithmetic sin %2
  %6: f32 = arithmetic sin %5
  resource_write buffer_write %0, %1, %6
  br b3
b3:
  return
}
";
    let module = text::parse(source).expect("a module");
    let args = [Arg::Buffer(bytes("f32"))];
    let pipeline = Pipeline::parse("outline_math").expect("a pipeline");
    let launch = Launch::new([20, 1, 1]);
    assert_eq!(judge::differs(&module, &pipeline, &args, &launch), Ok(None));
    let mut after = module.clone();
    pipeline.run(&mut after, luisac_passes::RunOptions::default()).expect("a run");
    let printed = text::print(&after);
    assert_eq!(printed.matches("callable @").count(), 1, "{printed}");
    assert_eq!(printed.matches("call @sin_float(").count(), 3, "{printed}");
    assert!(printed.contains("if %3, then"), "{printed}");
}

#[test]
fn what_needs_guards_is_kept_apart() {
    let source = "module;
kernel @k block(20, 1, 1) (%0: resource buffer<f32>, %1: resource buffer<vector<i32, 2>>) {
b0:
  %2: u32 = arithmetic extract dispatch_id, u32 0
  %3: f32 = resource_read buffer_read %0, %2
  %4: f32 = resource_read buffer_read %0, u32 3
  %5: f32 = arithmetic min %3, %4
  %6: i32 = cast static_cast %5
  %7: i32 = cast static_cast %2
  %8: i32 = arithmetic binary_sub %7, i32 4
  %9: i32 = arithmetic binary_div %6, %8
  %10: i32 = arithmetic binary_mod %6, i32 3
  %11: vector<i32, 2> = arithmetic aggregate %9, %10
  %12: vector<i32, 2> = arithmetic aggregate %8, %8
  %13: vector<i32, 2> = arithmetic binary_mod %11, %12
  resource_write buffer_write %1, %2, %13
  return
}
";
    let module = text::parse(source).expect("a module");
    let args = [Arg::Buffer(bytes("f32")), Arg::Buffer(vec![0; 20 * 8])];
    let launch = Launch::new([20, 1, 1]);
    for passes in ["outline_math{guards=true}", "outline_math{guards=true},lower_edge_cases"] {
        let pipeline = Pipeline::parse(passes).expect("a pipeline");
        assert_eq!(judge::differs(&module, &pipeline, &args, &launch), Ok(None));
    }
    let pipeline = Pipeline::parse("outline_math{guards=true}").expect("a pipeline");
    let mut after = module.clone();
    pipeline.run(&mut after, luisac_passes::RunOptions::default()).expect("a run");
    let printed = text::print(&after);
    for call in ["@min_float(", "@int_from_float(", "@div_int(", "@mod_int2(", "@mod_int("] {
        assert!(printed.contains(&format!("call {call}")), "{call}: {printed}");
    }
    // A divisor that is known stays in place.
    assert!(
        printed.contains("arithmetic binary_mod %6, i32 3") || printed.contains(", i32 3\n"),
        "{printed}"
    );
}
