//! Expressions: of any type that is asked for.

use super::types::SCALARS;
use super::{Form, Generator};
use crate::callops::CallOp;
use crate::layout;
use crate::model::{
    BinaryOp, Callee, CastOp, CurveBases, Expr, ExprId, ExprKind, FunctionTag, Swizzle, UnaryOp,
    VariableId, VariableTag,
};
use crate::types::{Scalar, TypeId};

impl Generator {
    pub(super) fn push(&mut self, ty: TypeId, kind: ExprKind) -> ExprId {
        self.function.exprs.push(Expr { ty, kind })
    }

    pub(super) fn reference(&mut self, variable: VariableId) -> ExprId {
        let ty = self.function.variables[variable].ty;
        self.push(ty, ExprKind::Ref(variable))
    }

    /// A value of a type that values have, of at most so many levels.
    pub(super) fn value(&mut self, ty: TypeId, depth: usize) -> ExprId {
        for _ in 0..3 {
            if depth == 0 || self.fuel == 0 {
                break;
            }
            self.fuel -= 1;
            if let Some(made) = self.compound(ty, depth - 1) {
                return made;
            }
        }
        self.leaf(ty)
    }

    fn leaf(&mut self, ty: TypeId) -> ExprId {
        let constant = self.any_constant(|c| c.ty == ty);
        match (self.random.below(6), constant) {
            (0, Some(constant)) => self.push(ty, ExprKind::Constant(constant)),
            (1, _) => self.filled(ty),
            (2, _) if let Some(builtin) = self.builtin_of(ty) => self.reference(builtin),
            (3 | 4, _) if self.has_literals(ty) => self.literal(ty),
            _ => {
                let variable = self.memory(ty);
                self.reference(variable)
            }
        }
    }

    /// Scalars, vectors and matrices have literals; in callable libraries only those that the format has numbers for.
    fn has_literals(&self, ty: TypeId) -> bool {
        let types = &self.library.types;
        let plain = types.scalar_of(ty).is_some_and(|s| SCALARS.contains(&s));
        types.scalar_of(ty).is_some() && (plain || !self.form.is_binary())
    }

    fn literal(&mut self, ty: TypeId) -> ExprId {
        let bytes = self.bytes_of(ty);
        self.function.add_literal(ty, &bytes)
    }

    /// A value in memory: truth values are 0 or 1, four-bit values have four bits, padding is zero.
    pub(super) fn bytes_of(&mut self, ty: TypeId) -> Vec<u8> {
        let types = &self.library.types;
        // Aggregates may hold any scalar, so all their bytes are of the narrowest.
        let narrow = match types.scalar_of(ty) {
            Some(Scalar::I4 | Scalar::F4E2M1) => 16,
            Some(scalar) if scalar != Scalar::Bool => 256,
            _ => 2,
        };
        let len = types.size(ty) as usize;
        let mut bytes: Vec<u8> = (0..len).map(|_| self.random.below(narrow) as u8).collect();
        layout::clear_padding(&self.library.types, ty, &mut bytes);
        bytes
    }

    /// A value made from nothing.
    fn filled(&mut self, ty: TypeId) -> ExprId {
        let ops = [CallOp::Zero, CallOp::One, CallOp::Undefined];
        let known: Vec<CallOp> = ops.into_iter().filter(|op| self.form.holds(*op)).collect();
        let op = *self.random.pick(&known);
        self.builtin_call(op, ty, &[])
    }

    pub(super) fn builtin_call(&mut self, op: CallOp, ty: TypeId, arguments: &[ExprId]) -> ExprId {
        let arguments = self.function.add_exprs(arguments);
        // Only traces and queries meet curves; the older forms do not say which.
        let curves = matches!(self.form, Form::Memory | Form::V1 | Form::BinaryC)
            && (op.name().contains("TRACE") || op.name().contains("_QUERY_A"));
        let curve_bases = CurveBases(if curves { self.random.below(16) as u8 } else { 0 });
        self.push(ty, ExprKind::Call { op, curve_bases, callee: Callee::Builtin, arguments })
    }

