//! The fixtures are what the builder makes, are right, and together hold every kind of node and type.

#[path = "../examples/fixtures/all.rs"]
mod all;

use std::collections::BTreeSet;
use std::path::Path;

use luisac_ast::builder::{Builder, FunctionBuilder};
use luisac_ast::check::check;
use luisac_ast::json::{self, Dialect};
use luisac_ast::model::{
    BinaryOp, Binding, Callee, CastOp, ExprKind, FunctionTag, Library, Stmt, UnaryOp, VariableTag,
};
use luisac_ast::types::{Scalar, TypeId, TypeKind};
use luisac_ast::{binary, hash, read};

/// What LuisaCompute recorded; all else is made.
const RECORDED: [&str; 4] = ["mandelbrot.json", "mandelbrot.md", "saxpy.json", "saxpy.md"];

#[test]
fn fixtures_are_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    let made = all::files();
    let there = std::fs::read_dir(&folder).expect("the folder is there").flatten();
    let there: BTreeSet<String> =
        there.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    let wanted: BTreeSet<String> =
        made.keys().cloned().chain(RECORDED.map(str::to_owned)).collect();
    let stale = made
        .iter()
        .filter(|(name, content)| std::fs::read(folder.join(name)).ok().as_ref() != Some(*content));
    let mut wrong: Vec<&str> = stale.map(|(name, _)| name.as_str()).collect();
    wrong.extend(there.symmetric_difference(&wanted).map(String::as_str));
    assert!(wrong.is_empty(), "run `cargo xtask fixtures`; these are stale: {wrong:?}");
}

#[test]
fn fixtures_are_right_and_come_back_as_they_were() {
    for fixture in all::all() {
        let name = fixture.name;
        let diagnostics = check(&fixture.library);
        assert!(!diagnostics.has_errors(), "{name}: {diagnostics}");
        let (_, content) = fixture.file();
        let back = read(&content).unwrap_or_else(|e| panic!("{name}: {e}"));
        let diagnostics = check(&back);
        assert!(!diagnostics.has_errors(), "{name}: {diagnostics}");
        let hashes = |library: &Library| {
            let all = hash::functions(library);
            let mut all: Vec<u64> = all.values().map(|h| h.function).collect();
            all.sort_unstable();
            all
        };
        assert_eq!(hashes(&back), hashes(&fixture.library), "{name}");
    }
}

/// Kinds that no form of file can hold: nothing but the builder makes them.
const UNSTORED: [&str; 4] = ["GpuCustom", "Suspend", "DebugBreak", "COROUTINE"];

#[test]
fn fixtures_hold_every_kind() {
    let mut held = BTreeSet::new();
    for fixture in all::all() {
        add_kinds(&fixture.library, &mut held);
    }
    let every = every_kind();
    let missing: Vec<&String> =
        every.iter().filter(|k| !held.contains(*k) && !UNSTORED.contains(&k.as_str())).collect();
    assert!(missing.is_empty(), "no fixture holds {missing:?}");
    let unknown: Vec<&String> = held.iter().filter(|k| !every.contains(*k)).collect();
    assert!(unknown.is_empty(), "the list of kinds lacks {unknown:?}");
}

#[test]
fn what_fixtures_lack_cannot_be_stored() {
    type Body = fn(&FunctionBuilder<'_>);
    let bodies: [(&str, Body); 3] = [
        ("GpuCustom", |f| f.evaluate(f.gpu_custom(TypeId::F32, "clock()", f.local(TypeId::F32)))),
        ("Suspend", |f| f.suspend(1, "wait")),
        ("DebugBreak", |f| f.debug_break(&[])),
    ];
    for (kind, body) in bodies {
        let builder = Builder::new();
        let id = builder.coroutine("c", |f| body(f)).expect("is right");
        let library = builder.finish().expect("is right");
        let mut held = BTreeSet::new();
        add_kinds(&library, &mut held);
        assert!(held.contains(kind) && held.contains("COROUTINE"), "{held:?}");
        assert!(json::write(&library, Dialect::V1).is_err(), "{kind}");
        let stored = binary::assemble(library, binary::Layout::C, &[(id, "c")]);
        assert!(stored.and_then(|file| binary::write(&file)).is_err(), "{kind}");
    }
}

fn add_kinds(library: &Library, held: &mut BTreeSet<String>) {
    let mut add = |kind: &str| {
        held.insert(kind.to_owned());
    };
    library
        .types
        .ids()
        .filter(|ty| is_used(library, *ty))
        .for_each(|ty| add(type_kind(library.types.kind(ty))));
    for scalar in Scalar::ALL.into_iter().filter(|s| is_used(library, TypeId::scalar(*s))) {
        add(scalar.json_name());
    }
    for function in library.functions.values() {
        add(function.tag.name());
        function.variables.values().for_each(|v| add(v.tag.name()));
        function.bindings.iter().for_each(|b| add(binding_kind(b)));
        for expr in function.exprs.values() {
            add(expr_kind(&expr.kind));
            match expr.kind {
                ExprKind::Unary { op, .. } => add(op.name()),
                ExprKind::Binary { op, .. } => add(op.name()),
                ExprKind::Cast { op, .. } => add(op.name()),
                _ => {}
            }
        }
        function.stmts.values().for_each(|s| add(stmt_kind(s)));
    }
}

/// Whether some node, or another type that is used, is of a type.
fn is_used(library: &Library, ty: TypeId) -> bool {
    let types = &library.types;
    let mut pending: Vec<TypeId> = Vec::new();
    for function in library.functions.values() {
        pending.push(function.return_type);
        pending.extend(function.variables.values().map(|v| v.ty));
        pending.extend(function.exprs.values().map(|e| match e.kind {
            ExprKind::TypeId(ty) => ty,
            _ => e.ty,
        }));
    }
    let mut seen = BTreeSet::new();
    while let Some(used) = pending.pop() {
        if used == ty {
            return true;
        }
        if !seen.insert(used) {
            continue;
        }
        pending.extend(
            (0..types.member_count(used).min(16)).filter_map(|i| types.element_type(used, i)),
        );
        if let TypeKind::Buffer { elem, .. } = types.kind(used) {
            pending.push(*elem);
        }
    }
    false
}

macro_rules! kinds {
    ($name:ident, $all:ident, $ty:ty: $($pattern:pat $(if $guard:expr)? => $kind:literal,)*) => {
        fn $name(value: &$ty) -> &'static str {
            match value {
                $($pattern $(if $guard)? => $kind,)*
            }
        }

        const $all: &[&str] = &[$($kind),*];
    };
}

