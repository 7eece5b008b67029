//! Outlining of a region into a callable.
//!
//! What: the blocks from `entry` up to, but not with, `exit`, both named by their number in the printed function, become a
//! callable of their own, and one call takes their place. Without a region named nothing is done.
//! Why right: the region is entered by `entry` only and left to `exit` only. In memory form what goes in and out lies in
//! variables, which the callable gets by reference; values are passed by value, resources as they are. A local variable that
//! is declared in the region stays the function's, as it is zero once and not at each run of the region. Barriers and wave
//! operations are refused: a target may not run them in a callable. Nothing changes if anything is refused.
//! Cost: linear in the function.

use super::util;
use crate::manager::declaration::{
    Declaration, ModuleCx, ModulePass, OptionType, Refusal, counters, options,
};
use crate::manager::form::Requires;
use cranelift_entity::SecondaryMap;
use luisac_ast::types::TypeId;
use luisac_xir::op::Space;
use luisac_xir::{
    ArgumentKind, BlockId, Builder, Function, FunctionId, FunctionKind, Imm, InstId, Module, Op,
    ValueDef, ValueId,
};
use rustc_hash::{FxHashMap, FxHashSet};

counters! {
    /// What `outline` did.
    Info {
        change outlined_region_count "regions turned into callables";
        note outlined_block_count "blocks that went into callables";
    }
}

/// A name; empty if there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Name(pub String);

impl OptionType for Name {
    const KIND: &'static str = "name";
    fn parse(text: &str) -> Option<Name> {
        Some(Name(text.to_string()))
    }
    fn show(&self) -> String {
        self.0.clone()
    }
}

options! {
    /// Which region.
    Options {
        function: Name = Name::default(), "name of the function; without one, the first kernel";
        entry: u64 = 0, "number of the block that the region starts with; 0: no region";
        exit: u64 = 0, "number of the block that follows the region";
        name: Name = Name(String::from("outlined")), "name of the callable";
    }
}

/// The pass.
pub struct Outline;

impl ModulePass for Outline {
    const DECLARATION: Declaration = Declaration {
        requires: Requires::FLAT_MEMORY,
        why: "a region that phis or constructs cross has more than one way in or out",
        ..Declaration::new(
            "outline",
            "turns a region into a callable",
            "Takes the blocks from `entry` up to `exit` (numbers as in the printed function) out into a callable and calls it. \
             The region has to have one way in and one way out. Without `entry` nothing is done.",
        )
    };
    type Options = Options;
    type Info = Info;

    fn run(cx: &mut ModuleCx<'_>, options: &Options) -> Result<Info, Refusal> {
        if options.entry == 0 {
            return Ok(Info::default());
        }
        let wanted = &options.function.0;
        let id = match wanted.is_empty() {
            true => cx.module.kernels().next(),
            false => cx.module.functions.iter().find(|(_, f)| f.name == *wanted).map(|(id, _)| id),
        };
        let Some(id) = id else {
            return Err(refusal(
                wanted,
                "there is no such function",
                "name a function with a body",
            ));
        };
        let function = &cx.module.functions[id];
        let region = Region::of(function, options)
            .and_then(|region| region.check(function).map(|()| region))
            .map_err(|(reason, help)| refusal(&function.name, reason, help))?;
        if !cx.fuel() {
            return Ok(Info::default());
        }
        carry_out(cx.module, id, &region, &options.name.0);
        Ok(Info { outlined_region_count: 1, outlined_block_count: region.blocks.len() as u64 })
    }
}

fn refusal(function: &str, reason: &str, help: &str) -> Refusal {
    Refusal { reason: reason.into(), help: help.into(), function: function.into() }
}

/// What is wrong, and what helps.
type Fault = (&'static str, &'static str);

struct Region {
    entry: BlockId,
    exit: BlockId,
    /// In the function's order.
    blocks: Vec<BlockId>,
    inside: SecondaryMap<BlockId, bool>,
}

