//! An input of a bake: read and lowered once, when the first of its jobs needs it, and let go after the last.

use super::super::compile;
use super::super::input::Input;
use super::super::program::{self, ReadOptions};
use crate::codes;
use luisac_ast::diagnostic::{Diagnostic, Diagnostics};
use luisac_xir::Module;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// One input.
pub struct Source {
    pub path: PathBuf,
    /// The path as messages show it.
    pub label: String,
    pub hash: blake3::Hash,
    pub bytes: usize,
    /// The name of its pseudo-code, if line information refers to that.
    pub text: Option<String>,
    state: Mutex<State>,
}

struct State {
    /// Jobs that may still ask.
    pending: usize,
    lowered: Option<Result<Arc<Lowered>, Arc<Refused>>>,
}

/// An input in the form that jobs start from.
pub struct Lowered {
    pub input: Input,
    pub module: Module,
    pub kernels: Vec<usize>,
    /// What is told once.
    pub warnings: Diagnostics,
    /// What line information refers to.
    pub lines: Option<Arc<luisac_targets::Source>>,
}

/// An input that cannot be compiled at all.
pub struct Refused {
    pub input: Option<Input>,
    pub diagnostics: Diagnostics,
}

/// What a job gets, and whether it is the first that did.
pub type Asked = (Result<Arc<Lowered>, Arc<Refused>>, bool);

impl Source {
    pub(super) fn new(path: PathBuf, label: String, hash: blake3::Hash, bytes: usize) -> Self {
        let state = Mutex::new(State { pending: 0, lowered: None });
        Source { path, label, hash, bytes, text: None, state }
    }

    /// The name of its pseudo-code, if line information refers to that.
    pub(super) fn with_text(self, text: Option<String>) -> Self {
        Source { text, ..self }
    }

    /// So many jobs will ask.
    pub(super) fn with_jobs(self, jobs: usize) -> Self {
        let state = Mutex::new(State { pending: jobs, lowered: None });
        Source { state, ..self }
    }

    /// The lowered input. Jobs that ask while it is made wait for it.
    pub(super) fn lowered(&self, read: &ReadOptions) -> Asked {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let first = state.lowered.is_none();
        let lowered =
            state.lowered.get_or_insert_with(|| self.lower(read).map(Arc::new).map_err(Arc::new));
        (lowered.clone(), first)
    }

    /// One job less will ask.
    pub(super) fn release(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.pending = state.pending.saturating_sub(1);
        if state.pending == 0 {
            state.lowered = None;
        }
    }

    /// The input, which must be the one that was planned with.
    fn read(&self) -> Result<Input, Diagnostic> {
        let input = Input::read(&self.path)?;
        if blake3::hash(input.bytes()) != self.hash {
            let message = format!("`{}` was changed while it was baked", self.label);
            return Err(Diagnostic::error(codes::CHANGED, message));
        }
        Ok(input)
    }

    fn lower(&self, read: &ReadOptions) -> Result<Lowered, Refused> {
        let input = self.read().map_err(|d| Refused { input: None, diagnostics: d.into() })?;
        let lowered = || -> Result<_, Diagnostics> {
            let (module, warnings) = program::module(&input, read)?;
            let kernels = compile::choose(&module, &[])?;
            let lines = self.text.as_ref().map(|file| -> Result<_, Diagnostics> {
                let (_, lines) = program::program(&input, read)?.pseudo_code_with_lines(&[])?;
                Ok(Arc::new(luisac_targets::Source { file: file.clone(), lines }))
            });
            Ok((module, kernels, warnings, lines.transpose()?))
        };
        match lowered() {
            Ok((module, kernels, warnings, lines)) => {
                Ok(Lowered { input, module, kernels, warnings, lines })
            }
            Err(diagnostics) => Err(Refused { input: Some(input), diagnostics }),
        }
    }

    /// The pseudo-code that line information refers to.
    pub(super) fn pseudo_code(&self, read: &ReadOptions) -> Result<String, Diagnostics> {
        Ok(program::program(&self.read()?, read)?.pseudo_code(&[])?)
    }
}
