//! The scheduler against the definition, by brute force.
#![allow(clippy::needless_range_loop, reason = "pairs of commands are pairs of indices")]

use super::{Access, Scheduler, Segments, Span, graph::Graph};

/// Xorshift.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// A command in the plainest form: a barrier, or what it touches with all members spelled out.
enum Plain {
    Barrier,
    Touches(Vec<(Span, bool)>),
}

fn conflict(a: &Plain, b: &Plain) -> bool {
    let (Plain::Touches(a), Plain::Touches(b)) = (a, b) else { return true };
    a.iter().any(|(x, write)| {
        b.iter().any(|(y, other)| {
            (*write || *other)
                && x.resource == y.resource
                && x.start < y.end
                && y.start < x.end
                && x.start < x.end
                && y.start < y.end
        })
    })
}

/// What a random list looks like.
struct Shape {
    commands: u64,
    resources: u64,
    len: u64,
    arrays: u64,
    slots: u64,
    writes: u64,
    barriers: u64,
}

/// Gives a random list to a scheduler; returns its graph, and the plain commands.
fn random_list(random: &mut Random, shape: &Shape, many: u32) -> (Graph, Vec<Plain>) {
    // High trees.
    let mut scheduler = Scheduler::with(many, Segments::with_fan(4));
    let mut plain = Vec::new();
    (0..shape.resources).for_each(|_| {
        scheduler.resource(shape.len);
    });
    // Each array has a table of its own.
    let tables: Vec<u32> = (0..shape.arrays).map(|_| scheduler.resource(1)).collect();
    let mut members = vec![vec![None; shape.slots as usize]; shape.arrays as usize];
    let span = |random: &mut Random| {
        let (a, b) = (random.below(shape.len + 1), random.below(shape.len + 1));
        let whole = random.chance(30);
        let (start, end) = if whole { (0, shape.len) } else { (a.min(b), a.max(b)) };
        Span { resource: random.below(shape.resources) as u32, start, end }
    };
    for a in 0..shape.arrays as usize {
        scheduler.array();
        for (place, member) in members[a].iter_mut().enumerate().take(2) {
            *member = Some(span(random));
            scheduler.set_member(a as u32, place as u64, *member);
        }
    }
    for _ in 0..shape.commands {
        if random.chance(shape.barriers) {
            scheduler.barrier();
            plain.push(Plain::Barrier);
            continue;
        }
        let array = random.below(shape.arrays.max(1)) as usize;
        if shape.arrays > 0 && random.chance(12) {
            // An update of the table.
            let table = Span { resource: tables[array], start: 0, end: 1 };
            scheduler.command(&[Access::Span(table, true)]);
            plain.push(Plain::Touches(vec![(table, true)]));
            let place = random.below(shape.slots) as usize;
            let member = (!random.chance(25)).then(|| span(random));
            members[array][place] = member;
            scheduler.set_member(array as u32, place as u64, member);
            continue;
        }
        let (mut accesses, mut touches) = (Vec::new(), Vec::new());
        for _ in 0..random.below(4) {
            let (span, write) = (span(random), random.chance(shape.writes));
            accesses.push(Access::Span(span, write));
            touches.push((span, write));
        }
        if shape.arrays > 0 && random.chance(40) {
            let write = random.chance(shape.writes / 2);
            let table = Span { resource: tables[array], start: 0, end: 1 };
            accesses.extend([Access::Span(table, false), Access::Members(array as u32, write)]);
            touches.push((table, false));
            touches.extend(members[array].iter().flatten().map(|m| (*m, write)));
        }
        scheduler.command(&accesses);
        plain.push(Plain::Touches(touches));
    }
    (scheduler.finish(), plain)
}

/// The nodes that each node is reached from, as bits.
fn reached(graph: &Graph) -> Vec<u128> {
    let mut from: Vec<u128> = Vec::new();
    for node in 0..graph.len() {
        let mut bits = 0;
        for before in graph.before(node) {
            assert!(*before < node, "edges go forward");
            bits |= from[*before as usize] | 1 << before;
        }
        from.push(bits);
    }
    from
}

