//! Finished code: how large it is, and cutting blocks that are too long.

use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::*;

use super::Ir;

impl Ir<'_> {
    /// Every block of the module, in order.
    pub(super) fn blocks(&self) -> impl Iterator<Item = LLVMBasicBlockRef> {
        self.functions().flat_map(|f| {
            chain(unsafe { LLVMGetFirstBasicBlock(f) }, |b| unsafe { LLVMGetNextBasicBlock(b) })
        })
    }
    /// Every function of the module, in order.
    fn functions(&self) -> impl Iterator<Item = LLVMValueRef> {
        let first = unsafe { LLVMGetFirstFunction(self.module.as_mut_ptr()) };
        chain(first, |f| unsafe { LLVMGetNextFunction(f) })
    }
    /// Instructions of the longest block of the module.
    pub fn longest_block(&self) -> usize {
        self.blocks().map(|b| instructions(b).count()).max().unwrap_or(0)
    }
    /// Instructions of the module.
    pub fn instruction_count(&self) -> usize {
        self.blocks().map(|b| instructions(b).count()).sum()
    }
    /// Cuts every block of more than `limit` instructions into blocks of about so many, one after another.
    pub fn cut_blocks(&self, limit: usize) {
        let long: Vec<LLVMBasicBlockRef> =
            self.blocks().filter(|&b| instructions(b).count() > limit).collect();
        for block in long {
            unsafe { self.cut_block(block, limit) }
        }
    }

    /// Moves the beginning of a block into new blocks before it, so that what its successors know of it stays true.
    ///
    /// # Safety
    /// The block must be complete.
    unsafe fn cut_block(&self, block: LLVMBasicBlockRef, limit: usize) {
        let all: Vec<LLVMValueRef> = instructions(block).collect();
        // Phis, and allocas at the beginning of a function, stay together at the head.
        let fixed = all
            .iter()
            .rposition(|&i| unsafe {
                !LLVMIsAPHINode(i).is_null() || !LLVMIsAAllocaInst(i).is_null()
            })
            .map_or(0, |last| last + 1);
        let Some((&terminator, body)) = all.split_last() else { return };
        let mut start = 0;
        while body.len() - start > limit {
            let end = if start == 0 { limit.max(fixed) } else { start + limit };
            let Some(chunk) = body.get(start..end) else { return };
            unsafe {
                let head = LLVMInsertBasicBlockInContext(self.ctx(), block, c"".as_ptr());
                // Without its terminator the block has no successors whose phis would be changed with the branches to it.
                LLVMInstructionRemoveFromParent(terminator);
                LLVMReplaceAllUsesWith(LLVMBasicBlockAsValue(block), LLVMBasicBlockAsValue(head));
                LLVMPositionBuilderAtEnd(self.builder, head);
                for &inst in chunk {
                    LLVMInstructionRemoveFromParent(inst);
                    LLVMInsertIntoBuilder(self.builder, inst);
                }
                LLVMBuildBr(self.builder, block);
                LLVMPositionBuilderAtEnd(self.builder, block);
                LLVMInsertIntoBuilder(self.builder, terminator);
            }
            start = end;
        }
    }
}

/// The instructions of a block in order.
pub(super) fn instructions(block: LLVMBasicBlockRef) -> impl Iterator<Item = LLVMValueRef> {
    chain(unsafe { LLVMGetFirstInstruction(block) }, |i| unsafe { LLVMGetNextInstruction(i) })
}

/// The members of one of LLVM's lists.
fn chain<T>(first: *mut T, next: impl Fn(*mut T) -> *mut T) -> impl Iterator<Item = *mut T> {
    let present = |p: *mut T| (!p.is_null()).then_some(p);
    std::iter::successors(present(first), move |&p| present(next(p)))
}
