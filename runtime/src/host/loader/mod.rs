//! A loader for relocatable ELF objects: no linker, no symbols from outside.
//!
//! 1. *Plan*: read the headers, check them, give each loaded section a place in one image.
//! 2. *Write*: copy the sections and apply the relocations, at the address where the image lies.
//! 3. *Protect*: the image turns from writable to executable; it is never both.
//!
//! Planning and writing are safe code over byte slices: hostile bytes give an error. What the code does once it is
//! called is another matter, and why loading is `unsafe` for the caller.

mod aarch64;
mod x86_64;

use std::collections::HashMap;

use memmap2::{Mmap, MmapMut};
use object::{
    LittleEndian as LE, SectionIndex,
    elf::{self, FileHeader64, Rela64, SectionHeader64, Sym64},
    read::{
        SymbolIndex,
        elf::{FileHeader, Rela, SectionHeader, SectionTable, Sym, SymbolTable},
    },
};

use crate::LoadError;

type Header = FileHeader64<LE>;

/// The largest alignment a section may ask for: a page.
const MAX_ALIGN: u64 = 4096;

/// An instruction set that the loader relocates for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Machine {
    X86_64,
    Aarch64,
}

impl Machine {
    /// That of this program, if the loader knows it.
    pub(crate) fn host() -> Option<Self> {
        match std::env::consts::ARCH {
            "x86_64" => Some(Self::X86_64),
            "aarch64" => Some(Self::Aarch64),
            _ => None,
        }
    }

    fn from_elf(machine: u16) -> Option<Self> {
        match machine {
            elf::EM_X86_64 => Some(Self::X86_64),
            elf::EM_AARCH64 => Some(Self::Aarch64),
            _ => None,
        }
    }

    /// Whether the relocation goes through a slot that holds the symbol's address.
    fn needs_slot(self, kind: u32) -> bool {
        match self {
            Self::X86_64 => x86_64::needs_slot(kind),
            Self::Aarch64 => aarch64::needs_slot(kind),
        }
    }

    fn apply(self, kind: u32, field: &mut Field<'_>) -> Result<(), LoadError> {
        match self {
            Self::X86_64 => x86_64::apply(kind, field),
            Self::Aarch64 => aarch64::apply(kind, field),
        }
    }
}

/// A place to relocate: the bytes from it to the end of its section, and the numbers of the psABI's formulas.
pub(crate) struct Field<'a> {
    bytes: &'a mut [u8],
    /// S: the address of the symbol, or of its slot for a relocation that needs one.
    symbol: u64,
    /// A: the addend.
    addend: i64,
    /// P: the address of the place.
    place: u64,
}

impl Field<'_> {
    /// S + A
    fn absolute(&self) -> u64 {
        self.symbol.wrapping_add_signed(self.addend)
    }

    /// S + A - P
    fn relative(&self) -> i64 {
        self.absolute().wrapping_sub(self.place) as i64
    }

    fn put<const N: usize>(&mut self, value: [u8; N]) -> Result<(), LoadError> {
        match self.bytes.first_chunk_mut() {
            Some(chunk) => *chunk = value,
            None => return damaged("a relocation passes the end of its section"),
        }
        Ok(())
    }

    fn word(&self) -> Result<u32, LoadError> {
        match self.bytes.first_chunk() {
            Some(chunk) => Ok(u32::from_le_bytes(*chunk)),
            None => damaged("a relocation passes the end of its section"),
        }
    }
}

fn damaged<T>(reason: impl ToString) -> Result<T, LoadError> {
    Err(LoadError::Damaged(reason.to_string()))
}

impl From<object::read::Error> for LoadError {
    fn from(e: object::read::Error) -> Self {
        Self::Damaged(e.to_string())
    }
}

/// Where everything of an object goes.
pub(crate) struct Plan<'a> {
    machine: Machine,
    data: &'a [u8],
    sections: SectionTable<'a, Header>,
    symbols: SymbolTable<'a, Header>,
    /// Offset in the image, by section; `None` for sections that are not loaded.
    places: Vec<Option<u64>>,
    /// Offset in the image of the slot with a symbol's address. Only looked up, never walked.
    slots: HashMap<SymbolIndex, u64>,
    size: u64,
}

