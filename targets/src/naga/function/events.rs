//! Control flow: the events of a plan as nested blocks.

use luisac_ast::types::TypeId;
use luisac_xir::InstId;
use naga::{BinaryOperator as B, Block, Statement, SwitchCase, SwitchValue, UnaryOperator as U};

use super::{Emit, Event, FnEmit, Labels, Open, Val};

impl FnEmit<'_> {
    pub(super) fn condition(&mut self, inst: InstId) -> Emit<Val> {
        self.value(self.func.arg(inst, 0))
    }

    pub(super) fn flag(&mut self, flag: u32) -> Emit<Val> {
        if let Some(&known) = self.flags.get(&flag) {
            return Ok(known);
        }
        let ty = self.type_of(TypeId::BOOL)?;
        let variable = self.body.local("first".to_string(), ty, None);
        self.flags.insert(flag, variable);
        Ok(variable)
    }

    pub(super) fn event(&mut self, event: &Event, open: &mut Vec<Open>) -> Emit<()> {
        match event {
            Event::Block(_) => {}
            Event::If(inst) => {
                let condition = self.condition(*inst)?;
                open.push(Open::If { condition, accept: None });
                self.body.open();
            }
            Event::Else => {
                let block = self.body.close();
                self.body.open();
                if let Some(Open::If { accept, .. }) = open.last_mut() {
                    *accept = Some(block);
                }
            }
            Event::Switch(inst) => {
                let (selector, labels) = self.selector(*inst)?;
                open.push(Open::Switch { selector, labels, cases: Vec::new() });
            }
            Event::Case(labels, is_default) => {
                open.push(Open::Case(labels.clone(), *is_default));
                self.body.open();
            }
            Event::Loop => {
                open.push(Open::Loop);
                self.body.open();
            }
            Event::Test(inst) => {
                let condition = self.condition(*inst)?;
                let reject = Block::from_vec(vec![Statement::Break]);
                self.body.statement(Statement::If { condition, accept: Block::new(), reject });
            }
            Event::FirstRound(flag) => self.set_flag(*flag, true)?,
            Event::NotFirst(flag) => {
                let variable = self.flag(*flag)?;
                let first = self.body.load(variable);
                let condition = self.body.unary(U::LogicalNot, first);
                open.push(Open::NotFirst(condition));
                self.body.open();
            }
            Event::EndIf | Event::EndCase(_) | Event::EndSwitch | Event::EndLoop => {
                self.close(open)?;
            }
            Event::EndNotFirst(flag) => {
                self.close(open)?;
                self.set_flag(*flag, false)?;
            }
            Event::Break => self.body.statement(Statement::Break),
            Event::Continue => self.body.statement(Statement::Continue),
            Event::Return(_) | Event::Unreachable => {
                self.body.statement(Statement::Return { value: None });
            }
        }
        Ok(())
    }

    pub(super) fn set_flag(&mut self, flag: u32, value: bool) -> Emit<()> {
        let variable = self.flag(flag)?;
        let value = self.body.bool(value);
        self.body.store(variable, value);
        Ok(())
    }

    /// Ends the innermost construct.
    pub(super) fn close(&mut self, open: &mut Vec<Open>) -> Emit<()> {
        match open.pop() {
            Some(Open::If { condition, accept }) => {
                let last = self.body.close();
                let (accept, reject) = match accept {
                    Some(accept) => (accept, last),
                    None => (last, Block::new()),
                };
                self.body.statement(Statement::If { condition, accept, reject });
            }
            Some(Open::NotFirst(condition)) => {
                let accept = self.body.close();
                self.body.statement(Statement::If { condition, accept, reject: Block::new() });
            }
            Some(Open::Loop) => {
                let body = self.body.close();
                let continuing = Block::new();
                self.body.statement(Statement::Loop { body, continuing, break_if: None });
            }
            Some(Open::Case(labels, is_default)) => {
                let body = self.body.close();
                let Some(Open::Switch { labels: form, cases, .. }) = open.last_mut() else {
                    return Err(self.internal("a case outside of a switch"));
                };
                push_cases(cases, form, &labels, is_default, body);
            }
            Some(Open::Switch { selector, cases, .. }) => {
                self.body.statement(Statement::Switch { selector, cases });
            }
            None => return Err(self.internal("the end of a construct that was not begun")),
        }
        Ok(())
    }

    /// The selector of a switch: of 32 bits, or the number of the label that it equals.
    pub(super) fn selector(&mut self, inst: InstId) -> Emit<(Val, Labels)> {
        let arg = self.func.arg(inst, 0);
        let (scalar, value) = (self.scalar_type(arg), self.value(arg)?);
        if scalar.bits() < 64 {
            let labels = match scalar.is_signed() {
                true => Labels::Signed(scalar),
                false => Labels::Unsigned,
            };
            return Ok((value, labels));
        }
        let cases = match &self.func.inst(inst).imm {
            luisac_xir::Imm::Cases(cases) => cases.to_vec(),
            _ => Vec::new(),
        };
        let mut number = self.body.u32(0);
        for (i, &case) in cases.iter().enumerate() {
            let label = self.literal(scalar, case)?;
            let is_this = self.body.binary(B::Equal, value, label);
            let this = self.body.u32(i as u32 + 1);
            number = self.body.select(is_this, this, number);
        }
        Ok((number, Labels::Numbered(cases)))
    }
}

/// A case for each label: all but the last fall through.
fn push_cases(
    cases: &mut Vec<SwitchCase>,
    form: &Labels,
    labels: &[u64],
    is_default: bool,
    body: Block,
) {
    let mut values: Vec<SwitchValue> = labels
        .iter()
        .map(|&label| match form {
            Labels::Signed(scalar) => {
                SwitchValue::I32(luisac_xir::eval::sign_extend(label, *scalar) as i32)
            }
            Labels::Unsigned => SwitchValue::U32(label as u32),
            Labels::Numbered(all) => {
                SwitchValue::U32(all.iter().position(|&l| l == label).map_or(0, |i| i as u32 + 1))
            }
        })
        .collect();
    values.extend(is_default.then_some(SwitchValue::Default));
    let Some(last) = values.pop() else { return };
    for value in values {
        cases.push(SwitchCase { value, body: Block::new(), fall_through: true });
    }
    cases.push(SwitchCase { value: last, body, fall_through: false });
}
