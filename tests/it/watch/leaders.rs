//! Several processes, one at work: killed, paused, asked to go. Nothing is given twice and everybody is served.

use super::{Stage, Watcher, until, within};
use crate::bed::{self, Profile};
use crate::deploy::rights;
use std::time::{Duration, Instant};

pub(super) const TERMS: [&str; 6] = [
    "--leader-elect-lease-duration",
    "4s",
    "--leader-elect-renew-deadline",
    "3s",
    "--leader-elect-retry-period",
    "1s",
];

/// Lease duration, retry period, and what a busy machine adds.
const TAKEOVER: Duration = Duration::from_secs(4 + 1 + 6);

fn two(stage: &Stage) -> (Watcher, Watcher) {
    beside(stage, stage.start(&TERMS))
}

/// This one, at work, and another one that stands by.
fn beside(stage: &Stage, first: Watcher) -> (Watcher, Watcher) {
    let first = first.ready();
    until("the first is at work", || first.metric("mipam_leader") == Some(1.0));
    let second = stage.start(&TERMS).ready();
    assert_eq!(second.metric("mipam_leader"), Some(0.0), "the second stands by, and is ready");
    until("it says who is at work", || {
        second.stderr().contains(&format!("standing by: {} has the Lease", stage.holder()))
    });
    (first, second)
}

#[test]
fn a_leader_that_is_killed_in_a_burst_is_replaced() {
    let bed = bed::shared(Profile::Own).lock();
    let stage = Stage::new(&bed);
    let (first, second) = two(&stage);
    stage.create(0..150);
    until("some are served", || !stage.addresses().is_empty());
    first.signal("KILL");
    let killed = Instant::now();
    stage.create(150..200);
    until("the second is at work", || second.metric("mipam_leader") == Some(1.0));
    let took = killed.elapsed();
    assert!(took < TAKEOVER, "{took:?}");
    eprintln!("takeover after kill -9: {took:?}, of a Lease of 4 s and tries every 1 s");
    until("all are served", || stage.addresses().len() == 200);
    second.stop_well();
}

#[test]
fn a_leader_that_is_paused_past_its_lease_writes_nothing_when_it_wakes() {
    const ACCOUNT: &str = "mipam";
    const MACHINES: usize = 300;
    let bed = bed::shared(Profile::Own).lock();
    let stage = Stage::new(&bed);
    // An account of its own tells the server's log whose writes are whose.
    let watching = include_str!("../../../manifests/chart/rbac/watch/watch.yaml");
    [rights::granted(), watching.to_owned()].iter().for_each(|text| bed.grant(ACCOUNT, text));
    let own = bed.kubeconfig(ACCOUNT);
    let few = [&TERMS[..], &["--max-in-flight", "4"]].concat();
    let (first, second) = beside(&stage, Watcher::start(stage.dir.path(), &own, &stage.config, &few));
    stage.create(0..MACHINES);
    until("some are served", || !stage.addresses().is_empty());
    first.signal("STOP");
    assert!(stage.addresses().len() < MACHINES / 2, "it has much to do yet");
    within("the second takes over", TAKEOVER, || second.metric("mipam_leader") == Some(1.0));
    let mark = bed.mark();
    stage.create(MACHINES..MACHINES + 50);
    first.signal("CONT");
    until("the first stands by", || first.metric("mipam_leader") == Some(0.0));
    until("all are served", || stage.addresses().len() == MACHINES + 50);
    // What was on its way when it was paused arrives late, and meets the ledger's and the objects' versions.
    let late = bed.writes_since(mark, ACCOUNT);
    assert!(late.len() <= 4, "{late:?}");
    // What the first has seen is not so any more, and no alert may go by it.
    let used = "mipam_pool_used{pool=\"lab\",system=\"config\"}";
    assert_eq!(first.metric(used), None);
    until("the second tells of all", || second.metric(used) == Some(350.0));
    assert!(second.metric("mipam_leader") == Some(1.0), "{}", second.stderr());
    first.stop_well();
    second.stop_well();
}

#[test]
fn a_leader_that_is_to_end_in_a_burst_ends_well_and_leaves_nothing_half_done() {
    const MACHINES: usize = 400;
    let bed = bed::shared(Profile::Own).lock();
    let stage = Stage::new(&bed);
    let first = stage.start(&TERMS).ready();
    until("it is at work", || first.metric("mipam_leader") == Some(1.0));
    stage.create(0..MACHINES);
    until("some are served", || !stage.addresses().is_empty());
    first.stop_well();
    let served = stage.addresses();
    assert!(served.len() < MACHINES, "it ended in the middle of the burst");
    assert_eq!(stage.holder(), "", "the Lease was let go");
    // A write that was under way is done, not cut off: nothing comes of it later.
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(stage.addresses(), served);
    let second = stage.start(&TERMS).ready();
    until("all are served", || stage.addresses().len() == MACHINES);
    assert!(served.iter().all(|(address, name)| stage.addresses().get(address) == Some(name)));
    second.stop_well();
}

#[test]
fn a_leader_that_ends_hands_over_at_once() {
    let bed = bed::shared(Profile::Own).lock();
    let stage = Stage::new(&bed);
    let (first, second) = two(&stage);
    first.stop_well();
    let took = until("the second is at work", || second.metric("mipam_leader") == Some(1.0));
    assert!(took < Duration::from_secs(4), "it need not wait for the Lease to run out: {took:?}");
    stage.create(0..1);
    until("it serves", || stage.addresses().len() == 1);
    second.stop_well();
}
