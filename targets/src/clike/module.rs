//! What the functions of a kernel share: names, types, constants, helpers, and the parts of the text.

use luisac_artifact::ParamLayout;
use luisac_artifact::bindings::{Bindings, Slot};
use luisac_artifact::metadata::{BoundsMode, MathMode};
use luisac_ast::diagnostic::{Code, Diagnostic};
use luisac_ast::types::{Scalar, TypeId, TypeKind, TypeTable};
use luisac_xir::{ConstBytes, Function, FunctionId, Module, Op, ValueDef};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt::Write;

use super::expr::Expr;
use super::instances::{Form, Needs};
use super::language::Language;
use super::literal;
use super::names::{COMMON_WORDS, Namer};
use super::{Emit, hlsl, msl};
use crate::usage::reachable_callees_first;
use crate::{EmitOptions, errors};

/// Abilities of the device that a text asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// Integers and floats of 16 bits.
    pub short: bool,
    /// Integers of 64 bits.
    pub long: bool,
    /// Floats of 64 bits.
    pub double: bool,
    /// Atomic operations on 64 bits.
    pub long_atomics: bool,
    /// Atomic operations on 64 bits of shared memory.
    pub long_shared_atomics: bool,
    /// Operations of waves.
    pub wave: bool,
    /// Heaps of bindless arrays.
    pub bindless: bool,
}

/// One emission.
pub struct ModuleEmit<'a> {
    pub language: Language,
    pub module: &'a Module,
    pub types: &'a TypeTable,
    /// The kernel, or the callable that is written by itself.
    pub kernel: FunctionId,
    /// Whether threads outside of the dispatch return first of all.
    pub outside_returns: bool,
    pub options: &'a EmitOptions,
    pub layout: ParamLayout,
    pub slots: Vec<Vec<Slot>>,
    pub bindings: Bindings,
    pub needs: FxHashMap<FunctionId, Needs>,
    /// Names of the module: functions, types, what is global.
    pub names: Namer,
    pub uses: Uses,
    pub shared_bytes: u64,
    function_names: FxHashMap<FunctionId, String>,
    forms: FxHashMap<Form, String>,
    formed: FxHashSet<FunctionId>,
    /// Forms whose text is still to be made.
    pub waiting: Vec<Form>,
    type_names: FxHashMap<TypeId, String>,
    type_text: String,
    constants: FxHashMap<(TypeId, ConstBytes), String>,
    constant_text: String,
    helpers: FxHashSet<String>,
    helper_text: String,
    /// Resources, and variables of the block.
    pub globals: String,
    /// Parameters of the entry, where resources are parameters.
    pub entry_parameters: Vec<String>,
    /// Whether types lie in memory as they are in registers.
    pub plain: FxHashMap<TypeId, bool>,
}

