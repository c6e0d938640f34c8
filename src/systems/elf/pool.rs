//! metal3's `IPPools` as pools: one for each run of parts with the same prefix, gateway and name servers.

use super::index::Index;
use super::{IP_ADDRESS, IP_POOL, NAME, claim};
use crate::addr::{Family, Span, SpanSet, number, parse_address, parse_span, subnet};
use crate::model::{
    Action, Chore, Match, Network, Object, Observed, Order, Owner, Pool, PoolChoice, PoolOrigin, Problem,
    Survey, When, Write,
};
use crate::systems::capi;
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::IpAddr;

const NETWORK: &str = "cluster.x-k8s.io/network-name";

pub(super) fn survey<'a>(object: &'a Object, index: &Index<'a>, survey: &mut Survey) {
    let Parsed { pools, problems } = index.parsed(object);
    survey.pools.extend(pools.iter().cloned());
    let reference = IP_POOL.at(object.namespace(), object.name());
    survey.problems.extend(problems.iter().map(|p| Problem::new("Unreadable", &reference, p)));
    let held = index.serves && object.deleting() && object.held_by(FINALIZER);
    if held && claim::pause_of_pool(object, index).is_none() && !in_use(object, index.observed) {
        let free = Write { target: reference, uid: object.uid().to_owned(), action: Action::Free(FINALIZER) };
        let owner = Owner::of(NAME, IP_POOL, object);
        survey.chores.push(Chore { owner, writes: vec![free], when: When::Before });
    }
}

/// What metal3 puts on every pool; where mipam serves instead, nobody else would take it off again.
pub(super) const FINALIZER: &str = "ippool.ipam.metal3.io";

/// Is there a record of this pool, of either kind?
fn in_use(pool: &Object, observed: &Observed) -> bool {
    records(observed).any(|(of, _, _)| of == (pool.namespace(), pool.name()))
}

/// The records of metal3's pools: of which pool, for which claim, and the address. Cluster API's come last.
pub(super) fn records(observed: &Observed) -> impl Iterator<Item = ((&str, &str), &str, &Value)> {
    let of_metal3 = |r: &&Object| {
        let kind = r.text("/spec/poolRef/kind").unwrap_or_default();
        r.text("/spec/poolRef/apiGroup") == Some(IP_POOL.group)
            && [IP_POOL.kind, IP_POOL.plural].contains(&kind)
    };
    let own = observed.all(IP_ADDRESS).map(|r| (r, "/spec/pool/name", "/spec/claim/name"));
    let capi = observed.all(capi::ADDRESS).filter(of_metal3);
    let capi = capi.map(|r| (r, "/spec/poolRef/name", "/spec/claimRef/name"));
    own.chain(capi).map(|(r, pool, claim)| {
        let text = |at: &str| r.text(at).unwrap_or_default();
        ((r.namespace(), text(pool)), text(claim), r.at("/spec/address").unwrap_or(&Value::Null))
    })
}

/// What an `IPPool` is to the planner.
#[derive(Default)]
pub(in crate::systems) struct Parsed {
    /// The pools, in order.
    pub(in crate::systems) pools: Vec<Pool>,
    /// What is wrong with some parts: the others are used all the same.
    pub(in crate::systems) problems: Vec<String>,
}

impl Parsed {
    /// The choice of one of its pools.
    pub(in crate::systems) fn choice(&self) -> PoolChoice {
        PoolChoice::Named(self.pools.iter().map(|p| p.name.clone()).collect())
    }

    /// The same for a device of a machine, which takes IPv4 only.
    pub(super) fn choice_for_device(&self) -> PoolChoice {
        let v4 = self.pools.iter().filter(|p| p.family == Family::V4);
        PoolChoice::Named(v4.map(|p| p.name.clone()).collect())
    }
}

/// A part of an `IPPool`: where addresses come from, and what goes with them.
struct Part {
    range: Span,
    prefix: u8,
    gateway: Option<IpAddr>,
    nameservers: Vec<IpAddr>,
}

impl Part {
    fn details(&self) -> (Family, u8, Option<IpAddr>, &[IpAddr]) {
        (self.range.family(), self.prefix, self.gateway, &self.nameservers)
    }
}

/// Reads an `IPPool`.
pub(in crate::systems) fn read(object: &Object, ours: bool) -> Parsed {
    let (mut problems, mut taken) = (Vec::new(), SpanSet::default());
    let mut pools: Vec<Pool> = Vec::new();
    for (at, value) in object.array("/spec/pools").iter().enumerate() {
        let part = match part(value, object) {
            Ok(part) => part,
            Err(why) => {
                problems.push(format!("spec.pools[{at}]: {why}; this part is not used"));
                continue;
            }
        };
        if taken.count_in(part.range) > 0 {
            problems.push(format!(
                "spec.pools[{at}]: {} overlaps another part of the pool; this part is not used",
                part.range
            ));
            continue;
        }
        taken.insert(part.range);
        // As metal3 has it, the parts are used up in the order in which they are declared.
        let last = pools.last_mut();
        let alike =
            last.filter(|p| (p.family, p.prefix, p.gateway, p.nameservers.as_slice()) == part.details());
        match alike {
            Some(pool) => pool.ranges.push(part.range),
            None => pools.push(pool(object, part, pools.len(), ours)),
        }
    }
    reserve(object, &mut pools, &mut problems);
    Parsed { pools, problems }
}

