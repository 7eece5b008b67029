//! The data of a function: values, instructions and their operands. Block order and instruction order are in `layout.rs`.

use crate::op::{BindlessAccess, Effects, Scopes, Space, SpecialRegister};
use crate::operands::{OperandPool, OperandRange};
use crate::{BlockId, ConstBytes, FunctionId, InstId, Op, ValueId};
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{PrimaryMap, SecondaryMap};
use luisac_ast::types::{TypeId, TypeTable};
use rustc_hash::FxHashMap;

/// What a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionKind {
    /// An entry point; returns nothing. The block size has a product of 1 to 1024 and z of 64 at most.
    Kernel {
        block_size: [u32; 3],
    },
    Callable,
    /// A declaration of a native function, by name.
    External,
}

/// How an argument is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArgumentKind {
    /// Data by value.
    Value,
    /// An lvalue: data or a custom type.
    Reference,
    /// Buffer, image, bindless array or acceleration structure.
    Resource,
}

/// A formal argument.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    pub kind: ArgumentKind,
    pub ty: TypeId,
    pub name: Option<Box<str>>,
    /// Its value inside the function.
    pub value: ValueId,
    /// Whether it is a resource that the kernel captured; captured ones come first.
    pub captured: bool,
}

/// What defines a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueDef {
    Inst(InstId),
    /// Position in the argument list.
    Argument(u32),
    /// Index into the constants of the function.
    Constant(u32),
    /// An arbitrary but fixed value; one for each type.
    Undefined,
    Special(SpecialRegister),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ValueData {
    ty: TypeId,
    def: ValueDef,
}

/// Data of an instruction beyond operands and blocks.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Imm {
    #[default]
    None,
    /// Case values of a switch, in the order of its case blocks; the low bits of the selector's width, the rest zero.
    Cases(Box<[u64]>),
    /// Message or format.
    Text(Box<str>),
    Callee(FunctionId),
    /// What a ray query runs for candidates.
    Handlers {
        surface: FunctionId,
        procedural: FunctionId,
    },
    Access(BindlessAccess),
    /// Set of curve bases of a trace or query, as a mask in the order of `ast.md` section 5.
    CurveBases(u8),
}

impl Imm {
    /// The functions named.
    pub fn functions(&self) -> impl Iterator<Item = FunctionId> + use<> {
        let named = match self {
            Imm::Callee(callee) => [Some(*callee), None],
            Imm::Handlers { surface, procedural } => [Some(*surface), Some(*procedural)],
            _ => [None, None],
        };
        named.into_iter().flatten()
    }

    /// The functions named, to be changed.
    pub fn functions_mut(&mut self) -> impl Iterator<Item = &mut FunctionId> {
        let named = match self {
            Imm::Callee(callee) => [Some(callee), None],
            Imm::Handlers { surface, procedural } => [Some(surface), Some(procedural)],
            _ => [None, None],
        };
        named.into_iter().flatten()
    }
}

/// The statement of the input that an instruction comes from: indices of the AST function and of its statement. `NONE` if unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SourceLoc {
    pub function: u32,
    pub statement: u32,
}

impl SourceLoc {
    pub const NONE: SourceLoc = SourceLoc { function: u32::MAX, statement: u32::MAX };
}

impl Default for SourceLoc {
    fn default() -> Self {
        SourceLoc::NONE
    }
}

/// One instruction.
#[derive(Clone, Debug)]
pub struct InstData {
    pub op: Op,
    /// Result type; [`TypeId::VOID`] if there is none.
    pub ty: TypeId,
    pub imm: Imm,
    pub loc: SourceLoc,
    pub(crate) result: PackedOption<ValueId>,
    pub(crate) args: OperandRange,
    /// Few instructions name blocks: the rest should not pay for a list.
    #[allow(clippy::box_collection)]
    blocks: Option<Box<Vec<BlockId>>>,
    pub(crate) block: PackedOption<BlockId>,
    pub(crate) prev: PackedOption<InstId>,
    pub(crate) next: PackedOption<InstId>,
}

impl InstData {
    #[inline]
    fn blocks(&self) -> &[BlockId] {
        self.blocks.as_deref().map_or(&[], Vec::as_slice)
    }

    pub(crate) fn forget_blocks(&mut self) {
        self.blocks = None;
    }
}

