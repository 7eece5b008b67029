//! State of the lowering of one function: where instructions go, and what each variable is.

use super::plan::Plan;
use super::statements::{Frame, Jump};
use super::{
    BLOCK_SIZE, MALFORMED, NOT_ASSIGNABLE, Options, SHARED_IN_CALLABLE, TYPE_MISMATCH,
    UNSUPPORTED_FUNCTION, cleanup, expressions::Task,
};
use crate::op::{ArithmeticOp, Rule, Space, SpecialRegister};
use crate::{
    ArgumentKind, BlockId, ConstBytes, Function, FunctionKind, Imm, InstId, Op, SourceLoc, ValueId,
    typing,
};
use cranelift_entity::SecondaryMap;
use luisac_ast::callops::{CallOp, Param};
use luisac_ast::diagnostic::{Code, Diagnostic, Diagnostics};
use luisac_ast::model::{
    self, Callee, ConstantId, ExprId, ExprKind, FunctionTag, Library, Stmt, StmtId, VariableId,
    VariableTag,
};
use luisac_ast::place::{self, Place};
use luisac_ast::types::{TypeId, TypeTable};
use rustc_hash::FxHashMap;

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

    fn add_arguments(&mut self) -> Result<()> {
        let assigned = assigned_variables(self.library, self.ast);
        let is_kernel = self.func.is_kernel();
        for (i, &variable) in self.ast.arguments.iter().enumerate() {
            let Some(data) = self.ast.variables.get(variable) else {
                return Err(
                    self.error(MALFORMED, "an argument names a variable that does not exist")
                );
            };
            let kind = argument_kind(self.types, data.tag, data.ty);
            if !fits_argument(self.types, kind, data.ty, is_kernel) {
                let place = if is_kernel { "a kernel" } else { "a callable" };
                let ty = self.describe(data.ty);
                return Err(self.error(MALFORMED, format!("{ty} cannot be passed so to {place}")));
            }
            let captured = is_kernel && i < self.ast.bindings.len();
            let value = self.func.add_argument(kind, data.ty, data.name.as_deref(), captured);
            if let Some(name) = &data.name {
                self.func.set_name(value, name.clone());
            }
            self.storage[variable] = match kind {
                ArgumentKind::Reference => Storage::Memory(value),
                ArgumentKind::Resource => Storage::Resource(value),
                ArgumentKind::Value if assigned[variable] => {
                    let memory = self.alloca(Space::Local, data.ty);
                    if let Some(name) = &data.name {
                        self.func.set_name(memory, name.clone());
                    }
                    self.store(memory, value);
                    Storage::Memory(memory)
                }
                ArgumentKind::Value => Storage::Value(value),
            };
        }
        Ok(())
    }

    // ---- variables

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
        if let Some(name) = &data.name {
            self.func.set_name(memory, name.clone());
        }
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

/// How an argument of this tag and type is passed.
pub(super) fn argument_kind(types: &TypeTable, tag: VariableTag, ty: TypeId) -> ArgumentKind {
    if tag == VariableTag::Reference || types.is_custom(ty) {
        ArgumentKind::Reference
    } else if types.is_resource(ty) {
        ArgumentKind::Resource
    } else {
        ArgumentKind::Value
    }
}

/// Whether an argument of this kind may have the type.
fn fits_argument(types: &TypeTable, kind: ArgumentKind, ty: TypeId, is_kernel: bool) -> bool {
    match kind {
        ArgumentKind::Value => types.is_data(ty),
        ArgumentKind::Reference if is_kernel => types.is_custom(ty) && !types.is_ray_query(ty),
        ArgumentKind::Reference => types.is_data(ty) || types.is_custom(ty),
        ArgumentKind::Resource => true,
    }
}

/// The variables that a function assigns, or passes to something that may.
fn assigned_variables(library: &Library, ast: &model::Function) -> SecondaryMap<VariableId, bool> {
    let mut assigned: SecondaryMap<VariableId, bool> = SecondaryMap::new();
    let mut mark = |expr: ExprId| {
        if let Some(variable) = root_variable(ast, expr) {
            assigned[variable] = true;
        }
    };
    for stmt in ast.stmts.values() {
        match *stmt {
            Stmt::Assign { lhs, .. } => mark(lhs),
            Stmt::For { variable, .. } => mark(variable),
            Stmt::RayQuery { query, .. } => mark(query),
            _ => {}
        }
    }
    for expr in ast.exprs.values() {
        let ExprKind::Call { op, callee, arguments, .. } = expr.kind else { continue };
        for (i, &argument) in ast.exprs_in(arguments).iter().enumerate() {
            if passes_by_reference(library, op, callee, i) {
                mark(argument);
            }
        }
    }
    assigned
}

/// Whether a call takes argument `index` as an lvalue.
pub(super) fn passes_by_reference(
    library: &Library,
    op: CallOp,
    callee: Callee,
    index: usize,
) -> bool {
    match callee {
        Callee::Function(id) => {
            let formal = library.functions.get(id).and_then(|f| {
                let variable = f.arguments.get(index)?;
                f.variables.get(*variable)
            });
            formal.is_some_and(|v| {
                argument_kind(&library.types, v.tag, v.ty) == ArgumentKind::Reference
            })
        }
        Callee::External(_) => false,
        Callee::Builtin => matches!(
            op.info().params.get(index),
            Some(Param::Ref | Param::Query | Param::Dispatch | Param::AtomicBase)
        ),
    }
}

/// The variable at the bottom of a chain of members, elements and components.
pub(super) fn root_variable(ast: &model::Function, mut expr: ExprId) -> Option<VariableId> {
    loop {
        match ast.exprs.get(expr)?.kind {
            ExprKind::Member { base, .. } | ExprKind::Swizzle { base, .. } => expr = base,
            ExprKind::Access { range, .. } => expr = range,
            ExprKind::Ref(variable) => return Some(variable),
            _ => return None,
        }
    }
}
