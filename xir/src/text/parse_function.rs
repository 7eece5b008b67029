//! Text to functions.
//!
//! A function is read in two steps, because values and blocks may be used above their definition. First its lines become raw
//! instructions; constants, undefined values and special registers get their ids at once. Then the instructions are made in
//! order: from there on only results get new ids, so the id of every result is known before it exists.

use super::codes;
use super::lexer::{Error, Quoted, Token};
use super::names::{block_words, is_bindless};
use super::ops::{self, Lookup};
use super::parser::{Parser, PendingCall};
use crate::op::{BindlessAccess, SpecialRegister};
use crate::{
    ArgumentKind, BlockId, Function, FunctionId, FunctionKind, Imm, Op, SourceLoc, TypeId, ValueId,
};
use cranelift_entity::{EntityRef, packed_option::ReservedValue};
use rustc_hash::FxHashMap;
use std::ops::Range;

#[derive(Clone, Copy)]
enum RawArg {
    Known(ValueId),
    Numbered { number: u32, offset: usize },
}

#[derive(Clone, Copy)]
struct BlockRef {
    number: u32,
    offset: usize,
}

struct RawInst<'t> {
    block: BlockId,
    op: Op,
    ty: TypeId,
    args: Range<usize>,
    blocks: Range<usize>,
    imm: Imm,
    callee: Option<((Quoted<'t>, u32), usize)>,
    loc: SourceLoc,
    name: Option<String>,
    comment: Option<String>,
}

/// A function under construction.
struct Draft<'t> {
    function: Function,
    values: FxHashMap<u32, ValueId>,
    /// Numbers of the results so far, in order; their ids follow when all constants are known.
    results: Vec<u32>,
    blocks: FxHashMap<u32, BlockId>,
    constants: FxHashMap<&'t str, ValueId>,
    zeros: FxHashMap<TypeId, ValueId>,
    insts: Vec<RawInst<'t>>,
    args: Vec<RawArg>,
    block_refs: Vec<BlockRef>,
}

impl<'t> Parser<'t> {
    pub fn function(&mut self) -> Result<(), Error> {
        let id = self.module.functions.next_key();
        let mut draft = self.signature(id)?;
        let name = draft.function.name.clone();
        let body = self.body_or_end(&mut draft, id);
        body.map_err(|error| Box::new(error.in_function(name)))?;
        self.module.functions.push(draft.function);
        Ok(())
    }

