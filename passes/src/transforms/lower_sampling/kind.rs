//! The kinds of samples, and the signatures of their callables.

use super::{FLOAT, FLOAT4};
use luisac_ast::types::{Scalar, TypeId};
use luisac_xir::op::ResourceQueryOp as Q;
use luisac_xir::{ArgumentKind, Function, FunctionKind, ValueId};

/// The form of an operation that samples.
#[derive(Clone, Copy)]
pub(super) struct Form {
    pub dimensions: u8,
    /// Operands between the coordinate and the codes: none, a level, two gradients, two gradients and a level.
    pub between: usize,
    bindless: bool,
    /// Filter and address are the last operands.
    pub has_codes: bool,
}

impl Form {
    /// The form of an operation; the table of operations lists the eight of each family in the same order.
    pub fn of(op: Q) -> Option<Form> {
        let families = [
            (Q::Texture2dSample, false, true),
            (Q::BindlessTexture2dSample, true, false),
            (Q::BindlessTexture2dSampleSampler, true, true),
        ];
        families.into_iter().find_map(|(first, bindless, has_codes)| {
            let place = (op as usize).checked_sub(first as usize).filter(|&place| place < 8)?;
            let (dimensions, between) = (2 + (place / 4) as u8, place % 4);
            Some(Form { dimensions, between, bindless, has_codes })
        })
    }

    /// How many operands name what is sampled.
    pub fn source_operands(self) -> usize {
        1 + usize::from(self.bindless)
    }
}

/// What is sampled, by the types of its operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Source {
    Argument(TypeId),
    /// A bindless array and the number of a slot.
    Slot(TypeId, TypeId),
}

/// A filter or an address mode.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Code {
    Constant(u32),
    /// Known at run time only.
    Computed,
}

impl Code {
    pub fn of(func: &Function, value: ValueId) -> Code {
        match func.constant_bits(value) {
            Some(bits @ 0..4) => Code::Constant(bits as u32),
            _ => Code::Computed,
        }
    }
}

/// Which level is read.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum LevelBy {
    First,
    /// That of a number that there is.
    Number,
}

/// What a callable does.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Part {
    /// Reads at one level. Of the filter only counts whether it is linear: `Constant(0)` or `Constant(1)`.
    Level { level: LevelBy, filter: Code, address: Code },
    /// Chooses levels and places.
    Whole { between: usize, filter: Code, address: Code },
}

/// A kind of sample.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Kind {
    pub source: Source,
    pub dimensions: u8,
    pub part: Part,
}

/// The values of a callable's arguments.
pub(super) struct Signature {
    /// An image; or an array and a slot.
    pub source: Vec<ValueId>,
    pub at: ValueId,
    pub between: Vec<ValueId>,
    /// Filter and address, where they are computed.
    pub codes: [Option<ValueId>; 2],
}

impl Kind {
    /// Filter and address.
    pub fn codes(&self) -> [Code; 2] {
        match self.part {
            Part::Level { filter, address, .. } | Part::Whole { filter, address, .. } => {
                [filter, address]
            }
        }
    }

    /// The kind that reads at one level, with the same codes.
    pub fn at_level(self, level: LevelBy) -> Kind {
        let [filter, address] = self.codes();
        let filter = match filter {
            Code::Constant(code) => Code::Constant(code.min(1)),
            Code::Computed => Code::Computed,
        };
        Kind { part: Part::Level { level, filter, address }, ..self }
    }

    /// A callable of this kind without code, and its arguments.
    pub fn declare(&self) -> (Function, Signature) {
        let mut func = Function::new(self.name(), FunctionKind::Callable, FLOAT4);
        func.no_inline = self.is_large();
        let mut add = |kind, ty| func.add_argument(kind, ty, None, false);
        let (resource, value) = (ArgumentKind::Resource, ArgumentKind::Value);
        let source = match self.source {
            Source::Argument(image) => vec![add(resource, image)],
            Source::Slot(array, index) => vec![add(resource, array), add(value, index)],
        };
        let vector = TypeId::vector(Scalar::F32, self.dimensions);
        let at = add(value, vector);
        let between: &[TypeId] = match self.part {
            Part::Level { level: LevelBy::First, .. } | Part::Whole { between: 0, .. } => &[],
            Part::Level { level: LevelBy::Number, .. } => &[TypeId::U32],
            Part::Whole { between: 1, .. } => &[FLOAT],
            Part::Whole { between: 2, .. } => &[vector, vector],
            Part::Whole { .. } => &[vector, vector, FLOAT],
        };
        let between = between.iter().map(|&ty| add(value, ty)).collect();
        let codes =
            self.codes().map(|code| (code == Code::Computed).then(|| add(value, TypeId::U32)));
        (func, Signature { source, at, between, codes })
    }

    /// Whether the code is too much to stand at every sample.
    fn is_large(&self) -> bool {
        let [filter, address] = self.codes();
        let computed = filter == Code::Computed || address == Code::Computed;
        let corners = match (filter, self.dimensions) {
            (Code::Constant(0), _) => 1,
            (_, 2) => 4,
            _ => 8,
        };
        match self.part {
            Part::Level { .. } => computed || corners > 4,
            Part::Whole { between, .. } => computed || corners > 1 || between > 1,
        }
    }

    /// A name that says what the callable does.
    fn name(&self) -> String {
        let [filter, address] = self.codes();
        let filter = match (self.part, filter) {
            (_, Code::Constant(0)) => "point",
            (Part::Level { .. }, Code::Constant(_)) => "linear",
            (_, Code::Constant(1)) => "linear_point",
            (_, Code::Constant(2)) => "linear_linear",
            (_, Code::Constant(_)) => "anisotropic",
            (_, Code::Computed) => "any",
        };
        let address = match address {
            Code::Constant(code) => ["edge", "repeat", "mirror", "zero"][code as usize % 4],
            Code::Computed => "any",
        };
        let way = match self.part {
            Part::Level { level: LevelBy::First, .. } => "first_level",
            Part::Level { level: LevelBy::Number, .. } => "one_level",
            Part::Whole { between: 0 | 1, .. } => "level",
            Part::Whole { between: 2, .. } => "grad",
            Part::Whole { .. } => "grad_level",
        };
        let source = if matches!(self.source, Source::Slot(..)) { "slot" } else { "image" };
        format!("sample_{source}{}d_{way}_{filter}_{address}", self.dimensions)
    }
}
