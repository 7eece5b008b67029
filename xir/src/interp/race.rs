//! Data races, found by remembering who touched what.
//!
//! A *phase* is the time between two barriers of one block; blocks run one after the other, so phases are numbered through the
//! whole run. Two accesses by different threads are ordered if they are of one block and in different phases. For each granule
//! of memory three records are kept: the last plain write, the last plain reads and the last atomic operations.

/// Which kind of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
    Atomic,
}

impl Access {
    pub fn name(self) -> &'static str {
        match self {
            Access::Read => "a read",
            Access::Write => "a write",
            Access::Atomic => "an atomic operation",
        }
    }
}

/// When and by whom: phase in the high half, then flags and the lane. Zero: never.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Record(u64);

/// More than one thread in that phase.
const MANY: u64 = 1 << 31;
/// Some thread of an earlier block too.
const EARLIER: u64 = 1 << 30;
const LANE: u64 = 0xffff;

impl Record {
    fn phase(self) -> u32 {
        (self.0 >> 32) as u32
    }
    fn lane(self) -> u32 {
        (self.0 & LANE) as u32
    }
}

/// The thread that accesses, and what it is ordered with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
    pub lane: u32,
    pub phase: u32,
    /// First phase of the thread's block.
    pub block_start: u32,
}

impl Now {
    fn record(self) -> Record {
        Record(u64::from(self.phase) << 32 | u64::from(self.lane))
    }

    /// Whether the recorded access is by another thread and not ordered with one now. The records of memory that belongs to
    /// one block mean nothing to the next.
    fn meets(self, record: Record, of_block: bool) -> bool {
        if record.phase() < self.block_start {
            return record.0 != 0 && !of_block;
        }
        record.0 & EARLIER != 0
            || record.phase() == self.phase && (record.0 & MANY != 0 || record.lane() != self.lane)
    }

    /// The record after an access that does not exclude others.
    fn add(self, record: Record, of_block: bool) -> Record {
        let mut flags = record.0 & EARLIER;
        if record.phase() == self.phase {
            flags |= record.0 & MANY;
            if record.lane() != self.lane {
                flags |= MANY;
            }
        } else if record.0 != 0 && record.phase() < self.block_start {
            flags = EARLIER;
        }
        if of_block {
            flags &= !EARLIER;
        }
        Record(self.record().0 | flags)
    }
}

/// What an access met: its kind, its phase, and its lane if it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Met {
    pub access: Access,
    pub phase: u32,
    pub lane: u32,
}

/// The records of one buffer, image or shared memory.
#[derive(Default)]
pub(super) struct Shadow {
    /// Bytes of a granule.
    granule: u64,
    /// Whether the memory belongs to one block.
    of_block: bool,
    writes: Vec<Record>,
    reads: Vec<Record>,
    /// Empty until the first atomic operation.
    atomics: Vec<Record>,
}

impl Shadow {
    /// Records for `bytes` bytes.
    pub fn new(bytes: u64, granule: u64, of_block: bool) -> Shadow {
        let count = bytes.div_ceil(granule.max(1)) as usize;
        Shadow {
            granule: granule.max(1),
            of_block,
            writes: vec![Record(0); count],
            reads: vec![Record(0); count],
            atomics: Vec::new(),
        }
    }

    /// Records an access of `size` bytes; the first unordered one that it meets.
    pub fn access(&mut self, access: Access, at: u64, size: u64, now: Now) -> Option<Met> {
        if access == Access::Atomic && self.atomics.is_empty() {
            self.atomics = vec![Record(0); self.writes.len()];
        }
        let last = (at + size.max(1) - 1) / self.granule;
        for granule in at / self.granule..=last {
            if let Some(met) = self.granule(access, granule as usize, now) {
                return Some(met);
            }
        }
        None
    }

    fn granule(&mut self, access: Access, at: usize, now: Now) -> Option<Met> {
        let of_block = self.of_block;
        let write = self.writes.get_mut(at)?;
        let read = self.reads.get_mut(at)?;
        let mut none = Record(0);
        let atomic = self.atomics.get_mut(at).unwrap_or(&mut none);
        let met = |record: &Record, kind: Access| {
            now.meets(*record, of_block).then(|| Met {
                access: kind,
                phase: record.phase(),
                lane: record.lane(),
            })
        };
        let found = met(write, Access::Write)
            .or_else(|| if access == Access::Read { None } else { met(read, Access::Read) })
            .or_else(|| if access == Access::Atomic { None } else { met(atomic, Access::Atomic) });
        match access {
            Access::Read => *read = now.add(*read, of_block),
            Access::Write => *write = now.record(),
            Access::Atomic => *atomic = now.add(*atomic, of_block),
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(lane: u32, phase: u32, block_start: u32) -> Now {
        Now { lane, phase, block_start }
    }

    /// The accesses in order; whether the last one, and no other, is a race.
    #[track_caller]
    fn check(of_block: bool, accesses: &[(Access, Now)], race: bool) {
        let mut shadow = Shadow::new(16, 4, of_block);
        for (i, &(access, now)) in accesses.iter().enumerate() {
            let met = shadow.access(access, 4, 4, now);
            assert_eq!(met.is_some(), race && i + 1 == accesses.len(), "access {i}: {met:?}");
        }
    }

    #[test]
    fn orders() {
        use Access::*;
        let (a, b) = (at(0, 1, 1), at(1, 1, 1));
        let (later, other) = (at(1, 2, 1), at(0, 3, 3));
        check(false, &[(Write, a), (Read, a), (Write, a)], false);
        check(false, &[(Write, a), (Read, b)], true);
        check(false, &[(Write, a), (Write, b)], true);
        check(false, &[(Read, a), (Read, b)], false);
        check(false, &[(Read, a), (Read, b), (Write, b)], true);
        check(false, &[(Read, a), (Write, b)], true);
        check(false, &[(Write, a), (Read, later)], false);
        check(false, &[(Read, a), (Read, b), (Write, later)], false);
        check(false, &[(Write, a), (Read, other)], true);
        check(true, &[(Write, a), (Read, other)], false);
        check(false, &[(Read, a), (Read, other), (Write, other)], true);
        check(true, &[(Read, a), (Read, other), (Write, other)], false);
        check(false, &[(Atomic, a), (Atomic, b), (Atomic, other)], false);
        check(false, &[(Atomic, a), (Read, b)], true);
        check(false, &[(Atomic, a), (Read, a)], false);
        check(false, &[(Atomic, a), (Read, later)], false);
        check(false, &[(Write, a), (Atomic, b)], true);
        check(false, &[(Read, a), (Atomic, b)], true);
    }
}
