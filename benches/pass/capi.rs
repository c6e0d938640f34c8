//! A pass over 1,000 of Cluster API's claims, beside the bare writes that it makes: the pool's finalizer, the ledger, each
//! claim's finalizer, record and status, the pool's status.

use super::elf::as_of;
use super::{IN_FLIGHT, MACHINES, settings};
use crate::bed::Bed;
use crate::bed::accounts::ADMIN;
use futures_util::StreamExt;
use mipam::cluster::Cluster;
use mipam::cluster::kube::KubeCluster;
use mipam::config;
use mipam::ledger::CONFIG_MAP;
use mipam::model::{Kind, Object};
use mipam::systems::capi::{ADDRESS, CLAIM, IN_CLUSTER};
use serde_json::json;
use std::time::{Duration, Instant};

const CONFIG: &str = "ipam-config: {serve-pools: [InClusterIPPool]}";

fn fill(bed: &Bed) {
    let pool = json!({
        "apiVersion": "ipam.cluster.x-k8s.io/v1alpha2", "kind": "InClusterIPPool",
        "metadata": { "name": "lab", "namespace": "default" },
        "spec": { "addresses": ["10.0.0.1-10.0.200.0"], "prefix": 16, "gateway": "10.0.255.254" },
    });
    let claim = |i: usize| {
        json!({
            "apiVersion": "ipam.cluster.x-k8s.io/v1beta1", "kind": "IPAddressClaim",
            "metadata": {
                "name": format!("worker-{i:04}-0-0"), "namespace": "default",
                "labels": { "cluster.x-k8s.io/cluster-name": "lab" },
            },
            "spec": {
                "poolRef": { "apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": "lab" },
            },
        })
    };
    bed.create_all(std::iter::once(pool).chain((0..MACHINES).map(claim)).collect());
}

/// What a pass writes, by the stages of which each needs the one before.
struct Planned {
    /// The pool with its finalizer, and with its status.
    pool: [Object; 2],
    ledger: Vec<Object>,
    /// Each claim with its finalizer, its record, and the claim with its status.
    claims: Vec<[Object; 3]>,
}

/// From what a dry run says that it would write.
fn planned(changed: impl Iterator<Item = Object>) -> Planned {
    let mut all: Vec<Object> = changed.collect();
    // For one name in the order of the writes: the sort is stable.
    all.sort_by(|a, b| a.name().cmp(b.name()));
    let of = |kind: Kind| all.iter().filter(move |o| o.kind() == kind.kind).cloned().collect::<Vec<_>>();
    let (claims, records) = (of(CLAIM), of(ADDRESS));
    assert_eq!((claims.len(), records.len()), (2 * MACHINES, MACHINES));
    let claims = claims.chunks(2).zip(records);
    Planned {
        pool: of(IN_CLUSTER).try_into().unwrap(),
        ledger: of(CONFIG_MAP),
        claims: claims.map(|(claim, record)| [claim[0].clone(), record, claim[1].clone()]).collect(),
    }
}

/// The writes of a pass without the pass.
pub(crate) fn bare(bed: &Bed) -> Duration {
    let config = config::parse("bench", CONFIG).unwrap();
    let bed = bed.lock();
    fill(&bed);
    bed.namespace("mipam-system");
    bed.block_on(async {
        let cluster = KubeCluster::new(bed.client(ADMIN), Duration::from_secs(30));
        let outcome = settings(&cluster, &config, true).run(&|_| ()).await.unwrap();
        let Planned { pool: [held, told], ledger, claims } =
            planned(outcome.changed.into_iter().filter_map(|c| Some(c.after?.glance().into_owned())));
        let cluster = &cluster;
        let start = Instant::now();
        let held = cluster.replace(IN_CLUSTER, &held).await.unwrap();
        for object in &ledger {
            cluster.create(CONFIG_MAP, object).await.unwrap();
        }
        let writes = claims.iter().map(|[held, record, bound]| async move {
            let held = cluster.replace(CLAIM, held).await.unwrap();
            cluster.create(ADDRESS, record).await.unwrap();
            cluster.replace_status(CLAIM, &as_of(bound, &held)).await.unwrap();
        });
        futures_util::stream::iter(writes).buffer_unordered(IN_FLIGHT).collect::<Vec<()>>().await;
        cluster.replace_status(IN_CLUSTER, &as_of(&told, &held)).await.unwrap();
        start.elapsed()
    })
}

/// The pass, and an idle one after it.
pub(crate) fn pass(bed: &Bed) -> (Duration, Duration) {
    let config = config::parse("bench", CONFIG).unwrap();
    let bed = bed.lock();
    fill(&bed);
    bed.namespace("mipam-system");
    let took = bed.block_on(async {
        let cluster = KubeCluster::new(bed.client(ADMIN), Duration::from_secs(30));
        let start = Instant::now();
        let outcome = settings(&cluster, &config, false).run(&|_| ()).await.unwrap();
        let took = start.elapsed();
        assert_eq!((outcome.report.allocated.len(), outcome.failures.len()), (MACHINES, 0));
        let start = Instant::now();
        let before = cluster.traffic().counts().1;
        let outcome = settings(&cluster, &config, false).run(&|_| ()).await.unwrap();
        assert_eq!((outcome.report.writes - before, outcome.report.kept), (0, MACHINES));
        (took, start.elapsed())
    });
    let claims = bed.list("ipam.cluster.x-k8s.io/v1beta1", "IPAddressClaim");
    assert!(claims.iter().all(|c| c["status"]["addressRef"]["name"] == c["metadata"]["name"]));
    took
}
