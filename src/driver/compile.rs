//! From a lowered module to artifacts: specialise, optimise, emit.

use super::input::Input;
use super::options::CodeOptions;
use crate::codes;
use luisac_artifact::metadata::{BoundsMode, MathMode};
use luisac_ast::diagnostic::{Diagnostic, Diagnostics};
use luisac_passes::{Canned, Level, Pipeline, Report, Run, RunOptions, TargetForm, canned};
use luisac_targets::{Artifact, DeviceFunction, EmitOptions, OptLevel, Provenance, Target};
use luisac_xir::{FunctionId, FunctionKind, Module};

/// What happens around the passes, beside the transformation itself.
#[derive(Default)]
pub struct Watch<'a> {
    pub verify_each: bool,
    /// Called after every run of a pass.
    pub after: Option<luisac_passes::Observer<'a>>,
}

/// A target with its canonical detail.
#[derive(Clone)]
pub struct TargetChoice {
    pub target: &'static dyn Target,
    pub detail: String,
}

impl TargetChoice {
    /// Reads `ptx:sm_90`.
    ///
    /// # Errors
    /// A diagnostic that lists what there is.
    pub fn parse(word: &str) -> Result<TargetChoice, Diagnostic> {
        let (target, detail) = luisac_targets::find_target(word)?;
        Ok(TargetChoice { target, detail })
    }

    /// Name and detail, as on the command line.
    pub fn label(&self) -> String {
        format!("{}:{}", self.target.name(), self.detail)
    }
}

/// Applies block size and constant arguments to the kernels of a module.
///
/// # Errors
/// `L1208`, `L1205`, `L1204`.
pub fn specialise(
    module: &mut Module,
    options: &CodeOptions,
    parse: impl Fn(&Module, FunctionId, usize, &str) -> Result<Vec<u8>, String>,
) -> Result<(), Diagnostics> {
    let kernels: Vec<FunctionId> = module.kernels().collect();
    for kernel in kernels {
        if let Some(block) = options.block {
            check_block(block)?;
            module.functions[kernel].kind = FunctionKind::Kernel { block_size: block };
        }
        for (argument, value) in &options.defines {
            let index = find_argument(module, kernel, argument)?;
            let bytes = parse(module, kernel, index, value).map_err(|message| {
                Diagnostic::error(
                    codes::BAD_ARGUMENT,
                    format!("`--define {argument}={value}`: {message}"),
                )
            })?;
            let function = &mut module.functions[kernel];
            let (formal, ty) = (function.arguments[index].value, function.arguments[index].ty);
            let constant = function.constant(ty, bytes);
            function.replace_all_uses(formal, constant);
        }
    }
    Ok(())
}

/// Whether a block can have this size.
///
/// # Errors
/// `L1208`.
pub fn check_block(block: [u32; 3]) -> Result<(), Diagnostic> {
    let threads = block.iter().map(|&n| u64::from(n)).product::<u64>();
    if block.contains(&0) || block[2] > 64 || threads > 1024 {
        let message =
            format!("a block of {}x{}x{} threads is out of range", block[0], block[1], block[2]);
        return Err(Diagnostic::error(codes::BLOCK_SIZE, message)
            .with_help("a block has 1 to 1024 threads, and at most 64 along z"));
    }
    Ok(())
}

/// The kernels to compile, each by its position among the kernels: ids change when passes remove functions, their order does not.
///
/// # Errors
/// `L1201` without kernels, `L1203` for a name that no kernel has.
pub fn choose(module: &Module, entries: &[String]) -> Result<Vec<usize>, Diagnostic> {
    let kernels: Vec<FunctionId> = module.kernels().collect();
    let names: Vec<&str> = kernels.iter().map(|&k| module.functions[k].name.as_str()).collect();
    if kernels.is_empty() {
        let has_callables = module.functions.values().any(|f| f.blocks().next().is_some());
        let help = match has_callables {
            true => "it holds callables: `luisac inspect` lists them, `--callable NAME` takes one",
            false => "give an input that has an entry function",
        };
        return Err(Diagnostic::error(codes::NO_INPUT, "the input holds no kernel").with_help(help));
    }
    for entry in entries {
        if !names.contains(&entry.as_str()) {
            return Err(Diagnostic::error(
                codes::NO_SUCH_ENTRY,
                format!("there is no kernel `{entry}`"),
            )
            .with_help(format!("the kernels are {}", names.join(", "))));
        }
    }
    Ok(kernels
        .into_iter()
        .enumerate()
        .filter(|&(_, k)| entries.is_empty() || entries.contains(&module.functions[k].name))
        .map(|(i, _)| i)
        .collect())
}

