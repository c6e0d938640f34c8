//! `pools:`, the general form: each element to a draft of a pool.

use super::draft::{Draft, Words};
use super::findings::{Finding, Findings, Path, Placed, quote};
use super::schema::{INTERFACES, MATCH, POOL, SYSTEMS};
use super::walk::{self, Field, Range, Table};
use super::{duration, names, suggest};
use crate::addr::parse_address;
use crate::model::{Match, Seconds};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

const MOST_POOLS: usize = 10_000;
const MOST_RANGES: usize = 100_000;

const WORDS: Words = Words { prefix: "prefix", gateway: "gateway" };

/// All pools that have a range.
pub(super) fn read(found: &mut Findings, at: &Path, value: &Value) -> Option<Vec<Draft>> {
    if let Value::Array(pools) = value {
        let ranges = |p: &Value| p.get("ranges").and_then(Value::as_array).map_or(0, Vec::len);
        let total: usize = pools.iter().map(ranges).sum();
        let objection = if pools.is_empty() {
            Some(("has no pool".to_owned(), "add one, or leave the key out".to_owned()))
        } else if pools.len() > MOST_POOLS {
            let count = format!("has {} pools", pools.len());
            Some((count, format!("at most {MOST_POOLS} are allowed: join those that differ in ranges only")))
        } else if total > MOST_RANGES {
            let hint = format!("at most {MOST_RANGES} are allowed: join neighbours into larger ranges");
            Some((format!("has {total} ranges"), hint))
        } else {
            None
        };
        if let Some((message, hint)) = objection {
            found.error(Finding::new(at, message).hint(hint));
            return None;
        }
    }
    let mut seen: BTreeMap<String, Path> = BTreeMap::new();
    walk::list(found, at, value, |found, at, value| {
        let (named, draft) = pool(found, at, value)?;
        if let Some(Placed { at, value }) = named {
            if let Some(first) = seen.get(&value) {
                let pool = first.short();
                let pool = pool.strip_suffix(".name").unwrap_or(&pool);
                let message = format!("{value:?} is the name of {pool} too");
                found.error(Finding::new(&at, message).hint("give each pool its own name").see(first));
            } else {
                seen.insert(value, at);
            }
        }
        Some(draft)
    })
}

/// A pool, and its name if that is legal.
fn pool(found: &mut Findings, at: &Path, value: &Value) -> Option<(Option<Placed<String>>, Draft)> {
    let errors_before = found.errors();
    let table = Table::read(found, at, value, &POOL)?;
    let named = match table.field(found, "name", name) {
        Field::Absent => {
            found.error(Finding::new(at, "has no name").hint("add a line such as `name: lab`"));
            None
        }
        other => other.get(),
    };
    let label = named.as_ref().map_or_else(|| at.short(), |n| n.value.clone());
    let mut draft = Draft::new(at, WORDS, &label);
    match table.field(found, "ranges", ranges) {
        Field::Absent => {
            let hint = "add a line such as `ranges: [192.168.101.64/28]`";
            found.error(Finding::new(at, "has no ranges").hint(hint));
        }
        other => draft.ranges = other.get().unwrap_or_default(),
    }
    draft.prefix = table.field(found, "prefix", prefix);
    draft.gateway = table.field(found, "gateway", walk::address);
    let nameservers = |f: &mut _, at: &_, v| walk::list(f, at, v, walk::nameserver);
    draft.nameservers = table.field(found, "nameservers", nameservers).get().unwrap_or_default();
    let domains = |f: &mut _, at: &_, v| walk::list(f, at, v, domain);
    draft.search_domains = table.field(found, "search-domains", domains).get().unwrap_or_default();
    let spans = |f: &mut _, at: &_, v| walk::list(f, at, v, walk::span);
    let exclude = table.field(found, "exclude", spans).get().unwrap_or_default();
    draft.exclude = exclude.into_iter().map(|p| Placed { at: p.at, value: p.value.0 }).collect();
    draft.reserved = table.field(found, "reserved", reserved).get().unwrap_or_default();
    draft.reuse_after = table.field(found, "reuse-after", reuse_after).get().unwrap_or_default();
    if let Some(interfaces) = table.field(found, "interface", interfaces).get() {
        draft.interfaces = interfaces;
    }
    if let Some(network) = table.field(found, "network", walk::short).get() {
        draft.network = network.into();
    }
    draft.matches = table.field(found, "match", matches).get().unwrap_or_default();
    draft.broken = found.errors() > errors_before;
    Some((named, draft))
}

