//! What a function does with each of its variables (`ast.md`, section 5.1).
//!
//! There are two layers. The *marked* usage is what LuisaCompute's builder records and files store: it is by rule, not
//! by truth (an atomic marks its buffer as written only, PACK marks it as read only). The *effective* usage is what
//! really happens, for everything that schedules or optimises.
//!
//! Both are one pass over the expressions from users to operands, then one over the statements, function by function,
//! callees first. Cost: linear in the nodes.

#[cfg(test)]
mod tests;

use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap};

use crate::callops::CallOp;
use crate::model::{
    Callee, ExprId, ExprKind, ExprList, Function, FunctionId, Library, Stmt, Usage, VariableId,
    VariableTag,
};

/// Usage of each variable of each function.
pub type Usages = PrimaryMap<FunctionId, SecondaryMap<VariableId, Usage>>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Layer {
    Marked,
    Effective,
}

/// Sets the usage of every variable to the one that files mark.
pub fn mark(library: &mut Library) {
    let usages = marked(library);
    for ((_, function), (_, usages)) in library.functions.iter_mut().zip(usages.iter()) {
        for (id, variable) in function.variables.iter_mut() {
            variable.usage = usages[id];
        }
    }
}

/// The usage that files mark, computed anew.
pub fn marked(library: &Library) -> Usages {
    compute(library, Layer::Marked)
}

/// What really happens to each variable.
pub fn effective(library: &Library) -> Usages {
    compute(library, Layer::Effective)
}

fn compute(library: &Library, layer: Layer) -> Usages {
    let mut usages = Usages::with_capacity(library.functions.len());
    for function in library.functions.values() {
        let mut marker = Marker {
            library,
            function,
            layer,
            usages: &usages,
            exprs: SecondaryMap::with_capacity(function.exprs.len()),
        };
        marker.statements();
        let variables = marker.expressions();
        usages.push(variables);
    }
    usages
}

struct Marker<'a> {
    library: &'a Library,
    function: &'a Function,
    layer: Layer,
    usages: &'a Usages,
    exprs: SecondaryMap<ExprId, Usage>,
}

impl Marker<'_> {
    fn mark(&mut self, expr: ExprId, usage: Usage) {
        self.exprs[expr] |= usage;
    }

    fn mark_all(&mut self, list: ExprList, usage: Usage) {
        for expr in self.function.exprs_in(list) {
            self.mark(*expr, usage);
        }
    }

    fn statements(&mut self) {
        for stmt in self.function.stmts.values() {
            match *stmt {
                Stmt::Return(value) => {
                    if let Some(value) = value.expand() {
                        self.mark(value, Usage::READ);
                    }
                }
                Stmt::If { condition: value, .. }
                | Stmt::Switch { value, .. }
                | Stmt::Expr(value) => {
                    self.mark(value, Usage::READ);
                }
                Stmt::Assign { lhs, rhs } => {
                    self.mark(lhs, Usage::WRITE);
                    self.mark(rhs, Usage::READ);
                }
                Stmt::For { variable, condition, step, .. } => {
                    self.mark(variable, Usage::READ_WRITE);
                    self.mark(condition, Usage::READ);
                    self.mark(step, Usage::READ);
                }
                Stmt::RayQuery { query, .. } => self.mark(query, Usage::READ_WRITE),
                Stmt::Print { arguments, .. } | Stmt::DebugBreak { watches: arguments } => {
                    self.mark_all(arguments, Usage::READ);
                }
                _ => {}
            }
        }
    }

    /// From users to operands: operands have smaller ids.
    fn expressions(mut self) -> SecondaryMap<VariableId, Usage> {
        let mut variables = SecondaryMap::with_capacity(self.function.variables.len());
        for index in (0..self.function.exprs.len()).rev() {
            let id = ExprId::new(index);
            let usage = self.exprs[id];
            match self.function.exprs[id].kind {
                ExprKind::Ref(variable) => variables[variable] |= usage,
                ExprKind::Member { base, .. } | ExprKind::Swizzle { base, .. } => {
                    self.mark(base, usage)
                }
                ExprKind::Access { range, index } => {
                    // The marked layer reads the range whenever an element of it is named, even to write it.
                    let always =
                        if self.layer == Layer::Marked { Usage::READ } else { Usage::NONE };
                    self.mark(range, usage | always);
                    self.mark(index, Usage::READ);
                }
                ExprKind::Unary { operand, .. } | ExprKind::Cast { source: operand, .. } => {
                    self.mark(operand, Usage::READ);
                }
                ExprKind::Binary { lhs, rhs, .. } => {
                    self.mark(lhs, Usage::READ);
                    self.mark(rhs, Usage::READ);
                }
                ExprKind::Call { op, callee, arguments, .. } => self.call(op, callee, arguments),
                ExprKind::CpuCustom { argument, .. } | ExprKind::GpuCustom { argument, .. } => {
                    if let Some(argument) = argument.expand() {
                        self.mark(argument, Usage::READ_WRITE);
                    }
                }
                _ => {}
            }
        }
        variables
    }

    fn call(&mut self, op: CallOp, callee: Callee, arguments: ExprList) {
        for (i, argument) in self.function.exprs_in(arguments).iter().enumerate() {
            let usage = match callee {
                Callee::Builtin => self.builtin_usage(op, i),
                Callee::External(id) => {
                    let usages = &self.library.externals[id].argument_usages;
                    usages.get(i).copied().unwrap_or(Usage::READ_WRITE)
                }
                Callee::Function(id) => self.parameter_usage(id, i),
            };
            self.mark(*argument, usage);
        }
    }

    fn builtin_usage(&self, op: CallOp, argument: usize) -> Usage {
        match self.layer {
            Layer::Marked if op.marked_write() == Some(argument) => Usage::WRITE,
            Layer::Effective if op.written_argument() == Some(argument) => {
                if op.replaces_argument() { Usage::WRITE } else { Usage::READ_WRITE }
            }
            _ => Usage::READ,
        }
    }

    fn parameter_usage(&self, callee: FunctionId, argument: usize) -> Usage {
        let (Some(function), Some(usages)) =
            (self.library.functions.get(callee), self.usages.get(callee))
        else {
            return Usage::READ_WRITE;
        };
        match function.arguments.get(argument) {
            Some(id) => {
                let tag = function.variables[*id].tag;
                if tag == VariableTag::Reference || tag.is_resource() {
                    usages[*id]
                } else {
                    Usage::READ
                }
            }
            None => Usage::READ,
        }
    }
}
