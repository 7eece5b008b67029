//! Variables, places, loads and stores.
//!
//! A place may have another form than values have (`types.rs`). Then a value is taken apart down to its leaves; long arrays by a loop
//! through a variable of the thread, so that the code stays small.

use luisac_ast::types::{Scalar, TypeId};
use luisac_xir::op::Space;
use luisac_xir::{InstId, ValueId};
use rspirv::spirv::{MemoryAccess, Op, StorageClass};

use super::function::FnEmit;
use super::module::Id;
use super::types::{Form, Leaf, leaf};
use super::{Emit, internal};

/// Where a value lies.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The pointer.
    pub pointer: Id,
    /// What it points into.
    pub class: StorageClass,
    /// The type of the value there.
    pub ty: TypeId,
    /// The form that it has there.
    pub form: Form,
    /// Never merged or moved.
    pub volatile: bool,
}

/// Elements of an array that are copied one by one; more are copied by a loop.
const UNROLLED: u32 = 16;
/// Likewise for the bytes of an array of arrays or structures.
const MOST_UNROLLED_BYTES: u64 = 512;

impl FnEmit<'_> {
    /// `alloca`
    pub fn alloca(&mut self, inst: InstId, space: Space) -> Emit<()> {
        let Some(value) = self.func.result(inst) else { return Ok(()) };
        let ty = self.func.inst(inst).ty;
        let place = match space {
            Space::Local => {
                let id = self.ty(ty)?;
                // Variables of the function are made once, at its entry: that is where locals are zero.
                let pointer = self.local(id, true);
                Place {
                    pointer,
                    class: StorageClass::Function,
                    ty,
                    form: Form::REGISTER,
                    volatile: false,
                }
            }
            Space::Shared => {
                let form = self.interface.shared_form(value);
                let id = self.form_type(ty, form)?;
                let pointer = self.m.variable(StorageClass::Workgroup, id, 0);
                self.interface.note_shared(self.xir.types.size(ty), self.xir.types.align(ty));
                Place { pointer, class: StorageClass::Workgroup, ty, form, volatile: false }
            }
        };
        self.places.insert(value, place);
        Ok(())
    }

    /// The place that an lvalue names.
    pub fn place(&self, value: ValueId) -> Emit<Place> {
        self.places.get(&value).copied().ok_or_else(|| internal("an operand that is no place"))
    }

    /// `gep`
    pub fn gep(&mut self, inst: InstId) -> Emit<()> {
        let args = self.func.args(inst);
        let Some((&base, indices)) = args.split_first() else {
            return Err(internal("a gep without a base"));
        };
        let place = self.place(base)?;
        let element = self.element(place, indices)?;
        if let Some(value) = self.func.result(inst) {
            self.places.insert(value, element);
        }
        Ok(())
    }

    /// The place of an element.
    pub fn element(&mut self, place: Place, indices: &[ValueId]) -> Emit<Place> {
        if indices.is_empty() {
            return Ok(place);
        }
        let mut ty = place.ty;
        let mut path = Vec::with_capacity(indices.len());
        for &index in indices {
            let (id, inner) = self.step(ty, index)?;
            path.push(id);
            ty = inner;
        }
        self.walk(place, &path, ty)
    }

    /// One step of a path: the index as 32 bits, and the type of the element.
    pub fn step(&mut self, ty: TypeId, index: ValueId) -> Emit<(Id, TypeId)> {
        let table = self.table();
        let constant =
            self.func.constant_bits(index).filter(|&i| i < table.member_count(ty).into());
        if table.is_struct(ty) && constant.is_none() {
            return Err(internal("a dynamic index into a structure"));
        }
        let Some(inner) = table.element_type(ty, constant.unwrap_or(0) as u32) else {
            return Err(internal("an index into something without elements"));
        };
        let id = match constant {
            Some(i) => self.m.u32(i as u32),
            None => self.index(index)?,
        };
        Ok((id, inner))
    }

    fn walk(&mut self, place: Place, path: &[Id], ty: TypeId) -> Emit<Place> {
        let element = self.form_type(ty, place.form)?;
        let pointer = self.m.pointer(place.class, element);
        let mut operands = vec![place.pointer];
        operands.extend_from_slice(path);
        Ok(Place { pointer: self.op(Op::AccessChain, pointer, &operands), ty, ..place })
    }

    fn member(&mut self, place: Place, index: Id, ty: TypeId) -> Emit<Place> {
        self.walk(place, &[index], ty)
    }

    /// An index as 32 bits. Longer ones are cut: what they would reach beyond that is out of range everywhere.
    pub fn index(&mut self, value: ValueId) -> Emit<Id> {
        let scalar = self.scalar_of(value)?;
        let id = self.value(value)?;
        self.word_of(id, scalar)
    }

    /// An integer as 32 bits.
    pub fn word_of(&mut self, id: Id, scalar: Scalar) -> Emit<Id> {
        let word = self.m.int(32);
        Ok(match (scalar.bits(), scalar.is_signed()) {
            (32, _) => id,
            (64, _) => self.op(Op::UConvert, word, &[id]),
            (_, true) => self.op(Op::SConvert, word, &[id]),
            _ => self.op(Op::UConvert, word, &[id]),
        })
    }

    /// The value at a place.
    pub fn load(&mut self, place: Place) -> Emit<Id> {
        let register = self.ty(place.ty)?;
        let stored = self.form_type(place.ty, place.form)?;
        if register == stored {
            return Ok(self.load_as(place, register));
        }
        let table = self.table();
        if let Some(scalar) = table.scalar_of(place.ty).filter(|_| !table.is_matrix(place.ty)) {
            let raw = self.load_as(place, stored);
            let count = u32::from(table.dim(place.ty));
            return self.leaf_to_register(raw, scalar, place.form, count);
        }
        let count = table.member_count(place.ty);
        if self.copies_by_loop(place.ty) {
            let temporary = self.local(register, false);
            let to = self.thread_place(temporary, place.ty);
            self.copy_elements(place, to, count)?;
            return self.load(to);
        }
        let mut parts = Vec::with_capacity(count as usize);
        for i in 0..count {
            let Some(inner) = table.element_type(place.ty, i) else { continue };
            let index = self.m.u32(i);
            let member = self.member(place, index, inner)?;
            parts.push(self.load(member)?);
        }
        Ok(self.op(Op::CompositeConstruct, register, &parts))
    }

    /// Stores a value.
    pub fn store(&mut self, place: Place, value: Id) -> Emit<()> {
        let register = self.ty(place.ty)?;
        let stored = self.form_type(place.ty, place.form)?;
        if register == stored {
            self.store_as(place, value);
            return Ok(());
        }
        let table = self.table();
        if let Some(scalar) = table.scalar_of(place.ty).filter(|_| !table.is_matrix(place.ty)) {
            let count = u32::from(table.dim(place.ty));
            let raw = self.leaf_from_register(value, scalar, place.form, count)?;
            self.store_as(place, raw);
            return Ok(());
        }
        let count = table.member_count(place.ty);
        if self.copies_by_loop(place.ty) {
            let temporary = self.local(register, false);
            let from = self.thread_place(temporary, place.ty);
            self.store(from, value)?;
            return self.copy_elements(from, place, count);
        }
        for i in 0..count {
            let Some(inner) = table.element_type(place.ty, i) else { continue };
            let index = self.m.u32(i);
            let member = self.member(place, index, inner)?;
            let ty = self.ty(inner)?;
            let part = self.op(Op::CompositeExtract, ty, &[value, i]);
            self.store(member, part)?;
        }
        Ok(())
    }

    /// A variable of the thread as a place.
    pub fn thread_place(&self, pointer: Id, ty: TypeId) -> Place {
        Place { pointer, class: StorageClass::Function, ty, form: Form::REGISTER, volatile: false }
    }

    /// Whether an array is so long that its elements are copied by a loop.
    fn copies_by_loop(&self, ty: TypeId) -> bool {
        let table = self.table();
        let count = table.member_count(ty);
        table.is_array(ty)
            && (count > UNROLLED || count > 1 && table.size(ty) > MOST_UNROLLED_BYTES)
    }

    fn copy_elements(&mut self, from: Place, to: Place, count: u32) -> Emit<()> {
        let Some(inner) = self.table().element_type(from.ty, 0) else {
            return Err(internal("a copy of something without elements"));
        };
        self.counted(count, |f, index| {
            let (from, to) = (f.member(from, index, inner)?, f.member(to, index, inner)?);
            let value = f.load(from)?;
            f.store(to, value)
        })
    }

    fn load_as(&mut self, place: Place, ty: Id) -> Id {
        let mut operands = vec![place.pointer];
        operands.extend(place.volatile.then_some(MemoryAccess::VOLATILE.bits()));
        self.op(Op::Load, ty, &operands)
    }

    fn store_as(&mut self, place: Place, value: Id) {
        let mut operands = vec![place.pointer, value];
        operands.extend(place.volatile.then_some(MemoryAccess::VOLATILE.bits()));
        self.blocks.push(Op::Store, &operands);
    }

    /// A scalar or vector as it was read from memory of a form, in register form.
    pub fn leaf_to_register(
        &mut self,
        raw: Id,
        scalar: Scalar,
        form: Form,
        count: u32,
    ) -> Emit<Id> {
        let register = self.vector_type(scalar, count)?;
        Ok(match (leaf(scalar, Form::REGISTER), leaf(scalar, form)) {
            (Leaf::Bool, Leaf::Int(8)) => {
                // Bytes can be read and widened without arithmetic on them.
                let word = self.m.int(32);
                let words = self.m.vector(word, count);
                let wide = self.op(Op::UConvert, words, &[raw]);
                let zero = self.m.null(words);
                self.op(Op::INotEqual, register, &[wide, zero])
            }
            (Leaf::Int(a), Leaf::Int(b)) if a != b => self.op(Op::UConvert, register, &[raw]),
            (Leaf::Float(a), Leaf::Int(b)) if a == b => self.op(Op::Bitcast, register, &[raw]),
            (Leaf::Float(a), Leaf::Int(_)) => {
                let narrow = self.vector_type(integer_of(a), count)?;
                let bits = self.op(Op::UConvert, narrow, &[raw]);
                self.op(Op::Bitcast, register, &[bits])
            }
            _ => raw,
        })
    }

    /// A scalar or vector in register form, as memory of a form takes it.
    pub fn leaf_from_register(
        &mut self,
        value: Id,
        scalar: Scalar,
        form: Form,
        n: u32,
    ) -> Emit<Id> {
        Ok(match (leaf(scalar, Form::REGISTER), leaf(scalar, form)) {
            (Leaf::Bool, Leaf::Int(bits)) => {
                let word = self.m.int(32);
                let words = self.m.vector(word, n);
                let (zero, one) = (self.m.u32(0), self.m.u32(1));
                let (zero, one) = (self.splat(words, zero, n), self.splat(words, one, n));
                let wide = self.op(Op::Select, words, &[value, one, zero]);
                let narrow = self.m.int(bits);
                let narrow = self.m.vector(narrow, n);
                self.op(Op::UConvert, narrow, &[wide])
            }
            (Leaf::Int(a), Leaf::Int(b)) if a != b => {
                let wide = self.m.int(b);
                let wide = self.m.vector(wide, n);
                self.op(Op::UConvert, wide, &[value])
            }
            (Leaf::Float(a), Leaf::Int(b)) => {
                let same = self.vector_type(integer_of(a), n)?;
                let bits = self.op(Op::Bitcast, same, &[value]);
                if a == b {
                    return Ok(bits);
                }
                let wide = self.m.int(b);
                let wide = self.m.vector(wide, n);
                self.op(Op::UConvert, wide, &[bits])
            }
            _ => value,
        })
    }

    /// A constant in each component.
    pub fn splat(&mut self, ty: Id, constant: Id, count: u32) -> Id {
        if count == 1 {
            return constant;
        }
        let parts = vec![constant; count as usize];
        self.m.intern(Op::ConstantComposite, ty, &parts)
    }
}

/// The unsigned integer of a width.
pub fn integer_of(bits: u32) -> Scalar {
    match bits {
        8 => Scalar::U8,
        16 => Scalar::U16,
        64 => Scalar::U64,
        _ => Scalar::U32,
    }
}