/// The callable that a word of `--callable` names, in a module that was lowered from such callables.
///
/// # Errors
/// `L1217` if there is none, `L1218` for a module with kernels: passes keep the signatures of callables only where they are all there is.
pub fn callable(module: &Module, word: &str) -> Result<FunctionId, Diagnostic> {
    if module.kernels().next().is_some() {
        let message = "the module holds kernels beside the callable";
        return Err(Diagnostic::error(codes::KERNELS_ONLY, message)
            .with_help("remove the kernels from the XIR"));
    }
    let numbered = unnamed_callable(word);
    let is = |name: &str| {
        module.functions.iter().find(|(_, f)| f.has_body() && f.name == name).map(|(id, _)| id)
    };
    is(word).or_else(|| is(&numbered)).ok_or_else(|| {
        Diagnostic::error(codes::NO_SUCH_CALLABLE, format!("there is no callable `{word}`"))
            .with_help("`luisac inspect` lists the callables")
    })
}

/// The name of a callable without one that is asked for by its number.
pub fn unnamed_callable(number: &str) -> String {
    format!("function_{number}")
}

/// Position of the argument that a position or name means.
///
/// # Errors
/// `L1205` with the arguments there are.
pub fn find_argument(module: &Module, kernel: FunctionId, word: &str) -> Result<usize, Diagnostic> {
    let arguments = &module.functions[kernel].arguments;
    let named = arguments.iter().position(|a| a.name.as_deref() == Some(word));
    let by_position = word.parse::<usize>().ok().filter(|&i| i < arguments.len());
    by_position.or(named).ok_or_else(|| {
        let names: Vec<String> = arguments
            .iter()
            .enumerate()
            .map(|(i, a)| match &a.name {
                Some(name) => format!("{i} `{name}`: {}", module.types.description(a.ty)),
                None => format!("{i}: {}", module.types.description(a.ty)),
            })
            .collect();
        Diagnostic::error(codes::NO_SUCH_ARGUMENT, format!("there is no argument `{word}`"))
            .with_help(format!("the arguments are {}", names.join(", ")))
    })
}

fn level(options: &CodeOptions) -> Level {
    match options.opt_level {
        OptLevel::O0 => Level::O0,
        OptLevel::O1 => Level::O1,
        OptLevel::O2 => Level::O2,
        OptLevel::O3 => Level::O3,
    }
}

/// The pipeline for a target.
///
/// # Errors
/// Of `--passes`: what is wrong with it.
pub fn pipeline_for(options: &CodeOptions, choice: &TargetChoice) -> Result<Pipeline, Diagnostic> {
    match &options.passes {
        Some(text) => {
            let mut pipeline = Pipeline::parse(text)?;
            if options.math == MathMode::Fast {
                pipeline.set_option("fast_math", "true");
            }
            let native =
                luisac_targets::native_operations(choice.target, options.math, &choice.detail);
            pipeline.set_option("native", &native);
            tell_bounds(&mut pipeline, options);
            Ok(pipeline)
        }
        None => luisac_targets::pipeline(
            choice.target,
            &EmitOptions {
                math: options.math,
                opt_level: options.opt_level,
                bounds: options.bounds,
                ..EmitOptions::new(choice.detail.as_str())
            },
        ),
    }
}

/// Tells the passes that would change what a checked index gives, or remove what an index out of range ends.
fn tell_bounds(pipeline: &mut Pipeline, options: &CodeOptions) {
    if options.bounds != BoundsMode::Off {
        pipeline.set_option("checked_bounds", "true");
    }
    if options.bounds == BoundsMode::Trap {
        pipeline.set_option("trapping_bounds", "true");
    }
}

