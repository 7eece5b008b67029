//! Passes that bring a module into the form that another pass asks for.

use luisac_passes::registry::PASSES;
use luisac_passes::{Form, Pass, PassCall, Requires, Step};
use std::collections::VecDeque;

/// Passes in between are no more than so many.
const MAX_STEPS: usize = 3;

/// The shortest list of passes after which `form` has what `pass` requires; the first in the order of the registry among
/// lists of one length. `None` if there is none.
pub fn to(form: Form, pass: &Pass) -> Option<Vec<Step>> {
    let setters: Vec<&'static Pass> =
        PASSES.iter().filter(|p| p.declaration.establishes != Requires::NONE).collect();
    let mut pending = VecDeque::from([(form, Vec::new())]);
    while let Some((form, path)) = pending.pop_front() {
        if form.missing(&pass.declaration.requires).is_none() {
            return Some(path);
        }
        if path.len() == MAX_STEPS {
            continue;
        }
        for setter in &setters {
            if form.missing(&setter.declaration.requires).is_none() {
                let after = form.with(&setter.declaration.establishes);
                if after != form {
                    let mut longer = path.clone();
                    longer.push(Step::Pass(PassCall { pass: setter, options: Vec::new() }));
                    pending.push_back((after, longer));
                }
            }
        }
    }
    None
}
