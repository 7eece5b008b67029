//! XIR to text.

use super::constant::ConstantNames;
use super::names::{block_words, is_placed_result, push_quoted, symbol_of, symbols};
use super::types::TypeNames;
use crate::{
    ArgumentKind, BlockId, Function, FunctionId, FunctionKind, Imm, InstId, Module, Op, SourceLoc,
    ValueDef, ValueId,
};
use cranelift_entity::{EntityRef, SecondaryMap};
use luisac_ast::types::{TypeId, TypeTable};
use std::fmt::Write;

/// The text of a whole module. Total: a module that is not valid prints too, though it may not parse.
pub fn print(module: &Module) -> String {
    let mut shared = Shared::new(module);
    let mut functions = String::new();
    for id in module.functions.keys() {
        functions.push('\n');
        Printer::new(&mut shared, id, &mut functions).function(id);
    }
    let mut text = String::from("module;\n");
    shared.push_declarations(&mut text);
    text.push_str(&functions);
    text
}

/// As [`print`], but values and blocks are numbered as they are in their function, so that what one pass leaves alone keeps its
/// name in the text after it. The text parses too.
pub fn print_by_identity(module: &Module) -> String {
    let mut shared = Shared::new(module);
    let mut functions = String::new();
    for id in module.functions.keys() {
        functions.push('\n');
        let mut printer = Printer::new(&mut shared, id, &mut functions);
        printer.number_by_identity();
        printer.function(id);
    }
    let mut text = String::from("module;\n");
    shared.push_declarations(&mut text);
    text.push_str(&functions);
    text
}

/// The text of one function, with the types and long constants that it names in front. Callees are not declared.
pub fn print_function(module: &Module, id: FunctionId) -> String {
    let mut shared = Shared::new(module);
    let mut body = String::new();
    Printer::new(&mut shared, id, &mut body).function(id);
    let mut text = String::new();
    shared.push_declarations(&mut text);
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(&body);
    text
}

/// For each instruction its block label and its line, as [`print`] writes them.
pub(crate) fn print_lines(module: &Module, id: FunctionId, insts: &[InstId]) -> Vec<String> {
    let mut shared = Shared::new(module);
    let mut lines = Vec::with_capacity(insts.len());
    let mut text = String::new();
    let mut printer = Printer::new(&mut shared, id, &mut text);
    for &inst in insts {
        printer.out.clear();
        if let Some(block) = printer.function.inst_block(inst) {
            printer.block(block);
            printer.out.push_str(": ");
        }
        printer.instruction(inst);
        lines.push(printer.out.clone());
    }
    lines
}

/// A type as the text form writes it, structures and custom types by their description.
pub fn print_type(types: &TypeTable, ty: TypeId) -> String {
    let mut names = TypeNames::new(types);
    let mut text = String::new();
    names.push(&mut text, ty);
    if names.declarations().is_empty() { text } else { types.description(ty) }
}

/// What all functions of a text share.
struct Shared<'a> {
    module: &'a Module,
    symbols: Vec<String>,
    types: TypeNames<'a>,
    constants: ConstantNames,
}

impl<'a> Shared<'a> {
    fn new(module: &'a Module) -> Shared<'a> {
        let types = TypeNames::new(&module.types);
        Shared { module, symbols: symbols(module), types, constants: ConstantNames::default() }
    }

    fn push_declarations(&self, out: &mut String) {
        out.push_str(self.types.declarations());
        out.push_str(self.constants.declarations());
    }
}

struct Printer<'a, 'b> {
    shared: &'b mut Shared<'a>,
    function: &'a Function,
    out: &'b mut String,
    /// Number plus one; 0 for what has none.
    values: SecondaryMap<ValueId, u32>,
    blocks: SecondaryMap<BlockId, u32>,
}

impl<'a, 'b> Printer<'a, 'b> {
    fn new(shared: &'b mut Shared<'a>, id: FunctionId, out: &'b mut String) -> Printer<'a, 'b> {
        let function = &shared.module.functions[id];
        let (values, blocks) = (SecondaryMap::new(), SecondaryMap::new());
        let mut printer = Printer { shared, function, out, values, blocks };
        printer.number();
        printer
    }

