//! A pipeline: passes and fixed points, checked against forms before it runs.

use super::declaration::{OptionError, Pass};
use super::form::{Form, Requires};
use super::{grammar, ordering};
use crate::codes;
use crate::registry::{self, PASSES};
use luisac_ast::diagnostic::Diagnostic;
use std::fmt;

/// Rounds of a `fix(...)` group that does not say `max`.
pub const DEFAULT_ROUNDS: u32 = 64;
/// Levels of `fix(...)` that are allowed.
pub const MAX_NESTING: usize = 16;

/// A pass with its options.
#[derive(Clone)]
pub struct PassCall {
    pub pass: &'static Pass,
    /// Options that differ from the defaults, in the order written.
    pub options: Vec<(String, String)>,
}

/// One element of a pipeline.
#[derive(Clone)]
pub enum Step {
    Pass(PassCall),
    /// Runs its steps again and again as long as the measure says, at most `max` rounds.
    Fix {
        steps: Vec<Step>,
        max: u32,
        measure: Measure,
    },
}

impl Step {
    /// Whether it is a pass of this name.
    pub fn is(&self, name: &str) -> bool {
        matches!(self, Step::Pass(call) if call.pass.name() == name)
    }
}

/// What a round of a group must achieve for another round to follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Measure {
    /// Some pass changed something, and the module is not what an earlier round left.
    #[default]
    Changes,
    /// The module has fewer instructions than after every round before. Ends by itself.
    Instructions,
    /// The module has fewer blocks than after every round before. Ends by itself.
    Blocks,
}

impl Measure {
    /// All measures.
    pub const ALL: [Measure; 3] = [Measure::Changes, Measure::Instructions, Measure::Blocks];

    /// The name in the text of a pipeline.
    pub const fn name(self) -> &'static str {
        match self {
            Measure::Changes => "changes",
            Measure::Instructions => "instructions",
            Measure::Blocks => "blocks",
        }
    }
}

/// A list of steps.
#[derive(Clone, Default)]
pub struct Pipeline {
    pub steps: Vec<Step>,
}

impl Pipeline {
    /// The pipeline of a text: `a,b,fix(c,d;max=8),e{option=value},@canned`.
    pub fn parse(text: &str) -> Result<Pipeline, Diagnostic> {
        grammar::parse(text, 0).map(|steps| Pipeline { steps })
    }

    /// Sets an option wherever a pass has it and does not set it already; false if no pass has it.
    pub fn set_option(&mut self, name: &str, value: &str) -> bool {
        let mut found = false;
        let mut pending: Vec<&mut Step> = self.steps.iter_mut().collect();
        while let Some(step) = pending.pop() {
            match step {
                Step::Fix { steps, .. } => pending.extend(steps),
                Step::Pass(call) if call.pass.options.iter().any(|o| o.name == name) => {
                    found = true;
                    if !call.options.iter().any(|(n, _)| n == name) {
                        call.options.push((name.into(), value.into()));
                    }
                }
                Step::Pass(_) => {}
            }
        }
        found
    }

    /// Checks that each pass gets a form that it takes, starting with `initial`, and that none comes too late; gives the form at
    /// the end. A group is checked as if it ran twice.
    pub fn check(&self, initial: Form) -> Result<Form, Diagnostic> {
        ordering::check(&self.steps)?;
        let mut checker = Checker { form: initial, setters: Vec::new(), last: None };
        checker.steps(&self.steps)?;
        Ok(checker.form)
    }

    /// As [`Pipeline::check`], and that the form at the end has what `wanted` says.
    pub fn check_for(
        &self,
        initial: Form,
        wanted: &Requires,
        user: &str,
    ) -> Result<Form, Diagnostic> {
        ordering::check(&self.steps)?;
        let mut checker = Checker { form: initial, setters: Vec::new(), last: None };
        checker.steps(&self.steps)?;
        checker.expect(user, wanted, "")?;
        Ok(checker.form)
    }

    /// All passes in order, those of groups included.
    pub fn passes(&self) -> Vec<&PassCall> {
        let mut pending: Vec<&Step> = self.steps.iter().rev().collect();
        let mut all = Vec::new();
        while let Some(step) = pending.pop() {
            match step {
                Step::Pass(call) => all.push(call),
                Step::Fix { steps, .. } => pending.extend(steps.iter().rev()),
            }
        }
        all
    }
}

struct Checker {
    form: Form,
    /// Which pass set which states last; latest at the end.
    setters: Vec<(&'static str, Requires)>,
    last: Option<&'static str>,
}

impl Checker {
    /// Recursion is bounded by [`MAX_NESTING`].
    fn steps(&mut self, steps: &[Step]) -> Result<(), Diagnostic> {
        for step in steps {
            match step {
                Step::Pass(call) => {
                    let declaration = &call.pass.declaration;
                    self.expect(declaration.name, &declaration.requires, declaration.why)?;
                    self.form = self.form.with(&declaration.establishes);
                    if declaration.establishes != Requires::NONE {
                        self.setters.push((declaration.name, declaration.establishes));
                    }
                    self.last = Some(declaration.name);
                }
                Step::Fix { steps, .. } => {
                    self.steps(steps)?;
                    self.steps(steps)?;
                }
            }
        }
        Ok(())
    }

