//! An implementation of `Ops` that computes nothing: it checks the types of all operands, as an emitter relies on
//! them, and counts operations.

use luisac_xir::math::{Binary, Compare, Convert, Ops, Type, Unary};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

/// A value: its type and, for common subexpressions, its number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Typed(pub Type, u32);

/// Counts distinct operations: equal ones on equal operands once, constants and bit casts not at all.
#[derive(Default)]
pub struct Counter {
    known: RefCell<HashMap<String, Typed>>,
    /// Operations.
    pub count: Cell<u32>,
    /// Of those, divisions and square roots.
    pub divisions: Cell<u32>,
    /// Loops.
    pub loops: Cell<u32>,
    /// Whether a double was made.
    pub doubles: Cell<bool>,
    /// Whether a 64-bit word was made.
    pub long_words: Cell<bool>,
}

impl Counter {
    fn node(&self, ty: Type, key: String, counts: bool) -> Typed {
        let mut known = self.known.borrow_mut();
        let next = known.len() as u32;
        *known.entry(key).or_insert_with(|| {
            self.count.set(self.count.get() + u32::from(counts));
            self.doubles.set(self.doubles.get() || ty == Type::F64);
            self.long_words.set(self.long_words.get() || ty == Type::U64);
            Typed(ty, next)
        })
    }

    /// A fresh input.
    pub fn input(&self, ty: Type) -> Typed {
        let number = self.known.borrow().len();
        self.node(ty, format!("input {number}"), false)
    }
}

fn is_float(ty: Type) -> bool {
    matches!(ty, Type::F32 | Type::F64)
}

fn is_word(ty: Type) -> bool {
    matches!(ty, Type::U32 | Type::U64)
}

impl Ops for Counter {
    type Value = Typed;

    fn constant(&self, ty: Type, bits: u64) -> Typed {
        let cut = match ty {
            Type::Bool => bits & 1,
            Type::U32 | Type::F32 => bits & 0xffff_ffff,
            _ => bits,
        };
        self.node(ty, format!("{ty:?} {cut}"), false)
    }

    fn unary(&self, op: Unary, ty: Type, a: Typed) -> Typed {
        assert!(is_float(ty) && a.0 == ty, "{op:?} {ty:?} {a:?}");
        if op == Unary::Sqrt {
            self.divisions.set(self.divisions.get() + 1);
        }
        self.node(ty, format!("{op:?} {a:?}"), true)
    }

    fn binary(&self, op: Binary, ty: Type, a: Typed, b: Typed) -> Typed {
        use Binary::{Add, And, Div, Mul, Or, Sub, Xor};
        let fits = match op {
            Add | Sub | Mul => is_float(ty) || is_word(ty),
            Div => is_float(ty),
            And | Or | Xor => !is_float(ty),
            _ => is_word(ty),
        };
        assert!(fits && a.0 == ty && b.0 == ty, "{op:?} {ty:?} {a:?} {b:?}");
        if op == Div {
            self.divisions.set(self.divisions.get() + 1);
        }
        self.node(ty, format!("{op:?} {a:?} {b:?}"), true)
    }

    fn compare(&self, op: Compare, ty: Type, a: Typed, b: Typed) -> Typed {
        let fits = if op == Compare::SignedLt { is_word(ty) } else { ty != Type::Bool };
        assert!(fits && a.0 == ty && b.0 == ty, "{op:?} {ty:?} {a:?} {b:?}");
        self.node(Type::Bool, format!("{op:?} {a:?} {b:?}"), true)
    }

    fn select(&self, ty: Type, condition: Typed, yes: Typed, no: Typed) -> Typed {
        assert!(
            condition.0 == Type::Bool && yes.0 == ty && no.0 == ty,
            "select {ty:?} {condition:?} {yes:?} {no:?}"
        );
        self.node(ty, format!("select {condition:?} {yes:?} {no:?}"), true)
    }

    fn convert(&self, op: Convert, a: Typed) -> Typed {
        let (from, to) = op.types();
        assert!(a.0 == from, "{op:?} {a:?}");
        let cast =
            matches!(op, Convert::F32Bits | Convert::BitsF32 | Convert::F64Bits | Convert::BitsF64);
        self.node(to, format!("{op:?} {a:?}"), !cast)
    }

    fn loop_while<const N: usize>(
        &self,
        state: [Typed; N],
        condition: impl Fn(&Self, [Typed; N]) -> Typed,
        body: impl Fn(&Self, [Typed; N]) -> [Typed; N],
    ) -> [Typed; N] {
        self.loops.set(self.loops.get() + 1);
        let carried = state.map(|value| self.input(value.0));
        assert_eq!(condition(self, carried).0, Type::Bool);
        let next = body(self, carried);
        assert_eq!(next.map(|value| value.0), state.map(|value| value.0));
        state.map(|value| self.input(value.0))
    }
}
