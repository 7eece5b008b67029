//! `cargo xtask demo`: a kernel that LuisaCompute serialized becomes PTX and a CPU object, runs here, and shows its
//! picture.

use std::{fs, process::Command};

use crate::{
    run::{Result, build, root, say, status},
    setup::{self, For},
};

const WIDTH: u32 = 960;
const HEIGHT: u32 = 640;

pub fn demo() -> Result<()> {
    setup::setup(For::Build)?;
    let luisac = build()?;
    let out = root().join("out");
    fs::create_dir_all(&out).map_err(|e| format!("cannot make the folder `out`: {e}"))?;
    let picture = out.join("mandelbrot.png");
    let luisac = |args: &[&str]| {
        let mut command = Command::new(&luisac);
        command.current_dir(root()).args(args);
        say(format_args!("luisac {}", args.join(" ")));
        command
    };
    let input = "fixtures/mandelbrot.json";
    status(&mut luisac(&["compile", input, "--target", "ptx:sm_75,cpu:native", "-o", "out"]))?;
    status(&mut luisac(&[
        "run",
        input,
        "--dispatch",
        &format!("{WIDTH},{HEIGHT}"),
        // The image, the centre, the size of a pixel, and how many iterations count as inside.
        "--arg",
        &format!("0=zeros:{WIDTH}x{HEIGHT}:byte4"),
        "--arg",
        "1=-0.7436,0.1319",
        "--arg",
        "2=0.0000125",
        "--arg",
        "3=300",
        "--out",
        "0=out/mandelbrot.png",
        "--time",
    ]))?;
    let size = |name: &str| {
        fs::metadata(out.join(name))
            .map(|m| m.len())
            .map_err(|e| format!("`out/{name}` is not there: {e}"))
    };
    println!("compiled {input}, serialized by LuisaCompute, without LuisaCompute:");
    println!(
        "  out/mandelbrot.ptx  {:>7} bytes, for NVIDIA GPUs from sm_75",
        size("mandelbrot.ptx")?
    );
    println!(
        "  out/mandelbrot.o    {:>7} bytes, for this CPU, with out/mandelbrot.cpu.json",
        size("mandelbrot.o")?
    );
    println!("ran it here over {WIDTH} x {HEIGHT} threads and wrote the picture:");
    println!("  {}  {} bytes", picture.display(), size("mandelbrot.png")?);
    Ok(())
}
