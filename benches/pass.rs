//! A pass over 1,000 Machines, over 1,000 ElfMachines, over 1,000 of Cluster API's claims, over 500 virtual machines and
//! over 5,000 Nodes, on a real API server, beside the bare writes that they make: the same bytes by the same client, the same number in
//! flight, what others depend on first. What counts is the ratio; it must not exceed 1.5. Also the start of `mipam
//! render-nmstate`.

#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

#[path = "../tests/it/bed/mod.rs"]
mod bed;
#[path = "pass/capi.rs"]
mod capi;
#[path = "pass/elf.rs"]
mod elf;
#[path = "pass/kubevirt.rs"]
mod kubevirt;
#[path = "pass/nodes.rs"]
mod nodes;

use bed::accounts::ADMIN;
use bed::{Bed, Profile};
use futures_util::StreamExt;
use mipam::cluster::Cluster;
use mipam::cluster::kube::KubeCluster;
use mipam::config::{self, Config};
use mipam::ledger::CONFIG_MAP;
use mipam::model::Object;
use mipam::pass::{Pass, Silent};
use mipam::plan::Scope;
use mipam::systems::openshift::MACHINE;
use serde_json::json;
use std::time::{Duration, Instant};

const MACHINES: usize = 1000;
const ROUNDS: usize = 3;
const IN_FLIGHT: usize = 64;
const LIMIT: f64 = 1.5;

const CONFIG: &str = "
ipam-config:
  lifecycle-hook: {name: ipamController, owner: network-admin}
  pools:
    - {name: lab, ranges: [10.0.0.0/16], prefix: 16, gateway: 10.0.255.254, nameservers: [10.0.255.253]}
";

fn main() {
    start_up();
    let bed = Bed::with(Profile::Own);
    let config = config::parse("bench", CONFIG).unwrap();
    compare(&format!("{MACHINES} machines"), || bare(&bed, &config), || pass(&bed, &config));
    compare(&format!("{MACHINES} ElfMachines"), || elf::bare(&bed), || elf::pass(&bed));
    compare(&format!("{MACHINES} IPAddressClaims"), || capi::bare(&bed), || capi::pass(&bed));
    let virtual_machines = format!("{} virtual machines", kubevirt::MACHINES);
    compare(&virtual_machines, || kubevirt::bare(&bed), || kubevirt::pass(&bed));
    compare(&format!("{} Nodes", nodes::NODES), || nodes::bare(&bed), || nodes::pass(&bed));
}

fn compare(what: &str, bare: impl Fn() -> Duration, pass: impl Fn() -> (Duration, Duration)) {
    // Only these, where a person says so.
    if !what.contains(&std::env::var("MIPAM_BENCH").unwrap_or_default()) {
        return;
    }
    let mut ratios = Vec::new();
    for round in 1..=ROUNDS {
        let bare = bare();
        let (pass, idle) = pass();
        let ratio = pass.as_secs_f64() / bare.as_secs_f64();
        println!(
            "round {round}: {what}: bare writes {bare:.2?}, pass {pass:.2?}, ratio {ratio:.2}, idle pass {idle:.2?}"
        );
        ratios.push(ratio);
    }
    ratios.sort_by(f64::total_cmp);
    let median = ratios[ratios.len() / 2];
    println!("median ratio {median:.2}, limit {LIMIT}");
    assert!(median <= LIMIT, "a pass takes {median:.2} times the bare writes");
}

fn fill(bed: &Bed) {
    let machine = |i: usize| {
        json!({
            "apiVersion": "machine.openshift.io/v1beta1",
            "kind": "Machine",
            "metadata": { "name": format!("worker-{i:04}"), "namespace": "openshift-machine-api" },
            "spec": {
                "lifecycleHooks": { "preCreate": [{ "name": "ipamController", "owner": "network-admin" }] },
                "providerSpec": { "value": {
                    "kind": "VSphereMachineProviderSpec", "numCPUs": 4, "memoryMiB": 16384, "diskGiB": 120,
                    "template": "cluster-rhcos", "network": { "devices": [{ "networkName": "lab" }] },
                    "workspace": { "datacenter": "dc", "datastore": "ds", "folder": "/dc/vm/f", "server": "vcenter" },
                } },
            },
        })
    };
    bed.create_all((0..MACHINES).map(machine).collect());
}

fn settings<'a>(cluster: &'a dyn Cluster, config: &'a Config, dry_run: bool) -> Pass<'a> {
    Pass {
        cluster,
        config,
        scope: Scope::default(),
        now: 1_800_000_000,
        in_flight: IN_FLIGHT,
        dry_run,
        progress: &Silent,
        memory: None,
    }
}

/// The writes of a pass without the pass.
fn bare(bed: &Bed, config: &Config) -> Duration {
    let bed = bed.lock();
    fill(&bed);
    bed.namespace("mipam-system");
    bed.block_on(async {
        let cluster = KubeCluster::new(bed.client(ADMIN), Duration::from_secs(30));
        let planned = settings(&cluster, config, true).run(&|_| ()).await.unwrap().changed;
        let planned = planned.into_iter().filter_map(|c| Some(c.after?.glance().into_owned()));
        let (ledger, machines): (Vec<Object>, Vec<Object>) =
            planned.partition(|o| o.0["kind"] == "ConfigMap");
        assert_eq!(machines.len(), MACHINES);
        let start = Instant::now();
        for object in &ledger {
            cluster.create(CONFIG_MAP, object).await.unwrap();
        }
        let put = |object| replace(&cluster, object);
        futures_util::stream::iter(&machines).map(put).buffer_unordered(IN_FLIGHT).collect::<Vec<_>>().await;
        start.elapsed()
    })
}

async fn replace(cluster: &KubeCluster, object: &Object) -> Object {
    cluster.replace(MACHINE, object).await.unwrap()
}

fn pass(bed: &Bed, config: &Config) -> (Duration, Duration) {
    let bed = bed.lock();
    fill(&bed);
    bed.namespace("mipam-system");
    bed.block_on(async {
        let cluster = KubeCluster::new(bed.client(ADMIN), Duration::from_secs(30));
        let start = Instant::now();
        let outcome = settings(&cluster, config, false).run(&|_| ()).await.unwrap();
        let took = start.elapsed();
        assert_eq!((outcome.report.allocated.len(), outcome.failures.len()), (MACHINES, 0));
        let start = Instant::now();
        let before = cluster.traffic().counts().1;
        let outcome = settings(&cluster, config, false).run(&|_| ()).await.unwrap();
        assert_eq!((outcome.report.writes - before, outcome.report.kept), (0, MACHINES));
        (took, start.elapsed())
    })
}

/// From the shell to the last byte of a small answer.
fn start_up() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ipam-config.yaml");
    std::fs::write(&file, CONFIG).unwrap();
    let mut times: Vec<Duration> = (0..30)
        .map(|_| {
            let start = Instant::now();
            let output = std::process::Command::new(env!("CARGO_BIN_EXE_mipam"))
                .args(["render-nmstate", "--address", "10.0.0.9", "--pool", "lab", "--config"])
                .arg(&file)
                .output()
                .unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            start.elapsed()
        })
        .collect();
    times.sort();
    println!("start-up of render-nmstate: median {:.1?}", times[times.len() / 2]);
}
