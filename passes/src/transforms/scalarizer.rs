//! Arithmetic on scalars instead of vectors and matrices.
//!
//! What: computes every component of vectors and matrices by itself: arithmetic, casts, selects, phis, wave operations;
//! composite operations (dot products, matrix products ...) by the formulas of `xir::math::composite`. Vectors remain where a
//! whole value is read or written: resources, memory, calls, printing, and indexing by a run-time value.
//! Why right: components do not depend on each other but by the formulas, which the interpreter uses too. Wave operations act
//! on each component on its own.
//! Cost: linear in instructions times components. Order: dominators first, so that operands are split before their users;
//! phis get their entries at the end.

use super::elements;
use super::emitter::Emitter;
use super::util;
use crate::manager::declaration::{
    Analysis, Declaration, FunctionCx, FunctionPass, Refusal, counters,
};
use crate::manager::form::Requires;
use cranelift_entity::SecondaryMap;
use luisac_ast::types::{Scalar, TypeId, TypeTable};
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::math::composite::{self, Operand, Shape};
use luisac_xir::op::{ArithmeticOp, CastOp, ThreadGroupOp};
use luisac_xir::{BlockId, Builder, Function, Imm, InstId, Op, ValueDef, ValueId};

counters! {
    /// What `scalarizer` did.
    Info {
        change scalarized_inst_count "instructions split into components";
    }
}

/// The pass.
pub struct Scalarizer;

impl FunctionPass for Scalarizer {
    const DECLARATION: Declaration = Declaration {
        establishes: Requires::SCALARS,
        preserves: &[Analysis::Cfg, Analysis::Dominators, Analysis::CallGraph],
        ..Declaration::new(
            "scalarizer",
            "computes vectors and matrices component by component",
            "Splits arithmetic, casts, selects, phis and wave operations on vectors and matrices into scalar ones; dot \
             products, matrix products and the like become their formulas. Whole vectors stay in resource accesses, memory, \
             calls and where a run-time value indexes them.",
        )
    };
    type Options = ();
    type Info = Info;

    // All or nothing: scalar arithmetic is what the declaration promises, so fuel is not asked.
    fn run(cx: &mut FunctionCx<'_>, _: &()) -> Result<Info, Refusal> {
        let cfg = ControlFlowGraph::compute(cx.func);
        let mut order = cfg.reverse_post_order().to_vec();
        order.extend(cx.func.blocks().filter(|&b| !cfg.is_reachable(b)));
        let mut splitter = Splitter::new(cx.func, cx.types);
        for &block in &order {
            splitter.phis(block);
        }
        for &block in &order {
            splitter.block(block);
        }
        splitter.fill_phis();
        Ok(Info { scalarized_inst_count: splitter.finish() })
    }
}

struct Splitter<'a> {
    func: &'a mut Function,
    types: &'a TypeTable,
    /// Start of a value's components in `pool` plus one; 0: not asked for yet.
    start: SecondaryMap<ValueId, u32>,
    /// Components of vectors, and of matrices column by column.
    pool: Vec<Option<ValueId>>,
    /// Instructions whose results are now in `pool`.
    split: Vec<InstId>,
    /// Aggregates, which stay if whole values are needed.
    built: Vec<InstId>,
    phis: Vec<InstId>,
    /// Extracts that were made; those of columns that stay whole may find no use.
    extracts: Vec<InstId>,
    /// Instructions that were replaced at once.
    replaced: u64,
}

impl<'a> Splitter<'a> {
    fn new(func: &'a mut Function, types: &'a TypeTable) -> Self {
        let start = SecondaryMap::with_capacity(func.value_count());
        Splitter {
            func,
            types,
            start,
            pool: vec![],
            split: vec![],
            built: vec![],
            phis: vec![],
            extracts: vec![],
            replaced: 0,
        }
    }

    // ---- components

    /// Shape and component type of a vector or matrix type.
    fn composite(&self, ty: TypeId) -> Option<(Scalar, Shape)> {
        let shape = Shape::of(ty, self.types)?;
        (shape != Shape::Scalar).then_some((self.types.scalar_of(ty)?, shape))
    }

