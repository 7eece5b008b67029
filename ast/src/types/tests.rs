//! Layouts, bounds, descriptions.

use super::{Scalar, TypeError, TypeId, TypeKind, TypeTable};
use crate::layout::{MAX_DEPTH, clear_padding};

#[track_caller]
fn layout(description: &str, size: u64, align: u32) {
    let mut types = TypeTable::new();
    let ty = types.parse(description).unwrap_or_else(|e| panic!("{description}: {e}"));
    assert_eq!((types.size(ty), types.align(ty)), (size, align), "{description}");
    assert_eq!(types.description(ty), description);
    assert_eq!(types.layout(ty).description, description.len() as u64, "{description}");
}

#[track_caller]
fn refused(description: &str) -> TypeError {
    TypeTable::new().parse(description).expect_err(description)
}

#[test]
fn sizes_and_alignments() {
    for (description, size, align) in [
        ("void", 0, 1),
        ("bool", 1, 1),
        ("half", 2, 2),
        ("double", 8, 8),
        ("int4", 1, 1),
        ("vector<bool,2>", 2, 2),
        ("vector<bool,3>", 4, 4),
        ("vector<short,3>", 8, 8),
        ("vector<float,2>", 8, 8),
        ("vector<float,3>", 16, 16),
        ("vector<long,2>", 16, 16),
        ("vector<double,3>", 32, 16),
        ("vector<ulong,4>", 32, 16),
        ("matrix<2>", 16, 8),
        ("matrix<3>", 48, 16),
        ("matrix<4>", 64, 16),
        ("array<struct<16,int,float>,10>", 160, 16),
        ("struct<16,array<float,3>,float,array<float,3>,float>", 32, 16),
        ("struct<8,uint,uint,vector<float,2>,float>", 24, 8),
        ("struct<8,uint,uint,vector<float,2>,uint,float>", 24, 8),
        (
            "struct<16,array<float,3>,array<float,4>,array<float,3>,array<float,3>,array<float,3>>",
            64,
            16,
        ),
        ("struct<0,byte,double>", 16, 8),
        ("struct<4>", 0, 4),
        ("struct<4,[cache(coherent)]float,[x]int>", 8, 4),
        ("buffer<void>", 8, 8),
        ("buffer[cache(coherent)]<vector<float,3>>", 8, 8),
        ("texture<3,uint>", 8, 8),
        ("texture[a][b(c)]<2,float>", 8, 8),
        ("bindless_array", 8, 8),
        ("accel", 8, 8),
        ("LC_RayQueryAny", 4, 4),
        ("coopvec<half,16>", 32, 2),
        ("coopvec_ref<16,3>", 0, 1),
        ("coopmat_ref<16,32,3>", 0, 1),
    ] {
        layout(description, size, align);
    }
}

#[test]
fn fixed_ids_are_what_they_say() {
    let types = TypeTable::new();
    for ty in types.ids() {
        let again = match *types.kind(ty) {
            TypeKind::Void => TypeId::VOID,
            TypeKind::Scalar(s) => TypeId::scalar(s),
            TypeKind::Vector { elem, dim } => TypeId::vector(elem, dim),
            TypeKind::Matrix { dim } => TypeId::matrix(dim),
            _ => panic!("{ty} is no fixed type"),
        };
        assert_eq!(again, ty);
    }
    assert_eq!(types.description(TypeId::vector(Scalar::U16, 3)), "vector<ushort,3>");
}

#[test]
fn wrong_descriptions_are_refused() {
    for (description, offset) in [
        ("", 0),
        ("float ", 5),
        ("vector<float>", 12),
        ("vector<matrix<2>,2>", 7),
        ("array<float,3", 13),
        ("array<float,99999999999>", 12),
        ("struct<4,float", 14),
        ("struct<4,[a(b]float>", 13),
        ("buffer<>", 7),
        ("vector<float,300>", 13),
        ("4float", 0),
    ] {
        match refused(description) {
            TypeError::Syntax { offset: at, .. } => assert_eq!(at, offset, "{description}"),
            other => panic!("{description}: {other}"),
        }
    }
    assert!(matches!(refused("nothing"), TypeError::UnknownName(_)));
    assert!(matches!(refused("vector<float,5>"), TypeError::Dimension { dim: 5, .. }));
    assert!(matches!(refused("array<buffer<int>,3>"), TypeError::Element { .. }));
    assert!(matches!(refused("array<float,0>"), TypeError::Empty));
    assert!(matches!(refused("buffer<accel>"), TypeError::Element { .. }));
    assert!(matches!(refused("buffer<struct<4,[a]int>>"), TypeError::Element { .. }));
    assert!(matches!(refused("texture<2,half>"), TypeError::Element { .. }));
    assert!(matches!(refused("struct<4,double>"), TypeError::Alignment { align: 4, members: 8 }));
    assert!(matches!(refused("struct<3,byte>"), TypeError::Alignment { .. }));
    assert!(matches!(refused("array<float,4294967295>"), TypeError::Size(17179869180)));
    assert!(matches!(refused("struct<4,array<float,1073741823>,float>"), TypeError::Size(_)));
}

#[test]
fn nesting_is_bounded() {
    let nested = |depth: usize| format!("{}float{}", "array<".repeat(depth), ",1>".repeat(depth));
    let mut types = TypeTable::new();
    let deepest = types.parse(&nested(MAX_DEPTH as usize)).expect("is within the limit");
    assert_eq!(types.description(deepest), nested(MAX_DEPTH as usize));
    assert_eq!(refused(&nested(MAX_DEPTH as usize + 1)), TypeError::Depth(MAX_DEPTH));
    assert_eq!(refused(&nested(100_000)), TypeError::Depth(MAX_DEPTH));
}

#[test]
fn elements_and_offsets() {
    let mut types = TypeTable::new();
    let ty = types.parse("struct<16,bool,vector<float,3>,short,matrix<3>>").expect("parses");
    let offsets: Vec<_> = (0..types.member_count(ty)).map(|i| types.member_offset(ty, i)).collect();
    assert_eq!((offsets, types.size(ty)), (vec![0, 16, 32, 48], 96));
    assert_eq!(types.element_type(ty, 3), Some(TypeId::matrix(3)));
    assert_eq!(types.element_type(ty, 4), None);
    assert_eq!(types.element_type(TypeId::matrix(3), 2), Some(TypeId::vector(Scalar::F32, 3)));
    assert_eq!(types.member_offset(TypeId::matrix(3), 2), 32);
}

#[test]
fn padding_is_cleared_and_nothing_else() {
    let mut types = TypeTable::new();
    for (description, zeros) in [
        ("vector<float,3>", &[(12, 16)][..]),
        ("vector<bool,3>", &[(3, 4)][..]),
        ("matrix<3>", &[(12, 16), (28, 32), (44, 48)][..]),
        ("array<vector<byte,3>,2>", &[(3, 4), (7, 8)][..]),
        ("struct<8,byte,short,uint,byte>", &[(1, 2), (9, 16)][..]),
        ("struct<16,struct<4,short>,int>", &[(2, 4), (8, 16)][..]),
        ("array<struct<4,int,float>,3>", &[][..]),
    ] {
        let ty = types.parse(description).expect("parses");
        let mut bytes = vec![0xff; types.size(ty) as usize];
        clear_padding(&types, ty, &mut bytes);
        let mut wanted = vec![0xff; bytes.len()];
        for &(start, end) in zeros {
            wanted[start..end].fill(0);
        }
        assert_eq!(bytes, wanted, "{description}");
    }
}
