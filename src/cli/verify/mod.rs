//! `luisac verify`: one kernel with one set of arguments on every device here, compared with its recorded case or with the interpreter.

mod compare;
mod inputs;
mod recorded;
mod table;

use super::code_options::code_options;
use super::devices;
use super::messages::{Failure, Messages};
use super::options::{self, DeviceOption, VerifyCommand};
use super::read::read_options;
use super::run::argument::{Actual, Formal};
use super::run::{self, Launch, Ran};
use compare::{Difference, Rules};
use luisac::codes;
use luisac::driver::compile::{self, TargetChoice};
use luisac::driver::input::Input;
use luisac::driver::options::CodeOptions;
use luisac::driver::program;
use luisac_artifact::metadata::MathMode;
use luisac_ast::diagnostic::{Diagnostic, Diagnostics};
use luisac_xir::{FunctionId, FunctionKind, Module};
use recorded::{Case, Expected};

/// How a target did.
pub enum Verdict {
    /// As it should.
    Same,
    /// Other numbers, other lines, a stop, or no error where one is due.
    Differs(Difference),
    /// It was compiled or bound by nobody: the target or device does not hold the kernel, and says so.
    Refused(Diagnostic),
    /// Its device is not here.
    NotHere(String),
}

/// A line of the table.
pub struct Row {
    pub target: String,
    pub device: &'static str,
    pub verdict: Verdict,
    /// Of the run alone.
    pub milliseconds: Option<f64>,
}

/// What all targets are given, and what they shall leave.
struct Trial<'a> {
    command: &'a VerifyCommand,
    flags: options::CodeOptions,
    options: CodeOptions,
    messages: &'a Messages,
    input: &'a Input,
    module: Module,
    kernel: usize,
    formals: Vec<Formal>,
    dispatch: [u32; 3],
    actuals: Vec<Actual>,
}

/// Relative difference of floats under `--math fast`.
const FAST: f64 = 1e-3;

/// Runs the kernel everywhere, and shows a table.
pub fn run(command: &VerifyCommand, messages: &Messages) -> Result<(), Failure> {
    let read = read_options(&command.read, &[], messages)?;
    let input = Input::read(&command.input).map_err(|d| messages.fail(d, None))?;
    let fail = |d: Diagnostics| messages.fail(d, Some(&input));
    let case = if command.arg.is_empty() && command.dispatch.is_none() {
        recorded::beside(&command.input).map_err(|d| messages.fail(d, None))?
    } else {
        None
    };
    let mut flags = command.code.clone();
    if let Some(case) = &case {
        case.flags(&mut flags).map_err(|d| messages.fail(d, None))?;
    }
    let options = code_options(&flags).map_err(|d| messages.fail(d, None))?;
    let targets = targets(command).map_err(|d| messages.fail(d, None))?;
    let read = program::module(&input, &read);
    let trial = read.and_then(|(module, warnings)| {
        messages.show_all(&warnings, Some(&input));
        Trial::new(command, (flags, options), messages, &input, module)
    });
    let mut trial = match trial {
        // Refused by all, as it should be.
        Err(_) if case.as_ref().is_some_and(Case::expects_error) => {
            return table::show(command, messages, &input, true, &[]);
        }
        trial => trial.map_err(fail)?,
    };
    let expected = trial.expectation(case.as_ref()).map_err(fail)?;
    let mut rows = Vec::new();
    if case.is_some() {
        rows.push(trial.row("xir", "interp", DeviceOption::Interp, &expected));
    }
    for (target, name, device) in targets {
        rows.push(match devices::find(name) {
            Ok(_) => trial.row(&target, name, device, &expected),
            Err(missing) => {
                let verdict = Verdict::NotHere(missing.why);
                Row { target, device: name, verdict, milliseconds: None }
            }
        });
    }
    table::show(command, messages, &input, case.is_some(), &rows)
}

/// The targets with their devices: those asked for, or all.
fn targets(
    command: &VerifyCommand,
) -> Result<Vec<(String, &'static str, DeviceOption)>, Diagnostic> {
    let device = |target: &str| match target.split(':').next() {
        Some("cpu") => Some(("cpu", DeviceOption::Cpu)),
        Some("ptx") => Some(("cuda", DeviceOption::Cuda)),
        Some("spirv" | "wgsl") => Some(("vulkan", DeviceOption::Vulkan)),
        _ => None,
    };
    if command.targets.is_empty() {
        let all = luisac_targets::targets().iter().map(|t| t.name());
        return Ok(all
            .filter_map(|t| device(t).map(|(name, d)| (t.to_owned(), name, d)))
            .collect());
    }
    let mut found = Vec::new();
    for word in &command.targets {
        TargetChoice::parse(word)?;
        let Some((name, d)) = device(word) else {
            let message = format!("no device of luisac runs `{word}`");
            return Err(Diagnostic::error(codes::BAD_FLAG, message)
                .with_help("`luisac devices --json` lists what each device runs"));
        };
        if let Err(missing) = devices::find(name) {
            return Err(Diagnostic::error(codes::NO_DEVICE, missing.why).with_help(missing.help));
        }
        found.push((word.clone(), name, d));
    }
    Ok(found)
}

