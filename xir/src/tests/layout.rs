//! The order of blocks and instructions against plain vectors.

use super::{Random, callable};
use crate::{BlockId, Function, Imm, InstId, Op, TypeId};

struct Model {
    function: Function,
    blocks: Vec<(BlockId, Vec<InstId>)>,
    loose: Vec<InstId>,
}

impl Model {
    /// A random instruction that is in no block.
    fn loose(&mut self, random: &mut Random) -> InstId {
        if random.below(2) == 0 && !self.loose.is_empty() {
            let at = random.below(self.loose.len());
            return self.loose.swap_remove(at);
        }
        self.function.create_inst(Op::Clock, TypeId::U64, &[], &[], Imm::None)
    }

    fn step(&mut self, random: &mut Random) {
        let inst = self.loose(random);
        if self.blocks.is_empty() || random.below(10) == 0 {
            self.blocks.push((self.function.append_block(), Vec::new()));
        }
        let b = random.below(self.blocks.len());
        let (block, insts) = &mut self.blocks[b];
        let place = random.below(insts.len());
        let f = &mut self.function;
        match random.below(10) {
            0 | 1 => {
                f.append_inst(*block, inst);
                insts.push(inst);
            }
            2 => {
                f.prepend_inst(*block, inst);
                insts.insert(0, inst);
            }
            3 | 4 if !insts.is_empty() => {
                f.insert_before(inst, insts[place]);
                insts.insert(place, inst);
            }
            5 if !insts.is_empty() => {
                f.insert_after(inst, insts[place]);
                insts.insert(place + 1, inst);
            }
            6 if !insts.is_empty() => {
                let taken = insts.remove(place);
                f.unlink_inst(taken);
                self.loose.extend([taken, inst]);
            }
            7 if !insts.is_empty() => {
                let tail = insts.split_off(place);
                let new = f.split_block(tail[0]);
                self.blocks.insert(b + 1, (new, tail));
                self.loose.push(inst);
            }
            8 => self.move_block(random, b, inst),
            9 if random.below(3) == 0 => {
                f.remove_block(*block);
                self.blocks.remove(b);
                self.loose.push(inst);
            }
            _ => {
                let new = f.insert_block_after(*block);
                self.blocks.insert(b + 1, (new, Vec::new()));
                self.loose.push(inst);
            }
        }
    }

    fn move_block(&mut self, random: &mut Random, b: usize, inst: InstId) {
        let after = self.blocks[random.below(self.blocks.len())].0;
        self.function.move_block_after(self.blocks[b].0, after);
        if self.blocks[b].0 != after {
            let moved = self.blocks.remove(b);
            let at = self.blocks.iter().position(|x| x.0 == after).unwrap();
            self.blocks.insert(at + 1, moved);
        }
        self.loose.push(inst);
    }

    fn check(&self) {
        let f = &self.function;
        let order: Vec<BlockId> = f.blocks().collect();
        assert_eq!(order, self.blocks.iter().map(|b| b.0).collect::<Vec<_>>());
        assert_eq!(f.entry(), order.first().copied());
        for (block, insts) in &self.blocks {
            assert!(f.is_placed(*block));
            assert_eq!(&f.insts(*block).collect::<Vec<_>>(), insts);
            let backwards: Vec<InstId> = f.insts(*block).rev().collect();
            assert!(backwards.iter().eq(insts.iter().rev()));
            assert_eq!(f.first_inst(*block), insts.first().copied());
            assert_eq!(f.last_inst(*block), insts.last().copied());
            for (i, &inst) in insts.iter().enumerate() {
                assert_eq!(f.inst_block(inst), Some(*block));
                assert_eq!(f.next_inst(inst), insts.get(i + 1).copied());
                assert_eq!(f.prev_inst(inst), i.checked_sub(1).map(|p| insts[p]));
            }
        }
        assert!(self.loose.iter().all(|&i| f.inst_block(i).is_none()));
        assert_eq!(f.placed_block_count(), self.blocks.len());
        assert_eq!(f.placed_inst_count(), self.blocks.iter().map(|b| b.1.len()).sum::<usize>());
    }
}

#[test]
fn orders_agree_with_a_model() {
    for seed in 0..50 {
        let mut random = Random::new(seed);
        let mut model = Model { function: callable(), blocks: Vec::new(), loose: Vec::new() };
        for _ in 0..150 {
            model.step(&mut random);
            model.check();
        }
    }
}

#[test]
fn a_walk_from_both_ends_meets_once() {
    let mut f = callable();
    let block = f.append_block();
    let made: Vec<InstId> = (0..5)
        .map(|_| {
            let inst = f.create_inst(Op::Clock, TypeId::U64, &[], &[], Imm::None);
            f.append_inst(block, inst);
            inst
        })
        .collect();
    let mut walk = f.insts(block);
    assert_eq!((walk.next(), walk.next_back()), (Some(made[0]), Some(made[4])));
    assert_eq!((walk.next(), walk.next_back()), (Some(made[1]), Some(made[3])));
    assert_eq!((walk.next(), walk.next_back(), walk.next()), (Some(made[2]), None, None));
}

#[test]
fn splitting_renames_the_phis_of_successors() {
    let mut f = callable();
    let (a, b) = (f.append_block(), f.append_block());
    let one = f.u32_constant(1);
    let clock = f.create_inst(Op::Clock, TypeId::U64, &[], &[], Imm::None);
    f.append_inst(a, clock);
    let br = f.create_inst(Op::Br, TypeId::VOID, &[], &[b], Imm::None);
    f.append_inst(a, br);
    let phi = f.create_inst(Op::Phi, TypeId::U32, &[one], &[a], Imm::None);
    f.append_inst(b, phi);
    let tail = f.split_block(br);
    assert_eq!(f.inst_blocks(phi), [tail]);
    assert_eq!((f.terminator(a), f.terminator(tail)), (None, Some(br)));
    f.remove_phi_predecessor(b, tail);
    assert!(f.args(phi).is_empty() && f.inst_blocks(phi).is_empty() && !f.has_uses(one));
}
