//! From inputs to a checked program: warnings by their levels, libraries linked, kernels or callables chosen.

use super::compile::unnamed_callable;
use super::input::{Input, verified};
use crate::codes;
use luisac_ast::diagnostic::{Diagnostic, Diagnostics};
use luisac_ast::json::InputKind;
use luisac_ast::link::{self, Part};
use luisac_ast::lint::{self, Levels};
use luisac_ast::model::{FunctionId, FunctionTag};
use luisac_ast::{Library, binary, check, pretty};
use luisac_xir::{Module, SourceLoc, from_ast, text};

/// How an input is read, beyond its own content.
#[derive(Default)]
pub struct ReadOptions {
    /// What becomes of warnings.
    pub levels: Levels,
    /// Further inputs whose callables the program may call.
    pub libraries: Vec<Input>,
    /// Names of callables to take instead of the kernels.
    pub callables: Vec<String>,
}

/// A program as AST.
pub struct Program {
    /// All functions.
    pub library: Library,
    /// Input, 0 for the program's own, and number there of each function; empty where nothing was linked.
    origins: Vec<(usize, FunctionId)>,
    /// What is told beside; no errors.
    pub warnings: Diagnostics,
}

impl Program {
    /// Pseudo-code of the functions of these names and of what they call; of all functions without names.
    ///
    /// # Errors
    /// `L1203` for a name that no function has.
    pub fn pseudo_code(&self, names: &[String]) -> Result<String, Diagnostic> {
        Ok(self.pseudo_code_with_lines(names)?.0)
    }

    /// As [`Program::pseudo_code`], with the lines on which statements start.
    ///
    /// # Errors
    /// As there.
    pub fn pseudo_code_with_lines(
        &self,
        names: &[String],
    ) -> Result<(String, pretty::Lines), Diagnostic> {
        let library = &self.library;
        if names.is_empty() {
            let all: Vec<FunctionId> = library.functions.keys().collect();
            return Ok(pretty::print_with_lines(library, &all));
        }
        let mut wanted = Vec::new();
        for name in names {
            let named = |f: &FunctionId| is_called(library, *f, name);
            wanted.push(library.functions.keys().find(named).ok_or_else(|| {
                let all: Vec<&str> =
                    library.functions.values().filter_map(|f| f.name.as_deref()).collect();
                Diagnostic::error(codes::NO_SUCH_ENTRY, format!("there is no function `{name}`"))
                    .with_help(format!("the functions are {}", all.join(", ")))
            })?);
        }
        Ok(pretty::print_with_lines(library, &wanted))
    }

    /// Puts a diagnostic about the linked program at its place in the program's own input, or names the library.
    fn relocate(&self, mut diagnostic: Diagnostic, options: &ReadOptions) -> Diagnostic {
        let Some(pointer) = diagnostic.pointer.as_deref().filter(|_| !self.origins.is_empty())
        else {
            return diagnostic;
        };
        let rest = pointer.strip_prefix("/functions/").unwrap_or_default();
        let digits = rest.find('/').unwrap_or(rest.len());
        let origin = rest[..digits].parse().ok().and_then(|i: usize| self.origins.get(i));
        let Some(&(input, function)) = origin else { return diagnostic };
        let pointer = format!("/functions/{}{}", function.as_u32(), &rest[digits..]);
        if input == 0 {
            diagnostic.pointer = Some(pointer);
        } else {
            let name = options.libraries.get(input - 1).map_or("a library", |lib| &lib.name);
            diagnostic.notes.push(format!("in `{name}` at {pointer}"));
            diagnostic.pointer = None;
        }
        diagnostic
    }

    fn relocate_all(&self, diagnostics: Diagnostics, options: &ReadOptions) -> Diagnostics {
        Diagnostics(diagnostics.0.into_iter().map(|d| self.relocate(d, options)).collect())
    }
}

/// Reads, checks and links the AST of an input.
///
/// # Errors
/// All that is wrong with the input, warnings that are denied included.
pub fn program(input: &Input, options: &ReadOptions) -> Result<Program, Diagnostics> {
    let mut program = if options.libraries.is_empty() {
        let (library, warnings) = checked(input.syntax_tree()?)?;
        Program { library, origins: Vec::new(), warnings }
    } else {
        linked(input, options)?
    };
    name_callables(&mut program.library, &options.callables);
    let judged = options.levels.apply(std::mem::take(&mut program.warnings));
    if judged.has_errors() {
        return Err(judged);
    }
    program.warnings = judged;
    Ok(program)
}

