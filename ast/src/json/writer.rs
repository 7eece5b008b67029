//! Libraries as JSON, in either form.
//!
//! What was read comes out as the same document: types, constants, functions and variables keep their positions. A
//! library from elsewhere is put into the form's order: types that are used, elements first; in version 1 the arguments
//! come first among the variables. The text has no blanks; nodes are written with a stack of their own.

mod nodes;
mod types;

use std::io::Write;

use cranelift_entity::{EntityRef, SecondaryMap};
use rustc_hash::FxHashSet;

use super::{base64, codes};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::model::{
    Binding, ConstantId, ExprKind, Function, FunctionId, FunctionTag, Library, VariableId,
    VariableTag,
};
use crate::place::{Node, Place, locate};
use crate::types::TypeId;

/// A form of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// The dump without a version.
    D0,
    /// Version 1.
    V1,
}

/// The library as JSON.
///
/// # Errors
/// If something in it cannot be written in this form: attributes and cooperative types in either; what has no portable
/// meaning in version 1. All such things, up to a limit.
pub fn write(library: &Library, dialect: Dialect) -> Result<Vec<u8>, Diagnostics> {
    let mut writer = Writer {
        library,
        dialect,
        out: Vec::new(),
        errors: Diagnostics::new(),
        types: SecondaryMap::with_default(u32::MAX),
        variables: SecondaryMap::new(),
    };
    writer.document();
    if writer.errors.is_empty() { Ok(writer.out) } else { Err(writer.errors) }
}

struct Writer<'a> {
    library: &'a Library,
    dialect: Dialect,
    out: Vec<u8>,
    errors: Diagnostics,
    /// Position of each type that is written.
    types: SecondaryMap<TypeId, u32>,
    /// Position of each variable of the function that is being written.
    variables: SecondaryMap<VariableId, u32>,
}

