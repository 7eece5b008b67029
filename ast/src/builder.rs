//! Builds kernels and callables in Rust: LuisaCompute's `FunctionBuilder`.
//!
//! ```
//! use luisac_ast::builder::Builder;
//! use luisac_ast::types::TypeId;
//!
//! let builder = Builder::new();
//! builder.kernel("saxpy", [256, 1, 1], |f| {
//!     let (x, y) = (f.buffer(TypeId::F32), f.buffer(TypeId::F32));
//!     let a = f.argument(TypeId::F32);
//!     let i = f.dispatch_id().x();
//!     y.write(i, a * x.read(i) + y.read(i));
//! })?;
//! let library = builder.finish()?;
//! assert!(!luisac_ast::check::check(&library).has_errors());
//! let json = luisac_ast::json::write(&library, luisac_ast::json::Dialect::V1)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`Builder`] holds a library and the functions that are being built: no state hides elsewhere. The body of a
//! function is a closure, and so is every scope in it. [`Value`]s have the operators of numbers; nothing fails at once:
//! the first mistake is kept with the line that made it, nothing is recorded after it, and [`Builder::kernel`],
//! [`Builder::callable`] or, outside of all bodies, [`Builder::finish`] return it. Each node is judged by the rules of [`check`](crate::check()) when it is made.
//!
//! A callable that is defined inside of another function's body may use that function's values: constant expressions
//! are copied, resources and builtin variables become arguments, what can be assigned is passed by reference, other
//! values by value. Callers pass all that without being told.

mod atomic;
mod calls;
mod capture;
mod error;
mod finish;
mod function;
mod import;
mod marks;
mod operand;
mod promote;
mod recorder;
mod result;
mod scopes;
mod session;
#[cfg(test)]
mod tests;
mod value;

use std::cell::RefCell;
use std::panic::Location;

pub use atomic::AtomicRef;
pub use error::{BuildError, CODES};
pub use finish::FunctionInfo;
pub use function::FunctionBuilder;
pub use operand::{Half, Operand, ScalarLiteral};
pub use promote::{binary as binary_type, common_scalar, unary as unary_type};
pub use recorder::Recorder;
pub use scopes::SwitchBuilder;
pub use value::Value;

/// The page's program compiles.
#[cfg(doctest)]
#[doc = include_str!("../../docs/builder.md")]
struct Page;

/// The codes of the builder, by name.
pub mod codes {
    pub use super::error::{
        BLOCK, FOREIGN, LIMIT, LITERAL, NO_PARTS, NO_TYPE, NOT_CURRENT, PROMOTION, TOO_LARGE,
        UNKNOWN_FUNCTION,
    };
}

use crate::model::{ExternalId, FunctionId, FunctionTag, Library, Usage};
use crate::types::{TypeError, TypeId, TypeKind};
use session::{CallableInfo, Session};

/// A library that is being built.
#[derive(Default)]
pub struct Builder {
    session: RefCell<Session>,
}

/// A callable that can be called.
#[derive(Clone, Copy)]
pub struct Callable<'b> {
    recorder: Recorder<'b>,
    index: usize,
}

/// An external function that can be called.
#[derive(Clone, Copy)]
pub struct External<'b> {
    recorder: Recorder<'b>,
    id: ExternalId,
}

impl<'b> FunctionBuilder<'b> {
    /// As [`Builder::callable`], for a callable that uses values of this function. A mistake in it is one of this
    /// function.
    #[track_caller]
    pub fn callable(&self, name: &str, body: impl FnOnce(&FunctionBuilder<'b>)) -> Callable<'b> {
        let name = (!name.is_empty()).then_some(name);
        let recorder = self.recorder;
        let current = self.step(|_| Ok(()));
        let none = Callable { recorder, index: usize::MAX };
        match current {
            Some(()) => recorder.define(FunctionTag::Callable, name, [0; 3], body).unwrap_or(none),
            None => none,
        }
    }
}

/// Takes away what a body that panicked left.
struct Unwind<'b> {
    recorder: Recorder<'b>,
    depth: usize,
}

impl Drop for Unwind<'_> {
    fn drop(&mut self) {
        if let Ok(mut session) = self.recorder.session.try_borrow_mut() {
            session.stack.truncate(self.depth);
            if self.depth == 0 && std::thread::panicking() {
                session.error = None;
            }
        }
    }
}

