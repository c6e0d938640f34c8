//! Bugs of those who give Nodes their pod CIDRs: kube-controller-manager, node-ipam-controller, cloud providers.

use super::clean;
use crate::sim::bent::{Bent, pass};
use crate::sim::stage::World;
use mipam::model::NODE;
use mipam::model::{Object, Reason};
use mipam::plan::Scope;
use mipam::systems::nodes::CLUSTER_CIDR;
use serde_json::json;

const CONFIG: &str = "ipam-config: {systems: [nodes]}";

fn cluster_cidr(name: &str, spec: &str) -> String {
    format!(
        "{{apiVersion: networking.x-k8s.io/v1, kind: ClusterCIDR, metadata: {{name: {name}}}, spec: {{{spec}}}}}"
    )
}

fn node(name: &str, more: &str) -> String {
    format!("{{apiVersion: v1, kind: Node, metadata: {{name: {name}}}{more}}}")
}

fn has(block: &str) -> String {
    format!(", spec: {{podCIDR: '{block}', podCIDRs: ['{block}']}}")
}

/// A cluster with a ClusterCIDR of this spec and these Nodes, which have no blocks yet.
fn world(spec: &str, nodes: &[&str]) -> World {
    let world = World::new(CONFIG);
    world.create(&cluster_cidr("p", spec));
    nodes.iter().for_each(|n| world.create(&node(n, "")));
    world
}

/// What a Node has, with a blank between two blocks.
fn blocks(world: &World, name: &str) -> String {
    let all = world.sim.all();
    let found = all.iter().find(|(kind, o)| *kind == NODE && o.name() == name).expect("the Node");
    let list = found.1.array("/spec/podCIDRs").iter().filter_map(|b| b.as_str());
    list.collect::<Vec<_>>().join(" ")
}

fn waiting(world: &World) -> Vec<(String, Reason)> {
    clean(world).report.pending.into_iter().map(|p| (p.name, p.reason)).collect()
}

/// k/k#29058: blocks were given before it was known which ones the Nodes have. Here a pass reads the ledger, then all
/// Nodes, and gives nothing where one of the two cannot be read (`observe::observe`).
#[test]
fn bug_09_allocated_before_the_nodes_were_listed() {
    let world = world("perNodeHostBits: 8, ipv4: 10.1.0.0/16", &["a"]);
    world.create(&node("b", &has("10.1.0.0/24")));
    let bent = Bent::default();
    pass(&world, &bent, Scope::default());
    let asked = bent.asked.into_inner();
    let at = |what: &str| asked.iter().position(|a| a == what).unwrap_or_else(|| panic!("{what}: {asked:?}"));
    assert!(at("list configmaps") < at("list nodes"), "{asked:?}");
    assert_eq!(blocks(&world, "a"), "10.1.1.0/24");
}

/// k/k#127792: the block of a Node was given away when its deletion began. Here it is the Node's until a live look
/// says that the Node is gone.
#[test]
fn bug_10_a_block_is_reused_at_the_start_of_a_deletion() {
    let world = world("perNodeHostBits: 4, ipv4: 10.1.0.0/28", &["a"]);
    clean(&world);
    world.delete(&NODE.at("", "a"), true);
    world.create(&node("b", ""));
    assert_eq!(waiting(&world), [("b".to_owned(), Reason::PoolExhausted)]);
    world.edit(&NODE.at("", "a"), |o| drop(o.ensure_object(&["metadata"]).shift_remove("finalizers")));
    assert_eq!(waiting(&world), []);
    assert_eq!(blocks(&world, "b"), "10.1.0.0/28");
}

/// cloud-provider-azure#4556: the write to the Node seemed to fail, so its block was given to the next one; but it had
/// arrived. Here the ledger keeps what was recorded until the Node shows what it has, or is gone.
#[test]
fn bug_11_a_write_that_seemed_to_fail_was_applied() {
    let world = world("perNodeHostBits: 8, ipv4: 10.1.0.0/16", &["a", "b"]);
    let bent = Bent { refused: Some("a".into()), ..Bent::default() };
    let outcome = pass(&world, &bent, Scope::default());
    assert_eq!(outcome.report.pending.len(), 1, "{:?}", outcome.report);
    world.create(&node("c", ""));
    // The write arrives late.
    let late = json!({ "podCIDR": "10.1.0.0/24", "podCIDRs": ["10.1.0.0/24"] });
    world.edit(&NODE.at("", "a"), |o: &mut Object| o.0["spec"] = late);
    clean(&world);
    let all = ["a", "b", "c"].map(|n| blocks(&world, n));
    assert_eq!(all, ["10.1.0.0/24", "10.1.1.0/24", "10.1.2.0/24"]);
}

