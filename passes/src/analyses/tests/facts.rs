//! Facts about values, memory and calls, on kernels as text.

use crate::analyses::alias::{Writes, access, may_alias};
use crate::analyses::alignment::Alignment;
use crate::analyses::call_graph::CallGraph;
use crate::analyses::counted::{CountedLoop, Test, Trips};
use crate::analyses::field_bits::FieldUsage;
use crate::analyses::loops::Loops;
use crate::analyses::pointer_usage::PointerUsage;
use crate::analyses::post_dominators::PostDominatorTree;
use crate::analyses::scalar_evolution::ScalarEvolution;
use crate::analyses::uniformity::Uniformity;
use crate::transforms::testing::{kernel, parse};
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::dominators::DominatorTree;
use luisac_xir::op::Scopes;
use luisac_xir::{BlockId, Function, InstId, Module, Op, ValueId};

fn only(module: &Module) -> &Function {
    module.functions.values().next().unwrap()
}

/// The values that a kernel writes to `%0`, in order.
fn written(f: &Function) -> Vec<ValueId> {
    let insts = f.blocks().flat_map(|b| f.insts(b));
    insts.filter(|&i| matches!(f.op(i), Op::ResourceWrite(_))).map(|i| f.arg(i, 2)).collect()
}

fn counted(f: &Function, module: &Module) -> Option<CountedLoop> {
    let cfg = ControlFlowGraph::compute(f);
    let dominators = DominatorTree::compute(f, &cfg);
    let loops = Loops::compute(f, &cfg, &dominators);
    let evolution = ScalarEvolution::compute(f, &module.types, &cfg, &loops);
    let blocks = loops.blocks(&cfg, 0);
    CountedLoop::of(f, &module.types, &loops, &evolution, 0, &blocks)
}

/// A loop over `%10` from `start`, that goes on while `test` holds.
fn counting(ty: &str, start: &str, step: &str, test: &str) -> String {
    kernel(&format!(
        "b0:
        br b1
        b1:
        %10: {ty} = phi ({ty} {start}, b0), (%12, b2)
        %11: bool = arithmetic {test}
        cond_br %11, b2, b3
        b2:
        %12: {ty} = arithmetic binary_add %10, {ty} {step}
        br b1
        b3:
        return"
    ))
}

#[track_caller]
fn trips(ty: &str, start: &str, step: &str, test: &str) -> Option<Trips> {
    let module = parse(&counting(ty, start, step, test));
    counted(only(&module), &module).map(|l| l.trips)
}

#[test]
fn counted_loops_know_their_trips() {
    let constant = |n| Some(Trips::Constant(n));
    assert_eq!(trips("u32", "0", "1", "binary_less %10, u32 7"), constant(7));
    assert_eq!(trips("u32", "0", "3", "binary_less_equal %10, u32 7"), constant(3));
    assert_eq!(trips("u32", "9", "1", "binary_less %10, u32 7"), constant(0));
    assert_eq!(trips("i32", "-3", "2", "binary_greater i32 4, %10"), constant(4));
    assert_eq!(trips("i32", "5", "-1", "binary_greater_equal %10, i32 0"), constant(6));
    // Never below zero: it would wrap around.
    assert_eq!(
        trips("u32", "5", "4294967295", "binary_greater_equal %10, u32 0"),
        Some(Trips::Unknown)
    );
    assert_eq!(trips("u32", "1", "2", "binary_not_equal %10, u32 6"), Some(Trips::Unknown));
    assert_eq!(trips("u32", "0", "2", "binary_less %10, u32 4294967295"), Some(Trips::Unknown));
    assert_eq!(trips("u32", "0", "1", "binary_less %10, %1"), Some(Trips::Up));
    assert_eq!(trips("u32", "0", "2", "binary_less %10, %1"), Some(Trips::Unknown));
    assert_eq!(trips("u32", "0", "1", "binary_less_equal %10, %1"), Some(Trips::Unknown));
    assert_eq!(trips("u32", "9", "4294967295", "binary_greater %10, %1"), Some(Trips::Down));
    assert_eq!(trips("u32", "0", "1", "binary_equal %10, u32 0"), None);
}

