//! Random programs of barriers and branches, run thread by thread: a barrier that is reported is never one that all
//! threads of the block come to alike.

use super::{codes, run};
use crate::check::check;
use crate::check::tests::{RETURN, assign, call, eval, program, scope, uint, var};
use crate::model::{ExprKind, FunctionId};
use crate::place::{Place, locate};
use crate::testing::Random;
use crate::{CallOp, json};

const THREADS: u64 = 32;

/// What a condition says of a thread.
#[derive(Clone, Copy, Debug)]
enum Condition {
    /// Its index is below this.
    Below(u8),
    /// The lowest bit of its index is set.
    Odd,
    /// What variable 1 holds is below this.
    Holds(u8),
    /// Something of which the text says nothing, the same for all threads; by number.
    Unknown(u64),
}

#[derive(Debug)]
enum Node {
    Barrier(usize),
    Return,
    Break,
    Continue,
    /// Variable 1 becomes the index, or a number.
    Set(Option<u8>),
    If(Condition, Vec<Node>, Vec<Node>),
    /// Left at the latest when the unknown of this number says so.
    Loop(u64, Vec<Node>),
    /// By the two lowest bits of the index.
    Switch(Vec<(u8, Vec<Node>)>, Vec<Node>),
}

struct Generator {
    random: Random,
    barriers: usize,
    unknowns: u64,
}

impl Generator {
    fn list(&mut self, depth: usize, in_loop: bool) -> Vec<Node> {
        let count = 1 + self.random.below(3);
        (0..count).map(|_| self.node(depth, in_loop)).collect()
    }

    fn unknown(&mut self) -> u64 {
        self.unknowns += 1;
        self.unknowns
    }

    fn condition(&mut self) -> Condition {
        match self.random.below(5) {
            0 => Condition::Below([1, 16, 31, 32, 40][self.random.below(5)]),
            1 => Condition::Odd,
            2 => Condition::Holds(8),
            _ => Condition::Unknown(self.unknown()),
        }
    }

    fn node(&mut self, depth: usize, in_loop: bool) -> Node {
        let kinds = if depth == 0 { 5 } else { 9 };
        match self.random.below(kinds) {
            0 | 1 => {
                self.barriers += 1;
                Node::Barrier(self.barriers - 1)
            }
            2 if self.random.one_in(4) => Node::Return,
            3 if in_loop && self.random.one_in(2) => Node::Break,
            4 if in_loop && self.random.one_in(3) => Node::Continue,
            2..=4 => Node::Set([None, Some(3), Some(20)][self.random.below(3)]),
            5 | 6 => {
                let condition = self.condition();
                let on_true = self.list(depth - 1, in_loop);
                let has_else = self.random.one_in(2);
                let on_false = if has_else { self.list(depth - 1, in_loop) } else { Vec::new() };
                Node::If(condition, on_true, on_false)
            }
            7 => Node::Loop(self.unknown(), self.list(depth - 1, true)),
            _ => {
                let values = if self.random.one_in(2) { vec![0] } else { vec![1, 3] };
                let cases = values.into_iter().map(|v| (v, self.list(depth - 1, in_loop)));
                let cases = cases.collect();
                Node::Switch(cases, self.list(depth - 1, in_loop))
            }
        }
    }
}

