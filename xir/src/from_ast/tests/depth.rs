//! Depth and size of the input: a small stack, and time in proportion.

use super::super::*;
use super::sketch::*;
use luisac_ast::model::{BinaryOp, Stmt, UnaryOp};

const DEPTH: usize = 100_000;

/// Lowers on a stack of 1 MiB.
#[track_caller]
fn lowers(write: impl FnOnce(&mut Sketch) -> Vec<luisac_ast::model::StmtId>) {
    let mut sketch = Sketch::new();
    let body = write(&mut sketch);
    sketch.close(&body);
    let library = sketch.library;
    let work = move || lower(&library, &Options::default()).map(|module| module.functions.len());
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(work);
    let result = thread.expect("a thread").join().expect("no overflow");
    assert_eq!(result.expect("lowered"), 1);
}

#[test]
fn nested_scopes_of_every_kind() {
    lowers(|k| {
        let (c, one) = (k.value_arg(BOOL), k.int(1));
        let v = k.local(INT);
        let mut inner = k.assign(v, one);
        for i in 0..DEPTH {
            let (variable, condition, step) = (v, c, one);
            inner = match i % 5 {
                0 => k.branch(c, &[inner], &[]),
                1 => k.branch(c, &[], &[inner]),
                2 => {
                    let stop = k.stmt(Stmt::Break);
                    k.forever(&[inner, stop])
                }
                3 => {
                    let case = k.case(1, &[inner]);
                    k.switch(v, &[case])
                }
                _ => {
                    let body = k.scope(&[inner]);
                    k.stmt(Stmt::For { variable, condition, step, body })
                }
            };
        }
        vec![inner]
    });
}

#[test]
fn nested_operands() {
    lowers(|k| {
        let one = k.int(1);
        let mut left = k.value_arg(INT);
        for i in 0..DEPTH {
            left = match i % 3 {
                0 => k.binary(BinaryOp::Add, left, one, INT),
                1 => k.binary(BinaryOp::Mul, one, left, INT),
                _ => k.unary(UnaryOp::Minus, left, INT),
            };
        }
        vec![k.keep(left)]
    });
}

#[test]
fn nested_indices_and_swizzles() {
    lowers(|k| {
        let array = k.library.types.array(UINT, 4).expect("an array");
        let (a, mut index) = (k.local(array), k.value_arg(UINT));
        for _ in 0..DEPTH {
            index = k.access(a, index, UINT);
        }
        let mut v = k.value_arg(UINT2);
        for _ in 0..DEPTH {
            v = k.swizzle(v, "yx", UINT2);
        }
        vec![k.keep(index), k.keep(v)]
    });
}

#[test]
fn a_long_chain_of_callables() {
    let mut k = Sketch::new();
    let mut callee = k.close_callable("f", VOID, &[]);
    for _ in 0..20_000 {
        let call = k.call_function(callee, &[], VOID);
        let call = k.effect(call);
        callee = k.close_callable("f", VOID, &[call]);
    }
    let call = k.call_function(callee, &[], VOID);
    let call = k.effect(call);
    k.close(&[call]);
    let module = lower(&k.library, &Options::default()).expect("lowered");
    assert_eq!(module.functions.len(), 20_002);
}
