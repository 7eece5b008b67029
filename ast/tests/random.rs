//! Random libraries: nothing is wrong with them, and every form gives back what was written.
//!
//! The suite tries a few hundred; `LUISAC_RANDOM_ASTS=10000` tries as many as one likes.

#[path = "support/dump.rs"]
mod dump;

use std::collections::BTreeSet;

use dump::dumps;
use luisac_ast::binary::{self, CallableLibrary, Layout};
use luisac_ast::json::{self, Dialect};
use luisac_ast::model::{BinaryOp, CastOp, ExprKind, Library, UnaryOp, VariableTag};
use luisac_ast::testing::{self, Form, Options};
use luisac_ast::{CallOp, check, link, lint, pretty, usage};

/// Libraries of a form, of growing size.
fn libraries(form: Form) -> impl Iterator<Item = (Options, Library)> {
    let count: u64 =
        std::env::var("LUISAC_RANDOM_ASTS").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    (0..count / Form::ALL.len() as u64).map(move |seed| {
        let options = Options { seed, size: 1 + seed as usize % 60, form };
        (options, testing::library(&options))
    })
}

#[test]
fn nothing_is_wrong_with_them() {
    for form in Form::ALL {
        for (options, library) in libraries(form) {
            let found = check::check(&library);
            assert!(!found.has_errors(), "{options:?}: {found}");
        }
    }
}

/// Whatever can be read can be linted and printed, the same each time.
#[test]
fn they_can_be_linted_and_printed() {
    for form in Form::ALL {
        for (options, library) in libraries(form) {
            let found = lint::run(&library);
            assert!(!found.has_errors() && found == lint::run(&library), "{options:?}: {found}");
            assert!(
                found.0.iter().all(|d| lint::by_code(d.code).is_some()),
                "{options:?}: {found}"
            );
            let text = pretty::print(&library);
            assert_eq!(text.matches('{').count(), text.matches('}').count(), "{options:?}: {text}");
            let functions = library.functions.values().filter(|f| f.body.is_some()).count();
            assert!(text.lines().filter(|l| l.ends_with('{')).count() >= functions, "{text}");
            assert!(text == pretty::print(&library), "{options:?}");
        }
    }
}

/// Two libraries linked are right as each of them is, and hold the functions of both.
#[test]
fn they_can_be_linked() {
    let mut last: Option<Library> = None;
    for (options, library) in libraries(Form::Memory) {
        let part = |name: &str, library: &Library| {
            let mut library = library.clone();
            // Names of both that are the same would clash.
            for function in library.functions.values_mut() {
                function.name = function.name.take().map(|n| format!("{name}_{n}"));
            }
            link::Part { name: name.into(), library }
        };
        if let Some(other) = last.replace(library.clone()) {
            let parts = vec![part("a", &library), part("b", &other)];
            let (linked, _) = link::link(parts).unwrap_or_else(|e| panic!("{options:?}: {e}"));
            let found = check::check(&linked.library);
            assert!(!found.has_errors(), "{options:?}: {found}");
            let count = library.functions.len() + other.functions.len();
            assert_eq!(linked.library.functions.len(), count, "{options:?}");
            let nodes = |l: &Library| l.functions.values().map(|f| f.exprs.len()).sum::<usize>();
            assert_eq!(nodes(&linked.library), nodes(&library) + nodes(&other), "{options:?}");
        }
    }
}

/// Writes and reads, and shows what was lost on the way.
#[track_caller]
fn json_round_trip(options: Options, library: &Library, dialect: Dialect) {
    let written = json::write(library, dialect).unwrap_or_else(|e| panic!("{options:?}: {e}"));
    let read = json::read(&written).unwrap_or_else(|e| panic!("{options:?}: {e}"));
    let again = json::write(&read, dialect).unwrap_or_else(|e| panic!("{options:?}: {e}"));
    assert!(written == again, "{options:?}: the document changes");
    assert!(dumps(library) == dumps(&read), "{options:?}: the functions change");
    assert!(!check::check(&read).has_errors(), "{options:?}: what was read is wrong");
    // Marked usage is stored in one form and follows from the functions in the other.
    let (before, after) = (usage::marked(library), usage::marked(&read));
    for ((id, function), usages) in library.functions.iter().zip(before.values()) {
        for (position, argument) in function.arguments.iter().enumerate() {
            let same = read.functions[id].arguments[position];
            assert_eq!(
                usages[*argument], after[id][same],
                "{options:?}: argument {position} of {id}"
            );
        }
    }
}

#[test]
fn json_without_a_version_comes_back() {
    for (options, library) in libraries(Form::D0) {
        json_round_trip(options, &library, Dialect::D0);
    }
}

#[test]
fn json_of_version_1_comes_back() {
    for (options, library) in libraries(Form::V1) {
        json_round_trip(options, &library, Dialect::V1);
        // The older form holds it too, without names.
        let plain =
            json::write(&library, Dialect::D0).unwrap_or_else(|e| panic!("{options:?}: {e}"));
        let read = json::read(&plain).unwrap_or_else(|e| panic!("{options:?}: {e}"));
        assert!(dumps(&library) == dumps(&read), "{options:?}");
    }
}

