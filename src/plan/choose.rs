//! Chooses addresses for a claim: what it holds, what is reserved for its name, what it asks for, what its
//! predecessor left, then the lowest free one. All wishes of an owner together, or none.

use super::board::{Board, unusable};
use super::findings::InUse;
use super::records::{Firmness, Records};
use super::{Decision, Unmet, World};
use crate::addr::{Family, SpanSet};
use crate::ledger::{Change, Page};
use crate::model::{
    Allocation, Claim, Gate, Given, Holder, Owner, Pool, PoolChoice, Problem, Reason, Slot, Standing, Wish,
    hash,
};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

/// What is decided for one claim, and where the ledger has it.
pub(super) type Met = (Vec<Given>, Vec<Slot>);

/// Gives out what the board has left.
pub(super) struct Chooser<'a> {
    pub(super) world: World<'a>,
    board: Board<'a>,
    pub(super) records: Records<'a>,
    pub(super) in_use: InUse<'a>,
    pub(super) unusable: Vec<SpanSet>,
    /// What is kept for successors.
    promised: Vec<&'a Slot>,
}

/// One address on its way to a claim.
struct Pick {
    device: Arc<str>,
    slot: Slot,
    pool: usize,
    /// It was free for anyone: to be put back if the claim cannot be met as a whole.
    from_free: bool,
    /// The ledger has it firmly already.
    firm: bool,
}

impl<'a> Chooser<'a> {
    pub(super) fn new(world: World<'a>, board: Board<'a>, records: Records<'a>, in_use: InUse<'a>) -> Self {
        Self {
            world,
            board,
            records,
            in_use,
            unusable: world.pools.iter().map(|p| unusable(p, world.pools)).collect(),
            promised: Vec::new(),
        }
    }

    /// Keeps what a predecessor has left for its successor, so that no other claim is faster.
    pub(super) fn promise(&mut self, order: &[usize]) {
        for claim in order.iter().map(|at| &self.world.claims[*at]) {
            for (_, allocation) in self.records.left_by_predecessor(&claim.owner) {
                self.board.block(&allocation.slot);
                self.promised.push(&allocation.slot);
            }
        }
    }

    /// Is something free now that was kept for a successor who did not get it?
    pub(super) fn kept_in_vain(&self, decision: &Decision) -> bool {
        self.promised.iter().any(|slot| decision.changes.get(slot) == Some(&Change::Remove))
    }

    /// Meets a claim, or says why not. `None`: there is nothing to write.
    pub(super) fn choose(&mut self, claim: &Claim, decision: &mut Decision) -> Result<Option<Met>, Unmet> {
        if claim.gate == Gate::Open {
            return Ok(self.restore(claim, decision));
        }
        for preset in &claim.presets {
            if let Some(why) = self.preset_obstacle(&claim.owner, preset, decision) {
                let message = format!("{} was set on it by hand, but {why}: set another one", preset.address);
                let (device, pool) = (preset.device.to_string(), String::new());
                return Err(Unmet { device, pool, reason: Reason::AddressUnavailable, message });
            }
        }
        let mut picks: Vec<Pick> = Vec::new();
        for wish in &claim.wishes {
            if let Err(why) = self.meet(claim, wish, &mut picks, decision) {
                for pick in picks.iter().filter(|p| p.from_free) {
                    self.board.unblock(&pick.slot, &self.unusable);
                }
                // Half a set that a pass left behind would keep others waiting. All of it goes, its home first: a
                // part that went alone would not be missed by whoever binds the set. What another owner was
                // found to have is recorded for that one by now, and binds nothing for this one.
                for (_, half) in self.records.held_by(&claim.owner) {
                    if self.records.firmness(half) == Firmness::Tentative {
                        decision.changes.entry(half.slot.clone()).or_insert(Change::Remove);
                        decision.unsettled = true;
                    }
                }
                return Err(why);
            }
        }
        self.mark_surplus(claim, &picks, decision);
        self.stand_alone(claim, decision);
        self.record(claim, &picks, decision);
        let (given, mut slots) = self.met(&picks);
        slots.extend(self.preset_slots(claim, decision));
        Ok(Some((given, slots)))
    }

