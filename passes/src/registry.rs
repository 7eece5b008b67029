//! All passes, in the order in which they are listed.

use crate::manager::declaration::Pass;
use crate::transforms::*;

/// The table of passes.
pub static PASSES: &[Pass] = &[
    Pass::module::<autodiff::Autodiff>(),
    Pass::module::<keep_waves_in_loops::KeepWavesInLoops>(),
    Pass::function::<ray_query::reconstruct::ReconstructRayQueryLoop>(),
    Pass::function::<ray_query::to_loop::LowerRayQueryToLoop>(),
    Pass::function::<destructure_cfg::DestructureCfg>(),
    Pass::function::<simplify_cfg::SimplifyCfg>(),
    Pass::function::<irreducible::LowerIrreducibleCfg>(),
    Pass::function::<restructure::RestructureCfg>(),
    Pass::function::<early_return_elimination::EarlyReturnElimination>(),
    Pass::function::<lower_break_continue::LowerBreakContinue>(),
    Pass::module::<inline::Inline>(),
    Pass::module::<unused_callable_removal::UnusedCallableRemoval>(),
    Pass::function::<sroa::Sroa>(),
    Pass::function::<mem2reg::Mem2Reg>(),
    Pass::function::<phi_cleanup::PhiCleanup>(),
    Pass::function::<scalarizer::Scalarizer>(),
    Pass::function::<lower_math::LowerMath>(),
    Pass::function::<lower_sampling::LowerSampling>(),
    Pass::function::<const_fold::ConstFold>(),
    Pass::function::<algebraic_simplify::AlgebraicSimplify>(),
    Pass::function::<sccp::Sccp>(),
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
