//! Operations of CALL expressions: one table, from which the enum, names, numbers, arities, typing rules, write
//! marks, stage limits and feature groups come.

mod set;
mod table;
#[cfg(test)]
mod tests;

use std::fmt;

use rustc_hash::FxHashMap;
use std::sync::LazyLock;

pub use set::{CallOpSet, UsedOps, used_ops};

/// What a target must offer to hold an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// Arithmetic, makers, calls: every target.
    Core,
    /// Hints to the compiler, assertions.
    Hint,
    /// Block barrier.
    Sync,
    /// Atomic operations.
    Atomic,
    /// Reads and writes of buffers.
    Buffer,
    /// Device addresses.
    Address,
    /// Reads and writes of textures.
    Texture,
    /// Sampling of a bound texture.
    SampledTexture,
    /// Bindless arrays.
    Bindless,
    /// Differentiation.
    AutoDiff,
    /// Acceleration structures and ray queries.
    RayTracing,
    /// Raster stages.
    Raster,
    /// Differences over neighbouring threads.
    Derivative,
    /// Exchange within a wave.
    Warp,
    /// Indirect dispatch.
    Indirect,
    /// Cooperative vectors.
    Cooperative,
    /// Asynchronous copies, memory barriers objects, cluster control.
    Async,
    /// The device's timer.
    Clock,
}

/// Where an operation may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Anywhere.
    Any,
    /// In kernels, not in callables.
    Kernel,
    /// In fragment stages; some targets have it elsewhere.
    Fragment,
}

/// Which argument an operation writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Writes {
    /// None.
    R,
    /// Argument 0, and the stored usage says so.
    W0,
    /// Argument 0, which the stored usage marks as read only.
    E0,
    /// Argument 1, which the stored usage marks as read only.
    E1,
}

/// What `T` may be in a signature. `T` is the result type where that is `T`, else the type of the first argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Anything.
    Any,
    /// Any value that memory can hold.
    Data,
    /// `bool` or a vector of it.
    BoolN,
    /// Number or vector of numbers.
    Num,
    /// Vector of numbers.
    NumVec,
    /// Integer or vector of integers.
    Int,
    /// Float or vector of floats.
    Float,
    /// Vector of three floats.
    Float3,
    /// Vector of floats.
    FloatVec,
    /// Matrix.
    Mat,
    /// Vector of floats, or matrix.
    VecOrMat,
    /// Scalar or vector.
    ScalarOrVec,
    /// Scalar, vector or matrix.
    Basic,
}

/// What an argument must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Param {
    /// The type `T`.
    T,
    /// The type `T`, or its scalar.
    TOrScalar,
    /// The type `T`, or integers, each as a vector of `T`'s length or a scalar.
    Exponent,
    /// `bool`, or a vector of `bool` of `T`'s length.
    Condition,
    /// `bool`.
    Bool,
    /// An integer.
    Index,
    /// `float`.
    Float,
    /// `float2`.
    Float2,
    /// `float3`.
    Float3,
    /// Vector of two integers.
    Uint2,
    /// Vector of three integers.
    Uint3,
    /// `uint4`.
    Uint4,
    /// `float4x4`.
    Matrix4,
    /// The structure of an instance's motion.
    Struct,
    /// A ray.
    Ray,
    /// Any value that memory can hold.
    Data,
    /// Something that can be assigned.
    Ref,
    /// Any buffer.
    Buffer,
    /// A buffer with an element type.
    TypedBuffer,
    /// A byte buffer.
    ByteBuffer,
    /// A buffer of `uint`.
    UintBuffer,
    /// The element type of argument 0.
    BufferElem,
    /// A texture.
    Texture,
    /// Integer vector of as many components as argument 0, a texture, has dimensions.
    Coord,
    /// Vector of four of the element type of argument 0, a texture.
    Texel,
    /// A bindless array.
    Bindless,
    /// An acceleration structure.
    Accel,
    /// A ray query object.
    Query,
    /// An indirect dispatch buffer.
    Dispatch,
    /// A string.
    Message,
    /// A buffer or a shared or local variable.
    AtomicBase,
    /// Any number of indices, at least one.
    Chain,
    /// Scalars and vectors whose components make up the result; at least one argument.
    Components,
    /// Columns of the result, or one matrix; at least one argument.
    Columns,
    /// A cooperative vector.
    CoopVec,
    /// A reference to a cooperative vector.
    CoopVecRef,
    /// A reference to a cooperative matrix.
    CoopMatRef,
    /// Any number of arguments of any type: the callee knows.
    Rest,
}