impl<'b> Recorder<'b> {
    /// Runs the body of a function and adds the function to the library.
    #[track_caller]
    fn define(
        self,
        tag: FunctionTag,
        name: Option<&str>,
        block_size: [u32; 3],
        body: impl FnOnce(&FunctionBuilder<'b>),
    ) -> Result<Callable<'b>, BuildError> {
        let location = Location::caller();
        let recorder = self;
        let (serial, depth) = {
            let mut session = self.session.borrow_mut();
            let depth = session.stack.len();
            (session.open(tag, name, block_size), depth)
        };
        let unwind = Unwind { recorder, depth };
        body(&FunctionBuilder { recorder, serial });
        let built = self.session.borrow_mut().attempt(location, |s| {
            s.expect_current(serial)?;
            s.finish()
        });
        drop(unwind);
        let mut session = self.session.borrow_mut();
        match built {
            Some((function, parameters)) => {
                session.callables.push(CallableInfo { function, parameters });
                Ok(Callable { recorder, index: session.callables.len() - 1 })
            }
            // The functions around this one fail by the same mistake.
            None if depth > 0 => Err(session.mistake(location)),
            None => Err(session.error.take().unwrap_or_else(|| session.mistake(location))),
        }
    }
}

impl Builder {
    /// A builder of an empty library.
    pub fn new() -> Builder {
        Builder::default()
    }

