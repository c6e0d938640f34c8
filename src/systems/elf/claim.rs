//! metal3's `IPClaims`: which want an address, what is missing on those that have one, and how they go.

use super::address::{self, update};
use super::index::{For, Index};
use super::{ELF_MACHINE, IP_CLAIM, NAME};
use crate::addr::parse_address;
use crate::model::{
    Action, Chore, Claim, Edit, Edited, Gate, Holder, Object, Owner, PendingLine, PoolChoice, Problem,
    Reason, Survey, When, Wish, Write,
};
use crate::systems::{cluster_paused, paused};
use serde_json::json;
use std::net::IpAddr;
use std::sync::Arc;

/// What metal3 puts on every claim.
pub(super) const FINALIZER: &str = "ipclaim.ipam.metal3.io";

/// The annotation by which a claim asks for one address.
const ASKS: &str = "ipAddress";

pub(super) fn survey(object: &Object, index: &Index<'_>, survey: &mut Survey) {
    let owner = Owner::of(NAME, IP_CLAIM, object);
    let stands_for = For::of(object).map(|w| w.holder());
    survey.known.extend(stands_for.clone().map(|h| (owner.clone(), h)));
    if !index.serves {
        return;
    }
    let addresses = index.addresses_of(object);
    if let (Some(holder), false) = (&stands_for, object.deleting()) {
        let machine = ELF_MACHINE.at(&holder.owner.namespace, &holder.owner.name);
        if index.observed.serves(ELF_MACHINE) && index.observed.find(&machine).is_none() {
            let message = format!("{machine} is gone without it: delete the claim, and its address is free");
            survey.problems.push(Problem::new(
                "Orphaned",
                &IP_CLAIM.at(object.namespace(), object.name()),
                message,
            ));
        }
    }
    if object.deleting() {
        if only_ours(object) {
            let writes = go(object, &addresses);
            survey.chores.push(Chore { owner, writes, when: When::Before });
        }
        return;
    }
    let mut wait = |reason, message: String| {
        let (whose, device) = known(&owner, stands_for.as_ref());
        survey.pending.push(PendingLine::of(whose, device, "", reason, message));
    };
    if let Some(why) = paused(object) {
        return wait(Reason::Paused, why);
    }
    let ip_pool = index.pool_of(object);
    if let Some(ip_pool) = ip_pool {
        let cluster = ip_pool.text("/spec/clusterName").unwrap_or_default();
        if let Some(why) = cluster_paused(index.observed, ip_pool.namespace(), cluster) {
            return wait(Reason::Paused, why);
        }
    }
    if let Some((kept, more)) = addresses.split_first() {
        // Two records of one claim: what its status names stays, the other was made by somebody faster or slower.
        for extra in more {
            let writes = address::remove(extra).to_vec();
            survey.chores.push(Chore { owner: owner.clone(), writes, when: When::Before });
        }
        let done = object.text("/status/address/name") == Some(kept.name())
            && object.text("/status/errorMessage").is_none()
            && object.held_by(FINALIZER);
        if done {
            survey.settled.push(stands_for.map_or(owner, |h| h.owner));
        } else {
            let writes = vec![hold(&owner), bind(object, &owner, kept.name())];
            survey.chores.push(Chore { owner, writes, when: When::Before });
        }
        return;
    }
    let Some(ip_pool) = ip_pool else {
        let name = object.text("/spec/pool/name").unwrap_or_default();
        let message = format!("there is no IPPool {name:?} in namespace {}", object.namespace());
        wait(Reason::NoMatchingPool, message.clone());
        survey.chores.push(Chore { writes: vec![failed(&owner, &message)], owner, when: When::After });
        return;
    };
    if ip_pool.deleting() {
        return wait(Reason::NoMatchingPool, format!("IPPool/{} is being deleted", ip_pool.name()));
    }
    match wish(object, index.parsed(ip_pool).choice()) {
        Ok(wish) => survey.claims.push(Claim {
            owner,
            wishes: vec![wish],
            presets: Vec::new(),
            gate: Gate::Closed,
            stands_for,
        }),
        Err(message) => {
            wait(Reason::AddressUnavailable, message.clone());
            survey.chores.push(Chore { writes: vec![failed(&owner, &message)], owner, when: When::After });
        }
    }
}

