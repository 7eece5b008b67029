//! `lower_edge_cases` on every operand: all integers of 8 bits, all halves, and the edges of the wider types.
//!
//! Expressions of one operation are transformed. Both forms are computed by the interpreter's own functions on all operands, and
//! every bit must agree, but for which NaN it is. The computation of the transformed one stops at an operand that a language
//! for GPUs leaves open, and at an operation that the pass says is gone.

use luisac_passes::{Pipeline, RunOptions};
use luisac_xir::math::composite;
use luisac_xir::op::{ArithmeticOp, CastOp, Rule};
use luisac_xir::{
    ArgumentKind, Builder, Function, FunctionId, FunctionKind, Imm, InstId, Module, Op, Scalar,
    TypeId, ValueDef, ValueId, eval, math,
};
use std::collections::HashMap;
use std::rc::Rc;

/// A component of a value: one entry for each run.
type Column = Rc<Vec<u64>>;

/// Expressions over the scalar arguments `x` and `y` in one kernel, each printed.
struct Sheet {
    module: Module,
    kernel: FunctionId,
    arguments: [ValueId; 2],
}

impl Sheet {
    fn new(types: [TypeId; 2]) -> Sheet {
        let mut module = Module::new();
        let kind = FunctionKind::Kernel { block_size: [1, 1, 1] };
        let mut f = Function::new("k", kind, TypeId::VOID);
        let arguments = types.map(|ty| f.add_argument(ArgumentKind::Value, ty, None, false));
        f.append_block();
        let kernel = module.functions.push(f);
        Sheet { module, kernel, arguments }
    }

    fn add(&mut self, make: impl FnOnce(&mut Builder<'_>, ValueId, ValueId) -> ValueId) {
        let function = &mut self.module.functions[self.kernel];
        let block = function.entry().unwrap();
        let mut builder = Builder::at_end(function, &self.module.types, block);
        let value = make(&mut builder, self.arguments[0], self.arguments[1]);
        builder.inst(Op::Print, TypeId::VOID, &[value], &[], Imm::Text("{}".into()));
    }

    /// Transforms, computes and compares; how many expressions became something else.
    fn compare(mut self, options: &str, x: &[u64], y: &[u64]) -> usize {
        let function = &mut self.module.functions[self.kernel];
        let block = function.entry().unwrap();
        Builder::at_end(function, &self.module.types, block).ret(None);
        let before = self.module.functions[self.kernel].clone();
        let pipeline = format!("lower_edge_cases{{{options}}}");
        let parsed = Pipeline::parse(&pipeline).unwrap();
        let run = RunOptions { verify_each: true, ..RunOptions::default() };
        parsed.run(&mut self.module, run).unwrap_or_else(|e| panic!("{e}"));
        let after = &self.module.functions[self.kernel];
        let columns = [x, y].map(|c| Rc::new(c.to_vec()));
        let mut old = Evaluation::new(&self.module, &before, &columns, false);
        let mut new = Evaluation::new(&self.module, after, &columns, true);
        let (old_prints, new_prints) = (prints(&before), prints(after));
        assert_eq!(old_prints.len(), new_prints.len());
        let mut changed = 0;
        for (a, b) in old_prints.into_iter().zip(new_prints) {
            changed += usize::from(a != b);
            let (want, got) = (old.value(a), new.value(b));
            let scalar = self.module.types.scalar_of(before.value_type(a)).unwrap();
            for (want, got) in want.iter().zip(&got) {
                let same = |i: usize| {
                    want[i] == got[i] || is_nan(scalar, want[i]) && is_nan(scalar, got[i])
                };
                if let Some(i) = (0..want.len()).find(|&i| !same(i)) {
                    let (x, y, want, got) = (x[i], y[i], want[i], got[i]);
                    let what = show(&before, a);
                    panic!("{what} at x = {x:#x}, y = {y:#x}: {want:#x}, lowered {got:#x}");
                }
            }
        }
        changed
    }
}

fn is_nan(scalar: Scalar, bits: u64) -> bool {
    match scalar {
        Scalar::F16 => bits & 0x7fff > 0x7c00,
        Scalar::F32 => f32::from_bits(bits as u32).is_nan(),
        Scalar::F64 => f64::from_bits(bits).is_nan(),
        _ => false,
    }
}

fn prints(f: &Function) -> Vec<ValueId> {
    let insts = f.insts(f.entry().unwrap());
    insts.filter(|&i| f.op(i) == Op::Print).map(|i| f.arg(i, 0)).collect()
}

fn show(f: &Function, value: ValueId) -> String {
    match f.value_def(value) {
        ValueDef::Argument(i) => ["x", "y"][i as usize].into(),
        ValueDef::Inst(inst) => {
            let args: Vec<String> = f.args(inst).iter().map(|&a| show(f, a)).collect();
            format!("{}({})", f.op(inst).sub_name().unwrap_or("?"), args.join(", "))
        }
        _ => format!("{:x?}", f.constant_bytes(value).map(|b| b.as_slice().to_vec())),
    }
}

struct Evaluation<'a> {
    module: &'a Module,
    f: &'a Function,
    known: HashMap<ValueId, Vec<Column>>,
    count: usize,
    /// Stops at what is left open.
    strict: bool,
}

