//! Values of a kernel; control flow is in `events`.

mod events;

use luisac_ast::diagnostic::Diagnostic;
use luisac_ast::types::{Scalar, TypeId, TypeTable};
use luisac_xir::op::{ArithmeticOp, CastOp, Space, SpecialRegister};
use luisac_xir::{Function, InstId, Op, ValueDef, ValueId};
use naga::{BinaryOperator as B, Block, Expression, Handle, ScalarKind, SwitchCase};
use rustc_hash::FxHashMap;

use super::Emit;
use super::body::{Body, Val};
use super::interface::Interface;
use super::types::Types;
use super::words::Words;
use crate::clike::plan::{Event, Plan};
use crate::clike::scopes::Scopes;
use crate::errors;

/// How deep blocks may nest: naga validates and writes them by recursion.
const MAX_DEPTH: usize = 200;

/// Where a variable lies.
#[derive(Clone, Copy)]
pub enum Root {
    /// A variable of its type.
    Typed(Val),
    /// Words of shared memory that atomics work on.
    Words(Words),
}

/// What was found before code is written.
pub struct Facts {
    /// Shared variables that atomics work on.
    pub atomic_shared: Vec<ValueId>,
}

/// The kernel that is written.
pub struct FnEmit<'a> {
    pub types: &'a TypeTable,
    pub func: &'a Function,
    pub module: naga::Module,
    pub known: Types,
    pub body: Body,
    pub interface: Interface,
    pub facts: Facts,
    pub local_bytes: u64,
    pub shared_bytes: u64,
    scopes: Scopes,
    values: FxHashMap<ValueId, Val>,
    hoisted: FxHashMap<ValueId, Val>,
    roots: FxHashMap<ValueId, Root>,
    flags: FxHashMap<u32, Val>,
    odd_bits: FxHashMap<(u32, u64), Val>,
    /// A word that is zero, which no compiler can know.
    zero: Option<Val>,
    /// Whether every operation on floats must round for itself.
    precise: bool,
}

/// A construct that is open.
enum Open {
    If { condition: Val, accept: Option<Block> },
    Switch { selector: Val, labels: Labels, cases: Vec<SwitchCase> },
    Case(Vec<u64>, bool),
    Loop,
    NotFirst(Val),
}

/// How the labels of a switch are written.
#[derive(Clone)]
enum Labels {
    Signed(Scalar),
    Unsigned,
    /// The selector is the number of the label, counted from one.
    Numbered(Vec<u64>),
}

