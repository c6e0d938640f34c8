//! metal3's `IPAddresses`: what they show to be in use, and how a claim gets one.

use super::index::{For, Index};
use super::{IP_ADDRESS, IP_CLAIM, IP_POOL, NAME, claim, machine};
use crate::addr::parse_address;
use crate::model::{
    Action, Adopt, Chain, Chore, Claim, Given, Holder, Holding, Make, Object, ObjectRef, Owner, Pool,
    Problem, Survey, When, Write, hash,
};
use crate::systems::{Scene, orphaned};
use serde_json::{Value, json};
use std::sync::Arc;

/// What metal3 puts on every address.
pub(super) const FINALIZER: &str = "ipaddress.ipam.metal3.io";

/// An address is in use by its claim, or by nobody that is known.
pub(super) fn survey(object: &Object, index: &Index<'_>, survey: &mut Survey) {
    let seen_on = Arc::new(IP_ADDRESS.at(object.namespace(), object.name()));
    let address = match parse_address(object.text("/spec/address").unwrap_or_default()) {
        Ok(address) => address,
        Err(error) => {
            let message = format!("{error}; mipam cannot tell which address it uses, so mend it by hand");
            survey.problems.push(Problem::new("Unreadable", &*seen_on, message));
            return;
        }
    };
    let name = object.text("/spec/claim/name").unwrap_or_default();
    let reference = IP_CLAIM.at(object.namespace(), name);
    let found = index.observed.find(&reference);
    let alone = index.serves && found.is_none() && orphan(object, &reference, index, survey);
    // Where a metal3 controller serves, its records are not mipam's to keep.
    let claim = found.filter(|_| index.serves);
    let whose = claim.and_then(|c| index.whose(c));
    survey.holdings.push(Holding {
        address,
        seen_on,
        holder: claim.map(|c| Holder { owner: Owner::of(NAME, IP_CLAIM, c), device: "".into() }),
        stands_for: whose.map(|w| w.name.into()),
        pools: index.pool_of(object).map(|p| index.parsed(p).choice()),
        adopt: match claim {
            Some(_) => Adopt::Alone,
            None if alone => Adopt::Never,
            None => Adopt::No,
        },
    });
}

/// A record of ours whose claim is gone, or was never there: nobody would let go of it, or delete it.
fn orphan(object: &Object, claim: &ObjectRef, index: &Index<'_>, survey: &mut Survey) -> bool {
    let target = IP_ADDRESS.at(object.namespace(), object.name());
    if !object.deleting() {
        let known = index.pool_of(object).is_some();
        survey.problems.extend(known.then(|| orphaned(&target, claim)));
        return known;
    }
    if object.held_by(FINALIZER) && claim::pause(object, index).is_none() {
        let free = Write { target, uid: object.uid().to_owned(), action: Action::Free(FINALIZER) };
        let owner = Owner::of(NAME, IP_ADDRESS, object);
        survey.chores.push(Chore { owner, writes: vec![free], when: When::Before });
    }
    true
}

/// The name that metal3 gives to the record of an address. Pools of several networks may have one prefix and the same
/// addresses: the second to come has its own name in that of its records.
fn name(pool: &Object, given: &Given, claim: &Owner, scene: &Scene<'_>) -> String {
    let address = given.address.to_string().replace([':', '.'], "-");
    let plain = format!("{}-{address}", prefix(pool));
    let plain = plain.trim_end_matches('-');
    let network = |name: &str| scene.pools.iter().find(|p| p.is_of(name)).map(|p| p.network.clone());
    let place = |pool: &Object| format!("{}/{}", pool.namespace(), pool.name());
    let rival = |other: &&Object| {
        other.namespace() == pool.namespace() && other.name() < pool.name() && prefix(other) == prefix(pool)
    };
    let rivals = scene.observed.all(IP_POOL).filter(rival).map(place);
    let foreign = rivals.filter(|other| network(other) != network(&place(pool)));
    let has = |name: String| scene.pools.iter().any(|p| p.is_of(&name) && p.contains(given.address));
    let record = scene.observed.find(&IP_ADDRESS.at(pool.namespace(), plain));
    let taken = record.is_some_and(|r| r.text("/spec/claim/name") != Some(&claim.name));
    if taken || foreign.into_iter().any(has) {
        return format!("{plain}-{:016x}", hash(place(pool).bytes()));
    }
    plain.to_owned()
}

