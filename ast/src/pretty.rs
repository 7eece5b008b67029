//! A library as pseudo-code, to be read by people: types, constants, functions, statements, in the order of the input.
//!
//! The text says everything that decides what a kernel does, except the usages and hashes that files carry. It is the
//! same for the same library and cannot be read back. Nodes are written with a stack of their own, so that depth costs
//! no recursion; indentation stops to grow at [`MAX_INDENT`] levels, so that the text stays linear in the input.

mod exprs;
mod names;
mod stmts;
#[cfg(test)]
mod tests;
mod types;
mod values;

use cranelift_entity::SecondaryMap;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::model::{
    Binding, Callee, ExprKind, Function, FunctionId, FunctionTag, Library, StmtId, VariableTag,
};
use crate::types::TypeId;

use names::{Names, function_names};
use types::Types;

/// Levels of indentation from which on deeper ones look the same.
const MAX_INDENT: usize = 40;

/// Variables that are declared on one line.
const NAMES_A_LINE: usize = 12;

/// The library as pseudo-code.
pub fn print(library: &Library) -> String {
    let all: Vec<FunctionId> = library.functions.keys().collect();
    print_only(library, &all)
}

/// As [`print`], of some functions and what they call.
pub fn print_only(library: &Library, functions: &[FunctionId]) -> String {
    print_with_lines(library, functions).0
}

/// The line of each statement, the first line being 1, by function and position of the statement; 0 for what is not written.
pub type Lines = Vec<Vec<u32>>;

/// As [`print_only`], with the lines on which statements start.
pub fn print_with_lines(library: &Library, functions: &[FunctionId]) -> (String, Lines) {
    let lines = vec![Vec::new(); library.functions.len()];
    let mut printer = Printer {
        library,
        types: Types::new(&library.types),
        functions: function_names(library),
        out: String::new(),
        lines,
        counted: (0, 1),
    };
    printer.structures();
    printer.externals();
    printer.constants();
    let wanted = with_callees(library, functions);
    for id in library.functions.keys().filter(|id| wanted[*id]) {
        printer.function(id);
    }
    (printer.out, printer.lines)
}

/// The functions and what they call; callers come after their callees.
fn with_callees(library: &Library, functions: &[FunctionId]) -> SecondaryMap<FunctionId, bool> {
    let mut wanted = SecondaryMap::new();
    for id in functions {
        wanted[*id] = true;
    }
    for (id, function) in library.functions.iter().rev().filter(|_| !functions.is_empty()) {
        if !wanted[id] {
            continue;
        }
        for expr in function.exprs.values() {
            if let ExprKind::Call { callee: Callee::Function(callee), .. } = expr.kind {
                wanted[callee] = true;
            }
        }
    }
    wanted
}

struct Printer<'a> {
    library: &'a Library,
    types: Types<'a>,
    /// Name of each function, by position.
    functions: Vec<String>,
    out: String,
    lines: Lines,
    /// A place in the text, and its line.
    counted: (usize, u32),
}

