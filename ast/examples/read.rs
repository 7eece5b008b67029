//! Times the parts of reading, one line each, for a JSON file and for the same functions as a callable library:
//! `cargo run --release -p luisac-ast --example read -- FILE.json`.

use std::time::{Duration, Instant};

use luisac_ast::binary::{self, Layout};
use luisac_ast::{check, json};

/// Every part is run this often; the fastest run counts.
const RUNS: usize = 5;

fn main() {
    for path in std::env::args().skip(1) {
        let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
        let (library, time) = best(|| json::read(&bytes).unwrap_or_else(|e| panic!("{path}: {e}")));
        row("json::read", bytes.len(), time);
        let (found, time) = best(|| check::check(&library));
        assert!(!found.has_errors(), "{path}: {found}");
        row("check::check", bytes.len(), time);
        let named: Vec<_> = library.kernels().map(|(id, _)| (id, "kernel")).collect();
        let file = binary::assemble(library.clone(), Layout::B, &named)
            .unwrap_or_else(|e| panic!("{path}: {e}"));
        let bytes = binary::write(&file).unwrap_or_else(|e| panic!("{path}: {e}"));
        let (_, time) = best(|| binary::read(&bytes).unwrap_or_else(|e| panic!("{path}: {e}")));
        row("binary::read", bytes.len(), time);
    }
}

fn best<T>(mut run: impl FnMut() -> T) -> (T, Duration) {
    let mut timed = || {
        let start = Instant::now();
        let result = run();
        (result, start.elapsed())
    };
    let (mut result, mut fastest) = timed();
    for _ in 1..RUNS {
        drop(result);
        let (next, time) = timed();
        result = next;
        fastest = fastest.min(time);
    }
    (result, fastest)
}

fn row(name: &str, bytes: usize, time: Duration) {
    let (mb, seconds) = (bytes as f64 / 1e6, time.as_secs_f64());
    println!(
        "{:<34} {:>7.1} ms {:>8.0}",
        format!("{name}, {mb:.1} MB"),
        seconds * 1e3,
        mb / seconds
    );
}
