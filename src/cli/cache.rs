//! `luisac cache`: how large the cache is, making room, reading it through.

use super::lists::show;
use super::messages::{Failure, Messages};
use super::options::{CacheAction, CacheCommand};
use luisac::codes;
use luisac::driver::cache::local::{LIMIT, Local};
use luisac::driver::cache::{Cache, default_folder};
use luisac_ast::diagnostic::Diagnostic;
use serde_json::json;
use std::time::SystemTime;

/// Runs one of the actions.
pub fn run(command: &CacheCommand, messages: &Messages) -> Result<(), Failure> {
    let fail = |d: Diagnostic| messages.fail(d, None);
    let cache = match &command.cache {
        Some(word) if word == "off" || word.contains("://") => {
            let message = format!("`{word}` is no folder");
            let help = "`luisac cache` looks after a folder; remote stores have tools of their own";
            return Err(fail(Diagnostic::error(codes::BAD_FLAG, message).with_help(help)));
        }
        Some(folder) => Cache::folder(folder),
        None => default_folder().map_or_else(Cache::off, Cache::folder),
    };
    let Some(local) = cache.local() else {
        let message = "there is no folder for caches: neither LUISAC_CACHE nor HOME is set";
        return Err(fail(
            Diagnostic::error(codes::CACHE, message).with_help("give one with `--cache DIR`"),
        ));
    };
    match command.action {
        CacheAction::Stats { json } => stats(local, json, messages),
        CacheAction::Gc { limit } => collect(local, limit.unwrap_or(LIMIT), messages),
        CacheAction::Verify { json } => verify(local, json, messages),
    }
}

fn unreadable(local: &Local, error: &std::io::Error, messages: &Messages) -> Failure {
    let message = format!("cannot look through `{}`: {error}", local.folder().display());
    messages.fail(Diagnostic::error(codes::CACHE, message), None)
}

fn stats(local: &Local, as_json: bool, messages: &Messages) -> Result<(), Failure> {
    let entries = local.entries().map_err(|e| unreadable(local, &e, messages))?;
    let bytes: u64 = entries.iter().map(|e| e.bytes).sum();
    let age = |time: SystemTime| time.elapsed().map_or(0, |d| d.as_secs());
    let oldest = entries.first().map(|e| age(e.used));
    let count = entries.iter().filter(|e| e.key.is_some()).count();
    let value = json!({
        "folder": local.folder(), "entries": count, "bytes": bytes, "limit": LIMIT,
        "oldest_use_seconds": oldest,
    });
    let table = format!(
        "{}\n{count} entries, {bytes} bytes of at most {LIMIT}{}\n",
        local.folder().display(),
        oldest.map_or_else(String::new, |s| format!("; the least recent use was {s} s ago")),
    );
    show(messages, as_json, value, table)
}

fn collect(local: &Local, limit: u64, messages: &Messages) -> Result<(), Failure> {
    let (count, bytes) = local.collect(limit).map_err(|e| unreadable(local, &e, messages))?;
    messages.note(format!("removed {count} entries, {bytes} bytes"));
    Ok(())
}

/// Bad entries are removed; there being some is a difference that the exit code tells.
fn verify(local: &Local, as_json: bool, messages: &Messages) -> Result<(), Failure> {
    let (good, bad) = local.verify(true).map_err(|e| unreadable(local, &e, messages))?;
    let list: Vec<_> =
        bad.iter().map(|(path, why)| json!({"path": path, "problem": why})).collect();
    let mut table = String::new();
    for (path, why) in &bad {
        table.push_str(&format!("removed {}: it {why}\n", path.display()));
    }
    table.push_str(&format!("{good} entries are good, {} were bad\n", bad.len()));
    show(messages, as_json, json!({"good": good, "bad": list}), table)?;
    if bad.is_empty() { Ok(()) } else { Err(Failure::Different) }
}
