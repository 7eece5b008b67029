//! DXC: loading its library once, and one compilation.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use hassle_rs::{
    Dxc, DxcBlob, DxcBlobEncoding, DxcCompiler, DxcLibrary, Dxil, HassleError,
    fake_sign_dxil_in_place,
};
use luisac_ast::diagnostic::Diagnostic;

use super::find::{self, Candidates};
use crate::errors;

/// The library. Once loaded it stays: it keeps state for each thread, which outlives any of our calls.
pub struct Library {
    dxc: Dxc,
    /// The same file, asked for its validator.
    validator: Dxil,
    /// Its version, such as `1.8`.
    pub version: String,
    /// Bytes of its file, where that is known: builds of one version differ.
    pub bytes: Option<u64>,
}

/// What is compiled.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// HLSL.
    pub text: &'a str,
    /// The function that is the entry.
    pub entry: &'a str,
    /// `cs_6_2`.
    pub profile: &'a str,
    /// Flags.
    pub flags: &'a [&'a str],
}

/// What came out.
#[derive(Clone, Debug)]
pub struct Container {
    /// The DXIL container, valid and with its hash.
    pub bytes: Vec<u8>,
    /// Whether DXC wrote the hash; else we did.
    pub signed_by_dxc: bool,
}

/// Why nothing came out.
#[derive(Debug)]
pub enum Failure {
    /// DXC or its validator says what is wrong, one line each.
    Refused(String),
    /// The library does not work.
    Broken(String),
}

impl From<HassleError> for Failure {
    fn from(e: HassleError) -> Failure {
        Failure::Broken(e.to_string())
    }
}

/// The name that DXC's messages give the text.
pub const SOURCE_NAME: &str = "kernel.hlsl";

/// Bytes of stack for DXC, which recurses on nested statements. Untouched pages cost nothing.
const STACK: usize = 256 << 20;

/// Loads the library, or gives it if that has happened before.
///
/// # Errors
/// [`errors::NO_DXC`] where there is none, with the ways to get it; [`errors::BAD_DXC`] for a file that is no DXC.
pub fn load(option: Option<&Path>) -> Result<&'static Library, Diagnostic> {
    match find::candidates(option) {
        Candidates::Named { path, by } => open(&path).map_err(|e| unusable(&path, by, &e)),
        Candidates::Usual(paths) => {
            let mut first = None;
            for path in &paths {
                match open(path) {
                    Ok(library) => return Ok(library),
                    // A file that is there but cannot be used is worth telling; the bare name mostly is just not known.
                    Err(e) if path.is_absolute() => first = first.or(Some((path, e))),
                    Err(_) => {}
                }
            }
            Err(match first {
                Some((path, e)) => unusable(path, "the usual places", &e),
                None => missing(),
            })
        }
    }
}

fn missing() -> Diagnostic {
    let message = format!("DXC is needed to make DXIL, and `{}` is not here", find::file_name());
    Diagnostic::error(errors::NO_DXC, message).with_help(WAYS)
}

/// How to get the library.
const WAYS: &str = "install DXC from https://github.com/microsoft/DirectXShaderCompiler/releases and name its library with \
                    `--dxc PATH` or in `LUISAC_DXC`, or `pip install compushady-lrtu==0.18.0`, which carries it; \
                    `--target hlsl` needs no DXC";

fn unusable(path: &Path, by: &str, why: &str) -> Diagnostic {
    if !path.exists() {
        let message = format!("there is no DXC at `{}`, which {by} names", path.display());
        return Diagnostic::error(errors::NO_DXC, message).with_help(WAYS);
    }
    let message = format!("`{}` cannot be used as DXC: {why}", path.display());
    Diagnostic::error(errors::BAD_DXC, message).with_help(WAYS)
}

fn open(path: &Path) -> Result<&'static Library, String> {
    static LOADED: Mutex<BTreeMap<PathBuf, &'static Library>> = Mutex::new(BTreeMap::new());
    let mut loaded = LOADED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(library) = loaded.get(path) {
        return Ok(library);
    }
    let library: &'static Library = Box::leak(Box::new(Library::new(path)?));
    loaded.insert(path.to_owned(), library);
    Ok(library)
}

impl Library {
    fn new(path: &Path) -> Result<Library, String> {
        let words = |e: HassleError| match e {
            HassleError::LoadLibraryError { inner, .. } => inner.to_string(),
            other => other.to_string(),
        };
        let dxc = Dxc::new(Some(path.to_owned())).map_err(words)?;
        let validator = Dxil::new(Some(path.to_owned())).map_err(words)?;
        dxc.create_compiler().map_err(words)?;
        let (major, minor) =
            validator.create_validator().and_then(|v| v.version()).map_err(words)?;
        let version = format!("{major}.{minor}");
        let bytes = std::fs::metadata(path).ok().map(|m| m.len());
        Ok(Library { dxc, validator, version, bytes })
    }

    /// Compiles, validates and signs. Any number of threads may do so at once.
    ///
    /// # Errors
    /// What DXC says of the text, or that DXC does not work.
    pub fn compile(&self, job: Job) -> Result<Container, Failure> {
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("dxc".into()).stack_size(STACK);
            let thread = thread.spawn_scoped(scope, || self.compile_here(job));
            let thread = thread.map_err(|e| Failure::Broken(format!("no thread for DXC: {e}")))?;
            thread.join().unwrap_or_else(|_| Err(Failure::Broken("DXC gave no result".into())))
        })
    }

    fn compile_here(&self, job: Job) -> Result<Container, Failure> {
        let (compiler, library) = (self.dxc.create_compiler()?, self.dxc.create_library()?);
        let compiled = compile_text(&compiler, &library, job)?;
        let mut bytes = self.validate(&library, compiled)?.to_vec::<u8>();
        let signed_by_dxc = is_signed(&bytes);
        if !signed_by_dxc && !fake_sign_dxil_in_place(&mut bytes) {
            return Err(Failure::Broken("the container that DXC made has no hash".into()));
        }
        Ok(Container { bytes, signed_by_dxc })
    }

    /// The container again, which newer validators sign in its place.
    fn validate(&self, library: &DxcLibrary, blob: DxcBlob) -> Result<DxcBlob, Failure> {
        let validator = self.validator.create_validator()?;
        match validator.validate(blob) {
            Ok(blob) => Ok(blob),
            Err((result, _)) => Err(Failure::Refused(text(library, result.get_error_buffer()?)?)),
        }
    }
}

fn compile_text(
    compiler: &DxcCompiler,
    library: &DxcLibrary,
    job: Job,
) -> Result<DxcBlob, Failure> {
    // The interface counts bytes in 32 bits.
    if u32::try_from(job.text.len()).is_err() {
        return Err(Failure::Refused("error: the text is longer than 4 GiB".into()));
    }
    let source = library.create_blob_with_encoding_from_str(job.text)?;
    match compiler.compile(&source, SOURCE_NAME, job.entry, job.profile, job.flags, None, &[]) {
        Ok(result) => Ok(result.get_result()?),
        Err((result, _)) => Err(Failure::Refused(text(library, result.get_error_buffer()?)?)),
    }
}

fn text(library: &DxcLibrary, blob: DxcBlobEncoding) -> Result<String, Failure> {
    Ok(library.get_blob_as_string(&blob.into())?)
}

/// A container's hash follows its first word; one that was not signed has zeros there.
fn is_signed(container: &[u8]) -> bool {
    container.get(4..20).is_some_and(|hash| hash.iter().any(|&b| b != 0))
}
