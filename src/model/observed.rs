//! What was seen of the cluster, as the pure rooms get it.

use super::{Kind, Listed, Object, ObjectRef, Seconds};
use crate::addr::Span;
use std::collections::{BTreeMap, BTreeSet};

/// The objects of one observation.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    objects: BTreeMap<Kind, Vec<Listed>>,
    served: BTreeSet<Kind>,
    now: Seconds,
    recorded: Vec<Span>,
}

impl Observed {
    /// Blocks that the ledger has for objects which need not show them yet.
    pub fn recorded(&self) -> &[Span] {
        &self.recorded
    }

    /// Says which blocks the ledger has.
    pub fn set_recorded(&mut self, blocks: impl IntoIterator<Item = Span>) {
        self.recorded = blocks.into_iter().collect();
    }

    /// When this was seen: for what is only true for a while.
    pub fn now(&self) -> Seconds {
        self.now
    }

    /// Says when this was seen.
    pub fn set_now(&mut self, now: Seconds) {
        self.now = now;
    }

    /// Adds all objects of a kind that is served.
    pub fn insert(&mut self, kind: Kind, objects: impl IntoIterator<Item: Into<Listed>>) {
        self.served.insert(kind);
        let all = self.objects.entry(kind).or_default();
        all.extend(objects.into_iter().map(Into::into));
        // They mostly come in order, and looking at every place once is cheaper than comparing objects.
        if !all.iter().map(place).is_sorted() {
            all.sort_by(|a, b| place(a).cmp(&place(b)));
        }
    }

    /// Puts these in the place of all objects of a kind.
    pub fn replace(&mut self, kind: Kind, objects: Vec<Listed>) {
        self.objects.remove(&kind);
        self.insert(kind, objects);
    }

    /// Takes note of what a write has made of an object; `None`: it is gone.
    pub fn wrote(&mut self, target: &ObjectRef, now: Option<impl Into<Listed>>) {
        let all = self.objects.entry(target.kind).or_default();
        let at = all.binary_search_by(|o| place(o).cmp(&(&target.namespace, &target.name)));
        match (at, now) {
            (Ok(at), Some(object)) => all[at] = object.into(),
            (Ok(at), None) => drop(all.remove(at)),
            (Err(at), Some(object)) => all.insert(at, object.into()),
            (Err(_), None) => {}
        }
    }

    /// All objects of a kind, by namespace and name.
    pub fn all(&self, kind: Kind) -> impl DoubleEndedIterator<Item = &Object> + Clone {
        self.list(kind).iter().map(|listed| &**listed)
    }

    /// Are there any objects of a kind?
    pub fn any(&self, kind: Kind) -> bool {
        !self.list(kind).is_empty()
    }

    /// All objects of a kind, by namespace and name.
    pub fn list(&self, kind: Kind) -> &[Listed] {
        self.objects.get(&kind).map_or(&[], Vec::as_slice)
    }

    /// The object of that name.
    pub fn find(&self, target: &ObjectRef) -> Option<&Object> {
        self.find_listed(target).map(|listed| &**listed)
    }

    /// The same as lists have it.
    pub fn find_listed(&self, target: &ObjectRef) -> Option<&Listed> {
        let all = self.list(target.kind);
        let at = all.binary_search_by(|o| place(o).cmp(&(&target.namespace, &target.name))).ok()?;
        all.get(at)
    }

    /// Was the kind there to be read?
    pub fn serves(&self, kind: Kind) -> bool {
        self.served.contains(&kind)
    }
}

fn place(object: &Listed) -> (&str, &str) {
    (object.namespace(), object.name())
}
