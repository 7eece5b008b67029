//! Programs with mistakes that no check has seen: the lowering refuses them or gives something valid, and never panics.

use super::super::*;
use super::corpus::{corpus, kernels};
use luisac_ast::callops::CallOp;
use luisac_ast::model::{BinaryOp, ExprKind, Stmt, UnaryOp, VariableTag};
use luisac_ast::types::TypeId;
use luisac_ast::{Library, json};

/// A small generator of numbers (Knuth's multiplier).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % n.max(1)
    }
}

/// Changes one thing: a type, an operation, a literal's kind, a statement.
fn mutate(library: &mut Library, random: &mut Random) {
    let types: Vec<TypeId> = library.types.ids().collect();
    let ty = types[random.below(types.len())];
    let functions: Vec<_> = library.functions.keys().collect();
    let function = &mut library.functions[functions[random.below(functions.len())]];
    let exprs: Vec<_> = function.exprs.keys().collect();
    let expr = exprs.get(random.below(exprs.len())).copied();
    match random.below(6) {
        0 | 1 => {
            if let Some(expr) = expr {
                function.exprs[expr].ty = ty;
            }
        }
        2 | 3 => {
            if let Some(expr) = expr {
                let kind = &mut function.exprs[expr].kind;
                let ops: Vec<CallOp> = CallOp::all().collect();
                match kind {
                    ExprKind::Binary { op, .. } => {
                        *op = BinaryOp::ALL[random.below(BinaryOp::ALL.len())];
                    }
                    ExprKind::Unary { op, .. } => *op = UnaryOp::ALL[random.below(4)],
                    ExprKind::Call { op, .. } => *op = ops[random.below(ops.len())],
                    ExprKind::Member { index, .. } => *index = random.below(9) as u32,
                    ExprKind::Swizzle { swizzle, .. } => {
                        swizzle.size = 1 + random.below(4) as u8;
                        swizzle.code = random.below(1 << 16) as u16;
                    }
                    _ => {}
                }
            }
        }
        4 => {
            let variables: Vec<_> = function.variables.keys().collect();
            if let Some(&variable) = variables.get(random.below(variables.len())) {
                let variable = &mut function.variables[variable];
                if random.below(2) == 0 {
                    variable.ty = ty;
                } else {
                    variable.tag = VariableTag::ALL[random.below(VariableTag::ALL.len())];
                }
            }
        }
        _ => {
            let stmts: Vec<_> = function.stmts.keys().collect();
            let stmt = &mut function.stmts[stmts[random.below(stmts.len())]];
            *stmt = match (*stmt, random.below(3)) {
                (Stmt::SwitchCase { body, .. } | Stmt::SwitchDefault { body }, _) => {
                    Stmt::AutoDiff { body }
                }
                (Stmt::Loop { body }, _) => Stmt::SwitchDefault { body },
                (_, 0) => Stmt::Break,
                (_, 1) => Stmt::Continue,
                _ => Stmt::Return(expr.into()),
            };
        }
    }
}

#[test]
fn mutated_programs_are_refused_or_valid() {
    let Some(corpus) = corpus() else { return };
    let rounds = std::env::var("ROUNDS").ok().and_then(|r| r.parse().ok()).unwrap_or(3);
    let mut random = Random(1);
    let (mut valid, mut refused, mut failures) = (0, 0, Vec::new());
    for path in kernels(&corpus.join("own")) {
        let Ok(bytes) = std::fs::read(&path) else { continue };
        if bytes.len() > 200_000 {
            continue;
        }
        let Ok(library) = json::read(&bytes) else { continue };
        for _ in 0..rounds {
            let mut library = library.clone();
            let before = random.0;
            for _ in 0..=random.below(3) {
                mutate(&mut library, &mut random);
            }
            match lower(&library, &Options::default()) {
                Err(_) => refused += 1,
                Ok(module) => {
                    valid += 1;
                    if let Err(errors) = crate::verify::verify(&module) {
                        failures.push(format!("{}, {before}: {}", path.display(), errors[0]));
                    }
                }
            }
        }
    }
    println!("{valid} valid, {refused} refused");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
