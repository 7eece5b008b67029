//! Callables as the languages need them: once for each kind of resource and memory that they are called with.
//!
//! HLSL tells buffers that are only read from those that may be written by their type, and MSL tells memory of a thread from memory of a
//! block, so a callable may need several forms. What is passed by reference becomes a *place*: a variable and a path into it. Where two
//! references of one call may overlap, or HLSL cannot pass the variable (shared memory), the callable is made for the path itself: the
//! variable is passed once, or is global, and the indices of the path are passed as values. So names of the same memory stay that.

use luisac_ast::types::TypeId;
use luisac_xir::op::{ResourceQueryOp, ResourceWriteOp, SpecialRegister, ThreadGroupOp};
use luisac_xir::{Function, FunctionId, Imm, InstId, Module, Op, ValueDef, ValueId};
use rustc_hash::FxHashMap;

use crate::usage::reachable_callees_first;

/// What an argument is to a form of a callable.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Passed by value.
    Value,
    /// A reference to a variable of a thread.
    Local,
    /// A reference to a variable of the block.
    Shared,
    /// A path from a variable: of the block (its name), or the one passed for this argument.
    Path(Root, Vec<Hop>),
    /// A buffer, bindless array or the like, only read or perhaps written.
    Buffer { writable: bool },
    /// An image that is only read or sampled.
    Sampled,
    /// An image that is written.
    Storage { reads: bool, samples: bool },
}

/// Where a path starts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Root {
    /// A variable of the block, which is global.
    Global(String, TypeId),
    /// The variable that is passed for the argument of this position.
    Argument(u32, TypeId),
}

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Hop {
    /// A member or element that is known, as text.
    Known(String),
    /// An index that is passed.
    Index { array: bool },
}

/// A form of a callable.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Form {
    pub function: FunctionId,
    pub classes: Vec<Class>,
}

/// What a function needs of an argument, itself or through what it calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Need {
    pub reads: bool,
    pub writes: bool,
    pub samples: bool,
    /// The size of a buffer.
    pub size: bool,
}

/// What a function needs.
#[derive(Clone, Debug, Default)]
pub struct Needs {
    pub arguments: Vec<Need>,
    /// Special registers, by their place in the table.
    pub specials: u16,
}

impl Needs {
    /// Whether a special register is used.
    pub fn has(&self, register: SpecialRegister) -> bool {
        self.specials >> register as usize & 1 == 1
    }
}

/// The needs of all functions that a kernel reaches; time linear in their code. `checked`: slots of bindless arrays are compared with their
/// number.
pub fn needs(module: &Module, kernel: FunctionId, checked: bool) -> FxHashMap<FunctionId, Needs> {
    let mut known: FxHashMap<FunctionId, Needs> = FxHashMap::default();
    for id in reachable_callees_first(module, kernel) {
        let function = &module.functions[id];
        let mut needs = Needs {
            arguments: vec![Need::default(); function.arguments.len()],
            specials: u16::from(function.is_kernel()) << SpecialRegister::DispatchId as usize,
        };
        for block in function.blocks() {
            for inst in function.insts(block) {
                note(function, inst, &known, checked, &mut needs);
            }
        }
        known.insert(id, needs);
    }
    known
}

fn note(
    function: &Function,
    inst: InstId,
    known: &FxHashMap<FunctionId, Needs>,
    checked: bool,
    needs: &mut Needs,
) {
    let op = function.op(inst);
    let callee = match &function.inst(inst).imm {
        Imm::Callee(callee) if op == Op::Call => known.get(callee),
        _ => None,
    };
    needs.specials |= callee.map_or(0, |c| c.specials) | implied(op);
    for (position, &arg) in function.args(inst).iter().enumerate() {
        if let ValueDef::Special(register) = function.value_def(arg) {
            needs.specials |= 1 << register as usize;
        }
        let ValueDef::Argument(index) = function.value_def(function.base_of(arg)) else { continue };
        let inner = callee.and_then(|c| c.arguments.get(position)).copied();
        let need = inner.unwrap_or_else(|| direct(op, position, checked));
        let Some(entry) = needs.arguments.get_mut(index as usize) else { continue };
        entry.reads |= need.reads;
        entry.writes |= need.writes;
        entry.samples |= need.samples;
        entry.size |= need.size;
    }
}

/// Special registers that an operation takes by itself.
fn implied(op: Op) -> u16 {
    match op {
        Op::ThreadGroup(
            ThreadGroupOp::WarpFirstActiveLane
            | ThreadGroupOp::WarpReadLane
            | ThreadGroupOp::WarpPrefixCountBits
            | ThreadGroupOp::WarpPrefixSum
            | ThreadGroupOp::WarpPrefixProduct
            | ThreadGroupOp::WarpActiveBitMask,
        ) => 1 << SpecialRegister::WarpLaneId as usize,
        _ => 0,
    }
}

fn direct(op: Op, position: usize, checked: bool) -> Need {
    let reads = Need { reads: true, ..Need::default() };
    match op {
        _ if position > 0 => reads,
        op if checked && op.sub_name().is_some_and(|n| n.starts_with("bindless")) => {
            Need { size: true, ..reads }
        }
        // The first record of the kernel takes the place of the size.
        Op::ResourceWrite(ResourceWriteOp::IndirectDispatchSetKernel) => {
            Need { writes: true, size: true, ..Need::default() }
        }
        Op::ResourceWrite(_) | Op::Store => Need { writes: true, ..Need::default() },
        Op::Atomic(_) => Need { writes: true, ..reads },
        Op::ResourceQuery(q) if q.samples() => Need { samples: true, ..Need::default() },
        Op::ResourceQuery(ResourceQueryOp::BufferSize | ResourceQueryOp::ByteBufferSize) => {
            Need { size: true, ..Need::default() }
        }
        _ => reads,
    }
}

/// The argument that a resource value is.
pub fn argument_index(function: &Function, value: ValueId) -> Option<usize> {
    match function.value_def(value) {
        ValueDef::Argument(index) => Some(index as usize),
        _ => None,
    }
}
