//! State of the lowering of one function: where instructions go, and what each variable is.

use super::natives::Natives;
use super::plan::Plan;
use super::statements::{Frame, Jump};
use super::{
    BLOCK_SIZE, MALFORMED, NOT_ASSIGNABLE, Options, SHARED_IN_CALLABLE, TYPE_MISMATCH,
    UNSUPPORTED_FUNCTION, cleanup, expressions::Task,
};
use crate::op::{ArithmeticOp, Rule, Space, SpecialRegister};
use crate::{
    BlockId, ConstBytes, Function, FunctionKind, Imm, InstId, Op, SourceLoc, ValueId, typing,
};
use cranelift_entity::SecondaryMap;
use luisac_ast::diagnostic::{Code, Diagnostic, Diagnostics};
use luisac_ast::model::{
    self, ConstantId, ExprId, FunctionTag, Library, StmtId, VariableId, VariableTag,
};
use luisac_ast::place::{self, Place};
use luisac_ast::types::{TypeId, TypeTable};
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// Result of a step of the lowering.
pub(super) type Result<T> = std::result::Result<T, Diagnostics>;

/// What stands for a variable.
#[derive(Clone, Copy, Default)]
pub(super) enum Storage {
    /// A local or shared variable that was not met yet.
    #[default]
    Unseen,
    /// An lvalue.
    Memory(ValueId),
    /// An argument by value that is never assigned.
    Value(ValueId),
    /// A resource argument.
    Resource(ValueId),
}

/// Lowers one function.
pub(super) struct Lowerer<'a> {
    pub(super) library: &'a Library,
    pub(super) types: &'a TypeTable,
    pub(super) ast: &'a model::Function,
    pub(super) plan: &'a Plan,
    /// Declarations that all functions of the module share.
    pub(super) natives: &'a RefCell<Natives>,
    pub(super) func: Function,
    id: model::FunctionId,
    /// Where instructions are appended; has a terminator already if not `open`.
    block: BlockId,
    pub(super) open: bool,
    /// Whether the block can be reached.
    pub(super) live: bool,
    /// Last in the block order so far.
    last_block: BlockId,
    last_alloca: Option<InstId>,
    pub(super) loc: SourceLoc,
    /// The expression being lowered, for messages.
    pub(super) expr: Option<ExprId>,
    pub(super) comment: Option<String>,
    storage: SecondaryMap<VariableId, Storage>,
    constants: FxHashMap<ConstantId, ValueId>,
    pub(super) tasks: Vec<Task>,
    /// Results of expressions that others wait for; `None` for a call without a value.
    pub(super) values: Vec<Option<ValueId>>,
    pub(super) frames: Vec<Frame>,
    pub(super) jumps: Vec<Jump>,
}

