//! The LLVM emitter, shared by `ptx` and `cpu`: XIR in flat form to LLVM IR to machine code.
//!
//! - [`ir`]: the builder. - [`types`], [`value`]: how types and values are held. - [`module`], [`function`]: the walk.
//! - `arithmetic`, `float`, `casts`, `composite`, `memory`, `bounds`, `resources`, `bindless`, `indirect`, `texel`, `atomics`, `control`, `log`: operations.
//! - `export`: callables that others call. - [`device`]: what the two targets do differently. - [`ptx`], [`cpu`]: the targets.
//!
//! No instruction is marked `nnan`, `ninf` or `reassoc`, no function `mustprogress` or `willreturn`, no pointer `noalias` unless
//! an option promises it: LLVM may assume only what `semantics.md` says.

mod arithmetic;
mod atomics;
mod bindless;
mod bounds;
mod casts;
mod composite;
mod control;
pub mod cpu;
pub mod device;
mod export;
mod float;
mod function;
mod image_function;
mod indirect;
pub mod ir;
mod ir_loops;
mod launch;
mod limits;
mod log;
mod memory;
mod module;
pub mod ptx;
mod resources;
mod texel;
pub mod types;
mod unroll;
pub mod value;

use std::ffi::{CStr, c_char};
use std::sync::Once;

use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{
    CodeModel, FileType, InitializationConfig, RelocMode, Target, TargetMachine, TargetTriple,
};
use luisac_artifact::Metadata;
use luisac_ast::diagnostic::Diagnostic;
use luisac_xir::{FunctionId, Module};

pub use types::Lanes;

use crate::{Artifact, DeviceFunction, EmitOptions, ExtraText, OptLevel, errors};
use device::Device;
use limits::Effort;
use module::{ModuleEmit, internal};

/// The result of emission: a value, or the diagnostic that ended it.
pub type Emit<T> = Result<T, Box<Diagnostic>>;

/// Which machine LLVM makes code for.
#[derive(Clone, Debug)]
pub struct MachineSpec {
    /// LLVM's triple.
    pub triple: String,
    /// LLVM's name of the processor.
    pub cpu: String,
    /// LLVM's feature string.
    pub features: String,
    /// How addresses are formed.
    pub reloc: RelocMode,
    /// How far they may be.
    pub code_model: CodeModel,
    /// Assembly or an object.
    pub file: FileType,
    /// Extension of the artifact.
    pub extension: &'static str,
}

/// Compiles a kernel; `finish` completes the metadata.
pub(crate) fn compile(
    target: &str,
    module: &Module,
    kernel: FunctionId,
    options: &EmitOptions,
    device: &dyn Device,
    spec: &MachineSpec,
    finish: impl FnOnce(&ModuleEmit<'_, '_>, &mut Metadata) -> Emit<()> + Send,
) -> Emit<Artifact> {
    let describe = |cx: &mut ModuleEmit<'_, '_>| {
        let formats = std::mem::take(&mut cx.formats);
        let mut metadata =
            crate::metadata::describe(module, kernel, &cx.layout, formats, target, options, None);
        metadata.shared_bytes = cx.shared_bytes;
        finish(cx, &mut metadata)?;
        Ok(metadata)
    };
    let (made, metadata) = build(module, kernel, options, device, spec, describe)?;
    Ok(Artifact { code: made.code, extension: spec.extension, metadata, texts: made.texts })
}

/// Compiles a callable as a function that others call; `finish` looks at what was made of it.
pub(crate) fn compile_function(
    module: &Module,
    root: FunctionId,
    options: &EmitOptions,
    device: &dyn Device,
    spec: &MachineSpec,
    finish: impl FnOnce(&ModuleEmit<'_, '_>) -> Emit<()> + Send,
) -> Emit<DeviceFunction> {
    let (mut made, ()) = build(module, root, options, device, spec, |cx| finish(cx))?;
    let header = export::header(&module.types, &module.functions[root], device.calls());
    made.texts.insert(0, header);
    Ok(DeviceFunction {
        symbol: crate::metadata::entry_symbol(&module.functions[root]),
        code: made.code,
        extension: spec.extension,
        texts: made.texts,
    })
}

/// Machine code, and what was asked for on the way.
struct Made {
    code: Vec<u8>,
    texts: Vec<ExtraText>,
}

/// Makes code of a kernel or callable; `describe` sees the module before it is optimised.
fn build<T: Send>(
    module: &Module,
    root: FunctionId,
    options: &EmitOptions,
    device: &dyn Device,
    spec: &MachineSpec,
    describe: impl FnOnce(&mut ModuleEmit<'_, '_>) -> Emit<T> + Send,
) -> Emit<(Made, T)> {
    if options.lanes != 1 {
        return Err(Diagnostic::error(
            errors::LANES,
            format!("{} lanes: only one is possible yet", options.lanes),
        )
        .with_help("leave the number of lanes at 1")
        .into());
    }
    // LLVM's passes recurse on the depth of what they are given; memory that is not touched costs nothing.
    const STACK: usize = 1 << 30;
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .name("llvm".to_string())
            .stack_size(STACK)
            .spawn_scoped(scope, || build_here(module, root, options, device, spec, describe))
            .map_err(|e| limits::no_thread(&e))?
            .join()
            .unwrap_or_else(|_| Err(internal("the emitter panicked")))
    })
}

