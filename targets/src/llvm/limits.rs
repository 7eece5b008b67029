//! How much is asked of LLVM. Many of its passes take quadratic time in the length of a block, and all that know of loops take
//! quadratic memory in the depth of their nesting: what is larger than usual gets fewer passes, and what no effort helps is refused.

use std::ffi::{c_char, c_void};

use luisac_ast::diagnostic::Diagnostic;
use luisac_passes::analyses::loops::Loops;
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::dominators::DominatorTree;
use luisac_xir::{FunctionId, Module};

use super::Emit;
use super::module::ModuleEmit;
use crate::{OptLevel, errors};

/// Instructions of a block where code is generated without effort: the selection of instructions takes quadratic time in a block.
pub const CUT: usize = 1000;
/// Deepest nesting of loops that is compiled at all: LLVM keeps a list of its blocks for each loop.
const NESTING: u32 = 2000;

/// How much LLVM's passes may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// What was asked for.
    Full(OptLevel),
    /// Passes that take linear time only.
    Linear,
    /// Nothing but what makes the code legal.
    None,
}

impl Effort {
    /// Most instructions of a module for any effort.
    const MODULE: usize = 200_000;
    /// Most instructions of a block for all passes.
    const BLOCK: usize = 20_000;
    /// Deepest nesting of loops for any effort: some passes take cubic time in it.
    const NESTING: u32 = 150;

    /// What suits a module that is translated to LLVM's form.
    pub fn of(cx: &ModuleEmit<'_, '_>, loop_depth: u32, level: OptLevel) -> Effort {
        let count = cx.ir.instruction_count();
        if level == OptLevel::O0 || count > Effort::MODULE || loop_depth > Effort::NESTING {
            Effort::None
        } else if cx.ir.longest_block() > Effort::BLOCK {
            Effort::Linear
        } else {
            Effort::Full(level)
        }
    }

    /// LLVM's pipeline.
    pub fn passes(self) -> &'static str {
        match self {
            Effort::None | Effort::Full(OptLevel::O0) => "default<O0>",
            Effort::Linear => {
                "always-inline,function(sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg,adce)"
            }
            Effort::Full(OptLevel::O1) => "default<O1>",
            Effort::Full(OptLevel::O2) => "default<O2>",
            Effort::Full(OptLevel::O3) => "default<O3>",
        }
    }
}

/// The deepest nesting of loops in a kernel and what it calls.
///
/// # Errors
/// If it is too deep.
pub fn loop_depth(module: &Module, kernel: FunctionId) -> Emit<u32> {
    let mut deepest = 0;
    for id in crate::usage::reachable_callees_first(module, kernel) {
        let function = &module.functions[id];
        let cfg = ControlFlowGraph::compute(function);
        let dominators = DominatorTree::compute(function, &cfg);
        let loops = Loops::compute(function, &cfg, &dominators);
        let depth = loops.loops.iter().map(|l| l.depth).max().unwrap_or(0);
        if depth > NESTING {
            return Err(Diagnostic::error(
                errors::TOO_LARGE,
                format!("loops are nested {depth} deep, more than the {NESTING} that fit"),
            )
            .in_function(function.name.clone())
            .with_help("move inner loops into a callable that is not inlined")
            .into());
        }
        deepest = deepest.max(depth);
    }
    Ok(deepest)
}

/// The thread that LLVM runs in cannot be had.
pub fn no_thread(e: &std::io::Error) -> Box<Diagnostic> {
    let message = format!("a thread for LLVM cannot be started: {e}");
    Box::new(
        Diagnostic::error(errors::OUT_OF_MEMORY, message)
            .with_help("let the process have a gibibyte of address space more, or more threads"),
    )
}

/// From now on the end of memory inside of LLVM is an error with a code instead of an abort.
pub fn tell_when_memory_ends() {
    unsafe extern "C" {
        /// `llvm::install_bad_alloc_error_handler`, which LLVM's interface for C lacks.
        #[link_name = "_ZN4llvm31install_bad_alloc_error_handlerEPFvPvPKcbES0_"]
        fn install(handler: extern "C" fn(*mut c_void, *const c_char, bool), data: *mut c_void);
        /// `std::set_new_handler`, of the C++ library that LLVM is linked with.
        #[cfg(unix)]
        #[link_name = "_ZSt15set_new_handlerPFvvE"]
        fn set_new_handler(handler: extern "C" fn()) -> *const c_void;
    }
    extern "C" fn in_llvm(_: *mut c_void, _: *const c_char, _: bool) {
        no_memory();
    }
    extern "C" fn no_memory() {
        let code = errors::OUT_OF_MEMORY;
        eprintln!(
            "error[{code}]: there is not enough memory to compile the kernel\n  help: split the kernel, or compile it with -O0"
        );
        std::process::exit(1);
    }
    unsafe {
        install(in_llvm, std::ptr::null_mut());
        #[cfg(unix)]
        set_new_handler(no_memory);
    }
}
