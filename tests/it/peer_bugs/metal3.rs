//! What went wrong in metal3's address manager and in SmartX's, played on their own kinds.

use super::{clean, entries};
use crate::metal3::machine;
use crate::sim::bent::{Bent, pass};
use crate::sim::stage::World;
use mipam::model::{Object, ObjectRef, Reason};
use mipam::pass::Outcome;
use mipam::plan::Scope;
use mipam::systems::elf::{ELF_MACHINE, IP_ADDRESS, IP_CLAIM, IP_POOL};
use serde_json::{Value, json};

const API: &str = "ipam.metal3.io/v1alpha1";

fn world(pools: &[(&str, Value)], claims: &[(&str, &str)]) -> World {
    let world = World::new("ipam-config: {metal3: serve}");
    pools.iter().for_each(|(name, spec)| put(&world, &pool(name, spec)));
    claims.iter().for_each(|(name, pool)| put(&world, &claim(name, pool)));
    world
}

fn put(world: &World, object: &Value) {
    world.create(&object.to_string());
}

fn pool(name: &str, spec: &Value) -> Value {
    json!({ "apiVersion": API, "kind": "IPPool", "metadata": { "name": name, "namespace": "ns" }, "spec": spec })
}

fn range(start: &str, end: &str) -> Value {
    json!({ "namePrefix": "p", "prefix": 24, "pools": [{ "start": start, "end": end }] })
}

fn claim(name: &str, pool: &str) -> Value {
    let metadata = json!({ "name": name, "namespace": "ns" });
    json!({ "apiVersion": API, "kind": "IPClaim", "metadata": metadata, "spec": { "pool": { "name": pool } } })
}

/// A claim that asks for one address.
fn asks(name: &str, address: &str) -> Value {
    let mut claim = claim(name, "lab");
    claim["metadata"]["annotations"] = json!({ "ipAddress": address });
    claim
}

/// The address that a claim's record has.
fn given(world: &World, claim: &str) -> Option<String> {
    let all = world.sim.all();
    let mut records = all.iter().filter(|(k, _)| *k == IP_ADDRESS);
    let (_, record) = records.find(|(_, a)| a.text("/spec/claim/name") == Some(claim))?;
    record.text("/spec/address").map(str::to_owned)
}

fn error(world: &World, claim: &str) -> Option<String> {
    let all = world.sim.all();
    let (_, claim) = all.iter().find(|(k, o)| *k == IP_CLAIM && o.name() == claim)?;
    claim.text("/status/errorMessage").map(str::to_owned)
}

fn count(world: &World, kind: mipam::model::Kind) -> usize {
    world.sim.all().iter().filter(|(k, _)| *k == kind).count()
}

fn problems(outcome: &Outcome) -> String {
    outcome.report.problems.iter().map(|p| p.message.as_str()).collect::<Vec<_>>().join("\n")
}

/// A world with one machine of pool `lab`, served.
fn served() -> World {
    let world = world(&[("lab", range("10.0.0.10", "10.0.0.12"))], &[]);
    machine("m").iter().for_each(|o| put(&world, o));
    clean(&world);
    assert_eq!(given(&world, "ns-m-0").as_deref(), Some("10.0.0.10"));
    world
}

/// What a controller says in the status of an object.
fn say(world: &World, target: &ObjectRef, key: &str, text: &str) {
    let all = world.sim.all();
    let is = |o: &Object| (o.namespace(), o.name()) == (&*target.namespace, &*target.name);
    let (_, object) = all.iter().find(|(k, o)| *k == target.kind && is(o)).unwrap();
    let mut object = (**object).clone();
    object.0["status"][key] = json!(text);
    world.sim.replace_status(target.kind, &object).unwrap();
    world.accept();
}

/// The machine is deleted, and its virtual machine with it.
fn destroy(world: &World, name: &str) {
    let target = ELF_MACHINE.at("ns", name);
    world.delete(&target, false);
    world.edit(&target, |o: &mut Object| {
        let list = o.0["metadata"]["finalizers"].as_array_mut().unwrap();
        list.retain(|f| f != "elfmachine.infrastructure.cluster.x-k8s.io");
    });
}