/// What the names of a pool's records begin with.
fn prefix(pool: &Object) -> &str {
    pool.text("/spec/namePrefix").filter(|p| !p.is_empty()).unwrap_or_else(|| pool.name())
}

/// Gives a claim its address: the claim's finalizer, the record, the claim's status, and what a machine's
/// device needs.
pub(super) fn give(claim: &Claim, given: &[Given], scene: &Scene<'_>) -> Chain {
    let reference = claim.owner.reference(IP_CLAIM);
    let object = scene.observed.find(&reference);
    let (Some(object), [given]) = (object, given) else { return Chain::new() };
    let Some(ip_pool) = object
        .text("/spec/pool/name")
        .and_then(|name| scene.observed.find(&IP_POOL.at(object.namespace(), name)))
    else {
        return Chain::new();
    };
    let Some(part) = scene.pools.iter().find(|p| p.name == given.pool) else { return Chain::new() };
    let name = name(ip_pool, given, &claim.owner, scene);
    let mut chain = vec![claim::hold(&claim.owner), record(claim, given, part, ip_pool, &name)];
    chain.push(claim::bind(object, &claim.owner, &name, scene.observed));
    let whose =
        For::of(object).and_then(|whose| Some((scene.observed.find(&whose.machine())?, whose.device)));
    chain.extend(whose.map(|(m, device)| machine::fill(m, device, object, given.address.to_string(), part)));
    chain
}

/// The record of an address, as metal3 writes it.
fn record(claim: &Claim, given: &Given, part: &Pool, pool: &Object, name: &str) -> Write {
    let namespace = pool.namespace().to_owned();
    let mut spec = json!({
        "address": given.address.to_string(),
        "claim": { "name": &*claim.owner.name, "namespace": namespace },
        "pool": { "name": pool.name(), "namespace": namespace },
        "prefix": part.prefix,
    });
    if let Some(gateway) = part.gateway {
        spec["gateway"] = json!(gateway.to_string());
    }
    if !part.nameservers.is_empty() {
        let servers: Vec<String> = part.nameservers.iter().map(ToString::to_string).collect();
        spec["dnsServers"] = json!(servers);
    }
    let owner = |object: &Object| {
        json!({
            "apiVersion": object.0.get("apiVersion"), "kind": object.kind(),
            "name": object.name(), "uid": object.uid(),
        })
    };
    let pool_owner = owner(pool);
    let (name, target) = (name.to_owned(), IP_ADDRESS.at(&namespace, name));
    let same_spec = spec.clone();
    let build = move |before: &[Object]| {
        // Owners without a uid (files) are no owners to a garbage collector.
        let claim = before.iter().rev().find(|o| o.kind() == IP_CLAIM.kind);
        let owners = std::iter::once(pool_owner.clone()).chain(claim.map(owner));
        let owners: Vec<Value> = owners.filter(|o| o["uid"] != "").collect();
        let mut object = Object(json!({
            "apiVersion": "ipam.metal3.io/v1alpha1",
            "kind": "IPAddress",
            "metadata": { "name": name, "namespace": namespace, "finalizers": [FINALIZER] },
            "spec": spec,
        }));
        let metadata = object.ensure_object(&["metadata"]);
        if !owners.is_empty() {
            metadata.insert("ownerReferences".to_owned(), owners.into());
        }
        if let Some(labels) = claim.and_then(|c| c.at("/metadata/labels")) {
            metadata.insert("labels".to_owned(), labels.clone());
        }
        object
    };
    let same = move |object: &Object| {
        !object.deleting()
            && object.at("/spec/claim/name") == same_spec.pointer("/claim/name")
            && object.at("/spec/address") == same_spec.get("address")
    };
    Write { target, uid: String::new(), action: Action::Create(Make::new(build, same)) }
}

/// Takes a record away: its finalizer, then the object.
pub(super) fn remove(address: &Object) -> [Write; 2] {
    Write::removal(IP_ADDRESS, address, FINALIZER)
}

/// For a claim's owner.
pub(super) fn update(owner: &Arc<Owner>, action: Action) -> Write {
    Write { target: owner.reference(IP_CLAIM), uid: owner.uid.to_string(), action }
}
