//! `luisac compile`.

use super::code_options::code_options;
use super::messages::{Failure, Messages};
use super::options::{CompileCommand, Emit};
use super::output::{self, Destination, archive_error, file_name, make_escape};
use super::read::read_options;
use super::repro;
use super::run::parse_define;
use super::watch::Watcher;
use luisac::codes;
use luisac::driver::ast;
use luisac::driver::cache::Cache;
use luisac::driver::compile::{self, TargetChoice, Watch};
use luisac::driver::input::{self, Input};
use luisac::driver::job::{self, Key};
use luisac::driver::names;
use luisac::driver::options::CodeOptions;
use luisac::driver::program::{self, ReadOptions};
use luisac_artifact::{ArchiveWriter, Metadata};
use luisac_ast::diagnostic::{Diagnostic, Diagnostics};
use luisac_ast::json::InputKind;
use luisac_ast::pretty::Lines;
use luisac_passes::{Emitted, Run, TraceSource};
use luisac_targets::{Artifact, DeviceFunction, Source};
use luisac_xir::{FunctionId, Module, text};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file that is to be written.
struct Output {
    name: String,
    kind: Kind,
    bytes: Vec<u8>,
}

/// What a file is.
enum Kind {
    /// A kernel's code, which alone may go to a file named by `-o`; what an archive says about it.
    Artifact(Box<Metadata>, Key),
    /// A callable's code, which may go to a file named by `-o` too.
    Function,
    /// The metadata beside a kernel's code, which an archive holds already.
    Metadata,
    /// Anything on the way.
    Extra,
}

impl Output {
    fn is_artifact(&self) -> bool {
        matches!(self.kind, Kind::Artifact(..) | Kind::Function)
    }
}

struct Job<'a> {
    command: &'a CompileCommand,
    /// Of artifacts; what is on the way to them is always made.
    cache: Cache,
    options: &'a CodeOptions,
    read: &'a ReadOptions,
    targets: &'a [TargetChoice],
    messages: &'a Messages,
}

/// Compiles all inputs for all targets; goes on after a failure.
pub fn run(command: &CompileCommand, messages: &Messages) -> Result<(), Failure> {
    let options = code_options(&command.code).map_err(|d| messages.fail(d, None))?;
    let targets: Result<Vec<_>, _> =
        command.target.iter().map(|w| TargetChoice::parse(w)).collect();
    let targets = targets.map_err(|d| messages.fail(d, None))?;
    for target in &targets {
        compile::pipeline_for(&options, target).map_err(|d| messages.fail(d, None))?;
    }
    check_emit(command).map_err(|d| messages.fail(d, None))?;
    let read = read_options(&command.input.read, &command.input.callable, messages)?;
    let files = input::expand(&command.input.inputs).map_err(|d| messages.fail(d, None))?;
    let to_file = command.code.report.as_deref().is_some_and(|path| path != Path::new("-"));
    if (command.code.repro.is_some() || to_file) && files.len() * targets.len() > 1 {
        let flag = if command.code.repro.is_some() { "--repro" } else { "--report" };
        let message = format!("`{flag}` writes one file, and there are several inputs or targets");
        let diagnostic =
            Diagnostic::error(codes::BAD_FLAG, message).with_help("give one input and one target");
        return Err(messages.fail(diagnostic, None));
    }
    let cache = Cache::parse(Some(&command.cache)).map_err(|d| messages.fail(d, None))?;
    let job = Job { command, cache, options: &options, read: &read, targets: &targets, messages };
    let results = job.all(&files);
    let mut outputs = Vec::new();
    let mut failed = false;
    for result in results {
        match result {
            Ok(mut of_input) => outputs.append(&mut of_input),
            Err(Failure::Input) => failed = true,
            Err(other) => return Err(other),
        }
    }
    job.write(&files, outputs)?;
    if failed { Err(Failure::Input) } else { Ok(()) }
}

