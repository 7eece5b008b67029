//! From the scheduler's graph to parts that the device runs without the host, each in levels with a barrier between them.

use super::Graph;

/// A part of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Commands by levels: one waits for others of the part only if they are in earlier levels, and for at least one of the level
    /// before its own.
    Device(Vec<Vec<u32>>),
    /// A command that the host takes part in.
    Host(u32),
}

/// Where in the list what waits for a node may be at the earliest.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    part: u32,
    level: u32,
}

/// Cuts a list of `count` commands at those that the host takes part in. Parts follow each other by waiting, so edges among
/// commands of different parts need no barrier.
pub(crate) fn parts(graph: &Graph, count: u32, is_host: impl Fn(u32) -> bool) -> Vec<Part> {
    let mut cuts = 0;
    // The number of host commands before each command, which is the number of its part.
    let part_of: Vec<u32> = (0..count)
        .map(|command| {
            let part = cuts;
            cuts += u32::from(is_host(command));
            part
        })
        .collect();
    let mut levels: Vec<Vec<Vec<u32>>> = vec![Vec::new(); cuts as usize + 1];
    let mut after: Vec<Place> = Vec::with_capacity(graph.len() as usize);
    for node in 0..graph.len() {
        let places = graph.before(node).iter().filter_map(|n| after.get(*n as usize));
        let earliest = places.copied().max().unwrap_or_default();
        let Some(command) = graph.command(node) else {
            after.push(earliest);
            continue;
        };
        let part = part_of.get(command as usize).copied().unwrap_or(0);
        let level = if earliest.part == part { earliest.level } else { 0 };
        if is_host(command) {
            // All that comes behind is of a later part.
            after.push(Place { part: part + 1, level: 0 });
            continue;
        }
        after.push(Place { part, level: level + 1 });
        let levels = &mut levels[part as usize];
        if levels.len() <= level as usize {
            levels.resize_with(level as usize + 1, Vec::new);
        }
        levels[level as usize].push(command);
    }
    let mut parts = Vec::new();
    let mut hosts = (0..count).filter(|c| is_host(*c));
    for levels in levels {
        if !levels.is_empty() {
            parts.push(Part::Device(levels));
        }
        parts.extend(hosts.next().map(Part::Host));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Access, Scheduler, Span};

    /// A graph of commands that each write one of some places, or are barriers.
    fn graph(writes: &[Option<u32>]) -> Graph {
        let mut scheduler = Scheduler::default();
        for _ in 0..4 {
            scheduler.resource(1);
        }
        for write in writes {
            match write {
                Some(resource) => {
                    let span = Span { resource: *resource, start: 0, end: 1 };
                    scheduler.command(&[Access::Span(span, true)]);
                }
                None => scheduler.barrier(),
            }
        }
        scheduler.finish()
    }

    #[test]
    fn levels_count_anew_behind_each_cut() {
        let graph = graph(&[Some(0), Some(1), Some(0), None, Some(0), Some(2), Some(2)]);
        let expected = [
            Part::Device(vec![vec![0, 1], vec![2]]),
            Part::Host(3),
            Part::Device(vec![vec![4, 5], vec![6]]),
        ];
        assert_eq!(parts(&graph, 7, |c| c == 3), expected);
    }

    #[test]
    fn a_cut_that_is_no_barrier_separates_all_the_same() {
        // The host's command 1 waits for nothing, and 2 waits for 0, which has ended by then.
        let graph = graph(&[Some(0), Some(1), Some(0), Some(1)]);
        let expected = [Part::Device(vec![vec![0]]), Part::Host(1), Part::Device(vec![vec![2, 3]])];
        assert_eq!(parts(&graph, 4, |c| c == 1), expected);
    }

    #[test]
    fn nothing_gives_nothing() {
        assert_eq!(parts(&graph(&[]), 0, |_| false), []);
        assert_eq!(parts(&graph(&[None]), 1, |_| true), [Part::Host(0)]);
    }

    /// Every edge between commands of a part leads to a later level, and no level could be earlier.
    #[test]
    fn random_graphs() {
        let mut state = 0x9e37_79b9u32;
        let mut below = move |n: u32| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state % n
        };
        for _ in 0..300 {
            let count = 1 + below(40);
            let writes: Vec<_> = (0..count).map(|_| (below(12) > 0).then(|| below(4))).collect();
            let cut: Vec<bool> = writes.iter().map(|w| w.is_none() || below(9) == 0).collect();
            let graph = graph(&writes);
            let is_host = |c: u32| cut[c as usize];
            let mut place = vec![(0, 0); count as usize];
            let parts = parts(&graph, count, is_host);
            for (number, part) in parts.iter().enumerate() {
                match part {
                    Part::Host(c) => place[*c as usize] = (number, 0),
                    Part::Device(levels) => {
                        for (level, commands) in levels.iter().enumerate() {
                            commands.iter().for_each(|c| place[*c as usize] = (number, level));
                        }
                    }
                }
            }
            let mut seen: Vec<u32> = (0..count).filter(|c| is_host(*c)).collect();
            for part in &parts {
                if let Part::Device(levels) = part {
                    seen.extend(levels.iter().flatten());
                }
            }
            seen.sort_unstable();
            assert_eq!(seen, (0..count).collect::<Vec<_>>(), "each command once");
            for b in 0..count as usize {
                // The command before that wrote the same place, or any barrier.
                let conflicts =
                    |a: usize| writes[a].is_none() || writes[b].is_none() || writes[a] == writes[b];
                let before = (0..b).filter(|a| conflicts(*a)).map(|a| place[a]);
                let latest = before.filter(|p| p.0 == place[b].0).map(|p| p.1 + 1).max();
                assert!((0..b).filter(|a| conflicts(*a)).all(|a| place[a] < place[b]));
                assert_eq!(place[b].1, latest.unwrap_or(0), "no level is too late");
            }
        }
    }
}
