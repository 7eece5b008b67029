//! Types that a random library uses.

use super::{Form, Options, Random};
use crate::types::{Attribute, Member, Scalar, TypeId, TypeKind, TypeTable};

/// Scalars that every operation knows.
pub(super) const SCALARS: [Scalar; 12] = [
    Scalar::Bool,
    Scalar::I8,
    Scalar::U8,
    Scalar::I16,
    Scalar::U16,
    Scalar::I32,
    Scalar::U32,
    Scalar::I64,
    Scalar::U64,
    Scalar::F16,
    Scalar::F32,
    Scalar::F64,
];

/// Structures that operations ask for (`ast.md`, section 1.5).
#[derive(Clone, Copy)]
pub(super) struct Known {
    pub ray: TypeId,
    pub triangle_hit: TypeId,
    pub procedural_hit: TypeId,
    pub committed_hit: TypeId,
    pub motion_srt: TypeId,
    pub query_all: TypeId,
    pub query_any: TypeId,
    pub dispatch: TypeId,
    pub bindless: TypeId,
    pub accel: TypeId,
}

/// Cooperative types that fit together: a matrix of `rows` by `columns`, vectors of both lengths.
#[derive(Clone, Copy)]
pub(super) struct Cooperative {
    pub input: TypeId,
    pub output: TypeId,
    pub vector_ref: TypeId,
    pub matrix_ref: TypeId,
}

pub(super) struct Pool {
    /// Values: scalars, vectors, matrices, arrays, structures.
    data: Vec<TypeId>,
    /// What constants may be of.
    pub constants: Vec<TypeId>,
    pub arrays: Vec<TypeId>,
    pub structs: Vec<TypeId>,
    /// Buffers with an element.
    pub buffers: Vec<TypeId>,
    pub byte_buffer: TypeId,
    pub uint_buffer: TypeId,
    /// Arrays and buffers of which the elements can be changed atomically: integers, floats.
    pub atomic: [Vec<TypeId>; 2],
    pub textures: Vec<TypeId>,
    /// Names only.
    pub opaque: Option<TypeId>,
    pub known: Known,
    pub cooperative: Option<Cooperative>,
}

impl Pool {
    pub fn new(random: &mut Random, options: &Options, types: &mut TypeTable) -> Self {
        let form = options.form;
        let known = known(types);
        let all = if form == Form::BinaryB { &SCALARS[..] } else { &Scalar::ALL[..] };
        let mut data: Vec<TypeId> = all.iter().map(|s| TypeId::scalar(*s)).collect();
        data.extend(all.iter().flat_map(|s| (2..=4).map(|dim| TypeId::vector(*s, dim))));
        data.extend((2..=4).map(TypeId::matrix));
        let mut pool = Self {
            constants: data.clone(),
            data,
            arrays: Vec::new(),
            structs: Vec::new(),
            buffers: Vec::new(),
            byte_buffer: made(types.buffer(TypeId::VOID)),
            uint_buffer: made(types.buffer(TypeId::U32)),
            atomic: Default::default(),
            textures: Vec::new(),
            opaque: None,
            known,
            cooperative: form.has_descriptions().then(|| cooperative(types)),
        };
        for _ in 0..2 + options.size.min(40) / 6 {
            pool.add_aggregate(random, form, types);
        }
        pool.add_resources(random, form, types);
        if matches!(form, Form::Memory | Form::D0) {
            pool.opaque = Some(made(types.intern(TypeKind::Custom("Opaque".into()))));
        }
        pool
    }

    /// Any type of values; mostly one that everything knows.
    pub fn data(&self, random: &mut Random) -> TypeId {
        if random.one_in(3) {
            *random.pick(&self.data)
        } else {
            TypeId::vector(*random.pick(&SCALARS), 1 + random.below(4) as u8)
        }
    }