/// Compares the graph with the definition. `exact`: there are no joints, so the edges are those of the smallest graph.
fn judge(graph: &Graph, plain: &[Plain], exact: bool) {
    let n = plain.len();
    // By definition.
    let (mut wanted, mut level) = (vec![0u128; n], vec![0u32; n]);
    for j in 0..n {
        for i in 0..j {
            if conflict(&plain[i], &plain[j]) {
                wanted[j] |= wanted[i] | 1 << i;
                level[j] = level[j].max(level[i] + 1);
            }
        }
    }
    let node_of: Vec<u32> = {
        let all = (0..graph.len()).filter(|node| graph.command(*node).is_some());
        all.collect()
    };
    assert_eq!(node_of.len(), n);
    let from = reached(graph);
    for j in 0..n {
        let node = node_of[j];
        assert_eq!(graph.command(node), Some(j as u32));
        for i in 0..n {
            let (found, should) = (from[node as usize] >> node_of[i] & 1, wanted[j] >> i & 1);
            assert_eq!(found, should, "command {j} after {i}");
        }
        assert_eq!(graph.level(node), level[j], "level of {j}");
    }
    for node in 0..graph.len() {
        for before in graph.before(node) {
            let other = graph.before(node).iter().filter(|o| *o != before);
            let implied = other.clone().any(|o| from[*o as usize] >> before & 1 == 1);
            assert!(!implied, "the edge from {before} to {node} is not needed");
        }
        assert!(!exact || graph.command(node).is_some(), "a joint");
    }
}

/// How many lists a test tries: few, or what `LUISAC_LISTS` says.
pub(super) fn lists(few: u64) -> u64 {
    std::env::var("LUISAC_LISTS").ok().and_then(|n| n.parse().ok()).unwrap_or(few)
}

fn try_lists(few: u64, most: u64, many: u32, exact: bool, arrays: u64) {
    for seed in 0..lists(few) {
        let random = &mut Random::new(seed + u64::from(many) * 1_000_003);
        let shape = Shape {
            commands: 1 + random.below(most),
            resources: 1 + random.below(4),
            len: 1 + if random.chance(50) { random.below(12) } else { random.below(60) },
            arrays: if arrays == 0 { 0 } else { random.below(arrays + 1) },
            slots: 1 + random.below(12),
            writes: 10 + random.below(70),
            barriers: random.below(3) * 4,
        };
        let (graph, plain) = random_list(random, &shape, many);
        let result = std::panic::catch_unwind(|| judge(&graph, &plain, exact));
        assert!(result.is_ok(), "the list of seed {seed} is wrong");
    }
}

#[test]
fn spans_without_joints() {
    try_lists(3000, 40, u32::MAX - 2, true, 0);
}

#[test]
fn arrays_without_joints() {
    try_lists(3000, 40, u32::MAX - 2, true, 3);
}

#[test]
fn joints_for_everything() {
    // Joints count among the nodes that a word of bits can hold.
    try_lists(3000, 14, 1, false, 2);
}

#[test]
fn joints_for_some() {
    try_lists(3000, 24, 3, false, 2);
}

/// A list in which every one of many readers meets every one of many writers.
#[test]
fn many_readers_of_many_parts_need_few_edges() {
    let n = 1000u64;
    let mut scheduler = Scheduler::default();
    scheduler.resource(n);
    let span = |start, end| Span { resource: 0, start, end };
    for round in 0..2 {
        (0..n).for_each(|i| scheduler.command(&[Access::Span(span(i, i + 1), true)]));
        for i in 0..n {
            // Whole reads, and long ones at random.
            let (a, b) = (i * 7919 % n, i * 104_729 % n);
            let part = if round == 0 { span(0, n) } else { span(a.min(b), a.max(b)) };
            scheduler.command(&[Access::Span(part, false)]);
        }
    }
    (0..n).for_each(|i| scheduler.command(&[Access::Span(span(i, i + 1), true)]));
    let graph = scheduler.finish();
    let (commands, edges) = (5 * n as usize, graph.edges());
    // All pairs would be two millions.
    assert!(edges < 40 * commands, "{edges} edges of {commands} commands");
    assert_eq!(graph.levels().len(), 5);
}

