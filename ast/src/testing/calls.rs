//! Calls of operations, by the rows of the table (`callops.md`).

use super::Generator;
use super::arguments::Subject;
use super::types::SCALARS;
use crate::callops::{CallOp, Class, Group, Out, Param, Stage};
use crate::model::{ExprId, FunctionTag};
use crate::types::{Scalar, TypeId, TypeKind};

impl Generator {
    /// A call of any operation that can stand here; `None` for one that cannot.
    pub(super) fn any_call(&mut self) -> Option<ExprId> {
        let op = match self.random.pick_any(&self.ops_of_this_place()) {
            Some(op) if self.random.one_in(3) => op,
            _ => CallOp::from_number_c(self.random.below(CallOp::all().len()) as u32)?,
        };
        if matches!(op, CallOp::Custom | CallOp::External) || self.random.one_in(16) {
            return self.call_of_function(None, 3);
        }
        self.call(op, None, 3)
    }

    /// Operations that hardly any other place allows.
    fn ops_of_this_place(&self) -> Vec<CallOp> {
        let raster = self.function.tag == FunctionTag::RasterStage;
        let of_place = |op: &CallOp| match op.info().group {
            Group::Raster => raster,
            Group::AutoDiff => self.context.in_gradients,
            _ => self.context.query.is_some() && op.info().params.contains(&Param::Query),
        };
        CallOp::all().filter(of_place).collect()
    }

    /// A call of an operation that yields `ty`.
    pub(super) fn call_yielding(&mut self, ty: TypeId, depth: usize) -> Option<ExprId> {
        let types = &self.library.types;
        let yields = |op: &CallOp| match op.info().out {
            Out::T => !op.is_atomic() && class_holds(types, op.info().class, ty),
            Out::Bool => ty == TypeId::BOOL,
            Out::Uint => ty == TypeId::U32,
            Out::Float => ty == TypeId::F32,
            Out::Float4 => ty == TypeId::vector(Scalar::F32, 4),
            _ => false,
        };
        let ops: Vec<CallOp> = CallOp::all().filter(yields).collect();
        let op = self.random.pick_any(&ops)?;
        let by_type = op.info().out == Out::T;
        self.call(op, by_type.then_some(ty), depth)
    }

    /// A call of an operation, with `t` for what the table calls `T`, or any that fits.
    fn call(&mut self, op: CallOp, t: Option<TypeId>, depth: usize) -> Option<ExprId> {
        let info = op.info();
        if !self.form.holds(op) || !self.may_stand_here(op) {
            return None;
        }
        match info.params {
            [Param::AtomicBase, ..] => return self.atomic(op, depth),
            [Param::Components] => {
                let ty = maker_type(op)?;
                return self.made_of_parts(ty, depth);
            }
            [Param::Columns] => {
                let dim = if op == CallOp::MakeFloat2x2 {
                    2
                } else if op == CallOp::MakeFloat3x3 {
                    3
                } else {
                    4
                };
                return self.made_of_parts(TypeId::matrix(dim), depth);
            }
            _ => {}
        }
        let t = match t {
            Some(t) => t,
            None => self.any_of_class(op)?,
        };
        let mut subject = self.subject(op, t);
        let mut arguments = Vec::new();
        for param in info.params {
            arguments.push(self.argument_for(&mut subject, *param, depth)?);
        }
        // All that may be left out, or none of it.
        if self.random.one_in(2) {
            let mut optional = Vec::new();
            for param in info.optional {
                optional.extend(self.argument_for(&mut subject, *param, depth));
            }
            if optional.len() == info.optional.len() {
                arguments.append(&mut optional);
            }
        }
        let result = self.result_of(&subject, info.out);
        Some(self.builtin_call(op, result, &arguments))
    }

    fn may_stand_here(&self, op: CallOp) -> bool {
        let info = op.info();
        let name = op.name();
        let kernel = self.function.tag == FunctionTag::Kernel;
        let of_candidate = ["CANDIDATE_", "COMMIT_", "TERMINATE", "OBJECT_SPACE"];
        match info.group {
            _ if info.stage == Stage::Kernel => kernel,
            Group::Raster => self.function.tag == FunctionTag::RasterStage,
            Group::AutoDiff => self.context.in_gradients,
            _ if info.params.contains(&Param::Query) => {
                let handler = of_candidate.iter().any(|word| name.contains(word));
                !handler || self.context.query.is_some()
            }
            _ => true,
        }
    }

