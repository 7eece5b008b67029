//! Archives from anywhere: an error or a reader that answers.
#![no_main]

use libfuzzer_sys::fuzz_target;
use luisac_artifact::{Archive, DeviceProfile};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(archive) = Archive::from_bytes(bytes.to_vec()) {
        for variant in archive.variants() {
            let _ = (variant.code(), variant.metadata());
        }
        for kernel in archive.kernels() {
            let _ = archive.best(kernel, &[], &DeviceProfile::new("ptx:sm_90"));
        }
    }
});