/// More ranges of one buffer than LuisaCompute's scheduler keeps apart.
#[test]
fn seventeen_ranges_of_one_buffer_are_kept_apart() {
    let mut scheduler = Scheduler::default();
    scheduler.resource(1700);
    for round in 0..3 {
        for i in 0..17 {
            let span = Span { resource: 0, start: i * 100, end: (i + 1) * 100 };
            scheduler.command(&[Access::Span(span, round != 1)]);
        }
    }
    let graph = scheduler.finish();
    assert_eq!(graph.levels().iter().map(Vec::len).collect::<Vec<_>>(), [17, 17, 17]);
    assert_eq!(graph.edges(), 34);
    for node in 17..51 {
        assert_eq!(graph.before(node), [node - 17]);
    }
}

/// What is read all the time was written long ago: the search for edges must not go back all the way each time.
#[test]
fn a_constant_of_long_ago_costs_nothing() {
    let mut scheduler = Scheduler::default();
    let resources: Vec<u32> = (0..3).map(|_| scheduler.resource(4)).collect();
    let whole = |r: usize| Span { resource: resources[r], start: 0, end: 4 };
    scheduler.command(&[Access::Span(whole(0), true)]);
    for i in 0..10_000 {
        let target = Access::Span(whole(1 + i % 2), true);
        scheduler.command(&[Access::Span(whole(0), false), target]);
    }
    let graph = scheduler.finish();
    assert_eq!(graph.edges(), 10_000);
}

/// Lists much longer than the bits of a node reach, of resources that are used again after a long time: nothing far away that
/// others imply is kept, and nothing else is lost.
#[test]
fn edges_from_far_away_are_needed() {
    for (seed, resources) in [(1, 100), (2, 400), (3, 1500)] {
        let random = &mut Random::new(seed);
        let mut scheduler = Scheduler::with(u32::MAX - 2, Segments::default());
        (0..resources).for_each(|_| {
            scheduler.resource(1);
        });
        for _ in 0..4000 {
            let mut whole = |write| {
                let resource = random.below(resources) as u32;
                Access::Span(Span { resource, start: 0, end: 1 }, write)
            };
            scheduler.command(&[whole(false), whole(false), whole(true)]);
        }
        let graph = scheduler.finish();
        let words = graph.len().div_ceil(64) as usize;
        let (mut from, mut far) = (vec![0u64; graph.len() as usize * words], 0);
        let has = |bits: &[u64], n: u32| bits[n as usize / 64] >> (n % 64) & 1 == 1;
        for node in 0..graph.len() {
            let mut bits = vec![0; words];
            for before in graph.before(node) {
                let start = *before as usize * words;
                bits.iter_mut().zip(&from[start..start + words]).for_each(|(b, f)| *b |= f);
            }
            for before in graph.before(node) {
                assert!(!has(&bits, *before), "the edge from {before} to {node} is not needed");
                far += u32::from(node - before > super::nodes::WINDOW);
            }
            graph.before(node).iter().for_each(|n| bits[*n as usize / 64] |= 1 << (n % 64));
            from[node as usize * words..][..words].copy_from_slice(&bits);
        }
        assert!(resources < 400 || far > 100, "only {far} edges from far away");
    }
}

/// A change of one member of many costs what that member costs.
#[test]
fn members_change_one_by_one() {
    let (n, rounds) = (1000, 300u64);
    let mut scheduler = Scheduler::default();
    let whole = |resource, write| Access::Span(Span { resource, start: 0, end: 4 }, write);
    (0..=n).for_each(|_| {
        scheduler.resource(4);
    });
    scheduler.array();
    for round in 0..rounds {
        scheduler.command(&[whole(0, true)]);
        // All members at first, then some.
        let places = if round == 0 { 0..u64::from(n) } else { round..round + 1 };
        for place in places {
            let resource = 1 + (place + round) as u32 % n;
            let member = Span { resource, start: 0, end: 4 };
            scheduler.set_member(0, place, Some(member));
        }
        scheduler.command(&[whole(1 + (round * 7) as u32 % n, true)]);
        scheduler.command(&[whole(0, false), Access::Members(0, false)]);
        scheduler.command(&[whole(0, false), Access::Members(0, false)]);
    }
    let graph = scheduler.finish();
    assert!(graph.edges() < 60 * rounds as usize, "{} edges", graph.edges());
}
