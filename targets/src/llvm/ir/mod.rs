//! A thin builder over LLVM's C interface, for one value type that is a scalar or a vector of lanes alike.
//!
//! inkwell tells integers, floats, pointers and vectors apart by type; an emitter that is written over lanes must not, and float
//! atomics, fast-math flags, scopes and inline assembly need the C interface anyway. So inkwell holds contexts, modules, target
//! machines and passes, and this module alone builds instructions. Operand types must fit, as LLVM's reference says; the
//! finished module goes through LLVM's verifier.

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_uint};

use inkwell::context::{AsContextRef, Context};
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::*;
use inkwell::llvm_sys::{
    LLVMAtomicOrdering, LLVMAtomicRMWBinOp, LLVMIntPredicate, LLVMRealPredicate,
};
use inkwell::module::Module;
use rustc_hash::FxHashMap;

mod blocks;
mod debug;
mod functions;

pub use debug::Lines;

/// An LLVM value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Val(pub LLVMValueRef);
/// An LLVM type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ty(pub LLVMTypeRef);
/// An LLVM block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Bb(pub LLVMBasicBlockRef);

/// A function with its type.
#[derive(Clone, Copy, Debug)]
pub struct Callee {
    /// The function.
    pub value: Val,
    /// Its function type.
    pub ty: Ty,
}

/// Flags of LLVM's fast-math set that are ever used here; `nnan` and `ninf` are not among them.
pub mod fast {
    /// `x / y` may become `x * (1 / y)`.
    pub const RECIPROCAL: u32 = 1 << 4;
    /// The sign of zero does not matter.
    pub const NO_SIGNED_ZEROS: u32 = 1 << 3;
    /// Products and sums may be fused.
    pub const CONTRACT: u32 = 1 << 5;
    /// Approximations are allowed.
    pub const APPROXIMATE: u32 = 1 << 6;
}

/// Which threads an atomic operation is atomic with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// All.
    System,
    /// Those of the device.
    Device,
    /// Those of the block.
    Block,
}

/// Module under construction, and the place where instructions go.
pub struct Ir<'c> {
    /// Line information, if there is any. Dropped before the module.
    debug: Option<debug::Debug>,
    /// The context that everything lives in.
    pub context: &'c Context,
    /// The module.
    pub module: Module<'c>,
    builder: LLVMBuilderRef,
    intrinsics: RefCell<FxHashMap<String, Callee>>,
    /// Fast-math flags of the floating-point instructions that follow.
    fast: std::cell::Cell<u32>,
    /// Copies and clears become loops, since there is no library to call.
    loops_for_memory: std::cell::Cell<bool>,
    /// The access group of the loads and stores that follow.
    group: std::cell::Cell<Option<AccessGroup>>,
}

/// Memory accesses that do not depend on each other from one iteration of a loop to another.
#[derive(Clone, Copy, Debug)]
pub struct AccessGroup(pub(super) LLVMMetadataRef);

impl Drop for Ir<'_> {
    fn drop(&mut self) {
        unsafe { LLVMDisposeBuilder(self.builder) }
    }
}

const EMPTY: *const c_char = c"".as_ptr();

macro_rules! binary {
    ($($name:ident $c:ident;)*) => {$(
        #[doc = concat!("`", stringify!($name), " a, b`")]
        pub fn $name(&self, a: Val, b: Val) -> Val {
            Val(unsafe { $c(self.builder, a.0, b.0, EMPTY) })
        }
    )*};
}
macro_rules! float_binary {
    ($($name:ident $c:ident;)*) => {$(
        #[doc = concat!("`", stringify!($name), " a, b` with the current fast-math flags")]
        pub fn $name(&self, a: Val, b: Val) -> Val {
            self.flagged(Val(unsafe { $c(self.builder, a.0, b.0, EMPTY) }))
        }
    )*};
}
macro_rules! cast {
    ($($name:ident $c:ident;)*) => {$(
        #[doc = concat!("`", stringify!($name), " a to ty`")]
        pub fn $name(&self, a: Val, ty: Ty) -> Val {
            Val(unsafe { $c(self.builder, a.0, ty.0, EMPTY) })
        }
    )*};
}

