//! Plays metal3's controller: finalizer, lowest free address of what it has listed, `IPAddress`, status; and the
//! same backwards for claims that are being deleted. What conflicts is left to its next round, as there.

use mipam::cluster::{Cluster, ClusterError};
use mipam::model::{Feed, Kind, Listed, Object};
use mipam::systems::elf::{IP_ADDRESS, IP_CLAIM, IP_POOL};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const CLAIM: &str = "ipclaim.ipam.metal3.io";
const ADDRESS: &str = "ipaddress.ipam.metal3.io";

/// What it has listed: as old as the caller lets it become.
pub struct Cache {
    pool: Listed,
    claims: Vec<Listed>,
    addresses: Vec<Listed>,
}

pub async fn look(cluster: &dyn Cluster) -> Cache {
    Cache {
        pool: cluster.list(Feed::all(IP_POOL)).await.unwrap().remove(0),
        claims: cluster.list(Feed::all(IP_CLAIM)).await.unwrap(),
        addresses: cluster.list(Feed::all(IP_ADDRESS)).await.unwrap(),
    }
}

/// One round over all claims.
pub async fn round(cluster: &dyn Cluster) {
    let cache = look(cluster).await;
    act(cluster, cache).await;
}

/// What it does about what it has listed.
pub async fn act(cluster: &dyn Cluster, cache: Cache) {
    let Cache { pool, claims, addresses } = cache;
    let text = |o: &Object, at: &str| o.text(at).unwrap_or_default().to_owned();
    let mut taken: BTreeSet<String> = addresses.iter().map(|a| text(a, "/spec/address")).collect();
    for claim in claims {
        let found = addresses.iter().map(|a| &**a).find(|a| text(a, "/spec/claim/name") == claim.name());
        let done = if claim.deleting() {
            release(cluster, &claim, found).await
        } else if claim.at("/status/address").is_none() {
            serve(cluster, &pool, &claim, found, &mut taken).await
        } else {
            Ok(())
        };
        match done {
            Ok(()) | Err(ClusterError::Conflict(_) | ClusterError::NotFound(_) | ClusterError::Exists(_)) => {
            }
            Err(other) => panic!("{other}"),
        }
    }
}

async fn serve(
    cluster: &dyn Cluster,
    pool: &Object,
    claim: &Object,
    found: Option<&Object>,
    taken: &mut BTreeSet<String>,
) -> Result<(), ClusterError> {
    let mut claim = claim.clone();
    if claim.array("/metadata/finalizers").iter().all(|f| f != CLAIM) {
        let list = claim.ensure_object(&["metadata"]).entry("finalizers").or_insert_with(|| json!([]));
        list.as_array_mut().unwrap().push(CLAIM.into());
        claim = cluster.replace(IP_CLAIM, &claim).await?;
    }
    let name = match found {
        Some(address) => address.name().to_owned(),
        None => {
            let last = |o: &Object, at: &str| -> u8 {
                o.text(at).unwrap().rsplit('.').next().unwrap().parse().unwrap()
            };
            let (start, end) = (last(pool, "/spec/pools/0/start"), last(pool, "/spec/pools/0/end"));
            let free = (start..=end).map(|i| format!("10.0.0.{i}")).find(|ip| !taken.contains(ip));
            let Some(ip) = free else { return Ok(()) };
            taken.insert(ip.clone());
            let name = format!("lab-{}", ip.replace('.', "-"));
            let owner = |o: &Object, kind: Kind| json!({ "apiVersion": "ipam.metal3.io/v1alpha1", "kind": kind.kind, "name": o.name(), "uid": o.uid() });
            let record = json!({
                "apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPAddress",
                "metadata": {
                    "name": name, "namespace": "ns", "finalizers": [ADDRESS],
                    "ownerReferences": [owner(pool, IP_POOL), owner(&claim, IP_CLAIM)],
                },
                "spec": {
                    "address": ip, "prefix": 16, "gateway": "10.0.0.1", "dnsServers": ["10.0.0.2"],
                    "claim": { "name": claim.name(), "namespace": "ns" }, "pool": { "name": "lab", "namespace": "ns" },
                },
            });
            cluster.create(IP_ADDRESS, &Object(record)).await?;
            name
        }
    };
    claim.0["status"]["address"] = json!({ "name": name, "namespace": "ns" });
    cluster.replace_status(IP_CLAIM, &claim).await.map(drop)
}

async fn release(cluster: &dyn Cluster, claim: &Object, found: Option<&Object>) -> Result<(), ClusterError> {
    if let Some(address) = found {
        free(cluster, IP_ADDRESS, address, ADDRESS).await?;
        let target = IP_ADDRESS.at(address.namespace(), address.name());
        match cluster.delete(&target, address.uid()).await {
            Ok(_) | Err(ClusterError::NotFound(_)) => {}
            Err(other) => return Err(other),
        }
    }
    free(cluster, IP_CLAIM, claim, CLAIM).await
}

async fn free(
    cluster: &dyn Cluster,
    kind: Kind,
    object: &Object,
    finalizer: &str,
) -> Result<(), ClusterError> {
    let mut object = object.clone();
    let list = object.0.pointer_mut("/metadata/finalizers").and_then(Value::as_array_mut);
    list.into_iter().for_each(|l| l.retain(|f| f != finalizer));
    cluster.replace(kind, &object).await.map(drop)
}
