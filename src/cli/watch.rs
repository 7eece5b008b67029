//! The flags that look at the passes while they run: `--print-after`, `--time-passes`, `--report`.

use super::messages::Messages;
use super::{output, report};
use luisac::codes;
use luisac_ast::diagnostic::Diagnostic;
use luisac_passes::{Emitted, Recorder, Report, Run, TraceSource};
use luisac_xir::{Module, text};
use std::path::Path;

/// What was asked for.
#[derive(Clone, Copy, Default)]
pub struct Flags<'a> {
    pub print_after: Option<&'a str>,
    pub time_passes: bool,
    pub report: Option<&'a Path>,
}

/// The kinds of report.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Table,
    Json,
    Html,
}

impl Kind {
    fn of(path: &Path) -> Result<Kind, Diagnostic> {
        match path.extension().and_then(|e| e.to_str()) {
            _ if path == Path::new("-") => Ok(Kind::Table),
            Some("json") => Ok(Kind::Json),
            Some("html") => Ok(Kind::Html),
            _ => Err(Diagnostic::error(
                codes::BAD_REPORT,
                format!("`{}` is no kind of report", path.display()),
            )
            .with_help(
                "use a path that ends in `.json` or `.html`, or `-` for a table on standard error",
            )),
        }
    }
}

/// Sees the passes run, and shows or writes what was asked for at the end.
pub struct Watcher<'a> {
    flags: Flags<'a>,
    kind: Option<Kind>,
    recorder: Option<Recorder>,
}

impl<'a> Watcher<'a> {
    /// Begins before the first pass.
    ///
    /// # Errors
    /// A report of no kind there is.
    pub fn new(flags: Flags<'a>, module: &Module) -> Result<Watcher<'a>, Diagnostic> {
        let kind = flags.report.map(Kind::of).transpose()?;
        let records = matches!(kind, Some(Kind::Json | Kind::Html));
        Ok(Watcher { flags, kind, recorder: records.then(|| Recorder::new(module)) })
    }

    /// Whether the report shows code, so that what is emitted belongs into it.
    pub fn records(&self) -> bool {
        self.recorder.is_some()
    }

    /// After a run of a pass.
    pub fn see(&mut self, run: &Run, module: &Module) {
        if self.flags.print_after.is_some_and(|wanted| wanted == "all" || wanted == run.name) {
            eprintln!("// after {}\n{}", run.name, text::print(module));
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.note(run, module);
        }
    }

    /// Shows times and writes the report of the program called `title`.
    ///
    /// # Errors
    /// The report cannot be written.
    pub fn finish(
        self,
        messages: &Messages,
        title: &str,
        mut passes: Report,
        (source, emitted): (Option<TraceSource>, Vec<Emitted>),
    ) -> Result<(), Diagnostic> {
        if self.flags.time_passes {
            messages.note(times(&passes));
        }
        passes.trace = self.recorder.map(|r| {
            let mut trace = r.finish();
            (trace.source, trace.emitted) = (source, emitted);
            trace
        });
        let (Some(kind), Some(path)) = (self.kind, self.flags.report) else { return Ok(()) };
        match kind {
            Kind::Table => {
                eprint!("{}", report::table(&passes));
                Ok(())
            }
            Kind::Json => output::write(path, &serde_json::to_vec(&passes).unwrap_or_default()),
            Kind::Html => {
                output::write(path, luisac::report::html(title, &[(title, &passes)]).as_bytes())
            }
        }
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
