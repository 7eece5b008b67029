//! Objects that cannot be loaded are refused with a reason, and damaged ones never crash the loader.

mod common;

use common::{compile, kernels, metadata};
use luisac_runtime::{RuntimeError, host::Device};

fn try_load(object: &[u8], entry: &str) -> Result<(), RuntimeError> {
    // SAFETY: nothing is dispatched, so no code runs.
    unsafe { Device::cpu().load(object, metadata(entry, [32, 1, 1], vec![], vec![])) }.map(drop)
}

#[track_caller]
fn refused(object: &[u8], entry: &str, code: &str, text: &str) {
    let error = try_load(object, entry).unwrap_err();
    assert_eq!(error.code(), code, "{error}");
    assert!(error.to_string().contains(text), "{error}");
}

#[test]
fn undefined_symbols_are_named() {
    let Some(object) = compile(
        "undefined",
        "int elsewhere(int); int entry(int x) { return elsewhere(x) + 1; }",
        &[],
    ) else {
        return;
    };
    refused(&object, "entry", "L1102", "`elsewhere`");
    let source = "extern int far_away[]; int entry(int x) { return far_away[x]; }";
    refused(&compile("undefined-data", source, &[]).unwrap(), "entry", "L1102", "`far_away`");
}

#[test]
fn writable_data_is_refused() {
    let sources = [
        "int counter = 3; int entry(void) { return counter++; }",
        "static int zero; int entry(void) { return zero++; }",
        "static _Thread_local int t = 1; int entry(void) { return t++; }",
    ];
    for source in sources {
        let Some(object) = compile("writable", source, &[]) else { return };
        refused(&object, "entry", "L1105", "section");
    }
}

#[test]
fn entries_must_be_code() {
    let Some(object) =
        compile("entry", "const int data = 3; int entry(void) { return data; }", &[])
    else {
        return;
    };
    try_load(&object, "entry").unwrap();
    refused(&object, "other", "L1106", "`other`");
    refused(&object, "data", "L1106", "`data`");
}

#[test]
fn foreign_files_are_refused() {
    refused(b"", "entry", "L1100", "damaged");
    refused(b"#!/bin/sh\n", "entry", "L1100", "damaged");
    if cfg!(target_os = "linux") {
        // A program, not an object.
        refused(&std::fs::read("/proc/self/exe").unwrap()[..], "main", "L1100", "relocatable");
    }
    let Some(mut object) = compile("foreign", "int entry(void) { return 0; }", &[]) else { return };
    object[18..20].copy_from_slice(&40u16.to_le_bytes());
    refused(&object, "entry", "L1101", "machine 40");
}

#[test]
fn metadata_of_other_targets_is_refused() {
    let Some(object) = compile("target", "int entry(void) { return 0; }", &[]) else { return };
    let code = |target: &str| {
        let mut m = metadata("entry", [1, 1, 1], vec![], vec![]);
        m.target = target.into();
        // SAFETY: nothing is dispatched.
        unsafe { Device::cpu().load(&object, m) }.err().map(|e| e.code())
    };
    assert_eq!(code("cpu:native"), None);
    assert_eq!(code("spirv:1.5"), Some("L1108"));
}

/// Every cut, and every byte changed in several ways: an error, or an object that still loads.
#[test]
fn damaged_objects_never_crash() {
    let Some(object) = kernels("damaged") else { return };
    try_load(&object, "tables").unwrap();
    let (mut refused, mut loaded) = (0, 0);
    let mut count = |bytes: &[u8]| match try_load(bytes, "tables") {
        Ok(()) => loaded += 1,
        Err(_) => refused += 1,
    };
    for cut in 0..object.len() {
        count(&object[..cut]);
    }
    let mut bad = object.clone();
    for i in 0..object.len() {
        for value in [object[i] ^ 1, object[i] ^ 0x80, !object[i], 0, 0xff] {
            bad[i] = value;
            count(&bad);
        }
        bad[i] = object[i];
    }
    assert!(refused > object.len() && loaded > 0, "{refused} refused, {loaded} loaded");
}
