//! "Did you mean": the known word nearest to what was written.

/// A hint for a word that is not among `known`: the nearest one, or all of them.
pub(super) fn hint(word: &str, known: &[&str]) -> String {
    match nearest(word, known) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!("known here: {}", known.join(", ")),
    }
}

/// The known word within two edits, the nearest first.
pub fn nearest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    // Case and the choice between `_` and `-` are the likeliest slips: they count for nothing.
    let word: Vec<char> = word.chars().take(64).flat_map(char::to_lowercase).map(dash).collect();
    let near = |k: &&'k str| {
        let other: Vec<char> = k.chars().flat_map(char::to_lowercase).collect();
        let edits = distance(&word, &other);
        // Two edits make any short word into any other.
        (edits <= 2 && edits < other.len().min(word.len())).then_some((edits, *k))
    };
    known.iter().filter_map(near).min_by_key(|(edits, _)| *edits).map(|(_, k)| k)
}

fn dash(c: char) -> char {
    if c == '_' || c == ' ' { '-' } else { c }
}

/// Levenshtein: how many characters must be added, dropped or changed.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_nearest_word() {
        let known = ["ranges", "prefix", "gateway", "reuse-after", "match"];
        for (word, right) in [
            ("range", Some("ranges")),
            ("Prefix", Some("prefix")),
            ("gatway", Some("gateway")),
            ("gatewya", Some("gateway")),
            ("reuse_after", Some("reuse-after")),
            ("reuseAfter", Some("reuse-after")),
            ("netmask", None),
            ("", None),
            ("a", None),
        ] {
            assert_eq!(nearest(word, &known), right, "{word}");
        }
        assert_eq!(hint("zzzzzz", &known[..2]), "known here: ranges, prefix");
    }

    #[test]
    fn counts_edits() {
        let count =
            |a: &str, b: &str| distance(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>());
        assert_eq!(count("kitten", "sitting"), 3);
        assert_eq!(count("", "abc"), 3);
        assert_eq!(count("abc", "abc"), 0);
    }
}
