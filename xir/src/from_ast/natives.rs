//! Calls of code outside of the program: native functions, callbacks into the recording process, addresses of variables. Each
//! becomes a call of a declaration without a body; what runs or compiles the module decides whether it can hold the name.

use super::function::{Lowerer, Result};
use super::{MALFORMED, TYPE_MISMATCH};
use crate::{ArgumentKind, Function, FunctionId, FunctionKind, Imm, Op, ValueId};
use cranelift_entity::EntityRef;
use luisac_ast::model::{Callee, External, ExternalId, Usage};
use luisac_ast::types::{TypeId, TypeTable};
use rustc_hash::FxHashMap;

/// Name of the declaration that stands for callbacks into the process that recorded the kernel.
pub const CPU_CUSTOM: &str = "cpu_custom";
/// Name of the declaration that yields the address of a variable as `ulong`.
pub const ADDRESS_OF: &str = "address_of";

/// What tells one declaration from another.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Signature {
    name: Box<str>,
    parameters: Box<[(ArgumentKind, TypeId)]>,
    result: TypeId,
}

/// The declarations of a module. Their ids follow those of the functions with a body.
pub(super) struct Natives {
    first: usize,
    ids: FxHashMap<Signature, FunctionId>,
    declared: Vec<Function>,
}

impl Natives {
    /// No declarations yet; the first one gets the id `first`.
    pub(super) fn after(first: usize) -> Natives {
        Natives { first, ids: FxHashMap::default(), declared: Vec::new() }
    }

    fn declare(&mut self, signature: Signature) -> FunctionId {
        if let Some(&id) = self.ids.get(&signature) {
            return id;
        }
        let id = FunctionId::new(self.first + self.declared.len());
        let name = signature.name.to_string();
        let mut function = Function::new(name, FunctionKind::External, signature.result);
        for &(kind, ty) in &signature.parameters {
            function.add_argument(kind, ty, None, false);
        }
        self.declared.push(function);
        self.ids.insert(signature, id);
        id
    }

    /// The declarations, in the order of their ids.
    pub(super) fn into_functions(self) -> Vec<Function> {
        self.declared
    }
}

/// How an external function takes an argument of type `ty` that it uses so.
pub(super) fn external_kind(types: &TypeTable, ty: TypeId, usage: Usage) -> ArgumentKind {
    if types.is_resource(ty) {
        ArgumentKind::Resource
    } else if usage.writes() || types.is_custom(ty) {
        ArgumentKind::Reference
    } else {
        ArgumentKind::Value
    }
}

/// How parameter `index` of an external function is passed; `None` beyond the last one. A use that is not declared may be any.
pub(super) fn external_parameter(
    types: &TypeTable,
    external: &External,
    index: usize,
) -> Option<(ArgumentKind, TypeId)> {
    let &ty = external.argument_types.get(index)?;
    let usage = external.argument_usages.get(index).copied().unwrap_or(Usage::READ_WRITE);
    Some((external_kind(types, ty, usage), ty))
}

impl Lowerer<'_> {
    /// A call of an external function: arguments and result as it declares them.
    pub(super) fn call_external(
        &mut self,
        callee: Callee,
        args: &[ValueId],
    ) -> Result<Option<ValueId>> {
        let library = self.library;
        let Some(external) = external_of(callee).and_then(|id| library.externals.get(id)) else {
            return Err(self.error(MALFORMED, "a call names no external function"));
        };
        let wanted = external.argument_types.len();
        if wanted != args.len() {
            let text = format!("`{}` takes {wanted} arguments, not {}", external.name, args.len());
            return Err(self.error(MALFORMED, text));
        }
        let parameters: Vec<_> =
            (0..wanted).filter_map(|i| external_parameter(self.types, external, i)).collect();
        self.call_native(&external.name, &parameters, args, external.return_type)
    }

    /// A call back into the process that recorded the kernel, which may change its argument.
    pub(super) fn call_back(
        &mut self,
        argument: Option<ValueId>,
        result: TypeId,
    ) -> Result<Option<ValueId>> {
        let args: Vec<ValueId> = argument.into_iter().collect();
        let parameters: Vec<_> = args
            .iter()
            .map(|&arg| (external_kind(self.types, self.ty(arg), Usage::READ_WRITE), self.ty(arg)))
            .collect();
        self.call_native(CPU_CUSTOM, &parameters, &args, result)
    }

    /// The address of a variable.
    pub(super) fn address_of(&mut self, lvalue: ValueId) -> Result<Option<ValueId>> {
        let parameter = (ArgumentKind::Reference, self.ty(lvalue));
        self.call_native(ADDRESS_OF, &[parameter], &[lvalue], TypeId::U64)
    }

    fn call_native(
        &mut self,
        name: &str,
        parameters: &[(ArgumentKind, TypeId)],
        args: &[ValueId],
        result: TypeId,
    ) -> Result<Option<ValueId>> {
        let types = self.types;
        let mut operands = Vec::with_capacity(args.len());
        for (&(kind, ty), &argument) in parameters.iter().zip(args) {
            let fits = match kind {
                ArgumentKind::Value => types.is_data(ty),
                ArgumentKind::Reference => types.is_data(ty) || types.is_custom(ty),
                ArgumentKind::Resource => types.is_resource(ty),
            };
            if !fits {
                let text = format!("`{name}` cannot take {}", self.describe(ty));
                return Err(self.error(TYPE_MISMATCH, text));
            }
            operands.push(self.actual(kind, ty, argument)?);
        }
        if result != TypeId::VOID && !types.is_data(result) {
            let text = format!("`{name}` cannot return {}", self.describe(result));
            return Err(self.error(TYPE_MISMATCH, text));
        }
        let (name, parameters) = (name.into(), parameters.into());
        let callee = self.natives.borrow_mut().declare(Signature { name, parameters, result });
        let inst = self.inst(Op::Call, result, &operands, &[], Imm::Callee(callee));
        Ok(self.func.result(inst))
    }
}

fn external_of(callee: Callee) -> Option<ExternalId> {
    match callee {
        Callee::External(id) => Some(id),
        _ => None,
    }
}
