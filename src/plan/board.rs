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

    /// Takes back a [`Board::block`] of an address that was free before.
    pub(super) fn unblock(&mut self, slot: &Slot) {
        for (pool, blocked) in self.pools.iter().zip(&mut self.blocked) {
            if pool.network == slot.network && pool.contains(slot.address) {
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

    /// The free address that comes next; `seed` decides where a pool that spreads them begins to look.
    pub(super) fn next(&self, pool: usize, seed: impl Fn() -> u64) -> Option<IpAddr> {
        let (blocked, ranges) = (&self.blocked[pool], &self.pools[pool].ranges);
        let lowest = |ranges: &[Span]| ranges.iter().find_map(|range| blocked.lowest_free(*range));
        match self.pools[pool].order {
            Order::Lowest => lowest(ranges),
            Order::Spread => {
                let (before, after) = split(ranges, seed());
                lowest(&after).or_else(|| lowest(&before))
            }
        }
    }
}

/// The ranges before and after a place that the seed decides.
fn split(ranges: &[Span], seed: u64) -> (Vec<Span>, Vec<Span>) {
    let size = |span: &Span| span.len().unwrap_or(u128::MAX);
    let total = ranges.iter().fold(0u128, |sum, s| sum.saturating_add(size(s)));
    // The seed twice, so that pools beyond 2^64 are used as a whole, too.
    let mut left = (u128::from(seed) << 64 | u128::from(seed.rotate_left(32))) % total.max(1);
    for (at, span) in ranges.iter().enumerate() {
        if left < size(span) {
            let (first, last) = span.bounds();
            let middle = Span::new(span.family(), first + left, last);
            let mut before = ranges[..at].to_vec();
            if left > 0 {
                before.push(Span::new(span.family(), first, first + left - 1));
            }
            let after = std::iter::once(middle).chain(ranges[at + 1..].iter().copied());
            return (before, after.collect());
        }
        left -= size(span);
    }
    (Vec::new(), ranges.to_vec())
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
