//! The simulation: an API server in memory, with resourceVersion, uids, finalizers and deletion as the real one
//! has them. Tests put faults and interleavings around it; a conformance test holds it to the real server.

use super::{Answer, Cluster, ClusterError, Traffic};
use crate::model::{Kind, Object, ObjectRef};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// A server in memory. Clones of what it holds are handed out, as over a wire.
#[derive(Debug, Default)]
pub struct SimCluster {
    state: RefCell<State>,
    traffic: Traffic,
}

type Key = (Kind, String, String);

#[derive(Debug, Default)]
struct State {
    objects: BTreeMap<Key, Object>,
    served: BTreeSet<Kind>,
    namespaces: BTreeSet<String>,
    version: u64,
    uids: u64,
}

impl State {
    fn stamp(&mut self, object: &mut Object) {
        self.version += 1;
        let version = self.version.to_string();
        object.ensure_object(&["metadata"]).insert("resourceVersion".to_owned(), json!(version));
    }
}

impl SimCluster {
    /// A server that serves these kinds.
    pub fn new(kinds: &[Kind]) -> Self {
        let state = State { served: kinds.iter().copied().collect(), ..State::default() };
        Self { state: RefCell::new(state), traffic: Traffic::default() }
    }

    /// Makes a namespace.
    pub fn namespace(&self, name: &str) {
        self.state.borrow_mut().namespaces.insert(name.to_owned());
    }

    /// Puts an object there as a user would, with its status; its namespace is made as needed.
    pub fn put(&self, kind: Kind, object: &Object) -> Result<Object, ClusterError> {
        self.namespace(object.namespace());
        self.make(kind, object)
    }

    /// Deletes as a user would: finalizers hold the object.
    pub fn delete(&self, target: &ObjectRef) -> Result<(), ClusterError> {
        let state = &mut *self.state.borrow_mut();
        let key = key(target.kind, &target.namespace, &target.name);
        let object = state.objects.get(&key).ok_or_else(|| ClusterError::NotFound(target.to_string()))?;
        if object.array("/metadata/finalizers").is_empty() {
            state.objects.remove(&key);
            return Ok(());
        }
        if !object.deleting() {
            let mut object = object.clone();
            let next = generation(&object) + 1;
            let metadata = object.ensure_object(&["metadata"]);
            metadata.insert("deletionTimestamp".to_owned(), json!("2026-01-01T00:00:00Z"));
            metadata.insert("generation".to_owned(), json!(next));
            state.stamp(&mut object);
            state.objects.insert(key, object);
        }
        Ok(())
    }

    /// Changes an object as a user would, whatever its version.
    pub fn edit(&self, target: &ObjectRef, change: impl FnOnce(&mut Object)) -> Result<Object, ClusterError> {
        let found =
            self.state.borrow().objects.get(&key(target.kind, &target.namespace, &target.name)).cloned();
        let mut object = found.ok_or_else(|| ClusterError::NotFound(target.to_string()))?;
        change(&mut object);
        self.swap(target.kind, &object)
    }

    /// Everything there is, for checks.
    pub fn all(&self) -> Vec<(Kind, Object)> {
        self.state.borrow().objects.iter().map(|(key, object)| (key.0, object.clone())).collect()
    }

    fn make(&self, kind: Kind, object: &Object) -> Result<Object, ClusterError> {
        let state = &mut *self.state.borrow_mut();
        let reference = kind.at(object.namespace(), object.name());
        if !state.served.contains(&kind) {
            return Err(ClusterError::NotServed(kind.resource()));
        }
        if kind.namespaced && !state.namespaces.contains(object.namespace()) {
            return Err(ClusterError::NoNamespace(object.namespace().to_owned()));
        }
        let key = key(kind, object.namespace(), object.name());
        if state.objects.contains_key(&key) {
            return Err(ClusterError::Exists(reference.to_string()));
        }
        let mut made = object.clone();
        state.uids += 1;
        let metadata = made.ensure_object(&["metadata"]);
        metadata.insert("uid".to_owned(), json!(format!("sim-{}", state.uids)));
        metadata.insert("generation".to_owned(), json!(1));
        state.stamp(&mut made);
        if kind.kind == "Namespace" {
            state.namespaces.insert(object.name().to_owned());
        }
        state.objects.insert(key, made.clone());
        Ok(made)
    }

