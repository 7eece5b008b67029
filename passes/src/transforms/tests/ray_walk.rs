//! Ray queries before and after their lowerings, run on given candidates: they must do the same.

use super::ray_queries::{is_refused, query};
use crate::transforms::testing::{parse, transform};
use luisac_xir::op::{RayQueryReadOp, RayQueryWriteOp};
use luisac_xir::{BlockId, Function, FunctionId, Imm, InstId, Module, Op, ValueId, eval, text};
use std::collections::HashMap;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Candidate {
    Surface,
    Procedural,
}

/// Runs a function on one thread: scalars of up to 64 bits, variables without parts.
struct Walker<'a> {
    module: &'a Module,
    candidates: Vec<Candidate>,
    next: usize,
    current: Option<Candidate>,
    terminated: bool,
    memory: Vec<u64>,
    /// What has been done that others see.
    trace: Vec<String>,
    steps: usize,
}

type Frame = HashMap<ValueId, u64>;

impl<'a> Walker<'a> {
    fn trace(module: &'a Module, candidates: &[Candidate]) -> Vec<String> {
        let mut walker = Walker {
            module,
            candidates: candidates.to_vec(),
            next: 0,
            current: None,
            terminated: false,
            memory: Vec::new(),
            trace: Vec::new(),
            steps: 0,
        };
        let kernel = module.kernels().next().unwrap();
        walker.call(kernel, &[0, 5, 1, 9]);
        walker.trace
    }

    fn proceed(&mut self) {
        self.current = self.candidates.get(self.next).copied().filter(|_| !self.terminated);
        self.next += 1;
    }

    fn call(&mut self, id: FunctionId, args: &[u64]) {
        let func = &self.module.functions[id];
        let mut frame: Frame =
            func.arguments.iter().zip(args).map(|(a, &v)| (a.value, v)).collect();
        for inst in func.blocks().flat_map(|b| func.insts(b)) {
            if matches!(func.op(inst), Op::Alloca(_)) {
                frame.insert(func.result(inst).unwrap(), self.memory.len() as u64);
                self.memory.push(0);
            }
        }
        let (mut at, mut from) = (func.entry().unwrap(), None);
        while let Some(next) = self.block(func, &mut frame, at, from) {
            (from, at) = (Some(at), next);
        }
    }

    fn block(
        &mut self,
        func: &Function,
        frame: &mut Frame,
        at: BlockId,
        from: Option<BlockId>,
    ) -> Option<BlockId> {
        let phis: Vec<(ValueId, u64)> = func
            .phis(at)
            .map(|phi| {
                let i = func.inst_blocks(phi).iter().position(|&b| Some(b) == from).unwrap();
                (func.result(phi).unwrap(), value(func, frame, func.arg(phi, i)))
            })
            .collect();
        frame.extend(phis);
        for inst in func.insts(at).filter(|&i| func.op(i) != Op::Phi) {
            self.steps += 1;
            assert!(self.steps < 10_000, "an endless walk");
            let args: Vec<u64> = func.args(inst).iter().map(|&a| value(func, frame, a)).collect();
            if func.op(inst).is_terminator() {
                return self.target(func, inst, &args);
            }
            if let Some(result) = self.inst(func, inst, &args) {
                func.result(inst).map(|v| frame.insert(v, result));
            }
        }
        None
    }

    fn target(&mut self, func: &Function, end: InstId, args: &[u64]) -> Option<BlockId> {
        let named = func.inst_blocks(end);
        match func.op(end) {
            Op::If | Op::CondBr => Some(named[usize::from(args[0] == 0)]),
            Op::RayQueryDispatch => {
                self.proceed();
                Some(match self.current {
                    None => named[0],
                    Some(Candidate::Surface) => named[1],
                    Some(Candidate::Procedural) => named[2],
                })
            }
            _ => named.first().copied(),
        }
    }

