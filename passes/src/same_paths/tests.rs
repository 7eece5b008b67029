//! The checker must tell what it is there to tell: results that were tampered with.

use super::check;
use crate::transforms::testing::{kernel, parse};
use crate::{Pipeline, RunOptions};
use cranelift_entity::SecondaryMap;
use graphs::Random;
use luisac_xir::op::ArithmeticOp;
use luisac_xir::{Function, InstId, Module, Op, ValueId, verify};

#[path = "../../tests/support/graphs.rs"]
mod graphs;

/// Two exits, a value that is carried, a guard.
const BODY: &str = "b0:
    br b1
    b1:
    cond_br %2, b2, b4
    b2:
    %4: f32 = resource_read buffer_read %0, u32 0
    %5: bool = arithmetic binary_less %4, %3
    cond_br %5, b3, b1
    b3:
    resource_write buffer_write %0, u32 1, %4
    br b4
    b4:
    resource_write buffer_write %0, u32 2, %3
    return";

/// The function flat and structured.
fn both() -> (Function, Function) {
    let mut module = parse(&kernel(BODY));
    let before = module.functions.values().next().unwrap().clone();
    let pipeline = Pipeline::parse("restructure_cfg").unwrap();
    pipeline.run(&mut module, RunOptions::default()).unwrap();
    (before, module.functions.values().next().unwrap().clone())
}

fn insts(func: &Function) -> Vec<InstId> {
    func.blocks().flat_map(|b| func.insts(b)).collect()
}

#[test]
fn the_result_of_the_pass_is_right() {
    let (before, after) = both();
    assert_eq!(check(&before, &after, &SecondaryMap::new()), Ok(()));
}

/// Every way to tamper with one instruction that this makes must be found.
#[track_caller]
fn finds(tamper: impl Fn(&mut Function, InstId) -> bool) {
    let (before, after) = both();
    let mut tried = 0;
    for inst in insts(&after) {
        let mut wrong = after.clone();
        if tamper(&mut wrong, inst) {
            tried += 1;
            let found = check(&before, &wrong, &SecondaryMap::new());
            assert!(found.is_err(), "{:?} at {inst}", after.op(inst));
        }
    }
    assert!(tried > 0);
}

/// The constant that the test of the selector asks for.
fn tested(func: &Function) -> ValueId {
    let is_test = |i: &InstId| func.op(*i) == Op::Arithmetic(ArithmeticOp::BinaryEqual);
    insts(func).into_iter().find(is_test).map(|i| func.arg(i, 1)).unwrap()
}

#[test]
fn swapped_arms_are_found() {
    finds(|f, i| {
        let is_branch = matches!(f.op(i), Op::If | Op::CondBr);
        if is_branch {
            f.inst_blocks_mut(i).swap(0, 1);
        }
        is_branch
    });
}

#[test]
fn another_selector_is_found() {
    finds(|f, i| {
        let is_selector = f.op(i) == Op::Store && f.constant_bits(f.arg(i, 1)).is_some();
        if is_selector {
            // What the test asks for, or another target.
            let asked = tested(f);
            let other = if f.arg(i, 1) == asked { f.u32_constant(77) } else { asked };
            f.set_arg(i, 1, other);
        }
        is_selector
    });
}

#[test]
fn a_store_that_is_missing_is_found() {
    finds(|f, i| {
        // Where nothing is stored, the selector is zero, which is not what the test asks for either.
        let is_store = f.op(i) == Op::Store
            && (f.constant_bits(f.arg(i, 1)).is_none() || f.arg(i, 1) == tested(f));
        if is_store {
            f.remove_inst(i);
        }
        is_store
    });
}

#[test]
fn an_effect_that_is_missing_or_done_twice_is_found() {
    let is_effect = |f: &Function, i| matches!(f.op(i), Op::ResourceWrite(_) | Op::ResourceRead(_));
    finds(|f, i| {
        let effect = is_effect(f, i) && f.result(i).is_none();
        if effect {
            f.remove_inst(i);
        }
        effect
    });
    finds(|f, i| {
        let effect = is_effect(f, i);
        if effect {
            let (op, ty, args) = (f.op(i), f.inst(i).ty, f.args(i).to_vec());
            let again = f.create_inst(op, ty, &args, &[], Default::default());
            f.insert_after(again, i);
        }
        effect
    });
}

#[test]
fn another_operation_or_operand_is_found() {
    finds(|f, i| {
        let is_less = f.op(i) == Op::Arithmetic(ArithmeticOp::BinaryLess);
        if is_less {
            f.set_op(i, Op::Arithmetic(ArithmeticOp::BinaryGreater));
        }
        is_less
    });
    finds(|f, i| {
        let is_write = matches!(f.op(i), Op::ResourceWrite(_));
        if is_write {
            let other = f.u32_constant(9);
            f.set_arg(i, 1, other);
        }
        is_write
    });
}

