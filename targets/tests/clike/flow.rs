//! Control flow.

use super::{body, text, with_buffer};
use luisac_artifact::metadata::MathMode;

#[track_caller]
fn hlsl(blocks: &str, expected: &str) {
    let text = text(&with_buffer(blocks), "hlsl", MathMode::Fast);
    let expected: Vec<&str> = expected.lines().skip(1).collect();
    let body: Vec<&str> = body(&text).lines().collect();
    let found: Vec<String> = body.iter().map(|l| format!("    {l}")).collect();
    assert_eq!(found.join("\n"), expected.join("\n").trim_end(), "{text}");
}

#[test]
fn chains_of_tests_and_empty_arms() {
    hlsl(
        "  %2: bool = arithmetic binary_less %1, u32 4
  %3: bool = arithmetic binary_less %1, u32 8
  if %2, then b1, else b2, merge b7
b1:
  resource_write buffer_write %0, %1, i32 1
  br b7
b2:
  if %3, then b3, else b4, merge b5
b3:
  resource_write buffer_write %0, %1, i32 2
  br b5
b4:
  resource_write buffer_write %0, %1, i32 3
  br b5
b5:
  br b7
b7:
  if %3, then b9, else b8, merge b9
b8:
  resource_write buffer_write %0, %1, i32 4
  br b9
b9:
  return",
        "
        bool t = dispatch_id.x < 8u;
        if (dispatch_id.x < 4u) {
            data.Store<int>(dispatch_id.x * 4u, 1);
        } else if (t) {
            data.Store<int>(dispatch_id.x * 4u, 2);
        } else {
            data.Store<int>(dispatch_id.x * 4u, 3);
        }
        if (!t) {
            data.Store<int>(dispatch_id.x * 4u, 4);
        }
    }",
    );
}

#[test]
fn continue_runs_the_update_and_switches_keep_it() {
    hlsl(
        "  %2: u32 = alloca local !name \"i\"
  loop prepare b1, body b2, update b6, merge b7
b1:
  %3: u32 = load %2
  %4: bool = arithmetic binary_less %3, u32 9
  cond_br %4, b2, b7
b2:
  %5: u32 = load %2
  switch %5, default b4, case 1 b3, case 2 b8, merge b5
b3:
  continue b6
b8:
  break b5
b4:
  resource_write buffer_write %0, %5, i32 1
  br b5
b5:
  br b6
b6:
  %6: u32 = load %2
  %7: u32 = arithmetic binary_add %6, u32 1
  store %2, %7
  br b1
b7:
  return",
        "
        uint i = 0u;
        bool first_round = true;
        while (true) {
            if (!first_round) {
                i = i + 1u;
            }
            first_round = false;
            if (!(i < 9u)) {
                break;
            }
            uint t = i;
            switch (t) {
                case 1u: {
                    continue;
                }
                case 2u: {
                    break;
                }
                default: {
                    data.Store<int>(t * 4u, 1);
                    break;
                }
            }
        }
    }",
    );
}

#[test]
fn swapped_values_are_read_before_they_are_written() {
    hlsl(
        "  %2: i32 = alloca local !name \"a\"
  %3: i32 = alloca local !name \"b\"
  store %2, i32 1
  store %3, i32 2
  simple_loop body b1, merge b4
b1:
  %4: i32 = load %2
  %5: i32 = load %3
  store %2, %5
  store %3, %4
  %6: bool = arithmetic binary_less %4, i32 5
  if %6, then b2, else b3, merge b3
b2:
  break b4
b3:
  br b1
b4:
  %7: i32 = load %2
  resource_write buffer_write %0, %1, %7
  return",
        "
        int a = 1;
        int b = 2;
        while (true) {
            int t = a;
            a = b;
            b = t;
            if (t < 5) {
                break;
            }
        }
        data.Store<int>(dispatch_id.x * 4u, a);
    }",
    );
}

#[test]
fn values_of_inner_scopes_are_declared_outside() {
    let source = with_buffer(
        "  simple_loop body b1, merge b2
b1:
  %2: i32 = resource_read buffer_read %0, %1
  break b2
b2:
  resource_write buffer_write %0, u32 0, %2
  return",
    );
    for (target, load) in
        [("hlsl", "t = data.Load<int>(dispatch_id.x * 4u);"), ("msl", "t = data[dispatch_id.x];")]
    {
        let text = text(&source, target, MathMode::Fast);
        let declared = text.find("    int t = 0;\n").expect("a declaration");
        let looped = text.find("while (true)").expect("a loop");
        assert!(declared < looped && text[looped..].contains(load), "{text}");
    }
}