impl<'a> Trial<'a> {
    fn new(
        command: &'a VerifyCommand,
        (flags, options): (options::CodeOptions, CodeOptions),
        messages: &'a Messages,
        input: &'a Input,
        mut module: Module,
    ) -> Result<Self, Diagnostics> {
        let entries: Vec<String> = command.entry.iter().cloned().collect();
        let kernels = compile::choose(&module, &entries)?;
        let &[kernel] = kernels.as_slice() else {
            let message = format!("the input holds {} kernels", kernels.len());
            return Err(Diagnostic::error(codes::MANY_KERNELS, message)
                .with_help("choose one with `--entry NAME`")
                .into());
        };
        compile::specialise(&mut module, &options, run::parse_define)?;
        let formals = module.kernels().nth(kernel).map(|id| run::formals(&module, id));
        let formals = formals.unwrap_or_default();
        let (dispatch, actuals) = ([0; 3], Vec::new());
        Ok(Self {
            command,
            flags,
            options,
            messages,
            input,
            module,
            kernel,
            formals,
            dispatch,
            actuals,
        })
    }

    fn id(&self) -> Result<FunctionId, Diagnostic> {
        let none = || Diagnostic::error(codes::NO_SUCH_ENTRY, "there is no kernel");
        self.module.kernels().nth(self.kernel).ok_or_else(none)
    }

    /// Chooses arguments, and says what they shall become.
    fn expectation(&mut self, case: Option<&Case>) -> Result<Expected, Diagnostics> {
        if let Some(case) = case {
            self.dispatch = case.dispatch();
            let actuals = case.actuals(&self.module.types, &self.formals)?;
            let expected = case.expected(&self.module.types, &self.formals, &actuals)?;
            self.actuals = actuals;
            return Ok(expected);
        }
        let block = match self.module.functions[self.id()?].kind {
            FunctionKind::Kernel { block_size } => block_size,
            _ => [1; 3],
        };
        self.dispatch = self.command.dispatch.unwrap_or_else(|| inputs::dispatch(block));
        let mut given: Vec<Option<Actual>> = vec![None; self.formals.len()];
        for text in &self.command.arg {
            let (index, actual) = run::one_actual(&self.module, self.id()?, &self.formals, text)?;
            given[index] = Some(actual);
        }
        // What is generated may be too short for what the kernel makes of it: the interpreter says so, and longer ones are tried.
        let mut result = Err(Diagnostics::new());
        for attempt in 0..inputs::ATTEMPTS {
            let made = inputs::make(
                &self.module.types,
                &self.formals,
                &given,
                self.dispatch,
                (self.command.seed, attempt),
            )?;
            self.actuals = made.clone();
            let mut after = made;
            result = self.run(DeviceOption::Interp, None, &mut after).map(|ran| (after, ran));
            match &result {
                Err(d) if d.0.iter().any(|d| d.code == luisac_xir::interp::codes::OUT_OF_RANGE) => {
                }
                _ => break,
            }
        }
        let (after, ran) = result?;
        Ok(Expected::of_run(after, ran.lines))
    }

    fn run(
        &self,
        device: DeviceOption,
        target: Option<&str>,
        actuals: &mut [Actual],
    ) -> Result<Ran, Diagnostics> {
        let launch = Launch {
            dispatch: self.dispatch,
            wave: self.command.wave,
            runs: 1,
            target,
            echo: false,
            code: &self.flags,
            options: &self.options,
            messages: self.messages,
            input: self.input,
            kernel: self.kernel,
            formals: &self.formals,
        };
        run::on_device(device, &launch, self.module.clone(), actuals)
    }

    fn row(
        &self,
        target: &str,
        name: &'static str,
        device: DeviceOption,
        expected: &Expected,
    ) -> Row {
        let mut after = self.actuals.clone();
        let chosen = (device == DeviceOption::Vulkan).then_some(target);
        let outcome = self.run(device, chosen, &mut after);
        let milliseconds =
            outcome.as_ref().ok().and_then(|r| r.runs.first()).map(|d| d.as_secs_f64() * 1e3);
        let verdict = self.judge(outcome, &after, expected);
        Row { target: target.to_owned(), device: name, verdict, milliseconds }
    }

    fn judge(
        &self,
        outcome: Result<Ran, Diagnostics>,
        after: &[Actual],
        expected: &Expected,
    ) -> Verdict {
        let text = |d: &Diagnostics| d.errors().next().cloned();
        let ran = match outcome {
            Ok(ran) if expected.error => {
                let lines = ran.lines.len();
                return Verdict::Differs(Difference::Text(format!(
                    "it ran ({lines} lines printed), though an error is due"
                )));
            }
            Ok(ran) => ran,
            Err(_) if expected.error => return Verdict::Same,
            Err(d) => {
                let diagnostic =
                    text(&d).unwrap_or_else(|| Diagnostic::error(codes::RUN_FAILED, "it failed"));
                return match stopped(&diagnostic) && !expected.may_error {
                    true => Verdict::Differs(Difference::Text(format!(
                        "{}: {}",
                        diagnostic.code, diagnostic.message
                    ))),
                    false => Verdict::Refused(diagnostic),
                };
            }
        };
        let fast = if self.options.math == MathMode::Fast { FAST } else { 0.0 };
        let rules = Rules {
            types: &self.module.types,
            formals: &self.formals,
            tolerance: self.command.tolerance.unwrap_or(fast),
        };
        match compare::first_difference(&rules, expected, after, &ran.lines) {
            None => Verdict::Same,
            Some(difference) => Verdict::Differs(difference),
        }
    }
}

/// Whether an error came from a run that had started.
fn stopped(diagnostic: &Diagnostic) -> bool {
    let code = diagnostic.code.0;
    // Faults of the interpreter; asserts, traps and logs of the runtime; a device that was lost or failed.
    matches!(code, 701..=708 | 1140..=1144 | 1165 | 1166) || diagnostic.code == codes::RUN_FAILED
}
