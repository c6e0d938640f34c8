//! Where the ledger and the objects disagree, for people: each finding says what to do, and most say that the
//! next reconcile does it.

use super::board::unusable;
use super::findings::{networks, place, stand_for_the_same, stands_for};
use super::{Decision, World};
use crate::addr::{Family, SpanSet};
use crate::ledger::Change;
use crate::model::{Adopt, Allocation, Holder, Holding, Pool, PoolOrigin, Problem, Slot, Standing};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// What is wrong beyond what a decision reports: entries whose owner is gone, entries that an interrupted run
/// left, addresses of owners that the ledger lacks, and addresses of pools that others use.
pub fn audit(world: World<'_>, decision: &Decision) -> Vec<Problem> {
    let entries = world.ledger.addresses();
    let held = entries.filter(|a| !matches!(a.standing, Standing::Cooling { .. }));
    let mut carried: BTreeMap<(&Holder, Family), BTreeSet<IpAddr>> = BTreeMap::new();
    for holding in world.holdings.iter().filter(|h| h.adopt == Adopt::Always) {
        if let Some(holder) = &holding.holder {
            carried.entry((holder, Family::of(holding.address))).or_default().insert(holding.address);
        }
    }
    let mut problems: Vec<Problem> = super::blocks::audit(world);
    for allocation in held {
        problems.extend(of_entry(allocation, world, decision));
        problems.extend(replaced(allocation, &carried, decision));
    }

    let never: Vec<SpanSet> = world.pools.iter().map(|p| unusable(p, world.pools)).collect();
    let mut seen: BTreeMap<Slot, Vec<&Holding>> = BTreeMap::new();
    for holding in world.holdings {
        for network in networks(world.pools, holding.address, holding.pools.as_ref()) {
            seen.entry(Slot::new(holding.address, network)).or_default().push(holding);
        }
    }
    for (slot, holdings) in &seen {
        let within = |(_, p): &(usize, &Pool)| p.network == slot.network && p.contains(slot.address);
        let Some((at, pool)) = world.pools.iter().enumerate().find(within) else { continue };
        if recorded(world, slot) {
            // Who else uses it is reported as a duplicate.
            continue;
        }
        let expected = never[at].contains(slot.address);
        problems.extend(holdings.iter().filter_map(|h| of_use(h, slot, holdings, pool, expected)));
    }
    problems
}

fn recorded(world: World<'_>, slot: &Slot) -> bool {
    let entry = world.ledger.allocations().get(slot);
    entry.is_some_and(|a| !matches!(a.standing, Standing::Cooling { .. }))
}

fn of_entry(allocation: &Allocation, world: World<'_>, decision: &Decision) -> Vec<Problem> {
    let slot = &allocation.slot;
    let address = place(slot.address, &slot.network);
    let gone = allocation.holders.iter().filter(|h| world.gone.contains(&h.owner));
    let mut problems: Vec<Problem> = gone
        .map(|h| {
            let message = format!(
                "the ledger has {address} for it, and it does not exist any more: the next reconcile frees the address, or free it now: {}",
                release(allocation)
            );
            Problem::new("OwnerGone", &h.owner, message).at(slot)
        })
        .collect();
    if problems.is_empty() && decision.changes.get(slot) == Some(&Change::Remove) {
        let message = format!(
            "an interrupted run left {address} recorded for it, which it does not have: the next reconcile takes the entry out"
        );
        problems.extend(
            allocation.holders.iter().map(|h| Problem::new("Orphan", &h.owner, message.clone()).at(slot)),
        );
    }
    problems
}

/// An entry of an owner that carries another address instead.
fn replaced(
    allocation: &Allocation,
    carried: &BTreeMap<(&Holder, Family), BTreeSet<IpAddr>>,
    decision: &Decision,
) -> Option<Problem> {
    let slot = &allocation.slot;
    let [holder] = allocation.holders.as_slice() else { return None };
    let instead =
        carried.get(&(holder, Family::of(slot.address))).filter(|a| !a.contains(&slot.address))?.first()?;
    let left = allocation.standing == Standing::Surplus || decision.changes.contains_key(slot);
    (!left && !decision.binds.contains_key(slot)).then(|| {
        let message = format!(
            "the ledger has {} for it, and it carries {instead}, which was put there by hand: the first one stays its own as long as it exists, because what runs there may still use it; if nothing does: {} --force",
            place(slot.address, &slot.network),
            release(allocation)
        );
        Problem::new("Replaced", &holder.owner, message).at(slot)
    })
}

/// The command that frees an address.
fn release(allocation: &Allocation) -> String {
    let address = allocation.slot.address;
    if allocation.slot.network.is_empty() {
        return format!("mipam release {address}");
    }
    format!("mipam release {address} --pool {}", allocation.pool)
}

/// An address of a pool that the ledger does not have, seen on somebody.
fn of_use(holding: &Holding, slot: &Slot, all: &[&Holding], pool: &Pool, expected: bool) -> Option<Problem> {
    let address = place(slot.address, &slot.network);
    if holding.adopt == Adopt::Never || pool.foreign {
        return None;
    }
    if holding.adopt != Adopt::No {
        let message = format!(
            "it has {address} of pool {}, which the ledger does not have for it: the next reconcile records it",
            pool.name
        );
        return Some(Problem::new("Unrecorded", &*holding.seen_on, message).at(slot));
    }
    // The Node of a machine, and the status of a machine, repeat what the machine itself says.
    let repeated = all.iter().filter_map(|other| Some((other, other.holder.as_ref()?))).any(|(other, by)| {
        let own = holding.holder.as_ref().is_some_and(|h| h.owner == by.owner);
        let node = stands_for(holding, &by.owner) || stand_for_the_same(holding, other);
        (own && other.adopt != Adopt::No) || (holding.holder.is_none() && node)
    });
    let name = holding.stands_for.as_deref().unwrap_or(&holding.seen_on.name);
    let kept = pool.reserved.iter().any(|(n, a)| *a == slot.address && n.rsplit('/').next() == Some(name));
    if expected || repeated || kept {
        return None;
    }
    let message = format!(
        "it uses {address} of pool {}, which mipam did not give: {}, or it is given out once it is not seen there any more",
        pool.name,
        match pool.origin {
            PoolOrigin::Object(_) => "take it out of the pool",
            PoolOrigin::Config | PoolOrigin::Flag => "add it to the pool's `exclude`",
        }
    );
    Some(Problem::new("Foreign", &*holding.seen_on, message).at(slot))
}