impl Writer<'_> {
    fn text(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn number(&mut self, number: impl std::fmt::Display) {
        // Writing to memory cannot fail.
        let _ = write!(self.out, "{number}");
    }

    fn ty(&mut self, ty: TypeId) {
        let index = self.types[ty];
        self.number(index);
    }

    /// A string with its quotes.
    fn string(&mut self, text: &str) {
        self.out.push(b'"');
        for byte in text.bytes() {
            let escape = match byte {
                b'"' => "\\\"",
                b'\\' => "\\\\",
                8 => "\\b",
                12 => "\\f",
                b'\n' => "\\n",
                b'\r' => "\\r",
                b'\t' => "\\t",
                // The dump copies other control characters as they are.
                0..0x20 if self.dialect == Dialect::V1 => {
                    let _ = write!(self.out, "\\u{byte:04x}");
                    continue;
                }
                _ => {
                    self.out.push(byte);
                    continue;
                }
            };
            self.out.extend_from_slice(escape.as_bytes());
        }
        self.out.push(b'"');
    }

    /// Base64 with its quotes.
    fn bytes(&mut self, bytes: &[u8]) {
        self.out.push(b'"');
        base64::encode(bytes, &mut self.out);
        self.out.push(b'"');
    }

    /// Items with commas between them, in brackets.
    fn list<T>(&mut self, items: impl IntoIterator<Item = T>, mut item: impl FnMut(&mut Self, T)) {
        self.out.push(b'[');
        for (i, value) in items.into_iter().enumerate() {
            if i > 0 {
                self.out.push(b',');
            }
            item(self, value);
        }
        self.out.push(b']');
    }

    fn refuse(&mut self, code: Code, place: Option<Place>, message: impl Into<String>) {
        if self.errors.0.len() < 100 {
            let diagnostic = Diagnostic::error(code, message);
            self.errors.push(match place {
                Some(place) => diagnostic
                    .at_pointer(locate(self.library, place))
                    .in_function(self.library.function_name(place.function)),
                None => diagnostic,
            });
        }
    }

    fn strict(&self) -> bool {
        self.dialect == Dialect::V1
    }

    fn document(&mut self) {
        let library = self.library;
        self.text("{");
        if self.strict() {
            self.text("\"schema\":\"luisa.compute.ast\",\"version\":1,");
            self.check_entry();
        }
        self.text("\"types\":");
        self.type_table();
        // Version 1 has both lists even when they are empty.
        if self.strict() || !library.constants.is_empty() {
            self.text(",\"constants\":");
            self.list(library.constants.values(), |w, constant| {
                w.text("{\"type\":");
                w.ty(constant.ty);
                w.text(",\"raw\":");
                w.bytes(&constant.bytes);
                w.text("}");
            });
        }
        if self.strict() && !library.externals.is_empty() {
            let message = "external functions are not allowed in a versioned document";
            self.refuse(codes::UNPORTABLE, None, message);
        }
        if self.strict() || !library.externals.is_empty() {
            self.externals();
        }
        self.text(",\"functions\":");
        self.list(library.functions.keys(), |w, id| w.function(id));
        if let Some(entry) = library.entry.or_else(|| library.functions.last().map(|(id, _)| id)) {
            self.text(",\"entry\":");
            self.number(entry.index());
        }
        self.text("}");
    }

    fn check_entry(&mut self) {
        let last = self.library.functions.last();
        let kernels = self.library.kernels().count();
        if kernels != 1
            || last.is_none_or(|(id, f)| {
                f.tag != FunctionTag::Kernel || self.library.entry.is_some_and(|e| e != id)
            })
        {
            let message =
                "a versioned document has exactly one kernel, as its last function and entry";
            self.refuse(codes::ENTRY, None, message);
        }
    }

    fn externals(&mut self) {
        self.text(",\"external_functions\":");
        self.list(self.library.externals.values(), |w, external| {
            w.text("{\"name\":");
            w.string(&external.name);
            w.text(",\"return_type\":");
            w.ty(external.return_type);
            w.text(",\"argument_types\":");
            w.list(&external.argument_types, |w, ty| w.ty(*ty));
            w.text(",\"argument_usages\":");
            w.list(&external.argument_usages, |w, usage| w.string(usage.name()));
            w.text("}");
        });
    }

    fn function(&mut self, id: FunctionId) {
        let function = &self.library.functions[id];
        let order = self.number_variables(function);
        let kernel = function.tag == FunctionTag::Kernel;
        if self.strict() && !matches!(function.tag, FunctionTag::Kernel | FunctionTag::Callable) {
            let message =
                format!("a `{}` is not allowed in a versioned document", function.tag.name());
            self.refuse(codes::UNPORTABLE, Some(Place::new(id, Node::Function)), message);
        }
        self.text("{\"tag\":");
        self.string(function.tag.name());
        if self.strict() {
            if let Some(name) = &function.name {
                self.text(",\"name\":");
                self.string(name);
            }
            if let Some(size) = function.allowed_warp_size {
                self.text(",\"allowed_warp_size\":");
                self.number(size);
            }
        }
        self.text(",\"curve_bases\":");
        self.list(function.curve_bases.names(), |w, name| w.string(name));
        self.text(",\"variables\":");
        self.list(order, |w, variable| w.variable(id, variable));
        self.text(",\"arguments\":");
        self.list(&function.arguments, |w, argument| {
            let index = w.variables[*argument];
            w.number(index);
        });
        if kernel {
            self.text(",\"bound_arguments\":");
            self.list(&function.bindings, |w, binding| w.binding(binding));
            self.text(",\"block_size\":");
            self.list(function.block_size, |w, size| w.number(size));
        } else {
            self.text(",\"return_type\":");
            self.ty(function.return_type);
        }
        self.text(",\"constants\":");
        self.list(used_constants(function), |w, constant| w.number(constant.index()));
        self.text(",\"body\":");
        self.body(id);
        self.text("}");
    }

    /// Gives each variable its position, and the variables in order: as they are, but in version 1 arguments first.
    fn number_variables(&mut self, function: &Function) -> Vec<VariableId> {
        let mut order: Vec<VariableId> = function.variables.keys().collect();
        if self.strict() {
            let first: FxHashSet<_> = function.arguments.iter().copied().collect();
            order.retain(|v| !first.contains(v));
            order.splice(0..0, function.arguments.iter().copied());
        }
        self.variables = SecondaryMap::with_capacity(order.len());
        for (index, variable) in order.iter().enumerate() {
            self.variables[*variable] = index as u32;
        }
        order
    }

    fn variable(&mut self, function: FunctionId, id: VariableId) {
        let variable = &self.library.functions[function].variables[id];
        let by_value = self.library.functions[function].is_value_argument(id);
        let tag = if by_value { VariableTag::Argument } else { variable.tag };
        if self.strict() && tag.is_builtin() && tag > VariableTag::WarpLaneId {
            let message = format!("`{}` is not allowed in a versioned document", tag.name());
            self.refuse(codes::UNPORTABLE, Some(Place::new(function, Node::Variable(id))), message);
        }
        self.text("{\"tag\":");
        self.string(tag.name());
        self.text(",\"type\":");
        self.ty(variable.ty);
        if self.strict() {
            self.text(",\"usage\":");
            self.string(variable.usage.name());
            if let Some(name) = &variable.name {
                self.text(",\"name\":");
                self.string(name);
            }
        }
        self.text("}");
    }

    fn binding(&mut self, binding: &Binding) {
        let (tag, values): (_, &[(&str, u64)]) = match binding {
            Binding::Buffer { handle, offset, size } => {
                (VariableTag::Buffer, &[("handle", *handle), ("offset", *offset), ("size", *size)])
            }
            Binding::Texture { handle, level } => {
                (VariableTag::Texture, &[("handle", *handle), ("level", *level)])
            }
            Binding::BindlessArray { handle } => {
                (VariableTag::BindlessArray, &[("handle", *handle)])
            }
            Binding::Accel { handle } => (VariableTag::Accel, &[("handle", *handle)]),
        };
        self.text("{\"tag\":");
        self.string(tag.name());
        for (key, value) in values {
            let _ = write!(self.out, ",\"{key}\":\"{value}\"");
        }
        self.text("}");
    }
}

/// The constants that a function lists, and those that it uses besides.
fn used_constants(function: &Function) -> Vec<ConstantId> {
    let mut used = function.listed_constants.clone();
    let mut seen: FxHashSet<_> = used.iter().copied().collect();
    for expr in function.exprs.values() {
        if let ExprKind::Constant(constant) = expr.kind
            && seen.insert(constant)
        {
            used.push(constant);
        }
    }
    used
}
