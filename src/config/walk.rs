//! Takes typed values out of the parsed document; what has the wrong type becomes a finding in plain words.

use super::findings::{Finding, Findings, Path, Placed, quote};
use super::{names, suggest};
use crate::addr::{self, Span};
use serde_json::{Map, Value};
use std::net::{IpAddr, Ipv6Addr};

/// The value of a key: not there, there but wrong (and already reported), or good.
#[derive(Clone, Debug)]
pub(super) enum Field<T> {
    Absent,
    Bad,
    Is(T),
}

impl<T> Field<T> {
    /// The value, if it is good.
    pub(super) fn get(self) -> Option<T> {
        match self {
            Self::Is(value) => Some(value),
            Self::Absent | Self::Bad => None,
        }
    }
}

/// Types by the words that people read.
pub(super) const TEXT: &str = "text";
const LIST: &str = "a list";

/// A map whose keys are all known.
pub(super) struct Table<'v> {
    pub(super) at: Path,
    map: &'v Map<String, Value>,
}

impl<'v> Table<'v> {
    /// Checks that the value is a map and has only known keys.
    pub(super) fn read(found: &mut Findings, at: &Path, value: &'v Value, known: &[&str]) -> Option<Self> {
        let Value::Object(map) = value else {
            wrong_type(found, at, value, "a map of keys and values");
            return None;
        };
        for key in map.keys().filter(|k| !known.contains(&k.as_str())) {
            found.error_with(|| unknown_key(&at.key(key), key, known));
        }
        Some(Self { at: at.clone(), map })
    }

    /// Reads the value of a key with `read`.
    pub(super) fn field<T>(
        &self,
        found: &mut Findings,
        key: &str,
        read: impl FnOnce(&mut Findings, &Path, &'v Value) -> Option<T>,
    ) -> Field<T> {
        let at = self.at.key(key);
        match self.map.get(key) {
            None => Field::Absent,
            Some(Value::Null) => {
                // Often all that belongs to it is commented out or indented wrongly: better to ask.
                let hint = "give it a value, or leave the key out";
                found.error(Finding::new(&at, "has no value").hint(hint));
                Field::Bad
            }
            Some(value) => read(found, &at, value).map_or(Field::Bad, Field::Is),
        }
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.map.contains_key(key)
    }
}

/// Words that other tools, or the short form of this config, use for a key.
const SYNONYMS: [(&str, &str); 12] = [
    ("nameserver", "nameservers"),
    ("dns", "nameservers"),
    ("default-gateway", "gateway"),
    ("ipv4-gateway", "gateway"),
    ("ipv6-gateway", "gateway"),
    ("ip-range-cidr", "ranges"),
    ("ipv4-range-cidr", "ranges"),
    ("ipv6-range-cidr", "ranges"),
    ("addresses", "ranges"),
    ("cidr", "ranges"),
    ("netmask", "prefix"),
    ("search", "search-domains"),
];

fn unknown_key(at: &Path, key: &str, known: &[&str]) -> Finding {
    let synonym = SYNONYMS.iter().find(|(other, k)| *other == key && known.contains(k)).map(|(_, k)| *k);
    let hint = match synonym {
        Some(right) => format!("did you mean \"{right}\"?"),
        None if key == "<<" => "merging with << is not supported: write the keys out".to_owned(),
        None => suggest::hint(key, known),
    };
    Finding::new(at, format!("{} is not a known key", quote(key))).hint(hint)
}

/// Says what is there instead of what should be, and how to write it where that is clear.
pub(super) fn wrong_type(found: &mut Findings, at: &Path, value: &Value, wanted: &str) {
    let finding = Finding::new(at, format!("must be {wanted}, not {}", kind_of(value)));
    let short = |s: &&String| s.len() <= 60 && !s.contains(char::is_control);
    found.error(match value {
        Value::String(s) if wanted == LIST && short(&s) => finding.hint(format!("write it as a list: [{s}]")),
        Value::Number(_) | Value::Bool(_) if wanted == TEXT => {
            finding.hint(format!("write it in quotes: \"{value}\""))
        }
        _ if wanted == LIST => finding.hint("write a list as [a, b], or begin each element with \"- \""),
        Value::Array(_) if wanted == TEXT => finding.hint("write one value, without [ ] and \"- \""),
        Value::Array(_) => finding.hint("write lines of `key: value`, without \"- \""),
        _ if wanted == TEXT => finding.hint("write one value"),
        _ => finding.hint("write lines of `key: value` below it, indented by two spaces"),
    });
}

/// Text that is not empty.
pub(super) fn text<'v>(found: &mut Findings, at: &Path, value: &'v Value) -> Option<&'v str> {
    match value {
        Value::String(s) if s.trim().is_empty() => {
            found.error(Finding::new(at, "is empty").hint("give it a value"));
            None
        }
        Value::String(s) => Some(s),
        other => {
            wrong_type(found, at, other, TEXT);
            None
        }
    }
}

