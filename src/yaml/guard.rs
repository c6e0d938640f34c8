//! Refuses text that the YAML reader would take too long over, or read as something else than it says.

use super::{Position, TextError};
use std::cell::LazyCell;
use std::collections::BTreeSet;

/// The reader looks at every open bracket for every word; real documents have a handful of them.
const DEEPEST: usize = 1_000;

/// What is wrong with the text, if anything.
pub(super) fn check(text: &str) -> Result<(), TextError> {
    let wrong = |line: usize, message: String| {
        Err(TextError { position: Some(Position { line: line + 1, column: 1 }), message })
    };
    let (mut open, mut anchors) = (0usize, BTreeSet::new());
    // Looked for once, and only where a name is used again: a long text may do so on every line.
    let aliases = LazyCell::new(|| aliases_in(text));
    for (at, line) in text.lines().enumerate() {
        for byte in line.bytes() {
            match byte {
                b'[' | b'{' => open += 1,
                b']' | b'}' => open = open.saturating_sub(1),
                _ => {}
            }
            if open > DEEPEST {
                return wrong(at, "too many brackets are open".to_owned());
            }
        }
        // The reader mixes anchors up once a name is used again. Only where it is referred to does that
        // matter, and a text may say `&name` without meaning an anchor.
        let mut twice = anchors_in(line).filter(|name| !anchors.insert(*name));
        if let Some(name) = twice.find(|name| aliases.contains(name)) {
            return wrong(at, format!("the anchor \"{name}\" is there twice: give each its own name"));
        }
    }
    Ok(())
}

/// Words outside comments.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(|c: char| c.is_whitespace() || "[]{},".contains(c));
    words.take_while(|word| !word.starts_with('#'))
}

fn anchors_in(line: &str) -> impl Iterator<Item = &str> {
    words(line).filter_map(|word| word.strip_prefix('&')).filter(|name| !name.is_empty())
}

fn aliases_in(text: &str) -> BTreeSet<&str> {
    text.lines().flat_map(words).filter_map(|word| word.strip_prefix('*')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_anchors_that_are_there_twice() {
        assert!(check("a: &x 1\nb: [&y 2, &x 3]\nc: *x\n").is_err());
        assert!(check("a: &x 1\nb: [&x 2, &y 3]\nc: &y 4\nd: *y\n").is_err());
        let fine = [
            "a: &x 1\nb: &y 2\nc: *x\n",
            "a: &x 1 # &x\n# &x\nb: *x\n",
            "a: R&D\nb: R&D\n",
            "a: run &x\nb: run &x\n",
        ];
        for text in fine {
            assert!(check(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn many_open_brackets_are_refused_before_they_are_read() {
        assert!(check(&"[".repeat(4 << 20)).is_err());
        assert!(check(&"[{".repeat(2 << 20)).is_err());
        assert!(check(&"[]{}".repeat(10_000)).is_ok());
    }
}
