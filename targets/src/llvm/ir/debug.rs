//! Line information: a source file, a subprogram for each function, a line for each instruction.

use std::cell::RefCell;
use std::ffi::{c_char, c_uint};

use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::debuginfo::*;
use inkwell::llvm_sys::prelude::*;
use inkwell::llvm_sys::{LLVMModuleFlagBehavior, debuginfo::LLVMDWARFSourceLanguage};
use rustc_hash::FxHashMap;

use super::{EMPTY, Ir};

/// What of DWARF a target gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// A line table.
    Table,
    /// Directives of the assembler only.
    Directives,
}

/// The state of one module.
pub(super) struct Debug {
    builder: LLVMDIBuilderRef,
    file: LLVMMetadataRef,
    /// The type of every function: its parameters are not described.
    ty: LLVMMetadataRef,
    subprograms: RefCell<FxHashMap<LLVMValueRef, LLVMMetadataRef>>,
    optimised: bool,
}

unsafe extern "C" {
    /// As in `llvm_sys`, but with the kind as a number: its enumeration lacks the one for directives.
    #[link_name = "LLVMDIBuilderCreateCompileUnit"]
    fn create_unit(
        builder: LLVMDIBuilderRef,
        language: LLVMDWARFSourceLanguage,
        file: LLVMMetadataRef,
        producer: *const c_char,
        producer_len: usize,
        is_optimised: c_uint,
        flags: *const c_char,
        flags_len: usize,
        version: c_uint,
        split_name: *const c_char,
        split_name_len: usize,
        kind: c_uint,
        dwo: c_uint,
        split_inlining: c_uint,
        for_profiling: c_uint,
        sysroot: *const c_char,
        sysroot_len: usize,
        sdk: *const c_char,
        sdk_len: usize,
    ) -> LLVMMetadataRef;
}

impl Ir<'_> {
    /// From now on instructions have lines of this file.
    pub fn start_lines(&mut self, file: &str, lines: Lines, optimised: bool) {
        let kind = match lines {
            Lines::Table => 2,
            Lines::Directives => 3,
        };
        let producer = concat!("luisac ", env!("CARGO_PKG_VERSION"));
        let module = self.module.as_mut_ptr();
        for (key, value) in [("Debug Info Version", 3), ("Dwarf Version", 4)] {
            unsafe {
                let value = LLVMValueAsMetadata(self.const_u32(value).0);
                let behaviour = LLVMModuleFlagBehavior::LLVMModuleFlagBehaviorWarning;
                LLVMAddModuleFlag(module, behaviour, key.as_ptr().cast(), key.len(), value);
            }
        }
        unsafe {
            let builder = LLVMCreateDIBuilder(module);
            let file = LLVMDIBuilderCreateFile(
                builder,
                file.as_ptr().cast(),
                file.len(),
                c".".as_ptr(),
                1,
            );
            create_unit(
                builder,
                LLVMDWARFSourceLanguage::LLVMDWARFSourceLanguageC99,
                file,
                producer.as_ptr().cast(),
                producer.len(),
                optimised.into(),
                EMPTY,
                0,
                0,
                EMPTY,
                0,
                kind,
                0,
                1,
                0,
                EMPTY,
                0,
                EMPTY,
                0,
            );
            let ty = LLVMDIBuilderCreateSubroutineType(builder, file, std::ptr::null_mut(), 0, 0);
            let subprograms = RefCell::default();
            self.debug = Some(Debug { builder, file, ty, subprograms, optimised });
        }
    }

    /// The instructions that follow in the present function are of this line; 0 if of none.
    pub fn set_line(&self, line: u32) {
        let Some(debug) = &self.debug else { return };
        unsafe {
            let function = LLVMGetBasicBlockParent(self.block().0);
            let location = self.location(debug, function, line);
            LLVMSetCurrentDebugLocation2(self.builder, location);
        }
    }

    unsafe fn location(&self, debug: &Debug, function: LLVMValueRef, line: u32) -> LLVMMetadataRef {
        unsafe {
            let scope = debug.subprogram(function, line);
            LLVMDIBuilderCreateDebugLocation(self.ctx(), line, 0, scope, std::ptr::null_mut())
        }
    }

    /// Completes the line information: every instruction has a place in its own function.
    pub fn finish_lines(&self) {
        let Some(debug) = &self.debug else { return };
        unsafe {
            LLVMSetCurrentDebugLocation2(self.builder, std::ptr::null_mut());
            for block in self.blocks() {
                let function = LLVMGetBasicBlockParent(block);
                let nowhere = self.location(debug, function, 0);
                let scope = LLVMDILocationGetScope(nowhere);
                for inst in super::blocks::instructions(block) {
                    let location = LLVMInstructionGetDebugLoc(inst);
                    if location.is_null() || LLVMDILocationGetScope(location) != scope {
                        LLVMInstructionSetDebugLoc(inst, nowhere);
                    }
                }
            }
            LLVMDIBuilderFinalize(debug.builder);
        }
    }
}

impl Debug {
    /// The subprogram of a function, made when it is first asked for.
    unsafe fn subprogram(&self, function: LLVMValueRef, line: u32) -> LLVMMetadataRef {
        *self.subprograms.borrow_mut().entry(function).or_insert_with(|| unsafe {
            let mut len = 0;
            let name = LLVMGetValueName2(function, &mut len);
            let subprogram = LLVMDIBuilderCreateFunction(
                self.builder,
                self.file,
                name,
                len,
                name,
                len,
                self.file,
                line,
                self.ty,
                1,
                1,
                line,
                0,
                self.optimised.into(),
            );
            LLVMSetSubprogram(function, subprogram);
            subprogram
        })
    }
}

impl Drop for Debug {
    fn drop(&mut self) {
        unsafe { LLVMDisposeDIBuilder(self.builder) }
    }
}
