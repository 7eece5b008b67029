//! Calls of what only the recording process has.

use super::super::*;
use super::corpus::{corpus, kernels};
use super::sketch::*;
use crate::interp::{self, Arg, Launch};
use crate::text;
use expect_test::{Expect, expect};
use luisac_ast::callops::CallOp;
use luisac_ast::json;
use luisac_ast::model::{
    Callee, CurveBases, ExprId, ExprKind, External, StmtId, Usage, VariableTag,
};
use luisac_ast::types::TypeId;

impl Sketch {
    fn native(
        &mut self,
        name: &str,
        parameters: &[(TypeId, Usage)],
        args: &[ExprId],
        ty: TypeId,
    ) -> ExprId {
        let external = self.library.externals.push(External {
            name: name.into(),
            return_type: ty,
            argument_types: parameters.iter().map(|p| p.0).collect(),
            argument_usages: parameters.iter().map(|p| p.1).collect(),
        });
        let arguments = self.function.add_exprs(args);
        let (op, callee) = (CallOp::External, Callee::External(external));
        self.expr(ty, ExprKind::Call { op, curve_bases: CurveBases::default(), callee, arguments })
    }

    fn call_back(&mut self, argument: Option<ExprId>, ty: TypeId) -> ExprId {
        let pointers = self.function.add_bytes(&[0; 24]);
        self.expr(ty, ExprKind::CpuCustom { pointers, argument: argument.into() })
    }
}

/// The text of a body, which is also its own text when it is read again.
#[track_caller]
fn gives(write: impl FnOnce(&mut Sketch) -> Vec<StmtId>, expected: Expect) {
    let found = xir(write);
    expected.assert_eq(&found);
    let again = text::parse(&format!("module;\n{found}")).expect("text that is read again");
    assert_eq!(
        text::print(&again).replace("module;", "").replace("\n\n", "\n").trim(),
        found.trim()
    );
}

