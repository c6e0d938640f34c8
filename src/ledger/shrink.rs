//! What a configuration may not take away: the ranges of a pool may grow at any time, but one that was applied
//! once goes only when nobody holds an address of it and a person says so.

use super::Ledger;
use super::head::configured;
use crate::addr::{Span, SpanSet};
use crate::model::{Owner, Pool, Standing};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Holders that a message names; the rest is a number.
const NAMED: usize = 3;

/// A pool that has lost addresses since it was last applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the configuration {}, {}", what(.pool, .lost, .moved.as_ref()), holders(.held))]
pub struct Shrunk {
    /// Its name.
    pub pool: String,
    /// What it had, and what no pool of that network has now.
    pub lost: Vec<Span>,
    /// The network that it was in and the one that it is in now, where they differ.
    pub moved: Option<(String, String)>,
    /// The addresses among them that are held, each with its holder.
    pub held: Vec<String>,
}

impl Shrunk {
    /// What to do about it.
    pub fn advice(&self) -> String {
        if self.held.is_empty() {
            return "put it back, or let it go with --allow-shrink".to_owned();
        }
        "put it back; it can go once nothing holds an address of it: replace the machines, or see `mipam release --help`"
            .to_owned()
    }
}

fn what(pool: &str, lost: &[Span], moved: Option<&(String, String)>) -> String {
    let ranges: Vec<String> = lost.iter().map(ToString::to_string).collect();
    let ranges = ranges.join(", ");
    let named = |network: &str| {
        if network.is_empty() { "the default network".to_owned() } else { format!("network {network}") }
    };
    match moved {
        Some((from, to)) => format!("moves {ranges} of pool {pool} from {} to {}", named(from), named(to)),
        None => format!("takes {ranges} away from pool {pool}"),
    }
}

fn holders(held: &[String]) -> String {
    if held.is_empty() {
        return "of which nobody holds an address".to_owned();
    }
    let more = match held.len().saturating_sub(NAMED) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    format!("of which addresses are held: {}{more}", held[..held.len().min(NAMED)].join(", "))
}

/// The pools of this configuration that have lost addresses which the ledger's head has for them. A pool that
/// the configuration does not name says nothing: it may be that of another configuration. An address that
/// another pool of its network has taken over is not lost.
pub fn shrunk(ledger: &Ledger, gone: &BTreeSet<Arc<Owner>>, pools: &[Pool]) -> Vec<Shrunk> {
    let Some(head) = &ledger.head else { return Vec::new() };
    let before = configured(pools).filter_map(|pool| Some((pool, head.pools.get(&*pool.name)?)));
    let shrunk = before.filter_map(|(pool, before)| {
        let mut lost: SpanSet = before.ranges.iter().copied().collect();
        let still = pools.iter().filter(|p| *p.network == *before.network);
        still.flat_map(|p| &p.ranges).for_each(|r| lost.remove(*r));
        let spans: Vec<Span> = lost.spans().collect();
        if spans.is_empty() {
            return None;
        }
        let moved = *before.network != *pool.network;
        let moved = moved.then(|| (before.network.clone(), pool.network.to_string()));
        let in_lost = ledger.allocations().values().filter(|a| {
            *a.slot.network == *before.network
                && lost.contains(a.slot.address)
                && !matches!(a.standing, Standing::Cooling { .. })
        });
        let live = in_lost.filter_map(|a| {
            let holder = a.holders.iter().find(|h| !gone.contains(&h.owner))?;
            Some(format!("{} by {}", a.slot.address, holder.owner))
        });
        Some(Shrunk { pool: pool.name.to_string(), lost: spans, moved, held: live.collect() })
    });
    shrunk.collect()
}
