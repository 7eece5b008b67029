//! Functions: variables, pools, accessors.

use cranelift_entity::PrimaryMap;
use cranelift_entity::packed_option::PackedOption;

use super::expr::named;
use super::{CurveBases, Expr, ExprId, ExprKind, Stmt, StmtId, VariableId};
use crate::types::{Scalar, TypeId};

named! {
    /// What a function is for.
    FunctionTag {
        /// Started from outside over a grid of threads.
        Kernel "KERNEL",
        /// Called by other functions.
        Callable "CALLABLE",
        /// Stage of a raster pipeline.
        RasterStage "RASTER_STAGE",
        /// Can be suspended.
        Coroutine "COROUTINE",
    }
}

named! {
    /// What a variable is.
    VariableTag {
        /// Mutable, of one thread, zero at the start.
        Local "LOCAL",
        /// Of one block of threads.
        Shared "SHARED",
        /// Argument by reference.
        Reference "REFERENCE",
        /// Buffer argument.
        Buffer "BUFFER",
        /// Texture argument.
        Texture "TEXTURE",
        /// Bindless array argument.
        BindlessArray "BINDLESS_ARRAY",
        /// Acceleration structure argument.
        Accel "ACCEL",
        /// Index of the thread in its block.
        ThreadId "THREAD_ID",
        /// Index of the block.
        BlockId "BLOCK_ID",
        /// Index of the thread in the grid.
        DispatchId "DISPATCH_ID",
        /// Number of threads.
        DispatchSize "DISPATCH_SIZE",
        /// Index of the kernel in an indirect dispatch.
        KernelId "KERNEL_ID",
        /// Number of threads in a wave.
        WarpLaneCount "WARP_LANE_COUNT",
        /// Index of the thread in its wave.
        WarpLaneId "WARP_LANE_ID",
        /// Index of the object drawn.
        ObjectId "OBJECT_ID",
        /// Barycentric coordinates of the fragment.
        RasterBarycentrics "RASTER_BARYCENTRICS",
        /// Whether the fragment is seen from the front.
        RasterFrontFacing "RASTER_FRONT_FACING",
        /// First instance of the draw call.
        RasterBaseInstance "RASTER_BASE_INSTANCE",
        /// Argument by value, mutable.
        Argument "ARGUMENT",
    }
}

impl VariableTag {
    /// A value that the machine gives; it cannot be assigned.
    pub fn is_builtin(self) -> bool {
        (VariableTag::ThreadId..=VariableTag::RasterBaseInstance).contains(&self)
    }

    /// A buffer, texture, bindless array or acceleration structure.
    pub fn is_resource(self) -> bool {
        (VariableTag::Buffer..=VariableTag::Accel).contains(&self)
    }
}

/// What a function does with a variable: a set of reading and writing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Usage(u8);

impl Usage {
    /// Nothing.
    pub const NONE: Usage = Usage(0);
    /// Reads.
    pub const READ: Usage = Usage(1);
    /// Writes.
    pub const WRITE: Usage = Usage(2);
    /// Reads and writes.
    pub const READ_WRITE: Usage = Usage(3);
    /// Names as files write them; position = number.
    pub const NAMES: [&str; 4] = ["NONE", "READ", "WRITE", "READ_WRITE"];

    /// Whether it reads.
    pub const fn reads(self) -> bool {
        self.0 & 1 != 0
    }

    /// Whether it writes.
    pub const fn writes(self) -> bool {
        self.0 & 2 != 0
    }

    /// The number: 0 nothing, 1 reads, 2 writes, 3 both.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The usage of a number.
    pub fn from_bits(bits: u32) -> Option<Usage> {
        (bits < 4).then_some(Usage(bits as u8))
    }

    /// The name as files write it.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self.0 as usize]
    }

    /// The usage of a name as files write it.
    pub fn from_name(name: &str) -> Option<Usage> {
        Self::NAMES.iter().position(|n| *n == name).map(|i| Usage(i as u8))
    }
}

impl std::ops::BitOr for Usage {
    type Output = Usage;
    fn bitor(self, other: Usage) -> Usage {
        Usage(self.0 | other.0)
    }
}

