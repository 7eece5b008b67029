//! The parts of the loader that no system compiler reaches on this machine.

use super::*;

#[track_caller]
fn relocated(machine: Machine, kind: u32, word: u32, symbol: u64, place: u64, want: u32) {
    let mut bytes = word.to_le_bytes();
    let mut field = Field { bytes: &mut bytes, symbol, addend: 0, place };
    machine.apply(kind, &mut field).unwrap();
    assert_eq!(
        u32::from_le_bytes(bytes),
        want,
        "{:08x} instead of {want:08x}",
        u32::from_le_bytes(bytes)
    );
}

#[track_caller]
fn refused(machine: Machine, kind: u32, symbol: u64, place: u64) {
    let mut bytes = [0; 8];
    let mut field = Field { bytes: &mut bytes, symbol, addend: 0, place };
    assert!(machine.apply(kind, &mut field).is_err());
}

#[test]
fn aarch64_instructions() {
    let arm = Machine::Aarch64;
    // adrp x0, 2 pages on; add x0, x0, #0x345; bl back 4; ldr q0, [x0, #0x340]; ldr x0, [x0, #0x348]
    relocated(arm, elf::R_AARCH64_ADR_PREL_PG_HI21, 0x9000_0000, 0x12345, 0x10ff8, 0xd000_0000);
    relocated(arm, elf::R_AARCH64_ADR_PREL_PG_HI21, 0x9000_0000, 0x10000, 0x11000, 0xf0ff_ffe0);
    relocated(arm, elf::R_AARCH64_ADD_ABS_LO12_NC, 0x9100_0000, 0x12345, 0, 0x910d_1400);
    relocated(arm, elf::R_AARCH64_CALL26, 0x9400_0000, 0x1000, 0x1004, 0x97ff_ffff);
    relocated(arm, elf::R_AARCH64_LDST128_ABS_LO12_NC, 0x3dc0_0000, 0x12340, 0, 0x3dc0_d000);
    relocated(arm, elf::R_AARCH64_LD64_GOT_LO12_NC, 0xf940_0000, 0x12348, 0, 0xf941_a400);
    relocated(arm, elf::R_AARCH64_CONDBR19, 0x5400_0000, 0x1008, 0x1000, 0x5400_0040);
    relocated(arm, elf::R_AARCH64_PREL32, 0, 0x1000, 0x1004, 0xffff_fffc);
    refused(arm, elf::R_AARCH64_CALL26, 1 << 28, 0);
    refused(arm, elf::R_AARCH64_CALL26, 2, 0);
    refused(arm, elf::R_AARCH64_LDST64_ABS_LO12_NC, 4, 0);
    refused(arm, elf::R_AARCH64_ADR_PREL_PG_HI21, 1 << 40, 0);
}

#[test]
fn x86_64_fields() {
    let x86 = Machine::X86_64;
    relocated(x86, elf::R_X86_64_PC32, 0, 0x1000, 0x1010, 0xffff_fff0);
    relocated(x86, elf::R_X86_64_32S, 0, (-8i64) as u64, 0, 0xffff_fff8);
    refused(x86, elf::R_X86_64_PC32, 1 << 31, 0);
    refused(x86, elf::R_X86_64_32, 1 << 32, 0);
    refused(x86, elf::R_X86_64_TPOFF64, 0, 0);
}

#[test]
fn fields_end_with_their_section() {
    let mut bytes = [0; 3];
    let mut field = Field { bytes: &mut bytes, symbol: 0, addend: 0, place: 0 };
    assert!(Machine::X86_64.apply(elf::R_X86_64_PC32, &mut field).is_err());
    assert!(Machine::Aarch64.apply(elf::R_AARCH64_CALL26, &mut field).is_err());
}

/// A whole AArch64 object, where LLVM's `llc` is there to make one: every relocation must be known and in reach.
#[test]
fn aarch64_objects_are_relocated() {
    use std::{
        io::Write,
        process::{Command, Stdio},
    };
    let ir = r#"
        @table = internal constant [5 x i32] [i32 1, i32 4, i32 9, i32 16, i32 25]
        @shared = constant [4 x float] [float 1.0, float 2.0, float 3.0, float 4.0], align 16
        @functions = internal constant [2 x ptr] [ptr @twice, ptr @twice]
        define internal i32 @twice(i32 %v) noinline { %r = mul i32 %v, 2 ret i32 %r }
        define i32 @entry(i64 %i, ptr %out) {
          %p = getelementptr [5 x i32], ptr @table, i64 0, i64 %i
          %a = load i32, ptr %p
          %b = call i32 @twice(i32 %a)
          %v = load <4 x float>, ptr @shared
          store <4 x float> %v, ptr %out
          %q = getelementptr [2 x ptr], ptr @functions, i64 0, i64 %i
          %f = load ptr, ptr %q
          %c = call i32 %f(i32 %b)
          ret i32 %c
        }"#;
    let mut llc = Command::new("llc-22");
    llc.args(["-mtriple=aarch64-linux-gnu", "-relocation-model=pic", "-filetype=obj", "-o", "-"]);
    let Ok(mut child) = llc.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() else {
        println!("skipped: no llc-22 here");
        return;
    };
    child.stdin.take().unwrap().write_all(ir.as_bytes()).unwrap();
    let object = child.wait_with_output().unwrap().stdout;
    let plan = Plan::of(&object, Some(Machine::Aarch64)).unwrap();
    let entry = plan.entry("entry").unwrap() as usize;
    let mut image = vec![0; plan.size() as usize];
    plan.write(&mut image, 0x10_0000).unwrap();
    let word = |at: usize| u32::from_le_bytes(*image[at..].first_chunk().unwrap());
    // The table of functions holds the address of the one that the entry calls with `bl`.
    let calls = (entry..image.len()).step_by(4).filter(|at| word(*at) >> 26 == 0b100101);
    let targets: Vec<u64> = calls
        .map(|at| 0x10_0000 + at as u64 + u64::from(word(at) << 6 >> 4))
        .map(|far| far & 0xffff_ffff)
        .collect();
    let held = |address: &u64| image.windows(8).any(|w| w == address.to_le_bytes());
    assert!(targets.iter().any(|t| held(t) || held(&(t.wrapping_sub(1 << 28)))), "{targets:x?}");
    for cut in (0..object.len()).step_by(7) {
        if let Ok(plan) = Plan::of(&object[..cut], Some(Machine::Aarch64)) {
            let _ = plan.write(&mut vec![0; plan.size() as usize], 0x10_0000);
        }
    }
    assert!(Plan::of(&object, Some(Machine::X86_64)).is_err());
}