#[test]
fn a_test_of_the_negation_counts_too() {
    let module = parse(&kernel(
        "b0:
        br b1
        b1:
        %10: u32 = phi (u32 0, b0), (%12, b2)
        %11: bool = arithmetic binary_less %10, %1
        %13: bool = arithmetic unary_bit_not %11
        cond_br %13, b3, b2
        b2:
        %12: u32 = arithmetic binary_add u32 1, %10
        br b1
        b3:
        return",
    ));
    let found = counted(only(&module), &module).unwrap();
    assert_eq!((found.test, found.trips, found.goes_on_if), (Test::Less, Trips::Up, false));
}

#[test]
fn a_loop_that_may_end_inside_is_not_counted() {
    let module = parse(&kernel(
        "b0:
        br b1
        b1:
        %10: u32 = phi (u32 0, b0), (%12, b4)
        %11: bool = arithmetic binary_less %10, %1
        cond_br %11, b2, b3
        b2:
        cond_br %2, b4, b5
        b4:
        %12: u32 = arithmetic binary_add u32 1, %10
        br b1
        b5:
        unreachable
        b3:
        return",
    ));
    assert_eq!(counted(only(&module), &module), None);
}

#[test]
fn affine_values_follow_their_phi() {
    let module = parse(&kernel(
        "b0:
        br b1
        b1:
        %10: u32 = phi (%1, b0), (%20, b2)
        %11: u32 = arithmetic binary_mul %10, u32 4
        %12: u32 = arithmetic binary_sub u32 1, %11
        %13: u32 = arithmetic binary_shift_left %12, u32 33
        %14: u32 = arithmetic binary_sub %11, %10
        %15: f32 = cast static_cast %13
        cond_br %2, b2, b3
        b2:
        %20: u32 = arithmetic binary_sub %10, u32 3
        resource_write buffer_write %0, %14, %15
        br b1
        b3:
        return",
    ));
    let f = only(&module);
    let cfg = ControlFlowGraph::compute(f);
    let dominators = DominatorTree::compute(f, &cfg);
    let loops = Loops::compute(f, &cfg, &dominators);
    let evolution = ScalarEvolution::compute(f, &module.types, &cfg, &loops);
    let [recurrence] = evolution.recurrences(0) else { panic!("one recurrence") };
    assert_eq!(recurrence.step, u64::from(3u32.wrapping_neg()));
    let arithmetic: Vec<InstId> = f
        .blocks()
        .flat_map(|b| f.insts(b))
        .filter(|&i| matches!(f.op(i), Op::Arithmetic(_)))
        .collect();
    let parts: Vec<Option<(u32, u32)>> = arithmetic
        .iter()
        .map(|&i| evolution.affine(f.result(i).unwrap()).map(|a| (a.scale as u32, a.offset as u32)))
        .collect();
    let minus = |n: u32| n.wrapping_neg();
    // Shifts take their amount modulo the width.
    assert_eq!(
        parts,
        [Some((4, 0)), Some((minus(4), 1)), Some((minus(8), 2)), Some((3, 0)), Some((1, minus(3)))]
    );
}

#[test]
fn alignment_follows_loops() {
    let module = parse(&kernel(
        "b0:
        %30: u32 = arithmetic binary_mul %1, u32 24
        br b1
        b1:
        %10: u32 = phi (%30, b0), (%11, b1)
        %11: u32 = arithmetic binary_add %10, u32 4
        %12: u32 = arithmetic binary_mod %11, u32 12
        %13: u32 = arithmetic binary_shift_right %30, u32 2
        %14: u32 = arithmetic binary_bit_and %1, u32 64
        %15: u32 = arithmetic binary_div %10, u32 4
        %16: u64 = cast static_cast %30
        %20: f32 = cast static_cast %12
        %21: f32 = cast static_cast %16
        resource_write buffer_write %0, %13, %20
        resource_write buffer_write %0, %14, %21
        cond_br %2, b1, b2
        b2:
        return",
    ));
    let f = only(&module);
    let found = Alignment::compute(f, &module.types, &ControlFlowGraph::compute(f));
    let zeros: Vec<u32> = f
        .blocks()
        .flat_map(|b| f.insts(b))
        .filter_map(|i| f.result(i))
        .filter(|&v| module.types.is_integer(f.value_type(v)))
        .map(|v| found.trailing_zeros(f, &module.types, v))
        .collect();
    assert_eq!(zeros, [3, 2, 2, 2, 1, 6, 0, 3]);
}

