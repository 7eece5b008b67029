//! `luisac bake`: many kernels for many targets into archives, in parallel, only what changed.

mod ninja;
mod progress;
mod watch;

use super::messages::{Failure, Messages};
use super::options::{BakeCommand, BakeEmit};
use super::output::{self, make_escape};
use super::read::levels;
use luisac::codes;
use luisac::driver::bake::manifest::{self, Manifest};
use luisac::driver::bake::plan::{Plan, PlanError, Shard, plan};
use luisac::driver::bake::{self, How, Named, Summary, out_of_date};
use luisac::driver::cache::Cache;
use luisac::driver::cache::local::LIMIT;
use luisac_ast::diagnostic::Diagnostic;
use progress::Progress;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set by Ctrl-C.
static STOP: AtomicBool = AtomicBool::new(false);

/// Bakes a manifest.
pub fn run(command: &BakeCommand, messages: &Messages) -> Result<(), Failure> {
    let asked = Asked::new(command, messages)?;
    if command.watch {
        return watch::run(&asked);
    }
    let (_, plan) = asked.plan()?;
    match command.emit {
        Some(BakeEmit::Ninja) => ninja::write(&asked, &plan),
        None if command.check => asked.check(&plan),
        None if command.dry_run => asked.dry_run(&plan),
        None => asked.bake(&plan),
    }
}

/// The command with its flags read.
struct Asked<'a> {
    command: &'a BakeCommand,
    messages: &'a Messages,
    cache: Cache,
    limits: HashMap<String, usize>,
}

impl<'a> Asked<'a> {
    fn new(command: &'a BakeCommand, messages: &'a Messages) -> Result<Self, Failure> {
        let fail = |d: Diagnostic| messages.fail(d, None);
        let cache = Cache::parse(command.cache.as_deref()).map_err(fail)?;
        levels(&command.lints).map_err(fail)?;
        let mut limits = HashMap::new();
        for word in &command.target_jobs {
            let (target, count) = target_jobs(word).map_err(fail)?;
            limits.insert(target, count);
        }
        // A second Ctrl-C, or a system that lets nobody hear the first, ends the process at once: files are whole anyway.
        let _ = ctrlc::set_handler(|| {
            if STOP.swap(true, Ordering::SeqCst) {
                std::process::exit(130);
            }
        });
        Ok(Asked { command, messages, cache, limits })
    }

    /// Reads the manifest and plans. What is wrong is told with its place in the manifest.
    fn plan(&self) -> Result<(Manifest, Plan), Failure> {
        let mut manifest = manifest::read(&self.command.path)
            .map_err(|(d, file)| self.messages.fail_in_file(&d, file.as_ref()))?;
        self.set_levels(&mut manifest);
        let plan = plan(&manifest, self.command.shard).map_err(|e: PlanError| {
            self.messages
                .fail_in_file(&e.diagnostic, Some(&manifest.file).filter(|_| e.in_manifest))
        })?;
        if self.command.shard.is_none() && plan.archives.iter().any(|a| a.jobs.is_empty()) {
            let message =
                "an archive of the manifest has no kernel: nothing that was found is an input";
            return Err(self.messages.fail(Diagnostic::error(codes::NO_INPUT, message), None));
        }
        Ok((manifest, plan))
    }

    /// As [`Asked::plan`], if nothing is wrong; says nothing.
    fn plan_quietly(&self) -> Option<Plan> {
        let mut manifest = manifest::read(&self.command.path).ok()?;
        self.set_levels(&mut manifest);
        plan(&manifest, self.command.shard).ok()
    }

    /// What the flags say of warnings outweighs the manifest.
    fn set_levels(&self, manifest: &mut Manifest) {
        for archive in &mut manifest.archives {
            for (level, word) in &self.command.lints.0 {
                // That the word names something was seen before.
                let _ = archive.levels.set(word, *level);
            }
        }
    }

    /// The folder of the manifest.
    fn folder(&self) -> PathBuf {
        let path = manifest::locate(&self.command.path);
        path.parent().map_or_else(PathBuf::new, PathBuf::from)
    }

