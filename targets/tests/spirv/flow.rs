//! Control flow that is easily got wrong: valid, with the phis that it needs, at each level.

use luisac_targets::OptLevel;
use luisac_xir::text;

use crate::support::{Outcome, compile, has_judge, judge};

/// The text of a kernel with this body, judged at each level with another version; the one of `-O2`.
#[track_caller]
fn kernel(body: &str) -> String {
    let source = format!(
        "module;\nkernel @k block(64, 1, 1) (%0: resource buffer<u32>, %1: value u32) {{\n{body}\n}}\n"
    );
    let module = text::parse(&source).unwrap_or_else(|e| panic!("{e}\n{source}"));
    let kernel = module.kernels().next().expect("a kernel");
    let mut shown = String::new();
    let pairs = [
        ("1.3", OptLevel::O0),
        ("1.4", OptLevel::O1),
        ("1.5", OptLevel::O2),
        ("1.6", OptLevel::O3),
    ];
    for (detail, level) in pairs {
        match compile(&module, kernel, detail, |o| o.opt_level = level) {
            Outcome::Compiled(artifact) => {
                if has_judge() {
                    let told = judge(&artifact.code, detail);
                    assert_eq!(told, None, "{level:?}\n{}", artifact.texts[0].text);
                }
                if level == OptLevel::O2 {
                    shown.clone_from(&artifact.texts[0].text);
                }
            }
            Outcome::Refused(e) => panic!("{detail} {level:?}: {e}"),
        }
    }
    shown
}

fn count(text: &str, op: &str) -> usize {
    text.split_whitespace().filter(|w| *w == op).count()
}

/// Two values change places each round: the phis must take the values of the round before together.
#[test]
fn values_swapped_around_a_loop() {
    let text = kernel(
        "b0:
  %2: u32 = alloca local
  %3: u32 = alloca local
  %4: u32 = alloca local
  store %2, u32 1
  store %3, %1
  loop prepare b1, body b2, update b3, merge b4
b1:
  %5: u32 = load %4
  %6: bool = arithmetic binary_less %5, %1
  cond_br %6, b2, b4
b2:
  %7: u32 = load %2
  %8: u32 = load %3
  store %2, %8
  store %3, %7
  br b3
b3:
  %9: u32 = load %4
  %10: u32 = arithmetic binary_add %9, u32 1
  store %4, %10
  br b1
b4:
  %11: u32 = load %2
  resource_write buffer_write %0, u32 0, %11
  return",
    );
    let phis: Vec<Vec<&str>> = text
        .lines()
        .filter(|l| l.contains("OpPhi"))
        .map(|l| l.split_whitespace().collect())
        .collect();
    assert_eq!(phis.len(), 3, "{text}");
    // `%a = OpPhi %type %x %from %y %from2`: the two that swap name each other.
    let name = |p: &[&str]| p[0].to_string();
    let swapped = phis.iter().any(|p| {
        phis.iter()
            .any(|q| p.contains(&name(q).as_str()) && q.contains(&name(p).as_str()) && p != q)
    });
    assert!(swapped, "{text}");
    assert!(!text.contains("OpVariable %") || !text.contains(" Function\n"), "{text}");
}

#[test]
fn continue_in_a_switch_in_a_loop() {
    let text = kernel(
        "b0:
  %2: u32 = alloca local
  loop prepare b1, body b2, update b3, merge b4
b1:
  %3: u32 = load %2
  %4: bool = arithmetic binary_less %3, %1
  cond_br %4, b2, b4
b2:
  %5: u32 = load %2
  switch %5, default b6, case 1 b7, case 2 b8, merge b9
b3:
  %6: u32 = load %2
  %7: u32 = arithmetic binary_add %6, u32 1
  store %2, %7
  br b1
b4:
  return
b6:
  break b9
b7:
  continue b3
b8:
  resource_write buffer_write %0, u32 1, u32 2
  br b9
b9:
  %8: u32 = load %2
  resource_write buffer_write %0, u32 0, %8
  br b3",
    );
    assert_eq!((count(&text, "OpLoopMerge"), count(&text, "OpReturn")), (1, 2), "{text}");
}

