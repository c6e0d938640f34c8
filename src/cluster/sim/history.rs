//! Earlier versions: what a stale list shows, how a list goes on page by page, and what a watch is told.

use super::SimCluster;
use super::state::Shelf;
use crate::cluster::{ClusterError, EXPIRED, News};
use crate::model::{Feed, Kind, Object};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use tokio::sync::Notify;

/// How many changes are remembered, unless somebody makes the server forget them earlier.
const KEPT: usize = 1_000;

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// It was made.
    Added,
    /// It was changed.
    Modified,
    /// It is gone.
    Deleted,
}

/// One change, as a watch tells it.
#[derive(Clone, Debug)]
pub struct Event {
    /// What happened.
    pub verb: Verb,
    /// To an object of this kind.
    pub kind: Kind,
    /// The object after it, or where it is gone, before.
    pub object: Arc<Object>,
    /// The version that it made.
    pub version: u64,
}

/// What becomes of an event on its way to whoever watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// It comes once.
    Once,
    /// It never comes.
    Dropped,
    /// It comes twice.
    Repeated,
}

/// A part of a list.
#[derive(Clone, Debug)]
pub struct Page {
    /// The objects, by namespace and name.
    pub items: Vec<Arc<Object>>,
    /// The version of the whole list.
    pub version: String,
    /// What gets the next part; `None` at the end.
    pub next: Option<String>,
}

#[derive(Clone, Debug)]
struct Step {
    version: u64,
    kind: Kind,
    key: String,
    before: Option<Arc<Object>>,
    after: Option<Arc<Object>>,
}

/// The last changes.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    version: u64,
    /// Versions before this one cannot be had any more.
    first: u64,
    steps: VecDeque<Step>,
    /// Wakes those who watch.
    told: Arc<Notify>,
}

impl History {
    /// The version of the next change.
    pub(super) fn next(&mut self) -> u64 {
        self.version += 1;
        self.version
    }

    /// Remembers a change.
    pub(super) fn note(
        &mut self,
        version: u64,
        kind: Kind,
        key: String,
        before: Option<Arc<Object>>,
        after: Option<Arc<Object>>,
    ) {
        self.steps.push_back(Step { version, kind, key, before, after });
        self.told.notify_waiters();
        if self.steps.len() > KEPT
            && let Some(forgotten) = self.steps.pop_front()
        {
            self.first = forgotten.version;
        }
    }

    fn since(&self, version: u64) -> Result<impl DoubleEndedIterator<Item = &Step>, ClusterError> {
        if version < self.first {
            let what = format!("version {version}");
            return Err(ClusterError::Transient { what, why: EXPIRED.to_owned(), after: None });
        }
        let from = self.steps.partition_point(|step| step.version <= version);
        Ok(self.steps.range(from..))
    }

    /// The objects of a kind as they were, from what they are.
    fn as_of(&self, version: u64, kind: Kind, now: &Shelf) -> Result<Shelf, ClusterError> {
        let mut shelf = now.clone();
        for step in self.since(version)?.rev().filter(|step| step.kind == kind) {
            match &step.before {
                Some(before) => shelf.insert(step.key.clone(), before.clone()),
                None => shelf.remove(&step.key),
            };
        }
        Ok(shelf)
    }
}

impl SimCluster {
    /// The version of the last change.
    pub fn version(&self) -> u64 {
        self.state.borrow().history.version
    }

    /// Forgets all earlier versions, as the server's store does now and then.
    pub fn compact(&self) {
        let history = &mut self.state.borrow_mut().history;
        history.first = history.version;
        history.steps.clear();
        history.told.notify_waiters();
    }

    /// The objects of a kind, in a namespace or in all, as they were at an earlier version: what a stale list
    /// shows.
    pub fn list_as_of(
        &self,
        kind: Kind,
        namespace: &str,
        version: u64,
    ) -> Result<Vec<Arc<Object>>, ClusterError> {
        let state = self.state.borrow();
        let shelf = state.history.as_of(version, kind, state.shelf(kind)?)?;
        Ok(shelf.into_values().filter(|o| namespace.is_empty() || o.namespace() == namespace).collect())
    }

    /// The first objects of a list, or those after the token of the part before.
    pub fn page(
        &self,
        kind: Kind,
        namespace: &str,
        limit: usize,
        token: Option<&str>,
    ) -> Result<Page, ClusterError> {
        let bad =
            || ClusterError::Refused { what: "list".to_owned(), why: "the token is not ours".to_owned() };
        let (version, after) = match token {
            None => (self.version(), ""),
            Some(token) => {
                let (version, after) = token.split_once(' ').ok_or_else(bad)?;
                (version.parse().map_err(|_| bad())?, after)
            }
        };
        let place = |o: &Object| super::state::key(kind, o.namespace(), o.name());
        let all = self.list_as_of(kind, namespace, version)?;
        let mut items: Vec<_> = all.into_iter().filter(|o| after.is_empty() || *place(o) > *after).collect();
        let more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().filter(|_| more).map(|last| format!("{version} {}", place(last)));
        Ok(Page { items, version: version.to_string(), next })
    }

    /// Every change after a version.
    pub fn changes(&self, since: u64) -> Result<Vec<Event>, ClusterError> {
        let state = self.state.borrow();
        let told = state.history.since(since)?.filter_map(|step| {
            let (verb, object) = match (&step.before, &step.after) {
                (None, Some(after)) => (Verb::Added, after),
                (Some(_), Some(after)) => (Verb::Modified, after),
                (before, None) => (Verb::Deleted, before.as_ref()?),
            };
            Some(Event { verb, kind: step.kind, object: object.clone(), version: step.version })
        });
        Ok(told.collect())
    }

