//! Functions, calls, assembly and globals.

use std::ffi::c_uint;

use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::*;
use inkwell::llvm_sys::{LLVMInlineAsmDialect, LLVMLinkage};

use super::{Callee, EMPTY, FUNCTION, Ir, Ty, Val, cstring};

impl Ir<'_> {
    // ---- functions

    /// A function of the module.
    pub fn add_function(&self, name: &str, ret: Ty, params: &[Ty], internal: bool) -> Callee {
        let ty = self.function_type(ret, params);
        let name = cstring(name);
        unsafe {
            let f = LLVMAddFunction(self.module.as_mut_ptr(), name.as_ptr(), ty.0);
            if internal {
                LLVMSetLinkage(f, LLVMLinkage::LLVMInternalLinkage);
            }
            Callee { value: Val(f), ty }
        }
    }
    /// A function of the module by name, if it is there; its type must be the one given.
    pub fn function_named(&self, name: &str, ret: Ty, params: &[Ty]) -> Option<Callee> {
        let text = cstring(name);
        let f = unsafe { LLVMGetNamedFunction(self.module.as_mut_ptr(), text.as_ptr()) };
        if f.is_null() {
            return None;
        }
        Some(Callee { value: Val(f), ty: self.function_type(ret, params) })
    }
    /// A declared function whose name starts as an intrinsic's but is none: a mistake that would become a call of nothing.
    pub fn unknown_intrinsic(&self) -> Option<String> {
        let known = self.intrinsics.borrow();
        let mut names: Vec<&String> = known
            .iter()
            .filter(|(_, c)| unsafe { LLVMGetIntrinsicID(c.value.0) } == 0)
            .map(|(name, _)| name)
            .collect();
        names.sort();
        names.first().map(|name| name.to_string())
    }
    /// Parameter `index` of a function.
    pub fn param(&self, function: Val, index: u32) -> Val {
        Val(unsafe { LLVMGetParam(function.0, index) })
    }
    /// Adds an attribute without a value, such as `nounwind`, to a function, or to a parameter (1 is the first).
    pub fn add_attribute(&self, function: Val, place: u32, name: &str, value: u64) {
        unsafe {
            let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
            let attribute = LLVMCreateEnumAttribute(self.ctx(), kind, value);
            LLVMAddAttributeAtIndex(function.0, place, attribute);
        }
    }
    /// Adds an attribute whose value is a type, such as `byval`, to a parameter (1 is the first).
    pub fn add_type_attribute(&self, function: Val, place: u32, name: &str, ty: Ty) {
        unsafe {
            let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
            let attribute = LLVMCreateTypeAttribute(self.ctx(), kind, ty.0);
            LLVMAddAttributeAtIndex(function.0, place, attribute);
        }
    }
    /// Adds a textual attribute to a function.
    pub fn add_text_attribute(&self, function: Val, key: &str, value: &str) {
        unsafe {
            let attribute = LLVMCreateStringAttribute(
                self.ctx(),
                key.as_ptr().cast(),
                key.len() as c_uint,
                value.as_ptr().cast(),
                value.len() as c_uint,
            );
            LLVMAddAttributeAtIndex(function.0, FUNCTION, attribute);
        }
    }
    /// Sets the calling convention.
    pub fn set_convention(&self, function: Val, convention: u32) {
        unsafe { LLVMSetFunctionCallConv(function.0, convention) }
    }
    /// Calls a function.
    pub fn call(&self, callee: Callee, args: &[Val]) -> Val {
        let mut list: Vec<LLVMValueRef> = args.iter().map(|a| a.0).collect();
        Val(unsafe {
            LLVMBuildCall2(
                self.builder,
                callee.ty.0,
                callee.value.0,
                list.as_mut_ptr(),
                list.len() as c_uint,
                EMPTY,
            )
        })
    }
    /// Calls the intrinsic of this full name, declared by the types of its result and arguments.
    pub fn intrinsic(&self, name: &str, ret: Ty, args: &[Val]) -> Val {
        let known = self.intrinsics.borrow().get(name).copied();
        let callee = known.unwrap_or_else(|| {
            let params: Vec<Ty> = args.iter().map(|&a| self.type_of(a)).collect();
            let callee = self.add_function(name, ret, &params, false);
            self.intrinsics.borrow_mut().insert(name.to_string(), callee);
            callee
        });
        self.call(callee, args)
    }
    /// Calls a floating-point intrinsic with the current fast-math flags.
    pub fn float_intrinsic(&self, name: &str, ret: Ty, args: &[Val]) -> Val {
        self.flagged(self.intrinsic(name, ret, args))
    }
    /// Calls inline assembly.
    pub fn assembly(
        &self,
        text: &str,
        constraints: &str,
        ret: Ty,
        args: &[Val],
        side_effect: bool,
        convergent: bool,
    ) -> Val {
        let params: Vec<Ty> = args.iter().map(|&a| self.type_of(a)).collect();
        let ty = self.function_type(ret, &params);
        unsafe {
            let value = LLVMGetInlineAsm(
                ty.0,
                text.as_ptr().cast(),
                text.len(),
                constraints.as_ptr().cast(),
                constraints.len(),
                side_effect.into(),
                0,
                LLVMInlineAsmDialect::LLVMInlineAsmDialectATT,
                0,
            );
            let call = self.call(Callee { value: Val(value), ty }, args);
            if convergent {
                let name = "convergent";
                let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
                let attribute = LLVMCreateEnumAttribute(self.ctx(), kind, 0);
                LLVMAddCallSiteAttribute(call.0, FUNCTION, attribute);
            }
            call
        }
    }

    // ---- globals

    /// A constant of these bytes, private to the module.
    pub fn constant_global(&self, bytes: &[u8], align: u32, space: u32) -> Val {
        unsafe {
            let data = LLVMConstStringInContext2(self.ctx(), bytes.as_ptr().cast(), bytes.len(), 1);
            let name = c"constant";
            let g = LLVMAddGlobalInAddressSpace(
                self.module.as_mut_ptr(),
                LLVMTypeOf(data),
                name.as_ptr(),
                space,
            );
            LLVMSetInitializer(g, data);
            LLVMSetGlobalConstant(g, 1);
            LLVMSetLinkage(g, LLVMLinkage::LLVMInternalLinkage);
            LLVMSetUnnamedAddress(g, inkwell::llvm_sys::LLVMUnnamedAddr::LLVMGlobalUnnamedAddr);
            LLVMSetAlignment(g, align);
            Val(g)
        }
    }
    /// Memory of `size` bytes without a value, in an address space.
    pub fn undefined_global(&self, size: u64, align: u32, space: u32) -> Val {
        unsafe {
            let ty = self.array(self.int(8), size.max(1));
            let g = LLVMAddGlobalInAddressSpace(
                self.module.as_mut_ptr(),
                ty.0,
                c"shared".as_ptr(),
                space,
            );
            LLVMSetInitializer(g, LLVMGetUndef(ty.0));
            LLVMSetLinkage(g, LLVMLinkage::LLVMInternalLinkage);
            LLVMSetAlignment(g, align);
            Val(g)
        }
    }
}
