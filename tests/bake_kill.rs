//! A bake that is killed at any moment leaves whole files, and the next one completes.
#![cfg(all(feature = "llvm", unix))]

mod common;

use common::bake::{KERNELS, bake, project};
use common::{Folder, command, files};
use luisac_artifact::Archive;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

fn start(folder: &Folder, jobs: usize) -> Child {
    let mut command = command(folder.path());
    command.args(["bake", "-q", "-j", &jobs.to_string()]).stderr(Stdio::null());
    command.env("LUISAC_CACHE", folder.path().join("cache"));
    command.spawn().expect("it starts")
}

/// Two processes on one cache and one archive, killed at random moments; every file that exists is whole.
#[test]
fn killed_bakes_leave_whole_files() {
    let kills: u32 =
        std::env::var("LUISAC_BAKE_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(10);
    let folder = project(&KERNELS);
    let begin = Instant::now();
    bake(&folder, "--cache off");
    let full = begin.elapsed();
    let wanted = folder.read("out.luisa");
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut whole = 0;
    for kill in 0..kills {
        // Every time some of the cache is there, and the archive or not.
        if kill % 3 == 0 {
            let _ = std::fs::remove_dir_all(folder.path().join("cache"));
        }
        if kill % 2 == 0 {
            let _ = std::fs::remove_file(folder.path().join("out.luisa"));
        }
        let mut both = [start(&folder, 1), start(&folder, 2)];
        for child in &mut both {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            std::thread::sleep(Duration::from_nanos(state % full.as_nanos().max(1) as u64));
            child.kill().expect("it can be killed");
            child.wait().expect("it ends");
        }
        if let Ok(bytes) = std::fs::read(folder.path().join("out.luisa")) {
            whole += 1;
            assert!(bytes == wanted, "the archive is another one after kill {kill}");
        }
        let cache = folder.path().join("cache");
        for entry in if cache.is_dir() { files(&cache, ".luisa") } else { Vec::new() } {
            let archive =
                Archive::open(&entry).unwrap_or_else(|e| panic!("{}: {e}", entry.display()));
            archive.verify().expect("an entry is whole");
        }
        if kill % 10 == 9 {
            let baked = bake(&folder, "");
            assert_eq!((baked.outcome.code, baked.counts()[3]), (Some(0), 0));
            assert!(folder.read("out.luisa") == wanted, "the next bake differs after kill {kill}");
        }
    }
    println!("{kills} times two processes killed; the archive was there {whole} times");
}

/// The first Ctrl-C ends a bake in order: no archive, and nothing lost.
#[test]
fn ctrl_c_stops_and_keeps_what_was_done() {
    let folder = project(&KERNELS);
    let mut child = start(&folder, 1);
    let cache = folder.path().join("cache");
    let patience = Instant::now();
    while !cache.exists() && patience.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let id = child.id().to_string();
    let sent = std::process::Command::new("kill").args(["-INT", &id]).status();
    if !sent.is_ok_and(|s| s.success()) {
        println!("skipped: no `kill` here, or the bake was quicker");
        let _ = child.wait();
        return;
    }
    let status = child.wait().expect("it ends");
    let done = if cache.is_dir() { files(&cache, ".luisa").len() as u64 } else { 0 };
    if status.code() == Some(130) {
        assert!(!folder.path().join("out.luisa").exists());
    }
    let next = bake(&folder, "");
    assert_eq!(next.outcome.code, Some(0));
    let counts = next.counts();
    assert!(counts[1] + counts[2] >= done.min(8), "{counts:?}, and {done} were done");
}
