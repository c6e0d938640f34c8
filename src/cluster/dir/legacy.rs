//! Where kubectl, a YAML 1.1 reader, sees something else in a text than a YAML 1.2 reader.

use crate::yaml::{self, Step};
use serde_json::Value;
use std::collections::BTreeSet;

/// How many doubtful strings of one document are looked up in its text, each at the cost of reading it again.
const LOOKED_UP: usize = 16;

/// Applies merge keys (`<<: *defaults`) in all of a value: its own keys win, then those merged first.
pub(super) fn merge(value: &mut Value) -> Result<(), &'static str> {
    match value {
        Value::Array(list) => list.iter_mut().try_for_each(merge),
        Value::Object(map) => {
            map.values_mut().try_for_each(merge)?;
            let sources = match map.shift_remove("<<") {
                None => return Ok(()),
                Some(Value::Array(list)) => list,
                Some(one) => vec![one],
            };
            for source in sources {
                let Value::Object(source) = source else {
                    return Err("`<<` can only merge a map or a list of maps");
                };
                for (key, value) in source {
                    map.entry(key).or_insert(value);
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// The line of a string that stands in the text without quotes and that kubectl takes for true, false or a
/// number. Such a text means different things to different readers, and to guess would change machines.
pub(super) fn doubtful(text: &str, value: &Value) -> Option<(usize, String)> {
    let between = [' ', '\t', '\r', '\n', ',', '[', ']', '{', '}'];
    let plain: BTreeSet<&str> = text.split(between).filter(|token| yaml::differs(token)).collect();
    let mut found = Vec::new();
    if !plain.is_empty() {
        collect(value, &plain, &mut Vec::new(), &mut found);
    }
    found.into_iter().find_map(|(path, word)| {
        let at = yaml::locate(text, &path)?;
        let line = text.split('\n').nth(at.line - 1)?;
        let plain = line.chars().skip(at.column - 1).collect::<String>().starts_with(&word);
        plain.then_some((at.line, word))
    })
}

/// The strings that are one of these words, with the way to each.
fn collect(
    value: &Value,
    words: &BTreeSet<&str>,
    path: &mut Vec<Step>,
    found: &mut Vec<(Vec<Step>, String)>,
) {
    match value {
        Value::String(text) if found.len() < LOOKED_UP && words.contains(text.as_str()) => {
            found.push((path.clone(), text.clone()));
        }
        Value::Array(list) => {
            for (at, item) in list.iter().enumerate() {
                path.push(Step::Index(at));
                collect(item, words, path, found);
                path.pop();
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                path.push(Step::Key(key.clone()));
                collect(item, words, path, found);
                path.pop();
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doubt(text: &str) -> Option<(usize, String)> {
        doubtful(text, &yaml::parse_yaml(text).unwrap())
    }

    #[test]
    fn words_and_octals_without_quotes_are_found() {
        assert_eq!(doubt("a: 1\nspec:\n  paused: yes\n"), Some((3, "yes".to_owned())));
        assert_eq!(doubt("a: [b, Off]\n"), Some((1, "Off".to_owned())));
        assert_eq!(doubt("a: {b: no}\r\n"), Some((1, "no".to_owned())));
        assert_eq!(doubt("- 0644 # mode\n"), Some((1, "0644".to_owned())));
    }

    #[test]
    fn the_same_words_in_quotes_or_in_text_are_fine() {
        for text in
            ["a: 'yes'\n", "a: \"no\"\n", "a: |\n  say: yes\n", "a: yes sir\n", "a: true\nb: 0\n", "on: 1\n"]
        {
            assert_eq!(doubt(text), None, "{text}");
        }
        assert_eq!(doubt("b: 'yes'\na: |\n  say: yes\n"), None);
    }

    #[test]
    fn merge_keys_are_applied() {
        let read = |text| {
            let mut value = yaml::parse_yaml(text).unwrap();
            merge(&mut value).map(|()| value)
        };
        let text = "x: &x {a: 1, b: 1}\ny: &y {b: 2, c: 2}\nz: {<<: [*x, *y], a: 0}\nw: {<<: *y}\n";
        let value = read(text).unwrap();
        assert_eq!(value["z"], serde_json::json!({"a": 0, "b": 1, "c": 2}));
        assert_eq!(value["w"], serde_json::json!({"b": 2, "c": 2}));
        assert!(read("a: {<<: 1}\n").is_err());
    }
}
