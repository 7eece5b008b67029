//! `cargo xtask verify`: recorded kernels on every device here, as a table of kernels by target.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Mutex,
    time::{Duration, Instant},
};

use crate::{
    corpus::{each, program},
    run::{Result, root, say},
};

/// No kernel may take longer, software devices included.
const PATIENCE: Duration = Duration::from_secs(60);

/// Outcomes by target.
type Row = BTreeMap<String, String>;

/// Usage: `[-v] [--luisac PROGRAM] [FOLDER..] [-- FLAGS OF luisac verify]`.
pub fn verify(args: &[String]) -> Result<()> {
    let end = args.iter().position(|a| a == "--").unwrap_or(args.len());
    let (luisac, own) = program(&args[..end])?;
    let flags = args.get(end + 1..).unwrap_or_default();
    let verbose = own.iter().any(|a| a == "-v");
    let named: Vec<PathBuf> =
        own.iter().filter(|a| !a.starts_with('-')).map(PathBuf::from).collect();
    let folders = if named.is_empty() {
        let all = ["../shared/corpus/own", "../shared/corpus/bugs", "fixtures"];
        all.map(|f| root().join(f)).into_iter().filter(|f| f.is_dir()).collect()
    } else {
        named
    };
    let mut kernels = Vec::new();
    for folder in &folders {
        kernels.extend(recorded(folder)?);
    }
    say(format_args!("{} recorded kernels", kernels.len()));
    let rows: Mutex<BTreeMap<PathBuf, Row>> = Mutex::default();
    each(&kernels, |_, kernel| {
        let row = one(&luisac, kernel, flags);
        if let Ok(mut rows) = rows.lock() {
            rows.insert(kernel.to_path_buf(), row);
        }
    });
    let rows = rows.into_inner().map_err(|e| e.to_string())?;
    print(&rows, verbose);
    let wrong = |o: &String| matches!(o.as_str(), "differs" | "crashed" | "too slow");
    let count = rows.values().flat_map(BTreeMap::values).filter(|o| wrong(o)).count();
    if count == 0 { Ok(()) } else { Err(format!("{count} differences")) }
}

/// The kernels of a folder that have a recorded case.
fn recorded(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder)
        .map_err(|e| format!("cannot read `{}`: {e}", folder.display()))?;
    let mut found: Vec<PathBuf> = entries
        .filter_map(|e| {
            let path = e.ok()?.path();
            let name = path.file_name()?.to_str()?.strip_suffix(".expect.json")?.to_owned();
            Some(path.with_file_name(format!("{name}.json"))).filter(|p| p.is_file())
        })
        .collect();
    found.sort();
    Ok(found)
}

/// Runs `luisac verify` on a kernel, and reads its table.
fn one(luisac: &Path, kernel: &Path, flags: &[String]) -> Row {
    let mut command = Command::new(luisac);
    command.arg("verify").arg(kernel).arg("-q").args(flags).env("NO_COLOR", "1");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let all = |word: &str| Row::from([("all".to_owned(), word.to_owned())]);
    let Ok(mut child) = command.spawn() else { return all("crashed") };
    let start = Instant::now();
    // The table is short, so the pipe holds it until the process has ended.
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if start.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(5)),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return all("too slow");
            }
        }
    };
    let mut text = String::new();
    if let Some(mut out) = child.stdout.take() {
        let _ = std::io::Read::read_to_string(&mut out, &mut text);
    }
    match status.code() {
        Some(0 | 4) => read(&text),
        Some(_) => all("refused"),
        None => all("crashed"),
    }
}

/// The lines of a table: target, device, outcome and more.
fn read(text: &str) -> Row {
    let line = |line: &str| {
        let (target, rest) = line.split_once(' ')?;
        let (_, rest) = rest.trim_start().split_once(' ')?;
        let word = ["same", "differs", "refused", "not here"]
            .into_iter()
            .find(|w| rest.trim_start().starts_with(w))?;
        Some((target.to_owned(), word.to_owned()))
    };
    text.lines().filter_map(line).collect()
}

fn print(rows: &BTreeMap<PathBuf, Row>, verbose: bool) {
    let targets: BTreeSet<&String> = rows.values().flat_map(BTreeMap::keys).collect();
    let heads: Vec<String> = targets.iter().map(|t| format!("{t:<10}")).collect();
    println!("{:<42} {}", "", heads.join(" "));
    for (kernel, row) in rows {
        let plain = |o: &String| o == "same" || o == "not here";
        if !verbose && row.values().all(plain) {
            continue;
        }
        let name = kernel.file_stem().unwrap_or_default().to_string_lossy();
        let cells: Vec<String> = targets
            .iter()
            .map(|t| format!("{:<10}", row.get(*t).map_or("", String::as_str)))
            .collect();
        println!("{name:<42} {}", cells.join(" ").trim_end());
    }
    for target in targets {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        rows.values()
            .filter_map(|r| r.get(target))
            .for_each(|o| *counts.entry(o).or_default() += 1);
        let counts: Vec<String> = counts.into_iter().map(|(o, n)| format!("{o} {n}")).collect();
        println!("{target}: {}", counts.join(", "));
    }
    if !verbose {
        println!("(-v shows the kernels that are the same everywhere too)");
    }
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn tables_are_read() {
        let text = "xir            interp  same          0.161 ms\n\
                    ptx            cuda    not here                this build has no device `cuda`\n\
                    spirv:1.5      vulkan  differs                 argument 0: 1 of 4 numbers differ\n\
                    refused, as it should be\n";
        let row = read(text);
        let cells: Vec<_> = row.iter().map(|(t, o)| (t.as_str(), o.as_str())).collect();
        assert_eq!(cells, [("ptx", "not here"), ("spirv:1.5", "differs"), ("xir", "same")]);
    }
}