    /// Memory of a type: a variable, or a part of one.
    pub(super) fn lvalue(&mut self, ty: TypeId) -> ExprId {
        match self.random.below(6) {
            0 if let Some(array) = self.container(ty) => {
                let variable = self.memory(array);
                let range = self.reference(variable);
                self.element(range, array, ty)
            }
            1 if let Some((structure, index)) = self.structure_with(ty) => {
                let variable = self.memory(structure);
                let base = self.reference(variable);
                self.push(ty, ExprKind::Member { base, index })
            }
            2 if self.library.types.is_scalar(ty) => {
                let vector = self.vector_of(ty, 2);
                let variable = self.memory(vector);
                let base = self.reference(variable);
                self.swizzle(base, vector, 1)
            }
            _ => {
                let variable = self.memory(ty);
                self.reference(variable)
            }
        }
    }

    fn vector_of(&mut self, scalar: TypeId, at_least: usize) -> TypeId {
        let dim = at_least + self.random.below(5 - at_least);
        let scalar = self.library.types.scalar_of(scalar).unwrap_or(Scalar::F32);
        TypeId::vector(scalar, dim.max(2) as u8)
    }

    /// An array, vector or matrix with elements of a type.
    fn container(&mut self, ty: TypeId) -> Option<TypeId> {
        let types = &self.library.types;
        let arrays = self.types.arrays.iter().copied();
        let mut found: Vec<TypeId> =
            arrays.filter(|a| types.element_type(*a, 0) == Some(ty)).collect();
        if types.is_scalar(ty) {
            found.push(self.vector_of(ty, 2));
        }
        found.extend(
            (2..=4)
                .map(TypeId::matrix)
                .filter(|m| self.library.types.element_type(*m, 0) == Some(ty)),
        );
        self.random.pick_any(&found)
    }

    fn structure_with(&mut self, ty: TypeId) -> Option<(TypeId, u32)> {
        let types = &self.library.types;
        let members = self.types.structs.iter().flat_map(|s| {
            (0..types.member_count(*s))
                .filter(|i| types.element_type(*s, *i) == Some(ty))
                .map(|i| (*s, i))
        });
        let members: Vec<_> = members.collect();
        self.random.pick_any(&members)
    }

    /// An element of `range`, at a place that is there or is not known.
    fn element(&mut self, range: ExprId, container: TypeId, ty: TypeId) -> ExprId {
        let count = self.library.types.member_count(container) as usize;
        let index = if self.random.one_in(2) {
            let place = self.random.below(count) as u32;
            self.function.add_literal(TypeId::U32, &place.to_le_bytes())
        } else {
            let variable = self.local(TypeId::I32);
            self.reference(variable)
        };
        self.push(ty, ExprKind::Access { range, index })
    }

    fn swizzle(&mut self, base: ExprId, vector: TypeId, size: u8) -> ExprId {
        let dim = usize::from(self.library.types.dim(vector));
        let scalar = self.library.types.scalar_of(vector).unwrap_or(Scalar::F32);
        let code = (0..size).fold(0, |code, i| code | (self.random.below(dim) as u16) << (4 * i));
        let swizzle = Swizzle { size, code };
        self.push(TypeId::vector(scalar, size), ExprKind::Swizzle { base, swizzle })
    }

    /// An expression with parts.
    fn compound(&mut self, ty: TypeId, depth: usize) -> Option<ExprId> {
        let types = &self.library.types;
        let (matrix, shaped) = (types.is_matrix(ty), types.is_scalar_or_vector(ty));
        let plain = types.scalar_of(ty).is_some_and(|s| SCALARS.contains(&s));
        match self.random.below(14) {
            0 if plain => self.unary(ty, depth),
            1 | 2 if plain => self.binary(ty, depth),
            3 if plain && shaped => self.static_cast(ty, depth),
            4 if plain && shaped => self.bitwise_cast(ty, depth),
            5 => {
                let container = self.container(ty)?;
                let range = self.value(container, depth);
                Some(self.element(range, container, ty))
            }
            6 => {
                let (structure, index) = self.structure_with(ty)?;
                let base = self.value(structure, depth);
                Some(self.push(ty, ExprKind::Member { base, index }))
            }
            7 if shaped => {
                let vector = self.vector_of(ty, 2);
                let size = self.library.types.dim(ty);
                let base = self.value(vector, depth);
                Some(self.swizzle(base, vector, size))
            }
            8 if matrix || plain => self.made_of_parts(ty, depth),
            9 if ty == TypeId::U64 => self.number_of_something(),
            10 => self.host_code(ty, depth),
            11 => self.call_of_function(Some(ty), depth),
            _ => self.call_yielding(ty, depth),
        }
    }

