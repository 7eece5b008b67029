//! Writes the constructs, from the innermost pieces outwards.
//!
//! The piece of a node is its block, the construct that its terminator becomes, and the joins below it one after the other.
//! Since every child has a higher number than its parent, going through the numbers downwards finds the pieces of all children
//! made. A `break` or `continue` that the place allows is written where the edge is. Other edges fall out of the construct; if
//! they fall out to different targets, each writes its target into the selector, and in front of a join stands a test of it.

use super::pending::{Pending, Piece, Slot};
use super::shape::{Node, Shape, Target};
use super::{Info, Selector};
use luisac_xir::op::ArithmeticOp;
use luisac_xir::{BlockId, Builder, Function, Imm, InstId, Op, TypeId, TypeTable, ValueId};

/// What is known of a loop while its body is written.
#[derive(Default)]
struct Exits {
    slots: Vec<Slot>,
    pending: Pending,
}

/// The place of a piece: what `break` and `continue` mean there.
#[derive(Clone, Copy)]
struct Place {
    level: Option<u32>,
    in_switch: bool,
}

/// An arm of a branch.
struct Arm {
    piece: Piece,
    /// Made for the edge: the target is no arm of the branch.
    is_stub: bool,
}

pub(super) struct Emitter<'a> {
    func: &'a mut Function,
    types: &'a TypeTable,
    shape: &'a Shape,
    selector: &'a mut Selector,
    info: &'a mut Info,
    pieces: Vec<Option<Piece>>,
    exits: Vec<Exits>,
    /// Where `continue` leads, by loop.
    next_round: Vec<BlockId>,
    /// Empty arms that may turn out to be superfluous, with the construct and the position in it.
    stubs: Vec<(BlockId, InstId, usize)>,
}

/// Writes the constructs of a function of this shape.
pub(super) fn emit(
    func: &mut Function,
    types: &TypeTable,
    shape: &Shape,
    selector: &mut Selector,
    info: &mut Info,
) {
    let next_round = next_rounds(func, types, shape);
    let mut emitter = Emitter {
        func,
        types,
        shape,
        selector,
        info,
        pieces: (0..2 * shape.order.len()).map(|_| None).collect(),
        exits: shape.loops.iter().map(|_| Exits::default()).collect(),
        next_round,
        stubs: Vec::new(),
    };
    for &block in shape.order.iter().rev() {
        let node = shape.plain(block);
        let is_update = |l: u32| shape.loops[l as usize].update == Some(block);
        if shape.level(node).is_some_and(is_update) {
            continue;
        }
        let piece = match shape.headed(block) {
            Some(number) if shape.loops[number as usize].tested => emitter.test(block, number),
            _ => emitter.block(block),
        };
        let piece = emitter.with_joins(node, piece);
        emitter.pieces[node.0 as usize] = Some(piece);
        if let Some(number) = shape.headed(block) {
            emitter.loop_around(block, number);
        }
    }
    if let Some(piece) = shape.order.first().and_then(|&b| emitter.take(shape.plain(b))) {
        emitter.close(piece);
    }
    emitter.remove_stubs();
}

/// The target of `continue` of each loop; makes update blocks where there are none.
fn next_rounds(func: &mut Function, types: &TypeTable, shape: &Shape) -> Vec<BlockId> {
    let mut next = Vec::with_capacity(shape.loops.len());
    for l in &shape.loops {
        next.push(match l.update {
            Some(update) => update,
            None if l.tested => {
                let update = func.append_block();
                Builder::at_end(func, types, update).br(l.header);
                update
            }
            None => l.header,
        });
    }
    next
}

