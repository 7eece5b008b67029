//! Functions that exist already: copies, and those of other libraries.

use cranelift_entity::{PrimaryMap, SecondaryMap};

use super::capture::copy_kind;
use super::error::{self, Built, fault};
use super::finish::FunctionInfo;
use super::session::{CallableInfo, Parameter, Session};
use crate::callops;
use crate::model::{
    Callee, ConstantId, Expr, ExprKind, External, ExternalId, Function, FunctionId, Library, Stmt,
};
use crate::types::TypeId;
use crate::usage;

impl Session {
    /// A second function with the same content.
    pub fn duplicate(&mut self, id: FunctionId, name: Option<&str>) -> Built<FunctionId> {
        let Some(original) = self.library.functions.get(id) else {
            return fault(error::UNKNOWN_FUNCTION, format!("there is no function {id}"));
        };
        let mut copy = original.clone();
        copy.name = name.map(str::to_owned);
        let info = self.infos[id].clone();
        Ok(self.add(copy, info))
    }

    /// A callable handle for a function of the library: builtin variables among its arguments are passed by callers as
    /// usual, all other arguments are named.
    pub fn handle(&mut self, id: FunctionId) -> Built<usize> {
        let Some(function) = self.library.functions.get(id) else {
            return fault(error::UNKNOWN_FUNCTION, format!("there is no function {id}"));
        };
        let parameter =
            |argument: &crate::model::VariableId| match function.variables[*argument].tag {
                tag if tag.is_builtin() => Parameter::Builtin(tag),
                _ => Parameter::Explicit,
            };
        let parameters = function.arguments.iter().map(parameter).collect();
        self.callables.push(CallableInfo { function: id, parameters });
        Ok(self.callables.len() - 1)
    }

    /// Copies a function of another library with everything that it needs. Callables that are here already are used.
    pub fn import(&mut self, from: &Library, id: FunctionId) -> Built<FunctionId> {
        if !from.functions.is_valid(id) {
            return fault(error::UNKNOWN_FUNCTION, format!("there is no function {id}"));
        }
        let (effective, ops) = (usage::effective(from), callops::used_ops(from));
        let mut functions: SecondaryMap<FunctionId, Option<FunctionId>> = SecondaryMap::new();
        for needed in needed(from, id) {
            let mut importer = Importer {
                from,
                types: SecondaryMap::new(),
                constants: SecondaryMap::new(),
                externals: SecondaryMap::new(),
                functions: &functions,
            };
            let (function, callees) = importer.function(self, needed)?;
            let info = FunctionInfo {
                effective: effective[needed].clone(),
                ops: ops[needed],
                callees,
                hash: 0,
            };
            functions[needed] = Some(self.insert(function, info));
        }
        match functions[id] {
            Some(id) => Ok(id),
            None => fault(error::UNKNOWN_FUNCTION, format!("there is no function {id}")),
        }
    }
}

/// A function and all that it calls, callees first.
fn needed(library: &Library, id: FunctionId) -> Vec<FunctionId> {
    let mut wanted: PrimaryMap<FunctionId, bool> =
        library.functions.keys().map(|f| f == id).collect();
    for caller in library.functions.keys().rev() {
        if !wanted[caller] {
            continue;
        }
        for expr in library.functions[caller].exprs.values() {
            let callee = match expr.kind {
                ExprKind::Call { callee: Callee::Function(callee), .. } => Some(callee),
                ExprKind::FuncRef(callee) => callee.expand(),
                _ => None,
            };
            if let Some(wanted) = callee.and_then(|callee| wanted.get_mut(callee)) {
                *wanted = true;
            }
        }
    }
    wanted.iter().filter(|(_, wanted)| **wanted).map(|(id, _)| id).collect()
}

struct Importer<'a> {
    from: &'a Library,
    types: SecondaryMap<TypeId, Option<TypeId>>,
    constants: SecondaryMap<ConstantId, Option<ConstantId>>,
    externals: SecondaryMap<ExternalId, Option<ExternalId>>,
    functions: &'a SecondaryMap<FunctionId, Option<FunctionId>>,
}

