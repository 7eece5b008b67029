//! All passes, in the order in which they are listed.

use crate::manager::declaration::Pass;
use crate::transforms::*;

/// The table of passes.
pub static PASSES: &[Pass] = &[
    Pass::function::<destructure_cfg::DestructureCfg>(),
    Pass::function::<simplify_cfg::SimplifyCfg>(),
    Pass::function::<dce::Dce>(),
];

/// The pass of this name.
pub fn find(name: &str) -> Option<&'static Pass> {
    PASSES.iter().find(|pass| pass.name() == name)
}
