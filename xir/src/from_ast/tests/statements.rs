//! Control flow.

use super::sketch::*;
use expect_test::expect;
use luisac_ast::callops::CallOp;
use luisac_ast::model::{BinaryOp, Stmt, VariableTag};
use luisac_ast::types::TypeKind;

#[test]
fn an_if_falls_through_to_its_merge() {
    expect![[r#"
        kernel @k block(32, 1, 1) (%0: value i32, %1: resource buffer<i32>) {
        b0:
          %2: i32 = alloca local
          %3: bool = cast static_cast %0
          if %3, then b1, else b2, merge b3
        b1:
          store %2, i32 1
          br b3
        b2:
          br b3
        b3:
          %4: i32 = load %2
          resource_write buffer_write %1, u32 0, %4
          return
        }
    "#]]
    .assert_eq(&xir(|k| {
        let (c, v, one) = (k.value_arg(INT), k.local(INT), k.int(1));
        let set = k.assign(v, one);
        let both = k.branch(c, &[set], &[]);
        let kept = k.keep(v);
        vec![both, kept]
    }));
}

#[test]
fn a_merge_that_nothing_reaches_is_unreachable_and_the_rest_is_dropped() {
    expect![[r#"
        kernel @k block(32, 1, 1) (%0: value bool) {
        b0:
          if %0, then b1, else b2, merge b3
        b1:
          return
        b2:
          return
        b3:
          unreachable
        }
    "#]]
    .assert_eq(&xir(|k| {
        let (c, v, one) = (k.value_arg(BOOL), k.local(INT), k.int(1));
        let (a, b) = (k.stmt(Stmt::Return(None.into())), k.stmt(Stmt::Return(None.into())));
        let both = k.branch(c, &[a], &[b]);
        let set = k.assign(v, one);
        vec![both, set]
    }));
}

#[test]
fn a_for_evaluates_its_condition_and_step_each_time() {
    expect![[r#"
        kernel @k block(32, 1, 1) (%0: value u32) {
        b0:
          %1: u32 = alloca local
          loop prepare b1, body b2, update b6, merge b7
        b1:
          %2: u32 = load %1
          %3: bool = arithmetic binary_less %2, %0
          cond_br %3, b2, b7
        b2:
          %4: u32 = load %1
          %5: bool = arithmetic binary_less %4, %0
          if %5, then b3, else b4, merge b5
        b3:
          continue b6
        b4:
          break b7
        b5:
          unreachable
        b6:
          %6: u32 = load %1
          %7: u32 = cast static_cast i32 -1
          %8: u32 = arithmetic binary_add %6, %7
          store %1, %8
          br b1
        b7:
          return
        }
    "#]]
    .assert_eq(&xir(|k| {
        let (variable, n, step) = (k.local(UINT), k.value_arg(UINT), k.int(-1));
        let condition = k.binary(BinaryOp::Less, variable, n, BOOL);
        let next = k.stmt(Stmt::Continue);
        let stop = k.stmt(Stmt::Break);
        let test = k.branch(condition, &[next], &[stop]);
        let body = k.scope(&[test]);
        vec![k.stmt(Stmt::For { variable, condition, step, body })]
    }));
}

#[test]
fn a_loop_that_nothing_leaves_has_an_unreachable_merge() {
    expect![[r#"
        kernel @k block(32, 1, 1) () {
        b0:
          %0: i32 = alloca local
          simple_loop body b1, merge b2
        b1:
          store %0, i32 1
          br b1
        b2:
          unreachable
        }
    "#]]
    .assert_eq(&xir(|k| {
        let (v, one) = (k.local(INT), k.int(1));
        let set = k.assign(v, one);
        vec![k.forever(&[set])]
    }));
}

#[test]
fn a_switch_breaks_from_anywhere_in_a_case() {
    expect![[r#"
        kernel @k block(32, 1, 1) (%0: value i16, %1: value bool) {
        b0:
          switch %0, default b1, case 65535 b2, case 2 b6, merge b7
        b1:
          br b7
        b2:
          if %1, then b3, else b4, merge b5
        b3:
          break b7
        b4:
          br b5
        b5:
          br b7
        b6:
          br b7
        b7:
          return
        }
    "#]]
    .assert_eq(&xir(|k| {
        let (s, c) = (k.value_arg(SHORT), k.value_arg(BOOL));
        let stop = k.stmt(Stmt::Break);
        let test = k.branch(c, &[stop], &[]);
        let end = k.stmt(Stmt::Break);
        let (a, b) = (k.case(-1, &[test, end]), k.case(2, &[]));
        vec![k.switch(s, &[a, b])]
    }));
}

#[test]
fn continue_in_a_switch_goes_to_the_loop() {
    expect![[r#"
        kernel @k block(32, 1, 1) (%0: value i32) {
        b0:
          simple_loop body b1, merge b5
        b1:
          switch %0, default b3, case 1 b2, merge b4
        b2:
          continue b1
        b3:
          br b4
        b4:
          break b5
        b5:
          return
        }
    "#]]
    .assert_eq(&xir(|k| {
        let s = k.value_arg(INT);
        let (next, stop) = (k.stmt(Stmt::Continue), k.stmt(Stmt::Break));
        let a = k.case(1, &[next]);
        let body = k.scope(&[]);
        let default = k.stmt(Stmt::SwitchDefault { body });
        let switch = k.switch(s, &[a, default]);
        vec![k.forever(&[switch, stop])]
    }));
}

#[test]
fn comments_stand_before_the_next_instruction() {
    expect![[r#"
        kernel @k block(32, 1, 1) () {
        b0:
          %0: i32 = alloca local
          store %0, i32 1 !comment "first\nsecond"
          return
        }
    "#]]
    .assert_eq(&xir(|k| {
        let (v, one) = (k.local(INT), k.int(1));
        let (a, b) = (k.function.add_text("first"), k.function.add_text("second"));
        let (a, b) = (k.stmt(Stmt::Comment(a)), k.stmt(Stmt::Comment(b)));
        let set = k.assign(v, one);
        vec![a, b, set]
    }));
}

#[test]
fn assertions_carry_their_message() {
    expect![[r#"
        kernel @k block(32, 1, 1) (%0: value i32) {
        b0:
          %1: bool = cast static_cast %0
          assert %1, "no \"good\""
          unreachable "no \"good\""
        }
    "#]]
    .assert_eq(&xir(|k| {
        let (c, text) = (k.value_arg(INT), k.text("no \"good\""));
        let check = k.call(CallOp::Assert, &[c, text], VOID);
        let end = k.call(CallOp::Unreachable, &[text], VOID);
        let (v, one) = (k.local(INT), k.int(1));
        let (check, end) = (k.effect(check), k.effect(end));
        vec![check, end, k.assign(v, one)]
    }));
}

#[test]
fn a_callable_that_ends_without_a_return_gives_zero() {
    expect![[r#"
        callable @f() -> vector<u32, 2> {
        b0:
          return const vector<u32, 2> zero
        }
        kernel @k block(32, 1, 1) () {
        b0:
          %0: vector<u32, 2> = call @f()
          return
        }
    "#]]
    .assert_eq(&xir(|k| {
        let f = k.close_callable("f", UINT2, &[]);
        let call = k.call_function(f, &[], UINT2);
        vec![k.effect(call)]
    }));
}

#[test]
fn a_print_keeps_its_format() {
    expect![[r#"
        kernel @k block(32, 1, 1) (%0: value vector<f32, 2>) {
        b0:
          print "{} {{", %0
          return
        }
    "#]]
    .assert_eq(&xir(|k| {
        let a = k.value_arg(FLOAT2);
        let (format, arguments) = (k.function.add_text("{} {{"), k.function.add_exprs(&[a]));
        vec![k.stmt(Stmt::Print { format, arguments })]
    }));
}

#[test]
fn a_ray_query_dispatches_to_its_handlers() {
    expect![[r#"
        type T0 = struct<16, vector<f32, 3>, f32>;
        type T1 = opaque "LC_RayQueryAll";
        kernel @k block(32, 1, 1) (%0: resource accel, %1: value T0) {
        b0:
          %2: T1 = alloca local
          %3: T1 = resource_query ray_tracing_query_all %0, %1, u32 255
          store %2, %3
          ray_query_loop dispatch b1, merge b4
        b1:
          ray_query_dispatch %2, exit b4, surface b2, procedural b3
        b2:
          ray_query_object_write commit_triangle %2
          br b1
        b3:
          ray_query_object_write commit_procedural %2, f32 0.5
          br b1
        b4:
          ray_query_object_write proceed %2
          %4: bool = ray_query_object_read is_terminated %2
          %5: bool = arithmetic unary_bit_not %4
          return
        }
    "#]]
    .assert_eq(&xir(|k| {
        let accel = k.library.types.intern(TypeKind::Accel).expect("a type");
        let ray = k.library.types.structure(16, [FLOAT3, FLOAT]).expect("a structure");
        let query = k.library.types.intern(TypeKind::Custom("LC_RayQueryAll".into()));
        let query = k.local(query.expect("a type"));
        let (accel, ray) = (k.arg(VariableTag::Accel, accel), k.value_arg(ray));
        let (mask, ty) = (k.uint(255), k.ty(query));
        let start = k.call(CallOp::RayTracingQueryAll, &[accel, ray, mask], ty);
        let set = k.assign(query, start);
        let (t, proceed) = (k.float(0.5), k.call(CallOp::RayQueryProceed, &[query], BOOL));
        let commit = k.call(CallOp::RayQueryCommitTriangle, &[query], VOID);
        let other = k.call(CallOp::RayQueryCommitProcedural, &[query, t], VOID);
        let (commit, other) = (k.effect(commit), k.effect(other));
        let (on_triangle, on_procedural) = (k.scope(&[commit]), k.scope(&[other]));
        let run = k.stmt(Stmt::RayQuery { query, on_triangle, on_procedural });
        vec![set, run, k.effect(proceed)]
    }));
}

#[test]
fn differentiation_keeps_its_scope_and_lvalues() {
    expect![[r#"
        kernel @k block(32, 1, 1) () {
        b0:
          %0: vector<f32, 2> = alloca local
          autodiff_scope entry b1, merge b2
        b1:
          %1: f32 = gep %0, u32 0
          autodiff requires_gradient %1
          %2: f32 = gep %0, u32 0
          autodiff gradient_marker %2, f32 1.0
          autodiff backward
          %3: f32 = gep %0, u32 0
          %4: f32 = autodiff gradient %3
          %5: f32 = gep %0, u32 0
          store %5, %4
          br b2
        b2:
          return
        }
    "#]]
    .assert_eq(&xir(|k| {
        let (v, one) = (k.local(FLOAT2), k.float(1.0));
        let x = k.swizzle(v, "x", FLOAT);
        let leaf = k.call(CallOp::RequiresGradient, &[x], VOID);
        let seed = k.call(CallOp::GradientMarker, &[x, one], VOID);
        let back = k.call(CallOp::Backward, &[], VOID);
        let gradient = k.call(CallOp::Gradient, &[x], FLOAT);
        let set = k.assign(x, gradient);
        let items = [k.effect(leaf), k.effect(seed), k.effect(back), set];
        let body = k.scope(&items);
        vec![k.stmt(Stmt::AutoDiff { body })]
    }));
}
