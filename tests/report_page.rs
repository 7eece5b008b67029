//! The page of a report in a real browser: it opens, the clicks work, nothing is fetched. Skipped with a line where there is no
//! `chromedriver`.

#![cfg(feature = "llvm")]

mod common;

use common::browser::Browser;
use common::{Folder, fixture, luisac};
use std::path::PathBuf;

/// Runs the command line in a folder; it must succeed.
#[track_caller]
fn run(folder: &Folder, line: &[&str]) {
    luisac(folder.path(), line).ok();
}

/// The path of a fixture with loops and branches.
fn input() -> String {
    fixture("for_steps.json").display().to_string()
}

/// Writes a report of the fixture for the CPU.
fn report(folder: &Folder, name: &str, level: &str) -> PathBuf {
    let line =
        ["compile", &input(), level, "--target", "cpu:x86-64-v3", "-o", "k.o", "--report", name];
    run(folder, &line);
    folder.path().join(name)
}

/// How often a selector matches, as a number in the page.
fn count(browser: &mut Browser, selector: &str) -> i64 {
    let script = format!("return document.querySelectorAll({selector:?}).length");
    browser.run(&script).as_i64().expect("a count")
}

fn text(browser: &mut Browser, script: &str) -> String {
    browser.run(script).as_str().expect("a text").to_string()
}

#[test]
fn a_page_opens_and_answers_to_clicks_and_keys() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = Folder::new();
    browser.open(&report(&folder, "report.html", "-O2"));
    assert_eq!(text(&mut browser, "return document.body.dataset.ready"), "yes");
    let passes = count(&mut browser, ".pass");
    assert!(passes > 10, "{passes} passes");

    // The filter leaves the passes that changed something; the first of them was chosen at the start.
    browser.click("#changed");
    let changed = count(&mut browser, ".pass");
    assert!(changed > 0 && changed < passes);
    assert_eq!(count(&mut browser, ".pass.same"), 0);
    assert_eq!(count(&mut browser, ".pass[aria-selected=true]"), 1);
    assert!(count(&mut browser, "#left .row.gone, #right .row.new") > 0, "changes are marked");

    // Keys step through passes and changes.
    let before =
        text(&mut browser, "return document.querySelector('[aria-selected=true].pass').id");
    browser.press("j");
    let after = text(&mut browser, "return document.querySelector('[aria-selected=true].pass').id");
    assert_ne!(before, after);
    browser.press("n");
    assert_eq!(count(&mut browser, "#left .row.at, #right .row.at"), 2);

    // By keys alone: folds open, values light up, the ends of the list.
    let folds = count(&mut browser, "#left .row.folded");
    browser.press("o");
    assert!(folds == 0 || count(&mut browser, "#left .row.folded") < folds, "{folds} folds");
    browser.press("v");
    assert!(count(&mut browser, ".v.pin") >= 1);
    browser.press("\u{e00c}");
    let selected = "return document.querySelector('[aria-selected=true].pass').id";
    browser.press("\u{e010}");
    let last = text(&mut browser, selected);
    browser.press("j");
    assert_eq!(text(&mut browser, selected), last);
    browser.run(&format!("choose(Number({after:?}.split('-')[1]))"));

    // A value that is clicked lights up wherever it stands.
    browser.click("#right .row .v[data-key*='%']");
    assert!(count(&mut browser, ".v.pin") > 1);
    browser.press("\u{e00c}");
    assert_eq!(count(&mut browser, ".v.pin"), 0);

    // The graph has a block for each label, and a click on one leads back to the code.
    browser.press("2");
    let blocks = count(&mut browser, "#picture .block");
    assert!(blocks > 1, "{blocks} blocks");
    browser.run("document.querySelector('#picture .block').dispatchEvent(new MouseEvent('click'))");
    assert_eq!(browser.run("return document.getElementById('code').hidden"), false);

    // Lines of the output light up with those of the kernel that they come from.
    browser.press("3");
    assert!(count(&mut browser, "#text .row") > 5);
    browser.run(
        "const v = emitted.places; const i = v.text.findIndex(n => n && v.source[n - 1]); \
         emitted.lists.text.reveal(i); emitted.light('text', i);",
    );
    assert!(count(&mut browser, "#text .row.lit") > 0);
    assert!(count(&mut browser, "#source .row.lit") == 1);
    // From line to line by a key.
    let line = browser.run("return emitted.line").as_i64();
    browser.press("n");
    assert_ne!(browser.run("return emitted.line").as_i64(), line);
    assert!(count(&mut browser, "#source .row.lit") == 1);
    assert_eq!(browser.run("return performance.getEntriesByType('resource').length"), 0);
    assert_eq!(browser.errors(), Vec::<String>::new());
}