/// metal3 (run): an IPAddressClaim and an IPClaim of one name share an address. Here who holds an address is its
/// kind and group too (`Owner`), and what is recorded for the other kind is in use.
#[test]
fn bug_03_claims_of_two_kinds_with_one_name() {
    let world = world(&[("lab", range("10.0.0.10", "10.0.0.12"))], &[("c", "lab")]);
    put(
        &world,
        &json!({
            "apiVersion": "ipam.cluster.x-k8s.io/v1beta2", "kind": "IPAddress",
            "metadata": { "name": "lab-10-0-0-10", "namespace": "ns" },
            "spec": { "address": "10.0.0.10", "prefix": 24, "claimRef": { "name": "c" }, "poolRef": { "name": "lab" } },
        }),
    );
    clean(&world);
    assert_eq!(given(&world, "c").as_deref(), Some("10.0.0.11"));
}

/// metal3 (run): two pools that overlap give out one address twice. Here an entry of the ledger has no pool in its
/// key, and blocks the address for all (`Board::block`).
#[test]
fn bug_04_overlapping_ip_pools() {
    let pools = [("lab", range("10.0.0.10", "10.0.0.11")), ("other", range("10.0.0.10", "10.0.0.12"))];
    let world = world(&pools, &[("a", "lab"), ("b", "other"), ("c", "other")]);
    clean(&world);
    let mut all: Vec<_> = ["a", "b", "c"].iter().filter_map(|c| given(&world, c)).collect();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 3, "{all:?}");
}

/// metal3#1440: an address that is pre-allocated to two claims is given to both. Here the first keeps it
/// (`pool::reserve`), and people are told.
#[test]
fn bug_05_duplicate_pre_allocations() {
    let mut spec = range("10.0.0.10", "10.0.0.12");
    spec["preAllocations"] = json!({ "a": "10.0.0.11", "b": "10.0.0.11" });
    let world = world(&[("lab", spec)], &[("a", "lab"), ("b", "lab")]);
    let outcome = clean(&world);
    assert_eq!(given(&world, "a").as_deref(), Some("10.0.0.11"));
    assert_eq!(given(&world, "b").as_deref(), Some("10.0.0.10"));
    assert!(problems(&outcome).contains("both a's and b's"), "{}", problems(&outcome));
}

/// metal3 (run): `fd00::0005` in preAllocations does not reserve `fd00::5`. Here addresses are numbers
/// (`pool::reserve`).
#[test]
fn bug_06_pre_allocations_written_in_another_way() {
    let mut spec = range("fd00::5", "fd00::6");
    spec["prefix"] = json!(64);
    spec["preAllocations"] = json!({ "kept": "fd00::0005" });
    let world = world(&[("lab", spec)], &[("a", "lab"), ("kept", "lab")]);
    clean(&world);
    assert_eq!(given(&world, "a").as_deref(), Some("fd00::6"));
    assert_eq!(given(&world, "kept").as_deref(), Some("fd00::5"));
}

/// SmartX (run): the claims of `a-b/c` and `a/b-c` have one name, so both machines get one address. Here a claim
/// says whose it is (`For`), and the second gets another name.
#[test]
fn bug_08_names_of_claims_collide() {
    let world = World::new("ipam-config: {metal3: serve}");
    let mut common = pool("lab", &range("10.0.0.10", "10.0.0.12"));
    common["metadata"]["namespace"] = json!("default");
    put(&world, &common);
    for (namespace, name) in [("a-b", "c"), ("a", "b-c")] {
        for mut object in machine(name) {
            object["metadata"]["namespace"] = json!(namespace);
            put(&world, &object);
        }
    }
    clean(&world);
    let carried = |namespace: &str, name: &str| {
        let all = world.sim.all();
        let (_, m) =
            all.iter().find(|(k, o)| *k == ELF_MACHINE && (o.namespace(), o.name()) == (namespace, name))?;
        m.text("/spec/network/devices/0/ipAddrs/0").map(str::to_owned)
    };
    let (one, other) = (carried("a-b", "c"), carried("a", "b-c"));
    assert!(one.is_some() && other.is_some() && one != other, "{one:?} {other:?}");
    assert_eq!(count(&world, IP_CLAIM), 2);
}

