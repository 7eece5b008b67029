//! Files that appear whole or not at all.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use thiserror::Error;

/// A file could not be written. Nothing of it is left behind.
#[derive(Debug, Error)]
#[error("cannot write `{}`: {source}", path.display())]
pub struct WriteError {
    /// The file that was asked for.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

impl WriteError {
    /// The stable diagnostic code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        "L1001"
    }

    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self.source.kind() {
            io::ErrorKind::NotFound => "create the folder first",
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                "choose a place where you may write, with `-o`"
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "make room on the disk, or write elsewhere with `-o`"
            }
            _ => "choose another output with `-o`",
        }
    }
}

/// Writes `bytes` to `path`: beside it first, then renamed, so that a reader sees the old file or the new one and
/// a failure leaves the old one. Symbolic links are followed; devices, pipes and `/dev/stdout` are written
/// directly. The data is not flushed to the disk itself: a power failure may lose it.
///
/// # Errors
/// [`WriteError`] with the system's reason.
pub fn write_whole(path: impl AsRef<Path>, bytes: &[u8]) -> Result<(), WriteError> {
    write_whole_with(path, &|file| file.write_all(bytes))
}

/// As [`write_whole`], with the content from a function.
pub(crate) fn write_whole_with(
    path: impl AsRef<Path>,
    content: &dyn Fn(&mut File) -> io::Result<()>,
) -> Result<(), WriteError> {
    let path = path.as_ref();
    write(path, content).map_err(|source| WriteError { path: path.to_owned(), source })
}

fn write(path: &Path, content: &dyn Fn(&mut File) -> io::Result<()>) -> io::Result<()> {
    let old = match fs::metadata(path) {
        Ok(m) => Some(m),
        Err(e) if e.kind() == io::ErrorKind::NotFound => None,
        Err(e) => return Err(e),
    };
    if let Some(m) = &old {
        if m.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        // A redirected `/dev/stdout` is a regular file to `metadata`, yet belongs to whoever opened it.
        if !m.is_file() || path.starts_with("/dev") || path.starts_with("/proc") {
            return content(&mut OpenOptions::new().write(true).open(path)?);
        }
    }
    let target = match &old {
        Some(_) => fs::canonicalize(path)?,
        None => path.to_owned(),
    };
    let (mut file, temporary) = create_beside(&target)?;
    let done = content(&mut file)
        .and_then(|()| match &old {
            Some(m) => file.set_permissions(m.permissions()),
            None => Ok(()),
        })
        .and_then(|()| {
            drop(file);
            fs::rename(&temporary, &target)
        });
    if done.is_err() {
        // The first error is the one to report; if this fails too, nothing more can be done.
        let _ = fs::remove_file(&temporary);
    }
    done
}

/// Creates a file of a new name beside `target`. `create_new` neither follows a link nor opens what exists, so
/// two processes, or somebody's planted link, cannot meet in one temporary file.
fn create_beside(target: &Path) -> io::Result<(File, PathBuf)> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let name = target.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
    let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
    for _ in 0..1000 {
        let n = COUNTER.fetch_add(1, Ordering::Relaxed);
        let mut temporary = OsString::from(".");
        // A name near the file system's limit must not become too long.
        temporary.push(name.to_string_lossy().chars().take(40).collect::<String>());
        temporary.push(format!(".{}-{n}.tmp", std::process::id()));
        let temporary = target.with_file_name(temporary);
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Ok(file) => return Ok((file, temporary)),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => last = e,
            Err(e) => return Err(e),
        }
    }
    Err(last)
}
