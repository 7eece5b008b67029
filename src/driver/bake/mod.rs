//! Many kernels for many targets into archives: plan, find what is there already, compile the rest in parallel, write.
//!
//! Every kernel in an archive carries the key of the job that made it. What an archive holds under the key of a job is taken
//! over; what the cache holds too; the rest is compiled. So an archive is up to date if its keys are those of the plan.

pub mod manifest;
mod pack;
pub mod plan;
mod queue;
mod source;
mod texts;

use super::cache::Cache;
use super::input::Input;
use super::job;
use luisac_artifact::{Archive, ArchiveWriter};
use luisac_ast::diagnostic::{Diagnostic, Diagnostics};
use pack::Old;
use plan::{ArchivePlan, Job, Plan};
pub use source::Source;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How a bake is done.
pub struct How<'a> {
    pub cache: &'a Cache,
    /// Threads; 0 for one a processor.
    pub threads: usize,
    /// Jobs of a target that may run at once, by the target's name.
    pub limits: HashMap<String, usize>,
    /// Whether to stop; asked before each job.
    pub stop: &'a (dyn Fn() -> bool + Sync),
    pub tell: &'a (dyn Fn(Event) + Sync),
}

/// What happens, as it happens.
pub enum Event<'a> {
    /// So many jobs have to be looked up or compiled, so many are in the archives already.
    Start { jobs: usize, kept: usize },
    /// A job is done.
    Done { job: Named<'a>, cached: bool, time: Duration },
    /// A job cannot be done. What concerns the whole input is told once, with the first of its jobs.
    Failed { job: Named<'a>, diagnostics: &'a Diagnostics, input: Option<&'a Input>, first: bool },
    /// What is told of an input beside.
    Warnings { input: &'a Input, diagnostics: &'a Diagnostics },
    /// The cache is in trouble; the bake goes on.
    Trouble(&'a Diagnostic),
    /// An archive is as it should be.
    Archive { path: &'a Path, bytes: u64, written: bool },
}

/// A job with what names it.
#[derive(Clone, Copy)]
pub struct Named<'a> {
    pub source: &'a Source,
    pub job: &'a Job,
}

impl Named<'_> {
    /// `kernels/blur.json[2=1.0]`.
    pub fn label(&self) -> String {
        let defines = luisac_artifact::archive::permutation(&self.job.options.defines);
        format!("{}{defines}", self.source.label)
    }
}

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub jobs: usize,
    pub compiled: usize,
    /// Taken from the cache.
    pub cached: usize,
    /// In the archive already.
    pub kept: usize,
    pub failed: usize,
    /// Archives that were written.
    pub written: usize,
    /// Archives that stayed as they were.
    pub unchanged: usize,
    /// Bytes of all archives.
    pub bytes: u64,
    /// Compile time of all threads together.
    pub busy: Duration,
    pub time: Duration,
    /// It was stopped; no archive was written.
    pub stopped: bool,
}

/// Bakes a plan. Failures are told and counted; the archives hold all that succeeded.
///
/// # Errors
/// Archives that cannot be made or written.
pub fn bake(plan: &Plan, how: &How) -> Result<Summary, Diagnostics> {
    let start = Instant::now();
    texts::refuse_clashes(plan)?;
    let olds: Vec<Old> = plan.archives.iter().map(|archive| Old::open(&archive.output)).collect();
    let mut state = Mutex::new(Summary::default());
    let work = todo(plan, &olds, &mut state);
    (how.tell)(Event::Start { jobs: work.len(), kept: kept(&mut state) });
    let made = make(plan, how, work, &state);
    let mut summary = state.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    if (how.stop)() {
        summary.stopped = true;
    } else {
        for (i, archive) in plan.archives.iter().enumerate() {
            let made: HashMap<usize, &Archive> =
                made.iter().filter(|m| m.archive == i).map(|m| (m.job, &m.parts)).collect();
            let (bytes, written) = pack::write(archive, &olds[i], &made)?;
            texts::write(archive, &olds[i])?;
            (how.tell)(Event::Archive { path: &archive.output, bytes, written });
            summary.bytes += bytes;
            *(if written { &mut summary.written } else { &mut summary.unchanged }) += 1;
        }
    }
    summary.time = start.elapsed();
    Ok(summary)
}

/// A job of an archive, by their positions.
#[derive(Clone, Copy)]
struct Place {
    archive: usize,
    job: usize,
}

/// What a job gave: an archive with its kernels only.
struct Done {
    archive: usize,
    job: usize,
    parts: Archive,
}

fn kept(state: &mut Mutex<Summary>) -> usize {
    state.get_mut().map_or(0, |s| s.kept)
}

