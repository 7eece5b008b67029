//! XIR to the machine's code, function by function, from the kernel on.

mod control;
mod inst;
mod resource;
mod rows;

use super::code::{Function as CodeFunction, Program, cell};
use super::fault::{Fault, FaultKind};
use crate::eval::flat::{self, Flat};
use crate::{Function, FunctionId, Module, TypeId, ValueDef};
use rows::Rows;
use rustc_hash::FxHashMap;

/// Values of more scalars are refused: their registers alone would fill the memory.
const MAX_SCALARS: u64 = 1 << 22;
/// Rows of one activation, and cells of shared memory.
const MAX_ROWS: u64 = 1 << 30;

/// Compiles a kernel and all that it calls. The call graph must have no cycle.
pub(super) fn compile(module: &Module, kernel: FunctionId) -> Result<Program, Box<Fault>> {
    let mut compiler = Compiler {
        module,
        program: Program { cells: vec![0; cell::COUNT as usize], ..Program::default() },
        numbers: FxHashMap::default(),
        queue: Vec::new(),
        flats: FxHashMap::default(),
        counts: FxHashMap::default(),
        zeros: (0, 0),
    };
    compiler.number(kernel);
    let mut next = 0;
    while let Some(&id) = compiler.queue.get(next) {
        let function = compiler.function(id)?;
        compiler.program.functions.push(function);
        next += 1;
    }
    Ok(compiler.program)
}

struct Compiler<'m> {
    module: &'m Module,
    program: Program,
    numbers: FxHashMap<FunctionId, u32>,
    /// Functions in the order of their numbers.
    queue: Vec<FunctionId>,
    flats: FxHashMap<TypeId, u32>,
    counts: FxHashMap<TypeId, u64>,
    /// Start and length of a run of cells that are zero.
    zeros: (u32, u32),
}

impl<'m> Compiler<'m> {
    /// The number of a function, which is compiled if it is new.
    fn number(&mut self, id: FunctionId) -> u32 {
        let queue = &mut self.queue;
        *self.numbers.entry(id).or_insert_with(|| {
            queue.push(id);
            queue.len() as u32 - 1
        })
    }

    fn function(&mut self, id: FunctionId) -> Result<CodeFunction, Box<Fault>> {
        let function = &self.module.functions[id];
        let at = |mut fault: Box<Fault>| {
            fault.function = function.name.clone();
            fault
        };
        if !function.has_body() {
            return Err(at(not_held(&format!("the external function `{}`", function.name))));
        }
        let is_kernel = self.queue[0] == id;
        let mut builder = Builder::new(self, function);
        builder.arguments(is_kernel).map_err(at)?;
        builder.variables().map_err(at)?;
        builder.blocks().map_err(at)?;
        Ok(builder.finish())
    }

    /// Number of scalars in a type, if the interpreter holds such values.
    fn count(&mut self, ty: TypeId) -> Result<u32, Box<Fault>> {
        match self.count_in_memory(ty)? {
            count if u64::from(count) <= MAX_SCALARS => Ok(count),
            count => Err(Fault::outside(FaultKind::TooLarge(u64::from(count) * 8))),
        }
    }

    /// As [`Self::count`], for memory that is never read as a whole.
    fn count_in_memory(&mut self, ty: TypeId) -> Result<u32, Box<Fault>> {
        let types = &self.module.types;
        let count = *self.counts.entry(ty).or_insert_with(|| flat::count(types, ty));
        if count > MAX_ROWS {
            return Err(Fault::outside(FaultKind::TooLarge(count * 8)));
        }
        Ok(count as u32)
    }

    fn flat(&mut self, ty: TypeId) -> Result<u32, Box<Fault>> {
        if let Some(&index) = self.flats.get(&ty) {
            return Ok(index);
        }
        let flat = Flat::of(&self.module.types, ty, MAX_SCALARS)
            .ok_or_else(|| Fault::outside(FaultKind::TooLarge(self.module.types.size(ty))))?;
        let index = self.program.flats.len() as u32;
        self.program.flats.push(flat);
        self.flats.insert(ty, index);
        Ok(index)
    }