    /// Keeps an address for a claim that is yet to be made, if there is one.
    pub(super) fn keep(&mut self, claim: &Claim, decision: &Decision) -> bool {
        let mut picks = Vec::new();
        claim.wishes.iter().all(|wish| self.meet(claim, wish, &mut picks, decision).is_ok())
    }

    fn met(&self, picks: &[Pick]) -> Met {
        let given = picks.iter().map(|p| Given {
            device: p.device.clone(),
            address: p.slot.address,
            pool: self.world.pools[p.pool].name.clone(),
            block: None,
        });
        (given.collect(), picks.iter().map(|p| p.slot.clone()).collect())
    }

    fn meet(
        &mut self,
        claim: &Claim,
        wish: &Wish,
        picks: &mut Vec<Pick>,
        decision: &Decision,
    ) -> Result<(), Unmet> {
        let unmet = |pool: &str, reason, message| Unmet {
            device: wish.device.to_string(),
            pool: pool.to_owned(),
            reason,
            message,
        };
        let candidates = candidates(self.world.pools, wish);
        if candidates.iter().all(Vec::is_empty) {
            let message = match &wish.pools {
                PoolChoice::Matching(subject) => {
                    let family = subject.family.map(|f| format!("{f} ")).unwrap_or_default();
                    format!(
                        "no {family}pool of the configuration matches this device (see `match` of the pools)"
                    )
                }
                PoolChoice::Named(_) | PoolChoice::Blocks(_) => {
                    "its pool has no addresses that could be given".to_owned()
                }
            };
            return Err(unmet("", Reason::NoMatchingPool, message));
        }
        if let Some(asked) = wish.asks {
            let fits = candidates.iter().flatten().any(|p| self.world.pools[*p].contains(asked));
            if !fits {
                let names: Vec<&str> =
                    candidates.iter().flatten().map(|p| &*self.world.pools[*p].name).collect();
                let message = format!("{asked} is not in pool {}", names.join(" or "));
                return Err(unmet("", Reason::AddressUnavailable, message));
            }
        }
        let mut families: Vec<(Family, &Vec<usize>)> =
            Family::BOTH.into_iter().zip(&candidates).filter(|(_, pools)| !pools.is_empty()).collect();
        if wish.one {
            // What it holds or asks for decides; else the pool that comes first.
            let reserved = |pools: &[usize]| pools.iter().any(|p| self.reserves(*p, &claim.owner));
            let kept = families.iter().find(|(_, pools)| reserved(pools)).map(|(family, _)| *family);
            let decided = self.held_family(claim, wish).or(wish.asks.map(Family::of)).or(kept);
            families.sort_by_key(|(family, pools)| (Some(*family) != decided, pools.first().copied()));
            families.truncate(if decided.is_some() { 1 } else { 2 });
        }
        let mut full = None;
        for (family, pools) in families {
            match self.pick(claim, wish, family, pools, picks, decision) {
                Ok(pick) => {
                    self.board.block(&pick.slot);
                    picks.push(pick);
                    if wish.one {
                        return Ok(());
                    }
                }
                Err((pool, reason, message)) => {
                    let why = unmet(&pool, reason, message);
                    if !wish.one {
                        return Err(why);
                    }
                    full.get_or_insert(why);
                }
            }
        }
        full.map_or(Ok(()), Err)
    }

    fn reserves(&self, pool: usize, owner: &Owner) -> bool {
        self.world.pools[pool].reserved_for(owner).is_some()
    }

    /// The family of what the ledger has for a wish.
    fn held_family(&self, claim: &Claim, wish: &Wish) -> Option<Family> {
        Family::BOTH.into_iter().find(|f| self.held(&claim.owner, wish, *f).next().is_some())
    }

