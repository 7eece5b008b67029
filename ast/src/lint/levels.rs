//! What becomes of a warning: nothing, a warning, an error.

use std::fmt;

use super::{LINTS, by_code};
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};

/// What becomes of a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Nothing is said.
    Allow,
    /// A warning.
    Warn,
    /// An error.
    Deny,
}

impl Level {
    /// The flag that asks for it.
    pub fn flag(self) -> &'static str {
        match self {
            Level::Allow => "-A",
            Level::Warn => "-W",
            Level::Deny => "-D",
        }
    }
}

/// The level of every lint. Later settings win over earlier ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels {
    /// In the order of [`LINTS`].
    of: Vec<Level>,
    /// Of warnings that no lint gives.
    others: Level,
}

/// A word that names neither a lint nor a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownLint(pub String);

impl fmt::Display for UnknownLint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no lint or group `{}`", self.0)
    }
}

impl std::error::Error for UnknownLint {}

impl Default for Levels {
    fn default() -> Self {
        Self { of: LINTS.iter().map(|lint| lint.default).collect(), others: Level::Warn }
    }
}

impl Levels {
    /// What a flag may name: lints, and groups of them.
    pub fn words() -> Vec<&'static str> {
        let mut groups: Vec<&str> = LINTS.iter().flat_map(|l| l.groups).copied().collect();
        groups.extend(["all", "warnings"]);
        groups.sort_unstable();
        groups.dedup();
        LINTS.iter().map(|l| l.name).chain(groups).collect()
    }

    /// Sets the level of a lint, of a group, of `all`, or of `warnings`, which are those that would warn.
    ///
    /// # Errors
    /// If the word names nothing.
    pub fn set(&mut self, word: &str, level: Level) -> Result<(), UnknownLint> {
        let mut known = matches!(word, "all" | "warnings");
        if known && (word == "all" || self.others == Level::Warn) {
            self.others = level;
        }
        for (lint, current) in LINTS.iter().zip(&mut self.of) {
            let named = lint.name == word || lint.groups.contains(&word);
            known |= named;
            if named || word == "all" || (word == "warnings" && *current == Level::Warn) {
                *current = level;
            }
        }
        if known { Ok(()) } else { Err(UnknownLint(word.to_owned())) }
    }

    /// What is an error: lints by name, and `warnings` for warnings that no lint gives.
    pub fn denied(&self) -> impl Iterator<Item = &'static str> {
        let lints = LINTS.iter().zip(&self.of).filter(|(_, level)| **level == Level::Deny);
        let others = (self.others == Level::Deny).then_some("warnings");
        lints.map(|(lint, _)| lint.name).chain(others)
    }

    /// Flags that give these levels, in this order, where nothing was set before.
    pub fn flags(&self) -> Vec<(Level, &'static str)> {
        // Only `all` and `warnings` reach the others, and `all` does so from every level.
        let others = (self.others != Level::Warn).then_some((self.others, "all"));
        let is_needed = |lint: &super::Lint, level: Level| match others {
            Some((all, _)) => level != all,
            None => level != lint.default,
        };
        let lints = LINTS.iter().zip(&self.of).filter(|(lint, level)| is_needed(lint, **level));
        others.into_iter().chain(lints.map(|(lint, level)| (*level, lint.name))).collect()
    }

    /// The level of a diagnostic that is a warning.
    pub fn of(&self, warning: &Diagnostic) -> Level {
        let place = LINTS.iter().position(|lint| lint.code == warning.code);
        place.map_or(self.others, |i| self.of[i])
    }

    /// Drops the warnings that are allowed and makes errors of those that are denied. Errors stay.
    pub fn apply(&self, diagnostics: Diagnostics) -> Diagnostics {
        let judge = |mut diagnostic: Diagnostic| {
            if diagnostic.is_error() {
                return Some(diagnostic);
            }
            let level = self.of(&diagnostic);
            if level == Level::Deny {
                diagnostic.severity = Severity::Error;
                let name = by_code(diagnostic.code).map_or("warnings", |lint| lint.name);
                diagnostic.notes.push(format!("a warning that is denied: `-D {name}`"));
            }
            (level != Level::Allow).then_some(diagnostic)
        };
        Diagnostics(diagnostics.0.into_iter().filter_map(judge).collect())
    }
}
