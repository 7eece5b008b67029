//! The device `interp`: the XIR interpreter, judge of all others.

use super::argument::Actual;
use super::bindless::SlotData;
use super::image::ImageData;
use super::{Launch, Ran};
use luisac::codes;
use luisac::driver::compile::{self, Watch};
use luisac_artifact::metadata::BoundsMode;
use luisac_ast::diagnostic::{Diagnostic, Diagnostics};
use luisac_xir::Module;
use luisac_xir::interp::{self, Arg, Sampler, Slot};
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
        let mut args = to_args(actuals)?;
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
            take_all_back(args, actuals);
        }
    }
    Ok(ran)
}

/// The arguments of the kernel; behind them what the slots of bindless arrays hold.
fn to_args(actuals: &[Actual]) -> Result<Vec<Arg>, Diagnostic> {
    let mut held = Vec::new();
    let mut args = Vec::new();
    for actual in actuals {
        args.push(match actual {
            Actual::Value(bytes) => Arg::Value(bytes.clone()),
            Actual::Buffer { bytes, .. } => Arg::Buffer(bytes.clone()),
            Actual::Image(data) => image(data)?,
            Actual::Indirect(bytes) => Arg::IndirectDispatch(bytes.clone()),
            Actual::Bindless(slots) => {
                let mut hold = |arg| {
                    held.push(arg);
                    (actuals.len() + held.len() - 1) as u32
                };
                let slots = slots.iter().map(|data| slot(data, &mut hold));
                Arg::Bindless(slots.collect::<Result<_, _>>()?)
            }
        });
    }
    args.extend(held);
    Ok(args)
}

fn image(data: &ImageData) -> Result<Arg, Diagnostic> {
    let ImageData { storage, size, levels, bytes } = data;
    let held = interp::PixelStorage::from_number(storage.number().into());
    let storage = held.ok_or_else(|| {
        let message = format!("the interpreter does not hold the storage `{}`", storage.name());
        Diagnostic::error(codes::BAD_ARGUMENT, message)
    })?;
    let [width, height, depth] = *size;
    Ok(Arg::Image { storage, width, height, depth, levels: *levels, data: bytes.clone() })
}

/// A slot whose resources go where `hold` puts them.
fn slot(data: &SlotData, hold: &mut impl FnMut(Arg) -> u32) -> Result<Slot, Diagnostic> {
    let mut slot = Slot::default();
    if let Some(buffer) = &data.buffer {
        slot.buffer = Some(hold(Arg::Buffer(buffer.bytes.clone())));
    }
    for (place, given) in [(&mut slot.image2d, &data.image2d), (&mut slot.image3d, &data.image3d)] {
        let Some(given) = given else { continue };
        let [filter, address] = [given.sampler / 4, given.sampler % 4].map(u64::from);
        let Some(sampler) = Sampler::from_codes(filter, address) else { continue };
        *place = Some((hold(image(&given.image)?), sampler));
    }
    Ok(slot)
}

fn take_all_back(mut args: Vec<Arg>, actuals: &mut [Actual]) {
    let held = args.split_off(actuals.len());
    let mut held: Vec<Option<Arg>> = held.into_iter().map(Some).collect();
    let first = actuals.len();
    for (arg, actual) in args.into_iter().zip(actuals) {
        match (arg, actual) {
            (Arg::Buffer(new), Actual::Buffer { bytes, .. })
            | (Arg::IndirectDispatch(new), Actual::Indirect(bytes)) => *bytes = new,
            (Arg::Image { data: new, .. }, Actual::Image(data)) => data.bytes = new,
            (Arg::Bindless(slots), Actual::Bindless(data)) => {
                for (slot, data) in slots.iter().zip(data) {
                    let place = slot.buffer.map(|p| p as usize - first);
                    let back = place.and_then(|p| held.get_mut(p)?.take());
                    if let (Some(Arg::Buffer(new)), Some(data)) = (back, &mut data.buffer) {
                        data.bytes = new;
                    }
                }
            }
            _ => {}
        }
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
