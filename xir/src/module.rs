//! A module: interned types and functions.

use crate::{Function, FunctionId};
use cranelift_entity::PrimaryMap;
use luisac_ast::types::TypeTable;

/// All that is compiled together. Callees have no order; the call graph has no cycle (the verifier checks it).
#[derive(Clone, Debug, Default)]
pub struct Module {
    pub types: TypeTable,
    pub functions: PrimaryMap<FunctionId, Function>,
}

impl Module {
    /// A module without functions.
    pub fn new() -> Module {
        Module::default()
    }

    /// The kernels, in id order.
    pub fn kernels(&self) -> impl Iterator<Item = FunctionId> + '_ {
        self.functions.iter().filter(|(_, f)| f.is_kernel()).map(|(id, _)| id)
    }
}
