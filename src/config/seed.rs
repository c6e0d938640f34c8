//! The short forms, with one range or with one for each family: their keys to drafts of pools.

use super::draft::{Draft, Words};
use super::findings::{Finding, Findings, Path};
use super::walk::{self, Field, Table};
use super::{pools, schema};
use crate::addr::Family;
use std::net::IpAddr;

/// The keys of one range in a short form.
struct Keys {
    pool: &'static str,
    range: &'static str,
    words: Words,
    family: Option<Family>,
}

const SINGLE: Keys = Keys {
    pool: "default",
    range: "ip-range-cidr",
    words: Words { prefix: "prefix", gateway: "default-gateway" },
    family: None,
};

const DUAL: [Keys; 2] = [
    Keys {
        pool: "default-v4",
        range: "ipv4-range-cidr",
        words: Words { prefix: "ipv4-prefix", gateway: "ipv4-gateway" },
        family: Some(Family::V4),
    },
    Keys {
        pool: "default-v6",
        range: "ipv6-range-cidr",
        words: Words { prefix: "ipv6-prefix", gateway: "ipv6-gateway" },
        family: Some(Family::V6),
    },
];

const AS_POOLS: &str = "write each range as a pool instead: pools: [{name: lab, ranges: [192.168.101.64/28], \
                        prefix: 23, gateway: 192.168.100.1, nameservers: [192.168.1.215]}]";

/// The pools of the short forms; none if the config does not use them.
pub(super) fn read(found: &mut Findings, table: &Table<'_>) -> Vec<Draft> {
    let first = |keys: &[&'static str]| keys.iter().copied().find(|k| table.has(k));
    let (single, dual) = (first(&schema::SINGLE), first(&schema::DUAL));
    if let (Some(key), true) = (single.or(dual).or(first(&["nameserver"])), table.has("pools")) {
        let message = format!("{key} cannot be used together with pools");
        found.error(Finding::new(&table.at.key(key), message).hint(AS_POOLS).see(&table.at.key("pools")));
        return Vec::new();
    }
    if let (Some(one), Some(other)) = (single, dual) {
        let message = format!("{one} cannot be used together with {other}");
        let hint = format!("keep ip-range-cidr and its keys, or the ipv4- and ipv6- keys, or {AS_POOLS}");
        found.error(Finding::new(&table.at.key(one), message).hint(hint).see(&table.at.key(other)));
        return Vec::new();
    }
    if single.is_none() && dual.is_none() && !table.has("nameserver") {
        return Vec::new();
    }
    let servers = |f: &mut Findings, at: &Path, v| walk::list_or_one(f, at, v, walk::nameserver);
    let servers = table.field(found, "nameserver", servers);
    let used = |k: &&Keys| [k.range, k.words.prefix, k.words.gateway].iter().any(|w| table.has(w));
    let ranges = if dual.is_some() { DUAL.iter().filter(used).collect() } else { vec![&SINGLE] };
    ranges.into_iter().filter_map(|keys| range(found, table, keys, &servers)).collect()
}

fn range(
    found: &mut Findings,
    table: &Table<'_>,
    keys: &Keys,
    servers: &Field<Vec<IpAddr>>,
) -> Option<Draft> {
    let errors_before = found.errors();
    let mut draft = Draft::new(&table.at, keys.words, keys.pool);
    draft.prefix = table.field(found, keys.words.prefix, pools::prefix);
    draft.gateway = table.field(found, keys.words.gateway, walk::address);
    let span = match table.field(found, keys.range, walk::span) {
        Field::Is(span) => span,
        Field::Bad => return None,
        Field::Absent => {
            let used = [keys.words.prefix, keys.words.gateway, "nameserver"];
            let without = used.into_iter().find(|k| table.has(k)).unwrap_or(keys.range);
            let example = if keys.family == Some(Family::V6) { "fd00:101::/64" } else { "192.168.101.64/28" };
            let message = format!("{without} is given, but {} is missing", keys.range);
            let hint = format!("add a line such as `{}: {example}`", keys.range);
            found.error(Finding::new(&table.at.key(without), message).hint(hint));
            return None;
        }
    };
    if let Some(family) = keys.family.filter(|f| *f != span.value.0.family()) {
        let (is, value) = (span.value.0.family(), span.value.0);
        let other = DUAL.iter().find(|k| k.family == Some(is)).map_or(keys.range, |k| k.range);
        let hint = format!("write an {family} network here; {value} can be {other}");
        found.error(Finding::new(&span.at, format!("{value} is {is}, not {family}")).hint(hint));
        return None;
    }
    draft.ranges.push(span);
    draft.nameservers = servers.clone().get().unwrap_or_default();
    draft.broken = found.errors() > errors_before || matches!(servers, Field::Bad);
    Some(draft)
}