    fn pick(
        &self,
        claim: &Claim,
        wish: &Wish,
        family: Family,
        pools: &[usize],
        picks: &[Pick],
        decision: &Decision,
    ) -> Result<Pick, (String, Reason, String)> {
        let owner = &*claim.owner;
        let pick = |slot: Slot, pool, from_free, firm| Pick {
            device: wish.device.clone(),
            slot,
            pool,
            from_free,
            firm,
        };
        // What it can have before what it cannot, and what is firm before what is not.
        let pool_here = |a: &Allocation| self.pool_of(&a.slot, pools);
        let usable = |a: &Allocation| pool_here(a).is_some_and(|p| self.barred(owner, &a.slot, p).is_none());
        let held = self.held(owner, wish, family).min_by_key(|a| (!usable(a), !self.settled(a)));
        if let Some(held) = held {
            let address = held.slot.address;
            let unavailable = |why: String| Err((held.pool.to_string(), Reason::AddressUnavailable, why));
            let asked_other = wish.asks.filter(|a| Family::of(*a) == family && *a != address);
            if let Some(asked) = asked_other {
                return unavailable(format!("it holds {address} already, so it cannot get {asked}"));
            }
            match pool_here(held) {
                None if self
                    .pool_of(&held.slot, &(0..self.world.pools.len()).collect::<Vec<_>>())
                    .is_none() =>
                {
                    return unavailable(format!(
                        "the ledger has {address} for it, which lies in no pool of this configuration"
                    ));
                }
                None if claim.gate == Gate::Asked => {
                    return unavailable(format!("it holds {address} of another pool already"));
                }
                // Recorded for a device that has moved to another network, or that has become the gateway or
                // the like, and never written: it gets another one.
                None => {}
                Some(pool) if self.barred(owner, &held.slot, pool).is_some() => {}
                Some(pool) => {
                    let firm =
                        self.records.firmness(held) == Firmness::Firm && held.standing != Standing::Surplus;
                    return Ok(pick(held.slot.clone(), pool, false, firm));
                }
            }
        }
        let slot = |pool: usize, address| Slot::new(address, self.world.pools[pool].network.clone());
        let taken_here = |s: &Slot| picks.iter().any(|p| p.slot == *s);

        let reserved = pools.iter().find_map(|p| {
            let address = self.world.pools[*p].reserved_for(owner)?;
            Some((*p, slot(*p, address)))
        });
        let asked = wish.asks.filter(|a| Family::of(*a) == family).and_then(|address| {
            let pool = pools.iter().find(|p| self.world.pools[**p].contains(address))?;
            Some((*pool, slot(*pool, address)))
        });
        let reserved = reserved.filter(|(_, s)| !taken_here(s));
        if let (Some((pool, kept)), Some((_, asked))) = (&reserved, &asked)
            && kept != asked
        {
            let why = format!("{} is reserved for it, so it cannot get {}", kept.address, asked.address);
            return Err((self.world.pools[*pool].name.to_string(), Reason::AddressUnavailable, why));
        }
        if let Some((pool, slot)) = reserved.or(asked) {
            return match self.obstacle(owner, &slot, pool, decision) {
                None if !taken_here(&slot) => Ok(pick(slot, pool, false, false)),
                obstacle => {
                    let why = obstacle.unwrap_or_else(|| "another device of it has it".to_owned());
                    let why = format!("{} cannot be given to it: {why}", slot.address);
                    Err((self.world.pools[pool].name.to_string(), Reason::AddressUnavailable, why))
                }
            };
        }
        let left = self.records.left_by_predecessor(owner).filter(|(h, _)| h.device == wish.device);
        for (_, allocation) in left {
            let pool = pools.iter().find(|p| {
                let pool = &self.world.pools[**p];
                pool.network == allocation.slot.network && pool.contains(allocation.slot.address)
            });
            if let Some(pool) = pool
                && !taken_here(&allocation.slot)
                && self.obstacle(owner, &allocation.slot, *pool, decision).is_none()
            {
                return Ok(pick(allocation.slot.clone(), *pool, false, false));
            }
        }
        let best = |w: &Wish| {
            self.held(owner, w, family).min_by_key(|a| (!usable(a), !self.settled(a))).map(|a| &a.slot)
        };
        let carried = |a: &Allocation| {
            self.in_use.on(&a.slot).next().is_some()
                || claim.presets.iter().any(|p| p.address == a.slot.address)
        };
        if let Some(spare) = self.spare(owner, family).find(|a| {
            let own = claim.wishes.iter().any(|w| best(w) == Some(&a.slot));
            !taken_here(&a.slot) && usable(a) && !own && !carried(a)
        }) && let Some(pool) = pool_here(spare)
        {
            return Ok(pick(spare.slot.clone(), pool, false, false));
        }
        let seed = || seed(owner, &wish.device);
        let free = pools.iter().find_map(|p| Some((*p, slot(*p, self.board.next(*p, seed)?))));
        let few = || picks.iter().filter(|p| p.from_free && pools.contains(&p.pool)).count();
        free.map(|(pool, slot)| pick(slot, pool, true, false)).ok_or_else(|| self.exhausted(pools, few()))
    }

