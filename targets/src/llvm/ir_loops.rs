//! Loops that the emitter itself makes, and what it tells LLVM of them.

use inkwell::context::AsContextRef;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::debuginfo::{LLVMMetadataReplaceAllUsesWith, LLVMTemporaryMDNode};
use inkwell::llvm_sys::prelude::*;
use inkwell::memory_buffer::MemoryBuffer;

use super::ir::{AccessGroup, Ir, Ty, Val};

/// Most pieces of a copy or clear that are written out one after another.
const MAX_PIECES: u64 = 16;

impl Ir<'_> {
    /// Goes over `size` bytes in pieces: `piece(type, offset, alignment)`. Many pieces become a loop.
    pub(super) fn by_pieces(&self, size: u64, align: u32, piece: impl Fn(Ty, Val, u32)) {
        let width = match size {
            16.. => 16,
            _ => u64::from(align.clamp(1, 8)),
        };
        let ty =
            if width == 16 { self.vector(self.int(64), 2) } else { self.int(width as u32 * 8) };
        let at = |offset: u64| super::memory::align_at(align, offset);
        let count = size / width;
        if count <= MAX_PIECES {
            for i in 0..count {
                piece(ty, self.const_u64(i * width), at(i * width));
            }
        } else {
            let least = at(width);
            self.counted(self.const_u64(count), |i| {
                piece(ty, self.mul(i, self.const_u64(width)), least);
            });
        }
        // The rest, in pieces that halve.
        let mut offset = count * width;
        while offset < size {
            let left = size - offset;
            let width = 1 << left.ilog2().min(3);
            piece(self.int(width as u32 * 8), self.const_u64(offset), at(offset));
            offset += width;
        }
    }

    /// A loop over `i` from 0 to below `count` (`i64`, not zero). Instructions go behind it afterwards.
    pub fn counted(&self, count: Val, body: impl FnOnce(Val)) {
        let before = self.block();
        let (head, done) = (self.new_block("each"), self.new_block("each_done"));
        self.br(head);
        self.at_end(head);
        let i = self.phi(self.type_of(count));
        self.add_incoming(i, self.zero(self.type_of(count)), before);
        body(i);
        let next = self.add_nuw(i, self.const_int(self.type_of(count), 1));
        self.add_incoming(i, next, self.block());
        self.cond_br(self.ult(next, count), head, done);
        self.at_end(done);
    }

    /// `add nuw a, b`: the sum is known not to pass the end of the unsigned range.
    pub fn add_nuw(&self, a: Val, b: Val) -> Val {
        self.no_wrap(self.add(a, b))
    }

    /// `mul nuw a, b`: the product is known not to pass the end of the unsigned range.
    pub fn mul_nuw(&self, a: Val, b: Val) -> Val {
        self.no_wrap(self.mul(a, b))
    }

    fn no_wrap(&self, v: Val) -> Val {
        unsafe {
            if !LLVMIsAInstruction(v.0).is_null() {
                LLVMSetNUW(v.0, 1);
            }
        }
        v
    }

    /// A new access group, or none if LLVM cannot make one.
    pub fn new_access_group(&self) -> Option<AccessGroup> {
        // A group is a distinct node without operands, for which LLVM's C interface has no call but its parser.
        let text = c"!group = !{!0}\n!0 = distinct !{}\n";
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.to_bytes_with_nul(), "group");
        let module = self.context.create_module_from_ir(buffer).ok()?;
        unsafe {
            let mut node: LLVMValueRef = std::ptr::null_mut();
            let name = c"group".as_ptr();
            if LLVMGetNamedMetadataNumOperands(module.as_mut_ptr(), name) == 1 {
                LLVMGetNamedMetadataOperands(module.as_mut_ptr(), name, &mut node);
            }
            // The context owns the node.
            (!node.is_null()).then(|| AccessGroup(LLVMValueAsMetadata(node)))
        }
    }

    /// Says of the loop whose last branch was just built that the accesses of `group` do not depend on each other from one
    /// iteration to another.
    pub fn mark_parallel_loop(&self, latch: super::ir::Bb, group: AccessGroup) {
        self.mark_loop(latch, "llvm.loop.parallel_accesses", group.0);
    }

    /// Asks for `count` iterations at a time in the loop that a block goes back to the head of.
    pub fn mark_unrolled_loop(&self, latch: super::ir::Bb, count: u32) {
        let count = unsafe { LLVMValueAsMetadata(self.const_u32(count).0) };
        self.mark_loop(latch, "llvm.loop.unroll.count", count);
    }

    fn mark_loop(&self, latch: super::ir::Bb, name: &str, value: LLVMMetadataRef) {
        unsafe {
            let ctx = self.context.as_ctx_ref();
            let mut fact = [LLVMMDStringInContext2(ctx, name.as_ptr().cast(), name.len()), value];
            let fact = LLVMMDNodeInContext2(ctx, fact.as_mut_ptr(), fact.len());
            let placeholder = LLVMTemporaryMDNode(ctx, std::ptr::null_mut(), 0);
            let mut operands = [placeholder, fact];
            let id = LLVMMDNodeInContext2(ctx, operands.as_mut_ptr(), operands.len());
            LLVMMetadataReplaceAllUsesWith(placeholder, id);
            let branch = LLVMGetBasicBlockTerminator(latch.0);
            if !branch.is_null() {
                LLVMSetMetadata(branch, self.metadata_kind("llvm.loop"), self.as_value(id));
            }
        }
    }

    pub(super) fn metadata_kind(&self, name: &str) -> u32 {
        unsafe {
            LLVMGetMDKindIDInContext(
                self.context.as_ctx_ref(),
                name.as_ptr().cast(),
                name.len() as u32,
            )
        }
    }

    pub(super) fn as_value(&self, node: LLVMMetadataRef) -> LLVMValueRef {
        unsafe { LLVMMetadataAsValue(self.context.as_ctx_ref(), node) }
    }
}
