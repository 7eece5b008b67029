//! One library of several: types, constants, externals and functions with new numbers.

use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap};
use rustc_hash::FxHashMap;

use super::resolve::{Place, Resolved};
use super::{Linked, Part, codes};
use crate::callops::CallOp;
use crate::diagnostic::{Diagnostic, remedy};
use crate::model::{
    Callee, Constant, ConstantId, ExprKind, External, ExternalId, Function, FunctionId, Library,
};
use crate::types::{Member, TypeId, TypeKind, TypeTable};

pub(super) fn merge(parts: Vec<Part>, resolved: &Resolved) -> Result<Linked, Diagnostic> {
    let order = order(&parts, resolved)?;
    let mut places: FxHashMap<Place, FunctionId> = FxHashMap::default();
    for (i, place) in order.iter().enumerate() {
        places.insert(*place, FunctionId::new(i));
    }
    let mut merger = Merger {
        resolved,
        places,
        library: Library::new(),
        constants: FxHashMap::default(),
        externals: Vec::new(),
    };
    let mut bodies: Vec<PrimaryMap<FunctionId, Option<Function>>> = Vec::new();
    let mut maps = Vec::new();
    for (i, part) in parts.into_iter().enumerate() {
        let mut library = part.library;
        if i == 0 {
            merger.library.types = std::mem::take(&mut library.types);
            merger.library.listed_types = std::mem::take(&mut library.listed_types);
            merger.library.entry = library.entry.and_then(|e| merger.places.get(&(0, e)).copied());
            maps.push(merger.map(i, None, &library));
        } else {
            let types = std::mem::take(&mut library.types);
            maps.push(merger.map(i, Some(&types), &library));
        }
        let functions = std::mem::take(&mut library.functions);
        bodies.push(functions.into_iter().map(|(_, f)| Some(f)).collect());
    }
    let mut origins = PrimaryMap::new();
    for place in order {
        let Some(mut function) = bodies[place.0][place.1].take() else { continue };
        merger.renumber(place.0, &maps[place.0], &mut function);
        merger.library.functions.push(function);
        origins.push(place);
    }
    Ok(Linked { library: merger.library, origins })
}

/// New numbers of what a part has.
struct Map {
    /// Nothing changes if there is none.
    types: Option<SecondaryMap<TypeId, TypeId>>,
    constants: SecondaryMap<ConstantId, Option<ConstantId>>,
    externals: SecondaryMap<ExternalId, Option<ExternalId>>,
}

impl Map {
    fn ty(&self, ty: TypeId) -> TypeId {
        self.types.as_ref().map_or(ty, |types| types[ty])
    }
}

struct Merger<'a> {
    resolved: &'a Resolved,
    places: FxHashMap<Place, FunctionId>,
    library: Library,
    constants: FxHashMap<Constant, ConstantId>,
    externals: Vec<ExternalId>,
}

impl Merger<'_> {
    fn map(&mut self, part: usize, types: Option<&TypeTable>, library: &Library) -> Map {
        let mut map = Map {
            types: types.map(|types| intern(&mut self.library.types, types)),
            constants: SecondaryMap::new(),
            externals: SecondaryMap::new(),
        };
        for (id, constant) in &library.constants {
            let constant = Constant { ty: map.ty(constant.ty), bytes: constant.bytes.clone() };
            let known = self.constants.get(&constant).copied();
            // The numbers of the first part stay what they are.
            let new = known.filter(|_| part > 0).unwrap_or_else(|| {
                let new = self.library.constants.push(constant.clone());
                self.constants.insert(constant, new);
                new
            });
            map.constants[id] = Some(new);
        }
        for (id, external) in &library.externals {
            if self.resolved.callables[part][id].is_some() {
                continue;
            }
            let external = External {
                return_type: map.ty(external.return_type),
                argument_types: external.argument_types.iter().map(|ty| map.ty(*ty)).collect(),
                ..external.clone()
            };
            let same = |known: &&ExternalId| self.library.externals[**known] == external;
            let known = self.externals.iter().find(same).copied();
            map.externals[id] = Some(known.unwrap_or_else(|| {
                let new = self.library.externals.push(external);
                self.externals.push(new);
                new
            }));
        }
        map
    }

    /// Gives a function of a part the numbers of the whole.
    fn renumber(&self, part: usize, map: &Map, function: &mut Function) {
        function.return_type = map.ty(function.return_type);
        for variable in function.variables.values_mut() {
            variable.ty = map.ty(variable.ty);
        }
        for constant in &mut function.listed_constants {
            *constant = map.constants[*constant].unwrap_or(*constant);
        }
        let place = |id: FunctionId| self.places.get(&(part, id)).copied().unwrap_or(id);
        for expr in function.exprs.values_mut() {
            expr.ty = map.ty(expr.ty);
            match &mut expr.kind {
                ExprKind::Constant(constant) => {
                    *constant = map.constants[*constant].unwrap_or(*constant);
                }
                ExprKind::TypeId(ty) => *ty = map.ty(*ty),
                ExprKind::FuncRef(callee) => *callee = callee.map(place).into(),
                ExprKind::Call { op, callee, .. } => match *callee {
                    Callee::Builtin => {}
                    Callee::Function(id) => *callee = Callee::Function(place(id)),
                    Callee::External(id) => match self.resolved.callables[part][id] {
                        Some(target) => {
                            let target = self.places.get(&target).copied();
                            (*op, *callee) =
                                (CallOp::Custom, target.map_or(*callee, Callee::Function));
                        }
                        None => *callee = map.externals[id].map_or(*callee, Callee::External),
                    },
                },
                _ => {}
            }
        }
    }
}