/// What the result must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Out {
    /// No value.
    Void,
    /// Anything; the callee knows, or nobody looks.
    Any,
    /// Any value that memory can hold.
    Data,
    /// The type `T`.
    T,
    /// The scalar of `T`.
    ElemOfT,
    /// `bool`, or vector of `bool` of `T`'s length.
    BoolOfT,
    /// The matrix of `T`'s length.
    MatOfT,
    /// `bool`.
    Bool,
    /// `int`.
    Int,
    /// `uint`.
    Uint,
    /// `ulong`.
    Ulong,
    /// `float`.
    Float,
    /// `uint` or `ulong`.
    Integer,
    /// `uint2`.
    Uint2,
    /// `uint3`.
    Uint3,
    /// `uint4`.
    Uint4,
    /// `float4`.
    Float4,
    /// `float4x4`.
    Matrix4,
    /// Vector of 2.
    Vector2,
    /// Vector of 3.
    Vector3,
    /// Vector of 4.
    Vector4,
    /// `float2x2`.
    Matrix2,
    /// `float3x3`.
    Matrix3,
    /// A structure, the shape of which the operation says.
    Struct,
    /// A ray query object.
    Query,
    /// The type of argument 0.
    First,
    /// The element type of argument 0, a buffer.
    BufferElem,
    /// Vector of four of the element type of argument 0, a texture.
    Texel,
    /// Vector of as many `uint`s as argument 0, a texture, has dimensions.
    UintOfDim,
    /// A cooperative vector.
    CoopVec,
}

/// What one row of the table says.
#[derive(Clone, Copy, Debug)]
pub struct CallOpInfo {
    /// The operation.
    pub op: CallOp,
    /// Its name in files.
    pub name: &'static str,
    /// Its number in the numbering of revision A (2024-10).
    pub number_a: Option<u16>,
    /// What a target must offer to hold it.
    pub group: Group,
    /// Where it may stand.
    pub stage: Stage,
    /// Which argument it writes.
    pub writes: Writes,
    /// What `T` in the signature may be.
    pub class: Class,
    /// Parameters that every call has.
    pub params: &'static [Param],
    /// Parameters that may be left out from the end.
    pub optional: &'static [Param],
    /// The result.
    pub out: Out,
}

macro_rules! number {
    (-) => {
        None
    };
    ($n:literal) => {
        Some($n)
    };
}

macro_rules! define {
    ($($op:ident $name:literal $a:tt $group:ident $stage:ident $writes:ident
        ($class:ident: $($param:ident)* $(| $($optional:ident)*)?) -> $out:ident;)*) => {
        /// An operation of a CALL expression. The discriminant is its number in the newest numbering.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        #[allow(missing_docs)]
        pub enum CallOp {
            $($op,)*
        }

        static TABLE: &[CallOpInfo] = &[
            $(CallOpInfo {
                op: CallOp::$op,
                name: $name,
                number_a: number!($a),
                group: Group::$group,
                stage: Stage::$stage,
                writes: Writes::$writes,
                class: Class::$class,
                params: &[$(Param::$param,)*],
                optional: &[$($(Param::$optional,)*)?],
                out: Out::$out,
            },)*
        ];
    };
}

table::call_op_table!(define);

/// Last number that the numberings of revisions B and C have in common, and how far they are apart afterwards.
const COMMON_B: u16 = 346;
const INSERTED_C: u16 = 43;
const LAST_B: u16 = 362;
/// First operations of the four bindless families, each of [`BINDLESS_LEN`], in the same order.
const BINDLESS_FAMILIES: [(u16, bool, bool); 4] =
    [(89, false, false), (119, false, true), (149, true, true), (179, true, false)];
const BINDLESS_LEN: u16 = 30;

