//! Instructions on values, local and shared memory, and calls.

use super::{Builder, not_held};
use crate::eval::{self, Plan};
use crate::interp::code::{
    Actual, Call, Chain, Code, Formula, Place, Print, Src, Step, Wave, cell, thread_row,
};
use crate::interp::fault::{Fault, FaultKind};
use crate::op::{ArithmeticOp, CastOp, SpecialRegister, ThreadGroupOp};
use crate::{ArgumentKind, Imm, InstId, Op, Scalar, TypeId, TypeKind, ValueDef, ValueId};

/// What the strides of a chain count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Scalars,
    Bytes,
}

pub(super) fn malformed(what: &str) -> Box<Fault> {
    Fault::outside(FaultKind::Malformed(what.into()))
}

impl Builder<'_, '_> {
    // ---- operands

    pub(super) fn count_of(&mut self, value: ValueId) -> Result<u32, Box<Fault>> {
        if self.function.is_lvalue(value) {
            return Ok(1);
        }
        self.compiler.count(self.function.value_type(value))
    }

    pub(super) fn scalar_of(&self, value: ValueId) -> Result<Scalar, Box<Fault>> {
        let ty = self.function.value_type(value);
        self.types().scalar_of(ty).ok_or_else(|| malformed("a scalar is expected"))
    }

    /// Where the scalars of an rvalue are.
    pub(super) fn src(&mut self, value: ValueId) -> Result<Src, Box<Fault>> {
        if let Some(cell) = self.rows.cell(value) {
            return Ok(Src::Cell(cell));
        }
        let count = self.count_of(value)?;
        let cell = match self.function.value_def(value) {
            ValueDef::Inst(_) | ValueDef::Argument(_) => {
                return Ok(Src::Row(self.rows.row(value, count)));
            }
            ValueDef::Special(register) => return special(register),
            ValueDef::Undefined => self.compiler.zeros(count),
            ValueDef::Constant(_) => {
                let flat = self.compiler.flat(self.function.value_type(value))?;
                let bytes = self.function.constant_bytes(value).map_or(&[][..], |b| b.as_slice());
                let bits = self.compiler.program.flats[flat as usize].read(bytes);
                self.compiler.cells(&bits)
            }
        };
        self.rows.set_cell(value, cell);
        Ok(Src::Cell(cell))
    }

    pub(super) fn arg(&mut self, inst: InstId, index: usize) -> Result<Src, Box<Fault>> {
        self.src(self.operand(inst, index)?)
    }

    pub(super) fn operand(&self, inst: InstId, index: usize) -> Result<ValueId, Box<Fault>> {
        self.function
            .args(inst)
            .get(index)
            .copied()
            .ok_or_else(|| malformed("an operand is missing"))
    }

    /// What an lvalue names.
    pub(super) fn place(&mut self, value: ValueId) -> Place {
        match self.rows.place(value) {
            Some(place) => place,
            None => Place::Pointer { src: Src::Row(self.rows.row(value, 1)), offset: 0 },
        }
    }

    /// The rows of the result, and its number of scalars.
    pub(super) fn result(&mut self, inst: InstId) -> Result<(u32, u32), Box<Fault>> {
        let value = self.function.result(inst).ok_or_else(|| malformed("a result is missing"))?;
        let count = self.count_of(value)?;
        Ok((self.rows.define(self.function, inst, value, count), count))
    }

    /// The chain of `indices` from a value of type `ty`, and the type of what it names.
    pub(super) fn chain(
        &mut self,
        mut ty: TypeId,
        indices: &[ValueId],
        unit: Unit,
        label: u32,
    ) -> Result<(Chain, TypeId), Box<Fault>> {
        let types = self.types();
        let mut chain = Chain { label, ..Chain::default() };
        for &index in indices {
            let scalar = self.scalar_of(index)?;
            let known = self.function.constant_bits(index).map(|b| eval::sign_extend(b, scalar));
            let known = known.and_then(|i| u32::try_from(i).ok());
            let is_struct = matches!(types.kind(ty), TypeKind::Struct { .. });
            if let Some((index, element)) =
                known.and_then(|i| Some((i, types.element_type(ty, i)?)))
            {
                chain.offset += match unit {
                    Unit::Scalars => eval::flat::offset_of(types, ty, index),
                    Unit::Bytes => types.member_offset(ty, index),
                };
                ty = element;
                continue;
            }
            let element = types.element_type(ty, 0).filter(|_| !is_struct);
            let element = element.ok_or_else(|| malformed("an index names no element"))?;
            let stride = match unit {
                Unit::Scalars => u64::from(self.compiler.count_in_memory(element)?),
                Unit::Bytes => types.stride(element),
            };
            let length = types.member_count(ty);
            chain.steps.push(Step { index: self.src(index)?, scalar, length, stride });
            ty = element;
        }
        Ok((chain, ty))
    }