    fn expect(&self, user: &str, requires: &Requires, why: &str) -> Result<(), Diagnostic> {
        let Some(missing) = self.form.missing(requires) else { return Ok(()) };
        let culprit = self.setters.iter().rev().find(|(_, sets)| conflicts(sets, requires));
        let culprit = culprit.map(|(name, _)| *name);
        let from = match (culprit, self.last) {
            (Some(name), _) => format!("from `{name}`"),
            (None, Some(name)) => format!("from the input, through `{name}`"),
            (None, None) => "from the input".to_string(),
        };
        let mut diagnostic =
            Diagnostic::error(codes::FORM_MISMATCH, format!("`{user}` {missing} {from}"));
        if !why.is_empty() {
            diagnostic = diagnostic.with_note(why);
        }
        let mends: Vec<String> = PASSES
            .iter()
            .filter(|p| {
                let mended = self.form.with(&p.declaration.establishes);
                self.form.missing(&p.declaration.requires).is_none()
                    && mended != self.form
                    && mended.missing(requires) != self.form.missing(requires)
            })
            .map(|p| format!("`{}`", p.name()))
            .collect();
        Err(match mends.is_empty() {
            true => diagnostic.with_help(format!("no pass mends that here: move `{user}`")),
            false => diagnostic.with_help(format!("insert {} before `{user}`", mends.join(" or "))),
        })
    }
}

/// Whether a pass that sets these states takes away what is required.
fn conflicts(sets: &Requires, requires: &Requires) -> bool {
    fn differs<T: PartialEq + Copy>(set: Option<T>, required: Option<T>) -> bool {
        matches!((set, required), (Some(a), Some(b)) if a != b)
    }
    differs(sets.control, requires.control)
        || differs(sets.data, requires.data)
        || differs(sets.shape, requires.shape)
        || differs(sets.math, requires.math)
}

/// Makes the call of a pass, or says what is wrong with the name or the options.
pub(crate) fn call(
    name: &str,
    options: Vec<(String, String)>,
    offset: usize,
) -> Result<PassCall, Diagnostic> {
    let Some(pass) = registry::find(name) else {
        return Err(unknown(codes::UNKNOWN_PASS, "pass", name, PASSES.iter().map(Pass::name))
            .at_offset(offset));
    };
    match (pass.check_options)(&options) {
        Ok(()) => Ok(PassCall { pass, options }),
        Err(OptionError::Unknown(option)) => {
            let names: Vec<&str> = pass.options.iter().map(|o| o.name).collect();
            let message = format!("pass `{name}` has no option `{option}`");
            let help = match names.is_empty() {
                true => "it has no options".to_string(),
                false => format!("its options are {}", quoted(names.iter().copied())),
            };
            Err(Diagnostic::error(codes::UNKNOWN_OPTION, message).with_help(help).at_offset(offset))
        }
        Err(OptionError::Value(option, kind)) => {
            let message = format!("option `{option}` of pass `{name}` does not take that value");
            Err(Diagnostic::error(codes::OPTION_VALUE, message)
                .with_help(format!("it takes {kind}"))
                .at_offset(offset))
        }
    }
}

/// An unknown name, with the nearest one and all that there are.
pub(crate) fn unknown<'a>(
    code: luisac_ast::diagnostic::Code,
    what: &str,
    name: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Diagnostic {
    let nearest =
        known.clone().map(|k| (distance(name, k), k)).filter(|&(d, k)| d <= k.len() / 2).min();
    let all = format!("there are {}", quoted(known));
    let help = match nearest {
        Some((_, k)) => format!("did you mean `{k}`? {all}"),
        None => all,
    };
    Diagnostic::error(code, format!("there is no {what} `{}`", shorten(name))).with_help(help)
}

fn shorten(name: &str) -> String {
    if name.chars().count() <= 60 {
        name.into()
    } else {
        name.chars().take(57).chain("...".chars()).collect()
    }
}

fn quoted<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
}

/// Edit distance (Levenshtein), with names cut to 64 bytes.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (&a.as_bytes()[..a.len().min(64)], &b.as_bytes()[..b.len().min(64)]);
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, &x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

impl fmt::Display for PassCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.pass.name())?;
        for (i, (name, value)) in self.options.iter().enumerate() {
            write!(f, "{}{name}={value}", if i == 0 { "{" } else { "," })?;
        }
        if self.options.is_empty() { Ok(()) } else { f.write_str("}") }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Pass(call) => call.fmt(f),
            Step::Fix { steps, max, measure } => {
                f.write_str("fix(")?;
                write_steps(f, steps)?;
                if *max != DEFAULT_ROUNDS {
                    write!(f, ";max={max}")?;
                }
                if *measure != Measure::default() {
                    write!(f, ";measure={}", measure.name())?;
                }
                f.write_str(")")
            }
        }
    }
}

fn write_steps(f: &mut fmt::Formatter<'_>, steps: &[Step]) -> fmt::Result {
    for (i, step) in steps.iter().enumerate() {
        if i > 0 {
            f.write_str(",")?;
        }
        fmt::Display::fmt(step, f)?;
    }
    Ok(())
}

impl fmt::Display for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_steps(f, &self.steps)
    }
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