    fn unary(&mut self, ty: TypeId, depth: usize) -> Option<ExprId> {
        let types = &self.library.types;
        let ops: &[UnaryOp] = match types.scalar_of(ty)? {
            Scalar::Bool => &[UnaryOp::Not, UnaryOp::BitNot],
            scalar if scalar.is_float() => &[UnaryOp::Plus, UnaryOp::Minus],
            _ => &[UnaryOp::Plus, UnaryOp::Minus, UnaryOp::BitNot],
        };
        let op = *self.random.pick(ops);
        let operand = self.value(ty, depth);
        Some(self.push(ty, ExprKind::Unary { op, operand }))
    }

    fn binary(&mut self, ty: TypeId, depth: usize) -> Option<ExprId> {
        let types = &self.library.types;
        let (scalar, dim) = (types.scalar_of(ty)?, types.dim(ty));
        let (op, lhs, rhs) = if types.is_matrix(ty) {
            let op =
                *self.random.pick(&[BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div]);
            let shapes = [(ty, ty), (ty, TypeId::F32), (TypeId::F32, ty)];
            let (lhs, rhs) = *self.random.pick(&shapes);
            (op, lhs, rhs)
        } else if scalar == Scalar::Bool {
            self.truth_operands(ty, dim)
        } else if scalar == Scalar::F32 && dim > 1 && self.random.one_in(4) {
            (BinaryOp::Mul, TypeId::matrix(dim), ty)
        } else {
            let all = BinaryOp::ALL;
            let ops: Vec<BinaryOp> = all
                .iter()
                .copied()
                .filter(|op| !op.is_relational() && !op.is_logical())
                .filter(|op| !(op.is_bitwise() && scalar.is_float()))
                .collect();
            let (lhs, rhs) = self.broadcast(ty, TypeId::scalar(scalar));
            (*self.random.pick(&ops), lhs, rhs)
        };
        let lhs = self.value(lhs, depth);
        let rhs = self.value(rhs, depth);
        Some(self.push(ty, ExprKind::Binary { op, lhs, rhs }))
    }

    /// Both operands of a type, or one of them its scalar.
    fn broadcast(&mut self, ty: TypeId, scalar: TypeId) -> (TypeId, TypeId) {
        match self.random.below(4) {
            0 => (ty, scalar),
            1 => (scalar, ty),
            _ => (ty, ty),
        }
    }

    fn truth_operands(&mut self, ty: TypeId, dim: u8) -> (BinaryOp, TypeId, TypeId) {
        if self.random.one_in(2) {
            let op = *self.random.pick(&[BinaryOp::And, BinaryOp::Or]);
            let (lhs, rhs) = self.broadcast(ty, TypeId::BOOL);
            return (op, lhs, rhs);
        }
        let relations: Vec<BinaryOp> =
            BinaryOp::ALL.iter().copied().filter(|op| op.is_relational()).collect();
        let op = *self.random.pick(&relations);
        let scalar = *self.random.pick(&SCALARS[1..]);
        let (lhs, rhs) = self.broadcast(TypeId::vector(scalar, dim), TypeId::scalar(scalar));
        (op, lhs, rhs)
    }

    fn static_cast(&mut self, ty: TypeId, depth: usize) -> Option<ExprId> {
        let dim = self.library.types.dim(ty);
        let scalar = *self.random.pick(&SCALARS);
        let from = match self.random.below(3) {
            0 => 1,
            1 => dim + self.random.below(usize::from(5 - dim)) as u8,
            _ => dim,
        };
        let source = self.value(TypeId::vector(scalar, from), depth);
        Some(self.push(ty, ExprKind::Cast { op: CastOp::Static, source }))
    }

