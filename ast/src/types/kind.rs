//! What a type can be, and which types may stand in which place.

use thiserror::Error;

use super::{Scalar, TypeId, TypeTable};

/// `key` or `key(value)`, attached to a structure member, a buffer or a texture.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Attribute {
    /// An identifier.
    pub key: Box<str>,
    /// An identifier in parentheses.
    pub value: Option<Box<str>>,
}

/// A member of a structure.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Member {
    /// The member's type.
    pub ty: TypeId,
    /// Attributes in the order written.
    pub attrs: Box<[Attribute]>,
}

impl Member {
    /// A member without attributes.
    pub fn plain(ty: TypeId) -> Self {
        Self { ty, attrs: Box::default() }
    }
}

/// What a type is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TypeKind {
    /// No value; as element of a buffer: bytes.
    Void,
    /// A scalar.
    Scalar(Scalar),
    /// 2, 3 or 4 scalars.
    Vector {
        /// Component type.
        elem: Scalar,
        /// Number of components.
        dim: u8,
    },
    /// A square matrix of floats, column-major.
    Matrix {
        /// Number of columns and rows.
        dim: u8,
    },
    /// A fixed number of equal elements.
    Array {
        /// Element type.
        elem: TypeId,
        /// Number of elements, at least 1.
        len: u32,
    },
    /// Members in order, each at its own alignment.
    Struct {
        /// Alignment of the whole: a power of two up to 16, or 0 for that of the members.
        align: u32,
        /// Members in order.
        members: Box<[Member]>,
    },
    /// A buffer in device memory.
    Buffer {
        /// Element type; [`TypeId::VOID`] for a byte buffer.
        elem: TypeId,
        /// Attributes in the order written.
        attrs: Box<[Attribute]>,
    },
    /// One level of a texture.
    Texture {
        /// 2 or 3.
        dim: u8,
        /// What a texel's components read as: `int`, `uint` or `float`.
        elem: Scalar,
        /// Attributes in the order written.
        attrs: Box<[Attribute]>,
    },
    /// A table of buffers and textures.
    BindlessArray,
    /// A ray tracing acceleration structure.
    Accel,
    /// A type known by name only.
    Custom(Box<str>),
    /// A cooperative vector.
    CoopVec {
        /// Component type.
        elem: Scalar,
        /// Number of components.
        len: u32,
    },
    /// A cooperative vector in a byte buffer, named by its offset.
    CoopVecRef {
        /// Number of components.
        len: u32,
        /// Number of the component interpretation.
        interpretation: u32,
    },
    /// A cooperative matrix in a byte buffer, named by its offset.
    CoopMatRef {
        /// First dimension.
        rows: u32,
        /// Second dimension.
        columns: u32,
        /// Number of the component interpretation.
        interpretation: u32,
    },
}

/// Why a type cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TypeError {
    /// The description does not follow the grammar.
    #[error("the type description is wrong at byte {offset}: {expected} expected")]
    Syntax {
        /// Byte offset in the description.
        offset: usize,
        /// What would have been right.
        expected: &'static str,
    },
    /// The description names a type that is not known.
    #[error("there is no type named `{0}`")]
    UnknownName(String),
    /// An element or member that cannot be one.
    #[error("`{element}` cannot be {role}")]
    Element {
        /// Description of the element.
        element: String,
        /// The place it stands in.
        role: &'static str,
    },
    /// A number of components, columns or dimensions that does not exist.
    #[error("{what} cannot have {dim} dimensions")]
    Dimension {
        /// The kind of type.
        what: &'static str,
        /// The number given.
        dim: u64,
    },
    /// An array or cooperative vector without elements.
    #[error("an array must have at least one element")]
    Empty,
    /// A structure alignment that is no power of two up to 16, or less than a member's.
    #[error("a structure with members of alignment {members} cannot have the alignment {align}")]
    Alignment {
        /// The alignment given.
        align: u64,
        /// The largest alignment of a member.
        members: u32,
    },
    /// The size does not fit into 32 bits.
    #[error("the size of the type, {0} bytes, does not fit into 32 bits")]
    Size(u64),
    /// Too many levels of elements.
    #[error("types are nested deeper than {0} levels")]
    Depth(u32),
    /// Too many parts.
    #[error("the type has too many parts: its description would be longer than {0} bytes")]
    Length(u64),
    /// Too many types.
    #[error("all types together have more than {0} parts")]
    Parts(usize),
    /// A name that cannot name a custom type.
    #[error("`{0}` cannot be the name of a custom type")]
    CustomName(String),
}