    /// New cells with this content.
    fn cells(&mut self, bits: &[u64]) -> u32 {
        let start = self.program.cells.len() as u32;
        self.program.cells.extend_from_slice(bits);
        start
    }

    /// Cells that stay zero, `count` at least.
    fn zeros(&mut self, count: u32) -> u32 {
        if self.zeros.1 < count {
            let start = self.program.cells.len();
            self.program.cells.resize(start + count as usize, 0);
            self.zeros = (start as u32, count);
        }
        self.zeros.0
    }

    fn label(&mut self, name: Option<&str>) -> u32 {
        self.program.labels.push(name.map(Into::into));
        self.program.labels.len() as u32 - 1
    }
}

/// An operation that the interpreter lacks.
fn not_held(what: &str) -> Box<Fault> {
    Fault::outside(FaultKind::NotHeld(what.into()))
}

/// The code of one function under construction.
struct Builder<'c, 'm> {
    compiler: &'c mut Compiler<'m>,
    function: &'m Function,
    rows: Rows,
    code: CodeFunction,
    order: super::order::Order,
    /// Code and locations of the current block.
    block: Vec<super::code::Code>,
    locs: Vec<crate::SourceLoc>,
    loc: crate::SourceLoc,
}

impl<'c, 'm> Builder<'c, 'm> {
    fn new(compiler: &'c mut Compiler<'m>, function: &'m Function) -> Self {
        let code = CodeFunction { name: function.name.clone(), ..CodeFunction::default() };
        Builder {
            rows: Rows::new(function),
            order: super::order::Order::compute(function),
            compiler,
            function,
            code,
            block: Vec::new(),
            locs: Vec::new(),
            loc: crate::SourceLoc::NONE,
        }
    }

    fn types(&self) -> &'m crate::TypeTable {
        &self.compiler.module.types
    }

    /// Rows for all local variables, cells for all shared ones.
    fn variables(&mut self) -> Result<(), Box<Fault>> {
        let function = self.function;
        for block in function.blocks().filter(|&b| self.order.holds(b)) {
            for inst in function.insts(block) {
                let crate::Op::Alloca(space) = function.op(inst) else { continue };
                let Some(value) = function.result(inst) else { continue };
                let count = self.compiler.count_in_memory(function.value_type(value))?;
                let next = match space {
                    crate::op::Space::Local => &mut self.code.locals,
                    crate::op::Space::Shared => &mut self.compiler.program.shared,
                };
                let start = *next;
                if u64::from(start) + u64::from(count) > MAX_ROWS {
                    let bytes = (u64::from(start) + u64::from(count)) * 8;
                    return Err(Fault::outside(FaultKind::TooLarge(bytes)));
                }
                *next += count;
                self.rows.set_variable(value, space, start);
            }
        }
        self.rows.reserve(self.code.locals);
        Ok(())
    }

    /// Gives each argument its place: cells in the kernel, rows elsewhere.
    fn arguments(&mut self, is_kernel: bool) -> Result<(), Box<Fault>> {
        use crate::ArgumentKind;
        for argument in &self.function.arguments {
            let cell = match argument.kind {
                ArgumentKind::Value if is_kernel => {
                    let count = self.compiler.count(argument.ty)? as usize;
                    let cell = self.compiler.cells(&vec![0; count]);
                    self.rows.set_cell(argument.value, cell);
                    Some(cell)
                }
                _ => None,
            };
            if is_kernel {
                self.compiler.program.value_cells.push(cell);
            }
        }
        Ok(())
    }

    fn finish(mut self) -> CodeFunction {
        self.code.rows = self.rows.count();
        self.code.structured = self.order.structured;
        self.code
    }

    /// Appends an operation.
    fn emit(&mut self, code: super::code::Code) {
        self.block.push(code);
        self.locs.push(self.loc);
    }

    /// Name of the variable that an lvalue lies in, as a label.
    fn label_of(&mut self, value: crate::ValueId) -> u32 {
        let base = self.function.base_of(value);
        let name = match self.function.value_def(base) {
            ValueDef::Argument(i) => self.function.arguments[i as usize].name.as_deref(),
            _ => None,
        };
        self.compiler.label(self.function.name_of(base).or(name))
    }
}
