//! `luisac run`: compile for a device here and run once.

pub(super) mod argument;
pub(super) mod bindless;
mod element;
pub(super) mod image;
pub(super) mod npy;
mod on_cpu;
mod on_interp;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod on_lists;
#[cfg(feature = "vulkan")]
mod on_vulkan;
mod picture;

use super::code_options::{code_options, split};
use super::devices;
use super::messages::{Failure, Messages};
use super::options::{self, DeviceOption, RunCommand};
use super::output;
use super::read::read_options;
use argument::{Actual, Formal};
use bindless::Place;
use luisac::codes;
use luisac::driver::compile::{self, TargetChoice, Watch};
use luisac::driver::input::Input;
use luisac::driver::options::CodeOptions;
use luisac::driver::program::{self, ReadOptions};
use luisac_ast::diagnostic::{Code, Diagnostic, Diagnostics};
use luisac_runtime::RuntimeError;
use luisac_targets::Artifact;
use luisac_xir::{FunctionId, Module, TypeKind, TypeTable};
use std::path::Path;
use std::time::{Duration, Instant};

/// What a run gave beside its results.
#[derive(Default)]
pub(super) struct Ran {
    pub compile: Duration,
    /// One entry a run; the first includes what happens only once.
    pub runs: Vec<Duration>,
    /// What the first run printed.
    pub lines: Vec<String>,
}

/// An argument to write back, what of its slots if it is a bindless array, and the file.
type Out = (usize, Option<Place>, String);

/// Runs of a kernel under `--time`.
const TIMED_RUNS: usize = 9;

/// Everything a device needs.
pub(super) struct Launch<'a> {
    pub dispatch: [u32; 3],
    /// Lanes of a wave of the interpreter.
    pub wave: u32,
    /// How often it runs, at least once; results are those of the first.
    pub runs: usize,
    /// What the device is given, where it has a choice.
    pub target: Option<&'a str>,
    /// Whether what the kernel prints goes to standard output.
    pub echo: bool,
    pub code: &'a options::CodeOptions,
    pub options: &'a CodeOptions,
    pub messages: &'a Messages,
    pub input: &'a Input,
    /// Position of the kernel among those of the module; see `choose`.
    pub kernel: usize,
    pub formals: &'a [Formal],
}

/// Compiles and runs a kernel, and writes arguments back.
pub fn run(command: &RunCommand, messages: &Messages) -> Result<(), Failure> {
    let options = code_options(&command.code).map_err(|d| messages.fail(d, None))?;
    check_device(command).map_err(|(diagnostic, failure)| {
        messages.show(&diagnostic, None);
        failure
    })?;
    let read = read_options(&command.read, &[], messages)?;
    let input = Input::read(&command.input).map_err(|d| messages.fail(d, None))?;
    let outcome = run_input(command, &options, messages, &input, &read);
    outcome.map_err(|diagnostics| messages.fail(diagnostics, Some(&input)))
}

/// Refuses devices that this build or machine does not have, and targets that a device does not take.
fn check_device(command: &RunCommand) -> Result<(), (Diagnostic, Failure)> {
    let targets: &[&str] = match command.device {
        DeviceOption::Cpu => &["cpu"],
        DeviceOption::Cuda => &["ptx"],
        DeviceOption::Vulkan => &["spirv", "wgsl"],
        DeviceOption::Wgpu => &["spirv"],
        DeviceOption::Dx12 => &["dxil"],
        DeviceOption::Metal => &["msl"],
        DeviceOption::Interp => &[],
    };
    if let Err(missing) = devices::find(command.device.name()) {
        let diagnostic = Diagnostic::error(codes::NO_DEVICE, missing.why).with_help(missing.help);
        return Err((diagnostic, Failure::Missing));
    }
    let Some(target) = &command.target else { return Ok(()) };
    if targets.iter().any(|t| target.split(':').next() == Some(t)) {
        return Ok(());
    }
    let message = format!("the device does not run `{target}`");
    let help = match targets {
        [] => "leave `--target` away: the interpreter runs XIR".to_owned(),
        _ => format!("it runs {}", targets.join(", ")),
    };
    Err((Diagnostic::error(codes::BAD_FLAG, message).with_help(help), Failure::Usage))
}

fn run_input(
    command: &RunCommand,
    options: &CodeOptions,
    messages: &Messages,
    input: &Input,
    read: &ReadOptions,
) -> Result<(), Diagnostics> {
    let (mut module, warnings) = program::module(input, read)?;
    messages.show_all(&warnings, Some(input));
    let entries: Vec<String> = command.entry.iter().cloned().collect();
    let kernels = compile::choose(&module, &entries)?;
    let &[position] = kernels.as_slice() else {
        return Err(Diagnostic::error(
            codes::MANY_KERNELS,
            format!("the input holds {} kernels", kernels.len()),
        )
        .with_help("choose one with `--entry NAME`")
        .into());
    };
    compile::specialise(&mut module, options, parse_define)?;
    let Some(kernel) = module.kernels().nth(position) else { return Ok(()) };
    let formals = formals(&module, kernel);
    let types = module.types.clone();
    let mut actuals = actuals(command, &module, kernel, &formals)?;
    let outs = outs(command, &module, kernel)?;
    let launch = Launch {
        dispatch: command.dispatch,
        wave: command.wave,
        runs: if command.time { TIMED_RUNS } else { 1 },
        target: command.target.as_deref(),
        echo: true,
        code: &command.code,
        options,
        messages,
        input,
        kernel: position,
        formals: &formals,
    };
    let ran = on_device(command.device, &launch, module, &mut actuals)?;
    for (index, place, path) in outs {
        write_out(command, &types, (&formals[index], &actuals[index]), (place, &path))?;
    }
    if command.time {
        messages.note(show_times(ran));
    }
    Ok(())
}

