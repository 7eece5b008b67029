//! How fast JSON is read: `read_speed FILE...` prints MB/s for each file, best of some rounds, and peak memory.

use std::time::Instant;

use luisac_ast::json;

fn main() {
    let (mut bytes_total, mut time_total) = (0.0, 0.0);
    for path in std::env::args().skip(1) {
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) => {
                eprintln!("{path}: {error}");
                continue;
            }
        };
        let rounds = (200_000_000 / bytes.len().max(1)).clamp(1, 200);
        let mut best = f64::INFINITY;
        for _ in 0..rounds {
            let start = Instant::now();
            let result = json::read(&bytes);
            best = best.min(start.elapsed().as_secs_f64());
            if let Err(errors) = result {
                println!("{path}: {errors}");
                break;
            }
        }
        let megabytes = bytes.len() as f64 / 1e6;
        println!("{:8.1} MB/s {megabytes:9.3} MB  {path}", megabytes / best);
        bytes_total += megabytes;
        time_total += best;
    }
    println!(
        "{:8.1} MB/s {bytes_total:9.3} MB  in all, {} kB at the peak",
        bytes_total / time_total,
        peak_memory()
    );
}

/// Peak resident memory in kB, where the system tells.
fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    line.map_or_else(|| "?".to_owned(), |l| l.trim().trim_end_matches(" kB").to_owned())
}
