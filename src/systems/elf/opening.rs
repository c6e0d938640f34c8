//! Claims that machines still lack: where they can be made, and what they are.

use super::index::{For, Index, OWNER};
use super::pool::Parsed;
use super::select::{self, title};
use super::withdraw::withdraw;
use super::{IP_CLAIM, IP_POOL, NAME, claim, machine};
use crate::addr::Family;
use crate::model::{Action, Chain, Claim, Gate, Make, Object, Opening, Owner, Site, Wish, Write, hash};
use serde_json::json;
use std::sync::Arc;

/// The claim that a device lacks, or why it can have none.
pub(super) fn fresh(object: &Object, device: usize, index: &Index<'_>) -> Result<Opening, String> {
    let whose = For::device(object, device);
    let sites = sites(object, &whose, index)?;
    let site = |(pool, site): (&Object, Site)| {
        let make = make(&whose, &site.claim.owner.name, pool, index.serves);
        Site { writes: vec![machine::hold(object), make], ..site }
    };
    let owner = Owner::of(NAME, super::ELF_MACHINE, object);
    let sites = sites.into_iter().map(site).collect();
    Ok(Opening { owner, device: device.to_string(), sites, instead_of: None })
}

/// Where the claim of a device could go that has no address yet: its pool may be full, or be gone. It is taken away, so
/// that another one can be made.
pub(super) fn elsewhere(
    object: &Object,
    device: usize,
    waiting: &Object,
    index: &Index<'_>,
) -> Option<Opening> {
    if !claim::only_ours(waiting) || claim::pause(waiting, index).is_some() {
        return None;
    }
    // Another run may have found room for it in the meantime.
    let mut writes: Chain = withdraw(object, device, waiting).into_iter().collect();
    writes.push(claim::delete(waiting));
    writes.extend(claim::go(waiting, &[]));
    let current = index.pool_of(waiting);
    let place = |pool: &Object| (pool.namespace().to_owned(), pool.name().to_owned());
    let others = sites(object, &For::device(object, device), index).ok()?.into_iter();
    let others = others.filter(|(pool, _)| current.map(place) != Some(place(pool)));
    let sites: Vec<Site> = others.map(|(_, site)| Site { writes: writes.clone(), ..site }).collect();
    let (owner, device) = (Owner::of(NAME, super::ELF_MACHINE, object), device.to_string());
    let usable = current.is_some_and(|pool| !pool.deleting());
    let instead_of = usable.then(|| Owner::of(NAME, IP_CLAIM, waiting));
    (!sites.is_empty()).then_some(Opening { owner, device, sites, instead_of })
}

/// The pools that have IPv4 addresses, which is what a device takes, and the claims that would be made for them.
fn sites<'a>(object: &Object, whose: &For, index: &Index<'a>) -> Result<Vec<(&'a Object, Site)>, String> {
    let pools = select::pools_of(object, &object.array(machine::DEVICES)[whose.device], index)?;
    let unusable = |pool: &Object| {
        let Parsed { pools, problems } = index.parsed(pool);
        let why = problems.first().map_or("it has no IPv4 addresses", String::as_str);
        let none = !pools.iter().any(|p| p.family == Family::V4);
        none.then(|| format!("{} cannot serve a device of networkType IPV4: {why}", title(pool)))
    };
    let usable = pools.iter().copied().filter(|p| unusable(p).is_none());
    let sites: Vec<_> = usable.map(|pool| (pool, site(whose, pool, index))).collect();
    match pools.first().and_then(|p| unusable(p)).filter(|_| sites.is_empty()) {
        Some(why) => Err(why),
        None => Ok(sites),
    }
}

fn site(whose: &For, pool: &Object, index: &Index<'_>) -> Site {
    let owner = Owner {
        group: IP_CLAIM.group.into(),
        kind: IP_CLAIM.kind.into(),
        namespace: pool.namespace().into(),
        name: name(whose, pool.namespace(), index).into(),
        uid: "".into(),
        system: NAME.into(),
    };
    let pools = index.parsed(pool).choice_for_device();
    let claim = Claim {
        owner: Arc::new(owner),
        wishes: vec![Wish { device: "".into(), pools, asks: None, one: true }],
        presets: Vec::new(),
        gate: Gate::Closed,
        stands_for: Some(whose.holder()),
    };
    Site { pool: title(pool), claim, writes: Chain::new() }
}

/// Makes the claim for a device.
fn make(whose: &For, name: &str, pool: &Object, serves: bool) -> Write {
    let (text, name) = (whose.text(), name.to_owned());
    let target = IP_CLAIM.at(pool.namespace(), &name);
    let same_text = text.clone();
    let (namespace, pool) = (pool.namespace().to_owned(), pool.name().to_owned());
    let build = move |_: &[Object]| {
        let mut metadata = json!({ "name": name, "namespace": namespace, "annotations": { (OWNER): text } });
        if serves {
            metadata["finalizers"] = json!([claim::FINALIZER]);
        }
        Object(json!({
            "apiVersion": "ipam.metal3.io/v1alpha1",
            "kind": "IPClaim",
            "metadata": metadata,
            "spec": { "pool": {
                "apiVersion": "ipam.metal3.io/v1alpha1", "kind": IP_POOL.kind, "name": pool, "namespace": namespace,
            } },
        }))
    };
    let same = move |claim: &Object| claim.annotation(OWNER) == Some(&same_text) && !claim.deleting();
    Write { target, uid: String::new(), action: Action::Create(Make::new(build, same)) }
}

/// Namespace, name and device; with a hash where that is too long, or somebody else's.
fn name(whose: &For, namespace: &str, index: &Index<'_>) -> String {
    const LONGEST: usize = 253;
    let plain = whose.plain_name();
    if plain.len() <= LONGEST && !index.name_is_taken(whose, namespace) {
        return plain;
    }
    let room = LONGEST - 17;
    let start = plain.get(..room.min(plain.len())).unwrap_or(&plain);
    format!("{}-{:016x}", start.trim_end_matches(['-', '.']), hash(whose.text().bytes()))
}
