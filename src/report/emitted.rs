//! What a target wrote, with the lines of the source that its lines come from.

use luisac_passes::Emitted;
use luisac_targets::Artifact;

/// The text of an artifact, or the assembly beside it if the artifact is no text; nothing if there is neither.
pub fn emitted(artifact: &Artifact) -> Option<Emitted> {
    let own = std::str::from_utf8(&artifact.code).ok().filter(|text| !text.contains('\0'));
    let texts = artifact.texts.iter();
    let beside = texts.filter(|t| t.kind != "llvm-ir").map(|t| t.text.as_str()).next();
    let text = own.or(beside)?.to_string();
    let name = format!("{} for {}", artifact.metadata.kernel, artifact.metadata.target);
    let source_lines = source_lines(&text);
    Some(Emitted { name, text, source_lines })
}

/// For each line the line of the source that the last mark before it names: `.loc FILE LINE COLUMN` of PTX and assemblers,
/// `OpLine %FILE LINE COLUMN` of SPIR-V, and `#line LINE` of C-like languages, which counts on from line to line until the function ends.
/// 0 before the first mark, and for the marks themselves.
fn source_lines(text: &str) -> Vec<u32> {
    let (mut current, mut counts) = (0u32, false);
    let mut line_of = |line: &str| {
        let mut words = line.split_whitespace();
        let first = words.next();
        let number = match first {
            Some(".loc" | "OpLine") => words.nth(1),
            Some("#line") => words.next(),
            Some("OpNoLine") => Some("0"),
            _ => {
                let here = current;
                if line == "}" && counts {
                    current = 0;
                }
                current += u32::from(counts && current != 0);
                return here;
            }
        };
        current = number.and_then(|n| n.parse().ok()).unwrap_or(0);
        counts = first == Some("#line");
        0
    };
    text.lines().map(&mut line_of).collect()
}

#[cfg(test)]
mod tests {
    use super::source_lines;

    #[test]
    fn marks_of_lines_are_read() {
        let text =
            "start\n.loc 1 12 0\nadd\nmul\n#line 7 \"a\"\nx\n OpLine %3 9 0\ny\nOpNoLine\nz\n";
        assert_eq!(source_lines(text), [0, 0, 12, 12, 0, 7, 0, 9, 0, 0]);
        let text = "f() {\n#line 4 \"a\"\n  x\n  y\n#line 5 \"a\"\n  z\n}\n\ng() {\n#line 2 \"a\"\n  w\n}\n";
        assert_eq!(source_lines(text), [0, 0, 4, 5, 0, 5, 6, 0, 0, 0, 2, 3]);
    }
}
