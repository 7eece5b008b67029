//! `#[derive(Value)]` lays structures out as the compiler does, and kernels are checked against them.

mod common;

use common::{argument, kernels, metadata};
use luisac_artifact::{DataLayout, metadata::ArgumentKind};
use luisac_runtime::{Device, Float2, Float3, Matrix, Value, Vector, description};

#[derive(Clone, Copy, Debug, PartialEq, Value)]
struct Inner {
    flag: bool,
    weight: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Value)]
struct Particle {
    id: u8,
    place: Float3,
    inner: Inner,
    corners: [Float2; 3],
    turn: Matrix<3>,
    last: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Value)]
#[luisac(align = 16)]
struct Wide(u32, i8);

#[derive(Clone, Copy, Debug, PartialEq, Value)]
struct Empty;

#[track_caller]
fn agrees<T: Value + PartialEq + std::fmt::Debug>(value: T, text: &str) {
    assert_eq!(description::<T>(), text);
    let layout = DataLayout::parse(text).unwrap();
    let (size, align) = (layout.size(layout.root()), layout.align(layout.root()));
    assert_eq!((T::SIZE as u64, T::ALIGN as u64), (size, align));
    let mut bytes = vec![0xee; T::SIZE];
    value.store(&mut bytes);
    assert_eq!(T::load(&bytes), value);
}

#[test]
fn structures() {
    let inner = Inner { flag: true, weight: -0.5 };
    agrees(inner, "struct<8,bool,double>");
    agrees(Wide(7, -1), "struct<16,uint,byte>");
    agrees(Empty, "struct<1>");
    let particle = Particle {
        id: 9,
        place: Vector([1.0, 2.0, 3.0]),
        inner,
        corners: [Vector([4.0, 5.0]); 3],
        turn: Matrix([[6.0, 7.0, 8.0]; 3]),
        last: 0xabcd,
    };
    let text = "struct<16,ubyte,vector<float,3>,struct<8,bool,double>,array<vector<float,2>,3>,\
                matrix<3>,ushort>";
    agrees(particle, text);
    // Member by member at the offsets of the compiler's layout.
    let mut bytes = vec![0; Particle::SIZE];
    particle.store(&mut bytes);
    assert_eq!((bytes[0], &bytes[16..20]), (9, &1.0f32.to_le_bytes()[..]));
    assert_eq!((bytes[32], &bytes[bytes.len() - 16..][..2]), (1, &[0xcd, 0xab][..]));
}

#[test]
fn kernels_are_checked_against_them() {
    let Some(object) = kernels("values") else { return };
    let device = Device::cpu();
    let buffer = |ty: &str, size| argument(ArgumentKind::Buffer, ty, size, 8);
    // The attribute says nothing about the layout.
    let arguments = vec![
        buffer("buffer<struct<8,[a(b)]bool,double>>", 16),
        argument(ArgumentKind::Buffer, "buffer<uint>", 4, 4),
    ];
    let metadata = metadata("mix", [32, 1, 1], arguments, vec![]);
    // SAFETY: the object is the C compiler's, from a source whose kernels follow the metadata.
    let kernel = unsafe { device.load(&object, metadata) }.unwrap();
    let (inner, wide) = (device.buffer::<Inner>(4).unwrap(), device.buffer::<Wide>(4).unwrap());
    let words = device.buffer::<u32>(16).unwrap();
    let mut list = device.list();
    list.dispatch(&kernel, (&inner, &words), [16, 1, 1]).unwrap();
    let error = list.dispatch(&kernel, (&wide, &words), [16, 1, 1]).err().unwrap();
    assert_eq!(
        error.to_string(),
        "the kernel `mix`: argument 0 is `buffer<struct<8,[a(b)]bool,double>>`, got `buffer<struct<16,uint,byte>>`"
    );
    let data = [Inner { flag: true, weight: 0.25 }; 4];
    inner.write(&data).unwrap();
    assert_eq!(inner.read().unwrap(), data);
    assert_eq!(inner.view(1..3).unwrap().cast::<u8>().unwrap().len(), 32);
}
