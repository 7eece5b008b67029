//! A body under construction: expressions, which are computed where they are made, and nested blocks of statements.

use naga::{
    BinaryOperator, Block, Expression, Function, Handle, Literal, LocalVariable, Range, ScalarKind,
    Span, Statement, Type, UnaryOperator, VectorSize,
};
use rustc_hash::FxHashMap;

/// An expression of the body.
pub type Val = Handle<Expression>;

/// The function that is built.
pub struct Body {
    pub function: Function,
    blocks: Vec<Block>,
    /// Literals by kind and bits: they are computed nowhere, so one serves all.
    literals: FxHashMap<(ScalarKind, u8, u64), Val>,
}

impl Body {
    pub fn new(name: &str) -> Body {
        let function = Function { name: Some(name.to_string()), ..Function::default() };
        Body { function, blocks: vec![Block::new()], literals: FxHashMap::default() }
    }

    /// The finished function.
    pub fn finish(mut self) -> Function {
        self.function.body = self.blocks.pop().unwrap_or_default();
        self.function
    }

    // ---- statements

    /// Begins a nested block.
    pub fn open(&mut self) {
        self.blocks.push(Block::new());
    }

    /// Ends the innermost block.
    pub fn close(&mut self) -> Block {
        self.blocks.pop().unwrap_or_default()
    }

    /// How deep blocks nest.
    pub fn depth(&self) -> usize {
        self.blocks.len()
    }

    /// Whether control has left the innermost block.
    pub fn has_left(&self) -> bool {
        matches!(
            self.blocks.last().and_then(|b| b.last()),
            Some(Statement::Break | Statement::Continue | Statement::Return { .. })
        )
    }

    /// Appends a statement; what comes after control has left is dropped, as it must not be there.
    pub fn statement(&mut self, statement: Statement) {
        if self.has_left() {
            return;
        }
        if let Some(block) = self.blocks.last_mut() {
            block.push(statement, Span::UNDEFINED);
        }
    }

    fn emit(&mut self, value: Val) {
        if self.has_left() {
            return;
        }
        let Some(block) = self.blocks.last_mut() else { return };
        let range = match block.last_mut() {
            Some(Statement::Emit(range)) => Some(range),
            _ => None,
        };
        if let Some(range) = range
            && let Some((first, last)) = range.first_and_last()
            && last.index() + 1 == value.index()
        {
            *range = Range::new_from_bounds(first, value);
            return;
        }
        let range = Range::new_from_bounds(value, value);
        block.push(Statement::Emit(range), Span::UNDEFINED);
    }

    // ---- expressions

    /// An expression that is computed here.
    pub fn value(&mut self, expression: Expression) -> Val {
        let needs_emit = !expression.needs_pre_emit();
        let value = self.function.expressions.append(expression, Span::UNDEFINED);
        if needs_emit {
            self.emit(value);
        }
        value
    }

    /// An expression that a statement gives its value.
    pub fn result(&mut self, expression: Expression) -> Val {
        self.function.expressions.append(expression, Span::UNDEFINED)
    }

    /// Gives a value a name, so that it is computed once, here.
    pub fn name(&mut self, value: Val, name: String) {
        if !self.function.expressions[value].needs_pre_emit() {
            self.function.named_expressions.insert(value, name);
        }
    }

    fn literal(&mut self, kind: ScalarKind, bits: u64, literal: Literal) -> Val {
        let key = (kind, literal.width(), bits);
        if let Some(&known) = self.literals.get(&key) {
            return known;
        }
        let value = self.value(Expression::Literal(literal));
        self.literals.insert(key, value);
        value
    }

    pub fn u32(&mut self, x: u32) -> Val {
        self.literal(ScalarKind::Uint, x.into(), Literal::U32(x))
    }

    pub fn i32(&mut self, x: i32) -> Val {
        self.literal(ScalarKind::Sint, u64::from(x as u32), Literal::I32(x))
    }

    pub fn u64(&mut self, x: u64) -> Val {
        self.literal(ScalarKind::Uint, x, Literal::U64(x))
    }

    pub fn i64(&mut self, x: i64) -> Val {
        self.literal(ScalarKind::Sint, x as u64, Literal::I64(x))
    }

    pub fn bool(&mut self, x: bool) -> Val {
        self.literal(ScalarKind::Bool, x.into(), Literal::Bool(x))
    }

    pub fn f16(&mut self, bits: u16) -> Val {
        let x = half::f16::from_bits(bits);
        self.literal(ScalarKind::Float, bits.into(), Literal::F16(x))
    }

    pub fn f32(&mut self, x: f32) -> Val {
        self.literal(ScalarKind::Float, x.to_bits().into(), Literal::F32(x))
    }

    pub fn f64(&mut self, x: f64) -> Val {
        self.literal(ScalarKind::Float, x.to_bits(), Literal::F64(x))
    }

    /// An operation on two values; on two words that are known, its result.
    pub fn binary(&mut self, op: BinaryOperator, left: Val, right: Val) -> Val {
        if let (Some(a), Some(b)) = (self.known(left), self.known(right)) {
            let known = match op {
                BinaryOperator::Add => Some(a.wrapping_add(b)),
                BinaryOperator::Multiply => Some(a.wrapping_mul(b)),
                BinaryOperator::And => Some(a & b),
                BinaryOperator::ShiftRight => a.checked_shr(b),
                BinaryOperator::ShiftLeft => a.checked_shl(b),
                _ => None,
            };
            if let Some(known) = known {
                return self.u32(known);
            }
        }
        self.value(Expression::Binary { op, left, right })
    }

