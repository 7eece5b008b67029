//! The interpreter as the judge of passes: what a kernel shows must be the same before and after.

mod arguments;

pub use arguments::arguments;

use crate::{Form, Pipeline, RunOptions, codes};
use luisac_xir::eval::flat::Flat;
use luisac_xir::interp::{self, Arg, FaultKind, Launch};
use luisac_xir::{FunctionId, Module, Scalar, TypeId, TypeKind};

/// Elements of more scalars are compared byte by byte.
const MAX_SCALARS: u64 = 1 << 12;
/// A step of the kernel as it was may become so many: mathematics spelled out takes hundreds.
const MAX_GROWTH: u64 = 500;

/// All that a run shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// The arguments afterwards: padding zero, and every NaN the same, since nothing says what they hold.
    pub args: Vec<Arg>,
    /// What was printed, sorted: threads print in no order.
    pub lines: Vec<String>,
    /// Instructions that all threads together executed.
    pub steps: u64,
}

/// Why a run shows nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoResult {
    /// It takes more steps than the launch allows.
    TooLong,
    /// Something undefined, or not held; in words.
    Fault(String),
}

/// Runs the first kernel of a verified module on copies of the arguments.
///
/// # Errors
/// If the run does not come to its end.
pub fn observe(module: &Module, args: &[Arg], launch: &Launch) -> Result<Observed, NoResult> {
    let Some(kernel) = module.kernels().next() else {
        return Err(NoResult::Fault("there is no kernel".into()));
    };
    let mut args = args.to_vec();
    match interp::run(module, kernel, &mut args, launch) {
        Ok(outcome) => {
            let mut lines = outcome.lines;
            lines.sort();
            hide_unspecified(module, kernel, &mut args);
            Ok(Observed { args, lines, steps: outcome.steps })
        }
        Err(e) => match e.kind {
            FaultKind::StepLimit(_) => Err(NoResult::TooLong),
            _ => Err(NoResult::Fault(format!("{}: {e}", e.code()))),
        },
    }
}

/// Whether the first kernel of a module shows something else after the pipeline: what differs, in words.
///
/// # Errors
/// If nothing can be said: the kernel does not come to its end as it is, or the pipeline is refused.
pub fn differs(
    module: &Module,
    pipeline: &Pipeline,
    args: &[Arg],
    launch: &Launch,
) -> Result<Option<String>, String> {
    let before = observe(module, args, launch).map_err(|e| match e {
        NoResult::TooLong => "the kernel takes too many steps".to_string(),
        NoResult::Fault(what) => what,
    })?;
    pipeline.check(Form::of(module)).map_err(|e| e.to_string())?;
    let mut after = module.clone();
    let options = RunOptions { verify_each: true, ..RunOptions::default() };
    if let Err(e) = pipeline.run(&mut after, options) {
        let refused = e.0.iter().all(|d| d.code == codes::REFUSED);
        return if refused { Err(e.to_string()) } else { Ok(Some(e.to_string())) };
    }
    Ok(compare(&before, &after, args, launch).err())
}

/// Whether a transformed module shows what was observed before; the steps that it took.
///
/// # Errors
/// What differs, in words.
pub fn compare(
    before: &Observed,
    after: &Module,
    args: &[Arg],
    launch: &Launch,
) -> Result<u64, String> {
    let max_steps = before.steps.saturating_mul(MAX_GROWTH).saturating_add(1 << 16);
    let launch = Launch { races: false, max_steps: Some(max_steps), ..*launch };
    match observe(after, args, &launch) {
        Ok(observed) => before.difference(&observed).map_or(Ok(observed.steps), Err),
        Err(NoResult::TooLong) => Err("the kernel takes many times as many steps".into()),
        Err(NoResult::Fault(what)) => Err(what),
    }
}

impl Observed {
    /// Where two runs differ, in words.
    pub fn difference(&self, other: &Observed) -> Option<String> {
        if self.args.len() != other.args.len() {
            return Some("the number of arguments differs".into());
        }
        for (i, (mine, theirs)) in self.args.iter().zip(&other.args).enumerate() {
            if mine == theirs {
                continue;
            }
            return Some(match (mine, theirs) {
                (Arg::Buffer(mine), Arg::Buffer(theirs)) => {
                    let at = mine.iter().zip(theirs).position(|(a, b)| a != b);
                    format!("argument {i} differs from byte {} on", at.unwrap_or(0))
                }
                _ => format!("argument {i} differs"),
            });
        }
        (self.lines != other.lines).then(|| "printed lines differ".into())
    }
}

/// Clears padding in typed buffers, and gives every NaN one pattern.
fn hide_unspecified(module: &Module, kernel: FunctionId, args: &mut [Arg]) {
    let types = &module.types;
    for (formal, arg) in module.functions[kernel].arguments.iter().zip(args) {
        let (TypeKind::Buffer { elem, .. }, Arg::Buffer(bytes)) = (types.kind(formal.ty), arg)
        else {
            continue;
        };
        let scalar = types.scalar_of(*elem).filter(|_| types.is_scalar(*elem));
        if *elem == TypeId::VOID || scalar.is_some_and(|s| !s.is_float()) {
            continue;
        }
        let Some(flat) = Flat::of(types, *elem, MAX_SCALARS) else { continue };
        let stride = types.size(*elem).next_multiple_of(types.align(*elem).into());
        for element in bytes.chunks_exact_mut(stride.max(1) as usize) {
            let mut scalars = flat.read(element);
            for (part, bits) in flat.parts.iter().zip(&mut scalars) {
                *bits = without_payload(part.scalar, *bits);
            }
            element.fill(0);
            element[..flat.size as usize].copy_from_slice(&flat.write(&scalars));
        }
    }
}

fn without_payload(scalar: Scalar, bits: u64) -> u64 {
    let (magnitude, infinity) = match scalar {
        Scalar::F16 => (0x7fff, 0x7c00),
        Scalar::F32 => (0x7fff_ffff, 0x7f80_0000),
        Scalar::F64 => (u64::MAX >> 1, 0x7ff0_0000_0000_0000),
        _ => return bits,
    };
    if bits & magnitude > infinity { magnitude } else { bits }
}