impl Importer<'_> {
    fn ty(&mut self, to: &mut Session, id: TypeId) -> Built<TypeId> {
        if let Some(ty) = self.types[id] {
            return Ok(ty);
        }
        let types = &self.from.types;
        // Custom types of a library are known by their name only, and so is what is made of them.
        let made = if types.is_custom(id) {
            to.library.types.intern(types.kind(id).clone())
        } else {
            to.library.types.parse(&types.description(id))
        };
        match made {
            Ok(ty) => {
                self.types[id] = Some(ty);
                Ok(ty)
            }
            Err(e) => fault(crate::check::codes::VARIABLE_TYPE, e.to_string()),
        }
    }

    fn constant(&mut self, to: &mut Session, id: ConstantId) -> Built<ConstantId> {
        if let Some(constant) = self.constants[id] {
            return Ok(constant);
        }
        let original = &self.from.constants[id];
        let ty = self.ty(to, original.ty)?;
        let constant = to.constant(ty, original.bytes.clone());
        self.constants[id] = Some(constant);
        Ok(constant)
    }

    fn external(&mut self, to: &mut Session, id: ExternalId) -> Built<ExternalId> {
        if let Some(external) = self.externals[id] {
            return Ok(external);
        }
        let original = &self.from.externals[id];
        let types: Built<Vec<_>> =
            original.argument_types.iter().map(|ty| self.ty(to, *ty)).collect();
        let external = External {
            name: original.name.clone(),
            return_type: self.ty(to, original.return_type)?,
            argument_types: types?,
            argument_usages: original.argument_usages.clone(),
        };
        let external = to.external_function(external);
        self.externals[id] = Some(external);
        Ok(external)
    }

    /// The function with the numbers of the other library, and what it calls.
    fn function(&mut self, to: &mut Session, id: FunctionId) -> Built<(Function, Vec<FunctionId>)> {
        let original = &self.from.functions[id];
        let mut copy = Function::new(original.tag);
        copy.name = original.name.clone();
        copy.return_type = self.ty(to, original.return_type)?;
        for variable in original.variables.values() {
            let ty = self.ty(to, variable.ty)?;
            copy.variables.push(crate::model::Variable { ty, ..variable.clone() });
        }
        copy.arguments = original.arguments.clone();
        copy.bindings = original.bindings.clone();
        copy.block_size = original.block_size;
        copy.curve_bases = original.curve_bases;
        copy.allowed_warp_size = original.allowed_warp_size;
        for constant in &original.listed_constants {
            copy.listed_constants.push(self.constant(to, *constant)?);
        }
        let mut callees = Vec::new();
        for expr in original.exprs.values() {
            let kind = copy_kind(original, &mut copy, expr.kind, |e| e, |v| v);
            let kind = self.kind(to, kind, &mut callees)?;
            let ty = self.ty(to, expr.ty)?;
            copy.exprs.push(Expr { ty, kind });
        }
        for stmt in original.stmts.values() {
            let stmt = copy_stmt(original, &mut copy, *stmt);
            copy.stmts.push(stmt);
        }
        copy.body = original.body;
        Ok((copy, callees))
    }

    fn kind(
        &mut self,
        to: &mut Session,
        kind: ExprKind,
        callees: &mut Vec<FunctionId>,
    ) -> Built<ExprKind> {
        let function = |id: FunctionId| match self.functions[id] {
            Some(id) => Ok(id),
            None => fault(error::UNKNOWN_FUNCTION, format!("{id} is called before it is defined")),
        };
        Ok(match kind {
            ExprKind::Constant(id) => ExprKind::Constant(self.constant(to, id)?),
            ExprKind::TypeId(id) => ExprKind::TypeId(self.ty(to, id)?),
            ExprKind::FuncRef(id) => match id.expand() {
                Some(id) => ExprKind::FuncRef(Some(function(id)?).into()),
                None => kind,
            },
            ExprKind::Call { op, curve_bases, callee, arguments } => {
                let callee = match callee {
                    Callee::Builtin => callee,
                    Callee::External(id) => Callee::External(self.external(to, id)?),
                    Callee::Function(id) => {
                        let id = function(id)?;
                        if !callees.contains(&id) {
                            callees.push(id);
                        }
                        Callee::Function(id)
                    }
                };
                ExprKind::Call { op, curve_bases, callee, arguments }
            }
            other => other,
        })
    }
}

/// A statement with its lists and texts in the pools of another function.
pub(super) fn copy_stmt(from: &Function, to: &mut Function, stmt: Stmt) -> Stmt {
    match stmt {
        Stmt::Scope(list) => Stmt::Scope(to.add_stmts(from.stmts_in(list))),
        Stmt::Comment(text) => Stmt::Comment(to.add_text(from.text_in(text))),
        Stmt::Print { format, arguments } => Stmt::Print {
            format: to.add_text(from.text_in(format)),
            arguments: to.add_exprs(from.exprs_in(arguments)),
        },
        Stmt::Suspend { token, name } => {
            Stmt::Suspend { token, name: to.add_text(from.text_in(name)) }
        }
        Stmt::DebugBreak { watches } => {
            Stmt::DebugBreak { watches: to.add_exprs(from.exprs_in(watches)) }
        }
        other => other,
    }
}
