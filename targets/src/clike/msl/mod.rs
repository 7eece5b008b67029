//! Metal's language: not made yet; everything that it would hold otherwise than HLSL is refused.

use luisac_ast::types::{TypeId, TypeTable};
use luisac_xir::op::{AtomicOp, ResourceQueryOp, ResourceReadOp, ResourceWriteOp, ThreadGroupOp};
use luisac_xir::{InstId, Op};

use super::Emit;
use super::expr::Expr;
use super::function::{FnEmit, Resource};
use super::instances::Class;
use super::module::ModuleEmit;
use super::resources::{Element, Sample};

pub const WORDS: &[&str] = &[];

pub fn buffer_type(_: &ModuleEmit<'_>, _: TypeId, _: bool) -> String {
    String::new()
}
pub fn image_type(_: &TypeTable, _: TypeId, _: bool, _: bool) -> String {
    String::new()
}
pub fn resources(_: &mut ModuleEmit<'_>) -> Vec<(Class, Resource)> {
    Vec::new()
}
pub fn head(f: &mut FnEmit<'_, '_>) -> Emit<String> {
    Err(f.refused(Op::Load))
}
pub fn load(f: &mut FnEmit<'_, '_>, _: &Element, _: TypeId, _: bool) -> Emit<Expr> {
    Err(f.refused(Op::Load))
}
pub fn store(f: &mut FnEmit<'_, '_>, _: &Element, _: TypeId, _: Expr, _: bool) -> Emit<()> {
    Err(f.refused(Op::Store))
}
pub fn address_load(f: &mut FnEmit<'_, '_>, _: &Expr, _: TypeId) -> Emit<Expr> {
    Err(f.refused(Op::Load))
}
pub fn address_store(f: &mut FnEmit<'_, '_>, _: &Expr, _: TypeId, _: Expr) -> Emit<()> {
    Err(f.refused(Op::Store))
}
pub fn image_read(f: &mut FnEmit<'_, '_>, _: &Resource, _: TypeId, _: Expr) -> Emit<Expr> {
    Err(f.refused(Op::Load))
}
pub fn image_write(f: &mut FnEmit<'_, '_>, _: &Resource, _: TypeId, _: Expr, _: Expr) -> Emit<()> {
    Err(f.refused(Op::Store))
}
pub fn image_size(f: &mut FnEmit<'_, '_>, _: &Resource, _: TypeId) -> Emit<Expr> {
    Err(f.refused(Op::Load))
}
pub fn sample(f: &mut FnEmit<'_, '_>, _: &str, _: TypeId, _: Sample) -> Emit<Expr> {
    Err(f.refused(Op::Load))
}
pub fn bindless_read(f: &mut FnEmit<'_, '_>, _: InstId, op: ResourceReadOp) -> Emit<()> {
    Err(f.refused(Op::ResourceRead(op)))
}
pub fn bindless_write(f: &mut FnEmit<'_, '_>, _: InstId, op: ResourceWriteOp) -> Emit<()> {
    Err(f.refused(Op::ResourceWrite(op)))
}
pub fn bindless_query(f: &mut FnEmit<'_, '_>, _: InstId, op: ResourceQueryOp) -> Emit<()> {
    Err(f.refused(Op::ResourceQuery(op)))
}
pub fn atomic(f: &mut FnEmit<'_, '_>, _: InstId, op: AtomicOp) -> Emit<()> {
    Err(f.refused(Op::Atomic(op)))
}
pub fn thread_group(f: &mut FnEmit<'_, '_>, _: InstId, op: ThreadGroupOp) -> Emit<()> {
    Err(f.refused(Op::ThreadGroup(op)))
}
