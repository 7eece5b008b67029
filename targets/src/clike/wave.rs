//! Barriers and operations of waves: what is the same in both languages.

use luisac_ast::types::TypeId;
use luisac_xir::op::ThreadGroupOp as G;
use luisac_xir::{InstId, Op};

use super::Emit;
use super::expr::Expr;
use super::function::FnEmit;

/// Writes an operation of a wave on operands of a type; nothing if the language lacks it.
pub type Wave = fn(&mut FnEmit<'_, '_>, G, TypeId, &[Expr]) -> Option<Expr>;

/// A barrier or an operation of a wave, by the language's statement and function. What waves compute is never moved: it gets its name
/// where it stands.
pub fn thread_group(
    f: &mut FnEmit<'_, '_>,
    inst: InstId,
    op: G,
    (barrier, wave): (&str, Wave),
) -> Emit<()> {
    match op {
        G::ShaderExecutionReorder => return Ok(()),
        G::SynchronizeBlock => {
            f.settle()?;
            f.lines.push(barrier);
            return Ok(());
        }
        _ => {}
    }
    if f.func.result(inst).is_none_or(|r| !f.func.has_uses(r)) {
        return Ok(());
    }
    f.cx.uses.wave = true;
    let args = f.func.args(inst).to_vec();
    let ty = args.first().map_or(TypeId::U32, |&a| f.func.value_type(a));
    let mut operands = Vec::new();
    for &arg in &args {
        let text = f.value(arg)?;
        operands.push(f.named(f.func.value_type(arg), text)?);
    }
    match wave(f, op, ty, &operands) {
        Some(result) => f.define_at_once(inst, &result),
        None => Err(f.refused(Op::ThreadGroup(op))),
    }
}
