//! Events of control flow as text.

use luisac_ast::types::Scalar;
use luisac_xir::InstId;

use super::Emit;
use super::expr::{Expr, Prec};
use super::function::{FnEmit, internal};
use super::language::Language;
use super::literal;
use super::plan::{Event, Plan};

/// An `if` that is open.
struct Branch {
    /// The line of its head, and the condition.
    line: usize,
    condition: Expr,
    /// Its `else` was joined with it: it closes with the outer one.
    joined: bool,
    /// The line of its `else`, if that was written.
    otherwise: Option<usize>,
}

/// What is open.
#[derive(Default)]
pub struct Control {
    branches: Vec<Branch>,
    /// The lines of the heads of loops whose test may move there.
    loops: Vec<usize>,
    /// Of each open switch: the type of its selector, and the one that it is written in.
    selectors: Vec<(Scalar, Scalar)>,
}

impl Control {
    /// Writes an event.
    pub fn event(&mut self, f: &mut FnEmit<'_, '_>, plan: &Plan, at: usize) -> Emit<()> {
        match &plan.events[at] {
            Event::Block(_) => {}
            Event::If(inst) => self.open_if(f, *inst, plan.behind(at))?,
            Event::Else => self.otherwise(f, plan.events.get(at + 1)),
            Event::EndIf => self.end_if(f)?,
            Event::Switch(inst) => self.switch(f, *inst)?,
            Event::Case(labels, is_default) => self.case(f, labels, *is_default),
            Event::EndCase(falls) => {
                if *falls {
                    f.lines.push("break;");
                }
                f.lines.close("}");
            }
            Event::EndSwitch => {
                self.selectors.pop();
                f.lines.close("}");
            }
            Event::Loop => self.loops.push(f.lines.open("while (true) {")),
            Event::Test(inst) => self.test(f, *inst)?,
            Event::EndLoop => {
                self.loops.pop();
                f.lines.close("}");
            }
            Event::FirstRound(flag) => {
                let name = f.flag(*flag);
                f.lines.push(format!("bool {name} = true;"));
            }
            Event::NotFirst(flag) => {
                let name = f.flag(*flag);
                f.lines.open(format!("if (!{name}) {{"));
            }
            Event::EndNotFirst(flag) => {
                let name = f.flag(*flag);
                f.lines.close("}");
                f.lines.push(format!("{name} = false;"));
            }
            Event::Break => drop(f.lines.push("break;")),
            Event::Continue => drop(f.lines.push("continue;")),
            Event::Return(inst) => leave(f, *inst)?,
            Event::Unreachable => unreachable(f),
        }
        Ok(())
    }

    /// An `if` that is all of an `else` becomes an `else if`.
    fn open_if(&mut self, f: &mut FnEmit<'_, '_>, inst: InstId, behind: &[Event]) -> Emit<()> {
        let condition = f.operand(inst)?;
        let head = format!("if ({}) {{", condition.text);
        let outer = self.branches.last().and_then(|b| b.otherwise).filter(|&l| f.lines.is_last(l));
        let joined = outer.is_some() && ends_else(f, behind);
        let line = match outer.filter(|_| joined) {
            Some(line) => {
                f.lines.set(line, format!("}} else {head}"));
                line
            }
            None => f.lines.open(head),
        };
        self.branches.push(Branch { line, condition, joined, otherwise: None });
        Ok(())
    }

    fn otherwise(&mut self, f: &mut FnEmit<'_, '_>, next: Option<&Event>) {
        let Some(branch) = self.branches.last_mut() else { return };
        // No `else` at all if it would be empty.
        if matches!(next, Some(Event::EndIf)) {
            return;
        }
        if f.lines.is_last(branch.line) && !branch.joined {
            let not = branch.condition.not();
            f.lines.set(branch.line, format!("if ({}) {{", not.text));
            return;
        }
        branch.otherwise = Some(f.lines.reopen("} else {"));
    }

