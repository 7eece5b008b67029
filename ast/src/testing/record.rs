//! What a callable library says about functions beside the functions.

use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap};
use rustc_hash::FxHashSet;

use crate::binary::{CallableLibrary, Layout, Record};
use crate::model::{
    Callee, ExprKind, Function, FunctionId, Library, Stmt, VariableId, VariableTag,
};
use crate::types::{Scalar, TypeId};

/// A library as a file of a layout would say it: all functions are named, hashes are made up.
///
/// Functions must be in the form that such files hold: see [`Form`](super::Form).
pub fn as_callable_library(library: &Library, layout: Layout) -> CallableLibrary {
    let mut records: PrimaryMap<FunctionId, Record> = PrimaryMap::new();
    for (id, function) in &library.functions {
        let record = record(library, id, function, layout, &records);
        records.push(record);
    }
    CallableLibrary {
        named: library.functions.keys().collect(),
        inline: Vec::new(),
        library: library.clone(),
        layout,
        records,
    }
}

fn record(
    library: &Library,
    id: FunctionId,
    function: &Function,
    layout: Layout,
    earlier: &PrimaryMap<FunctionId, Record>,
) -> Record {
    let mut record = Record { uids: SecondaryMap::with_default(u32::MAX), ..Record::default() };
    record.hash = 0x1000 + id.index() as u64;
    record.names = vec![function.name.clone().unwrap_or_else(|| format!("f{}", id.index()))];
    for (variable, data) in &function.variables {
        record.uids[variable] = variable.index() as u32;
        record.usages.push(u32::from(data.usage.bits()));
    }
    let of_tag = |wanted: fn(VariableTag) -> bool| -> Vec<VariableId> {
        function.variables.iter().filter(|(_, v)| wanted(v.tag)).map(|(id, _)| id).collect()
    };
    record.builtins = of_tag(VariableTag::is_builtin);
    record.locals = of_tag(|tag| tag == VariableTag::Local);
    record.shared = of_tag(|tag| tag == VariableTag::Shared);
    let words = layout.numbering.len().div_ceil(8);
    record.direct_ops = vec![0; words];
    let mut called = FxHashSet::default();
    for (expr, data) in &function.exprs {
        record.expr_hashes[expr] = 0x2000 + expr.index() as u64;
        let ExprKind::Call { op, callee, .. } = data.kind else { continue };
        match callee {
            Callee::Function(callee) if called.insert(callee) => record.callees.push(callee),
            Callee::Builtin => {
                let number = layout.numbering.number(op).map_or(0, usize::from);
                record.direct_ops[number / 8] |= 1 << (number % 8);
                record.float_atomics |= op.is_atomic() && is_float(library, data.ty);
            }
            _ => {}
        }
    }
    record.all_ops = record.direct_ops.clone();
    for callee in &record.callees {
        for (all, theirs) in record.all_ops.iter_mut().zip(&earlier[*callee].all_ops) {
            *all |= theirs;
        }
    }
    for (stmt, data) in &function.stmts {
        record.stmt_hashes[stmt] = 0x3000 + stmt.index() as u64;
        record.printing |= matches!(data, Stmt::Print { .. });
    }
    record
}

fn is_float(library: &Library, ty: TypeId) -> bool {
    library.types.scalar_of(ty).is_some_and(Scalar::is_float)
}