    fn swap(&self, kind: Kind, object: &Object) -> Result<Object, ClusterError> {
        let state = &mut *self.state.borrow_mut();
        let key = key(kind, object.namespace(), object.name());
        let reference = kind.at(object.namespace(), object.name()).to_string();
        let before =
            state.objects.get(&key).ok_or_else(|| ClusterError::NotFound(reference.clone()))?.clone();
        let other_uid = !object.uid().is_empty() && object.uid() != before.uid();
        if object.resource_version() != before.resource_version() || other_uid {
            return Err(ClusterError::Conflict(reference));
        }
        let mut after = object.clone();
        for key in ["uid", "deletionTimestamp", "creationTimestamp", "generation"] {
            let kept = before.0["metadata"].get(key).cloned();
            let metadata = after.ensure_object(&["metadata"]);
            match kept {
                Some(value) => metadata.insert(key.to_owned(), value),
                None => metadata.shift_remove(key),
            };
        }
        // Status is a subresource: replacing the object leaves it as it is.
        match before.0.get("status") {
            Some(status) => drop(after.ensure_object(&[]).insert("status".to_owned(), status.clone())),
            None => drop(after.ensure_object(&[]).shift_remove("status")),
        }
        if same(&after, &before) {
            return Ok(before);
        }
        let held = before.array("/metadata/finalizers");
        if before.deleting() && after.array("/metadata/finalizers").iter().any(|f| !held.contains(f)) {
            let why = "no new finalizers can be added if the object is being deleted".to_owned();
            return Err(ClusterError::Refused { what: format!("update {reference}"), why });
        }
        if after.0.get("spec") != before.0.get("spec") {
            let next = generation(&before) + 1;
            after.ensure_object(&["metadata"]).insert("generation".to_owned(), json!(next));
        }
        if after.deleting() && after.array("/metadata/finalizers").is_empty() {
            state.objects.remove(&key);
            return Ok(after);
        }
        state.stamp(&mut after);
        state.objects.insert(key, after.clone());
        Ok(after)
    }

    fn select(&self, kind: Kind, namespace: Option<&str>) -> Result<Vec<Object>, ClusterError> {
        let state = self.state.borrow();
        if !state.served.contains(&kind) {
            return Err(ClusterError::NotServed(kind.resource()));
        }
        let of_kind = state.objects.iter().filter(|(key, _)| key.0 == kind);
        Ok(of_kind.filter(|(key, _)| namespace.is_none_or(|n| n == key.1)).map(|(_, o)| o.clone()).collect())
    }
}

fn generation(object: &Object) -> u64 {
    object.at("/metadata/generation").and_then(Value::as_u64).unwrap_or(0)
}

/// Equal but for the order of keys and for lists that are empty instead of missing.
fn same(a: &Object, b: &Object) -> bool {
    let plain = |o: &Object| {
        let mut o = o.clone();
        if o.array("/metadata/finalizers").is_empty() {
            o.ensure_object(&["metadata"]).shift_remove("finalizers");
        }
        o
    };
    plain(a) == plain(b)
}

fn key(kind: Kind, namespace: &str, name: &str) -> Key {
    (kind, if kind.namespaced { namespace.to_owned() } else { String::new() }, name.to_owned())
}

impl Cluster for SimCluster {
    fn served<'a>(&'a self, kinds: &'a [Kind]) -> Answer<'a, Vec<Kind>> {
        Box::pin(async move {
            self.traffic.read();
            Ok(kinds.iter().copied().filter(|k| self.state.borrow().served.contains(k)).collect())
        })
    }

    fn list(&self, kind: Kind) -> Answer<'_, Vec<Object>> {
        Box::pin(async move {
            self.traffic.read();
            self.select(kind, None)
        })
    }

    fn list_in<'a>(&'a self, kind: Kind, namespace: &'a str) -> Answer<'a, Vec<Object>> {
        Box::pin(async move {
            self.traffic.read();
            self.select(kind, Some(namespace))
        })
    }

    fn get<'a>(&'a self, target: &'a ObjectRef) -> Answer<'a, Object> {
        Box::pin(async move {
            self.traffic.read();
            let state = self.state.borrow();
            if !state.served.contains(&target.kind) {
                return Err(ClusterError::NotServed(target.kind.resource()));
            }
            let found = state.objects.get(&key(target.kind, &target.namespace, &target.name));
            found.cloned().ok_or_else(|| ClusterError::NotFound(target.to_string()))
        })
    }

    fn create<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        Box::pin(async move {
            self.traffic.write();
            self.make(kind, object)
        })
    }

    fn replace<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        Box::pin(async move {
            self.traffic.write();
            self.swap(kind, object)
        })
    }

    fn settle(&self) -> Answer<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    fn traffic(&self) -> &Traffic {
        &self.traffic
    }
}
