//! A look into a SPIR-V module: whether it is one, what it needs, where it starts. The driver reads the rest, and drivers trust.

const MAGIC: u32 = 0x0723_0203;
const OP_ENTRY_POINT: u32 = 15;
const OP_CAPABILITY: u32 = 17;
const OP_LOOP_MERGE: u32 = 246;
const OP_SELECTION_MERGE: u32 = 247;
const OP_LABEL: u32 = 248;
const GL_COMPUTE: u32 = 5;

/// What the head of a module says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Module {
    pub words: Vec<u32>,
    /// In the module's order.
    pub capabilities: Vec<u32>,
    /// Constructs of control flow inside each other, at most.
    pub nesting: u32,
}

/// Reads `code`, whose entry point must be `entry`.
///
/// # Errors
/// Why it cannot be used.
pub(crate) fn read(code: &[u8], entry: &str) -> Result<Module, String> {
    let bad = |reason: &str| reason.to_owned();
    if !code.len().is_multiple_of(4) {
        return Err(bad("its length is no multiple of four"));
    }
    let words: Vec<u32> =
        code.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    if words.len() < 5 || words[0] != MAGIC {
        return Err(bad("it does not begin as SPIR-V does"));
    }
    let (mut capabilities, mut found, mut at) = (Vec::new(), false, 5);
    let (mut open, mut nesting) = (Vec::new(), 0);
    while at < words.len() {
        let (op, count) = (words[at] & 0xffff, (words[at] >> 16) as usize);
        let Some(operands) = words.get(at + 1..at + count).filter(|_| count > 0) else {
            return Err(bad("an instruction passes its end"));
        };
        match op {
            OP_CAPABILITY => capabilities.extend(operands.first()),
            OP_ENTRY_POINT => found |= is_entry(operands, entry),
            OP_LOOP_MERGE | OP_SELECTION_MERGE => {
                open.extend(operands.first());
                nesting = nesting.max(open.len() as u32);
            }
            // Blocks stand in the order of the structure, so a construct ends where its merge block begins.
            OP_LABEL => {
                while open.last().is_some_and(|merge| operands.first() == Some(merge)) {
                    open.pop();
                }
            }
            _ => {}
        }
        at += count;
    }
    if !found {
        return Err(bad(&format!("it has no compute entry point `{entry}`")));
    }
    Ok(Module { words, capabilities, nesting })
}

/// Whether the operands of an `OpEntryPoint` name this compute kernel.
fn is_entry(operands: &[u32], entry: &str) -> bool {
    let name = operands.get(2..).unwrap_or_default().iter().flat_map(|w| w.to_le_bytes());
    operands.first() == Some(&GL_COMPUTE) && name.take_while(|b| *b != 0).eq(entry.bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|w| w.to_le_bytes()).collect()
    }

    fn head(rest: &[u32]) -> Vec<u8> {
        bytes(&[&[MAGIC, 0x0001_0500, 0, 10, 0], rest].concat())
    }

    #[track_caller]
    fn refused(code: &[u8], why: &str) {
        let error = read(code, "main").expect_err("a bad module");
        assert!(error.contains(why), "{error}");
    }

    #[test]
    fn capabilities_and_entry() {
        let main = u32::from_le_bytes(*b"main");
        let code =
            head(&[2 << 16 | 17, 1, 2 << 16 | 17, 11, 5 << 16 | 15, 5, 4, main, 0, 1 << 16 | 253]);
        assert_eq!(read(&code, "main").expect("a module").capabilities, [1, 11]);
        refused(&head(&[5 << 16 | 15, 4, 4, main, 0]), "no compute entry point");
        refused(&head(&[5 << 16 | 15, 5, 4, main, u32::from(b'2')]), "no compute entry point");
    }

    #[test]
    fn constructs_are_counted_while_they_are_open() {
        let main = u32::from_le_bytes(*b"main");
        let entry = [5 << 16 | 15, 5, 4, main, 0];
        let merge = |op, id| [3 << 16 | op, id, 0];
        let label = |id| [2 << 16 | OP_LABEL, id];
        let body = [
            &merge(OP_SELECTION_MERGE, 10)[..],
            &merge(OP_SELECTION_MERGE, 11),
            &label(11),
            &label(10),
            &merge(OP_SELECTION_MERGE, 12),
            &label(12),
        ]
        .concat();
        let nested = |words: &[u32]| {
            read(&head(&[&entry[..], words].concat()), "main").expect("a module").nesting
        };
        assert_eq!((nested(&[]), nested(&body)), (0, 2));
    }

    #[test]
    fn damage() {
        refused(&[], "does not begin");
        refused(&[1, 2, 3], "multiple of four");
        refused(&bytes(&[1, 2, 3, 4, 5]), "does not begin");
        refused(&head(&[0]), "passes its end");
        refused(&head(&[9 << 16 | 17, 1]), "passes its end");
        refused(&head(&[1 << 16 | 15]), "no compute entry point");
    }
}
