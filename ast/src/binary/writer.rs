//! Writes a library as it was read.

use cranelift_entity::EntityRef;

use super::{CallableLibrary, Layout, Record, codes, literals};
use crate::callops::CallOp;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::model::{
    Callee, Expr, ExprId, ExprKind, Function, FunctionId, Stmt, StmtId, VariableId, VariableTag,
};
use crate::place::{Place, locate};
use crate::types::TypeId;

/// The library as bytes, in its own layout: the bytes that it was read from, but for padding, which is zero.
///
/// # Errors
/// If a function holds what libraries cannot, or an operation that the layout has no number for.
pub fn write(file: &CallableLibrary) -> Result<Vec<u8>, Diagnostics> {
    let mut writer = Writer { file, layout: file.layout, out: Vec::new() };
    writer.count(file.named.len());
    writer.count(file.inline.len());
    for id in file.named.iter().chain(&file.inline) {
        writer.u64(file.records[*id].hash);
    }
    let mut aliases = vec![0; file.records.len()];
    for id in &file.named {
        let record = &file.records[*id];
        let nth = &mut aliases[id.index()];
        writer.u64(record.hash);
        writer.string(record.names.get(*nth).map_or("", String::as_str));
        *nth += 1;
        writer.function(*id)?;
    }
    for id in &file.inline {
        writer.u64(file.records[*id].hash);
        writer.function(*id)?;
    }
    Ok(writer.out)
}

struct Writer<'a> {
    file: &'a CallableLibrary,
    layout: Layout,
    out: Vec<u8>,
}

/// What is still to be written.
enum Piece {
    Expr(ExprId),
    Stmt(StmtId),
    U32(u32),
    U64(u64),
}

