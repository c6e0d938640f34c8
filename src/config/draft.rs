//! A pool as it was read, from either form, and the checks that make it a [`Pool`].

use super::findings::{Finding, Findings, Path, Placed};
use super::overlap::Piece;
use super::walk::{Field, Range};
use super::{reserve, schema};
use crate::addr::{self, Family, Span, SpanSet};
use crate::model::{Match, Network, Order, Pool, PoolOrigin, Seconds};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// What the keys are called in the form that the pool was written in, so that hints use the right word.
#[derive(Clone, Copy)]
pub(super) struct Words {
    pub(super) prefix: &'static str,
    pub(super) gateway: &'static str,
}

/// A pool whose values have the right types but may not fit together.
pub(super) struct Draft {
    pub(super) at: Path,
    pub(super) words: Words,
    pub(super) name: String,
    pub(super) origin: PoolOrigin,
    pub(super) network: Network,
    pub(super) ranges: Vec<Range>,
    pub(super) prefix: Field<Placed<u64>>,
    pub(super) gateway: Field<Placed<IpAddr>>,
    pub(super) nameservers: Vec<IpAddr>,
    pub(super) search_domains: Vec<String>,
    pub(super) exclude: Vec<Placed<Span>>,
    pub(super) reserved: Vec<(String, Placed<IpAddr>)>,
    pub(super) reuse_after: Seconds,
    pub(super) interfaces: Vec<String>,
    pub(super) matches: Match,
    /// Something was wrong with it already: what is left of it cannot be judged as a whole.
    pub(super) broken: bool,
}

impl Draft {
    /// A pool with ranges and nothing else.
    pub(super) fn new(at: &Path, words: Words, name: &str) -> Self {
        Self {
            at: at.clone(),
            words,
            name: name.to_owned(),
            origin: PoolOrigin::Config,
            network: "".into(),
            ranges: Vec::new(),
            prefix: Field::Absent,
            gateway: Field::Absent,
            nameservers: Vec::new(),
            search_domains: Vec::new(),
            exclude: Vec::new(),
            reserved: Vec::new(),
            reuse_after: 0,
            interfaces: schema::INTERFACES.map(str::to_owned).to_vec(),
            matches: Match::default(),
            broken: false,
        }
    }

