//! Expressions of every type.

use super::Generator;
use luisac_xir::op::{ArithmeticOp, CastOp, ResourceReadOp, Rule};
use luisac_xir::{Op, Scalar, TypeId, ValueId};

impl Generator<'_> {
    /// A value of any data type.
    pub(super) fn value(&mut self, ty: TypeId, depth: usize) -> ValueId {
        if self.r.one_in(3)
            && let Some(value) = self.pooled(ty)
        {
            return value;
        }
        if depth == 0 || self.budget == 0 {
            return self.leaf(ty);
        }
        if !self.types().is_scalar_or_vector(ty) {
            return self.composite(ty, depth);
        }
        match self.r.below(10) {
            0 => self.leaf(ty),
            1 => self.cast(ty, depth),
            2 => self.moved(ty, depth),
            3 => self.reduced(ty, depth),
            _ => self.operation(ty, depth),
        }
    }

    fn pooled(&mut self, ty: TypeId) -> Option<ValueId> {
        let fitting = self.pool.iter().copied().filter(|&v| self.ty(v) == ty);
        let fitting: Vec<ValueId> = fitting.collect();
        (!fitting.is_empty()).then(|| self.r.pick(&fitting))
    }

    pub(super) fn leaf(&mut self, ty: TypeId) -> ValueId {
        if !self.r.one_in(4)
            && let Some(place) = self.place_of(ty)
        {
            return self.b.load(place);
        }
        self.constant(ty)
    }

    /// A variable, or an element of one that was named before, of this type.
    pub(super) fn place_of(&mut self, ty: TypeId) -> Option<ValueId> {
        let all = self.variables.iter().chain(&self.places).copied();
        let fitting: Vec<ValueId> = all.filter(|&v| self.ty(v) == ty).collect();
        (!fitting.is_empty()).then(|| self.r.pick(&fitting))
    }

    // ---- constants

    pub(super) fn constant(&mut self, ty: TypeId) -> ValueId {
        if !self.types().is_scalar_or_vector(ty) {
            if self.r.one_in(2) {
                return self.b.func.zero(ty, self.b.types);
            }
            let parts = self.parts(ty, |g, part| g.constant(part));
            return self.b.aggregate(ty, &parts);
        }
        let scalar = self.scalar(ty);
        let dim = self.types().dim(ty) as usize;
        let size = scalar.size() as usize;
        let mut bytes = vec![0; self.types().size(ty) as usize];
        for component in 0..dim {
            let bits = self.constant_bits(scalar);
            bytes[component * size..][..size].copy_from_slice(&bits.to_le_bytes()[..size]);
        }
        self.b.func.constant(ty, bytes)
    }

    fn constant_bits(&mut self, scalar: Scalar) -> u64 {
        let number =
            self.r.pick(&[0.0, -0.0, 1.0, 2.0, 0.5, -1.5, 3.0, 1e4, f64::INFINITY, f64::NAN]);
        match scalar {
            Scalar::Bool => self.r.below(2) as u64,
            Scalar::F16 => self.r.pick(&[0, 0x8000, 0x3c00, 0xbe00, 0x7bff, 0x7c00, 0x7e00, 1]),
            Scalar::F32 => u64::from((number as f32).to_bits()),
            Scalar::F64 => number.to_bits(),
            s => {
                let all = u64::MAX >> (64 - s.bits());
                let word = self.r.pick(&[0, 1, 2, 3, 7, 31, all, all >> 1, (all >> 1) + 1]);
                word & all
            }
        }
    }

    fn scalar(&self, ty: TypeId) -> Scalar {
        self.types().scalar_of(ty).expect("the type is made of one scalar")
    }

    fn parts(
        &mut self,
        ty: TypeId,
        mut part: impl FnMut(&mut Self, TypeId) -> ValueId,
    ) -> Vec<ValueId> {
        let count = self.types().member_count(ty);
        let element = |g: &Self, i| g.types().element_type(ty, i).expect("the index is in range");
        (0..count)
            .map(|i| {
                let ty = element(self, i);
                part(self, ty)
            })
            .collect()
    }

    // ---- places and indices

    /// An index below `count`, constant or not, of any integer type.
    pub(super) fn index(&mut self, count: u32) -> ValueId {
        if self.r.one_in(2) {
            let n = self.r.below(count as usize) as u32;
            return self.b.u32(n);
        }
        let value = self.value(TypeId::U32, 1);
        let index = if count.is_power_of_two() {
            let mask = self.b.u32(count - 1);
            self.b.arithmetic(ArithmeticOp::BinaryBitAnd, &[value, mask])
        } else {
            let count = self.b.u32(count);
            self.b.arithmetic(ArithmeticOp::BinaryMod, &[value, count])
        };
        match self.r.below(6) {
            0 => self.b.static_cast(index, TypeId::I32),
            1 if self.features.longs => self.b.static_cast(index, TypeId::I64),
            2 if self.features.narrow => self.b.static_cast(index, TypeId::scalar(Scalar::U8)),
            _ => index,
        }
    }

    /// A chain of indices into a type, of `depth` levels at most, and the type of the part named.
    pub(super) fn chain(&mut self, mut ty: TypeId, depth: usize) -> (Vec<ValueId>, TypeId) {
        let mut indices = Vec::new();
        while indices.len() < depth {
            let count = self.types().member_count(ty);
            if count == 0 {
                break;
            }
            let at = self.r.below(count as usize) as u32;
            let is_struct = self.types().is_struct(ty);
            let index = if is_struct { self.b.u32(at) } else { self.index(count) };
            indices.push(index);
            ty = self.types().element_type(ty, at).expect("the index is in range");
        }
        (indices, ty)
    }

    /// A part of a variable, or the whole; may be used again later.
    pub(super) fn place(&mut self) -> ValueId {
        if !self.places.is_empty() && self.r.one_in(3) {
            return self.r.pick(&self.places);
        }
        let base = match self.places.is_empty() || self.r.one_in(2) {
            true => self.r.pick(&self.variables),
            false => self.r.pick(&self.places),
        };
        let depth = self.r.below(4);
        let (indices, ty) = self.chain(self.ty(base), depth);
        if indices.is_empty() {
            return base;
        }
        let place = self.b.gep(base, &indices, ty);
        self.places.push(place);
        place
    }

    // ---- composites

    fn composite(&mut self, ty: TypeId, depth: usize) -> ValueId {
        if self.types().is_matrix(ty) && self.r.one_in(2) {
            return self.matrix(ty, depth);
        }
        match self.r.below(5) {
            0 => self.leaf(ty),
            1 => {
                let [no, yes] = [(); 2].map(|()| self.value(ty, depth - 1));
                let condition = self.value(TypeId::BOOL, depth - 1);
                self.b.arithmetic(ArithmeticOp::Select, &[no, yes, condition])
            }
            2 => {
                let whole = self.value(ty, depth - 1);
                let levels = 1 + self.r.below(2);
                let (indices, part) = self.chain(ty, levels);
                let part = self.value(part, depth - 1);
                let args = [&[whole, part][..], &indices].concat();
                self.b.value(Op::Arithmetic(ArithmeticOp::Insert), ty, &args)
            }
            _ => {
                let parts = self.parts(ty, |g, part| g.value(part, (depth - 1).min(1)));
                self.b.aggregate(ty, &parts)
            }
        }
    }

    fn matrix(&mut self, ty: TypeId, depth: usize) -> ValueId {
        use ArithmeticOp::*;
        let column = TypeId::vector(Scalar::F32, self.types().dim(ty));
        let a = self.value(ty, depth - 1);
        match self.r.below(6) {
            0 => self.b.arithmetic(MatrixCompNeg, &[a]),
            1 => self.b.arithmetic(Transpose, &[a]),
            2 => self.b.arithmetic(Inverse, &[a]),
            3 => {
                let [x, y] = [(); 2].map(|()| self.value(column, depth - 1));
                self.b.arithmetic(OuterProduct, &[x, y])
            }
            4 => {
                let b = self.value(ty, depth - 1);
                self.b.arithmetic(MatrixLinalgMul, &[a, b])
            }
            _ => {
                let other = if self.r.one_in(2) { ty } else { TypeId::F32 };
                let b = self.value(other, depth - 1);
                let op = self.r.pick(&[MatrixCompAdd, MatrixCompSub, MatrixCompMul, MatrixCompDiv]);
                self.b.arithmetic(op, &[a, b])
            }
        }
    }

    // ---- scalars and vectors

    /// A float without the payload of a NaN; anything else as it is.
    pub(super) fn clean(&mut self, value: ValueId) -> ValueId {
        let ty = self.ty(value);
        if !self.types().is_scalar_or_vector(ty) || !self.scalar(ty).is_float() {
            return value;
        }
        let is_nan = self.b.arithmetic(ArithmeticOp::Isnan, &[value]);
        let zero = self.b.func.zero(ty, self.b.types);
        self.b.arithmetic(ArithmeticOp::Select, &[value, zero, is_nan])
    }

    fn cast(&mut self, ty: TypeId, depth: usize) -> ValueId {
        let (scalar, dim) = (self.scalar(ty), self.types().dim(ty));
        if scalar != Scalar::Bool && self.r.one_in(3) {
            let same = self.palette.iter().copied();
            let same = same.filter(|s| s.size() == scalar.size() && *s != Scalar::Bool);
            let same: Vec<Scalar> = same.collect();
            let from = TypeId::vector(self.r.pick(&same), dim);
            let value = self.value(from, depth - 1);
            let value = self.clean(value);
            return match from == ty {
                true => value,
                false => self.b.value(Op::Cast(CastOp::Bitwise), ty, &[value]),
            };
        }
        let from = TypeId::vector(self.r.pick(self.palette), dim);
        let value = self.value(from, depth - 1);
        self.b.static_cast(value, ty)
    }

    /// A part of something larger, or a vector put together.
    fn moved(&mut self, ty: TypeId, depth: usize) -> ValueId {
        let (scalar, dim) = (self.scalar(ty), self.types().dim(ty));
        if ty == TypeId::U32 && self.r.one_in(3) && self.input.is_some() {
            return self.read_input();
        }
        if !self.composites.is_empty() && self.r.one_in(3) {
            let from = self.r.pick(self.composites);
            let (indices, part) = self.chain(from, 4);
            if part == ty {
                let whole = self.value(from, depth - 1);
                let args = [&[whole][..], &indices].concat();
                return self.b.value(Op::Arithmetic(ArithmeticOp::Extract), ty, &args);
            }
        }
        if !self.features.vectors {
            return self.leaf(ty);
        }
        if dim == 1 {
            let vector = TypeId::vector(scalar, 2 + self.r.below(3) as u8);
            let value = self.value(vector, depth - 1);
            let index = self.index(self.types().dim(vector).into());
            return self.b.value(Op::Arithmetic(ArithmeticOp::Extract), ty, &[value, index]);
        }
        let element = TypeId::scalar(scalar);
        match self.r.below(3) {
            0 => {
                let parts: Vec<ValueId> =
                    (0..dim).map(|_| self.value(element, depth - 1)).collect();
                self.b.aggregate(ty, &parts)
            }
            1 => {
                let (whole, part) = (self.value(ty, depth - 1), self.value(element, 0));
                let index = self.index(dim.into());
                let op = Op::Arithmetic(ArithmeticOp::Insert);
                self.b.value(op, ty, &[whole, part, index])
            }
            _ => {
                let from = 2 + self.r.below(3) as u8;
                let whole = self.value(TypeId::vector(scalar, from), depth - 1);
                let mut args = vec![whole];
                for _ in 0..dim {
                    let at = self.r.below(from.into()) as u32;
                    args.push(self.b.u32(at));
                }
                self.b.value(Op::Arithmetic(ArithmeticOp::Shuffle), ty, &args)
            }
        }
    }

    pub(super) fn read_input(&mut self) -> ValueId {
        let Some((input, words)) = self.input else { return self.leaf(TypeId::U32) };
        let at = self.index(words);
        let op = Op::ResourceRead(ResourceReadOp::BufferRead);
        self.b.value(op, TypeId::U32, &[input, at])
    }

    /// A scalar from a vector, or a vector from vectors as wholes.
    fn reduced(&mut self, ty: TypeId, depth: usize) -> ValueId {
        use ArithmeticOp::*;
        let (scalar, dim) = (self.scalar(ty), self.types().dim(ty));
        if !self.features.vectors {
            return self.operation(ty, depth);
        }
        if dim > 1 && scalar.is_float() {
            let args = [(); 3].map(|()| self.value(ty, depth - 1));
            return match self.r.below(4) {
                0 => self.b.arithmetic(Normalize, &args[..1]),
                1 => self.b.arithmetic(Reflect, &args[..2]),
                2 if dim == 3 => self.b.arithmetic(Cross, &args[..2]),
                3 if scalar == Scalar::F32 && self.features.matrices => {
                    let matrix = self.value(TypeId::matrix(dim), depth - 1);
                    self.b.arithmetic(MatrixLinalgMul, &[matrix, args[2]])
                }
                _ => self.b.arithmetic(Faceforward, &args),
            };
        }
        if dim > 1 {
            return self.operation(ty, depth);
        }
        let vector = TypeId::vector(scalar, 2 + self.r.below(3) as u8);
        let value = self.value(vector, depth - 1);
        let op = match scalar {
            Scalar::Bool => self.r.pick(&[All, Any]),
            s if s.is_float() && self.r.one_in(4) => {
                let other = self.value(vector, depth - 1);
                return self.b.arithmetic(Dot, &[value, other]);
            }
            s if s.is_float() => self.r.pick(&[
                ReduceSum,
                ReduceProduct,
                ReduceMin,
                ReduceMax,
                Length,
                LengthSquared,
            ]),
            _ => self.r.pick(&[ReduceSum, ReduceProduct, ReduceMin, ReduceMax]),
        };
        self.b.arithmetic(op, &[value])
    }

    /// A scalar of the palette that fits, as a type of `dim` components.
    fn other(&mut self, dim: u8, fits: impl Fn(Scalar) -> bool) -> TypeId {
        let fitting: Vec<Scalar> = self.palette.iter().copied().filter(|&s| fits(s)).collect();
        TypeId::vector(self.r.pick(&fitting), dim)
    }

    /// The operand types of an operation that gives `ty`, if it can.
    fn operands(&mut self, op: ArithmeticOp, ty: TypeId) -> Option<Vec<TypeId>> {
        let (scalar, dim) = (self.scalar(ty), self.types().dim(ty));
        let count = op.arity().0;
        let element = TypeId::scalar(scalar);
        let is_float = scalar.is_float();
        Some(match op.rule() {
            Rule::Numeric if scalar != Scalar::Bool => vec![ty; count],
            Rule::Float if is_float => vec![ty; count],
            Rule::Lerp if is_float => vec![ty, ty, self.r.pick(&[ty, element])],
            Rule::Smoothstep if is_float => {
                vec![self.r.pick(&[ty, element]), self.r.pick(&[ty, element]), ty]
            }
            Rule::Step if is_float => vec![self.r.pick(&[ty, element]), ty],
            Rule::Bits if !is_float => vec![ty; count],
            Rule::Shift if scalar.is_int() => vec![ty, self.other(dim, Scalar::is_int)],
            Rule::BitCount if scalar.is_int() => vec![ty],
            Rule::PowInt if is_float => vec![ty, self.other(dim, Scalar::is_int)],
            Rule::Order if scalar == Scalar::Bool => {
                vec![self.other(dim, |s| s != Scalar::Bool); 2]
            }
            Rule::Equality if scalar == Scalar::Bool => vec![self.other(dim, |_| true); 2],
            Rule::FloatTest if scalar == Scalar::Bool => vec![self.other(dim, Scalar::is_float)],
            Rule::Determinant if ty == TypeId::F32 && self.features.matrices => {
                vec![TypeId::matrix(2 + self.r.below(3) as u8)]
            }
            Rule::Select => {
                let condition = if self.r.one_in(2) { 1 } else { dim };
                vec![ty, ty, TypeId::vector(Scalar::Bool, condition)]
            }
            _ => return None,
        })
    }

    fn operation(&mut self, ty: TypeId, depth: usize) -> ValueId {
        self.budget = self.budget.saturating_sub(1);
        for _ in 0..100 {
            let op = self.r.pick(self.operations);
            let Some(operands) = self.operands(op, ty) else { continue };
            let mut args: Vec<ValueId> =
                operands.into_iter().map(|ty| self.value(ty, depth - 1)).collect();
            if op == ArithmeticOp::Copysign {
                args[1] = self.clean(args[1]);
            }
            // Equal operands are what identities look for.
            if args.len() > 1 && self.ty(args[0]) == self.ty(args[1]) && self.r.one_in(12) {
                args[1] = args[0];
                if op == ArithmeticOp::Copysign {
                    args[1] = self.clean(args[0]);
                }
            }
            let result = self.b.arithmetic(op, &args);
            // A quotient and the remainder of the same operands.
            if matches!(op, ArithmeticOp::BinaryDiv) && self.r.one_in(2) {
                let rest = self.b.arithmetic(ArithmeticOp::BinaryMod, &args);
                return self.b.arithmetic(ArithmeticOp::BinarySub, &[result, rest]);
            }
            return result;
        }
        self.leaf(ty)
    }
}
