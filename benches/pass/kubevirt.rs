//! A pass over 500 virtual machines that run, beside the bare creates of their claims.

use super::{IN_FLIGHT, settings};
use crate::bed::Bed;
use crate::bed::accounts::ADMIN;
use futures_util::StreamExt;
use mipam::cluster::Cluster;
use mipam::cluster::kube::KubeCluster;
use mipam::config;
use mipam::systems::kubevirt::CLAIM;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

pub(crate) const MACHINES: usize = 500;
const CONFIG: &str = "ipam-config: {systems: [kubevirt]}";

fn fill(bed: &Bed) {
    let config = json!({ "cniVersion": "0.3.1", "name": "blue", "type": "ovn-k8s-cni-overlay", "topology": "layer2",
        "subnets": "192.168.0.0/16", "allowPersistentIPs": true });
    let nad = json!({
        "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
        "metadata": { "name": "blue", "namespace": "default" }, "spec": { "config": config.to_string() },
    });
    let machine = |i: usize| -> [Value; 2] {
        let name = format!("vm-{i:04}");
        let spec = json!({
            "domain": { "devices": { "interfaces": [{ "name": "anet", "bridge": {} }] }, "resources": { "requests": { "memory": "1024M" } } },
            "networks": [{ "name": "anet", "multus": { "networkName": "blue" } }],
        });
        let uid = format!("uid-of-{name}");
        let owner =
            json!({ "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": name, "uid": uid });
        [
            json!({ "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
                "metadata": { "name": name, "namespace": "default", "uid": uid },
                "spec": { "running": true, "template": { "spec": spec } } }),
            json!({ "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
                "metadata": { "name": name, "namespace": "default", "ownerReferences": [owner] },
                "spec": spec, "status": { "phase": "Running" } }),
        ]
    };
    bed.create_all(std::iter::once(nad).chain((0..MACHINES).flat_map(machine)).collect());
}

/// The creates of a pass without the pass.
pub(crate) fn bare(bed: &Bed) -> Duration {
    let config = config::parse("bench", CONFIG).unwrap();
    let bed = bed.lock();
    fill(&bed);
    bed.block_on(async {
        let cluster = KubeCluster::new(bed.client(ADMIN), Duration::from_secs(30));
        let outcome = settings(&cluster, &config, true).run(&|_| ()).await.unwrap();
        let claims: Vec<_> = outcome.changed.into_iter().filter_map(|c| c.after).collect();
        assert_eq!(claims.len(), MACHINES);
        let cluster = &cluster;
        let start = Instant::now();
        let creates = claims.iter().map(|claim| async move { cluster.create(CLAIM, claim).await.unwrap() });
        futures_util::stream::iter(creates).buffer_unordered(IN_FLIGHT).collect::<Vec<_>>().await;
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
        assert_eq!((outcome.report.claims.len(), outcome.failures.len()), (MACHINES, 0));
        let start = Instant::now();
        let before = cluster.traffic().counts().1;
        let outcome = settings(&cluster, &config, false).run(&|_| ()).await.unwrap();
        assert_eq!((outcome.report.writes - before, outcome.report.kept), (0, MACHINES));
        (took, start.elapsed())
    })
}
