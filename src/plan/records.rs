//! What the ledger says: what is held, what is freed now, what rests, and which tentative sets are void.

use super::release::rest;
use super::{Board, Decision, Scope, World};
use crate::ledger::Change;
use crate::model::{Adopt, Allocation, Gate, Holder, Holding, Owner, PoolChoice, Problem, Slot, Standing};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// The ledger, sorted for the questions of a decision.
pub(super) struct Records<'a> {
    /// What each owner holds, sorted by owner.
    held: Vec<(&'a Holder, &'a Allocation)>,
    /// What an owner that is gone held last, sorted by owner: freed in this pass or still resting.
    left: Vec<(&'a Holder, &'a Allocation)>,
    allocations: &'a BTreeMap<Slot, Allocation>,
    /// Addresses whose entries cannot be read.
    unreadable: BTreeSet<IpAddr>,
    /// What was seen where there is room for one holder.
    alone: BTreeMap<IpAddr, &'a Holding>,
}

/// Owners that wait, and owners that were seen, each sorted.
struct Wishes<'a> {
    waiting: Vec<&'a Owner>,
    seen: Vec<&'a Owner>,
}

impl<'a> Wishes<'a> {
    fn of(world: World<'a>) -> Self {
        if world.ledger.allocations().is_empty() {
            return Self { waiting: Vec::new(), seen: Vec::new() };
        }
        let closed = world.claims.iter().filter(|c| c.gate != Gate::Open);
        Self {
            waiting: sorted(closed.map(|c| &*c.owner)),
            seen: sorted(world.holdings.iter().filter_map(|h| Some(&*h.holder.as_ref()?.owner))),
        }
    }
}

/// How far an entry can be relied on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Firmness {
    Firm,
    /// Recorded, not yet binding: any pass may finish or withdraw the set.
    Tentative,
    /// Part of a set that was withdrawn.
    Void,
}

impl<'a> Records<'a> {
    /// Blocks what is held or rests, and decides what is freed.
    pub(super) fn read(world: World<'a>, board: &mut Board<'_>, decision: &mut Decision) -> Self {
        let allocations = world.ledger.allocations();
        let unreadable = world.ledger.unreadable().iter().filter_map(|u| u.address).collect();
        let alone =
            world.holdings.iter().filter(|h| h.adopt == Adopt::Alone).map(|h| (h.address, h)).collect();
        let mut records = Self { held: Vec::new(), left: Vec::new(), allocations, unreadable, alone };
        for entry in world.ledger.unreadable() {
            if let Some(address) = entry.address {
                board.block_everywhere(address);
            }
            let object = format!("ConfigMap/{}/{}", crate::ledger::NAMESPACE, entry.object);
            let message = format!(
                "entry {}: {}; it is left as it is and its address is not given out: mend or remove it by hand",
                entry.key, entry.message
            );
            decision.problems.push(Problem::new("Unreadable", &object, message));
        }
        let wishes = Wishes::of(world);
        for allocation in allocations.values() {
            records.enter(allocation, world, &wishes, board, decision);
        }
        records.held.sort_by(|a, b| a.0.cmp(b.0));
        records.left.sort_by(|a, b| a.0.cmp(b.0));
        records
    }

    fn enter(
        &mut self,
        allocation: &'a Allocation,
        world: World<'_>,
        wishes: &Wishes<'_>,
        board: &mut Board<'_>,
        decision: &mut Decision,
    ) {
        let slot = &allocation.slot;
        if let Standing::Cooling { until } = allocation.standing {
            if until > world.now {
                board.block(slot);
                self.left.extend(allocation.holders.iter().map(|h| (h, allocation)));
            }
            return;
        }
        if self.firmness(allocation) == Firmness::Void || self.unwanted(allocation, wishes, world.scope) {
            decision.changes.insert(slot.clone(), Change::Remove);
            return;
        }
        // A pool that was moved to another network took its addresses along: they are in use there, too.
        let moved = world.pools.iter().filter(|p| p.name == allocation.pool && p.network != slot.network);
        for pool in moved {
            board.block(&Slot { address: slot.address, network: pool.network.clone() });
        }
        if allocation.holders.iter().all(|h| self.lost(h, allocation, world)) {
            decision.changes.insert(slot.clone(), Change::Remove);
            return;
        }
        let gone = |h: &&Holder| {
            world.gone.contains(&h.owner) && world.scope.serves(&h.owner) || self.lost(h, allocation, world)
        };
        let live: Vec<&Holder> = allocation.holders.iter().filter(|h| !gone(h)).collect();
        self.held.extend(live.iter().map(|h| (*h, allocation)));
        if live.len() == allocation.holders.len() {
            board.block(slot);
            return;
        }
        if !live.is_empty() {
            board.block(slot);
            let holders = live.into_iter().cloned().collect();
            decision.changes.insert(slot.clone(), Change::Put(Allocation { holders, ..allocation.clone() }));
            return;
        }
        if self.firmness(allocation) == Firmness::Tentative {
            // It was never written to its owner: nothing can be using it.
            decision.changes.insert(slot.clone(), Change::Remove);
            return;
        }
        self.left.extend(allocation.holders.iter().map(|h| (h, allocation)));
        decision.released.push(allocation.clone());
        let rest = rest(world.pools, slot);
        if rest > 0 {
            let standing = Standing::Cooling { until: world.now.saturating_add(rest) };
            decision.changes.insert(slot.clone(), Change::Put(Allocation { standing, ..allocation.clone() }));
            board.block(slot);
        } else {
            decision.changes.insert(slot.clone(), Change::Remove);
        }
    }