// The longest kernels have tens of millions of instructions.
const _: () = assert!(std::mem::size_of::<InstData>() <= 72);

/// A function: arenas of blocks, instructions and values, and the order of both.
#[derive(Clone, Debug)]
pub struct Function {
    pub name: String,
    pub kind: FunctionKind,
    pub return_type: TypeId,
    pub arguments: Vec<Argument>,
    /// Never inlined.
    pub no_inline: bool,
    pub(crate) values: PrimaryMap<ValueId, ValueData>,
    pub(crate) insts: PrimaryMap<InstId, InstData>,
    pub(crate) blocks: PrimaryMap<BlockId, crate::layout::BlockData>,
    pub(crate) layout: crate::layout::BlockOrder,
    operands: OperandPool,
    constants: Vec<(TypeId, ConstBytes)>,
    constant_values: FxHashMap<(TypeId, ConstBytes), ValueId>,
    undefined: FxHashMap<TypeId, ValueId>,
    specials: [PackedOption<ValueId>; SpecialRegister::ALL.len()],
    names: FxHashMap<ValueId, Box<str>>,
    comments: FxHashMap<InstId, Box<str>>,
}

impl Function {
    /// A function without arguments and blocks.
    pub fn new(name: impl Into<String>, kind: FunctionKind, return_type: TypeId) -> Function {
        Function {
            name: name.into(),
            kind,
            return_type,
            arguments: Vec::new(),
            no_inline: false,
            values: PrimaryMap::new(),
            insts: PrimaryMap::new(),
            blocks: PrimaryMap::new(),
            layout: Default::default(),
            operands: OperandPool::default(),
            constants: Vec::new(),
            constant_values: FxHashMap::default(),
            undefined: FxHashMap::default(),
            specials: Default::default(),
            names: FxHashMap::default(),
            comments: FxHashMap::default(),
        }
    }

    /// Whether this is an entry point.
    #[inline]
    pub fn is_kernel(&self) -> bool {
        matches!(self.kind, FunctionKind::Kernel { .. })
    }

    /// Whether there is a body.
    #[inline]
    pub fn has_body(&self) -> bool {
        self.entry().is_some()
    }

    // ---- values

    /// Appends a formal argument.
    pub fn add_argument(
        &mut self,
        kind: ArgumentKind,
        ty: TypeId,
        name: Option<&str>,
        captured: bool,
    ) -> ValueId {
        let def = ValueDef::Argument(self.arguments.len() as u32);
        let value = self.values.push(ValueData { ty, def });
        self.arguments.push(Argument { kind, ty, name: name.map(Into::into), value, captured });
        value
    }

    /// Removes formal argument `index`, which must have no use; call sites are the caller's care.
    pub fn remove_argument(&mut self, index: usize) {
        self.retain_arguments(|i| i != index);
    }

    /// Keeps the formal arguments at the positions that `keep` names; the others must have no use. Call sites are the caller's
    /// care.
    pub fn retain_arguments(&mut self, keep: impl Fn(usize) -> bool) {
        let mut kept = Vec::with_capacity(self.arguments.len());
        for (i, argument) in std::mem::take(&mut self.arguments).into_iter().enumerate() {
            if keep(i) {
                self.values[argument.value].def = ValueDef::Argument(kept.len() as u32);
                kept.push(argument);
            } else {
                assert!(!self.has_uses(argument.value), "argument still has uses");
            }
        }
        self.arguments = kept;
    }

    /// The interned constant of these bytes (memory layout, padding zero).
    pub fn constant(&mut self, ty: TypeId, bytes: impl Into<ConstBytes>) -> ValueId {
        let key = (ty, bytes.into());
        if let Some(&value) = self.constant_values.get(&key) {
            return value;
        }
        let def = ValueDef::Constant(self.constants.len() as u32);
        let value = self.values.push(ValueData { ty, def });
        self.constants.push(key.clone());
        self.constant_values.insert(key, value);
        value
    }

    /// The scalar constant with these low bits.
    pub fn scalar_constant(&mut self, ty: TypeId, bits: u64, types: &TypeTable) -> ValueId {
        self.constant(ty, ConstBytes::from_bits(bits, types.size(ty) as usize))
    }

    /// A `uint` constant.
    pub fn u32_constant(&mut self, value: u32) -> ValueId {
        self.constant(TypeId::U32, ConstBytes::from_bits(value.into(), 4))
    }

