//! The way back: text in, statements out, and the same function again.

use super::raise;
use crate::{from_ast, text, verify};
use luisac_ast::check;
use luisac_ast::json::{self, Dialect};
use luisac_ast::model::{Function, Library, Stmt, StmtId};

fn library(source: &str) -> Library {
    let module = text::parse(source).unwrap_or_else(|e| panic!("{e}\n{source}"));
    let found = verify::verify(&module);
    assert!(found.is_ok(), "{:?}", found.map_err(|e| e[0].to_string()));
    raise(&module).unwrap_or_else(|e| panic!("{e}"))
}

/// A kernel with arguments `%0: buffer<u32>`, `%1: value u32`, `%2: value bool`.
fn kernel(body: &str) -> String {
    let arguments = "%0: resource buffer<u32>, %1: value u32, %2: value bool";
    let mut lines = String::new();
    for line in body.lines().map(str::trim) {
        lines += if line.ends_with(':') { "" } else { "  " };
        lines += line;
        lines.push('\n');
    }
    format!("module;\n\nkernel @k block(64, 1, 1) ({arguments}) {{\n{lines}}}\n")
}

/// The statements of a scope by their kinds, those of inner scopes in braces.
fn outline(ast: &Function, scope: StmtId) -> String {
    let mut words = Vec::new();
    for &stmt in ast.scope(scope) {
        let inner = |s: StmtId| format!("{{{}}}", outline(ast, s));
        words.push(match ast.stmts[stmt] {
            Stmt::Break => "break".into(),
            Stmt::Continue => "continue".into(),
            Stmt::Return(_) => "return".into(),
            Stmt::If { on_true, on_false, .. } => {
                format!("if{}{}", inner(on_true), inner(on_false))
            }
            Stmt::Loop { body } => format!("loop{}", inner(body)),
            Stmt::For { body, .. } => format!("for{}", inner(body)),
            Stmt::Switch { body, .. } => format!("switch{}", inner(body)),
            Stmt::SwitchCase { body, .. } => format!("case{}", inner(body)),
            Stmt::SwitchDefault { body } => format!("default{}", inner(body)),
            Stmt::Assign { .. } => "=".into(),
            Stmt::Expr(_) => "call".into(),
            _ => "other".into(),
        });
    }
    words.join(" ")
}

/// The kernel's statements are these, pass the checks, survive JSON, and lower to a valid module.
#[track_caller]
fn becomes(body: &str, expected: &str) {
    let library = library(&kernel(body));
    let (_, ast) = library.kernels().next().unwrap();
    assert_eq!(outline(ast, ast.body.unwrap()), expected);
    let found = check::check(&library);
    assert!(!found.has_errors(), "{found}");
    let bytes = json::write(&library, Dialect::V1).unwrap_or_else(|e| panic!("{e}"));
    let again = json::read(&bytes).unwrap_or_else(|e| panic!("{e}"));
    let module = from_ast::lower(&again, &Default::default()).unwrap_or_else(|e| panic!("{e}"));
    assert!(verify::verify(&module).is_ok());
}

#[test]
fn a_loop_that_counts_becomes_a_for() {
    becomes(
        "b0:
        %3: u32 = alloca local
        loop prepare b1, body b2, update b3, merge b4
        b1:
        %4: u32 = load %3
        %5: bool = arithmetic binary_less %4, %1
        cond_br %5, b2, b4
        b2:
        if %2, then b5, else b6, merge b6
        b5:
        continue b3
        b6:
        thread_group synchronize_block
        br b3
        b3:
        %6: u32 = load %3
        %7: u32 = arithmetic binary_add %6, u32 2
        store %3, %7
        br b1
        b4:
        return",
        "for{if{continue}{} call}",
    );
}

#[test]
fn an_update_that_continue_must_not_pass_by_starts_the_rounds() {
    becomes(
        "b0:
        %3: u32 = alloca local
        loop prepare b1, body b2, update b3, merge b4
        b1:
        %4: u32 = load %3
        %5: bool = arithmetic binary_less %4, %1
        cond_br %5, b2, b4
        b2:
        if %2, then b5, else b6, merge b6
        b5:
        continue b3
        b6:
        br b3
        b3:
        %7: u32 = arithmetic binary_mul %4, u32 2
        store %3, %7
        br b1
        b4:
        return",
        "= loop{if{=}{} = = if{break}{} if{continue}{}}",
    );
}