impl<'a> Evaluation<'a> {
    fn new(
        module: &'a Module,
        f: &'a Function,
        arguments: &[Column; 2],
        strict: bool,
    ) -> Evaluation<'a> {
        let values = f.arguments.iter().map(|a| a.value);
        let known = values.zip(arguments).map(|(v, column)| (v, vec![column.clone()])).collect();
        Evaluation { module, f, known, count: arguments[0].len(), strict }
    }

    fn scalar(&self, value: ValueId) -> Scalar {
        self.module.types.scalar_of(self.f.value_type(value)).unwrap()
    }

    fn value(&mut self, value: ValueId) -> Vec<Column> {
        if let Some(columns) = self.known.get(&value) {
            return columns.clone();
        }
        let columns = match self.f.value_def(value) {
            ValueDef::Inst(inst) => self.inst(inst),
            _ => self.constant(value),
        };
        self.known.insert(value, columns.clone());
        columns
    }

    fn constant(&self, value: ValueId) -> Vec<Column> {
        let size = self.scalar(value).size() as usize;
        let dim = usize::from(self.module.types.dim(self.f.value_type(value)).max(1));
        let bytes = self.f.constant_bytes(value).unwrap().as_slice();
        let word = |part: &[u8]| part.iter().rev().fold(0, |w, &b| w << 8 | u64::from(b));
        bytes.chunks(size).take(dim).map(|p| Rc::new(vec![word(p); self.count])).collect()
    }

    fn inst(&mut self, inst: InstId) -> Vec<Column> {
        let args: Vec<ValueId> = self.f.args(inst).to_vec();
        let columns: Vec<Vec<Column>> = args.iter().map(|&a| self.value(a)).collect();
        match self.f.op(inst) {
            Op::Arithmetic(ArithmeticOp::Aggregate) => columns.into_iter().flatten().collect(),
            Op::Arithmetic(ArithmeticOp::Extract) => {
                vec![columns[0][self.f.constant_bits(args[1]).unwrap() as usize].clone()]
            }
            op => {
                let kinds: Vec<Scalar> = args.iter().map(|&a| self.scalar(a)).collect();
                let result = self.module.types.scalar_of(self.f.inst(inst).ty).unwrap();
                let lanes = columns.iter().map(Vec::len).max().unwrap();
                (0..lanes)
                    .map(|lane| {
                        let args: Vec<&Column> =
                            columns.iter().map(|c| &c[lane.min(c.len() - 1)]).collect();
                        Rc::new(self.lane(op, &kinds, result, &args))
                    })
                    .collect()
            }
        }
    }

    fn lane(&self, op: Op, kinds: &[Scalar], result: Scalar, args: &[&Column]) -> Vec<u64> {
        if self.strict {
            for i in 0..self.count {
                let bits: Vec<u64> = args.iter().map(|a| a[i]).collect();
                if let Some(open) = left_open(op, kinds, result, &bits) {
                    panic!("{open}: {} of {kinds:?} on {bits:x?}", op.sub_name().unwrap_or("?"));
                }
            }
        }
        let each = |f: &dyn Fn(usize) -> u64| (0..self.count).map(f).collect();
        match op {
            Op::Cast(CastOp::Static) => {
                let f = eval::cast(kinds[0], result).unwrap();
                each(&|i| f(args[0][i]))
            }
            Op::Cast(CastOp::Bitwise) => args[0].to_vec(),
            Op::Arithmetic(op) => match args.len() {
                1 => {
                    let f = eval::unary(op, kinds[0]).unwrap();
                    each(&|i| f(args[0][i]))
                }
                2 => {
                    let f = eval::binary(op, kinds[0], kinds[1]).unwrap();
                    each(&|i| f(args[0][i], args[1][i]))
                }
                _ => {
                    let f = eval::ternary(op, kinds[0]).unwrap();
                    each(&|i| f(args[0][i], args[1][i], args[2][i]))
                }
            },
            op => panic!("{op:?}"),
        }
    }
}