    /// Its ranges, for the comparison with those of other pools.
    pub(super) fn pieces(&self) -> impl Iterator<Item = Piece> + '_ {
        self.ranges.iter().map(|r| Piece {
            network: self.network.clone(),
            pool: self.name.clone(),
            span: r.value.0,
            at: r.at.clone(),
        })
    }

    /// Checks that all values fit together.
    pub(super) fn finish(self, found: &mut Findings) -> Option<Pool> {
        let errors_before = found.errors();
        let family = self.ranges.first()?.value.0.family();
        self.one_family(found, family);
        let prefix = self.prefix_length(found, family)?;
        self.fits(found, prefix);
        let gateway = self.check_gateway(found, family, prefix);
        let (exclude, reserved) = if found.errors() == errors_before && !self.broken {
            reserve::check(found, &self, prefix, gateway)
        } else {
            (SpanSet::default(), BTreeMap::new())
        };
        Some(Pool {
            name: self.name.into(),
            origin: self.origin,
            network: self.network,
            family,
            ranges: self.ranges.iter().map(|r| r.value.0).collect(),
            prefix,
            gateway,
            nameservers: self.nameservers,
            search_domains: self.search_domains,
            exclude,
            reserved,
            reuse_after: self.reuse_after,
            interfaces: self.interfaces,
            matches: self.matches,
            order: Order::Lowest,
            edges: false,
            foreign: false,
        })
    }

    fn one_family(&self, found: &mut Findings, family: Family) {
        let hint = "a pool has one family: make a second pool for the other; a machine then gets an address \
                    from each";
        let other = |span: &Span| span.family() != family;
        let ranges = self.ranges.iter().map(|r| (&r.at, r.value.0, hint));
        let exclude =
            self.exclude.iter().map(|e| (&e.at, e.value, "remove it: this pool never gives it out"));
        let reserved = self.reserved.iter().map(|(_, r)| (&r.at, Span::single(r.value)));
        let reserved = reserved.map(|(at, span)| (at, span, "reserve an address of the pool's ranges"));
        for (at, span, hint) in ranges.chain(exclude).chain(reserved).filter(|(_, span, _)| other(span)) {
            let message = format!("{span} is {} in a pool of {family} addresses", span.family());
            found.error(Finding::new(at, message).hint(hint));
        }
    }

    /// What the config says, or the length of the networks if that is all there is.
    fn prefix_length(&self, found: &mut Findings, family: Family) -> Option<u8> {
        match &self.prefix {
            Field::Bad => None,
            Field::Is(prefix) => {
                let length = u8::try_from(prefix.value).ok().filter(|p| *p <= family.bits());
                if length.is_none() {
                    let message = format!("{} is not a prefix length of {family}", prefix.value);
                    let hint = format!("write a number from 0 to {}", family.bits());
                    found.error(Finding::new(&prefix.at, message).hint(hint));
                }
                length
            }
            Field::Absent => {
                let mut lengths = self.ranges.iter().map(|r| r.value.1);
                let first = lengths.next().flatten();
                if first.is_none() || lengths.any(|l| l != first) {
                    let key = self.words.prefix;
                    let message = format!("{key} is missing, and the ranges do not tell it");
                    let hint = format!("add the prefix length of the machines' subnet, such as `{key}: 24`");
                    found.error(Finding::new(&self.at, message).hint(hint));
                    return None;
                }
                first
            }
        }
    }

    /// A machine gets one prefix: with a range across two subnets some of its addresses could not reach the
    /// others.
    fn fits(&self, found: &mut Findings, prefix: u8) {
        for range in &self.ranges {
            let (span, _) = range.value;
            if addr::subnet(span.first(), prefix.min(span.family().bits())).covers(&span) {
                continue;
            }
            let (first, last) = span.bounds();
            let differ = u8::try_from(128 - (first ^ last).leading_zeros()).unwrap_or(128);
            let longest = span.family().bits().saturating_sub(differ);
            let key = self.words.prefix;
            let message = format!("{span} does not fit into one /{prefix} subnet");
            let hint = format!("write `{key}: {longest}` or less, or split it into a pool for each subnet");
            found.error(Finding::new(&range.at, message).hint(hint));
        }
    }

    fn check_gateway(&self, found: &mut Findings, family: Family, prefix: u8) -> Option<IpAddr> {
        let gateway = match &self.gateway {
            Field::Is(gateway) => gateway,
            Field::Bad => return None,
            Field::Absent => {
                let message = format!("pool {:?} has no {}", self.name, self.words.gateway);
                found
                    .warning(Finding::new(&self.at, format!("{message}: its machines get no default route")));
                return None;
            }
        };
        let (at, address) = (&gateway.at, gateway.value);
        if Family::of(address) != family {
            let message = format!("{address} is {}, but the ranges are {family}", Family::of(address));
            let hint = format!("write the {family} address of the router");
            found.error(Finding::new(at, message).hint(hint));
            return None;
        }
        let outside = self.ranges.iter().find_map(|r| {
            let subnet = addr::subnet(r.value.0.first(), prefix);
            (!subnet.contains(address)).then_some(subnet)
        });
        if let Some(subnet) = outside.filter(|_| !is_link_local(address)) {
            let message = format!("{address} is outside the subnet {subnet} of pool {:?}", self.name);
            let hint = "that works only where the network is set up for it; is the prefix right?";
            found.warning(Finding::new(at, format!("{message}: {hint}")));
        }
        Some(address)
    }
}

/// An IPv6 router is often named by its link-local address, which is in no subnet and on every link.
fn is_link_local(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local())
}