impl<'a> Lowerer<'a> {
    /// Makes the function, its arguments and its entry block.
    pub(super) fn new(
        library: &'a Library,
        plan: &'a Plan,
        natives: &'a RefCell<Natives>,
        id: model::FunctionId,
        options: &Options,
    ) -> Result<Lowerer<'a>> {
        let ast = &library.functions[id];
        let kind = function_kind(library, id, options)?;
        let return_type =
            if ast.tag == FunctionTag::Kernel { TypeId::VOID } else { ast.return_type };
        let mut func = Function::new(ast.name.clone().unwrap_or_default(), kind, return_type);
        let entry = func.append_block();
        let mut lowerer = Lowerer {
            library,
            types: &library.types,
            ast,
            plan,
            natives,
            func,
            id,
            block: entry,
            open: true,
            live: true,
            last_block: entry,
            last_alloca: None,
            loc: SourceLoc::NONE,
            expr: None,
            comment: None,
            storage: SecondaryMap::new(),
            constants: FxHashMap::default(),
            tasks: Vec::new(),
            values: Vec::new(),
            frames: Vec::new(),
            jumps: Vec::new(),
        };
        lowerer.add_arguments()?;
        Ok(lowerer)
    }

    /// Lowers the body.
    pub(super) fn run(mut self) -> Result<Function> {
        self.lower_body()?;
        cleanup::run(&mut self.func);
        Ok(self.func)
    }

    // ---- variables

    /// Records what stands for an argument.
    pub(super) fn set_storage(&mut self, variable: VariableId, storage: Storage) {
        self.storage[variable] = storage;
    }

    /// Gives a value the name of a variable, if that has one.
    pub(super) fn name_after(&mut self, value: ValueId, variable: VariableId) {
        if let Some(name) = self.ast.variables.get(variable).and_then(|v| v.name.as_ref()) {
            self.func.set_name(value, name.clone());
        }
    }

    /// What stands for a variable that is no builtin; allocates it at first sight.
    pub(super) fn storage(&mut self, variable: VariableId) -> Result<Storage> {
        let Some(data) = self.ast.variables.get(variable) else {
            return Err(self.error(MALFORMED, "a variable does not exist"));
        };
        if !matches!(self.storage[variable], Storage::Unseen) {
            return Ok(self.storage[variable]);
        }
        let space = match data.tag {
            VariableTag::Local => Space::Local,
            VariableTag::Shared if self.func.is_kernel() => Space::Shared,
            VariableTag::Shared => {
                return Err(self.error(SHARED_IN_CALLABLE, "a callable has a shared variable"));
            }
            _ => {
                return Err(
                    self.error(MALFORMED, "a variable of an argument's kind is no argument")
                );
            }
        };
        if !self.types.is_data(data.ty) && !self.types.is_ray_query(data.ty) {
            let ty = self.describe(data.ty);
            return Err(self.error(MALFORMED, format!("a variable cannot hold {ty}")));
        }
        let memory = self.alloca(space, data.ty);
        self.name_after(memory, variable);
        self.storage[variable] = Storage::Memory(memory);
        Ok(Storage::Memory(memory))
    }

    /// The special register that a variable stands for; `None` for arguments (also for a builtin that a caller passes) and others.
    pub(super) fn special(&self, variable: VariableId) -> Option<SpecialRegister> {
        if !matches!(self.storage[variable], Storage::Unseen) {
            return None;
        }
        Some(match self.ast.variables.get(variable)?.tag {
            VariableTag::ThreadId => SpecialRegister::ThreadId,
            VariableTag::BlockId => SpecialRegister::BlockId,
            VariableTag::DispatchId => SpecialRegister::DispatchId,
            VariableTag::DispatchSize => SpecialRegister::DispatchSize,
            VariableTag::KernelId => SpecialRegister::KernelId,
            VariableTag::WarpLaneCount => SpecialRegister::WarpSize,
            VariableTag::WarpLaneId => SpecialRegister::WarpLaneId,
            VariableTag::ObjectId => SpecialRegister::ObjectId,
            VariableTag::RasterBarycentrics => SpecialRegister::Barycentrics,
            VariableTag::RasterFrontFacing => SpecialRegister::FrontFacing,
            VariableTag::RasterBaseInstance => SpecialRegister::BaseInstance,
            _ => return None,
        })
    }

    /// The lvalue of a variable.
    pub(super) fn memory(&mut self, variable: VariableId) -> Result<ValueId> {
        match self.storage(variable)? {
            Storage::Memory(lvalue) => Ok(lvalue),
            _ => Err(self.error(NOT_ASSIGNABLE, "this cannot be assigned or passed by reference")),
        }
    }

    /// The value of a constant of the library; its bytes are interned once.
    pub(super) fn library_constant(&mut self, constant: ConstantId) -> Result<ValueId> {
        if let Some(&value) = self.constants.get(&constant) {
            return Ok(value);
        }
        let Some(data) = self.library.constants.get(constant) else {
            return Err(self.error(MALFORMED, "a constant does not exist"));
        };
        let value = self.data_constant(data.ty, &data.bytes)?;
        self.constants.insert(constant, value);
        Ok(value)
    }

    // ---- blocks

    /// Makes a block that is placed when it is begun.
    pub(super) fn new_block(&mut self) -> BlockId {
        self.func.append_block()
    }

    /// Goes on in `block`, which becomes the last in the order.
    pub(super) fn begin(&mut self, block: BlockId, live: bool) {
        self.func.move_block_after(block, self.last_block);
        self.last_block = block;
        self.block = block;
        self.open = true;
        self.live = live;
    }

    // ---- instructions

    /// Appends an instruction; after a terminator, to a block that nothing reaches.
    pub(super) fn inst(
        &mut self,
        op: Op,
        ty: TypeId,
        args: &[ValueId],
        blocks: &[BlockId],
        imm: Imm,
    ) -> InstId {
        if !self.open {
            let block = self.new_block();
            self.begin(block, false);
        }
        let inst = self.func.create_inst(op, ty, args, blocks, imm);
        self.func.set_loc(inst, self.loc);
        if let Some(comment) = self.comment.take() {
            self.func.set_comment(inst, comment);
        }
        self.func.append_inst(self.block, inst);
        if op.is_terminator() {
            self.open = false;
        }
        inst
    }

    /// Appends an instruction with a result.
    pub(super) fn value(&mut self, op: Op, ty: TypeId, args: &[ValueId]) -> ValueId {
        self.value_with(op, ty, args, Imm::None)
    }

    /// Appends an instruction with a result and further data.
    pub(super) fn value_with(&mut self, op: Op, ty: TypeId, args: &[ValueId], imm: Imm) -> ValueId {
        let inst = self.inst(op, ty, args, &[], imm);
        match self.func.result(inst) {
            Some(value) => value,
            None => self.func.undefined(ty),
        }
    }

    /// Appends an instruction without a result.
    pub(super) fn effect(&mut self, op: Op, args: &[ValueId]) -> InstId {
        self.inst(op, TypeId::VOID, args, &[], Imm::None)
    }

    /// Appends a terminator.
    pub(super) fn terminate(&mut self, op: Op, args: &[ValueId], blocks: &[BlockId]) -> InstId {
        self.inst(op, TypeId::VOID, args, blocks, Imm::None)
    }

    /// Appends arithmetic; the result type follows from the operands, which must keep the rule of the operation.
    pub(super) fn arithmetic(&mut self, op: ArithmeticOp, args: &[ValueId]) -> Result<ValueId> {
        let operands: Vec<TypeId> = args.iter().map(|&a| self.func.value_type(a)).collect();
        let Some(ty) = typing::infer(op, &operands, self.types) else {
            return Err(self.no_operands(op.name(), &operands));
        };
        self.check_rule(op.name(), op.rule(), ty, &operands)?;
        Ok(self.value(Op::Arithmetic(op), ty, args))
    }

    /// Refuses operands that break the rule of an operation without indices.
    pub(super) fn check_rule(
        &self,
        name: &str,
        rule: Rule,
        ty: TypeId,
        operands: &[TypeId],
    ) -> Result<()> {
        match typing::check(rule, ty, operands, |_| None, self.types) {
            Ok(()) => Ok(()),
            Err(_) => Err(self.no_operands(name, operands)),
        }
    }

    fn no_operands(&self, name: &str, operands: &[TypeId]) -> Diagnostics {
        let shown: Vec<String> = operands.iter().map(|&t| self.describe(t)).collect();
        self.error(TYPE_MISMATCH, format!("`{name}` cannot take {}", shown.join(", ")))
    }

    /// A composite from its parts.
    pub(super) fn aggregate(&mut self, ty: TypeId, parts: &[ValueId]) -> ValueId {
        self.value(Op::Arithmetic(ArithmeticOp::Aggregate), ty, parts)
    }

    /// Memory, at the top of the entry block after the others.
    pub(super) fn alloca(&mut self, space: Space, ty: TypeId) -> ValueId {
        let inst = self.func.create_inst(Op::Alloca(space), ty, &[], &[], Imm::None);
        match (self.last_alloca, self.func.entry()) {
            (Some(last), _) => self.func.insert_after(inst, last),
            (None, Some(entry)) => self.func.prepend_inst(entry, inst),
            (None, None) => {}
        }
        self.last_alloca = Some(inst);
        match self.func.result(inst) {
            Some(value) => value,
            None => self.func.undefined(ty),
        }
    }

    /// Reads an lvalue.
    pub(super) fn load(&mut self, lvalue: ValueId) -> ValueId {
        let ty = self.ty(lvalue);
        self.value(Op::Load, ty, &[lvalue])
    }

    /// Writes an lvalue.
    pub(super) fn store(&mut self, lvalue: ValueId, value: ValueId) {
        self.effect(Op::Store, &[lvalue, value]);
    }

    /// Type of a value.
    pub(super) fn ty(&self, value: ValueId) -> TypeId {
        self.func.value_type(value)
    }

    /// A scalar constant of these low bits.
    pub(super) fn scalar_constant(&mut self, ty: TypeId, bits: u64) -> ValueId {
        let size = self.types.size(ty).min(8) as usize;
        self.func.constant(ty, ConstBytes::from_bits(bits, size))
    }

    // ---- messages

    /// An error at the expression or statement being lowered.
    pub(super) fn error(&self, code: Code, message: impl Into<String>) -> Diagnostics {
        let place = match (self.expr, self.statement()) {
            (Some(expr), _) => Place::expr(self.id, expr),
            (None, Some(stmt)) => Place::stmt(self.id, stmt),
            (None, None) => Place::new(self.id, place::Node::Function),
        };
        error_at(self.library, place, code, message)
    }

    /// The statement being lowered.
    fn statement(&self) -> Option<StmtId> {
        (self.loc != SourceLoc::NONE).then(|| StmtId::from_u32(self.loc.statement))
    }

    /// Makes `stmt` the statement being lowered.
    pub(super) fn set_statement(&mut self, stmt: StmtId) {
        self.loc = SourceLoc { function: self.id.as_u32(), statement: stmt.as_u32() };
        self.expr = None;
    }

    /// A type as text, in backticks.
    pub(super) fn describe(&self, ty: TypeId) -> String {
        format!("`{}`", self.types.description(ty))
    }
}

