mod cli;
fn main() {}
