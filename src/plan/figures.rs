//! The free addresses of each pool in a form that an admission policy can read: CEL can split text, and no more.

use super::World;
use super::capacity::usage;
use crate::ledger::Change;
use crate::model::{Match, Pool, Slot};
use std::collections::BTreeMap;

/// One line for each pool that serves machines of this system: name, family, free addresses, namespaces and labels
/// that it is for, with `|` between them; what is empty is for all.
pub fn figures(world: World<'_>, changes: &BTreeMap<Slot, Change>, system: &str) -> String {
    let lines = world.pools.iter().zip(usage(world, changes));
    let lines = lines.filter(|(pool, _)| serves(&pool.matches, system)).map(|(pool, usage)| {
        let Pool { name, family, matches, .. } = pool;
        let labels: Vec<String> = matches.labels.iter().map(|(k, v)| format!("{k}={v}")).collect();
        format!("{name}|{family}|{}|{}|{}", usage.free, matches.namespaces.join(","), labels.join(","))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Could a machine of this system match? One with labels that no object can carry could not, and the policy could
/// not read them.
fn serves(matches: &Match, system: &str) -> bool {
    let plain = |text: &str| !text.contains(['|', ',', '=', '\n']);
    (matches.systems.is_empty() || matches.systems.iter().any(|s| s == system))
        && matches.networks.is_empty()
        && matches.labels.iter().all(|(k, v)| plain(k) && plain(v))
}