fn error_at(
    library: &Library,
    place: Place,
    code: Code,
    message: impl Into<String>,
) -> Diagnostics {
    let remedy = super::CODES.iter().find(|info| info.code == code).map(|info| info.remedy);
    let mut diagnostic = Diagnostic::error(code, message)
        .at_pointer(place::locate(library, place))
        .in_function(library.function_name(place.function));
    if let Some(remedy) = remedy {
        let mut help = remedy.trim_end_matches('.').to_owned();
        if let Some(first) = help.get_mut(0..1) {
            first.make_ascii_lowercase();
        }
        diagnostic = diagnostic.with_help(help);
    }
    diagnostic.into()
}

fn function_kind(
    library: &Library,
    id: model::FunctionId,
    options: &Options,
) -> Result<FunctionKind> {
    let ast = &library.functions[id];
    let place = Place::new(id, place::Node::Function);
    match ast.tag {
        FunctionTag::Callable => Ok(FunctionKind::Callable),
        FunctionTag::Kernel => {
            let block_size = options.block_size.unwrap_or(match ast.block_size {
                [0, 0, 0] => [64, 1, 1],
                given => given,
            });
            let threads = block_size.iter().map(|&n| u64::from(n)).fold(1u64, u64::saturating_mul);
            if (1..=1024).contains(&threads) && block_size[2] <= 64 {
                return Ok(FunctionKind::Kernel { block_size });
            }
            let text = format!("a block of {block_size:?} threads is not possible");
            Err(error_at(library, place, BLOCK_SIZE, text))
        }
        tag => {
            let text = format!("a function of kind `{}` is not compiled", tag.name());
            Err(error_at(library, place, UNSUPPORTED_FUNCTION, text))
        }
    }
}
