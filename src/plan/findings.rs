//! What is seen in use: it is blocked, adopted where it is ours, and reported where two have one address.

use super::records::{Firmness, Records};
use super::{Board, Decision, World};
use crate::ledger::Change;
use crate::model::{
    Adopt, Allocation, Holder, Holding, Network, Owner, Pool, PoolChoice, Problem, Seconds, Slot, Standing,
};
use std::net::IpAddr;

/// Addresses seen in use, with all that were seen on them, sorted by address.
pub(super) struct InUse<'a>(Vec<(Slot, &'a Holding)>);

impl<'a> InUse<'a> {
    /// All that were seen on one.
    pub(super) fn on(&self, slot: &Slot) -> impl Iterator<Item = &'a Holding> {
        let from = self.0.partition_point(|(at, _)| at < slot);
        let to = from + self.0[from..].partition_point(|(at, _)| at == slot);
        self.0[from..to].iter().map(|(_, holding)| *holding)
    }
}

/// Blocks and adopts what is in use, and reports what is wrong with it.
pub(super) fn occupy<'a>(
    world: World<'a>,
    records: &Records<'a>,
    board: &mut Board<'_>,
    decision: &mut Decision,
) -> InUse<'a> {
    let mut in_use = Vec::with_capacity(world.holdings.len());
    for holding in world.holdings {
        let networks = counted(world, holding);
        // Where it may be in several, the one in which it is recorded is the one that it is in.
        let known = networks.len() > 1 && networks.iter().any(|n| recorded(holding, n, records));
        for network in networks {
            let known_elsewhere = known && !recorded(holding, &network, records);
            let slot = Slot::new(holding.address, network);
            board.block(&slot);
            if !known_elsewhere {
                adopt(world, holding, &slot, records, decision);
            }
            in_use.push((slot, holding));
        }
    }
    // Those that were seen on one stay in their order.
    in_use.sort_by(|a, b| a.0.cmp(&b.0));
    for seen in in_use.chunk_by(|a, b| a.0 == b.0) {
        report(&seen[0].0, seen, world, records, decision);
    }
    let in_use = InUse(in_use);
    for allocation in world.ledger.addresses() {
        out_of_range(allocation, world, records, decision);
        if allocation.holders.len() > 1 && in_use.on(&allocation.slot).next().is_none() {
            report(&allocation.slot, &[], world, records, decision);
        }
    }
    in_use
}

/// The networks in which a holding counts. Where no pool of its device has it, another configuration may have
/// given it: then the ledger says in which network, and it takes nothing from the others.
fn counted(world: World<'_>, holding: &Holding) -> Vec<Network> {
    let address = holding.address;
    if let (Some(own), Some(holder)) = (&holding.pools, &holding.holder)
        && !world.pools.iter().any(|p| p.contains(address) && serves(own, p))
    {
        let entries = world.ledger.of_address(address);
        let its = entries.filter(|a| a.holders.iter().any(|h| h.owner.same(&holder.owner)));
        let networks: Vec<Network> = its.map(|a| a.slot.network.clone()).collect();
        if !networks.is_empty() {
            return networks;
        }
    }
    networks(world.pools, address, holding.pools.as_ref())
}

/// Does the ledger have the address for whom it is seen on, in this network?
fn recorded(holding: &Holding, network: &Network, records: &Records<'_>) -> bool {
    holding.holder.as_ref().is_some_and(|holder| {
        let mut held = records.held_by(&holder.owner);
        held.any(|(_, a)| a.slot.address == holding.address && a.slot.network == *network)
    })
}

/// The networks in which an address counts: those of the pools that are its own, else all whose pools have
/// it.
pub(super) fn networks(pools: &[Pool], address: IpAddr, own: Option<&PoolChoice>) -> Vec<Network> {
    let having = || pools.iter().filter(|p| p.contains(address));
    let mut networks: Vec<Network> = own
        .iter()
        .flat_map(|choice| having().filter(|p| serves(choice, p)))
        .map(|p| p.network.clone())
        .collect();
    if networks.is_empty() {
        networks = having().map(|p| p.network.clone()).collect();
    }
    networks.sort();
    networks.dedup();
    networks
}

/// Is the pool one of these?
pub(super) fn serves(choice: &PoolChoice, pool: &Pool) -> bool {
    match choice {
        PoolChoice::Matching(subject) => subject.fits(pool),
        PoolChoice::Named(names) => names.contains(&pool.name),
        PoolChoice::Blocks(_) => false,
    }
}

fn adopt(world: World<'_>, holding: &Holding, slot: &Slot, records: &Records<'_>, decision: &mut Decision) {
    let Some(holder) = holding
        .holder
        .as_ref()
        .filter(|h| !matches!(holding.adopt, Adopt::No | Adopt::Never) && world.scope.serves(&h.owner))
    else {
        return;
    };
    let pool = world.pools.iter().find(|p| p.network == slot.network && p.contains(slot.address));
    let Some(pool) = pool.filter(|_| !records.unreadable(slot.address)) else { return };
    let fresh = |adopted| Allocation {
        slot: slot.clone(),
        holders: vec![holder.clone()],
        pool: pool.name.clone(),
        since: world.now,
        adopted,
        standing: Standing::Bound,
    };
    let existing = decision.leaves(slot, records.at(slot));
    let stranger = |a: &Allocation| !a.holders.iter().any(|h| h.owner.same_name(&holder.owner));
    let adopted = match existing {
        // A late writer may still give it to whom it rests for: who waits does not get it before that is over.
        Some(a) if holding.adopt == Adopt::IfFree && stranger(a) && rests(a, world.now) => return,
        // It rests, or its record was withdrawn, and yet it is in use: it is bound again.
        Some(a) if matches!(a.standing, Standing::Cooling { .. } | Standing::Surplus) => {
            fresh(a.adopted || !a.holders.iter().any(|h| h.owner.same(&holder.owner)))
        }
        None => fresh(true),
        Some(a) if a.holders.iter().any(|h| h.owner.same(&holder.owner)) => {
            if records.firmness(a) == Firmness::Firm {
                return;
            }
            // The object carries it already: the set need not be bound by its home any more.
            Allocation { standing: Standing::Bound, ..a.clone() }
        }
        Some(_) if holding.adopt == Adopt::IfFree => return,
        Some(a) => {
            let mut a = a.clone();
            a.holders.push(holder.clone());
            // It is in use, so it does not hang on a set that may still be withdrawn, nor on one of another owner.
            let hangs = matches!(a.standing, Standing::Member { .. });
            if hangs || records.firmness(&a) != Firmness::Firm {
                a.standing = Standing::Bound;
            }
            a
        }
    };
    decision.changes.insert(slot.clone(), Change::Put(adopted));
}

