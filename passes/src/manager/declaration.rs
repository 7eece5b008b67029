//! What a pass says about itself. Command line, report keys, form checks and documentation come from it.

use super::form::Requires;
use super::fuel::Fuel;
use luisac_ast::types::TypeTable;
use luisac_xir::{Function, FunctionId, Module};
use rayon::prelude::*;

/// Something computed about a function that stays true if a pass preserves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Analysis {
    /// Predecessors and block order.
    Cfg,
    /// Dominators.
    Dominators,
    /// Who calls whom.
    CallGraph,
}

/// The text of a declaration and the forms of a pass.
#[derive(Clone, Copy, Debug)]
pub struct Declaration {
    pub name: &'static str,
    /// One line, lower case.
    pub summary: &'static str,
    /// A few sentences.
    pub description: &'static str,
    /// What the pass must get.
    pub requires: Requires,
    /// Why it must.
    pub why: &'static str,
    /// What it leaves; the rest stays as it was.
    pub establishes: Requires,
    pub preserves: &'static [Analysis],
    /// Under `verify_each`, what proves of a function before and after the pass that they compute the same.
    pub proof: Option<Proof>,
}

/// Proves two functions equal, the second of which evolved out of the first; or says what differs.
pub type Proof = fn(&Function, &Function) -> Result<(), String>;

impl Declaration {
    /// A declaration without requirements that leaves the form as it was.
    pub const fn new(
        name: &'static str,
        summary: &'static str,
        description: &'static str,
    ) -> Declaration {
        Declaration {
            name,
            summary,
            description,
            requires: Requires::NONE,
            why: "",
            establishes: Requires::NONE,
            preserves: &[],
            proof: None,
        }
    }
}

/// A counter of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterDecl {
    /// The key in reports.
    pub name: &'static str,
    pub summary: &'static str,
    /// Whether counting means that something changed.
    pub is_change: bool,
}

/// An option of a pass.
#[derive(Clone, Copy, Debug)]
pub struct OptionDecl {
    pub name: &'static str,
    /// What values look like.
    pub kind: &'static str,
    pub default: fn() -> String,
    pub summary: &'static str,
}

/// A type that an option can have.
pub trait OptionType: Sized {
    /// What values look like.
    const KIND: &'static str;
    /// The value of a text.
    fn parse(text: &str) -> Option<Self>;
    /// The text of a value.
    fn show(&self) -> String;
}

