//! Values, variables and lvalues as expressions, and when a value is a part of the expression that uses it.

use super::codes::{NO_EXPRESSION, NOT_STRUCTURED};
use super::control::{Place, Work};
use super::memory_tag;
use crate::cfg::ControlFlowGraph;
use crate::op::{ArithmeticOp, SpecialRegister};
use crate::{BlockId, Function, FunctionId, FunctionKind, InstId, Module, Op, ValueDef, ValueId};
use cranelift_entity::SecondaryMap;
use luisac_ast::callops::CallOp;
use luisac_ast::diagnostic::{Code, Diagnostic, Diagnostics};
use luisac_ast::model::{
    self, Callee, Constant, ConstantId, CurveBases, Expr, ExprId, ExprKind, Library, Stmt, StmtId,
    Swizzle, Usage, Variable, VariableId, VariableTag,
};
use luisac_ast::types::{Scalar, TypeId, TypeKind, TypeTable};
use rustc_hash::FxHashMap;

pub(super) type Result<T> = std::result::Result<T, Diagnostics>;

/// Expressions that are nested deeper are taken apart by variables.
const MAX_DEPTH: u32 = 24;

/// An expression that waits for its only use.
#[derive(Clone, Copy)]
struct Waiting {
    expr: ExprId,
    depth: u32,
    /// Whether it reads memory that may be written before the use.
    reads: bool,
}

/// Writes one function.
pub(super) struct Raiser<'a> {
    pub(super) types: &'a TypeTable,
    pub(super) module: &'a Module,
    pub(super) func: &'a Function,
    pub(super) cfg: ControlFlowGraph,
    pub(super) ast: model::Function,
    pub(super) callees: &'a SecondaryMap<FunctionId, Option<Callee>>,
    library: &'a mut Library,
    constants: FxHashMap<ValueId, ConstantId>,
    /// The variable of an argument, alloca, register or value.
    variables: SecondaryMap<ValueId, Option<VariableId>>,
    waiting: FxHashMap<ValueId, Waiting>,
    /// Those of them that read, in order.
    waiting_reads: Vec<ValueId>,
    /// What the expressions that were used since the last instruction add up to.
    used: Waiting,
    /// The variables by which phis get their values, and what each block gives them.
    pub(super) incoming: FxHashMap<InstId, VariableId>,
    pub(super) copies: SecondaryMap<BlockId, Vec<(InstId, ValueId)>>,
    /// Statements of the scopes that are being written.
    pub(super) lists: Vec<Vec<StmtId>>,
    /// Scopes that wait for their statement.
    pub(super) done: Vec<StmtId>,
    pub(super) places: Vec<Place>,
    pub(super) work: Vec<Work>,
    pub(super) written: SecondaryMap<BlockId, bool>,
}

