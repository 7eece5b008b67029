//! Relocations of x86-64, by the System V psABI, table 4.9.

use object::elf;

use super::Field;
use crate::LoadError;

/// Whether the relocation goes through a slot that holds the symbol's address.
pub(super) fn needs_slot(kind: u32) -> bool {
    matches!(kind, elf::R_X86_64_GOTPCREL | elf::R_X86_64_GOTPCRELX | elf::R_X86_64_REX_GOTPCRELX)
}

pub(super) fn apply(kind: u32, field: &mut Field<'_>) -> Result<(), LoadError> {
    let far = |_| LoadError::OutOfReach(kind);
    match kind {
        elf::R_X86_64_NONE => Ok(()),
        elf::R_X86_64_64 => field.put(field.absolute().to_le_bytes()),
        elf::R_X86_64_PC64 => field.put(field.relative().to_le_bytes()),
        elf::R_X86_64_32 => field.put(u32::try_from(field.absolute()).map_err(far)?.to_le_bytes()),
        elf::R_X86_64_32S => {
            field.put(i32::try_from(field.absolute() as i64).map_err(far)?.to_le_bytes())
        }
        // A call through the procedure linkage table reaches a function of the same image directly.
        elf::R_X86_64_PC32
        | elf::R_X86_64_PLT32
        | elf::R_X86_64_GOTPCREL
        | elf::R_X86_64_GOTPCRELX
        | elf::R_X86_64_REX_GOTPCRELX => {
            field.put(i32::try_from(field.relative()).map_err(far)?.to_le_bytes())
        }
        _ => Err(LoadError::Relocation(kind)),
    }
}
