//! Compiles the kernels into `OUT_DIR`.

use luisac::{BoundsMode, Build, BuildError};

fn main() -> Result<(), BuildError> {
    Build::new()
        .file("kernels/saxpy.json")
        .target("cpu:native")
        .target("ptx:sm_80")
        // Tested indices make the kernels safe to load.
        .bounds(BoundsMode::Clamp)
        .archive("kernels.luisa")
        .compile()
}
