//! Callables by themselves: functions that C calls, device functions that `ptxas` takes, texts that other shaders include.
#![cfg(feature = "llvm")]

mod common;

use common::{Folder, corpus, files, luisac};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Scalars of all widths, a vector, a structure, references, a buffer, a large value, a call of another callable.
const LIBRARY: &str = "module;
type Pair = struct<8, i16, f64>;
type Table = array<i32, 100>;

callable @scale(%0: value vector<f32, 3>, %1: value f32, %2: reference u32) -> vector<f32, 3> {
b0:
  %3: u32 = load %2
  %4: u32 = arithmetic binary_add %3, u32 1
  store %2, %4
  %5: f32 = arithmetic extract %0, u32 0
  %6: f32 = arithmetic extract %0, u32 1
  %7: f32 = arithmetic extract %0, u32 2
  %8: f32 = arithmetic binary_mul %5, %1
  %9: f32 = arithmetic binary_mul %6, %1
  %10: f32 = arithmetic binary_mul %7, %1
  %11: vector<f32, 3> = arithmetic aggregate %8, %9, %10
  return %11
}

callable @narrow(%0: value i8, %1: value bool, %2: value u16) -> i16 {
b0:
  %3: i16 = cast static_cast %0
  %4: i16 = cast static_cast %2
  %5: i16 = arithmetic binary_add %3, %4
  %6: i16 = arithmetic select i16 0, %5, %1
  return %6
}

callable @is_less(%0: value f64, %1: value f64) -> bool {
b0:
  %2: bool = arithmetic binary_less %0, %1
  return %2
}

callable @turn(%0: value Pair) -> Pair {
b0:
  %1: i16 = arithmetic extract %0, u32 0
  %2: f64 = arithmetic extract %0, u32 1
  %3: i16 = call @narrow(i8 -1, bool true, u16 3)
  %4: i16 = arithmetic binary_mul %1, %3
  %5: f64 = arithmetic unary_minus %2
  %6: Pair = arithmetic aggregate %4, %5
  return %6
}

callable @double_at(%0: resource buffer<i32>, %1: value u32) -> i32 {
b0:
  %2: i32 = resource_read buffer_read %0, %1
  %3: i32 = arithmetic binary_add %2, %2
  resource_write buffer_write %0, %1, %3
  return %2
}

callable @at(%0: value Table, %1: value u32) -> i32 {
b0:
  %2: i32 = arithmetic extract %0, %1
  return %2
}

callable @with(%0: value Table, %1: value u32, %2: value i32) -> Table {
b0:
  %3: Table = arithmetic insert %0, %2, %1
  return %3
}

callable @thread_of() -> u32 {
b0:
  %0: u32 = arithmetic extract thread_id, u32 0
  return %0
}

callable @lane_of(%0: resource buffer<u32>) -> u32 {
b0:
  %1: u32 = resource_read buffer_read %0, warp_lane_id
  return %1
}

callable @says() {
b0:
  print \"hello\"
  return
}
";

const NAMES: [&str; 7] = ["scale", "narrow", "is_less", "turn", "double_at", "at", "with"];

/// Calls all of them, and says which result is wrong by its exit code.
const CALLER: &str = r#"
#include "scale.cpu.h"
#include "narrow.cpu.h"
#include "is_less.cpu.h"
#include "turn.cpu.h"
#include "double_at.cpu.h"
#include "at.cpu.h"
#include "with.cpu.h"

struct pair { int16_t first; double second; };