impl Region {
    fn of(function: &Function, options: &Options) -> Result<Region, Fault> {
        let block =
            |number: u64| function.blocks().nth(usize::try_from(number).unwrap_or(usize::MAX));
        let (Some(entry), Some(exit)) = (block(options.entry), block(options.exit)) else {
            return Err(("there is no block of that number", "count as the printed function does"));
        };
        if options.exit == 0 || entry == exit {
            return Err((
                "`exit` must be another block than `entry`, and not the first",
                "name the block behind the region",
            ));
        }
        let mut inside: SecondaryMap<BlockId, bool> = SecondaryMap::new();
        let mut pending = vec![entry];
        inside[entry] = true;
        while let Some(block) = pending.pop() {
            for &target in function.successors(block) {
                if target != exit && !inside[target] {
                    inside[target] = true;
                    pending.push(target);
                }
            }
        }
        let blocks = function.blocks().filter(|&b| inside[b]).collect();
        Ok(Region { entry, exit, blocks, inside })
    }

    fn check(&self, function: &Function) -> Result<(), Fault> {
        for block in function.blocks().filter(|&b| !self.inside[b]) {
            let enters = |&t: &BlockId| self.inside[t] && t != self.entry;
            if function.successors(block).iter().any(enters) {
                return Err((
                    "the region is entered by another block than `entry`",
                    "choose a larger region",
                ));
            }
        }
        for &block in &self.blocks {
            for inst in function.insts(block) {
                self.check_inst(function, inst)?;
            }
        }
        Ok(())
    }

    fn check_inst(&self, function: &Function, inst: InstId) -> Result<(), Fault> {
        match function.op(inst) {
            Op::Return | Op::RasterDiscard => {
                return Err((
                    "the region ends the function",
                    "choose a region that always leads to `exit`",
                ));
            }
            Op::ThreadGroup(_) => {
                return Err((
                    "the region holds a barrier or a wave operation",
                    "leave it out of the region",
                ));
            }
            Op::Alloca(Space::Shared) => {
                return Err(("the region declares shared memory", "leave it out of the region"));
            }
            Op::Alloca(_) => return Ok(()),
            _ => {}
        }
        let leaves = |value| {
            function
                .uses(value)
                .any(|(user, _)| function.inst_block(user).is_none_or(|b| !self.inside[b]))
        };
        match function.result(inst).is_some_and(leaves) {
            true => Err(("a value of the region is used outside", "run `reg2mem` before")),
            false => Ok(()),
        }
    }

    /// What the region uses and does not define, in the order of its uses; its own locals are the function's.
    fn captures(&self, function: &Function) -> Vec<ValueId> {
        let mut found = Vec::new();
        let mut seen: SecondaryMap<ValueId, bool> = SecondaryMap::new();
        for inst in self.blocks.iter().flat_map(|&b| function.insts(b)) {
            for &value in function.args(inst) {
                let outside = match function.value_def(value) {
                    ValueDef::Inst(def) => {
                        matches!(function.op(def), Op::Alloca(_))
                            || function.inst_block(def).is_none_or(|b| !self.inside[b])
                    }
                    ValueDef::Argument(_) => true,
                    _ => false,
                };
                if outside && !std::mem::replace(&mut seen[value], true) {
                    found.push(value);
                }
            }
        }
        found
    }
}

fn carry_out(module: &mut Module, id: FunctionId, region: &Region, name: &str) {
    let name = unused_name(module, name);
    let function = &mut module.functions[id];
    hoist_locals(function, region);
    let captures = region.captures(function);
    let callable = Extraction::new(function, &name, &captures).run(region);
    let Some(call_block) = region.blocks.first().map(|_| function.append_block()) else { return };
    redirect(function, region, call_block);
    let callee = module.functions.push(callable);
    let function = &mut module.functions[id];
    let mut builder = Builder::at_end(function, &module.types, call_block);
    builder.inst(Op::Call, TypeId::VOID, &captures, &[], Imm::Callee(callee));
    builder.br(region.exit);
    let mut keep: SecondaryMap<BlockId, bool> = SecondaryMap::new();
    for block in function.blocks() {
        keep[block] = !region.inside[block];
    }
    util::remove_blocks_but(function, &keep);
}

/// The name, or the first of `name_1`, `name_2` ... that no function has.
fn unused_name(module: &Module, name: &str) -> String {
    let names: FxHashSet<&str> = module.functions.values().map(|f| f.name.as_str()).collect();
    let candidates = (1..).map(|i| format!("{name}_{i}"));
    let mut all = std::iter::once(name.to_string()).chain(candidates);
    all.find(|n| !names.contains(n.as_str())).unwrap_or_default()
}