    /// A type that an operation can have for `T`.
    fn any_of_class(&mut self, op: CallOp) -> Option<TypeId> {
        let types = &self.library.types;
        let vectors = SCALARS.iter().flat_map(|s| (1..=4).map(|dim| TypeId::vector(*s, dim)));
        let all: Vec<TypeId> = vectors.chain((2..=4).map(TypeId::matrix)).collect();
        let class = op.info().class;
        let fits = |ty: &TypeId| {
            class_holds(types, class, *ty)
                && match op {
                    // Matrices are of floats.
                    CallOp::OuterProduct => types.scalar_of(*ty) == Some(Scalar::F32),
                    CallOp::Select => !types.is_matrix(*ty),
                    _ => true,
                }
        };
        let found: Vec<TypeId> = all.into_iter().filter(fits).collect();
        self.random.pick_any(&found)
    }

    /// The type of a call's value.
    fn result_of(&mut self, subject: &Subject, out: Out) -> TypeId {
        let types = &self.library.types;
        let name = subject.op.name();
        let (known, t) = (self.types.known, subject.t);
        let scalar = types.scalar_of(t).unwrap_or(Scalar::F32);
        let dim = types.dim(t);
        match out {
            Out::Void => TypeId::VOID,
            // Only what never returns yields anything, and here nothing.
            Out::Any => TypeId::VOID,
            Out::Data if subject.op == CallOp::CooperativeVectorDot => TypeId::F16,
            Out::Data => subject.data,
            Out::T => t,
            Out::First => subject.data,
            Out::ElemOfT => TypeId::scalar(scalar),
            Out::BoolOfT => TypeId::vector(Scalar::Bool, dim),
            Out::MatOfT => TypeId::matrix(dim),
            Out::Bool => TypeId::BOOL,
            Out::Int => TypeId::I32,
            Out::Uint | Out::Integer => TypeId::U32,
            Out::Ulong => TypeId::U64,
            Out::Float => TypeId::F32,
            Out::Uint2 => TypeId::vector(Scalar::U32, 2),
            Out::Uint3 => TypeId::vector(Scalar::U32, 3),
            Out::Uint4 => TypeId::vector(Scalar::U32, 4),
            Out::Float4 => TypeId::vector(Scalar::F32, 4),
            Out::Matrix4 => TypeId::matrix(4),
            // Makers are made of parts.
            Out::Matrix2 | Out::Matrix3 | Out::Vector2 | Out::Vector3 | Out::Vector4 => {
                TypeId::VOID
            }
            Out::Struct if name.contains("COMMITTED") => known.committed_hit,
            Out::Struct if name.contains("PROCEDURAL") => known.procedural_hit,
            Out::Struct if name.contains("MOTION_SRT") => known.motion_srt,
            Out::Struct if name.contains("SPACE_RAY") => known.ray,
            Out::Struct => known.triangle_hit,
            Out::Query if name.contains("QUERY_ANY") => known.query_any,
            Out::Query => known.query_all,
            Out::BufferElem => subject.elem,
            Out::Texel => TypeId::vector(subject.texel, 4),
            Out::UintOfDim => TypeId::vector(Scalar::U32, subject.dim),
            Out::CoopVec => self.types.cooperative.map_or(TypeId::VOID, |c| match subject.op {
                // The matrix makes the one from the other.
                CallOp::CooperativeMul
                | CallOp::CooperativeMulAdd
                | CallOp::BindlessCooperativeMul
                | CallOp::BindlessCooperativeMulAdd
                | CallOp::TypedBindlessCooperativeMul
                | CallOp::TypedBindlessCooperativeMulAdd => c.output,
                _ => subject.cooperative,
            }),
        }
    }