impl Printer<'_> {
    fn text(&mut self, text: impl AsRef<str>) {
        self.out.push_str(text.as_ref());
    }

    /// Starts a line at a level of nesting.
    fn line(&mut self, level: usize) {
        for _ in 0..level.min(MAX_INDENT) {
            self.out.push_str("    ");
        }
    }

    /// Notes that a statement starts at the end of what is written.
    fn starts(&mut self, function: FunctionId, stmt: StmtId) {
        let (from, line) = self.counted;
        let more = self.out.as_bytes()[from..].iter().filter(|&&b| b == b'\n').count() as u32;
        self.counted = (self.out.len(), line + more);
        let lines = &mut self.lines[function.as_u32() as usize];
        let position = stmt.as_u32() as usize;
        if lines.len() <= position {
            lines.resize(position + 1, 0);
        }
        lines[position] = line + more;
    }

    fn blank(&mut self) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
    }

    fn ty(&mut self, ty: TypeId) {
        self.types.write(ty, &mut self.out);
    }

    fn structures(&mut self) {
        let text = self.types.declarations();
        self.text(text);
    }

    fn externals(&mut self) {
        let library = self.library;
        for external in library.externals.values() {
            self.blank();
            self.text("extern ");
            self.text(names::quoted_unless_word(&external.name));
            self.text("(");
            for (i, ty) in external.argument_types.iter().enumerate() {
                self.text(if i > 0 { ", " } else { "" });
                self.ty(*ty);
                if let Some(usage) = external.argument_usages.get(i).filter(|u| u.writes()) {
                    self.text(format!(" /* {} */", usage.name().to_ascii_lowercase()));
                }
            }
            self.text(")");
            self.result(external.return_type);
            self.text(";\n");
        }
    }

    fn constants(&mut self) {
        let library = self.library;
        for (id, constant) in &library.constants {
            self.blank();
            self.text(format!("const c{}: ", id.as_u32()));
            self.ty(constant.ty);
            self.text(" = ");
            values::write(&self.types, constant.ty, &constant.bytes, &mut self.out);
            self.text(";\n");
        }
    }

    fn function(&mut self, id: FunctionId) {
        let function = &self.library.functions[id];
        let names = Names::new(function);
        self.blank();
        self.text(match function.tag {
            FunctionTag::Kernel => "kernel ",
            FunctionTag::Callable => "callable ",
            FunctionTag::RasterStage => "raster_stage ",
            FunctionTag::Coroutine => "coroutine ",
        });
        let name = self.functions[id.as_u32() as usize].clone();
        self.text(name);
        self.text("(");
        self.arguments(function, &names);
        self.text(")");
        self.result(function.return_type);
        self.attributes(function);
        self.text(" {\n");
        self.variables(function, &names);
        self.statements(id, &names);
        self.text("}\n");
    }

    fn result(&mut self, ty: TypeId) {
        if ty != TypeId::VOID {
            self.text(" -> ");
            self.ty(ty);
        }
    }

    fn arguments(&mut self, function: &Function, names: &Names) {
        for (i, argument) in function.arguments.iter().enumerate() {
            let variable = &function.variables[*argument];
            self.text(if i > 0 { ", " } else { "" });
            self.text(names.of(*argument));
            self.text(if variable.tag == VariableTag::Reference { ": &" } else { ": " });
            self.ty(variable.ty);
            if let Some(binding) = function.bindings.get(i) {
                self.text(format!(" /* {} */", bound(binding)));
            }
        }
    }

    fn attributes(&mut self, function: &Function) {
        if function.tag == FunctionTag::Kernel && function.block_size != [0; 3] {
            let [x, y, z] = function.block_size;
            self.text(format!(" block({x}, {y}, {z})"));
        }
        if let Some(size) = function.allowed_warp_size {
            self.text(format!(" warp({size})"));
        }
        if !function.curve_bases.is_empty() {
            let bases: Vec<String> =
                function.curve_bases.names().map(str::to_ascii_lowercase).collect();
            self.text(format!(" curves({})", bases.join(", ")));
        }
    }

    /// Declarations of what is neither an argument nor given by the machine, those of one type together.
    fn variables(&mut self, function: &Function, names: &Names) {
        let mut groups: Vec<(bool, TypeId, Vec<&str>)> = Vec::new();
        let mut places = FxHashMap::default();
        let arguments: FxHashSet<_> = function.arguments.iter().collect();
        for (id, variable) in &function.variables {
            if variable.tag.is_builtin() || arguments.contains(&id) {
                continue;
            }
            let shared = variable.tag == VariableTag::Shared;
            let place = *places.entry((shared, variable.ty)).or_insert_with(|| {
                groups.push((shared, variable.ty, Vec::new()));
                groups.len() - 1
            });
            groups[place].2.push(names.of(id));
        }
        for (shared, ty, group) in &groups {
            for names in group.chunks(NAMES_A_LINE) {
                self.line(1);
                self.text(if *shared { "shared " } else { "var " });
                self.text(names.join(", "));
                self.text(": ");
                self.ty(*ty);
                self.text(";\n");
            }
        }
        let has_body = function.body.expand().is_some_and(|b| !function.scope(b).is_empty());
        if !groups.is_empty() && has_body {
            self.text("\n");
        }
    }
}

/// What an argument is bound to.
fn bound(binding: &Binding) -> String {
    match binding {
        Binding::Buffer { handle, offset, size } => {
            format!("buffer {handle}, bytes {offset} to {}", offset.saturating_add(*size))
        }
        Binding::Texture { handle, level } => format!("texture {handle}, level {level}"),
        Binding::BindlessArray { handle } => format!("bindless array {handle}"),
        Binding::Accel { handle } => format!("accel {handle}"),
    }
}
