//! A pool: where addresses come from and what goes with them.

use super::Owner;
use crate::addr::{Family, Span, SpanSet, unusable_in_subnet};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

/// The scope in which an address is unique; the default network has the empty name.
pub type Network = Arc<str>;

/// Interface names by device, unless a pool says otherwise: what vSphere's first four network cards get.
pub const DEFAULT_INTERFACES: [&str; 4] = ["ens192", "ens224", "ens256", "ens161"];

/// Ranges with the prefix, gateway and name servers that belong to them. All of one family.
#[derive(Clone, Debug)]
pub struct Pool {
    /// Its name, unique among the pools of a pass.
    pub name: Arc<str>,
    /// Where it is defined.
    pub origin: PoolOrigin,
    /// The uniqueness scope.
    pub network: Network,
    /// The family of every range.
    pub family: Family,
    /// The ranges in the order in which they are used; they do not overlap.
    pub ranges: Vec<Span>,
    /// Prefix length of the subnet, as machines get it.
    pub prefix: u8,
    /// Default gateway for machines of this pool.
    pub gateway: Option<IpAddr>,
    /// DNS servers, in order; they may be of either family.
    pub nameservers: Vec<IpAddr>,
    /// DNS search domains.
    pub search_domains: Vec<String>,
    /// Never given out.
    pub exclude: SpanSet,
    /// Owner name (or `namespace/name`) to the address kept for it.
    pub reserved: BTreeMap<String, IpAddr>,
    /// How long a freed address rests, in seconds.
    pub reuse_after: i64,
    /// Interface names by device.
    pub interfaces: Vec<String>,
    /// Who may use it.
    pub matches: Match,
    /// Which of its free addresses comes next.
    pub order: Order,
    /// The network and broadcast addresses of its subnet may be given out, too: whoever made it says so.
    pub edges: bool,
    /// Another controller gives its addresses out: mipam gives none of them, from whatever pool.
    pub foreign: bool,
}

/// Which free address of a pool comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The lowest of the first range with room.
    #[default]
    Lowest,
    /// Of the first range with room one that only the claim decides.
    Spread,
}

/// Where a pool is defined.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PoolOrigin {
    /// In `ipam-config.yaml`.
    Config,
    /// On the command line.
    Flag,
    /// In a pool object of that system.
    Object(&'static str),
}

impl PoolOrigin {
    /// The word for the `system` column of `status`.
    pub fn system(&self) -> &'static str {
        match self {
            Self::Config | Self::Flag => "config",
            Self::Object(system) => system,
        }
    }
}

/// Which claims a pool serves; empty lists and maps match all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Match {
    /// System names.
    pub systems: Vec<String>,
    /// Namespaces of the owner.
    pub namespaces: Vec<String>,
    /// Network names of the device (`networkName`, port group, …).
    pub networks: Vec<String>,
    /// Labels that the owner must carry.
    pub labels: BTreeMap<String, String>,
}

impl Pool {
    /// Does one of the ranges hold this address?
    pub fn contains(&self, address: IpAddr) -> bool {
        self.ranges.iter().any(|r| r.contains(address))
    }

    /// Is it called so? An object with several parts has a pool for each, and the name of the object means all.
    pub fn is_of(&self, name: &str) -> bool {
        self.name.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
    }

    /// The network and broadcast addresses of its subnet, where no host may have them.
    pub fn unusable_edges(&self) -> impl Iterator<Item = IpAddr> {
        let ranges = self.ranges.iter().filter(|_| !self.edges);
        ranges.flat_map(|range| unusable_in_subnet(range.first(), self.prefix))
    }

    /// The address kept for an owner of this name; a hold is no owner of that kind, whatever its name.
    pub fn reserved_for(&self, owner: &Owner) -> Option<IpAddr> {
        if self.reserved.is_empty() || owner.is_hold() {
            return None;
        }
        let full = format!("{}/{}", owner.namespace, owner.name);
        self.reserved.get(&full).or_else(|| self.reserved.get(&*owner.name)).copied()
    }

    /// The interface name of a device by its position; `None` past the end of the list.
    pub fn interface(&self, device: usize) -> Option<&str> {
        self.interfaces.get(device).map(String::as_str)
    }
}
