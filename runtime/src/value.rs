//! Values that host and kernels exchange, in the memory form of the kernels' types.
//!
//! A type says how it is described (`vector<float,3>`), and stores and loads itself; what Rust makes of its layout is
//! of no account. So a 3-vector has its fourth word, a structure its gaps, and nothing here is `unsafe`.

use half::f16;

use crate::RuntimeError;

/// A type of which kernels know the layout. `#[derive(Value)]` makes it of a structure whose fields are values.
///
/// ```
/// use luisac_runtime::{Float3, Value};
///
/// assert_eq!((Float3::SIZE, Float3::ALIGN), (16, 16));
/// assert_eq!(luisac_runtime::description::<[Float3; 2]>(), "array<vector<float,3>,2>");
/// ```
pub trait Value: Copy + Send + Sync + 'static {
    /// Bytes in memory, padding included.
    const SIZE: usize;
    /// Alignment in memory.
    const ALIGN: usize;

    /// Appends the description of the type.
    fn describe(out: &mut String);

    /// Writes the value to the first [`Self::SIZE`] bytes; padding stays as it is.
    fn store(self, bytes: &mut [u8]);

    /// Reads the value from the first [`Self::SIZE`] bytes.
    fn load(bytes: &[u8]) -> Self;

    /// Reads values that lie one after the other.
    #[must_use]
    fn load_all(bytes: &[u8]) -> Vec<Self> {
        bytes.chunks_exact(Self::SIZE.max(1)).map(Self::load).collect()
    }
}

/// The description of a type, as metadata has it.
#[must_use]
pub fn description<T: Value>() -> String {
    let mut text = String::new();
    T::describe(&mut text);
    text
}

/// The memory form of `values`, one after the other.
pub(crate) fn store_all<T: Value>(values: &[T]) -> Result<Vec<u8>, RuntimeError> {
    let (len, mut bytes) = (values.len().saturating_mul(T::SIZE), Vec::new());
    let out_of_memory = |_| RuntimeError::OutOfMemory { bytes: len as u64 };
    bytes.try_reserve_exact(len).map_err(out_of_memory)?;
    bytes.resize(len, 0);
    for (value, bytes) in values.iter().zip(bytes.chunks_exact_mut(T::SIZE.max(1))) {
        value.store(bytes);
    }
    Ok(bytes)
}

/// The values whose memory form `bytes` is.
pub(crate) fn load_all<T: Value>(bytes: &[u8]) -> Vec<T> {
    T::load_all(bytes)
}

/// A scalar, which may be an element of a [`Vector`].
pub trait Scalar: Value + Default {
    #[doc(hidden)]
    const NAME: &'static str;
}

macro_rules! scalars {
    ($($ty:ty = $name:literal;)*) => {$(
        impl Value for $ty {
            const SIZE: usize = size_of::<$ty>();
            const ALIGN: usize = size_of::<$ty>();

            fn describe(out: &mut String) {
                out.push_str($name);
            }

            fn store(self, bytes: &mut [u8]) {
                if let Some(bytes) = bytes.first_chunk_mut() {
                    *bytes = self.to_le_bytes();
                }
            }

            // Whole chunks of a known length become a plain copy.
            fn load_all(bytes: &[u8]) -> Vec<Self> {
                bytes.as_chunks().0.iter().map(|chunk| Self::from_le_bytes(*chunk)).collect()
            }

            fn load(bytes: &[u8]) -> Self {
                bytes.first_chunk().map_or(Self::default(), |b| Self::from_le_bytes(*b))
            }
        }

        impl Scalar for $ty {
            const NAME: &'static str = $name;
        }
    )*};
}

scalars! {
    i8 = "byte";
    u8 = "ubyte";
    i16 = "short";
    u16 = "ushort";
    i32 = "int";
    u32 = "uint";
    i64 = "long";
    u64 = "ulong";
    f16 = "half";
    f32 = "float";
    f64 = "double";
}

impl Value for bool {
    const SIZE: usize = 1;
    const ALIGN: usize = 1;

    fn describe(out: &mut String) {
        out.push_str(Self::NAME);
    }

    fn store(self, bytes: &mut [u8]) {
        u8::from(self).store(bytes);
    }

    fn load(bytes: &[u8]) -> Self {
        u8::load(bytes) != 0
    }
}

impl Scalar for bool {
    const NAME: &'static str = "bool";
}

/// Two to four scalars. Three take the place of four.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd)]
pub struct Vector<T, const N: usize>(pub [T; N]);

impl<T: Scalar, const N: usize> Default for Vector<T, N> {
    fn default() -> Self {
        Self([T::default(); N])
    }
}

impl<T, const N: usize> From<[T; N]> for Vector<T, N> {
    fn from(elements: [T; N]) -> Self {
        Self(elements)
    }
}

