//! `IPAddressClaims`: which want an address, what is missing on those that have one, and how they go.

use super::condition::{self, Ready};
use super::index::{Index, bound_to, named_pool};
use super::{ADDRESS, CLAIM, METAL3_POOL, Marks, NAME, address};
use crate::addr::parse_address;
use crate::model::{
    Action, Chain, Chore, Claim, Edit, Edited, Gate, Object, ObjectRef, Owner, PendingLine, PoolChoice,
    Preset, Problem, Reason, Seconds, Survey, When, Wish, Write,
};
use crate::systems::elf as metal3;
use crate::systems::{self, Scene};
use serde_json::json;
use std::net::IpAddr;
use std::sync::Arc;

/// The garbage collector's own: it waits until what the claim owns is gone, so nobody may wait for it.
const FOREGROUND: &str = "foregroundDeletion";

pub(super) fn survey(object: &Object, index: &Index<'_>, survey: &mut Survey) {
    let Some(target) = named_pool(object).filter(|t| index.serving.serves(t.kind)) else { return };
    let (owner, marks) = (Owner::of(NAME, CLAIM, object), Marks::of(target.kind));
    let records = index.records_of(object);
    let paused = index.paused(object, &target);
    if object.deleting() {
        if paused.is_none() && only_ours(object, marks) {
            let writes = go(&owner, &records, marks);
            survey.chores.push(Chore { owner, writes, when: When::Before });
        }
        return;
    }
    let wait = |reason, message| PendingLine::of(&owner, "", "", reason, message);
    let bound = records.first().is_some_and(|r| bound_to(object) == Some(r.name()));
    if let (Some(record), true) = (records.first(), bound) {
        if record.deleting() {
            let message = "somebody has deleted it while its claim exists: it is kept until the claim is gone; delete the claim if nothing needs the address";
            let reference = ADDRESS.at(record.namespace(), record.name());
            survey.problems.push(Problem::new("Deleted", &reference, message));
        }
        let whole = object.held_by(marks.claim)
            && condition::is_true(object)
            && (record.deleting() || address::is_whole(record, object, marks));
        if whole || paused.is_some() {
            survey.settled.push(owner);
        } else {
            let writes = settle(object, &owner, record, Some(marks), index.observed.now());
            survey.chores.push(Chore { owner, writes, when: When::After });
        }
        return;
    }
    if let Some(why) = paused {
        survey.pending.push(wait(Reason::Paused, why));
        return;
    }
    match wanted(object, &owner, &records, &target, index) {
        Ok(claim) => survey.claims.push(claim),
        Err((reason, message)) => {
            survey.pending.push(wait(reason, message.clone()));
            let writes = vec![failed(&owner, reason, message, index.observed.now())];
            survey.chores.push(Chore { owner, writes, when: When::After });
        }
    }
}

/// What a claim that has no address yet is to the planner, or why it cannot be served.
fn wanted(
    object: &Object,
    owner: &Arc<Owner>,
    records: &[&Object],
    target: &ObjectRef,
    index: &Index<'_>,
) -> Result<Claim, (Reason, String)> {
    let pools = index.choice(object, target);
    let claim =
        |wishes, presets, gate| Claim { owner: owner.clone(), wishes, presets, gate, stands_for: None };
    if let Some(record) = records.first() {
        // Somebody has made the record and did not get to tell the claim: it gets that address, or none.
        let address = address_of(record)?;
        let pools = pools.unwrap_or(PoolChoice::Named(Vec::new()));
        let preset = Preset { device: "".into(), address, pools };
        return Ok(claim(Vec::new(), vec![preset], Gate::Closed));
    }
    if index.observed.find(&ADDRESS.at(object.namespace(), object.name())).is_some() {
        return Err((Reason::AddressUnavailable, in_the_way(object)));
    }
    let pools = pools.map_err(|why| (Reason::NoMatchingPool, why))?;
    let asks = asked(object, target).map_err(|why| (Reason::AddressUnavailable, why))?;
    let wish = Wish { device: "".into(), pools, asks, one: true };
    // Whose record was removed had an address that may still be in use: it gets that one back, or none.
    let gate = if bound_to(object).is_some() { Gate::Open } else { Gate::Closed };
    Ok(claim(vec![wish], Vec::new(), gate))
}

/// The address that a claim asks for: metal3 lets claims of either kind ask.
fn asked(object: &Object, target: &ObjectRef) -> Result<Option<IpAddr>, String> {
    if target.kind == METAL3_POOL { metal3::asked(object) } else { Ok(None) }
}

fn address_of(record: &Object) -> Result<IpAddr, (Reason, String)> {
    parse_address(record.text("/spec/address").unwrap_or_default())
        .map_err(|why| (Reason::AddressUnavailable, format!("IPAddress/{}: {why}", record.name())))
}

fn in_the_way(object: &Object) -> String {
    let reference = ADDRESS.at(object.namespace(), object.name());
    format!("{reference} is there already, and is not for this claim: delete one of the two")
}

