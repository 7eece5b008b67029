//! Kernels with barriers, at both levels of optimisation, with a function for each region and with one for all.

use luisac_runtime::host::{Arg, Device};
use luisac_xir::text;

use super::emit;
use super::split::Growth;
use crate::{EmitOptions, OptLevel};

/// Runs a kernel of two `buffer<u32>`, input and output, over `threads` in each way; the output.
#[track_caller]
fn run(kernel: &str, threads: u32, input: &[u32], expected: &[u32]) {
    let module = text::parse(kernel).unwrap_or_else(|e| panic!("{e}"));
    let problems = luisac_xir::verify::verify(&module);
    assert!(problems.is_ok(), "{problems:?}");
    let id = module.kernels().next().unwrap();
    let detail = super::Detail::parse(None).unwrap().name;
    for level in [OptLevel::O0, OptLevel::O2] {
        for growth in [Growth::default(), Growth { times: 0, free: 0 }] {
            let mut options = EmitOptions::new(detail);
            options.opt_level = level;
            let artifact = emit(&module, id, &options, growth).unwrap_or_else(|e| panic!("{e}"));
            artifact.metadata.check().unwrap();
            let device = Device::cpu_with_threads(1);
            // SAFETY: the object was just made, and the kernels stay inside their buffers.
            let loaded = unsafe { device.load(&artifact.code, artifact.metadata).unwrap() };
            let bytes: Vec<u8> = input.iter().flat_map(|v| v.to_le_bytes()).collect();
            let from = device.buffer_from(&bytes).unwrap();
            let to = device.buffer(4 * expected.len()).unwrap();
            let mut launch = loaded.bind(&[Arg::Buffer(&from), Arg::Buffer(&to)]).unwrap();
            launch.dispatch([threads, 1, 1]).unwrap();
            let got: Vec<u32> = to
                .to_vec()
                .chunks_exact(4)
                .map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]))
                .collect();
            assert_eq!(got, expected, "{level:?}, {growth:?}");
        }
    }
}

#[test]
fn a_barrier_in_a_loop() {
    let kernel = "module;
kernel @sums block(64, 1, 1) (%0: resource buffer<u32>, %1: resource buffer<u32>) {
b0:
  %2: array<u32, 64> = alloca shared
  %3: u32 = arithmetic extract thread_id, u32 0
  %4: u32 = arithmetic extract dispatch_id, u32 0
  %5: u32 = resource_read buffer_read %0, %4
  %6: u32 = gep %2, %3
  store %6, %5
  thread_group synchronize_block
  br b1
b1:
  %7: u32 = phi (u32 32, b0), (%8, b4)
  %9: bool = arithmetic binary_greater %7, u32 0
  cond_br %9, b2, b5
b2:
  %10: bool = arithmetic binary_less %3, %7
  cond_br %10, b3, b4
b3:
  %11: u32 = arithmetic binary_add %3, %7
  %12: u32 = gep %2, %11
  %13: u32 = load %12
  %14: u32 = load %6
  %15: u32 = arithmetic binary_add %13, %14
  store %6, %15
  br b4
b4:
  thread_group synchronize_block
  %8: u32 = arithmetic binary_shift_right %7, u32 1
  br b1
b5:
  %16: bool = arithmetic binary_equal %3, u32 0
  cond_br %16, b6, b7
b6:
  %17: u32 = arithmetic extract block_id, u32 0
  %18: u32 = load %6
  resource_write buffer_write %1, %17, %18
  br b7
b7:
  return
}
";
    let input: Vec<u32> = (0..256).map(|i| i * i % 97).collect();
    let expected: Vec<u32> = input.chunks(64).map(|c| c.iter().sum()).collect();
    run(kernel, 256, &input, &expected);
}