impl std::ops::BitOrAssign for Usage {
    fn bitor_assign(&mut self, other: Usage) {
        self.0 |= other.0;
    }
}

/// A variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// What it is.
    pub tag: VariableTag,
    /// Its type.
    pub ty: TypeId,
    /// What the function does with it, as files mark it.
    pub usage: Usage,
    /// Its name, if the input has one.
    pub name: Option<Box<str>>,
}

/// A resource that was bound to an argument when the kernel was recorded. Handles are numbers of the recording process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binding {
    /// Part of a buffer.
    Buffer {
        /// Which one.
        handle: u64,
        /// First byte.
        offset: u64,
        /// Number of bytes.
        size: u64,
    },
    /// A texture.
    Texture {
        /// Which one.
        handle: u64,
        /// Mip level.
        level: u64,
    },
    /// A bindless array.
    BindlessArray {
        /// Which one.
        handle: u64,
    },
    /// An acceleration structure.
    Accel {
        /// Which one.
        handle: u64,
    },
}

/// A list of expressions: see [`Function::exprs_in`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExprList {
    start: u32,
    len: u32,
}

/// A list of statements: see [`Function::stmts_in`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StmtList {
    start: u32,
    len: u32,
}

/// Bytes of a literal: see [`Function::bytes_in`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByteRange {
    start: u32,
    len: u32,
}

/// A text: see [`Function::text_in`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextRange {
    start: u32,
    len: u32,
}

macro_rules! range {
    ($($ty:ident),*) => {
        $(impl $ty {
            /// Number of items.
            pub fn len(self) -> usize {
                self.len as usize
            }

            /// Whether there is none.
            pub fn is_empty(self) -> bool {
                self.len == 0
            }

            fn range(self) -> std::ops::Range<usize> {
                self.start as usize..self.start as usize + self.len as usize
            }
        })*
    };
}
range!(ExprList, StmtList, ByteRange, TextRange);

/// A kernel, callable, raster stage or coroutine.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// What it is for.
    pub tag: FunctionTag,
    /// Its name, if the input has one.
    pub name: Option<String>,
    /// [`TypeId::VOID`] for a kernel.
    pub return_type: TypeId,
    /// All variables.
    pub variables: PrimaryMap<VariableId, Variable>,
    /// Arguments in order.
    pub arguments: Vec<VariableId>,
    /// What the first arguments of a kernel are bound to.
    pub bindings: Vec<Binding>,
    /// Threads of a block of a kernel; zeros where that is left to the compiler.
    pub block_size: [u32; 3],
    /// Curves that the function may meet.
    pub curve_bases: CurveBases,
    /// The only wave size that the function is right for.
    pub allowed_warp_size: Option<u32>,
    /// Constants that the input lists as used, in its order.
    pub listed_constants: Vec<super::ConstantId>,
    /// All expressions.
    pub exprs: PrimaryMap<ExprId, Expr>,
    /// All statements.
    pub stmts: PrimaryMap<StmtId, Stmt>,
    /// The function's scope; none only while it is built.
    pub body: PackedOption<StmtId>,
    expr_pool: Vec<ExprId>,
    stmt_pool: Vec<StmtId>,
    byte_pool: Vec<u8>,
    text_pool: String,
}

impl Function {
    /// A function without anything in it.
    pub fn new(tag: FunctionTag) -> Self {
        Self {
            tag,
            name: None,
            return_type: TypeId::VOID,
            variables: PrimaryMap::new(),
            arguments: Vec::new(),
            bindings: Vec::new(),
            block_size: [0; 3],
            curve_bases: CurveBases::default(),
            allowed_warp_size: None,
            listed_constants: Vec::new(),
            exprs: PrimaryMap::new(),
            stmts: PrimaryMap::new(),
            body: None.into(),
            expr_pool: Vec::new(),
            stmt_pool: Vec::new(),
            byte_pool: Vec::new(),
            text_pool: String::new(),
        }
    }

    /// The expressions of a list.
    pub fn exprs_in(&self, list: ExprList) -> &[ExprId] {
        &self.expr_pool[list.range()]
    }

    /// The statements of a list.
    pub fn stmts_in(&self, list: StmtList) -> &[StmtId] {
        &self.stmt_pool[list.range()]
    }

