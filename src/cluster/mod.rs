//! Where objects live: one trait, and a Kubernetes API, a directory or the simulation behind it. Nothing here decides.

pub mod cache;
pub mod dir;
pub mod kube;
mod patient;
pub mod sim;

use crate::model::{Feed, Kind, Listed, Object, ObjectRef};
use futures_util::Stream;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub use patient::{Patient, jitter};

/// What every call on a cluster returns.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, ClusterError>> + 'a>>;

/// What [`Cluster::watch`] returns.
pub type Watch<'a> = Pin<Box<dyn Stream<Item = Result<News, ClusterError>> + 'a>>;

/// What a watch tells.
#[derive(Clone, Debug)]
pub enum News {
    /// All objects there are at a version: at the beginning, and wherever the watch has to begin anew.
    All(Vec<Listed>, String),
    /// An object is so now.
    Now(Listed),
    /// An object is gone; this is the last of it, with the version at which it went.
    Gone(Listed),
    /// All was told up to this version.
    UpTo(String),
}

/// A place where Kubernetes objects live.
pub trait Cluster {
    /// Which of these kinds are served here.
    fn served<'a>(&'a self, kinds: &'a [Kind]) -> Answer<'a, Vec<Kind>>;
    /// The objects of a feed, as they are now.
    fn list(&self, feed: Feed) -> Answer<'_, Vec<Listed>>;
    /// The objects of a kind in a namespace that somebody names, as they are now.
    fn list_within<'a>(&'a self, kind: Kind, namespace: &'a str) -> Answer<'a, Vec<Listed>> {
        Box::pin(async move {
            let mut all = self.list(Feed::all(kind)).await?;
            all.retain(|object| object.namespace() == namespace);
            Ok(all)
        })
    }
    /// The objects of a feed, and what becomes of them from then on. It has no end; what fails on the way is said, and
    /// tried again. Files do not tell.
    fn watch(&self, _feed: Feed) -> Watch<'_> {
        Box::pin(futures_util::stream::pending())
    }
    /// Where [`Cluster::list`] answers from a cache that may be older than `age`: the same as the server has it at this
    /// moment.
    fn list_anew(&self, _feed: Feed, _age: Duration) -> Option<Answer<'_, Vec<Listed>>> {
        None
    }
    /// One object as it is now; `NotFound` is the answer for that very object, `NotServed` for its kind.
    fn get<'a>(&'a self, target: &'a ObjectRef) -> Answer<'a, Object>;
    /// Makes an object; its name is the guard.
    fn create<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object>;
    /// Replaces an object; its resourceVersion is the guard.
    fn replace<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object>;
    /// Replaces the status of an object; its resourceVersion is the guard.
    fn replace_status<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object>;
    /// Deletes an object if it is still this one, by its uid; the answer is what finalizers keep of it.
    fn delete<'a>(&'a self, target: &'a ObjectRef, uid: &'a str) -> Answer<'a, Option<Object>>;
    /// Makes all writes so far durable before any later one; a Kubernetes API has done so already.
    fn settle(&self) -> Answer<'_, ()>;
    /// Writes an Event, unless one of its name is there. Files have none; and it counts as no write, as it changes
    /// nothing.
    fn announce<'a>(&'a self, _event: &'a Object) -> Answer<'a, ()> {
        Box::pin(std::future::ready(Ok(())))
    }
    /// How many requests have been made.
    fn traffic(&self) -> &Traffic;
}

/// Requests made so far.
#[derive(Debug, Default)]
pub struct Traffic {
    reads: AtomicU64,
    writes: AtomicU64,
    conflicts: AtomicU64,
}

impl Traffic {
    /// Counts a request that reads.
    pub fn read(&self) {
        self.reads.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a request that writes.
    pub fn write(&self) {
        self.writes.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a write that met somebody else's.
    pub fn conflict(&self) {
        self.conflicts.fetch_add(1, Ordering::Relaxed);
    }

    /// Conflicts so far.
    pub fn conflicts(&self) -> u64 {
        self.conflicts.load(Ordering::Relaxed)
    }

    /// Reads and writes so far.
    pub fn counts(&self) -> (u64, u64) {
        (self.reads.load(Ordering::Relaxed), self.writes.load(Ordering::Relaxed))
    }
}

/// Why a call failed, in the terms on which mipam acts.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ClusterError {
    /// That very object does not exist.
    #[error("{0} does not exist")]
    NotFound(String),
    /// The kind is not served here.
    #[error("{0} is not served by this cluster")]
    NotServed(String),
    /// The namespace of the object to be made does not exist.
    #[error("namespace {0} does not exist")]
    NoNamespace(String),
    /// The object changed since it was read.
    #[error("{0} changed since it was read")]
    Conflict(String),
    /// An object of that name exists.
    #[error("{0} exists already")]
    Exists(String),
    /// The account may not do this.
    #[error("not allowed to {verb} {resource}{}", scope(.namespace))]
    Forbidden {
        /// `list`
        verb: &'static str,
        /// `machines.machine.openshift.io`
        resource: String,
        /// Empty: in all namespaces.
        namespace: String,
    },
    /// Worth another try: too many requests, a time-out, a server that is restarting.
    #[error("{what}: {why}")]
    Transient {
        /// What was tried.
        what: String,
        /// What came back.
        why: String,
        /// The server asked for this pause, in seconds.
        after: Option<u64>,
    },
    /// The server refused the object.
    #[error("{what}: {why}")]
    Refused {
        /// What was tried.
        what: String,
        /// Why it was refused.
        why: String,
    },
    /// Anything else; trying again would not help.
    #[error("{0}")]
    Other(String),
}

impl ClusterError {
    /// Is it about one object, while others may well be written?
    pub fn is_of_object(&self) -> bool {
        matches!(self, Self::Refused { .. } | Self::Conflict(_) | Self::Exists(_) | Self::NotFound(_))
    }
}

/// Why a list or a watch cannot go on: the server has forgotten the version that it began with.
pub const EXPIRED: &str = "the list has expired";

fn scope(namespace: &str) -> String {
    if namespace.is_empty() { " in all namespaces".to_owned() } else { format!(" in namespace {namespace}") }
}

/// A random number from the operating system, by way of the standard library's hash keys.
pub fn random() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish()
}
