//! Arguments of a dispatch.

use std::sync::Arc;

use crate::{
    BindlessArray, Buffer, Image, ImageLevel, IndirectBuffer, Value,
    resource::{ArrayMemory, BufferView},
};

/// One argument of a kernel. A reference to a resource and any [`Value`] turn into one.
#[derive(Clone)]
pub struct Argument(pub(crate) Given);

/// How a type describes itself.
pub(crate) type Describe = fn(&mut String);

#[derive(Clone)]
pub(crate) enum Given {
    /// A value in its memory form; without a description it is only measured.
    Value(Vec<u8>, Option<Describe>),
    /// A buffer; without a description it is plain bytes.
    Buffer(BufferView, Option<Describe>),
    Image(ImageLevel),
    Bindless(Arc<ArrayMemory>),
    Indirect(IndirectBuffer),
}

impl Given {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Value(..) => "a value",
            Self::Buffer(..) => "a buffer",
            Self::Image(_) => "an image",
            Self::Bindless(_) => "a bindless array",
            Self::Indirect(_) => "an indirect dispatch buffer",
        }
    }
}

impl Argument {
    /// A value given as its memory form, whatever its type.
    #[must_use]
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self(Given::Value(bytes.into(), None))
    }
}

impl<T: Value> From<T> for Argument {
    fn from(value: T) -> Self {
        let mut bytes = vec![0; T::SIZE];
        value.store(&mut bytes);
        Self(Given::Value(bytes, Some(T::describe)))
    }
}

impl<T: Value> From<&Buffer<T>> for Argument {
    fn from(buffer: &Buffer<T>) -> Self {
        // What is described as `ubyte` may be anything.
        let plain = std::any::TypeId::of::<T>() == std::any::TypeId::of::<u8>();
        Self(Given::Buffer(buffer.bytes().clone(), (!plain).then_some(T::describe as Describe)))
    }
}

impl From<&Image> for Argument {
    fn from(image: &Image) -> Self {
        Self(Given::Image(image.base()))
    }
}

impl From<&ImageLevel> for Argument {
    fn from(level: &ImageLevel) -> Self {
        Self(Given::Image(level.clone()))
    }
}

impl From<&BindlessArray> for Argument {
    fn from(array: &BindlessArray) -> Self {
        Self(Given::Bindless(array.0.clone()))
    }
}

impl From<&IndirectBuffer> for Argument {
    fn from(buffer: &IndirectBuffer) -> Self {
        Self(Given::Indirect(buffer.clone()))
    }
}

/// All arguments of a dispatch, captured resources first: a tuple of what turns into [`Argument`]s, or a vector.
pub trait Arguments {
    /// The arguments in order.
    fn arguments(self) -> Vec<Argument>;
}

impl Arguments for Vec<Argument> {
    fn arguments(self) -> Vec<Argument> {
        self
    }
}

impl Arguments for () {
    fn arguments(self) -> Vec<Argument> {
        Vec::new()
    }
}

macro_rules! tuples {
    ($($name:ident)*) => { tuples!(@ [] $($name)*); };
    (@ [$($done:ident)*]) => {};
    (@ [$($done:ident)*] $next:ident $($left:ident)*) => {
        impl<$($done: Into<Argument>,)* $next: Into<Argument>> Arguments for ($($done,)* $next,) {
            #[allow(non_snake_case, reason = "the types' names serve as those of the values")]
            fn arguments(self) -> Vec<Argument> {
                let ($($done,)* $next,) = self;
                vec![$($done.into(),)* $next.into()]
            }
        }
        tuples!(@ [$($done)* $next] $($left)*);
    };
}

tuples!(A B C D E F G H I J K L M N O P);
