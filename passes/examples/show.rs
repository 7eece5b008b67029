//! Prints a kernel, in JSON or as XIR text, after a pipeline: `show FILE [PIPELINE]`; what each pass did goes to standard error.
use luisac_passes::{Pipeline, RunOptions};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let text = std::fs::read(&args[1]).expect("the file can be read");
    let mut module = if luisac_xir::text::looks_like_text(&text) {
        luisac_xir::text::parse(&String::from_utf8_lossy(&text)).unwrap_or_else(|e| panic!("{e}"))
    } else {
        let library = luisac_ast::json::read(&text).expect("the file is a kernel");
        luisac_xir::from_ast::lower_all(&library, &Default::default()).expect("it can be lowered")
    };
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
