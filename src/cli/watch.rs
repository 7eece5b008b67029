//! The flags that look at the passes while they run: `--print-after`, `--time-passes`, `--report`.

use super::messages::Messages;
use super::{output, report};
use luisac::codes;
use luisac_ast::diagnostic::Diagnostic;
use luisac_passes::Report;
use luisac_xir::{Module, text};
use std::path::Path;

/// Prints the module on standard error after the pass that was asked for.
pub fn printer(print_after: Option<&str>) -> impl FnMut(&str, &Module) {
    move |name, module| {
        if print_after.is_some_and(|wanted| wanted == "all" || wanted == name) {
            eprintln!("// after {name}\n{}", text::print(module));
        }
    }
}

/// Shows times and writes the report, as asked.
pub fn finish(
    messages: &Messages,
    passes: &Report,
    time_passes: bool,
    file: Option<&Path>,
) -> Result<(), Diagnostic> {
    if time_passes {
        messages.note(times(passes));
    }
    match file {
        None => Ok(()),
        Some(path) if path == Path::new("-") => {
            eprint!("{}", report::table(passes));
            Ok(())
        }
        Some(path) if path.extension().is_some_and(|e| e == "json") => {
            let json = serde_json::to_vec_pretty(passes).unwrap_or_default();
            output::write(path, &json)
        }
        Some(path) => Err(Diagnostic::error(
            codes::BAD_REPORT,
            format!("`{}` is no kind of report", path.display()),
        )
        .with_help("use a path that ends in `.json`, or `-` for a table on standard error")),
    }
}

fn times(report: &Report) -> String {
    let mut lines = vec!["      ms  pass".to_owned()];
    for run in report.flat() {
        lines.push(format!("{:8.3}  {}", run.elapsed_ms, run.name));
    }
    lines.push(format!("{:8.3}  total", report.elapsed_ms()));
    lines.join("\n")
}
