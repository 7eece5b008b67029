//! What the reader refuses, with which code and where; what it accepts in odd orders and spellings.

use super::{codes, find, read};
use crate::diagnostic::{Code, Diagnostics};
use crate::model::{BinaryOp, ExprKind, Stmt};

/// A small kernel in either dialect: `{0}` is replaced by the statements.
const D0: &str = r#"{
  "functions": [
    {"tag":"CALLABLE","arguments":[0],"variables":[{"tag":"ARGUMENT","type":0}],"curve_bases":[],"constants":[],
     "return_type":0,"body":{"tag":"SCOPE","statements":[{"tag":"RETURN","expression":{"tag":"REF","type":0,"variable":0}}]}},
    {"tag":"KERNEL","arguments":[0],"variables":[{"tag":"BUFFER","type":1},{"tag":"LOCAL","type":0}],"curve_bases":[],
     "constants":[],"block_size":[32,1,1],"bound_arguments":[{"tag":"BUFFER","handle":"7","offset":"0","size":"64"}],
     "body":{"tag":"SCOPE","statements":[{0}]}}
  ],
  "constants": [{"type":0,"raw":"AQAAAA=="}],
  "types": [{"tag":"UINT32"},{"tag":"BUFFER","element":0},null,{"tag":"BOOL"}],
  "entry": 1
}"#;

const V1: &str = r#"{"schema":"luisa.compute.ast","version":1,
  "types": [{"tag":"UINT32"},{"tag":"BUFFER","element":0},null],
  "functions": [
    {"tag":"KERNEL","arguments":[0],"variables":[{"tag":"BUFFER","type":1,"usage":"WRITE","name":"out"},
     {"tag":"LOCAL","type":0,"usage":"READ_WRITE"}],"curve_bases":[],"constants":[],"block_size":[32,1,1],
     "bound_arguments":[],"name":"k","body":{"tag":"SCOPE","statements":[{0}]}}
  ],
  "entry": 0}"#;

const ASSIGN: &str = r#"{"tag":"ASSIGN","lhs":{"tag":"REF","type":0,"variable":1},"rhs":{"tag":"LITERAL","type":0,"value":"AQAAAA=="}}"#;

fn with(text: &str, statements: &str) -> String {
    text.replace("{0}", statements)
}

#[track_caller]
fn refuse(text: &str) -> Diagnostics {
    match read(text.as_bytes()) {
        Ok(_) => panic!("was accepted"),
        Err(errors) => errors,
    }
}

/// Refused with this code first, at this place.
#[track_caller]
fn refused(text: &str, code: Code, pointer: &str) {
    let errors = refuse(text);
    let first = &errors.0[0];
    assert_eq!((first.code, first.pointer.as_deref()), (code, Some(pointer)), "{errors}");
    assert!(first.offset.is_some());
}

/// The kernel without version in which `from` is replaced by `to` is refused.
#[track_caller]
fn refused_d0(from: &str, to: &str, code: Code, pointer: &str) {
    let text = with(D0, ASSIGN);
    assert!(text.contains(from), "`{from}` is not in the text");
    refused(&text.replace(from, to), code, pointer);
}

/// The kernel of version 1 in which `from` is replaced by `to` is refused.
#[track_caller]
fn refused_v1(from: &str, to: &str, code: Code, pointer: &str) {
    let text = with(V1, ASSIGN);
    assert!(text.contains(from), "`{from}` is not in the text");
    refused(&text.replace(from, to), code, pointer);
}

/// The kernel without version is refused for this statement.
#[track_caller]
fn refused_stmt(stmt: &str, code: Code, below: &str) {
    refused(&with(D0, stmt), code, &format!("/functions/1/body/statements/0{below}"));
}

