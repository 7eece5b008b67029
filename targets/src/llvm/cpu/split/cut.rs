//! Cutting blocks at barriers.

use cranelift_entity::SecondaryMap;
use luisac_xir::cfg::ControlFlowGraph;
use luisac_xir::op::ThreadGroupOp;
use luisac_xir::{Function, InstId, Op};

use super::{Cut, FIRST_STATE};

/// A copy of the kernel in which every barrier is the edge from the block that it ended to a resume block.
pub(super) fn cut(kernel: &Function) -> Result<Cut, String> {
    let mut func = kernel.clone();
    let entry = func.entry().ok_or("a kernel without blocks")?;
    let cfg = ControlFlowGraph::compute(&func);
    let mut barriers: Vec<InstId> = Vec::new();
    for &block in cfg.reverse_post_order() {
        let is_barrier =
            |&i: &InstId| func.op(i) == Op::ThreadGroup(ThreadGroupOp::SynchronizeBlock);
        barriers.extend(func.insts(block).filter(is_barrier));
    }
    let mut starts = vec![entry; barriers.len() + 1];
    let mut after: SecondaryMap<_, u32> = SecondaryMap::new();
    // From the last one of a block to its first, so that each instruction moves once.
    for (i, &barrier) in barriers.iter().enumerate().rev() {
        let (Some(block), Some(next)) = (func.inst_block(barrier), func.next_inst(barrier)) else {
            return Err("a barrier at the end of a block".to_string());
        };
        let resume = func.split_block(next);
        func.remove_inst(barrier);
        func.replace_with_br(block, resume);
        // What ended the block before now ends the resume block.
        after[resume] = after[block];
        after[block] = FIRST_STATE + i as u32 + 1;
        starts[i + 1] = resume;
    }
    Ok(Cut { func, starts, after })
}
