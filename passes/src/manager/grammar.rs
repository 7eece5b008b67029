//! The grammar of pipelines.
//!
//! ```text
//! pipeline := step ("," step)*
//! step     := NAME options? | "@" NAME options? | "fix" "(" pipeline (";" setting)* ")"
//! setting  := "max" "=" NUMBER | "measure" "=" ("changes" | "instructions" | "blocks")
//! options  := "{" NAME "=" VALUE ("," NAME "=" VALUE)* "}"
//! ```
//! Blanks may stand between words. An empty text is the empty pipeline. Options of a canned pipeline go to every pass of it
//! that has them.

use super::canned;
use super::pipeline::{DEFAULT_ROUNDS, MAX_NESTING, Measure, Pipeline, Step, call};
use crate::codes;
use luisac_ast::diagnostic::Diagnostic;

/// The steps of a text; `depth` levels of groups are around it.
pub(super) fn parse(text: &str, depth: usize) -> Result<Vec<Step>, Diagnostic> {
    let mut parser = Parser { text, at: 0, depth };
    parser.blanks();
    if parser.peek().is_none() {
        return Ok(Vec::new());
    }
    let steps = parser.steps()?;
    match parser.peek() {
        None => Ok(steps),
        Some(_) => Err(parser.expected("`,` or the end")),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn blanks(&mut self) {
        while let Some(c) = self.peek().filter(|c| c.is_whitespace()) {
            self.at += c.len_utf8();
        }
    }

    fn eat(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        if found {
            self.at += c.len_utf8();
            self.blanks();
        }
        found
    }

    fn expected(&self, what: &str) -> Diagnostic {
        let found = match self.peek() {
            Some(c) => format!("`{c}`"),
            None => "the end".to_string(),
        };
        Diagnostic::error(
            codes::PIPELINE_SYNTAX,
            format!("{what} expected in the pipeline, {found} found"),
        )
        .with_help("a pipeline reads `a,b,fix(c,d;max=8),e{option=value},@canned`")
        .at_offset(self.at)
    }

    fn word(&mut self, what: &str, more: &str) -> Result<&'a str, Diagnostic> {
        let rest = &self.text[self.at..];
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || more.contains(c);
        let len = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        if len == 0 {
            return Err(self.expected(what));
        }
        self.at += len;
        self.blanks();
        Ok(&rest[..len])
    }

    fn steps(&mut self) -> Result<Vec<Step>, Diagnostic> {
        let mut steps = Vec::new();
        loop {
            self.step(&mut steps)?;
            if !self.eat(',') {
                return Ok(steps);
            }
        }
    }

    fn step(&mut self, steps: &mut Vec<Step>) -> Result<(), Diagnostic> {
        let start = self.at;
        if self.eat('@') {
            let name = self.word("the name of a canned pipeline", "-")?;
            let options = self.options()?;
            steps.extend(self.canned(name, options, start)?);
            return Ok(());
        }
        let name = self.word("the name of a pass", "")?;
        if name == "fix" && self.eat('(') {
            steps.push(self.group(start)?);
            return Ok(());
        }
        let options = self.options()?;
        steps.push(Step::Pass(call(name, options, start)?));
        Ok(())
    }

    /// After `fix(`. Recursion is bounded by [`MAX_NESTING`].
    fn group(&mut self, start: usize) -> Result<Step, Diagnostic> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            let message = format!("`fix` is nested more than {MAX_NESTING} deep");
            return Err(Diagnostic::error(codes::PIPELINE_SYNTAX, message).at_offset(start));
        }
        let steps = self.steps()?;
        let (mut max, mut measure) = (DEFAULT_ROUNDS, Measure::default());
        while self.eat(';') {
            let key = self.at;
            let name = self.word("`max` or `measure`", "")?;
            let known = matches!(name, "max" | "measure");
            if !known || !self.eat('=') {
                self.at = key;
                return Err(self.expected("`max=N` or `measure=NAME`"));
            }
            let at = self.at;
            if name == "max" {
                max = self.word("a number of rounds", "")?.parse().map_err(|_| {
                    self.at = at;
                    self.expected("a number of rounds")
                })?;
            } else {
                let word = self.word("a measure", "")?;
                measure = Measure::ALL.into_iter().find(|m| m.name() == word).ok_or_else(|| {
                    self.at = at;
                    self.expected("`changes`, `instructions` or `blocks`")
                })?;
            }
        }
        if !self.eat(')') {
            return Err(self.expected("`,`, `;` or `)`"));
        }
        self.depth -= 1;
        Ok(Step::Fix { steps, max, measure })
    }

    fn options(&mut self) -> Result<Vec<(String, String)>, Diagnostic> {
        let mut options = Vec::new();
        if !self.eat('{') {
            return Ok(options);
        }
        loop {
            let name = self.word("the name of an option", "")?;
            if !self.eat('=') {
                return Err(self.expected("`=`"));
            }
            let value = self.word("a value", "-+.|")?;
            options.push((name.to_string(), value.to_string()));
            if self.eat('}') {
                return Ok(options);
            }
            if !self.eat(',') {
                return Err(self.expected("`,` or `}`"));
            }
        }
    }

    fn canned(
        &self,
        name: &str,
        options: Vec<(String, String)>,
        start: usize,
    ) -> Result<Vec<Step>, Diagnostic> {
        let text = canned::text(name).map_err(|diagnostic| diagnostic.at_offset(start))?;
        // The text of a can names no can, hence this ends.
        let mut pipeline = Pipeline { steps: parse(&text, self.depth)? };
        for (option, value) in options {
            if !pipeline.set_option(&option, &value) {
                let message = format!("no pass of `@{name}` has an option `{option}`");
                return Err(Diagnostic::error(codes::UNKNOWN_OPTION, message).at_offset(start));
            }
        }
        // Sees whether the values fit.
        for pass in pipeline.passes() {
            call(pass.pass.name(), pass.options.clone(), start)?;
        }
        Ok(pipeline.steps)
    }
}
