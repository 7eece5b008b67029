//! `cargo xtask corpus`: every kernel of a folder through `luisac`, and a table of what happened by target.

use std::{
    collections::{BTreeMap, BTreeSet},
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
    validators::Validators,
};

const TARGETS: [&str; 10] = [
    "ptx:sm_75",
    "ptx:sm_90",
    "cpu:x86-64-v3",
    "cpu:aarch64-apple-darwin",
    "spirv",
    "hlsl",
    "msl",
    "dxil",
    "wgsl",
    "glsl",
];

/// What stands before the part of `docs/support.md` that this command writes.
const MARK: &str = "\n## Refusals over the corpus\n";

/// What happened to the inputs, by a word or a diagnostic's code.
type Counts = BTreeMap<String, Vec<String>>;

/// Usage: `[-v] [--write] [--luisac PROGRAM] [FOLDER]`.
pub fn corpus(args: &[String]) -> Result<()> {
    let (luisac, args) = program(args)?;
    let has = |flag: &str| args.iter().any(|a| a == flag);
    let (verbose, write) = (has("-v"), has("--write"));
    let folder = args
        .iter()
        .find(|a| !a.starts_with('-'))
        .map_or_else(|| root().join("../shared/corpus"), PathBuf::from);
    if !folder.is_dir() {
        return Err(format!("there is no folder `{}`", folder.display()));
    }
    let inputs = inputs(&folder)?;
    say(format_args!("{} kernels under {}", inputs.len(), folder.display()));
    let scratch = std::env::temp_dir().join(format!("luisac-corpus-{}", std::process::id()));
    fs::create_dir_all(&scratch)
        .map_err(|e| format!("cannot make a folder for the results: {e}"))?;
    let validators = Validators::find();
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
            if let Some(dxc) = setup::dxc() {
                compile.env("LUISAC_DXC", dxc);
            }
            let what = outcome(&mut compile, "compiled");
            if what == "compiled"
                && let Some((row, said)) = validators.judge(target, &out)
            {
                note(&row, said);
            }
            note(target, what);
        }
    });
    let _ = fs::remove_dir_all(&scratch);
    let table = table.into_inner().map_err(|e| e.to_string())?;
    print(&table, verbose);
    if write {
        write_refusals(&table)?;
    }
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

/// The program that `--luisac` names, or the release build; and the other arguments.
pub fn program(args: &[String]) -> Result<(PathBuf, Vec<String>)> {
    let mut args = args.to_vec();
    let Some(at) = args.iter().position(|a| a == "--luisac") else {
        setup::setup(For::Build)?;
        return Ok((build()?, args));
    };
    args.remove(at);
    if at == args.len() {
        return Err("`--luisac` needs a program".into());
    }
    Ok((PathBuf::from(args.remove(at)), args))
}

/// Writes the counts of refusals by code and target into `docs/support.md`, behind what comes from the table of operations.
fn write_refusals(table: &BTreeMap<String, Counts>) -> Result<()> {
    let path = root().join("docs/support.md");
    let fail = |e: std::io::Error| format!("`{}`: {e}", path.display());
    let old = fs::read_to_string(&path).map_err(fail)?;
    let kept = old.split(MARK).next().unwrap_or_default();
    fs::write(&path, format!("{kept}{MARK}{}", refusals(table))).map_err(fail)
}

/// The counts as a table of codes by targets.
fn refusals(table: &BTreeMap<String, Counts>) -> String {
    let rows: Vec<(&str, &Counts)> =
        TARGETS.iter().filter_map(|t| Some((*t, table.get(*t)?))).collect();
    let is_good = |what: &str| what == "compiled";
    let codes: BTreeSet<&String> =
        rows.iter().flat_map(|(_, c)| c.keys()).filter(|k| !is_good(k)).collect();
    let mut page = String::from(
        "\nKernels of the corpus by what came of them, written by `cargo xtask corpus --write`; `luisac explain CODE` says what a code \
         means. Codes below L0900 are about the input, which some files hold wrong on purpose.\n\n| |",
    );
    rows.iter().for_each(|(target, _)| page.push_str(&format!(" {target} |")));
    page.push_str(&format!("\n|---|{}\n", "---|".repeat(rows.len())));
    let compiled = "compiled".to_owned();
    for what in [&compiled].into_iter().chain(codes) {
        let count = |counts: &Counts| counts.get(what).map_or(0, Vec::len);
        let cells: String = rows.iter().map(|(_, c)| format!(" {} |", count(c))).collect();
        page.push_str(&format!("| {what} |{cells}\n"));
    }
    let judged =
        table.iter().filter(|(row, _)| *row != "check" && !TARGETS.contains(&row.as_str()));
    for (validator, counts) in judged {
        let said: Vec<String> =
            counts.iter().map(|(what, names)| format!("{} {what}", names.len())).collect();
        page.push_str(&format!("\n{validator}: {}.\n", said.join(", ")));
    }
    page.push_str("\nDXC's validator and naga's have passed all that is compiled for `dxil`, `wgsl` and `glsl`.\n");
    page
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_counted_by_code_and_target() {
        let names = |n: usize| vec![String::new(); n];
        let table = BTreeMap::from([
            ("check".to_owned(), Counts::from([("read".into(), names(3))])),
            (
                "spirv".to_owned(),
                Counts::from([("compiled".into(), names(2)), ("L0900".into(), names(1))]),
            ),
            ("msl".to_owned(), Counts::from([("compiled".into(), names(3))])),
            ("spirv-val".to_owned(), Counts::from([("clean".into(), names(2))])),
        ]);
        let page = refusals(&table);
        assert!(
            page.contains(
                "| | spirv | msl |\n|---|---|---|\n| compiled | 2 | 3 |\n| L0900 | 1 | 0 |\n"
            ),
            "{page}"
        );
        assert!(page.contains("\nspirv-val: 2 clean.\n") && !page.contains("check"), "{page}");
    }

    #[test]
    fn another_program_may_be_named() {
        let words = ["-v", "--luisac", "bin/luisac", "folder"].map(str::to_owned);
        let (program, rest) = program(&words).expect("a program");
        assert_eq!(
            (program, rest),
            (PathBuf::from("bin/luisac"), vec!["-v".to_owned(), "folder".into()])
        );
        assert!(super::program(&["--luisac".to_owned()]).is_err());
    }
}
