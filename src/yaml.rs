//! YAML and JSON text to values, strictly: a key given twice is an error, not a guess; errors and values have
//! their line.

mod guard;
mod quote;

pub(crate) use quote::differs;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::cell::Cell;
use std::fmt;

/// Where in a text, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line.
    pub line: usize,
    /// Column.
    pub column: usize,
}

/// Why a text could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TextError {
    /// Where, if the reader knows.
    pub position: Option<Position>,
    /// What is wrong.
    pub message: String,
}

/// One step from a value to a value inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The value of a key.
    Key(String),
    /// An element of a list.
    Index(usize),
}

/// Reads one YAML document.
pub fn parse_yaml(text: &str) -> Result<Value, TextError> {
    guard::check(text)?;
    // What is written out costs no more than this; only aliases of aliases make more of it (a "YAML bomb").
    let left = Cell::new(text.len().saturating_mul(2).saturating_add(100_000));
    Strict(&left).deserialize(serde_yaml::Deserializer::from_str(text)).map_err(|e| yaml_error(&e))
}

/// Reads one JSON document.
pub fn parse_json(text: &str) -> Result<Value, TextError> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let left = Cell::new(usize::MAX);
    let parsed = Strict(&left).deserialize(&mut reader).and_then(|v| reader.end().map(|()| v));
    parsed.map_err(|e| {
        let position = (e.line() > 0).then(|| Position { line: e.line(), column: e.column() });
        TextError { position, message: without_position(&e.to_string()) }
    })
}

/// Writes a value as YAML that YAML 1.1 readers (kubectl among them) take for the same value.
pub fn to_yaml(value: &Value) -> String {
    quote::write(value).unwrap_or_else(|e| format!("# cannot be written as YAML: {e}\n"))
}

/// The position of the value at `path`, or of the deepest value on the way to it that exists.
pub fn locate(text: &str, path: &[Step]) -> Option<Position> {
    (0..=path.len()).rev().find_map(|depth| locate_exactly(text, &path[..depth], false))
}

/// Like [`locate`], but for a path that ends in a key the position of that key: a block below it begins on
/// another line.
pub fn locate_key(text: &str, path: &[Step]) -> Option<Position> {
    let key = matches!(path.last(), Some(Step::Key(_)));
    locate_exactly(text, path, key).or_else(|| locate(text, path))
}

fn locate_exactly(text: &str, path: &[Step], key: bool) -> Option<Position> {
    let found = Cell::new(false);
    let seed = Locate { path, key, found: &found };
    let error = seed.deserialize(serde_yaml::Deserializer::from_str(text)).err()?;
    let at = error.location()?;
    found.get().then(|| Position { line: at.line(), column: at.column() })
}

fn yaml_error(error: &serde_yaml::Error) -> TextError {
    let position = error.location().map(|l| Position { line: l.line(), column: l.column() });
    TextError { position, message: without_position(&error.to_string()) }
}

/// The readers end their messages with the position, which callers print in their own way.
fn without_position(message: &str) -> String {
    match message.rfind(" at line ") {
        Some(cut) => message[..cut].to_owned(),
        None => message.to_owned(),
    }
}

/// Builds a JSON value and refuses keys that occur twice, and more than the cell allows: one for each value and
/// one for each byte of text.
#[derive(Clone, Copy)]
struct Strict<'a>(&'a Cell<usize>);

impl Strict<'_> {
    fn spend<E: de::Error>(self, cost: usize) -> Result<(), E> {
        let left = self.0.get().checked_sub(cost).ok_or_else(|| E::custom("aliases repeat too much"))?;
        self.0.set(left);
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.spend(1)?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a plain YAML value")
    }

    fn visit_bool<E>(self, v: bool) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_i64<E>(self, v: i64) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_u64<E>(self, v: u64) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_f64<E: de::Error>(self, v: f64) -> Result<Value, E> {
        serde_json::Number::from_f64(v)
            .map(Value::Number)
            .ok_or_else(|| E::custom("infinity and NaN have no place in JSON"))
    }

    fn visit_str<E: de::Error>(self, v: &str) -> Result<Value, E> {
        self.spend(v.len())?;
        Ok(v.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = seq.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = access.next_key_seed(NewKey(&map))? {
            self.spend(key.len())?;
            let value = access.next_value_seed(self)?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

/// A key that the map does not have yet. It is checked while the reader is at the key, so that the error has
/// the key's own line.
struct NewKey<'a>(&'a Map<String, Value>);

impl<'de> DeserializeSeed<'de> for NewKey<'_> {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for NewKey<'_> {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string as key")
    }

    fn visit_bool<E: de::Error>(self, v: bool) -> Result<String, E> {
        self.visit_str(&v.to_string())
    }

    fn visit_i64<E: de::Error>(self, v: i64) -> Result<String, E> {
        self.visit_str(&v.to_string())
    }

    fn visit_u64<E: de::Error>(self, v: u64) -> Result<String, E> {
        self.visit_str(&v.to_string())
    }

    fn visit_str<E: de::Error>(self, key: &str) -> Result<String, E> {
        if self.0.contains_key(key) {
            return Err(E::custom(format!("key {key:?} is given twice")));
        }
        Ok(key.to_owned())
    }
}

/// Walks down a path and fails on purpose at its end: the reader then tells the position.
struct Locate<'a> {
    path: &'a [Step],
    /// Fail at the last key, not at its value.
    key: bool,
    found: &'a Cell<bool>,
}

