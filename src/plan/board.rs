//! Which addresses of which pool can still be given out.

use crate::addr::{self, SpanSet};
use crate::model::{Pool, Slot};
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
            pool.reserved.values().for_each(|a| set.insert_address(*a));
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

    /// The lowest free address of the first range with room.
    pub(super) fn lowest(&self, pool: usize) -> Option<IpAddr> {
        let blocked = &self.blocked[pool];
        self.pools[pool].ranges.iter().find_map(|range| blocked.lowest_free(*range))
    }
}

/// Addresses of a pool that no host may have: excluded ones, the gateways and name servers of all pools of its
/// network, and the network and broadcast address of the subnet.
pub fn unusable(pool: &Pool, pools: &[Pool]) -> SpanSet {
    let mut set = pool.exclude.clone();
    for near in pools.iter().filter(|p| p.network == pool.network) {
        near.gateway.iter().chain(&near.nameservers).for_each(|a| set.insert_address(*a));
    }
    for range in &pool.ranges {
        for address in addr::unusable_in_subnet(range.first(), pool.prefix) {
            set.insert_address(address);
        }
    }
    set
}
