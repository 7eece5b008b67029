//! Reads, checks and lints files: `check_files FILE...` prints what is wrong with each, and what looks so.

use luisac_ast::{check, lint};

fn main() {
    for path in std::env::args().skip(1) {
        let found = match std::fs::read(&path) {
            Ok(bytes) => match luisac_ast::read(&bytes) {
                Ok(library) => {
                    let mut found = check::check(&library);
                    if !found.has_errors() {
                        found.0.append(&mut lint::run(&library).0);
                    }
                    found
                }
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
