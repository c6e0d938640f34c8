//! What the ledger says: what is held, what is freed now, what rests, and which tentative sets are void.

use super::findings::serves;
use super::release::{FORCED_REST, rest};
use super::{Board, Decision, Scope, World};
use crate::addr::Family;
use crate::ledger::Change;
use crate::model::{Adopt, Allocation, Gate, Holder, Holding, Owner, PoolChoice, Problem, Slot, Standing};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

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
    /// Who took an address along into another network.
    moved: BTreeMap<Slot, &'a Owner>,
}

/// Owners that wait, owners that were seen, and what was seen on whom, each sorted. What few entries ask for is worked
/// out when the first one does.
struct Wishes<'a> {
    world: World<'a>,
    waiting: Vec<&'a Owner>,
    /// Owners that were served and have lost an address: nobody can tell which one it was.
    wiped: Vec<&'a Owner>,
    in_use: Vec<IpAddr>,
    seen: OnceCell<Vec<&'a Owner>>,
    equipped: OnceCell<Vec<(&'a Holder, Family)>>,
}

impl<'a> Wishes<'a> {
    fn of(world: World<'a>) -> Self {
        // Nobody asks where nothing is recorded.
        let asked = !world.ledger.allocations().is_empty();
        let of_gate = |open: bool| {
            let those = world.claims.iter().filter(move |c| asked && (c.gate == Gate::Open) == open);
            sorted(those.map(|c| &*c.owner))
        };
        Self {
            world,
            waiting: of_gate(false),
            wiped: of_gate(true),
            in_use: sorted(world.holdings.iter().filter(|_| asked).map(|h| h.address)),
            seen: OnceCell::new(),
            equipped: OnceCell::new(),
        }
    }

    /// Was anything seen on this owner?
    fn has_seen(&self, owner: &Owner) -> bool {
        let holders = || self.world.holdings.iter().filter_map(|h| Some(&*h.holder.as_ref()?.owner));
        self.seen.get_or_init(|| sorted(holders())).binary_search(&owner).is_ok()
    }

    /// Has the device an address of the family that mipam has given it?
    fn has_equipped(&self, holder: &Holder, family: Family) -> bool {
        // What only a status shows is on no device: who reports it may have another address.
        let carried = || {
            let carried = self.world.holdings.iter().filter(|h| h.adopt != Adopt::No);
            carried.filter_map(|h| Some((h.holder.as_ref()?, h.address)))
        };
        let given = |(holder, address): &(&Holder, IpAddr)| {
            self.world.ledger.of_address(*address).any(|a| gives(a, holder))
        };
        let equipped = || sorted(carried().filter(given).map(|(h, address)| (h, Family::of(address))));
        self.equipped.get_or_init(equipped).binary_search(&(holder, family)).is_ok()
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
        let moved = BTreeMap::new();
        let mut records = Self { held: Vec::new(), left: Vec::new(), allocations, unreadable, alone, moved };
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
        for allocation in world.ledger.addresses() {
            records.enter(allocation, world, &wishes, board, decision);
        }
        records.held.sort_by(|a, b| a.0.cmp(b.0));
        records.left.sort_by(|a, b| a.0.cmp(b.0));
        records.follow(world);
        for slot in records.moved.keys() {
            board.block(slot);
        }
        records
    }

    /// A pool that was moved to another network took its addresses along: they are in use there, too. It may have
    /// been renamed on the way: then the pools of the devices that hold them tell where they are now.
    fn follow(&mut self, world: World<'a>) {
        let having = |address: IpAddr| world.pools.iter().filter(move |p| p.contains(address));
        let mut strays: BTreeMap<&Holder, Vec<&Slot>> = BTreeMap::new();
        for (holder, allocation) in &self.held {
            let slot = &allocation.slot;
            for pool in having(slot.address).filter(|p| p.network != slot.network) {
                if pool.name == allocation.pool {
                    let there = Slot::new(slot.address, pool.network.clone());
                    self.moved.insert(there, &holder.owner);
                }
            }
            if !having(slot.address).any(|p| p.network == slot.network) {
                strays.entry(holder).or_default().push(slot);
            }
        }
        if strays.is_empty() {
            return;
        }
        let wished = world.claims.iter().flat_map(|c| {
            let of = |device: &Arc<str>| Holder { owner: c.owner.clone(), device: device.clone() };
            c.wishes.iter().map(move |w| (of(&w.device), &w.pools))
        });
        let carried = world.holdings.iter().filter_map(|h| Some((h.holder.clone()?, h.pools.as_ref()?)));
        for (holder, choice) in wished.chain(carried) {
            let Some((holder, slots)) = strays.get_key_value(&holder) else { continue };
            for slot in slots {
                let own = having(slot.address).filter(|p| p.network != slot.network && serves(choice, p));
                let there = own.map(|p| Slot::new(slot.address, p.network.clone()));
                self.moved.extend(there.map(|s| (s, &*holder.owner)));
            }
        }
    }