/// What depends on a target needs one, and some flags are for kernels only.
fn check_emit(command: &CompileCommand) -> Result<(), Diagnostic> {
    let free = |kind: &Emit| matches!(kind, Emit::Ast | Emit::Xir);
    let by_target = command.emit.is_empty() || !command.emit.iter().all(free);
    if by_target && command.target.is_empty() {
        let message = "what is to be emitted depends on the target";
        return Err(Diagnostic::error(codes::NO_TARGET, message)
            .with_help("add `--target T`; `luisac targets` lists what there is"));
    }
    let is_flag = |given: bool, flag: &'static str| given.then_some(flag);
    let to_archive = command.output.as_deref().is_some_and(is_archive);
    let for_kernels = is_flag(command.code.block.is_some(), "--block")
        .or(is_flag(!command.code.define.is_empty(), "--define"))
        .or(is_flag(to_archive, "-o NAME.luisa"));
    if let Some(flag) = for_kernels.filter(|_| !command.input.callable.is_empty()) {
        let message =
            format!("`{flag}` is for kernels, and `--callable` takes a function that is none");
        return Err(Diagnostic::error(codes::KERNELS_ONLY, message).with_help(format!(
            "leave `{flag}` away, or compile a kernel that calls the callable"
        )));
    }
    Ok(())
}

