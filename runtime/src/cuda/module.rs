//! PTX into code of the GPU: compiled by the driver, kept on disk.
//!
//! The cache holds what the driver made, under a name that says everything it depends on: the PTX, the GPU's capability and the driver's
//! version. An entry that the driver does not take is a miss.

use std::{
    ffi::{CString, c_void},
    fs,
    path::PathBuf,
    ptr,
    sync::Arc,
};

use cudarc::driver::sys::{self, CUfunction, CUjit_option, CUjitInputType, CUmodule, CUresult};
use luisac_artifact::Metadata;

use super::driver::{Context, call};
use crate::{LoadError, RuntimeError};

/// A kernel's code on the GPU.
pub(super) struct Module {
    context: Arc<Context>,
    module: CUmodule,
    pub(super) function: CUfunction,
}

// SAFETY: the driver's modules may be used from any thread.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

impl Drop for Module {
    fn drop(&mut self) {
        if self.context.enter().is_ok() {
            // SAFETY: the module is this one's, and nothing of it runs any more.
            unsafe {
                let _ = sys::cuModuleUnload(self.module);
            }
        }
    }
}

/// Bytes of the messages of the driver's compiler that are kept.
const MESSAGE_BYTES: usize = 4096;

impl Module {
    /// Compiles PTX, or takes what was compiled before.
    pub(super) fn load(
        context: &Arc<Context>,
        ptx: &[u8],
        metadata: &Metadata,
    ) -> Result<Self, RuntimeError> {
        context.enter()?;
        let entry = CString::new(metadata.entry.as_str());
        let entry = entry.map_err(|_| LoadError::NoEntry(metadata.entry.clone()))?;
        let path = cache_path(context, ptx);
        let cached = path.as_ref().and_then(|path| fs::read(path).ok());
        if let Some(Ok(module)) = cached.map(|code| Self::of_code(context, &code, &entry)) {
            return Ok(module);
        }
        let code = compile(ptx, context)?;
        if let Some(path) = path {
            // Without a cache it is only slower.
            let folder = path.parent().map(fs::create_dir_all);
            if folder.is_some_and(|made| made.is_ok()) {
                let _ = luisac_artifact::write_whole(&path, &code);
            }
        }
        Self::of_code(context, &code, &entry)
    }

    fn of_code(context: &Arc<Context>, code: &[u8], entry: &CString) -> Result<Self, RuntimeError> {
        let mut module = ptr::null_mut();
        // SAFETY: the driver looks at the code's own header, and refuses what is none; the pointers lead to locals.
        unsafe {
            call!(cuModuleLoadData(&mut module, code.as_ptr().cast()))?;
            let mut this = Self { context: context.clone(), module, function: ptr::null_mut() };
            call!(cuModuleGetFunction(&mut this.function, module, entry.as_ptr()))
                .map_err(|_| LoadError::NoEntry(entry.to_string_lossy().into_owned()))?;
            Ok(this)
        }
    }
}

/// Where the code for some PTX is kept: below `LUISAC_CACHE`, or the user's folder for caches; nowhere if there is neither.
fn cache_path(context: &Context, ptx: &[u8]) -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let folder = match set("LUISAC_CACHE") {
        Some(folder) if folder.as_os_str() == "off" => return None,
        Some(folder) => folder,
        None => set("XDG_CACHE_HOME")
            .or_else(|| Some(set("HOME")?.join(".cache")))
            .or_else(|| set("LOCALAPPDATA"))?
            .join("luisac"),
    };
    let mut hasher = blake3::Hasher::new();
    hasher.update(&context.capability.to_le_bytes()).update(&context.driver.to_le_bytes());
    let name = format!("{}.cubin", hasher.update(ptx).finalize().to_hex());
    Some(folder.join("cuda").join(format!("sm_{}", context.capability)).join(name))
}

