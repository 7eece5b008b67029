//! A callable library from functions that were not read from one: from JSON, or from the builder.

use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap};
use rustc_hash::FxHashMap;

use super::{CallableLibrary, Layout, Record, codes};
use crate::callops::{CallOpSet, UsedOps, used_ops};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::hash::{self, FunctionHash};
use crate::model::{
    Callee, CurveBases, ExprKind, Function, FunctionId, FunctionTag, Library, Stmt, VariableId,
    VariableTag,
};
use crate::place::{Node, Place, locate};

/// The functions that `named` names, and all that they call, as a library to be [written](super::write) in `layout`.
///
/// Functions are identified by their structural hash: equal ones are stored once, under several names if they have
/// them. Variables are numbered as they are in the function. The usages are those that the variables have: for a
/// library that was read from JSON without usages, they are computed by the reader.
///
/// # Errors
/// If a function has what libraries cannot hold: bound arguments, addresses of functions, and what the writer refuses.
pub fn assemble(
    mut library: Library,
    layout: Layout,
    named: &[(FunctionId, &str)],
) -> Result<CallableLibrary, Diagnostics> {
    let wanted = wanted(&library, named)?;
    for (id, _) in wanted.iter().filter(|(_, wanted)| **wanted) {
        check(&library, id, layout)?;
    }
    if !layout.noinline {
        // Older files have no place for the curves of a call; the function lists them.
        library.functions.values_mut().for_each(clear_curves);
    }
    let hashes = hash::functions(&library);
    let first = representatives(&library, &hashes)?;
    let mut records = records(&library, layout, hashes, &wanted)?;
    let mut file_named = Vec::new();
    for (id, name) in named {
        let id = first[*id];
        records[id].names.push((*name).to_owned());
        file_named.push(id);
    }
    let inline = wanted
        .iter()
        .filter(|(id, wanted)| **wanted && first[*id] == *id && records[*id].names.is_empty())
        .map(|(id, _)| id)
        .collect();
    Ok(CallableLibrary { library, layout, records, named: file_named, inline })
}

/// Which functions are stored: those with names and, other than LuisaCompute does it, all that they call.
fn wanted(
    library: &Library,
    named: &[(FunctionId, &str)],
) -> Result<PrimaryMap<FunctionId, bool>, Diagnostics> {
    let mut wanted: PrimaryMap<FunctionId, bool> =
        library.functions.keys().map(|_| false).collect();
    for (id, name) in named {
        match wanted.get_mut(*id) {
            Some(wanted) => *wanted = true,
            None => {
                let message = format!("there is no function for the name `{name}`");
                return Err(Diagnostic::error(codes::MISSING_CALLEE, message).into());
            }
        }
    }
    for caller in library.functions.keys().rev() {
        if wanted[caller] {
            callees(&library.functions[caller]).into_iter().for_each(|id| wanted[id] = true);
        }
    }
    Ok(wanted)
}

/// What a function calls directly, in the order of the first calls.
fn callees(function: &Function) -> Vec<FunctionId> {
    let mut callees = Vec::new();
    for expr in function.exprs.values() {
        if let ExprKind::Call { callee: Callee::Function(id), .. } = expr.kind
            && !callees.contains(&id)
        {
            callees.push(id);
        }
    }
    callees
}

fn check(library: &Library, id: FunctionId, layout: Layout) -> Result<(), Diagnostics> {
    let function = &library.functions[id];
    let refuse = |node: Node, what: &str| {
        let message = format!("{what} cannot be stored in a callable library");
        Err(Diagnostic::error(codes::UNWRITABLE, message)
            .at_pointer(locate(library, Place::new(id, node)))
            .into())
    };
    if !function.bindings.is_empty() {
        return refuse(Node::Binding(0), "a bound argument");
    }
    let tags = [FunctionTag::Kernel, FunctionTag::Callable, FunctionTag::RasterStage];
    if !tags.contains(&function.tag) || (!layout.modern && function.tag != FunctionTag::Callable) {
        return refuse(Node::Function, &format!("a `{}`", function.tag.name()));
    }
    for (expr, data) in &function.exprs {
        // One that names no function can: the format has the tag, but nothing behind it.
        if matches!(data.kind, ExprKind::FuncRef(callee) if callee.is_some()) {
            return refuse(Node::Expr(expr), "the address of a function");
        }
    }
    Ok(())
}

fn clear_curves(function: &mut Function) {
    for expr in function.exprs.values_mut() {
        if let ExprKind::Call { curve_bases, .. } = &mut expr.kind {
            *curve_bases = CurveBases::default();
        }
    }
}