    fn bitwise_cast(&mut self, ty: TypeId, depth: usize) -> Option<ExprId> {
        let types = &self.library.types;
        let (scalar, dim) = (types.scalar_of(ty)?, types.dim(ty));
        let as_wide = |s: &&Scalar| s.size() == scalar.size() && **s != Scalar::Bool;
        let same: Vec<Scalar> = SCALARS.iter().filter(as_wide).copied().collect();
        if scalar == Scalar::Bool {
            return None;
        }
        let from = self.random.pick_any(&same)?;
        let source = self.value(TypeId::vector(from, dim), depth);
        Some(self.push(ty, ExprKind::Cast { op: CastOp::Bitwise, source }))
    }

    /// The number of a type, a text or a function.
    fn number_of_something(&mut self) -> Option<ExprId> {
        // Callable libraries hold neither texts nor addresses of functions.
        let kind = match self.random.below(3) {
            0 => ExprKind::TypeId(self.types.data(&mut self.random)),
            _ if self.form.is_binary() => return None,
            1 => {
                let text = self.text();
                ExprKind::StringId(self.function.add_text(&text))
            }
            _ => ExprKind::FuncRef(self.any_callable(|_| true)?.into()),
        };
        Some(self.push(TypeId::U64, kind))
    }

    pub(super) fn message(&mut self) -> Option<ExprId> {
        if self.form.is_binary() {
            return None;
        }
        let text = self.text();
        let text = self.function.add_text(&text);
        Some(self.push(TypeId::U64, ExprKind::StringId(text)))
    }

    /// What only the recording process or one device has.
    fn host_code(&mut self, ty: TypeId, depth: usize) -> Option<ExprId> {
        if !matches!(self.form, Form::Memory | Form::D0) {
            return None;
        }
        let argument = (!self.random.one_in(3)).then(|| {
            let ty = self.types.data(&mut self.random);
            self.value(ty, depth)
        });
        let argument = argument.into();
        let kind = if self.form == Form::Memory && self.random.one_in(2) {
            let text = self.text();
            ExprKind::GpuCustom { source: self.function.add_text(&text), argument }
        } else {
            let pointers: Vec<u8> = (0..24).map(|_| self.random.below(256) as u8).collect();
            ExprKind::CpuCustom { pointers: self.function.add_bytes(&pointers), argument }
        };
        Some(self.push(ty, kind))
    }

    /// A call of a callable or native function that returns `wanted`, or of any.
    pub(super) fn call_of_function(
        &mut self,
        wanted: Option<TypeId>,
        depth: usize,
    ) -> Option<ExprId> {
        if self.random.one_in(4)
            && let Some(external) = self.any_external()
        {
            let target = self.library.externals[external].clone();
            if wanted.is_none_or(|ty| ty == target.return_type) {
                let arguments: Vec<ExprId> =
                    target.argument_types.iter().map(|ty| self.value(*ty, depth)).collect();
                return Some(self.push_call(
                    CallOp::External,
                    Callee::External(external),
                    target.return_type,
                    &arguments,
                ));
            }
        }
        let callee = self.any_callable(|f| wanted.is_none_or(|ty| ty == f.return_type))?;
        let target = &self.library.functions[callee];
        let return_type = target.return_type;
        let parameters: Vec<(VariableTag, TypeId)> = target
            .arguments
            .iter()
            .map(|a| (target.variables[*a].tag, target.variables[*a].ty))
            .collect();
        let arguments: Vec<ExprId> =
            parameters.into_iter().map(|(tag, ty)| self.passed(tag, ty, depth)).collect();
        Some(self.push_call(CallOp::Custom, Callee::Function(callee), return_type, &arguments))
    }

    fn passed(&mut self, tag: VariableTag, ty: TypeId, depth: usize) -> ExprId {
        if tag == VariableTag::Reference {
            return self.lvalue(ty);
        }
        if tag.is_resource() {
            let variable = self.resource(tag, ty);
            return self.reference(variable);
        }
        if tag.is_builtin() && self.function.tag != FunctionTag::RasterStage {
            let variable = self.builtin(tag);
            return self.reference(variable);
        }
        self.value(ty, depth)
    }

    fn push_call(
        &mut self,
        op: CallOp,
        callee: Callee,
        ty: TypeId,
        arguments: &[ExprId],
    ) -> ExprId {
        let arguments = self.function.add_exprs(arguments);
        let curve_bases = CurveBases::default();
        self.push(ty, ExprKind::Call { op, curve_bases, callee, arguments })
    }
}
