use std::path::PathBuf;

use super::*;

/// The library, or nothing, said in one line.
fn library() -> Option<PathBuf> {
    let found = std::env::var_os(VARIABLE).map(PathBuf::from).filter(|p| p.exists());
    // Where `cargo xtask setup` puts it, whatever the folder that is built in.
    let ours = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../.tools/python/compushady/backends")
        .join(format!("libdxcompiler_{}.so", std::env::consts::ARCH));
    let found = found.or_else(|| ours.is_file().then_some(ours));
    if found.is_none() {
        println!("skipped: no DXC; `cargo xtask setup` installs it");
    }
    found
}

fn source(text: &str, math: MathMode) -> Source<'_> {
    Source { text, entry: "main", shader_model: 2, math, kernel: "k" }
}

const COPY: &str = "RWByteAddressBuffer o : register(u0);\n\
    [numthreads(64, 1, 1)] void main(uint3 id : SV_DispatchThreadID) { o.Store<float>(id.x * 4, BODY); }\n";

fn body(text: &str) -> String {
    COPY.replace("BODY", text)
}

#[test]
fn a_container_is_valid_and_signed() {
    let Some(dxc) = library() else { return };
    let made = compile(source(&body("1.0"), MathMode::Fast), Some(&dxc)).expect("it compiles");
    assert_eq!(&made.container[..4], b"DXBC");
    assert_ne!(&made.container[4..20], [0; 16]);
    let length = u32::from_le_bytes(made.container[24..28].try_into().expect("four bytes"));
    assert_eq!(length as usize, made.container.len());
}

#[test]
fn versions_tell_libraries_apart() {
    let Some(dxc) = library() else { return };
    let found = version(Some(&dxc)).expect("a version");
    assert!(found.starts_with("DXC 1.") && found.ends_with(" bytes"), "{found}");
    assert_eq!(version(Some(Path::new("/nowhere"))), None);
}

#[test]
fn the_same_text_gives_the_same_bytes_from_many_threads() {
    let Some(dxc) = library() else { return };
    let text = body("sin(o.Load<float>(id.x * 4))");
    let one = || compile(source(&text, MathMode::Fast), Some(&dxc)).expect("it compiles");
    let first = one();
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..4).map(|_| scope.spawn(one)).collect();
        all.into_iter().for_each(|t| assert_eq!(t.join().expect("no panic"), first));
    });
}

/// Multiplications by zero and differences of equals stay, also under fast mathematics: the operand may be NaN.
#[test]
fn nothing_is_taken_for_a_number() {
    let Some(dxc) = library() else { return };
    for math in [MathMode::Fast, MathMode::Precise] {
        let of = |text: &str| compile(source(&body(text), math), Some(&dxc)).expect("it compiles");
        let zero = of("0.0");
        for text in ["o.Load<float>(id.x * 4) * 0.0", "o.Load<float>(0) - o.Load<float>(0)"] {
            assert_ne!(of(text).container.len(), zero.container.len(), "{text} under {math:?}");
        }
    }
}

#[test]
fn what_dxc_says_becomes_a_diagnostic() {
    let Some(dxc) = library() else { return };
    let wrong = compile(source(&body("nothing"), MathMode::Fast), Some(&dxc)).expect_err("wrong");
    assert_eq!(wrong.code, errors::DXC_REFUSED);
    assert!(wrong.message.contains("undeclared identifier 'nothing' (line 2"), "{}", wrong.message);
    let old = Source { shader_model: 9, ..source(COPY, MathMode::Fast) };
    assert_eq!(compile(old, Some(&dxc)).expect_err("no such model").code, errors::DXC_REFUSED);
}

/// Deep nesting is refused or compiled, and does not bring the process down.
#[test]
fn deep_text_does_no_harm() {
    let Some(dxc) = library() else { return };
    let nested = body(&format!("{}1.0{}", "(".repeat(20_000), ")".repeat(20_000)));
    let wrong = compile(source(&nested, MathMode::Fast), Some(&dxc)).expect_err("too deep");
    assert_eq!(wrong.code, errors::DXC_REFUSED);
    let chain: String =
        (0..2_000).map(|i| format!("if (id.x == {i}) o.Store(0, {i}); else ")).collect();
    let text = COPY.replace("o.Store<float>(id.x * 4, BODY);", &format!("{chain};"));
    match compile(source(&text, MathMode::Fast), Some(&dxc)) {
        Ok(made) => assert_eq!(&made.container[..4], b"DXBC"),
        Err(e) => assert_eq!(e.code, errors::DXC_REFUSED, "{}", e.message),
    }
}

#[test]
fn no_library_and_false_libraries_are_errors() {
    let text = body("1.0");
    let with = |path: &str| compile(source(&text, MathMode::Fast), Some(Path::new(path)));
    let missing = with("/nowhere/libdxcompiler.so").expect_err("nothing there");
    assert_eq!(missing.code, errors::NO_DXC);
    assert!(missing.message.contains("/nowhere/libdxcompiler.so"), "{}", missing.message);
    assert!(missing.help.expect("a way").contains("pip install"));
    let false_one =
        with(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).expect_err("no library");
    assert_eq!(false_one.code, errors::BAD_DXC);
    // A library, but not this one.
    let other = ["/lib/x86_64-linux-gnu/libm.so.6", "/lib64/libm.so.6"];
    if let Some(path) = other.iter().find(|p| Path::new(p).exists()) {
        assert_eq!(with(path).expect_err("another library").code, errors::BAD_DXC);
    }
}
