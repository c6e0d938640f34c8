//! What a user of `--watch` sees: machines are served as they come, nothing is written when nothing happens, what is
//! said in Events and metrics, and how it ends.

use super::{API, Stage, until, within};
use crate::bed::accounts::ADMIN;
use crate::bed::{self, Profile};
use crate::kubevirt;
use serde_json::{Value, json};
use std::time::Duration;

#[test]
fn machines_are_served_as_they_come_and_nothing_is_written_when_nothing_happens() {
    let bed = bed::shared(Profile::Own).lock();
    let stage = Stage::new(&bed);
    stage.create(0..3);
    let watcher = stage.start(&[]).ready();
    until("the first machines are served", || stage.addresses().len() == 3);
    assert!(stage.holder().starts_with("host-"), "{}", stage.lease());
    stage.create(3..4);
    within("one more is served at once", Duration::from_secs(5), || stage.addresses().len() == 4);
    // The server keeps no account of who has set which entry of a page: nobody but mipam does.
    let tracked = |api, kind, namespace, name| {
        bed.get(api, kind, namespace, name).unwrap()["metadata"]["managedFields"].is_array()
    };
    assert!(tracked(API, "Machine", "openshift-machine-api", "m-00003"));
    assert!(!tracked("v1", "ConfigMap", "mipam-system", "mipam-v4-10-0-0-0"));

    // It looks once more a second after what it wrote; from then on it only renews the Lease.
    std::thread::sleep(Duration::from_secs(2));
    let mark = bed.mark();
    std::thread::sleep(Duration::from_secs(10));
    let requests: Vec<_> = bed
        .audit_since(mark)
        .into_iter()
        .filter(|l| l.user_agent.starts_with("kube-rs") || l.user == ADMIN)
        .collect();
    let others: Vec<_> = requests.iter().filter(|l| l.resource != "leases" && l.is_write()).collect();
    assert!(others.is_empty(), "{others:?}");
    let renewals = requests.iter().filter(|l| l.resource == "leases" && l.verb == "update").count();
    assert!((3..=7).contains(&renewals), "{renewals} renewals in 10 s");

    // A machine goes, and its address is there for the next one.
    let first = stage.addresses().into_iter().find(|(_, name)| name == "m-00000").unwrap().0;
    bed.merge(
        API,
        "Machine",
        "openshift-machine-api",
        "m-00000",
        &json!({ "metadata": { "finalizers": null }, "spec": { "lifecycleHooks": null } }),
    );
    bed.delete(API, "Machine", "openshift-machine-api", "m-00000");
    until("it is gone", || stage.addresses().len() == 3);
    stage.create(9..10);
    until("the last one is served", || stage.addresses().len() == 4);
    until("its address is used again", || stage.addresses().get(&first).is_some_and(|n| n == "m-00009"));

    assert_eq!(watcher.metric("mipam_pool_used{pool=\"lab\",system=\"config\"}"), Some(4.0));
    assert_eq!(watcher.metric("mipam_leader"), Some(1.0));
    assert_eq!(watcher.ask("/healthz"), Some((200, "ok\n".to_owned())));
    until("what was done is said", || {
        let events = bed.list("v1", "Event");
        let of = |reason: &str| events.iter().filter(|e| e["reason"] == reason).count();
        of("AddressAllocated") == 5 && of("AddressReleased") == 1
    });
    watcher.stop_well();
    assert_eq!(stage.holder(), "", "the Lease was let go");
}

