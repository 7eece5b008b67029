//! Reads and checks files: `check_files FILE...` prints what is wrong with each.

use luisac_ast::{check, json};

fn main() {
    for path in std::env::args().skip(1) {
        let found = match std::fs::read(&path) {
            Ok(bytes) => match json::read(&bytes) {
                Ok(library) => check::check(&library),
                Err(errors) => errors,
            },
            Err(error) => {
                eprintln!("{path}: {error}");
                continue;
            }
        };
        if !found.is_empty() {
            println!("{path}:\n{found}\n");
        }
    }
}