    // ---- instructions

    /// Compiles an instruction that is neither a phi nor a terminator.
    pub(super) fn instruction(&mut self, inst: InstId) -> Result<(), Box<Fault>> {
        self.loc = self.function.inst(inst).loc;
        match self.function.op(inst) {
            Op::Alloca(_) => {}
            Op::Load => {
                let lvalue = self.operand(inst, 0)?;
                let (dst, count) = self.result(inst)?;
                let code = match self.place(lvalue) {
                    Place::Local(row) => Code::Copy { dst, src: Src::Row(row), count },
                    place => Code::Load { dst, place, count, label: self.label_of(lvalue) },
                };
                self.emit(code);
            }
            Op::Store => {
                let lvalue = self.operand(inst, 0)?;
                let value = self.operand(inst, 1)?;
                let (src, count) = (self.src(value)?, self.count_of(value)?);
                let code = match self.place(lvalue) {
                    Place::Local(dst) => Code::Copy { dst, src, count },
                    place => Code::Store { place, src, count, label: self.label_of(lvalue) },
                };
                self.emit(code);
            }
            Op::Gep => self.gep(inst)?,
            Op::Arithmetic(op) => self.arithmetic(inst, op)?,
            Op::Cast(op) => self.cast(inst, op)?,
            Op::ThreadGroup(op) => self.thread_group(inst, op)?,
            Op::Call => self.call(inst)?,
            Op::Print => {
                let values = self.function.args(inst).to_vec();
                let values = values
                    .into_iter()
                    .map(|v| Ok((self.src(v)?, self.function.value_type(v))))
                    .collect::<Result<_, Box<Fault>>>()?;
                self.emit(Code::Print(Box::new(Print { format: self.text(inst), values })));
            }
            Op::Assert => {
                let (condition, message) = (self.arg(inst, 0)?, self.text(inst));
                self.emit(Code::Assert { condition, message });
            }
            Op::Assume => {
                let (condition, message) = (self.arg(inst, 0)?, self.text(inst));
                self.emit(Code::Assume { condition, message });
            }
            Op::Clock => {
                let (dst, _) = self.result(inst)?;
                self.emit(Code::Clock { dst });
            }
            Op::Atomic(_) | Op::ResourceQuery(_) | Op::ResourceRead(_) | Op::ResourceWrite(_) => {
                self.resource(inst)?;
            }
            op => {
                let name = op.sub_name().unwrap_or(op.mnemonic());
                self.emit(Code::NotHeld(format!("`{name}`").into()));
            }
        }
        Ok(())
    }

    pub(super) fn text(&self, inst: InstId) -> Box<str> {
        match &self.function.inst(inst).imm {
            Imm::Text(text) => text.clone(),
            _ => "".into(),
        }
    }

    fn gep(&mut self, inst: InstId) -> Result<(), Box<Fault>> {
        let base = self.operand(inst, 0)?;
        let indices = self.function.args(inst)[1..].to_vec();
        let label = self.label_of(base);
        let (chain, _) =
            self.chain(self.function.value_type(base), &indices, Unit::Scalars, label)?;
        let value = self.function.result(inst).ok_or_else(|| malformed("a result is missing"))?;
        let place = self.place(base);
        if chain.steps.is_empty() {
            let by = chain.offset as u32;
            let place = match place {
                Place::Local(row) => Place::Local(row + by),
                Place::Shared(cell) => Place::Shared(cell + by),
                Place::Pointer { src, offset } => Place::Pointer { src, offset: offset + by },
            };
            self.rows.set_place(value, place);
        } else {
            let dst = self.rows.row(value, 1);
            self.emit(Code::Gep { dst, place, chain: Box::new(chain) });
        }
        Ok(())
    }

    fn arithmetic(&mut self, inst: InstId, op: ArithmeticOp) -> Result<(), Box<Fault>> {
        match op {
            ArithmeticOp::Aggregate => return self.aggregate(inst),
            ArithmeticOp::Shuffle => return self.shuffle(inst),
            ArithmeticOp::Extract => return self.extract(inst),
            ArithmeticOp::Insert => return self.insert(inst),
            _ => {}
        }
        let args = self.function.args(inst).to_vec();
        let kinds: Vec<TypeId> = args.iter().map(|&v| self.function.value_type(v)).collect();
        let Some(plan) = eval::plan(self.types(), op, &kinds) else {
            self.emit(Code::NotHeld(format!("`{}` on operands of this type", op.name()).into()));
            return Ok(());
        };
        self.planned(inst, &args, plan)
    }