#[test]
fn a_full_pool_is_said_once_and_a_range_that_is_added_serves_those_who_wait() {
    let bed = bed::shared(Profile::Own).lock();
    let stage = Stage::new(&bed);
    stage.configure("10.0.0.1-10.0.0.2");
    let watcher = stage.start(&["--resync", "1s"]).ready();
    stage.create(0..5);
    until("two are served", || stage.addresses().len() == 2);
    until("three wait", || watcher.metric("mipam_pending{reason=\"PoolExhausted\"}") == Some(3.0));
    // A finding is no failure: those who can be served are.
    assert!(watcher.is_ready());
    let passes = || watcher.metric("mipam_passes_total{result=\"idle\"}").unwrap_or(0.0);
    let before = passes();
    until("some more passes are made", || passes() >= before + 3.0);
    let exhausted =
        |bed: &bed::Bed| bed.list("v1", "Event").iter().filter(|e| e["reason"] == "PoolExhausted").count();
    assert_eq!(exhausted(&bed), 3);
    stage.configure("this: [is no");
    std::thread::sleep(Duration::from_secs(3));
    assert!(watcher.stderr().contains("error:"), "{}", watcher.stderr());
    assert_eq!(watcher.stderr().matches("is used as it was").count(), 1, "{}", watcher.stderr());
    assert_eq!(watcher.metric("mipam_config_valid"), Some(0.0));
    stage.configure("10.0.0.1-10.0.0.9");
    until("all are served", || stage.addresses().len() == 5);
    assert_eq!(watcher.metric("mipam_config_valid"), Some(1.0));
    let stdout = watcher.stdout();
    watcher.stop_well();
    assert!(stdout.contains("PoolExhausted"), "{stdout}");
    assert!(stdout.matches("ReconcileReport").count() < 8, "a report for every pass: {stdout}");
}

#[test]
fn what_keeps_machines_waiting_is_said_once_though_nothing_is_done() {
    let bed = bed::shared(Profile::Own).lock();
    let stage = Stage::new(&bed);
    stage.create(0..2);
    std::fs::write(&stage.config, "ipam-config: {metal3: auto}").unwrap();
    let watcher = stage.start(&["-o", "table", "--resync", "1s"]).ready();
    let passes = || watcher.metric("mipam_passes_total{result=\"idle\"}").unwrap_or(0.0);
    until("some passes are made", || passes() >= 3.0);
    let said = |what: &str| watcher.stderr().matches(what).count();
    assert_eq!(said("the configuration has no lifecycle-hook"), 1, "{}", watcher.stderr());
    assert_eq!(watcher.stdout().matches("0 allocated, 0 kept").count(), 1, "only the first pass is told");
    watcher.stop_well();
}

#[test]
fn who_waits_is_not_said_again_because_somebody_else_waits_too() {
    let bed = bed::shared(Profile::Own).lock();
    let stage = Stage::new(&bed);
    stage.configure("10.0.0.1-10.0.0.1");
    let watcher = stage.start(&["-o", "table", "--log-format", "json"]).ready();
    for count in 2..5 {
        stage.create(if count == 2 { 0..2 } else { count - 1..count });
        let waits = format!("m-{:05} waits", count - 1);
        until("it is said who waits", || watcher.stderr().contains(&waits));
    }
    let stderr = watcher.stderr();
    watcher.stop_well();
    assert_eq!(stderr.matches(" waits: ").count(), 3, "{stderr}");
}

#[test]
fn logs_for_programs_say_what_was_done() {
    let bed = bed::shared(Profile::Own).lock();
    let stage = Stage::new(&bed);
    let watcher = stage.start(&["-o", "table", "--log-format", "json"]).ready();
    stage.create(0..2);
    bed.create_all(vec![kubevirt::network(), kubevirt::vm("vm-a")]);
    let lines = || -> Vec<Value> {
        // The last line may be on its way.
        let text = watcher.stderr();
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole.lines().map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e}: {l}"))).collect()
    };
    let said = |what: &str| lines().iter().filter(|l| l["message"].as_str().unwrap().contains(what)).count();
    until("both machines are told of", || {
        said("Machine/openshift-machine-api/m-00000 has 10.0.") == 1
            && said("Machine/openshift-machine-api/m-00001 has 10.0.") == 1
    });
    until("the claim is told of", || said("IPAMClaim/default/vm-a.anet of VM vm-a was made") == 1);
    let lines = lines();
    let sums: Vec<&Value> = lines.iter().filter(|l| l.get("kept").is_some()).collect();
    assert_eq!(sums.iter().map(|l| l["allocated"].as_u64().unwrap()).sum::<u64>(), 2, "{sums:?}");
    assert_eq!(watcher.stdout(), "", "people read the table, and there is nobody here");
    watcher.stop_well();
}
