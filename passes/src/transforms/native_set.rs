//! The option `native` of passes that lower operations: what a target has itself.

use crate::manager::declaration::OptionType;
use luisac_ast::types::Scalar;
use luisac_xir::op::ArithmeticOp;

/// Operations that a target has: names, each optionally with a type, as `floor`, `fma.f32` or `clz.u32`. One set of types, as
/// bits, for each operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeSet([u16; ArithmeticOp::ALL.len()]);

const TYPES: [(&str, Scalar); 12] = [
    ("f16", Scalar::F16),
    ("f32", Scalar::F32),
    ("f64", Scalar::F64),
    ("i8", Scalar::I8),
    ("u8", Scalar::U8),
    ("i16", Scalar::I16),
    ("u16", Scalar::U16),
    ("i32", Scalar::I32),
    ("u32", Scalar::U32),
    ("i64", Scalar::I64),
    ("u64", Scalar::U64),
    ("bool", Scalar::Bool),
];
/// The bits of all types; the last is for those without a name here.
const ALL_TYPES: u16 = (1 << (TYPES.len() + 1)) - 1;

impl Default for NativeSet {
    fn default() -> NativeSet {
        NativeSet([0; ArithmeticOp::ALL.len()])
    }
}

impl NativeSet {
    /// Whether the operation on this type is native.
    pub fn has(&self, op: ArithmeticOp, scalar: Scalar) -> bool {
        let bit = TYPES.iter().position(|(_, s)| *s == scalar).unwrap_or(TYPES.len());
        self.0[op as usize] >> bit & 1 == 1
    }
}

impl OptionType for NativeSet {
    const KIND: &'static str =
        "names of operations with an optional type, separated by `|`: `floor|fma.f32`";

    fn parse(text: &str) -> Option<NativeSet> {
        let mut set = NativeSet::default();
        for entry in text.split('|').filter(|e| !e.is_empty()) {
            let (name, bits) = match entry.split_once('.') {
                Some((name, ty)) => (name, 1 << TYPES.iter().position(|(n, _)| *n == ty)?),
                None => (entry, ALL_TYPES),
            };
            set.0[ArithmeticOp::from_name(name)? as usize] |= bits;
        }
        Some(set)
    }

    fn show(&self) -> String {
        let mut entries = Vec::new();
        for &op in ArithmeticOp::ALL {
            let bits = self.0[op as usize];
            if bits == ALL_TYPES {
                entries.push(op.name().to_string());
                continue;
            }
            let held = TYPES.iter().enumerate().filter(|(i, _)| bits >> i & 1 == 1);
            for (_, (suffix, _)) in held {
                entries.push(format!("{}.{suffix}", op.name()));
            }
        }
        entries.join("|")
    }
}
