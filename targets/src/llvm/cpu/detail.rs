//! The details of `cpu`: which processor and object format.

use luisac_ast::diagnostic::Diagnostic;

use crate::errors;

/// The instruction set, as far as emission depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// x86-64 at this level of the psABI, 1 to 4.
    X86(u8),
    /// AArch64 from Armv8.0 on.
    Arm,
}

/// A detail: a name, and what LLVM is told for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detail {
    /// The canonical name.
    pub name: &'static str,
    /// LLVM's triple.
    pub triple: &'static str,
    /// The instruction set.
    pub machine: Machine,
}

const fn detail(name: &'static str, triple: &'static str, machine: Machine) -> Detail {
    Detail { name, triple, machine }
}

const X1: Machine = Machine::X86(1);

/// What the names without a system mean. ELF, since that is what the runtime loads everywhere.
const X86_ELF: &str = "x86_64-unknown-linux-gnu";
const ARM_ELF: &str = "aarch64-unknown-linux-gnu";

/// Every detail but `native`. Objects for MSVC's linker are made in LLVM's GNU environment: the calling convention and the format
/// are the same, but for MSVC LLVM would refer to the symbol `_fltused` of the C library.
static DETAILS: &[Detail] = &[
    detail("x86-64", X86_ELF, X1),
    detail("x86-64-v2", X86_ELF, Machine::X86(2)),
    detail("x86-64-v3", X86_ELF, Machine::X86(3)),
    detail("x86-64-v4", X86_ELF, Machine::X86(4)),
    detail("aarch64", ARM_ELF, Machine::Arm),
    detail("x86_64-unknown-linux-gnu", X86_ELF, X1),
    detail("x86_64-unknown-linux-musl", "x86_64-unknown-linux-musl", X1),
    detail("x86_64-unknown-freebsd", "x86_64-unknown-freebsd", X1),
    detail("x86_64-apple-darwin", "x86_64-apple-macosx11.0.0", X1),
    detail("x86_64-pc-windows-msvc", "x86_64-pc-windows-gnu", X1),
    detail("x86_64-pc-windows-gnu", "x86_64-pc-windows-gnu", X1),
    detail("aarch64-unknown-linux-gnu", ARM_ELF, Machine::Arm),
    detail("aarch64-unknown-linux-musl", "aarch64-unknown-linux-musl", Machine::Arm),
    detail("aarch64-linux-android", "aarch64-unknown-linux-android", Machine::Arm),
    detail("aarch64-apple-darwin", "arm64-apple-macosx11.0.0", Machine::Arm),
    detail("aarch64-pc-windows-msvc", "aarch64-pc-windows-gnu", Machine::Arm),
];

/// Further names of the same.
static ALIASES: &[(&str, &str)] = &[
    ("x86-64-v1", "x86-64"),
    ("x86_64", "x86-64"),
    ("arm64", "aarch64"),
    ("arm64-apple-darwin", "aarch64-apple-darwin"),
    ("arm64-apple-macos", "aarch64-apple-darwin"),
    ("aarch64-apple-macos", "aarch64-apple-darwin"),
    ("x86_64-apple-macos", "x86_64-apple-darwin"),
    ("x86_64-linux-gnu", "x86_64-unknown-linux-gnu"),
    ("aarch64-linux-gnu", "aarch64-unknown-linux-gnu"),
];

/// The names for lists; the first is the default.
pub static NAMES: &[&str] = &[
    "native",
    "x86-64",
    "x86-64-v2",
    "x86-64-v3",
    "x86-64-v4",
    "aarch64",
    "x86_64-unknown-linux-gnu",
    "x86_64-unknown-linux-musl",
    "x86_64-unknown-freebsd",
    "x86_64-apple-darwin",
    "x86_64-pc-windows-msvc",
    "x86_64-pc-windows-gnu",
    "aarch64-unknown-linux-gnu",
    "aarch64-unknown-linux-musl",
    "aarch64-linux-android",
    "aarch64-apple-darwin",
    "aarch64-pc-windows-msvc",
];

