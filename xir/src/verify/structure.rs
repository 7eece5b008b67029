//! Invariants 13 to 15: the roles of blocks in structured constructs.
//!
//! Every block belongs to a *scope*: the root, or the inner part of one construct. The terminator that owns a construct opens a
//! scope for it; arms, cases, prepare, body, update, dispatch and entry blocks belong to that scope, the merge to the scope of
//! the owner. Blocks that branches lead to belong to the scope of the branch. So one walk from the entry gives each block its
//! scope, and any disagreement is an error. Then a branch may lead
//!
//! * to a block of its own scope,
//! * from an arm, case or differentiated part to the merge of the construct,
//! * from the prepare part of a `loop`, as second target of a `cond_br` whose first is the body, to the merge,
//! * where a `break` or `continue` may lead, as a `br`,
//!
//! and `break` and `continue` to the blocks that the nearest enclosing construct names. A part of a ray-query loop or of a
//! differentiated scope is left by neither, nor by `return`. In functions that mix structured and raw control flow only `break`, `continue` and
//! the uniqueness of roles are checked.

use super::Context;
use crate::forms::{self, Cfg};
use crate::{BlockId, InstId, Op};
use cranelift_entity::SecondaryMap;

const NONE: u32 = u32::MAX;
const ROOT: u32 = 0;

struct Scope {
    /// The terminator that owns the construct; none for the root.
    op: Option<Op>,
    merge: Option<BlockId>,
    /// Body of a loop.
    body: Option<BlockId>,
    /// The target of `continue` that belongs to this scope.
    update: Option<BlockId>,
    /// The scope whose merge a `break` goes to.
    nearest_break: u32,
    /// The scope whose update a `continue` goes to.
    nearest_loop: u32,
    /// Whether a `return` may stand in it.
    may_return: bool,
}

pub(super) fn check(cx: &mut Context<'_>) {
    let Some(entry) = cx.function.entry() else { return };
    check_unique_roles(cx);
    let strict = forms::control_flow_of(cx.function) != Cfg::Mixed;
    let root = Scope {
        op: None,
        merge: None,
        body: None,
        update: None,
        nearest_break: NONE,
        nearest_loop: NONE,
        may_return: true,
    };
    let mut walk = Walk {
        cx,
        strict,
        scopes: vec![root],
        scope_of: SecondaryMap::new(),
        pending: vec![entry],
    };
    walk.scope_of[entry] = ROOT + 1;
    while let Some(block) = walk.pending.pop() {
        walk.visit(block);
    }
}

/// Merges are unique, and the roles of one construct are different blocks.
fn check_unique_roles(cx: &mut Context<'_>) {
    let function = cx.function;
    let mut merges: SecondaryMap<BlockId, bool> = SecondaryMap::new();
    for block in function.blocks() {
        let Some(terminator) = function.terminator(block) else { continue };
        let op = function.op(terminator);
        let named = function.inst_blocks(terminator);
        if !op.has_merge() {
            continue;
        }
        if named.contains(&block) {
            cx.inst_error(13, terminator, "the construct names the block that it starts in");
        }
        let Some(&merge) = named.last() else { continue };
        if merges[merge] {
            cx.inst_error(13, terminator, "the merge block is that of another construct too");
        }
        merges[merge] = true;
        // An arm or case that holds nothing may be the merge itself.
        let distinct = matches!(op, Op::If | Op::Switch)
            || (0..named.len()).all(|i| !named[..i].contains(&named[i]));
        if !distinct {
            cx.inst_error(13, terminator, "two roles of the construct are one block");
        }
    }
}

struct Walk<'c, 'a> {
    cx: &'c mut Context<'a>,
    strict: bool,
    scopes: Vec<Scope>,
    /// Scope plus one; 0 for blocks not reached yet.
    scope_of: SecondaryMap<BlockId, u32>,
    pending: Vec<BlockId>,
}

impl Walk<'_, '_> {
    fn visit(&mut self, block: BlockId) {
        let function = self.cx.function;
        let scope = self.scope_of[block] - 1;
        let Some(terminator) = function.terminator(block) else { return };
        let op = function.op(terminator);
        let named = function.inst_blocks(terminator);
        match op {
            _ if op.has_merge() => self.open(terminator, op, named, scope),
            Op::Br => self.branch(terminator, named[0], scope),
            Op::CondBr => self.conditional(terminator, named, scope),
            Op::IndexedBranch => named.iter().for_each(|&b| self.branch(terminator, b, scope)),
            Op::Break => self.leave(terminator, named[0], scope, true),
            Op::Continue => self.leave(terminator, named[0], scope, false),
            Op::RayQueryDispatch => self.dispatch(terminator, named, scope),
            Op::Return if !self.scopes[scope as usize].may_return => {
                let message = "a ray-query loop or differentiated scope is left by a `return`";
                self.cx.inst_error(14, terminator, message);
            }
            _ => {}
        }
    }