/// The kernel without version is refused for this right side of an assignment.
#[track_caller]
fn refused_expr(expr: &str, code: Code, below: &str) {
    let stmt =
        format!(r#"{{"tag":"ASSIGN","lhs":{{"tag":"REF","type":0,"variable":1}},"rhs":{expr}}}"#);
    refused_stmt(&stmt, code, &format!("/rhs{below}"));
}

#[test]
fn both_dialects_read() {
    let library = read(with(D0, ASSIGN).as_bytes()).expect("reads");
    assert_eq!((library.functions.len(), library.constants.len()), (2, 1));
    assert_eq!(library.entry.map(|e| e.as_u32()), Some(1));
    let library = read(with(V1, ASSIGN).as_bytes()).expect("reads");
    let (_, kernel) = library.kernels().next().expect("there is a kernel");
    assert_eq!(kernel.name.as_deref(), Some("k"));
    let usages: Vec<_> = kernel.variables.values().map(|v| v.usage.name()).collect();
    assert_eq!(usages, ["WRITE", "READ_WRITE"]);
}

#[test]
fn the_tag_may_come_last_and_keys_may_be_escaped() {
    let stmt = r#"{"rhs":{"value":"AQAAAA\u003d\u003d","type":0,"tag":"LITERAL"},
        "l\u0068s":{"variable":1.0,"type":0e0,"tag":"R\u0045F"},"tag":"ASSIGN"}"#;
    let library = read(with(D0, stmt).as_bytes()).expect("reads");
    let (_, kernel) = library.kernels().next().expect("there is a kernel");
    let body = kernel.body.expand().expect("there is a body");
    let Stmt::Assign { rhs, .. } = kernel.stmts[kernel.scope(body)[0]] else {
        panic!("no assignment")
    };
    assert_eq!(kernel.literal(rhs), Some(&[1, 0, 0, 0][..]));
}

#[test]
fn operations_and_texts_come_through() {
    let stmts = r#"{"tag":"COMMENT","comment":"a\n\"\u00e9\ud83d\ude00\\"},
        {"tag":"EXPR","expression":{"op":"SHR","lhs":{"tag":"REF","type":0,"variable":1},
        "rhs":{"tag":"REF","type":0,"variable":1},"tag":"BINARY","type":0}}"#;
    let library = read(with(D0, stmts).as_bytes()).expect("reads");
    let (_, kernel) = library.kernels().next().expect("there is a kernel");
    let body = kernel.scope(kernel.body.expand().expect("there is a body"));
    let Stmt::Comment(text) = kernel.stmts[body[0]] else { panic!("no comment") };
    assert_eq!(kernel.text_in(text), "a\n\"é😀\\");
    let Stmt::Expr(expr) = kernel.stmts[body[1]] else { panic!("no expression") };
    assert!(matches!(kernel.exprs[expr].kind, ExprKind::Binary { op: BinaryOp::Shr, .. }));
}

#[test]
fn several_errors_are_told_at_once() {
    let bad = r#"{"tag":"LITERAL","type":0,"value":"AQAAAA"},{"tag":"NOTHING"},{"tag":"BREAK","type":17}"#;
    let errors = refuse(&with(D0, bad));
    assert!(errors.0.len() >= 3, "{errors}");
    assert!(errors.0.is_sorted_by_key(|e| e.offset));
}

