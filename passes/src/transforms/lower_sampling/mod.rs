//! Sampled images as reads of their texels.
//!
//! What: replaces samples that the target does not make by calls of callables, which read the texels that the sampler takes and
//! weigh them. There is one callable for each kind of sample: for what is sampled (an image argument, a slot of a bindless array),
//! how the level is chosen, and the codes of filter and address mode, as far as they are constants. One kind reads at one level;
//! the others choose levels and places and call it.
//! Why right: the steps are those of the interpreter (`xir/src/interp/sample.rs`), in the same order. A texel outside the
//! image reads as zero, which is the border.
//! Cost: linear in the code. A callable has 1, 4 or 8 reads, whatever the number of levels and of places along a gradient.

mod choose;
mod kind;
mod level;
mod texels;

use super::util;
use crate::manager::declaration::{
    Declaration, ModuleCx, ModulePass, OptionType, Refusal, counters, options,
};
use crate::manager::form::{Control, Form as ModuleForm, Math, Requires, Shape};
use kind::{Code, Form, Kind, LevelBy, Part, Source};
use luisac_ast::types::{Scalar, TypeId, TypeKind, TypeTable};
use luisac_xir::op::{ArithmeticOp, ResourceQueryOp};
use luisac_xir::{Builder, Function, FunctionId, Imm, InstId, Module, Op, ValueId};
use rustc_hash::FxHashMap;

counters! {
    /// What `lower_sampling` did.
    Info {
        change lowered_sample_count "samples replaced by calls";
        note sampling_callable_count "callables made for them";
    }
}

/// Operations that sample, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept(Vec<ResourceQueryOp>);

impl OptionType for Kept {
    const KIND: &'static str = "names of operations that sample, separated by `|`";

    fn parse(text: &str) -> Option<Kept> {
        let names = text.split('|').filter(|name| !name.is_empty());
        let ops: Option<Vec<_>> = names.map(ResourceQueryOp::from_name).collect();
        ops.filter(|ops| ops.iter().all(|op| op.samples())).map(Kept)
    }

    fn show(&self) -> String {
        self.0.iter().map(|op| op.name()).collect::<Vec<_>>().join("|")
    }
}

options! {
    /// What to lower.
    Options {
        keep: Kept = Kept::default(), "operations that stay, since the target samples by them";
    }
}

/// The pass.
pub struct LowerSampling;

impl ModulePass for LowerSampling {
    const DECLARATION: Declaration = Declaration {
        establishes: Requires {
            shape: Some(Shape::Vectors),
            math: Some(Math::Full),
            ..Requires::NONE
        },
        ..Declaration::new(
            "lower_sampling",
            "replaces samples by reads of texels",
            "Replaces samples of images, arguments and slots of bindless arrays, by calls of callables that read the texels which \
             the sampler takes and give their weighted sum, for targets that do not sample so themselves.",
        )
    };
    type Options = Options;
    type Info = Info;

    // All or nothing: the target cannot take what is left, so fuel is not asked.
    fn run(cx: &mut ModuleCx<'_>, options: &Options) -> Result<Info, Refusal> {
        let samples = find(cx.module, &options.keep);
        if samples.is_empty() {
            return Ok(Info::default());
        }
        // The callables' control flow is that of the module.
        let structured = ModuleForm::of(cx.module).control == Control::Structured;
        let mut made = Made { structured, callables: FxHashMap::default() };
        for sample in &samples {
            sample.lower(cx.module, &mut made);
        }
        Ok(Info {
            lowered_sample_count: samples.len() as u64,
            sampling_callable_count: made.callables.len() as u64,
        })
    }
}

const FLOAT: TypeId = TypeId::scalar(Scalar::F32);
const FLOAT4: TypeId = TypeId::vector(Scalar::F32, 4);
/// The filter that reads along gradients.
const ANISOTROPIC: u32 = 3;

/// An instruction that is to be replaced.
struct Sample {
    function: FunctionId,
    inst: InstId,
    form: Form,
}