/// The jobs whose kernels are not in the archives, with their sizes.
fn todo(plan: &Plan, olds: &[Old], state: &mut Mutex<Summary>) -> Vec<queue::Piece<Place>> {
    let mut work = Vec::new();
    // Inputs of all archives, numbered through.
    let mut before = 0;
    for (a, (archive, old)) in plan.archives.iter().zip(olds).enumerate() {
        for (j, job) in archive.jobs.iter().enumerate() {
            if let Ok(summary) = state.get_mut() {
                summary.jobs += 1;
                summary.kept += usize::from(old.holds(&job.key));
            }
            let source = &archive.sources[job.source];
            if old.holds(&job.key) {
                source.release();
                continue;
            }
            let size = source.bytes as u64;
            let kind = job.target.target.name();
            let group = before + job.source;
            work.push(queue::Piece { work: Place { archive: a, job: j }, size, kind, group });
        }
        before += archive.sources.len();
    }
    work
}

fn make(
    plan: &Plan,
    how: &How,
    work: Vec<queue::Piece<Place>>,
    state: &Mutex<Summary>,
) -> Vec<Done> {
    if work.is_empty() {
        return Vec::new();
    }
    let done = Mutex::new(Vec::with_capacity(work.len()));
    let one = |place: Place, lowered: &dyn Fn()| {
        let archive = &plan.archives[place.archive];
        let job = &archive.jobs[place.job];
        let source = &archive.sources[job.source];
        let named = Named { source, job };
        let begin = Instant::now();
        let result = obtain(archive, named, how, lowered);
        source.release();
        let time = begin.elapsed();
        let Ok(mut summary) = state.lock() else { return };
        match result {
            Some((parts, cached)) => {
                *(if cached { &mut summary.cached } else { &mut summary.compiled }) += 1;
                summary.busy += time;
                drop(summary);
                (how.tell)(Event::Done { job: named, cached, time });
                if let Ok(mut all) = done.lock() {
                    all.push(Done { archive: place.archive, job: place.job, parts });
                }
            }
            None => summary.failed += 1,
        }
    };
    let threads = if work.len() == 1 && how.threads == 0 { 0 } else { how.threads };
    match rayon::ThreadPoolBuilder::new().num_threads(threads).stack_size(STACK).build() {
        Ok(pool) => queue::run(&pool, work, &how.limits, how.stop, &one),
        // The system gives no threads: work on this one.
        Err(_) => work.into_iter().for_each(|piece| one(piece.work, &|| ())),
    }
    done.into_inner().unwrap_or_default()
}

/// Stack of a thread. LLVM walks some structures by recursion.
const STACK: usize = 16 << 20;

/// The kernels of a job, from the cache or compiled, and which of both; nothing if it fails, which has been told then.
/// Calls `is_lowered` once the input is, whatever came of it.
fn obtain(
    archive: &ArchivePlan,
    named: Named,
    how: &How,
    is_lowered: &dyn Fn(),
) -> Option<(Archive, bool)> {
    let Named { source, job } = named;
    let trouble = |d: Diagnostic| (how.tell)(Event::Trouble(&d));
    if let Some(parts) = how.cache.get(&job.key, &trouble) {
        return Some((parts, true));
    }
    let failed = |diagnostics: &Diagnostics, input: Option<&Input>, first| {
        (how.tell)(Event::Failed { job: named, diagnostics, input, first });
    };
    let (lowered, first) = source.lowered(&archive.read);
    is_lowered();
    let lowered = match lowered {
        Ok(lowered) => lowered,
        Err(refused) => {
            failed(&refused.diagnostics, refused.input.as_ref(), first);
            return None;
        }
    };
    if first && !lowered.warnings.is_empty() {
        let diagnostics = &lowered.warnings;
        (how.tell)(Event::Warnings { input: &lowered.input, diagnostics });
    }
    let (input, module) = (&lowered.input, lowered.module.clone());
    let lines = lowered.lines.clone();
    let made = job::compile(input, module, &lowered.kernels, &job.options, &job.target, lines);
    let packed = made.and_then(|made| {
        let mut writer = ArchiveWriter::new(job::VERSION);
        job::store(&mut writer, made, &job.options, job.key);
        let bytes = writer.finish().map_err(|e| pack::archive_error(&e))?.to_bytes();
        how.cache.put(&job.key, &bytes, &trouble);
        Ok(Archive::from_bytes(bytes).map_err(|e| pack::archive_error(&e))?)
    });
    match packed {
        Ok(parts) => Some((parts, false)),
        Err(diagnostics) => {
            failed(&diagnostics, Some(input), true);
            None
        }
    }
}

/// What a bake would change.
pub struct OutOfDate<'a> {
    /// The jobs that the archive lacks.
    pub missing: Vec<&'a Job>,
    /// It lacks none, and holds what no job makes.
    pub more: bool,
    /// Pseudo-code that is not there.
    pub texts: Vec<PathBuf>,
}

impl OutOfDate<'_> {
    /// Whether a bake would change nothing.
    pub fn is_empty(&self) -> bool {
        self.missing.is_empty() && !self.more && self.texts.is_empty()
    }
}

/// What a bake would change.
pub fn out_of_date(archive: &ArchivePlan) -> OutOfDate<'_> {
    let old = Old::open(&archive.output);
    let missing: Vec<&Job> = archive.jobs.iter().filter(|job| !old.holds(&job.key)).collect();
    let more = missing.is_empty() && !old.is_made_of(&archive.jobs);
    OutOfDate { missing, more, texts: texts::missing(archive) }
}
