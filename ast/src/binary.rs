//! Serialized callable libraries (`callable-library.md`).
//!
//! The format has no magic number and no version: revisions differ in a few fields and in the numbering of operations.
//! Each known layout is tried until one fits to the last byte; what fits none is reported with the error of the layout
//! that got furthest. Functions are named by hash and may come in any order: they are sorted, callees first.

mod assemble;
pub mod codes;
mod cursor;
mod literals;
mod nodes;
mod record;
mod sort;
mod together;
mod writer;

use cranelift_entity::{PrimaryMap, SecondaryMap};

pub use assemble::assemble;
pub use together::{Together, read_together};
pub use writer::write;

use crate::callops::CallOp;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::model::{ExprId, FunctionId, FunctionTag, Library, StmtId, VariableId};

use cursor::{Cursor, Read, Wrong};

/// A numbering of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Numbering {
    /// 229 operations, 2024-10.
    A,
    /// 363 operations, mid-2026.
    B,
    /// 408 operations, 2026-09.
    C,
}

impl Numbering {
    fn len(self) -> usize {
        match self {
            Numbering::A => 229,
            Numbering::B => 363,
            Numbering::C => 408,
        }
    }

    fn op(self, number: u32) -> Option<CallOp> {
        match self {
            Numbering::A => CallOp::from_number_a(number),
            Numbering::B => CallOp::from_number_b(number),
            Numbering::C => CallOp::from_number_c(number),
        }
    }

    fn number(self, op: CallOp) -> Option<u16> {
        match self {
            Numbering::A => op.number_a(),
            Numbering::B => op.number_b(),
            Numbering::C => Some(op.number_c()),
        }
    }
}

/// Which fields a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// How operations are numbered, and how long the sets of them are.
    pub numbering: Numbering,
    /// Whether records have curve bases, the printing flag and the block size (all but the oldest).
    pub modern: bool,
    /// Whether records have the flag against inlining.
    pub noinline: bool,
    /// Where coroutines' suspensions stand among the statements.
    pub suspend: Suspend,
}

/// The place of `SUSPEND` among the statements, which numbers those behind it. It came in 2026, and nothing in a file says where: what
/// follows the number of a statement shows which one it is. Suspensions themselves are not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Suspend {
    /// There is none, or it is behind all others: `AUTO_DIFF` is 14, `PRINT` 15.
    None,
    /// `AUTO_DIFF` is 14, `PRINT` 16.
    BeforePrint,
    /// `AUTO_DIFF` is 15, `PRINT` 16.
    BeforeAutoDiff,
}

impl Suspend {
    /// The numbers of `AUTO_DIFF` and `PRINT`.
    fn numbers(self) -> (u32, u32) {
        match self {
            Suspend::None => (14, 15),
            Suspend::BeforePrint => (14, 16),
            Suspend::BeforeAutoDiff => (15, 16),
        }
    }
}

/// The layouts that are tried, the most likely first.
const LAYOUTS: [Layout; 10] = {
    const MIDDLE: Layout = Layout { numbering: Numbering::B, ..Layout::B };
    const EARLY_C: Layout = Layout { noinline: false, ..Layout::C };
    [
        Layout::B,
        Layout::C,
        Layout { suspend: Suspend::BeforePrint, ..Layout::C },
        Layout { suspend: Suspend::BeforeAutoDiff, ..Layout::C },
        MIDDLE,
        Layout { noinline: true, ..MIDDLE },
        EARLY_C,
        Layout { suspend: Suspend::BeforePrint, ..EARLY_C },
        Layout { suspend: Suspend::BeforeAutoDiff, ..EARLY_C },
        Layout { modern: false, ..Layout::B },
    ]
};

impl Layout {
    /// The layout of 2024-10.
    pub const B: Layout =
        Layout { numbering: Numbering::A, modern: true, noinline: false, suspend: Suspend::None };
    /// The layout of 2026-09.
    pub const C: Layout = Layout { numbering: Numbering::C, noinline: true, ..Layout::B };
}

/// What a file says about a function beyond the function itself. All of it follows from the function, or is identity;
/// it is kept so that a file can be written again as it was.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// Identity of the function among all files.
    pub hash: u64,
    /// Names of the function, in order; none for a helper.
    pub names: Vec<String>,
    /// Number of each variable in the file; `u32::MAX` for none.
    pub uids: SecondaryMap<VariableId, u32>,
    /// Usage of each number, those that no variable has included.
    pub usages: Vec<u32>,
    /// Builtin variables, in order.
    pub builtins: Vec<VariableId>,
    /// Local variables, in order.
    pub locals: Vec<VariableId>,
    /// Shared variables, in order.
    pub shared: Vec<VariableId>,
    /// Callables that are called directly, in order.
    pub callees: Vec<FunctionId>,
    /// Operations that are used directly, bit by number.
    pub direct_ops: Vec<u8>,
    /// Operations that are used directly or by a callee, bit by number.
    pub all_ops: Vec<u8>,
    /// Whether some atomic operation works on a float.
    pub float_atomics: bool,
    /// Whether something is printed.
    pub printing: bool,
    /// Whether the function must not be inlined.
    pub noinline: bool,
    /// Hash of each expression.
    pub expr_hashes: SecondaryMap<ExprId, u64>,
    /// Hash of each statement.
    pub stmt_hashes: SecondaryMap<StmtId, u64>,
}