/// node-ipam-controller: of two Nodes that share a block, the first that went freed it under the other. Here what any
/// Node shows is taken.
#[test]
fn bug_12_releasing_one_of_two_that_share_a_block() {
    let world = world("perNodeHostBits: 8, ipv4: 10.1.0.0/16", &[]);
    ["a", "b"].iter().for_each(|n| world.create(&node(n, &has("10.1.0.0/24"))));
    let problems = clean(&world).report.problems;
    assert_eq!((problems.len(), problems[0].kind), (1, "Duplicate"), "{problems:?}");
    world.delete(&NODE.at("", "a"), false);
    world.create(&node("c", ""));
    clean(&world);
    assert_eq!([blocks(&world, "b"), blocks(&world, "c")], ["10.1.0.0/24", "10.1.1.0/24"]);
}

/// k/k#90922: with another mask, blocks of the old size were looked up in a table of the new size. Here blocks are
/// ranges, whatever their size (`SpanSet::lowest_free_block`).
#[test]
fn bug_13_the_mask_has_changed() {
    let world = world("perNodeHostBits: 4, ipv4: 10.1.0.0/16", &["x"]);
    world.create(&node("a", &has("10.1.0.0/24")));
    world.create(&node("b", &has("10.1.1.16/30")));
    clean(&world);
    assert_eq!(blocks(&world, "x"), "10.1.1.0/28");
    world.create(&node("y", ""));
    clean(&world);
    assert_eq!(blocks(&world, "y"), "10.1.1.32/28", "10.1.1.16/28 is taken in part");
}

/// node-ipam-controller: after a restart, blocks of a ClusterCIDR that was being deleted were not counted, nor those of
/// Nodes whose labels had changed. Here every pass counts what Nodes have, by nothing but their blocks.
#[test]
fn bug_18_a_restart_while_a_cluster_cidr_is_deleted_and_labels_have_changed() {
    let world = world("perNodeHostBits: 8, ipv4: 10.1.0.0/16", &["a"]);
    clean(&world);
    world.delete(&CLUSTER_CIDR.at("", "p"), false);
    let selector = "nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: new, operator: Exists}]}]}";
    world.create(&cluster_cidr("q", &format!("perNodeHostBits: 8, ipv4: 10.1.0.0/16, {selector}")));
    world.create("{apiVersion: v1, kind: Node, metadata: {name: b, labels: {new: ''}}}");
    clean(&world);
    assert_eq!([blocks(&world, "a"), blocks(&world, "b")], ["10.1.0.0/24", "10.1.1.0/24"]);
    let kept = |world: &World| world.sim.all().iter().any(|(k, o)| *k == CLUSTER_CIDR && o.name() == "p");
    assert!(kept(&world), "it stays as long as a Node has a block of it");
    // The block that q gave is in its range, too.
    ["a", "b"].iter().for_each(|n| world.delete(&NODE.at("", n), false));
    clean(&world);
    assert!(!kept(&world));
}

/// A ClusterCIDR is not let go while a block of it is on record and not on its Node yet.
#[test]
fn a_cluster_cidr_stays_while_a_block_of_it_is_on_its_way() {
    let world = world("perNodeHostBits: 8, ipv4: 10.1.0.0/16", &["a"]);
    let refused = || Bent { refused: Some("a".into()), ..Bent::default() };
    pass(&world, &refused(), Scope::default());
    world.delete(&CLUSTER_CIDR.at("", "p"), false);
    let kept = |world: &World| world.sim.all().iter().any(|(k, _)| *k == CLUSTER_CIDR);
    pass(&world, &refused(), Scope::default());
    assert!(kept(&world) && blocks(&world, "a").is_empty());
    clean(&world);
    assert_eq!(blocks(&world, "a"), "10.1.0.0/24");
    assert!(kept(&world));
    world.delete(&NODE.at("", "a"), false);
    clean(&world);
    assert!(!kept(&world));
}

