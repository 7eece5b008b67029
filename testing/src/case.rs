//! A kernel with its arguments, and what a run of it shows.

use luisac_xir::eval::flat::Flat;
use luisac_xir::interp::{self, Arg, FaultKind, Launch};
use luisac_xir::{FunctionId, Module, Scalar, TypeId, TypeKind};

/// A kernel that can be run.
#[derive(Clone, Debug)]
pub struct Case {
    pub seed: u64,
    /// One kernel and the callables that it may call.
    pub module: Module,
    pub args: Vec<Arg>,
    pub launch: Launch,
}

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
    /// Something undefined, or not held.
    Fault(String),
}

impl Case {
    /// Runs the kernel of `module`, which is this case's or was made from it, on this case's arguments.
    ///
    /// # Errors
    /// If the run does not come to its end.
    pub fn run(&self, module: &Module, races: bool) -> Result<Observed, NoResult> {
        let fault = |text: &str| NoResult::Fault(text.into());
        let kernel = module.kernels().next().ok_or_else(|| fault("the kernel is gone"))?;
        let mut args = self.args.clone();
        let launch = Launch { races, ..self.launch };
        match interp::run(module, kernel, &mut args, &launch) {
            Ok(outcome) => {
                let mut lines = outcome.lines;
                lines.sort();
                hide_unspecified(module, kernel, &mut args);
                Ok(Observed { args, lines, steps: outcome.steps })
            }
            Err(e) => match e.kind {
                FaultKind::StepLimit(_) => Err(NoResult::TooLong),
                _ => Err(fault(&format!("{}: {e}", e.code()))),
            },
        }
    }

    /// Threads of the launch.
    pub fn threads(&self) -> u64 {
        self.launch.dispatch.iter().map(|&n| u64::from(n)).product()
    }
}

/// Clears padding in typed buffers, and gives every NaN one pattern.
fn hide_unspecified(module: &Module, kernel: FunctionId, args: &mut [Arg]) {
    for (formal, arg) in module.functions[kernel].arguments.iter().zip(args) {
        let (TypeKind::Buffer { elem, .. }, Arg::Buffer(bytes)) =
            (module.types.kind(formal.ty), arg)
        else {
            continue;
        };
        let scalar = module.types.scalar_of(*elem).filter(|_| module.types.is_scalar(*elem));
        if *elem == TypeId::VOID || scalar.is_some_and(|s| !s.is_float()) {
            continue;
        }
        let Some(flat) = Flat::of(&module.types, *elem, 1 << 12) else { continue };
        let stride = module.types.size(*elem).next_multiple_of(module.types.align(*elem).into());
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

impl Observed {
    /// Where two runs differ, in words.
    pub fn difference(&self, other: &Observed) -> Option<String> {
        for (i, (mine, theirs)) in self.args.iter().zip(&other.args).enumerate() {
            let (Arg::Buffer(mine), Arg::Buffer(theirs)) = (mine, theirs) else {
                if mine != theirs {
                    return Some(format!("argument {i} differs"));
                }
                continue;
            };
            if let Some(at) = mine.iter().zip(theirs).position(|(a, b)| a != b) {
                return Some(format!("argument {i} differs from byte {at} on"));
            }
        }
        (self.lines != other.lines).then(|| "printed lines differ".into())
    }
}