    fn end_if(&mut self, f: &mut FnEmit<'_, '_>) -> Emit<()> {
        let branch =
            self.branches.pop().ok_or_else(|| internal("an `if` ends that was not begun"))?;
        if branch.otherwise.is_some_and(|l| f.lines.is_last(l)) {
            f.lines.unopen();
            f.lines.deepen();
        }
        if !branch.joined {
            f.lines.close("}");
        }
        Ok(())
    }

    fn switch(&mut self, f: &mut FnEmit<'_, '_>, inst: InstId) -> Emit<()> {
        let value = f.func.arg(inst, 0);
        let scalar = f.cx.types.scalar_of(f.func.value_type(value)).unwrap_or(Scalar::U32);
        let mut text = f.operand(inst)?;
        let selector = match scalar {
            Scalar::I64 | Scalar::U64 | Scalar::I32 | Scalar::U32 => scalar,
            s if s.is_signed() => Scalar::I32,
            _ => Scalar::U32,
        };
        if selector != scalar && !f.cx.language.is_widened(scalar) {
            text = Expr::call(f.cx.language.scalar(selector), &[text]);
        }
        self.selectors.push((scalar, selector));
        f.lines.open(format!("switch ({}) {{", text.text));
        Ok(())
    }

    fn case(&mut self, f: &mut FnEmit<'_, '_>, labels: &[u64], is_default: bool) {
        let (scalar, selector) =
            self.selectors.last().copied().unwrap_or((Scalar::U32, Scalar::U32));
        let mut head = String::new();
        for &label in labels {
            let value = literal::scalar(f.cx.language, selector, extended(scalar, label));
            head.push_str(&format!("case {}: ", value.text));
        }
        if is_default {
            head.push_str("default: ");
        }
        head.push('{');
        f.lines.open(head);
    }

    /// The test of a loop: in its head if nothing stands before it.
    fn test(&mut self, f: &mut FnEmit<'_, '_>, inst: InstId) -> Emit<()> {
        let condition = f.operand(inst)?;
        match self.loops.last() {
            Some(&line) if f.lines.is_last(line) => {
                f.lines.set(line, format!("while ({}) {{", condition.text));
            }
            _ => {
                f.lines.open(format!("if ({}) {{", condition.not().text));
                f.lines.push("break;");
                f.lines.close("}");
            }
        }
        Ok(())
    }
}

/// The bits of a label, extended as its type says.
fn extended(scalar: Scalar, label: u64) -> u64 {
    let unused = 64 - scalar.size() * 8;
    if scalar.is_signed() { ((label << unused) as i64 >> unused) as u64 } else { label }
}

/// Whether the `else` that an `if` stands in holds nothing behind it.
fn ends_else(f: &FnEmit<'_, '_>, behind: &[Event]) -> bool {
    for event in behind {
        match event {
            // The merge of the inner `if` holds nothing but its end.
            Event::Block(block) => {
                let first = f.func.first_inst(*block);
                if !first.is_some_and(|i| f.func.op(i).is_terminator()) {
                    return false;
                }
            }
            Event::EndIf => return true,
            _ => return false,
        }
    }
    false
}

fn leave(f: &mut FnEmit<'_, '_>, inst: InstId) -> Emit<()> {
    let Some(&value) = f.func.args(inst).first() else {
        f.lines.push("return;");
        return Ok(());
    };
    let text = f.value(value)?;
    f.lines.push(format!("return {};", text.text));
    Ok(())
}

/// What is never reached: a function with a result still needs one.
fn unreachable(f: &mut FnEmit<'_, '_>) {
    let ty = f.func.return_type;
    if ty != luisac_ast::types::TypeId::VOID {
        let zero = f.cx.zero(ty);
        f.lines.push(format!("return {};", zero.text));
    }
}

/// `c ? a : b` of scalars and vectors; other types have no such expression in HLSL.
pub fn may_choose(f: &FnEmit<'_, '_>, ty: luisac_ast::types::TypeId) -> bool {
    f.cx.language == Language::Msl || f.cx.types.is_scalar_or_vector(ty)
}

/// A choice.
pub fn choice(condition: &Expr, yes: &Expr, no: &Expr) -> Expr {
    let mut made = Expr::conditional(condition, yes, no);
    made.prec = Prec::Conditional;
    made
}