impl Emitter<'_> {
    fn take(&mut self, node: Node) -> Option<Piece> {
        self.pieces[node.0 as usize].take()
    }

    fn place(&self, node: Node) -> Place {
        Place { level: self.shape.level(node), in_switch: self.shape.in_switch(node) }
    }

    fn patch(&mut self, open: &[Slot], target: BlockId) {
        for &(inst, index) in open {
            self.func.inst_blocks_mut(inst)[index] = target;
        }
    }

    /// A block of one instruction. What it leads to is open unless `target` says it.
    fn jump_block(&mut self, op: Op, target: BlockId) -> (BlockId, InstId) {
        let block = self.func.append_block();
        let mut b = Builder::at_end(self.func, self.types, block);
        let inst = b.inst(op, TypeId::VOID, &[], &[target], Imm::None);
        (block, inst)
    }

    // ---- blocks

    /// The piece of a block and of the construct that it ends in.
    fn block(&mut self, block: BlockId) -> Piece {
        let Some(terminator) = self.func.terminator(block) else {
            return self.ended(block);
        };
        let place = self.place(self.shape.plain(block));
        match self.func.op(terminator) {
            Op::Br => {
                let target = self.func.successors_of(terminator)[0];
                if let Some(mut next) = self.arm_piece(place.level, target) {
                    self.patch(&[(terminator, 0)], next.entry);
                    next.entry = block;
                    return next;
                }
                self.edge(block, terminator, target, place)
            }
            Op::CondBr => self.condition(block, terminator, place),
            Op::IndexedBranch => self.switch(block, terminator, place),
            _ => self.ended(block),
        }
    }

    fn ended(&self, block: BlockId) -> Piece {
        Piece { entry: block, open: Vec::new(), has_role: false, pending: Pending::default() }
    }

    /// The piece of an arm that an edge leads to.
    fn arm_piece(&mut self, level: Option<u32>, target: BlockId) -> Option<Piece> {
        match self.shape.target(level, target) {
            Target::Node(node) if self.shape.is_arm(node) => self.take(node),
            _ => None,
        }
    }

    /// The edge of a `br` at the end of `block` to what is no arm: a jump, or left open.
    fn edge(&mut self, block: BlockId, br: InstId, target: BlockId, place: Place) -> Piece {
        let mut piece = self.ended(block);
        match (self.shape.target(place.level, target), place.level) {
            (Target::Continue, Some(level)) => {
                self.func.set_op(br, Op::Continue);
                let next = self.next_round[level as usize];
                self.patch(&[(br, 0)], next);
            }
            (Target::Exit, Some(level)) if !place.in_switch => {
                self.func.set_op(br, Op::Break);
                let exits = &mut self.exits[level as usize];
                exits.slots.push((br, 0));
                exits.pending.merge(Pending::one(self.shape.number(target), block));
            }
            _ => {
                piece.open.push((br, 0));
                piece.pending = Pending::one(self.shape.number(target), block);
            }
        }
        piece
    }

    fn arm(&mut self, target: BlockId, place: Place) -> Arm {
        match self.arm_piece(place.level, target) {
            Some(piece) => Arm { piece, is_stub: false },
            None => {
                let (stub, br) = self.jump_block(Op::Br, target);
                Arm { piece: self.edge(stub, br, target, place), is_stub: true }
            }
        }
    }

    /// `cond_br` -> `if`. An arm that never ends lets the other one follow behind the construct instead of inside it.
    fn condition(&mut self, block: BlockId, terminator: InstId, place: Place) -> Piece {
        self.info.restructured_if_count += 1;
        let [on_true, on_false] = [0, 1].map(|i| self.func.successors_of(terminator)[i]);
        let arms = [self.arm(on_true, place), self.arm(on_false, place)];
        self.func.set_op(terminator, Op::If);
        let follows = |a: &Arm| !a.is_stub || a.piece.ends();
        let follower = match &arms {
            [a, b] if a.piece.ends() && follows(b) => Some(1),
            [a, b] if b.piece.ends() && follows(a) => Some(0),
            _ => None,
        };
        let named = arms.each_ref().map(|a| a.piece.entry);
        if let Some(follower) = follower {
            let merge = named[follower];
            *self.func.inst_blocks_mut(terminator) = vec![named[0], named[1], merge];
            let [a, b] = arms;
            let (ending, mut piece) = if follower == 1 { (a, b.piece) } else { (b, a.piece) };
            self.close(ending.piece);
            piece.entry = block;
            return piece;
        }
        self.construct(block, terminator, arms.into())
    }

    fn switch(&mut self, block: BlockId, terminator: InstId, place: Place) -> Piece {
        self.info.restructured_switch_count += 1;
        let targets = self.func.successors_of(terminator).to_vec();
        let inside = Place { in_switch: true, ..place };
        let arms = targets.iter().map(|&t| self.arm(t, inside)).collect();
        self.func.set_op(terminator, Op::Switch);
        let piece = self.construct(block, terminator, arms);
        self.jump_away(piece, place)
    }

    /// Names arms and merge in the terminator; the arms fall out to the merge, which is left open.
    fn construct(&mut self, block: BlockId, terminator: InstId, arms: Vec<Arm>) -> Piece {
        let mut piece = Piece { has_role: true, ..self.ended(block) };
        let mut named: Vec<BlockId> = arms.iter().map(|a| a.piece.entry).collect();
        for (i, arm) in arms.into_iter().enumerate() {
            if arm.is_stub {
                self.stubs.push((named[i], terminator, i));
            }
            let closed = self.close(arm.piece);
            piece.take_open(closed);
        }
        piece.open.push((terminator, named.len()));
        named.push(block);
        *self.func.inst_blocks_mut(terminator) = named;
        piece
    }

    /// Gives the last construct of a piece its merge, so that at most one edge is open, and none if nothing falls out.
    fn close(&mut self, mut piece: Piece) -> Piece {
        if piece.open.is_empty() || (!piece.has_role && piece.open.len() == 1) {
            return piece;
        }
        let open = std::mem::take(&mut piece.open);
        piece.has_role = false;
        if piece.ends() {
            let block = self.func.append_block();
            let mut b = Builder::at_end(self.func, self.types, block);
            b.inst(Op::Unreachable, TypeId::VOID, &[], &[], Imm::None);
            self.patch(&open, block);
        } else {
            let (block, br) = self.jump_block(Op::Br, piece.entry);
            self.patch(&open, block);
            piece.open.push((br, 0));
        }
        piece
    }

    // ---- loops

    /// The header of a tested loop: the test, and the body as its arm.
    fn test(&mut self, header: BlockId, number: u32) -> Piece {
        let piece = self.ended(header);
        let Some(terminator) = self.func.terminator(header) else { return piece };
        let place = Place { level: Some(number), in_switch: false };
        let [on_true, on_false] = [0, 1].map(|i| self.func.successors_of(terminator)[i]);
        let is_exit = self.shape.target(place.level, on_true) == Target::Exit;
        let (inside, outside) = if is_exit { (on_false, on_true) } else { (on_true, on_false) };
        if is_exit {
            let mut b = Builder::before(self.func, self.types, terminator);
            let condition = b.func.arg(terminator, 0);
            let stays = b.arithmetic(ArithmeticOp::UnaryBitNot, &[condition]);
            self.func.set_arg(terminator, 0, stays);
        }
        let body = self.arm(inside, place);
        *self.func.inst_blocks_mut(terminator) = vec![body.piece.entry, header];
        self.close(body.piece);
        let exits = &mut self.exits[number as usize];
        exits.slots.push((terminator, 1));
        exits.pending.merge(Pending::one(self.shape.number(outside), header));
        piece
    }

    /// Makes the piece of a loop out of that of its header.
    fn loop_around(&mut self, header: BlockId, number: u32) {
        self.info.restructured_loop_count += 1;
        let own = self.shape.plain(header);
        let Some(body) = self.take(own) else { return };
        self.close(body);
        let l = &self.shape.loops[number as usize];
        let owner = self.func.append_block();
        let mut b = Builder::at_end(self.func, self.types, owner);
        let (op, named) = match b.func.terminator(header) {
            Some(test) if l.tested => {
                let body = b.func.inst_blocks(test)[0];
                (Op::Loop, vec![header, body, self.next_round[number as usize], owner])
            }
            _ => (Op::SimpleLoop, vec![header, owner]),
        };
        let terminator = b.inst(op, TypeId::VOID, &[], &named, Imm::None);
        let Exits { slots, pending } = std::mem::take(&mut self.exits[number as usize]);
        let mut piece = Piece { entry: owner, open: slots, has_role: true, pending };
        piece.open.push((terminator, named.len() - 1));
        let node = Node(own.0 + 1);
        let piece = self.jump_away(piece, self.place(node));
        let piece = self.with_joins(node, piece);
        self.pieces[node.0 as usize] = Some(piece);
    }

    /// Lets paths that fell out of a construct, and may now leave the loop or go on with its next round, do so.
    fn jump_away(&mut self, mut piece: Piece, place: Place) -> Piece {
        let Some(level) = place.level else { return piece };
        let targets: Vec<u32> = piece.pending.targets().collect();
        for number in targets {
            let target = self.shape.order[number as usize];
            let op = match self.shape.target(place.level, target) {
                Target::Continue => Op::Continue,
                Target::Exit if !place.in_switch => Op::Break,
                _ => continue,
            };
            let (jump, inst) = self.jump_block(op, self.next_round[level as usize]);
            let last = piece.pending.only().is_some();
            let mut decided = Pending::default();
            if last {
                let open = std::mem::take(&mut piece.open);
                self.patch(&open, jump);
                piece.has_role = false;
                std::mem::swap(&mut decided, &mut piece.pending);
            } else {
                decided = Pending::one(number, jump);
                decided.drain_unwritten();
                let ending = self.ended(jump);
                self.guard(&mut piece, number, ending);
            }
            if op == Op::Break {
                let exits = &mut self.exits[level as usize];
                exits.slots.push((inst, 0));
                exits.pending.merge(decided);
            }
        }
        piece
    }

    // ---- joins

    /// The piece with the joins of a node behind it.
    fn with_joins(&mut self, node: Node, mut piece: Piece) -> Piece {
        let shape = self.shape;
        let mut joins = shape.joins[node.0 as usize].iter().copied().peekable();
        while let Some(join) = joins.next() {
            let Some(next) = self.take(join) else { continue };
            let number = shape.number(shape.block(join));
            if piece.pending.only() == Some(number) {
                self.patch(&piece.open, next.entry);
                piece = Piece { entry: piece.entry, ..next };
                continue;
            }
            // The last two joins exclude each other if the first does not lead to the second.
            let second = joins.peek().copied().filter(|&second| {
                let other = shape.number(shape.block(second));
                piece.pending.targets().eq([number, other])
                    && !next.pending.targets().any(|t| t == other)
            });
            match second.and_then(|second| self.take(second)) {
                Some(second) => {
                    joins.next();
                    self.choice(&mut piece, number, next, second);
                }
                None => self.guard(&mut piece, number, next),
            }
        }
        piece
    }

    /// Puts `next`, which starts at target `number`, behind a test of the selector behind `piece`.
    fn guard(&mut self, piece: &mut Piece, number: u32, next: Piece) {
        let branch = self.selector_test(piece, number, next.entry);
        let closed = self.close(next);
        piece.take_open(closed);
        piece.open.extend([(branch, 1), (branch, 2)]);
        piece.pending.remove(number);
        piece.has_role = true;
    }

    /// Puts `first`, which starts at target `number`, and `second` into the arms of a test of the selector behind `piece`.
    fn choice(&mut self, piece: &mut Piece, number: u32, first: Piece, second: Piece) {
        let branch = self.selector_test(piece, number, first.entry);
        self.func.inst_blocks_mut(branch)[1] = second.entry;
        piece.pending = Pending::default();
        for arm in [first, second] {
            let closed = self.close(arm);
            piece.take_open(closed);
        }
        piece.open.push((branch, 2));
        piece.has_role = true;
    }

    /// A block behind `piece` that tests whether the way leads to target `number`, which starts at `entry`. The other targets are
    /// left to be named.
    fn selector_test(&mut self, piece: &mut Piece, number: u32, entry: BlockId) -> InstId {
        self.info.guard_count += 1;
        let selector = self.selector.variable(self.func, self.types);
        let unwritten: Vec<_> = piece.pending.drain_unwritten().collect();
        for (block, target) in unwritten {
            self.write_selector(selector, block, target);
        }
        let test = self.func.append_block();
        let open = std::mem::take(&mut piece.open);
        self.patch(&open, test);
        let mut b = Builder::at_end(self.func, self.types, test);
        let selected = b.load(selector);
        let wanted = b.u32(number);
        let is_wanted = b.arithmetic(ArithmeticOp::BinaryEqual, &[selected, wanted]);
        b.inst(Op::If, TypeId::VOID, &[is_wanted], &[entry, test, test], Imm::None)
    }

    fn write_selector(&mut self, selector: ValueId, block: BlockId, target: u32) {
        if let Some(terminator) = self.func.terminator(block) {
            let mut b = Builder::before(self.func, self.types, terminator);
            let value = b.u32(target);
            b.store(selector, value);
            self.info.selector_store_count += 1;
        }
    }

    /// Arms that hold nothing and lead to the merge of their construct become the merge itself.
    fn remove_stubs(&mut self) {
        for (stub, construct, index) in std::mem::take(&mut self.stubs) {
            let Some(br) = self.func.first_inst(stub).filter(|&i| self.func.op(i) == Op::Br) else {
                continue;
            };
            let target = self.func.successors_of(br)[0];
            if self.func.merge_of(construct) == Some(target) {
                self.func.inst_blocks_mut(construct)[index] = target;
                self.func.remove_block(stub);
            }
        }
    }
}