/// Whom people know a claim by.
fn known<'a>(owner: &'a Arc<Owner>, stands_for: Option<&'a Holder>) -> (&'a Owner, &'a str) {
    stands_for.map_or((owner, ""), |h| (&h.owner, &h.device))
}

fn wish(object: &Object, pools: PoolChoice) -> Result<Wish, String> {
    let asks = object.annotation(ASKS).map(parse_address).transpose();
    let asks: Option<IpAddr> = asks.map_err(|e| format!("annotation {ASKS}: {e}"))?;
    Ok(Wish { device: "".into(), pools, asks, one: true })
}

/// The claim of an object that a person names.
pub(super) fn ask(object: &Object) -> Result<Claim, String> {
    if object.deleting() {
        return Err("it is being deleted".to_owned());
    }
    if let Some(why) = paused(object) {
        return Err(why);
    }
    let wish = Wish { device: "".into(), pools: PoolChoice::Named(Vec::new()), asks: None, one: true };
    let stands_for = For::of(object).map(|w| w.holder());
    let owner = Owner::of(NAME, IP_CLAIM, object);
    Ok(Claim { owner, wishes: vec![wish], presets: Vec::new(), gate: Gate::Asked, stands_for })
}

/// Puts metal3's finalizer on a claim: before it has an address, or nobody would take it away again.
pub(super) fn hold(owner: &Arc<Owner>) -> Write {
    update(owner, Action::Update(Edit::hold(FINALIZER, |_| false)))
}

/// Names the record of its address in the status of a claim, and takes what went wrong before out of it.
pub(super) fn bind(observed: &Object, owner: &Arc<Owner>, record: &str) -> Write {
    let (record, namespace) = (record.to_owned(), owner.namespace.to_string());
    // Called where this name has no record any more, if there is one.
    let stale = observed.text("/status/address/name").map(str::to_owned);
    let edit = move |object: &Object| {
        let named = object.text("/status/address/name");
        if named == Some(&record) && object.text("/status/errorMessage").is_none() {
            return Edited::Already;
        }
        if object.deleting() || named.is_some_and(|n| n != record && Some(n) != stale.as_deref()) {
            return Edited::Moot;
        }
        let mut edited = object.clone();
        let status = edited.ensure_object(&["status"]);
        status.insert("address".to_owned(), json!({ "name": record, "namespace": namespace }));
        status.shift_remove("errorMessage");
        Edited::To(Box::new(edited))
    };
    update(owner, Action::UpdateStatus(Edit::new(edit)))
}

/// Says in the status of a claim why it waits.
pub(super) fn failed(owner: &Arc<Owner>, message: &str) -> Write {
    let message = message.to_owned();
    let edit = move |object: &Object| {
        if object.text("/status/errorMessage") == Some(&message) {
            return Edited::Already;
        }
        if object.deleting() || object.at("/status/address").is_some() {
            return Edited::Moot;
        }
        let mut edited = object.clone();
        edited.ensure_object(&["status"]).insert("errorMessage".to_owned(), json!(message));
        Edited::To(Box::new(edited))
    };
    update(owner, Action::UpdateStatus(Edit::new(edit)))
}

/// Lets a claim go that is being deleted: its records first, then its finalizer.
pub(super) fn go(claim: &Object, addresses: &[&Object]) -> Vec<Write> {
    let target = IP_CLAIM.at(claim.namespace(), claim.name());
    let free = Write { target, uid: claim.uid().to_owned(), action: Action::Free(FINALIZER) };
    addresses.iter().flat_map(|a| address::remove(a)).chain([free]).collect()
}

/// Does nobody but metal3's finalizer hold it? Others still use its address.
pub(super) fn only_ours(object: &Object) -> bool {
    object.array("/metadata/finalizers").iter().all(|f| f == FINALIZER)
}