/// What a language may leave open about an operation on these operands.
fn left_open(op: Op, kinds: &[Scalar], result: Scalar, bits: &[u64]) -> Option<&'static str> {
    use ArithmeticOp::*;
    let kind = kinds[0];
    let width = u64::from(kind.bits());
    match op {
        Op::Arithmetic(BinaryDiv | BinaryMod) if kind.is_int() => {
            let all = u64::MAX >> (64 - width);
            let overflows = kind.is_signed() && bits[0] == 1 << (width - 1) && bits[1] == all;
            let signed_rest = op == Op::Arithmetic(BinaryMod) && kind.is_signed();
            (bits[1] == 0 || overflows || signed_rest).then_some("division")
        }
        Op::Arithmetic(BinaryShiftLeft | BinaryShiftRight) => {
            (kinds[1] != kind || bits[1] >= width).then_some("amount")
        }
        Op::Arithmetic(Abs) => (kind.is_int() && kind.is_signed()).then_some("magnitude"),
        Op::Arithmetic(Min | Max) => kind.is_float().then_some("extreme"),
        Op::Arithmetic(Clz | Ctz) => (kind != Scalar::U32 || bits[0] == 0).then_some("count"),
        Op::Arithmetic(Popcount | Reverse) => (kind != Scalar::U32).then_some("bits"),
        Op::Arithmetic(BinaryRotateLeft | BinaryRotateRight | Isnan | Isinf | Round | Copysign) => {
            Some("operation")
        }
        Op::Arithmetic(op) => composite::is_formula(op).then_some("formula"),
        Op::Cast(CastOp::Static) if kind != result && [kind, result].contains(&Scalar::Bool) => {
            Some("bool")
        }
        Op::Cast(CastOp::Static) if kind.is_float() && result.is_int() => {
            let x = number(kind, bits[0]).trunc();
            let ends = match result {
                Scalar::I32 => -2_147_483_648.0..2_147_483_648.0,
                Scalar::U32 => 0.0..4_294_967_296.0,
                Scalar::I64 => -9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0,
                Scalar::U64 => 0.0..18_446_744_073_709_551_616.0,
                _ => return Some("small integer"),
            };
            (!ends.contains(&x)).then_some("conversion")
        }
        _ => None,
    }
}

fn number(kind: Scalar, bits: u64) -> f64 {
    match kind {
        Scalar::F16 => eval::half_to_double(bits),
        Scalar::F32 => f32::from_bits(bits as u32).into(),
        _ => f64::from_bits(bits),
    }
}

// ---- operands

/// All pairs of the first and the second.
fn pairs(first: &[u64], second: &[u64]) -> (Vec<u64>, Vec<u64>) {
    let x = first.iter().flat_map(|&a| second.iter().map(move |_| a)).collect();
    let y = first.iter().flat_map(|_| second.iter().copied()).collect();
    (x, y)
}

