//! The part of a scope before `backward` as a tree: regions are chains of blocks and constructs, constructs have regions as
//! parts. A parent has a smaller index than its children, so walks over indices stand for recursion.

use super::refusal;
use crate::manager::declaration::Refusal;
use cranelift_entity::SecondaryMap;
use luisac_xir::op::AutodiffOp;
use luisac_xir::{BlockId, Function, InstId, Op};

pub(super) type RegionId = usize;
pub(super) type ConstructId = usize;

/// A link of the chain of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    Block(BlockId),
    Construct(ConstructId),
}

/// What runs from the start of a part of a construct to its end.
#[derive(Clone, Debug)]
pub(super) struct Region {
    /// The construct that it is a part of; none for the scope itself.
    pub parent: Option<ConstructId>,
    pub items: Vec<Item>,
    /// The innermost loop that each run of the region is an iteration of, or part of one.
    pub around: Option<ConstructId>,
    /// `backward` lies in it or in one of its parts: it runs once, and what `items` holds has run when `backward` is reached.
    pub on_path: bool,
}

/// A structured terminator with its parts.
#[derive(Clone, Debug)]
pub(super) struct Construct {
    pub op: Op,
    pub inst: InstId,
    /// The region that it lies in.
    pub region: RegionId,
    /// One a block named, without the merge: none for an arm that is the merge.
    pub parts: Vec<Option<RegionId>>,
    pub merge: BlockId,
    /// A `break` or `continue` may pass the merge by.
    pub is_leaky: bool,
    /// A `break` goes to the merge.
    pub breaks: bool,
    /// Targets of jumps that leave it; two at most.
    leaves: Vec<BlockId>,
}

/// The tree.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    pub regions: Vec<Region>,
    pub constructs: Vec<Construct>,
    /// The region of each block, plus one; 0 for blocks outside of the tree.
    region_of: SecondaryMap<BlockId, u32>,
    /// The `backward` marker.
    pub marker: Option<InstId>,
    /// The regions from that of the marker outwards.
    pub path: Vec<RegionId>,
    /// All blocks of the scope, also those after `backward`.
    pub scope_blocks: Vec<BlockId>,
}

impl Tree {
    /// The region of a block of the part before `backward`.
    pub fn region_of(&self, block: BlockId) -> Option<RegionId> {
        (self.region_of[block] as usize).checked_sub(1)
    }

    /// The blocks before `backward`, that of the marker included.
    pub fn blocks(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.regions.iter().flat_map(|r| &r.items).filter_map(|item| match item {
            Item::Block(block) => Some(*block),
            Item::Construct(_) => None,
        })
    }
}

/// Builds the tree of a scope without recursion.
///
/// # Errors
/// What cannot be differentiated: raw branches, nested scopes, `return`, `backward` in a loop or twice.
pub(super) fn build(func: &Function, scope: InstId) -> Result<Tree, Refusal> {
    let mut tree = Tree::default();
    let [entry, merge] = *func.inst_blocks(scope) else {
        return Err(refusal(func, "a scope has no entry", "report it: a mistake of the compiler"));
    };
    tree.regions.push(region(None, None));
    let mut pending = vec![(0, entry, merge)];
    while let Some((id, start, exit)) = pending.pop() {
        chain(func, &mut tree, id, start, exit, &mut pending)?;
    }
    tree.scope_blocks = tree.blocks().collect();
    find_marker(func, &mut tree)?;
    Ok(tree)
}

fn region(parent: Option<ConstructId>, around: Option<ConstructId>) -> Region {
    Region { parent, items: Vec::new(), around, on_path: false }
}

/// Follows the chain of a region from its first block.
fn chain(
    func: &Function,
    tree: &mut Tree,
    id: RegionId,
    start: BlockId,
    exit: BlockId,
    pending: &mut Vec<(RegionId, BlockId, BlockId)>,
) -> Result<(), Refusal> {
    let mut block = start;
    loop {
        if tree.region_of[block] != 0 {
            let reason =
                format!("control flow comes to {block} of a differentiated scope in two ways");
            return Err(refusal(func, reason, "structured control flow is needed"));
        }
        tree.region_of[block] = id as u32 + 1;
        tree.regions[id].items.push(Item::Block(block));
        let Some(end) = func.terminator(block) else { return Ok(()) };
        let named = func.inst_blocks(end);
        match func.op(end) {
            Op::Br if named[0] == exit => return Ok(()),
            Op::Br => block = named[0],
            // The end of the prepare part of a loop.
            Op::CondBr if named[0] == exit => return Ok(()),
            Op::Break | Op::Continue => {
                leave(tree, id, named[0], exit);
                return Ok(());
            }
            Op::Unreachable | Op::RasterDiscard => return Ok(()),
            Op::AutodiffScope => {
                return Err(refusal(
                    func,
                    "a differentiated scope lies inside another one",
                    "gradients of gradients are not supported: take the inner scope out",
                ));
            }
            op if op.has_merge() => {
                open(func, tree, id, end, pending);
                block = func.merge_of(end).unwrap_or(exit);
            }
            op => {
                let reason = format!("a differentiated scope holds a `{}`", op.mnemonic());
                return Err(refusal(
                    func,
                    reason,
                    "structured control flow is needed, without `return`",
                ));
            }
        }
    }
}

