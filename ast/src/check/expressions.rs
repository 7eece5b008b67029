//! Expressions other than calls: operand types, shapes, result types.

use super::rules::{is_index, register_bits};
use super::{Checker, codes};
use crate::model::{BinaryOp, CastOp, Expr, ExprId, ExprKind, Swizzle, UnaryOp};
use crate::place::Node;
use crate::types::{TypeId, TypeKind};

impl Checker<'_> {
    pub(super) fn check_expressions(&mut self) {
        for (id, expr) in &self.function.exprs {
            self.check_expr(id, expr);
        }
    }

    pub(super) fn check_expr(&mut self, id: ExprId, expr: &Expr) {
        let exprs = &self.function.exprs;
        match expr.kind {
            ExprKind::Unary { op, operand } => self.check_unary(id, op, exprs[operand].ty, expr.ty),
            ExprKind::Binary { op, lhs, rhs } => {
                self.check_binary(id, op, exprs[lhs].ty, exprs[rhs].ty, expr.ty);
            }
            ExprKind::Swizzle { base, swizzle } => {
                self.check_swizzle(id, exprs[base].ty, swizzle, expr.ty)
            }
            ExprKind::Member { base, index } => {
                self.check_member(id, exprs[base].ty, index, expr.ty)
            }
            ExprKind::Access { range, index } => self.check_access(id, range, index, expr.ty),
            ExprKind::Literal { bytes } => self.check_literal(id, bytes.len() as u64, expr.ty),
            ExprKind::Ref(variable) => {
                let declared = self.function.variables[variable].ty;
                self.check_result(id, "the variable", declared, expr.ty);
            }
            ExprKind::Constant(constant) => {
                let declared = self.library.constants[constant].ty;
                self.check_result(id, "the constant", declared, expr.ty);
            }
            ExprKind::Call { op, callee, arguments, .. } => {
                self.check_call(id, op, callee, arguments, expr.ty)
            }
            ExprKind::Cast { op, source } => self.check_cast(id, op, exprs[source].ty, expr.ty),
            ExprKind::TypeId(_) | ExprKind::StringId(_) | ExprKind::FuncRef(_) => {
                self.check_result(id, "the expression", TypeId::U64, expr.ty);
            }
            ExprKind::CpuCustom { .. } | ExprKind::GpuCustom { .. } => {
                let message = "host callbacks and device source text work on no target";
                self.warning(codes::UNPORTABLE, Node::Expr(id), message);
            }
        }
    }

    fn check_result(&mut self, id: ExprId, what: &str, should: TypeId, is: TypeId) {
        if should != is {
            let message =
                format!("{what} has the type `{}`, not `{}`", self.name(should), self.name(is));
            self.error(codes::RESULT_TYPE, Node::Expr(id), message);
        }
    }

    fn check_literal(&mut self, id: ExprId, len: u64, ty: TypeId) {
        let size = self.library.types.size(ty);
        if len != size || !self.library.types.is_data(ty) {
            let message =
                format!("the literal has {len} bytes, but a `{}` has {size}", self.name(ty));
            self.error(codes::CONSTANT_SIZE, Node::Expr(id), message);
        }
    }

    fn check_unary(&mut self, id: ExprId, op: UnaryOp, operand: TypeId, ty: TypeId) {
        let types = &self.library.types;
        let shaped = types.is_scalar_or_vector(operand) && types.is_scalar_or_vector(ty);
        let same_shape = shaped && types.dim(operand) == types.dim(ty);
        let defined = match op {
            UnaryOp::Plus | UnaryOp::Minus => {
                types.is_scalar_or_vector(operand) || types.is_matrix(operand)
            }
            UnaryOp::Not => types.is_scalar_or_vector(operand),
            UnaryOp::BitNot => types.is_integer(operand) || types.is_bool(operand),
        };
        if !defined {
            let message = format!("`{}` is not defined for `{}`", op.name(), self.name(operand));
            self.error(codes::OPERAND_TYPE, Node::Expr(id), message);
            return;
        }
        let fits = match op {
            UnaryOp::Not => same_shape && types.is_bool(ty),
            _ => operand == ty || same_shape,
        };
        if !fits {
            let message = format!(
                "`{}` of `{}` cannot be `{}`",
                op.name(),
                self.name(operand),
                self.name(ty)
            );
            self.error(codes::RESULT_TYPE, Node::Expr(id), message);
        }
    }

    fn check_binary(&mut self, id: ExprId, op: BinaryOp, lhs: TypeId, rhs: TypeId, ty: TypeId) {
        let types = &self.library.types;
        let node = Node::Expr(id);
        for operand in [lhs, rhs] {
            let defined = match types.scalar_of(operand) {
                None => false,
                Some(_) if types.is_matrix(operand) => {
                    matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div)
                }
                Some(scalar) => !(op.is_bitwise() && scalar.is_float()),
            };
            if !defined {
                let message =
                    format!("`{}` is not defined for `{}`", op.name(), self.name(operand));
                self.error(codes::OPERAND_TYPE, node, message);
                return;
            }
        }
        let Some(shape) = self.binary_shape(op, lhs, rhs) else {
            let message = format!(
                "`{}` is not defined for `{}` and `{}` together",
                op.name(),
                self.name(lhs),
                self.name(rhs)
            );
            self.error(codes::OPERAND_SHAPE, node, message);
            return;
        };
        let truth = op.is_relational() || op.is_logical();
        let fits = match shape {
            Shape::Matrix(dim) => ty == TypeId::matrix(dim),
            Shape::Vector(dim) => {
                types.is_scalar_or_vector(ty)
                    && types.dim(ty) == dim
                    && (!truth || types.is_bool(ty))
                    && !(op.is_bitwise() && types.is_float(ty))
            }
        };
        if !fits {
            let message = format!(
                "`{}` of `{}` and `{}` cannot be `{}`",
                op.name(),
                self.name(lhs),
                self.name(rhs),
                self.name(ty)
            );
            self.error(codes::RESULT_TYPE, node, message);
        }
    }

    fn binary_shape(&self, op: BinaryOp, lhs: TypeId, rhs: TypeId) -> Option<Shape> {
        let types = &self.library.types;
        let (l, r) = (types.dim(lhs), types.dim(rhs));
        match (types.is_matrix(lhs), types.is_matrix(rhs)) {
            (true, true) => (l == r).then_some(Shape::Matrix(l)),
            (true, false) if types.is_scalar(rhs) => Some(Shape::Matrix(l)),
            (false, true) if types.is_scalar(lhs) => Some(Shape::Matrix(r)),
            (true, false) | (false, true) => {
                (l == r && op == BinaryOp::Mul).then_some(Shape::Vector(l))
            }
            (false, false) => (l == r || l == 1 || r == 1).then_some(Shape::Vector(l.max(r))),
        }
    }

    fn check_swizzle(&mut self, id: ExprId, base: TypeId, swizzle: Swizzle, ty: TypeId) {
        let types = &self.library.types;
        let TypeKind::Vector { elem, dim } = *types.kind(base) else {
            let message = format!("`.{swizzle}` needs a vector, but this is `{}`", self.name(base));
            self.error(codes::SWIZZLE, Node::Expr(id), message);
            return;
        };
        if !(1..=4).contains(&swizzle.size) || swizzle.components().any(|c| c >= usize::from(dim)) {
            let message = format!("`{}` has no `.{swizzle}`", self.name(base));
            self.error(codes::SWIZZLE, Node::Expr(id), message);
            return;
        }
        self.check_result(id, "the swizzle", TypeId::vector(elem, swizzle.size), ty);
    }

    fn check_member(&mut self, id: ExprId, base: TypeId, index: u32, ty: TypeId) {
        let types = &self.library.types;
        match types.element_type(base, index).filter(|_| types.is_struct(base)) {
            Some(member) => self.check_result(id, "the member", member, ty),
            None => {
                let message = format!("`{}` has no member {index}", self.name(base));
                self.error(codes::MEMBER, Node::Expr(id), message);
            }
        }
    }

    fn check_access(&mut self, id: ExprId, range: ExprId, index: ExprId, ty: TypeId) {
        let types = &self.library.types;
        let (range, index_type) = (self.function.exprs[range].ty, self.function.exprs[index].ty);
        let ranged = types.is_array(range) || types.is_vector(range) || types.is_matrix(range);
        let Some(element) = types.element_type(range, 0).filter(|_| ranged) else {
            let message = format!("a `{}` has no elements", self.name(range));
            self.error(codes::ACCESS, Node::Expr(id), message);
            return;
        };
        if !is_index(types, index_type) {
            let message =
                format!("an index must be an integer, but this is `{}`", self.name(index_type));
            self.error(codes::ACCESS, Node::Expr(index), message);
            return;
        }
        let count = i128::from(types.member_count(range));
        if let Some(value) = self.function.case_value(index).filter(|v| !(0..count).contains(v)) {
            let message = format!("the index is {value}, but there are {count} elements");
            self.warning(codes::INDEX_RANGE, Node::Expr(index), message);
        }
        self.check_result(id, "the element", element, ty);
    }

    fn check_cast(&mut self, id: ExprId, op: CastOp, from: TypeId, to: TypeId) {
        let types = &self.library.types;
        let fits = match op {
            CastOp::Static => {
                let (f, t) = (types.dim(from), types.dim(to));
                let shaped = types.is_scalar_or_vector(from) && types.is_scalar_or_vector(to);
                (from == to && types.is_data(to)) || (shaped && (f == 1 || t <= f))
            }
            CastOp::Bitwise => {
                // Vectors of truth values included: they are packed into words so.
                let bits = register_bits(types, from);
                (from == to && types.is_data(to))
                    || (bits.is_some() && bits == register_bits(types, to))
            }
        };
        if !fits {
            let how = if op == CastOp::Static { "by value" } else { "by bits" };
            let message =
                format!("`{}` cannot be converted {how} to `{}`", self.name(from), self.name(to));
            self.error(codes::CAST, Node::Expr(id), message);
        }
    }
}

#[derive(Clone, Copy)]
enum Shape {
    Matrix(u8),
    Vector(u8),
}
