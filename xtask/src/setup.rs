//! Installs what is missing. Nothing is asked for that is there already, and each thing says what it is for.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::lavapipe;
use crate::run::{Result, on_path, output, say, status, tools, works};

/// What the set-up is for; tests need more than the build.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum For {
    Build,
    Tests,
}

/// Debian packages that the build needs, and why.
const PACKAGES: [(&str, &str); 6] = [
    ("llvm-22-dev", "LLVM, which writes PTX and CPU objects; it is linked statically"),
    ("libpolly-22-dev", "a part of LLVM that its static libraries ask for"),
    ("libzstd-dev", "a library that LLVM uses"),
    ("zlib1g-dev", "a library that LLVM uses"),
    ("libxml2-dev", "a library that LLVM uses"),
    ("g++", "the C++ library and the linker, for LLVM"),
];

/// Debian packages that tests need, and why. Tests that need one are skipped without it.
const TEST_PACKAGES: [(&str, &str); 5] = [
    ("ninja-build", "it runs the build files that `luisac bake --emit ninja` writes, in tests"),
    ("clang-22", "it compiles Metal source as C++, which tests run"),
    ("spirv-tools", "`spirv-val`, to check SPIR-V in tests"),
    ("chromium", "a browser, to test the pages of reports"),
    ("chromium-driver", "what drives the browser in tests"),
];

/// Python packages that tests need: the module that shows they are there, what to install, and why.
const PYTHON: [(&str, &str, &str); 3] = [
    ("nvidia.cuda_nvcc", "nvidia-cuda-nvcc-cu12==12.9.86", "`ptxas`, to check the PTX in tests"),
    ("compushady", "compushady-lrtu==0.18.0", "DXC, which makes DXIL"),
    ("numpy", "numpy", "arrays, to compare results in tests"),
];

/// Brings this machine to where the build works, and with [`For::Tests`] all tests run.
pub fn setup(what: For) -> Result<()> {
    build_packages()?;
    if what == For::Tests {
        test_packages();
        python_packages();
        lavapipe::install();
        say("everything is set up");
    }
    Ok(())
}

fn build_packages() -> Result<()> {
    if on_path("dpkg-query").is_none() { without_dpkg() } else { debian(&PACKAGES) }
}

/// A failure is only said, as for the Python packages.
fn test_packages() {
    if on_path("dpkg-query").is_some()
        && let Err(e) = debian(&TEST_PACKAGES)
    {
        say(format_args!("some tests will be skipped: {e}"));
    }
}

