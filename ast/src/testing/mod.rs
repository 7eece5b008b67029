//! Random libraries for tests: typed, within limits, the same ones for the same options.
//!
//! Between them they hold every kind of node, type, variable and operation that a form can hold. They mean nothing, and are
//! not made to be run; what they promise is that [`check`](crate::check) finds no error in them.
//!
//! ```
//! use luisac_ast::{check, testing};
//! let library = testing::library(&testing::Options { seed: 7, size: 20, form: testing::Form::D0 });
//! assert!(!check::check(&library).has_errors());
//! ```

mod arguments;
mod calls;
mod expressions;
mod functions;
mod random;
mod statements;
mod types;

pub use random::Random;

use crate::callops::{CallOp, Group};
use crate::model::{
    Constant, ConstantId, External, ExternalId, Function, FunctionId, FunctionTag, Library, Usage,
    VariableId,
};
use crate::usage;

/// What a library may be written as, which decides what it may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Nothing: whatever the model can hold.
    Memory,
    /// JSON without a version.
    D0,
    /// JSON of version 1.
    V1,
    /// A callable library of 2024-10.
    BinaryB,
    /// A callable library of 2026-09.
    BinaryC,
}

impl Form {
    /// All forms.
    pub const ALL: [Form; 5] = [Form::Memory, Form::D0, Form::V1, Form::BinaryB, Form::BinaryC];

    fn is_binary(self) -> bool {
        matches!(self, Form::BinaryB | Form::BinaryC)
    }

    /// Whether attributes and cooperative types can be written.
    fn has_descriptions(self) -> bool {
        matches!(self, Form::Memory | Form::BinaryC)
    }

    fn holds(self, op: CallOp) -> bool {
        match self {
            Form::Memory | Form::BinaryC => true,
            Form::BinaryB => op.number_a().is_some(),
            Form::D0 | Form::V1 => op.info().group != Group::Cooperative,
        }
    }
}

/// Which library is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// Any number; another one gives another library.
    pub seed: u64,
    /// Statements, roughly: with a smaller size the library of the same seed is simpler. 1 to a few thousand.
    pub size: usize,
    /// What the library may be written as.
    pub form: Form,
}

/// The library of some options.
pub fn library(options: &Options) -> Library {
    let mut generator = Generator::new(options);
    generator.constants();
    generator.externals();
    let callables = generator.random.below(1 + options.size.min(40) / 8);
    for _ in 0..callables {
        let tag = generator.callee_tag();
        generator.function(tag, options.size / (callables + 1));
    }
    generator.function(FunctionTag::Kernel, options.size / (callables + 1));
    let mut library = generator.library;
    library.entry = library.functions.last().map(|(id, _)| id);
    usage::mark(&mut library);
    library
}

/// What encloses the statement that is being made.
#[derive(Clone, Copy, Default)]
struct Context {
    in_loop: bool,
    /// The query of the handler.
    query: Option<VariableId>,
    in_gradients: bool,
    depth: usize,
}

struct Generator {
    random: Random,
    form: Form,
    library: Library,
    types: types::Pool,
    /// The function that is being made.
    function: Function,
    id: FunctionId,
    context: Context,
    /// How many more nodes are wanted.
    fuel: usize,
}

impl Generator {
    fn new(options: &Options) -> Self {
        let form = options.form as u64;
        let mut random = Random::new(options.seed ^ form << 56);
        let mut library = Library::new();
        let types = types::Pool::new(&mut random, options, &mut library.types);
        Self {
            random,
            form: options.form,
            library,
            types,
            function: Function::new(FunctionTag::Callable),
            id: FunctionId::from_u32(0),
            context: Context::default(),
            fuel: 0,
        }
    }

    fn constants(&mut self) {
        for _ in 0..self.random.below(4) {
            let ty = *self.random.pick(&self.types.constants);
            let bytes = self.bytes_of(ty);
            let constant = Constant { ty, bytes };
            // Libraries of callables know constants by value.
            if !self.library.constants.values().any(|c| *c == constant) {
                self.library.constants.push(constant);
            }
        }
    }

    fn externals(&mut self) {
        if !matches!(self.form, Form::Memory | Form::D0) {
            return;
        }
        for i in 0..self.random.below(3) {
            let argument_types =
                (0..self.random.below(4)).map(|_| self.types.data(&mut self.random));
            let argument_types: Vec<_> = argument_types.collect();
            let usages = argument_types.iter().map(|_| Usage::READ).collect();
            let return_type = self.types.data(&mut self.random);
            self.library.externals.push(External {
                name: format!("native_{i}"),
                return_type,
                argument_types,
                argument_usages: usages,
            });
        }
    }

    fn callee_tag(&mut self) -> FunctionTag {
        match self.random.below(12) {
            0 if self.form != Form::V1 => FunctionTag::RasterStage,
            1 if matches!(self.form, Form::Memory | Form::D0) => FunctionTag::Coroutine,
            _ => FunctionTag::Callable,
        }
    }

    fn any_constant(&mut self, fits: impl Fn(&Constant) -> bool) -> Option<ConstantId> {
        let found: Vec<ConstantId> =
            self.library.constants.iter().filter(|(_, c)| fits(c)).map(|(id, _)| id).collect();
        self.random.pick_any(&found)
    }

    fn any_external(&mut self) -> Option<ExternalId> {
        let all: Vec<ExternalId> = self.library.externals.keys().collect();
        self.random.pick_any(&all)
    }

    fn any_callable(&mut self, fits: impl Fn(&Function) -> bool) -> Option<FunctionId> {
        let found: Vec<FunctionId> = self
            .library
            .functions
            .iter()
            .filter(|(_, f)| f.tag == FunctionTag::Callable && fits(f))
            .map(|(id, _)| id)
            .collect();
        self.random.pick_any(&found)
    }

    /// A text with what writers have to take care of.
    fn text(&mut self) -> String {
        const PIECES: [&str; 10] =
            ["a", "\"", "\\", "\n", "\u{1}", "\u{e9}", "\u{1f300}", "/", " line ", "\u{2028}"];
        (0..self.random.below(6)).map(|_| *self.random.pick(&PIECES)).collect()
    }
}