    fn bake(&self, plan: &Plan) -> Result<(), Failure> {
        let summary = self.bake_once(plan)?;
        if summary.stopped {
            return Err(Failure::Stopped);
        }
        self.write_dep_file(plan)?;
        if summary.failed > 0 { Err(Failure::Input) } else { Ok(()) }
    }

    fn bake_once(&self, plan: &Plan) -> Result<Summary, Failure> {
        let progress = Progress::new(self.messages);
        let how = How {
            cache: &self.cache,
            threads: self.command.jobs,
            limits: self.limits.clone(),
            stop: &|| STOP.load(Ordering::SeqCst),
            tell: &|event| progress.tell(&event),
        };
        let done = bake::bake(plan, &how);
        progress.finish();
        let summary = done.map_err(|d| self.messages.fail(d, None))?;
        progress.summary(&summary);
        if let Some(local) = self.cache.local().filter(|_| summary.compiled > 0) {
            local.collect_sometimes(LIMIT);
        }
        Ok(summary)
    }

    /// Says what is out of date; writes nothing.
    fn check(&self, plan: &Plan) -> Result<(), Failure> {
        let mut differs = false;
        for archive in &plan.archives {
            let found = out_of_date(archive);
            for job in &found.missing {
                let named = Named { source: &archive.sources[job.source], job };
                self.messages.note(format!(
                    "out of date: {} for {} in {}",
                    named.label(),
                    job.target.label(),
                    archive.output.display()
                ));
            }
            for text in &found.texts {
                self.messages.note(format!("out of date: {} is not there", text.display()));
            }
            if found.more {
                let path = archive.output.display();
                self.messages
                    .note(format!("out of date: {path} holds kernels that are not baked any more"));
            }
            differs |= !found.is_empty();
        }
        if differs { Err(Failure::Different) } else { Ok(()) }
    }

    /// Says what would be done; writes nothing.
    fn dry_run(&self, plan: &Plan) -> Result<(), Failure> {
        let mut lines = String::new();
        for archive in &plan.archives {
            for job in out_of_date(archive).missing {
                let named = Named { source: &archive.sources[job.source], job };
                let what = if self.cache.has(&job.key) { "from the cache" } else { "compile" };
                let target = job.target.label();
                lines.push_str(&format!("{what}: {} for {target}\n", named.label()));
            }
        }
        output::write(std::path::Path::new("-"), lines.as_bytes())
            .map_err(|d| self.messages.fail(d, None))
    }

    fn write_dep_file(&self, plan: &Plan) -> Result<(), Failure> {
        let Some(path) = &self.command.dep_file else { return Ok(()) };
        let list = |paths: Vec<PathBuf>| {
            paths.iter().map(|p| make_escape(p)).collect::<Vec<_>>().join(" ")
        };
        let outputs = plan.archives.iter().map(|a| a.output.clone()).collect();
        let mut inputs = plan.others.clone();
        inputs.extend(plan.archives.iter().flat_map(|a| &a.sources).map(|s| s.path.clone()));
        let text = format!("{}: {}\n", list(outputs), list(inputs));
        output::write(path, text.as_bytes()).map_err(|d| self.messages.fail(d, None))
    }
}

/// Reads `dxil=2`.
fn target_jobs(word: &str) -> Result<(String, usize), Diagnostic> {
    let bad = |help: String| {
        Diagnostic::error(codes::BAD_FLAG, format!("`--target-jobs {word}` cannot be read"))
            .with_help(help)
    };
    let (target, count) = word.split_once('=').ok_or_else(|| bad("write TARGET=N".into()))?;
    let count = count.parse().ok().filter(|n| *n > 0);
    let count = count.ok_or_else(|| bad("the number of jobs is 1 or more".into()))?;
    let names: Vec<&str> = luisac_targets::targets().iter().map(|t| t.name()).collect();
    if !names.contains(&target) {
        return Err(bad(format!("the targets are {}", names.join(", "))));
    }
    Ok((target.to_owned(), count))
}

/// Reads `2/4`.
pub fn parse_shard(text: &str) -> Result<Shard, String> {
    let numbers = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
    match numbers {
        Some((index, count)) if index >= 1 && index <= count => Ok(Shard { index, count }),
        _ => Err("a part is I/N with I from 1 to N".into()),
    }
}
