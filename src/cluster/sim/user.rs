//! What people and other controllers do to the objects of the simulation.

use super::SimCluster;
use super::garbage::ORPHAN;
use super::state::Part;
use crate::cluster::ClusterError;
use crate::model::{Kind, Object, ObjectRef};
use serde_json::{Map, Value, json};

/// How an object is to be deleted.
#[derive(Clone, Debug, Default)]
pub struct Deletion {
    /// Only if it has this uid.
    pub uid: Option<String>,
    /// Only if it has this resourceVersion.
    pub version: Option<String>,
    /// What it owns stays, without an owner.
    pub orphan: bool,
}

impl SimCluster {
    /// Makes a namespace.
    pub fn namespace(&self, name: &str) {
        self.state.borrow_mut().namespace(name);
    }

    /// Puts an object there with its status; its namespace is made as needed.
    pub fn put(&self, kind: Kind, object: &Object) -> Result<Object, ClusterError> {
        self.namespace(object.namespace());
        let state = &mut *self.state.borrow_mut();
        let mut made = state.make(kind, object)?;
        match object.0.get("status") {
            Some(status) if made.0.get("status") != Some(status) => {
                made.ensure_object(&[]).insert("status".to_owned(), status.clone());
                state.update(kind, &made, Part::Status)
            }
            _ => Ok(made),
        }
    }

    /// Deletes an object, whatever its version: finalizers hold it.
    pub fn delete(&self, target: &ObjectRef) -> Result<(), ClusterError> {
        self.delete_if(target, &Deletion::default())
    }

    /// Deletes an object on conditions.
    pub fn delete_if(&self, target: &ObjectRef, how: &Deletion) -> Result<(), ClusterError> {
        let state = &mut *self.state.borrow_mut();
        let object = state.find(target)?;
        let differs = |wanted: &Option<String>, is: &str| wanted.as_ref().is_some_and(|w| w != is);
        if differs(&how.uid, object.uid()) || differs(&how.version, object.resource_version()) {
            return Err(ClusterError::Conflict(target.to_string()));
        }
        let held = object.array("/metadata/finalizers").iter().filter(|f| **f != json!(ORPHAN)).cloned();
        let orphan = how.orphan.then(|| json!(ORPHAN));
        let finalizers = held.chain(orphan).collect();
        state.delete(target, finalizers)
    }

    /// Changes an object, whatever its version.
    pub fn edit(&self, target: &ObjectRef, change: impl FnOnce(&mut Object)) -> Result<Object, ClusterError> {
        let state = &mut *self.state.borrow_mut();
        let mut object = (**state.find(target)?).clone();
        change(&mut object);
        let mut made = state.update(target.kind, &object, Part::Main)?;
        if made.0.get("status") == object.0.get("status") {
            return Ok(made);
        }
        made.ensure_object(&[]).insert("status".to_owned(), object.0["status"].clone());
        state.update(target.kind, &made, Part::Status)
    }

    /// Replaces the status of an object; its resourceVersion is the guard.
    pub fn replace_status(&self, kind: Kind, object: &Object) -> Result<Object, ClusterError> {
        self.state.borrow_mut().update(kind, object, Part::Status)
    }

    /// A JSON merge patch of one part of an object, guarded by the resourceVersion and uid that it may hold.
    pub fn patch(&self, target: &ObjectRef, part: Part, patch: &Value) -> Result<Object, ClusterError> {
        let state = &mut *self.state.borrow_mut();
        let before = state.find(target)?;
        let mut object = (**before).clone();
        merge(&mut object.0, patch);
        if part == Part::Status {
            let version = object.resource_version().to_owned();
            object.0["metadata"] = before.0["metadata"].clone();
            object.0["metadata"]["resourceVersion"] = json!(version);
        }
        if object.uid() != before.uid() && object.resource_version() == before.resource_version() {
            // In a replacement the uid is a condition, in a patch a change.
            let why = "metadata.uid: field is immutable".to_owned();
            return Err(ClusterError::Refused { what: format!("patch {target}"), why });
        }
        state.update(target.kind, &object, part)
    }
}

/// A JSON merge patch (RFC 7386). Where it adds a list, the server leaves out what is null in its maps.
pub fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *target = if target.is_object() { patch.clone() } else { without_nulls(patch) };
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(map) = target else { return };
    for (key, change) in changes {
        if change.is_null() {
            map.shift_remove(key);
        } else {
            merge(map.entry(key.clone()).or_insert(Value::Null), change);
        }
    }
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Array(list) => list.iter().map(without_nulls).collect(),
        Value::Object(map) => {
            let there = map.iter().filter(|(_, v)| !v.is_null());
            Value::Object(there.map(|(k, v)| (k.clone(), without_nulls(v))).collect())
        }
        other => other.clone(),
    }
}
