//! Mathematics as callables.
//!
//! What: replaces operations that the target does not have natively by calls of callables that are made of primitive operations: one
//! callable for each operation and type. It does for structured control flow what `lower_math` does for flat one, with the same
//! sequences: a function of a vector calls the function of its scalar lane by lane, a formula over vectors or matrices is split by
//! `scalarizer`, and what is left is lowered by `lower_math`; loops in it are brought into structured form by `restructure_cfg`.
//! Why right: the callables hold the sequences that the interpreter runs, and take and give values only.
//! Cost: linear in instructions, and in the callables, of which there is one an operation and type.

use super::lower_math::{self, LowerMath, Options as MathOptions, usual_natives};
use super::native_set::NativeSet;
use super::restructure::RestructureCfg;
use super::scalarizer::Scalarizer;
use super::util;
use crate::manager::declaration::{
    Declaration, FunctionCx, FunctionPass, ModuleCx, ModulePass, Refusal, counters, options,
};
use crate::manager::fuel::Fuel;
use luisac_ast::types::{Scalar, TypeId, TypeKind, TypeTable};
use luisac_xir::math::composite;
use luisac_xir::op::{ArithmeticOp, CastOp};
use luisac_xir::{
    ArgumentKind, Builder, Function, FunctionId, FunctionKind, Imm, InstId, Module, Op, ValueId,
};
use rustc_hash::FxHashMap;

counters! {
    /// What `outline_math` did.
    Info {
        change outlined_operation_count "operations replaced by calls";
        change made_callable_count "callables made";
    }
}

options! {
    /// What to replace and how.
    Options {
        fast_math: bool = false, "use the cheaper forms of `--math fast`";
        native: NativeSet = usual_natives(), "operations that stay";
        guards: bool = false, "also what `lower_edge_cases` would write in place: minima and maxima of floats, conversions of floats to integers, divisions of integers";
    }
}

/// The pass.
pub struct OutlineMath;

impl ModulePass for OutlineMath {
    const DECLARATION: Declaration = Declaration::new(
        "outline_math",
        "replaces mathematical functions by calls of callables",
        "Replaces formulas and functions that are not in `native` by calls of callables that hold the sequences of primitive \
         operations that the interpreter runs. Control flow may be structured: it stays as it is.",
    );
    type Options = Options;
    type Info = Info;

    // All or nothing: the target cannot take what is left, so fuel is not asked.
    fn run(cx: &mut ModuleCx<'_>, options: &Options) -> Result<Info, Refusal> {
        let mut outliner = Outliner {
            module: cx.module,
            fuel: cx.fuel,
            options,
            made: FxHashMap::default(),
            info: Info::default(),
        };
        let mut pending: Vec<FunctionId> = outliner.module.functions.keys().collect();
        while let Some(id) = pending.pop() {
            outliner.function(id, &mut pending)?;
        }
        Ok(outliner.info)
    }
}

/// An operation with its types, and the bits of a constant exponent.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    op: Op,
    operands: Vec<TypeId>,
    result: TypeId,
    exponent: Option<u64>,
}

struct Outliner<'a> {
    module: &'a mut Module,
    fuel: &'a Fuel,
    options: &'a Options,
    made: FxHashMap<Key, FunctionId>,
    info: Info,
}

