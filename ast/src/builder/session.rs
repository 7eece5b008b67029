//! The state of building: the library so far, and the functions that are being built, innermost last.

use std::panic::Location;

use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap};
use rustc_hash::FxHashMap;

use super::error::{self, BuildError, Built, Fault, fault};
use super::finish::FunctionInfo;
use crate::callops::UsedOps;
use crate::check::{self, Context, Part};
use crate::model::{
    Binding, Callee, Constant, ConstantId, Expr, ExprId, ExprKind, ExprList, Function, FunctionId,
    FunctionTag, Library, Stmt, StmtId, TextRange, Usage, Variable, VariableId, VariableTag,
};
use crate::place;
use crate::types::{TypeId, TypeTable};

/// Nodes of the tree that an expression stands for.
const MAX_TREE: u32 = 1 << 20;
/// Nodes of each kind of one function: with them, the bytes of its literals, of at most 64 each, stay below 2^32.
const MAX_NODES: usize = 1 << 25;
/// Bytes of texts, and items of lists, of one function.
const MAX_POOL: usize = 1 << 31;

/// An expression and the function that it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Raw {
    pub serial: u32,
    pub expr: ExprId,
}

/// Where the value of an argument comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Parameter {
    /// The caller names it.
    Explicit,
    /// The caller's own builtin variable.
    Builtin(VariableTag),
    /// A value of a function around the callable.
    Captured(Raw),
    /// A resource that every caller is bound to.
    Bound(Binding),
}

/// A callable as its callers see it.
pub(super) struct CallableInfo {
    pub function: FunctionId,
    pub parameters: Vec<Parameter>,
}

/// A scope that is open.
#[derive(Default)]
pub(super) struct Scope {
    pub stmts: Vec<StmtId>,
    pub context: Context,
}

/// A function that is being built.
pub(super) struct State {
    pub serial: u32,
    pub function: Function,
    /// What each of the function's arguments is.
    pub parameters: Vec<Parameter>,
    pub scopes: Vec<Scope>,
    /// A REF to each variable that came up.
    pub refs: FxHashMap<VariableId, ExprId>,
    pub builtins: Vec<(VariableTag, VariableId)>,
    /// What stands for a value of a function around this one.
    pub captured: FxHashMap<Raw, ExprId>,
    pub effective: SecondaryMap<VariableId, Usage>,
    pub ops: UsedOps,
    pub callees: Vec<FunctionId>,
    pub returns: bool,
    /// Bytes of texts and items of lists so far.
    pooled: usize,
    /// Number of nodes of the tree of each expression.
    sizes: SecondaryMap<ExprId, u32>,
}

/// Everything that a builder knows.
#[derive(Default)]
pub(super) struct Session {
    pub library: Library,
    pub infos: PrimaryMap<FunctionId, FunctionInfo>,
    pub callables: Vec<CallableInfo>,
    pub stack: Vec<State>,
    pub error: Option<BuildError>,
    pub by_hash: FxHashMap<u64, Vec<FunctionId>>,
    constants: FxHashMap<Constant, ConstantId>,
    serials: u32,
}

impl Session {
    /// Starts a function; gives its serial number.
    pub fn open(&mut self, tag: FunctionTag, name: Option<&str>, block_size: [u32; 3]) -> u32 {
        self.serials += 1;
        let mut function = Function::new(tag);
        function.name = name.map(str::to_owned);
        function.block_size = block_size;
        self.stack.push(State {
            serial: self.serials,
            function,
            parameters: Vec::new(),
            scopes: vec![Scope::default()],
            refs: FxHashMap::default(),
            builtins: Vec::new(),
            captured: FxHashMap::default(),
            effective: SecondaryMap::new(),
            ops: UsedOps::default(),
            callees: Vec::new(),
            returns: false,
            pooled: 0,
            sizes: SecondaryMap::new(),
        });
        self.serials
    }

    /// Does one step, unless an earlier one failed.
    pub fn attempt<T>(
        &mut self,
        location: &'static Location<'static>,
        step: impl FnOnce(&mut Session) -> Built<T>,
    ) -> Option<T> {
        if self.error.is_some() {
            return None;
        }
        match step(self) {
            Ok(done) => Some(done),
            Err(Fault { code, message }) => {
                let function = self.stack.last().and_then(|s| s.function.name.clone());
                self.error = Some(BuildError { code, message, function, location });
                None
            }
        }
    }

    /// The innermost function that is being built.
    pub fn top(&mut self) -> Built<&mut State> {
        match self.stack.last_mut() {
            Some(state) => Ok(state),
            None => fault(error::FOREIGN, "the function of this value has been built already"),
        }
    }

    /// Whether the function of this number is the innermost one.
    pub fn expect_current(&mut self, serial: u32) -> Built<()> {
        if self.top()?.serial == serial {
            return Ok(());
        }
        fault(error::NOT_CURRENT, "this function is not the one that is being built")
    }

    pub fn types(&self) -> &TypeTable {
        &self.library.types
    }

    /// The type's description, for a message.
    pub fn name(&self, ty: TypeId) -> String {
        self.library.types.description(ty)
    }