    fn cast(&mut self, inst: InstId, op: CastOp) -> Result<(), Box<Fault>> {
        let value = self.operand(inst, 0)?;
        let (from, to) = (self.function.value_type(value), self.function.inst(inst).ty);
        let Some(plan) = eval::plan_cast(self.types(), op, from, to) else {
            self.emit(Code::NotHeld(format!("`{}` between these types", op.name()).into()));
            return Ok(());
        };
        self.planned(inst, &[value], plan)
    }

    fn planned(&mut self, inst: InstId, args: &[ValueId], plan: Plan) -> Result<(), Box<Fault>> {
        let srcs: Vec<Src> = args.iter().map(|&v| self.src(v)).collect::<Result<_, _>>()?;
        let (dst, count) = self.result(inst)?;
        if plan.count() != count as usize {
            return Err(malformed("the result has another shape than the operation"));
        }
        self.emit(match plan {
            Plan::Unary { function, .. } => Code::Unary { function, dst, a: srcs[0], count },
            Plan::Binary { function, steps, .. } => {
                let steps = steps.map(|s| s as u32);
                Code::Binary { function, dst, a: srcs[0], b: srcs[1], count, steps }
            }
            Plan::Ternary { function, steps, .. } => {
                let (operands, steps) = ([srcs[0], srcs[1], srcs[2]], steps.map(|s| s as u32));
                Code::Ternary { function, dst, operands, count, steps }
            }
            Plan::Formula { op, operands, .. } => {
                let operands = operands.into_iter().zip(srcs);
                let operands =
                    operands.map(|((scalar, shape), src)| (scalar, shape, src)).collect();
                Code::Formula(Box::new(Formula { op, operands, dst }))
            }
            Plan::Repack { from, to, .. } => {
                Code::Repack { dst, a: srcs[0], from: from as u32, to: to as u32, count }
            }
        });
        Ok(())
    }

    fn aggregate(&mut self, inst: InstId) -> Result<(), Box<Fault>> {
        let args = self.function.args(inst).to_vec();
        let mut parts = Vec::with_capacity(args.len());
        for value in args {
            parts.push((self.src(value)?, self.count_of(value)?));
        }
        let (mut dst, count) = self.result(inst)?;
        if parts.iter().map(|p| u64::from(p.1)).sum::<u64>() != u64::from(count) {
            return Err(malformed("the parts do not make up the aggregate"));
        }
        for (src, count) in parts {
            self.emit(Code::Copy { dst, src, count });
            dst += count;
        }
        Ok(())
    }

    fn shuffle(&mut self, inst: InstId) -> Result<(), Box<Fault>> {
        let args = self.function.args(inst).to_vec();
        let vector = self.operand(inst, 0)?;
        let (src, length) = (self.src(vector)?, self.count_of(vector)?);
        let (dst, count) = self.result(inst)?;
        for i in 0..count {
            let index = args.get(i as usize + 1).and_then(|&v| self.function.constant_bits(v));
            let index = index.and_then(|i| u32::try_from(i).ok()).filter(|&i| i < length);
            let index = index.ok_or_else(|| malformed("a shuffle index is no component"))?;
            self.emit(Code::Copy { dst: dst + i, src: src.plus(index), count: 1 });
        }
        Ok(())
    }

    fn extract(&mut self, inst: InstId) -> Result<(), Box<Fault>> {
        let value = self.operand(inst, 0)?;
        let indices = self.function.args(inst)[1..].to_vec();
        let label = self.compiler.label(self.function.name_of(value));
        let (chain, _) =
            self.chain(self.function.value_type(value), &indices, Unit::Scalars, label)?;
        let src = self.src(value)?;
        let (dst, count) = self.result(inst)?;
        self.emit(if chain.steps.is_empty() {
            Code::Copy { dst, src: src.plus(chain.offset as u32), count }
        } else {
            Code::Extract { dst, src, chain: Box::new(chain), count }
        });
        Ok(())
    }

    fn insert(&mut self, inst: InstId) -> Result<(), Box<Fault>> {
        let (value, part) = (self.operand(inst, 0)?, self.operand(inst, 1)?);
        let indices = self.function.args(inst)[2..].to_vec();
        let label = self.compiler.label(self.function.name_of(value));
        let (chain, _) =
            self.chain(self.function.value_type(value), &indices, Unit::Scalars, label)?;
        let (src, part_src, part_count) = (self.src(value)?, self.src(part)?, self.count_of(part)?);
        let (dst, count) = self.result(inst)?;
        self.emit(Code::Copy { dst, src, count });
        self.emit(if chain.steps.is_empty() {
            Code::Copy { dst: dst + chain.offset as u32, src: part_src, count: part_count }
        } else {
            Code::Insert { dst, part: part_src, chain: Box::new(chain), count: part_count }
        });
        Ok(())
    }