    /// The bytes of a literal.
    pub fn bytes_in(&self, range: ByteRange) -> &[u8] {
        &self.byte_pool[range.range()]
    }

    pub(crate) fn bytes_in_mut(&mut self, range: ByteRange) -> &mut [u8] {
        &mut self.byte_pool[range.range()]
    }

    /// A text.
    pub fn text_in(&self, range: TextRange) -> &str {
        &self.text_pool[range.range()]
    }

    /// The statements of a scope; none if `scope` is no scope.
    pub fn scope(&self, scope: StmtId) -> &[StmtId] {
        match self.stmts.get(scope) {
            Some(Stmt::Scope(list)) => self.stmts_in(*list),
            _ => &[],
        }
    }

    /// The value of a literal in memory layout; `None` if `expr` is no literal.
    pub fn literal(&self, expr: ExprId) -> Option<&[u8]> {
        match self.exprs.get(expr)?.kind {
            ExprKind::Literal { bytes } => Some(self.bytes_in(bytes)),
            _ => None,
        }
    }

    /// The value of an integer or `bool` literal, by its type's signedness; `None` if `expr` is none.
    pub fn case_value(&self, expr: ExprId) -> Option<i128> {
        let bytes = self.literal(expr)?;
        let ty = self.exprs[expr].ty;
        let scalar = Scalar::ALL.into_iter().find(|s| TypeId::scalar(*s) == ty && !s.is_float())?;
        let mut value = 0i128;
        for (i, byte) in bytes.iter().enumerate().take(8) {
            value |= i128::from(*byte) << (8 * i);
        }
        let shift = 128 - 8 * scalar.size();
        Some(if scalar.is_signed() { value << shift >> shift } else { value })
    }

    /// Whether it is an argument by value, a builtin of a caller included.
    pub fn is_value_argument(&self, variable: VariableId) -> bool {
        let tag = self.variables[variable].tag;
        tag == VariableTag::Argument || (tag.is_builtin() && self.arguments.contains(&variable))
    }

    /// Adds a list of expressions. At most 2^32 - 1 in all lists: the caller bounds its input.
    pub fn add_exprs(&mut self, items: &[ExprId]) -> ExprList {
        let start = self.expr_pool.len() as u32;
        self.expr_pool.extend_from_slice(items);
        ExprList { start, len: items.len() as u32 }
    }

    /// Adds a list of statements. At most 2^32 - 1 in all lists: the caller bounds its input.
    pub fn add_stmts(&mut self, items: &[StmtId]) -> StmtList {
        let start = self.stmt_pool.len() as u32;
        self.stmt_pool.extend_from_slice(items);
        StmtList { start, len: items.len() as u32 }
    }

    /// Adds bytes. At most 2^32 - 1 in all: the caller bounds its input.
    pub fn add_bytes(&mut self, bytes: &[u8]) -> ByteRange {
        let start = self.byte_pool.len() as u32;
        self.byte_pool.extend_from_slice(bytes);
        ByteRange { start, len: bytes.len() as u32 }
    }

    /// Adds a text. At most 2^32 - 1 bytes in all: the caller bounds its input.
    pub fn add_text(&mut self, text: &str) -> TextRange {
        let start = self.text_pool.len() as u32;
        self.text_pool.push_str(text);
        TextRange { start, len: text.len() as u32 }
    }

    /// Adds a literal of `ty`; `bytes` must be as many as the type has, with zeros as padding.
    pub fn add_literal(&mut self, ty: TypeId, bytes: &[u8]) -> ExprId {
        let bytes = self.add_bytes(bytes);
        self.exprs.push(Expr { ty, kind: ExprKind::Literal { bytes } })
    }

    /// Gives back what the arrays hold in reserve.
    pub fn shrink_to_fit(&mut self) {
        self.exprs.shrink_to_fit();
        self.stmts.shrink_to_fit();
        self.expr_pool.shrink_to_fit();
        self.stmt_pool.shrink_to_fit();
        self.byte_pool.shrink_to_fit();
        self.text_pool.shrink_to_fit();
    }
}

const _: () = assert!(std::mem::size_of::<Expr>() <= 24 && std::mem::size_of::<Stmt>() <= 20);
