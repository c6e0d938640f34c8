//! Carries out a decision: first the ledger by compare-and-swap, then the owners.

mod write;

pub use write::{Dry, Ran, Written, write};

use crate::cluster::{Cluster, ClusterError};
use crate::ledger::{self, CONFIG_MAP, Change, Head, Ledger, NAMESPACE, NAMESPACE_KIND, Page};
use crate::model::{Allocation, Kind, Listed, Object, Pool, Slot, Standing};
use crate::plan::Decision;
use serde_json::json;
use std::collections::BTreeSet;

/// How recording ended.
#[derive(Debug)]
pub enum Recorded {
    /// All that could be recorded is.
    Done {
        /// Ledger objects that could not be written, with the reason.
        failed: Vec<(Page, ClusterError)>,
        /// Ledger objects that were written: up to then, they were as they had been read.
        written: BTreeSet<Page>,
    },
    /// Somebody else was faster: observe again and decide again.
    Conflict,
}

impl Recorded {
    /// Is the entry of this slot recorded?
    pub fn holds(&self, slot: &Slot) -> bool {
        match self {
            Self::Done { failed, .. } => !failed.iter().any(|(page, _)| *page == Page::of(slot)),
            Self::Conflict => false,
        }
    }

    /// Was the ledger object of this slot written?
    pub fn wrote(&self, slot: &Slot) -> bool {
        matches!(self, Self::Done { written, .. } if written.contains(&Page::of(slot)))
    }
}

/// A change to an object, for `--diff`.
#[derive(Clone, Debug)]
pub struct Changed {
    /// Before; `None` where it was made.
    pub before: Option<Listed>,
    /// After; `None` where it was deleted.
    pub after: Option<Listed>,
}

impl Changed {
    /// Is it of a kind that lists have folded?
    pub fn is_folded(&self) -> bool {
        self.before.iter().chain(&self.after).any(Listed::is_folded)
    }
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
    let (mut failed, mut written) = (Vec::new(), BTreeSet::new());
    let nothing = decision.changes.is_empty() && decision.binds.is_empty();
    let Some(epoch) = head(cluster, ledger, pools, nothing, changed).await? else {
        return Ok(if nothing { Recorded::Done { failed, written } } else { Recorded::Conflict });
    };
    for (page, mut changes) in ledger::by_page(&decision.changes) {
        if let Some(error) = hangs_on_failed(ledger, &changes, &failed) {
            failed.push((page, error));
            continue;
        }
        changes.retain(|(_, change)| !part_of_failed(change, &failed));
        match swap(cluster, ledger, page, &epoch, &changes, changed).await {
            Ok(wrote) => written.extend(wrote.then_some(page)),
            Err(ClusterError::Conflict(_) | ClusterError::Exists(_)) => return Ok(Recorded::Conflict),
            Err(error @ ClusterError::Forbidden { .. }) => return Err(error),
            Err(error) => failed.push((page, error)),
        }
    }
    // Not before all that is to hang on it is recorded, and all that hung on it stands on its own.
    let members = |allocation: &Allocation| match &allocation.standing {
        Standing::Home { set, .. } => set.iter().map(Page::of).collect(),
        _ => Vec::new(),
    };
    let bindable = decision.binds.iter().filter(|(slot, home)| {
        let was = ledger.allocations().get(slot).map(members).unwrap_or_default();
        !members(home).iter().chain(&was).any(|page| failed.iter().any(|(failed, _)| failed == page))
    });
    let binds = bindable.map(|(slot, home)| (slot.clone(), Change::Put(home.clone()))).collect();
    for (page, changes) in ledger::by_page(&binds) {
        match swap(cluster, ledger, page, &epoch, &changes, changed).await {
            Ok(wrote) => written.extend(wrote.then_some(page)),
            Err(ClusterError::Conflict(_) | ClusterError::Exists(_)) => return Ok(Recorded::Conflict),
            Err(error) => failed.push((page, error)),
        }
    }
    Ok(Recorded::Done { failed, written })
}

/// Are these entries still as they were read, when their owners have been seen since? Asked about what is given
/// without a write to the ledger: nothing else would notice that it was freed in the meantime.
pub async fn still_recorded(
    cluster: &dyn Cluster,
    ledger: &Ledger,
    slots: &BTreeSet<Slot>,
) -> Result<bool, ClusterError> {
    let pages: BTreeSet<Page> = slots.iter().map(Page::of).collect();
    for page in pages {
        match cluster.get(&CONFIG_MAP.at(NAMESPACE, &page.name())).await {
            Ok(now) if ledger.agrees(&now, slots) => {}
            Ok(_) | Err(ClusterError::NotFound(_)) => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
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
            create_in_namespace(cluster, CONFIG_MAP, &object).await.map(|object| (None, object))
        }
        Some(head) => match head.updated(pools) {
            None => return Ok(Some(head.epoch.clone())),
            Some(object) => {
                let before = ledger.head.as_ref().map(|h| Listed::from(h.object().clone()));
                cluster.replace(CONFIG_MAP, &object).await.map(|object| (before, object))
            }
        },
    };
    match written {
        Ok((before, object)) => {
            let object = Listed::from(object);
            changed.push(Changed { before, after: Some(object.clone()) });
            ledger.wrote(object);
            Ok(ledger.head.as_ref().map(|h| h.epoch.clone()))
        }
        Err(ClusterError::Conflict(_) | ClusterError::Exists(_)) => Ok(None),
        Err(other) => Err(other),
    }
}

/// Makes an object of ours, and its namespace where that is missing.
pub async fn create_in_namespace(
    cluster: &dyn Cluster,
    kind: Kind,
    object: &Object,
) -> Result<Object, ClusterError> {
    match cluster.create(kind, object).await {
        Err(ClusterError::NoNamespace(_)) => {
            make_namespace(cluster).await?;
            cluster.create(kind, object).await
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
    page: Page,
    epoch: &str,
    changes: &[(Slot, Change)],
    changed: &mut Vec<Changed>,
) -> Result<bool, ClusterError> {
    let name = page.name();
    let before = ledger.listed(&name).cloned();
    let wanted = ledger.changed(&name, epoch, changes);
    if before.as_deref() == Some(&wanted) || changes.is_empty() {
        return Ok(false);
    }
    let written = match &before {
        None => cluster.create(CONFIG_MAP, &wanted).await?,
        Some(_) => cluster.replace(CONFIG_MAP, &wanted).await?,
    };
    let written = Listed::from(written);
    changed.push(Changed { before, after: Some(written.clone()) });
    ledger.wrote(written);
    Ok(true)
}

/// A part of a set whose home could not be recorded must not be recorded either.
fn part_of_failed(change: &Change, failed: &[(Page, ClusterError)]) -> bool {
    let Change::Put(allocation) = change else { return false };
    let Standing::Member { home, .. } = &allocation.standing else { return false };
    failed.iter().any(|(page, _)| *page == Page::of(home))
}

/// An entry whose set could not be withdrawn at its home is still part of that set: whoever binds it would not
/// notice that it went.
fn hangs_on_failed(
    ledger: &Ledger,
    changes: &[(Slot, Change)],
    failed: &[(Page, ClusterError)],
) -> Option<ClusterError> {
    let homes = changes.iter().filter_map(|(slot, _)| match &ledger.allocations().get(slot)?.standing {
        Standing::Member { home, .. } => Some(Page::of(home)),
        _ => None,
    });
    homes.into_iter().find_map(|home| failed.iter().find(|(page, _)| *page == home)).map(|(_, e)| e.clone())
}
