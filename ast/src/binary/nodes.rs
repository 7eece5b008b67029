//! Statements and expressions: trees in prefix form, read with a stack of open nodes.

use super::cursor::{Read, Wrong};
use super::record::{Reader, curve_bases};
use super::{Record, codes, literals};
use crate::callops::CallOp;
use crate::layout;
use crate::model::{
    BinaryOp, Callee, CastOp, CurveBases, Expr, ExprId, ExprKind, Function, Stmt, StmtId, Swizzle,
    TextRange, UnaryOp,
};
use crate::types::TypeId;

/// Bytes of the smallest statement and expression.
const MIN_STMT: usize = 12;
const MIN_EXPR: usize = 24;

/// Levels of nesting of the nodes of a function. Nothing recorded comes near; it bounds the memory that a short file takes.
const MAX_DEPTH: usize = 1 << 20;

/// Tags of expressions.
mod expr {
    pub const UNARY: u32 = 0;
    pub const BINARY: u32 = 1;
    pub const MEMBER: u32 = 2;
    pub const ACCESS: u32 = 3;
    pub const LITERAL: u32 = 4;
    pub const REF: u32 = 5;
    pub const CONSTANT: u32 = 6;
    pub const CALL: u32 = 7;
    pub const CAST: u32 = 8;
    pub const TYPE_ID: u32 = 9;
    pub const FUNC_REF: u32 = 11;
}

/// Tags of statements.
mod stmt {
    pub const BREAK: u32 = 0;
    pub const CONTINUE: u32 = 1;
    pub const RETURN: u32 = 2;
    pub const SCOPE: u32 = 3;
    pub const IF: u32 = 4;
    pub const LOOP: u32 = 5;
    pub const EXPR: u32 = 6;
    pub const SWITCH: u32 = 7;
    pub const SWITCH_CASE: u32 = 8;
    pub const SWITCH_DEFAULT: u32 = 9;
    pub const ASSIGN: u32 = 10;
    pub const FOR: u32 = 11;
    pub const COMMENT: u32 = 12;
    pub const RAY_QUERY: u32 = 13;
    pub const AUTO_DIFF: u32 = 14;
    pub const PRINT: u32 = 15;
    /// No statement.
    pub const UNKNOWN: u32 = u32::MAX;
}

/// A node whose parts have not all been read. Expressions among the parts come before statements.
struct Open {
    is_expr: bool,
    tag: u32,
    hash: u64,
    ty: TypeId,
    text: TextRange,
    /// Parts of each kind that are still to come.
    exprs: usize,
    stmts: usize,
    /// Where the node's parts start on the stacks.
    expr_base: usize,
    stmt_base: usize,
}

#[derive(Default)]
struct Stacks {
    open: Vec<Open>,
    exprs: Vec<ExprId>,
    stmts: Vec<StmtId>,
}

