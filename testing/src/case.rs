//! A kernel with its arguments.

use luisac_passes::judge::{self, NoResult, Observed};
use luisac_xir::Module;
use luisac_xir::interp::{Arg, Launch};

/// A kernel that can be run.
#[derive(Clone, Debug)]
pub struct Case {
    pub seed: u64,
    /// One kernel and the callables that it may call.
    pub module: Module,
    pub args: Vec<Arg>,
    pub launch: Launch,
}

impl Case {
    /// Runs the kernel of `module`, which is this case's or was made from it, on this case's arguments.
    ///
    /// # Errors
    /// If the run does not come to its end.
    pub fn run(&self, module: &Module, races: bool) -> Result<Observed, NoResult> {
        judge::observe(module, &self.args, &Launch { races, ..self.launch })
    }

    /// Threads of the launch.
    pub fn threads(&self) -> u64 {
        self.launch.dispatch.iter().map(|&n| u64::from(n)).product()
    }
}
