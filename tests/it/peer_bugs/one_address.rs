//! One address, two owners.

use super::{clean, entries, holder};
use crate::bed::accounts::ADMIN;
use crate::bed::{self, Profile};
use crate::scenario::mipam;
use crate::sim::bent::{Bent, CONFIG, address, at_once, machine, pass, world};
use crate::sim::stage::World;
use mipam::config::parse;
use mipam::ledger::CONFIG_MAP;
use mipam::plan::Scope;
use mipam::systems::openshift::MACHINE;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::rc::Rc;

fn stand_in(name: &str, kind: &str, api: &str, spec: &str) -> String {
    format!("apiVersion: {api}\nkind: {kind}\nmetadata: {{name: {name}, namespace: ns}}\nspec: {spec}\n")
}

/// A machine that was served, by whomever, and carries this address.
fn running(name: &str, address: &str) -> String {
    machine(name)
        .replace("preCreate", "preTerminate")
        .replace("networkName: lab", &format!("networkName: lab, ipAddrs: ['{address}']"))
}

/// cluster-api-ipam-provider-in-cluster#338: the address that a reconciler has just created is not in its cache yet,
/// so the next claim gets it again. mipam has no cache, and if a list is stale all the same, the page it would
/// change is not the page that is there: the compare-and-swap fails (`apply::record`) and it looks again.
#[test]
fn bug_01_stale_cache_after_a_create() {
    let world = world(&["a"]);
    clean(&world);
    let then: Vec<_> =
        world.sim.all().into_iter().filter(|(k, _)| *k == CONFIG_MAP).map(|(_, o)| o.into()).collect();
    world.create(&machine("b"));
    clean(&world);
    world.create(&machine("c"));
    // Neither the record of b's address nor b itself is to be seen.
    let bent = Bent { stale: RefCell::new(Some(then)), hidden: Some("b"), ..Bent::default() };
    let outcome = pass(&world, &bent, Scope::default());
    assert_eq!(address(&world, "b").as_deref(), Some("10.0.0.255/16"));
    assert_eq!(address(&world, "c").as_deref(), Some("10.0.1.0/16"), "{:?}", outcome.report);
}

/// metal3 ip-address-manager pull 1529: claims of two kinds are served in two phases, each with its own list of what
/// is taken. mipam lists every kind once per pass and occupies all it saw, of whatever kind, before it gives
/// anything out (`findings::occupy`).
#[test]
fn bug_02_two_phases_list_separately() {
    let world = world(&["a", "b"]);
    let metal3 = "{address: 10.0.0.254, pool: {name: p}, claim: {name: c}}";
    world.create(&stand_in("one", "IPAddress", "ipam.metal3.io/v1alpha1", metal3));
    let capi = "{address: 10.0.0.255, prefix: 16, poolRef: {name: p}, claimRef: {name: c}}";
    world.create(&stand_in("two", "IPAddress", "ipam.cluster.x-k8s.io/v1beta2", capi));
    let bent = Bent::default();
    pass(&world, &bent, Scope::default());
    assert_eq!(address(&world, "a").as_deref(), Some("10.0.1.0/16"));
    assert_eq!(address(&world, "b").as_deref(), Some("10.0.1.1/16"));
    let asked = bent.asked.borrow();
    let lists: Vec<_> = asked.iter().filter(|a| a.starts_with("list ")).collect();
    let mut once = lists.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), lists.len(), "something is listed twice: {lists:?}");
}