impl<'a> Plan<'a> {
    /// Reads and checks the headers. Costs time and memory linear in the length of `data`.
    pub(crate) fn of(data: &'a [u8], machine: Option<Machine>) -> Result<Self, LoadError> {
        let header = Header::parse(data)?;
        if !header.is_little_endian() || header.e_type(LE) != elf::ET_REL {
            return damaged("not a little-endian relocatable file");
        }
        let found = header.e_machine(LE);
        let Some(machine) = Machine::from_elf(found).filter(|m| machine == Some(*m)) else {
            return Err(LoadError::WrongMachine { machine: found, host: std::env::consts::ARCH });
        };
        let sections = header.sections(LE, data)?;
        let symbols = sections.symbols(LE, data, elf::SHT_SYMTAB)?;
        let mut plan = Self {
            machine,
            data,
            sections,
            symbols,
            places: Vec::new(),
            slots: HashMap::new(),
            size: 0,
        };
        plan.place_sections()?;
        plan.place_slots()?;
        Ok(plan)
    }

    /// Bytes of the image.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    fn name(&self, section: &SectionHeader64<LE>) -> String {
        self.sections
            .section_name(LE, section)
            .map(|n| String::from_utf8_lossy(n).into_owned())
            .unwrap_or_default()
    }

    fn place_sections(&mut self) -> Result<(), LoadError> {
        let mut loaded = 0u64;
        for section in self.sections.iter() {
            let (flags, size) = (section.sh_flags(LE), section.sh_size(LE));
            let name = self.name(section);
            // Notes and unwind tables are of no use: nothing unwinds through a kernel.
            let wanted = flags & u64::from(elf::SHF_ALLOC) != 0
                && section.sh_type(LE) != elf::SHT_NOTE
                && section.sh_type(LE) != elf::SHT_X86_64_UNWIND
                && name != ".eh_frame";
            if !wanted {
                self.places.push(None);
                continue;
            }
            // Relocated constants are writable for a linker, but not for the code.
            let writable =
                flags & u64::from(elf::SHF_WRITE) != 0 && !name.starts_with(".data.rel.ro");
            if size != 0
                && (writable
                    || flags & u64::from(elf::SHF_TLS) != 0
                    || section.sh_type(LE) == elf::SHT_NOBITS)
            {
                return Err(LoadError::WritableData(name));
            }
            let align = section.sh_addralign(LE).max(1);
            if !align.is_power_of_two() || align > MAX_ALIGN {
                return damaged("a section's alignment is not a power of two up to 4096");
            }
            // Sections of a real object do not overlap; this bounds the image whatever the headers claim.
            loaded = loaded.saturating_add(size);
            if loaded > self.data.len() as u64 {
                return damaged("the sections are larger than the file");
            }
            let offset = self.size.next_multiple_of(align);
            self.size = offset + size;
            self.places.push(Some(offset));
        }
        Ok(())
    }

    fn place_slots(&mut self) -> Result<(), LoadError> {
        self.size = self.size.next_multiple_of(8);
        let mut wanted = Vec::new();
        self.each_relocation(|_, rela| {
            if self.machine.needs_slot(rela.r_type(LE, false)) {
                wanted.extend(rela.symbol(LE, false));
            }
            Ok(())
        })?;
        for symbol in wanted {
            let size = &mut self.size;
            self.slots.entry(symbol).or_insert_with(|| {
                *size += 8;
                *size - 8
            });
        }
        Ok(())
    }

    /// Calls `f` with the index of each loaded section and each of its relocations.
    fn each_relocation(
        &self,
        mut f: impl FnMut(SectionIndex, &Rela64<LE>) -> Result<(), LoadError>,
    ) -> Result<(), LoadError> {
        for section in self.sections.iter() {
            let target = section.info_link(LE);
            if self.places.get(target.0).copied().flatten().is_none() {
                continue;
            }
            if section.sh_type(LE) == elf::SHT_REL {
                return damaged("relocations without addends");
            }
            if let Some((relocations, _)) = section.rela(LE, self.data)? {
                relocations.iter().try_for_each(|r| f(target, r))?;
            }
        }
        Ok(())
    }

    /// The offset in the image of a symbol that a loaded section defines, and that section.
    fn offset(
        &self,
        index: SymbolIndex,
        symbol: &Sym64<LE>,
    ) -> Result<(u64, &'a SectionHeader64<LE>), LoadError> {
        if symbol.is_undefined(LE) {
            let name = self.symbols.symbol_name(LE, symbol).unwrap_or_default();
            return Err(LoadError::UndefinedSymbol(String::from_utf8_lossy(name).into_owned()));
        }
        let Some(index) = self.symbols.symbol_section(LE, symbol, index)? else {
            return damaged("a symbol of an unknown kind is used");
        };
        let section = self.sections.section(index)?;
        match self.places.get(index.0).copied().flatten() {
            Some(place) if symbol.st_value(LE) <= section.sh_size(LE) => {
                Ok((place + symbol.st_value(LE), section))
            }
            Some(_) => damaged("a symbol lies behind the end of its section"),
            None => damaged("a symbol of a section that is not loaded is used"),
        }
    }

    fn address(&self, index: Option<SymbolIndex>, base: u64) -> Result<u64, LoadError> {
        let Some(index) = index else { return Ok(0) };
        let symbol = self.symbols.symbol(index)?;
        if symbol.st_shndx(LE) == elf::SHN_ABS {
            return Ok(symbol.st_value(LE));
        }
        Ok(base.wrapping_add(self.offset(index, symbol)?.0))
    }

    /// Fills `image`, of [`Self::size`] bytes, with what has to lie at address `base`.
    pub(crate) fn write(&self, image: &mut [u8], base: u64) -> Result<(), LoadError> {
        for (section, place) in self.sections.iter().zip(&self.places) {
            if let Some(place) = *place {
                let data = section.data(LE, self.data)?;
                match image.get_mut(place as usize..).and_then(|i| i.get_mut(..data.len())) {
                    Some(target) => target.copy_from_slice(data),
                    None => return damaged("a section is larger than planned"),
                }
            }
        }
        for (symbol, slot) in &self.slots {
            let address = self.address(Some(*symbol), base)?;
            match image.get_mut(*slot as usize..).and_then(|i| i.first_chunk_mut()) {
                Some(target) => *target = address.to_le_bytes(),
                None => return damaged("a slot lies outside the image"),
            }
        }
        self.each_relocation(|section, rela| self.relocate(image, base, section, rela))
    }

    fn relocate(
        &self,
        image: &mut [u8],
        base: u64,
        section: SectionIndex,
        rela: &Rela64<LE>,
    ) -> Result<(), LoadError> {
        let kind = rela.r_type(LE, false);
        let size = self.sections.section(section)?.sh_size(LE);
        let place = self.places.get(section.0).copied().flatten().unwrap_or(0);
        let offset = rela.r_offset(LE);
        if offset > size {
            return damaged("a relocation lies behind the end of its section");
        }
        let symbol = rela.symbol(LE, false);
        let symbol = match symbol.and_then(|s| self.slots.get(&s)) {
            Some(slot) if self.machine.needs_slot(kind) => base.wrapping_add(*slot),
            _ => self.address(symbol, base)?,
        };
        let Some(bytes) = image.get_mut((place + offset) as usize..(place + size) as usize) else {
            return damaged("a relocation lies outside the image");
        };
        let mut field = Field {
            bytes,
            symbol,
            addend: rela.r_addend(LE),
            place: base.wrapping_add(place + offset),
        };
        self.machine.apply(kind, &mut field)
    }

    /// The offset in the image of the code that `entry` names.
    pub(crate) fn entry(&self, entry: &str) -> Result<u64, LoadError> {
        for (index, symbol) in self.symbols.enumerate() {
            if symbol.is_undefined(LE)
                || self.symbols.symbol_name(LE, symbol).ok() != Some(entry.as_bytes())
            {
                continue;
            }
            let (offset, section) = self.offset(index, symbol)?;
            let code = section.sh_flags(LE) & u64::from(elf::SHF_EXECINSTR) != 0;
            if code && symbol.st_value(LE) < section.sh_size(LE) {
                return Ok(offset);
            }
        }
        Err(LoadError::NoEntry(entry.to_owned()))
    }
}

/// Code in memory, ready to be called.
pub(crate) struct Code {
    map: Mmap,
    entry: usize,
}

impl Code {
    /// Loads an object for this machine.
    pub(crate) fn load(data: &[u8], entry: &str) -> Result<Self, LoadError> {
        let plan = Plan::of(data, Machine::host())?;
        let entry = plan.entry(entry)? as usize;
        let size = usize::try_from(plan.size()).map_err(|e| LoadError::Damaged(e.to_string()))?;
        let mut map = MmapMut::map_anon(size.max(1)).map_err(LoadError::Map)?;
        let base = map.as_ptr() as u64;
        plan.write(map.get_mut(..size).unwrap_or_default(), base)?;
        aarch64::synchronise(&map);
        let map = map.make_exec().map_err(LoadError::Map)?;
        Ok(Self { map, entry })
    }

    /// The address of the entry point; valid as long as `self`.
    pub(crate) fn entry(&self) -> *const u8 {
        self.map[self.entry..].as_ptr()
    }
}

#[cfg(test)]
mod tests;
