//! Atomic operations: a chain of indices leads from a buffer or shared variable to one number.

use super::error::{self, Built, fault};
use super::operand::Operand;
use super::session::Session;
use super::value::Value;
use crate::callops::CallOp;
use crate::types::{TypeId, TypeKind};

/// A part of a buffer or shared variable that atomic operations are to work on.
#[derive(Clone, Debug)]
pub struct AtomicRef<'b> {
    /// The base, then the indices.
    chain: Vec<Value<'b>>,
    ty: TypeId,
}

impl Session {
    fn atomic_part(&self, ty: TypeId, member: Option<u32>) -> Built<TypeId> {
        let types = self.types();
        let part = match types.kind(ty) {
            TypeKind::Buffer { elem, .. } => Some(*elem).filter(|e| *e != TypeId::VOID),
            TypeKind::Struct { .. } => member.and_then(|index| types.element_type(ty, index)),
            _ => types.element_type(ty, 0),
        };
        match part {
            Some(part) => Ok(part),
            None => fault(error::NO_PARTS, format!("a `{}` has no such part", self.name(ty))),
        }
    }
}

impl<'b> Value<'b> {
    /// Element of a buffer, or of a shared array, for atomic operations.
    #[track_caller]
    pub fn atomic(self, index: impl Operand<'b>) -> AtomicRef<'b> {
        AtomicRef { chain: vec![self], ty: self.ty }.at(index)
    }

    /// Member of a shared structure, for atomic operations.
    #[track_caller]
    pub fn atomic_member(self, index: u32) -> AtomicRef<'b> {
        AtomicRef { chain: vec![self], ty: self.ty }.member(index)
    }
}

impl<'b> AtomicRef<'b> {
    /// Element of an array, component of a vector.
    #[track_caller]
    pub fn at(&self, index: impl Operand<'b>) -> AtomicRef<'b> {
        let recorder = self.chain[0].recorder;
        self.step(index.into_value(recorder), None)
    }

    /// Member of a structure.
    #[track_caller]
    pub fn member(&self, index: u32) -> AtomicRef<'b> {
        let recorder = self.chain[0].recorder;
        self.step(index.into_value(recorder), Some(index))
    }

    #[track_caller]
    fn step(&self, index: Value<'b>, member: Option<u32>) -> AtomicRef<'b> {
        let recorder = self.chain[0].recorder;
        let part = recorder.step(|s| {
            recorder.same(index.recorder)?;
            s.atomic_part(self.ty, member)
        });
        let mut chain = self.chain.clone();
        chain.push(index);
        AtomicRef { chain, ty: part.unwrap_or(TypeId::VOID) }
    }

    /// Does an operation and gives the old value, a local.
    #[track_caller]
    fn apply(&self, op: CallOp, operands: &[Value<'b>]) -> Value<'b> {
        let recorder = self.chain[0].recorder;
        recorder.value(|s| {
            let mut raws = Vec::new();
            for value in self.chain.iter().chain(operands) {
                recorder.same(value.recorder)?;
                raws.push(value.raw);
            }
            s.builtin(op, &raws, Some(self.ty))
        })
    }

    /// Stores a value if the old one has the bits that are expected.
    #[track_caller]
    pub fn compare_exchange(
        &self,
        expected: impl Operand<'b>,
        desired: impl Operand<'b>,
    ) -> Value<'b> {
        let recorder = self.chain[0].recorder;
        let operands = [expected.into_value(recorder), desired.into_value(recorder)];
        self.apply(CallOp::AtomicCompareExchange, &operands)
    }
}

macro_rules! atomics {
    ($($name:ident $op:ident $text:literal;)*) => {
        impl<'b> AtomicRef<'b> {
            $(
                #[doc = $text]
                #[track_caller]
                pub fn $name(&self, value: impl Operand<'b>) -> Value<'b> {
                    let value = value.into_value(self.chain[0].recorder);
                    self.apply(CallOp::$op, &[value])
                }
            )*
        }
    };
}

atomics! {
    exchange AtomicExchange "Stores a value.";
    fetch_add AtomicFetchAdd "Adds.";
    fetch_sub AtomicFetchSub "Subtracts.";
    fetch_and AtomicFetchAnd "Keeps the bits that are in both.";
    fetch_or AtomicFetchOr "Sets bits.";
    fetch_xor AtomicFetchXor "Flips bits.";
    fetch_min AtomicFetchMin "Keeps the smaller one.";
    fetch_max AtomicFetchMax "Keeps the larger one.";
}
