//! Text to functions: signatures, bodies and labels. Instructions are in `parse_inst.rs`, the second step in `draft.rs`.

use super::codes;
use super::draft::{BlockRef, Draft};
use super::lexer::{Error, Token};
use super::parser::Parser;
use crate::{ArgumentKind, BlockId, Function, FunctionId, FunctionKind, TypeId};

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
        let mut draft = Draft::new(Function::new(name.unescape(), kind, TypeId::VOID));
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
        if !draft.values.insert(number, value, self.text.len()) {
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

    pub fn block_reference(&mut self) -> Result<BlockRef, Error> {
        let offset = self.token.offset;
        let number = match self.token.token {
            Token::Word(word) => block_number(word),
            _ => None,
        };
        let number = number.ok_or_else(|| self.expected("a block, as in `b1`"))?;
        self.advance()?;
        Ok(BlockRef { number, offset })
    }
}

/// The number of a block label.
pub(super) fn block_number(word: &str) -> Option<u32> {
    let digits = word.strip_prefix('b')?;
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
}
