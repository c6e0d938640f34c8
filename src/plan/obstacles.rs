//! What stands in the way of an address: who has it, who uses it, what it is for.

use super::Decision;
use super::choose::Chooser;
use super::findings::{networks, rests, serves, stands_for};
use super::records::Firmness;
use crate::model::{Adopt, Allocation, Claim, Holder, Owner, Preset, Slot, Standing};

impl Chooser<'_> {
    /// Has somebody else come to have this address too? Then it is not given to an owner that waits for it.
    pub(super) fn shared(&self, owner: &Owner, allocation: &Allocation) -> bool {
        let other = |h: &Holder| !h.owner.same(owner) && !self.gone(h);
        let seen = self.in_use.on(&allocation.slot);
        let mut seen = seen.filter(|h| h.adopt != Adopt::IfFree).filter_map(|h| h.holder.as_ref());
        allocation.holders.iter().any(other) || seen.any(other)
    }

    /// Why an owner must not be let go with an address that a person has put on it.
    pub(super) fn preset_obstacle(
        &self,
        owner: &Owner,
        preset: &Preset,
        decision: &Decision,
    ) -> Option<String> {
        let pools = self.world.pools;
        for pool in pools.iter().filter(|p| serves(&preset.pools, p)) {
            if pool.gateway == Some(preset.address) {
                return Some(format!("it is the gateway of pool {}", pool.name));
            }
            if pool.nameservers.contains(&preset.address) {
                return Some(format!("it is a name server of pool {}", pool.name));
            }
            if pool.unusable_edges().any(|a| a == preset.address) {
                return Some(format!("it is the network or broadcast address of pool {}", pool.name));
            }
        }
        for slot in self.places(preset) {
            let recorded = decision.leaves(&slot, self.records.at(&slot));
            let rested =
                |a: &&Allocation| matches!(a.standing, Standing::Cooling { .. }) && !rests(a, self.world.now);
            let holders = recorded.filter(|a| !rested(a)).map_or(&[][..], |a| &a.holders);
            let resting = recorded.is_some_and(|a| rests(a, self.world.now));
            if let Some(past) = holders.iter().find(|h| resting && !h.owner.same_name(owner)) {
                return Some(format!("{} had it, and it rests", past.owner));
            }
            let live = holders.iter().filter(|h| !resting && !self.gone(h));
            if let Some(other) = live.map(|h| &h.owner).find(|o| !o.same(owner)) {
                return Some(format!("{other} holds it"));
            }
            let seen = self.in_use.on(&slot);
            let in_use = seen.filter(|h| h.adopt != Adopt::IfFree).find(|holding| match &holding.holder {
                Some(holder) => !holder.owner.same(owner),
                None => !stands_for(holding, owner),
            });
            if let Some(holding) = in_use {
                return Some(format!("{} uses it", holding.seen_on));
            }
        }
        None
    }

    /// Where the ledger has a preset, or will have it.
    fn places(&self, preset: &Preset) -> Vec<Slot> {
        let address = preset.address;
        let mut known = networks(self.world.pools, address, Some(&preset.pools));
        if known.is_empty() {
            // No pool here has it, but another configuration may have given it.
            let recorded = self.world.ledger.of_address(address);
            known = recorded.map(|a| a.slot.network.clone()).collect();
        }
        known.into_iter().map(|network| Slot::new(address, network)).collect()
    }

    /// The entries of what a person has put on an owner: it is not let go before they are recorded.
    pub(super) fn preset_slots(&self, claim: &Claim, decision: &Decision) -> Vec<Slot> {
        let its = |a: &Allocation| a.holders.iter().any(|h| h.owner.same(&claim.owner));
        let all = claim.presets.iter().flat_map(|p| self.places(p));
        all.filter(|slot| decision.leaves(slot, self.records.at(slot)).is_some_and(its)).collect()
    }

    /// Why nobody like this owner may have this address, whoever holds it.
    pub(super) fn barred(&self, owner: &Owner, slot: &Slot, pool: usize) -> Option<String> {
        if self.unusable[pool].contains(slot.address) {
            return Some(
                "it is excluded, a gateway, a name server, the subnet's network or broadcast address, or given out by another controller"
                    .to_owned(),
            );
        }
        if self.records.unreadable(slot.address) {
            return Some("its entry in the ledger cannot be read".to_owned());
        }
        if self.world.pools[pool].reserved_for(owner) == Some(slot.address) {
            return None;
        }
        // Pools that are objects may overlap: what one keeps, the others do not give.
        let near = self.world.pools.iter().filter(|p| p.network == slot.network);
        let kept = near.flat_map(|p| &p.reserved).find(|(_, a)| **a == slot.address);
        kept.map(|(name, _)| format!("it is reserved for {name}"))
    }

    /// Is this holder gone, and may this pass act on it?
    fn gone(&self, holder: &Holder) -> bool {
        self.world.gone.contains(&holder.owner) && self.world.scope.serves(&holder.owner)
    }

    /// Why this very address cannot be given to this owner.
    pub(super) fn obstacle(
        &self,
        owner: &Owner,
        slot: &Slot,
        pool: usize,
        decision: &Decision,
    ) -> Option<String> {
        if let Some(why) = self.barred(owner, slot, pool) {
            return Some(why);
        }
        let entry = self.records.at(slot);
        let void = entry.filter(|e| self.records.firmness(e) == Firmness::Void);
        if void.is_some_and(|e| !e.holders.iter().all(|h| self.world.gone.contains(&h.owner))) {
            return Some("an interrupted run had begun to record it; the next reconcile gives it".to_owned());
        }
        // As this pass leaves it: somebody may have got it, or it may have begun to rest.
        let left = decision.leaves(slot, entry);
        let holders = left.map_or(&[][..], |e| &e.holders);
        match left.map(|e| &e.standing) {
            Some(Standing::Cooling { until }) => {
                let stranger = holders.iter().find(|h| !h.owner.same_name(owner));
                if let Some(other) = stranger.filter(|_| *until > self.world.now) {
                    let until = crate::model::timestamp(*until);
                    return Some(format!("{} held it, and it rests until {until}", other.owner));
                }
            }
            _ => {
                if let Some(other) = holders.iter().find(|h| !h.owner.same(owner) && !self.gone(h)) {
                    return Some(format!("{} holds it", other.owner));
                }
            }
        }
        if let Some(other) = self.records.moved_here(slot).filter(|o| !o.same(owner)) {
            return Some(format!("{other} holds it in another network, out of which its pool was moved"));
        }
        // A Node that still shows the address is no obstacle for the machine that it is, or was.
        let own_or_past = entry.is_some_and(|e| e.holders.iter().any(|h| h.owner.same_name(owner)));
        let seen = self.in_use.on(slot).find(|holding| match &holding.holder {
            Some(holder) => !holder.owner.same(owner),
            None => !own_or_past,
        });
        seen.map(|holding| format!("{} uses it", holding.seen_on))
    }
}