    fn reserve(&mut self, value: ValueId, count: usize) -> usize {
        if self.start[value] == 0 {
            self.start[value] = self.pool.len() as u32 + 1;
            self.pool.resize(self.pool.len() + count, None);
        }
        self.start[value] as usize - 1
    }

    /// Replaces a result by components; the instruction goes in the end.
    fn record(&mut self, inst: InstId, lanes: &[ValueId]) {
        self.note(inst, lanes);
        self.split.push(inst);
    }

    /// Remembers the components of a result.
    fn note(&mut self, inst: InstId, lanes: &[ValueId]) {
        let Some(result) = self.func.result(inst) else { return };
        // Extracted before it was split (only in blocks that never run): these stay extracts.
        let start = self.reserve(result, lanes.len());
        for (slot, &lane) in self.pool[start..].iter_mut().zip(lanes) {
            *slot = Some(lane);
        }
    }

    /// Component `index` of a vector or matrix; of a scalar, itself.
    fn lane(&mut self, value: ValueId, index: usize) -> ValueId {
        let Some((_, shape)) = self.composite(self.func.value_type(value)) else { return value };
        let slot = self.reserve(value, shape.lanes()) + index;
        if let Some(lane) = self.pool[slot] {
            return lane;
        }
        let lane = self.make_lane(value, shape, index);
        self.pool[slot] = Some(lane);
        lane
    }

    fn lanes(&mut self, value: ValueId) -> Vec<ValueId> {
        let count = Shape::of(self.func.value_type(value), self.types).map_or(1, Shape::lanes);
        (0..count).map(|i| self.lane(value, i)).collect()
    }

    /// Takes a component out of a value that is not split.
    fn make_lane(&mut self, value: ValueId, shape: Shape, index: usize) -> ValueId {
        let path: Vec<u32> = match shape {
            Shape::Matrix(dim) => {
                vec![index as u32 / u32::from(dim), index as u32 % u32::from(dim)]
            }
            _ => vec![index as u32],
        };
        let def = self.func.value_def(value);
        if matches!(def, ValueDef::Constant(_) | ValueDef::Undefined) {
            let mut part = value;
            for &i in &path {
                part = elements::known_element(self.func, self.types, part, i).unwrap_or(part);
            }
            return part;
        }
        let scalar = self.types.scalar_of(self.func.value_type(value)).unwrap_or(Scalar::U32);
        let mut args = vec![value];
        args.extend(path.iter().map(|&i| self.func.u32_constant(i)));
        let op = Op::Arithmetic(ArithmeticOp::Extract);
        let extract = self.func.create_inst(op, TypeId::scalar(scalar), &args, &[], Imm::None);
        match def {
            ValueDef::Inst(inst) => {
                self.func.set_loc(extract, self.func.inst(inst).loc);
                self.func.insert_after(extract, inst);
            }
            _ => {
                if let Some(entry) = self.func.entry() {
                    self.func.prepend_inst(entry, extract);
                }
            }
        }
        self.extracts.push(extract);
        self.func.result(extract).unwrap_or(value)
    }

    fn operand(&mut self, value: ValueId) -> Option<Operand<ValueId>> {
        let ty = self.func.value_type(value);
        let (scalar, shape) = (self.types.scalar_of(ty)?, Shape::of(ty, self.types)?);
        Some(Operand { scalar, shape, lanes: self.lanes(value) })
    }

    // ---- phis

    /// Makes empty phis for the components of the phis of a block.
    fn phis(&mut self, block: BlockId) {
        let phis: Vec<InstId> = self.func.phis(block).collect();
        for phi in phis {
            let ty = self.func.inst(phi).ty;
            let Some((scalar, shape)) = self.composite(ty) else { continue };
            let mut lanes = Vec::with_capacity(shape.lanes());
            for _ in 0..shape.lanes() {
                let part =
                    self.func.create_inst(Op::Phi, TypeId::scalar(scalar), &[], &[], Imm::None);
                self.func.insert_before(part, phi);
                lanes.extend(self.func.result(part));
            }
            self.record(phi, &lanes);
            self.phis.push(phi);
        }
    }

