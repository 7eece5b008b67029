//! Sparse conditional constant propagation.
//!
//! What: finds values that are the same constant on every path that can run, and branches that can go one way only, both
//! together; replaces the values, and in flat control flow the branches.
//! Why right: starts from nothing being known to run and adds what follows, so that a loop does not hide a constant. What an
//! operation gives is what the interpreter computes. An undefined value counts as unknown.
//! Cost: linear: each value changes twice at most, and each change looks at the uses it has; a phi meets one entry at a time.
//! Source: M. Wegman, F. Zadeck, "Constant Propagation with Conditional Branches", TOPLAS 13 (1991).

use super::util;
use crate::manager::declaration::{Declaration, FunctionCx, FunctionPass, Refusal, counters};
use cranelift_entity::SecondaryMap;
use luisac_ast::types::{TypeId, TypeTable};
use luisac_xir::op::ArithmeticOp;
use luisac_xir::{BlockId, Function, Imm, InstId, Op, ValueDef, ValueId, eval};
use rustc_hash::{FxHashMap, FxHashSet};

counters! {
    /// What `sccp` did.
    Info {
        change folded_inst_count "instructions replaced by constants";
        change removed_branch_count "branches that can go one way only turned into `br`";
    }
}

/// Larger values are not followed.
const MAX_BYTES: u64 = 256;

/// The pass.
pub struct Sccp;

impl FunctionPass for Sccp {
    const DECLARATION: Declaration = Declaration::new(
        "sccp",
        "propagates constants along paths that can run",
        "Finds values that are constant on all paths that can run and replaces them; in flat control flow, branches that are \
         decided by such values become `br`, and blocks that nothing reaches any more go.",
    );
    type Options = ();
    type Info = Info;

    fn run(cx: &mut FunctionCx<'_>, _: &()) -> Result<Info, Refusal> {
        let mut solver = Solver::new(cx.func, cx.types);
        solver.solve();
        let Solver { cells, runs, .. } = solver;
        let mut info = Info::default();
        replace_values(cx, &cells, &runs, &mut info);
        replace_branches(cx, &cells, &runs, &mut info);
        Ok(info)
    }
}

/// What is known of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Cell {
    /// No path that gives it was seen to run.
    #[default]
    Unseen,
    Constant(ValueId),
    Varying,
}

/// Phis with more entries than this find those of a predecessor in a map.
const FEW_ENTRIES: usize = 8;

struct Solver<'a> {
    func: &'a mut Function,
    types: &'a TypeTable,
    cells: SecondaryMap<ValueId, Cell>,
    /// Blocks that can run.
    runs: SecondaryMap<BlockId, bool>,
    /// Which edges can run: the first of a block's outgoing ones, by position among the successors.
    first_edge: SecondaryMap<BlockId, u32>,
    edges: Vec<bool>,
    /// Which phi entries can run: the first of a phi's, by position among the operands.
    first_entry: SecondaryMap<InstId, u32>,
    entries: Vec<bool>,
    /// Position of a wide phi's entry by predecessor.
    positions: FxHashMap<(InstId, BlockId), u32>,
    new_edges: Vec<(BlockId, u32)>,
    changed: Vec<ValueId>,
}

impl<'a> Solver<'a> {
    fn new(func: &'a mut Function, types: &'a TypeTable) -> Self {
        let mut positions = FxHashMap::default();
        let mut first_edge = SecondaryMap::with_capacity(func.block_count());
        let mut first_entry = SecondaryMap::new();
        let (mut edges, mut entries) = (0, 0);
        for block in func.blocks() {
            first_edge[block] = edges as u32;
            edges += func.successors(block).len();
            for phi in func.phis(block) {
                first_entry[phi] = entries as u32;
                let from = func.inst_blocks(phi);
                entries += from.len();
                if from.len() > FEW_ENTRIES {
                    positions.extend(from.iter().zip(0..).map(|(&b, i)| ((phi, b), i)));
                }
            }
        }
        Solver {
            cells: SecondaryMap::with_capacity(func.value_count()),
            runs: SecondaryMap::with_capacity(func.block_count()),
            func,
            types,
            first_edge,
            edges: vec![false; edges],
            first_entry,
            entries: vec![false; entries],
            positions,
            new_edges: Vec::new(),
            changed: Vec::new(),
        }
    }

    fn solve(&mut self) {
        if let Some(entry) = self.func.entry() {
            self.enter(entry);
        }
        let mut users = Vec::new();
        loop {
            if let Some((from, position)) = self.new_edges.pop() {
                self.edge(from, position);
            } else if let Some(value) = self.changed.pop() {
                users.extend(self.func.uses(value));
                for (user, index) in users.drain(..) {
                    self.operand_changed(user, index);
                }
            } else {
                break;
            }
        }
    }

