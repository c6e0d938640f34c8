//! Pod CIDRs of Nodes on a real API server: many at once, two runs at once, and what the Events say. No two blocks
//! overlap, each compared with each.

use crate::bed::accounts::ADMIN;
use crate::bed::{self, Bed, Profile};
use serde_json::{Value, json};
use std::net::IpAddr;
use std::process::{Child, Command, Stdio};

pub(crate) fn cluster_cidr(name: &str, spec: Value) -> Value {
    json!({
        "apiVersion": "networking.x-k8s.io/v1", "kind": "ClusterCIDR", "metadata": { "name": name }, "spec": spec,
    })
}

pub(crate) fn node(i: usize) -> Value {
    json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": format!("node-{i:04}") } })
}

/// A run of the program.
pub(crate) fn start(bed: &Bed) -> Child {
    // Runs that have begun read it: it is there once and whole.
    let config = bed.dir().join("nodes.yaml");
    if !config.exists() {
        std::fs::write(&config, "ipam-config: {systems: [nodes]}").unwrap();
    }
    Command::new(env!("CARGO_BIN_EXE_mipam"))
        .args(["reconcile", "-o", "json", "--config"])
        .arg(config)
        .arg("--kubeconfig")
        .arg(bed.kubeconfig(ADMIN))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

pub(crate) fn finish(run: Child) -> Value {
    let output = run.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{err}"))
}

fn bounds(block: &str) -> (u8, u128, u128) {
    let (address, prefix) = block.split_once('/').unwrap();
    let prefix: u32 = prefix.parse().unwrap();
    match address.parse().unwrap() {
        IpAddr::V4(v4) => (4, v4.to_bits().into(), u128::from(v4.to_bits()) + (1 << (32 - prefix)) - 1),
        IpAddr::V6(v6) => (6, v6.to_bits(), v6.to_bits() + (1 << (128 - prefix)) - 1),
    }
}

/// Every Node has so many blocks, and no two of them overlap.
pub(crate) fn check(bed: &Bed, nodes: usize, families: usize) {
    let all = bed.list("v1", "Node");
    assert_eq!(all.len(), nodes);
    let mut blocks = Vec::new();
    for node in &all {
        let has = node["spec"]["podCIDRs"]
            .as_array()
            .unwrap_or_else(|| panic!("{} has none", node["metadata"]["name"]));
        assert_eq!((has.len(), &has[0]), (families, &node["spec"]["podCIDR"]));
        blocks.extend(has.iter().map(|b| bounds(b.as_str().unwrap())));
    }
    for (i, a) in blocks.iter().enumerate() {
        for b in &blocks[i + 1..] {
            assert!(a.0 != b.0 || a.2 < b.1 || b.2 < a.1, "{a:?} and {b:?}");
        }
    }
}

#[test]
fn five_thousand_dual_stack_nodes_cost_a_write_each_and_go_in_waves() {
    const NODES: usize = 5_000;
    let bed = bed::shared(Profile::Own).lock();
    bed.namespace("mipam-system");
    bed.create_all((0..NODES).map(node).collect());
    let spec = json!({ "perNodeHostBits": 8, "ipv4": "10.128.0.0/11", "ipv6": "fd00:1::/96" });
    bed.create_all(vec![cluster_cidr("dual", spec)]);
    let mark = bed.mark();
    let report = finish(start(&bed));
    assert_eq!(report["allocated"].as_array().unwrap().len(), 2 * NODES, "{}", report["pending"]);
    let writes = bed.writes_since(mark, ADMIN);
    let of = |resource: &str| writes.iter().filter(|w| w.resource == resource).count();
    // The head, and 2,000 blocks in a wave.
    assert_eq!((of("nodes"), of("clustercidrs"), of("configmaps")), (NODES, 1, 1 + 5), "{}", writes.len());
    assert_eq!(writes.len(), NODES + 7);
    check(&bed, NODES, 2);
    let mark = bed.mark();
    let report = finish(start(&bed));
    assert_eq!((&report["kept"], bed.writes_since(mark, ADMIN).len()), (&json!(NODES), 0), "idle");
}

#[test]
fn two_runs_at_once_give_no_block_twice() {
    const NODES: usize = 1_000;
    let bed = bed::shared(Profile::Own).lock();
    bed.create_all((0..NODES).map(node).collect());
    // Ranges that overlap, with blocks of different sizes.
    let all = json!({ "perNodeHostBits": 8, "ipv4": "10.128.0.0/14" });
    let small = json!({
        "perNodeHostBits": 4, "ipv4": "10.128.0.0/16",
        "nodeSelector": { "nodeSelectorTerms": [{ "matchExpressions": [{ "key": "small", "operator": "Exists" }] }] },
    });
    bed.create_all(vec![cluster_cidr("all", all), cluster_cidr("small", small)]);
    for i in (0..NODES).step_by(20) {
        let small = json!({ "metadata": { "labels": { "small": "" } } });
        bed.merge("v1", "Node", "", &format!("node-{i:04}"), &small);
    }
    let runs = [start(&bed), start(&bed), start(&bed)];
    let given: Vec<usize> =
        runs.into_iter().map(|run| finish(run)["allocated"].as_array().unwrap().len()).collect();
    finish(start(&bed));
    check(&bed, NODES, 1);
    assert!(given.iter().sum::<usize>() >= NODES, "{given:?}");
    let mark = bed.mark();
    finish(start(&bed));
    assert_eq!(bed.writes_since(mark, ADMIN).len(), 0, "idle");
}

#[test]
fn a_node_that_finds_no_block_and_a_cluster_cidr_that_is_wrong_say_so_once() {
    let bed = bed::shared(Profile::Own).lock();
    bed.create_all((0..2).map(node).collect());
    let one = json!({ "perNodeHostBits": 4, "ipv4": "10.128.0.0/28" });
    bed.create_all(vec![
        cluster_cidr("one", one),
        cluster_cidr("wrong", json!({ "perNodeHostBits": 2, "ipv4": "10.129.0.0/16" })),
    ]);
    for _ in 0..2 {
        finish(start(&bed));
        let mut events: Vec<_> = bed
            .list("v1", "Event")
            .into_iter()
            .filter(|e| e["source"]["component"] == "mipam")
            .map(|e| {
                let about = &e["involvedObject"];
                let text = |v: &Value| v.as_str().unwrap().to_owned();
                assert_eq!(e["type"], "Warning");
                (text(&about["kind"]), text(&about["name"]), text(&e["reason"]), text(&e["message"]))
            })
            .collect();
        events.sort();
        let say = |(kind, name, reason, message): &(String, String, String, String)| {
            format!("{kind}/{name} {reason}: {message}")
        };
        let wanted = [
            "ClusterCIDR/wrong InvalidClusterCIDR: perNodeHostBits is 2, and at least 4 are needed; no Node gets a block of it until it is made anew",
            "Node/node-0001 CIDRNotAvailable: no block is left in one",
        ];
        assert_eq!(events.iter().map(say).collect::<Vec<_>>(), wanted);
    }
    // It belongs to this very Node.
    let node = bed.get("v1", "Node", "", "node-0001").unwrap();
    let event = bed.list("v1", "Event").into_iter().find(|e| e["reason"] == "CIDRNotAvailable").unwrap();
    assert_eq!(event["involvedObject"]["uid"], node["metadata"]["uid"]);
}
