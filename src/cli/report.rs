//! `luisac report`: reads pass reports and shows them, one alone or two side by side.

use super::messages::{Failure, Messages, print};
use super::options::{ReportAction, ReportCommand};
use luisac::codes;
use luisac_ast::diagnostic::Diagnostic;
use luisac_passes::{Report, ReportDiff, Run, RunDiff};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Shows what was asked for on standard output, or writes the page.
pub fn run(command: &ReportCommand, messages: &Messages) -> Result<(), Failure> {
    let text = match &command.action {
        ReportAction::Show { report, json } => read(report).map(|report| match json {
            true => to_json(&report),
            false => table(&report),
        }),
        ReportAction::Html { report, output } => {
            return page(&[report], output).map_err(|d| messages.fail(d, None));
        }
        ReportAction::Diff { first, second, html: Some(output), .. } => {
            return page(&[first, second], output).map_err(|d| messages.fail(d, None));
        }
        ReportAction::Diff { first, second, json, html: None } => {
            read(first).and_then(|a| Ok(a.diff(&read(second)?))).map(|diff| match json {
                true => to_json(&diff),
                false => diff_table(&diff),
            })
        }
    };
    let text = text.map_err(|d| messages.fail(d, None))?;
    print(text.as_bytes()).map_err(|_| Failure::Input)
}

/// Writes one or two reports as a page.
fn page(paths: &[&PathBuf], output: &Path) -> Result<(), Diagnostic> {
    let reports: Vec<Report> = paths.iter().map(|path| read(path)).collect::<Result<_, _>>()?;
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    let named: Vec<(&str, &Report)> =
        names.iter().map(String::as_str).zip(reports.iter()).collect();
    let page = luisac::report::html(&names.join(" and "), &named);
    super::output::write(output, page.as_bytes())
}

fn to_json(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

fn read(path: &Path) -> Result<Report, Diagnostic> {
    let wrong = |what: String| {
        let message = format!("`{}` cannot be read as a report: {what}", path.display());
        Diagnostic::error(codes::NOT_A_REPORT, message).with_help(
            "give a file that `luisac compile` or `luisac opt` wrote with `--report FILE.json`",
        )
    };
    let bytes = std::fs::read(path).map_err(|e| wrong(e.to_string()))?;
    serde_json::from_slice(&bytes).map_err(|e| wrong(e.to_string()))
}

/// A report as a table, a line a pass.
pub fn table(report: &Report) -> String {
    let mut text = format!(
        "{:<28} {:>9} {:>9} {:>9} {:>7} {:>7} {:>9}  counters\n",
        "pass", "ms", "insts", "after", "blocks", "after", "KiB"
    );
    for run in report.flat() {
        text.push_str(&row(run));
    }
    let _ = writeln!(text, "{:<28} {:>9.3}", "total", report.elapsed_ms());
    text
}

fn row(run: &Run) -> String {
    let counters: Vec<String> = run.counters.iter().map(|(k, v)| format!("{k}={v}")).collect();
    format!(
        "{:<28} {:>9.3} {:>9} {:>9} {:>7} {:>7} {:>9}  {}\n",
        run.name,
        run.elapsed_ms,
        run.instructions_before,
        run.instructions_after,
        run.blocks_before,
        run.blocks_after,
        run.memory_after / 1024,
        if run.changed { counters.join(" ") } else { "no change".into() }
    )
}

/// Two reports as a table: a line for each pass that differs in more than its time, then the totals.
fn diff_table(diff: &ReportDiff) -> String {
    let mut text = String::new();
    for (name, pipeline) in ["first", "second"].iter().zip(&diff.pipelines) {
        let _ = writeln!(text, "{name:<8} {pipeline}");
    }
    let _ = writeln!(
        text,
        "\n{:<28} {:>9} {:>9} {:>9} {:>9} {:>7} {:>7}  counters",
        "pass", "ms", "ms", "insts", "insts", "blocks", "blocks"
    );
    for run in diff.runs.iter().filter(|run| run.differs()) {
        text.push_str(&diff_row(run));
    }
    let same = diff.runs.iter().filter(|run| !run.differs()).count();
    let _ = writeln!(text, "{same} passes that differ in time only are left out");
    let [a, b] = diff.elapsed_ms;
    let ([i, j], [k, l]) = (diff.instructions.map(shown), diff.blocks.map(shown));
    let _ = writeln!(text, "{:<28} {a:>9.3} {b:>9.3} {i:>9} {j:>9} {k:>7} {l:>7}", "total");
    text
}

fn diff_row(run: &RunDiff) -> String {
    let [a, b] = run.elapsed_ms.map(|ms| ms.map_or("-".to_string(), |ms| format!("{ms:.3}")));
    let ([i, j], [k, l]) = (run.instructions_after.map(shown), run.blocks_after.map(shown));
    let counters =
        run.counters.iter().map(|(name, [x, y])| format!("{name}={}->{}", shown(*x), shown(*y)));
    let counters: Vec<String> = counters.collect();
    let name = if run.nth == 1 { run.name.clone() } else { format!("{} #{}", run.name, run.nth) };
    format!("{name:<28} {a:>9} {b:>9} {i:>9} {j:>9} {k:>7} {l:>7}  {}\n", counters.join(" "))
}

fn shown(number: Option<u64>) -> String {
    number.map_or("-".into(), |n| n.to_string())
}
