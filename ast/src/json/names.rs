//! Finding a name among a fixed set: one look into a table and one comparison.

/// Position in a table; names of a set must differ in it, which [`slots`] checks at compile time. Empty names have one too.
const fn slot(name: &[u8]) -> usize {
    let len = name.len();
    if len == 0 {
        return 0;
    }
    let sum = name[0] as usize + 2 * name[len - 1] as usize + 29 * name[len / 2] as usize + len;
    sum & 255
}

/// For each slot the position, counted from one, of the name that belongs there.
pub(super) const fn slots(names: &[&str]) -> [u8; 256] {
    let mut slots = [0; 256];
    let mut i = 0;
    while i < names.len() {
        let at = slot(names[i].as_bytes());
        assert!(slots[at] == 0, "two names share a slot: change the multipliers");
        slots[at] = i as u8 + 1;
        i += 1;
    }
    slots
}

/// The position of `name` in `names`, of which `slots` is the table.
#[inline]
pub(super) fn position(slots: &[u8; 256], names: &[&str], name: &[u8]) -> Option<usize> {
    let position = usize::from(slots[slot(name)]).checked_sub(1)?;
    (names.get(position)?.as_bytes() == name).then_some(position)
}
