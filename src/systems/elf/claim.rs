//! metal3's `IPClaims`: which want an address, what is missing on those that have one, and how they go.

use super::address::{self, update};
use super::index::{For, Index};
use super::pool::Parsed;
use super::withdraw::{is_withdrawn, withdraw};
use super::{ELF_MACHINE, IP_ADDRESS, IP_CLAIM, NAME, machine};
use crate::addr::parse_address;
use crate::model::{
    Action, Chore, Claim, Edit, Edited, Expect, Gate, Holder, Object, Observed, Owner, PendingLine, Problem,
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
    let whose = index.whose(object);
    let stands_for = whose.as_ref().map(For::holder);
    survey.known.extend(stands_for.clone().map(|h| (owner.clone(), h)));
    let addresses = index.addresses_of(object);
    let machine = whose.as_ref().and_then(|w| index.observed.find(&w.machine()));
    // What was taken from a machine goes, whatever became of the run that took it.
    let taken = machine.is_some_and(|m| index.left_to.is_none() && is_withdrawn(m, object.uid()));
    let pause = pause(object, index);
    if !index.serves {
        if taken && !object.deleting() && pause.is_none() {
            survey.chores.push(Chore { owner, writes: vec![delete(object)], when: When::Before });
            return;
        }
        let pool = index.pool_of(object).filter(|_| addresses.is_empty() && !object.deleting());
        survey.others.extend(pool.map(|pool| claim(owner, stands_for, index.parsed(pool), None)));
        return;
    }
    if let (Some(whose), None, false) = (&whose, machine, object.deleting())
        && index.observed.serves(ELF_MACHINE)
    {
        let message =
            format!("{} is gone without it: delete the claim, and its address is free", whose.machine());
        let claim = IP_CLAIM.at(object.namespace(), object.name());
        survey.problems.push(Problem::new("Orphaned", &claim, message));
    }
    if object.deleting() || taken {
        if pause.is_none() {
            survey.chores.extend(leave(object, owner, machine.zip(whose), &addresses, index));
        }
        return;
    }
    let mut wait = |reason, message: String| {
        let (whose, device) = known(&owner, stands_for.as_ref());
        survey.pending.push(PendingLine::of(whose, device, "", reason, message));
    };
    if let Some(why) = pause {
        return wait(Reason::Paused, why);
    }
    // A machine that is not to be served yet says so itself; one that goes needs nothing any more.
    if addresses.is_empty() && machine.is_some_and(|m| m.deleting() || machine::not_yet(m, index).is_some()) {
        return;
    }
    let ip_pool = index.pool_of(object);
    if let Some((kept, more)) = addresses.split_first() {
        // Two records of one claim: what its status names stays, the other was made by somebody faster or slower. The
        // status is written first: whoever has named the other one in the meantime is noticed by that.
        if !more.is_empty() {
            let mut writes = vec![hold(&owner), bind(object, &owner, kept.name(), index.observed)];
            writes.extend(more.iter().flat_map(|extra| address::remove(extra)));
            survey.chores.push(Chore { owner, writes, when: When::Before });
            return;
        }
        let done = object.text("/status/address/name") == Some(kept.name())
            && object.text("/status/errorMessage").is_none()
            && object.held_by(FINALIZER);
        if done {
            survey.settled.push(stands_for.map_or(owner, |h| h.owner));
        } else {
            let writes = vec![hold(&owner), bind(object, &owner, kept.name(), index.observed)];
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
    match asked(object) {
        Ok(asks) => survey.claims.push(claim(owner, stands_for, index.parsed(ip_pool), asks)),
        Err(message) => {
            wait(Reason::AddressUnavailable, message.clone());
            survey.chores.push(Chore { writes: vec![failed(&owner, &message)], owner, when: When::After });
        }
    }
}

/// How a claim goes: not before its machine knows, where that lives on; one that is paused cannot be told.
fn leave(
    object: &Object,
    owner: Arc<Owner>,
    from: Option<(&Object, For)>,
    addresses: &[&Object],
    index: &Index<'_>,
) -> Option<Chore> {
    let mut writes = Vec::new();
    if let Some((machine, whose)) = from.filter(|_| index.left_to.is_none())
        && let Some(first) = withdraw(machine, whose.device, object)
    {
        if machine::pause(machine, index).is_some() {
            return None;
        }
        writes.push(first);
    }
    if !object.deleting() {
        writes.push(delete(object));
    }
    if only_ours(object) {
        writes.extend(go(object, addresses));
    } else if object.deleting() {
        // Whoever else holds it still uses its address.
        return None;
    }
    Some(Chore { owner, writes, when: When::Before })
}

/// Why a claim must be left alone, also where it is being deleted.
pub(super) fn pause(object: &Object, index: &Index<'_>) -> Option<String> {
    paused(object).or_else(|| index.pool_of(object).and_then(|pool| pause_of_pool(pool, index)))
}

/// Why a pool must be left alone, and all that is from it.
pub(super) fn pause_of_pool(pool: &Object, index: &Index<'_>) -> Option<String> {
    let cluster = pool.text("/spec/clusterName").unwrap_or_default();
    let why = paused(pool).map(|why| format!("IPPool/{}: {why}", pool.name()));
    why.or_else(|| cluster_paused(index.observed, pool.namespace(), cluster))
}

/// Whom people know a claim by.
fn known<'a>(owner: &'a Arc<Owner>, stands_for: Option<&'a Holder>) -> (&'a Owner, &'a str) {
    stands_for.map_or((owner, ""), |h| (&h.owner, &h.device))
}

/// The address that a claim of a metal3 pool asks for.
pub(in crate::systems) fn asked(object: &Object) -> Result<Option<IpAddr>, String> {
    let asks = object.annotation(ASKS).filter(|text| !text.is_empty());
    asks.map(parse_address).transpose().map_err(|e| format!("annotation {ASKS}: {e}"))
}

/// The claim of an object that a person names.
pub(super) fn ask(object: &Object, index: &Index<'_>) -> Result<Claim, String> {
    if object.deleting() {
        return Err("it is being deleted".to_owned());
    }
    if let Some(why) = pause(object, index) {
        return Err(why);
    }
    let stands_for = index.whose(object).map(|w| w.holder());
    let pool = index.pool_of(object).ok_or("its IPPool does not exist")?;
    let owner = Owner::of(NAME, IP_CLAIM, object);
    let mut claim = claim(owner, stands_for, index.parsed(pool), asked(object)?);
    claim.gate = Gate::Asked;
    // What has an address keeps it.
    claim.wishes.retain(|_| index.addresses_of(object).is_empty());
    Ok(claim)
}

/// What a claim is to the planner.
fn claim(owner: Arc<Owner>, stands_for: Option<Holder>, pool: &Parsed, asks: Option<IpAddr>) -> Claim {
    let pools = if stands_for.is_some() { pool.choice_for_device() } else { pool.choice() };
    let wishes = vec![Wish { device: "".into(), pools, asks, one: true }];
    Claim { owner, wishes, presets: Vec::new(), gate: Gate::Closed, stands_for }
}

/// Puts metal3's finalizer on a claim: before it has an address, or nobody would take it away again.
pub(super) fn hold(owner: &Arc<Owner>) -> Write {
    update(owner, Action::Update(Edit::hold(FINALIZER, |object| paused(object).is_some())))
}

/// Names the record of its address in the status of a claim, and takes what went wrong before out of it.
pub(super) fn bind(claim: &Object, owner: &Arc<Owner>, record: &str, observed: &Observed) -> Write {
    let (record, namespace) = (record.to_owned(), owner.namespace.to_string());
    // Another name is replaced only where there is no such record any more.
    let named = claim.text("/status/address/name");
    let gone = |name: &&str| observed.find(&IP_ADDRESS.at(claim.namespace(), name)).is_none();
    let stale = named.filter(gone).map(str::to_owned);
    let edit = move |object: &Object| {
        let named = object.text("/status/address/name");
        if named == Some(&record) && object.text("/status/errorMessage").is_none() {
            return Edited::Already;
        }
        let pausing = paused(object).is_some();
        if pausing || object.deleting() || named.is_some_and(|n| n != record && Some(n) != stale.as_deref()) {
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
        if paused(object).is_some() || object.deleting() || object.at("/status/address").is_some() {
            return Edited::Moot;
        }
        let mut edited = object.clone();
        edited.ensure_object(&["status"]).insert("errorMessage".to_owned(), json!(message));
        Edited::To(Box::new(edited))
    };
    update(owner, Action::UpdateStatus(Edit::new(edit)))
}

/// What comes before an address is repeated that a claim has had for a while: a live look at the claim.
pub(super) fn still_there(claim: &Object) -> Write {
    let (target, uid) = (IP_CLAIM.at(claim.namespace(), claim.name()), claim.uid().to_owned());
    let same = move |now: Option<&Object>| now.is_some_and(|c| c.uid() == uid && !c.deleting());
    Write { target, uid: String::new(), action: Action::Expect(Expect::new(same)) }
}

/// Deletes a claim.
pub(super) fn delete(claim: &Object) -> Write {
    let target = IP_CLAIM.at(claim.namespace(), claim.name());
    Write { target, uid: claim.uid().to_owned(), action: Action::Delete }
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
