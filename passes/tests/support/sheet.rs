//! Sheets of expressions: what passes make of them is computed by the interpreter's own functions on columns of operands.

use luisac_passes::{Pipeline, RunOptions};
use luisac_xir::op::{ArithmeticOp, CastOp};
use luisac_xir::{
    ArgumentKind, Builder, Function, FunctionId, FunctionKind, Imm, InstId, Module, Op, Scalar,
    TypeId, ValueDef, ValueId, eval, math,
};
use std::collections::HashMap;
use std::rc::Rc;

/// A component of a value: one entry for each run.
pub type Column = Rc<Vec<u64>>;

/// Expressions over the scalar arguments `x` and `y` in one kernel, each printed.
pub struct Sheet {
    module: Module,
    kernel: FunctionId,
    pub arguments: [ValueId; 2],
}

impl Sheet {
    pub fn new(types: [TypeId; 2]) -> Sheet {
        let mut module = Module::new();
        let kind = FunctionKind::Kernel { block_size: [1, 1, 1] };
        let mut f = Function::new("k", kind, TypeId::VOID);
        let arguments = types.map(|ty| f.add_argument(ArgumentKind::Value, ty, None, false));
        f.append_block();
        let kernel = module.functions.push(f);
        Sheet { module, kernel, arguments }
    }

    /// Adds what `make` builds.
    pub fn add(&mut self, make: impl FnOnce(&mut Builder<'_>, ValueId, ValueId) -> ValueId) {
        let function = &mut self.module.functions[self.kernel];
        let block = function.entry().unwrap();
        let mut builder = Builder::at_end(function, &self.module.types, block);
        let value = make(&mut builder, self.arguments[0], self.arguments[1]);
        builder.inst(Op::Print, TypeId::VOID, &[value], &[], Imm::Text("{}".into()));
    }

    /// Runs a pipeline: the module, and the kernel before and after.
    pub fn transform(mut self, pipeline: &str) -> (Module, Function, Function) {
        let function = &mut self.module.functions[self.kernel];
        let block = function.entry().unwrap();
        Builder::at_end(function, &self.module.types, block).ret(None);
        let before = self.module.functions[self.kernel].clone();
        let parsed = Pipeline::parse(pipeline).unwrap();
        let options = RunOptions { verify_each: true, ..RunOptions::default() };
        parsed.run(&mut self.module, options).unwrap_or_else(|e| panic!("{e}"));
        let after = self.module.functions[self.kernel].clone();
        (self.module, before, after)
    }
}

pub fn is_nan(scalar: Scalar, bits: u64) -> bool {
    match scalar {
        Scalar::F16 => bits & 0x7fff > 0x7c00,
        Scalar::F32 => f32::from_bits(bits as u32).is_nan(),
        Scalar::F64 => f64::from_bits(bits).is_nan(),
        _ => false,
    }
}

/// The expressions of a sheet.
pub fn prints(f: &Function) -> Vec<ValueId> {
    let insts = f.insts(f.entry().unwrap());
    insts.filter(|&i| f.op(i) == Op::Print).map(|i| f.arg(i, 0)).collect()
}

/// An expression, for messages.
pub fn show(f: &Function, value: ValueId) -> String {
    match f.value_def(value) {
        ValueDef::Argument(i) => ["x", "y"][i as usize].into(),
        ValueDef::Inst(inst) => {
            let args: Vec<String> = f.args(inst).iter().map(|&a| show(f, a)).collect();
            format!("{}({})", f.op(inst).sub_name().unwrap_or("?"), args.join(", "))
        }
        _ => match f.constant_bits(value) {
            Some(bits) => format!("{bits:#x}"),
            None => format!("{:x?}", f.constant_bytes(value).map(|b| b.as_slice().to_vec())),
        },
    }
}

/// The operations of so many operands, all of one scalar type, but for mathematical functions.
pub fn operations(scalar: Scalar, arity: usize) -> Vec<ArithmeticOp> {
    let exists = |&op: &ArithmeticOp| match arity {
        1 => eval::unary(op, scalar).is_some(),
        2 => op != ArithmeticOp::PowInt && eval::binary(op, scalar, scalar).is_some(),
        _ => op != ArithmeticOp::Select && eval::ternary(op, scalar).is_some(),
    };
    let plain = |op: &ArithmeticOp| math::Function::by_name(op.name()).is_none();
    ArithmeticOp::ALL.iter().copied().filter(exists).filter(plain).collect()
}

/// What is wrong with an operation on operands of these types and bits, whose result is of that type.
pub type Refusal = fn(Op, &[Scalar], Scalar, &[u64]) -> Option<&'static str>;

/// The values of a function for all runs at once.
pub struct Evaluation<'a> {
    module: &'a Module,
    f: &'a Function,
    known: HashMap<ValueId, Vec<Column>>,
    count: usize,
    refuses: Option<Refusal>,
}

impl<'a> Evaluation<'a> {
    pub fn new(module: &'a Module, f: &'a Function, arguments: &[Column; 2]) -> Evaluation<'a> {
        let values = f.arguments.iter().map(|a| a.value);
        let known = values.zip(arguments).map(|(v, column)| (v, vec![column.clone()])).collect();
        Evaluation { module, f, known, count: arguments[0].len(), refuses: None }
    }

    /// Stops at operands that are refused.
    #[allow(dead_code, reason = "one of the tests that share this file needs it")]
    pub fn that_refuses(mut self, refuses: Refusal) -> Evaluation<'a> {
        self.refuses = Some(refuses);
        self
    }

    fn scalar(&self, value: ValueId) -> Scalar {
        self.module.types.scalar_of(self.f.value_type(value)).unwrap()
    }

    /// The components of a value.
    pub fn value(&mut self, value: ValueId) -> Vec<Column> {
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
                let lane = |lane: usize| {
                    let args: Vec<&Column> =
                        columns.iter().map(|c| &c[lane.min(c.len() - 1)]).collect();
                    self.refuse(op, &kinds, result, &args);
                    Rc::new(self.lane(op, &kinds, result, &args))
                };
                (0..lanes).map(lane).collect()
            }
        }
    }

    fn refuse(&self, op: Op, kinds: &[Scalar], result: Scalar, args: &[&Column]) {
        let Some(refuses) = self.refuses else { return };
        for i in 0..self.count {
            let bits: Vec<u64> = args.iter().map(|a| a[i]).collect();
            if let Some(why) = refuses(op, kinds, result, &bits) {
                panic!("{why}: {} of {kinds:?} on {bits:x?}", op.sub_name().unwrap_or("?"));
            }
        }
    }

    fn lane(&self, op: Op, kinds: &[Scalar], result: Scalar, args: &[&Column]) -> Vec<u64> {
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