/// Adds the types of one table to another: elements come before what they are an element of. A type that was valid in
/// its own table is valid in any.
fn intern(into: &mut TypeTable, from: &TypeTable) -> SecondaryMap<TypeId, TypeId> {
    let mut map: SecondaryMap<TypeId, TypeId> = SecondaryMap::with_default(TypeId::VOID);
    for id in from.ids() {
        let kind = match from.kind(id) {
            TypeKind::Array { elem, len } => TypeKind::Array { elem: map[*elem], len: *len },
            TypeKind::Buffer { elem, attrs } => {
                TypeKind::Buffer { elem: map[*elem], attrs: attrs.clone() }
            }
            TypeKind::Struct { align, members } => {
                let member = |m: &Member| Member { ty: map[m.ty], attrs: m.attrs.clone() };
                TypeKind::Struct { align: *align, members: members.iter().map(member).collect() }
            }
            other => other.clone(),
        };
        map[id] = into.intern(kind).unwrap_or(TypeId::VOID);
    }
    map
}

/// All functions, callees first, and else part by part from the last one on, so that the first part comes last.
fn order(parts: &[Part], resolved: &Resolved) -> Result<Vec<Place>, Diagnostic> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        Open,
        Done,
    }
    let mut states: FxHashMap<Place, State> = FxHashMap::default();
    let mut order = Vec::new();
    let starts = parts.iter().enumerate().rev();
    for start in starts.flat_map(|(i, p)| p.library.functions.keys().map(move |id| (i, id))) {
        if states.contains_key(&start) {
            continue;
        }
        states.insert(start, State::Open);
        let mut path = vec![(start, callees(parts, resolved, start), 0)];
        while let Some((place, called, next)) = path.last_mut() {
            let Some(callee) = called.get(*next).copied() else {
                states.insert(*place, State::Done);
                order.push(*place);
                path.pop();
                continue;
            };
            *next += 1;
            match states.get(&callee) {
                Some(State::Done) => {}
                Some(State::Open) => return Err(circle(parts, callee)),
                None => {
                    states.insert(callee, State::Open);
                    path.push((callee, callees(parts, resolved, callee), 0));
                }
            }
        }
    }
    Ok(order)
}

/// What a function calls, in order, each once.
fn callees(parts: &[Part], resolved: &Resolved, (part, id): Place) -> Vec<Place> {
    let mut found: Vec<Place> = Vec::new();
    let mut seen = rustc_hash::FxHashSet::default();
    for expr in parts[part].library.functions[id].exprs.values() {
        let callee = match expr.kind {
            ExprKind::Call { callee: Callee::Function(callee), .. } => Some((part, callee)),
            ExprKind::Call { callee: Callee::External(external), .. } => {
                resolved.callables[part][external]
            }
            ExprKind::FuncRef(callee) => callee.expand().map(|callee| (part, callee)),
            _ => None,
        };
        found.extend(callee.filter(|c| seen.insert(*c)));
    }
    found
}

fn circle(parts: &[Part], (part, id): Place) -> Diagnostic {
    let part = &parts[part];
    let name = part.library.function_name(id);
    let message = format!("{name} of `{}` calls itself through other inputs", part.name);
    Diagnostic {
        help: remedy(&[codes::CODES], codes::CIRCLE),
        ..Diagnostic::error(codes::CIRCLE, message)
    }
}
