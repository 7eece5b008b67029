//! Lines of text in blocks of braces.

use std::fmt::Write;

/// Deepest indentation that is shown: text of deep nests grows with its lines only.
const DEEPEST: usize = 24;

/// A line, how deep it stands, and the line of the source that it is made of; 0 if of none.
struct Line {
    depth: usize,
    text: String,
    source: u32,
}

/// The body of a function.
#[derive(Default)]
pub struct Lines {
    lines: Vec<Line>,
    depth: usize,
    /// The line of the source that what follows is made of; 0 if of none.
    pub source: u32,
}

impl Lines {
    /// Lines that stand `depth` deep.
    pub fn at(depth: usize) -> Lines {
        Lines { lines: Vec::new(), depth, source: 0 }
    }

    /// Appends a line; its number.
    pub fn push(&mut self, text: impl Into<String>) -> usize {
        self.lines.push(Line { depth: self.depth, text: text.into(), source: self.source });
        self.lines.len() - 1
    }

    /// Appends a line and goes deeper; its number.
    pub fn open(&mut self, text: impl Into<String>) -> usize {
        let line = self.push(text);
        self.depth += 1;
        line
    }

    /// Comes back and appends a line.
    pub fn close(&mut self, text: impl Into<String>) {
        self.depth = self.depth.saturating_sub(1);
        self.push(text);
    }

    /// Comes back, appends a line, and goes deeper again; its number.
    pub fn reopen(&mut self, text: impl Into<String>) -> usize {
        self.depth = self.depth.saturating_sub(1);
        self.open(text)
    }

    /// Whether nothing follows a line.
    pub fn is_last(&self, line: usize) -> bool {
        line + 1 == self.lines.len()
    }

    /// Changes a line.
    pub fn set(&mut self, line: usize, text: impl Into<String>) {
        if let Some(line) = self.lines.get_mut(line) {
            line.text = text.into();
        }
    }

    /// Takes the last line back, which opened a block.
    pub fn unopen(&mut self) {
        self.lines.pop();
        self.depth = self.depth.saturating_sub(1);
    }

    /// Goes deeper without a line.
    pub fn deepen(&mut self) {
        self.depth += 1;
    }

    /// Whether the last line stands in no block of its own.
    pub fn ends_flat(&self) -> bool {
        self.lines.last().is_some_and(|l| l.depth == 1)
    }

    /// Appends everything to a text. With the name of the source's file, directives say which of its lines a line is made of; compilers
    /// count on from there.
    pub fn write(&self, out: &mut String, file: Option<&str>) {
        let file = file.map(quoted);
        let mut counted = 0;
        for line in &self.lines {
            if let Some(file) = file.as_ref().filter(|_| line.source != 0 && line.source != counted)
            {
                let _ = writeln!(out, "#line {} {file}", line.source);
                counted = line.source;
            }
            counted += u32::from(counted != 0);
            for _ in 0..line.depth.min(DEEPEST) {
                out.push_str("    ");
            }
            out.push_str(&line.text);
            out.push('\n');
        }
    }
}

/// A name as a string of C: no character of it ends the string or the line.
fn quoted(name: &str) -> String {
    let mut text = String::from("\"");
    for c in name.chars() {
        match c {
            // Two question marks could begin a trigraph.
            '"' | '\\' | '?' => text.extend(['\\', c]),
            c if c.is_control() => text.push('_'),
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_stand_where_counting_on_would_be_wrong() {
        let mut lines = Lines::at(1);
        for (source, text) in [(0, "a"), (3, "b"), (4, "c"), (4, "d"), (0, "e"), (6, "f"), (2, "g")]
        {
            lines.source = source;
            lines.push(text);
        }
        let mut out = String::new();
        lines.write(&mut out, Some("k.ast"));
        let expected = "    a\n#line 3 \"k.ast\"\n    b\n    c\n#line 4 \"k.ast\"\n    d\n    e\n    f\n#line 2 \"k.ast\"\n    g\n";
        assert_eq!(out, expected);
        out.clear();
        lines.write(&mut out, None);
        assert!(!out.contains('#'), "{out}");
    }

    #[test]
    fn names_of_files_stay_in_their_string() {
        assert_eq!(quoted("a\"b\\c??/\nd\u{e4}.ast"), "\"a\\\"b\\\\c\\?\\?/_d\u{e4}.ast\"");
    }
}
