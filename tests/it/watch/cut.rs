//! A server that is well, behind a wire that is not.

use super::leaders::TERMS;
use super::wire::Wire;
use super::{Stage, Watcher, machine, until, within};
use crate::bed::{self, Bed, Profile};
use serde_json::json;
use std::time::Duration;

fn behind<'b>(stage: &Stage<'b>, bed: &Bed) -> (Wire, Watcher) {
    let port = bed.url().rsplit(':').next().unwrap().trim_end_matches('/').parse().unwrap();
    let wire = Wire::to(port);
    let url = wire.url();
    let more = ["--apiserver", &url, "--request-timeout", "5s"];
    let watcher = stage.start(&[&TERMS[..], &more].concat()).ready();
    until("it is at work", || watcher.metric("mipam_leader") == Some(1.0));
    (wire, watcher)
}

#[test]
fn watches_that_are_cut_are_taken_up_again() {
    let bed = bed::shared(Profile::Own).lock();
    let stage = Stage::new(&bed);
    let (wire, watcher) = behind(&stage, &bed);
    let mut cut = 0;
    for round in 0..10 {
        stage.create(round * 5..round * 5 + 5);
        cut += wire.cut();
        // Every other time it is cut while it has hardly begun again.
        let served = (round + 1) * 5;
        if round % 2 == 0 {
            until("they are served", || stage.addresses().len() == served);
        }
    }
    until("all are served", || stage.addresses().len() == 50);
    until("it is ready", || watcher.is_ready());
    assert!(cut >= 10, "{cut} connections were cut");
    watcher.stop_well();
}

#[test]
fn a_server_that_is_silent_is_told_at_once_and_all_is_served_when_it_answers() {
    const MACHINES: usize = 300;
    let bed = bed::shared(Profile::Own).lock();
    let stage = Stage::new(&bed);
    let (wire, watcher) = behind(&stage, &bed);
    stage.create(0..MACHINES);
    until("some are served", || !stage.addresses().is_empty());
    wire.silence(true);
    assert!(stage.addresses().len() < MACHINES, "it is in the middle of a pass");
    // The Lease is not renewed for 3 s; a request may wait for its answer for longer.
    within("it says so", Duration::from_secs(12), || !watcher.is_ready());
    within("it does not say that it is at work", Duration::from_secs(12), || {
        watcher.metric("mipam_leader") == Some(0.0)
    });
    assert_eq!(watcher.ask("/healthz").map(|(code, _)| code), Some(200), "to restart it would not help");
    wire.silence(false);
    until("all are served", || stage.addresses().len() == MACHINES);
    until("it is ready", || watcher.is_ready());
    watcher.stop_well();
}

#[test]
fn whoever_is_told_to_end_waits_for_no_answer_to_a_question() {
    let bed = bed::shared(Profile::Own).lock();
    let stage = Stage::new(&bed);
    stage.create(0..1);
    let port = bed.url().rsplit(':').next().unwrap().trim_end_matches('/').parse().unwrap();
    let wire = Wire::to(port);
    let url = wire.url();
    let alone = ["--enable-leader-election=false", "--request-timeout", "60s", "--resync", "1s"];
    let watcher = stage.start(&[&alone[..], &["--apiserver", &url]].concat()).ready();
    until("it is served", || !stage.addresses().is_empty());
    wire.silence(true);
    // By now a pass asks the server what hardly ever changes.
    std::thread::sleep(Duration::from_secs(3));
    let (status, took, stderr) = watcher.stop();
    assert_eq!(status.code(), Some(0), "{stderr}");
    assert!(took < Duration::from_secs(3) && !stderr.contains("still under way"), "{took:?}: {stderr}");
}

#[test]
fn nothing_is_given_that_is_in_use_by_now_though_all_watches_have_died_without_a_word() {
    let bed = bed::shared(Profile::Own).lock();
    let stage = Stage::new(&bed);
    stage.configure("10.0.0.1-10.0.0.1");
    let (wire, watcher) = behind(&stage, &bed);
    stage.create(0..2);
    until("one waits", || watcher.metric("mipam_pending{reason=\"PoolExhausted\"}") == Some(1.0));
    wire.forget();
    let mut by_hand = machine(2);
    by_hand["spec"] = json!({ "providerSpec": { "value": { "network": { "devices": [
        { "networkName": "lab", "ipAddrs": ["10.0.0.2/16"] },
    ] } } } });
    bed.create_all(vec![by_hand]);
    std::thread::sleep(Duration::from_secs(11));
    stage.configure("10.0.0.1-10.0.0.5");
    until("the other one is served, too", || stage.addresses().len() == 3);
    watcher.stop_well();
}
