//! Variables and parts of them.

use luisac_ast::types::{TypeId, TypeKind};
use luisac_xir::{InstId, ValueId};

use super::Emit;
use super::expr::Expr;
use super::function::{FnEmit, internal};
use super::instances::Hop;
use super::language::Language;

/// The memory that a variable lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    Thread,
    Block,
}

/// A step into a variable.
#[derive(Clone, Debug)]
pub enum Step {
    Known(String),
    /// An index; into an array, or a vector or matrix.
    Index {
        array: bool,
        index: Expr,
    },
}

impl Step {
    /// Whether this may be a step into a vector; into a matrix otherwise.
    pub fn is_component(&self) -> bool {
        match self {
            Step::Known(known) => COMPONENTS.contains(&known.as_str()),
            Step::Index { array, .. } => !array,
        }
    }
}

/// A variable, or a part of it.
#[derive(Clone, Debug)]
pub struct Path {
    pub memory: Memory,
    /// The name of the variable, and its type.
    pub root: String,
    pub root_type: TypeId,
    pub steps: Vec<Step>,
    /// The last step goes into a vector.
    pub in_vector: bool,
    /// The type of what is named.
    pub part_type: TypeId,
}

impl Path {
    /// A whole variable.
    pub fn variable(memory: Memory, root: String, root_type: TypeId) -> Path {
        Path { memory, root, root_type, steps: Vec::new(), in_vector: false, part_type: root_type }
    }

    /// The text, and whether it reads memory on the way.
    pub fn text(&self) -> Expr {
        let mut text = Expr::atom(self.root.clone());
        for step in &self.steps {
            match step {
                Step::Known(known) => text = text.postfix(known),
                Step::Index { array, index } => {
                    let suffix = format!("{}[{}]", if *array { ".at" } else { "" }, index.text);
                    text = text.postfix(&suffix);
                    text.reads |= index.reads;
                    text.depth = text.depth.max(index.depth);
                }
            }
        }
        text
    }

    /// The steps as a callable is told of them, and the indices that are passed.
    pub fn hops(&self) -> (Vec<Hop>, Vec<Expr>) {
        let mut indices = Vec::new();
        let hops = self.steps.iter().map(|step| match step {
            Step::Known(known) => Hop::Known(known.clone()),
            Step::Index { array, index } => {
                indices.push(Expr::call("uint", std::slice::from_ref(index)));
                Hop::Index { array: *array }
            }
        });
        (hops.collect(), indices)
    }

    /// Whether an index reads memory.
    pub fn reads(&self) -> bool {
        self.steps.iter().any(|s| matches!(s, Step::Index { index, .. } if index.reads))
    }
}

const COMPONENTS: [&str; 4] = [".x", ".y", ".z", ".w"];

impl FnEmit<'_, '_> {
    /// The place that an lvalue names.
    pub fn place(&mut self, value: ValueId) -> Emit<Path> {
        // A place that is used once is used up, so that nothing is settled for it any more.
        let found = match self.once.remove(&value) {
            true => self.paths.remove(&value),
            false => self.paths.get(&value).cloned(),
        };
        match found {
            Some(path) => Ok(path),
            None => Err(internal("a variable is used before it is declared")),
        }
    }

    /// One step from a type, with its text: the step and the type that it leads to.
    pub fn step(&mut self, ty: TypeId, index: ValueId) -> Emit<(Step, TypeId)> {
        let types = self.cx.types;
        let count = u64::from(types.member_count(ty));
        let constant = self.func.constant_bits(index).filter(|&i| i < count);
        let inner = types
            .element_type(ty, constant.unwrap_or(0) as u32)
            .ok_or_else(|| internal("an index into something without parts"))?;
        let array = types.is_array(ty);
        let step = match (types.kind(ty), constant) {
            (TypeKind::Struct { .. }, Some(i)) => Step::Known(format!(".m{i}")),
            (TypeKind::Vector { .. }, Some(i)) => {
                Step::Known(COMPONENTS[i as usize & 3].to_string())
            }
            (TypeKind::Array { .. }, Some(i)) => Step::Known(format!(".at[{i}]")),
            (TypeKind::Matrix { .. }, Some(i)) => Step::Known(format!("[{i}]")),
            _ => Step::Index { array, index: self.index(index)? },
        };
        Ok((step, inner))
    }

    /// An index as a number of at most 32 bits.
    pub fn index(&mut self, value: ValueId) -> Emit<Expr> {
        let is_long = self.cx.types.size(self.func.value_type(value)) > 4;
        let index = self.value(value)?;
        Ok(if is_long { Expr::call("uint", &[index]) } else { index })
    }