    fn number(&mut self) {
        let mut next = 0;
        let arguments = self.function.arguments.iter().map(|a| a.value);
        let results = self.function.blocks().flat_map(|b| self.function.insts(b));
        for value in arguments.chain(results.filter_map(|i| self.function.result(i))) {
            next += 1;
            self.values[value] = next;
        }
        for (i, block) in self.function.blocks().enumerate() {
            self.blocks[block] = i as u32 + 1;
        }
    }

    /// Entity numbers in place of dense ones, for what has one.
    fn number_by_identity(&mut self) {
        for index in 0..self.function.value_count() {
            let value = ValueId::new(index);
            if self.values[value] != 0 {
                self.values[value] = index as u32 + 1;
            }
        }
        for block in self.function.blocks() {
            self.blocks[block] = block.index() as u32 + 1;
        }
    }

    fn function(&mut self, id: FunctionId) {
        let function = self.function;
        self.out.push_str(match function.kind {
            FunctionKind::Kernel { .. } => "kernel ",
            FunctionKind::Callable => "callable ",
            FunctionKind::External => "external ",
        });
        self.out.push_str(symbol_of(&self.shared.symbols, id));
        if let FunctionKind::Kernel { block_size: [x, y, z] } = function.kind {
            let _ = write!(self.out, " block({x}, {y}, {z}) ");
        }
        self.arguments();
        if function.return_type != TypeId::VOID {
            self.out.push_str(" -> ");
            self.shared.types.push(self.out, function.return_type);
        }
        if function.no_inline {
            self.out.push_str(" no_inline");
        }
        if !function.has_body() {
            self.out.push_str(";\n");
            return;
        }
        self.out.push_str(" {\n");
        for block in function.blocks() {
            let _ = writeln!(self.out, "b{}:", self.blocks[block] - 1);
            for inst in function.insts(block) {
                self.out.push_str("  ");
                self.instruction(inst);
                self.out.push('\n');
            }
        }
        self.out.push_str("}\n");
    }

    fn arguments(&mut self) {
        self.out.push('(');
        for (i, argument) in self.function.arguments.iter().enumerate() {
            if i != 0 {
                self.out.push_str(", ");
            }
            self.value(argument.value);
            self.out.push_str(match argument.kind {
                ArgumentKind::Value => ": value ",
                ArgumentKind::Reference => ": reference ",
                ArgumentKind::Resource => ": resource ",
            });
            self.shared.types.push(self.out, argument.ty);
            if argument.captured {
                self.out.push_str(" captured");
            }
            if let Some(name) = &argument.name {
                self.out.push(' ');
                push_quoted(self.out, name);
            }
            self.text_attribute("name", self.function.name_of(argument.value));
        }
        self.out.push(')');
    }

    fn text_attribute(&mut self, key: &str, text: Option<&str>) {
        if let Some(text) = text {
            let _ = write!(self.out, " !{key} ");
            push_quoted(self.out, text);
        }
    }

    fn instruction(&mut self, inst: InstId) {
        let data = self.function.inst(inst);
        let result = self.function.result(inst);
        if let Some(result) = result {
            self.value(result);
            self.out.push_str(": ");
            self.shared.types.push(self.out, data.ty);
            self.out.push_str(" = ");
        }
        self.out.push_str(data.op.mnemonic());
        if let Some(sub) = data.op.sub_name() {
            self.out.push(' ');
            self.out.push_str(sub);
        }
        self.body(inst);
        if data.loc != SourceLoc::NONE {
            let _ = write!(self.out, " !loc {}:{}", data.loc.function, data.loc.statement);
        }
        self.text_attribute("name", result.and_then(|r| self.function.name_of(r)));
        self.text_attribute("comment", self.function.comment_of(inst));
    }

