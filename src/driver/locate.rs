//! Finds the place of a JSON pointer in the text it points into, when an error has to be shown. Trees carry no spans; this scan
//! runs only then.

use std::ops::Range;

/// The byte range of the value that `pointer` names, or of the nearest enclosing value that exists.
///
/// The text need not be well-formed behind that place. Costs one pass over the text up to the place; no recursion.
pub fn locate(text: &[u8], pointer: &str) -> Option<Range<usize>> {
    let mut scanner = Scanner { text, at: 0 };
    scanner.blank();
    let mut found = scanner.at;
    for token in pointer.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        let start = match scanner.peek()? {
            b'{' => scanner.member(&token),
            b'[' => token.parse().ok().and_then(|index| scanner.element(index)),
            _ => None,
        };
        let Some(start) = start else { break };
        found = start;
        scanner.at = start;
    }
    scanner.at = found;
    scanner.skip_value();
    Some(found..scanner.at.max(found + 1).min(text.len()))
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn blank(&mut self) {
        while self.peek().is_some_and(|b| b.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// Start of member `name` of the object here.
    fn member(&mut self, name: &str) -> Option<usize> {
        self.at += 1;
        loop {
            self.blank();
            if self.peek()? != b'"' {
                return None;
            }
            let start = self.at;
            self.skip_string();
            let key = self.text.get(start + 1..self.at.saturating_sub(1))?;
            self.blank();
            if self.peek()? != b':' {
                return None;
            }
            self.at += 1;
            self.blank();
            if key == name.as_bytes() {
                return Some(self.at);
            }
            self.skip_value();
            self.blank();
            if self.peek()? != b',' {
                return None;
            }
            self.at += 1;
        }
    }

    /// Start of element `index` of the array here.
    fn element(&mut self, index: usize) -> Option<usize> {
        self.at += 1;
        for _ in 0..index {
            self.blank();
            if self.peek()? == b']' {
                return None;
            }
            self.skip_value();
            self.blank();
            if self.peek()? != b',' {
                return None;
            }
            self.at += 1;
        }
        self.blank();
        (self.peek()? != b']').then_some(self.at)
    }

    fn skip_string(&mut self) {
        self.at += 1;
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'"' => return,
                b'\\' => self.at += 1,
                _ => {}
            }
        }
        self.at = self.at.min(self.text.len());
    }

    /// Moves behind the value here; stops at the end of a broken text.
    fn skip_value(&mut self) {
        let mut depth = 0usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => self.skip_string(),
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    if depth == 0 {
                        return;
                    }
                    depth -= 1;
                    self.at += 1;
                }
                b',' | b':' if depth == 0 => return,
                _ if byte.is_ascii_whitespace() && depth == 0 => return,
                _ => self.at += 1,
            }
            if depth == 0 && matches!(byte, b'"' | b'}' | b']') {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::locate;

    #[track_caller]
    fn finds(text: &str, pointer: &str, expected: &str) {
        let range = locate(text.as_bytes(), pointer).expect("some place");
        assert_eq!(&text[range], expected);
    }

    #[test]
    fn names_values_of_every_kind() {
        let text = r#" {"a": [1, {"b": "x\"]"}, [ ]], "c/d": true, "e": -2.5} "#;
        finds(text, "/a/0", "1");
        finds(text, "/a/1", r#"{"b": "x\"]"}"#);
        finds(text, "/a/1/b", r#""x\"]""#);
        finds(text, "/a/2", "[ ]");
        finds(text, "/c~1d", "true");
        finds(text, "/e", "-2.5");
        finds(text, "", text.trim());
    }

    #[test]
    fn falls_back_to_the_nearest_that_exists() {
        finds(r#"{"a": [7]}"#, "/a/3", "[7]");
        finds(r#"{"a": [7]}"#, "/a/0/x", "7");
        finds(r#"{"a": [7"#, "/a/0", "7");
    }

    #[test]
    fn survives_depth() {
        let text = "[".repeat(1_000_000);
        assert!(locate(text.as_bytes(), "/0/0").is_some());
    }
}
