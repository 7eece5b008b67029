//! DXC's messages as diagnostics of ours.

use luisac_ast::diagnostic::Diagnostic;

use super::dxc::SOURCE_NAME;
use crate::errors;

/// An error of DXC, taken apart: `kernel.hlsl:12:5: error: text`.
#[derive(Debug, PartialEq, Eq)]
struct Complaint<'a> {
    place: Place<'a>,
    message: &'a str,
}

/// What an error is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place<'a> {
    /// The whole, as the validator says.
    Whole,
    /// A line of the text, from 1.
    Line(usize),
    /// A file and line that a directive of the text names.
    Source(&'a str, usize),
}

/// More errors than these are not told: the first ones say it.
const MOST: usize = 4;

/// Characters of a line that are shown.
const WIDTH: usize = 160;

/// One diagnostic for all that DXC said about the text of a kernel: the first error, and the others as notes.
pub fn diagnostic(said: &str, text: &str, kernel: &str) -> Diagnostic {
    let complaints = complaints(said);
    let first = complaints.first().map_or_else(|| "it does not say why".into(), |c| c.shown(text));
    let message = format!("DXC refuses the HLSL of the kernel: {first}");
    let diagnostic = Diagnostic::error(errors::DXC_REFUSED, message)
        .in_function(kernel)
        .with_help("`--target hlsl` writes the text that DXC was given");
    let more = complaints.iter().skip(1).take(MOST - 1);
    more.fold(diagnostic, |d, complaint| d.with_note(complaint.shown(text)))
}

impl Complaint<'_> {
    /// The message with the line that it is about.
    fn shown(&self, text: &str) -> String {
        let line = |line: usize| Some((line, text.lines().nth(line.checked_sub(1)?)?));
        match self.place {
            Place::Source(file, line) => format!("{} ({file}:{line})", self.message),
            Place::Line(number) if let Some((line, source)) = line(number) => {
                let source: String = source.trim().chars().take(WIDTH).collect();
                format!("{} (line {line} of the HLSL: `{source}`)", self.message)
            }
            _ => self.message.to_owned(),
        }
    }
}

/// The errors among the lines of a message, or all lines where none is marked as an error. Warnings and the lines of source
/// that DXC shows are left out.
fn complaints(said: &str) -> Vec<Complaint<'_>> {
    let lines = || said.lines().map(|l| l.trim_matches(['\0', ' '])).filter(|l| !l.is_empty());
    let mut marked: Vec<Complaint> = lines().filter_map(error).collect();
    // The validator's headline says nothing by itself.
    if marked.len() > 1 {
        marked.retain(|c| !matches!(c.message, "validation errors" | "Validation failed."));
    }
    if !marked.is_empty() {
        return marked;
    }
    lines().map(|message| Complaint { place: Place::Whole, message }).collect()
}

fn error(line: &str) -> Option<Complaint<'_>> {
    const MARKS: [&str; 2] = ["fatal error: ", "error: "];
    let (start, mark) = MARKS.iter().find_map(|m| Some((line.find(m)?, *m)))?;
    let message = &line[start + mark.len()..];
    Some(Complaint { place: place(&line[..start]), message })
}

/// The place of `FILE:LINE:COLUMN: `, from behind, since names of files may hold colons.
fn place(text: &str) -> Place<'_> {
    let mut parts = text.trim_end_matches([':', ' ']).rsplitn(3, ':');
    let (_, line, file) = (parts.next(), parts.next(), parts.next());
    match (file, line.and_then(|l| l.parse().ok())) {
        (Some(SOURCE_NAME), Some(line)) => Place::Line(line),
        (Some(file), Some(line)) => Place::Source(file, line),
        _ => Place::Whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_with_their_lines() {
        let said = "warning: something\nkernel.hlsl:2:3: error: use of undeclared identifier 'x'\n  x = 1;\n  ^\n\
                    error: validation errors\n\0";
        let d = diagnostic(said, "void main() {\n  x = 1;\n}\n", "k");
        assert_eq!(
            d.message,
            "DXC refuses the HLSL of the kernel: use of undeclared identifier 'x' (line 2 of the HLSL: `x = 1;`)"
        );
        assert_eq!(d.notes, [""; 0]);
        assert!(
            diagnostic("error: validation errors", "", "k").message.ends_with("validation errors")
        );
        assert_eq!(d.function.as_deref(), Some("k"));
    }

    #[test]
    fn lines_of_other_files_are_told_by_name() {
        let said = "a:b.ast:7:3: error: no\nerror: validation errors\n";
        let d = diagnostic(said, "x\n", "k");
        assert!(d.message.ends_with(": no (a:b.ast:7)"), "{}", d.message);
    }

    #[test]
    fn what_is_not_marked_is_told_whole() {
        let d = diagnostic("out of luck\n", "", "k");
        assert!(d.message.ends_with(": out of luck"), "{}", d.message);
        assert!(diagnostic("", "", "k").message.ends_with("it does not say why"));
        let beyond = diagnostic("kernel.hlsl:99:1: fatal error: gone", "one\n", "k");
        assert!(beyond.message.ends_with(": gone"), "{}", beyond.message);
        assert!(
            diagnostic("kernel.hlsl:0:1: error: gone", "one\n", "k").message.ends_with(": gone")
        );
    }
}