int main(void) {
    _Alignas(16) float v[4] = {1.0f, -2.0f, 0.5f, 9.0f}, scaled[4];
    uint32_t calls = 41;
    callable_scale(scaled, v, 3.0f, &calls);
    if (scaled[0] != 3.0f || scaled[1] != -6.0f || scaled[2] != 1.5f || calls != 42) return 1;
    if (callable_narrow(-100, true, 65000) != (int16_t)(-100 + 65000)) return 2;
    if (callable_narrow(-100, false, 65000) != 0) return 3;
    if (!callable_is_less(1.0, 2.0) || callable_is_less(2.0, 2.0)) return 4;
    struct pair p = {7, 2.25}, q;
    callable_turn(&q, &p);
    if (q.first != 14 || q.second != -2.25) return 5;
    int32_t data[3] = {5, 6, 7};
    if (callable_double_at((uint64_t)(uintptr_t)data, sizeof data, 1) != 6) return 6;
    if (data[0] != 5 || data[1] != 12 || data[2] != 7) return 7;
    int32_t table[100], changed[100];
    for (int i = 0; i < 100; i++) table[i] = 3 * i;
    if (callable_at(table, 33) != 99) return 8;
    callable_with(changed, table, 50, -1);
    for (int i = 0; i < 100; i++)
        if (changed[i] != (i == 50 ? -1 : 3 * i) || table[i] != 3 * i) return 9;
    return 0;
}
"#;

fn library() -> Folder {
    let folder = Folder::new();
    folder.write("lib.xir", LIBRARY);
    folder
}

fn compile(folder: &Folder, names: &[&str], rest: &[&str]) -> common::Outcome {
    let mut flags = vec!["compile", "lib.xir"];
    for name in names {
        flags.extend(["--callable", name]);
    }
    luisac(folder.path(), [&flags[..], rest].concat())
}

#[test]
fn c_calls_objects() {
    let folder = library();
    for level in ["-O0", "-O2"] {
        compile(&folder, &NAMES, &["--target", "cpu:native", "-o", "out/", level]).ok();
        folder.write("out/main.c", CALLER);
        let out = folder.path().join("out");
        let objects = NAMES.map(|name| format!("{name}.o"));
        let mut cc = Command::new("cc");
        cc.args(["-std=c11", "-Wall", "-Werror", "main.c", "-o", "main"]).args(objects);
        let built = cc.current_dir(&out).output().expect("a C compiler, as Rust needs one to link");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let ran = Command::new(out.join("main")).status().expect("the program starts");
        assert_eq!(ran.code(), Some(0), "{level}: the number of the wrong result");
    }
}

#[test]
fn ptx_holds_device_functions() {
    let folder = library();
    let names = [&NAMES[..], &["thread_of", "lane_of"]].concat();
    compile(&folder, &names, &["--target", "ptx:sm_90", "-o", "out/"]).ok();
    for name in names {
        let text = String::from_utf8(folder.read(&format!("out/{name}.ptx"))).expect("text");
        assert!(text.contains(".visible .func") && text.contains(&format!("callable_{name}")));
        assert!(!text.contains(".entry"), "{text}");
        let header = String::from_utf8(folder.read(&format!("out/{name}.ptx.cuh"))).expect("text");
        assert!(header.contains("extern \"C\" __device__"), "{header}");
        assembled(&folder.path().join(format!("out/{name}.ptx")));
    }
    let text = String::from_utf8(folder.read("out/thread_of.ptx")).expect("text");
    assert!(text.contains("%tid.x"), "{text}");
    // For `tests/gpu/link_ptx.py`.
    if let Some(keep) = std::env::var_os("LUISAC_KEEP") {
        for name in ["scale", "double_at"] {
            let from = folder.path().join(format!("out/{name}.ptx"));
            std::fs::copy(from, Path::new(&keep).join(format!("{name}.ptx"))).expect("it is kept");
        }
    }
    // Who calls may have written the buffer, and knows the size of the block.
    let text = String::from_utf8(folder.read("out/lane_of.ptx")).expect("text");
    assert!(
        text.contains("%laneid") && text.contains("ld.global") && !text.contains(".nc"),
        "{text}"
    );
}