impl<'a> FnEmit<'a> {
    #[allow(clippy::too_many_arguments, reason = "each is a part of its own")]
    pub fn new(
        types: &'a TypeTable,
        func: &'a Function,
        plan: &Plan,
        module: naga::Module,
        body: Body,
        interface: Interface,
        facts: Facts,
        precise: bool,
    ) -> FnEmit<'a> {
        FnEmit {
            types,
            func,
            module,
            known: Types::default(),
            body,
            interface,
            facts,
            local_bytes: 0,
            shared_bytes: 0,
            scopes: Scopes::of(func, plan),
            values: FxHashMap::default(),
            hoisted: FxHashMap::default(),
            roots: FxHashMap::default(),
            flags: FxHashMap::default(),
            odd_bits: FxHashMap::default(),
            zero: None,
            precise,
        }
    }

    /// A mistake of the compiler.
    pub fn internal(&self, what: &str) -> Box<Diagnostic> {
        Box::new(
            Diagnostic::error(errors::WRONG_FORM, format!("the emitter met {what}"))
                .in_function(self.func.name.clone())
                .with_help("report it, with the input and the options"),
        )
    }

    /// Refuses an operation.
    pub fn refused(&self, op: Op) -> Box<Diagnostic> {
        let name = op.sub_name().unwrap_or(op.mnemonic());
        Box::new(
            Diagnostic::error(
                errors::UNSUPPORTED_OPERATION,
                format!("the target does not hold the operation `{name}`"),
            )
            .in_function(self.func.name.clone())
            .with_help("choose another target, or avoid the operation"),
        )
    }

    pub fn type_of(&mut self, ty: TypeId) -> Emit<Handle<naga::Type>> {
        self.known.of(&mut self.module, self.types, ty)
    }

    pub fn scalar_type(&self, value: ValueId) -> Scalar {
        self.types.scalar_of(self.func.value_type(value)).unwrap_or(Scalar::U32)
    }

    // ---- the whole

    /// Writes all events.
    pub fn write(&mut self, plan: &Plan, outside_returns: bool) -> Emit<()> {
        self.start(outside_returns)?;
        let mut open = Vec::new();
        for event in &plan.events {
            if let Event::Block(block) = event {
                for inst in self.func.insts(*block) {
                    self.instruction(inst)?;
                }
                continue;
            }
            self.event(event, &mut open)?;
            if self.body.depth() > MAX_DEPTH {
                return Err(Box::new(
                    Diagnostic::error(
                        errors::TOO_LARGE,
                        format!("control flow nests deeper than {MAX_DEPTH}"),
                    )
                    .in_function(self.func.name.clone())
                    .with_help("nest fewer conditions and loops"),
                ));
            }
        }
        Ok(())
    }

    /// Variables for values that are used outside of the scope that they are made in, and the arguments.
    fn start(&mut self, outside_returns: bool) -> Emit<()> {
        self.declare_halves()?;
        for value in self.scopes.hoisted().to_vec() {
            let ty = self.type_of(self.func.value_type(value))?;
            let name = self.name_of(value);
            let variable = self.body.local(name, ty, None);
            self.hoisted.insert(value, variable);
        }
        if outside_returns {
            self.guard_threads()?;
        }
        for (i, argument) in self.func.arguments.iter().enumerate() {
            if self.func.is_resource(argument.value) || !self.func.has_uses(argument.value) {
                continue;
            }
            let offset = self.interface.offsets[i];
            let value = self.read_param(self.interface.params, offset, argument.ty)?;
            self.body.name(value, argument.name.as_deref().unwrap_or("argument").to_string());
            self.values.insert(argument.value, value);
        }
        self.make_zero()
    }

    /// The top bits that all sizes of the dispatch share: none, as no dispatch has 2^93 threads.
    fn make_zero(&mut self) -> Emit<()> {
        let func = self.func;
        let mut insts = func.blocks().flat_map(|b| func.insts(b));
        if !insts.any(|i| self.must_round(i) || self.rounds_twice(i) || self.cancels(i)) {
            return Ok(());
        }
        let size = TypeId::vector(Scalar::U32, 3);
        let size = self.read_param(self.interface.params, self.interface.dispatch, size)?;
        let parts = [0, 1, 2].map(|i| self.body.access_index(size, i));
        let two = self.body.binary(B::And, parts[0], parts[1]);
        let all = self.body.binary(B::And, two, parts[2]);
        let zero = self.body.shift(B::ShiftRight, all, 31);
        self.body.name(zero, "zero".to_string());
        self.zero = Some(zero);
        Ok(())
    }

    /// Whether the rounded result of an operation must be seen by what uses it: the languages let compilers contract and cancel. Under
    /// precise that is so everywhere, else where a sum is taken apart again, as `(x + c) - c`.
    pub fn must_round(&self, inst: InstId) -> bool {
        let func = self.func;
        let is_sum = |i: InstId| {
            matches!(func.op(i), Op::Arithmetic(ArithmeticOp::BinaryAdd | ArithmeticOp::BinarySub))
        };
        let is_product = func.op(inst) == Op::Arithmetic(ArithmeticOp::BinaryMul);
        let ty = func.inst(inst).ty;
        if !(is_sum(inst) || is_product) || !matches!(ty, TypeId::F32 | TypeId::F64) {
            return false;
        }
        let Some(result) = func.result(inst) else { return false };
        let shares = |user: InstId| {
            is_sum(user) && func.args(user).iter().any(|a| func.args(inst).contains(a))
        };
        self.precise || is_sum(inst) && func.uses(result).any(|(user, _)| shares(user))
    }

    /// Whether a difference may be of equal values, which drivers take for zero though infinities and NaN give NaN.
    pub fn cancels(&self, inst: InstId) -> bool {
        let func = self.func;
        let is_difference = func.op(inst) == Op::Arithmetic(ArithmeticOp::BinarySub);
        let is_float = matches!(func.inst(inst).ty, TypeId::F16 | TypeId::F32 | TypeId::F64);
        is_difference && is_float && (self.precise || func.arg(inst, 0) == func.arg(inst, 1))
    }

    /// Whether a conversion takes up a rounded value, which a compiler could replace by the one that was rounded.
    fn rounds_twice(&self, inst: InstId) -> bool {
        let func = self.func;
        let scalar = |ty| self.types.scalar_of(ty);
        func.op(inst) == Op::Cast(CastOp::Static)
            && matches!(
                (scalar(func.value_type(func.arg(inst, 0))), scalar(func.inst(inst).ty)),
                (Some(Scalar::F32), Some(Scalar::F64)) | (Some(Scalar::F64), Some(Scalar::F16))
            )
    }

    /// The same float, of which a compiler knows no more than its bits.
    pub fn rounded(&mut self, value: Val, ty: TypeId) -> Val {
        let Some(zero) = self.zero else { return value };
        if ty == TypeId::F16 {
            // There are no integers of 16 bits; every half is a single.
            let single = self.body.convert(value, ScalarKind::Float, 4);
            let single = self.rounded(single, TypeId::F32);
            return self.body.convert(single, ScalarKind::Float, 2);
        }
        let zero = match ty {
            TypeId::F64 => self.body.convert(zero, ScalarKind::Uint, 8),
            _ => zero,
        };
        let bits = self.body.bitcast(value, ScalarKind::Uint);
        let bits = self.body.binary(B::ExclusiveOr, bits, zero);
        self.body.bitcast(bits, ScalarKind::Float)
    }

    /// The writer looks for halves among the types, to switch them on.
    fn declare_halves(&mut self) -> Emit<()> {
        let func = self.func;
        let is_half = |&v: &ValueId| self.types.scalar_of(func.value_type(v)) == Some(Scalar::F16);
        let mut insts = func.blocks().flat_map(|b| func.insts(b));
        let made = |i: InstId| func.args(i).iter().chain(&func.result(i)).any(is_half);
        if insts.any(made) {
            self.type_of(TypeId::F16)?;
        }
        Ok(())
    }

    fn name_of(&self, value: ValueId) -> String {
        self.func.name_of(value).map_or_else(|| "v".to_string(), str::to_string)
    }

    // ---- values

    /// A value where it is used.
    pub fn value(&mut self, value: ValueId) -> Emit<Val> {
        match self.func.value_def(value) {
            ValueDef::Constant(_) => self.constant(value),
            ValueDef::Undefined => {
                let ty = self.type_of(self.func.value_type(value))?;
                Ok(self.body.value(Expression::ZeroValue(ty)))
            }
            ValueDef::Special(register) => self.special(register),
            _ => match self.hoisted.get(&value) {
                Some(&variable) => {
                    let loaded = self.body.load(variable);
                    Ok(loaded)
                }
                None => self
                    .values
                    .get(&value)
                    .copied()
                    .ok_or_else(|| self.internal("a value before it is made")),
            },
        }
    }

    /// Notes what an instruction gives.
    pub fn define(&mut self, inst: InstId, value: Val) {
        let Some(result) = self.func.result(inst) else { return };
        if let Some(&variable) = self.hoisted.get(&result) {
            self.body.store(variable, value);
            return;
        }
        let is_known = self.body.function.named_expressions.contains_key(&value);
        if !is_known {
            let name = self.name_of(result);
            self.body.name(value, name);
        }
        self.values.insert(result, value);
    }

    fn constant(&mut self, value: ValueId) -> Emit<Val> {
        let ty = self.func.value_type(value);
        let bytes = match self.func.constant_bytes(value) {
            Some(bytes) => bytes.as_slice().to_vec(),
            None => return Err(self.internal("a constant without bytes")),
        };
        if bytes.iter().all(|&b| b == 0) && !self.types.is_scalar(ty) {
            let handle = self.type_of(ty)?;
            return Ok(self.body.value(Expression::ZeroValue(handle)));
        }
        let Some(flat) = luisac_xir::eval::flat::Flat::of(self.types, ty, 1 << 16) else {
            return Err(self.internal("a constant that is no data, or a very long one"));
        };
        let mut scalars = Vec::with_capacity(flat.parts.len());
        for part in &flat.parts {
            scalars.push(self.literal(part.scalar, part.read(&bytes))?);
        }
        self.assemble(ty, &mut scalars.into_iter())
    }

    /// A scalar with these bits.
    pub fn literal(&mut self, scalar: Scalar, bits: u64) -> Emit<Val> {
        use luisac_xir::eval::sign_extend;
        let b = &mut self.body;
        Ok(match scalar {
            Scalar::Bool => b.bool(bits != 0),
            Scalar::I8 | Scalar::I16 | Scalar::I32 => b.i32(sign_extend(bits, scalar) as i32),
            Scalar::U8 | Scalar::U16 | Scalar::U32 => b.u32(bits as u32),
            Scalar::I64 => b.i64(bits as i64),
            Scalar::U64 => b.u64(bits),
            Scalar::F16 if half::f16::from_bits(bits as u16).is_finite() => b.f16(bits as u16),
            Scalar::F32 if f32::from_bits(bits as u32).is_finite() => {
                b.f32(f32::from_bits(bits as u32))
            }
            Scalar::F64 if f64::from_bits(bits).is_finite() => b.f64(f64::from_bits(bits)),
            Scalar::F16 | Scalar::F32 | Scalar::F64 => return self.not_finite(scalar, bits),
            _ => {
                let text = format!("the target has no form for the type `{}`", scalar.name());
                return Err(Box::new(
                    Diagnostic::error(errors::UNSUPPORTED_TYPE, text)
                        .with_help("convert to another type"),
                ));
            }
        })
    }

    /// Infinities and NaN, which no literal may be: the bits come out of a variable, so that nothing computes them before.
    fn not_finite(&mut self, scalar: Scalar, bits: u64) -> Emit<Val> {
        let ty = self.type_of(TypeId::U32)?;
        let mut words = Vec::new();
        for word in
            [bits as u32, (bits >> 32) as u32].into_iter().take(scalar.size().div_ceil(4) as usize)
        {
            let key = (32, u64::from(word));
            let variable = match self.odd_bits.get(&key) {
                Some(&variable) => variable,
                None => {
                    let init = self.body.u32(word);
                    self.body.local("bits".to_string(), ty, Some(init))
                }
            };
            self.odd_bits.insert(key, variable);
            words.push(self.body.load(variable));
        }
        self.scalar_from_words(scalar, &words)
    }

    fn special(&mut self, register: SpecialRegister) -> Emit<Val> {
        use SpecialRegister::*;
        let place = &self.interface;
        match register {
            ThreadId => Ok(place.thread_id),
            BlockId => Ok(place.block_id),
            DispatchId => Ok(place.dispatch_id),
            DispatchSize => {
                self.read_param(place.params, place.dispatch, TypeId::vector(Scalar::U32, 3))
            }
            KernelId => self.read_param(place.params, place.dispatch + 12, TypeId::U32),
            BlockSize => {
                let parts = place.block_size.map(|n| self.body.u32(n)).to_vec();
                let ty = self.type_of(TypeId::vector(Scalar::U32, 3))?;
                Ok(self.body.compose(ty, parts))
            }
            WarpLaneId => place.lane.ok_or_else(|| self.internal("a lane without a wave")),
            WarpSize => place.wave_size.ok_or_else(|| self.internal("a wave without a size")),
            _ => Err(Box::new(
                Diagnostic::error(
                    errors::UNSUPPORTED_OPERATION,
                    format!("the target has no register `{}`", register.name()),
                )
                .with_help("kernels of this stage cannot use it"),
            )),
        }
    }

    // ---- variables

    fn alloca(&mut self, inst: InstId, space: Space) -> Emit<()> {
        let Some(value) = self.func.result(inst) else { return Ok(()) };
        let ty = self.func.value_type(value);
        let name = self.name_of(value);
        let handle = self.type_of(ty)?;
        let bytes = self.known.size(&mut self.module, self.types, ty)?;
        let root = match space {
            Space::Local => {
                self.local_bytes = self.local_bytes.saturating_add(bytes);
                let init = self.body.value(Expression::ZeroValue(handle));
                Root::Typed(self.body.local(name, handle, Some(init)))
            }
            Space::Shared => {
                let words = self.facts.atomic_shared.contains(&value);
                let (ty, bytes) = match words {
                    true => {
                        let size = self.types.size(ty).div_ceil(4).max(1);
                        (self.interface.word_array(&mut self.module, true, size as u32), 4 * size)
                    }
                    false => (handle, bytes),
                };
                self.shared_bytes = self.shared_bytes.saturating_add(bytes);
                let global = naga::GlobalVariable {
                    name: Some(name),
                    space: naga::AddressSpace::WorkGroup,
                    binding: None,
                    ty,
                    init: None,
                    memory_decorations: naga::MemoryDecorations::empty(),
                };
                let global = self.module.global_variables.append(global, naga::Span::UNDEFINED);
                let base = self.body.value(Expression::GlobalVariable(global));
                match words {
                    true => Root::Words(Words { base }),
                    false => Root::Typed(base),
                }
            }
        };
        self.roots.insert(value, root);
        Ok(())
    }

    /// The root of a place and the indices that lead to the part.
    pub fn root(&self, place: ValueId) -> Emit<(Root, ValueId, Vec<ValueId>)> {
        let mut chains = Vec::new();
        let mut place = place;
        while let Some(inst) = self.func.def_inst(place).filter(|&i| self.func.op(i) == Op::Gep) {
            chains.push(&self.func.args(inst)[1..]);
            place = self.func.arg(inst, 0);
        }
        let indices = chains.into_iter().rev().flatten().copied().collect();
        match self.roots.get(&place) {
            Some(&root) => Ok((root, place, indices)),
            None => Err(self.internal("a place that is no variable")),
        }
    }

    /// An index as a number of 32 bits.
    pub fn index(&mut self, index: ValueId) -> Emit<Val> {
        let scalar = self.scalar_type(index);
        let value = self.value(index)?;
        Ok(match scalar {
            Scalar::I64 | Scalar::U64 => {
                let bits = match scalar {
                    Scalar::I64 => self.body.bitcast(value, ScalarKind::Uint),
                    _ => value,
                };
                self.body.convert(bits, ScalarKind::Uint, 4)
            }
            s if s.is_signed() => self.body.bitcast(value, ScalarKind::Uint),
            _ => value,
        })
    }

    /// The part that indices name of what `base` is, or points to.
    pub fn part(&mut self, base: Val, ty: TypeId, indices: &[ValueId]) -> Emit<(Val, TypeId)> {
        let (mut part, mut ty) = (base, ty);
        for &index in indices {
            let count = self.types.member_count(ty);
            part = match self.func.constant_bits(index) {
                // What is out of range is undefined, and must not be written.
                Some(i) => {
                    let i = i.min(u64::from(count.max(1)) - 1) as u32;
                    let inner = self.types.element_type(ty, i);
                    ty = inner.ok_or_else(|| self.internal("an index into a scalar"))?;
                    self.body.access_index(part, i)
                }
                None => {
                    let inner = self.types.element_type(ty, 0);
                    ty = inner.ok_or_else(|| self.internal("an index into a scalar"))?;
                    let index = self.index(index)?;
                    self.body.access(part, index)
                }
            };
        }
        Ok((part, ty))
    }

    /// The byte offset of the part that indices name.
    pub fn byte_offset(
        &mut self,
        base: Val,
        ty: TypeId,
        indices: &[ValueId],
    ) -> Emit<(Val, TypeId)> {
        let (mut byte, mut ty) = (base, ty);
        for &index in indices {
            match self.func.constant_bits(index) {
                Some(i) => {
                    let count = self.types.member_count(ty);
                    let i = i.min(u64::from(count.max(1)) - 1) as u32;
                    byte = self.body.add_const(byte, self.types.member_offset(ty, i) as u32);
                    let inner = self.types.element_type(ty, i);
                    ty = inner.ok_or_else(|| self.internal("an index into a scalar"))?;
                }
                None => {
                    let inner = self.types.element_type(ty, 0);
                    ty = inner.ok_or_else(|| self.internal("an index into a scalar"))?;
                    let index = self.index(index)?;
                    let stride = self.body.u32(self.types.stride(ty) as u32);
                    let by = self.body.binary(B::Multiply, index, stride);
                    byte = self.body.add(byte, by);
                }
            }
        }
        Ok((byte, ty))
    }

    fn load(&mut self, inst: InstId) -> Emit<()> {
        let (root, base, indices) = self.root(self.func.arg(inst, 0))?;
        let ty = self.func.value_type(base);
        let value = match root {
            Root::Typed(pointer) => {
                let (pointer, _) = self.part(pointer, ty, &indices)?;
                self.body.load(pointer)
            }
            Root::Words(words) => {
                let zero = self.body.u32(0);
                let (byte, ty) = self.byte_offset(zero, ty, &indices)?;
                self.read_words(words, byte, ty)?
            }
        };
        self.define(inst, value);
        Ok(())
    }

    fn store(&mut self, inst: InstId) -> Emit<()> {
        let (root, base, indices) = self.root(self.func.arg(inst, 0))?;
        let ty = self.func.value_type(base);
        let value = self.value(self.func.arg(inst, 1))?;
        match root {
            Root::Typed(pointer) => {
                let (pointer, _) = self.part(pointer, ty, &indices)?;
                self.body.store(pointer, value);
            }
            Root::Words(words) => {
                let zero = self.body.u32(0);
                let (byte, ty) = self.byte_offset(zero, ty, &indices)?;
                self.write_words(words, byte, ty, value)?;
            }
        }
        Ok(())
    }

    /// A variable that holds a value for a moment.
    pub fn temporary(&mut self, ty: TypeId) -> Emit<Val> {
        let handle = self.type_of(ty)?;
        let bytes = self.known.size(&mut self.module, self.types, ty)?;
        self.local_bytes = self.local_bytes.saturating_add(bytes);
        Ok(self.body.local("temporary".to_string(), handle, None))
    }

    // ---- instructions

    fn instruction(&mut self, inst: InstId) -> Emit<()> {
        match self.func.op(inst) {
            op if op.is_terminator() => Ok(()),
            Op::Alloca(space) => self.alloca(inst, space),
            Op::Gep | Op::Assume => Ok(()),
            Op::Load => self.load(inst),
            Op::Store => self.store(inst),
            Op::Arithmetic(op) => self.arithmetic(inst, op),
            Op::Cast(CastOp::Static) => self.cast(inst),
            Op::Cast(CastOp::Bitwise) => self.bit_cast(inst),
            Op::Atomic(op) => self.atomic(inst, op),
            Op::ThreadGroup(op) => self.thread_group(inst, op),
            Op::ResourceQuery(op) => self.resource_query(inst, op),
            Op::ResourceRead(op) => self.resource_read(inst, op),
            Op::ResourceWrite(op) => self.resource_write(inst, op),
            op => Err(self.refused(op)),
        }
    }

    fn bit_cast(&mut self, inst: InstId) -> Emit<()> {
        let arg = self.func.arg(inst, 0);
        let value = self.value(arg)?;
        let (from, to) = (self.func.value_type(arg), self.func.inst(inst).ty);
        let cast = self.reinterpret(from, to, value)?;
        self.define(inst, cast);
        Ok(())
    }

    /// Values of composites: taken apart and put together.
    pub fn movement(&mut self, inst: InstId, op: ArithmeticOp) -> Emit<()> {
        let args = self.func.args(inst).to_vec();
        let ty = self.func.inst(inst).ty;
        let value = match op {
            ArithmeticOp::Aggregate => {
                let mut parts = Vec::with_capacity(args.len());
                for &arg in &args {
                    parts.push(self.value(arg)?);
                }
                let handle = self.type_of(ty)?;
                match parts.is_empty() {
                    true => self.body.value(Expression::ZeroValue(handle)),
                    false => self.body.compose(handle, parts),
                }
            }
            ArithmeticOp::Shuffle => {
                let vector = self.value(args[0])?;
                let picks =
                    args[1..].iter().map(|&i| self.func.constant_bits(i).unwrap_or(0) as u32);
                let parts = picks.map(|i| self.body.access_index(vector, i)).collect();
                let handle = self.type_of(ty)?;
                self.body.compose(handle, parts)
            }
            ArithmeticOp::Extract => {
                let known = args[1..].iter().all(|&i| self.func.constant_bits(i).is_some());
                let (base, base_type) = (self.value(args[0])?, self.func.value_type(args[0]));
                match known {
                    true => self.part(base, base_type, &args[1..])?.0,
                    false => {
                        let place = self.temporary(base_type)?;
                        self.body.store(place, base);
                        let (pointer, _) = self.part(place, base_type, &args[1..])?;
                        self.body.load(pointer)
                    }
                }
            }
            _ => {
                let (whole, part) = (self.value(args[0])?, self.value(args[1])?);
                let place = self.temporary(ty)?;
                self.body.store(place, whole);
                let (pointer, _) = self.part(place, ty, &args[2..])?;
                self.body.store(pointer, part);
                self.body.load(place)
            }
        };
        self.define(inst, value);
        Ok(())
    }
}
