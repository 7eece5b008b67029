//! Passes and canned pipelines as data for lists, and as the page `docs/passes.md`.

use super::canned::CANS;
use super::declaration::Pass;
use super::form::Requires;
use super::ordering::ORDERINGS;
use crate::registry::PASSES;
use serde::Serialize;
use std::fmt::Write;

/// A pass, as `luisac passes --json` shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PassDescription {
    pub name: &'static str,
    pub summary: &'static str,
    pub description: &'static str,
    /// Whether it looks at one function at a time.
    pub function_local: bool,
    /// The form that it needs, in words; `any`.
    pub requires: String,
    /// Why it needs that form; may be empty.
    pub why: &'static str,
    /// The form that it leaves where it differs, in words; empty if it leaves the form as it was.
    pub establishes: String,
    pub options: Vec<OptionDescription>,
    pub counters: Vec<CounterDescription>,
}

/// An option of a pass.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OptionDescription {
    pub name: &'static str,
    /// What values look like.
    pub kind: &'static str,
    pub default: String,
    pub summary: &'static str,
}

/// A counter of a pass.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CounterDescription {
    pub name: &'static str,
    pub summary: &'static str,
    /// Whether it counts changes.
    pub is_change: bool,
}

/// A canned pipeline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CannedDescription {
    /// The name without `@`.
    pub name: &'static str,
    pub pipeline: &'static str,
}

impl Pass {
    /// What the pass says about itself.
    pub fn describe(&self) -> PassDescription {
        let d = &self.declaration;
        let established = d.establishes != Requires::NONE;
        let options = self.options.iter().map(|o| OptionDescription {
            name: o.name,
            kind: o.kind,
            default: (o.default)(),
            summary: o.summary,
        });
        let counters = self.counters.iter().map(|c| CounterDescription {
            name: c.name,
            summary: c.summary,
            is_change: c.is_change,
        });
        PassDescription {
            name: d.name,
            summary: d.summary,
            description: d.description,
            function_local: self.is_function_local(),
            requires: d.requires.to_string(),
            why: d.why,
            establishes: if established { d.establishes.to_string() } else { String::new() },
            options: options.collect(),
            counters: counters.collect(),
        }
    }
}

/// All canned pipelines, in order.
pub fn canned_pipelines() -> Vec<CannedDescription> {
    CANS.iter().map(|&(name, pipeline)| CannedDescription { name, pipeline }).collect()
}

/// The page `docs/passes.md`.
pub fn page() -> String {
    let mut page = String::from(
        "# Passes and pipelines\n\nWritten from the declarations of the passes; the test `the_page_is_up_to_date` of the crate `luisac-passes` compares it.\n\
         \n## Pipelines\n\n`--passes a,b,fix(c,d;max=8),e{option=value},@canned`: passes in order. `fix(...)` repeats its passes until a whole round\n\
         changes nothing, at most `max` (64) rounds; `fix(...;measure=instructions)` and `measure=blocks` as long as a round makes the\n\
         module smaller. A group whose rounds undo each other ends with a warning. `@name` stands for a canned pipeline; options behind\n\
         it go to all of its passes that have them. A pipeline is refused before it runs if a pass would get a form that it cannot take,\n\
         or if it breaks one of the orderings below.\n\n| name | passes |\n|---|---|\n",
    );
    for can in canned_pipelines() {
        let _ = writeln!(page, "| `@{}` | `{}` |", can.name, can.pipeline);
    }
    page.push_str(
        "\n## Orderings\n\n| first | then | unless between them | why |\n|---|---|---|---|\n",
    );
    for o in ORDERINGS {
        let unless: Vec<String> = o.unless.iter().map(|name| format!("`{name}`")).collect();
        let _ =
            writeln!(page, "| `{}` | `{}` | {} | {} |", o.first, o.then, unless.join(", "), o.why);
    }
    page.push_str("\n## Passes\n");
    for pass in PASSES {
        let d = pass.describe();
        let _ = write!(page, "\n### {}\n\n{}\n", d.name, d.description);
        if pass.declaration.requires != Requires::NONE {
            let _ = write!(page, "\nNeeds: {} ({}).\n", d.requires, d.why);
        }
        if !d.establishes.is_empty() {
            let _ = write!(page, "\nLeaves: {}.\n", d.establishes);
        }
        if !d.options.is_empty() {
            page.push_str("\n| option | values | default | |\n|---|---|---|---|\n");
            for o in &d.options {
                let escape = |text: &str| text.replace('|', "\\|");
                let (kind, default) = (escape(o.kind), escape(&o.default));
                let _ = writeln!(page, "| `{}` | {kind} | `{default}` | {} |", o.name, o.summary);
            }
        }
        page.push_str("\n| counter | |\n|---|---|\n");
        for c in &d.counters {
            let note = if c.is_change { "" } else { " (no change)" };
            let _ = writeln!(page, "| `{}` | {}{note} |", c.name, c.summary);
        }
    }
    page
}
