//! What the garbage collector does: what is owned goes with the last of its owners.

use super::SimCluster;
use super::state::{Part, State};
use crate::model::{Kind, Object, ObjectRef};
use serde_json::{Value, json};

/// Holds an object until what it owns has been let go.
pub(super) const ORPHAN: &str = "orphan";

impl SimCluster {
    /// Lets the collector work until it has nothing left to do. The real one does so some time later, so
    /// tests say when.
    pub fn collect_garbage(&self) {
        let state = &mut *self.state.borrow_mut();
        while round(state) {}
    }
}

/// One look at every object; false when nothing was to be done.
fn round(state: &mut State) -> bool {
    let all: Vec<(Kind, Object)> = state.all().map(|(kind, object)| (kind, (**object).clone())).collect();
    let mut any = false;
    for (kind, object) in &all {
        let reference = kind.at(object.namespace(), object.name());
        let orphans = object.array("/metadata/finalizers").contains(&json!(ORPHAN));
        if object.deleting() && orphans {
            for (kind, owned) in &all {
                let others = |r: &Value| r["uid"] != *object.uid();
                any |= keep_owners(state, &kind.at(owned.namespace(), owned.name()), others);
            }
            any |= keep(state, &reference, "finalizers", |f| *f != json!(ORPHAN));
            continue;
        }
        let owners = object.array("/metadata/ownerReferences");
        let gone = |r: &Value| !lives(&all, object.namespace(), r);
        if owners.is_empty() || object.deleting() || !owners.iter().any(gone) {
            continue;
        }
        any |= if owners.iter().all(gone) {
            state.delete(&reference, object.array("/metadata/finalizers").to_vec()).is_ok()
        } else {
            keep_owners(state, &reference, |r| !gone(r))
        };
    }
    any
}

/// Is the owner there? It is in the same namespace or in none.
fn lives(all: &[(Kind, Object)], namespace: &str, owner: &Value) -> bool {
    let group = owner["apiVersion"].as_str().and_then(|v| v.split_once('/')).map_or("", |(group, _)| group);
    all.iter().any(|(kind, object)| {
        kind.group == group
            && owner["kind"] == kind.kind
            && owner["name"] == *object.name()
            && owner["uid"] == *object.uid()
            && (!kind.namespaced || object.namespace() == namespace)
    })
}

fn keep_owners(state: &mut State, target: &ObjectRef, wanted: impl Fn(&Value) -> bool) -> bool {
    keep(state, target, "ownerReferences", wanted)
}

/// Leaves only some entries of a list in the metadata; false where there is nothing to leave out.
fn keep(state: &mut State, target: &ObjectRef, list: &str, wanted: impl Fn(&Value) -> bool) -> bool {
    let Ok(object) = state.find(target) else { return false };
    let entries = object.array(&format!("/metadata/{list}"));
    if entries.iter().all(&wanted) {
        return false;
    }
    let left: Vec<Value> = entries.iter().filter(|e| wanted(e)).cloned().collect();
    let mut after = (**object).clone();
    after.ensure_object(&["metadata"]).insert(list.to_owned(), left.into());
    state.update(target.kind, &after, Part::Main).is_ok()
}