    fn inst(&mut self, func: &Function, inst: InstId, args: &[u64]) -> Option<u64> {
        match func.op(inst) {
            Op::Load => return Some(self.memory[args[0] as usize]),
            Op::Store => self.memory[args[0] as usize] = args[1],
            Op::RayQueryRead(RayQueryReadOp::IsTerminated) => {
                return Some(u64::from(self.current.is_none()));
            }
            Op::RayQueryRead(RayQueryReadOp::IsTriangleCandidate) => {
                return Some(u64::from(self.current == Some(Candidate::Surface)));
            }
            Op::RayQueryRead(RayQueryReadOp::IsProceduralCandidate) => {
                return Some(u64::from(self.current == Some(Candidate::Procedural)));
            }
            Op::RayQueryWrite(RayQueryWriteOp::Proceed) => self.proceed(),
            Op::RayQueryWrite(op) => {
                self.terminated |= op == RayQueryWriteOp::Terminate;
                self.trace.push(format!("{} {:?}", op.name(), &args[1..]));
            }
            Op::ResourceWrite(op) => self.trace.push(format!("{} {args:?}", op.name())),
            Op::RayQueryPipeline => self.traverse(func, inst, args),
            Op::Arithmetic(op) => {
                let types = &self.module.types;
                let bytes: Vec<[u8; 8]> = args.iter().map(|a| a.to_le_bytes()).collect();
                let operands: Vec<_> = func
                    .args(inst)
                    .iter()
                    .zip(&bytes)
                    .map(|(&v, b)| {
                        let ty = func.value_type(v);
                        (ty, &b[..types.size(ty) as usize])
                    })
                    .collect();
                let mut result = [0; 8];
                let folded = eval::fold(types, op, func.inst(inst).ty, &operands).unwrap();
                result[..folded.len()].copy_from_slice(&folded);
                return Some(u64::from_le_bytes(result));
            }
            Op::Alloca(_) => {}
            op => panic!("{op:?}"),
        }
        None
    }

    fn traverse(&mut self, func: &Function, inst: InstId, args: &[u64]) {
        let Imm::Handlers { surface, procedural } = func.inst(inst).imm else { panic!("handlers") };
        loop {
            self.proceed();
            match self.current {
                None => return,
                Some(Candidate::Surface) => self.call(surface, args),
                Some(Candidate::Procedural) => self.call(procedural, args),
            }
        }
    }
}

fn value(func: &Function, frame: &Frame, value: ValueId) -> u64 {
    match func.constant_bits(value) {
        Some(bits) => bits,
        None => frame.get(&value).copied().unwrap_or(0),
    }
}

/// Two queries that share a variable; handlers with branches, a loop, a variable of their own, values from outside.
const KERNEL: &str = "%4: u32 = alloca local
    %5: u32 = alloca local
    %6: u32 = alloca local
    %7: u32 = arithmetic binary_add %1, u32 2
    store %4, %7
    ray_query_loop dispatch b1, merge b9
    b1:
    ray_query_dispatch %10, exit b9, surface b2, procedural b5
    b2:
    %20: u32 = load %4
    %21: u32 = arithmetic binary_mul %20, u32 3
    store %4, %21
    %22: bool = arithmetic binary_less %21, u32 100
    if %22, then b3, else b4, merge b4
    b3:
    ray_query_object_write commit_triangle %10
    resource_write buffer_write %0, %21, %3
    br b4
    b4:
    br b1
    b5:
    store %5, u32 0
    loop prepare b6, body b7, update b8, merge b10
    b6:
    %23: u32 = load %5
    %24: bool = arithmetic binary_less %23, u32 3
    cond_br %24, b7, b10
    b7:
    %25: u32 = load %6
    %26: u32 = arithmetic binary_add %25, %7
    store %6, %26
    br b8
    b8:
    %27: u32 = load %5
    %28: u32 = arithmetic binary_add %27, u32 1
    store %5, %28
    br b6
    b10:
    %29: u32 = load %6
    resource_write buffer_write %0, %29, %3
    %30: bool = arithmetic binary_greater %29, u32 50
    if %30, then b11, else b12, merge b12
    b11:
    ray_query_object_write terminate %10
    br b12
    b12:
    br b1
    b9:
    %31: u32 = load %4
    resource_write buffer_write %0, %31, %3
    %32: u32 = load %6
    resource_write buffer_write %0, %32, %3
    return";

