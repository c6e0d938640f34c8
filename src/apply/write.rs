//! Carries out chains of writes, many in flight: each write guarded by resourceVersion, uid or name, each safe
//! to repeat after a crash.

use super::Changed;
use crate::cluster::{Answer, Cluster, ClusterError, Traffic};
use crate::model::{
    Action, Chain, Edit, Edited, Expect, Feed, Kind, Listed, Make, Object, ObjectRef, Observed, Write,
};
use futures_util::StreamExt;
use std::collections::BTreeMap;
use std::future::ready;

/// How often an object that keeps changing is tried before the next pass has to see to it.
const TRIES: usize = 5;

/// How one write ended.
#[derive(Debug)]
pub enum Written {
    /// It was written.
    Done(Changed),
    /// It was so already.
    Already,
    /// The object no longer wants it, or is gone; the next pass looks at it afresh.
    Moot,
    /// This object could not be written.
    Failed(ObjectRef, ClusterError),
}

/// How a chain of writes ended.
#[derive(Debug, Default)]
pub struct Ran {
    /// One for each write that was tried, in order.
    pub written: Vec<Written>,
    /// What the writes left, in order; `None`: it is gone.
    pub left: Vec<(ObjectRef, Option<Listed>)>,
}

/// Carries out chains; the answers are in their order. One failure stops no other chain. Those that end in the same
/// object follow one another: each has to know what the one before it made of it.
pub async fn write(
    cluster: &dyn Cluster,
    observed: &Observed,
    chains: &[Chain],
    in_flight: usize,
    done: &dyn Fn(),
) -> Vec<Ran> {
    let one = |row: Vec<usize>| async move {
        let mut answers: Vec<(usize, Ran)> = Vec::new();
        for at in row {
            let ran = run(cluster, observed, &answers, &chains[at]).await;
            answers.push((at, ran));
            done();
        }
        answers
    };
    let all = futures_util::stream::iter(rows(chains).into_iter().map(one));
    let mut answers: Vec<_> =
        all.buffer_unordered(in_flight.max(1)).flat_map(futures_util::stream::iter).collect().await;
    answers.sort_by_key(|(at, _): &(usize, Ran)| *at);
    answers.into_iter().map(|(_, ran)| ran).collect()
}

/// The places of the chains, those together that end in the same object.
fn rows(chains: &[Chain]) -> Vec<Vec<usize>> {
    let mut rows: Vec<Vec<usize>> = Vec::new();
    let mut ends: BTreeMap<&ObjectRef, usize> = BTreeMap::new();
    for (at, chain) in chains.iter().enumerate() {
        let row = chain.last().map_or(rows.len(), |w| *ends.entry(&w.target).or_insert(rows.len()));
        match rows.get_mut(row) {
            Some(row) => row.push(at),
            None => rows.push(vec![at]),
        }
    }
    rows
}

/// One chain, up to the first write that cannot be done.
async fn run(cluster: &dyn Cluster, observed: &Observed, before: &[(usize, Ran)], chain: &[Write]) -> Ran {
    let (written, left) = (Vec::with_capacity(chain.len()), Vec::with_capacity(chain.len()));
    let mut ran = Ran { written, left };
    for write in chain {
        let earlier = before.iter().map(|(_, ran)| ran).chain([&ran]).rev();
        let known = earlier.flat_map(|ran| ran.left.iter().rev()).find(|(t, _)| *t == write.target);
        let current =
            known.map_or_else(|| observed.find_listed(&write.target), |(_, now)| now.as_ref()).cloned();
        let (written, now) = match &write.action {
            Action::Update(edit) | Action::UpdateStatus(edit) => update(cluster, write, edit, current).await,
            Action::Create(make) => create(cluster, write, make, &ran, current).await,
            Action::Delete => delete(cluster, write, current).await,
            Action::Expect(expect) => look(cluster, write, expect).await,
            Action::Free(_) if current.is_none() => (Written::Already, None),
            Action::Free(finalizer) => {
                match update(cluster, write, &Edit::free(finalizer), current).await {
                    // Gone, or another object by now: not held by this finalizer in either case.
                    (Written::Moot, _) => (Written::Already, None),
                    ended => ended,
                }
            }
        };
        let goes_on = matches!(written, Written::Done(_) | Written::Already);
        ran.written.push(written);
        if !goes_on {
            break;
        }
        ran.left.push((write.target.clone(), now));
    }
    ran
}

/// How a write ended, and the object after it.
type Ended = (Written, Option<Listed>);

