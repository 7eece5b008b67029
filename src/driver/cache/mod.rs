//! What was compiled before, by the key of the job: a folder, and a remote store beside it if there is one.
//!
//! An entry is an archive of one job. It is checked whenever it is read; one that is damaged or holds something else is a miss. Nothing
//! that is wrong with a cache makes a bake fail.

pub mod local;
#[cfg(feature = "remote-cache")]
pub mod remote;

use super::job::{self, Key};
use crate::codes;
use local::Local;
use luisac_artifact::Archive;
use luisac_ast::diagnostic::Diagnostic;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// A store on another machine.
pub trait Remote: Send + Sync {
    /// The entry of a name, if there is one.
    ///
    /// # Errors
    /// What went wrong, in one line.
    fn get(&self, name: &str) -> Result<Option<Vec<u8>>, String>;
    /// Stores an entry.
    ///
    /// # Errors
    /// What went wrong, in one line.
    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), String>;
    /// As the user named it.
    fn name(&self) -> &str;
}

/// Failures of a remote store after which it is asked no more.
const PATIENCE: u32 = 3;

/// Where entries are.
#[derive(Default)]
pub struct Cache {
    local: Option<Local>,
    remote: Option<Box<dyn Remote>>,
    /// Writing to the folder has failed and is not tried again.
    cannot_write: AtomicBool,
    remote_failures: AtomicU32,
}

/// Told what is wrong with the cache.
pub type Trouble<'a> = &'a dyn Fn(Diagnostic);

impl Cache {
    /// No cache.
    pub fn off() -> Cache {
        Cache::default()
    }

    /// A folder, which is made when the first entry is stored.
    pub fn folder(path: impl Into<PathBuf>) -> Cache {
        Cache { local: Some(Local::new(path)), ..Cache::default() }
    }

    /// Adds a remote store: entries that the folder lacks are taken from it, new ones go to both.
    #[must_use]
    pub fn with_remote(self, remote: Box<dyn Remote>) -> Cache {
        Cache { remote: Some(remote), ..self }
    }

    /// Of the word after `--cache`: `off`, a folder, or the address of a remote store. Without one, the user's own folder.
    ///
    /// # Errors
    /// An address that this build cannot reach.
    pub fn parse(word: Option<&str>) -> Result<Cache, Diagnostic> {
        match word {
            Some("off") => Ok(Cache::off()),
            Some(word) if word.contains("://") => {
                let own = default_folder().map_or_else(Cache::off, Cache::folder);
                Ok(own.with_remote(open_remote(word)?))
            }
            Some(folder) => Ok(Cache::folder(folder)),
            None => Ok(default_folder().map_or_else(Cache::off, Cache::folder)),
        }
    }

    /// The folder, if there is one.
    pub fn local(&self) -> Option<&Local> {
        self.local.as_ref()
    }

    /// Whether there is an entry in the folder, not looked into.
    pub fn has(&self, key: &Key) -> bool {
        self.local.as_ref().is_some_and(|local| local.path(key).exists())
    }

    /// The kernels of a job.
    pub fn get(&self, key: &Key, trouble: Trouble) -> Option<Archive> {
        if let Some(local) = &self.local {
            match local.get(key) {
                Ok(None) => {}
                Ok(Some(bytes)) => match checked(bytes, key) {
                    Ok(archive) => {
                        local.touch(key);
                        return Some(archive);
                    }
                    Err(why) => {
                        let path = local.path(key);
                        local.remove(key);
                        trouble(warning(format!("the cache entry `{}` {why}", path.display())));
                    }
                },
                Err(e) => trouble(warning(format!("cannot read the cache: {e}"))),
            }
        }
        self.get_remote(key, trouble)
    }

    fn get_remote(&self, key: &Key, trouble: Trouble) -> Option<Archive> {
        let remote = self.reachable()?;
        let bytes = match remote.get(&entry_name(key)) {
            Ok(bytes) => bytes?,
            Err(e) => {
                self.remote_failed(remote, &e, trouble);
                return None;
            }
        };
        match checked(bytes.clone(), key) {
            Ok(archive) => {
                self.put_local(key, &bytes, trouble);
                Some(archive)
            }
            Err(why) => {
                self.remote_failed(remote, &format!("an entry {why}"), trouble);
                None
            }
        }
    }

