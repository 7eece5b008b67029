//! The examples do what their first lines say.
#![cfg(feature = "llvm")]

mod common;

#[path = "../examples/blur.rs"]
#[allow(dead_code, reason = "the test calls `run`, not `main`")]
mod blur;
#[path = "../examples/frame.rs"]
#[allow(dead_code, reason = "the test calls `run`, not `main`")]
mod frame;

use common::{Folder, fixture, luisac};

/// The archive that the examples take.
fn kernels(folder: &Folder) -> String {
    let blur = fixture("blur.json");
    let args =
        ["compile", blur.to_str().unwrap(), "--target", "cpu:native,spirv", "-o", "kernels.luisa"];
    luisac(folder.path(), args).ok();
    folder.path().join("kernels.luisa").to_str().unwrap().to_owned()
}

#[test]
fn a_picture_is_blurred() {
    let folder = Folder::new();
    let kernels = kernels(&folder);
    let (from, to) = (folder.path().join("in.png"), folder.path().join("out.png"));
    let mut encoder = png::Encoder::new(std::fs::File::create(&from).unwrap(), 9, 9);
    encoder.set_color(png::ColorType::Rgb);
    // A white pixel in the middle of black ones.
    let mut pixels = vec![0u8; 9 * 9 * 3];
    pixels[3 * (4 * 9 + 4)..][..3].fill(255);
    encoder.write_header().unwrap().write_image_data(&pixels).unwrap();
    let path = |p: &std::path::Path| p.to_str().unwrap().to_owned();
    blur::run(&[kernels.clone(), path(&from), path(&to), "cpu".into(), "2".into()]).unwrap();

    let file = std::io::BufReader::new(std::fs::File::open(&to).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut out = vec![0; 9 * 9 * 4];
    reader.next_frame(&mut out).unwrap();
    // Twice 1 2 1 is 1 4 6 4 1, in both directions; the first round has rounded to bytes.
    let row: Vec<u8> = (0..9).map(|x| out[4 * (4 * 9 + x)]).collect();
    let near = |a: u8, b: f32| (f32::from(a) - b).abs() <= 1.5;
    let weights = [0.0, 0.0, 1.0, 4.0, 6.0, 4.0, 1.0, 0.0, 0.0];
    assert!(row.iter().zip(weights).all(|(p, w)| near(*p, w * 6.0 * 255.0 / 256.0)), "{row:?}");
    assert_eq!(out[3], 255, "what was opaque stays so");

    match luisac_runtime::Device::open("vulkan") {
        Err(e) => println!("skipped on vulkan: {e}"),
        Ok(_) => {
            let other = folder.path().join("vulkan.png");
            let args = [kernels.clone(), path(&from), path(&other), "vulkan".into(), "2".into()];
            blur::run(&args).unwrap();
            assert_eq!(folder.read("vulkan.png"), folder.read("out.png"));
        }
    }
    assert!(blur::run(&[kernels.clone(), path(&from)]).is_err());
    let error = blur::run(&[kernels, path(&from), path(&to), "abacus".into()]).unwrap_err();
    assert!(error.to_string().contains("abacus"), "{error}");
}

#[test]
fn a_frame_has_four_levels() {
    let folder = Folder::new();
    let dot = folder.path().join("graph.dot");
    frame::run(&[kernels(&folder), dot.to_str().unwrap().to_owned()]).unwrap();
    let dot = String::from_utf8(folder.read("graph.dot")).unwrap();
    assert_eq!(dot.matches("rank=same").count(), 4);
    assert_eq!(
        dot.matches("[label=\"image ").count() + dot.matches("[label=\"buffer ").count(),
        12
    );
}