/// Moves the locals of the region to the start of the function.
fn hoist_locals(function: &mut Function, region: &Region) {
    let Some(entry) = function.entry() else { return };
    let locals: Vec<InstId> = region
        .blocks
        .iter()
        .flat_map(|&b| function.insts(b))
        .filter(|&i| matches!(function.op(i), Op::Alloca(_)))
        .collect();
    for local in locals.into_iter().rev() {
        function.unlink_inst(local);
        function.prepend_inst(entry, local);
    }
}

/// Sends the edges that lead into the region from outside to another block.
fn redirect(function: &mut Function, region: &Region, to: BlockId) {
    let outside: Vec<BlockId> = function.blocks().filter(|&b| !region.inside[b]).collect();
    for block in outside {
        let Some(end) = function.terminator(block) else { continue };
        for target in function.inst_blocks_mut(end) {
            if *target == region.entry {
                *target = to;
            }
        }
    }
}

/// Copies a region into a function of its own.
struct Extraction<'a> {
    from: &'a Function,
    callable: Function,
    values: FxHashMap<ValueId, ValueId>,
}

impl<'a> Extraction<'a> {
    fn new(from: &'a Function, name: &str, captures: &[ValueId]) -> Extraction<'a> {
        let mut callable = Function::new(name, FunctionKind::Callable, TypeId::VOID);
        callable.no_inline = true;
        let mut values = FxHashMap::default();
        for &value in captures {
            let kind = if from.is_lvalue(value) {
                ArgumentKind::Reference
            } else if from.is_resource(value) {
                ArgumentKind::Resource
            } else {
                ArgumentKind::Value
            };
            let argument =
                callable.add_argument(kind, from.value_type(value), from.name_of(value), false);
            values.insert(value, argument);
        }
        Extraction { from, callable, values }
    }

    fn run(mut self, region: &Region) -> Function {
        // The first block of a function is never branched to.
        let start = self.callable.append_block();
        let mut blocks: SecondaryMap<BlockId, Option<BlockId>> = SecondaryMap::new();
        for &block in &region.blocks {
            blocks[block] = Some(self.callable.append_block());
        }
        let end = self.callable.append_block();
        blocks[region.exit] = Some(end);
        let first = blocks[region.entry].unwrap_or(end);
        let br = self.callable.create_inst(Op::Br, TypeId::VOID, &[], &[first], Imm::None);
        self.callable.append_inst(start, br);
        let mut copies: Vec<(InstId, InstId)> = Vec::new();
        for &block in &region.blocks {
            let Some(into) = blocks[block] else { continue };
            for inst in self.from.insts(block) {
                let copy = self.shell(inst, &blocks);
                self.callable.append_inst(into, copy);
                copies.push((inst, copy));
            }
        }
        for (inst, copy) in copies {
            let args: Vec<ValueId> = self.from.args(inst).iter().map(|&v| self.value(v)).collect();
            self.callable.set_args(copy, &args);
        }
        let ret = self.callable.create_inst(Op::Return, TypeId::VOID, &[], &[], Imm::None);
        self.callable.append_inst(end, ret);
        self.callable
    }

    /// A copy of an instruction without operands, in no block yet.
    fn shell(&mut self, inst: InstId, blocks: &SecondaryMap<BlockId, Option<BlockId>>) -> InstId {
        let data = self.from.inst(inst);
        let targets: Vec<BlockId> =
            self.from.inst_blocks(inst).iter().filter_map(|&b| blocks[b]).collect();
        let copy = self.callable.create_inst(data.op, data.ty, &[], &targets, data.imm.clone());
        self.callable.set_loc(copy, data.loc);
        if let Some(comment) = self.from.comment_of(inst) {
            self.callable.set_comment(copy, comment);
        }
        if let (Some(old), Some(new)) = (self.from.result(inst), self.callable.result(copy)) {
            self.values.insert(old, new);
            if let Some(name) = self.from.name_of(old) {
                self.callable.set_name(new, name);
            }
        }
        copy
    }

    fn value(&mut self, value: ValueId) -> ValueId {
        if let Some(&known) = self.values.get(&value) {
            return known;
        }
        let ty = self.from.value_type(value);
        let own = match self.from.value_def(value) {
            ValueDef::Special(register) => self.callable.special(register),
            _ => match self.from.constant_bytes(value) {
                Some(bytes) => self.callable.constant(ty, bytes.clone()),
                None => self.callable.undefined(ty),
            },
        };
        self.values.insert(value, own);
        own
    }
}