fn name(found: &mut Findings, at: &Path, value: &Value) -> Option<Placed<String>> {
    let text = walk::text(found, at, value)?;
    if names::is_object_name(text, 63) {
        return Some(Placed { at: at.clone(), value: text.to_owned() });
    }
    let hint = match names::to_object_name(text, 63) {
        Some(right) => format!("write {right}"),
        None => "write a name such as lab-1".to_owned(),
    };
    let rule = "lowercase letters, digits, - and . only, at most 63, with a letter or digit at both ends";
    found.error(Finding::new(at, format!("{} cannot be a name: {rule}", quote(text))).hint(hint));
    None
}

fn ranges(found: &mut Findings, at: &Path, value: &Value) -> Option<Vec<Range>> {
    if value.as_array().is_some_and(Vec::is_empty) {
        let hint = "add a network such as 192.168.101.64/28, or remove the pool";
        found.error(Finding::new(at, "is empty").hint(hint));
        return None;
    }
    walk::list(found, at, value, walk::span)
}

/// A number that is not negative; whether it fits is known only with the ranges.
pub(super) fn prefix(found: &mut Findings, at: &Path, value: &Value) -> Option<Placed<u64>> {
    if let Some(value) = value.as_u64() {
        return Some(Placed { at: at.clone(), value });
    }
    let what = match value {
        Value::String(s) => quote(s),
        Value::Number(n) => n.to_string(),
        _ => String::new(),
    };
    if what.is_empty() {
        found.error(Finding::new(at, "must be a number").hint("write a prefix length such as 24"));
        return None;
    }
    let hint = match value.as_str().and_then(prefix_hint) {
        Some(right) if value == &right.to_string() => format!("write {right}, without quotes"),
        Some(right) => format!("write {right}"),
        None => "write a number from 0 to 32 for IPv4, or to 128 for IPv6".to_owned(),
    };
    found.error(Finding::new(at, format!("{what} is not a prefix length")).hint(hint));
    None
}

/// `"23"`, `/23` and `255.255.254.0` all mean 23.
fn prefix_hint(text: &str) -> Option<u32> {
    let text = text.trim();
    if let Ok(mask) = text.parse::<Ipv4Addr>() {
        let ones = mask.to_bits().leading_ones();
        return (ones == mask.to_bits().count_ones()).then_some(ones);
    }
    let digits = text.strip_prefix('/').unwrap_or(text);
    digits.parse::<u32>().ok().filter(|n| *n <= 128 && digits.bytes().all(|b| b.is_ascii_digit()))
}

fn domain(found: &mut Findings, at: &Path, value: &Value) -> Option<String> {
    let text = walk::text(found, at, value)?;
    if names::is_domain(text) && parse_address(text).is_err() {
        return Some(text.to_owned());
    }
    let message = format!("{} is not a DNS name", quote(text));
    found.error(Finding::new(at, message).hint("write a domain such as lab.example"));
    None
}

fn reserved(found: &mut Findings, at: &Path, value: &Value) -> Option<Vec<(String, Placed<IpAddr>)>> {
    let Value::Object(map) = value else {
        walk::wrong_type(found, at, value, "a map of names to addresses, such as {infra-0: 192.168.101.71}");
        return None;
    };
    let mut list = Vec::new();
    for (name, value) in map {
        let at = at.key(name);
        if !names::is_owner_name(name) {
            let message = format!("{} cannot be the name of a machine", quote(name));
            let hint = "write the machine's name, or namespace/name, in lowercase";
            found.error(Finding::new(&at, message).hint(hint));
        }
        list.extend(walk::address(found, &at, value).map(|address| (name.clone(), address)));
    }
    Some(list)
}

fn reuse_after(found: &mut Findings, at: &Path, value: &Value) -> Option<Seconds> {
    let text = match value {
        // A bare number: the same advice as for the text.
        Value::Number(n) => n.to_string(),
        other => walk::text(found, at, other)?.to_owned(),
    };
    match duration::parse(text.trim()) {
        Ok(seconds) => Some(seconds),
        Err((message, hint)) => {
            found.error(Finding::new(at, message).hint(hint));
            None
        }
    }
}