    fn fill_phis(&mut self) {
        for phi in std::mem::take(&mut self.phis) {
            let incoming = self.func.args(phi).to_vec();
            let blocks = self.func.inst_blocks(phi).to_vec();
            let Some(result) = self.func.result(phi) else { continue };
            for index in 0..self.lanes(result).len() {
                let part = self.lane(result, index);
                let values: Vec<ValueId> = incoming.iter().map(|&v| self.lane(v, index)).collect();
                if let Some(part) = self.func.def_inst(part) {
                    self.func.set_args(part, &values);
                    *self.func.inst_blocks_mut(part) = blocks.clone();
                }
            }
        }
    }

    // ---- instructions

    fn block(&mut self, block: BlockId) {
        let mut next = self.func.first_inst(block);
        while let Some(inst) = next {
            next = self.func.next_inst(inst);
            match self.func.op(inst) {
                Op::Arithmetic(op) if composite::is_movement(op) => self.movement(inst, op),
                Op::Arithmetic(op) => self.arithmetic(inst, op),
                Op::Cast(CastOp::Static) => self.by_lane(inst),
                Op::Cast(CastOp::Bitwise) => self.bit_cast(inst),
                // A mask is one value; its components are no components of an operand.
                Op::ThreadGroup(ThreadGroupOp::WarpActiveBitMask) => {}
                Op::ThreadGroup(_) => self.by_lane(inst),
                _ => {}
            }
        }
    }

    /// Puts the components in the place of a result that may be a scalar.
    fn put(&mut self, inst: InstId, lanes: &[ValueId]) {
        if self.composite(self.func.inst(inst).ty).is_some() {
            self.record(inst, lanes);
        } else if let [lane] = lanes {
            util::replace_and_remove(self.func, inst, *lane);
            self.replaced += 1;
        }
    }

    fn is_composite(&self, value: ValueId) -> bool {
        self.composite(self.func.value_type(value)).is_some()
    }

    fn arithmetic(&mut self, inst: InstId, op: ArithmeticOp) {
        let touches = self.composite(self.func.inst(inst).ty).is_some()
            || self.func.args(inst).iter().any(|&a| self.is_composite(a));
        if !touches {
            return;
        }
        let args = self.func.args(inst).to_vec();
        let operands: Option<Vec<_>> = args.iter().map(|&a| self.operand(a)).collect();
        let Some(operands) = operands else { return };
        let mut builder = Builder::before(self.func, self.types, inst);
        let lanes = composite::expand(&mut Emitter { builder: &mut builder }, op, &operands);
        self.put(inst, &lanes);
    }

    /// An operation that treats each component of its operands on its own; scalar operands are for all.
    fn by_lane(&mut self, inst: InstId) {
        let Some((_, shape)) = self.composite(self.func.inst(inst).ty) else { return };
        let data = self.func.inst(inst);
        let (op, imm, loc) = (data.op, data.imm.clone(), data.loc);
        let scalar = self.types.scalar_of(data.ty).unwrap_or(Scalar::U32);
        let args = self.func.args(inst).to_vec();
        let mut lanes = Vec::with_capacity(shape.lanes());
        for index in 0..shape.lanes() {
            let parts: Vec<ValueId> = args.iter().map(|&a| self.lane(a, index)).collect();
            let part = self.func.create_inst(op, TypeId::scalar(scalar), &parts, &[], imm.clone());
            self.func.set_loc(part, loc);
            self.func.insert_before(part, inst);
            lanes.extend(self.func.result(part));
        }
        self.record(inst, &lanes);
    }

    fn bit_cast(&mut self, inst: InstId) {
        let (from, to) = (self.func.arg(inst, 0), self.func.inst(inst).ty);
        let Some(source) = self.types.scalar_of(self.func.value_type(from)) else { return };
        let Some(target) = self.types.scalar_of(to) else { return };
        if !self.is_composite(from) && self.composite(to).is_none() {
            return;
        }
        let parts = self.lanes(from);
        let mut builder = Builder::before(self.func, self.types, inst);
        let lanes = repack(&mut builder, &parts, source, target);
        self.put(inst, &lanes);
    }