/// Edges of an integer of more than 8 bits.
fn integer_edges(scalar: Scalar) -> Vec<u64> {
    let mask = u64::MAX >> (64 - scalar.bits());
    let near =
        [0, 1, 2, 4, 7, 8, 15, 16, 31, 32, 62, 63].into_iter().filter(|&i| i < scalar.bits());
    let ends = near.flat_map(|i| [1 << i, (1u64 << i).wrapping_sub(1), !0 << i]);
    let mut edges: Vec<u64> = ends.chain([3, 7, 0x1234_5678_9abc_def0]).map(|b| b & mask).collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// Floats at the edges of every integer type, of the format, and on both sides of halves.
fn float_edges(scalar: Scalar) -> Vec<u64> {
    let mut numbers: Vec<f64> = vec![0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.5, 1e30, f64::INFINITY];
    numbers.extend([7, 8, 15, 16, 31, 32, 63, 64].map(|e| 2f64.powi(e)));
    numbers.extend([126.5, 127.5, 254.5, 255.5, 32766.5, 32767.5, 65534.5, 65535.5]);
    let encode = |x: f64| match scalar {
        Scalar::F16 => eval::double_to_half(x),
        Scalar::F32 => u64::from((x as f32).to_bits()),
        _ => x.to_bits(),
    };
    let nan = encode(f64::NAN);
    let sign = 1 << (scalar.bits() - 1);
    let mut edges: Vec<u64> = numbers.into_iter().map(encode).collect();
    let near = edges.clone();
    edges.extend(near.iter().flat_map(|b| [b + 1, b.saturating_sub(1)]));
    edges.extend([nan, nan | 1]);
    edges.extend(edges.clone().iter().map(|b| b ^ sign));
    edges.sort_unstable();
    edges.dedup();
    edges
}

// ---- sheets

/// The operations of so many operands of one type, but for mathematical functions.
fn operations(scalar: Scalar, arity: usize) -> Vec<ArithmeticOp> {
    let exists = |&op: &ArithmeticOp| match arity {
        1 => eval::unary(op, scalar).is_some(),
        2 => {
            op != ArithmeticOp::PowInt
                && !(op == ArithmeticOp::BinaryMod && scalar.is_float())
                && eval::binary(op, scalar, scalar).is_some()
        }
        _ => op != ArithmeticOp::Select && eval::ternary(op, scalar).is_some(),
    };
    let plain = |op: &ArithmeticOp| math::Function::by_name(op.name()).is_none();
    ArithmeticOp::ALL.iter().copied().filter(exists).filter(plain).collect()
}

/// Each operation on scalars, on vectors, and with constants in the place of `y`.
fn operation_sheet(scalar: Scalar, constants: &[u64]) -> Sheet {
    let ty = TypeId::scalar(scalar);
    let vector = TypeId::vector(scalar, 2);
    let mut sheet = Sheet::new([ty, ty]);
    for op in (1..=3).flat_map(|n| operations(scalar, n)) {
        let count = op.arity().0;
        let pick = |x, y| [x, y, x][..count].to_vec();
        sheet.add(|b, x, y| b.arithmetic(op, &pick(x, y)));
        if op.rule() != Rule::BoolReduce {
            sheet.add(|b, x, y| {
                let (v, w) = (b.aggregate(vector, &[x, y]), b.aggregate(vector, &[y, x]));
                b.arithmetic(op, &pick(v, w))
            });
        }
        for &c in constants.iter().filter(|_| count > 1) {
            for swapped in [false, true] {
                sheet.add(|b, x, _| {
                    let c = b.func.scalar_constant(ty, c, b.types);
                    b.arithmetic(op, &if swapped { pick(c, x) } else { pick(x, c) })
                });
            }
        }
    }
    sheet
}

fn all(scalar: Scalar) -> Vec<u64> {
    (0..1 << scalar.bits()).collect()
}

#[test]
fn integers() {
    for scalar in Scalar::ALL.iter().copied().filter(|s| s.is_int() && s.bits() >= 8) {
        let domain = if scalar.bits() == 8 { all(scalar) } else { integer_edges(scalar) };
        let (x, y) = pairs(&domain, &domain);
        let mask = u64::MAX >> (64 - scalar.bits());
        let constants = [0, 1, 2, mask, 1 << (scalar.bits() - 1)];
        let changed = operation_sheet(scalar, &constants).compare("fast_math=false", &x, &y);
        assert!(changed > 40, "{}: {changed}", scalar.name());
    }
}

/// Amounts of shifts and rotations of other types than the value.
#[test]
fn amounts_of_other_types() {
    use ArithmeticOp::*;
    for value in [Scalar::I8, Scalar::U16, Scalar::I32, Scalar::U64] {
        for amount in [Scalar::I8, Scalar::U8, Scalar::I32, Scalar::U64] {
            let mut sheet = Sheet::new([value, amount].map(TypeId::scalar));
            for op in [BinaryShiftLeft, BinaryShiftRight, BinaryRotateLeft, BinaryRotateRight] {
                sheet.add(|b, x, y| b.arithmetic(op, &[x, y]));
                sheet.add(|b, x, _| {
                    let y = b.func.scalar_constant(TypeId::scalar(amount), 0xfb, b.types);
                    b.arithmetic(op, &[x, y])
                });
            }
            let (x, y) = pairs(&integer_edges(value), &integer_edges(amount));
            assert_eq!(sheet.compare("fast_math=false", &x, &y), 8);
        }
    }
}

#[test]
fn floats() {
    for scalar in [Scalar::F16, Scalar::F32, Scalar::F64] {
        let edges = float_edges(scalar);
        let (x, y) = pairs(&edges, &edges);
        let one = match scalar {
            Scalar::F16 => 0x3c00,
            Scalar::F32 => 0x3f80_0000,
            _ => 1.0f64.to_bits(),
        };
        for options in ["short_words=true", "short_words=false"] {
            if scalar != Scalar::F16 && options == "short_words=false" {
                continue;
            }
            let changed = operation_sheet(scalar, &[0, one]).compare(options, &x, &y);
            assert!(changed > 40, "{}: {changed}", scalar.name());
        }
    }
}

#[test]
fn all_halves_alone() {
    let mut sheet = Sheet::new([TypeId::F16; 2]);
    for op in operations(Scalar::F16, 1) {
        sheet.add(|b, x, _| b.arithmetic(op, &[x]));
    }
    let halves = all(Scalar::F16);
    assert!(sheet.compare("fast_math=false", &halves, &halves) >= 5);
}

/// Scalars stand for every component.
#[test]
fn spread_operands() {
    use ArithmeticOp::*;
    let vector = TypeId::vector(Scalar::F16, 3);
    let mut sheet = Sheet::new([TypeId::F16; 2]);
    sheet.add(|b, x, y| {
        let (v, w) = (b.aggregate(vector, &[x, y, x]), b.aggregate(vector, &[y, y, x]));
        b.arithmetic(Lerp, &[v, w, y])
    });
    sheet.add(|b, x, y| {
        let v = b.aggregate(vector, &[x, y, x]);
        b.arithmetic(Step, &[y, v])
    });
    sheet.add(|b, x, y| {
        let v = b.aggregate(vector, &[x, y, x]);
        b.arithmetic(Smoothstep, &[x, y, v])
    });
    let edges = float_edges(Scalar::F16);
    let (x, y) = pairs(&edges, &edges);
    assert_eq!(sheet.compare("fast_math=false", &x, &y), 3);
}

#[test]
fn conversions() {
    let scalars: Vec<Scalar> = Scalar::ALL
        .iter()
        .copied()
        .filter(|&s| s == Scalar::F32 || eval::cast(s, Scalar::F32).is_some())
        .collect();
    let mut changed = 0;
    for &from in &scalars {
        let domain = match from {
            Scalar::Bool => vec![0, 1],
            Scalar::F16 => all(from),
            _ if from.is_float() => float_edges(from),
            _ => integer_edges(from),
        };
        let mut sheet = Sheet::new([TypeId::scalar(from); 2]);
        for &to in &scalars {
            sheet.add(|b, x, _| b.value(Op::Cast(CastOp::Static), TypeId::scalar(to), &[x]));
            sheet.add(|b, x, y| {
                let pair = b.aggregate(TypeId::vector(from, 2), &[x, y]);
                b.value(Op::Cast(CastOp::Static), TypeId::vector(to, 2), &[pair])
            });
        }
        let reversed: Vec<u64> = domain.iter().rev().copied().collect();
        changed += sheet.compare("fast_math=false", &domain, &reversed);
    }
    assert!(changed > 80, "{changed}");
}

/// What a target has stays, and nothing else.
#[test]
fn native_operations_stay() {
    let mut sheet = Sheet::new([TypeId::F32; 2]);
    sheet.add(|b, x, y| b.arithmetic(ArithmeticOp::BinaryAdd, &[x, y]));
    assert_eq!(sheet.compare("fast_math=false", &[0], &[0]), 0);
    let run = |options: &str| {
        let mut sheet = Sheet::new([TypeId::F32; 2]);
        sheet.add(|b, x, _| b.arithmetic(ArithmeticOp::Fract, &[x]));
        let module = &mut sheet.module;
        let function = &mut module.functions[sheet.kernel];
        let block = function.entry().unwrap();
        Builder::at_end(function, &module.types, block).ret(None);
        let pipeline = Pipeline::parse(&format!("lower_edge_cases{{{options}}}")).unwrap();
        pipeline.run(module, RunOptions::default()).unwrap().changed()
    };
    assert!(run("native=fract.f16|fract.u32") && !run("native=fract.f32") && !run("native=fract"));
}
