//! Reads the world: records first, then owners, then a live look at every owner that seems gone. The order is
//! what keeps an owner that is made in between from being taken for gone.

use crate::cluster::{Cluster, ClusterError};
use crate::ledger::{CONFIG_MAP, Ledger, LedgerError, NAMESPACE};
use crate::model::{Feed, Kind, Listed, Observed, Owner, Problem, Role, Source, Standing};
use crate::systems;
use futures_util::StreamExt;
use futures_util::future::try_join_all;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// What was seen in one observation.
#[derive(Debug)]
pub struct Observation {
    /// The objects.
    pub observed: Observed,
    /// The ledger, read before them.
    pub ledger: Ledger,
    /// Owners in the ledger that do not exist any more: a live look has said so for that very object.
    pub gone: BTreeSet<Arc<Owner>>,
    /// Things for a person to look at.
    pub problems: Vec<Problem>,
    /// Worth a line with `-v`.
    pub notes: Vec<String>,
}

/// Why nothing could be observed.
#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    /// The cluster said no.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The ledger must not be used.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// Reads everything that a pass needs, whatever part of it is served; of the ledger only what has changed since `before`.
pub async fn observe(
    cluster: &dyn Cluster,
    before: Ledger,
    in_flight: usize,
) -> Result<Observation, ObserveError> {
    let mut kinds = systems::kinds();
    kinds.push(CONFIG_MAP);
    let served: BTreeSet<Kind> = cluster.served(&kinds).await?.into_iter().collect();
    let (there, missing): (Vec<Source>, Vec<Source>) =
        systems::sources().iter().copied().partition(|s| served.contains(&s.kind));
    let notes = missing.iter().map(|s| format!("{} are not served here", s.kind.resource())).collect();
    let mut seen = Observation {
        observed: Observed::default(),
        ledger: Ledger::default(),
        gone: BTreeSet::new(),
        problems: Vec::new(),
        notes,
    };

    let wave = |role: fn(&Role) -> bool| there.iter().filter(move |s| role(&s.role)).copied();
    // The ledger before all else: a record that is older than it would speak for somebody who has gone since.
    let ledger = cluster.list(Feed::within(CONFIG_MAP, NAMESPACE)).await?;
    let records = try_join_all(wave(|r| *r == Role::Record).map(|s| read(cluster, s))).await?;
    let owners = try_join_all(wave(|r| *r != Role::Record).map(|s| read(cluster, s))).await?;
    for (kind, objects, note) in records.into_iter().chain(owners) {
        if let Some(objects) = objects {
            seen.observed.insert(kind, objects);
        }
        seen.notes.extend(note);
    }
    seen.ledger = before.read_again(ledger)?;
    look_again(cluster, &mut seen, in_flight).await?;
    Ok(seen)
}

/// What was read of a kind; no list at all where it is not served.
type Read = (Kind, Option<Vec<Listed>>, Option<String>);

async fn read(cluster: &dyn Cluster, source: Source) -> Result<Read, ClusterError> {
    let kind = source.kind;
    let found = match (source.feed(), source.role) {
        (Some(feed), _) => cluster.list(feed).await,
        (None, Role::Hint(name)) => cluster.get(&kind.at("", name)).await.map(|o| vec![o.into()]),
        (None, _) => return Ok((kind, None, None)),
    };
    let all = source.is_whole();
    match found {
        Ok(objects) => Ok((kind, Some(objects), None)),
        // Its definition was removed between the question and the list: nothing is freed by that.
        Err(ClusterError::NotServed(what)) if all => {
            Ok((kind, None, Some(format!("{what} are not served here"))))
        }
        Err(ClusterError::NotFound(_) | ClusterError::NotServed(_)) if !all => Ok((kind, None, None)),
        Err(error @ ClusterError::Forbidden { .. }) if !all => Ok((kind, None, Some(error.to_string()))),
        Err(other) => Err(other),
    }
}