/// Installs those of some Debian packages that are missing; each comes with what it is for.
pub fn debian(packages: &[(&str, &str)]) -> Result<()> {
    let missing: Vec<_> = packages.iter().filter(|(name, _)| !installed(name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    for (name, why) in &missing {
        say(format_args!("{name} is missing: {why}"));
    }
    let names: Vec<&str> = missing.iter().map(|(name, _)| *name).collect();
    apt(&names).map_err(|e| {
        format!(
            "{e}\nhelp: install {} by hand; where the distribution has no LLVM 22, https://apt.llvm.org has packages",
            names.join(" ")
        )
    })
}

/// Whether dpkg holds the package; a compiler may also come from elsewhere.
pub fn installed(package: &str) -> bool {
    let format = "-f=${db:Status-Status}";
    output(Command::new("dpkg-query").args(["-W", format, package])).as_deref() == Some("installed")
        || (package == "g++" && on_path("c++").is_some())
}

/// Other systems: LLVM's own `llvm-config` shows whether it is there; installing is the user's.
fn without_dpkg() -> Result<()> {
    let prefix =
        std::env::var_os("LLVM_SYS_221_PREFIX").map(|p| PathBuf::from(p).join("bin/llvm-config"));
    let candidates = prefix.into_iter().chain(["llvm-config-22", "llvm-config"].map(PathBuf::from));
    for candidate in candidates {
        if output(Command::new(candidate).arg("--version")).is_some_and(|v| v.starts_with("22.1")) {
            return Ok(());
        }
    }
    Err("LLVM 22.1 with its static libraries is missing, and only apt is known to this command\n\
         help: install LLVM 22.1 (on macOS `brew install llvm@22`) and set LLVM_SYS_221_PREFIX to its folder, \
         or build without it: `cargo build --no-default-features`"
        .into())
}

/// Installs Debian packages, as root or through sudo; refreshes the package lists only if they do not have them.
pub fn apt(packages: &[&str]) -> Result<()> {
    if on_path("apt-get").is_none() {
        return Err("there is no apt-get to install them with".into());
    }
    let root = is_root();
    if !root && on_path("sudo").is_none() {
        return Err("installing needs root: run this as root or install sudo".into());
    }
    let apt = |args: &[&str]| {
        let mut command = as_root("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive").args(args);
        command
    };
    let install = [&["install", "-y", "-qq", "--no-install-recommends"], packages].concat();
    say(format_args!("apt-get install {}", packages.join(" ")));
    if status(&mut apt(&install)).is_ok() {
        return Ok(());
    }
    say("refreshing the package lists");
    status(&mut apt(&["update", "-qq"]))?;
    status(&mut apt(&install))
}

fn is_root() -> bool {
    output(Command::new("id").arg("-u")).as_deref() == Some("0")
}

/// A command that runs as root, by way of sudo where we are not.
fn as_root(program: &str) -> Command {
    if is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("sudo");
    command.arg(program);
    command
}

/// Writes a small file that only root may write.
pub fn write_as_root(path: &Path, text: &str) -> Result<()> {
    let mut tee = as_root("tee");
    tee.arg(path).stdin(Stdio::piped()).stdout(Stdio::null());
    let fail = |e: std::io::Error| format!("cannot write `{}`: {e}", path.display());
    let mut child = tee.spawn().map_err(fail)?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(text.as_bytes()).map_err(fail)?;
    }
    let ended = child.wait().map_err(fail)?;
    if ended.success() { Ok(()) } else { Err(format!("cannot write `{}`", path.display())) }
}

/// Installs the Python packages into the project's own folder. Tests that need them are skipped without, so a
/// failure is only said.
fn python_packages() {
    let missing: Vec<_> = PYTHON.iter().filter(|(module, ..)| !has_module(module)).collect();
    let missing: Vec<_> = missing
        .into_iter()
        .filter(|(m, ..)| !(*m == "nvidia.cuda_nvcc" && ptxas().is_some()))
        .filter(|(m, ..)| !(*m == "compushady" && dxc().is_some()))
        .collect();
    if missing.is_empty() {
        return;
    }
    for (_, package, why) in &missing {
        say(format_args!("{package} is missing: {why}"));
    }
    if !works(Command::new("python3").args(["-m", "pip", "--version"])) {
        say("pip is missing: it installs the packages above");
        if let Err(e) = apt(&["python3", "python3-pip"]) {
            return say(format_args!("{e}; tests that need the packages above will be skipped"));
        }
    }
    let mut pip = Command::new("python3");
    pip.args([
        "-m",
        "pip",
        "install",
        "-q",
        "--disable-pip-version-check",
        "--upgrade",
        "--target",
    ]);
    pip.arg(python_folder()).args(missing.iter().map(|(_, package, _)| *package));
    if let Err(e) = status(&mut pip) {
        say(format_args!("{e}; tests that need the packages above will be skipped"));
    }
}

/// Where our Python packages lie.
pub fn python_folder() -> PathBuf {
    tools().join("python")
}

/// The search path for Python with our folder in it.
pub fn python_path() -> std::ffi::OsString {
    let old = std::env::var_os("PYTHONPATH").unwrap_or_default();
    let all =
        std::env::split_paths(&old).filter(|p| !p.as_os_str().is_empty()).chain([python_folder()]);
    std::env::join_paths(all).unwrap_or(old.clone())
}

fn has_module(module: &str) -> bool {
    module_folder(module).is_some()
}

/// The folder of a Python module, without running it.
fn module_folder(module: &str) -> Option<PathBuf> {
    let code = "import sys, importlib.util\n\
        try: s = importlib.util.find_spec(sys.argv[1])\n\
        except ModuleNotFoundError: s = None\n\
        print(list(s.submodule_search_locations)[0]) if s else sys.exit(1)";
    let out = output(
        Command::new("python3").env("PYTHONPATH", python_path()).args(["-c", code, module]),
    )?;
    Some(PathBuf::from(out))
}

/// The PTX assembler: `LUISAC_PTXAS`, on the path, or from the Python package.
pub fn ptxas() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("LUISAC_PTXAS").map(PathBuf::from).filter(|p| p.is_file())
    {
        return Some(path);
    }
    on_path("ptxas").or_else(|| {
        Some(module_folder("nvidia.cuda_nvcc")?.join("bin/ptxas")).filter(|p| p.is_file())
    })
}

/// The library of DXC: `LUISAC_DXC`, or from the Python package.
pub fn dxc() -> Option<PathBuf> {
    let named = std::env::var_os("LUISAC_DXC").map(PathBuf::from).filter(|p| p.exists());
    named.or_else(|| {
        let folder = module_folder("compushady")?.join("backends");
        let name = format!("libdxcompiler_{}.so", std::env::consts::ARCH);
        Some(folder.join(name)).filter(|p| p.is_file())
    })
}