/// Elements a vector takes in memory; refuses other lengths when the program is compiled.
const fn room(n: usize) -> usize {
    assert!(n >= 2 && n <= 4, "a vector has 2, 3 or 4 elements");
    if n == 3 { 4 } else { n }
}

impl<T: Scalar, const N: usize> Value for Vector<T, N> {
    const SIZE: usize = T::SIZE * room(N);
    const ALIGN: usize = if T::SIZE * room(N) > 16 { 16 } else { T::SIZE * room(N) };

    fn describe(out: &mut String) {
        out.push_str(&format!("vector<{},{N}>", T::NAME));
    }

    fn store(self, bytes: &mut [u8]) {
        for (value, bytes) in self.0.into_iter().zip(bytes.chunks_exact_mut(T::SIZE)) {
            value.store(bytes);
        }
    }

    fn load(bytes: &[u8]) -> Self {
        let mut elements = [T::default(); N];
        for (element, bytes) in elements.iter_mut().zip(bytes.chunks_exact(T::SIZE)) {
            *element = T::load(bytes);
        }
        Self(elements)
    }
}

/// As many columns of floats as rows.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Matrix<const N: usize>(pub [[f32; N]; N]);

impl<const N: usize> Value for Matrix<N> {
    const SIZE: usize = N * Vector::<f32, N>::SIZE;
    const ALIGN: usize = Vector::<f32, N>::ALIGN;

    fn describe(out: &mut String) {
        out.push_str(&format!("matrix<{N}>"));
    }

    fn store(self, bytes: &mut [u8]) {
        for (column, bytes) in
            self.0.into_iter().zip(bytes.chunks_exact_mut(Vector::<f32, N>::SIZE))
        {
            Vector(column).store(bytes);
        }
    }

    fn load(bytes: &[u8]) -> Self {
        let mut columns = [[0.0; N]; N];
        for (column, bytes) in columns.iter_mut().zip(bytes.chunks_exact(Vector::<f32, N>::SIZE)) {
            *column = Vector::load(bytes).0;
        }
        Self(columns)
    }
}

impl<T: Value, const N: usize> Value for [T; N] {
    const SIZE: usize = T::SIZE * N;
    const ALIGN: usize = T::ALIGN;

    fn describe(out: &mut String) {
        out.push_str("array<");
        T::describe(out);
        out.push_str(&format!(",{N}>"));
    }

    fn store(self, bytes: &mut [u8]) {
        for (value, bytes) in self.into_iter().zip(bytes.chunks_exact_mut(T::SIZE.max(1))) {
            value.store(bytes);
        }
    }

    fn load(bytes: &[u8]) -> Self {
        std::array::from_fn(|i| T::load(bytes.get(i * T::SIZE..).unwrap_or_default()))
    }
}

macro_rules! vectors {
    ($($ty:ty: $two:ident $three:ident $four:ident;)*) => {$(
        #[doc = concat!("Two of `", stringify!($ty), "`.")]
        pub type $two = Vector<$ty, 2>;
        #[doc = concat!("Three of `", stringify!($ty), "`.")]
        pub type $three = Vector<$ty, 3>;
        #[doc = concat!("Four of `", stringify!($ty), "`.")]
        pub type $four = Vector<$ty, 4>;
    )*};
}

vectors! {
    f32: Float2 Float3 Float4;
    i32: Int2 Int3 Int4;
    u32: UInt2 UInt3 UInt4;
}

#[cfg(test)]
mod tests {
    use super::*;
    use luisac_artifact::DataLayout;

    #[track_caller]
    fn agrees<T: Value + PartialEq + std::fmt::Debug>(value: T, text: &str) {
        assert_eq!(description::<T>(), text);
        let layout = DataLayout::parse(text).unwrap();
        let size = (layout.size(layout.root()), layout.align(layout.root()));
        assert_eq!((T::SIZE as u64, T::ALIGN as u64), size, "{text}");
        assert_eq!(load_all::<T>(&store_all(&[value, value]).unwrap()), [value, value], "{text}");
    }

    #[test]
    fn layouts_are_the_compilers() {
        agrees(true, "bool");
        agrees(-3i8, "byte");
        agrees(f16::from_f32(0.5), "half");
        agrees(1.5f64, "double");
        agrees(Vector([true, false, true]), "vector<bool,3>");
        agrees(Vector([1.0f32, 2.0]), "vector<float,2>");
        agrees(Vector([1.0f32, 2.0, 3.0]), "vector<float,3>");
        agrees(Vector([1.0f64, 2.0, 3.0]), "vector<double,3>");
        agrees(Vector([1u16, 2, 3, 4]), "vector<ushort,4>");
        agrees(Matrix([[1.0, 2.0, 3.0]; 3]), "matrix<3>");
        agrees(Matrix([[1.0, 2.0]; 2]), "matrix<2>");
        agrees([Vector([1i32, 2, 3]); 5], "array<vector<int,3>,5>");
    }
}