kinds! { type_kind, TYPES, TypeKind:
    TypeKind::Void => "void",
    TypeKind::Scalar(_) => "scalar",
    TypeKind::Vector { .. } => "vector",
    TypeKind::Matrix { .. } => "matrix",
    TypeKind::Array { .. } => "array",
    TypeKind::Struct { .. } => "struct",
    TypeKind::Buffer { .. } => "buffer",
    TypeKind::Texture { dim: 2, .. } => "texture of 2 dimensions",
    TypeKind::Texture { .. } => "texture of 3 dimensions",
    TypeKind::BindlessArray => "bindless_array",
    TypeKind::Accel => "accel",
    TypeKind::Custom(name) if **name == *"LC_RayQueryAll" => "LC_RayQueryAll",
    TypeKind::Custom(name) if **name == *"LC_RayQueryAny" => "LC_RayQueryAny",
    TypeKind::Custom(_) => "LC_IndirectDispatchBuffer",
    TypeKind::CoopVec { .. } => "coopvec",
    TypeKind::CoopVecRef { .. } => "coopvec_ref",
    TypeKind::CoopMatRef { .. } => "coopmat_ref",
}

kinds! { expr_kind, EXPRS, ExprKind:
    ExprKind::Unary { .. } => "Unary",
    ExprKind::Binary { .. } => "Binary",
    ExprKind::Swizzle { .. } => "Swizzle",
    ExprKind::Member { .. } => "Member",
    ExprKind::Access { .. } => "Access",
    ExprKind::Literal { .. } => "Literal",
    ExprKind::Ref(_) => "Ref",
    ExprKind::Constant(_) => "Constant",
    ExprKind::Call { callee: Callee::Builtin, .. } => "Call of an operation",
    ExprKind::Call { callee: Callee::Function(_), .. } => "Call of a callable",
    ExprKind::Call { callee: Callee::External(_), .. } => "Call of an external function",
    ExprKind::Cast { .. } => "Cast",
    ExprKind::TypeId(_) => "TypeId",
    ExprKind::StringId(_) => "StringId",
    ExprKind::FuncRef(_) => "FuncRef",
    ExprKind::CpuCustom { .. } => "CpuCustom",
    ExprKind::GpuCustom { .. } => "GpuCustom",
}

kinds! { stmt_kind, STMTS, Stmt:
    Stmt::Break => "Break",
    Stmt::Continue => "Continue",
    Stmt::Return(value) if value.is_some() => "Return with a value",
    Stmt::Return(_) => "Return",
    Stmt::Scope(_) => "Scope",
    Stmt::If { .. } => "If",
    Stmt::Loop { .. } => "Loop",
    Stmt::Expr(_) => "Expr",
    Stmt::Switch { .. } => "Switch",
    Stmt::SwitchCase { .. } => "SwitchCase",
    Stmt::SwitchDefault { .. } => "SwitchDefault",
    Stmt::Assign { .. } => "Assign",
    Stmt::For { .. } => "For",
    Stmt::Comment(_) => "Comment",
    Stmt::RayQuery { .. } => "RayQuery",
    Stmt::AutoDiff { .. } => "AutoDiff",
    Stmt::Print { .. } => "Print",
    Stmt::Suspend { .. } => "Suspend",
    Stmt::DebugBreak { .. } => "DebugBreak",
}

kinds! { binding_kind, BINDINGS, Binding:
    Binding::Buffer { .. } => "bound buffer",
    Binding::Texture { .. } => "bound texture",
    Binding::BindlessArray { .. } => "bound bindless array",
    Binding::Accel { .. } => "bound acceleration structure",
}

fn every_kind() -> BTreeSet<String> {
    let mut every: Vec<&str> = [TYPES, EXPRS, STMTS, BINDINGS].concat();
    every.extend(Scalar::ALL.iter().map(|s| s.json_name()));
    every.extend(UnaryOp::ALL.iter().map(|op| op.name()));
    every.extend(BinaryOp::ALL.iter().map(|op| op.name()));
    every.extend(CastOp::ALL.iter().map(|op| op.name()));
    every.extend(VariableTag::ALL.iter().map(|tag| tag.name()));
    every.extend(FunctionTag::ALL.iter().map(|tag| tag.name()));
    every.into_iter().map(str::to_owned).collect()
}
