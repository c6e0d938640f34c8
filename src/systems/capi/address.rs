//! Cluster API's `IPAddresses`: what they show to be in use, and how a claim gets one.

use super::index::{Index, bound_to, named_pool};
use super::serving::Serving;
use super::{ADDRESS, CLAIM, CLUSTER_NAME, Marks, NAME, OWN_POOLS, claim, pool};
use crate::addr::parse_address;
use crate::model::{
    Action, Adopt, Chain, Chore, Claim, Edit, Edited, Gate, Given, Holder, Holding, Make, Object, Owner,
    Pool, Problem, Survey, When, Write,
};
use crate::systems::{Scene, orphaned};
use serde_json::{Value, json};
use std::sync::Arc;

/// An address is in use by its claim, or by nobody that is known.
pub(super) fn survey(object: &Object, index: &Index<'_>, survey: &mut Survey) {
    let seen_on = Arc::new(ADDRESS.at(object.namespace(), object.name()));
    let address = match parse_address(object.text("/spec/address").unwrap_or_default()) {
        Ok(address) => address,
        Err(error) => {
            let message = format!("{error}; mipam cannot tell which address it uses, so mend it by hand");
            survey.problems.push(Problem::new("Unreadable", &*seen_on, message));
            return;
        }
    };
    let name = object.text("/spec/claimRef/name").unwrap_or_default();
    let claim = index.observed.find(&CLAIM.at(object.namespace(), name));
    // Its claim says which pool it is from; where others serve, their records are not mipam's to keep.
    let target = claim.and_then(named_pool).filter(|t| index.serving.serves(t.kind));
    let alone = claim.is_none() && orphan(object, index, survey);
    let adopt = match (claim, &target) {
        _ if alone => Adopt::Never,
        (Some(claim), Some(_)) if bound_to(claim) == Some(object.name()) => Adopt::Always,
        // Nobody has told the claim yet, so nothing uses it.
        (Some(_), Some(_)) => Adopt::IfFree,
        _ => Adopt::No,
    };
    let pools = claim.zip(target.as_ref()).and_then(|(claim, target)| index.choice(claim, target).ok());
    survey.holdings.push(Holding {
        address,
        seen_on,
        holder: claim.map(|c| Holder { owner: Owner::of(NAME, CLAIM, c), device: "".into() }),
        stands_for: claim.and_then(made_for),
        pools,
        adopt,
    });
}

/// A record of ours whose claim is gone, or was never there: nobody would let go of it, or delete it.
fn orphan(object: &Object, index: &Index<'_>, survey: &mut Survey) -> bool {
    let Some(target) = named_pool(object).filter(|t| index.serving.serves(t.kind)) else { return false };
    let marks = Marks::of(target.kind);
    let reference = ADDRESS.at(object.namespace(), object.name());
    if !object.deleting() {
        let claim = object.text("/spec/claimRef/name").unwrap_or_default();
        let known = index.choice(object, &target).is_ok();
        let problem = known.then(|| orphaned(&reference, &CLAIM.at(object.namespace(), claim)));
        survey.problems.extend(problem);
        return known;
    }
    if object.held_by(marks.record) && index.paused(object, &target).is_none() {
        let free =
            Write { target: reference, uid: object.uid().to_owned(), action: Action::Free(marks.record) };
        let owner = Owner::of(NAME, ADDRESS, object);
        survey.chores.push(Chore { owner, writes: vec![free], when: When::Before });
    }
    true
}

/// The machine that a claim was made for.
fn made_for(claim: &Object) -> Option<Arc<str>> {
    let owners = claim.array("/metadata/ownerReferences");
    let controller = owners.iter().find(|o| o.get("controller") == Some(&Value::Bool(true)));
    let owner = controller.or(owners.first())?;
    owner.get("name").and_then(Value::as_str).map(Into::into)
}

/// Gives a claim its address: the claim's finalizer, the record, the claim's status. Where there is a record already,
/// what is missing besides.
pub(super) fn give(claim: &Claim, given: &[Given], scene: &Scene<'_>) -> Chain {
    let Some(object) = scene.observed.find(&claim.owner.reference(CLAIM)) else { return Chain::new() };
    let target = named_pool(object);
    // Nobody serves a claim that only a person has served, so nobody would take a finalizer off it again.
    let served = target.as_ref().filter(|t| Serving::of(scene.observed, scene.config).serves(t.kind));
    let marks = served.map(|t| Marks::of(t.kind));
    if given.is_empty() || claim.gate == Gate::Asked {
        let of_claim = |r: &&Object| {
            r.namespace() == object.namespace() && r.text("/spec/claimRef/name") == Some(object.name())
        };
        if let Some(record) = scene.observed.all(ADDRESS).find(of_claim) {
            return claim::settle(object, &claim.owner, record, marks, scene.now);
        }
    }
    let [given] = given else { return Chain::new() };
    let Some(part) = scene.pools.iter().find(|p| p.name == given.pool) else { return Chain::new() };
    let pool = target.as_ref().and_then(|t| Some((t.kind, scene.observed.find(t)?)));
    let mut chain = Chain::new();
    let unheld = pool.filter(|(kind, p)| OWN_POOLS.contains(kind) && !p.held_by(pool::FINALIZER));
    chain.extend(unheld.map(|(kind, pool)| pool::hold(kind, pool)));
    chain.extend(marks.map(|marks| claim::hold(&claim.owner, marks)));
    chain.push(record(object, given, part, pool.map(|(_, pool)| pool), marks));
    let shown = format!("{}/{}", given.address, part.prefix);
    chain.push(claim::bind(object, &claim.owner, object.name(), &shown, scene.now));
    chain
}

