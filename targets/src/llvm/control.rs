//! Terminators, calls, and how a thread stops.

use luisac_ast::types::TypeId;
use luisac_xir::{Imm, InstId, Op};

use super::Emit;
use super::function::{FnEmit, refused};
use super::ir::{Bb, Val};
use super::module::internal;
use super::value::{Leaves, Value};
use crate::errors;

impl FnEmit<'_, '_, '_> {
    /// Ends the present block.
    pub fn terminator(&mut self, inst: InstId) -> Emit<()> {
        let func = self.func;
        let successors = func.successors_of(inst);
        match func.op(inst) {
            // The structured forms have the same edges as the flat ones.
            Op::Br | Op::Break | Op::Continue | Op::Loop | Op::SimpleLoop => {
                let target = self.successor(successors, 0)?;
                self.cx.ir.br(target);
            }
            Op::CondBr | Op::If => {
                let condition = self.scalar(func.arg(inst, 0))?;
                let (yes, no) = (self.successor(successors, 0)?, self.successor(successors, 1)?);
                self.cx.ir.cond_br(condition, yes, no);
            }
            Op::IndexedBranch | Op::Switch => self.switch(inst)?,
            Op::Return => self.return_value(inst)?,
            Op::Unreachable => self.cx.ir.unreachable(),
            op => return Err(refused(errors::UNSUPPORTED_OPERATION, op)),
        }
        Ok(())
    }

    fn successor(&self, successors: &[luisac_xir::BlockId], index: usize) -> Emit<Bb> {
        match successors.get(index) {
            Some(&b) => self.head(b),
            None => Err(internal("a terminator without a target")),
        }
    }

    fn switch(&mut self, inst: InstId) -> Emit<()> {
        let func = self.func;
        let selector = self.scalar(func.arg(inst, 0))?;
        let ty = self.cx.ir.type_of(selector);
        let successors = func.successors_of(inst);
        let default = self.successor(successors, 0)?;
        let Imm::Cases(values) = &func.inst(inst).imm else {
            return Err(internal("a switch without case values"));
        };
        let mut cases = Vec::with_capacity(values.len());
        for (i, &value) in values.iter().enumerate() {
            cases.push((self.cx.ir.const_int(ty, value), self.successor(successors, i + 1)?));
        }
        self.cx.ir.switch(selector, default, &cases);
        Ok(())
    }

    fn return_value(&mut self, inst: InstId) -> Emit<()> {
        let func = self.func;
        let Some(&v) = func.args(inst).first() else {
            self.cx.ir.ret(None);
            return Ok(());
        };
        let v = self.value(v)?;
        match (self.large_result, &v) {
            (Some(place), v) => {
                self.store_value(func.return_type, place, v, false)?;
                self.cx.ir.ret(None);
            }
            (None, Value::Leaves(leaves)) => match leaves.as_slice() {
                [] => self.cx.ir.ret(None),
                [one] => self.cx.ir.ret(Some(*one)),
                many => self.cx.ir.ret(Some(self.cx.ir.build_struct(many))),
            },
            _ => return Err(internal("a result that is no data")),
        }
        Ok(())
    }

    /// Ends the present block: the thread stops. The builder is left in a block that has ended.
    pub fn stop_thread(&mut self) -> Emit<()> {
        let device = self.cx.device;
        if device.stops_in_place() {
            device.stop(self);
            return Ok(());
        }
        let Some(flag) = self.launch.stop_flag else {
            return Err(internal("a thread that stops without a flag"));
        };
        let one = self.cx.ir.const_int(self.cx.ir.int(8), 1);
        self.cx.ir.store(one, flag, 1, false);
        self.return_zero();
        Ok(())
    }

    /// Leaves the function with an arbitrary result.
    fn return_zero(&mut self) {
        let ty = self.func.return_type;
        let leaves: Leaves = match (ty, self.large_result) {
            (TypeId::VOID, _) | (_, Some(_)) => Leaves::new(),
            _ => match self.zero_value(ty) {
                Value::Leaves(leaves) => leaves,
                _ => Leaves::new(),
            },
        };
        let ir = &self.cx.ir;
        match leaves.as_slice() {
            [] => ir.ret(None),
            [one] => ir.ret(Some(*one)),
            many => ir.ret(Some(ir.build_struct(many))),
        }
    }

    /// `call`
    pub fn call(&mut self, inst: InstId) -> Emit<Option<Value>> {
        let func = self.func;
        let Imm::Callee(id) = func.inst(inst).imm else {
            return Err(internal("a call without a callee"));
        };
        let Some(callee) = self.cx.callee(id) else {
            return Err(internal("a call of something that is not declared"));
        };
        let mut values = Vec::with_capacity(func.args(inst).len());
        for &a in func.args(inst) {
            values.push(self.value(a)?);
        }
        let mut args = self.launch.pass(self.cx);
        self.cx.pass_arguments(&values, &mut args);
        let ty = func.inst(inst).ty;
        let flat = if ty == TypeId::VOID { None } else { self.cx.types.flat(ty) };
        let large = (ty != TypeId::VOID && flat.is_none()).then(|| self.temporary(ty));
        args.extend(large);
        let result = self.cx.ir.call(callee, &args);
        if self.cx.facts(id).may_stop {
            self.stop_if_stopped();
        }
        if let Some(place) = large {
            return Ok(Some(Value::Memory(place)));
        }
        let Some(flat) = flat else { return Ok(None) };
        let leaves: Leaves = match flat.leaves.len() {
            0 => Leaves::new(),
            1 => [result].into_iter().collect(),
            n => (0..n as u32).map(|i| self.cx.ir.extract_value(result, i)).collect(),
        };
        Ok(Some(Value::Leaves(leaves)))
    }

    /// After a call: leaves this function too if the thread stopped in the callee.
    fn stop_if_stopped(&mut self) {
        let Some(flag) = self.launch.stop_flag else { return };
        let ir = &self.cx.ir;
        let byte = ir.int(8);
        let stopped: Val = ir.ne(ir.load(byte, flag, 1, false), ir.const_int(byte, 0));
        let (stop, go) = (ir.new_block("stopped"), ir.new_block("goes_on"));
        ir.cond_br(stopped, stop, go);
        ir.at_end(stop);
        self.return_zero();
        self.cx.ir.at_end(go);
    }
}