/// Gives names to callables without one that are asked for by their number, unless a callable has that number as its name.
fn name_callables(library: &mut Library, words: &[String]) {
    for word in words {
        let taken = library.functions.values().any(|f| f.name.as_deref() == Some(word));
        let wanted = word.parse().ok().filter(|_| !taken).map(FunctionId::from_u32);
        if let Some(function) = wanted.and_then(|id| library.functions.get_mut(id))
            && function.tag == FunctionTag::Callable
            && function.name.is_none()
        {
            function.name = Some(unnamed_callable(word));
        }
    }
}

fn checked(library: Library) -> Result<(Library, Diagnostics), Diagnostics> {
    let mut found = check::check(&library);
    if found.has_errors() {
        return Err(found);
    }
    found.0.append(&mut lint::run(&library).0);
    Ok((library, found))
}

/// Errors of another input than the program's own say which one.
fn of_input(diagnostics: Diagnostics, input: &Input) -> Diagnostics {
    let name = |mut diagnostic: Diagnostic| {
        let place = match (&diagnostic.pointer, diagnostic.offset) {
            (Some(pointer), _) => format!(" at {pointer}"),
            (None, Some(offset)) => format!(" at byte {offset}"),
            (None, None) => String::new(),
        };
        diagnostic.notes.push(format!("in `{}`{place}", input.name));
        Diagnostic { pointer: None, offset: None, ..diagnostic }
    };
    Diagnostics(diagnostics.0.into_iter().map(name).collect())
}

/// Where the functions of a part of a link come from.
enum Source {
    /// One input.
    Input(usize),
    /// Several libraries that were read together: their inputs, and which of them each function is in.
    Libraries(Vec<usize>, Vec<usize>),
}

impl Source {
    fn input_of(&self, function: FunctionId) -> usize {
        match self {
            Source::Input(input) => *input,
            Source::Libraries(inputs, origins) => {
                let file = origins.get(function.as_u32() as usize);
                file.and_then(|file| inputs.get(*file)).copied().unwrap_or(0)
            }
        }
    }
}

/// Binary libraries complete each other by hash, everything else by name.
fn linked(input: &Input, options: &ReadOptions) -> Result<Program, Diagnostics> {
    let inputs: Vec<&Input> = std::iter::once(input).chain(&options.libraries).collect();
    let binaries: Vec<usize> =
        (0..inputs.len()).filter(|&i| inputs[i].kind() == InputKind::BinaryLibrary).collect();
    let (mut parts, mut sources) = (Vec::new(), Vec::new());
    let mut warnings = Diagnostics::new();
    for (i, part) in inputs.iter().enumerate() {
        if binaries.first() == Some(&i) {
            let (part, source) = read_together(&inputs, &binaries)?;
            parts.push(part);
            sources.push(source);
        } else if !binaries.contains(&i) {
            let tree = part.syntax_tree().and_then(checked);
            let (library, found) = tree.map_err(|e| if i == 0 { e } else { of_input(e, part) })?;
            // Warnings of a library are its own business.
            if i == 0 {
                warnings = found;
            }
            parts.push(Part { name: part.name.clone(), library });
            sources.push(Source::Input(i));
        }
    }
    let (linked, mut found) = link::link(parts)?;
    warnings.0.append(&mut found.0);
    let origin = |&(part, id): &(usize, FunctionId)| (sources[part].input_of(id), id);
    let origins = linked.origins.values().map(origin).collect();
    let program = Program { library: linked.library, origins, warnings };
    let found = check::check(&program.library);
    if found.has_errors() {
        return Err(program.relocate_all(found, options));
    }
    Ok(program)
}

/// All libraries among the inputs as one part.
fn read_together(inputs: &[&Input], libraries: &[usize]) -> Result<(Part, Source), Diagnostics> {
    let bytes: Vec<&[u8]> = libraries.iter().map(|&i| inputs[i].bytes()).collect();
    let together = binary::read_together(&bytes).map_err(|(file, errors)| {
        match libraries.get(file).filter(|i| **i > 0) {
            Some(&i) => of_input(errors, inputs[i]),
            None => errors,
        }
    })?;
    let (library, _) = checked(together.library)?;
    let names: Vec<&str> = libraries.iter().map(|&i| inputs[i].name.as_str()).collect();
    let part = Part { name: names.join(", "), library };
    let origins = together.origins.values().copied().collect();
    Ok((part, Source::Libraries(libraries.to_vec(), origins)))
}

