//! Questions about types.

use super::{Scalar, TypeId, TypeKind, TypeTable};

impl TypeTable {
    /// The scalar that a scalar, vector or matrix is made of.
    #[inline]
    pub fn scalar_of(&self, id: TypeId) -> Option<Scalar> {
        match self.kind(id) {
            TypeKind::Scalar(s) | TypeKind::Vector { elem: s, .. } => Some(*s),
            TypeKind::Matrix { .. } => Some(Scalar::F32),
            _ => None,
        }
    }

    /// Components of a vector, columns of a matrix, dimensions of a texture, 1 for everything else.
    #[inline]
    pub fn dim(&self, id: TypeId) -> u8 {
        match self.kind(id) {
            TypeKind::Vector { dim, .. }
            | TypeKind::Matrix { dim }
            | TypeKind::Texture { dim, .. } => *dim,
            _ => 1,
        }
    }

    /// `bool`, an integer or a float.
    #[inline]
    pub fn is_scalar(&self, id: TypeId) -> bool {
        matches!(self.kind(id), TypeKind::Scalar(_))
    }

    /// A vector of any scalar.
    #[inline]
    pub fn is_vector(&self, id: TypeId) -> bool {
        matches!(self.kind(id), TypeKind::Vector { .. })
    }

    /// A matrix.
    #[inline]
    pub fn is_matrix(&self, id: TypeId) -> bool {
        matches!(self.kind(id), TypeKind::Matrix { .. })
    }

    /// An array.
    pub fn is_array(&self, id: TypeId) -> bool {
        matches!(self.kind(id), TypeKind::Array { .. })
    }

    /// A structure.
    pub fn is_struct(&self, id: TypeId) -> bool {
        matches!(self.kind(id), TypeKind::Struct { .. })
    }

    /// A structure some member of which has attributes.
    pub fn has_attributes(&self, id: TypeId) -> bool {
        matches!(self.kind(id), TypeKind::Struct { members, .. } if members.iter().any(|m| !m.attrs.is_empty()))
    }

    /// A scalar or vector.
    #[inline]
    pub fn is_scalar_or_vector(&self, id: TypeId) -> bool {
        matches!(self.kind(id), TypeKind::Scalar(_) | TypeKind::Vector { .. })
    }

    /// A scalar or vector of numbers: not of `bool`.
    pub fn is_arithmetic(&self, id: TypeId) -> bool {
        self.is_scalar_or_vector(id) && self.scalar_of(id) != Some(Scalar::Bool)
    }

    /// An integer scalar or vector.
    pub fn is_integer(&self, id: TypeId) -> bool {
        self.is_scalar_or_vector(id) && self.scalar_of(id).is_some_and(Scalar::is_int)
    }

    /// A float scalar or vector; a matrix is neither.
    pub fn is_float(&self, id: TypeId) -> bool {
        self.is_scalar_or_vector(id) && self.scalar_of(id).is_some_and(Scalar::is_float)
    }

    /// `bool` or a vector of it.
    pub fn is_bool(&self, id: TypeId) -> bool {
        self.scalar_of(id) == Some(Scalar::Bool)
    }

    /// A buffer, texture, bindless array or acceleration structure.
    pub fn is_resource(&self, id: TypeId) -> bool {
        matches!(
            self.kind(id),
            TypeKind::Buffer { .. }
                | TypeKind::Texture { .. }
                | TypeKind::BindlessArray
                | TypeKind::Accel
        )
    }

    /// An array or structure.
    #[inline]
    pub fn is_aggregate(&self, id: TypeId) -> bool {
        matches!(self.kind(id), TypeKind::Array { .. } | TypeKind::Struct { .. })
    }

    /// A type known by name only.
    pub fn is_custom(&self, id: TypeId) -> bool {
        matches!(self.kind(id), TypeKind::Custom(_))
    }

    /// The custom type of this name.
    pub fn is_custom_named(&self, id: TypeId, name: &str) -> bool {
        matches!(self.kind(id), TypeKind::Custom(n) if **n == *name)
    }

    /// A ray query object of either kind.
    pub fn is_ray_query(&self, id: TypeId) -> bool {
        self.is_custom_named(id, "LC_RayQueryAll") || self.is_custom_named(id, "LC_RayQueryAny")
    }

    /// A value that memory can hold: scalar, vector, matrix, array, structure or cooperative vector.
    pub fn is_data(&self, id: TypeId) -> bool {
        matches!(
            self.kind(id),
            TypeKind::Scalar(_)
                | TypeKind::Vector { .. }
                | TypeKind::Matrix { .. }
                | TypeKind::Array { .. }
                | TypeKind::Struct { .. }
                | TypeKind::CoopVec { .. }
        )
    }
}
