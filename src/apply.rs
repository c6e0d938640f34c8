//! Carries out a decision: first the ledger by compare-and-swap, then the owners, many in flight, each guarded
//! by its resourceVersion.

use crate::cluster::{Cluster, ClusterError};
use crate::ledger::{self, CONFIG_MAP, Change, Head, Ledger, NAMESPACE, NAMESPACE_KIND};
use crate::model::{Action, Edited, Object, Observed, Pool, Slot, Standing, Write};
use crate::plan::Decision;
use futures_util::StreamExt;
use serde_json::json;
use std::net::IpAddr;

/// How often an owner that keeps changing is tried before the next pass has to see to it.
const OWNER_TRIES: usize = 5;

/// How recording ended.
#[derive(Debug)]
pub enum Recorded {
    /// All that could be recorded is.
    Done {
        /// Ledger objects that could not be written, with the reason.
        failed: Vec<(IpAddr, ClusterError)>,
    },
    /// Somebody else was faster: observe again and decide again.
    Conflict,
}

impl Recorded {
    /// Is the entry of this slot recorded?
    pub fn holds(&self, slot: &Slot) -> bool {
        match self {
            Self::Done { failed } => !failed.iter().any(|(page, _)| *page == ledger::page(slot.address)),
            Self::Conflict => false,
        }
    }
}

/// A change to an object, for `--diff`.
#[derive(Clone, Debug)]
pub struct Changed {
    /// Before; `None` where it was made.
    pub before: Option<Object>,
    /// After.
    pub after: Object,
}

/// Writes the ledger. Entries of a set go in their fixed order and are bound last, so that whoever withdraws a
/// set meets whoever binds it in one object.
pub async fn record(
    cluster: &dyn Cluster,
    ledger: &mut Ledger,
    pools: &[Pool],
    decision: &Decision,
    changed: &mut Vec<Changed>,
) -> Result<Recorded, ClusterError> {
    let mut failed: Vec<(IpAddr, ClusterError)> = Vec::new();
    let nothing = decision.changes.is_empty() && decision.binds.is_empty();
    let Some(epoch) = head(cluster, ledger, pools, nothing, changed).await? else {
        return Ok(if nothing { Recorded::Done { failed } } else { Recorded::Conflict });
    };
    for (page, mut changes) in ledger::by_page(&decision.changes) {
        if let Some(error) = hangs_on_failed(ledger, &changes, &failed) {
            failed.push((page, error));
            continue;
        }
        changes.retain(|(_, change)| !part_of_failed(change, &failed));
        match swap(cluster, ledger, page, &epoch, &changes, changed).await {
            Ok(()) => {}
            Err(ClusterError::Conflict(_) | ClusterError::Exists(_)) => return Ok(Recorded::Conflict),
            Err(error @ ClusterError::Forbidden { .. }) => return Err(error),
            Err(error) => failed.push((page, error)),
        }
    }
    let bindable = decision.binds.iter().filter(|(_, home)| match &home.standing {
        Standing::Home { set, .. } => {
            !set.iter().any(|s| failed.iter().any(|(p, _)| *p == ledger::page(s.address)))
        }
        _ => true,
    });
    let binds = bindable.map(|(slot, home)| (slot.clone(), Change::Put(home.clone()))).collect();
    for (page, changes) in ledger::by_page(&binds) {
        match swap(cluster, ledger, page, &epoch, &changes, changed).await {
            Ok(()) => {}
            Err(ClusterError::Conflict(_) | ClusterError::Exists(_)) => return Ok(Recorded::Conflict),
            Err(error) => failed.push((page, error)),
        }
    }
    Ok(Recorded::Done { failed })
}

/// Makes or updates the head; `None`: somebody else did, or there is nothing to have one for.
async fn head(
    cluster: &dyn Cluster,
    ledger: &mut Ledger,
    pools: &[Pool],
    nothing: bool,
    changed: &mut Vec<Changed>,
) -> Result<Option<String>, ClusterError> {
    let written = match &ledger.head {
        None if nothing => return Ok(None),
        None => {
            let epoch = format!("{:016x}{:016x}", crate::cluster::random(), crate::cluster::random());
            let object = Head::first(&epoch, pools);
            create_in_namespace(cluster, &object).await.map(|object| (None, object))
        }
        Some(head) => match head.updated(pools) {
            None => return Ok(Some(head.epoch.clone())),
            Some(object) => {
                let before = ledger.head.as_ref().map(|h| h.object().clone());
                cluster.replace(CONFIG_MAP, &object).await.map(|object| (before, object))
            }
        },
    };
    match written {
        Ok((before, object)) => {
            changed.push(Changed { before, after: object.clone() });
            ledger.wrote(object);
            Ok(ledger.head.as_ref().map(|h| h.epoch.clone()))
        }
        Err(ClusterError::Conflict(_) | ClusterError::Exists(_)) => Ok(None),
        Err(other) => Err(other),
    }
}

/// Makes a ConfigMap of ours, and its namespace where that is missing.
pub async fn create_in_namespace(cluster: &dyn Cluster, object: &Object) -> Result<Object, ClusterError> {
    match cluster.create(CONFIG_MAP, object).await {
        Err(ClusterError::NoNamespace(_)) => {
            make_namespace(cluster).await?;
            cluster.create(CONFIG_MAP, object).await
        }
        other => other,
    }
}

