//! Prints a kernel of the JSON form as XIR after a pipeline: `show FILE [PIPELINE]`.
use luisac_passes::{Pipeline, RunOptions};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let bytes = std::fs::read(&args[1]).expect("the file can be read");
    let library = luisac_ast::json::read(&bytes).expect("the file is a kernel");
    let mut module =
        luisac_xir::from_ast::lower_all(&library, &Default::default()).expect("it can be lowered");
    if let Some(text) = args.get(2) {
        let pipeline = Pipeline::parse(text).unwrap_or_else(|e| panic!("{e}"));
        let report =
            pipeline.run(&mut module, RunOptions::default()).unwrap_or_else(|e| panic!("{e}"));
        for run in report.flat() {
            eprintln!(
                "{:30} {:8.3} ms {:8} -> {:8} {:?}",
                run.name,
                run.elapsed_ms,
                run.instructions_before,
                run.instructions_after,
                run.counters
            );
        }
    }
    println!("{}", luisac_xir::text::print(&module));
}