/// metal3 (run): two pools with a common range both give its addresses out. A configuration with such pools is
/// refused, and two configurations of two runs meet in one entry of the ledger, which no pool's name is part of
/// (`records::Records::enter` blocks it for every pool).
#[test]
fn bug_04_overlapping_pools() {
    let pool = |name: &str, range: &str| {
        CONFIG.replace("name: a", &format!("name: {name}")).replace("10.0.0.254-10.0.1.1", range)
    };
    let line = |config: &str| config.lines().find(|l| l.contains("ranges")).unwrap().to_owned();
    let (one, other) = (pool("one", "10.0.0.4-10.0.0.7"), pool("other", "10.0.0.4-10.0.0.5"));
    let both = format!("{one}{}\n", line(&other));
    assert!(parse("f", &both).unwrap_err().to_string().contains("overlaps"), "{both}");

    let mut world = World::new(&one);
    world.create(&machine("z"));
    // Recorded and not written: only the ledger has it.
    let unwritten = || Bent { refused: Some("z".into()), ..Bent::default() };
    pass(&world, &unwritten(), Scope::default());
    world.config = parse("f", &other).unwrap().into();
    world.create(&machine("a"));
    pass(&world, &unwritten(), Scope::default());
    assert_eq!(address(&world, "a").as_deref(), Some("10.0.0.5/16"));
    assert_eq!(holder(&entries(&world), "10.0.0.4").map(|h| &h["name"]), Some(&json!("z")));
}

/// metal3 (run): `fd00::0005` in a pool's preAllocations does not keep `fd00::5` from being given out, because they
/// are compared as text. Here every address is a number as soon as it is read (`addr::parse_address`), in the
/// configuration, on machines and in the ledger's keys.
#[test]
fn bug_06_the_same_ipv6_address_written_in_another_way() {
    let config = "
ipam-config:
  lifecycle-hook: {name: ipamController, owner: network-admin}
  pools:
    - name: six
      ranges: ['fd00::5-fd00::0009']
      prefix: 64
      gateway: 'fd00:0::0:5'
      exclude: ['fd00::0006']
      reserved: {kept: 'fd00:0:0::0007'}
";
    let world = World::new(config);
    world.create(&running("z", "FD00:0000::8/64"));
    ["a", "kept"].iter().for_each(|m| world.create(&machine(m)));
    clean(&world);
    assert_eq!(address(&world, "a").as_deref(), Some("fd00::9/64"));
    assert_eq!(address(&world, "kept").as_deref(), Some("fd00::7/64"));
    let entries = entries(&world);
    assert_eq!(
        holder(&entries, "fd00-0000-0000-0000-0000-0000-0000-0008").map(|h| &h["name"]),
        Some(&json!("z"))
    );
}

/// metal3#1166: a LIST with a limit whose `continue` is not followed shows the first page only, and what is on the
/// others is taken for free. `KubeCluster::pages` goes on until the server says that there is no more; on a real
/// server, with more machines than a page has.
#[test]
fn bug_07_list_limit_without_continue() {
    let bed = bed::shared(Profile::Own).lock();
    let document = |yaml: &str| bed::documents(yaml).remove(0);
    let mut machines: Vec<Value> = (0..510)
        .map(|i| {
            let mut machine =
                document(&running(&format!("m-{i:03}"), &format!("10.9.{}.{}/16", i / 250, i % 250 + 1)));
            machine["spec"]["lifecycleHooks"] = json!({});
            machine
        })
        .collect();
    // The last of all in the order of names, and the first address of the pool.
    let mut last = document(&running("z", "10.0.0.254/16"));
    last["spec"]["lifecycleHooks"] = json!({});
    machines.extend([last, document(&machine("waits"))]);
    bed.create_all(machines);
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("config.yaml");
    std::fs::write(&config, CONFIG).unwrap();
    let arguments = ["reconcile", "-o", "json", "--config", config.to_str().unwrap(), "--kubeconfig"];
    let mut arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    arguments.push(bed.kubeconfig(ADMIN).display().to_string());
    let output = mipam(&arguments);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["allocated"][0]["address"], "10.0.0.255/16", "{report:#}");
}

