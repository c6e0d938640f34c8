//! A cluster on which nothing is written by a process that may not: one whose Lease has run out, or that is to end.
//! Writes under way are not cut off; no new one begins.

use crate::cluster::{Answer, Cluster, ClusterError, Traffic, Watch};
use crate::model::{Feed, Kind, Listed, Object, ObjectRef};
use std::cell::Cell;
use std::future::ready;
use std::time::Duration;

/// What is said of a write that was held back.
pub const HELD_BACK: &str = "this process may not write any more: it is to end, or another one is at work";

/// Wraps another cluster.
pub struct Fenced<'c> {
    /// What is wrapped.
    pub inner: &'c dyn Cluster,
    /// May something be written at this moment?
    pub may: &'c dyn Fn() -> bool,
    /// How many writes have begun and have no answer yet; Events, which nothing hangs on, are not counted.
    pub under_way: Cell<usize>,
}

impl<'c> Fenced<'c> {
    /// In front of this cluster.
    pub fn new(inner: &'c dyn Cluster, may: &'c dyn Fn() -> bool) -> Self {
        Self { inner, may, under_way: Cell::new(0) }
    }

    fn guard<'a, T: 'a>(&'a self, write: impl FnOnce() -> Answer<'a, T>) -> Answer<'a, T> {
        let write = self.permit(write);
        Box::pin(async move {
            let _counted = Counted::one(&self.under_way);
            write.await
        })
    }

    fn permit<'a, T: 'a>(&self, write: impl FnOnce() -> Answer<'a, T>) -> Answer<'a, T> {
        if (self.may)() { write() } else { Box::pin(ready(Err(ClusterError::Other(HELD_BACK.to_owned())))) }
    }
}

/// One of a number, for as long as this lives.
struct Counted<'a>(&'a Cell<usize>);

impl<'a> Counted<'a> {
    fn one(count: &'a Cell<usize>) -> Self {
        count.set(count.get() + 1);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

impl Cluster for Fenced<'_> {
    fn served<'a>(&'a self, kinds: &'a [Kind]) -> Answer<'a, Vec<Kind>> {
        self.inner.served(kinds)
    }

    fn list(&self, feed: Feed) -> Answer<'_, Vec<Listed>> {
        self.inner.list(feed)
    }

    fn watch(&self, feed: Feed) -> Watch<'_> {
        self.inner.watch(feed)
    }

    fn list_anew(&self, feed: Feed, age: Duration) -> Option<Answer<'_, Vec<Listed>>> {
        self.inner.list_anew(feed, age)
    }

    fn get<'a>(&'a self, target: &'a ObjectRef) -> Answer<'a, Object> {
        self.inner.get(target)
    }

    fn create<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        self.guard(|| self.inner.create(kind, object))
    }

    fn replace<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        self.guard(|| self.inner.replace(kind, object))
    }

    fn replace_status<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        self.guard(|| self.inner.replace_status(kind, object))
    }

    fn delete<'a>(&'a self, target: &'a ObjectRef, uid: &'a str) -> Answer<'a, Option<Object>> {
        self.guard(|| self.inner.delete(target, uid))
    }

    fn settle(&self) -> Answer<'_, ()> {
        self.inner.settle()
    }

    fn announce<'a>(&'a self, event: &'a Object) -> Answer<'a, ()> {
        self.permit(|| self.inner.announce(event))
    }

    fn traffic(&self) -> &Traffic {
        self.inner.traffic()
    }
}