/// Whether `name` can name a custom type: an identifier that means nothing else.
pub fn is_custom_name(name: &str) -> bool {
    #[rustfmt::skip]
    const RESERVED: [&str; 12] = [
        "void", "vector", "matrix", "array", "struct", "buffer", "texture", "bindless_array", "accel", "coopvec",
        "coopvec_ref", "coopmat_ref",
    ];
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && Scalar::from_name(name).is_none()
        && !RESERVED.contains(&name)
}

/// Whether the rules on elements, dimensions and names hold; sizes are the business of the layout.
pub(super) fn check(types: &TypeTable, kind: &TypeKind) -> Result<(), TypeError> {
    match kind {
        TypeKind::Void | TypeKind::Scalar(_) | TypeKind::BindlessArray | TypeKind::Accel => Ok(()),
        TypeKind::Vector { dim, .. } => check_dimension("a vector", *dim, 2..=4),
        TypeKind::Matrix { dim } => check_dimension("a matrix", *dim, 2..=4),
        TypeKind::Array { elem, len } => {
            check_element(types, *elem, "an array element")?;
            if *len == 0 { Err(TypeError::Empty) } else { Ok(()) }
        }
        TypeKind::Struct { align, members } => check_struct(types, *align, members),
        TypeKind::Buffer { elem, .. } if *elem == TypeId::VOID => Ok(()),
        TypeKind::Buffer { elem, .. } if types.has_attributes(*elem) => {
            Err(element_error(types, *elem, "a buffer element"))
        }
        TypeKind::Buffer { elem, .. } => check_element(types, *elem, "a buffer element"),
        TypeKind::Texture { dim, elem, .. } => {
            check_dimension("a texture", *dim, 2..=3)?;
            match elem {
                Scalar::I32 | Scalar::U32 | Scalar::F32 => Ok(()),
                _ => Err(element_error(types, TypeId::scalar(*elem), "a texture element")),
            }
        }
        TypeKind::Custom(name) if is_custom_name(name) => Ok(()),
        TypeKind::Custom(name) => Err(TypeError::CustomName(name.to_string())),
        TypeKind::CoopVec { len, .. } | TypeKind::CoopVecRef { len, .. } if *len == 0 => {
            Err(TypeError::Empty)
        }
        TypeKind::CoopMatRef { rows, columns, .. } if *rows == 0 || *columns == 0 => {
            Err(TypeError::Empty)
        }
        TypeKind::CoopVec { .. } | TypeKind::CoopVecRef { .. } | TypeKind::CoopMatRef { .. } => {
            Ok(())
        }
    }
}

fn check_dimension(
    what: &'static str,
    dim: u8,
    allowed: std::ops::RangeInclusive<u8>,
) -> Result<(), TypeError> {
    if allowed.contains(&dim) {
        Ok(())
    } else {
        Err(TypeError::Dimension { what, dim: u64::from(dim) })
    }
}

fn check_element(types: &TypeTable, elem: TypeId, role: &'static str) -> Result<(), TypeError> {
    if types.is_data(elem) { Ok(()) } else { Err(element_error(types, elem, role)) }
}

fn element_error(types: &TypeTable, elem: TypeId, role: &'static str) -> TypeError {
    TypeError::Element { element: types.description(elem), role }
}

fn check_struct(types: &TypeTable, align: u32, members: &[Member]) -> Result<(), TypeError> {
    for member in members {
        check_element(types, member.ty, "a structure member")?;
    }
    let largest = members.iter().map(|m| types.align(m.ty)).max().unwrap_or(1);
    let fits = align == 0 || (align.is_power_of_two() && (largest..=16).contains(&align));
    if fits {
        Ok(())
    } else {
        Err(TypeError::Alignment { align: u64::from(align), members: largest })
    }
}