    /// Stores the kernels of a job.
    pub fn put(&self, key: &Key, bytes: &[u8], trouble: Trouble) {
        self.put_local(key, bytes, trouble);
        if let Some(remote) = self.reachable()
            && let Err(e) = remote.put(&entry_name(key), bytes)
        {
            self.remote_failed(remote, &e, trouble);
        }
    }

    fn put_local(&self, key: &Key, bytes: &[u8], trouble: Trouble) {
        let Some(local) =
            self.local.as_ref().filter(|_| !self.cannot_write.load(Ordering::Relaxed))
        else {
            return;
        };
        if let Err(e) = local.put(key, bytes)
            && !self.cannot_write.swap(true, Ordering::Relaxed)
        {
            let message = format!("cannot write to the cache `{}`: {e}", local.folder().display());
            trouble(
                warning(message)
                    .with_help("choose another folder with `--cache DIR`, or `--cache off`"),
            );
        }
    }

    fn reachable(&self) -> Option<&dyn Remote> {
        let failures = self.remote_failures.load(Ordering::Relaxed);
        self.remote.as_deref().filter(|_| failures < PATIENCE)
    }

    fn remote_failed(&self, remote: &dyn Remote, why: &str, trouble: Trouble) {
        let failures = self.remote_failures.fetch_add(1, Ordering::Relaxed) + 1;
        if failures > PATIENCE {
            return;
        }
        let end = if failures == PATIENCE { "; it is not asked again" } else { "" };
        trouble(warning(format!("the remote cache `{}`: {why}{end}", remote.name())));
    }
}

/// Opens what an address names.
#[cfg(feature = "remote-cache")]
fn open_remote(address: &str) -> Result<Box<dyn Remote>, Diagnostic> {
    remote::open(address).map(|store| Box::new(store) as Box<dyn Remote>)
}

#[cfg(not(feature = "remote-cache"))]
fn open_remote(address: &str) -> Result<Box<dyn Remote>, Diagnostic> {
    let message = format!("this build has no remote caches, and `{address}` is one");
    Err(Diagnostic::error(codes::CACHE, message)
        .with_help("build luisac with the feature `cache-s3`, `cache-gcs`, `cache-azure`, `cache-http` or `cache-redis`"))
}

/// An entry that holds whole kernels of the key and nothing else; else what is wrong with it.
pub fn checked(bytes: Vec<u8>, key: &Key) -> Result<Archive, String> {
    let archive = Archive::from_bytes(bytes).map_err(|e| format!("cannot be used: {e}"))?;
    archive.verify().map_err(|e| format!("cannot be used: {e}"))?;
    let is_ours = archive.compiler() == job::VERSION && archive.variants().len() > 0;
    match is_ours && archive.variants().all(|v| v.key() == key) {
        true => Ok(archive),
        false => Err("holds something else".into()),
    }
}

fn warning(message: String) -> Diagnostic {
    Diagnostic::warning(codes::CACHE, message)
}

/// The key as hexadecimal digits.
pub fn hex(key: &Key) -> String {
    key.iter().map(|b| format!("{b:02x}")).collect()
}

/// What an entry is called, alike in folders and remote stores.
fn entry_name(key: &Key) -> String {
    let hex = hex(key);
    format!("{}/{}/{hex}.luisa", local::FORMAT, &hex[..2])
}

/// The user's own cache: `LUISAC_CACHE`, else where the system keeps caches.
pub fn default_folder() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    if let Some(folder) = variable("LUISAC_CACHE") {
        return Some(folder);
    }
    let base = if cfg!(windows) {
        variable("LOCALAPPDATA")?
    } else if cfg!(target_os = "macos") {
        variable("HOME")?.join("Library/Caches")
    } else {
        let own = variable("XDG_CACHE_HOME").filter(|p| Path::is_absolute(p));
        own.or_else(|| Some(variable("HOME")?.join(".cache")))?
    };
    Some(base.join("luisac"))
}