#[test]
fn values_and_variables_live_across_barriers() {
    // Each thread keeps a value that it read, a small array and a large one, while a neighbour's value comes through shared memory;
    // odd threads from 8 on end before the second barrier, and the last block is not full.
    let kernel = "module;
kernel @keeps block(16, 1, 1) (%0: resource buffer<u32>, %1: resource buffer<u32>) {
b0:
  %2: array<u32, 16> = alloca shared
  %3: array<u32, 4> = alloca local
  %4: array<u32, 400> = alloca local
  %5: u32 = arithmetic extract thread_id, u32 0
  %6: u32 = arithmetic extract dispatch_id, u32 0
  %7: u32 = resource_read buffer_read %0, %6
  %8: u32 = arithmetic binary_bit_and %7, u32 3
  %9: u32 = gep %3, %8
  store %9, %7
  %10: u32 = arithmetic binary_add %8, u32 300
  %11: u32 = gep %4, %10
  store %11, u32 1000
  %12: u32 = gep %2, %5
  store %12, u32 0
  thread_group synchronize_block
  store %12, %7
  %13: u32 = arithmetic binary_bit_and %5, u32 9
  %14: bool = arithmetic binary_equal %13, u32 9
  cond_br %14, b1, b2
b1:
  resource_write buffer_write %1, %6, u32 7
  return
b2:
  thread_group synchronize_block
  %15: u32 = arithmetic binary_bit_xor %5, u32 1
  %16: u32 = gep %2, %15
  %17: u32 = load %16
  %18: u32 = load %9
  %19: u32 = load %11
  %20: u32 = gep %4, u32 299
  %21: u32 = load %20
  %22: u32 = arithmetic binary_add %17, %18
  %23: u32 = arithmetic binary_add %22, %19
  %24: u32 = arithmetic binary_add %23, %21
  %25: u32 = arithmetic binary_mul %24, %7
  resource_write buffer_write %1, %6, %25
  return
}
";
    let input: Vec<u32> = (0..40).map(|i| i * 7 + 3).collect();
    let value = |i: usize| if i < 40 { input[i] } else { 0 };
    // Threads beyond the dispatch size leave zero where they would have stored: here none is asked for one.
    let expected: Vec<u32> = (0..40)
        .map(|i| {
            let t = i % 16;
            if t & 9 == 9 { 7 } else { (value(i ^ 1) + value(i) + 1000).wrapping_mul(value(i)) }
        })
        .collect();
    run(kernel, 40, &input, &expected);
}

#[test]
fn barriers_in_uniform_branches_and_inner_loops() {
    // By the block's number, one of two arms with barriers of their own, in a loop that carries two values; an inner loop without
    // barriers adds up between them.
    let kernel = "module;
kernel @shapes block(8, 1, 1) (%0: resource buffer<u32>, %1: resource buffer<u32>) {
b0:
  %2: array<u32, 8> = alloca shared
  %3: u32 = arithmetic extract thread_id, u32 0
  %4: u32 = arithmetic extract dispatch_id, u32 0
  %5: u32 = arithmetic extract block_id, u32 0
  %6: u32 = resource_read buffer_read %0, %4
  br b1
b1:
  %7: u32 = phi (u32 0, b0), (%8, b8)
  %9: u32 = phi (%6, b0), (%10, b8)
  %11: u32 = gep %2, %3
  store %11, %9
  thread_group synchronize_block
  %12: u32 = arithmetic binary_add %7, %5
  %13: u32 = arithmetic binary_bit_and %12, u32 1
  %14: bool = arithmetic binary_equal %13, u32 0
  cond_br %14, b2, b5
b2:
  br b3
b3:
  %15: u32 = phi (u32 0, b2), (%16, b3)
  %17: u32 = phi (u32 0, b2), (%18, b3)
  %19: u32 = gep %2, %15
  %20: u32 = load %19
  %18: u32 = arithmetic binary_add %17, %20
  %16: u32 = arithmetic binary_add %15, u32 1
  %21: bool = arithmetic binary_less %16, u32 8
  cond_br %21, b3, b4
b4:
  thread_group synchronize_block
  br b8
b5:
  %22: u32 = arithmetic binary_add %3, u32 1
  %23: u32 = arithmetic binary_bit_and %22, u32 7
  %24: u32 = gep %2, %23
  %25: u32 = load %24
  thread_group synchronize_block
  store %11, %25
  thread_group synchronize_block
  %26: u32 = load %11
  %27: u32 = arithmetic binary_add %26, %9
  br b8
b8:
  %28: u32 = phi (%18, b4), (%27, b5)
  %10: u32 = arithmetic binary_add %28, %7
  %8: u32 = arithmetic binary_add %7, u32 1
  thread_group synchronize_block
  %29: bool = arithmetic binary_less %8, u32 5
  cond_br %29, b1, b9
b9:
  resource_write buffer_write %1, %4, %10
  return
}
";
    let input: Vec<u32> = (0..32).map(|i| i * 31 % 17).collect();
    let mut expected = Vec::new();
    for (b, block) in input.chunks(8).enumerate() {
        let mut v = block.to_vec();
        for i in 0..5u32 {
            v = if (i + b as u32) & 1 == 0 {
                vec![v.iter().fold(0u32, |a, x| a.wrapping_add(*x)).wrapping_add(i); 8]
            } else {
                (0..8).map(|t| v[(t + 1) & 7].wrapping_add(v[t]).wrapping_add(i)).collect()
            };
        }
        expected.extend(v);
    }
    run(kernel, 32, &input, &expected);
}

