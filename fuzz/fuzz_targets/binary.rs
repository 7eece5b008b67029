//! Any bytes as a callable library: an error with an offset, or a library that can be checked and written so that it reads
//! again as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use luisac_ast::{binary, check};

fuzz_target!(|bytes: &[u8]| {
    match binary::read(bytes) {
        Ok(file) => {
            check::check(&file.library);
            let written = binary::write(&file).expect("what was read can be written");
            let again = binary::read(&written).expect("what was written reads");
            assert_eq!(binary::write(&again).as_ref(), Ok(&written));
        }
        Err(errors) => assert!(errors.0.iter().all(|e| e.offset.is_some())),
    }
});
