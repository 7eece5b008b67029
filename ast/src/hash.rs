//! Structural hashes of types, constants, expressions, statements and functions (`ast.md`, section 6), and equality of
//! functions by structure.
//!
//! What a hash depends on is what the thing means, and the text of comments: not on names, on the order in which nodes
//! were made, on nodes that nothing mentions, nor on how a file numbers types and variables. Variables count by the
//! order in which the function mentions them, arguments first. So a function has the same hash however it came to be.
//!
//! All are XXH3 of 64 bits, the same on every machine. The formulas are those that stored libraries of 2024-10 were made
//! by, as far as their bytes tell: with the variables numbered as a file numbers them ([`numbered`]), the hashes of its
//! nodes come out, but for constants, whose formula is not known, and for padding, which is zero here. Cost: linear in
//! the nodes, nothing is walked twice.

mod equal;
#[cfg(test)]
mod tests;

use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap};
use rustc_hash::{FxHashMap, FxHashSet};
use xxhash_rust::xxh3::xxh3_64_with_seed;

pub use equal::{equal, equal_with};

use crate::callops::CallOp;
use crate::model::{
    Binding, Callee, Constant, ConstantId, ExprId, ExprKind, Function, FunctionId, Library, Stmt,
    StmtId, VariableId, VariableTag,
};
use crate::place::{self, Node};
use crate::types::{TypeId, TypeTable};

/// The seed of everything that has none of its own.
const SEED: u64 = (1 << 61) - 1;

fn text(bytes: &[u8]) -> u64 {
    xxh3_64_with_seed(bytes, SEED)
}

/// The hash of numbers, each as 8 bytes, lowest first.
fn combine(numbers: &[u64], seed: u64) -> u64 {
    let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
    xxh3_64_with_seed(&bytes, seed)
}

/// The hash of a list, each item seeded by what came before it.
fn chain(start: u64, items: impl IntoIterator<Item = u64>) -> u64 {
    items.into_iter().fold(start, |hash, item| combine(&[item], hash))
}

/// The number that an operation counts as: that of 2024-10, or one beyond all of those for a later operation.
fn op_number(op: CallOp) -> u32 {
    op.number_a().map_or(0x1_0000 | u32::from(op.number_c()), u32::from)
}

/// The hash of a type: of its description.
pub fn ty(types: &TypeTable, id: TypeId) -> u64 {
    xxh3_64_with_seed(types.description(id).as_bytes(), text(b"__hash_type"))
}

/// The hash of a constant: of its type and its bytes, padding zero.
pub fn constant(types: &TypeTable, constant: &Constant) -> u64 {
    combine(&[ty(types, constant.ty), text(&constant.bytes)], text(b"__hash_constant"))
}

/// The hashes of a function and of its nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FunctionHash {
    /// Of the function.
    pub function: u64,
    /// Of each expression.
    pub exprs: SecondaryMap<ExprId, u64>,
    /// Of each statement.
    pub stmts: SecondaryMap<StmtId, u64>,
}

/// The hashes of all functions of a library, callees first.
pub fn functions(library: &Library) -> PrimaryMap<FunctionId, FunctionHash> {
    let mut hashes: PrimaryMap<FunctionId, FunctionHash> = PrimaryMap::new();
    for function in library.functions.values() {
        let hash = self::function(library, function, |callee| {
            // A library that is sound has callees before callers.
            hashes.get(callee).map_or(0, |hash| hash.function)
        });
        hashes.push(hash);
    }
    hashes
}

/// The hashes of a function of `library`, which it need not be in yet. `callee` gives those of what it calls.
pub fn function(
    library: &Library,
    function: &Function,
    callee: impl Fn(FunctionId) -> u64,
) -> FunctionHash {
    let mentions = Mentions::new(function);
    hashed(library, function, callee, &mentions.variables, counted_tag)
}

/// As [`function`], with the numbers and the tags that a stored library has for variables.
pub fn numbered(
    library: &Library,
    function: &Function,
    callee: impl Fn(FunctionId) -> u64,
    numbers: &SecondaryMap<VariableId, u32>,
) -> FunctionHash {
    hashed(library, function, callee, numbers, |function, id| function.variables[id].tag)
}

fn hashed(
    library: &Library,
    function: &Function,
    callee: impl Fn(FunctionId) -> u64,
    numbers: &SecondaryMap<VariableId, u32>,
    tag: fn(&Function, VariableId) -> VariableTag,
) -> FunctionHash {
    let mut hasher = Hasher {
        library,
        function,
        callee,
        numbers,
        tag,
        constants: Mentions::new(function).constants,
        types: FxHashMap::default(),
        hashes: FunctionHash::default(),
    };
    for id in function.exprs.keys() {
        hasher.hashes.exprs[id] = hasher.expr(id);
    }
    for id in function.stmts.keys() {
        hasher.hashes.stmts[id] = hasher.stmt(id);
    }
    hasher.hashes.function = hasher.function();
    hasher.hashes
}

