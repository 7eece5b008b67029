//! Lines of text in blocks of braces.

/// Deepest indentation that is shown: text of deep nests grows with its lines only.
const DEEPEST: usize = 24;

/// A line and how deep it stands.
struct Line {
    depth: usize,
    text: String,
}

/// The body of a function.
#[derive(Default)]
pub struct Lines {
    lines: Vec<Line>,
    depth: usize,
}

impl Lines {
    /// Lines that stand `depth` deep.
    pub fn at(depth: usize) -> Lines {
        Lines { lines: Vec::new(), depth }
    }

    /// Appends a line; its number.
    pub fn push(&mut self, text: impl Into<String>) -> usize {
        self.lines.push(Line { depth: self.depth, text: text.into() });
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

    /// Appends everything to a text.
    pub fn write(&self, out: &mut String) {
        for line in &self.lines {
            for _ in 0..line.depth.min(DEEPEST) {
                out.push_str("    ");
            }
            out.push_str(&line.text);
            out.push('\n');
        }
    }
}
