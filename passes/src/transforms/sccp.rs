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

struct Solver<'a> {
    func: &'a mut Function,
    types: &'a TypeTable,
    cells: SecondaryMap<ValueId, Cell>,
    /// Blocks that can run.
    runs: SecondaryMap<BlockId, bool>,
    edges: FxHashSet<(BlockId, BlockId)>,
    /// Position of a phi's entry by predecessor.
    entries: FxHashMap<(InstId, BlockId), u32>,
    new_edges: Vec<(BlockId, BlockId)>,
    changed: Vec<ValueId>,
}

impl<'a> Solver<'a> {
    fn new(func: &'a mut Function, types: &'a TypeTable) -> Self {
        let mut entries = FxHashMap::default();
        for block in func.blocks() {
            for phi in func.phis(block) {
                for (i, &from) in func.inst_blocks(phi).iter().enumerate() {
                    entries.insert((phi, from), i as u32);
                }
            }
        }
        Solver {
            cells: SecondaryMap::with_capacity(func.value_count()),
            func,
            types,
            runs: SecondaryMap::new(),
            edges: FxHashSet::default(),
            entries,
            new_edges: Vec::new(),
            changed: Vec::new(),
        }
    }

    fn solve(&mut self) {
        if let Some(entry) = self.func.entry() {
            self.enter(entry);
        }
        loop {
            if let Some((from, to)) = self.new_edges.pop() {
                self.edge(from, to);
            } else if let Some(value) = self.changed.pop() {
                let users: Vec<(InstId, usize)> = self.func.uses(value).collect();
                for (user, index) in users {
                    self.operand_changed(user, index);
                }
            } else {
                break;
            }
        }
    }

    fn edge(&mut self, from: BlockId, to: BlockId) {
        if !self.edges.insert((from, to)) {
            return;
        }
        let phis: Vec<InstId> = self.func.phis(to).collect();
        for phi in phis {
            if let Some(&i) = self.entries.get(&(phi, from)) {
                self.meet_entry(phi, i as usize);
            }
        }
        self.enter(to);
    }

    fn enter(&mut self, block: BlockId) {
        if std::mem::replace(&mut self.runs[block], true) {
            return;
        }
        let insts: Vec<InstId> = self.func.insts(block).collect();
        for inst in insts {
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
        } else if self.edges.contains(&(self.func.inst_blocks(user)[index], block)) {
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
        let mut constants = Vec::with_capacity(self.func.args(inst).len());
        let mut seen = true;
        for &arg in self.func.args(inst) {
            match self.cell(arg) {
                Cell::Varying => return Cell::Varying,
                Cell::Unseen => seen = false,
                Cell::Constant(c) => constants.push(c),
            }
        }
        if !seen {
            return Cell::Unseen;
        }
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
                if let Some(target) = target_of(self.func, inst, c) {
                    self.new_edges.push((block, target));
                }
            }
            _ => {
                let targets = self.func.successors_of(inst);
                self.new_edges.extend(targets.iter().map(|&t| (block, t)));
            }
        }
    }
}

/// Where a branch goes for a constant selector.
fn target_of(func: &Function, inst: InstId, selector: ValueId) -> Option<BlockId> {
    let bits = func.constant_bits(selector)?;
    let targets = func.successors_of(inst);
    match &func.inst(inst).imm {
        Imm::Cases(cases) => {
            let case = cases.iter().position(|&c| c == bits);
            targets.get(case.map_or(0, |i| i + 1)).copied()
        }
        _ => targets.get(usize::from(bits == 0)).copied(),
    }
}

fn replace_values(
    cx: &mut FunctionCx<'_>,
    cells: &SecondaryMap<ValueId, Cell>,
    runs: &SecondaryMap<BlockId, bool>,
    info: &mut Info,
) {
    let blocks: Vec<BlockId> = cx.func.blocks().filter(|&b| runs[b]).collect();
    for block in blocks {
        let insts: Vec<InstId> = cx.func.insts(block).collect();
        for inst in insts {
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
        let Some(target) = target_of(cx.func, inst, constant) else { continue };
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
