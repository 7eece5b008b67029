//! Records written by plain instructions.
//!
//! The kernel gets two more arguments at the end: the log, a `buffer<uint>`, and its capacity in bytes, a `uint`. A record is
//! written where the kernel prints or fails, in words. A thread that failed returns; in a callable it sets a flag that the
//! caller looks at after the call, and returns from there too. Callables that log are copied, so that other kernels of the
//! module keep theirs.
//!
//! The counter is the low word of the log's `used`. It cannot wrap: a thread reads it first and adds only if it is not above
//! the capacity, which is below 2^31, and a record takes [`MAX_RECORD`] bytes at most. A fault that finds no room sets the top bit of
//! the high word.

use std::borrow::Cow;

use cranelift_entity::EntityRef;
use luisac_artifact::abi::{LOG_HEADER_BYTES, TRAP_LOCAL_ARRAY, assert_record, trap_record};
use luisac_artifact::metadata::Format;
use luisac_ast::diagnostic::Diagnostic;
use luisac_ast::types::{Scalar, TypeId, TypeTable};
use luisac_passes::TRAP_TEXT;
use luisac_xir::op::ArithmeticOp::*;
use luisac_xir::op::{AtomicOp, ResourceWriteOp, Space, SpecialRegister};
use luisac_xir::{
    ArgumentKind, Builder, Function, FunctionId, Imm, InstId, Module, Op, ValueId, forms,
};
use rustc_hash::FxHashMap;

use super::formats;
use crate::errors;

/// Most bytes of a record: a million threads that add at once stay below 2^32.
const MAX_RECORD: u32 = 4096;
/// The bit of the high word that says that a fault was lost.
const FAULT_LOST: u32 = 1 << 31;

/// A kernel whose records are plain writes.
pub(crate) struct Logged<'a> {
    /// The module with the kernel; the given one if the kernel does not log.
    pub module: Cow<'a, Module>,
    /// The kernel in it.
    pub kernel: FunctionId,
    /// What the records are; for the metadata.
    pub formats: Vec<Format>,
    /// Whether there are a log and its capacity behind the arguments of the kernel.
    pub has_log: bool,
}

/// Lowers the `print`s and `assert`s of a kernel and of what it calls.
///
/// # Errors
/// A record that is too large, and a failure where a thread cannot end: in the handlers of a ray query.
pub(crate) fn lower_log(module: &Module, kernel: FunctionId) -> Result<Logged<'_>, Diagnostic> {
    let reached = reached(module, kernel);
    let needs = needs(module, &reached);
    if !needs.get(&kernel).is_some_and(|n| n.log) {
        let module = Cow::Borrowed(module);
        return Ok(Logged { module, kernel, formats: Vec::new(), has_log: false });
    }
    let mut module = module.clone();
    let log_type = module.types.buffer(TypeId::U32).map_err(|e| {
        Diagnostic::error(errors::UNSUPPORTED_TYPE, e.to_string())
            .with_help("use fewer different types")
    })?;
    // The copies are known by all callers before the first is lowered.
    let mut copies: FxHashMap<FunctionId, FunctionId> = FxHashMap::default();
    for &id in reached.iter().filter(|id| needs[*id].log) {
        let copy = match id == kernel {
            true => id,
            false => module.functions.push(module.functions[id].clone()),
        };
        copies.insert(id, copy);
    }
    let mut formats = Vec::new();
    for &id in reached.iter().filter(|id| needs[*id].log) {
        let Module { types, functions } = &mut module;
        let func = &mut functions[copies[&id]];
        let log = func.add_argument(ArgumentKind::Resource, log_type, Some("log"), false);
        let capacity =
            func.add_argument(ArgumentKind::Value, TypeId::U32, Some("log_capacity"), false);
        let stopped = match (func.is_kernel(), needs[&id].stops) {
            (_, false) => None,
            (true, true) => flag(func),
            (false, true) => Some(func.add_argument(
                ArgumentKind::Reference,
                TypeId::BOOL,
                Some("stopped"),
                false,
            )),
        };
        let flat = forms::control_flow_of(func) == forms::Cfg::Flat;
        let mut lowering =
            Lowering { func, types, log, capacity, stopped, flat, formats: &mut formats };
        lowering.function(&needs, &copies)?;
    }
    refuse_broken(&module, &copies)?;
    Ok(Logged { module: Cow::Owned(module), kernel, formats, has_log: true })
}

