//! Turns diagnostics into pictures (miette) or JSON lines.

use luisac_ast::diagnostic::{Diagnostic, Severity};
use luisac_ast::{json, lint};
use miette::{
    GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError, MietteSpanContents,
    SourceCode, SourceSpan, SpanContents,
};
use std::fmt;

/// The text that diagnostics point into.
#[derive(Clone, Copy)]
pub struct SourceText<'a> {
    /// As the user named it.
    pub name: &'a str,
    /// Its bytes; may be anything.
    pub bytes: &'a [u8],
}

impl SourceText<'_> {
    /// Whether there are no lines that could be shown.
    pub(super) fn is_binary(&self) -> bool {
        let head = &self.bytes[..self.bytes.len().min(512)];
        json::detect(self.bytes) == json::InputKind::BinaryLibrary || head.contains(&0)
    }
}

/// One picture of a diagnostic, with the source lines where the place is known.
pub fn picture(diagnostic: &Diagnostic, source: Option<SourceText>, color: bool) -> String {
    let window = source.map(|s| Window::around(s, place(diagnostic, s)));
    let clean = |text: &Option<String>| text.as_deref().map(harmless);
    let diagnostic = &Diagnostic {
        message: harmless(&diagnostic.message),
        help: clean(&diagnostic.help),
        pointer: clean(&diagnostic.pointer),
        function: clean(&diagnostic.function),
        notes: diagnostic.notes.iter().map(|note| harmless(note)).collect(),
        ..diagnostic.clone()
    };
    let report = Report { diagnostic, window };
    let theme = if color { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let mut out = String::new();
    let rendered = GraphicalReportHandler::new_themed(theme)
        .with_links(false)
        .with_width(140)
        .render_report(&mut out, &report);
    match rendered {
        Ok(()) => out,
        Err(_) => format!("{diagnostic}\n"),
    }
}

/// One JSON object without a newline.
pub fn json_line(diagnostic: &Diagnostic, source: Option<SourceText>) -> String {
    let range = source.and_then(|s| place(diagnostic, s));
    let lines = source.filter(|s| !s.is_binary());
    let position = lines.zip(range.clone()).map(|(s, r)| line_and_column(s.bytes, r.start));
    serde_json::json!({
        "code": diagnostic.code.to_string(),
        "severity": match diagnostic.severity { Severity::Error => "error", Severity::Warning => "warning" },
        "lint": lint::by_code(diagnostic.code).map(|lint| lint.name),
        "message": diagnostic.message,
        "help": diagnostic.help,
        "input": source.map(|s| s.name),
        "pointer": diagnostic.pointer,
        "offset": range.map(|r| r.start),
        "line": position.map(|p| p.0),
        "column": position.map(|p| p.1),
        "function": diagnostic.function,
        "notes": diagnostic.notes,
    })
    .to_string()
}

/// The bytes that a diagnostic is about.
pub(super) fn place(diagnostic: &Diagnostic, source: SourceText) -> Option<std::ops::Range<usize>> {
    let length = source.bytes.len();
    match (diagnostic.offset, &diagnostic.pointer) {
        (Some(offset), _) => {
            let start = offset.min(length.saturating_sub(1));
            Some(start..(start + 1).min(length))
        }
        (None, Some(pointer)) => Some(json::find(source.bytes, pointer)).filter(|r| !r.is_empty()),
        (None, None) => None,
    }
}

/// Line and column, from 1; the column counts bytes.
pub(super) fn line_and_column(bytes: &[u8], offset: usize) -> (usize, usize) {
    let before = &bytes[..offset.min(bytes.len())];
    let line = before.iter().filter(|&&b| b == b'\n').count() + 1;
    let start = before.iter().rposition(|&b| b == b'\n').map_or(0, |i| i + 1);
    (line, offset - start + 1)
}

/// Bytes shown on each side of a place at most, so that a file of one long line does not fill the terminal.
const REACH: usize = 160;

/// A few lines of a source around a place.
struct Window {
    name: String,
    text: String,
    line: usize,
    column: usize,
    span: Option<SourceSpan>,
    /// Bytes around the place, where there are no lines.
    dump: Option<String>,
}

impl Window {
    /// Names the source only.
    fn without_text(source: SourceText, dump: Option<String>) -> Window {
        let name = harmless(source.name);
        Window { name, text: String::new(), line: 0, column: 0, span: None, dump }
    }

    fn around(source: SourceText, range: Option<std::ops::Range<usize>>) -> Window {
        let Some(range) = range else { return Window::without_text(source, None) };
        if source.is_binary() {
            return Window::without_text(source, Some(dump(source.bytes, range.start)));
        }
        let bytes = source.bytes;
        let start = context_start(bytes, range.start);
        let end = context_end(bytes, range.start);
        let head = shown(&bytes[start..range.start]);
        let marked = &bytes[range.start..range.end.min(end).max(range.start)];
        let marked = marked.split(|b| *b == b'\n').next().unwrap_or_default();
        let rest = (range.start + marked.len()).min(end);
        let (marked, tail) = (shown(marked), shown(&bytes[rest..end]));
        let (line, column) = line_and_column(bytes, start);
        let span = SourceSpan::from((head.len(), marked.len().max(1)));
        let text = format!("{head}{marked}{tail}");
        Window {
            name: harmless(source.name),
            text,
            line: line - 1,
            column: column - 1,
            span: Some(span),
            dump: None,
        }
    }
}

/// A text as it may go to a terminal: what would steer that is replaced.
pub fn harmless(text: &str) -> String {
    let steers = |c: char| c.is_control() && c != '\n' && c != '\t';
    text.replace(steers, "\u{fffd}")
}

fn shown(bytes: &[u8]) -> String {
    harmless(&String::from_utf8_lossy(bytes))
}

/// The row of sixteen bytes that an offset lies in, as numbers and as text.
fn dump(bytes: &[u8], offset: usize) -> String {
    let start = offset / 16 * 16;
    let row = &bytes[start.min(bytes.len())..(start + 16).min(bytes.len())];
    let numbers: Vec<String> = row.iter().map(|b| format!("{b:02x}")).collect();
    let text: String =
        row.iter().map(|b| if b.is_ascii_graphic() { char::from(*b) } else { '.' }).collect();
    format!("at byte {offset}; from {start:#x} on: {}  {text}", numbers.join(" "))
}

/// Start of the line before the one of `at`, not further back than the reach.
fn context_start(bytes: &[u8], at: usize) -> usize {
    let limit = at.saturating_sub(REACH);
    let mut lines = 0;
    for i in (limit..at).rev() {
        if bytes[i] == b'\n' {
            lines += 1;
            if lines == 3 {
                return i + 1;
            }
        }
    }
    limit
}

/// End of the line after the one of `at`, not further than the reach.
fn context_end(bytes: &[u8], at: usize) -> usize {
    let limit = (at + REACH).min(bytes.len());
    let mut lines = 0;
    for (i, &byte) in bytes.iter().enumerate().take(limit).skip(at) {
        if byte == b'\n' {
            lines += 1;
            if lines == 2 {
                return i;
            }
        }
    }
    limit
}

impl SourceCode for Window {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let inner = self.text.read_span(span, before, after)?;
        let first = inner.line() == 0;
        Ok(Box::new(MietteSpanContents::new_named(
            self.name.clone(),
            inner.data(),
            *inner.span(),
            inner.line() + self.line,
            inner.column() + if first { self.column } else { 0 },
            inner.line_count(),
        )))
    }
}

