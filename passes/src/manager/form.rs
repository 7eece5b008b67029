//! The form of a module as data: what its functions may still contain.

use luisac_xir::op::ArithmeticOp;
use luisac_xir::{Function, Module, Op};
use std::fmt;

/// Declares one dimension of a form: two states, the first the more general one.
macro_rules! dimension {
    ($(#[$meta:meta])* $name:ident { $(#[$gmeta:meta])* $general:ident $gtext:literal, $(#[$smeta:meta])* $special:ident $stext:literal }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $(#[$gmeta])* $general, $(#[$smeta])* $special }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $name::$general => $gtext, $name::$special => $stext })
            }
        }
    };
}

dimension! {
    /// How control flow is written.
    Control {
        /// There may be structured terminators.
        Structured "structured control flow",
        /// Only branches, returns and the like.
        Flat "flat control flow"
    }
}
dimension! {
    /// Where values that change lie.
    Data {
        /// There may be phis.
        Phis "phis",
        /// No phis: all in allocas.
        Memory "memory form"
    }
}
dimension! {
    /// How vectors are computed with.
    Shape {
        /// There may be arithmetic on vectors.
        Vectors "vector arithmetic",
        /// All arithmetic is on scalars; vectors are only built, taken apart, read and written.
        Scalars "scalar arithmetic"
    }
}
dimension! {
    /// Which mathematical operations there are.
    Math {
        /// All of the language.
        Full "all mathematical operations",
        /// Only those that the target has.
        Lowered "lowered mathematics"
    }
}

/// What the functions of a module may contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    pub control: Control,
    pub data: Data,
    pub shape: Shape,
    pub math: Math,
}

impl Form {
    /// The most general form: anything may be there.
    pub const ANY: Form = Form {
        control: Control::Structured,
        data: Data::Phis,
        shape: Shape::Vectors,
        math: Math::Full,
    };
    /// The form that the lowering of an AST leaves.
    pub const LOWERED: Form = Form { data: Data::Memory, ..Form::ANY };

    /// The most special form that all functions of a module have; one pass over the instructions.
    pub fn of(module: &Module) -> Form {
        let mut form = Form {
            control: Control::Flat,
            data: Data::Memory,
            shape: Shape::Scalars,
            math: Math::Lowered,
        };
        for function in module.functions.values() {
            form.widen(module, function);
        }
        form
    }

    fn widen(&mut self, module: &Module, function: &Function) {
        for block in function.blocks() {
            for inst in function.insts(block) {
                match function.op(inst) {
                    op if op.is_structured() => self.control = Control::Structured,
                    Op::Phi => self.data = Data::Phis,
                    // What a target has natively is not known here.
                    Op::Arithmetic(op) if !is_movement(op) => {
                        self.math = Math::Full;
                        let is_vector = |&v: &luisac_xir::ValueId| {
                            let ty = function.value_type(v);
                            module.types.is_vector(ty) || module.types.is_matrix(ty)
                        };
                        if function.args(inst).iter().any(is_vector) {
                            self.shape = Shape::Vectors;
                        }
                    }
                    Op::Cast(_) if module.types.is_vector(function.inst(inst).ty) => {
                        self.shape = Shape::Vectors;
                    }
                    _ => {}
                }
            }
        }
    }

    /// The dimensions in which this form does not have what is required.
    pub fn missing(&self, requires: &Requires) -> Option<String> {
        let control = requires
            .control
            .filter(|&r| r != self.control)
            .map(|r| (r.to_string(), self.control.to_string()));
        let data = requires
            .data
            .filter(|&r| r != self.data)
            .map(|r| (r.to_string(), self.data.to_string()));
        let shape = requires
            .shape
            .filter(|&r| r != self.shape)
            .map(|r| (r.to_string(), self.shape.to_string()));
        let math = requires
            .math
            .filter(|&r| r != self.math)
            .map(|r| (r.to_string(), self.math.to_string()));
        let (wanted, present) = control.or(data).or(shape).or(math)?;
        Some(format!("needs {wanted} but gets {present}"))
    }

    /// This form with the dimensions that `sets` names replaced.
    pub fn with(self, sets: &Requires) -> Form {
        Form {
            control: sets.control.unwrap_or(self.control),
            data: sets.data.unwrap_or(self.data),
            shape: sets.shape.unwrap_or(self.shape),
            math: sets.math.unwrap_or(self.math),
        }
    }
}

fn is_movement(op: ArithmeticOp) -> bool {
    luisac_xir::math::composite::is_movement(op)
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}, {}, {}", self.control, self.data, self.shape, self.math)
    }
}

/// States of some dimensions: what a pass requires, or what it leaves behind. `None`: any, or as before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requires {
    pub control: Option<Control>,
    pub data: Option<Data>,
    pub shape: Option<Shape>,
    pub math: Option<Math>,
}

impl Requires {
    /// Nothing in particular.
    pub const NONE: Requires = Requires { control: None, data: None, shape: None, math: None };
    /// Flat control flow.
    pub const FLAT: Requires = Requires { control: Some(Control::Flat), ..Requires::NONE };
    /// No phis.
    pub const MEMORY: Requires = Requires { data: Some(Data::Memory), ..Requires::NONE };
    /// Phis, as a result.
    pub const PHIS: Requires = Requires { data: Some(Data::Phis), ..Requires::NONE };
    /// Vector arithmetic, as a result.
    pub const VECTORS: Requires = Requires { shape: Some(Shape::Vectors), ..Requires::NONE };
    /// Flat control flow without phis.
    pub const FLAT_MEMORY: Requires =
        Requires { control: Some(Control::Flat), data: Some(Data::Memory), ..Requires::NONE };
    /// Scalar arithmetic.
    pub const SCALARS: Requires = Requires { shape: Some(Shape::Scalars), ..Requires::NONE };
    /// What the LLVM emitter takes: flat, scalar, mathematics lowered.
    pub const FLAT_SCALAR: Requires = Requires {
        control: Some(Control::Flat),
        data: None,
        shape: Some(Shape::Scalars),
        math: Some(Math::Lowered),
    };
    /// What the SPIR-V emitter takes: structured, scalar, mathematics lowered.
    pub const STRUCTURED_SCALAR: Requires = Requires {
        control: Some(Control::Structured),
        data: None,
        shape: Some(Shape::Scalars),
        math: Some(Math::Lowered),
    };
}

impl fmt::Display for Requires {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = Vec::new();
        parts.extend(self.control.map(|x| x.to_string()));
        parts.extend(self.data.map(|x| x.to_string()));
        parts.extend(self.shape.map(|x| x.to_string()));
        parts.extend(self.math.map(|x| x.to_string()));
        if parts.is_empty() { f.write_str("any") } else { f.write_str(&parts.join(", ")) }
    }
}