    /// A vector from components, or a matrix from columns.
    pub(super) fn made_of_parts(&mut self, ty: TypeId, depth: usize) -> Option<ExprId> {
        let types = &self.library.types;
        let (scalar, dim, matrix) = (types.scalar_of(ty)?, types.dim(ty), types.is_matrix(ty));
        if dim == 1 {
            return None;
        }
        let name = match matrix {
            true => format!("MAKE_FLOAT{dim}X{dim}"),
            false => format!("MAKE_{}{dim}", maker_name(scalar)?),
        };
        let op = CallOp::from_name(&name).filter(|op| self.form.holds(*op))?;
        let parts: Vec<TypeId> = match (matrix, self.random.below(6)) {
            (true, 0) => vec![TypeId::matrix(2 + self.random.below(3) as u8)],
            (true, _) => vec![TypeId::vector(Scalar::F32, dim); usize::from(dim)],
            (false, 0) => vec![TypeId::scalar(scalar)],
            // Longer ones are cut.
            (false, 1) => vec![TypeId::vector(scalar, 4)],
            _ => self.partition(scalar, dim),
        };
        let arguments: Vec<ExprId> =
            parts.into_iter().map(|part| self.value(part, depth)).collect();
        Some(self.builtin_call(op, ty, &arguments))
    }

    /// Scalars and vectors that together have `dim` components.
    fn partition(&mut self, scalar: Scalar, dim: u8) -> Vec<TypeId> {
        let mut parts = Vec::new();
        let mut left = dim;
        while left > 0 {
            let part = 1 + self.random.below(usize::from(left)) as u8;
            parts.push(TypeId::vector(scalar, part));
            left -= part;
        }
        parts
    }

    /// An atomic operation on an element of a buffer or a variable.
    fn atomic(&mut self, op: CallOp, depth: usize) -> Option<ExprId> {
        let integers_only = op.info().class == Class::Int;
        let [integers, floats] = &self.types.atomic;
        let bases = if integers_only || self.random.one_in(2) { integers } else { floats };
        let base = *self.random.pick(bases);
        let is_buffer = matches!(self.library.types.kind(base), TypeKind::Buffer { .. });
        let variable = if is_buffer {
            self.resource(crate::model::VariableTag::Buffer, base)
        } else {
            self.memory(base)
        };
        let mut at = base;
        let mut arguments = vec![self.reference(variable)];
        loop {
            let types = &self.library.types;
            at = match types.kind(at) {
                TypeKind::Buffer { elem, .. } | TypeKind::Array { elem, .. } => {
                    let elem = *elem;
                    arguments.push(self.value(TypeId::U32, depth));
                    elem
                }
                TypeKind::Struct { .. } => {
                    let member = self.random.below(2) as u32;
                    arguments.push(self.function.add_literal(TypeId::U32, &member.to_le_bytes()));
                    self.library.types.element_type(at, member)?
                }
                _ => break,
            };
        }
        let operands = if op == CallOp::AtomicCompareExchange { 2 } else { 1 };
        for _ in 0..operands {
            arguments.push(self.value(at, depth));
        }
        Some(self.builtin_call(op, at, &arguments))
    }
}

/// What the makers of vectors call a scalar.
fn maker_name(scalar: Scalar) -> Option<String> {
    SCALARS.contains(&scalar).then(|| scalar.name().to_uppercase())
}

/// The vector that a maker makes.
fn maker_type(op: CallOp) -> Option<TypeId> {
    let name = op.name().strip_prefix("MAKE_")?;
    let (name, dim) = name.split_at_checked(name.len() - 1)?;
    let scalar = SCALARS.into_iter().find(|s| maker_name(*s).as_deref() == Some(name))?;
    Some(TypeId::vector(scalar, dim.parse().ok()?))
}

/// Whether a type is of a class, for the scalars that operations know.
fn class_holds(types: &crate::TypeTable, class: Class, ty: TypeId) -> bool {
    let Some(scalar) = types.scalar_of(ty).filter(|s| SCALARS.contains(s)) else {
        return false;
    };
    let (matrix, vector) = (types.is_matrix(ty), types.is_vector(ty));
    let float = scalar.is_float() && !matrix;
    match class {
        Class::Any | Class::Data | Class::Basic => true,
        Class::Float3 => float && vector && types.dim(ty) == 3,
        Class::BoolN => scalar == Scalar::Bool,
        Class::Num => scalar != Scalar::Bool && !matrix,
        Class::NumVec => scalar != Scalar::Bool && vector,
        Class::Int => scalar.is_int(),
        Class::Float => float,
        Class::FloatVec => float && vector,
        Class::Mat => matrix,
        Class::VecOrMat => matrix || (float && vector),
        Class::ScalarOrVec => !matrix,
    }
}