    /// Who took this address along into this network.
    pub(super) fn moved_here(&self, slot: &Slot) -> Option<&'a Owner> {
        self.moved.get(slot).copied()
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
        // Where its owner is gone, the set may have been binding, and a run that died may have freed no more of it
        // than its home: the rest is freed as that was.
        let abandoned = allocation.holders.iter().all(|h| world.gone.contains(&h.owner));
        if self.firmness(allocation) == Firmness::Void && !abandoned {
            // Nobody gets it before it is taken out: who recorded it anew for its old set, word for word, would
            // change nothing, and a run that still sees it void could give it to another unnoticed.
            decision.changes.insert(slot.clone(), Change::Remove);
            decision.unsettled = true;
            board.block(slot);
            return;
        }
        if self.unwanted(allocation, wishes, world.scope) {
            decision.changes.insert(slot.clone(), Change::Remove);
            if allocation.standing == Standing::Surplus {
                decision.loses.extend(allocation.holders.iter().map(|h| h.owner.clone()));
            }
            return;
        }
        if self.superseded(allocation, wishes, world.scope) {
            decision.loses.extend(allocation.holders.iter().map(|h| h.owner.clone()));
            self.withdraw(allocation, world, wishes, decision);
            board.block(slot);
            return;
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
        if !live.is_empty() {
            board.block(slot);
        }
        if live.len() == allocation.holders.len() {
            return;
        }
        if !live.is_empty() {
            let holders = live.into_iter().cloned().collect();
            // The set that it was part of was that of another holder, perhaps.
            let firm_member = matches!(allocation.standing, Standing::Member { .. })
                && self.firmness(allocation) == Firmness::Firm;
            let standing = if firm_member { Standing::Bound } else { allocation.standing.clone() };
            let left = Allocation { holders, standing, ..allocation.clone() };
            decision.changes.insert(slot.clone(), Change::Put(left));
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
        // A late writer gave it after all: it is bound again, by a run whose pools have it.
        let in_use = surplus && wishes.in_use.binary_search(&allocation.slot.address).is_ok();
        !in_use
            && allocation.holders.iter().map(|h| &*h.owner).all(|owner| {
                scope.serves(owner)
                    && wishes.waiting.binary_search(&owner).is_err()
                    && (!surplus || wishes.has_seen(owner))
                    && (!surplus || wishes.wiped.binary_search(&owner).is_err())
            })
    }

    /// Has the owner been given another address where it should have had this one? Two runs that saw the world
    /// differently may each have recorded one for it, in different objects; only one of them was written. Where a
    /// person has replaced the address by hand it is another matter: what runs on it may still use the old
    /// one, so that one stays its own.
    fn superseded(&self, allocation: &Allocation, wishes: &Wishes<'_>, scope: &Scope) -> bool {
        let family = Family::of(allocation.slot.address);
        self.firmness(allocation) == Firmness::Firm
            && wishes.in_use.binary_search(&allocation.slot.address).is_err()
            && allocation.holders.iter().all(|holder| {
                scope.serves(&holder.owner)
                    && wishes.waiting.binary_search(&&*holder.owner).is_err()
                    && wishes.has_equipped(holder, family)
            })
    }

    /// Lets a superseded entry rest, as long as one that was released by force. What hangs on it stands on its own
    /// first.
    fn withdraw(
        &self,
        allocation: &Allocation,
        world: World<'_>,
        wishes: &Wishes<'_>,
        decision: &mut Decision,
    ) {
        let rest = rest(world.pools, &allocation.slot).max(FORCED_REST);
        let standing = Standing::Cooling { until: world.now.saturating_add(rest) };
        let resting = Allocation { standing, ..allocation.clone() };
        let Standing::Home { set, .. } = &allocation.standing else {
            decision.changes.insert(allocation.slot.clone(), Change::Put(resting));
            return;
        };
        for member in set.iter().filter_map(|slot| self.allocations.get(slot)) {
            let hangs = matches!(&member.standing, Standing::Member { home, .. } if *home == allocation.slot);
            if hangs && !self.superseded(member, wishes, world.scope) {
                let alone = Allocation { standing: Standing::Bound, ..member.clone() };
                decision.changes.insert(member.slot.clone(), Change::Put(alone));
            }
        }
        decision.binds.insert(allocation.slot.clone(), resting);
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
            Standing::Member { home, draft: part_of } => {
                match self.allocations.get(home).map(|h| (&h.standing, &h.holders)) {
                    Some((Standing::Home { set, bound, draft }, holders))
                        if draft == part_of
                            && set.contains(&allocation.slot)
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

/// Was it given to this holder? Perhaps by a late writer, after it was taken back.
fn gives(allocation: &Allocation, holder: &Holder) -> bool {
    !allocation.adopted && allocation.holders.contains(holder)
}

fn sorted<T: Ord>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut all: Vec<T> = all.collect();
    all.sort();
    all
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
