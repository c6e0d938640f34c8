//! The status of metal3's pools, once at the end of a pass.

use super::IP_POOL;
use super::pool::records;
use crate::model::{Action, Chain, Edit, Edited, Object, Write, timestamp};
use crate::systems::{Scene, cluster_paused, paused};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Entries that a status takes. An object of some 12,000 entries is too large for etcd, with what the API
/// server notes about each of them; a part of the map would be wrong. Beyond this the map is empty: it only
/// repeats what the `IPAddress` objects say, and metal3 makes it anew from them.
const LARGEST: usize = 4_000;

pub(super) fn closing(scene: &Scene<'_>) -> Vec<Chain> {
    let mut indexes: BTreeMap<(&str, &str), Map<String, Value>> = BTreeMap::new();
    for (pool, claim, address) in records(scene.observed) {
        indexes.entry(pool).or_default().insert(claim.to_owned(), address.clone());
    }
    let left_alone = |pool: &&Object| {
        let cluster = pool.text("/spec/clusterName").unwrap_or_default();
        paused(pool).is_some() || cluster_paused(scene.observed, pool.namespace(), cluster).is_some()
    };
    let pools = scene.observed.all(IP_POOL).filter(|p| !left_alone(p));
    let written = pools.filter_map(|pool| {
        let wanted = indexes.remove(&(pool.namespace(), pool.name())).unwrap_or_default();
        let wanted = if wanted.len() > LARGEST { Map::new() } else { wanted };
        (!says(pool, &wanted)).then(|| vec![write(pool, wanted, scene)])
    });
    written.collect()
}

fn says(pool: &Object, wanted: &Map<String, Value>) -> bool {
    pool.at("/status/indexes").and_then(Value::as_object).map_or(wanted.is_empty(), |m| m == wanted)
}

fn write(pool: &Object, wanted: Map<String, Value>, scene: &Scene<'_>) -> Write {
    let now = timestamp(scene.now);
    let edit = move |object: &Object| {
        if says(object, &wanted) {
            return Edited::Already;
        }
        let mut edited = object.clone();
        let status = edited.ensure_object(&["status"]);
        status.insert("indexes".to_owned(), Value::Object(wanted.clone()));
        status.insert("lastUpdated".to_owned(), json!(now));
        Edited::To(Box::new(edited))
    };
    Write {
        target: IP_POOL.at(pool.namespace(), pool.name()),
        uid: pool.uid().to_owned(),
        action: Action::UpdateStatus(Edit::new(edit)),
    }
}
