//! The structured control flow of a function as a list of events, and where in it everything stands.
//!
//! A chain of blocks becomes the statements of one scope, as in `xir/src/to_ast/control.rs`: a block is followed by the merge of its
//! construct or by the target of its branch, until the branch leads to where the scope falls out, to the next round of a loop, or
//! out of a loop or switch. An explicit stack of work takes the place of recursion.

use cranelift_entity::SecondaryMap;
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::{BlockId, Function, Imm, InstId, Op};

/// One thing to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The instructions of a block, without its terminator.
    Block(BlockId),
    /// `if (condition) {`, of this terminator.
    If(InstId),
    Else,
    EndIf,
    /// `switch (value) {`, of this terminator.
    Switch(InstId),
    /// `case 1: case 2: default: {`
    Case(Vec<u64>, bool),
    /// The end of a case, with a `break` of its own or not.
    EndCase(bool),
    EndSwitch,
    /// `while (true) {`
    Loop,
    /// `if (!condition) break;`, of this terminator.
    Test(InstId),
    EndLoop,
    /// Before a loop whose update stands at the start of all rounds but the first.
    FirstRound(u32),
    /// `if (!first) {`
    NotFirst(u32),
    /// `}` `first = false;`
    EndNotFirst(u32),
    Break,
    Continue,
    /// `return`, of this terminator.
    Return(InstId),
    Unreachable,
}

impl Event {
    fn opens(&self) -> bool {
        matches!(
            self,
            Event::If(_) | Event::Else | Event::Case(..) | Event::Loop | Event::NotFirst(_)
        )
    }

    fn closes(&self) -> bool {
        matches!(
            self,
            Event::Else | Event::EndIf | Event::EndCase(_) | Event::EndLoop | Event::EndNotFirst(_)
        )
    }
}

/// Events, and the scopes of blocks.
pub struct Plan {
    pub events: Vec<Event>,
    /// Scope of each block plus one; 0 for blocks that are never run.
    scope_of: SecondaryMap<BlockId, u32>,
    /// First and last event of each scope.
    scopes: Vec<(u32, u32)>,
    /// Of each `If`, where its `EndIf` is.
    ends: Vec<u32>,
}

/// The control flow is not structured.
pub struct NotStructured;

/// Where the chain of a scope may lead.
#[derive(Clone, Copy, Default)]
struct Place {
    end: Option<BlockId>,
    break_to: Option<BlockId>,
    continue_to: Option<BlockId>,
}

/// What is still to do, last first.
enum Work {
    /// A chain that starts with this block.
    Chain(BlockId, Place),
    Event(Event),
    /// The end of a case: what came last says whether it needs a `break`.
    EndCase,
}

struct Planner<'a> {
    func: &'a Function,
    cfg: ControlFlowGraph,
    events: Vec<Event>,
    work: Vec<Work>,
    written: SecondaryMap<BlockId, bool>,
    flags: u32,
}

impl Plan {
    /// Plans a function that has a body.
    pub fn of(func: &Function) -> Result<Plan, NotStructured> {
        let mut planner = Planner {
            func,
            cfg: ControlFlowGraph::compute(func),
            events: Vec::new(),
            work: Vec::new(),
            written: SecondaryMap::new(),
            flags: 0,
        };
        planner.work.extend(func.entry().map(|entry| Work::Chain(entry, Place::default())));
        while let Some(work) = planner.work.pop() {
            match work {
                Work::Chain(block, place) => planner.chain(block, place)?,
                Work::Event(event) => planner.events.push(event),
                Work::EndCase => {
                    let left = planner.has_left();
                    planner.events.push(Event::EndCase(!left));
                }
            }
        }
        Ok(Plan::measure(planner.events))
    }

    fn measure(events: Vec<Event>) -> Plan {
        let mut scopes = vec![(0, events.len() as u32)];
        let mut scope_of = SecondaryMap::new();
        let mut open = vec![0u32];
        let mut ends = vec![0; events.len()];
        let mut branches = Vec::new();
        for (at, event) in events.iter().enumerate() {
            match event {
                Event::If(_) => branches.push(at),
                Event::EndIf => {
                    if let Some(begin) = branches.pop() {
                        ends[begin] = at as u32;
                    }
                }
                _ => {}
            }
            if event.closes()
                && let Some(scope) = open.pop()
            {
                scopes[scope as usize].1 = at as u32;
            }
            if event.opens() {
                open.push(scopes.len() as u32);
                scopes.push((at as u32, at as u32));
            }
            if let Event::Block(block) = event {
                scope_of[*block] = open.last().copied().unwrap_or(0) + 1;
            }
        }
        Plan { events, scope_of, scopes, ends }
    }

    /// The events behind the end of the `If` at a place.
    pub fn behind(&self, at: usize) -> &[Event] {
        let end = self.ends.get(at).map_or(self.events.len(), |&e| e as usize + 1);
        self.events.get(end..).unwrap_or_default()
    }

    /// The scope of a block that is run.
    pub fn scope(&self, block: BlockId) -> Option<u32> {
        self.scope_of[block].checked_sub(1)
    }

    /// Whether names of `outer` can be seen in `inner`.
    pub fn sees(&self, outer: u32, inner: u32) -> bool {
        let (a, b) = (self.scopes[outer as usize], self.scopes[inner as usize]);
        outer == inner || (a.0 <= b.0 && b.1 <= a.1)
    }
}