/// The functions that a kernel runs, itself first, in the order of their first call.
fn reached(module: &Module, kernel: FunctionId) -> Vec<FunctionId> {
    let mut list = vec![kernel];
    let mut next = 0;
    while let Some(&id) = list.get(next) {
        next += 1;
        let func = &module.functions[id];
        for inst in func.blocks().flat_map(|b| func.insts(b)) {
            for callee in func.inst(inst).imm.functions() {
                if !list.contains(&callee) {
                    list.push(callee);
                }
            }
        }
    }
    list
}

/// What a function and those that it calls do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Needs {
    log: bool,
    stops: bool,
}

fn needs(module: &Module, reached: &[FunctionId]) -> FxHashMap<FunctionId, Needs> {
    let mut needs: FxHashMap<FunctionId, Needs> =
        reached.iter().map(|&id| (id, Needs::default())).collect();
    // Calls have no cycle, so this ends after as many rounds as they nest.
    loop {
        let mut changed = false;
        for &id in reached {
            let func = &module.functions[id];
            let mut own = needs[&id];
            for inst in func.blocks().flat_map(|b| func.insts(b)) {
                own.log |= matches!(func.op(inst), Op::Print | Op::Assert);
                own.stops |= func.op(inst) == Op::Assert;
                for callee in func.inst(inst).imm.functions() {
                    own.log |= needs[&callee].log;
                    own.stops |= needs[&callee].stops;
                }
            }
            changed |= needs.insert(id, own) != Some(own);
        }
        if !changed {
            return needs;
        }
    }
}

/// A variable of the kernel that says whether the thread has failed in a callable.
fn flag(func: &mut Function) -> Option<ValueId> {
    let entry = func.entry()?;
    let flag = func.create_inst(Op::Alloca(Space::Local), TypeId::BOOL, &[], &[], Imm::None);
    func.prepend_inst(entry, flag);
    func.result(flag)
}

/// A `return` that may not stand where it was put.
fn refuse_broken(
    module: &Module,
    copies: &FxHashMap<FunctionId, FunctionId>,
) -> Result<(), Diagnostic> {
    let mut ids: Vec<FunctionId> = copies.values().copied().collect();
    ids.sort_by_key(|id| id.index());
    for id in ids {
        let func = &module.functions[id];
        let has_queries = func
            .blocks()
            .filter_map(|b| func.terminator(b))
            .any(|t| matches!(func.op(t), Op::RayQueryLoop));
        if has_queries && luisac_xir::verify::verify(module).is_err() {
            let message = "a thread that fails in a handler of a ray query cannot end there";
            return Err(Diagnostic::error(errors::UNSUPPORTED_OPERATION, message)
                .in_function(func.name.clone())
                .with_help("test the condition behind the query"));
        }
    }
    Ok(())
}

struct Lowering<'a> {
    func: &'a mut Function,
    types: &'a TypeTable,
    log: ValueId,
    capacity: ValueId,
    stopped: Option<ValueId>,
    flat: bool,
    formats: &'a mut Vec<Format>,
}

/// A scalar of a record and its offset from the start of the record.
struct Part {
    offset: u32,
    value: ValueId,
}

