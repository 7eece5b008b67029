//! Values over four rounds.

use super::LANES;
use crate::analyses::scalar_evolution::{Recurrence, integer, mask};
use crate::transforms::loop_blocks::Copies;
use cranelift_entity::SecondaryMap;
use luisac_ast::types::{TypeId, TypeTable};
use luisac_xir::op::ArithmeticOp;
use luisac_xir::{BlockId, Builder, Function, Imm, InstId, Op, ValueId};

/// The body of the vector loop while it is built.
pub(super) struct Lanes<'a> {
    pub func: &'a mut Function,
    pub types: &'a TypeTable,
    /// Where instructions go.
    pub at: BlockId,
    /// The phis that stand for those of the loop.
    pub phis: SecondaryMap<InstId, Option<InstId>>,
    /// The vector of a scalar over four rounds.
    vectors: Copies,
    preheader: BlockId,
}

impl<'a> Lanes<'a> {
    pub fn new(func: &'a mut Function, types: &'a TypeTable, preheader: BlockId) -> Self {
        Lanes {
            func,
            types,
            at: preheader,
            phis: SecondaryMap::new(),
            vectors: Copies::default(),
            preheader,
        }
    }

    pub fn builder(&mut self) -> Builder<'_> {
        Builder::at_end(self.func, self.types, self.at)
    }

    pub fn phi(&mut self, old: InstId, ty: TypeId, block: BlockId, entry: (BlockId, ValueId)) {
        let phi = self.func.create_inst(Op::Phi, ty, &[entry.1], &[entry.0], Imm::None);
        self.func.append_inst(block, phi);
        self.phis[old] = Some(phi);
        let results = (self.func.result(old), self.func.result(phi));
        if let ((Some(old), Some(new)), true) = (results, self.types.is_vector(ty)) {
            self.vectors.set(old, new);
        }
    }

    /// The values of a recurrence in four rounds.
    pub fn spread(&mut self, recurrence: &Recurrence) {
        let ty = self.func.inst(recurrence.phi).ty;
        let value = self.phis[recurrence.phi].and_then(|p| self.func.result(p));
        let (Some(scalar), Some(value), Some(old)) =
            (integer(self.types, ty), value, self.func.result(recurrence.phi))
        else {
            return;
        };
        let mut parts = vec![value];
        for lane in 1..LANES {
            let step = recurrence.step.wrapping_mul(lane) & mask(scalar.bits());
            let step = self.func.scalar_constant(ty, step, self.types);
            parts.push(self.builder().arithmetic(ArithmeticOp::BinaryAdd, &[value, step]));
        }
        let vector = TypeId::vector(scalar, LANES as u8);
        let all = self.builder().aggregate(vector, &parts);
        self.vectors.set(old, all);
    }

    /// The vector of a scalar; what comes from outside is the same in all lanes.
    pub fn vector(&mut self, value: ValueId) -> ValueId {
        if let Some(vector) = self.vectors.known(value) {
            return vector;
        }
        let ty = self.func.value_type(value);
        let Some(scalar) = self.types.scalar_of(ty) else { return value };
        let vector = TypeId::vector(scalar, LANES as u8);
        let parts = vec![value; LANES as usize];
        // In front of the loop, where it is computed once.
        let all = match self.func.terminator(self.preheader) {
            Some(end) => Builder::before(self.func, self.types, end).aggregate(vector, &parts),
            None => value,
        };
        self.vectors.set(value, all);
        all
    }

    /// An instruction for four rounds.
    pub fn inst(&mut self, inst: InstId) {
        let Some(result) = self.func.result(inst) else { return };
        let Some(scalar) = self.types.scalar_of(self.func.inst(inst).ty) else { return };
        let vector = TypeId::vector(scalar, LANES as u8);
        let made = if matches!(self.func.op(inst), Op::ResourceRead(_)) {
            let parts: Vec<ValueId> =
                (0..LANES).filter_map(|lane| self.lane_of(inst, lane)).collect();
            self.builder().aggregate(vector, &parts)
        } else {
            let args: Vec<ValueId> =
                self.func.args(inst).to_vec().into_iter().map(|a| self.vector(a)).collect();
            let op = self.func.op(inst);
            self.builder().value(op, vector, &args)
        };
        self.vectors.set(result, made);
    }

    /// One lane of an access of a resource.
    fn lane_of(&mut self, inst: InstId, lane: u64) -> Option<ValueId> {
        let args: Vec<ValueId> = self.func.args(inst).to_vec();
        let args: Vec<ValueId> = args
            .into_iter()
            .map(|a| match self.vectors.known(a) {
                Some(vector) => self.builder().extract(vector, lane as u32),
                None => a,
            })
            .collect();
        let data = self.func.inst(inst);
        let (op, ty, imm, loc) = (data.op, data.ty, data.imm.clone(), data.loc);
        let copy = self.func.create_inst(op, ty, &args, &[], imm);
        self.func.set_loc(copy, loc);
        self.func.append_inst(self.at, copy);
        self.func.result(copy)
    }

    pub fn scalar(&mut self, write: InstId, lane: u64) {
        self.lane_of(write, lane);
    }
}
