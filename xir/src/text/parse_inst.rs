//! Text to instructions.

use super::codes;
use super::draft::{Draft, Extra, RawArg, RawInst};
use super::lexer::{Error, Token};
use super::names::{block_words, is_bindless};
use super::ops::{self, Lookup};
use super::parse_function::block_number;
use super::parser::Parser;
use crate::op::{BindlessAccess, SpecialRegister};
use crate::{BlockId, Imm, Op, SourceLoc, TypeId};

impl<'t> Parser<'t> {
    /// One line.
    pub fn instruction(&mut self, draft: &mut Draft<'t>, block: BlockId) -> Result<(), Error> {
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
        let (args, blocks) = (draft.args.len() as u32, draft.block_refs.len() as u32);
        let mut inst = RawInst {
            block,
            op,
            ty,
            args: args..args,
            blocks: blocks..blocks,
            imm: Imm::None,
            loc: SourceLoc::NONE,
        };
        self.access(&mut inst)?;
        match op {
            Op::Phi => self.phi(draft)?,
            Op::Call => self.call(draft, 1)?,
            Op::RayQueryPipeline => self.call(draft, 2)?,
            _ => self.items(draft, &mut inst)?,
        }
        self.inst_attributes(draft, &mut inst, has_result)?;
        inst.args.end = draft.args.len() as u32;
        inst.blocks.end = draft.block_refs.len() as u32;
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
    fn access(&mut self, inst: &mut RawInst) -> Result<(), Error> {
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

    /// Names of so many functions, and operands in parentheses.
    fn call(&mut self, draft: &mut Draft<'t>, functions: usize) -> Result<(), Error> {
        for position in 0..functions {
            if position > 0 {
                self.need(',')?;
            }
            let offset = self.token.offset;
            let Token::Symbol(name, ordinal) = self.token.token else {
                return Err(self.expected("a callee, as in `@f`"));
            };
            self.advance()?;
            let extra = Extra::Callee((name, ordinal), position, offset);
            draft.extras.push((draft.insts.len(), extra));
        }
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
    fn items(&mut self, draft: &mut Draft<'t>, inst: &mut RawInst) -> Result<(), Error> {
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
        inst: &mut RawInst,
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

    fn inst_attributes(
        &mut self,
        draft: &mut Draft<'t>,
        inst: &mut RawInst,
        named: bool,
    ) -> Result<(), Error> {
        while self.eat('!')? {
            match self.word("`loc`, `name` or `comment`")? {
                "loc" => {
                    let function = self.number("a function index")?;
                    self.need(':')?;
                    inst.loc = SourceLoc { function, statement: self.number("a statement index")? };
                }
                "name" if named => {
                    draft.extras.push((draft.insts.len(), Extra::Name(self.string()?)));
                }
                "comment" => {
                    draft.extras.push((draft.insts.len(), Extra::Comment(self.string()?)));
                }
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
}