    /// A `bool` constant.
    pub fn bool_constant(&mut self, value: bool) -> ValueId {
        self.constant(TypeId::BOOL, ConstBytes::from_bits(value.into(), 1))
    }

    /// The all-zero constant of a data type.
    pub fn zero(&mut self, ty: TypeId, types: &TypeTable) -> ValueId {
        self.constant(ty, vec![0; types.size(ty) as usize])
    }

    /// The undefined value of a type.
    pub fn undefined(&mut self, ty: TypeId) -> ValueId {
        let values = &mut self.values;
        *self
            .undefined
            .entry(ty)
            .or_insert_with(|| values.push(ValueData { ty, def: ValueDef::Undefined }))
    }

    /// The value of a special register.
    pub fn special(&mut self, register: SpecialRegister) -> ValueId {
        let slot = register as usize;
        if let Some(value) = self.specials[slot].expand() {
            return value;
        }
        let value =
            self.values.push(ValueData { ty: register.ty(), def: ValueDef::Special(register) });
        self.specials[slot] = value.into();
        value
    }

    /// Type of a value (of the memory named, for an lvalue).
    #[inline]
    pub fn value_type(&self, value: ValueId) -> TypeId {
        self.values[value].ty
    }

    /// What defines a value.
    #[inline]
    pub fn value_def(&self, value: ValueId) -> ValueDef {
        self.values[value].def
    }

    /// The instruction that defines a value.
    #[inline]
    pub fn def_inst(&self, value: ValueId) -> Option<InstId> {
        match self.values[value].def {
            ValueDef::Inst(inst) => Some(inst),
            _ => None,
        }
    }

    /// The bytes of a constant.
    #[inline]
    pub fn constant_bytes(&self, value: ValueId) -> Option<&ConstBytes> {
        match self.values[value].def {
            ValueDef::Constant(index) => Some(&self.constants[index as usize].1),
            _ => None,
        }
    }

    /// The bits of a constant of at most eight bytes, zero-extended.
    #[inline]
    pub fn constant_bits(&self, value: ValueId) -> Option<u64> {
        let bytes = self.constant_bytes(value)?.as_slice();
        if bytes.len() > 8 {
            return None;
        }
        let mut buffer = [0; 8];
        buffer[..bytes.len()].copy_from_slice(bytes);
        Some(u64::from_le_bytes(buffer))
    }

    /// Whether the value names memory: alloca, gep or reference argument.
    #[inline]
    pub fn is_lvalue(&self, value: ValueId) -> bool {
        match self.values[value].def {
            ValueDef::Inst(inst) => matches!(self.insts[inst].op, Op::Alloca(_) | Op::Gep),
            ValueDef::Argument(index) => {
                self.arguments[index as usize].kind == ArgumentKind::Reference
            }
            _ => false,
        }
    }

    /// Whether the value is a resource argument.
    #[inline]
    pub fn is_resource(&self, value: ValueId) -> bool {
        matches!(self.values[value].def, ValueDef::Argument(i) if self.arguments[i as usize].kind == ArgumentKind::Resource)
    }

    /// The number of value ids handed out; every id is below it.
    #[inline]
    pub fn value_count(&self) -> usize {
        self.values.len()
    }

    /// Diagnostic name of a value.
    pub fn name_of(&self, value: ValueId) -> Option<&str> {
        self.names.get(&value).map(|n| &**n)
    }

    /// Sets the diagnostic name of a value.
    pub fn set_name(&mut self, value: ValueId, name: impl Into<Box<str>>) {
        self.names.insert(value, name.into());
    }

    /// Comment in front of an instruction.
    pub fn comment_of(&self, inst: InstId) -> Option<&str> {
        self.comments.get(&inst).map(|c| &**c)
    }

    /// Sets the comment in front of an instruction.
    pub fn set_comment(&mut self, inst: InstId, comment: impl Into<Box<str>>) {
        self.comments.insert(inst, comment.into());
    }

    // ---- instructions

