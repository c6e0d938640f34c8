//! Pools that claims name: what they are to the planner, and what keeps them while they are in use.

use super::index::Index;
use super::{CONFIG_POOL, METAL3_POOL, NAME, OPENSHIFT_POOL};
use crate::addr::{Family, ParseError, Span, SpanSet, parse_address, parse_span, subnet};
use crate::model::{
    Action, Chore, Edit, Kind, Match, Object, ObjectRef, Order, Owner, Pool, PoolOrigin, Problem, Seconds,
    Survey, When, Write,
};
use crate::systems::paused;
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// What the in-cluster provider puts on a pool that is in use.
pub(super) const FINALIZER: &str = "ipam.cluster.x-k8s.io/ProtectPool";

/// A hundred years, as for pools of the configuration.
const LONGEST_REST: Seconds = 36_500 * 86_400;

const NETWORK: &str = "cluster.x-k8s.io/network-name";

/// What a pool object is to the planner.
pub(super) struct Parsed {
    /// The pool; of one that others serve, whatever ranges can be read: none of them is given out.
    pub(super) pool: Option<Pool>,
    /// Why it is not used.
    pub(super) problem: Option<String>,
}

/// As people and reports call it.
pub(super) fn name(target: &ObjectRef) -> String {
    match target.kind {
        k if k == OPENSHIFT_POOL || k == METAL3_POOL => {
            format!("{}.{}/{}/{}", k.kind, k.group, target.namespace, target.name)
        }
        k if k == CONFIG_POOL => target.name.clone(),
        _ => target.to_string(),
    }
}

pub(super) fn survey(kind: Kind, object: &Object, index: &Index<'_>, survey: &mut Survey) {
    let target = kind.at(object.namespace(), object.name());
    let Some(Parsed { pool, problem }) = index.parsed(&target) else { return };
    survey.pools.extend(pool.clone());
    if !index.serving.serves(kind) {
        return;
    }
    survey.problems.extend(problem.as_ref().map(|why| {
        Problem::new(
            "Unreadable",
            &target,
            format!("{why}; nothing is given from this pool until it is mended"),
        )
    }));
    if paused(object).is_some() {
        return;
    }
    let owner = Owner::of(NAME, kind, object);
    let wanted = index.in_use(&target) || (problem.is_none() && index.claimed(&target));
    let write = if object.deleting() {
        (!index.in_use(&target)).then(|| free(kind, object))
    } else {
        wanted.then(|| hold(kind, object))
    };
    let due = write.filter(|_| object.deleting() == object.held_by(FINALIZER));
    survey.chores.extend(due.map(|write| Chore { owner, writes: vec![write], when: When::Before }));
}

/// Keeps a pool that is in use.
pub(super) fn hold(kind: Kind, object: &Object) -> Write {
    Write {
        target: kind.at(object.namespace(), object.name()),
        uid: object.uid().to_owned(),
        action: Action::Update(Edit::hold(FINALIZER, |object| paused(object).is_some())),
    }
}

fn free(kind: Kind, object: &Object) -> Write {
    let target = kind.at(object.namespace(), object.name());
    Write { target, uid: object.uid().to_owned(), action: Action::Free(FINALIZER) }
}

/// Reads a pool object.
pub(super) fn read(target: &ObjectRef, object: &Object, ours: bool) -> Parsed {
    let (texts, servers): (Vec<&Value>, &[Value]) = if target.kind == OPENSHIFT_POOL {
        (object.at("/spec/address-cidr").into_iter().collect(), object.array("/spec/nameserver"))
    } else {
        (object.array("/spec/addresses").iter().collect(), &[])
    };
    let (ranges, unread) = spans(&texts);
    let settings = unread.map_or_else(|| Settings::read(object, &ranges, servers), Err);
    let problem = settings.as_ref().err().cloned();
    // Of a pool that others serve all that can be read is kept, whatever mipam makes of the rest.
    let settings = settings.ok().or_else(|| (!ours).then(Settings::default));
    let family = ranges.first().map(Span::family);
    let pool = settings.zip(family).map(|(settings, family)| Pool {
        name: name(target).into(),
        origin: PoolOrigin::Object(NAME),
        network: object.label(NETWORK).unwrap_or_default().into(),
        family,
        ranges: ranges.into_iter().filter(|r| r.family() == family).collect(),
        prefix: settings.prefix,
        gateway: settings.gateway,
        nameservers: settings.nameservers,
        search_domains: Vec::new(),
        exclude: settings.exclude,
        reserved: BTreeMap::new(),
        reuse_after: rest(object),
        interfaces: Vec::new(),
        matches: Match::default(),
        order: Order::Lowest,
        edges: object.at("/spec/allocateReservedIPAddresses").and_then(Value::as_bool) == Some(true),
        foreign: !ours,
    });
    Parsed { pool, problem }
}