impl Outliner<'_> {
    /// Replaces the operations of one function.
    fn function(&mut self, id: FunctionId, pending: &mut Vec<FunctionId>) -> Result<(), Refusal> {
        let function = &self.module.functions[id];
        let wanted: Vec<(InstId, Key)> = function
            .blocks()
            .flat_map(|b| function.insts(b))
            .filter_map(|inst| Some((inst, self.key(function, inst)?)))
            .collect();
        for (inst, key) in wanted {
            let callee = self.callable(&key, pending)?;
            let function = &mut self.module.functions[id];
            let mut args = function.args(inst).to_vec();
            if key.exponent.is_some() {
                args.truncate(1);
            }
            let mut builder = Builder::before(function, &self.module.types, inst);
            let call = builder.inst(Op::Call, key.result, &args, &[], Imm::Callee(callee));
            let loc = function.inst(inst).loc;
            function.set_loc(call, loc);
            if let Some(value) = function.result(call) {
                util::replace_and_remove(function, inst, value);
            }
            self.info.outlined_operation_count += 1;
        }
        Ok(())
    }

    /// What an instruction needs a callable for, if it does.
    fn key(&self, function: &Function, inst: InstId) -> Option<Key> {
        let op = function.op(inst);
        let args = function.args(inst);
        let is_wanted = match op {
            Op::Arithmetic(op) => {
                self.is_lowered(function, op, args) || self.is_guarded(function, op, args)
            }
            Op::Cast(CastOp::Static) => {
                let scalar = |ty| self.module.types.scalar_of(ty);
                let from = args.first().and_then(|&a| scalar(function.value_type(a)));
                let to = scalar(function.inst(inst).ty);
                self.options.guards
                    && from.is_some_and(Scalar::is_float)
                    && to.is_some_and(Scalar::is_int)
            }
            _ => false,
        };
        if !is_wanted {
            return None;
        }
        let exponent = match (op, args) {
            (Op::Arithmetic(ArithmeticOp::PowInt), &[_, exponent]) => {
                let ty = function.value_type(exponent);
                function.constant_bits(exponent).filter(|_| self.module.types.is_scalar(ty))
            }
            _ => None,
        };
        let operands = args.iter().map(|&a| function.value_type(a)).collect();
        Some(Key { op, operands, result: function.inst(inst).ty, exponent })
    }

    /// Whether `lower_math` would replace an operation.
    fn is_lowered(&self, function: &Function, op: ArithmeticOp, args: &[ValueId]) -> bool {
        let Some(scalar) = self.scalar(function, args) else { return false };
        !matches!(op, ArithmeticOp::All | ArithmeticOp::Any)
            && !composite::is_movement(op)
            && !self.options.native.has(op, scalar)
            && (composite::is_formula(op) || (scalar.is_float() && lower_math::is_function(op)))
    }

    /// Whether an operation is to be kept apart because of its edge cases. A divisor that is known needs no guard, or one that folds.
    fn is_guarded(&self, function: &Function, op: ArithmeticOp, args: &[ValueId]) -> bool {
        let Some(scalar) = self.scalar(function, args) else { return false };
        let native = self.options.native.has(op, scalar);
        self.options.guards
            && match op {
                ArithmeticOp::Min | ArithmeticOp::Max => scalar.is_float() && !native,
                ArithmeticOp::BinaryDiv | ArithmeticOp::BinaryMod => {
                    scalar.is_int()
                        && args.get(1).is_some_and(|&d| function.constant_bytes(d).is_none())
                }
                _ => false,
            }
    }

    fn scalar(&self, function: &Function, args: &[ValueId]) -> Option<Scalar> {
        self.module.types.scalar_of(function.value_type(*args.first()?))
    }

    /// The callable of an operation; a new one is looked at, too.
    fn callable(
        &mut self,
        key: &Key,
        pending: &mut Vec<FunctionId>,
    ) -> Result<FunctionId, Refusal> {
        if let Some(&known) = self.made.get(key) {
            return Ok(known);
        }
        let mut function = self.signature(key);
        let types = &self.module.types;
        let lanes = lane_key(key, types);
        match lanes {
            Some(lane) => {
                let callee = self.callable(&lane, pending)?;
                by_lanes(&mut function, &self.module.types, key, &lane, callee);
            }
            None => self.body(&mut function, key)?,
        }
        let id = self.module.functions.push(function);
        self.made.insert(key.clone(), id);
        self.info.made_callable_count += 1;
        // What `scalarizer` left may need callables of its own, but not an operation that is kept apart as it is.
        if !holds_itself(key, &self.module.types) {
            pending.push(id);
        }
        Ok(id)
    }

    fn signature(&self, key: &Key) -> Function {
        let types = &self.module.types;
        let from = type_word(types, key.operands[0]);
        let mut name = match key.op {
            Op::Arithmetic(op) => format!("{}_{from}", op.name().trim_start_matches("binary_")),
            _ => format!("{}_from_{from}", type_word(types, key.result)),
        };
        if let Some(bits) = key.exponent {
            name.push_str(&format!("_by_{}", bits as i32));
        }
        let mut function = Function::new(name, FunctionKind::Callable, key.result);
        let names = ["x", "y", "z"];
        let count = if key.exponent.is_some() { 1 } else { key.operands.len() };
        for (i, &ty) in key.operands.iter().take(count).enumerate() {
            let name = names.get(i).copied();
            function.add_argument(ArgumentKind::Value, ty, name, false);
        }
        function
    }

    /// The operation itself, lowered.
    fn body(&self, function: &mut Function, key: &Key) -> Result<(), Refusal> {
        let types = &self.module.types;
        let mut args: Vec<ValueId> = function.arguments.iter().map(|a| a.value).collect();
        if let (Some(bits), Some(&ty)) = (key.exponent, key.operands.get(1)) {
            args.push(function.scalar_constant(ty, bits, types));
        }
        let entry = function.append_block();
        let mut builder = Builder::at_end(function, types, entry);
        let value = builder.value(key.op, key.result, &args);
        builder.ret(Some(value));
        // One operand may be a scalar for all lanes of the others.
        let is_scalar = key.operands.iter().all(|&ty| types.is_scalar(ty));
        let mut cx = FunctionCx { func: function, types, fuel: self.fuel };
        if !is_scalar {
            Scalarizer::run(&mut cx, &())?;
            return Ok(());
        }
        let options =
            MathOptions { fast_math: self.options.fast_math, native: self.options.native.clone() };
        LowerMath::run(&mut cx, &options)?;
        RestructureCfg::run(&mut cx, &())?;
        Ok(())
    }
}

