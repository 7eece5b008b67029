use super::*;
use crate::callops::{self, CallOp};
use crate::check::{self, check};
use crate::diagnostic::Code;
use crate::hash;
use crate::json::{self, Dialect};
use crate::model::{Binding, ExprKind, Stmt, VariableTag};
use crate::types::Scalar;
use crate::usage;

const F32: TypeId = TypeId::F32;
const U32: TypeId = TypeId::U32;
const I32: TypeId = TypeId::I32;

/// Builds, and holds the result to what every library must keep: it is right by the checks, its marks and sets are
/// those that a whole function gives, and JSON gives it back with the same hashes.
#[track_caller]
fn built(build: impl FnOnce(&Builder) -> Result<(), BuildError>) -> Library {
    let builder = Builder::new();
    build(&builder).unwrap_or_else(|e| panic!("{e}"));
    let infos = builder.session.borrow().infos.clone();
    let library = builder.finish().expect("is right");
    let diagnostics = check(&library);
    assert!(!diagnostics.has_errors(), "{diagnostics}");
    let (marked, effective) = (usage::marked(&library), usage::effective(&library));
    let ops = callops::used_ops(&library);
    let hashes = hash::functions(&library);
    for (id, function) in &library.functions {
        for (variable, data) in &function.variables {
            assert_eq!(data.usage, marked[id][variable], "marks of {variable} of {id}");
            let recomputed = effective[id][variable];
            assert_eq!(infos[id].effective[variable], recomputed, "effect on {variable} of {id}");
        }
        assert_eq!(infos[id].ops, ops[id], "operations of {id}");
        assert_eq!(infos[id].hash, hashes[id].function, "hash of {id}");
    }
    let text = json::write(&library, Dialect::D0).unwrap_or_else(|e| panic!("{e}"));
    let read = json::read(&text).unwrap_or_else(|e| panic!("{e}"));
    for ((_, ours), (id, theirs)) in hashes.iter().zip(hash::functions(&read).iter()) {
        assert_eq!(ours.function, theirs.function, "hash of {id} through JSON");
    }
    library
}

#[track_caller]
fn fails(code: Code, words: &str, build: impl FnOnce(&Builder) -> Result<(), BuildError>) {
    let builder = Builder::new();
    let error = build(&builder).expect_err("is a mistake");
    assert!(error.code == code && error.message.contains(words), "{error}");
    assert!(error.location.file().ends_with("tests.rs"), "{error}");
    // The builder can go on.
    builder.kernel("next", [1, 1, 1], |f| f.return_()).expect("no trace of the mistake is left");
}