/// Adds a construct and queues its parts.
fn open(
    func: &Function,
    tree: &mut Tree,
    region_id: RegionId,
    inst: InstId,
    pending: &mut Vec<(RegionId, BlockId, BlockId)>,
) {
    let op = func.op(inst);
    let id = tree.constructs.len();
    let outer = tree.regions[region_id].around;
    let around = if matches!(op, Op::Loop | Op::SimpleLoop) { Some(id) } else { outer };
    let Some((&merge, parts)) = func.inst_blocks(inst).split_last() else { return };
    let mut made: Vec<(BlockId, RegionId)> = Vec::new();
    let mut regions = Vec::with_capacity(parts.len());
    for (n, &part) in parts.iter().enumerate() {
        // An empty arm, or one block for several cases.
        if part == merge {
            regions.push(None);
            continue;
        }
        if let Some(&(_, known)) = made.last().filter(|(b, _)| *b == part) {
            regions.push(Some(known));
            continue;
        }
        let exit = match (op, n) {
            (Op::Loop, 0) => parts[1],
            (Op::Loop, 1) => parts[2],
            (Op::Loop, _) => parts[0],
            (Op::SimpleLoop, _) => part,
            _ => merge,
        };
        let inner = tree.regions.len();
        tree.regions.push(region(Some(id), around));
        made.push((part, inner));
        regions.push(Some(inner));
        pending.push((inner, part, exit));
    }
    tree.constructs.push(Construct {
        op,
        inst,
        region: region_id,
        parts: regions,
        merge,
        is_leaky: false,
        breaks: false,
        leaves: Vec::new(),
    });
    tree.regions[region_id].items.push(Item::Construct(id));
}

/// A jump from a region: all constructs up to the one that it belongs to are leaky.
fn leave(tree: &mut Tree, from: RegionId, target: BlockId, exit: BlockId) {
    let mut at = tree.regions[from].parent;
    if let Some(id) = at
        && tree.constructs[id].merge == target
    {
        tree.constructs[id].breaks = true;
    }
    if target == exit {
        return;
    }
    while let Some(id) = at {
        let construct = &mut tree.constructs[id];
        if construct.merge == target {
            construct.breaks = true;
            return;
        }
        if matches!(construct.op, Op::Loop | Op::SimpleLoop) || construct.leaves.contains(&target) {
            // A `continue`, or the way is known from here.
            return;
        }
        construct.leaves.push(target);
        construct.is_leaky = true;
        at = tree.regions[construct.region].parent;
    }
}

fn find_marker(func: &Function, tree: &mut Tree) -> Result<(), Refusal> {
    let is_marker = |&i: &InstId| func.op(i) == Op::Autodiff(AutodiffOp::Backward);
    let markers: Vec<InstId> =
        tree.scope_blocks.iter().flat_map(|&b| func.insts(b)).filter(is_marker).collect();
    let &[marker] = &markers[..] else {
        if markers.is_empty() {
            *tree =
                Tree { scope_blocks: std::mem::take(&mut tree.scope_blocks), ..Tree::default() };
            return Ok(());
        }
        return Err(refusal(
            func,
            "a scope holds `backward` more than once",
            "use one scope for each `backward`",
        ));
    };
    tree.marker = Some(marker);
    let Some(block) = func.inst_block(marker) else { return Ok(()) };
    let Some(inner) = tree.region_of(block) else { return Ok(()) };
    if tree.regions[inner].around.is_some() {
        return Err(refusal(func, "`backward` stands in a loop", "move it behind the loop"));
    }
    let mut last = Item::Block(block);
    let mut keep = true;
    let mut at = Some(inner);
    while let Some(id) = at {
        tree.path.push(id);
        let region = &mut tree.regions[id];
        region.on_path = true;
        let end = region.items.iter().position(|&i| i == last).unwrap_or(0);
        region.items.truncate(end + usize::from(keep));
        keep = false;
        at = region.parent.map(|parent| {
            last = Item::Construct(parent);
            tree.constructs[parent].region
        });
    }
    forget_rest(tree);
    Ok(())
}

/// Drops what the path does not lead to from the tree.
fn forget_rest(tree: &mut Tree) {
    let mut kept = vec![false; tree.regions.len()];
    tree.region_of = SecondaryMap::new();
    for id in 0..tree.regions.len() {
        if tree.regions[id].on_path {
            kept[id] = true;
        }
        if !kept[id] {
            tree.regions[id].items.clear();
            continue;
        }
        for item in &tree.regions[id].items {
            match *item {
                Item::Block(block) => tree.region_of[block] = id as u32 + 1,
                Item::Construct(construct) => {
                    for &part in tree.constructs[construct].parts.iter().flatten() {
                        kept[part] = true;
                    }
                }
            }
        }
    }
}
