//! What differs between `ptx` and `cpu`: the hooks that the common emitter calls.

use luisac_ast::types::Scalar;
use luisac_xir::op::{SpecialRegister, ThreadGroupOp};
use luisac_xir::{FunctionId, InstId, ValueId};

use super::bindless::Sampling;
use super::export::Calls;
use super::function::FnEmit;
use super::ir::{AccessGroup, Lines, Scope, Val};
use super::module::ModuleEmit;
use super::value::{Image, Leaves, Texture, Value};
use super::{Emit, Lanes};

/// Kind of division by which a float operation is rounded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FloatOp {
    /// `a / b`
    Div,
    /// `sqrt(a)`
    Sqrt,
    /// `1 / sqrt(a)`
    Rsqrt,
    /// `2^a`
    Exp2,
}

/// A way of rounding to an integral value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoundOp {
    /// Up.
    Ceil,
    /// Down.
    Floor,
    /// Toward zero.
    Trunc,
    /// To the nearest, half to even.
    Even,
}

/// The lesser or the greater of two floats: a number wins over NaN, and -0 is below +0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extreme {
    /// The lesser.
    Min,
    /// The greater.
    Max,
}

impl Extreme {
    /// LLVM's intrinsic for it.
    pub fn intrinsic(self) -> &'static str {
        match self {
            Extreme::Min => "llvm.minimumnum",
            Extreme::Max => "llvm.maximumnum",
        }
    }
}

