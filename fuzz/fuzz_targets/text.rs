//! Any text as XIR: an error, or a module that the verifier can judge and that prints so that it parses to the same text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use luisac_xir::{text, verify};

fuzz_target!(|source: &str| {
    let Ok(module) = text::parse(source) else { return };
    if verify::verify(&module).is_ok() {
        let printed = text::print(&module);
        let again = text::parse(&printed).expect("what was printed parses");
        assert_eq!(text::print(&again), printed);
    }
});
