//! Reading what a kernel logged: printed lines and faults. The layout is `luisac_artifact::LogLayout`'s.

use luisac_artifact::{
    Metadata,
    abi::{LOG_FAULT_LOST, LOG_HEADER_BYTES, TRAP_LOCAL_ARRAY, assert_record, trap_record},
    metadata::{Format, FormatKind},
};

use crate::{RuntimeError, print};

/// What a kernel printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The lines, in the order they were logged.
    pub lines: Vec<String>,
    /// Bytes of records that found no room in the log.
    pub lost: u64,
}

/// Gives every printed line to `print`, and returns the bytes that were lost.
///
/// # Errors
/// The fault with the smallest dispatch id (z, then y, then x) among those logged: which thread logs first is
/// chance, and this at least does not depend on it while the log has room.
pub(crate) fn decode(
    metadata: &Metadata,
    log: &[u8],
    print: &mut dyn FnMut(&str),
) -> Result<u64, RuntimeError> {
    let bad = |reason| RuntimeError::BadLog { kernel: metadata.kernel.clone(), reason };
    let (used, data) = log.split_first_chunk().ok_or_else(|| bad("it is too short"))?;
    let used = u64::from_le_bytes(*used);
    let fault_lost = used & LOG_FAULT_LOST != 0;
    let used = used & !LOG_FAULT_LOST;
    // Records up to here were written whole, unless one crosses the end of the data.
    let end = used.min(data.len() as u64) as usize;
    let mut at = 0;
    let mut fault: Option<([u32; 3], RuntimeError)> = None;
    while let Some(header) =
        data[..end].get(at..).and_then(|d| d.first_chunk::<{ LOG_HEADER_BYTES as usize }>())
    {
        let size = word(header, 0) as usize;
        let format = metadata.formats.get(word(header, 4) as usize);
        let Some(next) = at.checked_add(size).filter(|n| *n <= data.len()) else {
            break;
        };
        let Some(format) = format.filter(|f| f.record_size as usize == size) else {
            // Behind the last record that fits is nothing.
            if used > data.len() as u64 {
                break;
            }
            return Err(bad("a record does not match its format"));
        };
        let arguments = &data[at + LOG_HEADER_BYTES as usize..next];
        match format.kind {
            FormatKind::Print => print(
                &print::line(format, arguments).ok_or_else(|| bad("a record cannot be printed"))?,
            ),
            FormatKind::Assert | FormatKind::Trap => {
                let (id, error) = read_fault(metadata, format, arguments);
                let order = |id: [u32; 3]| [id[2], id[1], id[0]];
                if fault.as_ref().is_none_or(|(first, _)| order(id) < order(*first)) {
                    fault = Some((id, error));
                }
            }
        }
        at = next;
    }
    match fault {
        Some((_, error)) => Err(error),
        None if fault_lost => Err(RuntimeError::FaultLost { kernel: metadata.kernel.clone() }),
        None => Ok(used.saturating_sub(at as u64)),
    }
}

/// Zeroes what was written.
pub(crate) fn clear(log: &mut [u8]) {
    if let Some((used, data)) = log.split_first_chunk_mut() {
        let end = (u64::from_le_bytes(*used) & !LOG_FAULT_LOST).min(data.len() as u64);
        data[..end as usize].fill(0);
        *used = [0; 8];
    }
}

/// The little-endian word at `offset`; zero if it passes the end, which the format's size has ruled out.
fn word(bytes: &[u8], offset: u32) -> u32 {
    bytes.get(offset as usize..).and_then(|b| b.first_chunk()).map_or(0, |b| u32::from_le_bytes(*b))
}

fn read_fault(metadata: &Metadata, format: &Format, arguments: &[u8]) -> ([u32; 3], RuntimeError) {
    let id_at = match format.kind {
        FormatKind::Assert => assert_record::DISPATCH_ID,
        _ => trap_record::DISPATCH_ID,
    };
    let dispatch_id = [0, 4, 8].map(|o| word(arguments, id_at + o));
    let (kernel, message) = (metadata.kernel.clone(), format.text.clone());
    if format.kind == FormatKind::Assert {
        return (dispatch_id, RuntimeError::Assert { kernel, message, dispatch_id });
    }
    let argument = Some(word(arguments, trap_record::ARGUMENT)).filter(|a| *a != TRAP_LOCAL_ARRAY);
    let name = argument.and_then(|a| metadata.arguments.get(a as usize)?.name.clone());
    let (low, high) =
        (word(arguments, trap_record::INDEX), word(arguments, trap_record::INDEX + 4));
    let index = (u64::from(high) << 32 | u64::from(low)) as i64;
    (dispatch_id, RuntimeError::OutOfBounds { kernel, argument, name, index, dispatch_id, message })
}