impl Reader<'_> {
    /// Reads a function's body, which is a scope.
    pub fn body(&mut self, function: &mut Function, record: &mut Record) -> Read<StmtId> {
        let mut stacks = Stacks::default();
        let at = self.cursor.at;
        self.open_stmt(function, &mut stacks)?;
        if stacks.open.first().is_none_or(|o| o.tag != stmt::SCOPE) {
            return Err(Wrong::new(codes::VALUE, at, "the body of a function must be a scope"));
        }
        loop {
            let depth = stacks.open.len();
            let Some(top) = stacks.open.last_mut() else { break };
            if depth > MAX_DEPTH {
                let message = format!("nodes are nested deeper than {MAX_DEPTH} levels");
                return Err(Wrong::new(codes::TOO_DEEP, self.cursor.at, message));
            }
            if top.exprs > 0 {
                top.exprs -= 1;
                self.open_expr(&mut stacks)?;
            } else if top.stmts > 0 {
                top.stmts -= 1;
                // Every part that is a statement is a scope, but for those of a scope itself.
                let of_scope = top.tag == stmt::SCOPE;
                let at = self.cursor.at;
                self.open_stmt(function, &mut stacks)?;
                if !of_scope && stacks.open.last().is_none_or(|o| o.tag != stmt::SCOPE) {
                    return Err(Wrong::new(codes::VALUE, at, "a scope must stand here"));
                }
            } else if let Some(open) = stacks.open.pop() {
                self.close(function, record, open, &mut stacks)?;
            }
        }
        match stacks.stmts.pop() {
            Some(body) => Ok(body),
            None => Err(Wrong::new(codes::VALUE, at, "the function has no body")),
        }
    }

    fn open_stmt(&mut self, function: &mut Function, stacks: &mut Stacks) -> Read<()> {
        let hash = self.cursor.u64()?;
        let at = self.cursor.at;
        let number = self.cursor.u32()?;
        let tag = self.stmt_tag(number);
        let mut text = TextRange::default();
        let (exprs, stmts) = match tag {
            stmt::BREAK | stmt::CONTINUE => (0, 0),
            stmt::RETURN => (usize::from(self.cursor.bool()?), 0),
            stmt::SCOPE => (0, self.cursor.count(MIN_STMT)?),
            stmt::IF | stmt::RAY_QUERY => (1, 2),
            stmt::LOOP | stmt::SWITCH_DEFAULT | stmt::AUTO_DIFF => (0, 1),
            stmt::EXPR => (1, 0),
            stmt::SWITCH | stmt::SWITCH_CASE => (1, 1),
            stmt::ASSIGN => (2, 0),
            stmt::FOR => (3, 1),
            stmt::COMMENT => {
                text = function.add_text(self.cursor.string()?);
                (0, 0)
            }
            stmt::PRINT if self.layout.modern => {
                text = function.add_text(self.cursor.string()?);
                (self.cursor.count(MIN_EXPR)?, 0)
            }
            _ => {
                return Err(Wrong::new(
                    codes::VALUE,
                    at,
                    format!("{number} is no tag of a statement"),
                ));
            }
        };
        let (expr_base, stmt_base) = (stacks.exprs.len(), stacks.stmts.len());
        let ty = TypeId::VOID;
        stacks.open.push(Open {
            is_expr: false,
            tag,
            hash,
            ty,
            text,
            exprs,
            stmts,
            expr_base,
            stmt_base,
        });
        Ok(())
    }

    /// The tag that a number stands for in this layout.
    fn stmt_tag(&self, number: u32) -> u32 {
        let (auto_diff, print) = self.layout.suspend.numbers();
        match number {
            _ if number == auto_diff => stmt::AUTO_DIFF,
            _ if number == print => stmt::PRINT,
            stmt::AUTO_DIFF | stmt::PRINT => stmt::UNKNOWN,
            other => other,
        }
    }

    fn open_expr(&mut self, stacks: &mut Stacks) -> Read<()> {
        let ty = self.ty()?;
        let hash = self.cursor.u64()?;
        let at = self.cursor.at;
        let tag = self.cursor.u32()?;
        let exprs = match tag {
            expr::UNARY | expr::MEMBER | expr::CAST => 1,
            expr::BINARY | expr::ACCESS => 2,
            expr::CALL => self.cursor.count(MIN_EXPR)?,
            expr::LITERAL | expr::REF | expr::CONSTANT | expr::FUNC_REF => 0,
            expr::TYPE_ID if self.layout.modern => 0,
            _ => {
                return Err(Wrong::new(
                    codes::VALUE,
                    at,
                    format!("{tag} is no tag of an expression"),
                ));
            }
        };
        let (expr_base, stmt_base) = (stacks.exprs.len(), stacks.stmts.len());
        let text = TextRange::default();
        stacks.open.push(Open {
            is_expr: true,
            tag,
            hash,
            ty,
            text,
            exprs,
            stmts: 0,
            expr_base,
            stmt_base,
        });
        Ok(())
    }

    /// Makes the node of which all parts have been read, reading what follows them.
    fn close(
        &mut self,
        function: &mut Function,
        record: &mut Record,
        open: Open,
        stacks: &mut Stacks,
    ) -> Read<()> {
        let exprs = &stacks.exprs[open.expr_base..];
        if open.is_expr {
            let kind = self.expr_kind(function, &open, exprs)?;
            let id = function.exprs.push(Expr { ty: open.ty, kind });
            record.expr_hashes[id] = open.hash;
            stacks.exprs.truncate(open.expr_base);
            stacks.exprs.push(id);
        } else {
            let made = make_stmt(function, &open, exprs, &stacks.stmts[open.stmt_base..]);
            let id = function.stmts.push(made);
            record.stmt_hashes[id] = open.hash;
            stacks.exprs.truncate(open.expr_base);
            stacks.stmts.truncate(open.stmt_base);
            stacks.stmts.push(id);
        }
        Ok(())
    }

    fn expr_kind(
        &mut self,
        function: &mut Function,
        open: &Open,
        parts: &[ExprId],
    ) -> Read<ExprKind> {
        let at = self.cursor.at;
        Ok(match open.tag {
            expr::UNARY => {
                ExprKind::Unary { op: self.enumerator(UnaryOp::ALL)?, operand: parts[0] }
            }
            expr::BINARY => ExprKind::Binary {
                op: self.enumerator(BinaryOp::ALL)?,
                lhs: parts[0],
                rhs: parts[1],
            },
            expr::CAST => ExprKind::Cast { op: self.enumerator(CastOp::ALL)?, source: parts[0] },
            expr::ACCESS => ExprKind::Access { range: parts[0], index: parts[1] },
            expr::MEMBER => {
                let (size, code) = (self.cursor.u32()?, self.cursor.u32()?);
                match (size, u16::try_from(code)) {
                    (0, _) => ExprKind::Member { base: parts[0], index: code },
                    (1..=4, Ok(code)) if swizzle_fits(size, code) => ExprKind::Swizzle {
                        base: parts[0],
                        swizzle: Swizzle { size: size as u8, code },
                    },
                    _ => {
                        return Err(Wrong::new(
                            codes::VALUE,
                            at,
                            format!("{size}, {code:#x} is no swizzle"),
                        ));
                    }
                }
            }
            expr::LITERAL => self.literal(function, open)?,
            expr::REF => {
                let (ty, uid, tag) = self.variable()?;
                let declared = self.variables.get(&uid).filter(|id| {
                    let variable = &function.variables[**id];
                    let given = if variable.tag == crate::model::VariableTag::Argument {
                        crate::model::VariableTag::Local
                    } else {
                        variable.tag
                    };
                    variable.ty == ty && given == tag
                });
                match declared {
                    Some(id) => ExprKind::Ref(*id),
                    None => {
                        let message =
                            format!("variable {uid} is not declared with this type and tag");
                        return Err(Wrong::new(codes::VARIABLE, at, message));
                    }
                }
            }
            expr::CONSTANT => ExprKind::Constant(self.constant()?),
            expr::CALL => self.call(function, parts)?,
            expr::TYPE_ID => ExprKind::TypeId(self.ty()?),
            _ => ExprKind::FuncRef(None.into()),
        })
    }

    fn enumerator<T: Copy>(&mut self, all: &[T]) -> Read<T> {
        let at = self.cursor.at;
        let number = self.cursor.u32()?;
        let found = all.get(number as usize).copied();
        found.ok_or_else(|| Wrong::new(codes::VALUE, at, format!("{number} is no operation")))
    }

    fn literal(&mut self, function: &mut Function, open: &Open) -> Read<ExprKind> {
        let at = self.cursor.at;
        let (number, size) = (self.cursor.u64()?, self.cursor.u64()?);
        let types = &self.library.types;
        if literals::type_of(number) != Some(open.ty) || size != types.size(open.ty) {
            let message =
                format!("literal {number} of {size} bytes is no `{}`", types.description(open.ty));
            return Err(Wrong::new(codes::LITERAL, at, message));
        }
        let bytes = function.add_bytes(self.cursor.take(size as usize)?);
        layout::clear_padding(types, open.ty, function.bytes_in_mut(bytes));
        Ok(ExprKind::Literal { bytes })
    }

    fn call(&mut self, function: &mut Function, parts: &[ExprId]) -> Read<ExprKind> {
        let at = self.cursor.at;
        let number = self.cursor.u32()?;
        let Some(op) = self.layout.numbering.op(number) else {
            return Err(Wrong::new(codes::VALUE, at, format!("{number} is no operation")));
        };
        if !self.direct_ops.contains(&op) && op != CallOp::Custom {
            let message = format!("`{op}` is not in the function's set of operations");
            return Err(Wrong::new(codes::OPERATION, at, message));
        }
        let at = self.cursor.at;
        let kind = self.cursor.u64()?;
        let mut bases = CurveBases::default();
        let callee = match (op, kind) {
            (CallOp::Custom, 1) => Callee::Function(self.callee()?),
            (CallOp::Custom | CallOp::External, _) => {
                return Err(Wrong::new(
                    codes::VALUE,
                    at,
                    format!("{kind} is no kind of callee of `{op}`"),
                ));
            }
            (_, 0) => Callee::Builtin,
            _ if self.layout.numbering != super::Numbering::A => {
                bases = curve_bases(kind, at)?;
                Callee::Builtin
            }
            _ => {
                return Err(Wrong::new(
                    codes::VALUE,
                    at,
                    format!("{kind} is no kind of callee of `{op}`"),
                ));
            }
        };
        let arguments = function.add_exprs(parts);
        Ok(ExprKind::Call { op, curve_bases: bases, callee, arguments })
    }
}

