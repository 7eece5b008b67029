//! Sizes, alignments and member offsets, and the bounds on what a type may be.
//!
//! Everything is computed once, when a type is interned, from the layouts of its elements: no walk over a type is
//! ever needed. Rules: `bool` is a byte; a vector is aligned to its size with three components counting as four, at
//! most 16, and padded to its alignment; a matrix is an array of its columns; arrays are packed; a structure puts
//! each member at its own alignment and pads the whole to the structure's.

use crate::types::{Attribute, Member, Scalar, TypeError, TypeId, TypeKind, TypeTable};

/// Levels of nesting that are allowed.
pub const MAX_DEPTH: u32 = 512;
/// Bytes that a description may have, which bounds the number of parts too.
pub const MAX_DESCRIPTION: u64 = 1 << 20;

/// The layout of a type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Layout {
    /// Bytes.
    pub size: u64,
    /// Bytes, a power of two.
    pub align: u32,
    /// Levels of nesting.
    pub depth: u32,
    /// Length of the description.
    pub description: u64,
    /// Whether some byte of the value is padding.
    pub padded: bool,
    /// Offset of each member of a structure.
    pub offsets: Vec<u32>,
}

impl Layout {
    pub const VOID: Layout = Layout::leaf(0, 1, "void".len());

    const fn leaf(size: u64, align: u32, description: usize) -> Layout {
        Layout {
            size,
            align,
            depth: 0,
            description: description as u64,
            padded: false,
            offsets: Vec::new(),
        }
    }
}

fn digits(n: u32) -> usize {
    n.checked_ilog10().unwrap_or(0) as usize + 1
}

fn round_up(n: u64, align: u32) -> u64 {
    n.next_multiple_of(u64::from(align))
}

pub(crate) fn scalar(scalar: Scalar) -> Layout {
    Layout::leaf(u64::from(scalar.size()), scalar.size(), scalar.name().len())
}

pub(crate) fn vector(elem: Scalar, dim: u8) -> Layout {
    let align = (elem.size() * if dim == 3 { 4 } else { u32::from(dim) }).min(16);
    let filled = u64::from(elem.size()) * u64::from(dim);
    let size = round_up(filled, align);
    let name = "vector<,N>".len() + elem.name().len();
    Layout { depth: 1, padded: size != filled, ..Layout::leaf(size, align, name) }
}

pub(crate) fn matrix(dim: u8) -> Layout {
    let column = vector(Scalar::F32, dim);
    Layout {
        depth: 2,
        padded: column.padded,
        ..Layout::leaf(column.size * u64::from(dim), column.align, "matrix<N>".len())
    }
}

/// The layout of a type whose elements are in `types`.
pub(crate) fn compute(types: &TypeTable, kind: &TypeKind) -> Result<Layout, TypeError> {
    let layout = match kind {
        TypeKind::Void => Layout::VOID,
        TypeKind::Scalar(s) => scalar(*s),
        TypeKind::Vector { elem, dim } => vector(*elem, *dim),
        TypeKind::Matrix { dim } => matrix(*dim),
        TypeKind::Array { elem, len } => array(types.layout(*elem), *len),
        TypeKind::Struct { align, members } => structure(types, *align, members),
        TypeKind::Buffer { elem, attrs } => {
            let elem = types.layout(*elem);
            let name = "buffer<>".len() + attributes(attrs) + elem.description as usize;
            Layout { depth: elem.depth + 1, ..Layout::leaf(8, 8, name) }
        }
        TypeKind::Texture { elem, attrs, .. } => {
            let name = "texture<N,>".len() + attributes(attrs) + elem.name().len();
            Layout { depth: 1, ..Layout::leaf(8, 8, name) }
        }
        TypeKind::BindlessArray => Layout::leaf(8, 8, "bindless_array".len()),
        TypeKind::Accel => Layout::leaf(8, 8, "accel".len()),
        TypeKind::Custom(name) => Layout::leaf(4, 4, name.len()),
        TypeKind::CoopVec { elem, len } => {
            let size = u64::from(elem.size()) * u64::from(*len);
            let name = "coopvec<,>".len() + elem.name().len() + digits(*len);
            Layout { depth: 1, ..Layout::leaf(size, elem.size(), name) }
        }
        TypeKind::CoopVecRef { len, interpretation } => {
            Layout::leaf(0, 1, "coopvec_ref<,>".len() + digits(*len) + digits(*interpretation))
        }
        TypeKind::CoopMatRef { rows, columns, interpretation } => Layout::leaf(
            0,
            1,
            "coopmat_ref<,,>".len() + digits(*rows) + digits(*columns) + digits(*interpretation),
        ),
    };
    check_bounds(layout)
}