    /// Gives a block a scope, for a role or at first sight.
    fn assign(&mut self, terminator: InstId, block: BlockId, scope: u32) {
        match self.scope_of[block] {
            0 => {
                self.scope_of[block] = scope + 1;
                self.pending.push(block);
            }
            known if known - 1 == scope || !self.strict => {}
            _ => {
                let message = format!("{block} belongs to the parts of two constructs");
                self.cx.inst_error(13, terminator, message);
            }
        }
    }

    fn open(&mut self, terminator: InstId, op: Op, named: &[BlockId], outer: u32) {
        let Some((&merge, parts)) = named.split_last() else { return };
        let inner = self.scopes.len() as u32;
        let above = &self.scopes[outer as usize];
        let (nearest_break, nearest_loop) = match op {
            Op::Loop | Op::SimpleLoop => (inner, inner),
            Op::Switch => (inner, above.nearest_loop),
            Op::If => (above.nearest_break, above.nearest_loop),
            // Nothing leaves the parts of a ray-query loop or of a differentiated scope.
            _ => (NONE, NONE),
        };
        let may_return = above.may_return && !matches!(op, Op::RayQueryLoop | Op::AutodiffScope);
        let (body, update) = match op {
            Op::Loop => (Some(named[1]), Some(named[2])),
            Op::SimpleLoop => (Some(named[0]), Some(named[0])),
            _ => (None, None),
        };
        self.scopes.push(Scope {
            op: Some(op),
            merge: Some(merge),
            body,
            update,
            nearest_break,
            nearest_loop,
            may_return,
        });
        self.assign(terminator, merge, outer);
        for &part in parts {
            if part != merge {
                self.assign(terminator, part, inner);
            }
        }
        if op == Op::Loop {
            self.check_prepare(terminator, named);
        }
        if op == Op::RayQueryLoop {
            self.check_dispatch(terminator, named);
        }
    }

    /// A prepare block that ends at once ends in `cond_br` to body and merge, or in `br`.
    fn check_prepare(&mut self, owner: InstId, named: &[BlockId]) {
        let function = self.cx.function;
        let (prepare, body, merge) = (named[0], named[1], named[3]);
        let Some(end) = function.terminator(prepare) else { return };
        let fits = match function.op(end) {
            Op::CondBr => function.inst_blocks(end) == [body, merge],
            Op::IndexedBranch => false,
            _ => true,
        };
        if self.strict && !fits {
            self.cx.inst_error(
                15,
                owner,
                "the prepare block does not decide between body and merge",
            );
        }
    }

    fn check_dispatch(&mut self, owner: InstId, named: &[BlockId]) {
        let function = self.cx.function;
        let end = function.terminator(named[0]);
        let end = end.filter(|&e| function.op(e) == Op::RayQueryDispatch);
        if end.is_none_or(|e| function.inst_blocks(e)[0] != named[1]) {
            let message = "the dispatch block does not end in a `ray_query_dispatch` with the merge as its exit";
            self.cx.inst_error(15, owner, message);
        }
    }

    fn dispatch(&mut self, terminator: InstId, named: &[BlockId], scope: u32) {
        let inside = &self.scopes[scope as usize];
        if inside.op != Some(Op::RayQueryLoop) || inside.merge != Some(named[0]) {
            let message = "a `ray_query_dispatch` belongs to the dispatch block of its loop";
            self.cx.inst_error(15, terminator, message);
            return;
        }
        self.assign(terminator, named[1], scope);
        self.assign(terminator, named[2], scope);
    }

    fn branch(&mut self, terminator: InstId, target: BlockId, scope: u32) {
        let known = self.scope_of[target];
        if known == 0 {
            return self.assign(terminator, target, scope);
        }
        let inside = &self.scopes[scope as usize];
        let falls_out = matches!(inside.op, Some(Op::If | Op::Switch | Op::AutodiffScope))
            && inside.merge == Some(target);
        let leaves = self.scopes.get(inside.nearest_break as usize).and_then(|s| s.merge);
        let next_round = self.scopes.get(inside.nearest_loop as usize).and_then(|s| s.update);
        let jumps = leaves == Some(target) || next_round == Some(target);
        if self.strict && known - 1 != scope && !falls_out && !jumps {
            let message = format!("the branch to {target} leaves or enters a construct");
            self.cx.inst_error(14, terminator, message);
        }
    }

    fn conditional(&mut self, terminator: InstId, named: &[BlockId], scope: u32) {
        let inside = &self.scopes[scope as usize];
        let enters = inside.op == Some(Op::Loop)
            && inside.body == Some(named[0])
            && inside.merge == Some(named[1]);
        if !enters {
            self.branch(terminator, named[0], scope);
            self.branch(terminator, named[1], scope);
        }
    }

    fn leave(&mut self, terminator: InstId, target: BlockId, scope: u32, is_break: bool) {
        let inside = &self.scopes[scope as usize];
        let nearest = if is_break { inside.nearest_break } else { inside.nearest_loop };
        let Some(construct) = self.scopes.get(nearest as usize) else {
            self.cx.inst_error(14, terminator, "there is nothing around to leave");
            return;
        };
        let wanted = if is_break { construct.merge } else { construct.update };
        if wanted != Some(target) {
            let message = "the target is not that of the nearest enclosing construct";
            self.cx.inst_error(14, terminator, message);
        }
    }
}