/// CAPM3#680: a claim that is being deleted is taken for the machine's, and its address goes away under it. Here it
/// does not count (`machine::survey`), the machine waits, and a new claim follows.
#[test]
fn bug_16_a_claim_being_deleted_is_reused() {
    let world = world(&[("lab", range("10.0.0.10", "10.0.0.12"))], &[]);
    let mut old = claim("ns-m-0", "lab");
    old["metadata"]["annotations"] = json!({ "mipam.io/owner": "ElfMachine/ns/m/0" });
    old["metadata"]["finalizers"] = json!(["someone.else/holds"]);
    put(&world, &old);
    world.delete(&IP_CLAIM.at("ns", "ns-m-0"), false);
    machine("m").iter().for_each(|o| put(&world, o));
    let outcome = clean(&world);
    assert_eq!(count(&world, IP_ADDRESS), 0);
    let pending: Vec<_> = outcome.report.pending.iter().map(|p| &*p.message).collect();
    assert!(pending.len() == 1 && pending[0].contains("being deleted"), "{pending:?}");
    world.edit(&IP_CLAIM.at("ns", "ns-m-0"), |o: &mut Object| o.0["metadata"]["finalizers"] = json!([]));
    clean(&world);
    assert_eq!(given(&world, "ns-m-0").as_deref(), Some("10.0.0.10"));
}

/// metal3#694: the address is made before the claim has its finalizer; a claim that is deleted in between leaks it.
/// Here the finalizer comes first in the chain (`address::give`), and what cannot be written ends it.
#[test]
fn bug_19_record_before_the_claims_finalizer() {
    let world = world(&[("lab", range("10.0.0.10", "10.0.0.12"))], &[("c", "lab")]);
    pass(&world, &Bent { refused: Some("c".into()), ..Bent::default() }, Scope::default());
    assert_eq!(count(&world, IP_ADDRESS), 0, "no record without the finalizer");
    world.delete(&IP_CLAIM.at("ns", "c"), false);
    clean(&world);
    assert_eq!(entries(&world).len(), 0, "nothing leaks");
}

/// elf-static-ip#12: a machine that has failed is never released. Here a failure keeps a machine from being served,
/// not from leaving (`machine::survey` looks at the deletion first).
#[test]
fn bug_21_a_failed_machine_is_never_released() {
    let world = served();
    say(&world, &ELF_MACHINE.at("ns", "m"), "failureReason", "CreateError");
    destroy(&world, "m");
    clean(&world);
    let left = [ELF_MACHINE, IP_CLAIM, IP_ADDRESS].map(|kind| count(&world, kind));
    assert_eq!((left, entries(&world).len()), ([0, 0, 0], 0));
}

/// SmartX (read): where the pool or the template is gone or has other labels, the finalizer is dropped and the
/// address kept, or the deletion is stuck. Here claims are found by whom they name (`machine::leave`).
#[test]
fn bug_22_the_pool_is_not_found_at_deletion() {
    let relabel =
        |o: &mut Object| o.0["metadata"]["labels"] = json!({ "cluster.x-k8s.io/network-name": "new" });
    for gone in [true, false] {
        let world = served();
        if gone {
            world.delete(&IP_POOL.at("ns", "lab"), false);
        } else {
            world.edit(&IP_POOL.at("ns", "lab"), relabel);
            clean(&world);
        }
        destroy(&world, "m");
        clean(&world);
        let left = [ELF_MACHINE, IP_CLAIM, IP_ADDRESS].map(|kind| count(&world, kind));
        assert_eq!((left, entries(&world).len()), ([0, 0, 0], 0), "gone: {gone}");
    }
}

/// SmartX (read): where the template is gone, the pool cannot be worked out again, and the deletion is stuck. Here it
/// need not be (`machine::leave`).
#[test]
fn the_template_is_gone_at_deletion() {
    let world = world(&[("lab", range("10.0.0.10", "10.0.0.12"))], &[]);
    let template = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "ElfMachineTemplate",
        "metadata": { "name": "t", "namespace": "ns", "labels": { "cluster.x-k8s.io/ip-pool-name": "lab" } },
        "spec": { "template": { "spec": {} } },
    });
    put(&world, &template);
    let [owner, mut elf] = machine("m");
    elf["metadata"]["annotations"] = json!({ "cluster.x-k8s.io/cloned-from-name": "t" });
    elf["spec"]["network"]["devices"][0].as_object_mut().unwrap().remove("addressesFromPools");
    put(&world, &owner);
    put(&world, &elf);
    clean(&world);
    assert_eq!(given(&world, "ns-m-0").as_deref(), Some("10.0.0.10"));
    let kind = mipam::systems::kind_of("infrastructure.cluster.x-k8s.io", "ElfMachineTemplate").unwrap();
    world.delete(&kind.at("ns", "t"), false);
    destroy(&world, "m");
    clean(&world);
    let left = [ELF_MACHINE, IP_CLAIM, IP_ADDRESS].map(|kind| count(&world, kind));
    assert_eq!((left, entries(&world).len()), ([0, 0, 0], 0));
}

