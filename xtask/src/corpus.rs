//! `cargo xtask corpus`: every kernel of a folder through `luisac`, and a table of what happened by target.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::{
    run::{Result, build, root, say},
    setup::{self, For},
};

const TARGETS: [&str; 8] = [
    "ptx:sm_75",
    "ptx:sm_90",
    "cpu:x86-64-v3",
    "cpu:aarch64-apple-darwin",
    "spirv",
    "hlsl",
    "msl",
    "dxil",
];

/// What happened to the inputs, by a word or a diagnostic's code.
type Counts = BTreeMap<String, Vec<String>>;

pub fn corpus(args: &[String]) -> Result<()> {
    let verbose = args.iter().any(|a| a == "-v");
    let folder = args
        .iter()
        .find(|a| !a.starts_with('-'))
        .map_or_else(|| root().join("../shared/corpus"), PathBuf::from);
    if !folder.is_dir() {
        return Err(format!("there is no folder `{}`", folder.display()));
    }
    setup::setup(For::Build)?;
    let luisac = build()?;
    let inputs = inputs(&folder)?;
    say(format_args!("{} kernels under {}", inputs.len(), folder.display()));
    let scratch = std::env::temp_dir().join(format!("luisac-corpus-{}", std::process::id()));
    fs::create_dir_all(&scratch)
        .map_err(|e| format!("cannot make a folder for the results: {e}"))?;
    let ptxas = setup::ptxas();
    if ptxas.is_none() {
        say("no ptxas here: `cargo xtask setup` installs it");
    }
    let table: Mutex<BTreeMap<String, Counts>> = Mutex::default();
    each(&inputs, |i, input| {
        let name = input.strip_prefix(&folder).unwrap_or(input).display().to_string();
        let note = |row: &str, what: String| {
            if let Ok(mut table) = table.lock() {
                table.entry(row.into()).or_default().entry(what).or_default().push(name.clone());
            }
        };
        note("check", outcome(Command::new(&luisac).arg("check").arg(input), "read"));
        for target in TARGETS {
            let out = scratch.join(format!("{i}.out"));
            let mut compile = Command::new(&luisac);
            compile.arg("compile").arg(input).args(["--target", target]).arg("-o").arg(&out);
            let what = outcome(&mut compile, "compiled");
            if let (true, Some(ptxas), Some(arch)) =
                (what == "compiled", &ptxas, target.strip_prefix("ptx:"))
            {
                note(&format!("ptxas {arch}"), assemble(ptxas, arch, &out));
            }
            note(target, what);
        }
    });
    let _ = fs::remove_dir_all(&scratch);
    let table = table.into_inner().map_err(|e| e.to_string())?;
    print(&table, verbose);
    // A code is an answer; a crash or a hang is not.
    let crashes: usize = table.values().flat_map(|c| c.get("crashed")).map(Vec::len).sum();
    if crashes == 0 { Ok(()) } else { Err(format!("{crashes} crashes")) }
}

/// Every JSON kernel under a folder, sorted; expectations and metadata are none.
fn inputs(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(f) = folders.pop() {
        let entries =
            fs::read_dir(&f).map_err(|e| format!("cannot read `{}`: {e}", f.display()))?;
        for path in entries.filter_map(|e| Some(e.ok()?.path())) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(".json") && !name.ends_with(".expect.json") && is_kernel(&path)
            {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Whether the file has the key that every serialized function has.
fn is_kernel(path: &Path) -> bool {
    fs::read(path).is_ok_and(|text| text.windows(11).any(|w| w == b"\"functions\""))
}

/// Calls `f` for every input, on all processors.
pub fn each(inputs: &[PathBuf], f: impl Fn(usize, &Path) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(input) = inputs.get(i) else { return };
                    f(i, input);
                }
            });
        }
    });
}

/// Runs `luisac` and says how it ended: `good`, a diagnostic's code, or that it crashed.
fn outcome(command: &mut Command, good: &str) -> String {
    let Ok(out) = command.stdin(Stdio::null()).env("NO_COLOR", "1").output() else {
        return "crashed".into();
    };
    let text = String::from_utf8_lossy(&out.stderr);
    match out.status.code() {
        Some(0) => good.into(),
        Some(1..=4) if !text.contains("panicked at") => {
            code(&text).unwrap_or_else(|| "without a code".into())
        }
        _ => "crashed".into(),
    }
}

/// The first word of a text that looks like `L0123`.
fn code(text: &str) -> Option<String> {
    let is_code =
        |w: &&str| w.len() == 5 && w.starts_with('L') && w[1..].bytes().all(|b| b.is_ascii_digit());
    text.split(|c: char| !c.is_ascii_alphanumeric()).find(is_code).map(str::to_owned)
}

/// What the PTX assembler says about a kernel.
fn assemble(ptxas: &Path, arch: &str, ptx: &Path) -> String {
    let mut command = Command::new(ptxas);
    command
        .args(["-v", "-o", if cfg!(windows) { "NUL" } else { "/dev/null" }])
        .arg(format!("-arch={arch}"))
        .arg(ptx);
    let Ok(out) = command.output() else { return "not started".into() };
    let text = String::from_utf8_lossy(&out.stderr);
    let spills =
        text.lines().any(|l| l.contains("spill stores") && !l.contains(" 0 bytes spill stores"));
    match (out.status.success(), text.contains("warning"), spills) {
        (false, ..) => "refused",
        (true, true, _) => "warning",
        (true, false, true) => "spills",
        (true, false, false) => "clean",
    }
    .into()
}

fn print(table: &BTreeMap<String, Counts>, verbose: bool) {
    let good = ["read", "compiled", "clean"];
    println!("{:<26} {:>5}  {:>8}  others", "", "all", "good");
    for (row, counts) in table {
        let all: usize = counts.values().map(Vec::len).sum();
        let fine: usize = good.iter().filter_map(|g| counts.get(*g)).map(Vec::len).sum();
        let others = counts.iter().filter(|(k, _)| !good.contains(&k.as_str()));
        let others: Vec<_> = others.map(|(k, names)| format!("{k} {}", names.len())).collect();
        println!("{row:<26} {all:>5}  {fine:>8}  {}", others.join(", "));
    }
    if !verbose {
        return println!("(-v lists the kernels behind each count)");
    }
    for (row, counts) in table {
        for (what, names) in counts.iter().filter(|(k, _)| !good.contains(&k.as_str())) {
            println!("{row}: {what}: {}", names.join(" "));
        }
    }
}
