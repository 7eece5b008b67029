//! Gradients of a kernel with an autodiff scope, by the pass and by central differences.
//!
//! Two kernels are made of the one: in the first, the gradient of everything marked is written to a further buffer; in the
//! second, the scope is plain code, one component of one marked variable is moved by an argument where its mark stands, and the
//! sum of the seeded values times their seeds is written.
#![allow(dead_code)]

use luisac_passes::{Pipeline, RunOptions};
use luisac_xir::builder::Position;
use luisac_xir::interp::{self, Arg, Launch};
use luisac_xir::op::{ArithmeticOp, AutodiffOp, ResourceWriteOp, SpecialRegister};
use luisac_xir::{
    ArgumentKind, Builder, Function, FunctionId, InstId, Module, Op, TypeId, TypeKind, TypeTable,
    ValueId,
};

/// Places in the buffer of gradients for each thread.
const PLACES: u32 = 256;
pub const THREADS: u32 = 3;
const ELEMENTS: usize = 64;

/// The indices that lead to each `f32` of a type.
fn leaves(types: &TypeTable, ty: TypeId) -> Vec<Vec<u32>> {
    if types.is_scalar(ty) {
        return if ty == TypeId::F32 { vec![Vec::new()] } else { Vec::new() };
    }
    let mut all = Vec::new();
    for i in 0..types.member_count(ty) {
        let Some(part) = types.element_type(ty, i) else { continue };
        for mut leaf in leaves(types, part) {
            leaf.insert(0, i);
            all.push(leaf);
        }
    }
    all
}

fn of_kind(func: &Function, op: AutodiffOp) -> Vec<InstId> {
    let insts = func.blocks().flat_map(|b| func.insts(b).collect::<Vec<_>>());
    insts.filter(|&i| func.op(i) == Op::Autodiff(op)).collect()
}

fn leaf_value(b: &mut Builder<'_>, mut value: ValueId, leaf: &[u32]) -> ValueId {
    for &i in leaf {
        value = b.extract(value, i);
    }
    value
}

/// Writes `value` to place `place` of this thread.
fn write(b: &mut Builder<'_>, buffer: ValueId, place: u32, value: ValueId) {
    let id = b.func.special(SpecialRegister::DispatchId);
    let thread = b.extract(id, 0);
    let (stride, place) = (b.u32(PLACES), b.u32(place));
    let row = b.arithmetic(ArithmeticOp::BinaryMul, &[thread, stride]);
    let at = b.arithmetic(ArithmeticOp::BinaryAdd, &[row, place]);
    b.effect(Op::ResourceWrite(ResourceWriteOp::BufferWrite), &[buffer, at, value]);
}

/// What is marked, one entry a float: the number of the mark and the leaf.
fn marked(module: &Module, kernel: FunctionId) -> Vec<(usize, Vec<u32>)> {
    let func = &module.functions[kernel];
    let marks = of_kind(func, AutodiffOp::RequiresGradient);
    let of = |(n, &m): (usize, &InstId)| {
        let ty = func.value_type(func.arg(m, 0));
        leaves(&module.types, ty).into_iter().map(move |leaf| (n, leaf)).collect::<Vec<_>>()
    };
    marks.iter().enumerate().flat_map(of).collect()
}

fn with_gradients(module: &Module, kernel: FunctionId) -> Module {
    let mut module = module.clone();
    let buffer_type = module.types.buffer(TypeId::F32).unwrap();
    let places = marked(&module, kernel);
    let Module { types, functions } = &mut module;
    let func = &mut functions[kernel];
    let buffer = func.add_argument(ArgumentKind::Resource, buffer_type, None, false);
    let marks = of_kind(func, AutodiffOp::RequiresGradient);
    let backward = of_kind(func, AutodiffOp::Backward)[0];
    let next = func.next_inst(backward).unwrap();
    let mut b = Builder::before(func, types, next);
    for (place, (mark, leaf)) in places.iter().enumerate() {
        let target = b.func.arg(marks[*mark], 0);
        let ty = b.func.value_type(target);
        let gradient = b.value(Op::Autodiff(AutodiffOp::Gradient), ty, &[target]);
        let value = leaf_value(&mut b, gradient, leaf);
        write(&mut b, buffer, place as u32, value);
    }
    module
}

