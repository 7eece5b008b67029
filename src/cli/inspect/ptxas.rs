//! Registers and spills of PTX, as the assembler of the CUDA toolkit counts them.

use luisac_artifact::{Metadata, write_whole};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The assembler: of `CUDA_HOME` or `CUDA_PATH`, else on `PATH`.
pub fn find() -> Option<PathBuf> {
    let name = format!("ptxas{}", std::env::consts::EXE_SUFFIX);
    let homes = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(std::env::var_os);
    let mut folders: Vec<PathBuf> = homes.map(|home| PathBuf::from(home).join("bin")).collect();
    if let Some(path) = std::env::var_os("PATH") {
        folders.extend(std::env::split_paths(&path));
    }
    folders.into_iter().map(|folder| folder.join(&name)).find(|file| file.is_file())
}

/// What the assembler says about a kernel; nothing if it refuses it.
pub fn resources(ptxas: &Path, code: &[u8], metadata: &Metadata) -> Option<Value> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let ptx = metadata.ptx.as_ref()?;
    let n = COUNT.fetch_add(1, Ordering::Relaxed);
    let file = std::env::temp_dir().join(format!("luisac-{}-{n}.ptx", std::process::id()));
    write_whole(&file, code).ok()?;
    let null = if cfg!(windows) { "NUL" } else { "/dev/null" };
    let out = Command::new(ptxas)
        .args(["-v", &format!("-arch=sm_{}", ptx.sm), "-o", null])
        .arg(&file)
        .output();
    // It lies in the folder for temporary files: whatever keeps it there is no matter of ours.
    let _ = std::fs::remove_file(&file);
    let out = out.ok().filter(|out| out.status.success())?;
    let text = [&out.stdout[..], &out.stderr].concat();
    read(&String::from_utf8_lossy(&text))
}

/// Reads `Used 32 registers` and `8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads`.
fn read(text: &str) -> Option<Value> {
    let words: Vec<&str> = text.split_whitespace().map(|w| w.trim_matches(',')).collect();
    let before = |pattern: &[&str]| -> Option<u64> {
        let at = words.windows(pattern.len()).position(|w| w == pattern)?;
        words.get(at.checked_sub(1)?)?.parse().ok()
    };
    Some(json!({
        "registers": before(&["registers"])?,
        "stack_bytes": before(&["bytes", "stack", "frame"]).unwrap_or(0),
        "spill_store_bytes": before(&["bytes", "spill", "stores"]).unwrap_or(0),
        "spill_load_bytes": before(&["bytes", "spill", "loads"]).unwrap_or(0),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_of_ptxas_is_read() {
        let text = "ptxas info    : 0 bytes gmem\nptxas info    : Compiling entry function 'kernel_a' for 'sm_80'\n\
            ptxas info    : Function properties for kernel_a\n    24 bytes stack frame, 16 bytes spill stores, 8 bytes spill loads\n\
            ptxas info    : Used 32 registers, used 1 barriers, 384 bytes cmem[0]\n";
        let value = read(text).expect("it holds registers");
        assert_eq!(value["registers"], 32);
        assert_eq!(value["stack_bytes"], 24);
        assert_eq!(value["spill_store_bytes"], 16);
        assert_eq!(value["spill_load_bytes"], 8);
        assert_eq!(read("ptxas fatal"), None);
    }
}
