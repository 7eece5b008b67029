//! Strongly connected components (R. Tarjan, "Depth-first search and linear graph algorithms", 1972), without recursion.

/// The components of a graph with nodes `0..count`.
#[derive(Clone, Debug, Default)]
pub struct Components {
    /// Component of each node. A component's number is above those of all components that it leads to.
    pub of: Vec<u32>,
    /// How many components there are.
    pub count: u32,
}

impl Components {
    /// Finds the components; linear in nodes and edges. Nodes are started from in order.
    pub fn compute<'a>(count: usize, successors: impl Fn(u32) -> &'a [u32]) -> Components {
        const NEW: u32 = u32::MAX;
        let mut found = Components { of: vec![NEW; count], count: 0 };
        let mut number = vec![NEW; count];
        let mut low = vec![0u32; count];
        let mut next_number = 0;
        // Nodes without a component yet, and the walk: (node, successors seen).
        let (mut open, mut walk) = (Vec::new(), Vec::new());
        for start in 0..count as u32 {
            if number[start as usize] == NEW {
                walk.push((start, 0usize));
            }
            while let Some(&mut (node, ref mut seen)) = walk.last_mut() {
                let n = node as usize;
                if *seen == 0 && number[n] == NEW {
                    number[n] = next_number;
                    low[n] = next_number;
                    next_number += 1;
                    open.push(node);
                }
                if let Some(&target) = successors(node).get(*seen) {
                    *seen += 1;
                    let t = target as usize;
                    if number[t] == NEW {
                        walk.push((target, 0));
                    } else if found.of[t] == NEW {
                        low[n] = low[n].min(number[t]);
                    }
                    continue;
                }
                walk.pop();
                if let Some(&(above, _)) = walk.last() {
                    low[above as usize] = low[above as usize].min(low[n]);
                }
                if low[n] == number[n] {
                    while let Some(member) = open.pop() {
                        found.of[member as usize] = found.count;
                        if member == node {
                            break;
                        }
                    }
                    found.count += 1;
                }
            }
        }
        found
    }
}