fn check_bounds(layout: Layout) -> Result<Layout, TypeError> {
    if layout.size > u64::from(u32::MAX) {
        Err(TypeError::Size(layout.size))
    } else if layout.depth > MAX_DEPTH {
        Err(TypeError::Depth(MAX_DEPTH))
    } else if layout.description > MAX_DESCRIPTION {
        Err(TypeError::Length(MAX_DESCRIPTION))
    } else {
        Ok(layout)
    }
}

/// No overflow: both factors are below 2^32.
fn array(elem: &Layout, len: u32) -> Layout {
    let name = "array<,>".len() + elem.description as usize + digits(len);
    Layout {
        depth: elem.depth + 1,
        padded: elem.padded,
        ..Layout::leaf(elem.size * u64::from(len), elem.align, name)
    }
}

/// No overflow: a member is below 2^32 bytes and a list of members is shorter than that.
fn structure(types: &TypeTable, align: u32, members: &[Member]) -> Layout {
    let mut end = 0u64;
    let mut filled = 0u64;
    let mut offsets = Vec::with_capacity(members.len());
    let mut layout = Layout::leaf(0, align.max(1), "struct<>".len() + digits(align));
    for member in members {
        let inner = types.layout(member.ty);
        let offset = round_up(end, inner.align);
        // A wrapped offset is never seen: the size is refused then.
        offsets.push(offset as u32);
        end = offset + inner.size;
        filled += inner.size;
        layout.align = layout.align.max(inner.align);
        layout.depth = layout.depth.max(inner.depth);
        layout.padded |= inner.padded;
        layout.description += 1 + attributes(&member.attrs) as u64 + inner.description;
    }
    layout.size = round_up(end, layout.align);
    layout.depth += 1;
    layout.padded |= layout.size != filled;
    layout.offsets = offsets;
    layout
}

/// Length of the text `[key(value)]...`.
fn attributes(attrs: &[Attribute]) -> usize {
    attrs.iter().map(|a| 2 + a.key.len() + a.value.as_ref().map_or(0, |v| v.len() + 2)).sum()
}

/// Sets the padding bytes of a value of type `ty` to zero, in place.
///
/// `bytes` is the value in memory layout; bytes missing at its end are not touched, so any length is safe. Cost: one
/// step for each part of the value if there is padding anywhere in the type, none otherwise.
pub fn clear_padding(types: &TypeTable, ty: TypeId, bytes: &mut [u8]) {
    if !types.layout(ty).padded {
        return;
    }
    // Each item is a run of equal values; nesting is bounded by MAX_DEPTH, a run splits into its elements one at a time.
    let mut pending = vec![(ty, 0u64)];
    while let Some((ty, at)) = pending.pop() {
        if !types.layout(ty).padded {
            continue;
        }
        let mut end = at;
        match types.kind(ty) {
            TypeKind::Vector { elem, dim } => end += u64::from(elem.size()) * u64::from(*dim),
            TypeKind::Struct { members, .. } => {
                for (i, member) in members.iter().enumerate() {
                    let offset = at + types.member_offset(ty, i as u32);
                    zero(bytes, end, offset);
                    end = offset + types.size(member.ty);
                    pending.push((member.ty, offset));
                }
            }
            _ => {
                let elem = types.element_type(ty, 0).unwrap_or(TypeId::VOID);
                let stride = types.stride(elem);
                let count = u64::from(types.member_count(ty));
                let held = (bytes.len() as u64).saturating_sub(at).div_ceil(stride.max(1));
                pending.extend((0..count.min(held)).map(|i| (elem, at + i * stride)));
                continue;
            }
        }
        zero(bytes, end, at + types.size(ty));
    }
}

fn zero(bytes: &mut [u8], from: u64, to: u64) {
    let clamp = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
    let (from, to) = (clamp(from), clamp(to));
    if from < to {
        bytes[from..to].fill(0);
    }
}