    // ---- operations that move components

    fn movement(&mut self, inst: InstId, op: ArithmeticOp) {
        match op {
            ArithmeticOp::Aggregate if self.composite(self.func.inst(inst).ty).is_some() => {
                let args = self.func.args(inst).to_vec();
                let lanes: Vec<ValueId> = args.into_iter().flat_map(|a| self.lanes(a)).collect();
                self.note(inst, &lanes);
                self.built.push(inst);
            }
            ArithmeticOp::Shuffle => self.shuffle(inst),
            ArithmeticOp::Insert => self.insert(inst),
            ArithmeticOp::Extract => self.extract(inst),
            _ => {}
        }
    }

    fn shuffle(&mut self, inst: InstId) {
        let args = self.func.args(inst).to_vec();
        let count = self.types.member_count(self.func.value_type(args[0]));
        let picks: Option<Vec<u32>> =
            args[1..].iter().map(|&i| elements::constant_index(self.func, i, count)).collect();
        let Some(picks) = picks else { return };
        let lanes: Vec<ValueId> =
            picks.into_iter().map(|i| self.lane(args[0], i as usize)).collect();
        self.record(inst, &lanes);
    }

    /// First component and number of components that constant indices name in a vector or matrix.
    fn range(&self, ty: TypeId, indices: &[ValueId]) -> Option<(usize, usize)> {
        let count = self.types.member_count(ty);
        let index = |i: usize| elements::constant_index(self.func, *indices.get(i)?, count);
        let (first, dim) = (index(0)? as usize, count as usize);
        match (self.composite(ty)?.1, indices.len()) {
            (Shape::Vector(_), 1) => Some((first, 1)),
            (Shape::Matrix(_), 1) => Some((first * dim, dim)),
            (Shape::Matrix(_), 2) => Some((first * dim + index(1)? as usize, 1)),
            _ => None,
        }
    }

    fn insert(&mut self, inst: InstId) {
        let args = self.func.args(inst).to_vec();
        let Some((first, count)) = self.range(self.func.inst(inst).ty, &args[2..]) else { return };
        let mut lanes = self.lanes(args[0]);
        for i in 0..count {
            lanes[first + i] = self.lane(args[1], i);
        }
        self.record(inst, &lanes);
    }

    fn extract(&mut self, inst: InstId) {
        let args = self.func.args(inst).to_vec();
        if let Some((first, count)) = self.range(self.func.value_type(args[0]), &args[1..]) {
            let known = self.start[args[0]] != 0
                && self.pool[self.start[args[0]] as usize - 1 + first].is_some();
            let def = self.func.value_def(args[0]);
            // Out of a value that is not split: this is the way to the component.
            if !known && !matches!(def, ValueDef::Constant(_) | ValueDef::Undefined) {
                return;
            }
            let lanes: Vec<ValueId> = (0..count).map(|i| self.lane(args[0], first + i)).collect();
            self.put(inst, &lanes);
            return;
        }
        // Out of a structure or array that was built here.
        let Some(index) = self.func.constant_bits(args[1]).and_then(|b| u32::try_from(b).ok())
        else {
            return;
        };
        if self.is_composite(args[0]) {
            return;
        }
        let Some(part) = elements::known_element(self.func, self.types, args[0], index) else {
            return;
        };
        if args.len() == 2 {
            util::replace_and_remove(self.func, inst, part);
            self.replaced += 1;
        } else {
            let mut rest = vec![part];
            rest.extend_from_slice(&args[2..]);
            self.func.set_args(inst, &rest);
            self.replaced += 1;
            self.extract(inst);
        }
    }

    // ---- the end

