//! What is refused, with its code.

use super::super::*;
use super::sketch::*;
use luisac_ast::callops::CallOp;
use luisac_ast::model::{BinaryOp, CastOp, Stmt, StmtId, VariableTag};

#[test]
fn jumps_need_something_to_leave() {
    refused(JUMP_OUTSIDE, |k| vec![k.stmt(Stmt::Break)]);
    refused(JUMP_OUTSIDE, |k| {
        let (s, next) = (k.value_arg(INT), k.stmt(Stmt::Continue));
        let case = k.case(0, &[next]);
        vec![k.switch(s, &[case])]
    });
    for jump in [Stmt::Break, Stmt::Continue, Stmt::Return(None.into())] {
        refused(JUMP_ACROSS, |k| {
            let jump = k.stmt(jump);
            let body = k.scope(&[jump]);
            let scope = k.stmt(Stmt::AutoDiff { body });
            vec![k.forever(&[scope])]
        });
    }
}

#[test]
fn mistakes_after_a_jump_are_found() {
    refused(JUMP_OUTSIDE, |k| {
        let stop = k.stmt(Stmt::Return(None.into()));
        let end = k.stmt(Stmt::Break);
        vec![stop, end]
    });
}

fn switch_of(ty: luisac_ast::TypeId, values: &[i32]) -> impl FnOnce(&mut Sketch) -> Vec<StmtId> {
    move |k| {
        let s = k.value_arg(ty);
        let cases: Vec<StmtId> = values.iter().map(|&v| k.case(v, &[])).collect();
        vec![k.switch(s, &cases)]
    }
}

#[test]
fn cases_are_compared_in_the_width_of_the_selector() {
    refused(DUPLICATE_CASE, switch_of(UINT, &[1, 1]));
    refused(DUPLICATE_CASE, switch_of(SHORT, &[-1, 0xffff]));
    refused(TYPE_MISMATCH, switch_of(FLOAT, &[1]));
    refused(SWITCH_BODY, |k| {
        let s = k.value_arg(INT);
        let stray = k.stmt(Stmt::Break);
        vec![k.switch(s, &[stray])]
    });
}

#[test]
fn only_variables_are_assigned() {
    refused(NOT_ASSIGNABLE, |k| {
        let (a, b) = (k.int(1), k.int(2));
        vec![k.assign(a, b)]
    });
    refused(NOT_ASSIGNABLE, |k| {
        let (id, zero) = (k.builtin(VariableTag::DispatchId, UINT3), k.uint(0));
        let x = k.swizzle(id, "x", UINT);
        vec![k.assign(x, zero)]
    });
}

#[test]
fn types_that_do_not_fit() {
    refused(TYPE_MISMATCH, |k| {
        let (a, v) = (k.value_arg(FLOAT2), k.local(FLOAT3));
        vec![k.assign(v, a)]
    });
    refused(TYPE_MISMATCH, |k| {
        let (a, b) = (k.value_arg(MAT2), k.value_arg(FLOAT2));
        let sum = k.binary(BinaryOp::Add, a, b, FLOAT2);
        vec![k.effect(sum)]
    });
    refused(TYPE_MISMATCH, |k| {
        let a = k.value_arg(FLOAT3);
        let bits = k.cast(CastOp::Bitwise, a, ULONG);
        vec![k.effect(bits)]
    });
    refused(TYPE_MISMATCH, |k| {
        let (v, i) = (k.local(FLOAT3), k.value_arg(FLOAT));
        let element = k.access(v, i, FLOAT);
        vec![k.effect(element)]
    });
}

#[test]
fn shared_memory_belongs_to_kernels() {
    refused(SHARED_IN_CALLABLE, |k| {
        let (v, one) = (k.builtin(VariableTag::Shared, UINT), k.uint(1));
        let set = k.assign(v, one);
        let f = k.close_callable("f", VOID, &[set]);
        let call = k.call_function(f, &[], VOID);
        vec![k.effect(call)]
    });
}

#[test]
fn operations_without_a_form() {
    refused(UNSUPPORTED, |k| {
        let depth = k.value_arg(FLOAT);
        let set = k.call(CallOp::RasterSetZDepth, &[depth], VOID);
        vec![k.effect(set)]
    });
    refused(ASYNC, |k| {
        let commit = k.call(CallOp::PipelineCommit, &[], VOID);
        vec![k.effect(commit)]
    });
}

#[test]
fn values_too_large_to_write_out() {
    refused(TOO_LARGE, |k| {
        let ty = k.library.types.array(FLOAT, 1 << 29).expect("an array");
        let (v, zero) = (k.local(ty), k.call(CallOp::Zero, &[], ty));
        vec![k.assign(v, zero)]
    });
    refused(TOO_LARGE, |k| {
        let ty = k.library.types.array(FLOAT, 1 << 20).expect("an array");
        let (v, words, at) = (k.local(ty), k.buffer(UINT), k.uint(0));
        let pack = k.call(CallOp::Pack, &[v, words, at], VOID);
        vec![k.effect(pack)]
    });
}

#[test]
fn cycles_of_calls_are_named() {
    let mut k = Sketch::new();
    let next = luisac_ast::model::FunctionId::from_u32(1);
    let call = k.call_function(next, &[], VOID);
    let call = k.effect(call);
    k.close_callable("a", VOID, &[call]);
    let first = luisac_ast::model::FunctionId::from_u32(0);
    let call = k.call_function(first, &[], VOID);
    let call = k.effect(call);
    k.close_callable("b", VOID, &[call]);
    let call = k.call_function(first, &[], VOID);
    let call = k.effect(call);
    k.close(&[call]);
    let errors = lower(&k.library, &Options::default()).expect_err("a cycle");
    let error = errors.find(RECURSION).expect("the code of recursion");
    assert!(error.message.contains("`a` -> `b` -> `a`"), "{error}");
}

#[test]
fn entries_and_block_sizes() {
    let mut k = Sketch::new();
    let f = k.close_callable("f", VOID, &[]);
    let kernel = k.close(&[]);
    let entries = Some(vec![f]);
    let errors =
        lower(&k.library, &Options { entries, ..Options::default() }).expect_err("no kernel");
    assert!(errors.find(BAD_ENTRY).is_some(), "{errors}");
    let block_size = Some([32, 64, 1]);
    let errors =
        lower(&k.library, &Options { block_size, ..Options::default() }).expect_err("too many");
    assert!(errors.find(BLOCK_SIZE).is_some(), "{errors}");
    let entries = Some(vec![kernel]);
    let module = lower(&k.library, &Options { entries, ..Options::default() }).expect("a kernel");
    assert_eq!(module.functions.len(), 1);
    let module = lower_all(&k.library, &Options::default()).expect("both functions");
    assert_eq!(module.functions.len(), 2);
}