    /// Makes an instruction that is in no block yet. A non-void `ty` gives it a result value.
    pub fn create_inst(
        &mut self,
        op: Op,
        ty: TypeId,
        args: &[ValueId],
        blocks: &[BlockId],
        imm: Imm,
    ) -> InstId {
        let inst = self.insts.push(InstData {
            op,
            ty,
            imm,
            loc: SourceLoc::NONE,
            result: None.into(),
            args: OperandRange::default(),
            blocks: (!blocks.is_empty()).then(|| Box::new(blocks.to_vec())),
            block: None.into(),
            prev: None.into(),
            next: None.into(),
        });
        self.insts[inst].args = self.operands.allocate(inst, args);
        if ty != TypeId::VOID {
            let value = self.values.push(ValueData { ty, def: ValueDef::Inst(inst) });
            self.insts[inst].result = value.into();
        }
        inst
    }

    /// The data of an instruction.
    #[inline]
    pub fn inst(&self, inst: InstId) -> &InstData {
        &self.insts[inst]
    }

    /// The operation of an instruction.
    #[inline]
    pub fn op(&self, inst: InstId) -> Op {
        self.insts[inst].op
    }

    /// Replaces the operation; operands, type and blocks must fit the new one.
    pub fn set_op(&mut self, inst: InstId, op: Op) {
        self.insts[inst].op = op;
    }

    /// Replaces the data beside operands and blocks.
    pub fn set_imm(&mut self, inst: InstId, imm: Imm) {
        self.insts[inst].imm = imm;
    }

    /// Sets where the instruction comes from.
    pub fn set_loc(&mut self, inst: InstId, loc: SourceLoc) {
        self.insts[inst].loc = loc;
    }

    /// Changes where each instruction comes from.
    pub fn map_locs(&mut self, f: impl Fn(SourceLoc) -> SourceLoc) {
        for data in self.insts.values_mut() {
            data.loc = f(data.loc);
        }
    }

    /// The result value, if there is one.
    #[inline]
    pub fn result(&self, inst: InstId) -> Option<ValueId> {
        self.insts[inst].result.expand()
    }

    /// The operands.
    #[inline]
    pub fn args(&self, inst: InstId) -> &[ValueId] {
        self.operands.slice(self.insts[inst].args)
    }

    /// Operand `index`.
    #[inline]
    pub fn arg(&self, inst: InstId, index: usize) -> ValueId {
        self.args(inst)[index]
    }

    /// Replaces operand `index`.
    pub fn set_arg(&mut self, inst: InstId, index: usize, value: ValueId) {
        self.operands.set(self.insts[inst].args, index, value);
    }

    /// Replaces all operands.
    pub fn set_args(&mut self, inst: InstId, args: &[ValueId]) {
        self.operands.clear(&mut self.insts[inst].args);
        self.insts[inst].args = self.operands.allocate(inst, args);
    }

    /// Appends an operand.
    pub fn push_arg(&mut self, inst: InstId, value: ValueId) {
        self.operands.push(&mut self.insts[inst].args, inst, value);
    }

    /// Removes operand `index`; later ones move down.
    pub fn remove_arg(&mut self, inst: InstId, index: usize) {
        self.operands.remove(&mut self.insts[inst].args, index);
    }

    /// The blocks named: CFG successors, then roles (incoming blocks for a phi).
    #[inline]
    pub fn inst_blocks(&self, inst: InstId) -> &[BlockId] {
        self.insts[inst].blocks()
    }

    /// The blocks named, to be changed.
    pub fn inst_blocks_mut(&mut self, inst: InstId) -> &mut Vec<BlockId> {
        self.insts[inst].blocks.get_or_insert_default()
    }

    /// The CFG successors that a terminator names, in operand order, duplicates included.
    #[inline]
    pub fn successors_of(&self, inst: InstId) -> &[BlockId] {
        let data = &self.insts[inst];
        if !data.op.is_terminator() {
            return &[];
        }
        &data.blocks()[..data.blocks().len().saturating_sub(data.op.role_count())]
    }

    /// The merge block of a structured terminator.
    pub fn merge_of(&self, inst: InstId) -> Option<BlockId> {
        let data = &self.insts[inst];
        if data.op.has_merge() { data.blocks().last().copied() } else { None }
    }

    // ---- uses