#[test]
fn what_is_no_json_is_refused() {
    let table: [(&str, Code, &str); 13] = [
        ("", codes::EMPTY, ""),
        (" \n ", codes::EMPTY, ""),
        ("hello", codes::WRONG_TYPE, ""),
        ("{", codes::TRUNCATED, ""),
        ("{}", codes::NOT_AN_AST, ""),
        ("[]", codes::WRONG_TYPE, ""),
        (r#"{"types":[}]"#, codes::SYNTAX, "/types/0"),
        (r#"{"types":[],"functions":[],"entry":0} x"#, codes::SYNTAX, ""),
        (r#"{"types":[],"functions":[],"entry":01}"#, codes::SYNTAX, "/entry"),
        (r#"{"types":[nul],"functions":[],"entry":0}"#, codes::SYNTAX, "/types/0"),
        (
            r#"{"types":[{"tag":"UINT32",}],"functions":[],"entry":0}"#,
            codes::SYNTAX,
            "/types/0/tag",
        ),
        (r#"{"types":[{"tag":"\q"}],"functions":[],"entry":0}"#, codes::SYNTAX, "/types/0/tag"),
        (r#"{"types":[{"tag":"UINT32"},],"functions":[],"entry":0}"#, codes::SYNTAX, "/types/0"),
    ];
    for (text, code, pointer) in table {
        let errors = refuse(text);
        let first = &errors.0[0];
        if text == "hello" {
            assert_eq!(first.code, codes::SYNTAX, "{errors}");
            continue;
        }
        assert_eq!(first.code, code, "{text}: {errors}");
        assert_eq!(first.pointer.as_deref().unwrap_or(""), pointer, "{text}: {errors}");
    }
    let errors = read(b"{\"types\": \xff}").expect_err("must be refused");
    assert_eq!((errors.0[0].code, errors.0[0].offset), (codes::NOT_UTF8, Some(10)));
}

#[test]
fn wrong_types_are_refused() {
    let types =
        |t: &str| format!(r#"{{"types":[{{"tag":"FLOAT32"}},{t}],"functions":[],"entry":0}}"#);
    let table: [(&str, Code, &str); 18] = [
        (r#"{"tag":"ARRAY","element":1,"dimension":4}"#, codes::TYPE_CYCLE, "/element"),
        (r#"{"tag":"ARRAY","element":2,"dimension":4}"#, codes::TYPE_INDEX, "/element"),
        (r#"{"tag":"ARRAY","element":-1,"dimension":4}"#, codes::BAD_NUMBER, "/element"),
        (r#"{"tag":"ARRAY","element":0.5,"dimension":4}"#, codes::BAD_NUMBER, "/element"),
        (r#"{"tag":"ARRAY","element":0,"dimension":4294967295}"#, codes::BAD_TYPE, ""),
        (r#"{"tag":"ARRAY","element":0,"dimension":4294967296}"#, codes::BAD_NUMBER, "/dimension"),
        (r#"{"tag":"ARRAY","element":0,"dimension":0}"#, codes::BAD_TYPE, ""),
        (r#"{"tag":"ARRAY","element":0}"#, codes::MISSING_MEMBER, ""),
        (r#"{"element":0}"#, codes::MISSING_MEMBER, ""),
        (r#"{"tag":"VECTOR","element":0,"dimension":5}"#, codes::BAD_TYPE, ""),
        (r#"{"tag":"VECTOR","element":0,"dimension":260}"#, codes::BAD_TYPE, ""),
        (r#"{"tag":"TEXTURE","element":0,"dimension":4}"#, codes::BAD_TYPE, ""),
        (r#"{"tag":"STRUCTURE","alignment":2,"members":[0]}"#, codes::BAD_TYPE, ""),
        (r#"{"tag":"STRUCTURE","alignment":32,"members":[0]}"#, codes::BAD_TYPE, ""),
        (r#"{"tag":"STRUCTURE","alignment":4,"members":[0,1]}"#, codes::TYPE_CYCLE, "/members/1"),
        (r#"{"tag":"CUSTOM","id":"a b"}"#, codes::BAD_TYPE, ""),
        (r#"{"tag":"FLOAT31"}"#, codes::UNKNOWN_NAME, ""),
        (r#""FLOAT32""#, codes::WRONG_TYPE, ""),
    ];
    for (ty, code, below) in table {
        let errors = refuse(&types(ty));
        assert_eq!(errors.0[0].code, code, "{ty}: {errors}");
        assert_eq!(
            errors.0[0].pointer.as_deref(),
            Some(&*format!("/types/1{below}")),
            "{ty}: {errors}"
        );
    }
}

#[test]
fn wrong_parts_of_a_document_are_refused() {
    refused_d0(r#""entry": 1"#, r#""entry": 2"#, codes::ENTRY, "/entry");
    refused_d0(r#""entry": 1"#, r#""entry": "1""#, codes::WRONG_TYPE, "/entry");
    refused_d0(r#""entry": 1"#, r#""entries": 1"#, codes::NOT_AN_AST, "");
    refused_d0(r#""raw":"AQAAAA==""#, r#""raw":"AQAA""#, codes::CONSTANT_SIZE, "/constants/0/raw");
    refused_d0(r#""raw":"AQAAAA==""#, r#""raw":"AQAA*A==""#, codes::BASE64, "/constants/0/raw");
    refused_d0(
        r#"{"tag":"LOCAL","type":0}"#,
        r#"{"tag":"LOCALE","type":0}"#,
        codes::UNKNOWN_NAME,
        "/functions/1/variables/1/tag",
    );
    refused_d0(
        r#"{"tag":"LOCAL","type":0}"#,
        r#"{"tag":"LOCAL","type":9}"#,
        codes::TYPE_INDEX,
        "/functions/1/variables/1/type",
    );
    refused_d0(
        r#"{"tag":"LOCAL","type":0}"#,
        r#"{"tag":"LOCAL"}"#,
        codes::MISSING_MEMBER,
        "/functions/1/variables/1",
    );
    refused_d0(
        r#"{"tag":"LOCAL","type":0}"#,
        r#"{"tag":"ARGUMENT","type":0}"#,
        codes::ARGUMENTS,
        "/functions/1/arguments",
    );
    refused_d0(
        r#""arguments":[0],"variables":[{"tag":"BUFFER""#,
        r#""arguments":[0,0],"variables":[{"tag":"BUFFER""#,
        codes::ARGUMENTS,
        "/functions/1/arguments",
    );
    refused_d0(
        r#""arguments":[0],"variables":[{"tag":"BUFFER""#,
        r#""arguments":[5],"variables":[{"tag":"BUFFER""#,
        codes::VARIABLE_INDEX,
        "/functions/1/arguments",
    );
    refused_d0(
        r#""handle":"7""#,
        r#""handle":"-7""#,
        codes::BAD_NUMBER,
        "/functions/1/bound_arguments/0/handle",
    );
    refused_d0(r#""handle":"7","#, "", codes::MISSING_MEMBER, "/functions/1/bound_arguments/0");
    refused_d0("[32,1,1]", "[32,1]", codes::WRONG_TYPE, "/functions/1/block_size");
    refused_d0("[32,1,1]", "[32,1,99999999999]", codes::BAD_NUMBER, "/functions/1/block_size/2");
    refused_d0(r#""return_type":0,"#, "", codes::MISSING_MEMBER, "/functions/0");
    refused_d0(
        r#""curve_bases":[],"constants":[],
     "return_type""#,
        r#""curve_bases":["SPLINE"],"return_type""#,
        codes::UNKNOWN_NAME,
        "/functions/0/curve_bases/0",
    );
    refused_d0(
        r#""variable":0}"#,
        r#""variable":1}"#,
        codes::VARIABLE_INDEX,
        "/functions/0/body/statements/0/expression/variable",
    );
}

#[test]
fn wrong_nodes_are_refused() {
    refused_stmt(r#"{"tag":"LEAVE"}"#, codes::UNKNOWN_NAME, "/tag");
    refused_stmt(r#"{}"#, codes::MISSING_MEMBER, "");
    refused_stmt(r#"[]"#, codes::WRONG_TYPE, "");
    refused_stmt(r#"{"tag":"BREAK","tag":"BREAK"}"#, codes::DUPLICATE_MEMBER, "/tag");
    refused_stmt(
        r#"{"tag":"BREAK","body":{"tag":"SCOPE","statements":[]}}"#,
        codes::UNKNOWN_MEMBER,
        "",
    );
    refused_stmt(r#"{"tag":"LOOP"}"#, codes::MISSING_MEMBER, "");
    refused_stmt(r#"{"tag":"LOOP","body":null}"#, codes::MISSING_MEMBER, "");
    refused_stmt(r#"{"tag":"LOOP","body":{"tag":"BREAK"}}"#, codes::WRONG_TYPE, "/body");
    refused_stmt(r#"{"tag":"LITERAL","type":0,"value":"AQAAAA=="}"#, codes::WRONG_TYPE, "");
    refused_stmt(
        r#"{"tag":"SWITCH_CASE","value":"AQAAAA==","body":{"tag":"SCOPE","statements":[]}}"#,
        codes::WRONG_TYPE,
        "",
    );
    refused_expr(r#"{"tag":"BREAK"}"#, codes::WRONG_TYPE, "");
    refused_expr(r#"{"tag":"REF","type":0,"variable":2}"#, codes::VARIABLE_INDEX, "/variable");
    refused_expr(r#"{"tag":"REF","type":0,"variable":-2}"#, codes::BAD_NUMBER, "/variable");
    refused_expr(r#"{"tag":"REF","type":44,"variable":1}"#, codes::TYPE_INDEX, "");
    refused_expr(r#"{"tag":"REF","variable":1}"#, codes::MISSING_MEMBER, "");
    refused_expr(r#"{"tag":"CONSTANT","type":0,"data":1}"#, codes::CONSTANT_INDEX, "/data");
    refused_expr(r#"{"tag":"LITERAL","type":0,"value":"AQA="}"#, codes::LITERAL_SIZE, "/value");
    refused_expr(r#"{"tag":"LITERAL","type":0,"value":"A%AAAA=="}"#, codes::BASE64, "/value");
    refused_expr(r#"{"tag":"LITERAL","type":0,"value":"AQAAAA="}"#, codes::BASE64, "/value");
    refused_expr(r#"{"tag":"LITERAL","type":0,"value":5}"#, codes::WRONG_TYPE, "");
    refused_expr(r#"{"tag":"LITERAL","type":1,"value":"AAAAAAAAAAA="}"#, codes::BAD_TYPE, "");
    refused_expr(
        r#"{"tag":"UNARY","type":0,"op":"NEG","operand":{"tag":"REF","type":0,"variable":1}}"#,
        codes::UNKNOWN_NAME,
        "/op",
    );
    refused_expr(
        r#"{"tag":"MEMBER","type":0,"self":{"tag":"REF","type":0,"variable":1},"swizzle":"xq"}"#,
        codes::UNKNOWN_NAME,
        "/swizzle",
    );
    refused_expr(
        r#"{"tag":"MEMBER","type":0,"self":{"tag":"REF","type":0,"variable":1}}"#,
        codes::MISSING_MEMBER,
        "",
    );
    refused_expr(
        r#"{"tag":"CALL","type":0,"op":"CUSTOM","arguments":[]}"#,
        codes::MISSING_MEMBER,
        "",
    );
    refused_expr(
        r#"{"tag":"CALL","type":0,"op":"CUSTOM","custom":7,"arguments":[]}"#,
        codes::FUNCTION_INDEX,
        "/custom",
    );
    refused_expr(
        r#"{"tag":"CALL","type":0,"op":"CUSTOM","custom":1,"arguments":[]}"#,
        codes::RECURSION,
        "/custom",
    );
    refused_expr(
        r#"{"tag":"CALL","type":0,"op":"EXTERNAL","external":0,"arguments":[]}"#,
        codes::EXTERNAL_INDEX,
        "/external",
    );
    refused_expr(
        r#"{"tag":"CALL","type":0,"op":"CALL_ME","arguments":[]}"#,
        codes::UNKNOWN_NAME,
        "/op",
    );
    refused_expr(r#"{"tag":"GPUCUSTOM","type":0}"#, codes::UNPORTABLE, "");
}

#[test]
fn version_1_is_strict() {
    refused_v1(r#""version":1"#, r#""version":2"#, codes::VERSION, "/version");
    refused_v1(r#""schema":"luisa.compute.ast","#, "", codes::VERSION, "");
    refused_v1(r#""entry": 0"#, r#""entry": 0, "more": 1"#, codes::UNKNOWN_MEMBER, "/more");
    refused_v1(r#""entry": 0"#, r#""entry": 0.0"#, codes::BAD_NUMBER, "/entry");
    refused_v1(
        r#""entry": 0"#,
        r#""entry": 0, "external_functions":[{"name":"f","return_type":2,"argument_types":[],"argument_usages":[]}]"#,
        codes::UNPORTABLE,
        "/external_functions",
    );
    refused_v1(r#","usage":"WRITE""#, "", codes::MISSING_MEMBER, "/functions/0/variables/0");
    refused_v1(
        r#""name":"out""#,
        r#""title":"out""#,
        codes::UNKNOWN_MEMBER,
        "/functions/0/variables/0/title",
    );
    refused_v1(r#""tag":"KERNEL""#, r#""tag":"CALLABLE""#, codes::MISSING_MEMBER, "/functions/0");
    refused_v1(
        ASSIGN,
        r#"{"tag":"SCOPE","statements":[]}"#,
        codes::UNPORTABLE,
        "/functions/0/body/statements/0",
    );
    refused_v1(
        r#""name":"k""#,
        r#""name":"k","allowed_warp_size":33"#,
        codes::BAD_NUMBER,
        "/functions/0/allowed_warp_size",
    );
    refused_v1(
        r#"{"tag":"LOCAL""#,
        r#"{"tag":"OBJECT_ID""#,
        codes::UNPORTABLE,
        "/functions/0/variables/1/tag",
    );
    refused_v1("null]", r#"null,{"tag":"CUSTOM","id":"Mine"}]"#, codes::BAD_TYPE, "/types/3");
    refused_v1("null]", r#"null,{"tag":"BOOL","element":0}]"#, codes::UNKNOWN_MEMBER, "/types/3");
}

#[test]
fn unknown_members_are_let_through_without_a_version() {
    let text =
        with(D0, ASSIGN).replace(r#""entry": 1"#, r#""entry": 1, "made_by": {"x":[1,{"y":null}]}"#);
    assert!(read(text.as_bytes()).is_ok());
    let text = with(D0, &ASSIGN.replace(r#""tag":"ASSIGN""#, r#""tag":"ASSIGN","line":[1,2]"#));
    assert!(read(text.as_bytes()).is_ok());
}

#[test]
fn recursion_names_the_cycle() {
    let call = r#"{"tag":"EXPR","expression":{"tag":"CALL","type":0,"op":"CUSTOM","custom":1,"arguments":[]}}"#;
    let errors = refuse(&with(D0, call));
    assert!(errors.0[0].message.contains("function 1 -> function 1"), "{errors}");
}

#[test]
fn pointers_find_their_values() {
    let text = with(D0, ASSIGN);
    let at = |pointer: &str| &text[find(text.as_bytes(), pointer)];
    assert_eq!(at("/entry"), "1");
    assert_eq!(at("/functions/1/body/statements/0"), ASSIGN);
    assert_eq!(at("/functions/1/body/statements/0/rhs/value"), r#""AQAAAA==""#);
    assert_eq!(at("/functions/1/block_size/0"), "32");
    assert_eq!(at("/types/3/nothing"), r#"{"tag":"BOOL"}"#);
}
