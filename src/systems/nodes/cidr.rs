//! ClusterCIDRs: what blocks they have, which Nodes they are for, and which of them comes first.

use super::selector::Selector;
use super::{CLUSTER_CIDR, NAME};
use crate::addr::{Family, Span, parse_span};
use crate::model::{BlockPart, BlockPool, Object};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The smallest block that makes sense: Kubernetes has no smaller one for a Node either.
const FEWEST_HOST_BITS: u64 = 4;

/// A ClusterCIDR that can be used.
pub(super) struct ClusterCidr {
    pub(super) pool: BlockPool,
    selector: Selector,
    /// The place in the order that does not depend on the Node.
    rank: Rank,
}

/// Fewer blocks first, then smaller ones, then the lower selector, CIDR and name.
type Rank = (u128, u8, String, String, Arc<str>);

impl ClusterCidr {
    /// Reads one; an error says what is wrong with it.
    pub(super) fn read(object: &Object) -> Result<Self, String> {
        let host_bits = object.at("/spec/perNodeHostBits").and_then(Value::as_u64);
        let host_bits = host_bits.ok_or("it has no perNodeHostBits")?;
        if host_bits < FEWEST_HOST_BITS {
            return Err(format!(
                "perNodeHostBits is {host_bits}, and at least {FEWEST_HOST_BITS} are needed"
            ));
        }
        let mut parts = Vec::new();
        let mut texts = Vec::new();
        for (key, family) in [("ipv4", Family::V4), ("ipv6", Family::V6)] {
            let Some(text) = object.at("/spec").and_then(|s| s.get(key)?.as_str()).filter(|t| !t.is_empty())
            else {
                continue;
            };
            let part = part(text, family, host_bits).map_err(|why| format!("{key}: {why}"))?;
            parts.push(part);
            texts.push(text.to_owned());
        }
        let total = parts.iter().map(BlockPart::total).min().ok_or("it has neither ipv4 nor ipv6")?;
        let selector = Selector::read(object).map_err(|why| format!("nodeSelector: {why}"))?;
        let name: Arc<str> = object.name().into();
        let bits = u8::try_from(host_bits).unwrap_or(u8::MAX);
        let rank = (total, bits, selector.text(), texts.swap_remove(0), name.clone());
        let pool = BlockPool { name, system: NAME, parts, closed: object.deleting() };
        Ok(Self { pool, selector, rank })
    }
}

fn part(text: &str, family: Family, host_bits: u64) -> Result<BlockPart, String> {
    let cidr = text.contains('/');
    let range: Span = parse_span(text).map_err(|e| e.to_string())?;
    if !cidr || range.family() != family {
        return Err(format!("{text:?} is no {family} CIDR"));
    }
    let prefix = text.rsplit('/').next().and_then(|p| p.parse::<u8>().ok()).unwrap_or_default();
    let room = u64::from(family.bits() - prefix);
    let fits = u8::try_from(host_bits).ok().filter(|_| host_bits <= room);
    let host_bits = fits.ok_or_else(|| {
        format!("a block of perNodeHostBits {host_bits} is wider than {text}, which has {room} host bits")
    })?;
    Ok(BlockPart { range, prefix: family.bits() - host_bits })
}

/// The ClusterCIDRs of a cluster, for the question which of them serve a Node, in order.
pub(super) struct Choices<'a> {
    /// In the order that does not depend on the Node.
    all: Vec<&'a ClusterCidr>,
    /// What decides the answer for a Node; `None`: its name does.
    keys: Option<Vec<&'a str>>,
    known: BTreeMap<Vec<Option<&'a str>>, Arc<[Arc<str>]>>,
}

impl<'a> Choices<'a> {
    pub(super) fn new(cluster_cidrs: &'a [ClusterCidr]) -> Self {
        let mut all: Vec<&ClusterCidr> = cluster_cidrs.iter().filter(|c| !c.pool.closed).collect();
        all.sort_by(|a, b| a.rank.cmp(&b.rank));
        let keys: Option<Vec<Vec<&str>>> = all.iter().map(|c| c.selector.keys()).collect();
        let keys = keys.map(|keys| {
            let mut keys: Vec<&str> = keys.into_iter().flatten().collect();
            keys.sort_unstable();
            keys.dedup();
            keys
        });
        Self { all, keys, known: BTreeMap::new() }
    }

    /// The names of those that serve a Node, best first. Nodes whose labels do not differ share the answer.
    pub(super) fn of(&mut self, node: &'a Object) -> Arc<[Arc<str>]> {
        let Some(keys) = &self.keys else { return self.work_out(node) };
        let labels: Vec<Option<&str>> = keys.iter().map(|k| node.label(k)).collect();
        if let Some(known) = self.known.get(&labels) {
            return known.clone();
        }
        let names = self.work_out(node);
        self.known.insert(labels, names.clone());
        names
    }

    fn work_out(&self, node: &Object) -> Arc<[Arc<str>]> {
        let matching = self.all.iter().filter_map(|c| Some((c, c.selector.matches(node)?)));
        let mut matching: Vec<(&&ClusterCidr, usize)> = matching.collect();
        // Those that are for all come last; the sort keeps the order among equals.
        matching.sort_by_key(|(c, met)| (c.selector == Selector::All, usize::MAX - met));
        matching.into_iter().map(|(c, _)| c.pool.name.clone()).collect()
    }
}

/// Reads all ClusterCIDRs; those that cannot be used come with what is wrong with them.
pub(super) fn read_all(observed: &crate::model::Observed) -> (Vec<ClusterCidr>, Vec<(&Object, String)>) {
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for object in observed.all(CLUSTER_CIDR) {
        match ClusterCidr::read(object) {
            Ok(cluster_cidr) => good.push(cluster_cidr),
            Err(why) => bad.push((object, why)),
        }
    }
    (good, bad)
}
