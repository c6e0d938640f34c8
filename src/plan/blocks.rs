//! Blocks for those that want whole ones: the lowest free block of each family of the first pool that has all of
//! them. Blocks never overlap, whatever their pools and sizes. The ledger has a block only until its owner shows
//! it, so what owners show counts as much as what is recorded.

use super::choose::Met;
use super::{Decision, Unmet, World};
use crate::addr::{Family, Span, SpanSet};
use crate::ledger::Change;
use crate::model::{
    Allocation, BlockFigures, BlockPart, BlockPool, Claim, Given, Holder, Owner, PoolChoice, PoolLine,
    Problem, Reason, Slot, Standing, Taken, TakenBy, Wish,
};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

/// Bytes that entries may take before more of them wait; an object of Kubernetes may have a mebibyte.
const LARGEST: usize = 800_000;

/// What an entry takes beside its names.
const ENTRY: usize = 260;

/// Gives out the blocks that are left.
pub(super) struct Blocks<'a> {
    world: World<'a>,
    pools: BTreeMap<&'a str, usize>,
    taken: SpanSet,
    /// For each part of each pool: below this there is no free block; `None`: there is none at all.
    free_from: Vec<Vec<Option<u128>>>,
    /// What the ledger has for owners that do not show it yet.
    held: BTreeMap<&'a Owner, Vec<&'a Allocation>>,
    /// Owners of whose blocks somebody else came to have one before it was written to them.
    lost: BTreeSet<&'a Owner>,
    /// What the ledger has and need not have: its owner shows it.
    shown: Vec<Slot>,
    /// Entries of the ledger whose owners do not show them yet, those of this pass included, and their bytes.
    outstanding: usize,
    bytes: usize,
    changed: bool,
}

impl<'a> Blocks<'a> {
    /// Counts all that is taken, and takes out of the ledger what its owner cannot get any more.
    pub(super) fn new(world: World<'a>, decision: &mut Decision) -> Self {
        let mut blocks = Self {
            world,
            pools: world.block_pools.iter().enumerate().map(|(at, p)| (&*p.name, at)).collect(),
            taken: world.taken.iter().map(|t| t.span).collect(),
            free_from: world.block_pools.iter().map(|p| vec![Some(0); p.parts.len()]).collect(),
            held: BTreeMap::new(),
            lost: BTreeSet::new(),
            shown: Vec::new(),
            outstanding: 0,
            bytes: 0,
            changed: false,
        };
        let unreadable = world.ledger.unreadable().iter();
        unreadable.filter_map(|u| u.block).for_each(|b| blocks.taken.insert(b));
        decision.problems.extend(overlaps(world.taken));
        let mut carried: BTreeMap<&Owner, Vec<Span>> = BTreeMap::new();
        for (owner, span) in world.taken.iter().filter_map(|t| Some((t.owner()?, t.span))) {
            carried.entry(owner).or_default().push(span);
        }
        for allocation in world.ledger.blocks() {
            let carried = allocation.holders.first().and_then(|h| carried.get(&*h.owner));
            blocks.enter(allocation, carried.map(Vec::as_slice), decision);
        }
        blocks
    }

    fn enter(&mut self, allocation: &'a Allocation, carried: Option<&[Span]>, decision: &mut Decision) {
        let (slot, span) = (&allocation.slot, allocation.slot.span());
        let Some(owner) = allocation.holders.first().map(|h| &h.owner) else { return };
        if !self.world.scope.serves(owner) {
            self.taken.insert(span);
            return;
        }
        let gone = self.world.gone.contains(owner);
        let overlaps = self.taken.count_in(span) > 0;
        match carried {
            _ if gone => decision.released.push(allocation.clone()),
            Some(spans) if spans.contains(&span) => {
                self.shown.push(slot.clone());
                return;
            }
            // It has others, and what it has never changes: this one can never be written to it.
            Some(_) => {}
            // Somebody else came to have it before it was written: it gets another one.
            None if overlaps => drop(self.lost.insert(owner)),
            None => {
                self.taken.insert(span);
                self.held.entry(owner).or_default().push(allocation);
                self.count(allocation);
                return;
            }
        }
        decision.changes.insert(slot.clone(), Change::Remove);
        self.changed = true;
    }

    fn count(&mut self, allocation: &Allocation) {
        self.outstanding += 1;
        self.bytes += size(allocation);
    }

