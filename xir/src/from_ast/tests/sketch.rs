//! A short way to write an AST, and its lowering as text.

use super::super::{Options, lower};
use crate::{text, verify};
use luisac_ast::callops::CallOp;
use luisac_ast::diagnostic::{Code, Diagnostics};
use luisac_ast::model::{
    BinaryOp, Callee, CastOp, Constant, CurveBases, Expr, ExprId, ExprKind, Function, FunctionId,
    FunctionTag, Library, Stmt, StmtId, Swizzle, UnaryOp, Usage, Variable, VariableId, VariableTag,
};
use luisac_ast::types::{Scalar, TypeId};

pub const BOOL: TypeId = TypeId::BOOL;
pub const INT: TypeId = TypeId::I32;
pub const UINT: TypeId = TypeId::U32;
pub const LONG: TypeId = TypeId::I64;
pub const ULONG: TypeId = TypeId::U64;
pub const HALF: TypeId = TypeId::F16;
pub const FLOAT: TypeId = TypeId::F32;
pub const SHORT: TypeId = TypeId::scalar(Scalar::I16);
pub const USHORT: TypeId = TypeId::scalar(Scalar::U16);
pub const FLOAT2: TypeId = TypeId::vector(Scalar::F32, 2);
pub const FLOAT3: TypeId = TypeId::vector(Scalar::F32, 3);
pub const FLOAT4: TypeId = TypeId::vector(Scalar::F32, 4);
pub const UINT2: TypeId = TypeId::vector(Scalar::U32, 2);
pub const UINT3: TypeId = TypeId::vector(Scalar::U32, 3);
pub const INT2: TypeId = TypeId::vector(Scalar::I32, 2);
pub const BOOL2: TypeId = TypeId::vector(Scalar::Bool, 2);
pub const MAT2: TypeId = TypeId::matrix(2);
pub const VOID: TypeId = TypeId::VOID;

/// A library being written, and the function that is open.
pub struct Sketch {
    pub library: Library,
    pub function: Function,
}

impl Sketch {
    pub fn new() -> Sketch {
        let mut function = Function::new(FunctionTag::Kernel);
        function.block_size = [32, 1, 1];
        function.name = Some("k".into());
        Sketch { library: Library::new(), function }
    }

    pub fn var(&mut self, tag: VariableTag, ty: TypeId) -> VariableId {
        self.function.variables.push(Variable { tag, ty, usage: Usage::READ_WRITE, name: None })
    }

    pub fn local(&mut self, ty: TypeId) -> ExprId {
        let variable = self.var(VariableTag::Local, ty);
        self.read(variable)
    }

    pub fn builtin(&mut self, tag: VariableTag, ty: TypeId) -> ExprId {
        let variable = self.var(tag, ty);
        self.read(variable)
    }

    pub fn arg(&mut self, tag: VariableTag, ty: TypeId) -> ExprId {
        let variable = self.var(tag, ty);
        self.function.arguments.push(variable);
        self.read(variable)
    }

    pub fn value_arg(&mut self, ty: TypeId) -> ExprId {
        self.arg(VariableTag::Argument, ty)
    }

    pub fn buffer(&mut self, element: TypeId) -> ExprId {
        let ty = self.library.types.buffer(element).expect("an element type");
        self.arg(VariableTag::Buffer, ty)
    }

    pub fn read(&mut self, variable: VariableId) -> ExprId {
        let ty = self.function.variables[variable].ty;
        self.expr(ty, ExprKind::Ref(variable))
    }

    pub fn expr(&mut self, ty: TypeId, kind: ExprKind) -> ExprId {
        self.function.exprs.push(Expr { ty, kind })
    }

    pub fn ty(&self, expr: ExprId) -> TypeId {
        self.function.exprs[expr].ty
    }

    pub fn lit(&mut self, ty: TypeId, bytes: &[u8]) -> ExprId {
        self.function.add_literal(ty, bytes)
    }

    pub fn uint(&mut self, value: u32) -> ExprId {
        self.lit(UINT, &value.to_le_bytes())
    }

    pub fn int(&mut self, value: i32) -> ExprId {
        self.lit(INT, &value.to_le_bytes())
    }

    pub fn float(&mut self, value: f32) -> ExprId {
        self.lit(FLOAT, &value.to_le_bytes())
    }

    pub fn unary(&mut self, op: UnaryOp, operand: ExprId, ty: TypeId) -> ExprId {
        self.expr(ty, ExprKind::Unary { op, operand })
    }

    pub fn binary(&mut self, op: BinaryOp, lhs: ExprId, rhs: ExprId, ty: TypeId) -> ExprId {
        self.expr(ty, ExprKind::Binary { op, lhs, rhs })
    }

    pub fn cast(&mut self, op: CastOp, source: ExprId, ty: TypeId) -> ExprId {
        self.expr(ty, ExprKind::Cast { op, source })
    }

    pub fn swizzle(&mut self, base: ExprId, text: &str, ty: TypeId) -> ExprId {
        let swizzle = Swizzle::parse(text).expect("components");
        self.expr(ty, ExprKind::Swizzle { base, swizzle })
    }

    pub fn member(&mut self, base: ExprId, index: u32, ty: TypeId) -> ExprId {
        self.expr(ty, ExprKind::Member { base, index })
    }

    pub fn access(&mut self, range: ExprId, index: ExprId, ty: TypeId) -> ExprId {
        self.expr(ty, ExprKind::Access { range, index })
    }

