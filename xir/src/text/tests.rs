use super::*;
use crate::op::{ArithmeticOp, SpecialRegister};
use crate::{ArgumentKind, Builder, Function, FunctionKind, Imm, Module, Op, TypeId};

/// A kernel with a loop, constants of many kinds and a structure.
fn sample() -> Module {
    let mut module = Module::new();
    let buffer = module.types.buffer(TypeId::F32).unwrap();
    let float3 = TypeId::vector(luisac_ast::types::Scalar::F32, 3);
    let record = module.types.structure(16, [float3, TypeId::F32]).unwrap();
    let mut f =
        Function::new("main", FunctionKind::Kernel { block_size: [64, 1, 1] }, TypeId::VOID);
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

/// Parses `text`, prints it, parses that and prints it again: both prints must be the same. The print.
#[track_caller]
fn round_trip(text: &str) -> String {
    let module = parse(text).unwrap_or_else(|e| panic!("{e}"));
    let first = print(&module);
    let again = parse(&first).unwrap_or_else(|e| panic!("{e}\n{first}"));
    assert_eq!(print(&again), first);
    first
}

/// The text parses, and prints as it is written here.
#[track_caller]
fn exact(text: &str) {
    assert_eq!(round_trip(text), text);
}

/// Wraps lines in a kernel.
fn kernel(lines: &str) -> String {
    let mut text =
        String::from("module;\n\nkernel @k block(64, 1, 1) (%0: resource buffer<f32>) {\nb0:\n");
    for line in lines.lines().map(str::trim).filter(|l| !l.is_empty()) {
        text.push_str(if line.ends_with(':') { "" } else { "  " });
        text.push_str(line);
        text.push('\n');
    }
    text + "}\n"
}

#[test]
fn sample_round_trips() {
    exact(&print(&sample()));
}

#[test]
fn instructions_round_trip() {
    exact(&kernel(
        r#"%1: u32 = resource_query buffer_size %0
        %2: f32 = resource_read buffer_volatile_read %0, u32 4294967295
        %3: array<f32, 4> = alloca shared
        %4: f32 = gep %3, i32 -1
        %5: f32 = atomic compare_exchange %4, f32 -0.0, f32 inf
        %6: u64 = clock !loc 3:17
        thread_group synchronize_block !loc 3:18 !comment "all \"here\"\u{e9}\n"
        %7: bool = thread_group warp_is_first_active_lane !name "first"
        print "{} % {}\t", %2, undef vector<f16, 3>
        assert bool true, "msg"
        assert %7
        assume %7
        %8: i32 = cast bitwise_cast %2
        %9: matrix<f32, 3> = autodiff detach const matrix<f32, 3> zero
        unreachable "never""#,
    ));
}

#[test]
fn control_flow_round_trips() {
    exact(&kernel(
        r#"loop prepare b1, body b2, update b3, merge b4
        b1:
        %1: i32 = phi (i32 0, b0), (%3, b3)
        %2: bool = arithmetic binary_less %1, i32 10
        cond_br %2, b2, b4
        b2:
        switch %1, default b6, case 1 b5, case 4294967295 b6, merge b7
        b3:
        %3: i32 = arithmetic binary_add %1, i32 1
        br b1
        b4:
        simple_loop body b8, merge b9
        b5:
        continue b3
        b6:
        break b7
        b7:
        br b3
        b8:
        break b9
        b9:
        indexed_branch u32 2, default b10, case 0 b11
        b10:
        autodiff_scope entry b12, merge b11
        b11:
        raster_discard
        b12:
        br b11"#,
    ));
}

#[test]
fn ray_queries_and_bindless_round_trip() {
    exact(
        r#"module;
type T0 = struct<8, u32, u32, vector<f32, 2>, f32>;
type T1 = opaque "LC_RayQueryAll";
type T2 = struct<16, [cache(coherent)] f32, [x][y] array<T0, 3>>;

kernel @"" block(8, 8, 1) (%0: resource bindless_array, %1: resource accel captured, %2: resource buffer[cache(coherent)]<void>, %3: resource texture3d<u32> "t", %4: value f32 !name "x y") no_inline {
b0:
  %5: f32 = resource_read bindless_buffer_read [typed, uniform] %0, u32 1, u32 2
  %6: f32 = resource_read bindless_buffer_read %0, u32 1, u32 2
  %7: T0 = resource_query ray_tracing_trace_closest [curves 5] %1, undef f32, u32 255
  %8: T1 = alloca local
  ray_query_loop dispatch b1, merge b2
b1:
  ray_query_dispatch %8, exit b2, surface b3, procedural b4
b2:
  return
b3:
  ray_query_object_write commit_triangle %8
  br b1
b4:
  %9: T2 = alloca local
  br b1
}
"#,
    );
}

#[test]
fn functions_and_names_round_trip() {
    exact(
        r#"module;

callable @f(%0: value f32, %1: reference f32) -> f32 {
b0:
  %2: f32 = call @f#1(%1)
  call @"odd name"()
  return %2
}

callable @f#1(%0: reference f32) -> f32;

callable @"odd name"();

external @native(%0: value coopvec<f16, 8>, %1: value coopmat_ref<2, 3, 4>);
"#,
    );
}

#[test]
fn numbers_become_dense() {
    let text = "callable @f(%7: value f32) -> f32 { // comment\nb9:\n br b2\nb2: return %40\nb5:\n  %40: f32 = arithmetic abs %7\n  br b2 }";
    let expected = "module;\n\ncallable @f(%0: value f32) -> f32 {\nb0:\n  br b1\nb1:\n  return %1\nb2:\n  %1: f32 = arithmetic abs %0\n  br b1\n}\n";
    assert_eq!(round_trip(text), expected);
}

#[test]
fn constants_round_trip() {
    let cases = [
        "bool false",
        "i8 -128",
        "u8 255",
        "i16 -32768",
        "u16 65535",
        "i32 -2147483648",
        "u64 18446744073709551615",
        "i64 -9223372036854775808",
        "f16 0.099975586",
        "f16 -inf",
        "f16 0x7e01",
        "f16 65504.0",
        "f32 1e-45",
        "f32 3.4028235e38",
        "f32 0.1",
        "f32 -0.0",
        "f32 0xff800001",
        "f64 1e300",
        "f64 0x7ff8000000000001",
        "f64 0.1",
        "f8e4m3 0x38",
        "i4 0x0f",
        "f4e2m1 0x01",
        "f8e5m2 0x00",
        "const vector<f32, 3>(1.0, 2.0, 0xffc00000)",
        "const vector<bool, 2>(true, false)",
        "const matrix<f32, 2>((1.0, 0.0), (0.0, 1.0))",
        "const array<i16, 3>(1, -2, 3)",
        "const array<f32, 1000> zero",
        "const vector<f32, 3> hex \"00000000000000000000000000000001\"",
        "const array<u8, 20> hex \"0102030405060708090a0b0c0d0e0f1011121314\"",
        "bool 0x02",
    ];
    for case in cases {
        exact(&kernel(&format!("print \"\", {case}\nreturn")));
    }
}

#[test]
fn long_constants_are_declared_once() {
    let bytes = "01".repeat(400);
    exact(&format!(
        "module;\nconst C0 = const array<f32, 100> hex \"{bytes}\";\n\ncallable @f() {{\nb0:\n  print \"\", C0, C0\n  return\n}}\n"
    ));
}

#[test]
fn every_operation_has_its_name() {
    for op in ops::operations() {
        let found = match ops::lookup(op.mnemonic()) {
            Some(ops::Lookup::Op(found)) => Some(found),
            _ => ops::lookup_in(op.mnemonic(), op.sub_name().unwrap_or_default()),
        };
        assert_eq!(found, Some(op));
    }
}

#[track_caller]
fn refused(text: &str, code: luisac_ast::diagnostic::Code, place: &str) {
    let errors = parse(text).expect_err("the text is wrong");
    let first = &errors.0[0];
    assert_eq!(first.code, code, "{errors}");
    assert!(first.notes[0].contains(place), "{errors}");
    assert!(first.offset.is_some());
}

#[test]
fn wrong_text_is_refused() {
    use codes::*;
    refused("module;\nfoo", SYNTAX, "line 2, column 1");
    refused("kernel @k() {", SYNTAX, "line 1, column 14");
    refused("kernel @k() {\nb0:\n  return 5 }", SYNTAX, "line 3, column 10");
    refused("kernel @k() {\nb0:\n  frobnicate\n}", UNKNOWN_OPERATION, "line 3, column 3");
    refused("kernel @k() {\nb0:\n  arithmetic plus %1\n}", UNKNOWN_OPERATION, "line 3, column 3");
    refused("kernel @k() {\nb0:\n  return %1\n}", UNKNOWN_NAME, "line 3, column 10");
    refused("kernel @k() {\nb0:\n  br b1\n}", UNKNOWN_NAME, "line 3, column 6");
    refused("kernel @k() {\nb0:\n  call @g()\n}", UNKNOWN_NAME, "line 3, column 8");
    refused("kernel @k() {\nb0:\nb0:\n}", DUPLICATE_NAME, "line 3, column 1");
    refused("kernel @k(%0: value f32, %0: value f32);", DUPLICATE_NAME, "column 26");
    refused("kernel @k();\nkernel @k();", DUPLICATE_NAME, "line 2, column 8");
    refused("type T0 = array<f32, 4294967295>;", BAD_TYPE, "line 1, column 11");
    refused("type T0 = vector<f32, 5>;", BAD_TYPE, "line 1, column 11");
    refused("type T0 = T1;", UNKNOWN_NAME, "line 1, column 11");
    refused("const C0 = const array<u8, 4294967295> zero;", TOO_LARGE, "column 40");
    refused("const C0 = const vector<f32, 3>(1.0, 2.0);", BAD_CONSTANT, "column 41");
    refused("const C0 = const vector<f32, 2> hex \"00\";", BAD_CONSTANT, "column 37");
    refused("const C0 = u8 256;", BAD_CONSTANT, "column 15");
    refused("const C0 = f32 nan;", BAD_CONSTANT, "column 16");
    refused("const C0 = const accel zero;", BAD_CONSTANT, "column 18");
    refused("kernel @\"a\\q\"();", SYNTAX, "column 11");
    refused("kernel @\"a", SYNTAX, "column 9");
    refused("kernel @k(%99999999999: value f32);", SYNTAX, "column 12");
    refused(
        "kernel @k() {\nb0:\n  if bool true, then b0, merge b0\n}",
        SYNTAX,
        "line 3, column 26",
    );
    refused("kernel é", SYNTAX, "column 8");
}

#[test]
fn hostile_text_ends_in_bounded_memory() {
    let deep = format!("type T0 = {}f32", "array<".repeat(100_000));
    assert!(parse(&deep).is_err());
    let nested = format!("const C0 = const vector<f32, 2>{}", "(".repeat(100_000));
    assert!(parse(&nested).is_err());
    let zeros = "print \"\", const array<u32, 4000000> zero\n".repeat(10_000);
    assert!(parse(&kernel(&zeros)).is_ok(), "one zero of 16 MB is made, not ten thousand");
}

#[test]
fn truncated_text_never_panics() {
    let text = print(&sample());
    for end in 0..text.len() {
        if text.is_char_boundary(end) {
            let _ = parse(&text[..end]);
        }
    }
    // A byte changed at every place.
    for at in 0..text.len() {
        for replacement in ["%", "b", "\"", "9", ",", "(", "\n", "@", "{", "-"] {
            let changed = format!("{}{replacement}{}", &text[..at], &text[at + 1..]);
            if let Ok(module) = parse(&changed) {
                print(&module);
            }
        }
    }
}

#[test]
fn tells_text_from_other_input() {
    assert!(looks_like_text(b"// comment\nmodule;"));
    assert!(looks_like_text("kernel @é".as_bytes()));
    assert!(!looks_like_text(b"{\"functions\": []}"));
    assert!(!looks_like_text(b"\xff\xfe\x00\x01"));
    assert!(!looks_like_text(b""));
}

#[test]
fn deep_nesting_needs_no_stack() {
    let work = || {
        let mut lines = String::new();
        let depth = 100_000;
        for i in 0..depth {
            let (inner, merge) = (2 * i + 1, 2 * i + 2);
            lines +=
                &format!("if bool true, then b{inner}, else b{merge}, merge b{merge}\nb{inner}:\n");
        }
        lines += "return\n";
        for i in (0..depth).rev() {
            lines += &format!("b{}:\n", 2 * i + 2);
            lines += &if i == 0 { "return\n".into() } else { format!("br b{}\n", 2 * i) };
        }
        let module = parse(&kernel(&lines)).unwrap_or_else(|e| panic!("{e}"));
        crate::verify::verify(&module).unwrap_or_else(|e| panic!("{}", e[0]));
        assert_eq!(print(&parse(&print(&module)).unwrap()), print(&module));
    };
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(work).unwrap();
    thread.join().unwrap();
}