/// metal3#988: the first claim that fails ends the loop. Here each claim is its own chain (`apply::write`).
#[test]
fn bug_27_one_bad_claim_pool_or_machine_blocks_the_rest() {
    let pools = [
        ("bad", json!({ "namePrefix": "p", "pools": "nonsense" })),
        ("lab", range("10.0.0.10", "10.0.0.12")),
    ];
    let world = world(&pools, &[("a", "missing"), ("b", "bad"), ("z", "lab")]);
    put(&world, &asks("c", "banana"));
    let [owner, mut bent] = machine("bent");
    bent["spec"]["network"]["devices"] = json!({ "no": "list" });
    put(&world, &owner);
    put(&world, &bent);
    machine("m").iter().for_each(|o| put(&world, o));
    let outcome = clean(&world);
    assert!(given(&world, "z").is_some() && given(&world, "ns-m-0").is_some(), "{:?}", outcome.report);
    assert_eq!(outcome.report.pending.len(), 3, "{:?}", outcome.report.pending);
    assert!(["a", "b", "c"].iter().all(|c| error(&world, c).is_some()), "each says why it waits");
}

/// metal3#1537: a claim that found no room stays failed. Here every pass asks again, and `bind` clears the error.
#[test]
fn bug_28_an_exhausted_claim_is_retried() {
    let world = world(&[("lab", range("10.0.0.10", "10.0.0.10"))], &[("a", "lab"), ("b", "lab")]);
    clean(&world);
    assert!(error(&world, "b").is_some());
    assert!(clean(&world).changed.is_empty(), "to wait costs no write");
    world.delete(&IP_CLAIM.at("ns", "a"), false);
    clean(&world);
    assert_eq!((given(&world, "b").as_deref(), error(&world, "b")), (Some("10.0.0.10"), None));
}

/// metal3 (run): the gateway is given out first, and the broadcast address last. Here neither is (`unusable`).
#[test]
fn bug_36_gateway_and_broadcast() {
    let spec = json!({ "namePrefix": "p", "prefix": 29, "pools": [{ "subnet": "10.0.0.0/29", "gateway": "10.0.0.1" }] });
    let claims: Vec<String> = (0..7).map(|i| format!("c{i}")).collect();
    let claims: Vec<(&str, &str)> = claims.iter().map(|c| (c.as_str(), "lab")).collect();
    let world = world(&[("lab", spec)], &claims);
    clean(&world);
    let all: Vec<_> = claims.iter().filter_map(|(c, _)| given(&world, c)).collect();
    assert_eq!(all, ["10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6"]);
}

/// metal3#1526: counting on from 255.255.255.255 begins at zero. Here a range ends (`Span`).
#[test]
fn bug_37_ipv4_arithmetic_overflow() {
    let pools =
        [("lab", json!({ "namePrefix": "p", "prefix": 24, "pools": [{ "start": "255.255.255.253" }] }))];
    let world = world(&pools, &[("a", "lab"), ("b", "lab"), ("c", "lab")]);
    clean(&world);
    let all: Vec<_> = ["a", "b", "c"].iter().filter_map(|c| given(&world, c)).collect();
    assert_eq!(all, ["255.255.255.253", "255.255.255.254"]);
}

/// metal3#1524: an empty entry among a pool's parts crashes. Here it is a problem, and the others are used
/// (`pool::read`).
#[test]
fn bug_38_an_empty_pool_entry() {
    let mut spec = range("10.0.0.10", "10.0.0.12");
    spec["pools"].as_array_mut().unwrap().insert(0, json!({}));
    let world = world(&[("lab", spec)], &[("c", "lab")]);
    let outcome = clean(&world);
    assert_eq!(given(&world, "c").as_deref(), Some("10.0.0.10"));
    assert!(problems(&outcome).contains("neither start nor subnet"), "{}", problems(&outcome));
}

/// metal3#1507: a pre-allocated address that the pool does not have is given out. Here it is a problem, and the claim
/// gets one of the pool.
#[test]
fn bug_39_a_pre_allocation_out_of_bounds() {
    let mut spec = range("10.0.0.10", "10.0.0.12");
    spec["preAllocations"] = json!({ "c": "10.9.9.9" });
    let world = world(&[("lab", spec)], &[("c", "lab")]);
    let outcome = clean(&world);
    assert_eq!(given(&world, "c").as_deref(), Some("10.0.0.10"));
    assert!(problems(&outcome).contains("in no part of the pool"), "{}", problems(&outcome));
}