/// whereabouts#207: the cleaner lists the owners, then the reservations; an owner that is made in between has a
/// reservation and is not on the list, so its address is freed. Here records are read before owners
/// (`observe::observe`), and what no list showed is asked for by name before it counts as gone. Whenever in a pass
/// another run serves a new machine, that machine keeps its address.
#[test]
fn bug_14_owners_listed_before_reservations() {
    let mut requests = 0;
    let mut at = 0;
    while at <= requests {
        let world = Rc::new(world(&["a"]));
        clean(&world);
        world.create(&machine("c"));
        let inside = world.clone();
        let act = move || {
            inside.create(&machine("b"));
            at_once(&inside);
        };
        let bent = Bent { before: RefCell::new(Some((at, Box::new(act)))), ..Bent::default() };
        let outcome = pass(&world, &bent, Scope::default());
        assert!(outcome.report.released.is_empty(), "request {at}: {:?}", outcome.report.released);
        clean(&world);
        let mut all: Vec<_> = ["a", "b", "c"].iter().filter_map(|m| address(&world, m)).collect();
        all.sort();
        all.dedup();
        let expected = if at < bent.asked.borrow().len() { 3 } else { 2 };
        assert_eq!((all.len(), entries(&world).len()), (expected, expected), "request {at}");
        requests = bent.asked.borrow().len();
        let order = |what: &str| bent.asked.borrow().iter().position(|a| a == what);
        assert!(order("list configmaps") < order("list machines.machine.openshift.io"));
        at += 1;
    }
    assert!(requests > 8, "{requests}");
}

/// whereabouts#176: owners are compared by name, so what a pod of the same name held before counts as its own, and
/// cleaning up after the old one frees the new one's address. Here the uid is part of who an owner is
/// (`Owner::is`): the successor gets the address under its own uid, and nothing is freed under it later.
#[test]
fn bug_14_name_without_uid() {
    let world = world(&["a"]);
    clean(&world);
    let old = holder(&entries(&world), "10.0.0.254").unwrap()["uid"].clone();
    world.delete(&MACHINE.at("ns", "a"), false);
    world.create(&machine("a"));
    clean(&world);
    assert_eq!(
        address(&world, "a").as_deref(),
        Some("10.0.0.254/16"),
        "a recreated machine gets its address back"
    );
    let new = holder(&entries(&world), "10.0.0.254").unwrap()["uid"].clone();
    assert_ne!(new, old);
    assert!(clean(&world).changed.is_empty(), "nothing is left to clean up");
}

/// metallb#1774, #2443: after a restart the controller sees a waiting service first and gives it the address of one
/// that was assigned before. mipam keeps nothing between passes, and occupies what is in use before anybody is
/// served, in whatever order they come (`findings::occupy` before `Chooser::choose`); with the ledger lost, too.
#[test]
fn bug_15_a_waiting_owner_steals_an_assigned_address_after_a_restart() {
    let world = world(&["a"]);
    world.create(&running("z", "10.0.0.254/16"));
    clean(&world);
    assert_eq!(address(&world, "a").as_deref(), Some("10.0.0.255/16"));
    assert_eq!(address(&world, "z").as_deref(), Some("10.0.0.254/16"));
    assert_eq!(
        holder(&entries(&world), "10.0.0.254").map(|h| &h["name"]),
        Some(&json!("z")),
        "it is adopted"
    );
}

/// calico#5044: garbage collection works on a list that lacks a running pod, and frees its address. Here nothing is
/// freed that a live GET finds (`observe::look_again`), nor while the object waits for its finalizers.
#[test]
fn bug_17_garbage_collection_frees_an_address_in_use() {
    let world = world(&["a", "b"]);
    clean(&world);
    world.delete(&MACHINE.at("ns", "b"), true);
    world.create(&machine("c"));
    let outcome = pass(&world, &Bent { hidden: Some("a"), ..Bent::default() }, Scope::default());
    assert!(outcome.report.released.is_empty(), "{:?}", outcome.report.released);
    assert_eq!(address(&world, "c").as_deref(), Some("10.0.1.0/16"));
}
