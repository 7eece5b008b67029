//! What each pass does, as text.

mod arithmetic;
mod barriers;
mod bounds;
mod calls;
mod cfg;
mod dce;
mod exits;
mod loops;
mod memory;
mod ray_queries;
mod ray_walk;
mod redundancy;
mod restructure;
mod scalar;
mod values;
mod vectors;
mod waves;
