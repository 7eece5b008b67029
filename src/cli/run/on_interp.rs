//! The device `interp`: the XIR interpreter, judge of all others.

use super::argument::{Actual, ImageData};
use super::{Launch, Ran};
use luisac::codes;
use luisac::driver::compile::{self, Watch};
use luisac_artifact::metadata::BoundsMode;
use luisac_ast::diagnostic::{Diagnostic, Diagnostics};
use luisac_xir::Module;
use luisac_xir::interp::{self, Arg};
use std::time::Instant;

pub fn run(
    launch: &Launch,
    mut module: Module,
    actuals: &mut [Actual],
) -> Result<Ran, Diagnostics> {
    let mut ran = Ran::default();
    let start = Instant::now();
    let code = launch.code;
    let pipeline = compile::pipeline_for_interpreter(launch.options)?;
    if let Some(path) = &code.repro {
        super::super::repro::write(path, &module, &pipeline, code.fuel)?;
    }
    let mut watcher = super::super::watch::Watcher::new(code.watch(), &module)?;
    let mut see = |run: &luisac_passes::Run, module: &Module| watcher.see(run, module);
    let mut watch = Watch { verify_each: code.verify_each, after: Some(&mut see) };
    let report = compile::optimise(&mut module, &pipeline, launch.options, &mut watch)?;
    watcher.finish(launch.messages, &launch.input.stem, report, (None, Vec::new()))?;
    ran.compile = start.elapsed();
    let kernel = super::kernel_of(launch, &module)?;
    let config = interp::Launch {
        wave_width: launch.wave,
        bounds: match launch.options.bounds {
            BoundsMode::Off => interp::Bounds::Off,
            BoundsMode::Clamp => interp::Bounds::Clamp,
            BoundsMode::Trap => interp::Bounds::Trap,
        },
        ..interp::Launch::new(launch.dispatch)
    };
    for i in 0..launch.runs {
        let mut args = actuals.iter().map(to_arg).collect::<Result<Vec<_>, _>>()?;
        let start = Instant::now();
        let outcome = interp::run(&module, kernel, &mut args, &config).map_err(|fault| {
            // Also what was printed before the fault.
            let shown = super::show_output(launch, &fault.outcome.lines);
            shown.map_or_else(Diagnostics::from, |()| failed(launch, &fault))
        })?;
        ran.runs.push(start.elapsed());
        if i == 0 {
            super::show_output(launch, &outcome.lines)?;
            for warning in &outcome.warnings {
                launch.messages.note(format!("warning: {warning}"));
            }
            ran.lines = outcome.lines;
        }
        if i + 1 == launch.runs {
            args.into_iter()
                .zip(actuals.iter_mut())
                .for_each(|(arg, actual)| take_back(arg, actual));
        }
    }
    Ok(ran)
}

fn to_arg(actual: &Actual) -> Result<Arg, Diagnostic> {
    Ok(match actual {
        Actual::Value(bytes) => Arg::Value(bytes.clone()),
        Actual::Buffer { bytes, .. } => Arg::Buffer(bytes.clone()),
        Actual::Image(ImageData { storage, size, bytes }) => Arg::Image {
            storage: interp::PixelStorage::from_number(storage.number().into()).ok_or_else(
                || {
                    let message =
                        format!("the interpreter does not hold the storage `{}`", storage.name());
                    Diagnostic::error(codes::BAD_ARGUMENT, message)
                },
            )?,
            width: size[0],
            height: size[1],
            depth: size[2],
            levels: 1,
            data: bytes.clone(),
        },
    })
}

fn take_back(arg: Arg, actual: &mut Actual) {
    match (arg, actual) {
        (Arg::Buffer(new), Actual::Buffer { bytes, .. }) => *bytes = new,
        (Arg::Image { data: new, .. }, Actual::Image(data)) => data.bytes = new,
        _ => {}
    }
}

fn failed(launch: &Launch, fault: &interp::Fault) -> Diagnostics {
    let mut diagnostic =
        Diagnostic::error(fault.code(), fault.to_string()).with_help(fault.kind.help());
    if !fault.function.is_empty() {
        diagnostic = diagnostic.in_function(format!("`{}`", fault.function));
    }
    if let Some(thread) = fault.thread {
        let [x, y, z] = thread.dispatch_id;
        diagnostic =
            diagnostic.with_note(format!("in the thread with dispatch id ({x}, {y}, {z})"));
    }
    if let Some(pointer) = launch.input.pointer_of(fault.loc) {
        diagnostic = diagnostic.at_pointer(pointer);
    }
    diagnostic.into()
}
