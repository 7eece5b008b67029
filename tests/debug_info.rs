//! `-g`: lines of the pseudo-code in PTX, in the line table of objects, and in directives of HLSL and MSL; without it nothing of that.

mod common;

use common::{Folder, fixture, luisac};
#[cfg(feature = "llvm")]
use std::process::Command;

/// Compiles saxpy into a folder and gives the artifact's bytes.
fn compile(folder: &Folder, target: &str, artifact: &str, flags: &[&str]) -> Vec<u8> {
    let input = fixture("saxpy.json").display().to_string();
    let line = ["compile", &input, "--target", target, "-o", artifact];
    luisac(folder.path(), line.iter().chain(flags)).ok();
    folder.read(artifact)
}

/// The lines of the pseudo-code that contain a text; the first is 1.
fn lines_with(source: &str, text: &str) -> Vec<usize> {
    (1..).zip(source.lines()).filter(|(_, l)| l.contains(text)).map(|(i, _)| i).collect()
}

/// Every directive names a line that there is, and the store stands under the one that writes.
#[test]
fn hlsl_and_msl_have_directives_with_the_lines_of_the_pseudo_code() {
    for (target, store) in [("hlsl", "Store"), ("msl", "] = ")] {
        for level in ["-O0", "-O2"] {
            let folder = Folder::new();
            let text = compile(&folder, target, "a.txt", &["-g", level]);
            let text = String::from_utf8(text).expect("text");
            let source = String::from_utf8(folder.read("saxpy.ast")).expect("text");
            let write = lines_with(&source, "buffer_write");
            assert_eq!(write.len(), 1, "{source}");
            let (mut current, mut stores) = (0, Vec::new());
            for line in text.lines() {
                if let Some(rest) = line.strip_prefix("#line ") {
                    let (number, file) = rest.split_once(' ').expect("a number and a file");
                    assert_eq!(file, "\"saxpy.ast\"");
                    current = number.parse().expect("a number");
                    assert!(current <= source.lines().count(), "{text}");
                    continue;
                }
                if line.contains(store) && current != 0 {
                    stores.push(current);
                }
                current += usize::from(current != 0);
            }
            assert_eq!(stores, write, "{target} {level}: {text}");
            let plain = compile(&folder, target, "b.txt", &[level]);
            let without: String = text
                .lines()
                .filter(|l| !l.starts_with("#line"))
                .map(|l| l.to_owned() + "\n")
                .collect();
            assert_eq!(without, String::from_utf8(plain).expect("text"));
        }
    }
}

#[cfg(feature = "llvm")]
#[test]
fn ptx_names_the_lines_of_the_pseudo_code() {
    for level in ["-O0", "-O2"] {
        let folder = Folder::new();
        let ptx = compile(&folder, "ptx", "a.ptx", &["-g", level]);
        let ptx = String::from_utf8(ptx).expect("text");
        let source = String::from_utf8(folder.read("saxpy.ast")).expect("text");
        let write = lines_with(&source, "buffer_write");
        assert_eq!(write.len(), 1, "{source}");
        assert!(ptx.contains("saxpy.ast\""), "{ptx}");
        assert!(!ptx.contains(", debug"), "the code stays optimisable: {ptx}");
        let locs: Vec<usize> = ptx
            .lines()
            .filter_map(|l| l.trim().strip_prefix(".loc"))
            .filter_map(|l| l.split_whitespace().nth(1)?.parse().ok())
            .collect();
        let count = source.lines().count();
        assert!(locs.contains(&write[0]), "{level}: {locs:?}, wanted {write:?}");
        assert!(locs.iter().all(|&l| l <= count), "{locs:?} in {count} lines");
        // The store stands under the line of the statement that writes.
        let mut current = 0;
        let mut stores = Vec::new();
        for line in ptx.lines().map(str::trim) {
            if let Some(rest) = line.strip_prefix(".loc") {
                current = rest.split_whitespace().nth(1).map_or(0, |n| n.parse().unwrap_or(0));
            } else if line.starts_with("st.global") {
                stores.push(current);
            }
        }
        assert_eq!(stores, write, "{ptx}");
    }
}

#[cfg(feature = "llvm")]
#[test]
fn objects_have_a_line_table() {
    for detail in ["cpu:x86-64-v3", "cpu:aarch64-apple-darwin", "cpu:x86_64-pc-windows-msvc"] {
        let folder = Folder::new();
        compile(&folder, detail, "a.o", &["-g", "-O0"]);
        let source = String::from_utf8(folder.read("saxpy.ast")).expect("text");
        let mut dump = Command::new("llvm-dwarfdump-22");
        let output = match dump.arg("--debug-line").arg(folder.path().join("a.o")).output() {
            Ok(output) => output,
            Err(e) => return println!("skipped: llvm-dwarfdump-22: {e}"),
        };
        let table = String::from_utf8_lossy(&output.stdout);
        assert!(table.contains("saxpy.ast"), "{detail}: {table}");
        // Rows: address, line, column, ...
        let rows: Vec<usize> = table
            .lines()
            .filter(|l| l.starts_with("0x"))
            .filter_map(|l| l.split_whitespace().nth(1)?.parse().ok())
            .collect();
        for line in lines_with(&source, "buffer_write") {
            assert!(rows.contains(&line), "{detail}: {line} is not among {rows:?}");
        }
    }
}

#[cfg(feature = "llvm")]
#[test]
fn nothing_of_it_without_the_flag() {
    let folder = Folder::new();
    let ptx = String::from_utf8(compile(&folder, "ptx", "a.ptx", &[])).expect("text");
    assert!(!ptx.contains(".loc") && !ptx.contains(".file") && !ptx.contains(".section"), "{ptx}");
    let object = compile(&folder, "cpu:x86-64-v3", "a.o", &[]);
    assert!(!object.windows(6).any(|w| w == b".debug"), "a debug section");
    assert!(!folder.names().contains(&"saxpy.ast".to_owned()), "{:?}", folder.names());
    // Line information changes no instruction.
    let strip = |text: &str| -> Vec<String> {
        let code = |l: &&str| l.starts_with('\t') && l.trim_end().ends_with(';');
        text.lines().filter(code).map(str::to_owned).collect()
    };
    let with = String::from_utf8(compile(&folder, "ptx", "b.ptx", &["-g"])).expect("text");
    assert_eq!(strip(&ptx), strip(&with));
}
