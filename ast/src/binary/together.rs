//! Several libraries as one: what is missing in one file is taken from the others, by hash.

use cranelift_entity::PrimaryMap;
use rustc_hash::FxHashMap;

use super::cursor::Wrong;
use super::record::Reader;
use super::{Header, LAYOUTS, Layout, codes, header, read_records, sort};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::model::{FunctionId, Library};

/// The functions of several files.
#[derive(Clone, Debug, PartialEq)]
pub struct Together {
    /// All functions, callees first; one that several files have is there once.
    pub library: Library,
    /// The file, by position, that each function comes from: the first that has it.
    pub origins: PrimaryMap<FunctionId, usize>,
}

/// Reads several libraries, which may call functions of each other.
///
/// # Errors
/// As [`read`](super::read), with the position of the file that is wrong.
pub fn read_together(files: &[&[u8]]) -> Result<Together, (usize, Diagnostics)> {
    let wrong_in = |file: usize| {
        move |wrong: Wrong| {
            let error = Diagnostic::error(wrong.code, wrong.message).at_offset(wrong.offset);
            (file, Diagnostics::from(error))
        }
    };
    let mut headers = Vec::new();
    for (i, bytes) in files.iter().enumerate() {
        if bytes.is_empty() {
            return Err(wrong_in(i)(Wrong::new(codes::TRUNCATED, 0, "the input is empty")));
        }
        headers.push(header(bytes).map_err(wrong_in(i))?);
    }
    let hashes: Vec<u64> = headers.iter().flat_map(|h| h.hashes.iter().copied()).collect();
    let mut file_of: FxHashMap<u64, usize> = FxHashMap::default();
    for (i, header) in headers.iter().enumerate() {
        for hash in &header.hashes {
            file_of.entry(*hash).or_insert(i);
        }
    }
    let mut together: Option<Reader<'_>> = None;
    let mut first_layout = LAYOUTS[0];
    for (i, (file, header)) in files.iter().zip(headers).enumerate() {
        let layout = layout_of(file, &hashes).map_err(wrong_in(i))?;
        let Header { cursor, named, hashes: own } = header;
        let reader = match &mut together {
            Some(reader) => reader,
            None => {
                first_layout = layout;
                together.insert(Reader::new(super::Cursor::new(file), layout, &hashes))
            }
        };
        (reader.cursor, reader.layout) = (cursor, layout);
        read_records(reader, named, &own).map_err(wrong_in(i))?;
    }
    let Some(reader) = together else {
        return Ok(Together { library: Library::new(), origins: PrimaryMap::new() });
    };
    let file = sort::sorted(reader, first_layout, &[], &[]).map_err(wrong_in(0))?;
    let origin = |hash: &u64| file_of.get(hash).copied().unwrap_or(0);
    let origins = file.records.values().map(|record| origin(&record.hash)).collect();
    Ok(Together { library: file.library, origins })
}

/// The layout that a file has, if callables of these hashes may be called.
fn layout_of(bytes: &[u8], hashes: &[u64]) -> Result<Layout, Wrong> {
    let mut furthest: Option<Wrong> = None;
    for layout in LAYOUTS {
        let read = header(bytes).and_then(|Header { cursor, named, hashes: own }| {
            // Its own functions first, so that they are numbered as they come.
            let all = [&own[..], hashes].concat();
            read_records(&mut Reader::new(cursor, layout, &all), named, &own)
        });
        match read {
            Ok(()) => return Ok(layout),
            Err(wrong) if furthest.as_ref().is_none_or(|f| wrong.offset > f.offset) => {
                furthest = Some(wrong);
            }
            Err(_) => {}
        }
    }
    Err(furthest.unwrap_or(Wrong::new(codes::TRUNCATED, 0, "the input is empty")))
}
