//! Functions as text, for comparison.

use std::collections::HashMap;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};

use luisac_ast::model::{
    Callee, ExprId, ExprKind, Function, Library, Stmt, StmtId, VariableId, VariableTag,
};

/// Every function of a library as text, in which only what matters has a name: variables by order of mention, arguments
/// first, types by description, constants by value, callees by the hash of their own text.
pub fn dumps(library: &Library) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for function in library.functions.values() {
        let mut dump = Dump {
            library,
            function,
            earlier: &texts,
            variables: HashMap::new(),
            text: String::new(),
        };
        for argument in &function.arguments {
            dump.variable(*argument);
        }
        let _ = writeln!(
            dump.text,
            "{:?} -> {}",
            function.tag,
            library.types.description(function.return_type)
        );
        dump.stmt(function.body.expand().expect("there is a body"));
        let text = dump.text;
        texts.push(text);
    }
    texts
}

struct Dump<'a> {
    library: &'a Library,
    function: &'a Function,
    earlier: &'a [String],
    variables: HashMap<VariableId, usize>,
    text: String,
}

impl Dump<'_> {
    fn variable(&mut self, id: VariableId) {
        let next = self.variables.len();
        let index = *self.variables.entry(id).or_insert(next);
        let variable = &self.function.variables[id];
        let by_value = self.function.is_value_argument(id);
        let tag = if by_value { VariableTag::Argument } else { variable.tag };
        let _ = write!(
            self.text,
            "v{index}:{}:{}",
            tag.name(),
            self.library.types.description(variable.ty)
        );
    }

    fn callee(&mut self, index: usize) {
        let mut hasher = DefaultHasher::new();
        self.earlier[index].hash(&mut hasher);
        let _ = write!(self.text, "{{{:x}}}", hasher.finish());
    }

    fn expr(&mut self, id: ExprId) {
        let expr = self.function.exprs[id];
        let _ = write!(self.text, "({} ", self.library.types.description(expr.ty));
        match expr.kind {
            ExprKind::Ref(variable) => self.variable(variable),
            ExprKind::Constant(constant) => {
                let _ = write!(self.text, "{:?}", self.library.constants[constant].bytes);
            }
            ExprKind::Literal { bytes } => {
                let _ = write!(self.text, "{:?}", self.function.bytes_in(bytes));
            }
            ExprKind::TypeId(ty) => self.text.push_str(&self.library.types.description(ty)),
            ExprKind::Swizzle { swizzle, .. } => {
                let _ = write!(self.text, ".{swizzle}");
            }
            ExprKind::Member { index, .. } => {
                let _ = write!(self.text, ".{index}");
            }
            ExprKind::Unary { op, .. } => self.text.push_str(op.name()),
            ExprKind::Binary { op, .. } => self.text.push_str(op.name()),
            ExprKind::Cast { op, .. } => self.text.push_str(op.name()),
            ExprKind::Access { .. } => self.text.push_str("[]"),
            ExprKind::Call { op, callee, .. } => {
                self.text.push_str(op.name());
                match callee {
                    Callee::Builtin => {}
                    Callee::Function(callee) => self.callee(callee.as_u32() as usize),
                    Callee::External(callee) => {
                        self.text.push_str(&self.library.externals[callee].name);
                    }
                }
            }
            ExprKind::FuncRef(callee) => {
                if let Some(callee) = callee.expand() {
                    self.callee(callee.as_u32() as usize);
                }
            }
            ExprKind::StringId(text) | ExprKind::GpuCustom { source: text, .. } => {
                let _ = write!(self.text, "{:?}", self.function.text_in(text));
            }
            ExprKind::CpuCustom { pointers, .. } => {
                let _ = write!(self.text, "{:?}", self.function.bytes_in(pointers));
            }
        }
        let mut operands = Vec::new();
        luisac_ast::place::expr_children(self.function, &expr.kind, |_, _, operand| {
            operands.push(operand)
        });
        operands.into_iter().for_each(|operand| self.expr(operand));
        self.text.push(')');
    }

    fn stmt(&mut self, id: StmtId) {
        let stmt = self.function.stmts[id];
        let name = format!("{stmt:?}");
        self.text.push_str(name.split([' ', '(', '{']).next().unwrap_or_default());
        match stmt {
            Stmt::Comment(text) | Stmt::Print { format: text, .. } => {
                let _ = write!(self.text, "{:?}", self.function.text_in(text));
            }
            Stmt::SwitchCase { value, body } => {
                let _ = write!(self.text, " {:?} ", self.function.case_value(value));
                return self.stmt(body);
            }
            _ => {}
        }
        self.text.push('\n');
        let mut parts = Vec::new();
        luisac_ast::place::stmt_children(self.function, &stmt, |_, _, part| parts.push(part));
        for part in parts {
            match part {
                luisac_ast::place::Node::Expr(expr) => self.expr(expr),
                luisac_ast::place::Node::Stmt(stmt) => self.stmt(stmt),
                _ => {}
            }
        }
        self.text.push_str("end\n");
    }
}
