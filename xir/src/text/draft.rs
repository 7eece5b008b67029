//! A function under construction.
//!
//! A function is read in two steps, because values and blocks may be used above their definition. First its lines become raw
//! instructions; constants, undefined values and special registers get their ids at once. Then the instructions are made in
//! order: from there on only results get new ids, so the id of every result is known before it exists.

use super::codes;
use super::lexer::{Error, Quoted};
use super::parser::{Parser, PendingCall};
use crate::{BlockId, Function, FunctionId, Imm, InstId, Op, SourceLoc, TypeId, ValueId};
use cranelift_entity::EntityRef;
use cranelift_entity::packed_option::{PackedOption, ReservedValue};
use rustc_hash::FxHashMap;
use std::ops::Range;

#[derive(Clone, Copy)]
pub(super) enum RawArg {
    Known(ValueId),
    Numbered { number: u32, offset: usize },
}

#[derive(Clone, Copy)]
pub(super) struct BlockRef {
    pub number: u32,
    pub offset: usize,
}

/// Kept small: a function may have millions. What few instructions have is in [`Extra`].
pub(super) struct RawInst {
    pub block: BlockId,
    pub op: Op,
    pub ty: TypeId,
    pub args: Range<u32>,
    pub blocks: Range<u32>,
    pub imm: Imm,
    pub loc: SourceLoc,
}

/// What few instructions have.
pub(super) enum Extra<'t> {
    /// The function named, which of those that the instruction names it is, and where it is named.
    Callee((Quoted<'t>, u32), usize, usize),
    Name(String),
    Comment(String),
}

/// Values by the number in the text. Numbers are mostly dense, but need not be: those that a table of the size of the text holds
/// are in a table.
#[derive(Default)]
pub(super) struct Numbers {
    table: Vec<PackedOption<ValueId>>,
    others: FxHashMap<u32, ValueId>,
}

impl Numbers {
    /// Whether the number was free.
    pub fn insert(&mut self, number: u32, value: ValueId, text_len: usize) -> bool {
        let index = number as usize;
        if index >= text_len / 4 {
            return self.others.insert(number, value).is_none();
        }
        if self.table.len() <= index {
            self.table.resize(index + 1, None.into());
        }
        std::mem::replace(&mut self.table[index], value.into()).is_none()
    }

    pub fn get(&self, number: u32) -> Option<ValueId> {
        let known = self.table.get(number as usize).and_then(|v| v.expand());
        known.or_else(|| self.others.get(&number).copied())
    }
}

/// A function under construction.
pub(super) struct Draft<'t> {
    pub function: Function,
    pub values: Numbers,
    /// Numbers of the results so far, in order; their ids follow when all constants are known.
    pub results: Vec<u32>,
    pub blocks: FxHashMap<u32, BlockId>,
    pub constants: FxHashMap<&'t str, ValueId>,
    pub zeros: FxHashMap<TypeId, ValueId>,
    pub insts: Vec<RawInst>,
    /// By index of the instruction, in order.
    pub extras: Vec<(usize, Extra<'t>)>,
    pub args: Vec<RawArg>,
    pub block_refs: Vec<BlockRef>,
}

impl Draft<'_> {
    pub fn new(function: Function) -> Self {
        Draft {
            function,
            values: Numbers::default(),
            results: Vec::new(),
            blocks: FxHashMap::default(),
            constants: FxHashMap::default(),
            zeros: FxHashMap::default(),
            insts: Vec::new(),
            extras: Vec::new(),
            args: Vec::new(),
            block_refs: Vec::new(),
        }
    }
}

impl<'t> Parser<'t> {
    pub fn duplicate_value(&self, number: u32, offset: usize) -> Error {
        self.error(codes::DUPLICATE_NAME, offset, format!("the value `%{number}` is defined twice"))
    }

    /// The second step.
    pub fn build(&mut self, draft: &mut Draft<'t>, id: FunctionId) -> Result<(), Error> {
        self.number_results(draft)?;
        let (mut args, mut blocks) = (Vec::new(), Vec::new());
        let name = draft.function.name.clone();
        let known = self.errors.0.len();
        let mut extras = std::mem::take(&mut draft.extras).into_iter().peekable();
        for (i, inst) in std::mem::take(&mut draft.insts).into_iter().enumerate() {
            args.clear();
            blocks.clear();
            for &arg in &draft.args[inst.args.start as usize..inst.args.end as usize] {
                args.extend(self.resolve_value(draft, arg));
            }
            for &block in &draft.block_refs[inst.blocks.start as usize..inst.blocks.end as usize] {
                blocks.extend(self.resolve_block(draft, block));
            }
            let made = draft.function.create_inst(inst.op, inst.ty, &args, &blocks, inst.imm);
            draft.function.set_loc(made, inst.loc);
            draft.function.append_inst(inst.block, made);
            while let Some((_, extra)) = extras.next_if(|(of, _)| *of == i) {
                self.add_extra(draft, id, made, extra);
            }
        }
        for error in &mut self.errors.0[known..] {
            error.function = Some(name.clone());
        }
        Ok(())
    }

    fn add_extra(
        &mut self,
        draft: &mut Draft<'t>,
        caller: FunctionId,
        inst: InstId,
        extra: Extra<'t>,
    ) {
        match extra {
            Extra::Callee(callee, position, offset) => {
                let unknown = FunctionId::reserved_value();
                let imm = match draft.function.op(inst) {
                    Op::Call => Imm::Callee(unknown),
                    _ => Imm::Handlers { surface: unknown, procedural: unknown },
                };
                draft.function.set_imm(inst, imm);
                self.calls.push(PendingCall { caller, inst, callee, position, offset });
            }
            Extra::Name(name) => {
                if let Some(result) = draft.function.result(inst) {
                    draft.function.set_name(result, name);
                }
            }
            Extra::Comment(comment) => draft.function.set_comment(inst, comment),
        }
    }

    /// Results get the ids after all that exist now, in order.
    fn number_results(&mut self, draft: &mut Draft<'t>) -> Result<(), Error> {
        let first = draft.function.value_count();
        for (i, &number) in draft.results.iter().enumerate() {
            if !draft.values.insert(number, ValueId::new(first + i), self.text.len()) {
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
        let value = draft.values.get(number);
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