    /// Why there is nothing in these pools for somebody who would have got that many.
    fn exhausted(&self, pools: &[usize], few: usize) -> (String, Reason, String) {
        let names: Vec<&str> = pools.iter().map(|p| &*self.world.pools[*p].name).collect();
        let ranges: Vec<String> =
            pools.iter().flat_map(|p| &self.world.pools[*p].ranges).map(ToString::to_string).collect();
        let (which, has) = if names.len() == 1 { ("pool", "has") } else { ("pools", "have") };
        let (listed, ranges) = (names.join(", "), ranges.join(", "));
        // A pool that came from a flag has its range for a name.
        let ranges = if ranges == listed { String::new() } else { format!(" ({ranges})") };
        let lack = match few {
            0 => "no free address left for it".to_owned(),
            few => format!("too few free addresses for it: it needs more than {few}"),
        };
        let message = format!("{which} {listed}{ranges} {has} {lack}");
        (names.first().copied().unwrap_or_default().to_owned(), Reason::PoolExhausted, message)
    }

    /// What the ledger has for this wish, unless somebody else came to have it too.
    fn held<'s>(
        &'s self,
        owner: &'s Owner,
        wish: &'s Wish,
        family: Family,
    ) -> impl Iterator<Item = &'a Allocation> + use<'s, 'a> {
        let of_wish = move |(h, a): &(&Holder, &Allocation)| {
            h.device == wish.device && Family::of(a.slot.address) == family
        };
        let held = self.records.held_by(owner).filter(of_wish).map(|(_, a)| a);
        held.filter(move |a| !self.shared(owner, a))
    }

    /// What an owner holds on its own account, for whichever device: two runs may each have recorded one for the
    /// same device, and another device can have the second.
    fn spare<'s>(
        &'s self,
        owner: &'s Owner,
        family: Family,
    ) -> impl Iterator<Item = &'a Allocation> + use<'s, 'a> {
        let held = self.records.held_by(owner).map(|(_, a)| a);
        let alone = held.filter(move |a| a.standing == Standing::Bound && a.holders.len() == 1);
        alone.filter(move |a| Family::of(a.slot.address) == family && !self.shared(owner, a))
    }

    /// Binding, and not about to be taken back.
    fn settled(&self, allocation: &Allocation) -> bool {
        allocation.standing != Standing::Surplus && self.records.firmness(allocation) == Firmness::Firm
    }

    /// The pool among these that has an address.
    fn pool_of(&self, slot: &Slot, among: &[usize]) -> Option<usize> {
        among.iter().copied().find(|p| {
            let pool = &self.world.pools[*p];
            pool.network == slot.network && pool.contains(slot.address)
        })
    }

    /// Entries of an owner that still waits, for devices that have another address by now. What is binding is only
    /// marked: it is freed when the owner no longer waits, because until then a late writer may still give it
    /// to it. What is tentative goes at once: whoever would bind it fails at its home.
    fn mark_surplus(&self, claim: &Claim, picks: &[Pick], decision: &mut Decision) {
        for (_, allocation) in self.records.held_by(&claim.owner) {
            let wanted = picks.iter().any(|p| p.slot == allocation.slot);
            let carried = self.in_use.on(&allocation.slot);
            let carried = carried.filter_map(|h| h.holder.as_ref()).any(|h| h.owner.same(&claim.owner));
            // What it carries may be from pools that only another configuration has.
            let carried = carried || claim.presets.iter().any(|p| p.address == allocation.slot.address);
            if wanted || carried || claim.gate == Gate::Asked {
                continue;
            }
            if self.records.firmness(allocation) == Firmness::Tentative {
                decision.changes.entry(allocation.slot.clone()).or_insert(Change::Remove);
                decision.unsettled = true;
                continue;
            }
            if self.shared(&claim.owner, allocation) {
                continue;
            }
            decision.unsettled = true;
            let marked = Allocation { standing: Standing::Surplus, ..allocation.clone() };
            match &allocation.standing {
                Standing::Surplus => {}
                // What hangs on it stands on its own first.
                Standing::Home { bound: true, .. } => {
                    decision.binds.insert(allocation.slot.clone(), marked);
                }
                _ => {
                    decision.changes.insert(allocation.slot.clone(), Change::Put(marked));
                }
            }
        }
    }

    /// What is binding stays so, though the home of its set is surplus now: whoever bound it may be about to write
    /// it to its owner.
    fn stand_alone(&self, claim: &Claim, decision: &mut Decision) {
        for (_, member) in self.records.held_by(&claim.owner) {
            if let Standing::Member { home, .. } = &member.standing
                && self.settled(member)
                && decision.binds.get(home).is_some_and(|h| h.standing == Standing::Surplus)
                && !decision.changes.contains_key(&member.slot)
            {
                let alone = Allocation { standing: Standing::Bound, ..member.clone() };
                decision.changes.insert(member.slot.clone(), Change::Put(alone));
            }
        }
    }

    /// Records what is new. Several ledger objects: tentative everywhere first, and bound by the home entry,
    /// the first in the order of writing.
    fn record(&self, claim: &Claim, picks: &[Pick], decision: &mut Decision) {
        let before = |slot: &Slot| {
            self.records.at(slot).filter(|a| a.holders.iter().any(|h| h.owner.same(&claim.owner)))
        };
        // What was bound and is only marked, or was for another device, is bound on its own, never tentative: whoever
        // bound it may be about to write it.
        let marked = |p: &&Pick| {
            before(&p.slot).is_some_and(|a| matches!(a.standing, Standing::Surplus | Standing::Bound))
        };
        let (again, mut new): (Vec<&Pick>, Vec<&Pick>) = picks.iter().filter(|p| !p.firm).partition(marked);
        for (pick, entry) in again.iter().filter_map(|p| Some((p, before(&p.slot)?))) {
            let holders = vec![Holder { owner: claim.owner.clone(), device: pick.device.clone() }];
            let bound = Allocation { holders, standing: Standing::Bound, ..entry.clone() };
            decision.changes.insert(entry.slot.clone(), Change::Put(bound));
        }
        new.sort_by(|a, b| a.slot.cmp(&b.slot));
        let Some(home) = new.first().map(|p| p.slot.clone()) else { return };
        let one_object = new.iter().all(|p| Page::of(&p.slot) == Page::of(&home));
        let set: Vec<Slot> = new.iter().map(|p| p.slot.clone()).collect();
        // A set that is there is finished; any other is a new draft.
        let draft = match before(&home).map(|a| &a.standing) {
            Some(Standing::Home { set: there, draft, .. }) if *there == set => draft.clone(),
            _ => self.world.ledger.version(&home),
        };
        for pick in &new {
            let standing = if one_object {
                Standing::Bound
            } else if pick.slot == home {
                Standing::Home { set: set.clone(), bound: false, draft: draft.clone() }
            } else {
                Standing::Member { home: home.clone(), draft: draft.clone() }
            };
            let before = before(&pick.slot);
            let allocation = Allocation {
                slot: pick.slot.clone(),
                holders: vec![Holder { owner: claim.owner.clone(), device: pick.device.clone() }],
                pool: self.world.pools[pick.pool].name.clone(),
                since: before.map_or(self.world.now, |a| a.since),
                adopted: false,
                standing,
            };
            if let Standing::Home { set, draft, .. } = &allocation.standing {
                let standing = Standing::Home { set: set.clone(), bound: true, draft: draft.clone() };
                decision.binds.insert(home.clone(), Allocation { standing, ..allocation.clone() });
            }
            if before == Some(&allocation) {
                decision.changes.remove(&pick.slot);
            } else {
                decision.changes.insert(pick.slot.clone(), Change::Put(allocation));
            }
        }
    }

    /// Gives back what the ledger has for an owner that was served before.
    fn restore(&self, claim: &Claim, decision: &mut Decision) -> Option<Met> {
        let all: Vec<usize> = (0..self.world.pools.len()).collect();
        let mut picks = Vec::new();
        let mut lost = Vec::new();
        for wish in &claim.wishes {
            let mut any = false;
            for family in Family::BOTH {
                let mut records = self.held(&claim.owner, wish, family);
                // Two runs may have recorded one each: which of them it had, nobody knows any more.
                let (Some(held), None) = (records.next(), records.next()) else { continue };
                if !self.settled(held) {
                    continue;
                }
                let Some(pool) = self.pool_of(&held.slot, &all) else { continue };
                any = true;
                let device = wish.device.clone();
                picks.push(Pick { device, slot: held.slot.clone(), pool, from_free: false, firm: true });
            }
            if !any {
                lost.push(&*wish.device);
            }
        }
        let restored: BTreeMap<&str, Vec<IpAddr>> = picks.iter().fold(BTreeMap::new(), |mut map, p| {
            map.entry(&*p.device).or_insert_with(Vec::new).push(p.slot.address);
            map
        });
        for (device, addresses) in restored {
            let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
            let what = if device.is_empty() { "its address" } else { "the address of device" };
            let message = format!(
                "somebody removed {}: {} is its own and is written back",
                [what, device].join(" ").trim_end(),
                addresses.join(" and ")
            );
            decision.problems.push(Problem::new("Wiped", &claim.owner, message));
        }
        for device in lost {
            let message = if device.is_empty() {
                "it has no address although it was served, and the ledger has none that it could get back: replace it".to_owned()
            } else {
                format!(
                    "device {device} has no address although the machine was served, and the ledger has none that it could get back: set ipAddrs by hand, or replace the machine"
                )
            };
            decision.problems.push(Problem::new("Wiped", &claim.owner, message));
        }
        (!picks.is_empty()).then(|| self.met(&picks))
    }
}

/// A number that only the owner and its device decide.
fn seed(owner: &Owner, device: &str) -> u64 {
    hash([&owner.namespace, "/", &owner.name, "/", device].iter().flat_map(|t| t.bytes()))
}

/// The pools of a wish by family. The first that fits decides the network; those of the same network that
/// follow it serve when it is full.
pub fn candidates(pools: &[Pool], wish: &Wish) -> [Vec<usize>; 2] {
    Family::BOTH.map(|family| {
        let fitting: Vec<usize> = match &wish.pools {
            PoolChoice::Matching(subject) => {
                (0..pools.len()).filter(|p| pools[*p].family == family && subject.fits(&pools[*p])).collect()
            }
            PoolChoice::Named(names) => names
                .iter()
                .filter_map(|name| pools.iter().position(|p| p.name == *name && p.family == family))
                .collect(),
            PoolChoice::Blocks(_) => Vec::new(),
        };
        let network = fitting.first().map(|p| pools[*p].network.clone());
        fitting.into_iter().filter(|p| Some(&pools[*p].network) == network.as_ref()).collect()
    })
}
