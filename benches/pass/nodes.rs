//! A pass over 5,000 Nodes, beside the bare writes that it makes: the ClusterCIDR's finalizer, and wave after wave
//! the ledger and the Nodes.

use super::{IN_FLIGHT, settings};
use crate::bed::Bed;
use crate::bed::accounts::ADMIN;
use futures_util::StreamExt;
use mipam::cluster::Cluster;
use mipam::cluster::kube::KubeCluster;
use mipam::config;
use mipam::ledger::CONFIG_MAP;
use mipam::model::NODE;
use mipam::model::Object;
use mipam::systems::nodes::CLUSTER_CIDR;
use serde_json::json;
use std::time::{Duration, Instant};

pub(crate) const NODES: usize = 5_000;
const WAVE: usize = 2_000;
const CONFIG: &str = "ipam-config: {systems: [nodes]}";

fn fill(bed: &Bed) {
    let node = |i: usize| json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": format!("node-{i:04}") } });
    let pool = json!({
        "apiVersion": "networking.x-k8s.io/v1", "kind": "ClusterCIDR", "metadata": { "name": "all" },
        "spec": { "perNodeHostBits": 8, "ipv4": "10.128.0.0/11" },
    });
    bed.create_all((0..NODES).map(node).chain([pool]).collect());
    bed.namespace("mipam-system");
}

/// The writes of a pass without the pass.
pub(crate) fn bare(bed: &Bed) -> Duration {
    let config = config::parse("bench", CONFIG).unwrap();
    let bed = bed.lock();
    fill(&bed);
    bed.block_on(async {
        let cluster = KubeCluster::new(bed.client(ADMIN), Duration::from_secs(30));
        let planned = settings(&cluster, &config, true).run(&|_| ()).await.unwrap().changed;
        let planned: Vec<Object> =
            planned.into_iter().filter_map(|c| Some(c.after?.glance().into_owned())).collect();
        let of = |kind: &str| planned.iter().filter(|o| o.kind() == kind).cloned().collect::<Vec<Object>>();
        let nodes = of(NODE.kind);
        assert_eq!(nodes.len(), NODES);
        let (mut page, cluster) = (of(CONFIG_MAP.kind).remove(0), &cluster);
        let entries = std::mem::take(page.ensure_object(&["data"]));
        let entries: Vec<_> = entries.into_iter().collect();
        let start = Instant::now();
        cluster.replace(CLUSTER_CIDR, &of(CLUSTER_CIDR.kind)[0]).await.unwrap();
        for (at, wave) in nodes.chunks(WAVE).enumerate() {
            let data = entries.chunks(WAVE).nth(at).unwrap().iter().cloned().collect();
            page.0["data"] = serde_json::Value::Object(data);
            page = match at {
                0 => cluster.create(CONFIG_MAP, &page).await.unwrap(),
                _ => cluster.replace(CONFIG_MAP, &page).await.unwrap(),
            };
            let put = |node| async move { cluster.replace(NODE, node).await.unwrap() };
            futures_util::stream::iter(wave).map(put).buffer_unordered(IN_FLIGHT).collect::<Vec<_>>().await;
        }
        start.elapsed()
    })
}

/// The pass, and an idle one after it.
pub(crate) fn pass(bed: &Bed) -> (Duration, Duration) {
    let config = config::parse("bench", CONFIG).unwrap();
    let bed = bed.lock();
    fill(&bed);
    bed.block_on(async {
        let cluster = KubeCluster::new(bed.client(ADMIN), Duration::from_secs(30));
        let start = Instant::now();
        let outcome = settings(&cluster, &config, false).run(&|_| ()).await.unwrap();
        let took = start.elapsed();
        assert_eq!((outcome.report.allocated.len(), outcome.failures.len()), (NODES, 0));
        let start = Instant::now();
        let before = cluster.traffic().counts().1;
        let outcome = settings(&cluster, &config, false).run(&|_| ()).await.unwrap();
        assert_eq!((outcome.report.writes - before, outcome.report.kept), (0, NODES));
        (took, start.elapsed())
    })
}
