//! Expressions.

use cranelift_entity::packed_option::PackedOption;

use super::{
    ByteRange, ConstantId, ExprId, ExprList, ExternalId, FunctionId, TextRange, VariableId,
};
use crate::callops::CallOp;
use crate::types::TypeId;

macro_rules! named {
    ($(#[$meta:meta])* $ty:ident { $($(#[$doc:meta])* $variant:ident $name:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $ty {
            $($(#[$doc])* $variant,)*
        }

        impl $ty {
            /// All, in order of their numbers.
            pub const ALL: &[$ty] = &[$($ty::$variant,)*];

            /// The name as files write it.
            pub const fn name(self) -> &'static str {
                match self {
                    $($ty::$variant => $name,)*
                }
            }

            /// The one of a name as files write it.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some($ty::$variant),)*
                    _ => None,
                }
            }
        }
    };
}
pub(super) use named;

named! {
    /// Operation on one operand.
    UnaryOp {
        /// `+x`
        Plus "PLUS",
        /// `-x`
        Minus "MINUS",
        /// `!x`
        Not "NOT",
        /// `~x`
        BitNot "BIT_NOT",
    }
}

named! {
    /// Operation on two operands.
    BinaryOp {
        /// `a + b`
        Add "ADD",
        /// `a - b`
        Sub "SUB",
        /// `a * b`
        Mul "MUL",
        /// `a / b`
        Div "DIV",
        /// `a % b`
        Mod "MOD",
        /// `a & b`
        BitAnd "BIT_AND",
        /// `a | b`
        BitOr "BIT_OR",
        /// `a ^ b`
        BitXor "BIT_XOR",
        /// `a << b`
        Shl "SHL",
        /// `a >> b`
        Shr "SHR",
        /// Both, both evaluated.
        And "AND",
        /// Either, both evaluated.
        Or "OR",
        /// `a < b`
        Less "LESS",
        /// `a > b`
        Greater "GREATER",
        /// `a <= b`
        LessEqual "LESS_EQUAL",
        /// `a >= b`
        GreaterEqual "GREATER_EQUAL",
        /// `a == b`
        Equal "EQUAL",
        /// `a != b`
        NotEqual "NOT_EQUAL",
    }
}

named! {
    /// How a CAST converts.
    CastOp {
        /// By value.
        Static "STATIC",
        /// By bits.
        Bitwise "BITWISE",
    }
}

impl BinaryOp {
    /// A comparison, the result of which is `bool`.
    pub fn is_relational(self) -> bool {
        self >= BinaryOp::Less
    }

    /// AND or OR of truth values.
    pub fn is_logical(self) -> bool {
        matches!(self, BinaryOp::And | BinaryOp::Or)
    }

    /// Only for integers and `bool`: `& | ^`, and the shifts, which are for integers.
    pub fn is_bitwise(self) -> bool {
        (BinaryOp::BitAnd..=BinaryOp::Shr).contains(&self)
    }
}

/// One to four components of a vector, in any order, some perhaps twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Swizzle {
    /// Number of components, 1 to 4.
    pub size: u8,
    /// Four bits a component, the first one lowest.
    pub code: u16,
}

impl Swizzle {
    /// The swizzle of a text over `xyzw` of length 1 to 4.
    pub fn parse(text: &str) -> Option<Swizzle> {
        if !(1..=4).contains(&text.len()) {
            return None;
        }
        let mut code = 0;
        for (i, letter) in text.bytes().enumerate() {
            code |= (b"xyzw".iter().position(|l| *l == letter)? as u16) << (4 * i);
        }
        Some(Swizzle { size: text.len() as u8, code })
    }

    /// Index of component `i` in the vector.
    pub fn component(self, i: usize) -> usize {
        if i < 4 { usize::from(self.code >> (4 * i)) & 0xf } else { 0 }
    }

    /// Indices of all components in the vector.
    pub fn components(self) -> impl ExactSizeIterator<Item = usize> + Clone {
        (0..usize::from(self.size)).map(move |i| self.component(i))
    }
}

impl std::fmt::Display for Swizzle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.components().try_for_each(|c| f.write_str(["x", "y", "z", "w"].get(c).unwrap_or(&"?")))
    }
}

/// A set of curve bases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CurveBases(pub u8);

impl CurveBases {
    /// Names as files write them; position = bit.
    pub const NAMES: [&str; 4] = ["PIECEWISE_LINEAR", "CUBIC_BSPLINE", "CATMULL_ROM", "BEZIER"];

    /// Whether none is in the set.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Names of those in the set.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES
            .into_iter()
            .enumerate()
            .filter(move |(i, _)| self.0 >> i & 1 == 1)
            .map(|(_, n)| n)
    }
}

/// What a CALL calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Callee {
    /// The operation itself.
    Builtin,
    /// A callable; the operation is CUSTOM.
    Function(FunctionId),
    /// A native function; the operation is EXTERNAL.
    External(ExternalId),
}

/// An expression: what it is and the type of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expr {
    /// Type of the value; [`TypeId::VOID`] for a call without one.
    pub ty: TypeId,
    /// What it is.
    pub kind: ExprKind,
}

/// What an expression is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExprKind {
    /// An operation on one operand.
    Unary {
        /// The operation.
        op: UnaryOp,
        /// The operand.
        operand: ExprId,
    },
    /// An operation on two operands, which keep types of their own.
    Binary {
        /// The operation.
        op: BinaryOp,
        /// Left operand.
        lhs: ExprId,
        /// Right operand.
        rhs: ExprId,
    },
    /// Components of a vector.
    Swizzle {
        /// The vector.
        base: ExprId,
        /// Which components.
        swizzle: Swizzle,
    },
    /// Member of a structure.
    Member {
        /// The structure.
        base: ExprId,
        /// Which member.
        index: u32,
    },
    /// Element of an array, component of a vector, column of a matrix.
    Access {
        /// The array, vector or matrix.
        range: ExprId,
        /// Any integer.
        index: ExprId,
    },
    /// A value: see [`Function::literal`](super::Function::literal).
    Literal {
        /// In memory layout, as many bytes as the type has, padding zero.
        bytes: ByteRange,
    },
    /// A variable.
    Ref(VariableId),
    /// A constant of the library.
    Constant(ConstantId),
    /// A call.
    Call {
        /// The operation.
        op: CallOp,
        /// Curve bases that the call may meet; empty where the input does not say.
        curve_bases: CurveBases,
        /// What is called.
        callee: Callee,
        /// Arguments in order.
        arguments: ExprList,
    },
    /// A conversion to the expression's type.
    Cast {
        /// How.
        op: CastOp,
        /// What is converted.
        source: ExprId,
    },
    /// The number that stands for a type.
    TypeId(TypeId),
    /// The number that stands for a text.
    StringId(TextRange),
    /// The number that stands for a callable; files of some versions do not say which.
    FuncRef(PackedOption<FunctionId>),
    /// A call back into the process that recorded the kernel. Not portable.
    CpuCustom {
        /// Three host addresses, 8 bytes each: function, destructor, data.
        pointers: ByteRange,
        /// Argument.
        argument: PackedOption<ExprId>,
    },
    /// Source text of some device language. Not portable.
    GpuCustom {
        /// The text.
        source: TextRange,
        /// Argument.
        argument: PackedOption<ExprId>,
    },
}
