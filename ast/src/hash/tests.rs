use super::*;
use crate::builder::{Builder, FunctionBuilder, Value};
use crate::callops::CallOp;
use crate::json::{self, Dialect};
use crate::model::Binding;
use crate::types::Scalar;

fn kernel_hash(body: impl FnOnce(&FunctionBuilder<'_>)) -> u64 {
    let builder = Builder::new();
    builder.kernel("k", [8, 1, 1], |f| body(f)).unwrap_or_else(|e| panic!("{e}"));
    let library = builder.finish().expect("is right");
    let hash = last(&library);
    for dialect in [Dialect::D0, Dialect::V1] {
        let text = json::write(&library, dialect).unwrap_or_else(|e| panic!("{e}"));
        let read = json::read(&text).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(last(&read), hash, "through {dialect:?}");
    }
    hash
}

fn last(library: &Library) -> u64 {
    functions(library).last().expect("there is a function").1.function
}

/// A kernel with a bit of everything, in which one thing can be another.
fn sample(change: &str) -> u64 {
    let is = |name| change == name;
    kernel_hash(|f| {
        let element = if is("element") { TypeId::U32 } else { TypeId::I32 };
        let (a, b) = (f.buffer(TypeId::I32), f.buffer(element));
        let (a, b) = if is("argument") { (b, a) } else { (a, b) };
        let i = f.dispatch_id().x();
        let i = if is("builtin") { f.thread_id().x() } else { i };
        let table = f.constant_array(&if is("constant") { [1, 2, 4] } else { [1, 2, 3] });
        let v = f.var([1, 2, if is("literal") { 4 } else { 3 }]);
        let part = v.swizzle(if is("swizzle") { "xz" } else { "xy" });
        let x = f.var(part.x());
        let sum = if is("operator") { x - table.at(1) } else { x + table.at(1) };
        let sum = if is("sides") { table.at(1) + x } else { sum };
        let scalar = if is("cast") { Scalar::I16 } else { Scalar::I64 };
        f.assign(x, sum.to_scalar(scalar));
        f.assign(x, if is("operation") { x.abs() } else { x.popcount() });
        let then = |inner: Value<'_>| f.assign(inner, 1);
        f.if_else(
            x.less(3),
            || then(if is("variable") { v.y() } else { x }),
            || {
                if !is("branch") {
                    then(x)
                }
            },
        );
        f.switch(x, |s| s.case(if is("case") { 2 } else { 1 }, || {}));
        f.for_range(0, 3, if is("step") { 2 } else { 1 }, |_| f.comment("in the loop"));
        f.print(if is("format") { "{}!" } else { "{}?" }, &[x]);
        let scale = f.callable("scale", |g| {
            let y = g.argument(TypeId::I32);
            g.return_value(y * if is("callee") { 2 } else { 3 });
        });
        b.write(i, f.call(scale, &[x]));
        if !is("missing") {
            a.atomic(0).fetch_add(1);
        }
    })
}

#[test]
fn what_matters_makes_a_difference() {
    let plain = sample("");
    assert_eq!(sample(""), plain);
    let changes = [
        "element",
        "argument",
        "builtin",
        "constant",
        "literal",
        "swizzle",
        "operator",
        "sides",
        "cast",
        "operation",
        "variable",
        "branch",
        "case",
        "step",
        "format",
        "callee",
        "missing",
    ];
    let mut hashes: Vec<u64> = changes.iter().map(|change| sample(change)).collect();
    hashes.push(plain);
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), changes.len() + 1);
}

#[test]
fn what_does_not_matter_makes_none() {
    let simple = |unused: bool, name: &str| {
        let builder = Builder::new();
        builder
            .kernel(name, [1, 1, 1], |f| {
                let out = f.buffer(TypeId::F32);
                if unused {
                    let _ = (f.local(TypeId::F64), out.clone_of(f));
                }
                out.write(0, 1.0f32);
            })
            .expect("is right");
        last(&builder.finish().expect("is right"))
    };
    assert_eq!(simple(false, "a"), simple(true, "b"));
}

impl<'b> Value<'b> {
    /// An expression that no statement mentions.
    fn clone_of(self, f: &FunctionBuilder<'b>) -> Value<'b> {
        f.literal(1) + 2
    }
}

#[test]
fn declarations_make_a_difference() {
    let hash = |block: [u32; 3], bound: u64, warp: u32| {
        let builder = Builder::new();
        let ty = builder.ty("buffer<int>").expect("a type");
        builder
            .kernel("k", block, |f| {
                f.bound(ty, Binding::Buffer { handle: bound, offset: 0, size: 4 }).write(0, 1);
                f.require_warp_size(warp);
                f.call_op(CallOp::SynchronizeBlock, &[]);
            })
            .expect("is right");
        last(&builder.finish().expect("is right"))
    };
    let hashes = [
        hash([8, 1, 1], 1, 32),
        hash([4, 2, 1], 1, 32),
        hash([8, 1, 1], 2, 32),
        hash([8, 1, 1], 1, 64),
    ];
    for (i, a) in hashes.iter().enumerate() {
        assert!(!hashes[..i].contains(a), "{hashes:x?}");
    }
}

/// As far as the formulas are known, the hashes are those that stored libraries hold.
#[test]
fn stored_hashes_come_out() {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["../../shared/corpus", "../../../shared/corpus"];
    let Some(folder) = folders.iter().map(|f| corpus.join(f)).find(|f| f.is_dir()) else {
        println!("skipped: no corpus");
        return;
    };
    let (mut same, mut functions) = (0, 0);
    for entry in
        std::fs::read_dir(folder.join("callable-libraries")).expect("can be read").flatten()
    {
        let bytes = std::fs::read(entry.path()).expect("can be read");
        let Ok(file) = crate::binary::read(&bytes) else { continue };
        for (id, function) in &file.library.functions {
            let record = &file.records[id];
            let hashes =
                numbered(&file.library, function, |callee| file.records[callee].hash, &record.uids);
            let padded = |ty| file.library.types.dim(ty) == 3;
            // What holds something without a known hash has another one too.
            let mut other = vec![false; function.exprs.len()];
            for (id, expr) in &function.exprs {
                let mut unknown = matches!(expr.kind, ExprKind::Constant(_))
                    || (matches!(expr.kind, ExprKind::Literal { .. }) && padded(expr.ty));
                place::expr_children(function, &expr.kind, |_, _, e| unknown |= other[e.index()]);
                other[id.index()] = unknown;
                let equal = hashes.exprs[id] == record.expr_hashes[id];
                assert!(unknown || equal, "{}: {expr:?}", entry.path().display());
                same += usize::from(equal);
            }
            functions += usize::from(hashes.function == record.hash);
        }
    }
    assert!(same > 2000 && functions > 30, "{same} expressions, {functions} functions");
}

/// The hashes are those of yesterday, and of every machine.
#[test]
fn hashes_are_stable() {
    let types = TypeTable::new();
    assert_eq!(ty(&types, TypeId::F32), 4836864760079156151);
    assert_eq!(sample(""), 3055096246757423670);
}