/// The record of an address, as the in-cluster provider writes it.
fn record(
    claim: &Object,
    given: &Given,
    part: &Pool,
    pool: Option<&Object>,
    marks: Option<&'static Marks>,
) -> Write {
    let target = ADDRESS.at(claim.namespace(), claim.name());
    let mut spec = json!({
        "address": given.address.to_string(),
        "claimRef": { "name": claim.name() },
        "poolRef": claim.at("/spec/poolRef"),
        "prefix": part.prefix,
    });
    if let Some(gateway) = part.gateway {
        spec["gateway"] = json!(gateway.to_string());
    }
    let mut metadata = json!({ "name": claim.name(), "namespace": claim.namespace() });
    if let Some(marks) = marks {
        metadata["finalizers"] = json!([marks.record]);
    }
    let owners = pool.into_iter().filter_map(|pool| owner(pool, false));
    let owners: Vec<Value> = owner(claim, true).into_iter().chain(owners).collect();
    if !owners.is_empty() {
        metadata["ownerReferences"] = owners.into();
    }
    if let Some(cluster) = claim.label(CLUSTER_NAME).or_else(|| claim.text("/spec/clusterName")) {
        metadata["labels"] = json!({ (CLUSTER_NAME): cluster });
    }
    let (name, address) = (claim.name().to_owned(), spec["address"].clone());
    // The two kinds are served in the same versions.
    let made = Object(json!({
        "apiVersion": claim.0.get("apiVersion"), "kind": ADDRESS.kind, "metadata": metadata, "spec": spec,
    }));
    let same = move |object: &Object| {
        !object.deleting()
            && object.text("/spec/claimRef/name") == Some(&name)
            && object.at("/spec/address") == Some(&address)
    };
    Write { target, uid: String::new(), action: Action::Create(Make::new(move |_| made.clone(), same)) }
}

/// A reference to whom a record belongs. Owners without a uid (files) are no owners to a garbage collector.
fn owner(object: &Object, controller: bool) -> Option<Value> {
    let mut reference = json!({
        "apiVersion": object.0.get("apiVersion"), "kind": object.kind(),
        "name": object.name(), "uid": object.uid(), "blockOwnerDeletion": true,
    });
    if controller {
        reference["controller"] = json!(true);
    }
    (!object.uid().is_empty()).then_some(reference)
}

/// The address of a record as people write it.
pub(super) fn shown(record: &Object) -> String {
    let prefix = record.at("/spec/prefix").and_then(Value::as_u64);
    let address = record.text("/spec/address").unwrap_or_default();
    prefix.map_or_else(|| address.to_owned(), |prefix| format!("{address}/{prefix}"))
}

/// Is a record protected, and known to the garbage collector as that of this very claim?
pub(super) fn is_whole(record: &Object, claim: &Object, marks: &Marks) -> bool {
    let owned = |o: &Value| o.get("uid").and_then(Value::as_str) == Some(claim.uid());
    let owned = claim.uid().is_empty() || record.array("/metadata/ownerReferences").iter().any(owned);
    owned && record.held_by(marks.record)
}

/// Makes a record that others have left whole: the collector would take away one whose owner it does not find.
pub(super) fn mend(record: &Object, claim: &Object, marks: &'static Marks) -> Write {
    let claim = claim.clone();
    let edit = move |object: &Object| {
        if object.deleting() || is_whole(object, &claim, marks) {
            return Edited::Already;
        }
        let mut edited = object.clone();
        if let Edited::To(held) = Edit::hold(marks.record, |_| false).apply(object) {
            edited = *held;
        }
        let mut owners = object.array("/metadata/ownerReferences").to_vec();
        let past = |o: &Value| o["kind"] == CLAIM.kind && o["name"] == claim.name();
        owners.retain(|o| !past(o));
        let controlled = owners.iter().any(|o| o["controller"] == true);
        owners.extend(owner(&claim, !controlled));
        if !owners.is_empty() {
            edited.ensure_object(&["metadata"]).insert("ownerReferences".to_owned(), owners.into());
        }
        Edited::To(Box::new(edited))
    };
    let target = ADDRESS.at(record.namespace(), record.name());
    Write { target, uid: record.uid().to_owned(), action: Action::Update(Edit::new(edit)) }
}