/// A target of the LLVM emitter. Everything else is common.
pub trait Device: Sync {
    /// Lanes of one stream of instructions.
    fn lanes(&self) -> Lanes {
        Lanes(1)
    }
    /// Address space of buffers.
    fn global_space(&self) -> u32;
    /// Address space of constants.
    fn constant_space(&self) -> u32;
    /// Whether thread and block ids are handed to callables; else [`Device::ids`] works in every function.
    fn passes_ids(&self) -> bool;
    /// Thread id and block id, where they are not handed down.
    fn ids(&self, cx: &ModuleEmit<'_, '_>) -> ([Val; 3], [Val; 3]);
    /// Whether a stopped thread ends by itself, even inside a callable; else callables report it by a flag.
    fn stops_in_place(&self) -> bool;
    /// Ends the present block: the thread stops. Called only where [`Device::stops_in_place`].
    fn stop(&self, f: &mut FnEmit<'_, '_, '_>);
    /// How line information is given.
    fn lines(&self) -> Lines {
        Lines::Table
    }
    /// Adds the attributes that the target gives every function.
    fn mark(&self, cx: &ModuleEmit<'_, '_>, function: Val) {
        let _ = (cx, function);
    }
    /// Most instructions of a block for which code is generated with effort: some of LLVM's passes there take quadratic time.
    fn longest_block(&self) -> usize {
        6000
    }
    /// How a header declares functions for those that call them.
    fn calls(&self) -> Calls;
    /// Readies the module for a callable that others call.
    fn start_function(&self, cx: &ModuleEmit<'_, '_>) {
        let _ = cx;
    }
    /// Makes the entry point of the kernel; callables are declared already, and their bodies follow.
    fn emit_kernel(&self, cx: &mut ModuleEmit<'_, '_>, kernel: FunctionId) -> Emit<()>;
    /// Rewrites the finished code.
    fn after_code(&self, code: Vec<u8>) -> Vec<u8> {
        code
    }
    /// Scope of atomics on buffers and in shared memory.
    fn atomic_scope(&self, shared: bool) -> Scope;
    /// Whether a float atomic add is exact in hardware, subnormals included; else it is a loop.
    fn native_float_add(&self, cx: &ModuleEmit<'_, '_>, scalar: Scalar, shared: bool) -> bool;
    /// Memory for a variable of the thread that is too large for the stack; `None`: the stack takes it. `taken` bytes of this
    /// function are on the stack already.
    fn off_stack(
        &self,
        f: &mut FnEmit<'_, '_, '_>,
        size: u64,
        align: u32,
        taken: u64,
    ) -> Option<Val> {
        let _ = (f, size, align, taken);
        None
    }
    /// Whether nothing else can touch an lvalue during an instruction, so that an atomic needs no atomic instruction.
    fn is_undisturbed(&self, f: &FnEmit<'_, '_, '_>, place: ValueId) -> bool {
        let _ = (f, place);
        false
    }
    /// Whether LLVM shall look for vectors in straight-line code.
    fn has_vectors(&self) -> bool {
        false
    }
    /// Instructions that an unrolled loop may have; 0 if LLVM alone decides.
    fn unrolled_size(&self) -> u32 {
        0
    }
    /// The access group of what an instruction reads and writes, if the threads of the block do it independently.
    fn access_group(&self, f: &FnEmit<'_, '_, '_>, inst: InstId) -> Option<AccessGroup> {
        let _ = (f, inst);
        None
    }
    /// Memory of a shared variable.
    fn shared_variable(
        &self,
        f: &mut FnEmit<'_, '_, '_>,
        inst: InstId,
        size: u64,
        align: u32,
    ) -> Emit<Val>;
    /// A register that is not thread id, block id, dispatch id or size, kernel id or block size.
    fn special(&self, f: &mut FnEmit<'_, '_, '_>, register: SpecialRegister) -> Emit<Leaves>;
    /// The block barrier.
    fn barrier(&self, f: &mut FnEmit<'_, '_, '_>, inst: InstId) -> Emit<()>;
    /// A wave operation.
    fn wave(&self, f: &mut FnEmit<'_, '_, '_>, op: ThreadGroupOp, inst: InstId) -> Emit<Value>;
    /// Reads a texel: four leaves of `element`, zero outside.
    fn image_read(
        &self,
        f: &mut FnEmit<'_, '_, '_>,
        image: Image,
        element: Scalar,
        coordinate: &[Val],
    ) -> Emit<Leaves>;
    /// Writes a texel; nothing outside.
    fn image_write(
        &self,
        f: &mut FnEmit<'_, '_, '_>,
        image: Image,
        element: Scalar,
        coordinate: &[Val],
        texel: &[Val],
    ) -> Emit<()>;
    /// Size of an image along each of `dim` axes.
    fn image_size(&self, f: &mut FnEmit<'_, '_, '_>, image: Image, dim: u32) -> Emit<Leaves>;
    /// Whether images are sampled through texture objects.
    fn has_texture_objects(&self) -> bool {
        false
    }
    /// The image argument whose words in the parameter block are these; `sampled`: the kernel samples it.
    fn image_argument(
        &self,
        cx: &ModuleEmit<'_, '_>,
        first: Val,
        storage: Val,
        sampled: bool,
    ) -> Image {
        let _ = (cx, sampled);
        Image { handle: first, storage, textures: None }
    }
    /// The size of the buffer of a bindless record whose second word is this, `i64`.
    fn slot_size(&self, cx: &ModuleEmit<'_, '_>, word: Val) -> Val {
        let _ = cx;
        word
    }
    /// The image of `dim` dimensions in a bindless record: `size` is the record's second word, `word` that of the image.
    fn slot_texture(&self, f: &mut FnEmit<'_, '_, '_>, size: Val, word: Val, dim: u32) -> Texture;
    /// An image argument as it is sampled.
    fn texture(&self, f: &mut FnEmit<'_, '_, '_>, image: Image) -> Texture;
    /// Number of levels, `i32`.
    fn texture_levels(&self, f: &mut FnEmit<'_, '_, '_>, texture: Texture) -> Val;
    /// Texels along each of `dim` axes.
    fn texture_size(&self, f: &mut FnEmit<'_, '_, '_>, texture: Texture, dim: u32) -> Leaves;
    /// The float texel of a level; zero if level or coordinate lies outside.
    fn texture_fetch(
        &self,
        f: &mut FnEmit<'_, '_, '_>,
        texture: Texture,
        coordinate: &[Val],
        level: Val,
    ) -> Emit<Leaves>;
    /// Samples by the device, where the target leaves that to it; nothing elsewhere.
    fn texture_sample(
        &self,
        f: &mut FnEmit<'_, '_, '_>,
        handle: Val,
        sampling: &Sampling,
    ) -> Option<Leaves> {
        let _ = (f, handle, sampling);
        None
    }
    /// The texture object of an image argument for a sampler, `i32`.
    fn texture_for(&self, f: &mut FnEmit<'_, '_, '_>, image: Image, sampler: Val) -> Val {
        let _ = (f, sampler);
        image.handle
    }
    /// The device's timer, `i64`.
    fn clock(&self, f: &mut FnEmit<'_, '_, '_>) -> Val;
    /// A float to the bits of the nearest half.
    fn f32_to_half(&self, cx: &ModuleEmit<'_, '_>, v: Val) -> Val;
    /// A double to the bits of the nearest half, rounded once.
    fn f64_to_half(&self, cx: &ModuleEmit<'_, '_>, v: Val) -> Val;
    /// The bits of a half to a float.
    fn half_to_f32(&self, cx: &ModuleEmit<'_, '_>, v: Val) -> Val;
    /// Saturating conversion of a float or double to an integer type of 8 to 64 bits; NaN gives 0.
    fn float_to_int(&self, cx: &ModuleEmit<'_, '_>, v: Val, from: Scalar, to: Scalar) -> Val;
    /// Whether a fused multiply-add is an instruction.
    fn has_fma(&self) -> bool {
        true
    }
    /// Rounds a float or double to an integral value; exact, the sign of zero kept.
    fn round(&self, cx: &ModuleEmit<'_, '_>, op: RoundOp, scalar: Scalar, v: Val) -> Val {
        let name = match op {
            RoundOp::Ceil => "llvm.ceil",
            RoundOp::Floor => "llvm.floor",
            RoundOp::Trunc => "llvm.trunc",
            RoundOp::Even => "llvm.roundeven",
        };
        cx.float_call(name, scalar, &[v])
    }
    /// An extreme of two floats or doubles.
    fn extreme(
        &self,
        cx: &ModuleEmit<'_, '_>,
        which: Extreme,
        scalar: Scalar,
        a: Val,
        b: Val,
    ) -> Val {
        cx.float_call(which.intrinsic(), scalar, &[a, b])
    }
    /// An operation on `float` or `double` that has a fast form.
    fn float_op(&self, cx: &ModuleEmit<'_, '_>, op: FloatOp, scalar: Scalar, args: &[Val]) -> Val;
}