#[test]
fn an_update_that_one_way_leads_to_follows_the_body() {
    becomes(
        "b0:
        loop prepare b1, body b2, update b3, merge b4
        b1:
        cond_br %2, b2, b4
        b2:
        br b3
        b3:
        thread_group synchronize_block
        br b1
        b4:
        return",
        "loop{if{break}{} call}",
    );
}

#[test]
fn reads_stay_before_what_is_written_behind_them() {
    // The sum reads the variable before it is written, and is written to the buffer after.
    becomes(
        "b0:
        %3: u32 = alloca local
        store %3, %1
        %4: u32 = load %3
        %5: u32 = arithmetic binary_add %4, u32 1
        store %3, u32 7
        resource_write buffer_write %0, u32 0, %5
        return",
        "= = = call",
    );
    // Nothing is written in between: one expression.
    becomes(
        "b0:
        %3: u32 = alloca local
        store %3, %1
        %4: u32 = load %3
        %5: u32 = arithmetic binary_add %4, u32 1
        resource_write buffer_write %0, u32 0, %5
        return",
        "= call",
    );
}

#[test]
fn phis_change_at_once() {
    becomes(
        "b0:
        simple_loop body b1, merge b2
        b1:
        %3: u32 = phi (%1, b0), (%4, b3)
        %4: u32 = phi (u32 1, b0), (%3, b3)
        resource_write buffer_write %0, %3, %4
        if %2, then b4, else b3, merge b3
        b4:
        break b2
        b3:
        continue b1
        b2:
        return",
        "= = loop{= = call if{break}{} = =}",
    );
}

#[test]
fn switches_keep_their_cases() {
    becomes(
        "b0:
        switch %1, default b3, case 4294967295 b1, case 2 b2, merge b3
        b1:
        br b3
        b2:
        if %2, then b4, else b5, merge b5
        b4:
        break b3
        b5:
        thread_group synchronize_block
        br b3
        b3:
        return",
        "switch{case{} case{if{break}{} call}}",
    );
}

#[test]
fn what_never_runs_is_left_out() {
    becomes(
        "b0:
        if %2, then b1, else b2, merge b3
        b1:
        return
        b2:
        return
        b3:
        unreachable",
        "if{return}{return}",
    );
}

#[track_caller]
fn refused(code: u16, source: &str) {
    let module = text::parse(source).unwrap_or_else(|e| panic!("{e}\n{source}"));
    let errors = raise(&module).err().unwrap_or_else(|| panic!("nothing is refused"));
    assert_eq!(errors.0.iter().map(|e| e.code.0).collect::<Vec<_>>(), [code]);
}

#[test]
fn flat_control_flow_is_refused() {
    refused(571, &kernel("b0:\ncond_br %2, b1, b2\nb1:\nreturn\nb2:\nreturn"));
    // A block that two arms share.
    refused(
        571,
        &kernel("b0:\nif %2, then b1, else b2, merge b3\nb1:\nbr b2\nb2:\nbr b3\nb3:\nreturn"),
    );
}

#[test]
fn deep_nests_need_no_deep_stack() {
    let n = 30_000;
    let mut body = String::new();
    for i in 0..n {
        body +=
            &format!("b{i}:\nif %2, then b{}, else b{}, merge b{}\n", i + 1, n + 1 + i, n + 1 + i);
    }
    body += &format!("b{n}:\nbr b{}\n", 2 * n);
    for i in 1..n {
        body += &format!("b{}:\nbr b{}\n", n + 1 + i, n + i);
    }
    body += &format!("b{}:\nreturn", n + 1);
    let library = library(&kernel(&body));
    let (_, ast) = library.kernels().next().unwrap();
    let ifs = ast.stmts.values().filter(|s| matches!(s, Stmt::If { .. })).count();
    assert_eq!(ifs, n);
}
