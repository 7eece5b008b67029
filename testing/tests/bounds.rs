//! Under `--bounds trap` an index out of range ends the kernel whatever passes ran before, also where nothing needs what it names.

use luisac_passes::registry::PASSES;
use luisac_passes::{CANS, Form, Pipeline, RunOptions};
use luisac_testing::diff;
use luisac_xir::interp::{self, Arg, Bounds, Launch};
use luisac_xir::{Module, text};

/// Instructions with the index `%1`, whose results nothing uses.
const ACCESSES: &[&str] = &[
    "%9: f32 = resource_read buffer_read %0, %1",
    "%9: f32 = resource_read byte_buffer_read %4, %1",
    "%5: vector<f32, 4> = arithmetic aggregate %3, %3, %3, f32 1.0\n%9: f32 = arithmetic extract %5, %1",
    "%5: vector<f32, 4> = arithmetic aggregate %3, %3, %3, f32 1.0\n%9: vector<f32, 4> = arithmetic insert %5, f32 2.0, %1",
    "%5: array<f32, 4> = alloca local\n%6: f32 = gep %5, %1\n%9: f32 = load %6",
    "%5: array<f32, 4> = alloca local\n%6: f32 = gep %5, %1\nstore %6, %3",
    "%5: array<vector<f32, 2>, 4> = alloca local\n%6: vector<f32, 2> = gep %5, %1\n%9: vector<f32, 2> = load %6",
];

fn kernel(access: &str, structured: bool) -> Module {
    let (open, close) = match structured {
        true => ("if %2, then b1, else b2, merge b3\nb1:\n", "br b3\nb2:\nbr b3\nb3:\n"),
        false => ("cond_br %2, b1, b3\nb1:\n", "br b3\nb3:\n"),
    };
    let source = format!(
        "module;\nkernel @k block(1, 1, 1) (%0: resource buffer<f32>, %1: value u32, %2: value bool, %3: value f32, \
         %4: resource buffer<void>) {{\nb0:\n{open}{access}\n{close}resource_write buffer_write %0, u32 0, %3\nreturn\n}}\n"
    );
    text::parse(&source).unwrap_or_else(|e| panic!("{e}\n{source}"))
}

/// Whether the run ends by a report: of the interpreter, or of the instructions that `lower_bounds` made.
fn traps(module: &Module, index: u32, taken: bool) -> bool {
    let args = [
        Arg::Buffer(vec![0; 16]),
        Arg::Value(index.to_le_bytes().to_vec()),
        Arg::Value(vec![taken.into()]),
        Arg::Value(1.0f32.to_le_bytes().to_vec()),
        Arg::Buffer(vec![0; 16]),
    ];
    let kernel = module.kernels().next().expect("the kernel is there");
    let launch = Launch { bounds: Bounds::Trap, ..Launch::new([1, 1, 1]) };
    match interp::run(module, kernel, &mut args.to_vec(), &launch) {
        Ok(_) => false,
        Err(fault) => {
            let codes = [interp::codes::OUT_OF_RANGE, interp::codes::ASSERTION_FAILED];
            assert!(codes.contains(&fault.code()), "{fault}");
            true
        }
    }
}

fn keeps_traps(module: &Module, mut pipeline: Pipeline) -> Result<(), String> {
    pipeline.set_option("trapping_bounds", "true");
    pipeline.set_option("checked_bounds", "true");
    pipeline.set_option("mode", "trap");
    if pipeline.check(Form::of(module)).is_err() {
        return Ok(());
    }
    let mut after = module.clone();
    let options = RunOptions { verify_each: true, ..RunOptions::default() };
    pipeline.run(&mut after, options).map_err(|e| e.to_string())?;
    for (index, taken, expected) in
        [(100, true, true), (100, false, false), (u32::MAX, true, true), (0, true, false)]
    {
        if traps(&after, index, taken) != expected {
            let what = if expected { "does not trap" } else { "traps" };
            return Err(format!(
                "`{pipeline}` {what} at {index}, {taken}\n{}",
                text::print(&after)
            ));
        }
    }
    Ok(())
}

#[test]
fn no_pass_drops_a_trap_or_makes_one() {
    let mut wrong = Vec::new();
    for (access, structured) in ACCESSES.iter().flat_map(|a| [(a, true), (a, false)]) {
        let module = kernel(access, structured);
        let form = Form::of(&module);
        let single = PASSES.iter().filter_map(|p| diff::alone(form, p));
        let mut pipelines: Vec<Pipeline> = single.map(|steps| Pipeline { steps }).collect();
        for (can, _) in CANS {
            pipelines.push(Pipeline::parse(&format!("@{can}")).expect("canned pipelines parse"));
        }
        wrong.extend(pipelines.into_iter().filter_map(|p| keeps_traps(&module, p).err()));
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}
