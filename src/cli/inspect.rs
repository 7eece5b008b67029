//! `luisac inspect`: what is in an input or an artifact.

use super::messages::{Failure, Messages, print};
use super::options::InspectCommand;
use luisac::codes;
use luisac::driver::input::Input;
use luisac_artifact::Metadata;
use luisac_ast::callops::CallOp;
use luisac_ast::diagnostic::{Diagnostic, Diagnostics};
use luisac_ast::json::{self, InputKind};
use luisac_ast::model::{ExprKind, Function, FunctionId, FunctionTag, Library};
use luisac_ast::usage;
use luisac_xir::{FunctionKind, Module};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Shows one file.
pub fn run(command: &InspectCommand, messages: &Messages) -> Result<(), Failure> {
    let input = Input::read(&command.file).map_err(|d| messages.fail(d, None))?;
    let value = describe(&input).map_err(|d| messages.fail(d, Some(&input)))?;
    let text = if command.json { format!("{value:#}\n") } else { table(&value) };
    print(text.as_bytes()).map_err(|e| {
        messages.fail(
            Diagnostic::error(codes::CANNOT_WRITE, format!("cannot write to standard output: {e}")),
            None,
        )
    })
}

fn describe(input: &Input) -> Result<Value, Diagnostics> {
    if let Ok(metadata) = Metadata::from_json(input.bytes()) {
        return Ok(json!({"kind": "metadata", "metadata": metadata}));
    }
    match json::detect(input.bytes()) {
        InputKind::XirText => Ok(module(&input.module()?.0)),
        _ => Ok(library(&input.library()?.0)),
    }
}

fn library(library: &Library) -> Value {
    let usages = usage::effective(library);
    let functions: Vec<Value> = library
        .functions
        .iter()
        .map(|(id, function)| {
            let arguments: Vec<Value> = function
                .arguments
                .iter()
                .enumerate()
                .map(|(i, &variable)| {
                    let data = &function.variables[variable];
                    json!({
                        "name": data.name,
                        "tag": format!("{:?}", data.tag),
                        "type": library.types.description(data.ty),
                        "size": library.types.size(data.ty),
                        "align": library.types.align(data.ty),
                        "usage": usages[id][variable].name(),
                        "captured": i < function.bindings.len(),
                    })
                })
                .collect();
            json!({
                "index": id.as_u32(),
                "name": function.name,
                "kind": match function.tag { FunctionTag::Kernel => "kernel", FunctionTag::Callable => "callable", _ => "raster_stage" },
                "block_size": (function.tag == FunctionTag::Kernel).then_some(function.block_size),
                "return_type": library.types.description(function.return_type),
                "arguments": arguments,
                "variables": function.variables.len(),
                "expressions": function.exprs.len(),
                "statements": function.stmts.len(),
                "operations": operations(function),
                "calls": callees(function),
            })
        })
        .collect();
    json!({
        "kind": "ast",
        "entry": library.entry.map(FunctionId::as_u32),
        "functions": functions,
        "constants": library.constants.len(),
        "externals": library.externals.values().map(|e| e.name.clone()).collect::<Vec<_>>(),
    })
}

fn operations(function: &Function) -> Vec<&'static str> {
    let used: BTreeSet<CallOp> = function
        .exprs
        .values()
        .filter_map(|e| match e.kind {
            ExprKind::Call { op, .. } => Some(op),
            _ => None,
        })
        .collect();
    used.into_iter().map(CallOp::name).collect()
}

fn callees(function: &Function) -> Vec<u32> {
    let used: BTreeSet<u32> = function
        .exprs
        .values()
        .filter_map(|e| match e.kind {
            ExprKind::Call { callee: luisac_ast::model::Callee::Function(id), .. } => {
                Some(id.as_u32())
            }
            _ => None,
        })
        .collect();
    used.into_iter().collect()
}

fn module(module: &Module) -> Value {
    let functions: Vec<Value> = module
        .functions
        .iter()
        .map(|(id, function)| {
            let arguments: Vec<Value> = function
                .arguments
                .iter()
                .map(|a| {
                    json!({
                        "name": a.name,
                        "tag": format!("{:?}", a.kind),
                        "type": module.types.description(a.ty),
                        "size": module.types.size(a.ty),
                        "align": module.types.align(a.ty),
                        "captured": a.captured,
                    })
                })
                .collect();
            let block_size = match function.kind {
                FunctionKind::Kernel { block_size } => Some(block_size),
                _ => None,
            };
            json!({
                "index": id.as_u32(),
                "name": function.name,
                "kind": if function.is_kernel() { "kernel" } else { "callable" },
                "block_size": block_size,
                "return_type": module.types.description(function.return_type),
                "arguments": arguments,
                "blocks": function.blocks().count(),
                "instructions": function.placed_inst_count(),
            })
        })
        .collect();
    json!({"kind": "xir", "functions": functions})
}

fn table(value: &Value) -> String {
    if value["kind"] == "metadata" {
        return format!("{:#}\n", value["metadata"]);
    }
    let mut text = String::new();
    for function in value["functions"].as_array().into_iter().flatten() {
        text.push_str(&function_table(function));
    }
    text
}

fn function_table(function: &Value) -> String {
    let word = |v: &Value| v.as_str().unwrap_or("").to_owned();
    let mut text =
        format!("{} {} {}", word(&function["kind"]), function["index"], word(&function["name"]));
    if let Some(size) = function["block_size"].as_array() {
        let size: Vec<String> = size.iter().map(Value::to_string).collect();
        text.push_str(&format!("  block {}", size.join("x")));
    }
    if function["return_type"] != "void" {
        text.push_str(&format!("  -> {}", word(&function["return_type"])));
    }
    text.push('\n');
    for (i, argument) in function["arguments"].as_array().into_iter().flatten().enumerate() {
        text.push_str(&format!(
            "  {i:>3}  {:<16} {:<32} {:>6} bytes  {:<10} {}{}\n",
            word(&argument["tag"]),
            word(&argument["type"]),
            argument["size"],
            word(&argument["usage"]),
            word(&argument["name"]),
            if argument["captured"] == true { " (captured)" } else { "" },
        ));
    }
    let list = |v: &Value| {
        v.as_array()
            .into_iter()
            .flatten()
            .map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned))
            .collect::<Vec<_>>()
            .join(" ")
    };
    for key in ["operations", "calls"] {
        if function[key].as_array().is_some_and(|a| !a.is_empty()) {
            text.push_str(&format!("       {key}: {}\n", list(&function[key])));
        }
    }
    for key in ["variables", "expressions", "statements", "blocks", "instructions"] {
        if !function[key].is_null() {
            text.push_str(&format!("       {} {key}", function[key]));
        }
    }
    text.push('\n');
    text
}