async fn make_namespace(cluster: &dyn Cluster) -> Result<(), ClusterError> {
    let namespace =
        Object(json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE } }));
    match cluster.create(NAMESPACE_KIND, &namespace).await {
        Ok(_) | Err(ClusterError::Exists(_)) => Ok(()),
        Err(other) => Err(other),
    }
}

async fn swap(
    cluster: &dyn Cluster,
    ledger: &mut Ledger,
    page: IpAddr,
    epoch: &str,
    changes: &[(Slot, Change)],
    changed: &mut Vec<Changed>,
) -> Result<(), ClusterError> {
    let name = ledger::object_name(page);
    let before = ledger.object(&name).cloned();
    let wanted = ledger.changed(&name, epoch, changes);
    if before.as_ref() == Some(&wanted) || changes.is_empty() {
        return Ok(());
    }
    let written = match &before {
        None => cluster.create(CONFIG_MAP, &wanted).await?,
        Some(_) => cluster.replace(CONFIG_MAP, &wanted).await?,
    };
    changed.push(Changed { before, after: wanted });
    ledger.wrote(written);
    Ok(())
}

/// A part of a set whose home could not be recorded must not be recorded either.
fn part_of_failed(change: &Change, failed: &[(IpAddr, ClusterError)]) -> bool {
    let Change::Put(allocation) = change else { return false };
    let Standing::Member { home } = &allocation.standing else { return false };
    failed.iter().any(|(page, _)| *page == ledger::page(home.address))
}

/// An entry whose set could not be withdrawn at its home is still part of that set: whoever binds it would not
/// notice that it went.
fn hangs_on_failed(
    ledger: &Ledger,
    changes: &[(Slot, Change)],
    failed: &[(IpAddr, ClusterError)],
) -> Option<ClusterError> {
    let homes = changes.iter().filter_map(|(slot, _)| match &ledger.allocations().get(slot)?.standing {
        Standing::Member { home } => Some(ledger::page(home.address)),
        _ => None,
    });
    homes.into_iter().find_map(|home| failed.iter().find(|(page, _)| *page == home)).map(|(_, e)| e.clone())
}

/// How a write to an owner ended.
#[derive(Debug)]
pub enum Written {
    /// It was written.
    Done(Changed),
    /// It was so already.
    Already,
    /// The object no longer wants it, or is gone; the next pass looks at it afresh.
    Moot,
    /// It could not be written.
    Failed(ClusterError),
}

/// Carries out writes, many in flight; the answers are in the order of the writes. One failure stops no other.
pub async fn write(
    cluster: &dyn Cluster,
    observed: &Observed,
    writes: &[Write],
    in_flight: usize,
    done: &dyn Fn(),
) -> Vec<Written> {
    let one = |(at, write)| async move {
        let written = write_one(cluster, observed, write).await;
        done();
        (at, written)
    };
    let all =
        futures_util::stream::iter(writes.iter().enumerate()).map(one).buffer_unordered(in_flight.max(1));
    let mut answers: Vec<(usize, Written)> = all.collect().await;
    answers.sort_by_key(|(at, _)| *at);
    answers.into_iter().map(|(_, written)| written).collect()
}

/// What a write would change, without writing.
pub fn preview(observed: &Observed, write: &Write) -> Written {
    let Some(current) = observed.find(&write.target) else { return Written::Moot };
    let Action::Update(edit) = &write.action;
    match edit.apply(current) {
        Edited::Moot => Written::Moot,
        Edited::To(wanted) if *wanted != *current => {
            Written::Done(Changed { before: Some(current.clone()), after: *wanted })
        }
        Edited::To(_) | Edited::Already => Written::Already,
    }
}

async fn write_one(cluster: &dyn Cluster, observed: &Observed, write: &Write) -> Written {
    let Action::Update(edit) = &write.action;
    let mut current = match observed.find(&write.target) {
        Some(object) => object.clone(),
        None => return Written::Moot,
    };
    for _ in 0..OWNER_TRIES {
        if !write.uid.is_empty() && !current.uid().is_empty() && write.uid != current.uid() {
            return Written::Moot;
        }
        let wanted = match edit.apply(&current) {
            Edited::Moot => return Written::Moot,
            Edited::Already => return Written::Already,
            Edited::To(wanted) if *wanted == current => return Written::Already,
            Edited::To(wanted) => wanted,
        };
        match cluster.replace(write.target.kind, &wanted).await {
            Ok(_) => return Written::Done(Changed { before: Some(current), after: *wanted }),
            Err(ClusterError::NotFound(_)) => return Written::Moot,
            Err(ClusterError::Conflict(_)) => match cluster.get(&write.target).await {
                Ok(fresh) => current = fresh,
                Err(ClusterError::NotFound(_)) => return Written::Moot,
                Err(error) => return Written::Failed(error),
            },
            Err(error) => return Written::Failed(error),
        }
    }
    Written::Failed(ClusterError::Conflict(write.target.to_string()))
}
