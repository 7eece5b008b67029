//! The text form over the recorded kernels: what lowering makes is valid, prints, parses, prints the same and is valid again.

use luisac_xir::{from_ast, text, verify};
use std::path::{Path, PathBuf};

/// Whether a file holds inputs and outputs of a kernel, not a kernel.
fn is_expectation(path: &Path) -> bool {
    path.to_string_lossy().ends_with(".expect.json")
}

/// All JSON files under a folder, in order; empty if it is absent.
fn json_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for path in entries.flatten().map(|e| e.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "json") && !is_expectation(&path) {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

fn check(path: &Path) -> Result<bool, String> {
    let bytes = std::fs::read(path).map_err(|e| e.to_string())?;
    let Ok(library) = luisac_ast::json::read(&bytes) else { return Ok(false) };
    let Ok(module) = from_ast::lower_all(&library, &from_ast::Options::default()) else {
        return Ok(false);
    };
    let valid = |module, when: &str| {
        verify::verify(module).map_err(|errors| {
            let first: Vec<String> = errors.iter().take(3).map(ToString::to_string).collect();
            format!("{} violations {when}: {}", errors.len(), first.join("; "))
        })
    };
    valid(&module, "after lowering")?;
    let printed = text::print(&module);
    let parsed = text::parse(&printed).map_err(|e| format!("does not parse: {e}"))?;
    let again = text::print(&parsed);
    if printed != again {
        let pair = printed.lines().zip(again.lines()).find(|(a, b)| a != b);
        return Err(format!("prints differently: {pair:?}"));
    }
    valid(&parsed, "after parsing")?;
    Ok(true)
}

#[test]
fn the_corpus_round_trips() {
    let corpus = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/corpus"));
    let files = json_files(corpus);
    if files.is_empty() {
        println!("skipped: no corpus at {}", corpus.display());
        return;
    }
    let (mut passed, mut failed) = (0, Vec::new());
    for path in &files {
        match check(path) {
            Ok(done) => passed += usize::from(done),
            Err(message) => failed.push(format!("{}: {message}", path.display())),
        }
    }
    assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
    assert!(passed >= 220, "{passed} of {} files were read and lowered", files.len());
    println!("{passed} of {} files", files.len());
}

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/xir.md");

#[test]
fn the_example_of_the_documentation_is_right() {
    let page = std::fs::read_to_string(PAGE).expect("docs/xir.md is there");
    let mut examples = 0;
    for block in page.split("```xir\n").skip(1) {
        let example = block.split("```").next().unwrap_or_default();
        let module = text::parse(example).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(text::print(&module), example);
        assert_eq!(verify::verify(&module), Ok(()));
        examples += 1;
    }
    assert!(examples > 0);
}

#[test]
fn the_documentation_names_every_operation() {
    let page = std::fs::read_to_string(PAGE).expect("docs/xir.md is there");
    for op in text::operations() {
        for word in [Some(op.mnemonic()), op.sub_name()].into_iter().flatten() {
            // In backticks alone, or first in a line of code.
            let named = page.contains(&format!("`{word}`")) || page.contains(&format!("`{word} "));
            assert!(named, "`{word}` is missing");
        }
    }
}
