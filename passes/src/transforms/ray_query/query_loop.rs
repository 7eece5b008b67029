//! A ray-query loop with its handlers, as far as the lowerings can take it apart.

use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::op::RayQueryWriteOp;
use luisac_xir::{BlockId, Function, InstId, Op, ValueId};
use rustc_hash::FxHashSet;

/// Candidates of a query: surfaces, then procedural primitives.
pub(crate) const CANDIDATES: usize = 2;

/// The blocks of a handler, the entry first; none if candidates of its kind are passed by.
pub(crate) type Handler = Vec<BlockId>;

/// A ray-query loop.
pub(crate) struct QueryLoop {
    /// The block that ends in `ray_query_loop`.
    pub owner: BlockId,
    pub dispatch: BlockId,
    pub merge: BlockId,
    /// The query object, an lvalue.
    pub query: ValueId,
    pub handlers: [Handler; CANDIDATES],
}

impl QueryLoop {
    /// The blocks that end in `ray_query_loop`, in reverse post-order.
    pub fn owners(func: &Function, cfg: &ControlFlowGraph) -> Vec<BlockId> {
        let owns =
            |b: &BlockId| func.terminator(*b).is_some_and(|t| func.op(t) == Op::RayQueryLoop);
        cfg.reverse_post_order().iter().copied().filter(owns).collect()
    }

    /// The loop that a block starts; why it cannot be taken apart otherwise.
    pub fn of(
        func: &Function,
        cfg: &ControlFlowGraph,
        owner: BlockId,
    ) -> Result<QueryLoop, &'static str> {
        let malformed = "the loop has no dispatch block of its own";
        let named = func.terminator(owner).map_or(&[][..], |t| func.inst_blocks(t));
        let &[dispatch, merge] = named else { return Err(malformed) };
        let end = func.terminator(dispatch).filter(|&t| func.op(t) == Op::RayQueryDispatch);
        let end = end.ok_or(malformed)?;
        let (&[query], &[exit, surface, procedural]) = (func.args(end), func.inst_blocks(end))
        else {
            return Err(malformed);
        };
        if exit != merge {
            return Err("the dispatch leaves to another block than the merge");
        }
        if func.phis(dispatch).next().is_some() {
            return Err("the dispatch block has phis");
        }
        if surface == procedural && surface != dispatch {
            return Err("the handlers share blocks");
        }
        let handlers =
            [handler(func, cfg, dispatch, surface)?, handler(func, cfg, dispatch, procedural)?];
        let first: FxHashSet<BlockId> = handlers[0].iter().copied().collect();
        if handlers[1].iter().any(|b| first.contains(b)) {
            return Err("the handlers share blocks");
        }
        let inside = handlers.iter().flatten().chain([&dispatch]);
        for inst in inside.flat_map(|&b| func.insts(b)) {
            check_inst(func, query, inst)?;
        }
        Ok(QueryLoop { owner, dispatch, merge, query, handlers })
    }

    /// The branches of a handler that go on to the next candidate.
    pub fn ends<'a>(
        &'a self,
        func: &'a Function,
        handler: usize,
    ) -> impl Iterator<Item = InstId> + 'a {
        let ends = self.handlers[handler].iter().filter_map(|&b| func.terminator(b));
        ends.filter(|&t| func.inst_blocks(t).contains(&self.dispatch))
    }
}

/// The blocks that lie behind `entry` before the dispatch block, roles included.
fn handler(
    func: &Function,
    cfg: &ControlFlowGraph,
    dispatch: BlockId,
    entry: BlockId,
) -> Result<Handler, &'static str> {
    if entry == dispatch {
        return Ok(Handler::new());
    }
    if func.phis(entry).next().is_some() {
        return Err("a handler starts with phis");
    }
    let blocks = region(func, entry, dispatch);
    let inside: FxHashSet<BlockId> = blocks.iter().copied().collect();
    for &block in &blocks {
        let mut before = cfg.predecessors(block).iter();
        if before.any(|p| !inside.contains(p) && (block != entry || *p != dispatch)) {
            return Err("a handler is entered from outside");
        }
        let Some(end) = func.terminator(block) else { continue };
        match func.op(end) {
            Op::Br => {}
            Op::Return | Op::RasterDiscard => return Err("a handler leaves the function"),
            _ if func.inst_blocks(end).contains(&dispatch) => {
                return Err("a handler goes on by something other than a plain branch");
            }
            _ => {}
        }
    }
    Ok(blocks)
}

/// The blocks that `entry` names before `end`, through edges and roles, in the order in which they are found.
pub(crate) fn region(func: &Function, entry: BlockId, end: BlockId) -> Vec<BlockId> {
    let mut seen: FxHashSet<BlockId> = [entry, end].into_iter().collect();
    let mut found = vec![entry];
    let mut next = 0;
    while let Some(&block) = found.get(next) {
        next += 1;
        let named = func.terminator(block).map_or(&[][..], |t| func.inst_blocks(t));
        for &target in named {
            if seen.insert(target) {
                found.push(target);
            }
        }
    }
    found
}

/// Refuses what may not stand inside of a loop over the candidates of `query`.
pub(crate) fn check_inst(
    func: &Function,
    query: ValueId,
    inst: InstId,
) -> Result<(), &'static str> {
    match func.op(inst) {
        Op::RayQueryWrite(RayQueryWriteOp::Proceed) => Err("a handler goes on by itself"),
        Op::RayQueryRead(_) | Op::RayQueryWrite(_) if func.arg(inst, 0) != query => {
            Err("a handler uses another query object")
        }
        Op::RayQueryLoop => Err("a ray query runs inside of a handler"),
        _ => Ok(()),
    }
}
