//! Times the passes on synthetic functions that each load one of them: `ladders [SIZE]`.
//!
//! Each function is built at half the size and at the full size; the quotient of the times should be near two.

use luisac_passes::{Pipeline, RunOptions};
use luisac_xir::{Module, text};
use std::fmt::Write;

const HEAD: &str = "kernel @k block(64, 1, 1) (%0: resource buffer<f32>, %1: value u32, %2: value bool, %3: value f32) {\n";

/// Straight-line arithmetic on vectors with wave operations between.
fn straight(n: usize) -> String {
    let mut s = format!("module;\n{HEAD}b0:\n  %4: f32 = arithmetic binary_add %3, f32 1.0\n");
    for i in 5..n {
        let _ = writeln!(s, "  %{i}: f32 = arithmetic binary_mul %{}, %3", i - 1);
    }
    let _ = writeln!(s, "  resource_write buffer_write %0, u32 0, %{}\n  return\n}}", n - 1);
    s
}

/// `if`s in `if`s, each with a variable of its own and one that all write.
fn nested_ifs(n: usize) -> String {
    let mut s = format!("module;\n{HEAD}b0:\n  %4: f32 = alloca local\n");
    for i in 0..n {
        let _ = writeln!(s, "  %{}: f32 = alloca local", 5 + i);
    }
    s.push_str("  br b1\n");
    let mut value = 5 + n;
    for i in 1..=n {
        let merge = 2 * n + 2 - i;
        let _ = writeln!(
            s,
            "b{i}:\n  %{value}: f32 = load %4\n  store %{}, %{value}\n  if %2, then b{}, else b{}, merge b{merge}",
            4 + i,
            i + 1,
            2 * n + 2 + i
        );
        value += 1;
    }
    let _ = writeln!(s, "b{}:\n  store %4, %3\n  br b{}", n + 1, n + 2);
    for i in (1..=n).rev() {
        let merge = 2 * n + 2 - i;
        let _ = writeln!(s, "b{}:\n  store %4, f32 2.0\n  br b{merge}", 2 * n + 2 + i);
        let _ = writeln!(
            s,
            "b{merge}:\n  %{value}: f32 = load %{}\n  resource_write buffer_write %0, %1, %{value}",
            4 + i
        );
        value += 1;
        if i > 1 {
            let _ = writeln!(s, "  br b{}", merge + 1);
        }
    }
    s.push_str("  return\n}\n");
    s
}

/// One `switch` whose cases each write a variable.
fn wide_switch(n: usize) -> String {
    let mut s =
        format!("module;\n{HEAD}b0:\n  %4: f32 = alloca local\n  switch %1, default b{}", n + 1);
    for i in 1..=n {
        let _ = write!(s, ", case {i} b{i}");
    }
    let _ = writeln!(s, ", merge b{}", n + 2);
    for i in 1..=n {
        let _ = writeln!(s, "b{i}:\n  store %4, f32 {i}.5\n  br b{}", n + 2);
    }
    let _ = writeln!(
        s,
        "b{}:\n  br b{}\nb{}:\n  %5: f32 = load %4\n  resource_write buffer_write %0, u32 0, %5\n  return\n}}",
        n + 1,
        n + 2,
        n + 2
    );
    s
}

/// Callables that each call the next.
fn call_chain(n: usize) -> String {
    let mut s =
        String::from("module;\ncallable @f0(%0: value f32) -> f32 {\nb0:\n  return %0\n}\n");
    for i in 1..n {
        let _ = writeln!(
            s,
            "callable @f{i}(%0: value f32) -> f32 {{\nb0:\n  %1: f32 = call @f{}(%0)\n  %2: f32 = arithmetic binary_add %1, %0\n  return %2\n}}",
            i - 1
        );
    }
    let _ = writeln!(
        s,
        "{HEAD}b0:\n  %4: f32 = call @f{}(%3)\n  resource_write buffer_write %0, u32 0, %4\n  return\n}}",
        n - 1
    );
    s
}

/// One callable of several blocks, called again and again in one block.
fn many_calls(n: usize) -> String {
    let mut s = String::from(
        "module;\ncallable @f(%0: value f32) -> f32 {\nb0:\n  %1: bool = arithmetic binary_less %0, f32 1.0\n  if %1, then b1, else b2, merge b3\nb1:\n  return f32 3.0\nb2:\n  br b3\nb3:\n  %2: f32 = arithmetic sin %0\n  return %2\n}\n",
    );
    s.push_str(HEAD);
    s.push_str("b0:\n");
    for i in 0..n {
        let _ = writeln!(s, "  %{}: f32 = call @f(%{})", 4 + i, 3 + i);
    }
    let _ = writeln!(s, "  resource_write buffer_write %0, u32 0, %{}\n  return\n}}", 3 + n);
    s
}

/// Exponents that are known at run time only: each is a loop.
fn loops_in_a_line(n: usize) -> String {
    let mut s = format!("module;\n{HEAD}b0:\n");
    for i in 0..n {
        let _ = writeln!(s, "  %{}: f32 = arithmetic pow_int %{}, %1", 4 + i, 3 + i);
    }
    let _ = writeln!(s, "  resource_write buffer_write %0, u32 0, %{}\n  return\n}}", 3 + n);
    s
}

