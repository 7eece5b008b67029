//! One file a pass.

use crate::analyses::{alias as access, loops};

pub(crate) mod algebraic_simplify;
pub(crate) mod autodiff;
pub(crate) mod barriers;
pub(crate) mod const_fold;
mod cross_block;
pub(crate) mod cvp;
pub(crate) mod dce;
pub(crate) mod dead_arg_elim;
pub(crate) mod dead_field_elimination;
pub(crate) mod dead_store_elimination;
pub(crate) mod defer_local_aggregate_load;
pub(crate) mod destructure_cfg;
pub(crate) mod div_rem_pairs;
pub(crate) mod early_return_elimination;
pub(crate) mod edge_cases;
mod elements;
mod emitter;
pub(crate) mod fix_self_referential;
pub(crate) mod fuse_consecutive_buffer_reads;
pub(crate) mod if_conversion;
pub(crate) mod indvar_simplify;
pub(crate) mod inline;
pub(crate) mod inline_variants;
pub(crate) mod irreducible;
pub(crate) mod keep_waves_in_loops;
mod lanes;
pub(crate) mod licm;
pub(crate) mod local_forwarding;
mod loop_blocks;
pub(crate) mod loop_fusion;
pub(crate) mod loop_rotation;
pub(crate) mod loop_unroll;
pub(crate) mod loop_unswitch;
pub(crate) mod loop_vectorization;
pub(crate) mod lower_bounds;
pub(crate) mod lower_break_continue;
pub(crate) mod lower_math;
pub(crate) mod lower_sampling;
pub(crate) mod mem2reg;
mod native_set;
pub(crate) mod outline;
pub(crate) mod outline_math;
pub(crate) mod phi_cleanup;
pub(crate) mod promote_ref_arg;
pub(crate) mod ray_query;
pub(crate) mod reassociate;
pub(crate) mod reg2mem;
pub(crate) mod restructure;
pub(crate) mod scalarizer;
pub(crate) mod sccp;
pub(crate) mod simplify_cfg;
pub(crate) mod simplify_libcalls;
pub(crate) mod slp_vectorization;
pub(crate) mod sroa;
pub(crate) mod trace_gep;
pub(crate) mod transpose_gep;
pub(crate) mod unused_callable_removal;
pub(crate) mod util;
pub(crate) mod value_numbering;

pub(crate) use elements::scalar_count;

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