/// What Kubernetes has let through before it looked more closely: host bits in the block of a Node and in a ClusterCIDR.
/// Whoever reads it as nothing gives it out once more.
#[test]
fn blocks_with_host_bits_are_taken() {
    let world = world("perNodeHostBits: 8, ipv4: 10.1.0.0/16", &["b"]);
    world.create(&node("a", &has("10.1.0.5/24")));
    let odd = cluster_cidr("odd", "perNodeHostBits: 8, ipv4: 10.2.0.1/16");
    world.create(
        &odd.replace("name: odd", "name: odd, finalizers: [networking.x-k8s.io/cluster-cidr-finalizer]"),
    );
    world.create(&node("c", &has("10.2.7.9/24")));
    world.delete(&CLUSTER_CIDR.at("", "odd"), false);
    let problems = clean(&world).report.problems;
    assert_eq!(blocks(&world, "b"), "10.1.1.0/24");
    assert_eq!(problems.iter().map(|p| &*p.object).collect::<Vec<_>>(), ["ClusterCIDR/odd"]);
    let kept = |world: &World| world.sim.all().iter().any(|(k, o)| *k == CLUSTER_CIDR && o.name() == "odd");
    assert!(kept(&world), "a Node has a block of it");
    world.delete(&NODE.at("", "c"), false);
    clean(&world);
    assert!(!kept(&world));
}

/// node-ipam-controller: where the second family had no room, the block of the first stayed taken. Here both are
/// looked for before one of them is taken (`Blocks::find`).
#[test]
fn bug_20_the_second_family_is_full_and_the_first_leaks() {
    let world = world("perNodeHostBits: 4, ipv4: 10.1.0.0/24, ipv6: 'fd00::/124'", &["a", "b", "c"]);
    assert_eq!(waiting(&world).len(), 2);
    world.create(&cluster_cidr("v4", "perNodeHostBits: 4, ipv4: 10.1.0.0/26"));
    assert_eq!(waiting(&world), []);
    let all = ["a", "b", "c"].map(|n| blocks(&world, n));
    assert_eq!(all, ["10.1.0.0/28 fd00::/124", "10.1.0.16/28", "10.1.0.32/28"]);
}

/// node-ipam-controller: a Node of both families and a ClusterCIDR of one made it panic.
#[test]
fn bug_45_a_dual_stack_node_and_a_cluster_cidr_of_one_family() {
    let world = world("perNodeHostBits: 8, ipv4: 10.1.0.0/16", &[]);
    let both = "[{type: InternalIP, address: 192.0.2.1}, {type: InternalIP, address: 'fd00::1'}]";
    world.create(&node("a", &format!(", status: {{addresses: {both}}}")));
    clean(&world);
    assert_eq!(blocks(&world, "a"), "10.1.0.0/24");
}

/// k/k#82773: one Node with a block outside the cluster's range stopped the controller for good. Here it is taken,
/// told by `status`, and in nobody's way; so is one that is no block at all.
#[test]
fn bug_46_a_block_out_of_range() {
    let world = world("perNodeHostBits: 8, ipv4: 10.1.0.0/16", &["a"]);
    world.create(&node("out", &has("192.168.0.0/24")));
    world.create(&node("half", &has("10.0.0.0/15")));
    world.create(&node("none", ", spec: {podCIDR: fish}"));
    world.create(&cluster_cidr("q", "perNodeHostBits: 8, ipv4: 10.2.0.0/16"));
    let outcome = clean(&world);
    assert_eq!(blocks(&world, "a"), "10.2.0.0/24", "10.1.0.0/16 is all taken");
    let problems: Vec<_> = outcome.report.problems.iter().map(|p| (p.kind, &*p.object)).collect();
    assert_eq!(problems, [("Unreadable", "Node/none")]);
}

/// cilium#13766: pod CIDRs overlapped the addresses of Services.
#[test]
fn bug_47_service_cidrs_overlap() {
    let mut world = world("perNodeHostBits: 8, ipv4: 10.96.0.0/14", &["a"]);
    world.create("{apiVersion: networking.k8s.io/v1, kind: ServiceCIDR, metadata: {name: kubernetes}, spec: {cidrs: [10.96.0.0/16]}}");
    let config = "ipam-config: {service-cidrs: [10.97.0.0/16]}";
    world.config = std::sync::Arc::new(mipam::config::parse("config.yaml", config).unwrap());
    let outcome = clean(&world);
    assert_eq!(blocks(&world, "a"), "10.98.0.0/24");
    assert_eq!(outcome.warnings.len(), 2, "{:?}", outcome.warnings);
}
