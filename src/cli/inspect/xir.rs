//! What is in an XIR module.

use luisac::driver::input::Input;
use luisac_xir::{FunctionKind, Module};
use serde_json::{Value, json};

/// Everything about a module, with the functions in its order.
pub fn describe(input: &Input, module: &Module) -> Value {
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
                        "tag": format!("{:?}", a.kind).to_ascii_lowercase(),
                        "type": module.types.description(a.ty),
                        "size": module.types.size(a.ty),
                        "align": module.types.align(a.ty),
                        "captured": a.captured,
                    })
                })
                .collect();
            let (kind, block_size) = match function.kind {
                FunctionKind::Kernel { block_size } => ("kernel", Some(block_size)),
                _ if function.blocks().next().is_none() => ("external", None),
                _ => ("callable", None),
            };
            json!({
                "index": id.as_u32(),
                "name": function.name,
                "kind": kind,
                "block_size": block_size,
                "return_type": module.types.description(function.return_type),
                "arguments": arguments,
                "blocks": function.placed_block_count(),
                "instructions": function.placed_inst_count(),
            })
        })
        .collect();
    json!({
        "kind": "xir",
        "input": input.name,
        "bytes": input.bytes().len(),
        "functions": functions,
    })
}
