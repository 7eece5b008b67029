//! Every recorded kernel reads and checks; the wrong ones are refused with the right code.

mod support;

use luisac_ast::check;
use luisac_ast::diagnostic::Diagnostics;
use luisac_ast::json::{self, InputKind};
use luisac_ast::lint;
use luisac_ast::usage;

/// Kernels of the corpus that must be refused, with the code.
const REFUSED: [(&str, u16); 12] = [
    ("array_size_overflows", 22),
    ("break_outside_loop", 310),
    ("continue_outside_loop", 311),
    ("duplicate_case_values", 316),
    ("empty_input", 2),
    ("entry_out_of_range", 27),
    ("json_depth_bomb", 4),
    ("literal_bad_base64", 30),
    ("literal_too_short", 31),
    ("recursive_callables", 41),
    ("too_few_call_arguments", 340),
    ("type_refers_to_itself", 21),
];

fn read_and_check(bytes: &[u8]) -> Diagnostics {
    match json::read(bytes) {
        Ok(library) => check::check(&library),
        Err(errors) => errors,
    }
}

#[test]
fn right_kernels_pass_and_wrong_ones_are_refused() {
    for path in support::kernels(&["own", "luisa", "perf", "bugs"]) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let bytes = std::fs::read(&path).expect("the corpus can be read");
        let found = read_and_check(&bytes);
        match REFUSED.iter().find(|(n, _)| *n == name) {
            None => assert!(!found.has_errors(), "{}: {found}", path.display()),
            Some((_, code)) => {
                let first =
                    found.errors().next().unwrap_or_else(|| panic!("{name} must be refused"));
                assert_eq!(first.code.0, *code, "{name}: {found}");
                assert!(first.pointer.is_some() || first.offset.is_some(), "{name} has no place");
            }
        }
    }
}

/// Where the recorded kernels are looked at: what is said of them is true, and these are all.
const WARNED: [(&str, &str); 6] = [
    ("autodiff_full/", "unused-argument"),
    ("binding_group/", "unused-argument"),
    ("cpu_callable/sort", "unportable"),
    ("own/vector_makers", "never-written-output"),
    ("autodiff/gg", "never-written-output"),
    ("autodiff/gg", "unwritten-shared"),
];

#[test]
fn lints_do_not_cry_wolf() {
    for path in support::kernels(&["own", "luisa", "perf"]) {
        let library = json::read(&std::fs::read(&path).expect("the corpus can be read"))
            .expect("the kernel reads");
        for warning in check::check(&library).0.into_iter().chain(lint::run(&library).0) {
            let name = lint::by_code(warning.code).map_or("", |lint| lint.name);
            let place = path.display().to_string();
            let known = WARNED.iter().any(|(part, lint)| place.contains(part) && *lint == name);
            assert!(known, "{place}: {name}: {warning}");
        }
    }
}

#[test]
fn inputs_are_told_apart() {
    for path in support::kernels(&["own", "bugs"]) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let bytes = std::fs::read(&path).expect("the corpus can be read");
        let wanted = match name.as_str() {
            "empty_input" => InputKind::Unknown,
            n if n.starts_with("names_") => InputKind::JsonV1,
            _ => InputKind::JsonD0,
        };
        assert_eq!(json::detect(&bytes), wanted, "{name}");
    }
    if let Some(corpus) = support::corpus() {
        let library = std::fs::read(corpus.join("callable-libraries/arithmetic.bin"))
            .expect("the corpus can be read");
        assert_eq!(json::detect(&library), InputKind::BinaryLibrary);
    }
    assert_eq!(json::detect(b"// a module\n\nmodule;\n"), InputKind::XirText);
    assert_eq!(json::detect(b"# Notes\n"), InputKind::Unknown);
    assert_eq!(json::detect(b"kernels are fun"), InputKind::Unknown);
    assert_eq!(json::detect(b"\xff\xfe\x00\x01"), InputKind::Unknown);
}

/// The usage that a file of version 1 stores is the one that follows from the body.
#[test]
fn stored_usage_is_the_computed_one() {
    for path in support::kernels(&["bugs"]) {
        let bytes = std::fs::read(&path).expect("the corpus can be read");
        if json::detect(&bytes) != InputKind::JsonV1 {
            continue;
        }
        let library = json::read(&bytes).expect("the kernel reads");
        let usages = usage::marked(&library);
        for (id, function) in &library.functions {
            for (variable, data) in &function.variables {
                let computed = usages[id][variable];
                assert_eq!(data.usage, computed, "{}: {variable} of {id}", path.display());
            }
        }
    }
}

/// Cutting a file anywhere gives an error and no panic.
#[test]
fn truncated_kernels_are_refused() {
    for path in support::kernels(&["own"]).iter().take(6) {
        let bytes = std::fs::read(path).expect("the corpus can be read");
        for len in (0..bytes.len() - 2).step_by(bytes.len() / 23 + 1) {
            assert!(json::read(&bytes[..len]).is_err(), "{} cut to {len} bytes", path.display());
        }
    }
}

/// A wrong byte anywhere gives an error or a sound library, and no panic.
#[test]
fn damaged_kernels_do_not_panic() {
    let mut seed = 1u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) as usize
    };
    for path in support::kernels(&["own", "bugs"]) {
        let bytes = std::fs::read(&path).expect("the corpus can be read");
        if bytes.is_empty() || bytes.len() > 60_000 {
            continue;
        }
        for _ in 0..12 {
            let mut damaged = bytes.clone();
            let at = random() % damaged.len();
            let printable = b"0123456789\"{}[],:ABCTEnull-. \\xyzw=";
            damaged[at] = printable[random() % printable.len()];
            let _ = read_and_check(&damaged);
        }
    }
}

/// Garbage in the padding of literals does not come through.
#[test]
fn padding_of_literals_is_zero() {
    for path in support::kernels(&["own"]) {
        let library = json::read(&std::fs::read(&path).expect("the corpus can be read"))
            .expect("the kernel reads");
        for function in library.functions.values() {
            for (id, expr) in &function.exprs {
                let Some(bytes) = function.literal(id) else { continue };
                let types = &library.types;
                if types.is_vector(expr.ty) && types.dim(expr.ty) == 3 {
                    assert!(
                        bytes[bytes.len() / 4 * 3..].iter().all(|b| *b == 0),
                        "{}: {id}",
                        path.display()
                    );
                }
            }
        }
    }
}