    /// Meets a claim for blocks, or says why not.
    pub(super) fn choose(&mut self, claim: &Claim, decision: &mut Decision) -> Result<Met, Unmet> {
        if let Some(held) = self.held.get(&*claim.owner).cloned() {
            if self.lost.contains(&*claim.owner) {
                return self.complete(claim, &held, decision);
            }
            return Ok(met(held.into_iter()));
        }
        if self.world.at_once.is_some_and(|most| self.outstanding >= most || self.bytes >= LARGEST) {
            decision.unsettled = true;
            return Err(Unmet {
                device: String::new(),
                pool: String::new(),
                reason: Reason::Unreconciled,
                message: "the ledger takes only so many blocks at once: run reconcile again".to_owned(),
            });
        }
        let mut new: Vec<Allocation> = Vec::new();
        for wish in &claim.wishes {
            let PoolChoice::Blocks(names) = &wish.pools else { continue };
            let Some(found) = names.iter().find_map(|name| self.find(name, wish.asks, |_| true)) else {
                new.iter().for_each(|a| self.taken.remove(a.slot.span()));
                return Err(self.unmet(wish, names));
            };
            new.extend(self.take(claim, &wish.device, found));
        }
        let met = met(new.iter());
        self.record(new, decision);
        Ok(met)
    }

    /// Adds to what an owner holds what it has lost, of the same pool: both families or none. What it holds stays its
    /// own, as whoever recorded it may be about to write it.
    fn complete(
        &mut self,
        claim: &Claim,
        held: &[&Allocation],
        decision: &mut Decision,
    ) -> Result<Met, Unmet> {
        let [first, ..] = held else { return Ok(met(held.iter().copied())) };
        let missing = |part: &BlockPart| held.iter().all(|a| Family::of(a.slot.address) != part.family());
        let device = first.holders.first().map_or_else(|| "".into(), |h| h.device.clone());
        let Some(found) = self.find(&first.pool, None, missing) else {
            let span = first.slot.span();
            let message = format!(
                "{span} of {} is kept for it, and the block beside that went to another Node: there is no other one left",
                first.pool
            );
            let (device, pool) = (device.to_string(), first.pool.to_string());
            return Err(Unmet { device, pool, reason: Reason::PoolExhausted, message });
        };
        let new = self.take(claim, &device, found);
        let mut all: Vec<&Allocation> = held.iter().copied().chain(&new).collect();
        all.sort_by(|a, b| a.slot.cmp(&b.slot));
        let met = met(all.into_iter());
        self.record(new, decision);
        Ok(met)
    }

    /// These blocks, from now on taken, as the ledger will have them.
    fn take(&mut self, claim: &Claim, device: &Arc<str>, found: Vec<(Arc<str>, Slot)>) -> Vec<Allocation> {
        let taken = found.into_iter().map(|(pool, slot)| {
            self.taken.insert(slot.span());
            let holders = vec![Holder { owner: claim.owner.clone(), device: device.clone() }];
            let (since, standing) = (self.world.now, Standing::Bound);
            Allocation { slot, holders, pool, since, adopted: false, standing }
        });
        taken.collect()
    }

    fn record(&mut self, new: Vec<Allocation>, decision: &mut Decision) {
        new.iter().for_each(|a| self.count(a));
        self.changed = true;
        decision.changes.extend(new.into_iter().map(|a| (a.slot.clone(), Change::Put(a))));
    }

    /// The lowest free block of each wanted family of a pool, if it has them all.
    fn find(
        &mut self,
        name: &str,
        asks: Option<IpAddr>,
        wanted: impl Fn(&BlockPart) -> bool,
    ) -> Option<Vec<(Arc<str>, Slot)>> {
        let at = *self.pools.get(name)?;
        let pool = &self.world.block_pools[at];
        if pool.closed {
            return None;
        }
        let mut found = Vec::new();
        for (part, free_from) in pool.parts.iter().zip(&mut self.free_from[at]).filter(|(p, _)| wanted(p)) {
            let host_bits = part.host_bits();
            let asked = asks.filter(|a| Family::of(*a) == part.family()).map(crate::addr::number);
            let lowest = self.taken.lowest_free_block(part.range, host_bits, asked.unwrap_or((*free_from)?));
            if let Some(asked) = asked {
                if lowest != Some(asked) {
                    return None;
                }
            } else {
                *free_from = lowest;
            }
            found.push((pool.name.clone(), Slot::block(part.family().address(lowest?), part.prefix)));
        }
        Some(found)
    }

    fn unmet(&self, wish: &Wish, names: &[Arc<str>]) -> Unmet {
        let open = |name: &&Arc<str>| self.pool(name).is_some_and(|p| !p.closed);
        let open: Vec<&str> = names.iter().filter(open).map(|n| &**n).collect();
        let (reason, message) = match wish.asks {
            Some(asked) => {
                let message = format!("no free block of {} begins at {asked}", open.join(" or "));
                (Reason::AddressUnavailable, message)
            }
            None if open.is_empty() => {
                (Reason::NoMatchingPool, "no ClusterCIDR is for a Node with these labels".to_owned())
            }
            None => (Reason::PoolExhausted, format!("no block is left in {}", open.join(", "))),
        };
        let (device, pool) = (wish.device.to_string(), open.first().copied().unwrap_or_default().to_owned());
        Unmet { device, pool, reason, message }
    }

    fn pool(&self, name: &str) -> Option<&'a BlockPool> {
        self.pools.get(name).map(|at| &self.world.block_pools[*at])
    }

    /// What owners show by now goes out of the ledger if that is written anyway.
    pub(super) fn finish(self, decision: &mut Decision) {
        if self.changed {
            decision.changes.extend(self.shown.into_iter().map(|slot| (slot, Change::Remove)));
        }
    }
}