impl Lowering<'_> {
    fn function(
        &mut self,
        needs: &FxHashMap<FunctionId, Needs>,
        copies: &FxHashMap<FunctionId, FunctionId>,
    ) -> Result<(), Diagnostic> {
        let insts: Vec<InstId> = self.func.blocks().flat_map(|b| self.func.insts(b)).collect();
        let mut done = None;
        for inst in insts {
            if done == Some(inst) {
                continue;
            }
            match self.func.op(inst) {
                Op::Print => match self.trap_at(inst) {
                    Some(failure) => {
                        done = Some(failure);
                        self.trap(inst, failure);
                    }
                    None => self.print(inst)?,
                },
                Op::Assert => self.assert(inst),
                Op::Call => self.call(inst, needs, copies),
                Op::RayQueryPipeline => {
                    let logs = |f: FunctionId| needs.get(&f).is_some_and(|n| n.log);
                    if self.func.inst(inst).imm.functions().any(logs) {
                        let message = "the handlers of a traversal cannot print or fail";
                        return Err(Diagnostic::error(errors::UNSUPPORTED_OPERATION, message)
                            .in_function(self.func.name.clone())
                            .with_help("print behind the query"));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    // ---- what is lowered

    /// The assertion that makes a `print` the report of an index out of range.
    fn trap_at(&self, print: InstId) -> Option<InstId> {
        let is_report =
            |inst| matches!(&self.func.inst(inst).imm, Imm::Text(text) if **text == *TRAP_TEXT);
        let next = self.func.next_inst(print)?;
        let fails = self.func.op(next) == Op::Assert
            && self.func.constant_bits(self.func.arg(next, 0)) == Some(0);
        (is_report(print) && is_report(next) && fails && self.func.args(print).len() == 3)
            .then_some(next)
    }

    fn trap(&mut self, print: InstId, failure: InstId) {
        let args = self.func.args(print).to_vec();
        let in_buffer = self.func.constant_bits(args[0]) != Some(TRAP_LOCAL_ARRAY.into());
        let id = formats::id(self.formats, formats::trap(in_buffer));
        let mut parts = self.dispatch_id(print, trap_record::DISPATCH_ID);
        let at = |offset, value| Part { offset: LOG_HEADER_BYTES + offset, value };
        parts.push(at(trap_record::ARGUMENT, args[0]));
        parts.push(at(trap_record::INDEX, args[1]));
        parts.push(at(trap_record::INDEX + 4, args[2]));
        self.record(print, id, trap_record::RECORD_SIZE, true, &parts);
        self.stop(failure);
        self.func.remove_inst(print);
        self.func.remove_inst(failure);
    }

    fn print(&mut self, inst: InstId) -> Result<(), Diagnostic> {
        let (format, layout) = formats::print(self.types, self.func, inst)?;
        let size = layout.record_size;
        if size > MAX_RECORD {
            let message = format!(
                "a line takes {size} bytes of the log, more than the limit of {MAX_RECORD}"
            );
            return Err(formats::too_large(message).in_function(self.func.name.clone()));
        }
        let id = formats::id(self.formats, format);
        let mut parts = Vec::new();
        for (value, offset) in self.func.args(inst).to_vec().into_iter().zip(layout.offsets) {
            self.scalars(inst, value, LOG_HEADER_BYTES + offset, &mut parts);
        }
        self.record(inst, id, size, false, &parts);
        self.func.remove_inst(inst);
        Ok(())
    }

    fn assert(&mut self, inst: InstId) {
        let format = formats::assert(self.func, inst);
        let id = formats::id(self.formats, format);
        let condition = self.func.arg(inst, 0);
        let fails = self.builder(inst).arithmetic(UnaryBitNot, &[condition]);
        let end = Builder::branch_around(self.func, self.types, inst, fails, self.flat);
        let parts = self.dispatch_id(end, assert_record::DISPATCH_ID);
        self.record(end, id, assert_record::RECORD_SIZE, true, &parts);
        self.end_thread(end);
        self.func.remove_inst(inst);
    }

    /// A call gets the log, and is looked after if the callee may end the thread.
    fn call(
        &mut self,
        inst: InstId,
        needs: &FxHashMap<FunctionId, Needs>,
        copies: &FxHashMap<FunctionId, FunctionId>,
    ) {
        let Imm::Callee(callee) = self.func.inst(inst).imm else { return };
        let (Some(&copy), Some(needs)) = (copies.get(&callee), needs.get(&callee)) else { return };
        self.func.set_imm(inst, Imm::Callee(copy));
        self.func.push_arg(inst, self.log);
        self.func.push_arg(inst, self.capacity);
        let (true, Some(stopped)) = (needs.stops, self.stopped) else { return };
        self.func.push_arg(inst, stopped);
        let Some(next) = self.func.next_inst(inst) else { return };
        let failed = self.builder(next).load(stopped);
        let end = Builder::branch_around(self.func, self.types, next, failed, self.flat);
        self.leave(end);
    }

    // ---- the end of a thread

    /// Ends the thread before an instruction, whatever comes after it.
    fn stop(&mut self, at: InstId) {
        let always = self.func.bool_constant(true);
        let end = Builder::branch_around(self.func, self.types, at, always, self.flat);
        self.end_thread(end);
    }

    /// Puts the end of the thread in the place of a branch.
    fn end_thread(&mut self, end: InstId) {
        if !self.func.is_kernel()
            && let Some(stopped) = self.stopped
        {
            let mut b = self.builder(end);
            let yes = b.func.bool_constant(true);
            b.store(stopped, yes);
        }
        self.leave(end);
    }

    /// Returns in the place of a branch; what the caller gets does not matter, since it looks at the flag.
    fn leave(&mut self, end: InstId) {
        let ty = self.func.return_type;
        let value = (ty != TypeId::VOID).then(|| self.func.zero(ty, self.types));
        self.builder(end).ret(value);
        self.func.remove_inst(end);
    }

    // ---- records

    fn builder(&mut self, at: InstId) -> Builder<'_> {
        Builder::before(self.func, self.types, at)
    }

    fn dispatch_id(&mut self, at: InstId, offset: u32) -> Vec<Part> {
        let id = self.func.special(SpecialRegister::DispatchId);
        let mut b = self.builder(at);
        (0..3)
            .map(|i| Part { offset: LOG_HEADER_BYTES + offset + 4 * i, value: b.extract(id, i) })
            .collect()
    }

    /// The scalars of a value, with offsets counted from `offset`.
    fn scalars(&mut self, at: InstId, value: ValueId, offset: u32, parts: &mut Vec<Part>) {
        let mut pending = vec![(value, offset)];
        while let Some((value, offset)) = pending.pop() {
            let ty = self.func.value_type(value);
            if self.types.is_scalar(ty) {
                parts.push(Part { offset, value });
                continue;
            }
            for i in (0..self.types.member_count(ty)).rev() {
                let part = self.builder(at).extract(value, i);
                // A record has been found small enough for its offsets.
                pending.push((part, offset + self.types.member_offset(ty, i) as u32));
            }
        }
    }

    /// Takes room in the log and, if there is room, writes a record before `at`; a fault that finds none is marked.
    fn record(&mut self, at: InstId, id: u32, size: u32, fault: bool, parts: &[Part]) {
        let words = self.words(at, id, size, parts);
        let (log, capacity) = (self.log, self.capacity);
        let Some(place) = self.room(at, size) else { return };
        let mut b = self.builder(at);
        let (bytes, zero) = (b.u32(size), b.u32(0));
        let room = b.arithmetic(BinaryLessEqual, &[bytes, capacity]);
        let last = b.arithmetic(BinarySub, &[capacity, bytes]);
        let before = b.arithmetic(BinaryLessEqual, &[place, last]);
        let fits = b.arithmetic(BinaryBitAnd, &[room, before]);
        if fault {
            let lost = b.arithmetic(UnaryBitNot, &[fits]);
            let end = Builder::branch_around(self.func, self.types, at, lost, self.flat);
            let mut b = self.builder(end);
            let (high, bit) = (b.u32(1), b.u32(FAULT_LOST));
            b.value(Op::Atomic(AtomicOp::FetchOr), TypeId::U32, &[log, high, bit]);
        }
        let end = Builder::branch_around(self.func, self.types, at, fits, self.flat);
        let mut b = self.builder(end);
        // The counter has two words before the data, and records are whole words.
        let (two, shift) = (b.u32(2), b.u32(2));
        let first = b.arithmetic(BinaryShiftRight, &[place, shift]);
        let first = b.arithmetic(BinaryAdd, &[first, two]);
        for (i, word) in words.into_iter().enumerate() {
            let (i, word) = (b.u32(i as u32), word.unwrap_or(zero));
            let index = b.arithmetic(BinaryAdd, &[first, i]);
            b.effect(Op::ResourceWrite(ResourceWriteOp::BufferWrite), &[log, index, word]);
        }
    }

    /// The old value of the counter, or one above every capacity if it is full already.
    fn room(&mut self, at: InstId, size: u32) -> Option<ValueId> {
        let entry = self.func.entry()?;
        let place =
            self.func.create_inst(Op::Alloca(Space::Local), TypeId::U32, &[], &[], Imm::None);
        self.func.prepend_inst(entry, place);
        let place = self.func.result(place)?;
        let (log, capacity) = (self.log, self.capacity);
        let add = |b: &mut Builder<'_>, op, operand: u32| {
            let (low, operand) = (b.u32(0), b.u32(operand));
            b.value(Op::Atomic(op), TypeId::U32, &[log, low, operand])
        };
        let mut b = self.builder(at);
        let full = b.u32(u32::MAX);
        b.store(place, full);
        let seen = add(&mut b, AtomicOp::FetchOr, 0);
        let open = b.arithmetic(BinaryLessEqual, &[seen, capacity]);
        let end = Builder::branch_around(self.func, self.types, at, open, self.flat);
        let mut b = self.builder(end);
        let old = add(&mut b, AtomicOp::FetchAdd, size);
        b.store(place, old);
        Some(self.builder(at).load(place))
    }

    /// The words of a record; none where there is only padding.
    fn words(&mut self, at: InstId, id: u32, size: u32, parts: &[Part]) -> Vec<Option<ValueId>> {
        let mut words = vec![None; size as usize / 4];
        words[0] = Some(self.func.u32_constant(size));
        words[1] = Some(self.func.u32_constant(id));
        for part in parts {
            let mut b = self.builder(at);
            for (i, piece) in pieces(&mut b, part.value).into_iter().enumerate() {
                let byte = part.offset as usize + 4 * i;
                let shifted = match byte % 4 {
                    0 => piece,
                    rest => {
                        let amount = b.u32(8 * rest as u32);
                        b.arithmetic(BinaryShiftLeft, &[piece, amount])
                    }
                };
                let Some(word) = words.get_mut(byte / 4) else { continue };
                *word = Some(match *word {
                    Some(other) => b.arithmetic(BinaryBitOr, &[other, shifted]),
                    None => shifted,
                });
            }
        }
        words
    }
}

/// The bits of a scalar as one word, or two.
fn pieces(b: &mut Builder<'_>, value: ValueId) -> Vec<ValueId> {
    let scalar = b.types.scalar_of(b.func.value_type(value)).unwrap_or(Scalar::U32);
    if scalar == Scalar::Bool {
        let (zero, one) = (b.u32(0), b.u32(1));
        return vec![b.arithmetic(Select, &[zero, one, value])];
    }
    let unsigned = match scalar.size() {
        1 => Scalar::U8,
        2 => Scalar::U16,
        8 => Scalar::U64,
        _ => Scalar::U32,
    };
    let bits = b.bit_cast(value, TypeId::scalar(unsigned));
    if unsigned != Scalar::U64 {
        return vec![b.static_cast(bits, TypeId::U32)];
    }
    let low = b.static_cast(bits, TypeId::U32);
    let width = b.func.scalar_constant(TypeId::U64, 32, b.types);
    let high = b.arithmetic(BinaryShiftRight, &[bits, width]);
    vec![low, b.static_cast(high, TypeId::U32)]
}
