//! Steps of recording: each one succeeds, or is remembered as the first mistake.

use std::cell::RefCell;
use std::panic::Location;

use cranelift_entity::packed_option::ReservedValue;

use super::error::{self, Built, fault};
use super::session::{Raw, Session};
use super::value::Value;
use crate::layout;
use crate::model::{ExprId, ExprKind};
use crate::types::{Scalar, TypeId};

/// A handle to what a [`Builder`](super::Builder) is building.
#[derive(Clone, Copy)]
pub struct Recorder<'b> {
    pub(super) session: &'b RefCell<Session>,
}

impl<'b> Recorder<'b> {
    /// Does a step that yields a value of the innermost function.
    #[track_caller]
    pub(super) fn value(self, step: impl FnOnce(&mut Session) -> Built<ExprId>) -> Value<'b> {
        let location = Location::caller();
        let mut session = self.session.borrow_mut();
        let made = session.attempt(location, |s| {
            let expr = step(s)?;
            let state = s.top()?;
            Ok((Raw { serial: state.serial, expr }, state.function.exprs[expr].ty))
        });
        // After a mistake values stand for nothing, and nothing is recorded any more.
        let (raw, ty) =
            made.unwrap_or((Raw { serial: 0, expr: ExprId::reserved_value() }, TypeId::VOID));
        Value { recorder: self, raw, ty }
    }

    /// Does a step.
    #[track_caller]
    pub(super) fn step<T>(self, step: impl FnOnce(&mut Session) -> Built<T>) -> Option<T> {
        let location = Location::caller();
        self.session.borrow_mut().attempt(location, step)
    }

    /// Whether both are of one builder.
    pub(super) fn same(self, other: Recorder<'_>) -> Built<()> {
        if std::ptr::eq(self.session, other.session) {
            return Ok(());
        }
        fault(error::FOREIGN, "the value or callable belongs to another builder")
    }
}

impl Session {
    /// A literal of scalar, vector or matrix type in memory layout.
    pub(super) fn literal(&mut self, ty: TypeId, mut bytes: Vec<u8>) -> Built<ExprId> {
        let types = self.types();
        if !types.is_scalar_or_vector(ty) && !types.is_matrix(ty) {
            let message = format!("there is no literal of type `{}`", self.name(ty));
            return fault(error::LITERAL, message);
        }
        layout::clear_padding(types, ty, &mut bytes);
        let bytes = self.top()?.function.add_bytes(&bytes);
        self.push(ty, ExprKind::Literal { bytes })
    }

    /// A literal of `count` scalars, packed.
    pub(super) fn vector_literal(
        &mut self,
        scalar: Scalar,
        count: usize,
        mut bytes: Vec<u8>,
    ) -> Built<ExprId> {
        let Some(dim) = u8::try_from(count).ok().filter(|dim| (2..=4).contains(dim)) else {
            return fault(error::LITERAL, format!("there is no vector of {count} components"));
        };
        let ty = TypeId::vector(scalar, dim);
        bytes.resize(self.types().size(ty) as usize, 0);
        self.literal(ty, bytes)
    }
}
