//! What a run may give out, from its configuration and from what was in use when it began.

use mipam::config::Config;
use mipam::model::Pool;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

#[derive(Clone)]
pub struct Rules {
    config: Arc<Config>,
    /// What has been there since this version of the world, the run has seen.
    pub fresh_since: u64,
    /// The clock of the run.
    pub now: i64,
    /// A person has taken the risk.
    pub forced: bool,
    /// mipam goes for good: nothing is to wait for it any more.
    pub leaving: bool,
}

impl Rules {
    /// The rules of a run that begins now.
    pub fn begin(config: &Arc<Config>, version: u64, now: i64) -> Self {
        Self { config: config.clone(), fresh_since: version, now, forced: false, leaving: false }
    }

    /// The run was shown something old: what it cannot have seen does not count.
    pub fn shown_stale(&mut self) {
        self.fresh_since = 0;
    }

    pub fn networks(&self) -> usize {
        self.config.pools.iter().map(|p| &p.network).collect::<BTreeSet<_>>().len()
    }

    /// Has a pool of this network the address?
    pub fn offers(&self, address: IpAddr, network: &str) -> bool {
        self.config.pools.iter().any(|p| *p.network == *network && within(p, address))
    }

    /// S2: a host of this name may have the address.
    pub fn allows(&self, address: IpAddr, network: &str, name: &str) {
        if self.config.pools.is_empty() {
            // The pools are objects, and what they give is compared with what is expected of the scenario.
            return;
        }
        let bad = |why: &str| panic!("S2: {address} was given to {name}: {why}");
        let near = || self.config.pools.iter().filter(|p| *p.network == *network);
        let Some(pool) = near().find(|p| within(p, address)) else { return bad("it is in no pool") };
        if near().any(|p| p.gateway == Some(address) || p.nameservers.contains(&address)) {
            bad("it is a gateway or name server");
        }
        if pool.exclude.contains(address) {
            bad("it is excluded");
        }
        if edge(address, pool.prefix) {
            bad("it is an edge of the subnet");
        }
        let kept = pool.reserved.iter().find(|(_, kept)| **kept == address);
        if kept.is_some_and(|(for_name, _)| for_name.rsplit('/').next() != Some(name)) {
            bad("it is reserved for another");
        }
    }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_bits().into(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

pub fn within(pool: &Pool, address: IpAddr) -> bool {
    pool.ranges.iter().any(|r| {
        let (first, last) = r.bounds();
        r.first().is_ipv4() == address.is_ipv4() && (first..=last).contains(&number(address))
    })
}

/// The network and broadcast address of an IPv4 subnet; the first address of an IPv6 one.
fn edge(address: IpAddr, prefix: u8) -> bool {
    let width = if address.is_ipv4() { 32 } else { 128 };
    let host = u32::from(width - prefix);
    if host < 2 {
        return false;
    }
    let mask = u128::MAX >> (128 - host);
    let part = number(address) & mask;
    part == 0 || (address.is_ipv4() && part == mask)
}