    /// What a watch of a kind, in a namespace or in all, has been told since a version.
    pub fn watch(&self, kind: Kind, namespace: &str, since: u64) -> Result<Vec<Event>, ClusterError> {
        let mut told = self.changes(since)?;
        told.retain(|e| e.kind == kind && (namespace.is_empty() || e.object.namespace() == namespace));
        Ok(told)
    }

    /// The next thing that a watch tells which has told all up to a version, or nothing yet.
    pub(super) async fn news(&self, feed: Feed, mut since: Option<u64>) -> (Result<News, ClusterError>, u64) {
        loop {
            let told = self.state.borrow().history.told.clone();
            let told = told.notified();
            let changes = since.map(|since| self.watch(feed.kind, feed.namespace, since));
            let Some(Ok(changes)) = changes else {
                let version = self.version();
                let all = self.list_as_of(feed.kind, feed.namespace, version);
                let all =
                    all.map(|all| all.into_iter().filter(|o| feed.has(o)).map(|o| feed.listed(o)).collect());
                return (all.map(|all| News::All(all, version.to_string())), version);
            };
            let next = changes.into_iter().find(|event| feed.has(&event.object));
            if let Some(Event { verb, object, version, .. }) = next {
                let object = feed.listed(object);
                let news = if verb == Verb::Deleted { News::Gone(object) } else { News::Now(object) };
                return (Ok(news), version);
            }
            // What is not about this feed need not be looked at again.
            since = Some(self.version());
            told.await;
        }
    }

    /// The same over a bad connection, which says what becomes of each event.
    pub fn watch_badly(
        &self,
        kind: Kind,
        namespace: &str,
        since: u64,
        mut delivery: impl FnMut() -> Delivery,
    ) -> Result<Vec<Event>, ClusterError> {
        let events = self.watch(kind, namespace, since)?.into_iter();
        let told = events.flat_map(|event| {
            let times = match delivery() {
                Delivery::Once => 1,
                Delivery::Dropped => 0,
                Delivery::Repeated => 2,
            };
            std::iter::repeat_n(event, times)
        });
        Ok(told.collect())
    }

    /// What somebody takes for the list who listed at a version and has watched over a bad connection since: some
    /// objects are as they are now, some as they were, and some are there no more or not yet.
    pub fn cached(
        &self,
        kind: Kind,
        namespace: &str,
        since: u64,
        delivery: impl FnMut() -> Delivery,
    ) -> Result<Vec<Arc<Object>>, ClusterError> {
        let place = |o: &Object| (o.namespace().to_owned(), o.name().to_owned());
        let listed = self.list_as_of(kind, namespace, since)?;
        let mut cache: BTreeMap<_, _> = listed.into_iter().map(|o| (place(&o), o)).collect();
        for event in self.watch_badly(kind, namespace, since, delivery)? {
            match event.verb {
                Verb::Deleted => drop(cache.remove(&place(&event.object))),
                Verb::Added | Verb::Modified => drop(cache.insert(place(&event.object), event.object)),
            }
        }
        Ok(cache.into_values().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::Delivery::{Dropped, Once, Repeated};
    use super::*;
    use crate::ledger::{CONFIG_MAP, NAMESPACE_KIND};
    use serde_json::json;

    fn map(name: &str, value: &str) -> Object {
        Object(json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": name, "namespace": "ns" }, "data": { "key": value },
        }))
    }

    #[test]
    fn a_bad_connection_loses_and_repeats_and_a_cache_shows_it() {
        let sim = SimCluster::new(&[CONFIG_MAP, NAMESPACE_KIND]);
        sim.namespace("ns");
        for name in ["changes", "goes"] {
            sim.put(CONFIG_MAP, &map(name, "old")).unwrap();
        }
        let since = sim.version();
        sim.edit(&CONFIG_MAP.at("ns", "changes"), |o| o.0["data"]["key"] = json!("new")).unwrap();
        sim.delete(&CONFIG_MAP.at("ns", "goes")).unwrap();
        sim.put(CONFIG_MAP, &map("comes", "new")).unwrap();
        let seen = |order: &[Delivery]| {
            let mut order = order.iter().copied();
            let cache =
                sim.cached(CONFIG_MAP, "ns", since, || order.next().unwrap_or(Delivery::Once)).unwrap();
            cache
                .iter()
                .map(|o| format!("{}={}", o.name(), o.text("/data/key").unwrap_or_default()))
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(seen(&[]), "changes=new comes=new");
        assert_eq!(seen(&[Repeated, Repeated, Repeated]), "changes=new comes=new");
        assert_eq!(seen(&[Dropped, Once, Once]), "changes=old comes=new");
        assert_eq!(seen(&[Once, Dropped, Once]), "changes=new comes=new goes=old");
        assert_eq!(seen(&[Once, Once, Dropped]), "changes=new");
        let told = sim.watch_badly(CONFIG_MAP, "ns", since, || Repeated).unwrap();
        let told: Vec<Verb> = told.iter().map(|e| e.verb).collect();
        assert_eq!(
            told,
            [Verb::Modified, Verb::Modified, Verb::Deleted, Verb::Deleted, Verb::Added, Verb::Added]
        );
    }
}
