//! A Vulkan device in software for tests: Mesa's lavapipe. The one of Debian 12 itself is too old (22.3: no descriptor arrays that
//! change while bound, no float atomics), so there it comes from the backports suite.

use std::{fs, path::Path, process::Command};

use crate::{
    run::{Result, output, say},
    setup,
};

const PACKAGE: &str = "mesa-vulkan-drivers";
const LOADER: &str = "libvulkan1";
/// The least version of Mesa whose lavapipe has all that tests use.
const LEAST: u32 = 23;
const SUITE: &str = "bookworm-backports";
/// What we add to the system's sources, if the suite is in none.
const ADDED: &str = "/etc/apt/sources.list.d/luisac-backports.sources";

/// Installs loader and driver where they are missing. Tests that need a device are skipped without, so a failure is only said.
pub fn install() {
    if let Err(e) = try_install() {
        say(format_args!("{e}; tests on the device `vulkan` will be skipped"));
    }
}

fn try_install() -> Result<()> {
    if cfg!(not(target_os = "linux"))
        || output(Command::new("dpkg-query").arg("--version")).is_none()
    {
        return Err("a Vulkan driver in software (Mesa 23 or later) can be installed on Debian and its kin alone".into());
    }
    let version = installed();
    if version.is_some_and(|v| v >= LEAST) && setup::installed(LOADER) {
        return Ok(());
    }
    say(format_args!(
        "{PACKAGE} is missing or too old: a Vulkan device in software, to run SPIR-V in tests"
    ));
    if codename().as_deref() != Some("bookworm") {
        setup::apt(&[LOADER, PACKAGE])?;
        return match installed() {
            Some(v) if v >= LEAST => Ok(()),
            _ => Err(format!("this system's {PACKAGE} is older than {LEAST}")),
        };
    }
    if !has_suite() {
        add_suite()?;
    }
    setup::apt(&["-t", SUITE, LOADER, PACKAGE])
}

/// The first number of the version of Mesa's drivers that are installed.
fn installed() -> Option<u32> {
    let format = "-f=${db:Status-Status} ${Version}";
    let text = output(Command::new("dpkg-query").args(["-W", format, PACKAGE]))?;
    major(text.strip_prefix("installed ")?)
}

/// `25` of `25.0.7-2~bpo12+1`, also behind an epoch.
fn major(version: &str) -> Option<u32> {
    let version = version.split_once(':').map_or(version, |(_, v)| v);
    version.split('.').next()?.parse().ok()
}

fn codename() -> Option<String> {
    let release = fs::read_to_string("/etc/os-release").ok()?;
    let line = release.lines().find_map(|l| l.strip_prefix("VERSION_CODENAME="))?;
    Some(line.trim_matches('"').to_owned())
}

/// The system's lists of sources, each a text.
fn sources() -> Vec<String> {
    let folder = fs::read_dir("/etc/apt/sources.list.d").into_iter().flatten().flatten();
    let is_list = |p: &Path| p.extension().is_some_and(|e| e == "list" || e == "sources");
    let files = folder.map(|e| e.path()).filter(|p| is_list(p));
    let all = ["/etc/apt/sources.list".into()].into_iter().chain(files);
    all.filter_map(|p| fs::read_to_string(p).ok()).collect()
}

fn has_suite() -> bool {
    let lines = sources();
    let mut lines =
        lines.iter().flat_map(|s| s.lines()).filter(|l| !l.trim_start().starts_with('#'));
    lines.any(|l| l.split_whitespace().any(|w| w == SUITE))
}

/// Adds the suite from where the system gets its packages.
fn add_suite() -> Result<()> {
    let found = sources().iter().find_map(|s| stanza(s));
    let stanza = found.ok_or("no source of Debian packages is known to this system")?;
    say(format_args!("adding the suite {SUITE} to the package sources ({ADDED})"));
    setup::write_as_root(Path::new(ADDED), &stanza)
}

/// The source of the suite `bookworm` in a list of either form, made one of its backports.
fn stanza(list: &str) -> Option<String> {
    list.split("\n\n").find_map(from_fields).or_else(|| list.lines().find_map(from_line))
}

/// Of a stanza of `Key: value` lines.
fn from_fields(text: &str) -> Option<String> {
    let field = |key: &str| {
        let of = |l: &str| {
            Some(
                l.split_once(':').filter(|(k, _)| k.eq_ignore_ascii_case(key))?.1.trim().to_owned(),
            )
        };
        text.lines().find_map(of)
    };
    if !field("Suites")?.split_whitespace().any(|w| w == "bookworm") {
        return None;
    }
    Some(written(&field("URIs")?, field("Signed-By").as_deref()))
}

/// Of a line `deb [options] URI SUITE COMPONENT..`.
fn from_line(line: &str) -> Option<String> {
    let rest = line.trim().strip_prefix("deb ")?.trim();
    let (options, rest) = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => ("", rest),
    };
    let mut words = rest.split_whitespace();
    let uri = words.next()?;
    if words.next()? != "bookworm" {
        return None;
    }
    Some(written(uri, options.split_whitespace().find_map(|o| o.strip_prefix("signed-by="))))
}

fn written(uri: &str, signed: Option<&str>) -> String {
    let signed = signed.map(|s| format!("Signed-By: {s}\n")).unwrap_or_default();
    format!("Types: deb\nURIs: {uri}\nSuites: {SUITE}\nComponents: main\n{signed}")
}

#[cfg(test)]
mod tests {
    use super::{major, stanza};

    const WANTED: &str = "Types: deb\nURIs: http://mirror.example/debian\nSuites: bookworm-backports\nComponents: main\nSigned-By: /k.gpg\n";

    #[test]
    fn sources_of_both_forms_are_read() {
        let fields = "Types: deb\n# a note\nURIs: http://mirror.example/sec\nSuites: bookworm-security\nComponents: main\n\n\
                      Types: deb\nURIs: http://mirror.example/debian\nSuites: bookworm bookworm-updates\nSigned-By: /k.gpg\n";
        assert_eq!(stanza(fields).as_deref(), Some(WANTED));
        let lines = "# comment\ndeb http://x.example bookworm-updates main\ndeb [arch=amd64 signed-by=/k.gpg] http://mirror.example/debian bookworm main contrib\n";
        assert_eq!(stanza(lines).as_deref(), Some(WANTED));
        assert_eq!(stanza("deb http://mirror.example trixie main\n"), None);
        assert_eq!(stanza(""), None);
    }

    #[test]
    fn versions() {
        assert_eq!(major("25.0.7-2~bpo12+1"), Some(25));
        assert_eq!(major("1:24.2-1"), Some(24));
        assert_eq!(major("unknown"), None);
    }
}