    /// What comes after the operation: immediate data, operands and blocks.
    fn body(&mut self, inst: InstId) {
        let data = self.function.inst(inst);
        let args = self.function.args(inst);
        match (&data.imm, data.op) {
            (Imm::Callee(callee), _) => {
                let _ = write!(self.out, " {}(", symbol_of(&self.shared.symbols, *callee));
                self.list("", args);
                self.out.push(')');
            }
            (Imm::Handlers { surface, procedural }, _) => {
                let [surface, procedural] =
                    [surface, procedural].map(|&f| symbol_of(&self.shared.symbols, f));
                let _ = write!(self.out, " {surface}, {procedural}(");
                self.list("", args);
                self.out.push(')');
            }
            (Imm::Text(text), Op::Assert | Op::Assume) => {
                self.list(" ", args);
                self.out.push_str(if args.is_empty() { " " } else { ", " });
                push_quoted(self.out, text);
            }
            (Imm::Text(text), _) => {
                self.out.push(' ');
                push_quoted(self.out, text);
                self.list(", ", args);
            }
            (Imm::Access(access), _) if access.typed || access.uniform => {
                self.out.push_str(match (access.typed, access.uniform) {
                    (true, true) => " [typed, uniform]",
                    (true, false) => " [typed]",
                    _ => " [uniform]",
                });
                self.list(" ", args);
            }
            (Imm::CurveBases(mask), _) => {
                let _ = write!(self.out, " [curves {mask}]");
                self.list(" ", args);
            }
            (_, Op::Phi) => return self.phi(inst),
            _ => self.list(" ", args),
        }
        if data.op.is_terminator() {
            self.blocks(inst);
        }
    }

    fn list(&mut self, lead: &str, args: &[ValueId]) {
        for (i, &arg) in args.iter().enumerate() {
            self.out.push_str(if i == 0 { lead } else { ", " });
            self.value(arg);
        }
    }

    fn phi(&mut self, inst: InstId) {
        let args = self.function.args(inst);
        let blocks = self.function.inst_blocks(inst);
        for i in 0..args.len().max(blocks.len()) {
            self.out.push_str(if i == 0 { " (" } else { ", (" });
            if let Some(&value) = args.get(i) {
                self.value(value);
            }
            if let Some(&block) = blocks.get(i) {
                self.out.push_str(", ");
                self.block(block);
            }
            self.out.push(')');
        }
    }

    fn blocks(&mut self, inst: InstId) {
        let data = self.function.inst(inst);
        let words = block_words(data.op);
        let blocks = self.function.inst_blocks(inst);
        let cases = match &data.imm {
            Imm::Cases(cases) => &cases[..],
            _ => &[],
        };
        let mut lead = if self.function.args(inst).is_empty() { " " } else { ", " };
        let mut words = words.iter();
        for (i, &block) in blocks.iter().enumerate() {
            self.out.push_str(lead);
            lead = ", ";
            let is_case = matches!(data.op, Op::Switch | Op::IndexedBranch)
                && i >= 1
                && i < blocks.len() - data.op.role_count();
            if is_case {
                let _ = match cases.get(i - 1) {
                    Some(value) => write!(self.out, "case {value} "),
                    None => write!(self.out, "case ? "),
                };
            } else if let Some(word) = words.next().filter(|w| !w.is_empty()) {
                let _ = write!(self.out, "{word} ");
            }
            self.block(block);
        }
    }

    fn block(&mut self, block: BlockId) {
        let _ = match self.blocks[block] {
            0 => write!(self.out, "b?"),
            n => write!(self.out, "b{}", n - 1),
        };
    }

    fn value(&mut self, value: ValueId) {
        if value.index() >= self.function.value_count() {
            return self.out.push_str("%?");
        }
        match self.function.value_def(value) {
            ValueDef::Special(register) => self.out.push_str(register.name()),
            ValueDef::Undefined => {
                self.out.push_str("undef ");
                self.shared.types.push(self.out, self.function.value_type(value));
            }
            ValueDef::Constant(_) => {
                let ty = self.function.value_type(value);
                if let Some(bytes) = self.function.constant_bytes(value) {
                    let Shared { module, types, constants, .. } = &mut *self.shared;
                    constants.push(self.out, types, &module.types, ty, bytes);
                }
            }
            ValueDef::Inst(_) if !is_placed_result(self.function, value) => {
                self.out.push_str("%detached");
            }
            _ => drop(write!(self.out, "%{}", self.values[value].wrapping_sub(1))),
        }
    }
}
