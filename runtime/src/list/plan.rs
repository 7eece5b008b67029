//! From commands to the scheduler's numbers, and back to names.

use std::{collections::hash_map::Entry, fmt::Write, sync::Arc};

use super::{Command, IdMap, Levels, Touched};
use crate::{
    resource::{ArrayMemory, Change, Contents, ImageMember, Slot},
    schedule::{Access, Graph, Scheduler, Span},
};

/// The graph of a list, for arrays that hold certain things when it begins.
pub(crate) struct Plan {
    pub(crate) graph: Arc<Graph>,
    /// What the list's arrays held, in the order of [`super::Committed::arrays`].
    pub(crate) entry: Vec<Arc<Contents>>,
    /// What resources are called, by the scheduler's numbers.
    names: Vec<String>,
}

impl Plan {
    /// Plans a list. `arrays` are those whose members it uses, `entry` what they hold when it begins.
    pub(crate) fn new(
        commands: &[Command],
        arrays: &[(Arc<ArrayMemory>, bool)],
        entry: Vec<Arc<Contents>>,
    ) -> Self {
        let mut planner = Planner::default();
        let mut accesses = Vec::new();
        for ((array, _), contents) in arrays.iter().zip(&entry) {
            planner.add_array(array, contents);
        }
        for command in commands {
            if command.is_barrier() {
                planner.scheduler.barrier();
                continue;
            }
            accesses.clear();
            command.touches(&mut |touched, write| accesses.push(planner.access(&touched, write)));
            planner.scheduler.command(&accesses);
            if let Command::Update { array, changes } = command {
                planner.update(array, changes);
            }
        }
        Self { graph: Arc::new(planner.scheduler.finish()), entry, names: planner.names }
    }

    fn name(&self, resource: Option<u32>) -> &str {
        resource.and_then(|r| self.names.get(r as usize)).map_or("everything", String::as_str)
    }

    /// The graph as text: a line for each command with its level and what it waits for.
    pub(crate) fn text(&self, commands: &[Command]) -> String {
        let graph = &self.graph;
        let (edges, levels) = (graph.edges(), graph.levels().len());
        let mut out = format!("{} commands, {edges} edges, {levels} levels\n", commands.len());
        for node in 0..graph.len() {
            let title = title(graph, node, commands);
            // A `String` takes everything that is written to it.
            let _ = write!(out, "level {}: {title}", graph.level(node));
            for (i, (before, cause)) in graph.reasons(node).enumerate() {
                let separator = if i == 0 { " after " } else { ", " };
                let (before, cause) = (short(graph, before), self.name(cause));
                let _ = write!(out, "{separator}{before} ({cause})");
            }
            out.push('\n');
        }
        out
    }

    /// The graph in the language DOT: commands of a level side by side, edges with the resource behind them.
    pub(crate) fn dot(&self, commands: &[Command]) -> String {
        let graph = &self.graph;
        let mut out = String::from("digraph list {\n  node [shape=box]\n");
        for node in 0..graph.len() {
            let (title, level) = (quote(&title(graph, node, commands)), graph.level(node));
            let shape = if graph.command(node).is_none() { ", shape=point" } else { "" };
            let _ = writeln!(out, "  n{node} [label={title}, level={level}{shape}]");
        }
        for level in 0..graph.levels().len() as u32 {
            let same = (0..graph.len()).filter(|n| graph.level(*n) == level);
            let same: Vec<_> =
                same.filter(|n| graph.command(*n).is_some()).map(|n| format!("n{n}")).collect();
            let _ = writeln!(out, "  {{ rank=same; {} }}", same.join("; "));
        }
        for node in 0..graph.len() {
            for (before, cause) in graph.reasons(node) {
                let cause = quote(self.name(cause));
                let _ = writeln!(out, "  n{before} -> n{node} [label={cause}]");
            }
        }
        out.push_str("}\n");
        out
    }
}

