//! IPAMClaims: how one is made, what is mended on one that is there, and what it shows.

use super::machine::{Machine, Whose};
use super::name;
use super::{CLAIM, FINALIZER, NAME, VM, VM_LABEL, VM_NAME};
use crate::model::{
    Action, ClaimChange, ClaimLine, Edit, Edited, Kind, Make, Object, ObjectRef, Problem, Write,
};
use serde_json::{Value, json};

/// Makes a claim of that name for a network of a machine.
pub fn make(owner: (Kind, &Object), name: &str, network: &str) -> Write {
    let (_, object) = owner;
    let mut metadata = json!({ "name": name, "namespace": object.namespace() });
    metadata["labels"] = json!({ (VM_LABEL): name::label(object.name()) });
    if name::label(object.name()) != object.name() {
        metadata["annotations"] = json!({ (VM_NAME): object.name() });
    }
    metadata["finalizers"] = json!([FINALIZER]);
    if let Some(reference) = reference(owner) {
        metadata["ownerReferences"] = json!([reference]);
    }
    let made = Object(json!({
        "apiVersion": format!("{}/{}", CLAIM.group, CLAIM.versions[0]),
        "kind": CLAIM.kind,
        "metadata": metadata,
        "spec": { "network": network, "interface": "" },
    }));
    let (uid, network) = (object.uid().to_owned(), network.to_owned());
    let same = move |object: &Object| {
        let whose = Whose::of(object);
        !object.deleting()
            && object.text("/spec/network") == Some(&network)
            && whose.is_some_and(|w| uid.is_empty() || w.uid == uid)
    };
    Write {
        target: CLAIM.at(object.namespace(), name),
        uid: String::new(),
        action: Action::Create(Make::new(move |_| made.clone(), same)),
    }
}

/// Whom a claim belongs to. Owners without a uid (files) are no owners to a garbage collector.
fn reference((kind, object): (Kind, &Object)) -> Option<Value> {
    let reference = json!({
        "apiVersion": format!("{}/{}", kind.group, kind.versions[0]), "kind": kind.kind,
        "name": object.name(), "uid": object.uid(), "controller": true, "blockOwnerDeletion": true,
    });
    (!object.uid().is_empty()).then_some(reference)
}

/// Puts back what a claim of a machine that lives must have; `None` where it has all of it.
pub fn mend(claim: &Object, machine: &Machine<'_>) -> Option<Write> {
    let (kind, object) = machine.owner()?;
    // What is left running of a machine is no owner for a claim that has lost its own: the machine may come back.
    let reference = machine.vm.and_then(|_| reference((kind, object)));
    let label = name::label(object.name());
    let long = (label != object.name()).then(|| object.name().to_owned());
    // What runs may have been there before its VirtualMachine.
    let past = machine.vm.and(machine.vmi).map(|vmi| vmi.uid().to_owned()).unwrap_or_default();
    let edit = Edit::new(move |object| {
        if object.deleting() {
            return Edited::Already;
        }
        let mut edited = match Edit::hold(FINALIZER, |_| false).apply(object) {
            Edited::To(held) => *held,
            _ => object.clone(),
        };
        if object.label(VM_LABEL) != Some(&label) {
            edited.ensure_object(&["metadata", "labels"]).insert(VM_LABEL.to_owned(), json!(label));
        }
        if let Some(long) = long.as_ref().filter(|long| object.annotation(VM_NAME) != Some(long)) {
            edited.annotate(VM_NAME, long);
        }
        if let Some(reference) = &reference {
            own(&mut edited, reference, &past);
        }
        if edited == *object { Edited::Already } else { Edited::To(Box::new(edited)) }
    });
    let write = Write {
        target: CLAIM.at(claim.namespace(), claim.name()),
        uid: claim.uid().to_owned(),
        action: Action::Update(edit.clone()),
    };
    matches!(edit.apply(claim), Edited::To(_)).then_some(write)
}

fn own(claim: &mut Object, reference: &Value, past: &str) {
    let mut owners = claim.array("/metadata/ownerReferences").to_vec();
    if owners.iter().any(|o| o["uid"] == reference["uid"]) {
        return;
    }
    owners.retain(|o| past.is_empty() || o["uid"] != *past);
    let mut reference = reference.clone();
    if owners.iter().any(|o| o["controller"] == true) {
        reference["controller"] = json!(false);
    }
    owners.push(reference);
    claim.ensure_object(&["metadata"]).insert("ownerReferences".to_owned(), owners.into());
}

/// A claim as it is listed.
pub fn line(claim: &Object, wrong: &[String]) -> ClaimLine {
    ClaimLine {
        system: NAME,
        kind: CLAIM.kind,
        namespace: claim.namespace().to_owned(),
        name: claim.name().to_owned(),
        vm: Whose::of(claim).map(|w| w.name).unwrap_or_default(),
        network: claim.text("/spec/network").unwrap_or_default().to_owned(),
        addresses: claim.array("/status/ips").iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        wrong: wrong.join("; "),
    }
}

/// What a write has done with a claim.
pub fn changed(before: Option<&Object>, after: Option<&Object>) -> Option<ClaimChange> {
    let is = |o: &&Object| o.kind() == CLAIM.kind && o.group() == CLAIM.group;
    let held = |o: Option<&Object>| o.is_some_and(|o| o.held_by(FINALIZER));
    let claim = before.or(after).filter(is)?;
    let change = match (before, after) {
        (None, _) => "made",
        (Some(_), None) => "released",
        _ if held(before) && !held(after) => "released",
        _ => "mended",
    };
    Some(ClaimChange { claim: line(claim, &[]), change })
}

/// Why the CNI has given a claim no addresses, if it says so.
pub fn refused(claim: &Object) -> Option<String> {
    let conditions = claim.array("/status/conditions").iter();
    let text = |c: &Value, key: &str| c.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let condition = conditions.into_iter().find(|c| text(c, "type") == "IPsAllocated")?;
    let says =
        || format!("IPsAllocated is False ({}): {}", text(condition, "reason"), text(condition, "message"));
    (text(condition, "status") == "False").then(says)
}

/// Somebody else's claim has the name that one of ours should have.
pub fn taken(target: &ObjectRef, by: &Object, owner: (Kind, &Object), network: &str) -> Problem {
    let name =
        |at: ObjectRef, uid: &str| if uid.is_empty() { at.to_string() } else { format!("{at} (uid {uid})") };
    let theirs = match Whose::of(by) {
        Some(Whose { kind: Some(kind), name: theirs, uid }) => name(kind.at(by.namespace(), &theirs), &uid),
        Some(Whose { name: theirs, .. }) => format!("{}, without an owner", VM.at(by.namespace(), &theirs)),
        None => "somebody else".to_owned(),
    };
    let of = by.text("/spec/network").unwrap_or_default();
    let ours = name(owner.0.at(owner.1.namespace(), owner.1.name()), owner.1.uid());
    let message = format!(
        "it is of {theirs}, for network {of:?}, and {ours} needs it for network {network:?}: it is not taken over; remove it if nothing uses it"
    );
    Problem::new("NameTaken", target, message)
}