    fn thread_group(&mut self, inst: InstId, op: ThreadGroupOp) -> Result<(), Box<Fault>> {
        match op {
            ThreadGroupOp::ShaderExecutionReorder => return Ok(()),
            ThreadGroupOp::SynchronizeBlock => {
                self.emit(Code::Barrier);
                return Ok(());
            }
            ThreadGroupOp::RasterQuadDdx | ThreadGroupOp::RasterQuadDdy => {
                self.emit(Code::NotHeld(format!("`{}`", op.name()).into()));
                return Ok(());
            }
            _ => {}
        }
        let args = self.function.args(inst).to_vec();
        let (mut a, mut scalar, mut lane, mut count) = (Src::Cell(0), Scalar::U32, None, 1);
        if let Some(&value) = args.first() {
            (a, count) = (self.src(value)?, self.count_of(value)?);
            scalar = self.scalar_of(value)?;
        }
        if let Some(&value) = args.get(1) {
            lane = Some((self.src(value)?, self.scalar_of(value)?));
        }
        let (dst, _) = self.result(inst)?;
        self.emit(Code::Wave(Box::new(Wave { op, scalar, dst, a, count, lane })));
        Ok(())
    }

    fn call(&mut self, inst: InstId) -> Result<(), Box<Fault>> {
        let Imm::Callee(id) = self.function.inst(inst).imm else {
            return Err(malformed("a call names no function"));
        };
        let module = self.compiler.module;
        let callee =
            module.functions.get(id).ok_or_else(|| malformed("a call names no function"))?;
        let args = self.function.args(inst).to_vec();
        if args.len() != callee.arguments.len() {
            return Err(malformed("a call passes another number of arguments than the callee has"));
        }
        if !callee.has_body() {
            let name: Box<str> = format!("the external function `{}`", callee.name).into();
            self.emit(Code::NotHeld(name));
            return Ok(());
        }
        let mut call = Call {
            callee: self.compiler.number(id),
            actuals: Vec::new(),
            resources: vec![0; args.len()],
            result: None,
        };
        // The callee's arguments have its first rows behind its variables; see `parameter_rows`.
        let mut row = 0;
        for (i, (formal, &value)) in callee.arguments.iter().zip(&args).enumerate() {
            match formal.kind {
                ArgumentKind::Value => {
                    let (src, count) = (self.src(value)?, self.count_of(value)?);
                    call.actuals.push(Actual::Value { src, count, row });
                    row += count;
                }
                ArgumentKind::Reference if self.is_opaque(value) => {
                    call.resources[i] = self.resource_argument(value)?;
                    row += 1;
                }
                ArgumentKind::Reference => {
                    call.actuals.push(Actual::Reference { place: self.place(value), row });
                    row += 1;
                }
                ArgumentKind::Resource => call.resources[i] = self.resource_argument(value)?,
            }
        }
        if self.function.result(inst).is_some() {
            call.result = Some(self.result(inst)?);
        }
        self.emit(Code::Call(Box::new(call)));
        Ok(())
    }

    /// The formal argument that a resource value is.
    pub(super) fn resource_argument(&self, value: ValueId) -> Result<u32, Box<Fault>> {
        match self.function.value_def(value) {
            ValueDef::Argument(i) if self.function.is_resource(value) || self.is_opaque(value) => {
                Ok(i)
            }
            _ => Err(malformed("a resource is expected")),
        }
    }

    /// Whether the value is of a custom type, such as an indirect dispatch buffer, which is passed like a resource.
    fn is_opaque(&self, value: ValueId) -> bool {
        matches!(self.types().kind(self.function.value_type(value)), TypeKind::Custom(_))
    }
}

fn special(register: SpecialRegister) -> Result<Src, Box<Fault>> {
    Ok(match register {
        SpecialRegister::ThreadId => Src::Thread(thread_row::THREAD_ID),
        SpecialRegister::DispatchId => Src::Thread(thread_row::DISPATCH_ID),
        SpecialRegister::WarpLaneId => Src::Thread(thread_row::LANE),
        SpecialRegister::BlockId => Src::Cell(cell::BLOCK_ID),
        SpecialRegister::DispatchSize => Src::Cell(cell::DISPATCH_SIZE),
        SpecialRegister::BlockSize => Src::Cell(cell::BLOCK_SIZE),
        SpecialRegister::WarpSize => Src::Cell(cell::WAVE_WIDTH),
        SpecialRegister::KernelId => Src::Cell(cell::KERNEL_ID),
        register => return Err(not_held(&format!("the register `{}`", register.name()))),
    })
}
