//! A handler as a function of its own.

use cranelift_entity::SecondaryMap;
use luisac_xir::{
    ArgumentKind, BlockId, Function, FunctionKind, Imm, InstId, Op, TypeId, ValueDef, ValueId,
};
use rustc_hash::FxHashSet;

/// What becomes a function.
pub(super) struct Handler<'a> {
    pub name: String,
    /// The entry first; none for a handler that does nothing.
    pub blocks: &'a [BlockId],
    /// A branch there is a `return`.
    pub dispatch: BlockId,
    pub query: ValueId,
    pub captures: &'a [ValueId],
    /// Variables that the function declares itself.
    pub locals: &'a [InstId],
}

/// Makes a callable `(query, captures...)` of a handler of `func`, which stays as it is.
pub(super) fn outline(func: &Function, handler: &Handler<'_>) -> Function {
    let kind = FunctionKind::Callable;
    let mut copier = Copier {
        from: func,
        handler,
        into: Function::new(handler.name.clone(), kind, TypeId::VOID),
        values: SecondaryMap::new(),
        blocks: SecondaryMap::new(),
    };
    copier.arguments();
    copier.body();
    copier.into
}

struct Copier<'a> {
    from: &'a Function,
    handler: &'a Handler<'a>,
    into: Function,
    values: SecondaryMap<ValueId, Option<ValueId>>,
    blocks: SecondaryMap<BlockId, Option<BlockId>>,
}

impl Copier<'_> {
    fn arguments(&mut self) {
        for &value in [self.handler.query].iter().chain(self.handler.captures) {
            let kind = match (self.from.is_lvalue(value), self.from.is_resource(value)) {
                (true, _) => ArgumentKind::Reference,
                (_, true) => ArgumentKind::Resource,
                _ => ArgumentKind::Value,
            };
            let name = match self.from.value_def(value) {
                ValueDef::Argument(i) => self.from.arguments[i as usize].name.as_deref(),
                _ => self.from.name_of(value),
            };
            let ty = self.from.value_type(value);
            self.values[value] = Some(self.into.add_argument(kind, ty, name, false));
        }
    }

    fn body(&mut self) {
        let Some(&first) = self.handler.blocks.first() else {
            let entry = self.into.append_block();
            self.ret(entry);
            return;
        };
        // Nothing leads back to the entry of a function.
        let leads_back = self.handler.blocks.iter().any(|&b| {
            self.from.terminator(b).is_some_and(|t| self.from.inst_blocks(t).contains(&first))
        });
        let front = leads_back.then(|| self.into.append_block());
        for &block in self.handler.blocks {
            self.blocks[block] = Some(self.into.append_block());
        }
        let entry = front.or(self.blocks[first]);
        for &local in self.handler.locals {
            let copy = self.shell(local);
            entry.into_iter().for_each(|b| self.into.append_inst(b, copy));
        }
        if let (Some(front), Some(first)) = (front, self.blocks[first]) {
            self.into.replace_with_br(front, first);
        }
        let locals: FxHashSet<InstId> = self.handler.locals.iter().copied().collect();
        let mut copies: Vec<(InstId, InstId)> = Vec::new();
        for &block in self.handler.blocks {
            let Some(into) = self.blocks[block] else { continue };
            for inst in self.from.insts(block) {
                if locals.contains(&inst) {
                    continue;
                }
                let is_end = self.from.op(inst) == Op::Br
                    && self.from.inst_blocks(inst) == [self.handler.dispatch];
                if is_end {
                    self.ret(into);
                    continue;
                }
                let copy = self.shell(inst);
                self.into.append_inst(into, copy);
                copies.push((inst, copy));
            }
        }
        for (inst, copy) in copies {
            let args: Vec<ValueId> = self.from.args(inst).iter().map(|&v| self.value(v)).collect();
            self.into.set_args(copy, &args);
        }
    }

    fn ret(&mut self, block: BlockId) {
        let ret = self.into.create_inst(Op::Return, TypeId::VOID, &[], &[], Imm::None);
        self.into.append_inst(block, ret);
    }

    /// A copy of an instruction without operands.
    fn shell(&mut self, inst: InstId) -> InstId {
        let data = self.from.inst(inst);
        let named = self.from.inst_blocks(inst).iter();
        let blocks: Vec<BlockId> = named.filter_map(|&b| self.blocks[b]).collect();
        let copy = self.into.create_inst(data.op, data.ty, &[], &blocks, data.imm.clone());
        self.into.set_loc(copy, data.loc);
        if let Some(comment) = self.from.comment_of(inst) {
            self.into.set_comment(copy, comment);
        }
        if let (Some(old), Some(new)) = (self.from.result(inst), self.into.result(copy)) {
            self.values[old] = Some(new);
            if let Some(name) = self.from.name_of(old) {
                self.into.set_name(new, name);
            }
        }
        copy
    }

    /// What stands for a value; constants and the like are those of the new function.
    fn value(&mut self, value: ValueId) -> ValueId {
        if let Some(known) = self.values[value] {
            return known;
        }
        let ty = self.from.value_type(value);
        let made = match (self.from.value_def(value), self.from.constant_bytes(value)) {
            (_, Some(bytes)) => self.into.constant(ty, bytes.clone()),
            (ValueDef::Special(register), _) => self.into.special(register),
            // Code that nothing reaches may name what is not there.
            _ => self.into.undefined(ty),
        };
        self.values[value] = Some(made);
        made
    }
}