fn swizzle_fits(size: u32, code: u16) -> bool {
    let swizzle = Swizzle { size: size as u8, code };
    swizzle.components().all(|c| c < 4) && u32::from(code) >> (4 * size) == 0
}

/// The number of parts is that which the tag asked for.
fn make_stmt(function: &mut Function, open: &Open, exprs: &[ExprId], stmts: &[StmtId]) -> Stmt {
    match open.tag {
        stmt::BREAK => Stmt::Break,
        stmt::CONTINUE => Stmt::Continue,
        stmt::RETURN => Stmt::Return(exprs.first().copied().into()),
        stmt::IF => Stmt::If { condition: exprs[0], on_true: stmts[0], on_false: stmts[1] },
        stmt::LOOP => Stmt::Loop { body: stmts[0] },
        stmt::EXPR => Stmt::Expr(exprs[0]),
        stmt::SWITCH => Stmt::Switch { value: exprs[0], body: stmts[0] },
        stmt::SWITCH_CASE => Stmt::SwitchCase { value: exprs[0], body: stmts[0] },
        stmt::SWITCH_DEFAULT => Stmt::SwitchDefault { body: stmts[0] },
        stmt::ASSIGN => Stmt::Assign { lhs: exprs[0], rhs: exprs[1] },
        stmt::FOR => {
            Stmt::For { variable: exprs[0], condition: exprs[1], step: exprs[2], body: stmts[0] }
        }
        stmt::COMMENT => Stmt::Comment(open.text),
        stmt::RAY_QUERY => {
            Stmt::RayQuery { query: exprs[0], on_triangle: stmts[0], on_procedural: stmts[1] }
        }
        stmt::AUTO_DIFF => Stmt::AutoDiff { body: stmts[0] },
        stmt::PRINT => Stmt::Print { format: open.text, arguments: function.add_exprs(exprs) },
        _ => Stmt::Scope(function.add_stmts(stmts)),
    }
}
