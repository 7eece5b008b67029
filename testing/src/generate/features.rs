//! Which parts of the language a kernel uses. Leaving out half of them at random makes the rest meet more often than if every
//! kernel had a little of all (A. Groce et al., Swarm Testing, ISSTA 2012).

use crate::random::Random;

macro_rules! features {
    ($($name:ident $summary:literal;)*) => {
        /// Parts of the language.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Features { $(#[doc = $summary] pub $name: bool,)* }

        impl Features {
            /// All of them.
            pub const ALL: Features = Features { $($name: true,)* };

            /// About half of them.
            pub fn random(random: &mut Random) -> Features {
                Features { $($name: random.one_in(2),)* }
            }
        }
    };
}

features! {
    halves "Numbers of type half.";
    doubles "Numbers of type double.";
    narrow "Integers of 8 and 16 bits.";
    longs "Integers of 64 bits.";
    vectors "Vectors.";
    matrices "Float matrices.";
    aggregates "Arrays and structures.";
    calls "Callables, with references that may alias.";
    loops "Counted and endless loops, `break` and `continue`.";
    switches "Switches, also some whose default is never reached.";
    returns "Returns before the end.";
    math "Transcendental functions.";
    buffers "Reads and writes of typed buffers.";
    bytes "Reads and writes of a byte buffer.";
    shared "Shared memory between barriers.";
    waves "Operations over the lanes of a wave.";
    atomics "Atomics whose results do not depend on an order.";
    prints "Prints, assertions and assumptions.";
    guards "Indices that are out of range where a branch goes the other way.";
    images "Reads and writes of images, also out of range.";
    handles "Bindless arrays and device addresses.";
}