fn interfaces(found: &mut Findings, at: &Path, value: &Value) -> Option<Vec<String>> {
    let mut list = walk::list_or_one(found, at, value, interface)?;
    if value.is_string() {
        // One name is the first device's; the others keep theirs. Where one of those is the same name,
        // nobody can tell what the devices from there on are called.
        let others = INTERFACES[1..].iter().take_while(|d| **d != list[0]);
        if INTERFACES[1..].contains(&list[0].as_str()) {
            let message = format!("{} names the first device of a machine", list[0]);
            found.warning(Finding::new(at, format!("{message}: for the others write a list by device")));
        }
        list.extend(others.map(|d| (*d).to_owned()).collect::<Vec<_>>());
    } else if value.as_array().is_some_and(Vec::is_empty) {
        found.error(Finding::new(at, "is empty").hint("name the interfaces by device, or leave the key out"));
        return None;
    }
    let mut seen = BTreeSet::new();
    for (i, twice) in list.iter().enumerate().filter(|(_, name)| !seen.insert(*name)) {
        let message = format!("{twice} is there twice");
        found.error(Finding::new(&at.index(i), message).hint("each device has an interface of its own"));
    }
    Some(list)
}

fn interface(found: &mut Findings, at: &Path, value: &Value) -> Option<String> {
    let text = walk::text(found, at, value)?;
    if names::is_interface(text) {
        return Some(text.to_owned());
    }
    let message = format!("{} cannot be the name of an interface", quote(text));
    found.error(Finding::new(at, message).hint("write at most 15 characters, such as ens192"));
    None
}

fn matches(found: &mut Findings, at: &Path, value: &Value) -> Option<Match> {
    let table = Table::read(found, at, value, &MATCH)?;
    let words =
        |f: &mut _, at: &_, v| walk::list(f, at, v, |f, at, v| walk::printable(f, at, v).map(str::to_owned));
    let namespaces = |f: &mut _, at: &_, v| walk::list(f, at, v, namespace);
    Some(Match {
        systems: table.field(found, "systems", systems).get().unwrap_or_default(),
        namespaces: table.field(found, "namespaces", namespaces).get().unwrap_or_default(),
        networks: table.field(found, "networks", words).get().unwrap_or_default(),
        labels: table.field(found, "labels", labels).get().unwrap_or_default(),
    })
}

fn namespace(found: &mut Findings, at: &Path, value: &Value) -> Option<String> {
    let text = walk::text(found, at, value)?;
    if names::is_object_name(text, 63) && !text.contains('.') {
        return Some(text.to_owned());
    }
    let message = format!("{} cannot be the name of a namespace", quote(text));
    found.error(
        Finding::new(at, message).hint("write the whole name, in lowercase, such as openshift-machine-api"),
    );
    None
}

fn labels(found: &mut Findings, at: &Path, value: &Value) -> Option<BTreeMap<String, String>> {
    let Value::Object(map) = value else {
        walk::wrong_type(found, at, value, "a map of labels, such as {tier: web}");
        return None;
    };
    let mut labels = BTreeMap::new();
    for (key, value) in map {
        let at = at.key(key);
        if !names::is_printable(key) || key.contains(char::is_whitespace) {
            let message = format!("{} cannot be the key of a label", quote(key));
            found.error(Finding::new(&at, message).hint("write a key such as example.com/tier"));
        }
        match value {
            Value::String(text) => {
                labels.insert(key.clone(), text.clone());
            }
            other => walk::wrong_type(found, &at, other, walk::TEXT),
        }
    }
    Some(labels)
}

/// Names of systems.
pub(super) fn systems(found: &mut Findings, at: &Path, value: &Value) -> Option<Vec<String>> {
    walk::list(found, at, value, |found, at, value| {
        let text = walk::text(found, at, value)?;
        if SYSTEMS.contains(&text) {
            return Some(text.to_owned());
        }
        found.error_with(|| {
            let message = format!("{} is not a system that mipam knows", quote(text));
            Finding::new(at, message).hint(suggest::hint(text, &SYSTEMS))
        });
        None
    })
}
