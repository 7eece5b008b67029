//! All passes, in the order in which they are listed.

use crate::manager::declaration::Pass;
use crate::transforms::*;

/// The table of passes.
pub static PASSES: &[Pass] = &[
    Pass::module::<autodiff::Autodiff>(),
    Pass::module::<keep_waves_in_loops::KeepWavesInLoops>(),
    Pass::function::<ray_query::reconstruct::ReconstructRayQueryLoop>(),
    Pass::function::<ray_query::to_loop::LowerRayQueryToLoop>(),
    Pass::module::<ray_query::to_pipeline::LowerRayQueryToPipeline>(),
    Pass::function::<destructure_cfg::DestructureCfg>(),
    Pass::function::<simplify_cfg::SimplifyCfg>(),
    Pass::function::<irreducible::LowerIrreducibleCfg>(),
    Pass::function::<restructure::RestructureCfg>(),
    Pass::function::<early_return_elimination::EarlyReturnElimination>(),
    Pass::function::<lower_break_continue::LowerBreakContinue>(),
    Pass::module::<inline::Inline>(),
    Pass::module::<inline_variants::InlineAll>(),
    Pass::module::<inline_variants::InlineCallSites>(),
    Pass::module::<outline::Outline>(),
    Pass::module::<promote_ref_arg::PromoteRefArg>(),
    Pass::module::<dead_arg_elim::DeadArgElim>(),
    Pass::module::<dead_field_elimination::DeadFieldElimination>(),
    Pass::module::<unused_callable_removal::UnusedCallableRemoval>(),
    Pass::function::<trace_gep::TraceGep>(),
    Pass::function::<transpose_gep::TransposeGep>(),
    Pass::function::<defer_local_aggregate_load::DeferLocalAggregateLoad>(),
    Pass::function::<fix_self_referential::FixSelfReferential>(),
    Pass::function::<sroa::Sroa>(),
    Pass::function::<mem2reg::Mem2Reg>(),
    Pass::function::<reg2mem::Reg2Mem>(),
    Pass::function::<phi_cleanup::PhiCleanup>(),
    Pass::function::<scalarizer::Scalarizer>(),
    Pass::function::<slp_vectorization::SlpVectorization>(),
    Pass::function::<fuse_consecutive_buffer_reads::FuseConsecutiveBufferReads>(),
    Pass::function::<lower_math::LowerMath>(),
    Pass::module::<outline_math::OutlineMath>(),
    Pass::module::<lower_sampling::LowerSampling>(),
    Pass::function::<lower_bounds::LowerBounds>(),
    Pass::function::<edge_cases::LowerEdgeCases>(),
    Pass::function::<const_fold::ConstFold>(),
    Pass::function::<algebraic_simplify::AlgebraicSimplify>(),
    Pass::function::<simplify_libcalls::SimplifyLibcalls>(),
    Pass::function::<reassociate::Reassociate>(),
    Pass::function::<div_rem_pairs::DivRemPairs>(),
    Pass::function::<sccp::Sccp>(),
    Pass::function::<cvp::Cvp>(),
    Pass::function::<licm::Licm>(),
    Pass::function::<loop_rotation::LoopRotation>(),
    Pass::function::<indvar_simplify::IndvarSimplify>(),
    Pass::function::<loop_unroll::LoopUnroll>(),
    Pass::function::<loop_unswitch::LoopUnswitch>(),
    Pass::function::<loop_fusion::LoopFusion>(),
    Pass::function::<loop_vectorization::LoopVectorization>(),
    Pass::function::<if_conversion::IfConversion>(),
    Pass::function::<value_numbering::EarlyCse>(),
    Pass::function::<value_numbering::Gvn>(),
    Pass::function::<local_forwarding::LocalStoreForward>(),
    Pass::function::<local_forwarding::LocalLoadElimination>(),
    Pass::function::<dead_store_elimination::DeadStoreElimination>(),
    Pass::function::<dce::Dce>(),
];

/// The pass of this name.
pub fn find(name: &str) -> Option<&'static Pass> {
    PASSES.iter().find(|pass| pass.name() == name)
}
