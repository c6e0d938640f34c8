//! A pass over 1,000 ElfMachines, beside the bare writes that it makes: each machine's finalizer and claim, the
//! ledger, each claim's record and status and its machine's device, the pool's status.

use super::{IN_FLIGHT, MACHINES, settings};
use crate::bed::Bed;
use crate::bed::accounts::ADMIN;
use futures_util::StreamExt;
use mipam::cluster::Cluster;
use mipam::cluster::kube::KubeCluster;
use mipam::config;
use mipam::ledger::CONFIG_MAP;
use mipam::model::Object;
use mipam::systems::elf::{ELF_MACHINE, IP_ADDRESS, IP_CLAIM, IP_POOL};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const CONFIG: &str = "ipam-config: {metal3: serve}";

fn fill(bed: &Bed) {
    let pool = json!({
        "apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPPool",
        "metadata": { "name": "lab", "namespace": "default" },
        "spec": {
            "namePrefix": "lab", "pools": [{ "start": "10.0.0.1", "end": "10.0.200.0" }], "prefix": 16,
            "gateway": "10.0.255.254", "dnsServers": ["10.0.255.253"],
        },
    });
    let template = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "ElfMachineTemplate",
        "metadata": {
            "name": "worker", "namespace": "default", "labels": { "cluster.x-k8s.io/ip-pool-name": "lab" },
        },
        "spec": { "template": { "spec": { "template": "t" } } },
    });
    let machine = |i: usize| {
        json!({
            "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine",
            "metadata": { "name": name(i), "namespace": "default", "uid": format!("machine-{i}") },
            "spec": {
                "clusterName": "lab", "bootstrap": { "dataSecretName": "x" },
                "infrastructureRef": {
                    "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "ElfMachine", "name": name(i),
                },
            },
        })
    };
    let elf = |i: usize| {
        json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "ElfMachine",
            "metadata": {
                "name": name(i), "namespace": "default",
                "annotations": { "cluster.x-k8s.io/cloned-from-name": "worker" },
                "finalizers": ["elfmachine.infrastructure.cluster.x-k8s.io"],
                "ownerReferences": [{
                    "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "name": name(i),
                    "uid": format!("machine-{i}"),
                }],
            },
            "spec": {
                "cloneMode": "FastClone", "ha": true, "numCPUS": 4, "memoryMiB": 6144, "template": "t",
                "network": { "devices": [{ "networkType": "IPV4", "vlan": "v" }] },
            },
        })
    };
    let machines = (0..MACHINES).map(machine).chain((0..MACHINES).map(elf));
    bed.create_all([pool, template].into_iter().chain(machines).collect());
}

fn name(i: usize) -> String {
    format!("worker-{i:04}")
}

/// What a pass writes, by the stages of which each needs the one before.
struct Planned {
    /// Each machine with its finalizer, and its claim.
    first: Vec<(Object, Object)>,
    ledger: Vec<Object>,
    /// Each claim's record, the claim with its status, and the machine with its device.
    then: Vec<(Object, Object, Object)>,
    pool: Object,
}

/// From what a dry run says that it would write.
fn planned(changed: impl Iterator<Item = Object>) -> Planned {
    let mut of: std::collections::BTreeMap<String, Vec<Object>> = std::collections::BTreeMap::new();
    changed.for_each(|object| of.entry(object.kind().to_owned()).or_default().push(object));
    let mut take = |kind: &str| of.remove(kind).unwrap();
    // Sorted by name, and for one name in the order of the writes: the sort is stable.
    let mut halves = |kind: &str| -> (Vec<Object>, Vec<Object>) {
        let mut all = take(kind);
        all.sort_by(|a, b| a.name().cmp(b.name()));
        assert_eq!(all.len(), 2 * MACHINES, "{kind}");
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for pair in all.chunks(2) {
            before.push(pair[0].clone());
            after.push(pair[1].clone());
        }
        (before, after)
    };
    let (held, filled) = halves(ELF_MACHINE.kind);
    let (made, bound) = halves(IP_CLAIM.kind);
    let mut records = take(IP_ADDRESS.kind);
    records.sort_by(|a, b| a.text("/spec/claim/name").cmp(&b.text("/spec/claim/name")));
    let then = records.into_iter().zip(bound).zip(filled).map(|((record, claim), elf)| (record, claim, elf));
    Planned {
        first: held.into_iter().zip(made).collect(),
        then: then.collect(),
        ledger: take(CONFIG_MAP.kind),
        pool: take(IP_POOL.kind).remove(0),
    }
}

/// Gives an object the version and uid that the server has for it.
pub(crate) fn as_of(object: &Object, now: &Object) -> Object {
    let mut object = object.clone();
    for key in ["resourceVersion", "uid"] {
        object.0["metadata"][key] = now.0["metadata"][key].clone();
    }
    object
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
        let planned = planned(outcome.changed.into_iter().filter_map(|c| Some(c.after?.glance().into_owned())));
        let cluster = &cluster;
        let start = Instant::now();
        let first = futures_util::stream::iter(&planned.first).map(|(elf, claim)| async move {
            (
                cluster.replace(ELF_MACHINE, elf).await.unwrap(),
                cluster.create(IP_CLAIM, claim).await.unwrap(),
            )
        });
        let made: Vec<(Object, Object)> = first.buffered(IN_FLIGHT).collect().await;
        for object in &planned.ledger {
            cluster.create(CONFIG_MAP, object).await.unwrap();
        }
        let then = planned.then.iter().zip(&made).map(|((record, claim, elf), (held, made))| async move {
            let mut record = record.clone();
            let owner = json!({
                "apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPClaim", "name": made.name(), "uid": made.uid(),
            });
            record.0["metadata"]["ownerReferences"].as_array_mut().unwrap().push(owner);
            cluster.create(IP_ADDRESS, &record).await.unwrap();
            cluster.replace_status(IP_CLAIM, &as_of(claim, made)).await.unwrap();
            cluster.replace(ELF_MACHINE, &as_of(elf, held)).await.unwrap();
        });
        futures_util::stream::iter(then).buffer_unordered(IN_FLIGHT).collect::<Vec<()>>().await;
        cluster.replace_status(IP_POOL, &planned.pool).await.unwrap();
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
    let filled = |m: &Value| m["spec"]["network"]["devices"][0]["ipAddrs"].is_array();
    assert!(bed.list("infrastructure.cluster.x-k8s.io/v1beta1", "ElfMachine").iter().all(filled));
    took
}