    fn edge(&mut self, from: BlockId, position: u32) {
        let number = self.first_edge[from] + position;
        if std::mem::replace(&mut self.edges[number as usize], true) {
            return;
        }
        let to = self.func.successors(from)[position as usize];
        let mut next = self.func.first_inst(to);
        while let Some(phi) = next.filter(|&i| self.func.op(i) == Op::Phi) {
            if let Some(index) = self.entry_from(phi, from) {
                self.entries[self.first_entry[phi] as usize + index] = true;
                self.meet_entry(phi, index);
            }
            next = self.func.next_inst(phi);
        }
        self.enter(to);
    }

    /// Position of a phi's entry of a predecessor.
    fn entry_from(&self, phi: InstId, from: BlockId) -> Option<usize> {
        let blocks = self.func.inst_blocks(phi);
        if blocks.len() > FEW_ENTRIES {
            return self.positions.get(&(phi, from)).map(|&i| i as usize);
        }
        blocks.iter().position(|&b| b == from)
    }

    fn enter(&mut self, block: BlockId) {
        if std::mem::replace(&mut self.runs[block], true) {
            return;
        }
        let mut next = self.func.first_inst(block);
        while let Some(inst) = next {
            next = self.func.next_inst(inst);
            if self.func.op(inst) != Op::Phi {
                self.visit(inst);
            }
        }
    }

    fn operand_changed(&mut self, user: InstId, index: usize) {
        let Some(block) = self.func.inst_block(user) else { return };
        if !self.runs[block] {
            return;
        }
        if self.func.op(user) != Op::Phi {
            self.visit(user);
        } else if self.entries[self.first_entry[user] as usize + index] {
            self.meet_entry(user, index);
        }
    }

    fn cell(&self, value: ValueId) -> Cell {
        match self.func.value_def(value) {
            ValueDef::Inst(_) => self.cells[value],
            ValueDef::Constant(_) => Cell::Constant(value),
            _ => Cell::Varying,
        }
    }

    fn meet_entry(&mut self, phi: InstId, index: usize) {
        let Some(result) = self.func.result(phi) else { return };
        let entry = self.cell(self.func.arg(phi, index));
        let cell = match (self.cells[result], entry) {
            (cell, Cell::Unseen) => cell,
            (Cell::Unseen, entry) => entry,
            (cell, entry) if cell == entry => cell,
            _ => Cell::Varying,
        };
        self.set(result, cell);
    }

    /// Raises the cell of a value.
    fn set(&mut self, value: ValueId, cell: Cell) {
        let old = self.cells[value];
        // A cell never goes back, whatever an operation whose operands differ might fold to.
        let cell = match (old, cell) {
            (Cell::Constant(a), Cell::Constant(b)) if a != b => Cell::Varying,
            (Cell::Varying, _) | (_, Cell::Unseen) => old,
            _ => cell,
        };
        if cell != old {
            self.cells[value] = cell;
            self.changed.push(value);
        }
    }

    fn visit(&mut self, inst: InstId) {
        let op = self.func.op(inst);
        if op.is_terminator() {
            self.branch(inst);
            return;
        }
        let Some(result) = self.func.result(inst) else { return };
        if self.cells[result] == Cell::Varying {
            return;
        }
        let cell = match op {
            Op::Arithmetic(ArithmeticOp::Select) => self.select(inst),
            Op::Arithmetic(_) | Op::Cast(_) => self.evaluate(inst),
            _ => Cell::Varying,
        };
        self.set(result, cell);
    }

    fn select(&mut self, inst: InstId) -> Cell {
        let &[no, yes, condition] = self.func.args(inst) else { return Cell::Varying };
        match self.cell(condition) {
            Cell::Constant(c) if self.func.value_type(c) == TypeId::BOOL => {
                let taken = self.func.constant_bits(c).is_some_and(|bits| bits != 0);
                self.cell(if taken { yes } else { no })
            }
            Cell::Unseen => Cell::Unseen,
            _ => self.evaluate(inst),
        }
    }

