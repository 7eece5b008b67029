//! Names, comments and long inputs.

use super::{parse, text};
use luisac_artifact::metadata::MathMode;

/// All identifiers of a text.
fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|w| !w.is_empty()).collect()
}

#[test]
fn hostile_names_and_comments_do_not_steer_the_text() {
    let long = "n".repeat(65536);
    let names = [
        "float",
        "groupshared",
        "threadgroup",
        "a\\n}; int x",
        "*/ \\\"",
        "\\u{e4}",
        "lc_load",
        "__x",
        "9",
        "dispatch_id",
        "dispatch_id",
        "params",
        "kernel_k",
        long.as_str(),
    ];
    let mut source = "module;\nkernel @k block(1, 1, 1) (".to_string();
    for (i, name) in names.iter().enumerate() {
        source.push_str(&format!("%{i}: resource buffer<i32> \"{name}\", "));
    }
    source.push_str(&format!("%{}: value i32 \"while\") {{\nb0:\n", names.len()));
    for i in 0..names.len() {
        source.push_str(&format!(
            "  resource_write buffer_write %{i}, u32 0, %{} !comment \"a\\n*/ #error ??/\\\\\"\n",
            names.len()
        ));
    }
    source.push_str("  return\n}\n");
    for target in ["hlsl", "msl"] {
        let text = text(&source, target, MathMode::Fast);
        assert!(text.is_ascii() && text.len() < 20_000, "{target}: {} bytes", text.len());
        assert!(text.lines().all(|l| l.len() < 400));
        for line in text.lines().filter(|l| l.contains("#error")) {
            assert!(line.trim_start().starts_with("// ") && !line.ends_with('\\'), "{line}");
            assert!(!line.contains("??"), "{line}");
        }
        // Each buffer is written under a name of its own.
        let stores = text.lines().filter(|l| l.contains("Store<int>") || l.contains("[0u] = "));
        let mut seen: Vec<&str> = stores.map(|l| words(l)[0]).collect();
        assert_eq!(seen.len(), names.len(), "{text}");
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), names.len(), "{text}");
        let own = if target == "hlsl" { "groupshared" } else { "threadgroup" };
        let reserved = ["float", own, "while", "params", "kernel_k"];
        assert!(seen.iter().all(|n| !reserved.contains(n) && !n.starts_with("__")), "{seen:?}");
    }
}

#[test]
fn deep_expressions_become_short_lines() {
    let mut source = "module;\nkernel @k block(1, 1, 1) (%0: resource buffer<f32>) {\nb0:\n  \
                      %1: f32 = resource_read buffer_read %0, u32 0\n"
        .to_string();
    let count = 100_000;
    for i in 0..count {
        source.push_str(&format!(
            "  %{}: f32 = arithmetic binary_add %{}, f32 0.5\n",
            i + 2,
            i + 1
        ));
    }
    source.push_str(&format!(
        "  resource_write buffer_write %0, u32 0, %{}\n  return\n}}\n",
        count + 1
    ));
    parse(&source);
    for target in ["hlsl", "msl"] {
        let text = text(&source, target, MathMode::Fast);
        assert!(text.lines().all(|l| l.len() < 300));
        assert_eq!(text.matches(" + 0.5f").count(), count);
    }
}

#[test]
fn deep_branches_grow_with_their_number_only() {
    let depth = 3000;
    let mut blocks = String::new();
    for i in 0..depth {
        let (then, merge) = (2 * i + 1, 2 * i + 2);
        blocks
            .push_str(&format!("  if %2, then b{then}, else b{merge}, merge b{merge}\nb{then}:\n"));
    }
    blocks.push_str("  resource_write buffer_write %0, %1, i32 1\n");
    for i in (0..depth).rev() {
        blocks.push_str(&format!("  br b{0}\nb{0}:\n", 2 * i + 2));
    }
    blocks.push_str("  return");
    let source =
        super::with_buffer(&format!("  %2: bool = arithmetic binary_less %1, u32 4\n{blocks}"));
    for target in ["hlsl", "msl"] {
        let text = text(&source, target, MathMode::Fast);
        assert_eq!(text.matches("if (").count(), depth + 1, "{target}");
        assert!(text.len() < depth * 300);
    }
}
