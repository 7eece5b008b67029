//! `docs/tutorial.md`, run as it stands: every block of commands in its order, every file written, every output compared.
#![cfg(all(feature = "llvm", unix))]

mod common;

use common::{Folder, finish};
use std::path::Path;
use std::process::Command;

/// A fenced block: its language, the word behind that, and its text.
struct Block {
    language: String,
    file: Option<String>,
    text: String,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        match line.strip_prefix("```") {
            Some(_) if inside => inside = false,
            Some(info) => {
                let mut words = info.split_whitespace().map(str::to_owned);
                let language = words.next().unwrap_or_default();
                blocks.push(Block { language, file: words.next(), text: String::new() });
                inside = true;
            }
            None if inside => {
                let block = blocks.last_mut().expect("one is open");
                block.text.push_str(line);
                block.text.push('\n');
            }
            None => {}
        }
    }
    blocks
}

/// Runs commands; gives all that they said, and how they ended if not well.
fn run(folder: &Folder, commands: &str) -> String {
    let root = env!("CARGO_MANIFEST_DIR");
    let ours = Path::new(env!("CARGO_BIN_EXE_luisac")).parent().expect("a folder");
    let path = format!("{}:{}", ours.display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("sh");
    command.args(["-e", "-c", &format!("exec 2>&1\n{commands}")]).current_dir(folder.path());
    command.env("PATH", path).env("LUISAC", root).env("NO_COLOR", "1").env("LC_ALL", "C");
    let outcome = finish(&mut command);
    let mut said = outcome.text().to_owned();
    if outcome.code != Some(0) {
        said.push_str(&format!("exit code {}\n", outcome.code.unwrap_or(-1)));
    }
    said
}

/// Whether a text is what was wanted, in which `…` is anything.
fn fits(text: &str, wanted: &str) -> bool {
    let mut parts = wanted.split('…');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let parts: Vec<&str> = parts.collect();
    for (i, part) in parts.iter().enumerate() {
        let at = if i + 1 == parts.len() { rest.rfind(part) } else { rest.find(part) };
        let Some(at) = at else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.is_empty()
}

#[test]
fn the_tutorial_does_what_it_says() {
    let page = include_str!("../docs/tutorial.md");
    let folder = Folder::new();
    let blocks = blocks(page);
    // The first block is about the reader's own folders, which are made here.
    let mut blocks = blocks.iter().skip(1).peekable();
    let mut steps = 0;
    while let Some(block) = blocks.next() {
        match (block.language.as_str(), &block.file) {
            ("sh", _) => {
                let said = run(&folder, &block.text);
                let wanted = blocks.next_if(|next| next.language == "text");
                let wanted = wanted.map_or("", |block| &block.text);
                assert!(
                    fits(&said, wanted),
                    "{}gave\n{said}but the page says\n{wanted}",
                    block.text
                );
                steps += 1;
            }
            (_, Some(file)) => {
                folder.write(file, &block.text);
            }
            // The example project has a test of its own.
            ("rust", None) => {}
            (other, None) => panic!("a block of {other} that nothing is done with"),
        }
    }
    assert!(steps >= 9, "{steps} blocks were run");
    for (number, heading) in page.lines().filter_map(|l| l.strip_prefix("## ")).enumerate() {
        assert!(heading.starts_with(&format!("{}. ", number + 1)), "{heading}");
    }
}

#[test]
fn dots_stand_for_anything() {
    assert!(fits("a 12 ms\nb\n", "a … ms\nb\n") && fits("", "") && fits("x", "…"));
    assert!(!fits("a 12 s\nb\n", "a … ms\nb\n") && !fits("x\n", "") && !fits("xy", "…x"));
}