/// The claim of an object that a person names, whatever its pool: nobody else may serve it.
pub(super) fn ask(object: &Object, scene: &Scene<'_>) -> Result<Claim, String> {
    if object.deleting() {
        return Err("it is being deleted".to_owned());
    }
    let index = Index::new(scene.observed, scene.config);
    let target = named_pool(object);
    if let Some(target) = &target {
        if let Some(why) = index.paused(object, target) {
            return Err(why);
        }
        if !index.serving.serves(target.kind) {
            return Err(format!("{} are left to another controller", target.kind.resource()));
        }
    }
    let owner = Owner::of(NAME, CLAIM, object);
    let pools = match &target {
        Some(target) => index.choice(object, target)?,
        // Whichever the person names.
        None => PoolChoice::Named(Vec::new()),
    };
    let records = index.records_of(object);
    let mut asks = target.as_ref().map_or(Ok(None), |target| asked(object, target))?;
    match records.first() {
        Some(record) if bound_to(object) == Some(record.name()) => {
            let (wishes, presets) = (Vec::new(), Vec::new());
            return Ok(Claim { owner, wishes, presets, gate: Gate::Asked, stands_for: None });
        }
        Some(record) => asks = Some(address_of(record).map_err(|(_, why)| why)?),
        None if scene.observed.find(&ADDRESS.at(object.namespace(), object.name())).is_some() => {
            return Err(in_the_way(object));
        }
        None => {}
    }
    let wish = Wish { device: "".into(), pools, asks, one: true };
    Ok(Claim { owner, wishes: vec![wish], presets: Vec::new(), gate: Gate::Asked, stands_for: None })
}

/// For a claim's owner.
fn update(owner: &Arc<Owner>, action: Action) -> Write {
    Write { target: owner.reference(CLAIM), uid: owner.uid.to_string(), action }
}

/// Puts the finalizer on a claim: before it has an address, or nobody would take it away again.
pub(super) fn hold(owner: &Arc<Owner>, marks: &'static Marks) -> Write {
    update(owner, Action::Update(Edit::hold(marks.claim, |object| systems::paused(object).is_some())))
}

/// Names the record of its address in the status of a claim, and says that it is ready.
pub(super) fn bind(observed: &Object, owner: &Arc<Owner>, record: &str, ip: &str, now: Seconds) -> Write {
    let (record, ready) = (record.to_owned(), Ready::yes(format!("{ip} is its address")));
    // Called where this name has no record any more, if there is one.
    let stale = bound_to(observed).map(str::to_owned);
    let edit = move |object: &Object| {
        let named = bound_to(object);
        if named == Some(&record) && condition::is_true(object) {
            return Edited::Already;
        }
        let other = named.is_some_and(|n| n != record && Some(n) != stale.as_deref());
        if object.deleting() || other || systems::paused(object).is_some() {
            return Edited::Moot;
        }
        let mut edited = object.clone();
        edited.ensure_object(&["status"]).insert("addressRef".to_owned(), json!({ "name": record }));
        ready.say(&mut edited, now);
        Edited::To(Box::new(edited))
    };
    update(owner, Action::UpdateStatus(Edit::new(edit)))
}

/// What a claim lacks that has a record; one that nobody serves is only told of it.
pub(super) fn settle(
    object: &Object,
    owner: &Arc<Owner>,
    record: &Object,
    marks: Option<&'static Marks>,
    now: Seconds,
) -> Chain {
    let mut chain = Chain::new();
    if let Some(marks) = marks {
        chain.extend([hold(owner, marks), address::mend(record, object, marks)]);
    }
    chain.push(bind(object, owner, record.name(), &address::shown(record), now));
    chain
}

/// Tells a claim why it waits. Whoever asks by name is answered on the terminal.
pub(super) fn told(claim: &Claim, line: &PendingLine, now: Seconds) -> Chain {
    if claim.gate == Gate::Asked {
        return Chain::new();
    }
    vec![failed(&claim.owner, line.reason, line.message.clone(), now)]
}

fn failed(owner: &Arc<Owner>, reason: Reason, message: String, now: Seconds) -> Write {
    let ready = Ready::no(reason, message);
    let edit = move |object: &Object| {
        if ready.is_said(object) {
            return Edited::Already;
        }
        if object.deleting() || bound_to(object).is_some() || systems::paused(object).is_some() {
            return Edited::Moot;
        }
        let mut edited = object.clone();
        ready.say(&mut edited, now);
        Edited::To(Box::new(edited))
    };
    update(owner, Action::UpdateStatus(Edit::new(edit)))
}

/// Lets a claim go that is being deleted: its records first, then its finalizer.
fn go(owner: &Arc<Owner>, records: &[&Object], marks: &Marks) -> Chain {
    let records = records.iter().flat_map(|r| Write::removal(ADDRESS, r, marks.record));
    records.chain([update(owner, Action::Free(marks.claim))]).collect()
}

/// Does nobody else hold it? Who does still uses its address: OpenShift's Machine API, for one, until the
/// virtual machine is gone.
fn only_ours(object: &Object, marks: &Marks) -> bool {
    object.array("/metadata/finalizers").iter().all(|f| f == marks.claim || f == FOREGROUND)
}
