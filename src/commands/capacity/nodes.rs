//! `mipam check-capacity --nodes`: is there a block of each family for so many more Nodes?

use crate::model::{API_VERSION, CapacityReport, NODE, Object, PoolChoice, PoolLine, PoolNeed, Reason};
use crate::pass::{Pass, Sight};
use crate::plan::{self, Decision};
use crate::systems::nodes::CLUSTER_CIDR;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The answer: decides as a pass would, with the Nodes that would be there.
pub(super) fn report(
    sight: &mut Sight,
    pass: &Pass<'_>,
    count: u32,
    labels: &[(String, String)],
) -> CapacityReport {
    let before = plan::decide(sight.world(&pass.scope, pass.now));
    let mut lines = plan::usage(sight.world(&pass.scope, pass.now), &before.changes);
    lines.retain(|line| line.blocks.is_some());
    let late = lacking(sight, &before);
    sight.seen.observed.insert(NODE, (0..count).map(|i| node(i, labels)));
    sight.survey(pass.config, &|_| ());
    let decision = plan::decide(sight.world(&pass.scope, pass.now));
    let short = lacking(sight, &decision).saturating_sub(late);

    let (mut need, mut asked) = (BTreeMap::<&str, u128>::new(), BTreeSet::<&str>::new());
    let is_new = |claim: usize| sight.survey.claims[claim].owner.uid.starts_with(NEW);
    for served in decision.served.iter().filter(|s| is_new(s.claim)) {
        for pool in served.given.iter().map(|g| &*g.pool).collect::<BTreeSet<_>>() {
            *need.entry(pool).or_default() += 1;
        }
    }
    let new = sight.survey.claims.iter().filter(|c| c.owner.uid.starts_with(NEW));
    for wish in new.take(1).flat_map(|c| &c.wishes) {
        if let PoolChoice::Blocks(names) = &wish.pools {
            asked.extend(names.iter().map(|n| &**n));
        }
    }
    // A Node needs a block of each family: the scarcer one counts.
    let mut free: BTreeMap<&str, u128> = BTreeMap::new();
    for line in lines.iter().filter(|l| asked.contains(l.name.as_str())) {
        let least = free.entry(&line.name).or_insert(line.free);
        *least = line.free.min(*least);
    }
    let free = free.values().fold(0u128, |sum, n| sum.saturating_add(*n));
    let pools = lines.into_iter().filter(|l| asked.contains(l.name.as_str())).map(|pool| PoolNeed {
        need: need.get(pool.name.as_str()).copied().unwrap_or(0),
        short: 0,
        pool,
    });
    let mut messages = Vec::new();
    if !sight.seen.observed.any(CLUSTER_CIDR) {
        messages.push("there are no ClusterCIDRs".to_owned());
    } else if asked.is_empty() {
        messages.push("no ClusterCIDR is for Nodes with these labels".to_owned());
    }
    if late > 0 {
        messages.push(format!("{late} Nodes already wait for a block"));
    }
    let short = if asked.is_empty() { u128::from(count) } else { short };
    CapacityReport {
        api_version: API_VERSION,
        kind: "CapacityReport",
        fits: short == 0,
        need: count.into(),
        free,
        short,
        pools: pools.collect(),
        messages,
    }
}

/// So many blocks of one pool, of each of its families.
pub(super) fn of_pool(lines: Vec<PoolLine>, name: &str, need: u128) -> CapacityReport {
    let own = lines.into_iter().filter(|l| l.blocks.is_some() && l.name == name);
    let pools: Vec<PoolNeed> =
        own.map(|pool| PoolNeed { need, short: need.saturating_sub(pool.free), pool }).collect();
    let short = pools.iter().map(|p| p.short).max().unwrap_or(0);
    CapacityReport {
        api_version: API_VERSION,
        kind: "CapacityReport",
        fits: short == 0,
        need,
        free: pools.iter().map(|p| p.pool.free).min().unwrap_or(0),
        short,
        pools,
        messages: Vec::new(),
    }
}

/// What the uid of a Node that is only thought of begins with.
const NEW: &str = "new-";

fn node(number: u32, labels: &[(String, String)]) -> Object {
    let labels: BTreeMap<&str, &str> = labels.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    // No name of an object has a blank, and this one comes after all that have none.
    let (name, uid) = (format!("~ {number:06}"), format!("{NEW}{number}"));
    let metadata: Value = json!({ "name": name, "uid": uid, "labels": labels });
    Object(json!({ "apiVersion": "v1", "kind": NODE.kind, "metadata": metadata }))
}

/// Nodes that find no block.
fn lacking(sight: &Sight, decision: &Decision) -> u128 {
    let waits = decision.unmet.iter().zip(&decision.pending).filter(|(at, line)| {
        let lacks = matches!(line.reason, Reason::PoolExhausted | Reason::NoMatchingPool);
        lacks && sight.survey.claims[**at].wants_blocks()
    });
    waits.count() as u128
}
