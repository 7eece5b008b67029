//! What is in an AST.

use luisac::driver::input::Input;
use luisac_ast::callops::{CallOp, Group};
use luisac_ast::model::{
    Callee, ExprKind, Function, FunctionId, FunctionTag, Library, Usage, VariableTag,
};
use luisac_ast::usage::{self, Usages};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Everything about a library, with the functions in the order of the input.
pub fn describe(input: &Input, format: &str, library: &Library) -> Value {
    let graph = Graph::new(library);
    let usages = usage::effective(library);
    let functions: Vec<Value> =
        library.functions.keys().map(|id| function(library, &graph, &usages, id)).collect();
    let count = |tag| library.functions.values().filter(|f| f.tag == tag).count();
    let constants: Vec<Value> = library
        .constants
        .values()
        .map(|c| json!({"type": library.types.description(c.ty), "size": c.bytes.len()}))
        .collect();
    let externals: Vec<Value> = library
        .externals
        .values()
        .map(|e| {
            let types = e.argument_types.iter().map(|ty| library.types.description(*ty));
            json!({
                "name": e.name,
                "return_type": library.types.description(e.return_type),
                "argument_types": types.collect::<Vec<_>>(),
            })
        })
        .collect();
    json!({
        "kind": "ast",
        "input": input.name,
        "format": format,
        "bytes": input.bytes().len(),
        "entry": library.entry.map(FunctionId::as_u32),
        "kernels": count(FunctionTag::Kernel),
        "callables": count(FunctionTag::Callable),
        "expressions": library.functions.values().map(|f| f.exprs.len()).sum::<usize>(),
        "statements": library.functions.values().map(|f| f.stmts.len()).sum::<usize>(),
        "functions": functions,
        "constants": constants,
        "externals": externals,
    })
}

/// Who calls whom, and with which operations.
struct Graph {
    operations: Vec<BTreeSet<CallOp>>,
    propagated: Vec<BTreeSet<CallOp>>,
    calls: Vec<BTreeSet<u32>>,
    callers: Vec<BTreeSet<u32>>,
}

impl Graph {
    /// Callees come before their callers, so that one pass is enough.
    fn new(library: &Library) -> Graph {
        let count = library.functions.len();
        let mut graph = Graph {
            operations: Vec::with_capacity(count),
            propagated: Vec::with_capacity(count),
            calls: Vec::with_capacity(count),
            callers: vec![BTreeSet::new(); count],
        };
        for (id, function) in &library.functions {
            let (operations, calls) = uses(function);
            let mut propagated = operations.clone();
            for callee in &calls {
                propagated.extend(graph.propagated.get(*callee as usize).into_iter().flatten());
                if let Some(callers) = graph.callers.get_mut(*callee as usize) {
                    callers.insert(id.as_u32());
                }
            }
            graph.operations.push(operations);
            graph.propagated.push(propagated);
            graph.calls.push(calls);
        }
        graph
    }
}

fn uses(function: &Function) -> (BTreeSet<CallOp>, BTreeSet<u32>) {
    let (mut operations, mut calls) = (BTreeSet::new(), BTreeSet::new());
    for expr in function.exprs.values() {
        if let ExprKind::Call { op, callee, .. } = expr.kind {
            operations.insert(op);
            if let Callee::Function(id) = callee {
                calls.insert(id.as_u32());
            }
        }
    }
    (operations, calls)
}

fn function(library: &Library, graph: &Graph, usages: &Usages, id: FunctionId) -> Value {
    let function = &library.functions[id];
    let index = id.as_u32() as usize;
    let names = |ops: &BTreeSet<CallOp>| ops.iter().map(|op| op.name()).collect::<Vec<_>>();
    let features: BTreeSet<Group> =
        graph.propagated[index].iter().map(|op| op.info().group).collect();
    let features: Vec<&str> = features.into_iter().filter_map(feature).collect();
    let bytes = |tag| {
        let of_tag = function.variables.values().filter(|v| v.tag == tag);
        of_tag.map(|v| library.types.size(v.ty)).sum::<u64>()
    };
    json!({
        "index": index,
        "name": function.name,
        "kind": function.tag.name().to_ascii_lowercase(),
        "block_size": (function.tag == FunctionTag::Kernel).then_some(function.block_size),
        "warp_size": function.allowed_warp_size,
        "curve_bases": function.curve_bases.names().collect::<Vec<_>>(),
        "return_type": library.types.description(function.return_type),
        "arguments": arguments(library, usages, id),
        "shared_bytes": bytes(VariableTag::Shared),
        "local_bytes": bytes(VariableTag::Local),
        "variables": function.variables.len(),
        "expressions": function.exprs.len(),
        "statements": function.stmts.len(),
        "operations": names(&graph.operations[index]),
        "propagated_operations": names(&graph.propagated[index]),
        "features": features,
        "calls": graph.calls[index],
        "called_by": graph.callers[index],
    })
}

fn arguments(library: &Library, usages: &Usages, id: FunctionId) -> Vec<Value> {
    let function = &library.functions[id];
    let argument = |(i, &variable): (usize, &luisac_ast::model::VariableId)| {
        let data = &function.variables[variable];
        let usage = |usage: Usage| usage.name().to_ascii_lowercase();
        json!({
            "name": data.name,
            "tag": data.tag.name().to_ascii_lowercase(),
            "type": library.types.description(data.ty),
            "size": library.types.size(data.ty),
            "align": library.types.align(data.ty),
            "usage": usage(usages[id][variable]),
            "marked_usage": usage(data.usage),
            "captured": i < function.bindings.len(),
        })
    };
    function.arguments.iter().enumerate().map(argument).collect()
}

/// What a target must offer beyond the core.
fn feature(group: Group) -> Option<&'static str> {
    Some(match group {
        Group::Core | Group::Hint => return None,
        Group::Sync => "barriers",
        Group::Atomic => "atomics",
        Group::Buffer => "buffers",
        Group::Address => "addresses",
        Group::Texture => "textures",
        Group::SampledTexture => "sampled textures",
        Group::Bindless => "bindless arrays",
        Group::AutoDiff => "differentiation",
        Group::RayTracing => "ray tracing",
        Group::Raster => "raster stages",
        Group::Derivative => "derivatives",
        Group::Warp => "waves",
        Group::Indirect => "indirect dispatch",
        Group::Cooperative => "cooperative vectors",
        Group::Async => "asynchronous copies",
        Group::Clock => "clock",
    })
}
