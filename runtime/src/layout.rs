//! What `#[derive(Value)]` writes calls to.

use crate::Value;

/// Where the members of a structure lie.
pub struct Layout<const N: usize> {
    /// Offset of each member.
    pub offsets: [usize; N],
    /// Bytes of the structure, a multiple of its alignment.
    pub size: usize,
    /// The largest alignment of its members, or what was asked for.
    pub align: usize,
}

impl<const N: usize> Layout<N> {
    /// Lays out members of these sizes and alignments.
    #[must_use]
    pub const fn new(members: [(usize, usize); N], least: usize) -> Self {
        let (mut offsets, mut end, mut align, mut i) = ([0; N], 0usize, least, 0);
        while i < N {
            let (size, member_align) = members[i];
            end = end.next_multiple_of(member_align);
            offsets[i] = end;
            end += size;
            if member_align > align {
                align = member_align;
            }
            i += 1;
        }
        Self { offsets, size: end.next_multiple_of(align), align }
    }
}

/// Stores a member.
pub fn store<T: Value>(value: T, bytes: &mut [u8], offset: usize) {
    value.store(bytes.get_mut(offset..).unwrap_or_default());
}

/// Loads a member.
#[must_use]
pub fn load<T: Value>(bytes: &[u8], offset: usize) -> T {
    T::load(bytes.get(offset..).unwrap_or_default())
}
