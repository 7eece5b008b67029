//! Measures the errors of the mathematical functions: the numbers of `docs/math.md`.
//!
//! `math_accuracy single [STRIDE [NAME...]]` runs every STRIDE-th single (1, the default: all) through the functions
//! of one argument where they are not constant, their argument or NaN, and every 61 times STRIDE-th elsewhere; and
//! 2^32 / STRIDE random pairs through those of two arguments. The reference are the doubles of the standard library.
//! `math_accuracy double < FILE` reads what `tools/math_vectors.py` writes.

use luisac_xir::math::{Accuracy, Function};
use std::io::BufRead;

#[path = "../tests/support/reference.rs"]
mod reference;
use reference::{Vector, fast_error, fast_unit, reference, single_error};

#[derive(Clone, Copy, Default)]
struct Worst {
    error: f64,
    a: f64,
    b: f64,
}

impl Worst {
    fn see(&mut self, error: f64, a: f64, b: f64) {
        if error > self.error || error.is_nan() && !self.error.is_nan() {
            *self = Worst { error, a, b };
        }
    }
}

/// How the function of a negative argument follows from that of the positive one: its sign, if bit for bit.
fn mirror(function: Function) -> Option<f32> {
    match function {
        Function::Cos | Function::Cosh => Some(1.0),
        Function::Sin | Function::Tan | Function::Asin | Function::Atan => Some(-1.0),
        Function::Sinh | Function::Tanh | Function::Asinh | Function::Atanh => Some(-1.0),
        _ => None,
    }
}

/// Magnitudes between which a function is more than a constant, its argument, or NaN: as powers of two, the end not
/// included.
fn busy(function: Function) -> (i32, i32) {
    match function {
        Function::Asin | Function::Atanh => (-13, 1),
        Function::Acos => (-26, 1),
        Function::Atan => (-13, 27),
        Function::Sinh | Function::Cosh | Function::Tanh => (-13, 8),
        Function::Exp | Function::Exp2 | Function::Exp10 => (-26, 9),
        Function::Sin | Function::Cos | Function::Tan | Function::Asinh => (-13, 128),
        Function::Acosh => (0, 128),
        // Two operations whose errors repeat with every factor of 4.
        Function::Rsqrt => (0, 2),
        _ => (-149, 128),
    }
}

/// Inputs handled at a time, and of one exponent.
const CHUNK: usize = 1024;
const BLOCK: u64 = 1 << 20;
/// Outside the busy range every so many inputs of those that the stride gives.
const QUIET: u64 = 61;

/// Worst errors under precise and fast over `part` of `parts` of the inputs. Where the function mirrors, negative
/// inputs are compared with their positive twins instead of the reference.
fn singles(function: Function, stride: u64, part: u64, parts: u64) -> [Worst; 2] {
    let mut worst = [Worst::default(); 2];
    let mut random = reference::Random::new(part);
    let (low, high) = busy(function);
    for block in (part..(1 << 32) / BLOCK).step_by(parts as usize) {
        let start = block * BLOCK;
        let exponent = ((start >> 23) & 0xff) as i32 - 127;
        let is_busy = (exponent >= low || low < -126) && exponent < high;
        let step = if is_busy || function.arity() == 2 { stride } else { stride * QUIET };
        see_block(function, start + part % stride, start + BLOCK, step, &mut random, &mut worst);
    }
    worst
}