#[track_caller]
fn kernel_fails(code: Code, words: &str, body: impl FnOnce(&FunctionBuilder<'_>)) {
    fails(code, words, |b| b.kernel("k", [1, 1, 1], |f| body(f)).map(drop));
}

#[test]
fn every_scope_and_statement() {
    let library = built(|b| {
        b.kernel("k", [8, 8, 1], |f| {
            let out = f.buffer(I32);
            let i = f.dispatch_id().x();
            let sum = f.var(0);
            f.comment("count");
            f.for_range(0u32, 10u32, 1u32, |n| {
                f.if_else((n % 2u32).equal(0u32), || f.continue_(), || f.assign(sum, sum + n));
            });
            f.while_(|| sum.less(100), || f.assign(sum, sum * 2));
            f.switch(i, |s| {
                s.case(0, || f.assign(sum, 1));
                s.case(-1, || f.break_());
                s.case(0xffff_fffe, || {});
                s.default(|| f.loop_(|| f.break_()));
            });
            f.autodiff(|| {
                let x = f.var(1.0f32);
                f.call_op(CallOp::RequiresGradient, &[x]);
                let y = f.var(x * x);
                f.call_op(CallOp::GradientMarker, &[y, f.one(F32)]);
                f.call_op(CallOp::Backward, &[]);
                f.assign(sum, f.call_as(F32, CallOp::Gradient, &[x]));
            });
            f.print("{} {}", &[i, sum]);
            out.write(i, sum);
            f.return_();
        })
        .map(drop)
    });
    let function = library.functions.values().next().expect("the kernel");
    let has = |wanted: fn(&Stmt) -> bool| function.stmts.values().any(wanted);
    assert!(has(|s| matches!(s, Stmt::Switch { .. })) && has(|s| matches!(s, Stmt::For { .. })));
    // What reads memory happens where it is written: nothing but locals is left in later statements.
    assert_eq!(
        function.exprs.values().filter(|e| matches!(e.kind, ExprKind::Call { .. })).count(),
        6
    );
}

#[test]
fn outer_values_are_passed_along() {
    let mut inner = None;
    let library = built(|b| {
        b.kernel("k", [1, 1, 1], |f| {
            let (buffer, n) = (f.buffer(F32), f.argument(F32));
            let total = f.local(F32);
            let scaled = n * 3.0f32;
            let items = f.local(b.ty("array<float,4>").expect("a type"));
            let two = f.literal(1.0f32) + 1.0f32;
            let row = f.dispatch_id().y() * 4u32;
            let table = f.constant_array(&[1.0f32, 2.0]);
            let outer = f.callable("outer", |g| {
                let k = g.argument(U32);
                let leaf = g.callable("leaf", |h| {
                    // A constant expression, a local, an element, a value, a resource, a builtin variable.
                    h.assign(total, total + two * table.at(0) + scaled);
                    h.assign(items.at(1), buffer.read(row + 1u32));
                });
                inner = b.id(leaf);
                g.call(leaf, &[]);
                g.assign(total, total + k);
            });
            f.call(outer, &[f.literal(3u32)]);
            buffer.write(0, total);
        })
        .map(drop)
    });
    let leaf = &library.functions[inner.expect("was built")];
    let tags: Vec<_> = leaf.arguments.iter().map(|a| leaf.variables[*a].tag).collect();
    use VariableTag::{Argument, Buffer, DispatchId, Reference};
    assert_eq!(tags, [Reference, Argument, Reference, DispatchId, Buffer]);
    let outer = library.functions.values().nth(1).expect("the second callable");
    assert_eq!(outer.arguments.len(), 6);
}

#[test]
fn several_components_are_assigned_at_once() {
    let library = built(|b| {
        b.kernel("k", [1, 1, 1], |f| {
            let v = f.var([1.0f32, 2.0, 3.0]);
            f.assign(v.swizzle("zx"), v.swizzle("xy"));
            f.assign(v.y(), 7);
            f.buffer(TypeId::vector(Scalar::F32, 3)).write(0, v);
        })
        .map(drop)
    });
    let function = library.functions.values().next().expect("the kernel");
    assert!(
        function
            .exprs
            .values()
            .any(|e| matches!(e.kind, ExprKind::Call { op, .. } if op == CallOp::MakeFloat3))
    );
}

#[test]
fn bound_resources_come_first() {
    let library = built(|b| {
        let ty = b.ty("buffer<uint>").expect("a type");
        let binding = Binding::Buffer { handle: 7, offset: 0, size: 64 };
        let callable = b.callable("count", |f| {
            let counters = f.bound(ty, binding);
            f.return_value(counters.atomic(0).fetch_add(1u32));
        })?;
        b.kernel("k", [1, 1, 1], |f| {
            let out = f.buffer(U32);
            // The same resource is one argument.
            let counters = f.bound(ty, binding);
            counters.write(1, f.call(callable, &[]));
            out.write(0, f.call(callable, &[]));
        })
        .map(drop)
    });
    let kernel = library.kernels().next().expect("the kernel").1;
    assert_eq!((kernel.arguments.len(), kernel.bindings.len()), (2, 1));
    assert_eq!(kernel.arguments[0].as_u32(), 1);
}

#[test]
fn equal_callables_are_one() {
    let builder = Builder::new();
    let square = |name| {
        builder.callable(name, |f| {
            let x = f.argument(F32);
            let dead = x + 1.0f32;
            let _ = if name.is_empty() { dead } else { x };
            f.return_value(x * x);
        })
    };
    let first = builder.id(square("square").expect("is right")).expect("was built");
    let again = builder.id(square("").expect("is right")).expect("was built");
    let other = builder.id(square("other").expect("is right")).expect("was built");
    assert_eq!(first, again);
    assert_ne!(first, other);
    let copy = builder.duplicate(first, Some("copy")).expect("is there");
    assert_ne!(first, copy);
    let library = builder.finish().expect("is right");
    assert_eq!(library.functions.len(), 3);
    assert!(hash::equal(&library.functions[first], &library.functions[copy]));
    // Into another library: what is there already is used, what is needed comes along.
    let target = Builder::new();
    let square = target.import(&library, first).expect("is there");
    assert_eq!(target.import(&library, first).expect("is there"), square);
    let square = target.handle(square).expect("is there");
    target
        .kernel("k", [1, 1, 1], |f| f.buffer(F32).write(0, f.call(square, &[f.literal(2.0f32)])))
        .expect("is right");
    assert!(!check(&target.finish().expect("is right")).has_errors());
}

#[test]
fn kernels_come_along_with_all_they_need() {
    let builder = Builder::new();
    let native = builder.external("native", F32, &[(F32, Usage::READ)]);
    builder
        .kernel("k", [1, 1, 1], |f| {
            let x = f.var(2.0f32);
            let g = f.callable("g", |g| g.assign(x, g.constant_array(&[1.0f32]).at(0)));
            f.call(g, &[]);
            f.buffer(F32).write(0, f.call_external(native, &[x]));
        })
        .expect("is right");
    let library = builder.finish().expect("is right");
    let target = Builder::new();
    let kernel = library.entry.expect("there is a kernel");
    target.import(&library, kernel).expect("is there");
    let copy = target.finish().expect("is right");
    assert_eq!(
        json::write(&copy, Dialect::D0).expect("can be written"),
        json::write(&library, Dialect::D0).expect("can be written")
    );
}

#[test]
fn mistakes_are_errors_with_the_line() {
    kernel_fails(codes::PROMOTION, "`vector<float,2>`", |f| {
        let _ = f.literal([1.0f32, 2.0]) + f.literal([1.0f32, 2.0, 3.0]);
    });
    kernel_fails(check::codes::BREAK, "BREAK", |f| f.break_());
    kernel_fails(check::codes::CONTINUE, "CONTINUE", |f| {
        f.switch(1, |s| s.case(1, || f.continue_()))
    });
    kernel_fails(check::codes::DUPLICATE_CASE, "twice", |f| {
        f.switch(1u32, |s| {
            s.case(-1, || {});
            s.case(0xffff_ffff, || {});
        });
    });
    kernel_fails(check::codes::SWITCH_SHAPE, "only hold cases", |f| f.switch(1, |_| f.return_()));
    kernel_fails(check::codes::SWITCH_SHAPE, "value of 32 bits", |f| {
        f.switch(1, |s| s.case(1 << 32, || {}));
    });
    kernel_fails(check::codes::RETURN_TYPE, "kernel", |f| f.return_value(1));
    kernel_fails(check::codes::NOT_ASSIGNABLE, "DISPATCH_ID", |f| {
        f.assign(f.dispatch_id(), [1u32; 3])
    });
    kernel_fails(check::codes::NOT_ASSIGNABLE, "twice", |f| {
        let v = f.var([1, 2, 3]);
        f.assign(v.swizzle("xx"), [1, 2]);
    });
    kernel_fails(check::codes::ASSIGN_TYPE, "assigned", |f| f.assign(f.local(F32), [1, 2]));
    kernel_fails(codes::BLOCK, "reference", |f| {
        f.reference(F32);
    });
    kernel_fails(codes::LITERAL, "5 components", |f| {
        f.literal([1; 5]);
    });
    kernel_fails(check::codes::CONSTANT_SIZE, "3 bytes", |f| {
        f.constant(F32, &[0; 3]);
    });
    kernel_fails(codes::NO_PARTS, "no such resource", |f| {
        f.literal(1).read(0);
    });
    kernel_fails(codes::NO_PARTS, "`xq`", |f| {
        f.literal([1, 2]).swizzle("xq");
    });
    kernel_fails(check::codes::SWIZZLE, ".z", |f| {
        f.literal([1, 2]).z();
    });
    kernel_fails(codes::NO_TYPE, "ZERO", |f| {
        f.call_op(CallOp::Zero, &[]);
    });
    kernel_fails(check::codes::ARGUMENT_COUNT, "BUFFER_READ", |f| {
        f.call_op(CallOp::BufferRead, &[f.buffer(F32)]);
    });
    kernel_fails(check::codes::ATOMIC, "not defined", |f| {
        f.buffer(F32).atomic(0).fetch_xor(1.0f32);
    });
    fails(check::codes::NESTED_QUERY, "inside", |b| {
        let ray = b.ty("struct<16,array<float,3>,float,array<float,3>,float>").expect("a type");
        b.kernel("k", [1, 1, 1], |f| {
            let arguments = [f.accel(), f.argument(ray), f.literal(255u32)];
            let query = f.call_op(CallOp::RayTracingQueryAll, &arguments);
            f.ray_query(query, || f.ray_query(query, || {}, || {}), || {});
        })
        .map(drop)
    });
    fails(check::codes::BLOCK_SIZE, "2048", |b| b.kernel("k", [2048, 1, 1], |_| {}).map(drop));
    fails(check::codes::RETURN_TYPE, "vector", |b| {
        b.callable("c", |f| {
            f.return_value(1.0f32);
            f.return_value([1, 2]);
        })
        .map(drop)
    });
    fails(check::codes::KERNEL_ONLY, "kernel", |b| {
        b.callable("c", |f| f.assign(f.shared(F32), 1)).map(drop)
    });
    fails(check::codes::RETURN_TYPE, "buffer", |b| {
        b.callable("c", |f| f.return_value(f.buffer(F32))).map(drop)
    });
    kernel_fails(check::codes::OPERAND_TYPE, "without a value", |f| {
        f.evaluate(f.call_op(CallOp::SynchronizeBlock, &[]));
    });
    fails(check::codes::NOT_ASSIGNABLE, "DISPATCH_ID", |b| {
        b.callable("c", |f| f.assign(f.dispatch_id().x(), 1u32)).map(drop)
    });
    fails(check::codes::NOT_ASSIGNABLE, "THREAD_ID", |b| {
        let c = b.callable("c", |f| f.assign(f.reference(U32), 1))?;
        b.callable("d", |f| f.evaluate(f.call(c, &[f.thread_id().x()]))).map(drop)
    });
    fails(check::codes::ARGUMENT_COUNT, "takes 1 arguments", |b| {
        let c = b.callable("c", |f| f.return_value(f.argument(F32)))?;
        b.kernel("k", [1, 1, 1], |f| f.evaluate(f.call(c, &[]))).map(drop)
    });
    fails(check::codes::ARGUMENT_WRITE, "by reference", |b| {
        let c = b.callable("c", |f| f.assign(f.reference(F32), 1))?;
        b.kernel("k", [1, 1, 1], |f| f.evaluate(f.call(c, &[f.literal(1.0f32)]))).map(drop)
    });
}

#[test]
fn values_stay_where_they_belong() {
    fails(codes::FOREIGN, "not around", |b| {
        let mut kept = None;
        b.kernel("a", [1, 1, 1], |f| kept = Some(f.local(F32)))?;
        b.kernel("b", [1, 1, 1], |f| f.assign(f.local(F32), kept.expect("was kept"))).map(drop)
    });
    fails(codes::FOREIGN, "only callables", |b| {
        b.kernel("a", [1, 1, 1], |f| {
            let x = f.local(F32);
            let _ = b.kernel("b", [1, 1, 1], |g| g.assign(g.local(F32), x));
        })
        .map(drop)
    });
    fails(codes::NOT_CURRENT, "not the one", |b| {
        b.kernel("a", [1, 1, 1], |f| f.evaluate(f.call(f.callable("c", |_| f.return_()), &[])))
            .map(drop)
    });
    let other = Builder::new();
    fails(codes::FOREIGN, "another builder", |b| {
        let c = other.callable("c", |f| f.return_())?;
        b.kernel("a", [1, 1, 1], |f| f.evaluate(f.call(c, &[]))).map(drop)
    });
}

#[test]
fn trees_that_would_explode_are_refused() {
    kernel_fails(codes::TOO_LARGE, "nodes", |f| {
        let mut x = f.literal(1);
        for _ in 0..64 {
            x = x + x;
        }
    });
}

#[test]
fn a_body_that_panics_leaves_nothing() {
    let builder = Builder::new();
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ = builder.kernel("k", [1, 1, 1], |f| {
            f.break_();
            panic!("as it happens");
        });
    }));
    assert!(result.is_err());
    builder.kernel("k", [1, 1, 1], |f| f.return_()).expect("nothing is left");
    assert_eq!(builder.finish().expect("is right").functions.len(), 1);
}