#[test]
fn the_code_of_every_moment_is_what_the_passes_left() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = Folder::new();
    let passes = "destructure_cfg,mem2reg,fix(const_fold,dce,simplify_cfg)";
    run(&folder, &["opt", &input(), "--passes", passes, "-o", "last.xir", "--report", "r.json"]);
    run(&folder, &["report", "html", "r.json", "-o", "r.html"]);
    browser.open(&folder.path().join("r.html"));
    // Numbers differ between the two texts, as the page keeps those of the entities: compare without them.
    let bare = |text: &str| text.trim().replace(|c: char| c.is_ascii_digit(), "");
    let shown = text(&mut browser, "return sides[0].lines(sides[0].runs.length).join('\\n')");
    let written = String::from_utf8(folder.read("last.xir")).expect("text");
    assert_eq!(bare(&shown), bare(&written));
    // What a comparison says leads from one text to the other, also where the page computes it.
    let agree = "const s = sides[0]; for (let i = 0; i < s.runs.length; i++) { \
        const [a, b] = [s.lines(i), s.lines(i + 1)]; \
        if (applied(a, compared(a, b)).join('\\n') !== b.join('\\n')) return false; } return true;";
    assert_eq!(browser.run(agree), true);
}

#[test]
fn two_reports_stand_side_by_side() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = Folder::new();
    report(&folder, "a.json", "-O1");
    report(&folder, "b.json", "-O2");
    run(&folder, &["report", "diff", "a.json", "b.json", "--html", "two.html"]);
    browser.open(&folder.path().join("two.html"));
    assert!(count(&mut browser, ".pass") > 10);
    assert_eq!(count(&mut browser, "#charts svg .curve"), 2);
    browser.run("choose(entries.length - 1)");
    assert!(count(&mut browser, "#left .row") > 0 && count(&mut browser, "#right .row") > 0);
    assert_eq!(browser.errors(), Vec::<String>::new());
}

/// A kernel of 50,000 instructions: the page opens and a pass is chosen within seconds, and only what is in sight exists.
#[test]
fn a_long_kernel_does_not_choke_the_page() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = Folder::new();
    let mut source =
        String::from("module;\nkernel @long block(64, 1, 1) (%0: resource buffer<u32>) {\nb0:\n");
    source.push_str("  %1: u32 = arithmetic extract dispatch_id, u32 0\n");
    for i in 2..50_002 {
        let op = ["binary_add", "binary_bit_xor", "binary_mul"][i % 3];
        source.push_str(&format!(
            "  %{i}: u32 = arithmetic {op} %{}, u32 {}\n",
            i - 1,
            i % 977 + 3
        ));
    }
    source.push_str("  resource_write buffer_write %0, %1, %50001\n  return\n}\n");
    folder.write("long.xir", source);
    let passes = "const_fold,algebraic_simplify,reassociate,gvn,dce";
    run(
        &folder,
        &["opt", "long.xir", "--passes", passes, "-o", "out.xir", "--report", "long.html"],
    );
    browser.open(&folder.path().join("long.html"));
    let took = browser.run(
        "const t = performance.now(); for (let i = 0; i < entries.length; i++) choose(i); \
         element('fold').click(); return (performance.now() - t) / entries.length;",
    );
    let took = took.as_f64().expect("a time");
    assert!(took < 1500.0, "{took} ms to show a pass");
    assert!(count(&mut browser, ".row") < 1000, "rows out of sight exist");
}
