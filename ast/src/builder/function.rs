//! Declarations of a function that is being built.

use super::error::{self, Built, fault};
use super::operand::{Operand, ScalarLiteral};
use super::recorder::Recorder;
use super::session::{Parameter, Session};
use super::value::Value;
use crate::callops::CallOp;
use crate::layout;
use crate::model::{
    Binding, Callee, CurveBases, ExprId, ExprKind, FunctionTag, UnaryOp, VariableTag,
};
use crate::types::{Scalar, TypeError, TypeId, TypeKind};

/// A function while its body runs. The body declares variables and records statements through it.
#[derive(Clone, Copy)]
pub struct FunctionBuilder<'b> {
    pub(super) recorder: Recorder<'b>,
    pub(super) serial: u32,
}

impl Session {
    /// The tag of a variable that holds a resource of this type.
    pub(super) fn resource(&self, ty: TypeId) -> Option<VariableTag> {
        match self.types().kind(ty) {
            TypeKind::Buffer { .. } => Some(VariableTag::Buffer),
            TypeKind::Texture { .. } => Some(VariableTag::Texture),
            TypeKind::BindlessArray => Some(VariableTag::BindlessArray),
            TypeKind::Accel => Some(VariableTag::Accel),
            TypeKind::Custom(name) if **name == *"LC_IndirectDispatchBuffer" => {
                Some(VariableTag::Buffer)
            }
            _ => None,
        }
    }

    fn declared(&mut self, kind: Result<TypeId, TypeError>) -> Built<ExprId> {
        match kind {
            Ok(ty) => self.explicit(ty),
            Err(e) => fault(crate::check::codes::VARIABLE_TYPE, e.to_string()),
        }
    }

    /// An argument of a resource type, or by value.
    fn explicit(&mut self, ty: TypeId) -> Built<ExprId> {
        let tag = self.resource(ty).unwrap_or(VariableTag::Argument);
        self.argument(tag, ty, Parameter::Explicit)
    }

    /// The argument that is bound to a resource: one for each.
    pub(super) fn bound(
        &mut self,
        tag: VariableTag,
        ty: TypeId,
        binding: Binding,
    ) -> Built<ExprId> {
        let fits = match binding {
            Binding::Buffer { .. } => tag == VariableTag::Buffer,
            Binding::Texture { .. } => tag == VariableTag::Texture,
            Binding::BindlessArray { .. } => tag == VariableTag::BindlessArray,
            Binding::Accel { .. } => tag == VariableTag::Accel,
        };
        if !fits {
            let message = format!("a `{}` cannot be bound so", self.name(ty));
            return fault(crate::check::codes::BINDING, message);
        }
        let state = self.top()?;
        if !matches!(state.function.tag, FunctionTag::Kernel | FunctionTag::Callable) {
            return fault(error::BLOCK, "only kernels and callables are bound to resources");
        }
        let known = state.parameters.iter().zip(&state.function.arguments).find(|(p, argument)| {
            matches!(p, Parameter::Bound(b) if *b == binding)
                && state.function.variables[**argument].ty == ty
        });
        if let Some((_, argument)) = known {
            let argument = *argument;
            return self.reference(argument);
        }
        self.argument(tag, ty, Parameter::Bound(binding))
    }

    fn data_constant(&mut self, ty: TypeId, mut bytes: Vec<u8>) -> Built<ExprId> {
        let types = self.types();
        let size = types.size(ty);
        if !types.is_data(ty) || bytes.len() as u64 != size {
            let message = format!(
                "the constant has {} bytes, but a `{}` has {size}",
                bytes.len(),
                self.name(ty)
            );
            return fault(crate::check::codes::CONSTANT_SIZE, message);
        }
        layout::clear_padding(types, ty, &mut bytes);
        let kind = ExprKind::Constant(self.constant(ty, bytes));
        self.list_constant(kind)?;
        self.push(ty, kind)
    }
}