impl Job<'_> {
    fn all(&self, files: &[PathBuf]) -> Vec<Result<Vec<Output>, Failure>> {
        if files.len() == 1 || self.command.jobs == 1 {
            return files.iter().map(|f| self.one(f)).collect();
        }
        let work = || files.par_iter().map(|f| self.one(f)).collect();
        match rayon::ThreadPoolBuilder::new().num_threads(self.command.jobs).build() {
            Ok(pool) => pool.install(work),
            Err(_) => files.iter().map(|f| self.one(f)).collect(),
        }
    }

    /// Compiles one input for all targets.
    fn one(&self, file: &Path) -> Result<Vec<Output>, Failure> {
        let input = Input::read(file).map_err(|d| self.messages.fail(d, None))?;
        self.outputs(&input).map_err(|d| self.messages.fail(d, Some(&input)))
    }

    fn outputs(&self, input: &Input) -> Result<Vec<Output>, Diagnostics> {
        let mut outputs = Vec::new();
        if let Some(known) = self.cached(input) {
            return Ok(known);
        }
        if self.command.emit.contains(&Emit::Ast) {
            outputs.push(self.pseudo_code(input)?.0);
            if self.command.emit.iter().all(|kind| *kind == Emit::Ast) {
                return Ok(outputs);
            }
        }
        let (mut module, warnings) = program::module(input, self.read)?;
        self.messages.show_all(&warnings, Some(input));
        let kernels = match self.read.callables.is_empty() {
            true => compile::choose(&module, &self.command.input.entry)?,
            false => Vec::new(),
        };
        compile::specialise(&mut module, self.options, parse_define)?;
        if self.command.emit.contains(&Emit::Xir) {
            outputs.push(Output {
                name: format!("{}.xir", file_name(&input.stem)),
                kind: Kind::Extra,
                bytes: text::print(&module).into_bytes(),
            });
        }
        let source = self.source(input, &mut outputs)?;
        for (i, choice) in self.targets.iter().enumerate() {
            let module = if i + 1 == self.targets.len() {
                std::mem::take(&mut module)
            } else {
                module.clone()
            };
            self.target(input, module, &kernels, (choice, source.clone()), &mut outputs)?;
        }
        Ok(outputs)
    }

    /// The input as pseudo-code, linked and reduced to what was asked for.
    fn pseudo_code(&self, input: &Input) -> Result<(Output, Lines), Diagnostics> {
        let program = program::program(input, self.read)?;
        // Whoever asks for more hears the warnings with that.
        if self.command.emit.iter().all(|kind| *kind == Emit::Ast) {
            self.messages.show_all(&program.warnings, Some(input));
        }
        let names = [&self.command.input.entry[..], &self.command.input.callable[..]].concat();
        let (text, lines) = program.pseudo_code_with_lines(&names)?;
        let name = names::pseudo_code(&input.stem);
        Ok((Output { name, kind: Kind::Extra, bytes: text.into_bytes() }, lines))
    }

    /// What line information refers to, where it is asked for and the input is no XIR; the text is an output too.
    fn source(
        &self,
        input: &Input,
        outputs: &mut Vec<Output>,
    ) -> Result<Option<Arc<Source>>, Diagnostics> {
        if !self.options.debug_info || input.kind() == InputKind::XirText {
            return Ok(None);
        }
        let (text, lines) = self.pseudo_code(input)?;
        let source = Source { file: text.name.clone(), lines };
        if !self.command.emit.contains(&Emit::Ast) {
            outputs.push(text);
        }
        Ok(Some(Arc::new(source)))
    }

    fn target(
        &self,
        input: &Input,
        mut module: Module,
        kernels: &[usize],
        (choice, source): (&TargetChoice, Option<Arc<Source>>),
        outputs: &mut Vec<Output>,
    ) -> Result<(), Diagnostics> {
        let code = &self.command.code;
        let pipeline = compile::pipeline_for(self.options, choice)?;
        if let Some(path) = &code.repro {
            repro::write(path, &module, &pipeline, code.fuel)?;
        }
        let mut watcher = Watcher::new(code.watch(), &module)?;
        let mut see = |run: &Run, module: &Module| watcher.see(run, module);
        let mut watch = Watch { verify_each: code.verify_each, after: Some(&mut see) };
        let report = compile::optimise(&mut module, &pipeline, self.options, &mut watch)?;
        let shown = match watcher.records() {
            true => self.shown(input, &module, kernels, choice),
            false => Default::default(),
        };
        let title = format!("{} for {}", input.stem, choice.label());
        watcher.finish(self.messages, &title, report, shown)?;
        let suffix = self.suffix(choice);
        if self.command.emit.contains(&Emit::XirOpt) {
            let name = format!("{}{suffix}.{}.xir", file_name(&input.stem), choice.target.name());
            outputs.push(Output {
                name,
                kind: Kind::Extra,
                bytes: text::print(&module).into_bytes(),
            });
        }
        let wants = |kind| self.command.emit.contains(&kind);
        if wants(Emit::AstOpt) {
            let name =
                format!("{}{suffix}.{}.ast.json", file_name(&input.stem), choice.target.name());
            let bytes = ast::json(module.clone())?;
            outputs.push(Output { name, kind: Kind::Extra, bytes });
        }
        if !self.command.emit.is_empty() && !self.command.emit.iter().any(|kind| kind.is_code()) {
            return Ok(());
        }
        let mut emit = compile::emit_options(input, self.options, choice);
        emit.llvm_ir = wants(Emit::LlvmIr);
        emit.asm = wants(Emit::Asm);
        emit.spirv_asm = wants(Emit::SpirvAsm);
        emit.hlsl = wants(Emit::Hlsl);
        emit.source = source;
        let key = self.key(input, choice);
        let present: Vec<FunctionId> = module.kernels().collect();
        let mut entry = ArchiveWriter::new(job::VERSION);
        for kernel in kernels.iter().filter_map(|&i| present.get(i).copied()) {
            let artifact = compile::emit(&module, kernel, choice, &emit)?;
            if self.is_cached(&key) {
                let defines = self.options.defines.clone();
                entry.add_made_from(&artifact.metadata, defines, key, artifact.code.clone());
            }
            let stem = format!("{}{suffix}", file_name(&module.functions[kernel].name));
            self.artifact(artifact, &stem, (choice, key), outputs);
        }
        for word in &self.read.callables {
            let callable = compile::callable(&module, word)?;
            let stem = format!("{}{suffix}", file_name(&module.functions[callable].name));
            let made = compile::emit_function(&module, callable, choice, &emit)?;
            self.function(made, &stem, choice, outputs);
        }
        if let Some(packed) = entry.finish().ok().filter(|_| self.is_cached(&key)) {
            self.cache.put(&key, &packed.to_bytes(), &|d| self.messages.show(&d, None));
        }
        Ok(())
    }

    /// Whether artifacts of this key come from the cache and go there: all are asked for by what the key says, and nobody looks at how they
    /// are made.
    fn is_cached(&self, key: &Key) -> bool {
        let (command, code) = (self.command, &self.command.code);
        let looks = code.verify_each
            || code.time_passes
            || code.print_after.is_some()
            || code.report.is_some()
            || code.repro.is_some();
        // The pseudo-code is a file too, and no entry holds it.
        *key != Key::default() && command.emit.is_empty() && !looks && !self.options.debug_info
    }

    /// The artifacts of an input, if the cache holds them for every target.
    fn cached(&self, input: &Input) -> Option<Vec<Output>> {
        let mut outputs = Vec::new();
        if self.targets.is_empty() || self.command.cache == "off" {
            return None;
        }
        for choice in self.targets {
            let key = self.key(input, choice);
            if !self.is_cached(&key) {
                return None;
            }
            let archive = self.cache.get(&key, &|d| self.messages.show(&d, None))?;
            for variant in archive.variants() {
                let metadata = variant.metadata().ok()?;
                let stem = format!("{}{}", file_name(&metadata.kernel), self.suffix(choice));
                let (extension, texts) = (choice.target.extension(), Vec::new());
                let artifact =
                    Artifact { code: variant.code().ok()?.to_vec(), extension, metadata, texts };
                self.artifact(artifact, &stem, (choice, key), &mut outputs);
            }
        }
        Some(outputs)
    }

    /// What tells the files of a target's details apart, where there are several.
    fn suffix(&self, choice: &TargetChoice) -> String {
        let same = |t: &&TargetChoice| t.target.name() == choice.target.name();
        match self.targets.iter().filter(same).count() {
            0 | 1 => String::new(),
            _ => format!(".{}", file_name(&choice.detail)),
        }
    }

    /// What the artifacts of an input for a target are made from; zeros where a file that no key knows has a part in it.
    fn key(&self, input: &Input, choice: &TargetChoice) -> Key {
        // Entries of the cache are archives, which hold kernels.
        if !self.read.callables.is_empty() {
            return Key::default();
        }
        if self.options.defines.iter().any(|(_, v)| v.ends_with(".npy")) {
            return Key::default();
        }
        let libraries: Vec<_> =
            self.read.libraries.iter().map(|library| blake3::hash(library.bytes())).collect();
        let sources = job::Sources {
            stem: &input.stem,
            input: blake3::hash(input.bytes()),
            libraries: &libraries,
            entries: &self.command.input.entry,
            levels: &self.read.levels,
        };
        job::key(&sources, &job::way(self.options, choice))
    }

    /// What a report shows beside the code: the kernel as pseudo-code, and what the target makes of it with line information. What cannot be shown is left
    /// out: the errors are told where the artifacts are made.
    fn shown(
        &self,
        input: &Input,
        module: &Module,
        kernels: &[usize],
        choice: &TargetChoice,
    ) -> (Option<TraceSource>, Vec<Emitted>) {
        let text = (input.kind() != InputKind::XirText).then(|| self.pseudo_code(input));
        let source = text.and_then(Result::ok).map(|(output, lines)| TraceSource {
            text: String::from_utf8_lossy(&output.bytes).into_owned(),
            lines,
        });
        let mut emit = compile::emit_options(input, self.options, choice);
        emit.asm = true;
        emit.source = source.as_ref().map(|s| {
            let file = format!("{}.ast", file_name(&input.stem));
            Arc::new(Source { file, lines: s.lines.clone() })
        });
        let present: Vec<FunctionId> = module.kernels().collect();
        let artifacts = kernels.iter().filter_map(|&i| present.get(i)).filter_map(|&kernel| {
            let artifact = compile::emit(module, kernel, choice, &emit).ok()?;
            luisac::report::emitted(&artifact)
        });
        let emitted = artifacts.collect();
        (source, emitted)
    }

    fn artifact(
        &self,
        artifact: Artifact,
        stem: &str,
        (choice, key): (&TargetChoice, Key),
        outputs: &mut Vec<Output>,
    ) {
        for extra in artifact.texts {
            let name = format!("{stem}.{}.{}", choice.target.name(), extra.extension);
            outputs.push(Output { name, kind: Kind::Extra, bytes: extra.text.into_bytes() });
        }
        if !self.command.emit.is_empty() && !self.command.emit.contains(&Emit::Artifact) {
            return;
        }
        let json = artifact.metadata.to_json().into_bytes();
        outputs.push(Output {
            name: format!("{stem}.{}", artifact.extension),
            kind: Kind::Artifact(Box::new(artifact.metadata), key),
            bytes: artifact.code,
        });
        outputs.push(Output {
            name: format!("{stem}.{}.json", choice.target.name()),
            kind: Kind::Metadata,
            bytes: json,
        });
    }

    /// A callable's code, its declaration for those that call it, and the texts on the way.
    fn function(
        &self,
        made: DeviceFunction,
        stem: &str,
        choice: &TargetChoice,
        outputs: &mut Vec<Output>,
    ) {
        let target = choice.target.name();
        for extra in made.texts {
            let name = format!("{stem}.{target}.{}", extra.extension);
            outputs.push(Output { name, kind: Kind::Extra, bytes: extra.text.into_bytes() });
        }
        if self.command.emit.is_empty() || self.command.emit.contains(&Emit::Artifact) {
            let name = format!("{stem}.{}", made.extension);
            outputs.push(Output { name, kind: Kind::Function, bytes: made.code });
        }
    }

    fn write(&self, files: &[PathBuf], outputs: Vec<Output>) -> Result<(), Failure> {
        if outputs.is_empty() {
            return Ok(());
        }
        if let Some(path) = self.command.output.as_deref().filter(|path| is_archive(path)) {
            return self.write_archive(path, files, outputs);
        }
        self.refuse_clashes(&outputs)?;
        let artifacts = outputs.iter().filter(|o| o.is_artifact()).count();
        let single = artifacts == 1 || (artifacts == 0 && outputs.len() == 1);
        let destination = Destination::new(self.command.output.as_deref(), single)
            .map_err(|d| self.messages.fail(d, None))?;
        let mut written = Vec::new();
        for output in &outputs {
            let path = if output.is_artifact() || outputs.len() == 1 {
                destination.file(&output.name)
            } else {
                let Some(path) = beside(&destination, &output.name, artifacts == 0) else {
                    continue;
                };
                path
            };
            output::write(&path, &output.bytes).map_err(|d| self.messages.fail(d, None))?;
            written.push(path);
        }
        self.write_dep_file(files, &written)
    }

    /// All kernels in one file; what else was asked for lies beside it.
    fn write_archive(
        &self,
        path: &Path,
        files: &[PathBuf],
        outputs: Vec<Output>,
    ) -> Result<(), Failure> {
        let fail = |d: Diagnostic| self.messages.fail(d, None);
        let mut writer = ArchiveWriter::new(job::VERSION);
        let mut written = vec![path.to_owned()];
        for output in outputs {
            match output.kind {
                Kind::Artifact(metadata, key) => {
                    let defines = self.options.defines.clone();
                    writer.add_made_from(&metadata, defines, key, output.bytes);
                }
                Kind::Metadata => {}
                Kind::Function | Kind::Extra => {
                    let beside = path.with_file_name(&output.name);
                    output::write(&beside, &output.bytes).map_err(fail)?;
                    written.push(beside);
                }
            }
        }
        if !writer.is_empty() {
            let packed = writer.finish().map_err(|e| fail(archive_error(&e)))?;
            output::write_archive(path, &packed).map_err(fail)?;
        }
        self.write_dep_file(files, &written)
    }

    fn refuse_clashes(&self, outputs: &[Output]) -> Result<(), Failure> {
        let mut names = BTreeSet::new();
        for output in outputs {
            if !names.insert(&output.name) {
                let message = format!("two outputs would be called `{}`", output.name);
                let diagnostic = Diagnostic::error(codes::OUTPUT_CLASH, message)
                    .with_help("compile them by separate calls into different folders");
                return Err(self.messages.fail(diagnostic, None));
            }
        }
        Ok(())
    }

    fn write_dep_file(&self, files: &[PathBuf], written: &[PathBuf]) -> Result<(), Failure> {
        let Some(path) = &self.command.dep_file else { return Ok(()) };
        let list =
            |paths: &[PathBuf]| paths.iter().map(|p| make_escape(p)).collect::<Vec<_>>().join(" ");
        let text = format!("{}: {}\n", list(written), list(files));
        output::write(path, text.as_bytes()).map_err(|d| self.messages.fail(d, None))
    }
}

/// Where a file that goes beside the artifact is written: nowhere if that goes to a stream.
fn beside(destination: &Destination, name: &str, stream_alone: bool) -> Option<PathBuf> {
    match destination {
        Destination::Stdout => stream_alone.then(|| PathBuf::from("-")),
        Destination::Folder(folder) => Some(folder.join(name)),
        Destination::File(path) if output::is_special(path) => None,
        // Line information knows it by this name.
        Destination::File(path) if name.ends_with(".ast") => Some(path.with_file_name(name)),
        Destination::File(path) => {
            // `KERNEL.ptx.json` beside `-o a.ptx` is `a.ptx.json`.
            let tail = name.split('.').rev().take(2).collect::<Vec<_>>();
            let tail = tail.into_iter().rev().collect::<Vec<_>>().join(".");
            Some(path.with_extension(tail))
        }
    }
}

/// Whether `-o` asks for an archive.
fn is_archive(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "luisa") && !path.is_dir()
}
