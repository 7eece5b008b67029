//! The table of operations against the numberings of the specification.

use super::{CallOp, Param};

#[test]
fn numbers_and_names_round_trip() {
    let (mut a, mut b) = (0, 0);
    for (i, op) in CallOp::all().enumerate() {
        assert_eq!(usize::from(op.number_c()), i);
        assert_eq!(CallOp::from_name(op.name()), Some(op));
        assert_eq!(CallOp::from_number_c(i as u32), Some(op));
        if let Some(n) = op.number_a() {
            assert_eq!((CallOp::from_number_a(n.into()), u32::from(n)), (Some(op), a), "{op}");
            a += 1;
        }
        if let Some(n) = op.number_b() {
            assert_eq!((CallOp::from_number_b(n.into()), u32::from(n)), (Some(op), b), "{op}");
            b += 1;
        }
    }
    assert_eq!((a, b, CallOp::all().len()), (229, 363, 408));
    assert_eq!(CallOp::from_number_a(229), None);
    assert_eq!(CallOp::from_number_b(363), None);
    assert_eq!(CallOp::from_number_c(408), None);
}

#[test]
fn known_numbers() {
    for (op, a, b, c) in [
        (CallOp::AtomicFetchMax, Some(73), Some(73), 73),
        (CallOp::AddressOf, Some(74), Some(76), 76),
        (CallOp::MakeBool2, Some(115), Some(209), 209),
        (CallOp::ShaderExecutionReorder, Some(228), Some(328), 328),
        (CallOp::CooperativeVectorDot, None, None, 347),
        (CallOp::AsyncCopy, None, Some(347), 390),
        (CallOp::Rint, None, Some(362), 405),
        (CallOp::Undefined, None, None, 407),
    ] {
        assert_eq!((op.number_a(), op.number_b(), op.number_c()), (a, b, c), "{op}");
    }
}

#[test]
fn arities() {
    for (op, arity) in [
        (CallOp::BufferWrite, (3, Some(3))),
        (CallOp::SynchronizeBlock, (0, Some(0))),
        (CallOp::Assert, (1, Some(2))),
        (CallOp::Unreachable, (0, Some(1))),
        (CallOp::AtomicFetchAdd, (3, None)),
        (CallOp::AtomicCompareExchange, (4, None)),
        (CallOp::MakeFloat3, (1, None)),
        (CallOp::Custom, (0, None)),
        (CallOp::IndirectSetDispatchKernel, (5, Some(5))),
        (CallOp::AsyncCopy, (7, Some(7))),
    ] {
        assert_eq!(op.arity(), arity, "{op}");
    }
}

#[test]
fn bindless_families() {
    let split = |name: &str| CallOp::from_name(name).and_then(CallOp::bindless);
    assert_eq!(split("BINDLESS_BUFFER_READ"), Some((CallOp::BindlessBufferRead, false, false)));
    assert_eq!(
        split("UNIFORM_BINDLESS_BUFFER_READ"),
        Some((CallOp::BindlessBufferRead, false, true))
    );
    assert_eq!(
        split("TYPED_UNIFORM_BINDLESS_BUFFER_ADDRESS"),
        Some((CallOp::BindlessBufferAddress, true, true))
    );
    assert_eq!(
        split("TYPED_BINDLESS_TEXTURE2D_SAMPLE"),
        Some((CallOp::BindlessTexture2dSample, true, false))
    );
    assert_eq!(split("BUFFER_READ"), None);
    for op in CallOp::all() {
        if let Some((plain, ..)) = op.bindless() {
            assert!(op.name().ends_with(plain.name()), "{op}");
            assert_eq!(op.info().params, plain.info().params, "{op}");
        }
    }
}

#[test]
fn writes() {
    assert_eq!(CallOp::BufferWrite.marked_write(), Some(0));
    assert_eq!(CallOp::Pack.marked_write(), None);
    assert_eq!(CallOp::Pack.written_argument(), Some(1));
    assert_eq!(CallOp::TypedBindlessBufferWrite.marked_write(), None);
    assert_eq!(CallOp::TypedBindlessBufferWrite.written_argument(), Some(0));
    assert_eq!(CallOp::BufferRead.written_argument(), None);
    for op in CallOp::all() {
        if let Some(i) = op.written_argument() {
            let written = op.info().params[i];
            assert!(
                !matches!(written, Param::Index | Param::Float | Param::Data),
                "{op} writes {written:?}"
            );
        }
    }
}
