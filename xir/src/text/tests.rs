use super::*;
use crate::op::{ArithmeticOp, SpecialRegister};
use crate::{ArgumentKind, Builder, Function, FunctionKind, Imm, Module, Op, TypeId};

/// A kernel with a loop, constants of many kinds and a structure.
fn sample() -> Module {
    let mut module = Module::new();
    let buffer = module.types.buffer(TypeId::F32).unwrap();
    let float3 = TypeId::vector(luisac_ast::types::Scalar::F32, 3);
    let record = module.types.structure(16, [float3, TypeId::F32]).unwrap();
    let mut f = Function::new("main", FunctionKind::Kernel { block_size: [64, 1, 1] }, TypeId::VOID);
    let out = f.add_argument(ArgumentKind::Resource, buffer, Some("out \"1\"\n"), true);
    let x = f.add_argument(ArgumentKind::Value, TypeId::F32, None, false);
    let entry = f.append_block();
    let (a, b, m) = (f.append_block(), f.append_block(), f.append_block());
    let id = f.special(SpecialRegister::DispatchId);
    let nan = f.constant(TypeId::F32, &0x7fc0_1234u32.to_le_bytes()[..]);
    let one = f.constant(TypeId::F32, &1.0f32.to_le_bytes()[..]);
    let mut bytes = vec![0; 32];
    bytes[0..4].copy_from_slice(&1.5f32.to_le_bytes());
    bytes[16..20].copy_from_slice(&(-0.0f32).to_le_bytes());
    let aggregate = f.constant(record, bytes);
    let mut builder = Builder::at_end(&mut f, &module.types, entry);
    let i = builder.extract(id, 0);
    let slot = builder.alloca(record);
    builder.store(slot, aggregate);
    let less = builder.arithmetic(ArithmeticOp::BinaryLess, &[x, nan]);
    builder.inst(Op::If, TypeId::VOID, &[less], &[a, b, m], Imm::None);
    builder.switch_to(a);
    builder.br(m);
    builder.switch_to(b);
    builder.br(m);
    builder.switch_to(m);
    let phi = builder.phi(m, TypeId::F32, &[(a, one), (b, x)]);
    builder.effect(Op::ResourceWrite(crate::op::ResourceWriteOp::BufferWrite), &[out, i, phi]);
    builder.ret(None);
    f.set_name(phi, "größe");
    module.functions.push(f);
    module
}

#[test]
fn prints_a_sample() {
    let expected = r#"module;
type T0 = struct<16, vector<f32, 3>, f32>;

kernel @main block(64, 1, 1) (%0: resource buffer<f32> captured "out \"1\"\n", %1: value f32) {
b0:
  %2: u32 = arithmetic extract dispatch_id, u32 0
  %3: T0 = alloca local
  store %3, const T0((1.5, 0.0, 0.0), -0.0)
  %4: bool = arithmetic binary_less %1, f32 0x7fc01234
  if %4, then b1, else b2, merge b3
b1:
  br b3
b2:
  br b3
b3:
  %5: f32 = phi (f32 1.0, b1), (%1, b2) !name "gr\u{f6}\u{df}e"
  resource_write buffer_write %0, %2, %5
  return
}
"#;
    assert_eq!(print(&sample()), expected);
}
