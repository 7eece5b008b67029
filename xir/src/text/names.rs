//! Words of the text form: quoted strings, symbols and the names of the blocks that an instruction refers to.

use crate::{Function, FunctionId, Module, Op};
use rustc_hash::FxHashMap;
use std::fmt::Write;

/// Appends `text` in quotes. Everything but printable ASCII, and `"` and `\`, is escaped, so that a string is always one line.
pub(super) fn push_quoted(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            ' '..='~' => out.push(c),
            _ => drop(write!(out, "\\u{{{:x}}}", c as u32)),
        }
    }
    out.push('"');
}

/// Whether a function name is written without quotes.
pub(super) fn is_plain_symbol(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.')
}

/// The symbol of every function: `@name`, or `@name#2` for the third function of that name.
pub(super) fn symbols(module: &Module) -> Vec<String> {
    let mut seen: FxHashMap<&str, u32> = FxHashMap::default();
    let symbol = |function: &crate::Function, count: u32| {
        let mut text = String::from("@");
        if is_plain_symbol(&function.name) {
            text.push_str(&function.name);
        } else {
            push_quoted(&mut text, &function.name);
        }
        if count != 0 {
            let _ = write!(text, "#{count}");
        }
        text
    };
    let mut result = Vec::with_capacity(module.functions.len());
    for function in module.functions.values() {
        let count = seen.entry(&function.name).or_insert(0);
        result.push(symbol(function, *count));
        *count += 1;
    }
    result
}

/// The words in front of the blocks of a terminator, in operand order. For `switch` and `indexed_branch` the case blocks come
/// after the first one and before a merge.
pub(crate) fn block_words(op: Op) -> &'static [&'static str] {
    match op {
        Op::If => &["then", "else", "merge"],
        Op::Switch => &["default", "merge"],
        Op::IndexedBranch => &["default"],
        Op::Loop => &["prepare", "body", "update", "merge"],
        Op::SimpleLoop => &["body", "merge"],
        Op::RayQueryLoop => &["dispatch", "merge"],
        Op::RayQueryDispatch => &["exit", "surface", "procedural"],
        Op::AutodiffScope => &["entry", "merge"],
        Op::Br | Op::Break | Op::Continue => &[""],
        Op::CondBr => &["", ""],
        _ => &[],
    }
}

/// Whether an operation addresses a bindless array, so that its access attribute may differ from the default.
pub(crate) fn is_bindless(op: Op) -> bool {
    matches!(op, Op::ResourceQuery(_) | Op::ResourceRead(_) | Op::ResourceWrite(_))
        && op.sub_name().is_some_and(|name| name.starts_with("bindless"))
}

/// The symbol of a function of a module; a placeholder that does not parse for an id of another module.
pub(super) fn symbol_of(symbols: &[String], id: FunctionId) -> &str {
    use cranelift_entity::EntityRef;
    symbols.get(id.index()).map_or("@?", |s| s)
}

/// Looks up the instruction that defines each value; used only to keep the printer total on functions that are not valid.
pub(super) fn is_placed_result(function: &Function, value: crate::ValueId) -> bool {
    function.def_inst(value).is_some_and(|inst| function.inst_block(inst).is_some())
}
