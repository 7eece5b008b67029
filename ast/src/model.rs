//! Libraries, functions, variables: what a program is made of.
//!
//! A [`Function`] owns its expressions and statements in two flat arrays; nodes name each other by index, lists are
//! ranges of shared pools. Nothing nests, so nothing recurses: neither dropping nor copying nor comparing. A node
//! has a larger id than its operands and parts, because it can only name what there is.

mod expr;
mod function;
mod stmt;

use cranelift_entity::{PrimaryMap, entity_impl};

pub use expr::{BinaryOp, Callee, CastOp, CurveBases, Expr, ExprKind, Swizzle, UnaryOp};
pub use function::{
    Binding, ByteRange, ExprList, Function, FunctionTag, StmtList, TextRange, Usage, Variable,
    VariableTag,
};
pub use stmt::Stmt;

use crate::types::{TypeId, TypeTable};

/// A function of a [`Library`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionId(u32);
entity_impl!(FunctionId, "fn");

/// A constant of a [`Library`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConstantId(u32);
entity_impl!(ConstantId, "const");

/// An external function of a [`Library`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExternalId(u32);
entity_impl!(ExternalId, "extern");

/// A variable of a [`Function`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VariableId(u32);
entity_impl!(VariableId, "var");

/// An expression of a [`Function`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExprId(u32);
entity_impl!(ExprId, "expr");

/// A statement of a [`Function`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StmtId(u32);
entity_impl!(StmtId, "stmt");

/// A value known at compile time, shared by all functions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Constant {
    /// Its type.
    pub ty: TypeId,
    /// Its value in memory layout: as many bytes as the type has, padding zero.
    pub bytes: Vec<u8>,
}

/// A native function known by name only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct External {
    /// The symbol.
    pub name: String,
    /// What it returns.
    pub return_type: TypeId,
    /// Type of each argument.
    pub argument_types: Vec<TypeId>,
    /// What it does with each argument.
    pub argument_usages: Vec<Usage>,
}

/// Functions with the types and constants they use. Callees come before their callers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Library {
    /// All types.
    pub types: TypeTable,
    /// All constants.
    pub constants: PrimaryMap<ConstantId, Constant>,
    /// All functions, in the order of the input.
    pub functions: PrimaryMap<FunctionId, Function>,
    /// All external functions.
    pub externals: PrimaryMap<ExternalId, External>,
    /// The function that the input is about, if it says so.
    pub entry: Option<FunctionId>,
    /// The types that the input lists, in its order; empty for a library that was not read from JSON.
    pub listed_types: Vec<TypeId>,
}

impl Library {
    /// A library of nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// The kernels, in order.
    pub fn kernels(&self) -> impl Iterator<Item = (FunctionId, &Function)> {
        self.functions.iter().filter(|(_, f)| f.tag == FunctionTag::Kernel)
    }

    /// What to call a function in a message: its name, or its number.
    pub fn function_name(&self, id: FunctionId) -> String {
        match self.functions.get(id).and_then(|f| f.name.as_deref()) {
            Some(name) => format!("`{name}`"),
            None => format!("function {}", id.as_u32()),
        }
    }
}
