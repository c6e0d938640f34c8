//! Whatever the text is: an answer, never a panic, and errors that name a line of the file.

use super::example::EXAMPLE;
use crate::config::{parse, parse_bytes};
use proptest::prelude::*;

const DENSE: &str = "ipam-config: {pools: [{name: a, ranges: [10.0.0.0/24, 10.0.1.5-10.0.1.9], prefix: 8, gateway: \
                     10.0.0.1, exclude: [10.0.0.9], reserved: {m: 10.0.0.8}, reuse-after: 1h, interface: [a, b], \
                     match: {systems: [elf], labels: {a: b}}}], service-cidrs: [10.96.0.0/12], metal3: auto}\n";

fn check(text: &str) {
    let lines = text.lines().count().max(1);
    if let Err(errors) = parse("f", text) {
        assert!(!errors.errors.is_empty());
        for error in errors.errors {
            assert!((1..=lines).contains(&error.line), "{error:?}");
            assert!(!error.message.is_empty());
            assert!(!error.to_string().contains('\u{1b}'), "{error:?}");
        }
    }
}

/// What breaks YAML, or the config.
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
        "&a ",
        "*a",
        "!x ",
        "|",
        "<<: ",
        "---\n",
        "~",
        "null",
        "0",
        "-1",
        "1e400",
        ".inf",
        "340282366920938463463374607431768211456",
        "::",
        "/0",
        "/129",
        "255.255.255.255",
        "0.0.0.0/0",
        "::/0",
        "ffff::",
        "\u{feff}",
        "\u{0}",
        "\u{1b}[31m",
        "ä",
        "…",
        "pools:",
    ];
    prop_oneof![
        prop::sample::select(tokens.to_vec()).prop_map(str::to_owned),
        any::<char>().prop_map(String::from)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn arbitrary_text_is_answered(text in any::<String>(), below in any::<bool>()) {
        check(&if below { format!("ipam-config: {text}") } else { text });
    }

    #[test]
    fn arbitrary_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse_bytes("f", &bytes);
    }

    #[test]
    fn a_damaged_config_is_answered(
        dense in any::<bool>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0usize..12, token()), 1..5),
    ) {
        let mut chars: Vec<char> = if dense { DENSE } else { EXAMPLE }.chars().collect();
        for (at, cut, token) in edits {
            let at = at.index(chars.len() + 1);
            let end = (at + cut).min(chars.len());
            chars.splice(at..end, token.chars());
        }
        check(&chars.into_iter().collect::<String>());
    }

    /// Whole lines moved about keep the syntax and break the meaning.
    #[test]
    fn a_shuffled_config_is_answered(
        moves in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..6),
    ) {
        let mut lines: Vec<&str> = EXAMPLE.lines().filter(|l| !l.trim_start().starts_with('#')).collect();
        for (from, to) in moves {
            let line = lines[from.index(lines.len())];
            let to = to.index(lines.len());
            lines.insert(to, line);
        }
        check(&lines.join("\n"));
    }
}
