//! `lower_bounds`: what the interpreter does under a mode of its own, the lowered kernel does without one.

use crate::transforms::testing::{parse, transform};
use luisac_xir::interp::{self, Arg, Bounds, Fault, Launch, Outcome, PixelStorage};

/// A kernel over `%0`, a buffer of `element`; `%1`, an index of type `index`; `%2`, the buffer that results go to. `body` sees
/// the index and gives `%9`, a value of type `result`.
fn source(element: &str, index: &str, result: &str, body: &str) -> String {
    format!(
        "module;\nkernel @k block(1, 1, 1) (%0: resource buffer<{element}>, %1: value {index}, %2: resource buffer<{result}>) \
         {{\nb0:\n{body}\nresource_write buffer_write %2, u32 0, %9\nreturn\n}}\n"
    )
}

fn run(source: &str, args: &[Arg], bounds: Bounds) -> (Vec<Arg>, Result<Outcome, Box<Fault>>) {
    let module = parse(source);
    let mut args = args.to_vec();
    let kernel = module.kernels().next().expect("a kernel");
    let launch = Launch { bounds, ..Launch::new([1, 1, 1]) };
    let outcome = interp::run(&module, kernel, &mut args, &launch);
    (args, outcome)
}

/// The edges of an index type, as its bytes.
fn indices(bits: u32) -> Vec<Vec<u8>> {
    let edges = [0, 1, 2, 3, 4, 5, 7, 8, 9, 100, u64::MAX, u64::MAX - 1, 1 << (bits - 1)];
    edges.iter().map(|e: &u64| e.to_le_bytes()[..bits as usize / 8].to_vec()).collect()
}

/// Runs `body` on buffers of 0 to 24 bytes and every index, under both modes.
#[track_caller]
fn same(element: &str, body: &str, result: &str, result_size: usize) {
    for (index, bits) in
        [("i8", 8), ("u16", 16), ("i32", 32), ("u32", 32), ("i64", 64), ("u64", 64)]
    {
        let source = source(element, index, result, body);
        let clamped = transform("lower_bounds", &source).0;
        let tested = transform("lower_bounds{mode=trap}", &source).0;
        for size in [0, 1, 3, 4, 8, 12, 16, 24] {
            for at in indices(bits) {
                let data: Vec<u8> = (1..=size).collect();
                let args =
                    [Arg::Buffer(data), Arg::Value(at.clone()), Arg::Buffer(vec![9; result_size])];
                let (want, outcome) = run(&source, &args, Bounds::Clamp);
                let (got, lowered) = run(&clamped, &args, Bounds::Off);
                assert!(outcome.is_ok(), "{:?}", outcome.err());
                assert!(
                    lowered.is_ok(),
                    "{index} {at:?} of {size}: {:?}\n{clamped}",
                    lowered.err()
                );
                assert_eq!(want, got, "{index} {at:?} of {size} bytes\n{clamped}");

                let (want, outcome) = run(&source, &args, Bounds::Trap);
                let (got, lowered) = run(&tested, &args, Bounds::Off);
                assert_eq!(outcome.is_ok(), lowered.is_ok(), "{index} {at:?} of {size}\n{tested}");
                if outcome.is_ok() {
                    assert_eq!(want, got);
                }
            }
        }
    }
}

#[test]
fn buffers() {
    same("u32", "%9: u32 = resource_read buffer_read %0, %1", "u32", 4);
    same(
        "vector<f32, 2>",
        "%9: vector<f32, 2> = resource_read buffer_read %0, %1",
        "vector<f32, 2>",
        8,
    );
    let write =
        "resource_write buffer_write %0, %1, u16 7\n%9: u32 = arithmetic binary_add u32 1, u32 2";
    same("u16", write, "u32", 4);
    same("u32", "%9: u32 = atomic fetch_add %0, %1, u32 5", "u32", 4);
}

#[test]
fn bytes() {
    for (body, result, size) in [
        ("%9: u8 = resource_read byte_buffer_read %0, %1", "u8", 1),
        (
            "resource_write byte_buffer_write %0, %1, u8 7\n%9: u8 = arithmetic binary_add u8 1, u8 2",
            "u8",
            1,
        ),
    ] {
        same("void", body, result, size);
    }
    let aligned = "%3: u32 = arithmetic binary_bit_and %1, u32 4294967288
        %9: vector<f32, 2> = resource_read byte_buffer_read %0, %3";
    let module = source("void", "u32", "vector<f32, 2>", aligned);
    let lowered = transform("lower_bounds", &module).0;
    for size in [0, 4, 7, 8, 12, 20] {
        for at in indices(32) {
            let args = [Arg::Buffer((1..=size).collect()), Arg::Value(at), Arg::Buffer(vec![0; 8])];
            let (want, _) = run(&module, &args, Bounds::Clamp);
            assert_eq!(want, run(&lowered, &args, Bounds::Off).0, "{size} bytes");
        }
    }
}

#[test]
fn arrays() {
    let body = "%3: array<u32, 3> = alloca local
        %4: u32 = gep %3, u32 1
        store %4, u32 30
        %5: u32 = gep %3, %1
        store %5, u32 40
        %6: array<u32, 3> = load %3
        %7: array<u32, 3> = arithmetic insert %6, u32 5, %1
        %8: u32 = arithmetic extract %7, %1
        %10: u32 = arithmetic extract %6, %1
        %9: u32 = arithmetic binary_add %8, %10";
    same("u32", body, "u32", 4);
    let nested = "%3: array<array<u32, 2>, 2> = alloca local
        %4: u32 = gep %3, %1, %1
        store %4, u32 7
        %5: u32 = gep %3, u32 1, u32 1
        %9: u32 = load %5";
    same("u32", nested, "u32", 4);
}