/// A break leaves one level; two are left by a flag or by what restructuring makes of it.
#[test]
fn two_loops_left_at_once() {
    kernel(
        "b0:
  %2: u32 = alloca local
  %3: bool = alloca local
  simple_loop body b1, merge b8
b1:
  simple_loop body b2, merge b6
b2:
  %4: u32 = load %2
  %5: u32 = arithmetic binary_add %4, u32 1
  store %2, %5
  %6: bool = arithmetic binary_greater %5, %1
  if %6, then b3, else b4, merge b5
b3:
  store %3, bool true
  break b6
b4:
  br b5
b5:
  continue b2
b6:
  %7: bool = load %3
  if %7, then b7, else b9, merge b10
b7:
  break b8
b8:
  %8: u32 = load %2
  resource_write buffer_write %0, u32 0, %8
  return
b9:
  br b10
b10:
  br b1",
    );
}

#[test]
fn a_return_from_nested_loops() {
    let text = kernel(
        "b0:
  simple_loop body b1, merge b6
b1:
  simple_loop body b2, merge b5
b2:
  %2: u32 = resource_read buffer_volatile_read %0, u32 0
  %3: bool = arithmetic binary_equal %2, %1
  if %3, then b3, else b4, merge b7
b3:
  return
b4:
  break b5
b5:
  resource_write buffer_volatile_write %0, u32 1, u32 1
  br b1
b6:
  return
b7:
  br b2",
    );
    assert!(text.contains("OpReturn"), "{text}");
}

/// A loop without an end is kept, and nothing is said of what comes after.
#[test]
fn a_loop_without_an_end() {
    let text = kernel(
        "b0:
  simple_loop body b1, merge b2
b1:
  resource_write buffer_volatile_write %0, u32 0, u32 1
  br b1
b2:
  resource_write buffer_write %0, u32 1, u32 1
  return",
    );
    assert_eq!(count(&text, "OpLoopMerge"), 1, "{text}");
}

/// All ways out of the loop are returns: its merge is never reached.
#[test]
fn a_loop_whose_exits_are_returns() {
    kernel(
        "b0:
  %2: u32 = alloca local
  simple_loop body b1, merge b5
b1:
  %3: u32 = load %2
  %4: u32 = arithmetic binary_add %3, u32 1
  store %2, %4
  %5: bool = arithmetic binary_greater %4, %1
  if %5, then b2, else b3, merge b4
b2:
  resource_write buffer_write %0, u32 0, %4
  return
b3:
  br b4
b4:
  br b1
b5:
  return",
    );
}

/// The merge of an inner construct is the update of the loop around it.
#[test]
fn a_merge_that_is_an_update() {
    kernel(
        "b0:
  %2: u32 = alloca local
  loop prepare b1, body b2, update b5, merge b6
b1:
  %3: u32 = load %2
  %4: bool = arithmetic binary_less %3, %1
  cond_br %4, b2, b6
b2:
  if %4, then b3, else b4, merge b5
b3:
  resource_write buffer_write %0, u32 0, u32 1
  br b5
b4:
  continue b5
b5:
  %5: u32 = load %2
  %6: u32 = arithmetic binary_add %5, u32 1
  store %2, %6
  br b1
b6:
  return",
    );
}

/// Selectors of 8 and 64 bits, negative cases among them.
#[test]
fn selectors_of_other_widths() {
    let text = kernel(
        "b0:
  %2: i64 = cast static_cast %1
  %3: i8 = cast static_cast %1
  switch %2, default b1, case 18446744073709551615 b2, merge b3
b1:
  br b3
b2:
  resource_write buffer_write %0, u32 0, u32 1
  br b3
b3:
  switch %3, default b4, case 255 b5, merge b6
b4:
  br b6
b5:
  resource_write buffer_write %0, u32 1, u32 1
  br b6
b6:
  return",
    );
    assert!(text.contains("OpSwitch"), "{text}");
}
