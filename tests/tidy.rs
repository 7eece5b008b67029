//! The sources and pages themselves: nothing unfinished, nothing that leads nowhere.

mod common;

use common::{all_right, files};
use luisac_ast::diagnostic::Code;
use std::path::{Path, PathBuf};

const CRATES: [&str; 9] =
    [".", "build", "ast", "xir", "passes", "targets", "artifact", "runtime", "xtask"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The Rust files of all crates, tests included.
fn sources() -> Vec<PathBuf> {
    let parts = ["src", "tests", "examples", "benches"];
    let folders = CRATES.iter().flat_map(|c| parts.iter().map(move |p| root().join(c).join(p)));
    folders.filter(|f| f.is_dir()).flat_map(|f| files(&f, ".rs")).collect()
}

#[test]
fn nothing_is_left_undone() {
    // Put together, so that this file has none of them.
    let words = ["todo", "unimplemented", "dbg"].map(|w| format!("{w}!("));
    let marks = ["TO", "FIX", "XX"].map(|w| {
        format!(
            "{w}{}",
            if w == "TO" {
                "DO"
            } else if w == "FIX" {
                "ME"
            } else {
                "X"
            }
        )
    });
    let mut found = Vec::new();
    for path in sources() {
        for (number, line) in text(&path).lines().enumerate() {
            let hit = words.iter().chain(&marks).find(|w| line.contains(w.as_str()));
            found.extend(hit.map(|w| format!("{}:{}: {w}", shown(&path), number + 1)));
        }
    }
    all_right(found);
}

#[test]
fn sources_are_not_overlong() {
    let long = |path: &PathBuf| {
        let lines = text(path).lines().count();
        (lines > 800).then(|| format!("{}: {lines} lines", shown(path)))
    };
    all_right(sources().iter().filter_map(long).collect());
}

/// The pages: those of the root and of `docs`.
fn pages() -> Vec<PathBuf> {
    let mut pages = files(&root().join("docs"), ".md");
    pages.extend(["README.md", "ARCHITECTURE.md", "CHANGELOG.md"].map(|p| root().join(p)));
    pages
}

/// Targets of the links of a page that are files: `[text](target)`.
fn links(page: &Path) -> Vec<(String, PathBuf)> {
    let text = text(page);
    let mut found = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        for part in line.split("](").skip(1).filter(|_| !in_code) {
            let target = part.split(')').next().unwrap_or_default();
            let file = target.split('#').next().unwrap_or_default();
            if !file.is_empty() && !file.contains("://") && !file.contains(char::is_whitespace) {
                let folder = page.parent().expect("a page is in a folder");
                found.push((target.to_owned(), folder.join(file)));
            }
        }
    }
    found
}

#[test]
fn links_lead_somewhere() {
    let mut broken = Vec::new();
    for page in pages() {
        for (target, path) in links(&page) {
            if !path.exists() {
                broken.push(format!("{}: {target}", shown(&page)));
            }
        }
    }
    all_right(broken);
}

#[test]
fn every_page_is_linked() {
    let linked: Vec<PathBuf> = pages()
        .iter()
        .flat_map(|page| links(page))
        .filter_map(|(_, path)| path.canonicalize().ok())
        .collect();
    let mut all = files(&root().join("docs"), ".md");
    all.extend(files(&root().join("docs"), ".json"));
    let missing = all.into_iter().filter(|page| {
        let path = page.canonicalize().expect("the page is there");
        !page.ends_with("docs/README.md") && !linked.contains(&path)
    });
    all_right(missing.map(|page| format!("no page links {}", shown(&page))).collect());
}

/// Codes such as `L0123` in a text.
fn codes(text: &str) -> Vec<String> {
    let is_code = |word: &&str| {
        word.len() == 5 && word.starts_with('L') && word[1..].bytes().all(|b| b.is_ascii_digit())
    };
    text.split(|c: char| !c.is_ascii_alphanumeric()).filter(is_code).map(str::to_owned).collect()
}

#[test]
fn codes_in_pages_exist() {
    let mut unknown = Vec::new();
    for page in pages() {
        for code in codes(&text(&page)) {
            if Code::parse(&code).and_then(luisac::codes::find).is_none() {
                unknown.push(format!("{}: {code}", shown(&page)));
            }
        }
    }
    all_right(unknown);
}

/// Comments of one kind only: no lines of dashes or stars.
#[test]
fn no_banners() {
    let mut found = Vec::new();
    for path in sources() {
        for (number, line) in text(&path).lines().enumerate() {
            let line = line.trim_start();
            let rule = ["-----", "=====", "*****", "#####"];
            if line.starts_with("//") && rule.iter().any(|r| line.contains(r)) {
                found.push(format!("{}:{}", shown(&path), number + 1));
            }
        }
    }
    all_right(found);
}