/// Whether a word of the command line means this function: by its name, or by its number if it has none.
fn is_called(library: &Library, function: FunctionId, word: &str) -> bool {
    let name = library.functions[function].name.as_deref();
    name == Some(word) || name == Some(unnamed_callable(word).as_str())
}

/// What of a library is compiled.
enum Chosen {
    /// Every kernel.
    Kernels,
    /// These callables.
    Callables(Vec<FunctionId>),
}

fn choose(library: &Library, options: &ReadOptions) -> Result<Chosen, Diagnostic> {
    let is_callable = |f: FunctionId| library.functions[f].tag == FunctionTag::Callable;
    if options.callables.is_empty() {
        let has_kernel = library.kernels().next().is_some();
        let all = || library.functions.keys().filter(|f| is_callable(*f)).collect();
        return Ok(if has_kernel { Chosen::Kernels } else { Chosen::Callables(all()) });
    }
    let mut chosen = Vec::new();
    for name in &options.callables {
        let named = |f: &FunctionId| is_callable(*f) && is_called(library, *f, name);
        match library.functions.keys().find(named) {
            Some(id) => chosen.push(id),
            None => return Err(no_such_callable(library, name)),
        }
    }
    Ok(Chosen::Callables(chosen))
}

fn no_such_callable(library: &Library, name: &str) -> Diagnostic {
    let callables = library.functions.values().filter(|f| f.tag == FunctionTag::Callable);
    let names: Vec<&str> = callables.filter_map(|f| f.name.as_deref()).collect();
    let message = format!("there is no callable `{name}`");
    let error = Diagnostic::error(codes::NO_SUCH_CALLABLE, message);
    if names.is_empty() {
        error.with_help(
            "no callable of the input has a name: give its number, which `luisac inspect` shows",
        )
    } else {
        error.with_help(format!("the callables are {}", names.join(", ")))
    }
}

/// Reads, checks and lowers an input to XIR that the verifier passed.
///
/// # Errors
/// All that is wrong with the input; the second part of the success are warnings.
pub fn module(input: &Input, options: &ReadOptions) -> Result<(Module, Diagnostics), Diagnostics> {
    let (mut module, warnings) = match input.kind() {
        InputKind::XirText => (parsed(input, options)?, Diagnostics::new()),
        InputKind::JsonD0 | InputKind::JsonV1 | InputKind::BinaryLibrary => {
            let program = program(input, options)?;
            (lower(&program, options)?, program.warnings)
        }
        InputKind::Unknown => return Err(input.unknown_content().into()),
    };
    let kernels: Vec<_> = module.kernels().collect();
    for kernel in kernels {
        if module.functions[kernel].name.is_empty() {
            module.functions[kernel].name = input.stem.clone();
        }
    }
    verified(&module)?;
    Ok((module, warnings))
}

/// XIR text, which is linked already and holds what it holds.
fn parsed(input: &Input, options: &ReadOptions) -> Result<Module, Diagnostics> {
    if !options.libraries.is_empty() {
        let message = "`--lib` links syntax trees, and the input is XIR text";
        return Err(Diagnostic::error(codes::BAD_FLAG, message)
            .with_help("link first: `luisac opt INPUT --lib FILE -o LINKED.xir`")
            .into());
    }
    let module = text::parse(&String::from_utf8_lossy(input.bytes()))?;
    for name in &options.callables {
        if module.functions.values().all(|f| f.is_kernel() || f.name != *name) {
            let message = format!("there is no callable `{name}`");
            return Err(Diagnostic::error(codes::NO_SUCH_CALLABLE, message).into());
        }
    }
    Ok(module)
}

fn lower(program: &Program, options: &ReadOptions) -> Result<Module, Diagnostics> {
    let how = from_ast::Options::default();
    let lowered = match choose(&program.library, options)? {
        Chosen::Kernels => from_ast::lower(&program.library, &how),
        Chosen::Callables(roots) => from_ast::lower_from(&program.library, &roots, &how),
    };
    let mut module = lowered.map_err(|e| program.relocate_all(e, options))?;
    if !program.origins.is_empty() {
        for function in module.functions.values_mut() {
            function.map_locs(|loc| match program.origins.get(loc.function as usize) {
                Some(&(0, id)) => SourceLoc { function: id.as_u32(), ..loc },
                _ => SourceLoc::NONE,
            });
        }
    }
    Ok(module)
}
