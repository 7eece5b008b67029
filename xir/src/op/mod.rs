//! The one table of operations.
//!
//! Every instruction is an [`Op`]; families of operations that share operands and effects carry a second-level operation, whose
//! row holds its text name, operand count, typing rule, effect and convergence. The enum, the text form, the verifier, the
//! effects query and the documentation are made from these rows.

mod effects;
mod resource;
mod special;
mod table;

pub use effects::{Effects, Scopes};
pub use resource::{
    AutodiffOp, RayQueryReadOp, RayQueryWriteOp, ResourceQueryOp, ResourceReadOp, ResourceWriteOp,
};
pub use special::SpecialRegister;
pub use table::{ArithmeticOp, AtomicOp, CastOp, Rule, ThreadGroupOp};

/// Where an alloca lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    /// One for each thread and call; zero at function entry.
    Local,
    /// One for each block of threads; undefined until written.
    Shared,
}

/// How an instruction reads or writes a bindless array; both false on every other resource operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BindlessAccess {
    /// The array holds one kind of resource only.
    pub typed: bool,
    /// The slot index is uniform over the block.
    pub uniform: bool,
}

/// What an instruction does. Operand order follows the specification (`xir.md` section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Operands: incoming values; blocks: the predecessors they come from, in the same order.
    Phi,
    /// No operands; the type is the type of the memory.
    Alloca(Space),
    /// `load lvalue`.
    Load,
    /// `store lvalue, value`.
    Store,
    /// `gep base, index+`.
    Gep,
    Arithmetic(ArithmeticOp),
    /// `cast value`.
    Cast(CastOp),
    /// `atomic base, index*, value(s)`; base is a buffer or an lvalue in shared memory.
    Atomic(AtomicOp),
    ThreadGroup(ThreadGroupOp),
    ResourceQuery(ResourceQueryOp),
    ResourceRead(ResourceReadOp),
    ResourceWrite(ResourceWriteOp),
    RayQueryRead(RayQueryReadOp),
    RayQueryWrite(RayQueryWriteOp),
    Autodiff(AutodiffOp),
    /// Operands: arguments; [`Imm::Callee`](crate::Imm) is the function.
    Call,
    /// `ray_query_pipeline query, capture*`; [`Imm::Handlers`](crate::Imm) are callables that take the same operands and run for
    /// each candidate of their kind.
    RayQueryPipeline,
    /// Operands: values; [`Imm::Text`](crate::Imm) is the format.
    Print,
    Clock,
    /// `assert cond`; the message is [`Imm::Text`](crate::Imm).
    Assert,
    Assume,

    // Terminators. Blocks: CFG successors first, then roles.
    /// `if cond`; blocks: true, false; merge.
    If,
    /// `switch value`; blocks: default, one a case; merge. Case values are [`Imm::Cases`](crate::Imm).
    Switch,
    /// Blocks: prepare; body, update, merge.
    Loop,
    /// Blocks: body; merge.
    SimpleLoop,
    /// Blocks: target.
    Br,
    /// `cond_br cond`; blocks: true, false.
    CondBr,
    /// As `switch`, without a merge.
    IndexedBranch,
    /// Blocks: merge of the construct that is left.
    Break,
    /// Blocks: update block (`loop`) or body (`simple_loop`).
    Continue,
    /// `return [value]`.
    Return,
    /// The message, if any, is [`Imm::Text`](crate::Imm).
    Unreachable,
    RasterDiscard,
    /// Blocks: dispatch; merge.
    RayQueryLoop,
    /// `ray_query_dispatch query`; blocks: exit, surface, procedural.
    RayQueryDispatch,
    /// Blocks: entry; merge.
    AutodiffScope,
}

impl Op {
    /// Whether this ends a block.
    #[inline]
    pub const fn is_terminator(self) -> bool {
        matches!(
            self,
            Op::If
                | Op::Switch
                | Op::Loop
                | Op::SimpleLoop
                | Op::Br
                | Op::CondBr
                | Op::IndexedBranch
                | Op::Break
                | Op::Continue
                | Op::Return
                | Op::Unreachable
                | Op::RasterDiscard
                | Op::RayQueryLoop
                | Op::RayQueryDispatch
                | Op::AutodiffScope
        )
    }

    /// Whether this is a terminator that owns a structured construct, or leaves one by `break` or `continue`.
    #[inline]
    pub const fn is_structured(self) -> bool {
        matches!(self, Op::Break | Op::Continue | Op::RayQueryDispatch) || self.has_merge()
    }

    /// Whether the last block named is a merge block.
    #[inline]
    pub const fn has_merge(self) -> bool {
        matches!(
            self,
            Op::If | Op::Switch | Op::Loop | Op::SimpleLoop | Op::RayQueryLoop | Op::AutodiffScope
        )
    }

    /// How many of the blocks named are roles rather than CFG successors; they come last.
    #[inline]
    pub const fn role_count(self) -> usize {
        match self {
            Op::Loop => 3,
            _ if self.has_merge() => 1,
            _ => 0,
        }
    }

    /// The first word of the text form.
    pub const fn mnemonic(self) -> &'static str {
        match self {
            Op::Phi => "phi",
            Op::Alloca(_) => "alloca",
            Op::Load => "load",
            Op::Store => "store",
            Op::Gep => "gep",
            Op::Arithmetic(_) => "arithmetic",
            Op::Cast(_) => "cast",
            Op::Atomic(_) => "atomic",
            Op::ThreadGroup(_) => "thread_group",
            Op::ResourceQuery(_) => "resource_query",
            Op::ResourceRead(_) => "resource_read",
            Op::ResourceWrite(_) => "resource_write",
            Op::RayQueryRead(_) => "ray_query_object_read",
            Op::RayQueryWrite(_) => "ray_query_object_write",
            Op::Autodiff(_) => "autodiff",
            Op::Call => "call",
            Op::RayQueryPipeline => "ray_query_pipeline",
            Op::Print => "print",
            Op::Clock => "clock",
            Op::Assert => "assert",
            Op::Assume => "assume",
            Op::If => "if",
            Op::Switch => "switch",
            Op::Loop => "loop",
            Op::SimpleLoop => "simple_loop",
            Op::Br => "br",
            Op::CondBr => "cond_br",
            Op::IndexedBranch => "indexed_branch",
            Op::Break => "break",
            Op::Continue => "continue",
            Op::Return => "return",
            Op::Unreachable => "unreachable",
            Op::RasterDiscard => "raster_discard",
            Op::RayQueryLoop => "ray_query_loop",
            Op::RayQueryDispatch => "ray_query_dispatch",
            Op::AutodiffScope => "autodiff_scope",
        }
    }

    /// The second-level name, where the operation has one.
    pub fn sub_name(self) -> Option<&'static str> {
        Some(match self {
            Op::Alloca(Space::Local) => "local",
            Op::Alloca(Space::Shared) => "shared",
            Op::Arithmetic(op) => op.name(),
            Op::Cast(op) => op.name(),
            Op::Atomic(op) => op.name(),
            Op::ThreadGroup(op) => op.name(),
            Op::ResourceQuery(op) => op.name(),
            Op::ResourceRead(op) => op.name(),
            Op::ResourceWrite(op) => op.name(),
            Op::RayQueryRead(op) => op.name(),
            Op::RayQueryWrite(op) => op.name(),
            Op::Autodiff(op) => op.name(),
            _ => return None,
        })
    }
}
