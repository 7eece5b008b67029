use super::*;
use crate::text::parse;
use crate::{FunctionKind, Imm, Op, TypeId, ValueId};
use cranelift_entity::EntityRef;

fn module(text: &str) -> Module {
    parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// The lines as a kernel with a buffer `%0`, an image `%1`, a `u32` `%2` and a `bool` `%3`.
fn kernel(lines: &str) -> String {
    let mut text = String::from(
        "kernel @k block(64, 1, 1) (%0: resource buffer<f32>, %1: resource texture2d<f32>, %2: value u32, %3: value bool) {\nb0:\n",
    );
    for line in lines.split(';').map(str::trim).filter(|l| !l.is_empty()) {
        text.push_str(line);
        text.push('\n');
    }
    text + "}\n"
}

#[track_caller]
fn expect(module: &Module, invariant: Option<u8>) {
    let errors = verify(module).err().unwrap_or_default();
    let listed = errors.iter().map(|e| format!("{e}\n")).collect::<String>();
    let found: Vec<u8> = errors.iter().map(|e| e.invariant).collect();
    match invariant {
        None => assert!(errors.is_empty(), "{listed}"),
        Some(n) => assert!(
            !errors.is_empty() && found.iter().all(|&f| f == n),
            "expected invariant {n} to be broken: {listed}"
        ),
    }
    for error in errors {
        assert!(CODES.iter().any(|c| c.code == error.code()));
    }
}

/// Each text is a kernel body that breaks exactly this invariant.
#[track_caller]
fn breaks(invariant: u8, lines: &str) {
    expect(&module(&kernel(lines)), Some(invariant));
}

/// The text of a module breaks exactly this invariant.
#[track_caller]
fn module_breaks(invariant: u8, text: &str) {
    expect(&module(text), Some(invariant));
}

#[track_caller]
fn valid(lines: &str) {
    expect(&module(&kernel(lines)), None);
}

#[test]
fn blocks_end_in_a_terminator() {
    valid("return");
    breaks(1, "%4: u32 = arithmetic abs %2");
    breaks(1, "br b1; b1:");
    breaks(1, "return; return");
}

#[test]
fn every_block_is_led_to() {
    breaks(2, "return; b1: ; return");
    breaks(2, "return; b1: ; br b2; b2: ; br b1");
    valid("if %3, then b1, else b2, merge b3; b1: ; return; b2: ; return; b3: ; unreachable");
}

#[test]
fn blocks_may_wait_for_their_removal() {
    let m = module(&kernel("return; b1: ; br b2; b2: ; return"));
    let options = Options { reachable: false, ..Options::default() };
    assert_eq!(verify_with(&m, &options), Ok(()));
}

#[test]
fn nothing_names_the_entry() {
    breaks(3, "br b0");
    breaks(3, "br b1; b1: ; cond_br %3, b0, b2; b2: ; return");
}

#[test]
fn references_are_of_the_function() {
    let mut m = module(&kernel("%4: u32 = arithmetic abs %2; %5: u32 = arithmetic abs %4; return"));
    let f = m.functions.values_mut().next().unwrap();
    let first = f.first_inst(f.entry().unwrap()).unwrap();
    f.remove_inst(first);
    expect(&m, Some(4));

    let mut m = module(&kernel("br b1; b1: ; return"));
    let f = m.functions.values_mut().next().unwrap();
    let (entry, other) = (f.entry().unwrap(), f.blocks().nth(1).unwrap());
    f.remove_block(other);
    expect(&m, Some(4));
    let f = m.functions.values_mut().next().unwrap();
    let br = f.terminator(entry).unwrap();
    f.inst_blocks_mut(br)[0] = BlockId::new(1000);
    expect(&m, Some(4));

    let mut m = module(&kernel("print \"\", %2; return"));
    let f = m.functions.values_mut().next().unwrap();
    let print = f.first_inst(f.entry().unwrap()).unwrap();
    f.set_arg(print, 0, ValueId::new(1000));
    expect(&m, Some(4));
}

#[test]
fn shapes_fit() {
    type Change = fn(&mut crate::Function, InstId);
    let cases: [(&str, Change); 6] = [
        ("br b1; b1: ; return", |f, i| f.inst_blocks_mut(i).clear()),
        (
            "switch %2, default b1, case 1 b2, merge b3; b1: ; br b3; b2: ; br b3; b3: ; return",
            |f, i| f.set_imm(i, Imm::Cases(Box::new([1, 2]))),
        ),
        ("switch %2, default b1, merge b3; b1: ; br b3; b3: ; return", |f, i| {
            f.set_imm(i, Imm::None)
        }),
        ("return", |f, i| f.set_imm(i, Imm::Text("x".into()))),
        ("unreachable", |f, i| f.set_imm(i, Imm::CurveBases(1))),
        ("cond_br %3, b1, b2; b1: ; br b2; b2: ; return", |f, i| {
            f.inst_blocks_mut(i).push(BlockId::new(2))
        }),
    ];
    for (lines, change) in cases {
        let mut m = module(&kernel(lines));
        expect(&m, None);
        let f = m.functions.values_mut().next().unwrap();
        let end = f.terminator(f.entry().unwrap()).unwrap();
        change(f, end);
        // A block that is named no longer may be reached no longer.
        let errors = verify(&m).unwrap_err();
        assert!(errors.iter().all(|e| matches!(e.invariant, 5 | 2)), "{errors:?}");
        assert!(errors.iter().any(|e| e.invariant == 5), "{errors:?}");
    }
    let access = "%4: f32 = resource_read [typed] buffer_read %0, %2; return";
    let access = access.replace("[typed] buffer_read", "buffer_read [typed]");
    breaks(5, &access);
}

#[test]
fn results_are_where_they_belong() {
    breaks(6, "arithmetic abs %2; return");
    breaks(6, "%4: f32 = resource_write buffer_write %0, %2, f32 1.0; return");
    breaks(6, "%4: u32 = thread_group synchronize_block; return");
    module_breaks(
        6,
        "callable @f() -> u32 {\nb0:\nreturn u32 1\n}\nkernel @k() {\nb0:\ncall @f()\nreturn\n}",
    );
}

#[test]
fn operands_are_counted() {
    breaks(7, "%4: u32 = arithmetic binary_add %2; return");
    breaks(7, "%4: u32 = arithmetic abs %2, %2; return");
    breaks(7, "%4: u32 = alloca local %2; return");
    breaks(7, "cond_br b1, b2; b1: ; return; b2: ; return");
    breaks(7, "thread_group synchronize_block %2; return");
}

#[test]
fn types_follow_the_rules() {
    let wrong = [
        "%4: u32 = arithmetic binary_add %2, i32 1",
        "%4: i32 = arithmetic binary_add %2, %2",
        "%4: bool = arithmetic binary_add %3, %3",
        "%4: f32 = arithmetic binary_bit_and f32 1.0, f32 1.0",
        "%4: u32 = arithmetic binary_shift_left %2, f32 1.0",
        "%4: u32 = arithmetic binary_less %2, %2",
        "%4: bool = arithmetic binary_less %3, %3",
        "%4: bool = arithmetic all %3",
        "%4: u32 = arithmetic select %2, %2, %2",
        "%4: vector<u32, 2> = arithmetic select const vector<u32, 2>(1, 2), const vector<u32, 2>(1, 2), const vector<bool, 3>(true, true, true)",
        "%4: u32 = arithmetic saturate %2",
        "%4: f32 = arithmetic lerp f32 1.0, f32 1.0, const vector<f32, 2>(1.0, 2.0)",
        "%4: f32 = arithmetic popcount f32 1.0",
        "%4: f32 = arithmetic pow_int f32 1.0, f32 1.0",
        "%4: f32 = arithmetic dot f32 1.0, f32 1.0",
        "%4: vector<f32, 2> = arithmetic cross const vector<f32, 2> zero, const vector<f32, 2> zero",
        "%4: f32 = arithmetic reduce_sum const vector<u32, 2>(1, 2)",
        "%4: f32 = arithmetic matrix_determinant f32 1.0",
        "%4: matrix<f32, 2> = arithmetic matrix_comp_add f32 1.0, f32 2.0",
        "%4: vector<f32, 3> = arithmetic matrix_linalg_mul const matrix<f32, 2> zero, const vector<f32, 3> zero",
        "%4: vector<f32, 2> = arithmetic aggregate f32 1.0",
        "%4: vector<f32, 2> = arithmetic aggregate f32 1.0, u32 1",
        "%4: vector<f32, 2> = arithmetic shuffle const vector<f32, 2> zero, u32 0, u32 2",
        "%4: vector<f32, 2> = arithmetic shuffle const vector<f32, 2> zero, u32 0, %2",
        "%4: f32 = arithmetic extract f32 1.0, u32 0",
        "%4: u32 = arithmetic extract const vector<f32, 2> zero, %2",
        "%4: vector<f32, 2> = arithmetic insert const vector<f32, 2> zero, u32 1, u32 0",
        "%4: vector<f32, 2> = cast static_cast %2",
        "%4: u64 = cast bitwise_cast %2",
        "%4: u32 = cast bitwise_cast undef vector<bool, 4>",
        "%4: u32 = thread_group warp_active_all %2",
        "%4: u32 = thread_group warp_read_lane %2, i32 1",
        "thread_group shader_execution_reorder %2",
        "assert %2",
        "%4: u32 = clock",
        "%4: u32 = resource_read buffer_read %0, %2",
        "%4: f32 = resource_read buffer_read %0, f32 1.0",
        "%4: f32 = resource_read byte_buffer_read %0, %2",
        "%4: f32 = resource_read buffer_read %1, %2",
        "%4: vector<f32, 4> = resource_read texture2d_read %1, %2",
        "%4: vector<f32, 4> = resource_read texture3d_read %1, const vector<u32, 3> zero",
        "resource_write buffer_write %0, %2, %2",
        "%4: f32 = atomic fetch_and %0, %2, f32 1.0",
        "%4: f32 = atomic fetch_add %0, %2, u32 1",
        "%4: u32 = alloca local; store %4, f32 1.0",
        "%4: u32 = alloca local; %5: f32 = load %4",
        "%4: u32 = alloca local; %5: u32 = gep %4, u32 0",
        "%4: array<u32, 4> = alloca local; %5: f32 = gep %4, u32 3",
    ];
    for case in wrong {
        breaks(8, &format!("{case}; return"));
    }
    breaks(8, "if %2, then b1, else b2, merge b3; b1: ; br b3; b2: ; br b3; b3: ; return");
    breaks(8, "switch f32 1.0, default b1, merge b3; b1: ; br b3; b3: ; return");
}

#[test]
fn right_types_pass() {
    let right = [
        "%4: u32 = arithmetic binary_shift_left %2, i64 -1",
        "%4: vector<f32, 2> = arithmetic lerp const vector<f32, 2> zero, const vector<f32, 2> zero, f32 0.5",
        "%4: vector<f32, 2> = arithmetic step f32 0.5, const vector<f32, 2> zero",
        "%4: vector<f32, 2> = arithmetic pow_int const vector<f32, 2> zero, %2",
        "%4: matrix<f32, 2> = arithmetic outer_product const vector<f32, 2> zero, const vector<f32, 2> zero",
        "%4: matrix<f32, 2> = arithmetic matrix_comp_mul f32 2.0, const matrix<f32, 2> zero",
        "%4: vector<f32, 2> = arithmetic matrix_linalg_mul const vector<f32, 2> zero, const matrix<f32, 2> zero",
        "%4: f32 = arithmetic extract const matrix<f32, 2> zero, %2, i64 1",
        "%4: vector<f32, 4> = arithmetic shuffle const vector<f32, 2> zero, u32 0, u32 1, u32 1, u32 0",
        "%4: array<u32, 4> = arithmetic select const array<u32, 4> zero, const array<u32, 4>(1, 2, 3, 4), %3",
        "%4: vector<u16, 2> = cast bitwise_cast %2",
        "%4: f32 = atomic fetch_add %0, %2, f32 1.0",
        "%4: array<u32, 4> = alloca shared; %5: u32 = atomic compare_exchange %4, %2, u32 1, u32 2",
        "%4: vector<f32, 4> = resource_read texture2d_read %1, const vector<u32, 2> zero",
        "%4: f32 = resource_read buffer_read %0, i64 3",
        "thread_group shader_execution_reorder %2, %2",
        "%4: u64 = resource_query buffer_size %0",
    ];
    for case in right {
        valid(&format!("{case}; return"));
    }
}

#[test]
fn kinds_of_operands_fit() {
    let wrong = [
        "%4: u32 = load %2",
        "store %2, u32 1",
        "%4: u32 = alloca local; %5: u32 = arithmetic abs %4",
        "%4: u32 = alloca local; store %4, %4",
        "%4: u32 = gep %2, u32 1",
        "print \"\", %0",
        "%4: u32 = alloca local; print \"\", %4",
        "%4: u32 = resource_query buffer_size %2",
        "%4: u32 = alloca local; %5: u32 = atomic exchange %4, u32 1",
        "%4: f32 = atomic fetch_add %0, f32 1.0",
        "%4: bool = alloca local; assert %4",
    ];
    for case in wrong {
        breaks(9, &format!("{case}; return"));
    }
}

#[test]
fn definitions_dominate_uses() {
    breaks(10, "%4: u32 = arithmetic abs %5; %5: u32 = arithmetic abs %2; return");
    breaks(10, "%4: u32 = arithmetic abs %4; return");
    breaks(
        10,
        "cond_br %3, b1, b2; b1: ; %4: u32 = arithmetic abs %2; br b2; b2: ; print \"\", %4; return",
    );
    breaks(
        10,
        "cond_br %3, b1, b2; b1: ; %4: u32 = arithmetic abs %2; br b2; b2: ; %5: u32 = phi (u32 0, b1), (%4, b0); return",
    );
    valid("br b1; b1: ; %4: u32 = phi (u32 0, b0), (%4, b1); cond_br %3, b1, b2; b2: ; return");
    // The merge is never reached.
    valid(
        "if %3, then b1, else b2, merge b3; b1: ; %4: u32 = arithmetic abs %2; return; b2: ; return; b3: ; print \"\", %4; unreachable",
    );
}

#[test]
fn phis_fit_their_block() {
    let two = "cond_br %3, b1, b2; b1: ; br b2; b2: ;";
    valid(&format!("{two} %4: u32 = phi (%2, b0), (u32 1, b1); return"));
    breaks(11, &format!("{two} %4: u32 = phi (%2, b0); return"));
    breaks(11, &format!("{two} %4: u32 = phi (%2, b0), (%2, b1), (%2, b1); return"));
    breaks(11, &format!("{two} %4: u32 = phi (%2, b0), (%2, b1), (%2, b3); br b3; b3: ; return"));
    breaks(11, &format!("{two} print \"\"; %4: u32 = phi (%2, b0), (%2, b1); return"));
}

#[test]
fn use_lists_agree() {
    let mut m = module(&kernel("print \"\", %2; return"));
    let f = m.functions.values_mut().next().unwrap();
    f.forget_uses(ValueId::new(2));
    expect(&m, Some(12));
}

#[test]
fn roles_are_unique() {
    breaks(
        13,
        "if %3, then b1, else b3, merge b3; b1: ; if %3, then b2, else b3, merge b3; b2: ; br b3; b3: ; return",
    );
    breaks(13, "simple_loop body b1, merge b1; b1: ; return");
    breaks(
        13,
        "if %3, then b1, else b2, merge b3; b1: ; br b3; b2: ; br b3; b3: ; if %3, then b1, else b4, merge b4; b4: ; return",
    );
}

#[test]
fn constructs_are_left_as_they_say() {
    let open = "simple_loop body b1, merge b2; b1: ;";
    valid(&format!("{open} break b2; b2: ; return"));
    breaks(14, "br b1; b1: ; break b2; b2: ; return");
    // A `br` may lead where `break` and `continue` may.
    valid(&format!("{open} br b2; b2: ; return"));
    breaks(14, &format!("{open} continue b2; b2: ; return"));
    // Only the switch may be left by `break`, only the loop continued.
    let nested = format!(
        "{open} switch %2, default b3, case 1 b4, merge b5; b2: ; return; b5: ; br b1; b3: ; br b5; b4: ;"
    );
    valid(&format!("{nested} continue b1"));
    valid(&format!("{nested} break b5"));
    breaks(14, &format!("{nested} break b2"));
    breaks(14, &format!("{nested} br b2"));
    breaks(14, &format!("{nested} continue b5"));
    // From an arm into the other construct's inside.
    breaks(
        14,
        "if %3, then b1, else b2, merge b3; b1: ; br b3; b2: ; br b3; b3: ; simple_loop body b4, merge b5; b4: ; br b1; b5: ; return",
    );
    breaks(14, "autodiff_scope entry b1, merge b2; b1: ; return; b2: ; return");
}

#[test]
fn loops_have_their_shape() {
    let parts = "b2: ; br b3; b3: ; br b1; b4: ; return";
    let open = "loop prepare b1, body b2, update b3, merge b4; b1: ;";
    valid(&format!("{open} cond_br %3, b2, b4; {parts}"));
    valid(&format!("{open} br b2; {parts}"));
    valid(&format!(
        "{open} if %3, then b5, else b6, merge b7; b5: ; br b7; b6: ; br b7; b7: ; cond_br %3, b2, b4; {parts}"
    ));
    let query = "type T0 = opaque \"LC_RayQueryAll\";\nkernel @k() {\nb0:\n%0: T0 = alloca local\nray_query_loop dispatch b1, merge b2\nb1:\n";
    let rest = "b2:\nreturn\nb3:\nbr b1\nb4:\nbr b1\n}";
    expect(
        &module(&format!(
            "{query}ray_query_dispatch %0, exit b2, surface b3, procedural b4\n{rest}"
        )),
        None,
    );
    module_breaks(
        15,
        &format!("{query}ray_query_dispatch %0, exit b3, surface b2, procedural b4\n{rest}"),
    );
    module_breaks(15, &format!("{query}br b3\nb2:\nreturn\nb3:\nbr b1\n}}"));
}

#[test]
fn handlers_take_the_operands_of_their_query() {
    let handlers = "callable @f(%0: reference T0, %1: value u32) {\nb0:\nreturn\n}\n\
        callable @g(%0: reference T0) -> u32 {\nb0:\nreturn u32 1\n}\n\
        callable @h(%0: value u32, %1: value u32) {\nb0:\nreturn\n}\n\
        callable @i(%0: reference u32, %1: value u32) {\nb0:\nreturn\n}\n";
    let with = |line: &str| {
        format!(
            "type T0 = opaque \"LC_RayQueryAll\";\n{handlers}kernel @k() {{\nb0:\n%0: T0 = alloca local\n\
             %1: u32 = alloca local\nray_query_pipeline {line}\nreturn\n}}"
        )
    };
    expect(&module(&with("@f, @f(%0, u32 1)")), None);
    // A result, another number of arguments, another kind, no query.
    module_breaks(18, &with("@f, @g(%0, u32 1)"));
    module_breaks(18, &with("@f, @f(%0)"));
    module_breaks(18, &with("@h, @f(%0, u32 1)"));
    module_breaks(8, &with("@i, @i(%1, u32 1)"));
}

#[test]
fn mixed_code_is_not_held_to_structure() {
    valid(
        "if %3, then b1, else b2, merge b3; b1: ; cond_br %3, b4, b3; b2: ; br b4; b3: ; br b4; b4: ; return",
    );
}

#[test]
fn cases_fit() {
    let rest = "merge b3; b1: ; br b3; b2: ; br b3; b3: ; return";
    breaks(16, &format!("switch %2, default b1, case 4294967296 b2, {rest}"));
    breaks(16, &format!("switch %3, default b1, case 2 b2, {rest}"));
    breaks(16, &format!("switch %2, default b1, case 7 b2, case 7 b2, {rest}"));
    valid(&format!("switch %2, default b1, case 4294967295 b2, {rest}"));
    breaks(16, "indexed_branch %2, default b1, case 7 b2, case 7 b1; b1: ; return; b2: ; return");
}

#[test]
fn types_stand_where_they_may() {
    breaks(17, "%4: buffer<f32> = alloca local; return");
    breaks(17, "print \"\", undef accel; return");
    module_breaks(17, "kernel @k(%0: value buffer<f32>) {\nb0:\nreturn\n}");
    module_breaks(17, "kernel @k(%0: resource f32) {\nb0:\nreturn\n}");
    module_breaks(17, "kernel @k(%0: reference f32) {\nb0:\nreturn\n}");
    module_breaks(
        17,
        "callable @k() -> accel {\nb0:\nreturn undef f32\n}"
            .replace("return undef f32", "unreachable")
            .as_str(),
    );
    let mut m = module(&kernel("return"));
    m.functions.values_mut().next().unwrap().constant(TypeId::F32, vec![0; 3]);
    expect(&m, Some(17));
}

#[test]
fn calls_fit_the_callee() {
    let callee = "callable @f(%0: value f32, %1: reference f32, %2: resource buffer<f32>) {\nb0:\nreturn\n}\n";
    let call = |line: &str| {
        format!(
            "{callee}kernel @k(%0: resource buffer<f32>, %1: resource buffer<u32>) {{\nb0:\n%2: f32 = alloca local\n%3: u32 = alloca local\n{line}\nreturn\n}}"
        )
    };
    expect(&module(&call("call @f(f32 1.0, %2, %0)")), None);
    let wrong = [
        "call @f(f32 1.0, %2)",
        "call @f(u32 1, %2, %0)",
        "call @f(%2, %2, %0)",
        "call @f(f32 1.0, f32 1.0, %0)",
        "call @f(f32 1.0, %3, %0)",
        "call @f(f32 1.0, %2, %1)",
        "call @f(f32 1.0, %2, %2)",
        "call @k(%0, %1)",
    ];
    for line in &wrong[..wrong.len() - 1] {
        module_breaks(18, &call(line));
    }
    module_breaks(18, "kernel @a() {\nb0:\nreturn\n}\nkernel @k() {\nb0:\ncall @a()\nreturn\n}");
}

#[test]
fn nothing_recurses() {
    module_breaks(19, "callable @f() {\nb0:\ncall @f()\nreturn\n}");
    module_breaks(
        19,
        "callable @f() {\nb0:\ncall @g()\nreturn\n}\ncallable @g() {\nb0:\ncall @h()\nreturn\n}\ncallable @h() {\nb0:\ncall @g()\nreturn\n}",
    );
}

#[test]
fn functions_keep_the_rules_of_their_kind() {
    let body = "{\nb0:\nreturn\n}";
    module_breaks(20, &format!("kernel @k block(1025, 1, 1) () {body}"));
    module_breaks(20, &format!("kernel @k block(1, 1, 65) () {body}"));
    module_breaks(20, &format!("kernel @k block(0, 1, 1) () {body}"));
    module_breaks(20, &format!("kernel @k block(4294967295, 4294967295, 4294967295) () {body}"));
    module_breaks(20, "kernel @k();");
    module_breaks(20, "callable @k();");
    module_breaks(20, &format!("external @k() {body}"));
    module_breaks(20, "callable @f() {\nb0:\n%0: u32 = alloca shared\nreturn\n}");
    module_breaks(20, "kernel @k() -> u32 {\nb0:\nreturn u32 1\n}");
    expect(&module("external @k(%0: value f32) -> f32;"), None);
}

#[test]
fn returns_fit() {
    breaks(21, "return u32 1");
    module_breaks(21, "callable @f() -> u32 {\nb0:\nreturn\n}");
    module_breaks(21, "callable @f() -> u32 {\nb0:\nreturn f32 1.0\n}");
}

#[test]
fn errors_name_their_line() {
    let errors = verify(&module(&kernel("%4: u32 = arithmetic abs f32 1.0; return"))).unwrap_err();
    assert_eq!(errors[0].line.as_deref(), Some("b0: %4: u32 = arithmetic abs f32 1.0"));
    let text = errors[0].to_string();
    assert!(text.contains("invariant 8") && text.contains("`k`"), "{text}");
}

#[test]
fn large_functions_take_little_time() {
    let mut m = Module::new();
    let mut f = Function::new("k", FunctionKind::Kernel { block_size: [64, 1, 1] }, TypeId::VOID);
    let entry = f.append_block();
    let mut value = f.u32_constant(1);
    let mut builder = crate::Builder::at_end(&mut f, &m.types, entry);
    for _ in 0..200_000 {
        value = builder.arithmetic(crate::op::ArithmeticOp::BinaryAdd, &[value, value]);
    }
    // 20,000 conditions in each other, each with its merge.
    let condition = builder.func.bool_constant(true);
    let mut merges = Vec::new();
    for _ in 0..20_000 {
        let (inner, merge) = (builder.func.append_block(), builder.func.append_block());
        builder.inst(Op::If, TypeId::VOID, &[condition], &[inner, merge, merge], Imm::None);
        builder.switch_to(inner);
        merges.push(merge);
    }
    while let Some(merge) = merges.pop() {
        builder.br(merge);
        builder.switch_to(merge);
    }
    builder.ret(None);
    m.functions.push(f);
    let start = std::time::Instant::now();
    expect(&m, None);
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

/// Long functions are checked by several threads: the same errors come out, in the same order.
#[test]
fn checks_beside_each_other_find_the_same() {
    let source = "module;\ncallable @f(%0: value u32) -> u32 {\nb0:\n  %1: u32 = arithmetic binary_add %2, %0\n  \
                  %2: u32 = arithmetic binary_mul %0, %0\n  %3: f32 = arithmetic binary_add %0, %0\n  return %3\n}\n";
    let module = module(source);
    let (_, function) = module.functions.iter().next().expect("a function");
    let context =
        || Context { module: &module, types: &module.types, function, errors: Vec::new() };
    let checks: [Check; 4] = [operands::check, ssa::check_uses, ssa::check, structure::check];
    let (mut in_order, mut beside) = (context(), context());
    checks.iter().for_each(|check| check(&mut in_order));
    run_beside(&mut beside, &checks);
    assert_eq!(in_order.errors, beside.errors);
    let found: Vec<u8> = beside.errors.iter().map(|e| e.invariant).collect();
    assert!(found.contains(&8) && found.contains(&21) && found.contains(&10), "{found:?}");
}
