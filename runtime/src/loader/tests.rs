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