impl<'a> ModuleEmit<'a> {
    /// A module without text.
    pub fn new(
        language: Language,
        module: &'a Module,
        kernel: FunctionId,
        options: &'a EmitOptions,
        layout: ParamLayout,
        places: (Vec<Vec<Slot>>, Bindings),
    ) -> Emit<ModuleEmit<'a>> {
        let words = match language {
            Language::Hlsl => hlsl::WORDS,
            Language::Msl => msl::WORDS,
        };
        let mut cx = ModuleEmit {
            language,
            module,
            types: &module.types,
            outside_returns: true,
            kernel,
            options,
            layout,
            slots: places.0,
            bindings: places.1,
            needs: super::instances::needs(module, kernel, options.bounds != BoundsMode::Off),
            names: Namer::new(COMMON_WORDS.iter().chain(words).copied()),
            uses: Uses::default(),
            shared_bytes: 0,
            function_names: FxHashMap::default(),
            forms: FxHashMap::default(),
            formed: FxHashSet::default(),
            waiting: Vec::new(),
            type_names: FxHashMap::default(),
            type_text: String::new(),
            constants: FxHashMap::default(),
            constant_text: String::new(),
            helpers: FxHashSet::default(),
            helper_text: String::new(),
            globals: String::new(),
            entry_parameters: Vec::new(),
            plain: FxHashMap::default(),
        };
        cx.names.reserve(&crate::metadata::entry_symbol(&module.functions[kernel]));
        cx.declare_all()?;
        Ok(cx)
    }

    /// Names the functions that are reached, and declares the types that they use.
    fn declare_all(&mut self) -> Emit<()> {
        let module = self.module;
        for id in reachable_callees_first(module, self.kernel) {
            let function = &module.functions[id];
            if id == self.kernel && !function.is_kernel() {
                self.function_names.insert(id, crate::metadata::entry_symbol(function));
            } else if !function.is_kernel() {
                let name = self.names.fresh(&function.name, "function");
                self.function_names.insert(id, name);
            }
            self.declare(function.return_type)?;
            for argument in &function.arguments {
                let ty = match self.types.kind(argument.ty) {
                    TypeKind::Buffer { elem, .. } => *elem,
                    _ => argument.ty,
                };
                self.declare(ty)?;
            }
            self.declare_used(function)?;
        }
        Ok(())
    }

    fn declare_used(&mut self, function: &Function) -> Emit<()> {
        for block in function.blocks() {
            for inst in function.insts(block) {
                for &arg in function.args(inst) {
                    if !matches!(function.value_def(arg), ValueDef::Argument(_)) {
                        self.declare(function.value_type(arg))?;
                    }
                }
                if !matches!(function.op(inst), Op::RayQueryRead(_)) {
                    self.declare(function.inst(inst).ty)?;
                }
            }
        }
        Ok(())
    }

    /// Whether float arithmetic is exact.
    pub fn is_precise(&self) -> bool {
        self.options.math == MathMode::Precise
    }

    // ---- types

    /// Declares a type and what it is made of, elements first.
    fn declare(&mut self, ty: TypeId) -> Emit<()> {
        if self.type_names.contains_key(&ty) {
            return Ok(());
        }
        let mut inner = Vec::new();
        let mut pending = vec![ty];
        let mut seen = FxHashSet::default();
        while let Some(ty) = pending.pop() {
            if self.type_names.contains_key(&ty) || !seen.insert(ty) {
                continue;
            }
            inner.push(ty);
            match self.types.kind(ty) {
                TypeKind::Struct { members, .. } => pending.extend(members.iter().map(|m| m.ty)),
                TypeKind::Array { elem, .. } => pending.push(*elem),
                _ => {}
            }
        }
        // Elements have smaller ids than what they are elements of.
        inner.sort_unstable();
        inner.into_iter().try_for_each(|ty| self.declare_one(ty))
    }

    fn declare_one(&mut self, ty: TypeId) -> Emit<()> {
        let name = match self.types.kind(ty) {
            TypeKind::Void => "void".to_string(),
            TypeKind::Scalar(s) | TypeKind::Vector { elem: s, .. } => {
                self.note_scalar(*s, ty)?;
                self.language.vector(*s, self.types.dim(ty))
            }
            TypeKind::Matrix { dim } => format!("float{dim}x{dim}"),
            TypeKind::Array { elem, len } => self.declare_array(*elem, *len, ty),
            TypeKind::Struct { .. } => self.declare_struct(ty),
            TypeKind::Buffer { .. }
            | TypeKind::Texture { .. }
            | TypeKind::BindlessArray
            | TypeKind::Accel => return Ok(()),
            TypeKind::Custom(name) if &**name == "LC_IndirectDispatchBuffer" => return Ok(()),
            _ => return Err(self.no_type(ty)),
        };
        self.type_names.insert(ty, name);
        Ok(())
    }

    fn no_type(&self, ty: TypeId) -> Box<Diagnostic> {
        let what = self.types.description(ty);
        let language = self.language.title();
        self.refuse(
            errors::UNSUPPORTED_TYPE,
            format!("{language} has no type that holds `{what}`"),
            "convert to another type",
        )
    }

    fn note_scalar(&mut self, scalar: Scalar, ty: TypeId) -> Emit<()> {
        match scalar {
            Scalar::I16 | Scalar::U16 | Scalar::F16 => self.uses.short = true,
            Scalar::I64 | Scalar::U64 => self.uses.long = true,
            Scalar::F64 if self.language == Language::Hlsl => self.uses.double = true,
            Scalar::F64 | Scalar::F8E4M3 | Scalar::F8E5M2 | Scalar::I4 | Scalar::F4E2M1 => {
                return Err(self.no_type(ty));
            }
            _ => {}
        }
        Ok(())
    }

    fn declare_array(&mut self, elem: TypeId, len: u32, ty: TypeId) -> String {
        let inner = self.type_name(elem);
        let name = self.names.fresh(&format!("{inner}_array{len}"), "array");
        let align = self.alignment(ty);
        let _ = writeln!(self.type_text, "struct {align}{name} {{ {inner} at[{len}]; }};\n");
        name
    }

    fn declare_struct(&mut self, ty: TypeId) -> String {
        let name = self.names.fresh("Struct1", "Struct");
        let align = self.alignment(ty);
        let _ = writeln!(self.type_text, "struct {align}{name} {{");
        for i in 0..self.types.member_count(ty) {
            let member = self.types.element_type(ty, i).unwrap_or(TypeId::VOID);
            let inner = self.type_name(member);
            let _ = writeln!(self.type_text, "    {inner} m{i};");
        }
        if self.types.member_count(ty) == 0 {
            self.type_text.push_str("    uint unused;\n");
        }
        self.type_text.push_str("};\n\n");
        name
    }

    /// In MSL, plain structures lie in memory as they are declared.
    fn alignment(&mut self, ty: TypeId) -> String {
        let is_exact = self.language == Language::Msl && msl::is_plain(self, ty);
        if is_exact { format!("alignas({}) ", self.types.align(ty)) } else { String::new() }
    }

    /// The name of a type in registers.
    pub fn type_name(&self, ty: TypeId) -> String {
        match self.types.kind(ty) {
            TypeKind::Scalar(s) | TypeKind::Vector { elem: s, .. } => {
                self.language.vector(*s, self.types.dim(ty))
            }
            TypeKind::Matrix { dim } => format!("float{dim}x{dim}"),
            _ => self.type_names.get(&ty).cloned().unwrap_or_else(|| "void".to_string()),
        }
    }

    /// Whether a value of this type holds floats.
    pub fn has_floats(&self, ty: TypeId) -> bool {
        let mut pending = vec![ty];
        let mut seen = FxHashSet::default();
        while let Some(ty) = pending.pop() {
            match self.types.kind(ty) {
                TypeKind::Struct { members, .. } => {
                    pending.extend(members.iter().map(|m| m.ty).filter(|&t| seen.insert(t)));
                }
                TypeKind::Array { elem, .. } => pending.push(*elem),
                _ if self.types.scalar_of(ty).is_some_and(Scalar::is_float) => return true,
                _ => {}
            }
        }
        false
    }

    // ---- constants

    /// A constant; long ones are declared once.
    pub fn constant(&mut self, ty: TypeId, bytes: &ConstBytes) -> Expr {
        let data = bytes.as_slice();
        match self.types.kind(ty) {
            TypeKind::Matrix { .. } => literal::matrix(self.language, self.types, ty, data),
            TypeKind::Array { .. } | TypeKind::Struct { .. } => {
                if data.iter().all(|&b| b == 0) {
                    return self.zero(ty);
                }
                let key = (ty, bytes.clone());
                if let Some(name) = self.constants.get(&key) {
                    return Expr::atom(name.clone());
                }
                let name = format!("lc_constant{}", self.constants.len());
                let text = literal::initialiser(self.language, self.types, ty, data);
                let space = match self.language {
                    Language::Hlsl => "static const",
                    Language::Msl => "constant",
                };
                let inner = self.type_name(ty);
                let _ = writeln!(self.constant_text, "{space} {inner} {name} = {text};\n");
                self.constants.insert(key, name.clone());
                Expr::atom(name)
            }
            _ => literal::vector(self.language, self.types, ty, data),
        }
    }

    /// The value whose bytes are all zero.
    pub fn zero(&mut self, ty: TypeId) -> Expr {
        match self.types.kind(ty) {
            TypeKind::Array { .. } | TypeKind::Struct { .. } | TypeKind::Matrix { .. } => {
                let name = self.type_name(ty);
                match self.language {
                    Language::Hlsl => {
                        Expr { prec: super::expr::Prec::Unary, ..Expr::atom(format!("({name})0")) }
                    }
                    Language::Msl if self.types.is_matrix(ty) => {
                        Expr::atom(format!("{name}(0.0f)"))
                    }
                    Language::Msl => Expr::atom(format!("{name}{{}}")),
                }
            }
            _ => literal::vector(self.language, self.types, ty, &[0; 64]),
        }
    }

    // ---- helpers

    /// Adds a helper function once; `text` is made when it is new, after what it calls.
    pub fn helper(&mut self, name: &str, text: impl FnOnce(&mut Self) -> String) {
        if self.helpers.insert(name.to_string()) {
            let text = text(self);
            self.helper_text.push_str(&text);
            if !text.ends_with("\n\n") {
                self.helper_text.push('\n');
            }
        }
    }

    // ---- functions

    /// The name of a form of a callable, whose text will be made.
    pub fn form(&mut self, form: Form) -> String {
        if let Some(name) = self.forms.get(&form) {
            return name.clone();
        }
        let base = self.function_names.get(&form.function).cloned();
        let base = base.unwrap_or_else(|| "function".to_string());
        let is_first = self.formed.insert(form.function);
        let name =
            if is_first { base } else { self.names.fresh(&format!("{base}_form"), "function") };
        self.forms.insert(form.clone(), name.clone());
        self.waiting.push(form);
        name
    }

    /// The parts of the text in front of the functions.
    pub fn head(&self) -> [&str; 4] {
        [&self.type_text, &self.constant_text, &self.globals, &self.helper_text]
    }

    // ---- errors

    /// A diagnostic about the kernel.
    pub fn refuse(&self, code: Code, text: String, help: &str) -> Box<Diagnostic> {
        let kernel = self.module.functions[self.kernel].name.clone();
        Box::new(Diagnostic::error(code, text).in_function(kernel).with_help(help))
    }
}
