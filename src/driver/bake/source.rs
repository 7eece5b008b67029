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
}

/// An input that cannot be compiled at all.
pub struct Refused {
    pub input: Option<Input>,
    pub diagnostics: Diagnostics,
}

/// What a job gets, and whether it is the first that did.
pub type Asked = (Result<Arc<Lowered>, Arc<Refused>>, bool);

impl Source {
    pub(super) fn new(
        path: PathBuf,
        label: String,
        hash: blake3::Hash,
        bytes: usize,
        jobs: usize,
    ) -> Self {
        let state = Mutex::new(State { pending: jobs, lowered: None });
        Source { path, label, hash, bytes, state }
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

    fn lower(&self, read: &ReadOptions) -> Result<Lowered, Refused> {
        let input = match Input::read(&self.path) {
            Ok(input) => input,
            Err(d) => return Err(Refused { input: None, diagnostics: d.into() }),
        };
        if blake3::hash(input.bytes()) != self.hash {
            let message = format!("`{}` was changed while it was baked", self.label);
            let diagnostics = Diagnostic::error(codes::CHANGED, message).into();
            return Err(Refused { input: None, diagnostics });
        }
        match program::module(&input, read) {
            Ok((module, warnings)) => match compile::choose(&module, &[]) {
                Ok(kernels) => Ok(Lowered { input, module, kernels, warnings }),
                Err(d) => Err(Refused { input: Some(input), diagnostics: d.into() }),
            },
            Err(diagnostics) => Err(Refused { input: Some(input), diagnostics }),
        }
    }
}