impl<'a> Raiser<'a> {
    pub(super) fn new(
        module: &'a Module,
        func: &'a Function,
        ast: model::Function,
        callees: &'a SecondaryMap<FunctionId, Option<Callee>>,
        library: &'a mut Library,
    ) -> Raiser<'a> {
        let mut variables: SecondaryMap<ValueId, Option<VariableId>> = SecondaryMap::new();
        for (argument, &variable) in func.arguments.iter().zip(&ast.arguments) {
            variables[argument.value] = Some(variable);
        }
        Raiser {
            types: &module.types,
            module,
            func,
            cfg: ControlFlowGraph::compute(func),
            ast,
            callees,
            library,
            constants: FxHashMap::default(),
            variables,
            waiting: FxHashMap::default(),
            waiting_reads: Vec::new(),
            used: Waiting { expr: ExprId::from_u32(0), depth: 0, reads: false },
            incoming: FxHashMap::default(),
            copies: SecondaryMap::new(),
            lists: Vec::new(),
            done: Vec::new(),
            places: Vec::new(),
            work: Vec::new(),
            written: SecondaryMap::new(),
        }
    }

    pub(super) fn run(mut self) -> Result<model::Function> {
        let func = self.func;
        for inst in func.blocks().flat_map(|b| func.insts(b)) {
            if let (Op::Alloca(space), Some(memory)) = (func.op(inst), func.result(inst)) {
                let name = func.name_of(memory).map(Into::into);
                let variable = self.new_variable(memory_tag(space), func.inst(inst).ty, name);
                self.variables[memory] = Some(variable);
            }
        }
        self.walk()?;
        Ok(self.ast)
    }

    pub(super) fn error(&self, code: Code, text: impl Into<String>) -> Diagnostics {
        Diagnostic::error(code, text).in_function(self.func.name.clone()).into()
    }

    pub(super) fn no_expression(&self, inst: InstId) -> Diagnostics {
        let op = self.func.op(inst);
        let name = op.sub_name().unwrap_or(op.mnemonic());
        self.error(NO_EXPRESSION, format!("`{name}` has no form in an AST"))
    }

    pub(super) fn not_structured(&self, block: BlockId) -> Diagnostics {
        let text = format!("{block} is not where an AST could hold it");
        self.error(NOT_STRUCTURED, text)
    }

    // ---- nodes

    pub(super) fn expr(&mut self, ty: TypeId, kind: ExprKind) -> ExprId {
        self.ast.exprs.push(Expr { ty, kind })
    }

    pub(super) fn stmt(&mut self, stmt: Stmt) {
        let id = self.ast.stmts.push(stmt);
        if let Some(list) = self.lists.last_mut() {
            list.push(id);
        }
    }

    pub(super) fn assign(&mut self, lhs: ExprId, rhs: ExprId) {
        self.stmt(Stmt::Assign { lhs, rhs });
    }

    pub(super) fn new_variable(
        &mut self,
        tag: VariableTag,
        ty: TypeId,
        name: Option<Box<str>>,
    ) -> VariableId {
        self.ast.variables.push(Variable { tag, ty, usage: Usage::NONE, name })
    }

    pub(super) fn reference(&mut self, variable: VariableId) -> ExprId {
        let ty = self.ast.variables[variable].ty;
        self.expr(ty, ExprKind::Ref(variable))
    }

    pub(super) fn literal(&mut self, scalar: Scalar, bits: u64) -> ExprId {
        let bytes = &bits.to_le_bytes()[..scalar.size() as usize];
        self.ast.add_literal(TypeId::scalar(scalar), bytes)
    }

    // ---- values

    /// The expression of a value; used once if it waits.
    pub(super) fn value(&mut self, value: ValueId) -> Result<ExprId> {
        let ty = self.func.value_type(value);
        match self.func.value_def(value) {
            ValueDef::Constant(_) => Ok(self.constant(value, ty)),
            ValueDef::Undefined => Ok(self.zero(ty)),
            ValueDef::Special(register) => self.register(value, register),
            ValueDef::Argument(_) => self.variable_of(value),
            ValueDef::Inst(_) => match self.waiting.remove(&value) {
                Some(waiting) => {
                    self.used.depth = self.used.depth.max(waiting.depth);
                    self.used.reads |= waiting.reads;
                    Ok(waiting.expr)
                }
                // An update that is written before the test of its loop uses what the test defined in the round before.
                None => Ok(self.variable_for(value)),
            },
        }
    }

    fn variable_of(&mut self, value: ValueId) -> Result<ExprId> {
        match self.variables[value] {
            Some(variable) => Ok(self.reference(variable)),
            None => Err(self.error(NOT_STRUCTURED, format!("{value} is used before it is there"))),
        }
    }

    /// A value that is used several times in one expression: a variable if it was waiting.
    pub(super) fn settle(&mut self, value: ValueId) {
        if let Some(waiting) = self.waiting.remove(&value) {
            self.keep(value, waiting.expr);
        }
    }

    fn constant(&mut self, value: ValueId, ty: TypeId) -> ExprId {
        let bytes = self.func.constant_bytes(value).map(|b| b.as_slice()).unwrap_or_default();
        if self.types.is_scalar_or_vector(ty) || self.types.is_matrix(ty) {
            return self.ast.add_literal(ty, bytes);
        }
        let constant = match self.constants.get(&value) {
            Some(&known) => known,
            None => {
                let made = self.library.constants.push(Constant { ty, bytes: bytes.to_vec() });
                self.constants.insert(value, made);
                made
            }
        };
        self.expr(ty, ExprKind::Constant(constant))
    }

    /// An undefined value may be any.
    fn zero(&mut self, ty: TypeId) -> ExprId {
        self.builtin(CallOp::Zero, ty, &[])
    }

    /// A call of a builtin.
    pub(super) fn builtin(&mut self, op: CallOp, ty: TypeId, arguments: &[ExprId]) -> ExprId {
        let arguments = self.ast.add_exprs(arguments);
        let (callee, curve_bases) = (Callee::Builtin, CurveBases::default());
        self.expr(ty, ExprKind::Call { op, curve_bases, callee, arguments })
    }

    fn register(&mut self, value: ValueId, register: SpecialRegister) -> Result<ExprId> {
        if self.variables[value].is_none() {
            let tag = match register {
                SpecialRegister::ThreadId => VariableTag::ThreadId,
                SpecialRegister::BlockId => VariableTag::BlockId,
                SpecialRegister::DispatchId => VariableTag::DispatchId,
                SpecialRegister::DispatchSize => VariableTag::DispatchSize,
                SpecialRegister::WarpLaneId => VariableTag::WarpLaneId,
                SpecialRegister::WarpSize => VariableTag::WarpLaneCount,
                SpecialRegister::KernelId => VariableTag::KernelId,
                SpecialRegister::ObjectId => VariableTag::ObjectId,
                SpecialRegister::Barycentrics => VariableTag::RasterBarycentrics,
                SpecialRegister::FrontFacing => VariableTag::RasterFrontFacing,
                SpecialRegister::BaseInstance => VariableTag::RasterBaseInstance,
                SpecialRegister::BlockSize => return self.block_size(),
            };
            self.variables[value] = Some(self.new_variable(tag, register.ty(), None));
        }
        self.variable_of(value)
    }

    /// A kernel knows its block size; the language has no variable for it.
    fn block_size(&mut self) -> Result<ExprId> {
        let FunctionKind::Kernel { block_size } = self.func.kind else {
            let text = "the block size has no form in a callable of an AST";
            return Err(self.error(NO_EXPRESSION, text));
        };
        let mut bytes: Vec<u8> = block_size.iter().flat_map(|n| n.to_le_bytes()).collect();
        bytes.resize(16, 0);
        Ok(self.ast.add_literal(TypeId::vector(Scalar::U32, 3), &bytes))
    }

    // ---- definitions

    /// Forgets what earlier instructions used.
    pub(super) fn begin_inst(&mut self) {
        self.used.depth = 0;
        self.used.reads = false;
    }

    /// Records the expression of an instruction that changes nothing: a part of its only use, or a variable.
    pub(super) fn define(&mut self, inst: InstId, expr: ExprId) {
        let Some(value) = self.func.result(inst) else { return };
        let effects = self.func.effects(inst);
        let reads = self.used.reads || effects != crate::op::Effects::PURE;
        let depth = self.used.depth + 1;
        if effects.removable()
            && !effects.convergent
            && depth < MAX_DEPTH
            && self.waits(inst, value)
        {
            self.waiting.insert(value, Waiting { expr, depth, reads });
            if reads {
                self.waiting_reads.push(value);
            }
        } else {
            self.keep(value, expr);
        }
    }

    /// Whether the value has one use, in the same block, which takes it once and at its own place.
    fn waits(&self, inst: InstId, value: ValueId) -> bool {
        let mut uses = self.func.uses(value);
        let (Some((user, _)), None) = (uses.next(), uses.next()) else { return false };
        self.func.inst_block(user) == self.func.inst_block(inst)
            && !matches!(self.func.op(user), Op::Phi | Op::Gep | Op::Loop | Op::SimpleLoop)
    }

    /// Whether an instruction certainly becomes a part of the expression that uses it.
    pub(super) fn is_part_of_expression(&self, inst: InstId) -> bool {
        let effects = self.func.effects(inst);
        let piecewise = match self.func.op(inst) {
            Op::Phi | Op::Arithmetic(ArithmeticOp::Insert) => true,
            Op::Arithmetic(ArithmeticOp::BinaryRotateLeft | ArithmeticOp::BinaryRotateRight) => {
                true
            }
            Op::Arithmetic(ArithmeticOp::Aggregate) => {
                super::operations::maker(self.types, self.func.inst(inst).ty).is_none()
            }
            _ => false,
        };
        let value = self.func.result(inst);
        let is_used = value.is_some_and(|v| self.waits(inst, v));
        !piecewise
            && is_used
            && effects.removable()
            && !effects.convergent
            && self.func.comment_of(inst).is_none()
    }

    /// Assigns an expression to the variable of a value.
    pub(super) fn keep(&mut self, value: ValueId, expr: ExprId) {
        let lhs = self.variable_for(value);
        self.assign(lhs, expr);
    }

    /// The variable of a value, made at first sight.
    pub(super) fn variable_for(&mut self, value: ValueId) -> ExprId {
        let variable = match self.variables[value] {
            Some(known) => known,
            None => {
                let name = self.func.name_of(value).map(Into::into);
                let ty = self.func.value_type(value);
                let made = self.new_variable(VariableTag::Local, ty, name);
                self.variables[value] = Some(made);
                made
            }
        };
        self.reference(variable)
    }

    /// Before something is written: what waits and reads is read now.
    pub(super) fn settle_reads(&mut self) {
        for value in std::mem::take(&mut self.waiting_reads) {
            self.settle(value);
        }
    }

    // ---- lvalues

    /// The expression of an lvalue or resource.
    pub(super) fn lvalue(&mut self, value: ValueId) -> Result<ExprId> {
        let mut steps = Vec::new();
        let mut base = value;
        while let Some(gep) = self.func.def_inst(base).filter(|&i| self.func.op(i) == Op::Gep) {
            let args = self.func.args(gep);
            steps.extend(args[1..].iter().rev());
            base = args[0];
        }
        let mut expr = self.variable_of(base)?;
        let mut ty = self.func.value_type(base);
        for &index in steps.iter().rev() {
            (expr, ty) = self.step(expr, ty, index)?;
        }
        Ok(expr)
    }

    /// The root and all indices of an lvalue, in order.
    pub(super) fn lvalue_path(&self, value: ValueId) -> (ValueId, Vec<ValueId>) {
        let mut steps = Vec::new();
        let mut base = value;
        while let Some(gep) = self.func.def_inst(base).filter(|&i| self.func.op(i) == Op::Gep) {
            let args = self.func.args(gep);
            steps.extend(args[1..].iter().rev());
            base = args[0];
        }
        steps.reverse();
        (base, steps)
    }

    /// One step into `base`, which has type `ty`.
    pub(super) fn step(
        &mut self,
        base: ExprId,
        ty: TypeId,
        index: ValueId,
    ) -> Result<(ExprId, TypeId)> {
        let constant = self.func.constant_bits(index).and_then(|bits| u32::try_from(bits).ok());
        let element = self.types.element_type(ty, constant.unwrap_or(0));
        let Some(element) = element.or_else(|| self.types.element_type(ty, 0)) else {
            return Err(self.error(NO_EXPRESSION, "an index into what has no elements"));
        };
        let kind = match (self.types.kind(ty), constant) {
            (TypeKind::Struct { .. }, Some(index)) => ExprKind::Member { base, index },
            (TypeKind::Vector { dim, .. }, Some(index)) if index < u32::from(*dim) => {
                ExprKind::Swizzle { base, swizzle: Swizzle { size: 1, code: index as u16 } }
            }
            _ => ExprKind::Access { range: base, index: self.value(index)? },
        };
        Ok((self.expr(element, kind), element))
    }
}
