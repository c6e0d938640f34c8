//! What was seen of the cluster, as the pure rooms get it.

use super::{Kind, Object, ObjectRef, Seconds};
use std::collections::{BTreeMap, BTreeSet};

/// The objects of one observation.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    objects: BTreeMap<Kind, Vec<Object>>,
    served: BTreeSet<Kind>,
    now: Seconds,
}

impl Observed {
    /// When this was seen: for what is only true for a while.
    pub fn now(&self) -> Seconds {
        self.now
    }

    /// Says when this was seen.
    pub fn set_now(&mut self, now: Seconds) {
        self.now = now;
    }

    /// Adds all objects of a kind that is served.
    pub fn insert(&mut self, kind: Kind, objects: Vec<Object>) {
        self.served.insert(kind);
        let all = self.objects.entry(kind).or_default();
        all.extend(objects);
        all.sort_by(|a, b| place(a).cmp(&place(b)));
    }

    /// Takes note of what a write has made of an object; `None`: it is gone.
    pub fn wrote(&mut self, target: &ObjectRef, now: Option<Object>) {
        let all = self.objects.entry(target.kind).or_default();
        let at = all.binary_search_by(|o| place(o).cmp(&(&target.namespace, &target.name)));
        match (at, now) {
            (Ok(at), Some(object)) => all[at] = object,
            (Ok(at), None) => drop(all.remove(at)),
            (Err(at), Some(object)) => all.insert(at, object),
            (Err(_), None) => {}
        }
    }

    /// All objects of a kind, by namespace and name.
    pub fn all(&self, kind: Kind) -> &[Object] {
        self.objects.get(&kind).map_or(&[], Vec::as_slice)
    }

    /// The object of that name.
    pub fn find(&self, target: &ObjectRef) -> Option<&Object> {
        let all = self.all(target.kind);
        let at = all.binary_search_by(|o| place(o).cmp(&(&target.namespace, &target.name))).ok()?;
        all.get(at)
    }

    /// Was the kind there to be read?
    pub fn serves(&self, kind: Kind) -> bool {
        self.served.contains(&kind)
    }
}

fn place(object: &Object) -> (&str, &str) {
    (object.namespace(), object.name())
}
