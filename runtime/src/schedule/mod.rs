//! The scheduler: which commands have to wait for which. It knows no device and no resource, only numbers and ranges.

mod graph;

pub(crate) use graph::Graph;

/// Every command after the one before.
pub(crate) fn chain(commands: usize) -> Graph {
    let mut before = graph::Rows::default();
    (0..commands as u32).for_each(|c| before.push(c.checked_sub(1)));
    Graph::new((0..commands as u32).collect(), (0..commands as u32).collect(), before)
}