/// The good elements of a list; `None` if it is no list.
pub(super) fn list<'v, T>(
    found: &mut Findings,
    at: &Path,
    value: &'v Value,
    mut item: impl FnMut(&mut Findings, &Path, &'v Value) -> Option<T>,
) -> Option<Vec<T>> {
    let Value::Array(items) = value else {
        wrong_type(found, at, value, LIST);
        return None;
    };
    Some(items.iter().enumerate().filter_map(|(i, v)| item(found, &at.index(i), v)).collect())
}

/// Like [`list`], but one element may stand alone.
pub(super) fn list_or_one<'v, T>(
    found: &mut Findings,
    at: &Path,
    value: &'v Value,
    mut item: impl FnMut(&mut Findings, &Path, &'v Value) -> Option<T>,
) -> Option<Vec<T>> {
    if value.is_string() { item(found, at, value).map(|one| vec![one]) } else { list(found, at, value, item) }
}

/// One of a few words.
pub(super) fn choice<T: Copy>(
    found: &mut Findings,
    at: &Path,
    value: &Value,
    choices: &[(&str, T)],
) -> Option<T> {
    let word = text(found, at, value)?;
    let right = choices.iter().find(|(w, _)| *w == word).map(|(_, t)| *t);
    if right.is_none() {
        let known: Vec<&str> = choices.iter().map(|(w, _)| *w).collect();
        let finding = Finding::new(at, format!("{} is not one of {}", quote(word), known.join(", ")));
        found.error(match suggest::nearest(word, &known) {
            Some(near) => finding.hint(format!("did you mean \"{near}\"?")),
            None => finding.hint(format!("write one of {}", known.join(", "))),
        });
    }
    right
}

/// One address.
pub(super) fn address(found: &mut Findings, at: &Path, value: &Value) -> Option<Placed<IpAddr>> {
    let Value::String(text) = value else {
        let finding = Finding::new(at, format!("must be an IP address, not {}", kind_of(value)));
        found.error(finding.hint("write an address such as 192.168.0.1 or fd00::1"));
        return None;
    };
    if let Ok(value) = addr::parse_address(text) {
        return Some(Placed { at: at.clone(), value });
    }
    found.error(bad_address(at, text, "write an address such as 192.168.0.1 or fd00::1"));
    None
}

/// Addresses, and the prefix length if they are written as a network.
pub(super) type Range = Placed<(Span, Option<u8>)>;

