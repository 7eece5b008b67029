//! One input for one target: what is compiled, cached and stored as a whole.

use super::compile::{self, TargetChoice, Watch};
use super::input::Input;
use super::options::CodeOptions;
use super::value::parse_define;
use luisac_artifact::{ArchiveWriter, Metadata};
use luisac_ast::diagnostic::Diagnostics;
use luisac_ast::lint::Levels;
use luisac_targets::Source;
use luisac_xir::{FunctionId, Module};
use std::sync::Arc;

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
    /// What becomes of warnings.
    pub levels: &'a Levels,
}

/// Collects a key. Every part goes in with its length, so that no two lists of parts are alike.
struct Parts(blake3::Hasher);

impl Parts {
    fn new(context: &str) -> Parts {
        Parts(blake3::Hasher::new_derive_key(context))
    }

    fn add(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
    }

    fn key(&self) -> Key {
        *self.0.finalize().as_bytes()
    }
}

/// The part of a key that is the same for all inputs: of the options, the target with its tools, and the compiler itself.
pub fn way(options: &CodeOptions, choice: &TargetChoice) -> Key {
    let mut parts = Parts::new("luisac way 1");
    parts.add(VERSION.as_bytes());
    parts.add(env!("LUISAC_SOURCES").as_bytes());
    parts.add(choice.target.tool_version(options.dxc.as_deref()).unwrap_or_default().as_bytes());
    parts.add(options.hash(&choice.label()).as_bytes());
    parts.key()
}

/// The key of a job: of the sources, and of the way in which they are compiled.
pub fn key(sources: &Sources, way: &Key) -> Key {
    let mut parts = Parts::new("luisac job 2");
    let mut add = |bytes: &[u8]| parts.add(bytes);
    add(way);
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
    // What was compiled while a warning was let pass says nothing of whether there is one.
    for lint in sources.levels.denied() {
        add(format!("-D {lint}").as_bytes());
    }
    parts.key()
}

/// Compiles the chosen kernels of a lowered module; line information, where the options ask for it, refers to `source`.
///
/// # Errors
/// What the passes or the target refuse.
pub fn compile(
    input: &Input,
    mut module: Module,
    kernels: &[usize],
    options: &CodeOptions,
    choice: &TargetChoice,
    source: Option<Arc<Source>>,
) -> Result<Vec<Made>, Diagnostics> {
    compile::specialise(&mut module, options, parse_define)?;
    let pipeline = compile::pipeline_for(options, choice)?;
    let mut watch = Watch { verify_each: options.verify_each, ..Watch::default() };
    compile::optimise(&mut module, &pipeline, options, &mut watch)?;
    let mut emit = compile::emit_options(input, options, choice);
    emit.source = source.filter(|_| options.debug_info);
    let present: Vec<FunctionId> = module.kernels().collect();
    let chosen = kernels.iter().filter_map(|&i| present.get(i).copied());
    let made = chosen.map(|kernel| {
        let artifact = compile::emit(&module, kernel, choice, &emit)?;
        Ok(Made { metadata: artifact.metadata, code: artifact.code })
    });
    made.collect()
}

/// Puts the kernels of a job into an archive.
pub fn store(writer: &mut ArchiveWriter<'_>, made: Vec<Made>, options: &CodeOptions, key: Key) {
    for Made { metadata, code } in made {
        writer.add_made_from(&metadata, options.defines.clone(), key, code);
    }
}