    /// Removes what was split; where a whole value is still needed, it is put together. The number of instructions split.
    fn finish(mut self) -> u64 {
        let split = std::mem::take(&mut self.split);
        for &inst in &split {
            self.func.set_args(inst, &[]);
        }
        for &inst in &split {
            let Some(result) = self.func.result(inst) else { continue };
            if self.func.has_uses(result) {
                let whole = self.gather(inst, result);
                self.func.replace_all_uses(result, whole);
            }
            self.func.remove_inst(inst);
        }
        for &inst in self.extracts.iter().rev() {
            if self.func.result(inst).is_some_and(|value| !self.func.has_uses(value)) {
                self.func.remove_inst(inst);
            }
        }
        for &inst in self.built.iter().rev() {
            if self.func.result(inst).is_some_and(|value| !self.func.has_uses(value)) {
                self.func.remove_inst(inst);
                self.replaced += 1;
            }
        }
        split.len() as u64 + self.replaced
    }

    fn gather(&mut self, inst: InstId, value: ValueId) -> ValueId {
        let ty = self.func.value_type(value);
        let lanes = self.lanes(value);
        let at = match self.func.op(inst) {
            Op::Phi => self.func.inst_block(inst).and_then(|b| self.func.first_non_phi(b)),
            _ => Some(inst),
        };
        let Some(at) = at else { return value };
        let mut builder = Builder::before(self.func, self.types, at);
        match Shape::of(ty, builder.types) {
            Some(Shape::Matrix(dim)) => {
                let column = TypeId::vector(Scalar::F32, dim);
                let columns: Vec<ValueId> =
                    lanes.chunks(dim.into()).map(|c| builder.aggregate(column, c)).collect();
                builder.aggregate(ty, &columns)
            }
            _ => builder.aggregate(ty, &lanes),
        }
    }
}

/// The same bits in scalars of another type: component by component where the sizes are equal, else through words.
fn repack(
    builder: &mut Builder<'_>,
    parts: &[ValueId],
    source: Scalar,
    target: Scalar,
) -> Vec<ValueId> {
    let (from, to) = (source.size(), target.size());
    let (narrow, wide) = (word(from), word(to));
    let target = TypeId::scalar(target);
    if from == to {
        return parts.iter().map(|&part| builder.bit_cast(part, target)).collect();
    }
    let words: Vec<ValueId> = parts.iter().map(|&part| builder.bit_cast(part, narrow)).collect();
    if from < to {
        let per = (to / from) as usize;
        let join = |builder: &mut Builder<'_>, group: &[ValueId]| {
            let mut sum = None;
            for (i, &part) in group.iter().enumerate() {
                let mut part = builder.static_cast(part, wide);
                if i > 0 {
                    let amount = u64::from(8 * from) * i as u64;
                    let amount = builder.func.scalar_constant(wide, amount, builder.types);
                    part = builder.arithmetic(ArithmeticOp::BinaryShiftLeft, &[part, amount]);
                }
                sum = Some(match sum {
                    None => part,
                    Some(sum) => builder.arithmetic(ArithmeticOp::BinaryBitOr, &[sum, part]),
                });
            }
            sum.unwrap_or(group[0])
        };
        return words
            .chunks(per)
            .map(|group| {
                let whole = join(builder, group);
                builder.bit_cast(whole, target)
            })
            .collect();
    }
    let per = u64::from(from / to);
    words
        .into_iter()
        .flat_map(|whole| (0..per).map(move |i| (whole, i)))
        .map(|(whole, i)| {
            let amount = builder.func.scalar_constant(narrow, u64::from(8 * to) * i, builder.types);
            let low = match i {
                0 => whole,
                _ => builder.arithmetic(ArithmeticOp::BinaryShiftRight, &[whole, amount]),
            };
            let low = builder.static_cast(low, wide);
            builder.bit_cast(low, target)
        })
        .collect()
}

/// The unsigned integer of so many bytes.
fn word(bytes: u32) -> TypeId {
    TypeId::scalar(match bytes {
        1 => Scalar::U8,
        2 => Scalar::U16,
        4 => Scalar::U32,
        _ => Scalar::U64,
    })
}
