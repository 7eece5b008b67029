//! A SPIR-V module while it is made: its sections as words, ids, and what is declared once (types, constants, capabilities).
//!
//! Instructions are written as words at once; `rspirv` gives the enumerations, and reads the words back for the text form and in tests.

use std::collections::{BTreeMap, BTreeSet};

use rspirv::spirv::{
    AddressingModel, BuiltIn, Capability, Decoration, ExecutionMode, ExecutionModel, MemoryModel,
    Op, StorageClass,
};
use rustc_hash::FxHashMap;

/// A result id; 0 is none.
pub type Id = u32;

/// Words of instructions.
#[derive(Default)]
pub struct Code {
    words: Vec<u32>,
    /// An instruction had more words than one may have.
    too_long: bool,
}

impl Code {
    /// Appends an instruction.
    pub fn push(&mut self, op: Op, operands: &[u32]) {
        let count = operands.len() + 1;
        self.too_long |= count > 0xffff;
        self.words.push(((count as u32) << 16) | op as u32);
        self.words.extend_from_slice(operands);
    }

    /// Appends all of `other`.
    pub fn append(&mut self, other: &Code) {
        self.too_long |= other.too_long;
        self.words.extend_from_slice(&other.words);
    }
}

/// The words of a literal string: with a zero byte at its end, padded by zeros.
pub fn string_words(text: &str) -> Vec<u32> {
    let mut bytes: Vec<u8> = text.bytes().filter(|&b| b != 0).collect();
    bytes.resize(bytes.len() / 4 * 4 + 4, 0);
    bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
}

/// The sections of a module.
pub struct Module {
    /// Minor version: 3 to 6.
    pub minor: u8,
    next: Id,
    capabilities: BTreeSet<u32>,
    extensions: BTreeSet<&'static str>,
    glsl: Id,
    modes: BTreeMap<u32, Vec<u32>>,
    strings: Code,
    names: Code,
    annotations: Code,
    globals: Code,
    interned: FxHashMap<Box<[u32]>, Id>,
    /// Values of constants of 32 bits.
    words: FxHashMap<Id, u32>,
    /// Global variables that the entry point names: inputs alone before 1.4, all since.
    interface: Vec<(Id, StorageClass)>,
}

impl Module {
    /// An empty module of SPIR-V 1.`minor`.
    pub fn new(minor: u8) -> Module {
        Module {
            minor,
            next: 1,
            capabilities: BTreeSet::from([Capability::Shader as u32]),
            extensions: BTreeSet::new(),
            glsl: 0,
            modes: BTreeMap::new(),
            strings: Code::default(),
            names: Code::default(),
            annotations: Code::default(),
            globals: Code::default(),
            interned: FxHashMap::default(),
            words: FxHashMap::default(),
            interface: Vec::new(),
        }
    }

    /// A fresh id.
    pub fn id(&mut self) -> Id {
        let id = self.next;
        self.next += 1;
        id
    }

    /// Declares a capability, with what it implies for older versions.
    pub fn capability(&mut self, capability: Capability) {
        self.capabilities.insert(capability as u32);
        let (since, extension) = match capability {
            Capability::StorageBuffer8BitAccess => (5, "SPV_KHR_8bit_storage"),
            Capability::ShaderNonUniform
            | Capability::RuntimeDescriptorArray
            | Capability::StorageBufferArrayNonUniformIndexing
            | Capability::SampledImageArrayNonUniformIndexing => (5, "SPV_EXT_descriptor_indexing"),
            Capability::SignedZeroInfNanPreserve
            | Capability::DenormPreserve
            | Capability::RoundingModeRTE => (4, "SPV_KHR_float_controls"),
            Capability::AtomicFloat32AddEXT | Capability::AtomicFloat64AddEXT => {
                (99, "SPV_EXT_shader_atomic_float_add")
            }
            Capability::ShaderClockKHR => (99, "SPV_KHR_shader_clock"),
            _ => return,
        };
        if self.minor < since {
            self.extensions.insert(extension);
        }
    }

