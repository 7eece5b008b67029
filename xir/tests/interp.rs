//! The interpreter over the kernels of the corpus that have exact results, at several wave widths.

#[path = "support/case.rs"]
mod case;

use case::{Case, cases};
use luisac_xir::interp::{self, Arg, Launch};
use luisac_xir::{FunctionId, Module, from_ast, verify};

/// The module of a case and its kernel, or why it is refused.
fn lower(case: &Case) -> Result<(Module, FunctionId), String> {
    let bytes = std::fs::read(&case.kernel).map_err(|e| e.to_string())?;
    let library = luisac_ast::json::read(&bytes).map_err(|e| format!("{e:?}"))?;
    let refused = luisac_ast::check::check(&library);
    if refused.has_errors() {
        return Err(format!("{refused:?}"));
    }
    let module =
        from_ast::lower(&library, &from_ast::Options::default()).map_err(|e| format!("{e:?}"))?;
    verify::verify(&module).map_err(|e| format!("not valid: {}", e[0]))?;
    let kernel = module.kernels().next().ok_or("no kernel")?;
    Ok((module, kernel))
}

fn run(case: &Case, wave_width: u32) -> Result<Vec<Arg>, String> {
    let (module, kernel) = lower(case)?;
    let mut args = case.args(&module, kernel);
    let launch = Launch {
        wave_width,
        bounds: case.bounds(),
        max_steps: Some(1 << 32),
        ..Launch::new(case.dispatch())
    };
    interp::run(&module, kernel, &mut args, &launch)
        .map_err(|f| format!("{} {f} at {:?} in {:?}", f.code(), f.thread, f.loc))?;
    case.check(&module, kernel, &args)?;
    Ok(args)
}

/// Runs all cases of a folder but those named, which need what the interpreter does not hold.
fn check_folder(folder: &str, left_out: &[&str]) {
    let cases = cases(folder);
    if cases.is_empty() {
        println!("skipped: no corpus folder `{folder}`");
        return;
    }
    let only = std::env::var("ONLY").ok();
    let (mut right, mut wrong) = (0, Vec::new());
    for case in &cases {
        if left_out.contains(&case.name.as_str()) || only.as_ref().is_some_and(|o| *o != case.name)
        {
            continue;
        }
        for width in [1, 8, 32, 64] {
            let result = run(case, width);
            match result {
                Ok(_) if case.is_refused() => wrong.push(format!("{} is accepted", case.name)),
                Ok(_) => {
                    right += 1;
                    continue;
                }
                Err(_) if case.is_refused() || case.may_be_refused() => {}
                Err(error) => wrong.push(format!("{} ({width} lanes): {error}", case.name)),
            }
            break;
        }
    }
    println!("{folder}: {right} runs of {} cases right", cases.len());
    assert!(
        wrong.is_empty(),
        "{} of {} are wrong:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
}

#[test]
fn kernels_after_bug_reports() {
    check_folder("bugs", &[]);
}

#[test]
fn own_kernels() {
    // Derivatives and sampled textures.
    let left_out = ["accumulate_gradient", "autodiff_branch", "autodiff_unrolled_loop"];
    check_folder("own", &left_out);
}