impl Planner<'_> {
    fn has_left(&self) -> bool {
        matches!(self.events.last(), Some(Event::Break | Event::Continue | Event::Return(_)))
    }

    fn chain(&mut self, start: BlockId, place: Place) -> Result<(), NotStructured> {
        let mut block = start;
        loop {
            // A merge that nothing leads to: what is in it never runs.
            if !self.cfg.is_reachable(block) {
                self.events.push(Event::Unreachable);
                return Ok(());
            }
            if std::mem::replace(&mut self.written[block], true) {
                return Err(NotStructured);
            }
            self.events.push(Event::Block(block));
            let end = self.func.terminator(block).ok_or(NotStructured)?;
            match self.terminator(end, place)? {
                Some(next) => block = next,
                None => return Ok(()),
            }
        }
    }

    /// Writes or queues what a terminator does; the block to go on with.
    fn terminator(&mut self, end: InstId, place: Place) -> Result<Option<BlockId>, NotStructured> {
        let named = self.func.inst_blocks(end);
        match (self.func.op(end), named) {
            (Op::Br | Op::Break | Op::Continue, &[target]) => return Ok(self.jump(target, place)),
            (Op::If, &[on_true, on_false, merge]) => {
                self.branch(end, on_true, on_false, merge, place)
            }
            (Op::CondBr, &[body, merge]) if place.break_to == Some(merge) => {
                self.events.push(Event::Test(end));
                return Ok(self.jump(body, place));
            }
            (Op::Switch, [arms @ .., merge]) => self.switch(end, arms, *merge, place),
            (Op::SimpleLoop, &[body, merge]) => {
                let inside =
                    Place { end: Some(body), break_to: Some(merge), continue_to: Some(body) };
                self.work.push(Work::Chain(merge, place));
                self.repeat(body, inside);
            }
            (Op::Loop, &[prepare, _, update, merge]) => {
                self.work.push(Work::Chain(merge, place));
                self.tested_loop(prepare, update, merge);
            }
            (Op::Return, _) => self.events.push(Event::Return(end)),
            (Op::Unreachable, _) => self.events.push(Event::Unreachable),
            _ => return Err(NotStructured),
        }
        Ok(None)
    }

    fn jump(&mut self, target: BlockId, place: Place) -> Option<BlockId> {
        if place.end == Some(target) {
            return None;
        }
        if place.continue_to == Some(target) {
            self.events.push(Event::Continue);
        } else if place.break_to == Some(target) {
            self.events.push(Event::Break);
        } else {
            return Some(target);
        }
        None
    }

    /// The chain of an arm, unless it is empty.
    fn arm(&mut self, entry: BlockId, merge: BlockId, place: Place) {
        if entry != merge {
            self.work.push(Work::Chain(entry, Place { end: Some(merge), ..place }));
        }
    }

    fn branch(
        &mut self,
        end: InstId,
        on_true: BlockId,
        on_false: BlockId,
        merge: BlockId,
        place: Place,
    ) {
        self.work.push(Work::Chain(merge, place));
        self.work.push(Work::Event(Event::EndIf));
        self.arm(on_false, merge, place);
        self.work.push(Work::Event(Event::Else));
        self.arm(on_true, merge, place);
        self.events.push(Event::If(end));
    }

    /// Cases that lead to the same block are written once.
    fn switch(&mut self, end: InstId, arms: &[BlockId], merge: BlockId, place: Place) {
        let cases: &[u64] = match &self.func.inst(end).imm {
            Imm::Cases(cases) => cases,
            _ => &[],
        };
        let outside = place;
        let place = Place { break_to: Some(merge), ..place };
        let mut groups: Vec<(BlockId, Vec<u64>, bool)> = Vec::new();
        let mut known: SecondaryMap<BlockId, u32> = SecondaryMap::new();
        let default = arms.first().copied().unwrap_or(merge);
        let labelled = arms.iter().skip(1).copied().zip(cases.iter().map(|&c| Some(c)));
        for (arm, label) in labelled.chain([(default, None)]) {
            if known[arm] == 0 {
                groups.push((arm, Vec::new(), false));
                known[arm] = groups.len() as u32;
            }
            let group = &mut groups[known[arm] as usize - 1];
            group.1.extend(label);
            group.2 |= label.is_none();
        }
        self.work.push(Work::Chain(merge, outside));
        self.work.push(Work::Event(Event::EndSwitch));
        for (arm, labels, is_default) in groups.into_iter().rev() {
            self.work.push(Work::EndCase);
            self.arm(arm, merge, place);
            self.work.push(Work::Event(Event::Case(labels, is_default)));
        }
        self.events.push(Event::Switch(end));
    }

    fn repeat(&mut self, first: BlockId, inside: Place) {
        self.work.push(Work::Event(Event::EndLoop));
        self.work.push(Work::Chain(first, inside));
        self.events.push(Event::Loop);
    }

    /// The update, which `continue` must not pass by, follows the body if only one way leads to it; else it stands at the start of all
    /// rounds but the first.
    fn tested_loop(&mut self, prepare: BlockId, update: BlockId, merge: BlockId) {
        let func = self.func;
        let first = func.first_inst(update);
        let is_empty = first.is_some_and(|i| func.op(i) == Op::Br);
        let ways = self.cfg.predecessors(update).len();
        let inside = Place { end: Some(update), break_to: Some(merge), continue_to: Some(update) };
        if ways == 0 || is_empty {
            self.repeat(prepare, inside);
        } else if ways == 1 {
            let again = Some(prepare);
            self.repeat(prepare, Place { end: again, continue_to: again, ..inside });
        } else {
            let flag = self.flags;
            self.flags += 1;
            self.events.push(Event::FirstRound(flag));
            self.work.push(Work::Event(Event::EndLoop));
            self.work.push(Work::Chain(prepare, inside));
            self.work.push(Work::Event(Event::EndNotFirst(flag)));
            let before = Place { end: Some(prepare), break_to: Some(merge), continue_to: None };
            self.work.push(Work::Chain(update, before));
            self.work.push(Work::Event(Event::NotFirst(flag)));
            self.events.push(Event::Loop);
        }
    }
}
