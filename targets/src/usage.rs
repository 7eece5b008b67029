//! What a function does with its resource arguments, itself or through what it calls.

use luisac_artifact::bindings::{ArgumentUse, Extras};
use luisac_artifact::metadata::Usage;
use luisac_xir::op::{ResourceQueryOp, ResourceReadOp, ResourceWriteOp};
use luisac_xir::{Function, FunctionId, Imm, InstId, Module, Op, ValueDef};
use rustc_hash::FxHashMap;

/// Reads and writes of one argument.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Access {
    reads: bool,
    writes: bool,
    /// An image is sampled.
    samples: bool,
}

impl Access {
    fn usage(self) -> Usage {
        match (self.reads, self.writes) {
            (false, false) => Usage::None,
            (true, false) => Usage::Read,
            (false, true) => Usage::Write,
            (true, true) => Usage::ReadWrite,
        }
    }
}

/// The usage of each argument of `kernel`; value arguments count as read. Time linear in the code that the kernel reaches.
pub fn argument_usage(module: &Module, kernel: FunctionId) -> Vec<Usage> {
    accesses(module, kernel).into_iter().map(Access::usage).collect()
}

/// The arguments of `kernel` as the scheme of bindings asks for them.
pub fn argument_uses(module: &Module, kernel: FunctionId) -> Vec<ArgumentUse> {
    let arguments = &module.functions[kernel].arguments;
    let accesses = accesses(module, kernel);
    let one = |(a, access): (&luisac_xir::Argument, Access)| ArgumentUse {
        kind: crate::metadata::argument_kind(&module.types, a.ty),
        usage: access.usage(),
        sampled: access.samples,
    };
    arguments.iter().zip(accesses).map(one).collect()
}

/// What `kernel` uses beside its arguments: samplers and the heaps of bindless arrays. Whether it has a log is the emitter's to say.
pub fn extras(module: &Module, kernel: FunctionId) -> Extras {
    let mut extras = Extras::default();
    for id in reachable_callees_first(module, kernel) {
        let function = &module.functions[id];
        for block in function.blocks() {
            for inst in function.insts(block) {
                note_extras(function, inst, &mut extras);
            }
        }
    }
    extras
}

fn note_extras(function: &Function, inst: InstId, extras: &mut Extras) {
    let buffers = |extras: &mut Extras, writes: bool| {
        let before = extras.bindless_buffers.is_some_and(Usage::writes);
        extras.bindless_buffers =
            Some(if writes || before { Usage::ReadWrite } else { Usage::Read });
    };
    match function.op(inst) {
        Op::ResourceQuery(q) => {
            if q.samples() {
                extras.samplers |= sampler_mask(function, inst, q);
            }
            match q {
                _ if !q.is_bindless() => {}
                // Sizes lie in the record of the slot.
                ResourceQueryOp::BindlessBufferSize | ResourceQueryOp::BindlessByteBufferSize => {}
                _ if q.name().contains("texture2d") => extras.bindless_images2d = true,
                _ if q.name().contains("texture3d") => extras.bindless_images3d = true,
                _ => {}
            }
        }
        Op::ResourceRead(
            ResourceReadOp::BindlessBufferRead | ResourceReadOp::BindlessByteBufferRead,
        ) => buffers(extras, false),
        Op::ResourceRead(
            ResourceReadOp::BindlessTexture2dRead | ResourceReadOp::BindlessTexture2dReadLevel,
        ) => extras.bindless_images2d = true,
        Op::ResourceRead(
            ResourceReadOp::BindlessTexture3dRead | ResourceReadOp::BindlessTexture3dReadLevel,
        ) => extras.bindless_images3d = true,
        Op::ResourceWrite(
            ResourceWriteOp::BindlessBufferWrite | ResourceWriteOp::BindlessByteBufferWrite,
        ) => buffers(extras, true),
        _ => {}
    }
}