impl CallOp {
    /// Every operation, in the order of the newest numbering.
    pub fn all() -> impl ExactSizeIterator<Item = CallOp> {
        TABLE.iter().map(|row| row.op)
    }

    /// The operation of a name as files write it.
    pub fn from_name(name: &str) -> Option<CallOp> {
        static NAMES: LazyLock<FxHashMap<&str, CallOp>> =
            LazyLock::new(|| TABLE.iter().map(|row| (row.name, row.op)).collect());
        NAMES.get(name).copied()
    }

    /// The operation's row.
    pub fn info(self) -> &'static CallOpInfo {
        &TABLE[self as usize]
    }

    /// The name as files write it: `ATOMIC_FETCH_ADD`.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// The number in revision A (2024-10).
    pub fn number_a(self) -> Option<u16> {
        self.info().number_a
    }

    /// The number in revision B (mid-2026).
    pub fn number_b(self) -> Option<u16> {
        let c = self.number_c();
        if c <= COMMON_B {
            Some(c)
        } else {
            c.checked_sub(INSERTED_C).filter(|b| (COMMON_B + 1..=LAST_B).contains(b))
        }
    }

    /// The number in revision C (2026-09).
    pub fn number_c(self) -> u16 {
        self as u16
    }

    /// The operation of a number in revision A.
    pub fn from_number_a(number: u32) -> Option<CallOp> {
        static NUMBERS: LazyLock<Vec<CallOp>> = LazyLock::new(|| {
            let mut rows: Vec<_> = TABLE.iter().filter(|r| r.number_a.is_some()).collect();
            rows.sort_by_key(|r| r.number_a);
            rows.iter().map(|r| r.op).collect()
        });
        NUMBERS.get(number as usize).copied()
    }

    /// The operation of a number in revision B.
    pub fn from_number_b(number: u32) -> Option<CallOp> {
        match number {
            n if n <= u32::from(COMMON_B) => Self::from_number_c(n),
            n if n <= u32::from(LAST_B) => Self::from_number_c(n + u32::from(INSERTED_C)),
            _ => None,
        }
    }

    /// The operation of a number in revision C.
    pub fn from_number_c(number: u32) -> Option<CallOp> {
        TABLE.get(number as usize).map(|row| row.op)
    }

    /// Fewest and most arguments; no most for those that take any number.
    pub fn arity(self) -> (usize, Option<usize>) {
        let info = self.info();
        let endless = |p: &Param| {
            matches!(p, Param::Chain | Param::Components | Param::Columns | Param::Rest)
        };
        let min = info.params.iter().filter(|p| **p != Param::Rest).count();
        let most = info.params.len() + info.optional.len();
        (min, (!info.params.iter().any(endless)).then_some(most))
    }

    /// The argument that the stored usage marks as written (`callops.md`, column W).
    pub fn marked_write(self) -> Option<usize> {
        (self.info().writes == Writes::W0).then_some(0)
    }

    /// The argument that is really written, marked or not.
    pub fn written_argument(self) -> Option<usize> {
        match self.info().writes {
            Writes::R => None,
            Writes::W0 | Writes::E0 => Some(0),
            Writes::E1 => Some(1),
        }
    }

    /// Whether the written argument is only written: what is stored does not depend on what was there.
    pub fn replaces_argument(self) -> bool {
        let info = self.info();
        let stores = matches!(
            info.group,
            Group::Buffer | Group::Texture | Group::Bindless | Group::Indirect
        ) || self == CallOp::CooperativeVectorStore;
        stores && info.writes != Writes::R
    }

    /// Any `ATOMIC_*`.
    pub fn is_atomic(self) -> bool {
        self.info().group == Group::Atomic
    }

    /// For an operation of a bindless family: the plain one, whether the array is typed, whether the index is uniform.
    pub fn bindless(self) -> Option<(CallOp, bool, bool)> {
        let number = self.number_c();
        BINDLESS_FAMILIES.into_iter().find_map(|(first, typed, uniform)| {
            let step = number.checked_sub(first).filter(|step| *step < BINDLESS_LEN)?;
            Some((Self::from_number_c(u32::from(BINDLESS_FAMILIES[0].0 + step))?, typed, uniform))
        })
    }
}

impl fmt::Debug for CallOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for CallOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