    /// `gep base, index+`: the path is remembered, and written where it is used.
    pub fn gep(&mut self, inst: InstId) -> Emit<()> {
        let args = self.func.args(inst);
        let Some((&base, indices)) = args.split_first() else {
            return Err(internal("a gep without a base"));
        };
        let Some(result) = self.func.result(inst).filter(|&r| self.func.has_uses(r)) else {
            return Ok(());
        };
        let mut path = self.place(base)?;
        let mut ty = self.func.value_type(base);
        for &index in indices {
            path.in_vector = self.cx.types.is_vector(ty);
            let (step, inner) = self.step(ty, index)?;
            path.steps.push(step);
            ty = inner;
        }
        path.part_type = ty;
        if !self.is_used_once_here(result) {
            self.settle_path(&mut path)?;
        } else {
            self.once.insert(result);
            if path.reads() {
                self.reading.push(result);
            }
        }
        self.paths.insert(result, path);
        Ok(())
    }

    /// Gives names to the indices of a path, so that it means the same later.
    pub fn settle_path(&mut self, path: &mut Path) -> Emit<()> {
        for step in &mut path.steps {
            if let Step::Index { index, .. } = step
                && (index.depth > 0 || index.reads)
            {
                *index = self.name_index(index.clone())?;
            }
        }
        Ok(())
    }

    /// A part of a value.
    pub fn extract(&mut self, inst: InstId) -> Emit<()> {
        let args = self.func.args(inst);
        let Some((&base, indices)) = args.split_first() else {
            return Err(internal("an extract without an aggregate"));
        };
        let mut ty = self.func.value_type(base);
        let mut text = self.value(base)?;
        let is_dynamic = indices.iter().any(|&i| self.func.constant_bits(i).is_none());
        // An index that is computed needs something that has a place. Constants that have a name have one: a copy of a large
        // table would cost DXC tens of seconds.
        let is_name = text.text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if is_dynamic
            && (text.depth > 0
                || text.prec != super::expr::Prec::Atom
                || (self.func.constant_bytes(base).is_some() && !is_name))
        {
            let name = self.type_variable(ty, &text)?;
            text = name;
        }
        for &index in indices {
            let (step, inner) = self.step(ty, index)?;
            text = match step {
                Step::Known(known) => text.postfix(&known),
                Step::Index { array, index } => {
                    let mut made = text.postfix(&format!(
                        "{}[{}]",
                        if array { ".at" } else { "" },
                        index.text
                    ));
                    made.reads |= index.reads;
                    made.depth = made.depth.max(index.depth);
                    made
                }
            };
            ty = inner;
        }
        self.define(inst, text)
    }

    /// `insert aggregate, element, index+`: a copy with one part changed.
    pub fn insert(&mut self, inst: InstId) -> Emit<()> {
        let args = self.func.args(inst);
        let (&[base, element], indices) = args.split_at(2.min(args.len())) else {
            return Err(internal("an insert without an element"));
        };
        let Some(result) = self.func.result(inst) else { return Ok(()) };
        let mut ty = self.func.inst(inst).ty;
        let aggregate = self.value(base)?;
        let element = self.value(element)?;
        let mut steps = Vec::new();
        for &index in indices {
            let (step, inner) = self.step(ty, index)?;
            steps.push(step);
            ty = inner;
        }
        let name = self.declare_value(result, &aggregate)?;
        let path = Path { steps, ..Path::variable(Memory::Thread, name, self.func.inst(inst).ty) };
        self.lines.push(format!("{} = {};", path.text().text, element.text));
        Ok(())
    }

    /// An aggregate of its parts.
    pub fn aggregate(&mut self, inst: InstId) -> Emit<()> {
        let ty = self.func.inst(inst).ty;
        let parts = self.values(self.func.args(inst))?;
        let name = self.cx.type_name(ty);
        let types = self.cx.types;
        if types.is_vector(ty) || types.is_matrix(ty) {
            return self.define(inst, Expr::call(&name, &parts));
        }
        let Some(result) = self.func.result(inst) else { return Ok(()) };
        if self.cx.language == Language::Msl {
            let list: Vec<&str> = parts.iter().map(|p| p.text.as_str()).collect();
            let list = list.join(", ");
            let text = match types.is_array(ty) {
                true => format!("{name}{{ {{ {list} }} }}"),
                false => format!("{name}{{ {list} }}"),
            };
            return self.define(inst, Expr::made(text, super::expr::Prec::Atom, &parts));
        }
        let zero = self.cx.zero(ty);
        let variable = self.declare_value(result, &zero)?;
        for (i, part) in parts.iter().enumerate() {
            let step = if types.is_array(ty) { format!(".at[{i}]") } else { format!(".m{i}") };
            self.lines.push(format!("{variable}{step} = {};", part.text));
        }
        Ok(())
    }

    /// `shuffle vector, index+`
    pub fn shuffle(&mut self, inst: InstId) -> Emit<()> {
        let args = self.func.args(inst);
        let Some((&base, indices)) = args.split_first() else {
            return Err(internal("a shuffle without a vector"));
        };
        let text = self.value(base)?;
        let component = |&i: &ValueId| match self.func.constant_bits(i) {
            Some(0) => 'x',
            Some(1) => 'y',
            Some(2) => 'z',
            _ => 'w',
        };
        let swizzle: String = indices.iter().map(component).collect();
        self.define(inst, text.postfix(&format!(".{swizzle}")))
    }
}