    fn signature(&mut self, id: FunctionId) -> Result<Draft<'t>, Error> {
        let word = self.word("a function")?;
        let offset = self.token.offset;
        let Token::Symbol(name, ordinal) = self.token.token else {
            return Err(self.expected("a function name, as in `@main`"));
        };
        self.advance()?;
        if self.functions.insert((name, ordinal), id).is_some() {
            let message = format!("the function `@{}` is defined twice", name.source());
            return Err(self.error(codes::DUPLICATE_NAME, offset, message));
        }
        let kind = match word {
            "kernel" => FunctionKind::Kernel { block_size: self.block_size()? },
            "external" => FunctionKind::External,
            _ => FunctionKind::Callable,
        };
        let mut draft = Draft {
            function: Function::new(name.unescape(), kind, TypeId::VOID),
            values: FxHashMap::default(),
            results: Vec::new(),
            blocks: FxHashMap::default(),
            constants: FxHashMap::default(),
            zeros: FxHashMap::default(),
            insts: Vec::new(),
            args: Vec::new(),
            block_refs: Vec::new(),
        };
        self.need('(')?;
        while !self.eat(')')? {
            self.argument(&mut draft)?;
            if !self.is(')') {
                self.need(',')?;
            }
        }
        if self.token.token == Token::Arrow {
            self.advance()?;
            draft.function.return_type = self.ty()?;
        }
        draft.function.no_inline = self.eat_word("no_inline")?;
        Ok(draft)
    }

    fn block_size(&mut self) -> Result<[u32; 3], Error> {
        let mut size = [64, 1, 1];
        if self.eat_word("block")? {
            self.need('(')?;
            for (i, extent) in size.iter_mut().enumerate() {
                if i != 0 {
                    self.need(',')?;
                }
                *extent = self.number("an extent of the block")?;
            }
            self.need(')')?;
        }
        Ok(size)
    }

    fn argument(&mut self, draft: &mut Draft<'t>) -> Result<(), Error> {
        let offset = self.token.offset;
        let Token::Value(number) = self.token.token else {
            return Err(self.expected("an argument, as in `%0: value f32`"));
        };
        self.advance()?;
        self.need(':')?;
        let kind = match self.token.token {
            Token::Word("value") => ArgumentKind::Value,
            Token::Word("reference") => ArgumentKind::Reference,
            Token::Word("resource") => ArgumentKind::Resource,
            _ => return Err(self.expected("`value`, `reference` or `resource`")),
        };
        self.advance()?;
        let ty = self.ty()?;
        let captured = self.eat_word("captured")?;
        let name = match self.token.token {
            Token::Text(_) => Some(self.string()?),
            _ => None,
        };
        let value = draft.function.add_argument(kind, ty, name.as_deref(), captured);
        if draft.values.insert(number, value).is_some() {
            return Err(self.duplicate_value(number, offset));
        }
        if self.eat('!')? {
            if !self.eat_word("name")? {
                return Err(self.expected("`name`"));
            }
            draft.function.set_name(value, self.string()?);
        }
        Ok(())
    }

    fn duplicate_value(&self, number: u32, offset: usize) -> Error {
        self.error(codes::DUPLICATE_NAME, offset, format!("the value `%{number}` is defined twice"))
    }

    fn body_or_end(&mut self, draft: &mut Draft<'t>, id: FunctionId) -> Result<(), Error> {
        if self.eat(';')? {
            return Ok(());
        }
        if !self.is('{') {
            return Err(self.expected("`{` or `;`"));
        }
        self.advance()?;
        let (mut block, mut after_label) = (None, false);
        loop {
            match (self.token.token, block) {
                (Token::Punct('}'), _) => break,
                (Token::Word(word), _) if block_number(word).is_some() => {
                    block = Some(self.label(draft)?);
                    after_label = true;
                }
                (_, Some(_)) if !self.token.starts_line && !after_label => {
                    return Err(self.expected("the end of the line"));
                }
                (_, Some(block)) => {
                    self.instruction(draft, block)?;
                    after_label = false;
                }
                _ => return Err(self.expected("a block label, as in `b0:`")),
            }
        }
        self.advance()?;
        self.build(draft, id)
    }

    fn label(&mut self, draft: &mut Draft<'t>) -> Result<BlockId, Error> {
        let offset = self.token.offset;
        let number = self.block_reference()?.number;
        self.need(':')?;
        let block = draft.function.append_block();
        if draft.blocks.insert(number, block).is_some() {
            let message = format!("the block `b{number}` is defined twice");
            return Err(self.error(codes::DUPLICATE_NAME, offset, message));
        }
        Ok(block)
    }

    fn block_reference(&mut self) -> Result<BlockRef, Error> {
        let offset = self.token.offset;
        let number = match self.token.token {
            Token::Word(word) => block_number(word),
            _ => None,
        };
        let number = number.ok_or_else(|| self.expected("a block, as in `b1`"))?;
        self.advance()?;
        Ok(BlockRef { number, offset })
    }

    fn instruction(&mut self, draft: &mut Draft<'t>, block: BlockId) -> Result<(), Error> {
        let mut ty = TypeId::VOID;
        let has_result = matches!(self.token.token, Token::Value(_));
        if let Token::Value(number) = self.token.token {
            self.advance()?;
            self.need(':')?;
            let offset = self.token.offset;
            ty = self.ty()?;
            if ty == TypeId::VOID {
                return Err(self.error(codes::SYNTAX, offset, "a result cannot be `void`"));
            }
            self.need('=')?;
            draft.results.push(number);
        }
        let op = self.operation()?;
        let (args, blocks) = (draft.args.len(), draft.block_refs.len());
        let mut inst = RawInst {
            block,
            op,
            ty,
            args: args..args,
            blocks: blocks..blocks,
            imm: Imm::None,
            callee: None,
            loc: SourceLoc::NONE,
            name: None,
            comment: None,
        };
        self.access(&mut inst)?;
        match op {
            Op::Phi => self.phi(draft)?,
            Op::Call => self.call(draft, &mut inst)?,
            _ => self.items(draft, &mut inst)?,
        }
        self.inst_attributes(&mut inst, has_result)?;
        inst.args.end = draft.args.len();
        inst.blocks.end = draft.block_refs.len();
        draft.insts.push(inst);
        Ok(())
    }

    fn operation(&mut self) -> Result<Op, Error> {
        let offset = self.token.offset;
        let unknown = |parser: &Self, text: String| {
            parser.error(
                codes::UNKNOWN_OPERATION,
                offset,
                format!("there is no operation `{text}`"),
            )
        };
        let word = self.word("an instruction")?;
        match ops::lookup(word) {
            Some(Lookup::Op(op)) => Ok(op),
            None => Err(unknown(self, word.into())),
            Some(Lookup::Family) => {
                let sub = self.word("the name of the operation")?;
                ops::lookup_in(word, sub).ok_or_else(|| unknown(self, format!("{word} {sub}")))
            }
        }
    }

    /// `[typed, uniform]` or `[curves N]`.
    fn access(&mut self, inst: &mut RawInst<'t>) -> Result<(), Error> {
        let mut access = BindlessAccess::default();
        if self.is('[') && !self.token.starts_line {
            self.advance()?;
            if self.eat_word("curves")? {
                inst.imm = Imm::CurveBases(self.number("a set of curve bases")?);
                return self.need(']');
            }
            loop {
                match self.word("`typed` or `uniform`")? {
                    "typed" => access.typed = true,
                    "uniform" => access.uniform = true,
                    _ => return Err(self.expected("`typed` or `uniform` before this")),
                }
                if !self.eat(',')? {
                    break;
                }
            }
            self.need(']')?;
        } else if !is_bindless(inst.op) {
            return Ok(());
        }
        inst.imm = Imm::Access(access);
        Ok(())
    }

    fn phi(&mut self, draft: &mut Draft<'t>) -> Result<(), Error> {
        while self.is('(') {
            self.advance()?;
            let value = self.operand(draft)?;
            draft.args.push(value);
            self.need(',')?;
            let block = self.block_reference()?;
            draft.block_refs.push(block);
            self.need(')')?;
            if !self.eat(',')? {
                break;
            }
        }
        Ok(())
    }

    fn call(&mut self, draft: &mut Draft<'t>, inst: &mut RawInst<'t>) -> Result<(), Error> {
        let offset = self.token.offset;
        let Token::Symbol(name, ordinal) = self.token.token else {
            return Err(self.expected("a callee, as in `@f`"));
        };
        self.advance()?;
        inst.callee = Some(((name, ordinal), offset));
        self.need('(')?;
        while !self.eat(')')? {
            let value = self.operand(draft)?;
            draft.args.push(value);
            if !self.is(')') {
                self.need(',')?;
            }
        }
        Ok(())
    }

    /// Operands, a text, and the blocks of a terminator, with commas between.
    fn items(&mut self, draft: &mut Draft<'t>, inst: &mut RawInst<'t>) -> Result<(), Error> {
        let mut words = block_words(inst.op).iter().copied().peekable();
        let has_cases = matches!(inst.op, Op::Switch | Op::IndexedBranch);
        let (first_block, mut cases) = (draft.block_refs.len(), Vec::new());
        if self.token.starts_line || self.is('!') || self.is('}') {
            return self.finish_blocks(inst, words.peek().copied(), cases);
        }
        loop {
            let after_default = has_cases && draft.block_refs.len() > first_block;
            match (self.token.token, words.peek().copied()) {
                (Token::Word("case"), _) if after_default => {
                    self.advance()?;
                    cases.push(self.number("a case value")?);
                    let block = self.block_reference()?;
                    draft.block_refs.push(block);
                }
                (Token::Word(word), Some(expected)) if word == expected => {
                    self.advance()?;
                    words.next();
                    let block = self.block_reference()?;
                    draft.block_refs.push(block);
                }
                (Token::Word(word), Some("")) if block_number(word).is_some() => {
                    words.next();
                    let block = self.block_reference()?;
                    draft.block_refs.push(block);
                }
                (Token::Text(_), _) if inst.imm == Imm::None => {
                    inst.imm = Imm::Text(self.string()?.into());
                }
                // Operands stand in front of all blocks.
                (_, missing) if draft.block_refs.len() > first_block => {
                    self.finish_blocks(inst, missing, Vec::new())?;
                    return Err(self.expected("the end of the line"));
                }
                _ => {
                    let value = self.operand(draft)?;
                    draft.args.push(value);
                }
            }
            if !self.eat(',')? {
                break;
            }
        }
        self.finish_blocks(inst, words.peek().copied(), cases)
    }

    fn finish_blocks(
        &mut self,
        inst: &mut RawInst<'t>,
        missing: Option<&str>,
        cases: Vec<u64>,
    ) -> Result<(), Error> {
        match missing {
            Some("") => return Err(self.expected("a further block")),
            Some(word) => return Err(self.expected(&format!("`{word}` and a block"))),
            None => {}
        }
        if matches!(inst.op, Op::Switch | Op::IndexedBranch) {
            inst.imm = Imm::Cases(cases.into());
        }
        Ok(())
    }

    fn inst_attributes(&mut self, inst: &mut RawInst<'t>, named: bool) -> Result<(), Error> {
        while self.eat('!')? {
            match self.word("`loc`, `name` or `comment`")? {
                "loc" => {
                    let function = self.number("a function index")?;
                    self.need(':')?;
                    inst.loc = SourceLoc { function, statement: self.number("a statement index")? };
                }
                "name" if named => inst.name = Some(self.string()?),
                "comment" => inst.comment = Some(self.string()?),
                _ => {
                    return Err(
                        self.expected("`loc`, `name` (of a result) or `comment` before this")
                    );
                }
            }
        }
        Ok(())
    }

    fn operand(&mut self, draft: &mut Draft<'t>) -> Result<RawArg, Error> {
        let offset = self.token.offset;
        let word = match self.token.token {
            Token::Value(number) => {
                self.advance()?;
                return Ok(RawArg::Numbered { number, offset });
            }
            Token::Word(word) => word,
            _ => return Err(self.expected("an operand")),
        };
        if let Some(register) = SpecialRegister::from_name(word) {
            self.advance()?;
            return Ok(RawArg::Known(draft.function.special(register)));
        }
        if word == "undef" {
            self.advance()?;
            let ty = self.ty()?;
            return Ok(RawArg::Known(draft.function.undefined(ty)));
        }
        if let Some(&value) = draft.constants.get(word) {
            self.advance()?;
            return Ok(RawArg::Known(value));
        }
        if let Some((ty, bytes)) = self.constants.get(word) {
            let value = draft.function.constant(*ty, bytes.clone());
            draft.constants.insert(word, value);
            self.advance()?;
            return Ok(RawArg::Known(value));
        }
        if word != "const" && super::types::scalar_from_name(word).is_none() {
            return Err(self.expected("an operand"));
        }
        self.constant_operand(draft)
    }

    /// A constant that is written out. A zero that was met before in the function costs no memory again.
    fn constant_operand(&mut self, draft: &mut Draft<'t>) -> Result<RawArg, Error> {
        if self.is_word("const") {
            self.advance()?;
            let start = self.token.offset;
            let ty = self.ty()?;
            if let (true, Some(&value)) = (self.is_word("zero"), draft.zeros.get(&ty)) {
                self.advance()?;
                return Ok(RawArg::Known(value));
            }
            let is_zero = self.is_word("zero");
            let bytes = self.constant_of(ty, start)?;
            let value = draft.function.constant(ty, bytes);
            if is_zero {
                draft.zeros.insert(ty, value);
            }
            return Ok(RawArg::Known(value));
        }
        let (ty, bytes) = self.constant()?;
        Ok(RawArg::Known(draft.function.constant(ty, bytes)))
    }

    // ---- the second step

    fn build(&mut self, draft: &mut Draft<'t>, id: FunctionId) -> Result<(), Error> {
        self.number_results(draft)?;
        let (mut args, mut blocks) = (Vec::new(), Vec::new());
        let name = draft.function.name.clone();
        let known = self.errors.0.len();
        for inst in std::mem::take(&mut draft.insts) {
            args.clear();
            blocks.clear();
            for &arg in &draft.args[inst.args.clone()] {
                args.extend(self.resolve_value(draft, arg));
            }
            for &block in &draft.block_refs[inst.blocks.clone()] {
                blocks.extend(self.resolve_block(draft, block));
            }
            let made = draft.function.create_inst(inst.op, inst.ty, &args, &blocks, inst.imm);
            draft.function.set_loc(made, inst.loc);
            draft.function.append_inst(inst.block, made);
            if let (Some(name), Some(result)) = (inst.name, draft.function.result(made)) {
                draft.function.set_name(result, name);
            }
            if let Some(comment) = inst.comment {
                draft.function.set_comment(made, comment);
            }
            if let Some((callee, offset)) = inst.callee {
                draft.function.set_imm(made, Imm::Callee(FunctionId::reserved_value()));
                self.calls.push(PendingCall { caller: id, inst: made, callee, offset });
            }
        }
        for error in &mut self.errors.0[known..] {
            error.function = Some(name.clone());
        }
        Ok(())
    }

    /// Results get the ids after all that exist now, in order.
    fn number_results(&mut self, draft: &mut Draft<'t>) -> Result<(), Error> {
        let first = draft.function.value_count();
        for (i, &number) in draft.results.iter().enumerate() {
            if draft.values.insert(number, ValueId::new(first + i)).is_some() {
                return Err(self.duplicate_value(number, self.token.offset));
            }
        }
        Ok(())
    }

    fn resolve_value(&mut self, draft: &Draft<'t>, arg: RawArg) -> Option<ValueId> {
        let (number, offset) = match arg {
            RawArg::Known(value) => return Some(value),
            RawArg::Numbered { number, offset } => (number, offset),
        };
        let value = draft.values.get(&number).copied();
        if value.is_none() {
            let message = format!("the value `%{number}` is not defined");
            self.report(codes::UNKNOWN_NAME, offset, message);
        }
        value
    }

    fn resolve_block(&mut self, draft: &Draft<'t>, block: BlockRef) -> Option<BlockId> {
        let found = draft.blocks.get(&block.number).copied();
        if found.is_none() {
            let message = format!("the block `b{}` is not defined", block.number);
            self.report(codes::UNKNOWN_NAME, block.offset, message);
        }
        found
    }
}

/// The number of a block label.
fn block_number(word: &str) -> Option<u32> {
    let digits = word.strip_prefix('b')?;
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
}