/// Asks for every owner in the ledger that no list has shown. A uid never comes back, so an owner found gone
/// here is gone for good.
pub async fn look_again(
    cluster: &dyn Cluster,
    seen: &mut Observation,
    in_flight: usize,
) -> Result<(), ClusterError> {
    let mut unseen: BTreeMap<Arc<Owner>, Kind> = BTreeMap::new();
    let mut unserved: BTreeMap<String, usize> = BTreeMap::new();
    let mut unknown: BTreeMap<String, usize> = BTreeMap::new();
    let listed = listed(&seen.observed);
    for allocation in seen.ledger.allocations().values() {
        if matches!(allocation.standing, Standing::Cooling { .. }) {
            continue;
        }
        for owner in allocation.holders.iter().map(|h| &h.owner).filter(|o| !o.is_hold()) {
            if !owner.uid.is_empty() && listed.contains(&*owner.uid) {
                continue;
            }
            let Some(kind) = systems::kind_of(&owner.group, &owner.kind) else {
                *unknown.entry(format!("{}.{}", owner.kind, owner.group)).or_default() += 1;
                continue;
            };
            let listed = seen.observed.find(&owner.reference(kind)).is_some_and(|o| owner.is(o));
            if listed {
                continue;
            }
            if seen.observed.serves(kind) {
                unseen.insert(owner.clone(), kind);
            } else {
                *unserved.entry(kind.resource()).or_default() += 1;
            }
        }
    }
    for (resource, count) in unserved {
        let message = format!(
            "the ledger has {count} addresses for objects of this kind, which is not served here (in a directory: none is there): nothing is freed; put the kind back, or release the addresses with --force"
        );
        seen.problems.push(Problem::new("NotServed", &resource, message));
    }
    for (kind, count) in unknown {
        let message = format!(
            "the ledger has {count} addresses for objects of this kind, which this mipam does not know: nothing of it is freed; use the mipam that gave them"
        );
        seen.problems.push(Problem::new("UnknownKind", &kind, message));
    }
    look(cluster, seen, unseen, in_flight).await
}

/// The uids of all objects that addresses are given to.
fn listed(observed: &Observed) -> HashSet<&str> {
    let lists: Vec<&[Listed]> = systems::owners().into_iter().map(|kind| observed.list(kind)).collect();
    let mut uids = HashSet::with_capacity(lists.iter().map(|list| list.len()).sum());
    uids.extend(lists.into_iter().flatten().map(Listed::uid));
    uids
}

/// Lists once more what came from a cache that may be older than this; and whether that has shown anything new.
pub async fn list_again(
    cluster: &dyn Cluster,
    seen: &mut Observation,
    ages: BTreeMap<Kind, Duration>,
) -> Result<bool, ClusterError> {
    let sources = systems::sources().iter().filter(|s| s.is_whole() && seen.observed.serves(s.kind));
    let lists = sources.filter_map(|source| {
        let list = cluster.list_anew(source.feed()?, *ages.get(&source.kind)?)?;
        Some(async move { list.await.map(|objects| (source.kind, objects)) })
    });
    let mut new = false;
    for (kind, objects) in try_join_all(lists).await? {
        let known = seen.observed.list(kind);
        let same = |o: &Listed| {
            let place = (o.namespace(), o.name());
            let at = known.binary_search_by(|k| (k.namespace(), k.name()).cmp(&place));
            at.is_ok_and(|at| known[at].is_same_version(o))
        };
        if known.len() != objects.len() || !objects.iter().all(same) {
            seen.observed.replace(kind, objects);
            new = true;
        }
    }
    Ok(new)
}

/// Looks at these owners as they are now, whatever a list has shown of them.
pub async fn look_closely(
    cluster: &dyn Cluster,
    seen: &mut Observation,
    owners: impl IntoIterator<Item = Arc<Owner>>,
    in_flight: usize,
) -> Result<(), ClusterError> {
    let known = owners.into_iter().filter_map(|o| systems::kind_of(&o.group, &o.kind).map(|kind| (o, kind)));
    look(cluster, seen, known.collect(), in_flight).await
}

async fn look(
    cluster: &dyn Cluster,
    seen: &mut Observation,
    owners: BTreeMap<Arc<Owner>, Kind>,
    in_flight: usize,
) -> Result<(), ClusterError> {
    let mut looks = futures_util::stream::iter(owners)
        .map(|(owner, kind)| async move {
            let target = owner.reference(kind);
            let found = cluster.get(&target).await;
            (owner, target, found)
        })
        .buffer_unordered(in_flight.max(1));
    while let Some((owner, target, found)) = looks.next().await {
        match found {
            Ok(object) => {
                if !owner.is(&object) {
                    seen.gone.insert(owner);
                }
                seen.observed.wrote(&target, Some(object));
            }
            Err(ClusterError::NotFound(_)) => {
                seen.gone.insert(owner);
                seen.observed.wrote(&target, None::<Listed>);
            }
            // Not an answer about that very object: nothing is freed by it.
            Err(ClusterError::NotServed(what)) => seen.notes.push(format!("{what} are not served here")),
            Err(other) => return Err(other),
        }
    }
    Ok(())
}