fn build_here<T>(
    module: &Module,
    root: FunctionId,
    options: &EmitOptions,
    device: &dyn Device,
    spec: &MachineSpec,
    describe: impl FnOnce(&mut ModuleEmit<'_, '_>) -> Emit<T>,
) -> Emit<(Made, T)> {
    initialise(&spec.triple);
    let loop_depth = limits::loop_depth(module, root)?;
    let context = Context::create();
    let mut cx = ModuleEmit::new(&context, module, root, options, device)?;
    let machine = machine_for(spec, options.opt_level)?;
    cx.ir.module.set_triple(&machine.get_triple());
    cx.ir.module.set_data_layout(&machine.get_target_data().get_data_layout());
    if let Some(source) = &options.source {
        let optimised = options.opt_level > OptLevel::O0;
        cx.ir.start_lines(&source.file, device.lines(), optimised);
    }
    cx.run()?;
    cx.ir.finish_lines();
    let described = describe(&mut cx)?;
    if let Some(name) = cx.ir.unknown_intrinsic() {
        return Err(internal(&format!("LLVM has no intrinsic `{name}`")));
    }
    if let Err(e) = cx.ir.module.verify() {
        return Err(internal(&format!("LLVM refuses the module: {e}")));
    }
    let effort = Effort::of(&cx, loop_depth, options.opt_level);
    optimise(&cx, &machine, effort)?;
    let mut texts = Vec::new();
    if options.llvm_ir {
        let text = cx.ir.module.print_to_string().to_string();
        texts.push(ExtraText { kind: "llvm-ir", extension: "ll", text });
    }
    let generation = match effort {
        Effort::Full(level) if cx.ir.longest_block() <= device.longest_block() => level,
        _ => OptLevel::O0,
    };
    if generation == OptLevel::O0 {
        cx.ir.cut_blocks(limits::CUT);
    }
    let machine =
        if generation == options.opt_level { machine } else { machine_for(spec, generation)? };
    if options.asm {
        // Code generation changes the module, so the assembly is made from a copy.
        let text = write(&machine, &cx.ir.module.clone(), FileType::Assembly)?;
        let text = String::from_utf8_lossy(&text).into_owned();
        texts.push(ExtraText { kind: "asm", extension: "s", text });
    }
    let code = device.after_code(write(&machine, &cx.ir.module, spec.file)?);
    Ok((Made { code, texts }, described))
}

fn write(
    machine: &TargetMachine,
    module: &inkwell::module::Module<'_>,
    file: FileType,
) -> Emit<Vec<u8>> {
    let buffer = machine
        .write_to_memory_buffer(module, file)
        .map_err(|e| internal(&format!("LLVM cannot make code: {e}")))?;
    let bytes = buffer.as_slice();
    Ok(if file == FileType::Assembly { text_of(bytes) } else { bytes }.to_vec())
}

/// A text without the zero byte that LLVM's buffers may end in.
fn text_of(bytes: &[u8]) -> &[u8] {
    bytes.strip_suffix(b"\0").unwrap_or(bytes)
}

fn machine_for(spec: &MachineSpec, level: OptLevel) -> Emit<TargetMachine> {
    let triple = TargetTriple::create(&spec.triple);
    let target = Target::from_triple(&triple)
        .map_err(|e| internal(&format!("LLVM has no target for `{}`: {e}", spec.triple)))?;
    let level = match level {
        OptLevel::O0 => OptimizationLevel::None,
        OptLevel::O1 => OptimizationLevel::Less,
        OptLevel::O2 => OptimizationLevel::Default,
        OptLevel::O3 => OptimizationLevel::Aggressive,
    };
    target
        .create_target_machine(
            &triple,
            &spec.cpu,
            &spec.features,
            level,
            spec.reloc,
            spec.code_model,
        )
        .ok_or_else(|| {
            internal(&format!("LLVM has no machine for `{}` `{}`", spec.triple, spec.cpu))
        })
}

fn optimise(cx: &ModuleEmit<'_, '_>, machine: &TargetMachine, effort: Effort) -> Emit<()> {
    let options = PassBuilderOptions::create();
    options.set_loop_slp_vectorization(cx.device.has_vectors());
    cx.ir
        .module
        .run_passes(effort.passes(), machine, options)
        .map_err(|e| internal(&format!("LLVM's passes failed: {e}")))
}

/// Prepares the code generator for a triple, once a process.
fn initialise(triple: &str) {
    static HANDLER: Once = Once::new();
    static NVPTX: Once = Once::new();
    static X86: Once = Once::new();
    static AARCH64: Once = Once::new();
    HANDLER.call_once(|| {
        unsafe {
            inkwell::llvm_sys::error_handling::LLVMInstallFatalErrorHandler(Some(fatal));
        }
        limits::tell_when_memory_ends();
    });
    let prepare = |once: &Once, target: fn(&InitializationConfig)| {
        let config = InitializationConfig {
            asm_parser: false,
            asm_printer: true,
            base: true,
            disassembler: false,
            info: true,
            machine_code: true,
        };
        once.call_once(|| target(&config));
    };
    if triple.starts_with("nvptx") {
        prepare(&NVPTX, Target::initialize_nvptx);
    } else if triple.starts_with("x86_64") {
        prepare(&X86, Target::initialize_x86);
    } else {
        prepare(&AARCH64, Target::initialize_aarch64);
    }
}

/// The last resort: LLVM gave up. It must not return, and LLVM's state cannot be trusted, so the process ends with a message.
extern "C" fn fatal(reason: *const c_char) {
    let reason = if reason.is_null() {
        "unknown".into()
    } else {
        unsafe { CStr::from_ptr(reason) }.to_string_lossy()
    };
    eprintln!(
        "error[{}]: LLVM cannot compile the kernel: {reason}\n  help: this is a mistake in the compiler: report it with the input and the options",
        errors::INTERNAL
    );
    std::process::exit(1);
}
