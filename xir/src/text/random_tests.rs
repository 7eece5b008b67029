//! Random modules, valid or not: whatever has a form in the text must survive it.

use super::*;
use crate::op::{BindlessAccess, SpecialRegister};
use crate::tests::Random;
use crate::{
    ArgumentKind, BlockId, Function, FunctionId, FunctionKind, Imm, Module, Op, SourceLoc, ValueId,
};
use cranelift_entity::EntityRef;
use luisac_ast::types::{Attribute, Member, Scalar, TypeId, TypeKind};

fn random_types(module: &mut Module, random: &mut Random) -> Vec<TypeId> {
    let types = &mut module.types;
    let mut made: Vec<TypeId> = types.ids().collect();
    made.retain(|&t| t != TypeId::VOID);
    let attribute = Attribute { key: "cache".into(), value: Some("coherent".into()) };
    for _ in 0..12 {
        let elem = *random.pick(&made);
        let attrs: Box<[Attribute]> =
            if random.below(3) == 0 { Box::new([attribute.clone()]) } else { Box::default() };
        let kind = match random.below(9) {
            0 | 1 => TypeKind::Array { elem, len: 1 + random.below(40) as u32 },
            2..=4 => {
                let members = (0..random.below(5))
                    .map(|_| Member { ty: *random.pick(&made), attrs: attrs.clone() });
                TypeKind::Struct { align: 16, members: members.collect() }
            }
            5 => TypeKind::Buffer { elem, attrs },
            6 => TypeKind::Texture { dim: 2 + random.below(2) as u8, elem: Scalar::U32, attrs },
            7 => TypeKind::CoopVec { elem: Scalar::F16, len: 1 + random.below(9) as u32 },
            _ => TypeKind::Custom(format!("Custom{}", random.below(3)).into()),
        };
        made.extend(types.intern(kind));
    }
    made
}

fn random_value(
    f: &mut Function,
    module: &Module,
    types: &[TypeId],
    made: &[ValueId],
    random: &mut Random,
) -> ValueId {
    let ty = *random.pick(types);
    let size = module.types.size(ty) as usize;
    match random.below(8) {
        0 => f.undefined(ty),
        1 => f.special(*random.pick(&SpecialRegister::ALL)),
        2..=4 if module.types.is_data(ty) && size < 2000 => {
            // Bytes of few kinds, so that zeros, NaN and small numbers come up.
            let kinds = [0, 0, 0, 1, 0x3f, 0x80, 0xff, random.next() as u8];
            let mut bytes: Vec<u8> = (0..size).map(|_| *random.pick(&kinds)).collect();
            if random.below(2) == 0 {
                luisac_ast::layout::clear_padding(&module.types, ty, &mut bytes);
            }
            f.constant(ty, bytes)
        }
        _ if !made.is_empty() => *random.pick(made),
        _ => f.u32_constant(random.next() as u32),
    }
}

const TEXTS: [&str; 5] = ["", "plain", "two words", "\"\\\n\t\r%{}", "größe \u{0}\u{1f600}"];

/// Immediate data that the operation can print with.
fn random_imm(op: Op, cases: usize, functions: usize, random: &mut Random) -> Imm {
    match op {
        Op::Call => Imm::Callee(FunctionId::new(random.below(functions))),
        Op::RayQueryPipeline => {
            let [surface, procedural] = [(); 2].map(|()| FunctionId::new(random.below(functions)));
            Imm::Handlers { surface, procedural }
        }
        Op::Print => Imm::Text((*random.pick(&TEXTS)).into()),
        Op::Assert | Op::Assume | Op::Unreachable if random.below(2) == 0 => {
            Imm::Text((*random.pick(&TEXTS)).into())
        }
        Op::Switch | Op::IndexedBranch => Imm::Cases((0..cases).map(|_| random.next()).collect()),
        Op::ResourceQuery(q) if q.reads_accel() && random.below(2) == 0 => {
            Imm::CurveBases(random.next() as u8)
        }
        _ if names::is_bindless(op) => Imm::Access(BindlessAccess {
            typed: random.below(2) == 0,
            uniform: random.below(2) == 0,
        }),
        _ => Imm::None,
    }
}

fn random_function(
    module: &mut Module,
    types: &[TypeId],
    ops: &[Op],
    functions: usize,
    random: &mut Random,
) -> Function {
    let kind = match random.below(3) {
        0 => FunctionKind::Kernel { block_size: [random.next() as u32, 1, 2] },
        1 => FunctionKind::Callable,
        _ => FunctionKind::External,
    };
    let names = ["f", "f", "a.b_1", "", "no plain name", "\"\n"];
    let mut f = Function::new(*random.pick(&names), kind, *random.pick(types));
    f.no_inline = random.below(2) == 0;
    let mut made = Vec::new();
    for _ in 0..random.below(4) {
        let kinds = [ArgumentKind::Value, ArgumentKind::Reference, ArgumentKind::Resource];
        let name = Some(*random.pick(&TEXTS)).filter(|_| random.below(2) == 0);
        let captured = random.below(2) == 0;
        made.push(f.add_argument(*random.pick(&kinds), *random.pick(types), name, captured));
    }
    let blocks: Vec<BlockId> = (0..random.below(6)).map(|_| f.append_block()).collect();
    for &block in &blocks {
        for _ in 0..random.below(8) {
            let op = *random.pick(ops);
            let cases = random.below(4);
            let named = match op {
                Op::Switch | Op::IndexedBranch => names::block_words(op).len() + cases,
                Op::Phi => cases,
                _ => names::block_words(op).len(),
            };
            let count = if op == Op::Phi { named } else { random.below(5) };
            let args: Vec<ValueId> =
                (0..count).map(|_| random_value(&mut f, module, types, &made, random)).collect();
            let named: Vec<BlockId> = (0..named).map(|_| *random.pick(&blocks)).collect();
            let imm = random_imm(op, cases, functions, random);
            let ty = if random.below(2) == 0 { TypeId::VOID } else { *random.pick(types) };
            let inst = f.create_inst(op, ty, &args, &named, imm);
            f.append_inst(block, inst);
            if let Some(result) = f.result(inst) {
                made.push(result);
                if random.below(3) == 0 {
                    f.set_name(result, *random.pick(&TEXTS));
                }
            }
            if random.below(3) == 0 {
                f.set_comment(inst, *random.pick(&TEXTS));
                f.set_loc(inst, SourceLoc { function: 1, statement: random.next() as u32 });
            }
        }
    }
    f
}

#[test]
fn random_modules_round_trip() {
    let ops: Vec<Op> = ops::operations().collect();
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let mut module = Module::new();
        let types = random_types(&mut module, &mut random);
        let functions = 1 + random.below(4);
        for _ in 0..functions {
            let f = random_function(&mut module, &types, &ops, functions, &mut random);
            module.functions.push(f);
        }
        let first = print(&module);
        let parsed = parse(&first).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{first}"));
        assert_eq!(print(&parsed), first, "seed {seed}");
        // Whatever the verifier says, it says it without a panic.
        let _ = crate::verify::verify(&module);
        let _ = crate::verify::verify(&parsed);
        for id in module.functions.keys() {
            assert!(!print_function(&module, id).is_empty());
        }
    }
}
