//! What a bake shows: a bar on a terminal, lines elsewhere, JSON lines on request.

use crate::cli::messages::Messages;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use luisac::driver::bake::{Event, Named, Summary};
use luisac::driver::input::Input;
use luisac::driver::render::harmless;
use luisac_ast::diagnostic::{Diagnostic, Diagnostics};
use serde_json::json;
use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Time between two lines that say how far it is.
const EVERY: Duration = Duration::from_secs(5);

/// The face of one bake.
pub struct Progress<'a> {
    messages: &'a Messages,
    bar: Option<ProgressBar>,
    state: Mutex<State>,
}

struct State {
    jobs: usize,
    done: usize,
    said: Instant,
}

impl<'a> Progress<'a> {
    pub fn new(messages: &'a Messages) -> Self {
        let shown = messages.is_human() && !messages.is_quiet() && std::io::stderr().is_terminal();
        let bar = shown.then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {msg}")
            {
                bar.set_style(style);
            }
            bar
        });
        let state = Mutex::new(State { jobs: 0, done: 0, said: Instant::now() });
        Progress { messages, bar, state }
    }

    pub fn tell(&self, event: &Event) {
        match event {
            Event::Start { jobs, kept } => self.start(*jobs, *kept),
            Event::Done { job, cached, time } => self.done(*job, *cached, *time),
            Event::Failed { job, diagnostics, input, first } => {
                self.failed(*job, diagnostics, *input, *first);
            }
            Event::Warnings { input, diagnostics } => {
                self.above(|| self.messages.show_all(diagnostics, Some(input)));
            }
            Event::Trouble(diagnostic) => self.above(|| self.messages.show(diagnostic, None)),
            Event::Archive { path, bytes, written } => self.messages.event(&json!({
                "event": "archive", "path": path, "bytes": bytes, "written": written,
            })),
        }
    }

    /// Says something without tearing the bar.
    fn above(&self, say: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(say),
            None => say(),
        }
    }

    fn start(&self, jobs: usize, kept: usize) {
        self.messages.event(&json!({"event": "start", "jobs": jobs, "kept": kept}));
        if let Ok(mut state) = self.state.lock() {
            state.jobs = jobs;
        }
        if let Some(bar) = &self.bar {
            bar.set_length(jobs as u64);
        }
    }

    fn done(&self, job: Named, cached: bool, time: Duration) {
        let (label, target) = (job.label(), job.job.target.label());
        let ms = time.as_secs_f64() * 1e3;
        self.messages.event(&json!({
            "event": "done", "kernel": label, "target": target, "cached": cached, "ms": ms,
        }));
        let what = if cached { "from the cache" } else { "compiled" };
        if self.messages.is_verbose() {
            let line = format!("{what}: {} for {target}, {ms:.1} ms", harmless(&label));
            self.above(|| self.messages.note(&line));
        }
        self.step(&format!("{label} for {target}"));
    }

    /// One more is done, or has failed.
    fn step(&self, what: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(harmless(what));
            bar.inc(1);
            return;
        }
        let Ok(mut state) = self.state.lock() else { return };
        state.done += 1;
        if state.said.elapsed() > EVERY {
            state.said = Instant::now();
            self.messages.note(format!("{} of {} done", state.done, state.jobs));
        }
    }

    /// A line for a failure; the whole picture for who wants to hear more.
    fn failed(&self, job: Named, diagnostics: &Diagnostics, input: Option<&Input>, first: bool) {
        let (label, target) = (job.label(), job.job.target.label());
        self.messages.event(&json!({
            "event": "failed", "kernel": label, "target": target,
            "codes": diagnostics.0.iter().map(|d| d.code.to_string()).collect::<Vec<_>>(),
        }));
        if first && (self.messages.is_verbose() || !self.messages.is_human()) {
            self.above(|| self.messages.show_all(diagnostics, input));
        } else if first {
            diagnostics.0.iter().for_each(|d| self.messages.record(d, input));
            let what = diagnostics.0.iter().find(|d| d.is_error());
            let line = what.map_or_else(String::new, one_line);
            self.above(|| {
                self.messages.line(&format!("failed: {} for {target}: {line}", harmless(&label)))
            });
        }
        self.step(&label);
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// The counts at the end.
    pub fn summary(&self, s: &Summary) {
        let ms = |d: Duration| d.as_secs_f64() * 1e3;
        self.messages.event(&json!({
            "event": "summary", "jobs": s.jobs, "compiled": s.compiled, "cached": s.cached, "kept": s.kept,
            "failed": s.failed, "written": s.written, "unchanged": s.unchanged, "bytes": s.bytes,
            "ms": ms(s.time), "compile_ms": ms(s.busy), "stopped": s.stopped,
        }));
        let archives = match (s.written, s.unchanged) {
            _ if s.stopped => {
                "stopped, no archive was written; what was compiled is in the cache".to_owned()
            }
            (0, 1) => "the archive is up to date".to_owned(),
            (0, n) => format!("{n} archives are up to date"),
            (n, 0) => {
                format!("{n} archive{} written, {} bytes", if n == 1 { "" } else { "s" }, s.bytes)
            }
            (n, m) => format!("{n} of {} archives written, {} bytes together", n + m, s.bytes),
        };
        let hint = if s.failed > 0 { "; `-v` shows more of each failure" } else { "" };
        self.messages.note(format!(
            "{} jobs: {} compiled, {} from the cache, {} unchanged, {} failed; {archives}; {:.0} ms, compiling {:.0} ms{hint}",
            s.jobs, s.compiled, s.cached, s.kept, s.failed, ms(s.time), ms(s.busy),
        ));
    }
}

/// `error[L0900] message (in blur, at /functions/0)`.
fn one_line(diagnostic: &Diagnostic) -> String {
    let mut places = Vec::new();
    places.extend(diagnostic.function.as_ref().map(|f| format!("in {f}")));
    places.extend(diagnostic.pointer.as_ref().filter(|p| !p.is_empty()).map(|p| format!("at {p}")));
    let places =
        if places.is_empty() { String::new() } else { format!(" ({})", places.join(", ")) };
    let text = format!("[{}] {}{places}", diagnostic.code, diagnostic.message);
    harmless(&text).replace('\n', " ")
}
