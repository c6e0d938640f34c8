//! The planner alone: 10,000, 100,000 and 1,000,000 claims, time and memory per claim. Each size runs in a
//! process of its own, so that its peak of memory is its own. Then Nodes and ClusterCIDRs that overlap.

#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

use mipam::addr::parse_span;
use mipam::ledger::{Head, Ledger};
use mipam::model::{
    Claim, Gate, Kind, Match, NODE, Object, Observed, Order, Owner, Pool, PoolChoice, PoolOrigin, Subject,
    Wish,
};
use mipam::plan::{Scope, World, decide};
use mipam::systems::System;
use mipam::systems::nodes::{CLUSTER_CIDR, Nodes};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

fn main() {
    let size = std::env::args().skip_while(|a| a != "--size").nth(1).and_then(|s| s.parse().ok());
    if let Some(size) = size {
        return one(size);
    }
    println!("{:>10} {:>12} {:>12} {:>14}", "claims", "time", "ns/claim", "bytes/claim");
    for size in [10_000, 100_000, 1_000_000] {
        let me = std::env::current_exe().unwrap();
        let output = std::process::Command::new(me).args(["--size", &size.to_string()]).output().unwrap();
        print!("{}", String::from_utf8(output.stdout).unwrap());
    }
    nodes();
}

/// 15,000 Nodes of ten zones, and 50 ClusterCIDRs for one zone or for all, all of the same addresses, in blocks of
/// several sizes.
fn nodes() {
    const NODES: usize = 15_000;
    let node = |i: usize| {
        let labels =
            json!({ "zone": format!("z{}", i % 10), "kubernetes.io/hostname": format!("node-{i:05}") });
        let uid = format!("3f0c5bd2-8a51-4a0e-9a3f-{i:012}");
        Object(json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": { "name": format!("node-{i:05}"), "uid": uid, "labels": labels },
        }))
    };
    let cluster_cidr = |i: usize| {
        let prefix = 8 + i / 10;
        let mut spec = json!({ "perNodeHostBits": 4 + i % 6, "ipv4": format!("10.0.0.0/{prefix}") });
        if i % 10 < 8 {
            let zone = json!({ "key": "zone", "operator": "In", "values": [format!("z{}", i % 10)] });
            spec["nodeSelector"] = json!({ "nodeSelectorTerms": [{ "matchExpressions": [zone] }] });
        }
        let metadata = json!({ "name": format!("c{i:02}") });
        Object(json!({
            "apiVersion": "networking.x-k8s.io/v1", "kind": "ClusterCIDR", "metadata": metadata, "spec": spec,
        }))
    };
    let mut observed = Observed::default();
    observed.insert(NODE, (0..NODES).map(node));
    observed.insert(CLUSTER_CIDR, (0..50).map(cluster_cidr));
    observed.insert(Kind::namespaced("apps", &["v1"], "Deployment", "deployments"), Vec::<Object>::new());
    let config = mipam::config::empty();
    let ledger = Ledger::read(vec![Head::first("epoch", &[])]).unwrap();
    let (gone, scope) = (BTreeSet::new(), Scope::default());
    let start = Instant::now();
    let survey = Nodes.survey(&observed, &config);
    let surveyed = start.elapsed();
    let decision = decide(World {
        pools: &[],
        ledger: &ledger,
        gone: &gone,
        claims: &survey.claims,
        holdings: &[],
        block_pools: &survey.block_pools,
        taken: &survey.taken,
        at_once: None,
        scope: &scope,
        now: 0,
    });
    let took = start.elapsed();
    assert_eq!(decision.served.len(), NODES);
    println!("{NODES} Nodes, 50 ClusterCIDRs: claims {surveyed:.1?}, with the decision {took:.1?}");
}

fn one(size: u32) {
    let before = peak();
    let pools = vec![pool()];
    let ledger = Ledger::read(vec![Head::first("epoch", &pools)]).unwrap();
    let subject = Arc::new(Subject { system: "openshift", namespace: "ns".into(), ..Subject::default() });
    let claims: Vec<Claim> = (0..size).map(|i| claim(i, &subject)).collect();
    let (gone, scope) = (BTreeSet::new(), Scope::default());
    let world = World {
        pools: &pools,
        ledger: &ledger,
        gone: &gone,
        claims: &claims,
        holdings: &[],
        block_pools: &[],
        taken: &[],
        at_once: None,
        scope: &scope,
        now: 0,
    };
    let start = Instant::now();
    let decision = decide(world);
    let took = start.elapsed();
    assert_eq!(decision.served.len(), size as usize);
    let bytes = (peak() - before) / u64::from(size);
    println!("{size:>10} {took:>12.1?} {:>12} {bytes:>14}", took.as_nanos() / u128::from(size));
}

/// The most memory that this process has had, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmHWM:")).unwrap_or("VmHWM: 0 kB");
    line.split_whitespace().nth(1).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0) * 1024
}

fn claim(i: u32, subject: &Arc<Subject>) -> Claim {
    let owner = Owner {
        group: "machine.openshift.io".into(),
        kind: "Machine".into(),
        namespace: "openshift-machine-api".into(),
        name: format!("cluster-worker-{i:07}").into(),
        uid: format!("3f0c5bd2-8a51-4a0e-9a3f-{i:012}").into(),
        system: "openshift".into(),
    };
    let wish =
        Wish { device: "0".into(), pools: PoolChoice::Matching(subject.clone()), asks: None, one: false };
    Claim {
        owner: Arc::new(owner),
        wishes: vec![wish],
        presets: vec![],
        gate: Gate::Closed,
        stands_for: None,
    }
}

fn pool() -> Pool {
    let range = parse_span("fd00::/64").unwrap();
    Pool {
        name: "lab".into(),
        origin: PoolOrigin::Config,
        network: "".into(),
        family: range.family(),
        ranges: vec![range],
        prefix: 64,
        gateway: None,
        nameservers: vec![],
        search_domains: vec![],
        exclude: [].into_iter().collect(),
        reserved: [].into(),
        reuse_after: 0,
        interfaces: vec![],
        matches: Match::default(),
        order: Order::Lowest,
        edges: false,
        foreign: false,
    }
}