fn with_loss(module: &Module, kernel: FunctionId) -> Module {
    let mut module = module.clone();
    let buffer_type = module.types.buffer(TypeId::F32).unwrap();
    let places = marked(&module, kernel);
    let Module { types, functions } = &mut module;
    let func = &mut functions[kernel];
    let buffer = func.add_argument(ArgumentKind::Resource, buffer_type, None, false);
    let which = func.add_argument(ArgumentKind::Value, TypeId::U32, None, false);
    let delta = func.add_argument(ArgumentKind::Value, TypeId::F32, None, false);
    let entry = func.entry().unwrap();
    let first = func.first_inst(entry).unwrap();
    let sum = Builder::before(func, types, first).alloca(TypeId::F32);
    let marks = of_kind(func, AutodiffOp::RequiresGradient);
    for (place, (mark, leaf)) in places.iter().enumerate() {
        let mut b = Builder::before(func, types, marks[*mark]);
        let mut target = b.func.arg(marks[*mark], 0);
        if !leaf.is_empty() {
            let indices: Vec<ValueId> = leaf.iter().map(|&i| b.u32(i)).collect();
            target = b.gep(target, &indices, TypeId::F32);
        }
        let place = b.u32(place as u32);
        let is_it = b.arithmetic(ArithmeticOp::BinaryEqual, &[which, place]);
        let zero = b.func.zero(TypeId::F32, types);
        let by = b.arithmetic(ArithmeticOp::Select, &[zero, delta, is_it]);
        let old = b.load(target);
        let new = b.arithmetic(ArithmeticOp::BinaryAdd, &[old, by]);
        b.store(target, new);
    }
    for op in [AutodiffOp::GradientMarker, AutodiffOp::AccumulateGradient] {
        for seed in of_kind(func, op) {
            let mut b = Builder::before(func, types, seed);
            let (target, weight) = (b.func.arg(seed, 0), b.func.arg(seed, 1));
            let value = if b.func.is_lvalue(target) { b.load(target) } else { target };
            for leaf in leaves(types, b.func.value_type(value)) {
                let (x, w) = (leaf_value(&mut b, value, &leaf), leaf_value(&mut b, weight, &leaf));
                let product = b.arithmetic(ArithmeticOp::BinaryMul, &[x, w]);
                let old = b.load(sum);
                let new = b.arithmetic(ArithmeticOp::BinaryAdd, &[old, product]);
                b.store(sum, new);
            }
        }
    }
    let backward = of_kind(func, AutodiffOp::Backward)[0];
    let mut b = Builder::before(func, types, backward);
    b.set_position(Position::Before(backward));
    let total = b.load(sum);
    write(&mut b, buffer, 0, total);
    remove_scope(func, types);
    module
}

fn remove_scope(func: &mut Function, types: &TypeTable) {
    for op in [
        AutodiffOp::RequiresGradient,
        AutodiffOp::Gradient,
        AutodiffOp::GradientMarker,
        AutodiffOp::AccumulateGradient,
        AutodiffOp::Backward,
    ] {
        for inst in of_kind(func, op) {
            if let Some(value) = func.result(inst) {
                let zero = func.zero(func.value_type(value), types);
                func.replace_all_uses(value, zero);
            }
            func.remove_inst(inst);
        }
    }
    for block in func.blocks().collect::<Vec<_>>() {
        let end = func.terminator(block).unwrap();
        if func.op(end) == Op::AutodiffScope {
            let entry = func.inst_blocks(end)[0];
            func.replace_with_br(block, entry);
        }
    }
}