impl OptionType for bool {
    const KIND: &'static str = "true|false";
    fn parse(text: &str) -> Option<bool> {
        text.parse().ok()
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl OptionType for u64 {
    const KIND: &'static str = "whole number";
    fn parse(text: &str) -> Option<u64> {
        text.parse().ok()
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

/// The options of a pass as a structure.
pub trait PassOptions: Default + Sync {
    /// The options there are.
    const DECLARATIONS: &'static [OptionDecl];
    /// Sets the option of this name; `Err` with its kind if the value does not fit, `Ok(false)` if there is no such option.
    fn set(&mut self, name: &str, value: &str) -> Result<bool, &'static str>;
}

/// The counters of a pass as a structure.
pub trait PassInfo: Default {
    /// The counters there are.
    const DECLARATIONS: &'static [CounterDecl];
    /// Their values, in order.
    fn values(&self) -> Vec<u64>;
}

impl PassOptions for () {
    const DECLARATIONS: &'static [OptionDecl] = &[];
    fn set(&mut self, _: &str, _: &str) -> Result<bool, &'static str> {
        Ok(false)
    }
}

/// Declares an options structure: `field: type = default "summary";`.
macro_rules! options {
    ($(#[$meta:meta])* $name:ident { $($field:ident : $ty:ty = $default:expr, $summary:literal;)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug)]
        pub struct $name { $(#[doc = $summary] pub $field: $ty,)* }
        impl Default for $name {
            fn default() -> Self {
                $name { $($field: $default,)* }
            }
        }
        impl $crate::manager::declaration::PassOptions for $name {
            const DECLARATIONS: &'static [$crate::manager::declaration::OptionDecl] = &[$(
                $crate::manager::declaration::OptionDecl {
                    name: stringify!($field),
                    kind: <$ty as $crate::manager::declaration::OptionType>::KIND,
                    default: || {
                        let default: $ty = $default;
                        $crate::manager::declaration::OptionType::show(&default)
                    },
                    summary: $summary,
                },
            )*];
            fn set(&mut self, name: &str, value: &str) -> Result<bool, &'static str> {
                $(if name == stringify!($field) {
                    let kind = <$ty as $crate::manager::declaration::OptionType>::KIND;
                    self.$field = $crate::manager::declaration::OptionType::parse(value).ok_or(kind)?;
                    return Ok(true);
                })*
                Ok(false)
            }
        }
    };
}

/// Declares a counters structure: `change field "summary";` counts changes, `note field "summary";` does not.
macro_rules! counters {
    ($(#[$meta:meta])* $name:ident { $($kind:ident $field:ident $summary:literal;)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name { $(#[doc = $summary] pub $field: u64,)* }
        impl $crate::manager::declaration::PassInfo for $name {
            const DECLARATIONS: &'static [$crate::manager::declaration::CounterDecl] = &[$(
                $crate::manager::declaration::CounterDecl {
                    name: stringify!($field),
                    summary: $summary,
                    is_change: counters!(@ $kind),
                },
            )*];
            fn values(&self) -> Vec<u64> {
                vec![$(self.$field,)*]
            }
        }
    };
    (@ change) => { true };
    (@ note) => { false };
}

pub(crate) use {counters, options};

/// Why a pass leaves a function as it is.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// What it is that cannot be transformed: lower case, names in backticks.
    pub reason: String,
    pub help: String,
    /// The function's name.
    pub function: String,
}

/// What a function pass works on.
pub struct FunctionCx<'a> {
    pub func: &'a mut Function,
    pub types: &'a TypeTable,
    pub fuel: &'a Fuel,
}

impl FunctionCx<'_> {
    /// Takes fuel for one change.
    pub fn fuel(&self) -> bool {
        self.fuel.take()
    }

    /// Refuses the function.
    pub fn refuse(&self, reason: impl Into<String>, help: impl Into<String>) -> Refusal {
        Refusal { reason: reason.into(), help: help.into(), function: self.func.name.clone() }
    }
}

/// What a module pass works on.
pub struct ModuleCx<'a> {
    pub module: &'a mut Module,
    pub fuel: &'a Fuel,
}

impl ModuleCx<'_> {
    /// Takes fuel for one change.
    pub fn fuel(&self) -> bool {
        self.fuel.take()
    }
}