/// About what an entry takes in its object.
fn size(allocation: &Allocation) -> usize {
    let names: usize = allocation.holders.iter().map(|h| h.owner.name.len()).sum();
    ENTRY + names + allocation.pool.len()
}

fn met<'s>(blocks: impl Iterator<Item = &'s Allocation> + Clone) -> Met {
    let given = blocks.clone().map(|a| Given {
        device: a.holders.first().map_or_else(|| "".into(), |h| h.device.clone()),
        address: a.slot.address,
        pool: a.pool.clone(),
        block: a.slot.block,
    });
    (given.collect(), blocks.map(|a| a.slot.clone()).collect())
}

/// Blocks of two owners that have addresses in common.
fn overlaps(taken: &[Taken]) -> Vec<Problem> {
    let mut blocks: Vec<(Span, &Arc<Owner>)> =
        taken.iter().filter_map(|t| Some((t.span, t.owner()?))).collect();
    blocks.sort();
    let mut problems = Vec::new();
    // The block so far that reaches farthest.
    let mut widest: Option<(Span, &Arc<Owner>)> = None;
    for (span, owner) in blocks {
        if let Some((other, first)) =
            widest.filter(|(other, first)| other.overlaps(&span) && **first != *owner)
        {
            let message = format!(
                "its block {span} overlaps {other} of {first}: nothing is moved; replace one of the two",
            );
            problems.push(Problem::new("Duplicate", owner, message));
        }
        if widest
            .is_none_or(|(other, _)| other.family() != span.family() || other.bounds().1 < span.bounds().1)
        {
            widest = Some((span, owner));
        }
    }
    problems
}

/// How full block pools are, after these changes to the ledger: a line for each family.
pub(super) fn usage(world: World<'_>, changes: &BTreeMap<Slot, Change>) -> Vec<PoolLine> {
    let mut taken: SpanSet = world.taken.iter().map(|t| t.span).collect();
    let kept = world.ledger.blocks().map(|a| &a.slot).filter(|s| changes.get(*s) != Some(&Change::Remove));
    let new =
        changes.iter().filter(|(s, c)| s.block.is_some() && matches!(c, Change::Put(_))).map(|(s, _)| s);
    kept.chain(new).for_each(|slot| taken.insert(slot.span()));
    world.ledger.unreadable().iter().filter_map(|u| u.block).for_each(|b| taken.insert(b));
    let parts = world.block_pools.iter().flat_map(|pool| pool.parts.iter().map(move |part| (pool, part)));
    let line = |(pool, part): (&BlockPool, &BlockPart)| {
        let total = part.total();
        let (used, fragmented) = taken.blocks_in(part.range, part.host_bits());
        PoolLine {
            name: pool.name.to_string(),
            system: pool.system.to_owned(),
            total,
            used,
            free: if pool.closed { 0 } else { total.saturating_sub(used) },
            cooling: 0,
            reserved: 0,
            ranges: vec![part.range.to_string()],
            network: String::new(),
            blocks: Some(BlockFigures { family: part.family().to_string(), prefix: part.prefix, fragmented }),
        }
    };
    parts.map(line).collect()
}

/// What `status` says of blocks beside the problems of a decision.
pub(super) fn audit(world: World<'_>) -> Vec<Problem> {
    let parts: Vec<&BlockPart> = world.block_pools.iter().flat_map(|p| &p.parts).collect();
    let kept = world.taken.iter().filter_map(|t| match &t.by {
        TakenBy::Kept(what, said) => Some((t.span, what, said)),
        TakenBy::Owner(_) => None,
    });
    let kept: Vec<_> = kept.collect();
    let mut problems = Vec::new();
    for (owner, span) in world.taken.iter().filter_map(|t| Some((t.owner()?, t.span))) {
        if !parts.iter().any(|p| p.range.covers(&span)) {
            let message = format!(
                "its block {span} lies in no ClusterCIDR: it is kept, and nothing that overlaps it is given out"
            );
            problems.push(Problem::new("Foreign", owner, message));
        }
        for (_, what, said) in kept.iter().filter(|(kept, _, _)| kept.overlaps(&span)) {
            let said = said.as_ref().map(|s| format!(" of {s}")).unwrap_or_default();
            let message = format!("its block {span} overlaps {what}{said}: replace the Node");
            problems.push(Problem::new("InUse", owner, message));
        }
    }
    let gone = world.ledger.blocks().filter_map(|a| Some((a.holders.first()?, a)));
    for (holder, allocation) in gone.filter(|(h, _)| world.gone.contains(&h.owner)) {
        let message = format!(
            "the ledger has {} for it, and it does not exist any more: the next reconcile frees it",
            allocation.slot.span()
        );
        problems.push(Problem::new("OwnerGone", &holder.owner, message).at(&allocation.slot));
    }
    problems
}
