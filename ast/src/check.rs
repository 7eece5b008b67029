//! Whether a library makes sense as a program: all that is wrong, at once, each with code and place.
//!
//! The checks follow the format as it is used, not as it could be: implicit conversions between scalars, operands of
//! different shapes and builtin variables of odd types are let through wherever LuisaCompute's own frontend writes
//! them (see `json.md` and the corpus). One pass over the expressions, one over the statements, function by function;
//! cost linear in the nodes.

mod calls;
pub mod codes;
mod expressions;
mod function;
#[cfg(test)]
mod op_tests;
mod rules;
mod signature;
mod statements;
#[cfg(test)]
pub(crate) mod tests;
mod variadic;

use crate::diagnostic::{Code, Diagnostic, Diagnostics, Severity, remedy};
use crate::layout;
use crate::model::{ExprId, Function, FunctionId, Library, StmtId, VariableId};
use crate::place::{self, Locator, Node, Place};
use crate::types::TypeId;

pub(crate) use statements::Context;

/// How many diagnostics are of use to a reader.
const LIMIT: usize = 100;

struct Finding {
    code: Code,
    severity: Severity,
    node: Node,
    message: String,
}

/// Checks a library; errors and warnings in the order of functions, declarations first, then as the program is read.
///
/// A library that [`json::read`](crate::json::read) gave is sound by its indices, on which this relies: it may panic
/// for one that was put together otherwise and holds an index of something that does not exist.
pub fn check(library: &Library) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    for (id, constant) in &library.constants {
        let size = library.types.size(constant.ty);
        if constant.bytes.len() as u64 != size {
            let message =
                format!("the constant has {} bytes, but its type has {size}", constant.bytes.len());
            diagnostics.push(Diagnostic {
                help: remedy(&[codes::CODES], codes::CONSTANT_SIZE),
                ..Diagnostic::error(codes::CONSTANT_SIZE, message)
                    .at_pointer(place::locate_constant(id))
            });
        }
    }
    for (id, function) in &library.functions {
        let mut checker = Checker { library, id, function, findings: Vec::new() };
        checker.check_declarations();
        if checker.check_order() {
            checker.check_expressions();
            checker.check_statements();
        }
        checker.report(&mut diagnostics);
        if diagnostics.0.len() >= LIMIT {
            break;
        }
    }
    diagnostics
}

/// A part of a function that is still being built.
#[derive(Clone, Copy)]
pub(crate) enum Part {
    /// The declaration of a variable.
    Variable(VariableId),
    /// An expression, not its operands.
    Expr(ExprId),
    /// A statement, not what is in its bodies, by what encloses it.
    Stmt(StmtId, Context),
    /// All declarations and the order of the nodes.
    Declarations,
}

/// The first error of a part of `function`, which is to be the function `id` of the library but is not in it yet.
pub(crate) fn part(
    library: &Library,
    id: FunctionId,
    function: &Function,
    part: Part,
) -> Option<(Code, String)> {
    let mut checker = Checker { library, id, function, findings: Vec::new() };
    match part {
        Part::Variable(variable) => checker.check_variable(variable, &function.variables[variable]),
        Part::Expr(expr) => checker.check_expr(expr, &function.exprs[expr]),
        Part::Stmt(stmt, context) => checker.check_statement(stmt, context, &mut Vec::new()),
        Part::Declarations => {
            checker.check_declarations();
            checker.check_order();
        }
    }
    let errors = checker.findings.into_iter().find(|f| f.severity == Severity::Error);
    errors.map(|f| (f.code, f.message))
}

struct Checker<'a> {
    library: &'a Library,
    id: FunctionId,
    function: &'a Function,
    findings: Vec<Finding>,
}

impl Checker<'_> {
    fn error(&mut self, code: Code, node: Node, message: impl Into<String>) {
        self.find(Severity::Error, code, node, message.into());
    }

    fn warning(&mut self, code: Code, node: Node, message: impl Into<String>) {
        self.find(Severity::Warning, code, node, message.into());
    }

    fn find(&mut self, severity: Severity, code: Code, node: Node, message: String) {
        if self.findings.len() < LIMIT {
            self.findings.push(Finding { code, severity, node, message });
        }
    }

    /// The type's description, for a message.
    fn name(&self, ty: TypeId) -> String {
        let mut name = self.library.types.description(ty);
        if name.len() > 80 {
            name.truncate(77);
            name.push_str("...");
        }
        name
    }

    fn report(mut self, diagnostics: &mut Diagnostics) {
        if self.findings.is_empty() {
            return;
        }
        let nodes = self.findings.iter().map(|finding| finding.node);
        let locator = Locator::of_nodes(self.function, nodes);
        self.findings.sort_by_key(|finding| locator.order(finding.node));
        let function = self.library.function_name(self.id);
        for finding in self.findings {
            let pointer = locator.locate(Place::new(self.id, finding.node));
            let diagnostic = Diagnostic::error(finding.code, finding.message);
            diagnostics.push(Diagnostic {
                severity: finding.severity,
                pointer: Some(pointer),
                function: Some(function.clone()),
                help: remedy(&[codes::CODES], finding.code),
                ..diagnostic
            });
        }
    }
}

/// Nesting of types is bounded, so that rules may walk them.
const _: () = assert!(layout::MAX_DEPTH < 10_000);