/// metal3#1441: a requested address is not checked, and one that no pool has is said to be "Exhausted". Here each
/// reason is its own (`claim::wish`, `Chooser::meet`).
#[test]
fn bug_40_the_requested_address_is_invalid() {
    let world = world(&[("lab", range("10.0.0.10", "10.0.0.12"))], &[]);
    put(&world, &asks("banana", "banana"));
    put(&world, &asks("far", "10.9.9.9"));
    put(&world, &asks("good", "10.0.0.12"));
    let outcome = clean(&world);
    let reasons: Vec<_> = outcome.report.pending.iter().map(|p| p.reason).collect();
    assert_eq!(reasons, [Reason::AddressUnavailable, Reason::AddressUnavailable]);
    assert!(error(&world, "far").unwrap().contains("10.9.9.9 is not in pool"), "{:?}", error(&world, "far"));
    assert_eq!(given(&world, "good").as_deref(), Some("10.0.0.12"));
}

/// nvidia-k8s-ipam#266: looking for a free address walks through 2^64 of them. Here ranges are sets of spans, also
/// where the strategy is random (`Board::lowest`, `Order::Spread`).
#[test]
fn bug_44_scans_of_a_64_never_end() {
    let spec = |strategy: &str| {
        json!({
            "namePrefix": "p", "prefix": 64, "allocationStrategy": strategy,
            "pools": [{ "subnet": format!("fd00:{}::/64", strategy.len()) }],
        })
    };
    let pools = [("lab", spec("sequential")), ("random", spec("random"))];
    let world = world(&pools, &[("a", "lab"), ("b", "random"), ("c", "random")]);
    clean(&world);
    assert_eq!(given(&world, "a").as_deref(), Some("fd00:10::1"));
    assert!(given(&world, "b").is_some() && given(&world, "b") != given(&world, "c"));
}

/// spectrocloud#24: of several pools the wrong one is used. Here the steps have an order, and the machine's own
/// namespace comes before `default` (`select::choose`).
#[test]
fn bug_49_the_wrong_pool_among_several() {
    let world = world(
        &[("alphabetically-first", range("10.0.1.1", "10.0.1.9")), ("lab", range("10.0.0.10", "10.0.0.12"))],
        &[],
    );
    let mut common = pool("lab", &range("10.0.2.1", "10.0.2.9"));
    common["metadata"]["namespace"] = json!("default");
    put(&world, &common);
    machine("m").iter().for_each(|o| put(&world, o));
    clean(&world);
    assert_eq!(given(&world, "ns-m-0").as_deref(), Some("10.0.0.10"));
}

/// SmartX: a machine waits for ever on a claim whose status has an error, and nobody is told. Here the error is what
/// the machine waits for (`machine::survey`).
#[test]
fn an_error_that_metal3_reports_is_shown() {
    let world = World::new("ipam-config: {metal3: defer}");
    put(&world, &pool("lab", &range("10.0.0.10", "10.0.0.12")));
    machine("m").iter().for_each(|o| put(&world, o));
    clean(&world);
    say(&world, &IP_CLAIM.at("ns", "ns-m-0"), "errorMessage", "Exhausted IP Pools");
    let outcome = clean(&world);
    assert!(outcome.report.pending[0].message.contains("Exhausted IP Pools"), "{:?}", outcome.report.pending);
}

/// SmartX: a prefix of more than 32 crashes the making of a netmask. Here a device of networkType IPV4 never gets an
/// IPv6 pool (`machine::usable`), and a record with such a prefix is said to be no use.
#[test]
fn an_ipv6_prefix_makes_no_netmask() {
    let mut spec = range("fd00::5", "fd00::6");
    spec["prefix"] = json!(64);
    let world = world(&[("lab", spec)], &[]);
    machine("m").iter().for_each(|o| put(&world, o));
    let outcome = clean(&world);
    assert_eq!(count(&world, IP_CLAIM), 0);
    assert!(outcome.report.pending[0].message.contains("no IPv4 addresses"), "{:?}", outcome.report.pending);

    // A record that somebody else has made.
    let world = World::new("ipam-config: {metal3: defer}");
    put(&world, &pool("lab", &range("10.0.0.10", "10.0.0.12")));
    machine("m").iter().for_each(|o| put(&world, o));
    clean(&world);
    let metadata = json!({ "name": "p-1", "namespace": "ns" });
    let spec = json!({ "address": "10.0.0.10", "prefix": 64, "claim": { "name": "ns-m-0" }, "pool": { "name": "lab" } });
    put(&world, &json!({ "apiVersion": API, "kind": "IPAddress", "metadata": metadata, "spec": spec }));
    let outcome = clean(&world);
    assert_eq!(devices(&world, "m").get("netmask"), None);
    assert!(
        outcome.report.pending[0].message.contains("no IPv4 address with a prefix"),
        "{:?}",
        outcome.report
    );
}