/// Is it taken back from its holder, and not yet free for others?
pub(super) fn rests(allocation: &Allocation, now: Seconds) -> bool {
    match allocation.standing {
        Standing::Cooling { until } => until > now,
        Standing::Surplus => true,
        _ => false,
    }
}

fn report(
    slot: &Slot,
    seen: &[(Slot, &Holding)],
    world: World<'_>,
    records: &Records<'_>,
    decision: &mut Decision,
) {
    // Nearly always: it is where the ledger has it, and nowhere else.
    if let [(_, Holding { holder: Some(one), .. })] = seen
        && records.at(slot).is_none_or(|a| a.holders.iter().all(|h| h.owner.same(&one.owner)))
    {
        return;
    }
    let seen: Vec<&Holding> = seen.iter().map(|(_, holding)| *holding).collect();
    let recorded = records.at(slot).filter(|a| !matches!(a.standing, Standing::Cooling { .. }));
    let live = |a: &Allocation, h: &Holder| !world.gone.contains(&h.owner) && !records.lost(h, a, world);
    let recorded = recorded.iter().flat_map(|a| a.holders.iter().filter(|h| live(a, h)));
    let recorded: Vec<&Owner> = recorded.map(|h| &*h.owner).collect();
    let mut owners: Vec<&Owner> = recorded.clone();
    owners.extend(seen.iter().filter_map(|h| Some(&*h.holder.as_ref()?.owner)));
    let mut distinct: Vec<&Owner> = Vec::new();
    for owner in owners {
        if !distinct.iter().any(|d| d.same(owner)) {
            distinct.push(owner);
        }
    }
    distinct.sort();
    if let [first, rest @ ..] = distinct.as_slice()
        && !rest.is_empty()
    {
        let others: Vec<String> = rest.iter().map(ToString::to_string).collect();
        let message = format!(
            "{} is on {first} and on {}: nothing is moved; give one of them another address by hand",
            place(slot.address, &slot.network),
            others.join(" and on "),
        );
        decision.problems.push(Problem::new("Duplicate", first, message).at(slot));
    }
    for holding in seen.iter().filter(|h| h.holder.is_none()) {
        let alike = |other: &&Holding| other.holder.is_some() && stand_for_the_same(holding, other);
        let explained =
            recorded.iter().chain(&distinct).any(|o| stands_for(holding, o)) || seen.iter().any(alike);
        if let (false, Some(holder)) = (explained, recorded.first()) {
            let message = format!(
                "it uses {}, which the ledger has for {holder}: two of them may share one address; check which one really has it",
                place(slot.address, &slot.network),
            );
            decision.problems.push(Problem::new("InUse", &*holding.seen_on, message).at(slot));
        }
    }
}

/// Is the object that was seen (a Node) this owner under another name?
pub(super) fn stands_for(holding: &Holding, owner: &Owner) -> bool {
    holding.stands_for.as_deref().is_some_and(|name| is_host(name, &owner.name))
}

/// Are a Node and a claim both those of one machine?
pub(super) fn stand_for_the_same(node: &Holding, other: &Holding) -> bool {
    let names = node.stands_for.as_deref().zip(other.stands_for.as_deref());
    names.is_some_and(|(host, machine)| is_host(host, machine))
}

/// The name of a host is that of its machine, with or without a domain.
fn is_host(host: &str, machine: &str) -> bool {
    host.strip_prefix(machine).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn out_of_range(allocation: &Allocation, world: World<'_>, records: &Records<'_>, decision: &mut Decision) {
    let slot = &allocation.slot;
    let resting = matches!(allocation.standing, Standing::Cooling { .. } | Standing::Surplus);
    let own = world.pools.iter().find(|p| p.name == allocation.pool);
    let covered = world.pools.iter().any(|p| p.network == slot.network && p.contains(slot.address));
    let (Some(pool), false, false) = (own, covered, resting) else { return };
    if records.firmness(allocation) != Firmness::Firm || decision.changes.get(slot) == Some(&Change::Remove) {
        return;
    }
    let Some(holder) = allocation.holders.first() else { return };
    let message = format!(
        "{} was given from pool {}, whose ranges no longer have it: it stays with its owner; put the range back or replace the machine",
        place(slot.address, &slot.network),
        pool.name
    );
    decision.problems.push(Problem::new("OutOfRange", &holder.owner, message).at(slot));
}

pub(super) fn place(address: IpAddr, network: &str) -> String {
    if network.is_empty() { address.to_string() } else { format!("{address} (network {network})") }
}