/// A file: its functions, and what it says about them.
#[derive(Clone, Debug, PartialEq)]
pub struct CallableLibrary {
    /// The functions. The entry is the kernel, if there is exactly one.
    pub library: Library,
    /// Which fields the file has.
    pub layout: Layout,
    /// What the file says about each function.
    pub records: PrimaryMap<FunctionId, Record>,
    /// Named functions in the order of the file; one with several names is there several times.
    pub named: Vec<FunctionId>,
    /// Helpers in the order of the file.
    pub inline: Vec<FunctionId>,
}

/// Reads a library.
///
/// The library is sound as one from [`json::read`](crate::json::read) is.
///
/// # Errors
/// If the bytes fit no layout: what is wrong, with its byte offset, for the layout that got furthest.
pub fn read(bytes: &[u8]) -> Result<CallableLibrary, Diagnostics> {
    if bytes.is_empty() {
        return Err(Diagnostic::error(codes::TRUNCATED, "the input is empty").at_offset(0).into());
    }
    // Ranges of literals and texts have 32 bits.
    if bytes.len() > u32::MAX as usize {
        let message = format!("the library has {} bytes", bytes.len());
        return Err(Diagnostic::error(codes::TOO_LARGE, message).at_offset(0).into());
    }
    let mut furthest: Option<Wrong> = None;
    for layout in LAYOUTS {
        match read_as(bytes, layout) {
            Ok(library) => return Ok(library),
            // All of it could be read, so this is its layout.
            Err(wrong) if wrong.code == codes::RECURSION => {
                furthest = Some(wrong);
                break;
            }
            Err(wrong) if furthest.as_ref().is_none_or(|f| wrong.offset > f.offset) => {
                furthest = Some(wrong)
            }
            Err(_) => {}
        }
    }
    let wrong = furthest.unwrap_or(Wrong::new(codes::TRUNCATED, 0, "the input is empty"));
    Err(Diagnostic::error(wrong.code, wrong.message).at_offset(wrong.offset).into())
}

/// What a file starts with.
struct Header<'a> {
    /// Behind the header.
    cursor: Cursor<'a>,
    /// How many of the functions, the first ones, have names.
    named: usize,
    /// Of all functions.
    hashes: Vec<u64>,
}

fn header(bytes: &[u8]) -> Read<Header<'_>> {
    let mut cursor = Cursor::new(bytes);
    let named = cursor.count(8)?;
    let inline = cursor.count(8)?;
    let mut hashes = Vec::new();
    for _ in 0..named + inline {
        hashes.push(cursor.u64()?);
    }
    Ok(Header { cursor, named, hashes })
}

/// Reads the functions of a file up to its end.
fn read_records(reader: &mut record::Reader<'_>, named: usize, hashes: &[u64]) -> Read<()> {
    for (i, hash) in hashes.iter().enumerate() {
        let at = reader.cursor.at;
        if reader.cursor.u64()? != *hash {
            return Err(Wrong::new(
                codes::HASH,
                at,
                "the hash is not the one that the file lists for this place",
            ));
        }
        let name = if i < named { Some(reader.cursor.string()?) } else { None };
        reader.record(*hash, name)?;
    }
    match reader.cursor.left() {
        0 => Ok(()),
        left => {
            let message = format!("{left} bytes are left after the last function");
            Err(Wrong::new(codes::TRAILING, reader.cursor.at, message))
        }
    }
}

fn read_as(bytes: &[u8], layout: Layout) -> Result<CallableLibrary, Wrong> {
    let Header { cursor, named, hashes } = header(bytes)?;
    let mut reader = record::Reader::new(cursor, layout, &hashes);
    read_records(&mut reader, named, &hashes)?;
    let (named, inline) = hashes.split_at(named);
    let mut file = sort::sorted(reader, layout, named, inline)?;
    let mut kernels = file.library.functions.iter().filter(|(_, f)| f.tag == FunctionTag::Kernel);
    file.library.entry = match (kernels.next(), kernels.next()) {
        (Some((id, _)), None) => Some(id),
        _ => None,
    };
    Ok(file)
}