    /// The word that a literal is.
    fn known(&self, value: Val) -> Option<u32> {
        match self.function.expressions[value] {
            Expression::Literal(Literal::U32(x)) => Some(x),
            _ => None,
        }
    }

    /// The word that a byte offset is in: of an element of whole words without a shift.
    pub fn word_of(&mut self, byte: Val) -> Val {
        if let Expression::Binary { op, left, right } = self.function.expressions[byte]
            && let Some(by) = self.known(right).filter(|n| n % 4 == 0)
        {
            match op {
                BinaryOperator::Multiply if by == 4 => return left,
                BinaryOperator::Multiply => {
                    let by = self.u32(by / 4);
                    return self.binary(op, left, by);
                }
                // One offset into an element.
                BinaryOperator::Add
                    if matches!(
                        self.function.expressions[left],
                        Expression::Binary { op: BinaryOperator::Multiply, .. }
                    ) =>
                {
                    let first = self.word_of(left);
                    return self.add_const(first, by / 4);
                }
                _ => {}
            }
        }
        self.shift(BinaryOperator::ShiftRight, byte, 2)
    }

    pub fn unary(&mut self, op: UnaryOperator, expr: Val) -> Val {
        self.value(Expression::Unary { op, expr })
    }

    pub fn add(&mut self, left: Val, right: Val) -> Val {
        self.binary(BinaryOperator::Add, left, right)
    }

    /// `x + n`, or `x`.
    pub fn add_const(&mut self, x: Val, n: u32) -> Val {
        if n == 0 {
            return x;
        }
        let n = self.u32(n);
        self.add(x, n)
    }

    pub fn and_const(&mut self, x: Val, mask: u32) -> Val {
        let mask = self.u32(mask);
        self.binary(BinaryOperator::And, x, mask)
    }

    /// A shift by a constant; `x` for none.
    pub fn shift(&mut self, op: BinaryOperator, x: Val, by: u32) -> Val {
        if by == 0 {
            return x;
        }
        if let Expression::Literal(Literal::U64(known)) = self.function.expressions[x] {
            match op {
                BinaryOperator::ShiftLeft => return self.u64(known.checked_shl(by).unwrap_or(0)),
                BinaryOperator::ShiftRight => return self.u64(known.checked_shr(by).unwrap_or(0)),
                _ => {}
            }
        }
        let by = self.u32(by);
        self.binary(op, x, by)
    }

    pub fn select(&mut self, condition: Val, accept: Val, reject: Val) -> Val {
        self.value(Expression::Select { condition, accept, reject })
    }

    /// The same bits as another kind of the same width.
    pub fn bitcast(&mut self, expr: Val, kind: ScalarKind) -> Val {
        if let Expression::Literal(literal) = self.function.expressions[expr] {
            match (literal, kind) {
                (Literal::I64(x), ScalarKind::Uint) => return self.u64(x as u64),
                (Literal::U64(x), ScalarKind::Sint) => return self.i64(x as i64),
                (Literal::I32(x), ScalarKind::Uint) => return self.u32(x as u32),
                (Literal::U32(x), ScalarKind::Sint) => return self.i32(x as i32),
                (Literal::F32(x), ScalarKind::Uint) => return self.u32(x.to_bits()),
                _ => {}
            }
        }
        self.value(Expression::As { expr, kind, convert: None })
    }

    /// Conversion by value; naga does not convert literals of 64 bits itself.
    pub fn convert(&mut self, expr: Val, kind: ScalarKind, width: u8) -> Val {
        if let Expression::Literal(literal) = self.function.expressions[expr] {
            match (literal, kind, width) {
                (Literal::U64(x), ScalarKind::Uint, 4) => return self.u32(x as u32),
                (Literal::I64(x), ScalarKind::Sint, 4) => return self.i32(x as i32),
                (Literal::U32(x), ScalarKind::Uint, 8) => return self.u64(x.into()),
                (Literal::I32(x), ScalarKind::Sint, 8) => return self.i64(x.into()),
                _ => {}
            }
        }
        self.value(Expression::As { expr, kind, convert: Some(width) })
    }

    pub fn access(&mut self, base: Val, index: Val) -> Val {
        self.value(Expression::Access { base, index })
    }

    pub fn access_index(&mut self, base: Val, index: u32) -> Val {
        self.value(Expression::AccessIndex { base, index })
    }

    pub fn load(&mut self, pointer: Val) -> Val {
        self.value(Expression::Load { pointer })
    }

    pub fn store(&mut self, pointer: Val, value: Val) {
        self.statement(Statement::Store { pointer, value });
    }

    pub fn compose(&mut self, ty: Handle<Type>, components: Vec<Val>) -> Val {
        self.value(Expression::Compose { ty, components })
    }

    pub fn splat(&mut self, size: VectorSize, value: Val) -> Val {
        self.value(Expression::Splat { size, value })
    }

    /// A variable of the function, and the expression that points to it.
    pub fn local(&mut self, name: String, ty: Handle<Type>, init: Option<Val>) -> Val {
        let variable = LocalVariable { name: Some(name), ty, init };
        let handle = self.function.local_variables.append(variable, Span::UNDEFINED);
        self.value(Expression::LocalVariable(handle))
    }
}
