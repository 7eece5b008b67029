//! The page `docs/support.md`: every operation of the table by every target.

use std::fmt::Write;

use luisac_artifact::metadata::MathMode;
use luisac_ast::types::Scalar;
use luisac_passes::lowered_by_math;
use luisac_xir::Op;
use luisac_xir::op::{
    ArithmeticOp, AtomicOp, AutodiffOp, ResourceQueryOp, ResourceReadOp, ResourceWriteOp,
    ThreadGroupOp,
};

use crate::{EmitOptions, Support, Target, targets};

/// A part of the page: its heading, and the operations with their names.
type Part = (&'static str, Vec<(&'static str, Op)>);

fn parts() -> Vec<Part> {
    fn all<T: Copy>(
        list: &[T],
        name: fn(T) -> &'static str,
        op: fn(T) -> Op,
    ) -> Vec<(&'static str, Op)> {
        list.iter().map(|&o| (name(o), op(o))).collect()
    }
    let others = vec![
        ("if, switch, loop, break, continue", Op::If),
        ("call", Op::Call),
        ("print", Op::Print),
        ("assert", Op::Assert),
        ("assume", Op::Assume),
        ("clock", Op::Clock),
        ("autodiff scope", Op::AutodiffScope),
        ("ray query", Op::RayQueryLoop),
        ("raster discard", Op::RasterDiscard),
    ];
    vec![
        ("Control flow and effects", others),
        ("Arithmetic", all(ArithmeticOp::ALL, ArithmeticOp::name, Op::Arithmetic)),
        ("Atomics", all(AtomicOp::ALL, AtomicOp::name, Op::Atomic)),
        ("Blocks and waves", all(ThreadGroupOp::ALL, ThreadGroupOp::name, Op::ThreadGroup)),
        (
            "Questions about resources, and samples",
            all(ResourceQueryOp::ALL, ResourceQueryOp::name, Op::ResourceQuery),
        ),
        ("Reads", all(ResourceReadOp::ALL, ResourceReadOp::name, Op::ResourceRead)),
        ("Writes", all(ResourceWriteOp::ALL, ResourceWriteOp::name, Op::ResourceWrite)),
        ("Gradients", all(AutodiffOp::ALL, AutodiffOp::name, Op::Autodiff)),
    ]
}

/// The page. It depends on the targets of the build: those of the default features belong into it.
pub fn support_page() -> String {
    let mut page = String::from(
        "# What each target holds\n\nWritten from the table of operations by `cargo xtask docs`; a test compares it. An operation is *native*, lowered by the pass \
         that the table names, or refused with a code (`luisac explain CODE`). Where the rules for floats decide, the fast way comes first: \
         `native / lower_math` is native under `--math fast` and lowered under `--math precise`, for `float`. All targets that write text or SPIR-V \
         run `lower_edge_cases` last, which guards operands that those languages leave open, and `lower_bounds` under `--bounds clamp` or `trap`.\n",
    );
    for (heading, ops) in parts() {
        let names: Vec<&str> = targets().iter().map(|t| t.name()).collect();
        let _ = write!(page, "\n## {heading}\n\n| operation | {} |\n|---|", names.join(" | "));
        page.push_str(&"---|".repeat(names.len()));
        page.push('\n');
        for (name, op) in ops {
            let cells: Vec<String> = targets().iter().map(|&t| cell(t, op)).collect();
            let _ = writeln!(page, "| {name} | {} |", cells.join(" | "));
        }
    }
    page
}

/// What becomes of an operation on a target.
fn cell(target: &dyn Target, op: Op) -> String {
    match target.supports(op) {
        Support::Refused(code) => format!("refused, {code}"),
        Support::Lowered => lowering(op).to_string(),
        Support::Native => match op {
            Op::Arithmetic(arithmetic) if lowered_by_math(arithmetic) => math(target, arithmetic),
            Op::Print | Op::Assert if writes_the_log_by_pass(target) => "lower_log".into(),
            _ => "native".into(),
        },
    }
}

/// The pass that takes an operation apart.
fn lowering(op: Op) -> &'static str {
    match op {
        Op::ResourceQuery(q) if q.samples() => "lower_sampling",
        Op::Autodiff(_) | Op::AutodiffScope => "autodiff",
        Op::Print | Op::Assert => "lower_log",
        _ => "destructure_cfg",
    }
}

fn writes_the_log_by_pass(target: &dyn Target) -> bool {
    let options = EmitOptions::new(target.details().first().copied().unwrap_or_default());
    target.last_passes(&options).contains("lower_log")
}

/// Mathematical functions, by the rules for floats.
fn math(target: &dyn Target, op: ArithmeticOp) -> String {
    let detail = target.details().first().copied().unwrap_or_default();
    let word = |mode| match target.keeps_native(op, Scalar::F32, mode, detail) {
        true => "native",
        false => "lower_math",
    };
    let (fast, precise) = (word(MathMode::Fast), word(MathMode::Precise));
    if fast == precise { fast.into() } else { format!("{fast} / {precise}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `BLESS=1` writes the page anew.
    #[test]
    #[cfg(all(feature = "llvm", feature = "dxil"))]
    fn the_support_page_is_up_to_date() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/support.md");
        // Counts over the corpus stand behind it (`cargo xtask corpus --write`).
        const MARK: &str = "\n## Refusals over the corpus\n";
        let page = support_page();
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        let (written, counts) = written.split_at(written.find(MARK).unwrap_or(written.len()));
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, page + counts).expect("the page is written");
            return;
        }
        assert!(written == page, "run `cargo xtask docs`");
    }

    #[test]
    fn every_operation_has_a_cell_for_every_target() {
        let page = support_page();
        let rows = parts().iter().map(|(_, ops)| ops.len()).sum::<usize>();
        let columns = targets().len();
        let is_row = |l: &&str| l.starts_with("| ") && !l.starts_with("| operation");
        let lines: Vec<&str> = page.lines().filter(is_row).collect();
        assert_eq!(lines.len(), rows);
        assert!(lines.iter().all(|l| l.matches(" | ").count() == columns), "{page}");
    }
}
