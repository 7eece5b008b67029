//! Measures the interpreter: thread instructions a second for a kernel of the corpus.
//!
//! `interp_speed KERNEL.json WIDTH HEIGHT`: buffers of `WIDTH * HEIGHT * 16` bytes of zeros, values of zeros.

use luisac_xir::interp::{self, Arg, Launch, PixelStorage};
use luisac_xir::{ArgumentKind, Module, TypeKind, from_ast};
use std::time::Instant;

fn arg(module: &Module, kind: ArgumentKind, ty: luisac_xir::TypeId, size: [u32; 2]) -> Arg {
    let bytes = size[0] as usize * size[1] as usize * 16;
    match (kind, module.types.kind(ty)) {
        (ArgumentKind::Value, _) => Arg::Value(vec![0; module.types.size(ty) as usize]),
        (_, TypeKind::Texture { .. }) => {
            let storage = PixelStorage::from_name("float4").expect("a storage");
            let (width, height, data) = (size[0], size[1], vec![0; bytes]);
            Arg::Image { storage, width, height, depth: 1, levels: 1, data }
        }
        _ => Arg::Buffer(vec![0; bytes]),
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let [_, path, width, height] = &args[..] else {
        eprintln!("usage: interp_speed KERNEL.json WIDTH HEIGHT");
        std::process::exit(2);
    };
    let size = [width, height].map(|n| n.parse().expect("a number"));
    let start = Instant::now();
    let bytes = std::fs::read(path).expect("a readable file");
    let library = luisac_ast::json::read(&bytes).expect("a kernel");
    let module =
        from_ast::lower(&library, &from_ast::Options::default()).expect("a kernel that lowers");
    let kernel = module.kernels().next().expect("a kernel");
    println!("read and lowered in {:.2} ms", start.elapsed().as_secs_f64() * 1e3);
    for races in [true, false] {
        let mut values: Vec<Arg> = module.functions[kernel]
            .arguments
            .iter()
            .map(|a| arg(&module, a.kind, a.ty, size))
            .collect();
        let launch = Launch { races, ..Launch::new([size[0], size[1], 1]) };
        let start = Instant::now();
        match interp::run(&module, kernel, &mut values, &launch) {
            Ok(outcome) => {
                let seconds = start.elapsed().as_secs_f64();
                println!(
                    "races {races}: {} steps in {:.2} ms, {:.1} million a second",
                    outcome.steps,
                    seconds * 1e3,
                    outcome.steps as f64 / seconds / 1e6
                );
            }
            Err(fault) => println!("{} {fault}", fault.code()),
        }
    }
}
