//! The result of `verify`: a table, or JSON, and a diagnostic for each difference.

use super::super::lists::show as show_list;
use super::super::messages::{Failure, Messages};
use super::super::options::VerifyCommand;
use super::{Row, Verdict};
use luisac::codes;
use luisac::driver::input::Input;
use luisac_ast::diagnostic::Diagnostic;
use serde_json::{Value, json};

/// Shows the rows.
///
/// # Errors
/// [`Failure::Different`] if a target differs.
pub fn show(
    command: &VerifyCommand,
    messages: &Messages,
    input: &Input,
    is_recorded: bool,
    rows: &[Row],
) -> Result<(), Failure> {
    let reference = if is_recorded { "recorded" } else { "interp" };
    let list: Vec<Value> = rows.iter().map(entry).collect();
    let value = json!({"input": input.name, "reference": reference, "results": list});
    let mut text = String::new();
    for row in rows {
        let (word, detail) = words(&row.verdict);
        let time = row.milliseconds.map(|ms| format!("{ms:.3} ms")).unwrap_or_default();
        let line = format!("{:<14} {:<7} {word:<9} {time:>12}  {detail}", row.target, row.device);
        text.push_str(line.trim_end());
        text.push('\n');
    }
    if rows.is_empty() {
        text.push_str("refused, as it should be\n");
    }
    show_list(messages, command.json, value, text)?;
    let mut differs = false;
    for row in rows {
        if let Verdict::Differs(difference) = &row.verdict {
            let message = format!("`{}` on the device `{}`: {difference}", row.target, row.device);
            messages.show(&Diagnostic::error(codes::DIFFERS, message), None);
            differs = true;
        }
    }
    if differs { Err(Failure::Different) } else { Ok(()) }
}

fn words(verdict: &Verdict) -> (&'static str, String) {
    match verdict {
        Verdict::Same => ("same", String::new()),
        Verdict::Differs(difference) => ("differs", difference.to_string()),
        Verdict::Refused(d) => ("refused", format!("{}: {}", d.code, d.message)),
        Verdict::NotHere(why) => ("not here", why.clone()),
    }
}

fn entry(row: &Row) -> Value {
    let (word, detail) = words(&row.verdict);
    let mut entry = json!({"target": row.target, "device": row.device, "outcome": word});
    if !detail.is_empty() {
        entry["detail"] = detail.into();
    }
    if let Verdict::Refused(d) = &row.verdict {
        entry["code"] = d.code.to_string().into();
    }
    if let Some(ms) = row.milliseconds {
        entry["milliseconds"] = ms.into();
    }
    entry
}
