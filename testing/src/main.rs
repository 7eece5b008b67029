//! The commands behind `cargo xtask diff` and `cargo xtask bench ladders`.

mod commands;

use std::process::ExitCode;

const USAGE: &str = "\
usage: luisac-testing diff [--kernels N] [--seed S] [--seconds T] [--jobs J] [--single | --rows R | --pipelines P] [--out DIR]
       luisac-testing diff --seed S --passes PIPELINE     one kernel, printed, through one pipeline
       luisac-testing ladders [--max SIZE] [--ladder NAME] [--start lowered|ssa] [--pass NAME] [--jobs N | --rows true]
       luisac-testing ladders --pipeline TEXT [--max SIZE] [--ladder NAME]       its speed on the largest size";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let outcome = match args.next().as_deref() {
        Some("diff") => commands::diff::run(args),
        Some("ladders") => commands::ladders::run(args),
        _ => Err(USAGE.into()),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}