/// The inputs from `i` to `end`, `step` apart.
fn see_block(
    function: Function,
    mut i: u64,
    end: u64,
    step: u64,
    random: &mut reference::Random,
    worst: &mut [Worst; 2],
) {
    let mirror = mirror(function);
    let accuracies = [Accuracy::Precise, Accuracy::Fast];
    while i < end {
        let (mut a, mut b) = ([0f32; CHUNK], [0f32; CHUNK]);
        for (a, b) in a.iter_mut().zip(&mut b) {
            // The last chunk ends in repetitions of the last input.
            let bits = i.min(end - 1) as u32;
            (*a, *b) = if function.arity() == 1 {
                (f32::from_bits(bits), 0.0)
            } else {
                random.pair(function)
            };
            i += step;
        }
        let mut got = [[0f32; CHUNK]; 2];
        let mut twins = got;
        for (k, accuracy) in accuracies.into_iter().enumerate() {
            function.singles(accuracy, &a, &b, &mut got[k]);
            if mirror.is_some() && a[0].is_sign_negative() {
                function.singles(accuracy, &a.map(|a| -a), &b, &mut twins[k]);
            }
        }
        for k in 0..CHUNK {
            let (a, b, precise, fast) = (a[k], b[k], got[0][k], got[1][k]);
            let errors = match mirror {
                Some(sign) if a.is_sign_negative() && twins[0][k].to_bits() != 0 => {
                    let same = (precise * sign).to_bits() == twins[0][k].to_bits();
                    let near = fast * sign == twins[1][k];
                    [
                        same || precise.is_nan() && twins[0][k].is_nan(),
                        near || fast.is_nan() && twins[1][k].is_nan(),
                    ]
                    .map(|same| if same { 0.0 } else { f64::INFINITY })
                }
                _ => {
                    let exact = reference(function, f64::from(a), f64::from(b));
                    // Most results are the rounded exact ones, whose error decides no maximum; fast ones that are the
                    // precise ones are not counted again.
                    let rounded = (exact as f32).to_bits();
                    let quiet = [precise.to_bits(), fast.to_bits()].map(|bits| bits == rounded);
                    [
                        if quiet[0] { 0.0 } else { single_error(precise, exact) },
                        if quiet[1] || fast.to_bits() == precise.to_bits() {
                            0.0
                        } else {
                            fast_error(function, a, b, fast, exact)
                        },
                    ]
                }
            };
            for (worst, error) in worst.iter_mut().zip(errors) {
                worst.see(error, f64::from(a), f64::from(b));
            }
        }
    }
}

fn measure_singles(stride: u64, names: &[String]) {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    for &function in Function::ALL {
        if !names.is_empty() && !names.iter().any(|name| name == function.name()) {
            continue;
        }
        let parts: Vec<[Worst; 2]> = std::thread::scope(|scope| {
            let handles: Vec<_> = (0..threads)
                .map(|part| scope.spawn(move || singles(function, stride, part, threads)))
                .collect();
            handles.into_iter().filter_map(|handle| handle.join().ok()).collect()
        });
        let mut worst = [Worst::default(); 2];
        for part in parts {
            for (worst, part) in worst.iter_mut().zip(part) {
                worst.see(part.error, part.a, part.b);
            }
        }
        let [precise, fast] = worst;
        println!(
            "{:6} precise {:.4} ulp at {:e} {:e}; fast {:.2e} {} at {:e} {:e}",
            function.name(),
            precise.error,
            precise.a,
            precise.b,
            fast.error,
            fast_unit(function),
            fast.a,
            fast.b
        );
    }
}

fn measure_doubles() {
    let mut worst = std::collections::BTreeMap::<Function, Worst>::new();
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        if let Some(vector) = Vector::parse(&line) {
            let got = vector.function.double(Accuracy::Precise, vector.a, vector.b);
            worst.entry(vector.function).or_default().see(vector.error(got), vector.a, vector.b);
        }
    }
    for (function, worst) in worst {
        println!(
            "{:6} precise {:.4} ulp at {:e} {:e}",
            function.name(),
            worst.error,
            worst.a,
            worst.b
        );
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("double") => measure_doubles(),
        Some("single") => {
            let stride = arguments.get(1).and_then(|text| text.parse().ok()).unwrap_or(1);
            measure_singles(stride, arguments.get(2..).unwrap_or_default());
        }
        _ => eprintln!("usage: math_accuracy single [STRIDE [NAME...]] | double < FILE"),
    }
}
