//! Kernels out of archives.

use luisac_artifact::{Archive, ArchiveError, DeviceProfile};

use crate::{Device, Kernel, RuntimeError};

impl Device {
    /// What of an archive the device can run.
    #[must_use]
    pub fn profile(&self) -> DeviceProfile {
        self.backend().profile()
    }

    /// Loads the variant of a kernel that suits the device best. `defines` choose the permutation: the arguments that were
    /// made constant, with their values; none for the kernel as it was recorded.
    ///
    /// # Errors
    /// [`RuntimeError::NoVariant`] if the archive has nothing that the device can run; what [`Device::load`] refuses.
    ///
    /// # Safety
    /// As [`Device::load`]: the archive must be what the compiler wrote, and a kernel compiled without bounds checks must not
    /// be dispatched so that it leaves its buffers.
    pub unsafe fn kernel(
        &self,
        archive: &Archive,
        kernel: &str,
        defines: &[(&str, &str)],
    ) -> Result<Kernel, RuntimeError> {
        let Some(variant) = archive.best(kernel, defines, &self.profile()) else {
            let all: Vec<String> = archive.kernel(kernel).map(|v| v.label()).collect();
            let there = match all.as_slice() {
                [] => "no kernel of this name".to_owned(),
                all => all.join(", "),
            };
            let device = self.name().to_owned();
            return Err(RuntimeError::NoVariant { kernel: kernel.to_owned(), device, there });
        };
        let metadata = variant.metadata().map_err(|e| RuntimeError::archive(&e))?;
        let code = variant.code().map_err(|e| RuntimeError::archive(&e))?;
        // SAFETY: the caller's promise.
        unsafe { self.load(code, metadata) }
    }
}

impl RuntimeError {
    /// What is wrong with an archive.
    #[must_use]
    pub fn archive(error: &ArchiveError) -> Self {
        Self::Archive { message: error.to_string(), code: error.code(), help: error.help() }
    }
}

/// The kernels of an archive that a build script made with `luisac::Build`: `include_kernels!("kernels.luisa")` in a module of its own
/// gives a structure for each kernel, whose `dispatch` takes just its arguments.
#[macro_export]
macro_rules! include_kernels {
    ($name:expr) => {
        include!(concat!(env!("OUT_DIR"), "/", $name, ".rs"));
    };
}
