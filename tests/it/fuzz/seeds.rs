//! Where arbitrary input starts from: the texts of the other tests, good and bad, and what damage is done to them.

use proptest::prelude::*;
use std::path::Path;

/// The files below these folders of `tests` that satisfy the choice, in order.
pub fn files(folders: &[&str], chosen: fn(&str) -> bool) -> Vec<String> {
    fn walk(dir: &Path, chosen: fn(&str) -> bool, found: &mut Vec<String>) {
        let mut entries: Vec<_> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
        entries.sort();
        for path in entries {
            if path.is_dir() {
                walk(&path, chosen, found);
            } else if chosen(&path.display().to_string()) {
                found.push(String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned());
            }
        }
    }
    let mut found = Vec::new();
    for folder in folders {
        walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), chosen, &mut found);
    }
    // What is large was made to be refused at once, and edits of it would be, too.
    found.retain(|text| text.len() < 8_000);
    assert!(found.len() > 3, "only {} seeds in {folders:?}", found.len());
    found
}

/// What breaks YAML, JSON, a config or an address.
fn token() -> impl Strategy<Value = String> {
    let tokens = [
        "",
        "\n",
        "\t",
        " ",
        "- ",
        ": ",
        "#",
        "[",
        "]",
        "{",
        "}",
        "\"",
        "'",
        "\\",
        "\\u0000",
        ",",
        "&a ",
        "*a",
        "!x ",
        "|",
        "<<: ",
        "---\n",
        "...\n",
        "%",
        "~",
        "null",
        "yes",
        "0",
        "-1",
        "1e400",
        ".inf",
        "1e308",
        "0x1f",
        "340282366920938463463374607431768211456",
        "::",
        "/0",
        "/129",
        "-",
        "255.255.255.255",
        "0.0.0.0/0",
        "::/0",
        "ffff::",
        "::ffff:10.0.0.1",
        "010",
        "\u{feff}",
        "\u{0}",
        "\u{1b}[31m",
        "\u{85}",
        "\u{2028}",
        "\r",
        "ä",
        "…",
        "pools:",
        "kind: List\n",
        "items: ",
        "apiVersion: v1\n",
        "metadata: ",
    ];
    prop_oneof![
        4 => prop::sample::select(tokens.to_vec()).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from)
    ]
}

/// One of these texts with a few places cut out, replaced, repeated or swapped for lines of another.
pub fn damaged(seeds: Vec<String>) -> impl Strategy<Value = String> {
    let edit = (any::<prop::sample::Index>(), 0usize..12, token());
    let lines = (any::<prop::sample::Index>(), any::<prop::sample::Index>());
    let text = prop::sample::select(seeds);
    let edits = (prop::collection::vec(edit, 0..5), prop::collection::vec(lines, 0..4));
    (text.clone(), text, edits).prop_map(|(text, other, (edits, lines))| {
        let mut all: Vec<&str> = text.split_inclusive('\n').collect();
        let others: Vec<&str> = text.split_inclusive('\n').chain(other.split_inclusive('\n')).collect();
        for (from, to) in lines.iter().filter(|_| !others.is_empty()) {
            all.insert(to.index(all.len() + 1), others[from.index(others.len())]);
        }
        let mut chars: Vec<char> = all.concat().chars().collect();
        for (at, cut, token) in edits {
            let at = at.index(chars.len() + 1);
            let end = (at + cut).min(chars.len());
            chars.splice(at..end, token.chars());
        }
        chars.into_iter().collect()
    })
}
