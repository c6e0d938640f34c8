//! What a configuration or its flags may not take away: the ranges of a pool may grow at any time, but one that
//! was applied once goes only when nobody holds an address of it and a person says so.

use super::head::configured;
use super::{Applied, Ledger};
use crate::addr::{Span, SpanSet};
use crate::model::{Owner, Pool, PoolOrigin, Standing};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Holders that a message names; the rest is a number.
const NAMED: usize = 3;

/// A pool that has lost addresses since it was last applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}, {}", self.what(), holders(.held))]
pub struct Shrunk {
    /// Its name.
    pub pool: String,
    /// What it had, and what no pool of that network has now.
    pub lost: Vec<Span>,
    /// By which change.
    pub cause: Cause,
    /// The addresses among them that are held, each with its holder.
    pub held: Vec<String>,
}

/// How a pool has lost addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The configuration has other ranges for it.
    Ranges,
    /// From the one network to the other.
    Moved(String, String),
    /// It was a flag, and this run has others but not this one.
    FlagMissing,
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

    fn what(&self) -> String {
        let ranges: Vec<String> = self.lost.iter().map(ToString::to_string).collect();
        let (pool, ranges) = (&self.pool, ranges.join(", "));
        let named = |network: &str| {
            if network.is_empty() { "the default network".to_owned() } else { format!("network {network}") }
        };
        match &self.cause {
            Cause::FlagMissing => format!("this run leaves out --network {pool}"),
            Cause::Moved(from, to) => {
                let (from, to) = (named(from), named(to));
                format!("the configuration moves {ranges} of pool {pool} from {from} to {to}")
            }
            Cause::Ranges => format!("the configuration takes {ranges} away from pool {pool}"),
        }
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
/// the configuration does not name says nothing: it may be that of another configuration. Nor does a run without
/// flags say anything about flags, but one with flags has to have them all. An address that another pool of its
/// network has taken over is not lost; of a flag, only the configuration can take it over, as another flag would
/// give it another mask.
pub fn shrunk(ledger: &Ledger, gone: &BTreeSet<Arc<Owner>>, pools: &[Pool]) -> Vec<Shrunk> {
    let Some(head) = &ledger.head else { return Vec::new() };
    let named =
        configured(pools).filter_map(|pool| Some((&*pool.name, head.pools.get(&*pool.name)?, Some(pool))));
    let unnamed = head.unnamed_flags(pools).map(|(name, before)| (name.as_str(), before, None));
    named
        .chain(unnamed)
        .filter_map(|(name, before, now)| lost(ledger, gone, pools, (name, before, now)))
        .collect()
}

/// What a pool has lost; `None` where it is all still there.
fn lost(
    ledger: &Ledger,
    gone: &BTreeSet<Arc<Owner>>,
    pools: &[Pool],
    (name, before, now): (&str, &Applied, Option<&Pool>),
) -> Option<Shrunk> {
    let mut lost: SpanSet = before.ranges.iter().copied().collect();
    let still = pools.iter().filter(|p| *p.network == *before.network);
    let still = still.filter(|p| now.is_some() || p.origin != PoolOrigin::Flag);
    still.flat_map(|p| &p.ranges).for_each(|r| lost.remove(*r));
    let spans: Vec<Span> = lost.spans().collect();
    if spans.is_empty() {
        return None;
    }
    let cause = match now {
        None => Cause::FlagMissing,
        Some(pool) if *before.network != *pool.network => {
            Cause::Moved(before.network.clone(), pool.network.to_string())
        }
        Some(_) => Cause::Ranges,
    };
    let in_lost = ledger.addresses().filter(|a| {
        *a.slot.network == *before.network
            && lost.contains(a.slot.address)
            && !matches!(a.standing, Standing::Cooling { .. })
    });
    let live = in_lost.filter_map(|a| {
        let holder = a.holders.iter().find(|h| !gone.contains(&h.owner))?;
        Some(format!("{} by {}", a.slot.address, holder.owner))
    });
    Some(Shrunk { pool: name.to_owned(), lost: spans, cause, held: live.collect() })
}
