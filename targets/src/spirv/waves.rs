//! Operations over the threads of a wave (a subgroup) and of a block.
//!
//! Numbers of 8 and 16 bits go through 32, and what only moves goes as words, so that no device has to reduce or move other
//! types. Reads of lanes that are not active and the extremes of floats are decided by the pass `lower_edge_cases`.

use luisac_ast::types::{Scalar, TypeId};
use luisac_xir::op::{ArithmeticOp as A, ThreadGroupOp as T};
use luisac_xir::{InstId, Op as X, ValueId};
use rspirv::spirv::{Capability, GroupOperation, MemorySemantics, Op, Scope};

use super::function::FnEmit;
use super::module::Id;
use super::{Emit, internal, refused, wrong_form};

impl FnEmit<'_> {
    /// A thread-group operation.
    pub fn thread_group(&mut self, inst: InstId, op: T) -> Emit<Option<Id>> {
        match op {
            T::SynchronizeBlock => {
                self.barrier();
                Ok(None)
            }
            // A hint.
            T::ShaderExecutionReorder => Ok(None),
            T::RasterQuadDdx | T::RasterQuadDdy => Err(refused(X::ThreadGroup(op))),
            _ => self.wave(inst, op).map(Some),
        }
    }

    fn barrier(&mut self) {
        let scope = self.m.u32(Scope::Workgroup as u32);
        let semantics = MemorySemantics::ACQUIRE_RELEASE
            | MemorySemantics::UNIFORM_MEMORY
            | MemorySemantics::WORKGROUP_MEMORY
            | MemorySemantics::IMAGE_MEMORY;
        let semantics = self.m.u32(semantics.bits());
        self.blocks.push(Op::ControlBarrier, &[scope, scope, semantics]);
    }

    fn wave(&mut self, inst: InstId, op: T) -> Emit<Id> {
        let func = self.func;
        let args = func.args(inst);
        let (word, truth) = (self.m.int(32), self.m.bool());
        self.m.capability(Capability::GroupNonUniform);
        let scope = self.m.u32(Scope::Subgroup as u32);
        let condition = match args.first() {
            Some(&a) => self.value(a)?,
            None => self.m.bool_constant(true),
        };
        Ok(match op {
            T::WarpIsFirstActiveLane => self.op(Op::GroupNonUniformElect, truth, &[scope]),
            T::WarpFirstActiveLane => {
                let mask = self.ballot(condition);
                self.op(Op::GroupNonUniformBallotFindLSB, word, &[scope, mask])
            }
            T::WarpActiveAll | T::WarpActiveAny => {
                self.m.capability(Capability::GroupNonUniformVote);
                let all = op == T::WarpActiveAll;
                let op = if all { Op::GroupNonUniformAll } else { Op::GroupNonUniformAny };
                self.op(op, truth, &[scope, condition])
            }
            T::WarpActiveBitMask => self.ballot(condition),
            T::WarpActiveCountBits | T::WarpPrefixCountBits => {
                let mask = self.ballot(condition);
                let how = if op == T::WarpActiveCountBits {
                    GroupOperation::Reduce
                } else {
                    GroupOperation::ExclusiveScan
                };
                self.op(Op::GroupNonUniformBallotBitCount, word, &[scope, how as u32, mask])
            }
            T::WarpReadLane => {
                let Some(&lane) = args.get(1) else {
                    return Err(internal("a lane read without a lane"));
                };
                self.read_lane(args[0], lane)?
            }
            T::WarpReadFirstActiveLane => {
                self.m.capability(Capability::GroupNonUniformBallot);
                let ty = func.inst(inst).ty;
                self.moved(condition, ty, &|f, w, ty| {
                    f.op(Op::GroupNonUniformBroadcastFirst, ty, &[scope, w])
                })?
            }
            _ => {
                let Some(&operand) = args.first() else {
                    return Err(internal("a wave operation without an operand"));
                };
                self.by_lane_component(inst, op, operand)?
            }
        })
    }

    fn ballot(&mut self, condition: Id) -> Id {
        self.m.capability(Capability::GroupNonUniformBallot);
        let word = self.m.int(32);
        let mask = self.m.vector(word, 4);
        let scope = self.m.u32(Scope::Subgroup as u32);
        self.op(Op::GroupNonUniformBallot, mask, &[scope, condition])
    }

    /// Operations on each component by itself.
    fn by_lane_component(&mut self, inst: InstId, op: T, operand: ValueId) -> Emit<Id> {
        let func = self.func;
        let scalar = self.scalar_of(operand)?;
        let (ty, from) = (func.inst(inst).ty, func.value_type(operand));
        if !self.table().is_scalar_or_vector(from) {
            return Err(refused(X::ThreadGroup(op)));
        }
        let id = self.value(operand)?;
        let count = u32::from(self.table().dim(from));
        let mut parts = Vec::with_capacity(count as usize);
        for i in 0..count {
            let part = self.component(id, from, i)?;
            parts.push(self.lane_scalar(op, scalar, part)?);
        }
        self.join(ty, &parts)
    }

    fn lane_scalar(&mut self, op: T, scalar: Scalar, v: Id) -> Emit<Id> {
        if op == T::WarpActiveAllEqual {
            self.m.capability(Capability::GroupNonUniformVote);
            self.m.capability(Capability::GroupNonUniformBallot);
            let (scope, truth) = (self.m.u32(Scope::Subgroup as u32), self.m.bool());
            let first = self.moved(v, TypeId::scalar(scalar), &|f, w, ty| {
                f.op(Op::GroupNonUniformBroadcastFirst, ty, &[scope, w])
            })?;
            let same = self.scalar_operation(A::BinaryEqual, scalar, &[v, first])?;
            return Ok(self.op(Op::GroupNonUniformAll, truth, &[scope, same]));
        }
        self.m.capability(Capability::GroupNonUniformArithmetic);
        let how = match op {
            T::WarpPrefixSum | T::WarpPrefixProduct => GroupOperation::ExclusiveScan,
            _ => GroupOperation::Reduce,
        };
        match (op, scalar) {
            (_, Scalar::Bool) => self.reduce_bool(op, v),
            _ => self.reduce_number(op, how, scalar, v),
        }
    }

    fn reduce_bool(&mut self, op: T, v: Id) -> Emit<Id> {
        let instruction = match op {
            T::WarpActiveBitAnd => Op::GroupNonUniformLogicalAnd,
            T::WarpActiveBitOr => Op::GroupNonUniformLogicalOr,
            T::WarpActiveBitXor => Op::GroupNonUniformLogicalXor,
            _ => return Err(refused(X::ThreadGroup(op))),
        };
        let (scope, truth) = (self.m.u32(Scope::Subgroup as u32), self.m.bool());
        Ok(self.op(instruction, truth, &[scope, GroupOperation::Reduce as u32, v]))
    }

    /// Sums, products, bits, and the extremes of integers.
    fn reduce_number(&mut self, op: T, how: GroupOperation, scalar: Scalar, v: Id) -> Emit<Id> {
        let wide = match (scalar.bits() < 32, scalar.is_float(), scalar.is_signed()) {
            (false, ..) => scalar,
            (_, true, _) => Scalar::F32,
            (_, _, true) => Scalar::I32,
            _ => Scalar::U32,
        };
        let (float, signed) = (scalar.is_float(), scalar.is_signed());
        let instruction = match op {
            T::WarpActiveSum | T::WarpPrefixSum if float => Op::GroupNonUniformFAdd,
            T::WarpActiveSum | T::WarpPrefixSum => Op::GroupNonUniformIAdd,
            T::WarpActiveProduct | T::WarpPrefixProduct if float => Op::GroupNonUniformFMul,
            T::WarpActiveProduct | T::WarpPrefixProduct => Op::GroupNonUniformIMul,
            T::WarpActiveBitAnd => Op::GroupNonUniformBitwiseAnd,
            T::WarpActiveBitOr => Op::GroupNonUniformBitwiseOr,
            T::WarpActiveBitXor => Op::GroupNonUniformBitwiseXor,
            T::WarpActiveMin | T::WarpActiveMax if float => {
                return Err(wrong_form(
                    "the extremes of floats in a wave have to be lowered before",
                ));
            }
            T::WarpActiveMin if signed => Op::GroupNonUniformSMin,
            T::WarpActiveMin => Op::GroupNonUniformUMin,
            T::WarpActiveMax if signed => Op::GroupNonUniformSMax,
            T::WarpActiveMax => Op::GroupNonUniformUMax,
            _ => return Err(refused(X::ThreadGroup(op))),
        };
        let v = self.convert(v, scalar, wide)?;
        let ty = self.types.scalar(&mut self.m, wide)?;
        let scope = self.m.u32(Scope::Subgroup as u32);
        let result = self.op(instruction, ty, &[scope, how as u32, v]);
        self.convert(result, wide, scalar)
    }

    /// A value carried from lane to lane as words.
    fn moved(&mut self, v: Id, ty: TypeId, carry: &dyn Fn(&mut Self, Id, Id) -> Id) -> Emit<Id> {
        let table = self.table();
        let word = self.m.int(32);
        let Some(scalar) = table.scalar_of(ty).filter(|_| table.is_scalar(ty)) else {
            let count = table.member_count(ty);
            let mut parts = Vec::with_capacity(count as usize);
            for i in 0..count {
                let Some(inner) = table.element_type(ty, i) else { continue };
                let register = self.ty(inner)?;
                let part = self.op(Op::CompositeExtract, register, &[v, i]);
                parts.push(self.moved(part, inner, carry)?);
            }
            let register = self.ty(ty)?;
            return Ok(self.op(Op::CompositeConstruct, register, &parts));
        };
        let register = self.types.scalar(&mut self.m, scalar)?;
        match scalar.bits() {
            64 => {
                let pair = self.m.vector(word, 2);
                let words = self.op(Op::Bitcast, pair, &[v]);
                let low = self.op(Op::CompositeExtract, word, &[words, 0]);
                let high = self.op(Op::CompositeExtract, word, &[words, 1]);
                let (low, high) = (carry(self, low, word), carry(self, high, word));
                let words = self.op(Op::CompositeConstruct, pair, &[low, high]);
                Ok(self.op(Op::Bitcast, register, &[words]))
            }
            32 => Ok(carry(self, v, register)),
            16 if scalar.is_float() => {
                let same = self.types.scalar(&mut self.m, Scalar::U16)?;
                let bits = self.op(Op::Bitcast, same, &[v]);
                let wide = self.op(Op::UConvert, word, &[bits]);
                let wide = carry(self, wide, word);
                let bits = self.op(Op::UConvert, same, &[wide]);
                Ok(self.op(Op::Bitcast, register, &[bits]))
            }
            _ => {
                let wide = self.convert(v, scalar, Scalar::U32)?;
                let wide = carry(self, wide, word);
                self.convert(wide, Scalar::U32, scalar)
            }
        }
    }

    /// The value of a lane that is active.
    fn read_lane(&mut self, value: ValueId, lane: ValueId) -> Emit<Id> {
        self.m.capability(Capability::GroupNonUniformShuffle);
        let scope = self.m.u32(Scope::Subgroup as u32);
        let lane = self.index(lane)?;
        let ty = self.func.value_type(value);
        let v = self.value(value)?;
        self.moved(v, ty, &|f, w, ty| f.op(Op::GroupNonUniformShuffle, ty, &[scope, w, lane]))
    }

    /// The device's clock.
    pub fn clock(&mut self) -> Emit<Id> {
        self.m.capability(Capability::ShaderClockKHR);
        let word = self.m.int(32);
        let pair = self.m.vector(word, 2);
        let scope = self.m.u32(Scope::Subgroup as u32);
        let words = self.op(Op::ReadClockKHR, pair, &[scope]);
        let long = self.types.scalar(&mut self.m, Scalar::U64)?;
        Ok(self.op(Op::Bitcast, long, &[words]))
    }
}
