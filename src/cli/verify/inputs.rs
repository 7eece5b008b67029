//! Arguments made from a seed, in the ranges that kernels mostly ask for: small integers, floats from 0 to 1, a texel and an element
//! a thread or more.

use super::super::run::argument::{Actual, Formal, ImageData, SplitMix};
use super::compare::leaves;
use luisac::codes;
use luisac_artifact::PixelStorage;
use luisac_ast::diagnostic::Diagnostic;
use luisac_ast::types::{Scalar, TypeId, TypeKind, TypeTable};
use luisac_xir::math::scalar;

/// How often longer buffers and smaller integers are tried.
pub const ATTEMPTS: u32 = 5;

/// Memory that all made arguments may take together.
const MOST_BYTES: u64 = 1 << 28;

/// A few whole blocks.
pub fn dispatch(block: [u32; 3]) -> [u32; 3] {
    let more = |n: u32, times: u32| if n > 1 { n.saturating_mul(times) } else { n };
    [block[0].saturating_mul(3), more(block[1], 2), block[2]]
}

/// The arguments of one attempt; those that are given stay.
pub fn make(
    types: &TypeTable,
    formals: &[Formal],
    given: &[Option<Actual>],
    dispatch: [u32; 3],
    (seed, attempt): (u64, u32),
) -> Result<Vec<Actual>, Diagnostic> {
    let threads = dispatch.iter().map(|n| u64::from(*n)).product::<u64>().max(1);
    let elements = threads.saturating_mul(1 << (2 * attempt));
    let mut room = MOST_BYTES;
    let mut made = Vec::new();
    for (index, (formal, given)) in formals.iter().zip(given).enumerate() {
        let mut random = Source {
            bits: SplitMix(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ index as u64),
            // The first attempt takes the numbers of threads and elements, later ones ever smaller ones.
            below: (threads >> (3 * attempt)).clamp(2, 1 << 16),
        };
        let actual = match given {
            Some(actual) => actual.clone(),
            None => one(types, formal.ty, elements, dispatch, &mut random, &mut room).map_err(|why| {
                let message = format!("argument {index} of type `{}` cannot be made: {why}", types.description(formal.ty));
                Diagnostic::error(codes::MISSING_ARGUMENT, message)
                    .with_help("record a case beside the kernel, or give smaller `--dispatch` and the arguments with `--arg`")
            })?,
        };
        made.push(actual);
    }
    Ok(made)
}

fn one(
    types: &TypeTable,
    ty: TypeId,
    elements: u64,
    dispatch: [u32; 3],
    random: &mut Source,
    room: &mut u64,
) -> Result<Actual, &'static str> {
    let mut take = |bytes: Option<u64>| {
        let bytes = bytes.filter(|b| b <= room).ok_or("it would be too large")?;
        *room -= bytes;
        Ok::<_, &'static str>(bytes as usize)
    };
    match types.kind(ty) {
        TypeKind::Buffer { elem, .. } => {
            let elem = if *elem == TypeId::VOID { TypeId::U32 } else { *elem };
            let bytes = take(types.size(elem).checked_mul(elements))?;
            Ok(Actual::Buffer { bytes: random.fill(types, elem, bytes), shape: None })
        }
        TypeKind::Texture { dim, elem, .. } => {
            let storage =
                if *elem == Scalar::F32 { PixelStorage::Float4 } else { PixelStorage::Int4 };
            let depth = if *dim == 3 { dispatch[2].max(2) } else { 1 };
            let size = [dispatch[0].max(1), dispatch[1].max(1), depth];
            let texels = size.iter().try_fold(1u64, |n, &s| n.checked_mul(s.into()));
            let bytes = take(texels.and_then(|n| n.checked_mul(storage.bytes().into())))?;
            let texel =
                TypeId::vector(if *elem == Scalar::F32 { Scalar::F32 } else { Scalar::U32 }, 4);
            Ok(Actual::Image(ImageData {
                storage,
                size,
                levels: 1,
                bytes: random.fill(types, texel, bytes),
            }))
        }
        TypeKind::BindlessArray | TypeKind::Accel | TypeKind::Custom(_) => {
            Err("only values, buffers and images are")
        }
        _ => {
            let bytes = take(Some(types.size(ty)))?;
            Ok(Actual::Value(random.fill(types, ty, bytes)))
        }
    }
}

struct Source {
    bits: SplitMix,
    /// Integers are below this.
    below: u64,
}

impl Source {
    fn fill(&mut self, types: &TypeTable, elem: TypeId, total: usize) -> Vec<u8> {
        let mut memory = vec![0; total];
        let leaves = leaves(types, elem);
        for element in memory.chunks_exact_mut((types.size(elem) as usize).max(1)) {
            for (offset, scalar) in &leaves {
                let bytes = self.scalar(*scalar).to_le_bytes();
                let width = scalar.size() as usize;
                element[*offset..*offset + width].copy_from_slice(&bytes[..width]);
            }
        }
        memory
    }

    fn scalar(&mut self, kind: Scalar) -> u64 {
        let bits = self.bits.next();
        let unit = (bits >> 11) as f64 / (1u64 << 53) as f64;
        match kind {
            Scalar::Bool => bits & 1,
            Scalar::F16 => scalar::f64_to_f16(unit).into(),
            Scalar::F32 => (((bits >> 40) as f32) / (1u32 << 24) as f32).to_bits().into(),
            Scalar::F64 => unit.to_bits(),
            Scalar::I8 | Scalar::U8 | Scalar::I4 => bits % self.below.min(100),
            _ => bits % self.below,
        }
    }
}