    fn recorder(&self) -> Recorder<'_> {
        Recorder { session: &self.session }
    }

    /// The type of a description, such as `array<struct<16,vector<float,3>,int>,8>`.
    ///
    /// # Errors
    /// As [`TypeTable::parse`](crate::types::TypeTable::parse).
    pub fn ty(&self, description: &str) -> Result<TypeId, TypeError> {
        self.session.borrow_mut().library.types.parse(description)
    }

    /// An array. Errors as [`Self::ty`].
    pub fn array(&self, element: TypeId, len: u32) -> Result<TypeId, TypeError> {
        self.session.borrow_mut().library.types.array(element, len)
    }

    /// A structure of an alignment in bytes. Errors as [`Self::ty`].
    pub fn structure(&self, align: u32, members: &[TypeId]) -> Result<TypeId, TypeError> {
        self.session.borrow_mut().library.types.structure(align, members.iter().copied())
    }

    /// The type of a kind: also a custom type by name, and types with attributes.
    ///
    /// # Errors
    /// As [`TypeTable::intern`](crate::types::TypeTable::intern).
    pub fn intern(&self, kind: TypeKind) -> Result<TypeId, TypeError> {
        self.session.borrow_mut().library.types.intern(kind)
    }

    /// A function that is known by name only, with the type and the usage of each argument.
    pub fn external(
        &self,
        name: &str,
        return_type: TypeId,
        arguments: &[(TypeId, Usage)],
    ) -> External<'_> {
        let external = crate::model::External {
            name: name.to_owned(),
            return_type,
            argument_types: arguments.iter().map(|(ty, _)| *ty).collect(),
            argument_usages: arguments.iter().map(|(_, usage)| *usage).collect(),
        };
        let id = self.session.borrow_mut().external_function(external);
        External { recorder: self.recorder(), id }
    }

    /// Builds a kernel; a block size of zeros leaves it to the compiler.
    ///
    /// # Errors
    /// The first mistake in its body.
    #[track_caller]
    pub fn kernel<'b>(
        &'b self,
        name: &str,
        block_size: [u32; 3],
        body: impl FnOnce(&FunctionBuilder<'b>),
    ) -> Result<FunctionId, BuildError> {
        self.recorder()
            .define(FunctionTag::Kernel, Some(name), block_size, body)
            .map(|c| self.function_of(c))
    }

    /// Builds a callable. Inside of the body of another function it may use that function's values; a mistake there
    /// is one of the outer function too. A callable that is equal to an earlier one is that one.
    ///
    /// # Errors
    /// The first mistake in its body.
    #[track_caller]
    pub fn callable<'b>(
        &'b self,
        name: &str,
        body: impl FnOnce(&FunctionBuilder<'b>),
    ) -> Result<Callable<'b>, BuildError> {
        let name = (!name.is_empty()).then_some(name);
        self.recorder().define(FunctionTag::Callable, name, [0; 3], body)
    }

    /// Builds a stage of a raster pipeline.
    ///
    /// # Errors
    /// The first mistake in its body.
    #[track_caller]
    pub fn raster_stage<'b>(
        &'b self,
        name: &str,
        body: impl FnOnce(&FunctionBuilder<'b>),
    ) -> Result<FunctionId, BuildError> {
        self.recorder()
            .define(FunctionTag::RasterStage, Some(name), [0; 3], body)
            .map(|c| self.function_of(c))
    }

    /// Builds a coroutine.
    ///
    /// # Errors
    /// The first mistake in its body.
    #[track_caller]
    pub fn coroutine<'b>(
        &'b self,
        name: &str,
        body: impl FnOnce(&FunctionBuilder<'b>),
    ) -> Result<FunctionId, BuildError> {
        self.recorder()
            .define(FunctionTag::Coroutine, Some(name), [0; 3], body)
            .map(|c| self.function_of(c))
    }

    fn function_of(&self, callable: Callable<'_>) -> FunctionId {
        self.session.borrow().callables[callable.index].function
    }

    /// The number of a callable in the library; `None` if a mistake kept it from being built.
    pub fn id(&self, callable: Callable<'_>) -> Option<FunctionId> {
        self.session.borrow().callables.get(callable.index).map(|c| c.function)
    }

    /// A handle to call a function of the library by, such as one that was imported.
    ///
    /// # Errors
    /// If there is no such function.
    #[track_caller]
    pub fn handle(&self, function: FunctionId) -> Result<Callable<'_>, BuildError> {
        let index = self.outside(|s| s.handle(function))?;
        Ok(Callable { recorder: self.recorder(), index })
    }

    /// A second function with the same content and a name of its own.
    ///
    /// # Errors
    /// If there is no such function.
    #[track_caller]
    pub fn duplicate(
        &self,
        function: FunctionId,
        name: Option<&str>,
    ) -> Result<FunctionId, BuildError> {
        self.outside(|s| s.duplicate(function, name))
    }

    /// Copies a function of another library, which is sound, with the types, constants and callables that it needs.
    ///
    /// # Errors
    /// If there is no such function.
    #[track_caller]
    pub fn import(&self, from: &Library, function: FunctionId) -> Result<FunctionId, BuildError> {
        self.outside(|s| s.import(from, function))
    }

    /// A step that is not part of any function: its mistakes are its own.
    #[track_caller]
    fn outside<T>(
        &self,
        step: impl FnOnce(&mut Session) -> error::Built<T>,
    ) -> Result<T, BuildError> {
        let location = Location::caller();
        step(&mut self.session.borrow_mut()).map_err(|fault| BuildError {
            code: fault.code,
            message: fault.message,
            function: None,
            location,
        })
    }

    /// What is known about a function of the library besides the function; `None` if there is no such function.
    pub fn info(&self, function: FunctionId) -> Option<FunctionInfo> {
        self.session.borrow().infos.get(function).cloned()
    }

    /// The library. Its entry is the last kernel.
    ///
    /// # Errors
    /// If a value or function was used after its body had run: what was done with it is nowhere.
    pub fn finish(self) -> Result<Library, BuildError> {
        let session = self.session.into_inner();
        if let Some(mistake) = session.error {
            return Err(mistake);
        }
        let mut library = session.library;
        library.entry = library.kernels().last().map(|(id, _)| id);
        Ok(library)
    }
}

impl Session {
    fn callable(&self, index: usize) -> error::Built<&CallableInfo> {
        match self.callables.get(index) {
            Some(callable) => Ok(callable),
            None => error::fault(error::UNKNOWN_FUNCTION, "the callable could not be built"),
        }
    }

    /// Adds an external function; equal ones are one.
    fn external_function(&mut self, external: crate::model::External) -> ExternalId {
        let known = self.library.externals.iter().find(|(_, e)| **e == external).map(|(id, _)| id);
        known.unwrap_or_else(|| self.library.externals.push(external))
    }

    fn mistake(&self, location: &'static Location<'static>) -> BuildError {
        self.error.clone().unwrap_or(BuildError {
            code: error::NOT_CURRENT,
            message: "the function was not built".to_owned(),
            function: None,
            location,
        })
    }
}