#[test]
fn external_functions_take_what_they_write_by_reference() {
    gives(
        |k| {
            let (x, y, b) = (k.value_arg(INT), k.local(FLOAT2), k.buffer(UINT));
            let parameters = [
                (FLOAT, Usage::READ),
                (FLOAT2, Usage::WRITE),
                (k.ty(b), Usage::READ_WRITE),
                (INT, Usage::READ_WRITE),
            ];
            let call = k.native("outside", &parameters, &[x, y, b, x], HALF);
            let z = k.local(FLOAT);
            vec![k.assign(z, call)]
        },
        expect![[r#"
            kernel @k block(32, 1, 1) (%0: value i32, %1: resource buffer<u32>) {
            b0:
              %2: i32 = alloca local
              %3: vector<f32, 2> = alloca local
              %4: f32 = alloca local
              store %2, %0
              %5: i32 = load %2
              %6: f32 = cast static_cast %5
              %7: f16 = call @outside(%6, %3, %1, %2)
              %8: f32 = cast static_cast %7
              store %4, %8
              return
            }
            external @outside(%0: value f32, %1: reference vector<f32, 2>, %2: resource buffer<u32>, %3: reference i32) -> f16;
        "#]],
    );
}

#[test]
fn declarations_are_shared() {
    gives(
        |k| {
            let x = k.value_arg(FLOAT);
            let one = k.native("f", &[(FLOAT, Usage::READ)], &[x], VOID);
            let same = k.native("f", &[(FLOAT, Usage::READ)], &[x], VOID);
            let other = k.native("f", &[(FLOAT, Usage::READ)], &[x], FLOAT);
            let kernel = k.native("k", &[], &[], VOID);
            [one, same, other, kernel].map(|e| k.effect(e)).to_vec()
        },
        expect![[r#"
            kernel @k block(32, 1, 1) (%0: value f32) {
            b0:
              call @f(%0)
              call @f(%0)
              %1: f32 = call @f#1(%0)
              call @k#1()
              return
            }
            external @f(%0: value f32);
            external @f#1(%0: value f32) -> f32;
            external @k#1();
        "#]],
    );
}

#[test]
fn declarations_follow_all_functions() {
    gives(
        |k| {
            let x = k.value_arg(FLOAT);
            let call = k.native("f", &[(FLOAT, Usage::READ)], &[x], FLOAT);
            let back = k.stmt(luisac_ast::model::Stmt::Return(Some(call).into()));
            let callable = k.close_callable("c", FLOAT, &[back]);
            let y = k.value_arg(FLOAT);
            let direct = k.native("f", &[(FLOAT, Usage::READ)], &[y], FLOAT);
            let call = k.call_function(callable, &[direct], FLOAT);
            vec![k.effect(call)]
        },
        expect![[r#"
            callable @c(%0: value f32) -> f32 {
            b0:
              %1: f32 = call @f(%0)
              return %1
            }
            kernel @k block(32, 1, 1) (%0: value f32) {
            b0:
              %1: f32 = call @f(%0)
              %2: f32 = call @c(%1)
              return
            }
            external @f(%0: value f32) -> f32;
        "#]],
    );
}

#[test]
fn callbacks_take_their_argument_by_reference() {
    gives(
        |k| {
            let x = k.value_arg(FLOAT2);
            let changed = k.call_back(Some(x), FLOAT2);
            let (id, none) = (k.builtin(VariableTag::DispatchId, UINT3), k.call_back(None, VOID));
            let copied = k.call_back(Some(id), UINT3);
            let y = k.local(FLOAT2);
            vec![k.assign(y, changed), k.effect(none), k.effect(copied)]
        },
        expect![[r#"
            kernel @k block(32, 1, 1) (%0: value vector<f32, 2>) {
            b0:
              %1: vector<f32, 2> = alloca local
              %2: vector<f32, 2> = alloca local
              %3: vector<u32, 3> = alloca local
              store %1, %0
              %4: vector<f32, 2> = call @cpu_custom(%1)
              store %2, %4
              call @cpu_custom#1()
              store %3, dispatch_id
              %5: vector<u32, 3> = call @cpu_custom#2(%3)
              return
            }
            external @cpu_custom(%0: reference vector<f32, 2>) -> vector<f32, 2>;
            external @cpu_custom#1();
            external @cpu_custom#2(%0: reference vector<u32, 3>) -> vector<u32, 3>;
        "#]],
    );
}

#[test]
fn addresses_need_memory() {
    gives(
        |k| {
            let (x, v) = (k.value_arg(FLOAT), k.local(FLOAT3));
            let two = k.uint(2);
            let z = k.access(v, two, FLOAT);
            let addresses = [x, z].map(|e| k.call(CallOp::AddressOf, &[e], ULONG));
            addresses.map(|a| k.keep(a)).to_vec()
        },
        expect![[r#"
            kernel @k block(32, 1, 1) (%0: value f32, %1: resource buffer<u64>, %2: resource buffer<u64>) {
            b0:
              %3: f32 = alloca local
              %4: vector<f32, 3> = alloca local
              store %3, %0
              %5: u64 = call @address_of(%3)
              resource_write buffer_write %1, u32 0, %5
              %6: f32 = gep %4, u32 2
              %7: u64 = call @address_of(%6)
              resource_write buffer_write %2, u32 0, %7
              return
            }
            external @address_of(%0: reference f32) -> u64;
        "#]],
    );
}

#[test]
fn what_does_not_fit_is_refused() {
    refused(TYPE_MISMATCH, |k| {
        let x = k.local(INT);
        let call = k.native("f", &[(FLOAT, Usage::WRITE)], &[x], VOID);
        vec![k.effect(call)]
    });
    refused(TYPE_MISMATCH, |k| {
        let x = k.local(FLOAT2);
        let call = k.native("f", &[(MAT2, Usage::READ)], &[x], VOID);
        vec![k.effect(call)]
    });
    refused(TYPE_MISMATCH, |k| {
        let buffer = k.buffer(UINT);
        let ty = k.ty(buffer);
        let call = k.call_back(None, ty);
        vec![k.effect(call)]
    });
    refused(TYPE_MISMATCH, |k| {
        let buffer = k.buffer(UINT);
        let address = k.call(CallOp::AddressOf, &[buffer], ULONG);
        vec![k.effect(address)]
    });
    refused(MALFORMED, |k| {
        let call = k.native("f", &[(FLOAT, Usage::READ)], &[], VOID);
        vec![k.effect(call)]
    });
}

/// Only a thread that gets there finds that the interpreter has no such function.
#[test]
fn the_interpreter_stops_where_it_is_called() {
    let mut k = Sketch::new();
    let condition = k.value_arg(BOOL);
    let call = k.native("outside", &[], &[], UINT);
    let write = k.keep(call);
    let branch = k.branch(condition, &[write], &[]);
    k.close(&[branch]);
    let module = lower(&k.library, &Options::default()).expect("a kernel");
    let run = |condition: u8| {
        let mut args = [Arg::Value(vec![condition]), Arg::Buffer(vec![0; 4])];
        let id = module.kernels().next().expect("a kernel");
        interp::run(&module, id, &mut args, &Launch::new([32, 1, 1]))
    };
    run(0).expect("no call");
    let fault = run(1).expect_err("a call");
    assert_eq!(fault.code().to_string(), "L0709");
    assert!(fault.to_string().contains("`outside`"), "{fault}");
}

#[test]
fn the_corpus_passes_the_checks_and_its_text_is_read_again() {
    let Some(corpus) = corpus() else { return };
    for (name, declared) in [
        ("luisa/native_include", "external @get_uv("),
        ("luisa/cpu_callable", "external @cpu_custom("),
        ("own", "external @address_of("),
    ] {
        let mut found = 0;
        for path in kernels(&corpus.join(name)) {
            let library = json::read(&std::fs::read(&path).expect("a file")).expect("a library");
            let module = lower(&library, &Options::default()).expect("a lowered kernel");
            let printed = text::print(&module);
            if printed.contains(declared) {
                found += 1;
                let errors = luisac_ast::check::check(&library);
                assert!(!errors.has_errors(), "{}: {errors}", path.display());
                let again = text::parse(&printed).expect("text that is read again");
                crate::verify::verify(&again).expect("a valid module");
                assert_eq!(text::print(&again), printed);
            }
        }
        assert_eq!(found, 1, "{name}");
    }
}