/// Arguments, variables and constants.
impl<'b> FunctionBuilder<'b> {
    #[track_caller]
    pub(super) fn value(&self, step: impl FnOnce(&mut Session) -> Built<ExprId>) -> Value<'b> {
        let serial = self.serial;
        self.recorder.value(|s| {
            s.expect_current(serial)?;
            step(s)
        })
    }

    #[track_caller]
    pub(super) fn step<T>(&self, step: impl FnOnce(&mut Session) -> Built<T>) -> Option<T> {
        let serial = self.serial;
        self.recorder.step(|s| {
            s.expect_current(serial)?;
            step(s)
        })
    }

    /// An argument: a resource by its type, everything else by value; it can be assigned.
    #[track_caller]
    pub fn argument(&self, ty: TypeId) -> Value<'b> {
        self.value(|s| s.explicit(ty))
    }

    /// An argument by reference, of a callable.
    #[track_caller]
    pub fn reference(&self, ty: TypeId) -> Value<'b> {
        self.value(|s| {
            if s.top()?.function.tag == FunctionTag::Kernel {
                return fault(error::BLOCK, "a kernel cannot take a reference");
            }
            s.argument(VariableTag::Reference, ty, Parameter::Explicit)
        })
    }

    /// A buffer argument; the element [`TypeId::VOID`] makes a byte buffer.
    #[track_caller]
    pub fn buffer(&self, element: TypeId) -> Value<'b> {
        self.value(|s| {
            let ty = s.library.types.buffer(element);
            s.declared(ty)
        })
    }

    /// A texture argument of 2 or 3 dimensions, of `int`, `uint` or `float`.
    #[track_caller]
    pub fn texture(&self, dim: u8, scalar: Scalar) -> Value<'b> {
        self.value(|s| {
            let ty = s.library.types.texture(dim, scalar);
            s.declared(ty)
        })
    }

    /// A bindless array argument.
    #[track_caller]
    pub fn bindless_array(&self) -> Value<'b> {
        self.value(|s| {
            let ty = s.library.types.intern(TypeKind::BindlessArray);
            s.declared(ty)
        })
    }

    /// An acceleration structure argument.
    #[track_caller]
    pub fn accel(&self) -> Value<'b> {
        self.value(|s| {
            let ty = s.library.types.intern(TypeKind::Accel);
            s.declared(ty)
        })
    }

    /// A resource that was bound when the function was written: an argument that no caller names. The kernel that
    /// calls a callable with one is bound to it too.
    #[track_caller]
    pub fn bound(&self, ty: TypeId, binding: Binding) -> Value<'b> {
        self.value(|s| match s.resource(ty) {
            Some(tag) => s.bound(tag, ty, binding),
            None => {
                let message = format!("a `{}` is no resource", s.name(ty));
                fault(crate::check::codes::BINDING, message)
            }
        })
    }

    /// A local variable: zero when the function starts, and only then.
    #[track_caller]
    pub fn local(&self, ty: TypeId) -> Value<'b> {
        self.value(|s| {
            let variable = s.variable(VariableTag::Local, ty)?;
            s.reference(variable)
        })
    }

    /// A local variable that gets a value here.
    #[track_caller]
    pub fn var(&self, value: impl Operand<'b>) -> Value<'b> {
        let value = value.into_value(self.recorder);
        self.value(|s| {
            self.recorder.same(value.recorder)?;
            let value = s.resolve(value.raw)?;
            s.stored(value)
        })
    }

    /// A variable that the threads of a block share; only in kernels.
    #[track_caller]
    pub fn shared(&self, ty: TypeId) -> Value<'b> {
        self.value(|s| {
            let variable = s.variable(VariableTag::Shared, ty)?;
            s.reference(variable)
        })
    }

    /// A builtin variable of any tag; those of compute have methods of their own.
    #[track_caller]
    pub fn builtin(&self, tag: VariableTag) -> Value<'b> {
        self.value(|s| {
            if !tag.is_builtin() {
                return fault(error::BLOCK, format!("`{}` is no builtin variable", tag.name()));
            }
            s.builtin_variable(tag)
        })
    }

    /// Index of the thread in the grid: `uint3`.
    #[track_caller]
    pub fn dispatch_id(&self) -> Value<'b> {
        self.builtin(VariableTag::DispatchId)
    }

    /// Number of threads in the grid: `uint3`.
    #[track_caller]
    pub fn dispatch_size(&self) -> Value<'b> {
        self.builtin(VariableTag::DispatchSize)
    }

    /// Index of the thread in its block: `uint3`.
    #[track_caller]
    pub fn thread_id(&self) -> Value<'b> {
        self.builtin(VariableTag::ThreadId)
    }

    /// Index of the block: `uint3`.
    #[track_caller]
    pub fn block_id(&self) -> Value<'b> {
        self.builtin(VariableTag::BlockId)
    }

    /// A number, or 2 to 4 numbers as a vector.
    #[track_caller]
    pub fn literal(&self, number: impl Operand<'b>) -> Value<'b> {
        let value = number.into_value(self.recorder);
        self.value(|s| s.resolve(value.raw))
    }

    /// A literal of a scalar, vector or matrix type in memory layout.
    #[track_caller]
    pub fn literal_bytes(&self, ty: TypeId, bytes: &[u8]) -> Value<'b> {
        self.value(|s| s.literal(ty, bytes.to_vec()))
    }

    /// A constant of any data type in memory layout. Equal constants of a library are stored once.
    #[track_caller]
    pub fn constant(&self, ty: TypeId, bytes: &[u8]) -> Value<'b> {
        self.value(|s| s.data_constant(ty, bytes.to_vec()))
    }

    /// A constant array of numbers.
    #[track_caller]
    pub fn constant_array<T: ScalarLiteral>(&self, numbers: &[T]) -> Value<'b> {
        self.value(|s| {
            let len = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            let ty = match s.library.types.array(TypeId::scalar(T::SCALAR), len) {
                Ok(ty) => ty,
                Err(e) => return fault(crate::check::codes::CONSTANT_SIZE, e.to_string()),
            };
            let mut bytes = Vec::new();
            numbers.iter().for_each(|number| number.append(&mut bytes));
            s.data_constant(ty, bytes)
        })
    }

    /// All zeros.
    #[track_caller]
    pub fn zero(&self, ty: TypeId) -> Value<'b> {
        self.call_as(ty, CallOp::Zero, &[])
    }

    /// Ones in every scalar.
    #[track_caller]
    pub fn one(&self, ty: TypeId) -> Value<'b> {
        self.call_as(ty, CallOp::One, &[])
    }

    /// The number that stands for a type: `ulong`.
    #[track_caller]
    pub fn type_id(&self, ty: TypeId) -> Value<'b> {
        self.value(|s| s.push(TypeId::U64, ExprKind::TypeId(ty)))
    }

    /// The number that stands for a text: `ulong`.
    #[track_caller]
    pub fn string_id(&self, text: &str) -> Value<'b> {
        self.value(|s| {
            let text = s.text(text)?;
            s.push(TypeId::U64, ExprKind::StringId(text))
        })
    }

    /// The number that stands for a callable: `ulong`.
    #[track_caller]
    pub fn func_ref(&self, callable: super::Callable<'b>) -> Value<'b> {
        self.value(|s| {
            self.recorder.same(callable.recorder)?;
            let function = s.callable(callable.index)?.function;
            s.note_callee(Callee::Function(function))?;
            s.push(TypeId::U64, ExprKind::FuncRef(Some(function).into()))
        })
    }

    /// A call back into the process that records: addresses of the function, of its destructor and of its data. Works
    /// on no target.
    #[track_caller]
    pub fn cpu_custom(&self, ty: TypeId, pointers: [u64; 3], argument: Value<'b>) -> Value<'b> {
        self.value(|s| {
            let argument = Some(s.resolve(argument.raw)?).into();
            let bytes: Vec<u8> = pointers.iter().flat_map(|p| p.to_le_bytes()).collect();
            let pointers = s.top()?.function.add_bytes(&bytes);
            s.push(ty, ExprKind::CpuCustom { pointers, argument })
        })
    }

    /// Source text of a device language. Works on no target.
    #[track_caller]
    pub fn gpu_custom(&self, ty: TypeId, source: &str, argument: Value<'b>) -> Value<'b> {
        self.value(|s| {
            let argument = Some(s.resolve(argument.raw)?).into();
            let source = s.text(source)?;
            s.push(ty, ExprKind::GpuCustom { source, argument })
        })
    }

    /// Curves that the function may meet, besides those that its calls say.
    #[track_caller]
    pub fn require_curves(&self, bases: CurveBases) {
        self.step(|s| {
            s.top()?.function.curve_bases.0 |= bases.0 & 0xf;
            Ok(())
        });
    }

    /// The only wave size that the function is right for: a power of two up to 128.
    #[track_caller]
    pub fn require_warp_size(&self, size: u32) {
        self.step(|s| {
            if !size.is_power_of_two() || size > 128 {
                return fault(error::BLOCK, format!("there are no waves of {size} threads"));
            }
            s.top()?.function.allowed_warp_size = Some(size);
            Ok(())
        });
    }
}

/// Unary operators by name, for programs that choose them at run time.
impl<'b> FunctionBuilder<'b> {
    /// An operator on one value.
    #[track_caller]
    pub fn unary(&self, op: UnaryOp, operand: Value<'b>) -> Value<'b> {
        match op {
            UnaryOp::Plus => operand.plus(),
            UnaryOp::Minus => -operand,
            UnaryOp::Not => !operand,
            UnaryOp::BitNot => operand.bit_not(),
        }
    }

    /// An operator on two values.
    #[track_caller]
    pub fn binary(
        &self,
        op: crate::model::BinaryOp,
        lhs: Value<'b>,
        rhs: impl Operand<'b>,
    ) -> Value<'b> {
        lhs.binary(op, rhs)
    }
}