/// A machine whose finalizer was taken off by force leaves its claim behind: that is said, and the claim stays.
#[test]
fn a_claim_without_its_machine_is_reported() {
    let world = served();
    world.delete(&ELF_MACHINE.at("ns", "m"), false);
    world.edit(&ELF_MACHINE.at("ns", "m"), |o: &mut Object| o.0["metadata"]["finalizers"] = json!([]));
    let outcome = clean(&world);
    assert!(problems(&outcome).contains("is gone without it"), "{}", problems(&outcome));
    assert_eq!(given(&world, "ns-m-0").as_deref(), Some("10.0.0.10"));
}

/// Somebody else's finalizer on a claim: its record stays until that is gone, and so does the machine's finalizer.
#[test]
fn a_claim_that_somebody_else_holds_keeps_its_address() {
    let world = served();
    world.edit(&IP_CLAIM.at("ns", "ns-m-0"), |o: &mut Object| {
        o.0["metadata"]["finalizers"].as_array_mut().unwrap().push(json!("someone.else/holds"));
    });
    destroy(&world, "m");
    clean(&world);
    assert_eq!([ELF_MACHINE, IP_CLAIM, IP_ADDRESS].map(|kind| count(&world, kind)), [1, 1, 1]);
    world.edit(&IP_CLAIM.at("ns", "ns-m-0"), |o: &mut Object| {
        o.0["metadata"]["finalizers"].as_array_mut().unwrap().retain(|f| f != "someone.else/holds");
    });
    clean(&world);
    assert_eq!([ELF_MACHINE, IP_CLAIM, IP_ADDRESS].map(|kind| count(&world, kind)), [0, 0, 0]);
    assert_eq!(entries(&world).len(), 0);
}

/// A record that is lost comes back as it was; with another namePrefix, under its new name.
#[test]
fn a_record_deleted_by_hand_is_made_again() {
    let world = served();
    world.edit(&IP_POOL.at("ns", "lab"), |o: &mut Object| o.0["spec"]["namePrefix"] = json!("q"));
    let record = IP_ADDRESS.at("ns", "p-10-0-0-10");
    world.delete(&record, false);
    world.edit(&record, |o: &mut Object| o.0["metadata"]["finalizers"] = json!([]));
    assert_eq!(count(&world, IP_ADDRESS), 0);
    clean(&world);
    assert_eq!(given(&world, "ns-m-0").as_deref(), Some("10.0.0.10"));
    assert!(clean(&world).changed.is_empty());
    let all = world.sim.all();
    let (_, claim) = all.iter().find(|(k, _)| *k == IP_CLAIM).unwrap();
    assert_eq!(claim.text("/status/address/name"), Some("q-10-0-0-10"));
}

/// A claim deleted by hand under a machine that runs: its address is not given to anybody else.
#[test]
fn a_claim_deleted_under_a_running_machine_frees_nothing_that_is_in_use() {
    let world = served();
    world.delete(&IP_CLAIM.at("ns", "ns-m-0"), false);
    put(&world, &claim("next", "lab"));
    clean(&world);
    assert_eq!(given(&world, "next").as_deref(), Some("10.0.0.11"));
}

/// A pool that is made smaller under its claims stops nobody.
#[test]
fn a_pool_that_shrinks_is_a_problem_of_who_is_outside() {
    let world = served();
    world.edit(&IP_POOL.at("ns", "lab"), |o: &mut Object| {
        o.0["spec"]["pools"][0]["start"] = json!("10.0.0.11")
    });
    put(&world, &claim("next", "lab"));
    let outcome = clean(&world);
    assert_eq!(given(&world, "next").as_deref(), Some("10.0.0.11"));
    assert_eq!(given(&world, "ns-m-0").as_deref(), Some("10.0.0.10"), "it keeps what it has");
    assert!(problems(&outcome).contains("whose ranges no longer have it"), "{}", problems(&outcome));
}