/// The first function that is equal to each one.
fn representatives(
    library: &Library,
    hashes: &PrimaryMap<FunctionId, FunctionHash>,
) -> Result<SecondaryMap<FunctionId, FunctionId>, Diagnostics> {
    let mut known: FxHashMap<u64, FunctionId> = FxHashMap::default();
    let mut first = SecondaryMap::with_default(FunctionId::new(0));
    for (id, hash) in hashes {
        let earlier = *known.entry(hash.function).or_insert(id);
        first[id] = earlier;
        if earlier != id && !alike(library, earlier, id, hashes) {
            let message = format!(
                "{} and {} differ, but have the same hash",
                library.function_name(earlier),
                library.function_name(id)
            );
            return Err(Diagnostic::error(codes::HASH, message).into());
        }
    }
    Ok(first)
}

/// Whether functions are equal, equal callees taken as one.
fn alike(
    library: &Library,
    a: FunctionId,
    b: FunctionId,
    hashes: &PrimaryMap<FunctionId, FunctionHash>,
) -> bool {
    let same = |x: FunctionId, y: FunctionId| hashes[x].function == hashes[y].function;
    hash::equal_with(&library.functions[a], &library.functions[b], same)
}

fn records(
    library: &Library,
    layout: Layout,
    hashes: PrimaryMap<FunctionId, FunctionHash>,
    wanted: &PrimaryMap<FunctionId, bool>,
) -> Result<PrimaryMap<FunctionId, Record>, Diagnostics> {
    let mut ops = used_ops(library);
    // What is not stored may use what cannot be.
    for (id, _) in wanted.iter().filter(|(_, wanted)| !**wanted) {
        ops[id] = UsedOps::default();
    }
    let mut records: PrimaryMap<FunctionId, Record> = PrimaryMap::new();
    for ((id, function), hash) in library.functions.iter().zip(hashes.values()) {
        let of_tag = |wanted: fn(VariableTag) -> bool| {
            let ids = function.variables.iter().filter(|(_, v)| wanted(v.tag)).map(|(id, _)| id);
            ids.collect::<Vec<VariableId>>()
        };
        let callees = callees(function);
        let any = |flag: fn(&Record) -> bool| callees.iter().any(|c| flag(&records[*c]));
        let record = Record {
            hash: hash.function,
            names: Vec::new(),
            uids: numbers(function),
            usages: function.variables.values().map(|v| u32::from(v.usage.bits())).collect(),
            builtins: of_tag(VariableTag::is_builtin),
            locals: of_tag(|tag| tag == VariableTag::Local),
            shared: of_tag(|tag| tag == VariableTag::Shared),
            direct_ops: op_bits(library, id, layout, &ops[id].direct)?,
            all_ops: op_bits(library, id, layout, &ops[id].all)?,
            float_atomics: has_float_atomic(library, function) || any(|r| r.float_atomics),
            printing: prints(function) || any(|r| r.printing),
            noinline: false,
            expr_hashes: hash.exprs.clone(),
            stmt_hashes: hash.stmts.clone(),
            callees,
        };
        records.push(record);
    }
    Ok(records)
}

fn numbers(function: &Function) -> SecondaryMap<VariableId, u32> {
    let mut numbers = SecondaryMap::with_default(u32::MAX);
    function.variables.keys().for_each(|id| numbers[id] = id.as_u32());
    numbers
}

/// A set of operations, bit by number.
fn op_bits(
    library: &Library,
    id: FunctionId,
    layout: Layout,
    ops: &CallOpSet,
) -> Result<Vec<u8>, Diagnostics> {
    let mut bits = vec![0; layout.numbering.len().div_ceil(8)];
    for op in ops.iter() {
        let Some(number) = layout.numbering.number(op) else {
            let message = format!("`{op}` cannot be stored in a callable library of this layout");
            let pointer = locate(library, Place::new(id, Node::Function));
            return Err(Diagnostic::error(codes::UNWRITABLE, message).at_pointer(pointer).into());
        };
        bits[usize::from(number) / 8] |= 1 << (number % 8);
    }
    Ok(bits)
}

fn has_float_atomic(library: &Library, function: &Function) -> bool {
    function.exprs.values().any(|expr| match expr.kind {
        ExprKind::Call { op, arguments, .. } if op.is_atomic() => {
            let value = function.exprs_in(arguments).last();
            value.is_some_and(|value| library.types.is_float(function.exprs[*value].ty))
        }
        _ => false,
    })
}

fn prints(function: &Function) -> bool {
    function.stmts.values().any(|stmt| matches!(stmt, Stmt::Print { .. }))
}