#[test]
fn lowered_queries_do_the_same() {
    let pipelines = [
        "lower_ray_query_to_loop",
        "lower_ray_query_to_loop,reconstruct_ray_query_loop",
        "lower_ray_query_to_loop,destructure_cfg,simplify_cfg,mem2reg,loop_rotation,gvn,sccp,dce",
        "local_store_forward,dce,lower_ray_query_to_loop",
        "lower_ray_query_to_pipeline,dce",
        "lower_ray_query_to_loop,reconstruct_ray_query_loop,lower_ray_query_to_pipeline",
        "lower_ray_query_to_pipeline,dead_arg_elim,promote_ref_arg,inline_all,dce",
        "lower_ray_query_to_pipeline,destructure_cfg,inline,simplify_cfg,mem2reg,unused_callable_removal",
    ];
    let source = query(KERNEL);
    let module = parse(&source);
    let kinds = [Candidate::Surface, Candidate::Procedural];
    let mut lengths = 0;
    for pipeline in pipelines {
        let after = parse(&transform(pipeline, &source).0);
        for pattern in 0..64usize {
            // All sequences of up to five candidates.
            let length = pattern.checked_ilog2().unwrap_or(0) as usize;
            let candidates: Vec<Candidate> = (0..length).map(|i| kinds[pattern >> i & 1]).collect();
            let wanted = Walker::trace(&module, &candidates);
            lengths += wanted.len();
            assert_eq!(Walker::trace(&after, &candidates), wanted, "`{pipeline}` {candidates:?}");
        }
    }
    assert!(lengths > 2_000, "the walks do little: {lengths}");
}

#[test]
fn handlers_become_callables() {
    let body = "%4: u32 = alloca local
        %5: u32 = alloca local
        ray_query_loop dispatch b1, merge b4
        b1:
        ray_query_dispatch %10, exit b4, surface b2, procedural b3
        b2:
        store %5, %1
        %6: u32 = load %5
        store %4, %6
        br b1
        b3:
        br b1
        b4:
        %7: u32 = load %4
        resource_write buffer_write %0, %7, %3
        return";
    let (result, report) = transform("lower_ray_query_to_pipeline", &query(body));
    assert_eq!(report.counter("lower_ray_query_to_pipeline", "localized_alloca_count"), 1);
    let expected = "module;
type T0 = opaque \"LC_RayQueryAll\";

kernel @k block(64, 1, 1) (%0: resource buffer<f32>, %1: value u32, %2: value bool, %3: value f32) {
b0:
  %4: T0 = alloca local
  %5: u32 = alloca local
  ray_query_pipeline @k_surface_0, @k_procedural_0(%4, %1, %5)
  br b1
b1:
  %6: u32 = load %5
  resource_write buffer_write %0, %6, %3
  return
}

callable @k_surface_0(%0: reference T0, %1: value u32, %2: reference u32) {
b0:
  %3: u32 = alloca local
  store %3, %1
  %4: u32 = load %3
  store %2, %4
  return
}

callable @k_procedural_0(%0: reference T0, %1: value u32, %2: reference u32) {
b0:
  return
}
";
    assert_eq!(result, text::print(&parse(expected)), "\n{result}");
}

#[test]
fn options_leave_loops_as_they_are() {
    let (source, pass) = (query(KERNEL), "lower_ray_query_to_pipeline");
    for (options, lowered) in [
        ("", 1),
        ("{max_captured_argument_count=3}", 0),
        ("{max_captured_argument_count=5}", 1),
        ("{min_handler_instruction_count=1000}", 0),
        ("{min_handler_instruction_count=1000;min_small_handler_loop_count=1}", 1),
    ] {
        let options = options.replace(';', ",");
        let (_, report) = transform(&format!("{pass}{options}"), &source);
        assert_eq!(report.counter(pass, "lowered_loop_count"), lowered, "{options}");
        assert_eq!(report.counter(pass, "skipped_loop_count"), 1 - lowered, "{options}");
    }
}

#[test]
fn handlers_that_cannot_run_alone_are_refused() {
    let refused = |inst: &str, reason: &str| {
        let body = KERNEL.replacen("b3:\n", &format!("b3:\n    {inst}\n"), 1);
        is_refused("lower_ray_query_to_pipeline", &body, reason);
    };
    refused("thread_group synchronize_block", "several threads");
    refused("%50: u32 = thread_group warp_active_sum %1", "several threads");
    refused("ray_query_object_write proceed %10", "goes on by itself");
    let before = KERNEL.replacen("b1:\n", "b1:\n    resource_write buffer_write %0, %1, %3\n", 1);
    is_refused("lower_ray_query_to_pipeline", &before, "before each candidate");
}