    pub fn constant(&mut self, ty: TypeId, bytes: &[u8]) -> ExprId {
        let id = self.library.constants.push(Constant { ty, bytes: bytes.to_vec() });
        self.expr(ty, ExprKind::Constant(id))
    }

    pub fn call(&mut self, op: CallOp, args: &[ExprId], ty: TypeId) -> ExprId {
        let arguments = self.function.add_exprs(args);
        let curve_bases = CurveBases::default();
        self.expr(ty, ExprKind::Call { op, curve_bases, callee: Callee::Builtin, arguments })
    }

    pub fn call_function(&mut self, id: FunctionId, args: &[ExprId], ty: TypeId) -> ExprId {
        let arguments = self.function.add_exprs(args);
        let (op, callee) = (CallOp::Custom, Callee::Function(id));
        self.expr(ty, ExprKind::Call { op, curve_bases: CurveBases::default(), callee, arguments })
    }

    pub fn text(&mut self, text: &str) -> ExprId {
        let range = self.function.add_text(text);
        self.expr(ULONG, ExprKind::StringId(range))
    }

    pub fn stmt(&mut self, stmt: Stmt) -> StmtId {
        self.function.stmts.push(stmt)
    }

    pub fn assign(&mut self, lhs: ExprId, rhs: ExprId) -> StmtId {
        self.stmt(Stmt::Assign { lhs, rhs })
    }

    pub fn effect(&mut self, expr: ExprId) -> StmtId {
        self.stmt(Stmt::Expr(expr))
    }

    pub fn scope(&mut self, items: &[StmtId]) -> StmtId {
        let list = self.function.add_stmts(items);
        self.stmt(Stmt::Scope(list))
    }

    pub fn branch(&mut self, condition: ExprId, then: &[StmtId], other: &[StmtId]) -> StmtId {
        let (on_true, on_false) = (self.scope(then), self.scope(other));
        self.stmt(Stmt::If { condition, on_true, on_false })
    }

    pub fn forever(&mut self, items: &[StmtId]) -> StmtId {
        let body = self.scope(items);
        self.stmt(Stmt::Loop { body })
    }

    pub fn case(&mut self, value: i32, items: &[StmtId]) -> StmtId {
        let (value, body) = (self.int(value), self.scope(items));
        self.stmt(Stmt::SwitchCase { value, body })
    }

    pub fn switch(&mut self, value: ExprId, cases: &[StmtId]) -> StmtId {
        let body = self.scope(cases);
        self.stmt(Stmt::Switch { value, body })
    }

    /// Writes what `expr` gives to a buffer of its type.
    pub fn keep(&mut self, expr: ExprId) -> StmtId {
        let ty = self.ty(expr);
        let buffer = self.buffer(ty);
        let zero = self.uint(0);
        let write = self.call(CallOp::BufferWrite, &[buffer, zero, expr], VOID);
        self.effect(write)
    }

    /// Closes the open function with this body and opens a new kernel.
    pub fn close(&mut self, body: &[StmtId]) -> FunctionId {
        let body = self.scope(body);
        self.function.body = Some(body).into();
        let next = Sketch::new().function;
        self.library.functions.push(std::mem::replace(&mut self.function, next))
    }

    /// Closes the open function as a callable.
    pub fn close_callable(
        &mut self,
        name: &str,
        return_type: TypeId,
        body: &[StmtId],
    ) -> FunctionId {
        self.function.tag = FunctionTag::Callable;
        self.function.name = Some(name.into());
        self.function.return_type = return_type;
        self.close(body)
    }
}

/// The XIR of a kernel whose body `write` gives, without places and blank lines.
#[track_caller]
pub fn xir(write: impl FnOnce(&mut Sketch) -> Vec<StmtId>) -> String {
    match try_xir(write) {
        Ok(text) => text,
        Err(errors) => panic!("not lowered:\n{errors}"),
    }
}

fn try_xir(write: impl FnOnce(&mut Sketch) -> Vec<StmtId>) -> Result<String, Diagnostics> {
    let mut sketch = Sketch::new();
    let body = write(&mut sketch);
    sketch.close(&body);
    let module = lower(&sketch.library, &Options::default())?;
    if let Err(errors) = verify::verify(&module) {
        panic!("not valid: {errors:?}\n{}", text::print(&module));
    }
    let text = text::print(&module);
    let lines = text.lines().filter(|line| !line.is_empty() && *line != "module;");
    Ok(lines.map(without_place).collect())
}

/// A line without its ` !loc 1:2`.
fn without_place(line: &str) -> String {
    match line.split_once(" !loc ") {
        Some((before, after)) => {
            let rest = after.find(' ').map_or("", |at| &after[at..]);
            format!("{before}{rest}\n")
        }
        None => format!("{line}\n"),
    }
}

/// The XIR of one expression that is kept.
#[track_caller]
pub fn value(write: impl FnOnce(&mut Sketch) -> ExprId) -> String {
    let text = xir(|k| {
        let expr = write(k);
        vec![k.keep(expr)]
    });
    let inner: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    inner[..inner.len() - 1].join("\n") + "\n"
}

/// The lowering is refused with `code`, and says where.
#[track_caller]
pub fn refused(code: Code, write: impl FnOnce(&mut Sketch) -> Vec<StmtId>) {
    match try_xir(write) {
        Ok(text) => panic!("not refused with {code}:\n{text}"),
        Err(errors) => {
            let found = errors.find(code).unwrap_or_else(|| panic!("not {code}:\n{errors}"));
            assert!(found.help.is_some(), "no help: {found}");
        }
    }
}
