//! The end of a function: arguments in order, checks, equal callables become one.

use cranelift_entity::SecondaryMap;

use super::error::{self, Built, fault};
use super::session::{Parameter, Session, State};
use crate::callops::UsedOps;
use crate::check::Part;
use crate::hash;
use crate::model::{Function, FunctionId, FunctionTag, Usage, VariableId};

/// What is known about a function besides the function.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FunctionInfo {
    /// What really happens to each variable; the variables themselves have the usage that files mark.
    pub effective: SecondaryMap<VariableId, Usage>,
    /// The operations it uses.
    pub ops: UsedOps,
    /// The callables it calls directly, in the order of their first calls.
    pub callees: Vec<FunctionId>,
    /// Its structural hash: see [`hash`](crate::hash).
    pub hash: u64,
}

impl Session {
    /// Ends the innermost function and adds it to the library, unless it is a callable that is there already.
    pub fn finish(&mut self) -> Built<(FunctionId, Vec<Parameter>)> {
        if self.top()?.scopes.len() != 1 {
            return fault(error::NOT_CURRENT, "the body of a scope did not come to its end");
        }
        let body = self.close_scope()?;
        let state = self.top()?;
        state.function.body = body.into();
        if state.function.tag == FunctionTag::Kernel {
            state.sort_arguments();
        }
        state.function.shrink_to_fit();
        self.check(Part::Declarations)?;
        let state = self.top()?;
        let parameters = std::mem::take(&mut state.parameters);
        let info = FunctionInfo {
            effective: std::mem::take(&mut state.effective),
            ops: state.ops,
            callees: std::mem::take(&mut state.callees),
            hash: 0,
        };
        let function = std::mem::replace(&mut state.function, Function::new(FunctionTag::Callable));
        Ok((self.insert(function, info), parameters))
    }

    /// Adds a function to the library; a callable that is equal to an earlier one is that one, unless they have names
    /// of their own.
    pub fn insert(&mut self, function: Function, mut info: FunctionInfo) -> FunctionId {
        let hashes = |id: FunctionId| self.infos[id].hash;
        info.hash = hash::function(&self.library, &function, hashes).function;
        if function.tag == FunctionTag::Callable {
            let known = self.by_hash.get(&info.hash).into_iter().flatten().copied();
            let equal = known.into_iter().find(|id| {
                let other = &self.library.functions[*id];
                let named = function.name.is_none() || function.name == other.name;
                named && hash::equal(&function, other)
            });
            if let Some(id) = equal {
                return id;
            }
        }
        self.add(function, info)
    }

    /// Adds a function to the library.
    pub fn add(&mut self, function: Function, info: FunctionInfo) -> FunctionId {
        let hash = info.hash;
        let id = self.library.functions.push(function);
        self.infos.push(info);
        self.by_hash.entry(hash).or_default().push(id);
        id
    }
}

impl State {
    /// Puts the bound arguments of a kernel first, and leaves the order otherwise.
    fn sort_arguments(&mut self) {
        let mut order: Vec<usize> = (0..self.parameters.len()).collect();
        order.sort_by_key(|i| !matches!(self.parameters[*i], Parameter::Bound(_)));
        self.function.arguments = order.iter().map(|i| self.function.arguments[*i]).collect();
        self.parameters = order.iter().map(|i| self.parameters[*i]).collect();
        self.function.bindings = self
            .parameters
            .iter()
            .filter_map(|p| match p {
                Parameter::Bound(binding) => Some(*binding),
                _ => None,
            })
            .collect();
    }
}