/// What is pre-allocated to another while it is held moves nothing, and the other waits.
#[test]
fn a_pre_allocation_of_what_is_held_waits() {
    let world = served();
    world.edit(&IP_POOL.at("ns", "lab"), |o: &mut Object| {
        o.0["spec"]["preAllocations"] = json!({ "next": "10.0.0.10" })
    });
    put(&world, &claim("next", "lab"));
    let outcome = clean(&world);
    assert_eq!(given(&world, "ns-m-0").as_deref(), Some("10.0.0.10"));
    assert_eq!(
        (given(&world, "next"), outcome.report.pending.len()),
        (None, 1),
        "{:?}",
        outcome.report.pending
    );
}

fn devices(world: &World, name: &str) -> Value {
    let all = world.sim.all();
    let (_, machine) = all.iter().find(|(k, o)| *k == ELF_MACHINE && o.name() == name).unwrap();
    machine.0["spec"]["network"]["devices"][0].clone()
}

#[test]
fn what_another_controller_gives_out_is_not_given_from_a_pool_that_overlaps() {
    let config = |more: &str| {
        format!(
            "ipam-config: {{metal3: defer, lifecycle-hook: {{name: ipamController, owner: network-admin}}, pools: [{{name: a, ranges: [10.0.0.10-10.0.0.13], prefix: 16, gateway: 10.0.9.1{more}}}]}}"
        )
    };
    for more in ["", ", reserved: {m: 10.0.0.11}"] {
        let world = World::new(&config(more));
        put(&world, &pool("lab", &range("10.0.0.10", "10.0.0.12")));
        world.create(&crate::sim::bent::machine("m"));
        clean(&world);
        let given = crate::sim::bent::address(&world, "m");
        assert_eq!(given.as_deref(), more.is_empty().then_some("10.0.0.13/16"), "{more}");
    }
}

#[test]
fn what_one_pool_keeps_for_a_claim_no_other_pool_gives() {
    let mut keeps = range("10.0.0.10", "10.0.0.12");
    keeps["preAllocations"] = json!({ "late": "10.0.0.10" });
    let world = world(&[("p", keeps), ("q", range("10.0.0.10", "10.0.0.12"))], &[("early", "q")]);
    clean(&world);
    put(&world, &claim("late", "p"));
    clean(&world);
    assert_eq!(
        (given(&world, "early").as_deref(), given(&world, "late").as_deref()),
        (Some("10.0.0.11"), Some("10.0.0.10"))
    );
}

#[test]
fn a_device_gets_ipv4_from_a_pool_of_both_families() {
    let both = json!({ "namePrefix": "p", "pools": [
        { "start": "fd00::10", "end": "fd00::20", "prefix": 64 },
        { "start": "10.0.0.10", "end": "10.0.0.10", "prefix": 24 },
    ] });
    let world = world(&[("lab", both)], &[]);
    for object in ["m", "n"].iter().flat_map(|name| machine(name)) {
        put(&world, &object);
    }
    let outcome = clean(&world);
    assert_eq!(devices(&world, "m")["ipAddrs"], json!(["10.0.0.10"]));
    assert_eq!(
        (devices(&world, "n").get("ipAddrs"), outcome.report.pending.len()),
        (None, 1),
        "IPv4 is full"
    );
}

#[test]
fn nothing_is_served_that_is_paused_wherever_it_says_so() {
    let paused = |o: &mut Object| o.annotate("cluster.x-k8s.io/paused", "");
    let cluster = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster",
        "metadata": { "name": "lab", "namespace": "ns" }, "spec": { "paused": true },
    });
    for what in ["pool", "cluster"] {
        let world = world(&[("lab", range("10.0.0.10", "10.0.0.12"))], &[]);
        machine("m").iter().for_each(|o| put(&world, o));
        // The claim is there, its address is not: the pass died.
        let mut old = claim("ns-m-0", "lab");
        old["metadata"]["annotations"] = json!({ "mipam.io/owner": "ElfMachine/ns/m/0" });
        put(&world, &old);
        match what {
            "pool" => world.edit(&IP_POOL.at("ns", "lab"), paused),
            _ => put(&world, &cluster),
        }
        let before = world.sim.version();
        let outcome = clean(&world);
        assert_eq!(count(&world, IP_ADDRESS), 0, "{what}");
        assert_eq!(world.sim.version(), before, "{what}: nothing is written: {:?}", outcome.changed);
        assert!(outcome.report.pending.iter().any(|p| p.reason == Reason::Paused), "{what}");
    }
}