/// Endless loops in endless loops, left from the innermost.
fn nested_loops(n: usize) -> String {
    let mut s = format!(
        "module;\n{HEAD}b0:\n  %4: f32 = alloca local\n  simple_loop body b1, merge b{}\n",
        2 * n
    );
    for i in 1..n {
        let _ = writeln!(
            s,
            "b{i}:\n  store %4, f32 {i}.5\n  simple_loop body b{}, merge b{}",
            i + 1,
            2 * n - i
        );
    }
    let _ = writeln!(s, "b{n}:\n  break b{}", n + 1);
    for m in n + 1..2 * n {
        let _ = writeln!(
            s,
            "b{m}:\n  %{}: f32 = load %4\n  resource_write buffer_write %0, %1, %{}\n  break b{}",
            m - n + 4,
            m - n + 4,
            m + 1
        );
    }
    let _ = writeln!(s, "b{}:\n  return\n}}", 2 * n);
    s
}

/// One sum of many equal and constant terms.
fn sums(n: usize) -> String {
    let mut s = format!("module;\n{HEAD}b0:\n");
    for i in 0..n {
        let term = if i % 2 == 0 { "%1".to_string() } else { format!("u32 {i}") };
        let _ = writeln!(
            s,
            "  %{}: u32 = arithmetic binary_add %{}, {term}",
            4 + i,
            if i == 0 { 1 } else { 3 + i }
        );
    }
    let _ = writeln!(s, "  resource_write buffer_write %0, %{}, %3\n  return\n}}", 3 + n);
    s
}

/// Quotients and remainders of one pair of operands, and conditions that each hold in the next block.
fn decided(n: usize) -> String {
    let mut s = format!("module;\n{HEAD}b0:\n  br b1\n");
    for i in 0..n {
        let v = 4 + 3 * i;
        let _ = writeln!(
            s,
            "b{}:\n  %{v}: u32 = arithmetic binary_div %1, u32 {}\n  %{}: u32 = arithmetic binary_mod %1, u32 {}\n  \
             %{}: bool = arithmetic binary_equal %{v}, %{}\n  cond_br %{}, b{}, b{}",
            i + 1,
            i + 3,
            v + 1,
            i + 3,
            v + 2,
            v + 1,
            v + 2,
            i + 2,
            n + 1
        );
    }
    let _ = writeln!(s, "b{}:\n  return\n}}", n + 1);
    s
}

/// Reads of a byte buffer side by side, put together to vectors.
fn bytes(n: usize) -> String {
    let mut s = String::from(
        "module;\nkernel @k block(64, 1, 1) (%0: resource buffer<void>, %1: resource buffer<vector<f32, 4>>) {\nb0:\n",
    );
    for i in 0..n {
        let v = 2 + 9 * i;
        for k in 0..4 {
            let _ = writeln!(
                s,
                "  %{}: f32 = resource_read byte_buffer_read %0, u32 {}",
                v + k,
                16 * i + 4 * k
            );
        }
        for k in 0..4 {
            let _ =
                writeln!(s, "  %{}: f32 = arithmetic binary_mul %{}, f32 2.0", v + 4 + k, v + k);
        }
        let _ = writeln!(
            s,
            "  %{}: vector<f32, 4> = arithmetic aggregate %{}, %{}, %{}, %{}",
            v + 8,
            v + 4,
            v + 5,
            v + 6,
            v + 7
        );
    }
    let _ =
        writeln!(s, "  resource_write buffer_write %1, u32 0, %{}\n  return\n}}", 2 + 9 * n - 1);
    s
}

fn time(source: &str, pipeline: &Pipeline) -> (f64, Vec<(String, f64)>) {
    let mut module: Module = text::parse(source).unwrap_or_else(|e| panic!("{e}"));
    let report = pipeline.run(&mut module, RunOptions::default()).unwrap_or_else(|e| panic!("{e}"));
    let passes = report.flat().iter().map(|r| (r.name.clone(), r.elapsed_ms)).collect();
    (report.elapsed_ms(), passes)
}

fn main() {
    let size: usize = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(20_000);
    let text = std::env::args().nth(2).unwrap_or("@O3-flat-scalar".into());
    let pipeline = Pipeline::parse(&text).unwrap_or_else(|e| panic!("{e}"));
    type Ladder = (&'static str, usize, fn(usize) -> String);
    let ladders: [Ladder; 10] = [
        ("straight", 10, straight),
        ("nested_ifs", 1, nested_ifs),
        ("wide_switch", 1, wide_switch),
        ("call_chain", 1, call_chain),
        ("many_calls", 1, many_calls),
        ("loops_in_a_line", 1, loops_in_a_line),
        ("nested_loops", 1, nested_loops),
        ("sums", 10, sums),
        ("decided", 1, decided),
        ("bytes", 1, bytes),
    ];
    for (name, factor, build) in ladders {
        let n = size * factor;
        let (half, _) = time(&build(n / 2), &pipeline);
        let (full, passes) = time(&build(n), &pipeline);
        println!("{name:16} {n:9} {full:10.1} ms, {:.1} times half the size", full / half);
        for (pass, ms) in passes.iter().filter(|(_, ms)| *ms > full / 8.0) {
            println!("    {pass:24} {ms:10.1} ms");
        }
    }
}
