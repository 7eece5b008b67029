//! Small kernels made by hand, compiled for each target.
#![cfg(feature = "llvm")]

use luisac_ast::types::{Scalar, TypeId};
use luisac_targets::{Artifact, EmitOptions, find_target};
use luisac_xir::op::{ArithmeticOp as A, ResourceReadOp, ResourceWriteOp};
use luisac_xir::{ArgumentKind, Builder, Function, FunctionId, FunctionKind, Imm, Module, Op};

/// `y[i] = a * x[i] + y[i]`
fn saxpy() -> (Module, FunctionId) {
    let mut module = Module::new();
    let buffer = module.types.buffer(TypeId::F32).unwrap();
    let kind = FunctionKind::Kernel { block_size: [256, 1, 1] };
    let mut f = Function::new("saxpy", kind, TypeId::VOID);
    let x = f.add_argument(ArgumentKind::Resource, buffer, Some("x"), false);
    let y = f.add_argument(ArgumentKind::Resource, buffer, Some("y"), false);
    let a = f.add_argument(ArgumentKind::Value, TypeId::F32, Some("a"), false);
    let entry = f.append_block();
    let id = f.special(luisac_xir::op::SpecialRegister::DispatchId);
    let mut b = Builder::at_end(&mut f, &module.types, entry);
    let i = b.extract(id, 0);
    let read = Op::ResourceRead(ResourceReadOp::BufferRead);
    let xi = b.value(read, TypeId::F32, &[x, i]);
    let yi = b.value(read, TypeId::F32, &[y, i]);
    let product = b.arithmetic(A::BinaryMul, &[a, xi]);
    let sum = b.arithmetic(A::BinaryAdd, &[product, yi]);
    b.inst(
        Op::ResourceWrite(ResourceWriteOp::BufferWrite),
        TypeId::VOID,
        &[y, i, sum],
        &[],
        Imm::None,
    );
    b.ret(None);
    let id = module.functions.push(f);
    (module, id)
}

#[track_caller]
fn emit(
    word: &str,
    module: &Module,
    kernel: FunctionId,
    change: impl FnOnce(&mut EmitOptions),
) -> Artifact {
    let (target, detail) = find_target(word).unwrap();
    let mut options = EmitOptions::new(detail);
    options.llvm_ir = true;
    change(&mut options);
    match target.emit(module, kernel, &options) {
        Ok(artifact) => {
            artifact.metadata.check().unwrap();
            artifact
        }
        Err(e) => panic!("{e:?}"),
    }
}

#[test]
fn saxpy_to_ptx() {
    let (module, kernel) = saxpy();
    let artifact = emit("ptx:sm_90", &module, kernel, |_| {});
    let text = String::from_utf8(artifact.code).unwrap();
    println!("{text}\n{}", artifact.texts[0].text);
    for part in [
        ".version 7.8",
        ".target sm_90",
        ".reqntid 256",
        "fma.rn.f32",
        "kernel_saxpy",
        ".param .align 16 .b8",
    ] {
        assert!(text.contains(part), "{part}");
    }
    let precise = emit("ptx:sm_90", &module, kernel, |o| {
        o.math = luisac_artifact::metadata::MathMode::Precise
    });
    let text = String::from_utf8(precise.code).unwrap();
    assert!(text.contains("mul.rn.f32") && text.contains("add.rn.f32") && !text.contains("fma"));
}

#[test]
fn saxpy_to_cpu() {
    let (module, kernel) = saxpy();
    let artifact = emit("cpu", &module, kernel, |_| {});
    println!("{}", artifact.texts[0].text);
    assert!(artifact.code.starts_with(b"\x7fELF"));
    let _ = Scalar::F32;
}
