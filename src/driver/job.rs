//! One input for one target: what is compiled, cached and stored as a whole.

use super::compile::{self, TargetChoice, Watch};
use super::input::Input;
use super::options::CodeOptions;
use super::value::parse_define;
use luisac_artifact::{ArchiveWriter, Metadata};
use luisac_ast::diagnostic::Diagnostics;
use luisac_xir::{FunctionId, Module};

/// The version that artifacts and archives state.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A hash of everything that the artifacts of a job depend on.
pub type Key = [u8; 32];

/// A compiled kernel.
pub struct Made {
    pub metadata: Metadata,
    pub code: Vec<u8>,
}

/// What a job is made from.
pub struct Sources<'a> {
    /// The name of kernels that have none.
    pub stem: &'a str,
    /// Of the input's bytes.
    pub input: blake3::Hash,
    /// Of the linked libraries, in order.
    pub libraries: &'a [blake3::Hash],
    /// The kernels that were asked for; none for all.
    pub entries: &'a [String],
}

/// The key of a job: of the sources, the options, the target with its tools, and the compiler itself.
pub fn key(sources: &Sources, options: &CodeOptions, choice: &TargetChoice) -> Key {
    let mut hasher = blake3::Hasher::new_derive_key("luisac job 1");
    let mut add = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
    };
    add(VERSION.as_bytes());
    add(env!("LUISAC_SOURCES").as_bytes());
    add(choice.target.tool_version(options.dxc.as_deref()).unwrap_or_default().as_bytes());
    add(options.hash(&choice.label()).as_bytes());
    add(sources.stem.as_bytes());
    add(sources.input.as_bytes());
    for library in sources.libraries {
        add(library.as_bytes());
    }
    // Told apart from hashes of libraries by their number.
    add(&(sources.libraries.len() as u64).to_le_bytes());
    for entry in sources.entries {
        add(entry.as_bytes());
    }
    *hasher.finalize().as_bytes()
}

/// Compiles the chosen kernels of a lowered module.
///
/// # Errors
/// What the passes or the target refuse.
pub fn compile(
    input: &Input,
    mut module: Module,
    kernels: &[usize],
    options: &CodeOptions,
    choice: &TargetChoice,
) -> Result<Vec<Made>, Diagnostics> {
    compile::specialise(&mut module, options, parse_define)?;
    let pipeline = compile::pipeline_for(options, choice)?;
    compile::optimise(&mut module, &pipeline, options, &mut Watch::default())?;
    let emit = compile::emit_options(input, options, choice);
    let present: Vec<FunctionId> = module.kernels().collect();
    let chosen = kernels.iter().filter_map(|&i| present.get(i).copied());
    let made = chosen.map(|kernel| {
        let artifact = compile::emit(&module, kernel, choice, &emit)?;
        Ok(Made { metadata: artifact.metadata, code: artifact.code })
    });
    made.collect()
}

/// Puts the kernels of a job into an archive.
pub fn store(writer: &mut ArchiveWriter, made: Vec<Made>, options: &CodeOptions, key: Key) {
    for Made { metadata, code } in made {
        writer.add_made_from(&metadata, options.defines.clone(), key, code);
    }
}
