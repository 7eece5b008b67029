//! y = 2 x + y, by a kernel that is part of the program.

use luisac_runtime::{Device, RuntimeError};

mod kernels {
    luisac_runtime::include_kernels!("kernels.luisa");
}

fn main() -> Result<(), RuntimeError> {
    let device = Device::open("cpu")?;
    let saxpy = kernels::Saxpy::load(&device)?;
    let x = device.buffer_from(&[1.0f32, 2.0, 3.0, 4.0])?;
    let y = device.buffer_from(&[10.0f32, 20.0, 30.0, 40.0])?;
    let mut list = device.list();
    // A buffer of another type, or an argument less, does not compile.
    saxpy.dispatch(&mut list, &x, &y, 2.0, [4, 1, 1])?;
    let result = list.download(&y)?;
    device.stream().submit(&list.commit()?)?.wait()?;
    println!("{:?}", result.take());
    Ok(())
}
