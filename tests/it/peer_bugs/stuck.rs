//! Owners that wait for ever, and controllers that never come to rest.

use super::{clean, entries};
use crate::bed::accounts::ADMIN;
use crate::bed::{Bed, crds};
use crate::scenario::mipam;
use crate::sim::bent::{Bent, CONFIG, address, machine, pass, world};
use crate::sim::stage::{World, runtime};
use mipam::config::parse;
use mipam::ledger::object_name;
use mipam::model::Reason;
use mipam::plan::{Scope, usage};
use mipam::systems::openshift::MACHINE;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// metal3#988: the first claim that fails ends the loop over all. Here each failure is one line of the report
/// (`plan::decide` and `apply::write` go on): a machine without a pool, one that cannot be read and one whose write
/// is refused stand in nobody's way.
#[test]
fn bug_27_one_failed_claim_blocks_the_rest() {
    let config = CONFIG.replace("gateway: 10.0.9.1}", "gateway: 10.0.9.1, match: {networks: [lab]}}");
    let world = World::new(&config);
    world.create(&machine("a").replace("networkName: lab", "networkName: elsewhere"));
    world.create(&machine("b").replace("networkName: lab", "networkName: lab, ipAddrs: [nonsense]"));
    ["c", "d"].iter().for_each(|m| world.create(&machine(m)));
    let outcome = pass(&world, &Bent { refused: Some("c".into()), ..Bent::default() }, Scope::default());
    assert_eq!(address(&world, "d").as_deref(), Some("10.0.0.255/16"), "{:?}", outcome.report);
    let pending: Vec<_> = outcome.report.pending.iter().map(|p| (&*p.name, p.reason)).collect();
    assert_eq!(pending, [("a", Reason::NoMatchingPool), ("c", Reason::WriteFailed)]);
    assert_eq!(outcome.report.problems.len(), 1, "b: {:?}", outcome.report.problems);
}

/// metal3#1537: once a claim has failed for want of room it stays failed. Here nothing is noted on who waits: every
/// pass asks again, and an address that is freed in a pass is given in that pass (`Records::enter` leaves it
/// unblocked).
#[test]
fn bug_28_exhausted_is_final() {
    let world = world(&["a", "b", "c", "d", "e"]);
    let outcome = clean(&world);
    assert_eq!(outcome.report.pending.iter().map(|p| p.reason).collect::<Vec<_>>(), [Reason::PoolExhausted]);
    assert!(clean(&world).changed.is_empty(), "to wait costs no write");
    world.delete(&MACHINE.at("ns", "c"), false);
    let outcome = clean(&world);
    assert_eq!(address(&world, "e").as_deref(), Some("10.0.1.0/16"));
    assert!(outcome.report.pending.is_empty());
}

/// metal3#12, #1087: a status with the time of the last look changes with every look, and the change calls for the
/// next. Here times are written with what they are about and kept (`since` in `Chooser::record`): passes at later
/// times write nothing, even where something is left half done.
#[test]
fn bug_29_a_timestamp_write_triggers_itself() {
    let six = "    - {name: six, ranges: ['fd00::8-fd00::9'], prefix: 64}\n";
    let mut world = World::new(&format!("{CONFIG}{six}"));
    ["a", "b"].iter().for_each(|m| world.create(&machine(m)));
    let refused = || Bent { refused: Some(object_name("fd00::8".parse().unwrap())), ..Bent::default() };
    pass(&world, &refused(), Scope::default());
    assert_eq!(entries(&world).len(), 2, "half of each set is recorded");
    world.now += 3_600;
    assert!(
        pass(&world, &refused(), Scope::default()).changed.is_empty(),
        "an hour later there is nothing new"
    );
    clean(&world);
    assert_eq!(address(&world, "b").as_deref(), Some("10.0.0.255/16"));
    world.now += 3_600;
    assert!(clean(&world).changed.is_empty());
}

/// in-cluster#179: a claim that waits is not looked at when room is made for it, and the pool's count of free
/// addresses goes below zero. Here room that a person makes is used by the next pass, and counts are taken of what
/// the pool has, not summed up and down (`plan::usage`).
#[test]
fn bug_30_waiting_claims_are_not_woken_and_free_goes_negative() {
    let mut world = world(&["a", "b", "c", "d", "e"]);
    clean(&world);
    // A person takes three addresses out of the pool, two of them in use.
    let shrunk = CONFIG.replace("prefix: 16", "prefix: 16, exclude: [10.0.0.255-10.0.1.1]");
    world.config = parse("f", &shrunk).unwrap().into();
    let runtime = runtime();
    let scope = Scope::default();
    let sight = runtime.block_on(world.settings(&world.sim, &scope).look()).unwrap();
    let line = usage(sight.world(&scope, world.now), &BTreeMap::new()).remove(0);
    assert_eq!((line.total, line.used, line.free), (1, 1, 0), "{line:?}");
    assert_eq!(line.percent(), 100);
    assert_eq!(clean(&world).report.pending.len(), 1);

    world.config = parse("f", &CONFIG.replace("10.0.1.1", "10.0.1.2")).unwrap().into();
    let outcome = clean(&world);
    assert_eq!(address(&world, "e").as_deref(), Some("10.0.1.2/16"), "{:?}", outcome.report.pending);
}

/// machine-api-operator#1160: where the IPAM CRDs are not installed, looking for a machine's claims fails, and the
/// machine can never be deleted. Here a kind that is not served is a note (`observe::observe`): on a real server
/// with the Machine CRD alone, a machine is served, let go, and its address is freed.
#[test]
fn bug_33_ipam_crds_absent_breaks_deletion() {
    let bed = Bed::start();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/crds");
    bed.apply_crds(&crds::read_crds(&folder, |file| file == "machine.openshift.io_machines.yaml"));
    bed.create(&machine("a"));
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("config.yaml");
    std::fs::write(&config, CONFIG).unwrap();
    let reconcile = || -> Value {
        let arguments = ["reconcile", "-o", "json", "--config", config.to_str().unwrap(), "--kubeconfig"];
        let mut arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        arguments.push(bed.kubeconfig(ADMIN).display().to_string());
        let output = mipam(&arguments);
        let err = String::from_utf8_lossy(&output.stderr);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{err}"))
    };
    assert_eq!(reconcile()["allocated"][0]["address"], "10.0.0.254/16");
    let (api, hold) =
        ("machine.openshift.io/v1beta1", json!({ "metadata": { "finalizers": ["test.mipam.io/hold"] } }));
    bed.merge(api, "Machine", "ns", "a", &hold);
    bed.delete(api, "Machine", "ns", "a");
    let report = reconcile();
    assert_eq!(report["released"], json!([]), "its VM may still run");
    let machine = bed.get(api, "Machine", "ns", "a").unwrap();
    assert_eq!(machine["spec"]["lifecycleHooks"]["preTerminate"], Value::Null, "it is let go");
    bed.merge(api, "Machine", "ns", "a", &json!({ "metadata": { "finalizers": null } }));
    assert_eq!(reconcile()["released"][0]["address"], "10.0.0.254/16");
}
