//! What went wrong in providers of Cluster API's claims, played on those.

use super::{clean, entries};
use crate::sim::bent::{Bent, pass};
use crate::sim::fault::Fault;
use crate::sim::stage::{World, runtime};
use mipam::ledger::CONFIG_MAP;
use mipam::model::{Kind, Object, ObjectRef, Reason};
use mipam::plan::Scope;
use mipam::systems::capi::{ADDRESS, CLAIM, IN_CLUSTER};
use mipam::systems::elf::{IP_ADDRESS, IP_POOL};
use mipam::systems::kind_of;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::sync::Arc;

const API: &str = "ipam.cluster.x-k8s.io/v1beta2";
const PAUSED: &str = "cluster.x-k8s.io/paused";

fn world(addresses: &str, claims: &[&str]) -> World {
    let world = World::new("ipam-config: {serve-pools: [InClusterIPPool]}");
    let pool = json!({
        "apiVersion": "ipam.cluster.x-k8s.io/v1alpha2", "kind": "InClusterIPPool",
        "metadata": { "name": "lab", "namespace": "ns" },
        "spec": { "addresses": [addresses], "prefix": 24, "gateway": "10.0.0.1" },
    });
    world.create(&pool.to_string());
    claims.iter().for_each(|name| put(&world, &claim(name)));
    world
}

fn put(world: &World, object: &Value) {
    world.create(&object.to_string());
}

fn claim(name: &str) -> Value {
    let pool = json!({ "apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": "lab" });
    let metadata =
        json!({ "name": name, "namespace": "ns", "labels": { "cluster.x-k8s.io/cluster-name": "c1" } });
    json!({
        "apiVersion": API, "kind": "IPAddressClaim", "metadata": metadata,
        "spec": { "clusterName": "c1", "poolRef": pool },
    })
}

fn find(world: &World, kind: Kind, name: &str) -> Option<Arc<Object>> {
    world.sim.all().into_iter().find(|(k, o)| *k == kind && o.name() == name).map(|(_, object)| object)
}

/// The address that a claim has, by way of its status.
fn given(world: &World, name: &str) -> Option<String> {
    let claim = find(world, CLAIM, name)?;
    let record = find(world, ADDRESS, claim.text("/status/addressRef/name")?)?;
    record.text("/spec/address").map(str::to_owned)
}

/// What the condition Ready of a claim says.
fn ready(world: &World, name: &str) -> (String, String) {
    let claim = find(world, CLAIM, name).unwrap();
    let condition = claim.array("/status/conditions").iter().find(|c| c["type"] == "Ready").cloned();
    let text = |key: &str| condition.as_ref().and_then(|c| c[key].as_str()).unwrap_or_default().to_owned();
    (text("status"), text("reason"))
}

fn cluster_c1() -> ObjectRef {
    kind_of("cluster.x-k8s.io", "Cluster").unwrap().at("ns", "c1")
}

fn target(name: &str) -> ObjectRef {
    CLAIM.at("ns", name)
}

/// cluster-api-ipam-provider-in-cluster#338: the record that was just made is not in the cache yet, so the next claim
/// gets its address again. Here the address is in the ledger before there is a record (`apply::record`), and a list of
/// it that is old fails to be swapped.
#[test]
fn bug_01_stale_cache_after_a_create() {
    let world = world("10.0.0.10-10.0.0.12", &["a"]);
    clean(&world);
    let maps = world.sim.all().into_iter().filter(|(k, _)| *k == CONFIG_MAP);
    let then: Vec<_> = maps.map(|(_, o)| o.into()).collect();
    put(&world, &claim("b"));
    clean(&world);
    put(&world, &claim("c"));
    // Neither b nor the record of its address is to be seen.
    let bent = Bent { stale: RefCell::new(Some(then)), hidden: Some("b"), ..Bent::default() };
    pass(&world, &bent, Scope::default());
    assert_eq!(given(&world, "b").as_deref(), Some("10.0.0.11"));
    assert_eq!(given(&world, "c").as_deref(), Some("10.0.0.12"));
}

