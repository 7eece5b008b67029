//! Which construct each block of a structured function belongs to, and which labels SPIR-V needs for it.
//!
//! XIR lets a block play several roles that SPIR-V keeps apart: the merge of an inner construct may be the update of the loop around
//! it, and `continue` in a loop without an update goes to its head. Such a construct gets a block of its own that only branches on. A loop
//! always has a header of its own, so that whatever its first block holds stays in the loop.

use cranelift_entity::SecondaryMap;
use luisac_xir::{BlockId, Function, InstId, Op};

use super::module::{Id, Module};
use super::{Emit, wrong_form};

/// A construct.
#[derive(Clone, Copy, Debug)]
pub struct Scope {
    /// The operation that owns it; none for the function.
    pub op: Option<Op>,
    /// The scope of its owner.
    pub parent: usize,
    /// Its merge block.
    pub merge: Option<BlockId>,
    /// The first block of a loop: prepare or body.
    pub head: Option<BlockId>,
    /// The update of a `loop`.
    pub update: Option<BlockId>,
    /// The nearest construct, itself included, that `break` leaves.
    pub breaks: Option<usize>,
    /// The nearest loop, itself included.
    pub loops: Option<usize>,
    /// Label that leaving the construct goes to.
    pub merge_label: Id,
    /// Whether `merge_label` is a block of its own that branches on to the merge block.
    pub own_merge: bool,
    /// Label that `continue` goes to.
    pub continue_label: Id,
    /// Label of the loop's header.
    pub header_label: Id,
}

/// The constructs of a function.
pub struct Plan {
    /// All scopes; the first is the function.
    pub scopes: Vec<Scope>,
    scope_of: SecondaryMap<BlockId, u32>,
    /// The scope that a terminator opens.
    opened: SecondaryMap<BlockId, u32>,
    labels: SecondaryMap<BlockId, Id>,
    /// Loops by head, by number plus one.
    heads: SecondaryMap<BlockId, u32>,
}

impl Plan {
    /// Walks the constructs from the entry.
    ///
    /// # Errors
    /// If control flow is not structured, or an update is more than one block.
    pub fn of(func: &Function, m: &mut Module) -> Emit<Plan> {
        let root = Scope {
            op: None,
            parent: 0,
            merge: None,
            head: None,
            update: None,
            breaks: None,
            loops: None,
            merge_label: 0,
            own_merge: false,
            continue_label: 0,
            header_label: 0,
        };
        let mut plan = Plan {
            scopes: vec![root],
            scope_of: SecondaryMap::new(),
            opened: SecondaryMap::new(),
            labels: SecondaryMap::new(),
            heads: SecondaryMap::new(),
        };
        for block in func.blocks() {
            plan.labels[block] = m.id();
        }
        let Some(entry) = func.entry() else { return Ok(plan) };
        plan.scope_of[entry] = 1;
        let mut pending = vec![entry];
        while let Some(block) = pending.pop() {
            plan.visit(func, block, &mut pending)?;
        }
        plan.make_labels(func, m)?;
        Ok(plan)
    }

    fn visit(&mut self, func: &Function, block: BlockId, pending: &mut Vec<BlockId>) -> Emit<()> {
        let Some(terminator) = func.terminator(block) else { return Ok(()) };
        let op = func.op(terminator);
        let named = func.inst_blocks(terminator);
        let outer = self.scope(block);
        match op {
            Op::If | Op::Switch | Op::Loop | Op::SimpleLoop => {
                let inner = self.open(op, named, outer);
                self.opened[block] = inner as u32;
                let Some((&merge, parts)) = named.split_last() else { return Ok(()) };
                self.assign(merge, outer, pending);
                for &part in parts.iter().filter(|&&p| p != merge) {
                    self.assign(part, inner, pending);
                }
            }
            Op::Br | Op::CondBr => named.iter().for_each(|&b| self.assign(b, outer, pending)),
            Op::Break | Op::Continue | Op::Return | Op::Unreachable => {}
            op => return Err(wrong_form(&format!("a block ends in `{}`", op.mnemonic()))),
        }
        Ok(())
    }

