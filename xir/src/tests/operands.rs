//! Operand lists and use lists against plain vectors.

use super::{Random, callable};
use crate::{Function, Imm, InstId, Op, TypeId, ValueId};

struct Model {
    function: Function,
    insts: Vec<InstId>,
    args: Vec<Vec<ValueId>>,
    values: Vec<ValueId>,
}

impl Model {
    fn new() -> Model {
        let mut function = callable();
        let values = (0..8).map(|i| function.u32_constant(i)).collect();
        Model { function, insts: Vec::new(), args: Vec::new(), values }
    }

    fn some_values(&self, random: &mut Random) -> Vec<ValueId> {
        (0..random.below(6)).map(|_| *random.pick(&self.values)).collect()
    }

    fn create(&mut self, random: &mut Random) {
        let args = self.some_values(random);
        let inst = self.function.create_inst(Op::Print, TypeId::VOID, &args, &[], Imm::None);
        self.insts.push(inst);
        self.args.push(args);
    }

    fn step(&mut self, random: &mut Random) {
        if self.insts.is_empty() {
            return self.create(random);
        }
        let i = random.below(self.insts.len());
        let (inst, count) = (self.insts[i], self.args[i].len());
        let value = *random.pick(&self.values);
        match random.below(7) {
            0 => self.create(random),
            1 if count > 0 => {
                let at = random.below(count);
                self.function.set_arg(inst, at, value);
                self.args[i][at] = value;
            }
            2 => {
                self.function.push_arg(inst, value);
                self.args[i].push(value);
            }
            3 if count > 0 => {
                let at = random.below(count);
                self.function.remove_arg(inst, at);
                self.args[i].remove(at);
            }
            4 => {
                let args = self.some_values(random);
                self.function.set_args(inst, &args);
                self.args[i] = args;
            }
            5 => {
                let new = *random.pick(&self.values);
                self.function.replace_all_uses(value, new);
                self.args.iter_mut().flatten().filter(|a| **a == value).for_each(|a| *a = new);
            }
            _ => {
                self.function.remove_inst(inst);
                self.args[i].clear();
            }
        }
    }

    fn check(&self) {
        for (inst, args) in self.insts.iter().zip(&self.args) {
            assert_eq!(self.function.args(*inst), args);
        }
        for &value in &self.values {
            let mut found: Vec<(InstId, usize)> = self.function.uses(value).collect();
            let mut wanted = Vec::new();
            for (inst, args) in self.insts.iter().zip(&self.args) {
                let places = args.iter().enumerate().filter(|(_, a)| **a == value);
                wanted.extend(places.map(|(i, _)| (*inst, i)));
            }
            found.sort_unstable();
            wanted.sort_unstable();
            assert_eq!(found, wanted);
            assert_eq!(self.function.has_uses(value), !wanted.is_empty());
        }
    }
}

#[test]
fn operands_and_uses_agree_with_a_model() {
    for seed in 0..50 {
        let mut random = Random::new(seed);
        let mut model = Model::new();
        for _ in 0..200 {
            model.step(&mut random);
            model.check();
        }
    }
}

#[test]
fn values_are_interned() {
    let mut f = callable();
    assert_eq!(f.u32_constant(7), f.u32_constant(7));
    assert_ne!(f.u32_constant(7), f.u32_constant(8));
    assert_eq!(f.undefined(TypeId::F32), f.undefined(TypeId::F32));
    assert_ne!(f.undefined(TypeId::F32), f.undefined(TypeId::U32));
    let register = crate::op::SpecialRegister::DispatchId;
    assert_eq!(f.special(register), f.special(register));
    let wide = f.constant(TypeId::F64, vec![1; 8]);
    assert_eq!(f.constant_bits(wide), Some(0x0101_0101_0101_0101));
}

#[test]
fn removed_arguments_close_the_gap() {
    let mut f = callable();
    let kind = crate::ArgumentKind::Value;
    let values: Vec<ValueId> =
        (0..3).map(|_| f.add_argument(kind, TypeId::F32, None, false)).collect();
    f.remove_argument(1);
    assert_eq!(f.arguments.len(), 2);
    assert_eq!(f.value_def(values[2]), crate::ValueDef::Argument(1));
}
