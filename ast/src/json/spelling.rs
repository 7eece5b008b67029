//! What a misspelt name may have meant.

/// Longest name that is compared; no name that exists is longer.
const LONGEST: usize = 64;

/// `; did you mean X?` with the name that is most like `word`, or nothing if none is much like it.
pub(super) fn suggestion<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    if word.len() > LONGEST {
        return String::new();
    }
    let word = word.to_ascii_uppercase();
    let rated = names.into_iter().map(|name| (distance(word.as_bytes(), name.as_bytes()), name));
    match rated.min() {
        Some((edits, name)) if 3 * edits <= word.len() => format!("; did you mean `{name}`?"),
        _ => String::new(),
    }
}

/// Fewest insertions, removals and replacements of a byte that make one text of the other (Wagner and Fischer, 1974), row by row.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = corner + usize::from(x != y);
            corner = row[j + 1];
            row[j + 1] = replaced.min(corner + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found() {
        assert_eq!(distance(b"kitten", b"sitting"), 3);
        assert_eq!(distance(b"", b"abc"), 3);
        assert_eq!(distance(b"abc", b"abc"), 0);
        let names = ["BUFFER_READ", "BUFFER_WRITE", "SQRT"];
        assert_eq!(suggestion("BUFER_READ", names), "; did you mean `BUFFER_READ`?");
        assert_eq!(suggestion("sqrt", names), "; did you mean `SQRT`?");
        assert_eq!(suggestion("FROBNICATE", names), "");
        assert_eq!(suggestion(&"A".repeat(100_000), names), "");
    }
}
