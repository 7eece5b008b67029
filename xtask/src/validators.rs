//! What each target's own tools say about a compiled kernel.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{
    metal,
    run::{on_path, root, say},
    setup,
};

/// The tools that are here.
pub struct Validators {
    ptxas: Option<PathBuf>,
    spirv_val: Option<PathBuf>,
    clang: Option<PathBuf>,
}

impl Validators {
    /// Looks for them, and says which are missing.
    pub fn find() -> Self {
        let found = Self {
            ptxas: setup::ptxas(),
            spirv_val: on_path("spirv-val"),
            clang: ["clang-22", "clang"].into_iter().find_map(on_path),
        };
        let all = [
            ("ptxas", found.ptxas.is_some()),
            ("spirv-val", found.spirv_val.is_some()),
            ("clang", found.clang.is_some()),
            ("DXC", setup::dxc().is_some()),
        ];
        for (name, _) in all.iter().filter(|(_, is_here)| !is_here) {
            say(format_args!("no {name} here: `cargo xtask setup` installs it"));
        }
        found
    }

    /// The name of the row and what the tool says about the code of a target; nothing where the target's emitter has run the validator
    /// itself (DXC for `dxil`, naga for `wgsl` and `glsl`) or there is none.
    pub fn judge(&self, target: &str, code: &Path) -> Option<(String, String)> {
        if let Some(arch) = target.strip_prefix("ptx:") {
            return Some((format!("ptxas {arch}"), assemble(self.ptxas.as_ref()?, arch, code)));
        }
        match target {
            "spirv" => Some(("spirv-val".into(), validate(self.spirv_val.as_ref()?, code))),
            "msl" => Some(("clang, MSL as C++".into(), parse_metal(self.clang.as_ref()?, code))),
            _ => None,
        }
    }
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

/// What the validator of SPIR-V says, for the Vulkan that the default version belongs to.
fn validate(spirv_val: &Path, code: &Path) -> String {
    verdict(Command::new(spirv_val).args(["--target-env", "vulkan1.2"]).arg(code))
}

/// Whether clang takes the text as C++, with the header of the tests in the place of Metal's.
fn parse_metal(clang: &Path, code: &Path) -> String {
    let metadata = code.with_extension("msl.json");
    let (Ok(text), Ok(metadata)) =
        (std::fs::read_to_string(code), std::fs::read_to_string(&metadata))
    else {
        return "not read".into();
    };
    let entry = metadata.split("\"entry\":").nth(1).and_then(|rest| rest.split('"').nth(1));
    let Ok(cpp) = metal::as_cpp(&text, entry.unwrap_or_default()) else {
        return "not read".into();
    };
    let file = code.with_extension("cpp");
    if std::fs::write(&file, cpp).is_err() {
        return "not written".into();
    }
    let header = root().join("tests/msl");
    let mut command = Command::new(clang);
    command.args(["-std=c++20", "-w", "-fsyntax-only", "-I"]).arg(&header);
    command.arg("-include").arg(header.join("metal_stdlib"));
    verdict(command.arg(&file))
}

fn verdict(command: &mut Command) -> String {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.status() {
        Ok(status) if status.success() => "clean".into(),
        Ok(_) => "refused".into(),
        Err(_) => "not started".into(),
    }
}