/// Whether the callable of an operation holds nothing but it.
fn holds_itself(key: &Key, types: &TypeTable) -> bool {
    let is_float = types.is_float(key.operands[0]);
    key.operands.iter().all(|&ty| types.is_scalar(ty))
        && match key.op {
            Op::Arithmetic(op) => match op {
                ArithmeticOp::Min | ArithmeticOp::Max => true,
                ArithmeticOp::BinaryDiv | ArithmeticOp::BinaryMod => !is_float,
                _ => false,
            },
            _ => true,
        }
}

/// The operation on a lane, for functions of vectors.
fn lane_key(key: &Key, types: &TypeTable) -> Option<Key> {
    let is_formula = matches!(key.op, Op::Arithmetic(op) if composite::is_formula(op));
    let is_lanewise = !is_formula && types.is_vector(key.result);
    is_lanewise.then(|| {
        let lane = |&ty: &TypeId| types.scalar_of(ty).map_or(ty, TypeId::scalar);
        Key {
            op: key.op,
            operands: key.operands.iter().map(lane).collect(),
            result: lane(&key.result),
            exponent: key.exponent,
        }
    })
}

/// Calls the function of a lane for each lane.
fn by_lanes(function: &mut Function, types: &TypeTable, key: &Key, lane: &Key, callee: FunctionId) {
    let args: Vec<(ValueId, TypeId)> = function.arguments.iter().map(|a| (a.value, a.ty)).collect();
    let entry = function.append_block();
    let mut builder = Builder::at_end(function, types, entry);
    let mut lanes = Vec::new();
    for i in 0..u32::from(types.dim(key.result)) {
        let parts: Vec<ValueId> = args
            .iter()
            .map(|&(arg, ty)| if types.is_vector(ty) { builder.extract(arg, i) } else { arg })
            .collect();
        let call = builder.inst(Op::Call, lane.result, &parts, &[], Imm::Callee(callee));
        lanes.extend(builder.func.result(call));
    }
    let value = builder.aggregate(key.result, &lanes);
    builder.ret(Some(value));
}

/// A type as a part of a name.
fn type_word(types: &TypeTable, ty: TypeId) -> String {
    match *types.kind(ty) {
        TypeKind::Scalar(s) => s.name().to_string(),
        TypeKind::Vector { elem, dim } => format!("{}{dim}", elem.name()),
        TypeKind::Matrix { dim } => format!("{0}{dim}x{dim}", Scalar::F32.name()),
        _ => "value".to_string(),
    }
}