/// What a function's body mentions, in order.
struct Mentions {
    /// Position of each variable, the arguments first; `u32::MAX` for what is not mentioned.
    variables: SecondaryMap<VariableId, u32>,
    /// Constants, each once.
    constants: Vec<ConstantId>,
}

impl Mentions {
    fn new(function: &Function) -> Mentions {
        let mut next = 0;
        let mut variables = SecondaryMap::with_default(u32::MAX);
        let mut number = |variables: &mut SecondaryMap<VariableId, u32>, id| {
            if variables[id] == u32::MAX {
                variables[id] = next;
                next += 1;
            }
        };
        for argument in &function.arguments {
            number(&mut variables, *argument);
        }
        let (mut constants, mut listed) = (Vec::new(), FxHashSet::default());
        let mut seen = vec![false; function.exprs.len()];
        let mut pending: Vec<Node> = function.body.expand().map(Node::Stmt).into_iter().collect();
        while let Some(node) = pending.pop() {
            if let Node::Expr(id) = node {
                if std::mem::replace(&mut seen[id.index()], true) {
                    continue;
                }
                match function.exprs[id].kind {
                    ExprKind::Ref(variable) => number(&mut variables, variable),
                    ExprKind::Constant(id) if listed.insert(id) => constants.push(id),
                    _ => {}
                }
            }
            let start = pending.len();
            place::children(function, node, |_, _, child| pending.push(child));
            pending[start..].reverse();
        }
        Mentions { variables, constants }
    }
}

/// The tag that a variable counts as: arguments by value are arguments, whatever the caller passes.
fn counted_tag(function: &Function, id: VariableId) -> VariableTag {
    if function.is_value_argument(id) { VariableTag::Argument } else { function.variables[id].tag }
}

struct Hasher<'a, C> {
    library: &'a Library,
    function: &'a Function,
    callee: C,
    numbers: &'a SecondaryMap<VariableId, u32>,
    tag: fn(&Function, VariableId) -> VariableTag,
    constants: Vec<ConstantId>,
    types: FxHashMap<TypeId, u64>,
    hashes: FunctionHash,
}

