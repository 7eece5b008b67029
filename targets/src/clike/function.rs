//! Functions: values, statements, and the names they get.
//!
//! An expression stands where its value is used if that is one place of the same block. What reads memory is given a name before anything
//! is written, and what grows too long is too, so the text stays in proportion to the code.

use cranelift_entity::SecondaryMap;
use luisac_ast::diagnostic::Diagnostic;
use luisac_ast::types::TypeId;
use luisac_xir::op::{ArithmeticOp, SpecialRegister};
use luisac_xir::{ArgumentKind, BlockId, Function, FunctionId, Imm, InstId, Op, ValueDef, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Emit;
use super::expr::{Expr, Prec};
use super::instances::{Class, Form, Hop, Root};
use super::language::Language;
use super::lines::Lines;
use super::module::ModuleEmit;
use super::names::Namer;
use super::place::{Memory, Path, Step};
use super::plan::{Event, Plan};
use super::scopes::Scopes;
use crate::errors;

/// A mistake of the compiler itself.
pub fn internal(message: &str) -> Box<Diagnostic> {
    Box::new(
        Diagnostic::error(errors::INTERNAL, message).with_help(
            "this is a mistake in the compiler: report it with the input and the options",
        ),
    )
}

/// A resource argument, by the names that stand for it.
#[derive(Clone, Debug, Default)]
pub struct Resource {
    /// The buffer or image.
    pub handle: String,
    /// The image to sample.
    pub sampled: String,
    /// The size of the buffer in bytes, as an expression of 64 bits.
    pub size: String,
    pub writable: bool,
}

/// One function.
pub struct FnEmit<'e, 'a> {
    pub cx: &'e mut ModuleEmit<'a>,
    pub func: &'a Function,
    pub id: FunctionId,
    pub form: Form,
    pub names: Namer,
    pub lines: Lines,
    /// Names of values, and what is as short as a name.
    bound: SecondaryMap<ValueId, Option<Expr>>,
    /// Expressions that wait for their one use.
    pending: SecondaryMap<ValueId, Option<Expr>>,
    /// Values and places that wait and read memory.
    pub reading: Vec<ValueId>,
    pub paths: FxHashMap<ValueId, Path>,
    /// Places that have one use, behind their definition in the same block.
    pub once: FxHashSet<ValueId>,
    pub resources: Vec<Resource>,
    /// Names of special registers.
    pub specials: [String; SpecialRegister::ALL.len()],
    scopes: Scopes,
    /// Variables that are declared where they are first stored.
    late: FxHashSet<ValueId>,
    flags: Vec<String>,
    block: Option<BlockId>,
}

impl<'e, 'a> FnEmit<'e, 'a> {
    /// A function without text.
    pub fn new(cx: &'e mut ModuleEmit<'a>, form: Form) -> Emit<(FnEmit<'e, 'a>, Plan)> {
        let func = &cx.module.functions[form.function];
        let plan = Plan::of(func).map_err(|_| {
            Box::new(
                Diagnostic::error(errors::WRONG_FORM, "the control flow is not structured")
                    .in_function(func.name.clone())
                    .with_help("end the pipeline with `restructure_cfg`"),
            )
        })?;
        let scopes = Scopes::of(func, &plan);
        let names = cx.names.clone();
        let specials = SpecialRegister::ALL.map(|r| r.name().to_string());
        let emit = FnEmit {
            id: form.function,
            cx,
            func,
            form,
            names,
            lines: Lines::at(1),
            bound: SecondaryMap::new(),
            pending: SecondaryMap::new(),
            reading: Vec::new(),
            paths: FxHashMap::default(),
            once: FxHashSet::default(),
            resources: Vec::new(),
            specials,
            scopes,
            late: FxHashSet::default(),
            flags: Vec::new(),
            block: None,
        };
        Ok((emit, plan))
    }

    // ---- arguments

    /// The parameters of a callable, as text; binds their names.
    pub fn parameters(&mut self) -> Emit<String> {
        let mut list: Vec<String> = Vec::new();
        let needs = self.cx.needs.get(&self.id).cloned().unwrap_or_default();
        let mut roots: FxHashMap<u32, String> = FxHashMap::default();
        for (i, argument) in self.func.arguments.iter().enumerate() {
            let class = self.form.classes.get(i).cloned().unwrap_or(Class::Value);
            let fallback = super::fallback_name(argument, self.cx.types, i);
            let wish = argument.name.as_deref().unwrap_or(&fallback);
            let name = self.names.fresh(wish, &fallback);
            self.resources.push(Resource::default());
            match class {
                Class::Value => {
                    list.push(format!("{} {name}", self.cx.type_name(argument.ty)));
                    self.bound[argument.value] = Some(Expr::atom(name));
                }
                Class::Local | Class::Shared => {
                    let memory = if class == Class::Local { Memory::Thread } else { Memory::Block };
                    list.push(self.reference(memory, argument.ty, &name));
                    self.paths.insert(argument.value, Path::variable(memory, name, argument.ty));
                }
                Class::Path(root, hops) => {
                    let mut path = self.path_parameter(i, root, hops, name, &mut roots, &mut list);
                    path.part_type = argument.ty;
                    path.in_vector = self.cx.types.is_scalar(argument.ty)
                        && path.steps.last().is_some_and(Step::is_component);
                    self.paths.insert(argument.value, path);
                }
                _ => {
                    let need = needs.arguments.get(i).copied().unwrap_or_default();
                    let made = self.resource_parameter(argument.ty, &class, need, &name);
                    list.extend(made.1);
                    self.resources[i] = made.0;
                }
            }
        }
        for register in SpecialRegister::ALL {
            if needs.has(register) {
                let ty = self.cx.language.vector(
                    self.cx
                        .types
                        .scalar_of(register.ty())
                        .unwrap_or(luisac_ast::types::Scalar::U32),
                    self.cx.types.dim(register.ty()),
                );
                list.push(format!("{ty} {}", self.specials[register as usize]));
            }
        }
        Ok(list.join(", "))
    }

    fn reference(&mut self, memory: Memory, ty: TypeId, name: &str) -> String {
        let ty_name = self.cx.type_name(ty);
        match (self.cx.language, memory) {
            (Language::Hlsl, _) => format!("inout {}{ty_name} {name}", self.precise(ty)),
            (Language::Msl, Memory::Thread) => format!("thread {ty_name}& {name}"),
            (Language::Msl, Memory::Block) => format!("threadgroup {ty_name}& {name}"),
        }
    }

    fn path_parameter(
        &mut self,
        position: usize,
        root: Root,
        hops: Vec<Hop>,
        name: String,
        roots: &mut FxHashMap<u32, String>,
        list: &mut Vec<String>,
    ) -> Path {
        let (memory, root_name, root_type) = match root {
            Root::Global(global, ty) => (Memory::Block, global, ty),
            Root::Argument(of, ty) => {
                if of as usize == position {
                    list.push(self.reference(Memory::Thread, ty, &name));
                    roots.insert(of, name.clone());
                }
                let root = roots.get(&of).cloned().unwrap_or_else(|| name.clone());
                (Memory::Thread, root, ty)
            }
        };
        let mut path = Path::variable(memory, root_name, root_type);
        for hop in hops {
            path.steps.push(match hop {
                Hop::Known(known) => Step::Known(known),
                Hop::Index { array } => {
                    let index = self.names.fresh(&format!("{name}_index"), "index");
                    list.push(format!("uint {index}"));
                    Step::Index { array, index: Expr::atom(index) }
                }
            });
        }
        path
    }

    /// Gives an argument of the kernel its name or value.
    pub fn bind(&mut self, value: ValueId, text: Expr) {
        self.bound[value] = Some(text);
    }

    // ---- values

    /// The text of a value; what waited for its one use is taken.
    pub fn value(&mut self, value: ValueId) -> Emit<Expr> {
        if let Some(text) = self.pending[value].take() {
            return Ok(text);
        }
        if let Some(text) = &self.bound[value] {
            return Ok(text.clone());
        }
        match self.func.value_def(value) {
            ValueDef::Constant(_) => {
                let ty = self.func.value_type(value);
                match self.func.constant_bytes(value) {
                    Some(bytes) => Ok(self.cx.constant(ty, &bytes.clone())),
                    None => Err(internal("a constant without bytes")),
                }
            }
            ValueDef::Undefined => Ok(self.cx.zero(self.func.value_type(value))),
            ValueDef::Special(register) => self.special(register),
            _ => Err(internal("a value is used before it is defined")),
        }
    }

    /// The texts of several values.
    pub fn values(&mut self, values: &[ValueId]) -> Emit<Vec<Expr>> {
        values.iter().map(|&v| self.value(v)).collect()
    }

    fn special(&mut self, register: SpecialRegister) -> Emit<Expr> {
        match register {
            SpecialRegister::BlockSize => {
                let kernel = &self.cx.module.functions[self.cx.kernel];
                let size = match kernel.kind {
                    luisac_xir::FunctionKind::Kernel { block_size } => block_size,
                    _ => [1; 3],
                };
                Ok(Expr::atom(format!("uint3({}u, {}u, {}u)", size[0], size[1], size[2])))
            }
            SpecialRegister::ObjectId
            | SpecialRegister::Barycentrics
            | SpecialRegister::FrontFacing
            | SpecialRegister::BaseInstance => Err(self.cx.refuse(
                errors::UNSUPPORTED_OPERATION,
                format!("`{}` is there in raster stages only", register.name()),
                "remove what belongs to raster stages",
            )),
            _ => Ok(Expr::atom(self.specials[register as usize].clone())),
        }
    }

    /// Whether a value has one use, in the block of its definition.
    pub fn is_used_once_here(&self, value: ValueId) -> bool {
        let mut uses = self.func.uses(value);
        let (Some((user, _)), None) = (uses.next(), uses.next()) else { return false };
        self.func.inst_block(user) == self.block && self.block.is_some()
    }

    /// Gives the result of an instruction its text.
    pub fn define(&mut self, inst: InstId, text: Expr) -> Emit<()> {
        let Some(result) = self.func.result(inst) else { return Ok(()) };
        if !self.func.has_uses(result) {
            return Ok(());
        }
        let is_hoisted = self.scopes.is_hoisted(result);
        if text.depth == 0 && !text.reads && text.prec == Prec::Atom && !is_hoisted {
            self.bound[result] = Some(text);
            return Ok(());
        }
        if self.is_used_once_here(result) && text.is_short() && self.may_nest(result, &text) {
            if text.reads {
                self.reading.push(result);
            }
            self.pending[result] = Some(text);
            return Ok(());
        }
        self.declare_value(result, &text).map(|_| ())
    }

    /// Gives the result of an instruction that does something a name of its own; without uses, only does it.
    pub fn define_at_once(&mut self, inst: InstId, text: &Expr) -> Emit<()> {
        match self.func.result(inst).filter(|&r| self.func.has_uses(r)) {
            Some(result) => self.declare_value(result, text).map(|_| ()),
            None => {
                self.lines.push(format!("{};", text.text));
                Ok(())
            }
        }
    }

    /// Under `--math precise` HLSL rounds what goes through a `precise` variable, so what is rounded may only stand in more arithmetic or be
    /// stored in a variable.
    fn may_nest(&self, result: ValueId, text: &Expr) -> bool {
        if !text.rounds || !self.cx.is_precise() || self.cx.language == Language::Msl {
            return true;
        }
        let Some((user, _)) = self.func.uses(result).next() else { return true };
        match self.func.op(user) {
            Op::Arithmetic(op) => matches!(
                op,
                ArithmeticOp::BinaryAdd
                    | ArithmeticOp::BinarySub
                    | ArithmeticOp::BinaryMul
                    | ArithmeticOp::BinaryDiv
                    | ArithmeticOp::UnaryMinus
            ),
            Op::Store => true,
            _ => false,
        }
    }

    /// `precise `, where a variable of this type needs it.
    pub fn precise(&self, ty: TypeId) -> &'static str {
        let needed = self.cx.language == Language::Hlsl && self.cx.is_precise();
        if needed && self.cx.has_floats(ty) { "precise " } else { "" }
    }

    /// Declares a variable for a value and stores the text in it; its name.
    pub fn declare_value(&mut self, value: ValueId, text: &Expr) -> Emit<String> {
        if let Some(bound) = self.bound[value].clone() {
            self.lines.push(format!("{} = {};", bound.text, text.text));
            return Ok(bound.text);
        }
        let ty = self.func.value_type(value);
        let wish = self.func.name_of(value).unwrap_or("t").to_string();
        let name = self.names.fresh(&wish, "t");
        let ty_name = self.cx.type_name(ty);
        self.lines.push(format!("{}{ty_name} {name} = {};", self.precise(ty), text.text));
        self.bound[value] = Some(Expr::atom(name.clone()));
        Ok(name)
    }

    /// Gives a text of some type a name.
    pub fn type_variable(&mut self, ty: TypeId, text: &Expr) -> Emit<Expr> {
        let name = self.names.fresh("t", "t");
        let ty_name = self.cx.type_name(ty);
        self.lines.push(format!("{}{ty_name} {name} = {};", self.precise(ty), text.text));
        Ok(Expr::atom(name))
    }

    /// Gives an index a name.
    pub fn name_index(&mut self, text: Expr) -> Emit<Expr> {
        let name = self.names.fresh("index", "index");
        let is_word = text.text.starts_with("uint(");
        let text = if is_word { text } else { Expr::call("uint", &[text]) };
        self.lines.push(format!("uint {name} = {};", text.text));
        Ok(Expr::atom(name))
    }

    /// Gives a text a name, unless it is as short as one and reads nothing.
    pub fn named(&mut self, ty: TypeId, text: Expr) -> Emit<Expr> {
        if text.depth == 0 && !text.reads { Ok(text) } else { self.type_variable(ty, &text) }
    }

    /// Before something is written: gives what reads memory and waits a name.
    pub fn settle(&mut self) -> Emit<()> {
        for value in std::mem::take(&mut self.reading) {
            if let Some(text) = self.pending[value].take() {
                self.declare_value(value, &text)?;
            } else if let Some(mut path) = self.paths.remove(&value) {
                self.settle_path(&mut path)?;
                self.paths.insert(value, path);
            }
        }
        Ok(())
    }

    // ---- the body

    /// Writes the body.
    pub fn body(&mut self, plan: &Plan) -> Emit<()> {
        self.declare_variables()?;
        for value in self.scopes.hoisted().to_vec() {
            let ty = self.func.value_type(value);
            let wish = self.func.name_of(value).unwrap_or("t").to_string();
            let name = self.names.fresh(&wish, "t");
            let ty_name = self.cx.type_name(ty);
            let zero = self.cx.zero(ty).text;
            self.lines.push(format!("{}{ty_name} {name} = {zero};", self.precise(ty)));
            self.bound[value] = Some(Expr::atom(name));
        }
        self.events(plan)
    }

    /// Declares the local variables: zero, but for those that are stored before anything reads them.
    fn declare_variables(&mut self) -> Emit<()> {
        let func = self.func;
        let mut bytes = 0u64;
        for inst in func.blocks().flat_map(|b| func.insts(b)) {
            let (Op::Alloca(space), Some(value)) = (func.op(inst), func.result(inst)) else {
                continue;
            };
            if !func.has_uses(value) {
                continue;
            }
            let ty = func.inst(inst).ty;
            let size = self.cx.types.size(ty);
            let wish = func.name_of(value).unwrap_or("v").to_string();
            let name = self.names.fresh(&wish, "v");
            if space == luisac_xir::op::Space::Shared {
                self.cx.shared_bytes = self.cx.shared_bytes.saturating_add(size);
                let name = self.declare_shared(ty, name);
                self.paths.insert(value, Path::variable(Memory::Block, name, ty));
                continue;
            }
            bytes = bytes.saturating_add(size);
            if !self.scopes.is_late(value) {
                let ty_name = self.cx.type_name(ty);
                let zero = self.cx.zero(ty).text;
                self.lines.push(format!("{}{ty_name} {name} = {zero};", self.precise(ty)));
            } else {
                self.late.insert(value);
            }
            self.paths.insert(value, Path::variable(Memory::Thread, name, ty));
        }
        if bytes > super::MAX_LOCAL_BYTES {
            return Err(self.cx.refuse(
                errors::LOCAL_MEMORY,
                format!(
                    "the local variables of `{}` take {bytes} bytes, more than the {} that a thread has",
                    func.name,
                    super::MAX_LOCAL_BYTES
                ),
                "move large arrays into a buffer",
            ));
        }
        Ok(())
    }

    fn declare_shared(&mut self, ty: TypeId, name: String) -> String {
        let ty_name = self.cx.type_name(ty);
        match self.cx.language {
            Language::Hlsl => {
                // Global: the name must be new there, too.
                let name = self.cx.names.fresh(&name, "shared");
                self.names.reserve(&name);
                self.cx.globals.push_str(&format!("groupshared {ty_name} {name};\n"));
                name
            }
            Language::Msl => {
                self.lines.push(format!("threadgroup {ty_name} {name};"));
                name
            }
        }
    }

    fn events(&mut self, plan: &Plan) -> Emit<()> {
        let mut control = super::control::Control::default();
        for (at, event) in plan.events.iter().enumerate() {
            match event {
                Event::Block(block) => self.block(*block)?,
                _ => control.event(self, plan, at)?,
            }
        }
        Ok(())
    }

    fn block(&mut self, block: BlockId) -> Emit<()> {
        self.block = Some(block);
        self.reading.clear();
        let func = self.func;
        for inst in func.insts(block) {
            if let Some(source) = &self.cx.options.source {
                self.lines.source = source.line(func.inst(inst).loc);
            }
            if func.op(inst).is_terminator() {
                break;
            }
            self.comment(inst);
            self.inst(inst)?;
        }
        Ok(())
    }

    /// Comments of the input, on one line and without what ends a comment.
    fn comment(&mut self, inst: InstId) {
        let Some(comment) = self.func.comment_of(inst) else { return };
        let text: String = comment
            .chars()
            .take(120)
            .map(|c| if c.is_ascii_graphic() && c != '\\' { c } else { ' ' })
            .collect();
        // `??/` is a backslash to some compilers.
        let text = text.replace("??", "? ?");
        if !text.trim().is_empty() {
            self.lines.push(format!("// {}", text.trim()));
        }
    }

    /// The flag of a loop.
    pub fn flag(&mut self, number: u32) -> String {
        while self.flags.len() <= number as usize {
            let name = self.names.fresh("first_round", "first_round");
            self.flags.push(name);
        }
        self.flags[number as usize].clone()
    }

    /// The operand of a terminator.
    pub fn operand(&mut self, inst: InstId) -> Emit<Expr> {
        match self.func.args(inst).first() {
            Some(&value) => self.value(value),
            None => Err(internal("a terminator without its operand")),
        }
    }

    fn inst(&mut self, inst: InstId) -> Emit<()> {
        match self.func.op(inst) {
            Op::Alloca(_) | Op::Assume => Ok(()),
            Op::Load => {
                let path = self.place(self.func.arg(inst, 0))?;
                let mut text = path.text();
                text.reads = true;
                self.define(inst, text)
            }
            Op::Store => self.store(inst),
            Op::Gep => self.gep(inst),
            Op::Arithmetic(op) => self.arithmetic(inst, op),
            Op::Cast(op) => self.cast(inst, op),
            Op::Call => self.call(inst),
            Op::ResourceRead(op) => self.resource_read(inst, op),
            Op::ResourceWrite(op) => self.resource_write(inst, op),
            Op::ResourceQuery(op) => self.resource_query(inst, op),
            Op::Atomic(op) => self.atomic(inst, op),
            Op::ThreadGroup(op) => self.thread_group(inst, op),
            op => Err(self.refused(op)),
        }
    }

    /// The target does not hold an operation.
    pub fn refused(&self, op: Op) -> Box<Diagnostic> {
        let name = op.sub_name().unwrap_or(op.mnemonic());
        let mut error = self.cx.refuse(
            errors::UNSUPPORTED_OPERATION,
            format!("{} does not hold the operation `{name}`", self.cx.language.title()),
            "choose another target, or avoid the operation",
        );
        error.function = Some(self.func.name.clone());
        error
    }

    fn store(&mut self, inst: InstId) -> Emit<()> {
        let (target, value) = (self.func.arg(inst, 0), self.func.arg(inst, 1));
        let text = self.value(value)?;
        let path = self.place(target)?;
        self.settle()?;
        let declares = self.late.remove(&target);
        let ty = self.func.value_type(target);
        if declares {
            let ty_name = self.cx.type_name(ty);
            self.lines.push(format!(
                "{}{ty_name} {} = {};",
                self.precise(ty),
                path.root,
                text.text
            ));
        } else {
            self.lines.push(format!("{} = {};", path.text().text, text.text));
        }
        Ok(())
    }

    fn call(&mut self, inst: InstId) -> Emit<()> {
        let Imm::Callee(callee) = self.func.inst(inst).imm else {
            return Err(internal("a call without a callee"));
        };
        let args = self.func.args(inst).to_vec();
        let (classes, mut texts) = self.arguments(callee, &args)?;
        self.settle()?;
        let name = self.cx.form(Form { function: callee, classes });
        let needs = self.cx.needs.get(&callee).cloned().unwrap_or_default();
        for register in SpecialRegister::ALL {
            if needs.has(register) {
                texts.push(Expr::atom(self.specials[register as usize].clone()));
            }
        }
        let text = Expr::call(&name, &texts);
        self.define_at_once(inst, &text)
    }

    /// The kinds of the arguments of a call, and their texts.
    fn arguments(&mut self, callee: FunctionId, args: &[ValueId]) -> Emit<(Vec<Class>, Vec<Expr>)> {
        let module = self.cx.module;
        let needs = self.cx.needs.get(&callee).cloned().unwrap_or_default();
        let formals = &module.functions[callee].arguments;
        let (mut classes, mut texts) = (Vec::new(), Vec::new());
        let places = self.reference_places(args)?;
        for (i, (&arg, formal)) in args.iter().zip(formals).enumerate() {
            match formal.kind {
                ArgumentKind::Value => {
                    classes.push(Class::Value);
                    texts.push(self.value(arg)?);
                }
                kind if kind == ArgumentKind::Resource || self.cx.types.is_custom(formal.ty) => {
                    let need = needs.arguments.get(i).copied().unwrap_or_default();
                    classes.push(self.pass_resource(arg, need, &mut texts)?);
                }
                _ => {
                    let class = self.pass_reference(i, &places, &mut texts)?;
                    classes.push(class);
                }
            }
        }
        Ok((classes, texts))
    }

    /// The places that the reference arguments of a call name.
    fn reference_places(&mut self, args: &[ValueId]) -> Emit<Vec<Option<Path>>> {
        let mut places = Vec::with_capacity(args.len());
        for &arg in args {
            let is_custom = self.cx.types.is_custom(self.func.value_type(arg));
            if !self.func.is_lvalue(arg) || is_custom {
                places.push(None);
                continue;
            }
            let mut path = self.place(arg)?;
            self.settle_path(&mut path)?;
            // The variable may not have been declared yet.
            self.declare_late(arg)?;
            places.push(Some(path));
        }
        Ok(places)
    }

    /// Declares a variable that waited for its first store.
    fn declare_late(&mut self, value: ValueId) -> Emit<()> {
        let root = self.func.base_of(value);
        if self.late.remove(&root) {
            let path = self.place(root)?;
            let ty = self.cx.type_name(path.root_type);
            let zero = self.cx.zero(path.root_type).text;
            self.lines.push(format!(
                "{}{ty} {} = {zero};",
                self.precise(path.root_type),
                path.root
            ));
        }
        Ok(())
    }

    fn pass_reference(
        &mut self,
        position: usize,
        places: &[Option<Path>],
        texts: &mut Vec<Expr>,
    ) -> Emit<Class> {
        let Some(Some(path)) = places.get(position) else {
            return Err(internal("a reference to something that is no variable"));
        };
        let text = path.text();
        let mut same = places
            .iter()
            .enumerate()
            .filter(|(_, p)| p.as_ref().is_some_and(|p| p.root == path.root));
        let first = same.clone().next().map_or(position, |(i, _)| i);
        if self.cx.language == Language::Msl {
            // A component of a vector has no address that a reference could hold.
            if path.memory == Memory::Block {
                texts.push(super::msl::component_of_shared(self, path));
                return Ok(Class::Shared);
            }
            if !same.any(|(_, p)| p.as_ref().is_some_and(|p| p.in_vector)) {
                texts.push(text);
                return Ok(Class::Local);
            }
            return Ok(pass_path(path, position, first, texts));
        }
        let (hops, indices) = path.hops();
        if path.memory == Memory::Block {
            texts.extend(indices);
            return Ok(Class::Path(Root::Global(path.root.clone(), path.root_type), hops));
        }
        if same.count() == 1 {
            texts.push(text);
            return Ok(Class::Local);
        }
        Ok(pass_path(path, position, first, texts))
    }
}

/// Passes the variable of a place, if no argument before did, and the indices of the place.
fn pass_path(path: &Path, position: usize, first: usize, texts: &mut Vec<Expr>) -> Class {
    if first == position {
        texts.push(Expr::atom(path.root.clone()));
    }
    let (hops, indices) = path.hops();
    texts.extend(indices);
    Class::Path(Root::Argument(first as u32, path.root_type), hops)
}