    fn evaluate(&mut self, inst: InstId) -> Cell {
        let ty = self.func.inst(inst).ty;
        if self.types.size(ty) > MAX_BYTES {
            return Cell::Varying;
        }
        let mut seen = true;
        for &arg in self.func.args(inst) {
            match self.cell(arg) {
                Cell::Varying => return Cell::Varying,
                Cell::Unseen => seen = false,
                Cell::Constant(_) => {}
            }
        }
        if !seen {
            return Cell::Unseen;
        }
        let constant = |&arg: &ValueId| match self.cell(arg) {
            Cell::Constant(constant) => constant,
            _ => arg,
        };
        let constants: Vec<ValueId> = self.func.args(inst).iter().map(constant).collect();
        let bytes = {
            let operands: Option<Vec<(TypeId, &[u8])>> = constants
                .iter()
                .map(|&c| {
                    let ty = self.func.value_type(c);
                    let small = self.types.size(ty) <= MAX_BYTES;
                    Some((ty, self.func.constant_bytes(c).filter(|_| small)?.as_slice()))
                })
                .collect();
            operands.and_then(|operands| match self.func.op(inst) {
                Op::Arithmetic(op) => eval::fold(self.types, op, ty, &operands),
                Op::Cast(op) => {
                    let &(from, bytes) = operands.first()?;
                    eval::fold_cast(self.types, op, from, ty, bytes)
                }
                _ => None,
            })
        };
        bytes.map_or(Cell::Varying, |bytes| Cell::Constant(self.func.constant(ty, bytes)))
    }

    fn branch(&mut self, inst: InstId) {
        let Some(block) = self.func.inst_block(inst) else { return };
        let selector = self.func.args(inst).first().map(|&a| self.cell(a));
        let decides =
            matches!(self.func.op(inst), Op::CondBr | Op::If | Op::Switch | Op::IndexedBranch);
        match selector {
            Some(Cell::Unseen) if decides => {}
            Some(Cell::Constant(c)) if decides => {
                let position = target_of(self.func, inst, c);
                self.new_edges.extend(position.map(|position| (block, position as u32)));
            }
            _ => {
                let count = self.func.successors_of(inst).len() as u32;
                self.new_edges.extend((0..count).map(|position| (block, position)));
            }
        }
    }
}

/// Where a branch goes for a constant selector, as a position among the successors.
fn target_of(func: &Function, inst: InstId, selector: ValueId) -> Option<usize> {
    let bits = func.constant_bits(selector)?;
    let position = match &func.inst(inst).imm {
        Imm::Cases(cases) => cases.iter().position(|&c| c == bits).map_or(0, |i| i + 1),
        _ => usize::from(bits == 0),
    };
    (position < func.successors_of(inst).len()).then_some(position)
}

fn replace_values(
    cx: &mut FunctionCx<'_>,
    cells: &SecondaryMap<ValueId, Cell>,
    runs: &SecondaryMap<BlockId, bool>,
    info: &mut Info,
) {
    let blocks: Vec<BlockId> = cx.func.blocks().filter(|&b| runs[b]).collect();
    for block in blocks {
        let mut next = cx.func.first_inst(block);
        while let Some(inst) = next {
            next = cx.func.next_inst(inst);
            let Some(result) = cx.func.result(inst) else { continue };
            let Cell::Constant(constant) = cells[result] else { continue };
            if !cx.fuel() {
                return;
            }
            util::replace_and_remove(cx.func, inst, constant);
            info.folded_inst_count += 1;
        }
    }
}

fn replace_branches(
    cx: &mut FunctionCx<'_>,
    cells: &SecondaryMap<ValueId, Cell>,
    runs: &SecondaryMap<BlockId, bool>,
    info: &mut Info,
) {
    let is_structured =
        |func: &Function, b| func.terminator(b).is_some_and(|t| func.op(t).is_structured());
    if cx.func.blocks().any(|b| is_structured(cx.func, b)) {
        return;
    }
    let blocks: Vec<BlockId> = cx.func.blocks().filter(|&b| runs[b]).collect();
    let mut removed: FxHashSet<(BlockId, BlockId)> = FxHashSet::default();
    for block in blocks {
        let Some(inst) = cx.func.terminator(block) else { continue };
        if !matches!(cx.func.op(inst), Op::CondBr | Op::IndexedBranch) {
            continue;
        }
        let selector = cx.func.arg(inst, 0);
        let constant = match cells[selector] {
            Cell::Constant(constant) => constant,
            _ => selector,
        };
        let Some(position) = target_of(cx.func, inst, constant) else { continue };
        let target = cx.func.successors_of(inst)[position];
        if !cx.fuel() {
            break;
        }
        let gone = cx.func.successors_of(inst).iter().filter(|&&t| t != target);
        removed.extend(gone.map(|&t| (t, block)));
        util::branch_instead(cx.func, block, target);
        info.removed_branch_count += 1;
    }
    if info.removed_branch_count > 0 {
        util::drop_phi_entries(cx.func, |block, from| removed.contains(&(block, from)));
        let keep = util::named_blocks(cx.func, false);
        util::remove_blocks_but(cx.func, &keep);
    }
}
