//! A hash of what a module says: equal for equal text, whatever ids its things have.
//!
//! Blocks and instructions count in their order, values by the place of their definition, constants by their bytes. Names,
//! comments and source locations do not count. A pass that reports no change must leave the fingerprint as it was
//! (`--verify-each` looks).

use cranelift_entity::SecondaryMap;
use luisac_xir::{Function, Imm, Module, ValueDef, ValueId};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

/// The fingerprint of a module.
pub fn fingerprint(module: &Module) -> u64 {
    let mut hasher = FxHasher::default();
    for function in module.functions.values() {
        function_fingerprint(function).hash(&mut hasher);
    }
    hasher.finish()
}

/// The fingerprint of a function. Linear in the instructions that are placed.
pub fn function_fingerprint(function: &Function) -> u64 {
    let mut hasher = FxHasher::default();
    function.name.hash(&mut hasher);
    std::mem::discriminant(&function.kind).hash(&mut hasher);
    function.return_type.hash(&mut hasher);
    function.no_inline.hash(&mut hasher);
    for argument in &function.arguments {
        (argument.kind, argument.ty, argument.captured).hash(&mut hasher);
    }
    let mut block_numbers = SecondaryMap::with_capacity(function.block_count());
    let mut inst_numbers = SecondaryMap::with_capacity(function.inst_count());
    let mut count = 0u32;
    for (number, block) in function.blocks().enumerate() {
        block_numbers[block] = number as u32 + 1;
        for inst in function.insts(block) {
            count += 1;
            inst_numbers[inst] = count;
        }
    }
    let value = |value: ValueId, hasher: &mut FxHasher| match function.value_def(value) {
        ValueDef::Inst(inst) => (0u8, inst_numbers[inst]).hash(hasher),
        ValueDef::Argument(index) => (1u8, index).hash(hasher),
        ValueDef::Special(register) => (2u8, register).hash(hasher),
        ValueDef::Undefined => (3u8, function.value_type(value)).hash(hasher),
        ValueDef::Constant(_) => {
            (4u8, function.value_type(value)).hash(hasher);
            function.constant_bytes(value).map(|bytes| bytes.as_slice()).hash(hasher);
        }
    };
    for block in function.blocks() {
        block_numbers[block].hash(&mut hasher);
        for inst in function.insts(block) {
            let data = function.inst(inst);
            (data.op, data.ty).hash(&mut hasher);
            imm(&data.imm, &mut hasher);
            for &arg in function.args(inst) {
                value(arg, &mut hasher);
            }
            for &block in function.inst_blocks(inst) {
                block_numbers[block].hash(&mut hasher);
            }
        }
    }
    hasher.finish()
}

fn imm(imm: &Imm, hasher: &mut FxHasher) {
    match imm {
        Imm::None => 0u8.hash(hasher),
        Imm::Cases(cases) => cases.hash(hasher),
        Imm::Text(text) => text.hash(hasher),
        Imm::Callee(callee) => callee.hash(hasher),
        Imm::Handlers { surface, procedural } => (surface, procedural).hash(hasher),
        Imm::Access(access) => access.hash(hasher),
        Imm::CurveBases(bases) => bases.hash(hasher),
    }
}
