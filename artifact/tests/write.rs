//! Files are whole or absent.
#![cfg(unix)]

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::PathBuf,
};

use luisac_artifact::write_whole;

/// A folder that goes away with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("luisac-write-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(&self.0)
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn writes_and_replaces() {
    let d = Folder::new("replace");
    let file = d.0.join("a.o");
    write_whole(&file, b"one").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    write_whole(&file, b"two").unwrap();
    assert_eq!(fs::read(&file).unwrap(), b"two");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(d.names(), ["a.o"]);
}

#[test]
fn links_are_followed() {
    let d = Folder::new("links");
    fs::write(d.0.join("real"), "old").unwrap();
    symlink("real", d.0.join("link")).unwrap();
    write_whole(d.0.join("link"), b"new").unwrap();
    assert_eq!(fs::read(d.0.join("real")).unwrap(), b"new");
    assert!(fs::symlink_metadata(d.0.join("link")).unwrap().is_symlink());
}

#[test]
fn failures_leave_nothing() {
    let d = Folder::new("failures");
    let e = write_whole("/dev/full", b"data").unwrap_err();
    assert_eq!((e.code(), e.source.kind()), ("L1001", std::io::ErrorKind::StorageFull));
    assert!(write_whole(d.0.join("missing/a.o"), b"data").is_err());
    assert!(write_whole(&d.0, b"data").is_err());
    assert!(write_whole(d.0.join("x".repeat(300)), b"data").is_err());
    assert!(d.names().is_empty());
}

#[test]
fn long_names_fit() {
    let d = Folder::new("long");
    let name = "n".repeat(255);
    write_whole(d.0.join(&name), b"data").unwrap();
    assert_eq!(d.names(), [name]);
}

#[test]
fn pipes_are_written_directly() {
    let d = Folder::new("pipe");
    let pipe = d.0.join("pipe");
    if !std::process::Command::new("mkfifo").arg(&pipe).status().is_ok_and(|s| s.success()) {
        println!("skipped: no mkfifo here");
        return;
    }
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read(pipe).unwrap()
    });
    write_whole(&pipe, b"data").unwrap();
    assert_eq!(reader.join().unwrap(), b"data");
    assert_eq!(d.names(), ["pipe"]);
}