    fn open(&mut self, op: Op, named: &[BlockId], outer: usize) -> usize {
        let number = self.scopes.len();
        let above = self.scopes[outer];
        let is_loop = matches!(op, Op::Loop | Op::SimpleLoop);
        self.scopes.push(Scope {
            op: Some(op),
            parent: outer,
            merge: named.last().copied(),
            head: if is_loop { named.first().copied() } else { None },
            update: if op == Op::Loop { named.get(2).copied() } else { None },
            breaks: if op == Op::If { above.breaks } else { Some(number) },
            loops: if is_loop { Some(number) } else { above.loops },
            ..self.scopes[0]
        });
        if let Some(&head) = named.first().filter(|_| is_loop) {
            self.heads[head] = number as u32 + 1;
        }
        number
    }

    fn assign(&mut self, block: BlockId, scope: usize, pending: &mut Vec<BlockId>) {
        if self.scope_of[block] == 0 {
            self.scope_of[block] = scope as u32 + 1;
            pending.push(block);
        }
    }

    fn make_labels(&mut self, func: &Function, m: &mut Module) -> Emit<()> {
        let mut continues: SecondaryMap<BlockId, bool> = SecondaryMap::new();
        for scope in &self.scopes {
            let target = scope.update.or(scope.head);
            if let Some(target) = target {
                continues[target] = true;
            }
            if let Some(update) = scope.update {
                let end = func.terminator(update);
                let plain = end.is_some_and(|e| {
                    func.op(e) == Op::Br && func.inst_blocks(e).first().copied() == scope.head
                });
                if !plain {
                    return Err(wrong_form("the update of a loop is more than one block"));
                }
            }
        }
        for number in 1..self.scopes.len() {
            let scope = self.scopes[number];
            let merge = scope.merge.map_or(0, |b| self.labels[b]);
            let own = scope.merge.is_some_and(|b| continues[b]);
            let is_loop = scope.head.is_some();
            let here = &mut self.scopes[number];
            here.own_merge = own;
            here.merge_label = if own { m.id() } else { merge };
            if is_loop {
                here.header_label = m.id();
                here.continue_label = match scope.update {
                    Some(update) => self.labels[update],
                    None => m.id(),
                };
            }
        }
        Ok(())
    }

    /// The scope of a block; the function's for one that nothing reaches.
    pub fn scope(&self, block: BlockId) -> usize {
        (self.scope_of[block] as usize).saturating_sub(1)
    }

    /// The construct that the terminator of a block opens.
    pub fn opened(&self, block: BlockId) -> &Scope {
        &self.scopes[self.opened[block] as usize]
    }

    /// The label of the code of a block.
    pub fn label(&self, block: BlockId) -> Id {
        self.labels[block]
    }

    /// The label that has the phis of a block: the header of the loop that it is the head of, or its own.
    pub fn phi_label(&self, block: BlockId) -> Id {
        match self.heads[block] {
            0 => self.labels[block],
            number => self.scopes[number as usize - 1].header_label,
        }
    }

    /// The loop whose head a block is.
    pub fn loop_of_head(&self, block: BlockId) -> Option<&Scope> {
        match self.heads[block] {
            0 => None,
            number => self.scopes.get(number as usize - 1),
        }
    }

    /// The label that an edge goes to: from the end of `block`, whose terminator is `terminator`, to `target`.
    pub fn route(
        &self,
        func: &Function,
        block: BlockId,
        terminator: InstId,
        target: BlockId,
    ) -> Id {
        let op = func.op(terminator);
        let scope = self.scope(block);
        let inside = &self.scopes[scope];
        if op.has_merge() && self.opened(block).merge == Some(target) {
            return self.opened(block).merge_label;
        }
        let leaves = inside.breaks.map(|n| &self.scopes[n]).filter(|s| s.merge == Some(target));
        let next = inside.loops.map(|n| &self.scopes[n]);
        let next = next.filter(|s| s.update.or(s.head) == Some(target));
        match op {
            Op::Break => return leaves.map_or(self.labels[target], |s| s.merge_label),
            Op::Continue => return next.map_or(self.labels[target], |s| s.continue_label),
            _ => {}
        }
        let falls_out =
            matches!(inside.op, Some(Op::If | Op::Switch)) && inside.merge == Some(target);
        if falls_out {
            return inside.merge_label;
        }
        if let Some(scope) = leaves {
            return scope.merge_label;
        }
        if let Some(scope) = next.filter(|_| !op.has_merge()) {
            return scope.continue_label;
        }
        // The end of an update leads back to the header; so does nothing else here.
        self.phi_label(target)
    }

    /// Where the block of its own goes that stands for the merge of a construct.
    pub fn after_own_merge(&self, scope: &Scope) -> Id {
        let outer = &self.scopes[scope.parent];
        outer.loops.map_or(0, |n| self.scopes[n].continue_label)
    }
}