/// The pipeline of the interpreter: structured form, which says which threads of a wave are together, and precise rules.
///
/// # Errors
/// Of `--passes`: what is wrong with it.
pub fn pipeline_for_interpreter(options: &CodeOptions) -> Result<Pipeline, Diagnostic> {
    let mut pipeline = match &options.passes {
        Some(text) => Pipeline::parse(text)?,
        // The interpreter holds all but gradients.
        None if options.opt_level == OptLevel::O0 => Pipeline::parse("autodiff")?,
        None => canned(&Canned {
            level: level(options),
            form: TargetForm::Structured,
            fast_math: false,
            native: Vec::new(),
        })?,
    };
    tell_bounds(&mut pipeline, options);
    Ok(pipeline)
}

/// Runs a pipeline.
///
/// # Errors
/// A pipeline that does not fit, or a pass that failed.
pub fn optimise(
    module: &mut Module,
    pipeline: &Pipeline,
    options: &CodeOptions,
    watch: &mut Watch,
) -> Result<Report, Diagnostics> {
    let mut after = |run: &Run, module: &Module| {
        if let Some(after) = watch.after.as_mut() {
            after(run, module);
        }
    };
    pipeline.run(
        module,
        RunOptions { verify_each: watch.verify_each, fuel: options.fuel, after: Some(&mut after) },
    )
}

/// What the emission of one input is told.
pub fn emit_options(input: &Input, options: &CodeOptions, choice: &TargetChoice) -> EmitOptions {
    let mut emit = EmitOptions::new(choice.detail.clone());
    emit.math = options.math;
    emit.bounds = options.bounds;
    emit.opt_level = options.opt_level;
    emit.dxc = options.dxc.clone();
    emit.provenance = Provenance {
        input_hash: blake3::hash(input.bytes()).to_hex().to_string(),
        options_hash: options.hash(&choice.label()),
        ..Provenance::default()
    };
    emit
}

/// Instructions that a kernel may have when code is generated for it. LLVM takes one to two kilobytes for each.
const MAX_INSTRUCTIONS: usize = 1 << 22;

/// Refuses a kernel that code generation could not hold in memory.
fn check_length(module: &Module, kernel: FunctionId, limit: usize) -> Result<(), Diagnostics> {
    let emitted = module.functions.iter().filter(|(id, f)| *id == kernel || !f.is_kernel());
    let count: usize = emitted.map(|(_, f)| f.placed_inst_count()).sum();
    if count <= limit {
        return Ok(());
    }
    let name = &module.functions[kernel].name;
    let message = format!(
        "the kernel `{name}` has {count} instructions after the passes, but may have {limit}"
    );
    Err(Diagnostic::error(codes::TOO_LONG, message)
        .with_help("compile with `-O1` or more, or keep loops as loops where the recording program unrolls them")
        .in_function(name)
        .into())
}

/// Compiles one kernel of an optimised module.
///
/// # Errors
/// A kernel that is too long; what the target refuses.
pub fn emit(
    module: &Module,
    kernel: FunctionId,
    choice: &TargetChoice,
    options: &EmitOptions,
) -> Result<Artifact, Diagnostics> {
    check_length(module, kernel, MAX_INSTRUCTIONS)?;
    choice.target.emit(module, kernel, options)
}

/// Compiles one callable of an optimised module as a function that others call.
///
/// # Errors
/// As [`emit`]; a target that holds kernels only.
pub fn emit_function(
    module: &Module,
    callable: FunctionId,
    choice: &TargetChoice,
    options: &EmitOptions,
) -> Result<DeviceFunction, Diagnostics> {
    check_length(module, callable, MAX_INSTRUCTIONS)?;
    choice.target.emit_function(module, callable, options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_kernels_are_refused() {
        let text = "module;\nkernel @\"long\" block(64, 1, 1) () {\nb0:\n  return\n}\n";
        let module = luisac_xir::text::parse(text).unwrap_or_else(|e| panic!("{e}"));
        let kernel = module.kernels().next().expect("there is a kernel");
        assert!(check_length(&module, kernel, 1).is_ok());
        let errors = check_length(&module, kernel, 0).expect_err("too long");
        assert_eq!(errors.0[0].code, codes::TOO_LONG);
        assert!(errors.to_string().contains("`long` has 1 instructions"), "{errors}");
    }
}
