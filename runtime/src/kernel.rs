//! Kernels, and what they take.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use luisac_artifact::{
    DataLayout, LayoutError, TypeId, TypeKind,
    metadata::{Argument as Formal, ArgumentKind},
};

use crate::{Device, LoadError, Metadata, RuntimeError, backend::Raw};

/// A kernel on a device. Cheap to clone.
#[derive(Clone)]
pub struct Kernel(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) device: Device,
    pub(crate) metadata: Metadata,
    pub(crate) raw: Raw,
    /// One for each argument.
    pub(crate) formals: Vec<Expected>,
    /// Nanoseconds that a block took lately; 0 if it has not run.
    cost: AtomicU64,
}

/// The type of an argument, in the form that [`Value::describe`](crate::Value::describe) writes.
pub(crate) enum Expected {
    Value(String),
    /// A buffer of this; `None` for a byte buffer.
    Buffer(Option<String>),
    /// Dimension, and what the kernel sees.
    Image(u32, luisac_artifact::Scalar),
    Other,
}

impl Expected {
    fn of(formal: &Formal) -> Result<Self, LayoutError> {
        if matches!(
            formal.kind,
            ArgumentKind::BindlessArray | ArgumentKind::Accel | ArgumentKind::IndirectDispatch
        ) {
            return Ok(Self::Other);
        }
        let layout = DataLayout::parse(&formal.ty)?;
        Ok(match layout.kind(layout.root()) {
            TypeKind::Buffer(element) => Self::Buffer(element.map(|e| canonical(&layout, e))),
            TypeKind::Texture(dimension, element) => Self::Image(*dimension, *element),
            _ => Self::Value(canonical(&layout, layout.root())),
        })
    }
}

impl Kernel {
    /// As [`Device::load`].
    ///
    /// # Safety
    /// As [`Device::load`].
    pub(crate) unsafe fn load(
        device: &Device,
        code: &[u8],
        metadata: Metadata,
    ) -> Result<Self, RuntimeError> {
        metadata.check().map_err(|e| LoadError::Damaged(e.to_string()))?;
        let formals = metadata.arguments.iter().map(Expected::of);
        let formals = formals.collect::<Result<_, _>>();
        let formals = formals.map_err(|e| LoadError::Damaged(e.to_string()))?;
        // SAFETY: the caller's promise.
        let raw = unsafe { device.backend().kernel(code, &metadata)? };
        let cost = AtomicU64::new(0);
        Ok(Self(Arc::new(Inner { device: device.clone(), metadata, raw, formals, cost })))
    }

    /// What the compiler said about it.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.0.metadata
    }

    /// Blocks along x, y, z of a dispatch.
    pub(crate) fn grid(&self, size: [u32; 3]) -> [u64; 3] {
        let block = self.0.metadata.block_size;
        [0, 1, 2].map(|axis| u64::from(size[axis].div_ceil(block[axis].max(1))))
    }

    /// What a dispatch will take, in nanoseconds, going by the last ones; `None` before the first.
    pub(crate) fn estimate(&self, size: [u32; 3]) -> Option<u64> {
        let cost = self.0.cost.load(Ordering::Relaxed);
        let blocks = self.grid(size).into_iter().fold(1u64, u64::saturating_mul);
        if blocks == 0 { Some(0) } else { (cost > 0).then(|| blocks.saturating_mul(cost)) }
    }

    /// Notes what blocks took.
    pub(crate) fn took(&self, blocks: u64, nanoseconds: u64) {
        let now = (nanoseconds / blocks.max(1)).max(1);
        let before = self.0.cost.load(Ordering::Relaxed);
        // A moving mean; the first time counts less, since it finds cold caches.
        let mean = if before == 0 { now } else { before - before / 4 + now / 4 };
        self.0.cost.store(mean.max(1), Ordering::Relaxed);
    }
}

enum Piece {
    Text(&'static str),
    Type(TypeId),
    Number(u64),
}

/// The description of a type without attributes. Keeps its own stack: types nest as deep as they like.
fn canonical(layout: &DataLayout, root: TypeId) -> String {
    use std::fmt::Write;
    let mut out = String::new();
    let mut stack = vec![Piece::Type(root)];
    while let Some(piece) = stack.pop() {
        // A `String` takes everything that is written to it.
        let _ = match piece {
            Piece::Text(text) => out.write_str(text),
            Piece::Number(n) => write!(out, "{n}"),
            Piece::Type(id) => match layout.kind(id) {
                TypeKind::Scalar(s) => out.write_str(s.name()),
                TypeKind::Vector(s, n) => write!(out, "vector<{},{n}>", s.name()),
                TypeKind::Matrix(n) => write!(out, "matrix<{n}>"),
                TypeKind::Array(element, n) => {
                    stack.extend([Piece::Text(">"), Piece::Number(*n), Piece::Text(",")]);
                    stack.push(Piece::Type(*element));
                    out.write_str("array<")
                }
                TypeKind::Struct(members) => {
                    stack.push(Piece::Text(">"));
                    for (member, _) in members.iter().rev() {
                        stack.extend([Piece::Type(*member), Piece::Text(",")]);
                    }
                    write!(out, "struct<{}", layout.align(id))
                }
                TypeKind::Custom(name) => out.write_str(name),
                TypeKind::Buffer(_) => out.write_str("buffer"),
                TypeKind::Texture(n, s) => write!(out, "texture<{n},{}>", s.name()),
                TypeKind::BindlessArray => out.write_str("bindless_array"),
                TypeKind::Accel => out.write_str("accel"),
            },
        };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_say_nothing_about_a_type() {
        let text = "struct<16,[a(b)]int,array<struct<4,float,[c]uint>,3>,matrix<4>>";
        let layout = DataLayout::parse(text).unwrap();
        let plain = "struct<16,int,array<struct<4,float,uint>,3>,matrix<4>>";
        assert_eq!(canonical(&layout, layout.root()), plain);
    }

    #[test]
    fn deep_types_need_no_stack() {
        let text = "array<".repeat(50_000) + "float" + &",1>".repeat(50_000);
        let layout = DataLayout::parse(&text).unwrap();
        assert_eq!(canonical(&layout, layout.root()), text);
    }
}