    pub fn ty(&mut self, expr: ExprId) -> Built<TypeId> {
        Ok(self.top()?.function.exprs[expr].ty)
    }

    /// Checks a part of the innermost function.
    pub fn check(&self, part: Part) -> Built<()> {
        let Some(state) = self.stack.last() else { return Ok(()) };
        let id = FunctionId::new(self.library.functions.len());
        match check::part(&self.library, id, &state.function, part) {
            Some((code, message)) => Err(Fault { code, message }),
            None => Ok(()),
        }
    }

    /// Adds a variable.
    pub fn variable(&mut self, tag: VariableTag, ty: TypeId) -> Built<VariableId> {
        let variable = Variable { tag, ty, usage: Usage::NONE, name: None };
        let id = self.top()?.function.variables.push(variable);
        self.check(Part::Variable(id))?;
        Ok(id)
    }

    /// Adds an argument.
    pub fn argument(
        &mut self,
        tag: VariableTag,
        ty: TypeId,
        parameter: Parameter,
    ) -> Built<ExprId> {
        let variable = self.variable(tag, ty)?;
        let state = self.top()?;
        state.function.arguments.push(variable);
        state.parameters.push(parameter);
        self.reference(variable)
    }

    /// The REF to a variable.
    pub fn reference(&mut self, variable: VariableId) -> Built<ExprId> {
        let state = self.top()?;
        if let Some(expr) = state.refs.get(&variable) {
            return Ok(*expr);
        }
        let ty = state.function.variables[variable].ty;
        let expr = self.push(ty, ExprKind::Ref(variable))?;
        self.top()?.refs.insert(variable, expr);
        Ok(expr)
    }

    /// The constant of a value; equal ones are one.
    pub fn constant(&mut self, ty: TypeId, bytes: Vec<u8>) -> ConstantId {
        let constant = Constant { ty, bytes };
        if let Some(id) = self.constants.get(&constant) {
            return *id;
        }
        let id = self.library.constants.push(constant.clone());
        self.constants.insert(constant, id);
        id
    }

    /// Adds an expression of the innermost function, the operands of which are there, and checks it.
    pub fn push(&mut self, ty: TypeId, kind: ExprKind) -> Built<ExprId> {
        let state = self.top()?;
        if state.function.exprs.len() >= MAX_NODES {
            return fault(error::LIMIT, "the function has too many expressions");
        }
        let mut size = 1u32;
        place::expr_children(&state.function, &kind, |_, _, operand| {
            size = size.saturating_add(state.sizes[operand]);
        });
        if size > MAX_TREE {
            let message = format!("the expression stands for a tree of more than {MAX_TREE} nodes");
            return fault(error::TOO_LARGE, message);
        }
        let id = state.function.exprs.push(Expr { ty, kind });
        state.sizes[id] = size;
        self.check(Part::Expr(id))?;
        self.mark_operands(kind)?;
        Ok(id)
    }

    /// Counts bytes of texts and items of lists, before they are added.
    fn pool(&mut self, amount: usize) -> Built<()> {
        let state = self.top()?;
        state.pooled = state.pooled.saturating_add(amount);
        if state.pooled > MAX_POOL {
            return fault(error::LIMIT, "the function has too many texts and arguments");
        }
        Ok(())
    }

    /// Adds a text.
    pub fn text(&mut self, text: &str) -> Built<TextRange> {
        self.pool(text.len())?;
        Ok(self.top()?.function.add_text(text))
    }

    /// Adds a list of expressions of the innermost function.
    pub fn list(&mut self, exprs: &[ExprId]) -> Built<ExprList> {
        self.pool(exprs.len())?;
        Ok(self.top()?.function.add_exprs(exprs))
    }

    /// Adds a statement to the innermost scope and checks it.
    pub fn statement(&mut self, stmt: Stmt) -> Built<()> {
        let state = self.top()?;
        if state.function.stmts.len() >= MAX_NODES {
            return fault(error::LIMIT, "the function has too many statements");
        }
        let id = state.function.stmts.push(stmt);
        let scope = state.scopes.last_mut();
        let context = scope.map_or(Context::default(), |scope| {
            scope.stmts.push(id);
            scope.context
        });
        self.check(Part::Stmt(id, context))?;
        self.mark_statement(stmt)
    }

    /// Closes the innermost scope.
    pub fn close_scope(&mut self) -> Built<StmtId> {
        let state = self.top()?;
        let scope = state.scopes.pop().unwrap_or_default();
        let list = state.function.add_stmts(&scope.stmts);
        Ok(state.function.stmts.push(Stmt::Scope(list)))
    }

    /// Notes what is called.
    pub fn note_callee(&mut self, callee: Callee) -> Built<()> {
        let Callee::Function(id) = callee else { return Ok(()) };
        let (ops, bases) = (self.infos[id].ops.all, self.library.functions[id].curve_bases);
        let state = self.top()?;
        state.ops.all.extend(&ops);
        state.function.curve_bases.0 |= bases.0;
        if !state.callees.contains(&id) {
            state.callees.push(id);
        }
        Ok(())
    }
}
