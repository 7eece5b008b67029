//! The graph that the scheduler makes.

/// Commands and what each has to wait for. Nodes are numbered so that edges go from smaller to larger numbers. A node without
/// a command is a joint: it stands for all that it waits for, so that many commands can wait for many without an edge for
/// each pair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Graph {
    /// The command of each node, [`JOINT`] for joints, and its level.
    nodes: Vec<(u32, u32)>,
    before: Rows,
    after: Rows,
    /// The resource behind each edge of `before`; `u32::MAX` if it is not one.
    causes: Vec<u32>,
}

/// In the place of a command.
pub(super) const JOINT: u32 = u32::MAX;

/// Lists of numbers, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rows {
    ends: Vec<u32>,
    items: Vec<u32>,
}

impl Rows {
    pub(super) fn push(&mut self, row: impl IntoIterator<Item = u32>) {
        self.items.extend(row);
        self.ends.push(self.items.len() as u32);
    }

    pub(super) fn row(&self, row: u32) -> &[u32] {
        let end = self.ends.get(row as usize).copied().unwrap_or(0) as usize;
        self.items.get(self.start(row)..end).unwrap_or_default()
    }

    fn start(&self, row: u32) -> usize {
        let end = row.checked_sub(1).and_then(|r| self.ends.get(r as usize));
        end.copied().unwrap_or(0) as usize
    }

    /// Number of rows.
    pub(super) fn rows(&self) -> usize {
        self.ends.len()
    }

    /// Number of items of all rows.
    pub(super) fn items(&self) -> usize {
        self.items.len()
    }

    /// The items of all rows.
    pub(super) fn all(&self) -> &[u32] {
        &self.items
    }

    /// Replaces an item, by its position among all.
    pub(super) fn replace(&mut self, place: u32, item: u32) {
        self.items[place as usize] = item;
    }

    /// Removes all items of this value.
    pub(super) fn remove(&mut self, item: u32) {
        let (mut from, mut kept) = (0, 0);
        for end in &mut self.ends {
            for i in from..*end as usize {
                if self.items[i] != item {
                    self.items[kept] = self.items[i];
                    kept += 1;
                }
            }
            from = *end as usize;
            *end = kept as u32;
        }
        self.items.truncate(kept);
    }

    /// The rows turned round: to each item, which rows hold it, in order. Items are numbers of rows.
    fn reversed(&self) -> Self {
        // First where each row begins, and at last, when it is full, where it ends.
        let mut ends = vec![0u32; self.ends.len() + 1];
        for item in &self.items {
            ends[*item as usize + 1] += 1;
        }
        for i in 1..ends.len() {
            ends[i] += ends[i - 1];
        }
        ends.pop();
        let mut items = vec![0; self.items.len()];
        let mut start = 0;
        for (row, end) in self.ends.iter().enumerate() {
            for item in &self.items[start..*end as usize] {
                let place = &mut ends[*item as usize];
                items[*place as usize] = row as u32;
                *place += 1;
            }
            start = *end as usize;
        }
        Self { ends, items }
    }
}

impl Graph {
    /// A graph of nodes, commands with their levels, and rows of what they wait for.
    pub(super) fn new(nodes: Vec<(u32, u32)>, before: Rows, causes: Vec<u32>) -> Self {
        let after = before.reversed();
        Self { nodes, before, after, causes }
    }

    /// Number of nodes.
    pub(crate) fn len(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// The position of a node's command; `None` for a joint.
    pub(crate) fn command(&self, node: u32) -> Option<u32> {
        self.nodes.get(node as usize).map(|(c, _)| *c).filter(|c| *c != JOINT)
    }

    /// What a node waits for.
    pub(crate) fn before(&self, node: u32) -> &[u32] {
        self.before.row(node)
    }

    /// What a node waits for, with the resource behind it.
    pub(crate) fn reasons(&self, node: u32) -> impl Iterator<Item = (u32, Option<u32>)> + '_ {
        let row = self.before(node);
        let start = self.before.start(node);
        let cause = move |i| self.causes.get(start + i).copied().filter(|c| *c != u32::MAX);
        row.iter().enumerate().map(move |(i, n)| (*n, cause(i)))
    }

    /// What waits for a node.
    pub(crate) fn after(&self, node: u32) -> &[u32] {
        self.after.row(node)
    }

    /// The level of a node: one more than the greatest of those that it waits for, counting from 0. A joint has the greatest.
    pub(crate) fn level(&self, node: u32) -> u32 {
        self.nodes.get(node as usize).map_or(0, |(_, level)| *level)
    }

    /// Number of edges.
    pub(crate) fn edges(&self) -> usize {
        self.before.items()
    }

    /// The commands of each level, in the order they were recorded.
    pub(crate) fn levels(&self) -> Vec<Vec<u32>> {
        let mut levels: Vec<Vec<u32>> = Vec::new();
        for node in 0..self.len() {
            let Some(command) = self.command(node) else { continue };
            let level = self.level(node) as usize;
            if levels.len() <= level {
                levels.resize_with(level + 1, Vec::new);
            }
            levels[level].push(command);
        }
        levels
    }
}