#[test]
fn callable_libraries_come_back() {
    for (form, layout) in [(Form::BinaryB, Layout::B), (Form::BinaryC, Layout::C)] {
        for (options, library) in libraries(form) {
            let file = assembled(&library, layout);
            let bytes = binary::write(&file).unwrap_or_else(|e| panic!("{options:?}: {e}"));
            let read = binary::read(&bytes).unwrap_or_else(|e| panic!("{options:?}: {e}"));
            assert_eq!(read.layout, layout, "{options:?}");
            // Equal functions are stored once, under both names.
            let after = dumps(&read.library);
            for (before, id) in dumps(&library).iter().zip(&read.named) {
                assert!(*before == after[id.as_u32() as usize], "{options:?}: {id} changes");
            }
            let again = binary::write(&read).unwrap_or_else(|e| panic!("{options:?}: {e}"));
            assert!(bytes == again, "{options:?}: the bytes change");
            assert!(!check::check(&read.library).has_errors(), "{options:?}");
        }
    }
}

/// All functions with a name each.
fn assembled(library: &Library, layout: Layout) -> CallableLibrary {
    let names: Vec<String> = library.functions.keys().map(|id| id.to_string()).collect();
    let named: Vec<_> = library.functions.keys().zip(names.iter().map(String::as_str)).collect();
    binary::assemble(library.clone(), layout, &named).unwrap_or_else(|e| panic!("{e}"))
}

/// The word that `Debug` starts with: the name of a variant.
fn variant(value: &impl std::fmt::Debug) -> String {
    let text = format!("{value:?}");
    text.split([' ', '(', '{']).next().unwrap_or_default().to_owned()
}

#[test]
fn every_kind_is_among_them() {
    let mut seen = BTreeSet::new();
    let mut ops = BTreeSet::new();
    for form in Form::ALL {
        for seed in 0..200 {
            let library = testing::library(&Options { seed, size: 60, form });
            seen.extend(library.types.ids().map(|ty| variant(library.types.kind(ty))));
            for function in library.functions.values() {
                seen.insert(variant(&function.tag));
                seen.extend(function.variables.values().map(|v| variant(&v.tag)));
                seen.extend(function.bindings.iter().map(|b| format!("Bound{}", variant(b))));
                seen.extend(function.stmts.values().map(|s| format!("Stmt{}", variant(s))));
                for expr in function.exprs.values() {
                    seen.insert(format!("Expr{}", variant(&expr.kind)));
                    match expr.kind {
                        ExprKind::Call { op, .. } => drop(ops.insert(op)),
                        ExprKind::Unary { op, .. } => drop(seen.insert(variant(&op))),
                        ExprKind::Binary { op, .. } => drop(seen.insert(variant(&op))),
                        ExprKind::Cast { op, .. } => drop(seen.insert(variant(&op))),
                        _ => {}
                    }
                }
            }
        }
    }
    let missing: Vec<CallOp> = CallOp::all().filter(|op| !ops.contains(op)).collect();
    assert!(missing.is_empty(), "operations that are never called: {missing:?}");
    let named =
        |names: &[&str], prefix: &str| names.iter().map(|n| format!("{prefix}{n}")).collect();
    let wanted: [Vec<String>; 8] = [
        VariableTag::ALL.iter().map(variant).collect(),
        UnaryOp::ALL.iter().map(variant).collect(),
        BinaryOp::ALL.iter().map(variant).collect(),
        CastOp::ALL.iter().map(variant).collect(),
        named(
            &[
                "Kernel",
                "Callable",
                "RasterStage",
                "Coroutine",
                "Scalar",
                "Vector",
                "Matrix",
                "Array",
                "Struct",
                "Texture",
                "BindlessArray",
                "Accel",
                "Custom",
                "CoopVec",
                "CoopVecRef",
                "CoopMatRef",
            ],
            "",
        ),
        named(&["Buffer", "Texture", "BindlessArray", "Accel"], "Bound"),
        named(
            &[
                "Unary",
                "Binary",
                "Swizzle",
                "Member",
                "Access",
                "Literal",
                "Ref",
                "Constant",
                "Call",
                "Cast",
                "TypeId",
                "StringId",
                "FuncRef",
                "CpuCustom",
                "GpuCustom",
            ],
            "Expr",
        ),
        named(
            &[
                "Break",
                "Continue",
                "Return",
                "Scope",
                "If",
                "Loop",
                "Expr",
                "Switch",
                "SwitchCase",
                "SwitchDefault",
                "Assign",
                "For",
                "Comment",
                "RayQuery",
                "AutoDiff",
                "Print",
                "Suspend",
                "DebugBreak",
            ],
            "Stmt",
        ),
    ];
    let missing: Vec<_> = wanted.iter().flatten().filter(|w| !seen.contains(*w)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn a_smaller_size_makes_a_smaller_library() {
    let nodes = |size| {
        let of = |seed| testing::library(&Options { seed, size, form: Form::D0 });
        let count =
            |l: Library| l.functions.values().map(|f| f.exprs.len() + f.stmts.len()).sum::<usize>();
        (0..20).map(|seed| count(of(seed))).sum::<usize>() / 20
    };
    let (small, middle, large) = (nodes(1), nodes(10), nodes(100));
    assert!(small < 40 && small < middle && middle < large, "{small} {middle} {large}");
}
