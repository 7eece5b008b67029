//! Ray queries: from callback form to loops and pipelines, and back (`passes.md` section 6).

mod outline;
mod query_loop;
pub(crate) mod reconstruct;
pub(crate) mod to_loop;
pub(crate) mod to_pipeline;
