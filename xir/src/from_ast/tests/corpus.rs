//! Every kernel of the corpus lowers; what cannot be compiled is refused with the right code.

use super::super::*;
use luisac_ast::diagnostic::Code;
use luisac_ast::json;
use std::path::{Path, PathBuf};

pub fn corpus() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus");
    if path.is_dir() {
        Some(path)
    } else {
        println!("skipped: there is no `../shared/corpus`");
        None
    }
}

/// All JSON kernels below a folder, in order.
pub fn kernels(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![folder.to_path_buf()];
    while let Some(folder) = pending.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let path = entry.path();
            let name = path.to_string_lossy().into_owned();
            if path.is_dir() {
                pending.push(path);
            } else if name.ends_with(".json") && !name.ends_with(".expect.json") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// What the lowering of these kernels must be refused with.
const REFUSED: [(&str, Code); 4] = [
    ("bugs/break_outside_loop.json", JUMP_OUTSIDE),
    ("bugs/continue_outside_loop.json", JUMP_OUTSIDE),
    ("bugs/duplicate_case_values.json", DUPLICATE_CASE),
    ("bugs/too_few_call_arguments.json", MALFORMED),
];

#[test]
fn every_kernel_lowers() {
    let Some(corpus) = corpus() else { return };
    let mut failures = Vec::new();
    let mut count = 0;
    for folder in ["own", "luisa", "bugs", "perf"] {
        for path in kernels(&corpus.join(folder)) {
            let Ok(bytes) = std::fs::read(&path) else { continue };
            // Inputs that the reader refuses are the reader's business.
            let Ok(library) = json::read(&bytes) else { continue };
            count += 1;
            let refused =
                REFUSED.iter().find(|(name, _)| path.ends_with(name)).map(|(_, code)| *code);
            match (lower(&library, &Options::default()), refused) {
                (Ok(module), None) => failures.extend(problems(&path, &module)),
                (Ok(_), Some(code)) => {
                    failures.push(format!("{}: not refused with {code}", path.display()))
                }
                (Err(errors), Some(code)) if errors.find(code).is_some() => {}
                (Err(errors), _) => failures.push(format!("{}: {errors}", path.display())),
            }
        }
    }
    println!("{count} kernels");
    assert!(count > 300, "only {count} kernels found");
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

fn problems(path: &Path, module: &Module) -> Vec<String> {
    let mut found = Vec::new();
    if module.kernels().count() == 0 {
        found.push(format!("{}: no kernel", path.display()));
    }
    if let Err(errors) = crate::verify::verify(module) {
        found.extend(errors.iter().map(|e| format!("{}: {e}", path.display())));
    }
    found
}

/// The members of a JSON object: name and text.
fn members(text: &str) -> Vec<(&str, &str)> {
    let (mut depth, mut in_string, mut escaped) = (0, false, false);
    let (mut start, mut name, mut found) = (0, "", Vec::new());
    for (i, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => {
                if in_string && depth == 1 {
                    name = &text[start..i];
                }
                in_string = !in_string;
                if in_string && depth == 1 {
                    start = i + 1;
                }
            }
            '{' if !in_string => {
                depth += 1;
                if depth == 2 {
                    start = i;
                }
            }
            '}' if !in_string => {
                depth -= 1;
                if depth == 1 {
                    found.push((name, &text[start..=i]));
                }
            }
            _ => {}
        }
    }
    found
}

#[test]
fn every_callable_of_the_libraries_lowers() {
    let Some(corpus) = corpus() else { return };
    let (mut failures, mut count) = (Vec::new(), 0);
    for path in kernels(&corpus.join("callable-libraries")) {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        for (name, module) in members(&text) {
            let Ok(library) = json::read(module.as_bytes()) else {
                failures.push(format!("{}: {name} does not read", path.display()));
                continue;
            };
            count += 1;
            match lower_all(&library, &Options::default()).map(|m| crate::verify::verify(&m)) {
                Ok(Ok(())) => {}
                Ok(Err(errors)) => {
                    failures.push(format!("{}: {name}: {}", path.display(), errors[0]))
                }
                Err(errors) => failures.push(format!("{}: {name}: {errors}", path.display())),
            }
        }
    }
    println!("{count} callables");
    assert!(count > 30, "only {count} callables found");
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}
