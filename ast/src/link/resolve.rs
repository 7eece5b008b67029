//! Which callable stands for which external function.

use cranelift_entity::SecondaryMap;
use rustc_hash::FxHashMap;

use super::{Part, codes};
use crate::diagnostic::{Diagnostic, Diagnostics, remedy};
use crate::hash;
use crate::model::{External, ExternalId, Function, FunctionId, FunctionTag, Library};
use crate::types::{TypeId, TypeTable};

/// A function of a part.
pub(super) type Place = (usize, FunctionId);

pub(super) struct Resolved {
    /// For each part, the callable of each external function.
    pub callables: Vec<SecondaryMap<ExternalId, Option<Place>>>,
    pub warnings: Diagnostics,
}

pub(super) fn resolve(parts: &[Part]) -> Result<Resolved, Diagnostics> {
    let mut errors = Diagnostics::new();
    let names = names(parts, &mut errors);
    let mut resolved = Resolved { callables: Vec::new(), warnings: Diagnostics::new() };
    for part in parts {
        let mut of_part = SecondaryMap::new();
        for (id, external) in &part.library.externals {
            match names.get(external.name.as_str()) {
                None => resolved.warnings.push(unresolved(part, external)),
                Some(&(place, function)) => {
                    let library = &parts[place].library;
                    match mismatch(&part.library, external, library, &library.functions[function]) {
                        None => of_part[id] = Some((place, function)),
                        Some(why) => errors.push(error(
                            codes::SIGNATURE,
                            format!(
                                "`{}` of `{}` does not fit its declaration in `{}`: {why}",
                                external.name, parts[place].name, part.name
                            ),
                        )),
                    }
                }
            }
        }
        resolved.callables.push(of_part);
    }
    if errors.is_empty() { Ok(resolved) } else { Err(errors) }
}

/// The callable of each name; those of the first part win over equal ones of the others.
fn names<'a>(parts: &'a [Part], errors: &mut Diagnostics) -> FxHashMap<&'a str, Place> {
    let mut names: FxHashMap<&str, (Place, u64)> = FxHashMap::default();
    for (i, part) in parts.iter().enumerate() {
        let hashes = hash::functions(&part.library);
        for (id, function) in &part.library.functions {
            let Some(name) = function.name.as_deref() else { continue };
            if function.tag != FunctionTag::Callable {
                continue;
            }
            let hash = hashes[id].function;
            let ((other, _), first) = *names.entry(name).or_insert(((i, id), hash));
            if first != hash && other != i {
                errors.push(error(
                    codes::CLASH,
                    format!(
                        "`{name}` is one callable in `{}` and another in `{}`",
                        parts[other].name, part.name
                    ),
                ));
            }
        }
    }
    names.into_iter().map(|(name, (place, _))| (name, place)).collect()
}

/// Why a callable cannot stand for an external function.
fn mismatch(
    from: &Library,
    external: &External,
    to: &Library,
    callable: &Function,
) -> Option<String> {
    let (wanted, given) = (external.argument_types.len(), callable.arguments.len());
    if wanted != given {
        return Some(format!("it takes {given} arguments, not {wanted}"));
    }
    let differ = |a: TypeId, b: TypeId| {
        let (a, b) = (describe(&from.types, a), describe(&to.types, b));
        (a != b).then_some((a, b))
    };
    if let Some((wanted, given)) = differ(external.return_type, callable.return_type) {
        return Some(format!("it returns `{given}`, not `{wanted}`"));
    }
    let types = external.argument_types.iter().zip(&callable.arguments);
    types.enumerate().find_map(|(i, (wanted, argument))| {
        let (wanted, given) = differ(*wanted, callable.variables[*argument].ty)?;
        Some(format!("argument {i} is `{given}`, not `{wanted}`"))
    })
}

fn describe(types: &TypeTable, ty: TypeId) -> String {
    types.description(ty)
}

fn error(code: crate::diagnostic::Code, message: String) -> Diagnostic {
    Diagnostic { help: remedy(&[codes::CODES], code), ..Diagnostic::error(code, message) }
}

fn unresolved(part: &Part, external: &External) -> Diagnostic {
    let message =
        format!("no library has the callable `{}` that `{}` calls", external.name, part.name);
    Diagnostic {
        help: remedy(&[codes::CODES], codes::UNRESOLVED),
        ..Diagnostic::warning(codes::UNRESOLVED, message)
    }
}