/// A trap names the argument and the whole index.
#[test]
fn reports() {
    let body = "%9: u32 = resource_read buffer_read %0, %1";
    let lines = |index: &str, bytes: &[u8]| {
        // The printed line is lost with the fault: print without the assertion.
        let lowered = transform("lower_bounds{mode=trap}", &source("u32", index, "u32", body)).0;
        let kept: Vec<&str> = lowered.lines().filter(|l| !l.contains("assert")).collect();
        let args = [Arg::Buffer(vec![0; 8]), Arg::Value(bytes.to_vec()), Arg::Buffer(vec![0; 4])];
        run(&kept.join("\n"), &args, Bounds::Clamp).1.expect("a run").lines
    };
    let line = |low: u32, high: u32| {
        vec![format!("out of bounds of argument 0: index {low} + {high} * 2^32")]
    };
    assert_eq!(lines("u32", &2u32.to_le_bytes()), line(2, 0));
    assert_eq!(lines("i32", &(-3i32).to_le_bytes()), line(-3i32 as u32, u32::MAX));
    assert_eq!(lines("i8", &[0x80]), line(-128i32 as u32, u32::MAX));
    assert_eq!(lines("u64", &(5u64 << 32 | 1).to_le_bytes()), line(1, 5));
    assert!(lines("u32", &1u32.to_le_bytes()).is_empty());
}

/// Accesses in loops, in both kinds of control flow, with phis and without.
#[test]
fn loops() {
    let body = "%3: u32 = alloca local
        simple_loop body b1, merge b4
        b1:
        %4: u32 = load %3
        %5: u32 = resource_read buffer_read %0, %4
        %6: u32 = resource_read buffer_read %2, u32 0
        %7: u32 = arithmetic binary_add %5, %6
        resource_write buffer_write %2, u32 0, %7
        %8: u32 = arithmetic binary_add %4, u32 1
        store %3, %8
        %10: bool = arithmetic binary_greater %8, u32 6
        if %10, then b2, else b3, merge b3
        b2:
        break b4
        b3:
        continue b1
        b4:
        %9: u32 = resource_read buffer_read %2, u32 0";
    let source = source("u32", "u32", "u32", body);
    for pipeline in [
        "lower_bounds",
        "mem2reg,lower_bounds",
        "destructure_cfg,lower_bounds",
        "destructure_cfg,mem2reg,lower_bounds",
        "destructure_cfg,simplify_cfg,lower_bounds,simplify_cfg,mem2reg",
    ] {
        let lowered = transform(pipeline, &source).0;
        for size in [0, 4, 8, 12, 40] {
            let args =
                [Arg::Buffer(vec![3; size]), Arg::Value(vec![0; 4]), Arg::Buffer(vec![0; 4])];
            let (want, _) = run(&source, &args, Bounds::Clamp);
            assert_eq!(want, run(&lowered, &args, Bounds::Off).0, "{pipeline} {size}\n{lowered}");
        }
    }
}

/// Texels outside read zero and drop writes, whatever the mode.
#[test]
fn texels() {
    let source = "module;\nkernel @k block(1, 1, 1) (%0: resource texture2d<f32>, %1: value vector<u32, 2>, %2: resource buffer<vector<f32, 4>>) {
        b0:
        %3: vector<f32, 4> = resource_read texture2d_read %0, %1
        resource_write buffer_write %2, u32 0, %3
        resource_write texture2d_write %0, %1, %3
        return
        }\n";
    let lowered = transform("lower_bounds{mode=off}", source).0;
    assert!(lowered.contains("texture2d_size") && lowered.contains("if "));
    let unchanged = transform("lower_bounds{mode=off,images=false}", source).0;
    assert!(!unchanged.contains("texture2d_size"));
    for at in [[0u32, 0], [1, 2], [2, 0], [0, 3], [u32::MAX, 0]] {
        let storage = PixelStorage::from_name("float1").expect("a storage");
        let data: Vec<u8> = (0..24).collect();
        let image = Arg::Image { storage, width: 2, height: 3, depth: 1, levels: 1, data };
        let at: Vec<u8> = at.iter().flat_map(|c| c.to_le_bytes()).collect();
        let args = [image, Arg::Value(at), Arg::Buffer(vec![9; 16])];
        assert_eq!(run(source, &args, Bounds::Off).0, run(&lowered, &args, Bounds::Off).0);
    }
}

/// Levels that are not there read zero too.
#[test]
fn texels_of_levels() {
    let source = "module;\nkernel @k block(1, 1, 1) (%0: resource texture2d<f32>, %1: value vector<u32, 2>, %2: resource buffer<vector<f32, 4>>, %3: value u32) {
        b0:
        %4: vector<f32, 4> = resource_read texture2d_read_level %0, %1, %3
        resource_write buffer_write %2, u32 0, %4
        return
        }\n";
    let lowered = transform("lower_bounds{mode=off}", source).0;
    for (at, level) in [([1u32, 2], 0u32), ([0, 0], 1), ([1, 0], 1), ([0, 0], 2), ([0, 0], 40)] {
        let storage = PixelStorage::from_name("float1").expect("a storage");
        // 2 * 3 texels, then 1 * 1.
        let data: Vec<u8> = (0..28).collect();
        let image = Arg::Image { storage, width: 2, height: 3, depth: 1, levels: 2, data };
        let at: Vec<u8> = at.iter().flat_map(|c| c.to_le_bytes()).collect();
        let level = Arg::Value(level.to_le_bytes().to_vec());
        let args = [image, Arg::Value(at), Arg::Buffer(vec![9; 16]), level];
        assert_eq!(run(source, &args, Bounds::Off).0, run(&lowered, &args, Bounds::Off).0);
    }
}
