//! What the scheduler costs, by itself: `cargo bench -p luisac-runtime --bench schedule [KIND]`. For each kind and length of list:
//! nanoseconds of processor time a command, and what comes out.

#[path = "../src/schedule/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the crate keeps it to itself, with its tests")]
mod schedule;

use schedule::{Access, Graph, Scheduler, Span};

/// Xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }
}

/// What happens in a list.
enum Step {
    Command(Vec<Access>),
    /// A place of array 0 is given another member, resource 0 being the table.
    Member(u64, Span),
}

struct Kind {
    name: &'static str,
    /// Number of resources for a number of commands, and the length of each.
    resources: fn(u64) -> u64,
    len: u64,
    /// Members of array 0, one a resource from 1 on.
    members: u64,
    step: fn(u64, &mut Random) -> Step,
}

const MIB: u64 = 1 << 20;

fn span(resource: u64, start: u64, end: u64) -> Span {
    Span { resource: resource as u32, start, end }
}

fn read(resource: u64, start: u64, end: u64) -> Access {
    Access::Span(span(resource, start, end), false)
}

fn write(resource: u64, start: u64, end: u64) -> Access {
    Access::Span(span(resource, start, end), true)
}

fn kinds() -> Vec<Kind> {
    let plain = |name, resources, len, step| Kind { name, resources, len, members: 0, step };
    vec![
        plain("independent buffers", |n| n, 64, |i, _| Step::Command(vec![write(i, 0, 64)])),
        plain(
            "independent ranges of one buffer",
            |_| 1,
            u64::MAX,
            |i, _| Step::Command(vec![write(0, 64 * i, 64 * i + 64)]),
        ),
        plain(
            "a frame: passes over 64 targets",
            |_| 64,
            MIB,
            |i, _| Step::Command(vec![read(i % 64, 0, MIB), write((i + 1) % 64, 0, MIB)]),
        ),
        plain(
            "1,000 readers of a buffer, then a writer",
            |_| 1,
            MIB,
            |i, _| {
                let access = if i % 1001 == 1000 { write(0, 0, MIB) } else { read(0, 0, MIB) };
                Step::Command(vec![access])
            },
        ),
        plain(
            "mip chains of 64 images, 10 levels",
            |_| 64,
            10,
            |i, _| {
                let (image, level) = (i / 9 % 64, i % 9);
                Step::Command(vec![
                    read(image, level, level + 1),
                    write(image, level + 1, level + 2),
                ])
            },
        ),
        plain(
            "copies among parts of 64 buffers",
            |_| 64,
            MIB,
            |i, random| {
                let mut part = || (random.below(64), (random.below(16)) * (MIB / 16));
                let ((a, s), (b, t)) = (part(), part());
                if i % 4 == 3 {
                    return Step::Command(vec![read(a, s, s + MIB / 16)]);
                }
                Step::Command(vec![read(a, s, s + MIB / 16), write(b, t, t + MIB / 16)])
            },
        ),
        Kind {
            name: "a bindless array of 1,000 buffers",
            resources: |_| 1065,
            len: MIB,
            members: 1000,
            step: |i, random| match i % 128 {
                // The table changes; then some members do; all others read through it.
                0 => Step::Member(random.below(1000), span(1 + random.below(1000), 0, MIB)),
                1..8 => Step::Command(vec![write(1 + random.below(1000), 0, MIB)]),
                _ => Step::Command(vec![
                    read(0, 0, 1),
                    Access::Members(0, false),
                    write(1001 + i % 64, 0, MIB),
                ]),
            },
        },
        plain(
            "a window that slides over a buffer",
            |_| 1,
            MIB,
            |i, _| {
                let start = 64 * i % (MIB - 256);
                Step::Command(vec![write(0, start, start + 256)])
            },
        ),
        plain(
            "random: two reads and a write of 1,000 buffers",
            |_| 1000,
            MIB,
            |_, random| {
                let mut one = || random.below(1000);
                Step::Command(vec![read(one(), 0, MIB), read(one(), 0, MIB), write(one(), 0, MIB)])
            },
        ),
        plain(
            "random: 4,096 tiles of one buffer",
            |_| 1,
            MIB,
            |_, random| {
                let mut tile = || random.below(4096) * 256;
                let (from, to) = (tile(), tile());
                Step::Command(vec![read(0, from, from + 256), write(0, to, to + 256)])
            },
        ),
        plain(
            "random: ranges of 16 buffers that overlap",
            |_| 16,
            MIB,
            |_, random| {
                let mut part = || {
                    let (start, len) = (random.below(MIB), 1 + random.below(1 << 14));
                    (random.below(16), start, (start + len).min(MIB))
                };
                let ((a, s, e), (b, t, f)) = (part(), part());
                Step::Command(vec![read(a, s, e), write(b, t, f)])
            },
        ),
    ]
}

fn run(kind: &Kind, n: u64, steps: &[Step]) -> Graph {
    let mut scheduler = Scheduler::default();
    (0..(kind.resources)(n)).for_each(|_| {
        scheduler.resource(kind.len);
    });
    let array = scheduler.array();
    for place in 0..kind.members {
        scheduler.set_member(array, place, Some(span(1 + place, 0, kind.len)));
    }
    for step in steps {
        match step {
            Step::Command(accesses) => scheduler.command(accesses),
            Step::Member(place, member) => {
                scheduler.command(&[write(0, 0, 1)]);
                scheduler.set_member(array, *place, Some(*member));
            }
        }
    }
    scheduler.finish()
}

/// Nanoseconds that this thread has run, so that other programs do not count; where the system does not say, time goes by.
fn processor_time() -> u64 {
    static START: std::sync::LazyLock<std::time::Instant> =
        std::sync::LazyLock::new(std::time::Instant::now);
    // Its own time is brought up to date when the thread gives way.
    std::thread::yield_now();
    let known = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let known = known.and_then(|text| text.split(' ').next()?.parse().ok());
    known.unwrap_or_else(|| START.elapsed().as_nanos() as u64)
}

fn main() {
    let filter = std::env::args().skip(1).find(|a| !a.starts_with('-')).unwrap_or_default();
    for kind in kinds().iter().filter(|k| k.name.contains(&filter)) {
        for n in [10_000u64, 100_000, 1_000_000] {
            let random = &mut Random(0x9e37_79b9);
            let steps: Vec<Step> = (0..n).map(|i| (kind.step)(i, random)).collect();
            let runs = 1_000_000 / n;
            let (start, mut graph) = (processor_time(), Graph::default());
            (0..runs).for_each(|_| graph = run(kind, n, &steps));
            let each = (processor_time() - start) as f64 / (n * runs) as f64;
            let (edges, levels) = (graph.edges() as f64 / n as f64, graph.levels().len());
            println!("{:46} {n:8}: {each:5.0} ns, {edges:.2} edges, {levels} levels", kind.name);
        }
    }
}
