//! Puts quotes around strings that some reader would take for something else, as kubectl does.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::Value;

/// True or false to readers of YAML 1.1, kubectl among them, and text to readers of YAML 1.2.
const OLD_WORDS: [&str; 6] = ["y", "n", "yes", "no", "on", "off"];
/// Never text.
const WORDS: [&str; 3] = ["true", "false", "null"];

/// Is this, without quotes, text to a YAML 1.2 reader and something else to kubectl?
pub(crate) fn differs(text: &str) -> bool {
    let digits = text.trim_start_matches(['+', '-']);
    let octal = digits.len() > 1 && digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit());
    let upper = ["0X", "0O", "0B"].iter().any(|prefix| digits.starts_with(prefix));
    is_word(&OLD_WORDS, text) || ((octal || upper || text.contains('_')) && is_number(text))
}

/// Would any reader take this, without quotes, for something else than text?
fn is_ambiguous(text: &str) -> bool {
    matches!(text, "" | "~" | "<<" | "=")
        || is_word(&OLD_WORDS, text)
        || is_word(&WORDS, text)
        || is_number(text)
        || is_time(text)
}

/// `yes`, `Yes` or `YES`, but not `yEs`.
fn is_word(words: &[&str], text: &str) -> bool {
    let tail = text.get(1..).unwrap_or_default();
    let uniform =
        tail.bytes().all(|b| b.is_ascii_lowercase()) || text.bytes().all(|b| b.is_ascii_uppercase());
    uniform && words.iter().any(|word| word.eq_ignore_ascii_case(text))
}

/// Any way to write a number: `0x1f`, `1_000`, `1e3`, `.inf`, `12:30:45` (base 60).
fn is_number(text: &str) -> bool {
    // Most strings end here, before anything is copied.
    if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) {
        return false;
    }
    let plain = text.replace('_', "").to_ascii_lowercase();
    let plain = plain.strip_prefix(['+', '-']).unwrap_or(&plain);
    if !plain.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return false;
    }
    let of = |prefix: &str, digits: fn(char) -> bool| {
        plain.strip_prefix(prefix).is_some_and(|d| !d.is_empty() && d.chars().all(digits))
    };
    let sixty = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit() || c == '.');
    of("0x", |c| c.is_ascii_hexdigit())
        || of("0o", |c| c.is_digit(8))
        || of("0b", |c| c.is_digit(2))
        || plain.parse::<f64>().is_ok()
        || matches!(plain, ".inf" | ".nan")
        || (plain.contains(':') && plain.split(':').all(sixty))
}

/// A date, with or without a time.
fn is_time(text: &str) -> bool {
    let date = text.split(['T', 't', ' ']).next().unwrap_or_default();
    let mut parts = date.split('-');
    let mut digits = |lengths: std::ops::RangeInclusive<usize>| {
        parts.next().is_some_and(|p| lengths.contains(&p.len()) && p.bytes().all(|b| b.is_ascii_digit()))
    };
    digits(4..=4)
        && digits(1..=2)
        && digits(1..=2)
        && parts.next().is_none()
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-+:. ".contains(&b))
}

/// The value as YAML. The writer knows no such quotes, so ambiguous strings go to it between two marks that no
/// string has in it, and those become the quotes.
pub(super) fn write(value: &Value) -> Result<String, serde_yaml::Error> {
    let mark = ('\u{e000}'..'\u{f000}').find(|mark| !holds(value, *mark)).unwrap_or('\u{e000}');
    Ok(serde_yaml::to_string(&Marked { value, mark })?.replace(mark, "\""))
}

fn holds(value: &Value, mark: char) -> bool {
    match value {
        Value::String(text) => text.contains(mark),
        Value::Array(list) => list.iter().any(|item| holds(item, mark)),
        Value::Object(map) => map.iter().any(|(key, item)| key.contains(mark) || holds(item, mark)),
        _ => false,
    }
}

struct Marked<'a> {
    value: &'a Value,
    mark: char,
}

impl Serialize for Marked<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mark = self.mark;
        match self.value {
            Value::String(text) => Text { text, mark }.serialize(serializer),
            Value::Array(list) => {
                let mut seq = serializer.serialize_seq(Some(list.len()))?;
                for value in list {
                    seq.serialize_element(&Marked { value, mark })?;
                }
                seq.end()
            }
            Value::Object(object) => {
                let mut map = serializer.serialize_map(Some(object.len()))?;
                for (text, value) in object {
                    map.serialize_entry(&Text { text, mark }, &Marked { value, mark })?;
                }
                map.end()
            }
            plain => plain.serialize(serializer),
        }
    }
}

struct Text<'a> {
    text: &'a str,
    mark: char,
}

impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { text, mark } = self;
        if is_ambiguous(text) {
            serializer.serialize_str(&format!("{mark}{text}{mark}"))
        } else {
            serializer.serialize_str(text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::{parse_yaml, to_yaml};
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn ambiguous_strings_get_the_quotes_that_kubectl_gives_them() {
        for text in [
            "",
            "~",
            "<<",
            "=",
            "y",
            "N",
            "yes",
            "No",
            "ON",
            "off",
            "true",
            "Null",
            "77",
            "-1",
            "1e3",
            "1.5",
            ".5",
            "1.",
            "0644",
            "089",
            "1_000",
            "+_1",
            "0x1f",
            "0X1F",
            "0b1",
            "0o7",
            "12:30:45",
            ".inf",
            ".NaN",
            "2026-01-31",
            "2026-01-31T12:00:00Z",
            "2026-01-31 12:00:00.5 +01:00",
        ] {
            assert_eq!(to_yaml(&json!({"k": text})), format!("k: \"{text}\"\n"));
            assert_eq!(to_yaml(&json!({text: 1})), format!("\"{text}\": 1\n"));
            assert_eq!(to_yaml(&json!([text])), format!("- \"{text}\"\n"));
        }
        for text in ["yEs", "nope", "192.168.1.0/24", "192.168.1.1", "fd00::1", "v1", "1.2.3", "10Gi", "a_b"]
        {
            assert_eq!(to_yaml(&json!({"k": text})), format!("k: {text}\n"));
        }
    }

    #[test]
    fn what_kubectl_reads_otherwise_is_known() {
        for text in ["y", "Yes", "OFF", "0644", "089", "-010", "1_000", "-_1", "0X1F"] {
            assert!(differs(text), "{text}");
        }
        for text in [
            "",
            "yEs",
            "true",
            "77",
            "0",
            "1.5",
            "0x1f",
            "a_b",
            "2026-01-31T12:00:00Z",
            "12:30:45",
            "yes sir",
        ] {
            assert!(!differs(text), "{text}");
        }
    }

    #[test]
    fn strings_with_marks_in_them_stay() {
        let value = json!({"a\u{e000}": "\u{e001}", "b": "yes", "c": "\"\u{e002}"});
        assert_eq!(parse_yaml(&to_yaml(&value)).unwrap(), value);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(text in prop_oneof![any::<String>(), "[-+0-9_.:eExXoObBTZ ynoYN~<=]{0,12}"]) {
            let value = json!({"k": text, "list": [{text.clone(): text}]});
            prop_assert_eq!(parse_yaml(&to_yaml(&value)).unwrap(), value);
        }
    }
}
