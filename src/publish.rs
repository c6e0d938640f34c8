//! Publishes the free addresses of pools in a ConfigMap that an admission policy reads. It is no part of the
//! ledger: nothing is decided by it, and it may be missing, stale or wrong.

use crate::apply::{self, Changed};
use crate::cluster::{Cluster, ClusterError};
use crate::ledger::{CONFIG_MAP, LABEL, NAMESPACE};
use crate::model::{Object, ObjectRef, Seconds, parse_timestamp, timestamp};
use serde_json::json;

/// The name of the ConfigMap.
pub const STATUS: &str = "mipam-status";

const POOLS: &str = "pools";
const UNTIL: &str = "validUntil";

/// The ConfigMap.
pub fn target() -> ObjectRef {
    CONFIG_MAP.at(NAMESPACE, STATUS)
}

/// Writes the figures where they have changed or have passed half of their life; `None` where nothing had to be
/// written, or another run was faster.
pub async fn publish(
    cluster: &dyn Cluster,
    figures: &str,
    now: Seconds,
    life: Seconds,
) -> Result<Option<Changed>, ClusterError> {
    let before = match cluster.get(&target()).await {
        Ok(object) => Some(object),
        Err(ClusterError::NotFound(_)) => None,
        Err(error) => return Err(error),
    };
    if before.as_ref().is_some_and(|object| holds(object, figures, now, life)) {
        return Ok(None);
    }
    let mut after = before.clone().unwrap_or_else(blank);
    let data = after.ensure_object(&["data"]);
    data.insert(POOLS.to_owned(), figures.into());
    data.insert(UNTIL.to_owned(), timestamp(now.saturating_add(life)).into());
    let written = match &before {
        Some(_) => cluster.replace(CONFIG_MAP, &after).await,
        None => apply::create_in_namespace(cluster, CONFIG_MAP, &after).await,
    };
    match written {
        Ok(after) => Ok(Some(Changed { before: before.map(Into::into), after: Some(after.into()) })),
        // Its figures are as young as ours.
        Err(ClusterError::Conflict(_) | ClusterError::Exists(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Says the object this already, for long enough, and not for longer than it should?
fn holds(object: &Object, figures: &str, now: Seconds, life: Seconds) -> bool {
    let text = |key: &str| object.at("/data").and_then(|d| d.get(key)?.as_str());
    let left = text(UNTIL).and_then(parse_timestamp).map(|until| until.saturating_sub(now));
    text(POOLS) == Some(figures) && left.is_some_and(|left| left > life / 2 && left <= life)
}

fn blank() -> Object {
    Object(json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": STATUS, "namespace": NAMESPACE, "labels": { (LABEL.0): LABEL.1 } },
    }))
}