fn pool(object: &Object, part: Part, number: usize, ours: bool) -> Pool {
    let name = format!("{}/{}", object.namespace(), object.name());
    let name = if number == 0 { name } else { format!("{name}[{number}]") };
    let network: Network = object.label(NETWORK).unwrap_or_default().into();
    let random = object.text("/spec/allocationStrategy") == Some("random");
    Pool {
        name: name.into(),
        origin: PoolOrigin::Object(NAME),
        network,
        family: part.range.family(),
        ranges: vec![part.range],
        prefix: part.prefix,
        gateway: part.gateway,
        nameservers: part.nameservers,
        search_domains: Vec::new(),
        exclude: SpanSet::default(),
        reserved: BTreeMap::new(),
        reuse_after: 0,
        interfaces: Vec::new(),
        matches: Match::default(),
        order: if random { Order::Spread } else { Order::Lowest },
        edges: false,
        foreign: !ours,
    }
}

/// Keeps what is allocated beforehand for the claim of that name. Addresses are compared as numbers: `fd00::5`
/// and `fd00::0005` are one.
fn reserve(object: &Object, pools: &mut [Pool], problems: &mut Vec<String>) {
    let wanted = object.at("/spec/preAllocations").and_then(Value::as_object);
    let mut given: BTreeMap<IpAddr, &str> = BTreeMap::new();
    for (claim, value) in wanted.into_iter().flatten() {
        let text = value.as_str().unwrap_or_default();
        let address = match parse_address(text) {
            Ok(address) => address,
            Err(why) => {
                problems.push(format!("spec.preAllocations.{claim}: {why}"));
                continue;
            }
        };
        if let Some(other) = given.insert(address, claim) {
            problems.push(format!(
                "spec.preAllocations: {address} is both {other}'s and {claim}'s; the first keeps it"
            ));
            given.insert(address, other);
            continue;
        }
        match pools.iter_mut().find(|p| p.contains(address)) {
            Some(pool) => {
                pool.reserved.insert(format!("{}/{claim}", object.namespace()), address);
            }
            None => {
                problems.push(format!("spec.preAllocations.{claim}: {address} is in no part of the pool"));
            }
        }
    }
}

fn part(value: &Value, object: &Object) -> Result<Part, String> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).filter(|t| !t.is_empty());
    let own = |key: &str| value.get(key).filter(|v| !v.is_null());
    let address = |key: &str| text(key).map(parse_address).transpose().map_err(|e| format!("{key}: {e}"));
    let net = text("subnet").map(parse_span).transpose().map_err(|e| format!("subnet: {e}"))?;
    let (start, end) = (address("start")?, address("end")?);
    let length = text("subnet").and_then(|t| t.split('/').nth(1)).and_then(|l| l.parse::<u64>().ok());
    let prefix = own("prefix").or_else(|| object.at("/spec/prefix")).and_then(Value::as_u64);
    let prefix = prefix.filter(|p| *p > 0).or(length).ok_or("it has no prefix")?;
    let first = match (start, net) {
        (Some(start), _) => start,
        (None, Some(net)) => next(net.first()),
        (None, None) => return Err("it has neither start nor subnet".to_owned()),
    };
    let family = Family::of(first);
    let prefix = u8::try_from(prefix).ok().filter(|p| *p <= family.bits());
    let prefix = prefix.ok_or_else(|| format!("its prefix does not fit {first}"))?;
    // Without an end, a range ends with its subnet, whose last IPv4 address is its broadcast address.
    let last = end.unwrap_or_else(|| {
        let net = net.unwrap_or_else(|| subnet(first, prefix));
        let broadcast = u128::from(family == Family::V4 && net.len().is_some_and(|n| n > 2));
        family.address(number(net.last()) - broadcast)
    });
    if Family::of(last) != family || net.is_some_and(|n| n.family() != family) {
        return Err("it mixes IPv4 and IPv6".to_owned());
    }
    if number(first) > number(last) {
        return Err(format!("it ends with {last}, before it starts with {first}"));
    }
    let range = Span::new(family, number(first), number(last));
    if net.is_some_and(|n| !n.covers(&range)) {
        return Err(format!("{range} is not all in its subnet"));
    }
    let gateway = own("gateway").or_else(|| object.at("/spec/gateway")).and_then(Value::as_str);
    let gateway = gateway.map(parse_address).transpose().map_err(|e| format!("gateway: {e}"))?;
    let servers = own("dnsServers").and_then(Value::as_array).filter(|l| !l.is_empty());
    let servers = servers.map_or_else(|| object.array("/spec/dnsServers"), Vec::as_slice);
    let servers: Result<Vec<IpAddr>, _> =
        servers.iter().filter_map(Value::as_str).map(parse_address).collect();
    let nameservers = servers.map_err(|e| format!("dnsServers: {e}"))?;
    Ok(Part { range, prefix, gateway, nameservers })
}

fn next(address: IpAddr) -> IpAddr {
    let family = Family::of(address);
    family.address(number(address).saturating_add(1).min(family.max()))
}
