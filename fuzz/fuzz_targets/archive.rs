//! Archives from anywhere: an error or a reader that answers. Checksums would stop almost every mutation, so each input is read once
//! as it is and once with a header that fits it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use luisac_artifact::{Archive, DeviceProfile};
use xxhash_rust::xxh3::xxh3_64;

fuzz_target!(|bytes: &[u8]| {
    read(bytes.to_vec());
    let mut bytes = bytes.to_vec();
    if mend(&mut bytes).is_some() {
        read(bytes);
    }
});

fn read(bytes: Vec<u8>) {
    if let Ok(archive) = Archive::from_bytes(bytes) {
        for variant in archive.variants() {
            let _ = (variant.code(), variant.metadata());
        }
        for kernel in archive.kernels() {
            let _ = archive.best(kernel, &[], &DeviceProfile::new("ptx:sm_90"));
        }
    }
}

/// Writes the length of the file, of its index and both checksums where the format has them; the index starts where the header says,
/// if that is possible.
fn mend(bytes: &mut [u8]) -> Option<()> {
    const HEADER: usize = 64;
    let len = bytes.len();
    let start = u64::from_le_bytes(bytes.get(24..32)?.try_into().ok()?);
    let start = usize::try_from(start).ok().filter(|s| (HEADER..=len).contains(s))?;
    let index = bytes.get(start..)?;
    let (index_len, sum) = (index.len(), xxh3_64(index));
    for (at, number) in [(16, len as u64), (32, index_len as u64), (40, sum)] {
        bytes.get_mut(at..at + 8)?.copy_from_slice(&number.to_le_bytes());
    }
    let sum = xxh3_64(bytes.get(..56)?);
    bytes.get_mut(56..HEADER)?.copy_from_slice(&sum.to_le_bytes());
    Some(())
}
