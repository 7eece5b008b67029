//! Random use of the builder, right and wrong: it never panics, what it refuses has a code and a line, and what it
//! gives passes the checks and comes back from JSON.

use std::cell::{Cell, RefCell};

use luisac_ast::builder::{BuildError, Builder, Callable, FunctionBuilder, Value};
use luisac_ast::check::check;
use luisac_ast::hash;
use luisac_ast::json::{self, Dialect};
use luisac_ast::model::{BinaryOp, Library, UnaryOp, VariableTag};
use luisac_ast::types::{Scalar, TypeId};
use luisac_ast::{CallOp, usage};

/// A body that does something at random, with what came up so far.
struct Player<'b> {
    state: Cell<u64>,
    values: RefCell<Vec<Value<'b>>>,
    callables: RefCell<Vec<Callable<'b>>>,
    /// How often, of a thousand, something is done without regard to types.
    careless: u64,
}

impl<'b> Player<'b> {
    fn below(&self, n: usize) -> usize {
        let next =
            self.state.get().wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.state.set(next);
        (next >> 33) as usize % n.max(1)
    }

    fn is_careless(&self) -> bool {
        (self.below(1000) as u64) < self.careless
    }

    /// A value of a type, or any one at all.
    fn value(&self, f: &FunctionBuilder<'b>, ty: TypeId) -> Value<'b> {
        let wanted = |v: &&Value<'b>| v.ty() == ty || self.careless > 0 && self.is_careless();
        let fitting: Vec<Value<'b>> = self.values.borrow().iter().filter(wanted).copied().collect();
        match self.below(fitting.len() + 1) {
            0 => f.literal(self.below(7) as i32 - 3).cast(ty),
            i => fitting[i - 1],
        }
    }

    fn keep(&self, value: Value<'b>) {
        self.values.borrow_mut().push(value);
    }

    fn ty(&self) -> TypeId {
        let scalars =
            [Scalar::I32, Scalar::U32, Scalar::F32, Scalar::Bool, Scalar::I16, Scalar::F64];
        TypeId::vector(scalars[self.below(6)], [1, 1, 2, 3, 4][self.below(5)])
    }

    fn play(&self, f: &FunctionBuilder<'b>, depth: usize) {
        for _ in 0..3 + self.below(6) {
            self.step(f, depth);
        }
    }

    fn step(&self, f: &FunctionBuilder<'b>, depth: usize) {
        let ty = self.ty();
        match self.below(if depth < 4 { 20 } else { 12 }) {
            0 => self.keep(f.local(ty)),
            1 => self.keep(f.var(self.value(f, ty))),
            2 => self.keep(f.unary(UnaryOp::ALL[self.below(2)], self.value(f, TypeId::F32))),
            3 | 4 => {
                let op =
                    BinaryOp::ALL[if self.is_careless() { self.below(18) } else { self.below(4) }];
                let other = if self.is_careless() { self.ty() } else { TypeId::I32 };
                self.keep(f.binary(op, self.value(f, TypeId::F32), self.value(f, other)));
            }
            5 if self.is_careless() => f.assign(self.value(f, ty), self.value(f, ty)),
            5 => f.evaluate(self.value(f, ty)),
            6 => f.assign(f.local(ty), self.value(f, ty)),
            7 => self.keep(
                self.value(f, TypeId::vector(Scalar::F32, 3))
                    .swizzle(["x", "zy", "xyz"][self.below(3)]),
            ),
            8 => {
                let op = [CallOp::Abs, CallOp::Sqrt, CallOp::All, CallOp::Length][self.below(4)];
                let fits = [TypeId::I32, TypeId::F32, TypeId::BOOL, TypeId::vector(Scalar::F32, 2)];
                let argument =
                    fits.iter().zip([CallOp::Abs, CallOp::Sqrt, CallOp::All, CallOp::Length]);
                let wanted = argument.into_iter().find(|(_, o)| *o == op).map_or(ty, |(ty, _)| *ty);
                self.keep(f.call_op(op, &[self.value(f, wanted)]));
            }
            9 => self.keep(f.builtin(VariableTag::DispatchId).x()),
            10 => f.print("{}", &[self.value(f, ty)]),
            11 if self.is_careless() => self.misuse(f),
            11 => self.keep(f.make(TypeId::vector(Scalar::I32, 2), &[self.value(f, TypeId::I32)])),
            12 => f.if_else(
                self.value(f, TypeId::BOOL),
                || self.play(f, depth + 1),
                || self.play(f, depth + 1),
            ),
            13 => f.loop_(|| {
                self.play(f, depth + 1);
                f.break_();
            }),
            14 => f.for_range(0, self.value(f, TypeId::I32), 1, |i| {
                self.keep(i);
                self.play(f, depth + 1);
            }),
            15 => f.switch(self.value(f, TypeId::I32), |s| {
                s.case(self.below(3) as i64, || self.play(f, depth + 1));
                s.case(3, || f.break_());
                s.default(|| self.play(f, depth + 1));
            }),
            16 | 17 => self.callable(f, depth),
            _ => {
                let callables = self.callables.borrow().clone();
                if let Some(callable) = callables.get(self.below(callables.len())) {
                    f.call(*callable, &[self.value(f, TypeId::F32)]);
                }
            }
        }
    }

    fn callable(&self, f: &FunctionBuilder<'b>, depth: usize) {
        // Callables made inside are known inside only: they may have captured what is there.
        let known = self.callables.borrow().len();
        let mut values = self.values.borrow().clone();
        let callable = f.callable("", |g| {
            self.keep(g.argument(TypeId::F32));
            self.play(g, depth + 1);
        });
        self.callables.borrow_mut().truncate(known);
        self.callables.borrow_mut().push(callable);
        self.values.borrow_mut().clear();
        self.values.borrow_mut().append(&mut values);
    }

    fn misuse(&self, f: &FunctionBuilder<'b>) {
        let value = self.value(f, TypeId::F32);
        match self.below(8) {
            0 => f.continue_(),
            1 => f.return_value(value),
            2 => self.keep(f.reference(TypeId::F32)),
            3 => self.keep(value.at(value)),
            4 => self.keep(value.member(3)),
            5 => self.keep(value.read(value)),
            6 => self.keep(value.atomic(value).member(1).fetch_xor(value)),
            _ => self.keep(f.call_as(TypeId::VOID, CallOp::BufferRead, &[value, value, value])),
        }
    }
}

fn built(seed: u64, careless: u64) -> Result<Library, BuildError> {
    let builder = Builder::new();
    builder.kernel("k", [8, 1, 1], |f| {
        let player = Player {
            state: Cell::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
            values: RefCell::default(),
            callables: RefCell::default(),
            careless,
        };
        player.keep(f.buffer(TypeId::F32));
        player.keep(f.argument(TypeId::F32));
        player.play(f, 0);
        player.play(f, 0);
    })?;
    builder.finish()
}

#[test]
fn careful_use_succeeds_and_careless_use_is_refused_or_right() {
    let mut made = 0;
    for seed in 0..400u64 {
        let careless = if seed % 2 == 0 { 0 } else { 3 };
        let library = match built(seed, careless) {
            Ok(library) => library,
            Err(e) => {
                let known =
                    luisac_ast::code_tables().iter().any(|t| t.iter().any(|c| c.code == e.code));
                assert!(careless > 0, "seed {seed}: {e}");
                assert!(known && e.location.file().ends_with("builder.rs"), "seed {seed}: {e}");
                continue;
            }
        };
        made += seed % 2;
        assert!(!check(&library).has_errors(), "seed {seed}: {}", check(&library));
        let hashes = |library: &Library| {
            hash::functions(library).values().map(|h| h.function).collect::<Vec<_>>()
        };
        for dialect in [Dialect::D0, Dialect::V1] {
            let text =
                json::write(&library, dialect).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
            let back = json::read(&text).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
            assert_eq!(hashes(&back), hashes(&library), "seed {seed}, {dialect:?}");
        }
        let marked = usage::marked(&library);
        for (id, function) in &library.functions {
            for (variable, data) in &function.variables {
                assert_eq!(data.usage, marked[id][variable], "seed {seed}: {variable} of {id}");
            }
        }
    }
    assert!((20..180).contains(&made), "{made} of 200 careless ones were made");
}