/// How long freed addresses rest. Objects may say more than any clock shows: the end has to be a time.
fn rest(object: &Object) -> Seconds {
    let seconds = object.at("/spec/addressReuseGracePeriodSeconds").and_then(Value::as_i64);
    seconds.unwrap_or(0).clamp(0, LONGEST_REST)
}

/// What goes with the addresses of a pool.
#[derive(Clone, Default)]
struct Settings {
    prefix: u8,
    gateway: Option<IpAddr>,
    nameservers: Vec<IpAddr>,
    exclude: SpanSet,
}

impl Settings {
    fn read(object: &Object, ranges: &[Span], servers: &[Value]) -> Result<Self, String> {
        let first = ranges.first().ok_or("it has no addresses")?;
        let family = first.family();
        if let Some(other) = ranges.iter().find(|r| r.family() != family) {
            return Err(format!("{first} is {family}, and {other} is not"));
        }
        let prefix = object.at("/spec/prefix").and_then(Value::as_u64).ok_or("it has no prefix")?;
        let prefix = u8::try_from(prefix).ok().filter(|p| *p <= family.bits());
        let prefix = prefix.ok_or_else(|| format!("its prefix does not fit {family}"))?;
        let net = subnet(first.first(), prefix);
        if let Some(outside) = ranges.iter().find(|r| !net.covers(r)) {
            return Err(format!("{outside} is not all in {net}, the subnet of its first address"));
        }
        let gateway = object.text("/spec/gateway").filter(|g| !g.is_empty());
        let gateway = gateway.map(parse_address).transpose().map_err(|e| format!("gateway: {e}"))?;
        if let Some(gateway) = gateway.filter(|g| Family::of(*g) != family) {
            return Err(format!("its gateway {gateway} is not {family}"));
        }
        let nameservers: Result<_, _> =
            servers.iter().map(|s| parse_address(s.as_str().unwrap_or_default())).collect();
        let nameservers = nameservers.map_err(|e| format!("nameserver: {e}"))?;
        let (exclude, unread) = spans(&object.array("/spec/excludedAddresses").iter().collect::<Vec<_>>());
        if let Some(why) = unread {
            return Err(format!("excludedAddresses: {why}"));
        }
        Ok(Self { prefix, gateway, nameservers, exclude: exclude.into_iter().collect() })
    }
}

/// Ranges in order, each address once, and the first text that is none.
fn spans(texts: &[&Value]) -> (Vec<Span>, Option<String>) {
    let (mut ranges, mut unread): (Vec<Span>, _) = (Vec::new(), None);
    for text in texts {
        match text.as_str().map_or_else(|| Err(format!("{text} is no text")), span) {
            Ok(span) => {
                let mut fresh: SpanSet = [span].into_iter().collect();
                ranges.iter().for_each(|known| fresh.remove(*known));
                ranges.extend(fresh.spans());
            }
            Err(why) => drop(unread.get_or_insert(why)),
        }
    }
    (ranges, unread)
}

/// One entry of a list of addresses. The provider that these lists were made for takes any address of a network for
/// the network.
fn span(text: &str) -> Result<Span, String> {
    match parse_span(text) {
        Err(ParseError::HostBits { right, .. }) => parse_span(&right),
        other => other,
    }
    .map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{parse_timestamp, timestamp};
    use serde_json::json;

    #[test]
    fn addresses_rest_for_a_time_that_ends() {
        let rests =
            |seconds: Value| rest(&Object(json!({ "spec": { "addressReuseGracePeriodSeconds": seconds } })));
        assert_eq!(rests(json!(3600)), 3600);
        for (absurd, rest) in
            [(json!(i64::MAX), LONGEST_REST), (json!(-5), 0), (json!("1h"), 0), (json!(null), 0)]
        {
            assert_eq!(rests(absurd.clone()), rest, "{absurd}");
            assert!(parse_timestamp(&timestamp(4_000_000_000 + rest)).is_some(), "{absurd}");
        }
    }
}