/// A pass that looks at one function at a time.
pub trait FunctionPass {
    const DECLARATION: Declaration;
    type Options: PassOptions;
    type Info: PassInfo;
    /// Transforms a function that has a body, or leaves it unchanged and says why.
    fn run(cx: &mut FunctionCx<'_>, options: &Self::Options) -> Result<Self::Info, Refusal>;
}

/// A pass that looks at the module as a whole.
pub trait ModulePass {
    const DECLARATION: Declaration;
    type Options: PassOptions;
    type Info: PassInfo;
    /// Transforms the module, or leaves it unchanged and says why.
    fn run(cx: &mut ModuleCx<'_>, options: &Self::Options) -> Result<Self::Info, Refusal>;
}

/// Names and values of options, as written in a pipeline.
pub type OptionTexts = [(String, String)];

/// Why an option cannot be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionError {
    /// The pass has no option of this name.
    Unknown(String),
    /// The option of this name takes values of this kind.
    Value(String, &'static str),
}

/// A row of the registry.
#[derive(Clone, Copy)]
pub struct Pass {
    pub declaration: Declaration,
    pub options: &'static [OptionDecl],
    pub counters: &'static [CounterDecl],
    pub(crate) check_options: fn(&OptionTexts) -> Result<(), OptionError>,
    pub(crate) body: Body,
}

/// Runs on functions with these options; gives the sums of the counters in their order.
pub(crate) type RunOnFunctions =
    fn(&mut [&mut Function], &TypeTable, &Fuel, &OptionTexts) -> Result<Vec<u64>, Refusal>;
/// Runs on a module with these options; gives the counters in their order.
pub(crate) type RunOnModule = fn(&mut ModuleCx<'_>, &OptionTexts) -> Result<Vec<u64>, Refusal>;

#[derive(Clone, Copy)]
pub(crate) enum Body {
    Function(RunOnFunctions),
    Module(RunOnModule),
}

impl Pass {
    /// The row of a function pass.
    pub const fn function<P: FunctionPass>() -> Pass {
        Pass {
            declaration: P::DECLARATION,
            options: P::Options::DECLARATIONS,
            counters: P::Info::DECLARATIONS,
            check_options: |texts| read_options::<P::Options>(texts).map(|_| ()),
            body: Body::Function(run_on_functions::<P>),
        }
    }

    /// The row of a module pass.
    pub const fn module<P: ModulePass>() -> Pass {
        Pass {
            declaration: P::DECLARATION,
            options: P::Options::DECLARATIONS,
            counters: P::Info::DECLARATIONS,
            check_options: |texts| read_options::<P::Options>(texts).map(|_| ()),
            body: Body::Module(|cx, texts| {
                let options = read_options::<P::Options>(texts).unwrap_or_default();
                P::run(cx, &options).map(|info| info.values())
            }),
        }
    }

    /// The name.
    pub const fn name(&self) -> &'static str {
        self.declaration.name
    }

    /// Whether it looks at one function at a time.
    pub const fn is_function_local(&self) -> bool {
        matches!(self.body, Body::Function(_))
    }

    /// Runs a module pass; a function pass is left out.
    pub(crate) fn run_on_module(
        &self,
        module: &mut Module,
        options: &OptionTexts,
        fuel: &Fuel,
    ) -> Result<Vec<u64>, Refusal> {
        match self.body {
            Body::Module(run) => run(&mut ModuleCx { module, fuel }, options),
            Body::Function(_) => Ok(vec![0; self.counters.len()]),
        }
    }

    /// Runs a function pass on one function of a module; a module pass, or a function without body, is left out. Options that
    /// do not fit count as not given.
    pub fn run_on_function(
        &self,
        module: &mut Module,
        id: FunctionId,
        options: &OptionTexts,
        fuel: &Fuel,
    ) -> Result<Vec<u64>, Refusal> {
        match self.body {
            Body::Function(run) if module.functions[id].has_body() => {
                let Module { types, functions } = module;
                run(&mut [&mut functions[id]], types, fuel, options)
            }
            _ => Ok(vec![0; self.counters.len()]),
        }
    }
}

/// Below so many functions threads cost more than they give.
const MIN_PARALLEL: usize = 16;

/// Runs a pass on functions, which know nothing of each other: in parallel, unless fuel must be taken in order. The result
/// does not depend on it: counters are sums, and of several refusals the first function's is told.
fn run_on_functions<P: FunctionPass>(
    functions: &mut [&mut Function],
    types: &TypeTable,
    fuel: &Fuel,
    texts: &OptionTexts,
) -> Result<Vec<u64>, Refusal> {
    let options = read_options::<P::Options>(texts).unwrap_or_default();
    let run = |func: &mut Function| {
        P::run(&mut FunctionCx { func, types, fuel }, &options).map(|info| info.values())
    };
    let results: Vec<Result<Vec<u64>, Refusal>> =
        if functions.len() < MIN_PARALLEL || fuel.is_limited() {
            functions.iter_mut().map(|func| run(func)).collect()
        } else {
            functions.par_iter_mut().map(|func| run(func)).collect()
        };
    let mut sums = vec![0; P::Info::DECLARATIONS.len()];
    for result in results {
        for (sum, value) in sums.iter_mut().zip(result?) {
            *sum += value;
        }
    }
    Ok(sums)
}

fn read_options<O: PassOptions>(texts: &OptionTexts) -> Result<O, OptionError> {
    let mut options = O::default();
    for (name, value) in texts {
        match options.set(name, value) {
            Ok(true) => {}
            Ok(false) => return Err(OptionError::Unknown(name.clone())),
            Err(kind) => return Err(OptionError::Value(name.clone(), kind)),
        }
    }
    Ok(options)
}
