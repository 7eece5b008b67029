//! Inputs that nest deeply, on a small stack.

use luisac_ast::json;
use luisac_ast::model::Library;
use luisac_ast::{Place, check, lint, locate, pretty, usage};

const DEPTH: usize = 100_000;

/// Runs on a stack of 1 MiB.
fn on_small_stack(run: impl FnOnce() + Send + 'static) {
    let thread =
        std::thread::Builder::new().stack_size(1 << 20).spawn(run).expect("a thread starts");
    thread.join().expect("the thread ends without a panic");
}

fn kernel(body: &str) -> String {
    format!(
        r#"{{"functions":[{{"body":{{"tag":"SCOPE","statements":[{body}]}},"tag":"KERNEL","curve_bases":[],
        "variables":[{{"tag":"LOCAL","type":0}}],"arguments":[],"block_size":[32,1,1],"bound_arguments":[],
        "constants":[]}}],"types":[{{"tag":"UINT32"}},{{"tag":"BOOL"}}],"entry":0}}"#
    )
}

fn nest(open: &str, inner: &str, close: &str, depth: usize) -> String {
    format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
}

#[track_caller]
fn read(text: &str) -> Library {
    json::read(text.as_bytes()).unwrap_or_else(|errors| panic!("{errors}"))
}

const REF: &str = r#"{"tag":"REF","type":0,"variable":0}"#;

#[test]
fn operands_nest() {
    on_small_stack(|| {
        let sum = nest(
            r#"{"op":"ADD","rhs":{"tag":"REF","type":0,"variable":0},"lhs":"#,
            REF,
            r#","type":0,"tag":"BINARY"}"#,
            DEPTH,
        );
        let library = read(&kernel(&format!(r#"{{"tag":"ASSIGN","lhs":{REF},"rhs":{sum}}}"#)));
        assert!(check::check(&library).is_empty());
        let (id, function) = library.kernels().next().expect("there is a kernel");
        assert_eq!(function.exprs.len(), 2 * DEPTH + 2);
        assert_eq!(pretty::print(&library).matches(" + ").count(), DEPTH);
        let pointer = locate(
            &library,
            Place::expr(id, function.exprs.keys().nth(DEPTH).expect("an expression")),
        );
        assert!(pointer.starts_with("/functions/0/body/statements/0/rhs/lhs/lhs"));
        assert_eq!(
            usage::effective(&library)[id][function.variables.keys().next().expect("a variable")]
                .bits(),
            3
        );
    });
}

#[test]
fn statements_nest() {
    on_small_stack(|| {
        let open = r#"{"tag":"LOOP","body":{"tag":"SCOPE","statements":["#;
        let library = read(&kernel(&nest(open, r#"{"tag":"BREAK"}"#, "]}}", DEPTH)));
        assert!(check::check(&library).is_empty());
        assert_eq!(library.functions.values().map(|f| f.stmts.len()).sum::<usize>(), 2 * DEPTH + 2);
        // Its loops do not end; the first hundred things are told.
        assert_eq!(lint::run(&library).0.len(), 100);
        let text = pretty::print(&library);
        assert_eq!(text.matches("loop {").count(), DEPTH);
        assert!(text.len() < 400 * DEPTH, "{} bytes", text.len());
    });
}

/// A kernel with a barrier, whose lint follows every way: many cases, and a selector that is long.
#[test]
fn ways_are_many() {
    on_small_stack(|| {
        let sum = nest(
            r#"{"op":"ADD","rhs":{"tag":"REF","type":0,"variable":0},"lhs":"#,
            REF,
            r#","type":0,"tag":"BINARY"}"#,
            1000,
        );
        let case = |i: usize| {
            format!(
                r#"{{"tag":"SWITCH_CASE","value":{i},"body":{{"tag":"SCOPE","statements":[]}}}}"#
            )
        };
        let cases = (0..DEPTH / 2).map(case).collect::<Vec<_>>().join(",");
        let barrier = r#"{"tag":"EXPR","expression":{"tag":"CALL","type":2,"op":"SYNCHRONIZE_BLOCK","arguments":[]}}"#;
        let text = kernel(&format!(
            r#"{{"tag":"SWITCH","expression":{sum},"body":{{"tag":"SCOPE","statements":[{cases}]}}}},{barrier}"#
        ));
        let library = read(&text.replace(r#"{"tag":"BOOL"}"#, r#"{"tag":"BOOL"},null"#));
        assert!(!check::check(&library).has_errors());
        let divergent = lint::codes::DIVERGENT_BARRIER;
        assert!(lint::run(&library).find(divergent).is_none());
    });
}

#[test]
fn broken_nesting_is_refused() {
    on_small_stack(|| {
        for (open, inner) in [("[", ""), ("{\"types\":", "1"), ("{\"functions\":[", "")] {
            let text = nest(open, inner, "", DEPTH);
            let errors = json::read(text.as_bytes()).expect_err("must be refused");
            assert!(errors.to_string().len() < 2000);
        }
        let unknown =
            format!(r#"{{"x":{},"types":[],"functions":[],"entry":0}}"#, nest("[", "", "]", DEPTH));
        assert!(json::read(unknown.as_bytes()).is_err());
    });
}

#[test]
fn types_nest_to_a_limit() {
    on_small_stack(|| {
        let mut types = r#"{"tag":"FLOAT32"}"#.to_owned();
        for i in 0..DEPTH {
            types.push_str(&format!(r#",{{"tag":"ARRAY","element":{i},"dimension":1}}"#));
        }
        let text = format!(r#"{{"types":[{types}],"root":{DEPTH}}}"#);
        let errors = json::read(text.as_bytes()).expect_err("must be refused");
        assert_eq!(errors.0.len(), 1, "{errors}");
        assert!(errors.to_string().contains("nested deeper"));
    });
}

/// A structure of two of the structure before it: the parts double at each level.
#[test]
fn types_double_to_a_limit() {
    let mut types = r#"{"tag":"STRUCTURE","alignment":4,"members":[]}"#.to_owned();
    for i in 0..200 {
        types.push_str(&format!(r#",{{"tag":"STRUCTURE","alignment":4,"members":[{i},{i}]}}"#));
    }
    let text = format!(r#"{{"types":[{types}],"root":200}}"#);
    let errors = json::read(text.as_bytes()).expect_err("must be refused");
    assert!(errors.to_string().contains("too many parts"), "{errors}");
}
