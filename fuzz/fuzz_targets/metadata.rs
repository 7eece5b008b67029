//! Any bytes as kernel metadata: an error, or metadata that writes so that it reads again as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use luisac_artifact::metadata::Metadata;

fuzz_target!(|bytes: &[u8]| {
    let Ok(metadata) = Metadata::from_json(bytes) else { return };
    let written = metadata.to_json();
    let again = Metadata::from_json(written.as_bytes()).expect("what was written reads");
    assert_eq!(again.to_json(), written);
});
