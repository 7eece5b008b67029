//! A folder of entries, shared by any number of processes.
//!
//! An entry is written beside and renamed, so that it is whole or absent. Its time of change is when it was last of use; the least
//! recently used ones go first when the folder is over its limit.

use super::super::job::Key;
use super::{checked, entry_name};
use luisac_artifact::write_whole;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The name of the folder inside a cache. It changes with the form of entries.
pub const FORMAT: &str = "1";
/// Bytes that a cache may take if nobody says otherwise.
pub const LIMIT: u64 = 4 << 30;
/// Entries used within this time are not marked again.
const MARK_AGAIN: Duration = Duration::from_secs(3600);
/// Time between two looks at the size by bakes.
const LOOK_AGAIN: Duration = Duration::from_secs(3600);
/// What a killed process left behind is removed when it is this old.
const ABANDONED: Duration = Duration::from_secs(3600);

/// The folder.
pub struct Local {
    folder: PathBuf,
}

/// A file of the folder.
pub struct Entry {
    pub path: PathBuf,
    pub bytes: u64,
    pub used: SystemTime,
    /// Of a whole entry; files that are being written have none.
    pub key: Option<Key>,
}

impl Local {
    pub fn new(folder: impl Into<PathBuf>) -> Local {
        Local { folder: folder.into() }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where an entry is or would be.
    pub fn path(&self, key: &Key) -> PathBuf {
        self.folder.join(entry_name(key))
    }

    pub(super) fn get(&self, key: &Key) -> io::Result<Option<Vec<u8>>> {
        match std::fs::read(self.path(key)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    pub(super) fn put(&self, key: &Key, bytes: &[u8]) -> io::Result<()> {
        let path = self.path(key);
        let write = || write_whole(&path, bytes).map_err(|e| e.source);
        match write() {
            // The folder is made once and not looked for before every entry.
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                std::fs::create_dir_all(path.parent().unwrap_or(&self.folder))?;
                write()
            }
            done => done,
        }
    }

    pub(super) fn remove(&self, key: &Key) {
        // It may be gone, or not ours to remove: it is a miss either way.
        let _ = std::fs::remove_file(self.path(key));
    }

    /// Marks an entry as used. Where that is not allowed, it is only forgotten earlier.
    pub(super) fn touch(&self, key: &Key) {
        let path = self.path(key);
        let is_recent = std::fs::metadata(&path)
            .and_then(|m| m.modified())
            .is_ok_and(|used| used.elapsed().is_ok_and(|age| age < MARK_AGAIN));
        if !is_recent && let Ok(file) = std::fs::File::options().append(true).open(&path) {
            let _ = file.set_modified(SystemTime::now());
        }
    }

    /// All files of the folder, least recently used first.
    ///
    /// # Errors
    /// What the system says; a folder that does not exist is empty.
    pub fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut found = Vec::new();
        let mut folders = vec![self.folder.join(FORMAT)];
        while let Some(folder) = folders.pop() {
            let listed = match std::fs::read_dir(&folder) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
                other => other?,
            };
            for entry in listed {
                let entry = entry?;
                // Another process may remove what was listed.
                let Ok(metadata) = entry.metadata() else { continue };
                if metadata.is_dir() {
                    folders.push(entry.path());
                    continue;
                }
                found.push(Entry {
                    key: key_of(&entry.file_name().to_string_lossy()),
                    path: entry.path(),
                    bytes: metadata.len(),
                    used: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                });
            }
        }
        found.sort_by(|a, b| (a.used, &a.path).cmp(&(b.used, &b.path)));
        Ok(found)
    }

    /// Removes the least recently used entries until the rest takes at most `limit` bytes, and what killed processes left. Gives how
    /// many went and how many bytes.
    ///
    /// # Errors
    /// What the system says.
    pub fn collect(&self, limit: u64) -> io::Result<(usize, u64)> {
        let entries = self.entries()?;
        let mut total: u64 = entries.iter().map(|e| e.bytes).sum();
        let (mut count, mut bytes) = (0, 0);
        for entry in entries {
            let abandoned =
                entry.key.is_none() && entry.used.elapsed().is_ok_and(|age| age > ABANDONED);
            if total <= limit && entry.key.is_some() {
                continue;
            }
            if (abandoned || entry.key.is_some()) && std::fs::remove_file(&entry.path).is_ok() {
                total -= entry.bytes;
                count += 1;
                bytes += entry.bytes;
            }
        }
        Ok((count, bytes))
    }

    /// [`Local::collect`], if nobody has done it for a while. A quarter of the limit is made free, so that it is seldom.
    pub fn collect_sometimes(&self, limit: u64) {
        let stamp = self.folder.join("looked");
        let is_recent = std::fs::metadata(&stamp)
            .and_then(|m| m.modified())
            .is_ok_and(|at| at.elapsed().is_ok_and(|age| age < LOOK_AGAIN));
        if is_recent || write_whole(&stamp, b"").is_err() {
            return;
        }
        // A cache that cannot be looked through grows; the next bake tries again.
        let total = self.entries().map_or(0, |all| all.iter().map(|e| e.bytes).sum());
        if total > limit {
            let _ = self.collect(limit / 4 * 3);
        }
    }

    /// Reads every entry; removes the bad ones if `mend`. Gives how many are good, and the bad ones with what is wrong.
    ///
    /// # Errors
    /// What the system says of the folder.
    pub fn verify(&self, mend: bool) -> io::Result<(usize, Vec<(PathBuf, String)>)> {
        let (mut good, mut bad) = (0, Vec::new());
        for entry in self.entries()? {
            let Some(key) = entry.key else { continue };
            let bytes = match std::fs::read(&entry.path) {
                Ok(bytes) => bytes,
                Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
                Err(e) => {
                    bad.push((entry.path, e.to_string()));
                    continue;
                }
            };
            match checked(bytes, &key) {
                Ok(_) => good += 1,
                Err(why) => {
                    if mend {
                        let _ = std::fs::remove_file(&entry.path);
                    }
                    bad.push((entry.path, why));
                }
            }
        }
        Ok((good, bad))
    }
}

/// The key that a file's name says.
fn key_of(name: &str) -> Option<Key> {
    let digits = name.strip_suffix(".luisa").filter(|d| d.len() == 64)?;
    let mut key = Key::default();
    for (byte, pair) in key.iter_mut().zip(digits.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(key)
}