/// As JSON, for the kernel of the sketches: variable 5 is the dispatch id.
fn text(nodes: &[Node]) -> String {
    let x = format!(r#"{{"tag":"MEMBER","type":0,"self":{},"swizzle":"x"}}"#, var(5));
    let binary = |op: &str, ty: u32, lhs: &str, rhs: &str| {
        format!(r#"{{"tag":"BINARY","type":{ty},"op":"{op}","lhs":{lhs},"rhs":{rhs}}}"#)
    };
    let bits = |mask: u8| binary("BIT_AND", 0, &x, &uint(mask));
    let condition = |condition: Condition| match condition {
        Condition::Below(n) => binary("LESS", 3, &x, &uint(n)),
        Condition::Odd => binary("EQUAL", 3, &bits(1), &uint(1)),
        Condition::Holds(n) => binary("LESS", 3, &var(1), &uint(n)),
        Condition::Unknown(_) => var(9),
    };
    let one = |node: &Node| match node {
        Node::Barrier(_) => eval(&call("SYNCHRONIZE_BLOCK", 2, &[])),
        Node::Return => r#"{"tag":"RETURN","expression":null}"#.into(),
        Node::Break => r#"{"tag":"BREAK"}"#.into(),
        Node::Continue => r#"{"tag":"CONTINUE"}"#.into(),
        Node::Set(None) => assign(&var(1), &x),
        Node::Set(Some(value)) => assign(&var(1), &uint(*value)),
        Node::If(test, on_true, on_false) => format!(
            r#"{{"tag":"IF","condition":{},"true_branch":{},"false_branch":{}}}"#,
            condition(*test),
            scope(&text(on_true)),
            scope(&text(on_false))
        ),
        Node::Loop(_, body) => {
            let leave = format!(
                r#"{{"tag":"IF","condition":{},"true_branch":{},"false_branch":{}}}"#,
                var(9),
                scope(r#"{"tag":"BREAK"}"#),
                scope("")
            );
            let body = format!("{leave},{}", text(body));
            format!(r#"{{"tag":"LOOP","body":{}}}"#, scope(&body))
        }
        Node::Switch(cases, default) => {
            let mut all: Vec<String> = cases
                .iter()
                .map(|(v, body)| crate::check::tests::case(i64::from(*v), &text(body)))
                .collect();
            all.push(format!(r#"{{"tag":"SWITCH_DEFAULT","body":{}}}"#, scope(&text(default))));
            format!(
                r#"{{"tag":"SWITCH","expression":{},"body":{}}}"#,
                bits(3),
                scope(&all.join(","))
            )
        }
    };
    nodes.iter().map(one).collect::<Vec<_>>().join(",")
}

#[derive(PartialEq)]
enum Flow {
    Next,
    Break,
    Continue,
    Return,
}

/// One thread of one run.
struct Thread {
    index: u64,
    /// Decides the unknowns.
    seed: u64,
    variable: u64,
    /// Rounds of the loops around.
    rounds: Vec<u64>,
    trace: Vec<usize>,
}

impl Thread {
    /// The same for every thread that comes here in the same round.
    fn unknown(&self, number: u64) -> bool {
        let start = self.seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = self
            .rounds
            .iter()
            .fold(start, |h, round| (h ^ round).wrapping_mul(0x2545_f491_4f6c_dd1d));
        (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 63 == 1
    }

    fn holds(&self, condition: Condition) -> bool {
        match condition {
            Condition::Below(n) => self.index < u64::from(n),
            Condition::Odd => self.index & 1 == 1,
            Condition::Holds(n) => self.variable < u64::from(n),
            Condition::Unknown(number) => self.unknown(number),
        }
    }

    fn run(&mut self, nodes: &[Node]) -> Flow {
        for node in nodes {
            let flow = self.step(node);
            if flow != Flow::Next {
                return flow;
            }
        }
        Flow::Next
    }

    fn step(&mut self, node: &Node) -> Flow {
        match node {
            Node::Barrier(number) => self.trace.push(*number),
            Node::Return => return Flow::Return,
            Node::Break => return Flow::Break,
            Node::Continue => return Flow::Continue,
            Node::Set(value) => self.variable = value.map_or(self.index, u64::from),
            Node::If(condition, on_true, on_false) => {
                let taken = if self.holds(*condition) { on_true } else { on_false };
                return self.run(taken);
            }
            Node::Loop(leave, body) => {
                self.rounds.push(0);
                let flow = self.rounds_of(*leave, body);
                self.rounds.pop();
                return flow;
            }
            Node::Switch(cases, default) => {
                let case = cases.iter().find(|(value, _)| u64::from(*value) == self.index & 3);
                let flow = self.run(case.map_or(default, |(_, body)| body));
                return if flow == Flow::Break { Flow::Next } else { flow };
            }
        }
        Flow::Next
    }

    fn rounds_of(&mut self, leave: u64, body: &[Node]) -> Flow {
        for round in 0..4 {
            if let Some(last) = self.rounds.last_mut() {
                *last = round;
            }
            if round == 3 || self.unknown(leave) {
                return Flow::Next;
            }
            match self.run(body) {
                Flow::Break => return Flow::Next,
                Flow::Return => return Flow::Return,
                Flow::Next | Flow::Continue => {}
            }
        }
        Flow::Next
    }
}

/// The barriers that the lint reports, by number.
fn reported(nodes: &[Node]) -> Vec<usize> {
    let text = program(RETURN, &text(nodes));
    let library = json::read(text.as_bytes()).unwrap_or_else(|errors| panic!("{errors}"));
    assert!(!check(&library).has_errors(), "{}", check(&library));
    let kernel = FunctionId::from_u32(1);
    let barriers = library.functions[kernel]
        .exprs
        .iter()
        .filter(|(_, e)| matches!(e.kind, ExprKind::Call { op: CallOp::SynchronizeBlock, .. }));
    let places: Vec<String> =
        barriers.map(|(id, _)| locate(&library, Place::expr(kernel, id))).collect();
    let found = run(&library).0.into_iter().filter(|d| d.code == codes::DIVERGENT_BARRIER);
    found
        .filter_map(|d| places.iter().position(|place| Some(place) == d.pointer.as_ref()))
        .collect()
}

#[test]
fn a_reported_barrier_divides_the_block() {
    let (mut programs, mut met) = (0, 0);
    for seed in 0..600 {
        let mut generator = Generator { random: Random::new(seed), barriers: 0, unknowns: 0 };
        let nodes = generator.list(3, false);
        let reported = reported(&nodes);
        programs += usize::from(!reported.is_empty());
        for world in 0..12 {
            let traces: Vec<Vec<usize>> = (0..THREADS)
                .map(|index| {
                    let mut thread = Thread {
                        index,
                        seed: seed * 100 + world,
                        variable: 0,
                        rounds: Vec::new(),
                        trace: Vec::new(),
                    };
                    thread.run(&nodes);
                    thread.trace
                })
                .collect();
            for barrier in &reported {
                let comes = |trace: &&Vec<usize>| trace.contains(barrier);
                if traces.iter().any(|t| comes(&t)) {
                    met += 1;
                    let alike = traces.iter().all(|t| *t == traces[0]);
                    assert!(!alike, "seed {seed}, world {world}, barrier {barrier}: {nodes:#?}");
                }
            }
        }
    }
    // Enough was reported for this to mean something.
    assert!(programs > 60 && met > 300, "{programs} programs, {met} barriers");
}
