//! Shows what the scheduler makes of a frame: `frame KERNELS.luisa [GRAPH.dot]`, with the archive of `blur.rs`.
//!
//! Four layers are blurred one after the other, each in its own images, and stacked in one buffer. Recorded as they come, they
//! would be sixteen steps; the list has four levels.

use luisac_runtime::{Archive, Device, PixelStorage};
use std::error::Error;

pub fn run(args: &[String]) -> Result<(), Box<dyn Error>> {
    let kernels = args.first().ok_or("usage: frame KERNELS.luisa [GRAPH.dot]")?;
    let device = Device::cpu();
    // SAFETY: the archive is the compiler's, and the kernel stays inside its images.
    let blur = unsafe { device.kernel(&Archive::open(kernels)?, "blur", &[])? };
    let size = [64u32, 64];
    let bytes = (size[0] * size[1] * 4) as usize;
    let stack = device.buffer::<u8>(4 * bytes)?;
    let mut list = device.list();
    let mut layers = Vec::new();
    for layer in 0..4 {
        let [a, b] = [(); 2].map(|()| device.image_2d(PixelStorage::Byte4, size));
        let (a, b) = (a?, b?);
        list.upload_image(&a.base(), vec![60 * layer as u8; bytes])?;
        list.dispatch(&blur, (&a, &b), b.size())?;
        list.copy_from_image(&b.base(), &stack.view(layer * bytes..(layer + 1) * bytes)?)?;
        // Only this layer's part of the buffer: the other copies need not have been made.
        layers.push(list.download(&stack.view(layer * bytes..(layer + 1) * bytes)?)?);
    }
    let list = list.commit()?;
    print!("{}", list.explain());
    for (level, commands) in list.levels().iter().enumerate() {
        println!("level {level} runs {commands:?}");
    }
    if let Some(path) = args.get(1) {
        std::fs::write(path, list.explain_dot())?;
    }
    device.stream().submit(&list)?.wait()?;
    let means = layers.iter().map(|layer| {
        let texels = layer.take();
        texels.iter().map(|t| f64::from(*t)).sum::<f64>() / texels.len().max(1) as f64
    });
    println!("the layers' means: {:?}", means.collect::<Vec<_>>());
    Ok(())
}

#[allow(dead_code, reason = "the test of the examples calls `run`")]
fn main() -> Result<(), Box<dyn Error>> {
    run(&std::env::args().skip(1).collect::<Vec<_>>())
}