fn title(graph: &Graph, node: u32, commands: &[Command]) -> String {
    let command = graph.command(node).and_then(|c| Some((c, commands.get(c as usize)?)));
    command.map_or_else(|| short(graph, node), |(c, command)| format!("{c} {}", command.name()))
}

fn short(graph: &Graph, node: u32) -> String {
    graph.command(node).map_or_else(|| format!("joint {node}"), |c| c.to_string())
}

/// A string of DOT.
fn quote(text: &str) -> String {
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!("\"{}\"", clean.replace('\\', "\\\\").replace('"', "\\\""))
}

#[derive(Default)]
struct Planner {
    scheduler: Scheduler,
    /// The scheduler's number of each resource, by its id. Only looked up.
    resources: IdMap<u32>,
    arrays: IdMap<u32>,
    names: Vec<String>,
}

/// Members of a slot: a buffer and two images.
const PLACES: u64 = 3;

impl Planner {
    fn resource(&mut self, id: u64, kind: &str, len: u64) -> u32 {
        match self.resources.entry(id) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                self.names.push(format!("{kind} {}", self.names.len()));
                *new.insert(self.scheduler.resource(len))
            }
        }
    }

    fn access(&mut self, touched: &Touched<'_>, write: bool) -> Access {
        let span = match touched {
            Touched::Buffer(view) => {
                let memory = &view.memory;
                let resource = self.resource(memory.common.id, "buffer", memory.bytes);
                Span { resource, start: view.start, end: view.end() }
            }
            Touched::Image(level, levels) => {
                let memory = &level.memory;
                let (start, all) = (u64::from(level.level), u64::from(memory.shape.levels));
                let end = if *levels == Levels::One { start + 1 } else { all };
                Span { resource: self.resource(memory.common.id, "image", all), start, end }
            }
            Touched::Table(array) => {
                Span { resource: self.resource(array.common.id, "array", 1), start: 0, end: 1 }
            }
            Touched::Members(array) => {
                // All arrays whose members are used were added before.
                let array = self.arrays.get(&array.common.id).copied();
                return array.map_or_else(
                    || Access::Span(Span { resource: 0, start: 0, end: 0 }, false),
                    |a| Access::Members(a, write),
                );
            }
        };
        Access::Span(span, write)
    }

    fn add_array(&mut self, array: &Arc<ArrayMemory>, contents: &Contents) {
        let number = self.scheduler.array();
        self.arrays.insert(array.common.id, number);
        for (slot, Slot { buffer, image_2d, image_3d }) in &contents.slots {
            let buffer = buffer.as_ref().map(Touched::Buffer);
            let images = [image_2d, image_3d].map(|i| i.as_ref().map(of_image));
            for (place, member) in [buffer].into_iter().chain(images).enumerate() {
                if let Some(member) = member {
                    let place = u64::from(*slot) * PLACES + place as u64;
                    self.set_member(number, place, Some(member));
                }
            }
        }
    }

    fn set_member(&mut self, array: u32, place: u64, member: Option<Touched<'_>>) {
        let span = member.map(|touched| self.access(&touched, false));
        let span = span.and_then(|access| match access {
            Access::Span(span, _) => Some(span),
            Access::Members(..) => None,
        });
        self.scheduler.set_member(array, place, span);
    }

    fn update(&mut self, array: &Arc<ArrayMemory>, changes: &[(u32, Change)]) {
        let Some(number) = self.arrays.get(&array.common.id).copied() else { return };
        for (slot, change) in changes {
            let (place, member) = match change {
                Change::Buffer(view) => (0, view.as_ref().map(Touched::Buffer)),
                Change::Image(2, image) => (1, image.as_ref().map(of_image)),
                Change::Image(_, image) => (2, image.as_ref().map(of_image)),
            };
            self.set_member(number, u64::from(*slot) * PLACES + place, member);
        }
    }
}

/// An image in an array is sampled, from its level on.
fn of_image(member: &ImageMember) -> Touched<'_> {
    Touched::Image(&member.level, Levels::From)
}
