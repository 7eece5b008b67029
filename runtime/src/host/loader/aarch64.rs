//! Relocations of AArch64, by "ELF for the Arm 64-bit Architecture", section 5.7, and what its caches need.

use object::elf;

use super::Field;
use crate::LoadError;

/// Whether the relocation goes through a slot that holds the symbol's address.
pub(super) fn needs_slot(kind: u32) -> bool {
    matches!(kind, elf::R_AARCH64_ADR_GOT_PAGE | elf::R_AARCH64_LD64_GOT_LO12_NC)
}

/// Bits `low..low + width` of an instruction.
fn insert(word: u32, value: i64, low: u32, width: u32) -> u32 {
    let mask = ((1u64 << width) - 1) as u32;
    word & !(mask << low) | (value as u32 & mask) << low
}

/// The immediate of `ADR` and `ADRP`: two low bits at 29, nineteen high bits at 5.
fn insert_adr(word: u32, value: i64) -> u32 {
    insert(insert(word, value, 29, 2), value >> 2, 5, 19)
}

/// `value` as a signed number of `bits` bits after it was divided by 2^`shift`, which must leave nothing.
fn signed(kind: u32, value: i64, bits: u32, shift: u32) -> Result<i64, LoadError> {
    let scaled = value >> shift;
    let room = 1i64 << (bits - 1);
    if scaled << shift != value || scaled < -room || scaled >= room {
        return Err(LoadError::OutOfReach(kind));
    }
    Ok(scaled)
}

pub(super) fn apply(kind: u32, field: &mut Field<'_>) -> Result<(), LoadError> {
    let far = |_| LoadError::OutOfReach(kind);
    let (absolute, relative) = (field.absolute(), field.relative());
    // The low twelve bits of an address as the offset of a load or store of 2^scale bytes.
    let low12 = |scale: u32| signed(kind, (absolute & 0xfff) as i64, 13, scale);
    let word = match kind {
        elf::R_AARCH64_NONE => return Ok(()),
        elf::R_AARCH64_ABS64 => return field.put(absolute.to_le_bytes()),
        elf::R_AARCH64_PREL64 => return field.put(relative.to_le_bytes()),
        elf::R_AARCH64_ABS32 => {
            return field.put(u32::try_from(absolute).map_err(far)?.to_le_bytes());
        }
        elf::R_AARCH64_PREL32 => {
            return field.put(i32::try_from(relative).map_err(far)?.to_le_bytes());
        }
        _ => field.word()?,
    };
    let word = match kind {
        elf::R_AARCH64_ADR_PREL_PG_HI21 | elf::R_AARCH64_ADR_GOT_PAGE => {
            let pages = ((absolute & !0xfff).wrapping_sub(field.place & !0xfff)) as i64;
            insert_adr(word, signed(kind, pages, 21, 12)?)
        }
        elf::R_AARCH64_ADR_PREL_LO21 => insert_adr(word, signed(kind, relative, 21, 0)?),
        elf::R_AARCH64_ADD_ABS_LO12_NC | elf::R_AARCH64_LDST8_ABS_LO12_NC => {
            insert(word, low12(0)?, 10, 12)
        }
        elf::R_AARCH64_LDST16_ABS_LO12_NC => insert(word, low12(1)?, 10, 12),
        elf::R_AARCH64_LDST32_ABS_LO12_NC => insert(word, low12(2)?, 10, 12),
        elf::R_AARCH64_LDST64_ABS_LO12_NC | elf::R_AARCH64_LD64_GOT_LO12_NC => {
            insert(word, low12(3)?, 10, 12)
        }
        elf::R_AARCH64_LDST128_ABS_LO12_NC => insert(word, low12(4)?, 10, 12),
        elf::R_AARCH64_CALL26 | elf::R_AARCH64_JUMP26 => {
            insert(word, signed(kind, relative, 26, 2)?, 0, 26)
        }
        elf::R_AARCH64_CONDBR19 | elf::R_AARCH64_LD_PREL_LO19 => {
            insert(word, signed(kind, relative, 19, 2)?, 5, 19)
        }
        elf::R_AARCH64_TSTBR14 => insert(word, signed(kind, relative, 14, 2)?, 5, 14),
        _ => return Err(LoadError::Relocation(kind)),
    };
    field.put(word.to_le_bytes())
}

/// Makes freshly written code visible to instruction fetch; other machines do so by themselves.
#[cfg(target_arch = "aarch64")]
pub(super) fn synchronise(code: &[u8]) {
    use std::arch::asm;
    // The smallest line that any implementation has; smaller steps than needed do no harm.
    const LINE: usize = 16;
    let (start, end) = (code.as_ptr() as usize & !(LINE - 1), code.as_ptr() as usize + code.len());
    // SAFETY: cache maintenance by address over memory that is mapped; it changes no data.
    unsafe {
        for line in (start..end).step_by(LINE) {
            asm!("dc cvau, {0}", in(reg) line, options(nostack, preserves_flags));
        }
        asm!("dsb ish", options(nostack, preserves_flags));
        for line in (start..end).step_by(LINE) {
            asm!("ic ivau, {0}", in(reg) line, options(nostack, preserves_flags));
        }
        asm!("dsb ish", "isb", options(nostack, preserves_flags));
    }
}

#[cfg(not(target_arch = "aarch64"))]
pub(super) fn synchronise(_code: &[u8]) {}