struct Report<'a> {
    diagnostic: &'a Diagnostic,
    window: Option<Window>,
}

impl fmt::Debug for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.diagnostic, f)
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(window) = self.window.as_ref().filter(|w| w.span.is_none()) {
            write!(f, "{}: ", window.name)?;
        }
        f.write_str(&self.diagnostic.message)
    }
}

impl std::error::Error for Report<'_> {}

impl miette::Diagnostic for Report<'_> {
    fn code<'b>(&'b self) -> Option<Box<dyn fmt::Display + 'b>> {
        Some(Box::new(self.diagnostic.code))
    }
    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.diagnostic.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
        })
    }
    fn help<'b>(&'b self) -> Option<Box<dyn fmt::Display + 'b>> {
        let mut lines = Vec::new();
        if let Some(function) = &self.diagnostic.function {
            lines.push(format!("in {function}"));
        }
        if let Some(pointer) = self.diagnostic.pointer.as_ref().filter(|p| !p.is_empty()) {
            lines.push(format!("at {pointer}"));
        }
        lines.extend(self.window.as_ref().and_then(|w| w.dump.clone()));
        lines.extend(self.diagnostic.notes.iter().cloned());
        lines.extend(self.diagnostic.help.clone());
        (!lines.is_empty()).then(|| Box::new(lines.join("\n")) as Box<dyn fmt::Display>)
    }
    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.window.as_ref().filter(|w| w.span.is_some()).map(|w| w as &dyn SourceCode)
    }
    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let span = self.window.as_ref()?.span?;
        Some(Box::new(std::iter::once(LabeledSpan::new_with_span(None, span))))
    }
}
