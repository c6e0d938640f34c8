//! What an API server does to an object that is read, replaced or made; pure.

use crate::model::{Kind, Object};
use serde_json::{Map, Value};

/// Fields that only the server sets.
const SERVERS: [&str; 4] = ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"];

/// The namespace of namespaced objects that name none.
pub(super) const DEFAULT: &str = "default";

/// What a file may leave out and an API server always says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Identity<'a> {
    /// The kind that the object is of.
    pub(super) kind: Kind,
    /// Its group and version, where the object itself names none (items of typed lists).
    pub(super) api_version: Option<&'a str>,
    /// Its namespace, empty for cluster-scoped kinds.
    pub(super) namespace: &'a str,
    /// How often the cluster had changed when this object did; 0: not since it was read.
    pub(super) edit: u64,
}

/// The resourceVersion of an object: that of its file, then another one after every change.
pub(super) fn version(value: &Value, edit: u64) -> String {
    let read = match value.pointer("/metadata/resourceVersion") {
        Some(Value::String(text)) if !text.is_empty() => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => "0".to_owned(),
    };
    if edit == 0 { read } else { format!("{read}-{edit}") }
}

/// The object as an API server would answer it.
pub(super) fn shown(value: &Value, identity: Identity<'_>) -> Object {
    let version = version(value, identity.edit);
    let mut object = Object(value.clone());
    if let (Some(api_version), Value::Object(map)) = (identity.api_version, &mut object.0) {
        map.insert("apiVersion".to_owned(), api_version.into());
        map.insert("kind".to_owned(), identity.kind.kind.into());
    }
    let metadata = object.ensure_object(&["metadata"]);
    if identity.kind.namespaced {
        metadata.insert("namespace".to_owned(), identity.namespace.into());
    }
    metadata.insert("resourceVersion".to_owned(), version.into());
    object
}

/// What an object becomes in its file when it is replaced: what the server sets stays as it was, and what the
/// file left out stays out.
pub(super) fn replaced(old: &Value, new: &Object) -> Value {
    let mut new = new.clone();
    let empty = Map::new();
    let was = old.get("metadata").and_then(Value::as_object).unwrap_or(&empty);
    let metadata = new.ensure_object(&["metadata"]);
    for key in SERVERS.into_iter().chain(["namespace", "resourceVersion"]) {
        keep(was, metadata, key);
    }
    if let (Value::Object(old), Value::Object(new)) = (old, &mut new.0) {
        for key in ["apiVersion", "kind"] {
            if !(old.contains_key(key) && new.contains_key(key)) {
                keep(old, new, key);
            }
        }
    }
    new.0
}

/// What an object becomes in its file when its status is replaced: all else stays as it was.
pub(super) fn with_status(old: &Value, new: &Object) -> Value {
    let mut value = old.clone();
    if let Value::Object(map) = &mut value {
        match new.0.get("status") {
            Some(status) => drop(map.insert("status".to_owned(), status.clone())),
            None => drop(map.shift_remove("status")),
        }
    }
    value
}

/// What becomes of an object that is deleted; `None`: it goes at once.
pub(super) fn deleted(old: &Value, now: &str) -> Option<Value> {
    if finalizers(old).is_empty() {
        return None;
    }
    let mut value = Object(old.clone());
    if !deleting(old) {
        value.ensure_object(&["metadata"]).insert("deletionTimestamp".to_owned(), now.into());
    }
    Some(value.0)
}

fn keep(old: &Map<String, Value>, new: &mut Map<String, Value>, key: &str) {
    match old.get(key) {
        Some(value) => {
            new.insert(key.to_owned(), value.clone());
        }
        None => {
            new.shift_remove(key);
        }
    }
}

/// What a new object is in its file.
pub(super) fn made(new: &Object) -> Value {
    let mut new = new.clone();
    let metadata = new.ensure_object(&["metadata"]);
    for key in SERVERS.into_iter().chain(["resourceVersion"]) {
        metadata.shift_remove(key);
    }
    new.0
}

/// True if the change lets a deleted object go: its last finalizer is gone.
pub(super) fn lets_go(old: &Value, new: &Value) -> bool {
    deleting(old) && !finalizers(old).is_empty() && finalizers(new).is_empty()
}

/// A finalizer that is put on an object that is being deleted: no API server takes that.
pub(super) fn late_finalizer<'a>(old: &Value, new: &'a Value) -> Option<&'a Value> {
    finalizers(new).iter().find(|f| deleting(old) && !finalizers(old).contains(f))
}

fn deleting(value: &Value) -> bool {
    value.pointer("/metadata/deletionTimestamp").is_some_and(|v| !v.is_null())
}

fn finalizers(value: &Value) -> &[Value] {
    value.pointer("/metadata/finalizers").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The part of an `apiVersion` before the slash, empty for the core group.
pub(super) fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// Groups that every Kubernetes API server has; all other kinds need a definition to be served.
pub(super) fn is_built_in(group: &str) -> bool {
    const GROUPS: [&str; 22] = [
        "",
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "apps",
        "authentication.k8s.io",
        "authorization.k8s.io",
        "autoscaling",
        "batch",
        "certificates.k8s.io",
        "coordination.k8s.io",
        "discovery.k8s.io",
        "events.k8s.io",
        "flowcontrol.apiserver.k8s.io",
        "internal.apiserver.k8s.io",
        "networking.k8s.io",
        "node.k8s.io",
        "policy",
        "rbac.authorization.k8s.io",
        "resource.k8s.io",
        "scheduling.k8s.io",
        "storage.k8s.io",
    ];
    GROUPS.contains(&group)
}