impl<'c> Ir<'c> {
    /// An empty module.
    pub fn new(context: &'c Context, name: &str) -> Ir<'c> {
        let module = context.create_module(name);
        let builder = unsafe { LLVMCreateBuilderInContext(context.as_ctx_ref()) };
        Ir {
            debug: None,
            context,
            module,
            builder,
            intrinsics: RefCell::default(),
            fast: std::cell::Cell::new(0),
            loops_for_memory: std::cell::Cell::new(false),
            group: std::cell::Cell::new(None),
        }
    }

    fn ctx(&self) -> LLVMContextRef {
        self.context.as_ctx_ref()
    }

    // ---- types

    /// `iN`
    pub fn int(&self, bits: u32) -> Ty {
        Ty(unsafe { LLVMIntTypeInContext(self.ctx(), bits) })
    }
    /// `half`
    pub fn f16(&self) -> Ty {
        Ty(unsafe { LLVMHalfTypeInContext(self.ctx()) })
    }
    /// `float`
    pub fn f32(&self) -> Ty {
        Ty(unsafe { LLVMFloatTypeInContext(self.ctx()) })
    }
    /// `double`
    pub fn f64(&self) -> Ty {
        Ty(unsafe { LLVMDoubleTypeInContext(self.ctx()) })
    }
    /// `ptr addrspace(space)`
    pub fn ptr(&self, space: u32) -> Ty {
        Ty(unsafe { LLVMPointerTypeInContext(self.ctx(), space) })
    }
    /// `void`
    pub fn void(&self) -> Ty {
        Ty(unsafe { LLVMVoidTypeInContext(self.ctx()) })
    }
    /// `<n x elem>`
    pub fn vector(&self, elem: Ty, n: u32) -> Ty {
        Ty(unsafe { LLVMVectorType(elem.0, n) })
    }
    /// `[n x elem]`
    pub fn array(&self, elem: Ty, n: u64) -> Ty {
        Ty(unsafe { LLVMArrayType2(elem.0, n) })
    }
    /// A literal structure.
    pub fn structure(&self, members: &[Ty]) -> Ty {
        let mut list: Vec<LLVMTypeRef> = members.iter().map(|t| t.0).collect();
        Ty(unsafe {
            LLVMStructTypeInContext(self.ctx(), list.as_mut_ptr(), list.len() as c_uint, 0)
        })
    }
    /// A function type.
    pub fn function_type(&self, ret: Ty, params: &[Ty]) -> Ty {
        let mut list: Vec<LLVMTypeRef> = params.iter().map(|t| t.0).collect();
        Ty(unsafe { LLVMFunctionType(ret.0, list.as_mut_ptr(), list.len() as c_uint, 0) })
    }
    /// The type of a value.
    pub fn type_of(&self, v: Val) -> Ty {
        Ty(unsafe { LLVMTypeOf(v.0) })
    }
    /// The bits of an integer type.
    pub fn int_width(&self, ty: Ty) -> u32 {
        unsafe { LLVMGetIntTypeWidth(ty.0) }
    }
    /// The address space of a pointer value.
    pub fn space_of(&self, pointer: Val) -> u32 {
        unsafe { LLVMGetPointerAddressSpace(LLVMTypeOf(pointer.0)) }
    }

    // ---- constants

    /// An integer constant: the low bits of `value`.
    pub fn const_int(&self, ty: Ty, value: u64) -> Val {
        Val(unsafe { LLVMConstInt(ty.0, value, 0) })
    }
    /// `i1`
    pub fn const_bool(&self, value: bool) -> Val {
        self.const_int(self.int(1), value.into())
    }
    /// `i32`
    pub fn const_u32(&self, value: u32) -> Val {
        self.const_int(self.int(32), value.into())
    }
    /// `i64`
    pub fn const_u64(&self, value: u64) -> Val {
        self.const_int(self.int(64), value)
    }
    /// A float constant by its bits, in the type `float` or `double`.
    pub fn const_float_bits(&self, ty: Ty, bits: u64) -> Val {
        let int = if ty == self.f32() { self.int(32) } else { self.int(64) };
        Val(unsafe { LLVMConstBitCast(self.const_int(int, bits).0, ty.0) })
    }
    /// A float constant of the type `float` or `double`.
    pub fn const_float(&self, ty: Ty, value: f64) -> Val {
        let bits =
            if ty == self.f32() { u64::from((value as f32).to_bits()) } else { value.to_bits() };
        self.const_float_bits(ty, bits)
    }
    /// The value of a constant float or double.
    pub fn float_constant(&self, v: Val) -> Option<f64> {
        let mut loses = 0;
        let constant = unsafe { LLVMIsAConstantFP(v.0) };
        (!constant.is_null()).then(|| unsafe { LLVMConstRealGetDouble(constant, &mut loses) })
    }
    /// Zero of any type.
    pub fn zero(&self, ty: Ty) -> Val {
        Val(unsafe { LLVMConstNull(ty.0) })
    }
    /// A poison value.
    pub fn poison(&self, ty: Ty) -> Val {
        Val(unsafe { LLVMGetPoison(ty.0) })
    }
    /// The bits of an integer constant.
    pub fn as_const_int(&self, v: Val) -> Option<u64> {
        unsafe {
            if LLVMIsAConstantInt(v.0).is_null() {
                None
            } else {
                Some(LLVMConstIntGetZExtValue(v.0))
            }
        }
    }
    /// Whether a value is a constant.
    pub fn is_const(&self, v: Val) -> bool {
        unsafe { LLVMIsConstant(v.0) != 0 }
    }

    // ---- place of insertion

    /// Instructions go to the end of `block`.
    pub fn at_end(&self, block: Bb) {
        unsafe { LLVMPositionBuilderAtEnd(self.builder, block.0) }
    }
    /// The block that instructions go to.
    pub fn block(&self) -> Bb {
        Bb(unsafe { LLVMGetInsertBlock(self.builder) })
    }
    /// A new block at the end of the present function.
    pub fn new_block(&self, name: &str) -> Bb {
        let function = unsafe { LLVMGetBasicBlockParent(self.block().0) };
        self.block_in(Val(function), name)
    }
    /// A new block at the end of `function`.
    pub fn block_in(&self, function: Val, name: &str) -> Bb {
        let name = cstring(name);
        Bb(unsafe { LLVMAppendBasicBlockInContext(self.ctx(), function.0, name.as_ptr()) })
    }
    /// Instructions go before the terminator of `block`, or to its end.
    pub fn before_terminator(&self, block: Bb) {
        unsafe {
            let terminator = LLVMGetBasicBlockTerminator(block.0);
            if terminator.is_null() {
                LLVMPositionBuilderAtEnd(self.builder, block.0);
            } else {
                LLVMPositionBuilderBefore(self.builder, terminator);
            }
        }
    }
    /// Whether the present block ends in a terminator already.
    pub fn terminated(&self) -> bool {
        unsafe { !LLVMGetBasicBlockTerminator(self.block().0).is_null() }
    }
    /// Runs `build` with instructions going to the start of the entry block of the present function.
    pub fn in_entry<T>(&self, build: impl FnOnce() -> T) -> T {
        let here = self.block();
        unsafe {
            let entry = LLVMGetEntryBasicBlock(LLVMGetBasicBlockParent(here.0));
            let first = LLVMGetFirstInstruction(entry);
            if first.is_null() {
                LLVMPositionBuilderAtEnd(self.builder, entry);
            } else {
                LLVMPositionBuilderBefore(self.builder, first);
            }
        }
        let result = build();
        self.at_end(here);
        result
    }

    // ---- integers

    binary! {
        add LLVMBuildAdd; sub LLVMBuildSub; mul LLVMBuildMul;
        and LLVMBuildAnd; or LLVMBuildOr; xor LLVMBuildXor;
        shl LLVMBuildShl; lshr LLVMBuildLShr; ashr LLVMBuildAShr;
        udiv LLVMBuildUDiv; sdiv LLVMBuildSDiv; urem LLVMBuildURem; srem LLVMBuildSRem;
    }
    /// `0 - a`
    pub fn neg(&self, a: Val) -> Val {
        Val(unsafe { LLVMBuildNeg(self.builder, a.0, EMPTY) })
    }
    /// `~a`
    pub fn not(&self, a: Val) -> Val {
        Val(unsafe { LLVMBuildNot(self.builder, a.0, EMPTY) })
    }
    /// `icmp predicate a, b`
    pub fn icmp(&self, predicate: LLVMIntPredicate, a: Val, b: Val) -> Val {
        Val(unsafe { LLVMBuildICmp(self.builder, predicate, a.0, b.0, EMPTY) })
    }
    /// `a == b`
    pub fn eq(&self, a: Val, b: Val) -> Val {
        self.icmp(LLVMIntPredicate::LLVMIntEQ, a, b)
    }
    /// `a != b`
    pub fn ne(&self, a: Val, b: Val) -> Val {
        self.icmp(LLVMIntPredicate::LLVMIntNE, a, b)
    }
    /// `a < b`, unsigned
    pub fn ult(&self, a: Val, b: Val) -> Val {
        self.icmp(LLVMIntPredicate::LLVMIntULT, a, b)
    }
    /// `a >= b`, unsigned
    pub fn uge(&self, a: Val, b: Val) -> Val {
        self.icmp(LLVMIntPredicate::LLVMIntUGE, a, b)
    }
    /// `condition ? a : b`
    pub fn select(&self, condition: Val, a: Val, b: Val) -> Val {
        Val(unsafe { LLVMBuildSelect(self.builder, condition.0, a.0, b.0, EMPTY) })
    }

    cast! {
        zext LLVMBuildZExt; sext LLVMBuildSExt; trunc LLVMBuildTrunc;
        sitofp LLVMBuildSIToFP; fptosi LLVMBuildFPToSI; fptoui LLVMBuildFPToUI; uitofp LLVMBuildUIToFP; fpext LLVMBuildFPExt; fptrunc LLVMBuildFPTrunc;
        bitcast LLVMBuildBitCast; inttoptr LLVMBuildIntToPtr; ptrtoint LLVMBuildPtrToInt;
        addrspacecast LLVMBuildAddrSpaceCast;
    }
    /// Zero-extends or truncates to `ty`.
    pub fn zext_or_trunc(&self, a: Val, ty: Ty) -> Val {
        Val(unsafe { LLVMBuildIntCast2(self.builder, a.0, ty.0, 0, EMPTY) })
    }
    /// Sign-extends or truncates to `ty`.
    pub fn sext_or_trunc(&self, a: Val, ty: Ty) -> Val {
        Val(unsafe { LLVMBuildIntCast2(self.builder, a.0, ty.0, 1, EMPTY) })
    }

    // ---- floats

    /// Sets the fast-math flags of the floating-point instructions that follow.
    pub fn set_fast(&self, flags: u32) {
        self.fast.set(flags);
    }
    /// The present fast-math flags.
    pub fn fast(&self) -> u32 {
        self.fast.get()
    }
    fn flagged(&self, v: Val) -> Val {
        let flags = self.fast.get();
        unsafe {
            if flags != 0
                && !LLVMIsAInstruction(v.0).is_null()
                && LLVMCanValueUseFastMathFlags(v.0) != 0
            {
                LLVMSetFastMathFlags(v.0, flags);
            }
        }
        v
    }
    float_binary! {
        fadd LLVMBuildFAdd; fsub LLVMBuildFSub; fmul LLVMBuildFMul; fdiv LLVMBuildFDiv; frem LLVMBuildFRem;
    }
    /// Flips the sign bit.
    pub fn fneg(&self, a: Val) -> Val {
        Val(unsafe { LLVMBuildFNeg(self.builder, a.0, EMPTY) })
    }
    /// `fcmp predicate a, b`
    pub fn fcmp(&self, predicate: LLVMRealPredicate, a: Val, b: Val) -> Val {
        Val(unsafe { LLVMBuildFCmp(self.builder, predicate, a.0, b.0, EMPTY) })
    }

    // ---- memory

    /// `size` bytes of the thread, in the entry block of the present function.
    pub fn alloca(&self, size: u64, align: u32) -> Val {
        self.in_entry(|| unsafe {
            let ty = self.array(self.int(8), size.max(1));
            let v = LLVMBuildAlloca(self.builder, ty.0, EMPTY);
            LLVMSetAlignment(v, align);
            Val(v)
        })
    }
    /// Loads a value of type `ty`.
    pub fn load(&self, ty: Ty, ptr: Val, align: u32, volatile: bool) -> Val {
        unsafe {
            let v = LLVMBuildLoad2(self.builder, ty.0, ptr.0, EMPTY);
            LLVMSetAlignment(v, align);
            LLVMSetVolatile(v, volatile.into());
            self.mark_access(v);
            Val(v)
        }
    }
    /// Marks a load: the memory does not change while the kernel runs.
    pub fn mark_invariant(&self, load: Val) {
        unsafe {
            if LLVMIsALoadInst(load.0).is_null() {
                return;
            }
            let name = "invariant.load";
            let kind =
                LLVMGetMDKindIDInContext(self.ctx(), name.as_ptr().cast(), name.len() as c_uint);
            let node = LLVMMDNodeInContext2(self.ctx(), std::ptr::null_mut(), 0);
            LLVMSetMetadata(load.0, kind, LLVMMetadataAsValue(self.ctx(), node));
        }
    }
    /// The loads and stores that follow belong to this access group; none: to no group.
    pub fn set_group(&self, group: Option<AccessGroup>) {
        self.group.set(group);
    }
    fn mark_access(&self, access: LLVMValueRef) {
        if let Some(group) = self.group.get() {
            let kind = self.metadata_kind("llvm.access.group");
            unsafe { LLVMSetMetadata(access, kind, self.as_value(group.0)) }
        }
    }
    /// Stores a value.
    pub fn store(&self, v: Val, ptr: Val, align: u32, volatile: bool) {
        unsafe {
            let s = LLVMBuildStore(self.builder, v.0, ptr.0);
            LLVMSetAlignment(s, align);
            LLVMSetVolatile(s, volatile.into());
            self.mark_access(s);
        }
    }
    /// `ptr + offset` bytes; the offset wraps.
    pub fn offset(&self, ptr: Val, offset: Val) -> Val {
        if self.as_const_int(offset) == Some(0) {
            return ptr;
        }
        let mut index = [offset.0];
        Val(unsafe {
            LLVMBuildGEP2(self.builder, self.int(8).0, ptr.0, index.as_mut_ptr(), 1, EMPTY)
        })
    }
    /// `ptr + offset` bytes, within the object that `ptr` points into.
    pub fn offset_in(&self, ptr: Val, offset: Val) -> Val {
        if self.as_const_int(offset) == Some(0) {
            return ptr;
        }
        let mut index = [offset.0];
        Val(unsafe {
            LLVMBuildInBoundsGEP2(self.builder, self.int(8).0, ptr.0, index.as_mut_ptr(), 1, EMPTY)
        })
    }
    /// `ptr + offset` bytes.
    pub fn offset_const(&self, ptr: Val, offset: u64) -> Val {
        self.offset_in(ptr, self.const_u64(offset))
    }
    /// Copies `size` bytes between memory that is the same or does not overlap. May end the present block.
    pub fn copy(&self, to: Val, from: Val, size: u64, align: u32) {
        if self.loops_for_memory.get() {
            self.by_pieces(size, align, |ty, offset, align| {
                let v = self.load(ty, self.offset_in(from, offset), align, false);
                self.store(v, self.offset_in(to, offset), align, false);
            });
            return;
        }
        unsafe {
            LLVMBuildMemMove(self.builder, to.0, align, from.0, align, self.const_u64(size).0);
        }
    }
    /// Sets `size` bytes to zero. May end the present block.
    pub fn clear(&self, to: Val, size: u64, align: u32) {
        if self.loops_for_memory.get() {
            self.by_pieces(size, align, |ty, offset, align| {
                self.store(self.zero(ty), self.offset_in(to, offset), align, false);
            });
            return;
        }
        let zero = self.const_int(self.int(8), 0);
        unsafe {
            LLVMBuildMemSet(self.builder, to.0, zero.0, self.const_u64(size).0, align);
        }
    }
    /// Makes copies and clears loops, where there is no library to call.
    pub fn use_loops_for_memory(&self) {
        self.loops_for_memory.set(true);
    }

    // ---- atomics, all relaxed

    fn scope_id(&self, scope: Scope, device: &str, block: &str) -> c_uint {
        let name = match scope {
            Scope::System => "",
            Scope::Device => device,
            Scope::Block => block,
        };
        unsafe { LLVMGetSyncScopeID(self.ctx(), name.as_ptr().cast(), name.len()) }
    }
    /// `atomicrmw op ptr, v monotonic`; the old value.
    pub fn atomic_rmw(&self, op: LLVMAtomicRMWBinOp, ptr: Val, v: Val, scope: Scope) -> Val {
        unsafe {
            Val(LLVMBuildAtomicRMWSyncScope(
                self.builder,
                op,
                ptr.0,
                v.0,
                LLVMAtomicOrdering::LLVMAtomicOrderingMonotonic,
                self.scope_id(scope, "device", "block"),
            ))
        }
    }
    /// `cmpxchg ptr, expected, desired monotonic monotonic`; the old value, and whether it was exchanged.
    pub fn cmpxchg(&self, ptr: Val, expected: Val, desired: Val, scope: Scope) -> (Val, Val) {
        unsafe {
            let pair = Val(LLVMBuildAtomicCmpXchgSyncScope(
                self.builder,
                ptr.0,
                expected.0,
                desired.0,
                LLVMAtomicOrdering::LLVMAtomicOrderingMonotonic,
                LLVMAtomicOrdering::LLVMAtomicOrderingMonotonic,
                self.scope_id(scope, "device", "block"),
            ));
            (self.extract_value(pair, 0), self.extract_value(pair, 1))
        }
    }
    /// A relaxed atomic load.
    pub fn atomic_load(&self, ty: Ty, ptr: Val, align: u32, scope: Scope) -> Val {
        let v = self.load(ty, ptr, align, false);
        unsafe {
            LLVMSetOrdering(v.0, LLVMAtomicOrdering::LLVMAtomicOrderingMonotonic);
            LLVMSetAtomicSyncScopeID(v.0, self.scope_id(scope, "device", "block"));
        }
        v
    }

    // ---- vectors, structures

    /// Element `index` of a vector.
    pub fn extract_element(&self, v: Val, index: u32) -> Val {
        Val(unsafe { LLVMBuildExtractElement(self.builder, v.0, self.const_u32(index).0, EMPTY) })
    }
    /// A vector of these elements.
    pub fn build_vector(&self, elements: &[Val]) -> Val {
        let Some(&first) = elements.first() else { return self.zero(self.int(32)) };
        let mut v = self.poison(self.vector(self.type_of(first), elements.len() as u32));
        for (i, e) in elements.iter().enumerate() {
            let index = self.const_u32(i as u32);
            v = Val(unsafe { LLVMBuildInsertElement(self.builder, v.0, e.0, index.0, EMPTY) });
        }
        v
    }
    /// Member `index` of a structure.
    pub fn extract_value(&self, v: Val, index: u32) -> Val {
        Val(unsafe { LLVMBuildExtractValue(self.builder, v.0, index, EMPTY) })
    }
    /// A literal structure of these members.
    pub fn build_struct(&self, members: &[Val]) -> Val {
        let types: Vec<Ty> = members.iter().map(|&m| self.type_of(m)).collect();
        let mut v = self.poison(self.structure(&types));
        for (i, m) in members.iter().enumerate() {
            v = Val(unsafe { LLVMBuildInsertValue(self.builder, v.0, m.0, i as c_uint, EMPTY) });
        }
        v
    }

    // ---- control

    /// `br target`
    pub fn br(&self, target: Bb) {
        unsafe {
            LLVMBuildBr(self.builder, target.0);
        }
    }
    /// `br condition, then, otherwise`
    pub fn cond_br(&self, condition: Val, then: Bb, otherwise: Bb) {
        unsafe {
            LLVMBuildCondBr(self.builder, condition.0, then.0, otherwise.0);
        }
    }
    /// `switch v, default, cases`
    pub fn switch(&self, v: Val, default: Bb, cases: &[(Val, Bb)]) {
        unsafe {
            let s = LLVMBuildSwitch(self.builder, v.0, default.0, cases.len() as c_uint);
            for (value, block) in cases {
                LLVMAddCase(s, value.0, block.0);
            }
        }
    }
    /// `ret [v]`
    pub fn ret(&self, v: Option<Val>) {
        unsafe {
            match v {
                Some(v) => LLVMBuildRet(self.builder, v.0),
                None => LLVMBuildRetVoid(self.builder),
            };
        }
    }
    /// `unreachable`
    pub fn unreachable(&self) {
        unsafe {
            LLVMBuildUnreachable(self.builder);
        }
    }
    /// A phi without entries.
    pub fn phi(&self, ty: Ty) -> Val {
        Val(unsafe { LLVMBuildPhi(self.builder, ty.0, EMPTY) })
    }
    /// Adds an entry to a phi.
    pub fn add_incoming(&self, phi: Val, v: Val, block: Bb) {
        let (mut values, mut blocks) = ([v.0], [block.0]);
        unsafe { LLVMAddIncoming(phi.0, values.as_mut_ptr(), blocks.as_mut_ptr(), 1) }
    }
}

/// The place of attributes of a function itself.
pub const FUNCTION: u32 = u32::MAX;

fn cstring(name: &str) -> CString {
    CString::new(name.replace('\0', "_")).unwrap_or_default()
}