#[test]
fn threads_of_one_region_become_lanes() {
    let kernel = "module;
kernel @doubles block(256, 1, 1) (%0: resource buffer<u32>, %1: resource buffer<u32>) {
b0:
  %2: u32 = arithmetic extract dispatch_id, u32 0
  %3: u32 = resource_read buffer_read %0, %2
  %4: u32 = arithmetic binary_add %3, %3
  resource_write buffer_write %1, %2, %4
  return
}
";
    let module = text::parse(kernel).unwrap();
    let mut options = EmitOptions::new("x86-64-v3");
    options.llvm_ir = true;
    let artifact =
        emit(&module, module.kernels().next().unwrap(), &options, Growth::default()).unwrap();
    let ir = &artifact.texts[0].text;
    assert!(ir.contains("<8 x i32>"), "{ir}");
    run(kernel, 300, &(0..300).collect::<Vec<_>>(), &(0..300).map(|i| 2 * i).collect::<Vec<_>>());
}

#[test]
fn many_barriers() {
    // Each step takes a neighbour's number; every tenth number is needed again at the end.
    let mut kernel = String::from(
        "module;
kernel @steps block(4, 1, 1) (%0: resource buffer<u32>, %1: resource buffer<u32>) {
b0:
  %2: array<u32, 4> = alloca shared
  %3: u32 = arithmetic extract thread_id, u32 0
  %4: u32 = gep %2, %3
  %5: u32 = arithmetic binary_add %3, u32 1
  %6: u32 = arithmetic binary_bit_and %5, u32 3
  %7: u32 = gep %2, %6
  %8: u32 = resource_read buffer_read %0, %3
",
    );
    let (steps, mut last, mut next) = (60u32, 8, 9);
    let mut remembered = Vec::new();
    for i in 0..steps {
        kernel += &format!(
            "  store %4, %{last}\n  thread_group synchronize_block\n  %{next}: u32 = load %7\n  thread_group synchronize_block\n  %{}: u32 = arithmetic binary_add %{next}, u32 {i}\n",
            next + 1
        );
        last = next + 1;
        next += 2;
        if i % 10 == 0 && i < 50 {
            remembered.push(last);
        }
    }
    for r in remembered {
        kernel += &format!("  %{next}: u32 = arithmetic binary_add %{last}, %{r}\n");
        last = next;
        next += 1;
    }
    kernel += &format!("  resource_write buffer_write %1, %3, %{last}\n  return\n}}\n");
    let input = [3u32, 10, 200, 4000];
    let mut v = input.to_vec();
    let mut sum = [0u32; 4];
    for i in 0..steps {
        v = (0..4).map(|t| v[(t + 1) & 3].wrapping_add(i)).collect();
        if i % 10 == 0 && i < 50 {
            sum = std::array::from_fn(|t| sum[t].wrapping_add(v[t]));
        }
    }
    let expected: Vec<u32> = (0..4).map(|t| v[t].wrapping_add(sum[t])).collect();
    run(&kernel, 4, &input, &expected);
}