impl<'de> DeserializeSeed<'de> for Locate<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.path.is_empty() {
            self.found.set(true);
        }
        deserializer.deserialize_any(self)
    }
}

impl Locate<'_> {
    fn here<E: de::Error>(&self) -> Result<(), E> {
        if self.path.is_empty() { Err(E::custom("here")) } else { Ok(()) }
    }
}

impl<'de> Visitor<'de> for Locate<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<(), E> {
        self.here()
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<(), E> {
        self.here()
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<(), E> {
        self.here()
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<(), E> {
        self.here()
    }

    fn visit_str<E: de::Error>(self, _: &str) -> Result<(), E> {
        self.here()
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        self.here()
    }

    fn visit_none<E: de::Error>(self) -> Result<(), E> {
        self.here()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        self.here()?;
        let mut at = 0;
        loop {
            let wanted = self.path.first() == Some(&Step::Index(at));
            let more = if wanted {
                seq.next_element_seed(Locate { path: &self.path[1..], ..self })?
            } else {
                seq.next_element::<de::IgnoredAny>()?.map(|_| ())
            };
            if more.is_none() {
                return Ok(());
            }
            at += 1;
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<(), A::Error> {
        self.here()?;
        // A key that is "given twice" is where the reader stops, and tells the position of.
        let mut stop = Map::new();
        if let (true, [Step::Key(last)]) = (self.key, self.path) {
            stop.insert(last.clone(), Value::Null);
        }
        while let Some(key) = access.next_key_seed(NewKey(&stop)).inspect_err(|_| self.found.set(true))? {
            if self.path.first() == Some(&Step::Key(key)) {
                access.next_value_seed(Locate { path: &self.path[1..], ..self })?;
            } else {
                access.next_value::<de::IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_given_twice_is_an_error_in_both_formats() {
        let error = parse_yaml("a: 1\nb:\n  c: 1\n  c: 2\n").unwrap_err();
        assert!(error.message.contains("\"c\" is given twice"), "{error}");
        assert_eq!(error.position.map(|p| p.line), Some(4), "{error:?}");
        assert!(parse_json("{\"a\": 1, \"a\": 2}").unwrap_err().message.contains("given twice"));
    }

    #[test]
    fn values_are_found_by_path() {
        let text = "a:\n  - x: 1\n  - x: [5, 6]\n    y: {z: q}\n";
        let key = |k: &str| Step::Key(k.to_owned());
        let line = |path: &[Step]| locate(text, path).map(|p| (p.line, p.column));
        assert_eq!(line(&[key("a"), Step::Index(1), key("x"), Step::Index(1)]), Some((3, 12)));
        assert_eq!(line(&[key("a"), Step::Index(1), key("y"), key("z")]), Some((4, 12)));
        assert_eq!(line(&[key("a"), Step::Index(1), key("nope")]), line(&[key("a"), Step::Index(1)]));
    }

    #[test]
    fn keys_are_found_on_their_own_line() {
        let text = "a:\n  b:\n    - x\n  c:\n    d: 1\n";
        let key = |k: &str| Step::Key(k.to_owned());
        let line = |path: &[Step]| locate_key(text, path).map(|p| p.line);
        assert_eq!(line(&[key("a"), key("b")]), Some(2));
        assert_eq!(line(&[key("a"), key("c")]), Some(4));
        assert_eq!(line(&[key("a"), key("b"), Step::Index(0)]), Some(3));
        assert_eq!(
            line(&[key("a"), key("c"), key("nope")]),
            locate(text, &[key("a"), key("c")]).map(|p| p.line)
        );
    }

    #[test]
    fn aliases_may_not_blow_a_small_text_up() {
        let list = format!("a: &a [{}]\n", "x,".repeat(2_000));
        let bomb = format!("{list}b: [{}]\n", "*a,".repeat(2_000));
        assert!(parse_yaml(&bomb).unwrap_err().message.contains("repeat too much"));
        let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(2_000), "*a,".repeat(2_000));
        assert!(parse_yaml(&long).unwrap_err().message.contains("repeat too much"));
        assert!(parse_yaml("a: &a [1, 2]\nb: *a\n").is_ok());
        assert!(parse_yaml(&list).is_ok());
    }

    #[test]
    fn strings_that_older_readers_take_for_something_else_are_quoted() {
        for text in [
            "on",
            "off",
            "yes",
            "no",
            "y",
            "n",
            "1e3",
            "0123",
            "null",
            "~",
            "1_000",
            "0o7",
            "12:30:45",
            "0x1f",
            "2024-01-01",
        ] {
            let written = to_yaml(&Value::String(text.to_owned()));
            assert_eq!(parse_yaml(&written).unwrap(), Value::String(text.to_owned()), "{written}");
        }
    }
}