/// The samplers that a sample may use: one if filter and address are constant, all if they are computed or lie in a slot.
fn sampler_mask(function: &Function, inst: InstId, query: ResourceQueryOp) -> u16 {
    let in_slot = query.is_bindless() && !query.name().ends_with("_sampler");
    let mut codes = function.args(inst).iter().rev().take(2).map(|&v| constant_u32(function, v));
    let (address, filter) = (codes.next().flatten(), codes.next().flatten());
    match (filter, address) {
        (Some(filter @ 0..4), Some(address @ 0..4)) if !in_slot => 1 << (filter * 4 + address),
        _ => u16::MAX,
    }
}

fn constant_u32(function: &Function, value: luisac_xir::ValueId) -> Option<u32> {
    u32::try_from(function.constant_bits(value)?).ok()
}

/// Whether an operation needs an image as a sampler sees it, with all levels.
fn takes_for_texture(op: Op) -> bool {
    match op {
        Op::ResourceQuery(q) => q.samples() || q.asks_of_levels_or_sampler(),
        Op::ResourceRead(r) => {
            matches!(r, ResourceReadOp::Texture2dReadLevel | ResourceReadOp::Texture3dReadLevel)
        }
        _ => false,
    }
}

fn accesses(module: &Module, kernel: FunctionId) -> Vec<Access> {
    let mut known: FxHashMap<FunctionId, Vec<Access>> = FxHashMap::default();
    for id in reachable_callees_first(module, kernel) {
        let accesses = scan(module, id, &known);
        known.insert(id, accesses);
    }
    known.remove(&kernel).unwrap_or_default()
}

/// The functions that `root` reaches through calls, itself last; each after all that it calls.
pub(crate) fn reachable_callees_first(module: &Module, root: FunctionId) -> Vec<FunctionId> {
    let mut order = Vec::new();
    let mut seen: FxHashMap<FunctionId, ()> = FxHashMap::default();
    let mut stack = vec![(root, callees(module, root), 0usize)];
    seen.insert(root, ());
    while let Some((id, list, next)) = stack.last_mut() {
        match list.get(*next).copied() {
            Some(callee) => {
                *next += 1;
                if seen.insert(callee, ()).is_none() {
                    let inner = callees(module, callee);
                    stack.push((callee, inner, 0));
                }
            }
            None => {
                order.push(*id);
                stack.pop();
            }
        }
    }
    order
}

/// The functions that a function calls, in order of first call.
fn callees(module: &Module, id: FunctionId) -> Vec<FunctionId> {
    let function = &module.functions[id];
    let mut list = Vec::new();
    let mut seen: FxHashMap<FunctionId, ()> = FxHashMap::default();
    for block in function.blocks() {
        for inst in function.insts(block) {
            let named = function.inst(inst).imm.functions();
            list.extend(named.filter(|&callee| seen.insert(callee, ()).is_none()));
        }
    }
    list
}

fn scan(
    module: &Module,
    id: FunctionId,
    known: &FxHashMap<FunctionId, Vec<Access>>,
) -> Vec<Access> {
    let function = &module.functions[id];
    let mut result = vec![Access::default(); function.arguments.len()];
    for block in function.blocks() {
        for inst in function.insts(block) {
            for (position, &arg) in function.args(inst).iter().enumerate() {
                let base = function.base_of(arg);
                let ValueDef::Argument(index) = function.value_def(base) else { continue };
                let Some(entry) = result.get_mut(index as usize) else { continue };
                let data = function.inst(inst);
                match data.op {
                    Op::ResourceWrite(_) | Op::Store if position == 0 => entry.writes = true,
                    Op::Atomic(_) if position == 0 => {
                        entry.reads = true;
                        entry.writes = true;
                    }
                    Op::Call => {
                        let callee = match data.imm {
                            Imm::Callee(callee) => known.get(&callee),
                            _ => None,
                        };
                        // A callee without a body may do anything.
                        let inner = callee.and_then(|c| c.get(position)).copied();
                        let inner =
                            inner.unwrap_or(Access { reads: true, writes: true, samples: true });
                        entry.reads |= inner.reads;
                        entry.writes |= inner.writes;
                        entry.samples |= inner.samples;
                    }
                    op => {
                        entry.reads = true;
                        entry.samples |= takes_for_texture(op);
                    }
                }
            }
        }
    }
    result
}
