//! Operations over the threads of a wave, which is a subgroup, or of a block.

use luisac_ast::types::{Scalar, TypeId};
use luisac_xir::op::ThreadGroupOp::{self, *};
use luisac_xir::{InstId, Op};
use naga::{
    BinaryOperator as B, CollectiveOperation as C, Expression, GatherMode, Statement,
    SubgroupOperation as S,
};

use super::Emit;
use super::body::Val;
use super::function::FnEmit;

impl FnEmit<'_> {
    /// `thread_group`
    pub fn thread_group(&mut self, inst: InstId, op: ThreadGroupOp) -> Emit<()> {
        if op == SynchronizeBlock {
            let both = naga::Barrier::STORAGE | naga::Barrier::WORK_GROUP;
            self.body.statement(Statement::ControlBarrier(both));
            return Ok(());
        }
        if op == ShaderExecutionReorder {
            return Ok(());
        }
        let ty = self.func.inst(inst).ty;
        let args = self.func.args(inst).to_vec();
        let mut values = Vec::with_capacity(args.len());
        for &arg in &args {
            values.push(self.value(arg)?);
        }
        let value = match op {
            WarpActiveAllEqual => {
                Some(self.all_equal(self.func.value_type(args[0]), ty, values[0])?)
            }
            _ => self.wave(op, ty, &values)?,
        };
        let Some(value) = value else { return Err(self.refused(Op::ThreadGroup(op))) };
        let value = match op {
            WarpActiveSum | WarpActiveProduct | WarpPrefixSum | WarpPrefixProduct => {
                self.wrap(value, ty)
            }
            _ => value,
        };
        self.define(inst, value);
        Ok(())
    }

    fn wave(&mut self, op: ThreadGroupOp, ty: TypeId, v: &[Val]) -> Emit<Option<Val>> {
        let word = TypeId::U32;
        Ok(Some(match op {
            WarpActiveAll => self.collective(S::All, C::Reduce, TypeId::BOOL, v[0])?,
            WarpActiveAny => self.collective(S::Any, C::Reduce, TypeId::BOOL, v[0])?,
            WarpActiveSum => self.collective(S::Add, C::Reduce, ty, v[0])?,
            WarpActiveProduct => self.collective(S::Mul, C::Reduce, ty, v[0])?,
            WarpActiveMin => self.collective(S::Min, C::Reduce, ty, v[0])?,
            WarpActiveMax => self.collective(S::Max, C::Reduce, ty, v[0])?,
            WarpPrefixSum => self.collective(S::Add, C::ExclusiveScan, ty, v[0])?,
            WarpPrefixProduct => self.collective(S::Mul, C::ExclusiveScan, ty, v[0])?,
            WarpActiveBitAnd | WarpActiveBitOr | WarpActiveBitXor => {
                let operation = match op {
                    WarpActiveBitAnd => S::And,
                    WarpActiveBitOr => S::Or,
                    _ => S::Xor,
                };
                self.bitwise(operation, ty, v[0])?
            }
            WarpActiveBitMask => self.ballot(v[0]),
            WarpActiveCountBits => {
                let one = self.as_count(v[0]);
                self.collective(S::Add, C::Reduce, word, one)?
            }
            WarpPrefixCountBits => {
                let one = self.as_count(v[0]);
                self.collective(S::Add, C::ExclusiveScan, word, one)?
            }
            WarpFirstActiveLane => self.first_lane()?,
            WarpIsFirstActiveLane => {
                let (first, lane) = (self.first_lane()?, self.lane()?);
                self.body.binary(B::Equal, first, lane)
            }
            WarpReadFirstActiveLane => self.gather(GatherMode::BroadcastFirst, ty, v[0])?,
            WarpReadLane => self.gather(GatherMode::Shuffle(v[1]), ty, v[0])?,
            _ => return Ok(None),
        }))
    }

    fn lane(&self) -> Emit<Val> {
        self.interface.lane.ok_or_else(|| self.internal("a lane without a wave"))
    }

    fn as_count(&mut self, condition: Val) -> Val {
        let (one, zero) = (self.body.u32(1), self.body.u32(0));
        self.body.select(condition, one, zero)
    }

    fn collective(&mut self, op: S, collective_op: C, ty: TypeId, argument: Val) -> Emit<Val> {
        let handle = self.type_of(ty)?;
        let result = self.body.result(Expression::SubgroupOperationResult { ty: handle });
        self.body.statement(Statement::SubgroupCollectiveOperation {
            op,
            collective_op,
            argument,
            result,
        });
        Ok(result)
    }

    /// On truth values by votes: and is all, or is any, xor is the parity of the count.
    fn bitwise(&mut self, op: S, ty: TypeId, value: Val) -> Emit<Val> {
        if ty != TypeId::BOOL {
            return self.collective(op, C::Reduce, ty, value);
        }
        match op {
            S::And => self.collective(S::All, C::Reduce, ty, value),
            S::Or => self.collective(S::Any, C::Reduce, ty, value),
            _ => {
                let one = self.as_count(value);
                let count = self.collective(S::Xor, C::Reduce, TypeId::U32, one)?;
                let zero = self.body.u32(0);
                Ok(self.body.binary(B::NotEqual, count, zero))
            }
        }
    }

    fn ballot(&mut self, condition: Val) -> Val {
        let result = self.body.result(Expression::SubgroupBallotResult);
        let predicate = Some(condition);
        self.body.statement(Statement::SubgroupBallot { result, predicate });
        result
    }

    fn first_lane(&mut self) -> Emit<Val> {
        let lane = self.lane()?;
        self.gather(GatherMode::BroadcastFirst, TypeId::U32, lane)
    }

    /// Values of other lanes, scalar by scalar; truth values as words.
    fn gather(&mut self, mode: GatherMode, ty: TypeId, value: Val) -> Emit<Val> {
        let scalar = self.types.scalar_of(ty).unwrap_or(Scalar::U32);
        let mut read = Vec::new();
        for argument in self.scalars(ty, value) {
            let (argument, of) = match scalar {
                Scalar::Bool => (self.as_count(argument), TypeId::U32),
                _ => (argument, TypeId::scalar(scalar)),
            };
            let handle = self.type_of(of)?;
            let result = self.body.result(Expression::SubgroupOperationResult { ty: handle });
            self.body.statement(Statement::SubgroupGather { mode, argument, result });
            read.push(match scalar {
                Scalar::Bool => {
                    let zero = self.body.u32(0);
                    self.body.binary(B::NotEqual, result, zero)
                }
                _ => result,
            });
        }
        self.assemble(ty, &mut read.into_iter())
    }

    /// Whether all lanes have the value of the first, for each component.
    fn all_equal(&mut self, of: TypeId, ty: TypeId, value: Val) -> Emit<Val> {
        let first = self.gather(GatherMode::BroadcastFirst, of, value)?;
        let equal = self.body.binary(B::Equal, first, value);
        let mut votes = Vec::new();
        for part in self.scalars(ty, equal) {
            votes.push(self.collective(S::All, C::Reduce, TypeId::BOOL, part)?);
        }
        self.assemble(ty, &mut votes.into_iter())
    }
}