    /// Is this a tentative set that nobody wants any more, or surplus whose owner can no longer be given it?
    /// Only where the owner's wishes have been observed: a claim that is out of scope stays.
    fn unwanted(&self, allocation: &Allocation, wishes: &Wishes<'_>, scope: &Scope) -> bool {
        let surplus = allocation.standing == Standing::Surplus;
        if !surplus && self.firmness(allocation) != Firmness::Tentative {
            return false;
        }
        allocation.holders.iter().map(|h| &*h.owner).all(|owner| {
            scope.serves(owner)
                && wishes.waiting.binary_search(&owner).is_err()
                && (!surplus || wishes.seen.binary_search(&owner).is_ok())
        })
    }

    /// Has somebody else been faster to take what was recorded for this holder?
    pub(super) fn lost(&self, holder: &Holder, allocation: &Allocation, world: World<'_>) -> bool {
        let address = allocation.slot.address;
        let Some(alone) = self.alone.get(&address) else { return false };
        let Some(faster) = alone.holder.as_ref().map(|h| &h.owner) else { return false };
        let from_its_pool =
            matches!(&alone.pools, Some(PoolChoice::Named(names)) if names.contains(&allocation.pool));
        let seen = |h: &Holding| {
            h.address == address && h.holder.as_ref().is_some_and(|h| h.owner.same(&holder.owner))
        };
        from_its_pool
            && (&faster.group, &faster.kind) == (&holder.owner.group, &holder.owner.kind)
            && !faster.same(&holder.owner)
            && world.scope.serves(&holder.owner)
            && world.scope.serves(faster)
            && !world.holdings.iter().any(seen)
    }

    /// How far this entry can be relied on.
    pub(super) fn firmness(&self, allocation: &Allocation) -> Firmness {
        match &allocation.standing {
            Standing::Bound
            | Standing::Surplus
            | Standing::Cooling { .. }
            | Standing::Home { bound: true, .. } => Firmness::Firm,
            Standing::Home { bound: false, .. } => Firmness::Tentative,
            Standing::Member { home } => {
                match self.allocations.get(home).map(|h| (&h.standing, &h.holders)) {
                    Some((Standing::Home { set, bound }, holders))
                        if set.contains(&allocation.slot)
                            && holders
                                .iter()
                                .any(|h| allocation.holders.iter().any(|o| o.owner.same(&h.owner))) =>
                    {
                        if *bound {
                            Firmness::Firm
                        } else {
                            Firmness::Tentative
                        }
                    }
                    _ => Firmness::Void,
                }
            }
        }
    }

    /// What this very owner holds.
    pub(super) fn held_by(&self, owner: &Owner) -> impl Iterator<Item = (&'a Holder, &'a Allocation)> {
        same_name(&self.held, owner).iter().filter(move |(h, _)| h.owner.same(owner)).copied()
    }

    /// What a predecessor of the same name held last.
    pub(super) fn left_by_predecessor(
        &self,
        owner: &Owner,
    ) -> impl Iterator<Item = (&'a Holder, &'a Allocation)> {
        same_name(&self.left, owner).iter().copied()
    }

    /// Is there an entry that cannot be read?
    pub(super) fn unreadable(&self, address: IpAddr) -> bool {
        self.unreadable.contains(&address)
    }

    /// The entry of an address.
    pub(super) fn at(&self, slot: &Slot) -> Option<&'a Allocation> {
        self.allocations.get(slot)
    }
}

fn sorted<'o>(owners: impl Iterator<Item = &'o Owner>) -> Vec<&'o Owner> {
    let mut owners: Vec<&Owner> = owners.collect();
    owners.sort();
    owners
}

fn key(owner: &Owner) -> (&str, &str, &str, &str) {
    (&owner.group, &owner.kind, &owner.namespace, &owner.name)
}

fn same_name<'s, 'a>(
    sorted: &'s [(&'a Holder, &'a Allocation)],
    owner: &Owner,
) -> &'s [(&'a Holder, &'a Allocation)] {
    let wanted = key(owner);
    let from = sorted.partition_point(|(h, _)| key(&h.owner) < wanted);
    let to = from + sorted[from..].partition_point(|(h, _)| key(&h.owner) == wanted);
    &sorted[from..to]
}
