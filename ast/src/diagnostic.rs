//! Errors and warnings with a code, a place and a way to mend them, for every crate of the compiler.
//!
//! A crate declares its codes in a table with [`codes!`](crate::codes), which gives each a title, an explanation and
//! advice; `luisac explain` prints them.

use std::fmt;

/// A stable code: a number that prints as `L0123`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(pub u16);

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "L{:04}", self.0)
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Code {
    /// The code of a text such as `L0123`; upper or lower case, the letter may be left out.
    pub fn parse(text: &str) -> Option<Code> {
        let digits = text.strip_prefix(['L', 'l']).unwrap_or(text);
        digits.parse().ok().map(Code)
    }
}

/// What `luisac explain` says about a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeInfo {
    /// The code.
    pub code: Code,
    /// One line.
    pub title: &'static str,
    /// What it means and why it is so.
    pub explanation: &'static str,
    /// How to mend it.
    pub remedy: &'static str,
}

/// Declares the codes of a crate: constants, and a table of all of them.
///
/// ```
/// luisac_ast::codes! {
///     /// All codes of this crate.
///     pub static CODES;
///     NO_BREAD = 900 "there is no bread", "The bakery is closed on Mondays.", "Come back tomorrow.";
/// }
/// assert_eq!(NO_BREAD.to_string(), "L0900");
/// assert_eq!(CODES[0].title, "there is no bread");
/// ```
#[macro_export]
macro_rules! codes {
    ($(#[$meta:meta])* pub static $table:ident;
        $($name:ident = $number:literal $title:literal, $explanation:literal, $remedy:literal;)*) => {
        $(
            #[doc = $title]
            pub const $name: $crate::diagnostic::Code = $crate::diagnostic::Code($number);
        )*
        $(#[$meta])*
        pub static $table: &[$crate::diagnostic::CodeInfo] = &[
            $($crate::diagnostic::CodeInfo {
                code: $name,
                title: $title,
                explanation: $explanation,
                remedy: $remedy,
            },)*
        ];
    };
}

/// What a table says to do about a code, as a help line.
pub fn remedy(tables: &[&[CodeInfo]], code: Code) -> Option<String> {
    let info = tables.iter().copied().flatten().find(|info| info.code == code)?;
    let mut text = info.remedy.trim_end_matches('.').to_owned();
    // Help lines start in lower case.
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    Some(text)
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The input is right, but looks like a mistake.
    Warning,
    /// The input is wrong.
    Error,
}

/// One thing to tell the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Which kind of thing.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong: lower case, no full stop, names in backticks.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
    /// Place in a JSON input: a JSON pointer.
    pub pointer: Option<String>,
    /// Place in the input: a byte offset.
    pub offset: Option<usize>,
    /// The function that it is about.
    pub function: Option<String>,
    /// Further lines.
    pub notes: Vec<String>,
}

impl Diagnostic {
    /// An error without a place.
    pub fn error(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: Severity::Error,
            message: message.into(),
            help: None,
            pointer: None,
            offset: None,
            function: None,
            notes: Vec::new(),
        }
    }

    /// A warning without a place.
    pub fn warning(code: Code, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, message) }
    }

    /// Adds advice.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds a JSON pointer.
    #[must_use]
    pub fn at_pointer(mut self, pointer: impl Into<String>) -> Self {
        self.pointer = Some(pointer.into());
        self
    }

    /// Adds a byte offset.
    #[must_use]
    pub fn at_offset(mut self, offset: usize) -> Self {
        self.offset = Some(offset);
        self
    }

    /// Adds the function's name.
    #[must_use]
    pub fn in_function(mut self, function: impl Into<String>) -> Self {
        self.function = Some(function.into());
        self
    }

    /// Adds a line.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Whether it is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = if self.is_error() { "error" } else { "warning" };
        write!(f, "{severity}[{}]: {}", self.code, self.message)?;
        if let Some(function) = &self.function {
            write!(f, " (in {function})")?;
        }
        match (&self.pointer, self.offset) {
            (Some(pointer), Some(offset)) => write!(f, "\n  at {pointer} (byte {offset})")?,
            (Some(pointer), None) => write!(f, "\n  at {pointer}")?,
            (None, Some(offset)) => write!(f, "\n  at byte {offset}")?,
            (None, None) => {}
        }
        for note in &self.notes {
            write!(f, "\n  note: {note}")?;
        }
        match &self.help {
            Some(help) => write!(f, "\n  help: {help}"),
            None => Ok(()),
        }
    }
}

/// Everything there is to tell about an input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl Diagnostics {
    /// Nothing to tell.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.0.push(diagnostic);
    }

    /// Whether there is an error among them.
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(Diagnostic::is_error)
    }

    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The errors only.
    pub fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        self.0.iter().filter(|d| d.is_error())
    }

    /// The first diagnostic of a code.
    pub fn find(&self, code: Code) -> Option<&Diagnostic> {
        self.0.iter().find(|d| d.code == code)
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Self(vec![diagnostic])
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, diagnostic) in self.0.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{diagnostic}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}
impl std::error::Error for Diagnostics {}