fn find(module: &Module, keep: &Kept) -> Vec<Sample> {
    let mut samples = Vec::new();
    for (function, func) in &module.functions {
        for inst in func.blocks().flat_map(|block| func.insts(block)) {
            let Op::ResourceQuery(op) = func.op(inst) else { continue };
            let Some(form) = Form::of(op).filter(|_| !keep.0.contains(&op)) else { continue };
            if reads_floats(func, inst, &module.types) {
                samples.push(Sample { function, inst, form });
            }
        }
    }
    samples
}

/// Whether the texels of what is sampled read as floats. Those of other arguments have no float form; they are left to be refused.
fn reads_floats(func: &Function, inst: InstId, types: &TypeTable) -> bool {
    match types.kind(func.value_type(func.arg(inst, 0))) {
        TypeKind::Texture { elem, .. } => *elem == Scalar::F32,
        _ => true,
    }
}

/// The callables so far.
struct Made {
    /// Whether their control flow is to be structured.
    structured: bool,
    callables: FxHashMap<Kind, FunctionId>,
}

impl Made {
    /// The callable of a kind.
    fn callable(&mut self, module: &mut Module, kind: Kind) -> FunctionId {
        if let Some(&id) = self.callables.get(&kind) {
            return id;
        }
        let function = match kind.part {
            Part::Level { .. } => level::callable(kind, &module.types, self.structured),
            Part::Whole { .. } => {
                let at_level = self.callable(module, kind.at_level(LevelBy::Number));
                choose::callable(kind, at_level, &module.types, self.structured)
            }
        };
        let id = module.functions.push(function);
        self.callables.insert(kind, id);
        id
    }
}

impl Sample {
    fn lower(&self, module: &mut Module, made: &mut Made) {
        let func = &mut module.functions[self.function];
        let args = func.args(self.inst).to_vec();
        let mut b = Builder::before(func, &module.types, self.inst);
        let codes = self.codes(&mut b, &args);
        let known = codes.map(|code| Code::of(b.func, code));
        let at = self.form.source_operands();
        let source = match at {
            1 => Source::Argument(b.func.value_type(args[0])),
            _ => Source::Slot(b.func.value_type(args[0]), b.func.value_type(args[1])),
        };
        let between = self.form.between;
        let whole = Kind {
            source,
            dimensions: self.form.dimensions,
            part: Part::Whole { between, filter: known[0], address: known[1] },
        };
        let kind = if between == 0 { whole.at_level(LevelBy::First) } else { whole };
        let mut operands = args[..at + 1 + between].to_vec();
        operands.extend(
            kind.codes().iter().zip(codes).filter(|(c, _)| **c == Code::Computed).map(|(_, v)| v),
        );
        let callee = made.callable(module, kind);
        let func = &mut module.functions[self.function];
        let mut b = Builder::before(func, &module.types, self.inst);
        let call = b.inst(Op::Call, FLOAT4, &operands, &[], Imm::Callee(callee));
        if let Some(value) = func.result(call) {
            util::replace_and_remove(func, self.inst, value);
        }
    }

    /// The values of filter and address: operands, or parts of what the slot has.
    fn codes(&self, b: &mut Builder<'_>, args: &[ValueId]) -> [ValueId; 2] {
        if self.form.has_codes {
            return [args[args.len() - 2], args[args.len() - 1]];
        }
        let query = match self.form.dimensions {
            2 => ResourceQueryOp::BindlessTexture2dSampler,
            _ => ResourceQueryOp::BindlessTexture3dSampler,
        };
        let code = b.value(Op::ResourceQuery(query), TypeId::U32, &args[..2]);
        let (two, three) = (b.u32(2), b.u32(3));
        let filter = b.arithmetic(ArithmeticOp::BinaryShiftRight, &[code, two]);
        [filter, b.arithmetic(ArithmeticOp::BinaryBitAnd, &[code, three])]
    }
}