async fn update(cluster: &dyn Cluster, write: &Write, edit: &Edit, current: Option<Listed>) -> Ended {
    let Some(mut current) = current else { return (Written::Moot, None) };
    // Until the pass ends, what was written takes no more room than what a list had of it.
    let folded = current.is_folded();
    let like = |object: Object| if folded { Listed::from(object).fold() } else { object.into() };
    let generation = |object: &Object| object.at("/metadata/generation").cloned();
    let decided_on = generation(&current.glance());
    let freeing = matches!(write.action, Action::Free(_));
    for _ in 0..TRIES {
        let seen = current.glance();
        if other(&write.uid, seen.uid()) {
            return (Written::Moot, None);
        }
        let wanted = match edit.apply(&seen) {
            Edited::Moot => return (Written::Moot, None),
            Edited::Already => return (Written::Already, Some(current.clone())),
            Edited::To(wanted) if *wanted == *seen => return (Written::Already, Some(current.clone())),
            Edited::To(wanted) => wanted,
        };
        let kind = write.target.kind;
        let answer = if matches!(write.action, Action::UpdateStatus(_)) {
            cluster.replace_status(kind, &wanted).await
        } else {
            cluster.replace(kind, &wanted).await
        };
        match answer {
            Ok(now) => {
                // The last finalizer of an object that is being deleted was all that kept it.
                let gone = now.deleting() && now.array("/metadata/finalizers").is_empty();
                let now = like(now);
                let changed = Changed { before: Some(current.clone()), after: Some(now.clone()) };
                return (Written::Done(changed), (!gone).then_some(now));
            }
            Err(ClusterError::NotFound(_)) => return (Written::Moot, None),
            Err(ClusterError::Conflict(_)) => match cluster.get(&write.target).await {
                // What it is meant to be has changed since the decision: it may have been served by others and may
                // want again by now, and what was recorded for it may be another's.
                Ok(fresh) if !freeing && generation(&fresh) != decided_on => return (Written::Moot, None),
                Ok(fresh) => current = like(fresh),
                Err(ClusterError::NotFound(_)) => return (Written::Moot, None),
                Err(error) => return (failed(write, error), None),
            },
            Err(error) => return (failed(write, error), None),
        }
    }
    (failed(write, ClusterError::Conflict(write.target.to_string())), None)
}

async fn create(
    cluster: &dyn Cluster,
    write: &Write,
    make: &Make,
    ran: &Ran,
    current: Option<Listed>,
) -> Ended {
    let known = |object: Listed| {
        if make.is_same(&object) { (Written::Already, Some(object)) } else { (Written::Moot, None) }
    };
    if let Some(object) = current {
        return known(object);
    }
    let before: Vec<Object> =
        ran.left.iter().filter_map(|(_, now)| Some(now.as_ref()?.glance().into_owned())).collect();
    let wanted = make.build(&before);
    match cluster.create(write.target.kind, &wanted).await {
        Ok(now) => {
            let now = Listed::from(now);
            (Written::Done(Changed { before: None, after: Some(now.clone()) }), Some(now))
        }
        // Another run was faster, or this one was and did not hear of it.
        Err(ClusterError::Exists(_)) => match cluster.get(&write.target).await {
            Ok(object) => known(object.into()),
            Err(ClusterError::NotFound(_)) => (Written::Moot, None),
            Err(error) => (failed(write, error), None),
        },
        Err(error) => (failed(write, error), None),
    }
}

async fn delete(cluster: &dyn Cluster, write: &Write, current: Option<Listed>) -> Ended {
    let Some(current) = current else { return (Written::Already, None) };
    if other(&write.uid, current.uid()) {
        return (Written::Already, None);
    }
    if current.deleting() {
        return (Written::Already, Some(current));
    }
    match cluster.delete(&write.target, current.uid()).await {
        Ok(now) => (Written::Done(Changed { before: Some(current), after: None }), now.map(Into::into)),
        Err(ClusterError::NotFound(_)) => (Written::Already, None),
        Err(ClusterError::Conflict(_)) => (Written::Moot, None),
        Err(error) => (failed(write, error), None),
    }
}

/// A live look; the kind has to be served for an absence to mean anything.
async fn look(cluster: &dyn Cluster, write: &Write, expect: &Expect) -> Ended {
    let now = match cluster.get(&write.target).await {
        Ok(object) => Some(object),
        Err(ClusterError::NotFound(_)) => None,
        Err(error) => return (failed(write, error), None),
    };
    if expect.holds(now.as_ref()) { (Written::Already, now.map(Into::into)) } else { (Written::Moot, None) }
}

fn failed(write: &Write, error: ClusterError) -> Written {
    Written::Failed(write.target.clone(), error)
}

fn other(wanted: &str, uid: &str) -> bool {
    !wanted.is_empty() && !uid.is_empty() && wanted != uid
}

/// A cluster on which every write succeeds and changes nothing: what a dry run writes to. One object is shown as the
/// real one has it.
pub struct Dry<'a>(&'a dyn Cluster);

impl<'a> Dry<'a> {
    /// In place of this cluster.
    pub fn new(cluster: &'a dyn Cluster) -> Self {
        Self(cluster)
    }
}

fn unread<'a, T: 'a>(what: &str) -> Answer<'a, T> {
    Box::pin(ready(Err(ClusterError::Other(format!("a dry run does not read {what}")))))
}

impl Cluster for Dry<'_> {
    fn served<'a>(&'a self, _: &'a [Kind]) -> Answer<'a, Vec<Kind>> {
        unread("what is served")
    }

    fn list(&self, feed: Feed) -> Answer<'_, Vec<Listed>> {
        unread(feed.kind.plural)
    }

    fn get<'a>(&'a self, target: &'a ObjectRef) -> Answer<'a, Object> {
        self.0.get(target)
    }

    fn create<'a>(&'a self, _: Kind, object: &'a Object) -> Answer<'a, Object> {
        Box::pin(ready(Ok(object.clone())))
    }

    fn replace<'a>(&'a self, _: Kind, object: &'a Object) -> Answer<'a, Object> {
        Box::pin(ready(Ok(object.clone())))
    }

    fn replace_status<'a>(&'a self, _: Kind, object: &'a Object) -> Answer<'a, Object> {
        Box::pin(ready(Ok(object.clone())))
    }

    fn delete<'a>(&'a self, _: &'a ObjectRef, _: &'a str) -> Answer<'a, Option<Object>> {
        Box::pin(ready(Ok(None)))
    }

    fn settle(&self) -> Answer<'_, ()> {
        Box::pin(ready(Ok(())))
    }

    fn traffic(&self) -> &Traffic {
        self.0.traffic()
    }
}
