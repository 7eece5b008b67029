//! `--emit ninja`: a build file that does what a bake does, a step a kernel and target.

use super::Asked;
use crate::cli::messages::Failure;
use crate::cli::output;
use crate::cli::repro::quoted;
use luisac::driver::bake::plan::{ArchivePlan, Job, Plan};
use luisac::driver::cache::hex;
use luisac::driver::options::CodeOptions;
use luisac::driver::program::ReadOptions;
use luisac_artifact::metadata::{BoundsMode, MathMode};
use luisac_ast::lint::Level;
use std::path::Path;

/// Writes the file.
pub fn write(asked: &Asked, plan: &Plan) -> Result<(), Failure> {
    let default = asked.folder().join("build.ninja");
    let path = asked.command.output.clone().unwrap_or(default);
    let program = std::env::current_exe().unwrap_or_else(|_| "luisac".into());
    let text = document(plan, &program.to_string_lossy());
    output::write(&path, text.as_bytes()).map_err(|d| asked.messages.fail(d, None))
}

fn document(plan: &Plan, program: &str) -> String {
    let mut text = format!(
        "# Written by luisac {}; do not edit.\nninja_required_version = 1.5\nluisac = {}\n\n\
         rule compile\n  command = $luisac compile $in --target $target $flags -o $out\n  description = $in for $target\n\n\
         rule pack\n  command = $luisac pack -o $out @$out.parts\n  description = $out\n  rspfile = $out.parts\n  rspfile_content = $in_newline\n",
        luisac::driver::job::VERSION,
        escaped(&quoted(program)),
    );
    for archive in &plan.archives {
        text.push_str(&edges(archive));
    }
    text
}

/// The steps of one archive.
fn edges(archive: &ArchivePlan) -> String {
    let mut text = String::new();
    let parts = archive.output.with_extension("parts");
    let mut names = Vec::new();
    for job in &archive.jobs {
        let source = &archive.sources[job.source];
        let name = format!("{}.luisa", &hex(&job.key)[..32]);
        let part = path_word(&parts.join(name));
        let libraries: Vec<String> =
            archive.read.libraries.iter().map(|l| path_word(Path::new(&l.name))).collect();
        let implicit = if libraries.is_empty() {
            String::new()
        } else {
            format!(" | {}", libraries.join(" "))
        };
        text.push_str(&format!(
            "\nbuild {part}: compile {}{implicit}\n  target = {}\n  flags = {}\n",
            path_word(&source.path),
            escaped(&job.target.label()),
            escaped(&flags(job, &archive.read)),
        ));
        names.push(part);
    }
    text.push_str(&format!(
        "\nbuild {}: pack {}\n",
        path_word(&archive.output),
        names.join(" $\n    ")
    ));
    text
}

/// The options of a job as the command line takes them.
fn flags(job: &Job, read: &ReadOptions) -> String {
    let CodeOptions {
        opt_level,
        passes,
        math,
        bounds,
        block,
        defines,
        fuel,
        dxc,
        debug_info,
        verify_each,
    } = &*job.options;
    let mut words = vec![format!("-O{}", *opt_level as u8), "-q".to_owned()];
    words.extend(passes.iter().map(|p| format!("--passes {}", quoted(p))));
    words.extend((*math == MathMode::Precise).then(|| "--math precise".to_owned()));
    words.extend(match bounds {
        BoundsMode::Off => None,
        BoundsMode::Clamp => Some("--bounds clamp".to_owned()),
        BoundsMode::Trap => Some("--bounds trap".to_owned()),
    });
    words.extend(block.map(|[x, y, z]| format!("--block {x},{y},{z}")));
    words.extend(defines.iter().map(|(n, v)| format!("--define {}", quoted(&format!("{n}={v}")))));
    words.extend(fuel.map(|n| format!("--fuel {n}")));
    words.extend(dxc.iter().map(|path| format!("--dxc {}", quoted(&path.to_string_lossy()))));
    words.extend(debug_info.then(|| "-g".to_owned()));
    words.extend(verify_each.then(|| "--verify-each".to_owned()));
    words.extend(read.libraries.iter().map(|l| format!("--lib {}", quoted(&l.name))));
    let flag = |(level, lint): (Level, &str)| format!("{} {lint}", level.flag());
    words.extend(read.levels.flags().into_iter().map(flag));
    words.join(" ")
}

/// A text as the value of a variable.
fn escaped(text: &str) -> String {
    text.replace('$', "$$").replace('\n', " ")
}

/// A path in a list of paths.
fn path_word(path: &Path) -> String {
    escaped(&path.to_string_lossy()).replace(' ', "$ ").replace(':', "$:")
}