/// metal3 (run): a claim of each kind with one name share an address. Here both are served from one pool, and who holds
/// an address is its group and kind too (`Owner`).
#[test]
fn bug_03_claims_of_two_kinds_with_one_name() {
    let world = World::new("ipam-config: {metal3: serve, serve-pools: [IPPool]}");
    let metal3 = "ipam.metal3.io/v1alpha1";
    let metadata = |name: &str| json!({ "name": name, "namespace": "ns" });
    let range = json!([{ "start": "10.0.0.10", "end": "10.0.0.12" }]);
    let spec = json!({ "namePrefix": "lab", "prefix": 24, "pools": range });
    put(
        &world,
        &json!({ "apiVersion": metal3, "kind": "IPPool", "metadata": metadata("lab"), "spec": spec }),
    );
    let spec = json!({ "pool": { "name": "lab" } });
    put(&world, &json!({ "apiVersion": metal3, "kind": "IPClaim", "metadata": metadata("c"), "spec": spec }));
    let mut other = claim("c");
    other["spec"]["poolRef"] = json!({ "apiGroup": "ipam.metal3.io", "kind": "IPPool", "name": "lab" });
    put(&world, &other);
    clean(&world);
    let all = world.sim.all();
    let records = all.iter().filter(|(k, _)| *k == IP_ADDRESS || *k == ADDRESS);
    let mut addresses: Vec<_> = records.filter_map(|(_, r)| r.text("/spec/address")).collect();
    addresses.sort_unstable();
    assert_eq!(addresses, ["10.0.0.10", "10.0.0.11"]);
    let pool = find(&world, IP_POOL, "lab").unwrap();
    assert_eq!(
        pool.0["status"]["indexes"].as_object().unwrap().len(),
        1,
        "metal3 has one place for a name, too"
    );
}

/// CAPM3#680: a claim that is being deleted is used, and its address goes away under its user. Here it gets none
/// (`claim::survey` looks at the deletion first); who has one keeps it while somebody holds the claim, and the next
/// claim of that name has nothing of it but its name.
#[test]
fn bug_16_a_claim_being_deleted_is_reused() {
    let world = world("10.0.0.10-10.0.0.12", &["a"]);
    clean(&world);
    let hold = |o: &mut Object| {
        o.0["metadata"]["finalizers"] = json!(["machine.openshift.io/ip-claim-protection"]);
    };
    let mut late = claim("late");
    late["metadata"]["finalizers"] = json!(["machine.openshift.io/ip-claim-protection"]);
    put(&world, &late);
    world.edit(&target("a"), |o: &mut Object| {
        o.0["metadata"]["finalizers"]
            .as_array_mut()
            .unwrap()
            .push(json!("machine.openshift.io/ip-claim-protection"));
    });
    ["a", "late"].iter().for_each(|name| world.delete(&target(name), false));
    put(&world, &claim("next"));
    clean(&world);
    assert_eq!(given(&world, "late"), None, "it is about to go");
    assert_eq!(given(&world, "a").as_deref(), Some("10.0.0.10"), "its machine may still run");
    assert_eq!(given(&world, "next").as_deref(), Some("10.0.0.11"));
    world.edit(&target("a"), |o: &mut Object| {
        o.0["metadata"]["finalizers"]
            .as_array_mut()
            .unwrap()
            .retain(|f| f != "machine.openshift.io/ip-claim-protection");
    });
    world.edit(&target("late"), hold);
    clean(&world);
    assert!(find(&world, CLAIM, "a").is_none() && find(&world, ADDRESS, "a").is_none());
    put(&world, &claim("a"));
    clean(&world);
    assert_eq!(ready(&world, "a"), ("True".to_owned(), "Ready".to_owned()));
}

/// machine-ipam-controller (read): the record is made, writing the claim's status fails, and every later try ends in
/// AlreadyExists. Here a record that is there for this claim is what it gets (`claim::wanted`), whatever request of a
/// pass was the last.
#[test]
fn bug_25_create_succeeded_and_status_failed() {
    let runtime = runtime();
    let (fresh, scope) = (|| world("10.0.0.10-10.0.0.12", &["a"]), Scope::default());
    let (_, requests) = runtime.block_on(fresh().pass(&scope, None));
    assert!(requests > 8, "{requests}");
    for fault in [Fault::LostAnswer, Fault::CrashAfter] {
        for at in 0..requests {
            let world = fresh();
            let (outcome, _) = runtime.block_on(world.pass(&scope, Some((at, fault))));
            assert!(
                fault != Fault::LostAnswer || matches!(outcome, Some(Ok(_))),
                "request {at}: {outcome:?}"
            );
            clean(&world);
            assert_eq!(given(&world, "a").as_deref(), Some("10.0.0.10"), "{fault:?} at request {at}");
            assert_eq!(ready(&world, "a").0, "True", "{fault:?} at request {at}");
            assert_eq!(entries(&world).len(), 1);
            assert!(clean(&world).changed.is_empty(), "{fault:?} at request {at}");
        }
    }
}

/// metal3#1537: a claim that found no room stays failed. Here its condition says what it waits for and hinders nothing.
#[test]
fn bug_28_exhausted_is_final() {
    let world = world("10.0.0.10", &["a", "b"]);
    clean(&world);
    assert_eq!(ready(&world, "b"), ("False".to_owned(), "PoolExhausted".to_owned()));
    assert!(clean(&world).changed.is_empty(), "to wait costs no write");
    world.delete(&target("a"), false);
    clean(&world);
    assert_eq!(given(&world, "b").as_deref(), Some("10.0.0.10"));
    assert_eq!(ready(&world, "b"), ("True".to_owned(), "Ready".to_owned()));
}

