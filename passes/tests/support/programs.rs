//! Kernels with a scope, as text.
#![allow(dead_code)]

use luisac_xir::{Module, text};

/// Variables `%1`, `%2`: f32; `%3`, `%4`: vector<f32, 3>; `%5`, `%6`: matrix<f32, 2>, all read from the buffer and marked, and
/// loaded as `%41` to `%46`; `%7`: f32 is the seeded result, `%8`: i32 and `%9`: i32 are free, `%10` is the thread. `body` starts
/// in `b1` and ends where the seed is to follow.
pub fn scope(body: &str) -> String {
    let mut lines = String::new();
    for (n, ty) in [
        (1, "f32"),
        (2, "f32"),
        (3, "vector<f32, 3>"),
        (4, "vector<f32, 3>"),
        (5, "matrix<f32, 2>"),
        (6, "matrix<f32, 2>"),
        (7, "f32"),
        (8, "i32"),
        (9, "i32"),
    ] {
        lines += &format!("%{n}: {ty} = alloca local\n");
    }
    lines += "%10: u32 = arithmetic extract dispatch_id, u32 0\n";
    lines += "%11: u32 = arithmetic binary_mul %10, u32 16\n";
    for n in 0..16 {
        lines += &format!("%{}: u32 = arithmetic binary_add %11, u32 {n}\n", 200 + n);
        lines += &format!("%{}: f32 = resource_read buffer_read %0, %{}\n", 300 + n, 200 + n);
    }
    lines += "store %1, %300\nstore %2, %301\n";
    lines += "%320: vector<f32, 3> = arithmetic aggregate %302, %303, %304\nstore %3, %320\n";
    lines += "%321: vector<f32, 3> = arithmetic aggregate %305, %306, %307\nstore %4, %321\n";
    for (matrix, at) in [(5, 308), (6, 312)] {
        let n = 322 + 3 * (matrix - 5);
        lines += &format!("%{n}: vector<f32, 2> = arithmetic aggregate %{at}, %{}\n", at + 1);
        lines += &format!(
            "%{}: vector<f32, 2> = arithmetic aggregate %{}, %{}\n",
            n + 1,
            at + 2,
            at + 3
        );
        lines += &format!(
            "%{}: matrix<f32, 2> = arithmetic aggregate %{n}, %{}\nstore %{matrix}, %{}\n",
            n + 2,
            n + 1,
            n + 2
        );
    }
    lines += "autodiff_scope entry b1, merge b99\nb1:\n";
    for n in 1..7 {
        lines += &format!("autodiff requires_gradient %{n}\n");
    }
    for (n, ty) in [
        (1, "f32"),
        (2, "f32"),
        (3, "vector<f32, 3>"),
        (4, "vector<f32, 3>"),
        (5, "matrix<f32, 2>"),
        (6, "matrix<f32, 2>"),
    ] {
        lines += &format!("%{}: {ty} = load %{n}\n", 40 + n);
    }
    lines += body;
    lines += "\nautodiff gradient_marker %7, f32 1.0\nautodiff backward\nbr b99\nb99:\nreturn\n";
    format!("kernel @k block(1, 1, 1) (%0: resource buffer<f32>) {{\nb0:\n{lines}}}\n")
}

/// A module of callables and the kernel with this scope.
#[track_caller]
pub fn module(callables: &str, body: &str) -> Module {
    let text = format!("module;\n\n{callables}\n{}", scope(body));
    text::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// The scope that takes the gradient of a weighted sum of the components of `%50`, which one operation gives.
pub fn operation(ty: &str, op: &str) -> String {
    let weights = "%60: f32 = arithmetic unary_minus f32 0.75\n";
    let sum = match ty {
        "f32" => "%70: f32 = arithmetic binary_mul %50, f32 1.5\n".to_string(),
        "vector<f32, 3>" => "%61: vector<f32, 3> = arithmetic aggregate f32 0.5, %60, f32 1.25\n\
             %70: f32 = arithmetic dot %50, %61\n"
            .to_string(),
        "vector<f32, 2>" => "%61: vector<f32, 2> = arithmetic aggregate f32 0.5, %60\n\
             %70: f32 = arithmetic dot %50, %61\n"
            .to_string(),
        _ => "%61: vector<f32, 2> = arithmetic aggregate f32 0.5, %60\n\
             %62: vector<f32, 2> = arithmetic extract %50, u32 0\n\
             %63: vector<f32, 2> = arithmetic extract %50, u32 1\n\
             %64: f32 = arithmetic dot %61, %62\n\
             %65: f32 = arithmetic reduce_sum %63\n\
             %70: f32 = arithmetic binary_add %64, %65\n"
            .to_string(),
    };
    format!("%50: {ty} = arithmetic {op}\n{weights}{sum}store %7, %70")
}