impl<C: Fn(FunctionId) -> u64> Hasher<'_, C> {
    fn ty(&mut self, id: TypeId) -> u64 {
        let types = &self.library.types;
        *self.types.entry(id).or_insert_with(|| ty(types, id))
    }

    fn variable(&mut self, id: VariableId) -> u64 {
        let tag = match (self.tag)(self.function, id) {
            // Files store arguments by value as locals.
            VariableTag::Argument => VariableTag::Local,
            tag => tag,
        };
        let number = u64::from(self.numbers[id]) | (tag as u64) << 32;
        let ty = self.ty(self.function.variables[id].ty);
        combine(&[number, ty], text(b"__hash_variable"))
    }

    fn expr(&mut self, id: ExprId) -> u64 {
        let expr = self.function.exprs[id];
        let (tag, payload) = self.payload(expr.kind);
        let ty = if expr.ty == TypeId::VOID { 0 } else { self.ty(expr.ty) };
        combine(&[tag, payload, ty], text(b"__hash_expression"))
    }

    /// Number of the kind of expression, and what is in it.
    fn payload(&mut self, kind: ExprKind) -> (u64, u64) {
        let function = self.function;
        let of = |id: ExprId| self.hashes.exprs[id];
        match kind {
            ExprKind::Unary { op, operand } => (0, combine(&[op as u64, of(operand)], SEED)),
            ExprKind::Binary { op, lhs, rhs } => (1, combine(&[op as u64, of(lhs), of(rhs)], SEED)),
            ExprKind::Swizzle { base, swizzle } => {
                let code = u64::from(swizzle.size) << 32 | u64::from(swizzle.code);
                (2, combine(&[code, of(base)], SEED))
            }
            ExprKind::Member { base, index } => (2, combine(&[u64::from(index), of(base)], SEED)),
            ExprKind::Access { range, index } => (3, combine(&[of(index), of(range)], SEED)),
            ExprKind::Literal { bytes } => (4, text(function.bytes_in(bytes))),
            ExprKind::Ref(variable) => (5, self.variable(variable)),
            ExprKind::Constant(id) => {
                (6, constant(&self.library.types, &self.library.constants[id]))
            }
            ExprKind::Call { op, curve_bases, callee, arguments } => {
                let mut numbers: Vec<u64> =
                    function.exprs_in(arguments).iter().map(|a| of(*a)).collect();
                match callee {
                    Callee::Builtin => {}
                    Callee::Function(id) => numbers.push((self.callee)(id)),
                    Callee::External(id) => {
                        numbers.push(text(self.library.externals[id].name.as_bytes()));
                    }
                }
                // What older files cannot say counts only where it is said.
                if !curve_bases.is_empty() {
                    numbers.push(u64::from(curve_bases.0));
                }
                (7, chain(text(&op_number(op).to_le_bytes()), numbers))
            }
            ExprKind::Cast { op, source } => (8, combine(&[op as u64, of(source)], SEED)),
            ExprKind::TypeId(id) => (9, self.ty(id)),
            ExprKind::StringId(string) => (10, text(function.text_in(string).as_bytes())),
            ExprKind::FuncRef(id) => (11, id.expand().map_or(0, |id| (self.callee)(id))),
            ExprKind::CpuCustom { pointers, argument } => {
                let argument = argument.expand().map_or(0, of);
                (12, combine(&[text(function.bytes_in(pointers)), argument], SEED))
            }
            ExprKind::GpuCustom { source, argument } => {
                let argument = argument.expand().map_or(0, of);
                (13, combine(&[text(function.text_in(source).as_bytes()), argument], SEED))
            }
        }
    }

    fn stmt(&mut self, id: StmtId) -> u64 {
        let function = self.function;
        let stmt = function.stmts[id];
        let of = |id: ExprId| self.hashes.exprs[id];
        let body = |id: StmtId| self.hashes.stmts[id];
        let string = |range| text(function.text_in(range).as_bytes());
        let payload = match stmt {
            Stmt::Break | Stmt::Continue => SEED,
            Stmt::Return(value) => value.expand().map_or(SEED, of),
            Stmt::Scope(list) => chain(SEED, function.stmts_in(list).iter().map(|s| body(*s))),
            Stmt::If { condition, on_true, on_false } => {
                combine(&[of(condition), body(on_true), body(on_false)], SEED)
            }
            Stmt::Loop { body: b }
            | Stmt::SwitchDefault { body: b }
            | Stmt::AutoDiff { body: b } => body(b),
            Stmt::Expr(expr) => of(expr),
            Stmt::Switch { value, body: b } => combine(&[body(b), of(value)], SEED),
            Stmt::SwitchCase { value, body: b } => combine(&[body(b), of(value)], SEED),
            Stmt::Assign { lhs, rhs } => combine(&[of(lhs), of(rhs)], SEED),
            Stmt::For { variable, condition, step, body: b } => {
                combine(&[body(b), of(variable), of(condition), of(step)], SEED)
            }
            Stmt::Comment(range) => string(range),
            Stmt::RayQuery { query, on_triangle, on_procedural } => {
                combine(&[of(query), body(on_triangle), body(on_procedural)], SEED)
            }
            Stmt::Print { format, arguments } => {
                chain(string(format), function.exprs_in(arguments).iter().map(|a| of(*a)))
            }
            Stmt::Suspend { token, name } => combine(&[u64::from(token), string(name)], SEED),
            Stmt::DebugBreak { watches } => {
                chain(SEED, function.exprs_in(watches).iter().map(|a| of(*a)))
            }
        };
        combine(&[stmt_tag(&stmt), payload], text(b"__hash_statement"))
    }

    fn function(&mut self) -> u64 {
        let function = self.function;
        let body = function.body.expand().map_or(0, |body| self.hashes.stmts[body]);
        let result = match function.return_type {
            TypeId::VOID => text(b"void"),
            ty => self.ty(ty),
        };
        let mut numbers = vec![text(&(function.tag as u32).to_le_bytes()), body, result];
        for argument in &function.arguments {
            numbers.push(self.variable(*argument));
        }
        for id in &self.constants {
            numbers.push(constant(&self.library.types, &self.library.constants[*id]));
        }
        let size: Vec<u8> = function.block_size.iter().flat_map(|s| s.to_le_bytes()).collect();
        numbers.extend([text(&size), text(&u64::from(function.curve_bases.0).to_le_bytes())]);
        // What older files cannot say counts only where it is said.
        if let Some(size) = function.allowed_warp_size {
            numbers.push(u64::from(size));
        }
        numbers.extend(function.bindings.iter().flat_map(binding));
        combine(&numbers, text(b"__hash_function"))
    }
}

fn binding(binding: &Binding) -> [u64; 4] {
    match *binding {
        Binding::Buffer { handle, offset, size } => [0, handle, offset, size],
        Binding::Texture { handle, level } => [1, handle, level, 0],
        Binding::BindlessArray { handle } => [2, handle, 0, 0],
        Binding::Accel { handle } => [3, handle, 0, 0],
    }
}

/// Number of the kind of statement.
fn stmt_tag(stmt: &Stmt) -> u64 {
    match stmt {
        Stmt::Break => 0,
        Stmt::Continue => 1,
        Stmt::Return(_) => 2,
        Stmt::Scope(_) => 3,
        Stmt::If { .. } => 4,
        Stmt::Loop { .. } => 5,
        Stmt::Expr(_) => 6,
        Stmt::Switch { .. } => 7,
        Stmt::SwitchCase { .. } => 8,
        Stmt::SwitchDefault { .. } => 9,
        Stmt::Assign { .. } => 10,
        Stmt::For { .. } => 11,
        Stmt::Comment(_) => 12,
        Stmt::RayQuery { .. } => 13,
        Stmt::AutoDiff { .. } => 14,
        Stmt::Print { .. } => 15,
        Stmt::Suspend { .. } => 16,
        Stmt::DebugBreak { .. } => 17,
    }
}
