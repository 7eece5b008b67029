//! One operation for all active threads.

use super::code::{Chain, Code, Formula, Print, Src};
use super::fault::FaultKind;
use super::machine::{At, Lanes, Machine, Step, Trouble, trouble};
use super::print;
use super::schedule::Activation;
use crate::eval::{Bits, Compute, flat};
use crate::math::composite::{self, Operand};
use crate::{Scalar, TypeId};

impl Machine<'_> {
    pub(super) fn execute(&mut self, current: &Activation, lanes: Lanes, code: &Code) -> Step<()> {
        let frame = current.frame;
        let row = |machine: &Self, row: u32| machine.row(frame + row as usize);
        match code {
            Code::Unary { function, dst, a, count } => {
                let (dst, a) = (row(self, *dst), self.at(frame, *a));
                for i in 0..*count as usize {
                    lanes.each(|lane| {
                        self.cells[dst.of(i, lane)] = function(self.cells[a.of(i, lane)]);
                    });
                }
            }
            Code::Binary { function, dst, a, b, count, steps } => {
                let (dst, a, b) = (row(self, *dst), self.at(frame, *a), self.at(frame, *b));
                for i in 0..*count as usize {
                    let (ai, bi) = (i * steps[0] as usize, i * steps[1] as usize);
                    lanes.each(|lane| {
                        let (x, y) = (self.cells[a.of(ai, lane)], self.cells[b.of(bi, lane)]);
                        self.cells[dst.of(i, lane)] = function(x, y);
                    });
                }
            }
            Code::Ternary { function, dst, operands, count, steps } => {
                let dst = row(self, *dst);
                let [a, b, c] = operands.map(|src| self.at(frame, src));
                for i in 0..*count as usize {
                    let [ai, bi, ci] = steps.map(|step| i * step as usize);
                    lanes.each(|lane| {
                        let (x, y) = (self.cells[a.of(ai, lane)], self.cells[b.of(bi, lane)]);
                        let z = self.cells[c.of(ci, lane)];
                        self.cells[dst.of(i, lane)] = function(x, y, z);
                    });
                }
            }
            Code::Formula(formula) => self.formula(frame, lanes, formula),
            Code::Repack { dst, a, from, to, count } => {
                let (dst, a) = (row(self, *dst), self.at(frame, *a));
                self.repack(lanes, dst, a, [*from as usize, *to as usize], *count as usize);
            }
            Code::Copy { dst, src, count } => {
                self.copy(lanes, row(self, *dst), self.at(frame, *src), *count);
            }
            Code::Extract { dst, src, chain, count } => {
                return self.extract(frame, lanes, (*dst, *src), chain, *count);
            }
            Code::Insert { dst, part, chain, count } => {
                return self.insert(frame, lanes, (*dst, *part), chain, *count);
            }
            Code::Gep { dst, place, chain } => {
                let dst = row(self, *dst);
                lanes.each(|lane| {
                    self.cells[dst.of(0, lane)] = self.element_pointer(frame, *place, chain, lane);
                });
            }
            Code::Load { dst, place, count, label } => {
                return self.load(current, lanes, (*dst, *place), *count, *label);
            }
            Code::Store { place, src, count, label } => {
                return self.store(current, lanes, (*src, *place), *count, *label);
            }
            Code::BufferRead { dst, element } => {
                return self.buffer_read(current, lanes, *dst, element);
            }
            Code::BufferWrite { src, element } => {
                return self.buffer_write(current, lanes, *src, element);
            }
            Code::BufferSize { dst, resource, stride } => {
                return self.buffer_size(current, lanes, *dst, *resource, *stride);
            }
            Code::BufferAddress { dst, resource } => {
                return self.buffer_address(current, lanes, *dst, *resource);
            }
            Code::ImageRead { dst, texel } => return self.image_read(current, lanes, *dst, texel),
            Code::ImageWrite { src, texel } => {
                return self.image_write(current, lanes, *src, texel);
            }
            Code::ImageSize { dst, resource, level, dimensions } => {
                return self.image_size(current, lanes, *dst, *resource, (*level, *dimensions));
            }
            Code::Ask { dst, resource, what } => {
                return self.ask(current, lanes, *dst, *resource, *what);
            }
            Code::Sample(sample) => return self.sampled(current, lanes, sample),
            Code::SetDispatch(dispatch) => return self.set_dispatch(current, lanes, dispatch),
            Code::SetDispatchCount { buffer, count } => {
                return self.set_dispatch_count(current, lanes, *buffer, *count);
            }
            Code::Atomic(atomic) => return self.atomic(current, lanes, atomic),
            Code::Wave(wave) => self.wave(frame, lanes, wave),
            Code::Barrier => return self.barrier(lanes),
            Code::Print(print) => self.print(frame, lanes, print),
            Code::Assert { condition, message } => {
                let at = self.at(frame, *condition);
                lanes.each(|lane| {
                    if self.cells[at.of(0, lane)] == 0 {
                        let kind = FaultKind::AssertionFailed(message.clone());
                        self.stopped.push(Trouble { kind, lane: Some(lane) });
                    }
                });
            }
            Code::Assume { condition, message } => {
                let at = self.at(frame, *condition);
                return lanes.try_each(|lane| match self.cells[at.of(0, lane)] {
                    0 => trouble(FaultKind::AssumptionFalse(message.clone()), lane),
                    _ => Ok(()),
                });
            }
            Code::Clock { dst } => self.fill(lanes, row(self, *dst), 0, self.outcome.steps),
            // The scheduler opens calls; there is nothing to do for one here.
            Code::Call(_) => {}
            Code::NotHeld(what) => return trouble(FaultKind::NotHeld(what.clone()), lanes.first()),
        }
        Ok(())
    }

    fn fill(&mut self, lanes: Lanes, dst: At, component: usize, bits: Bits) {
        lanes.each(|lane| self.cells[dst.of(component, lane)] = bits);
    }

    fn formula(&mut self, frame: usize, lanes: Lanes, formula: &Formula) {
        let dst = self.row(frame + formula.dst as usize);
        let from: Vec<At> = formula.operands.iter().map(|o| self.at(frame, o.2)).collect();
        let mut operands: Vec<Operand<Bits>> = formula
            .operands
            .iter()
            .map(|&(scalar, shape, _)| Operand { scalar, shape, lanes: vec![0; shape.lanes()] })
            .collect();
        lanes.each(|lane| {
            for (operand, at) in operands.iter_mut().zip(&from) {
                for (i, bits) in operand.lanes.iter_mut().enumerate() {
                    *bits = self.cells[at.of(i, lane)];
                }
            }
            let result = composite::expand(&mut Compute, formula.op, &operands);
            for (i, bits) in result.into_iter().enumerate() {
                self.cells[dst.of(i, lane)] = bits;
            }
        });
    }

    fn repack(&mut self, lanes: Lanes, dst: At, a: At, [from, to]: [usize; 2], count: usize) {
        let mut bytes = vec![0; to * count];
        lanes.each(|lane| {
            for (i, piece) in bytes.chunks_mut(from).enumerate() {
                flat::write_scalar(piece, self.cells[a.of(i, lane)]);
            }
            for (i, piece) in bytes.chunks(to).enumerate() {
                self.cells[dst.of(i, lane)] = flat::read_scalar(piece, Scalar::U64);
            }
        });
    }

    fn extract(
        &mut self,
        frame: usize,
        lanes: Lanes,
        (dst, src): (u32, Src),
        chain: &Chain,
        count: u32,
    ) -> Step<()> {
        let (dst, src) = (self.row(frame + dst as usize), self.at(frame, src));
        lanes.try_each(|lane| {
            let offset = self.offset(frame, chain, lane);
            for i in 0..count as usize {
                let bits = match &offset {
                    Ok(offset) => self.cells[src.of(*offset as usize + i, lane)],
                    Err(_) => 0,
                };
                self.cells[dst.of(i, lane)] = bits;
            }
            match offset {
                Ok(_) => Ok(()),
                Err(miss) => self.missed(miss, self.variable(chain.label), lane),
            }
        })
    }

    fn insert(
        &mut self,
        frame: usize,
        lanes: Lanes,
        (dst, part): (u32, Src),
        chain: &Chain,
        count: u32,
    ) -> Step<()> {
        let (dst, part) = (self.row(frame + dst as usize), self.at(frame, part));
        lanes.try_each(|lane| match self.offset(frame, chain, lane) {
            Ok(offset) => {
                for i in 0..count as usize {
                    self.cells[dst.of(offset as usize + i, lane)] = self.cells[part.of(i, lane)];
                }
                Ok(())
            }
            Err(miss) => self.missed(miss, self.variable(chain.label), lane),
        })
    }

    fn print(&mut self, frame: usize, lanes: Lanes, print: &Print) {
        let types = &self.module.types;
        lanes.each(|lane| {
            let values: Vec<(TypeId, Vec<Bits>)> = print
                .values
                .iter()
                .map(|&(src, ty)| {
                    let at = self.at(frame, src);
                    let count = flat::count(types, ty) as usize;
                    (ty, (0..count).map(|i| self.cells[at.of(i, lane)]).collect())
                })
                .collect();
            let line = print::line(types, &print.format, &values);
            self.outcome.lines.push(line);
        });
    }
}