/// The results of allocas and geps, in order.
fn places(f: &Function) -> Vec<ValueId> {
    let insts = f.blocks().flat_map(|b| f.insts(b));
    insts.filter_map(|i| f.result(i)).filter(|&v| f.is_lvalue(v)).collect()
}

const MEMORY: &str = "module;

callable @f(%0: reference array<f32, 4>, %1: value u32) {
  b0:
  %2: array<f32, 4> = alloca local
  %3: array<f32, 4> = alloca local
  %4: array<f32, 4> = alloca shared
  %5: f32 = gep %2, u32 0
  %6: f32 = gep %2, u32 1
  %7: f32 = gep %2, %1
  %8: f32 = gep %0, u32 2
  store %5, f32 1.0
  store %8, f32 2.0
  thread_group synchronize_block
  return
}
";

#[test]
fn places_meet_as_the_rules_say() {
    let module = parse(MEMORY);
    let f = only(&module);
    let [a, b, shared, a0, a1, ai, r2] = places(f)[..] else { panic!("seven places") };
    let r = f.arguments[0].value;
    for (x, y, meet) in [
        (a, b, false),
        (a, a0, true),
        (a0, a1, false),
        (a0, ai, true),
        (a, shared, false),
        // A caller cannot name what the function declares, but it may pass shared memory.
        (a, r, false),
        (r2, a1, false),
        (shared, r, true),
        (r, r2, true),
    ] {
        assert_eq!(may_alias(f, x, y), meet, "{x} {y}");
        assert_eq!(may_alias(f, y, x), meet, "{y} {x}");
    }
    let insts: Vec<InstId> = f.insts(f.entry().unwrap()).collect();
    let [own, theirs, barrier, _] = insts[7..] else { panic!("four instructions") };
    assert!(!access(f, own).conflicts(&access(f, theirs), f));
    assert!(access(f, theirs).conflicts(&access(f, barrier), f));
    let mut writes = Writes::default();
    writes.add(f, theirs);
    assert!(writes.may_write(f, r) && writes.may_write(f, shared) && !writes.may_write(f, a));
    assert!(writes.may_write_scope(Scopes::GLOBAL));
    writes.add(f, own);
    assert!(writes.may_write(f, ai) && !writes.may_write(f, b));
}

#[test]
fn fields_are_told_apart() {
    let source = kernel(
        "b0:
        %4: T0 = alloca local
        %5: f32 = gep %4, u32 0
        %6: vector<f32, 2> = gep %4, u32 1, u32 2
        %7: vector<f32, 2> = gep %4, u32 1, %1
        store %5, %3
        %8: vector<f32, 2> = load %7
        store %6, %8
        return",
    );
    let record = "module;\n\ntype T0 = struct<8, f32, array<vector<f32, 2>, 3>, u32>;";
    let module = parse(&source.replace("module;", record));
    let f = only(&module);
    let alloca = f.first_inst(f.entry().unwrap()).unwrap();
    let usage = FieldUsage::of_alloca(f, &module.types, alloca);
    let bits = |set: &crate::analyses::field_bits::FieldBits| -> Vec<u32> {
        (0..set.count()).filter(|&i| set.contains(i)).collect()
    };
    assert_eq!(bits(&usage.written), [0, 5, 6]);
    // The dynamic index may name every element of the array.
    assert_eq!(bits(&usage.read), [1, 2, 3, 4, 5, 6]);
    assert!(!usage.escapes && !usage.read.is_full() && !usage.read.intersects(7..8));
}

