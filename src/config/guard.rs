//! Refuses text that the YAML reader would take too long over, or read as something else than it says.

use super::findings::{Finding, Path, quote};
use std::collections::BTreeSet;

/// Larger files are no config, and reading them would take long.
const LONGEST: usize = 4 << 20;

/// The reader looks at every open bracket for every word; a config has five of them.
const DEEPEST: usize = 1_000;

/// What is wrong with the text, if anything.
pub(super) fn check(text: &str) -> Option<Finding> {
    let finding = |line: usize, message: String| Finding::new(&Path::default(), message).on_line(line);
    if text.len() > LONGEST {
        let hint = format!("a config may have at most {LONGEST} (4 MiB): is this the right file?");
        return Some(finding(1, format!("the file has {} bytes", text.len())).hint(hint));
    }
    let (mut open, mut anchors) = (0usize, BTreeSet::new());
    for (i, line) in text.lines().enumerate() {
        for byte in line.bytes() {
            match byte {
                b'[' | b'{' => open += 1,
                b']' | b'}' => open = open.saturating_sub(1),
                _ => {}
            }
            if open > DEEPEST {
                let hint = "write lists as [a, b] and maps as {a: b}";
                return Some(finding(i + 1, "too many brackets are open".to_owned()).hint(hint));
            }
        }
        // The reader mixes anchors up once a name is used again.
        if let Some(twice) = anchors_in(line).find(|name| !anchors.insert(*name)) {
            let hint = "give each anchor its own name, or write the values out";
            return Some(finding(i + 1, format!("the anchor {} is there twice", quote(twice))).hint(hint));
        }
    }
    None
}

/// `&name` at the beginning of a word, outside comments.
fn anchors_in(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(|c: char| c.is_whitespace() || "[]{},".contains(c));
    let words = words.take_while(|word| !word.starts_with('#'));
    words.filter(|word| word.starts_with('&') && word.len() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_anchors_that_are_there_twice() {
        assert!(check("a: &x 1\nb: [&y 2, &x 3]\nc: *x\n").is_some());
        for fine in ["a: &x 1\nb: &y 2\n", "a: &x 1 # &x\n# &x\n", "a: R&D\nb: R&D\n", "a: b & c & d\n"] {
            assert!(check(fine).is_none(), "{fine}");
        }
    }

    #[test]
    fn many_open_brackets_are_refused_before_they_are_read() {
        let start = std::time::Instant::now();
        assert!(check(&"[".repeat(LONGEST)).is_some());
        assert!(check(&"[{".repeat(LONGEST / 2)).is_some());
        assert!(check(&"[]{}".repeat(1_000)).is_none());
        assert!(start.elapsed().as_secs() < 5);
    }
}
