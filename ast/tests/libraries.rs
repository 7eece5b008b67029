//! Serialized callable libraries: equal to their JSON, written again as they were, refused when damaged.

#[path = "support/dump.rs"]
mod dump;
mod support;

use std::path::PathBuf;

use dump::dumps;
use luisac_ast::binary::{self, CallableLibrary};
use luisac_ast::check;
use luisac_ast::json;
use luisac_ast::model::FunctionId;

fn files() -> Vec<PathBuf> {
    let Some(corpus) = support::corpus() else { return Vec::new() };
    let entries =
        std::fs::read_dir(corpus.join("callable-libraries")).expect("the corpus can be read");
    let mut files: Vec<_> = entries
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.extension().is_some_and(|e| e == "bin"))
        .collect();
    files.sort();
    files
}

fn readable() -> Vec<(PathBuf, Vec<u8>, CallableLibrary)> {
    let mut found = Vec::new();
    for path in files() {
        let bytes = std::fs::read(&path).expect("the corpus can be read");
        if path.file_stem().is_some_and(|s| s == "missing_dependency") {
            continue;
        }
        let library = binary::read(&bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        found.push((path, bytes, library));
    }
    found
}

#[test]
fn libraries_are_equal_to_their_json() {
    for (path, _, file) in readable() {
        assert_eq!(file.layout, binary::Layout::B, "{}", path.display());
        assert!(
            !check::check(&file.library).has_errors(),
            "{}: {}",
            path.display(),
            check::check(&file.library)
        );
        let text = std::fs::read(path.with_extension("json")).expect("the corpus can be read");
        let modules: serde_json::Map<String, serde_json::Value> =
            serde_json::from_slice(&text).expect("is JSON");
        assert_eq!(modules.len(), file.named.len(), "{}", path.display());
        for id in &file.named {
            let name = &file.records[*id].names[0];
            let module = serde_json::to_vec(&modules[name]).expect("can be written");
            let library =
                json::read(&module).unwrap_or_else(|e| panic!("{}: {name}: {e}", path.display()));
            let entry = library.entry.expect("there is an entry");
            assert_eq!(
                dumps(&file.library)[id.as_u32() as usize],
                dumps(&library)[entry.as_u32() as usize],
                "{}: {name}",
                path.display()
            );
        }
    }
}

#[test]
fn stored_usages_are_the_computed_ones() {
    for (path, _, file) in readable() {
        let usages = luisac_ast::usage::marked(&file.library);
        for (id, function) in &file.library.functions {
            for (variable, data) in &function.variables {
                let computed = usages[id][variable];
                assert_eq!(data.usage, computed, "{}: {variable} of {id}", path.display());
            }
        }
    }
}

#[test]
fn libraries_are_written_as_they_were() {
    for (path, bytes, file) in readable() {
        let written = binary::write(&file).expect("can be written");
        assert_eq!(written.len(), bytes.len(), "{}", path.display());
        // Padding may hold anything, and is written as zeros.
        let differs = written.iter().zip(&bytes).position(|(new, old)| new != old && *new != 0);
        assert_eq!(differs, None, "{}", path.display());
        assert!(binary::read(&written).expect("reads") == file, "{}", path.display());
        assert_eq!(
            binary::write(&binary::read(&written).expect("reads")).expect("can be written"),
            written
        );
    }
}

/// The newest layout, made from the files of the older one.
#[test]
fn the_newest_layout_reads_and_writes() {
    for (path, _, mut file) in readable() {
        let sets = |ops: &[u8]| {
            let mut set = vec![0u8; 408usize.div_ceil(8)];
            for number in (0..229u32).filter(|n| ops[*n as usize / 8] >> (n % 8) & 1 == 1) {
                let op = luisac_ast::CallOp::from_number_a(number).expect("exists").number_c();
                set[usize::from(op) / 8] |= 1 << (op % 8);
            }
            set
        };
        file.layout = binary::Layout::C;
        for record in file.records.values_mut() {
            record.direct_ops = sets(&record.direct_ops);
            record.all_ops = sets(&record.all_ops);
            record.noinline = true;
        }
        let written = binary::write(&file).expect("can be written");
        let again = binary::read(&written).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert_eq!(again.layout, binary::Layout::C, "{}", path.display());
        assert!(again == file, "{}", path.display());
    }
}

#[test]
fn a_missing_callee_is_named() {
    let Some(corpus) = support::corpus() else { return };
    let bytes = std::fs::read(corpus.join("callable-libraries/missing_dependency.bin"))
        .expect("the corpus can be read");
    let errors = binary::read(&bytes).expect_err("must be refused");
    assert_eq!(errors.0[0].code, binary::codes::MISSING_CALLEE, "{errors}");
    assert!(errors.0[0].offset.is_some());
}

/// A library cut in two files is refused alone and whole together, whichever comes first.
#[test]
fn a_missing_callee_is_taken_from_another_library() {
    let mut tried = 0;
    for (path, _, whole) in readable() {
        let halves = |first: bool| {
            let mut half = whole.clone();
            let calls = |id: &FunctionId| !whole.records[*id].callees.is_empty();
            half.named.retain(|id| calls(id) == first);
            half.inline.retain(|id| calls(id) == first);
            (half.named.len() + half.inline.len(), binary::write(&half).expect("can be written"))
        };
        let ((callers, upper), (helpers, lower)) = (halves(true), halves(false));
        if callers == 0 || helpers == 0 {
            continue;
        }
        tried += 1;
        let errors = binary::read(&upper).expect_err("a callee is missing");
        assert_eq!(errors.0[0].code, binary::codes::MISSING_CALLEE, "{errors}");
        for files in [[&upper[..], &lower[..]], [&lower[..], &upper[..]]] {
            let together = binary::read_together(&files)
                .unwrap_or_else(|(file, e)| panic!("{}: {file}: {e}", path.display()));
            assert!(!check::check(&together.library).has_errors(), "{}", path.display());
            let names = |library: &luisac_ast::Library| {
                let mut names: Vec<_> =
                    library.functions.values().map(|f| f.name.clone()).collect();
                names.sort();
                names
            };
            assert_eq!(names(&together.library), names(&whole.library), "{}", path.display());
            let from_first = together.origins.values().filter(|file| **file == 0).count();
            assert_eq!(from_first, if files[0] == upper { callers } else { helpers });
        }
        // What nobody has is still missing.
        let (file, errors) = binary::read_together(&[&lower, &upper[..upper.len() - 1]])
            .expect_err("the second one is cut");
        assert_eq!(file, 1, "{errors}");
    }
    assert!(tried > 0 || readable().is_empty());
}

#[test]
fn damaged_libraries_do_not_panic() {
    let mut seed = 7u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) as usize
    };
    for (path, bytes, _) in readable() {
        for len in (0..bytes.len()).step_by(bytes.len() / 61 + 1) {
            assert!(binary::read(&bytes[..len]).is_err(), "{} cut to {len} bytes", path.display());
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert!(binary::read(&longer).is_err(), "{}", path.display());
        for _ in 0..300 {
            let mut damaged = bytes.clone();
            let at = random() % damaged.len();
            damaged[at] = if random() % 2 == 0 { 0xff } else { damaged[at] ^ 1 << (random() % 8) };
            if let Ok(file) = binary::read(&damaged) {
                let _ = check::check(&file.library);
            }
        }
    }
}
