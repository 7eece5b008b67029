//! The inferred result type is the only one that the rule of the operation accepts.

use crate::op::{ArithmeticOp, Rule};
use crate::typing::{check, infer};
use crate::{Scalar, TypeId, TypeTable};

fn pool(types: &mut TypeTable) -> Vec<TypeId> {
    let vector = TypeId::vector;
    vec![
        TypeId::BOOL,
        TypeId::I32,
        TypeId::U32,
        TypeId::F16,
        TypeId::F32,
        vector(Scalar::Bool, 2),
        vector(Scalar::U32, 2),
        vector(Scalar::F32, 2),
        vector(Scalar::F32, 3),
        TypeId::matrix(2),
        TypeId::matrix(3),
        types.array(TypeId::F32, 2).unwrap(),
        types.buffer(TypeId::F32).unwrap(),
    ]
}

/// All lists of `count` types.
fn lists(pool: &[TypeId], count: usize) -> Vec<Vec<TypeId>> {
    (0..count).fold(vec![Vec::new()], |shorter, _| {
        let longer = |list: &Vec<TypeId>| {
            pool.iter().map(move |&t| [list.as_slice(), &[t]].concat()).collect::<Vec<_>>()
        };
        shorter.iter().flat_map(longer).collect()
    })
}

#[test]
fn inference_and_checks_agree() {
    let mut types = TypeTable::new();
    let pool = pool(&mut types);
    let lists: Vec<Vec<Vec<TypeId>>> = (0..4).map(|n| lists(&pool, n)).collect();
    for &op in ArithmeticOp::ALL {
        let index_rule = [Rule::Aggregate, Rule::Shuffle, Rule::Extract, Rule::Insert];
        if index_rule.contains(&op.rule()) {
            continue;
        }
        let (min, max) = op.arity();
        assert_eq!(min, max);
        let mut accepted = 0;
        for operands in &lists[min] {
            let fits = |&&t: &&TypeId| check(op.rule(), t, operands, |_| None, &types).is_ok();
            let results: Vec<TypeId> = pool.iter().filter(fits).copied().collect();
            assert!(results.len() <= 1, "{}: {operands:?} -> {results:?}", op.name());
            if let Some(&result) = results.first() {
                accepted += 1;
                assert_eq!(infer(op, operands, &types), Some(result), "{}", op.name());
            }
        }
        assert!(accepted > 0, "no operands fit `{}`", op.name());
    }
}