/// in-cluster#179: a claim that waits is not looked at when room is made for it, and the pool's count of free addresses
/// goes below zero. Here every pass looks at all, and counts what is there (`status::figures`).
#[test]
fn bug_30_waiting_claims_are_not_woken_and_free_goes_negative() {
    let world = world("10.0.0.10-10.0.0.12", &["a", "b", "c", "d"]);
    clean(&world);
    let excluded =
        |addresses: Value| move |o: &mut Object| o.0["spec"]["excludedAddresses"] = addresses.clone();
    let pool = IN_CLUSTER.at("ns", "lab");
    world.edit(&pool, excluded(json!(["10.0.0.11-10.0.0.12"])));
    let outcome = clean(&world);
    let figures = |world: &World| find(world, IN_CLUSTER, "lab").unwrap().0["status"]["ipAddresses"].clone();
    assert_eq!(figures(&world), json!({ "total": 1, "used": 3, "free": 0, "outOfRange": 2 }));
    assert_eq!(outcome.report.pending.len(), 1, "{:?}", outcome.report.pending);
    world.edit(&pool, |o: &mut Object| {
        o.0["spec"]["excludedAddresses"] = json!([]);
        o.0["spec"]["addresses"] = json!(["10.0.0.10-10.0.0.13"]);
    });
    clean(&world);
    assert_eq!(given(&world, "d").as_deref(), Some("10.0.0.13"));
    assert_eq!(figures(&world), json!({ "total": 4, "used": 4, "free": 0, "outOfRange": 0 }));
}

/// in-cluster#296: where the Cluster of a claim is gone, its deletion is blocked for ever. Here a Cluster that is not
/// there pauses nothing (`cluster_paused`).
#[test]
fn bug_31_cluster_gone_blocks_the_deletion() {
    let world = world("10.0.0.10-10.0.0.12", &["a"]);
    let cluster = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "metadata": { "name": "c1", "namespace": "ns" },
        "spec": { "paused": false },
    });
    put(&world, &cluster);
    clean(&world);
    world.delete(&cluster_c1(), false);
    world.delete(&target("a"), false);
    clean(&world);
    assert!(find(&world, CLAIM, "a").is_none() && find(&world, ADDRESS, "a").is_none());
    assert_eq!(entries(&world).len(), 0);
}

/// CAPO#3029: a controller goes on while it is told to pause. Here nothing is written about a claim that is paused, by
/// itself, by its pool or by its Cluster, whether it is new, waits to be told, or is being deleted.
#[test]
fn bug_32_reconciles_while_paused() {
    let cluster = |paused: bool| {
        json!({
            "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster",
            "metadata": { "name": "c1", "namespace": "ns" }, "spec": { "paused": paused },
        })
    };
    let pause = |o: &mut Object| o.annotate(PAUSED, "");
    for what in ["claim", "pool", "cluster"] {
        for stage in ["new", "unbound", "deleting"] {
            let world = world("10.0.0.10-10.0.0.12", &[]);
            put(&world, &cluster(false));
            put(&world, &claim("a"));
            match stage {
                "new" => {}
                "unbound" => {
                    clean(&world);
                    let all = world.sim.all();
                    let (_, bound) = all.iter().find(|(k, _)| *k == CLAIM).unwrap();
                    let mut bound = (**bound).clone();
                    bound.0["status"] = json!({});
                    say(&world, &bound);
                }
                _ => {
                    clean(&world);
                    world.delete(&target("a"), false);
                }
            }
            match what {
                "claim" => world.edit(&target("a"), pause),
                "pool" => world.edit(&IN_CLUSTER.at("ns", "lab"), pause),
                _ => world.edit(&cluster_c1(), |o: &mut Object| o.0["spec"]["paused"] = json!(true)),
            }
            let before = (find(&world, CLAIM, "a"), find(&world, ADDRESS, "a"));
            let outcome = clean(&world);
            assert_eq!((find(&world, CLAIM, "a"), find(&world, ADDRESS, "a")), before, "{what}, {stage}");
            let waits = outcome.report.pending.iter().any(|p| p.reason == Reason::Paused);
            assert_eq!(waits, stage != "deleting", "{what}, {stage}: {:?}", outcome.report.pending);
        }
    }
}

/// What somebody says in the status of a claim.
fn say(world: &World, claim: &Object) {
    world.sim.replace_status(CLAIM, claim).unwrap();
    world.accept();
}
