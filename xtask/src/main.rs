//! `cargo xtask`: everything around the compiler. Depends on nothing, so that it builds in seconds on a bare machine.

mod bench;
mod corpus;
mod demo;
mod diff;
mod docs;
mod dxil;
mod fixtures;
mod lavapipe;
#[path = "../../tests/msl/text.rs"]
mod metal;
mod perf;
mod run;
mod setup;
mod test;
mod validators;
mod verify;

use std::process::ExitCode;

const HELP: &str = "\
usage: cargo xtask COMMAND

  setup    install what building and testing need, saying what and why; does nothing if all is there
           `setup dxil` builds what lets tests run DXIL, which takes minutes
  demo     set up, build, compile fixtures/mandelbrot.json to PTX and a CPU object, run it, write out/mandelbrot.png
  test     set up, run every test
  fixtures write the kernels of fixtures/ anew, with their pages and cases
  corpus   read, compile and validate every kernel under ../shared/corpus (or the folder given), print a table by target;
           --write puts the counts of refusals into docs/support.md, --luisac names another program than the release build
  verify   recorded kernels on every device here, a table of kernels by target; -v for all rows, flags of `luisac verify` behind --
  docs     write the pages that come from the code: docs/passes.md, docs/support.md
  diff     random kernels through passes, pairs of passes and pipelines, against the interpreter: --kernels N --seed S
  perf     the kernels of ../shared/corpus/perf on this CPU, against the C beside them
  bench    measure whole-process times: start-up, saxpy, the largest kernel of the corpus; bench ladders: passes on growing kernels;
           `bench bake` bakes a thousand kernels for three targets: cold, unchanged, one touched;
           `bench shading` takes one growing kernel to SPIR-V, HLSL, MSL, WGSL and DXIL, beside naga, slangc and dxc;
           `bench read` measures reading and checking of inputs up to 1.8 GB, or up to the number of bytes given
";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let command = args.next().unwrap_or_default();
    let rest: Vec<String> = args.collect();
    let done = match command.as_str() {
        "setup" if rest.first().is_some_and(|what| what == "dxil") => dxil::setup(),
        "setup" => setup::setup(setup::For::Tests),
        "demo" => demo::demo(),
        "test" => test::test(&rest),
        "fixtures" => fixtures::fixtures(),
        "corpus" => corpus::corpus(&rest),
        "verify" => verify::verify(&rest),
        "docs" => docs::docs(),
        "diff" => diff::diff(&rest),
        "perf" => perf::perf(&rest),
        "bench" => bench::bench(&rest),
        "" | "help" | "-h" | "--help" => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        other => {
            eprint!("error: there is no command `{other}`\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::FAILURE
        }
    }
}
