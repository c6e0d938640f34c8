//! The status of the in-cluster provider's pools, once at the end of a pass.

use super::index::Index;
use super::{GLOBAL, IN_CLUSTER};
use crate::addr::SpanSet;
use crate::model::{Action, Chain, Edit, Edited, Kind, Object, Pool, Write};
use crate::plan;
use crate::systems::{Scene, paused};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::net::IpAddr;

pub(super) fn closing(scene: &Scene<'_>) -> Vec<Chain> {
    let kinds = [IN_CLUSTER, GLOBAL];
    if !kinds.iter().any(|kind| scene.observed.any(*kind)) {
        return Vec::new();
    }
    let index = Index::new(scene.observed, scene.config);
    let mut chains = Vec::new();
    for kind in kinds.into_iter().filter(|kind| index.serving.serves(*kind)) {
        for object in scene.observed.all(kind).filter(|o| paused(o).is_none()) {
            let target = kind.at(object.namespace(), object.name());
            let pool = index.parsed(&target).and_then(|p| p.pool.as_ref());
            let wanted = figures(pool, index.used(&target), scene.pools);
            if object.at(FIGURES) != Some(&wanted) {
                chains.push(vec![write(kind, object, wanted)]);
            }
        }
    }
    chains
}

const FIGURES: &str = "/status/ipAddresses";

/// How many addresses there are, are in use, are left, and are in use although the pool no longer has them.
fn figures(pool: Option<&Pool>, used: &BTreeSet<IpAddr>, pools: &[Pool]) -> Value {
    let mut usable: SpanSet = pool.iter().flat_map(|p| &p.ranges).copied().collect();
    pool.map(|p| plan::never(p, pools)).iter().flat_map(SpanSet::spans).for_each(|s| usable.remove(s));
    let total = usable.spans().fold(0u128, |sum, s| sum.saturating_add(s.len().unwrap_or(u128::MAX)));
    let outside = used.iter().filter(|a| !usable.contains(**a)).count() as u128;
    let used = used.len() as u128;
    // Integers of an API have 63 bits; a larger pool has at least that many.
    let shown = |n: u128| i64::try_from(n).unwrap_or(i64::MAX);
    json!({
        "free": shown(total.saturating_sub(used.saturating_sub(outside))),
        "outOfRange": shown(outside),
        "total": shown(total),
        "used": shown(used),
    })
}

fn write(kind: Kind, pool: &Object, wanted: Value) -> Write {
    let edit = move |object: &Object| {
        if object.at(FIGURES) == Some(&wanted) {
            return Edited::Already;
        }
        if paused(object).is_some() {
            return Edited::Moot;
        }
        let mut edited = object.clone();
        edited.ensure_object(&["status"]).insert("ipAddresses".to_owned(), wanted.clone());
        Edited::To(Box::new(edited))
    };
    Write {
        target: kind.at(pool.namespace(), pool.name()),
        uid: pool.uid().to_owned(),
        action: Action::UpdateStatus(Edit::new(edit)),
    }
}