#[test]
fn liveness_ends_at_whole_stores() {
    let module = parse(&kernel(
        "b0:
        %4: vector<f32, 2> = alloca local
        %5: f32 = gep %4, %1
        cond_br %2, b1, b2
        b1:
        store %4, const vector<f32, 2> zero
        br b3
        b2:
        store %5, %3
        br b3
        b3:
        %6: f32 = load %5
        store %4, const vector<f32, 2> zero
        resource_write buffer_write %0, u32 0, %6
        br b4
        b4:
        return",
    ));
    let f = only(&module);
    let cfg = ControlFlowGraph::compute(f);
    let usage = PointerUsage::compute(f, &cfg);
    let alloca = places(f)[0];
    let blocks: Vec<BlockId> = f.blocks().collect();
    let kills: Vec<bool> = blocks.iter().map(|&b| usage.kills(b, alloca)).collect();
    assert_eq!(kills, [false, true, false, false, false]);
    let live = usage.live_in(&cfg, alloca);
    let live: Vec<bool> = blocks.iter().map(|b| live.contains(b)).collect();
    assert_eq!(live, [true, false, true, true, false]);
    assert_eq!(usage.blocks(alloca), &blocks[1..4]);
    assert_eq!(usage.touches(blocks[3]), [alloca]);
}

#[test]
fn waves_and_memory_are_uniform_while_lanes_are_together() {
    let module = parse(
        &kernel(
            "b0:
        %30: f32 = alloca local
        %31: f32 = alloca local
        %32: vector<u32, 3> = alloca local
        %9: u32 = arithmetic extract %20.thread_id, u32 0
        store %30, %3
        %10: f32 = load %30
        %11: u32 = thread_group warp_active_sum %9
        %12: f32 = cast static_cast %11
        %13: bool = arithmetic binary_less %9, %1
        resource_write buffer_write %0, u32 0, %10
        resource_write buffer_write %0, u32 1, %12
        cond_br %13, b1, b2
        b1:
        %14: u32 = thread_group warp_active_sum %9
        %15: f32 = cast static_cast %14
        store %31, %3
        resource_write buffer_write %0, u32 2, %15
        br b2
        b2:
        %16: f32 = load %31
        %17: u32 = thread_group warp_active_sum %9
        %18: f32 = cast static_cast %17
        resource_write buffer_write %0, u32 3, %16
        resource_write buffer_write %0, u32 4, %18
        return",
        )
        .replace("%20.thread_id", "thread_id"),
    );
    let f = only(&module);
    let cfg = ControlFlowGraph::compute(f);
    let found = Uniformity::compute(f, &cfg, &PostDominatorTree::compute(f, &cfg));
    let uniform: Vec<bool> = written(f).into_iter().map(|v| found.is_uniform(f, v)).collect();
    assert_eq!(uniform, [true, true, false, false, true]);
}

#[test]
fn calls_are_ordered_callees_first() {
    let module = parse(
        "module;

callable @a() {
  b0:
  call @c()
  return
}

callable @b() {
  b0:
  return
}

callable @c() {
  b0:
  call @b()
  call @b()
  return
}

kernel @k block(1, 1, 1) () {
  b0:
  call @c()
  return
}
",
    );
    let graph = CallGraph::compute(&module);
    let names = |ids: &[luisac_xir::FunctionId]| -> Vec<String> {
        ids.iter().map(|&id| module.functions[id].name.clone()).collect()
    };
    assert_eq!(names(graph.bottom_up()), ["b", "c", "a", "k"]);
    let [a, b, c, k] = module.functions.keys().collect::<Vec<_>>()[..] else { panic!("four") };
    assert_eq!((graph.callees(c), graph.callers(c)), (&[b][..], &[a, k][..]));
    assert!(!graph.is_recursive(c) && graph.component(b) < graph.component(c));
    let below = graph.reachable([k]);
    assert!(below[b] && below[c] && below[k] && !below[a]);
    assert!(graph.leading_to([b])[a]);
}
