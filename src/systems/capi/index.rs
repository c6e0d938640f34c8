//! The objects of a survey, by the questions that are asked of them.

use super::pool::{self, Parsed};
use super::serving::Serving;
use super::{ADDRESS, CLAIM, CLUSTER_NAME, CONFIG_POOL, METAL3_POOL, NAME, OWN_POOLS, POOLS};
use crate::addr::parse_address;
use crate::config::Config;
use crate::model::{Object, ObjectRef, Observed, PoolChoice, Subject};
use crate::systems::elf::pool as metal3;
use crate::systems::{cluster_paused, paused};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// Addresses by claim and by pool, and every pool.
pub(super) struct Index<'a> {
    pub(super) observed: &'a Observed,
    pub(super) serving: Serving,
    config: &'a Config,
    addresses: BTreeMap<(&'a str, &'a str), Vec<&'a Object>>,
    used: BTreeMap<ObjectRef, BTreeSet<IpAddr>>,
    claimed: BTreeSet<ObjectRef>,
    pools: BTreeMap<ObjectRef, Parsed>,
    metal3: BTreeMap<ObjectRef, metal3::Parsed>,
    nothing: BTreeSet<IpAddr>,
}

impl<'a> Index<'a> {
    pub(super) fn new(observed: &'a Observed, config: &'a Config) -> Self {
        let serving = Serving::of(observed, config);
        let mut addresses: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let mut used: BTreeMap<ObjectRef, BTreeSet<IpAddr>> = BTreeMap::new();
        for address in observed.all(ADDRESS) {
            let claim = address.text("/spec/claimRef/name").unwrap_or_default();
            addresses.entry((address.namespace(), claim)).or_default().push(address);
            if let Some(pool) = named_pool(address) {
                let of_pool = used.entry(pool).or_default();
                of_pool.extend(address.text("/spec/address").and_then(|a| parse_address(a).ok()));
            }
        }
        let waiting = observed.all(CLAIM).filter(|c| !c.deleting());
        let claimed = waiting.filter_map(named_pool).collect();
        let mut pools = BTreeMap::new();
        for kind in OWN_POOLS {
            for object in observed.all(kind) {
                let target = kind.at(object.namespace(), object.name());
                let ours = serving.serves(kind) && !object.deleting();
                let parsed = pool::read(&target, object, ours);
                pools.insert(target, parsed);
            }
        }
        let of_metal3 = observed.all(METAL3_POOL).filter(|_| serving.serves(METAL3_POOL));
        let metal3 = of_metal3.map(|p| (METAL3_POOL.at(p.namespace(), p.name()), metal3::read(p, true)));
        let (metal3, nothing) = (metal3.collect(), BTreeSet::new());
        Self { observed, serving, config, addresses, used, claimed, pools, metal3, nothing }
    }

    /// What a pool of ours is to the planner.
    pub(super) fn parsed(&self, target: &ObjectRef) -> Option<&Parsed> {
        self.pools.get(target)
    }

    /// The addresses that are recorded from a pool.
    pub(super) fn used(&self, target: &ObjectRef) -> &BTreeSet<IpAddr> {
        self.used.get(target).unwrap_or(&self.nothing)
    }

    /// Is there a record of this pool, whether its address can be read or not?
    pub(super) fn in_use(&self, target: &ObjectRef) -> bool {
        self.used.contains_key(target)
    }

    /// Does a claim name this pool that is not about to go?
    pub(super) fn claimed(&self, target: &ObjectRef) -> bool {
        self.claimed.contains(target)
    }

    /// The records of a claim, the one that its status names first, then the one that has its name.
    pub(super) fn records_of(&self, claim: &Object) -> Vec<&'a Object> {
        let found = self.addresses.get(&(claim.namespace(), claim.name()));
        let mut found = found.cloned().unwrap_or_default();
        let named = bound_to(claim);
        found.sort_by_key(|a| (Some(a.name()) != named, a.name() != claim.name(), a.name()));
        found
    }

    /// Why a claim must be left alone: it, its pool or its Cluster is paused.
    pub(super) fn paused(&self, claim: &Object, target: &ObjectRef) -> Option<String> {
        let of_cluster = |cluster: Option<&str>| {
            cluster_paused(self.observed, claim.namespace(), cluster.filter(|c| !c.is_empty())?)
        };
        let pool = self.observed.find(target);
        paused(claim)
            .or_else(|| pool.and_then(paused).map(|_| format!("{} is paused", pool::name(target))))
            .or_else(|| of_cluster(claim.text("/spec/clusterName")))
            .or_else(|| of_cluster(claim.label(CLUSTER_NAME)))
            .or_else(|| of_cluster(pool.and_then(|p| p.text("/spec/clusterName"))))
    }

    /// The pools that the one that a claim names is to the planner, or why it cannot serve.
    pub(super) fn choice(&self, claim: &Object, target: &ObjectRef) -> Result<PoolChoice, String> {
        let name = pool::name(target);
        if target.kind == CONFIG_POOL {
            return self.configured(claim, &target.name);
        }
        let object = self.observed.find(target).ok_or_else(|| format!("there is no {name}"))?;
        if object.deleting() {
            return Err(format!("{name} is being deleted"));
        }
        if let Some(parsed) = self.metal3.get(target) {
            let why = parsed.problems.first().map_or("it has no addresses", String::as_str);
            return if parsed.pools.is_empty() {
                Err(format!("{name} cannot be used: {why}"))
            } else {
                Ok(parsed.choice())
            };
        }
        match self.parsed(target) {
            Some(Parsed { problem: None, pool: Some(pool) }) => {
                Ok(PoolChoice::Named(vec![pool.name.clone()]))
            }
            parsed => {
                let why = parsed.and_then(|p| p.problem.as_deref()).unwrap_or("it has no addresses");
                Err(format!("{name} cannot be used: {why}"))
            }
        }
    }

    /// A pool of the configuration, if its `match` lets this claim have it. Who names a pool names its network.
    fn configured(&self, claim: &Object, name: &str) -> Result<PoolChoice, String> {
        let pool = self.config.pools.iter().find(|p| *p.name == *name);
        let pool = pool.ok_or_else(|| format!("the configuration has no pool {name:?}"))?;
        let labels = claim.at("/metadata/labels").and_then(Value::as_object).into_iter().flatten();
        let subject = Subject {
            system: NAME,
            namespace: claim.namespace().to_owned(),
            network: pool.matches.networks.first().cloned(),
            labels: labels.filter_map(|(k, v)| Some((k.clone(), v.as_str()?.to_owned()))).collect(),
            family: None,
        };
        if !subject.fits(pool) {
            return Err(format!("pool {name} of the configuration does not serve it (see its `match`)"));
        }
        Ok(PoolChoice::Named(vec![pool.name.clone()]))
    }
}

/// The record that a claim's status names.
pub(super) fn bound_to(claim: &Object) -> Option<&str> {
    claim.text("/status/addressRef/name").filter(|name| !name.is_empty())
}

/// The pool that a claim or a record names, if it is of a kind that mipam knows: never by its name alone. Both the
/// kind and its plural are in use; OpenShift's Machine API writes the plural.
pub(super) fn named_pool(object: &Object) -> Option<ObjectRef> {
    let text = |key: &str| object.text(&format!("/spec/poolRef/{key}")).unwrap_or_default();
    let (group, kind) = (text("apiGroup"), text("kind"));
    let found = POOLS.into_iter().find(|p| p.group == group && (p.kind == kind || p.plural == kind))?;
    Some(found.at(object.namespace(), text("name")))
}