#[test]
fn what_is_paused_and_being_deleted_waits() {
    let world = served();
    world.edit(&IP_CLAIM.at("ns", "ns-m-0"), |o: &mut Object| o.annotate("cluster.x-k8s.io/paused", ""));
    world.delete(&IP_CLAIM.at("ns", "ns-m-0"), false);
    clean(&world);
    assert_eq!((count(&world, IP_CLAIM), count(&world, IP_ADDRESS)), (1, 1));
    let world = served();
    world.edit(&ELF_MACHINE.at("ns", "m"), |o: &mut Object| o.annotate("cluster.x-k8s.io/paused", ""));
    destroy(&world, "m");
    clean(&world);
    assert_eq!((count(&world, ELF_MACHINE), count(&world, IP_CLAIM)), (1, 1));
}

#[test]
fn what_a_person_wrote_on_a_device_is_in_use_however_it_is_written() {
    for text in [json!(["10.0.0.10/24"]), json!("10.0.0.10")] {
        let world = world(&[("lab", range("10.0.0.10", "10.0.0.12"))], &[("c", "lab")]);
        let [owner, mut odd] = machine("odd");
        odd["spec"]["network"]["devices"][0]["ipAddrs"] = text.clone();
        put(&world, &owner);
        put(&world, &odd);
        clean(&world);
        assert_eq!(given(&world, "c").as_deref(), Some("10.0.0.11"), "{text}");
        assert_eq!(devices(&world, "odd")["ipAddrs"], text, "it is left as it is");
    }
}

#[test]
fn several_devices_of_a_machine_are_filled_in_one_pass_though_writes_take_their_time() {
    let world = world(&[("lab", range("10.0.0.10", "10.0.0.12"))], &[]);
    let [owner, mut two] = machine("m");
    let devices = two["spec"]["network"]["devices"].as_array_mut().unwrap();
    devices.push(devices[0].clone());
    put(&world, &owner);
    put(&world, &two);
    let outcome = pass(&world, &Bent { slow: true, ..Bent::default() }, Scope::default());
    assert_eq!(
        (outcome.report.allocated.len(), outcome.report.pending.len()),
        (2, 0),
        "{:?}",
        outcome.report
    );
}

#[test]
fn a_machine_that_goes_takes_no_address_from_who_waits() {
    let world = world(&[("lab", range("10.0.0.10", "10.0.0.10"))], &[("first", "lab")]);
    clean(&world);
    machine("m").iter().for_each(|o| put(&world, o));
    clean(&world);
    assert_eq!((count(&world, IP_CLAIM), given(&world, "ns-m-0")), (2, None), "the pool is full");
    // Its virtual machine is still being destroyed when there is room again.
    world.delete(&ELF_MACHINE.at("ns", "m"), false);
    world.delete(&IP_CLAIM.at("ns", "first"), false);
    put(&world, &claim("z-last", "lab"));
    clean(&world);
    assert_eq!((given(&world, "ns-m-0"), given(&world, "z-last").as_deref()), (None, Some("10.0.0.10")));
}

#[test]
fn what_waits_for_metal3_leaves_its_room_to_nobody() {
    let world = World::new("ipam-config: {metal3: defer}");
    let labels = json!({ "cluster.x-k8s.io/ip-pool-group": "g" });
    for (name, spec) in [("a", range("10.0.0.10", "10.0.0.10")), ("b", range("10.0.1.10", "10.0.1.12"))] {
        let mut pool = pool(name, &spec);
        pool["metadata"]["labels"] = labels.clone();
        put(&world, &pool);
    }
    let metadata = json!({ "name": "t", "namespace": "ns", "labels": labels });
    put(
        &world,
        &json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "ElfMachineTemplate",
            "metadata": metadata, "spec": { "template": { "spec": {} } },
        }),
    );
    // One after the other, and metal3 has not come to any of them yet.
    for name in ["m", "n"] {
        let [owner, mut elf] = machine(name);
        elf["metadata"]["annotations"] = json!({ "cluster.x-k8s.io/cloned-from-name": "t" });
        elf["spec"]["network"]["devices"][0].as_object_mut().unwrap().remove("addressesFromPools");
        put(&world, &owner);
        put(&world, &elf);
        clean(&world);
    }
    let all = world.sim.all();
    let claims = all.iter().filter(|(k, _)| *k == IP_CLAIM);
    let pools: Vec<_> = claims.filter_map(|(_, c)| c.text("/spec/pool/name")).collect();
    assert_eq!(pools, ["a", "b"]);
}