    /// The import of GLSL.std.450.
    pub fn glsl(&mut self) -> Id {
        if self.glsl == 0 {
            self.glsl = self.id();
        }
        self.glsl
    }

    /// Adds an execution mode, or an operand to one that is there.
    pub fn mode(&mut self, mode: ExecutionMode, operand: u32) {
        self.modes.entry(mode as u32).or_default().push(operand);
    }

    /// A type or constant, declared once. `ty` is 0 for types.
    pub fn intern(&mut self, op: Op, ty: Id, operands: &[u32]) -> Id {
        let mut key = Vec::with_capacity(operands.len() + 2);
        key.extend([op as u32, ty]);
        key.extend_from_slice(operands);
        if let Some(&id) = self.interned.get(key.as_slice()) {
            return id;
        }
        let id = self.declare(op, ty, operands);
        self.interned.insert(key.into_boxed_slice(), id);
        id
    }

    /// A type, constant or variable that is not shared: with decorations of its own.
    pub fn declare(&mut self, op: Op, ty: Id, operands: &[u32]) -> Id {
        let id = self.id();
        let mut words = Vec::with_capacity(operands.len() + 2);
        words.extend((ty != 0).then_some(ty));
        words.push(id);
        words.extend_from_slice(operands);
        self.globals.push(op, &words);
        id
    }

    /// Decorates an id.
    pub fn decorate(&mut self, id: Id, decoration: Decoration, operands: &[u32]) {
        let mut words = vec![id, decoration as u32];
        words.extend_from_slice(operands);
        self.annotations.push(Op::Decorate, &words);
    }

    /// Decorates a member of a structure.
    pub fn decorate_member(&mut self, id: Id, member: u32, decoration: Decoration, value: &[u32]) {
        let mut words = vec![id, member, decoration as u32];
        words.extend_from_slice(value);
        self.annotations.push(Op::MemberDecorate, &words);
    }

    /// Names an id.
    pub fn name(&mut self, id: Id, name: &str) {
        let mut words = vec![id];
        // Names are for reading: an endless one serves nobody, and an instruction has 65,535 words.
        let end = (0..=name.len().min(1000)).rev().find(|&i| name.is_char_boundary(i));
        words.extend(string_words(&name[..end.unwrap_or(0)]));
        self.names.push(Op::Name, &words);
    }

    /// A string for lines.
    pub fn string(&mut self, text: &str) -> Id {
        let id = self.id();
        let end = (0..=text.len().min(4096)).rev().find(|&i| text.is_char_boundary(i));
        let mut words = vec![id];
        words.extend(string_words(&text[..end.unwrap_or(0)]));
        self.strings.push(Op::String, &words);
        id
    }

    // ---- types and constants

    /// An unsigned integer: all integers are declared so, and the operation says how it reads them.
    pub fn int(&mut self, bits: u32) -> Id {
        self.intern(Op::TypeInt, 0, &[bits, 0])
    }

    /// A float.
    pub fn float(&mut self, bits: u32) -> Id {
        self.intern(Op::TypeFloat, 0, &[bits])
    }

    /// `bool`.
    pub fn bool(&mut self) -> Id {
        self.intern(Op::TypeBool, 0, &[])
    }

    /// No value.
    pub fn void(&mut self) -> Id {
        self.intern(Op::TypeVoid, 0, &[])
    }

    /// A vector; of one component: the scalar.
    pub fn vector(&mut self, element: Id, count: u32) -> Id {
        if count == 1 { element } else { self.intern(Op::TypeVector, 0, &[element, count]) }
    }

    /// A pointer.
    pub fn pointer(&mut self, class: StorageClass, to: Id) -> Id {
        self.intern(Op::TypePointer, 0, &[class as u32, to])
    }

    /// A 32-bit constant.
    pub fn u32(&mut self, value: u32) -> Id {
        let ty = self.int(32);
        let id = self.intern(Op::Constant, ty, &[value]);
        self.words.insert(id, value);
        id
    }

    /// The value of a constant made by [`Module::u32`].
    pub fn constant_word(&self, id: Id) -> Option<u32> {
        self.words.get(&id).copied()
    }

