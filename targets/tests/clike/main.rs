//! HLSL and MSL as text: what kernels become, and that no input steers the text.

mod corpus;
mod flow;
mod memory;
mod names;

use luisac_artifact::metadata::MathMode;
use luisac_targets::{Artifact, EmitOptions, OptLevel, find_target, pipeline};
use luisac_xir::Module;

/// A kernel in XIR through the pipeline of a target, at a level.
fn compile(
    module: &Module,
    target: &str,
    level: OptLevel,
    math: MathMode,
) -> Result<Artifact, String> {
    let (target, detail) = find_target(target).expect("a target");
    let options = EmitOptions { opt_level: level, math, ..EmitOptions::new(detail) };
    let mut module = module.clone();
    let passes = pipeline(target, &options).expect("a pipeline");
    passes.run(&mut module, luisac_passes::RunOptions::default()).map_err(|e| format!("{e:?}"))?;
    let kernel = module.kernels().next().ok_or("no kernel")?;
    let artifact = target.emit(&module, kernel, &options).map_err(|e| format!("{e:?}"))?;
    artifact.metadata.check().map_err(|e| e.to_string())?;
    Ok(artifact)
}

#[track_caller]
fn parse(text: &str) -> Module {
    match luisac_xir::text::parse(text) {
        Ok(module) => module,
        Err(e) => panic!("{e:?}"),
    }
}

/// The text of a kernel at `-O0`.
#[track_caller]
fn text(source: &str, target: &str, math: MathMode) -> String {
    match compile(&parse(source), target, OptLevel::O0, math) {
        Ok(artifact) => String::from_utf8(artifact.code).expect("text"),
        Err(e) => panic!("{e}"),
    }
}

/// Why a kernel is refused.
#[track_caller]
fn refusal(source: &str, target: &str) -> String {
    match compile(&parse(source), target, OptLevel::O0, MathMode::Fast) {
        Ok(artifact) => panic!("{}", String::from_utf8_lossy(&artifact.code)),
        Err(e) => e,
    }
}

/// The text behind the head of the kernel.
fn body(text: &str) -> &str {
    let start = text.find("return;\n    }\n").map_or(0, |at| at + "return;\n    }\n".len());
    text[start..].trim_end()
}

/// A kernel with one buffer of `int`, `%0`, and the index of the thread, `%1`; `blocks` begin inside of b0.
fn with_buffer(blocks: &str) -> String {
    format!(
        "module;\nkernel @k block(32, 1, 1) (%0: resource buffer<i32> \"data\") {{\nb0:\n  %1: u32 = arithmetic extract dispatch_id, u32 0\n{blocks}\n}}\n"
    )
}
