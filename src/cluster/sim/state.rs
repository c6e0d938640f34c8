//! What a write makes of an object: versions, generations, finalizers, and the fields that are the server's own.

use super::super::ClusterError;
use super::history::History;
use crate::model::{Kind, Object, ObjectRef};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The objects of a kind by `namespace/name`, in the order of the server's own keys.
pub(super) type Shelf = BTreeMap<String, Arc<Object>>;

/// Which part of an object a write is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All but the status.
    Main,
    /// The status alone.
    Status,
}

#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) shelves: BTreeMap<Kind, Shelf>,
    pub(super) history: History,
    namespaces: BTreeSet<String>,
    uids: u64,
}

impl State {
    pub(super) fn new(kinds: &[Kind]) -> Self {
        Self { shelves: kinds.iter().map(|k| (*k, Shelf::new())).collect(), ..Self::default() }
    }

    pub(super) fn serves(&self, kind: Kind) -> bool {
        self.shelves.contains_key(&kind)
    }

    pub(super) fn namespace(&mut self, name: &str) {
        self.namespaces.insert(name.to_owned());
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (Kind, &Arc<Object>)> {
        self.shelves.iter().flat_map(|(kind, shelf)| shelf.values().map(|object| (*kind, object)))
    }

    pub(super) fn shelf(&self, kind: Kind) -> Result<&Shelf, ClusterError> {
        self.shelves.get(&kind).ok_or_else(|| ClusterError::NotServed(kind.resource()))
    }

    /// The objects of a kind in a namespace, or in all.
    pub(super) fn of(
        &self,
        kind: Kind,
        namespace: &str,
    ) -> Result<impl Iterator<Item = (&String, &Arc<Object>)>, ClusterError> {
        let all = namespace.is_empty();
        Ok(self.shelf(kind)?.iter().filter(move |(_, object)| all || object.namespace() == namespace))
    }

    pub(super) fn find(&self, target: &ObjectRef) -> Result<&Arc<Object>, ClusterError> {
        let found = self.shelf(target.kind)?.get(&key(target.kind, &target.namespace, &target.name));
        found.ok_or_else(|| ClusterError::NotFound(target.to_string()))
    }

    /// Makes an object. The status of custom resources is a part of its own, and not made with them.
    pub(super) fn make(&mut self, kind: Kind, object: &Object) -> Result<Object, ClusterError> {
        let reference = kind.at(object.namespace(), object.name());
        if self.find(&reference).is_ok() {
            return Err(ClusterError::Exists(reference.to_string()));
        }
        self.shelf(kind)?;
        if kind.namespaced && !self.namespaces.contains(object.namespace()) {
            return Err(ClusterError::NoNamespace(object.namespace().to_owned()));
        }
        let mut made = object.clone();
        self.uids += 1;
        let metadata = made.ensure_object(&["metadata"]);
        metadata.insert("uid".to_owned(), json!(format!("sim-{}", self.uids)));
        if custom(kind) {
            metadata.insert("generation".to_owned(), json!(1));
        }
        if custom(kind) && !whole(kind) {
            made.ensure_object(&[]).shift_remove("status");
        }
        if kind.kind == "Namespace" {
            self.namespace(object.name());
        }
        Ok(self.store(kind, made))
    }

    /// Replaces one part of an object.
    pub(super) fn update(&mut self, kind: Kind, object: &Object, part: Part) -> Result<Object, ClusterError> {
        let reference = kind.at(object.namespace(), object.name());
        let before = self.find(&reference)?.clone();
        guard(kind, object, &before)?;
        let mut after = match part {
            Part::Main => main_part(kind, object, &before),
            Part::Status => status_part(object, &before),
        };
        if after == *before {
            return Ok((*before).clone());
        }
        let held = before.array("/metadata/finalizers");
        if before.deleting() && after.array("/metadata/finalizers").iter().any(|f| !held.contains(f)) {
            let why = "no new finalizers can be added if the object is being deleted".to_owned();
            return Err(ClusterError::Refused { what: format!("update {reference}"), why });
        }
        if custom(kind) && content(kind, &after) != content(kind, &before) {
            raise_generation(&mut after);
        }
        if after.deleting() && after.array("/metadata/finalizers").is_empty() {
            self.remove(&reference);
            return Ok(after);
        }
        Ok(self.store(kind, after))
    }

    /// Marks an object as deleted; it goes when nothing holds it any more.
    pub(super) fn delete(
        &mut self,
        reference: &ObjectRef,
        finalizers: Vec<Value>,
    ) -> Result<(), ClusterError> {
        let before = self.find(reference)?;
        if finalizers.is_empty() {
            self.remove(reference);
            return Ok(());
        }
        let mut after = (**before).clone();
        if !after.deleting() {
            let metadata = after.ensure_object(&["metadata"]);
            metadata.insert("deletionTimestamp".to_owned(), json!("2026-01-01T00:00:00Z"));
            if custom(reference.kind) {
                raise_generation(&mut after);
            }
        }
        after.ensure_object(&["metadata"]).insert("finalizers".to_owned(), finalizers.into());
        if after != **before {
            self.store(reference.kind, after);
        }
        Ok(())
    }

    fn store(&mut self, kind: Kind, mut object: Object) -> Object {
        let version = self.history.next();
        let metadata = object.ensure_object(&["metadata"]);
        tidy(metadata);
        metadata.insert("resourceVersion".to_owned(), json!(version.to_string()));
        let key = key(kind, object.namespace(), object.name());
        let stored = Arc::new(object.clone());
        let before = self.shelves.entry(kind).or_default().insert(key.clone(), stored.clone());
        self.history.note(version, kind, key, before, Some(stored));
        object
    }

    fn remove(&mut self, reference: &ObjectRef) {
        let version = self.history.next();
        let key = key(reference.kind, &reference.namespace, &reference.name);
        let before = self.shelves.get_mut(&reference.kind).and_then(|shelf| shelf.remove(&key));
        self.history.note(version, reference.kind, key, before, None);
    }
}

/// Custom resources count generations, keep their status apart and are never replaced blindly.
fn custom(kind: Kind) -> bool {
    !kind.group.is_empty()
}

/// Has no status subresource: its status is written with the rest of it.
fn whole(kind: Kind) -> bool {
    kind.plural == "machines" && matches!(kind.group, "cluster.k8s.io" | "machine.k8s.io")
        || kind.plural == "virtualmachineinstances"
}

/// What the writer knew must still be so.
fn guard(kind: Kind, object: &Object, before: &Object) -> Result<(), ClusterError> {
    let reference = kind.at(object.namespace(), object.name()).to_string();
    let differs = |given: &str, kept: &str| !given.is_empty() && given != kept;
    if differs(object.uid(), before.uid()) {
        return Err(ClusterError::Conflict(reference));
    }
    if object.resource_version().is_empty() && custom(kind) {
        let why = "metadata.resourceVersion: must be specified for an update".to_owned();
        return Err(ClusterError::Refused { what: format!("update {reference}"), why });
    }
    if differs(object.resource_version(), before.resource_version()) {
        return Err(ClusterError::Conflict(reference));
    }
    Ok(())
}

/// The object with what a write to it leaves alone: the server's own fields, and the status.
fn main_part(kind: Kind, object: &Object, before: &Object) -> Object {
    let mut after = object.clone();
    for key in ["uid", "deletionTimestamp", "creationTimestamp", "generation", "resourceVersion"] {
        keep(after.ensure_object(&["metadata"]), key, before.0["metadata"].get(key));
    }
    tidy(after.ensure_object(&["metadata"]));
    if !whole(kind) {
        keep(after.ensure_object(&[]), "status", before.0.get("status"));
    }
    after
}

/// The object as it was, with another status.
fn status_part(object: &Object, before: &Object) -> Object {
    let mut after = before.clone();
    keep(after.ensure_object(&[]), "status", object.0.get("status"));
    after
}

fn keep(map: &mut Map<String, Value>, key: &str, value: Option<&Value>) {
    match value {
        Some(value) => map.insert(key.to_owned(), value.clone()),
        None => map.shift_remove(key),
    };
}

/// Lists and maps that are empty are not there.
fn tidy(metadata: &mut Map<String, Value>) {
    for key in ["finalizers", "ownerReferences", "annotations", "labels"] {
        let empty = |v: &Value| {
            v.is_null() || v.as_array().is_some_and(Vec::is_empty) || v.as_object().is_some_and(Map::is_empty)
        };
        if metadata.get(key).is_some_and(empty) {
            metadata.shift_remove(key);
        }
    }
}

fn raise_generation(object: &mut Object) {
    let next = object.at("/metadata/generation").and_then(Value::as_u64).unwrap_or(0) + 1;
    object.ensure_object(&["metadata"]).insert("generation".to_owned(), json!(next));
}

/// What an object is about.
fn content(kind: Kind, object: &Object) -> impl PartialEq + '_ {
    let fields = object.0.as_object().into_iter().flatten();
    let counts = move |key: &str| key != "metadata" && (key != "status" || whole(kind));
    fields.filter(|(key, _)| counts(key)).collect::<BTreeMap<_, _>>()
}

pub(super) fn key(kind: Kind, namespace: &str, name: &str) -> String {
    if kind.namespaced { format!("{namespace}/{name}") } else { name.to_owned() }
}