    /// The uses of a value as (user, operand index), latest first.
    #[inline]
    pub fn uses(&self, value: ValueId) -> impl Iterator<Item = (InstId, usize)> + '_ {
        self.operands
            .uses(value)
            .map(|(user, slot)| (user, OperandPool::index_in(self.insts[user].args, slot)))
    }

    /// Whether anything uses the value.
    #[inline]
    pub fn has_uses(&self, value: ValueId) -> bool {
        self.uses(value).next().is_some()
    }

    /// Makes every use of `old` a use of `new`; costs O(uses of `old`).
    pub fn replace_all_uses(&mut self, old: ValueId, new: ValueId) {
        self.operands.replace_all(old, new);
    }

    #[cfg(test)]
    pub(crate) fn forget_uses(&mut self, value: ValueId) {
        self.operands.forget_uses(value);
    }

    pub(crate) fn drop_operands(&mut self, inst: InstId) {
        self.operands.clear(&mut self.insts[inst].args);
    }

    // ---- effects

    /// The lvalue or resource at the bottom of a chain of geps.
    #[inline]
    pub fn base_of(&self, value: ValueId) -> ValueId {
        let mut base = value;
        while let ValueDef::Inst(inst) = self.values[base].def {
            if self.insts[inst].op != Op::Gep {
                break;
            }
            base = self.arg(inst, 0);
        }
        base
    }

    /// The scopes that an lvalue or resource may lie in.
    pub fn scopes_of(&self, value: ValueId) -> Scopes {
        match self.values[self.base_of(value)].def {
            ValueDef::Inst(inst) => match self.insts[inst].op {
                Op::Alloca(Space::Local) => Scopes::LOCAL,
                Op::Alloca(Space::Shared) => Scopes::SHARED,
                _ => Scopes::ALL,
            },
            ValueDef::Argument(i) if self.arguments[i as usize].kind == ArgumentKind::Resource => {
                Scopes::GLOBAL
            }
            _ => Scopes::ALL,
        }
    }

    /// What an instruction reads and writes. Terminators are volatile.
    pub fn effects(&self, inst: InstId) -> Effects {
        match self.insts[inst].op {
            Op::Phi | Op::Alloca(_) | Op::Clock => Effects { numberable: false, ..Effects::PURE },
            Op::Arithmetic(_) | Op::Cast(_) | Op::Gep => Effects::PURE,
            Op::Load => Effects::read(self.scopes_of(self.arg(inst, 0))),
            Op::Store => Effects::write(self.scopes_of(self.arg(inst, 0))),
            Op::Atomic(_) => Effects::read_write(self.scopes_of(self.arg(inst, 0))),
            Op::ResourceQuery(op) if op.reads_accel() => Effects::read(Scopes::GLOBAL),
            Op::ResourceQuery(_) => Effects::PURE,
            Op::ResourceRead(op) if op.is_volatile() => Effects::VOLATILE,
            Op::ResourceRead(_) => Effects::read(Scopes::GLOBAL),
            Op::ResourceWrite(op) if op.is_volatile() => Effects::VOLATILE,
            Op::ResourceWrite(_) => Effects::write(Scopes::GLOBAL),
            Op::RayQueryRead(_) => Effects::read(Scopes::LOCAL),
            Op::RayQueryWrite(_) => Effects::read_write(Scopes::LOCAL),
            Op::Autodiff(_) => Effects { ..Effects::VOLATILE },
            Op::ThreadGroup(_) => Effects { convergent: true, ..Effects::VOLATILE },
            Op::Call | Op::RayQueryPipeline => {
                Effects { convergent: true, ..Effects::read_write(Scopes::ALL) }
            }
            Op::Print | Op::Assert | Op::Assume => Effects::VOLATILE,
            _ => Effects::VOLATILE,
        }
    }
}

impl Function {
    /// All instruction ids ever made, placed or not; side tables can be sized by it.
    #[inline]
    pub fn inst_count(&self) -> usize {
        self.insts.len()
    }

    /// Bytes that the arenas hold, in use or not; lists of blocks, text and long constants are left out.
    pub fn memory(&self) -> usize {
        fn bytes<T>(count: usize) -> usize {
            count * size_of::<T>()
        }
        bytes::<ValueData>(self.values.len())
            + bytes::<InstData>(self.insts.len())
            + bytes::<crate::layout::BlockData>(self.blocks.len())
            + bytes::<(TypeId, ConstBytes)>(self.constants.len())
            + self.operands.memory()
    }

    /// An empty side table over values.
    pub fn value_map<V: Clone + Default>(&self) -> SecondaryMap<ValueId, V> {
        SecondaryMap::with_capacity(self.values.len())
    }
}
