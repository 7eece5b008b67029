//! Names that are unique and can be written as words.

use cranelift_entity::SecondaryMap;
use rustc_hash::FxHashSet;

use crate::model::{Function, FunctionTag, Library, VariableId, VariableTag};

/// Whether a text can stand as a name by itself.
fn is_word(text: &str) -> bool {
    let mut bytes = text.bytes();
    text.len() <= 80
        && bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// A name from the input, in quotes where it is no word.
pub(super) fn quoted_unless_word(text: &str) -> String {
    if is_word(text) { text.to_owned() } else { quoted(text) }
}

/// A text in quotes, on one line.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.escape_debug())
}

/// Name of each function, by position: its own if it has one and nobody else has it.
pub(super) fn function_names(library: &Library) -> Vec<String> {
    let mut taken = FxHashSet::default();
    let name = |(id, function): (crate::model::FunctionId, &Function)| {
        let fallback = match function.tag {
            FunctionTag::Kernel => "kernel",
            _ => "f",
        };
        unique(function.name.as_deref(), fallback, id.as_u32(), &mut taken)
    };
    library.functions.iter().map(name).collect()
}

/// The name, or prefix and number; with the number where another has it.
fn unique(name: Option<&str>, prefix: &str, number: u32, taken: &mut FxHashSet<String>) -> String {
    let mut candidate = match name {
        Some(name) => quoted_unless_word(name),
        None => format!("{prefix}{number}"),
    };
    if candidate.ends_with('"') && taken.contains(&candidate) {
        candidate = format!("{prefix}{number}");
    }
    while !taken.insert(candidate.clone()) {
        candidate = format!("{candidate}_{number}");
    }
    candidate
}

/// Names of a function's variables.
pub(super) struct Names(SecondaryMap<VariableId, String>);

impl Names {
    pub fn new(function: &Function) -> Self {
        let mut names = SecondaryMap::with_capacity(function.variables.len());
        let mut taken = FxHashSet::default();
        for (id, variable) in &function.variables {
            let name = variable.name.as_deref();
            names[id] = if variable.tag.is_builtin() && name.is_none() {
                let word = variable.tag.name().to_ascii_lowercase();
                unique(Some(&word), "v", id.as_u32(), &mut taken)
            } else {
                unique(name, prefix(variable.tag), id.as_u32(), &mut taken)
            };
        }
        Self(names)
    }

    pub fn of(&self, variable: VariableId) -> &str {
        &self.0[variable]
    }
}

fn prefix(tag: VariableTag) -> &'static str {
    match tag {
        VariableTag::Shared => "s",
        VariableTag::Reference => "r",
        VariableTag::Buffer => "buf",
        VariableTag::Texture => "tex",
        VariableTag::BindlessArray => "heap",
        VariableTag::Accel => "accel",
        VariableTag::Argument => "x",
        _ => "v",
    }
}