impl Writer<'_> {
    fn u32(&mut self, value: u32) {
        self.out.extend_from_slice(&value.to_le_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.out.extend_from_slice(&value.to_le_bytes());
    }

    fn count(&mut self, count: usize) {
        self.u64(count as u64);
    }

    fn string(&mut self, text: &str) {
        self.count(text.len());
        self.out.extend_from_slice(text.as_bytes());
    }

    fn ty(&mut self, ty: TypeId) {
        let description = self.file.library.types.description(ty);
        self.string(&description);
    }

    fn constant(&mut self, constant: crate::model::ConstantId) {
        let constant = &self.file.library.constants[constant];
        self.ty(constant.ty);
        self.out.extend_from_slice(&constant.bytes);
    }

    fn variable(&mut self, function: &Function, record: &Record, id: VariableId) {
        let variable = &function.variables[id];
        self.ty(variable.ty);
        self.u32(record.uids[id]);
        let tag =
            if variable.tag == VariableTag::Argument { VariableTag::Local } else { variable.tag };
        self.u32(tag as u32);
    }

    fn variables(&mut self, function: &Function, record: &Record, ids: &[VariableId]) {
        self.count(ids.len());
        for id in ids {
            self.variable(function, record, *id);
        }
    }

    fn function(&mut self, id: FunctionId) -> Result<(), Diagnostics> {
        let file = self.file;
        let (function, record) = (&file.library.functions[id], &file.records[id]);
        if self.layout.modern {
            self.u64(u64::from(function.curve_bases.0));
        }
        self.ty(function.return_type);
        self.variables(function, record, &record.builtins);
        self.count(function.listed_constants.len());
        for constant in &function.listed_constants {
            self.constant(*constant);
        }
        self.variables(function, record, &function.arguments);
        self.count(record.callees.len());
        for callee in &record.callees {
            self.u64(file.records[*callee].hash);
        }
        self.variables(function, record, &record.locals);
        self.variables(function, record, &record.shared);
        self.count(4 * record.usages.len());
        for usage in &record.usages {
            self.u32(*usage);
        }
        self.out.extend_from_slice(&record.direct_ops);
        self.out.extend_from_slice(&record.all_ops);
        self.u32(function.tag as u32);
        self.out.push(u8::from(record.float_atomics));
        if self.layout.modern {
            self.out.push(u8::from(record.printing));
            if self.layout.noinline {
                self.out.push(u8::from(record.noinline));
            }
            function.block_size.into_iter().chain([0]).for_each(|size| self.u32(size));
        }
        self.body(id, function, record)
    }

    fn body(
        &mut self,
        id: FunctionId,
        function: &Function,
        record: &Record,
    ) -> Result<(), Diagnostics> {
        let mut stack: Vec<Piece> = function.body.expand().map(Piece::Stmt).into_iter().collect();
        while let Some(piece) = stack.pop() {
            let start = stack.len();
            match piece {
                Piece::U32(value) => self.u32(value),
                Piece::U64(value) => self.u64(value),
                Piece::Expr(expr) => self.expr(id, function, record, expr, &mut stack)?,
                Piece::Stmt(stmt) => self.stmt(id, function, record, stmt, &mut stack)?,
            }
            // Pieces are pushed in the order in which they are to be written.
            stack[start..].reverse();
        }
        Ok(())
    }

    fn refuse(&self, place: Place, what: &str) -> Diagnostics {
        let message = format!("{what} cannot be stored in a callable library of this layout");
        Diagnostic::error(codes::UNWRITABLE, message)
            .at_pointer(locate(&self.file.library, place))
            .into()
    }

    fn expr(
        &mut self,
        id: FunctionId,
        function: &Function,
        record: &Record,
        expr: ExprId,
        stack: &mut Vec<Piece>,
    ) -> Result<(), Diagnostics> {
        let Expr { ty, kind } = function.exprs[expr];
        let refuse = |w: &Self, what: &str| Err(w.refuse(Place::expr(id, expr), what));
        let tag = match kind {
            ExprKind::Unary { .. } => 0,
            ExprKind::Binary { .. } => 1,
            ExprKind::Member { .. } | ExprKind::Swizzle { .. } => 2,
            ExprKind::Access { .. } => 3,
            ExprKind::Literal { .. } => 4,
            ExprKind::Ref(_) => 5,
            ExprKind::Constant(_) => 6,
            ExprKind::Call { .. } => 7,
            ExprKind::Cast { .. } => 8,
            ExprKind::TypeId(_) => 9,
            ExprKind::FuncRef(_) => 11,
            ExprKind::StringId(_) => return refuse(self, "a text"),
            ExprKind::CpuCustom { .. } | ExprKind::GpuCustom { .. } => {
                return refuse(self, "a host callback");
            }
        };
        self.ty(ty);
        self.u64(record.expr_hashes[expr]);
        self.u32(tag);
        match kind {
            ExprKind::Unary { op, operand } => {
                stack.extend([Piece::Expr(operand), Piece::U32(op as u32)])
            }
            ExprKind::Binary { op, lhs, rhs } => {
                stack.extend([Piece::Expr(lhs), Piece::Expr(rhs), Piece::U32(op as u32)]);
            }
            ExprKind::Cast { op, source } => {
                stack.extend([Piece::Expr(source), Piece::U32(op as u32)])
            }
            ExprKind::Member { base, index } => {
                stack.extend([Piece::Expr(base), Piece::U32(0), Piece::U32(index)]);
            }
            ExprKind::Swizzle { base, swizzle } => stack.extend([
                Piece::Expr(base),
                Piece::U32(u32::from(swizzle.size)),
                Piece::U32(u32::from(swizzle.code)),
            ]),
            ExprKind::Access { range, index } => {
                stack.extend([Piece::Expr(range), Piece::Expr(index)])
            }
            ExprKind::Literal { bytes } => {
                let Some(number) = literals::number_of(ty) else {
                    return refuse(self, "a literal of this type");
                };
                let bytes = function.bytes_in(bytes);
                self.u64(number);
                self.count(bytes.len());
                self.out.extend_from_slice(bytes);
            }
            ExprKind::Ref(variable) => self.variable(function, record, variable),
            ExprKind::Constant(constant) => self.constant(constant),
            ExprKind::TypeId(ty) => self.ty(ty),
            ExprKind::Call { op, callee, curve_bases, arguments } => {
                let Some(number) = self.layout.numbering.number(op) else {
                    return refuse(self, &format!("`{op}`"));
                };
                self.count(arguments.len());
                stack.extend(function.exprs_in(arguments).iter().map(|a| Piece::Expr(*a)));
                stack.push(Piece::U32(u32::from(number)));
                match callee {
                    Callee::Function(callee) => {
                        debug_assert_eq!(op, CallOp::Custom);
                        stack.extend([Piece::U64(1), Piece::U64(self.file.records[callee].hash)]);
                    }
                    Callee::Builtin => stack.push(Piece::U64(u64::from(curve_bases.0))),
                    Callee::External(_) => return refuse(self, "an external function"),
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn stmt(
        &mut self,
        id: FunctionId,
        function: &Function,
        record: &Record,
        stmt: StmtId,
        stack: &mut Vec<Piece>,
    ) -> Result<(), Diagnostics> {
        self.u64(record.stmt_hashes[stmt]);
        let (expr, scope) = (Piece::Expr, Piece::Stmt);
        match function.stmts[stmt] {
            Stmt::Break => self.u32(0),
            Stmt::Continue => self.u32(1),
            Stmt::Return(value) => {
                self.u32(2);
                self.out.push(u8::from(value.is_some()));
                stack.extend(value.expand().map(expr));
            }
            Stmt::Scope(list) => {
                self.u32(3);
                self.count(list.len());
                stack.extend(function.stmts_in(list).iter().map(|s| scope(*s)));
            }
            Stmt::If { condition, on_true, on_false } => {
                self.u32(4);
                stack.extend([expr(condition), scope(on_true), scope(on_false)]);
            }
            Stmt::Loop { body } => {
                self.u32(5);
                stack.push(scope(body));
            }
            Stmt::Expr(value) => {
                self.u32(6);
                stack.push(expr(value));
            }
            Stmt::Switch { value, body } => {
                self.u32(7);
                stack.extend([expr(value), scope(body)]);
            }
            Stmt::SwitchCase { value, body } => {
                self.u32(8);
                stack.extend([expr(value), scope(body)]);
            }
            Stmt::SwitchDefault { body } => {
                self.u32(9);
                stack.push(scope(body));
            }
            Stmt::Assign { lhs, rhs } => {
                self.u32(10);
                stack.extend([expr(lhs), expr(rhs)]);
            }
            Stmt::For { variable, condition, step, body } => {
                self.u32(11);
                stack.extend([expr(variable), expr(condition), expr(step), scope(body)]);
            }
            Stmt::Comment(text) => {
                self.u32(12);
                self.string(function.text_in(text));
            }
            Stmt::RayQuery { query, on_triangle, on_procedural } => {
                self.u32(13);
                stack.extend([expr(query), scope(on_triangle), scope(on_procedural)]);
            }
            Stmt::AutoDiff { body } => {
                self.u32(self.layout.suspend.numbers().0);
                stack.push(scope(body));
            }
            Stmt::Print { format, arguments } => {
                self.u32(self.layout.suspend.numbers().1);
                self.string(function.text_in(format));
                self.count(arguments.len());
                stack.extend(function.exprs_in(arguments).iter().map(|a| expr(*a)));
            }
            Stmt::Suspend { .. } | Stmt::DebugBreak { .. } => {
                return Err(self.refuse(Place::stmt(id, stmt), "a suspension"));
            }
        }
        Ok(())
    }
}