#[test]
fn a_round_too_few_or_for_ever_is_found() {
    finds(|f, i| {
        let is_jump = matches!(f.op(i), Op::Continue | Op::Break);
        if is_jump {
            // Back to the block that the jump stands in, or out where it went on.
            let here = f.inst_block(i).unwrap();
            f.inst_blocks_mut(i)[0] = here;
        }
        is_jump
    });
}

/// Changes an instruction; whether there was something to change.
fn mutate(r: &mut Random, f: &mut Function, inst: InstId) -> bool {
    let args = f.args(inst).len();
    match r.below(5) {
        0 => match f.op(inst) {
            Op::If | Op::CondBr => f.inst_blocks_mut(inst).swap(0, 1),
            Op::Br | Op::Break | Op::Continue => {
                let blocks: Vec<_> = f.blocks().skip(1).collect();
                f.inst_blocks_mut(inst)[0] = blocks[r.below(blocks.len())];
            }
            _ => return false,
        },
        1 if f.result(inst).is_none() && !f.op(inst).is_terminator() => f.remove_inst(inst),
        2 if f.op(inst) == Op::Store => {
            let args = f.args(inst).to_vec();
            let ty = f.inst(inst).ty;
            let place = insts(f)[r.below(insts(f).len())];
            let again = f.create_inst(Op::Store, ty, &args, &[], Default::default());
            match f.op(place).is_terminator() || f.op(place) == Op::Phi {
                true => return false,
                false => f.insert_after(again, place),
            }
        }
        3 if args > 0 => {
            let at = r.below(args);
            let old = f.arg(inst, at);
            let all = insts(f);
            let other = f.result(all[r.below(all.len())]);
            let same = |&v: &ValueId| {
                f.value_type(v) == f.value_type(old) && f.is_lvalue(v) == f.is_lvalue(old)
            };
            let Some(other) = other.filter(same).filter(|&v| v != old) else { return false };
            f.set_arg(inst, at, other);
        }
        _ => {
            let Some(at) = (0..args).find(|&i| f.constant_bits(f.arg(inst, i)).is_some()) else {
                return false;
            };
            let old = f.arg(inst, at);
            if f.value_type(old) != luisac_xir::TypeId::U32 {
                return false;
            }
            let number = f.constant_bits(old).unwrap_or(0) as u32;
            let other = f.u32_constant(number ^ (1 << r.below(3)));
            f.set_arg(inst, at, other);
        }
    }
    true
}

fn with(module: &Module, function: &Function) -> Module {
    let mut changed = module.clone();
    let kernel = changed.kernels().next().unwrap();
    changed.functions[kernel] = function.clone();
    changed
}

/// Random graphs, irreducible ones among them, with random changes of what `restructure_cfg` makes of them: what the checker
/// accepts gives the same results, and nearly all that gives others, or none, comes from changes that it was to find.
#[test]
fn no_change_that_matters_is_accepted() {
    let pipeline = Pipeline::parse("restructure_cfg").unwrap();
    let (mut found, mut accepted, mut harmful, mut irreducible) = (0, 0, 0, 0);
    for seed in 0..150 {
        let mut r = Random::new(seed);
        let edges = graphs::graph(&mut r);
        let flat = graphs::kernel(&edges, &mut r);
        let Ok(expected) = graphs::run(&flat) else { continue };
        let mut structured = flat.clone();
        let report = pipeline.run(&mut structured, RunOptions::default()).unwrap();
        let kernel = flat.kernels().next().unwrap();
        let (before, after) = (&flat.functions[kernel], &structured.functions[kernel]);
        // What was split is right only with the list of copies, which the pass keeps.
        if check(before, after, &SecondaryMap::new()).is_err() {
            continue;
        }
        irreducible += u32::from(report.counter("restructure_cfg", "lowered_region_count") > 0);
        let all = insts(after);
        for _ in 0..40 {
            let mut wrong = after.clone();
            let inst = all[r.below(all.len())];
            if !mutate(&mut r, &mut wrong, inst) {
                continue;
            }
            let module = with(&structured, &wrong);
            if verify::verify(&module).is_err() {
                continue;
            }
            let is_accepted = check(before, &wrong, &SecondaryMap::new()).is_ok();
            let is_same = graphs::run(&module).is_ok_and(|result| result == expected);
            assert!(is_same || !is_accepted, "seed {seed}: a wrong change is accepted");
            harmful += u32::from(!is_same);
            accepted += u32::from(is_accepted);
            found += u32::from(!is_accepted);
        }
    }
    println!("{found} changes found, {harmful} of them change results; {accepted} accepted");
    assert!(harmful > 300 && irreducible > 5, "{harmful} {irreducible}");
}