/// Where `ptxas` is (on the path, or among the project's tools), it makes an object to link of a file.
fn assembled(ptx: &Path) {
    let ours = ".tools/python/nvidia/cuda_nvcc/bin/ptxas";
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join(ours);
    let run = |program: &Path| {
        let mut ptxas = Command::new(program);
        ptxas.args(["-c", "-arch=sm_90", "-o"]).arg(ptx.with_extension("cubin")).arg(ptx);
        ptxas.output()
    };
    let Ok(done) = run(Path::new("ptxas")).or_else(|_| run(&ours)) else { return };
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// Where clang is, it understands a text as C++, with the `metal_stdlib` of the tests of Metal.
fn understood(metal: &Path) {
    let header = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/msl");
    let named = std::env::var("LUISAC_CLANG").unwrap_or_else(|_| "clang-22".into());
    let mut clang = Command::new(named);
    clang.args(["-std=c++20", "-w", "-x", "c++", "-fsyntax-only", "-I"]).arg(header).arg(metal);
    let Ok(done) = clang.output() else { return };
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{}: {said}", metal.display());
}

#[test]
fn texts_hold_functions() {
    let folder = library();
    // Metal has no doubles.
    let names = ["scale", "narrow", "double_at", "at", "with", "thread_of"];
    compile(&folder, &names, &["--target", "hlsl,msl", "-o", "out/"]).ok();
    let text = |file: &str| String::from_utf8(folder.read(&format!("out/{file}"))).expect("text");
    let scale = text("scale.hlsl");
    assert!(scale.contains("float3 callable_scale(float3 ") && scale.contains("inout uint "));
    assert!(!scale.contains("numthreads") && !scale.contains("cbuffer"), "{scale}");
    let scale = text("scale.metal");
    assert!(scale.contains("float3 callable_scale(float3 ") && scale.contains("thread uint& "));
    assert!(!scale.contains("kernel void"), "{scale}");
    assert!(text("double_at.hlsl").contains("callable_double_at(RWByteAddressBuffer "));
    assert!(text("thread_of.hlsl").contains("callable_thread_of(uint3 thread_id)"));
    compile(&folder, &["is_less", "turn"], &["--target", "hlsl", "-o", "out/"]).ok();
    let refused = compile(&folder, &["turn"], &["--target", "msl", "-o", "out/"]);
    assert_eq!((refused.code, refused.codes()), (Some(1), vec!["L0901"]), "{}", refused.stderr);
}

#[test]
fn what_cannot_be_is_said() {
    let folder = library();
    let says = |names: &[&str], rest: &[&str], code: &str, word: &str| {
        let refused = compile(&folder, names, rest);
        assert_ne!(refused.code, Some(0), "{rest:?}");
        assert!(refused.codes().contains(&code), "{rest:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(word), "{rest:?}: {}", refused.stderr);
    };
    says(&["scale"], &["--target", "spirv", "-o", "out/"], "L0915", "spirv");
    says(&["says"], &["--target", "cpu", "-o", "out/"], "L0916", "log");
    says(&["thread_of"], &["--target", "cpu", "-o", "out/"], "L0916", "thread_id");
    says(&["at"], &["--target", "cpu", "--bounds", "trap", "-o", "out/"], "L0916", "clamp");
    says(&["at"], &["--target", "cpu", "--block", "8,1,1"], "L1218", "--block");
    says(&["at"], &["--target", "cpu", "--define", "0=1"], "L1218", "--define");
    says(&["at"], &["--target", "cpu", "-o", "a.luisa"], "L1218", "NAME.luisa");
    says(&["nobody"], &["--target", "cpu"], "L1217", "nobody");
    folder.write(
        "lib.xir",
        format!("{LIBRARY}\nkernel @k block(1, 1, 1) () {{\nb0:\n  return\n}}\n"),
    );
    says(&["at"], &["--target", "cpu"], "L1218", "kernels");
}

/// A document about the last of some callables, all alike and without names, which take and return a float.
fn document(statements: &Value, count: usize) -> Folder {
    let callable = serde_json::json!({
        "tag": "CALLABLE", "return_type": 0, "curve_bases": [], "bound_arguments": [], "constants": [],
        "variables": [{"tag": "ARGUMENT", "type": 0}], "arguments": [0],
        "body": {"tag": "SCOPE", "statements": statements},
    });
    let document = serde_json::json!({
        "functions": vec![callable; count], "types": [{"tag": "FLOAT32"}], "entry": count - 1,
    });
    let folder = Folder::new();
    folder.write("one.json", document.to_string());
    folder
}

/// A callable without a name is taken by its number, or by the file's stem if the file is about it.
#[test]
fn numbers_stand_for_names() {
    let back = serde_json::json!([
        {"tag": "RETURN", "expression": {"tag": "REF", "type": 0, "variable": 0}},
    ]);
    let folder = document(&back, 2);
    let flags = ["compile", "one.json", "--callable", "0", "--callable", "one"];
    luisac(folder.path(), [&flags[..], &["--target", "cpu", "-o", "out/", "-q"]].concat()).ok();
    for name in ["function_0", "one"] {
        let header = folder.read(&format!("out/{name}.cpu.h"));
        let header = String::from_utf8(header).expect("text");
        assert!(header.contains(&format!("float callable_{name}(float a0);")), "{header}");
    }
}

/// A result that no statement returns is zero, and told of.
#[test]
fn ends_without_a_value_are_told() {
    let folder = document(&serde_json::json!([]), 1);
    let checked = luisac(folder.path(), ["check", "one.json", "-A", "unused"]);
    assert_eq!((checked.code, checked.codes()), (Some(0), vec!["L0318"]), "{}", checked.stderr);
    let denied =
        luisac(folder.path(), ["check", "one.json", "-A", "unused", "-D", "missing-return"]);
    assert_eq!((denied.code, denied.codes()), (Some(1), vec!["L0318"]), "{}", denied.stderr);
    let lowered = luisac(folder.path(), ["opt", "one.json", "--callable", "one", "-q"]).ok();
    assert!(lowered.text().contains("return f32 0"), "{}", lowered.text());
}

/// Every callable of the recorded libraries is compiled for every target, or refused for a reason that a user can mend.
#[test]
fn recorded_libraries() {
    let Some(libraries) = corpus("callable-libraries") else { return };
    let folder = Folder::new();
    let (mut made, mut refused) = (0, Vec::new());
    for path in files(&libraries, ".bin") {
        if path.ends_with("missing_dependency.bin") {
            continue;
        }
        for name in callables(&folder, &path) {
            for target in ["ptx:sm_90", "cpu:x86-64-v3", "hlsl", "msl"] {
                let file = path.display().to_string();
                let flags =
                    ["compile", &file, "--callable", &name, "--target", target, "-q", "-o", "out/"];
                let outcome = luisac(folder.path(), flags);
                if outcome.code == Some(0) {
                    made += 1;
                    continue;
                }
                let codes = outcome.codes();
                // Ray queries need traversal, which only some targets have.
                let known = ["L0808", "L0900", "L0901", "L0916"];
                assert!(
                    outcome.code == Some(1) && codes.iter().all(|c| known.contains(c)),
                    "{file}: {name} to {target}: {}",
                    outcome.stderr
                );
                refused.push(format!("{name} to {target}: {}", codes.join(" ")));
            }
        }
    }
    let out = folder.path().join("out");
    files(&out, ".ptx").iter().for_each(|file| assembled(file));
    files(&out, ".metal").iter().for_each(|file| understood(file));
    println!("{made} functions made, {} refused: {refused:#?}", refused.len());
    assert!(made > 2 * refused.len() && made > 100, "{made} made, {} refused", refused.len());
}

fn callables(folder: &Folder, library: &Path) -> Vec<String> {
    let library = library.display().to_string();
    let shown = luisac(folder.path(), ["inspect", &library, "--json"]).ok();
    let value: Value = serde_json::from_slice(&shown.stdout).expect("JSON");
    let functions = value["functions"].as_array().expect("functions").iter();
    let callable = functions.filter(|f| f["tag"] == "CALLABLE" || f["kind"] == "callable");
    callable.filter_map(|f| f["name"].as_str().map(str::to_owned)).collect()
}