    /// An integer constant of a width; the low bits of `value`.
    pub fn int_constant(&mut self, bits: u32, value: u64) -> Id {
        let ty = self.int(bits);
        match bits {
            64 => self.intern(Op::Constant, ty, &[value as u32, (value >> 32) as u32]),
            32 => self.intern(Op::Constant, ty, &[value as u32]),
            _ => self.intern(Op::Constant, ty, &[(value & ((1 << bits) - 1)) as u32]),
        }
    }

    /// A truth value.
    pub fn bool_constant(&mut self, value: bool) -> Id {
        let ty = self.bool();
        self.intern(if value { Op::ConstantTrue } else { Op::ConstantFalse }, ty, &[])
    }

    /// Zero of any type.
    pub fn null(&mut self, ty: Id) -> Id {
        self.intern(Op::ConstantNull, ty, &[])
    }

    // ---- variables

    /// A global variable; `initial` is a constant or 0.
    pub fn variable(&mut self, class: StorageClass, to: Id, initial: Id) -> Id {
        let ty = self.pointer(class, to);
        let mut operands = vec![class as u32];
        operands.extend((initial != 0).then_some(initial));
        let id = self.declare(Op::Variable, ty, &operands);
        self.interface.push((id, class));
        id
    }

    /// A resource at its place.
    pub fn bound(&mut self, class: StorageClass, to: Id, set: u32, binding: u32) -> Id {
        let id = self.variable(class, to, 0);
        self.decorate(id, Decoration::DescriptorSet, &[set]);
        self.decorate(id, Decoration::Binding, &[binding]);
        id
    }

    /// A builtin input.
    pub fn builtin(&mut self, builtin: BuiltIn, ty: Id) -> Id {
        let id = self.variable(StorageClass::Input, ty, 0);
        self.decorate(id, Decoration::BuiltIn, &[builtin as u32]);
        id
    }

    // ---- the end

    /// The names of the capabilities, for metadata.
    pub fn capability_names(&self) -> impl Iterator<Item = Capability> + '_ {
        self.capabilities.iter().filter_map(|&c| Capability::from_u32(c))
    }

    /// The words of the module, whose one function is `entry`; `None` if an instruction is longer than one may be.
    pub fn finish(mut self, name: &str, entry: Id, function: &Code) -> Option<Vec<u32>> {
        let mut all = Code::default();
        for &capability in &self.capabilities {
            all.push(Op::Capability, &[capability]);
        }
        for extension in std::mem::take(&mut self.extensions) {
            all.push(Op::Extension, &string_words(extension));
        }
        if self.glsl != 0 {
            let mut words = vec![self.glsl];
            words.extend(string_words("GLSL.std.450"));
            all.push(Op::ExtInstImport, &words);
        }
        let model = [AddressingModel::Logical as u32, MemoryModel::GLSL450 as u32];
        all.push(Op::MemoryModel, &model);
        let mut words = vec![ExecutionModel::GLCompute as u32, entry];
        words.extend(string_words(name));
        let named = |class| self.minor >= 4 || class == StorageClass::Input;
        words.extend(self.interface.iter().filter(|(_, class)| named(*class)).map(|(id, _)| *id));
        all.push(Op::EntryPoint, &words);
        for (&mode, operands) in &self.modes {
            if mode == ExecutionMode::LocalSize as u32 {
                let mut words = vec![entry, mode];
                words.extend(operands);
                all.push(Op::ExecutionMode, &words);
                continue;
            }
            let widths: BTreeSet<u32> = operands.iter().copied().collect();
            for width in widths {
                all.push(Op::ExecutionMode, &[entry, mode, width]);
            }
        }
        for section in [&self.strings, &self.names, &self.annotations, &self.globals, function] {
            all.append(section);
        }
        if all.too_long {
            return None;
        }
        // Generator 0: not registered.
        let version = 0x0001_0000 | u32::from(self.minor) << 8;
        let mut module = vec![rspirv::spirv::MAGIC_NUMBER, version, 0, self.next, 0];
        module.extend(all.words);
        Some(module)
    }
}