impl Detail {
    /// The detail of this name. `native`, the default, is the best one that this processor runs, by its own name: what is
    /// emitted depends on the name alone.
    ///
    /// # Errors
    /// A diagnostic that lists the details there are.
    pub fn parse(name: Option<&str>) -> Result<Detail, Diagnostic> {
        let wanted = match name {
            None | Some("native") => native(),
            Some(name) => ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, n)| n),
        };
        DETAILS.iter().find(|d| d.name == wanted).copied().ok_or_else(|| {
            Diagnostic::error(errors::UNKNOWN_DETAIL, format!("`cpu` has no detail `{wanted}`"))
                .with_help(format!("the details are {}", NAMES.join(", ")))
        })
    }

    /// LLVM's name of the processor.
    pub fn cpu(&self) -> &'static str {
        match self.machine {
            Machine::X86(2) => "x86-64-v2",
            Machine::X86(3) => "x86-64-v3",
            Machine::X86(4) => "x86-64-v4",
            Machine::X86(_) => "x86-64",
            Machine::Arm => "generic",
        }
    }

    /// Conversions between half and float are instructions.
    pub fn has_half(&self) -> bool {
        matches!(self.machine, Machine::Arm | Machine::X86(3..))
    }

    /// Double goes to half in one rounding by an instruction.
    pub fn has_double_to_half(&self) -> bool {
        self.machine == Machine::Arm
    }

    /// Fused multiply-add is an instruction.
    pub fn has_fma(&self) -> bool {
        matches!(self.machine, Machine::Arm | Machine::X86(3..))
    }

    /// Rounding to an integral value is an instruction.
    pub fn has_round(&self) -> bool {
        matches!(self.machine, Machine::Arm | Machine::X86(2..))
    }

    /// Whether objects are in the format of Windows, where a stack grows page by page.
    pub fn is_windows(&self) -> bool {
        self.triple.contains("windows")
    }

    /// What the processor must have beyond the first of its kind, sorted.
    pub fn features(&self) -> Vec<String> {
        let mut list: Vec<&str> = Vec::new();
        if let Machine::X86(level) = self.machine {
            if level >= 2 {
                list.extend(["cx16", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3"]);
            }
            if level >= 3 {
                list.extend(["avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "lzcnt", "movbe"]);
            }
            if level >= 4 {
                list.extend(["avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"]);
            }
        }
        list.sort_unstable();
        list.into_iter().map(str::to_string).collect()
    }
}

/// The name of the best detail that this processor runs.
fn native() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    {
        use std::is_x86_feature_detected as has;
        let v2 = has!("sse4.2") && has!("popcnt") && has!("cmpxchg16b");
        let v3 = v2 && has!("avx2") && has!("fma") && has!("f16c");
        let v3 = v3 && has!("bmi1") && has!("bmi2") && has!("lzcnt") && has!("movbe");
        let v4 = v3 && has!("avx512f") && has!("avx512bw") && has!("avx512vl");
        let v4 = v4 && has!("avx512dq") && has!("avx512cd");
        match (v2, v3, v4) {
            (_, _, true) => "x86-64-v4",
            (_, true, _) => "x86-64-v3",
            (true, _, _) => "x86-64-v2",
            _ => "x86-64",
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    "aarch64"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_table() {
        assert!(NAMES[1..].iter().copied().eq(DETAILS.iter().map(|d| d.name)));
        for (alias, name) in ALIASES {
            assert_eq!(Detail::parse(Some(alias)).unwrap().name, *name);
        }
        let native = Detail::parse(None).unwrap();
        assert_eq!(Detail::parse(Some(native.name)).unwrap(), native);
        let e = Detail::parse(Some("riscv")).unwrap_err();
        assert_eq!(e.code, errors::UNKNOWN_DETAIL);
    }
}
