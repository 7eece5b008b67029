//! Functions that access images: the storage format is known at run time only, so that one function for each kind of access
//! switches over the formats.

use luisac_artifact::PixelStorage;
use luisac_ast::types::Scalar;

use super::ir::{Bb, Callee, FUNCTION, Ty, Val};
use super::module::ModuleEmit;

/// The helper function of this name, built on first use.
pub fn helper(
    cx: &ModuleEmit<'_, '_>,
    name: &str,
    ret: Ty,
    params: &[Ty],
    build: impl FnOnce(&ModuleEmit<'_, '_>, Val),
) -> Callee {
    if let Some(known) = cx.ir.function_named(name, ret, params) {
        return known;
    }
    let here = cx.ir.block();
    let callee = cx.ir.add_function(name, ret, params, true);
    cx.ir.add_attribute(callee.value, FUNCTION, "nounwind", 0);
    cx.device.mark(cx, callee.value);
    cx.ir.at_end(cx.ir.block_in(callee.value, "entry"));
    build(cx, callee.value);
    cx.ir.at_end(here);
    callee
}

/// Switches over the storages that hold `element`; a storage that does not leads to the block that is returned.
/// The storage's number is the function's second parameter.
pub fn by_storage(
    cx: &ModuleEmit<'_, '_>,
    function: Val,
    element: Scalar,
    mut case: impl FnMut(&ModuleEmit<'_, '_>, PixelStorage),
) -> Bb {
    let ir = &cx.ir;
    let other = ir.new_block("other");
    let entry = ir.block();
    let mut cases = Vec::new();
    for storage in PixelStorage::ALL {
        if !storage.is_storage() || !storage.holds(element.name()) {
            continue;
        }
        let block = ir.new_block(storage.name());
        cases.push((ir.const_u64(storage.number().into()), block));
        ir.at_end(block);
        case(cx, storage);
    }
    ir.at_end(entry);
    ir.switch(ir.param(function, 1), other, &cases);
    other
}
