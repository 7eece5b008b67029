//! Mathematics as callables.
//!
//! What: replaces operations that the target does not have natively by calls of callables that are made of primitive operations: one
//! callable for each operation and type. It does for structured control flow what `lower_math` does for flat one, with the same
//! sequences: a function of a vector calls the function of its scalar lane by lane, a formula over vectors or matrices is split by
//! `scalarizer`, and what is left is lowered by `lower_math`; loops in it are brought into structured form by `restructure_cfg`.
//! Why right: the callables hold the sequences that the interpreter runs, and take and give values only.
//! Cost: linear in instructions, and in the callables, of which there is one an operation and type.

use super::lower_math::{LowerMath, Options as MathOptions, usual_natives};
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
use luisac_xir::op::ArithmeticOp;
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
    op: ArithmeticOp,
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
        let Op::Arithmetic(op) = function.op(inst) else { return None };
        let args = function.args(inst);
        let first = function.value_type(*args.first()?);
        let scalar = self.module.types.scalar_of(first)?;
        let stays = matches!(op, ArithmeticOp::All | ArithmeticOp::Any)
            || composite::is_movement(op)
            || self.options.native.has(op, scalar)
            || !(composite::is_formula(op) || (scalar.is_float() && is_function(op)));
        if stays {
            return None;
        }
        let exponent = match (op, args) {
            (ArithmeticOp::PowInt, &[_, exponent]) => {
                let ty = function.value_type(exponent);
                function.constant_bits(exponent).filter(|_| self.module.types.is_scalar(ty))
            }
            _ => None,
        };
        let operands = args.iter().map(|&a| function.value_type(a)).collect();
        Some(Key { op, operands, result: function.inst(inst).ty, exponent })
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
        // What `scalarizer` left may need callables of its own.
        pending.push(id);
        Ok(id)
    }

    fn signature(&self, key: &Key) -> Function {
        let types = &self.module.types;
        let mut name = format!("{}_{}", key.op.name(), type_word(types, key.operands[0]));
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
        let value = builder.value(Op::Arithmetic(key.op), key.result, &args);
        builder.ret(Some(value));
        let is_scalar = types.is_scalar(key.operands[0]);
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

/// Whether `lower_math` lowers an operation on floats that is no formula.
fn is_function(op: ArithmeticOp) -> bool {
    super::lower_math::is_function(op)
}

/// The operation on a lane, for functions of vectors.
fn lane_key(key: &Key, types: &TypeTable) -> Option<Key> {
    let is_lanewise = !composite::is_formula(key.op) && types.is_vector(key.result);
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