    fn add_aggregate(&mut self, random: &mut Random, form: Form, types: &mut TypeTable) {
        let elem = self.data(random);
        // Constants are of these types: they should not become long.
        if types.size(elem) > 256 {
            return;
        }
        if random.one_in(2) {
            let array = made(types.array(elem, 1 + random.below(5) as u32));
            self.arrays.push(array);
            self.data.push(array);
            self.constants.push(array);
            return;
        }
        let attributed = form.has_descriptions() && random.one_in(4);
        let count = random.below(5);
        let members: Vec<Member> = (0..count)
            .map(|_| self.data(random))
            .filter(|ty| types.size(*ty) <= 256)
            .map(|ty| Member { ty, attrs: if attributed { attributes() } else { Box::default() } })
            .collect();
        let largest = members.iter().map(|m| types.align(m.ty)).max().unwrap_or(1);
        let aligns: Vec<u32> = [1, 4, 8, 16].into_iter().filter(|a| *a >= largest).collect();
        let align = *random.pick(&aligns);
        let ty = made(types.intern(TypeKind::Struct { align, members: members.into() }));
        self.structs.push(ty);
        if !types.has_attributes(ty) {
            self.data.push(ty);
            self.constants.push(ty);
        }
    }

    fn add_resources(&mut self, random: &mut Random, form: Form, types: &mut TypeTable) {
        for _ in 0..3 {
            let elem = self.data(random);
            let attrs = if form.has_descriptions() && random.one_in(3) {
                attributes()
            } else {
                Box::default()
            };
            self.buffers.push(made(types.intern(TypeKind::Buffer { elem, attrs })));
        }
        self.buffers.push(self.uint_buffer);
        self.atomic = [TypeId::I32, TypeId::F32].map(|elem| {
            let array = made(types.array(elem, 8));
            let of_structs = made(types.structure(4, [elem, array]));
            vec![array, made(types.buffer(elem)), made(types.buffer(of_structs))]
        });
        for dim in [2, 3] {
            for elem in [Scalar::I32, Scalar::U32, Scalar::F32] {
                self.textures.push(made(types.texture(dim, elem)));
            }
        }
        if form.has_descriptions() {
            let attrs = attributes();
            let kind = TypeKind::Texture { dim: 2, elem: Scalar::F32, attrs };
            self.textures.push(made(types.intern(kind)));
        }
    }
}

fn attributes() -> Box<[Attribute]> {
    Box::new([
        Attribute { key: "cache".into(), value: Some("coherent".into()) },
        Attribute { key: "hot".into(), value: None },
    ])
}

fn known(types: &mut TypeTable) -> Known {
    let float2 = TypeId::vector(Scalar::F32, 2);
    let three = made(types.array(TypeId::F32, 3));
    let four = made(types.array(TypeId::F32, 4));
    let mut named = |name: &str| made(types.intern(TypeKind::Custom(name.into())));
    let (query_all, query_any) = (named("LC_RayQueryAll"), named("LC_RayQueryAny"));
    let dispatch = named("LC_IndirectDispatchBuffer");
    let (uint, float) = (TypeId::U32, TypeId::F32);
    Known {
        ray: made(types.structure(16, [three, float, three, float])),
        triangle_hit: made(types.structure(8, [uint, uint, float2, float])),
        procedural_hit: made(types.structure(4, [uint, uint])),
        committed_hit: made(types.structure(8, [uint, uint, float2, uint, float])),
        motion_srt: made(types.structure(16, [three, four, three, three, three])),
        query_all,
        query_any,
        dispatch,
        bindless: made(types.intern(TypeKind::BindlessArray)),
        accel: made(types.intern(TypeKind::Accel)),
    }
}

fn cooperative(types: &mut TypeTable) -> Cooperative {
    let (rows, columns, interpretation) = (8, 4, 1);
    let mut vector = |len| made(types.intern(TypeKind::CoopVec { elem: Scalar::F16, len }));
    let (input, output) = (vector(rows), vector(columns));
    Cooperative {
        input,
        output,
        vector_ref: made(types.intern(TypeKind::CoopVecRef { len: columns, interpretation })),
        matrix_ref: made(types.intern(TypeKind::CoopMatRef { rows, columns, interpretation })),
    }
}

/// These types are all possible.
fn made(ty: Result<TypeId, crate::types::TypeError>) -> TypeId {
    ty.unwrap_or_else(|error| panic!("the generator asks for a wrong type: {error}"))
}