/// A network, a range or an address; with the prefix length if it was written as a network.
pub(super) fn span(found: &mut Findings, at: &Path, value: &Value) -> Option<Range> {
    let example = "write a network (10.0.0.0/24), a range (10.0.0.10-10.0.0.20) or an address (10.0.0.7)";
    let Value::String(text) = value else {
        let finding = Finding::new(at, format!("must be an address range, not {}", kind_of(value)));
        found.error(finding.hint(example));
        return None;
    };
    if text.len() > 100 {
        found.error(Finding::new(at, format!("{} is not an address range", quote(text))).hint(example));
        return None;
    }
    match addr::parse_span(text) {
        Ok(span) => {
            let prefix = text.split_once('/').and_then(|(_, prefix)| prefix.trim().parse().ok());
            Some(Placed { at: at.clone(), value: (span, prefix) })
        }
        Err(addr::ParseError::Address(part)) => {
            let finding = bad_address(at, &part, example);
            found.error(finding);
            None
        }
        // These say themselves what would be right.
        Err(error @ (addr::ParseError::Reversed { .. } | addr::ParseError::HostBits { .. })) => {
            found.error(Finding::new(at, error.to_string()));
            None
        }
        Err(error) => {
            found.error(Finding::new(at, error.to_string()).hint(example));
            None
        }
    }
}

/// A network such as `10.96.0.0/12`.
pub(super) fn cidr(found: &mut Findings, at: &Path, value: &Value) -> Option<Span> {
    let Placed { value: (span, prefix), .. } = self::span(found, at, value)?;
    if prefix.is_none() {
        let finding = Finding::new(at, format!("\"{span}\" is not a network"));
        found.error(finding.hint("write it with its prefix length, such as 10.96.0.0/12"));
        return None;
    }
    Some(span)
}

/// A name server: an address of either family.
pub(super) fn nameserver(found: &mut Findings, at: &Path, value: &Value) -> Option<IpAddr> {
    address(found, at, value).map(|a| a.value)
}

/// Free text that ends up in tables.
pub(super) fn printable<'v>(found: &mut Findings, at: &Path, value: &'v Value) -> Option<&'v str> {
    let word = text(found, at, value)?;
    if names::is_printable(word) {
        return Some(word);
    }
    let what = format!("{} is too long, or has control characters or blanks at an end", quote(word));
    found.error(Finding::new(at, what).hint("write at most 253 printable characters"));
    None
}

/// Printable text of at most 63 bytes: it becomes part of a key, where some bytes take three characters.
pub(super) fn short<'v>(found: &mut Findings, at: &Path, value: &'v Value) -> Option<&'v str> {
    let word = printable(found, at, value)?;
    if word.len() <= 63 {
        return Some(word);
    }
    found.error(Finding::new(at, format!("{} is too long", quote(word))).hint("write at most 63 characters"));
    None
}

/// What a value is, in a few words.
fn kind_of(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(b) => format!("the word {b}"),
        Value::Number(n) => format!("the number {n}"),
        Value::String(s) => format!("the text {}", quote(s)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a map of keys and values".to_owned(),
    }
}

fn bad_address(at: &Path, text: &str, example: &str) -> Finding {
    let error = addr::ParseError::Address(text.to_owned()).to_string();
    // The text itself may be of any length.
    let message = if text.len() <= 60 { error } else { format!("{} is not an IP address", quote(text)) };
    let before_slash = text.split_once('/').map(|(address, _)| address);
    let mapped = text.trim().parse::<Ipv6Addr>().ok().and_then(|v6| v6.to_ipv4_mapped());
    let finding = Finding::new(at, message);
    match (before_slash.filter(|a| addr::parse_address(a).is_ok()), mapped, without_zeros(text)) {
        (Some(address), _, _) => finding.hint(format!("leave the prefix length out: {address}")),
        (_, Some(v4), _) => finding.hint(format!("write {v4}")),
        (_, _, Some(right)) => finding.hint(format!("write {right}")),
        _ => finding.hint(example),
    }
}

/// `192.168.010.1` as it should be written.
fn without_zeros(text: &str) -> Option<String> {
    let part = |p: &str| p.parse::<u8>().ok().filter(|_| p.bytes().all(|b| b.is_ascii_digit()));
    let parts: Vec<String> = text.trim().split('.').map_while(|p| part(p).map(|n| n.to_string())).collect();
    (parts.len() == 4 && text.split('.').count() == 4).then(|| parts.join("."))
}
