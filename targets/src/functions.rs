//! Callables by themselves: functions that other code of a target calls.
//!
//! A callable is no kernel: nobody starts it, so it has neither a parameter block nor a log, and knows the launch only as far as the
//! machine tells every function. What such a function may use is checked here, for all targets that hold functions.

use luisac_artifact::metadata::BoundsMode;
use luisac_ast::diagnostic::Diagnostic;
use luisac_xir::op::SpecialRegister;
use luisac_xir::{Function, FunctionId, InstId, Module, Op, ValueDef};

use crate::usage::reachable_callees_first;
use crate::{EmitOptions, ExtraText, errors};

/// A compiled callable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceFunction {
    /// The name by which it is called.
    pub symbol: String,
    /// What the target's own tools expect.
    pub code: Vec<u8>,
    /// Extension of the file's name, without a dot.
    pub extension: &'static str,
    /// Its declaration in the language that calls it, and whatever was asked for beside the code.
    pub texts: Vec<ExtraText>,
}

/// Refuses what a function by itself cannot hold. `registers` are those that the target gives every function.
///
/// # Errors
/// By the first instruction that asks for more.
pub(crate) fn check(
    module: &Module,
    root: FunctionId,
    options: &EmitOptions,
    registers: &[SpecialRegister],
) -> Result<(), Box<Diagnostic>> {
    crate::check_externals(module, root)?;
    if options.bounds == BoundsMode::Trap {
        let message = "`--bounds trap` reports through the log of a launch, which a callable by itself does not have";
        return Err(Box::new(
            Diagnostic::error(errors::NEEDS_LAUNCH, message)
                .with_help("compile it with `--bounds clamp`"),
        ));
    }
    for id in reachable_callees_first(module, root) {
        let function = &module.functions[id];
        for inst in function.blocks().flat_map(|b| function.insts(b)) {
            if let Some(what) = asks_for(function, inst, registers) {
                let name = &module.functions[root].name;
                let message = format!("{what}, which a callable by itself does not have");
                return Err(Box::new(
                    Diagnostic::error(errors::NEEDS_LAUNCH, message)
                        .in_function(function.name.clone())
                        .with_help(format!("pass what `{name}` needs as an argument, or compile a kernel that calls it")),
                ));
            }
        }
    }
    Ok(())
}

/// What an instruction needs of a launch, if it needs any.
fn asks_for(function: &Function, inst: InstId, registers: &[SpecialRegister]) -> Option<String> {
    if matches!(function.op(inst), Op::Print | Op::Assert) {
        return Some(format!("`{}` writes into the log of a launch", function.op(inst).mnemonic()));
    }
    function.args(inst).iter().find_map(|&arg| match function.value_def(arg) {
        ValueDef::Special(register) if !registers.contains(&register) => {
            Some(format!("`{}` belongs to a launch", register.name()))
        }
        _ => None,
    })
}

/// A target that holds entry points only.
pub(crate) fn no_functions(target: &str) -> Diagnostic {
    Diagnostic::error(
        errors::NO_FUNCTIONS,
        format!("`{target}` holds kernels only, no callable by itself"),
    )
    .with_help("take `ptx`, `cpu`, `hlsl` or `msl`, or compile a kernel that calls it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets;

    fn module(body: &str) -> (Module, FunctionId) {
        let text = format!("module;\ncallable @f(%0: value u32) -> u32 {{\nb0:\n{body}\n}}\n");
        let module = luisac_xir::text::parse(&text).unwrap_or_else(|e| panic!("{text}: {e}"));
        let root = module.functions.keys().next().expect("a function");
        (module, root)
    }

    #[test]
    fn what_belongs_to_a_launch_is_refused() {
        let options = EmitOptions::new("");
        let refused = |body: &str, registers: &[SpecialRegister]| {
            let (module, root) = module(body);
            check(&module, root, &options, registers).err().map(|e| e.message)
        };
        assert_eq!(refused("  return %0", &[]), None);
        let register = "  return kernel_id";
        let message = refused(register, &[]).expect("a refusal");
        assert!(message.contains("`kernel_id` belongs to a launch"), "{message}");
        assert_eq!(refused(register, &[SpecialRegister::KernelId]), None);
        let message = refused("  print \"x {}\", %0\n  return %0", &[]).expect("a refusal");
        assert!(message.contains("log"), "{message}");
    }

    #[test]
    fn checked_indices_that_stop_are_refused() {
        let (module, root) = module("  return %0");
        let options = EmitOptions { bounds: BoundsMode::Trap, ..EmitOptions::new("") };
        let error = check(&module, root, &options, &[]).expect_err("a refusal");
        assert!(error.help.is_some_and(|h| h.contains("clamp")));
    }

    /// Every target makes a function, or says by one code that it holds none.
    #[test]
    fn every_target_answers() {
        let (module, root) = module("  return %0");
        for target in targets() {
            let detail = target.canonical_detail(None).expect("a default");
            let options = EmitOptions::new(detail);
            match target.emit_function(&module, root, &options) {
                Ok(made) => {
                    assert!(["ptx", "cpu", "hlsl", "msl"].contains(&target.name()));
                    assert_eq!(made.symbol, "callable_f");
                    assert!(!made.code.is_empty());
                }
                Err(e) => {
                    assert_eq!(e.0[0].code, errors::NO_FUNCTIONS, "{}: {e}", target.name());
                    assert!(e.0[0].message.contains(target.name()), "{e}");
                }
            }
        }
    }
}
