//! Blurs a picture: `blur KERNELS.luisa IN.png OUT.png [DEVICE [TIMES]]`.
//! `luisac compile fixtures/blur.json --target cpu:native -o KERNELS.luisa` makes the archive.
use luisac_runtime::{Archive, Device, PixelStorage};
use std::{error::Error, fs::File, io::BufReader};

pub fn run(args: &[String]) -> Result<(), Box<dyn Error>> {
    let [kernels, from, to, rest @ ..] = args else { return Err("too few arguments".into()) };
    let mut decoder = png::Decoder::new(BufReader::new(File::open(from)?));
    decoder.set_transformations(
        png::Transformations::normalize_to_color8().union(png::Transformations::ALPHA),
    );
    let mut picture = decoder.read_info()?;
    let mut pixels = vec![0; picture.output_buffer_size().ok_or("too large")?];
    let info = picture.next_frame(&mut pixels)?;
    if info.color_type != png::ColorType::Rgba {
        return Err("not a picture in colours".into());
    }

    let device = Device::open(rest.first().map_or("cpu", String::as_str))?;
    // SAFETY: the archive is the compiler's, and the kernel stays inside its images.
    let blur = unsafe { device.kernel(&Archive::open(kernels)?, "blur", &[])? };
    let a = device.image_2d(PixelStorage::Byte4, [info.width, info.height])?;
    let b = device.image_2d(PixelStorage::Byte4, [info.width, info.height])?;
    let mut list = device.list();
    list.upload_image(&a.base(), pixels)?;
    for _ in 0..rest.get(1).map_or(Ok(1), |times| times.parse())? {
        list.dispatch(&blur, (&a, &b), b.size())?;
        list.copy_image(&b.base(), &a.base())?;
    }
    let blurred = list.download_image(&a.base())?;
    list.run()?;

    let mut encoder = png::Encoder::new(File::create(to)?, info.width, info.height);
    encoder.set_color(png::ColorType::Rgba);
    Ok(encoder.write_header()?.write_image_data(&blurred.take())?)
}

fn main() -> Result<(), Box<dyn Error>> {
    run(&std::env::args().skip(1).collect::<Vec<_>>())
}