/// Runs the kernel on a device of this build; `actuals` become what the run leaves.
pub(super) fn on_device(
    device: DeviceOption,
    launch: &Launch,
    module: Module,
    actuals: &mut [Actual],
) -> Result<Ran, Diagnostics> {
    match device {
        DeviceOption::Interp => on_interp::run(launch, module, actuals),
        #[cfg(feature = "cuda")]
        DeviceOption::Cuda => on_lists::run("cuda", launch, module, actuals),
        #[cfg(feature = "wgpu")]
        DeviceOption::Wgpu | DeviceOption::Dx12 | DeviceOption::Metal => {
            on_lists::run(device.name(), launch, module, actuals)
        }
        #[cfg(feature = "vulkan")]
        DeviceOption::Vulkan => on_vulkan::run(launch, module, actuals),
        _ => on_cpu::run(launch, module, actuals),
    }
}

/// The kernel in the module as it is now.
fn kernel_of(launch: &Launch, module: &Module) -> Result<FunctionId, Diagnostic> {
    module
        .kernels()
        .nth(launch.kernel)
        .ok_or_else(|| Diagnostic::error(codes::NO_SUCH_ENTRY, "the passes removed the kernel"))
}

pub(super) fn formals(module: &Module, kernel: FunctionId) -> Vec<Formal> {
    let arguments = &module.functions[kernel].arguments;
    arguments
        .iter()
        .map(|a| Formal { name: a.name.as_deref().map(str::to_owned), ty: a.ty })
        .collect()
}

/// Converts the value of `--define` for the driver.
pub fn parse_define(
    module: &Module,
    kernel: FunctionId,
    index: usize,
    text: &str,
) -> Result<Vec<u8>, String> {
    let argument = &module.functions[kernel].arguments[index];
    let formal = Formal { name: None, ty: argument.ty };
    match argument::parse(&module.types, &formal, text)? {
        Actual::Value(bytes) => Ok(bytes),
        _ => Err("only uniform arguments can be made constant".into()),
    }
}

fn actuals(
    command: &RunCommand,
    module: &Module,
    kernel: FunctionId,
    formals: &[Formal],
) -> Result<Vec<Actual>, Diagnostics> {
    let mut found: Vec<Option<Actual>> = vec![None; formals.len()];
    let mut wrong = Diagnostics::new();
    for text in &command.arg {
        match one_actual(module, kernel, formals, text) {
            Ok((index, actual)) => found[index] = Some(actual),
            Err(diagnostic) => wrong.push(diagnostic),
        }
    }
    for (word, _) in &define_names(command) {
        // A constant argument needs no value: whatever it is given is not read.
        let index = compile::find_argument(module, kernel, word)?;
        found[index].get_or_insert_with(|| {
            Actual::Value(vec![0; module.types.size(formals[index].ty) as usize])
        });
    }
    for (index, (formal, actual)) in formals.iter().zip(&found).enumerate() {
        if actual.is_none() && wrong.is_empty() {
            let ty = module.types.description(formal.ty);
            wrong.push(
                Diagnostic::error(
                    codes::MISSING_ARGUMENT,
                    format!("argument {index} of type `{ty}` has no value"),
                )
                .with_help(format!("add `--arg {index}=…`")),
            );
        }
    }
    if wrong.is_empty() { Ok(found.into_iter().flatten().collect()) } else { Err(wrong) }
}

fn define_names(command: &RunCommand) -> Vec<(String, String)> {
    command.code.define.iter().filter_map(|d| split(d, "--define").ok()).collect()
}

pub(super) fn one_actual(
    module: &Module,
    kernel: FunctionId,
    formals: &[Formal],
    text: &str,
) -> Result<(usize, Actual), Diagnostic> {
    let bad = |message: String| Diagnostic::error(codes::BAD_ARGUMENT, message);
    let (word, value) = split(text, "--arg").map_err(bad)?;
    let index = compile::find_argument(module, kernel, &word)?;
    let actual = argument::parse(&module.types, &formals[index], &value);
    actual.map(|a| (index, a)).map_err(|message| bad(format!("argument {word}: {message}")))
}

