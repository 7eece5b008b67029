//! Any bytes as JSON: an error with a place, or a library that can be checked, lowered if nothing is wrong with it, and
//! written so that it reads again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use luisac_ast::{check, json};
use luisac_xir::{from_ast, verify};

fuzz_target!(|bytes: &[u8]| {
    let library = match json::read(bytes) {
        Ok(library) => library,
        Err(errors) => {
            assert!(errors.has_errors());
            return;
        }
    };
    if check::check(&library).has_errors() {
        return;
    }
    if let Ok(module) = from_ast::lower(&library, &from_ast::Options::default()) {
        verify::verify(&module).expect("lowering makes valid modules");
    }
    for dialect in [json::Dialect::D0, json::Dialect::V1] {
        if let Ok(written) = json::write(&library, dialect) {
            let again = json::read(&written).expect("what was written reads");
            assert_eq!(json::write(&again, dialect).as_ref(), Ok(&written));
        }
    }
});