/// Records a function node by node into a session that has everything it names.
fn replay(session: &mut Session, library: &Library, id: FunctionId) -> error::Built<()> {
    let original = &library.functions[id];
    session.open(original.tag, original.name.as_deref(), original.block_size);
    session.top()?.function.return_type = original.return_type;
    for variable in original.variables.values() {
        session.variable(variable.tag, variable.ty)?;
    }
    let function = &mut session.top()?.function;
    function.arguments = original.arguments.clone();
    function.bindings = original.bindings.clone();
    function.allowed_warp_size = original.allowed_warp_size;
    for expr in original.exprs.values() {
        let to = &mut session.top()?.function;
        let kind = capture::copy_kind(original, to, expr.kind, |e| e, |v| v);
        session.push(expr.ty, kind)?;
    }
    for stmt in original.stmts.values() {
        let to = &mut session.top()?.function;
        let stmt = import::copy_stmt(original, to, *stmt);
        to.stmts.push(stmt);
        session.mark_statement(stmt)?;
    }
    let function = &mut session.top()?.function;
    function.body = original.body;
    // Callees add to it, which files need not.
    function.curve_bases = original.curve_bases;
    Ok(())
}

#[test]
fn nodes_of_all_kinds_are_marked_as_whole_functions_are() {
    use crate::testing::{self, Form, Options};
    for seed in 0..60 {
        let options = Options { seed, size: 1 + seed as usize, form: Form::Memory };
        let library = testing::library(&options);
        let (marked, effective) = (usage::marked(&library), usage::effective(&library));
        let ops = callops::used_ops(&library);
        let mut session = Session::default();
        session.library.types = library.types.clone();
        session.library.constants = library.constants.clone();
        session.library.externals = library.externals.clone();
        for (id, original) in &library.functions {
            if let Err(fault) = replay(&mut session, &library, id) {
                panic!("{options:?}: {id}: {}", fault.message);
            }
            let state = session.stack.pop().expect("is open");
            for (variable, data) in &state.function.variables {
                let place = format!("{options:?}: {variable} of {id}");
                assert_eq!(data.usage, marked[id][variable], "{place}");
                assert_eq!(state.effective[variable], effective[id][variable], "{place}");
            }
            assert_eq!(state.ops, ops[id], "{options:?}: {id}");
            assert!(hash::equal(&state.function, original), "{options:?}: {id}");
            let info =
                FunctionInfo { effective: state.effective, ops: state.ops, ..Default::default() };
            session.add(state.function, info);
        }
    }
}

#[test]
fn a_scope_that_panics_takes_its_function_with_it() {
    fails(codes::NOT_CURRENT, "come to its end", |b| {
        b.kernel("k", [1, 1, 1], |f| {
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                f.if_(true, || panic!("as it happens"));
            }));
            assert!(caught.is_err());
        })
        .map(drop)
    });
}

#[test]
fn what_comes_too_late_is_told() {
    let builder = Builder::new();
    let mut kept = None;
    builder.kernel("k", [1, 1, 1], |f| kept = Some(f.buffer(F32))).expect("is right");
    kept.expect("was kept").write(0, 1.0f32);
    let error = builder.finish().expect_err("is too late");
    assert_eq!(error.code, codes::FOREIGN, "{error}");
}
