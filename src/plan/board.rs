//! Which addresses of which pool can still be given out.

use crate::addr::{Span, SpanSet};
use crate::model::{Order, Pool, Slot};
use std::net::IpAddr;

/// For every pool the addresses that nobody may get any more.
pub(super) struct Board<'a> {
    pools: &'a [Pool],
    blocked: Vec<SpanSet>,
}

impl<'a> Board<'a> {
    /// At first: what no host of the pool may have, and what is kept for a name.
    pub(super) fn new(pools: &'a [Pool]) -> Self {
        let blocked = pools.iter().map(|pool| {
            let mut set = unusable(pool, pools);
            let near = pools.iter().filter(|p| p.network == pool.network);
            near.flat_map(|p| p.reserved.values()).for_each(|a| set.insert_address(*a));
            set
        });
        Self { pools, blocked: blocked.collect() }
    }

    /// Nobody else may get it.
    pub(super) fn block(&mut self, slot: &Slot) {
        for (pool, blocked) in self.pools.iter().zip(&mut self.blocked) {
            if pool.network == slot.network && pool.contains(slot.address) {
                blocked.insert_address(slot.address);
            }
        }
    }

    /// Takes back a [`Board::block`] of an address that was free before; where pools overlap, not in all of them.
    pub(super) fn unblock(&mut self, slot: &Slot, unusable: &[SpanSet]) {
        for ((pool, blocked), never) in self.pools.iter().zip(&mut self.blocked).zip(unusable) {
            if pool.network == slot.network && pool.contains(slot.address) && !never.contains(slot.address) {
                blocked.remove_address(slot.address);
            }
        }
    }

    /// Blocks an address whose network is not known in every network.
    pub(super) fn block_everywhere(&mut self, address: IpAddr) {
        for (pool, blocked) in self.pools.iter().zip(&mut self.blocked) {
            if pool.contains(address) {
                blocked.insert_address(address);
            }
        }
    }

    /// The free address that comes next; `seed` decides where in a range a pool that spreads them begins to look.
    pub(super) fn next(&self, pool: usize, seed: impl Fn() -> u64) -> Option<IpAddr> {
        let (blocked, pool) = (&self.blocked[pool], &self.pools[pool]);
        pool.ranges.iter().find_map(|range| match pool.order {
            Order::Lowest => blocked.lowest_free(*range),
            Order::Spread => {
                let (before, after) = split(range, seed());
                blocked.lowest_free(after).or_else(|| blocked.lowest_free(before?))
            }
        })
    }
}

/// What is before and after a place in a range that the seed decides.
fn split(range: &Span, seed: u64) -> (Option<Span>, Span) {
    let size = range.len().unwrap_or(u128::MAX);
    // The seed twice, so that ranges beyond 2^64 are used as a whole, too.
    let at = (u128::from(seed) << 64 | u128::from(seed.rotate_left(32))) % size;
    let (first, last) = range.bounds();
    let before = at.checked_sub(1).map(|end| Span::new(range.family(), first, first + end));
    (before, Span::new(range.family(), first + at, last))
}

/// Addresses of a pool that no host may have: excluded ones, the gateways and name servers of all pools of its
/// network, the network and broadcast address of the subnet, and what another controller gives out.
pub fn unusable(pool: &Pool, pools: &[Pool]) -> SpanSet {
    let mut set = pool.exclude.clone();
    for near in pools.iter().filter(|p| p.network == pool.network) {
        near.gateway.iter().chain(&near.nameservers).for_each(|a| set.insert_address(*a));
        // Whoever gives these out does not know what mipam gives.
        if near.foreign && !pool.foreign {
            near.ranges.iter().for_each(|r| set.insert(*r));
        }
    }
    pool.unusable_edges().for_each(|a| set.insert_address(a));
    set
}
