//! Reads files and prints each as pseudo-code: `print_files FILE...`.

use luisac_ast::pretty;

fn main() {
    for path in std::env::args().skip(1) {
        match std::fs::read(&path).map(|bytes| luisac_ast::read(&bytes)) {
            Ok(Ok(library)) => println!("// {path}\n\n{}", pretty::print(&library)),
            Ok(Err(errors)) => println!("// {path}\n{errors}"),
            Err(error) => eprintln!("{path}: {error}"),
        }
    }
}
