//! What the records of a kernel hold.

use luisac_artifact::LogLayout;
use luisac_artifact::abi::{assert_record, trap_record};
use luisac_artifact::metadata::{Format, FormatArgument, FormatKind};
use luisac_ast::diagnostic::Diagnostic;
use luisac_ast::types::TypeTable;
use luisac_xir::{Function, Imm, InstId};

use crate::errors;

/// The message of a `print` or `assert`.
fn text(func: &Function, inst: InstId) -> String {
    match &func.inst(inst).imm {
        Imm::Text(text) => text.to_string(),
        _ => String::new(),
    }
}

/// The format of a `print`, and where its values lie.
pub(crate) fn print(
    types: &TypeTable,
    func: &Function,
    inst: InstId,
) -> Result<(Format, LogLayout), Diagnostic> {
    let args = func.args(inst);
    let members = args.iter().map(|&a| {
        let ty = func.value_type(a);
        (types.size(ty), u64::from(types.align(ty)))
    });
    let layout = LogLayout::of(members).map_err(|e| too_large(e.to_string()))?;
    let arguments = args
        .iter()
        .zip(&layout.offsets)
        .map(|(&a, &offset)| FormatArgument { ty: types.description(func.value_type(a)), offset })
        .collect();
    let record_size = layout.record_size;
    let text = text(func, inst);
    Ok((Format { kind: FormatKind::Print, text, arguments, record_size }, layout))
}

/// A record is too large.
pub(crate) fn too_large(message: String) -> Diagnostic {
    Diagnostic::error(errors::LOG_RECORD, message).with_help("print less in one line")
}

/// The format of an `assert`.
pub(crate) fn assert(func: &Function, inst: InstId) -> Format {
    Format {
        kind: FormatKind::Assert,
        text: text(func, inst),
        arguments: Vec::new(),
        record_size: assert_record::RECORD_SIZE,
    }
}

/// The format of a trap, in a buffer or in an array.
pub(crate) fn trap(in_buffer: bool) -> Format {
    let text = if in_buffer { "a buffer" } else { "a local or shared array" };
    Format {
        kind: FormatKind::Trap,
        text: text.to_string(),
        arguments: Vec::new(),
        record_size: trap_record::RECORD_SIZE,
    }
}

/// The id of a format, put into the list; equal traps share one.
pub(crate) fn id(formats: &mut Vec<Format>, format: Format) -> u32 {
    let known = match format.kind {
        FormatKind::Trap => formats.iter().position(|f| *f == format),
        _ => None,
    };
    let id = known.unwrap_or_else(|| {
        formats.push(format);
        formats.len() - 1
    });
    id as u32
}
