//! Edges from far away: whether others imply them.
//!
//! Each question is about an edge from a node to one much later. Many are answered at once: a row of bits, one a source, is carried
//! along the graph, from the first source to the last node that a question is about. Questions are gathered by the power of two of
//! their distance, so that a sweep is not much longer than what it asks about. So the work for each class is the length of the list
//! and, for each set of [`WINDOW`] sources, the distance. All of it has a limit, [`FREE`] and [`VISITS`] a node; edges that it leaves
//! unsettled are kept, which orders nothing that is not ordered anyway.

use super::{
    graph::Rows,
    nodes::{Bits, NONE, WINDOW, WORDS, has, set},
};

/// Most visits of nodes that all sweeps together make, for each node of the graph.
const VISITS: usize = 4;
/// Visits that are always allowed.
const FREE: usize = 1 << 18;
/// Longest sweep, in nodes.
const LONGEST: usize = 1 << 17;
/// Classes of distances, from [`WINDOW`] on.
const CLASSES: usize = 8;

/// Whether an edge, by its position among all, is needed by the node that it goes to.
#[derive(Clone, Copy)]
pub(super) struct Question {
    pub(super) node: u32,
    pub(super) edge: u32,
}

/// All questions.
#[derive(Default)]
pub(super) struct Far {
    /// By distance, each in the order of nodes.
    classes: [Vec<Question>; CLASSES],
}

impl Far {
    pub(super) fn ask(&mut self, question: Question, distance: u32) {
        let class = (distance / WINDOW).checked_ilog2().unwrap_or(0) as usize;
        if let Some(class) = self.classes.get_mut(class) {
            class.push(question);
        }
    }

    /// Puts [`NONE`] into the place of edges that are implied; says whether there are any.
    pub(super) fn settle(&self, edges: &mut Rows) -> bool {
        let mut sweep = Sweep::default();
        let mut left = FREE + VISITS * edges.rows();
        for class in &self.classes {
            let mut rest = &class[..];
            while !rest.is_empty() {
                rest = sweep.gather(rest, edges);
                match left.checked_sub(sweep.nodes()) {
                    Some(less) => left = less,
                    None => return sweep.found,
                }
                sweep.run(edges);
            }
        }
        sweep.found
    }
}

/// Questions that are answered together.
#[derive(Default)]
struct Sweep {
    /// With the bit of the source.
    questions: Vec<(Question, u16)>,
    first: u32,
    last: u32,
    /// The bit of each node from `first` on, if it is a source.
    sources: Vec<u16>,
    /// The sources that each node from `first` on waits for, and itself.
    reached: Vec<Bits>,
    found: bool,
}

/// In the place of a source's bit.
const NO_SOURCE: u16 = u16::MAX;

impl Sweep {
    fn nodes(&self) -> usize {
        self.questions.first().map_or(0, |_| (self.last - self.first) as usize + 1)
    }

    /// Takes questions from the front until the bits are used up; returns the rest.
    fn gather<'a>(&mut self, questions: &'a [Question], edges: &Rows) -> &'a [Question] {
        self.questions.clear();
        let source = |q: &Question| edges.all()[q.edge as usize];
        let mut taken = 0;
        (self.first, self.last) = (NONE, 0);
        // Each may have a source of its own.
        for question in questions.iter().take(WINDOW as usize) {
            let (first, last) = (self.first.min(source(question)), question.node);
            if taken > 0 && (last - first) as usize >= LONGEST {
                break;
            }
            (self.first, self.last) = (first, last);
            taken += 1;
        }
        self.sources.clear();
        self.sources.resize(self.nodes_of(taken), NO_SOURCE);
        let mut bits = 0;
        for question in &questions[..taken] {
            let bit = &mut self.sources[(source(question) - self.first) as usize];
            if *bit == NO_SOURCE {
                *bit = bits;
                bits += 1;
            }
            self.questions.push((*question, *bit));
        }
        &questions[taken..]
    }

    fn nodes_of(&self, taken: usize) -> usize {
        if taken == 0 { 0 } else { (self.last - self.first) as usize + 1 }
    }

    /// Carries the sources along the graph.
    fn run(&mut self, edges: &mut Rows) {
        let (mut next, first) = (0, self.first);
        self.reached.clear();
        for (i, bit) in self.sources.iter().enumerate() {
            let node = first + i as u32;
            let mut bits = [0; WORDS];
            for before in edges.row(node) {
                // Also false for edges that are gone.
                if let Some(of) = self.reached.get(before.wrapping_sub(first) as usize) {
                    bits.iter_mut().zip(of).for_each(|(to, of)| *to |= of);
                }
            }
            while let Some((question, bit)) = self.questions.get(next)
                && question.node == node
            {
                next += 1;
                let source = edges.all()[question.edge as usize];
                let implied = edges.row(node).iter().any(|before| {
                    let of = self.reached.get(before.wrapping_sub(first) as usize);
                    *before != source && of.is_some_and(|of| has(of, u32::from(*bit)))
                });
                if implied {
                    edges.replace(question.edge, NONE);
                    self.found = true;
                }
            }
            if *bit != NO_SOURCE {
                set(&mut bits, u32::from(*bit));
            }
            self.reached.push(bits);
        }
    }
}