fn outs(
    command: &RunCommand,
    module: &Module,
    kernel: FunctionId,
) -> Result<Vec<Out>, Diagnostics> {
    let mut outs = Vec::new();
    let bad = |message| Diagnostic::error(codes::BAD_ARGUMENT, message);
    for text in &command.out {
        let (word, path) = split(text, "--out").map_err(bad)?;
        let slot =
            word.split_once('.').filter(|_| compile::find_argument(module, kernel, &word).is_err());
        let Some((array, place)) = slot else {
            outs.push((compile::find_argument(module, kernel, &word)?, None, path));
            continue;
        };
        let index = compile::find_argument(module, kernel, array)?;
        let ty = module.functions[kernel].arguments[index].ty;
        if *module.types.kind(ty) != TypeKind::BindlessArray {
            return Err(
                bad(format!("argument {array} is no bindless array, and has no slots")).into()
            );
        }
        let place =
            bindless::parse_place(place).map_err(|e| bad(format!("`--out {text}`: {e}")))?;
        outs.push((index, Some(place), path));
    }
    Ok(outs)
}

fn write_out(
    command: &RunCommand,
    types: &TypeTable,
    (formal, actual): (&Formal, &Actual),
    (place, path): (Option<Place>, &str),
) -> Result<(), Diagnostics> {
    let array = match (place, actual) {
        (Some(place), Actual::Bindless(slots)) => {
            bindless::to_array(types, slots, place).map_err(|m| {
                Diagnostic::error(codes::BAD_ARGUMENT, format!("`--out …={path}`: {m}"))
            })?
        }
        _ => argument::to_array(types, formal, actual),
    };
    let bytes = argument::encode(array, path, command.dispatch)
        .map_err(|m| Diagnostic::error(codes::CANNOT_WRITE, format!("`--out …={path}`: {m}")))?;
    output::write(Path::new(path), &bytes)?;
    Ok(())
}

fn show_times(mut times: Ran) -> String {
    let ms = |d: Duration| d.as_secs_f64() * 1e3;
    let first = times.runs.first().copied().unwrap_or_default();
    times.runs.sort();
    let median = times.runs.get(times.runs.len() / 2).copied().unwrap_or_default();
    format!(
        "compile {:.3} ms, first run {:.3} ms, median of {} runs {:.3} ms",
        ms(times.compile),
        ms(first),
        times.runs.len(),
        ms(median)
    )
}

/// Optimises and emits the kernel for a device's target.
fn artifact(
    launch: &Launch,
    mut module: Module,
    choice: &TargetChoice,
) -> Result<Artifact, Diagnostics> {
    let code = launch.code;
    let pipeline = compile::pipeline_for(launch.options, choice)?;
    if let Some(path) = &code.repro {
        super::repro::write(path, &module, &pipeline, code.fuel)?;
    }
    let mut watcher = super::watch::Watcher::new(code.watch(), &module)?;
    let mut see = |run: &luisac_passes::Run, module: &Module| watcher.see(run, module);
    let mut watch = Watch { verify_each: code.verify_each, after: Some(&mut see) };
    let report = compile::optimise(&mut module, &pipeline, launch.options, &mut watch)?;
    watcher.finish(launch.messages, &launch.input.stem, report, (None, Vec::new()))?;
    let emit = compile::emit_options(launch.input, launch.options, choice);
    compile::emit(&module, kernel_of(launch, &module)?, choice, &emit)
}

/// Runs a bound kernel once, or as often as `--time` needs, and shows what the first run printed. What that run left is taken back:
/// further runs start from other contents.
fn repeat(
    launch: &Launch,
    ran: &mut Ran,
    mut once: impl FnMut(&mut dyn FnMut(&str)) -> Result<u64, RuntimeError>,
    take_back: impl FnOnce() -> Result<(), RuntimeError>,
) -> Result<(), Diagnostics> {
    let mut timed = |print: &mut dyn FnMut(&str)| {
        let start = Instant::now();
        let outcome = once(print);
        ran.runs.push(start.elapsed());
        outcome
    };
    let mut lines = Vec::new();
    let outcome = timed(&mut |line| lines.push(line.to_owned()));
    // Also what was printed before a fault.
    show_output(launch, &lines)?;
    let lost = outcome.map_err(failed)?;
    if lost > 0 {
        launch.messages.note(format!("warning: the log had no room for {lost} bytes of records"));
    }
    take_back().map_err(failed)?;
    (1..launch.runs).try_for_each(|_| timed(&mut |_| ()).map(drop)).map_err(failed)?;
    ran.lines = lines;
    Ok(())
}

/// What the runtime says.
fn failed(error: RuntimeError) -> Diagnostics {
    let code = Code::parse(error.code()).unwrap_or(codes::RUN_FAILED);
    Diagnostic::error(code, error.to_string()).with_help(error.help()).into()
}

/// What the kernel printed, on standard output.
fn show_output(launch: &Launch, lines: &[String]) -> Result<(), Diagnostic> {
    if !launch.echo || lines.is_empty() {
        return Ok(());
    }
    super::messages::print((lines.join("\n") + "\n").as_bytes()).map_err(|e| {
        Diagnostic::error(codes::CANNOT_WRITE, format!("cannot write to standard output: {e}"))
    })
}