/// Arguments for all but the added parameters: floats between `low` and `high`.
fn arguments(module: &Module, kernel: FunctionId, added: usize, low: f32, high: f32) -> Vec<Arg> {
    let formal = &module.functions[kernel].arguments;
    let mut state = 0x1234_5678_u32;
    let mut random = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        low + (high - low) * ((state >> 8) as f32 / (1 << 24) as f32)
    };
    let mut fill = |ty: TypeId, count: usize| -> Vec<u8> {
        let size = module.types.size(ty) as usize;
        let scalar = module.types.scalar_of(ty);
        if scalar.is_some_and(|s| s.is_float()) {
            (0..count * size / 4).flat_map(|_| random().to_le_bytes()).collect()
        } else {
            vec![0; count * size]
        }
    };
    formal[..formal.len() - added]
        .iter()
        .map(|a| match *module.types.kind(a.ty) {
            TypeKind::Buffer { elem, .. } => Arg::Buffer(fill(elem, ELEMENTS)),
            _ => Arg::Value(fill(a.ty, 1)),
        })
        .collect()
}

fn run(module: &Module, kernel: FunctionId, args: &mut [Arg]) -> Result<(), String> {
    let launch = Launch { races: false, max_steps: Some(1 << 26), ..Launch::new([THREADS, 1, 1]) };
    interp::run(module, kernel, args, &launch).map(|_| ()).map_err(|f| format!("{} {f}", f.code()))
}

fn floats(arg: &Arg) -> Vec<f32> {
    let Arg::Buffer(bytes) = arg else { return Vec::new() };
    bytes.chunks_exact(4).map(|c| f32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
}

/// Compares both on inputs between `low` and `high` after `pipeline`; gives the number of components that were finite and
/// compared.
pub fn compare(module: &Module, pipeline: &str, low: f32, high: f32) -> Result<usize, String> {
    let kernel = module.kernels().next().ok_or("no kernel")?;
    let places = marked(module, kernel);
    let mut by_pass = with_gradients(module, kernel);
    let by_difference = with_loss(module, kernel);
    let pipeline = Pipeline::parse(pipeline).map_err(|e| e.to_string())?;
    let options = RunOptions { verify_each: true, ..RunOptions::default() };
    pipeline.run(&mut by_pass, options).map_err(|e| e.to_string())?;
    let empty = || Arg::Buffer(vec![0; (THREADS * PLACES) as usize * 4]);
    let kernel_after = by_pass.kernels().next().ok_or("the kernel is gone")?;
    let mut args = arguments(&by_pass, kernel_after, 1, low, high);
    args.push(empty());
    run(&by_pass, kernel_after, &mut args)?;
    let gradients = floats(&args[args.len() - 1]);
    let step = 1.0 / 256.0;
    let loss = |which: u32, delta: f32| -> Result<Vec<f32>, String> {
        let mut args = arguments(&by_difference, kernel, 3, low, high);
        args.push(empty());
        args.push(Arg::Value(which.to_le_bytes().to_vec()));
        args.push(Arg::Value(delta.to_le_bytes().to_vec()));
        run(&by_difference, kernel, &mut args)?;
        Ok(floats(&args[args.len() - 3]))
    };
    let mut compared = 0;
    let here = loss(u32::MAX, 0.0)?;
    for (place, (mark, leaf)) in places.iter().enumerate() {
        let (below, above) = (loss(place as u32, -step)?, loss(place as u32, step)?);
        let (near_below, near_above) =
            (loss(place as u32, -step / 2.0)?, loss(place as u32, step / 2.0)?);
        for thread in 0..THREADS as usize {
            let row = thread * PLACES as usize;
            let coarse = (above[row] - below[row]) / (2.0 * step);
            let fine = (near_above[row] - near_below[row]) / step;
            let gradient = gradients[row + place];
            let scale = 1.0 + fine.abs() + above[row].abs();
            // Where differences disagree there is an edge nearby.
            let bend = (near_above[row] + near_below[row] - 2.0 * here[row]) / step;
            let is_smooth = (coarse - fine).abs() <= 0.01 * scale && bend.abs() <= 0.1 * scale;
            if !fine.is_finite() || !is_smooth {
                continue;
            }
            compared += 1;
            if !gradient.is_finite() || (gradient - fine).abs() > 0.01 * scale {
                return Err(format!(
                    "thread {thread}, mark {mark} {leaf:?}: gradient {gradient}, difference {fine}"
                ));
            }
        }
    }
    Ok(compared)
}