/// Compiles PTX. If the driver is older than the PTX's version, that is lowered to the newest that it takes, with a warning: what the compiler
/// writes needs no more unless the kernel does, and then the driver says so.
fn compile(ptx: &[u8], context: &Context) -> Result<Vec<u8>, RuntimeError> {
    let text = String::from_utf8_lossy(ptx).into_owned();
    match link(&text) {
        Err((CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION, message)) => {
            for version in ["8.0", "7.8", "7.5", "7.0", "6.5"] {
                let Some(older) = with_version(&text, version) else { continue };
                if let Ok(code) = link(&older) {
                    eprintln!(
                        "warning: the driver ({}.{}) does not know the PTX version of the kernel; it was read as version {version}",
                        context.driver / 1000,
                        context.driver % 1000 / 10
                    );
                    return Ok(code);
                }
            }
            Err(damaged(&message))
        }
        Err((_, message)) => Err(damaged(&message)),
        Ok(code) => Ok(code),
    }
}

fn damaged(message: &str) -> RuntimeError {
    LoadError::Damaged(format!("the driver cannot compile the PTX: {message}")).into()
}

/// The text with another version, if that is an older one.
fn with_version(text: &str, version: &str) -> Option<String> {
    let start = text.find(".version")? + ".version".len();
    let end = start + text[start..].find('\n')?;
    let number = |v: &str| {
        let (major, minor) = v.trim().split_once('.')?;
        Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?))
    };
    let older = number(version)? < number(&text[start..end])?;
    older.then(|| format!("{} {version}{}", &text[..start], &text[end..]))
}

/// Runs the driver's compiler; what it says if it fails.
fn link(text: &str) -> Result<Vec<u8>, (CUresult, String)> {
    let mut messages = vec![0u8; MESSAGE_BYTES];
    let mut options =
        [CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    let mut values: [*mut c_void; 2] =
        [messages.as_mut_ptr().cast(), ptr::without_provenance_mut(MESSAGE_BYTES)];
    let text = CString::new(text)
        .map_err(|_| (CUresult::CUDA_ERROR_INVALID_PTX, "it has a zero byte".to_string()))?;
    let mut state = ptr::null_mut();
    // SAFETY: buffers outlive the linker's state, which is destroyed before they go; sizes are theirs.
    let result = unsafe {
        let mut status =
            sys::cuLinkCreate_v2(2, options.as_mut_ptr(), values.as_mut_ptr(), &mut state);
        let mut code = Vec::new();
        if status == CUresult::CUDA_SUCCESS {
            let bytes = text.as_bytes_with_nul();
            let data = bytes.as_ptr().cast::<c_void>().cast_mut();
            status = sys::cuLinkAddData_v2(
                state,
                CUjitInputType::CU_JIT_INPUT_PTX,
                data,
                bytes.len(),
                c"kernel".as_ptr(),
                0,
                ptr::null_mut(),
                ptr::null_mut(),
            );
            let (mut out, mut size) = (ptr::null_mut(), 0);
            if status == CUresult::CUDA_SUCCESS {
                status = sys::cuLinkComplete(state, &mut out, &mut size);
            }
            if status == CUresult::CUDA_SUCCESS {
                code = std::slice::from_raw_parts(out.cast::<u8>(), size).to_vec();
            }
            let _ = sys::cuLinkDestroy(state);
        }
        (status, code)
    };
    match result {
        (CUresult::CUDA_SUCCESS, code) => Ok(code),
        (status, _) => {
            let end = messages.iter().position(|b| *b == 0).unwrap_or(messages.len());
            let text = String::from_utf8_lossy(&messages[..end]).trim().to_string();
            Err((status, if text.is_empty() { format!("{status:?}") } else { text }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::with_version;

    #[test]
    fn only_an_older_version_takes_the_place_of_a_newer_one() {
        let text = "//\n.version 8.5\n.target sm_90\n";
        assert_eq!(with_version(text, "8.0").as_deref(), Some("//\n.version 8.0\n.target sm_90\n"));
        assert_eq!(with_version(text, "8.5"), None);
        assert_eq!(with_version(".version 7.8\n", "8.0"), None);
        assert_eq!(with_version("nothing", "8.0"), None);
    }
}
