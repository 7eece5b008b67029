//! Instructions as expressions and statements.

use super::codes::NO_EXPRESSION;
use super::operations::call_op;
use super::values::{Raiser, Result};
use crate::from_ast::translation::Translation;
use crate::from_ast::{ADDRESS_OF, CPU_CUSTOM};
use crate::op::{BindlessAccess, CastOp, RayQueryWriteOp};
use crate::{ArgumentKind, FunctionId, Imm, InstId, Op, ValueId};
use luisac_ast::callops::CallOp;
use luisac_ast::model::{self, Callee, CurveBases, ExprId, ExprKind, Stmt};
use luisac_ast::types::TypeId;

impl Raiser<'_> {
    /// Writes an instruction that is no terminator.
    pub(super) fn instruction(&mut self, inst: InstId) -> Result<()> {
        self.begin_inst();
        if let Some(comment) = self.func.comment_of(inst) {
            let text = self.ast.add_text(comment);
            self.stmt(Stmt::Comment(text));
        }
        match self.func.op(inst) {
            Op::Alloca(_) | Op::Gep => Ok(()),
            Op::Phi => self.phi(inst),
            Op::Store => self.store(inst),
            Op::Print => self.print(inst),
            Op::Arithmetic(op) => {
                if let Some(expr) = self.arithmetic(inst, op)? {
                    self.define(inst, expr);
                }
                Ok(())
            }
            Op::Load => {
                let expr = self.lvalue(self.func.arg(inst, 0))?;
                self.define(inst, expr);
                Ok(())
            }
            Op::Cast(op) => {
                let source = self.value(self.func.arg(inst, 0))?;
                let op = match op {
                    CastOp::Static => model::CastOp::Static,
                    CastOp::Bitwise => model::CastOp::Bitwise,
                };
                let expr = self.expr(self.func.inst(inst).ty, ExprKind::Cast { op, source });
                self.define(inst, expr);
                Ok(())
            }
            _ => {
                let expr = self.call(inst)?;
                self.effect_or_value(inst, expr);
                Ok(())
            }
        }
    }

    /// A phi takes what its predecessor gave it.
    fn phi(&mut self, inst: InstId) -> Result<()> {
        let (Some(&variable), Some(result)) = (self.incoming.get(&inst), self.func.result(inst))
        else {
            return Err(self.no_expression(inst));
        };
        let given = self.reference(variable);
        self.keep(result, given);
        Ok(())
    }

    fn store(&mut self, inst: InstId) -> Result<()> {
        let value = self.value(self.func.arg(inst, 1))?;
        let lvalue = self.lvalue(self.func.arg(inst, 0))?;
        self.settle_reads();
        self.assign(lvalue, value);
        Ok(())
    }

    fn print(&mut self, inst: InstId) -> Result<()> {
        let mut values = Vec::new();
        for value in self.func.args(inst).to_vec() {
            values.push(self.value(value)?);
        }
        self.settle_reads();
        let arguments = self.ast.add_exprs(&values);
        let text = match &self.func.inst(inst).imm {
            Imm::Text(text) => text,
            _ => "",
        };
        let format = self.ast.add_text(text);
        self.stmt(Stmt::Print { format, arguments });
        Ok(())
    }

    /// A call as a value if it changes nothing, else as a statement in its place.
    fn effect_or_value(&mut self, inst: InstId, expr: ExprId) {
        let effects = self.func.effects(inst);
        if effects.removable() && self.func.result(inst).is_some() {
            return self.define(inst, expr);
        }
        self.settle_reads();
        match self.func.result(inst) {
            Some(value) => self.keep(value, expr),
            None => self.stmt(Stmt::Expr(expr)),
        }
    }

    fn call(&mut self, inst: InstId) -> Result<ExprId> {
        let data = self.func.inst(inst);
        let access = match data.imm {
            Imm::Access(access) => access,
            _ => BindlessAccess::default(),
        };
        let translation = match data.op {
            Op::ThreadGroup(op) => Translation::ThreadGroup(op),
            Op::ResourceQuery(op) => Translation::Query(op, access),
            Op::ResourceRead(op) => Translation::Read(op, access),
            Op::ResourceWrite(op) => Translation::Write(op, access),
            Op::RayQueryRead(op) => Translation::RayQueryRead(op),
            Op::RayQueryWrite(RayQueryWriteOp::Proceed) => {
                return self.plain_call(inst, CallOp::RayQueryProceed, TypeId::BOOL);
            }
            Op::RayQueryWrite(op) => Translation::RayQueryWrite(op),
            Op::Autodiff(op) => Translation::Autodiff(op),
            Op::Atomic(op) => {
                let call = call_op(Translation::Atomic(op));
                let call = call.ok_or_else(|| self.no_expression(inst))?;
                return self.atomic(inst, call);
            }
            Op::Call => return self.function_call(inst),
            Op::Clock => return Ok(self.builtin(CallOp::Clock, data.ty, &[])),
            Op::Assert => return self.checked(inst, CallOp::Assert),
            Op::Assume => return self.checked(inst, CallOp::Assume),
            _ => return Err(self.no_expression(inst)),
        };
        let call = call_op(translation).ok_or_else(|| self.no_expression(inst))?;
        self.plain_call(inst, call, self.func.inst(inst).ty)
    }

    /// A call with the operands of the instruction.
    fn plain_call(&mut self, inst: InstId, op: CallOp, ty: TypeId) -> Result<ExprId> {
        let mut operands = Vec::new();
        for value in self.func.args(inst).to_vec() {
            operands.push(self.operand(value)?);
        }
        let arguments = self.ast.add_exprs(&operands);
        let curve_bases = match self.func.inst(inst).imm {
            Imm::CurveBases(bases) => CurveBases(bases),
            _ => CurveBases::default(),
        };
        let callee = Callee::Builtin;
        Ok(self.expr(ty, ExprKind::Call { op, curve_bases, callee, arguments }))
    }

    /// A value, or what an lvalue or resource names.
    fn operand(&mut self, value: ValueId) -> Result<ExprId> {
        if self.func.is_lvalue(value) || self.func.is_resource(value) {
            self.lvalue(value)
        } else {
            self.value(value)
        }
    }

    /// The base is a variable, the indices of its lvalue come before the others.
    fn atomic(&mut self, inst: InstId, op: CallOp) -> Result<ExprId> {
        let args = self.func.args(inst).to_vec();
        let (base, mut rest) = self.lvalue_path(args[0]);
        rest.extend_from_slice(&args[1..]);
        let mut operands = vec![self.lvalue(base)?];
        for value in rest {
            operands.push(self.value(value)?);
        }
        Ok(self.builtin(op, self.func.inst(inst).ty, &operands))
    }

    /// `assert` or `assume` with its message.
    fn checked(&mut self, inst: InstId, op: CallOp) -> Result<ExprId> {
        let mut operands = vec![self.value(self.func.arg(inst, 0))?];
        operands.extend(self.message(inst));
        Ok(self.builtin(op, TypeId::VOID, &operands))
    }

    /// The message of an instruction as an argument.
    pub(super) fn message(&mut self, inst: InstId) -> Option<ExprId> {
        match &self.func.inst(inst).imm {
            Imm::Text(text) => {
                let text = self.ast.add_text(text);
                Some(self.expr(TypeId::U64, ExprKind::StringId(text)))
            }
            _ => None,
        }
    }

    fn function_call(&mut self, inst: InstId) -> Result<ExprId> {
        let Imm::Callee(id) = self.func.inst(inst).imm else {
            return Err(self.no_expression(inst));
        };
        let mut operands = Vec::new();
        for value in self.func.args(inst).to_vec() {
            operands.push(self.operand(value)?);
        }
        let ty = self.func.inst(inst).ty;
        let (op, callee) = self.callee(inst, id)?;
        let arguments = self.ast.add_exprs(&operands);
        let curve_bases = CurveBases::default();
        Ok(self.expr(ty, ExprKind::Call { op, curve_bases, callee, arguments }))
    }

    fn callee(&self, inst: InstId, id: FunctionId) -> Result<(CallOp, Callee)> {
        match self.callees[id] {
            Some(callee @ Callee::Function(_)) => Ok((CallOp::Custom, callee)),
            Some(callee @ Callee::External(_)) => match &*self.module.functions[id].name {
                ADDRESS_OF if self.takes_one_reference(id) => {
                    Ok((CallOp::AddressOf, Callee::Builtin))
                }
                CPU_CUSTOM => {
                    let text = "a callback into the process that recorded the kernel cannot be written again";
                    Err(self.error(NO_EXPRESSION, text))
                }
                _ => Ok((CallOp::External, callee)),
            },
            _ => Err(self.no_expression(inst)),
        }
    }

    fn takes_one_reference(&self, id: FunctionId) -> bool {
        let arguments = &self.module.functions[id].arguments;
        matches!(&arguments[..], [only] if only.kind == ArgumentKind::Reference)
    }
}
